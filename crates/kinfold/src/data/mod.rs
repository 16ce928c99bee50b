//! The rows to cluster: a borrowed view ([`Dataset`]) over dense or sparse values, an owned form ([`Table`]) for what
//! the engine makes itself, small dense matrices ([`Matrix`]) and scaling ([`Scaling`]).

mod dataset;
mod matrix;
mod scaling;
mod table;

pub use dataset::{Csr, Dataset, Dense, Float, Rows};
pub use matrix::Matrix;
pub use scaling::{Scaling, Transform};
pub use table::Table;
