//! Kernel k-means (Girolami 2002; spec/spectral-kernel.md §3): minimises Σ w‖φ_i − μ(l_i)‖² knowing only inner products,
//! dist²(i, h) = K_ii − 2/W_h Σ_{j∈h} w_j K_ij + Q_h/W_h², Q_h = Σ_{j,l∈h} w_j w_l K_jl.
//! Batch sweeps are accepted while the objective falls (an indefinite kernel can make one rise: it is taken back); then,
//! if asked, single moves (Hartigan), which lower the true objective of any symmetric kernel. Ties keep the label.
//! One algorithm, two forms of points: a dense matrix here, sums of partitions in `tuples`. Cost per sweep: one look
//! at every inner-product sum plus O(moves · n) (matrix) or O(moves · T) (tuples).

use super::kernel::Gram;
use super::lloyd::Outcome;
use super::par::Pool;
use super::tiles::Tiles;
use crate::context::{RunContext, Termination};
use crate::data::Matrix;
use crate::kernels::combine::add_rows;
use crate::rng::Rng;

crate::choice! {
    /// Where the first centres come from.
    pub enum Init {
        /// D² sampling.
        KmeansPlusPlus = "kmeans++",
        /// One random point, then always the farthest.
        FarthestFirst = "farthest-first",
    }
}

/// One point changes its cluster.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Move {
    /// The point.
    pub point: u32,
    /// Where it was.
    pub from: u32,
    /// Where it goes.
    pub to: u32,
}

/// Weighted points of a feature space, known by their inner products.
pub trait Feature: Sync {
    /// What is kept of a clustering to answer `products`.
    type Sums: Send + Sync;

    /// Number of points.
    fn len(&self) -> usize;
    /// No points at all?
    fn is_empty(&self) -> bool {
        self.len() == 0
    }
    /// Weight of a point.
    fn weight(&self, i: usize) -> f64;
    /// K_ii.
    fn own(&self, i: usize) -> f64;
    /// K_ij.
    fn product(&self, i: usize, j: usize) -> f64;
    /// The sums of a clustering.
    fn sums(&self, pool: &Pool, labels: &[u32], k: usize) -> Self::Sums;
    /// Carries out some moves.
    fn shift(&self, pool: &Pool, sums: &mut Self::Sums, moves: &[Move]);
    /// Σ_{j∈h} w_j K_ij for every cluster h.
    fn products(&self, sums: &Self::Sums, i: usize, out: &mut [f64]);
    /// Σ_{j,l∈h} w_j w_l K_jl for every cluster h.
    fn squares(&self, sums: &Self::Sums, labels: &[u32], k: usize) -> Vec<f64>;

    /// ‖φ_i − φ_j‖².
    fn distance2(&self, i: usize, j: usize) -> f64 {
        (self.own(i) + self.own(j) - 2.0 * self.product(i, j)).max(0.0)
    }
    /// ‖φ_i − φ_j‖² for the points j from `first` on.
    fn distances_from(&self, i: usize, first: usize, out: &mut [f64]) {
        out.iter_mut().enumerate().for_each(|(j, d)| *d = self.distance2(i, first + j));
    }
}

impl Gram {
    /// Adds Σ factor · K_j over terms (h, j, factor) to the sums of cluster h: rows for columns, the matrix is symmetric.
    fn add(&self, pool: &Pool, sums: &mut Tiles, terms: impl Iterator<Item = (u32, u32, f64)> + Clone) {
        // Cluster after cluster, in the order given.
        let k = sums.clusters();
        let mut ends = vec![0; k + 1];
        terms.clone().for_each(|(h, _, _)| ends[h as usize + 1] += 1);
        (0..k).for_each(|h| ends[h + 1] += ends[h]);
        let mut sorted = vec![(0, 0.0); ends[k]];
        for (h, j, factor) in terms {
            sorted[ends[h as usize]] = (j, factor);
            ends[h as usize] += 1;
        }
        sums.change(pool, |first, h, numbers| {
            let (width, from) = (numbers.len(), if h == 0 { 0 } else { ends[h - 1] });
            add_rows(numbers, &sorted[from..ends[h]], |j| &self.row(j as usize)[first..first + width]);
        });
    }
}

impl Feature for Gram {
    type Sums = Tiles;

    fn len(&self) -> usize {
        Gram::len(self)
    }
    fn weight(&self, i: usize) -> f64 {
        self.weights()[i]
    }
    fn own(&self, i: usize) -> f64 {
        Gram::own(self)[i]
    }
    fn product(&self, i: usize, j: usize) -> f64 {
        self.row(i)[j]
    }
    fn distances_from(&self, i: usize, first: usize, out: &mut [f64]) {
        let own = Gram::own(self);
        for ((d, o), product) in out.iter_mut().zip(&own[first..]).zip(&self.row(i)[first..]) {
            *d = (own[i] + o - 2.0 * product).max(0.0);
        }
    }
    fn sums(&self, pool: &Pool, labels: &[u32], k: usize) -> Tiles {
        let mut sums = Tiles::zeros(labels.len(), k);
        self.add(pool, &mut sums, (0..).zip(labels).zip(self.weights()).map(|((j, &h), &w)| (h, j, w)));
        sums
    }
    fn shift(&self, pool: &Pool, sums: &mut Tiles, moves: &[Move]) {
        let both = |m: &Move| {
            let w = self.weights()[m.point as usize];
            [(m.from, m.point, -w), (m.to, m.point, w)]
        };
        self.add(pool, sums, moves.iter().flat_map(both));
    }
    fn products(&self, sums: &Tiles, i: usize, out: &mut [f64]) {
        out.iter_mut().enumerate().for_each(|(h, o)| *o = sums.at(i, h));
    }
    fn squares(&self, sums: &Tiles, labels: &[u32], k: usize) -> Vec<f64> {
        let mut squares = vec![0.0; k];
        for (i, &label) in labels.iter().enumerate() {
            squares[label as usize] += self.weights()[i] * sums.at(i, label as usize);
        }
        squares
    }
}

impl Clusters<'_, Gram> {
    /// Σ_{j∈h} w_j K_ij for every point i and cluster h.
    pub fn sums(&self) -> &Tiles {
        &self.sums
    }
    /// 2/W_h and Q_h/W_h² of every cluster: K_ii less the first times its sum, plus the second, is dist²(i, h).
    pub fn factors(&self) -> Vec<(f64, f64)> {
        self.weight.iter().zip(&self.square).map(|(&w, q)| (2.0 / w, q / (w * w))).collect()
    }
    /// Writes the squared distance of every point to every mean; an empty cluster has none, its numbers stay.
    pub fn all_distances(&self, pool: &Pool, out: &mut Tiles) {
        let sums = &self.sums;
        out.change(pool, |first, h, numbers| {
            if self.count[h] == 0 {
                return;
            }
            let (width, w) = (numbers.len(), self.weight[h]);
            let products = sums.of(first, h);
            let own = &Gram::own(self.points)[first..first + width];
            let (twice, square) = (2.0 / w, self.square[h] / (w * w));
            for ((d, product), own) in numbers.iter_mut().zip(products).zip(own) {
                *d = own - twice * product + square;
            }
        });
    }
}

/// A clustering of points with what distances to its means need.
pub struct Clusters<'a, P: Feature> {
    points: &'a P,
    /// Cluster of every point.
    pub labels: Vec<u32>,
    sums: P::Sums,
    /// Total weight of every cluster.
    pub weight: Vec<f64>,
    square: Vec<f64>,
    /// Number of points of every cluster.
    pub count: Vec<usize>,
    total_own: f64,
}

impl<'a, P: Feature> Clusters<'a, P> {
    /// The clusters of a labelling.
    pub fn new(pool: &Pool, points: &'a P, labels: Vec<u32>, k: usize) -> Clusters<'a, P> {
        let sums = points.sums(pool, &labels, k);
        let total_own = (0..points.len()).map(|i| points.weight(i) * points.own(i)).sum();
        let mut clusters =
            Clusters { points, labels, sums, weight: Vec::new(), square: Vec::new(), count: Vec::new(), total_own };
        clusters.recount(k);
        clusters
    }

    fn recount(&mut self, k: usize) {
        self.weight = vec![0.0; k];
        self.count = vec![0; k];
        for (i, &label) in self.labels.iter().enumerate() {
            self.weight[label as usize] += self.points.weight(i);
            self.count[label as usize] += 1;
        }
        self.square = self.points.squares(&self.sums, &self.labels, k);
    }

    /// Carries out moves; half the points or more: the sums are made afresh, which is faster and forgets rounding.
    pub fn apply(&mut self, pool: &Pool, moves: &[Move]) {
        moves.iter().for_each(|m| self.labels[m.point as usize] = m.to);
        let k = self.weight.len();
        if 2 * moves.len() >= self.labels.len() {
            self.sums = self.points.sums(pool, &self.labels, k);
        } else {
            self.points.shift(pool, &mut self.sums, moves);
        }
        self.recount(k);
    }

    /// One move, with weights and squares brought along: O(sums) instead of a recount.
    fn apply_one(&mut self, pool: &Pool, m: Move, products: &[f64]) {
        let (i, from, to) = (m.point as usize, m.from as usize, m.to as usize);
        let (w, own) = (self.points.weight(i), self.points.own(i));
        self.square[from] += w * w * own - 2.0 * w * products[from];
        self.square[to] += w * w * own + 2.0 * w * products[to];
        self.weight[from] -= w;
        self.weight[to] += w;
        self.count[from] -= 1;
        self.count[to] += 1;
        self.labels[i] = m.to;
        self.points.shift(pool, &mut self.sums, &[m]);
    }

    /// Squared distance of a point to every mean; infinite where a cluster is empty, and
    /// below zero where the kernel is indefinite. `out` is as long as there are
    /// clusters; the inner-product sums are returned in `products`.
    pub fn distances(&self, i: usize, products: &mut [f64], out: &mut [f64]) {
        self.points.products(&self.sums, i, products);
        let own = self.points.own(i);
        for (h, d) in out.iter_mut().enumerate() {
            let w = self.weight[h];
            *d =
                if self.count[h] == 0 { f64::INFINITY } else { own - 2.0 * products[h] / w + self.square[h] / (w * w) };
        }
    }

    /// Σ w K_ii − Σ_h Q_h / W_h.
    pub fn objective(&self) -> f64 {
        let explained: f64 =
            (0..self.weight.len()).filter(|&h| self.count[h] > 0).map(|h| self.square[h] / self.weight[h]).sum();
        self.total_own - explained
    }

    /// What one batch sweep would move: every point to its nearest mean, staying where it is no closer.
    fn proposals(&self, pool: &Pool) -> Vec<Move> {
        let (n, k) = (self.labels.len(), self.weight.len());
        let parts = pool.map_chunks(n, n.div_ceil(64).max(256), |range| {
            let (mut products, mut distances) = (vec![0.0; k], vec![0.0; k]);
            let mut moves = Vec::new();
            for i in range {
                self.distances(i, &mut products, &mut distances);
                let from = self.labels[i];
                let mut best = distances[from as usize] - ROUNDING * self.points.own(i).abs();
                let mut to = from;
                for (h, &d) in distances.iter().enumerate() {
                    if d < best {
                        (best, to) = (d, h as u32);
                    }
                }
                if to != from {
                    moves.push(Move { point: i as u32, from, to });
                }
            }
            moves
        });
        parts.concat()
    }

    /// Gives each empty cluster the point with the largest w·dist² that leaves company behind.
    fn refill(&mut self, pool: &Pool) -> Vec<Move> {
        let mut done = Vec::new();
        let k = self.weight.len();
        for to in 0..k {
            if self.count[to] > 0 {
                continue;
            }
            let (mut products, mut distances) = (vec![0.0; k], vec![0.0; k]);
            let mut farthest: Option<(f64, usize)> = None;
            for i in 0..self.labels.len() {
                if self.count[self.labels[i] as usize] > 1 {
                    self.distances(i, &mut products, &mut distances);
                    let d = self.points.weight(i) * distances[self.labels[i] as usize];
                    if d > ROUNDING * self.points.own(i).abs() && farthest.is_none_or(|(best, _)| d > best) {
                        farthest = Some((d, i));
                    }
                }
            }
            let Some((_, i)) = farthest else { break };
            let m = Move { point: i as u32, from: self.labels[i], to: to as u32 };
            self.apply(pool, &[m]);
            done.push(m);
        }
        done
    }

    /// One pass of single moves, each the best for its point; how many were made.
    fn refine(&mut self, pool: &Pool) -> usize {
        let k = self.weight.len();
        let (mut products, mut distances) = (vec![0.0; k], vec![0.0; k]);
        let mut moved = 0;
        for i in 0..self.labels.len() {
            let from = self.labels[i] as usize;
            if self.count[from] < 2 {
                continue;
            }
            self.distances(i, &mut products, &mut distances);
            let w = self.points.weight(i);
            let leaving = self.weight[from] * w / (self.weight[from] - w) * distances[from];
            let mut best = leaving - ROUNDING * w * self.points.own(i).abs();
            let mut to = from;
            for h in (0..k).filter(|&h| h != from) {
                let wh = self.weight[h];
                let joining = if self.count[h] == 0 { 0.0 } else { wh * w / (wh + w) * distances[h] };
                if joining < best {
                    (best, to) = (joining, h);
                }
            }
            if to != from {
                self.apply_one(pool, Move { point: i as u32, from: from as u32, to: to as u32 }, &products);
                moved += 1;
            }
        }
        if moved > 0 {
            // Forget what rounding has added up.
            self.sums = self.points.sums(pool, &self.labels, k);
            self.recount(k);
        }
        moved
    }
}

/// Differences below this share of K_ii are rounding, not progress.
const ROUNDING: f64 = 1e-12;

/// When to stop.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// Sweeps at most.
    pub max_iter: usize,
    /// Single moves at the end?
    pub refine: bool,
}

/// Iterates from a labelling until nothing changes. The outcome has no centres: they live in the feature space.
pub fn kernel_kmeans<P: Feature>(ctx: &RunContext, points: &P, start: Vec<u32>, k: usize, limits: Limits) -> Outcome {
    let pool = &ctx.pool;
    let mut clusters = Clusters::new(pool, points, start, k);
    clusters.refill(pool);
    let mut trace = vec![clusters.objective()];
    let mut termination = Termination::MaxIterations;
    let mut last = trace[0];
    for _ in 0..limits.max_iter {
        if let Err(stop) = ctx.checkpoint() {
            termination = stop.into();
            break;
        }
        let mut moves = clusters.proposals(pool);
        if moves.is_empty() {
            termination = Termination::Converged;
            break;
        }
        clusters.apply(pool, &moves);
        moves.extend(clusters.refill(pool));
        let now = clusters.objective();
        if now >= last {
            let back: Vec<Move> = moves.iter().rev().map(|m| Move { point: m.point, from: m.to, to: m.from }).collect();
            clusters.apply(pool, &back);
            termination = Termination::Converged;
            break;
        }
        trace.push(now);
        last = now;
    }
    if limits.refine && matches!(termination, Termination::Converged | Termination::MaxIterations) {
        let room = limits.max_iter.saturating_sub(trace.len() - 1);
        termination = if room == 0 { termination } else { Termination::MaxIterations };
        for _ in 0..room {
            if let Err(stop) = ctx.checkpoint() {
                termination = stop.into();
                break;
            }
            if clusters.refine(pool) == 0 {
                termination = Termination::Converged;
                break;
            }
            // Refinement lowers the objective; the recount may differ in the last bits.
            last = clusters.objective().min(last);
            trace.push(last);
        }
    }
    Outcome { labels: clusters.labels, centres: Matrix::default(), trace, termination, exact: false }
}

/// Draws k points and gives every point the nearest of them, the first of equals.
pub fn start<P: Feature>(pool: &Pool, points: &P, k: usize, init: Init, rng: &mut Rng) -> Vec<u32> {
    let mut nearest = vec![(f64::INFINITY, 0u32); points.len()];
    draw(pool, points, k, init, rng, &mut |h, distances| {
        for (near, &d) in nearest.iter_mut().zip(distances) {
            if d < near.0 {
                *near = (d, h);
            }
        }
    });
    nearest.into_iter().map(|(_, h)| h).collect()
}

/// Draws k points one by one and shows the squared distances of all points to each.
pub fn draw<P: Feature>(
    pool: &Pool,
    points: &P,
    k: usize,
    init: Init,
    rng: &mut Rng,
    show: &mut dyn FnMut(u32, &[f64]),
) -> Vec<u32> {
    let n = points.len();
    let mut nearest = vec![f64::INFINITY; n];
    let mut distances = vec![0.0; n];
    let weights: Vec<f64> = (0..n).map(|i| points.weight(i)).collect();
    let first = match init {
        Init::KmeansPlusPlus => rng.weighted(&weights).unwrap_or(0),
        Init::FarthestFirst => rng.below(n),
    };
    let mut chosen = vec![first as u32];
    loop {
        let last = chosen[chosen.len() - 1] as usize;
        pool.map_chunks_mut(&mut distances, 4096, |start, slice| {
            points.distances_from(last, start, slice);
        });
        show(chosen.len() as u32 - 1, &distances);
        if chosen.len() == k {
            return chosen;
        }
        nearest.iter_mut().zip(&distances).for_each(|(near, d)| *near = near.min(*d));
        chosen.push(next_seed(&nearest, &weights, &chosen, init, rng));
    }
}

/// The next starting point, given the squared distance of every point to the chosen ones. When all coincide with one,
/// any that is not chosen yet.
pub fn next_seed(nearest: &[f64], weights: &[f64], chosen: &[u32], init: Init, rng: &mut Rng) -> u32 {
    let drawn = match init {
        Init::KmeansPlusPlus => {
            let masses: Vec<f64> = nearest.iter().zip(weights).map(|(d, w)| d * w).collect();
            rng.weighted(&masses)
        }
        Init::FarthestFirst => {
            let mut best = 0;
            for (i, d) in nearest.iter().enumerate() {
                if *d > nearest[best] {
                    best = i;
                }
            }
            (nearest[best] > 0.0).then_some(best)
        }
    };
    drawn.map_or_else(
        || {
            let left: Vec<u32> = (0..nearest.len() as u32).filter(|i| !chosen.contains(i)).collect();
            if left.is_empty() { chosen[0] } else { left[rng.below(left.len())] }
        },
        |i| i as u32,
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::blocks::kernel::{Affinity, Kernel};
    use crate::blocks::lloyd::{self, Nearest, lloyd};
    use crate::blocks::means;
    use crate::blocks::units::Units;
    use crate::constraints::Chunklets;
    use crate::data::Dataset;

    const LIMITS: Limits = Limits { max_iter: 300, refine: false };

    fn random_rows(n: usize, dims: usize, seed: u64) -> Vec<f64> {
        let mut rng = Rng::stream(seed, "kernel k-means test", 0);
        (0..n * dims).map(|_| rng.normal()).collect()
    }

    fn gram(data: &Dataset<'_, f64>, kernel: Kernel) -> Gram {
        Gram::new(&Pool::new(1), data, &Affinity { kernel, sigma: 0.0, neighbour: 7 })
    }

    #[test]
    fn the_linear_kernel_is_k_means_on_the_rows() {
        for seed in 0..20 {
            let rows = random_rows(40, 3, seed);
            let weights: Vec<f64> = (0..40).map(|i| 1.0 + f64::from(i % 3)).collect();
            let data = Dataset::dense(&rows, 3).unwrap().with_weights(&weights).unwrap();
            let mut rng = Rng::stream(seed, "start", 0);
            let start: Vec<u32> = (0..40).map(|i| if i < 4 { i as u32 } else { rng.below(4) as u32 }).collect();
            let ctx = RunContext::new(0).with_threads(1);
            let kernel = kernel_kmeans(&ctx, &gram(&data, Kernel::Linear), start.clone(), 4, LIMITS);
            let alone = Chunklets::singletons(40);
            let units = Units::new(&data, &alone);
            let limits = lloyd::Limits { max_iter: 300, tolerance: 0.0 };
            let plain = lloyd(&ctx, &units, means::means(&data, &start, 4).0, limits, &mut Nearest).unwrap();
            assert_eq!(kernel.labels, plain.labels);
            let objective = means::sum_of_squares(&data, &kernel.labels, 4);
            assert!((kernel.cost() - objective).abs() < 1e-9 * objective);
        }
    }

    #[test]
    fn two_blocks_are_split_at_no_cost() {
        // spec/spectral-kernel.md §3, test 2.
        let k = [1.0, 1.0, 0.0, 0.0, 1.0, 1.0, 0.0, 0.0, 0.0, 0.0, 1.0, 1.0, 0.0, 0.0, 1.0, 1.0];
        let gram = Gram::from_values(k.to_vec(), vec![1.0; 4]);
        let ctx = RunContext::new(0).with_threads(1);
        let outcome = kernel_kmeans(&ctx, &gram, vec![0, 1, 1, 1], 2, Limits { max_iter: 300, refine: true });
        assert_eq!(outcome.labels, [0, 0, 1, 1]);
        assert!(outcome.cost().abs() < 1e-12);
    }

    #[test]
    fn the_trace_never_rises_on_indefinite_kernels_and_ends_at_the_objective() {
        let mut rng = Rng::stream(3, "kernel k-means test", 1);
        for case in 0..40 {
            let n = 12;
            let mut values = vec![0.0; n * n];
            for i in 0..n {
                for j in 0..=i {
                    let v = if i == j { 1.0 } else { 0.8 * rng.normal() };
                    (values[i * n + j], values[j * n + i]) = (v, v);
                }
            }
            let gram = Gram::from_values(values, (0..n).map(|i| 1.0 + (i % 2) as f64).collect());
            let start = start(&Pool::new(1), &gram, 3, Init::FarthestFirst, &mut rng);
            let ctx = RunContext::new(case).with_threads(1);
            let outcome = kernel_kmeans(&ctx, &gram, start, 3, Limits { max_iter: 300, refine: true });
            assert!(outcome.trace.windows(2).all(|w| w[1] <= w[0]), "{:?}", outcome.trace);
            let afresh = Clusters::new(&Pool::new(1), &gram, outcome.labels.clone(), 3);
            assert!((afresh.objective() - outcome.cost()).abs() < 1e-9);
        }
    }

    #[test]
    fn no_single_move_improves_a_refined_clustering() {
        let rows = random_rows(25, 2, 9);
        let data = Dataset::dense(&rows, 2).unwrap();
        let gram = gram(&data, Kernel::Rbf);
        let ctx = RunContext::new(0).with_threads(1);
        let pool = Pool::new(1);
        let mut rng = Rng::stream(5, "kernel k-means test", 2);
        let start = start(&pool, &gram, 4, Init::KmeansPlusPlus, &mut rng);
        let outcome = kernel_kmeans(&ctx, &gram, start, 4, Limits { max_iter: 300, refine: true });
        for i in 0..25 {
            for h in 0..4 {
                let mut labels = outcome.labels.clone();
                labels[i] = h;
                assert!(Clusters::new(&pool, &gram, labels, 4).objective() >= outcome.cost() - 1e-10);
            }
        }
    }

    #[test]
    fn empty_clusters_are_filled_and_coincident_points_do_not_hang() {
        let rows = [0.0, 0.0, 5.0, 9.0];
        let data = Dataset::dense(&rows, 1).unwrap();
        let ctx = RunContext::new(0).with_threads(1);
        let outcome = kernel_kmeans(&ctx, &gram(&data, Kernel::Linear), vec![0; 4], 3, LIMITS);
        assert_eq!(outcome.labels[0], outcome.labels[1]);
        assert!(outcome.cost() < 1e-12);
        let same = Dataset::dense(&[2.0; 5], 1).unwrap();
        let outcome = kernel_kmeans(&ctx, &gram(&same, Kernel::Linear), vec![0; 5], 3, LIMITS);
        assert_eq!(outcome.labels, [0; 5]);
        let (same, rng) = (gram(&same, Kernel::Linear), &mut ctx.rng("x", 0));
        let chosen = draw(&Pool::new(1), &same, 4, Init::FarthestFirst, rng, &mut |_, _| {});
        let mut distinct = chosen.clone();
        distinct.sort_unstable();
        distinct.dedup();
        assert_eq!(distinct.len(), 4);
    }
}
