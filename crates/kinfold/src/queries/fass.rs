//! FASS for pairs (after Wei, Iyer & Bilmes 2015, adapted by us): filter the rows whose membership in the current clustering is
//! most uncertain, then choose a batch among them that maximises a submodular function, and place those rows.
//! Memberships p_ic ∝ exp(−d(i, μ_c)²/2s²). `nn`: f(S) = Σ_i max {w(i,s) : s ∈ S, same hypothesised label}; `facility`:
//! without the labels; w = D_max − d. Greedy, 1 − 1/e of the optimum. Cost O(n·filter·batch·dims) per batch.

use super::place::NOWHERE;
use super::{Info, Placing, QueryStrategy, Sight, State, Step};
use crate::error::Result;

crate::choice! {
    /// What a batch maximises.
    pub enum Coverage {
        /// Rows are covered by chosen rows of their own hypothesised label.
        Nn = "nn",
        /// Rows are covered by any chosen row.
        Facility = "facility",
    }
}

crate::params! {
    /// Parameters of `fass`.
    pub struct FassParams {
        /// Rows per batch.
        batch: usize = 10, 1 => 10_000;
        /// Uncertain rows that pass the filter, per row of the batch.
        filter: usize = 10, 1 => 10_000;
        /// What a batch maximises.
        coverage: Coverage = Coverage::Nn;
    }
}

/// See the module.
pub struct Fass(FassParams);

/// Soft memberships of every row in the clusters of a labelling, by distance to the means.
pub(super) fn memberships(sight: &Sight<'_>, labels: &[u32]) -> Vec<Vec<f64>> {
    let k = labels.iter().max().map_or(1, |&m| m as usize + 1);
    let ground = sight.ground;
    let rows = |c: usize| labels.iter().enumerate().filter(move |(_, l)| **l as usize == c).map(|(row, _)| row);
    let centres: Vec<Option<Vec<f64>>> =
        (0..k).map(|c| rows(c).next().is_some().then(|| ground.mean(rows(c)))).collect();
    let own: f64 = labels
        .iter()
        .enumerate()
        .map(|(i, &l)| centres[l as usize].as_ref().map_or(0.0, |c| ground.distance2_to(i, c)))
        .sum();
    let spread = (own / labels.len() as f64).max(1e-300);
    (0..labels.len())
        .map(|i| {
            let d: Vec<f64> =
                centres.iter().map(|c| c.as_ref().map_or(f64::INFINITY, |c| ground.distance2_to(i, c))).collect();
            let least = d.iter().copied().fold(f64::INFINITY, f64::min);
            let mut p: Vec<f64> = d.iter().map(|v| (-(v - least) / (2.0 * spread)).exp()).collect();
            let sum: f64 = p.iter().sum();
            p.iter_mut().for_each(|v| *v /= sum);
            p
        })
        .collect()
}

/// Greedy maximisation of f(S) = Σ_i max_{s ∈ S} weight(i, s) with weight 0 before anything is chosen. Candidates are
/// positions; returns those chosen, in order, and f after each.
pub(super) fn greedy(
    count: usize,
    candidates: usize,
    rows: usize,
    weight: impl Fn(usize, usize) -> f64,
) -> Vec<(usize, f64)> {
    let mut covered = vec![0.0f64; rows];
    let mut chosen: Vec<(usize, f64)> = Vec::new();
    let mut value = 0.0;
    while chosen.len() < count.min(candidates) {
        let mut best: Option<(f64, usize)> = None;
        for s in (0..candidates).filter(|s| chosen.iter().all(|c| c.0 != *s)) {
            let gain: f64 = covered.iter().enumerate().map(|(i, &c)| (weight(i, s) - c).max(0.0)).sum();
            if best.is_none_or(|b| gain > b.0) {
                best = Some((gain, s));
            }
        }
        let Some((gain, s)) = best else { break };
        value += gain;
        covered.iter_mut().enumerate().for_each(|(i, c)| *c = c.max(weight(i, s)));
        chosen.push((s, value));
    }
    chosen
}

impl QueryStrategy for Fass {
    type Params = FassParams;
    const INFO: Info = Info {
        name: "fass",
        summary: "a diverse batch among the rows whose membership is most uncertain",
        paper: "K. Wei, R. Iyer, J. Bilmes, Submodularity in data subset selection and active learning, ICML 2015 (adapted to pairs)",
        refits: true,
        k: "saves the last comparison of each row",
        cost: "O(n·filter·batch) per batch, and a clustering",
    };

    fn new(params: FassParams) -> Result<Self> {
        Ok(Fass(params))
    }

    fn step(&self, sight: &Sight<'_>, state: &mut State) -> Result<Step> {
        state.start(sight);
        loop {
            state.tidy(sight);
            let why = |_: usize, _: usize| {
                "{a} lies between clusters and stands for many; {b} is of the likeliest".to_owned()
            };
            if let Some(step) = state.place(sight, why) {
                return Ok(step);
            }
            let owners = state.owners(sight);
            if let Some(row) = state.queue.pop() {
                if owners[row as usize] == NOWHERE {
                    let order = self.order(sight, state, row);
                    state.placing = Some(Placing { row, order });
                }
                continue;
            }
            if sight.stale(1) {
                return Ok(Step::Refit);
            }
            let free: Vec<u32> = (0..sight.n() as u32).filter(|&r| owners[r as usize] == NOWHERE).collect();
            if free.is_empty() {
                return Ok(sight.nothing_left());
            }
            let Some(partition) = sight.partition else {
                // No clustering to be had: rows in a random order.
                state.queue = free;
                sight.rng("fass").shuffle(&mut state.queue);
                continue;
            };
            state.queue = self.batch(sight, &partition.labels, &free);
            state.queue.reverse();
        }
    }
}

impl Fass {
    fn batch(&self, sight: &Sight<'_>, labels: &[u32], free: &[u32]) -> Vec<u32> {
        let p = memberships(sight, labels);
        let entropy = |row: u32| -> f64 { p[row as usize].iter().filter(|v| **v > 0.0).map(|v| -v * v.log2()).sum() };
        let guess = |row: u32| {
            (0..p[row as usize].len()).rev().max_by(|&a, &b| p[row as usize][a].total_cmp(&p[row as usize][b]))
        };
        let mut filtered: Vec<(f64, u32)> = free.iter().map(|&row| (entropy(row), row)).collect();
        filtered.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
        filtered.truncate(self.0.filter * self.0.batch);
        let mut kept: Vec<u32> = filtered.into_iter().map(|f| f.1).collect();
        kept.sort_unstable();
        let distances: Vec<Vec<f64>> = sight.ground.pool().map(kept.len(), |s| {
            free.iter().map(|&i| sight.ground.distance2(i as usize, kept[s] as usize).sqrt()).collect()
        });
        let largest = distances.iter().flatten().copied().fold(0.0, f64::max);
        let facility = self.0.coverage == Coverage::Facility;
        let of_free: Vec<Option<usize>> = free.iter().map(|&i| guess(i)).collect();
        let of_kept: Vec<Option<usize>> = kept.iter().map(|&s| guess(s)).collect();
        let chosen = greedy(self.0.batch, kept.len(), free.len(), |i, s| {
            if facility || of_free[i] == of_kept[s] { largest - distances[s][i] } else { 0.0 }
        });
        chosen.into_iter().map(|(s, _)| kept[s]).collect()
    }

    /// Neighbourhoods by the membership of the row in their heads' cluster, then by distance.
    fn order(&self, sight: &Sight<'_>, state: &State, row: u32) -> Vec<u32> {
        let nearest = state.heads_by_nearest(sight, row as usize);
        let Some(partition) = sight.partition else { return nearest };
        let p = &memberships(sight, &partition.labels)[row as usize];
        let mut order: Vec<(usize, u32)> = nearest.into_iter().enumerate().collect();
        let of = |head: u32| p[partition.labels[head as usize] as usize];
        order.sort_by(|a, b| of(b.1).total_cmp(&of(a.1)).then(a.0.cmp(&b.0)));
        order.into_iter().map(|o| o.1).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_greedy_batch_as_worked_out() {
        // spec/active.md test 8.
        let x = [0.0f64, 1.0, 2.0, 6.0, 7.0, 9.0];
        let label = [0, 0, 0, 1, 1, 1];
        let candidates = [1usize, 2, 3, 5];
        let w = |i: usize, s: usize| 9.0 - (x[i] - x[candidates[s]]).abs();
        let nn = greedy(3, 4, 6, |i, s| if label[i] == label[candidates[s]] { w(i, s) } else { 0.0 });
        let named: Vec<(usize, f64)> = nn.iter().map(|&(s, f)| (candidates[s], f)).collect();
        assert_eq!(named, [(1, 25.0), (3, 48.0), (5, 51.0)]);
        let facility: Vec<(usize, f64)> = greedy(2, 4, 6, w).iter().map(|&(s, f)| (candidates[s], f)).collect();
        assert_eq!(facility, [(2, 35.0), (3, 47.0)]);
    }
}
