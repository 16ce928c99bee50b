//! Parts that methods share.

pub mod assign;
pub mod candidates;
pub mod choose;
pub mod consensus;
pub mod contingency;
pub mod extend;
pub mod holdout;
pub mod linalg;
pub mod lloyd;
pub mod matching;
pub mod means;
pub mod metric;
pub mod neighbours;
pub mod par;
pub mod propagate;
pub mod refine;
pub mod represent;
pub mod restarts;
pub mod sample;
pub mod seeding;
pub mod spectral;
pub mod units;
