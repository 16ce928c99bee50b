//! Candidate clusterings of one problem: a space (a base, a base whitened by the chunklets: rca, or the waves of its
//! neighbourhood graph, whitened by the chunklets: those that run along clusters fade), a start (k-means on
//! chunklets, or k-means on the spectral embedding of their votes) and refinements: L relearns the metric from the
//! clusters, whitens and iterates again; N lets neighbours vote, then once more with affinities as sharp
//! as the constrained rows show them to be. Every one keeps all constraints.
//! Candidates that share a space are one branch and share its k-means, graph and metric; branches run side by side.

use std::borrow::Cow;
use std::sync::OnceLock;

use super::constrained_em::Constrained;
use super::lloyd::{Exact, Limits, lloyd};
use super::metric::{Shrinkage, whitened};
use super::mixture::{self, Covariance, Maximiser};
use super::neighbours::{Neighbours, Votes};
use super::represent::Base;
use super::units::Units;
use super::{means, refine, seeding, spectral};
use crate::constraints::Chunklets;
use crate::context::RunContext;
use crate::data::{Dataset, Matrix};
use crate::error::Result;

/// Iterations of one k-means start at most.
const LIMITS: Limits = Limits { max_iter: 100, tolerance: 0.0 };
/// Waves of a neighbourhood graph; twice as many as clusters where that is more.
const WAVES: usize = 20;
/// How a mixture is fitted.
const MIXTURE: mixture::Settings =
    mixture::Settings { covariance: Covariance::Auto, reg: 1e-6, shrink: true, max_iter: 20, tolerance: 1e-4 };
/// Columns as given are in few candidates, their standardised form in many: so both have about the same say (glass).
const AS_GIVEN: f64 = 2.0;
/// Times the metric is relearnt at most.
const RELEARNINGS: usize = 3;

/// What is done in a space.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// k-means.
    Plain,
    /// k-means, then neighbours.
    Neighbours,
    /// k-means, metric relearnt.
    Relearnt,
    /// k-means, metric relearnt, then neighbours.
    RelearntNeighbours,
    /// k-means, then a Gaussian mixture.
    Mixture,
    /// Spectral start.
    Spectral,
    /// Spectral start, then neighbours.
    SpectralNeighbours,
    /// Spectral start on the graph of the relearnt metric, then neighbours.
    SpectralRelearntNeighbours,
}

impl Form {
    /// Are the clusters those of nearest centres in some linear space?
    pub fn is_linear(self) -> bool {
        matches!(self, Form::Plain | Form::Relearnt)
    }
    /// Where few constraints leave it open, neighbours mostly know more than centres; not so where round clusters overlap.
    /// Chosen with the truth in view, on glass, breast-tissue and a few others.
    fn prior(self) -> f64 {
        if self.is_linear() { 0.25 } else { 1.0 }
    }
    fn relearns(self) -> bool {
        matches!(self, Form::Relearnt | Form::RelearntNeighbours | Form::SpectralRelearntNeighbours)
    }
    fn embeds_the_space(self) -> bool {
        matches!(self, Form::Spectral | Form::SpectralNeighbours)
    }
    fn name(self, space: &str) -> String {
        match self {
            Form::Plain => space.to_owned(),
            Form::Neighbours => format!("{space}+N"),
            Form::Relearnt => format!("{space}+L"),
            Form::RelearntNeighbours => format!("{space}+L+N"),
            Form::Mixture => format!("{space}+M"),
            Form::Spectral => format!("spectral({space})"),
            Form::SpectralNeighbours => format!("spectral({space})+N"),
            Form::SpectralRelearntNeighbours => format!("spectral({space}+L)+N"),
        }
    }
}

/// A base, or a metric learned from the chunklets in it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Branch {
    /// Which base.
    pub base: usize,
    /// Its waves instead of its columns?
    pub waves: bool,
    /// Whitened by the chunklets?
    pub rca: Option<Shrinkage>,
}

/// One candidate.
#[derive(Debug, Clone, PartialEq)]
pub struct Candidate {
    /// The space.
    pub branch: Branch,
    /// What is done in it.
    pub form: Form,
    /// What people call it.
    pub name: String,
    /// What it has to say before anything is tested.
    pub prior: f64,
}

/// The candidates in order, simpler ones first among equals. `learnt`: some chunklet has two rows, so that there is a
/// covariance to learn. `large`: only forms that a bounded sample can decide and a linear pass can finish.
pub fn offered(bases: &[Base], learnt: bool, large: bool) -> Vec<Candidate> {
    use Form::*;
    let last = bases.len() - 1;
    let mut spaces: Vec<(Branch, String, &[Form])> = Vec::new();
    for (i, base) in bases.iter().enumerate() {
        let forms: &[Form] = match (large, i == last) {
            (false, false) => &[Plain, Neighbours, SpectralNeighbours],
            (false, true) => &[
                Plain,
                Relearnt,
                Mixture,
                Neighbours,
                RelearntNeighbours,
                SpectralRelearntNeighbours,
                SpectralNeighbours,
                Spectral,
            ],
            (true, false) => &[Plain, SpectralNeighbours],
            (true, true) => &[Plain, Relearnt, SpectralNeighbours, SpectralRelearntNeighbours],
        };
        spaces.push((Branch { base: i, waves: false, rca: None }, base.name.clone(), forms));
    }
    if learnt {
        let forms: [&[Form]; 3] = if large {
            [&[Plain, SpectralNeighbours], &[Plain], &[Plain, Relearnt]]
        } else {
            [
                &[Plain, Neighbours, SpectralNeighbours],
                &[Plain, Neighbours, SpectralNeighbours],
                &[Plain, Relearnt, Mixture, Neighbours, RelearntNeighbours, SpectralRelearntNeighbours],
            ]
        };
        let shrinkages = [
            (Shrinkage::Share(0.01), "rca(.01)"),
            (Shrinkage::RowsPerColumn(0.3), "rca(.3d)"),
            (Shrinkage::RowsPerColumn(1.0), "rca(d)"),
        ];
        for ((shrinkage, name), forms) in shrinkages.into_iter().zip(forms) {
            spaces.push((Branch { base: last, waves: false, rca: Some(shrinkage) }, name.to_owned(), forms));
        }
        if !large {
            let branch = Branch { base: last, waves: true, rca: Some(Shrinkage::Share(0.01)) };
            spaces.push((branch, format!("waves({})", bases[last].name), &[Plain, Neighbours]));
        }
    }
    let mut all: Vec<Candidate> = spaces
        .iter()
        .flat_map(|(branch, space, forms)| {
            let prior = |form: Form| match large {
                true => 1.0,
                false => form.prior() * if branch.base < last { AS_GIVEN } else { 1.0 },
            };
            forms.iter().map(move |&form| Candidate {
                branch: *branch,
                form,
                name: form.name(space),
                prior: prior(form),
            })
        })
        .collect();
    if large {
        all.sort_by_key(|c| !c.form.is_linear());
    }
    all
}

/// What is found out about rows in their spaces by the first who asks.
pub struct Graphs {
    neighbours: Vec<OnceLock<Neighbours>>,
    waves: Vec<OnceLock<Matrix>>,
}

impl Graphs {
    /// For so many spaces.
    pub fn new(spaces: usize) -> Graphs {
        let (mut neighbours, mut waves) = (Vec::new(), Vec::new());
        neighbours.resize_with(spaces, OnceLock::new);
        waves.resize_with(spaces, OnceLock::new);
        Graphs { neighbours, waves }
    }

    fn neighbours(&self, ctx: &RunContext, bases: &[Base], base: usize) -> &Neighbours {
        self.neighbours[base].get_or_init(|| Neighbours::new(&ctx.pool, &bases[base].x))
    }

    fn waves(&self, ctx: &RunContext, bases: &[Base], base: usize, k: usize) -> Result<&Matrix> {
        if let Some(found) = self.waves[base].get() {
            return Ok(found);
        }
        let alone = Chunklets::singletons(bases[base].x.rows());
        let votes = Votes::new(self.neighbours(ctx, bases, base), &alone);
        let found = spectral::waves(&votes, &alone, WAVES.max(2 * k), &mut ctx.rng("waves", base as u64))?;
        Ok(self.waves[base].get_or_init(|| found))
    }
}

/// What the candidates are fitted to, apart from the constraints.
pub struct Instance<'a> {
    /// The spaces.
    pub bases: &'a [Base],
    /// What is between the rows in them.
    pub graphs: &'a Graphs,
    /// Row weights.
    pub weights: Option<&'a [f64]>,
    /// Number of clusters.
    pub k: usize,
}

/// What came of one candidate.
#[derive(Debug, Clone)]
pub struct Fitted {
    /// Cluster of every chunklet.
    pub labels: Vec<u32>,
    /// From the coordinates of the base to the space it worked in (rows = directions); `None` = the base itself.
    pub map: Option<Matrix>,
}

/// Neighbours in one space, and their votes.
struct Near<'a> {
    neighbours: Cow<'a, Neighbours>,
    votes: Votes,
}

impl<'a> Near<'a> {
    fn new(neighbours: Cow<'a, Neighbours>, chunklets: &Chunklets) -> Near<'a> {
        Near { votes: Votes::new(&neighbours, chunklets), neighbours }
    }
}

/// Fits the candidates of one branch to these constraints. `None` when the run was stopped meanwhile.
pub fn fit_branch(
    ctx: &RunContext,
    instance: &Instance<'_>,
    chunklets: &Chunklets,
    branch: Branch,
    forms: &[Form],
    restarts: usize,
    stream: u64,
) -> Result<Option<Vec<Fitted>>> {
    let k = instance.k;
    let (bases, graphs) = (instance.bases, instance.graphs);
    let base = if branch.waves { graphs.waves(ctx, bases, branch.base, k)? } else { &bases[branch.base].x };
    let learnt = match branch.rca {
        None => None,
        Some(shrinkage) => Some(whitened(base, chunklets.of_rows(), chunklets.len(), shrinkage)?),
    };
    let (x, map) = learnt.as_ref().map_or((base, None), |(x, map)| (x, Some(map)));
    // No map leads new rows to waves.
    let map = map.filter(|_| !branch.waves);
    let weight = chunklet_weights(chunklets, instance.weights);
    let refined = |near: &Near<'_>, labels: &[u32]| {
        let mut labels = labels.to_vec();
        refine::by_neighbours(&near.votes, chunklets.graph(), &weight, k, &mut labels);
        let power = near.neighbours.sharpness(chunklets, k, &labels);
        if power > 1 {
            let votes = Votes::sharpened(&near.neighbours, chunklets, power);
            refine::by_neighbours(&votes, chunklets.graph(), &weight, k, &mut labels);
        }
        labels
    };
    let fit = |x: &Matrix, part: u64| kmeans(ctx, x, instance, chunklets, restarts, stream * 8 + part);
    let near_in = |x: &Matrix| Near::new(Cow::Owned(Neighbours::new(&ctx.pool, x)), chunklets);

    let needs_votes = forms.iter().any(|f| *f == Form::Neighbours || f.embeds_the_space());
    let near = needs_votes.then(|| match branch.rca {
        Some(_) if !branch.waves => near_in(x),
        _ => Near::new(Cow::Borrowed(graphs.neighbours(ctx, bases, branch.base)), chunklets),
    });
    let start = if forms.iter().all(|f| f.embeds_the_space()) { None } else { Some(fit(x, 0)?) };
    let embedded = match &near {
        Some(near) if forms.iter().any(|f| f.embeds_the_space()) => {
            let coordinates = spectral::embed_parts(&near.votes, chunklets, k, &mut ctx.rng("spectral", stream * 8))?;
            Some(fit(&coordinates, 1)?)
        }
        _ => None,
    };
    let relearnt = match &start {
        Some(start) if forms.iter().any(|f| f.relearns()) => Some(relearn(ctx, x, instance, chunklets, start)?),
        _ => None,
    };
    let relearnt_near =
        relearnt.as_ref().filter(|_| forms.iter().any(|f| f.relearns() && *f != Form::Relearnt)).map(|r| near_in(&r.x));
    let mut out = Vec::new();
    for form in forms {
        if ctx.checkpoint().is_err() {
            return Ok(None);
        }
        let of = |labels: &Option<Vec<u32>>| labels.clone().unwrap_or_default();
        let labels = match (form, &near, &relearnt, &relearnt_near) {
            (Form::Plain, ..) => of(&start),
            (Form::Neighbours, Some(v), ..) => refined(v, &of(&start)),
            (Form::Relearnt, _, Some(r), _) => r.labels.clone(),
            (Form::RelearntNeighbours, _, Some(r), Some(v)) => refined(v, &r.labels),
            (Form::Mixture, ..) => mixture(ctx, x, instance, chunklets, &of(&start))?,
            (Form::Spectral, ..) => of(&embedded),
            (Form::SpectralNeighbours, Some(v), ..) => refined(v, &of(&embedded)),
            (Form::SpectralRelearntNeighbours, _, Some(_), Some(v)) => {
                let coordinates =
                    spectral::embed_parts(&v.votes, chunklets, k, &mut ctx.rng("spectral", stream * 8 + 1))?;
                refined(v, &fit(&coordinates, 2)?)
            }
            _ => unreachable!("everything a form needs was made above"),
        };
        let relearnt_map = relearnt.as_ref().filter(|_| form.relearns()).map(|r| match map {
            // The relearnt map works on the coordinates of `x`: directions times directions.
            Some(first) => super::linalg::project(&r.map, &first.transposed()),
            None => r.map.clone(),
        });
        out.push(Fitted { labels, map: relearnt_map.or_else(|| map.cloned()) });
    }
    Ok(Some(out))
}

/// Total row weight of every chunklet.
pub fn chunklet_weights(chunklets: &Chunklets, weights: Option<&[f64]>) -> Vec<f64> {
    let of = |c: u32| match weights {
        Some(w) => chunklets.members(c).iter().map(|&row| w[row as usize]).sum(),
        None => chunklets.members(c).len() as f64,
    };
    (0..chunklets.len() as u32).map(of).collect()
}

/// Row labels to chunklet labels.
pub fn of_chunklets(chunklets: &Chunklets, rows: &[u32]) -> Vec<u32> {
    (0..chunklets.len() as u32).map(|c| rows[chunklets.members(c)[0] as usize]).collect()
}

/// Chunklet labels to row labels.
pub fn of_rows(chunklets: &Chunklets, labels: &[u32]) -> Vec<u32> {
    chunklets.of_rows().iter().map(|&c| labels[c as usize]).collect()
}

/// Coordinates as rows to cluster.
pub fn lend<'a>(x: &'a Matrix, weights: Option<&'a [f64]>) -> Result<Dataset<'a, f64>> {
    let data = Dataset::dense_trusted(x.values(), x.cols());
    match weights {
        Some(w) => data.with_weights(w),
        None => Ok(data),
    }
}

/// Constrained k-means on chunklets, best of a few starts: heavy chunklets that are apart, the rest by D².
fn kmeans(
    ctx: &RunContext,
    x: &Matrix,
    instance: &Instance<'_>,
    chunklets: &Chunklets,
    restarts: usize,
    stream: u64,
) -> Result<Vec<u32>> {
    let data = lend(x, instance.weights)?;
    let units = Units::new(&data, chunklets);
    let mut rng = ctx.rng("candidates", stream);
    let mut place = Exact::quick(&units, instance.k);
    let mut best: Option<(f64, Vec<u32>)> = None;
    for r in 0..restarts.max(1) {
        let chosen = seeding::heavy_and_apart(&units, instance.k, r > 0, &mut rng);
        let centres = seeding::kmeans_plus_plus(&ctx.pool, &units, instance.k, chosen, true, &mut rng);
        let outcome = lloyd(ctx, &units, centres, LIMITS, &mut place)?;
        if best.as_ref().is_none_or(|b| outcome.cost() < b.0) {
            best = Some((outcome.cost(), outcome.labels));
        }
        if ctx.checkpoint().is_err() {
            break;
        }
    }
    Ok(of_chunklets(chunklets, &best.map(|b| b.1).unwrap_or_default()))
}

/// The most probable labels under a Gaussian mixture that starts from these.
fn mixture(
    ctx: &RunContext,
    x: &Matrix,
    instance: &Instance<'_>,
    chunklets: &Chunklets,
    start: &[u32],
) -> Result<Vec<u32>> {
    let data = lend(x, instance.weights)?;
    let maximiser = Maximiser::new(&data, instance.k, &MIXTURE);
    let constrained = Constrained::quick(&data, chunklets, instance.k);
    let fit = constrained.fit(ctx, &maximiser, &of_rows(chunklets, start), &MIXTURE);
    Ok(constrained.labels(ctx, &fit, start, true)?.0)
}

struct Relearnt {
    x: Matrix,
    map: Matrix,
    labels: Vec<u32>,
}

/// Whitens by the shrunk covariance of the current clusters and iterates from their means, until nothing changes.
fn relearn(
    ctx: &RunContext,
    x: &Matrix,
    instance: &Instance<'_>,
    chunklets: &Chunklets,
    start: &[u32],
) -> Result<Relearnt> {
    let k = instance.k;
    let mut labels = start.to_vec();
    let mut found = None;
    for _ in 0..RELEARNINGS {
        let rows = of_rows(chunklets, &labels);
        let (z, map) = whitened(x, &rows, k, Shrinkage::RowsPerColumn(1.0))?;
        let data = lend(&z, instance.weights)?;
        let units = Units::new(&data, chunklets);
        let (centres, _) = means::means(&data, &rows, k);
        let outcome = lloyd(ctx, &units, centres, LIMITS, &mut Exact::quick(&units, k))?;
        let next = of_chunklets(chunklets, &outcome.labels);
        let same = next == labels;
        labels = next;
        found = Some((z, map));
        if same || ctx.checkpoint().is_err() {
            break;
        }
    }
    let (x, map) = found.unwrap_or_else(|| (x.clone(), Matrix::identity(x.cols())));
    Ok(Relearnt { x, map, labels })
}
