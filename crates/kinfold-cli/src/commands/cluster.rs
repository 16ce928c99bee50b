//! `kinfold cluster`: read, check, cluster, write.

use kinfold::constraints::{ConstraintSet, Violation};
use kinfold::context::Termination;
use kinfold::indices::{Scored, score_all};
use kinfold::methods::SizeBounds;
use kinfold::metrics::Choice;
use kinfold::pipeline::{ChooseK, Job, Run};
use kinfold_io::{DataFile, Input, ModelFile, View, read_labels};
use serde_json::json;

use crate::args::{ClusterArgs, Clusters};
use crate::commands::{SCHEMA_VERSION, choose_k};
use crate::failure::{BROKEN, Failure, INTERRUPTED, USAGE};
use crate::load;
use crate::session::{Done, Session, count, number};

/// Most violations that are told to people one by one, and most doubtful constraints where none looks wrong.
const TOLD: usize = 10;
const TOLD_IF_NONE_LOOKS_WRONG: usize = 3;

pub fn run(session: &Session, args: &ClusterArgs) -> Done {
    let file =
        load::table(session, &args.data.data, &args.data.columns, args.truth.as_deref(), Some(&args.constraints))?;
    let given = load::constraints(session, &args.constraints, &file)?;
    let job = job(args);
    let mut choice = None;
    let mut run = match args.k {
        Clusters::Exactly(_) => cluster(session, &job, &file, &given)?,
        range => {
            let found = choose_k::choose(session, &ChooseK::new(job, range.range()), &file, &given)?;
            let run = found.chosen().run.clone();
            choice = Some(found);
            run
        }
    };
    if let Some(previous) = &args.previous {
        run.keep_ids(&previous_labels(previous, &file)?);
    }
    let truth = args.truth.is_some().then(|| truth_codes(&file)).transpose()?;
    let scores = score_all(&Scored { labels: &run.labels, truth: truth.as_deref(), constraints: Some(&given) });

    if let Some(path) = &args.save {
        let mut bytes = Vec::new();
        ModelFile::new(run.model(&file.feature_names)).write(&path.display().to_string(), &mut bytes)?;
        session.write_file(path, &bytes)?;
    }
    if session.json {
        let mut value = to_json(&run, &scores, &file, &given);
        value["inputs"] = load::Inputs::new(&args.data, args.truth.as_deref(), &args.constraints).to_json();
        if let Some(choice) = &choice {
            value["choice_of_k"] = choose_k::to_json(choice, None);
        }
        match &args.output {
            Some(path) => session.write_file(path, format!("{value}\n").as_bytes())?,
            None => session.print_json(&value)?,
        }
    } else {
        session.write_labels(args.output.as_deref(), &file.ids, &run.labels)?;
    }
    if let Some(choice) = &choice {
        session.say(choose_k::talk(choice, &file, &given));
    }
    session.say(summary(&run, &scores, &file, &given));
    let stopped = choice.as_ref().is_some_and(|c| c.stopped.is_some());
    Ok(if session.interrupted() && (stopped || run.termination == Termination::Cancelled) {
        INTERRUPTED
    } else if args.strict && run.violations.broken() > 0 {
        BROKEN
    } else {
        0
    })
}

fn job(args: &ClusterArgs) -> Job {
    let k = if let Clusters::Exactly(k) = args.k { k } else { 0 };
    Job {
        settings: args.settings.clone(),
        scaling: args.scale,
        metric: args.metric.as_ref().map(|name| Choice { name: name.clone(), settings: args.metric_settings.clone() }),
        sizes: SizeBounds { min: args.min_size, max: args.max_size },
        trust: args.constraints.trust.into(),
        ..Job::new(&args.method, k)
    }
}

/// Runs a job on whatever precision the file has.
pub fn cluster(session: &Session, job: &Job, file: &DataFile, given: &ConstraintSet) -> Result<Run, Failure> {
    let run = match file.rows.view() {
        Ok(View::F32(data)) => job.run(session.ctx(), &data, given),
        Ok(View::F64(data)) => job.run(session.ctx(), &data, given),
        Err(e) => Err(e),
    };
    session.clear_progress();
    run.map_err(|e| load::explain(e, given, file))
}

/// The known class of every row as a number; every row must have one.
pub fn truth_codes(file: &DataFile) -> Result<Vec<u32>, Failure> {
    let Some(column) = file.truth() else { return Err(Failure::new(USAGE, "--truth names no column")) };
    let (codes, _) = column.codes();
    codes
        .iter()
        .enumerate()
        .map(|(row, code)| {
            code.ok_or_else(|| {
                let line = file.line(row).map(|l| format!(":{l}")).unwrap_or_default();
                Failure::new(1, format!("{}{line}: column '{}': the class is empty", file.source, column.name()))
                    .hint("--truth needs a class for every row; give partial labels with --labels")
            })
        })
        .collect()
}

fn previous_labels(name: &str, file: &DataFile) -> Result<Vec<Option<u32>>, Failure> {
    let earlier = read_labels(&Input::from_arg(name), None)?;
    let numbers = earlier.numbers()?;
    let mut previous = vec![None; file.n()];
    for (at, label) in numbers.iter().enumerate() {
        if let Some(row) = file.ids.find(&earlier.ids.get(at)) {
            previous[row as usize] = *label;
        }
    }
    Ok(previous)
}

fn place(v: &Violation, file: &DataFile, given: &ConstraintSet) -> String {
    given.relation(v.id, v.kind, v.a, v.b, |row| file.ids.get(row as usize).into_owned())
}

fn to_json(
    run: &Run,
    scores: &[(&'static str, Option<f64>)],
    file: &DataFile,
    given: &ConstraintSet,
) -> serde_json::Value {
    let v = &run.violations;
    let list: Vec<_> = v
        .list
        .iter()
        .map(|x| {
            let id = |row: u32| file.ids.get(row as usize).into_owned();
            json!({ "kind": x.kind, "a": id(x.a), "b": id(x.b), "row_a": x.a, "row_b": x.b,
                    "weight": x.weight.is_finite().then_some(x.weight), "where": given.place(x.id, &[x.a, x.b]) })
        })
        .collect();
    let mut value = json!({
        "schema_version": SCHEMA_VERSION,
        "method": run.method,
        "representation": run.representation.name,
        "candidates": run.representation.candidates,
        "k": run.k,
        "n": run.labels.len(),
        "dims": file.dims(),
        "seed": run.seed,
        "labels": run.labels,
        "sizes": run.sizes,
        "objective": run.objective,
        "trace": run.trace,
        "iterations": run.iterations,
        "termination": run.termination,
        "violations": { "must_link": v.must_link, "cannot_link": v.cannot_link, "must_link_given": v.must_link_pairs,
                        "cannot_link_given": v.cannot_link_pairs, "cost": v.cost, "list": list },
        "notes": run.notes,
        "elapsed_seconds": run.elapsed.as_secs_f64(),
    });
    if let (Some(bound), Some(gap)) = (run.lower_bound, run.gap()) {
        value["lower_bound"] = bound.into();
        value["gap"] = gap.into();
    }
    if let Some(found) = &run.assessment {
        value["trust"] = json!({
            "verdict": found.verdict, "reason": found.reason, "error_rate": found.error_rate,
            "contradictions": found.contradictions, "evidence": found.evidence,
        });
    }
    let name = |row: u32| file.ids.get(row as usize).into_owned();
    let distrusted: Vec<_> = run
        .distrusted()
        .iter()
        .map(|d| {
            json!({
                "kind": d.kind, "a": name(d.a), "b": name(d.b), "row_a": d.a, "row_b": d.b,
                "where": given.place(d.id, &[d.a, d.b]), "probability_wrong": d.probability_wrong,
                "probability_same_without_it": d.probability_same_without_it, "sigmas": d.sigmas, "cost": d.cost,
                "against": d.cycle.iter().map(|&id| given.place(id, &[])).collect::<Vec<_>>(),
                "broken": d.broken, "kept": d.kept, "evidence": d.describe(given, name),
            })
        })
        .collect();
    value["distrusted"] = distrusted.into();
    value["scores"] =
        scores.iter().map(|(name, s)| ((*name).to_owned(), json!(s))).collect::<serde_json::Map<_, _>>().into();
    value
}

/// The constraints that are not believed, and those that are kept but doubtful.
fn doubts(run: &Run, file: &DataFile, given: &ConstraintSet) -> String {
    let distrusted = run.distrusted();
    let Some(found) = run.assessment.as_ref().filter(|_| !distrusted.is_empty()) else { return String::new() };
    let left_out = distrusted.iter().filter(|d| !d.kept).count();
    let constraints = |n| count(n, "constraint");
    let (what, most) = match (left_out, distrusted.len() - left_out) {
        (0, kept) if found.shows_no_errors() => {
            (format!("least sure of {}, kept", constraints(kept)), TOLD_IF_NONE_LOOKS_WRONG)
        }
        (0, kept) => (format!("distrusts {}, kept, but to be looked at again", constraints(kept)), TOLD),
        (_, 0) => (format!("distrusts {}, left out", constraints(left_out)), TOLD),
        (_, kept) => (format!("distrusts {}, left out, and doubts {kept} more, kept", constraints(left_out)), TOLD),
    };
    let mut text = format!("{what}:\n");
    for d in distrusted.iter().take(most) {
        text += &format!("  {}\n", d.describe(given, |row| file.ids.get(row as usize).into_owned()));
    }
    if distrusted.len() > most {
        text += &format!("  … and {} more (--json lists them)\n", distrusted.len() - most);
    }
    text
}

/// What happened, for people.
pub fn summary(run: &Run, scores: &[(&'static str, Option<f64>)], file: &DataFile, given: &ConstraintSet) -> String {
    let ended = match run.termination {
        Termination::Converged => "converged after",
        Termination::Optimal => "proven optimal after",
        Termination::MaxIterations => "stopped (iteration limit) after",
        Termination::Deadline => "stopped (time limit) after",
        Termination::Cancelled => "interrupted after",
    };
    let largest = run.sizes.iter().take(20).map(ToString::to_string).collect::<Vec<_>>().join(" ");
    let more = if run.sizes.len() > 20 { " …" } else { "" };
    let mut text = format!(
        "{}: {} in {} by {} (representation: {}), {ended} {}, {:.2}s\nsizes: {largest}{more}\nobjective: {}\n",
        file.source,
        count(run.labels.len(), "row"),
        count(run.k, "cluster"),
        run.method,
        run.representation.name,
        count(run.iterations, "iteration"),
        run.elapsed.as_secs_f64(),
        number(run.objective),
    );
    if let (Some(bound), Some(gap)) = (run.lower_bound, run.gap()) {
        text += &format!("lower bound: {}, gap {:.4} %\n", number(bound), 100.0 * gap);
    }
    let v = &run.violations;
    if v.total() > 0 {
        let given_text =
            format!("{}, {}", count(v.must_link_pairs, "must-link"), count(v.cannot_link_pairs, "cannot-link"));
        if v.broken() == 0 {
            text += &format!("constraints: {given_text}: all kept\n");
        } else {
            text += &format!(
                "constraints: {given_text}: {} must-link and {} cannot-link broken\n",
                v.must_link, v.cannot_link
            );
            for x in v.list.iter().take(TOLD) {
                text += &format!("  broken: {}\n", place(x, file, given));
            }
            if v.broken() > TOLD as u64 {
                text += &format!("  … and {} more (--json lists them)\n", v.broken() - TOLD as u64);
            }
        }
    }
    text += &doubts(run, file, given);
    let shown: Vec<String> =
        scores.iter().filter_map(|(name, s)| s.map(|s| format!("{} {s:.4}", name.replace('_', " ")))).collect();
    if !shown.is_empty() {
        text += &format!("scores: {}\n", shown.join(", "));
    }
    run.notes.iter().for_each(|n| text += &format!("note: {n}\n"));
    text.trim_end().to_owned()
}
