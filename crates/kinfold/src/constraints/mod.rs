//! Side information: what was given ([`ConstraintSet`]), what follows from it ([`Chunklets`]), whether it can all hold
//! ([`Conflict`], feasibility for k), the cheapest repair, how useful it is, and generators for experiments.

#[cfg(test)]
mod brute;
mod chunklets;
mod colouring;
mod conflict;
mod counts;
mod describe;
mod entail;
mod feasible;
pub mod generate;
mod graph;
mod hitting;
mod lifted;
mod mass;
mod normalise;
mod online;
mod paths;
mod repair;
mod repair_model;
mod sat;
mod set;
mod simulate;
mod utility;
mod witness;

pub use chunklets::{Chunklets, Entailed};
pub use conflict::{Conflict, Conflicts};
pub use counts::{Violation, Violations};
pub use entail::{AssumedFromK, Explanation, Redundancy, infer_from_k};
pub use feasible::{Feasibility, FeasibleOptions, SmallestK, feasible, smallest_k};
pub use graph::Graph;
pub use lifted::{LiftedEdge, LiftedEdges};
pub use mass::Mass;
pub use normalise::{MergeWeights, Normalised, Note, NoteKind, Notes};
pub use online::{Added, Online};
pub use paths::PathRule;
pub use repair::{Dropped, Repair, RepairOptions, repair};
pub use set::{ConstraintId, ConstraintSet, Kind, Origin, Pair, PartialLabels, Set, weight_of_confidence};
pub use simulate::{Protocol, Simulate, Simulated};
pub use utility::{Coherence, Companions, Informativeness, coherence, companions, informativeness};
pub use witness::{Infeasible, Witness};
