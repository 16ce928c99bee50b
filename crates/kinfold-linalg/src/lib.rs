//! Dense linear algebra on row-major slices: products, symmetric eigenproblems, Cholesky. The only crate that names faer,
//! whose generic code would otherwise be compiled again with every change of the engine. Always sequential: the same
//! bytes for any number of threads.

use faer::dyn_stack::{MemBuffer, MemStack};
use faer::linalg::evd::{ComputeEigenvectors, self_adjoint_evd, self_adjoint_evd_scratch};
use faer::{Accum, MatMut, MatRef, Par};

/// Eigenvalues of a symmetric n × n matrix, smallest first, and its eigenvectors as rows in the same order; `None` when
/// the iteration fails (NaN or infinity in the matrix).
pub fn symmetric_eigen(a: &[f64], n: usize) -> Option<(Vec<f64>, Vec<f64>)> {
    assert_eq!(a.len(), n * n);
    if n == 0 {
        return Some((Vec::new(), Vec::new()));
    }
    let mut values = faer::Col::<f64>::zeros(n);
    let mut vectors = faer::Mat::<f64>::zeros(n, n);
    let need = self_adjoint_evd_scratch::<f64>(n, ComputeEigenvectors::Yes, Par::Seq, Default::default());
    let mut memory = MemBuffer::new(need);
    self_adjoint_evd(
        MatRef::from_row_major_slice(a, n, n),
        values.as_mut().as_diagonal_mut(),
        Some(vectors.as_mut()),
        Par::Seq,
        MemStack::new(&mut memory),
        Default::default(),
    )
    .ok()?;
    let mut rows = Vec::with_capacity(n * n);
    for c in 0..n {
        rows.extend((0..n).map(|j| vectors[(j, c)]));
    }
    Some(((0..n).map(|i| values[i]).collect(), rows))
}

/// `out = a · bᵀ` for row-major a (p × d), b (q × d), out (p × q).
pub fn times_transposed(a: &[f64], b: &[f64], d: usize, out: &mut [f64]) {
    transposed_product(a, b, d, out);
}

/// [`times_transposed`] in single precision.
pub fn times_transposed_f32(a: &[f32], b: &[f32], d: usize, out: &mut [f32]) {
    transposed_product(a, b, d, out);
}

fn transposed_product<T: faer::traits::ComplexField>(a: &[T], b: &[T], d: usize, out: &mut [T]) {
    if d == 0 || out.is_empty() {
        out.fill(T::zero_impl());
        return;
    }
    let (p, q) = (a.len() / d, b.len() / d);
    faer::linalg::matmul::matmul(
        MatMut::from_row_major_slice_mut(out, p, q),
        Accum::Replace,
        MatRef::from_row_major_slice(a, p, d),
        MatRef::from_row_major_slice(b, q, d).transpose(),
        T::one_impl(),
        Par::Seq,
    );
}

/// `out = aᵀ · b` for row-major a (n × p), b (n × q), out (p × q).
pub fn transposed_times(a: &[f64], p: usize, b: &[f64], q: usize, out: &mut [f64]) {
    if p == 0 || q == 0 || a.is_empty() {
        out.fill(0.0);
        return;
    }
    let n = a.len() / p;
    faer::linalg::matmul::matmul(
        MatMut::from_row_major_slice_mut(out, p, q),
        Accum::Replace,
        MatRef::from_row_major_slice(a, n, p).transpose(),
        MatRef::from_row_major_slice(b, n, q),
        1.0,
        Par::Seq,
    );
}

/// The lower Cholesky factor L of a symmetric positive definite n × n matrix, A = L·Lᵀ, row-major with zeros above the
/// diagonal; `None` when A is not positive definite.
pub fn cholesky(a: &[f64], n: usize) -> Option<Vec<f64>> {
    assert_eq!(a.len(), n * n);
    let factor = faer::linalg::solvers::Llt::new(MatRef::from_row_major_slice(a, n, n), faer::Side::Lower).ok()?;
    let l = factor.L();
    let mut out = vec![0.0; n * n];
    for i in 0..n {
        for j in 0..=i {
            out[i * n + j] = l[(i, j)];
        }
    }
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cholesky_factor_times_its_transpose_is_the_matrix() {
        let a = [4.0, 2.0, 0.4, 2.0, 3.0, 0.1, 0.4, 0.1, 1.0];
        let l = cholesky(&a, 3).unwrap();
        let mut back = [0.0; 9];
        times_transposed(&l, &l, 3, &mut back);
        assert!(a.iter().zip(back).all(|(x, y)| (x - y).abs() < 1e-12), "{back:?}");
        assert!(cholesky(&[1.0, 2.0, 2.0, 1.0], 2).is_none());
    }

    #[test]
    fn products_agree_with_sums_written_out() {
        let (a, b) = ([1.0, 2.0, 3.0, 4.0, 5.0, 6.0], [1.0, 0.5, -1.0, 2.0, 0.25, 4.0]);
        let mut ab = [0.0; 4];
        times_transposed(&a, &b, 3, &mut ab);
        assert_eq!(ab, [-1.0, 14.5, 0.5, 33.25]);
        let mut ta = [0.0; 4];
        transposed_times(&a, 2, &b, 2, &mut ta);
        assert_eq!(ta, [1.0 - 3.0 + 1.25, 0.5 + 6.0 + 20.0, 2.0 - 4.0 + 1.5, 1.0 + 8.0 + 24.0]);
    }
}
