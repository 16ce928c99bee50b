//! The way from rows and constraints to a result: [`Job`] → [`Run`], and the [`Model`] that labels new rows.

mod check;
mod choose_k;
mod dialogue;
mod job;
mod learned;
mod model;
mod simulate;
mod stable;
mod trust;

pub use check::{Check, check};
pub use choose_k::{Candidate, ChooseK, Criterion, KChoice, Recommended, Tally};
pub use dialogue::{Answered, Conduct, Dialogue, Heard, Next, Progress, Reply, Saved};
pub use job::{Job, Representation, Run};
pub use learned::learned_distance;
pub use model::Model;
pub use simulate::{Oracle, Point, Simulated, Simulation, fit_anyway};
pub use stable::{keep_ids, number_by_first_row};
pub use trust::{Assessment, Distrusted, SOFT_WEIGHT, Trust, Verdict, assess};
