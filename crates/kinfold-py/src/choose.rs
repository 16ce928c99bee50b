//! How many clusters?

use kinfold::context::Termination;
use kinfold::methods::Typed;
use kinfold::pipeline::{ChooseK, Criterion, KChoice};
use numpy::PyArray1;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::data::{Held, Slices, labels};
use crate::errors;
use crate::given::{Given, names};
use crate::run::job;
use crate::work::{self, Settings};

/// What came of trying every k.
#[pyclass(frozen, module = "kinfold._kinfold")]
pub struct Choice {
    choice: KChoice,
}

#[pymethods]
impl Choice {
    /// The k that is recommended.
    #[getter]
    fn k(&self) -> usize {
        self.choice.recommended.k
    }
    /// The criterion that decided.
    #[getter]
    fn by(&self) -> &str {
        &self.choice.recommended.by
    }
    /// Why.
    #[getter]
    fn reason(&self) -> &str {
        &self.choice.recommended.reason
    }
    /// Every k that the deciding criterion cannot tell from it.
    #[getter]
    fn as_good(&self) -> Vec<usize> {
        self.choice.recommended.as_good.clone()
    }
    /// What the recommendation rests on, for every candidate.
    #[getter]
    fn scores(&self) -> Vec<Option<f64>> {
        self.choice.recommended.scores.clone()
    }
    /// Every k that was run.
    #[getter]
    fn ks(&self) -> Vec<usize> {
        self.choice.candidates.iter().map(|c| c.k).collect()
    }
    /// Every k that was not, with the reason.
    #[getter]
    fn left_out(&self) -> Vec<(usize, String)> {
        self.choice.left_out.clone()
    }
    /// (lower, upper) bound of the smallest k that keeps every cannot-link.
    #[getter]
    fn smallest(&self) -> Option<(usize, usize)> {
        self.choice.smallest.as_ref().map(|s| (s.lower, s.upper))
    }
    /// Things to know.
    #[getter]
    fn notes(&self) -> Vec<String> {
        self.choice.notes.clone()
    }
    /// Seconds.
    #[getter]
    fn elapsed(&self) -> f64 {
        self.choice.elapsed.as_secs_f64()
    }
    /// The method that was run.
    #[getter]
    fn method(&self) -> Option<&str> {
        self.choice.candidates.first().map(|c| c.run.method)
    }
    /// Rows on which the criteria were computed.
    #[getter]
    fn rows_looked_at(&self) -> usize {
        self.choice.looked_at
    }
    /// Why not every k was run: deadline or cancelled.
    #[getter]
    fn stopped(&self) -> Option<String> {
        self.choice.stopped.map(|stop| Termination::from(stop).to_string())
    }
    /// Criteria: name, summary, values, their standard errors (0 where exact), k, margin, is smaller better.
    #[getter]
    fn criteria<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyDict>>> {
        let one = |c: &Criterion| {
            let out = PyDict::new(py);
            out.set_item("name", &c.name)?;
            out.set_item("summary", &c.summary)?;
            out.set_item("values", c.values.iter().map(|v| v.map(|v| v.value)).collect::<Vec<_>>())?;
            out.set_item("errors", c.values.iter().map(|v| v.map(|v| v.error)).collect::<Vec<_>>())?;
            out.set_item("k", c.k)?;
            out.set_item("margin", c.margin)?;
            out.set_item("smaller_is_better", c.loss)?;
            Ok(out)
        };
        self.choice.criteria.iter().map(one).collect()
    }
    /// What is known of every candidate, as the command line tells it.
    #[getter]
    fn candidates<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyDict>>> {
        let one = |c: &kinfold::pipeline::Candidate| {
            let out = PyDict::new(py);
            out.set_item("k", c.k)?;
            out.set_item("objective", c.run.objective)?;
            out.set_item("satisfaction", c.satisfaction)?;
            let held_out = match c.held_out {
                None => None,
                Some(t) => {
                    let told = PyDict::new(py);
                    told.set_item("tests", t.tests())?;
                    told.set_item("kept", t.kept())?;
                    told.set_item("chance", t.chance())?;
                    Some(told)
                }
            };
            out.set_item("held_out", held_out)?;
            let broken = PyDict::new(py);
            broken.set_item("must_link", c.run.violations.must_link)?;
            broken.set_item("cannot_link", c.run.violations.cannot_link)?;
            out.set_item("violations", broken)?;
            out.set_item("sizes", c.run.sizes.clone())?;
            out.set_item("termination", c.run.termination.to_string())?;
            Ok(out)
        };
        self.choice.candidates.iter().map(one).collect()
    }
    /// The labels that were found for k.
    fn labels<'py>(&self, py: Python<'py>, k: usize) -> PyResult<Bound<'py, PyArray1<i32>>> {
        let found = self.choice.candidates.iter().find(|c| c.k == k);
        let found = found.ok_or_else(|| errors::parameter(py, format!("k = {k} was not run")))?;
        Ok(labels(py, &found.run.labels))
    }
}

/// Runs a method for every k of a range.
#[pyfunction]
#[pyo3(signature = (x, given, method, range, settings, *, scaling=None, metric=None, min_size=None, max_size=None, trust="auto",
                    alpha=0.5, folds=5, metrics=None, seed=0, threads=0, time_limit=None, memory=None, ids=None,
                    progress=None))]
#[allow(clippy::too_many_arguments)]
pub fn choose_k<'py>(
    py: Python<'py>,
    x: Bound<'py, PyAny>,
    given: &Given,
    method: &str,
    range: Option<(usize, usize)>,
    settings: Vec<(String, String)>,
    scaling: Option<&str>,
    metric: Option<(String, Vec<(String, String)>)>,
    min_size: Option<usize>,
    max_size: Option<usize>,
    trust: &str,
    alpha: f64,
    folds: usize,
    metrics: Option<Vec<String>>,
    seed: u64,
    threads: usize,
    time_limit: Option<f64>,
    memory: Option<u64>,
    ids: Option<Bound<'py, PyAny>>,
    progress: Option<Bound<'py, PyAny>>,
) -> PyResult<Choice> {
    let job = job(py, method, 0, settings, scaling, metric, (min_size, max_size), trust)?;
    let mut request = ChooseK { alpha, folds, ..ChooseK::new(job, range) };
    if let Some(metrics) = metrics {
        request.metrics = metrics;
    }
    let settings = Settings { seed, threads, time_limit, memory };
    let (ids, progress) = (ids.as_ref(), progress.as_ref());
    match Held::new(&x)? {
        Held::F32(rows) => run(py, &request, rows.slices(py)?, given, settings, ids, progress),
        Held::F64(rows) => run(py, &request, rows.slices(py)?, given, settings, ids, progress),
    }
}

fn run<F: Typed>(
    py: Python<'_>,
    request: &ChooseK,
    rows: Slices<'_, F>,
    given: &Given,
    settings: Settings,
    ids: Option<&Bound<'_, PyAny>>,
    progress: Option<&Bound<'_, PyAny>>,
) -> PyResult<Choice> {
    let set = &given.set;
    let done = work::run(py, settings, progress, |ctx| request.run(ctx, &rows.view()?, set))?;
    let choice = done.map_err(|e| errors::described(py, &e, set, names(ids)))?;
    Ok(Choice { choice })
}
