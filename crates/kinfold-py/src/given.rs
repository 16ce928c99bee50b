//! Constraints by row number, as the engine takes them; ids are looked up in Python.

use kinfold::constraints::{ConstraintSet, Kind, Origin, Protocol, Simulate, weight_of_confidence};
use kinfold::context::RunContext;
use kinfold::params::Value;
use kinfold::pipeline::check;
use kinfold_io::{AnswerRecord, AnswerWriter, Input, Reply, Strength, check_json, check_text, read_answers_alone};
use numpy::{PyArray1, PyReadonlyArray1};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::data::line;
use crate::errors;
use crate::work::{self, Settings};

/// Everything that is known about n rows.
#[pyclass(frozen, module = "kinfold._kinfold")]
pub struct Given {
    pub set: ConstraintSet,
}

/// Spells rows by the ids that Python holds (any sequence), or by number.
pub fn names<'a>(ids: Option<&'a Bound<'_, PyAny>>) -> impl Fn(u32) -> String + 'a {
    move |row| {
        let id = ids.and_then(|ids| ids.get_item(row).and_then(|id| id.str()).ok());
        id.map_or_else(|| row.to_string(), |id| id.to_string())
    }
}

fn kind(same: bool) -> Kind {
    if same { Kind::MustLink } else { Kind::CannotLink }
}

fn rows(py: Python<'_>, given: &[i64], n: usize) -> PyResult<Vec<usize>> {
    given
        .iter()
        .map(|&row| usize::try_from(row).ok().filter(|r| *r < n).ok_or_else(|| errors::no_such_row(py, row, n)))
        .collect()
}

type Column<'py, T> = PyReadonlyArray1<'py, T>;

#[pymethods]
impl Given {
    /// `pairs`: list of (source, a, b, same, weight, lines or None); `sets`: list of (source, same, members, weight);
    /// `labels`: list of (source, rows, codes, names, weight). An infinite weight is a hard constraint.
    #[new]
    fn new(
        py: Python<'_>,
        n: usize,
        pairs: Vec<Bound<'_, PyAny>>,
        sets: Vec<Bound<'_, PyAny>>,
        labels: Vec<Bound<'_, PyAny>>,
    ) -> PyResult<Given> {
        let mut set = ConstraintSet::new(n);
        let source = |set: &mut ConstraintSet, name: Option<String>| Origin {
            source: name.map_or(0, |name| set.add_source(&name)),
            line: 0,
        };
        for block in &pairs {
            let (name, a, b, same, weight, lines): (
                Option<String>,
                Column<'_, i64>,
                Column<'_, i64>,
                Column<'_, bool>,
                Column<'_, f64>,
                Option<Column<'_, u32>>,
            ) = block.extract()?;
            let origin = source(&mut set, name);
            let (a, b) = (rows(py, a.as_slice()?, n)?, rows(py, b.as_slice()?, n)?);
            let (same, weight) = (same.as_slice()?, weight.as_slice()?);
            let lines = lines.as_ref().map(|l| l.as_slice()).transpose()?;
            set.reserve_pairs(a.len());
            for i in 0..a.len() {
                let origin = Origin { line: lines.map_or(0, |l| l[i]), ..origin };
                set.add_weighted_pair(kind(same[i]), a[i], b[i], weight[i], origin)
                    .map_err(|e| errors::plain(py, &e))?;
            }
        }
        for block in &sets {
            let (name, same, members, weight): (Option<String>, bool, Column<'_, i64>, f64) = block.extract()?;
            let origin = source(&mut set, name);
            let members = rows(py, members.as_slice()?, n)?;
            set.add_set(kind(same), &members, weight, origin).map_err(|e| errors::plain(py, &e))?;
        }
        for block in &labels {
            let (name, at, codes, names, weight): (Option<String>, Column<'_, i64>, Column<'_, u32>, Vec<String>, f64) =
                block.extract()?;
            let origin = source(&mut set, name);
            let at = rows(py, at.as_slice()?, n)?;
            let labelled: Vec<(usize, u32)> = at.into_iter().zip(codes.as_slice()?.iter().copied()).collect();
            set.add_labels(&labelled, names, Vec::new(), weight, origin).map_err(|e| errors::plain(py, &e))?;
        }
        Ok(Given { set })
    }

    /// Number of rows.
    #[getter]
    fn n(&self) -> usize {
        self.set.n()
    }

    /// (possible, text, JSON) of the check for k.
    #[pyo3(signature = (k, repair, all_rows, ids=None))]
    fn check(
        &self,
        py: Python<'_>,
        k: Option<usize>,
        repair: bool,
        all_rows: bool,
        ids: Option<Bound<'_, PyAny>>,
    ) -> PyResult<(bool, String, String)> {
        let settings = Settings { seed: 0, threads: 1, time_limit: None, memory: None };
        let found = work::run(py, settings, None, |_| check(&self.set, k, repair, all_rows))?;
        let name = names(ids.as_ref());
        let found = found.map_err(|e| errors::described(py, &e, &self.set, &name))?;
        let text = check_text(&found, &self.set, &name, "the report's lists have them");
        Ok((found.possible(), text, check_json(&found, &self.set, &name).to_string()))
    }

    /// What labels break: counts, and the first `most` of them.
    #[pyo3(signature = (labels, most, ids=None))]
    fn violations<'py>(
        &self,
        py: Python<'py>,
        labels: Bound<'py, PyAny>,
        most: usize,
        ids: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyDict>> {
        let labels = line::<u32>(&labels, "labels")?;
        let labels = labels.as_slice()?;
        if labels.len() != self.set.n() {
            return Err(errors::data(py, format!("{} labels were given for {} rows", labels.len(), self.set.n())));
        }
        violations(py, &self.set, &self.set.violations(labels, most), names(ids.as_ref()))
    }
}

/// Counts and lists as Python's `Violations` takes them.
pub fn violations<'py>(
    py: Python<'py>,
    set: &ConstraintSet,
    v: &kinfold::constraints::Violations,
    name: impl Fn(u32) -> String,
) -> PyResult<Bound<'py, PyDict>> {
    let out = PyDict::new(py);
    out.set_item("must_link", v.must_link)?;
    out.set_item("cannot_link", v.cannot_link)?;
    out.set_item("must_link_given", v.must_link_pairs)?;
    out.set_item("cannot_link_given", v.cannot_link_pairs)?;
    out.set_item("cost", v.cost)?;
    let list: Vec<_> = v
        .list
        .iter()
        .map(|x| (x.kind == Kind::MustLink, x.a, x.b, name(x.a), name(x.b), x.weight, set.place(x.id, &[x.a, x.b])))
        .collect();
    out.set_item("list", list)?;
    Ok(out)
}

/// An answer file: (name, ids, a, b, same, weight, lines); a weight of NaN says none. Undone and unsure lines are gone.
#[pyfunction]
#[allow(clippy::type_complexity)]
pub fn read_answers<'py>(
    py: Python<'py>,
    path: &str,
) -> PyResult<(
    String,
    Vec<String>,
    Bound<'py, PyArray1<i64>>,
    Bound<'py, PyArray1<i64>>,
    Bound<'py, PyArray1<bool>>,
    Bound<'py, PyArray1<f64>>,
    Bound<'py, PyArray1<u32>>,
)> {
    let (ids, answers) =
        py.detach(|| read_answers_alone(&Input::from_arg(path))).map_err(|e| errors::reading(py, &e))?;
    let (mut same, mut weight) = (Vec::new(), Vec::new());
    for answer in &answers.pairs {
        let (kind, w) = match answer.strength() {
            Strength::Unsaid => (answer.kind(), f64::NAN),
            Strength::Weight(w) => (answer.kind(), w),
            Strength::Confidence(q) => weight_of_confidence(answer.kind(), q).map_err(|e| errors::plain(py, &e))?,
        };
        same.push(kind == Kind::MustLink);
        weight.push(w);
    }
    let column =
        |of: fn(&kinfold_io::Answer) -> u32| PyArray1::from_iter(py, answers.pairs.iter().map(|x| i64::from(of(x))));
    Ok((
        answers.source.clone(),
        (0..ids.len()).map(|row| ids.get(row).into_owned()).collect(),
        column(|x| x.a),
        column(|x| x.b),
        PyArray1::from_vec(py, same),
        PyArray1::from_vec(py, weight),
        PyArray1::from_iter(py, answers.pairs.iter().map(|x| x.line)),
    ))
}

/// Appends answers (id, id, same, weight or NaN) to an answer file, on disk before it returns.
#[pyfunction]
pub fn write_answers(
    py: Python<'_>,
    path: &str,
    answers: Vec<(String, String, bool, f64)>,
    source: &str,
) -> PyResult<()> {
    let write = || {
        let mut writer = AnswerWriter::open(path)?;
        for (a, b, same, weight) in &answers {
            let reply = if *same { Reply::Same } else { Reply::Different };
            let mut record = AnswerRecord::new(a, b, reply);
            record.source = source;
            // The file knows confidences: w = ln(q / (1 − q)).
            record.confidence = match *weight {
                w if w.is_nan() => None,
                w if w.is_infinite() => Some(1.0),
                w => Some(1.0 / (1.0 + (-w).exp())),
            };
            writer.append(&record)?;
        }
        Ok(())
    };
    py.detach(write).map_err(|e: kinfold_io::ReadError| errors::reading(py, &e))
}

/// Takes the latest answer about a pair back, in the file.
#[pyfunction]
pub fn undo_answer(py: Python<'_>, path: &str, a: &str, b: &str) -> PyResult<()> {
    let write = || AnswerWriter::open(path)?.append(&AnswerRecord::new(a, b, Reply::Undo));
    py.detach(write).map_err(|e: kinfold_io::ReadError| errors::reading(py, &e))
}

/// Pairs answered from known classes: (a, b, same, flipped, note).
#[pyfunction]
#[allow(clippy::type_complexity)]
pub fn simulate<'py>(
    py: Python<'py>,
    truth: Bound<'py, PyAny>,
    protocol: &str,
    amount: String,
    noise: f64,
    set_size: usize,
    seed: u64,
) -> PyResult<(Bound<'py, PyArray1<i64>>, Bound<'py, PyArray1<i64>>, Bound<'py, PyArray1<bool>>, usize, Option<String>)>
{
    let truth = line::<u32>(&truth, "classes")?;
    let truth = truth.as_slice()?;
    let protocol = Protocol::parse(protocol).ok_or_else(|| {
        errors::parameter(py, format!("protocol takes {}, not '{protocol}'", <Protocol as Value>::sort()))
    })?;
    let asked = Simulate { protocol, amount, noise, set_size };
    let made = py.detach(|| {
        let ctx = RunContext::new(seed).with_threads(1);
        asked.run(truth, &mut ctx.rng("simulate", 0))
    });
    let made = made.map_err(|e| errors::plain(py, &e))?;
    let pairs = made.pairs.pairs();
    Ok((
        PyArray1::from_iter(py, pairs.iter().map(|p| i64::from(p.a))),
        PyArray1::from_iter(py, pairs.iter().map(|p| i64::from(p.b))),
        PyArray1::from_iter(py, pairs.iter().map(|p| p.kind == Kind::MustLink)),
        made.flipped,
        made.short,
    ))
}
