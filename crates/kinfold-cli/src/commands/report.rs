//! `kinfold report`: one self-contained page from the JSON of a run and the rows it was made from.

mod clusters;
mod curves;
mod rows;
mod tsne;

pub use curves::{choice_chart, learning_chart};

use std::io::Read;
use std::path::{Path, PathBuf};

use kinfold_report::Page;
use serde_json::Value;

use crate::args::ReportArgs;
use crate::failure::{FAILED, Failure, USAGE};
use crate::load::Inputs;
use crate::session::{Done, Session};

pub fn run(session: &Session, args: &ReportArgs) -> Done {
    let run = read(&args.run)?;
    let mut page = Page { title: args.title.clone().unwrap_or_default(), ..Page::default() };
    if run["labels"].is_array() {
        clusters::fill(session, args, &run, &mut page)?;
    } else if run["curves"].is_array() {
        curves::learning(&run, &mut page);
    } else if run["candidates"].is_array() && run["criteria"].is_array() {
        if page.title.is_empty() {
            page.title = format!("How many clusters? {}", run["inputs"]["data"].as_str().unwrap_or_default());
        }
        page.lead = format!("{} rows, {}", run["n"], kinfold_words());
        curves::choice(&run, &mut page);
    } else {
        return Err(Failure::new(
            FAILED,
            format!("{}: this is not what --json of cluster, choose-k or simulate --ask prints", args.run),
        )
        .hint("kinfold cluster DATA -k K --json > run.json, then kinfold report run.json -o report.html"));
    }
    let html = page.html();
    match &args.output {
        Some(path) => {
            session.write_file(path, html.as_bytes())?;
            session.say(format!("{}: {} kB, needs nothing else", path.display(), html.len().div_ceil(1024)));
        }
        None => session.print(&html)?,
    }
    Ok(0)
}

/// Who made it.
fn kinfold_words() -> String {
    format!("made by kinfold {}", env!("CARGO_PKG_VERSION"))
}

fn read(name: &str) -> Result<Value, Failure> {
    let failed = |e: std::io::Error| Failure::new(FAILED, format!("{name}: cannot be read: {e}"));
    let text = if name == "-" {
        let mut text = String::new();
        std::io::stdin().lock().read_to_string(&mut text).map_err(failed)?;
        text
    } else {
        std::fs::read_to_string(name).map_err(failed)?
    };
    serde_json::from_str(&text).map_err(|e| {
        Failure::new(FAILED, format!("{name}: not JSON: {e}"))
            .hint("a run is what kinfold cluster DATA -k K --json prints, or writes with -o run.json")
    })
}

/// What the run read, moved files replaced.
fn inputs(args: &ReportArgs, run: &Value) -> Result<Inputs, Failure> {
    let inputs = serde_json::from_value::<Inputs>(run["inputs"].clone());
    let mut inputs = match (inputs, &args.data) {
        (Ok(inputs), _) => inputs,
        (Err(_), Some(_)) => Inputs::default(),
        (Err(_), None) => {
            return Err(Failure::new(USAGE, format!("{}: the run does not say which rows it read", args.run))
                .hint("name them with --data DATA, or make the run again with this version"));
        }
    };
    let place = |name: &str, what: &str, option: &str| found(&args.run, name, what, option);
    inputs.data = match &args.data {
        Some(data) => data.clone(),
        None => place(&inputs.data, "rows", "--data DATA")?,
    };
    inputs.constraints.constraints = match args.constraints.is_empty() {
        false => args.constraints.clone(),
        true => {
            let names = &inputs.constraints.constraints;
            names.iter().map(|name| place(name, "answers", "-c FILE")).collect::<Result<_, _>>()?
        }
    };
    Ok(inputs)
}

/// The file as it was named, from here or from where the run lies.
fn found(run: &str, name: &str, what: &str, option: &str) -> Result<String, Failure> {
    if name == "-" {
        return Err(Failure::new(
            FAILED,
            format!("{run}: its {what} came from standard input and are not there any more"),
        )
        .hint(format!("give them as a file: {option}")));
    }
    let beside = Path::new(run).parent().unwrap_or(Path::new("")).join(name);
    [PathBuf::from(name), beside].iter().find(|p| p.exists()).map(|p| p.display().to_string()).ok_or_else(|| {
        Failure::new(FAILED, format!("{name}: the {what} of {run} are not there any more"))
            .hint(format!("if the file has moved, say where it is: {option}"))
    })
}
