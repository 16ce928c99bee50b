//! Dense symmetric eigenproblems, products and leading eigenvectors of operators, on kinfold-linalg: always sequential,
//! the same bytes for any number of threads.
//! Leading eigenvectors: block Krylov space {V, AV, …, A⁴V} of r + 2 vectors, Rayleigh–Ritz, one restart; the block form
//! finds repeated eigenvalues (one per connected component of a graph). Cost O(r·depth) applications of the operator.

use crate::data::Matrix;
use crate::error::{Error, Result};
use crate::rng::Rng;

pub use kinfold_linalg::times_transposed;

/// Eigenvalues of a symmetric matrix, largest first, and the eigenvectors as rows in the same order.
pub fn symmetric_eigen(a: &Matrix) -> Result<(Vec<f64>, Matrix)> {
    let n = a.rows();
    let (mut values, vectors) = kinfold_linalg::symmetric_eigen(a.values(), n)
        .ok_or_else(|| Error::Numeric(format!("the eigenvectors of a {n} × {n} matrix were not found")))?;
    let mut rows = Matrix::zeros(n, n);
    for (r, from) in (0..n).rev().enumerate() {
        rows.row_mut(r).copy_from_slice(&vectors[from * n..(from + 1) * n]);
        fix_sign(rows.row_mut(r));
    }
    values.reverse();
    Ok((values, rows))
}

/// An eigenvector is known up to its sign; the entry of largest size is made positive.
fn fix_sign(v: &mut [f64]) {
    let largest = v.iter().copied().fold(0.0f64, |a, b| if b.abs() > a.abs() { b } else { a });
    if largest < 0.0 {
        v.iter_mut().for_each(|x| *x = -*x);
    }
}

/// `xᵀ · x` for row-major x (n × d): d × d.
pub fn gram_of_columns(x: &[f64], dims: usize) -> Matrix {
    let mut out = Matrix::zeros(dims, dims);
    kinfold_linalg::transposed_times(x, dims, x, dims, out.values_mut());
    out
}

/// Every row of x (n × d) times every row of `directions` (r × d): n × r.
pub fn project(x: &Matrix, directions: &Matrix) -> Matrix {
    let mut out = Matrix::zeros(x.rows(), directions.rows());
    times_transposed(x.values(), directions.values(), x.cols(), out.values_mut());
    out
}

/// C^(−1/2) as rows: directions scaled so that the covariance C becomes the identity. Eigenvalues are kept above 1e-9 of
/// the largest.
pub fn inverse_root(c: &Matrix) -> Result<Matrix> {
    let (values, mut vectors) = symmetric_eigen(c)?;
    let floor = 1e-9 * values.first().copied().unwrap_or(0.0).max(1e-300);
    for (i, value) in values.iter().enumerate() {
        let scale = 1.0 / value.max(floor).sqrt();
        vectors.row_mut(i).iter_mut().for_each(|v| *v *= scale);
    }
    Ok(vectors)
}

/// `Σ a·b` in eight lanes, fixed order.
pub fn dot(a: &[f64], b: &[f64]) -> f64 {
    let mut lanes = [0.0; 8];
    let (x, y) = (a.chunks_exact(8), b.chunks_exact(8));
    let rest: f64 = x.remainder().iter().zip(y.remainder()).map(|(p, q)| p * q).sum();
    for (p, q) in x.zip(y) {
        for l in 0..8 {
            lanes[l] += p[l] * q[l];
        }
    }
    rest + ((lanes[0] + lanes[4]) + (lanes[1] + lanes[5])) + ((lanes[2] + lanes[6]) + (lanes[3] + lanes[7]))
}

fn add_scaled(factor: f64, x: &[f64], y: &mut [f64]) {
    y.iter_mut().zip(x).for_each(|(a, b)| *a += factor * b);
}

/// Krylov blocks per round and rounds.
const DEPTH: usize = 5;
const ROUNDS: usize = 2;
/// Plain applications that clean the random start before anything is orthogonalised.
const WARM_UP: usize = 10;

/// An operator that is given vector by vector, for [`leading_eigenvectors`].
pub fn one_by_one(apply: impl Fn(&[f64], &mut [f64]) + Sync) -> impl Fn(&Matrix) -> Matrix + Sync {
    move |block| {
        let mut images = Matrix::zeros(block.rows(), block.cols());
        (0..block.rows()).for_each(|i| apply(block.row(i), images.row_mut(i)));
        images
    }
}

/// The `wanted` eigenvectors of largest eigenvalue of a positive semidefinite operator on vectors of length `size`, as
/// rows, best first. `apply` gives the images of the rows of a block. Up to `dense_up_to` the operator is written out and
/// solved exactly.
pub fn leading_eigenvectors(
    size: usize,
    wanted: usize,
    dense_up_to: usize,
    rng: &mut Rng,
    apply: &(dyn Fn(&Matrix) -> Matrix + Sync),
) -> Result<Matrix> {
    leading_eigenvectors_beside(&Matrix::zeros(0, size), wanted, dense_up_to, rng, apply)
}

/// The same when some of the first ones are known, as rows: the others need not be told from these step by step, which
/// takes long where eigenvalues are nearly equal.
pub fn leading_eigenvectors_beside(
    known: &Matrix,
    wanted: usize,
    dense_up_to: usize,
    rng: &mut Rng,
    apply: &(dyn Fn(&Matrix) -> Matrix + Sync),
) -> Result<Matrix> {
    let size = known.cols();
    let wanted = wanted.min(size);
    if size <= dense_up_to {
        let (_, vectors) = symmetric_eigen(&apply(&Matrix::identity(size)))?;
        return Ok(Matrix::from_vec(size, vectors.values()[..wanted * size].to_vec()));
    }
    let width = (wanted + 2).min(size);
    let mut block = Matrix::from_vec(size, (0..width * size).map(|_| rng.unit() - 0.5).collect());
    (0..known.rows().min(width)).for_each(|i| block.row_mut(i).copy_from_slice(known.row(i)));
    for _ in 0..WARM_UP {
        block = apply(&block);
        for i in 0..width {
            let image = block.row_mut(i);
            let norm = dot(image, image).sqrt();
            let scale = if norm > 0.0 { 1.0 / norm } else { 1.0 };
            image.iter_mut().for_each(|v| *v *= scale);
        }
    }
    for _ in 0..ROUNDS {
        let (mut basis, mut images) = (Matrix::zeros(0, size), Matrix::zeros(0, size));
        let mut current = block;
        for _ in 0..DEPTH {
            let norms: Vec<f64> = current.iter().map(|v| dot(v, v).sqrt()).collect();
            // Twice is enough for all digits.
            (0..2).for_each(|_| remove_span(&mut current, &basis));
            let first = basis.rows();
            for (v, &norm) in current.iter().zip(&norms) {
                if let Some(v) = orthogonalised(v.to_vec(), norm, &basis, first)
                    && basis.rows() < size
                {
                    basis.push(&v);
                }
            }
            current = apply(&Matrix::from_vec(size, basis.values()[first * size..].to_vec()));
            current.iter().for_each(|image| images.push(image));
        }
        let small = project(&basis, &images);
        let (_, vectors) = symmetric_eigen(&small)?;
        let kept = width.min(basis.rows());
        let mixing = Matrix::from_vec(basis.rows(), vectors.values()[..kept * basis.rows()].to_vec()).transposed();
        block = Matrix::zeros(kept, size);
        kinfold_linalg::transposed_times(mixing.values(), kept, basis.values(), size, block.values_mut());
        (0..kept).for_each(|i| fix_sign(block.row_mut(i)));
    }
    let kept = wanted.min(block.rows());
    Ok(Matrix::from_vec(size, block.values()[..kept * size].to_vec()))
}

/// Takes the part of the rows of `block` in the span of the orthonormal `basis` out of them.
fn remove_span(block: &mut Matrix, basis: &Matrix) {
    if basis.rows() == 0 || block.rows() == 0 {
        return;
    }
    let mut part = Matrix::zeros(block.rows(), block.cols());
    let shares = project(basis, block);
    kinfold_linalg::transposed_times(shares.values(), block.rows(), basis.values(), block.cols(), part.values_mut());
    add_scaled(-1.0, part.values(), block.values_mut());
}

/// `v` without its part in the span of the rows of `basis` from `first` on, of length 1; `None` when next to nothing is
/// left of what was `before` long.
fn orthogonalised(mut v: Vec<f64>, before: f64, basis: &Matrix, first: usize) -> Option<Vec<f64>> {
    let mut norm = dot(&v, &v).sqrt();
    for _ in 0..2 {
        for q in basis.iter().skip(first) {
            let c = dot(q, &v);
            add_scaled(-c, q, &mut v);
        }
        let after = dot(&v, &v).sqrt();
        let digits_left = after >= 0.1 * norm;
        norm = after;
        if digits_left {
            break;
        }
    }
    if !(norm > 1e-8 * before) {
        return None;
    }
    v.iter_mut().for_each(|x| *x /= norm);
    Some(v)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn random_symmetric(n: usize, seed: u64) -> Matrix {
        let mut rng = Rng::stream(seed, "test", 0);
        let x = Matrix::from_vec(n, (0..2 * n * n).map(|_| rng.normal()).collect());
        gram_of_columns(x.values(), n)
    }

    #[test]
    fn eigenvectors_satisfy_their_equation_and_are_sorted() {
        let a = random_symmetric(17, 1);
        let (values, vectors) = symmetric_eigen(&a).unwrap();
        assert!(values.windows(2).all(|w| w[0] >= w[1]));
        for (c, value) in values.iter().enumerate() {
            for i in 0..17 {
                assert!((dot(a.row(i), vectors.row(c)) - value * vectors.row(c)[i]).abs() < 1e-9 * values[0]);
            }
        }
    }

    #[test]
    fn krylov_finds_what_the_dense_solver_finds() {
        let n = 150;
        let mut a = random_symmetric(n, 2);
        // A decaying spectrum with a repeated top value, as a graph of two components has.
        let (_, v) = symmetric_eigen(&a).unwrap();
        let spectrum: Vec<f64> = (0..n).map(|i| if i < 2 { 1.0 } else { 0.9 / (i as f64) }).collect();
        for i in 0..n {
            for j in 0..n {
                a.row_mut(i)[j] = (0..n).map(|c| spectrum[c] * v.row(c)[i] * v.row(c)[j]).sum();
            }
        }
        let apply = |x: &[f64], y: &mut [f64]| (0..n).for_each(|i| y[i] = dot(a.row(i), x));
        let found = leading_eigenvectors(n, 4, 0, &mut Rng::stream(3, "test", 0), &one_by_one(apply)).unwrap();
        for c in 0..4 {
            let mut image = vec![0.0; n];
            apply(found.row(c), &mut image);
            let value = dot(&image, found.row(c));
            assert!((value - spectrum[c]).abs() < 1e-6, "{value} {}", spectrum[c]);
        }
    }

    #[test]
    fn whitening_makes_the_covariance_the_identity() {
        let c = random_symmetric(6, 4);
        let w = inverse_root(&c).unwrap();
        let half = project(&w, &c);
        let whole = project(&half, &w);
        for i in 0..6 {
            for j in 0..6 {
                assert!((whole.row(i)[j] - f64::from(u8::from(i == j))).abs() < 1e-8);
            }
        }
    }
}
