//! Learned metrics against metric-learn on the same pairs and chunklets (scripts/metric-learn-fixture.py), and as a user
//! meets them: before any method, and in saved models.

use kinfold::constraints::{ConstraintSet, Kind, generate};
use kinfold::context::RunContext;
use kinfold::data::{Dataset, Transform};
use kinfold::methods::METHODS;
use kinfold::metrics::{Choice, METRICS};
use kinfold::pipeline::Job;
use kinfold::rng::Rng;
use serde_json::Value;

fn numbers(value: &Value) -> Vec<f64> {
    match value {
        Value::Array(all) => all.iter().flat_map(numbers).collect(),
        other => vec![other.as_f64().unwrap()],
    }
}

/// M = GᵀG of a learned transform, row-major.
fn matrix_of(transform: &Transform) -> Vec<f64> {
    let Transform::Linear { matrix, .. } = transform else { panic!("{transform:?}") };
    let d = matrix.rows();
    let dot = |i: usize, j: usize| matrix.row(i).iter().zip(matrix.row(j)).map(|(a, b)| a * b).sum();
    (0..d * d).map(|at| dot(at / d, at % d)).collect()
}

fn agrees(ours: &[f64], theirs: &[f64], tolerance: f64, what: &str) {
    let size = theirs.iter().fold(0.0f64, |a, b| a.max(b.abs()));
    assert_eq!(ours.len(), theirs.len());
    for (a, b) in ours.iter().zip(theirs) {
        assert!((a - b).abs() <= tolerance * size, "{what}: {a} and {b}");
    }
}

fn fixture() -> Value {
    serde_json::from_str(include_str!("data/metric_learn.json")).unwrap()
}

#[test]
fn itml_learns_the_matrix_that_metric_learn_learns() {
    for case in fixture()["itml"].as_array().unwrap() {
        let rows = numbers(&case["rows"]);
        let n = case["rows"].as_array().unwrap().len();
        let data = Dataset::dense(&rows, rows.len() / n).unwrap();
        let mut given = ConstraintSet::new(n);
        for (pair, same) in case["pairs"].as_array().unwrap().iter().zip(case["same"].as_array().unwrap()) {
            let pair = numbers(pair);
            let kind = if same.as_bool().unwrap() { Kind::MustLink } else { Kind::CannotLink };
            given.add_pair(kind, pair[0] as usize, pair[1] as usize).unwrap();
        }
        let setting = |name: &str| (name.to_owned(), case[name].to_string());
        let settings = vec![setting("gamma"), setting("upper"), setting("lower")];
        let choice = Choice { name: "itml".into(), settings };
        let (chunklets, _) = given.close_lenient(0.0).unwrap();
        let learned = choice.learn(&RunContext::new(0), &data, &given, &chunklets).unwrap();
        agrees(&matrix_of(&learned.transform), &numbers(&case["m"]), 1e-10, "itml");
    }
}

#[test]
fn rca_learns_the_matrix_that_metric_learn_learns() {
    for case in fixture()["rca"].as_array().unwrap() {
        let rows = numbers(&case["rows"]);
        let n = case["rows"].as_array().unwrap().len();
        let data = Dataset::dense(&rows, rows.len() / n).unwrap();
        let mut given = ConstraintSet::new(n);
        let chunks: Vec<i64> = case["chunk"].as_array().unwrap().iter().map(|c| c.as_i64().unwrap()).collect();
        for chunk in 0..=*chunks.iter().max().unwrap() {
            let members: Vec<usize> = (0..n).filter(|&i| chunks[i] == chunk).collect();
            members.windows(2).for_each(|w| {
                given.add_pair(Kind::MustLink, w[0], w[1]).unwrap();
            });
        }
        let choice = Choice { name: "rca".into(), settings: vec![("shrink".into(), "0".into())] };
        let learned = choice.learn(&RunContext::new(0), &data, &given, &given.close().unwrap()).unwrap();
        agrees(&matrix_of(&learned.transform), &numbers(&case["m"]), 1e-10, "rca");
    }
}

/// Two classes in column 0, ten times as much noise in column 1.
fn noisy(n: usize) -> (Vec<f64>, Vec<u32>) {
    let mut rng = Rng::stream(3, "noisy", 0);
    let truth: Vec<u32> = (0..n as u32).map(|i| i % 2).collect();
    let rows = truth.iter().flat_map(|&t| [4.0 * f64::from(t) + 0.5 * rng.normal(), 10.0 * rng.normal()]).collect();
    (rows, truth)
}

#[test]
fn every_metric_goes_before_every_method_and_into_its_model() {
    let (rows, truth) = noisy(120);
    let data = Dataset::dense(&rows, 2).unwrap();
    let given = generate::balanced(&truth, 60, false, &mut Rng::stream(1, "test", 0)).unwrap().constraints;
    for metric in METRICS {
        for method in METHODS {
            let job = Job { metric: Some(Choice::new(metric.info.name)), ..Job::new(method.info.name, 2) };
            let what = format!("{} before {}", metric.info.name, method.info.name);
            let run = job.run(&RunContext::new(1), &data, &given).unwrap_or_else(|e| panic!("{what}: {e}"));
            assert!(run.representation.name.contains(metric.info.name), "{what}: {}", run.representation.name);
            if method.info.name == "kmeans" {
                let wrong = run.labels.iter().zip(&truth).filter(|(l, t)| l != t).count();
                assert!(wrong.min(120 - wrong) <= 1, "{what}: {wrong}");
                let again = run.model(&[]).predict(&RunContext::new(9), &data).unwrap();
                assert_eq!(again, run.labels, "{what}");
            }
        }
    }
    let plain = Job::new("kmeans", 2).run(&RunContext::new(1), &data, &given).unwrap();
    assert!(plain.violations.broken() > 10, "without a metric the noise wins");
}

#[test]
fn a_metric_without_its_constraints_leaves_the_rows_alone_and_says_so() {
    let (rows, _) = noisy(30);
    let data = Dataset::dense(&rows, 2).unwrap();
    let none = ConstraintSet::new(30);
    let plain = Job::new("kmeans", 2).run(&RunContext::new(1), &data, &none).unwrap();
    for metric in METRICS {
        let job = Job { metric: Some(Choice::new(metric.info.name)), ..Job::new("kmeans", 2) };
        let run = job.run(&RunContext::new(1), &data, &none).unwrap();
        assert_eq!(run.labels, plain.labels, "{}", metric.info.name);
        assert!(run.notes.iter().any(|n| n.contains("learned nothing")), "{}", metric.info.name);
    }
    let sparse = Dataset::sparse(&[0, 1, 2], &[0, 1], &[1.0, 2.0], 2).unwrap();
    let job = Job { metric: Some(Choice::new("rca")), ..Job::new("kmeans", 2) };
    assert!(job.run(&RunContext::new(1), &sparse, &ConstraintSet::new(2)).unwrap_err().to_string().contains("dense"));
    let job = Job { metric: Some(Choice::new("itlm")), ..Job::new("kmeans", 2) };
    let why = job.run(&RunContext::new(1), &data, &none).unwrap_err().to_string();
    assert!(why.contains("did you mean 'itml'"), "{why}");
}
