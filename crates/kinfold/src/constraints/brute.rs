//! Test helpers: random small constraint sets and exhaustive answers about them.

use super::*;
use crate::rng::Rng;

/// All partitions of n rows as labels in order of first appearance.
pub fn partitions(n: usize) -> Vec<Vec<u32>> {
    fn grow(n: usize, labels: &mut Vec<u32>, used: u32, all: &mut Vec<Vec<u32>>) {
        if labels.len() == n {
            all.push(labels.clone());
            return;
        }
        for label in 0..=used {
            labels.push(label);
            grow(n, labels, used.max(label + 1), all);
            labels.pop();
        }
    }
    let mut all = Vec::new();
    grow(n, &mut Vec::new(), 0, &mut all);
    all
}

/// Number of clusters of a partition made by [`partitions`].
pub fn blocks(labels: &[u32]) -> usize {
    labels.iter().max().map_or(0, |&m| m as usize + 1)
}

/// Up to `most` pairs, sets and labellings over n rows, some of weight 0, some hard, some on a single row.
pub fn random_set(rng: &mut Rng, n: usize, most: usize) -> ConstraintSet {
    let mut c = ConstraintSet::new(n);
    let weights = [0.0, 1.0, 1.0, 2.0, 0.25 + rng.unit(), f64::INFINITY];
    for _ in 0..rng.below(most + 1) {
        let weight = weights[rng.below(weights.len())];
        let kind = if rng.below(2) == 0 { Kind::MustLink } else { Kind::CannotLink };
        match rng.below(8) {
            0 => {
                let size = rng.below(4);
                let members: Vec<usize> = rng.sample(n, size);
                c.add_set(kind, &members, weight, Origin::default()).unwrap();
            }
            1 => {
                let rows: Vec<(usize, u32)> = (0..rng.below(5)).map(|_| (rng.below(n), rng.below(3) as u32)).collect();
                let names = vec!["x".into(), "y".into(), "z".into()];
                c.add_labels(&rows, names, vec![], weight, Origin::default()).unwrap();
            }
            _ => {
                c.add_weighted_pair(kind, rng.below(n), rng.below(n), weight, Origin::default()).unwrap();
            }
        }
    }
    c
}

/// Does this labelling keep everything of positive weight?
pub fn keeps(c: &ConstraintSet, labels: &[u32]) -> bool {
    c.violations(labels, 0).broken() == 0
}

/// Is there a partition into at most k clusters that keeps everything?
pub fn colourable(c: &ConstraintSet, k: usize) -> bool {
    partitions(c.n()).iter().any(|p| blocks(p) <= k && keeps(c, p))
}

/// Fewest must-links between any two rows (`usize::MAX` = not joined).
pub fn must_link_distances(c: &ConstraintSet) -> Vec<Vec<usize>> {
    let n = c.n();
    let mut d = vec![vec![usize::MAX; n]; n];
    (0..n).for_each(|i| d[i][i] = 0);
    for p in c.expanded().filter(|p| p.kind == Kind::MustLink) {
        d[p.a as usize][p.b as usize] = 1;
        d[p.b as usize][p.a as usize] = 1;
    }
    for m in 0..n {
        for i in 0..n {
            for j in 0..n {
                d[i][j] = d[i][j].min(d[i][m].saturating_add(d[m][j]));
            }
        }
    }
    d
}

/// Does constraint `id` itself say `kind` about these two rows?
pub fn says(c: &ConstraintSet, id: ConstraintId, kind: Kind, a: u32, b: u32) -> bool {
    if c.weight(id) == 0.0 {
        return false;
    }
    match id {
        ConstraintId::Pair(i) => {
            let p = &c.pairs()[i as usize];
            p.kind == kind && (p.a, p.b) == (a.min(b), a.max(b))
        }
        ConstraintId::Set(i) => {
            let s = &c.sets()[i as usize];
            s.kind == kind && a != b && s.members.contains(&a) && s.members.contains(&b)
        }
        ConstraintId::Labels(i) => {
            let rows = &c.labels()[i as usize].rows;
            rows.iter().enumerate().any(|(i, x)| {
                rows.iter()
                    .enumerate()
                    .any(|(j, y)| i != j && x.0 == a && y.0 == b && (x.1 == y.1) == (kind == Kind::MustLink))
            })
        }
    }
}

/// The chain is made of must-links that exist, joins the ends of a cannot-link that exists, and names its weakest.
pub fn check_conflict(c: &ConstraintSet, x: &Conflict) {
    assert_eq!(x.points.len(), x.path.len() + 1);
    for (step, &id) in x.points.windows(2).zip(&x.path) {
        assert!(says(c, id, Kind::MustLink, step[0], step[1]), "{x}");
    }
    let (a, b) = x.ends();
    assert!(says(c, x.cannot_link, Kind::CannotLink, a, b), "{x}");
    let least = x.path.iter().chain([&x.cannot_link]).map(|&id| c.weight(id)).fold(f64::INFINITY, f64::min);
    assert_eq!(c.weight(x.weakest), least);
}

/// The least cost of what must be dropped for this labelling to keep the rest: violated pairs, members outside the
/// largest part of a must-link set, members beyond one per cluster of a cannot-link set, and labels outside the best
/// one-to-one match of labels and clusters. Hard constraints cost `hard` each, or infinity.
pub fn repair_cost(c: &ConstraintSet, labels: &[u32], hard: Option<f64>) -> f64 {
    let price = |weight: f64, drops: usize| match (drops, weight.is_infinite()) {
        (0, _) => 0.0,
        (_, true) => hard.unwrap_or(f64::INFINITY) * drops as f64,
        _ => weight * drops as f64,
    };
    let label = |row: u32| labels[row as usize] as usize;
    let k = blocks(labels);
    let mut cost = 0.0;
    for p in c.pairs() {
        let broken = (label(p.a) == label(p.b)) != (p.kind == Kind::MustLink);
        cost += price(p.weight, usize::from(broken));
    }
    for s in c.sets() {
        let mut sizes = vec![0; k];
        s.members.iter().for_each(|&row| sizes[label(row)] += 1);
        let kept = match s.kind {
            Kind::MustLink => sizes.iter().copied().max().unwrap_or(0),
            Kind::CannotLink => sizes.iter().filter(|&&m| m > 0).count(),
        };
        cost += price(s.weight, s.members.len() - kept);
    }
    for l in c.labels() {
        let classes = l.rows.iter().map(|x| x.1 as usize + 1).max().unwrap_or(0);
        let mut table = vec![vec![0usize; k]; classes];
        l.rows.iter().for_each(|&(row, class)| table[class as usize][label(row)] += 1);
        fn best(table: &[Vec<usize>], used: &mut Vec<bool>) -> usize {
            let Some((row, rest)) = table.split_first() else { return 0 };
            let mut most = best(rest, used);
            for c in 0..row.len() {
                if !used[c] {
                    used[c] = true;
                    most = most.max(row[c] + best(rest, used));
                    used[c] = false;
                }
            }
            most
        }
        cost += price(l.weight, l.rows.len() - best(&table, &mut vec![false; k]));
    }
    cost
}
