//! Constrained k-means (Basu, Banerjee, Mooney 2002): the means of the labelled rows (`--labels`) are the first centres and
//! those rows keep their cluster; only the others are assigned: Σ w‖x − c‖². Clusters without a labelled row start by D²
//! sampling (the paper leaves that open). Pairs do not enter: labels are never invented from must-links.
//! Cost per iteration O(n·k·dims).

use super::{Clustering, Info, Listens, Method, Problem};
use crate::blocks::lloyd::Limits;
use crate::blocks::seeds::{NO_LABELS, from_seeds, seeds};
use crate::context::RunContext;
use crate::data::Float;
use crate::error::Result;

crate::params! {
    /// Parameters of `constrained-kmeans`.
    pub struct ConstrainedKmeansParams {
        /// Independent starts where some cluster has no labelled row, of which the cheapest wins; 0 suits the number to
        /// the data.
        restarts: usize = 0, 0 => 10_000;
        /// Iterations per start at most.
        max_iter: usize = 300, 1 => 1_000_000;
    }
}

/// See the module.
pub struct ConstrainedKmeans(ConstrainedKmeansParams);

impl Method for ConstrainedKmeans {
    type Params = ConstrainedKmeansParams;
    const INFO: Info = Info {
        name: "constrained-kmeans",
        summary: "k-means in which labelled rows stay with their label",
        paper: "S. Basu, A. Banerjee, R. J. Mooney, Semi-supervised clustering by seeding, ICML 2002",
        minimises: "Σ_i w_i ‖x_i − c(l_i)‖², labelled rows in the cluster of their label",
        constraints: "partial labels give the first centres and are kept, every one; pairs are ignored; broken ones are counted and listed",
        cost: "O(n·k·dims) per iteration, memory O(n + k·dims) beside the data",
        measured: "Partial labels; no paper here prints it. Worked examples are in the tests.",
        listens: Listens::Soft,
        sparse: true,
        sizes: false,
        represents: false,
        monotone: true,
    };

    fn new(params: ConstrainedKmeansParams) -> Result<Self> {
        Ok(ConstrainedKmeans(params))
    }

    fn run<F: Float>(&self, ctx: &RunContext, problem: &Problem<'_, F>) -> Result<Clustering> {
        let seeds = seeds(Self::INFO.name, problem.given, problem.k)?;
        let limits = Limits { max_iter: self.0.max_iter, tolerance: 0.0 };
        let outcome = from_seeds(ctx, problem.data, &seeds, problem.k, true, self.0.restarts, limits)?;
        let mut clustering: Clustering = outcome.into();
        if seeds.is_empty() {
            clustering.notes.push(NO_LABELS.to_owned());
        }
        Ok(clustering)
    }
}
