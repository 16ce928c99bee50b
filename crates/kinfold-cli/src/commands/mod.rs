//! One file per command.

pub mod answer;
pub mod ask;
pub mod check;
pub mod choose_k;
pub mod cluster;
pub mod curves;
pub mod demo;
pub mod eval;
pub mod methods;
pub mod next;
pub mod predict;
pub mod report;
pub mod select;
pub mod shell;
pub mod simulate;

/// Version of every JSON object that the commands print; raised when a field changes its meaning.
pub const SCHEMA_VERSION: u32 = 1;
