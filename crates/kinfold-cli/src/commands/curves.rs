//! `kinfold simulate --ask`: learning curves of query strategies as a table, JSON and a plot.

use std::sync::Arc;

use kinfold::blocks::par::Pool;
use kinfold::context::RunContext;
use kinfold::pipeline::{Job, Oracle, Simulated, Simulation};
use kinfold::queries::{self, Ground};
use kinfold_io::View;
use serde_json::json;

use crate::args::SimulateArgs;
use crate::commands::report::learning_chart;
use crate::commands::{SCHEMA_VERSION, cluster::truth_codes};
use crate::failure::{Failure, INTERRUPTED, USAGE};
use crate::load;
use crate::session::{Done, Session, count};

/// Mean and standard deviation of one score over the seeds.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Spread {
    mean: f64,
    sd: f64,
}

/// One point of a strategy's mean curve.
struct Mean {
    asked: usize,
    nmi: Option<Spread>,
    ari: Option<Spread>,
    entailed: f64,
    runs: usize,
}

struct Curve {
    strategy: String,
    points: Vec<Mean>,
    choosing: f64,
    asked: f64,
}

pub fn run(session: &Session, args: &SimulateArgs) -> Done {
    for (option, share) in [("--noise", args.noise), ("--unsure", args.unsure)] {
        if !(0.0..=1.0).contains(&share) {
            return Err(Failure::new(USAGE, format!("{option} {share} is not a share from 0 to 1")));
        }
    }
    if args.every == 0 || args.seeds == 0 {
        return Err(Failure::new(USAGE, "--every and --seeds must be at least 1"));
    }
    args.ask.iter().try_for_each(|name| queries::find(name).map(|_| ()))?;
    let file = load::table(session, &args.data.data, &args.data.columns, Some(&args.truth), None)?;
    let truth = truth_codes(&file)?;
    let k = args.k.unwrap_or_else(|| truth.iter().max().map_or(1, |&m| m as usize + 1));
    let job = Job { settings: args.settings.clone(), scaling: args.scale, ..Job::new(&args.method, k) };
    let pool = Pool::new(session.threads);
    let ground = match file.rows.view() {
        Ok(View::F32(data)) => Ground::new(&data, &pool),
        Ok(View::F64(data)) => Ground::new(&data, &pool),
        Err(e) => Err(e),
    };
    let ground = Arc::new(ground.map_err(Failure::from)?);
    let mut curves = Vec::new();
    let total = args.ask.len() as u64 * args.seeds;
    let mut done = 0;
    for strategy in &args.ask {
        let simulation = Simulation {
            strategy: strategy.clone(),
            settings: Vec::new(),
            job: job.clone(),
            budget: args.budget,
            every: args.every,
            oracle: Oracle { error: args.noise, unsure: args.unsure, seed: 0 },
            tell_k: true,
        };
        let mut runs = Vec::new();
        for seed in 0..args.seeds {
            session.ctx().progress("simulated dialogues", done, Some(total));
            let ctx: RunContext = session.ctx().quiet().with_seed(session.ctx().seed + seed);
            let run = match file.rows.view() {
                Ok(View::F32(data)) => simulation.run(&ctx, &data, &ground, &truth),
                Ok(View::F64(data)) => simulation.run(&ctx, &data, &ground, &truth),
                Err(e) => Err(e),
            };
            runs.push(run?);
            done += 1;
            if session.interrupted() {
                return Ok(INTERRUPTED);
            }
        }
        curves.push(mean_curve(strategy, &runs, args));
    }
    session.clear_progress();
    if let Some(path) = &args.plot {
        let json = to_json(&curves, args, truth.len(), k);
        let chart = learning_chart(&json, "nmi", "NMI", &format!("{}, {}", file.source, args.method));
        session.write_file(path, chart.svg().standalone().as_bytes())?;
    }
    if session.json {
        session.print_json(&to_json(&curves, args, truth.len(), k))?;
    } else {
        session.print(&table(&curves))?;
        session.say(format!(
            "{}, k = {k}, method {}, {}, {:.0} % wrong answers: mean ± standard deviation",
            count(truth.len(), "row"),
            args.method,
            count(args.seeds, "seed"),
            100.0 * args.noise
        ));
    }
    Ok(0)
}

fn mean_curve(strategy: &str, runs: &[Simulated], args: &SimulateArgs) -> Curve {
    let mut at: Vec<usize> = (0..=args.budget).step_by(args.every).collect();
    if at.last() != Some(&args.budget) {
        at.push(args.budget);
    }
    let spread = |values: &[f64]| {
        let n = values.len() as f64;
        let mean = values.iter().sum::<f64>() / n;
        let sd = (values.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / (n - 1.0).max(1.0)).sqrt();
        (!values.is_empty()).then_some(Spread { mean, sd })
    };
    let points = at
        .into_iter()
        .filter_map(|asked| {
            // A dialogue that ended early stays where it ended.
            let there: Vec<_> = runs.iter().filter_map(|r| r.points.iter().rev().find(|p| p.asked <= asked)).collect();
            let score = |name: &str| -> Vec<f64> {
                there.iter().filter_map(|p| p.scores.iter().find(|s| s.0 == name).and_then(|s| s.1)).collect()
            };
            let entailed = there.iter().map(|p| p.entailed as f64).sum::<f64>() / there.len().max(1) as f64;
            let runs_there = runs.iter().filter(|r| r.asked >= asked).count();
            (runs_there > 0).then(|| Mean {
                asked,
                nmi: spread(&score("nmi")),
                ari: spread(&score("ari")),
                entailed,
                runs: runs_there,
            })
        })
        .collect();
    let asked = runs.iter().map(|r| r.asked as f64).sum::<f64>();
    let choosing = runs.iter().map(|r| r.choosing.as_secs_f64()).sum::<f64>() / asked.max(1.0);
    Curve { strategy: strategy.to_owned(), points, choosing, asked: asked / runs.len().max(1) as f64 }
}

fn table(curves: &[Curve]) -> String {
    let cell = |s: Option<Spread>| s.map_or("-".to_owned(), |s| format!("{:.3} ± {:.3}", s.mean, s.sd));
    let mut table = comfy_table::Table::new();
    table.load_style(comfy_table::presets::NOTHING);
    let mut header = vec!["questions".to_owned()];
    curves.iter().for_each(|c| header.extend([format!("{} nmi", c.strategy), format!("{} ari", c.strategy)]));
    table.set_header(header);
    let mut asked: Vec<usize> = curves.iter().flat_map(|c| c.points.iter().map(|p| p.asked)).collect();
    asked.sort_unstable();
    asked.dedup();
    for at in asked {
        let mut row = vec![at.to_string()];
        for c in curves {
            let point = c.points.iter().find(|p| p.asked == at);
            row.extend([cell(point.and_then(|p| p.nmi)), cell(point.and_then(|p| p.ari))]);
        }
        table.add_row(row);
    }
    table.to_string().lines().map(str::trim_end).collect::<Vec<_>>().join("\n") + "\n"
}

fn to_json(curves: &[Curve], args: &SimulateArgs, n: usize, k: usize) -> serde_json::Value {
    let spread = |s: Option<Spread>| s.map(|s| json!({ "mean": s.mean, "sd": s.sd }));
    let list: Vec<_> = curves
        .iter()
        .map(|c| {
            let points: Vec<_> = c
                .points
                .iter()
                .map(|p| {
                    json!({ "questions": p.asked, "nmi": spread(p.nmi), "ari": spread(p.ari), "entailed_pairs": p.entailed,
                            "runs": p.runs })
                })
                .collect();
            json!({ "strategy": c.strategy, "points": points, "seconds_per_question": c.choosing, "questions": c.asked })
        })
        .collect();
    json!({
        "schema_version": SCHEMA_VERSION, "n": n, "k": k, "method": args.method, "seeds": args.seeds,
        "budget": args.budget, "noise": args.noise, "unsure": args.unsure, "curves": list,
    })
}
