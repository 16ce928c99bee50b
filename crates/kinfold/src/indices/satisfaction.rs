//! Constraint satisfaction (Duarte et al. 2013, eq. 3): the share of the given relations that the clustering keeps.
//! Sets and labellings count as their pairs.

use super::Scored;

/// See the module.
pub fn satisfaction(scored: &Scored<'_>) -> Option<f64> {
    scored.constraints?.violations(scored.labels, 0).satisfaction()
}
