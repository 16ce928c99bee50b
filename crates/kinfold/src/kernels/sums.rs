//! Sums of the rows of each cluster, and a row that goes from one to another. With AVX2 and FMA at run time the same
//! code is compiled for them; the plain twin is the same code without.

use super::has_avx2;
use crate::data::{Dataset, Float, Matrix, Rows, Scale};

/// Rows that belong to a cluster, added up.
#[derive(Debug, Clone)]
pub struct Sums {
    /// Σ w x of each cluster.
    pub values: Matrix,
    /// Σ w of each cluster.
    pub weights: Vec<f64>,
}

impl Sums {
    pub(crate) fn zeros(k: usize, dims: usize) -> Sums {
        Sums { values: Matrix::zeros(k, dims), weights: vec![0.0; k] }
    }

    /// Adds those of another part of the rows.
    pub(crate) fn add(&mut self, other: &Sums) {
        self.values.values_mut().iter_mut().zip(other.values.values()).for_each(|(a, b)| *a += b);
        self.weights.iter_mut().zip(&other.weights).for_each(|(a, b)| *a += b);
    }

    /// Sums of stored rows as sums of what they are on a scale.
    pub(crate) fn rescale(&mut self, scale: Scale<'_>) {
        for (c, &weight) in self.weights.iter().enumerate() {
            for (j, v) in self.values.row_mut(c).iter_mut().enumerate() {
                *v = (*v - weight * scale.shift_of(j)) * scale.factor[j];
            }
        }
    }

    /// Takes a row out of one cluster and adds it to another.
    pub(crate) fn carry<F: Float>(
        &mut self,
        data: &Dataset<'_, F>,
        row: usize,
        weight: f64,
        (from, to): (usize, usize),
    ) {
        self.weights[from] -= weight;
        self.weights[to] += weight;
        match data.stored() {
            (Rows::Dense(d), None) if from != to => {
                let [from, to] = self.values.two_rows_mut(from, to);
                carry(d.row(row), weight, from, to);
            }
            _ => {
                data.add_row(row, -weight, self.values.row_mut(from));
                data.add_row(row, weight, self.values.row_mut(to));
            }
        }
    }
}

/// from −= weight · row, to += weight · row.
#[allow(unsafe_code)]
fn carry<F: Float>(row: &[F], weight: f64, from: &mut [f64], to: &mut [f64]) {
    #[cfg(target_arch = "x86_64")]
    if has_avx2() {
        // SAFETY: the processor has AVX2 and FMA.
        unsafe { carry_avx2(row, weight, from, to) };
        return;
    }
    carry_with(row, weight, from, to);
}

#[cfg(target_arch = "x86_64")]
#[allow(unsafe_code)]
#[target_feature(enable = "avx2,fma")]
unsafe fn carry_avx2<F: Float>(row: &[F], weight: f64, from: &mut [f64], to: &mut [f64]) {
    carry_with(row, weight, from, to);
}

/// The same, compiled for its caller.
#[inline(always)]
pub(super) fn carry_with<F: Float>(row: &[F], weight: f64, from: &mut [f64], to: &mut [f64]) {
    for ((x, from), to) in row.iter().zip(from).zip(to) {
        let x = weight * x.to_f64();
        *from -= x;
        *to += x;
    }
}
