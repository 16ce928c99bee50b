//! NPU (Xiong, Azimi & Fern 2014): the row whose neighbourhood is most uncertain per expected question. Similarity S = share
//! of a random forest's trees, trained to reproduce the current clustering, in which two rows share a leaf;
//! p_c ∝ mean S to N_c, x* = argmax H(p)/E(p), E = Σ r·p_(r) over p sorted (the k-th neighbourhood needs no question).
//! A clustering is asked for after each placed row. Never an n × n matrix: leaves are counted per neighbourhood,
//! O(trees·(n + members)). Above 20,000 rows the forest learns from a sample and 5,000 rows are candidates.

use super::place::NOWHERE;
use super::{Info, Placing, QueryStrategy, Sight, State, Step};
use crate::blocks::forest::Forest;
use crate::blocks::par::Pool;
use crate::constraints::Entailed;
use crate::error::Result;

crate::params! {
    /// Parameters of `npu`.
    pub struct NpuParams {
        /// Trees of the forest.
        trees: usize = 50, 1 => 10_000;
        /// Placed rows after which a new clustering is asked for.
        recluster_every: usize = 1, 1 => 10_000;
        /// Rows that the forest learns from at most.
        sample: usize = 20_000, 10 => 1_000_000;
        /// Rows that are considered at most when there are more than `sample`.
        candidates: usize = 5_000, 10 => 1_000_000;
    }
}

/// See the module.
pub struct Npu(NpuParams);

/// H(p) / E(p): bits per expected question; `closed`: the last neighbourhood needs no question.
pub(super) fn uncertainty(p: &[f64], closed: bool) -> f64 {
    let entropy: f64 = p.iter().filter(|&&v| v > 0.0).map(|v| -v * v.log2()).sum();
    let mut sorted = p.to_vec();
    sorted.sort_by(|a, b| b.total_cmp(a));
    let last = if closed { sorted.len().saturating_sub(1).max(1) } else { sorted.len() };
    let expected: f64 = sorted.iter().enumerate().map(|(r, v)| (r + 1).min(last) as f64 * v).sum();
    if expected > 0.0 { entropy / expected } else { 0.0 }
}

/// q made a probability; all zero becomes uniform over those allowed.
pub(super) fn normalised(mut q: Vec<f64>, allowed: &[bool]) -> Vec<f64> {
    q.iter_mut().zip(allowed).filter(|(_, ok)| !**ok).for_each(|(v, _)| *v = 0.0);
    let sum: f64 = q.iter().sum();
    if sum > 0.0 {
        q.iter_mut().for_each(|v| *v /= sum);
    } else {
        let count = allowed.iter().filter(|ok| **ok).count().max(1) as f64;
        q.iter_mut().zip(allowed).for_each(|(v, ok)| *v = if *ok { 1.0 / count } else { 0.0 });
    }
    q
}

impl QueryStrategy for Npu {
    type Params = NpuParams;
    const INFO: Info = Info {
        name: "npu",
        summary: "the row whose cluster is most uncertain per expected question, by a forest that imitates the clustering",
        paper: "S. Xiong, J. Azimi, X. Z. Fern, Active learning of constraints for semi-supervised clustering, TKDE 2014",
        refits: true,
        k: "saves the last comparison of each row",
        cost: "O(trees·n·log n·√dims) per placed row, and a clustering",
    };

    fn new(params: NpuParams) -> Result<Self> {
        Ok(Npu(params))
    }

    fn step(&self, sight: &Sight<'_>, state: &mut State) -> Result<Step> {
        state.start(sight);
        if state.counts.is_empty() {
            state.counts = vec![self.0.recluster_every as u64];
        }
        loop {
            state.tidy(sight);
            let why = |_: usize, _: usize| "the cluster of {a} is most uncertain; that of {b} is likeliest".to_owned();
            if let Some(step) = state.place(sight, why) {
                return Ok(step);
            }
            let owners = state.owners(sight);
            let mut free: Vec<u32> = (0..sight.n() as u32).filter(|&r| owners[r as usize] == NOWHERE).collect();
            if free.is_empty() {
                return Ok(sight.nothing_left());
            }
            if state.heads.is_empty() {
                state.heads.push(sight.rng("npu").below(sight.n()) as u32);
                continue;
            }
            if state.heads.len() > 1 && state.counts[0] >= self.0.recluster_every as u64 && sight.stale(1) {
                return Ok(Step::Refit);
            }
            let labels = sight.partition.map(|p| p.labels.as_slice()).filter(|_| state.heads.len() > 1);
            let Some(labels) = labels else {
                // One neighbourhood, or no clustering to be had: nothing is more uncertain than what is farthest.
                let seen: Vec<u32> = (0..sight.n() as u32).filter(|&r| owners[r as usize] < NOWHERE - 1).collect();
                let Some(row) = state.farthest(sight.ground, &seen, |row| owners[row] == NOWHERE) else {
                    return Ok(sight.nothing_left());
                };
                let order = state.heads_by_nearest(sight, row);
                state.placing = Some(Placing { row: row as u32, order });
                continue;
            };
            if sight.n() > self.0.sample && free.len() > self.0.candidates {
                let drawn = sight.rng("npu-candidates").sample(free.len(), self.0.candidates);
                free = drawn.into_iter().map(|i| free[i]).collect();
                free.sort_unstable();
            }
            let similar = self.similarities(sight, labels, &owners, state.heads.len(), &free);
            let closed = state.closed(sight);
            let mut best: Option<(f64, u32, Vec<f64>)> = None;
            for (&row, q) in free.iter().zip(similar.chunks_exact(state.heads.len())) {
                let may = |&h: &u32| sight.known.entails(row as usize, h as usize) != Entailed::Different;
                let allowed: Vec<bool> = state.heads.iter().map(may).collect();
                let p = normalised(q.to_vec(), &allowed);
                let score = uncertainty(&p, closed);
                if best.as_ref().is_none_or(|b| score > b.0) {
                    best = Some((score, row, p));
                }
            }
            let Some((_, row, p)) = best else { return Ok(sight.nothing_left()) };
            let mut at: Vec<usize> = (0..p.len()).collect();
            at.sort_by(|&a, &b| p[b].total_cmp(&p[a]).then(a.cmp(&b)));
            state.placing = Some(Placing { row, order: at.iter().map(|&a| state.heads[a]).collect() });
            state.counts[0] = if state.counts[0] >= self.0.recluster_every as u64 { 1 } else { state.counts[0] + 1 };
        }
    }
}

impl Npu {
    /// Mean similarity of each row in `rows` to each neighbourhood.
    fn similarities(&self, sight: &Sight<'_>, labels: &[u32], owners: &[u32], l: usize, rows: &[u32]) -> Vec<f64> {
        let n = sight.n();
        let train: Vec<u32> = if n <= self.0.sample {
            (0..n as u32).collect()
        } else {
            sight.rng("npu-train").sample(n, self.0.sample).into_iter().map(|r| r as u32).collect()
        };
        let seed = sight.seed.wrapping_add(sight.known.answers().wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let forest = Forest::grow(sight.ground.pool(), sight.ground.rows(), labels, &train, self.0.trees, seed);
        similarities(sight.ground.pool(), &forest, owners, l, rows)
    }
}

/// Mean similarity of each row in `rows` to each of `l` neighbourhoods, row by row; `owners` has that of every row, if any.
pub(super) fn similarities(pool: &Pool, forest: &Forest, owners: &[u32], l: usize, rows: &[u32]) -> Vec<f64> {
    let owned: Vec<(usize, usize)> = owners.iter().map(|&o| o as usize).enumerate().filter(|(_, o)| *o < l).collect();
    let mut size = vec![0.0; l];
    owned.iter().for_each(|&(_, o)| size[o] += 1.0);
    let counts: Vec<Vec<f64>> = pool.map(forest.trees(), |t| {
        let mut counts = vec![0.0; forest.nodes(t) * l];
        owned.iter().for_each(|&(row, o)| counts[forest.leaves(t)[row] as usize * l + o] += 1.0);
        counts
    });
    let trees = forest.trees() as f64;
    let mut sums = vec![0.0; rows.len() * l];
    pool.map_chunks_mut(&mut sums, 1024 * l, |start, part| {
        for (&row, sum) in rows[start / l..].iter().zip(part.chunks_exact_mut(l)) {
            for (t, counts) in counts.iter().enumerate() {
                let leaf = forest.leaves(t)[row as usize] as usize;
                sum.iter_mut().zip(&counts[leaf * l..(leaf + 1) * l]).for_each(|(s, c)| *s += c);
            }
            sum.iter_mut().zip(&size).for_each(|(s, z)| *s /= trees * f64::max(*z, 1.0));
        }
    });
    sums
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn uncertainty_per_expected_question_as_worked_out() {
        // spec/active.md test 7.
        let close = |a: f64, b: f64| assert!((a - b).abs() < 1e-6, "{a} {b}");
        let third = 1.0 / 3.0;
        for (p, open, closed) in [
            (vec![0.5, 0.5], 0.666667, 1.0),
            (vec![0.25, 0.75], 0.649022, 0.811278),
            (vec![0.35, 0.4, 0.25], 0.842633, 0.974295),
            (vec![third, third, third], 0.792481, 0.950978),
        ] {
            close(uncertainty(&p, false), open);
            close(uncertainty(&p, true), closed);
        }
        let p = normalised(vec![0.4, 0.2], &[true, true]);
        close(p[0], 2.0 / 3.0);
        close(uncertainty(&p, false), 0.688722);
        assert_eq!(normalised(vec![0.0, 0.0, 0.0], &[true, false, true]), [0.5, 0.0, 0.5]);
    }
}
