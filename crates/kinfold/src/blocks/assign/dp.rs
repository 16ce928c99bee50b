//! Exact dynamic programming: forests in O(V·k), and bucket elimination for components of small width.
//! Forest: a child's message to its parent is its minimum, raised at one single cluster (its own favourite).
//! Elimination: vertices leave by smallest table; cost Σ_v Π sizes of the clusters left to v and its later neighbours, of
//! which states that break a hard edge inside the scope are skipped (a clique of k leaves k! of k^k).

use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap};

use super::net::Net;

/// A forest over some vertices: parents come before children.
#[derive(Debug, Clone, Default)]
pub(super) struct Forest {
    pub(super) order: Vec<u32>,
    /// Parent of each vertex of `order` (`u32::MAX` = root) and the weight of the edge to it.
    pub(super) parent: Vec<(u32, f64)>,
}

impl Forest {
    /// Breadth-first forest over the vertices for which `inside` holds; the induced graph must be acyclic.
    pub(super) fn new(net: &Net, inside: impl Fn(usize) -> bool) -> Forest {
        let mut forest = Forest::default();
        let mut seen = vec![false; net.len()];
        for root in 0..net.len() {
            if seen[root] || !inside(root) {
                continue;
            }
            seen[root] = true;
            let mut next = forest.order.len();
            forest.order.push(root as u32);
            forest.parent.push((u32::MAX, 0.0));
            while next < forest.order.len() {
                let v = forest.order[next] as usize;
                for (u, w) in net.arcs(v) {
                    if !seen[u] && inside(u) {
                        seen[u] = true;
                        forest.order.push(u as u32);
                        forest.parent.push((v as u32, w));
                    }
                }
                next += 1;
            }
        }
        forest
    }

    /// Minimises Σ unary + edge prices over the forest; `unary` (indexed by vertex) is used up. `None` = infeasible.
    pub(super) fn solve(&self, k: usize, unary: &mut [f64], out: &mut [u32]) -> Option<f64> {
        let mut total = 0.0;
        // (favourite, what to take when the parent has the favourite)
        let mut plan = vec![(0u32, 0u32); self.order.len()];
        for i in (0..self.order.len()).rev() {
            let v = self.order[i] as usize;
            let row = &unary[v * k..(v + 1) * k];
            let (at, first, _) = super::net::two_smallest(row);
            if first == f64::INFINITY {
                return None;
            }
            let (parent, w) = self.parent[i];
            plan[i] = (at as u32, at as u32);
            if parent == u32::MAX {
                total += first;
                continue;
            }
            let mut raised = first + w;
            for (c, &x) in row.iter().enumerate() {
                if c != at && x < raised {
                    raised = x;
                    plan[i].1 = c as u32;
                }
            }
            let p = parent as usize * k;
            unary[p..p + k].iter_mut().for_each(|x| *x += first);
            // raised − first may be inf; add the difference so that the favourite pays `raised` in full.
            unary[p + at] += raised - first;
        }
        for (i, &v) in self.order.iter().enumerate() {
            let (parent, _) = self.parent[i];
            let (favourite, instead) = plan[i];
            let taken = parent != u32::MAX && out[parent as usize] == favourite;
            out[v as usize] = if taken { instead } else { favourite };
        }
        Some(total)
    }
}

/// An elimination order with, for each vertex, its neighbours at the time it leaves.
#[derive(Debug, Clone)]
pub(super) struct Plan {
    steps: Vec<(u32, Vec<u32>)>,
}

impl Plan {
    /// Greedy smallest-table order; `None` when the tables would hold more than `limit` entries in all.
    pub(super) fn new(net: &Net, sizes: &[usize], limit: f64) -> Option<Plan> {
        let n = net.len();
        let mut around: Vec<BTreeSet<u32>> = (0..n).map(|v| net.arcs(v).map(|(u, _)| u as u32).collect()).collect();
        let work = |v: usize, around: &[BTreeSet<u32>]| {
            around[v].iter().fold(sizes[v] as f64, |product, &u| product * sizes[u as usize] as f64)
        };
        let mut heap: BinaryHeap<Reverse<(u64, u32)>> = BinaryHeap::new();
        let mut current: Vec<f64> = (0..n).map(|v| work(v, &around)).collect();
        for (v, w) in current.iter().enumerate() {
            heap.push(Reverse((w.to_bits(), v as u32)));
        }
        let mut gone = vec![false; n];
        let mut steps = Vec::with_capacity(n);
        let mut spent = 0.0;
        while let Some(Reverse((bits, v))) = heap.pop() {
            let at = v as usize;
            if gone[at] || bits != current[at].to_bits() {
                continue;
            }
            spent += current[at];
            if spent > limit {
                return None;
            }
            gone[at] = true;
            let scope: Vec<u32> = std::mem::take(&mut around[at]).into_iter().collect();
            for (i, &a) in scope.iter().enumerate() {
                around[a as usize].remove(&v);
                for &b in &scope[i + 1..] {
                    around[a as usize].insert(b);
                    around[b as usize].insert(a);
                }
            }
            for &a in &scope {
                current[a as usize] = work(a as usize, &around);
                heap.push(Reverse((current[a as usize].to_bits(), a)));
            }
            steps.push((v, scope));
        }
        Some(Plan { steps })
    }

    /// Minimises E over the clusters listed in `domains`; `None` = infeasible.
    pub(super) fn solve(
        &self,
        net: &Net,
        k: usize,
        costs: &[f64],
        domains: &[Vec<u32>],
        out: &mut [u32],
    ) -> Option<f64> {
        let n = net.len();
        let mut rank = vec![0usize; n];
        for (i, (v, _)) in self.steps.iter().enumerate() {
            rank[*v as usize] = i;
        }
        // Messages wait at the first vertex of their scope to leave.
        let mut inbox: Vec<Vec<(usize, Vec<f64>)>> = vec![Vec::new(); n];
        let mut choices: Vec<Vec<u32>> = Vec::with_capacity(n);
        let mut total = 0.0;
        let mut value = vec![0usize; n];
        for (step, (v, scope)) in self.steps.iter().enumerate() {
            let v = *v as usize;
            let size: usize = scope.iter().map(|&u| domains[u as usize].len()).product();
            let edges: Vec<(usize, f64)> = net.arcs(v).filter(|&(u, _)| rank[u] > step).collect();
            // Per message: strides of the other vertices, stride of v, table.
            let messages: Vec<(Vec<_>, usize, Vec<f64>)> = std::mem::take(&mut inbox[v])
                .into_iter()
                .map(|(from, table)| {
                    // Strides of the message's scope, the last vertex fastest.
                    let vars = &self.steps[from].1;
                    let mut stride = 1;
                    let (mut others, mut mine) = (Vec::new(), 0);
                    for &u in vars.iter().rev() {
                        if u as usize == v {
                            mine = stride;
                        } else {
                            others.push((u as usize, stride));
                        }
                        stride *= domains[u as usize].len();
                    }
                    (others, mine, table)
                })
                .collect();
            let mut table = vec![f64::INFINITY; size];
            let mut choice = vec![0u32; size];
            let mut states = States::new(net, scope, domains);
            let mut row = vec![0.0; domains[v].len()];
            while let Some(index) = states.next(&mut value) {
                for (x, &c) in row.iter_mut().zip(&domains[v]) {
                    *x = costs[v * k + c as usize];
                }
                for &(u, w) in &edges {
                    let c = domains[u][value[u]];
                    if let Ok(at) = domains[v].binary_search(&c) {
                        row[at] += w;
                    }
                }
                for (others, mine, message) in &messages {
                    let base: usize = others.iter().map(|&(u, stride)| value[u] * stride).sum();
                    for (i, x) in row.iter_mut().enumerate() {
                        *x += message[base + i * mine];
                    }
                }
                let (at, first, _) = super::net::two_smallest(&row);
                table[index] = first;
                choice[index] = at as u32;
            }
            choices.push(choice);
            match scope.iter().min_by_key(|&&u| rank[u as usize]) {
                Some(&heir) => inbox[heir as usize].push((step, table)),
                None => total += table[0],
            }
        }
        if total == f64::INFINITY {
            return None;
        }
        for (step, (v, scope)) in self.steps.iter().enumerate().rev() {
            let index = scope.iter().fold(0, |index, &u| index * domains[u as usize].len() + value[u as usize]);
            value[*v as usize] = choices[step][index] as usize;
            out[*v as usize] = domains[*v as usize][value[*v as usize]];
        }
        Some(total)
    }
}

/// The states of a scope that break no hard edge inside it, in the order of its table, the last vertex fastest.
struct States<'a> {
    scope: &'a [u32],
    domains: &'a [Vec<u32>],
    /// Earlier vertices from which each must differ.
    apart: Vec<Vec<usize>>,
    strides: Vec<usize>,
    /// Where the table goes on; `None` at the start.
    index: Option<usize>,
}

impl<'a> States<'a> {
    fn new(net: &Net, scope: &'a [u32], domains: &'a [Vec<u32>]) -> Self {
        let earlier = |p: usize| net.hard(scope[p] as usize).filter(|u| scope[..p].contains(&(*u as u32))).collect();
        let mut strides = vec![1; scope.len()];
        for p in (1..scope.len()).rev() {
            strides[p - 1] = strides[p] * domains[scope[p] as usize].len();
        }
        States { scope, domains, apart: (0..scope.len()).map(earlier).collect(), strides, index: None }
    }

    /// Sets the values of the next state (positions in the domains) and gives its place in the table.
    fn next(&mut self, value: &mut [usize]) -> Option<usize> {
        let mut changed = 0;
        match self.index {
            None => {
                if self.scope.iter().any(|&u| self.domains[u as usize].is_empty()) {
                    return None;
                }
                self.scope.iter().for_each(|&u| value[u as usize] = 0);
                self.index = Some(0);
            }
            Some(_) => changed = self.advance(self.scope.len(), value)?,
        }
        // Everything behind `changed` is at its first value here, so a clash rules out all that begins like this.
        while let Some(p) = (changed..self.scope.len()).find(|&p| self.clashes(p, value)) {
            changed = self.advance(p + 1, value)?;
        }
        self.index
    }

    /// Moves on among the first `len` vertices; which one changed.
    fn advance(&mut self, len: usize, value: &mut [usize]) -> Option<usize> {
        for p in (0..len).rev() {
            let u = self.scope[p] as usize;
            value[u] += 1;
            if value[u] < self.domains[u].len() {
                let past: usize =
                    (p + 1..len).map(|q| self.strides[q] * (self.domains[self.scope[q] as usize].len() - 1)).sum();
                self.index = self.index.map(|i| i + self.strides[p] - past);
                return Some(p);
            }
            value[u] = 0;
        }
        None
    }

    fn clashes(&self, p: usize, value: &[usize]) -> bool {
        let cluster = |u: usize| self.domains[u][value[u]];
        let own = cluster(self.scope[p] as usize);
        self.apart[p].iter().any(|&u| cluster(u) == own)
    }
}
