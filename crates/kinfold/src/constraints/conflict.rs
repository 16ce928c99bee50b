//! Contradictions explained: a cannot-link inside a chunklet and the shortest chain of must-links that forbids it.
//! Breadth-first search, neighbours ascending; sets and label classes are star nodes, so a chain through one counts 1
//! and names it. One search per conflict source, only over rows of chunklets that hold a conflict: O(S) to collect
//! them, O(links of the chunklet) per source. Past 10,000 conflicts the first 1,000 are explained, the rest counted.

use super::paths::{Links, PathRule};
use super::{ConstraintId, ConstraintSet};

/// Above this many conflicts only [`MOST_EXPLAINED`] get a chain.
const MOST_CONFLICTS: usize = 10_000;
const MOST_EXPLAINED: usize = 1_000;
/// Above this many must-links to search, each chain is searched from both ends: thousands of rows instead of all.
const MANY_LINKS: usize = 200_000;

/// A cannot-link whose two ends the must-links join.
#[derive(Debug, Clone, PartialEq)]
pub struct Conflict {
    /// The cannot-link.
    pub cannot_link: ConstraintId,
    /// The must-links of the chain, in order; empty for a row that is to be apart from itself.
    pub path: Vec<ConstraintId>,
    /// The rows along the chain, from one end of the cannot-link to the other.
    pub points: Vec<u32>,
    /// The constraint of least weight among all of these (the later one of equals): the likeliest culprit.
    pub weakest: ConstraintId,
}

impl Conflict {
    /// The two rows that are to be apart.
    pub fn ends(&self) -> (u32, u32) {
        (self.points.first().copied().unwrap_or(0), self.points.last().copied().unwrap_or(0))
    }

    /// A sentence with the user's row names and file lines: `different (a, d) [answers.csv:7] contradicts
    /// a = b [answers.csv:1] = d [answers.csv:5]`.
    pub fn describe(&self, set: &ConstraintSet, name: impl Fn(u32) -> String) -> String {
        let (a, b) = self.ends();
        if a == b {
            let place = set.place(self.cannot_link, &[a]);
            return match self.cannot_link {
                ConstraintId::Labels(_) => format!("{} has two different labels [{place}]", name(a)),
                _ => format!("{} is said to be different from itself [{place}]", name(a)),
            };
        }
        self.sentence(name, |id, rows| set.place(id, rows))
    }

    fn sentence(&self, name: impl Fn(u32) -> String, place: impl Fn(ConstraintId, &[u32]) -> String) -> String {
        let (a, b) = self.ends();
        let mut text =
            format!("different ({}, {}) [{}] contradicts ", name(a), name(b), place(self.cannot_link, &[a, b]));
        text.push_str(&name(a));
        for (step, &id) in self.points.windows(2).zip(&self.path) {
            text.push_str(&format!(" = {} [{}]", name(step[1]), place(id, step)));
        }
        text
    }
}

impl std::fmt::Display for Conflict {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (a, b) = self.ends();
        if a == b {
            return write!(f, "row {a} is said to be different from itself [{}]", self.cannot_link);
        }
        f.write_str(&self.sentence(|row| format!("row {row}"), |id, _| id.to_string()))
    }
}

/// All conflicts of a set: the explained ones and how many there are.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Conflicts {
    /// The conflicts with their chains: all of them, or the first 1,000 of more than 10,000.
    pub explained: Vec<Conflict>,
    /// Number of cannot-links that the must-links contradict.
    pub total: usize,
}

impl Conflicts {
    /// No conflict?
    pub fn is_empty(&self) -> bool {
        self.total == 0
    }
    /// Number of conflicts, explained or not.
    pub fn len(&self) -> usize {
        self.total
    }
    /// The first conflict.
    pub fn first(&self) -> Option<&Conflict> {
        self.explained.first()
    }
    /// The explained conflicts.
    pub fn iter(&self) -> std::slice::Iter<'_, Conflict> {
        self.explained.iter()
    }
}

impl<'a> IntoIterator for &'a Conflicts {
    type Item = &'a Conflict;
    type IntoIter = std::slice::Iter<'a, Conflict>;
    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

/// A chain for each cannot-link of `broken`, whose ends share a chunklet.
pub(super) fn explain(
    set: &ConstraintSet,
    chunk_of: &[u32],
    broken: &[(ConstraintId, u32, u32)],
    counts: impl Fn(f64) -> bool,
    rule: PathRule,
) -> Conflicts {
    let total = broken.len();
    let broken = if total > MOST_CONFLICTS { &broken[..MOST_EXPLAINED] } else { broken };
    let mut wanted: Vec<u32> = broken.iter().map(|&(_, a, _)| chunk_of[a as usize]).collect();
    wanted.sort_unstable();
    wanted.dedup();
    let links = Links::of_chunklets(set, chunk_of, &wanted, counts, rule);
    let finish = |(cannot_link, a, b): (ConstraintId, u32, u32), chain: Option<(Vec<u32>, Vec<ConstraintId>)>| {
        let (points, path) = chain.unwrap_or_else(|| (vec![a, b], Vec::new()));
        let mut weakest = cannot_link;
        for &id in &path {
            let (now, best) = (set.weight(id), set.weight(weakest));
            if now < best || (now == best && id > weakest) {
                weakest = id;
            }
        }
        Conflict { cannot_link, path, points, weakest }
    };
    if rule == PathRule::Fewest && links.len() > MANY_LINKS {
        let (mut ahead, mut behind) = (links.search(), links.search());
        let explained = broken.iter().map(|&x| finish(x, ahead.between(&mut behind, x.1, x.2))).collect();
        return Conflicts { explained, total };
    }
    // Conflicts of one source share a search.
    let mut order: Vec<usize> = (0..broken.len()).collect();
    order.sort_by_key(|&i| (broken[i].1, i));
    let mut search = links.search();
    let mut explained: Vec<Option<Conflict>> = vec![None; broken.len()];
    for group in order.chunk_by(|&i, &j| broken[i].1 == broken[j].1) {
        let source = broken[group[0]].1;
        let targets: Vec<u32> = group.iter().map(|&i| broken[i].2).collect();
        search.run(source, &targets);
        for &i in group {
            explained[i] = Some(finish(broken[i], search.path_to(broken[i].2)));
        }
    }
    Conflicts { explained: explained.into_iter().flatten().collect(), total }
}

#[cfg(test)]
mod tests {
    use super::super::brute;
    use super::super::{Kind::*, Origin};
    use super::*;
    use crate::rng::Rng;

    fn ids(numbers: &[u32]) -> Vec<ConstraintId> {
        numbers.iter().map(|&i| ConstraintId::Pair(i)).collect()
    }

    #[test]
    fn the_chain_is_the_shortest_one() {
        // spec §12.3
        let mut c = ConstraintSet::new(5);
        let file = c.add_source("answers.csv");
        for (i, (a, b)) in [(0, 1), (1, 2), (2, 3), (0, 4), (4, 3)].into_iter().enumerate() {
            let origin = Origin { source: file, line: i as u32 + 2 };
            c.add_weighted_pair(MustLink, a, b, f64::INFINITY, origin).unwrap();
        }
        c.add_weighted_pair(CannotLink, 0, 3, 1.0, Origin { source: file, line: 7 }).unwrap();
        let (_, conflicts) = c.close_lenient(0.0).unwrap();
        assert_eq!(conflicts.len(), 1);
        let conflict = &conflicts.explained[0];
        assert_eq!(conflict.points, [0, 4, 3]);
        assert_eq!(conflict.path, ids(&[3, 4]));
        assert_eq!(conflict.weakest, ConstraintId::Pair(5));
        assert_eq!(
            conflict.describe(&c, |row| ["a", "b", "c", "d", "e"][row as usize].into()),
            "different (a, d) [answers.csv:7] contradicts a = e [answers.csv:5] = d [answers.csv:6]"
        );
        assert_eq!(
            conflict.to_string(),
            "different (row 0, row 3) [pair #5] contradicts row 0 = row 4 [pair #3] = row 3 [pair #4]"
        );
        assert!(matches!(c.close(), Err(crate::Error::Contradiction(all)) if all == conflicts));
    }

    #[test]
    fn a_chain_through_a_set_counts_one_and_names_it() {
        let mut c = ConstraintSet::new(6);
        c.add_pair(MustLink, 0, 1).unwrap();
        c.add_pair(MustLink, 1, 5).unwrap();
        c.add_set(MustLink, &[3, 0, 5, 2], 2.0, Origin::default()).unwrap();
        c.add_pair(CannotLink, 0, 5).unwrap();
        c.add_set(CannotLink, &[2, 4, 1], 9.0, Origin::default()).unwrap();
        let (_, all) = c.close_lenient(0.0).unwrap();
        assert_eq!(all.len(), 2);
        assert_eq!(all.explained[0].path, [ConstraintId::Set(0)]);
        assert_eq!(all.explained[0].points, [0, 5]);
        assert_eq!(all.explained[0].weakest, ConstraintId::Set(0));
        assert_eq!(all.explained[1].cannot_link, ConstraintId::Set(1));
        assert_eq!(all.explained[1].points, [2, 0, 1]);
    }

    #[test]
    fn a_row_apart_from_itself_and_a_row_with_two_labels_have_an_empty_chain() {
        let mut c = ConstraintSet::new(3);
        let file = c.add_source("labels.csv");
        c.add_pair(CannotLink, 1, 1).unwrap();
        let names = vec!["x".into(), "y".into()];
        let origin = Origin { source: file, line: 0 };
        c.add_labels(&[(2, 0), (2, 1)], names, vec![4, 9], 1.0, origin).unwrap();
        let (_, all) = c.close_lenient(0.0).unwrap();
        assert_eq!(all.len(), 2);
        assert!(all.iter().all(|x| x.path.is_empty() && x.points.len() == 1));
        let name = |row: u32| format!("r{row}");
        assert_eq!(all.explained[0].describe(&c, name), "r1 is said to be different from itself [pair #0]");
        assert_eq!(all.explained[1].describe(&c, name), "r2 has two different labels [labels.csv:4,9]");
    }

    #[test]
    fn chains_can_be_the_lightest_or_the_likeliest() {
        let mut c = ConstraintSet::new(5);
        let mut add = |kind, a, b, w| c.add_weighted_pair(kind, a, b, w, Origin::default()).unwrap();
        add(MustLink, 0, 4, 5.0);
        add(MustLink, 0, 1, 1.0);
        add(MustLink, 1, 2, 1.0);
        add(MustLink, 2, 4, 1.0);
        add(CannotLink, 0, 4, 7.0);
        let path = |rule| c.conflicts(0.0, rule).explained[0].path.clone();
        assert_eq!(path(PathRule::Fewest), ids(&[0]));
        assert_eq!(path(PathRule::Lightest), ids(&[1, 2, 3]));
        // −ln q(5) = 0.0067 against 3 · 0.3133
        assert_eq!(path(PathRule::MostLikely), ids(&[0]));
    }

    #[test]
    fn beyond_ten_thousand_conflicts_a_thousand_are_explained() {
        let mut c = ConstraintSet::new(200);
        for i in 1..200 {
            c.add_pair(MustLink, i - 1, i).unwrap();
        }
        for i in 0..200 {
            for j in 0..i {
                c.add_pair(CannotLink, i, j).unwrap();
            }
        }
        let (_, all) = c.close_lenient(0.0).unwrap();
        assert_eq!((all.total, all.explained.len()), (19_900, 1_000));
        assert!(all.iter().all(|x| x.path.len() as u32 == x.points[0].abs_diff(*x.points.last().unwrap())));
    }

    #[test]
    fn searching_from_both_ends_is_as_short() {
        let mut rng = Rng::stream(6, "conflict", 0);
        for _ in 0..800 {
            let c = brute::random_set(&mut rng, 9, 9);
            let distance = brute::must_link_distances(&c);
            let links = Links::of_chunklets(&c, &[0; 9], &[0], |w| w > 0.0, PathRule::Fewest);
            let (mut ahead, mut behind) = (links.search(), links.search());
            for a in 0..9u32 {
                for b in 0..9u32 {
                    let found = ahead.between(&mut behind, a, b);
                    let expected = distance[a as usize][b as usize];
                    assert_eq!(found.as_ref().map_or(usize::MAX, |x| x.1.len()), expected);
                    if let Some((points, path)) = found {
                        assert_eq!((points[0], points[points.len() - 1]), (a, b));
                        for (step, &id) in points.windows(2).zip(&path) {
                            assert!(brute::says(&c, id, MustLink, step[0], step[1]));
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn every_chain_holds_and_none_is_shorter() {
        let mut rng = Rng::stream(5, "conflict", 0);
        for _ in 0..1500 {
            let c = brute::random_set(&mut rng, 7, 9);
            let (_, all) = c.close_lenient(0.0).unwrap();
            let distance = brute::must_link_distances(&c);
            for x in &all {
                brute::check_conflict(&c, x);
                assert_eq!(x.path.len(), distance[x.ends().0 as usize][x.ends().1 as usize]);
            }
            assert_eq!(all.is_empty(), brute::colourable(&c, 7));
        }
    }
}
