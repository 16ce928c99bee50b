//! The rows to cluster: a borrowed view ([`Dataset`]) over dense or sparse values, an owned form ([`Table`]) for what
//! the engine makes itself, small dense matrices ([`Matrix`]), scaling ([`Scaling`]) and cluster shapes ([`Shape`]).

mod dataset;
mod matrix;
mod scaling;
mod shape;
mod table;

pub(crate) use dataset::Scale;
pub use dataset::{Csr, Dataset, Dense, Float, Rows};
pub use matrix::Matrix;
pub use scaling::{Scaling, Transform};
pub use shape::Shape;
pub use table::Table;
