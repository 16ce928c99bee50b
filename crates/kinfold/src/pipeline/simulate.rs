//! A simulated dialogue: an oracle that knows the classes, errs at a given rate and is unsure at another, answers a
//! strategy's questions; a method clusters under the answers. Gives the learning curve. The same pair always gets the
//! same answer, so asking again does not help.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::dialogue::{Conduct, Dialogue, Next, Reply};
use super::job::Job;
use crate::constraints::{ConstraintSet, RepairOptions, repair};
use crate::context::RunContext;
use crate::data::Dataset;
use crate::error::{Error, Result};
use crate::indices::{Scored, score_all};
use crate::methods::Typed;
use crate::queries::Ground;
use crate::rng::Rng;

/// Answers from known classes.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Oracle {
    /// Share of wrong answers.
    pub error: f64,
    /// Share of pairs about which it is unsure.
    pub unsure: f64,
    /// Which pairs these are.
    pub seed: u64,
}

impl Oracle {
    /// The answer about two rows.
    pub fn answer(&self, truth: &[u32], a: usize, b: usize) -> Reply {
        let pair = (a.min(b) as u64) << 32 | a.max(b) as u64;
        let u = Rng::stream(self.seed, "oracle", pair).unit();
        let same = truth[a] == truth[b];
        if u >= 1.0 - self.unsure {
            Reply::Unsure
        } else if same != (u < self.error) {
            Reply::Same
        } else {
            Reply::Different
        }
    }
}

/// One point of a learning curve.
#[derive(Debug, Clone, PartialEq)]
pub struct Point {
    /// Questions answered.
    pub asked: usize,
    /// Scores by name.
    pub scores: Vec<(&'static str, Option<f64>)>,
    /// Pairs of rows known.
    pub entailed: u64,
    /// Answers that were wrong so far.
    pub wrong: usize,
}

/// One simulated dialogue.
#[derive(Debug, Clone, PartialEq)]
pub struct Simulated {
    /// The curve.
    pub points: Vec<Point>,
    /// Time spent on choosing questions.
    pub choosing: Duration,
    /// Time spent on clustering.
    pub clustering: Duration,
    /// How often it was done.
    pub fits: usize,
    /// Questions asked in all, less than the budget when the strategy ended.
    pub asked: usize,
}

/// What to simulate.
#[derive(Debug, Clone, PartialEq)]
pub struct Simulation {
    /// The strategy.
    pub strategy: String,
    /// Its settings.
    pub settings: Vec<(String, String)>,
    /// How to cluster.
    pub job: Job,
    /// Questions at most.
    pub budget: usize,
    /// Questions between two points of the curve.
    pub every: usize,
    /// The oracle; its seed is replaced by that of the run.
    pub oracle: Oracle,
    /// Does the strategy know k?
    pub tell_k: bool,
}

impl Simulation {
    /// Runs one dialogue under the seed of `ctx`.
    pub fn run<F: Typed>(
        &self,
        ctx: &RunContext,
        data: &Dataset<'_, F>,
        ground: &Arc<Ground>,
        truth: &[u32],
    ) -> Result<Simulated> {
        let n = data.n();
        let conduct = Conduct {
            strategy: self.strategy.clone(),
            settings: self.settings.clone(),
            k: self.tell_k.then_some(self.job.k),
            seed: ctx.seed,
        };
        let oracle = Oracle { seed: ctx.seed, ..self.oracle };
        let mut dialogue = Dialogue::new(conduct, ground.clone(), ConstraintSet::new(n))?;
        let mut out =
            Simulated { points: Vec::new(), choosing: Duration::ZERO, clustering: Duration::ZERO, fits: 0, asked: 0 };
        let (mut wrong, mut done) = (0, false);
        let mut latest: Option<(u64, Vec<u32>)> = None;
        loop {
            if out.asked.is_multiple_of(self.every.max(1)) || out.asked >= self.budget || done {
                let labels = self.labels(ctx, data, &dialogue, &mut latest, &mut out)?;
                let scores = score_all(&Scored { labels: &labels, truth: Some(truth), constraints: None });
                let (same, different) = dialogue.known().entailed();
                out.points.push(Point { asked: out.asked, scores, entailed: same + different, wrong });
            }
            if out.asked >= self.budget || done || ctx.checkpoint().is_err() {
                return Ok(out);
            }
            let question = loop {
                let begun = Instant::now();
                let next = dialogue.next()?;
                out.choosing += begun.elapsed();
                match next {
                    Next::Ask(question) => break Some(question),
                    Next::Done(_) => break None,
                    Next::Refit => {
                        let labels = self.labels(ctx, data, &dialogue, &mut latest, &mut out)?;
                        dialogue.give_partition(labels, dialogue.known().answers())?;
                    }
                }
            };
            let Some(question) = question else {
                done = true;
                if out.points.last().is_some_and(|p| p.asked == out.asked) {
                    return Ok(out);
                }
                continue;
            };
            let (a, b) = (question.a as usize, question.b as usize);
            let reply = oracle.answer(truth, a, b);
            let right = if truth[a] == truth[b] { Reply::Same } else { Reply::Different };
            wrong += usize::from(reply != Reply::Unsure && reply != right);
            dialogue.answer(reply)?;
            out.asked += 1;
        }
    }

    /// The clustering under the answers so far, made once.
    fn labels<F: Typed>(
        &self,
        ctx: &RunContext,
        data: &Dataset<'_, F>,
        dialogue: &Dialogue,
        latest: &mut Option<(u64, Vec<u32>)>,
        out: &mut Simulated,
    ) -> Result<Vec<u32>> {
        let answers = dialogue.known().answers();
        if let Some((at, labels)) = latest
            && *at == answers
        {
            return Ok(labels.clone());
        }
        let begun = Instant::now();
        let labels = fit_anyway(&self.job, &ctx.quiet(), data, &dialogue.constraints()?)?;
        out.clustering += begun.elapsed();
        out.fits += 1;
        *latest = Some((answers, labels.clone()));
        Ok(labels)
    }
}

/// Clusters under answers that may contradict each other or be impossible with k clusters: then the cheapest repair
/// decides which are left out.
pub fn fit_anyway<F: Typed>(
    job: &Job,
    ctx: &RunContext,
    data: &Dataset<'_, F>,
    given: &ConstraintSet,
) -> Result<Vec<u32>> {
    match job.run(ctx, data, given) {
        Ok(run) => Ok(run.labels),
        Err(Error::Contradiction(_) | Error::Infeasible(_) | Error::TooFewChunklets { .. } | Error::DeadEnd(_)) => {
            let options = RepairOptions { treat_hard_as: Some(1.0), time_limit: Duration::from_secs(5), greedy: false };
            let mended = repair(given, Some(job.k), &options)?.apply(given);
            Ok(job.run(ctx, data, &mended)?.labels)
        }
        Err(other) => Err(other),
    }
}
