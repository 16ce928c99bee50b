//! Rows from Python: a C-ordered array of f32 or f64, or the parts of a CSR matrix. Borrowed, never copied.

use kinfold::data::{Dataset, Matrix};
use kinfold::methods::Typed;
use numpy::{Element, PyArray1, PyArray2, PyArrayMethods, PyReadonlyArray1, PyReadonlyArray2, PyUntypedArrayMethods};
use pyo3::prelude::*;

use crate::errors;

/// What Python handed over, held while the engine reads it.
pub enum Held<'py> {
    F32(Rows<'py, f32>),
    F64(Rows<'py, f64>),
}

/// Rows of one precision.
pub enum Rows<'py, F: Element> {
    Dense(PyReadonlyArray2<'py, F>),
    Sparse {
        starts: PyReadonlyArray1<'py, usize>,
        columns: PyReadonlyArray1<'py, u32>,
        values: PyReadonlyArray1<'py, F>,
        dims: usize,
    },
}

/// The bare slices of [`Rows`]: what crosses into the thread that works.
#[derive(Clone, Copy)]
pub enum Slices<'a, F> {
    Dense(&'a [F], usize),
    Sparse(&'a [usize], &'a [u32], &'a [F], usize),
}

impl<'a, F: Typed> Slices<'a, F> {
    /// The checked view.
    pub fn view(self) -> kinfold::Result<Dataset<'a, F>> {
        match self {
            Slices::Dense(values, dims) => Dataset::dense(values, dims),
            Slices::Sparse(starts, columns, values, dims) => Dataset::sparse(starts, columns, values, dims),
        }
    }
}

impl<'py> Held<'py> {
    /// An array of two dimensions, or (starts, columns, values, dims).
    pub fn new(x: &Bound<'py, PyAny>) -> PyResult<Held<'py>> {
        if let Ok((starts, columns, values, dims)) =
            x.extract::<(Bound<'py, PyAny>, Bound<'py, PyAny>, Bound<'py, PyAny>, usize)>()
        {
            let starts = line::<usize>(&starts, "row starts")?;
            let columns = line::<u32>(&columns, "columns")?;
            if values.cast::<PyArray1<f32>>().is_ok() {
                let values = line::<f32>(&values, "values")?;
                return Ok(Held::F32(Rows::Sparse { starts, columns, values, dims }));
            }
            let values = line::<f64>(&values, "values")?;
            return Ok(Held::F64(Rows::Sparse { starts, columns, values, dims }));
        }
        if let Ok(array) = x.cast::<PyArray2<f32>>() {
            return Ok(Held::F32(Rows::Dense(array.try_readonly()?)));
        }
        let wrong = || errors::data(x.py(), "rows must be an array of float32 or float64 in two dimensions");
        let array = x.cast::<PyArray2<f64>>().map_err(|_| wrong())?;
        Ok(Held::F64(Rows::Dense(array.try_readonly()?)))
    }
}

impl<F: Element> Rows<'_, F> {
    /// Row-major slices. NumPy's own "contiguous" includes Fortran order, which would be the transpose.
    pub fn slices(&self, py: Python<'_>) -> PyResult<Slices<'_, F>> {
        let misaligned =
            |_| errors::data(py, "the array is not aligned: pass numpy.require(X, requirements=['C', 'A'])");
        match self {
            Rows::Dense(array) => {
                if !array.is_c_contiguous() {
                    return Err(errors::data(py, "rows must be C-contiguous: pass numpy.ascontiguousarray(X)"));
                }
                Ok(Slices::Dense(array.as_slice().map_err(misaligned)?, array.shape()[1]))
            }
            Rows::Sparse { starts, columns, values, dims } => Ok(Slices::Sparse(
                starts.as_slice().map_err(misaligned)?,
                columns.as_slice().map_err(misaligned)?,
                values.as_slice().map_err(misaligned)?,
                *dims,
            )),
        }
    }
}

/// A one-dimensional array of one type.
pub fn line<'py, T: Element>(x: &Bound<'py, PyAny>, what: &str) -> PyResult<PyReadonlyArray1<'py, T>> {
    let array = x.cast::<PyArray1<T>>().map_err(|_| errors::data(x.py(), format!("{what} are of the wrong type")))?;
    Ok(array.try_readonly()?)
}

/// A matrix as an array.
pub fn array2<'py>(py: Python<'py>, matrix: &Matrix) -> PyResult<Bound<'py, PyArray2<f64>>> {
    PyArray1::from_slice(py, matrix.values()).reshape([matrix.rows(), matrix.cols()])
}

/// Labels as NumPy users know them.
pub fn labels<'py>(py: Python<'py>, labels: &[u32]) -> Bound<'py, PyArray1<i32>> {
    PyArray1::from_iter(py, labels.iter().map(|&l| l as i32))
}
