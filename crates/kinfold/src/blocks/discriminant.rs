//! Discriminative component analysis (Hoi et al. 2006): the linear map x → A·x that maximises |A·C_b·Aᵀ| / |A·C_w·Aᵀ|.
//! C_b: scatter between the means of chunklets with a cannot-link between them (rows in a cannot-link alone count as
//! chunklets); C_w: mean scatter within chunklets of two rows or more, each weighing the same. C_b = U·Λ·Uᵀ, Z = U·Λ^(−1/2)
//! where λ > 10⁻⁹·λ_max, ZᵀC_wZ = V·Δ·Vᵀ, A = (Z·V·Δ^(−1/2))ᵀ, most discriminative direction first. Cost O(links·d² + d³).
//! Departs from the paper: C_w + reg·(tr C_t / d)·I, because few must-links leave C_w singular. Without cannot-links
//! C_b = I; without must-links A = Zᵀ.

use super::linalg::{gram_of_columns, symmetric_eigen};
use super::metric::total_covariance;
use crate::constraints::Chunklets;
use crate::data::Matrix;
use crate::error::Result;

/// Share of the largest eigenvalue below which a direction is left out.
const SMALLEST: f64 = 1e-9;
/// Differences that are multiplied at once.
const BATCH: usize = 4_096;

/// The map, dims × directions: row x becomes x·map. `None` when there is nothing to learn from.
pub fn discriminant(x: &Matrix, chunklets: &Chunklets, regularisation: f64) -> Result<Option<Matrix>> {
    let dims = x.cols();
    let graph = chunklets.graph();
    let joined = |c: u32| chunklets.members(c).len() > 1;
    let any_joined = (0..chunklets.len() as u32).any(joined);
    if !any_joined && graph.edge_count() == 0 {
        return Ok(None);
    }
    let mean = |c: u32| {
        let members = chunklets.members(c);
        let mut sum = vec![0.0; dims];
        members.iter().for_each(|&row| sum.iter_mut().zip(x.row(row as usize)).for_each(|(s, v)| *s += v));
        sum.iter_mut().for_each(|s| *s /= members.len() as f64);
        sum
    };
    let means: Vec<Vec<f64>> = (0..chunklets.len() as u32).map(mean).collect();
    let between = scatter(
        dims,
        graph.edges().map(|(a, b)| {
            let (a, b) = (&means[a as usize], &means[b as usize]);
            a.iter().zip(b).map(|(a, b)| a - b).collect()
        }),
        1.0 / graph.edge_count().max(1) as f64,
    );
    let groups = (0..chunklets.len() as u32).filter(|&c| joined(c)).count();
    let mut within = scatter(
        dims,
        (0..chunklets.len() as u32).filter(|&c| joined(c)).flat_map(|c| {
            let (members, mean) = (chunklets.members(c), &means[c as usize]);
            let share = 1.0 / (members.len() as f64).sqrt();
            members.iter().map(move |&row| x.row(row as usize).iter().zip(mean).map(|(v, m)| (v - m) * share).collect())
        }),
        1.0 / groups.max(1) as f64,
    );
    if any_joined && regularisation > 0.0 {
        let total = total_covariance(x);
        let ridge = regularisation * (0..dims).map(|j| total.row(j)[j]).sum::<f64>() / dims as f64;
        (0..dims).for_each(|j| within.row_mut(j)[j] += ridge);
    }
    // Z as rows: r × dims.
    let mut z = Matrix::zeros(0, dims);
    if graph.edge_count() == 0 {
        z = Matrix::identity(dims);
    } else {
        let (values, vectors) = symmetric_eigen(&between)?;
        let largest = values.first().copied().unwrap_or(0.0);
        for (value, vector) in values.iter().zip(vectors.iter()).filter(|(v, _)| **v > SMALLEST * largest) {
            z.push(&vector.iter().map(|v| v / value.sqrt()).collect::<Vec<f64>>());
        }
    }
    if z.rows() == 0 {
        return Ok(None);
    }
    let inner = sandwich(&z, &within);
    let (values, vectors) = symmetric_eigen(&inner)?;
    let largest = values.first().copied().unwrap_or(0.0);
    if !any_joined || !(largest > 0.0) {
        return Ok(Some(z.transposed()));
    }
    let mut directions = Matrix::zeros(0, dims);
    for at in (0..values.len()).rev() {
        let scale = 1.0 / values[at].max(SMALLEST * largest).sqrt();
        let mut direction = vec![0.0; dims];
        for (v, row) in vectors.row(at).iter().zip(z.iter()) {
            direction.iter_mut().zip(row).for_each(|(d, r)| *d += scale * v * r);
        }
        directions.push(&direction);
    }
    Ok(Some(directions.transposed()))
}

/// factor·Σ v·vᵀ, in batches.
fn scatter(dims: usize, vectors: impl Iterator<Item = Vec<f64>>, factor: f64) -> Matrix {
    let mut sum = Matrix::zeros(dims, dims);
    let mut batch: Vec<f64> = Vec::new();
    let mut flush = |batch: &mut Vec<f64>| {
        let part = gram_of_columns(batch, dims);
        sum.values_mut().iter_mut().zip(part.values()).for_each(|(s, p)| *s += factor * p);
        batch.clear();
    };
    for v in vectors {
        batch.extend(v);
        if batch.len() >= BATCH * dims {
            flush(&mut batch);
        }
    }
    if !batch.is_empty() {
        flush(&mut batch);
    }
    sum
}

/// z·m·zᵀ for z (r × d), m (d × d).
fn sandwich(z: &Matrix, m: &Matrix) -> Matrix {
    let (r, d) = (z.rows(), z.cols());
    let mut left = vec![0.0; r * d];
    // m is symmetric, so m·zᵀ read by rows of z.
    super::linalg::times_transposed(z.values(), m.values(), d, &mut left);
    let mut out = vec![0.0; r * r];
    super::linalg::times_transposed(&left, z.values(), d, &mut out);
    Matrix::from_vec(r, out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_worked_example_holds() {
        // spec/validation.md, test 10.
        let x = Matrix::from_vec(2, vec![0.0, 0.0, 1.0, 2.0, 4.0, 0.0, 5.0, 2.0]);
        let chunklets = Chunklets::from_groups(&[0, 0, 2, 2], &[(0, 2)]);
        let map = discriminant(&x, &chunklets, 0.0).unwrap().unwrap();
        assert_eq!((map.rows(), map.cols()), (2, 1));
        assert!((map.row(0)[0].abs() - 2.0).abs() < 1e-9 && map.row(1)[0].abs() < 1e-9, "{map:?}");
    }

    #[test]
    fn fallbacks_are_whitening_means_and_nothing() {
        let x = Matrix::from_vec(1, vec![0.0, 2.0, 5.0, 9.0]);
        assert_eq!(discriminant(&x, &Chunklets::singletons(4), 1e-3).unwrap(), None);
        // Only must-links: divided by the standard deviation within.
        let joined = discriminant(&x, &Chunklets::from_groups(&[0, 0, 2, 3], &[]), 0.0).unwrap().unwrap();
        assert!((joined.row(0)[0].abs() - 1.0).abs() < 1e-12);
        // Only cannot-links: divided by the spread of the means.
        let apart = discriminant(&x, &Chunklets::from_groups(&[0, 1, 2, 3], &[(0, 2)]), 0.0).unwrap().unwrap();
        assert!((apart.row(0)[0].abs() - 0.2).abs() < 1e-12);
    }
}
