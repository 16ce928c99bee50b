//! What k adds to the closure. k = 2: every component of the cannot-link graph has one two-colouring, so each side is
//! one chunklet. k > 2: the members of a clique get colours of their own; unit propagation and probing (give a chunklet
//! a colour; a contradiction forbids it) shrink the colours of the others. One colour left: the chunklet belongs with
//! that clique member; a colour lost: a cannot-link to it. The result is again chunklets and cannot-links, nothing else,
//! and every labelling that keeps the given constraints keeps the new ones.

use std::borrow::Cow;
use std::cmp::Reverse;

use crate::constraints::{Chunklets, Graph};

const ROUNDS: usize = 6;
/// Starts of the greedy clique; fewer where the graph is large.
const CLIQUE_STARTS: usize = 20;
const FEW_STARTS: usize = 2;
const LARGE_COMPONENT_EDGES: usize = 100_000;
/// Colours are kept in the bits of one word.
const MOST_COLOURS: usize = 64;
/// Probing is quadratic in the component.
const MOST_PROBED: usize = 2000;
const PROBING_SWEEPS: usize = 3;

/// The chunklets that follow for exactly this many (or fewer) clusters.
pub fn propagate(chunklets: &Chunklets, k: usize) -> Cow<'_, Chunklets> {
    let mut current = Cow::Borrowed(chunklets);
    if !(2..=MOST_COLOURS).contains(&k) {
        return current;
    }
    for _ in 0..ROUNDS {
        let mut found = Found { with: (0..current.len() as u32).collect(), apart: Vec::new() };
        if k == 2 {
            two_sides(current.graph(), &mut found);
        } else {
            colours(current.graph(), k, &mut found);
        }
        if !found.anything() {
            break;
        }
        current = Cow::Owned(found.applied_to(&current));
    }
    current
}

/// What a round found out about the chunklets.
struct Found {
    /// A forest: `with[c]` is a chunklet that c belongs with, smaller or c itself.
    with: Vec<u32>,
    apart: Vec<(u32, u32)>,
}

impl Found {
    fn root(&self, mut c: u32) -> u32 {
        while self.with[c as usize] != c {
            c = self.with[c as usize];
        }
        c
    }

    fn unite(&mut self, a: u32, b: u32) {
        let (a, b) = (self.root(a), self.root(b));
        let (low, high) = (a.min(b), a.max(b));
        self.with[high as usize] = low;
    }

    fn anything(&self) -> bool {
        !self.apart.is_empty() || self.with.iter().enumerate().any(|(c, &w)| c as u32 != w)
    }

    fn applied_to(&self, chunklets: &Chunklets) -> Chunklets {
        let first = |c: u32| chunklets.members(c)[0];
        let groups: Vec<u32> = chunklets.of_rows().iter().map(|&c| first(self.root(c))).collect();
        let edges: Vec<(u32, u32)> =
            chunklets.graph().edges().chain(self.apart.iter().copied()).map(|(a, b)| (first(a), first(b))).collect();
        Chunklets::from_groups(&groups, &edges)
    }
}

fn two_sides(graph: &Graph, found: &mut Found) {
    let mut side = vec![u8::MAX; graph.len()];
    for component in graph.components() {
        let start = component[0];
        side[start as usize] = 0;
        let mut heads = [Some(start), None];
        let mut queue = vec![start];
        while let Some(v) = queue.pop() {
            for &u in graph.neighbours(v) {
                if side[u as usize] == u8::MAX {
                    side[u as usize] = 1 - side[v as usize];
                    match &mut heads[side[u as usize] as usize] {
                        Some(head) => found.unite(*head, u),
                        none => *none = Some(u),
                    }
                    queue.push(u);
                }
            }
        }
    }
}

fn colours(graph: &Graph, k: usize, found: &mut Found) {
    let all = if k == MOST_COLOURS { u64::MAX } else { (1 << k) - 1 };
    let mut domains = Domains { allowed: vec![all; graph.len()], queue: Vec::new(), trail: Vec::new() };
    for component in graph.components() {
        if component.len() < k {
            continue;
        }
        let clique = greedy_clique(graph, &component, k);
        if clique.len() < 2 {
            continue;
        }
        for (c, &v) in clique.iter().enumerate() {
            domains.allowed[v as usize] = 1 << c;
            domains.queue.push(v);
        }
        // A contradiction here would be infeasibility, which was excluded before; nothing to learn then.
        if !domains.settle(graph) {
            continue;
        }
        if component.len() <= MOST_PROBED {
            domains.probe(graph, &component, k);
        }
        let mut in_the_last: Option<u32> = None;
        for &v in &component {
            let allowed = domains.allowed[v as usize];
            if allowed.count_ones() == 1 {
                let colour = allowed.trailing_zeros() as usize;
                if let Some(&member) = clique.get(colour) {
                    found.unite(v, member);
                } else if clique.len() + 1 == k {
                    // The one colour that no clique member has: all who must take it belong together.
                    match in_the_last {
                        Some(first) => found.unite(first, v),
                        None => in_the_last = Some(v),
                    }
                }
            } else {
                for (c, &member) in clique.iter().enumerate() {
                    if allowed >> c & 1 == 0 && !graph.has_edge(v, member) {
                        found.apart.push((v, member));
                    }
                }
            }
        }
    }
}

/// A clique of at most k: from each of the highest degrees, always the candidate with most neighbours among the
/// candidates, then of highest degree, then the lowest. The largest wins.
fn greedy_clique(graph: &Graph, component: &[u32], k: usize) -> Vec<u32> {
    let mut order = component.to_vec();
    order.sort_by_key(|&v| (Reverse(graph.degree(v)), v));
    let edges: usize = component.iter().map(|&v| graph.degree(v)).sum::<usize>() / 2;
    let starts = if edges > LARGE_COMPONENT_EDGES { FEW_STARTS } else { CLIQUE_STARTS };
    let mut best: Vec<u32> = Vec::new();
    let mut inside = vec![false; graph.len()];
    for &start in order.iter().take(starts) {
        let mut clique = vec![start];
        let mut candidates = graph.neighbours(start).to_vec();
        while clique.len() < k {
            candidates.iter().for_each(|&v| inside[v as usize] = true);
            let company = |v: u32| graph.neighbours(v).iter().filter(|&&u| inside[u as usize]).count();
            let next = candidates.iter().copied().max_by_key(|&v| (company(v), graph.degree(v), Reverse(v)));
            candidates.iter().for_each(|&v| inside[v as usize] = false);
            let Some(next) = next else { break };
            clique.push(next);
            candidates.retain(|&u| graph.has_edge(next, u));
        }
        if clique.len() > best.len() {
            best = clique;
        }
        if best.len() == k {
            break;
        }
    }
    best
}

/// Allowed colours as bit masks, with what is still to be told to the neighbours and what a probe has to undo.
struct Domains {
    allowed: Vec<u64>,
    queue: Vec<u32>,
    trail: Vec<(u32, u64)>,
}

impl Domains {
    /// Unit propagation of everything in the queue; false on a contradiction.
    fn settle(&mut self, graph: &Graph) -> bool {
        while let Some(v) = self.queue.pop() {
            let taken = self.allowed[v as usize];
            for &u in graph.neighbours(v) {
                let before = self.allowed[u as usize];
                if before & taken != 0 {
                    self.trail.push((u, before));
                    self.allowed[u as usize] = before & !taken;
                    match self.allowed[u as usize].count_ones() {
                        0 => {
                            self.queue.clear();
                            return false;
                        }
                        1 => self.queue.push(u),
                        _ => {}
                    }
                }
            }
        }
        true
    }

    fn probe(&mut self, graph: &Graph, component: &[u32], k: usize) {
        for _ in 0..PROBING_SWEEPS {
            let mut learnt = false;
            for &v in component {
                if graph.degree(v) < 2 {
                    continue;
                }
                for colour in 0..k {
                    let (bit, before) = (1u64 << colour, self.allowed[v as usize]);
                    if before & bit == 0 || before == bit {
                        continue;
                    }
                    self.trail.clear();
                    self.trail.push((v, before));
                    self.allowed[v as usize] = bit;
                    self.queue.push(v);
                    let possible = self.settle(graph);
                    while let Some((u, old)) = self.trail.pop() {
                        self.allowed[u as usize] = old;
                    }
                    if !possible {
                        learnt = true;
                        self.allowed[v as usize] = before & !bit;
                        if self.allowed[v as usize].count_ones() == 1 {
                            self.queue.push(v);
                            self.settle(graph);
                            self.trail.clear();
                        }
                    }
                }
            }
            if !learnt {
                break;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Rng;

    fn closed(n: usize, apart: &[(u32, u32)]) -> Chunklets {
        Chunklets::from_groups(&(0..n as u32).collect::<Vec<_>>(), apart)
    }

    #[test]
    fn the_sides_of_a_path_are_two_chunklets_for_two_clusters() {
        let given = closed(5, &[(0, 1), (1, 2), (2, 3)]);
        let p = propagate(&given, 2);
        assert_eq!(p.of_rows(), [0, 1, 0, 1, 2]);
        assert_eq!(p.graph().edge_count(), 1);
    }

    #[test]
    fn two_rows_apart_from_the_same_clique_of_all_but_one_belong_together() {
        // k = 3: 0-1 apart; 2 and 3 apart from both.
        let given = closed(4, &[(0, 1), (0, 2), (1, 2), (0, 3), (1, 3)]);
        let p = propagate(&given, 3);
        assert_eq!(p.of(2), p.of(3));
        assert_eq!(p.len(), 3);
    }

    /// All labellings of tiny random graphs: what is merged is together in all of them, what is new is apart in all.
    #[test]
    fn nothing_is_concluded_that_some_labelling_contradicts() {
        let mut rng = Rng::stream(1, "test", 0);
        let mut conclusions = 0;
        for case in 0..300 {
            let (n, k) = (4 + case % 4, 2 + case % 3);
            let mut edges = Vec::new();
            for a in 0..n as u32 {
                for b in a + 1..n as u32 {
                    if rng.unit() < 0.55 {
                        edges.push((a, b));
                    }
                }
            }
            let given = closed(n, &edges);
            let total = k.pow(n as u32);
            let label = |code: usize, row: usize| code / k.pow(row as u32) % k;
            let proper: Vec<usize> = (0..total)
                .filter(|&c| edges.iter().all(|&(a, b)| label(c, a as usize) != label(c, b as usize)))
                .collect();
            if proper.is_empty() {
                continue;
            }
            let p = propagate(&given, k);
            for a in 0..n {
                for b in a + 1..n {
                    let together = p.of(a) == p.of(b);
                    let apart = p.graph().has_edge(p.of(a), p.of(b));
                    assert!(!together || proper.iter().all(|&c| label(c, a) == label(c, b)), "{edges:?} {k}");
                    assert!(!apart || proper.iter().all(|&c| label(c, a) != label(c, b)), "{edges:?} {k}");
                    conclusions += usize::from(together);
                }
            }
        }
        assert!(conclusions > 50, "{conclusions}");
    }
}
