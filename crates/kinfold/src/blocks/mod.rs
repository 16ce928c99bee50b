//! Parts that methods share.

pub mod lloyd;
pub mod means;
pub mod par;
pub mod restarts;
pub mod seeding;
pub mod units;
