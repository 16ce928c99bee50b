//! One clustering job: checks first, then representation, method, recount. Violations and objective of a [`Run`] are
//! counted here, never by the method.

use std::time::{Duration, Instant};

use super::{Model, number_by_first_row};
use crate::blocks::means::means;
use crate::blocks::sizes;
use crate::constraints::{ConstraintSet, Feasibility, FeasibleOptions, Violations, feasible};
use crate::context::{RunContext, Termination};
use crate::data::{Dataset, Matrix, Scaling, Transform};
use crate::error::{Error, Result};
use crate::methods::{self, CandidateScore, Listens, Problem, SizeBounds, Typed};

/// Most violations that are listed one by one.
const LISTED: usize = 10_000;

/// What to do.
///
/// ```
/// use kinfold::pipeline::Job;
/// use kinfold::data::Scaling;
/// let job = Job { scaling: Some(Scaling::Standard), ..Job::new("kmeans", 3) };
/// assert_eq!(job.k, 3);
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Job {
    /// Name of the method.
    pub method: String,
    /// Number of clusters.
    pub k: usize,
    /// `name = value` settings of the method.
    pub settings: Vec<(String, String)>,
    /// Scaling before everything else; `None` leaves it to the method (as given, unless it chooses by itself).
    pub scaling: Option<Scaling>,
    /// Bounds on cluster sizes.
    pub sizes: SizeBounds,
}

/// The space in which the rows were clustered.
#[derive(Debug, Clone, PartialEq)]
pub struct Representation {
    /// Its name: raw, standard, …, or what a method chose.
    pub name: String,
    /// What was done to the rows.
    pub transform: Transform,
    /// What a method chose from; empty when it does not choose.
    pub candidates: Vec<CandidateScore>,
}

/// What came of a job.
#[derive(Debug, Clone, PartialEq)]
pub struct Run {
    /// The method's name.
    pub method: &'static str,
    /// The space it worked in.
    pub representation: Representation,
    /// Number of clusters asked for.
    pub k: usize,
    /// The seed.
    pub seed: u64,
    /// Cluster of every row, from 0, numbered by first row.
    pub labels: Vec<u32>,
    /// Rows of each cluster.
    pub sizes: Vec<usize>,
    /// What the method minimises, recomputed.
    pub objective: f64,
    /// The method's own objective after each iteration.
    pub trace: Vec<f64>,
    /// Iterations.
    pub iterations: usize,
    /// How it ended.
    pub termination: Termination,
    /// Constraints that do not hold.
    pub violations: Violations,
    /// Things to know.
    pub notes: Vec<String>,
    /// Centres in the representation's space.
    pub centres: Matrix,
    /// Wall time.
    pub elapsed: Duration,
}

impl Job {
    /// A job with default settings.
    pub fn new(method: &str, k: usize) -> Job {
        Job { method: method.to_owned(), k, settings: Vec::new(), scaling: None, sizes: SizeBounds::default() }
    }

    /// Checks everything that can be checked, then clusters.
    pub fn run<F: Typed>(&self, ctx: &RunContext, data: &Dataset<'_, F>, given: &ConstraintSet) -> Result<Run> {
        let begun = Instant::now();
        let entry = methods::find(&self.method)?;
        let method = (entry.build)(&self.settings)?;
        let n = data.n();
        if self.k == 0 || self.k > n {
            return Err(Error::K { k: self.k, rows: n });
        }
        let bounds = self.sizes.for_clusters(self.k);
        if bounds.is_some() && !entry.info.sizes {
            let why = "takes no bounds on cluster sizes".to_owned();
            return Err(Error::Unsupported { method: entry.info.name, why });
        }
        let chunklets = match entry.info.listens {
            Listens::Hard => given.close()?,
            Listens::Soft | Listens::No => given.close_lenient(0.0)?.0,
        };
        if entry.info.listens == Listens::Hard {
            if self.k > chunklets.len() {
                return Err(Error::TooFewChunklets { k: self.k, chunklets: chunklets.len() });
            }
            // Before any work: an answer in milliseconds beats one after an hour.
            if let Feasibility::Infeasible(why) = feasible(&chunklets, self.k, &FeasibleOptions::default()) {
                return Err(Error::Infeasible(why));
            }
        }
        if let Some(bounds) = &bounds {
            let rows: Vec<u64> = (0..chunklets.len() as u32).map(|c| chunklets.members(c).len() as u64).collect();
            sizes::check(&rows, chunklets.graph(), self.k, bounds).map_err(Error::Sizes)?;
        }

        let scaling = self.scaling.unwrap_or_default();
        let transform = scaling.fit(data)?;
        let transformed = if transform.is_identity() { None } else { Some(transform.apply(data)?) };
        let lent = match &transformed {
            None => *data,
            Some(table) => match data.weights() {
                Some(weights) => table.view()?.with_weights(weights)?,
                None => table.view()?,
            },
        };
        let problem =
            Problem { data: &lent, given, chunklets: &chunklets, k: self.k, sizes: self.sizes, scaling: self.scaling };
        let mut clustering = F::run(method.as_ref(), ctx, &problem)?;

        // Restarts that were never begun do not show in the winner's own termination.
        if let Err(stop) = ctx.checkpoint() {
            clustering.termination = stop.into();
        }
        let objective = F::objective(method.as_ref(), &problem, &clustering);
        let old_ids = number_by_first_row(&mut clustering.labels, self.k);
        let mut sizes = vec![0; self.k];
        clustering.labels.iter().for_each(|&l| sizes[l as usize] += 1);
        let centres = match &clustering.centres {
            Some(found) => {
                let mut centres = Matrix::zeros(0, found.cols());
                old_ids.iter().for_each(|&c| centres.push(found.row(c as usize)));
                centres
            }
            None => means(&lent, &clustering.labels, self.k).0,
        };
        let representation = match clustering.chosen {
            Some(chosen) => Representation {
                name: chosen.name,
                transform: transform.then(chosen.transform),
                candidates: chosen.candidates,
            },
            None => Representation { name: scaling.name().to_owned(), transform, candidates: Vec::new() },
        };
        Ok(Run {
            method: entry.info.name,
            representation,
            k: self.k,
            seed: ctx.seed,
            sizes,
            objective,
            trace: clustering.trace,
            iterations: clustering.iterations,
            termination: clustering.termination,
            violations: given.violations(&clustering.labels, LISTED),
            notes: clustering.notes,
            centres,
            labels: clustering.labels,
            elapsed: begun.elapsed(),
        })
    }
}

impl Run {
    /// What is needed to label new rows.
    pub fn model(&self, features: &[String]) -> Model {
        Model {
            method: self.method.to_owned(),
            k: self.k,
            features: features.to_vec(),
            transform: self.representation.transform.clone(),
            centres: self.centres.clone(),
        }
    }

    /// Renames clusters so that rows keep the ids of an earlier run where they can.
    pub fn keep_ids(&mut self, previous: &[Option<u32>]) {
        let old_ids = super::keep_ids(&mut self.labels, self.k, previous);
        let (mut sizes, mut centres) = (Vec::new(), Matrix::zeros(0, self.centres.cols()));
        for &old in &old_ids {
            sizes.push(self.sizes[old as usize]);
            centres.push(self.centres.row(old as usize));
        }
        (self.sizes, self.centres) = (sizes, centres);
    }
}
