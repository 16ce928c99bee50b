//! Indices by name.

use kinfold::indices::{INDICES, Scored};
use pyo3::prelude::*;

use crate::data::line;
use crate::errors;
use crate::given::Given;

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
