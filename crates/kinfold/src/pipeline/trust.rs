//! What to believe of the constraints (spec: fold, "Trust"). `hard`: all; a contradiction is an error. `soft`: each is
//! wrong with probability 1/(1+e^w). `auto`: all, unless they contradict each other or predict each other far better
//! with errors than without; then those that the rows and the rest predict to be errors are left out and listed with the
//! evidence. With less evidence all are kept, and those that look wrong are listed. Model and grid: `blocks/belief.rs`,
//! `scan.rs`. Decided here: pairs are judged; sets and partial labellings (rules, columns) are believed, unless they
//! contradict each other. A finite weight is a smallest probability of error; an infinite one says nothing, so confidence
//! 1 is judged like no confidence, and who has proof asks for `hard`. No labelling into k clusters is an error about k,
//! unless k clusters with a few errors predict the constraints better than the smallest possible k without.

mod closure;
mod evidence;
mod scan;
#[cfg(test)]
mod tests;

use std::time::Duration;

pub use evidence::Distrusted;

use crate::blocks::belief::{self, Factor, Field, Fit, Network, Settings, odds};
use crate::blocks::lloyd::assign_nearest;
use crate::constraints::{
    Chunklets, Conflicts, ConstraintId, ConstraintSet, Dropped, Feasibility, FeasibleOptions, Infeasible, Kind, Pair,
    Repair, RepairOptions, feasible, repair, smallest_k,
};
use crate::context::RunContext;
use crate::data::{Dataset, Float, Matrix, Scaling, Table, Transform};
use crate::error::{Error, Result};
use closure::Said;
use scan::{Case, Ground};

/// Error rates that are tried; the first stands for "no errors".
const ERRORS: [f64; 4] = [0.002, 0.05, 0.1, 0.2];
/// How probable the others are (people err on 5 to 16 % of pairs).
const PRIORS: [f64; 3] = [0.35, 0.45, 0.2];
/// Evidence of errors (log Bayes factor) from which on suspects are listed: a little below even odds, because looking
/// again is cheap; plus this much per constraint beyond the first hundred, because no cluster model fits classes exactly.
const EVIDENCE: f64 = -1.0;
const MISFIT: f64 = 0.015;
/// More evidence that it takes to leave suspects out although nothing contradicts them; with more than two clusters, which
/// no round model fits exactly, (k − 2)² more, at most `MOST_MISFIT`, or `MISFIT_EACH` per constraint (from six clusters
/// on, before that in proportion), whichever is more: clean sets of 14 data sets reached .065 per constraint (yeast,
/// k = 10), most of them far less. Sparse rows (text) never suffice: clean sets on text were doubted.
const TO_ACT: f64 = 4.5;
const MOST_MISFIT: f64 = 16.0;
const MISFIT_EACH: f64 = 0.07;
/// Below this many pairs only contradictions count.
const FEW: usize = 30;
/// Contradictions that 5 % of errors would make, from which on none at all is proof enough.
const WOULD_SHOW: f64 = 3.0;
/// Without contradictions, more distrusted constraints than this share speak against the rows, not against them.
const MOST_DISTRUSTED: f64 = 0.25;
/// Rows that are looked at when there are more: all constrained ones and a sample of the others.
const MOST_ROWS: usize = 10_000;
/// Of which free ones, as a part.
const LEAST_FREE: f64 = 0.4;
/// Constrained rows, and constraints × k, beyond which the rows are not asked.
const MOST_BOUND: usize = 200_000;
const MOST_WORK: usize = 1_000_000;
/// Pairs beyond which some are asked first whether there is anything to doubt, how many those are, and of how many rows.
const MANY: usize = 5_000;
const SOME: usize = 1_000;
const SOME_ROWS: usize = 4_000;
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
    /// The constraints that are not believed, most probably wrong first.
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
}

impl Assessment {
    /// What a user should know about it; nothing when all are believed.
    pub(super) fn note(&self, given: &ConstraintSet) -> Option<String> {
        let pairs = pairs_that_count(given).count();
        let (count, reason) = (self.distrusted.len(), &self.reason);
        let what = match self.verdict {
            Verdict::Hard if count == 0 => return None,
            Verdict::Hard if self.distrusted.iter().all(|d| d.kept) => {
                return Some(format!(
                    "{count} of {pairs} constraints look wrong, but {reason}, so all are kept; each is listed with the \
                     evidence: look at them again"
                ));
            }
            Verdict::Hard => format!("{count} of {pairs} constraints given with doubt are probably wrong and left out"),
            Verdict::Soft => format!("{count} of {pairs} constraints are probably wrong or broken"),
            Verdict::Noisy => format!("{count} of {pairs} constraints are not believed, because {reason}"),
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

/// The space in which constraints are judged when the method chooses the representation by itself: standardised, or for
/// sparse rows tf-idf where they are counts.
pub(super) fn space_to_judge<F: Float>(data: &Dataset<'_, F>) -> Result<Transform> {
    if !data.is_sparse() {
        return Scaling::Standard.fit(data);
    }
    Ok(Scaling::TfIdf.fit(data).unwrap_or_default())
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

    /// Asks the rows (in the representation in which they are clustered) and decides.
    pub fn settle<F: Float>(
        self,
        ctx: &RunContext,
        data: &Dataset<'_, F>,
        given: &ConstraintSet,
        k: usize,
        trust: Trust,
    ) -> Result<Settled> {
        let mut assessment = self.assess(ctx, data, given, k, trust)?;
        if assessment.distrusted.is_empty() && self.keepable(k) {
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
        data: &Dataset<'_, F>,
        given: &ConstraintSet,
        k: usize,
        trust: Trust,
    ) -> Result<Assessment> {
        let pairs: Vec<usize> = pairs_that_count(given).map(|(i, _)| i).collect();
        let too_many = pairs.len() * k > MOST_WORK || 2 * pairs.len() > MOST_BOUND;
        let ask_some = self.keepable(k) || (too_many && self.infeasible.is_none());
        if trust == Trust::Auto && ask_some && pairs.len() > MANY {
            // Evidence grows with every pair: if some thousands show no errors, the others hide few.
            let mut asked = vec![false; given.pairs().len()];
            let drawn = ctx.rng("trust-pairs", 0).sample(pairs.len(), SOME);
            drawn.into_iter().for_each(|i| asked[pairs[i]] = true);
            let some = given.map_pairs(|i, p| Some(if asked[i] { *p } else { Pair { weight: 0.0, ..*p } }));
            let (found, used) = self.assess_on(SOME_ROWS, ctx, data, &some, k, trust)?;
            if found.verdict == Verdict::Hard && found.distrusted.is_empty() {
                return Ok(found);
            }
            if let Some(used) = used.filter(|_| too_many) {
                return self.by_the_same(ctx, data, given, k, found, &used);
            }
        }
        Ok(self.assess_on(MOST_ROWS, ctx, data, given, k, trust)?.0)
    }

    /// Some constraints showed errors, and there are too many for another look like that one: what it found about rows
    /// and error rate judges them all.
    fn by_the_same<F: Float>(
        &self,
        ctx: &RunContext,
        data: &Dataset<'_, F>,
        given: &ConstraintSet,
        k: usize,
        found: Assessment,
        used: &Used,
    ) -> Result<Assessment> {
        let bound = constrained(data.n(), given);
        let rows: Vec<usize> = (0..data.n()).filter(|&i| bound[i]).collect();
        let part = Part::new(data, given, rows)?;
        let view = part.view()?;
        let judge = Judge::new(self, &view, &part.given, k, Trust::Auto)?;
        let settings = Settings { max_iter: 1, ..used.settings };
        let fit = belief::fit(ctx, &Field::new(&view, &judge.nodes, k), &judge.network, &settings, &used.centres);
        let kept = found.verdict == Verdict::Hard;
        let suspects = judge.distrusted(&fit, used.variance).into_iter();
        let mut distrusted: Vec<Distrusted> = suspects.map(|d| Distrusted { kept, ..d }).collect();
        part.to_all(&mut distrusted);
        Ok(Assessment { distrusted, labels: None, ..found })
    }

    /// Asks about this many rows, or as many as are constrained.
    fn assess_on<F: Float>(
        &self,
        most_rows: usize,
        ctx: &RunContext,
        data: &Dataset<'_, F>,
        given: &ConstraintSet,
        k: usize,
        trust: Trust,
    ) -> Result<(Assessment, Option<Used>)> {
        let sampled = sample(ctx, data, given, most_rows)?;
        match sampled {
            Sample::All => {
                let mut judge = Judge::new(self, data, given, k, trust)?;
                Ok((judge.decide(ctx)?, judge.used))
            }
            Sample::TooMany => {
                let judge = Judge::new(self, data, given, k, trust)?;
                Ok((judge.without_rows(ctx, "too many to weigh one by one")?, None))
            }
            Sample::Some(rows) => {
                let part = Part::new(data, given, rows)?;
                let view = part.view()?;
                let mut judge = Judge::new(self, &view, &part.given, k, trust)?;
                let mut found = judge.decide(ctx)?;
                part.to_all(&mut found.distrusted);
                if let (Some(labels), Some(used)) = (&mut found.labels, &judge.used) {
                    let mut all = assign_nearest(ctx, data, &used.centres);
                    part.rows.iter().zip(labels.iter()).for_each(|(&row, &l)| all[row] = l);
                    *labels = all;
                }
                Ok((found, judge.used))
            }
        }
    }
}

/// Some rows and what is said about them.
struct Part<F> {
    rows: Vec<usize>,
    table: Table<F>,
    weights: Option<Vec<f64>>,
    given: ConstraintSet,
}

impl<F: Float> Part<F> {
    fn new(data: &Dataset<'_, F>, given: &ConstraintSet, rows: Vec<usize>) -> Result<Part<F>> {
        let weights = data.weights().map(|w| rows.iter().map(|&i| w[i]).collect());
        Ok(Part { table: Table::select(data, &rows), weights, given: localised(given, &rows)?, rows })
    }
    fn view(&self) -> Result<Dataset<'_, F>> {
        match &self.weights {
            Some(w) => self.table.lend().with_weights(w),
            None => Ok(self.table.lend()),
        }
    }
    /// From numbers of rows here to those of all rows.
    fn to_all(&self, distrusted: &mut [Distrusted]) {
        for d in distrusted {
            (d.a, d.b) = (self.rows[d.a as usize] as u32, self.rows[d.b as usize] as u32);
        }
    }
}

/// What to believe of `given`, judged on these rows (in the representation in which they are clustered) for k ≥ 2
/// clusters. Contradictions are no error unless `trust` is hard; an impossible k is.
pub fn assess<F: Float>(
    ctx: &RunContext,
    data: &Dataset<'_, F>,
    given: &ConstraintSet,
    k: usize,
    trust: Trust,
) -> Result<Assessment> {
    let looked = look(given, 0.0, k, trust)?;
    if trust == Trust::Hard {
        return Ok(Assessment::new(Verdict::Hard, "the constraints are proven"));
    }
    looked.assess(ctx, data, given, k, trust)
}

/// Rows about which something is said.
fn constrained(n: usize, given: &ConstraintSet) -> Vec<bool> {
    let mut bound = vec![false; n];
    pairs_that_count(given).for_each(|(_, p)| {
        bound[p.a as usize] = true;
        bound[p.b as usize] = true;
    });
    given.sets().iter().for_each(|s| s.members.iter().for_each(|&row| bound[row as usize] = true));
    given.labels().iter().for_each(|l| l.rows.iter().for_each(|&(row, _)| bound[row as usize] = true));
    bound
}

/// Which rows to look at.
enum Sample {
    All,
    Some(Vec<usize>),
    TooMany,
}

fn sample<F: Float>(ctx: &RunContext, data: &Dataset<'_, F>, given: &ConstraintSet, most: usize) -> Result<Sample> {
    let n = data.n();
    if n <= most {
        // Rows on another scale must be copied to be looked at.
        let stored = data.stored().1.is_none();
        return Ok(if stored { Sample::All } else { Sample::Some((0..n).collect()) });
    }
    let bound = constrained(n, given);
    let count = bound.iter().filter(|b| **b).count();
    if count > MOST_BOUND {
        return Ok(Sample::TooMany);
    }
    let free: Vec<usize> = (0..n).filter(|&i| !bound[i]).collect();
    let wanted = most.saturating_sub(count).max((LEAST_FREE * most as f64) as usize);
    let mut rows: Vec<usize> = (0..n).filter(|&i| bound[i]).collect();
    rows.extend(ctx.rng("trust-sample", 0).sample(free.len(), wanted).into_iter().map(|i| free[i]));
    rows.sort_unstable();
    Ok(Sample::Some(rows))
}

/// The same constraints, in the same order, on some rows only; every constrained row is among them.
fn localised(given: &ConstraintSet, rows: &[usize]) -> Result<ConstraintSet> {
    let mut place = vec![0usize; given.n()];
    rows.iter().enumerate().for_each(|(at, &row)| place[row] = at);
    let mut out = ConstraintSet::new(rows.len());
    for p in given.pairs() {
        // Pairs without weight may be on rows that are not there; they say nothing.
        let ends = if p.weight > 0.0 { (place[p.a as usize], place[p.b as usize]) } else { (0, 0) };
        out.add_weighted_pair(p.kind, ends.0, ends.1, p.weight, Default::default())?;
    }
    for s in given.sets() {
        let members: Vec<usize> = s.members.iter().map(|&row| place[row as usize]).collect();
        out.add_set(s.kind, &members, s.weight, Default::default())?;
    }
    for l in given.labels() {
        let rows: Vec<(usize, u32)> = l.rows.iter().map(|&(row, label)| (place[row as usize], label)).collect();
        out.add_labels(&rows, l.names.clone(), Vec::new(), l.weight, Default::default())?;
    }
    Ok(out)
}

fn pairs_that_count(given: &ConstraintSet) -> impl Iterator<Item = (usize, &Pair)> {
    let says = |p: &Pair| p.weight > 0.0 && (p.a != p.b || p.kind == Kind::CannotLink);
    given.pairs().iter().enumerate().filter(move |(_, p)| says(p))
}

/// 1 / (1 + e^w): the probability that a constraint of this weight is wrong.
fn doubt(weight: f64) -> f64 {
    1.0 / (1.0 + weight.exp())
}

/// One set of constraints on one set of rows.
struct Judge<'a, F> {
    looked: &'a Looked,
    data: &'a Dataset<'a, F>,
    given: &'a ConstraintSet,
    k: usize,
    trust: Trust,
    /// Rows that are believed to be together.
    nodes: Chunklets,
    /// Memberships that contradict others.
    dropped: Vec<Distrusted>,
    network: Network,
    /// The pair of each judged factor; believed factors follow.
    pair_of: Vec<u32>,
    /// Cannot-links inside a node: certainly wrong if the node is right.
    inside: Vec<u32>,
    said: Vec<Said>,
    /// The fit that was used.
    used: Option<Used>,
}

/// What a fit to some constraints says about others.
struct Used {
    centres: Matrix,
    settings: Settings,
    /// Mean squared distance of a row to its centre.
    variance: f64,
}

impl Used {
    fn new(fit: &Fit, variance: f64) -> Used {
        Used { centres: fit.centres.clone(), settings: fit.settings, variance }
    }
}

impl<'a, F: Float> Judge<'a, F> {
    fn new(
        looked: &'a Looked,
        data: &'a Dataset<'a, F>,
        given: &'a ConstraintSet,
        k: usize,
        trust: Trust,
    ) -> Result<Judge<'a, F>> {
        let proven = |p: &Pair| trust == Trust::Soft && p.weight == f64::INFINITY;
        let groups = given.map_pairs(|_, p| Some(if proven(p) { *p } else { Pair { weight: 0.0, ..*p } }));
        let mut dropped = Vec::new();
        let (mut nodes, conflicts) = groups.close_lenient(0.0)?;
        if !conflicts.is_empty() {
            if trust == Trust::Soft {
                return Err(Error::Contradiction(conflicts));
            }
            let options = RepairOptions { treat_hard_as: Some(1.0), time_limit: REPAIR, greedy: false };
            let fixed = repair(&groups, None, &options)?;
            nodes = fixed.apply(&groups).close()?;
            dropped.extend(fixed.dropped.iter().map(|d| left_out(given, d)));
        }
        let (mut factors, mut pair_of, mut inside, mut said) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        for (i, p) in pairs_that_count(given).filter(|(_, p)| !proven(p)) {
            let (a, b) = (nodes.of(p.a as usize), nodes.of(p.b as usize));
            said.push((a, b, p.kind));
            if a != b {
                pair_of.push(i as u32);
                factors.push(Factor { a, b, kind: p.kind, doubt: doubt(p.weight), believed: false });
            } else if p.kind == Kind::CannotLink {
                inside.push(i as u32);
            }
        }
        let believed = nodes.graph().edges();
        factors.extend(believed.map(|(a, b)| Factor { a, b, kind: Kind::CannotLink, doubt: 0.0, believed: true }));
        let network = Network::new(nodes.len(), factors);
        Ok(Judge { looked, data, given, k, trust, nodes, dropped, network, pair_of, inside, said, used: None })
    }

    fn decide(&mut self, ctx: &RunContext) -> Result<Assessment> {
        if self.network.factors().len() * self.k > MOST_WORK {
            return self.without_rows(ctx, "too many to weigh one by one");
        }
        if self.trust == Trust::Soft && !self.said.is_empty() {
            return self.weigh(ctx);
        }
        let noisy = !self.looked.conflicts.is_empty();
        let (contradictions, expected) = self.contradictions(ctx);
        let doubted = self.network.factors().iter().any(|f| f.doubt > 0.0);
        let sure = |reason: String| {
            let mut found = Assessment::new(Verdict::Hard, reason);
            found.expected_contradictions = expected;
            found
        };
        if !noisy && self.looked.infeasible.is_none() && !doubted {
            if self.said.is_empty() {
                return Ok(sure("there are no pairs to doubt".to_owned()));
            }
            if expected >= WOULD_SHOW {
                return Ok(sure(format!(
                    "no contradiction, although 5 % of errors would have made about {expected:.0}"
                )));
            }
            if self.said.len() < FEW {
                return Ok(sure(format!(
                    "no contradiction, and too few constraints to doubt any ({})",
                    self.said.len()
                )));
            }
        }
        let (case, keepable) = (self.case(), self.looked.keepable(self.k));
        let ground = Ground::new(ctx, &case, self.k, keepable)?;
        let Some(scan) = scan::scan(ctx, &case, &ground, self.k, &ERRORS, 2, Some(0)) else {
            return self.without_rows(ctx, "stopped before they were weighed");
        };
        let priors: Vec<(usize, f64)> = PRIORS.iter().enumerate().map(|(i, p)| (i + 1, p.ln())).collect();
        let (fit, _) = scan.pick(&priors);
        let terms: Vec<f64> = priors.iter().map(|&(e, prior)| prior + scan.top(e)).collect();
        let clean = match &self.looked.infeasible {
            None => scan.top(0),
            Some(_) => match self.clean_with_more(ctx)? {
                Some(score) => score,
                None => return self.without_rows(ctx, "stopped before they were weighed"),
            },
        };
        let largest = terms.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let evidence = largest + terms.iter().map(|t| (t - largest).exp()).sum::<f64>().ln() - clean;
        let needed = EVIDENCE + (MISFIT * (self.said.len() as f64 - 100.0)).max(0.0);
        let distrusted = self.distrusted(fit, ground.variance);
        let too_many = distrusted.len() as f64 > MOST_DISTRUSTED * self.said.len() as f64;
        let rate = fit.wrong[..self.pair_of.len()].iter().sum::<f64>() + self.inside.len() as f64;
        let rate = rate / self.said.len().max(1) as f64;

        let mut found = if noisy {
            Assessment::new(Verdict::Noisy, format!("they contradict each other ({contradictions} refused)"))
        } else if let Some(why) = &self.looked.infeasible {
            if evidence + against_small_k(&distrusted) < needed {
                return Err(Error::Infeasible(why.clone()));
            }
            Assessment::new(
                Verdict::Noisy,
                format!(
                    "{} clusters cannot keep them all, and that some are wrong explains them better than more clusters \
                     would; if all are right, k is too small",
                    self.k
                ),
            )
        } else if self.said.len() < FEW {
            sure(format!("no contradiction, and too few constraints to doubt any ({})", self.said.len()))
        } else if expected >= WOULD_SHOW {
            sure(format!("no contradiction, although 5 % of errors would have made about {expected:.0}"))
        } else if evidence < needed {
            sure("they predict each other as well without errors".to_owned())
        } else if too_many {
            sure(
                "the rows disagree with too many of them to blame the constraints: another scaling may help".to_owned(),
            )
        } else if !self.data.is_sparse() && evidence >= needed + self.to_act() {
            Assessment::new(
                Verdict::Noisy,
                format!("the rows and the rest of the constraints speak against them (log odds {evidence:.0})"),
            )
        } else {
            // Little speaks against them, so they are kept; but whoever gave them should look at these again.
            let mut found = sure("nothing contradicts them".to_owned());
            found.distrusted = distrusted.into_iter().map(|d| Distrusted { kept: true, ..d }).collect();
            found.evidence = Some(evidence);
            found.error_rate = Some(rate);
            self.used = Some(Used::new(fit, ground.variance));
            return Ok(found);
        };
        found.contradictions = contradictions;
        found.evidence = Some(evidence);
        if found.verdict == Verdict::Hard {
            // Answers that were given with doubt are left out when they are more probably wrong than right.
            let clean = scan.best_at(0);
            let unsure = |d: &Distrusted| self.given.weight(d.id).is_finite() && d.probability_wrong > 0.5;
            found.distrusted = self.distrusted(clean, ground.variance).into_iter().filter(unsure).collect();
            found.error_rate = Some(0.0);
            return Ok(found);
        }
        found.error_rate = Some(rate);
        if self.said.len() < FEW || (too_many && !noisy) {
            // Too few, or rows too foreign, to convict any that nothing contradicts: the cheapest repair, by belief.
            let mut cost = vec![1.0; self.given.pairs().len()];
            for (s, &i) in self.pair_of.iter().enumerate() {
                cost[i as usize] = ((1.0 - fit.wrong[s]) / fit.wrong[s].max(1e-9)).ln().clamp(0.05, 20.0);
            }
            found.distrusted = repaired(self.given, self.k, Some(30.0), |i| cost[i])?;
            self.explain(&mut found.distrusted, fit, ground.variance);
            return Ok(found);
        }
        found.distrusted = distrusted;
        found.labels = Some(self.labels(fit));
        self.used = Some(Used::new(fit, ground.variance));
        Ok(found)
    }

    fn to_act(&self) -> f64 {
        let more = self.k as f64 - 2.0;
        let each = MISFIT_EACH * (more / 4.0).min(1.0) * self.said.len() as f64;
        TO_ACT + (more * more).min(MOST_MISFIT).max(each)
    }

    fn case(&self) -> Case<'_, F> {
        let same = self.said.iter().filter(|s| s.2 == Kind::MustLink).count();
        let odds = odds(same as f64 / self.said.len().max(1) as f64);
        Case { data: self.data, given: self.given, nodes: &self.nodes, network: &self.network, odds }
    }

    /// How many pairs contradict earlier ones, and if none does, how many would if 5 % were wrong.
    fn contradictions(&self, ctx: &RunContext) -> (usize, f64) {
        let refused = closure::refused(&self.nodes, self.k, &self.said) + self.dropped.len();
        if refused > 0 {
            return (refused, 0.0);
        }
        (0, closure::expected(&self.nodes, self.k, &self.said, 0.05, 20, &mut ctx.rng("trust-flips", 0)))
    }

    /// How well the constraints are predicted without errors by as many clusters as they need; `None` when stopped.
    fn clean_with_more(&self, ctx: &RunContext) -> Result<Option<f64>> {
        let (closed, _) = self.given.close_lenient(0.0)?;
        let k = smallest_k(&closed, &FeasibleOptions::default()).upper.max(self.k + 1);
        let case = self.case();
        let ground = Ground::new(ctx, &case, k, true)?;
        Ok(scan::scan(ctx, &case, &ground, k, &ERRORS[..1], 0, None).map(|scan| scan.top(0)))
    }

    /// `soft`: the weights are the odds.
    fn weigh(&mut self, ctx: &RunContext) -> Result<Assessment> {
        let case = self.case();
        let ground = Ground::new(ctx, &case, self.k, self.looked.keepable(self.k))?;
        let Some(scan) = scan::scan(ctx, &case, &ground, self.k, &[0.0], 0, None) else {
            return self.without_rows(ctx, "stopped before they were weighed");
        };
        let (fit, _) = scan.pick(&[(0, 0.0)]);
        let mut found = Assessment::new(Verdict::Soft, "each is weighed as given");
        found.distrusted = self.distrusted(fit, ground.variance);
        let wrong = fit.wrong[..self.pair_of.len()].iter().sum::<f64>() + self.inside.len() as f64;
        found.error_rate = Some(wrong / self.said.len().max(1) as f64);
        found.labels = Some(self.labels(fit));
        self.used = Some(Used::new(fit, ground.variance));
        Ok(found)
    }

    fn labels(&self, fit: &Fit) -> Vec<u32> {
        self.nodes.of_rows().iter().map(|&node| fit.labels[node as usize]).collect()
    }

    /// The verdict that needs no rows: everything that can hold together is believed.
    fn without_rows(&self, ctx: &RunContext, why: &str) -> Result<Assessment> {
        let (contradictions, expected) = self.contradictions(ctx);
        if self.looked.keepable(self.k) {
            let mut found = Assessment::new(Verdict::Hard, format!("no contradiction, and {why}"));
            found.expected_contradictions = expected;
            return Ok(found);
        }
        if let Some(infeasible) = &self.looked.infeasible {
            return Err(Error::Infeasible(infeasible.clone()));
        }
        let reason = format!("they contradict each other ({contradictions} refused), and {why}");
        let mut found = Assessment::new(Verdict::Noisy, reason);
        found.contradictions = contradictions;
        let weight = |i: usize| self.given.pairs()[i].weight.min(20.0);
        found.distrusted = repaired(self.given, self.k, Some(20.0), weight)?;
        Ok(found)
    }

    /// More probably wrong than right, or broken by the most probable labels: all others hold together.
    fn distrusted(&self, fit: &Fit, variance: f64) -> Vec<Distrusted> {
        let factors = self.network.factors();
        let mut out = self.dropped.clone();
        for (s, &i) in self.pair_of.iter().enumerate() {
            let f = &factors[s];
            let together = fit.labels[f.a as usize] == fit.labels[f.b as usize];
            if fit.wrong[s] > 0.5 || together != (f.kind == Kind::MustLink) {
                out.push(self.distrust(i));
            }
        }
        out.extend(self.inside.iter().map(|&i| self.distrust(i)));
        self.explain(&mut out, fit, variance);
        out.sort_by(|x, y| y.probability_wrong.total_cmp(&x.probability_wrong).then(x.id.cmp(&y.id)));
        out
    }

    fn distrust(&self, i: u32) -> Distrusted {
        let p = &self.given.pairs()[i as usize];
        Distrusted {
            id: ConstraintId::Pair(i),
            entry: None,
            a: p.a,
            b: p.b,
            kind: p.kind,
            probability_wrong: 1.0,
            probability_same_without_it: 1.0,
            sigmas: 0.0,
            cost: CERTAIN,
            cycle: Vec::new(),
            broken: true,
            kept: false,
        }
    }

    /// Fills in what the fit says about pairs.
    fn explain(&self, distrusted: &mut [Distrusted], fit: &Fit, variance: f64) {
        let mut point = vec![0.0; self.data.dims()];
        for d in distrusted.iter_mut() {
            let ConstraintId::Pair(i) = d.id else { continue };
            if let Ok(s) = self.pair_of.binary_search(&i) {
                d.probability_wrong = fit.wrong[s];
                d.probability_same_without_it = fit.same[s];
                d.cost = -fit.agree[s].max((-CERTAIN).exp()).ln();
            }
            point.fill(0.0);
            self.data.add_row(d.a as usize, 1.0, &mut point);
            d.sigmas = (self.data.distance2(d.b as usize, &point) / (2.0 * variance)).sqrt();
        }
        evidence::chains(self.given, &self.nodes, distrusted);
    }
}

/// Log-odds of "some are wrong" against "k is too small" besides how well each predicts: a k that is too small breaks
/// cannot-links almost only (12 % must-links on clean sets asked for too few clusters), errors break both kinds (40 %);
/// and some error among dozens of answers is the rule.
fn against_small_k(distrusted: &[Distrusted]) -> f64 {
    const ERRORS_HAPPEN: f64 = 3.0;
    let same = distrusted.iter().filter(|d| d.kind == Kind::MustLink).count() as f64;
    let different = distrusted.len() as f64 - same;
    ERRORS_HAPPEN + same * (0.40f64 / 0.12).ln() + different * (0.60f64 / 0.88).ln()
}

/// Nats beyond which there is nothing left to say.
const CERTAIN: f64 = 27.6;

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
