//! Kernels and the points that kernel methods work on (spec/spectral-kernel.md §1). Linear and cosine need no
//! matrix: they are k-means on the rows, or on the rows scaled to length one. RBF exp(−D²/2σ²) and the self-tuning RBF
//! exp(−D²/σ_iσ_j) (Zelnik-Manor & Perona 2004; σ_i = distance to the 7th neighbour) are a dense n×n matrix with ones on
//! the diagonal, O(n²·dims) to build ([`Affinity::memory`]). Self-tuning is not always positive semidefinite.
//! Chunklets contract to one weighted point each: its mean, or the block means of the matrix.

use super::par::Pool;
use crate::constraints::Chunklets;
use crate::data::{Dataset, Float, Matrix, Rows, Table};
use crate::error::Result;
use crate::kernels::exp::exp_of_products;
use crate::kernels::square::{RANKS, meet_all, nth_of_columns};
use crate::kernels::two_nearest::{Eight, LANES, gather};

crate::choice! {
    /// How alike two rows are.
    pub enum Kernel {
        /// x·y: plain Euclidean geometry.
        Linear = "linear",
        /// The cosine of the angle.
        Cosine = "cosine",
        /// exp(−D²/2σ²).
        Rbf = "rbf",
        /// exp(−D²/σ_iσ_j), σ_i = distance to a near neighbour.
        RbfLocal = "rbf-local",
    }
}

/// A kernel and its width.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Affinity {
    /// Which.
    pub kernel: Kernel,
    /// σ of `rbf`; 0 = the root mean squared distance of the rows to their mean.
    pub sigma: f64,
    /// Which neighbour gives σ_i of `rbf-local`, the row itself not counted.
    pub neighbour: usize,
}

impl Affinity {
    /// Bytes of the matrix of n rows; 0 for kernels that need none.
    pub fn memory(&self, n: usize) -> u64 {
        match self.kernel {
            Kernel::Linear | Kernel::Cosine => 0,
            Kernel::Rbf | Kernel::RbfLocal => square_bytes(n),
        }
    }
}

/// Bytes of n × n numbers.
pub fn square_bytes(n: usize) -> u64 {
    8u64.saturating_mul(n as u64).saturating_mul(n as u64)
}

/// Rows of an n × n matrix that are worth a task, in whole groups of lanes, where an entry takes as long as `steps`
/// products: to wake a worker takes as long as a small matrix.
fn rows_per_task(n: usize, steps: usize) -> usize {
    (1usize << 22).div_ceil((n * steps).max(1)).next_multiple_of(LANES)
}

/// What an entry takes besides its sum over the dimensions: an exponential, its share of a search for neighbours.
const ENTRY: usize = 32;

/// A symmetric n×n kernel matrix over weighted points.
#[derive(Debug, Clone)]
pub struct Gram {
    n: usize,
    values: Vec<f64>,
    weights: Vec<f64>,
    own: Vec<f64>,
}

impl Gram {
    /// Takes n×n values, row after row, and a weight per point. Panics when the lengths do not fit.
    pub fn from_values(values: Vec<f64>, weights: Vec<f64>) -> Gram {
        assert_eq!(values.len(), weights.len() * weights.len(), "a kernel matrix is square");
        let n = weights.len();
        let own = (0..n).map(|i| values[i * (n + 1)]).collect();
        Gram { n, values, weights, own }
    }
    /// The n×n values, row after row.
    pub fn into_values(self) -> Vec<f64> {
        self.values
    }
    /// Number of points.
    pub fn len(&self) -> usize {
        self.n
    }
    /// No points at all?
    pub fn is_empty(&self) -> bool {
        self.n == 0
    }
    /// K_i0 … K_in.
    pub fn row(&self, i: usize) -> &[f64] {
        &self.values[i * self.n..(i + 1) * self.n]
    }
    /// K_00 … K_nn.
    pub fn own(&self) -> &[f64] {
        &self.own
    }
    /// The weight of every point.
    pub fn weights(&self) -> &[f64] {
        &self.weights
    }

    /// The kernel matrix of some rows.
    pub fn new<F: Float>(pool: &Pool, data: &Dataset<'_, F>, affinity: &Affinity) -> Gram {
        let n = data.n();
        let values = match (affinity.kernel, data.rows()) {
            (Kernel::Linear | Kernel::Cosine, Rows::Dense(_)) => {
                meet(pool, &in_lanes(data, &[]), data.dims(), n, false)
            }
            (Kernel::Rbf | Kernel::RbfLocal, Rows::Dense(_)) => meet(pool, &in_lanes(data, &[]), data.dims(), n, true),
            (kernel, Rows::Sparse(_)) => {
                meet_sparse(pool, &Pairwise::new(data, matches!(kernel, Kernel::Rbf | Kernel::RbfLocal)))
            }
        };
        Gram::from_values(affine(pool, values, n, affinity), (0..n).map(|i| data.weight(i)).collect())
    }

    /// The products of some rows after a shift of all that makes them short, where it costs nothing: distances between
    /// them stay, and lose less to rounding.
    pub fn shifted<F: Float>(pool: &Pool, data: &Dataset<'_, F>) -> Gram {
        let n = data.n();
        let values = if data.is_sparse() {
            meet_sparse(pool, &Pairwise::new(data, false))
        } else {
            let mut mean = vec![0.0; data.dims()];
            (0..n).for_each(|i| data.add_row(i, 1.0 / n as f64, &mut mean));
            meet(pool, &in_lanes(data, &mean), data.dims(), n, false)
        };
        Gram::from_values(values, (0..n).map(|i| data.weight(i)).collect())
    }

    /// One point per chunklet: K_AB = Σ_{i∈A, j∈B} w_i w_j K_ij / (w_A w_B).
    pub fn contracted(&self, pool: &Pool, chunklets: &Chunklets) -> Gram {
        let m = chunklets.len();
        let weights: Vec<f64> = totals(&self.weights, chunklets);
        let mut values = vec![0.0; m * m];
        pool.map_chunks_mut(&mut values, m, |start, out| {
            let a = start / m;
            for &i in chunklets.members(a as u32) {
                let w = self.weights[i as usize] / weights[a];
                for (j, &value) in self.row(i as usize).iter().enumerate() {
                    let b = chunklets.of(j) as usize;
                    out[b] += w * self.weights[j] / weights[b] * value;
                }
            }
        });
        // Both halves were summed in different orders: take one of them, so that the matrix is symmetric to the bit.
        for a in 0..m {
            for b in 0..a {
                values[a * m + b] = values[b * m + a];
            }
        }
        Gram::from_values(values, weights)
    }
}

/// Dense rows less a shift, where there is one, eight to a group of lanes.
fn in_lanes<F: Float>(data: &Dataset<'_, F>, shift: &[f64]) -> Vec<Eight> {
    let (n, dims) = (data.n(), data.dims());
    let Rows::Dense(dense) = data.rows() else { return Vec::new() };
    let mut lanes = vec![Eight::default(); n.div_ceil(LANES) * dims];
    for (g, group) in lanes.chunks_exact_mut(dims).enumerate() {
        let rows: Vec<&[F]> = (g * LANES..n.min((g + 1) * LANES)).map(|i| dense.row(i)).collect();
        gather(&rows, group);
        group.iter_mut().zip(shift).for_each(|(eight, s)| eight.0.iter_mut().for_each(|v| *v -= s));
    }
    lanes
}

/// Products, or squared distances, of all pairs of rows in lanes.
fn meet(pool: &Pool, lanes: &[Eight], dims: usize, n: usize, squared: bool) -> Vec<f64> {
    // Eight lines at a time, which are still at hand when they are filled.
    let mut parts = pool.map_chunks(n, rows_per_task(n, dims), |range| {
        let mut part = Vec::with_capacity(range.len() * n);
        for (first, group) in range.clone().step_by(LANES).zip(lanes.chunks_exact(dims).skip(range.start / LANES)) {
            let at = part.len();
            part.resize(at + LANES.min(range.end - first) * n, 0.0);
            meet_all(group, lanes, squared, n, &mut part[at..]);
        }
        part
    });
    if parts.len() == 1 { parts.remove(0) } else { parts.concat() }
}

/// The same of sparse rows: one half, and the other copied, which costs less than a product.
fn meet_sparse<F: Float>(pool: &Pool, rows: &Pairwise<'_, F>) -> Vec<f64> {
    /// Rows of a task: the last have the most to do.
    const TASK: usize = 16;
    let n = rows.len();
    let mut values = vec![0.0; n * n];
    pool.map_chunks_mut(&mut values, TASK * n, |start, part| {
        (start / n..).zip(part.chunks_exact_mut(n)).for_each(|(i, row)| rows.fill(i, 0, &mut row[..=i]));
    });
    mirror(&mut values, n);
    values
}

/// Copies what is below the diagonal to above it, eight columns of a row at a time.
fn mirror(values: &mut [f64], n: usize) {
    for first in (0..n).step_by(LANES) {
        let (above, below) = values.split_at_mut(first * n);
        for (j, row) in above.chunks_exact_mut(n).enumerate() {
            match row[first..].first_chunk_mut::<LANES>() {
                Some(eight) => *eight = std::array::from_fn(|r| below[r * n + j]),
                None => row[first..].iter_mut().enumerate().for_each(|(r, v)| *v = below[r * n + j]),
            }
        }
        for i in 0..LANES.min(n - first) {
            (0..i).for_each(|j| below[j * n + first + i] = below[i * n + first + j]);
        }
    }
}

/// A kernel from products (linear, cosine) or squared distances.
fn affine(pool: &Pool, mut values: Vec<f64>, n: usize, affinity: &Affinity) -> Vec<f64> {
    let each_row = |values: &mut [f64], work: &(dyn Fn(usize, &mut [f64]) + Sync)| {
        pool.map_chunks_mut(values, rows_per_task(n, ENTRY) * n, |start, part| {
            (start / n..).zip(part.chunks_exact_mut(n)).for_each(|(i, row)| work(i, row));
        });
    };
    match affinity.kernel {
        Kernel::Linear => {}
        Kernel::Cosine => {
            let length = |norm2: f64| if norm2 > 0.0 { norm2.sqrt() } else { 1.0 };
            let lengths: Vec<f64> = (0..n).map(|i| length(values[i * (n + 1)])).collect();
            each_row(&mut values, &|i, row| {
                row.iter_mut().zip(&lengths).for_each(|(v, l)| *v /= lengths[i] * l);
            });
        }
        Kernel::Rbf => {
            let sigma = if affinity.sigma > 0.0 { affinity.sigma } else { spread(&values, n) };
            let (factor, ones) = (-1.0 / (2.0 * sigma * sigma), vec![1.0; n]);
            each_row(&mut values, &|i, row| exp_of_products(&mut row[..=i], factor, &ones));
            mirror(&mut values, n);
        }
        Kernel::RbfLocal => {
            let factors: Vec<f64> =
                local_scales(pool, &mut values, n, affinity.neighbour).into_iter().map(f64::recip).collect();
            each_row(&mut values, &|i, row| {
                exp_of_products(&mut row[..n.min((i + 1).next_multiple_of(4))], -factors[i], &factors);
                row[i] = 1.0;
            });
            mirror(&mut values, n);
        }
    }
    values
}

/// Dot products, or squared distances, of all pairs of rows.
pub struct Pairwise<'a, F> {
    data: &'a Dataset<'a, F>,
    norms: Vec<f64>,
    columns: Columns,
    squared: bool,
}

/// One row meets many others a column at a time.
enum Columns {
    /// dims × n.
    Dense(Matrix),
    /// Where each column begins among the entries (row, value), which ascend within a column.
    Sparse(Vec<usize>, Vec<(u32, f64)>),
}

impl Columns {
    fn new<F: Float>(data: &Dataset<'_, F>) -> Columns {
        match data.rows() {
            Rows::Dense(d) => {
                let mut columns = Matrix::zeros(data.dims(), data.n());
                for i in 0..data.n() {
                    d.row(i).iter().enumerate().for_each(|(j, v)| columns.row_mut(j)[i] = v.to_f64());
                }
                Columns::Dense(columns)
            }
            Rows::Sparse(s) => {
                let mut starts = vec![0; data.dims() + 1];
                (0..data.n()).flat_map(|i| s.row(i).0).for_each(|&c| starts[c as usize + 1] += 1);
                (0..data.dims()).for_each(|c| starts[c + 1] += starts[c]);
                let (mut next, mut entries) = (starts.clone(), vec![(0, 0.0); starts[data.dims()]]);
                for i in 0..data.n() {
                    let (columns, values) = s.row(i);
                    for (&c, v) in columns.iter().zip(values) {
                        entries[next[c as usize]] = (i as u32, v.to_f64());
                        next[c as usize] += 1;
                    }
                }
                Columns::Sparse(starts, entries)
            }
        }
    }
}

impl<'a, F: Float> Pairwise<'a, F> {
    /// Of some rows; `squared` asks for squared distances.
    pub fn new(data: &'a Dataset<'a, F>, squared: bool) -> Pairwise<'a, F> {
        let norm2 = |i: usize| {
            let values = match data.rows() {
                Rows::Dense(d) => d.row(i),
                Rows::Sparse(s) => s.row(i).1,
            };
            values.iter().map(|v| v.to_f64() * v.to_f64()).sum()
        };
        Pairwise { data, norms: (0..data.n()).map(norm2).collect(), columns: Columns::new(data), squared }
    }
    /// Number of rows.
    pub fn len(&self) -> usize {
        self.norms.len()
    }
    /// No rows at all?
    pub fn is_empty(&self) -> bool {
        self.norms.is_empty()
    }
    /// Squared length of a row.
    pub fn norm2(&self, i: usize) -> f64 {
        self.norms[i]
    }

    /// Row i with the rows from `first` on. The same bits for (i, j) and (j, i).
    pub fn fill(&self, i: usize, first: usize, out: &mut [f64]) {
        out.fill(0.0);
        match (self.data.rows(), &self.columns) {
            (Rows::Dense(d), Columns::Dense(columns)) => {
                // Sums that stay in the first cache level.
                for (first, out) in (first..).step_by(1024).zip(out.chunks_mut(1024)) {
                    for (x, column) in d.row(i).iter().zip(columns.iter()) {
                        let (x, others) = (x.to_f64(), &column[first..first + out.len()]);
                        if self.squared {
                            out.iter_mut().zip(others).for_each(|(o, y)| *o += (x - y) * (x - y));
                        } else {
                            out.iter_mut().zip(others).for_each(|(o, y)| *o += x * y);
                        }
                    }
                }
            }
            (Rows::Sparse(s), Columns::Sparse(starts, entries)) => {
                let ((own, values), end) = (s.row(i), first + out.len());
                for (&c, x) in own.iter().zip(values) {
                    let (x, column) = (x.to_f64(), &entries[starts[c as usize]..starts[c as usize + 1]]);
                    let from = if first == 0 { 0 } else { column.partition_point(|e| (e.0 as usize) < first) };
                    let inside = column[from..].iter().take_while(|e| (e.0 as usize) < end);
                    inside.for_each(|&(j, y)| out[j as usize - first] += x * y);
                }
                if self.squared {
                    for ((j, value), norm) in (first..).zip(out).zip(&self.norms[first..]) {
                        *value = if i == j { 0.0 } else { (self.norms[i] + norm - 2.0 * *value).max(0.0) };
                    }
                }
            }
            _ => unreachable!("columns are as the rows are"),
        }
    }
}

/// √(mean squared distance to the mean) from all squared distances; 1 when the rows coincide.
fn spread(squared: &[f64], n: usize) -> f64 {
    let total: f64 = squared.chunks(n).map(|row| row.iter().sum::<f64>()).sum();
    let sigma = (total / (2.0 * (n * n) as f64)).sqrt();
    if sigma > 0.0 { sigma } else { 1.0 }
}

/// Distance to the `neighbour`-th nearest other row; where that is 0, the smallest positive one, or 1. Leaves infinities
/// on the diagonal, so that no row is its own neighbour.
fn local_scales(pool: &Pool, squared: &mut [f64], n: usize, neighbour: usize) -> Vec<f64> {
    if n < 2 {
        return vec![1.0; n];
    }
    (0..n).for_each(|i| squared[i * (n + 1)] = f64::INFINITY);
    let at = neighbour.clamp(1, n - 1) - 1;
    let mut sigma = vec![0.0; n];
    let squared = &*squared;
    pool.map_chunks_mut(&mut sigma, rows_per_task(n, ENTRY), |start, part| {
        for (from, out) in (start..).step_by(LANES).zip(part.chunks_mut(LANES)) {
            if at < RANKS {
                // A column is as good as a row, and eight lie side by side.
                out.copy_from_slice(&nth_of_columns(squared, n, from, at)[..out.len()]);
            } else {
                (from..).zip(&mut *out).for_each(|(i, s)| *s = nth_smallest(&squared[i * n..(i + 1) * n], at));
            }
            out.iter_mut().for_each(|s| *s = s.sqrt());
        }
    });
    let smallest = sigma.iter().copied().filter(|s| *s > 0.0).fold(f64::INFINITY, f64::min);
    let instead = if smallest.is_finite() { smallest } else { 1.0 };
    sigma.iter_mut().filter(|s| **s <= 0.0).for_each(|s| *s = instead);
    sigma
}

/// The value with `nth` values before it when all are sorted.
fn nth_smallest(values: &[f64], nth: usize) -> f64 {
    const SHORT: usize = 32;
    if nth >= SHORT {
        return *values.to_vec().select_nth_unstable_by(nth, f64::total_cmp).1;
    }
    // A short list that is kept sorted: few values are let in, and the others are looked at eight at a time.
    let mut least = [f64::INFINITY; SHORT];
    for eight in values.chunks(8) {
        if eight.iter().copied().fold(f64::INFINITY, f64::min) >= least[nth] {
            continue;
        }
        for &value in eight {
            if value < least[nth] {
                let at = least[..nth].partition_point(|l| *l <= value);
                least.copy_within(at..nth, at + 1);
                least[at] = value;
            }
        }
    }
    least[nth]
}

/// Points to cluster: the rows as they are, rows made from them, or a kernel matrix.
pub enum Space<'a, F> {
    /// The rows themselves.
    Lent(Dataset<'a, F>),
    /// Rows of length one, or the means of chunklets.
    Made {
        /// The points.
        table: Table<F>,
        /// Their weights.
        weights: Vec<f64>,
    },
    /// A kernel matrix.
    Gram(Gram),
}

impl<'a, F: Float> Space<'a, F> {
    /// The points of a kernel, one per row, or one per chunklet where chunklets are given.
    pub fn new(
        pool: &Pool,
        data: &Dataset<'a, F>,
        affinity: &Affinity,
        chunklets: Option<&Chunklets>,
    ) -> Result<Space<'a, F>> {
        let weights = || (0..data.n()).map(|i| data.weight(i)).collect::<Vec<f64>>();
        let by_row = match affinity.kernel {
            Kernel::Linear => Space::Lent(*data),
            Kernel::Cosine => Space::Made { table: unit_rows(data), weights: weights() },
            Kernel::Rbf | Kernel::RbfLocal => return Ok(Space::matrix(pool, data, affinity, chunklets)),
        };
        let Some((chunklets, rows)) = chunklets.zip(by_row.rows()) else { return Ok(by_row) };
        let table = match data.weights() {
            Some(w) => chunklet_means(&rows.with_weights(w)?, chunklets),
            None => chunklet_means(&rows, chunklets),
        };
        Ok(Space::Made { table, weights: totals(&weights(), chunklets) })
    }

    /// The same points by their kernel matrix, whatever the kernel.
    pub fn matrix(
        pool: &Pool,
        data: &Dataset<'a, F>,
        affinity: &Affinity,
        chunklets: Option<&Chunklets>,
    ) -> Space<'a, F> {
        let gram = match affinity.kernel {
            Kernel::Linear => Gram::shifted(pool, data),
            _ => Gram::new(pool, data, affinity),
        };
        Space::Gram(match chunklets {
            Some(chunklets) => gram.contracted(pool, chunklets),
            None => gram,
        })
    }

    /// The points as rows, where they are rows.
    pub fn rows(&self) -> Option<Dataset<'_, F>> {
        match self {
            Space::Lent(data) => Some(*data),
            Space::Made { table, weights } => table.lend().with_weights(weights).ok(),
            Space::Gram(_) => None,
        }
    }
    /// Number of points.
    pub fn len(&self) -> usize {
        match self {
            Space::Lent(data) => data.n(),
            Space::Made { weights, .. } => weights.len(),
            Space::Gram(gram) => gram.len(),
        }
    }
    /// No points at all?
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
    /// The weight of a point.
    pub fn weight(&self, i: usize) -> f64 {
        match self {
            Space::Lent(data) => data.weight(i),
            Space::Made { weights, .. } => weights[i],
            Space::Gram(gram) => gram.weights[i],
        }
    }
}

fn totals(weights: &[f64], chunklets: &Chunklets) -> Vec<f64> {
    (0..chunklets.len() as u32).map(|c| chunklets.members(c).iter().map(|&i| weights[i as usize]).sum()).collect()
}

/// Every row scaled to length one; rows of zeros stay.
fn unit_rows<F: Float>(data: &Dataset<'_, F>) -> Table<F> {
    let all: Vec<usize> = (0..data.n()).collect();
    let mut table = Table::select(data, &all);
    let scale = |values: &mut [F]| {
        let length = values.iter().map(|v| v.to_f64() * v.to_f64()).sum::<f64>().sqrt();
        if length > 0.0 {
            values.iter_mut().for_each(|v| *v = F::from_f64(v.to_f64() / length));
        }
    };
    match &mut table {
        Table::Dense { values, dims } => values.chunks_mut(*dims).for_each(scale),
        Table::Sparse { starts, values, .. } => starts.windows(2).for_each(|w| scale(&mut values[w[0]..w[1]])),
    }
    table
}

/// The weighted mean of every chunklet; sparse rows stay sparse.
fn chunklet_means<F: Float>(data: &Dataset<'_, F>, chunklets: &Chunklets) -> Table<F> {
    let dims = data.dims();
    let mut mean = vec![0.0; dims];
    let (mut starts, mut columns, mut values) = (vec![0], Vec::new(), Vec::new());
    let mut touched: Vec<u32> = Vec::new();
    for c in 0..chunklets.len() as u32 {
        let members = chunklets.members(c);
        let total: f64 = members.iter().map(|&i| data.weight(i as usize)).sum();
        members.iter().for_each(|&i| data.add_row(i as usize, data.weight(i as usize) / total, &mut mean));
        match data.rows() {
            Rows::Dense(_) => values.extend(mean.iter_mut().map(|v| F::from_f64(std::mem::take(v)))),
            Rows::Sparse(s) => {
                touched.clear();
                members.iter().for_each(|&i| touched.extend_from_slice(s.row(i as usize).0));
                touched.sort_unstable();
                touched.dedup();
                values.extend(touched.iter().map(|&j| F::from_f64(std::mem::take(&mut mean[j as usize]))));
                columns.extend_from_slice(&touched);
                starts.push(values.len());
            }
        }
    }
    if data.is_sparse() { Table::Sparse { starts, columns, values, dims } } else { Table::Dense { values, dims } }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::constraints::{ConstraintSet, Kind};

    fn affinity(kernel: Kernel, neighbour: usize) -> Affinity {
        Affinity { kernel, sigma: 0.0, neighbour }
    }

    fn gram(rows: &[f64], dims: usize, affinity: &Affinity) -> Gram {
        Gram::new(&Pool::new(1), &Dataset::dense(rows, dims).unwrap(), affinity)
    }

    #[test]
    fn the_nth_smallest_is_that_of_the_sorted_list() {
        let mut rng = crate::rng::Rng::stream(5, "kernel test", 0);
        let values: Vec<f64> = (0..80).map(|_| rng.below(30) as f64).collect();
        let mut sorted = values.clone();
        sorted.sort_by(f64::total_cmp);
        assert!((0..80).all(|nth| nth_smallest(&values, nth) == sorted[nth]));
    }

    #[test]
    fn self_tuning_matches_the_worked_example_and_ignores_scale() {
        // spec/spectral-kernel.md §1: points 0, 1, 3 with the first neighbour.
        let local = affinity(Kernel::RbfLocal, 1);
        let k = gram(&[0.0, 1.0, 3.0], 1, &local);
        for (at, exponent) in [(1, -1.0f64), (2, -4.5), (5, -2.0), (0, 0.0)] {
            assert!((k.values[at] - exponent.exp()).abs() < 1e-15);
        }
        let scaled = gram(&[0.0, 40.0, 120.0], 1, &local);
        assert!(k.values.iter().zip(&scaled.values).all(|(a, b)| (a - b).abs() < 1e-15));
    }

    #[test]
    fn coincident_rows_get_affinity_one_and_few_rows_use_the_farthest_neighbour() {
        let k = gram(&[2.0, 2.0, 2.0, 5.0], 1, &affinity(Kernel::RbfLocal, 2));
        // σ of the first three is 0, so they take the smallest positive one: 3, that of the last row.
        assert_eq!(k.row(0)[..3], [1.0; 3]);
        assert!((k.row(0)[3] - (-1.0f64).exp()).abs() < 1e-15);
        assert_eq!(gram(&[1.0, 1.0], 1, &affinity(Kernel::RbfLocal, 7)).values, [1.0; 4]);
        assert_eq!(gram(&[1.0], 1, &affinity(Kernel::RbfLocal, 7)).values, [1.0]);
    }

    #[test]
    fn sparse_rows_have_the_kernels_of_dense_ones() {
        let values = [1.0, 0.0, 2.0, 0.0, 3.0, 0.0, 0.0, 0.0, 4.0, 1.0, 1.0, 0.0];
        let dense = Dataset::dense(&values, 3).unwrap();
        let sparse =
            Dataset::sparse(&[0, 2, 3, 4, 6], &[0, 2, 1, 2, 0, 1], &[1.0, 2.0, 3.0, 4.0, 1.0, 1.0], 3).unwrap();
        for kernel in [Kernel::Linear, Kernel::Cosine, Kernel::Rbf, Kernel::RbfLocal] {
            let make = |data| Gram::new(&Pool::new(1), data, &affinity(kernel, 2));
            let (a, b) = (make(&dense), make(&sparse));
            assert!(a.values.iter().zip(&b.values).all(|(x, y)| (x - y).abs() < 1e-12), "{kernel:?}");
            assert!((0..4).all(|i| (0..4).all(|j| b.row(i)[j] == b.row(j)[i])), "{kernel:?}");
        }
    }

    #[test]
    fn contracting_the_linear_kernel_is_the_kernel_of_the_means() {
        let rows = [0.0, 1.0, 2.0, 0.5, -1.0, 3.0, 4.0, 4.0];
        let mut given = ConstraintSet::new(4);
        given.add_pair(Kind::MustLink, 0, 2).unwrap();
        let chunklets = given.close().unwrap();
        let weights = [1.0, 1.0, 3.0, 1.0];
        let data = Dataset::dense(&rows, 2).unwrap().with_weights(&weights).unwrap();
        let pool = Pool::new(1);
        let whole = Gram::new(&pool, &data, &affinity(Kernel::Linear, 7));
        let contracted = whole.contracted(&pool, &chunklets);
        let space = Space::new(&pool, &data, &affinity(Kernel::Linear, 7), Some(&chunklets)).unwrap();
        let means = Gram::new(&pool, &space.rows().unwrap(), &affinity(Kernel::Linear, 7));
        assert_eq!(contracted.weights, [4.0, 1.0, 1.0]);
        assert_eq!(means.weights, contracted.weights);
        assert!(contracted.values.iter().zip(&means.values).all(|(a, b)| (a - b).abs() < 1e-12));
    }
}
