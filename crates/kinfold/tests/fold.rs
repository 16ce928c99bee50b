//! What `fold` promises beyond the conformance suite: the choice is reported, the scaling asked for is respected, a
//! sample decides for large files, and the model labels new rows.

use std::time::Duration;

use kinfold::constraints::{ConstraintSet, Kind, generate};
use kinfold::context::{RunContext, Termination};
use kinfold::data::{Dataset, Scaling};
use kinfold::pipeline::{Job, Run};
use kinfold::rng::Rng;

/// Blobs that differ in the first column; the second is noise of far larger scale.
fn stretched(n: usize, k: usize, seed: u64) -> (Vec<f64>, Vec<u32>) {
    let mut rng = Rng::stream(seed, "rows", 0);
    let truth: Vec<u32> = (0..n).map(|i| (i % k) as u32).collect();
    let rows = truth.iter().flat_map(|&l| [8.0 * f64::from(l) + rng.normal(), 500.0 * rng.normal()]).collect();
    (rows, truth)
}

fn constraints(truth: &[u32], count: usize) -> ConstraintSet {
    generate::balanced(truth, count, false, &mut Rng::stream(3, "constraints", 0)).unwrap().constraints
}

/// Share of rows in the cluster that holds most of their class.
fn purity(run: &Run, truth: &[u32], k: usize) -> f64 {
    let mut table = vec![0usize; k * k];
    run.labels.iter().zip(truth).for_each(|(&l, &t)| table[t as usize * k + l as usize] += 1);
    table.chunks(k).map(|row| row.iter().max().copied().unwrap_or(0)).sum::<usize>() as f64 / truth.len() as f64
}

#[test]
fn the_metric_is_learned_and_the_choice_is_reported() {
    let (rows, truth) = stretched(240, 3, 1);
    let data = Dataset::dense(&rows, 2).unwrap();
    let run = Job::new("auto", 3).run(&RunContext::new(1), &data, &constraints(&truth, 120)).unwrap();
    assert_eq!((run.method, run.violations.broken()), ("fold", 0));
    assert!(purity(&run, &truth, 3) > 0.95, "{}", purity(&run, &truth, 3));
    let candidates = &run.representation.candidates;
    assert!(candidates.iter().any(|c| c.name.starts_with("rca")) && candidates.iter().any(|c| c.name == "raw+N"));
    // An adjusted Rand index.
    assert!(candidates.iter().all(|c| c.score.is_none_or(|s| (-1.0..=1.0).contains(&s))));
    assert!(candidates.iter().any(|c| c.weight > 0.5));
}

#[test]
fn no_cluster_is_lost_on_few_rows() {
    for rows in [vec![0.0, 0.0, 0.0, 1.0, 9.0, 9.0, 9.0, 8.0], vec![0.0, 0.0, 1.0, 0.0, 5.0, 5.0, 9.0, 0.0, 9.0, 1.0]] {
        let data = Dataset::dense(&rows, 2).unwrap();
        let mut given = ConstraintSet::new(data.n());
        given.add_pair(Kind::MustLink, 0, 1).unwrap();
        for k in 2..data.n() {
            let run = Job::new("fold", k).run(&RunContext::new(0), &data, &given).unwrap();
            assert!(run.sizes.iter().all(|&s| s > 0), "k = {k}: {:?}", run.labels);
            assert_eq!(run.violations.broken(), 0);
        }
    }
}

#[test]
fn a_scaling_that_was_asked_for_leaves_no_other() {
    let (rows, truth) = stretched(120, 2, 2);
    let data = Dataset::dense(&rows, 2).unwrap();
    let given = constraints(&truth, 30);
    for (scaling, name) in [(Scaling::None, "raw"), (Scaling::Robust, "robust")] {
        let job = Job { scaling: Some(scaling), ..Job::new("fold", 2) };
        let run = job.run(&RunContext::new(1), &data, &given).unwrap();
        assert_eq!(run.violations.broken(), 0);
        for c in &run.representation.candidates {
            assert!(c.name.contains(name) || c.name.contains("rca"), "{}", c.name);
        }
    }
}

#[test]
fn without_constraints_it_is_k_means_in_one_of_the_spaces() {
    let (rows, _) = stretched(200, 3, 4);
    let data = Dataset::dense(&rows, 2).unwrap();
    let none = ConstraintSet::new(200);
    let ctx = RunContext::new(5);
    let run = Job::new("fold", 3).run(&ctx, &data, &none).unwrap();
    let plain = |scaling| Job { scaling: Some(scaling), ..Job::new("kmeans", 3) }.run(&ctx, &data, &none).unwrap();
    let expected = match run.representation.name.as_str() {
        "raw" => plain(Scaling::None),
        "standard" => plain(Scaling::Standard),
        other => panic!("{other}"),
    };
    assert_eq!(run.labels, expected.labels);
    assert_eq!(run.objective.to_bits(), expected.objective.to_bits());
}

#[test]
fn constraints_that_settle_every_row_are_the_answer() {
    let (rows, truth) = stretched(30, 2, 6);
    let data = Dataset::dense(&rows, 2).unwrap();
    let mut given = ConstraintSet::new(30);
    // A path of cannot-links and must-links through all rows leaves two sides.
    for i in 1..30 {
        let kind = if truth[i] == truth[i - 1] { Kind::MustLink } else { Kind::CannotLink };
        given.add_pair(kind, i - 1, i).unwrap();
    }
    let run = Job::new("fold", 2).run(&RunContext::new(1), &data, &given).unwrap();
    assert_eq!(purity(&run, &truth, 2), 1.0);
    assert_eq!(run.termination, Termination::Optimal);
}

#[test]
fn a_large_file_is_decided_on_a_sample_and_finished_in_linear_time() {
    let n = 24_000;
    let (rows, truth) = stretched(n, 3, 7);
    let data = Dataset::dense(&rows, 2).unwrap();
    let given = constraints(&truth, 600);
    let fit = |threads| Job::new("fold", 3).run(&RunContext::new(1).with_threads(threads), &data, &given).unwrap();
    let run = fit(1);
    assert_eq!(run.violations.broken(), 0);
    assert!(purity(&run, &truth, 3) > 0.95, "{} {}", run.representation.name, purity(&run, &truth, 3));
    assert_eq!(run.labels, fit(2).labels);
}

#[test]
fn curved_clusters_of_a_large_file_are_found_from_few_and_from_many_constraints() {
    let mut rng = Rng::stream(10, "rows", 0);
    let truth: Vec<u32> = (0..24_000).map(|i| i % 3).collect();
    let ring = |&l: &u32| {
        let (radius, angle) = (1.0 + 2.0 * f64::from(l) + 0.1 * rng.normal(), std::f64::consts::TAU * rng.unit());
        [radius * angle.cos(), radius * angle.sin()]
    };
    let rows: Vec<f64> = truth.iter().flat_map(ring).collect();
    let data = Dataset::dense(&rows, 2).unwrap();
    // The sample has all of the first, and hardly any of the second.
    for count in [600, 12_000] {
        let run = Job::new("fold", 3).run(&RunContext::new(1), &data, &constraints(&truth, count)).unwrap();
        assert_eq!(run.violations.broken(), 0);
        assert!(purity(&run, &truth, 3) > 0.99, "{count}: {} {}", run.representation.name, purity(&run, &truth, 3));
    }
}

#[test]
fn as_many_constraints_as_rows_of_a_large_file_do_not_lead_astray() {
    // Chunklets of very different sizes, and curved candidates that a sample makes look good.
    let (n, dims, k) = (24_000, 20, 20);
    let mut rng = Rng::stream(11, "rows", 0);
    let centres: Vec<f64> = (0..k * dims).map(|_| 0.6 * rng.normal()).collect();
    let truth: Vec<u32> = (0..n).map(|i| (i % k) as u32).collect();
    let row = |&l: &u32| (0..dims).map(|j| centres[l as usize * dims + j] + rng.normal()).collect::<Vec<f64>>();
    let rows: Vec<f64> = truth.iter().flat_map(row).collect();
    let data = Dataset::dense(&rows, dims).unwrap();
    let given = constraints(&truth, n);
    let purity = |method| {
        let run = Job::new(method, k).run(&RunContext::new(1), &data, &given).unwrap();
        assert_eq!(run.violations.broken(), 0);
        purity(&run, &truth, k)
    };
    let (ours, theirs) = (purity("fold"), purity("mlcl"));
    assert!(ours > theirs - 0.02, "fold {ours}, mlcl {theirs}");
}

#[test]
fn a_run_out_of_time_still_keeps_every_constraint() {
    for n in [300, 24_000] {
        let (rows, truth) = stretched(n, 4, 8);
        let data = Dataset::dense(&rows, 2).unwrap();
        let given = constraints(&truth, 200);
        let ctx = RunContext::new(1).with_time_limit(Duration::ZERO);
        let run = Job::new("fold", 4).run(&ctx, &data, &given).unwrap();
        assert_eq!((run.termination, run.violations.broken()), (Termination::Deadline, 0), "{n} rows");
    }
}

#[test]
fn the_model_labels_the_rows_it_was_made_from_where_clusters_are_round() {
    let mut rng = Rng::stream(9, "rows", 0);
    let truth: Vec<u32> = (0..150).map(|i| i % 3).collect();
    let rows: Vec<f32> =
        truth.iter().flat_map(|&l| [20.0 * f64::from(l) + rng.normal(), rng.normal()].map(|v| v as f32)).collect();
    let data = Dataset::dense(&rows, 2).unwrap();
    let run = Job::new("fold", 3).run(&RunContext::new(1), &data, &constraints(&truth, 40)).unwrap();
    let model = run.model(&["a".into(), "b".into()]);
    assert_eq!(model.predict(&RunContext::new(0), &data).unwrap(), run.labels);
}

#[test]
fn a_row_that_weighs_more_pulls_the_centres() {
    let rows = [0.0, 1.0, 2.0, 10.0, 11.0, 12.0];
    let weights = [1.0, 1.0, 50.0, 1.0, 1.0, 1.0];
    let mut given = ConstraintSet::new(6);
    given.add_pair(Kind::MustLink, 0, 1).unwrap();
    given.add_pair(Kind::CannotLink, 1, 5).unwrap();
    let data = Dataset::dense(&rows, 1).unwrap().with_weights(&weights).unwrap();
    let job = Job { scaling: Some(Scaling::None), ..Job::new("fold", 2) };
    let run = job.run(&RunContext::new(1), &data, &given).unwrap();
    assert_eq!(run.labels, [0, 0, 0, 1, 1, 1]);
    assert!((run.centres.row(0)[0] - 101.0 / 52.0).abs() < 1e-12);
}

#[test]
fn clusters_of_unequal_shape_are_told_apart_by_a_mixture() {
    // Two flat clusters that cross: no linear space and no neighbourhood separates them.
    let mut rng = Rng::stream(5, "crossing", 0);
    let truth: Vec<u32> = (0..400).map(|i| i % 2).collect();
    let row = |&t: &u32, rng: &mut Rng| {
        let (long, short, third) = (3.0 * rng.normal(), 0.3 * rng.normal(), 0.3 * rng.normal());
        if t == 0 { [long, short, third] } else { [short, long, third] }
    };
    let rows: Vec<f64> = truth.iter().flat_map(|t| row(t, &mut rng)).collect();
    let data = Dataset::dense(&rows, 3).unwrap();
    let run = Job::new("fold", 2).run(&RunContext::new(1), &data, &constraints(&truth, 60)).unwrap();
    assert_eq!(run.violations.broken(), 0);
    let mixtures = run.representation.candidates.iter().filter(|c| c.name.ends_with("+M"));
    assert!(mixtures.map(|c| c.weight).fold(0.0, f64::max) > 0.5, "{:?}", run.representation.candidates);
    assert!(purity(&run, &truth, 2) > 0.85, "{}", purity(&run, &truth, 2));
}
