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

/// The inverse of a lower triangular n × n matrix, row-major with zeros above the diagonal.
pub fn inverse_lower(l: &[f64], n: usize) -> Vec<f64> {
    assert_eq!(l.len(), n * n);
    let mut out = vec![0.0; n * n];
    if n > 0 {
        faer::linalg::triangular_inverse::invert_lower_triangular(
            MatMut::from_row_major_slice_mut(&mut out, n, n),
            MatRef::from_row_major_slice(l, n, n),
            Par::Seq,
        );
    }
    out
}

/// A·v = μ·B·v for symmetric A and symmetric positive definite B: the μ, smallest first, and vectors with vᵀBv = 1 as
/// rows in the same order; `None` when B is not positive definite or the iteration fails.
pub fn generalised_eigen(a: &[f64], b: &[f64], n: usize) -> Option<(Vec<f64>, Vec<f64>)> {
    let inverse = inverse_lower(&cholesky(b, n)?, n);
    // L⁻¹ · A · L⁻ᵀ, of which both halves are made equal to the bit.
    let (mut half, mut whole) = (vec![0.0; n * n], vec![0.0; n * n]);
    times_transposed(&inverse, a, n, &mut half);
    times_transposed(&half, &inverse, n, &mut whole);
    for i in 0..n {
        for j in 0..i {
            whole[i * n + j] = 0.5 * (whole[i * n + j] + whole[j * n + i]);
            whole[j * n + i] = whole[i * n + j];
        }
    }
    let (values, vectors) = symmetric_eigen(&whole, n)?;
    // Rows yᵀ become rows (L⁻ᵀ y)ᵀ = yᵀ L⁻¹.
    let mut turned = vec![0.0; n * n];
    for i in 0..n {
        for j in 0..=i {
            turned[j * n + i] = inverse[i * n + j];
        }
    }
    times_transposed(&vectors, &turned, n, &mut half);
    Some((values, half))
}

/// A factored symmetric positive definite matrix, to solve with.
pub struct Factored(faer::linalg::solvers::Llt<f64>);

impl Factored {
    /// Factors an n × n matrix; `None` when it is not positive definite.
    pub fn new(a: &[f64], n: usize) -> Option<Factored> {
        let matrix = MatRef::from_row_major_slice(a, n, n);
        Some(Factored(faer::linalg::solvers::Llt::new(matrix, faer::Side::Lower).ok()?))
    }
    /// Replaces x by A⁻¹·x.
    pub fn solve(&self, x: &mut [f64]) {
        use faer::linalg::solvers::SolveCore;
        let n = x.len();
        self.0.solve_in_place_with_conj(faer::Conj::No, MatMut::from_column_major_slice_mut(x, n, 1));
    }
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
    fn triangular_inverses_solves_and_generalised_eigenvectors_satisfy_their_equations() {
        let a = [1.0, -2.0, 0.3, -2.0, 0.5, 1.0, 0.3, 1.0, -4.0];
        let b = [4.0, 2.0, 0.4, 2.0, 3.0, 0.1, 0.4, 0.1, 1.0];
        let l = cholesky(&b, 3).unwrap();
        let inverse = inverse_lower(&l, 3);
        let times = |m: &[f64], v: &[f64]| -> Vec<f64> {
            m.chunks(3).map(|row| row.iter().zip(v).map(|(x, y)| x * y).sum()).collect()
        };
        for c in 0..3 {
            let mut unit = [0.0; 3];
            unit[c] = 1.0;
            let back = times(&l, &times(&inverse, &unit));
            assert!(back.iter().zip(unit).all(|(x, y)| (x - y).abs() < 1e-12));
            let mut x = unit;
            Factored::new(&b, 3).unwrap().solve(&mut x);
            assert!(times(&b, &x).iter().zip(unit).all(|(x, y)| (x - y).abs() < 1e-12));
        }
        let (values, vectors) = generalised_eigen(&a, &b, 3).unwrap();
        assert!(values.windows(2).all(|w| w[0] <= w[1]));
        for (value, v) in values.iter().zip(vectors.chunks(3)) {
            let (av, bv) = (times(&a, v), times(&b, v));
            assert!(av.iter().zip(&bv).all(|(x, y)| (x - value * y).abs() < 1e-12), "{av:?} {bv:?}");
            assert!((v.iter().zip(&bv).map(|(x, y)| x * y).sum::<f64>() - 1.0).abs() < 1e-12);
        }
        assert!(generalised_eigen(&b, &a, 3).is_none());
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
