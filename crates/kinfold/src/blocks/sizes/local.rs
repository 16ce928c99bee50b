//! Bounds by rising prices: minimise cost + price · Σ distance of each cluster's weight from its bounds by moves of one unit
//! and exchanges of two, links kept throughout; the price grows while the bounds are missed, and a shake helps out of
//! traps. Then moves and exchanges inside the bounds until none helps. A sweep costs O(m·(k + partners tried)).

use super::Problem;
use crate::context::RunContext;
use crate::rng::Rng;

/// Exchange partners tried per unit and sweep; all of them when there are no more.
const PARTNERS: usize = 48;
/// Sweeps granted to the repair, and to the improvement.
const REPAIR_SWEEPS: usize = 400;
const IMPROVE_SWEEPS: usize = 40;
/// Prices that the improvement may compute.
const SWEEP_WORK: usize = 100_000_000;

/// Brings `labels` (links kept) within the bounds; false when that failed.
pub(super) fn repair(ctx: &RunContext, problem: &Problem, labels: &mut [u32], rng: &mut Rng) -> bool {
    let (m, k) = (labels.len(), problem.k);
    let start = labels.to_vec();
    let spread: f64 = (0..m)
        .map(|v| {
            let row = &problem.costs[v * k..(v + 1) * k];
            let finite = || row.iter().copied().filter(|x| x.is_finite());
            finite().fold(f64::MIN, f64::max) - finite().fold(f64::MAX, f64::min)
        })
        .sum();
    let total: u64 = problem.weights.iter().sum();
    let unit = (spread / total.max(1) as f64).max(1e-9);
    let mut price = unit;
    let mut state = State::new(problem, labels);
    let mut least = u64::MAX;
    let mut idle = 0;
    for sweep in 0..REPAIR_SWEEPS {
        if state.violation() == 0 {
            return true;
        }
        if ctx.checkpoint().is_err() {
            return false;
        }
        state.sweep(price, rng);
        let now = state.violation();
        if now < least {
            least = now;
            idle = 0;
        } else {
            idle += 1;
            price = (price * 1.5).min(unit * 1e9);
        }
        if idle >= 12 {
            idle = 0;
            least = u64::MAX;
            if sweep % 2 == 0 {
                state.shake(1 + m / 10, rng);
            } else {
                state.labels.copy_from_slice(&start);
                state.loads = problem.loads(&start);
                state.shake(m, rng);
            }
            price = unit * 10.0;
        }
    }
    state.violation() == 0
}

/// Lowers the cost of feasible labels; they stay feasible.
pub(super) fn improve(problem: &Problem, labels: &mut [u32], rng: &mut Rng) {
    let mut state = State::new(problem, labels);
    let sweeps = IMPROVE_SWEEPS.min(SWEEP_WORK / (state.labels.len() * (problem.k + PARTNERS)).max(1)).max(2);
    for _ in 0..sweeps {
        if !state.sweep(f64::INFINITY, rng) {
            break;
        }
    }
}

struct State<'a> {
    problem: &'a Problem<'a>,
    labels: &'a mut [u32],
    loads: Vec<u64>,
}

impl<'a> State<'a> {
    fn new(problem: &'a Problem<'a>, labels: &'a mut [u32]) -> State<'a> {
        let loads = problem.loads(labels);
        State { problem, labels, loads }
    }

    fn violation(&self) -> u64 {
        self.problem.bounds.violation(&self.loads)
    }

    /// Change of the violation when `out` leaves a for b and `back` goes the other way.
    fn shift(&self, a: usize, b: usize, out: u64, back: u64) -> f64 {
        let bounds = self.problem.bounds;
        let before = bounds.miss(a, self.loads[a]) + bounds.miss(b, self.loads[b]);
        let after = bounds.miss(a, self.loads[a] - out + back) + bounds.miss(b, self.loads[b] + out - back);
        after as f64 - before as f64
    }

    /// What a change of violation is worth; at an infinite price the bounds must not be missed by more.
    fn charge(price: f64, change: f64) -> f64 {
        if change == 0.0 { 0.0 } else { price * change }
    }

    /// Every unit once, in random order: its best move or exchange. True when something improved.
    fn sweep(&mut self, price: f64, rng: &mut Rng) -> bool {
        let m = self.labels.len();
        let mut order: Vec<u32> = (0..m as u32).collect();
        rng.shuffle(&mut order);
        let mut improved = false;
        for &v in &order {
            let v = v as usize;
            let a = self.labels[v];
            let here = self.problem.price(self.labels, v, a);
            let slack = here.abs() * 1e-13;
            let mut best: (f64, u32, Option<usize>) = (-slack, a, None);
            for b in (0..self.problem.k as u32).filter(|&b| b != a) {
                let change = self.shift(a as usize, b as usize, self.problem.weights[v], 0);
                let delta = self.problem.price(self.labels, v, b) - here + Self::charge(price, change);
                if delta < best.0 {
                    best = (delta, b, None);
                }
            }
            let partners = PARTNERS.min(m);
            for i in 0..partners {
                let u = if m <= PARTNERS { i } else { rng.below(m) };
                if let Some(delta) = self.exchange(v, u, price).filter(|&delta| delta < best.0) {
                    best = (delta, self.labels[u], Some(u));
                }
            }
            if best.1 != a {
                improved = true;
                self.put(v, best.1);
                if let Some(u) = best.2 {
                    self.put(u, a);
                }
            }
        }
        improved
    }

    /// What it would bring to exchange v and u.
    fn exchange(&mut self, v: usize, u: usize, price: f64) -> Option<f64> {
        let (a, b) = (self.labels[v], self.labels[u]);
        if a == b {
            return None;
        }
        let before = self.problem.price(self.labels, v, a) + self.problem.price(self.labels, u, b);
        // With both in their new places a link between v and u never counts, before or after.
        self.labels[v] = b;
        self.labels[u] = a;
        let after = self.problem.price(self.labels, v, b) + self.problem.price(self.labels, u, a);
        self.labels[v] = a;
        self.labels[u] = b;
        let change = self.shift(a as usize, b as usize, self.problem.weights[v], self.problem.weights[u]);
        let delta = after - before + Self::charge(price, change);
        (!delta.is_nan()).then_some(delta)
    }

    fn put(&mut self, v: usize, c: u32) {
        self.loads[self.labels[v] as usize] -= self.problem.weights[v];
        self.loads[c as usize] += self.problem.weights[v];
        self.labels[v] = c;
    }

    /// `count` random units to random clusters that are open to them.
    fn shake(&mut self, count: usize, rng: &mut Rng) {
        for _ in 0..count {
            let v = rng.below(self.labels.len());
            let c = rng.below(self.problem.k) as u32;
            if c != self.labels[v] && self.problem.price(self.labels, v, c) < f64::INFINITY {
                self.put(v, c);
            }
        }
    }
}
