//! Lagrangian constrained clustering (Ganji, Bailey, Stuckey 2016, Figure 1). Minimises Σ w‖X − c‖² + Σ λ·viol over
//! chunklets X: a cannot-linked pair that meets in a cluster stays violated while λ ≤ 1 (then λ grows by α and the pair
//! pulls its second nearest centre, eq. 3.4) and afterwards the one that is cheaper to move goes to its second nearest
//! centre. Best by (violations, cost). Departs from the paper: λ0 = 1 (not given there), a random order, D² seeding, a
//! full count of violations, swaps that save cost are always made, an end when sweeps change nothing, and (`repair`) the
//! best labelling is repaired by exact assignment and iterated to convergence, so no feasible constraint stays broken.
//! Cost per sweep O(n·k·dims + cannot-links); distances beyond the nearest are computed for clashing pairs only.

use super::{Clustering, Info, Listens, Method, Problem};
use crate::blocks::clashes::Clashes;
use crate::blocks::lloyd::{self, Exact, Limits, Nearest, Outcome, lloyd};
use crate::blocks::means;
use crate::blocks::par::Pool;
use crate::blocks::passes::Passes;
use crate::blocks::restarts;
use crate::blocks::seeding;
use crate::blocks::unit_sums::UnitSums;
use crate::blocks::units::{CostRows, FREE, Units};
use crate::context::{RunContext, Termination};
use crate::data::{Float, Matrix};
use crate::error::{Error, Result};
use crate::rng::Rng;

crate::choice! {
    /// Where the first centres come from.
    pub enum Init {
        /// D² sampling, best of a few draws each.
        GreedyKmeansPlusPlus = "greedy-kmeans++",
        /// D² sampling.
        KmeansPlusPlus = "kmeans++",
        /// Means of a random assignment, as in the paper.
        RandomAssignment = "random-assignment",
    }
}

crate::choice! {
    /// In which order chunklets are placed.
    pub enum SweepOrder {
        /// By first row, as in the paper.
        Index = "index",
        /// A new random order in each sweep.
        Random = "random",
    }
}

crate::params! {
    /// Parameters of `lcc`.
    pub struct LccParams {
        /// Independent starts, of which the one with the fewest violations, then the cheapest wins; 0 suits the number
        /// to the data.
        restarts: usize = 0, 0 => 10_000;
        /// Sweeps per start at most.
        sweeps: usize = 100, 1 => 1_000_000;
        /// Sweeps without a better labelling before a start ends.
        patience: usize = 25, 1 => 1_000_000;
        /// First value of every multiplier.
        lambda: f64 = 1.0, 1e-6 => 1.0;
        /// Growth of the multiplier of a pair that stays violated.
        alpha: f64 = 2.0, 1.000001 => 1e6;
        /// Starting centres.
        init: Init = Init::GreedyKmeansPlusPlus;
        /// In which order chunklets are placed.
        order: SweepOrder = SweepOrder::Random;
        /// Mend what is still violated by exact assignment, then iterate to convergence.
        repair: bool = true;
        /// Iterations after the repair at most.
        max_iter: usize = 300, 1 => 1_000_000;
    }
}

/// Sweeps in a row that change nothing, each in its own order, before a start ends.
const CALM: usize = 3;
/// Multipliers grow no further.
const MOST: f64 = 1e6;

/// See the module.
pub struct Lcc(LccParams);

/// What one start led to.
struct Start {
    broken: usize,
    outcome: Outcome,
    note: Option<String>,
}

impl Method for Lcc {
    type Params = LccParams;
    const INFO: Info = Info {
        name: "lcc",
        summary: "Lagrangian multipliers push violated cannot-links apart; what is left is repaired exactly",
        paper: "M. Ganji, J. Bailey, P. J. Stuckey, Lagrangian constrained clustering, SDM 2016",
        minimises: "Σ_i w_i ‖x_i − c(l_i)‖², every constraint kept",
        constraints: "hard: must-linked rows are one point; cannot-links by multipliers, then exact repair (repair = no: as many as it can)",
        cost: "O(n·k·dims) per sweep plus O(cannot-links), once exact assignment",
        measured: "NMI at n/4, n/2, n, raw columns, 5 constraint sets × 8 starts, with repair (printed, Ganji et al. Table 3): \
                   iris .78 .86 .91 (.79 .84 .88), wine .45 .52 .66 (.46 .50 .67), ionosphere .13 .22 .70 (.12 .20 \
                   .62), wdbc .60 .75 .92 (.62 .77 .90), kdd .71 .74 .85 (.68 .72 .81), vehicle .17 .16 .25 (.17 .18 .25), \
                   glass .41 .43 .52 (.40 .43 .51), yeast .30 .33 .47 (.29 .34 .41), breast-tissue .36 .40 .49 (.37 .41 \
                   .53), ecoli .64 .67 .78 (.58 .62 .67): within the printed spread, kdd n, yeast n and ecoli above it. \
                   Broken: none. With restarts = 1, init = random-assignment, repair = no about as many as printed: \
                   vehicle 1.5 5.2 29.0 (1.7 4.1 30.1), ionosphere 2.4 8.6 5.9 (1.3 5.9 7.1).",
        listens: Listens::Hard,
        sparse: true,
        sizes: false,
        represents: false,
        monotone: false,
    };

    fn new(params: LccParams) -> Result<Self> {
        Ok(Lcc(params))
    }

    fn run<F: Float>(&self, ctx: &RunContext, problem: &Problem<'_, F>) -> Result<Clustering> {
        let data = problem.data;
        let units = Units::new(data, problem.chunklets);
        let restarts = restarts::how_many(self.0.restarts, data.n());
        let start = |ctx: &RunContext, r: u64| self.start(ctx, &units, problem.k, r);
        let best = restarts::best_by(ctx, restarts, data.n() * data.dims(), start, |s| (s.broken, s.outcome.cost()))?;
        let clustering: Clustering = best.outcome.into();
        let notes = clustering.notes.iter().cloned().chain(best.note).collect();
        Ok(Clustering { notes, ..clustering })
    }
}

impl Lcc {
    fn start<F: Float>(&self, ctx: &RunContext, units: &Units<'_, F>, k: usize, r: u64) -> Result<Start> {
        let params = &self.0;
        let mut rng = ctx.rng("seeding", r);
        let none = Matrix::zeros(0, units.data.dims());
        let centres = match params.init {
            Init::GreedyKmeansPlusPlus => seeding::kmeans_plus_plus(&ctx.pool, units, k, none, true, &mut rng),
            Init::KmeansPlusPlus => seeding::kmeans_plus_plus(&ctx.pool, units, k, none, false, &mut rng),
            Init::RandomAssignment => random_assignment(units, k, &mut rng),
        };
        let limits = Limits { max_iter: params.max_iter, tolerance: 0.0 };
        if units.bound() == 0 {
            let outcome = lloyd(ctx, units, centres, limits, &mut Nearest)?;
            return Ok(Start { broken: 0, outcome, note: None });
        }
        let (broken, outcome) = self.sweeps(ctx, units, centres, ctx.rng("order", r));
        if !params.repair
            || matches!(outcome.termination, Termination::Cancelled | Termination::Deadline) && broken == 0
        {
            return Ok(Start { broken, outcome, note: None });
        }
        match lloyd(ctx, units, outcome.centres.clone(), limits, &mut Exact::new(units, k)) {
            Ok(mut repaired) => {
                repaired.trace.splice(0..0, outcome.trace);
                Ok(Start { broken: 0, outcome: repaired, note: None })
            }
            Err(Error::DeadEnd(why)) => {
                let note = format!("the repair of {broken} violated cannot-links failed: {why}");
                Ok(Start { broken, outcome, note: Some(note) })
            }
            Err(other) => Err(other),
        }
    }

    /// The sweeps of Figure 1 from these centres: violated cannot-links and the labelling of the best.
    fn sweeps<F: Float>(
        &self,
        ctx: &RunContext,
        units: &Units<'_, F>,
        mut centres: Matrix,
        mut rng: Rng,
    ) -> (usize, Outcome) {
        let (params, k) = (&self.0, centres.rows());
        let points = units.points();
        let mut pairs = Pairs::new(units, params.lambda);
        let mut labels = vec![0u32; units.data.n()];
        let mut previous: Vec<u32> = Vec::new();
        // The centres stand for the labels of the rows, which are many.
        let (mut best, mut kept) = ((usize::MAX, f64::INFINITY), (centres.clone(), vec![0; units.bound()]));
        let mut trace = Vec::new();
        let mut termination = Termination::MaxIterations;
        let (mut idle, mut calm) = (0, 0);
        let mut passes = Passes::new(units.data, units.free_rows(), k);
        let (mut unit_passes, mut nearest) = (Passes::new(&points, None, k), vec![0u32; units.bound()]);
        let (clashes, mut unit_sums) = (Clashes::new(units), UnitSums::new(units, k));
        for _ in 0..params.sweeps {
            let (changed, _) = ctx.pool.both(
                || passes.step(&ctx.pool, &centres, &mut labels) > 0,
                || unit_passes.step(&ctx.pool, &centres, &mut nearest),
            );
            let mut unit_labels = nearest.clone();
            // Elsewhere a sweep changes nothing.
            let clash = clashes.find(&ctx.pool, &unit_labels);
            let components = clashes.components(&clash);
            let order = (params.order == SweepOrder::Random).then(|| rng.bits());
            let sweep = Sweep { costs: CostRows::new(units, &centres), k, alpha: params.alpha, order };
            let conflicts = sweep.run(&ctx.pool, &components, &mut unit_labels, &mut pairs);
            let mut sums = passes.sums.clone();
            unit_sums.add_to(&ctx.pool, units, &unit_labels, &mut sums);
            let label = |row: usize| match units.unit_of(row) {
                FREE => labels[row],
                unit => unit_labels[unit as usize],
            };
            let cost = units.cost(&ctx.pool, &centres, &sums, label);
            trace.push(cost);
            let broken = clashes.find(&ctx.pool, &unit_labels).len();
            idle += 1;
            if (broken, cost) < best {
                best = (broken, cost);
                kept.0.clone_from(&centres);
                kept.1.copy_from_slice(&unit_labels);
                idle = 0;
            }
            // The same labels again and no pull on the centres: further sweeps would be the same.
            let still = !changed && unit_labels == previous && conflicts.is_empty();
            calm = if still { calm + 1 } else { 0 };
            if calm >= CALM || idle >= params.patience {
                termination = Termination::Converged;
                break;
            }
            if lloyd::reseed(units, &centres, &mut labels, &mut unit_labels, &mut sums) {
                passes.forget();
            }
            for &(unit, cluster, lambda) in &conflicts {
                let pull = units.weight[unit as usize] * lambda;
                sums.weights[cluster as usize] += pull;
                points.add_row(unit as usize, pull, sums.values.row_mut(cluster as usize));
            }
            lloyd::to_means(&mut centres, &sums);
            previous = unit_labels;
            if let Err(stop) = ctx.checkpoint() {
                termination = stop.into();
                break;
            }
        }
        let mut labels = lloyd::assign_nearest(ctx, units.data, &kept.0);
        units.spread(&kept.1, &mut labels);
        let (found, weights) = means::means(units.data, &labels, k);
        for c in (0..k).filter(|&c| weights[c] > 0.0) {
            centres.row_mut(c).copy_from_slice(found.row(c));
        }
        trace.push(means::sum_of_squares_around(units.data, &labels, &centres));
        (best.0, Outcome { labels, centres, trace, termination, exact: true })
    }
}

/// The cannot-links with their multipliers.
struct Pairs {
    starts: Vec<u32>,
    /// Other end and number of the pair.
    arcs: Vec<(u32, u32)>,
    lambda: Vec<f64>,
}

impl Pairs {
    fn new<F: Float>(units: &Units<'_, F>, lambda: f64) -> Pairs {
        let graph = &units.graph;
        let mut starts = vec![0u32];
        starts.extend((0..graph.len() as u32).scan(0, |sum, u| {
            *sum += graph.degree(u) as u32;
            Some(*sum)
        }));
        let mut fill = starts.clone();
        let mut arcs = vec![(0, 0); starts[graph.len()] as usize];
        for (number, (a, b)) in graph.edges().enumerate() {
            for (from, to) in [(a, b), (b, a)] {
                arcs[fill[from as usize] as usize] = (to, number as u32);
                fill[from as usize] += 1;
            }
        }
        Pairs { starts, arcs, lambda: vec![lambda; graph.edge_count()] }
    }
}

/// One sweep over the components in which something clashes: they do not touch each other, so a thread can have its own.
struct Sweep<'a, F> {
    costs: CostRows<'a, F>,
    k: usize,
    alpha: f64,
    /// What random orders are drawn from; none: by first row.
    order: Option<u64>,
}

/// Components that are swept together, and how many are fetched before their turn.
const TOGETHER: usize = 64;
const AHEAD: usize = 8;

/// What a component is swept in, kept for the next one: all by position among its units.
#[derive(Default)]
struct Room {
    order: Vec<u32>,
    labels: Vec<u32>,
    placed: Vec<bool>,
    /// Number of the unit's row of costs, `FREE` before they are asked for.
    rows: Vec<u32>,
    costs: Vec<f64>,
}

/// What a sweep leaves behind.
#[derive(Default)]
struct Swept {
    /// Unit and its new cluster.
    labels: Vec<(u32, u32)>,
    /// Pair and its new multiplier.
    lambdas: Vec<(u32, f64)>,
    /// Conflict entries: unit, cluster that it pulls, multiplier.
    conflicts: Vec<(u32, u32, f64)>,
}

impl<F: Float> Sweep<'_, F> {
    /// Lines 10–35 of Figure 1. Labels are the nearest centres at first, then where the units were put. Returns the
    /// conflict entries.
    fn run(&self, pool: &Pool, components: &[&[u32]], labels: &mut [u32], pairs: &mut Pairs) -> Vec<(u32, u32, f64)> {
        let parts = pool.map_chunks(components.len(), TOGETHER, |range| {
            let mut rng = self.order.map(|seed| Rng::stream(seed, "sweep", range.start as u64));
            let (mut out, mut room) = (Swept::default(), Room::default());
            for at in range {
                if let Some(later) = components.get(at + AHEAD) {
                    later.iter().take(2).for_each(|&unit| self.costs.prefetch(unit as usize));
                }
                self.component(components[at], labels, pairs, rng.as_mut(), &mut room, &mut out);
            }
            out
        });
        let mut conflicts = Vec::new();
        for part in parts {
            part.labels.iter().for_each(|&(unit, label)| labels[unit as usize] = label);
            part.lambdas.iter().for_each(|&(pair, lambda)| pairs.lambda[pair as usize] = lambda);
            conflicts.extend(part.conflicts);
        }
        conflicts
    }

    fn component(
        &self,
        members: &[u32],
        labels: &[u32],
        pairs: &Pairs,
        rng: Option<&mut Rng>,
        room: &mut Room,
        out: &mut Swept,
    ) {
        let Room { order, labels: own, placed, rows, costs } = room;
        order.clear();
        order.extend(0..members.len() as u32);
        if let Some(rng) = rng {
            rng.shuffle(order);
        }
        own.clear();
        own.extend(members.iter().map(|&u| labels[u as usize]));
        placed.clear();
        placed.resize(members.len(), false);
        rows.clear();
        rows.resize(members.len(), FREE);
        costs.clear();
        // The nearest centre other than `h`, and what moving there from `h` costs.
        let mut swap = |at: usize, h: u32| -> Option<(u32, f64)> {
            if rows[at] == FREE {
                let end = costs.len();
                rows[at] = (end / self.k) as u32;
                costs.resize(end + self.k, 0.0);
                self.costs.write(members[at] as usize, &mut costs[end..]);
            }
            let row = &costs[rows[at] as usize * self.k..][..self.k];
            let mut best: Option<usize> = None;
            for (c, cost) in row.iter().enumerate() {
                if c != h as usize && best.is_none_or(|b| *cost < row[b]) {
                    best = Some(c);
                }
            }
            best.map(|b| (b as u32, row[b] - row[h as usize]))
        };
        for &i in &*order {
            let i = i as usize;
            placed[i] = true;
            for at in pairs.starts[members[i] as usize]..pairs.starts[members[i] as usize + 1] {
                let (other, number) = pairs.arcs[at as usize];
                let Ok(other) = members.binary_search(&other) else { continue };
                let h = own[i];
                if !placed[other] || own[other] != h {
                    continue;
                }
                let (Some((second_i, swap_i)), Some((second_o, swap_o))) = (swap(i, h), swap(other, h)) else {
                    continue; // k = 1: nowhere to go
                };
                let lambda = pairs.lambda[number as usize];
                if lambda <= 1.0 && swap_i.min(swap_o) >= 0.0 {
                    let lambda = (lambda * self.alpha).min(MOST);
                    out.lambdas.push((number, lambda));
                    let (unit, cluster) = if swap_i < swap_o { (i, second_i) } else { (other, second_o) };
                    out.conflicts.push((members[unit], cluster, lambda));
                } else if swap_i <= swap_o {
                    own[i] = second_i;
                } else {
                    own[other] = second_o;
                }
            }
        }
        let placed = members.iter().copied().zip(own.iter().copied());
        out.labels.extend(placed.filter(|&(u, label)| labels[u as usize] != label));
    }
}

/// Means of a uniformly random assignment of the units; a cluster that got none starts at a random row.
fn random_assignment<F: Float>(units: &Units<'_, F>, k: usize, rng: &mut Rng) -> Matrix {
    let data = units.data;
    let unit_labels: Vec<u32> = (0..units.bound()).map(|_| rng.below(k) as u32).collect();
    let mut labels = vec![0u32; data.n()];
    for (row, label) in labels.iter_mut().enumerate() {
        *label = match units.unit_of(row) {
            FREE => rng.below(k) as u32,
            unit => unit_labels[unit as usize],
        };
    }
    let (mut centres, weights) = means::means(data, &labels, k);
    for c in (0..k).filter(|&c| weights[c] == 0.0) {
        let row = rng.below(data.n());
        data.add_row(row, 1.0, centres.row_mut(c));
    }
    centres
}

#[cfg(test)]
#[path = "lcc_tests.rs"]
mod tests;
