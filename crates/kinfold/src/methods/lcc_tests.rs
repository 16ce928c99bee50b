use super::*;
use crate::blocks::lloyd::assign_nearest;
use crate::blocks::par::Pool;
use crate::constraints::{ConstraintSet, Kind};
use crate::data::Dataset;
use crate::pipeline::Job;

/// Two units and the multiplier between them.
type Conflict = (u32, u32, f64);

fn cannot_links(n: usize, pairs: &[(usize, usize)]) -> ConstraintSet {
    let mut given = ConstraintSet::new(n);
    for &(a, b) in pairs {
        given.add_pair(Kind::CannotLink, a, b).unwrap();
    }
    given
}

/// One sweep in index order at fixed centres: labels, conflict entries, multipliers.
fn sweep(rows: &[f64], given: &ConstraintSet, centres: &[f64], lambda: f64) -> (Vec<u32>, Vec<Conflict>, Vec<f64>) {
    let data = Dataset::dense(rows, 1).unwrap();
    let chunklets = given.close().unwrap();
    let units = Units::new(&data, &chunklets);
    let centres = Matrix::from_vec(1, centres.to_vec());
    let mut pairs = Pairs::new(&units, lambda);
    let mut labels = assign_nearest(&RunContext::new(0), &units.points(), &centres);
    let costs = CostRows::new(&units, &centres);
    let sweep = Sweep { costs, k: centres.rows(), alpha: 2.0, order: None };
    let order: Vec<u32> = (0..units.bound() as u32).collect();
    let conflicts = sweep.run(&Pool::new(1), &[&order], &mut labels, &mut pairs);
    (labels, conflicts, pairs.lambda)
}

#[test]
fn a_pair_stays_violated_once_and_pulls_the_second_centre_of_the_cheaper_end() {
    // Worked by hand: both rows are nearest to centre 0; the swaps cost 9² − 1² = 80 and 8² − 2² = 60.
    let given = cannot_links(2, &[(0, 1)]);
    let (labels, conflicts, lambda) = sweep(&[1.0, 2.0], &given, &[0.0, 10.0], 1.0);
    assert_eq!(labels, [0, 0]);
    assert_eq!(conflicts, [(1, 1, 2.0)]);
    assert_eq!(lambda, [2.0]);
}

#[test]
fn past_one_the_cheaper_end_moves_and_ties_move_the_later_one() {
    let given = cannot_links(2, &[(0, 1)]);
    let (labels, conflicts, lambda) = sweep(&[1.0, 2.0], &given, &[0.0, 10.0], 1.5);
    assert_eq!((labels, conflicts.len(), lambda), (vec![0, 1], 0, vec![1.5]));
    // The earlier one is cheaper to move: it moves although it was placed first.
    assert_eq!(sweep(&[2.0, 1.0], &given, &[0.0, 10.0], 1.5).0, [1, 0]);
    assert_eq!(sweep(&[2.0, 2.0], &given, &[0.0, 10.0], 1.5).0, [0, 1]);
}

#[test]
fn a_row_goes_to_its_second_nearest_centre_of_three() {
    let given = cannot_links(2, &[(0, 1)]);
    // From row 1 at 4: centre 5 (index 2) is second after centre 3 (index 1).
    assert_eq!(sweep(&[3.0, 3.9], &given, &[0.0, 3.0, 5.0], 1.5).0, [1, 2]);
}

#[test]
fn heavy_chunklets_are_dearer_to_move() {
    // {0, 2, 3} weighs 3 at 2, row 1 weighs 1 at 1.5: 3·60 against 70.
    let mut given = cannot_links(4, &[(0, 1)]);
    given.add_pair(Kind::MustLink, 0, 2).unwrap();
    given.add_pair(Kind::MustLink, 0, 3).unwrap();
    assert_eq!(sweep(&[2.0, 1.5, 2.0, 2.0], &given, &[0.0, 10.0], 1.5).0, [0, 1]);
}

#[test]
fn centres_follow_equation_3_4() {
    // After one sweep from 0 and 10 with rows 1, 2 (violated), 9, 11 free: centre 0 = 1.5, centre 1 = (20 + 2·2) / (2 + 2).
    let given = cannot_links(4, &[(0, 1)]);
    let rows = [1.0, 2.0, 9.0, 11.0];
    let data = Dataset::dense(&rows, 1).unwrap();
    let chunklets = given.close().unwrap();
    let units = Units::new(&data, &chunklets);
    let lcc = Lcc(LccParams { sweeps: 2, ..LccParams::default() });
    let ctx = RunContext::new(0).with_threads(1);
    let (broken, outcome) = lcc.sweeps(&ctx, &units, Matrix::from_vec(1, vec![0.0, 10.0]), ctx.rng("order", 0));
    // Second sweep at 1.5 and 6: λ = 2, swaps 25 − .25 and 16 − .25: row 1 moves. Cost .25 + 16 + 9 + 25.
    assert_eq!((broken, &outcome.labels[..]), (0, &[0, 1, 1, 1][..]));
    assert!((outcome.trace[0] - (1.0 + 4.0 + 1.0 + 1.0)).abs() < 1e-12);
    assert!((outcome.trace[1] - 50.25).abs() < 1e-12, "{:?}", outcome.trace);
}

#[test]
fn repair_leaves_nothing_broken_from_any_start() {
    let rows = [0.0, 0.1, 0.2, 10.0, 10.1, 10.2];
    let given = cannot_links(6, &[(0, 1), (1, 2), (3, 4), (4, 5)]);
    let data = Dataset::dense(&rows, 1).unwrap();
    for repair in ["yes", "no"] {
        for order in ["random", "index"] {
            for init in ["greedy-kmeans++", "kmeans++", "random-assignment"] {
                let settings = [("repair", repair), ("order", order), ("init", init)];
                let settings = settings.map(|(a, b)| (a.to_owned(), b.to_owned())).to_vec();
                let run = Job { settings, ..Job::new("lcc", 2) }.run(&RunContext::new(3), &data, &given).unwrap();
                // Without repair a move may break a pair that was settled before; with it none stays broken.
                assert!(run.violations.broken() <= u64::from(repair == "no"), "repair {repair}");
                assert!((run.trace.last().unwrap() - run.objective).abs() < 1e-9);
            }
        }
    }
}

#[test]
fn equal_rows_are_separated_although_the_swap_is_free() {
    let rows = [5.0; 4];
    let data = Dataset::dense(&rows, 1).unwrap();
    let given = cannot_links(4, &[(0, 1), (2, 3), (0, 3)]);
    let settings = vec![("repair".to_owned(), "no".to_owned())];
    let run = Job { settings, ..Job::new("lcc", 2) }.run(&RunContext::new(0), &data, &given).unwrap();
    assert_eq!(run.violations.broken(), 0);
}
