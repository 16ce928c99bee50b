//! Fitting and weighing candidates. Weight of a candidate = its prior · exp(−½(difference to the best score / error of the
//! difference)²): with little evidence nearly all have a say, with much only the best. Below four pieces of evidence the
//! prior alone counts.
//! All fits of all folds are independent tasks with random streams of their own, joined in order.

use std::sync::atomic::{AtomicU64, Ordering};

use super::candidates::{Branch, Candidate, Fitted, Form, Instance, fit_branch};
use super::holdout::{self, Split, Tally};
use crate::constraints::Chunklets;
use crate::context::RunContext;

/// Evidence below which nothing is held out.
const LEAST_EVIDENCE: usize = 4;
/// Restarts of a fit that is only there to be tested.
const TEST_RESTARTS: usize = 2;
/// Share of the tests passed above which nothing better is worth its price.
const NEARLY_ALL: f64 = 0.98;
/// Candidates that weigh less have no say.
const LEAST_WEIGHT: f64 = 0.01;
/// rows² × columns above which one neighbour search keeps all threads busy by itself.
const LARGE: f64 = 2e9;

/// One problem to fit all candidates to, with the number of its random stream.
pub struct Task<'a> {
    /// The constraints.
    pub chunklets: &'a Chunklets,
    /// Restarts of k-means.
    pub restarts: usize,
    /// Which stream.
    pub stream: u64,
}

/// Every candidate fitted to every task; `None` where the run was stopped first or no feasible start was found.
pub fn fit_all(
    ctx: &RunContext,
    instance: &Instance<'_>,
    candidates: &[Candidate],
    tasks: &[Task<'_>],
) -> Vec<Vec<Option<Fitted>>> {
    let mut branches: Vec<(Branch, Vec<usize>)> = Vec::new();
    for (i, candidate) in candidates.iter().enumerate() {
        match branches.iter_mut().find(|b| b.0 == candidate.branch) {
            Some(branch) => branch.1.push(i),
            None => branches.push((candidate.branch, vec![i])),
        }
    }
    let (count, done) = (tasks.len() * branches.len(), AtomicU64::new(0));
    let one = |inner: &RunContext, at: usize| {
        let (task, (branch, members)) = (&tasks[at / branches.len()], &branches[at % branches.len()]);
        if ctx.checkpoint().is_err() {
            return None;
        }
        let forms: Vec<Form> = members.iter().map(|&i| candidates[i].form).collect();
        let stream = task.stream * 16 + (at % branches.len()) as u64;
        let fitted = fit_branch(inner, instance, task.chunklets, *branch, &forms, task.restarts, stream);
        ctx.progress("choosing", done.fetch_add(1, Ordering::Relaxed) + 1, Some(count as u64));
        // A start that is not found within the limits costs the candidate, not the run.
        fitted.ok().flatten()
    };
    let widest = instance.bases.iter().map(|b| b.x.rows() as f64 * b.x.rows() as f64 * b.x.cols() as f64);
    let fitted: Vec<Option<Vec<Fitted>>> = if widest.fold(0.0, f64::max) > LARGE {
        (0..count).map(|at| one(ctx, at)).collect()
    } else {
        let inner = ctx.quiet().with_threads(1);
        ctx.pool.map(count, |at| one(&inner, at))
    };
    let mut out = vec![vec![None; candidates.len()]; tasks.len()];
    for (at, found) in fitted.into_iter().enumerate() {
        let members = &branches[at % branches.len()].1;
        for (&i, f) in members.iter().zip(found.into_iter().flatten()) {
            out[at / branches.len()][i] = Some(f);
        }
    }
    out
}

/// How the candidates did.
#[derive(Debug, Clone, PartialEq)]
pub struct Choice {
    /// Held-out score of each; `None` when nothing was tested.
    pub scores: Vec<Option<f64>>,
    /// The standard error of the best one's score.
    pub error: f64,
    /// What each has to say.
    pub weights: Vec<f64>,
    /// The best, or the one most like the others when nothing was tested.
    pub best: usize,
}

impl Choice {
    fn of(tallies: &[Tally], candidates: &[Candidate]) -> Choice {
        let same = tallies.iter().map(Tally::alike).sum::<f64>() / tallies.len() as f64;
        let scores: Vec<f64> = tallies.iter().map(|t| t.score(same)).collect();
        let mut best = 0;
        for (i, score) in scores.iter().enumerate() {
            if *score > scores[best] {
                best = i;
            }
        }
        let error = tallies[best].error(same);
        let behind = |i: usize| (scores[best] - scores[i]) / tallies[i].error_against(&tallies[best], same);
        let weights = (0..scores.len()).map(|i| candidates[i].prior * (-0.5 * behind(i).powi(2)).exp()).collect();
        Choice { scores: scores.into_iter().map(Some).collect(), error, weights, best }
    }

    /// Those that have a say, in order.
    pub fn members(&self) -> impl Iterator<Item = (usize, f64)> + '_ {
        self.weights.iter().copied().enumerate().filter(|(_, w)| *w > LEAST_WEIGHT)
    }
}

/// Tests all candidates on held-out rows; `None` when there is too little evidence or the run was stopped before one
/// fold was through.
pub fn by_holdout(
    ctx: &RunContext,
    instance: &Instance<'_>,
    chunklets: &Chunklets,
    candidates: &[Candidate],
    folds: usize,
) -> Option<Choice> {
    tests(ctx, instance, chunklets, candidates, folds).map(|tallies| Choice::of(&tallies, candidates))
}

/// The same, but the others are tested only when the best of the first `simple` ones leaves room to be better.
pub fn simple_first(
    ctx: &RunContext,
    instance: &Instance<'_>,
    chunklets: &Chunklets,
    candidates: &[Candidate],
    simple: usize,
    folds: usize,
) -> Option<Choice> {
    let mut tallies = tests(ctx, instance, chunklets, &candidates[..simple], folds)?;
    let best = tallies.iter().map(Tally::share).fold(0.0, f64::max);
    if best < NEARLY_ALL {
        tallies.extend(tests(ctx, instance, chunklets, &candidates[simple..], folds).into_iter().flatten());
    }
    let mut choice = Choice::of(&tallies, candidates);
    choice.scores.resize(candidates.len(), None);
    choice.weights.resize(candidates.len(), 0.0);
    Some(choice)
}

/// What came of every candidate.
fn tests(
    ctx: &RunContext,
    instance: &Instance<'_>,
    chunklets: &Chunklets,
    candidates: &[Candidate],
    folds: usize,
) -> Option<Vec<Tally>> {
    if holdout::evidence(chunklets) < LEAST_EVIDENCE || candidates.len() < 2 {
        return None;
    }
    let splits: Vec<Split> = holdout::splits(chunklets, folds, &mut ctx.rng("folds", 0));
    let tasks: Vec<Task<'_>> = splits
        .iter()
        .enumerate()
        .map(|(f, s)| Task { chunklets: &s.chunklets, restarts: TEST_RESTARTS, stream: 1 + f as u64 })
        .collect();
    let fitted = fit_all(ctx, instance, candidates, &tasks);
    let kinds = (chunklets.len() < chunklets.n(), chunklets.graph().edge_count() > 0);
    let mut tallies = vec![Tally::default(); candidates.len()];
    let mut through = 0;
    // Folds that some candidate did not finish would compare unequal tests.
    for (split, fitted) in splits.iter().zip(&fitted) {
        let Some(all) = fitted.iter().map(Option::as_ref).collect::<Option<Vec<&Fitted>>>() else { continue };
        through += 1;
        for (tally, f) in tallies.iter_mut().zip(all) {
            tally.add(&Tally::new(split, &f.labels, instance.k, kinds));
        }
    }
    (through > 0).then_some(tallies)
}
