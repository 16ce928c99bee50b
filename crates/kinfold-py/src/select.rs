//! The informative ones of given constraints.

use kinfold::blocks::par::Pool;
use kinfold::constraints::Kind;
use kinfold::context::RunContext;
use kinfold::methods::Typed;
use kinfold::params::Value;
use kinfold::queries::{ApcFilter, ApcMode, Ground, Kept, SelectFill, apc_filter, apc_select};
use pyo3::prelude::*;

use crate::data::{Held, Slices};
use crate::errors;
use crate::given::{Given, names};
use crate::run::spelt;
use crate::work::{self, Settings};

struct Wish {
    mode: ApcMode,
    fill: SelectFill,
    sigma: Option<f64>,
    budget: Option<usize>,
    keep_entailed: bool,
}

type Selected = (Vec<(u32, u32, bool, Option<String>, f64)>, f64, f64, f64);

/// Kept pairs as (a, b, same, rule, margin); the distances beyond which same is far and below which different is near; the
/// width of the kernel.
#[pyfunction]
#[pyo3(signature = (x, given, *, mode, fill, sigma=None, budget=None, keep_entailed=false, seed=0, ids=None))]
#[allow(clippy::too_many_arguments)]
pub fn select<'py>(
    py: Python<'py>,
    x: Bound<'py, PyAny>,
    given: &Given,
    mode: &str,
    fill: &str,
    sigma: Option<f64>,
    budget: Option<usize>,
    keep_entailed: bool,
    seed: u64,
    ids: Option<Bound<'py, PyAny>>,
) -> PyResult<Selected> {
    fn choice<V: Value>(py: Python<'_>, name: &str, text: &str) -> PyResult<V> {
        V::parse(text).ok_or_else(|| errors::parameter(py, format!("{name} takes {}, not '{text}'", V::sort())))
    }
    if sigma.is_some_and(|s| !(s > 0.0)) {
        return Err(errors::parameter(py, "sigma takes a number above zero, or inf"));
    }
    let wish = Wish { mode: choice(py, "mode", mode)?, fill: choice(py, "fill", fill)?, sigma, budget, keep_entailed };
    let settings = Settings { seed, threads: 0, time_limit: None, memory: None };
    match Held::new(&x)? {
        Held::F32(rows) => run(py, rows.slices(py)?, given, &wish, settings, ids.as_ref()),
        Held::F64(rows) => run(py, rows.slices(py)?, given, &wish, settings, ids.as_ref()),
    }
}

fn run<F: Typed>(
    py: Python<'_>,
    rows: Slices<'_, F>,
    given: &Given,
    wish: &Wish,
    settings: Settings,
    ids: Option<&Bound<'_, PyAny>>,
) -> PyResult<Selected> {
    let set = &given.set;
    let found = |ctx: &RunContext| -> kinfold::Result<(Vec<(Kind, u32, u32)>, ApcFilter, Vec<Kept>)> {
        // A contradiction has no informative part: it is reported first.
        set.close()?;
        let candidates: Vec<_> = set.expanded().map(|p| (p.kind, p.a, p.b)).collect();
        let ground = Ground::new(&rows.view()?, &Pool::new(settings.threads))?;
        let found = apc_filter(&ground, &candidates, wish.mode, wish.sigma, false)?;
        let mut rng = ctx.rng("select", 0);
        let kept = match wish.budget {
            None => found.kept.clone(),
            Some(budget) => apc_select(&ground, &candidates, &found, budget, wish.fill, !wish.keep_entailed, &mut rng),
        };
        Ok((candidates, found, kept))
    };
    let done = work::run(py, settings, None, found)?;
    let (candidates, found, kept) = done.map_err(|e| errors::described(py, &e, set, names(ids)))?;
    let told = |k: &Kept| {
        let (kind, a, b) = candidates[k.at];
        (a, b, kind == Kind::MustLink, spelt(&k.rule), k.margin)
    };
    Ok((kept.iter().map(told).collect(), found.far, found.near, found.sigma))
}
