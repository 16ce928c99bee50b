//! One clustering job: checks first, then representation, method, recount. Violations and objective of a [`Run`] are
//! counted here, never by the method.

use std::time::{Duration, Instant};

use super::trust::{self, Assessment, Distrusted, Settled, Trust};
use super::{Model, number_by_first_row};
use crate::blocks::means::means;
use crate::blocks::sizes;
use crate::constraints::{Chunklets, ConstraintId, ConstraintSet, Kind, Violations};
use crate::context::{RunContext, Termination};
use crate::data::{Dataset, Matrix, Scaling, Shape, Table, Transform};
use crate::error::{Error, Result};
use crate::methods::{self, AnyMethod, CandidateScore, Clustering, Listens, Problem, SizeBounds, Typed};
use crate::metrics;

/// Most violations that are listed one by one.
const LISTED: usize = 10_000;
/// Values of the data from which on a run is worth waking a worker for.
const MANY_VALUES: usize = 1_000_000;

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
    /// A metric to learn from the constraints after scaling.
    pub metric: Option<metrics::Choice>,
    /// Bounds on cluster sizes.
    pub sizes: SizeBounds,
    /// How far the constraints are believed, by methods that keep them.
    pub trust: Trust,
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
    /// No clustering that keeps the constraints has a smaller objective, where the method proves such a bound.
    pub lower_bound: Option<f64>,
    /// The method's own objective after each iteration.
    pub trace: Vec<f64>,
    /// Iterations.
    pub iterations: usize,
    /// How it ended.
    pub termination: Termination,
    /// Constraints that do not hold.
    pub violations: Violations,
    /// What was believed of the constraints, and why; `None` when nothing was to be doubted.
    pub assessment: Option<Assessment>,
    /// Things to know.
    pub notes: Vec<String>,
    /// Centres in the representation's space.
    pub centres: Matrix,
    /// Shapes of the clusters there; empty = plain distances.
    pub shapes: Vec<Shape>,
    /// Wall time.
    pub elapsed: Duration,
}

impl Job {
    /// A job with default settings.
    pub fn new(method: &str, k: usize) -> Job {
        let (sizes, trust) = (SizeBounds::default(), Trust::default());
        Job { method: method.to_owned(), k, settings: Vec::new(), scaling: None, metric: None, sizes, trust }
    }

    /// Checks everything that can be checked, then clusters.
    pub fn run<F: Typed>(&self, ctx: &RunContext, data: &Dataset<'_, F>, given: &ConstraintSet) -> Result<Run> {
        if data.n() * data.dims() < MANY_VALUES {
            return self.run_ready(ctx, data, given, None);
        }
        ctx.pool.inside(|| self.run_ready(ctx, data, given, None))
    }

    /// Clusterings for each k from one computation, where the method has one for all (see
    /// [`Method::run_each`](crate::methods::Method::run_each)) and does not doubt the constraints.
    pub(super) fn each<F: Typed>(
        &self,
        ctx: &RunContext,
        data: &Dataset<'_, F>,
        given: &ConstraintSet,
        ks: &[usize],
    ) -> Option<Result<Vec<Clustering>>> {
        let entry = methods::find(&self.method).ok()?;
        if entry.info.listens.obeys()
            || self.metric.is_some()
            || ks.is_empty()
            || ks.iter().any(|&k| k == 0 || k > data.n())
        {
            return None;
        }
        let method = (entry.build)(&self.settings).ok()?;
        let transform = self.scaling.unwrap_or_default().fit(data).ok()?;
        let table = if transform.is_identity() { None } else { Some(transform.apply(data).ok()?) };
        let lent = match &table {
            None => *data,
            Some(table) => with_weights(table, data).ok()?,
        };
        let (chunklets, _) = given.close_lenient(0.0).ok()?;
        let (k, sizes, scaling) = (ks[0], self.sizes, self.scaling);
        let problem = Problem { data: &lent, given, chunklets: &chunklets, k, sizes, scaling };
        F::run_each(method.as_ref(), ctx, &problem, ks)
    }

    /// Like [`run`](Self::run), with the clustering that [`each`](Self::each) found, if it did.
    pub(super) fn run_ready<F: Typed>(
        &self,
        ctx: &RunContext,
        data: &Dataset<'_, F>,
        given: &ConstraintSet,
        ready: Option<Clustering>,
    ) -> Result<Run> {
        let begun = Instant::now();
        let entry = methods::find(&self.method)?;
        let method = (entry.build)(&self.settings)?;
        if let Some(metric) = &self.metric {
            (metrics::find(&metric.name)?.build)(&metric.settings)?;
        }
        let n = data.n();
        if self.k == 0 || self.k > n {
            return Err(Error::K { k: self.k, rows: n });
        }
        fits_memory(method.as_ref(), ctx.memory(), n, data.dims(), self.k)?;
        let bounds = self.sizes.for_clusters(self.k);
        if bounds.is_some() && !entry.info.sizes {
            let why = "takes no bounds on cluster sizes".to_owned();
            return Err(Error::Unsupported { method: entry.info.name, why });
        }
        let fits_sizes = |chunklets: &Chunklets| {
            let Some(bounds) = &bounds else { return Ok(()) };
            let rows: Vec<u64> = (0..chunklets.len() as u32).map(|c| chunklets.members(c).len() as u64).collect();
            sizes::check(&rows, chunklets.graph(), self.k, bounds).map_err(Error::Sizes)
        };
        // Constraints are doubted only by methods that would keep them: all, or those of at least this weight.
        let keeps = match entry.info.listens {
            Listens::Hard => Some(0.0),
            Listens::Priced => Some(f64::INFINITY),
            Listens::Soft | Listens::No => None,
        };
        let trust = match self.trust {
            // Who picks a method that only obeys wants to be obeyed.
            Trust::Auto if !entry.info.represents => Trust::Hard,
            trust if self.k > 1 && !given.is_empty() => trust,
            _ => Trust::Hard,
        };
        let looked = keeps.map(|weight| trust::look(given, weight, self.k, trust)).transpose()?;
        if let Some(chunklets) = looked.as_ref().and_then(|l| l.kept_by(self.k)) {
            fits_sizes(chunklets)?;
        }

        let scaling = self.scaling.unwrap_or_default();
        let mut transform = scaling.fit(data)?;
        let transformed = if transform.is_identity() { None } else { Some(transform.apply(data)?) };
        let lent = match &transformed {
            None => *data,
            Some(table) => with_weights(table, data)?,
        };
        // Who asks for a scaling or a metric has chosen the representation.
        let chooses = entry.info.represents && self.scaling.is_none() && self.metric.is_none();
        let mut settled = match looked {
            None => Settled::all(given.close_lenient(0.0)?.0),
            Some(looked) if trust == Trust::Hard => Settled::all(looked.chunklets()),
            Some(looked) => looked.settle(ctx, &lent, (!chooses).then_some(scaling), given, self.k, trust)?,
        };
        fits_sizes(&settled.chunklets)?;
        let believed = settled.believed.as_ref().unwrap_or(given);
        let mut notes = Vec::new();
        let mut measured = None;
        if let Some(choice) = &self.metric {
            let learned = choice.learn(ctx, &lent, believed, &settled.chunklets)?;
            notes.extend(learned.notes);
            measured = (!learned.transform.is_identity()).then(|| learned.transform.apply(&lent)).transpose()?;
            transform = transform.then(learned.transform);
        }
        let lent = match &measured {
            None => lent,
            Some(table) => with_weights(table, data)?,
        };
        let problem = Problem {
            data: &lent,
            given: believed,
            chunklets: &settled.chunklets,
            k: self.k,
            sizes: self.sizes,
            scaling: if chooses { None } else { Some(scaling) },
        };
        // A method that does not choose its space has nothing to add to labels in which every constraint is weighed.
        let as_judged = !chooses && self.metric.is_none() && bounds.is_none();
        let weighed = settled.labels.take().filter(|_| as_judged && trust == Trust::Soft);
        let mut clustering = match weighed {
            None => match ready {
                Some(clustering) => clustering,
                None => F::run(method.as_ref(), ctx, &problem)?,
            },
            Some(labels) => Clustering::of_labels(labels),
        };

        // Restarts that were never begun do not show in the winner's own termination; a proof stays one.
        if let (Err(stop), true) = (ctx.checkpoint(), clustering.termination != Termination::Optimal) {
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
        let chosen_shapes = clustering.chosen.as_ref().map_or(&[][..], |c| &c.shapes);
        let shapes = if chosen_shapes.is_empty() { Vec::new() } else { permuted(chosen_shapes, &old_ids) };
        let mut name = if scaling == Scaling::None { "raw" } else { scaling.name() }.to_owned();
        if let Some(metric) = &self.metric {
            name = if name == "raw" { metric.name.clone() } else { format!("{name}, {}", metric.name) };
        }
        let representation = match clustering.chosen {
            Some(chosen) => Representation {
                name: if self.metric.is_some() { format!("{name}, {}", chosen.name) } else { chosen.name },
                transform: transform.then(chosen.transform),
                candidates: chosen.candidates,
            },
            None => Representation { name, transform, candidates: Vec::new() },
        };
        if clustering.trace.is_empty() {
            clustering.trace.push(objective);
        }
        notes.extend(clustering.notes);
        if let Some(found) = &mut settled.assessment {
            found.distrusted.iter_mut().for_each(|d| d.broken = is_broken(d, &clustering.labels));
            notes.extend(found.note(given));
        }
        Ok(Run {
            method: entry.info.name,
            representation,
            k: self.k,
            seed: ctx.seed,
            sizes,
            objective,
            lower_bound: clustering.lower_bound.map(|b| b.min(objective)),
            trace: clustering.trace,
            iterations: clustering.iterations,
            termination: clustering.termination,
            violations: given.violations(&clustering.labels, LISTED),
            assessment: settled.assessment,
            notes,
            centres,
            shapes,
            labels: clustering.labels,
            elapsed: begun.elapsed(),
        })
    }
}

/// The shapes in a new order of clusters.
fn permuted(shapes: &[Shape], old_ids: &[u32]) -> Vec<Shape> {
    old_ids.iter().map(|&c| shapes[c as usize].clone()).collect()
}

/// Refuses a method that would need more memory than is allowed, and says how many rows would do.
fn fits_memory(method: &dyn AnyMethod, allowed: u64, n: usize, dims: usize, k: usize) -> Result<()> {
    let needed = method.memory(n, dims, k);
    if needed <= allowed {
        return Ok(());
    }
    let (mut fits, mut over) = (0, n);
    while over - fits > 1 {
        let middle = fits + (over - fits) / 2;
        if method.memory(middle, dims, k) <= allowed { fits = middle } else { over = middle }
    }
    Err(Error::Memory { method: method.info().name, rows: n, needed, allowed, fits })
}

/// The rows of a table with the weights of the data they were made from.
pub(super) fn with_weights<'a, F: Typed>(table: &'a Table<F>, data: &Dataset<'a, F>) -> Result<Dataset<'a, F>> {
    let view = table.view()?;
    match data.weights() {
        Some(weights) => view.with_weights(weights),
        None => Ok(view),
    }
}

fn is_broken(d: &Distrusted, labels: &[u32]) -> bool {
    let together = labels[d.a as usize] == labels[d.b as usize];
    !matches!(d.id, ConstraintId::Pair(_)) || together != (d.kind == Kind::MustLink)
}

impl Run {
    /// The constraints that were not believed, most probably wrong first.
    pub fn distrusted(&self) -> &[Distrusted] {
        self.assessment.as_ref().map_or(&[], |a| &a.distrusted)
    }

    /// How far above the optimum the objective can be at most, as a share of it.
    pub fn gap(&self) -> Option<f64> {
        let over =
            |bound: f64| if self.objective > bound { (self.objective - bound) / self.objective.abs() } else { 0.0 };
        self.lower_bound.map(over)
    }

    /// What is needed to label new rows.
    pub fn model(&self, features: &[String]) -> Model {
        Model {
            method: self.method.to_owned(),
            k: self.k,
            features: features.to_vec(),
            transform: self.representation.transform.clone(),
            centres: self.centres.clone(),
            shapes: self.shapes.clone(),
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
        if !self.shapes.is_empty() {
            self.shapes = permuted(&self.shapes, &old_ids);
        }
    }
}
