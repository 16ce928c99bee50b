//! Engine errors as exceptions of `kinfold.exceptions`, with the sentences of the command line.

use kinfold::Error;
use kinfold::constraints::ConstraintSet;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyType;

/// The sentence, the class it belongs to, and what to do about it.
fn raise(py: Python<'_>, class: &str, message: String, hint: Option<&str>) -> PyErr {
    let found = py.import("kinfold.exceptions").and_then(|m| m.getattr(class)).map(|c| c.cast_into::<PyType>());
    let Ok(Ok(class)) = found else { return PyValueError::new_err(message) };
    let error = PyErr::from_type(class, message);
    if let Some(hint) = hint {
        // A note that cannot be added is no reason to hide the error.
        let _ = error.value(py).call_method1("add_note", (format!("hint: {hint}"),));
    }
    error
}

/// An error of the engine that concerns no constraints.
pub fn plain(py: Python<'_>, error: &Error) -> PyErr {
    sentence(py, error, error.to_string())
}

/// An error of the engine, rows spelt by `name` and constraints by where they came from.
pub fn described(py: Python<'_>, error: &Error, set: &ConstraintSet, name: impl Fn(u32) -> String) -> PyErr {
    sentence(py, error, error.describe(set, name))
}

fn sentence(py: Python<'_>, error: &Error, message: String) -> PyErr {
    let (class, hint) = match error {
        Error::NoRows
        | Error::NoDims
        | Error::Shape { .. }
        | Error::NotFinite { .. }
        | Error::Sparse(_)
        | Error::RowWeight { .. }
        | Error::WeightCount { .. } => ("DataError", None),
        Error::NoSuchRow { .. } | Error::Weight(_) | Error::Confidence(_) => ("ConstraintError", None),
        Error::Contradiction(_) => {
            ("ContradictionError", Some("Constraints.check() shows every contradiction and the cheapest repair"))
        }
        Error::Infeasible(_) => ("InfeasibleError", Some("Constraints.check() finds the smallest k that is possible")),
        Error::TooFewChunklets { .. } | Error::Sizes(_) | Error::DeadEnd(_) => ("InfeasibleError", None),
        Error::NoSuchName { .. } | Error::Parameter(_) | Error::K { .. } | Error::Unsupported { .. } => {
            ("ParameterError", None)
        }
        Error::Memory { .. } => ("ParameterError", Some("memory_limit= allows more; kinfold.methods() lists others")),
        Error::Numeric(_) => ("NumericError", None),
        _ => ("KinfoldError", None),
    };
    raise(py, class, message, hint)
}

/// An error of a reader: file, line, column, sentence.
pub fn reading(py: Python<'_>, error: &kinfold_io::ReadError) -> PyErr {
    raise(py, "ReadError", error.to_string(), error.hint.as_deref())
}

/// A row that Python named and that does not exist.
pub fn no_such_row(py: Python<'_>, row: i64, rows: usize) -> PyErr {
    raise(py, "ConstraintError", format!("row {row} does not exist: there are {rows} rows"), None)
}

/// Something that is wrong with an argument.
pub fn parameter(py: Python<'_>, message: impl Into<String>) -> PyErr {
    raise(py, "ParameterError", message.into(), None)
}

/// Something that is wrong with an array.
pub fn data(py: Python<'_>, message: impl Into<String>) -> PyErr {
    raise(py, "DataError", message.into(), None)
}
