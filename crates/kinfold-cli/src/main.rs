//! The `kinfold` command: results on standard output, talk and progress on standard error.

mod args;
mod commands;
mod failure;
mod load;
mod progress;
mod session;

use std::process::ExitCode;

use clap::Parser;

use args::{Cli, Command};
use session::Session;

fn main() -> ExitCode {
    let cli = Cli::parse();
    let session = Session::new(&cli.global);
    let done = match &cli.command {
        Command::Cluster(args) => commands::cluster::run(&session, args),
        Command::Check(args) => commands::check::run(&session, args),
        Command::ChooseK(args) => commands::choose_k::run(&session, args),
        Command::Eval(args) => commands::eval::run(&session, args),
        Command::Predict(args) => commands::predict::run(&session, args),
        Command::Ask(args) => commands::ask::run(&session, args),
        Command::Next(args) => commands::next::run(&session, args),
        Command::Answer(args) => commands::answer::run(&session, args),
        Command::Select(args) => commands::select::run(&session, args),
        Command::Simulate(args) if !args.ask.is_empty() => commands::curves::run(&session, args),
        Command::Simulate(args) => commands::simulate::run(&session, args),
        Command::Report(args) => commands::report::run(&session, args),
        Command::Demo => commands::demo::run(&session),
        Command::Methods { name, markdown } => commands::methods::run(&session, name.as_deref(), *markdown),
        Command::Completions { shell } => commands::shell::completions(*shell),
        Command::Man => commands::shell::man(),
    };
    match done {
        Ok(code) => ExitCode::from(code),
        // Somebody closed the pipe we write to (`| head`): nothing to complain about.
        Err(failure) if failure.is_broken_pipe() => ExitCode::SUCCESS,
        Err(failure) => {
            session.clear_progress();
            eprintln!("{failure}");
            ExitCode::from(failure.code)
        }
    }
}
