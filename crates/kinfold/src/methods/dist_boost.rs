//! DistBoost (Hertz, Bar-Hillel, Weinshall 2004): boosts a similarity of pairs, H(i, j) = Σ_t α_t h_t(i, j). Every round fits a
//! Gaussian mixture to the weighted rows (a random part of the must-links ties rows, see `blocks::weak`); with q the largest
//! posterior of a row, h = ±q_i q_j, + where both have the same component. ρ = Σ W y h, α = ½ ln((1+ρ)/(1−ρ)), given pairs
//! weigh exp(−α y h) more, all others exp(−α). The rows are then clustered by kernel k-means under H, never as a matrix.
//! Departures: ρ counts given pairs alone, which start with half of all weight; ρ ≤ 0 is refitted three times, then boosting
//! ends; H is indefinite, so single moves end the clustering. The trace is Σ exp(−y H) over the given pairs.
//! Cost: rounds × EM, then O(n·rounds·k) per sweep; memory O(n·rounds).

use super::{Clustering, Info, Listens, Method, Problem};
use crate::blocks::boost::check_labels;
use crate::blocks::ckm::Links;
use crate::blocks::kernel_kmeans::{Init, Limits, kernel_kmeans, start};
use crate::blocks::margins::{Margins, Round};
use crate::blocks::restarts;
use crate::blocks::weak::{Pairs, weak_mixture};
use crate::context::{RunContext, Termination};
use crate::data::Float;
use crate::error::Result;

crate::params! {
    /// Parameters of `dist-boost`.
    pub struct DistBoostParams {
        /// Rounds at most.
        rounds: usize = 100, 1 => 10_000;
        /// Components of the mixtures; 0 = k.
        components: usize = 0, 0 => 65_536;
        /// Mean share of the must-links that tie rows in a round, drawn by weight.
        drawn: f64 = 0.5, 0 => 1e9;
        /// Share of all weight that the given pairs start with.
        labelled_mass: f64 = 0.5, 0.0001 => 1;
        /// Starts of the final kernel k-means, of which the cheapest wins.
        final_restarts: usize = 10, 1 => 10_000;
    }
}

/// See the module.
pub struct DistBoost(DistBoostParams);

/// Fits that may fail in a row before boosting ends.
const TRIES: u64 = 3;

impl Method for DistBoost {
    type Params = DistBoostParams;
    const INFO: Info = Info {
        name: "dist-boost",
        summary: "boosts a similarity from Gaussian mixtures that weigh broken pairs more, then kernel k-means",
        paper: "T. Hertz, A. Bar-Hillel, D. Weinshall, Boosting margin based distance functions for clustering, ICML 2004",
        minimises: "Σ_i w_i ‖φ_i − μ(l_i)‖² under H = Σ_t α_t h_t; the trace is Σ exp(−y H) over the given pairs",
        constraints: "must-links tie rows of a random part of the rounds, all pairs weigh by how badly they are kept; single \
                ones may stay broken",
        cost: "rounds × O(n·k·dims²) per step of EM (O(n·k·dims) where rows are few), then O(n·rounds·k) per sweep",
        measured: "Compared with in the BCKM paper without numbers of its own. NMI at 1, 5, 10 %, 3 constraint sets: \
                   iris .92 .98 1.0, ecoli .68 .92 .95, wdbc .89 1.0 1.0, sonar .01 .91 1.0, glass .37 .72 .78.",
        listens: Listens::Soft,
        sparse: true,
        sizes: false,
        represents: false,
        monotone: false,
    };

    fn new(params: DistBoostParams) -> Result<Self> {
        Ok(DistBoost(params))
    }

    fn run<F: Float>(&self, ctx: &RunContext, problem: &Problem<'_, F>) -> Result<Clustering> {
        let (p, data, k) = (&self.0, problem.data, problem.k);
        check_labels(Self::INFO.name, k.max(p.components))?;
        let links = Links::of_rows(Self::INFO.name, problem.given)?;
        links.check_k(Self::INFO.name, k)?;
        if links.is_empty() || k == 1 {
            return Ok(restarts::plain(ctx, data, k)?.into());
        }
        let mut pairs = Pairs::new(&links, data.n(), p.labelled_mass);
        let components = if p.components == 0 { k } else { p.components };
        let mut rounds: Vec<Round> = Vec::new();
        let mut margin = vec![0.0; pairs.links.len()];
        let shares = pairs.shares();
        let (mut trace, mut termination, mut failures) = (Vec::new(), Termination::MaxIterations, 0);
        for t in 0..p.rounds as u64 * TRIES {
            if rounds.len() == p.rounds || failures == TRIES {
                termination = if failures == TRIES { Termination::Converged } else { termination };
                break;
            }
            ctx.progress("rounds", rounds.len() as u64, Some(p.rounds as u64));
            let mut rng = ctx.rng("round", t);
            let tied = pairs.draw(p.drawn, &mut rng)?;
            let g = components.min(tied.len());
            let posteriors = weak_mixture(ctx, data, &pairs.rows(2.0 * g as f64), &tied, g, &mut rng)?;
            let round = hypothesis(&posteriors, g);
            let h: Vec<f64> = pairs.links.iter().map(|&(a, b, together)| signed(&round, a, b, together)).collect();
            let rho: f64 = pairs.shares().iter().zip(&h).map(|(w, h)| w * h).sum();
            let stopped = ctx.checkpoint();
            if rho > 0.0 {
                failures = 0;
                let rho = rho.min(1.0 - 1e-6);
                let alpha = 0.5 * ((1.0 + rho) / (1.0 - rho)).ln();
                pairs.reweigh(alpha, &h);
                margin.iter_mut().zip(&h).for_each(|(m, h)| *m += alpha * h);
                trace.push(shares.iter().zip(&margin).map(|(s, m)| s * (-m).exp()).sum());
                rounds.push(Round { importance: alpha, ..round });
            } else {
                failures += 1;
            }
            if let Err(stop) = stopped {
                termination = stop.into();
                break;
            }
        }
        if rounds.is_empty() {
            return Ok(restarts::plain(ctx, data, k)?.into());
        }
        let kept = rounds.len();
        let total: f64 = rounds.iter().map(|r| r.importance).sum();
        let weights = (0..data.n()).map(|i| data.weight(i)).collect();
        let points = Margins::new(rounds, components, weights);
        let limits = Limits { max_iter: 300, refine: true };
        let outcome = restarts::best_of(ctx, p.final_restarts, data.n() * kept, |ctx, r| {
            let start = start(&ctx.pool, &points, k, Init::KmeansPlusPlus, &mut ctx.rng("final", r));
            Ok(kernel_kmeans(ctx, &points, start, k, limits))
        })?;
        let notes = vec![format!(
            "{kept} rounds of total importance {total:.3}; the result breaks {:.2} % of the constraints",
            100.0 * links.broken_share(&outcome.labels)
        )];
        Ok(Clustering { trace, termination, notes, iterations: kept, ..Clustering::of_labels(outcome.labels) })
    }
}

/// The likeliest component of every row and its posterior.
fn hypothesis(posteriors: &[f64], components: usize) -> Round {
    let (mut labels, mut sure) = (Vec::new(), Vec::new());
    for row in posteriors.chunks_exact(components) {
        let best = (1..components).fold(0, |best, l| if row[l] > row[best] { l } else { best });
        labels.push(best as u16);
        sure.push(row[best] as f32);
    }
    Round { importance: 1.0, labels, sure }
}

/// y h of a pair.
fn signed(round: &Round, a: u32, b: u32, together: bool) -> f64 {
    let (a, b) = (a as usize, b as usize);
    let size = f64::from(round.sure[a]) * f64::from(round.sure[b]);
    if (round.labels[a] == round.labels[b]) == together { size } else { -size }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::constraints::generate;
    use crate::data::Dataset;
    use crate::pipeline::Job;
    use crate::rng::Rng;

    #[test]
    fn the_loss_over_the_given_pairs_never_rises_and_broken_constraints_become_few() {
        for seed in 0..4 {
            let mut rng = Rng::stream(seed, "dist-boost test", 0);
            let truth: Vec<u32> = (0..80).map(|i| i % 2).collect();
            let rows: Vec<f64> =
                truth.iter().flat_map(|&c| [rng.normal() + 1.5 * f64::from(c), 2.0 * rng.normal()]).collect();
            let data = Dataset::dense(&rows, 2).unwrap();
            let given = generate::balanced(&truth, 60, false, &mut rng).unwrap().constraints;
            let job = Job { settings: vec![("rounds".into(), "40".into())], ..Job::new("dist-boost", 2) };
            let run = job.run(&RunContext::new(seed).with_threads(1), &data, &given).unwrap();
            assert!(run.trace.windows(2).all(|w| w[1] <= w[0] + 1e-12), "{:?}", run.trace);
            let plain = Job::new("kmeans", 2).run(&RunContext::new(seed).with_threads(1), &data, &given).unwrap();
            assert!(run.violations.broken() < plain.violations.broken(), "seed {seed}");
        }
    }

    #[test]
    fn a_perfect_round_has_the_importance_of_the_clip() {
        // spec/boosting.md §1, test 1.
        let rho: f64 = 1.0 - 1e-6;
        assert!((0.5 * ((1.0 + rho) / (1.0 - rho)).ln() - 7.254).abs() < 1e-3);
        let round = hypothesis(&[1.0, 0.0, 1.0, 0.0, 0.0, 1.0], 2);
        assert_eq!((signed(&round, 0, 1, true), signed(&round, 0, 2, false)), (1.0, 1.0));
        assert_eq!((signed(&round, 0, 1, false), signed(&round, 2, 0, true)), (-1.0, -1.0));
    }
}
