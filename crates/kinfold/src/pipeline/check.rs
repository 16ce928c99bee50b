//! Do the constraints hold together, for which k, and what is the cheapest repair? No rows are looked at.

use std::time::Duration;

use crate::constraints::{
    Chunklets, Conflicts, ConstraintSet, Feasibility, FeasibleOptions, Repair, RepairOptions, SmallestK, feasible,
    repair, smallest_k,
};
use crate::error::{Error, Result};

/// Cannot-links between chunklets up to which the smallest k is sought.
const MOST_LINKS: usize = 1_000_000;

/// What came of looking at a set of constraints.
#[derive(Debug, Clone)]
pub struct Check {
    /// Rows joined by the must-links, with the cannot-links that contradict no chain.
    pub chunklets: Chunklets,
    /// Cannot-links whose ends the must-links join.
    pub conflicts: Conflicts,
    /// The k that was asked for and whether the rest can hold with it.
    pub verdict: Option<(usize, Feasibility)>,
    /// Bounds on the smallest possible k; `None` when there are too many cannot-links to seek it.
    pub smallest: Option<SmallestK>,
    /// The cheapest repair, when one is needed and was asked for.
    pub repair: Option<Repair>,
}

impl Check {
    /// Can all of them hold, as far as is known?
    pub fn possible(&self) -> bool {
        self.conflicts.is_empty() && !matches!(&self.verdict, Some((_, Feasibility::Infeasible(_))))
    }
}

/// Looks for contradictions, decides k where one is given, and mends what cannot hold if `mend` asks for it. With
/// `all_rows` the rows of the set are all there are, and each of the k clusters needs one; otherwise there may be others.
///
/// ```
/// use kinfold::{constraints::{ConstraintSet, Kind}, pipeline::check};
/// let mut given = ConstraintSet::new(3);
/// for (a, b) in [(0, 1), (1, 2), (0, 2)] {
///     given.add_pair(Kind::CannotLink, a, b)?;
/// }
/// assert!(check(&given, Some(3), true, true)?.possible());
/// let impossible = check(&given, Some(2), true, true)?;
/// assert_eq!(impossible.repair.unwrap().dropped.len(), 1);
/// # Ok::<(), kinfold::Error>(())
/// ```
pub fn check(given: &ConstraintSet, k: Option<usize>, mend: bool, all_rows: bool) -> Result<Check> {
    if let Some(k) = k
        && (k == 0 || (all_rows && k > given.n()))
    {
        return Err(Error::K { k, rows: given.n() });
    }
    let (chunklets, conflicts) = given.close_lenient(0.0)?;
    // The smallest k is advice: it gets less time than the verdict that was asked for.
    let options = FeasibleOptions { exact_k: all_rows, ..FeasibleOptions::default() };
    let advice = FeasibleOptions { time_limit: Duration::from_secs(2), ..options };
    // The cannot-links that contradict a chain are not in the graph, so this speaks of the rest.
    let verdict = k.map(|k| (k, feasible(&chunklets, k, &options)));
    let few = chunklets.graph().edge_count() <= MOST_LINKS;
    let smallest = few.then(|| smallest_k(&chunklets, &advice));
    let mut found = Check { chunklets, conflicts, verdict, smallest, repair: None };
    if mend && !found.possible() {
        let options = RepairOptions { treat_hard_as: Some(1.0), ..RepairOptions::default() };
        found.repair = Some(repair(given, k, &options)?);
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::constraints::Kind;

    #[test]
    fn rows_that_are_not_named_may_fill_the_other_clusters() {
        let mut given = ConstraintSet::new(3);
        given.add_pair(Kind::MustLink, 0, 1).unwrap();
        given.add_pair(Kind::CannotLink, 1, 2).unwrap();
        assert!(!check(&given, Some(3), true, true).unwrap().possible());
        assert!(check(&given, Some(3), true, false).unwrap().possible());
        assert!(check(&given, Some(9), true, false).unwrap().possible());
        assert!(!check(&given, Some(1), true, false).unwrap().possible());
        assert!(check(&given, Some(9), true, true).is_err());
    }
}
