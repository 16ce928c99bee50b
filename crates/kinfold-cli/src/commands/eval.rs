//! `kinfold eval`: scores of labels against known classes and constraints.

use kinfold::blocks::contingency::compact;
use kinfold::constraints::ConstraintSet;
use kinfold::indices::{Scored, score_all};
use kinfold_io::{Ids, Input, ReadOptions, TextColumn, read_labels, read_table};
use serde_json::json;

use crate::args::EvalArgs;
use crate::commands::SCHEMA_VERSION;
use crate::failure::{Failure, USAGE};
use crate::load;
use crate::session::{Done, Session, count};

pub fn run(session: &Session, args: &EvalArgs) -> Done {
    if args.truth.is_none() && args.constraints.constraints.is_empty() {
        return Err(Failure::new(USAGE, "there is nothing to score against")
            .hint("name a column of known classes with --truth, or an answer file with -c"));
    }
    let labels = read_labels(&Input::from_arg(&args.labels), Some(&args.column))?;
    let found: Vec<u32> = labels
        .labels
        .iter()
        .enumerate()
        .map(|(row, label)| {
            label.ok_or_else(|| {
                let line = labels.file.line(row).map(|l| format!(":{l}")).unwrap_or_default();
                Failure::new(1, format!("{}{line}: column '{}': the label is empty", args.labels, args.column))
            })
        })
        .collect::<Result<_, _>>()?;
    let truth = match &args.truth {
        None => None,
        Some(column) => Some(classes(session, args, column, &labels.ids)?),
    };
    let mut given = ConstraintSet::new(found.len());
    for name in &args.constraints.constraints {
        load::answers(session, &args.constraints, name, &labels.ids, &mut given, f64::INFINITY)?;
    }
    let scores = score_all(&Scored { labels: &found, truth: truth.as_deref(), constraints: Some(&given) });
    let violations = given.violations(&found, 0);
    let k = found.iter().max().map_or(0, |m| m + 1);
    if session.json {
        let map: serde_json::Map<_, _> = scores.iter().map(|(name, s)| ((*name).to_owned(), json!(s))).collect();
        session.print_json(&json!({
            "schema_version": SCHEMA_VERSION, "n": found.len(), "k": k, "scores": map,
            "violations": { "must_link": violations.must_link, "cannot_link": violations.cannot_link,
                            "must_link_given": violations.must_link_pairs,
                            "cannot_link_given": violations.cannot_link_pairs, "cost": violations.cost },
        }))?;
    } else {
        let mut text = format!("{} in {}\n", count(found.len(), "row"), count(k, "cluster"));
        for (name, score) in &scores {
            let value = score.map_or("undefined".to_owned(), |s| format!("{s:.6}"));
            let summary = kinfold::indices::INDICES.iter().find(|e| e.name == *name).map_or("", |e| e.summary);
            text += &format!("{:<18} {value:<10} {summary}\n", name.replace('_', " "));
        }
        if violations.total() > 0 {
            text += &format!(
                "{:<18} {} of {} must-link, {} of {} cannot-link\n",
                "broken",
                violations.must_link,
                violations.must_link_pairs,
                violations.cannot_link,
                violations.cannot_link_pairs
            );
        }
        session.print(&text)?;
    }
    Ok(0)
}

/// The class of every labelled row, joined by id.
fn classes(session: &Session, args: &EvalArgs, column: &str, ids: &Ids) -> Result<Vec<u32>, Failure> {
    let source = args.data.as_deref().unwrap_or(&args.labels);
    let same_file = args.data.is_none();
    let options = ReadOptions {
        id: if same_file { ids.column().map(str::to_owned) } else { args.id.clone() },
        text: vec![column.to_owned()],
        text_only: true,
        threads: session.threads,
        ..ReadOptions::default()
    };
    let file = read_table(&Input::from_arg(source), &options)?;
    let text: &TextColumn = file.text(column)?;
    let mut values = Vec::with_capacity(ids.len());
    for row in 0..ids.len() {
        let id = ids.get(row);
        let at = file.ids.find(&id).ok_or_else(|| {
            Failure::new(1, format!("{}: id '{id}' of {} is not in it", file.source, args.labels))
                .hint("join the files by the right column with --id")
        })?;
        values.push(text.get(at as usize));
    }
    Ok(compact(values.into_iter()).0)
}
