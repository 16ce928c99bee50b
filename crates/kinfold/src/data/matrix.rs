//! A small dense matrix of f64, row-major: centres, metrics, means.

use serde::{Deserialize, Serialize};

/// Rows × cols values, row-major.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Matrix {
    rows: usize,
    cols: usize,
    values: Vec<f64>,
}

impl Matrix {
    /// All zeros.
    pub fn zeros(rows: usize, cols: usize) -> Matrix {
        Matrix { rows, cols, values: vec![0.0; rows * cols] }
    }
    /// Ones on the diagonal.
    pub fn identity(size: usize) -> Matrix {
        let mut m = Matrix::zeros(size, size);
        for i in 0..size {
            m.row_mut(i)[i] = 1.0;
        }
        m
    }
    /// Takes `values` as rows of `cols`. Panics when the length does not fit.
    pub fn from_vec(cols: usize, values: Vec<f64>) -> Matrix {
        assert!(cols > 0 && values.len().is_multiple_of(cols), "{} values in rows of {cols}", values.len());
        Matrix { rows: values.len() / cols, cols, values }
    }
    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.rows
    }
    /// Number of columns.
    pub fn cols(&self) -> usize {
        self.cols
    }
    /// Row `i`.
    pub fn row(&self, i: usize) -> &[f64] {
        &self.values[i * self.cols..(i + 1) * self.cols]
    }
    /// Row `i`, to write.
    pub fn row_mut(&mut self, i: usize) -> &mut [f64] {
        &mut self.values[i * self.cols..(i + 1) * self.cols]
    }
    /// Two different rows, to write.
    pub(crate) fn two_rows_mut(&mut self, a: usize, b: usize) -> [&mut [f64]; 2] {
        let cols = self.cols;
        let (low, high) = self.values.split_at_mut(a.max(b) * cols);
        let (first, second) = (&mut low[a.min(b) * cols..][..cols], &mut high[..cols]);
        if a < b { [first, second] } else { [second, first] }
    }
    /// All values, row after row.
    pub fn values(&self) -> &[f64] {
        &self.values
    }
    /// All values, to write.
    pub fn values_mut(&mut self) -> &mut [f64] {
        &mut self.values
    }
    /// The rows one after the other.
    pub fn iter(&self) -> impl Iterator<Item = &[f64]> {
        self.values.chunks_exact(self.cols.max(1)).take(self.rows)
    }
    /// Appends a row.
    pub fn push(&mut self, row: &[f64]) {
        assert_eq!(row.len(), self.cols);
        self.values.extend_from_slice(row);
        self.rows += 1;
    }
    /// Rows and columns exchanged.
    pub fn transposed(&self) -> Matrix {
        // Eight rows at a time: what is written lies in one line of the cache.
        let mut t = Matrix::zeros(self.cols, self.rows);
        for first in (0..self.rows).step_by(8) {
            for j in 0..self.cols {
                for i in first..(first + 8).min(self.rows) {
                    t.values[j * self.rows + i] = self.values[i * self.cols + j];
                }
            }
        }
        t
    }
}
