//! `kinfold choose-k`: every k of a range by many criteria, one recommended with the reason.

use kinfold::constraints::ConstraintSet;
use kinfold::indices::{Scored, score_all};
use kinfold::methods::SizeBounds;
use kinfold::pipeline::{ChooseK, Criterion, Job, KChoice};
use kinfold_io::{DataFile, View};
use serde_json::{Value, json};

use crate::args::{ChooseKArgs, sampling};
use crate::commands::report::choice_chart;
use crate::commands::{SCHEMA_VERSION, cluster::truth_codes};
use crate::failure::{Failure, INTERRUPTED, USAGE};
use crate::load;
use crate::session::{Done, Session, count};

/// Width of the table on a screen.
const WIDTH: usize = 100;
/// Width of the bars in it.
const BAR: usize = 16;

pub fn run(session: &Session, args: &ChooseKArgs) -> Done {
    let file =
        load::table(session, &args.data.data, &args.data.columns, args.truth.as_deref(), Some(&args.constraints))?;
    let given = load::constraints(session, &args.constraints, &file)?;
    let truth = args.truth.is_some().then(|| truth_codes(&file)).transpose()?;
    let job = Job {
        settings: args.settings.clone(),
        scaling: args.scale,
        metric: args.metric.as_deref().map(kinfold::metrics::Choice::new),
        sizes: SizeBounds { min: args.min_size, max: args.max_size },
        trust: args.constraints.trust.into(),
        ..Job::new(&args.method, 0)
    };
    let request = ChooseK {
        alpha: args.alpha,
        folds: args.folds,
        metrics: args.distance.iter().filter(|m| *m != "none").cloned().collect(),
        sampling: sampling(args.exact, args.sample),
        ..ChooseK::new(job, args.k.range())
    };
    let mut choice = choose(session, &request, &file, &given)?;
    if let Some(name) = &args.by {
        choose_by(&mut choice, name)?;
    }
    let consistency = truth.as_ref().map(|truth| consistencies(&choice, truth));
    if let Some(path) = &args.output {
        session.write_labels(Some(path), &file.ids, &choice.chosen().run.labels)?;
    }
    if let Some(path) = &args.plot {
        let title = format!("How many clusters? {}: k = {}", file.source, choice.recommended.k);
        let chart = choice_chart(&to_json(&choice, None), &title);
        session.write_file(path, chart.svg().standalone().as_bytes())?;
    }
    if session.json {
        let mut value = to_json(&choice, consistency.as_deref());
        value["schema_version"] = SCHEMA_VERSION.into();
        value["n"] = file.n().into();
        value["inputs"] = load::Inputs::new(&args.data, args.truth.as_deref(), &args.constraints).to_json();
        value["seed"] = session.ctx().seed.into();
        session.print_json(&value)?;
    } else {
        let text = table(&choice, consistency.as_deref()) + "\n" + &talk(&choice, &file, &given) + "\n";
        session.print(&text)?;
    }
    Ok(if session.interrupted() { INTERRUPTED } else { 0 })
}

/// Runs on whatever precision the file has.
pub fn choose(
    session: &Session,
    request: &ChooseK,
    file: &DataFile,
    given: &ConstraintSet,
) -> Result<KChoice, Failure> {
    let choice = match file.rows.view() {
        Ok(View::F32(data)) => request.run(session.ctx(), &data, given),
        Ok(View::F64(data)) => request.run(session.ctx(), &data, given),
        Err(e) => Err(e),
    };
    session.clear_progress();
    choice.map_err(|e| load::explain(e, given, file))
}

fn choose_by(choice: &mut KChoice, name: &str) -> Result<(), Failure> {
    let names =
        || choice.criteria.iter().filter(|c| c.k.is_some()).map(|c| c.name.as_str()).collect::<Vec<_>>().join(", ");
    let wrong =
        |what: &str| Failure::new(USAGE, format!("{what} '{name}'")).hint(format!("the criteria are {}", names()));
    let found = choice.criterion(name).ok_or_else(|| wrong("there is no criterion"))?;
    let k = found.k.ok_or_else(|| wrong("nothing can be chosen by"))?;
    let reason = format!("{} is best there, and --by asked for it", found.name);
    let scores = found.values.iter().map(|v| v.map(|v| v.value)).collect();
    choice.recommended = kinfold::pipeline::Recommended { k, by: name.to_owned(), reason, as_good: vec![k], scores };
    Ok(())
}

fn consistencies(choice: &KChoice, truth: &[u32]) -> Vec<Option<f64>> {
    let score = |labels: &[u32]| {
        let all = score_all(&Scored { labels, truth: Some(truth), constraints: None });
        all.iter().find(|s| s.0 == "consistency").and_then(|s| s.1)
    };
    choice.candidates.iter().map(|c| score(&c.run.labels)).collect()
}

/// The object that `--json` prints, less what the caller knows.
pub fn to_json(choice: &KChoice, consistency: Option<&[Option<f64>]>) -> Value {
    let candidates: Vec<Value> = choice
        .candidates
        .iter()
        .enumerate()
        .map(|(at, c)| {
            let scores: serde_json::Map<String, Value> = choice
                .criteria
                .iter()
                .map(|x| (x.name.clone(), json!(x.values[at].map(|v| v.value).filter(|v| v.is_finite()))))
                .collect();
            let errors: serde_json::Map<String, Value> = choice
                .criteria
                .iter()
                .filter_map(|x| Some((x.name.clone(), json!(x.values[at].filter(|v| v.error > 0.0)?.error))))
                .collect();
            let mut value = json!({
                "k": c.k, "score": choice.recommended.scores.get(at).copied().flatten(),
                "scores": scores, "errors": errors, "sizes": c.run.sizes, "objective": c.run.objective,
                "satisfaction": c.satisfaction, "termination": c.run.termination,
                "violations": { "must_link": c.run.violations.must_link, "cannot_link": c.run.violations.cannot_link },
                "held_out": c.held_out.map(|t| json!({ "tests": t.tests(), "kept": t.kept(), "chance": t.chance() })),
            });
            if let Some(all) = consistency {
                value["consistency"] = json!(all[at]);
            }
            value
        })
        .collect();
    let criteria: Vec<Value> = choice
        .criteria
        .iter()
        .map(|c| json!({ "name": c.name, "summary": c.summary, "k": c.k, "margin": c.margin, "smaller_is_better": c.loss }))
        .collect();
    let left_out: Vec<Value> = choice.left_out.iter().map(|(k, why)| json!({ "k": k, "why": why })).collect();
    json!({
        "k": choice.recommended.k,
        "by": choice.recommended.by,
        "reason": choice.recommended.reason,
        "as_good": choice.recommended.as_good,
        "candidates": candidates,
        "criteria": criteria,
        "left_out": left_out,
        "smallest_k": choice.smallest.as_ref().map(|s| json!({ "lower": s.lower, "upper": s.upper, "exact": s.exact() })),
        "method": choice.candidates[0].run.method,
        "rows_looked_at": choice.looked_at,
        "stopped": choice.stopped.map(kinfold::context::Termination::from),
        "notes": choice.notes,
        "elapsed_seconds": choice.elapsed.as_secs_f64(),
    })
}

/// Criteria in the order of the table: what decided, then the constraints, then the indices.
fn columns(choice: &KChoice) -> Vec<&Criterion> {
    let mut shown: Vec<&Criterion> =
        choice.criteria.iter().filter(|c| c.k.is_some() && c.name != choice.recommended.by).collect();
    shown.sort_by_key(|c| match c.name.as_str() {
        "agree" | "shape" => 0,
        "gap" | "CS" => 1,
        "S" | "NH" => 2,
        name if name.contains("+CS") => 3,
        _ => 4,
    });
    shown
}

fn table(choice: &KChoice, consistency: Option<&[Option<f64>]>) -> String {
    let scores = &choice.recommended.scores;
    let defined = || scores.iter().flatten().copied().filter(|v| v.is_finite());
    let (low, high) = (defined().fold(f64::INFINITY, f64::min), defined().fold(f64::NEG_INFINITY, f64::max));
    let by = format!("{:<w$}", choice.recommended.by, w = BAR + 8);
    let mut head = format!("   k   {by}");
    let mut shown = Vec::new();
    if consistency.is_some() {
        head += " truth  ";
    }
    for criterion in columns(choice) {
        let width = criterion.name.chars().count().max(6) + 1;
        if head.chars().count() + width + 1 > WIDTH {
            break;
        }
        head += &format!(" {:<width$}", criterion.name);
        shown.push((criterion, width));
    }
    let mut text = head.trim_end().to_owned() + "\n";
    let rows = choice.candidates.iter().map(|c| c.k).chain(choice.left_out.iter().map(|l| l.0));
    let mut rows: Vec<usize> = rows.collect();
    rows.sort_unstable();
    for k in rows {
        let Some(at) = choice.candidates.iter().position(|c| c.k == k) else {
            let why = choice.left_out.iter().find(|l| l.0 == k).map_or("", |l| l.1.as_str());
            text += &format!("  {k:>2}   not run: {why}\n");
            continue;
        };
        let mark = if k == choice.recommended.k { '→' } else { ' ' };
        let score = scores.get(at).copied().flatten();
        let bar = score.map_or(String::new(), |v| bar(if high > low { (v - low) / (high - low) } else { 1.0 }, BAR));
        let value = score.map_or("–".to_owned(), short);
        let mut line = format!("{mark} {k:>2}   {value:<6} {bar:<BAR$} ");
        if let Some(all) = consistency {
            line += &format!(" {:<7}", all[at].map_or("–".to_owned(), |v| format!("{v:.3}")));
        }
        for (criterion, width) in &shown {
            let best = if criterion.k == Some(k) { "*" } else { "" };
            let cell = criterion.values[at].map_or("–".to_owned(), |v| short(v.value) + best);
            line += &format!(" {cell:<width$}");
        }
        text += line.trim_end();
        text.push('\n');
    }
    text
}

/// A bar of a share of `width` characters, in eighths.
fn bar(share: f64, width: usize) -> String {
    const EIGHTHS: [&str; 8] = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];
    let eighths = (share.clamp(0.0, 1.0) * (width * 8) as f64).round() as usize;
    "█".repeat(eighths / 8) + EIGHTHS[eighths % 8]
}

/// Three decimals for small numbers, none for large.
fn short(value: f64) -> String {
    match value.abs() {
        a if !a.is_finite() => {
            if value > 0.0 {
                "∞".to_owned()
            } else {
                "–".to_owned()
            }
        }
        a if a < 10.0 => format!("{value:.3}"),
        a if a < 1000.0 => format!("{value:.1}"),
        _ => format!("{value:.0}"),
    }
}

/// Bounds, disagreement, recommendation, notes.
pub fn talk(choice: &KChoice, file: &DataFile, given: &ConstraintSet) -> String {
    let mut text = String::new();
    if let Some(s) = choice.smallest.as_ref().filter(|s| s.lower > 1) {
        let name = |row: u32| file.ids.get(row as usize).into_owned();
        let why = s.witness.as_ref().map(|w| format!(": {}", w.describe(given, name))).unwrap_or_default();
        text += &if s.exact() {
            format!("smallest k that keeps every cannot-link: {}{why}\n", s.lower)
        } else {
            format!(
                "smallest k that keeps every cannot-link: at least {} (proven), at most {}{why}\n",
                s.lower, s.upper
            )
        };
    }
    text += &votes(choice);
    let looked = choice.looked_at;
    if looked < file.n() {
        text += &format!("pairwise indices compare {} with all rows (--exact for all)\n", count(looked, "row"));
    }
    choice.notes.iter().for_each(|n| text += &format!("note: {n}\n"));
    if choice.stopped.is_some() {
        text += "stopped early: what was not reached is not judged\n";
    }
    text += &format!("k = {}: {}", choice.recommended.k, choice.recommended.reason);
    text
}

/// Which criteria choose which k.
fn votes(choice: &KChoice) -> String {
    let mut by_k: Vec<(usize, Vec<&str>)> = Vec::new();
    for c in choice.criteria.iter().filter(|c| c.chooses) {
        let Some(k) = c.k else { continue };
        match by_k.iter_mut().find(|v| v.0 == k) {
            Some(v) => v.1.push(&c.name),
            None => by_k.push((k, vec![&c.name])),
        }
    }
    by_k.sort_by_key(|v| (std::cmp::Reverse(v.1.len()), v.0));
    let list: Vec<String> = by_k.iter().map(|(k, names)| format!("k = {k} by {}", names.join(", "))).collect();
    match list.len() {
        0 => String::new(),
        1 => format!("all criteria agree: {}\n", list[0]),
        _ => format!("criteria disagree: {}\n", list.join("; ")),
    }
}
