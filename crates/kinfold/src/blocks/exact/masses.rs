//! Chunklets as heavy points for exact clustering: in principal axes around their mean (distances are unchanged, boxes fit
//! better), scaled to a total scatter of 1000 so that tolerances mean the same for any data.
//! cost(C) = Σ (s + m‖x‖²) − ‖Σ m x‖² / Σ m.

use crate::blocks::linalg::{gram_of_columns, project, symmetric_eigen};
use crate::blocks::units::Units;
use crate::data::{Float, Matrix};
use crate::error::Result;

/// Total scatter of the scaled points.
const TOTAL: f64 = 1000.0;
/// Principal axes below this share of the largest carry rounding alone.
const FLAT: f64 = 1e-13;

/// Weighted points with cannot-links between them.
#[derive(Debug, Clone)]
pub struct Masses {
    dims: usize,
    points: Vec<f64>,
    /// Total row weight of each.
    pub weight: Vec<f64>,
    /// Σ w‖x − mean‖² inside each.
    pub scatter: Vec<f64>,
    /// s + m‖x‖² of each.
    pub own: Vec<f64>,
    apart: Vec<Vec<u32>>,
    words: usize,
    table: Vec<u64>,
    /// Scatter of the points along each axis, largest first.
    axes: Vec<f64>,
    /// Multiplies costs back to the units of the data.
    pub unit: f64,
}

/// Running sums of a set of masses.
#[derive(Debug, Clone)]
pub struct Sum {
    /// Σ m.
    pub weight: f64,
    own: f64,
    total: Vec<f64>,
    /// How many.
    pub count: usize,
}

impl Masses {
    /// All units of a problem ([`Units::all`]).
    pub fn new<F: Float>(units: &Units<'_, F>) -> Result<Masses> {
        let (n, given) = (units.bound(), units.points());
        let weight = units.weight.clone();
        let all: f64 = weight.iter().sum();
        let (points, axes) = if given.dims() <= n && !given.is_sparse() {
            let mut centred = Matrix::zeros(n, given.dims());
            let mut mean = vec![0.0; given.dims()];
            (0..n).for_each(|i| given.add_row(i, weight[i] / all, &mut mean));
            for i in 0..n {
                let row = centred.row_mut(i);
                given.add_row(i, 1.0, row);
                row.iter_mut().zip(&mean).for_each(|(x, m)| *x -= m);
            }
            in_axes_of_columns(&centred, &weight)?
        } else {
            let mut gram = Matrix::zeros(n, n);
            let mut dense = vec![0.0; given.dims()];
            for i in 0..n {
                dense.fill(0.0);
                given.add_row(i, 1.0, &mut dense);
                let norm: f64 = dense.iter().map(|v| v * v).sum();
                for j in 0..=i {
                    let values = match given.rows() {
                        crate::data::Rows::Dense(d) => d.row(j),
                        crate::data::Rows::Sparse(s) => s.row(j).1,
                    };
                    let own: f64 = values.iter().map(|v| v.to_f64() * v.to_f64()).sum();
                    let product = 0.5 * (norm + own - given.distance2(j, &dense));
                    gram.row_mut(i)[j] = product;
                    gram.row_mut(j)[i] = product;
                }
            }
            in_axes_of_gram(gram, &weight)?
        };
        let total = axes.iter().sum::<f64>() + units.total_scatter();
        let unit = if total > 0.0 { total / TOTAL } else { 1.0 };
        let apart = (0..n as u32).map(|u| units.graph.neighbours(u).to_vec()).collect();
        let (dims, shrink) = (points.cols().max(1), unit.sqrt());
        let mut points: Vec<f64> = points.values().iter().map(|x| x / shrink).collect();
        points.resize(n * dims, 0.0);
        let scatter = units.scatter.iter().map(|s| s / unit).collect();
        let axes = axes.iter().map(|e| e / unit).collect();
        Ok(Masses::of(dims, points, weight, scatter, apart, axes, unit))
    }

    fn of(
        dims: usize,
        points: Vec<f64>,
        weight: Vec<f64>,
        scatter: Vec<f64>,
        apart: Vec<Vec<u32>>,
        axes: Vec<f64>,
        unit: f64,
    ) -> Masses {
        let n = weight.len();
        let own = (0..n)
            .map(|i| scatter[i] + weight[i] * points[i * dims..(i + 1) * dims].iter().map(|x| x * x).sum::<f64>())
            .collect();
        let words = n.div_ceil(64);
        let mut table = vec![0u64; n * words];
        for (i, others) in apart.iter().enumerate() {
            others.iter().for_each(|&j| table[i * words + j as usize / 64] |= 1 << (j % 64));
        }
        Masses { dims, points, weight, scatter, own, apart, words, table, axes, unit }
    }

    /// How many.
    pub fn len(&self) -> usize {
        self.weight.len()
    }
    /// None?
    pub fn is_empty(&self) -> bool {
        self.weight.is_empty()
    }
    /// Number of axes.
    pub fn dims(&self) -> usize {
        self.dims
    }
    /// One point.
    pub fn point(&self, i: usize) -> &[f64] {
        &self.points[i * self.dims..(i + 1) * self.dims]
    }
    /// Those that must not be with i.
    pub fn apart(&self, i: usize) -> &[u32] {
        &self.apart[i]
    }
    /// Must i and j be apart?
    pub fn are_apart(&self, i: usize, j: usize) -> bool {
        self.table[i * self.words + j / 64] >> (j % 64) & 1 == 1
    }
    /// Does i clash with any of a bit set?
    pub fn clashes(&self, i: usize, set: &[u64]) -> bool {
        self.table[i * self.words..(i + 1) * self.words].iter().zip(set).any(|(a, b)| a & b != 0)
    }
    /// An empty bit set.
    pub fn no_bits(&self) -> Vec<u64> {
        vec![0; self.words]
    }
    /// May these be one cluster?
    pub fn valid(&self, members: &[u32]) -> bool {
        let mut bits = self.no_bits();
        members.iter().all(|&i| {
            let fits = !self.clashes(i as usize, &bits);
            bits[i as usize / 64] |= 1 << (i % 64);
            fits
        })
    }
    /// Nothing summed yet.
    pub fn nothing(&self) -> Sum {
        Sum { weight: 0.0, own: 0.0, total: vec![0.0; self.dims], count: 0 }
    }
    /// The sums of some members.
    pub fn sum(&self, members: &[u32]) -> Sum {
        let mut sum = self.nothing();
        members.iter().for_each(|&i| sum.add(self, i as usize));
        sum
    }
    /// The cost of a cluster, two passes.
    pub fn cost(&self, members: &[u32]) -> f64 {
        let sum = self.sum(members);
        if sum.count == 0 {
            return 0.0;
        }
        let mean: Vec<f64> = sum.total.iter().map(|t| t / sum.weight).collect();
        members
            .iter()
            .map(|&i| self.scatter[i as usize] + self.weight[i as usize] * self.distance2(i as usize, &mean))
            .sum()
    }
    /// ‖x_i − y‖².
    pub fn distance2(&self, i: usize, y: &[f64]) -> f64 {
        self.point(i).iter().zip(y).map(|(a, b)| (a - b) * (a - b)).sum()
    }
    /// The cost of a labelling.
    pub fn cost_of(&self, labels: &[u32], k: usize) -> f64 {
        members(labels, k).iter().map(|m| self.cost(m)).sum()
    }
    /// Σ s + what no k − 1 directions explain of the points (the trace bound): below the cost of any k clusters.
    pub fn simple_bound(&self, k: usize) -> f64 {
        self.scatter.iter().sum::<f64>() + self.axes.iter().skip(k.saturating_sub(1)).sum::<f64>()
    }

    /// Groups become one mass each, and further pairs are kept apart. `None` when that contradicts itself.
    pub fn merged(&self, group: &[u32], count: usize, extra: &[(u32, u32)]) -> Option<Masses> {
        let (mut weight, mut scatter) = (vec![0.0; count], vec![0.0; count]);
        let mut points = vec![0.0; count * self.dims];
        for (i, &g) in group.iter().enumerate() {
            let g = g as usize;
            weight[g] += self.weight[i];
            let mean = &mut points[g * self.dims..(g + 1) * self.dims];
            mean.iter_mut().zip(self.point(i)).for_each(|(m, x)| *m += self.weight[i] * x);
        }
        for (mean, w) in points.chunks_exact_mut(self.dims).zip(&weight) {
            mean.iter_mut().for_each(|m| *m /= w);
        }
        for (i, &g) in group.iter().enumerate() {
            let mean = &points[g as usize * self.dims..(g as usize + 1) * self.dims];
            scatter[g as usize] += self.scatter[i] + self.weight[i] * self.distance2(i, mean);
        }
        let mut apart = vec![Vec::new(); count];
        let given = (0..self.len()).flat_map(|i| self.apart[i].iter().map(move |&j| (i as u32, j)));
        for (a, b) in given.chain(extra.iter().flat_map(|&(a, b)| [(a, b), (b, a)])) {
            let (a, b) = (group[a as usize], group[b as usize]);
            if a == b {
                return None;
            }
            apart[a as usize].push(b);
        }
        for list in &mut apart {
            list.sort_unstable();
            list.dedup();
        }
        Some(Masses::of(self.dims, points, weight, scatter, apart, Vec::new(), self.unit))
    }
}

impl Sum {
    /// Puts one in.
    pub fn add(&mut self, masses: &Masses, i: usize) {
        self.change(masses, i, 1.0);
        self.count += 1;
    }
    /// Takes one out.
    pub fn remove(&mut self, masses: &Masses, i: usize) {
        self.change(masses, i, -1.0);
        self.count -= 1;
    }
    fn change(&mut self, masses: &Masses, i: usize, sign: f64) {
        let w = sign * masses.weight[i];
        self.weight += w;
        self.own += sign * masses.own[i];
        self.total.iter_mut().zip(masses.point(i)).for_each(|(t, x)| *t += w * x);
    }
    /// The cost of the set.
    pub fn cost(&self) -> f64 {
        if self.count == 0 {
            return 0.0;
        }
        (self.own - self.total.iter().map(|t| t * t).sum::<f64>() / self.weight).max(0.0)
    }
    /// The mean of the set.
    pub fn mean(&self) -> Vec<f64> {
        self.total.iter().map(|t| t / self.weight).collect()
    }
}

/// The members of every cluster.
pub fn members(labels: &[u32], k: usize) -> Vec<Vec<u32>> {
    let mut sets = vec![Vec::new(); k];
    labels.iter().zip(0..).for_each(|(&l, i)| sets[l as usize].push(i));
    sets
}

/// Rotates rows to the principal axes of their weighted scatter.
fn in_axes_of_columns(x: &Matrix, weight: &[f64]) -> Result<(Matrix, Vec<f64>)> {
    let mut heavy = x.clone();
    for (i, w) in weight.iter().enumerate() {
        heavy.row_mut(i).iter_mut().for_each(|v| *v *= w.sqrt());
    }
    let (values, vectors) = symmetric_eigen(&gram_of_columns(heavy.values(), x.cols()))?;
    let kept = lasting(&values);
    let directions = Matrix::from_vec(x.cols(), vectors.values()[..kept * x.cols()].to_vec());
    Ok((project(x, &directions), values[..kept].to_vec()))
}

/// Points with these inner products, in the same axes, around their weighted mean.
fn in_axes_of_gram(mut gram: Matrix, weight: &[f64]) -> Result<(Matrix, Vec<f64>)> {
    let (n, all) = (gram.rows(), weight.iter().sum::<f64>());
    let to_mean: Vec<f64> =
        (0..n).map(|i| gram.row(i).iter().zip(weight).map(|(g, w)| g * w).sum::<f64>() / all).collect();
    let mean = to_mean.iter().zip(weight).map(|(t, w)| t * w).sum::<f64>() / all;
    for i in 0..n {
        for (j, g) in gram.row_mut(i).iter_mut().enumerate() {
            *g = (*g - to_mean[i] - to_mean[j] + mean) * (weight[i] * weight[j]).sqrt();
        }
    }
    let (values, vectors) = symmetric_eigen(&gram)?;
    let kept = lasting(&values);
    let mut points = Matrix::zeros(n, kept);
    for (axis, value) in values.iter().take(kept).enumerate() {
        for i in 0..n {
            points.row_mut(i)[axis] = vectors.row(axis)[i] * (value / weight[i]).sqrt();
        }
    }
    Ok((points, values[..kept].to_vec()))
}

/// How many of these falling eigenvalues are more than rounding, at least one.
fn lasting(values: &[f64]) -> usize {
    let floor = FLAT * values.first().copied().unwrap_or(0.0);
    values.iter().take_while(|v| **v > floor).count().max(1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::constraints::{ConstraintSet, Kind};
    use crate::data::Dataset;
    use crate::rng::Rng;

    #[test]
    fn axes_and_scale_leave_costs_as_they_are_for_few_and_many_columns_and_sparse_rows() {
        let mut rng = Rng::stream(1, "masses test", 0);
        for dims in [2, 20] {
            let rows: Vec<f64> = (0..12 * dims).map(|_| 5.0 + rng.normal()).collect();
            let mut given = ConstraintSet::new(12);
            given.add_pair(Kind::MustLink, 0, 5).unwrap();
            given.add_pair(Kind::CannotLink, 5, 7).unwrap();
            let chunklets = given.close().unwrap();
            let starts: Vec<usize> = (0..=12).map(|i| i * dims).collect();
            let columns: Vec<u32> = (0..12).flat_map(|_| 0..dims as u32).collect();
            let sparse = Dataset::sparse(&starts, &columns, &rows, dims).unwrap();
            for data in [Dataset::dense(&rows, dims).unwrap(), sparse] {
                let masses = Masses::new(&Units::all(&data, &chunklets)).unwrap();
                assert_eq!((masses.len(), masses.apart(0)), (11, &[6][..]));
                let labels: Vec<u32> = (0..11).map(|i| i % 4).collect();
                let of_rows: Vec<u32> = (0..12).map(|r| labels[chunklets.of(r) as usize]).collect();
                let expected = crate::blocks::means::sum_of_squares(&data, &of_rows, 4);
                let cost = masses.cost_of(&labels, 4) * masses.unit;
                assert!((cost - expected).abs() < 1e-9 * expected, "{cost} {expected}");
                let sums: f64 = members(&labels, 4).iter().map(|m| masses.sum(m).cost()).sum();
                assert!((sums * masses.unit - expected).abs() < 1e-9 * expected);
                assert!(masses.simple_bound(4) * masses.unit < expected);
                let two = masses.merged(&labels, 4, &[(0, 1)]);
                assert_eq!(two.as_ref().map(|t| t.are_apart(0, 1)), Some(true));
                assert!((two.unwrap().scatter.iter().sum::<f64>() * masses.unit - expected).abs() < 1e-9 * expected);
                assert!(masses.merged(&[0; 11], 1, &[]).is_none());
            }
        }
    }
}
