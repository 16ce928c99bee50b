use super::*;
use crate::blocks::means::sum_of_squares;
use crate::constraints::{ConstraintSet, Kind, Origin};
use crate::data::{Dataset, Matrix};
use crate::error::Error;
use crate::methods::Params;
use crate::pipeline::Job;
use crate::rng::Rng;

/// One start from given centres on one-dimensional rows.
fn from_centres(
    rows: &[f64],
    given: &ConstraintSet,
    centres: &[f64],
    order: Order,
    by_row: bool,
    on_dead_end: OnDeadEnd,
) -> Result<Start> {
    let data = Dataset::dense(rows, 1).unwrap();
    let chunklets = given.close().unwrap();
    let units = Units::new(&data, &chunklets);
    let ctx = RunContext::new(1).with_threads(1);
    let mut greedy = Greedy::new(&units, given, order, by_row, on_dead_end, ctx.rng("order", 0));
    let limits = Limits { max_iter: 100, tolerance: 0.0 };
    let outcome = lloyd(&ctx, &units, Matrix::from_vec(1, centres.to_vec()), limits, &mut greedy)?;
    Ok(Start { outcome, tally: greedy.tally })
}

fn pairs(n: usize, kind: Kind, pairs: &[(usize, usize)]) -> ConstraintSet {
    let mut given = ConstraintSet::new(n);
    for &(a, b) in pairs {
        given.add_pair(kind, a, b).unwrap();
    }
    given
}

#[test]
fn a_must_link_across_a_gap_gives_the_worked_labels_centres_and_cost_in_both_unit_modes() {
    // Spec: X = 0, 1, 10, 11, ML(0, 2), centres 0 and 10, input order.
    let rows = [0.0, 1.0, 10.0, 11.0];
    let given = pairs(4, Kind::MustLink, &[(0, 2)]);
    for by_row in [false, true] {
        let start = from_centres(&rows, &given, &[0.0, 10.0], Order::Input, by_row, OnDeadEnd::Fail).unwrap();
        assert_eq!(start.outcome.labels, [0, 0, 0, 1]);
        assert!((start.outcome.centres.row(0)[0] - 11.0 / 3.0).abs() < 1e-12);
        assert!((start.outcome.centres.row(1)[0] - 11.0).abs() < 1e-12);
        assert!((start.outcome.cost() - 182.0 / 3.0).abs() < 1e-9, "{:?}", start.outcome.trace);
    }
}

#[test]
fn a_triangle_with_two_clusters_is_a_dead_end_at_its_third_row_with_what_closed_each_cluster() {
    let given = pairs(3, Kind::CannotLink, &[(0, 1), (0, 2), (1, 2)]);
    let why = from_centres(&[0.0, 1.0, 2.0], &given, &[0.0, 2.0], Order::Input, false, OnDeadEnd::Fail).err().unwrap();
    let Error::DeadEnd(text) = &why else { panic!("{why}") };
    assert_eq!(
        text,
        "row 2 fits in no cluster in sweep 1, closed are cluster 0 by the cannot-link of rows 2 and 0, cluster 1 by the \
         cannot-link of rows 2 and 1; another order may work: on_dead_end = retry"
    );
    // Through the frame the reason is found before any work.
    let data = Dataset::dense(&[0.0, 1.0, 2.0], 1).unwrap();
    let job = Job::new("cop-kmeans", 2).run(&RunContext::new(1), &data, &given);
    assert!(matches!(job, Err(Error::Infeasible(_))));
}

#[test]
fn a_cannot_link_between_rows_of_two_clusters_refuses_nothing() {
    let given = pairs(4, Kind::CannotLink, &[(1, 2)]);
    let rows = [0.0, 4.0, 6.0, 10.0];
    let start = from_centres(&rows, &given, &[0.0, 10.0], Order::Input, false, OnDeadEnd::Fail).unwrap();
    assert_eq!(start.outcome.labels, [0, 0, 1, 1]);
    assert_eq!(start.tally.refused, 0);
}

#[test]
fn two_triples_that_a_bad_order_kills_are_solved_by_a_good_one() {
    // Paths 0 – 2 – 1 and 3 – 5 – 4: in input order both ends are placed before the middle, one at each centre.
    let rows = [0.0, 10.0, 5.1, 0.5, 9.5, 4.9];
    let given = pairs(6, Kind::CannotLink, &[(0, 2), (1, 2), (3, 5), (4, 5)]);
    let run = |policy| from_centres(&rows, &given, &[0.0, 10.0], Order::Input, false, policy);
    let Some(Error::DeadEnd(why)) = run(OnDeadEnd::Fail).err() else { panic!("a dead end") };
    assert!(why.starts_with("row 2 fits in no cluster in sweep 1"), "{why}");
    let start = run(OnDeadEnd::Retry(10)).unwrap();
    let l = &start.outcome.labels;
    assert!(l[0] == l[1] && l[0] != l[2] && l[3] == l[4] && l[3] != l[5], "{l:?}");
    assert!(start.tally.by_saturation >= 2 && start.tally.by_shuffle + start.tally.by_exact == 0);
    // The order itself can be good enough; and with no tries left exact assignment does it.
    let ordered = from_centres(&rows, &given, &[0.0, 10.0], Order::MostConstrained, false, OnDeadEnd::Fail).unwrap();
    assert_eq!(ordered.tally.dead_ends, 0);
    let exact = run(OnDeadEnd::Retry(0)).unwrap();
    assert!(exact.tally.by_exact >= 2 && exact.tally.by_exact == exact.tally.dead_ends);
}

#[test]
fn a_dead_end_names_the_chunklet_and_the_given_rows_of_each_cannot_link() {
    // {0, 1} and {2, 3} are chunklets; {4, 5} cannot join either: the links were given on rows 1–5 and 3–4.
    let mut given = ConstraintSet::new(6);
    for (a, b) in [(0, 1), (2, 3), (4, 5)] {
        given.add_pair(Kind::MustLink, a, b).unwrap();
    }
    given.add_pair(Kind::CannotLink, 1, 5).unwrap();
    given.add_set(Kind::CannotLink, &[4, 3], f64::INFINITY, Origin::default()).unwrap();
    let rows = [0.0, 1.0, 10.0, 9.0, 5.0, 5.0];
    let why = from_centres(&rows, &given, &[0.0, 10.0], Order::Input, false, OnDeadEnd::Fail).err().unwrap();
    assert_eq!(
        why.to_string(),
        "must-linked rows 4, 5 fit in no cluster in sweep 1, closed are cluster 0 by the cannot-link of rows 5 and 1, \
         cluster 1 by the cannot-link of rows 4 and 3; another order may work: on_dead_end = retry"
    );
}

#[test]
fn the_best_labelling_met_is_returned_with_its_cost_and_means() {
    let mut rng = Rng::stream(5, "cop test", 0);
    let mut rises = 0;
    for case in 0..60 {
        let (n, k) = (40, 3);
        let rows: Vec<f64> = (0..2 * n).map(|_| rng.normal()).collect();
        let truth: Vec<usize> = (0..n).map(|_| rng.below(k)).collect();
        let mut given = ConstraintSet::new(n);
        for _ in 0..50 {
            let (a, b) = (rng.below(n), rng.below(n));
            if truth[a] != truth[b] {
                given.add_pair(Kind::CannotLink, a, b).unwrap();
            }
        }
        let data = Dataset::dense(&rows, 2).unwrap();
        let settings = vec![("restarts".into(), "1".into())];
        let run = Job { settings, ..Job::new("cop-kmeans", k) }.run(&RunContext::new(case), &data, &given).unwrap();
        assert_eq!(run.violations.broken(), 0);
        let cost = *run.trace.last().unwrap();
        assert!((cost - run.objective).abs() < 1e-9 * cost, "{cost} {}", run.objective);
        assert!((cost - sum_of_squares(&data, &run.labels, k)).abs() < 1e-9 * cost);
        // Each entry is the cost before the means moved, so none can be below the best by more than rounding.
        rises += usize::from(run.trace.windows(2).any(|w| w[1] > w[0] * (1.0 + 1e-12)));
    }
    assert!(rises > 0, "greedy placement is expected to raise the cost now and then");
}

#[test]
fn parameters_have_the_names_of_the_method_page() {
    let names: Vec<&str> = CopKmeansParams::describe().iter().map(|p| p.name).collect();
    assert_eq!(names, ["restarts", "max_iter", "init", "order", "unit", "on_dead_end", "retries"]);
}
