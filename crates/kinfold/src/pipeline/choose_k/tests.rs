use super::*;
use crate::constraints::{Kind, generate};
use crate::context::CancelToken;
use crate::rng::Rng;

/// Blobs in one column at these places, `each` rows around each.
fn blobs(places: &[f64], each: usize, spread: f64) -> (Vec<f64>, Vec<u32>) {
    let mut rng = Rng::stream(1, "choose-k test", 0);
    let truth: Vec<u32> = (0..places.len() * each).map(|i| (i % places.len()) as u32).collect();
    let rows =
        truth.iter().flat_map(|&c| [places[c as usize] + spread * rng.normal(), spread * rng.normal()]).collect();
    (rows, truth)
}

fn choose(method: &str, rows: &[f64], given: &ConstraintSet, range: (usize, usize), threads: usize) -> KChoice {
    let data = Dataset::dense(rows, 2).unwrap();
    let ctx = RunContext::new(3).with_threads(threads);
    ChooseK::new(Job::new(method, 0), Some(range)).run(&ctx, &data, given).unwrap()
}

#[test]
fn clear_groups_are_counted_right_with_and_without_constraints_on_any_number_of_threads() {
    let (rows, truth) = blobs(&[0.0, 10.0, 20.0], 30, 1.0);
    let given = generate::pairs(&truth, 45, &mut Rng::stream(2, "test", 0)).unwrap().constraints;
    for set in [&ConstraintSet::new(90), &given] {
        for method in ["kmeans", "pck-means", "cal", "mlcl"] {
            let one = choose(method, &rows, set, (2, 6), 1);
            let many = choose(method, &rows, set, (2, 6), 3);
            assert_eq!(one.recommended, many.recommended);
            assert_eq!(one.criteria, many.criteria);
            assert_eq!(one.recommended.k, 3, "{method}: {}", one.recommended.reason);
            assert!(one.recommended.reason.len() > 20);
            assert_eq!(one.criterion("S").unwrap().k, Some(3));
            assert_eq!(one.criterion("gap").unwrap().k.is_some(), !set.is_empty());
        }
    }
}

#[test]
fn constraints_count_the_groups_that_geometry_lumps() {
    // Four groups in two far pairs: every index by itself says two.
    let (rows, truth) = blobs(&[0.0, 4.0, 40.0, 44.0], 30, 0.8);
    let given = generate::pairs(&truth, 80, &mut Rng::stream(5, "test", 0)).unwrap().constraints;
    let found = choose("pck-means", &rows, &given, (2, 8), 2);
    assert_eq!(found.criterion("S").unwrap().k, Some(2));
    assert_eq!(found.recommended.k, 4, "{}", found.recommended.reason);
}

#[test]
fn every_candidate_is_the_run_of_that_k_and_one_dendrogram_serves_all() {
    let (rows, truth) = blobs(&[0.0, 5.0, 10.0], 20, 1.5);
    let given = generate::pairs(&truth, 30, &mut Rng::stream(2, "test", 0)).unwrap().constraints;
    let data = Dataset::dense(&rows, 2).unwrap();
    let ctx = RunContext::new(3);
    for method in ["cal", "kmeans"] {
        let found = choose(method, &rows, &given, (2, 7), 2);
        for c in &found.candidates {
            let alone = Job::new(method, c.k).run(&ctx, &data, &given).unwrap();
            assert_eq!((&alone.labels, alone.objective), (&c.run.labels, c.run.objective), "{method}");
        }
    }
    assert!(Job::new("cal", 0).each(&ctx, &data, &given, &[2, 3]).is_some());
    assert!(Job::new("kmeans", 0).each(&ctx, &data, &given, &[2, 3]).is_none());
}

#[test]
fn a_clique_is_a_lower_bound_and_smaller_k_are_left_out_with_the_reason() {
    let (rows, _) = blobs(&[0.0, 9.0], 20, 1.0);
    let mut given = ConstraintSet::new(40);
    for i in 0..4 {
        for j in 0..i {
            given.add_pair(Kind::CannotLink, i, j).unwrap();
        }
    }
    let found = choose("mlcl", &rows, &given, (2, 6), 2);
    let smallest = found.smallest.as_ref().unwrap();
    assert!(smallest.exact() && smallest.lower == 4);
    assert_eq!(found.left_out.iter().map(|l| l.0).collect::<Vec<_>>(), [2, 3]);
    assert!(found.left_out[0].1.contains("at least 4"));
    assert!(found.recommended.k >= 4);
    // A method that may break constraints is run below the bound, and the reason says what that means.
    let soft = choose("kmeans", &rows, &given, (2, 6), 2);
    assert_eq!(soft.candidates.len(), 5);
    assert_eq!(soft.recommended.k < 4, soft.recommended.reason.contains("below 4"), "{}", soft.recommended.reason);
}

#[test]
fn a_stopped_run_returns_what_it_has() {
    let (rows, truth) = blobs(&[0.0, 10.0, 20.0], 30, 1.0);
    let given = generate::pairs(&truth, 45, &mut Rng::stream(2, "test", 0)).unwrap().constraints;
    let token = CancelToken::new();
    token.cancel();
    let data = Dataset::dense(&rows, 2).unwrap();
    let ctx = RunContext::new(0).with_cancel(token);
    let found = ChooseK::new(Job::new("kmeans", 0), Some((2, 9))).run(&ctx, &data, &given).unwrap();
    assert_eq!(found.stopped, Some(Stop::Cancelled));
    assert_eq!(found.candidates.len() + found.left_out.len(), 8);
    assert_eq!(found.chosen().k, found.recommended.k);
    assert_eq!(found.chosen().run.labels.len(), 90);
}

#[test]
fn impossible_requests_are_refused() {
    let data = Dataset::dense(&[0.0, 1.0, 2.0, 3.0], 1).unwrap();
    let given = ConstraintSet::new(4);
    let run = |request: ChooseK| request.run(&RunContext::new(0), &data, &given);
    let with = |range| ChooseK::new(Job::new("kmeans", 0), Some(range));
    assert!(run(with((0, 2))).is_err() && run(with((3, 2))).is_err() && run(with((5, 9))).is_err());
    assert!(run(ChooseK { alpha: 1.5, ..with((2, 3)) }).is_err());
    assert!(run(ChooseK::new(Job::new("kmaens", 0), None)).is_err());
    assert_eq!(run(with((2, 9))).unwrap().candidates.len(), 3);
    assert_eq!(run(ChooseK::new(Job::new("kmeans", 0), None)).unwrap().candidates.len(), 2);
}

#[test]
fn a_k_whose_clusters_stay_empty_is_left_out_with_the_reason() {
    // Three places without any spread: a fourth cluster has nothing to hold.
    let (rows, _) = blobs(&[0.0, 10.0, 20.0], 10, 0.0);
    let found = choose("kmeans", &rows, &ConstraintSet::new(30), (2, 5), 1);
    assert_eq!(found.candidates.iter().map(|c| c.k).collect::<Vec<_>>(), [2, 3]);
    assert_eq!(found.left_out.iter().map(|l| l.0).collect::<Vec<_>>(), [4, 5]);
    assert!(found.left_out[0].1.contains("only 3 of the clusters have rows"), "{}", found.left_out[0].1);
    assert_eq!(found.recommended.k, 3);
}
