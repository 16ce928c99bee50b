//! Belief propagation over the constraint graph (Pearl 1988; sparse constraint sets are nearly forests, where it is exact).
//! Model: a hidden label z per node, p(z) ∝ Π_i exp(−s·cost_i(z_i)) · Π_f ψ_f; a factor *reports* [z_a = z_b] and lies with
//! probability ε: ψ = (1−ε)·r if same, ε if not for a must-link; ε·r, 1−ε for a cannot-link. r = odds(must-links among the
//! constraints) / odds(same among random pairs), because pairs are not drawn at random.
//! Nodes that are alike can be tied: ψ = e^(tie·strength) if together, 1 if not.
//! Gives every node's label probabilities and, for every factor, what the rest says *without it* (the cavity).
//! [`fit`] alternates this with centres = means of the most probable labels (soft means collapse the centres when the data
//! weigh little); without factors it is k-means. Cost per iteration O(n·k·dims + sweeps·factors·k).

use super::par::Pool;
use crate::constraints::{Chunklets, Kind};
use crate::context::RunContext;
use crate::data::{Dataset, Float, Matrix, Rows};

/// Data terms are kept above this, so that constraints can always overrule them.
const DATA_FLOOR: f64 = 1e-100;
/// No factor is believed beyond this.
const ERROR_FLOOR: f64 = 1e-6;
/// Double sweeps in the first iteration and in later ones, and the change of a message that ends them early.
const SWEEPS: (usize, usize) = (10, 3);
const SETTLED: f64 = 1e-2;

/// One constraint between two different nodes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Factor {
    /// One node.
    pub a: u32,
    /// The other node.
    pub b: u32,
    /// What it says.
    pub kind: Kind,
    /// It is wrong with at least this probability.
    pub doubt: f64,
    /// Believed whatever the common error rate is: not judged and not scored.
    pub believed: bool,
}

/// Two nodes that are alike: being together is preferred by `strength` × [`Settings::tie`] nats.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Tie {
    /// One node.
    pub a: u32,
    /// The other node.
    pub b: u32,
    /// How alike they are.
    pub strength: f64,
}

/// Factors and ties as a graph, with the nodes in an order in which a forward and a backward sweep are exact on a forest.
#[derive(Debug, Clone, Default)]
pub struct Network {
    factors: Vec<Factor>,
    ties: Vec<Tie>,
    /// Nodes with edges, breadth first per component.
    order: Vec<u32>,
    starts: Vec<u32>,
    /// (edge, side), side 0 where the node is `a`; edges are the factors, then the ties.
    incident: Vec<(u32, u8)>,
}

impl Network {
    /// The graph of `factors` over `nodes` nodes.
    pub fn new(nodes: usize, factors: Vec<Factor>) -> Network {
        Network::tied(nodes, factors, Vec::new())
    }

    /// The same with ties between nodes that are alike.
    pub fn tied(nodes: usize, factors: Vec<Factor>, ties: Vec<Tie>) -> Network {
        let mut starts = vec![0u32; nodes + 1];
        let edges: Vec<(u32, u32)> =
            factors.iter().map(|f| (f.a, f.b)).chain(ties.iter().map(|t| (t.a, t.b))).collect();
        for &(a, b) in &edges {
            starts[a as usize + 1] += 1;
            starts[b as usize + 1] += 1;
        }
        for i in 0..nodes {
            starts[i + 1] += starts[i];
        }
        let mut fill = starts.clone();
        let mut incident = vec![(0, 0); 2 * edges.len()];
        for (s, &(a, b)) in edges.iter().enumerate() {
            for (node, side) in [(a, 0), (b, 1)] {
                incident[fill[node as usize] as usize] = (s as u32, side);
                fill[node as usize] += 1;
            }
        }
        let mut network = Network { factors, ties, order: Vec::new(), starts, incident };
        let mut seen = vec![false; nodes];
        for root in 0..nodes as u32 {
            if seen[root as usize] || network.incident(root).is_empty() {
                continue;
            }
            seen[root as usize] = true;
            let mut at = network.order.len();
            network.order.push(root);
            while at < network.order.len() {
                let node = network.order[at];
                at += 1;
                for i in network.starts[node as usize]..network.starts[node as usize + 1] {
                    let (s, side) = network.incident[i as usize];
                    let (a, b) = edges[s as usize];
                    let other = if side == 0 { b } else { a };
                    if !std::mem::replace(&mut seen[other as usize], true) {
                        network.order.push(other);
                    }
                }
            }
        }
        network
    }

    /// The factors, in the order given.
    pub fn factors(&self) -> &[Factor] {
        &self.factors
    }
    fn incident(&self, node: u32) -> &[(u32, u8)] {
        &self.incident[self.starts[node as usize] as usize..self.starts[node as usize + 1] as usize]
    }

    /// Unnormalised belief of a node; the log of the scale taken out.
    #[inline]
    fn belief(&self, k: usize, data: &[f64], messages: &[f64], node: u32, out: &mut [f64]) -> f64 {
        out.copy_from_slice(&data[node as usize * k..(node as usize + 1) * k]);
        let mut log = 0.0;
        for (t, &(s, side)) in self.incident(node).iter().enumerate() {
            out.iter_mut().zip(message(messages, k, s, side)).for_each(|(o, m)| *o *= m);
            if t % 8 == 7 {
                let largest = out.iter().copied().fold(0.0, f64::max);
                log += largest.ln();
                out.iter_mut().for_each(|v| *v = (*v / largest).max(1e-200));
            }
        }
        log
    }

    /// ψ of every edge where its ends are apart, and where they are together.
    fn potentials(&self, errors: &[f64], r: f64, tie: f64) -> Vec<(f64, f64)> {
        let of_factor = |(f, &e): (&Factor, &f64)| match f.kind {
            Kind::MustLink => (e, (1.0 - e) * r),
            Kind::CannotLink => (1.0 - e, e * r),
        };
        let of_tie = |t: &Tie| (1.0, (tie * t.strength).exp());
        self.factors.iter().zip(errors).map(of_factor).chain(self.ties.iter().map(of_tie)).collect()
    }

    /// New messages from every node to its neighbours; the largest change. Messages into the node on `side` of edge s
    /// lie at (2s + side)·k and are scaled to maximum 1: plain products, no logarithms.
    fn sweep(&self, k: usize, data: &[f64], potentials: &[(f64, f64)], messages: &mut [f64], backward: bool) -> f64 {
        // Most of the time is spent here, on very short vectors: their length is compiled in where it is small.
        match k {
            2 => self.sweep_of::<2>(k, data, potentials, messages, backward),
            3 => self.sweep_of::<3>(k, data, potentials, messages, backward),
            4 => self.sweep_of::<4>(k, data, potentials, messages, backward),
            5 => self.sweep_of::<5>(k, data, potentials, messages, backward),
            6 => self.sweep_of::<6>(k, data, potentials, messages, backward),
            7 => self.sweep_of::<7>(k, data, potentials, messages, backward),
            8 => self.sweep_of::<8>(k, data, potentials, messages, backward),
            _ => self.sweep_of::<0>(k, data, potentials, messages, backward),
        }
    }

    /// [`sweep`](Self::sweep) for `K` clusters; 0 = any number.
    fn sweep_of<const K: usize>(
        &self,
        k: usize,
        data: &[f64],
        potentials: &[(f64, f64)],
        messages: &mut [f64],
        backward: bool,
    ) -> f64 {
        let k = if K == 0 { k } else { K };
        let (mut own, mut h, mut change) = (vec![0.0; k], vec![0.0; k], 0.0f64);
        let (own, h) = (&mut own[..k], &mut h[..k]);
        let m = self.order.len();
        for t in 0..m {
            let node = self.order[if backward { m - 1 - t } else { t }];
            self.belief(k, data, messages, node, own);
            for &(s, side) in self.incident(node) {
                let mut total = 0.0;
                for ((h, b), m) in h.iter_mut().zip(own.iter()).zip(message(messages, k, s, side)) {
                    *h = b / m;
                    total += *h;
                }
                let (off, on) = potentials[s as usize];
                let slope = (on - off) / total;
                let mut largest = 0.0f64;
                for v in h.iter_mut() {
                    *v = off + slope * *v;
                    largest = if *v > largest { *v } else { largest };
                }
                let scale = 1.0 / largest;
                let at = (2 * s as usize + 1 - side as usize) * k;
                for (old, v) in messages[at..at + k].iter_mut().zip(h.iter()) {
                    let v = v * scale;
                    let moved = (v - *old).abs();
                    change = if moved > change { moved } else { change };
                    *old = v;
                }
            }
        }
        change
    }
}

fn message(messages: &[f64], k: usize, s: u32, side: u8) -> &[f64] {
    let at = (2 * s as usize + side as usize) * k;
    &messages[at..at + k]
}

/// Belief without one incoming message, normalised to sum 1.
fn cavity(belief: &[f64], message: &[f64], out: &mut [f64]) {
    let mut total = 0.0;
    for ((o, b), m) in out.iter_mut().zip(belief).zip(message) {
        *o = b / m;
        total += *o;
    }
    out.iter_mut().for_each(|v| *v /= total);
}

/// The data side: rows, and the nodes they belong to (rows that are believed to be together are one node).
pub struct Field<'a, F> {
    data: &'a Dataset<'a, F>,
    nodes: &'a Chunklets,
    k: usize,
    /// Row weights with mean 1.
    weights: Vec<f64>,
}

impl<'a, F: Float> Field<'a, F> {
    /// Rows grouped by `nodes`, for k clusters.
    pub fn new(data: &'a Dataset<'a, F>, nodes: &'a Chunklets, k: usize) -> Field<'a, F> {
        let total: f64 = (0..data.n()).map(|i| data.weight(i)).sum();
        let weights = (0..data.n()).map(|i| data.weight(i) * data.n() as f64 / total).collect();
        Field { data, nodes, k, weights }
    }
    /// Number of clusters.
    pub fn k(&self) -> usize {
        self.k
    }
    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.data.n()
    }

    /// Σ weight · distance² of the rows of every node to every centre, nodes × k.
    fn costs(&self, pool: &Pool, centres: &Matrix) -> Vec<f64> {
        let mut rows = squared_distances(pool, self.data, centres);
        let k = self.k;
        if self.nodes.len() == self.rows() {
            for (row, &w) in rows.chunks_exact_mut(k).zip(&self.weights) {
                row.iter_mut().for_each(|v| *v *= w);
            }
            return rows;
        }
        let mut costs = vec![0.0; self.nodes.len() * k];
        for (i, row) in rows.chunks_exact(k).enumerate() {
            let node = self.nodes.of(i) as usize;
            costs[node * k..(node + 1) * k].iter_mut().zip(row).for_each(|(c, v)| *c += self.weights[i] * v);
        }
        costs
    }

    /// Moves the centres to the means of the labels of the nodes (a cluster without rows keeps its centre); Σ share².
    pub fn to_means(&self, labels: &[u32], centres: &mut Matrix) -> f64 {
        let mut sums = Matrix::zeros(self.k, centres.cols());
        let mut weights = vec![0.0; self.k];
        for (i, &w) in self.weights.iter().enumerate() {
            let label = labels[self.nodes.of(i) as usize] as usize;
            weights[label] += w;
            self.data.add_row(i, w, sums.row_mut(label));
        }
        for (c, &w) in weights.iter().enumerate().filter(|(_, w)| **w > 0.0) {
            centres.row_mut(c).iter_mut().zip(sums.row(c)).for_each(|(v, s)| *v = s / w);
        }
        weights.iter().map(|w| (w / self.rows() as f64).powi(2)).sum()
    }
}

/// ‖x − centre‖² for every row and centre, row-major.
pub fn squared_distances<F: Float>(pool: &Pool, data: &Dataset<'_, F>, centres: &Matrix) -> Vec<f64> {
    let k = centres.rows();
    let mut out = vec![0.0; data.n() * k];
    match data.rows() {
        Rows::Dense(rows) => {
            pool.map_chunks_mut(&mut out, 512 * k, |start, slice| {
                let mut wide = vec![0.0; data.dims()];
                for (i, target) in (start / k..).zip(slice.chunks_exact_mut(k)) {
                    wide.iter_mut().zip(rows.row(i)).for_each(|(w, v)| *w = v.to_f64());
                    for (d, centre) in target.iter_mut().zip(centres.iter()) {
                        *d = distance2(&wide, centre);
                    }
                }
            });
        }
        Rows::Sparse(rows) => {
            let transposed = centres.transposed();
            let norms: Vec<f64> = centres.iter().map(|c| c.iter().map(|v| v * v).sum()).collect();
            pool.map_chunks_mut(&mut out, 512 * k, |start, slice| {
                for (i, target) in (start / k..).zip(slice.chunks_exact_mut(k)) {
                    let (columns, values) = rows.row(i);
                    let own: f64 = values.iter().map(|v| v.to_f64() * v.to_f64()).sum();
                    target.copy_from_slice(&norms);
                    for (&j, v) in columns.iter().zip(values) {
                        let v = 2.0 * v.to_f64();
                        target.iter_mut().zip(transposed.row(j as usize)).for_each(|(t, c)| *t -= v * c);
                    }
                    target.iter_mut().for_each(|t| *t = (*t + own).max(0.0));
                }
            });
        }
    }
    out
}

/// Four sums side by side, so that the compiler can keep them in one register.
fn distance2(a: &[f64], b: &[f64]) -> f64 {
    let mut sums = [0.0; 4];
    let (x, y) = (a.chunks_exact(4), b.chunks_exact(4));
    let tail: f64 = x.remainder().iter().zip(y.remainder()).map(|(p, q)| (p - q) * (p - q)).sum();
    for (p, q) in x.zip(y) {
        for l in 0..4 {
            sums[l] += (p[l] - q[l]) * (p[l] - q[l]);
        }
    }
    (sums[0] + sums[1]) + (sums[2] + sums[3]) + tail
}

/// How to weigh rows and constraints.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Settings {
    /// What a unit of squared distance is worth.
    pub sharpness: f64,
    /// The common error rate of the factors that are not believed.
    pub error: f64,
    /// Odds of must-links among the constraints.
    pub odds: f64,
    /// What a tie of strength 1 is worth.
    pub tie: f64,
    /// Iterations at most.
    pub max_iter: usize,
}

/// What one start led to.
#[derive(Debug, Clone, PartialEq)]
pub struct Fit {
    /// What it was made with.
    pub settings: Settings,
    /// Centres.
    pub centres: Matrix,
    /// Label probabilities, nodes × k.
    pub beliefs: Vec<f64>,
    /// Most probable label of every node.
    pub labels: Vec<u32>,
    /// Per factor: the probability that its ends are together, from the rows and all *other* factors.
    pub same: Vec<f64>,
    /// Per factor: the probability that it is wrong.
    pub wrong: Vec<f64>,
    /// Per factor: log-probability of what it says, predicted from the rest; 0 for believed ones.
    pub log_predictive: Vec<f64>,
    /// Per factor: the probability of what it says had it no error, predicted from the rest.
    pub agree: Vec<f64>,
    /// Sum of `log_predictive`: comparable between sharpnesses, error rates and k.
    pub predictive: f64,
    /// −log Z (Bethe): comparable between starts.
    pub energy: f64,
    /// Iterations.
    pub iterations: usize,
}

/// p / (1 − p), p kept away from 0 and 1.
pub fn odds(p: f64) -> f64 {
    let p = p.clamp(0.02, 0.98);
    p / (1.0 - p)
}

/// From the given centres until the labels repeat.
pub fn fit<F: Float>(
    ctx: &RunContext,
    field: &Field<'_, F>,
    network: &Network,
    settings: &Settings,
    start: &Matrix,
) -> Fit {
    fit_without(ctx, field, network, settings, start, &[])
}

/// The same as if the `silent` factors had said nothing. What it predicts of them owes nothing to them, whereas the cavity of
/// a factor that speaks hears its own echo where ties close loops.
pub fn fit_without<F: Float>(
    ctx: &RunContext,
    field: &Field<'_, F>,
    network: &Network,
    settings: &Settings,
    start: &Matrix,
    silent: &[u32],
) -> Fit {
    let (k, nodes, count) = (field.k, field.nodes.len(), network.factors.len());
    let mut f = Fit {
        settings: *settings,
        centres: start.clone(),
        beliefs: vec![0.0; nodes * k],
        labels: Vec::new(),
        same: vec![0.5; count],
        wrong: vec![0.0; count],
        log_predictive: vec![0.0; count],
        agree: vec![0.5; count],
        predictive: 0.0,
        energy: 0.0,
        iterations: 0,
    };
    let errors: Vec<f64> = network
        .factors
        .iter()
        .map(|f| if f.believed { ERROR_FLOOR } else { settings.error.max(f.doubt).max(ERROR_FLOOR) })
        .collect();
    let mut messages = vec![1.0; 2 * (count + network.ties.len()) * k];
    let mut r = settings.odds / odds(1.0 / k as f64);
    loop {
        let mut data = field.costs(&ctx.pool, &f.centres);
        let mut log_z = data_term(&mut data, k, settings.sharpness) - nodes as f64 * (k as f64).ln();
        let mut potentials = network.potentials(&errors, r, settings.tie);
        silent.iter().for_each(|&s| potentials[s as usize] = (1.0, 1.0));
        for _ in 0..if f.iterations == 0 { SWEEPS.0 } else { SWEEPS.1 } {
            let there = network.sweep(k, &data, &potentials, &mut messages, false);
            let back = network.sweep(k, &data, &potentials, &mut messages, true);
            if there.max(back) < SETTLED {
                break;
            }
        }
        for (node, belief) in f.beliefs.chunks_exact_mut(k).enumerate() {
            log_z += network.belief(k, &data, &messages, node as u32, belief);
            let total: f64 = belief.iter().sum();
            log_z += total.ln();
            belief.iter_mut().for_each(|v| *v /= total);
        }
        f.iterations += 1;
        let labels: Vec<u32> = f.beliefs.chunks_exact(k).map(most_probable).collect();
        let repeated = labels == f.labels;
        f.labels = labels;
        if repeated || f.iterations >= settings.max_iter.max(1) || ctx.checkpoint().is_err() {
            log_z += f.judge(network, k, &errors, r, &messages) + f.tied(network, k, &potentials, &messages);
            f.energy = -log_z;
            return f;
        }
        let together = field.to_means(&f.labels, &mut f.centres);
        r = settings.odds / odds(together);
    }
}

impl Fit {
    /// The ties' share of the Bethe log Z.
    fn tied(&self, network: &Network, k: usize, potentials: &[(f64, f64)], messages: &[f64]) -> f64 {
        let (mut of_a, mut of_b) = (vec![0.0; k], vec![0.0; k]);
        let belief = |node: u32| &self.beliefs[node as usize * k..(node as usize + 1) * k];
        let share = |(s, tie): (usize, &Tie)| {
            let (into_a, into_b) = (message(messages, k, s as u32, 0), message(messages, k, s as u32, 1));
            cavity(belief(tie.a), into_a, &mut of_a);
            cavity(belief(tie.b), into_b, &mut of_b);
            let same = dot(&of_a, &of_b);
            let (off, on) = potentials[s];
            (on * same + off * (1.0 - same)).ln() - dot(&of_a, into_a).ln() - dot(&of_b, into_b).ln()
        };
        (network.factors.len()..).zip(&network.ties).map(share).sum()
    }

    /// What the rest says about every factor; the factors' share of the Bethe log Z.
    fn judge(&mut self, network: &Network, k: usize, errors: &[f64], r: f64, messages: &[f64]) -> f64 {
        let (mut of_a, mut of_b, mut log_z) = (vec![0.0; k], vec![0.0; k], 0.0);
        self.predictive = 0.0;
        for (s, factor) in network.factors.iter().enumerate() {
            let (into_a, into_b) = (message(messages, k, s as u32, 0), message(messages, k, s as u32, 1));
            let belief = |node: u32| &self.beliefs[node as usize * k..(node as usize + 1) * k];
            cavity(belief(factor.a), into_a, &mut of_a);
            cavity(belief(factor.b), into_b, &mut of_b);
            let same = dot(&of_a, &of_b);
            let scale = r * same + 1.0 - same;
            let agree = match factor.kind {
                Kind::MustLink => r * same / scale,
                Kind::CannotLink => (1.0 - same) / scale,
            };
            let e = errors[s];
            let said = e * (1.0 - agree) + (1.0 - e) * agree;
            log_z += said.ln() + scale.ln() - dot(&of_a, into_a).ln() - dot(&of_b, into_b).ln();
            self.same[s] = same;
            self.agree[s] = agree;
            self.wrong[s] = e * (1.0 - agree) / said;
            if !factor.believed {
                self.log_predictive[s] = said.ln();
                self.predictive += said.ln();
            }
        }
        log_z
    }
}

fn dot(x: &[f64], y: &[f64]) -> f64 {
    x.iter().zip(y).map(|(p, q)| p * q).sum()
}

/// Turns costs into exp(−sharpness·(cost − least)); minus the sum of what was taken out.
fn data_term(costs: &mut [f64], k: usize, sharpness: f64) -> f64 {
    let mut log = 0.0;
    for row in costs.chunks_exact_mut(k) {
        let least = row.iter().copied().fold(f64::INFINITY, f64::min);
        row.iter_mut().for_each(|v| *v = (sharpness * (least - *v)).exp().max(DATA_FLOOR));
        log -= sharpness * least;
    }
    log
}

/// Position of the largest value, the first of equals.
fn most_probable(belief: &[f64]) -> u32 {
    let mut best = 0;
    for (c, v) in belief.iter().enumerate() {
        if *v > belief[best] {
            best = c;
        }
    }
    best as u32
}

#[cfg(test)]
#[path = "belief_tests.rs"]
mod tests;
