//! What stands behind each cannot-link between chunklets: how many given ones, their weights, and the pairs among them.
//! O(S log E); for methods that weigh cannot-links, so it is made on demand and not kept with the graph.

use super::{Chunklets, ConstraintSet, Kind};

/// The cannot-links given between two chunklets.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LiftedEdge {
    /// Smaller chunklet.
    pub a: u32,
    /// Larger chunklet.
    pub b: u32,
    /// Relations given, in pairs of rows.
    pub count: u64,
    /// Sum of their weights.
    pub sum: f64,
    /// Largest of their weights.
    pub max: f64,
}

/// All lifted cannot-links, in the order of the graph's edges, with the given pairs behind each.
#[derive(Debug, Clone, PartialEq)]
pub struct LiftedEdges {
    /// One record per edge.
    pub edges: Vec<LiftedEdge>,
    starts: Vec<u32>,
    pairs: Vec<u32>,
}

impl LiftedEdges {
    /// The given pairs (their numbers, ascending) behind edge `i`; sets and labellings are not listed.
    pub fn pairs(&self, i: usize) -> &[u32] {
        &self.pairs[self.starts[i] as usize..self.starts[i + 1] as usize]
    }
}

impl ConstraintSet {
    /// The records of the edges of `chunklets`, closed from the constraints of weight ≥ `threshold`.
    pub fn lifted_edges(&self, chunklets: &Chunklets, threshold: f64) -> LiftedEdges {
        let counts = |w: f64| w > 0.0 && w >= threshold;
        let record = |(a, b)| LiftedEdge { a, b, count: 0, sum: 0.0, max: 0.0 };
        let mut edges: Vec<LiftedEdge> = chunklets.graph().edges().map(record).collect();
        let of = |row: u32| chunklets.of(row as usize);
        let find = |edges: &[LiftedEdge], x: u32, y: u32| {
            edges.binary_search_by_key(&(x.min(y), x.max(y)), |e| (e.a, e.b)).ok()
        };
        let add = |edges: &mut [LiftedEdge], x: u32, y: u32, weight: f64, times: u64| {
            let at = find(edges, x, y);
            if let Some(e) = at.map(|i| &mut edges[i]) {
                e.count += times;
                e.sum += weight * times as f64;
                e.max = e.max.max(weight);
            }
            at
        };
        let mut behind: Vec<(u32, u32)> = Vec::new();
        for (i, p) in self.pairs().iter().enumerate() {
            if p.kind == Kind::CannotLink && counts(p.weight) {
                let at = add(&mut edges, of(p.a), of(p.b), p.weight, 1);
                behind.extend(at.map(|e| (e as u32, i as u32)));
            }
        }
        // Rows of a set or class in one chunklet count together: (chunklet, class) → rows.
        let mut groups = |entries: &mut Vec<(u32, u32)>, weight: f64| {
            entries.sort_unstable();
            let runs: Vec<((u32, u32), u64)> =
                entries.chunk_by(|x, y| x == y).map(|run| (run[0], run.len() as u64)).collect();
            for (i, &((x, lx), mx)) in runs.iter().enumerate() {
                for &((y, ly), my) in runs[i + 1..].iter().filter(|r| r.0.0 != x) {
                    if lx != ly {
                        add(&mut edges, x, y, weight, mx * my);
                    }
                }
            }
        };
        for s in self.sets().iter().filter(|s| s.kind == Kind::CannotLink && counts(s.weight)) {
            let mut entries = s.members.iter().zip(0..).map(|(&row, j)| (of(row), j)).collect();
            groups(&mut entries, s.weight);
        }
        for l in self.labels().iter().filter(|l| counts(l.weight)) {
            let mut entries = l.rows.iter().map(|&(row, label)| (of(row), label)).collect();
            groups(&mut entries, l.weight);
        }
        behind.sort_unstable();
        let mut starts = vec![0u32; edges.len() + 1];
        behind.iter().for_each(|x| starts[x.0 as usize + 1] += 1);
        for i in 0..edges.len() {
            starts[i + 1] += starts[i];
        }
        LiftedEdges { edges, starts, pairs: behind.into_iter().map(|x| x.1).collect() }
    }
}

#[cfg(test)]
mod tests {
    use super::super::brute;
    use super::*;
    use crate::rng::Rng;

    #[test]
    fn records_equal_the_expanded_pairs() {
        let mut rng = Rng::stream(51, "lifted", 0);
        for _ in 0..400 {
            let c = brute::random_set(&mut rng, 8, 10);
            let Ok(q) = c.close() else { continue };
            let lifted = c.lifted_edges(&q, 0.0);
            assert_eq!(lifted.edges.len(), q.graph().edge_count());
            for (i, e) in lifted.edges.iter().enumerate() {
                let between = |a: u32, b: u32| {
                    let (x, y) = (q.of(a as usize), q.of(b as usize));
                    (x.min(y), x.max(y)) == (e.a, e.b)
                };
                let given: Vec<f64> = c
                    .expanded()
                    .filter(|p| p.kind == Kind::CannotLink && between(p.a, p.b))
                    .map(|p| p.weight)
                    .collect();
                assert_eq!(e.count, given.len() as u64);
                assert!(e.sum == given.iter().sum::<f64>() || (e.sum - given.iter().sum::<f64>()).abs() < 1e-9);
                assert_eq!(e.max, given.iter().copied().fold(0.0, f64::max));
                for &p in lifted.pairs(i) {
                    let p = &c.pairs()[p as usize];
                    assert!(p.kind == Kind::CannotLink && between(p.a, p.b));
                }
            }
        }
    }
}
