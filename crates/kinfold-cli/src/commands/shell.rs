//! Completion scripts and the manual page, made from the command line's own description.

use clap::CommandFactory;

use crate::args::Cli;
use crate::session::Done;

pub fn completions(shell: clap_complete::Shell) -> Done {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "kinfold", &mut script);
    std::io::Write::write_all(&mut std::io::stdout(), &script)?;
    Ok(0)
}

pub fn man() -> Done {
    let mut page = Vec::new();
    clap_mangen::Man::new(Cli::command()).render(&mut page)?;
    let mut root = Cli::command();
    root.build();
    for command in root.get_subcommands().filter(|c| c.get_name() != "help") {
        clap_mangen::Man::new(command.clone()).render(&mut page)?;
    }
    std::io::Write::write_all(&mut std::io::stdout(), &page)?;
    Ok(0)
}
