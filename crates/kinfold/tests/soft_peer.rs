//! PCK-means and MPCK-means against the package active-semi-supervised-clustering from the same starts
//! (scripts/soft-peer.py): our objective is not above theirs.

use kinfold::constraints::{ConstraintSet, Kind};
use kinfold::context::RunContext;
use kinfold::data::Dataset;
use kinfold::pipeline::Job;
use serde_json::Value;

#[test]
fn the_objective_is_not_above_the_peers_from_the_same_start() {
    let fixture: Value = serde_json::from_str(include_str!("data/soft_peer.json")).unwrap();
    let cases = fixture["cases"].as_array().unwrap();
    assert!(cases.len() >= 6);
    for (i, case) in cases.iter().enumerate() {
        let rows: Vec<Vec<f64>> = serde_json::from_value(case["rows"].clone()).unwrap();
        let k = case["k"].as_u64().unwrap() as usize;
        let mut given = ConstraintSet::new(rows.len());
        for (name, kind) in [("must_link", Kind::MustLink), ("cannot_link", Kind::CannotLink)] {
            let pairs: Vec<(usize, usize)> = serde_json::from_value(case[name].clone()).unwrap();
            for (a, b) in pairs {
                given.add_pair(kind, a, b).unwrap();
            }
        }
        let flat = rows.concat();
        let data = Dataset::dense(&flat, rows[0].len()).unwrap();
        let method = case["method"].as_str().unwrap();
        let mut settings = vec![("init", "neighbourhoods".to_owned()), ("restarts", "1".to_owned())];
        settings.push(("weight", case["weight"].to_string()));
        if method == "pck-means" {
            settings.push(("unit", "absolute".to_owned()));
        }
        let settings = settings.into_iter().map(|(a, b)| (a.to_owned(), b)).collect();
        let theirs = case["objective"].as_f64().unwrap();
        let limit = theirs + 1e-9 * theirs.abs();
        let objective = |seed: u64| {
            let job = Job { settings: Vec::clone(&settings), ..Job::new(method, k) };
            job.run(&RunContext::new(seed), &data, &given).unwrap().objective
        };
        let worst = (0..20).map(objective).fold(f64::NEG_INFINITY, f64::max);
        assert!(worst <= limit, "case {i}, {method}: {worst} against {theirs}");
    }
}
