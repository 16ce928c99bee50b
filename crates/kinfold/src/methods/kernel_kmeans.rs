//! Kernel k-means (Girolami 2002): minimises Σ w‖φ(x) − μ(l)‖² in the feature space of a kernel, so that clusters need
//! not be round in the data space. Constraints do not enter: with `bckm` on top it is a baseline for shapes.
//! Linear and cosine kernels are plain k-means on rows (no matrix, sparse rows stay sparse); RBF and self-tuning RBF need
//! n×n numbers, O(n²·dims) once and O(moves·n + n·k) per sweep. Single moves (Hartigan) follow the batch sweeps, since
//! the self-tuning kernel is not always positive semidefinite; the trace never rises.

use super::{Clustering, Info, Listens, Method, Problem};
use crate::blocks::centred::seed_rows;
use crate::blocks::kernel::{Affinity, Gram, Kernel, Space};
use crate::blocks::kernel_kmeans::{Clusters, Init, Limits, kernel_kmeans, start};
use crate::blocks::lloyd::{self, Nearest, Outcome, lloyd};
use crate::blocks::par::Pool;
use crate::blocks::units::Units;
use crate::blocks::{means, restarts};
use crate::constraints::Chunklets;
use crate::context::RunContext;
use crate::data::{Dataset, Float, Matrix};
use crate::error::Result;

crate::params! {
    /// Parameters of `kernel-kmeans`.
    pub struct KernelKmeansParams {
        /// How alike two rows are.
        kernel: Kernel = Kernel::RbfLocal;
        /// Width of the rbf kernel; 0 = the root mean squared distance of the rows to their mean.
        sigma: f64 = 0.0, 0 => f64::INFINITY;
        /// Which neighbour's distance is the width of the rbf-local kernel.
        neighbour: usize = 7, 1 => 1_000_000;
        /// Starting centres.
        init: Init = Init::KmeansPlusPlus;
        /// Independent starts, of which the cheapest wins; 0 suits the number to the data.
        restarts: usize = 0, 0 => 10_000;
        /// Sweeps per start at most.
        max_iter: usize = 300, 1 => 1_000_000;
        /// End with moves of single rows (kernels with a matrix).
        refine: bool = true;
    }
}

/// See the module.
pub struct KernelKmeans(KernelKmeansParams);

const NAME: &str = "kernel-kmeans";

impl KernelKmeans {
    fn affinity(&self) -> Affinity {
        Affinity { kernel: self.0.kernel, sigma: self.0.sigma, neighbour: self.0.neighbour }
    }

    fn on_rows<F: Float>(&self, ctx: &RunContext, data: &Dataset<'_, F>, k: usize) -> Result<Outcome> {
        let alone = Chunklets::singletons(data.n());
        let units = Units::new(data, &alone);
        let limits = lloyd::Limits { max_iter: self.0.max_iter, tolerance: 0.0 };
        let restarts = restarts::how_many(self.0.restarts, data.n());
        restarts::best_of(ctx, restarts, data.n() * data.dims(), |ctx, r| {
            let centres = seed_rows(&ctx.pool, data, k, self.0.init, &mut ctx.rng("seeding", r));
            lloyd(ctx, &units, centres, limits, &mut Nearest)
        })
    }

    fn on_matrix(&self, ctx: &RunContext, gram: &Gram, k: usize) -> Result<Outcome> {
        let limits = Limits { max_iter: self.0.max_iter, refine: self.0.refine };
        let restarts = restarts::how_many(self.0.restarts, gram.len());
        restarts::best_of(ctx, restarts, gram.len() * gram.len(), |ctx, r| {
            let start = start(&ctx.pool, gram, k, self.0.init, &mut ctx.rng("seeding", r));
            Ok(kernel_kmeans(ctx, gram, start, k, limits))
        })
    }
}

impl Method for KernelKmeans {
    type Params = KernelKmeansParams;
    const INFO: Info = Info {
        name: NAME,
        summary: "k-means in the feature space of a kernel: clusters of any shape, constraints ignored",
        paper: "M. Girolami, Mercer kernel-based clustering in feature space, IEEE TNN 2002; L. Zelnik-Manor, P. Perona, \
                Self-tuning spectral clustering, NIPS 2004",
        minimises: "Σ_i w_i ‖φ(x_i) − μ(l_i)‖²",
        constraints: "ignored; broken ones are counted and listed",
        cost: "linear, cosine: O(n·k·dims) per sweep; rbf: an n×n matrix, O(n²·dims) once and O(n·k + moves·n) per sweep",
        measured: "The last step of bckm, pcp, kernel-boost and boost-cluster, measured there; alone it ignores \
                   constraints and no paper prints it.",
        listens: Listens::No,
        sparse: true,
        sizes: false,
        represents: false,
        monotone: true,
    };

    fn new(params: KernelKmeansParams) -> Result<Self> {
        Ok(KernelKmeans(params))
    }

    fn memory(&self, n: usize, _dims: usize, _k: usize) -> u64 {
        self.affinity().memory(n)
    }

    fn run<F: Float>(&self, ctx: &RunContext, problem: &Problem<'_, F>) -> Result<Clustering> {
        let space = Space::new(&ctx.pool, problem.data, &self.affinity(), None)?;
        let outcome = match (&space, space.rows()) {
            (Space::Gram(gram), _) => self.on_matrix(ctx, gram, problem.k)?,
            (_, Some(rows)) => self.on_rows(ctx, &rows, problem.k)?,
            (_, None) => unreachable!("a space is rows or a matrix"),
        };
        let in_data_space = self.0.kernel == Kernel::Linear;
        Ok(Clustering {
            iterations: outcome.trace.len(),
            labels: outcome.labels,
            centres: in_data_space.then_some(outcome.centres).filter(|c: &Matrix| c.rows() > 0),
            trace: outcome.trace,
            termination: outcome.termination,
            chosen: None,
            lower_bound: None,
            notes: Vec::new(),
        })
    }

    /// Computed in the feature space, from a matrix made afresh on one thread where the kernel needs one.
    fn objective<F: Float>(&self, problem: &Problem<'_, F>, clustering: &Clustering) -> f64 {
        let pool = Pool::new(1);
        match Space::new(&pool, problem.data, &self.affinity(), None) {
            Ok(Space::Gram(gram)) => Clusters::new(&pool, &gram, clustering.labels.clone(), problem.k).objective(),
            Ok(space) => match space.rows() {
                Some(rows) => means::sum_of_squares(&rows, &clustering.labels, problem.k),
                None => f64::NAN,
            },
            Err(_) => f64::NAN,
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::constraints::ConstraintSet;
    use crate::context::RunContext;
    use crate::data::Dataset;
    use crate::pipeline::Job;

    /// Two rings around each other, 40 rows each.
    fn rings() -> Vec<f64> {
        (0..80)
            .flat_map(|i| {
                let (radius, angle) =
                    (if i < 40 { 1.0 } else { 6.0 }, f64::from(i % 40) * std::f64::consts::TAU / 40.0);
                [radius * angle.cos(), radius * angle.sin()]
            })
            .collect()
    }

    #[test]
    fn the_self_tuning_kernel_beats_its_own_objective_nowhere_and_the_trace_ends_at_it() {
        let rows = rings();
        let data = Dataset::dense(&rows, 2).unwrap();
        for kernel in ["linear", "cosine", "rbf", "rbf-local"] {
            let job = Job { settings: vec![("kernel".into(), kernel.into())], ..Job::new("kernel-kmeans", 2) };
            let run = job.run(&RunContext::new(1).with_threads(1), &data, &ConstraintSet::new(80)).unwrap();
            let last = *run.trace.last().unwrap();
            assert!((run.objective - last).abs() <= 1e-9 * (1.0 + last.abs()), "{kernel}: {} {last}", run.objective);
            assert!(run.trace.windows(2).all(|w| w[1] <= w[0]), "{kernel}");
            let threads = job.run(&RunContext::new(1).with_threads(2), &data, &ConstraintSet::new(80)).unwrap();
            assert_eq!((&run.labels, &run.trace), (&threads.labels, &threads.trace), "{kernel}");
        }
    }
}
