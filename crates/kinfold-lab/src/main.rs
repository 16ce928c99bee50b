//! kinfold's experiments. Not published.

mod fuzz;

use clap::{Parser, Subcommand};

#[derive(Parser)]
#[command(about = "kinfold's experiments")]
struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Random attacks on the readers and the constraint layer
    Fuzz(fuzz::FuzzArgs),
}

fn main() -> std::process::ExitCode {
    let done = match Args::parse().command {
        Command::Fuzz(args) => fuzz::run(&args),
    };
    match done {
        Ok(true) => std::process::ExitCode::SUCCESS,
        Ok(false) => std::process::ExitCode::FAILURE,
        Err(why) => {
            eprintln!("error: {why}");
            std::process::ExitCode::FAILURE
        }
    }
}
