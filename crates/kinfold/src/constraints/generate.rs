//! Constraints drawn from true labels, as the published protocols draw them: random pairs (`rac`, `percent`,
//! `seeded-sample`), labelled rows (`ral`), half and half (`balanced`), disjoint sets; and noise that flips some.
//! Every generator depends on labels, parameters and random stream alone. Pairs are unordered, distinct, never a row with
//! itself; when fewer exist than asked for, all of them come and [`Generated::short`] says so.

use super::{ConstraintSet, Kind, Origin};
use crate::error::{Error, Result};
use crate::rng::Rng;

/// A generated set.
#[derive(Debug, Clone)]
pub struct Generated {
    /// The constraints, all hard.
    pub constraints: ConstraintSet,
    /// Questions a person would have been asked.
    pub asked: usize,
    /// Why there are fewer constraints than asked for.
    pub short: Option<String>,
}

/// The answer to "do these two rows belong together?".
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reply {
    /// They do.
    Same,
    /// They do not.
    Different,
    /// No answer: no constraint, and the pair is not asked again.
    Unsure,
}

/// Number of pairs of n rows.
fn pairs_of(n: usize) -> usize {
    n * n.saturating_sub(1) / 2
}

/// Pair number `index` of n rows: (0,1), (0,2), (1,2), (0,3), …
fn pair_at(index: usize) -> (usize, usize) {
    // b(b−1)/2 ≤ index < b(b+1)/2; the root is only a first guess.
    let mut b = ((1.0 + (1.0 + 8.0 * index as f64).sqrt()) / 2.0) as usize;
    while pairs_of(b) > index {
        b -= 1;
    }
    while pairs_of(b + 1) <= index {
        b += 1;
    }
    (index - pairs_of(b), b)
}

/// `count` distinct pairs of n rows, uniformly, in random order.
fn draw_pairs(n: usize, count: usize, rng: &mut Rng) -> Vec<(usize, usize)> {
    let all = pairs_of(n);
    let count = count.min(all);
    if (count as f64) <= 0.3 * all as f64 {
        let mut seen = rustc_hash::FxHashSet::default();
        let mut drawn = Vec::with_capacity(count);
        while drawn.len() < count {
            let index = rng.below(all);
            if seen.insert(index) {
                drawn.push(pair_at(index));
            }
        }
        return drawn;
    }
    // Selection sampling: each index is taken with probability needed / left, which is exactly uniform.
    let mut drawn = Vec::with_capacity(count);
    for index in 0..all {
        if drawn.len() == count {
            break;
        }
        if rng.below(all - index) < count - drawn.len() {
            drawn.push(pair_at(index));
        }
    }
    rng.shuffle(&mut drawn);
    drawn
}

fn truth_pair(set: &mut ConstraintSet, truth: &[u32], a: usize, b: usize) -> Result<()> {
    let kind = if truth[a] == truth[b] { Kind::MustLink } else { Kind::CannotLink };
    set.add_pair(kind, a, b).map(drop)
}

fn shortage(wanted: usize, got: usize, what: &str) -> Option<String> {
    (got < wanted).then(|| format!("only {got} of {wanted} {what} exist"))
}

/// `target` random pairs with their true relation (`rac`; the usual target is n/2).
pub fn pairs(truth: &[u32], target: usize, rng: &mut Rng) -> Result<Generated> {
    let reply = |a: usize, b: usize| if truth[a] == truth[b] { Reply::Same } else { Reply::Different };
    pairs_by_asking(truth.len(), target, rng, reply)
}

/// Asks about random pairs, none twice, until `target` of them are answered same or different.
pub fn pairs_by_asking(
    n: usize,
    target: usize,
    rng: &mut Rng,
    mut ask: impl FnMut(usize, usize) -> Reply,
) -> Result<Generated> {
    let all = pairs_of(n);
    let mut constraints = ConstraintSet::new(n);
    let (mut asked, mut got) = (0, 0);
    let mut tested = rustc_hash::FxHashSet::default();
    // Rejection while most pairs are untested, then a shuffled list of the rest.
    while got < target && asked < all && (asked as f64) < 0.5 * all as f64 {
        let index = rng.below(all);
        if tested.insert(index) {
            asked += 1;
            let (a, b) = pair_at(index);
            got += usize::from(add_reply(&mut constraints, a, b, ask(a, b))?);
        }
    }
    if got < target && asked < all {
        let mut rest: Vec<usize> = (0..all).filter(|index| !tested.contains(index)).collect();
        rng.shuffle(&mut rest);
        for index in rest {
            if got == target {
                break;
            }
            asked += 1;
            let (a, b) = pair_at(index);
            got += usize::from(add_reply(&mut constraints, a, b, ask(a, b))?);
        }
    }
    Ok(Generated { constraints, asked, short: shortage(target, got, "pairs with an answer") })
}

fn add_reply(set: &mut ConstraintSet, a: usize, b: usize, reply: Reply) -> Result<bool> {
    let kind = match reply {
        Reply::Same => Kind::MustLink,
        Reply::Different => Kind::CannotLink,
        Reply::Unsure => return Ok(false),
    };
    set.add_pair(kind, a, b)?;
    Ok(true)
}

/// The share `p` (0..=1) of all pairs, rounded down (`percent`).
pub fn percent(truth: &[u32], p: f64, rng: &mut Rng) -> Result<Generated> {
    let subset: Vec<usize> = (0..truth.len()).collect();
    percent_of(truth, &subset, p, rng)
}

/// The share `p` of the pairs of `rows` random rows (`seeded-sample`): n stays large, the constraints few.
pub fn seeded_sample(truth: &[u32], rows: usize, p: f64, rng: &mut Rng) -> Result<Generated> {
    let mut subset = rng.sample(truth.len(), rows);
    subset.sort_unstable();
    percent_of(truth, &subset, p, rng)
}

fn percent_of(truth: &[u32], subset: &[usize], p: f64, rng: &mut Rng) -> Result<Generated> {
    if !(0.0..=1.0).contains(&p) {
        return Err(Error::Parameter(format!("a share of {p} of all pairs is not between 0 and 1")));
    }
    // A hair above, so that 0.07 · 100 is 7.
    let count = (p * pairs_of(subset.len()) as f64 * (1.0 + 1e-12)) as usize;
    let mut constraints = ConstraintSet::new(truth.len());
    constraints.reserve_pairs(count);
    for (i, j) in draw_pairs(subset.len(), count, rng) {
        truth_pair(&mut constraints, truth, subset[i], subset[j])?;
    }
    Ok(Generated { constraints, asked: count, short: None })
}

/// The labels of `rows` random rows (`ral`; the usual number is [`ral_rows`]).
pub fn labels(truth: &[u32], rows: usize, rng: &mut Rng) -> Result<Generated> {
    labels_by_asking(truth.len(), rows, rng, |row| Some(truth[row]))
}

/// A tenth of n, half up, at least 2 (and at most n).
pub fn ral_rows(n: usize) -> usize {
    ((n as f64 * 0.1 + 0.5) as usize).max(2).min(n)
}

/// Asks for the labels of random rows until `target` are known; `None` means unsure and another row is drawn.
pub fn labels_by_asking(
    n: usize,
    target: usize,
    rng: &mut Rng,
    mut ask: impl FnMut(usize) -> Option<u32>,
) -> Result<Generated> {
    let mut order: Vec<usize> = (0..n).collect();
    let mut known: Vec<(usize, u32)> = Vec::new();
    let mut asked = 0;
    while known.len() < target && asked < n {
        let at = asked + rng.below(n - asked);
        order.swap(asked, at);
        let row = order[asked];
        asked += 1;
        known.extend(ask(row).map(|label| (row, label)));
    }
    let mut constraints = ConstraintSet::new(n);
    let got = known.len();
    let names = known.iter().map(|x| x.1 as usize + 1).max().unwrap_or(0);
    let names = (0..names).map(|l| l.to_string()).collect();
    constraints.add_labels(&known, names, Vec::new(), f64::INFINITY, Origin::default())?;
    Ok(Generated { constraints, asked, short: shortage(target, got, "rows with a label") })
}

/// ⌈S/2⌉ must-links and ⌊S/2⌋ cannot-links: a row uniformly, then a partner uniformly in its class (outside it). Uniform
/// over rows, hence not over pairs. With `repeat` a pair may come twice.
pub fn balanced(truth: &[u32], total: usize, repeat: bool, rng: &mut Rng) -> Result<Generated> {
    let n = truth.len();
    let classes = Classes::new(truth);
    let mut constraints = ConstraintSet::new(n);
    let mut seen = rustc_hash::FxHashSet::default();
    let (mut wanted_in_all, mut got_in_all) = (0, 0);
    for (kind, wanted) in [(Kind::MustLink, total.div_ceil(2)), (Kind::CannotLink, total / 2)] {
        let within: usize = classes.rows.iter().map(|c| pairs_of(c.len())).sum();
        let exist = if kind == Kind::MustLink { within } else { pairs_of(n) - within };
        let goal = if repeat && exist > 0 { wanted } else { wanted.min(exist) };
        let mut got = 0;
        while got < goal {
            let first = rng.below(n);
            let own = &classes.rows[classes.of[first]];
            let partners = if kind == Kind::MustLink { own.len() - 1 } else { n - own.len() };
            if partners == 0 {
                continue;
            }
            let second = if kind == Kind::MustLink {
                let at = rng.below(partners);
                if at < classes.position[first] { own[at] } else { own[at + 1] }
            } else {
                classes.outside(classes.of[first], rng.below(partners))
            };
            let pair = (first.min(second), first.max(second));
            if repeat || seen.insert(pair) {
                constraints.add_pair(kind, pair.0, pair.1)?;
                got += 1;
            }
        }
        wanted_in_all += wanted;
        got_in_all += got;
    }
    Ok(Generated { constraints, asked: got_in_all, short: shortage(wanted_in_all, got_in_all, "pairs") })
}

/// The rows of each class, classes in order of their label.
struct Classes {
    rows: Vec<Vec<usize>>,
    of: Vec<usize>,
    position: Vec<usize>,
    by_class: Vec<usize>,
    starts: Vec<usize>,
}

impl Classes {
    fn new(truth: &[u32]) -> Classes {
        let mut labels = truth.to_vec();
        labels.sort_unstable();
        labels.dedup();
        let mut rows = vec![Vec::new(); labels.len()];
        let (mut of, mut position) = (Vec::with_capacity(truth.len()), Vec::with_capacity(truth.len()));
        for (row, label) in truth.iter().enumerate() {
            let class = labels.binary_search(label).unwrap_or(0);
            of.push(class);
            position.push(rows[class].len());
            rows[class].push(row);
        }
        let mut starts = vec![0];
        for class in &rows {
            starts.push(starts[starts.len() - 1] + class.len());
        }
        let by_class = rows.iter().flatten().copied().collect();
        Classes { rows, of, position, by_class, starts }
    }
    /// The `at`-th row that is not of `class`.
    fn outside(&self, class: usize, at: usize) -> usize {
        self.by_class[if at < self.starts[class] { at } else { at + self.rows[class].len() }]
    }
}

/// Must-link sets of `ml_size` rows and cannot-link sets of `cl_size`, about half of `total` pairs in each kind: no row is in
/// two must-link sets, and no must-link set or free row in two cannot-link sets. Sizes of 2 give pairs.
pub fn disjoint_sets(truth: &[u32], ml_size: usize, cl_size: usize, total: usize, rng: &mut Rng) -> Result<Generated> {
    if ml_size < 2 || cl_size < 2 {
        return Err(Error::Parameter("sets need at least 2 rows".into()));
    }
    let n = truth.len();
    let mut constraints = ConstraintSet::new(n);
    // Compare twice the count with the total: half of an odd total is not whole.
    let mut free = Classes::new(truth).rows;
    let classes = free.len();
    let mut units: Vec<Vec<usize>> = vec![Vec::new(); classes];
    let (mut ml_pairs, mut cl_pairs) = (0, 0);
    let mut short = None;
    while 2 * ml_pairs < total {
        let choices: Vec<usize> = (0..classes).filter(|&c| free[c].len() >= ml_size).collect();
        if choices.is_empty() {
            short = Some(format!("no class has {ml_size} rows left: {ml_pairs} must-link pairs"));
            break;
        }
        let class = choices[rng.below(choices.len())];
        let members = take(&mut free[class], ml_size, rng);
        add_group(&mut constraints, Kind::MustLink, &members)?;
        units[class].push(members[0]);
        ml_pairs += pairs_of(ml_size);
    }
    for (class, rows) in free.into_iter().enumerate() {
        units[class].extend(rows);
    }
    while 2 * cl_pairs < total {
        let mut choices: Vec<usize> = (0..classes).filter(|&c| !units[c].is_empty()).collect();
        if choices.len() < cl_size {
            let note = format!("fewer than {cl_size} classes have rows left: {cl_pairs} cannot-link pairs");
            short = Some(short.map_or(note.clone(), |s| format!("{s}; {note}")));
            break;
        }
        let chosen = take(&mut choices, cl_size, rng);
        let members: Vec<usize> = chosen.into_iter().flat_map(|c| take(&mut units[c], 1, rng)).collect();
        add_group(&mut constraints, Kind::CannotLink, &members)?;
        cl_pairs += pairs_of(cl_size);
    }
    Ok(Generated { constraints, asked: ml_pairs + cl_pairs, short })
}

/// Takes `count` items at random out of a list.
fn take(items: &mut Vec<usize>, count: usize, rng: &mut Rng) -> Vec<usize> {
    (0..count).map(|_| items.swap_remove(rng.below(items.len()))).collect()
}

fn add_group(set: &mut ConstraintSet, kind: Kind, members: &[usize]) -> Result<()> {
    match members {
        &[a, b] => set.add_pair(kind, a, b).map(drop),
        _ => set.add_set(kind, members, f64::INFINITY, Origin::default()).map(drop),
    }
}

/// The same set with `count` distinct constraints, drawn uniformly, turned wrong (`noisy`): pairs and sets change their
/// kind, labelled rows get another of the labels in use. Consistency is not preserved; that is the point.
pub fn noisy(set: &ConstraintSet, count: usize, rng: &mut Rng) -> Result<ConstraintSet> {
    let total = units(set);
    let mut wrong = vec![false; total];
    rng.sample(total, count).into_iter().for_each(|i| wrong[i] = true);
    turn(set, &wrong, rng)
}

/// Like [`noisy`], each constraint turned wrong independently with probability `rate` (`noisy-rate`).
pub fn noisy_rate(set: &ConstraintSet, rate: f64, rng: &mut Rng) -> Result<ConstraintSet> {
    if !(0.0..=1.0).contains(&rate) {
        return Err(Error::Parameter(format!("a noise rate of {rate} is not between 0 and 1")));
    }
    let wrong: Vec<bool> = (0..units(set)).map(|_| rng.unit() < rate).collect();
    turn(set, &wrong, rng)
}

fn units(set: &ConstraintSet) -> usize {
    set.pairs().len() + set.sets().len() + set.labels().iter().map(|l| l.rows.len()).sum::<usize>()
}

fn turn(set: &ConstraintSet, wrong: &[bool], rng: &mut Rng) -> Result<ConstraintSet> {
    let mut wrong = wrong.iter().copied();
    let mut next = || wrong.next().unwrap_or(false);
    let mut out = set.without_constraints();
    let flip = |kind: Kind, wrong: bool| if wrong { kind.flipped() } else { kind };
    for p in set.pairs() {
        out.add_weighted_pair(flip(p.kind, next()), p.a as usize, p.b as usize, p.weight, p.origin)?;
    }
    for s in set.sets() {
        let members: Vec<usize> = s.members.iter().map(|&row| row as usize).collect();
        out.add_set(flip(s.kind, next()), &members, s.weight, s.origin)?;
    }
    for l in set.labels() {
        let mut used: Vec<u32> = l.rows.iter().map(|x| x.1).collect();
        used.sort_unstable();
        used.dedup();
        let rows: Vec<(usize, u32)> = l
            .rows
            .iter()
            .map(|&(row, label)| {
                if !next() || used.len() < 2 {
                    return (row as usize, label);
                }
                let own = used.binary_search(&label).unwrap_or(0);
                let other = rng.below(used.len() - 1);
                (row as usize, used[if other < own { other } else { other + 1 }])
            })
            .collect();
        out.add_labels(&rows, l.names.clone(), l.lines.clone(), l.weight, l.origin)?;
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::super::{Feasibility, FeasibleOptions, feasible};
    use super::*;

    fn truth(n: usize, k: u32) -> Vec<u32> {
        (0..n as u32).map(|i| i * 7 % k).collect()
    }
    fn rng(i: u64) -> Rng {
        Rng::stream(9, "generate", i)
    }
    fn kinds(g: &ConstraintSet) -> (usize, usize) {
        let ml = g.expanded().filter(|p| p.kind == Kind::MustLink).count();
        (ml, g.expanded().count() - ml)
    }

    #[test]
    fn pair_numbers_count_all_pairs_once() {
        let mut expected = Vec::new();
        for b in 1..60 {
            expected.extend((0..b).map(|a| (a, b)));
        }
        assert_eq!((0..expected.len()).map(pair_at).collect::<Vec<_>>(), expected);
        for n in [100_000usize, 1_000_003, 94_906_267, 3_000_000_000] {
            assert_eq!(pair_at(pairs_of(n) - 1), (n - 2, n - 1));
            assert_eq!(pair_at(pairs_of(n)), (0, n));
        }
    }

    #[test]
    fn amounts_are_those_of_the_papers() {
        for (n, expected) in [(150, [111, 558, 1117]), (336, [562, 2814, 5628]), (208, [215, 1076, 2152])] {
            for (p, count) in [0.01, 0.05, 0.10].into_iter().zip(expected) {
                let g = percent(&truth(n, 3), p, &mut rng(0)).unwrap();
                assert_eq!(g.constraints.pairs().len(), count);
            }
        }
        let g = labels(&truth(150, 3), ral_rows(150), &mut rng(1)).unwrap();
        assert_eq!(g.constraints.labels()[0].rows.len(), 15);
        assert_eq!(g.constraints.expanded().count(), 105);
        let g = balanced(&truth(150, 3), 150 / 4, false, &mut rng(2)).unwrap();
        assert_eq!(kinds(&g.constraints), (19, 18));
        let g = pairs(&truth(683, 2), 683 / 2, &mut rng(3)).unwrap();
        assert_eq!(g.constraints.pairs().len(), 341);
    }

    #[test]
    fn without_noise_every_set_is_true_distinct_consistent_and_feasible() {
        let y = truth(60, 4);
        for i in 0..20 {
            let sets = [
                pairs(&y, 30, &mut rng(i)).unwrap(),
                percent(&y, 0.02, &mut rng(i)).unwrap(),
                percent(&y, 0.8, &mut rng(i)).unwrap(),
                labels(&y, 12, &mut rng(i)).unwrap(),
                balanced(&y, 31, false, &mut rng(i)).unwrap(),
                disjoint_sets(&y, 3, 4, 30, &mut rng(i)).unwrap(),
                disjoint_sets(&y, 2, 2, 20, &mut rng(i)).unwrap(),
                seeded_sample(&y, 20, 0.5, &mut rng(i)).unwrap(),
            ];
            for g in sets {
                assert_eq!(g.short, None);
                assert_eq!(g.constraints.violations(&y, 9).broken(), 0);
                let mut all: Vec<_> = g.constraints.expanded().map(|p| (p.a, p.b)).collect();
                let count = all.len();
                all.sort_unstable();
                all.dedup();
                assert_eq!(all.len(), count);
                let q = g.constraints.close().unwrap();
                assert!(matches!(feasible(&q, 4, &FeasibleOptions::default()), Feasibility::Feasible(_)));
            }
        }
    }

    #[test]
    fn the_same_stream_gives_the_same_set_and_another_a_different_one() {
        let y = truth(50, 3);
        let draw = |i| percent(&y, 0.1, &mut rng(i)).unwrap().constraints.pairs().to_vec();
        assert_eq!(draw(4), draw(4));
        assert_ne!(draw(4), draw(5));
    }

    #[test]
    fn asking_for_more_than_there_is_gives_everything_and_says_so() {
        let y = truth(6, 2);
        let g = pairs(&y, 100, &mut rng(0)).unwrap();
        assert_eq!((g.constraints.pairs().len(), g.asked), (15, 15));
        assert!(g.short.is_some());
        let g = balanced(&[0, 0, 1], 10, false, &mut rng(0)).unwrap();
        assert_eq!(kinds(&g.constraints), (1, 2));
        assert!(g.short.is_some());
        assert!(disjoint_sets(&y, 3, 2, 100, &mut rng(0)).unwrap().short.is_some());
        assert_eq!(percent(&y, 1.0, &mut rng(0)).unwrap().constraints.pairs().len(), 15);
        assert!(balanced(&[], 10, false, &mut rng(0)).unwrap().constraints.is_empty());
        assert!(labels(&[], 10, &mut rng(0)).unwrap().short.is_some());
    }

    #[test]
    fn unsure_pairs_and_rows_do_not_count_and_are_not_asked_again() {
        let mut asked = Vec::new();
        let unsure = |a: usize, b: usize| (a + b).is_multiple_of(3);
        let g = pairs_by_asking(12, 30, &mut rng(0), |a, b| {
            asked.push((a, b));
            if unsure(a, b) { Reply::Unsure } else { Reply::Different }
        })
        .unwrap();
        assert_eq!(g.constraints.pairs().len(), 30);
        assert!(g.constraints.pairs().iter().all(|p| !unsure(p.a as usize, p.b as usize)));
        let count = asked.len();
        assert_eq!(count, g.asked);
        asked.sort_unstable();
        asked.dedup();
        assert_eq!(asked.len(), count);
        let g = labels_by_asking(10, 5, &mut rng(0), |row| (row % 2 == 0).then_some(row as u32 % 3)).unwrap();
        assert_eq!(g.constraints.labels()[0].rows.len(), 5);
    }

    #[test]
    fn disjoint_sets_are_disjoint_after_merging() {
        let y = truth(200, 5);
        let g = disjoint_sets(&y, 4, 3, 90, &mut rng(1)).unwrap();
        // 45 pairs each: 8 sets of 6 pairs, 15 sets of 3.
        assert_eq!(kinds(&g.constraints), (48, 45));
        let mut seen = [false; 200];
        for s in g.constraints.sets().iter().filter(|s| s.kind == Kind::MustLink) {
            assert!(s.members.iter().all(|&row| !std::mem::replace(&mut seen[row as usize], true)));
        }
        let q = g.constraints.close().unwrap();
        let mut met = vec![false; q.len()];
        for s in g.constraints.sets().iter().filter(|s| s.kind == Kind::CannotLink) {
            assert!(s.members.iter().all(|&row| !std::mem::replace(&mut met[q.of(row as usize) as usize], true)));
        }
    }

    #[test]
    fn noise_turns_exactly_as_many_as_asked() {
        let y = truth(100, 3);
        let clean = balanced(&y, 100, false, &mut rng(0)).unwrap().constraints;
        for r in 1..=10 {
            let bad = noisy(&clean, r, &mut rng(r as u64)).unwrap();
            assert_eq!(bad.violations(&y, 0).broken(), r as u64);
        }
        assert_eq!(noisy_rate(&clean, 0.0, &mut rng(0)).unwrap().violations(&y, 0).broken(), 0);
        assert_eq!(noisy_rate(&clean, 1.0, &mut rng(0)).unwrap().violations(&y, 0).broken(), 100);
        let labelled = labels(&y, 20, &mut rng(0)).unwrap().constraints;
        let bad = noisy(&labelled, 3, &mut rng(1)).unwrap();
        assert_eq!(bad.labels()[0].rows.iter().filter(|x| x.1 != y[x.0 as usize]).count(), 3);
    }

    #[test]
    fn random_pairs_are_uniform() {
        // 10 pairs of 5 rows, 3 drawn each time: each pair 3,000 times in 10,000.
        let mut counts = [0usize; 10];
        let mut stream = rng(0);
        for _ in 0..10_000 {
            for (a, b) in draw_pairs(5, 3, &mut stream) {
                counts[(0..10).find(|&i| pair_at(i) == (a, b)).unwrap()] += 1;
            }
        }
        assert!(counts.iter().all(|&c| (2_800..3_200).contains(&c)), "{counts:?}");
    }
}
