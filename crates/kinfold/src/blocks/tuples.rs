//! A sum of partition kernels K = Σ_t α_t H_t H_tᵀ (Okabe & Yamada 2018, step 13) without the n×n matrix: K_ij is the
//! total α of the rounds that put i and j together, so a row *is* its tuple of round labels. Rows with equal tuples are
//! one weighted point. Of a clustering only counts[t][q][h] = weight of the points of cluster h with label q in round t
//! are kept: Σ_{j∈h} w_j K_ij = Σ_t α_t counts[t][l_t(i)][h]. Memory O(n + U·T + T·k²) for U distinct tuples, a sweep of
//! kernel k-means O(U·T·k).

use rustc_hash::FxHashMap;

use super::kernel_kmeans::{Feature, Move};
use super::par::Pool;

/// The distinct tuples with their weights.
#[derive(Debug, Clone)]
pub struct Tuples {
    rounds: usize,
    /// Labels of the points, point after point.
    labels: Vec<u16>,
    /// One more than the largest label.
    clusters: usize,
    importance: Vec<f64>,
    weights: Vec<f64>,
    point_of: Vec<u32>,
    own: f64,
}

impl Tuples {
    /// Collapses the labels of several rounds; `weights` has one entry per row. Rounds of importance 0 are dropped.
    pub fn new(rounds: &[(f64, Vec<u16>)], weights: &[f64]) -> Tuples {
        let kept: Vec<&(f64, Vec<u16>)> = rounds.iter().filter(|(alpha, _)| *alpha > 0.0).collect();
        let mut seen: FxHashMap<Vec<u16>, u32> = FxHashMap::default();
        let (mut labels, mut totals) = (Vec::new(), Vec::new());
        let mut tuple = vec![0u16; kept.len()];
        let mut point_of = Vec::with_capacity(weights.len());
        for (row, &w) in weights.iter().enumerate() {
            tuple.iter_mut().zip(&kept).for_each(|(l, (_, round))| *l = round[row]);
            let point = match seen.get(&tuple) {
                Some(&point) => point,
                None => {
                    let point = totals.len() as u32;
                    seen.insert(tuple.clone(), point);
                    labels.extend_from_slice(&tuple);
                    totals.push(0.0);
                    point
                }
            };
            totals[point as usize] += w;
            point_of.push(point);
        }
        let clusters = labels.iter().copied().max().map_or(1, |l| l as usize + 1);
        let importance: Vec<f64> = kept.iter().map(|(alpha, _)| *alpha).collect();
        let own = importance.iter().sum();
        Tuples { rounds: kept.len(), labels, clusters, importance, weights: totals, point_of, own }
    }

    /// The labels of the rows from those of the points.
    pub fn spread(&self, point_labels: &[u32]) -> Vec<u32> {
        self.point_of.iter().map(|&p| point_labels[p as usize]).collect()
    }

    fn products_of<const K: usize>(&self, sums: &TupleSums, i: usize, out: &mut [f64]) {
        let mut total = [0.0; K];
        let rounds = sums.counts.chunks_exact(self.clusters * K);
        for ((&q, alpha), round) in self.tuple(i).iter().zip(&self.importance).zip(rounds) {
            if let Some(counts) = round[q as usize * K..].first_chunk::<K>() {
                total.iter_mut().zip(counts).for_each(|(t, c)| *t += alpha * c);
            }
        }
        out.copy_from_slice(&total);
    }

    fn tuple(&self, i: usize) -> &[u16] {
        &self.labels[i * self.rounds..(i + 1) * self.rounds]
    }
}

/// counts[t][q][h].
pub struct TupleSums {
    k: usize,
    counts: Vec<f64>,
}

impl Feature for Tuples {
    type Sums = TupleSums;

    fn len(&self) -> usize {
        self.weights.len()
    }
    fn weight(&self, i: usize) -> f64 {
        self.weights[i]
    }
    fn own(&self, _: usize) -> f64 {
        self.own
    }
    fn product(&self, i: usize, j: usize) -> f64 {
        let pairs = self.tuple(i).iter().zip(self.tuple(j));
        pairs.zip(&self.importance).map(|((a, b), alpha)| if a == b { *alpha } else { 0.0 }).sum()
    }
    fn sums(&self, _: &Pool, labels: &[u32], k: usize) -> TupleSums {
        let mut counts = vec![0.0; self.rounds * self.clusters * k];
        for (i, &h) in labels.iter().enumerate() {
            for (t, &q) in self.tuple(i).iter().enumerate() {
                counts[(t * self.clusters + q as usize) * k + h as usize] += self.weights[i];
            }
        }
        TupleSums { k, counts }
    }
    fn shift(&self, _: &Pool, sums: &mut TupleSums, moves: &[Move]) {
        for m in moves {
            let w = self.weights[m.point as usize];
            for (t, &q) in self.tuple(m.point as usize).iter().enumerate() {
                let at = (t * self.clusters + q as usize) * sums.k;
                sums.counts[at + m.from as usize] -= w;
                sums.counts[at + m.to as usize] += w;
            }
        }
    }
    fn products(&self, sums: &TupleSums, i: usize, out: &mut [f64]) {
        // A small number of clusters stays in registers.
        match sums.k {
            2 => self.products_of::<2>(sums, i, out),
            3 => self.products_of::<3>(sums, i, out),
            4 => self.products_of::<4>(sums, i, out),
            5 => self.products_of::<5>(sums, i, out),
            6 => self.products_of::<6>(sums, i, out),
            7 => self.products_of::<7>(sums, i, out),
            8 => self.products_of::<8>(sums, i, out),
            k => {
                out.fill(0.0);
                for ((t, &q), alpha) in self.tuple(i).iter().enumerate().zip(&self.importance) {
                    let at = (t * self.clusters + q as usize) * k;
                    out.iter_mut().zip(&sums.counts[at..at + k]).for_each(|(o, c)| *o += alpha * c);
                }
            }
        }
    }
    fn squares(&self, sums: &TupleSums, _: &[u32], k: usize) -> Vec<f64> {
        let mut squares = vec![0.0; k];
        for (round, alpha) in sums.counts.chunks_exact(self.clusters * k).zip(&self.importance) {
            for row in round.chunks_exact(k) {
                squares.iter_mut().zip(row).for_each(|(s, c)| *s += alpha * c * c);
            }
        }
        squares
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::blocks::kernel::Gram;
    use crate::blocks::kernel_kmeans::{Clusters, Init, Limits, kernel_kmeans, start};
    use crate::context::RunContext;
    use crate::rng::Rng;

    fn dense(rounds: &[(f64, Vec<u16>)], weights: &[f64]) -> Gram {
        let n = weights.len();
        let mut values = vec![0.0; n * n];
        for (alpha, labels) in rounds {
            for i in 0..n {
                for j in 0..n {
                    values[i * n + j] += if labels[i] == labels[j] { *alpha } else { 0.0 };
                }
            }
        }
        Gram::from_values(values, weights.to_vec())
    }

    fn random_rounds(n: usize, rounds: usize, k: usize, rng: &mut Rng) -> Vec<(f64, Vec<u16>)> {
        // Few distinct groups, so that tuples repeat.
        let groups: Vec<usize> = (0..n).map(|_| rng.below(n / 3)).collect();
        (0..rounds)
            .map(|_| {
                let of_group: Vec<u16> = (0..n / 3).map(|_| rng.below(k) as u16).collect();
                (0.1 + rng.unit(), groups.iter().map(|&g| of_group[g]).collect())
            })
            .collect()
    }

    #[test]
    fn tuples_give_the_labels_and_the_objective_of_the_dense_kernel_from_the_same_start() {
        let ctx = RunContext::new(0).with_threads(1);
        for case in 0..60 {
            let mut rng = Rng::stream(case, "tuples test", 0);
            let n = 12 + rng.below(40);
            let k = 2 + rng.below(3);
            let count = 1 + rng.below(8);
            let rounds = random_rounds(n, count, k, &mut rng);
            let weights: Vec<f64> = (0..n).map(|i| 1.0 + if case % 2 == 0 { 0.0 } else { (i % 3) as f64 }).collect();
            let tuples = Tuples::new(&rounds, &weights);
            let whole = dense(&rounds, &weights);
            assert!(tuples.len() <= n / 3 && tuples.len() >= 2, "{} of {n}", tuples.len());
            let start = start(&ctx.pool, &tuples, k.min(tuples.len()), Init::KmeansPlusPlus, &mut rng);
            for refine in [false, true] {
                let limits = Limits { max_iter: 300, refine };
                let by_tuples = kernel_kmeans(&ctx, &tuples, start.clone(), k, limits);
                let labels = tuples.spread(&by_tuples.labels);
                let objective = Clusters::new(&ctx.pool, &whole, labels.clone(), k).objective();
                assert!((objective - by_tuples.cost()).abs() < 1e-9, "case {case}");
                if !refine {
                    let by_matrix = kernel_kmeans(&ctx, &whole, tuples.spread(&start), k, limits);
                    assert!((by_matrix.cost() - by_tuples.cost()).abs() < 1e-9, "case {case}");
                    assert_eq!(by_matrix.labels, labels, "case {case}");
                }
            }
        }
    }

    #[test]
    fn inner_products_are_those_of_the_matrix() {
        let mut rng = Rng::stream(4, "tuples test", 1);
        let rounds = random_rounds(30, 6, 3, &mut rng);
        let tuples = Tuples::new(&rounds, &[1.0; 30]);
        let whole = dense(&rounds, &[1.0; 30]);
        for i in 0..30 {
            for j in 0..30 {
                let (a, b) = (tuples.point_of[i] as usize, tuples.point_of[j] as usize);
                assert!((tuples.product(a, b) - whole.row(i)[j]).abs() < 1e-12);
            }
        }
    }

    #[test]
    fn one_round_comes_back_at_no_cost_and_a_dominating_round_wins() {
        let ctx = RunContext::new(0).with_threads(1);
        let partition = vec![0u16, 2, 1, 1, 0, 2, 2];
        let limits = Limits { max_iter: 300, refine: false };
        for rounds in [
            vec![(2.0, partition.clone())],
            vec![(0.3, vec![0, 0, 1, 2, 1, 0, 2]), (0.0, vec![0; 7]), (100.0, partition.clone())],
        ] {
            let tuples = Tuples::new(&rounds, &[1.0; 7]);
            let start = start(&ctx.pool, &tuples, 3, Init::FarthestFirst, &mut ctx.rng("x", 0));
            let labels = tuples.spread(&kernel_kmeans(&ctx, &tuples, start, 3, limits).labels);
            for i in 0..7 {
                for j in 0..7 {
                    assert_eq!(labels[i] == labels[j], partition[i] == partition[j]);
                }
            }
        }
    }

    #[test]
    fn two_crossed_partitions_have_the_objectives_worked_out_by_hand() {
        // spec/spectral-kernel.md §3, test 4.
        let rounds = vec![(3.0, vec![0, 0, 1, 1]), (1.0, vec![0, 1, 0, 1])];
        let tuples = Tuples::new(&rounds, &[1.0; 4]);
        let pool = Pool::new(1);
        for (labels, objective) in [(vec![0, 0, 1, 1], 2.0), (vec![0, 1, 0, 1], 6.0)] {
            assert!((Clusters::new(&pool, &tuples, labels, 2).objective() - objective).abs() < 1e-12);
        }
    }
}
