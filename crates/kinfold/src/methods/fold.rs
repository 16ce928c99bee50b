//! kinfold's own method and default. Closes the constraints, concludes what k adds (propagation), fits about twenty
//! candidates (space × start × refinement, all keeping every constraint), scores each by held-out rows, weighs it by how
//! many standard errors it is behind the best, and takes the weighted vote, assigned under the constraints.
//! N = neighbours vote, L = metric relearnt from the clusters, M = Gaussian mixture, rca = metric learned from the chunklets.
//! Small data: everything on all rows. Larger: candidates are scored on a sample that keeps the constrained rows, and
//! the best few fitted to all rows; beyond what neighbour search affords (O(n²)) the best one is extended in linear time,
//! and curved clusters are tried only where those of nearest centres miss more than 2 % of the held-out answers, and taken
//! only where constrained rows beyond the sample, each by its nearest sample row, keep as many constraints.

use super::{CandidateScore, Chosen, Clustering, Info, Listens, Method, Problem};
use crate::blocks::candidates::{self, Candidate, Fitted, Graphs, Instance, of_rows};
use crate::blocks::choose::{self, Choice, Task};
use crate::blocks::extend::{self, Extended, Moved, Pattern};
use crate::blocks::lloyd::{Limits, Nearest, Sized, assign_nearest, lloyd};
use crate::blocks::neighbours::{Neighbours, Votes};
use crate::blocks::represent::{self, Base};
use crate::blocks::sizes::Bounds;
use crate::blocks::units::Units;
use crate::blocks::{consensus, means, propagate, restarts, sample, seeding};
use crate::constraints::Chunklets;
use crate::context::{RunContext, Termination};
use crate::data::{Dataset, Float, Matrix, Table, Transform};
use crate::error::Result;

/// Rows, and rows² × columns, up to which neighbours of all rows are searched.
const MOST_ROWS: usize = 20_000;
const AFFORDABLE: f64 = 2e10;
/// Candidates that are fitted again to more rows than they were chosen on.
const FITTED_AGAIN: usize = 3;
/// Rows on which a fit is made that is then extended to all.
const LANDMARKS: usize = 4000;
/// Constraints that say whether curved clusters are found again beyond the sample.
const TESTS: usize = 4000;
/// Beyond this many clusters a sample cannot tell candidates apart.
const MOST_CLUSTERS: usize = 200;
/// All data up to this many rows are tested in ten folds, larger ones in five, those with too many rows for neighbours in three.
const SMALL: usize = 300;
const FOLDS_OF_SAMPLE: usize = 3;

crate::params! {
    /// Parameters of `fold`.
    pub struct FoldParams {
        /// Starts of k-means in each candidate.
        restarts: usize = 6, 1 => 10_000;
        /// Parts into which the constrained rows are split to score the candidates; 0 = 10 for small data, 3 for large, else 5.
        folds: usize = 0, 0 => 100;
        /// Rows on which the candidates are scored at most; a larger file is sampled, constrained rows first.
        sample: usize = 2000, 50 => 100_000;
        /// Iterations of a fit to all rows of a large file.
        max_iter: usize = 100, 1 => 1_000_000;
    }
}

/// See the module.
pub struct Fold(FoldParams);

impl Method for Fold {
    type Params = FoldParams;
    const INFO: Info = Info {
        name: "fold",
        summary: "the default: finds the space in which the constraints make sense, keeps every one of them",
        paper: "kinfold's own; closure, RCA (Bar-Hillel et al. 2005), self-tuned spectral starts, consensus by held-out rows",
        minimises: "Σ_i w_i ‖x_i − c(l_i)‖² in the space chosen, every constraint kept (refined by neighbours)",
        constraints: "hard: closed, propagated for k, kept by assignment; they also teach the metric and choose among candidates",
        cost: "about 23 candidates × (folds + 1) fits, O(n²·dims) for neighbours on at most `sample` rows; linear in n beyond",
        measured: "At least the best published number, to two decimals, in all 36 cells of Okabe & Yamada's Table 2 (10 \
                   constraint sets) and all 36 of Ganji et al.'s Table 3 (5 constraint sets; for letter and half-rings other \
                   rows stand in), no violation: docs/results has every cell.",
        listens: Listens::Hard,
        sparse: true,
        sizes: true,
        represents: true,
        monotone: false,
    };

    fn new(params: FoldParams) -> Result<Self> {
        Ok(Fold(params))
    }

    fn run<F: Float>(&self, ctx: &RunContext, problem: &Problem<'_, F>) -> Result<Clustering> {
        let clustering = self.unbounded(ctx, problem)?;
        match problem.sizes.for_clusters(problem.k) {
            None => Ok(clustering),
            Some(bounds) => self.within(ctx, problem, clustering, bounds),
        }
    }
    fn objective<F: Float>(&self, problem: &Problem<'_, F>, clustering: &Clustering) -> f64 {
        let transform = clustering.chosen.as_ref().map_or(Transform::Identity, |c| c.transform.clone());
        let around = |moved: Moved<'_, F>| {
            let data = moved.view()?;
            Ok(means::sum_of_squares(&data, &clustering.labels, problem.k))
        };
        Moved::new(problem.data, &transform).and_then(around).unwrap_or(f64::NAN)
    }
}

impl Fold {
    /// Without bounds on cluster sizes.
    fn unbounded<F: Float>(&self, ctx: &RunContext, problem: &Problem<'_, F>) -> Result<Clustering> {
        let (data, k) = (problem.data, problem.k);
        let chunklets = propagate::propagate(problem.chunklets, k);
        let work = Work { ctx, params: &self.0, problem, chunklets: &chunklets };
        if chunklets.len() == data.n() && chunklets.graph().edge_count() == 0 {
            return work.unconstrained();
        }
        if k == 1 || chunklets.len() <= k {
            return settled(problem, &chunklets);
        }
        if k > MOST_CLUSTERS {
            return work.simplest();
        }
        let n = data.n() as f64;
        let affordable = data.n() <= MOST_ROWS && n * n * data.dims().min(100) as f64 <= AFFORDABLE;
        if affordable { work.affordable() } else { work.large() }
    }

    /// From the clusters found without bounds: k-means in the space that was chosen, with every row assigned within the
    /// bounds and the constraints.
    fn within<F: Float>(
        &self,
        ctx: &RunContext,
        problem: &Problem<'_, F>,
        found: Clustering,
        bounds: Bounds,
    ) -> Result<Clustering> {
        let Some(chosen) = found.chosen else { return Ok(found) };
        let moved = Moved::new(problem.data, &chosen.transform)?;
        let rows = moved.view()?;
        let units = Units::all(&rows, problem.chunklets);
        let (centres, _) = means::means(&rows, &found.labels, problem.k);
        let limits = Limits { max_iter: self.0.max_iter, tolerance: 0.0 };
        let outcome = lloyd(ctx, &units, centres, limits, &mut Sized::new(&units, problem.k, bounds))?;
        finish(
            problem,
            outcome.labels,
            chosen.name,
            &chosen.transform,
            chosen.candidates,
            outcome.termination,
            outcome.trace.len(),
        )
    }
}

/// Every chunklet is a cluster: the constraints leave nothing to choose.
fn settled<F: Float>(problem: &Problem<'_, F>, chunklets: &Chunklets) -> Result<Clustering> {
    let labels = if problem.k == 1 { vec![0; problem.data.n()] } else { chunklets.of_rows().to_vec() };
    let transform = Transform::Identity;
    let name = "raw (the constraints and k settle every row)".to_owned();
    finish(problem, labels, name, &transform, Vec::new(), Termination::Optimal, 0)
}

/// The clustering with its model: means of the clusters in the space of `transform`.
fn finish<F: Float>(
    problem: &Problem<'_, F>,
    labels: Vec<u32>,
    name: String,
    transform: &Transform,
    candidates: Vec<CandidateScore>,
    termination: Termination,
    iterations: usize,
) -> Result<Clustering> {
    let moved = Moved::new(problem.data, transform)?;
    let rows = moved.view()?;
    let (centres, _) = means::means(&rows, &labels, problem.k);
    let nearest = assign_nearest(&RunContext::default().with_threads(1), &rows, &centres);
    let strays = nearest.iter().zip(&labels).filter(|(a, b)| a != b).count();
    let mut notes = Vec::new();
    let share = 100.0 * strays as f64 / labels.len() as f64;
    if share >= 1.0 {
        notes.push(format!(
            "the clusters are not those of nearest means: for {share:.0} % of the rows the nearest cluster mean is \
             another one, and new rows will be labelled by it"
        ));
    }
    let chosen = Some(Chosen { name, transform: transform.clone(), candidates, shapes: Vec::new() });
    let (centres, trace, lower_bound) = (Some(centres), Vec::new(), None);
    Ok(Clustering { labels, centres, trace, iterations, termination, notes, chosen, lower_bound })
}

struct Work<'a, F> {
    ctx: &'a RunContext,
    params: &'a FoldParams,
    problem: &'a Problem<'a, F>,
    chunklets: &'a Chunklets,
}

/// Some rows of the problem with their spaces: what candidates are fitted to.
struct Part {
    chunklets: Chunklets,
    bases: Vec<Base>,
    graphs: Graphs,
    weights: Option<Vec<f64>>,
}

impl Part {
    fn instance(&self, k: usize) -> Instance<'_> {
        Instance { bases: &self.bases, graphs: &self.graphs, weights: self.weights.as_deref(), k }
    }
    fn weight(&self) -> Vec<f64> {
        candidates::chunklet_weights(&self.chunklets, self.weights.as_deref())
    }
}

impl<F: Float> Work<'_, F> {
    fn part(&self, rows: Option<&[usize]>) -> Result<Part> {
        let (data, ctx) = (self.problem.data, self.ctx);
        let selected = rows.map(|rows| Table::select(data, rows));
        let some = selected.as_ref().map_or(*data, Table::lend);
        let bases = represent::bases(data, &some, self.problem.scaling, &mut ctx.rng("directions", 0))?;
        let graphs = Graphs::new(bases.len());
        let weights = data.weights().map(|w| match rows {
            None => w.to_vec(),
            Some(rows) => rows.iter().map(|&row| w[row]).collect(),
        });
        let chunklets = rows.map_or_else(|| self.chunklets.clone(), |rows| sample::restricted(self.chunklets, rows));
        Ok(Part { chunklets, bases, graphs, weights })
    }

    fn folds(&self, n: usize) -> usize {
        match (self.params.folds, n) {
            (0, ..=SMALL) => 10,
            (0, _) => 5,
            (given, _) => given.max(2),
        }
    }

    fn limits(&self) -> Limits {
        Limits { max_iter: self.params.max_iter, tolerance: 1e-5 }
    }

    /// Constrained k-means in the plainest space: what a stopped run returns, and all there is for very many clusters.
    fn first(&self, space: &Transform, restarts: usize, limits: Limits) -> Result<Extended> {
        let moved = Moved::new(self.problem.data, space)?;
        extend::constrained_kmeans(self.ctx, &moved.view()?, self.chunklets, self.problem.k, restarts, limits)
    }

    fn plain_space(&self) -> Result<(String, Transform)> {
        let data = self.problem.data;
        if self.problem.scaling.is_some() || data.is_sparse() {
            return Ok(("raw".to_owned(), Transform::Identity));
        }
        Ok(("standard".to_owned(), crate::data::Scaling::Standard.fit(data)?))
    }

    fn simplest(&self) -> Result<Clustering> {
        let (name, space) = self.plain_space()?;
        let restarts = restarts::how_many(0, self.problem.data.n());
        let found = self.first(&space, restarts, Limits { max_iter: 300, tolerance: 0.0 })?;
        let mut done =
            finish(self.problem, found.labels, name, &space, Vec::new(), found.termination, found.iterations)?;
        done.notes
            .push(format!("more than {MOST_CLUSTERS} clusters: the representation was not chosen by held-out rows"));
        Ok(done)
    }

    /// Neighbours of all rows can be searched.
    fn affordable(&self) -> Result<Clustering> {
        let (ctx, k, n) = (self.ctx, self.problem.k, self.problem.data.n());
        let (plain, space) = self.plain_space()?;
        let first = self.first(&space, 1, self.limits())?;
        let stopped = |first: Extended, stop: Termination| {
            finish(self.problem, first.labels, plain.clone(), &space, Vec::new(), stop, first.iterations)
        };
        if let Err(stop) = ctx.checkpoint() {
            return stopped(first, stop.into());
        }
        let whole = self.part(None)?;
        let all = self.offered(&whole, false);
        let rows = self.params.sample.max(20 * k);
        let mut iterations = 0;
        // Up to the sample size: all candidates on all rows, then the test. Beyond: the test first, then the best few.
        let (choice, fitted) = if n <= rows {
            let fitted = self.fit(&whole, &all);
            iterations += all.len();
            let labels: Vec<Option<&[u32]>> = fitted.iter().map(|f| f.as_ref().map(|f| &f.labels[..])).collect();
            let weight = whole.weight();
            let done: Vec<&[u32]> = labels.iter().flatten().copied().collect();
            let agree = done.iter().all(|l| consensus::aligned(l, done[0], &weight, k) == done[0]);
            let tested = if agree || done.len() < all.len() {
                None
            } else {
                iterations += all.len() * self.folds(n);
                choose::by_holdout(ctx, &whole.instance(k), &whole.chunklets, &all, self.folds(n))
            };
            (tested, fitted)
        } else {
            let rows = sample::constrained_first(self.chunklets, rows, &mut ctx.rng("sample", 0));
            let some = self.part(Some(&rows))?;
            iterations += all.len() * self.folds(rows.len());
            let tested = choose::by_holdout(ctx, &some.instance(k), &some.chunklets, &all, self.folds(rows.len()));
            // Without evidence: the first forms of the last base, the standardised one where there is a choice.
            let last = whole.bases.len() - 1;
            let plausible = |i: usize| match &tested {
                Some(choice) => choice.weights[i],
                None if all[i].branch.base == last && all[i].branch.rca.is_none() => all[i].prior,
                None => 0.0,
            };
            let mut again: Vec<usize> = (0..all.len()).collect();
            again.sort_by(|&a, &b| plausible(b).total_cmp(&plausible(a)).then(a.cmp(&b)));
            again.truncate(FITTED_AGAIN);
            again.sort_unstable();
            let some: Vec<Candidate> = again.iter().map(|&i| all[i].clone()).collect();
            let mut fitted: Vec<Option<Fitted>> = vec![None; all.len()];
            again.iter().zip(self.fit(&whole, &some)).for_each(|(&i, f)| fitted[i] = f);
            iterations += again.len();
            (tested, fitted)
        };
        let done: Vec<usize> = (0..all.len()).filter(|&i| fitted[i].is_some()).collect();
        let labels_of = |i: usize| fitted[i].as_ref().map_or(&[][..], |f| &f.labels);
        if done.is_empty() {
            return stopped(first, ctx.checkpoint().map_or_else(Into::into, |()| Termination::Converged));
        }
        let weight = whole.weight();
        let choice = choice.unwrap_or_else(|| {
            let done_labels: Vec<&[u32]> = done.iter().map(|&i| labels_of(i)).collect();
            let best = done[consensus::medoid(&done_labels, &weight, k)];
            Choice { scores: vec![None; all.len()], error: 0.0, weights: all.iter().map(|c| c.prior).collect(), best }
        });
        let mut best = if fitted[choice.best].is_some() { choice.best } else { done[0] };
        let members: Vec<(usize, f64)> = choice.members().filter(|(i, _)| fitted[*i].is_some()).collect();
        let vote = |members: &[(usize, f64)], best: usize| {
            let members: Vec<(f64, &[u32])> = members.iter().map(|&(i, w)| (w, labels_of(i))).collect();
            consensus::vote(ctx, whole.chunklets.graph(), &weight, k, &members, labels_of(best))
        };
        let mut labels = vote(&members, best);
        // On few rows a candidate may lose a cluster: those that have the most decide then.
        let clusters = |i: usize| consensus::used(labels_of(i), k);
        let most = done.iter().map(|&i| clusters(i)).max().unwrap_or(0);
        let fewer = consensus::used(&labels, k) < most.max(consensus::used(&first.labels, k));
        if fewer && consensus::few(weight.len(), k) {
            if most < consensus::used(&first.labels, k) {
                return stopped(first, ctx.checkpoint().map_or_else(Into::into, |()| Termination::Converged));
            }
            let full: Vec<(usize, f64)> =
                done.iter().filter(|&&i| clusters(i) == most).map(|&i| (i, choice.weights[i].max(1e-9))).collect();
            best = full.iter().fold(full[0], |a, &b| if b.1 > a.1 { b } else { a }).0;
            labels = vote(&full, best);
        }
        let said: Vec<bool> = fitted.iter().map(Option::is_some).collect();
        let (mut name, scores) = describe(&all, &choice, &said);
        if done.len() > 1 && done.iter().all(|&i| consensus::aligned(labels_of(i), &labels, &weight, k) == labels) {
            name = format!("all {} candidates agree: {}, …", done.len(), all[best].name);
        }
        let base = &whole.bases[all[best].branch.base];
        let end = ctx.checkpoint().map_or_else(Into::into, |()| Termination::Converged);
        finish(self.problem, of_rows(&whole.chunklets, &labels), name, &base.transform, scores, end, iterations)
    }

    /// Too many rows for neighbours: the best candidate of a sample, extended in linear time.
    fn large(&self) -> Result<Clustering> {
        let (ctx, k) = (self.ctx, self.problem.k);
        let rows = sample::constrained_first(self.chunklets, self.params.sample.max(20 * k), &mut ctx.rng("sample", 0));
        let some = self.part(Some(&rows))?;
        let all = self.offered(&some, true);
        let folds = if self.params.folds == 0 { FOLDS_OF_SAMPLE } else { self.params.folds.max(2) };
        let simple = all.iter().filter(|c| c.form.is_linear()).count();
        let tested = choose::simple_first(ctx, &some.instance(k), &some.chunklets, &all, simple, folds);
        let choice = tested.unwrap_or_else(|| {
            let mut weights = vec![0.0; all.len()];
            // Without evidence the plain form of the last base, which is the standardised one where there is a choice.
            let best = all.iter().rposition(|c| c.form.is_linear() && c.branch.rca.is_none()).unwrap_or(0);
            weights[best] = 1.0;
            Choice { scores: vec![None; all.len()], error: 0.0, weights, best }
        });
        // The simplest that is not worse than the best by more than the error.
        let simplest = |scores: &[Option<f64>]| {
            let best = scores.iter().flatten().copied().fold(f64::NEG_INFINITY, f64::max);
            scores.iter().position(|score| score.is_some_and(|s| s >= best - choice.error))
        };
        let picked = simplest(&choice.scores).unwrap_or(choice.best);
        // Curved clusters that did well on the sample may not be found again by its rows: then the best others are.
        let rival = if picked < simple { None } else { simplest(&choice.scores[..simple]) };
        drop(some);
        ctx.progress("fitting all rows", 0, None);

        let rows = sample::constrained_first(self.chunklets, LANDMARKS.max(20 * k), &mut ctx.rng("sample", 1));
        let part = self.part(Some(&rows))?;
        let quiet = Work { ctx: &ctx.quiet(), ..*self };
        let fitted: Vec<(usize, Pattern)> = [Some(picked), rival]
            .into_iter()
            .flatten()
            .filter_map(|i| {
                let fitted = quiet.fit(&part, &all[i..=i]).remove(0)?;
                let labels = of_rows(&part.chunklets, &fitted.labels);
                let base = &part.bases[all[i].branch.base];
                Some((i, Pattern::new(base, &fitted, labels, k, all[i].form.is_linear())))
            })
            .collect();
        let chosen = match &fitted[..] {
            [curved, plain] if !quiet.found_again(&rows, &curved.1, &plain.1)? => Some(plain),
            [first, ..] => Some(first),
            [] => None,
        };
        let picked = chosen.map_or(picked, |c| c.0);
        let mut said = vec![false; all.len()];
        said[picked] = true;
        let choice = Choice { weights: said.iter().map(|&s| f64::from(u8::from(s))).collect(), ..choice };
        let (name, scores) = describe(&all, &choice, &said);
        let base = &part.bases[all[picked].branch.base];
        let found = match chosen {
            Some((_, pattern)) => {
                extend::to_all_rows(ctx, self.problem.data, self.chunklets, k, pattern, self.limits())?
            }
            // Stopped: labels for every row, without further search.
            None => self.first(&base.transform, 1, Limits { max_iter: 1, tolerance: 0.0 })?,
        };
        finish(self.problem, found.labels, name, &base.transform, scores, found.termination, found.iterations)
    }

    /// Do rows that are not in the sample, each labelled by itself, keep as many constraints by curved clusters, give or take
    /// what chance does? Yes, when the sample has all that is known.
    fn found_again(&self, sample: &[usize], curved: &Pattern, plain: &Pattern) -> Result<bool> {
        let (ctx, data) = (self.ctx, self.problem.data);
        let pairs = sample::pairs_outside(self.chunklets, sample, TESTS, &mut ctx.rng("tests", 0));
        if pairs.is_empty() {
            return Ok(true);
        }
        let rows: Vec<usize> = pairs.iter().flat_map(|p| [p.0, p.1]).collect();
        let table = Table::select(data, &rows);
        let score = |pattern: &Pattern| -> Result<f64> {
            let labels = pattern.labels(ctx, &table.lend())?;
            let kept = |same: bool| {
                let of_kind = pairs.iter().zip(labels.chunks_exact(2)).filter(|(p, _)| p.2 == same);
                let (all, kept) =
                    of_kind.fold((0, 0), |(all, kept), (p, l)| (all + 1, kept + usize::from((l[0] == l[1]) == p.2)));
                (all > 0).then(|| kept as f64 / f64::from(all))
            };
            let shares: Vec<f64> = [true, false].into_iter().filter_map(kept).collect();
            Ok(shares.iter().sum::<f64>() / shares.len().max(1) as f64)
        };
        Ok(score(curved)? >= score(plain)? - 1.0 / (pairs.len() as f64).sqrt())
    }

    fn offered(&self, part: &Part, large: bool) -> Vec<Candidate> {
        candidates::offered(&part.bases, part.chunklets.len() < part.chunklets.n(), large)
    }

    fn fit(&self, part: &Part, all: &[Candidate]) -> Vec<Option<Fitted>> {
        let task = Task { chunklets: &part.chunklets, restarts: self.params.restarts, stream: 0 };
        choose::fit_all(self.ctx, &part.instance(self.problem.k), all, &[task]).remove(0)
    }

    /// No constraints: k-means in each space, exactly as `kmeans` would there; that whose clusters keep more of every
    /// row's neighbours beyond chance, in all spaces alike, wins.
    fn unconstrained(&self) -> Result<Clustering> {
        let (ctx, data, k) = (self.ctx, self.problem.data, self.problem.k);
        let rows = sample::constrained_first(self.chunklets, self.params.sample, &mut ctx.rng("sample", 0));
        let part = self.part(Some(&rows))?;
        let graphs = part.bases.iter().map(|b| Neighbours::new(&ctx.pool, &b.x));
        let votes: Vec<Votes> = graphs.map(|g| Votes::new(&g, &part.chunklets)).collect();
        let mut best: Option<(f64, Clustering)> = None;
        let mut scores = Vec::new();
        for base in &part.bases {
            let moved = Moved::new(data, &base.transform)?;
            let outcome = plain_kmeans(ctx, &moved.view()?, k)?;
            let sampled: Vec<u32> = rows.iter().map(|&row| outcome.labels[row]).collect();
            let score = votes.iter().map(|v| cohesion(v, &sampled, k)).sum::<f64>() / votes.len() as f64;
            scores.push(CandidateScore { name: base.name.clone(), score: Some(score), error: 0.0, weight: 0.0 });
            if best.as_ref().is_none_or(|b| score > b.0) {
                let chosen = Chosen {
                    name: base.name.clone(),
                    transform: base.transform.clone(),
                    candidates: Vec::new(),
                    shapes: Vec::new(),
                };
                best = Some((score, Clustering { chosen: Some(chosen), ..outcome.into() }));
            }
            if ctx.checkpoint().is_err() {
                break;
            }
        }
        let Some((_, mut clustering)) = best else { unreachable!("there is at least one space") };
        if let Some(chosen) = &mut clustering.chosen {
            scores.iter_mut().filter(|s| s.name == chosen.name).for_each(|s| s.weight = 1.0);
            chosen.candidates = scores;
        }
        Ok(clustering)
    }
}

fn plain_kmeans<F: Float>(ctx: &RunContext, data: &Dataset<'_, F>, k: usize) -> Result<crate::blocks::lloyd::Outcome> {
    let alone = Chunklets::singletons(data.n());
    let units = Units::new(data, &alone);
    let limits = Limits { max_iter: 300, tolerance: 0.0 };
    restarts::best_of(ctx, restarts::how_many(0, data.n()), data.n() * data.dims(), |ctx, r| {
        let mut rng = ctx.rng("seeding", r);
        let none = Matrix::zeros(0, data.dims());
        let centres = seeding::kmeans_plus_plus(&ctx.pool, &units, k, none, true, &mut rng);
        lloyd(ctx, &units, centres, limits, &mut Nearest)
    })
}

/// Share of the rows' votes that stay in their cluster, beyond what clusters of these sizes keep by chance.
fn cohesion(votes: &Votes, labels: &[u32], k: usize) -> f64 {
    let n = labels.len() as f64;
    let mut size = vec![0.0; k];
    labels.iter().for_each(|&l| size[l as usize] += 1.0 / n);
    let chance: f64 = size.iter().map(|s| s * s).sum();
    let kept: f64 = (0..labels.len())
        .flat_map(|u| votes.of(u).iter().map(move |&(v, w)| (u, v, w)))
        .filter(|&(u, v, _)| labels[u] == labels[v as usize])
        .map(|e| e.2)
        .sum();
    if chance < 1.0 { (kept / n - chance) / (1.0 - chance) } else { 0.0 }
}

/// What was chosen, in words and in numbers. `said`: those whose labels are in the result.
fn describe(all: &[Candidate], choice: &Choice, said: &[bool]) -> (String, Vec<CandidateScore>) {
    let scores: Vec<CandidateScore> = all
        .iter()
        .enumerate()
        .map(|(i, c)| CandidateScore {
            name: c.name.clone(),
            score: choice.scores[i],
            error: choice.error,
            weight: if said[i] { choice.weights[i] } else { 0.0 },
        })
        .collect();
    let mut members: Vec<(usize, f64)> = choice.members().filter(|(i, _)| said[*i]).collect();
    members.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
    let shown = |i: usize| match choice.scores[i] {
        Some(score) => format!("{} {score:.2}", all[i].name),
        None => all[i].name.clone(),
    };
    let name = match members.as_slice() {
        [] => all[choice.best].name.clone(),
        [(only, _)] => shown(*only),
        several => {
            let first: Vec<String> = several.iter().take(3).map(|m| shown(m.0)).collect();
            let more = if several.len() > 3 { ", …" } else { "" };
            format!("vote of {}: {}{more}", several.len(), first.join(", "))
        }
    };
    (name, scores)
}
