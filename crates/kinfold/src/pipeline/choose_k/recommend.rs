//! One k out of many criteria.

use super::{Candidate, Criterion};

/// The k to take, and why.
#[derive(Debug, Clone, PartialEq)]
pub struct Recommended {
    /// Number of clusters.
    pub k: usize,
    /// The criterion that decided.
    pub by: String,
    /// In a sentence.
    pub reason: String,
    /// Every k that the deciding criterion cannot tell from it.
    pub as_good: Vec<usize>,
    /// What the recommendation rests on, for every candidate.
    pub scores: Vec<Option<f64>>,
}

pub(super) fn recommend(candidates: &[Candidate], criteria: &[Criterion], lower: usize) -> Recommended {
    let _ = lower;
    let best = criteria.iter().find(|c| c.chooses && c.k.is_some());
    let k = best.and_then(|c| c.k).unwrap_or(candidates[0].k);
    Recommended {
        k,
        by: best.map_or(String::new(), |c| c.name.clone()),
        reason: String::new(),
        as_good: Vec::new(),
        scores: Vec::new(),
    }
}
