//! The rows at which constraints are judged: all that are constrained and a sample of the others, with what is said about
//! them.

use super::evidence::Distrusted;
use super::{MOST_BOUND, pairs_that_count};
use crate::constraints::ConstraintSet;
use crate::context::RunContext;
use crate::data::{Dataset, Float, Table};
use crate::error::Result;

/// At least this part of the rows is taken from those that no constraint names.
const LEAST_FREE: f64 = 0.4;

/// Some rows and what is said about them.
pub(super) struct Part<F> {
    pub(super) rows: Vec<usize>,
    table: Table<F>,
    weights: Option<Vec<f64>>,
    pub(super) given: ConstraintSet,
}

impl<F: Float> Part<F> {
    pub(super) fn new(data: &Dataset<'_, F>, given: &ConstraintSet, rows: Vec<usize>) -> Result<Part<F>> {
        let weights = data.weights().map(|w| rows.iter().map(|&i| w[i]).collect());
        Ok(Part { table: Table::select(data, &rows), weights, given: localised(given, &rows)?, rows })
    }
    pub(super) fn view(&self) -> Result<Dataset<'_, F>> {
        match &self.weights {
            Some(w) => self.table.lend().with_weights(w),
            None => Ok(self.table.lend()),
        }
    }
    /// From numbers of rows here to those of all rows.
    pub(super) fn to_all(&self, distrusted: &mut [Distrusted]) {
        for d in distrusted {
            (d.a, d.b) = (self.rows[d.a as usize] as u32, self.rows[d.b as usize] as u32);
        }
    }
}

/// Rows about which something is said.
pub(super) fn constrained(n: usize, given: &ConstraintSet) -> Vec<bool> {
    let mut bound = vec![false; n];
    pairs_that_count(given).for_each(|(_, p)| {
        bound[p.a as usize] = true;
        bound[p.b as usize] = true;
    });
    given.sets().iter().for_each(|s| s.members.iter().for_each(|&row| bound[row as usize] = true));
    given.labels().iter().for_each(|l| l.rows.iter().for_each(|&(row, _)| bound[row as usize] = true));
    bound
}

/// Which rows to look at.
pub(super) enum Sample {
    All,
    Some(Vec<usize>),
    TooMany,
}

pub(super) fn sample<F: Float>(
    ctx: &RunContext,
    data: &Dataset<'_, F>,
    given: &ConstraintSet,
    most: usize,
) -> Result<Sample> {
    let n = data.n();
    if n <= most {
        // Rows on another scale must be copied to be looked at.
        let stored = data.stored().1.is_none();
        return Ok(if stored { Sample::All } else { Sample::Some((0..n).collect()) });
    }
    let bound = constrained(n, given);
    let count = bound.iter().filter(|b| **b).count();
    if count > MOST_BOUND {
        return Ok(Sample::TooMany);
    }
    let free: Vec<usize> = (0..n).filter(|&i| !bound[i]).collect();
    let wanted = most.saturating_sub(count).max((LEAST_FREE * most as f64) as usize);
    let mut rows: Vec<usize> = (0..n).filter(|&i| bound[i]).collect();
    rows.extend(ctx.rng("trust-sample", 0).sample(free.len(), wanted).into_iter().map(|i| free[i]));
    rows.sort_unstable();
    Ok(Sample::Some(rows))
}

/// The same constraints, in the same order, on some rows only; every constrained row is among them.
pub(super) fn localised(given: &ConstraintSet, rows: &[usize]) -> Result<ConstraintSet> {
    let mut place = vec![0usize; given.n()];
    rows.iter().enumerate().for_each(|(at, &row)| place[row] = at);
    let mut out = ConstraintSet::new(rows.len());
    for p in given.pairs() {
        // Pairs without weight may be on rows that are not there; they say nothing.
        let ends = if p.weight > 0.0 { (place[p.a as usize], place[p.b as usize]) } else { (0, 0) };
        out.add_weighted_pair(p.kind, ends.0, ends.1, p.weight, Default::default())?;
    }
    for s in given.sets() {
        let members: Vec<usize> = s.members.iter().map(|&row| place[row as usize]).collect();
        out.add_set(s.kind, &members, s.weight, Default::default())?;
    }
    for l in given.labels() {
        let rows: Vec<(usize, u32)> = l.rows.iter().map(|&(row, label)| (place[row as usize], label)).collect();
        out.add_labels(&rows, l.names.clone(), Vec::new(), l.weight, Default::default())?;
    }
    Ok(out)
}
