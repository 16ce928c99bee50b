//! Rows as a graph for spectral methods: W_ij ≥ 0 from a kernel (negative entries of a linear one are cut to 0 and
//! counted), no loops, degrees d_i = Σ_j W_ij. Cuts of a labelling, eigenvectors of the Laplacians, k-means on embeddings.
//! The lowest eigenvectors: a dense solver, O(n³), up to `DENSE` rows; beyond, block Krylov on the inverse, for which
//! one Cholesky factor, O(n³/3), and a few dozen solves are enough.

use super::kernel::{Affinity, Gram, square_bytes};
use super::linalg::{leading_eigenvectors, one_by_one, symmetric_eigen};
use super::lloyd::{Limits, Nearest, Outcome, lloyd};
use super::par::Pool;
use super::restarts;
use super::seeding::Init;
use super::units::Units;
use crate::constraints::Chunklets;
use crate::context::RunContext;
use crate::data::{Dataset, Float, Matrix};
use crate::error::{Error, Result};

/// Rows up to which all eigenvectors are computed.
const DENSE: usize = 1200;

/// A weighted graph over the rows.
#[derive(Debug, Clone)]
pub struct AffinityGraph {
    n: usize,
    values: Vec<f64>,
    /// Pairs whose affinity was negative.
    pub clipped: usize,
}

impl AffinityGraph {
    /// Bytes of the graph of n rows while it is made.
    pub fn memory(n: usize) -> u64 {
        square_bytes(n)
    }

    /// The graph of a kernel; W_ii = 0 unless `loops`.
    pub fn new<F: Float>(pool: &Pool, data: &Dataset<'_, F>, affinity: &Affinity, loops: bool) -> AffinityGraph {
        let n = data.n();
        let mut values = Gram::new(pool, data, affinity).into_values();
        let clipped = pool.map_chunks_mut(&mut values, n, |start, row| {
            if !loops {
                row[start / n] = 0.0;
            }
            let negative = row.iter().filter(|v| **v < 0.0).count();
            row.iter_mut().for_each(|v| *v = v.max(0.0));
            negative
        });
        AffinityGraph { n, values, clipped: clipped.iter().sum::<usize>() / 2 }
    }

    /// From n × n affinities, row after row.
    pub fn from_values(n: usize, values: Vec<f64>) -> AffinityGraph {
        assert_eq!(values.len(), n * n, "an affinity matrix is square");
        AffinityGraph { n, values, clipped: 0 }
    }
    /// Number of rows.
    pub fn len(&self) -> usize {
        self.n
    }
    /// No rows at all?
    pub fn is_empty(&self) -> bool {
        self.n == 0
    }
    /// Affinities of row i.
    pub fn row(&self, i: usize) -> &[f64] {
        &self.values[i * self.n..(i + 1) * self.n]
    }
    /// Writes the affinity of two rows.
    pub fn set(&mut self, i: usize, j: usize, value: f64) {
        self.values[i * self.n + j] = value;
        self.values[j * self.n + i] = value;
    }
    /// The largest affinity of two different rows.
    pub fn largest(&self) -> f64 {
        (0..self.n).flat_map(|i| self.row(i)[..i].iter().copied()).fold(0.0, f64::max)
    }
    /// Σ_j W_ij of every row.
    pub fn degrees(&self) -> Vec<f64> {
        (0..self.n).map(|i| self.row(i).iter().sum()).collect()
    }
    /// What a user should know about the affinities.
    pub fn note(&self) -> Option<String> {
        let text = |count| format!("{count} pairs of rows have a negative affinity, which counts as none");
        (self.clipped > 0).then(|| text(self.clipped))
    }

    /// The connected part of every row, numbered by first row.
    pub fn parts(&self) -> (Vec<u32>, usize) {
        parts(self.n, |i| self.row(i).iter().enumerate().filter(|(_, w)| **w > 0.0).map(|(j, _)| j))
    }

    /// D − W.
    pub fn laplacian(&self) -> Matrix {
        let degrees = self.degrees();
        let mut l = Matrix::from_vec(self.n, self.values.iter().map(|w| -w).collect());
        (0..self.n).for_each(|i| l.row_mut(i)[i] += degrees[i]);
        l
    }

    /// I − D^(−1/2) W D^(−1/2), and the D^(−1/2); rows without edges get `alone` for 1/√d.
    pub fn normalised_laplacian(&self, alone: f64) -> (Matrix, Vec<f64>) {
        let root: Vec<f64> = self.degrees().iter().map(|&d| if d > 0.0 { 1.0 / d.sqrt() } else { alone }).collect();
        let mut l = Matrix::from_vec(self.n, self.values.clone());
        for i in 0..self.n {
            for (j, v) in l.row_mut(i).iter_mut().enumerate() {
                *v *= -root[i] * root[j];
            }
            l.row_mut(i)[i] += 1.0;
        }
        (l, root)
    }

    /// Σ over clusters of what leaves the cluster, divided by `size` of the cluster (0/0 = 0).
    fn cut(&self, labels: &[u32], k: usize, size: impl Fn(usize) -> f64) -> f64 {
        let (mut leaving, mut total) = (vec![0.0; k], vec![0.0; k]);
        for i in 0..self.n {
            let own = labels[i] as usize;
            total[own] += size(i);
            leaving[own] +=
                self.row(i).iter().zip(labels).filter(|(_, l)| **l != labels[i]).map(|(w, _)| w).sum::<f64>();
        }
        leaving.iter().zip(&total).filter(|(_, t)| **t > 0.0).map(|(c, t)| c / t).sum()
    }
    /// Σ_h cut(h, rest) / |h|.
    pub fn ratio_cut(&self, labels: &[u32], k: usize) -> f64 {
        self.cut(labels, k, |_| 1.0)
    }
    /// Σ_h cut(h, rest) / vol(h).
    pub fn normalised_cut(&self, labels: &[u32], k: usize) -> f64 {
        let degrees = self.degrees();
        self.cut(labels, k, |i| degrees[i])
    }
}

/// The connected part of every node of a graph, numbered by first node, and how many there are.
pub fn parts<I: Iterator<Item = usize>>(n: usize, neighbours: impl Fn(usize) -> I) -> (Vec<u32>, usize) {
    let mut part = vec![u32::MAX; n];
    let (mut count, mut queue) = (0, Vec::new());
    for first in 0..n {
        if part[first] != u32::MAX {
            continue;
        }
        part[first] = count;
        queue.push(first);
        while let Some(i) = queue.pop() {
            for j in neighbours(i) {
                if part[j] == u32::MAX {
                    part[j] = count;
                    queue.push(j);
                }
            }
        }
        count += 1;
    }
    (part, count as usize)
}

/// Eigenvectors of the `wanted` smallest eigenvalues of a positive semidefinite matrix, as rows, smallest first.
pub fn lowest_eigenvectors(ctx: &RunContext, l: &Matrix, wanted: usize) -> Result<Matrix> {
    let n = l.rows();
    let wanted = wanted.min(n);
    if n <= DENSE {
        let (_, vectors) = symmetric_eigen(l)?;
        let mut out = Matrix::zeros(0, n);
        (0..wanted).for_each(|c| out.push(vectors.row(n - 1 - c)));
        return Ok(out);
    }
    let mean = (0..n).map(|i| l.row(i)[i]).sum::<f64>() / n as f64;
    let mut shifted = l.clone();
    let shift = 1e-4 * mean.max(1e-300);
    (0..n).for_each(|i| shifted.row_mut(i)[i] += shift);
    let factored = kinfold_linalg::Factored::new(shifted.values(), n)
        .ok_or_else(|| Error::Numeric(format!("a {n} × {n} Laplacian could not be factored")))?;
    drop(shifted);
    let apply = |x: &[f64], y: &mut [f64]| {
        y.copy_from_slice(x);
        factored.solve(y);
    };
    leading_eigenvectors(n, wanted, 0, &mut ctx.rng("eigenvectors", 0), &one_by_one(apply))
}

/// Every row to length one; rows of zeros stay.
pub fn unit_length(rows: &mut Matrix) {
    for i in 0..rows.rows() {
        let length = rows.row(i).iter().map(|v| v * v).sum::<f64>().sqrt();
        if length > 1e-12 {
            rows.row_mut(i).iter_mut().for_each(|v| *v /= length);
        }
    }
}

/// The k leading eigenvectors of D^(−1/2) W D^(−1/2), rows to length one (Ng, Jordan, Weiss 2002).
pub fn normalised_embedding(ctx: &RunContext, graph: &AffinityGraph, k: usize) -> Result<Matrix> {
    let (l, _) = graph.normalised_laplacian(0.0);
    let mut rows = lowest_eigenvectors(ctx, &l, k)?.transposed();
    unit_length(&mut rows);
    Ok(rows)
}

/// k-means on embedded rows.
pub fn cluster_embedded(
    ctx: &RunContext,
    rows: &Matrix,
    weights: Option<&[f64]>,
    k: usize,
    restarts: usize,
) -> Result<Outcome> {
    let data = Dataset::dense(rows.values(), rows.cols())?;
    let data = match weights {
        Some(weights) => data.with_weights(weights)?,
        None => data,
    };
    let alone = Chunklets::singletons(data.n());
    let units = Units::new(&data, &alone);
    let count = restarts::how_many(restarts, data.n());
    restarts::best_of(ctx, count, data.n() * data.dims(), |ctx, r| {
        let centres = Init::GreedyKmeansPlusPlus.draw(&ctx.pool, &units, k, &mut ctx.rng("seeding", r));
        lloyd(ctx, &units, centres, Limits { max_iter: 300, tolerance: 0.0 }, &mut Nearest)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::blocks::kernel::Kernel;
    use crate::rng::Rng;

    #[test]
    fn cuts_of_a_small_graph_match_their_definition() {
        // Path 0-1-2-3 with weights 1, 2, 3.
        let mut g = AffinityGraph::from_values(4, vec![0.0; 16]);
        [(0, 1, 1.0), (1, 2, 2.0), (2, 3, 3.0)].iter().for_each(|&(i, j, w)| g.set(i, j, w));
        assert_eq!(g.degrees(), [1.0, 3.0, 5.0, 3.0]);
        assert_eq!(g.ratio_cut(&[0, 0, 1, 1], 2), 2.0);
        assert!((g.normalised_cut(&[0, 0, 1, 1], 2) - (2.0 / 4.0 + 2.0 / 8.0)).abs() < 1e-15);
        assert_eq!(g.parts(), (vec![0; 4], 1));
        g.set(1, 2, 0.0);
        assert_eq!(g.parts(), (vec![0, 0, 1, 1], 2));
    }

    #[test]
    fn negative_affinities_are_cut_to_nothing_and_counted() {
        let rows = [1.0, 2.0, -1.0];
        let data = Dataset::dense(&rows, 1).unwrap();
        let linear = Affinity { kernel: Kernel::Linear, sigma: 0.0, neighbour: 7 };
        let g = AffinityGraph::new(&Pool::new(1), &data, &linear, false);
        assert_eq!((g.clipped, g.row(0)), (2, &[0.0, 2.0, 0.0][..]));
        assert_eq!(AffinityGraph::new(&Pool::new(1), &data, &linear, true).row(2), [0.0, 0.0, 1.0]);
    }

    #[test]
    fn the_inverse_finds_the_subspace_that_the_dense_solver_finds() {
        let mut rng = Rng::stream(1, "graph test", 0);
        let n = DENSE + 100;
        let rows: Vec<f64> = (0..n).flat_map(|i| [rng.normal() + 6.0 * (i % 4) as f64, rng.normal()]).collect();
        let data = Dataset::dense(&rows, 2).unwrap();
        let affinity = Affinity { kernel: Kernel::RbfLocal, sigma: 0.0, neighbour: 7 };
        let ctx = RunContext::new(0).with_threads(1);
        let l = AffinityGraph::new(&ctx.pool, &data, &affinity, false).laplacian();
        let found = lowest_eigenvectors(&ctx, &l, 4).unwrap();
        let scale = (0..n).map(|i| l.row(i)[i]).sum::<f64>() / n as f64;
        let mut last = -1.0;
        for c in 0..4 {
            let v = found.row(c);
            let lv: Vec<f64> = (0..n).map(|i| crate::blocks::linalg::dot(l.row(i), v)).collect();
            let value = crate::blocks::linalg::dot(&lv, v);
            let residual = lv.iter().zip(v).map(|(a, b)| (a - value * b).powi(2)).sum::<f64>().sqrt();
            assert!(residual < 1e-5 * scale && value >= last, "{value} {residual} {scale}");
            last = value - 1e-9 * scale;
        }
    }
}
