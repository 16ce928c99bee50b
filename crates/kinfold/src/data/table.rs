//! Rows that the engine or a reader owns; lent out as a [`Dataset`].

use super::{Dataset, Float, Rows};
use crate::error::Result;

/// Owned rows, dense or sparse.
#[derive(Debug, Clone, PartialEq)]
pub enum Table<F> {
    /// Row-major values.
    Dense {
        /// All values, row after row.
        values: Vec<F>,
        /// Row width.
        dims: usize,
    },
    /// Compressed sparse rows.
    Sparse {
        /// Row i has the entries starts[i]..starts[i + 1].
        starts: Vec<usize>,
        /// Column of each entry.
        columns: Vec<u32>,
        /// Value of each entry.
        values: Vec<F>,
        /// Row width.
        dims: usize,
    },
}

impl<F: Float> Table<F> {
    /// The borrowed view. Errors on NaN, infinities and malformed shapes.
    pub fn view(&self) -> Result<Dataset<'_, F>> {
        match self {
            Table::Dense { values, dims } => Dataset::dense(values, *dims),
            Table::Sparse { starts, columns, values, dims } => Dataset::sparse(starts, columns, values, *dims),
        }
    }

    /// The borrowed view of rows that the engine made itself and knows to be well-formed.
    pub(crate) fn lend(&self) -> Dataset<'_, F> {
        match self {
            Table::Dense { values, dims } => Dataset::dense_trusted(values, *dims),
            Table::Sparse { starts, columns, values, dims } => Dataset::sparse_trusted(starts, columns, values, *dims),
        }
    }

    /// A copy of some rows of a data set, in the order given, without weights.
    pub fn select(data: &Dataset<'_, F>, rows: &[usize]) -> Table<F> {
        let (stored, scale) = data.stored();
        match stored {
            Rows::Dense(d) => {
                let mut values = Vec::with_capacity(rows.len() * d.dims());
                for &i in rows {
                    match scale {
                        None => values.extend_from_slice(d.row(i)),
                        Some(scale) => {
                            let seen = |(j, v): (usize, &F)| F::from_f64(scale.at(j, v.to_f64()));
                            values.extend(d.row(i).iter().enumerate().map(seen));
                        }
                    }
                }
                Table::Dense { values, dims: d.dims() }
            }
            Rows::Sparse(s) => {
                let (mut starts, mut columns, mut values) = (vec![0], Vec::new(), Vec::new());
                for &i in rows {
                    let (c, v) = s.row(i);
                    columns.extend_from_slice(c);
                    values.extend_from_slice(v);
                    starts.push(values.len());
                }
                Table::Sparse { starts, columns, values, dims: s.dims() }
            }
        }
    }
}
