//! What can go wrong in the engine, with the values that went wrong.

use crate::constraints::{Conflicts, ConstraintSet, Infeasible};

/// The engine's result.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// An error of the engine. Each message is a sentence; callers that know files and lines add them.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// There is nothing to cluster.
    #[error("the data have no rows")]
    NoRows,
    /// The data have rows but no columns.
    #[error("the data have no feature columns")]
    NoDims,
    /// The buffer is not rows × dims long.
    #[error("{len} values do not make rows of {dims} columns")]
    Shape {
        /// Number of values given.
        len: usize,
        /// Row width asked for.
        dims: usize,
    },
    /// NaN or an infinity in the data.
    #[error("row {row}, column {column} holds {value}, which is not a finite number")]
    NotFinite {
        /// Row, from 0.
        row: usize,
        /// Column, from 0.
        column: usize,
        /// The value found.
        value: f64,
    },
    /// A sparse matrix whose parts do not fit together.
    #[error("malformed sparse rows: {0}")]
    Sparse(String),
    /// A row weight that is negative, NaN or infinite, or weights that are all zero.
    #[error("row weight {value} of row {row} is not a finite number above zero")]
    RowWeight {
        /// Row, from 0.
        row: usize,
        /// The weight.
        value: f64,
    },
    /// Row weights of another length than the data.
    #[error("{weights} row weights were given for {rows} rows")]
    WeightCount {
        /// Number of weights.
        weights: usize,
        /// Number of rows.
        rows: usize,
    },
    /// A constraint on a row that does not exist.
    #[error("row {row} does not exist: there are {rows} rows")]
    NoSuchRow {
        /// The row named.
        row: usize,
        /// Number of rows.
        rows: usize,
    },
    /// A constraint weight that is negative or NaN.
    #[error("constraint weight {0} is not a number from 0 up")]
    Weight(f64),
    /// A confidence outside (0, 1].
    #[error("confidence {0} is not above 0 and at most 1")]
    Confidence(f64),
    /// k is zero or larger than the number of rows.
    #[error("k = {k} is not possible with {rows} rows: choose k from 1 to {rows}")]
    K {
        /// Number of clusters asked for.
        k: usize,
        /// Number of rows.
        rows: usize,
    },
    /// Must-links leave fewer chunklets than clusters.
    #[error("k = {k} is not possible: the must-links leave only {chunklets} groups of rows that may be apart")]
    TooFewChunklets {
        /// Number of clusters asked for.
        k: usize,
        /// Number of chunklets.
        chunklets: usize,
    },
    /// The hard constraints contradict each other whatever k is.
    #[error("the constraints contradict each other: {}", .0.first().map(ToString::to_string).unwrap_or_default())]
    Contradiction(Conflicts),
    /// No clustering into k clusters keeps every hard cannot-link.
    #[error("{0}")]
    Infeasible(Box<Infeasible>),
    /// Size bounds that no clustering can keep.
    #[error("{0}")]
    Sizes(String),
    /// There is no such entry in a table.
    #[error("there is no {family} named '{name}'{}", .hint.as_ref().map(|h| format!("; did you mean '{h}'?")).unwrap_or_default())]
    NoSuchName {
        /// method, metric, query strategy or index.
        family: &'static str,
        /// The name given.
        name: String,
        /// The closest known name.
        hint: Option<String>,
    },
    /// A parameter that does not exist, or a value that it does not take.
    #[error("{0}")]
    Parameter(String),
    /// The method cannot run on what it was given.
    #[error("{method} {why}")]
    Unsupported {
        /// The method's name.
        method: &'static str,
        /// What it cannot do, as the rest of the sentence.
        why: String,
    },
    /// The method would need more memory than it may use.
    #[error(
        "{method} needs about {} for {rows} rows, more than the {} it may use{}",
        bytes(*.needed),
        bytes(*.allowed),
        if *.fits > 0 { format!(": about {} rows would fit", .fits) } else { String::new() }
    )]
    Memory {
        /// The method's name.
        method: &'static str,
        /// Number of rows.
        rows: usize,
        /// Bytes it needs.
        needed: u64,
        /// Bytes it may use.
        allowed: u64,
        /// The largest number of rows that would fit.
        fits: usize,
    },
    /// A greedy method met a row that fits in no cluster.
    #[error("{0}")]
    DeadEnd(String),
    /// A numerical routine failed.
    #[error("{0}")]
    Numeric(String),
}

impl Error {
    /// The sentence in the user's words: rows spelt by `name`, constraints of `set` by where they came from.
    pub fn describe(&self, set: &ConstraintSet, name: impl Fn(u32) -> String) -> String {
        match self {
            Error::Contradiction(conflicts) => {
                let Some(first) = conflicts.first() else { return self.to_string() };
                let rest = match conflicts.len() {
                    0 | 1 => String::new(),
                    2 => " (and 1 more contradiction)".to_owned(),
                    all => format!(" (and {} more contradictions)", all - 1),
                };
                format!("the constraints contradict each other: {}{rest}", first.describe(set, name))
            }
            Error::Infeasible(why) => why.describe(set, name),
            _ => self.to_string(),
        }
    }
}

/// 3200000000 → 3.2 GB.
pub fn bytes(count: u64) -> String {
    let count = count as f64;
    let (unit, name) = [(1e12, "TB"), (1e9, "GB"), (1e6, "MB"), (1e3, "kB")]
        .into_iter()
        .find(|(unit, _)| count >= 0.9995 * unit)
        .unwrap_or((1.0, "bytes"));
    let text = format!("{:.1}", count / unit);
    format!("{} {name}", text.strip_suffix(".0").unwrap_or(&text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_told_in_units_that_people_use() {
        for (count, text) in [(0, "0 bytes"), (1_999, "2 kB"), (3_200_000_000, "3.2 GB"), (8_000_000_000, "8 GB")] {
            assert_eq!(bytes(count), text);
        }
    }
}
