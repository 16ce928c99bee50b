//! EM for Gaussian mixtures (Dempster, Laird, Rubin 1977): maximises Σ_i w_i log Σ_l π_l N(x_i | μ_l, S_l) from k-means
//! starts; every row goes to the component of largest posterior. Constraints do not enter: a baseline.
//! Covariances are drawn towards the pooled variances by dims/(dims + N_l) unless told not to, so that few rows in many
//! dimensions do not make a component collapse; this departs from plain EM, which `shrink = no` gives.
//! O(n·k·dims²) per iteration (full, tied) or O(n·k·dims) (diagonal, spherical); the trace is −log-likelihood.

use super::{Clustering, Info, Listens, Method, Problem};
use crate::blocks::lloyd::{Limits, Nearest, cheapest, lloyd};
use crate::blocks::means::sum_of_squares;
use crate::blocks::mixture::{Covariance, Fitted, Free, Maximiser, Settings, em};
use crate::blocks::restarts;
use crate::blocks::seeding::Init;
use crate::blocks::units::Units;
use crate::constraints::Chunklets;
use crate::context::RunContext;
use crate::data::Float;
use crate::error::Result;

crate::params! {
    /// Parameters of `em`.
    pub struct EmParams {
        /// Shape of the components; auto is full for n ≥ 10·k·dims dense rows, diagonal otherwise.
        covariance: Covariance = Covariance::Auto;
        /// Independent starts, of which the most likely wins.
        restarts: usize = 5, 1 => 10_000;
        /// Iterations of EM per start at most.
        max_iter: usize = 200, 1 => 1_000_000;
        /// Stop when the log-likelihood changes by less than this share.
        tolerance: f64 = 1e-6, 0 => 1;
        /// Added to every variance, as a share of the mean variance of the columns.
        reg: f64 = 1e-6, 0 => 1;
        /// Draw full and tied covariances towards the pooled variances where rows are few.
        shrink: bool = true;
    }
}

/// See the module.
pub struct Em(EmParams);

impl Em {
    fn settings(&self) -> Settings {
        let p = &self.0;
        Settings {
            covariance: p.covariance,
            reg: p.reg,
            shrink: p.shrink,
            max_iter: p.max_iter,
            tolerance: p.tolerance,
        }
    }
}

impl Method for Em {
    type Params = EmParams;
    const INFO: Info = Info {
        name: "em",
        summary: "Gaussian mixture by EM: ellipsoid clusters of any size, constraints ignored",
        paper: "A. P. Dempster, N. M. Laird, D. B. Rubin, Maximum likelihood from incomplete data via the EM algorithm, \
                JRSS B 1977",
        minimises: "−Σ_i w_i log Σ_l π_l N(x_i | μ_l, S_l)",
        constraints: "ignored; broken ones are counted and listed",
        cost: "O(n·k·dims²) per iteration, O(n·k·dims) with diagonal or spherical covariances; memory O(n·k + k·dims²)",
        listens: Listens::No,
        sparse: true,
        sizes: false,
        represents: false,
        monotone: false,
        measured: "",
    };

    fn new(params: EmParams) -> Result<Self> {
        Ok(Em(params))
    }

    fn run<F: Float>(&self, ctx: &RunContext, problem: &Problem<'_, F>) -> Result<Clustering> {
        let (data, k, settings) = (problem.data, problem.k, self.settings());
        let alone = Chunklets::singletons(data.n());
        let units = Units::new(data, &alone);
        let maximiser = Maximiser::new(data, k, &settings);
        let one = |ctx: &RunContext, r: u64| {
            let centres = Init::GreedyKmeansPlusPlus.draw(&ctx.pool, &units, k, &mut ctx.rng("seeding", r));
            let start = lloyd(ctx, &units, centres, Limits { max_iter: 10, tolerance: 0.0 }, &mut Nearest)?;
            Ok(em(ctx, &maximiser, &start.labels, &settings, &mut Free(data.weights())))
        };
        let fitted: Fitted =
            restarts::best_by(ctx, self.0.restarts, data.n() * data.dims() * k, one, |f| f.trace[f.trace.len() - 1])?;
        let costs: Vec<f64> = fitted.posteriors.iter().map(|p| -p).collect();
        let mut clustering = Clustering::of_labels(costs.chunks_exact(k).map(cheapest).collect());
        clustering.centres = Some(fitted.mixture.means);
        clustering.iterations = fitted.trace.len() - 1;
        clustering.trace = fitted.trace;
        clustering.termination = fitted.termination;
        Ok(clustering)
    }

    /// A likelihood cannot be recomputed from labels: the last value of the fit.
    fn objective<F: Float>(&self, problem: &Problem<'_, F>, clustering: &Clustering) -> f64 {
        let fallback = || sum_of_squares(problem.data, &clustering.labels, problem.k);
        clustering.trace.last().copied().unwrap_or_else(fallback)
    }
}
