//! Greedy placement under penalties (iterated conditional modes): one row at a time takes the cluster in which it costs
//! least given where its partners are, until nothing moves; then whole must-linked groups may move, which single rows
//! cannot do when each would pay for leaving the others. Σ costs + penalties never rises. Used as a [`Place`] of the
//! k-means iteration. Cost per sweep: one visit of every bound row, O(k) plus its partners.

use super::lloyd::{Place, cheapest};
use super::soft::{Broken, Soft};
use crate::context::RunContext;
use crate::error::Result;
use crate::rng::Rng;

/// Not placed yet.
pub const NONE: u32 = u32::MAX;

/// What rows cost beside their distance to a centre.
pub trait Energy {
    /// Adds to `out[h]` what a unit costs in cluster h while its partners are where `labels` says.
    fn add(&self, unit: usize, labels: &[u32], out: &mut [f64]);
    /// Told of every change.
    fn moved(&mut self, _unit: usize, _from: u32, _to: u32) {}
    /// Told where everybody is.
    fn reset(&mut self, _labels: &[u32]) {}
}

/// What is given to [`settle`] beside the penalties.
pub struct Sweep<'a> {
    /// Cost of every unit in every cluster, row-major.
    pub costs: &'a [f64],
    /// Number of clusters.
    pub k: usize,
    /// Who is visited in which order.
    pub order: &'a [u32],
    /// Groups that may move as one.
    pub groups: &'a [Vec<u32>],
    /// Sweeps at most.
    pub most: usize,
}

/// Places the units in order until nothing moves. `labels` may hold [`NONE`]; `energy` knows them.
pub fn settle(energy: &mut dyn Energy, sweep: &Sweep<'_>, labels: &mut [u32]) {
    let k = sweep.k;
    let mut out = vec![0.0; k];
    for _ in 0..sweep.most.max(1) {
        let mut moved = false;
        for &unit in sweep.order {
            let u = unit as usize;
            out.copy_from_slice(&sweep.costs[u * k..(u + 1) * k]);
            energy.add(u, labels, &mut out);
            let (from, to) = (labels[u], cheapest(&out));
            // Of equals the one where it is, so that sweeps end.
            if from == NONE || out[to as usize] < out[from as usize] {
                put(energy, labels, u, to);
                moved = true;
            }
        }
        for group in sweep.groups {
            moved |= move_group(energy, sweep, group, labels, &mut out);
        }
        if !moved {
            break;
        }
    }
}

fn put(energy: &mut dyn Energy, labels: &mut [u32], unit: usize, to: u32) {
    let from = std::mem::replace(&mut labels[unit], to);
    energy.moved(unit, from, to);
}

/// Moves a whole group to the cluster that is best for all of it, if that is better than where its rows are.
fn move_group(energy: &mut dyn Energy, sweep: &Sweep<'_>, group: &[u32], labels: &mut [u32], out: &mut [f64]) -> bool {
    let k = sweep.k;
    let before: Vec<u32> = group.iter().map(|&u| labels[u as usize]).collect();
    let lift = |energy: &mut dyn Energy, labels: &mut [u32]| {
        group.iter().for_each(|&u| put(energy, labels, u as usize, NONE));
    };
    lift(energy, labels);
    let mut together = vec![0.0; k];
    for &u in group {
        together.iter_mut().zip(&sweep.costs[u as usize * k..]).for_each(|(t, c)| *t += c);
        energy.add(u as usize, labels, &mut together);
    }
    let to = cheapest(&together);
    // One by one, so that pairs inside the group count once.
    let mut place = |energy: &mut dyn Energy, labels: &mut [u32], at: &dyn Fn(usize) -> u32| {
        let mut cost = 0.0;
        for (i, &u) in group.iter().enumerate() {
            out.copy_from_slice(&sweep.costs[u as usize * k..(u as usize + 1) * k]);
            energy.add(u as usize, labels, out);
            cost += out[at(i) as usize];
            put(energy, labels, u as usize, at(i));
        }
        cost
    };
    let stay = place(energy, labels, &|i| before[i]);
    if before.iter().all(|&l| l == to) {
        return false;
    }
    lift(energy, labels);
    let go = place(energy, labels, &|_| to);
    if go < stay - 1e-12 * stay.abs() {
        return true;
    }
    lift(energy, labels);
    place(energy, labels, &|i| before[i]);
    false
}

/// How [`Penalised`] goes about it.
#[derive(Debug, Clone, Copy)]
pub struct Manner {
    /// Forget the labels before every placement.
    pub cold: bool,
    /// Sweeps per placement at most.
    pub sweeps: usize,
    /// May whole groups move?
    pub whole: bool,
}

/// Bound rows as units of the k-means iteration, placed under a penalty for every broken constraint.
pub struct Penalised<'a> {
    energy: Broken<'a>,
    k: usize,
    groups: &'a [Vec<u32>],
    manner: Manner,
    order: Vec<u32>,
    rng: Rng,
    last: Vec<u32>,
    penalty: f64,
}

impl<'a> Penalised<'a> {
    /// `factor` · weight for every broken constraint, in units of weighted squared distances.
    pub fn new(soft: &'a Soft, factor: f64, k: usize, manner: Manner, rng: Rng) -> Penalised<'a> {
        let order = (0..soft.rows().len() as u32).collect();
        let groups = if manner.whole { soft.groups() } else { &[] };
        Penalised {
            energy: Broken::new(soft, factor, k),
            k,
            groups,
            manner,
            order,
            rng,
            last: Vec::new(),
            penalty: 0.0,
        }
    }

    fn of(&self, unit: usize) -> Vec<f64> {
        let mut out = vec![0.0; self.k];
        self.energy.add(unit, &self.last, &mut out);
        out
    }
}

impl Place for Penalised<'_> {
    fn place(
        &mut self,
        _: &RunContext,
        costs: &[f64],
        k: usize,
        previous: Option<&[u32]>,
        out: &mut [u32],
    ) -> Result<bool> {
        match previous.filter(|_| !self.manner.cold) {
            Some(previous) => out.copy_from_slice(previous),
            None => out.fill(NONE),
        }
        self.energy.reset(out);
        self.rng.shuffle(&mut self.order);
        let sweep = Sweep { costs, k, order: &self.order, groups: self.groups, most: self.manner.sweeps };
        settle(&mut self.energy, &sweep, out);
        self.last = out.to_vec();
        self.penalty = (0..out.len()).map(|u| self.of(u)[out[u] as usize]).sum::<f64>() / 2.0;
        // A heuristic by nature: nothing to warn of.
        Ok(true)
    }

    fn monotone(&self) -> bool {
        !self.manner.cold
    }

    fn penalty(&self) -> f64 {
        self.penalty
    }

    fn may_leave(&self, unit: usize, to: u32, gain: f64) -> bool {
        let cost = self.of(unit);
        cost[to as usize] - cost[self.last[unit] as usize] <= gain
    }
}
