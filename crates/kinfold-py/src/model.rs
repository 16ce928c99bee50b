//! A fitted model: labels, distances and score of rows, old or new; saved as the command line saves it.

use kinfold::context::RunContext;
use kinfold::data::{Dataset, Float, Rows};
use kinfold::methods::Typed;
use kinfold_io::{Input, ModelFile};
use numpy::{Element, PyArray1, PyArray2, PyArrayMethods};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyType};

use crate::data::{Held, Slices, array2, labels};
use crate::errors;
use crate::work::{self, Settings};

/// Transform and centres of a run.
#[pyclass(frozen, module = "kinfold._kinfold")]
pub struct Model {
    pub inner: kinfold::pipeline::Model,
}

/// Rows of one chunk of the parallel loops.
const CHUNK: usize = 1024;

#[pymethods]
impl Model {
    /// The method that made it.
    #[getter]
    fn method(&self) -> &str {
        &self.inner.method
    }
    /// Number of clusters.
    #[getter]
    fn k(&self) -> usize {
        self.inner.k
    }
    /// Names of the columns it was fitted on.
    #[getter]
    fn features(&self) -> Vec<String> {
        self.inner.features.clone()
    }
    /// Centres in the space that the rows were clustered in.
    #[getter]
    fn centres<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<f64>>> {
        array2(py, &self.inner.centres)
    }

    /// The cluster of every row.
    fn predict<'py>(
        &self,
        py: Python<'py>,
        x: Bound<'py, PyAny>,
        threads: usize,
    ) -> PyResult<Bound<'py, PyArray1<i32>>> {
        let found = match Held::new(&x)? {
            Held::F32(rows) => self.nearest(py, rows.slices(py)?, threads),
            Held::F64(rows) => self.nearest(py, rows.slices(py)?, threads),
        }?;
        Ok(labels(py, &found))
    }

    /// The distance of every row to every centre, in the precision of the rows.
    fn distances<'py>(&self, py: Python<'py>, x: Bound<'py, PyAny>, threads: usize) -> PyResult<Bound<'py, PyAny>> {
        match Held::new(&x)? {
            Held::F32(rows) => self.far(py, rows.slices(py)?, threads),
            Held::F64(rows) => self.far(py, rows.slices(py)?, threads),
        }
    }

    /// Σ squared distance of the rows to their nearest centre.
    fn inertia(&self, py: Python<'_>, x: Bound<'_, PyAny>, threads: usize) -> PyResult<f64> {
        match Held::new(&x)? {
            Held::F32(rows) => self.cost(py, rows.slices(py)?, threads),
            Held::F64(rows) => self.cost(py, rows.slices(py)?, threads),
        }
    }

    /// The model file's bytes.
    fn to_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let mut bytes = Vec::new();
        ModelFile::new(self.inner.clone()).write("model", &mut bytes).map_err(|e| errors::reading(py, &e))?;
        Ok(PyBytes::new(py, &bytes))
    }

    /// From the bytes of a model file.
    #[classmethod]
    fn from_bytes(cls: &Bound<'_, PyType>, name: &str, bytes: &[u8]) -> PyResult<Model> {
        let read = ModelFile::<kinfold::pipeline::Model>::read(&Input::bytes(name, bytes));
        Ok(Model { inner: read.map_err(|e| errors::reading(cls.py(), &e))?.model })
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<(Bound<'py, PyAny>, (&'static str, Bound<'py, PyBytes>))> {
        Ok((slf.getattr("from_bytes")?, ("pickle", slf.get().to_bytes(slf.py())?)))
    }
}

impl Model {
    fn with_rows<F: Typed, T: Send>(
        &self,
        py: Python<'_>,
        rows: Slices<'_, F>,
        threads: usize,
        look: impl FnOnce(&RunContext, &Dataset<'_, F>) -> kinfold::Result<T> + Send,
    ) -> PyResult<T> {
        let settings = Settings { seed: 0, threads, time_limit: None, memory: None };
        let done = work::run(py, settings, None, |ctx| look(ctx, &rows.view()?))?;
        done.map_err(|e: kinfold::Error| errors::plain(py, &e))
    }

    fn nearest<F: Typed>(&self, py: Python<'_>, rows: Slices<'_, F>, threads: usize) -> PyResult<Vec<u32>> {
        self.with_rows(py, rows, threads, |ctx, data| self.inner.predict(ctx, data))
    }

    fn cost<F: Typed>(&self, py: Python<'_>, rows: Slices<'_, F>, threads: usize) -> PyResult<f64> {
        let k = self.inner.k;
        self.with_rows(py, rows, threads, |ctx, data| {
            let squares = self.squares(ctx, data)?;
            Ok(squares.chunks_exact(k).map(|row| row.iter().copied().fold(f64::INFINITY, f64::min)).sum())
        })
    }

    fn far<'py, F: Typed + Element>(
        &self,
        py: Python<'py>,
        rows: Slices<'_, F>,
        threads: usize,
    ) -> PyResult<Bound<'py, PyAny>> {
        let k = self.inner.k;
        let values = self.with_rows(py, rows, threads, |ctx, data| {
            // The shape of a cluster may add to its distances; what all clusters add makes no difference.
            let least = self.inner.shapes.iter().map(|s| s.offset).fold(f64::INFINITY, f64::min);
            let least = if least.is_finite() { least } else { 0.0 };
            let far = |square: f64| F::from_f64((square - least).max(0.0).sqrt());
            Ok(self.squares(ctx, data)?.into_iter().map(far).collect::<Vec<F>>())
        })?;
        let n = values.len() / k.max(1);
        Ok(PyArray1::from_vec(py, values).reshape([n, k])?.into_any())
    }

    /// Squared distances of all rows to all centres, in the space of the centres.
    fn squares<F: Float>(&self, ctx: &RunContext, data: &Dataset<'_, F>) -> kinfold::Result<Vec<f64>> {
        if self.inner.transform.is_identity() {
            return self.squares_there(ctx, data);
        }
        self.squares_there(ctx, &self.inner.transform.apply(data)?.view()?)
    }

    fn squares_there<F: Float>(&self, ctx: &RunContext, data: &Dataset<'_, F>) -> kinfold::Result<Vec<f64>> {
        let (k, centres) = (self.inner.k, &self.inner.centres);
        if data.dims() != centres.cols() {
            let (expected, given) = (centres.cols(), data.dims());
            let why = format!("the model was fitted on {expected} columns, the data have {given}");
            return Err(kinfold::Error::Parameter(why));
        }
        let norms: Vec<f64> = centres.iter().map(|c| c.iter().map(|v| v * v).sum()).collect();
        let mut out = vec![0.0; data.n() * k];
        ctx.pool.map_chunks_mut(&mut out, CHUNK * k, |start, part| {
            let mut difference = vec![0.0; centres.cols()];
            for (i, row) in part.chunks_mut(k).enumerate().map(|(i, row)| (start / k + i, row)) {
                for (c, slot) in row.iter_mut().enumerate() {
                    let centre = centres.row(c);
                    if let Some(shape) = self.inner.shapes.get(c) {
                        difference.iter_mut().zip(centre).for_each(|(d, c)| *d = -c);
                        data.add_row(i, 1.0, &mut difference);
                        *slot = shape.distance(&difference);
                        continue;
                    }
                    *slot = match data.rows() {
                        Rows::Dense(_) => data.distance2(i, centre),
                        Rows::Sparse(s) => {
                            let (columns, values) = s.row(i);
                            let cross = |(&j, &v): (&u32, &F)| (v.to_f64() - 2.0 * centre[j as usize]) * v.to_f64();
                            (norms[c] + columns.iter().zip(values).map(cross).sum::<f64>()).max(0.0)
                        }
                    };
                }
            }
        });
        Ok(out)
    }
}
