use super::super::{Origin, brute};
use super::*;
use crate::rng::Rng;
use Kind::{CannotLink, MustLink};

fn weighted(n: usize, pairs: &[(Kind, usize, usize, f64)]) -> ConstraintSet {
    let mut c = ConstraintSet::new(n);
    for &(kind, a, b, w) in pairs {
        c.add_weighted_pair(kind, a, b, w, Origin::default()).unwrap();
    }
    c
}

fn ids(r: &Repair) -> Vec<u32> {
    r.dropped
        .iter()
        .map(|d| match d.id {
            ConstraintId::Pair(i) => i,
            _ => panic!("{d:?}"),
        })
        .collect()
}

/// The rest holds, nothing dropped could come back, the cost is right and not below the bound.
fn check(c: &ConstraintSet, k: Option<usize>, r: &Repair) {
    let n = c.n();
    let holds = |c: &ConstraintSet| brute::colourable(c, k.unwrap_or(n));
    let rest = r.apply(c);
    assert!(holds(&rest), "{r:?}");
    for i in 0..r.dropped.len() {
        let mut fewer = r.clone();
        fewer.dropped.remove(i);
        assert!(!holds(&fewer.apply(c)), "{:?} need not be dropped", r.dropped[i]);
    }
    let cost: f64 = r.dropped.iter().map(|d| d.weight).sum();
    assert!((cost - r.cost).abs() < 1e-9);
    assert!(r.lower_bound <= r.cost + 1e-9);
}

fn exact(c: &ConstraintSet, k: Option<usize>) -> Repair {
    let r = repair(c, k, &RepairOptions::default()).unwrap();
    check(c, k, &r);
    assert!(r.optimal);
    r
}

#[test]
fn the_worked_examples_cost_what_they_should() {
    // spec §12.5
    let a = weighted(3, &[(MustLink, 0, 1, 1.0), (MustLink, 1, 2, 2.0), (CannotLink, 0, 2, 1.5)]);
    let r = exact(&a, None);
    assert_eq!((ids(&r), r.cost), (vec![0], 1.0));
    assert_eq!(r.dropped[0].against, [ConstraintId::Pair(1), ConstraintId::Pair(2)]);

    let mut pairs = vec![(MustLink, 0, 1, 3.0)];
    pairs.extend((2..5).map(|i| (MustLink, 1, i, 10.0)));
    pairs.extend((2..5).map(|i| (CannotLink, 0, i, 2.0)));
    let b = weighted(5, &pairs);
    let r = exact(&b, None);
    assert_eq!((ids(&r), r.cost), (vec![0], 3.0));
    let greedy = repair(&b, None, &RepairOptions { greedy: true, ..RepairOptions::default() }).unwrap();
    check(&b, None, &greedy);
    assert_eq!(greedy.cost, 3.0);

    let c = weighted(3, &[(CannotLink, 0, 1, 3.0), (CannotLink, 1, 2, 2.0), (CannotLink, 0, 2, 1.0)]);
    let r = exact(&c, Some(2));
    assert_eq!((ids(&r), r.cost), (vec![2], 1.0));
    assert!(exact(&c, Some(3)).dropped.is_empty());

    let edges = [(0, 1), (0, 2), (0, 3), (0, 4), (0, 5), (1, 2), (2, 3), (3, 4), (4, 5), (1, 5)];
    let wheel: Vec<_> =
        edges.iter().enumerate().map(|(i, &(a, b))| (CannotLink, a, b, 1.0 + i as f64 / 10.0)).collect();
    let d = weighted(6, &wheel);
    let r = exact(&d, Some(3));
    assert_eq!((ids(&r), r.cost), (vec![0], 1.0));
}

#[test]
fn greedy_alone_finds_the_shared_must_link() {
    let mut pairs = vec![(MustLink, 0, 1, 3.0)];
    pairs.extend((2..5).map(|i| (MustLink, 1, i, 10.0)));
    pairs.extend((2..5).map(|i| (CannotLink, 0, i, 2.0)));
    let c = weighted(5, &pairs);
    let hard = c.close_above(f64::INFINITY).unwrap();
    let later = Instant::now() + Duration::from_secs(10);
    let models = build(&c, &hard, None, &RepairOptions::default(), later).unwrap();
    let mut dropped = vec![false; models[0].units.len()];
    assert!(models[0].greedy(&mut Scratch::default(), &mut dropped, later));
    assert_eq!(models[0].cost(&dropped), 3.0);
}

#[test]
fn a_hard_part_that_cannot_hold_is_an_error_with_its_explanation() {
    let mut c = ConstraintSet::new(4);
    c.add_pair(MustLink, 0, 1).unwrap();
    c.add_pair(CannotLink, 0, 1).unwrap();
    assert!(matches!(repair(&c, None, &RepairOptions::default()), Err(Error::Contradiction(x)) if x.len() == 1));
    let as_soft = RepairOptions { treat_hard_as: Some(1.0), ..RepairOptions::default() };
    let r = repair(&c, None, &as_soft).unwrap();
    check(&c, None, &r);
    assert_eq!((r.dropped.len(), r.cost, r.optimal), (1, 1.0, true));
    let mut k3 = ConstraintSet::new(3);
    k3.add_set(CannotLink, &[0, 1, 2], f64::INFINITY, Origin::default()).unwrap();
    assert!(matches!(repair(&k3, Some(2), &RepairOptions::default()), Err(Error::Infeasible(_))));
    assert_eq!(repair(&k3, Some(2), &as_soft).unwrap().dropped.len(), 1);
    assert!(matches!(repair(&k3, Some(0), &as_soft), Err(Error::K { .. })));
    let bad = RepairOptions { treat_hard_as: Some(f64::NAN), ..RepairOptions::default() };
    assert!(matches!(repair(&k3, None, &bad), Err(Error::Weight(_))));
}

#[test]
fn a_wrong_label_goes_without_the_rest_of_the_labelling() {
    let mut c = ConstraintSet::new(6);
    let file = c.add_source("labels.csv");
    let rows = [(0, 0), (1, 0), (2, 0), (3, 1), (4, 1)];
    let origin = Origin { source: file, line: 0 };
    c.add_labels(&rows, vec!["cat".into(), "dog".into()], (2..7).collect(), 1.0, origin).unwrap();
    for (a, b) in [(2, 3), (2, 4)] {
        c.add_pair(MustLink, a, b).unwrap();
    }
    let r = exact(&c, None);
    assert_eq!((r.cost, r.dropped.len()), (1.0, 1));
    assert_eq!((r.dropped[0].id, r.dropped[0].row), (ConstraintId::Labels(0), Some(2)));
    assert_eq!(r.describe(&c, |row| format!("r{row}"))[0], "label 'cat' of r2 [labels.csv:4]");
    assert_eq!(r.apply(&c).labels()[0].lines, [2, 3, 5, 6]);
}

#[test]
fn repair_costs_equal_enumeration() {
    let mut rng = Rng::stream(21, "repair", 0);
    let partitions: Vec<Vec<Vec<u32>>> = (0..=6).map(brute::partitions).collect();
    let (mut errors, mut repaired) = (0, 0);
    for round in 0..1200 {
        let n = 2 + rng.below(5);
        let c = brute::random_set(&mut rng, n, 12);
        let hard = (round % 3 == 0).then_some(1.0);
        let options = RepairOptions { treat_hard_as: hard, ..RepairOptions::default() };
        for k in [None, Some(1), Some(2), Some(3)] {
            let allowed = partitions[n].iter().filter(|p| k.is_none_or(|k| brute::blocks(p) <= k));
            let least = allowed.map(|p| brute::repair_cost(&c, p, hard)).fold(f64::INFINITY, f64::min);
            match repair(&c, k, &options) {
                Err(Error::Contradiction(_) | Error::Infeasible(_)) => {
                    assert!(least.is_infinite());
                    errors += 1;
                }
                Err(other) => panic!("{other}"),
                Ok(r) => {
                    assert!((r.cost - least).abs() < 1e-9, "{r:?} instead of {least}");
                    assert!(r.optimal && (r.lower_bound - least).abs() < 1e-9);
                    check(&c, k, &r);
                    repaired += usize::from(!r.dropped.is_empty());
                }
            }
        }
    }
    assert!(errors > 200 && repaired > 1000, "{errors} {repaired}");
}

#[test]
fn greedy_repairs_are_feasible_irreducible_and_bounded() {
    let mut rng = Rng::stream(22, "repair", 0);
    for _ in 0..400 {
        let n = 2 + rng.below(5);
        let c = brute::random_set(&mut rng, n, 14);
        let options = RepairOptions { treat_hard_as: Some(1.0), greedy: true, ..RepairOptions::default() };
        for k in [None, Some(2)] {
            let r = repair(&c, k, &options).unwrap();
            check(&c, k, &r);
        }
    }
}

#[test]
fn without_time_the_answer_still_holds() {
    let mut rng = Rng::stream(23, "repair", 0);
    for _ in 0..200 {
        let c = brute::random_set(&mut rng, 6, 16);
        let options = RepairOptions { treat_hard_as: Some(1.0), time_limit: Duration::ZERO, greedy: false };
        for k in [None, Some(2)] {
            let r = repair(&c, k, &options).unwrap();
            assert!(brute::colourable(&r.apply(&c), k.unwrap_or(6)));
            assert!(r.lower_bound <= r.cost + 1e-9);
        }
    }
}

#[test]
fn noisy_answers_are_repaired_within_seconds() {
    // 300 rows in 5 classes, 600 random pairs, one in ten wrong: the wrong ones are at most the price.
    let truth: Vec<u32> = (0..300).map(|i| i % 5).collect();
    let clean = super::super::generate::balanced(&truth, 600, false, &mut Rng::stream(1, "noise", 0)).unwrap();
    let c = super::super::generate::noisy(&clean.constraints, 30, &mut Rng::stream(1, "noise", 1)).unwrap();
    let options =
        RepairOptions { treat_hard_as: Some(1.0), time_limit: Duration::from_secs(3), ..RepairOptions::default() };
    let r = repair(&c, None, &options).unwrap();
    assert!(r.cost <= 30.0 && r.lower_bound <= r.cost, "{} {}", r.cost, r.lower_bound);
    assert!(r.apply(&c).close().is_ok());
}
