//! Parts that methods share.

pub mod par;
