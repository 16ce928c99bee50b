//! Speed as ratios: ours and other people's programs on the same data from the same start, in turns, in one run.
//! Iterations are differences between a long and a short run, so that reading, seeding and set-up cancel; of several
//! turns the shortest counts on both sides. Peers come from PyPI into a throw-away environment.

mod data;
mod ours;
mod peers;
mod report;
mod roofline;
mod sections;

use std::path::PathBuf;

use crate::journal::Journal;
use crate::progress::Progress;
use report::{Report, Section};

#[derive(clap::Args)]
pub struct SpeedArgs {
    /// Smaller data and fewer turns
    #[arg(long)]
    quick: bool,
    /// Only these sections: roofline, iteration, convergence, constraints, cop-kmeans, bckm, growth, fold, reading, check
    #[arg(long, value_delimiter = ',')]
    only: Vec<String>,
    /// Threads, of ours and of the peers
    #[arg(long, default_value_t = 2)]
    threads: usize,
    /// Turns of which the shortest counts
    #[arg(long, default_value_t = 3)]
    turns: usize,
    /// A Python environment for the peers that is kept; without, one is made and removed
    #[arg(long)]
    venv: Option<PathBuf>,
    /// Leave the peers out
    #[arg(long)]
    alone: bool,
    /// Folder with the data sets of the bckm section
    #[arg(long)]
    data: Option<PathBuf>,
    /// Write the tables as Markdown
    #[arg(long)]
    markdown: Option<PathBuf>,
    /// Write all measurements as JSON
    #[arg(long)]
    json: Option<PathBuf>,
    /// Write plots (SVG) to this folder
    #[arg(long)]
    plots: Option<PathBuf>,
    /// Keep what every section measured in this file (JSONL) and measure only what is not there
    #[arg(long)]
    journal: Option<PathBuf>,
}

/// Runs the sections that are asked for; false when a bar is missed.
pub fn run(args: &SpeedArgs) -> Result<bool, String> {
    let (mut journal, known) = Journal::maybe::<Section>(args.journal.as_deref())?;
    let circumstances = format!(
        "{}{} threads, {} turns{}",
        if args.quick { "quick, " } else { "" },
        args.threads,
        args.turns,
        if args.alone { ", alone" } else { "" }
    );
    let done = |name: &str| known.iter().rev().find(|s| s.name == name && s.circumstances == circumstances);
    let mut report = Report::default();
    let asked = |name: &str| args.only.is_empty() || args.only.iter().any(|o| o == name);
    let wanted = |name: &str| asked(name) && done(name).is_none();
    let needs_peers = ["iteration", "convergence", "cop-kmeans", "reading"].iter().any(|s| wanted(s));
    let peers = if args.alone || !needs_peers {
        None
    } else {
        match peers::Peers::new(args.venv.as_deref(), args.threads) {
            Ok(peers) => {
                report.note(format!("Peers: {}.", peers.versions.join(", ")));
                if !peers.missing.is_empty() {
                    report.note(format!("Not installable: {}.", peers.missing.join(", ")));
                }
                Some(peers)
            }
            Err(why) => {
                report.note(format!("No peers: {why}."));
                None
            }
        }
    };
    let folder = data::Folder::new()?;
    let mut bench = sections::Bench { args, report, peers, folder };
    type Part<'a> = fn(&mut sections::Bench<'a>) -> Result<(), String>;
    let all: [(&str, Part<'_>); 10] = [
        ("roofline", sections::Bench::roofline),
        ("iteration", sections::Bench::iteration),
        ("convergence", sections::Bench::convergence),
        ("constraints", sections::Bench::constraints),
        ("cop-kmeans", sections::Bench::cop_kmeans),
        ("bckm", sections::Bench::bckm),
        ("growth", sections::Bench::growth),
        ("fold", sections::Bench::fold),
        ("reading", sections::Bench::reading),
        ("check", sections::Bench::check),
    ];
    let total = all.iter().filter(|s| asked(s.0)).count();
    let mut progress = Progress::new("speed", total);
    for (at, (name, part)) in all.iter().filter(|s| asked(s.0)).enumerate() {
        if let Some(section) = done(name) {
            bench.report.take(section.clone());
            continue;
        }
        progress.step(at, name, || None);
        eprintln!();
        bench.report.begin(name, &circumstances);
        part(&mut bench)?;
        let section = bench.report.current();
        if let Some(journal) = &mut journal {
            journal.add(section)?;
        }
    }
    let report = bench.report;
    let text = report.markdown(args.plots.is_some());
    println!("{text}");
    let write =
        |path: &PathBuf, text: String| std::fs::write(path, text).map_err(|e| format!("{}: {e}", path.display()));
    if let Some(path) = &args.markdown {
        write(path, text)?;
    }
    if let Some(path) = &args.json {
        write(path, report.json())?;
    }
    if let Some(folder) = &args.plots {
        std::fs::create_dir_all(folder).map_err(|e| e.to_string())?;
        for plot in report.plots() {
            write(&folder.join(plot.file()), plot.svg())?;
        }
    }
    Ok(report.met())
}
