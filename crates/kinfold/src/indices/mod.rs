//! indices
