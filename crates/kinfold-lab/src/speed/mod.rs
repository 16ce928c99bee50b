//! Speed as ratios: ours and other people's programs on the same data from the same start, in turns, in one run.
//! Iterations are differences between a long and a short run, so that reading, seeding and set-up cancel; of several
//! turns the shortest counts on both sides. Peers come from PyPI into a throw-away environment.

mod data;
mod ours;
mod peers;
mod plot;
mod report;
mod roofline;
mod sections;

use std::path::PathBuf;

use report::Report;

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
}

/// Runs the sections that are asked for; false when a bar is missed.
pub fn run(args: &SpeedArgs) -> Result<bool, String> {
    let mut report = Report::default();
    let wanted = |name: &str| args.only.is_empty() || args.only.iter().any(|o| o == name);
    let needs_peers = ["iteration", "convergence", "cop-kmeans", "reading"].iter().any(|s| wanted(s));
    let peers = if args.alone || !needs_peers {
        None
    } else {
        let peers = peers::Peers::new(args.venv.as_deref(), args.threads)?;
        report.note(format!("Peers: {}.", peers.versions.join(", ")));
        if !peers.missing.is_empty() {
            report.note(format!("Not installable: {}.", peers.missing.join(", ")));
        }
        Some(peers)
    };
    let folder = data::Folder::new()?;
    let mut bench = sections::Bench { args, report, peers, folder };
    type Section<'a> = fn(&mut sections::Bench<'a>) -> Result<(), String>;
    let all: [(&str, Section<'_>); 10] = [
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
    for (name, section) in all.iter().filter(|s| wanted(s.0)) {
        eprintln!("{name} …");
        section(&mut bench)?;
    }
    let report = bench.report;
    let text = report.markdown();
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
        for (name, svg) in &report.plots {
            write(&folder.join(format!("{name}.svg")), svg.clone())?;
        }
    }
    Ok(report.met())
}
