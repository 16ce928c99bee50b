//! Marginals of labels that must differ along cannot-links: p(y) ∝ Π_u φ_u(y_u) Π_edges [y_u ≠ y_v], in logarithms.
//! Separates over components. Exact by bucket elimination, up and down the tree of buckets (a pair or a tree is the case
//! of width 1), while the tables of a component hold at most `LIMIT` entries; only labellings that keep the cannot-links
//! are entries (k! for a clique of k, not k^k), listed once for all inferences, one exponential each. Loopy belief
//! propagation beyond, damped, in a fixed order, with the Bethe approximation of log Z (Yedidia, Freeman, Weiss 2005).
//! O(edges·k) per round.

use std::cmp::Ordering;
use std::collections::BTreeSet;

use crate::constraints::Graph;
use crate::context::RunContext;

/// Entries that the tables of one component may hold in all.
const LIMIT: usize = 200_000;
/// Vertices that may be looked at with one that leaves.
const WIDEST: usize = 64;
/// Rounds of loopy propagation, and the change below which it has converged.
const ROUNDS: usize = 100;
const TOLERANCE: f64 = 1e-6;
/// Share of the old message that stays.
const DAMPING: f64 = 0.5;
/// The least that a message says: one of nothing would never come back.
const NOTHING: f64 = 1e-300;

/// What an inference came to.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Inferred {
    /// log Σ_y Π φ of all components with an edge; −∞ when no labelling is possible.
    pub log_z: f64,
    /// Components that were only approximated.
    pub approximate: usize,
    /// Components among them that did not converge.
    pub unsettled: usize,
}

/// The components of a graph, prepared for many inferences.
pub struct Network {
    k: usize,
    components: Vec<Component>,
}

struct Component {
    vertices: Vec<u32>,
    /// Neighbours of each vertex by position.
    around: Vec<Vec<u32>>,
    plan: Option<Plan>,
}

/// Buckets in the order in which vertices leave.
struct Plan(Vec<Bucket>);

/// One vertex with the neighbours that it has when it leaves (its scope): the labels of the scope that break no
/// cannot-link are the rows of its table, the labels that the vertex may have beside them the entries of a row.
struct Bucket {
    vertex: usize,
    /// Where the entries of each row begin, and the end.
    starts: Vec<u32>,
    /// Label of the vertex in each entry.
    label: Vec<u32>,
    /// Buckets that hand their sums to this one, each with the row of its table that every entry looks at.
    children: Vec<(usize, Vec<u32>)>,
}

/// log Σ exp.
pub fn log_sum(values: &[f64]) -> f64 {
    let top = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    if top == f64::NEG_INFINITY {
        return top;
    }
    top + values.iter().map(|v| (v - top).exp()).sum::<f64>().ln()
}

/// Replaces logarithms by shares of one; their log Σ exp.
pub fn to_shares(values: &mut [f64]) -> f64 {
    let top = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    if top == f64::NEG_INFINITY {
        values.fill(0.0);
        return top;
    }
    values.iter_mut().for_each(|v| *v = (*v - top).exp());
    let sum: f64 = values.iter().sum();
    values.iter_mut().for_each(|v| *v /= sum);
    top + sum.ln()
}

impl Network {
    /// The cannot-links between some units, for k clusters.
    pub fn new(graph: &Graph, k: usize) -> Network {
        Network::with_limit(graph, k, LIMIT)
    }

    fn with_limit(graph: &Graph, k: usize, limit: usize) -> Network {
        let mut position = vec![0u32; graph.len()];
        let components = graph.components().into_iter().map(|vertices| {
            vertices.iter().enumerate().for_each(|(i, &v)| position[v as usize] = i as u32);
            let local = |&v: &u32| graph.neighbours(v).iter().map(|&u| position[u as usize]).collect::<Vec<u32>>();
            let around: Vec<Vec<u32>> = vertices.iter().map(local).collect();
            let plan = Plan::new(&around, k, limit);
            Component { vertices, around, plan }
        });
        Network { k, components: components.collect() }
    }

    /// Components with their units, ascending.
    pub fn components(&self) -> impl Iterator<Item = &[u32]> {
        self.components.iter().map(|c| c.vertices.as_slice())
    }

    /// Marginals of the units that have a cannot-link; the rows of other units are left as they are.
    /// `log_phi` and `out` are units × k. Propagation starts from the messages of the last call with the same `memory`
    /// (empty at first). `each` is told log Z of every component with its units.
    pub fn infer(
        &self,
        ctx: &RunContext,
        log_phi: &[f64],
        memory: &mut Vec<Vec<f64>>,
        out: &mut [f64],
        mut each: impl FnMut(&[u32], f64),
    ) -> Inferred {
        let k = self.k;
        memory.resize(self.components.len(), Vec::new());
        let found =
            ctx.pool.map_chunks_mut(memory, 1, |i, messages| self.components[i].infer(k, log_phi, &mut messages[0]));
        let mut all = Inferred { log_z: 0.0, approximate: 0, unsettled: 0 };
        for (c, (marginals, log_z, settled)) in self.components.iter().zip(found) {
            for (&v, row) in c.vertices.iter().zip(marginals.chunks_exact(k)) {
                out[v as usize * k..(v as usize + 1) * k].copy_from_slice(row);
            }
            all.log_z += log_z;
            all.approximate += usize::from(c.plan.is_none());
            all.unsettled += usize::from(!settled);
            each(&c.vertices, log_z);
        }
        all
    }
}

impl Plan {
    /// Smallest-neighbourhood order; `None` when the tables would be too large.
    fn new(around: &[Vec<u32>], k: usize, limit: usize) -> Option<Plan> {
        let n = around.len();
        let mut left: Vec<BTreeSet<u32>> = around.iter().map(|list| list.iter().copied().collect()).collect();
        let mut queue: BTreeSet<(usize, u32)> = (0..n as u32).map(|v| (left[v as usize].len(), v)).collect();
        let mut order: Vec<(u32, Vec<u32>)> = Vec::with_capacity(n);
        let mut rank = vec![0usize; n];
        while let Some((_, v)) = queue.pop_first() {
            let scope: Vec<u32> = std::mem::take(&mut left[v as usize]).into_iter().collect();
            if scope.len() > WIDEST.min(limit) {
                return None;
            }
            for (i, &a) in scope.iter().enumerate() {
                queue.remove(&(left[a as usize].len(), a));
                left[a as usize].remove(&v);
                left[a as usize].extend(scope.iter().take(i).chain(&scope[i + 1..]));
                queue.insert((left[a as usize].len(), a));
            }
            rank[v as usize] = order.len();
            order.push((v, scope));
        }
        let mut children: Vec<Vec<usize>> = vec![Vec::new(); n];
        for (step, (_, scope)) in order.iter().enumerate() {
            if let Some(heir) = scope.iter().map(|&u| rank[u as usize]).min() {
                children[heir].push(step);
            }
        }
        // The rows of every table, ascending, the labels of its scope one after the other.
        let mut rows: Vec<Vec<u32>> = Vec::with_capacity(n);
        let mut buckets = Vec::with_capacity(n);
        let mut budget = limit;
        for ((v, scope), children) in order.iter().zip(&children) {
            let mut table = Table { around, k, order: &order, rows: &rows, children, scope, label: vec![0; n], budget };
            let mut bucket = Bucket {
                vertex: *v as usize,
                starts: vec![0],
                label: Vec::new(),
                children: children.iter().map(|&c| (c, Vec::new())).collect(),
            };
            let mut own = Vec::new();
            table.fill(0, *v, &mut bucket, &mut own)?;
            budget = table.budget;
            rows.push(own);
            buckets.push(bucket);
        }
        Some(Plan(buckets))
    }

    /// Marginals (n × k) and log Z. The way up leaves the shares of the entries within their row, so the way down only
    /// multiplies: nothing is divided out, and nothing that matters underflows.
    fn infer(&self, k: usize, phi: &[f64]) -> (Vec<f64>, f64) {
        let buckets = &self.0;
        let n = buckets.len();
        let mut shares: Vec<Vec<f64>> = Vec::with_capacity(n);
        let mut up: Vec<Vec<f64>> = Vec::with_capacity(n);
        let mut inherited = vec![false; n];
        for b in buckets {
            let phi = &phi[b.vertex * k..(b.vertex + 1) * k];
            let mut table: Vec<f64> = b.label.iter().map(|&c| phi[c as usize]).collect();
            for (child, at) in &b.children {
                inherited[*child] = true;
                table.iter_mut().zip(at).for_each(|(x, &row)| *x += up[*child][row as usize]);
            }
            let ranges = b.starts.windows(2).map(|w| w[0] as usize..w[1] as usize);
            up.push(ranges.map(|range| to_shares(&mut table[range])).collect());
            shares.push(table);
        }
        let (mut marginals, mut log_z) = (vec![0.0; n * k], 0.0);
        let mut weights: Vec<Vec<f64>> = up.iter().map(|rows| vec![0.0; rows.len()]).collect();
        for (step, b) in buckets.iter().enumerate().rev() {
            if !inherited[step] {
                log_z += up[step].first().copied().unwrap_or(f64::NEG_INFINITY);
                weights[step].fill(1.0);
            }
            for (range, weight) in b.starts.windows(2).zip(&weights[step]) {
                shares[step][range[0] as usize..range[1] as usize].iter_mut().for_each(|x| *x *= weight);
            }
            for (&c, x) in b.label.iter().zip(&shares[step]) {
                marginals[b.vertex * k + c as usize] += x;
            }
            for (child, at) in &b.children {
                at.iter().zip(&shares[step]).for_each(|(&row, x)| weights[*child][row as usize] += x);
            }
        }
        (marginals, log_z)
    }
}

/// A table while it is laid out.
struct Table<'a> {
    around: &'a [Vec<u32>],
    k: usize,
    order: &'a [(u32, Vec<u32>)],
    rows: &'a [Vec<u32>],
    children: &'a [usize],
    scope: &'a [u32],
    /// Labels of the vertices, of which those met so far count.
    label: Vec<u32>,
    budget: usize,
}

impl Table<'_> {
    /// Gives every possible label to the vertices of the scope from `depth` on, then to the vertex itself; `None` when the
    /// budget is used up.
    fn fill(&mut self, depth: usize, vertex: u32, bucket: &mut Bucket, rows: &mut Vec<u32>) -> Option<()> {
        let around = self.around;
        let last = depth == self.scope.len();
        let at = if last { vertex } else { self.scope[depth] };
        let apart: Vec<u32> =
            self.scope[..depth].iter().copied().filter(|u| around[at as usize].binary_search(u).is_ok()).collect();
        for label in 0..self.k as u32 {
            if apart.iter().any(|&u| self.label[u as usize] == label) {
                continue;
            }
            self.label[at as usize] = label;
            self.budget = self.budget.checked_sub(1)?;
            if last {
                self.entry(label, bucket);
            } else {
                self.fill(depth + 1, vertex, bucket, rows)?;
            }
        }
        // A row without an entry is left out, unless it is the only one.
        let filled = bucket.label.len() as u32;
        if last && (self.scope.is_empty() || filled > bucket.starts[bucket.starts.len() - 1]) {
            bucket.starts.push(filled);
            rows.extend(self.scope.iter().map(|&u| self.label[u as usize]));
        }
        Some(())
    }

    /// One more entry, if every child has the row for it.
    fn entry(&self, label: u32, bucket: &mut Bucket) {
        let row = |&child: &usize| {
            let scope = &self.order[child].1;
            let rows = &self.rows[child];
            let wanted = scope.iter().map(|&u| self.label[u as usize]);
            let (mut low, mut high) = (0, rows.len() / scope.len());
            while low < high {
                let middle = (low + high) / 2;
                match rows[middle * scope.len()..(middle + 1) * scope.len()].iter().copied().cmp(wanted.clone()) {
                    Ordering::Less => low = middle + 1,
                    Ordering::Equal => return Some(middle as u32),
                    Ordering::Greater => high = middle,
                }
            }
            None
        };
        let Some(at) = self.children.iter().map(row).collect::<Option<Vec<u32>>>() else { return };
        bucket.label.push(label);
        bucket.children.iter_mut().zip(at).for_each(|((_, list), row)| list.push(row));
    }
}

/// The sums over all entries but one, for every one, and the sum of these; no difference of nearly equal numbers.
fn sum_without(values: &[f64], out: &mut [f64]) -> f64 {
    let mut before = 0.0;
    for (o, x) in out.iter_mut().zip(values) {
        *o = before;
        before += x;
    }
    let (mut after, mut total) = (0.0, 0.0);
    for (o, x) in out.iter_mut().zip(values).rev() {
        *o += after;
        after += x;
        total += *o;
    }
    total
}

/// log of the sums over all entries but one, for every one.
fn logs_without(values: &[f64]) -> Vec<f64> {
    let top = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let scaled: Vec<f64> = values.iter().map(|v| (v - top).exp()).collect();
    let mut out = vec![0.0; values.len()];
    sum_without(&scaled, &mut out);
    out.iter().map(|s| top + s.ln()).collect()
}

/// The product, brought to maximum 1; no entry becomes nothing.
fn multiply(values: &mut [f64], by: &[f64]) {
    values.iter_mut().zip(by).for_each(|(x, y)| *x *= y);
    let scale = 1.0 / values.iter().copied().fold(0.0, f64::max);
    values.iter_mut().for_each(|x| *x = (*x * scale).max(NOTHING));
}

impl Component {
    fn infer(&self, k: usize, log_phi: &[f64], messages: &mut Vec<f64>) -> (Vec<f64>, f64, bool) {
        let rows = self.vertices.iter().flat_map(|&v| &log_phi[v as usize * k..(v as usize + 1) * k]);
        let phi: Vec<f64> = rows.copied().collect();
        match &self.plan {
            Some(plan) => {
                let (marginals, log_z) = plan.infer(k, &phi);
                (marginals, log_z, true)
            }
            None => self.loopy(k, &phi, messages),
        }
    }

    /// Messages to every vertex from each of its neighbours, as shares of one, one vertex after the other: plain products,
    /// brought back to maximum 1 after every factor, no logarithms before the end.
    fn loopy(&self, k: usize, phi: &[f64], messages: &mut Vec<f64>) -> (Vec<f64>, f64, bool) {
        let n = self.around.len();
        // Where the message to v from its i-th neighbour is, and where the one back is.
        let mut starts = vec![0usize];
        self.around.iter().for_each(|list| starts.push(starts[starts.len() - 1] + list.len()));
        let back = |v: usize, u: usize| starts[u] + self.around[u].binary_search(&(v as u32)).unwrap_or(0);
        let back: Vec<usize> = (0..n)
            .flat_map(|v| self.around[v].iter().map(move |&u| (v, u as usize)))
            .map(|(v, u)| back(v, u))
            .collect();
        messages.resize(starts[n] * k, 1.0 / k as f64);
        let mut own = phi.to_vec();
        for row in own.chunks_exact_mut(k) {
            let top = row.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            row.iter_mut().for_each(|x| *x = (*x - top).exp().max(NOTHING));
        }
        let widest = self.around.iter().map(Vec::len).max().unwrap_or(0);
        let (mut before, mut after) = (vec![0.0; (widest + 1) * k], vec![0.0; k]);
        let (mut h, mut fresh) = (vec![0.0; k], vec![0.0; k]);
        let mut settled = false;
        for _ in 0..ROUNDS {
            let mut change = 0.0f64;
            for v in 0..n {
                before[..k].copy_from_slice(&own[v * k..(v + 1) * k]);
                for (i, at) in (starts[v]..starts[v + 1]).enumerate() {
                    let (known, next) = before[i * k..(i + 2) * k].split_at_mut(k);
                    next.copy_from_slice(known);
                    multiply(next, &messages[at * k..(at + 1) * k]);
                }
                after.fill(1.0);
                for (i, from) in (starts[v]..starts[v + 1]).enumerate().rev() {
                    h.iter_mut().zip(&before[i * k..(i + 1) * k]).zip(&after).for_each(|((h, x), y)| *h = x * y);
                    multiply(&mut after, &messages[from * k..(from + 1) * k]);
                    let scale = (1.0 - DAMPING) / sum_without(&h, &mut fresh);
                    for (old, new) in messages[back[from] * k..(back[from] + 1) * k].iter_mut().zip(&fresh) {
                        let damped = (DAMPING * *old + scale * new).max(NOTHING);
                        change = change.max((damped - *old).abs());
                        *old = damped;
                    }
                }
            }
            if change < TOLERANCE {
                settled = true;
                break;
            }
        }
        let messages: Vec<f64> = messages.iter().map(|m| m.ln()).collect();
        let belief = |v: usize| {
            let mut sum = phi[v * k..(v + 1) * k].to_vec();
            for at in starts[v]..starts[v + 1] {
                sum.iter_mut().zip(&messages[at * k..(at + 1) * k]).for_each(|(s, m)| *s += m);
            }
            sum
        };
        let (mut marginals, mut log_z) = (Vec::with_capacity(n * k), 0.0);
        for v in 0..n {
            let mut own = belief(v);
            log_z += log_sum(&own);
            for (i, &u) in self.around[v].iter().enumerate().filter(|(_, u)| **u as usize > v) {
                // Edge terms: Z_ab − Z_a(ab) − Z_b(ab) with the beliefs of each end without the other.
                let (to_v, to_u) = (starts[v] + i, back[starts[v] + i]);
                let other = belief(u as usize);
                let x: Vec<f64> = (0..k).map(|c| own[c] - messages[to_v * k + c]).collect();
                let y: Vec<f64> = (0..k).map(|c| other[c] - messages[to_u * k + c]).collect();
                let both: Vec<f64> = x.iter().zip(logs_without(&y)).map(|(a, b)| a + b).collect();
                log_z += log_sum(&both) - log_sum(&own) - log_sum(&other);
            }
            to_shares(&mut own);
            marginals.extend(own);
        }
        (marginals, log_z, settled)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Rng;

    fn infer(n: usize, edges: &[(u32, u32)], k: usize, phi: &[f64], limit: usize) -> (Vec<f64>, Inferred) {
        let graph = Graph::new(n, edges.iter().copied());
        let logs: Vec<f64> = phi.iter().map(|p: &f64| p.ln()).collect();
        let mut out = vec![0.0; n * k];
        let ctx = RunContext::new(0).with_threads(1);
        let network = Network::with_limit(&graph, k, limit);
        let found = network.infer(&ctx, &logs, &mut Vec::new(), &mut out, |_, _| {});
        (out, found)
    }

    fn by_enumeration(n: usize, edges: &[(u32, u32)], k: usize, phi: &[f64]) -> (Vec<f64>, f64) {
        let (mut out, mut z) = (vec![0.0; n * k], 0.0);
        for code in 0..k.pow(n as u32) {
            let y: Vec<usize> = (0..n).map(|v| code / k.pow(v as u32) % k).collect();
            if edges.iter().all(|&(a, b)| y[a as usize] != y[b as usize]) {
                let p: f64 = (0..n).map(|v| phi[v * k + y[v]]).product();
                z += p;
                (0..n).for_each(|v| out[v * k + y[v]] += p);
            }
        }
        out.iter_mut().for_each(|p| *p /= z);
        (out, z)
    }

    fn close(a: &[f64], b: &[f64], by: f64) {
        assert!(a.iter().zip(b).all(|(x, y)| (x - y).abs() < by), "{a:?} {b:?}");
    }

    #[test]
    fn the_worked_examples_of_the_specification() {
        let (p, found) = infer(2, &[(0, 1)], 2, &[0.9, 0.1, 0.8, 0.2], LIMIT);
        close(&p, &[9.0 / 13.0, 4.0 / 13.0, 4.0 / 13.0, 9.0 / 13.0], 1e-12);
        assert!((found.log_z - 0.26f64.ln()).abs() < 1e-12);
        let (p, _) = infer(3, &[(0, 1), (1, 2)], 3, &[1.0, 0.0, 0.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0], LIMIT);
        close(&p[3..], &[0.0, 0.5, 0.5, 0.5, 0.25, 0.25], 1e-12);
        let triangle = [(0, 1), (1, 2), (0, 2)];
        let (_, found) = infer(3, &triangle, 2, &[0.5; 6], LIMIT);
        assert_eq!(found.log_z, f64::NEG_INFINITY);
        let (p, _) = infer(3, &triangle, 3, &[0.5; 9], LIMIT);
        close(&p, &[1.0 / 3.0; 9], 1e-12);
    }

    #[test]
    fn cliques_and_dense_graphs_are_exact_as_well() {
        let mut rng = Rng::stream(5, "marginals test", 0);
        let mut possible = 0;
        for _ in 0..60 {
            let (n, k) = (3 + rng.below(5), 3 + rng.below(3));
            let pairs = (0..n as u32).flat_map(|b| (0..b).map(move |a| (a, b)));
            let edges: Vec<(u32, u32)> = pairs.filter(|&(a, b)| a + 1 == b || rng.unit() < 0.4).collect();
            let phi: Vec<f64> = (0..n * k).map(|_| 0.05 + rng.unit()).collect();
            let (truth, z) = by_enumeration(n, &edges, k, &phi);
            let (p, found) = infer(n, &edges, k, &phi, LIMIT);
            assert_eq!(found.approximate, 0);
            if z == 0.0 {
                assert_eq!(found.log_z, f64::NEG_INFINITY);
            } else {
                possible += 1;
                close(&p, &truth, 1e-12);
                assert!((found.log_z - z.ln()).abs() < 1e-10);
            }
        }
        assert!((30..60).contains(&possible), "{possible}");
        // 7^7 labellings, of which 7! keep the cannot-links.
        let clique: Vec<(u32, u32)> = (0..7).flat_map(|b| (0..b).map(move |a| (a, b))).collect();
        let (_, found) = infer(7, &clique, 7, &[1.0; 49], LIMIT);
        assert!(found.approximate == 0 && (found.log_z - 5040f64.ln()).abs() < 1e-9);
    }

    #[test]
    fn elimination_is_enumeration_and_propagation_is_both_on_trees_and_near_them_elsewhere() {
        let mut rng = Rng::stream(4, "marginals test", 0);
        let (mut errors, mut count) = (0.0, 0.0);
        for case in 0..60 {
            let n = 2 + rng.below(6);
            let k = 2 + rng.below(3);
            let tree: Vec<(u32, u32)> = (1..n as u32).map(|v| (rng.below(v as usize) as u32, v)).collect();
            let mut edges = tree.clone();
            if case % 2 == 1 && k > 2 {
                edges.push((0, n as u32 - 1));
                edges.retain(|e| e.0 != e.1);
            }
            let phi: Vec<f64> = (0..n * k).map(|_| 0.05 + rng.unit()).collect();
            let (truth, z) = by_enumeration(n, &edges, k, &phi);
            if z == 0.0 {
                continue;
            }
            let (p, found) = infer(n, &edges, k, &phi, LIMIT);
            close(&p, &truth, 1e-12);
            assert!((found.log_z - z.ln()).abs() < 1e-10 && found.approximate == 0);
            let (p, found) = infer(n, &edges, k, &phi, 0);
            let is_tree = edges.len() == n - 1;
            if is_tree {
                close(&p, &truth, 1e-4);
            } else {
                // On a cycle it is an approximation without a bound, but one that is close in the mean.
                errors += p.iter().zip(&truth).map(|(a, b)| (a - b).abs()).sum::<f64>();
                count += p.len() as f64;
                assert!(p.chunks(k).all(|row| (row.iter().sum::<f64>() - 1.0).abs() < 1e-9));
            }
            assert!(!is_tree || (found.log_z - z.ln()).abs() < 1e-4);
            assert_eq!(found.approximate, 1);
        }
        assert!(count > 50.0 && errors / count < 0.05, "{} of {count}", errors / count);
        // On a cycle log Z is Bethe's: a triangle in three colours has 6 labellings and 3³·(2/3)³ = 8 by his count.
        let (_, found) = infer(3, &[(0, 1), (1, 2), (0, 2)], 3, &[1.0; 9], 0);
        assert!((found.log_z - 8f64.ln()).abs() < 1e-9);
    }
}
