//! `kinfold eval`: scores of labels against known classes and constraints.

use kinfold::blocks::contingency::compact;
use kinfold::constraints::ConstraintSet;
use kinfold::data::{Dataset, Float, Table};
use kinfold::indices::{Estimate, INTERNAL, Internal, Norm, Scored, score_all, score_rows, weighted};
use kinfold::pipeline::learned_distance;
use kinfold_io::{DataFile, Ids, Input, ReadOptions, TextColumn, View, read_labels, read_table};
use serde_json::json;

use crate::args::{EvalArgs, sampling};
use crate::commands::SCHEMA_VERSION;
use crate::failure::{Failure, INTERRUPTED, USAGE};
use crate::load;
use crate::session::{Done, Session, count, number};

pub fn run(session: &Session, args: &EvalArgs) -> Done {
    if args.truth.is_none() && args.constraints.constraints.is_empty() && args.data.is_none() {
        return Err(Failure::new(USAGE, "there is nothing to score against")
            .hint("name a column of known classes with --truth, an answer file with -c, or the rows with --data"));
    }
    if !(0.0..=1.0).contains(&args.alpha) {
        return Err(Failure::new(USAGE, format!("--alpha {} is not a share from 0 to 1", args.alpha)));
    }
    let labels = read_labels(&Input::from_arg(&args.labels), Some(&args.column))?;
    let mut found: Vec<u32> = labels
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
    let k = labels.names.iter().filter(|name| *name != NOISE).count();
    alone_if_noise(&mut found, &labels.names);
    let table = table(session, args, &labels.ids)?;
    let truth = match &args.truth {
        None => None,
        Some(column) => Some(classes(args, column, &table, &labels.ids)?),
    };
    let mut given = ConstraintSet::new(found.len());
    for name in &args.constraints.constraints {
        load::answers(session, &args.constraints, name, &labels.ids, &mut given, f64::INFINITY)?;
    }
    let scores = score_all(&Scored { labels: &found, truth: truth.as_deref(), constraints: Some(&given) });
    let violations = given.violations(&found, 0);
    let internal = internal(session, args, &table, &labels.ids, &found, &given)?;
    if session.json {
        let mut map: serde_json::Map<_, _> = scores.iter().map(|(name, s)| ((*name).to_owned(), json!(s))).collect();
        let finite = |v: Option<Estimate>| v.map(|v| v.value).filter(|v| v.is_finite());
        map.extend(internal.rows.iter().map(|s| (s.name.clone(), json!(finite(s.value)))));
        let errors: serde_json::Map<_, _> = internal
            .rows
            .iter()
            .filter_map(|s| Some((s.name.clone(), json!(s.value.filter(|v| v.error > 0.0)?.error))))
            .collect();
        session.print_json(&json!({
            "schema_version": SCHEMA_VERSION, "n": found.len(), "k": k, "scores": map, "errors": errors,
            "rows_looked_at": internal.looked_at,
            "violations": { "must_link": violations.must_link, "cannot_link": violations.cannot_link,
                            "must_link_given": violations.must_link_pairs,
                            "cannot_link_given": violations.cannot_link_pairs, "cost": violations.cost },
        }))?;
    } else {
        let mut text = format!("{} in {}\n", count(found.len(), "row"), count(k, "cluster"));
        for (name, score) in &scores {
            let value = score.map_or("undefined".to_owned(), |s| format!("{s:.6}"));
            let summary = kinfold::indices::INDICES.iter().find(|e| e.name == *name).map_or("", |e| e.summary);
            text += &format!("{:<28} {value:<18} {summary}\n", name.replace('_', " "));
        }
        if violations.total() > 0 {
            text += &format!(
                "{:<28} {} of {} must-link, {} of {} cannot-link\n",
                "broken",
                violations.must_link,
                violations.must_link_pairs,
                violations.cannot_link,
                violations.cannot_link_pairs
            );
        }
        for score in &internal.rows {
            let value = match score.value {
                None => "undefined".to_owned(),
                Some(v) if v.error > 0.0 => format!("{:.4} ± {:.4}", v.value, v.error),
                Some(v) => number(v.value),
            };
            text += &format!("{:<28} {value:<18} {}\n", score.name.replace('_', " "), score.summary);
        }
        internal.notes.iter().for_each(|n| text += &format!("note: {n}\n"));
        session.print(&text)?;
    }
    Ok(if session.interrupted() { INTERRUPTED } else { 0 })
}

/// What density clusterers write for rows in no cluster.
const NOISE: &str = "-1";

/// A row in no cluster is its own cluster.
fn alone_if_noise(labels: &mut [u32], names: &[String]) {
    let Some(noise) = names.iter().position(|name| name == NOISE) else { return };
    let alone = labels.iter_mut().filter(|l| **l as usize == noise);
    alone.zip(names.len() as u32..).for_each(|(label, next)| *label = next);
}

/// The table with the rows and the classes.
fn table(session: &Session, args: &EvalArgs, ids: &Ids) -> Result<DataFile, Failure> {
    let same_file = args.data.is_none();
    let no_features = same_file || args.features.as_ref().is_some_and(|f| f.len() == 1 && f[0] == "none");
    let options = |text_only: bool| ReadOptions {
        id: if same_file { ids.column().map(str::to_owned) } else { args.id.clone() },
        text: args.truth.iter().cloned().collect(),
        features: if text_only { None } else { args.features.clone() },
        text_only,
        threads: session.threads,
        ..ReadOptions::default()
    };
    let input = Input::from_arg(args.data.as_deref().unwrap_or(&args.labels));
    match read_table(&input, &options(no_features)) {
        // A table of classes alone has no features, and need not have.
        Err(_) if !no_features && args.features.is_none() => Ok(read_table(&input, &options(true))?),
        read => Ok(read?),
    }
}

/// The row of the table of every labelled row.
fn join(args: &EvalArgs, file: &DataFile, ids: &Ids) -> Result<Vec<usize>, Failure> {
    let one = |row: usize| {
        let id = ids.get(row);
        file.ids.find(&id).map(|at| at as usize).ok_or_else(|| {
            Failure::new(1, format!("{}: id '{id}' of {} is not in it", file.source, args.labels))
                .hint("join the files by the right column with --id")
        })
    };
    (0..ids.len()).map(one).collect()
}

/// The class of every labelled row, joined by id.
fn classes(args: &EvalArgs, column: &str, file: &DataFile, ids: &Ids) -> Result<Vec<u32>, Failure> {
    let text: &TextColumn = file.text(column)?;
    let at = join(args, file, ids)?;
    Ok(compact(at.into_iter().map(|at| text.get(at))).0)
}

/// Scores that look at the rows.
#[derive(Default)]
struct Internals {
    rows: Vec<InternalScore>,
    looked_at: Option<usize>,
    notes: Vec<String>,
}

struct InternalScore {
    name: String,
    summary: String,
    value: Option<Estimate>,
}

fn internal(
    session: &Session,
    args: &EvalArgs,
    file: &DataFile,
    ids: &Ids,
    labels: &[u32],
    given: &ConstraintSet,
) -> Result<Internals, Failure> {
    if file.dims() == 0 {
        return Ok(Internals::default());
    }
    let rows = join(args, file, ids)?;
    let done = match file.rows.view() {
        Ok(View::F32(data)) => internal_of(session, args, &data, &rows, labels, given),
        Ok(View::F64(data)) => internal_of(session, args, &data, &rows, labels, given),
        Err(e) => Err(e),
    };
    session.clear_progress();
    done.map_err(|e| load::explain(e, given, file))
}

fn internal_of<F: Float>(
    session: &Session,
    args: &EvalArgs,
    data: &Dataset<'_, F>,
    rows: &[usize],
    labels: &[u32],
    given: &ConstraintSet,
) -> kinfold::Result<Internals> {
    let picked = Table::select(data, rows);
    let picked = picked.view()?;
    let scaled = args.scale.unwrap_or_default().fit(&picked)?.apply(&picked)?;
    let space = scaled.view()?;
    let sampling = sampling(args.exact, args.sample);
    let kept = given.violations(labels, 0).satisfaction();
    let mut out = Internals::default();
    let mut add = |data: &Dataset<'_, F>, which: &[Internal], suffix: &str| {
        let scores = score_rows(session.ctx(), data, &[labels], which, sampling);
        for (index, value) in which.iter().zip(&scores.values[0]) {
            let entry = index.entry();
            out.rows.push(InternalScore {
                name: format!("{}{suffix}", entry.name),
                summary: entry.summary.to_owned(),
                value: *value,
            });
            if entry.norm == Norm::HalfUp && kept.is_some() && *index != Internal::Dbcv {
                let mixed = value.map(|v| Estimate {
                    value: weighted((v.value + 1.0) / 2.0, kept, args.alpha),
                    error: v.error * (1.0 - args.alpha) / 2.0,
                });
                let name = format!("weighted_{}{suffix}", entry.name);
                let summary = format!(
                    "{}·(v + 1)/2 + {}·share of constraints kept",
                    number(1.0 - args.alpha),
                    number(args.alpha)
                );
                out.rows.push(InternalScore { name, summary, value: mixed });
            }
        }
        out.looked_at = Some(out.looked_at.map_or(scores.looked_at, |l: usize| l.min(scores.looked_at)));
        if scores.stopped.is_some() {
            out.notes.push("stopped before all distances were taken: pairwise scores are missing".to_owned());
        }
    };
    add(&space, &INTERNAL.iter().map(|e| e.index).collect::<Vec<_>>(), "");
    let mut notes = Vec::new();
    if !args.distance.is_empty() {
        let (chunklets, _) = given.close_lenient(0.0)?;
        for name in &args.distance {
            match learned_distance(session.ctx(), name, &space, given, &chunklets)? {
                Ok(transform) => {
                    let table = transform.apply(&space)?;
                    add(&table.view()?, &[Internal::Silhouette, Internal::NormalisedHubert], &format!("@{name}"));
                }
                Err(why) => notes.push(why),
            }
        }
    }
    out.notes.extend(notes);
    if let Some(looked) = out.looked_at.filter(|&l| l < rows.len()) {
        out.notes.push(format!("pairwise scores compare {} with all rows (--exact for all)", count(looked, "row")));
    }
    Ok(out)
}
