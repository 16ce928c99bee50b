//! Constrained average link against scipy's average linkage of the edited distances (scripts/scipy-average-link.py).

use kinfold::blocks::average_link::{Distance, Linkage, constrained_average_link};
use kinfold::constraints::{Chunklets, ConstraintSet, Kind};
use kinfold::context::RunContext;
use kinfold::data::Dataset;
use kinfold::pipeline::Job;

/// Labels renamed in the order in which they appear.
fn renamed(labels: &[u64]) -> Vec<u32> {
    let mut seen = Vec::new();
    let mut id = |l: u64| {
        seen.iter().position(|&s| s == l).unwrap_or_else(|| {
            seen.push(l);
            seen.len() - 1
        })
    };
    labels.iter().map(|&l| id(l) as u32).collect()
}

#[test]
fn merges_and_cuts_are_those_of_scipy_on_the_edited_distances() {
    let fixture: serde_json::Value = serde_json::from_str(include_str!("data/scipy_average_link.json")).unwrap();
    let floats =
        |v: &serde_json::Value| v.as_array().unwrap().iter().map(|x| x.as_f64().unwrap()).collect::<Vec<f64>>();
    let mut compared = 0;
    for (number, case) in fixture["cases"].as_array().unwrap().iter().enumerate() {
        let rows = floats(&case["rows"]);
        let data = Dataset::dense(&rows, case["dims"].as_u64().unwrap() as usize).unwrap();
        let mut given = ConstraintSet::new(data.n());
        for (name, kind) in [("must_link", Kind::MustLink), ("cannot_link", Kind::CannotLink)] {
            for pair in case[name].as_array().unwrap() {
                let end = |i: usize| pair[i].as_u64().unwrap() as usize;
                given.add_pair(kind, end(0), end(1)).unwrap();
            }
        }
        let linkage = Linkage { distance: Distance::Euclidean, penalty: 1.0, hard: false };
        let alone = Chunklets::singletons(data.n());
        let tree = constrained_average_link(&RunContext::new(0), &data, &given, &alone, linkage);
        for (ours, theirs) in tree.merges().iter().zip(floats(&case["heights"])) {
            assert!((ours.height - theirs).abs() <= 1e-9, "case {number}: {} {theirs}", ours.height);
        }
        for cut in case["cuts"].as_array().unwrap() {
            let k = cut["k"].as_u64().unwrap() as usize;
            let theirs: Vec<u64> = cut["labels"].as_array().unwrap().iter().map(|l| l.as_u64().unwrap()).collect();
            assert_eq!(tree.cut(k), renamed(&theirs), "case {number}, k = {k}");
            let run = Job::new("cal", k).run(&RunContext::new(0), &data, &given).unwrap();
            assert_eq!(run.labels, renamed(&theirs), "case {number}, k = {k}");
            compared += 1;
        }
    }
    assert!(compared > 80);
}
