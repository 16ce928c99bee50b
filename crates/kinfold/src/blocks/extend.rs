//! From a fit on a sample to all rows in linear time. Clusters of nearest centres: the sample's centres start k-means on
//! all rows in the same space, free rows in one fused pass, constrained ones by exact assignment. Curved clusters: every
//! row takes the cluster of its nearest sample row, chunklets the cheapest clusters by the votes of their rows that keep
//! every cannot-link. Cost O(n·k·dims) per iteration, or O(n·sample·dims) once; memory one transformed copy of the rows.

use super::assign::Assigner;
use super::candidates::Fitted;
use super::linalg::project;
use super::lloyd::{Exact, Limits, assign_nearest, lloyd};
use super::means::means;
use super::represent::Base;
use super::seeding;
use super::units::{FREE, Units};
use crate::constraints::Chunklets;
use crate::context::{RunContext, Termination};
use crate::data::{Dataset, Float, Matrix, Scale, Table, Transform};
use crate::error::{Error, Result};

/// The rows in a space, with their weights; no copy of them where the space is only another scale.
pub struct Moved<'a, F> {
    table: Option<Table<F>>,
    rows: &'a Dataset<'a, F>,
    scale: Option<Scale<'a>>,
}

impl<'a, F: Float> Moved<'a, F> {
    /// Applies `transform`; the identity costs nothing.
    pub fn new(rows: &'a Dataset<'a, F>, transform: &'a Transform) -> Result<Moved<'a, F>> {
        let scale = transform.as_scale().filter(|_| !rows.is_sparse());
        let table = if scale.is_some() || transform.is_identity() { None } else { Some(transform.apply(rows)?) };
        Ok(Moved { table, rows, scale })
    }
    /// The rows there.
    pub fn view(&self) -> Result<Dataset<'_, F>> {
        match (&self.table, self.rows.weights(), self.scale) {
            (None, _, None) => Ok(*self.rows),
            (None, _, Some(scale)) => Ok(self.rows.on_scale(scale)),
            (Some(table), None, _) => table.view(),
            (Some(table), Some(weights), _) => table.view()?.with_weights(weights),
        }
    }
}

/// Labels of all rows and how the search for them ended.
pub struct Extended {
    /// Cluster of every row.
    pub labels: Vec<u32>,
    /// How it ended.
    pub termination: Termination,
    /// Iterations.
    pub iterations: usize,
}

/// Constrained k-means of all rows in a space, from seeds: heavy chunklets that are apart, the rest by D².
pub fn constrained_kmeans<F: Float>(
    ctx: &RunContext,
    data: &Dataset<'_, F>,
    chunklets: &Chunklets,
    k: usize,
    restarts: usize,
    limits: Limits,
) -> Result<Extended> {
    let units = Units::new(data, chunklets);
    let outcome = super::restarts::best_of(ctx, restarts, data.n() * data.dims(), |ctx, r| {
        let mut rng = ctx.rng("first", r);
        let chosen = seeding::heavy_and_apart(&units, k, r > 0, &mut rng);
        let centres = seeding::kmeans_plus_plus(&ctx.pool, &units, k, chosen, true, &mut rng);
        lloyd(ctx, &units, centres, limits, &mut Exact::quick(&units, k))
    })?;
    Ok(Extended { iterations: outcome.trace.len(), labels: outcome.labels, termination: outcome.termination })
}

/// From the original rows to the space of a fit: the base, its columns that vary, the map learned there.
fn way(base: &Base, fitted: &Fitted) -> Transform {
    if fitted.map.is_none() && base.kept.len() == base.width {
        return base.transform.clone();
    }
    let identity = Matrix::identity(base.kept.len());
    let map = fitted.map.as_ref().unwrap_or(&identity);
    let mut matrix = Matrix::zeros(base.width, map.rows());
    for (column, &j) in base.kept.iter().enumerate() {
        let row = matrix.row_mut(j);
        (0..map.rows()).for_each(|r| row[r] = map.row(r)[column]);
    }
    // Scaling and map in one step: one copy of the rows instead of two.
    if let Transform::Diagonal { shift, factor } = &base.transform {
        for (j, f) in factor.iter().enumerate() {
            matrix.row_mut(j).iter_mut().for_each(|v| *v *= f);
        }
        return Transform::Linear { shift: shift.clone(), matrix };
    }
    base.transform.clone().then(Transform::Linear { shift: Vec::new(), matrix })
}

/// A fit on sample rows, by which others are labelled.
pub struct Pattern {
    /// From the original rows to the space of the fit.
    way: Transform,
    /// Centres of clusters, or all sample rows for curved ones.
    points: Matrix,
    /// Cluster of each point; empty for centres, which are their own.
    labels: Vec<u32>,
}

impl Pattern {
    /// Of a fit to the rows of `base.x`, labelled so; `linear`: are clusters those of nearest centres?
    pub fn new(base: &Base, fitted: &Fitted, labels: Vec<u32>, k: usize, linear: bool) -> Pattern {
        let x = fitted.map.as_ref().map_or_else(|| base.x.clone(), |map| project(&base.x, map));
        let way = way(base, fitted);
        if !linear {
            return Pattern { way, points: x, labels };
        }
        let (centres, _) = means(&Dataset::dense_trusted(x.values(), x.cols()), &labels, k);
        Pattern { way, points: centres, labels: Vec::new() }
    }

    /// The cluster of every row by itself, in the space of the fit.
    fn nearest<F: Float>(&self, ctx: &RunContext, moved: &Dataset<'_, F>) -> Vec<u32> {
        let mut found = assign_nearest(ctx, moved, &self.points);
        if !self.labels.is_empty() {
            found.iter_mut().for_each(|at| *at = self.labels[*at as usize]);
        }
        found
    }

    /// The cluster of every row by itself.
    pub fn labels<F: Float>(&self, ctx: &RunContext, data: &Dataset<'_, F>) -> Result<Vec<u32>> {
        Ok(self.nearest(ctx, &Moved::new(data, &self.way)?.view()?))
    }
}

/// Extends a fit to all rows.
pub fn to_all_rows<F: Float>(
    ctx: &RunContext,
    data: &Dataset<'_, F>,
    chunklets: &Chunklets,
    k: usize,
    pattern: &Pattern,
    limits: Limits,
) -> Result<Extended> {
    let moved = Moved::new(data, &pattern.way)?;
    let rows = moved.view()?;
    let units = Units::new(&rows, chunklets);
    if pattern.labels.is_empty() {
        let outcome = lloyd(ctx, &units, pattern.points.clone(), limits, &mut Exact::quick(&units, k))?;
        return Ok(Extended {
            iterations: outcome.trace.len(),
            labels: outcome.labels,
            termination: outcome.termination,
        });
    }
    let mut labels = pattern.nearest(ctx, &rows);
    let mut costs = vec![0.0; units.bound() * k];
    for (row, &label) in labels.iter().enumerate() {
        let unit = units.unit_of(row);
        if unit != FREE {
            costs[unit as usize * k + label as usize] -= rows.weight(row);
        }
    }
    let mut placed = vec![0; units.bound()];
    Assigner::new(&units.graph, k)
        .quick()
        .assign(ctx, &costs, None, &mut placed)
        .map_err(|stuck| Error::DeadEnd(stuck.to_string()))?;
    units.spread(&placed, &mut labels);
    let termination = ctx.checkpoint().map_or_else(Into::into, |()| Termination::Converged);
    Ok(Extended { labels, termination, iterations: 1 })
}
