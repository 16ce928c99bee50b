//! Parts that methods share.

pub mod assign;
pub mod contingency;
pub mod greedy;
pub mod lloyd;
pub mod matching;
pub mod means;
pub mod par;
pub mod restarts;
pub mod seeding;
pub mod sizes;
pub mod units;
