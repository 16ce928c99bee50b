use super::*;
use crate::constraints::{Origin, generate};
use crate::indices::{INDICES, Scored};
use crate::pipeline::{Job, Run};
use crate::rng::Rng;
use Kind::{CannotLink, MustLink};

/// Gaussian blobs: rows and true labels.
fn blobs(n: usize, dims: usize, k: usize, spread: f64, seed: u64) -> (Vec<f64>, Vec<u32>) {
    let mut rng = Rng::stream(seed, "blobs", 0);
    let centres: Vec<f64> = (0..k * dims).map(|_| 5.0 * rng.normal()).collect();
    let labels: Vec<u32> = (0..n).map(|i| (i % k) as u32).collect();
    let centre = |l: u32| centres[l as usize * dims..(l as usize + 1) * dims].to_vec();
    let rows = labels.iter().flat_map(|&l| centre(l)).map(|c| c + spread * rng.normal()).collect();
    (rows, labels)
}

fn ctx() -> RunContext {
    RunContext::new(3).with_threads(1)
}

fn run(k: usize, rows: &[f64], dims: usize, given: &ConstraintSet, trust: Trust) -> Result<Run> {
    // Only the method that chooses by itself doubts unasked.
    let method = if trust == Trust::Soft { "mlcl" } else { "fold" };
    Job { trust, ..Job::new(method, k) }.run(&ctx(), &Dataset::dense(rows, dims)?, given)
}

fn nmi(labels: &[u32], truth: &[u32]) -> f64 {
    let scored = Scored { labels, truth: Some(truth), constraints: None };
    INDICES.iter().find(|i| i.name == "nmi").and_then(|i| (i.score)(&scored)).unwrap()
}

/// Two groups of 20 rows with must-links inside and cannot-links across.
fn two_groups() -> (Vec<f64>, ConstraintSet) {
    let rows = (0..40).map(|i| if i < 20 { 0.0 } else { 10.0 } + f64::from(i % 5) * 0.1).collect();
    let mut given = ConstraintSet::new(40);
    let file = given.add_source("answers.csv");
    let mut line = 1;
    for i in 0..19 {
        for (kind, a, b) in [(MustLink, i, i + 1), (MustLink, 20 + i, 21 + i), (CannotLink, i, 20 + i)] {
            line += 1;
            given.add_weighted_pair(kind, a, b, f64::INFINITY, Origin { source: file, line }).unwrap();
        }
    }
    (rows, given)
}

#[test]
fn one_wrong_link_between_far_groups_is_found_and_explained() {
    let (rows, mut given) = two_groups();
    let data = Dataset::dense(&rows, 1).unwrap();
    let clean = assess(&ctx(), &data, Some(Scaling::None), &given, 2, Trust::Auto).unwrap();
    assert_eq!((clean.verdict, clean.distrusted.len()), (Verdict::Hard, 0), "{clean:?}");
    given.add_weighted_pair(MustLink, 3, 30, f64::INFINITY, Origin { source: 1, line: 99 }).unwrap();
    let found = assess(&ctx(), &data, Some(Scaling::None), &given, 2, Trust::Auto).unwrap();
    assert_eq!((found.verdict, found.distrusted.len()), (Verdict::Noisy, 1), "{found:?}");
    let d = &found.distrusted[0];
    assert_eq!(d.id, ConstraintId::Pair(57));
    assert!(d.probability_wrong > 0.99 && d.sigmas > 5.0 && d.cost > 5.0, "{d:?}");
    // The chain: must-links from both ends to one cannot-link, all of them believed.
    let kinds: Vec<Kind> = d
        .cycle
        .iter()
        .map(|id| match id {
            ConstraintId::Pair(i) => given.pairs()[*i as usize].kind,
            _ => panic!("{id}"),
        })
        .collect();
    assert_eq!(kinds.iter().filter(|k| **k == CannotLink).count(), 1, "{kinds:?}");
    let told = d.describe(&given, |row| format!("r{row}"));
    for words in
        ["same (r3, r30) [answers.csv:99]: wrong with probability over 0.99", "say different", "contradicted by"]
    {
        assert!(told.contains(words), "'{words}' is not in: {told}");
    }
    assert!(matches!(assess(&ctx(), &data, Some(Scaling::None), &given, 2, Trust::Hard), Err(Error::Contradiction(_))));
}

#[test]
fn clean_constraints_are_believed_and_change_nothing() {
    for (seed, (n, dims, k, spread)) in
        [(90, 2, 3, 1.0), (120, 4, 4, 2.0), (80, 3, 2, 4.0), (150, 2, 5, 3.0), (100, 6, 3, 3.0)].into_iter().enumerate()
    {
        let (rows, truth) = blobs(n, dims, k, spread, seed as u64);
        for total in [n / 3, n / 2, n] {
            let mut rng = Rng::stream(seed as u64, "test", total as u64);
            let given = generate::balanced(&truth, total, false, &mut rng).unwrap().constraints;
            let hard = run(k, &rows, dims, &given, Trust::Hard).unwrap();
            let auto = run(k, &rows, dims, &given, Trust::Auto).unwrap();
            assert_eq!(auto.violations.broken(), 0, "{seed} {total}: {:?}", auto.assessment);
            assert_eq!(auto.labels, hard.labels, "{seed} {total}");
            assert!(auto.distrusted().iter().all(|d| d.kept) && hard.assessment.is_none());
        }
    }
}

#[test]
fn planted_flips_are_found_and_the_result_is_not_below_the_unconstrained_one() {
    let (mut matter, mut found, mut left_out, mut right, mut judged) = (0, 0, 0, 0, 0);
    let mut suspects = 0;
    let (mut ours, mut theirs) = (0.0, 0.0);
    for seed in 0..6u64 {
        let k = 2 + seed as usize % 3;
        // Groups that overlap: where the rows alone say everything, answers can only do harm.
        let (rows, truth) = blobs(120, 3, k, 3.0, 10 + seed);
        let mut rng = Rng::stream(seed, "test", 0);
        let clean = generate::balanced(&truth, 120, false, &mut rng).unwrap().constraints;
        let given = generate::noisy(&clean, 12, &mut rng).unwrap();
        let auto = run(k, &rows, 3, &given, Trust::Auto).unwrap();
        // The unconstrained run of the same representation.
        let plain = Job { scaling: Some(Scaling::Standard), ..Job::new("kmeans", k) };
        let plain = plain.run(&ctx(), &Dataset::dense(&rows, 3).unwrap(), &given).unwrap();
        // Errors that contradict nothing are kept, whatever they cost; of those left out the result is free.
        if auto.distrusted().iter().any(|d| !d.kept) {
            judged += 1;
            ours += nmi(&auto.labels, &truth);
            theirs += nmi(&plain.labels, &truth);
        }
        let kept = given.map_pairs(|i, p| (p.kind == clean.pairs()[i].kind).then_some(*p));
        let oracle = run(k, &rows, 3, &kept, Trust::Hard).unwrap();
        for (i, p) in given.pairs().iter().enumerate() {
            let listed = auto.distrusted().iter().find(|d| d.id == ConstraintId::Pair(i as u32));
            let is_wrong = p.kind != clean.pairs()[i].kind;
            let broken = (oracle.labels[p.a as usize] == oracle.labels[p.b as usize]) != (p.kind == MustLink);
            matter += usize::from(is_wrong && broken);
            found += usize::from(is_wrong && broken && listed.is_some());
            let is_left_out = listed.is_some_and(|d| !d.kept);
            left_out += usize::from(is_left_out);
            right += usize::from(is_left_out && is_wrong);
        }
        // First those left out, then suspects, which hold; the most probable errors first.
        let parts: Vec<&[Distrusted]> = auto.distrusted().chunk_by(|a, b| a.kept == b.kept).collect();
        assert!(parts.len() <= 2 && (parts.len() < 2 || !parts[0][0].kept), "{:?}", auto.distrusted());
        for part in parts {
            assert!(part.is_sorted_by(|a, b| a.probability_wrong >= b.probability_wrong), "{part:?}");
            assert!(part.iter().all(|d| !(d.kept && d.broken)), "{part:?}");
            suspects += if part[0].kept { part.len() } else { 0 };
        }
        // What is broken is listed.
        for v in &auto.violations.list {
            assert!(auto.distrusted().iter().any(|d| d.id == v.id && d.broken), "{v:?}");
        }
    }
    assert!(ours >= theirs, "mean over {judged} sets: {ours} against {theirs}");
    assert!(judged >= 3, "only {judged} of 6 sets contradict themselves");
    assert!(2 * found >= matter && 2 * right >= left_out, "{found} of {matter} found, {right} of {left_out} right");
    assert!(suspects > 0);
}

/// Rings around each other: rows and true labels.
fn rings(n: usize, k: usize, seed: u64) -> (Vec<f64>, Vec<u32>) {
    let mut rng = Rng::stream(seed, "rings", 0);
    let labels: Vec<u32> = (0..n).map(|i| (i % k) as u32).collect();
    let point = |&l: &u32| {
        let (radius, angle) = (1.0 + 2.0 * f64::from(l) + 0.1 * rng.normal(), std::f64::consts::TAU * rng.unit());
        [radius * angle.cos(), radius * angle.sin()]
    };
    (labels.iter().flat_map(point).collect(), labels)
}

#[test]
fn on_curved_clusters_clean_constraints_are_believed_and_wrong_ones_are_found() {
    let (mut found_wrong, mut listed) = (0, 0);
    for seed in 0..3 {
        let (rows, truth) = rings(240, 3, seed);
        let data = Dataset::dense(&rows, 2).unwrap();
        let mut rng = Rng::stream(seed, "test", 0);
        let clean = generate::balanced(&truth, 120, false, &mut rng).unwrap().constraints;
        let found = assess(&ctx(), &data, None, &clean, 3, Trust::Auto).unwrap();
        assert_eq!((found.verdict, found.distrusted.len()), (Verdict::Hard, 0), "{seed}: {found:?}");
        let given = generate::noisy(&clean, 12, &mut rng).unwrap();
        let found = assess(&ctx(), &data, None, &given, 3, Trust::Auto).unwrap();
        assert_eq!(found.verdict, Verdict::Noisy, "{seed}: {found:?}");
        let wrong = |id| matches!(id, ConstraintId::Pair(i) if given.pairs()[i as usize].kind != clean.pairs()[i as usize].kind);
        found_wrong += found.distrusted.iter().filter(|d| wrong(d.id)).count();
        listed += found.distrusted.len();
    }
    // Of 36 wrong ones.
    assert!(found_wrong >= 27 && 10 * found_wrong >= 8 * listed, "{found_wrong} found, {listed} listed");
}

#[test]
fn groups_of_many_rows_are_tied_no_more_than_they_can_bear() {
    // Rows of both groups are everywhere, so that neighbours tie the groups by hundreds of votes; answers keep them apart.
    let mut rng = Rng::stream(4, "test", 0);
    let rows: Vec<f64> = (0..6000).map(|_| rng.normal()).collect();
    let mut given = ConstraintSet::new(3000);
    for g in 0..2 {
        let members: Vec<usize> = (0..1500).map(|i| 2 * i + g).collect();
        given.add_set(MustLink, &members, f64::INFINITY, Origin::default()).unwrap();
    }
    for i in 0..40 {
        let (a, b) = (2 * rng.below(1500), 2 * rng.below(1500) + 1);
        given.add_pair(if i % 8 == 0 { MustLink } else { CannotLink }, a, b).unwrap();
    }
    let found = assess(&ctx(), &Dataset::dense(&rows, 2).unwrap(), None, &given, 2, Trust::Auto).unwrap();
    assert!(found.evidence.is_some_and(f64::is_finite), "{found:?}");
    assert!(found.distrusted.iter().all(|d| (0.0..=1.0).contains(&d.probability_wrong)), "{found:?}");
}

#[test]
fn the_assessment_does_not_depend_on_threads() {
    let (rows, truth) = blobs(200, 3, 4, 2.0, 5);
    let mut rng = Rng::stream(5, "test", 0);
    let given = generate::balanced(&truth, 200, false, &mut rng).unwrap().constraints;
    let given = generate::noisy(&given, 20, &mut rng).unwrap();
    let data = Dataset::dense(&rows, 3).unwrap();
    let [one, two, three] = [1, 2, 3].map(|t| {
        assess(&RunContext::new(8).with_threads(t), &data, Some(Scaling::None), &given, 4, Trust::Auto).unwrap()
    });
    assert_eq!(one.verdict, Verdict::Noisy);
    assert!(one == two && one == three);
}

#[test]
fn a_small_contradiction_costs_only_what_contradicts() {
    let rows: Vec<f64> = (0..12).map(|i| f64::from(i % 3) * 10.0 + f64::from(i)).collect();
    let mut given = ConstraintSet::new(12);
    given.add_pair(MustLink, 0, 3).unwrap();
    given.add_pair(MustLink, 3, 6).unwrap();
    given.add_pair(CannotLink, 0, 6).unwrap();
    given.add_pair(MustLink, 1, 2).unwrap();
    given.add_pair(CannotLink, 9, 6).unwrap();
    let auto = run(3, &rows, 1, &given, Trust::Auto).unwrap();
    let ids: Vec<ConstraintId> = auto.distrusted().iter().map(|d| d.id).collect();
    assert_eq!(ids, [ConstraintId::Pair(2)], "{:?}", auto.assessment);
    assert_eq!(auto.violations.broken(), 1);
    assert!(auto.notes.iter().any(|n| n.contains("1 of 5 constraints")), "{:?}", auto.notes);
    assert!(matches!(run(3, &rows, 1, &given, Trust::Hard), Err(Error::Contradiction(_))));
}

#[test]
fn rules_are_believed_against_answers_and_repaired_against_each_other() {
    let (rows, mut given) = two_groups();
    given.add_set(MustLink, &[0, 5, 10], f64::INFINITY, Origin::default()).unwrap();
    given.add_pair(CannotLink, 0, 10).unwrap();
    let auto = run(2, &rows, 1, &given, Trust::Auto).unwrap();
    let ids: Vec<ConstraintId> = auto.distrusted().iter().map(|d| d.id).collect();
    assert_eq!(ids, [ConstraintId::Pair(57)]);

    let (rows, mut given) = two_groups();
    let names = vec!["x".to_owned(), "y".to_owned()];
    let labelled = [(0, 0), (1, 0), (21, 1), (22, 1), (0, 1)];
    given.add_labels(&labelled, names, vec![], f64::INFINITY, Origin::default()).unwrap();
    let auto = run(2, &rows, 1, &given, Trust::Auto).unwrap();
    assert!(auto.distrusted().iter().any(|d| d.id == ConstraintId::Labels(0) && d.a == 0), "{:?}", auto.distrusted());
    let kept = auto.assessment.as_ref().unwrap().believed(&given);
    assert_eq!(kept.violations(&auto.labels, 0).broken(), 0);
}

#[test]
fn an_impossible_k_stays_an_error() {
    let (rows, truth) = blobs(90, 2, 3, 0.8, 4);
    let given = generate::balanced(&truth, 120, false, &mut Rng::stream(2, "test", 0)).unwrap().constraints;
    assert!(matches!(run(2, &rows, 2, &given, Trust::Auto), Err(Error::Infeasible(_))));
    let mut triangle = ConstraintSet::new(90);
    for (a, b) in [(0, 1), (1, 2), (0, 2)] {
        triangle.add_pair(CannotLink, a, b).unwrap();
    }
    assert!(matches!(run(2, &rows, 2, &triangle, Trust::Auto), Err(Error::Infeasible(_))));
}

#[test]
fn fewer_clusters_than_classes_are_not_held_against_right_constraints() {
    let mut asked = 0;
    for seed in 0..8u64 {
        let (rows, truth) = blobs(150, 2, 3, 1.5, 20 + seed);
        let mut rng = Rng::stream(seed, "too few", 0);
        let given = generate::balanced(&truth, 60, false, &mut rng).unwrap().constraints;
        // Two clusters can keep what is said about three classes, now and then.
        let Ok(hard) = run(2, &rows, 2, &given, Trust::Hard) else { continue };
        let auto = run(2, &rows, 2, &given, Trust::Auto).unwrap();
        assert_eq!(auto.violations.broken(), 0, "{seed}: {:?}", auto.assessment);
        assert_eq!(auto.labels, hard.labels, "{seed}");
        asked += usize::from(auto.assessment.unwrap().reason.contains("k may be too small"));
    }
    assert!(asked >= 2, "{asked}");
}

#[test]
fn soft_constraints_are_weighed_by_their_odds_and_proven_ones_are_kept() {
    let rows = [0.0, 0.1, 0.2, 5.0, 5.1, 5.2, 2.4];
    let soft = |weight: f64| {
        let mut given = ConstraintSet::new(7);
        given.add_weighted_pair(MustLink, 6, 4, weight, Origin::default()).unwrap();
        given.add_weighted_pair(MustLink, 0, 5, 0.2, Origin::default()).unwrap();
        run(2, &rows, 1, &given, Trust::Soft).unwrap()
    };
    let strong = soft(6.0);
    assert_eq!(strong.labels, [0, 0, 0, 1, 1, 1, 1], "{:?}", strong.assessment);
    assert_eq!(strong.distrusted().len(), 1);
    let mut proven = ConstraintSet::new(7);
    proven.add_pair(MustLink, 0, 5).unwrap();
    proven.add_weighted_pair(CannotLink, 0, 5, 3.0, Origin::default()).unwrap();
    let kept = run(2, &rows, 1, &proven, Trust::Soft).unwrap();
    assert_eq!((kept.violations.must_link, kept.violations.cannot_link), (0, 1));
}

#[test]
fn answers_given_with_doubt_are_left_out_when_they_are_probably_wrong() {
    let (rows, mut given) = two_groups();
    given.add_weighted_pair(CannotLink, 4, 12, 0.4, Origin::default()).unwrap();
    given.add_weighted_pair(MustLink, 21, 30, 0.4, Origin::default()).unwrap();
    let given = given.map_pairs(|i, p| (i < 9 || i % 3 == 2 || i > 56).then_some(*p));
    let auto = run(2, &rows, 1, &given, Trust::Auto).unwrap();
    let pairs: Vec<(u32, u32)> = auto.distrusted().iter().map(|d| (d.a, d.b)).collect();
    assert_eq!(pairs, [(4, 12)], "{:?}", auto.assessment);
    assert_eq!(auto.violations.broken(), 1);
}

#[test]
fn sparse_and_single_precision_rows_lead_to_the_same_verdict() {
    let (mut rows, truth) = blobs(100, 6, 3, 1.0, 9);
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
    let mut rng = Rng::stream(9, "test", 0);
    let given = generate::balanced(&truth, 100, false, &mut rng).unwrap().constraints;
    let given = generate::noisy(&given, 8, &mut rng).unwrap();
    let narrow: Vec<f32> = rows.iter().map(|&v| v as f32).collect();
    let ids = |a: Assessment| a.distrusted.iter().map(|d| d.id).collect::<Vec<_>>();
    let dense =
        assess(&ctx(), &Dataset::dense(&rows, 6).unwrap(), Some(Scaling::None), &given, 3, Trust::Auto).unwrap();
    let sparse = Dataset::sparse(&starts, &columns, &values, 6).unwrap();
    let sparse = assess(&ctx(), &sparse, Some(Scaling::None), &given, 3, Trust::Auto).unwrap();
    let single =
        assess(&ctx(), &Dataset::dense(&narrow, 6).unwrap(), Some(Scaling::None), &given, 3, Trust::Auto).unwrap();
    assert_eq!(dense.verdict, Verdict::Noisy);
    let mut all = [dense, sparse, single].map(ids);
    all.iter_mut().for_each(|a| a.sort_unstable());
    assert!(all[0] == all[1] && all[0] == all[2], "{all:?}");
}

#[test]
fn many_rows_are_judged_on_a_sample() {
    let (rows, truth) = blobs(MOST_ROWS + 4000, 2, 3, 0.5, 6);
    let mut rng = Rng::stream(6, "test", 0);
    let given = generate::balanced(&truth[..60], 60, false, &mut rng).unwrap().constraints;
    let mut wide = ConstraintSet::new(truth.len());
    // The constrained rows lie at the end, so that their numbers in the sample differ.
    let shift = truth.len() - 60;
    for (i, p) in given.pairs().iter().enumerate() {
        let kind = if i % 12 == 3 { p.kind.flipped() } else { p.kind };
        wide.add_pair(kind, p.a as usize + shift, p.b as usize + shift).unwrap();
    }
    let found = assess(&ctx(), &Dataset::dense(&rows, 2).unwrap(), Some(Scaling::None), &wide, 3, Trust::Auto).unwrap();
    // Five of sixty are wrong; nothing contradicts them, but the rows do.
    assert!(found.verdict == Verdict::Noisy && found.contradictions == 0 && !found.distrusted.iter().any(|d| d.kept));
    let mut ids: Vec<u32> =
        found.distrusted.iter().map(|d| if let ConstraintId::Pair(i) = d.id { i } else { 99 }).collect();
    ids.sort_unstable();
    assert_eq!(ids, [3, 15, 27, 39, 51]);
    for d in &found.distrusted {
        assert!(d.a as usize >= shift && d.b as usize >= shift);
    }
}

#[test]
fn errors_among_more_constraints_than_can_be_weighed_one_by_one_are_still_found() {
    let (n, k) = (400_000, 20);
    let (rows, truth) = blobs(n, 3, k, 0.3, 5);
    let data = Dataset::dense(&rows, 3).unwrap();
    let mut rng = Rng::stream(9, "many pairs", 0);
    let mut flipped = Vec::new();
    let mut given = ConstraintSet::new(n);
    for _ in 0..MOST_WORK / k + 2000 {
        let a = rng.below(n - k);
        // The next of the same blob, or any row.
        let b = if rng.below(2) == 0 { a + k } else { rng.below(n) };
        if a == b {
            continue;
        }
        let wrong = rng.below(12) == 0;
        let same = (truth[a] == truth[b]) != wrong;
        given.add_pair(if same { MustLink } else { CannotLink }, a, b).unwrap();
        flipped.push(wrong);
    }
    let found = assess(&ctx(), &data, Some(Scaling::None), &given, k, Trust::Auto).unwrap();
    assert_eq!(found.verdict, Verdict::Noisy, "{}", found.reason);
    // What is believed holds together.
    found.believed(&given).close().unwrap();
    let right =
        found.distrusted.iter().filter(|d| matches!(d.id, ConstraintId::Pair(i) if flipped[i as usize])).count();
    let wrong = flipped.iter().filter(|w| **w).count();
    assert!(
        10 * right > 9 * wrong && 10 * right > 9 * found.distrusted.len(),
        "{right} {wrong} {}",
        found.distrusted.len()
    );
}

/// Fisher's iris, as it comes with the examples: rows and species.
fn iris() -> (Vec<f64>, Vec<u32>) {
    let lines = include_str!("../../../../../examples/iris.csv").lines().skip(1);
    let (mut rows, mut truth, mut names) = (Vec::new(), Vec::new(), Vec::new());
    for cells in lines.map(|line| line.split(',').collect::<Vec<_>>()) {
        rows.extend(cells[..4].iter().map(|v| v.parse::<f64>().unwrap()));
        let known = names.iter().position(|n| *n == cells[4]);
        truth.push(known.unwrap_or(names.len()) as u32);
        known.is_none().then(|| names.push(cells[4]));
    }
    (rows, truth)
}

#[test]
fn errors_that_echo_in_their_neighbourhood_are_found_by_holding_constraints_out() {
    let (rows, truth) = iris();
    let data = Dataset::dense(&rows, 4).unwrap();
    let right = generate::balanced(&truth, 75, false, &mut Rng::stream(7, "given", 0)).unwrap().constraints;
    let wrong = generate::noisy(&right, 11, &mut Rng::stream(7, "wrong", 0)).unwrap();
    let verdict = |given| assess(&ctx(), &data, None, given, 3, Trust::Auto).unwrap();
    assert_eq!(verdict(&right).verdict, Verdict::Hard);
    // By leaving constraints out one by one the evidence is 3.4, which clean sets have too.
    let found = verdict(&wrong);
    assert_eq!((found.verdict, found.contradictions), (Verdict::Noisy, 0), "{:?}", found.evidence);
    let truly = |d: &Distrusted| (truth[d.a as usize] == truth[d.b as usize]) != (d.kind == MustLink);
    let listed = found.distrusted.iter().filter(|d| truly(d)).count();
    assert!(listed >= 6, "{listed} of 11");
}

#[test]
fn rows_that_know_the_truth_show_a_few_errors_among_many_clusters() {
    // Errors among answers about clusters that hardly overlap; none contradicts another.
    let (mut noisy, mut asked, mut wrong_found, mut listed) = (0, 0, 0, 0);
    for seed in 0..6u64 {
        let (rows, truth) = blobs(240, 4, 4, 1.0, seed);
        let data = Dataset::dense(&rows, 4).unwrap();
        let right = generate::balanced(&truth, 120, false, &mut Rng::stream(seed, "given", 0)).unwrap().constraints;
        let wrong = generate::noisy(&right, 12, &mut Rng::stream(seed, "wrong", 0)).unwrap();
        let verdict = |given| assess(&ctx(), &data, None, given, 4, Trust::Auto).unwrap();
        assert_eq!(verdict(&right).verdict, Verdict::Hard, "{seed}");
        let found = verdict(&wrong);
        if found.contradictions > 0 {
            continue;
        }
        asked += 1;
        noisy += usize::from(found.verdict == Verdict::Noisy);
        let truly = |d: &Distrusted| (truth[d.a as usize] == truth[d.b as usize]) != (d.kind == MustLink);
        wrong_found += found.distrusted.iter().filter(|d| truly(d)).count();
        listed += found.distrusted.len();
    }
    assert!(asked >= 4 && noisy == asked, "{noisy} of {asked}");
    assert!(
        wrong_found >= 10 * asked && 5 * wrong_found >= 4 * listed,
        "{wrong_found} of {asked} times 12, {listed} listed"
    );
}

#[test]
fn right_constraints_that_teach_are_not_taken_for_errors() {
    // Four long thin classes side by side in four columns, of which two know nothing.
    for seed in [3, 16, 19] {
        let mut rng = Rng::stream(seed, "stripes", 0);
        let truth: Vec<u32> = (0..160).map(|i| i % 4).collect();
        let row = |&t: &u32| {
            let along = 12.0 * rng.unit();
            [along + 0.3 * f64::from(t), along + 0.1 * rng.normal(), rng.normal(), rng.normal()]
        };
        let rows: Vec<f64> = truth.iter().flat_map(row).collect();
        let given = generate::balanced(&truth, 120, false, &mut Rng::stream(seed, "given", 0)).unwrap().constraints;
        let found = assess(&ctx(), &Dataset::dense(&rows, 4).unwrap(), None, &given, 4, Trust::Auto).unwrap();
        assert_eq!(found.verdict, Verdict::Hard, "{seed}: {found:?}");
        // The noise model alone has it that there are errors.
        assert!(found.evidence.is_some_and(|e| e > 4.0), "{seed}: {found:?}");
    }
}

#[test]
fn the_likeliest_errors_are_listed_where_rows_know_little_though_nothing_looks_wrong() {
    let (mut found_wrong, mut listed) = (0, 0);
    for seed in [1, 3, 7, 8] {
        // Five classes that overlap: with and without errors the constraints are predicted equally badly.
        let (rows, truth) = blobs(160, 3, 5, 3.5, 40 + seed);
        let right = generate::balanced(&truth, 80, false, &mut Rng::stream(seed, "given", 0)).unwrap().constraints;
        let given = generate::noisy(&right, 8, &mut Rng::stream(seed, "wrong", 0)).unwrap();
        let found = assess(&ctx(), &Dataset::dense(&rows, 3).unwrap(), None, &given, 5, Trust::Auto).unwrap();
        assert!(found.shows_no_errors() && found.evidence.is_some_and(|e| e < -2.0), "{seed}: {found:?}");
        assert!(found.note(&given).is_some_and(|n| n.contains("no constraint looks wrong")), "{seed}");
        assert!(found.distrusted.iter().all(|d| d.kept && d.probability_wrong > 0.05), "{seed}");
        let truly = |d: &Distrusted| (truth[d.a as usize] == truth[d.b as usize]) != (d.kind == MustLink);
        found_wrong += found.distrusted.iter().filter(|d| truly(d)).count();
        listed += found.distrusted.len();
    }
    // Of 32 wrong ones among 320.
    assert!(found_wrong >= 22 && listed <= 100, "{found_wrong} found, {listed} listed");
}

#[test]
fn what_is_left_out_and_what_is_doubtful_but_kept_are_both_told() {
    let (rows, truth) = blobs(160, 3, 5, 3.5, 41);
    let mut given = generate::balanced(&truth, 80, false, &mut Rng::stream(1, "given", 0)).unwrap().constraints;
    // The two rows that are farthest apart, by somebody who is not sure.
    let distance2 =
        |&(a, b): &(usize, usize)| -> f64 { (0..3).map(|d| (rows[3 * a + d] - rows[3 * b + d]).powi(2)).sum() };
    let all = (0..160).flat_map(|a| (0..a).map(move |b| (a, b)));
    let (a, b) = all.max_by(|x, y| distance2(x).total_cmp(&distance2(y))).unwrap();
    given.add_weighted_pair(MustLink, a, b, 0.1, Origin::default()).unwrap();
    let found = assess(&ctx(), &Dataset::dense(&rows, 3).unwrap(), None, &given, 5, Trust::Auto).unwrap();
    let left_out: Vec<ConstraintId> = found.distrusted.iter().filter(|d| !d.kept).map(|d| d.id).collect();
    assert_eq!((found.verdict, &left_out[..]), (Verdict::Hard, &[ConstraintId::Pair(80)][..]), "{found:?}");
    let kept = found.distrusted.len() - 1;
    assert!(kept > 0 && !found.shows_no_errors());
    let note = found.note(&given).unwrap();
    assert!(
        note.starts_with("1 of 81 constraints given with doubt") && note.contains(&format!("and {kept} more are")),
        "{note}"
    );
}
