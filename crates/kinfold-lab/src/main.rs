//! Experiments on the engine: the papers' tables and our own.

mod trust_table;

use clap::{Parser, Subcommand};

#[derive(Debug, Parser)]
#[command(name = "kinfold-lab", about = "Experiments on the engine")]
struct Lab {
    #[command(subcommand)]
    experiment: Experiment,
}

#[derive(Debug, Subcommand)]
enum Experiment {
    /// Flipped constraints under trust = auto
    TrustTable(trust_table::TrustTable),
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    match Lab::parse().experiment {
        Experiment::TrustTable(table) => table.run(),
    }
}
