//! The borrowed view that every method reads.

use crate::error::{Error, Result};

/// f32 or f64.
pub trait Float:
    Copy
    + PartialOrd
    + Send
    + Sync
    + std::fmt::Debug
    + Default
    + std::ops::Add<Output = Self>
    + std::ops::Sub<Output = Self>
    + std::ops::Mul<Output = Self>
    + crate::kernels::Kernel
    + 'static
{
    /// "f32" or "f64".
    const NAME: &'static str;
    /// Widens.
    fn to_f64(self) -> f64;
    /// Narrows.
    fn from_f64(value: f64) -> Self;
    /// Larger than every finite value.
    const INFINITY: Self;
}

impl Float for f32 {
    const NAME: &'static str = "f32";
    #[inline(always)]
    fn to_f64(self) -> f64 {
        f64::from(self)
    }
    #[inline(always)]
    fn from_f64(value: f64) -> Self {
        value as f32
    }
    const INFINITY: Self = Self::INFINITY;
}

impl Float for f64 {
    const NAME: &'static str = "f64";
    #[inline(always)]
    fn to_f64(self) -> f64 {
        self
    }
    #[inline(always)]
    fn from_f64(value: f64) -> Self {
        value
    }
    const INFINITY: Self = Self::INFINITY;
}

/// Dense rows, row-major.
#[derive(Debug, Clone, Copy)]
pub struct Dense<'a, F> {
    values: &'a [F],
    dims: usize,
}

impl<'a, F: Float> Dense<'a, F> {
    /// Row `i`.
    pub fn row(&self, i: usize) -> &'a [F] {
        &self.values[i * self.dims..(i + 1) * self.dims]
    }
    /// All values, row after row.
    pub fn values(&self) -> &'a [F] {
        self.values
    }
    /// Row width.
    pub fn dims(&self) -> usize {
        self.dims
    }
}

/// Sparse rows: column numbers and values of the non-zero entries, row after row.
#[derive(Debug, Clone, Copy)]
pub struct Csr<'a, F> {
    starts: &'a [usize],
    columns: &'a [u32],
    values: &'a [F],
    dims: usize,
}

impl<'a, F: Float> Csr<'a, F> {
    /// Columns and values of row `i`, columns ascending.
    pub fn row(&self, i: usize) -> (&'a [u32], &'a [F]) {
        let range = self.starts[i]..self.starts[i + 1];
        (&self.columns[range.clone()], &self.values[range])
    }
    /// Number of stored entries.
    pub fn stored(&self) -> usize {
        self.values.len()
    }
    /// Row width.
    pub fn dims(&self) -> usize {
        self.dims
    }
}

/// Dense or sparse. Match once per call, never in a loop over rows.
#[derive(Debug, Clone, Copy)]
pub enum Rows<'a, F> {
    /// Dense rows.
    Dense(Dense<'a, F>),
    /// Sparse rows.
    Sparse(Csr<'a, F>),
}

/// Columns seen on another scale: (x_j − shift_j) · factor_j.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Scale<'a> {
    /// Empty = nothing is subtracted.
    pub(crate) shift: &'a [f64],
    pub(crate) factor: &'a [f64],
}

impl Scale<'_> {
    /// What a value of column j is on this scale.
    #[inline(always)]
    pub(crate) fn at(&self, j: usize, value: f64) -> f64 {
        (value - self.shift_of(j)) * self.factor[j]
    }
    pub(crate) fn shift_of(&self, j: usize) -> f64 {
        self.shift.get(j).copied().unwrap_or(0.0)
    }
}

/// n rows × dims columns of finite numbers, borrowed, with optional row weights.
///
/// ```
/// use kinfold::data::Dataset;
/// let data = Dataset::dense(&[0.0f32, 1.0, 2.0, 3.0], 2)?;
/// assert_eq!((data.n(), data.dims()), (2, 2));
/// assert!(Dataset::dense(&[0.0, f64::NAN], 1).is_err());
/// # Ok::<(), kinfold::Error>(())
/// ```
#[derive(Debug, Clone, Copy)]
pub struct Dataset<'a, F> {
    rows: Rows<'a, F>,
    n: usize,
    weights: Option<&'a [f64]>,
    scale: Option<Scale<'a>>,
}

impl<'a, F: Float> Dataset<'a, F> {
    /// Dense rows of `dims` values each; refuses NaN and infinities by cell.
    pub fn dense(values: &'a [F], dims: usize) -> Result<Dataset<'a, F>> {
        if dims == 0 {
            return Err(Error::NoDims);
        }
        if values.is_empty() {
            return Err(Error::NoRows);
        }
        if !values.len().is_multiple_of(dims) {
            return Err(Error::Shape { len: values.len(), dims });
        }
        if let Some(at) = values.iter().position(|v| !v.to_f64().is_finite()) {
            return Err(Error::NotFinite { row: at / dims, column: at % dims, value: values[at].to_f64() });
        }
        Ok(Dataset::dense_trusted(values, dims))
    }

    /// Dense rows whose values are known to be finite and whose shape is known to fit.
    pub(crate) fn dense_trusted(values: &'a [F], dims: usize) -> Dataset<'a, F> {
        let n = values.len() / dims.max(1);
        Dataset { rows: Rows::Dense(Dense { values, dims }), n, weights: None, scale: None }
    }

    /// Sparse rows that are known to be well-formed.
    pub(crate) fn sparse_trusted(
        starts: &'a [usize],
        columns: &'a [u32],
        values: &'a [F],
        dims: usize,
    ) -> Dataset<'a, F> {
        let n = starts.len() - 1;
        Dataset { rows: Rows::Sparse(Csr { starts, columns, values, dims }), n, weights: None, scale: None }
    }

    /// Sparse rows: row i has the entries `starts[i]..starts[i + 1]`, columns ascending and below `dims`.
    pub fn sparse(starts: &'a [usize], columns: &'a [u32], values: &'a [F], dims: usize) -> Result<Dataset<'a, F>> {
        if dims == 0 {
            return Err(Error::NoDims);
        }
        if starts.len() < 2 {
            return Err(Error::NoRows);
        }
        let malformed = |why: String| Err(Error::Sparse(why));
        if columns.len() != values.len() {
            return malformed(format!("{} columns and {} values", columns.len(), values.len()));
        }
        if starts[0] != 0 || starts[starts.len() - 1] != values.len() || starts.windows(2).any(|w| w[0] > w[1]) {
            return malformed("row starts must rise from 0 to the number of values".into());
        }
        for (row, w) in starts.windows(2).enumerate() {
            let cols = &columns[w[0]..w[1]];
            if cols.windows(2).any(|c| c[0] >= c[1]) || cols.last().is_some_and(|&c| c as usize >= dims) {
                return malformed(format!("columns of row {row} must ascend and stay below {dims}"));
            }
            if let Some(at) = values[w[0]..w[1]].iter().position(|v| !v.to_f64().is_finite()) {
                let value = values[w[0] + at].to_f64();
                return Err(Error::NotFinite { row, column: cols[at] as usize, value });
            }
        }
        Ok(Dataset::sparse_trusted(starts, columns, values, dims))
    }

    /// The same rows, row i counting `weights[i]` times.
    pub fn with_weights(mut self, weights: &'a [f64]) -> Result<Dataset<'a, F>> {
        if weights.len() != self.n {
            return Err(Error::WeightCount { weights: weights.len(), rows: self.n });
        }
        if let Some(row) = weights.iter().position(|w| !(w.is_finite() && *w > 0.0)) {
            return Err(Error::RowWeight { row, value: weights[row] });
        }
        self.weights = Some(weights);
        Ok(self)
    }

    /// Dense rows seen on another scale, without a copy of them. For means and nearest centres alone: who asks for
    /// [`rows`](Self::rows) would get the stored values.
    pub(crate) fn on_scale(mut self, scale: Scale<'a>) -> Dataset<'a, F> {
        debug_assert!(self.scale.is_none() && !self.is_sparse());
        self.scale = Some(scale);
        self
    }

    /// Number of rows.
    pub fn n(&self) -> usize {
        self.n
    }
    /// Number of columns.
    pub fn dims(&self) -> usize {
        match self.rows {
            Rows::Dense(d) => d.dims,
            Rows::Sparse(s) => s.dims,
        }
    }
    /// The rows.
    pub fn rows(&self) -> Rows<'a, F> {
        debug_assert!(self.scale.is_none(), "rows on another scale are asked for as they are stored");
        self.rows
    }
    /// The rows as they are stored, and the scale on which they are seen.
    pub(crate) fn stored(&self) -> (Rows<'a, F>, Option<Scale<'a>>) {
        (self.rows, self.scale)
    }
    /// The row weights, if any were given.
    pub fn weights(&self) -> Option<&'a [f64]> {
        self.weights
    }
    /// Weight of row `i` (1 unless given).
    pub fn weight(&self, i: usize) -> f64 {
        self.weights.map_or(1.0, |w| w[i])
    }
    /// Is this sparse?
    pub fn is_sparse(&self) -> bool {
        matches!(self.rows, Rows::Sparse(_))
    }
    /// Says that row `i` will be read soon.
    #[inline(always)]
    pub(crate) fn prefetch(&self, i: usize) {
        if let Rows::Dense(d) = self.rows {
            crate::kernels::prefetch(d.row(i));
        }
    }
    /// `out += factor · row i`.
    pub fn add_row(&self, i: usize, factor: f64, out: &mut [f64]) {
        match (self.rows, self.scale) {
            (Rows::Dense(d), Some(scale)) => {
                for (j, (o, &v)) in out.iter_mut().zip(d.row(i)).enumerate() {
                    *o += factor * scale.at(j, v.to_f64());
                }
            }
            (Rows::Dense(d), None) => {
                for (o, &v) in out.iter_mut().zip(d.row(i)) {
                    *o += factor * v.to_f64();
                }
            }
            (Rows::Sparse(s), _) => {
                let (columns, values) = s.row(i);
                for (&c, &v) in columns.iter().zip(values) {
                    out[c as usize] += factor * v.to_f64();
                }
            }
        }
    }
    /// Squared Euclidean distance of row `i` to a dense point.
    pub fn distance2(&self, i: usize, point: &[f64]) -> f64 {
        match (self.rows, self.scale) {
            (Rows::Dense(d), Some(scale)) => {
                let square = |(j, (&x, &p)): (usize, (&F, &f64))| (scale.at(j, x.to_f64()) - p).powi(2);
                d.row(i).iter().zip(point).enumerate().map(square).sum()
            }
            (Rows::Dense(d), None) => d.row(i).iter().zip(point).map(|(&x, &p)| (x.to_f64() - p).powi(2)).sum(),
            (Rows::Sparse(s), _) => {
                let (columns, values) = s.row(i);
                let norm: f64 = point.iter().map(|p| p * p).sum();
                let cross: f64 = columns
                    .iter()
                    .zip(values)
                    .map(|(&c, &v)| (v.to_f64() - 2.0 * point[c as usize]) * v.to_f64())
                    .sum();
                (norm + cross).max(0.0)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bad_cells_are_named() {
        let e = Dataset::dense(&[0.0, 1.0, 2.0, f64::INFINITY], 2).unwrap_err();
        assert_eq!(e, Error::NotFinite { row: 1, column: 1, value: f64::INFINITY });
        assert_eq!(Dataset::<f64>::dense(&[], 2).unwrap_err(), Error::NoRows);
        assert_eq!(Dataset::dense(&[1.0f32; 3], 2).unwrap_err(), Error::Shape { len: 3, dims: 2 });
    }

    #[test]
    fn malformed_sparse_rows_are_refused() {
        assert!(Dataset::sparse(&[0, 2], &[1, 0], &[1.0, 2.0], 3).is_err());
        assert!(Dataset::sparse(&[0, 2], &[0, 3], &[1.0, 2.0], 3).is_err());
        assert!(Dataset::sparse(&[0, 1], &[0, 1], &[1.0, 2.0], 3).is_err());
        assert!(Dataset::sparse(&[0, 2, 2], &[0, 2], &[1.0, 2.0], 3).is_ok());
    }

    #[test]
    fn sparse_and_dense_distances_agree() {
        let dense = Dataset::dense(&[0.0, 3.0, 0.0, 4.0], 4).unwrap();
        let sparse = Dataset::sparse(&[0, 2], &[1, 3], &[3.0, 4.0], 4).unwrap();
        let point = [1.0, 2.0, 3.0, -1.0];
        assert!((dense.distance2(0, &point) - sparse.distance2(0, &point)).abs() < 1e-12);
    }
}
