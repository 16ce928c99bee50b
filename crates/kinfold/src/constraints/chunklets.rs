//! What follows from the constraints: rows joined by must-links are one chunklet, cannot-links are lifted to chunklets.
//! Union-find with path halving and union by size, O(n + S·α(n)); chunklets are numbered by their smallest row.

use super::conflict::{self, Conflicts};
use super::{ConstraintId, ConstraintSet, Graph, Kind, PathRule};
use crate::error::{Error, Result};

/// Most cannot-link pairs that sets may expand to before we refuse (each costs 8 bytes).
const MOST_SET_EDGES: u64 = 200_000_000;

/// What the constraints say about two rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Entailed {
    /// In one chunklet.
    Same,
    /// In two chunklets with a cannot-link between them.
    Different,
    /// Nothing.
    Unknown,
}

/// A closed, conflict-free set of constraints.
#[derive(Debug, Clone)]
pub struct Chunklets {
    chunk_of: Vec<u32>,
    starts: Vec<u32>,
    members: Vec<u32>,
    graph: Graph,
    cliques: Vec<Vec<u32>>,
}

impl Chunklets {
    /// Every row by itself.
    pub fn singletons(n: usize) -> Chunklets {
        let ids: Vec<u32> = (0..n as u32).collect();
        let starts = (0..=n as u32).collect();
        let graph = Graph::new(n, std::iter::empty());
        Chunklets { chunk_of: ids.clone(), starts, members: ids, graph, cliques: Vec::new() }
    }
    /// From a group for every row (any numbers below n; equal = together) and cannot-links between rows.
    /// A cannot-link inside a group is the caller's mistake.
    pub fn from_groups(group: &[u32], cannot_links: &[(u32, u32)]) -> Chunklets {
        let (chunk_of, starts, members) = number(group.len(), |row| group[row]);
        let edges = cannot_links.iter().map(|&(a, b)| (chunk_of[a as usize], chunk_of[b as usize]));
        let graph = Graph::new(starts.len() - 1, edges);
        Chunklets { chunk_of, starts, members, graph, cliques: Vec::new() }
    }
    /// Number of chunklets.
    pub fn len(&self) -> usize {
        self.starts.len() - 1
    }
    /// No rows at all?
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
    /// Number of rows.
    pub fn n(&self) -> usize {
        self.chunk_of.len()
    }
    /// The chunklet of a row.
    pub fn of(&self, row: usize) -> u32 {
        self.chunk_of[row]
    }
    /// The chunklet of every row.
    pub fn of_rows(&self) -> &[u32] {
        &self.chunk_of
    }
    /// The rows of a chunklet, ascending.
    pub fn members(&self, chunklet: u32) -> &[u32] {
        &self.members[self.starts[chunklet as usize] as usize..self.starts[chunklet as usize + 1] as usize]
    }
    /// Does any constraint speak of chunklet `c`?
    pub fn is_bound(&self, c: u32) -> bool {
        self.members(c).len() > 1 || self.graph().degree(c) > 0
    }
    /// The cannot-links between chunklets.
    pub fn graph(&self) -> &Graph {
        &self.graph
    }
    /// Chunklets known to be pairwise cannot-linked because a set or a labelling says so; each ascending.
    pub fn cliques(&self) -> &[Vec<u32>] {
        &self.cliques
    }
    /// What is known about two rows.
    pub fn entails(&self, i: usize, j: usize) -> Entailed {
        let (a, b) = (self.chunk_of[i], self.chunk_of[j]);
        if a == b {
            Entailed::Same
        } else if self.graph.has_edge(a, b) {
            Entailed::Different
        } else {
            Entailed::Unknown
        }
    }
    /// Number of pairs of rows that are known to be together.
    pub fn entailed_must_links(&self) -> u64 {
        self.starts.windows(2).map(|w| u64::from(w[1] - w[0])).map(|m| m * (m - 1) / 2).sum()
    }
    /// Number of pairs of rows that are known to be apart.
    pub fn entailed_cannot_links(&self) -> u64 {
        let size = |c: u32| self.members(c).len() as u64;
        self.graph.edges().map(|(a, b)| size(a) * size(b)).sum()
    }
    /// The same rows with further chunklets united: `merge[c]` names the group of chunklet c. Groups that hold a
    /// cannot-link are the caller's mistake.
    pub fn merged(&self, merge: &[u32]) -> Chunklets {
        let (chunk_of, starts, members) = number(self.n(), |row| merge[self.chunk_of[row] as usize]);
        let new_id = |c: u32| chunk_of[self.members(c)[0] as usize];
        let edges = self.graph.edges().map(|(a, b)| (new_id(a), new_id(b)));
        let graph = Graph::new(starts.len() - 1, edges);
        let mut cliques: Vec<Vec<u32>> =
            self.cliques.iter().map(|q| q.iter().map(|&c| new_id(c)).collect::<Vec<u32>>()).collect();
        cliques.iter_mut().for_each(|q| q.sort_unstable());
        Chunklets { chunk_of, starts, members, graph, cliques }
    }
}

impl ConstraintSet {
    /// Unites all must-links and lifts all cannot-links, whatever their (positive) weight.
    /// Contradictions are an error that explains each of them.
    pub fn close(&self) -> Result<Chunklets> {
        self.close_above(0.0)
    }

    /// Like [`close`](Self::close) with the constraints of weight ≥ `threshold` only; infinity keeps the hard ones.
    pub fn close_above(&self, threshold: f64) -> Result<Chunklets> {
        let (chunklets, conflicts) = self.close_lenient(threshold)?;
        if conflicts.is_empty() { Ok(chunklets) } else { Err(Error::Contradiction(conflicts)) }
    }

    /// Like [`close_above`](Self::close_above), but cannot-links inside a chunklet are left out of the graph and
    /// returned, explained, beside the rest.
    pub fn close_lenient(&self, threshold: f64) -> Result<(Chunklets, Conflicts)> {
        let counts = |weight: f64| weight > 0.0 && weight >= threshold;
        let (chunk_of, starts, members, representatives) = self.unite(counts);
        let groups = || {
            let sets = self.sets().iter().filter(|s| s.kind == Kind::CannotLink && counts(s.weight));
            sets.map(|s| s.members.as_slice()).chain(representatives.iter().map(Vec::as_slice))
        };
        let expanded: u64 = groups().map(|g| (g.len() as u64) * (g.len() as u64).saturating_sub(1) / 2).sum();
        if expanded > MOST_SET_EDGES {
            return Err(Error::Parameter(format!(
                "the cannot-link groups stand for {expanded} pairs, more than the {MOST_SET_EDGES} that fit; \
                 use smaller groups"
            )));
        }
        let of = |row: u32| chunk_of[row as usize];
        let from_pairs =
            self.pairs().iter().filter(|p| p.kind == Kind::CannotLink && counts(p.weight)).map(|p| (of(p.a), of(p.b)));
        let from_groups = groups().flat_map(|g| {
            g.iter().enumerate().flat_map(move |(i, &x)| g[i + 1..].iter().map(move |&y| (of(x), of(y))))
        });
        let graph = Graph::new(starts.len() - 1, from_pairs.chain(from_groups));
        let mut cliques: Vec<Vec<u32>> = Vec::new();
        for g in groups() {
            let mut clique: Vec<u32> = g.iter().map(|&x| of(x)).collect();
            clique.sort_unstable();
            clique.dedup();
            if clique.len() > 1 {
                cliques.push(clique);
            }
        }

        let broken = self.cannot_links_inside(&chunk_of, counts);
        let conflicts = if broken.is_empty() {
            Conflicts::default()
        } else {
            conflict::explain(self, &chunk_of, &broken, counts, PathRule::Fewest)
        };
        Ok((Chunklets { chunk_of, starts, members, graph, cliques }, conflicts))
    }

    /// Numbers the chunklets of the must-links that count: the chunklet of each row, the rows of each chunklet, and one
    /// row per class of each labelling.
    #[allow(clippy::type_complexity)]
    fn unite(&self, counts: impl Fn(f64) -> bool) -> (Vec<u32>, Vec<u32>, Vec<u32>, Vec<Vec<u32>>) {
        let n = self.n();
        let mut forest = Forest::new(n);
        for p in self.pairs().iter().filter(|p| p.kind == Kind::MustLink && counts(p.weight)) {
            forest.unite(p.a, p.b);
        }
        for s in self.sets().iter().filter(|s| s.kind == Kind::MustLink && counts(s.weight)) {
            s.members.windows(2).for_each(|w| forest.unite(w[0], w[1]));
        }
        // One representative per label; a labelling is one named clique of its classes.
        let mut representatives: Vec<Vec<u32>> = Vec::new();
        for l in self.labels().iter().filter(|l| counts(l.weight)) {
            let mut first: rustc_hash::FxHashMap<u32, u32> = rustc_hash::FxHashMap::default();
            let mut order = Vec::new();
            for &(row, label) in &l.rows {
                let head = *first.entry(label).or_insert_with(|| {
                    order.push(row);
                    row
                });
                forest.unite(head, row);
            }
            representatives.push(order);
        }
        let (chunk_of, starts, members) = number(n, |row| forest.find(row as u32));
        (chunk_of, starts, members, representatives)
    }

    /// The contradictions among the constraints of weight ≥ `threshold`, explained by the chains of `rule`.
    pub fn conflicts(&self, threshold: f64, rule: PathRule) -> Conflicts {
        let counts = |weight: f64| weight > 0.0 && weight >= threshold;
        let (chunk_of, ..) = self.unite(counts);
        let broken = self.cannot_links_inside(&chunk_of, counts);
        conflict::explain(self, &chunk_of, &broken, counts, rule)
    }

    /// The cannot-links whose two ends are in one chunklet.
    pub(super) fn cannot_links_inside(
        &self,
        chunk_of: &[u32],
        counts: impl Fn(f64) -> bool,
    ) -> Vec<(ConstraintId, u32, u32)> {
        let of = |row: u32| chunk_of[row as usize];
        let mut found = Vec::new();
        for (i, p) in self.pairs().iter().enumerate() {
            if p.kind == Kind::CannotLink && counts(p.weight) && of(p.a) == of(p.b) {
                found.push((ConstraintId::Pair(i as u32), p.a, p.b));
            }
        }
        // In a group, only members that share a chunklet with an earlier one: found by hashing, not by pairs.
        let mut by_chunk: rustc_hash::FxHashMap<u32, u32> = rustc_hash::FxHashMap::default();
        for (i, s) in self.sets().iter().enumerate() {
            if s.kind == Kind::CannotLink && counts(s.weight) {
                by_chunk.clear();
                for &row in &s.members {
                    if let Some(earlier) = by_chunk.insert(of(row), row) {
                        found.push((ConstraintId::Set(i as u32), earlier, row));
                    }
                }
            }
        }
        for (i, l) in self.labels().iter().enumerate() {
            if counts(l.weight) {
                let mut seen: rustc_hash::FxHashMap<u32, (u32, u32)> = rustc_hash::FxHashMap::default();
                for &(row, label) in &l.rows {
                    match seen.entry(of(row)) {
                        std::collections::hash_map::Entry::Vacant(e) => {
                            e.insert((row, label));
                        }
                        std::collections::hash_map::Entry::Occupied(e) => {
                            if e.get().1 != label {
                                found.push((ConstraintId::Labels(i as u32), e.get().0, row));
                            }
                        }
                    }
                }
            }
        }
        found
    }
}

/// Numbers the groups `group(row)` by their smallest row and lists their members.
fn number(n: usize, mut group: impl FnMut(usize) -> u32) -> (Vec<u32>, Vec<u32>, Vec<u32>) {
    const NONE: u32 = u32::MAX;
    let mut id_of = vec![NONE; n];
    let mut chunk_of = vec![0u32; n];
    let mut count = 0u32;
    for (row, chunk) in chunk_of.iter_mut().enumerate() {
        let id = &mut id_of[group(row) as usize];
        if *id == NONE {
            *id = count;
            count += 1;
        }
        *chunk = *id;
    }
    drop(id_of);
    let mut starts = vec![0u32; count as usize + 1];
    for &c in &chunk_of {
        starts[c as usize + 1] += 1;
    }
    for i in 0..count as usize {
        starts[i + 1] += starts[i];
    }
    let mut fill = starts.clone();
    let mut members = vec![0u32; n];
    for (row, &c) in chunk_of.iter().enumerate() {
        members[fill[c as usize] as usize] = row as u32;
        fill[c as usize] += 1;
    }
    (chunk_of, starts, members)
}

/// Disjoint sets over 0..n: a root stores minus its size, others their parent.
pub(super) struct Forest(Vec<i32>);

impl Forest {
    pub fn new(n: usize) -> Forest {
        Forest(vec![-1; n])
    }
    pub fn find(&mut self, mut x: u32) -> u32 {
        loop {
            let parent = self.0[x as usize];
            if parent < 0 {
                return x;
            }
            let grand = self.0[parent as usize];
            if grand < 0 {
                return parent as u32;
            }
            self.0[x as usize] = grand;
            x = grand as u32;
        }
    }
    pub fn unite(&mut self, a: u32, b: u32) {
        let (mut a, mut b) = (self.find(a), self.find(b));
        if a == b {
            return;
        }
        if self.0[a as usize] > self.0[b as usize] {
            std::mem::swap(&mut a, &mut b);
        }
        self.0[a as usize] += self.0[b as usize];
        self.0[b as usize] = a as i32;
    }
}

#[cfg(test)]
mod tests {
    use super::super::Origin;
    use super::*;
    use Kind::{CannotLink, MustLink};

    fn set(n: usize, pairs: &[(Kind, usize, usize)]) -> ConstraintSet {
        let mut c = ConstraintSet::new(n);
        for &(kind, a, b) in pairs {
            c.add_pair(kind, a, b).unwrap();
        }
        c
    }

    #[test]
    fn closure_matches_the_worked_example() {
        let c = set(8, &[(MustLink, 0, 1), (MustLink, 1, 2), (MustLink, 3, 4), (CannotLink, 2, 3), (CannotLink, 5, 6)]);
        let q = c.close().unwrap();
        assert_eq!(
            (0..q.len() as u32).map(|a| q.members(a).to_vec()).collect::<Vec<_>>(),
            [vec![0, 1, 2], vec![3, 4], vec![5], vec![6], vec![7]]
        );
        assert_eq!(q.graph().edge_count(), 2);
        assert_eq!((q.entailed_must_links(), q.entailed_cannot_links()), (4, 7));
        assert_eq!(q.entails(0, 4), Entailed::Different);
        assert_eq!(q.entails(0, 2), Entailed::Same);
        assert_eq!(q.entails(0, 5), Entailed::Unknown);
    }

    #[test]
    fn sets_and_labels_close_like_their_pairs() {
        let mut groups = ConstraintSet::new(7);
        groups.add_set(MustLink, &[4, 2, 0], f64::INFINITY, Origin::default()).unwrap();
        groups.add_set(CannotLink, &[0, 1, 5], f64::INFINITY, Origin::default()).unwrap();
        let names = vec!["x".into(), "y".into()];
        groups.add_labels(&[(3, 0), (6, 0), (1, 1)], names, vec![], f64::INFINITY, Origin::default()).unwrap();
        let mut pairs = ConstraintSet::new(7);
        for p in groups.expanded() {
            pairs.add_pair(p.kind, p.a as usize, p.b as usize).unwrap();
        }
        let (g, p) = (groups.close().unwrap(), pairs.close().unwrap());
        assert_eq!(g.of_rows(), p.of_rows());
        assert_eq!(g.graph(), p.graph());
        assert_eq!(g.cliques().len(), 2);
    }

    #[test]
    fn weight_zero_says_nothing_and_the_threshold_selects() {
        let mut c = ConstraintSet::new(4);
        c.add_weighted_pair(MustLink, 0, 1, 0.0, Origin::default()).unwrap();
        c.add_weighted_pair(MustLink, 1, 2, 0.5, Origin::default()).unwrap();
        c.add_pair(MustLink, 2, 3).unwrap();
        assert_eq!(c.close().unwrap().len(), 2);
        assert_eq!(c.close_above(f64::INFINITY).unwrap().len(), 3);
    }

    #[test]
    fn merging_chunklets_renumbers_and_lifts_edges() {
        let q = set(5, &[(MustLink, 0, 1), (CannotLink, 1, 2), (CannotLink, 3, 4)]).close().unwrap();
        let merged = q.merged(&[0, 1, 0, 3]);
        assert_eq!(merged.of_rows(), [0, 0, 1, 0, 2]);
        assert_eq!(merged.graph().edges().collect::<Vec<_>>(), [(0, 1), (0, 2)]);
    }
}
