//! Experiments on the engine: the papers' tables, our own, and attacks. Never published.

mod apc;
mod ask_table;
mod bench;
mod fold_table;
mod fuzz;
mod index_speed;
mod journal;
mod progress;
mod protocol;
mod speed;
mod trust_table;
mod validation;

use clap::{Parser, Subcommand};

#[derive(Parser)]
#[command(name = "kinfold-lab", about = "Experiments on the engine")]
struct Lab {
    #[command(subcommand)]
    experiment: Experiment,
}

#[derive(Subcommand)]
enum Experiment {
    /// The papers' tables and figures beside our numbers: HTML and Markdown from named suites
    Bench(bench::BenchArgs),
    /// The quality table of `fold`: every cell of both protocols against its floor
    FoldTable(fold_table::FoldTableArgs),
    /// Flipped constraints under trust = auto
    TrustTable(trust_table::TrustTable),
    /// Choosing k with constraints: Tables 2 to 7 of Duarte, Fred & Duarte (2013) beside the printed numbers
    Validation(validation::ValidationArgs),
    /// The experiment of the APC paper, beside its figures
    Apc(apc::ApcSuite),
    /// Learning curves of the query strategies, and the bar of `auto`
    AskTable(ask_table::AskTable),
    /// Time and memory of the pairwise indices
    IndexSpeed(index_speed::IndexSpeedArgs),
    /// Speed against other people's programs, growth, reading, the limits of the machine
    Speed(speed::SpeedArgs),
    /// Random attacks on the readers and the constraint layer
    Fuzz(fuzz::FuzzArgs),
}

/// The experiment was done and a bar was missed.
const MISSED: u8 = 1;

fn main() -> std::process::ExitCode {
    let done = match Lab::parse().experiment {
        Experiment::Bench(args) => bench::run(&args),
        Experiment::FoldTable(args) => fold_table::run(&args),
        Experiment::TrustTable(table) => table.run().map(|()| true).map_err(|e| e.to_string()),
        Experiment::Validation(args) => validation::run(&args),
        Experiment::Apc(suite) => suite.run(),
        Experiment::AskTable(table) => table.run(),
        Experiment::IndexSpeed(args) => index_speed::run(&args),
        Experiment::Speed(args) => speed::run(&args),
        Experiment::Fuzz(args) => fuzz::run(&args),
    };
    match done {
        Ok(true) => std::process::ExitCode::SUCCESS,
        Ok(false) => std::process::ExitCode::from(MISSED),
        Err(why) => {
            eprintln!("error: {why}");
            std::process::ExitCode::from(2)
        }
    }
}
