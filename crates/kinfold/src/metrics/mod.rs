//! Metrics learned from constraints: one file each, one line each in [`METRICS`]. A metric is a [`Transform`] of the rows
//! that comes before the method (`--metric NAME`), is saved with the model and applied to new rows.

mod dca;
mod itml;
mod mmc;
mod rca;

use crate::constraints::{Chunklets, ConstraintSet};
use crate::context::RunContext;
use crate::data::{Dataset, Float, Matrix, Rows, Transform};
use crate::error::{Error, Result};
use crate::params::{Parameter, Params};

/// What a metric is learned from.
#[derive(Clone, Copy)]
pub struct Evidence<'a> {
    /// The rows.
    pub x: &'a Matrix,
    /// The constraints as given, for metrics that work pair by pair.
    pub given: &'a ConstraintSet,
    /// What follows from them.
    pub chunklets: &'a Chunklets,
}

/// What was learned.
#[derive(Debug, Clone, PartialEq)]
pub struct Learned {
    /// From rows to a space in which Euclidean distances are those of the metric.
    pub transform: Transform,
    /// Things a user should know.
    pub notes: Vec<String>,
    /// Iterations; 1 where the answer is computed at once.
    pub iterations: usize,
}

impl Learned {
    /// Of a map whose rows are directions.
    fn of_map(map: &Matrix) -> Learned {
        let transform = Transform::Linear { shift: Vec::new(), matrix: map.transposed() };
        Learned { transform, notes: Vec::new(), iterations: 1 }
    }

    /// Nothing to learn from: rows as they are.
    fn nothing(name: &str, needs: &str) -> Learned {
        let note = format!("{name} learned nothing: it needs {needs}; distances are left as they are");
        Learned { transform: Transform::Identity, notes: vec![note], iterations: 1 }
    }
}

/// A way to learn a metric: what an author writes.
pub trait MetricLearner: Send + Sync {
    /// Its parameters.
    type Params: Params;
    /// The table entry.
    const INFO: Info;

    /// Makes it from checked parameters.
    fn new(params: Self::Params) -> Self
    where
        Self: Sized;

    /// Learns. Stops early with what it has when the context says so.
    fn learn(&self, ctx: &RunContext, evidence: &Evidence<'_>) -> Result<Learned>;
}

/// What a table entry says about a metric.
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize)]
pub struct Info {
    /// Its name.
    pub name: &'static str,
    /// One line.
    pub summary: &'static str,
    /// Where it comes from.
    pub paper: &'static str,
    /// What it optimises, as a formula.
    pub minimises: &'static str,
    /// How constraints enter.
    pub constraints: &'static str,
    /// Cost.
    pub cost: &'static str,
    /// What was measured, against what was printed or against a peer, and why they differ.
    pub measured: &'static str,
}

/// A learner without its type.
pub trait AnyMetric: Send + Sync {
    /// [`MetricLearner::learn`].
    fn learn(&self, ctx: &RunContext, evidence: &Evidence<'_>) -> Result<Learned>;
}

impl<M: MetricLearner> AnyMetric for M {
    fn learn(&self, ctx: &RunContext, evidence: &Evidence<'_>) -> Result<Learned> {
        MetricLearner::learn(self, ctx, evidence)
    }
}

/// One line of the table.
pub struct Entry {
    /// What it is.
    pub info: &'static Info,
    /// Its parameters.
    pub parameters: fn() -> Vec<Parameter>,
    /// Makes it from `name = value` settings.
    #[allow(clippy::type_complexity)]
    pub build: fn(&[(String, String)]) -> Result<Box<dyn AnyMetric>>,
}

const fn entry<M: MetricLearner + 'static>() -> Entry {
    Entry {
        info: const { &M::INFO },
        parameters: M::Params::describe,
        build: |settings| Ok(Box::new(M::new(M::Params::from_settings(M::INFO.name, settings)?))),
    }
}

/// Every metric.
pub static METRICS: &[Entry] = &[entry::<rca::Rca>(), entry::<dca::Dca>(), entry::<itml::Itml>(), entry::<mmc::Mmc>()];

/// Columns at most: a metric is a matrix of columns × columns.
const MOST_DIMS: usize = 4096;

/// The entry of that name.
pub fn find(name: &str) -> Result<&'static Entry> {
    METRICS.iter().find(|e| e.info.name == name).ok_or_else(|| Error::NoSuchName {
        family: "metric",
        name: name.to_owned(),
        hint: crate::params::closest(name, METRICS.iter().map(|e| e.info.name)).map(str::to_owned),
    })
}

/// A metric to be learned, by name.
#[derive(Debug, Clone, PartialEq)]
pub struct Choice {
    /// Its name.
    pub name: String,
    /// `name = value` settings.
    pub settings: Vec<(String, String)>,
}

impl Choice {
    /// With default settings.
    pub fn new(name: &str) -> Choice {
        Choice { name: name.to_owned(), settings: Vec::new() }
    }

    /// Learns it from rows and constraints.
    ///
    /// ```
    /// use kinfold::{constraints::{ConstraintSet, Kind}, context::RunContext, data::Dataset, metrics::Choice};
    /// let rows = [0.0, 0.0, 2.0, 0.0, 0.0, 4.0, 5.0, 5.0];
    /// let data = Dataset::dense(&rows, 2)?;
    /// let mut given = ConstraintSet::new(4);
    /// given.add_pair(Kind::MustLink, 0, 1)?;
    /// let learned = Choice::new("rca").learn(&RunContext::default(), &data, &given, &given.close()?)?;
    /// assert_eq!(learned.transform.apply(&data)?.view()?.n(), 4);
    /// # Ok::<(), kinfold::Error>(())
    /// ```
    pub fn learn<F: Float>(
        &self,
        ctx: &RunContext,
        data: &Dataset<'_, F>,
        given: &ConstraintSet,
        chunklets: &Chunklets,
    ) -> Result<Learned> {
        let entry = find(&self.name)?;
        let learner = (entry.build)(&self.settings)?;
        let refused = |why: String| Err(Error::Unsupported { method: entry.info.name, why });
        let Rows::Dense(rows) = data.rows() else {
            return refused("needs dense rows: a metric is a matrix of columns × columns".into());
        };
        if data.dims() > MOST_DIMS {
            return refused(format!("takes at most {MOST_DIMS} columns, not {}", data.dims()));
        }
        let x = Matrix::from_vec(data.dims(), rows.values().iter().map(|v| v.to_f64()).collect());
        let learned = learner.learn(ctx, &Evidence { x: &x, given, chunklets })?;
        if let Transform::Linear { matrix, .. } = &learned.transform
            && (matrix.cols() == 0 || matrix.values().iter().any(|v| !v.is_finite()))
        {
            return Err(Error::Numeric(format!("{} found no metric: the rows do not differ", entry.info.name)));
        }
        Ok(learned)
    }
}

/// The differences of the given pairs of one kind, one after the other.
fn differences(evidence: &Evidence<'_>, kind: crate::constraints::Kind) -> Matrix {
    let mut out = Matrix::zeros(0, evidence.x.cols());
    for p in evidence.given.expanded().filter(|p| p.kind == kind) {
        let (a, b) = (evidence.x.row(p.a as usize), evidence.x.row(p.b as usize));
        out.push(&a.iter().zip(b).map(|(x, y)| x - y).collect::<Vec<f64>>());
    }
    out
}

#[cfg(test)]
mod tests;
