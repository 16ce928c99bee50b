//! How many clusters? Any method is run for every k of a range, all k and all folds of held-out constraints side by side
//! (one dendrogram for all k where the method has one); every clustering is judged by what it does to constraints it did
//! not see ([`Tally`]: the gap over held-out constraints), by the internal indices on the rows as given and on learned
//! distances, each also weighted with the share of constraints kept (Duarte et al. 2013, eq. 4).
//! The cannot-links prove a lower bound; how one k is recommended is told in `recommend.rs`.

mod folds;
mod recommend;

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use super::learned::learned_distance;
use super::{Job, Run};
use crate::constraints::{Chunklets, ConstraintSet, FeasibleOptions, SmallestK, smallest_k};
use crate::context::{RunContext, Stop};
use crate::data::Dataset;
use crate::error::{Error, Result};
use crate::indices::{Estimate, Internal, InternalScores, Sampling, normalised, score_rows, weighted};
use crate::methods::{self, Clustering, Listens, Typed};
use folds::Fold;
pub use folds::Tally;
pub use recommend::Recommended;

/// Rows × dims above which one fit keeps all threads busy by itself.
const LARGE: usize = 2_000_000;
/// Rows² × dims up to which DBCV is among the indices.
const DBCV_UP_TO: f64 = 2e8;
/// Cannot-links between chunklets up to which the smallest k is sought.
const MOST_LINKS: usize = 1_000_000;
/// Time for the smallest k.
const SMALLEST_LIMIT: Duration = Duration::from_secs(2);
/// Fewest pieces of evidence (pairs, members of groups) for which some are held out.
pub const LEAST_EVIDENCE: usize = 10;
/// Rows above which only two folds are held out.
const MANY_ROWS: usize = 20_000;
/// Scores closer than this are equal.
const EQUAL: f64 = 1e-12;

/// What to do.
#[derive(Debug, Clone, PartialEq)]
pub struct ChooseK {
    /// The job for every k; its own k is not looked at.
    pub job: Job,
    /// The numbers of clusters to try; `None` = 2 to 15, or as many from the proven lower bound on.
    pub range: Option<(usize, usize)>,
    /// Share of the constraints in weighted scores.
    pub alpha: f64,
    /// Folds of held-out constraints; 0 holds none out.
    pub folds: usize,
    /// Names of learned distances on which the indices are taken besides the rows as given.
    pub metrics: Vec<String>,
    /// How many rows the pairwise indices look at.
    pub sampling: Sampling,
}

impl ChooseK {
    /// With the usual settings.
    pub fn new(job: Job, range: Option<(usize, usize)>) -> ChooseK {
        let metrics = vec!["dca".to_owned()];
        ChooseK { job, range, alpha: 0.5, folds: 5, metrics, sampling: Sampling::Auto }
    }
}

/// One k that was run.
#[derive(Debug, Clone, PartialEq)]
pub struct Candidate {
    /// Number of clusters.
    pub k: usize,
    /// The run on all constraints.
    pub run: Run,
    /// Share of the constraints that it keeps; `None` without any.
    pub satisfaction: Option<f64>,
    /// What runs on part of the constraints did with the rest; `None` when nothing was held out.
    pub held_out: Option<Tally>,
}

/// One way to judge, and what it says.
#[derive(Debug, Clone, PartialEq)]
pub struct Criterion {
    /// Its name in tables: gap, CS, S, NH+CS, S@dca, …
    pub name: String,
    /// What it looks at.
    pub summary: String,
    /// The value of every candidate, larger is better unless `loss`.
    pub values: Vec<Option<Estimate>>,
    /// Is smaller better?
    pub loss: bool,
    /// The k it would choose: the best, or the smallest of those that cannot be told from it.
    pub k: Option<usize>,
    /// How far the next best is behind.
    pub margin: Option<f64>,
    /// Is it good enough to choose by? Shares that only rise with k are not.
    pub chooses: bool,
}

/// Everything that was found.
#[derive(Debug, Clone, PartialEq)]
pub struct KChoice {
    /// The recommendation.
    pub recommended: Recommended,
    /// Every k that was run, ascending.
    pub candidates: Vec<Candidate>,
    /// Every k of the range that was not, with the reason.
    pub left_out: Vec<(usize, String)>,
    /// All criteria.
    pub criteria: Vec<Criterion>,
    /// The fewest clusters that keep every cannot-link; `None` when the constraints are too many to tell.
    pub smallest: Option<SmallestK>,
    /// Rows that pairwise indices looked at.
    pub looked_at: usize,
    /// Why not everything was done.
    pub stopped: Option<Stop>,
    /// Things to know.
    pub notes: Vec<String>,
    /// Wall time.
    pub elapsed: Duration,
}

impl KChoice {
    /// The candidate that is recommended.
    pub fn chosen(&self) -> &Candidate {
        let at = self.candidates.iter().position(|c| c.k == self.recommended.k);
        // The recommendation is always one of the candidates.
        &self.candidates[at.unwrap_or(0)]
    }
    /// The criterion of that name.
    pub fn criterion(&self, name: &str) -> Option<&Criterion> {
        self.criteria.iter().find(|c| c.name == name)
    }
}

impl ChooseK {
    /// Runs everything.
    pub fn run<F: Typed>(&self, ctx: &RunContext, data: &Dataset<'_, F>, given: &ConstraintSet) -> Result<KChoice> {
        let begun = Instant::now();
        let entry = methods::find(&self.job.method)?;
        if !(0.0..=1.0).contains(&self.alpha) {
            return Err(Error::Parameter(format!("alpha = {} is not from 0 to 1", self.alpha)));
        }
        let mut notes = Vec::new();
        let (chunklets, conflicts) = given.close_lenient(0.0)?;
        if !conflicts.is_empty() {
            notes.push(format!(
                "{} of the constraints contradict others: the lower bound leaves them out",
                conflicts.len()
            ));
        }
        let smallest = (chunklets.graph().edge_count() <= MOST_LINKS).then(|| {
            let options = FeasibleOptions { time_limit: SMALLEST_LIMIT, ..FeasibleOptions::default() };
            smallest_k(&chunklets, &options)
        });
        let lower = smallest.as_ref().map_or(1, |s| s.lower);
        let (first, last) = self.bounds(data.n(), chunklets.len(), lower)?;
        let (mut ks, mut left_out) = (Vec::new(), Vec::new());
        let hard = entry.info.listens == Listens::Hard;
        for k in first..=last {
            // With contradictions or doubt the bound is no proof; the job will tell.
            if hard && k < lower && conflicts.is_empty() && self.job.trust != super::Trust::Soft {
                left_out.push((k, format!("the cannot-links need at least {lower} clusters")));
            } else {
                ks.push(k);
            }
        }

        let folds = self.folds(ctx, data.n(), given)?;
        let fits = self.fit(ctx, data, given, &folds, &ks)?;
        let mut candidates: Vec<Candidate> = Vec::new();
        let mut first_error = None;
        for (at, &k) in ks.iter().enumerate() {
            match &fits[0][at] {
                None => left_out.push((k, "the run was stopped before it".to_owned())),
                Some(Err(e)) => {
                    left_out.push((k, e.to_string()));
                    first_error = first_error.or(Some(e.clone()));
                }
                Some(Ok(run)) => candidates.push(Candidate {
                    k,
                    satisfaction: run.violations.satisfaction(),
                    held_out: tally(&folds, &fits[1..], at),
                    run: run.clone(),
                }),
            }
        }
        drop(fits);
        // A clustering that leaves clusters empty is one of a smaller k, unless there is no other.
        if candidates.iter().any(|c| !c.run.sizes.contains(&0)) {
            candidates.retain(|c| {
                let used = c.run.sizes.iter().filter(|&&s| s > 0).count();
                if used < c.k {
                    left_out.push((c.k, format!("only {used} of the clusters have rows")));
                }
                used == c.k
            });
        }
        left_out.sort_by_key(|l| l.0);
        if candidates.is_empty() {
            return Err(first_error.unwrap_or_else(|| Error::Parameter(format!("no k of {first}..{last} is possible"))));
        }
        // A run that was stopped among the folds has tested some k and not others.
        if ctx.checkpoint().is_err() && candidates.iter().any(|c| c.held_out.is_none()) {
            candidates.iter_mut().for_each(|c| c.held_out = None);
        }

        let (mut criteria, looked_at, stopped) = self.judge(ctx, data, (given, &chunklets), &candidates, &mut notes)?;
        let proven = if conflicts.is_empty() { lower } else { 1 };
        criteria.splice(..0, recommend::own_criteria(&candidates, &criteria));
        let recommended = recommend::recommend(&candidates, &criteria, proven);
        let stopped = stopped.or(ctx.checkpoint().err());
        let elapsed = begun.elapsed();
        Ok(KChoice { recommended, candidates, left_out, criteria, smallest, looked_at, stopped, notes, elapsed })
    }

    /// The first and the last k.
    fn bounds(&self, n: usize, chunklets: usize, lower: usize) -> Result<(usize, usize)> {
        let most = chunklets.min(n);
        let (first, last) = match self.range {
            Some((first, last)) => (first, last),
            None => {
                let first = lower.max(2).min(most);
                (first, (first + 13).max(15).min(most.saturating_sub(1)).max(first))
            }
        };
        if first == 0 || first > last || first > n {
            return Err(Error::Parameter(format!("{first}..{last} is no range of k for {n} rows")));
        }
        Ok((first, last.min(n)))
    }

    fn folds(&self, ctx: &RunContext, n: usize, given: &ConstraintSet) -> Result<Vec<Fold>> {
        let members = |sizes: &mut dyn Iterator<Item = usize>| sizes.sum::<usize>();
        let evidence = given.pairs().iter().filter(|p| p.weight > 0.0).count()
            + members(&mut given.sets().iter().map(|s| s.members.len()))
            + members(&mut given.labels().iter().map(|l| l.rows.len()));
        if evidence < LEAST_EVIDENCE || self.folds < 2 {
            return Ok(Vec::new());
        }
        let count = if n > MANY_ROWS { self.folds.min(2) } else { self.folds };
        let mut folds = folds::folds(given, count, &mut ctx.rng("folds of k", 0))?;
        folds.retain(|f| !f.is_empty());
        Ok(folds)
    }

    /// The runs on all constraints, then those of every fold; `None` where the run was stopped first.
    #[allow(clippy::type_complexity)]
    fn fit<F: Typed>(
        &self,
        ctx: &RunContext,
        data: &Dataset<'_, F>,
        given: &ConstraintSet,
        folds: &[Fold],
        ks: &[usize],
    ) -> Result<Vec<Vec<Option<Result<Run>>>>> {
        let sets: Vec<&ConstraintSet> = std::iter::once(given).chain(folds.iter().map(|f| &f.rest)).collect();
        let (total, done) = (sets.len() * ks.len(), AtomicU64::new(0));
        let alone = data.n() * data.dims() > LARGE || ctx.pool.threads() == 1;
        let inner = if alone { ctx.quiet() } else { ctx.quiet().with_threads(1) };
        // One dendrogram for all k, where the method has one.
        let shared = |at: usize| -> Option<Vec<Clustering>> { self.job.each(&inner, data, sets[at], ks)?.ok() };
        let ready: Vec<Option<Vec<Clustering>>> =
            if alone { (0..sets.len()).map(shared).collect() } else { ctx.pool.map(sets.len(), shared) };
        let one = |at: usize| {
            let (set, which) = (at / ks.len(), at % ks.len());
            // Even a run that is stopped at once has something to say: its first k.
            if at > 0 && ctx.checkpoint().is_err() {
                return None;
            }
            let job = Job { k: ks[which], ..self.job.clone() };
            let clustering = ready[set].as_ref().map(|r| r[which].clone());
            let run = job.run_ready(&inner, data, sets[set], clustering);
            ctx.progress("runs", done.fetch_add(1, Ordering::Relaxed) + 1, Some(total as u64));
            Some(run)
        };
        let mut runs: Vec<Option<Result<Run>>> =
            if alone { (0..total).map(one).collect() } else { ctx.pool.map(total, one) };
        Ok((0..sets.len()).map(|_| runs.drain(..ks.len()).collect()).collect())
    }

    /// All criteria on all candidates.
    fn judge<F: Typed>(
        &self,
        ctx: &RunContext,
        data: &Dataset<'_, F>,
        (given, chunklets): (&ConstraintSet, &Chunklets),
        candidates: &[Candidate],
        notes: &mut Vec<String>,
    ) -> Result<(Vec<Criterion>, usize, Option<Stop>)> {
        let mut criteria = vec![held_out(candidates)];
        let kept: Vec<Option<f64>> = candidates.iter().map(|c| c.satisfaction).collect();
        let value = |v: &Option<f64>| v.map(Estimate::exact);
        criteria.push(criterion(
            "CS",
            "share of the constraints kept",
            kept.iter().map(value).collect(),
            false,
            candidates,
        ));
        let labels: Vec<&[u32]> = candidates.iter().map(|c| c.run.labels.as_slice()).collect();
        let size = (data.n() as f64).powi(2) * data.dims() as f64;
        let mut which = vec![
            Internal::Silhouette,
            Internal::NormalisedHubert,
            Internal::SimplifiedSilhouette,
            Internal::CalinskiHarabasz,
            Internal::DaviesBouldin,
        ];
        if size <= DBCV_UP_TO {
            which.push(Internal::Dbcv);
        }
        let scale = self.job.scaling.unwrap_or_default().fit(data)?;
        let space = match scale.is_identity() {
            true => None,
            false => Some(scale.apply(data)?),
        };
        let lent = match &space {
            None => *data,
            Some(table) => super::job::with_weights(table, data)?,
        };
        let scores = score_rows(ctx, &lent, &labels, &which, self.sampling);
        let (mut looked_at, mut stopped) = (scores.looked_at, scores.stopped);
        self.add_indices(&mut criteria, &scores, &kept, "", candidates);
        if kept.iter().any(Option::is_some) {
            for name in &self.metrics {
                match learned_distance(ctx, name, &lent, given, chunklets)? {
                    Ok(transform) => {
                        let table = transform.apply(&lent)?;
                        let space = super::job::with_weights(&table, data)?;
                        let scores = score_rows(ctx, &space, &labels, &which[..2], self.sampling);
                        looked_at = looked_at.min(scores.looked_at);
                        stopped = stopped.or(scores.stopped);
                        self.add_indices(&mut criteria, &scores, &kept, &format!("@{name}"), candidates);
                    }
                    Err(why) => notes.push(why),
                }
            }
        }
        Ok((criteria, looked_at, stopped))
    }

    /// Every index of a pass, plain and (where it lies in [0, 1] after norming) weighted with the constraints kept.
    fn add_indices(
        &self,
        criteria: &mut Vec<Criterion>,
        scores: &InternalScores,
        kept: &[Option<f64>],
        space: &str,
        candidates: &[Candidate],
    ) {
        for (at, index) in scores.which.iter().enumerate() {
            let entry = index.entry();
            let values: Vec<Option<Estimate>> = scores.values.iter().map(|v| v[at]).collect();
            let loss = entry.name.ends_with("_loss");
            let name = format!("{}{space}", entry.symbol);
            let mut plain = criterion(&name, entry.summary, values.clone(), loss, candidates);
            if scores.looked_at < candidates[0].run.labels.len() {
                settle_ties(&mut plain, scores, *index, candidates);
            }
            criteria.push(plain);
            let paper = matches!(index, Internal::Silhouette | Internal::NormalisedHubert);
            if paper && kept.iter().any(Option::is_some) {
                let norms = normalised(&values.iter().map(|v| v.map(|v| v.value)).collect::<Vec<_>>(), entry.norm);
                let mixed = norms.iter().zip(kept).zip(&values).map(|((norm, cs), v)| {
                    let error = v.map_or(0.0, |v| v.error) * (1.0 - self.alpha) / 2.0;
                    norm.map(|norm| Estimate { value: weighted(norm, *cs, self.alpha), error })
                });
                let name = format!("{}+CS{space}", entry.symbol);
                let summary = format!("{} and share of the constraints kept", entry.name.replace('_', " "));
                criteria.push(criterion(&name, &summary, mixed.collect(), loss, candidates));
            }
        }
    }
}

fn tally(folds: &[Fold], fits: &[Vec<Option<Result<Run>>>], at: usize) -> Option<Tally> {
    let mut sum = Tally::default();
    for (fold, runs) in folds.iter().zip(fits) {
        sum.add(&fold.test(&runs[at].as_ref()?.as_ref().ok()?.labels));
    }
    (sum.tests() > 0.0).then_some(sum)
}

fn held_out(candidates: &[Candidate]) -> Criterion {
    let value = |t: &Tally| t.gap().map(|value| Estimate { value, error: t.error() });
    let values = candidates.iter().map(|c| c.held_out.as_ref().and_then(value)).collect();
    criterion("gap", "held-out constraints kept beyond chance", values, false, candidates)
}

/// The best value, ties to the smaller k.
fn criterion(
    name: &str,
    summary: &str,
    values: Vec<Option<Estimate>>,
    loss: bool,
    candidates: &[Candidate],
) -> Criterion {
    let better = |v: f64| if loss { -v } else { v };
    let mut best: Option<(usize, f64)> = None;
    let mut second: Option<f64> = None;
    for (at, value) in values.iter().enumerate() {
        let Some(value) = value.map(|v| better(v.value)).filter(|v| !v.is_nan()) else { continue };
        match best {
            Some((_, top)) if value <= top + EQUAL => second = Some(second.map_or(value, |s: f64| s.max(value))),
            _ => {
                second = best.map(|b| b.1).or(second);
                best = Some((at, value));
            }
        }
    }
    let margin = best.zip(second).map(|(b, s)| b.1 - s);
    let k = best.map(|b| candidates[b.0].k);
    Criterion { name: name.to_owned(), summary: summary.to_owned(), values, loss, k, margin, chooses: name != "CS" }
}

/// On a sample, a smaller k that cannot be told from the best one is chosen instead.
fn settle_ties(criterion: &mut Criterion, scores: &InternalScores, index: Internal, candidates: &[Candidate]) {
    let Some(best) = criterion.k.and_then(|k| candidates.iter().position(|c| c.k == k)) else { return };
    for at in 0..best {
        let behind = scores.difference(best, at, index);
        if behind.is_some_and(|d| d.error > 0.0 && d.value.abs() < 2.0 * d.error) {
            criterion.k = Some(candidates[at].k);
            return;
        }
    }
}

#[cfg(test)]
mod tests;
