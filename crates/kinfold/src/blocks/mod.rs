//! Parts that methods share.

pub mod boost;
pub mod centred;
pub mod ckm;
pub mod contingency;
pub mod kernel;
pub mod kernel_kmeans;
pub mod lloyd;
pub mod matching;
pub mod means;
pub mod par;
pub mod restarts;
pub mod seeding;
pub mod tuples;
pub mod units;
