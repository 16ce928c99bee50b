//! Weighs constraints one by one: the pairs as factors between nodes of rows, fits of the noise model over its grid
//! (`scan.rs`), and what their evidence amounts to. Rows speak through their neighbours: in every space in which they may
//! be clustered, and in the spectral embedding of the neighbours there. What predicts the constraints best decides, for
//! "no errors" and for "some" alike. Very many rows are heard through centres alone. A constraint left out alone is still
//! echoed by neighbours that had listened to it, so that "no errors" looks too good; up to three clusters a tenth of all is
//! therefore also held out at a time, and either evidence counts. Which constraints are doubtful is told by all fits with
//! errors together, each weighed by how well it predicts. Rows that know classes badly take right constraints for
//! errors: the worse they do, the more of what clusters learn by listening (`clusters.rs`) the evidence must exceed. Right
//! ones look wrong too where there are fewer clusters than classes: more clusters without errors are tried first.

mod hear;

use std::collections::BTreeSet;

use self::hear::best;
use super::closure::{self, Said};
use super::clusters;
use super::evidence::{self, Distrusted};
use super::part::View;
use super::scan::{self, Grid, Ground, Scan};
use super::{Assessment, FEW, Looked, MOST_WORK, REPAIR, Trust, Verdict, left_out, pairs_that_count, repaired};
use crate::blocks::belief::{Factor, Field, Fit, Network, Settings};
use crate::blocks::marginals::log_sum;
use crate::constraints::{
    Chunklets, ConstraintId, ConstraintSet, FeasibleOptions, Kind, Pair, RepairOptions, repair, smallest_k,
};
use crate::context::RunContext;
use crate::data::{Float, Matrix};
use crate::error::{Error, Result};

/// Error rates that are tried; the first stands for "no errors".
const ERRORS: [f64; 4] = [0.002, 0.05, 0.1, 0.2];
/// How probable the others are (people err on 5 to 16 % of pairs).
const PRIORS: [f64; 3] = [0.35, 0.45, 0.2];
/// Evidence of errors (log Bayes factor) from which on some look wrong, below even odds, because looking again is cheap.
const LOOKS_WRONG: f64 = -2.0;
/// Below this no constraint is worth a second look. Where rows know little, sets with 10 % of errors come near it
/// (glass: −5, vehicle: −14).
const RULED_OUT: f64 = -15.0;
/// Constraints are held out up to so many clusters. With more, classes that no round model fits look like errors (clean sets
/// of libras: 41, vehicle: 87), and holding out does not tell better which constraints are wrong (glass).
const FEW_CLUSTERS: usize = 3;
/// Rows × k up to which neighbours are heard.
const MOST_TIED: usize = 12_000;
/// Nats by which more clusters must explain the constraints better than errors do, so that these are not blamed. Right
/// constraints of more classes than clusters had 10 to 69, noisy ones that are doubted at most 6.4. Chosen with both in view.
const MORE_CLUSTERS: f64 = 8.0;
/// What is asked of evidence before suspects are left out although nothing contradicts them, where neighbours are heard,
/// besides what clusters learn by listening. Chosen, like all up to `HEARD`, with the truth in view, on 1,900 clean and
/// 2,100 noisy sets (n/4, n/2, n constraints) of 38 data sets; none of these clean ones is doubted.
struct Asked {
    /// So much, where rows know the truth: its surprise is at most `known` (nats for each constraint; chance has .69).
    least: f64,
    known: f64,
    /// Where it surprises so much, `MORE` and `MISFIT` for each cluster beyond three; between the two a part of that.
    unknown: f64,
}
const OF_FEW_CLUSTERS: Asked = Asked { least: 1.0, known: 0.12, unknown: 0.2 };
const OF_MANY: Asked = Asked { least: 2.5, known: 0.06, unknown: 0.12 };
const MORE: f64 = 2.0;
const MISFIT: f64 = 0.5;
/// The share of what clusters learn by listening that evidence must exceed: where rows know the truth, and where not.
const TAUGHT: (f64, f64) = (0.25, 0.6);
/// Few constraints are soon misread: up to 50 ask for twice the least evidence, and so much more, 100 for neither.
const MISREAD: f64 = 13.0;
/// Nats for each constraint that unlearning by listening can speak for errors at the most.
const MOST_UNLEARNT: f64 = 0.05;
/// Nats for each constraint above which clusters must predict them; chance has −.69.
const HEARD: f64 = -0.66;
/// Where only centres are heard, which fit worse, the evidence needed is: with more than two clusters, which no round
/// model fits exactly, (k − 2)² more, at most `MOST_MISFIT`, or `MISFIT_EACH` per constraint (from six clusters on, before
/// that in proportion), whichever is more: clean sets of 15 data sets reached .065 per constraint (yeast, k = 10), most of
/// them far less. Sparse rows (text) never suffice: clean sets on text were doubted.
const LOOKS_WRONG_BY_CENTRES: f64 = -1.0;
const LOOKS_WRONG_MISFIT: f64 = 0.015;
const TO_ACT: f64 = 4.5;
const MOST_MISFIT: f64 = 16.0;
const MISFIT_EACH: f64 = 0.07;
/// Contradictions that 5 % of errors would make, from which on none at all is proof enough.
const WOULD_SHOW: f64 = 3.0;
/// Without contradictions, more distrusted constraints than this share speak against the rows, not against them.
const MOST_DISTRUSTED: f64 = 0.25;
/// Constraints that are more doubtful than the average are listed, though kept, until this share of the errors that are
/// expected is on the list. Where rows say little the expectation is too sure of itself: with 10 % of errors two thirds of
/// those that matter are then on the list, which names a quarter to a third of the constraints (glass, sonar, vehicle
/// with n/2).
/// Chosen with the truth in view, on twelve data sets.
const COVERED: f64 = 0.85;
/// A constraint often repeats what another said: so many predictions count as one where fits are weighed against each other.
/// With 1 fewer errors were listed among many clusters, with 3 they came later among two (twelve data sets, truth in view).
const REPEATED: f64 = 2.0;
/// The least probability of being wrong that is worth a second look. Less than one error that is expected is none.
const DOUBTFUL: f64 = 0.05;
/// Nats beyond which there is nothing left to say.
const CERTAIN: f64 = 27.6;
/// Where no row is; its square is still a number in single precision.
const FAR: f64 = 1e15;

/// One set of constraints on one set of rows.
pub(super) struct Judge<'a, F> {
    looked: &'a Looked,
    view: View<'a, F>,
    given: &'a ConstraintSet,
    k: usize,
    trust: Trust,
    /// Rows that are believed to be together.
    pub(super) nodes: Chunklets,
    /// Memberships that contradict others.
    dropped: Vec<Distrusted>,
    pub(super) network: Network,
    /// The pair of each judged factor; believed factors follow.
    pair_of: Vec<u32>,
    /// Cannot-links inside a node: certainly wrong if the node is right.
    inside: Vec<u32>,
    said: Vec<Said>,
    /// The fit that was used.
    pub(super) used: Option<Used>,
}

/// What a fit to some constraints says about others.
pub(super) struct Used {
    pub(super) centres: Matrix,
    pub(super) settings: Settings,
    /// Mean squared distance of a row to its centre.
    pub(super) variance: f64,
}

impl<'a, F: Float> Judge<'a, F> {
    pub(super) fn new(
        looked: &'a Looked,
        view: View<'a, F>,
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
        Ok(Judge { looked, view, given, k, trust, nodes, dropped, network, pair_of, inside, said, used: None })
    }

    /// `neighbours`: they may be heard, where there are not too many.
    pub(super) fn decide(&mut self, ctx: &RunContext, neighbours: bool) -> Result<Assessment> {
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
        let near = neighbours && self.view.rows.n() * self.k <= MOST_TIED;
        let hold_out = self.said.len() >= FEW && self.k <= FEW_CLUSTERS;
        let Some(scans) = self.hear(ctx, self.k, near, &ERRORS, hold_out)? else {
            return self.without_rows(ctx, "stopped before they were weighed");
        };
        let priors: Vec<(usize, f64)> = PRIORS.iter().enumerate().map(|(i, p)| (i + 1, p.ln())).collect();
        let of = |s: &Scan| priors.iter().map(|&(e, prior)| prior + s.top(e)).fold(f64::NEG_INFINITY, f64::max);
        let fit = best(&scans, of).pick(&priors);
        let top = |scans: &[Scan], e: usize| best(scans, |s| s.top(e)).top(e);
        let terms: Vec<f64> = priors.iter().map(|&(e, prior)| prior + top(&scans, e)).collect();
        let errors = log_sum(&terms);
        let evidence = match &self.looked.infeasible {
            None => errors - top(&scans, 0),
            Some(_) => match self.against_more(ctx, self.needed_clusters()?, near, &scans, &priors)? {
                Some(evidence) => evidence,
                None => return self.without_rows(ctx, "stopped before they were weighed"),
            },
        };
        let odds = held_out(&scans, &priors).map_or(evidence, |by_others| evidence.max(by_others));
        let doubts = all_together(&scans, &priors, fit);
        let looks_wrong = if near { LOOKS_WRONG } else { self.looks_wrong_by_centres() };
        let used = self.used(fit);
        let variance = used.variance;
        let distrusted = self.distrusted(fit, variance);
        let too_many = distrusted.len() as f64 > MOST_DISTRUSTED * self.said.len() as f64;
        let rate = fit.wrong[..self.pair_of.len()].iter().sum::<f64>() + self.inside.len() as f64;
        let rate = rate / self.said.len().max(1) as f64;

        let beyond_doubt = self.said.len() < FEW || expected >= WOULD_SHOW;
        let mut found = if noisy {
            Assessment::new(Verdict::Noisy, format!("they contradict each other ({contradictions} refused)"))
        } else if let Some(why) = &self.looked.infeasible {
            if evidence + against_small_k(&distrusted) < looks_wrong {
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
        } else if odds < looks_wrong {
            sure("they predict each other as well without errors".to_owned())
        } else if too_many {
            sure(
                "the rows disagree with too many of them to blame the constraints (another scaling may help)"
                    .to_owned(),
            )
        } else {
            let enough = if near { self.convicts(ctx, fit, odds)? } else { self.convicted_by_centres(odds) };
            let kept_because =
                if (enough || !distrusted.is_empty()) && self.too_few_clusters(ctx, near, &scans, &priors)? {
                    Some("more clusters would explain them better than errors do (k may be too small)")
                } else {
                    (!enough).then_some("nothing contradicts them")
                };
            if let Some(reason) = kept_because {
                // Whoever gave them should look at these again, or at k.
                let mut found = sure(reason.to_owned());
                found.distrusted = distrusted.into_iter().map(|d| Distrusted { kept: true, ..d }).collect();
                self.add_suspects(&mut found.distrusted, &doubts, variance);
                self.explain(&mut found.distrusted, &doubts, variance);
                most_probably_wrong_first(&mut found.distrusted);
                found.evidence = Some(odds);
                found.error_rate = Some(rate);
                self.used = Some(used);
                return Ok(found);
            }
            Assessment::new(
                Verdict::Noisy,
                format!("the rows and the rest of the constraints speak against them (log odds {odds:.0})"),
            )
        };
        found.contradictions = contradictions;
        found.evidence = Some(odds);
        if found.verdict == Verdict::Hard {
            // Answers that were given with doubt are left out when they are more probably wrong than right.
            let clean = best(&scans, |s| s.top(0)).best_at(0);
            let unsure = |d: &Distrusted| self.given.weight(d.id).is_finite() && d.probability_wrong > 0.5;
            found.distrusted = self.distrusted(clean, variance).into_iter().filter(unsure).collect();
            if near && !beyond_doubt && odds >= RULED_OUT {
                self.add_suspects(&mut found.distrusted, &doubts, variance);
            }
            found.error_rate = Some(if beyond_doubt || odds < looks_wrong { 0.0 } else { rate });
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
            self.explain(&mut found.distrusted, fit, variance);
            return Ok(found);
        }
        found.distrusted = distrusted;
        self.add_suspects(&mut found.distrusted, &doubts, variance);
        found.labels = Some(self.labels(fit));
        self.used = Some(used);
        Ok(found)
    }

    /// Does evidence like this (log Bayes factor of errors) suffice where neighbours are heard?
    fn convicts(&self, ctx: &RunContext, fit: &Fit, odds: f64) -> Result<bool> {
        let asked = if self.k <= FEW_CLUSTERS { OF_FEW_CLUSTERS } else { OF_MANY };
        let (count, judged) = (self.said.len() as f64, self.pair_of.len());
        let few = ((100.0 - count) / 50.0).clamp(0.0, 1.0);
        if odds < asked.least * (1.0 + few) {
            return Ok(false);
        }
        let surprise = surprise(&fit.wrong[..judged], &fit.agree[..judged]);
        let misread = ((surprise - asked.known) / (asked.unknown - asked.known)).clamp(0.0, 1.0);
        let Some(predicted) = clusters::predicted(ctx, &self.view, self.given, &self.nodes, self.k)? else {
            return Ok(false);
        };
        let heard = misread == 0.0 || predicted.listening.max(predicted.untold) >= HEARD * count;
        let lesson = predicted.lesson();
        let (learnt, unlearnt) = (lesson.max(0.0), lesson.clamp(-MOST_UNLEARNT * count, 0.0));
        let taught = TAUGHT.0 + misread * (TAUGHT.1 - TAUGHT.0);
        let more = MORE + MISFIT * self.k.saturating_sub(FEW_CLUSTERS) as f64 + few * MISREAD;
        Ok(heard && odds >= taught * learnt + misread * (more + unlearnt))
    }

    fn convicted_by_centres(&self, odds: f64) -> bool {
        let (more, count) = (self.k as f64 - 2.0, self.said.len() as f64);
        let each = MISFIT_EACH * (more / 4.0).min(1.0) * count;
        let needed = self.looks_wrong_by_centres() + TO_ACT + (more * more).min(MOST_MISFIT).max(each);
        odds >= needed && !self.view.rows.is_sparse()
    }

    fn looks_wrong_by_centres(&self) -> f64 {
        LOOKS_WRONG_BY_CENTRES + LOOKS_WRONG_MISFIT * (self.said.len() as f64 - 100.0).max(0.0)
    }

    /// What the labels of a fit are where constraints are judged, whatever the space it was made in.
    fn used(&self, fit: &Fit) -> Used {
        let data = &self.view.judged;
        // Clusters without rows stay far away.
        let mut centres = Matrix::from_vec(data.dims(), vec![FAR; self.k * data.dims()]);
        Field::new(data, &self.nodes, self.k).to_means(&fit.labels, &mut centres);
        let label = |i: usize| fit.labels[self.nodes.of(i) as usize] as usize;
        let (mut sum, mut total) = (0.0, 0.0);
        for i in 0..data.n() {
            sum += data.weight(i) * data.distance2(i, centres.row(label(i)));
            total += data.weight(i);
        }
        Used { centres, settings: fit.settings, variance: (sum / total).max(1e-300) }
    }

    /// How many pairs contradict earlier ones, and if none does, how many would if 5 % were wrong.
    fn contradictions(&self, ctx: &RunContext) -> (usize, f64) {
        let refused = closure::refused(&self.nodes, self.k, &self.said) + self.dropped.len();
        if refused > 0 {
            return (refused, 0.0);
        }
        (0, closure::expected(&self.nodes, self.k, &self.said, 0.05, 20, &mut ctx.rng("trust-flips", 0)))
    }

    /// As many clusters as can keep all constraints.
    fn needed_clusters(&self) -> Result<usize> {
        let (closed, _) = self.given.close_lenient(0.0)?;
        Ok(smallest_k(&closed, &FeasibleOptions::default()).upper.max(self.k + 1))
    }

    /// The evidence of errors against `more` clusters without any; by constraints that are held out where `scans` are, in
    /// which more clusters have no echo. `None` when stopped.
    fn against_more(
        &self,
        ctx: &RunContext,
        more: usize,
        near: bool,
        scans: &[Scan],
        priors: &[(usize, f64)],
    ) -> Result<Option<f64>> {
        let hold_out = scans.iter().all(|s| s.held_out(0).is_some());
        let top = |scans: &[Scan], e: usize| {
            let of = |s: &Scan| s.held_out(e).unwrap_or_else(|| s.top(e));
            scans.iter().map(of).fold(f64::NEG_INFINITY, f64::max)
        };
        let errors: Vec<f64> = priors.iter().map(|&(e, prior)| prior + top(scans, e)).collect();
        let with_more = self.hear(ctx, more, near, &ERRORS[..1], hold_out)?;
        Ok(with_more.map(|with_more| log_sum(&errors) - top(&with_more, 0)))
    }

    /// Would one cluster more, or twice as many, explain all constraints far better than errors do?
    fn too_few_clusters(&self, ctx: &RunContext, near: bool, scans: &[Scan], priors: &[(usize, f64)]) -> Result<bool> {
        let rows = self.view.rows.n();
        for more in BTreeSet::from([self.k + 1, 2 * self.k]).into_iter().filter(|&more| more <= rows) {
            if self.against_more(ctx, more, near, scans, priors)?.is_some_and(|evidence| evidence < -MORE_CLUSTERS) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// `soft`: the weights are the odds.
    fn weigh(&mut self, ctx: &RunContext) -> Result<Assessment> {
        let case = self.case(&self.view.judged, &self.network);
        let ground = Ground::new(ctx, &case, self.k, self.looked.keepable(self.k))?;
        let (points, by) = (&scan::CENTRES, |f: &Fit| -f.energy);
        let grid = Grid { points, errors: &[0.0], middle: 0, by, progress: (0, points.len()) };
        let Some(scan) = scan::scan(ctx, &case, &ground, self.k, &grid) else {
            return self.without_rows(ctx, "stopped before they were weighed");
        };
        let fit = scan.pick(&[(0, 0.0)]);
        let used = self.used(fit);
        let mut found = Assessment::new(Verdict::Soft, "each is weighed as given");
        found.distrusted = self.distrusted(fit, used.variance);
        let wrong = fit.wrong[..self.pair_of.len()].iter().sum::<f64>() + self.inside.len() as f64;
        found.error_rate = Some(wrong / self.said.len().max(1) as f64);
        found.labels = Some(self.labels(fit));
        self.used = Some(used);
        Ok(found)
    }

    fn labels(&self, fit: &Fit) -> Vec<u32> {
        self.nodes.of_rows().iter().map(|&node| fit.labels[node as usize]).collect()
    }

    /// The verdict that needs no rows: everything that can hold together is believed.
    pub(super) fn without_rows(&self, ctx: &RunContext, why: &str) -> Result<Assessment> {
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
    pub(super) fn distrusted(&self, fit: &Fit, variance: f64) -> Vec<Distrusted> {
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
        most_probably_wrong_first(&mut out);
        out
    }

    /// Adds the most probable errors among those that are kept.
    fn add_suspects(&self, distrusted: &mut Vec<Distrusted>, fit: &Fit, variance: f64) {
        let wrong = &fit.wrong[..self.pair_of.len()];
        let listed: BTreeSet<ConstraintId> = distrusted.iter().map(|d| d.id).collect();
        let total = wrong.iter().sum::<f64>();
        let mut others: Vec<(f64, u32)> = wrong.iter().copied().zip(self.pair_of.iter().copied()).collect();
        others.retain(|o| !listed.contains(&ConstraintId::Pair(o.1)));
        others.sort_by(|x, y| y.0.total_cmp(&x.0).then(x.1.cmp(&y.1)));
        let mut missing = others.iter().map(|o| o.0).sum::<f64>() - (1.0 - COVERED) * total;
        let worth = DOUBTFUL.max(total / wrong.len().max(1) as f64);
        let mut suspects = Vec::new();
        for &(wrong, i) in others.iter().take_while(|o| o.0 > worth) {
            if missing <= 0.0 || total < 1.0 {
                break;
            }
            missing -= wrong;
            suspects.push(Distrusted { kept: true, broken: false, ..self.distrust(i) });
        }
        self.explain(&mut suspects, fit, variance);
        distrusted.append(&mut suspects);
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
        let data = &self.view.judged;
        let mut point = vec![0.0; data.dims()];
        for d in distrusted.iter_mut() {
            let ConstraintId::Pair(i) = d.id else { continue };
            if let Ok(s) = self.pair_of.binary_search(&i) {
                d.probability_wrong = fit.wrong[s];
                d.probability_same_without_it = fit.same[s];
                d.cost = -fit.agree[s].max((-CERTAIN).exp()).ln();
            }
            point.fill(0.0);
            data.add_row(d.a as usize, 1.0, &mut point);
            d.sigmas = (data.distance2(d.b as usize, &point) / (2.0 * variance)).sqrt();
        }
        evidence::chains(self.given, &self.nodes, distrusted);
    }
}

fn most_probably_wrong_first(distrusted: &mut [Distrusted]) {
    distrusted.sort_by(|x, y| y.probability_wrong.total_cmp(&x.probability_wrong).then(x.id.cmp(&y.id)));
}

/// The evidence of errors from constraints that are held out, predicted by the rows and the other nine tenths; `None` where
/// that was not asked.
fn held_out(scans: &[Scan], priors: &[(usize, f64)]) -> Option<f64> {
    let top = |e: usize| scans.iter().filter_map(|s| s.held_out(e)).reduce(f64::max);
    let errors: Vec<f64> = priors.iter().map(|&(e, prior)| top(e).map(|t| prior + t)).collect::<Option<_>>()?;
    Some(log_sum(&errors) - top(0)?)
}

/// What all fits with errors say of each constraint, instead of what `fit` says.
fn all_together(scans: &[Scan], priors: &[(usize, f64)], fit: &Fit) -> Fit {
    let of = |s| priors.iter().flat_map(move |&(e, prior)| Scan::at(s, e).map(move |(score, f)| (prior + score, f)));
    let scored: Vec<(f64, &Fit)> = scans.iter().flat_map(of).collect();
    let best = scored.iter().map(|s| s.0).fold(f64::NEG_INFINITY, f64::max);
    let weights: Vec<f64> = scored.iter().map(|s| ((s.0 - best) / REPEATED).exp()).collect();
    let total: f64 = weights.iter().sum();
    let mean = |of: fn(&Fit) -> &[f64]| {
        let mut mean = vec![0.0; of(fit).len()];
        for (weight, (_, f)) in weights.iter().zip(&scored) {
            mean.iter_mut().zip(of(f)).for_each(|(m, v)| *m += weight / total * v);
        }
        mean
    };
    Fit { wrong: mean(|f| &f.wrong), same: mean(|f| &f.same), agree: mean(|f| &f.agree), ..fit.clone() }
}

/// How badly the truth is predicted, nats for each: a constraint counts as what it says or the opposite, by how probably
/// it is right. Small where rows know the classes, whether or not there are errors.
fn surprise(wrong: &[f64], agree: &[f64]) -> f64 {
    let of = |(wrong, agree): (&f64, &f64)| {
        let agree = agree.clamp(1e-6, 1.0 - 1e-6);
        -wrong * (1.0 - agree).ln() - (1.0 - wrong) * agree.ln()
    };
    wrong.iter().zip(agree).map(of).sum::<f64>() / wrong.len().max(1) as f64
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

/// 1 / (1 + e^w): the probability that a constraint of this weight is wrong.
fn doubt(weight: f64) -> f64 {
    1.0 / (1.0 + weight.exp())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_known_to_be_wrong_does_not_surprise() {
        assert!(surprise(&[0.0], &[0.99]) < 0.02 && surprise(&[0.99], &[0.01]) < 0.06);
        assert!((surprise(&[0.1, 0.9], &[0.5, 0.5]) - 2f64.ln()).abs() < 1e-12);
        assert!(surprise(&[0.0], &[0.01]) > 4.0);
    }
}
