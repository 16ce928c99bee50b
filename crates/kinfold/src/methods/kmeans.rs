//! Lloyd's k-means (Lloyd 1957; seeding: Arthur & Vassilvitskii 2007). Minimises Σ w‖x − c‖² over labels and centres.
//! Constraints do not enter: this is the baseline that the others are measured against.
//! Cost per iteration O(n·k·dims), parallel, without an n×k matrix.

use super::{Clustering, Info, Listens, Method, Problem};
use crate::blocks::lloyd::{Limits, Nearest, lloyd};
use crate::blocks::restarts;
use crate::blocks::seeding;
use crate::blocks::units::Units;
use crate::constraints::Chunklets;
use crate::context::RunContext;
use crate::data::{Float, Matrix};
use crate::error::Result;

crate::choice! {
    /// Where the first centres come from.
    pub enum Init {
        /// D² sampling, best of a few draws each.
        GreedyKmeansPlusPlus = "greedy-kmeans++",
        /// D² sampling.
        KmeansPlusPlus = "kmeans++",
        /// Rows drawn uniformly.
        Random = "random",
    }
}

crate::params! {
    /// Parameters of `kmeans`.
    pub struct KmeansParams {
        /// Independent starts, of which the cheapest wins; 0 suits the number to the data.
        restarts: usize = 0, 0 => 10_000;
        /// Iterations per start at most.
        max_iter: usize = 300, 1 => 1_000_000;
        /// Stop when the cost falls by less than this share.
        tolerance: f64 = 0.0, 0 => 1;
        /// Starting centres.
        init: Init = Init::GreedyKmeansPlusPlus;
    }
}

/// See the module.
pub struct Kmeans(KmeansParams);

impl Method for Kmeans {
    type Params = KmeansParams;
    const INFO: Info = Info {
        name: "kmeans",
        summary: "plain k-means: the fast baseline that ignores constraints",
        paper: "S. Lloyd, Least squares quantization in PCM, 1957/1982; D. Arthur, S. Vassilvitskii, k-means++, SODA 2007",
        minimises: "Σ_i w_i ‖x_i − c(l_i)‖²",
        constraints: "ignored; broken ones are counted and listed",
        cost: "O(n·k·dims) per iteration, memory O(n + k·dims) beside the data",
        measured: "Objective within 4e-6 of scikit-learn's from the same start on a million rows (f32); speed in docs/performance.md.",
        listens: Listens::No,
        sparse: true,
        sizes: false,
        represents: false,
        monotone: true,
    };

    fn new(params: KmeansParams) -> Result<Self> {
        Ok(Kmeans(params))
    }

    fn run<F: Float>(&self, ctx: &RunContext, problem: &Problem<'_, F>) -> Result<Clustering> {
        let params = &self.0;
        let (data, k) = (problem.data, problem.k);
        let alone = Chunklets::singletons(data.n());
        let units = Units::new(data, &alone);
        let limits = Limits { max_iter: params.max_iter, tolerance: params.tolerance };
        let restarts = restarts::how_many(params.restarts, data.n());
        let outcome = restarts::best_of(ctx, restarts, data.n() * data.dims(), |ctx, r| {
            let mut rng = ctx.rng("seeding", r);
            let none = Matrix::zeros(0, data.dims());
            let centres = match params.init {
                Init::GreedyKmeansPlusPlus => seeding::kmeans_plus_plus(&ctx.pool, &units, k, none, true, &mut rng),
                Init::KmeansPlusPlus => seeding::kmeans_plus_plus(&ctx.pool, &units, k, none, false, &mut rng),
                Init::Random => seeding::random_rows(&units, k, &mut rng),
            };
            lloyd(ctx, &units, centres, limits, &mut Nearest)
        })?;
        Ok(outcome.into())
    }
}
