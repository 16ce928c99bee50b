//! Why k clusters are not enough, in chunklets, in rows and in the constraints that were given.

use super::{Chunklets, ConstraintId, ConstraintSet, Kind};

/// Rows or relations spelt out in a sentence before it says how many more there are.
const MOST_NAMED: usize = 12;

/// A reason that can be checked. Numbers are chunklets.
#[derive(Debug, Clone, PartialEq)]
pub enum Witness {
    /// k is 0, or larger than the number of chunklets when no cluster may be empty.
    Count {
        /// Number of chunklets.
        chunklets: usize,
    },
    /// A cannot-link, and k = 1.
    Edge(u32, u32),
    /// An odd ring of cannot-links, in order, and k = 2.
    OddCycle(Vec<u32>),
    /// k + 1 chunklets that are pairwise cannot-linked, ascending.
    Clique(Vec<u32>),
    /// Cannot-links that k clusters cannot keep together.
    Core {
        /// The pairs of chunklets.
        edges: Vec<(u32, u32)>,
        /// Would any one of them less be feasible? Not when time ran out.
        minimal: bool,
    },
}

impl Witness {
    /// The cannot-links between chunklets that the reason rests on, each (smaller, larger).
    pub fn edges(&self) -> Vec<(u32, u32)> {
        let ordered = |(a, b): (u32, u32)| (a.min(b), a.max(b));
        match self {
            Witness::Count { .. } => Vec::new(),
            Witness::Edge(a, b) => vec![ordered((*a, *b))],
            Witness::OddCycle(ring) => {
                (0..ring.len()).map(|i| ordered((ring[i], ring[(i + 1) % ring.len()]))).collect()
            }
            Witness::Clique(members) => {
                let after = |i: usize| members[i + 1..].iter().map(move |&b| (members[i], b));
                (0..members.len()).flat_map(after).collect()
            }
            Witness::Core { edges, .. } => edges.iter().copied().map(ordered).collect(),
        }
    }
}

/// Why no clustering into k clusters keeps every cannot-link.
#[derive(Debug, Clone, PartialEq)]
pub struct Infeasible {
    /// The k asked for.
    pub k: usize,
    /// The reason.
    pub witness: Witness,
    /// The chunklets of the reason, ascending, with their rows.
    groups: Vec<(u32, Vec<u32>)>,
}

impl Infeasible {
    pub(super) fn new(chunklets: &Chunklets, k: usize, witness: Witness) -> Infeasible {
        let mut names: Vec<u32> = witness.edges().into_iter().flat_map(|(a, b)| [a, b]).collect();
        names.sort_unstable();
        names.dedup();
        let groups = names.into_iter().map(|c| (c, chunklets.members(c).to_vec())).collect();
        Infeasible { k, witness, groups }
    }

    /// The chunklets that the reason speaks of, ascending, each with its rows.
    pub fn chunklets(&self) -> &[(u32, Vec<u32>)] {
        &self.groups
    }
    /// The rows of a chunklet of the reason.
    pub fn rows(&self, chunklet: u32) -> &[u32] {
        self.groups.binary_search_by_key(&chunklet, |g| g.0).map_or(&[], |at| &self.groups[at].1)
    }

    /// The reason as given constraints: one cannot-link (the heaviest, then the first) for each edge of the witness, in
    /// its order. Scans the whole set, so ask for it once.
    pub fn cannot_links(&self, set: &ConstraintSet) -> Vec<(ConstraintId, u32, u32)> {
        let edges = self.witness.edges();
        let mut at: rustc_hash::FxHashMap<(u32, u32), usize> = rustc_hash::FxHashMap::default();
        edges.iter().enumerate().for_each(|(i, &e)| {
            at.insert(e, i);
        });
        let mut chunk_of: rustc_hash::FxHashMap<u32, u32> = rustc_hash::FxHashMap::default();
        for (chunklet, rows) in &self.groups {
            rows.iter().for_each(|&row| {
                chunk_of.insert(row, *chunklet);
            });
        }
        let mut found: Vec<Option<(f64, ConstraintId, u32, u32)>> = vec![None; edges.len()];
        let mut offer = |id: ConstraintId, weight: f64, a: u32, b: u32| {
            let (Some(&x), Some(&y)) = (chunk_of.get(&a), chunk_of.get(&b)) else { return };
            let Some(&i) = at.get(&(x.min(y), x.max(y))) else { return };
            if weight > 0.0 && found[i].is_none_or(|old| weight > old.0) {
                found[i] = Some((weight, id, a, b));
            }
        };
        for (i, p) in set.pairs().iter().enumerate().filter(|(_, p)| p.kind == Kind::CannotLink) {
            offer(ConstraintId::Pair(i as u32), p.weight, p.a, p.b);
        }
        let concerned = |row: u32| chunk_of.contains_key(&row);
        for (i, s) in set.sets().iter().enumerate().filter(|(_, s)| s.kind == Kind::CannotLink) {
            let members: Vec<u32> = s.members.iter().copied().filter(|&row| concerned(row)).collect();
            for (j, &a) in members.iter().enumerate() {
                members[j + 1..].iter().for_each(|&b| offer(ConstraintId::Set(i as u32), s.weight, a, b));
            }
        }
        for (i, l) in set.labels().iter().enumerate() {
            // One row per chunklet is enough: a chunklet holds at most one label of a labelling.
            let mut members: Vec<(u32, u32)> = Vec::new();
            let mut seen = rustc_hash::FxHashSet::default();
            for &(row, label) in &l.rows {
                if chunk_of.get(&row).is_some_and(|&c| seen.insert((c, label))) {
                    members.push((row, label));
                }
            }
            for (j, &(a, la)) in members.iter().enumerate() {
                for &(b, _) in members[j + 1..].iter().filter(|m| m.1 != la) {
                    offer(ConstraintId::Labels(i as u32), l.weight, a, b);
                }
            }
        }
        found.into_iter().flatten().map(|(_, id, a, b)| (id, a, b)).collect()
    }

    /// A sentence with the user's row names and the cannot-links, by file and line, that make it true.
    pub fn describe(&self, set: &ConstraintSet, name: impl Fn(u32) -> String) -> String {
        let mut text = self.sentence(&name);
        let links = self.cannot_links(set);
        if !links.is_empty() {
            let spelt = links.iter().map(|&(id, a, b)| set.relation(id, Kind::CannotLink, a, b, &name));
            text.push_str(", because ");
            text.push_str(&listed(spelt, links.len(), 4 * MOST_NAMED));
        }
        text
    }

    fn sentence(&self, name: impl Fn(u32) -> String) -> String {
        let k = self.k;
        let group = |c: u32| match self.rows(c) {
            [] => format!("chunklet {c}"),
            [row] => name(*row),
            [row, rest @ ..] => format!("{} (+{})", name(*row), rest.len()),
        };
        match &self.witness {
            Witness::Count { .. } if k == 0 => "k = 0 is not possible: every row needs a cluster".into(),
            Witness::Count { chunklets } => format!(
                "k = {k} is not possible: the must-links leave only {chunklets} groups of rows that may be apart"
            ),
            Witness::Edge(a, b) => {
                format!("k = {k} is too small: {} and {} are different, so 2 clusters are needed", group(*a), group(*b))
            }
            Witness::OddCycle(ring) => {
                let spelt = ring.iter().chain(ring.first()).map(|&c| group(c));
                let ring_text: Vec<String> = spelt.take(4 * MOST_NAMED).collect();
                let dots = if ring.len() >= 4 * MOST_NAMED { " ≠ …" } else { "" };
                format!(
                    "k = {k} is too small: {}{dots} is an odd ring of {} differences, so 3 clusters are needed",
                    ring_text.join(" ≠ "),
                    ring.len()
                )
            }
            Witness::Clique(members) => format!(
                "k = {k} is too small: {} are all different from each other, so {} clusters are needed",
                listed(members.iter().map(|&c| group(c)), members.len(), MOST_NAMED),
                members.len()
            ),
            Witness::Core { edges, minimal } => format!(
                "k = {k} is too small: no clustering into {k} clusters keeps these {} cannot-links between {} groups \
                 of rows{}, so {} clusters are needed",
                edges.len(),
                self.groups.len(),
                if *minimal { " (leave out any one and it can be done)" } else { "" },
                k + 1
            ),
        }
    }

    /// Checks the certificate against the constraints: every edge is given, and the structure is what it claims to be.
    #[cfg(test)]
    pub fn check(&self, set: &ConstraintSet) {
        let q = set.close().unwrap();
        let edges = self.witness.edges();
        assert!(edges.iter().all(|&(a, b)| q.graph().has_edge(a, b)), "{self:?}");
        let given = self.cannot_links(set);
        assert_eq!(given.len(), edges.len());
        for ((id, a, b), e) in given.into_iter().zip(&edges) {
            assert!(super::brute::says(set, id, Kind::CannotLink, a, b));
            let (x, y) = (q.of(a as usize), q.of(b as usize));
            assert_eq!((x.min(y), x.max(y)), *e);
        }
        let brute_force = |edges: &[(u32, u32)]| {
            let mut names: Vec<u32> = edges.iter().flat_map(|e| [e.0, e.1]).collect();
            names.sort_unstable();
            names.dedup();
            let local: Vec<(usize, usize)> = edges
                .iter()
                .map(|e| (names.binary_search(&e.0).unwrap(), names.binary_search(&e.1).unwrap()))
                .collect();
            fn extend(colours: &mut Vec<u32>, n: usize, k: u32, edges: &[(usize, usize)]) -> bool {
                let v = colours.len();
                if v == n {
                    return true;
                }
                let used = colours.iter().max().map_or(0, |&m| m + 1);
                (0..k.min(used + 1)).any(|c| {
                    let clash =
                        edges.iter().any(|&(a, b)| (a.max(b) == v && colours[a.min(b)] == c) || (a == b && a == v));
                    if clash {
                        return false;
                    }
                    colours.push(c);
                    let found = extend(colours, n, k, edges);
                    colours.pop();
                    found
                })
            }
            extend(&mut Vec::new(), names.len(), self.k as u32, &local)
        };
        match &self.witness {
            Witness::Count { chunklets } => assert!(self.k == 0 || self.k > *chunklets),
            Witness::Edge(..) => assert_eq!(self.k, 1),
            Witness::OddCycle(ring) => {
                assert!(self.k == 2 && ring.len() % 2 == 1);
                let mut distinct = ring.clone();
                distinct.sort_unstable();
                distinct.dedup();
                assert_eq!(distinct.len(), ring.len());
            }
            Witness::Clique(members) => {
                assert_eq!(members.len(), self.k + 1);
                assert!(members.windows(2).all(|w| w[0] < w[1]));
            }
            Witness::Core { edges, minimal } => {
                assert!(!brute_force(edges), "the core can be coloured");
                assert!(minimal);
                for i in 0..edges.len() {
                    let mut fewer = edges.clone();
                    fewer.remove(i);
                    assert!(brute_force(&fewer), "edge {i} of the core is not needed");
                }
            }
        }
    }
}

/// "a, b and c", or "a, b, … and 5 more".
fn listed(items: impl Iterator<Item = String>, count: usize, most: usize) -> String {
    let named: Vec<String> = items.take(most).collect();
    match named.as_slice() {
        [] => String::new(),
        [one] => one.clone(),
        _ if count > named.len() => format!("{} and {} more", named.join(", "), count - named.len()),
        [front @ .., last] => format!("{} and {last}", front.join(", ")),
    }
}

impl std::fmt::Display for Infeasible {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.sentence(|row| format!("row {row}")))
    }
}
