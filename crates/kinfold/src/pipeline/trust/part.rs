//! The rows at which constraints are judged: all that are constrained and a sample of the others, with what is said about
//! them.

use super::evidence::Distrusted;
use super::{MOST_BOUND, pairs_that_count};
use crate::constraints::ConstraintSet;
use crate::context::RunContext;
use crate::data::{Dataset, Float, Scaling, Table, Transform};
use crate::error::Result;

/// At least this part of the rows is taken from those that no constraint names.
const LEAST_FREE: f64 = 0.4;

/// Rows, and where they are judged.
#[derive(Clone, Copy)]
pub(super) struct View<'a, F> {
    /// As the method gets them.
    pub rows: Dataset<'a, F>,
    /// What was done to them; `None`: the method chooses a space by itself.
    pub scaling: Option<Scaling>,
    /// In the space in which constraints are judged.
    pub judged: Dataset<'a, F>,
}

/// All rows, and the space in which constraints about them are judged: as given, or when the method chooses by itself
/// standardised, for sparse rows tf-idf where they are counts.
pub(super) struct Space<'a, F> {
    pub(super) data: &'a Dataset<'a, F>,
    scaling: Option<Scaling>,
    pub(super) transform: Transform,
}

impl<'a, F: Float> Space<'a, F> {
    pub(super) fn new(data: &'a Dataset<'a, F>, scaling: Option<Scaling>) -> Result<Space<'a, F>> {
        let transform = match (scaling, data.is_sparse()) {
            (Some(_), _) => Transform::Identity,
            (None, false) => Scaling::Standard.fit(data)?,
            (None, true) => Scaling::TfIdf.fit(data).unwrap_or_default(),
        };
        Ok(Space { data, scaling, transform })
    }
}

/// Some rows and what is said about them.
pub(super) struct Part<F> {
    pub(super) rows: Vec<usize>,
    scaling: Option<Scaling>,
    table: Table<F>,
    judged: Option<Table<F>>,
    weights: Option<Vec<f64>>,
    pub(super) given: ConstraintSet,
}

impl<F: Float> Part<F> {
    pub(super) fn new(space: &Space<'_, F>, given: &ConstraintSet, rows: Vec<usize>) -> Result<Part<F>> {
        let data = space.data;
        let weights = data.weights().map(|w| rows.iter().map(|&i| w[i]).collect());
        let table = Table::select(data, &rows);
        let moved = !space.transform.is_identity();
        let judged = moved.then(|| space.transform.apply(&table.lend())).transpose()?;
        Ok(Part { scaling: space.scaling, table, judged, weights, given: localised(given, &rows)?, rows })
    }
    pub(super) fn view(&self) -> Result<View<'_, F>> {
        let rows = self.weighed(&self.table)?;
        let judged = self.judged.as_ref().map_or(Ok(rows), |table| self.weighed(table))?;
        Ok(View { rows, scaling: self.scaling, judged })
    }
    fn weighed<'a>(&'a self, table: &'a Table<F>) -> Result<Dataset<'a, F>> {
        match &self.weights {
            Some(w) => table.lend().with_weights(w),
            None => Ok(table.lend()),
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

/// Which rows to look at: about `most`, all that are constrained among them; `None` when these are too many.
pub(super) fn sample<F: Float>(
    ctx: &RunContext,
    data: &Dataset<'_, F>,
    given: &ConstraintSet,
    most: usize,
) -> Option<Vec<usize>> {
    let n = data.n();
    if n <= most {
        return Some((0..n).collect());
    }
    let bound = constrained(n, given);
    let count = bound.iter().filter(|b| **b).count();
    if count > MOST_BOUND {
        return None;
    }
    let free: Vec<usize> = (0..n).filter(|&i| !bound[i]).collect();
    let wanted = most.saturating_sub(count).max((LEAST_FREE * most as f64) as usize);
    let mut rows: Vec<usize> = (0..n).filter(|&i| bound[i]).collect();
    rows.extend(ctx.rng("trust-sample", 0).sample(free.len(), wanted).into_iter().map(|i| free[i]));
    rows.sort_unstable();
    Some(rows)
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
