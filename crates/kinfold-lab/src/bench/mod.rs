//! `bench`: named suites with the papers' protocols. Results go to OUT/results.jsonl case by case (a run that is stopped goes
//! on where it was); from them OUT/index.html and one Markdown page per suite are made, every cell ours beside the printed
//! number. `validation`, `apc` and `speed` are experiments of their own: what they print is taken into the page.

mod present;
pub mod printed;
mod store;
mod suites;

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use kinfold_report::Page;

use crate::protocol::Source;
use store::Store;
use suites::{Amount, Loaded, Suite};

/// Experiments of their own, run with these arguments: name, quick form, full form.
const HOOKS: [(&str, &[&str], &[&str]); 3] = [
    ("validation", &["--sets", "1", "--only", "cigar,iris,std-yeast,breast-cancer,house-votes"], &["--sets", "20"]),
    ("apc", &["--quick"], &[]),
    ("speed", &["--quick"], &[]),
];

#[derive(clap::Args)]
pub struct BenchArgs {
    /// bckm, mlcl, lcc, noise, scale, validation, apc, speed or all
    #[arg(default_value = "all", value_delimiter = ',')]
    suites: Vec<String>,
    /// Few constraint sets and one start; slow methods only where they are quick
    #[arg(long)]
    quick: bool,
    /// Folder with the data sets (docs/data.md); without it only the small ones that come with kinfold
    #[arg(long, env = "KINFOLD_DATA")]
    data: Option<PathBuf>,
    /// Results and pages go here
    #[arg(long, default_value = "target/bench")]
    out: PathBuf,
    /// Constraint sets per cell (otherwise as many as the paper, or 3 with --quick)
    #[arg(long, default_value_t = 0)]
    sets: u64,
    /// Only these data sets
    #[arg(long, value_delimiter = ',')]
    only: Vec<String>,
    /// Only these methods
    #[arg(long, value_delimiter = ',')]
    methods: Vec<String>,
    /// Begin no new case after this many minutes; the next run goes on
    #[arg(long)]
    minutes: Option<u64>,
    /// Make the pages from what is there, run nothing
    #[arg(long)]
    pages: bool,
    /// Threads; 0 = all
    #[arg(long, default_value_t = 0)]
    threads: usize,
    /// A word on the machine or the circumstances, for the page
    #[arg(long, default_value = "")]
    note: String,
}

/// Runs what is missing and writes the pages.
pub fn run(args: &BenchArgs) -> Result<bool, String> {
    let all = args.suites.iter().any(|s| s == "all");
    let wanted = |name: &str| all || args.suites.iter().any(|s| s == name);
    let known =
        |name: &str| name == "all" || Suite::ALL.iter().any(|s| s.name() == name) || HOOKS.iter().any(|h| h.0 == name);
    if let Some(name) = args.suites.iter().find(|s| !known(s)) {
        return Err(format!("there is no suite {name}: bckm, mlcl, lcc, noise, scale, validation, apc, speed or all"));
    }
    if let Some(folder) = args.data.as_ref().filter(|f| !f.is_dir()) {
        return Err(format!("{}: no such folder", folder.display()));
    }
    let source = args.data.clone().map_or(Source::Shipped, Source::Folder);
    std::fs::create_dir_all(&args.out).map_err(|e| format!("{}: {e}", args.out.display()))?;
    let mut store = Store::open(&args.out.join("results.jsonl"))?;
    let begun = Instant::now();
    let late = || args.minutes.is_some_and(|m| begun.elapsed() > Duration::from_secs(60 * m));
    let mut page = present::opening(args, &source);
    let mut summaries = Vec::new();
    for suite in Suite::ALL.into_iter().filter(|s| wanted(s.name())) {
        let (mut cases, missing) = suite.cases(Amount { sets: args.sets, quick: args.quick }, &source);
        let of = |list: &[String], name: &str| list.is_empty() || list.iter().any(|l| l == name);
        cases.retain(|c| of(&args.only, &c.data) && of(&args.methods, &c.method));
        if !missing.is_empty() {
            eprintln!("{}: skipped, no data: {}", suite.name(), missing.join(", "));
        }
        let todo: Vec<_> = cases.iter().filter(|c| !store.has(c)).collect();
        let mut loaded: Option<Loaded> = None;
        for (at, case) in todo.iter().enumerate().filter(|_| !args.pages) {
            if late() {
                eprintln!("{}: {} of {} cases left for another run", suite.name(), todo.len() - at, cases.len());
                break;
            }
            let ready = match loaded.take().filter(|l| l.serves(case)) {
                Some(ready) => ready,
                None => Loaded::new(case, &source)?,
            };
            let record = suites::run(suite, case, &ready, args.threads)?;
            eprintln!(
                "{} {}/{}: {} {} {} set {}: {:.2} s{}",
                suite.name(),
                at + 1,
                todo.len(),
                case.data,
                case.level,
                case.method,
                case.set,
                record.seconds,
                record.error.as_ref().map_or(String::new(), |e| format!(" ({e})"))
            );
            store.add(record)?;
            loaded = Some(ready);
        }
        let mut part = Page::default();
        summaries.push(present::suite(suite, &store, &missing, &mut part, &args.out)?);
        write(&args.out, &format!("{}.md", suite.name()), &present::markdown(suite, &part))?;
        page.blocks.append(&mut part.blocks);
    }
    for (name, quick, full) in HOOKS.iter().filter(|h| wanted(h.0)) {
        let kept = args.out.join(format!("{name}.md"));
        if !kept.exists() && !args.pages && !late() {
            hook(args, name, if args.quick { quick } else { full }, &kept)?;
        }
        if let Ok(text) = std::fs::read_to_string(&kept) {
            page.blocks.extend(present::from_markdown(name, &text));
            summaries.push(present::last_words(name, &text));
        }
    }
    present::summary(&mut page, &summaries);
    write(&args.out, "index.html", &page.html())?;
    write(&args.out, "README.md", &present::front(&page, &summaries))?;
    summaries.iter().for_each(|s| println!("{}", s.text));
    println!("{}", args.out.join("index.html").display());
    Ok(summaries.iter().all(|s| s.good))
}

fn write(folder: &Path, name: &str, text: &str) -> Result<(), String> {
    std::fs::write(folder.join(name), text).map_err(|e| format!("{name}: {e}"))
}

/// Another experiment of this program; what it prints is Markdown. One that is not there is left out.
fn hook(args: &BenchArgs, name: &str, more: &[&str], kept: &Path) -> Result<(), String> {
    use clap::CommandFactory;
    if crate::Lab::command().find_subcommand(name).is_none() {
        eprintln!("{name}: not there yet, left out");
        return Ok(());
    }
    let Some(data) = &args.data else {
        eprintln!("{name}: skipped, it needs --data");
        return Ok(());
    };
    let this = std::env::current_exe().map_err(|e| e.to_string())?;
    eprintln!("{name}: running");
    let done = std::process::Command::new(this)
        .arg(name)
        .arg("--data")
        .arg(data)
        .args(more)
        .output()
        .map_err(|e| e.to_string())?;
    let text = String::from_utf8_lossy(&done.stdout);
    if text.trim().is_empty() {
        eprintln!("{name}: left out: {}", String::from_utf8_lossy(&done.stderr).trim());
        return Ok(());
    }
    std::fs::write(kept, text.as_bytes()).map_err(|e| e.to_string())
}
