use super::*;
use crate::constraints::{ConstraintSet, Kind, generate};
use crate::pipeline::{Job, Run};
use crate::rng::Rng;

const LINE: [f64; 4] = [0.0, 1.0, 9.0, 10.0];

/// Labels and J from given centres.
fn from_centres(rows: &[f64], given: &ConstraintSet, centres: &[f64], weight: f64) -> (Vec<u32>, f64) {
    let data = Dataset::dense(rows, 1).unwrap();
    let method =
        PckMeans(PckMeansParams { weight, unit: Unit::Absolute, whole: false, refine: false, ..Default::default() });
    let (alone, chunklets) = (Chunklets::singletons(rows.len()), given.close().unwrap());
    let soft = Soft::new(given, &chunklets, true);
    let units = Units::rows(&data, &alone, soft.rows().to_vec());
    let centres = Matrix::from_vec(1, centres.to_vec());
    let outcome = method.descend(&RunContext::new(3), &units, &soft, weight, centres, 0).unwrap();
    let cost = outcome.cost() / 2.0;
    (outcome.labels, cost)
}

#[test]
fn a_cheap_must_link_stays_broken_and_a_dear_one_is_mended() {
    let mut given = ConstraintSet::new(4);
    given.add_pair(Kind::MustLink, 1, 2).unwrap();
    let (labels, cost) = from_centres(&LINE, &given, &[0.5, 9.5], 1.0);
    assert_eq!(labels, [0, 0, 1, 1]);
    assert!((cost - 1.5).abs() < 1e-12, "{cost}");
    let (labels, cost) = from_centres(&LINE, &given, &[0.5, 9.5], 100.0);
    assert!(labels == [0, 1, 1, 1] || labels == [0, 0, 0, 1], "{labels:?}");
    assert!((cost - 73.0 / 3.0).abs() < 1e-12, "{cost}");
}

fn blobs(n: usize, seed: u64) -> (Vec<f64>, Vec<u32>) {
    let mut rng = Rng::stream(seed, "blobs", 0);
    let truth: Vec<u32> = (0..n).map(|_| rng.below(4) as u32).collect();
    let rows =
        truth.iter().flat_map(|&l| [f64::from(l % 2), f64::from(l / 2)]).map(|c| 3.0 * c + rng.normal()).collect();
    (rows, truth)
}

fn run(rows: &[f64], given: &ConstraintSet, settings: &[(&str, &str)], seed: u64) -> Run {
    let settings = settings.iter().map(|&(a, b)| (a.into(), b.into())).collect();
    let data = Dataset::dense(rows, 2).unwrap();
    Job { settings, ..Job::new("pck-means", 4) }.run(&RunContext::new(seed), &data, given).unwrap()
}

#[test]
fn weight_zero_is_plain_k_means() {
    let (rows, truth) = blobs(300, 1);
    let given = generate::pairs(&truth, 100, &mut Rng::stream(1, "test", 0)).unwrap().constraints;
    let lloyd = [("init", "greedy-kmeans++"), ("refine", "no")];
    let plain = run(&rows, &ConstraintSet::new(300), &lloyd, 5);
    let free = run(&rows, &given, &[&lloyd[..], &[("weight", "0")]].concat(), 5);
    let data = Dataset::dense(&rows, 2).unwrap();
    let kmeans = Job::new("kmeans", 4).run(&RunContext::new(5), &data, &given).unwrap();
    assert!((free.objective - kmeans.objective / 2.0).abs() < 1e-9);
    assert_eq!((&plain.labels, &kmeans.labels), (&free.labels, &free.labels));
}

#[test]
fn the_objective_never_rises_and_cached_counts_do_not_drift() {
    for seed in 0..20 {
        let (rows, truth) = blobs(200, seed);
        let amount = 40 + 40 * seed as usize;
        let given = generate::pairs(&truth, amount, &mut Rng::stream(seed, "test", 0)).unwrap().constraints;
        for settings in [&[("weight", "0.3")][..], &[("closure", "no")], &[("whole", "no"), ("sweeps", "1")]] {
            let run = run(&rows, &given, settings, seed);
            assert!(run.trace.windows(2).all(|w| w[1] <= w[0] * (1.0 + 1e-12)), "{:?}", run.trace);
            let last = run.trace[run.trace.len() - 1];
            assert!((last - run.objective).abs() < 1e-9 * last, "{last} {}", run.objective);
        }
    }
}

#[test]
fn prices_are_in_units_of_the_data() {
    let (rows, truth) = blobs(150, 3);
    let given = generate::pairs(&truth, 75, &mut Rng::stream(3, "test", 0)).unwrap().constraints;
    let large: Vec<f64> = rows.iter().map(|x| x * 1024.0).collect();
    let (a, b) = (run(&rows, &given, &[], 1), run(&large, &given, &[], 1));
    assert_eq!(a.labels, b.labels);
    let absolute = [("unit", "absolute")];
    assert_ne!(run(&large, &given, &absolute, 1).violations.broken(), b.violations.broken());
}

#[test]
fn whole_chunklets_move_where_single_rows_would_not() {
    // Two rows started on the wrong side, tied to each other at a price that neither pays alone.
    let mut given = ConstraintSet::new(2);
    given.add_pair(Kind::MustLink, 0, 1).unwrap();
    let chunklets = given.close().unwrap();
    let soft = Soft::new(&given, &chunklets, true);
    let mut labels = [0, 0];
    let costs = [36.0, 16.0, 36.0, 16.0];
    for (groups, expected) in [(&[][..], [0, 0]), (soft.groups(), [1, 1])] {
        let mut energy = crate::blocks::soft::Broken::new(&soft, 50.0, 2);
        crate::blocks::icm::Energy::reset(&mut energy, &labels);
        let sweep = crate::blocks::icm::Sweep { costs: &costs, k: 2, order: &[0, 1], groups, most: 10 };
        crate::blocks::icm::settle(&mut energy, &sweep, &mut labels);
        assert_eq!(labels, expected);
    }
}
