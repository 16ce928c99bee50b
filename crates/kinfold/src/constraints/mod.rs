//! Side information: what was given ([`ConstraintSet`]), what follows from it ([`Chunklets`]), whether it can all hold
//! ([`Conflict`], feasibility for k), the cheapest repair, how useful it is, and generators for experiments.

mod chunklets;
mod conflict;
mod feasible;
mod graph;
mod set;

pub use chunklets::{Chunklets, Entailed};
pub use conflict::Conflict;
pub use feasible::Infeasible;
pub use graph::Graph;
pub use set::{ConstraintId, ConstraintSet, Kind, Origin, Pair, PartialLabels, Set, weight_of_confidence};
