//! Indices by name.

use kinfold::indices::{INDICES, INTERNAL, Internal, Sampling, Scored};
use kinfold::methods::Typed;
use pyo3::prelude::*;

use crate::data::{Held, Slices, line};
use crate::errors;
use crate::given::Given;
use crate::work::{self, Settings};

/// One score of labels; `None` where it is undefined.
#[pyfunction]
#[pyo3(signature = (name, labels, truth=None, given=None))]
pub fn score<'py>(
    py: Python<'py>,
    name: &str,
    labels: Bound<'py, PyAny>,
    truth: Option<Bound<'py, PyAny>>,
    given: Option<&Given>,
) -> PyResult<Option<f64>> {
    let Some(entry) = INDICES.iter().find(|e| e.name == name) else {
        return Err(errors::parameter(py, format!("there is no index named '{name}'")));
    };
    let labels = line::<u32>(&labels, "labels")?;
    let truth = truth.map(|t| line::<u32>(&t, "classes")).transpose()?;
    let (labels, truth) = (labels.as_slice()?, truth.as_ref().map(|t| t.as_slice()).transpose()?);
    if let Some(other) = truth.map(<[u32]>::len).or(given.map(|g| g.set.n())).filter(|&other| other != labels.len()) {
        return Err(errors::data(py, format!("{} labels were given for {other} rows", labels.len())));
    }
    let scored = Scored { labels, truth, constraints: given.map(|g| &g.set) };
    Ok(py.detach(|| (entry.score)(&scored)))
}

/// One score of labels by the rows, with its standard error (0 when exact); `None` where it is undefined.
#[pyfunction]
#[pyo3(signature = (name, x, labels, sample=None, seed=0))]
pub fn score_rows<'py>(
    py: Python<'py>,
    name: &str,
    x: Bound<'py, PyAny>,
    labels: Bound<'py, PyAny>,
    sample: Option<usize>,
    seed: u64,
) -> PyResult<Option<(f64, f64)>> {
    let Some(entry) = INTERNAL.iter().find(|e| e.name == name) else {
        return Err(errors::parameter(py, format!("there is no index named '{name}'")));
    };
    let labels = line::<u32>(&labels, "labels")?;
    let labels = labels.as_slice()?;
    let sampling = match sample {
        None => Sampling::Auto,
        Some(0) => Sampling::Exact,
        Some(rows) => Sampling::Rows(rows),
    };
    match Held::new(&x)? {
        Held::F32(rows) => internal(py, entry.index, rows.slices(py)?, labels, sampling, seed),
        Held::F64(rows) => internal(py, entry.index, rows.slices(py)?, labels, sampling, seed),
    }
}

fn internal<F: Typed>(
    py: Python<'_>,
    index: Internal,
    rows: Slices<'_, F>,
    labels: &[u32],
    sampling: Sampling,
    seed: u64,
) -> PyResult<Option<(f64, f64)>> {
    let settings = Settings { seed, threads: 0, time_limit: None, memory: None };
    let done = work::run(py, settings, None, |ctx| {
        let data = rows.view()?;
        if data.n() != labels.len() {
            return Ok(Err(data.n()));
        }
        let scores = kinfold::indices::score_rows(ctx, &data, &[labels], &[index], sampling);
        Ok(Ok(scores.get(0, index).map(|e| (e.value, e.error))))
    })?;
    let found = done.map_err(|e: kinfold::Error| errors::plain(py, &e))?;
    found.map_err(|n| errors::data(py, format!("{} labels were given for {n} rows", labels.len())))
}
