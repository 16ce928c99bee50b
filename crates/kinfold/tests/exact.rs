//! `exact` on iris: published optima, proofs under constraints, bounds at any time.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use kinfold::constraints::{ConstraintSet, generate};
use kinfold::context::{Progress, RunContext, Termination};
use kinfold::data::Dataset;
use kinfold::pipeline::{Job, Run};
use kinfold::rng::Rng;

/// Rows and classes of the corrected iris data.
fn iris() -> (Vec<f64>, Vec<u32>) {
    let text = include_str!("../../../examples/iris.csv");
    let (mut rows, mut classes, mut names) = (Vec::new(), Vec::new(), Vec::new());
    for line in text.lines().skip(1) {
        let cells: Vec<&str> = line.split(',').collect();
        rows.extend(cells[..4].iter().map(|c| c.parse::<f64>().unwrap()));
        let at = names.iter().position(|n| *n == cells[4]).unwrap_or_else(|| {
            names.push(cells[4]);
            names.len() - 1
        });
        classes.push(at as u32);
    }
    (rows, classes)
}

fn run(ctx: &RunContext, rows: &[f64], given: &ConstraintSet, k: usize) -> Run {
    let job = Job { settings: vec![("restarts".into(), "10".into())], ..Job::new("exact", k) };
    job.run(ctx, &Dataset::dense(rows, 4).unwrap(), given).unwrap()
}

#[test]
fn the_published_optima_of_iris_are_found_and_proven() {
    // O. du Merle, P. Hansen, B. Jaumard, N. Mladenovic, An interior point algorithm for minimum sum-of-squares clustering,
    // SIAM J. Sci. Comput. 21 (2000), the table for Fisher's iris.
    let published =
        [152.347952, 78.851441, 57.228473, 46.446182, 39.039987, 34.298230, 29.988944, 27.786092, 25.834055];
    let (rows, _) = iris();
    for (k, optimum) in (2..).zip(published) {
        let run = run(&RunContext::new(1), &rows, &ConstraintSet::new(150), k);
        assert_eq!(run.termination, Termination::Optimal, "k = {k}");
        assert!((run.objective - optimum).abs() < 1e-6, "k = {k}: {} {optimum}", run.objective);
        assert!(run.gap().unwrap() <= 1e-6 && run.lower_bound.unwrap() <= run.objective, "k = {k}");
    }
}

#[test]
fn iris_is_proven_optimal_at_every_number_of_constraints_of_the_lcc_paper() {
    let (rows, classes) = iris();
    for seed in 0..3 {
        for amount in [400, 300, 250, 200, 150, 75, 37] {
            let rng = &mut Rng::stream(seed, "exact", amount as u64);
            let given = generate::balanced(&classes, amount, false, rng).unwrap().constraints;
            let run = run(&RunContext::new(seed), &rows, &given, 3);
            assert_eq!(run.termination, Termination::Optimal, "{amount} constraints: {:?}", run.notes);
            assert_eq!(run.violations.broken(), 0);
            assert!(run.gap().unwrap() <= 1e-6);
            // The optimum lies between that without constraints and that of the classes.
            assert!(run.objective > 78.85144 && run.objective < 89.29741, "{}", run.objective);
            let other =
                Job::new("mlcl", 3).run(&RunContext::new(seed), &Dataset::dense(&rows, 4).unwrap(), &given).unwrap();
            assert!(
                other.objective >= run.lower_bound.unwrap() * (1.0 - 1e-9),
                "{} {}",
                other.objective,
                run.objective
            );
        }
    }
}

#[derive(Default)]
struct Heard(Mutex<Vec<String>>);

impl Progress for Heard {
    fn step(&self, stage: &str, _: u64, _: Option<u64>) {
        self.0.lock().unwrap().push(stage.to_owned());
    }
}

#[test]
fn a_run_that_is_cut_short_has_a_bound_and_the_progress_line_tells_it() {
    let (rows, classes) = iris();
    let given = generate::balanced(&classes, 100, false, &mut Rng::stream(5, "exact", 0)).unwrap().constraints;
    let best = run(&RunContext::new(0), &rows, &given, 3);
    for limit in [0, 20] {
        let ctx = RunContext::new(0).with_time_limit(Duration::from_millis(limit));
        let run = run(&ctx, &rows, &given, 3);
        assert!(limit > 0 || run.termination == Termination::Deadline);
        let (bound, gap) = (run.lower_bound.unwrap(), run.gap().unwrap());
        assert!(bound <= best.objective * (1.0 + 1e-9) && run.objective >= best.objective * (1.0 - 1e-6));
        assert!((gap - (run.objective - bound) / run.objective).abs() < 1e-12);
        assert_eq!(run.violations.broken(), 0);
    }
    let heard = Arc::new(Heard::default());
    let ctx = RunContext::new(0).with_progress(heard.clone());
    run(&ctx, &rows, &given, 3);
    let lines = heard.0.lock().unwrap();
    assert!(
        lines.iter().any(|l| l.starts_with("objective ") && l.contains("lower bound ") && l.contains("gap ")),
        "{lines:?}"
    );
}
