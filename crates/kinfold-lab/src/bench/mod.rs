//! `bench`: named suites with the papers' protocols. Results go to OUT/results.jsonl case by case (a run that is stopped goes
//! on where it was); from them OUT/index.html and one Markdown page per suite are made, every cell ours beside the printed
//! number. `validation`, `apc` and `speed` are experiments of their own: what they print is taken into the page.

mod hooks;
mod present;
pub mod printed;
mod store;
mod suites;
mod tables;

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use kinfold_report::Page;

use crate::progress::Progress;
use crate::protocol::Source;
use hooks::HOOKS;
use store::{Case, Store};
use suites::{Amount, Loaded, Suite};

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
    /// A setting of the methods, like order=index (repeatable); for trials, with an OUT of their own
    #[arg(long = "set", value_name = "NAME=VALUE")]
    settings: Vec<String>,
    /// Stop after this many minutes; the next run goes on
    #[arg(long)]
    minutes: Option<u64>,
    /// Make the pages from what is there, run nothing
    #[arg(long)]
    pages: bool,
    /// Copy the Markdown pages and their figures to this folder
    #[arg(long, value_name = "DIR")]
    publish: Option<PathBuf>,
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
    let known = |name: &str| {
        name == "all" || Suite::ALL.iter().any(|s| s.name() == name) || HOOKS.iter().any(|h| h.name == name)
    };
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
    let circumstances = present::Circumstances::new(args, &source);
    let circumstances = circumstances.keep(&args.out.join("circumstances.json"), args.pages)?;
    let mut page = present::opening(circumstances);
    let (mut summaries, mut parts) = (Vec::new(), Vec::new());
    // What is not asked for is not run, but what is there of it is shown.
    for suite in Suite::ALL {
        let (mut cases, missing) = suite.cases(Amount { sets: args.sets, quick: args.quick }, &source);
        let of = |list: &[String], name: &str| list.is_empty() || list.iter().any(|l| l == name);
        cases.retain(|c| of(&args.only, &c.data) && of(&args.methods, &c.method));
        let run_it = wanted(suite.name()) && !args.pages;
        if run_it && !missing.is_empty() {
            eprintln!("{}: skipped, no data: {}", suite.name(), missing.join(", "));
        }
        if run_it {
            run_cases(suite, &cases, &source, args, &mut store, &late)?;
        }
        if store.suite(suite.name()).is_empty() {
            continue;
        }
        let mut part = Page::default();
        summaries.push(present::suite(suite, &store, &missing, &mut part, &args.out)?);
        write(&args.out, &format!("{}.md", suite.name()), &present::markdown(suite, &part))?;
        parts.push(suite.name().to_owned());
        page.blocks.append(&mut part.blocks);
    }
    for hook in &HOOKS {
        if wanted(hook.name) && !args.pages && !late() {
            hook.run(args, &late)?;
        }
        if let Some((blocks, summary)) = hook.page(&args.out) {
            page.blocks.extend(blocks);
            summaries.push(summary);
            parts.push(hook.name.to_owned());
        }
    }
    present::summary(&mut page, &summaries);
    write(&args.out, "index.html", &page.html())?;
    write(&args.out, "README.md", &present::front(&page, &summaries, &parts))?;
    summaries.iter().for_each(|s| println!("{}", s.text));
    println!("{}", args.out.join("index.html").display());
    if let Some(folder) = &args.publish {
        publish(&args.out, folder, &parts)?;
        println!("{}", folder.join("README.md").display());
    }
    Ok(summaries.iter().all(|s| s.good))
}

/// Runs what the store does not have.
fn run_cases(
    suite: Suite,
    cases: &[Case],
    source: &Source,
    args: &BenchArgs,
    store: &mut Store,
    late: &dyn Fn() -> bool,
) -> Result<(), String> {
    let settings = settings(&args.settings)?;
    let todo: Vec<&Case> = cases.iter().filter(|c| !store.has(c)).collect();
    let known = cases.len() - todo.len();
    let mut progress = Progress::new(suite.name(), cases.len());
    let mut loaded: Option<Loaded> = None;
    for (at, case) in todo.iter().enumerate() {
        if late() {
            eprintln!("\n{}: {} of {} cases left for another run", suite.name(), todo.len() - at, cases.len());
            break;
        }
        let what = format!("{} {} {}", case.data, case.level, case.method);
        progress.step(known + at, &what, || store.expected(&todo[at..]));
        let ready = match loaded.take().filter(|l| l.serves(case)) {
            Some(ready) => ready,
            None => Loaded::new(case, source)?,
        };
        store.add(suites::run(suite, case, &ready, args.threads, &settings)?)?;
        loaded = Some(ready);
        if at + 1 == todo.len() {
            progress.step(cases.len(), "done", || None);
        }
    }
    Ok(())
}

/// Names and values of `--set`.
fn settings(given: &[String]) -> Result<Vec<(String, String)>, String> {
    let split = |s: &String| s.split_once('=').map(|(a, b)| (a.to_owned(), b.to_owned()));
    given.iter().map(|s| split(s).ok_or_else(|| format!("--set {s}: write NAME=VALUE"))).collect()
}

fn write(folder: &Path, name: &str, text: &str) -> Result<(), String> {
    std::fs::write(folder.join(name), text).map_err(|e| format!("{name}: {e}"))
}

/// The Markdown pages and the figures that they show.
fn publish(out: &Path, folder: &Path, parts: &[String]) -> Result<(), String> {
    std::fs::create_dir_all(folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    for page in std::iter::once("README").chain(parts.iter().map(String::as_str)) {
        let name = format!("{page}.md");
        let text = std::fs::read_to_string(out.join(&name)).map_err(|e| format!("{name}: {e}"))?;
        for figure in text.split("](").skip(1).filter_map(|t| t.split_once(')')).map(|t| t.0) {
            if figure.ends_with(".svg") {
                std::fs::copy(out.join(figure), folder.join(figure)).map_err(|e| format!("{figure}: {e}"))?;
            }
        }
        write(folder, &name, &text)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_are_published_with_the_figures_they_show_and_nothing_else() {
        let place = std::env::temp_dir().join(format!("kinfold-publish-{}", std::process::id()));
        let (out, to) = (place.join("out"), place.join("docs/results"));
        std::fs::create_dir_all(&out).unwrap();
        for (name, text) in [
            ("README.md", "[bckm](bckm.md)"),
            ("bckm.md", "# a\n\n![a.svg](a.svg)\n"),
            ("a.svg", "<svg/>"),
            ("b.svg", "<svg/>"),
            ("results.jsonl", "{}"),
        ] {
            std::fs::write(out.join(name), text).unwrap();
        }
        publish(&out, &to, &["bckm".to_owned()]).unwrap();
        let mut there: Vec<String> =
            std::fs::read_dir(&to).unwrap().map(|e| e.unwrap().file_name().to_string_lossy().into_owned()).collect();
        there.sort();
        assert_eq!(there, ["README.md", "a.svg", "bckm.md"]);
        assert!(publish(&out, &to, &["lcc".to_owned()]).is_err());
        std::fs::remove_dir_all(place).unwrap();
    }
}
