//! Parts that methods share.

pub mod assign;
pub mod matching;
pub mod par;
