//! One suite for every method of the table: what a user may rely on whatever the method is.

use kinfold::constraints::{ConstraintSet, Kind, Origin, generate};
use kinfold::context::{CancelToken, RunContext, Termination};
use kinfold::data::Dataset;
use kinfold::methods::{Entry, METHODS, SizeBounds};
use kinfold::pipeline::{Job, Run, Trust};
use kinfold::rng::Rng;

/// Gaussian blobs: rows, dims and true labels.
fn blobs(n: usize, dims: usize, k: usize, spread: f64, seed: u64) -> (Vec<f64>, Vec<u32>) {
    let mut rng = Rng::stream(seed, "blobs", 0);
    let centres: Vec<f64> = (0..k * dims).map(|_| 6.0 * rng.normal()).collect();
    let labels: Vec<u32> = (0..n).map(|i| (i % k) as u32).collect();
    let rows = labels
        .iter()
        .flat_map(|&l| centres[l as usize * dims..(l as usize + 1) * dims].to_vec())
        .map(|c| c + spread * rng.normal())
        .collect();
    (rows, labels)
}

/// The method with default settings; proofs that may take for ever get a limit of work, which is the same on any machine.
fn job(entry: &Entry, k: usize) -> Job {
    let limited = (entry.parameters)().iter().any(|p| p.name == "work");
    let limits = [("work", "0.5"), ("restarts", "4")].map(|(name, value)| (name.to_owned(), value.to_owned()));
    Job { settings: if limited { limits.to_vec() } else { Vec::new() }, ..Job::new(entry.info.name, k) }
}

fn run(entry: &Entry, k: usize, data: &Dataset<'_, f64>, given: &ConstraintSet, ctx: &RunContext) -> Run {
    job(entry, k).run(ctx, data, given).unwrap_or_else(|e| panic!("{}: {e}", entry.info.name))
}

fn comparable(run: &Run) -> (Vec<u32>, Vec<u64>, Vec<u64>) {
    let bits = |v: &[f64]| v.iter().map(|x| x.to_bits()).collect::<Vec<u64>>();
    (run.labels.clone(), bits(&run.trace), bits(run.centres.values()))
}

/// Does it need memory for every pair of rows, and so perhaps time for every triple?
fn is_quadratic(entry: &Entry) -> bool {
    (entry.build)(&[]).unwrap().memory(1000, 3, 4) > 0
}

#[test]
fn the_same_seed_gives_the_same_bytes_for_any_number_of_threads() {
    for entry in METHODS {
        let n = if is_quadratic(entry) { 150 } else { 2500 };
        let (rows, truth) = blobs(n, 3, 4, 2.0, 1);
        let data = Dataset::dense(&rows, 3).unwrap();
        let given = generate::balanced(&truth, n / 12, false, &mut Rng::stream(1, "test", 0)).unwrap().constraints;
        let one = run(entry, 4, &data, &given, &RunContext::new(7).with_threads(1));
        for threads in [1, 2, 3] {
            let other = run(entry, 4, &data, &given, &RunContext::new(7).with_threads(threads));
            assert_eq!(comparable(&one), comparable(&other), "{} on {threads} threads", entry.info.name);
        }
    }
}

#[test]
fn constraints_that_say_nothing_change_nothing() {
    let (rows, _) = blobs(120, 2, 3, 1.5, 2);
    let data = Dataset::dense(&rows, 2).unwrap();
    let mut nothing = ConstraintSet::new(120);
    nothing.add_weighted_pair(Kind::MustLink, 0, 1, 0.0, Origin::default()).unwrap();
    nothing.add_weighted_pair(Kind::CannotLink, 0, 3, 0.0, Origin::default()).unwrap();
    nothing.add_pair(Kind::MustLink, 5, 5).unwrap();
    for entry in METHODS {
        let ctx = RunContext::new(3);
        let plain = run(entry, 3, &data, &ConstraintSet::new(120), &ctx);
        let same = run(entry, 3, &data, &nothing, &ctx);
        assert_eq!(comparable(&plain), comparable(&same), "{}", entry.info.name);
        assert_eq!(plain.violations.total(), 0);
    }
}

fn hard_constraints_are_kept(amount: impl Fn(usize) -> usize, first: u64) {
    for case in (first..40).step_by(3) {
        let k = 2 + (case as usize * 7) % 12;
        let n = 60 + 4 * k;
        let (rows, truth) = blobs(n, 3, k, 6.0, case);
        let data = Dataset::dense(&rows, 3).unwrap();
        let mut rng = Rng::stream(case, "test", 0);
        let given = generate::pairs(&truth, amount(n), &mut rng).unwrap().constraints;
        for entry in METHODS.iter().filter(|e| e.info.listens.obeys()) {
            let run = run(entry, k, &data, &given, &RunContext::new(case));
            assert_eq!(run.violations.broken(), 0, "{}, case {case}, k = {k}", entry.info.name);
        }
    }
}

#[test]
fn few_hard_constraints_are_kept_where_that_is_promised() {
    hard_constraints_are_kept(|n| n / 4, 0);
}

#[test]
fn as_many_hard_constraints_as_rows_are_kept_where_that_is_promised() {
    hard_constraints_are_kept(|n| n, 1);
}

#[test]
fn many_hard_constraints_are_kept_where_that_is_promised() {
    hard_constraints_are_kept(|n| 4 * n, 2);
}

#[test]
fn the_trace_never_rises_and_ends_at_the_recomputed_objective_where_that_is_promised() {
    for seed in 0..5 {
        let (rows, truth) = blobs(300, 4, 5, 4.0, seed);
        let data = Dataset::dense(&rows, 4).unwrap();
        let given = generate::balanced(&truth, 100, false, &mut Rng::stream(seed, "test", 0)).unwrap().constraints;
        for entry in METHODS.iter().filter(|e| e.info.monotone) {
            let run = run(entry, 5, &data, &given, &RunContext::new(seed));
            let close = |a: f64, b: f64| (a - b).abs() <= 1e-9 * b.abs();
            assert!(
                run.trace.windows(2).all(|w| w[1] <= w[0] || close(w[0], w[1])),
                "{}: {:?}",
                entry.info.name,
                run.trace
            );
            if run.termination == Termination::Converged {
                assert!(close(run.trace[run.trace.len() - 1], run.objective), "{}", entry.info.name);
            }
        }
    }
}

#[test]
fn pairs_groups_and_partial_labels_that_say_the_same_give_the_same() {
    let (rows, truth) = blobs(90, 2, 3, 4.0, 5);
    let data = Dataset::dense(&rows, 2).unwrap();
    let known: Vec<usize> = (0..90).step_by(6).collect();
    let mut labels = ConstraintSet::new(90);
    let pairs: Vec<(usize, u32)> = known.iter().map(|&r| (r, truth[(r / 6) % 90])).collect();
    let names = vec!["a".into(), "b".into(), "c".into()];
    labels.add_labels(&pairs, names, vec![], f64::INFINITY, Origin::default()).unwrap();
    let mut single = ConstraintSet::new(90);
    for p in labels.expanded() {
        single.add_pair(p.kind, p.a as usize, p.b as usize).unwrap();
    }
    let mut groups = ConstraintSet::new(90);
    let mut heads = Vec::new();
    for class in 0..3 {
        let members: Vec<usize> = pairs.iter().filter(|(_, l)| *l == class).map(|(r, _)| *r).collect();
        heads.push(members[0]);
        groups.add_set(Kind::MustLink, &members, f64::INFINITY, Origin::default()).unwrap();
    }
    groups.add_set(Kind::CannotLink, &heads, f64::INFINITY, Origin::default()).unwrap();
    for entry in METHODS.iter().filter(|e| e.info.listens.obeys()) {
        let ctx = RunContext::new(11);
        let [a, b, c] = [&labels, &single, &groups].map(|given| run(entry, 3, &data, given, &ctx).labels);
        assert_eq!(a, b, "{}: labels and pairs", entry.info.name);
        assert_eq!(a, c, "{}: labels and groups", entry.info.name);
    }
}

#[test]
fn odd_shapes_are_no_problem() {
    let equal = vec![3.0; 12];
    let column: Vec<f64> = (0..10).map(f64::from).collect();
    let constant: Vec<f64> = (0..20).map(|i| if i % 2 == 0 { 1.0 } else { f64::from(i) }).collect();
    let duplicates: Vec<f64> = (0..30).map(|i| f64::from(i / 15)).collect();
    let shapes: [(&str, &[f64], usize, usize); 7] = [
        ("one row", &[1.0, 2.0], 2, 1),
        ("one cluster", &column, 1, 1),
        ("n = k", &column, 1, 10),
        ("all rows equal", &equal, 2, 3),
        ("one column", &column, 1, 3),
        ("a constant column", &constant, 2, 3),
        ("fewer distinct rows than k", &duplicates, 1, 4),
    ];
    for entry in METHODS {
        for (name, values, dims, k) in shapes {
            let data = Dataset::dense(values, dims).unwrap();
            let run = run(entry, k, &data, &ConstraintSet::new(data.n()), &RunContext::new(1));
            assert_eq!(run.labels.len(), data.n(), "{}: {name}", entry.info.name);
            assert!(run.labels.iter().all(|&l| (l as usize) < k), "{}: {name}", entry.info.name);
            assert!(run.objective.is_finite(), "{}: {name}", entry.info.name);
            if name == "n = k" {
                assert!(run.sizes.iter().all(|&s| s == 1), "{}: {:?}", entry.info.name, run.sizes);
            }
        }
    }
}

#[test]
fn a_run_cancelled_at_once_returns_labels_for_every_row() {
    let (rows, truth) = blobs(400, 3, 4, 3.0, 8);
    let data = Dataset::dense(&rows, 3).unwrap();
    let given = generate::balanced(&truth, 80, false, &mut Rng::stream(8, "test", 0)).unwrap().constraints;
    let token = CancelToken::new();
    token.cancel();
    for entry in METHODS {
        let ctx = RunContext::new(1).with_cancel(token.clone());
        let run = run(entry, 4, &data, &given, &ctx);
        assert_eq!(run.termination, Termination::Cancelled, "{}", entry.info.name);
        assert_eq!(run.labels.len(), 400);
        if entry.info.listens.obeys() {
            assert_eq!(run.violations.broken(), 0, "{}", entry.info.name);
        }
    }
}

#[test]
fn sparse_rows_are_clustered_like_dense_ones() {
    let (mut rows, truth) = blobs(150, 6, 3, 1.0, 9);
    rows.iter_mut().enumerate().for_each(|(i, v)| {
        if i % 6 == i / 6 % 6 {
            *v = 0.0;
        }
    });
    let (mut starts, mut columns, mut values) = (vec![0], vec![], vec![]);
    for row in rows.chunks(6) {
        for (j, &v) in row.iter().enumerate().filter(|(_, v)| **v != 0.0) {
            columns.push(j as u32);
            values.push(v);
        }
        starts.push(values.len());
    }
    let dense = Dataset::dense(&rows, 6).unwrap();
    let sparse = Dataset::sparse(&starts, &columns, &values, 6).unwrap();
    let given = generate::balanced(&truth, 30, false, &mut Rng::stream(9, "test", 0)).unwrap().constraints;
    for entry in METHODS.iter().filter(|e| e.info.sparse && !e.info.represents) {
        let ctx = RunContext::new(2);
        let (a, b) = (run(entry, 3, &dense, &given, &ctx), run(entry, 3, &sparse, &given, &ctx));
        assert_eq!(a.labels, b.labels, "{}", entry.info.name);
    }
}

#[test]
fn single_precision_rows_are_taken_as_they_are() {
    let (rows, truth) = blobs(200, 3, 4, 1.0, 10);
    let narrow: Vec<f32> = rows.iter().map(|&v| v as f32).collect();
    let data = Dataset::dense(&narrow, 3).unwrap();
    let given = generate::balanced(&truth, 60, false, &mut Rng::stream(10, "test", 0)).unwrap().constraints;
    for entry in METHODS {
        let run = job(entry, 4).run(&RunContext::new(2), &data, &given).unwrap();
        if entry.info.listens.obeys() {
            assert_eq!(run.violations.broken(), 0, "{}", entry.info.name);
        }
    }
}

#[test]
fn impossible_requests_are_refused_with_a_reason_before_any_work() {
    let column: Vec<f64> = (0..6).map(f64::from).collect();
    let data = Dataset::dense(&column, 1).unwrap();
    let mut triangle = ConstraintSet::new(6);
    for (a, b) in [(0, 1), (1, 2), (0, 2)] {
        triangle.add_pair(Kind::CannotLink, a, b).unwrap();
    }
    let mut contradiction = ConstraintSet::new(6);
    contradiction.add_pair(Kind::MustLink, 0, 1).unwrap();
    contradiction.add_pair(Kind::CannotLink, 0, 1).unwrap();
    for entry in METHODS {
        let fails =
            |k, given: &ConstraintSet| Job::new(entry.info.name, k).run(&RunContext::new(0), &data, given).is_err();
        assert!(fails(0, &ConstraintSet::new(6)) && fails(7, &ConstraintSet::new(6)), "{}", entry.info.name);
        if entry.info.listens.obeys() {
            assert!(fails(2, &triangle), "{}: a triangle of cannot-links and k = 2", entry.info.name);
            assert!(fails(1, &triangle), "{}: cannot-links and k = 1", entry.info.name);
            let job = Job { trust: Trust::Hard, ..Job::new(entry.info.name, 2) };
            let refused = job.run(&RunContext::new(0), &data, &contradiction).is_err();
            assert!(refused, "{}: a contradiction", entry.info.name);
            if entry.info.represents {
                // Unless told that the constraints are proven, it leaves one of the two out and lists it.
                let run = run(entry, 2, &data, &contradiction, &RunContext::new(0));
                assert_eq!((run.distrusted().len(), run.violations.broken()), (1, 1), "{}", entry.info.name);
            } else {
                assert!(fails(2, &contradiction), "{}: a contradiction", entry.info.name);
            }
        }
    }
}

#[test]
fn size_bounds_are_kept_with_the_constraints_or_refused_with_a_reason() {
    let (rows, truth) = blobs(60, 2, 3, 5.0, 12);
    let data = Dataset::dense(&rows, 2).unwrap();
    let given = generate::balanced(&truth, 30, false, &mut Rng::stream(12, "test", 0)).unwrap().constraints;
    for entry in METHODS {
        let bounded = |min: usize, max: usize| {
            let sizes = SizeBounds { min: Some(min), max: Some(max) };
            Job { sizes, ..Job::new(entry.info.name, 3) }.run(&RunContext::new(1), &data, &given)
        };
        if !entry.info.sizes {
            assert!(bounded(15, 25).is_err(), "{}", entry.info.name);
            continue;
        }
        let run = bounded(18, 22).unwrap_or_else(|e| panic!("{}: {e}", entry.info.name));
        assert!(run.sizes.iter().all(|s| (18..=22).contains(s)), "{}: {:?}", entry.info.name, run.sizes);
        assert_eq!(run.violations.broken(), 0, "{}", entry.info.name);
        for (min, max) in [(21, 60), (0, 19), (30, 20)] {
            let why = bounded(min, max).unwrap_err().to_string();
            assert!(why.len() > 20, "{}: {why}", entry.info.name);
        }
    }
}

#[test]
fn a_method_that_would_need_more_memory_than_it_may_use_is_refused_before_any_work() {
    let rows = vec![0.0f32; 300_000];
    let data = Dataset::dense(&rows, 1).unwrap();
    let mut refused = 0;
    for entry in METHODS.iter().filter(|e| is_quadratic(e)) {
        let name = entry.info.name;
        let why = Job::new(name, 3).run(&RunContext::new(0), &data, &ConstraintSet::new(300_000)).unwrap_err();
        assert!(why.to_string().starts_with(&format!("{name} needs about ")), "{why}");
        let kinfold::Error::Memory { fits, allowed, .. } = why else { panic!("{name}: {why}") };
        let method = (entry.build)(&[]).unwrap();
        assert!(method.memory(fits, 1, 3) <= allowed && method.memory(fits + 1, 1, 3) > allowed, "{name}: {fits}");
        let ctx = RunContext::new(0).with_memory(method.memory(40, 1, 3));
        let few = Dataset::dense(&rows[..40], 1).unwrap();
        assert!(Job::new(name, 3).run(&ctx, &few, &ConstraintSet::new(40)).is_ok(), "{name}");
        refused += 1;
    }
    assert!(refused >= 2);
    let settings = vec![("kernel".into(), "rbf".into())];
    let job = Job { settings, ..Job::new("bckm", 3) };
    assert!(job.run(&RunContext::new(0), &data, &ConstraintSet::new(300_000)).is_err());
}
