//! A dialogue: which pair to ask about next, what an answer did, when to stop.

use std::sync::{Arc, Mutex, MutexGuard};

use kinfold::constraints::Kind;
use kinfold::context::RunContext;
use kinfold::methods::Typed;
use kinfold::pipeline::{Conduct, Dialogue, Heard, Next, Oracle, Reply, Saved, Simulation};
use kinfold::queries::{Ground, Question};
use numpy::PyArray1;
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::data::{Held, Slices, line};
use crate::errors;
use crate::given::{Given, names};
use crate::run::job;
use crate::work::{self, Settings};

/// A dialogue under way.
#[pyclass(frozen, module = "kinfold._kinfold")]
pub struct Talk {
    inner: Mutex<Dialogue>,
}

type Asked = (u32, u32, String, f64, Option<f64>);

fn asked(q: &Question, name: impl Fn(u32) -> String) -> Asked {
    (q.a, q.b, q.why(name), q.score, q.probability_same)
}

fn reply(py: Python<'_>, text: &str) -> PyResult<Reply> {
    match text {
        "same" => Ok(Reply::Same),
        "different" => Ok(Reply::Different),
        "unsure" => Ok(Reply::Unsure),
        _ => Err(errors::parameter(py, format!("the answer '{text}' is none of same, different and unsure"))),
    }
}

fn said(reply: Reply) -> &'static str {
    match reply {
        Reply::Same => "same",
        Reply::Different => "different",
        Reply::Unsure => "unsure",
    }
}

/// (new | known | aside | conflict, pairs entailed, chain)
fn heard(heard: Heard) -> (&'static str, u64, String) {
    match heard {
        Heard::New { entailed } => ("new", entailed, String::new()),
        Heard::Known => ("known", 0, String::new()),
        Heard::Aside => ("aside", 0, String::new()),
        Heard::Conflict { chain, .. } => ("conflict", 0, chain),
    }
}

#[pymethods]
impl Talk {
    /// Begins, or goes on from what was saved.
    #[new]
    #[pyo3(signature = (x, given, strategy, settings, k=None, seed=0, threads=0, saved=None))]
    #[allow(clippy::too_many_arguments)]
    fn new<'py>(
        py: Python<'py>,
        x: Bound<'py, PyAny>,
        given: &Given,
        strategy: String,
        settings: Vec<(String, String)>,
        k: Option<usize>,
        seed: u64,
        threads: usize,
        saved: Option<&str>,
    ) -> PyResult<Talk> {
        let saved: Option<Saved> = saved
            .map(serde_json::from_str)
            .transpose()
            .map_err(|e| errors::data(py, format!("this is not a saved dialogue: {e}")))?;
        let conduct = Conduct { strategy, settings, k, seed };
        let run = Settings { seed, threads, time_limit: None, memory: None };
        let ground = match Held::new(&x)? {
            Held::F32(rows) => ground(py, rows.slices(py)?, run),
            Held::F64(rows) => ground(py, rows.slices(py)?, run),
        }?;
        let set = given.set.clone();
        let begun = py.detach(|| match saved {
            Some(saved) => Dialogue::resume(saved, ground, set),
            None => Dialogue::new(conduct, ground, set),
        });
        Ok(Talk { inner: Mutex::new(begun.map_err(|e| errors::plain(py, &e))?) })
    }

    /// ("ask", question), ("refit", None) or ("done", None), with the reason of the end.
    #[pyo3(signature = (ids=None))]
    fn next(&self, py: Python<'_>, ids: Option<Bound<'_, PyAny>>) -> PyResult<(&'static str, Option<Asked>, String)> {
        let next = py.detach(|| self.lock().map(|mut d| d.next()));
        match next?.map_err(|e| errors::plain(py, &e))? {
            Next::Ask(q) => Ok(("ask", Some(asked(&q, names(ids.as_ref()))), String::new())),
            Next::Refit => Ok(("refit", None, String::new())),
            Next::Done(reason) => Ok(("done", None, reason.to_string())),
        }
    }

    /// Up to `count` questions at once.
    #[pyo3(signature = (count, ids=None))]
    fn batch(&self, py: Python<'_>, count: usize, ids: Option<Bound<'_, PyAny>>) -> PyResult<Vec<Asked>> {
        let found = py.detach(|| self.lock().map(|mut d| d.batch(count)));
        let found = found?.map_err(|e| errors::plain(py, &e))?;
        Ok(found.iter().map(|q| asked(q, names(ids.as_ref()))).collect())
    }

    /// An answer to the open question.
    fn answer(&self, py: Python<'_>, text: &str) -> PyResult<(&'static str, u64, String)> {
        let reply = reply(py, text)?;
        let done = py.detach(|| self.lock().map(|mut d| d.answer(reply)));
        Ok(heard(done?.map_err(|e| errors::plain(py, &e))?))
    }

    /// An answer about any pair; a weight of `None` is hard.
    #[pyo3(signature = (a, b, text, weight=None))]
    fn tell(
        &self,
        py: Python<'_>,
        a: usize,
        b: usize,
        text: &str,
        weight: Option<f64>,
    ) -> PyResult<(&'static str, u64, String)> {
        let reply = reply(py, text)?;
        let done = py.detach(|| self.lock().map(|mut d| d.tell(a, b, reply, weight)));
        Ok(heard(done?.map_err(|e| errors::plain(py, &e))?))
    }

    /// Takes the last answer back: (a, b, reply) or `None`.
    fn undo(&self, py: Python<'_>) -> PyResult<Option<(u32, u32, &'static str)>> {
        let done = py.detach(|| self.lock().map(|mut d| d.undo()));
        let done = done?.map_err(|e| errors::plain(py, &e))?;
        Ok(done.map(|x| (x.a, x.b, said(x.reply))))
    }

    /// No clustering now.
    fn decline(&self) -> PyResult<()> {
        self.lock()?.decline();
        Ok(())
    }

    /// A clustering under the first `answers` answers.
    fn give_partition(&self, py: Python<'_>, labels: Bound<'_, PyAny>, answers: u64) -> PyResult<()> {
        let labels = line::<u32>(&labels, "labels")?.as_slice()?.to_vec();
        let done = py.detach(|| self.lock().map(|mut d| d.give_partition(labels, answers)));
        done?.map_err(|e| errors::plain(py, &e))
    }

    /// Number of answers taken in.
    #[getter]
    fn answers(&self) -> PyResult<u64> {
        Ok(self.lock()?.known().answers())
    }

    /// The answers so far: (a, b, reply, conflict, asked).
    #[getter]
    fn log(&self) -> PyResult<Vec<(u32, u32, &'static str, bool, bool)>> {
        Ok(self.lock()?.log().iter().map(|x| (x.a, x.b, said(x.reply), x.conflict, x.asked)).collect())
    }

    /// Given constraints and answers.
    fn constraints(&self, py: Python<'_>) -> PyResult<Given> {
        Ok(Given { set: self.lock()?.constraints().map_err(|e| errors::plain(py, &e))? })
    }

    /// How it is going.
    fn progress<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let p = self.lock()?.progress();
        let out = PyDict::new(py);
        out.set_item("asked", p.asked)?;
        out.set_item("unsure", p.unsure)?;
        out.set_item("conflicts", p.conflicts)?;
        out.set_item("same", p.same)?;
        out.set_item("different", p.different)?;
        out.set_item("saved", p.saved)?;
        out.set_item("stability", p.stability)?;
        out.set_item("foreseen", p.foreseen)?;
        out.set_item("left", p.left)?;
        out.set_item("stop", p.stop)?;
        Ok(out)
    }

    /// The chain of answers from which follows what is known about two rows.
    #[pyo3(signature = (a, b, ids=None))]
    fn why(&self, py: Python<'_>, a: usize, b: usize, ids: Option<Bound<'_, PyAny>>) -> PyResult<Option<String>> {
        self.lock()?.why(a, b, names(ids.as_ref())).map_err(|e| errors::plain(py, &e))
    }

    /// All of it as JSON.
    fn save(&self) -> PyResult<String> {
        serde_json::to_string(&self.lock()?.save()).map_err(|e| PyRuntimeError::new_err(e.to_string()))
    }
}

impl Talk {
    fn lock(&self) -> PyResult<MutexGuard<'_, Dialogue>> {
        self.inner.lock().map_err(|_| PyRuntimeError::new_err("the dialogue broke off; go on from what was saved"))
    }
}

fn ground<F: Typed>(py: Python<'_>, rows: Slices<'_, F>, settings: Settings) -> PyResult<Arc<Ground>> {
    let made = work::run(py, settings, None, |ctx: &RunContext| Ground::new(&rows.view()?, &ctx.pool))?;
    made.map(Arc::new).map_err(|e: kinfold::Error| errors::plain(py, &e))
}

/// A simulated dialogue: [(asked, wrong, {score: value})].
#[pyfunction]
#[pyo3(signature = (x, truth, strategy, strategy_settings, method, k, settings, *, budget, every, error=0.0, unsure=0.0,
                    tell_k=true, scaling=None, metric=None, min_size=None, max_size=None, trust="auto", seed=0, threads=0,
                    time_limit=None, memory=None, progress=None))]
#[allow(clippy::too_many_arguments)]
pub fn simulate_dialogue<'py>(
    py: Python<'py>,
    x: Bound<'py, PyAny>,
    truth: Bound<'py, PyAny>,
    strategy: String,
    strategy_settings: Vec<(String, String)>,
    method: &str,
    k: usize,
    settings: Vec<(String, String)>,
    budget: usize,
    every: usize,
    error: f64,
    unsure: f64,
    tell_k: bool,
    scaling: Option<&str>,
    metric: Option<(String, Vec<(String, String)>)>,
    min_size: Option<usize>,
    max_size: Option<usize>,
    trust: &str,
    seed: u64,
    threads: usize,
    time_limit: Option<f64>,
    memory: Option<u64>,
    progress: Option<Bound<'py, PyAny>>,
) -> PyResult<Vec<(usize, usize, Bound<'py, PyDict>)>> {
    let job = job(py, method, k, settings, scaling, metric, (min_size, max_size), trust)?;
    let oracle = Oracle { error, unsure, seed };
    let asked = Simulation { strategy, settings: strategy_settings, job, budget, every, oracle, tell_k };
    let settings = Settings { seed, threads, time_limit, memory };
    let truth = line::<u32>(&truth, "classes")?;
    let truth = truth.as_slice()?;
    let points = match Held::new(&x)? {
        Held::F32(rows) => curve(py, &asked, rows.slices(py)?, truth, settings, progress.as_ref()),
        Held::F64(rows) => curve(py, &asked, rows.slices(py)?, truth, settings, progress.as_ref()),
    }?;
    let told = |p: kinfold::pipeline::Point| {
        let scores = PyDict::new(py);
        for (name, value) in p.scores {
            scores.set_item(name, value)?;
        }
        Ok((p.asked, p.wrong, scores))
    };
    points.into_iter().map(told).collect()
}

fn curve<F: Typed>(
    py: Python<'_>,
    asked: &Simulation,
    rows: Slices<'_, F>,
    truth: &[u32],
    settings: Settings,
    progress: Option<&Bound<'_, PyAny>>,
) -> PyResult<Vec<kinfold::pipeline::Point>> {
    let done = work::run(py, settings, progress, |ctx| {
        let data = rows.view()?;
        if data.n() != truth.len() {
            let why = format!("{} classes were given for {} rows", truth.len(), data.n());
            return Err(kinfold::Error::Parameter(why));
        }
        let ground = Arc::new(Ground::new(&data, &ctx.pool)?);
        Ok(asked.run(ctx, &data, &ground, truth)?.points)
    })?;
    done.map_err(|e| errors::plain(py, &e))
}
