//! The assignment step with prices for pairs: minimise Σ cost[u][c_u] + Σ_attracting w·[c_u ≠ c_v] + Σ_repelling w·[c_u = c_v],
//! w = ∞ on hard cannot-links. Pieces of the graph without attraction are left to `assign`. In the others units whose nearest
//! cluster no price can change are fixed first, then the integer programme y_uc ∈ {0, 1}, Σ_c y_uc = 1, z ≥ ±(y_uc − y_vc) and
//! y_uc + y_vc ≤ 1 + z is solved by branch and bound on its linear relaxation (`kinfold_lp`); past a size or a number of nodes the
//! best labelling found by moves of single units stands, reported as not proven.

use super::assign::{Assigner, Stuck};
use crate::context::RunContext;
use kinfold_lp::{Rows, Status, maximise};

/// A price for a pair of units.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Price {
    /// One unit.
    pub a: u32,
    /// The other.
    pub b: u32,
    /// Positive: for being apart. Negative: its size for being together, infinite when that is forbidden.
    pub weight: f64,
}

/// Most variables of one relaxation, and most nodes of one branch and bound.
const MOST_VARIABLES: usize = 1500;
const MOST_NODES: usize = 60;
/// A value this close to 0 or 1 is whole.
const WHOLE: f64 = 1e-4;

/// Prices prepared for many assignments.
#[derive(Debug, Clone)]
pub struct Potts {
    k: usize,
    units: usize,
    /// Everything but attraction; for all units a first labelling, for pieces without attraction the answer.
    base: Assigner,
    pieces: Vec<Piece>,
}

#[derive(Debug, Clone)]
struct Piece {
    units: Vec<u32>,
    /// Neighbours of each (numbers within the piece) with the price.
    arcs: Vec<Vec<(u32, f64)>>,
}

impl Potts {
    /// Prices of one pair are to be added up before; loops and zeros are ignored.
    pub fn new(units: usize, prices: &[Price], k: usize) -> Potts {
        let real = || prices.iter().filter(|p| p.a != p.b && p.weight != 0.0);
        let repelling: Vec<(u32, u32, f64)> =
            real().filter(|p| p.weight < 0.0).map(|p| (p.a, p.b, -p.weight)).collect();
        let mut arcs: Vec<Vec<(u32, f64)>> = vec![Vec::new(); units];
        for p in real() {
            arcs[p.a as usize].push((p.b, p.weight));
            arcs[p.b as usize].push((p.a, p.weight));
        }
        let mut seen = vec![false; units];
        let mut local = vec![0u32; units];
        let mut pieces = Vec::new();
        for u in 0..units {
            if seen[u] || !arcs[u].iter().any(|a| a.1 > 0.0) {
                continue;
            }
            let mut list = vec![u as u32];
            seen[u] = true;
            let mut next = 0;
            while next < list.len() {
                for &(v, _) in &arcs[list[next] as usize] {
                    if !std::mem::replace(&mut seen[v as usize], true) {
                        list.push(v);
                    }
                }
                next += 1;
            }
            list.sort_unstable();
            list.iter().zip(0..).for_each(|(&v, i)| local[v as usize] = i);
            let within = |v: &u32| arcs[*v as usize].iter().map(|&(o, w)| (local[o as usize], w)).collect();
            pieces.push(Piece { arcs: list.iter().map(within).collect(), units: list });
        }
        Potts { k, units, base: Assigner::soft(units, &repelling, k), pieces }
    }

    /// Labels for all units, never dearer than a feasible `previous`; true when that is proven to be the cheapest.
    pub fn assign(
        &mut self,
        ctx: &RunContext,
        costs: &[f64],
        previous: Option<&[u32]>,
        out: &mut [u32],
    ) -> Result<bool, Stuck> {
        let k = self.k;
        debug_assert_eq!(costs.len(), self.units * k);
        let mut proven = self.base.assign(ctx, costs, previous, out)?.exact;
        let solved = ctx.pool.map(self.pieces.len(), |i| {
            let piece = &self.pieces[i];
            let own: Vec<f64> =
                piece.units.iter().flat_map(|&u| &costs[u as usize * k..(u as usize + 1) * k]).copied().collect();
            let pick = |all: &[u32]| piece.units.iter().map(|&u| all[u as usize]).collect::<Vec<u32>>();
            piece.solve(ctx, k, &own, pick(out), previous.map(pick))
        });
        for (piece, (labels, exact)) in self.pieces.iter().zip(solved) {
            piece.units.iter().zip(labels).for_each(|(&u, l)| out[u as usize] = l);
            proven &= exact;
        }
        Ok(proven)
    }
}

/// A set of clusters that each unit may still take, and a lower bound.
#[derive(Clone)]
struct Node {
    allowed: Vec<bool>,
}

impl Piece {
    fn energy(&self, k: usize, costs: &[f64], labels: &[u32]) -> f64 {
        let mut total = 0.0;
        for (u, &l) in labels.iter().enumerate() {
            total += costs[u * k + l as usize];
            for &(v, w) in self.arcs[u].iter().filter(|a| a.0 as usize > u) {
                total += pair_price(w, labels[v as usize] == l);
            }
        }
        total
    }

    fn solve(
        &self,
        ctx: &RunContext,
        k: usize,
        costs: &[f64],
        start: Vec<u32>,
        previous: Option<Vec<u32>>,
    ) -> (Vec<u32>, bool) {
        let mut best = (f64::INFINITY, start.clone());
        for mut labels in [Some(start), previous].into_iter().flatten() {
            self.descend(k, costs, &mut labels);
            let energy = self.energy(k, costs, &labels);
            if energy < best.0 {
                best = (energy, labels);
            }
        }
        let mut root = Node { allowed: costs.iter().map(|c| c.is_finite()).collect() };
        self.fix(k, costs, &mut root.allowed);
        let open = root.allowed.chunks(k).filter(|row| row.iter().filter(|a| **a).count() > 1).count();
        if open == 0 && best.0.is_finite() {
            let labels = whole(&root.allowed, k);
            return (if self.energy(k, costs, &labels) < best.0 { labels } else { best.1 }, true);
        }
        if open * k > MOST_VARIABLES {
            return (best.1, false);
        }
        let mut stack = vec![root];
        let mut nodes = 0;
        while let Some(mut node) = stack.pop() {
            nodes += 1;
            if nodes > MOST_NODES || ctx.checkpoint().is_err() {
                return (best.1, false);
            }
            self.fix(k, costs, &mut node.allowed);
            if node.allowed.chunks(k).any(|row| !row.contains(&true)) {
                continue;
            }
            let (bound, shares) = match self.relaxed(k, costs, &node.allowed) {
                Relaxed::Empty => continue,
                Relaxed::Failed => return (best.1, false),
                Relaxed::Found(bound, shares) => (bound, shares),
            };
            if bound >= best.0 - 1e-7 * (1.0 + best.0.abs()) {
                continue;
            }
            let mut labels: Vec<u32> = shares.chunks(k).map(largest).collect();
            let mut energy = self.energy(k, costs, &labels);
            if energy.is_finite() {
                self.descend(k, costs, &mut labels);
                energy = self.energy(k, costs, &labels);
            }
            if energy < best.0 {
                best = (energy, labels);
            }
            let share = |u: usize| shares[u * k + largest(&shares[u * k..(u + 1) * k]) as usize];
            let vague = (0..self.units.len()).min_by(|&a, &b| share(a).total_cmp(&share(b)).then(a.cmp(&b)));
            let Some(u) = vague.filter(|&u| share(u) < 1.0 - WHOLE) else { continue };
            let l = largest(&shares[u * k..(u + 1) * k]) as usize;
            let mut without = node.clone();
            without.allowed[u * k + l] = false;
            node.allowed[u * k..(u + 1) * k].fill(false);
            node.allowed[u * k + l] = true;
            stack.push(without);
            stack.push(node);
        }
        (best.1, true)
    }

    /// Single units to wherever they cost least, until none moves. Forbidden pairs stay apart.
    fn descend(&self, k: usize, costs: &[f64], labels: &mut [u32]) {
        let mut price = vec![0.0; k];
        for _ in 0..100 {
            let mut moved = false;
            for u in 0..labels.len() {
                price.copy_from_slice(&costs[u * k..(u + 1) * k]);
                for &(v, w) in &self.arcs[u] {
                    let there = labels[v as usize] as usize;
                    if w > 0.0 {
                        price.iter_mut().enumerate().filter(|(c, _)| *c != there).for_each(|(_, p)| *p += w);
                    } else {
                        price[there] -= w;
                    }
                }
                let now = labels[u] as usize;
                let to = super::lloyd::cheapest(&price) as usize;
                if price[to] < price[now] - 1e-12 * (1.0 + price[to].abs()) {
                    labels[u] = to as u32;
                    moved = true;
                }
            }
            if !moved {
                break;
            }
        }
    }

    /// Strikes out clusters that no choice of the neighbours can make worth their cost, and those that a settled neighbour
    /// forbids, until nothing changes. A cluster goes when some other is cheaper by more than all prices that may differ.
    fn fix(&self, k: usize, costs: &[f64], allowed: &mut [bool]) {
        loop {
            let mut changed = false;
            for u in 0..self.units.len() {
                let single = |v: usize| {
                    let row = &allowed[v * k..(v + 1) * k];
                    (row.iter().filter(|a| **a).count() == 1).then(|| row.iter().position(|a| *a).unwrap_or(0))
                };
                if single(u).is_some() {
                    continue;
                }
                let (mut price, mut open, mut bound) = (costs[u * k..(u + 1) * k].to_vec(), 0.0, false);
                for &(v, w) in &self.arcs[u] {
                    match single(v as usize) {
                        Some(there) if w > 0.0 => {
                            price.iter_mut().enumerate().filter(|(c, _)| *c != there).for_each(|(_, p)| *p += w);
                        }
                        Some(there) => price[there] -= w,
                        None if w == f64::NEG_INFINITY => bound = true,
                        None => open += w.abs(),
                    }
                }
                let may = |c: usize| allowed[u * k + c] && price[c].is_finite();
                let least = (0..k).filter(|&c| may(c)).map(|c| price[c]).fold(f64::INFINITY, f64::min);
                // Next to an open hard cannot-link the cheap cluster may be taken: only forbidden ones go.
                let limit = if bound { f64::INFINITY } else { least + open };
                let strike: Vec<usize> =
                    (0..k).filter(|&c| allowed[u * k + c] && (!price[c].is_finite() || price[c] > limit)).collect();
                changed |= !strike.is_empty();
                strike.iter().for_each(|&c| allowed[u * k + c] = false);
            }
            if !changed {
                return;
            }
        }
    }

    /// The linear relaxation.
    fn relaxed(&self, k: usize, costs: &[f64], allowed: &[bool]) -> Relaxed {
        let mut at = vec![u32::MAX; allowed.len()];
        let mut objective = Vec::new();
        for (i, _) in allowed.iter().enumerate().filter(|(_, a)| **a) {
            at[i] = objective.len() as u32;
            objective.push(-costs[i]);
        }
        let chosen = objective.len();
        let mut rows = Rows::new();
        for u in 0..self.units.len() {
            let own = || (u * k..(u + 1) * k).filter(|&i| allowed[i]).map(|i| at[i]);
            rows.push(own().map(|j| (j, 1.0)), 1.0);
            rows.push(own().map(|j| (j, -1.0)), -1.0);
            own().for_each(|j| rows.push([(j, -1.0)], 0.0));
            for &(v, w) in self.arcs[u].iter().filter(|a| a.0 as usize > u) {
                let v = v as usize;
                let z = objective.len() as u32;
                if w.is_finite() {
                    objective.push(-w.abs());
                    rows.push([(z, -1.0)], 0.0);
                }
                for c in 0..k {
                    let (x, y) = (at[u * k + c], at[v * k + c]);
                    let entry = |j: u32, sign: f64| (j != u32::MAX).then_some((j, sign));
                    if w > 0.0 {
                        for (p, q) in [(x, y), (y, x)] {
                            if p != u32::MAX {
                                rows.push([entry(p, 1.0), entry(q, -1.0), Some((z, -1.0))].into_iter().flatten(), 0.0);
                            }
                        }
                    } else if x != u32::MAX && y != u32::MAX {
                        let slack = w.is_finite().then_some((z, -1.0));
                        rows.push([entry(x, 1.0), entry(y, 1.0), slack].into_iter().flatten(), 1.0);
                    }
                }
            }
        }
        let solved = maximise(&objective, &rows, None);
        match solved.status {
            Status::Solved => {}
            Status::Infeasible => return Relaxed::Empty,
            _ => return Relaxed::Failed,
        }
        let shares = at.iter().map(|&j| if (j as usize) < chosen { solved.x[j as usize] } else { 0.0 }).collect();
        Relaxed::Found(-solved.value, shares)
    }
}

enum Relaxed {
    Found(f64, Vec<f64>),
    Empty,
    Failed,
}

fn pair_price(w: f64, together: bool) -> f64 {
    match (w > 0.0, together) {
        (true, false) => w,
        (false, true) => -w,
        _ => 0.0,
    }
}

fn largest(row: &[f64]) -> u32 {
    (1..row.len()).fold(0, |best, c| if row[c] > row[best] { c } else { best }) as u32
}

/// The one cluster left to each.
fn whole(allowed: &[bool], k: usize) -> Vec<u32> {
    allowed.chunks(k).map(|row| row.iter().position(|a| *a).unwrap_or(0) as u32).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Rng;

    /// The least energy over all labellings.
    fn enumerated(units: usize, k: usize, costs: &[f64], prices: &[Price]) -> f64 {
        let mut best = f64::INFINITY;
        for code in 0..k.pow(units as u32) {
            let labels: Vec<u32> = (0..units).map(|u| (code / k.pow(u as u32) % k) as u32).collect();
            let own: f64 = labels.iter().enumerate().map(|(u, &l)| costs[u * k + l as usize]).sum();
            let pairs: f64 =
                prices.iter().map(|p| pair_price(p.weight, labels[p.a as usize] == labels[p.b as usize])).sum();
            best = best.min(own + pairs);
        }
        best
    }

    #[test]
    fn random_prices_equal_enumeration() {
        let ctx = RunContext::new(0).with_threads(1);
        let mut proofs = 0;
        for case in 0..60 {
            let mut rng = Rng::stream(case, "potts test", 0);
            let (units, k) = (3 + rng.below(5), 2 + rng.below(2));
            let costs: Vec<f64> = (0..units * k).map(|_| 3.0 * rng.unit()).collect();
            let mut prices: Vec<Price> = Vec::new();
            for a in 0..units as u32 {
                for b in a + 1..units as u32 {
                    let weight = match rng.below(6) {
                        0 | 1 => 2.0 * rng.unit(),
                        2 => -2.0 * rng.unit(),
                        3 if rng.below(4) == 0 => f64::NEG_INFINITY,
                        _ => 0.0,
                    };
                    prices.push(Price { a, b, weight });
                }
            }
            let best = enumerated(units, k, &costs, &prices);
            let mut labels = vec![0; units];
            let Ok(proven) = Potts::new(units, &prices, k).assign(&ctx, &costs, None, &mut labels) else {
                assert_eq!(best, f64::INFINITY, "case {case}");
                continue;
            };
            let own: f64 = labels.iter().enumerate().map(|(u, &l)| costs[u * k + l as usize]).sum();
            let pairs: f64 =
                prices.iter().map(|p| pair_price(p.weight, labels[p.a as usize] == labels[p.b as usize])).sum();
            assert!(own + pairs >= best - 1e-9);
            if proven {
                proofs += 1;
                assert!((own + pairs - best).abs() < 1e-6, "case {case}: {} {best}", own + pairs);
            }
        }
        assert!(proofs > 45, "{proofs}");
    }
}
