use super::*;
use crate::constraints::{ConstraintSet, generate};
use crate::pipeline::Job;

fn params(metric: Form, scope: Scope) -> MpckMeansParams {
    MpckMeansParams { metric, scope, ..Default::default() }
}

const ALL: [(Form, Scope); 4] = [
    (Form::Diagonal, Scope::Single),
    (Form::Full, Scope::Single),
    (Form::Diagonal, Scope::PerCluster),
    (Form::Full, Scope::PerCluster),
];

/// A (row-major) of the metric of cluster 0 and J, after learning on these labels.
fn learned(
    rows: &[f64],
    dims: usize,
    given: &ConstraintSet,
    labels: &[u32],
    k: usize,
    p: &MpckMeansParams,
) -> (Vec<f64>, f64) {
    let data = Dataset::dense(rows, dims).unwrap();
    let chunklets = given.close().unwrap();
    let soft = Soft::new(given, &chunklets, true);
    let instance = Instance::new(&data, &soft, p, k).unwrap();
    let pool = crate::blocks::par::Pool::new(1);
    let (centres, _) = means::means(&data, labels, k);
    let count = if p.scope == Scope::Single { 1 } else { k };
    let now = instance.prepared(&pool, vec![Metric::identity(dims); count]);
    let metrics = instance.learn(&now, labels, &centres).unwrap();
    let now = instance.prepared(&pool, metrics);
    let a = now.metrics[0].shape().map;
    (gram_of_columns(a.values(), dims).values().to_vec(), now.objective(&centres, labels))
}

#[test]
fn one_cluster_without_constraints_is_whitened() {
    let rows = [2.0, 0.0, -2.0, 0.0, 0.0, 1.0, 0.0, -1.0];
    for (form, scope) in ALL {
        let (a, cost) = learned(&rows, 2, &ConstraintSet::new(4), &[0; 4], 1, &params(form, scope));
        let expected = [0.5, 0.0, 0.0, 2.0];
        assert!(a.iter().zip(expected).all(|(x, y)| (x - y).abs() < 1e-9), "{a:?}");
        assert!((cost - 8.0).abs() < 1e-9, "{cost}");
    }
    let (a, cost) =
        learned(&[-1.0, 1.0], 1, &ConstraintSet::new(2), &[0; 2], 1, &params(Form::Diagonal, Scope::Single));
    assert!((a[0] - 1.0).abs() < 1e-12 && (cost - 2.0).abs() < 1e-12);
}

#[test]
fn a_cannot_link_between_the_farthest_rows_costs_nothing() {
    let mut given = ConstraintSet::new(2);
    given.add_pair(Kind::CannotLink, 0, 1).unwrap();
    let (a, cost) = learned(&[0.0, 2.0], 1, &given, &[0; 2], 1, &params(Form::Diagonal, Scope::Single));
    assert!((a[0] - 1.0).abs() < 1e-12 && (cost - 2.0).abs() < 1e-12, "{a:?} {cost}");
}

#[test]
fn scaling_a_column_scales_its_weight_and_adds_a_constant() {
    let mut rng = Rng::stream(4, "mpck test", 0);
    let rows: Vec<f64> = (0..60).map(|_| rng.normal()).collect();
    let large: Vec<f64> = rows.iter().enumerate().map(|(i, v)| if i % 2 == 0 { 10.0 * v } else { *v }).collect();
    let labels: Vec<u32> = (0..30).map(|i| i % 3).collect();
    let mut given = ConstraintSet::new(30);
    given.add_pair(Kind::MustLink, 0, 1).unwrap();
    let p = params(Form::Diagonal, Scope::Single);
    let (a, cost) = learned(&rows, 2, &given, &labels, 3, &p);
    let (b, more) = learned(&large, 2, &given, &labels, 3, &p);
    assert!((a[0] / 100.0 - b[0]).abs() < 1e-12 * a[0] && (a[3] - b[3]).abs() < 1e-9);
    assert!((more - cost - 30.0 * 100f64.ln()).abs() < 1e-8, "{cost} {more}");
}

#[test]
fn no_other_metric_is_better_while_the_rest_stays() {
    // Only must-links are broken, so that the farthest pair does not enter.
    let mut rng = Rng::stream(5, "mpck test", 0);
    let rows: Vec<f64> = (0..120).map(|_| rng.normal()).collect();
    let data = Dataset::dense(&rows, 3).unwrap();
    let labels: Vec<u32> = (0..40).map(|i| i % 2).collect();
    let mut given = ConstraintSet::new(40);
    for i in 0..10 {
        given.add_pair(Kind::MustLink, 2 * i, 2 * i + 1).unwrap();
    }
    let chunklets = given.close().unwrap();
    let soft = Soft::new(&given, &chunklets, true);
    let pool = crate::blocks::par::Pool::new(1);
    let (centres, _) = means::means(&data, &labels, 2);
    for (form, scope) in ALL {
        let p = params(form, scope);
        let instance = Instance::new(&data, &soft, &p, 2).unwrap();
        let count = if scope == Scope::Single { 1 } else { 2 };
        let start = instance.prepared(&pool, vec![Metric::identity(3); count]);
        let best = instance.learn(&start, &labels, &centres).unwrap();
        let least = instance.prepared(&pool, best.clone()).objective(&centres, &labels);
        for _ in 0..50 {
            let other = best.iter().map(|m| match m {
                Metric::Diagonal(f) => Metric::Diagonal(f.iter().map(|f| f * (0.1 * rng.normal()).exp()).collect()),
                Metric::Full(map) => {
                    // The rows stay orthogonal, as log_det expects.
                    let mut map = map.clone();
                    (0..3).for_each(|i| {
                        let s = (0.1 * rng.normal()).exp();
                        map.row_mut(i).iter_mut().for_each(|v| *v *= s);
                    });
                    Metric::Full(map)
                }
            });
            let cost = instance.prepared(&pool, other.collect()).objective(&centres, &labels);
            assert!(cost >= least - 1e-9 * least.abs(), "{cost} {least}");
        }
    }
}

#[test]
fn constraints_on_one_column_teach_the_metric_that_the_other_is_noise() {
    // The classes differ in column 0; column 1 is ten times as wide and says nothing.
    let mut rng = Rng::stream(6, "mpck test", 0);
    let truth: Vec<u32> = (0..200).map(|i| i % 2).collect();
    let rows: Vec<f64> =
        truth.iter().flat_map(|&t| [4.0 * f64::from(t) + 0.5 * rng.normal(), 10.0 * rng.normal()]).collect();
    let data = Dataset::dense(&rows, 2).unwrap();
    let given = generate::pairs(&truth, 60, &mut rng).unwrap().constraints;
    for (form, scope) in
        [("diagonal", "single"), ("full", "single"), ("diagonal", "per-cluster"), ("full", "per-cluster")]
    {
        let settings = vec![("metric".into(), form.into()), ("scope".into(), scope.into())];
        let run = Job { settings, ..Job::new(NAME, 2) }.run(&RunContext::new(1), &data, &given).unwrap();
        let wrong = run.labels.iter().zip(&truth).filter(|(l, t)| l != t).count();
        assert!(wrong.min(200 - wrong) <= 2, "{form} {scope}: {wrong}");
        let best = run.trace.iter().copied().fold(f64::INFINITY, f64::min);
        assert!((run.objective - best).abs() < 1e-6 * best.abs(), "{form} {scope}: {} {best}", run.objective);
        // New rows are measured as the clusters were.
        let again = run.model(&[]).predict(&RunContext::new(0), &data).unwrap();
        let moved = again.iter().zip(&run.labels).filter(|(a, b)| a != b).count();
        assert!(moved <= 4, "{form} {scope}: {moved}");
    }
}
