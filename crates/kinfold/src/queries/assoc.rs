//! ASSOC: association walks, inspired by ASCENT (Li et al. 2019) but without its network; not a reimplementation.
//! P^LU = softmax over unplaced u of −‖l−u‖²/2τ² for each placed l, P^UL the same the other way. Uncertainty h_u = entropy of
//! q_u(c) = Σ_{l∈c} P^UL_ul, cycle consistency r_u. A batch maximises F(S) = Σ_u h_u·max_s W_us over rows whose cycles are not
//! yet right, and is placed by descending q. The space is relearnt from the answers (whitened inside neighbourhoods).
//! Cost O(L·U·dims) per batch.

use super::explore_consolidate::{Start, explore};
use super::fass::greedy;
use super::place::{NOWHERE, PASSED};
use super::{Info, Placing, QueryStrategy, Sight, State, Step};
use crate::blocks::metric::{Shrinkage, whitened};
use crate::data::Matrix;
use crate::error::Result;

crate::params! {
    /// Parameters of `assoc`.
    pub struct AssocParams {
        /// Rows per batch.
        batch: usize = 10, 1 => 10_000;
        /// Members of a neighbourhood that walk at most, nearest to its mean first.
        walkers: usize = 20, 1 => 10_000;
        /// Width of the steps; 0 = the median distance to the nearest placed row.
        width: f64 = 0.0, 0 => f64::INFINITY;
        /// Relearn the space from the answers.
        relearn: bool = true;
    }
}

/// See the module.
pub struct Assoc(AssocParams);

/// What the walks say about each unplaced row.
pub(super) struct Walks {
    /// P^LU, one row per walker.
    pub out: Vec<Vec<f64>>,
    /// q_u(c) per unplaced row.
    pub q: Vec<Vec<f64>>,
    /// Entropy of q, in bits.
    pub h: Vec<f64>,
    /// Mean probability of being visited.
    pub visits: Vec<f64>,
    /// Cycle consistency.
    pub cycle: Vec<f64>,
}

/// The walks given squared distances between walkers (with classes) and unplaced rows.
pub(super) fn walks(d2: &[Vec<f64>], class: &[usize], classes: usize, width: f64) -> Walks {
    let (l, u) = (d2.len(), d2.first().map_or(0, Vec::len));
    let logit = |d: f64| -d / (2.0 * width * width);
    let softmax = |logits: Vec<f64>| -> Vec<f64> {
        let most = logits.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let e: Vec<f64> = logits.iter().map(|v| (v - most).exp()).collect();
        let sum: f64 = e.iter().sum();
        e.into_iter().map(|v| v / sum).collect()
    };
    let out: Vec<Vec<f64>> = d2.iter().map(|row| softmax(row.iter().map(|&d| logit(d)).collect())).collect();
    let mut walks = Walks { out, q: Vec::new(), h: Vec::new(), visits: Vec::new(), cycle: Vec::new() };
    for at in 0..u {
        let back = softmax((0..l).map(|w| logit(d2[w][at])).collect());
        let mut q = vec![0.0; classes];
        back.iter().zip(class).for_each(|(p, &c)| q[c] += p);
        walks.h.push(q.iter().filter(|v| **v > 0.0).map(|v| -v * v.log2()).sum());
        let visit: f64 = walks.out.iter().map(|row| row[at]).sum();
        walks.visits.push(visit / l as f64);
        let right: f64 = walks.out.iter().zip(class).map(|(row, &c)| row[at] * q[c]).sum();
        walks.cycle.push(if visit > 0.0 { right / visit } else { 0.0 });
        walks.q.push(q);
    }
    walks
}

impl QueryStrategy for Assoc {
    type Params = AssocParams;
    const INFO: Info = Info {
        name: "assoc",
        summary: "rows that random walks from placed rows cannot bring home, as a diverse batch (a stand-in for ASCENT)",
        paper: "after Y. Li et al., ASCENT, TKDE 2019, without its network: our variant",
        refits: false,
        k: "saves the last comparison of each row",
        cost: "O(placed·unplaced·dims) per batch",
    };

    fn new(params: AssocParams) -> Result<Self> {
        Ok(Assoc(params))
    }

    fn step(&self, sight: &Sight<'_>, state: &mut State) -> Result<Step> {
        if state.phase == 0 {
            if let Some(step) = explore(sight, state, Start::Random, Some(2)) {
                return Ok(step);
            }
            state.phase = 1;
            state.passed.clear();
        }
        loop {
            state.tidy(sight);
            let why = |_: usize, _: usize| {
                "walks from placed rows do not agree about {a}; {b} is of the likeliest cluster".to_owned()
            };
            if let Some(step) = state.place(sight, why) {
                return Ok(step);
            }
            let owners = state.owners(sight);
            let free: Vec<u32> = (0..sight.n() as u32).filter(|&r| owners[r as usize] == NOWHERE).collect();
            if free.is_empty() {
                return Ok(sight.nothing_left());
            }
            if state.heads.len() < 2 {
                state.placing = Some(Placing { row: free[0], order: state.heads.clone() });
                continue;
            }
            match state.queue.pop() {
                Some(row) if owners[row as usize] != NOWHERE => {}
                Some(row) => {
                    let w = self.walk(sight, state, &owners, &[row])?;
                    let mut at: Vec<usize> = (0..state.heads.len()).collect();
                    at.sort_by(|&a, &b| w.q[0][b].total_cmp(&w.q[0][a]).then(a.cmp(&b)));
                    state.placing = Some(Placing { row, order: at.iter().map(|&a| state.heads[a]).collect() });
                }
                None => {
                    let w = self.walk(sight, state, &owners, &free)?;
                    state.queue = self.batch(sight, &free, &w);
                    state.queue.reverse();
                }
            }
        }
    }
}

impl Assoc {
    fn walk(&self, sight: &Sight<'_>, state: &State, owners: &[u32], free: &[u32]) -> Result<Walks> {
        let l = state.heads.len();
        let (mut walkers, mut class) = (Vec::new(), Vec::new());
        let mut pairs = false;
        for c in 0..l {
            let rows: Vec<usize> = (0..owners.len()).filter(|&r| owners[r] as usize == c).collect();
            pairs |= rows.len() > 1;
            let mean = sight.ground.mean(rows.iter().copied());
            let mut keyed: Vec<(f64, usize)> =
                rows.into_iter().map(|r| (sight.ground.distance2_to(r, &mean), r)).collect();
            keyed.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
            for &(_, row) in keyed.iter().take(self.0.walkers) {
                walkers.push(row);
                class.push(c);
            }
        }
        let learnt: Option<Matrix> = if self.0.relearn && pairs {
            let group: Vec<u32> =
                owners.iter().enumerate().map(|(r, &o)| if o < PASSED { o } else { (l + r) as u32 }).collect();
            Some(whitened(sight.ground.rows(), &group, l + owners.len(), Shrinkage::RowsPerColumn(1.0))?.0)
        } else {
            None
        };
        let x = learnt.as_ref().unwrap_or(sight.ground.rows());
        let squared = |a: usize, b: usize| x.row(a).iter().zip(x.row(b)).map(|(p, q)| (p - q) * (p - q)).sum::<f64>();
        let d2: Vec<Vec<f64>> =
            sight.ground.pool().map(walkers.len(), |w| free.iter().map(|&u| squared(walkers[w], u as usize)).collect());
        let width = if self.0.width > 0.0 {
            self.0.width
        } else {
            let all: Vec<u32> = (0..owners.len() as u32).filter(|&r| owners[r as usize] == NOWHERE).collect();
            let mut nearest: Vec<f64> = sight
                .ground
                .pool()
                .map(all.len(), |u| walkers.iter().map(|&w| squared(w, all[u] as usize)).fold(f64::INFINITY, f64::min));
            nearest.sort_by(f64::total_cmp);
            nearest.get(nearest.len() / 2).map_or(1.0, |d| d.sqrt()).max(1e-9)
        };
        Ok(walks(&d2, &class, l, width))
    }

    fn batch(&self, sight: &Sight<'_>, free: &[u32], w: &Walks) -> Vec<u32> {
        let mut sorted = w.cycle.clone();
        sorted.sort_by(f64::total_cmp);
        let limit = 0.5 * (1.0 + sorted[sorted.len() / 2]);
        let mut candidates: Vec<usize> = (0..free.len()).filter(|&u| w.cycle[u] <= limit).collect();
        // Greedy takes the first of equals: more visited first, then the lower row.
        candidates.sort_by(|&a, &b| w.visits[b].total_cmp(&w.visits[a]).then(a.cmp(&b)));
        let mut position = vec![usize::MAX; sight.n()];
        free.iter().enumerate().for_each(|(at, &row)| position[row as usize] = at);
        let graph = sight.ground.graph();
        // W is sparse: a row is covered by its neighbours and itself. Symmetric: either direction counts.
        let mut covers: Vec<Vec<(usize, f64)>> = (0..free.len()).map(|u| vec![(u, 1.0)]).collect();
        for (at, &row) in free.iter().enumerate() {
            for (other, affinity) in graph.of(row as usize).filter(|(o, _)| position[*o] != usize::MAX) {
                covers[at].push((position[other], affinity));
                covers[position[other]].push((at, affinity));
            }
        }
        if candidates.len() > 400 || free.len() > 4000 {
            // Greedy by gain over the sparse covers, without the dense table.
            return sparse_greedy(self.0.batch, &candidates, &covers, &w.h).into_iter().map(|u| free[u]).collect();
        }
        let dense: Vec<Vec<f64>> = candidates
            .iter()
            .map(|&s| {
                let mut row = vec![0.0f64; free.len()];
                covers[s].iter().for_each(|&(u, a)| row[u] = row[u].max(a * w.h[u]));
                row
            })
            .collect();
        let chosen = greedy(self.0.batch, candidates.len(), free.len(), |i, s| dense[s][i]);
        chosen.into_iter().map(|(s, _)| free[candidates[s]]).collect()
    }
}

fn sparse_greedy(count: usize, candidates: &[usize], covers: &[Vec<(usize, f64)>], h: &[f64]) -> Vec<usize> {
    let mut covered = vec![0.0f64; h.len()];
    let mut chosen = Vec::new();
    while chosen.len() < count.min(candidates.len()) {
        let gain = |s: usize| covers[s].iter().map(|&(u, a)| (a * h[u] - covered[u]).max(0.0)).sum::<f64>();
        let mut best: Option<(f64, usize)> = None;
        for &s in candidates.iter().filter(|s| !chosen.contains(*s)) {
            let g = gain(s);
            if best.is_none_or(|b| g > b.0) {
                best = Some((g, s));
            }
        }
        let Some((_, s)) = best else { break };
        covers[s].iter().for_each(|&(u, a)| covered[u] = covered[u].max(a * h[u]));
        chosen.push(s);
    }
    chosen
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn walks_between_two_placed_rows_as_worked_out() {
        // spec/active.md test 9.
        let (l, u) = ([0.0f64, 10.0], [1.0f64, 5.0, 9.0]);
        let d2: Vec<Vec<f64>> = l.iter().map(|a| u.iter().map(|b| (a - b) * (a - b)).collect()).collect();
        let w = walks(&d2, &[0, 1], 2, 3.0);
        let close = |a: &[f64], b: &[f64]| assert!(a.iter().zip(b).all(|(x, y)| (x - y).abs() < 1e-6), "{a:?} {b:?}");
        close(&w.out[0], &[0.784104, 0.206688, 0.009208]);
        close(&[w.q[0][0]], &[0.988393]);
        let round: f64 = (0..3).map(|i| w.out[0][i] * w.q[i][0]).sum();
        close(&[round], &[0.878454]);
        close(&w.h, &[0.091270, 1.0, 0.091270]);
        close(&w.visits, &[0.396656, 0.206688, 0.396656]);
        close(&w.cycle, &[0.977055, 0.5, 0.977055]);
    }
}
