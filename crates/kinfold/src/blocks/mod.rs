//! Parts that methods share.

pub mod assign;
pub mod boost;
pub mod centred;
pub mod ckm;
pub mod contingency;
pub mod greedy;
pub mod kernel;
pub mod kernel_kmeans;
pub mod lloyd;
pub mod matching;
pub mod means;
pub mod par;
pub mod restarts;
pub mod seeding;
pub mod sizes;
pub mod tuples;
pub mod units;
