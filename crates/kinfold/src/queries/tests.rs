//! The strategies as state machines: worked examples of spec/active.md §14 and properties that hold for every entry.

use std::sync::Arc;

use super::{Ground, Known, QUERIES, Sight, State, Step};
use crate::blocks::par::Pool;
use crate::constraints::{ConstraintSet, Entailed, Kind};
use crate::data::Matrix;
use crate::pipeline::{Conduct, Dialogue, Next, Oracle, Reply};
use crate::queries::{Partition, Reason};
use crate::rng::Rng;

fn line(x: &[f64]) -> Ground {
    Ground::of_rows(Matrix::from_vec(1, x.to_vec()), &Pool::new(1))
}

/// Drives a bare strategy with right answers; the pairs asked in order with the answer, and how it ended.
fn drive(
    name: &str,
    settings: &[(&str, &str)],
    ground: &Ground,
    classes: &str,
    k: Option<usize>,
    mut state: State,
) -> (Vec<(u32, u32, bool)>, Reason) {
    let settings: Vec<(String, String)> = settings.iter().map(|(a, b)| ((*a).into(), (*b).into())).collect();
    let strategy = (super::find(name).unwrap().build)(&settings).unwrap();
    let class: Vec<u8> = classes.bytes().collect();
    let mut known = Known::new(class.len());
    let mut asked = Vec::new();
    loop {
        let sight = Sight { ground, known: &known, k, partition: None, can_refit: false, seed: 1 };
        match strategy.step(&sight, &mut state).unwrap() {
            Step::Ask(q) => {
                let same = class[q.a as usize] == class[q.b as usize];
                asked.push((q.a, q.b, same));
                known.add(if same { Kind::MustLink } else { Kind::CannotLink }, q.a as usize, q.b as usize);
            }
            Step::Done(reason) => return (asked, reason),
            Step::Refit => panic!("nothing to refit with"),
        }
    }
}

fn from_row_0() -> State {
    State { started: true, heads: vec![0], passed: vec![0], ..State::default() }
}

#[test]
fn explore_and_consolidate_ask_as_worked_out() {
    let (asked, reason) =
        drive("explore-consolidate", &[], &line(&[0.0, 1.0, 10.0, 11.0, 20.0, 21.0]), "AABBCC", Some(3), from_row_0());
    assert_eq!(asked[..3], [(5, 0, false), (2, 0, false), (2, 5, false)]);
    let mut rest: Vec<(u32, u32, bool)> = asked[3..].to_vec();
    rest.sort_unstable();
    assert_eq!(rest, [(1, 0, true), (3, 2, true), (4, 5, true)]);
    assert_eq!(reason, Reason::Resolved);
    let (asked, reason) =
        drive("explore-consolidate", &[], &line(&[0.0, 4.0, 9.0, 10.0]), "AABA", Some(3), from_row_0());
    assert_eq!((asked, reason), (vec![(3, 0, true), (1, 0, true), (2, 3, false)], Reason::Resolved));
}

#[test]
fn min_max_takes_the_row_farthest_from_the_skeleton() {
    let ground = line(&[0.0, 1.0, 10.0, 14.0, 20.0, 21.0]);
    let (asked, _) = drive("min-max", &[], &ground, "AABBCC", Some(3), from_row_0());
    assert_eq!(asked[..4], [(5, 0, false), (2, 0, false), (2, 5, false), (3, 2, true)]);
}

#[test]
fn cobra_merges_from_the_nearest_pair_on() {
    let cells =
        |x: &[f64]| State { started: true, cells: (0..x.len() as u32).map(|r| vec![r]).collect(), ..State::default() };
    for (x, classes, expected) in [
        (vec![0.0, 1.0, 10.0, 11.0], "AABB", vec![(0, 1, true), (2, 3, true), (1, 2, false)]),
        (
            vec![0.0, 2.0, 5.0, 6.0],
            "ABAB",
            vec![(2, 3, false), (0, 1, false), (1, 2, false), (1, 3, true), (0, 2, true)],
        ),
        (
            vec![0.0, 1.0, 5.0, 6.0, 12.0],
            "AABBA",
            vec![(0, 1, true), (2, 3, true), (1, 2, false), (3, 4, false), (1, 4, true)],
        ),
    ] {
        let (asked, _) = drive("cobra", &[], &line(&x), classes, None, cells(&x));
        assert_eq!(asked, expected, "{classes}");
    }
}

#[test]
fn cobras_splits_and_merges_with_three_questions() {
    let (asked, reason) = drive("cobras", &[], &line(&[0.0, 1.0, 10.0, 11.0]), "AABB", None, State::default());
    assert_eq!(asked, [(0, 2, false), (0, 1, true), (2, 3, true)]);
    assert_eq!(reason, Reason::Resolved);
}

#[test]
fn apc_starts_with_the_near_and_the_far_pair_of_the_papers_figure() {
    let ground = line(&[2.0, 1.0, 0.0, 5.0, 6.0, 7.0, 8.0, 2.5, 12.0]);
    let partition = Partition { labels: vec![0, 0, 0, 1, 1, 1, 1, 1, 1], answers: 0 };
    let strategy = (super::find("apc").unwrap().build)(&[]).unwrap();
    let (mut known, mut state) = (Known::new(9), State::default());
    let mut asked = Vec::new();
    for kind in [Kind::CannotLink, Kind::MustLink] {
        let sight = Sight {
            ground: &ground,
            known: &known,
            k: Some(2),
            partition: Some(&partition),
            can_refit: false,
            seed: 1,
        };
        let Step::Ask(q) = strategy.step(&sight, &mut state).unwrap() else { panic!() };
        asked.push((q.a.min(q.b), q.a.max(q.b)));
        known.add(kind, q.a as usize, q.b as usize);
    }
    assert_eq!(asked, [(0, 7), (7, 8)]);
    let sight =
        Sight { ground: &ground, known: &known, k: Some(2), partition: Some(&partition), can_refit: false, seed: 1 };
    strategy.step(&sight, &mut state).unwrap();
    assert_eq!(state.counts, [1, 1, 1, 1]); // both hit their rule
}

#[test]
fn random_resolves_within_its_bounds() {
    let ground = line(&[0.0, 1.0, 2.0, 3.0, 4.0, 5.0]);
    for (classes, low, high) in [("AABBCC", 6, 15), ("AAAAAA", 5, 5), ("ABCDEF", 15, 15)] {
        let (asked, reason) = drive("random", &[], &ground, classes, None, State::default());
        assert!((low..=high).contains(&asked.len()) && reason == Reason::Resolved, "{classes} {}", asked.len());
    }
    assert_eq!(drive("random", &[], &line(&[1.0]), "A", None, State::default()), (vec![], Reason::Resolved));
}

/// Blobs that overlap, with duplicates and an outlier.
fn blobs(n: usize, k: usize, seed: u64) -> (Matrix, Vec<u32>) {
    let mut rng = Rng::stream(seed, "blobs", 0);
    let truth: Vec<u32> = (0..n).map(|i| (i % k) as u32).collect();
    let mut rows: Vec<f64> = truth
        .iter()
        .flat_map(|&l| [3.0 * f64::from(l) + rng.normal(), 2.0 * f64::from(l % 2) + rng.normal()])
        .collect();
    let copy = [rows[0], rows[1]];
    rows[2 * (n / 2)..2 * (n / 2) + 2].copy_from_slice(&copy);
    rows[2 * n - 1] = 40.0;
    (Matrix::from_vec(2, rows), truth)
}

/// A stand-in for a method: each row to the cluster of the nearest head of the closure.
fn cluster(dialogue: &Dialogue, k: usize) -> Vec<u32> {
    let x = dialogue.ground().rows();
    let centres: Vec<&[f64]> = (0..k).map(|c| x.row(c * x.rows() / k)).collect();
    let mut labels = vec![0; x.rows()];
    for row in 0..x.rows() {
        let head = dialogue.known().root(row);
        let d = |c: &[f64]| c.iter().zip(x.row(head)).map(|(a, b)| (a - b) * (a - b)).sum::<f64>();
        labels[row] = (0..k).min_by(|&a, &b| d(centres[a]).total_cmp(&d(centres[b]))).unwrap_or(0) as u32;
    }
    labels
}

fn begin(name: &str, ground: &Arc<Ground>, k: Option<usize>, seed: u64) -> Dialogue {
    Dialogue::new(Conduct::new(name, k, seed), ground.clone(), ConstraintSet::new(ground.n())).unwrap()
}

/// Runs to the end; checks that nothing known is asked, nothing twice, and that saving and loading changes nothing.
fn complete(
    name: &str,
    k: Option<usize>,
    oracle: Oracle,
    n: usize,
    classes: usize,
    seed: u64,
    refit: bool,
) -> (Dialogue, Vec<u32>, Reason) {
    let (x, truth) = blobs(n, classes, seed);
    let ground = Arc::new(Ground::of_rows(x, &Pool::new(1)));
    let mut dialogue = begin(name, &ground, k, seed);
    let mut seen = std::collections::HashSet::new();
    for turn in 0..4 * n * n {
        match dialogue.next().unwrap_or_else(|e| panic!("{name}: {e}")) {
            Next::Refit if refit => {
                let labels = cluster(&dialogue, classes);
                dialogue.give_partition(labels, dialogue.known().answers()).unwrap();
            }
            Next::Refit => dialogue.decline(),
            Next::Done(reason) => return (dialogue, truth, reason),
            Next::Ask(q) => {
                let (a, b) = (q.a as usize, q.b as usize);
                assert_eq!(dialogue.known().entails(a, b), Entailed::Unknown, "{name} asks what is entailed");
                assert!(seen.insert((a.min(b), a.max(b))), "{name} asks twice");
                if turn % 7 == 0 {
                    let text = serde_json::to_string(&dialogue.save()).unwrap();
                    let again = serde_json::from_str(&text).unwrap();
                    dialogue = Dialogue::resume(again, ground.clone(), ConstraintSet::new(n)).unwrap();
                    // JSON may round the last digit of a score.
                    let Next::Ask(same) = dialogue.next().unwrap() else { panic!("{name} forgot its question") };
                    assert_eq!((same.a, same.b), (q.a, q.b));
                }
                dialogue.answer(oracle.answer(&truth, a, b)).unwrap();
            }
        }
    }
    panic!("{name} does not end");
}

#[test]
fn every_strategy_asks_nothing_known_nothing_twice_and_what_it_resolves_is_true() {
    for entry in QUERIES {
        let name = entry.info.name;
        for (k, refit) in [(None, true), (Some(3), true), (Some(3), false)] {
            let (dialogue, truth, reason) = complete(name, k, Oracle::default(), 30, 3, 5, refit);
            let asked = dialogue.log().len();
            for i in 0..30 {
                for j in 0..i {
                    let said = dialogue.known().entails(i, j);
                    let right = if truth[i] == truth[j] { Entailed::Same } else { Entailed::Different };
                    assert!(said == Entailed::Unknown || said == right, "{name}");
                }
            }
            if reason == Reason::Resolved && k.is_none() {
                assert!(asked >= (30 - 3) + 3, "{name} asked {asked}");
            }
        }
    }
}

#[test]
fn every_strategy_ends_when_the_answers_are_unsure_or_wrong() {
    for entry in QUERIES {
        let name = entry.info.name;
        let unsure = Oracle { unsure: 0.3, error: 0.0, seed: 3 };
        complete(name, Some(3), unsure, 24, 3, 6, true);
        complete(name, None, Oracle { unsure: 1.0, error: 0.0, seed: 3 }, 12, 3, 6, false);
        complete(name, Some(3), Oracle { unsure: 0.05, error: 0.2, seed: 4 }, 24, 3, 7, true);
    }
}

#[test]
fn the_same_seed_gives_the_same_log_on_any_number_of_threads_and_undo_brings_the_question_back() {
    for entry in QUERIES {
        let (x, truth) = blobs(60, 3, 9);
        let logs: Vec<Vec<(u32, u32)>> = [1, 3]
            .iter()
            .map(|&threads| {
                let ground = Arc::new(Ground::of_rows(x.clone(), &Pool::new(threads)));
                let mut dialogue = begin(entry.info.name, &ground, Some(3), 2);
                let mut asked = Vec::new();
                while asked.len() < 25 {
                    match dialogue.next().unwrap() {
                        Next::Refit => {
                            let labels = cluster(&dialogue, 3);
                            dialogue.give_partition(labels, dialogue.known().answers()).unwrap();
                        }
                        Next::Done(_) => break,
                        Next::Ask(q) => {
                            let reply = Oracle::default().answer(&truth, q.a as usize, q.b as usize);
                            if asked.len() % 5 == 2 {
                                // A wrong key, taken back.
                                let other = if reply == Reply::Same { Reply::Different } else { Reply::Same };
                                dialogue.answer(other).unwrap();
                                dialogue.undo().unwrap();
                                assert_eq!(dialogue.next().unwrap(), Next::Ask(q.clone()), "{}", entry.info.name);
                            }
                            dialogue.answer(reply).unwrap();
                            asked.push((q.a, q.b));
                        }
                    }
                }
                asked
            })
            .collect();
        assert_eq!(logs[0], logs[1], "{}", entry.info.name);
    }
}

#[test]
fn given_constraints_are_the_start_and_are_never_asked_again() {
    for entry in QUERIES {
        let (x, truth) = blobs(30, 3, 11);
        let ground = Arc::new(Ground::of_rows(x, &Pool::new(1)));
        let mut given = ConstraintSet::new(30);
        for i in 3..15 {
            given.add_pair(Kind::MustLink, i, i % 3).unwrap();
        }
        given.add_pair(Kind::CannotLink, 0, 1).unwrap();
        let mut dialogue = Dialogue::new(Conduct::new(entry.info.name, Some(3), 0), ground, given).unwrap();
        for _ in 0..20 {
            match dialogue.next().unwrap() {
                Next::Refit => dialogue.decline(),
                Next::Done(_) => break,
                Next::Ask(q) => {
                    let (a, b) = (q.a as usize, q.b as usize);
                    assert_eq!(dialogue.known().entails(a, b), Entailed::Unknown, "{}", entry.info.name);
                    dialogue.answer(Oracle::default().answer(&truth, a, b)).unwrap();
                }
            }
        }
    }
}
