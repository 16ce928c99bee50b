//! How well a labelling keeps the constraints. Sets and labellings are counted through their cluster sizes:
//! a must-link set of m rows, m_c of them in cluster c, breaks C(m,2) − Σ_c C(m_c,2) pairs, a cannot-link set
//! Σ_c C(m_c,2), a labelling both by class. O(pairs + members·log members); pairs are never enumerated for a count.
//! Weight 0 says nothing and is not counted; a cannot-link of a row with itself is always broken.

use super::{ConstraintId, ConstraintSet, Kind};

/// One broken relation.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Violation {
    /// The constraint it belongs to.
    pub id: ConstraintId,
    /// What was asked.
    pub kind: Kind,
    /// One row.
    pub a: u32,
    /// The other row.
    pub b: u32,
    /// What breaking it costs.
    pub weight: f64,
}

/// Kept and broken relations of one labelling, counted in pairs of rows, as given (a repeated pair counts again).
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Violations {
    /// Broken must-links.
    pub must_link: u64,
    /// Broken cannot-links.
    pub cannot_link: u64,
    /// All must-links.
    pub must_link_pairs: u64,
    /// All cannot-links.
    pub cannot_link_pairs: u64,
    /// How many of the broken ones are hard.
    pub hard: u64,
    /// Weight of the broken soft ones.
    pub cost: f64,
    /// Weight of all soft ones.
    pub weight: f64,
    /// The first broken ones: pairs in the order given, then sets, then labellings.
    pub list: Vec<Violation>,
}

impl Violations {
    /// Broken relations of both kinds.
    pub fn broken(&self) -> u64 {
        self.must_link + self.cannot_link
    }
    /// Relations of both kinds.
    pub fn total(&self) -> u64 {
        self.must_link_pairs + self.cannot_link_pairs
    }
    /// Share of relations kept; `None` without any.
    pub fn satisfaction(&self) -> Option<f64> {
        (self.total() > 0).then(|| 1.0 - self.broken() as f64 / self.total() as f64)
    }

    fn add(&mut self, kind: Kind, weight: f64, pairs: u64, broken: u64) {
        match kind {
            Kind::MustLink => {
                self.must_link_pairs += pairs;
                self.must_link += broken;
            }
            Kind::CannotLink => {
                self.cannot_link_pairs += pairs;
                self.cannot_link += broken;
            }
        }
        if weight.is_finite() {
            self.cost += weight * broken as f64;
            self.weight += weight * pairs as f64;
        } else {
            self.hard += broken;
        }
    }
}

fn choose_two(m: u64) -> u64 {
    m * m.saturating_sub(1) / 2
}

/// Lengths of the runs of equal keys in a sorted list.
fn runs<K: PartialEq>(sorted: &[(K, u32)]) -> impl Iterator<Item = &[(K, u32)]> {
    sorted.chunk_by(|x, y| x.0 == y.0)
}

impl ConstraintSet {
    /// Recounts every constraint against `labels` (one per row) and lists the first `most` broken relations.
    ///
    /// # Panics
    /// If there are fewer labels than rows.
    pub fn violations(&self, labels: &[u32], most: usize) -> Violations {
        assert!(labels.len() >= self.n(), "{} labels for {} rows", labels.len(), self.n());
        let label = |row: u32| labels[row as usize];
        let mut out = Violations::default();
        for (i, p) in self.pairs().iter().enumerate() {
            if p.weight == 0.0 || (p.a == p.b && p.kind == Kind::MustLink) {
                continue;
            }
            let together = label(p.a) == label(p.b);
            let broken = together != (p.kind == Kind::MustLink);
            out.add(p.kind, p.weight, 1, u64::from(broken));
            if broken && out.list.len() < most {
                let id = ConstraintId::Pair(i as u32);
                out.list.push(Violation { id, kind: p.kind, a: p.a, b: p.b, weight: p.weight });
            }
        }
        for (i, s) in self.sets().iter().enumerate() {
            if s.weight == 0.0 {
                continue;
            }
            let mut by_cluster: Vec<(u32, u32)> = s.members.iter().map(|&row| (label(row), row)).collect();
            by_cluster.sort_unstable();
            let pairs = choose_two(s.members.len() as u64);
            let together: u64 = runs(&by_cluster).map(|run| choose_two(run.len() as u64)).sum();
            let id = ConstraintId::Set(i as u32);
            match s.kind {
                Kind::MustLink => {
                    out.add(s.kind, s.weight, pairs, pairs - together);
                    list_across(&mut out.list, most, &by_cluster, id, s.kind, s.weight);
                }
                Kind::CannotLink => {
                    out.add(s.kind, s.weight, pairs, together);
                    for run in runs(&by_cluster).take_while(|_| together > 0) {
                        for (i, &(_, a)) in run.iter().enumerate() {
                            for &(_, b) in &run[i + 1..] {
                                if out.list.len() >= most {
                                    break;
                                }
                                out.list.push(Violation { id, kind: s.kind, a, b, weight: s.weight });
                            }
                        }
                    }
                }
            }
        }
        for (i, l) in self.labels().iter().enumerate() {
            if l.weight > 0.0 {
                let id = ConstraintId::Labels(i as u32);
                count_labelling(&mut out, most, &l.rows, l.weight, id, label);
            }
        }
        out
    }
}

/// Must-links by class (class against clusters), cannot-links by cluster (cluster against classes).
fn count_labelling(
    out: &mut Violations,
    most: usize,
    rows: &[(u32, u32)],
    weight: f64,
    id: ConstraintId,
    label: impl Fn(u32) -> u32,
) {
    let mut by_class: Vec<((u32, u32), u32)> = rows.iter().map(|&(row, class)| ((class, label(row)), row)).collect();
    by_class.sort_unstable();
    let mut ml_pairs = 0;
    for class in by_class.chunk_by(|x, y| x.0.0 == y.0.0) {
        let pairs = choose_two(class.len() as u64);
        let together: u64 = runs(class).map(|run| choose_two(run.len() as u64)).sum();
        ml_pairs += pairs;
        out.add(Kind::MustLink, weight, pairs, pairs - together);
        if pairs > together && out.list.len() < most {
            let by_cluster: Vec<(u32, u32)> = class.iter().map(|&((_, cluster), row)| (cluster, row)).collect();
            list_across(&mut out.list, most, &by_cluster, id, Kind::MustLink, weight);
        }
    }
    let mut by_cluster: Vec<((u32, u32), u32)> =
        by_class.iter().map(|&((class, cluster), row)| ((cluster, class), row)).collect();
    by_cluster.sort_unstable();
    let mut broken = 0;
    for cluster in by_cluster.chunk_by(|x, y| x.0.0 == y.0.0) {
        let same_class: u64 = runs(cluster).map(|run| choose_two(run.len() as u64)).sum();
        let apart = choose_two(cluster.len() as u64) - same_class;
        broken += apart;
        if apart > 0 && out.list.len() < most {
            let by_class: Vec<(u32, u32)> = cluster.iter().map(|&((_, class), row)| (class, row)).collect();
            list_across(&mut out.list, most, &by_class, id, Kind::CannotLink, weight);
        }
    }
    out.add(Kind::CannotLink, weight, choose_two(rows.len() as u64) - ml_pairs, broken);
}

/// Lists the pairs of rows with different keys in a list sorted by key, without meeting any other pair.
fn list_across(
    list: &mut Vec<Violation>,
    most: usize,
    sorted: &[(u32, u32)],
    id: ConstraintId,
    kind: Kind,
    weight: f64,
) {
    let mut end = 0;
    for run in runs(sorted) {
        end += run.len();
        for &(_, x) in run {
            for &(_, y) in &sorted[end..] {
                if list.len() >= most {
                    return;
                }
                list.push(Violation { id, kind, a: x.min(y), b: x.max(y), weight });
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::Origin;
    use super::*;
    use crate::rng::Rng;

    #[test]
    fn a_labelling_counts_like_the_worked_example() {
        // spec §12.8: A = {0,1,2}, B = {3,4}, partition [0,0,1,1,1].
        let mut c = ConstraintSet::new(5);
        let rows = [(0, 0), (1, 0), (2, 0), (3, 1), (4, 1)];
        c.add_labels(&rows, vec!["A".into(), "B".into()], vec![], 1.0, Origin::default()).unwrap();
        let v = c.violations(&[0, 0, 1, 1, 1], 100);
        assert_eq!((v.must_link_pairs, v.cannot_link_pairs), (4, 6));
        assert_eq!((v.must_link, v.cannot_link), (2, 2));
        assert!((v.satisfaction().unwrap() - 0.6).abs() < 1e-15);
        assert_eq!(v.list.len(), 4);
        assert_eq!(v.cost, 4.0);
    }

    #[test]
    fn counts_and_lists_equal_enumeration() {
        let mut rng = Rng::stream(3, "counts", 0);
        for _ in 0..500 {
            let c = super::super::brute::random_set(&mut rng, 9, 8);
            let labels: Vec<u32> = (0..9).map(|_| rng.below(4) as u32).collect();
            let v = c.violations(&labels, usize::MAX);
            let (mut ml, mut cl, mut cost, mut hard) = ([0u64; 2], [0u64; 2], 0.0, 0);
            let selves = c.pairs().iter().filter(|p| p.a == p.b && p.weight > 0.0 && p.kind == Kind::CannotLink);
            let twice_labelled = c.labels().iter().filter(|l| l.weight > 0.0).flat_map(|l| {
                l.rows.iter().enumerate().flat_map(move |(i, x)| {
                    l.rows[i + 1..].iter().filter(move |y| x.0 == y.0).map(move |y| super::super::Pair {
                        a: x.0,
                        b: x.0,
                        kind: if x.1 == y.1 { Kind::MustLink } else { Kind::CannotLink },
                        weight: l.weight,
                        origin: l.origin,
                    })
                })
            });
            let mut broken = Vec::new();
            for p in c.expanded().chain(selves.copied()).chain(twice_labelled) {
                let bad = (labels[p.a as usize] == labels[p.b as usize]) != (p.kind == Kind::MustLink);
                let tally = if p.kind == Kind::MustLink { &mut ml } else { &mut cl };
                tally[0] += 1;
                tally[1] += u64::from(bad);
                if bad {
                    broken.push((p.kind, p.a, p.b));
                    if p.weight.is_finite() { cost += p.weight } else { hard += 1 }
                }
            }
            assert_eq!([v.must_link_pairs, v.must_link], ml);
            assert_eq!([v.cannot_link_pairs, v.cannot_link], cl);
            assert_eq!(v.hard, hard);
            assert!((v.cost - cost).abs() < 1e-9);
            let mut listed: Vec<_> = v.list.iter().map(|x| (x.kind, x.a, x.b)).collect();
            listed.sort_unstable();
            broken.sort_unstable();
            assert_eq!(listed, broken);
            let some = c.violations(&labels, 2);
            assert_eq!(some.list, v.list[..v.list.len().min(2)]);
        }
    }
}
