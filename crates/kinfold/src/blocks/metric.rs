//! Covariances inside groups and the metrics learned from them. Relevant component analysis (Bar-Hillel et al. 2005),
//! shrunk: C = (1 − a)·S_w + a·t·diag(S_total), S_w the scatter within groups of two rows or more over its degrees of
//! freedom df, t = tr S_w / tr S_total; a fixed, or c·d/(c·d + df), which trusts S_w as far as its rows allow.
//! Cost O(n·d² + d³).

use super::linalg::{gram_of_columns, inverse_root, project, symmetric_eigen};
use crate::data::Matrix;
use crate::error::Result;

/// How far the within-group covariance is pulled towards the diagonal of the total one.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Shrinkage {
    /// By this share.
    Share(f64),
    /// As if the diagonal were known from this many rows per column.
    RowsPerColumn(f64),
}

/// Scatter inside groups of two rows or more.
pub struct Within {
    /// Σ (x − mean of its group)(x − mean)ᵀ.
    pub scatter: Matrix,
    /// Rows in those groups.
    pub rows: f64,
    /// Such groups.
    pub groups: f64,
}

impl Within {
    /// Degrees of freedom.
    pub fn freedom(&self) -> f64 {
        self.rows - self.groups
    }
}

/// Scatter inside groups; `share` weighs every square of a group by its number of rows.
pub fn within(x: &Matrix, group: &[u32], groups: usize, share: impl Fn(f64) -> f64) -> Within {
    let dims = x.cols();
    let mut mean = Matrix::zeros(groups, dims);
    let mut count = vec![0.0f64; groups];
    for (row, &g) in x.iter().zip(group) {
        count[g as usize] += 1.0;
        mean.row_mut(g as usize).iter_mut().zip(row).for_each(|(m, v)| *m += v);
    }
    for (g, &c) in count.iter().enumerate() {
        mean.row_mut(g).iter_mut().for_each(|m| *m /= c.max(1.0));
    }
    let mut centred = Vec::new();
    for (row, &g) in x.iter().zip(group) {
        if count[g as usize] >= 2.0 {
            let scale = share(count[g as usize]).sqrt();
            centred.extend(row.iter().zip(mean.row(g as usize)).map(|(v, m)| scale * (v - m)));
        }
    }
    let several = || count.iter().filter(|&&c| c >= 2.0);
    Within { scatter: gram_of_columns(&centred, dims), rows: several().sum(), groups: several().count() as f64 }
}

/// A positive semidefinite matrix M as a map G of rows with M = GᵀG; directions below 1e-12 of the largest are dropped.
pub fn map_of(m: &Matrix) -> Result<Matrix> {
    let (values, vectors) = symmetric_eigen(m)?;
    let most = values.first().copied().unwrap_or(0.0);
    let mut map = Matrix::zeros(0, m.cols());
    for (i, &value) in values.iter().enumerate().filter(|(_, v)| **v > 1e-12 * most) {
        map.push(&vectors.row(i).iter().map(|v| v * value.sqrt()).collect::<Vec<f64>>());
    }
    Ok(map)
}

/// C^(−½) as rows, directions below `drop` of the largest variance left out.
pub fn whitening(c: &Matrix, drop: f64) -> Result<Matrix> {
    let (values, vectors) = symmetric_eigen(c)?;
    let most = values.first().copied().unwrap_or(0.0);
    let mut map = Matrix::zeros(0, c.cols());
    for (i, &value) in values.iter().enumerate().filter(|(_, v)| **v > drop * most && **v > 0.0) {
        map.push(&vectors.row(i).iter().map(|v| v / value.sqrt()).collect::<Vec<f64>>());
    }
    Ok(map)
}

/// Sum of the diagonal.
pub fn trace(m: &Matrix) -> f64 {
    (0..m.rows()).map(|j| m.row(j)[j]).sum()
}

/// += value · I.
pub fn add_to_diagonal(m: &mut Matrix, value: f64) {
    (0..m.rows()).for_each(|j| m.row_mut(j)[j] += value);
}

/// Covariance of all rows.
pub fn total_covariance(x: &Matrix) -> Matrix {
    let mut s = within(x, &vec![0; x.rows()], 1, |_| 1.0).scatter;
    s.values_mut().iter_mut().for_each(|v| *v /= x.rows().max(1) as f64);
    s
}

/// The rows where groups of rows (numbers below `groups`) have the shrunk covariance I, and the map that leads there
/// (rows = directions). Without a group of two rows: whitened by the total covariance.
pub fn whitened(x: &Matrix, group: &[u32], groups: usize, shrinkage: Shrinkage) -> Result<(Matrix, Matrix)> {
    let dims = x.cols();
    let total = total_covariance(x);
    let inside = within(x, group, groups, |_| 1.0);
    let freedom = inside.freedom();
    let mut s = inside.scatter;
    if freedom < 1.0 {
        s = total;
    } else {
        s.values_mut().iter_mut().for_each(|v| *v /= freedom);
        let a = match shrinkage {
            Shrinkage::Share(a) => a,
            Shrinkage::RowsPerColumn(c) => c * dims as f64 / (c * dims as f64 + freedom),
        };
        let ratio = trace(&s) / trace(&total);
        let ratio = if ratio.is_finite() { ratio.max(1e-6) } else { 1.0 };
        s.values_mut().iter_mut().for_each(|v| *v *= 1.0 - a);
        for j in 0..dims {
            s.row_mut(j)[j] += a * ratio * total.row(j)[j].max(1e-12);
        }
    }
    let map = inverse_root(&s)?;
    Ok((project(x, &map), map))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Rng;

    #[test]
    fn within_chunklet_covariance_becomes_the_identity_without_shrinkage() {
        let mut rng = Rng::stream(1, "test", 0);
        let x = Matrix::from_vec(3, (0..300).map(|i| rng.normal() * f64::from(1 + i % 3)).collect());
        let group: Vec<u32> = (0..100).map(|i| i / 4).collect();
        let (z, _) = whitened(&x, &group, 25, Shrinkage::Share(0.0)).unwrap();
        let inside = within(&z, &group, 25, |_| 1.0);
        let (s, freedom) = (&inside.scatter, inside.freedom());
        assert_eq!(freedom, 75.0);
        for i in 0..3 {
            for j in 0..3 {
                assert!((s.row(i)[j] / freedom - f64::from(u8::from(i == j))).abs() < 1e-9);
            }
        }
    }

    #[test]
    fn rows_without_spread_are_no_problem() {
        let x = Matrix::zeros(5, 2);
        let (z, _) = whitened(&x, &[0, 0, 1, 1, 2], 3, Shrinkage::RowsPerColumn(1.0)).unwrap();
        assert!(z.values().iter().all(|v| v.is_finite()));
    }
}
