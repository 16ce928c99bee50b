//! The clustering methods: one file each, one line each in [`METHODS`]. Command line, help, method pages, forms and
//! conformance tests are made from that table.

mod bckm;
mod blp_kmeans;
mod boost_cluster;
mod cal;
mod ckm;
mod constrained_em;
mod constrained_kmeans;
mod cop_kmeans;
mod csp;
mod cvqe;
mod dist_boost;
mod em;
mod exact;
mod fold;
mod greedy_mlcl;
mod kernel_boost;
mod kernel_kmeans;
mod kmeans;
mod lcc;
mod lcvqe;
mod mlcl;
mod mpck_means;
mod pck_means;
mod pcp;
mod rckm;
mod seeded_kmeans;
mod spcl;

use crate::blocks::lloyd::Outcome;
use crate::blocks::sizes::Bounds;
use crate::constraints::{Chunklets, ConstraintSet};
use crate::context::{RunContext, Termination};
use crate::data::{Dataset, Float, Matrix, Scaling, Shape, Transform};
use crate::error::{Error, Result};
pub use crate::params::closest;
use crate::params::{Parameter, Params};

/// What a method is asked to do.
#[derive(Clone, Copy)]
pub struct Problem<'a, F> {
    /// The rows.
    pub data: &'a Dataset<'a, F>,
    /// The constraints as given, for methods that work pair by pair.
    pub given: &'a ConstraintSet,
    /// What follows from the hard ones.
    pub chunklets: &'a Chunklets,
    /// Number of clusters.
    pub k: usize,
    /// Bounds on cluster sizes.
    pub sizes: SizeBounds,
    /// The scaling that the user asked for, already applied to the rows; `None` leaves the choice to the method.
    pub scaling: Option<Scaling>,
}

/// Smallest and largest number of rows of a cluster.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SizeBounds {
    /// At least this.
    pub min: Option<usize>,
    /// At most this.
    pub max: Option<usize>,
}

impl SizeBounds {
    /// For k clusters; `None` when they bind nothing.
    pub fn for_clusters(&self, k: usize) -> Option<Bounds> {
        let given = self.min.is_some() || self.max.is_some();
        given.then(|| Bounds::uniform(k, self.min.unwrap_or(0) as u64, self.max.map_or(u64::MAX, |m| m as u64)))
    }
}

/// What a method returns. Violations and the objective are counted by the frame around it, not by the method.
#[derive(Debug, Clone, PartialEq)]
pub struct Clustering {
    /// Cluster of every row, from 0.
    pub labels: Vec<u32>,
    /// Centres of the clusters where the method has them (k × dims).
    pub centres: Option<Matrix>,
    /// The method's own objective after each iteration of the restart that won.
    pub trace: Vec<f64>,
    /// Iterations of that restart.
    pub iterations: usize,
    /// How it ended.
    pub termination: Termination,
    /// Things a user should know: fallbacks, heuristics, restarts that failed.
    pub notes: Vec<String>,
    /// The space that the method chose for itself; `centres` are in it.
    pub chosen: Option<Chosen>,
    /// No clustering that keeps the constraints has a smaller objective than this, where the method proves such a bound.
    pub lower_bound: Option<f64>,
}

impl Clustering {
    /// Its centres, or the means of its clusters.
    pub(crate) fn centres_or_means<F: Float>(&self, problem: &Problem<'_, F>) -> Matrix {
        self.centres.clone().unwrap_or_else(|| crate::blocks::means::means(problem.data, &self.labels, problem.k).0)
    }

    /// Labels that came from elsewhere; the frame adds centres and objective.
    pub(crate) fn of_labels(labels: Vec<u32>) -> Clustering {
        Clustering {
            labels,
            centres: None,
            trace: Vec::new(),
            iterations: 0,
            termination: Termination::Converged,
            notes: Vec::new(),
            chosen: None,
            lower_bound: None,
        }
    }
}

/// The representation that a method chose, and what it chose from.
#[derive(Debug, Clone, PartialEq)]
pub struct Chosen {
    /// In words: one candidate, or a vote of several.
    pub name: String,
    /// From the rows it was given to the space of the centres.
    pub transform: Transform,
    /// All candidates in order.
    pub candidates: Vec<CandidateScore>,
    /// The shape of every cluster in that space; empty = plain distances.
    pub shapes: Vec<Shape>,
}

/// How one candidate did.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct CandidateScore {
    /// Its name.
    pub name: String,
    /// Share of held-out constraints it kept, must-links and cannot-links alike; `None` when nothing was held out.
    pub score: Option<f64>,
    /// The scale of differences between scores.
    pub error: f64,
    /// What it had to say in the result.
    pub weight: f64,
}

impl From<Outcome> for Clustering {
    fn from(outcome: Outcome) -> Clustering {
        const HEURISTIC: &str = "some groups of cannot-linked rows were too large for exact assignment: every constraint \
            is kept, but the placement of those rows is the best found, not proven best";
        Clustering {
            iterations: outcome.trace.len(),
            labels: outcome.labels,
            centres: Some(outcome.centres),
            trace: outcome.trace,
            termination: outcome.termination,
            notes: if outcome.exact { Vec::new() } else { vec![HEURISTIC.to_owned()] },
            chosen: None,
            lower_bound: None,
        }
    }
}

/// A clustering method: what an author writes.
pub trait Method: Send + Sync {
    /// Its parameters.
    type Params: Params;
    /// The table entry.
    const INFO: Info;

    /// Makes the method from checked parameters.
    fn new(params: Self::Params) -> Result<Self>
    where
        Self: Sized;

    /// Clusters.
    fn run<F: Float>(&self, ctx: &RunContext, problem: &Problem<'_, F>) -> Result<Clustering>;

    /// Clusters for each k of `ks` where one computation serves all, like a dendrogram; `None` when each k is its own.
    fn run_each<F: Float>(
        &self,
        _ctx: &RunContext,
        _problem: &Problem<'_, F>,
        _ks: &[usize],
    ) -> Option<Result<Vec<Clustering>>> {
        None
    }

    /// Bytes that it needs beside the rows with these parameters, where that grows faster than the rows (0 = it does
    /// not). The frame refuses a run that would need more than [`RunContext::memory`].
    fn memory(&self, _n: usize, _dims: usize, _k: usize) -> u64 {
        0
    }

    /// What the method minimises, recomputed from the labels. The default is the sum of squared distances to the means.
    fn objective<F: Float>(&self, problem: &Problem<'_, F>, clustering: &Clustering) -> f64 {
        crate::blocks::means::sum_of_squares(problem.data, &clustering.labels, problem.k)
    }
}

/// What a method can do with the constraints it is given.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Listens {
    /// Not at all: a baseline.
    No,
    /// It prefers to keep them.
    Soft,
    /// It keeps those without a weight and pays a price for breaking the others.
    Priced,
    /// It keeps every one, or proves or reports that it cannot.
    Hard,
}

impl Listens {
    /// Does it keep constraints that have no weight?
    pub fn obeys(self) -> bool {
        matches!(self, Listens::Hard | Listens::Priced)
    }
}

/// What a table entry says about a method.
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize)]
pub struct Info {
    /// Its name.
    pub name: &'static str,
    /// One line.
    pub summary: &'static str,
    /// Where it comes from.
    pub paper: &'static str,
    /// What it minimises, as a formula.
    pub minimises: &'static str,
    /// How constraints enter.
    pub constraints: &'static str,
    /// Cost per iteration.
    pub cost: &'static str,
    /// What was measured, against what was printed or against a peer, and why they differ; empty = nothing yet.
    pub measured: &'static str,
    /// Does it keep constraints?
    pub listens: Listens,
    /// Does it take sparse rows without making them dense?
    pub sparse: bool,
    /// Does it take bounds on cluster sizes?
    pub sizes: bool,
    /// Does it choose the representation by itself unless told?
    pub represents: bool,
    /// Is the trace free of rises, and does it end at the objective?
    pub monotone: bool,
}

/// A method without its type: what the table gives out.
pub trait AnyMethod: Send + Sync {
    /// The table entry.
    fn info(&self) -> &'static Info;
    /// [`Method::run`] on f32 rows.
    fn run_f32(&self, ctx: &RunContext, problem: &Problem<'_, f32>) -> Result<Clustering>;
    /// [`Method::run`] on f64 rows.
    fn run_f64(&self, ctx: &RunContext, problem: &Problem<'_, f64>) -> Result<Clustering>;
    /// [`Method::run_each`] on f32 rows.
    fn run_each_f32(
        &self,
        ctx: &RunContext,
        problem: &Problem<'_, f32>,
        ks: &[usize],
    ) -> Option<Result<Vec<Clustering>>>;
    /// [`Method::run_each`] on f64 rows.
    fn run_each_f64(
        &self,
        ctx: &RunContext,
        problem: &Problem<'_, f64>,
        ks: &[usize],
    ) -> Option<Result<Vec<Clustering>>>;
    /// [`Method::memory`].
    fn memory(&self, n: usize, dims: usize, k: usize) -> u64;
    /// [`Method::objective`] on f32 rows.
    fn objective_f32(&self, problem: &Problem<'_, f32>, clustering: &Clustering) -> f64;
    /// [`Method::objective`] on f64 rows.
    fn objective_f64(&self, problem: &Problem<'_, f64>, clustering: &Clustering) -> f64;
}

impl<M: Method> AnyMethod for M {
    fn info(&self) -> &'static Info {
        const { &M::INFO }
    }
    fn run_f32(&self, ctx: &RunContext, problem: &Problem<'_, f32>) -> Result<Clustering> {
        self.run(ctx, problem)
    }
    fn run_f64(&self, ctx: &RunContext, problem: &Problem<'_, f64>) -> Result<Clustering> {
        self.run(ctx, problem)
    }
    fn run_each_f32(
        &self,
        ctx: &RunContext,
        problem: &Problem<'_, f32>,
        ks: &[usize],
    ) -> Option<Result<Vec<Clustering>>> {
        self.run_each(ctx, problem, ks)
    }
    fn run_each_f64(
        &self,
        ctx: &RunContext,
        problem: &Problem<'_, f64>,
        ks: &[usize],
    ) -> Option<Result<Vec<Clustering>>> {
        self.run_each(ctx, problem, ks)
    }
    fn memory(&self, n: usize, dims: usize, k: usize) -> u64 {
        Method::memory(self, n, dims, k)
    }
    fn objective_f32(&self, problem: &Problem<'_, f32>, clustering: &Clustering) -> f64 {
        self.objective(problem, clustering)
    }
    fn objective_f64(&self, problem: &Problem<'_, f64>, clustering: &Clustering) -> f64 {
        self.objective(problem, clustering)
    }
}

/// Calls the f32 or f64 form of a method by the type of the rows.
pub trait Typed: Float {
    /// Runs.
    fn run(method: &dyn AnyMethod, ctx: &RunContext, problem: &Problem<'_, Self>) -> Result<Clustering>;
    /// Runs for several k at once, where the method can.
    fn run_each(
        method: &dyn AnyMethod,
        ctx: &RunContext,
        problem: &Problem<'_, Self>,
        ks: &[usize],
    ) -> Option<Result<Vec<Clustering>>>;
    /// Recomputes the objective.
    fn objective(method: &dyn AnyMethod, problem: &Problem<'_, Self>, clustering: &Clustering) -> f64;
}

impl Typed for f32 {
    fn run(method: &dyn AnyMethod, ctx: &RunContext, problem: &Problem<'_, f32>) -> Result<Clustering> {
        method.run_f32(ctx, problem)
    }
    fn run_each(
        method: &dyn AnyMethod,
        ctx: &RunContext,
        problem: &Problem<'_, f32>,
        ks: &[usize],
    ) -> Option<Result<Vec<Clustering>>> {
        method.run_each_f32(ctx, problem, ks)
    }
    fn objective(method: &dyn AnyMethod, problem: &Problem<'_, f32>, clustering: &Clustering) -> f64 {
        method.objective_f32(problem, clustering)
    }
}

impl Typed for f64 {
    fn run(method: &dyn AnyMethod, ctx: &RunContext, problem: &Problem<'_, f64>) -> Result<Clustering> {
        method.run_f64(ctx, problem)
    }
    fn run_each(
        method: &dyn AnyMethod,
        ctx: &RunContext,
        problem: &Problem<'_, f64>,
        ks: &[usize],
    ) -> Option<Result<Vec<Clustering>>> {
        method.run_each_f64(ctx, problem, ks)
    }
    fn objective(method: &dyn AnyMethod, problem: &Problem<'_, f64>, clustering: &Clustering) -> f64 {
        method.objective_f64(problem, clustering)
    }
}

/// Makes a method from `name = value` settings.
pub type Build = fn(&[(String, String)]) -> Result<Box<dyn AnyMethod>>;

/// One line of the table.
pub struct Entry {
    /// What it is.
    pub info: &'static Info,
    /// Its parameters.
    pub parameters: fn() -> Vec<Parameter>,
    /// Makes it from `name = value` settings.
    pub build: Build,
}

const fn entry<M: Method + 'static>() -> Entry {
    Entry {
        info: const { &M::INFO },
        parameters: M::Params::describe,
        build: |settings| Ok(Box::new(M::new(M::Params::from_settings(M::INFO.name, settings)?)?)),
    }
}

/// Every method.
pub static METHODS: &[Entry] = &[
    entry::<fold::Fold>(),
    entry::<kmeans::Kmeans>(),
    entry::<cop_kmeans::CopKmeans>(),
    entry::<greedy_mlcl::GreedyMlcl>(),
    entry::<mlcl::Mlcl>(),
    entry::<lcc::Lcc>(),
    entry::<kernel_kmeans::KernelKmeans>(),
    entry::<ckm::Ckm>(),
    entry::<rckm::Rckm>(),
    entry::<bckm::Bckm>(),
    entry::<pck_means::PckMeans>(),
    entry::<mpck_means::MpckMeans>(),
    entry::<cvqe::Cvqe>(),
    entry::<lcvqe::Lcvqe>(),
    entry::<seeded_kmeans::SeededKmeans>(),
    entry::<constrained_kmeans::ConstrainedKmeans>(),
    entry::<cal::Cal>(),
    entry::<spcl::Spcl>(),
    entry::<csp::Csp>(),
    entry::<pcp::Pcp>(),
    entry::<em::Em>(),
    entry::<constrained_em::ConstrainedEm>(),
    entry::<exact::Exact>(),
    entry::<blp_kmeans::BlpKmeans>(),
    entry::<boost_cluster::BoostCluster>(),
    entry::<kernel_boost::KernelBoost>(),
    entry::<dist_boost::DistBoost>(),
];

/// What `auto` stands for.
pub const AUTO: &str = "fold";

/// The entry of that name; `auto` is the default method.
pub fn find(name: &str) -> Result<&'static Entry> {
    let name = if name == "auto" { AUTO } else { name };
    METHODS.iter().find(|e| e.info.name == name).ok_or_else(|| Error::NoSuchName {
        family: "method",
        name: name.to_owned(),
        hint: closest(name, METHODS.iter().map(|e| e.info.name)).map(str::to_owned),
    })
}
