//! Exact constrained k-means by column generation (Babaki, Guns, Nijssen 2014): minimises Σ w‖x − c‖² subject to every
//! constraint and proves it, or reports a lower bound and the gap. Chunklets are the rows of the master programme, pricing
//! searches the space of centres (see `blocks::exact`). Starts: k-means with exact assignment, improved by exchanges.
//! Departs from the paper: rows are merged first, prices are boxed by the incumbent and smoothed, and pricing bounds boxes of
//! centres instead of adding rows one by one. The cost of a proof grows steeply with the number of chunklets and the
//! dimension; the answer is usually there from the start, and what takes time is the proof.

use super::{Clustering, Info, Listens, Method, Problem};
use crate::blocks::exact::{Masses, Plan, improve, solve};
use crate::blocks::lloyd::{Exact as Placement, Limits, Outcome, lloyd};
use crate::blocks::restarts;
use crate::blocks::seeding::Init;
use crate::blocks::units::Units;
use crate::context::{RunContext, Termination};
use crate::data::Float;
use crate::error::Result;

crate::params! {
    /// Parameters of `exact`.
    pub struct ExactParams {
        /// Relative gap between objective and lower bound at which the clustering counts as proven optimal.
        tolerance: f64 = 1e-6, 1e-9 => 1;
        /// Starts of the k-means that finds the first clusterings; 0 suits the number to the data.
        restarts: usize = 0, 0 => 100_000;
        /// Effort of the proof at most, in millions of looks at a candidate; 0 = until it is done or the time limit ends it.
        work: f64 = 0.0, 0 => 1e12;
    }
}

/// See the module.
pub struct Exact(ExactParams);

/// Chunklets up to which a proof is tried: the programme grows with the third power.
const MOST_CHUNKLETS: usize = 2000;
/// Starts that are improved by exchanges at a time.
const BATCH: usize = 16;

impl Exact {
    fn starts(&self, n: usize) -> usize {
        match (self.0.restarts, n) {
            (0, 0..=1000) => 50,
            (0, 1001..=20_000) => 10,
            (asked, _) => restarts::how_many(asked, n),
        }
    }
}

impl Method for Exact {
    type Params = ExactParams;
    const INFO: Info = Info {
        name: "exact",
        summary: "the best possible k-means under all constraints, proven, or a bound on how far from it the result can be",
        paper: "B. Babaki, T. Guns, S. Nijssen, Constrained clustering using column generation, CPAIOR 2014; O. du Merle, \
                P. Hansen, B. Jaumard, N. Mladenović, An interior point algorithm for minimum sum-of-squares clustering, SIAM \
                J. Sci. Comput. 2000",
        minimises: "Σ_i w_i ‖x_i − c(l_i)‖², every constraint kept; lower_bound ≤ the optimum ≤ objective",
        constraints: "hard: must-linked rows are one point, clusters with a cannot-link inside are never generated",
        cost: "a proof takes seconds up to some hundred chunklets in a few dimensions and grows exponentially; --time-limit \
               or Ctrl-C returns the best clustering with its bound and gap",
        measured: "iris, k = 3, half must-links, half cannot-links, proven optimal in all of five draws each at 400, 300, 250, 200 and \
                   150 constraints, in 0.01 to 0.06 s of one core (three draws timed; also at 100, 75, 37 and 0 constraints, up to \
                   0.1 s); the LCC paper (Table 4) prints for CCCG 0.2, 0.5, 3.2 and 137.5 s at 400, 300, 250 and 200, and no \
                   solution in 1800 s at 150. Iris without constraints, k = 2 to 10: the optima that du Merle et al. print, to \
                   all six decimals. Wine, k = 3, no constraints: 2370689.686783 proven. Within 30 s of a busy machine not \
                   proven: wine with 178 constraints (gap 0.5 %), glass, ecoli, ionosphere, wdbc",
        listens: Listens::Hard,
        sparse: true,
        sizes: false,
        represents: false,
        monotone: true,
    };

    fn new(params: ExactParams) -> Result<Self> {
        Ok(Exact(params))
    }

    fn run<F: Float>(&self, ctx: &RunContext, problem: &Problem<'_, F>) -> Result<Clustering> {
        let (data, k) = (problem.data, problem.k);
        let limits = Limits { max_iter: 300, tolerance: 0.0 };
        let units = Units::new(data, problem.chunklets);
        let count = self.starts(data.n());
        let start = |ctx: &RunContext, r: u64| -> Result<Outcome> {
            let centres = Init::GreedyKmeansPlusPlus.draw(&ctx.pool, &units, k, &mut ctx.rng("seeding", r));
            lloyd(ctx, &units, centres, limits, &mut Placement::new(&units, k))
        };
        let m = problem.chunklets.len();
        if m > MOST_CHUNKLETS {
            let best = restarts::best_of(ctx, count, data.n() * data.dims(), start)?;
            let note = format!(
                "{m} groups of rows are more than a proof is tried for ({MOST_CHUNKLETS}): this is the best clustering found, and \
                 the lower bound is the scatter inside must-linked groups"
            );
            let clustering = Clustering::from(best);
            return Ok(Clustering { lower_bound: Some(units.total_scatter()), notes: vec![note], ..clustering });
        }
        let masses = Masses::new(&Units::all(data, problem.chunklets))?;
        let (mut found, mut failed): (Vec<Vec<u32>>, _) = (Vec::new(), None);
        let inner = ctx.clone().with_threads(1);
        for first in (0..count).step_by(BATCH) {
            ctx.progress("starts", first as u64, Some(count as u64));
            let batch = ctx.pool.map(BATCH.min(count - first), |i| {
                let r = (first + i) as u64;
                (r == 0 || ctx.checkpoint().is_ok()).then(|| {
                    start(&inner, r).map(|outcome| {
                        let rows = (0..m as u32).map(|c| problem.chunklets.members(c)[0]);
                        let mut labels: Vec<u32> = rows.map(|row| outcome.labels[row as usize]).collect();
                        if ctx.checkpoint().is_ok() {
                            improve(&masses, k, &mut labels);
                        }
                        labels
                    })
                })
            });
            for outcome in batch.into_iter().flatten() {
                match outcome {
                    Ok(labels) => found.push(labels),
                    Err(error) => failed = failed.or(Some(error)),
                }
            }
            if ctx.checkpoint().is_err() {
                break;
            }
        }
        if let (true, Some(error)) = (found.is_empty(), failed) {
            return Err(error);
        }
        let work = if self.0.work == 0.0 { u64::MAX } else { (self.0.work * 1e6) as u64 };
        let proof = solve(ctx, &masses, &found, Plan { k, tolerance: self.0.tolerance, work });
        let mut notes = vec![format!(
            "{} LP rounds, {} clusters generated, {} branching nodes, {:.1} million candidates priced",
            proof.rounds,
            proof.columns,
            proof.nodes,
            proof.work as f64 / 1e6
        )];
        if proof.termination != Termination::Optimal {
            notes.push("not proven optimal: the gap says how far from it the objective can be at most".to_owned());
        }
        let labels = problem.chunklets.of_rows().iter().map(|&c| proof.labels[c as usize]).collect();
        Ok(Clustering {
            iterations: proof.rounds,
            labels,
            trace: proof.trace.iter().map(|c| c * masses.unit).collect(),
            termination: proof.termination,
            lower_bound: Some(proof.lower_bound * masses.unit),
            notes,
            ..Clustering::of_labels(Vec::new())
        })
    }
}
