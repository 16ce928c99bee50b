//! The local view of one component: arcs with weights (`+inf` = must differ, finite = price of agreeing), row-major
//! costs with `+inf` for forbidden clusters. Every solver of the assignment engine works on this pair, so that hard,
//! soft and mixed constraints share all code: `E(c) = Σ cost[v][c_v] + Σ weight[uv]·[c_u = c_v]`.

/// Neighbour lists of a component; vertices are 0..len.
#[derive(Debug, Clone, Default)]
pub(super) struct Net {
    starts: Vec<u32>,
    to: Vec<u32>,
    /// Parallel to `to`; empty when every edge is hard.
    weight: Vec<f64>,
}

impl Net {
    /// Edges must be distinct and free of loops.
    pub(super) fn new(n: usize, edges: &[(u32, u32, f64)]) -> Net {
        let mut starts = vec![0u32; n + 1];
        for &(a, b, _) in edges {
            starts[a as usize + 1] += 1;
            starts[b as usize + 1] += 1;
        }
        for v in 0..n {
            starts[v + 1] += starts[v];
        }
        let mut fill = starts[..n].to_vec();
        let mut to = vec![0u32; edges.len() * 2];
        let soft = edges.iter().any(|e| e.2 != f64::INFINITY);
        let mut weight = if soft { vec![0.0; edges.len() * 2] } else { Vec::new() };
        for &(a, b, w) in edges {
            for (from, towards) in [(a, b), (b, a)] {
                let slot = fill[from as usize] as usize;
                fill[from as usize] += 1;
                to[slot] = towards;
                if soft {
                    weight[slot] = w;
                }
            }
        }
        Net { starts, to, weight }
    }
    pub(super) fn len(&self) -> usize {
        self.starts.len().saturating_sub(1)
    }
    pub(super) fn edge_count(&self) -> usize {
        self.to.len() / 2
    }
    pub(super) fn all_hard(&self) -> bool {
        self.weight.is_empty()
    }
    /// The neighbours of `v` with the price of sharing a cluster with them.
    pub(super) fn arcs(&self, v: usize) -> impl Iterator<Item = (usize, f64)> + '_ {
        let range = self.starts[v] as usize..self.starts[v + 1] as usize;
        range.map(|i| (self.to[i] as usize, self.weight.get(i).copied().unwrap_or(f64::INFINITY)))
    }
    /// The neighbours of `v` that must differ from it.
    pub(super) fn hard(&self, v: usize) -> impl Iterator<Item = usize> + '_ {
        self.arcs(v).filter(|&(_, w)| w == f64::INFINITY).map(|(u, _)| u)
    }
    /// The same net with every hard edge priced at `weight`.
    pub(super) fn softened(&self, weight: f64) -> Net {
        let soften = |i: usize| self.weight.get(i).copied().filter(|&w| w < f64::INFINITY).unwrap_or(weight);
        Net { starts: self.starts.clone(), to: self.to.clone(), weight: (0..self.to.len()).map(soften).collect() }
    }
    /// Of a softened net: raises the price of the broken edges that are hard in `original`; how many there are.
    pub(super) fn raise_broken(&mut self, original: &Net, labels: &[u32], by: f64) -> usize {
        let mut broken = 0;
        for v in 0..self.len() {
            for i in self.starts[v] as usize..self.starts[v + 1] as usize {
                let hard = original.weight.get(i).is_none_or(|&w| w == f64::INFINITY);
                if hard && labels[self.to[i] as usize] == labels[v] {
                    self.weight[i] += by;
                    broken += 1;
                }
            }
        }
        broken / 2
    }
    /// E(labels): infinite when a forbidden cluster or a broken hard edge is in it.
    pub(super) fn energy(&self, k: usize, costs: &[f64], labels: &[u32]) -> f64 {
        let mut total = 0.0;
        for v in 0..self.len() {
            total += costs[v * k + labels[v] as usize];
            for (u, w) in self.arcs(v) {
                if u > v && labels[u] == labels[v] {
                    total += w;
                }
            }
        }
        total
    }
}

/// Index of the cheapest and value of cheapest and second cheapest entry; ties to the lower index.
pub(crate) fn two_smallest(row: &[f64]) -> (usize, f64, f64) {
    let (mut at, mut first, mut second) = (0, f64::INFINITY, f64::INFINITY);
    for (c, &x) in row.iter().enumerate() {
        if x < first {
            second = first;
            first = x;
            at = c;
        } else if x < second {
            second = x;
        }
    }
    (at, first, second)
}
