//! One run of a method.

use kinfold::blocks::means::{means, sum_of_squares};
use kinfold::data::Scaling;
use kinfold::methods::{SizeBounds, Typed};
use kinfold::metrics::Choice;
use kinfold::pipeline::{Job, Run, Trust};
use numpy::{PyArray1, PyArray2};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::data::{Held, Slices, array2, labels};
use crate::errors;
use crate::given::{Given, names, violations};
use crate::model::Model;
use crate::work::{self, Settings};

/// What came of a run.
#[pyclass(frozen, module = "kinfold._kinfold")]
pub struct Fitted {
    run: Run,
    /// Centres and sum of squares in the space of the rows as given.
    centres: kinfold::data::Matrix,
    inertia: f64,
    #[pyo3(get)]
    model: Py<Model>,
    #[pyo3(get)]
    violations: Py<PyDict>,
    #[pyo3(get)]
    distrusted: Vec<Py<PyDict>>,
}

#[pymethods]
impl Fitted {
    #[getter]
    fn labels<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<i32>> {
        labels(py, &self.run.labels)
    }
    #[getter]
    fn centres<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<f64>>> {
        array2(py, &self.centres)
    }
    #[getter]
    fn inertia(&self) -> f64 {
        self.inertia
    }
    #[getter]
    fn objective(&self) -> f64 {
        self.run.objective
    }
    #[getter]
    fn trace(&self) -> Vec<f64> {
        self.run.trace.clone()
    }
    #[getter]
    fn iterations(&self) -> usize {
        self.run.iterations
    }
    #[getter]
    fn termination(&self) -> String {
        self.run.termination.to_string()
    }
    /// No clustering that keeps the constraints has a smaller objective, where the method proves such a bound.
    #[getter]
    fn lower_bound(&self) -> Option<f64> {
        self.run.lower_bound
    }
    #[getter]
    fn gap(&self) -> Option<f64> {
        self.run.gap()
    }
    /// What was believed of the constraints, and why.
    #[getter]
    fn trust<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyDict>>> {
        let Some(found) = &self.run.assessment else { return Ok(None) };
        let out = PyDict::new(py);
        out.set_item("verdict", spelt(&found.verdict))?;
        out.set_item("reason", &found.reason)?;
        out.set_item("error_rate", found.error_rate)?;
        out.set_item("contradictions", found.contradictions)?;
        out.set_item("evidence", found.evidence)?;
        Ok(Some(out))
    }
    #[getter]
    fn sizes(&self) -> Vec<usize> {
        self.run.sizes.clone()
    }
    #[getter]
    fn notes(&self) -> Vec<String> {
        self.run.notes.clone()
    }
    #[getter]
    fn representation(&self) -> &str {
        &self.run.representation.name
    }
    /// (name, score or None, error, weight) of everything that was chosen from.
    #[getter]
    fn candidates(&self) -> Vec<(String, Option<f64>, f64, f64)> {
        let all = &self.run.representation.candidates;
        all.iter().map(|c| (c.name.clone(), c.score, c.error, c.weight)).collect()
    }
    #[getter]
    fn elapsed(&self) -> f64 {
        self.run.elapsed.as_secs_f64()
    }
}

/// Clusters. `ids` spells the rows in messages; `previous` holds earlier labels, -1 for none.
#[pyfunction]
#[pyo3(signature = (x, given, method, k, settings, *, scaling=None, metric=None, min_size=None, max_size=None, trust="auto", features=Vec::new(),
                    seed=0, threads=0, time_limit=None, memory=None, ids=None, progress=None, previous=None))]
#[allow(clippy::too_many_arguments)]
pub fn fit<'py>(
    py: Python<'py>,
    x: Bound<'py, PyAny>,
    given: &Given,
    method: &str,
    k: usize,
    settings: Vec<(String, String)>,
    scaling: Option<&str>,
    metric: Option<(String, Vec<(String, String)>)>,
    min_size: Option<usize>,
    max_size: Option<usize>,
    trust: &str,
    features: Vec<String>,
    seed: u64,
    threads: usize,
    time_limit: Option<f64>,
    memory: Option<u64>,
    ids: Option<Bound<'py, PyAny>>,
    progress: Option<Bound<'py, PyAny>>,
    previous: Option<Vec<i64>>,
) -> PyResult<Fitted> {
    let job = job(py, method, k, settings, scaling, metric, (min_size, max_size), trust)?;
    let asked = Asked {
        job: &job,
        given,
        features: &features,
        settings: Settings { seed, threads, time_limit, memory },
        ids: ids.as_ref(),
        progress: progress.as_ref(),
        previous: previous.as_deref(),
    };
    match Held::new(&x)? {
        Held::F32(rows) => asked.run(py, rows.slices(py)?),
        Held::F64(rows) => asked.run(py, rows.slices(py)?),
    }
}

/// What to do, from Python's words.
#[allow(clippy::too_many_arguments)]
pub fn job(
    py: Python<'_>,
    method: &str,
    k: usize,
    settings: Vec<(String, String)>,
    scaling: Option<&str>,
    metric: Option<(String, Vec<(String, String)>)>,
    (min, max): (Option<usize>, Option<usize>),
    trust: &str,
) -> PyResult<Job> {
    let scaling = scaling.map(|name| self::scaling(py, name)).transpose()?;
    let trust = self::trust(py, trust)?;
    let metric = metric.map(|(name, settings)| Choice { name, settings });
    Ok(Job { settings, scaling, metric, sizes: SizeBounds { min, max }, trust, ..Job::new(method, k) })
}

fn scaling(py: Python<'_>, name: &str) -> PyResult<Scaling> {
    let known = || Scaling::ALL.map(|(name, _)| name).join(" | ");
    let found = Scaling::ALL.iter().find(|(n, _)| *n == name);
    found.map(|(_, s)| *s).ok_or_else(|| errors::parameter(py, format!("scale takes {}, not '{name}'", known())))
}

fn trust(py: Python<'_>, name: &str) -> PyResult<Trust> {
    match name {
        "hard" => Ok(Trust::Hard),
        "soft" => Ok(Trust::Soft),
        "auto" => Ok(Trust::Auto),
        _ => Err(errors::parameter(py, format!("trust takes hard | soft | auto, not '{name}'"))),
    }
}

/// A value of few, as the command line's JSON spells it.
pub fn spelt(value: &impl serde::Serialize) -> Option<String> {
    serde_json::to_value(value).ok().and_then(|v| v.as_str().map(str::to_owned))
}

struct Asked<'a, 'py> {
    job: &'a Job,
    given: &'a Given,
    features: &'a [String],
    settings: Settings,
    ids: Option<&'a Bound<'py, PyAny>>,
    progress: Option<&'a Bound<'py, PyAny>>,
    previous: Option<&'a [i64]>,
}

impl Asked<'_, '_> {
    fn run<F: Typed>(&self, py: Python<'_>, rows: Slices<'_, F>) -> PyResult<Fitted> {
        let (job, given, previous) = (self.job, &self.given.set, self.previous);
        let done = work::run(py, self.settings, self.progress, |ctx| {
            let data = rows.view()?;
            let mut run = job.run(ctx, &data, given)?;
            if let Some(previous) = previous {
                let before: Vec<Option<u32>> = previous.iter().map(|&l| u32::try_from(l).ok()).collect();
                run.keep_ids(&before);
            }
            let raw = run.representation.transform.is_identity() && run.centres.cols() == data.dims();
            let centres = if raw { run.centres.clone() } else { means(&data, &run.labels, run.k).0 };
            let inertia = sum_of_squares(&data, &run.labels, run.k);
            Ok((run, centres, inertia))
        })?;
        let name = names(self.ids);
        let (run, centres, inertia) = done.map_err(|e: kinfold::Error| errors::described(py, &e, given, &name))?;
        let mut distrusted = Vec::new();
        for d in run.distrusted() {
            let one = PyDict::new(py);
            one.set_item("kind", spelt(&d.kind))?;
            one.set_item("a", name(d.a))?;
            one.set_item("b", name(d.b))?;
            one.set_item("row_a", d.a)?;
            one.set_item("row_b", d.b)?;
            one.set_item("where", given.place(d.id, &[d.a, d.b]))?;
            one.set_item("probability_wrong", d.probability_wrong)?;
            one.set_item("probability_same_without_it", d.probability_same_without_it)?;
            one.set_item("sigmas", d.sigmas)?;
            one.set_item("cost", d.cost)?;
            one.set_item("against", d.cycle.iter().map(|&id| given.place(id, &[])).collect::<Vec<_>>())?;
            one.set_item("broken", d.broken)?;
            one.set_item("kept", d.kept)?;
            one.set_item("evidence", d.describe(given, &name))?;
            distrusted.push(one.unbind());
        }
        Ok(Fitted {
            model: Py::new(py, Model { inner: run.model(self.features) })?,
            violations: violations(py, given, &run.violations, &name)?.unbind(),
            distrusted,
            run,
            centres,
            inertia,
        })
    }
}
