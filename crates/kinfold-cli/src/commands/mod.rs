//! One file per command.

pub mod check;
pub mod choose_k;
pub mod cluster;
pub mod demo;
pub mod eval;
pub mod methods;
pub mod predict;
pub mod report;
pub mod shell;
pub mod simulate;

/// Version of every JSON object that the commands print; raised when a field changes its meaning.
pub const SCHEMA_VERSION: u32 = 1;
