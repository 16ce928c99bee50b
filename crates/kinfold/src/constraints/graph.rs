//! An undirected graph in compressed form: the cannot-links between chunklets.

/// Neighbour lists, each ascending and without repeats.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Graph {
    starts: Vec<u32>,
    neighbours: Vec<u32>,
}

impl Graph {
    /// A graph of `n` vertices with these edges. Loops are dropped, repeats kept once.
    pub fn new(n: usize, edges: impl Iterator<Item = (u32, u32)> + Clone) -> Graph {
        let mut starts = vec![0u32; n + 1];
        for (a, b) in edges.clone().filter(|(a, b)| a != b) {
            starts[a as usize + 1] += 1;
            starts[b as usize + 1] += 1;
        }
        for i in 0..n {
            starts[i + 1] += starts[i];
        }
        let mut fill: Vec<u32> = starts[..n].to_vec();
        let mut raw = vec![0u32; starts[n] as usize];
        for (a, b) in edges.filter(|(a, b)| a != b) {
            raw[fill[a as usize] as usize] = b;
            fill[a as usize] += 1;
            raw[fill[b as usize] as usize] = a;
            fill[b as usize] += 1;
        }
        drop(fill);
        // Sort and deduplicate in place, closing the gaps.
        let (mut write, mut begin) = (0usize, 0usize);
        for v in 0..n {
            let end = starts[v + 1] as usize;
            raw[begin..end].sort_unstable();
            let first = write;
            for read in begin..end {
                if write == first || raw[write - 1] != raw[read] {
                    raw[write] = raw[read];
                    write += 1;
                }
            }
            begin = end;
            starts[v + 1] = write as u32;
        }
        raw.truncate(write);
        raw.shrink_to_fit();
        Graph { starts, neighbours: raw }
    }

    /// Number of vertices.
    pub fn len(&self) -> usize {
        self.starts.len().saturating_sub(1)
    }
    /// No vertices?
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
    /// Number of edges.
    pub fn edge_count(&self) -> usize {
        self.neighbours.len() / 2
    }
    /// The neighbours of `v`, ascending.
    pub fn neighbours(&self, v: u32) -> &[u32] {
        &self.neighbours[self.starts[v as usize] as usize..self.starts[v as usize + 1] as usize]
    }
    /// Number of neighbours of `v`.
    pub fn degree(&self, v: u32) -> usize {
        self.neighbours(v).len()
    }
    /// Says that the neighbours of `v` will be asked for soon.
    #[inline(always)]
    pub(crate) fn prefetch(&self, v: u32) {
        crate::kernels::prefetch(&self.starts[v as usize..v as usize + 2]);
    }
    /// Is there an edge between `a` and `b`?
    pub fn has_edge(&self, a: u32, b: u32) -> bool {
        let (from, to) = if self.degree(a) <= self.degree(b) { (a, b) } else { (b, a) };
        self.neighbours(from).binary_search(&to).is_ok()
    }
    /// Every edge once, as (smaller, larger), ascending.
    pub fn edges(&self) -> impl Iterator<Item = (u32, u32)> + Clone + '_ {
        (0..self.len() as u32)
            .flat_map(move |a| self.neighbours(a).iter().filter(move |&&b| a < b).map(move |&b| (a, b)))
    }
    /// The subgraph on `vertices`, renumbered in their order.
    pub fn induced(&self, vertices: &[u32]) -> Graph {
        let mut new_id = rustc_hash::FxHashMap::default();
        for (i, &v) in vertices.iter().enumerate() {
            new_id.insert(v, i as u32);
        }
        let edges: Vec<(u32, u32)> = vertices
            .iter()
            .enumerate()
            .flat_map(|(i, &v)| {
                let new_id = &new_id;
                self.neighbours(v).iter().filter_map(move |u| {
                    let j = *new_id.get(u)?;
                    (j > i as u32).then_some((i as u32, j))
                })
            })
            .collect();
        Graph::new(vertices.len(), edges.iter().copied())
    }
    /// The connected components with at least one edge, each ascending, ordered by smallest vertex.
    pub fn components(&self) -> Vec<Vec<u32>> {
        let mut seen = vec![false; self.len()];
        let mut found = Vec::new();
        for start in 0..self.len() as u32 {
            if seen[start as usize] || self.degree(start) == 0 {
                continue;
            }
            seen[start as usize] = true;
            let mut component = vec![start];
            let mut next = 0;
            while next < component.len() {
                for &u in self.neighbours(component[next]) {
                    if !std::mem::replace(&mut seen[u as usize], true) {
                        component.push(u);
                    }
                }
                next += 1;
            }
            component.sort_unstable();
            found.push(component);
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn repeats_and_loops_vanish_and_neighbours_ascend() {
        let g = Graph::new(4, [(2, 0), (0, 2), (1, 1), (0, 1)].into_iter());
        assert_eq!(g.neighbours(0), [1, 2]);
        assert_eq!(g.edge_count(), 2);
        assert_eq!(g.edges().collect::<Vec<_>>(), [(0, 1), (0, 2)]);
        assert!(g.has_edge(2, 0) && !g.has_edge(1, 2));
        assert_eq!(g.components(), [vec![0, 1, 2]]);
        assert_eq!(g.induced(&[2, 0]).edges().collect::<Vec<_>>(), [(0, 1)]);
    }
}
