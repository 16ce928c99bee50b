//! A sum of signed co-memberships H_ij = Σ_t α_t ± q_ti q_tj, + where round t puts i and j together, without the n×n matrix
//! (DistBoost; q is how sure the round is of a row). Of a clustering only A[t][m][h] = Σ_{j∈h, m_tj = m} w_j q_tj are kept:
//! Σ_{j∈h} w_j H_ij = Σ_t α_t q_ti (2·A[t][m_ti][h] − Σ_m A[t][m][h]). Symmetric but indefinite. Memory O(n·T), a sweep of
//! kernel k-means O(n·T·k).

use super::kernel_kmeans::{Feature, Move};
use super::par::Pool;

/// One round: its importance, the component of every row and how sure it is.
#[derive(Debug, Clone)]
pub struct Round {
    /// α.
    pub importance: f64,
    /// m_i.
    pub labels: Vec<u16>,
    /// q_i in 0..1.
    pub sure: Vec<f32>,
}

/// The rows under all rounds.
pub struct Margins {
    rounds: Vec<Round>,
    components: usize,
    weights: Vec<f64>,
}

impl Margins {
    /// Rows with these weights; labels are below `components`.
    pub fn new(rounds: Vec<Round>, components: usize, weights: Vec<f64>) -> Margins {
        Margins { rounds, components, weights }
    }
}

/// A[t][m][h].
pub struct MarginSums {
    k: usize,
    values: Vec<f64>,
}

impl Feature for Margins {
    type Sums = MarginSums;

    fn len(&self) -> usize {
        self.weights.len()
    }
    fn weight(&self, i: usize) -> f64 {
        self.weights[i]
    }
    fn own(&self, i: usize) -> f64 {
        self.rounds.iter().map(|r| r.importance * f64::from(r.sure[i]).powi(2)).sum()
    }
    fn product(&self, i: usize, j: usize) -> f64 {
        let signed = |r: &Round| {
            let size = r.importance * f64::from(r.sure[i]) * f64::from(r.sure[j]);
            if r.labels[i] == r.labels[j] { size } else { -size }
        };
        self.rounds.iter().map(signed).sum()
    }
    fn sums(&self, _: &Pool, labels: &[u32], k: usize) -> MarginSums {
        let mut sums = MarginSums { k, values: vec![0.0; self.rounds.len() * self.components * k] };
        for (i, &h) in labels.iter().enumerate() {
            self.put(&mut sums, i, h, 1.0);
        }
        sums
    }
    fn shift(&self, _: &Pool, sums: &mut MarginSums, moves: &[Move]) {
        for m in moves {
            self.put(sums, m.point as usize, m.from, -1.0);
            self.put(sums, m.point as usize, m.to, 1.0);
        }
    }
    fn products(&self, sums: &MarginSums, i: usize, out: &mut [f64]) {
        out.fill(0.0);
        let k = sums.k;
        for (round, block) in self.rounds.iter().zip(sums.values.chunks_exact(self.components * k)) {
            let size = round.importance * f64::from(round.sure[i]);
            for (m, row) in block.chunks_exact(k).enumerate() {
                let signed = if m == round.labels[i] as usize { size } else { -size };
                out.iter_mut().zip(row).for_each(|(o, a)| *o += signed * a);
            }
        }
    }
    fn squares(&self, sums: &MarginSums, _: &[u32], k: usize) -> Vec<f64> {
        let mut squares = vec![0.0; k];
        for (round, block) in self.rounds.iter().zip(sums.values.chunks_exact(self.components * k)) {
            for (h, square) in squares.iter_mut().enumerate() {
                let column = || block[h..].iter().step_by(k);
                let total: f64 = column().sum();
                *square += round.importance * (2.0 * column().map(|a| a * a).sum::<f64>() - total * total);
            }
        }
        squares
    }
}

impl Margins {
    fn put(&self, sums: &mut MarginSums, i: usize, cluster: u32, sign: f64) {
        for (t, round) in self.rounds.iter().enumerate() {
            let at = (t * self.components + round.labels[i] as usize) * sums.k + cluster as usize;
            sums.values[at] += sign * self.weights[i] * f64::from(round.sure[i]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::blocks::kernel::Gram;
    use crate::blocks::kernel_kmeans::{Clusters, Limits, kernel_kmeans};
    use crate::context::RunContext;
    use crate::rng::Rng;

    #[test]
    fn sums_give_the_labels_and_the_objective_of_the_dense_matrix() {
        let ctx = RunContext::new(0).with_threads(1);
        for case in 0..30 {
            let mut rng = Rng::stream(case, "margins test", 0);
            let (n, k, components) = (8 + rng.below(20), 2 + rng.below(3), 2 + rng.below(3));
            let rounds: Vec<Round> = (0..1 + rng.below(5))
                .map(|_| Round {
                    importance: 0.1 + rng.unit(),
                    labels: (0..n).map(|_| rng.below(components) as u16).collect(),
                    sure: (0..n).map(|_| 0.3 + 0.7 * rng.unit() as f32).collect(),
                })
                .collect();
            let weights: Vec<f64> = (0..n).map(|i| 1.0 + (i % 2) as f64).collect();
            let margins = Margins::new(rounds, components, weights.clone());
            let values = (0..n * n).map(|at| margins.product(at / n, at % n)).collect();
            let dense = Gram::from_values(values, weights);
            assert!((0..n).all(|i| (margins.own(i) - margins.product(i, i)).abs() < 1e-12));
            let start: Vec<u32> = (0..n as u32).map(|i| i % k as u32).collect();
            let a = Clusters::new(&ctx.pool, &margins, start.clone(), k).objective();
            let b = Clusters::new(&ctx.pool, &dense, start.clone(), k).objective();
            assert!((a - b).abs() < 1e-9 * b.abs().max(1.0), "{a} {b}");
            let limits = Limits { max_iter: 100, refine: true };
            let by_sums = kernel_kmeans(&ctx, &margins, start.clone(), k, limits);
            let by_matrix = kernel_kmeans(&ctx, &dense, start, k, limits);
            assert!((by_sums.cost() - by_matrix.cost()).abs() < 1e-9 * by_matrix.cost().abs().max(1.0));
            assert_eq!(by_sums.labels, by_matrix.labels);
        }
    }
}
