//! What to believe of the constraints (spec: fold, "Trust"). `hard`: all; a contradiction is an error. `soft`: each is
//! wrong with probability 1/(1+e^w). `auto`: all, unless they contradict each other or predict each other far better
//! with errors than without; then those that the rows and the rest predict to be errors are left out and listed with the
//! evidence, and so many suspects after them that most of the errors should be on the list. With less evidence, or where
//! more clusters explain them better than errors do, all are kept, and those that look wrong are listed; where nothing
//! looks wrong and errors are not ruled out either, those that would be the likeliest. Model and grid:
//! `blocks/belief.rs`, `scan.rs`. Decided here: pairs are judged; sets and partial labellings (rules, columns) are believed,
//! unless they contradict each other. A finite weight is a smallest probability of error; an infinite one says nothing, so
//! confidence 1 is judged like no confidence, and who has proof asks for `hard`. No labelling into k clusters is an error
//! about k, unless k clusters with a few errors predict the constraints better than the smallest possible k without.

mod closure;
mod clusters;
mod evidence;
mod judge;
mod part;
mod scan;
#[cfg(test)]
mod tests;

use std::time::Duration;

pub use evidence::Distrusted;

use crate::blocks::belief::{self, Field, Settings};
use crate::blocks::extend::Moved;
use crate::blocks::lloyd::assign_nearest;
use crate::constraints::{
    Chunklets, Conflicts, ConstraintId, ConstraintSet, Dropped, Feasibility, FeasibleOptions, Infeasible, Kind, Pair,
    Repair, RepairOptions, feasible, repair,
};
use crate::context::RunContext;
use crate::data::{Dataset, Float, Scaling};
use crate::error::{Error, Result};
use judge::{Judge, Used};
use part::{Part, Space, View, constrained, sample};

/// Below this many pairs only contradictions count.
const FEW: usize = 30;
/// Rows that are looked at when there are more: all constrained ones and a sample of the others.
const MOST_ROWS: usize = 4_000;
/// Constrained rows, and constraints × k, beyond which the rows are not asked.
const MOST_BOUND: usize = 200_000;
const MOST_WORK: usize = 1_000_000;
/// Pairs beyond which some are asked first whether there is anything to doubt, and how many those are.
const MANY: usize = 5_000;
const SOME: usize = 1_000;
/// Time for a repair.
const REPAIR: Duration = Duration::from_secs(10);

/// Log-odds of 85 %, the weight of a soft constraint that says none: people err on 13 to 16 % of pairs.
pub const SOFT_WEIGHT: f64 = 1.734601055388106;

/// How far the constraints are believed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Trust {
    /// They are proven.
    Hard,
    /// Each may be wrong, as its weight says.
    Soft,
    /// Hard, unless they themselves say otherwise.
    #[default]
    Auto,
}

/// What came of looking at the constraints.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// All are believed.
    Hard,
    /// Each was weighed as given.
    Soft,
    /// Some are wrong.
    Noisy,
}

/// What to believe, and why.
#[derive(Debug, Clone, PartialEq)]
pub struct Assessment {
    /// All, weighed, or not all.
    pub verdict: Verdict,
    /// Why, in words.
    pub reason: String,
    /// Estimated share of wrong pairs; `None` when that was not asked.
    pub error_rate: Option<f64>,
    /// Pairs that contradict earlier ones.
    pub contradictions: usize,
    /// Contradictions that 5 % of errors would have made, when there are none.
    pub expected_contradictions: f64,
    /// Log Bayes factor of "some are wrong" against "none is"; `None` when that was not asked.
    pub evidence: Option<f64>,
    /// The constraints that are not believed, most probably wrong first, then those that are kept but doubtful.
    pub distrusted: Vec<Distrusted>,
    /// The most probable label of every row under all constraints, each weighed by its probability.
    pub labels: Option<Vec<u32>>,
}

impl Assessment {
    fn new(verdict: Verdict, reason: impl Into<String>) -> Assessment {
        Assessment {
            verdict,
            reason: reason.into(),
            error_rate: None,
            contradictions: 0,
            expected_contradictions: 0.0,
            evidence: None,
            distrusted: Vec::new(),
            labels: None,
        }
    }

    /// The constraints that are believed; ids stay.
    pub fn believed(&self, given: &ConstraintSet) -> ConstraintSet {
        let drop = |d: &Distrusted| Dropped {
            id: d.id,
            row: d.entry.map(|_| d.a),
            entry: d.entry.unwrap_or(0),
            weight: 0.0,
            against: Vec::new(),
        };
        let left_out = self.distrusted.iter().filter(|d| !d.kept);
        Repair { dropped: left_out.map(drop).collect(), ..Repair::default() }.apply(given)
    }

    /// Nothing looks wrong: what is listed would be the likeliest if something were.
    pub fn shows_no_errors(&self) -> bool {
        let all_kept = self.distrusted.iter().all(|d| d.kept);
        self.verdict == Verdict::Hard && all_kept && self.error_rate.is_none_or(|rate| rate == 0.0)
    }

    /// What a user should know about it; nothing when all are believed.
    pub(super) fn note(&self, given: &ConstraintSet) -> Option<String> {
        let pairs = pairs_that_count(given).count();
        let kept = self.distrusted.iter().filter(|d| d.kept).count();
        let (count, reason) = (self.distrusted.len() - kept, &self.reason);
        let doubtful = if kept > 0 { format!(", and {kept} more are doubtful but kept") } else { String::new() };
        let what = match self.verdict {
            Verdict::Hard if count == 0 && kept == 0 => return None,
            Verdict::Hard if self.shows_no_errors() => {
                return Some(format!(
                    "no constraint looks wrong ({reason}), but the rows cannot vouch for all: should some be, the {kept} \
                     of {pairs} that are listed with the evidence are the likeliest"
                ));
            }
            Verdict::Hard if count == 0 => {
                return Some(format!(
                    "{kept} of {pairs} constraints are doubtful, but {reason}, so all are kept; each is listed with the \
                     evidence: look at them again"
                ));
            }
            Verdict::Hard => {
                format!("{count} of {pairs} constraints given with doubt are probably wrong and left out{doubtful}")
            }
            Verdict::Soft => format!("{count} of {pairs} constraints are probably wrong or broken"),
            Verdict::Noisy => format!("{count} of {pairs} constraints are not believed, because {reason}{doubtful}"),
        };
        Some(format!("{what}; each is listed with the evidence (--trust hard believes all)"))
    }
}

/// A first look at the constraints, before the rows are touched.
pub(super) struct Looked {
    chunklets: Chunklets,
    conflicts: Conflicts,
    infeasible: Option<Box<Infeasible>>,
}

/// What a method is to run on.
pub(super) struct Settled {
    /// The constraints to keep; `None` = all that were given.
    pub believed: Option<ConstraintSet>,
    /// What follows from them.
    pub chunklets: Chunklets,
    /// Labels that keep them all and use every cluster, where beliefs gave such.
    pub labels: Option<Vec<u32>>,
    /// What was found; `None` when nothing was asked.
    pub assessment: Option<Assessment>,
}

impl Settled {
    /// Everything is believed.
    pub fn all(chunklets: Chunklets) -> Settled {
        Settled { believed: None, chunklets, labels: None, assessment: None }
    }
}

/// Refuses what no trust can save among the constraints of at least this weight.
pub(super) fn look(given: &ConstraintSet, weight: f64, k: usize, trust: Trust) -> Result<Looked> {
    let (chunklets, conflicts) = given.close_lenient(weight)?;
    let mut looked = Looked { chunklets, conflicts, infeasible: None };
    if !looked.conflicts.is_empty() {
        return if trust == Trust::Hard { Err(Error::Contradiction(looked.conflicts)) } else { Ok(looked) };
    }
    let few = pairs_that_count(given).count() < FEW;
    if k > looked.chunklets.len() && (trust == Trust::Hard || few) {
        return Err(Error::TooFewChunklets { k, chunklets: looked.chunklets.len() });
    }
    // Before any work: an answer in milliseconds beats one after an hour.
    if let Feasibility::Infeasible(why) = feasible(&looked.chunklets, k, &FeasibleOptions::default()) {
        if trust == Trust::Hard || (trust == Trust::Auto && few) {
            return Err(Error::Infeasible(why));
        }
        looked.infeasible = Some(why);
    }
    Ok(looked)
}

impl Looked {
    /// What follows from all constraints.
    pub fn chunklets(self) -> Chunklets {
        self.chunklets
    }

    /// The same, when they can all be kept with k clusters.
    pub fn kept_by(&self, k: usize) -> Option<&Chunklets> {
        self.keepable(k).then_some(&self.chunklets)
    }

    fn keepable(&self, k: usize) -> bool {
        self.conflicts.is_empty() && self.infeasible.is_none() && k <= self.chunklets.len()
    }

    /// Asks the rows and decides. `scaling`: what was done to them; `None`: the method chooses a space by itself.
    pub fn settle<F: Float>(
        self,
        ctx: &RunContext,
        data: &Dataset<'_, F>,
        scaling: Option<Scaling>,
        given: &ConstraintSet,
        k: usize,
        trust: Trust,
    ) -> Result<Settled> {
        let mut assessment = self.assess(ctx, &Space::new(data, scaling)?, given, k, trust)?;
        if assessment.distrusted.iter().all(|d| d.kept) && self.keepable(k) {
            let labels = assessment.labels.take().filter(|_| assessment.verdict == Verdict::Soft);
            let assessment = Some(assessment);
            return Ok(Settled { believed: None, chunklets: self.chunklets, labels, assessment });
        }
        let mut believed = assessment.believed(given);
        let labels = assessment.labels.take().filter(|labels| {
            let mut used = vec![false; k];
            labels.iter().for_each(|&l| used[l as usize] = true);
            used.iter().all(|u| *u) && believed.violations(labels, 0).broken() == 0
        });
        let possible = |set: &ConstraintSet| {
            let chunklets = set.close()?;
            if k > chunklets.len() {
                return Err(Error::TooFewChunklets { k, chunklets: chunklets.len() });
            }
            match feasible(&chunklets, k, &FeasibleOptions::default()) {
                Feasibility::Infeasible(why) => Err(Error::Infeasible(why)),
                _ => Ok(chunklets),
            }
        };
        let chunklets = match if labels.is_some() { believed.close() } else { possible(&believed) } {
            Ok(chunklets) => chunklets,
            Err(_) => {
                // With proven constraints only the others may go.
                let proven = |i: usize| trust == Trust::Soft && given.pairs()[i].weight == f64::INFINITY;
                let cost = |i: usize| if proven(i) { f64::INFINITY } else { given.pairs()[i].weight.min(20.0) };
                let group = (trust == Trust::Auto).then_some(20.0);
                assessment.distrusted.extend(repaired(&believed, k, group, cost)?);
                believed = assessment.believed(given);
                possible(&believed)?
            }
        };
        Ok(Settled { believed: Some(believed), chunklets, labels, assessment: Some(assessment) })
    }

    fn assess<F: Float>(
        &self,
        ctx: &RunContext,
        space: &Space<'_, F>,
        given: &ConstraintSet,
        k: usize,
        trust: Trust,
    ) -> Result<Assessment> {
        let pairs: Vec<usize> = pairs_that_count(given).map(|(i, _)| i).collect();
        let too_many = pairs.len() * k > MOST_WORK || 2 * pairs.len() > MOST_BOUND;
        let ask_some = self.keepable(k) || (too_many && self.infeasible.is_none());
        if trust == Trust::Auto && ask_some && pairs.len() > MANY {
            // Evidence grows with every pair: if a thousand show no errors, the others hide few.
            let mut asked = vec![false; given.pairs().len()];
            let drawn = ctx.rng("trust-pairs", 0).sample(pairs.len(), SOME);
            drawn.into_iter().for_each(|i| asked[pairs[i]] = true);
            let some = given.map_pairs(|i, p| Some(if asked[i] { *p } else { Pair { weight: 0.0, ..*p } }));
            // What centres say about some can be asked about all; neighbours cannot.
            let (found, used) = self.assess_on(!too_many, ctx, space, &some, k, trust)?;
            if found.shows_no_errors() || (found.verdict == Verdict::Hard && found.distrusted.is_empty()) {
                return Ok(Assessment { distrusted: Vec::new(), ..found });
            }
            if let Some(used) = used.filter(|_| too_many) {
                return self.by_the_same(ctx, space, given, k, found, &used);
            }
        }
        Ok(self.assess_on(true, ctx, space, given, k, trust)?.0)
    }

    /// Some constraints showed errors, and there are too many for another look like that one: what it found about rows
    /// and error rate judges them all.
    fn by_the_same<F: Float>(
        &self,
        ctx: &RunContext,
        space: &Space<'_, F>,
        given: &ConstraintSet,
        k: usize,
        found: Assessment,
        used: &Used,
    ) -> Result<Assessment> {
        let bound = constrained(space.data.n(), given);
        let rows: Vec<usize> = (0..space.data.n()).filter(|&i| bound[i]).collect();
        let part = Part::new(space, given, rows)?;
        let view = part.view()?;
        let judge = Judge::new(self, view, &part.given, k, Trust::Auto)?;
        let settings = Settings { max_iter: 1, ..used.settings };
        let field = Field::new(&view.judged, &judge.nodes, k);
        let fit = belief::fit(ctx, &field, &judge.network, &settings, &used.centres);
        let kept = found.verdict == Verdict::Hard;
        let suspects = judge.distrusted(&fit, used.variance).into_iter();
        let mut distrusted: Vec<Distrusted> = suspects.map(|d| Distrusted { kept, ..d }).collect();
        part.to_all(&mut distrusted);
        Ok(Assessment { distrusted, labels: None, ..found })
    }

    /// Asks about the constrained rows and some others.
    fn assess_on<F: Float>(
        &self,
        neighbours: bool,
        ctx: &RunContext,
        space: &Space<'_, F>,
        given: &ConstraintSet,
        k: usize,
        trust: Trust,
    ) -> Result<(Assessment, Option<Used>)> {
        let data = space.data;
        let Some(rows) = sample(ctx, data, given, MOST_ROWS) else {
            let judge = Judge::new(self, View { rows: *data, scaling: None, judged: *data }, given, k, trust)?;
            return Ok((judge.without_rows(ctx, "too many to weigh one by one")?, None));
        };
        let part = Part::new(space, given, rows)?;
        let mut judge = Judge::new(self, part.view()?, &part.given, k, trust)?;
        let mut found = judge.decide(ctx, neighbours)?;
        part.to_all(&mut found.distrusted);
        if let (Some(labels), Some(used), true) = (&mut found.labels, &judge.used, part.rows.len() < data.n()) {
            let moved = Moved::new(data, &space.transform)?;
            let mut all = assign_nearest(ctx, &moved.view()?, &used.centres);
            part.rows.iter().zip(labels.iter()).for_each(|(&row, &l)| all[row] = l);
            *labels = all;
        }
        Ok((found, judge.used))
    }
}

/// What to believe of `given`, judged on these rows for k ≥ 2 clusters. `scaling`: what was done to them; `None`: they may
/// be seen on any scale. Contradictions are no error unless `trust` is hard; an impossible k is.
pub fn assess<F: Float>(
    ctx: &RunContext,
    data: &Dataset<'_, F>,
    scaling: Option<Scaling>,
    given: &ConstraintSet,
    k: usize,
    trust: Trust,
) -> Result<Assessment> {
    let looked = look(given, 0.0, k, trust)?;
    if trust == Trust::Hard {
        return Ok(Assessment::new(Verdict::Hard, "the constraints are proven"));
    }
    looked.assess(ctx, &Space::new(data, scaling)?, given, k, trust)
}

fn pairs_that_count(given: &ConstraintSet) -> impl Iterator<Item = (usize, &Pair)> {
    let says = |p: &Pair| p.weight > 0.0 && (p.a != p.b || p.kind == Kind::CannotLink);
    given.pairs().iter().enumerate().filter(move |(_, p)| says(p))
}

/// What the cheapest repair leaves out; `cost` of dropping each pair, `group` that of a row of a set or labelling (`None`:
/// these are proven).
fn repaired(set: &ConstraintSet, k: usize, group: Option<f64>, cost: impl Fn(usize) -> f64) -> Result<Vec<Distrusted>> {
    let priced = set.map_pairs(|i, p| Some(Pair { weight: if p.weight > 0.0 { cost(i) } else { 0.0 }, ..*p }));
    let options = RepairOptions { treat_hard_as: None, time_limit: REPAIR, greedy: set.pairs().len() > 100_000 };
    let found = match (repair(&priced, Some(k), &options), group) {
        (Err(Error::Contradiction(_) | Error::Infeasible(_)), Some(_)) => {
            repair(&priced, Some(k), &RepairOptions { treat_hard_as: group, ..options })?
        }
        (other, _) => other?,
    };
    Ok(found.dropped.iter().map(|d| left_out(set, d)).collect())
}

/// What a repair leaves out, as something to list: one of those against it is wrong, and nothing more is known.
fn left_out(set: &ConstraintSet, dropped: &Dropped) -> Distrusted {
    let row = dropped.row.unwrap_or(0);
    let (a, b, kind) = match dropped.id {
        ConstraintId::Pair(i) => {
            let p = &set.pairs()[i as usize];
            (p.a, p.b, p.kind)
        }
        ConstraintId::Set(i) => (row, row, set.sets()[i as usize].kind),
        ConstraintId::Labels(_) => (row, row, Kind::MustLink),
    };
    Distrusted {
        id: dropped.id,
        entry: dropped.row.map(|_| dropped.entry),
        a,
        b,
        kind,
        probability_wrong: 1.0 / (dropped.against.len() + 1) as f64,
        probability_same_without_it: 0.5,
        sigmas: 0.0,
        cost: 0.0,
        cycle: dropped.against.clone(),
        broken: true,
        kept: false,
    }
}
