//! Metrics learned from constraints: transforms of the rows.

use kinfold::data::{Matrix, Rows, Table, Transform};
use kinfold::methods::Typed;
use kinfold::metrics::Choice;
use kinfold_io::{Input, ModelFile};
use numpy::{Element, PyArray1, PyArray2, PyArrayMethods};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyType};

use crate::data::{Held, Slices, array2};
use crate::errors;
use crate::given::{Given, names};
use crate::work::{self, Settings};

/// A learned transform.
#[pyclass(frozen, module = "kinfold._kinfold")]
pub struct Metric {
    transform: Transform,
    /// Things to know.
    #[pyo3(get)]
    notes: Vec<String>,
    /// Iterations.
    #[pyo3(get)]
    iterations: usize,
}

#[pymethods]
impl Metric {
    /// The map from columns to new columns (columns × new columns); `None` when rows stay as they are.
    #[getter]
    fn matrix<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyArray2<f64>>>> {
        match &self.transform {
            Transform::Linear { matrix, .. } => Ok(Some(array2(py, matrix)?)),
            Transform::Diagonal { factor, .. } => {
                let mut matrix = Matrix::zeros(factor.len(), factor.len());
                factor.iter().enumerate().for_each(|(i, &f)| matrix.row_mut(i)[i] = f);
                Ok(Some(array2(py, &matrix)?))
            }
            _ => Ok(None),
        }
    }

    /// The rows in the space of the metric, in their own precision.
    fn apply<'py>(&self, py: Python<'py>, x: Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        match Held::new(&x)? {
            Held::F32(rows) => self.of(py, rows.slices(py)?),
            Held::F64(rows) => self.of(py, rows.slices(py)?),
        }
    }

    fn to_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let mut bytes = Vec::new();
        let saved = ModelFile::new((self.transform.clone(), self.notes.clone(), self.iterations));
        saved.write("metric", &mut bytes).map_err(|e| errors::reading(py, &e))?;
        Ok(PyBytes::new(py, &bytes))
    }

    #[classmethod]
    fn from_bytes(cls: &Bound<'_, PyType>, bytes: &[u8]) -> PyResult<Metric> {
        let read = ModelFile::<(Transform, Vec<String>, usize)>::read(&Input::bytes("pickle", bytes));
        let (transform, notes, iterations) = read.map_err(|e| errors::reading(cls.py(), &e))?.model;
        Ok(Metric { transform, notes, iterations })
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<(Bound<'py, PyAny>, (Bound<'py, PyBytes>,))> {
        Ok((slf.getattr("from_bytes")?, (slf.get().to_bytes(slf.py())?,)))
    }
}

impl Metric {
    fn of<'py, F: Typed + Element>(&self, py: Python<'py>, rows: Slices<'_, F>) -> PyResult<Bound<'py, PyAny>> {
        let done = py.detach(|| {
            let data = rows.view()?;
            match self.transform.apply(&data)? {
                Table::Dense { values, dims } => Ok((values, dims)),
                Table::Sparse { .. } => {
                    Err(kinfold::Error::Sparse("a metric needs dense rows; use X.toarray()".to_owned()))
                }
            }
        });
        let (values, dims) = done.map_err(|e: kinfold::Error| errors::plain(py, &e))?;
        let n = values.len() / dims.max(1);
        Ok(PyArray1::from_vec(py, values).reshape([n, dims])?.into_any())
    }
}

/// Learns a metric from rows and constraints.
#[pyfunction]
#[pyo3(signature = (x, given, name, settings, *, seed=0, threads=0, time_limit=None, ids=None, progress=None))]
#[allow(clippy::too_many_arguments)]
pub fn learn<'py>(
    py: Python<'py>,
    x: Bound<'py, PyAny>,
    given: &Given,
    name: &str,
    settings: Vec<(String, String)>,
    seed: u64,
    threads: usize,
    time_limit: Option<f64>,
    ids: Option<Bound<'py, PyAny>>,
    progress: Option<Bound<'py, PyAny>>,
) -> PyResult<Metric> {
    let choice = Choice { name: name.to_owned(), settings };
    let settings = Settings { seed, threads, time_limit, memory: None };
    let (ids, progress) = (ids.as_ref(), progress.as_ref());
    match Held::new(&x)? {
        Held::F32(rows) => learned(py, &choice, rows.slices(py)?, given, settings, ids, progress),
        Held::F64(rows) => learned(py, &choice, rows.slices(py)?, given, settings, ids, progress),
    }
}

fn learned<F: Typed>(
    py: Python<'_>,
    choice: &Choice,
    rows: Slices<'_, F>,
    given: &Given,
    settings: Settings,
    ids: Option<&Bound<'_, PyAny>>,
    progress: Option<&Bound<'_, PyAny>>,
) -> PyResult<Metric> {
    let set = &given.set;
    let done = work::run(py, settings, progress, |ctx| {
        let data = rows.view()?;
        if matches!(data.rows(), Rows::Sparse(_)) {
            return Err(kinfold::Error::Sparse("a metric needs dense rows; use X.toarray()".to_owned()));
        }
        choice.learn(ctx, &data, set, &set.close()?)
    })?;
    let found = done.map_err(|e| errors::described(py, &e, set, names(ids)))?;
    Ok(Metric { transform: found.transform, notes: found.notes, iterations: found.iterations })
}
