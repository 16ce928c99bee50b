//! Boosting of the constrained k-means (Okabe & Yamada 2018, Algorithm 3). Every round runs CKM from fresh centres with
//! the constraints in descending priority ρ; ε = the priority it breaks; α = ½ ln((1−ε)/ε); ρ_s ×= exp(∓α) where s holds
//! or not. ε = 0: α = α* and stop; ε ≥ ½: the round is dropped and boosting stops. Then kernel k-means on Σ α_t K_t, by
//! tuples (see `tuples`), never as a matrix. The control has a fresh order in each round, whatever the priorities.
//! Departures: ρ is kept as a logarithm and renormalised, so that nothing underflows in long runs; "ε = 0" is "nothing
//! is broken". Cost: rounds × CKM + final restarts × O(U·T·k) a sweep; memory O(n·T) bytes ×2 for the tuples.

use super::centred::centred;
use super::ckm::{self, Base, Links, Order, ckm};
use super::kernel::{Affinity, Space};
use super::kernel_kmeans::{Feature, Limits, kernel_kmeans, start};
use super::par::Pool;
use super::restarts;
use super::tuples::Tuples;
use crate::constraints::{Chunklets, ConstraintSet};
use crate::context::{RunContext, Termination};
use crate::data::{Dataset, Float, Rows};
use crate::error::{Error, Result};
use crate::kernels::exp::exp;

/// What a prioritised method is asked to work on.
#[derive(Debug, Clone, Copy)]
pub struct Request {
    /// The method's name, for messages.
    pub method: &'static str,
    /// Number of clusters.
    pub k: usize,
    /// The kernel.
    pub affinity: Affinity,
    /// Rows or chunklets.
    pub base: Base,
    /// How many times CKM will run at most.
    pub runs: usize,
}

/// Points up to which rows may become a matrix, and runs from which on it pays.
const MATRIX: usize = 4096;
const RUNS: usize = 10;

/// Is a sweep over a matrix of few long rows (O(n²) for the first, then O(moves·n)) cheaper than one over the rows
/// themselves?
fn few_and_long<F: Float>(data: &Dataset<'_, F>, request: &Request) -> bool {
    let by_row = match data.rows() {
        // Values go through vector units, entries one by one.
        Rows::Dense(_) => data.n() * data.dims() * request.k / 2,
        Rows::Sparse(rows) => rows.stored() * request.k / 4,
    };
    data.n() <= MATRIX && request.runs >= RUNS && data.n() * data.n() <= by_row
}

/// Points and constraints between them.
pub struct Material<'a, F> {
    /// The points.
    pub space: Space<'a, F>,
    /// The constraints.
    pub links: Links,
    chunklets: Option<&'a Chunklets>,
}

impl<'a, F: Float> Material<'a, F> {
    /// Checks first, then makes the points of the kernel.
    pub fn new(
        pool: &Pool,
        request: &Request,
        data: &Dataset<'a, F>,
        given: &ConstraintSet,
        chunklets: &'a Chunklets,
    ) -> Result<Material<'a, F>> {
        let chunklets = (request.base == Base::Chunklets).then_some(chunklets);
        let links = match chunklets {
            None => Links::of_rows(request.method, given)?,
            Some(chunklets) => Links::of_chunklets(request.method, given, chunklets)?,
        };
        links.check_k(request.method, request.k)?;
        if let Some(chunklets) = chunklets.filter(|c| c.len() < request.k) {
            return Err(Error::TooFewChunklets { k: request.k, chunklets: chunklets.len() });
        }
        let space = if few_and_long(data, request) {
            Space::matrix(pool, data, &request.affinity, chunklets)
        } else {
            Space::new(pool, data, &request.affinity, chunklets)?
        };
        Ok(Material { space, links, chunklets })
    }

    /// The labels of the rows from those of the points.
    pub fn spread(&self, labels: Vec<u32>) -> Vec<u32> {
        match self.chunklets {
            None => labels,
            Some(chunklets) => chunklets.of_rows().iter().map(|&c| labels[c as usize]).collect(),
        }
    }
}

/// How to boost.
#[derive(Debug, Clone, Copy)]
pub struct Plan {
    /// Rounds at most.
    pub rounds: usize,
    /// Importance of a round that breaks nothing.
    pub alpha_star: f64,
    /// Order of constraints of equal priority.
    pub order: Order,
    /// Do broken constraints come first and weigh more in the next round? Otherwise every round has an order of its own,
    /// and all weigh the same.
    pub adaptive: bool,
    /// Fresh centres in every round?
    pub redraw: bool,
    /// Starts of the final kernel k-means.
    pub final_restarts: usize,
    /// Single moves at its end?
    pub refine: bool,
    /// The weak learner.
    pub weak: ckm::Settings,
}

/// What boosting led to.
#[derive(Debug, Clone)]
pub struct Boosted {
    /// Cluster of every row.
    pub labels: Vec<u32>,
    /// ε of every round, the dropped one included.
    pub trace: Vec<f64>,
    /// How it ended: converged when a round broke nothing or the priorities had no more to give.
    pub termination: Termination,
    /// What a user should know.
    pub notes: Vec<String>,
}

/// Rounds of CKM, then kernel k-means on their weighted sum.
pub fn boost<F: Float>(ctx: &RunContext, material: &Material<'_, F>, plan: &Plan) -> Result<Boosted> {
    let (space, links) = (&material.space, &material.links);
    let mut priorities: Vec<f64> = links.shares().iter().map(|s| s.ln()).collect();
    let mut order = links.order(plan.order, &mut ctx.rng("order", 0));
    let mut rank = vec![0u32; links.len()];
    order.iter().zip(0..).for_each(|(&s, at)| rank[s as usize] = at);
    let mut points = centred(space);
    let mut rounds: Vec<(f64, Vec<u16>)> = Vec::new();
    let (mut trace, mut notes) = (Vec::new(), Vec::new());
    let mut fallback = None;
    let mut termination = Termination::MaxIterations;
    let mut holds = vec![true; links.len()];
    for t in 0..plan.rounds.max(1) {
        ctx.progress("rounds", t as u64, Some(plan.rounds as u64));
        if t > 0 {
            order = match plan.adaptive {
                true => by_priority(&order, &holds, &priorities, &rank),
                false => links.order(plan.order, &mut ctx.rng("order", t as u64)),
            };
        }
        if t == 0 || plan.redraw {
            points.seed(&ctx.pool, plan.weak.k, plan.weak.init, &mut ctx.rng("round", t as u64));
        } else {
            points.back_to_seeds();
        }
        let sweeps = ckm(ctx, points.as_mut(), links, &order, plan.weak);
        holds.iter_mut().enumerate().for_each(|(s, h)| *h = links.holds(s, &sweeps.labels));
        let error: f64 = holds.iter().zip(&priorities).filter(|(h, _)| !**h).map(|(_, p)| p.exp()).sum::<f64>() + 0.0;
        trace.push(error);
        let clean = holds.iter().all(|h| *h);
        if !clean && error >= 0.5 {
            termination = Termination::Converged;
            fallback = rounds.is_empty().then_some(sweeps.labels);
            break;
        }
        // The floor only matters when all that is broken has a priority that underflows.
        let alpha = if clean { plan.alpha_star } else { 0.5 * ((1.0 - error) / error.max(1e-100)).ln() };
        rounds.push((alpha, sweeps.labels.iter().map(|&l| l as u16).collect()));
        if clean {
            termination = Termination::Converged;
            break;
        }
        if let Termination::Cancelled | Termination::Deadline = sweeps.termination {
            termination = sweeps.termination;
            break;
        }
        if let Err(stop) = ctx.checkpoint() {
            termination = stop.into();
            break;
        }
        if plan.adaptive {
            reweigh(&mut priorities, &holds, alpha);
        }
    }
    if let Some(labels) = fallback {
        notes.push(format!(
            "the first round broke half of the constraints or more ({:.0} %), so nothing was boosted: this is its result",
            100.0 * trace[0]
        ));
        return Ok(Boosted { labels: material.spread(labels), trace, termination, notes });
    }
    let weights: Vec<f64> = (0..space.len()).map(|i| space.weight(i)).collect();
    let tuples = Tuples::new(&rounds, &weights);
    let kept = rounds.len();
    drop(rounds);
    let limits = Limits { max_iter: 300, refine: plan.refine };
    let k = plan.weak.k;
    // As many clusters as tuples, as after a single round: every tuple is one, at no cost.
    if tuples.len() <= k {
        let labels = tuples.spread(&(0..tuples.len() as u32).collect::<Vec<u32>>());
        notes.push(summary(&trace, links.broken_share(&labels), kept, tuples.len(), 0.0));
        return Ok(Boosted { labels: material.spread(labels), trace, termination, notes });
    }
    let outcome = restarts::best_of(ctx, plan.final_restarts.max(1), tuples.len() * kept, |ctx, r| {
        let start = start(&ctx.pool, &tuples, k, plan.weak.init, &mut ctx.rng("final", r));
        Ok(kernel_kmeans(ctx, &tuples, start, k, limits))
    })?;
    if let Termination::Cancelled | Termination::Deadline = outcome.termination {
        termination = outcome.termination;
    }
    let labels = tuples.spread(&outcome.labels);
    notes.push(summary(&trace, links.broken_share(&labels), kept, tuples.len(), outcome.cost()));
    Ok(Boosted { labels: material.spread(labels), trace, termination, notes })
}

fn summary(trace: &[f64], broken: f64, kept: usize, tuples: usize, cost: f64) -> String {
    format!(
        "{kept} rounds; the last broke {:.2} % of the priorities, the result breaks {:.2} % of the constraints; {tuples} \
         distinct tuples of labels; final kernel objective {cost:.6}",
        100.0 * trace.last().copied().unwrap_or(0.0),
        100.0 * broken,
    )
}

/// Refuses more clusters than a tuple entry can name.
pub fn check_labels(method: &'static str, k: usize) -> Result<()> {
    if k <= 1 << 16 {
        return Ok(());
    }
    Err(Error::Unsupported { method, why: format!("takes at most {} clusters, not {k}", 1 << 16) })
}

/// Constraints in descending priority, equal ones by `rank`, from the order of the round before. All that held fell by
/// one factor and all that broke rose by one, so either part is in order already: a merge does it.
fn by_priority(before: &[u32], holds: &[bool], priorities: &[f64], rank: &[u32]) -> Vec<u32> {
    let (kept, broken): (Vec<u32>, Vec<u32>) = before.iter().partition(|&&s| holds[s as usize]);
    let mut kept = kept.into_iter().peekable();
    let mut order = Vec::with_capacity(before.len());
    for s in broken {
        let earlier = |&k: &u32| {
            let by_rank = rank[k as usize] < rank[s as usize];
            let (p, q) = (priorities[k as usize], priorities[s as usize]);
            p > q || (p == q && by_rank)
        };
        while let Some(k) = kept.next_if(earlier) {
            order.push(k);
        }
        order.push(s);
    }
    order.extend(kept);
    order
}

/// ln ρ_s ∓= α, then Σ ρ = 1 again.
fn reweigh(priorities: &mut [f64], holds: &[bool], alpha: f64) {
    priorities.iter_mut().zip(holds).for_each(|(p, h)| *p += if *h { -alpha } else { alpha });
    let most = priorities.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let mut shares: Vec<f64> = priorities.iter().map(|p| p - most).collect();
    exp(&mut shares);
    let total = most + shares.iter().sum::<f64>().ln();
    priorities.iter_mut().for_each(|p| *p -= total);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::blocks::ckm::Closer;
    use crate::blocks::kernel::Kernel;
    use crate::blocks::kernel_kmeans::Init;

    #[test]
    fn few_long_rows_become_a_matrix_where_many_runs_follow_and_lead_to_the_same_clusters() {
        let (n, dims, k) = (24, 400, 3);
        let mut rng = crate::rng::Rng::stream(2, "long rows", 0);
        let values: Vec<f64> =
            (0..n * dims).map(|i| rng.normal() + if i % dims % 3 == i / dims % 3 { 4.0 } else { 0.0 }).collect();
        let data = Dataset::dense(&values, dims).unwrap();
        let mut given = ConstraintSet::new(n);
        given.add_pair(crate::constraints::Kind::MustLink, 0, 3).unwrap();
        given.add_pair(crate::constraints::Kind::CannotLink, 0, 1).unwrap();
        let closed = given.close().unwrap();
        let ctx = RunContext::new(1).with_threads(1);
        let affinity = Affinity { kernel: Kernel::Linear, sigma: 0.0, neighbour: 7 };
        let weak = ckm::Settings { k, init: Init::FarthestFirst, closer: Closer::Distance, max_iter: 100 };
        let plan = Plan {
            rounds: 20,
            alpha_star: 100.0,
            order: Order::Random,
            adaptive: true,
            redraw: true,
            final_restarts: 3,
            refine: false,
            weak,
        };
        for (runs, by_matrix) in [(RUNS, true), (RUNS - 1, false)] {
            let request = Request { method: "bckm", k, affinity, base: Base::Rows, runs };
            let material = Material::new(&ctx.pool, &request, &data, &given, &closed).unwrap();
            assert_eq!(matches!(material.space, Space::Gram(_)), by_matrix);
            let labels = boost(&ctx, &material, &plan).unwrap().labels;
            assert!((0..n).all(|i| labels[i] == labels[i % 3]) && labels[0] != labels[1] && labels[1] != labels[2]);
        }
    }

    #[test]
    fn after_a_round_what_it_broke_weighs_as_much_as_what_it_kept() {
        // The AdaBoost identity: under the new priorities the last hypothesis has error one half.
        let mut p: Vec<f64> = [0.1f64, 0.2, 0.3, 0.25, 0.15].iter().map(|s| s.ln()).collect();
        let holds = [true, false, true, true, false];
        let error: f64 = 0.35;
        reweigh(&mut p, &holds, 0.5 * ((1.0 - error) / error).ln());
        let broken: f64 = p.iter().zip(&holds).filter(|(_, h)| !**h).map(|(p, _)| p.exp()).sum();
        assert!((broken - 0.5).abs() < 1e-12);
        assert!((p.iter().map(|p| p.exp()).sum::<f64>() - 1.0).abs() < 1e-12);
        // Ranks of a start in descending order of share, of which the round kept 2, 3, 0 and broke 1, 4.
        assert_eq!(by_priority(&[2, 3, 1, 4, 0], &holds, &p, &[4, 2, 0, 1, 3]), [1, 2, 4, 3, 0]);
    }

    #[test]
    fn hundreds_of_rounds_do_not_wipe_out_a_priority() {
        let mut p = vec![0.5f64.ln(); 2];
        (0..500).for_each(|_| reweigh(&mut p, &[true, false], 5.0));
        assert!(p[0].is_finite() && p[0] < -4000.0 && p[1].abs() < 1e-12);
        (0..500).for_each(|_| reweigh(&mut p, &[false, true], 5.0));
        assert!((p[0] - p[1]).abs() < 1e-6, "{p:?}");
    }

    #[test]
    fn merging_is_sorting_by_priority_and_rank() {
        let mut rng = crate::rng::Rng::stream(1, "merge test", 0);
        let count = 40;
        let mut order: Vec<u32> = (0..count).collect();
        rng.shuffle(&mut order);
        let mut rank = vec![0; count as usize];
        order.iter().zip(0..).for_each(|(&s, at)| rank[s as usize] = at);
        let mut p = vec![-(f64::from(count).ln()); count as usize];
        for _ in 0..30 {
            let holds: Vec<bool> = (0..count).map(|_| rng.unit() < 0.7).collect();
            reweigh(&mut p, &holds, 0.25);
            order = by_priority(&order, &holds, &p, &rank);
            let priority = |at: usize| p[order[at] as usize];
            assert!((1..order.len()).all(|at| priority(at) <= priority(at - 1)));
            let mut all = order.clone();
            all.sort_unstable();
            assert!(all.iter().zip(0..).all(|(s, i)| *s == i));
        }
        assert_eq!(by_priority(&[2, 0, 3, 1], &[true, false, true, true], &[0.0; 4], &[1, 3, 0, 2]), [2, 0, 3, 1]);
    }
}
