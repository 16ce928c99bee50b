//! The k-means iteration shared by every method with centres: rows to their nearest centre (`passes`), bound units
//! wherever `place` puts them, which most rules need to know only where nearest centres clash; centres to the means. With an exact `place` the cost never rises; a
//! placement that says it is not monotone runs until labels repeat or nothing better comes, and the best labelling it met is kept.
//! Empty clusters are reseeded at the unit farthest from its centre, which breaks no cannot-link.
//! Cost per iteration O(n·k·dims) plus `place`; chunks are fixed by n, k and dims, so results do not depend on threads.

use std::hash::{Hash, Hasher};

use super::assign::Assigner;
use super::clashes::Clashes;
use super::mend::{self, Mend};
use super::passes::Passes;
use super::sizes::{Bounds, assign_sized};
use super::unit_sums::UnitSums;
use super::units::{FREE, Units};
use crate::constraints::Graph;
use crate::context::{RunContext, Termination};
use crate::data::{Dataset, Float, Matrix};
use crate::error::{Error, Result};
use crate::kernels::{Centres, Sums};

/// When to stop.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// Iterations at most.
    pub max_iter: usize,
    /// Relative fall of the cost below which it has converged.
    pub tolerance: f64,
}

/// What one start led to.
#[derive(Debug, Clone)]
pub struct Outcome {
    /// Cluster of every row.
    pub labels: Vec<u32>,
    /// Means of the clusters.
    pub centres: Matrix,
    /// Cost after each assignment, scatter included.
    pub trace: Vec<f64>,
    /// How it ended.
    pub termination: Termination,
    /// Did every placement prove that it was the best for its centres?
    pub exact: bool,
}

impl Outcome {
    /// Cost of the labelling.
    pub fn cost(&self) -> f64 {
        self.trace.last().copied().unwrap_or(f64::INFINITY)
    }
}

/// Where the bound units go, given weight · distance² to every centre (row-major) and where they were.
pub trait Place {
    /// Writes a cluster for every unit; `true` when that is provably the cheapest.
    fn place(
        &mut self,
        ctx: &RunContext,
        costs: &[f64],
        k: usize,
        previous: Option<&[u32]>,
        out: &mut [u32],
    ) -> Result<bool>;

    /// Told the centres before each placement, for rules that look at more than the costs of the units.
    fn look(&mut self, _ctx: &RunContext, _centres: &Matrix) {}

    /// Does the cost never rise from one placement to the next?
    fn monotone(&self) -> bool {
        true
    }

    /// Cannot-links between units that the last placement broke.
    fn broken(&self) -> usize {
        0
    }
    /// Does it keep bounds on cluster sizes, so that empty clusters must not be filled by others?
    fn keeps_sizes(&self) -> bool {
        false
    }
    /// What the last placement costs beside the distances.
    fn penalty(&self) -> f64 {
        0.0
    }
    /// May a unit move alone to an empty cluster, which saves `gain` of the distances?
    fn may_leave(&self, _unit: usize, _to: u32, _gain: f64) -> bool {
        true
    }
    /// Adds to the sums and weights of which the next centres are made; `true` when that is its way, so that a labelling
    /// is judged by the centres it was made for.
    fn pull(&self, _centres: &Matrix, _sums: &mut Matrix, _weights: &mut [f64]) -> bool {
        false
    }

    /// Whom it must place.
    fn needs(&self) -> Needs {
        Needs::All
    }
    /// Where `needs` is not all: places the clashing units, the others are at their nearest centre in `out` already.
    fn place_clashing(
        &mut self,
        _ctx: &RunContext,
        _clashing: &Clashing<'_>,
        _previous: Option<&[u32]>,
        _out: &mut [u32],
    ) -> Result<bool> {
        Ok(true)
    }
}

/// Which units a placement is asked about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Needs {
    /// All units: the costs of each decide.
    All,
    /// Components of the cannot-link graph in which nearest centres clash; elsewhere every unit takes its nearest.
    Clashing,
    /// The same, and any cheapest labels will do, so that it need not see what can be mended without it.
    Cheapest,
    /// None: every unit takes its nearest centre.
    Nobody,
}

/// The units of components in which two cannot-linked units have the same nearest centre.
pub struct Clashing<'a> {
    /// Number of clusters.
    pub k: usize,
    /// The units, ascending.
    pub units: &'a [u32],
    /// Their costs, row-major.
    pub costs: &'a [f64],
    /// Unit → its row in `costs`, `FREE` for the others.
    pub row_of: &'a [u32],
}

impl Clashing<'_> {
    /// The costs of a unit that is among them.
    pub fn row(&self, unit: u32) -> &[f64] {
        let at = self.row_of[unit as usize] as usize;
        &self.costs[at * self.k..(at + 1) * self.k]
    }
}

/// Each unit to its nearest centre, whatever the cannot-links say.
pub struct Nearest;

impl Place for Nearest {
    fn place(&mut self, _: &RunContext, costs: &[f64], k: usize, _: Option<&[u32]>, out: &mut [u32]) -> Result<bool> {
        for (label, row) in out.iter_mut().zip(costs.chunks_exact(k)) {
            *label = cheapest(row);
        }
        Ok(true)
    }
    fn needs(&self) -> Needs {
        Needs::Nobody
    }
}

/// Bound units by exact assignment: the cheapest clusters that keep every cannot-link between them.
pub struct Exact<'a> {
    graph: &'a Graph,
    k: usize,
    quick: bool,
    /// Made when something clashes that is not mended where it is.
    assigner: Option<Assigner>,
}

impl<'a> Exact<'a> {
    /// For the cannot-links of the units and `k` clusters.
    pub fn new<F: Float>(units: &'a Units<'_, F>, k: usize) -> Exact<'a> {
        Exact { graph: &units.graph, k, quick: false, assigner: None }
    }
    /// The same without proofs where those would take long.
    pub fn quick<F: Float>(units: &'a Units<'_, F>, k: usize) -> Exact<'a> {
        Exact { quick: true, ..Exact::new(units, k) }
    }

    fn assigner(&mut self) -> &mut Assigner {
        self.assigner.get_or_insert_with(|| {
            let assigner = Assigner::new(self.graph, self.k);
            if self.quick { assigner.quick() } else { assigner }
        })
    }
}

/// All units by assignment within bounds on the number of rows of every cluster, cannot-links kept.
/// For [`Units::all`]: free rows count too.
pub struct Sized {
    assigner: Assigner,
    rows: Vec<u64>,
    bounds: Bounds,
}

impl Sized {
    /// Prepares the cannot-links and the bounds for `k` clusters.
    pub fn new<F: Float>(units: &Units<'_, F>, k: usize, bounds: Bounds) -> Sized {
        let rows = (0..units.bound()).map(|u| units.members(u).len() as u64).collect();
        Sized { assigner: Assigner::new(&units.graph, k), rows, bounds }
    }
}

impl Place for Sized {
    fn place(
        &mut self,
        ctx: &RunContext,
        costs: &[f64],
        _: usize,
        previous: Option<&[u32]>,
        out: &mut [u32],
    ) -> Result<bool> {
        let placed = assign_sized(ctx, &mut self.assigner, costs, &self.rows, &self.bounds, previous, out);
        Ok(placed.map_err(|stuck| Error::Sizes(stuck.why))?.exact)
    }

    fn keeps_sizes(&self) -> bool {
        true
    }
}

impl Place for Exact<'_> {
    fn place(
        &mut self,
        ctx: &RunContext,
        costs: &[f64],
        k: usize,
        previous: Option<&[u32]>,
        out: &mut [u32],
    ) -> Result<bool> {
        debug_assert_eq!(k, self.k);
        Ok(self.assigner().assign(ctx, costs, previous, out).map_err(|stuck| Error::DeadEnd(stuck.to_string()))?.exact)
    }
    fn needs(&self) -> Needs {
        Needs::Cheapest
    }
    fn place_clashing(
        &mut self,
        ctx: &RunContext,
        clashing: &Clashing<'_>,
        previous: Option<&[u32]>,
        out: &mut [u32],
    ) -> Result<bool> {
        let placed = self.assigner().assign_some(ctx, clashing.costs, (clashing.units, clashing.row_of), previous, out);
        Ok(placed.map_err(|stuck| Error::DeadEnd(stuck.to_string()))?.exact)
    }
}

/// The position of the smallest value, the first of equals.
pub fn cheapest(row: &[f64]) -> u32 {
    let mut best = 0;
    for (c, value) in row.iter().enumerate() {
        if *value < row[best] {
            best = c;
        }
    }
    best as u32
}

/// Iterates from `centres` until nothing changes.
pub fn lloyd<F: Float>(
    ctx: &RunContext,
    units: &Units<'_, F>,
    mut centres: Matrix,
    limits: Limits,
    place: &mut dyn Place,
) -> Result<Outcome> {
    let (n, k, m) = (units.data.n(), centres.rows(), units.bound());
    let mut labels = vec![0u32; n];
    let mut unit_labels = vec![0u32; m];
    let mut previous_units: Option<Vec<u32>> = None;
    let mut trace: Vec<f64> = Vec::new();
    let mut termination = Termination::MaxIterations;
    let mut exact = true;
    let steady = m == 0 || place.monotone();
    let mut wander = Wander::default();
    let needs = if m == 0 { Needs::Nobody } else { place.needs() };
    let mut clashes = matches!(needs, Needs::Clashing | Needs::Cheapest).then(|| Clashes::new(units));
    let mut mend = (needs == Needs::Cheapest && k >= mend::FEWEST_CLUSTERS).then(Mend::default);
    let mut passes = Passes::new(units.data, units.free_rows(), k);
    let mut unit_sums = UnitSums::new(units, k);
    let points = units.points();
    let (mut unit_passes, mut nearest) = (Passes::new(&points, None, k), vec![0u32; m]);
    for iteration in 0..limits.max_iter.max(1) {
        let look = needs != Needs::All && m > 0;
        let (rows_changed, _) = ctx.pool.both(
            || passes.step(&ctx.pool, &centres, &mut labels),
            || look.then(|| unit_passes.step(&ctx.pool, &centres, &mut nearest)),
        );
        if look {
            unit_labels.copy_from_slice(&nearest);
        }
        let mut changed = rows_changed > 0;
        let mut sums = passes.sums.clone();
        if m > 0 {
            let proven = match &mut clashes {
                None if needs == Needs::All => {
                    let costs = units.costs(&ctx.pool, &centres);
                    place.look(ctx, &centres);
                    place.place(ctx, &costs, k, previous_units.as_deref(), &mut unit_labels)?
                }
                None => true,
                Some(clashes) => {
                    let clash = clashes.find(&ctx.pool, &unit_labels);
                    let previous = previous_units.as_deref();
                    let (left, mended) = match &mut mend {
                        Some(mend) => mend.settle(ctx, units, &centres, &clash, previous, &mut unit_labels),
                        None => (clash.into_iter().map(|c| c.0).collect(), true),
                    };
                    clashes.gather(left);
                    if mend.is_some() && clashes.units.is_empty() {
                        mended
                    } else {
                        let costs = units.costs_of(&ctx.pool, &centres, &clashes.units);
                        let clashing = Clashing { k, units: &clashes.units, costs: &costs, row_of: &clashes.row_of };
                        place.place_clashing(ctx, &clashing, previous, &mut unit_labels)? && mended
                    }
                }
            };
            exact &= proven;
            unit_sums.add_to(&ctx.pool, units, &unit_labels, &mut sums);
            changed |= previous_units.as_ref() != Some(&unit_labels);
            previous_units.get_or_insert_default().clone_from(&unit_labels);
        }
        let label = |row: usize| match units.unit_of(row) {
            FREE => labels[row],
            unit => unit_labels[unit as usize],
        };
        let penalty = if m > 0 { place.penalty() } else { 0.0 };
        let cost = units.cost(&ctx.pool, &centres, &sums, label) + penalty;
        let last = trace.last().copied().unwrap_or(f64::INFINITY);
        trace.push(cost);
        let reseeded = !place.keeps_sizes()
            && reseed_where(units, &centres, (&mut labels, &mut unit_labels), &mut sums, &|unit, to, gain| {
                place.may_leave(unit, to, gain)
            });
        if reseeded {
            passes.forget();
            previous_units = (m > 0).then(|| unit_labels.clone());
        }
        let pulled = m > 0 && place.pull(&centres, &mut sums.values, &mut sums.weights);
        let before = pulled.then(|| centres.clone());
        let saved = to_means(&mut centres, &sums);
        if !steady {
            // Around the new means the same labels cost less by what the centres moved.
            let cost = match (reseeded, pulled) {
                (true, _) => f64::INFINITY,
                (_, true) => cost,
                _ => cost - saved,
            };
            wander.consider(place.broken(), cost, &labels, &unit_labels, before.as_ref().unwrap_or(&centres));
            if wander.is_over(&labels, &unit_labels) {
                termination = Termination::Converged;
                break;
            }
        } else if !reseeded && iteration > 0 {
            let fell = last - cost;
            if !changed || fell <= limits.tolerance * last.abs() {
                termination = Termination::Converged;
                break;
            }
        }
        if let Err(stop) = ctx.checkpoint() {
            termination = stop.into();
            break;
        }
    }
    if let Some(best) = wander.best {
        trace.extend(best.cost.is_finite().then_some(best.cost));
        (labels, unit_labels, centres) = (best.labels, best.unit_labels, best.centres);
    }
    units.spread(&unit_labels, &mut labels);
    Ok(Outcome { labels, centres, trace, termination, exact })
}

/// Labellings that kept turning up: the best one, and a short memory to see that they repeat.
#[derive(Default)]
struct Wander {
    best: Option<Best>,
    seen: std::collections::VecDeque<u64>,
    idle: usize,
}

struct Best {
    broken: usize,
    cost: f64,
    labels: Vec<u32>,
    unit_labels: Vec<u32>,
    centres: Matrix,
}

impl Wander {
    /// Labellings remembered, and iterations without a better one before it ends.
    const MEMORY: usize = 20;

    fn consider(&mut self, broken: usize, cost: f64, labels: &[u32], unit_labels: &[u32], centres: &Matrix) {
        if self.best.as_ref().is_none_or(|b| (broken, cost) < (b.broken, b.cost)) {
            let (labels, unit_labels) = (labels.to_vec(), unit_labels.to_vec());
            self.best = Some(Best { broken, cost, labels, unit_labels, centres: centres.clone() });
            self.idle = 0;
        } else {
            self.idle += 1;
        }
    }

    /// Have these labels been seen a short while ago, or does nothing better turn up?
    fn is_over(&mut self, labels: &[u32], unit_labels: &[u32]) -> bool {
        let mut hasher = rustc_hash::FxHasher::default();
        (labels, unit_labels).hash(&mut hasher);
        let hash = hasher.finish();
        let again = self.seen.contains(&hash);
        self.seen.push_back(hash);
        if self.seen.len() > Self::MEMORY {
            self.seen.pop_front();
        }
        again || self.idle >= Self::MEMORY
    }
}

/// Moves the centres of clusters that have weight to their means; the cost that this saves, Σ weight · ‖shift‖².
pub(crate) fn to_means(centres: &mut Matrix, sums: &Sums) -> f64 {
    let mut saved = 0.0;
    for (c, &weight) in sums.weights.iter().enumerate().filter(|(_, w)| **w > 0.0) {
        let inverse = 1.0 / weight;
        for (centre, sum) in centres.row_mut(c).iter_mut().zip(sums.values.row(c)) {
            let mean = sum * inverse;
            saved += weight * (*centre - mean) * (*centre - mean);
            *centre = mean;
        }
    }
    saved
}

/// Gives every empty cluster the unit that is farthest from its centre, if any is off its centre and leaves company
/// behind. An empty cluster cannot break a cannot-link.
pub(crate) fn reseed<F: Float>(
    units: &Units<'_, F>,
    centres: &Matrix,
    labels: &mut [u32],
    unit_labels: &mut [u32],
    sums: &mut Sums,
) -> bool {
    reseed_where(units, centres, (labels, unit_labels), sums, &|_, _, _| true)
}

/// [`reseed`] by units that `may` leave for an empty cluster at this gain.
fn reseed_where<F: Float>(
    units: &Units<'_, F>,
    centres: &Matrix,
    (labels, unit_labels): (&mut [u32], &mut [u32]),
    sums: &mut Sums,
    may: &dyn Fn(usize, u32, f64) -> bool,
) -> bool {
    let k = centres.rows();
    let Sums { values: sums, weights } = sums;
    let empty: Vec<usize> = (0..k).filter(|&c| weights[c] == 0.0).collect();
    if empty.is_empty() {
        return false;
    }
    let data = units.data;
    let mut company = vec![0usize; k];
    let mut distance: Vec<f64> = vec![0.0; data.n()];
    for (row, d) in distance.iter_mut().enumerate() {
        if units.unit_of(row) == FREE {
            let c = labels[row] as usize;
            company[c] += 1;
            *d = data.weight(row) * data.distance2(row, centres.row(c));
        }
    }
    unit_labels.iter().for_each(|&c| company[c as usize] += 1);
    let points = units.points();
    let unit_cost = |(u, &c): (usize, &u32)| units.weight[u] * points.distance2(u, centres.row(c as usize));
    let mut unit_cost: Vec<f64> = unit_labels.iter().enumerate().map(unit_cost).collect();
    let mut moved = false;
    for target in empty {
        let far_row = (0..data.n())
            .filter(|&r| distance[r] > 0.0 && company[labels[r] as usize] > 1)
            .max_by(|&a, &b| distance[a].total_cmp(&distance[b]).then(b.cmp(&a)));
        let far_unit = (0..unit_cost.len())
            .filter(|&u| unit_cost[u] > 0.0 && company[unit_labels[u] as usize] > 1)
            .filter(|&u| may(u, target as u32, unit_cost[u]))
            .max_by(|&a, &b| unit_cost[a].total_cmp(&unit_cost[b]).then(b.cmp(&a)));
        let row_is_farther = match (far_row, far_unit) {
            (Some(r), Some(u)) => distance[r] >= unit_cost[u],
            (row, _) => row.is_some(),
        };
        let mut shift = |from: usize, points: &dyn Fn(f64, &mut [f64]), w: f64| {
            points(-w, sums.row_mut(from));
            points(w, sums.row_mut(target));
            weights[from] -= w;
            weights[target] += w;
            company[from] -= 1;
            company[target] += 1;
            moved = true;
        };
        if let (true, Some(r)) = (row_is_farther, far_row) {
            shift(labels[r] as usize, &|w, out| data.add_row(r, w, out), data.weight(r));
            labels[r] = target as u32;
            distance[r] = 0.0;
        } else if let Some(u) = far_unit {
            shift(unit_labels[u] as usize, &|w, out| points.add_row(u, w, out), units.weight[u]);
            unit_labels[u] = target as u32;
            unit_cost[u] = 0.0;
        }
    }
    moved
}

/// The nearest centre of every row, for new rows.
pub fn assign_nearest<F: Float>(ctx: &RunContext, data: &Dataset<'_, F>, centres: &Matrix) -> Vec<u32> {
    let prepared = Centres::<F>::new(centres, data);
    let mut labels = vec![0u32; data.n()];
    ctx.pool.map_chunks_mut(&mut labels, 16_384, |start, labels| {
        let mut distances = vec![F::default(); labels.len()];
        prepared.nearest(data, start, labels, &mut distances);
    });
    labels
}
