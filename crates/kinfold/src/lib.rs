//! The kinfold engine: clustering that obeys must-link and cannot-link constraints, or names the ones it breaks.
//!
//! A library with no files, no terminal and no network. Data are borrowed ([`data::Dataset`]), side information is a
//! [`constraints::ConstraintSet`] that [`close`](constraints::ConstraintSet::close)s to
//! [`Chunklets`](constraints::Chunklets), a method from the [`methods::METHODS`] table turns both into labels, and
//! [`pipeline::Job`] ties it all together.
//!
//! ```
//! use kinfold::{constraints::{ConstraintSet, Kind}, context::RunContext, data::Dataset, pipeline::Job};
//!
//! let rows = [0.0, 1.0, 9.0, 10.0];
//! let data = Dataset::dense(&rows, 1)?;
//! let mut constraints = ConstraintSet::new(4);
//! constraints.add_pair(Kind::CannotLink, 0, 1)?;
//! let run = Job::new("kmeans", 2).run(&RunContext::default(), &data, &constraints)?;
//! assert_eq!(run.labels.len(), 4);
//! assert_eq!(run.violations.cannot_link, 1); // plain k-means does not listen: the broken one is named
//! # Ok::<(), kinfold::Error>(())
//! ```

pub mod blocks;
pub mod constraints;
pub mod context;
pub mod data;
mod error;
pub mod indices;
mod kernels;
pub mod methods;
pub mod metrics;
pub mod params;
pub mod pipeline;
pub mod queries;
pub mod rng;

pub use error::{Error, Result, bytes};
