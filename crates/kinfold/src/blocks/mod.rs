//! Parts that methods share.

pub mod assign;
pub mod matching;
pub mod par;
pub mod restarts;
pub mod seeding;
pub mod units;
