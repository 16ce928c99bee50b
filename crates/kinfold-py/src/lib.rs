//! The one door from Python into kinfold. Thin on purpose: arrays are borrowed, the interpreter is let go while the
//! engine works, errors keep their sentences. Everything that looks like scikit-learn is in `python/kinfold`.

// What crosses the border are tuples: Python has no use for names of ours.
#![allow(clippy::type_complexity)]

mod choose;
mod data;
mod dialogue;
mod errors;
mod given;
mod metric;
mod model;
mod run;
mod scores;
mod select;
mod work;

use pyo3::prelude::*;

/// The engine of the package `kinfold`.
#[pymodule]
mod _kinfold {
    #[pymodule_export]
    use super::choose::{Choice, choose_k};
    #[pymodule_export]
    use super::dialogue::{Talk, simulate_dialogue};
    #[pymodule_export]
    use super::given::{Given, read_answers, simulate, undo_answer, write_answers};
    #[pymodule_export]
    use super::metric::{Metric, learn};
    #[pymodule_export]
    use super::model::Model;
    #[pymodule_export]
    use super::run::{Fitted, fit};
    #[pymodule_export]
    use super::scores::{score, score_rows};
    #[pymodule_export]
    use super::select::select;
    #[pymodule_export]
    use super::tables;

    #[pymodule_export]
    const VERSION: &str = env!("CARGO_PKG_VERSION");
    #[pymodule_export]
    const SOFT_WEIGHT: f64 = kinfold::pipeline::SOFT_WEIGHT;
}

/// The engine's tables as JSON: methods with their parameters, indices, scalings.
#[pyfunction]
fn tables() -> String {
    use kinfold::{
        data::Scaling,
        indices::{INDICES, INTERNAL},
        methods::METHODS,
        metrics::METRICS,
        queries::QUERIES,
    };
    use serde_json::{Value, json};
    let method = |e: &kinfold::methods::Entry| {
        let mut value = serde_json::to_value(e.info).unwrap_or_default();
        value["parameters"] = serde_json::to_value((e.parameters)()).unwrap_or_default();
        value
    };
    let metric = |e: &kinfold::metrics::Entry| {
        let mut value = serde_json::to_value(e.info).unwrap_or_default();
        value["parameters"] = serde_json::to_value((e.parameters)()).unwrap_or_default();
        value
    };
    let strategy = |e: &kinfold::queries::Entry| {
        let mut value = serde_json::to_value(e.info).unwrap_or_default();
        value["parameters"] = serde_json::to_value((e.parameters)()).unwrap_or_default();
        value
    };
    let index = |e: &kinfold::indices::Entry| json!({ "name": e.name, "summary": e.summary, "needs": e.needs });
    let internal =
        |e: &kinfold::indices::InternalEntry| json!({ "name": e.name, "summary": e.summary, "needs": "rows" });
    let indices = INDICES.iter().map(index).chain(INTERNAL.iter().map(internal));
    json!({
        "methods": METHODS.iter().map(method).collect::<Vec<Value>>(),
        "metrics": METRICS.iter().map(metric).collect::<Vec<Value>>(),
        "strategies": QUERIES.iter().map(strategy).collect::<Vec<Value>>(),
        "indices": indices.collect::<Vec<Value>>(),
        "scalings": Scaling::ALL.iter().map(|(name, _)| *name).collect::<Vec<_>>(),
        "auto": kinfold::methods::AUTO,
    })
    .to_string()
}
