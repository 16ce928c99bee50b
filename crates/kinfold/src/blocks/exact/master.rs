//! The master programme in its dual form, max Σ λ − kσ with Σ_C λ − σ ≤ cost(C) for known clusters C and λ in boxes; the
//! multipliers of the rows are the weights of the clusters. Clusters far from being useful are put aside.

use kinfold_lp::{Rows, Status, maximise};
use std::time::Duration;

use super::descent;
use super::masses::{Masses, Sum, members};
use super::pricing::Prices;

/// Boxes widen by at least this.
const STEP: f64 = 0.1;
/// A multiplier above this means that a box is in the way.
const BINDING: f64 = 1e-5;
/// Weights of clusters below this, or this close to one, are rounding.
const WHOLE: f64 = 1e-4;

/// The range of every λ.
#[derive(Debug, Clone)]
pub struct Boxes {
    low: Vec<f64>,
    high: Vec<f64>,
}

impl Boxes {
    /// What λ would be if this labelling were optimal and the programme tight: leaving C must not pay for its own
    /// saving, joining another must not cost less.
    pub fn of_labels(masses: &Masses, k: usize, labels: &[u32]) -> Boxes {
        let sets = members(labels, k);
        let sums: Vec<Sum> = sets.iter().map(|s| masses.sum(s)).collect();
        let unused = sets.iter().any(Vec::is_empty);
        let (mut low, mut high) = (Vec::new(), Vec::new());
        for (b, &own) in labels.iter().enumerate() {
            let mut without = sums[own as usize].clone();
            without.remove(masses, b);
            let least = (sums[own as usize].cost() - without.cost()).max(0.0);
            let mut most = if unused { masses.scatter[b] } else { f64::INFINITY };
            for h in (0..k).filter(|&h| h != own as usize && sums[h].count > 0) {
                if !masses.apart(b).iter().any(|&x| labels[x as usize] == h as u32) {
                    let mut with = sums[h].clone();
                    with.add(masses, b);
                    most = most.min(with.cost() - sums[h].cost());
                }
            }
            let most = if most.is_finite() { most.max(least) } else { 2.0 * least + 1.0 };
            low.push((least - 1e-6).max(0.0));
            high.push(most + 1e-6);
        }
        Boxes { low, high }
    }

    /// Two masses become one: a's box takes in b's, later ones move up.
    pub fn joined(&self, a: usize, b: usize) -> Boxes {
        let mut joined = self.clone();
        joined.low[a] += joined.low.remove(b);
        joined.high[a] += joined.high.remove(b);
        joined
    }

    /// Gives way where the solution leans on a box; false when it leans on none.
    pub fn widen(&mut self, solution: &Weighted, masses: &Masses) -> bool {
        let cap: f64 = masses.own.iter().sum::<f64>() + 1.0;
        let mut widened = false;
        for b in 0..self.low.len() {
            let step = (self.high[b] - self.low[b]).max(STEP);
            if solution.above[b] > BINDING && self.high[b] < cap {
                self.high[b] = (self.high[b] + step).min(cap);
                widened = true;
            }
            if solution.below[b] > BINDING && self.low[b] > 0.0 {
                self.low[b] = (self.low[b] - step).max(0.0);
                widened = true;
            }
        }
        widened
    }
}

/// A solution of the master programme.
#[derive(Debug, Clone)]
pub struct Weighted {
    /// λ and σ.
    pub prices: Prices,
    /// Weight of every active cluster.
    weights: Vec<f64>,
    above: Vec<f64>,
    below: Vec<f64>,
}

impl Prices {
    /// The share `a` of `other` and the rest of these.
    pub fn between(&self, other: &Prices, a: f64) -> Prices {
        let mix = |x: f64, y: f64| a * y + (1.0 - a) * x;
        Prices {
            blocks: self.blocks.iter().zip(&other.blocks).map(|(x, y)| mix(*x, *y)).collect(),
            cluster: mix(self.cluster, other.cluster),
        }
    }
}

/// The clusters known at a node.
pub struct Master {
    k: usize,
    blocks: usize,
    active: Vec<(Vec<u32>, f64)>,
    aside: Vec<(Vec<u32>, f64)>,
}

impl Master {
    /// None known.
    pub fn new(masses: &Masses, k: usize) -> Master {
        Master { k, blocks: masses.len(), active: Vec::new(), aside: Vec::new() }
    }

    /// One more cluster.
    pub fn add(&mut self, masses: &Masses, members: Vec<u32>) {
        let cost = masses.cost(&members);
        self.active.push((members, cost));
    }

    /// Centres of the newest clusters.
    pub fn recent(&self, masses: &Masses) -> Vec<Vec<f64>> {
        self.active.iter().rev().take(60).map(|c| masses.sum(&c.0).mean()).collect()
    }

    /// What one solution costs, in candidates of pricing.
    pub fn effort(&self) -> u64 {
        let (b, filled) = (self.blocks as u64, self.active.iter().map(|c| c.0.len() as u64).sum::<u64>());
        // Some 15 factorisations, a few operations a candidate.
        b * b * b / 2 + b * filled
    }

    /// `None` when the solver ran out of time or failed.
    pub fn solve(&mut self, boxes: &Boxes, limit: Option<Duration>) -> Option<Weighted> {
        let n = self.blocks;
        loop {
            let mut rows = Rows::new();
            for (members, cost) in &self.active {
                rows.push(members.iter().map(|&b| (b, 1.0)).chain([(n as u32, -1.0)]), *cost);
            }
            rows.push([(n as u32, -1.0)], 0.0);
            for b in 0..n {
                rows.push([(b as u32, 1.0)], boxes.high[b]);
                rows.push([(b as u32, -1.0)], -boxes.low[b]);
            }
            let mut objective = vec![1.0; n + 1];
            objective[n] = -(self.k as f64);
            let solved = maximise(&objective, &rows, limit);
            if !matches!(solved.status, Status::Solved | Status::Rough) {
                return None;
            }
            let prices = Prices {
                blocks: (0..n).map(|b| solved.x[b].clamp(boxes.low[b], boxes.high[b]).max(0.0)).collect(),
                cluster: solved.x[n].max(0.0),
            };
            let count = self.active.len();
            let box_rows = &solved.multipliers[count + 1..];
            let weighted = Weighted {
                weights: solved.multipliers[..count].to_vec(),
                above: (0..n).map(|b| box_rows[2 * b]).collect(),
                below: (0..n).map(|b| box_rows[2 * b + 1]).collect(),
                prices,
            };
            // A cluster that was put aside may be wanted again.
            let wanted = |(m, cost): &(Vec<u32>, f64)| {
                cost - m.iter().map(|&b| weighted.prices.blocks[b as usize]).sum::<f64>() + weighted.prices.cluster
                    < -1e-7
            };
            let (back, stay): (Vec<_>, Vec<_>) = self.aside.drain(..).partition(wanted);
            self.aside = stay;
            if back.is_empty() {
                return Some(self.trimmed(weighted));
            }
            self.active.extend(back);
        }
    }

    /// Puts the clusters of largest reduced cost aside when there are many.
    fn trimmed(&mut self, mut weighted: Weighted) -> Weighted {
        let (most, keep) = (6 * self.blocks + 300, 3 * self.blocks + 150);
        if self.active.len() <= most {
            return weighted;
        }
        let prices = &weighted.prices;
        let value = |c: &(Vec<u32>, f64)| c.1 - c.0.iter().map(|&b| prices.blocks[b as usize]).sum::<f64>();
        let mut order: Vec<(f64, usize)> = self.active.iter().map(value).zip(0..).collect();
        order.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        let mut kept: Vec<usize> = order[..keep].iter().map(|o| o.1).collect();
        kept.sort_unstable();
        let mut stays = vec![false; self.active.len()];
        kept.iter().for_each(|&i| stays[i] = true);
        let all = std::mem::take(&mut self.active);
        for (i, cluster) in all.into_iter().enumerate() {
            if stays[i] { &mut self.active } else { &mut self.aside }.push(cluster);
        }
        weighted.weights = kept.iter().map(|&i| weighted.weights[i]).collect();
        weighted
    }

    /// A labelling near the solution.
    pub fn rounded(&self, masses: &Masses, k: usize, solution: &Weighted) -> Option<Vec<u32>> {
        let weighted = solution.weights.iter().zip(&self.active).filter(|(w, _)| **w > WHOLE);
        descent::round(masses, k, weighted.map(|(w, c)| (*w, c.0.as_slice())).collect())
    }

    /// The two masses whose weight of being together is nearest to one half.
    pub fn undecided(&self, masses: &Masses, solution: &Weighted) -> Option<(u32, u32)> {
        let n = masses.len();
        let mut together = vec![0.0; n * n];
        for (&w, (members, _)) in solution.weights.iter().zip(&self.active).filter(|(w, _)| **w > WHOLE) {
            for (i, &a) in members.iter().enumerate() {
                members[i + 1..].iter().for_each(|&b| together[a as usize * n + b as usize] += w);
            }
        }
        let pairs = (0..n).flat_map(|a| (a + 1..n).map(move |b| (a, b)));
        let (off, a, b) = pairs
            .filter(|&(a, b)| !masses.are_apart(a, b))
            .map(|(a, b)| ((together[a * n + b] - 0.5).abs(), a as u32, b as u32))
            .min_by(|x, y| x.0.total_cmp(&y.0).then((x.1, x.2).cmp(&(y.1, y.2))))?;
        (off < 0.5 - WHOLE).then_some((a, b))
    }
}
