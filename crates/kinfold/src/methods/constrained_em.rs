//! Constrained EM (Shental, Bar-Hillel, Hertz, Weinshall 2003): the likelihood of a Gaussian mixture over only those
//! labellings that keep every constraint, p(X, Y) ∝ Π_chunklets π(y_c) Π_{i∈c} N(x_i | y_c) · Π_cannot-links [y_c ≠ y_c'].
//! Must-links are exact (a chunklet has one source, π counts chunklets); marginals under cannot-links are exact for
//! components of small width, by damped belief propagation beyond (`blocks::marginals`). As in the paper's default π
//! ignores that the cannot-links' normaliser depends on it. Labels are the most probable ones that keep every constraint,
//! by exact assignment. Per iteration: the densities of EM plus O(cannot-links·k) per round of propagation.

use super::{Clustering, Info, Listens, Method, Problem};
use crate::blocks::assign::Assigner;
use crate::blocks::lloyd::{Exact, Limits, lloyd};
use crate::blocks::marginals::{Network, to_shares};
use crate::blocks::means::sum_of_squares;
use crate::blocks::mixture::{Covariance, Expect, Fitted, Maximiser, Settings, em};
use crate::blocks::restarts;
use crate::blocks::seeding::Init;
use crate::blocks::units::Units;
use crate::constraints::Chunklets;
use crate::context::RunContext;
use crate::data::Float;
use crate::error::{Error, Result};

crate::params! {
    /// Parameters of `constrained-em`.
    pub struct ConstrainedEmParams {
        /// Shape of the components; auto is full for n ≥ 10·k·dims dense rows, diagonal otherwise.
        covariance: Covariance = Covariance::Auto;
        /// Independent starts, of which the most likely wins.
        restarts: usize = 5, 1 => 10_000;
        /// Iterations of EM per start at most.
        max_iter: usize = 200, 1 => 1_000_000;
        /// Stop when the log-likelihood changes by less than this share.
        tolerance: f64 = 1e-6, 0 => 1;
        /// Added to every variance, as a share of the mean variance of the columns.
        reg: f64 = 1e-6, 0 => 1;
        /// Draw full and tied covariances towards the pooled variances where rows are few.
        shrink: bool = true;
        /// π counts rows instead of chunklets: better where large chunklets are common, but not what EM maximises.
        by_rows: bool = false;
    }
}

/// See the module.
pub struct ConstrainedEm(ConstrainedEmParams);

/// The E step over chunklets.
struct Bound<'a> {
    chunklets: &'a Chunklets,
    network: &'a Network,
    /// Mean row weight of every chunklet.
    omega: &'a [f64],
    by_rows: bool,
    /// log π + Σ log N of the last step, chunklets × k.
    log_phi: Vec<f64>,
    /// What belief propagation starts from.
    messages: Vec<Vec<f64>>,
    approximate: usize,
    unsettled: usize,
}

impl Expect for Bound<'_> {
    fn expect(&mut self, ctx: &RunContext, log_weights: &[f64], densities: &[f64], posteriors: &mut [f64]) -> f64 {
        let (k, m) = (log_weights.len(), self.chunklets.len());
        let mut log_phi = vec![0.0; m * k];
        ctx.pool.map_chunks_mut(&mut log_phi, 256 * k, |start, slice| {
            for (c, row) in (start / k..).zip(slice.chunks_exact_mut(k)) {
                row.copy_from_slice(log_weights);
                for &i in self.chunklets.members(c as u32) {
                    let dens = &densities[i as usize * k..(i as usize + 1) * k];
                    row.iter_mut().zip(dens).for_each(|(r, d)| *r += d);
                }
                // A dropped component stays possible where constraints leave nothing else.
                let top = row.iter().copied().fold(f64::NEG_INFINITY, f64::max);
                row.iter_mut().for_each(|r| *r = r.max(top - 690.0));
            }
        });
        let mut shares = log_phi.clone();
        let mut likelihood = 0.0;
        for (c, row) in shares.chunks_exact_mut(k).enumerate() {
            let log_z = to_shares(row);
            if self.chunklets.graph().degree(c as u32) == 0 {
                likelihood += self.omega[c] * log_z;
            }
        }
        let found = self.network.infer(ctx, &log_phi, &mut self.messages, &mut shares, |units, log_z| {
            let mean = units.iter().map(|&c| self.omega[c as usize]).sum::<f64>() / units.len() as f64;
            likelihood += mean * log_z;
        });
        (self.approximate, self.unsettled) = (found.approximate, found.unsettled);
        for c in 0..m {
            for &i in self.chunklets.members(c as u32) {
                posteriors[i as usize * k..(i as usize + 1) * k].copy_from_slice(&shares[c * k..(c + 1) * k]);
            }
        }
        self.log_phi = log_phi;
        likelihood
    }

    fn mixing(&self, posteriors: &[f64], k: usize) -> Option<Vec<f64>> {
        if self.by_rows {
            return None;
        }
        let mut sums = vec![0.0; k];
        for (c, omega) in self.omega.iter().enumerate() {
            let row = self.chunklets.members(c as u32)[0] as usize;
            sums.iter_mut().zip(&posteriors[row * k..(row + 1) * k]).for_each(|(s, p)| *s += omega * p);
        }
        let total: f64 = sums.iter().sum();
        sums.iter_mut().for_each(|s| *s /= total);
        Some(sums)
    }
}

struct Start {
    fitted: Fitted,
    log_phi: Vec<f64>,
    labels: Vec<u32>,
    approximate: usize,
    unsettled: usize,
}

impl Method for ConstrainedEm {
    type Params = ConstrainedEmParams;
    const INFO: Info = Info {
        name: "constrained-em",
        summary: "Gaussian mixture by EM over the labellings that keep every constraint",
        paper: "N. Shental, A. Bar-Hillel, T. Hertz, D. Weinshall, Computing Gaussian mixture models with EM using \
                equivalence constraints, NIPS 2003",
        minimises: "−log Σ over labellings that keep all constraints of Π_chunklets π(y_c) Π_{i∈c} N(x_i | y_c)",
        constraints: "must-linked rows have one source, cannot-linked ones different sources; labels are the most probable \
                that keep all",
        cost: "O(n·k·dims²) per iteration (O(n·k·dims) diagonal), plus O(cannot-links·k) per round of propagation",
        listens: Listens::Hard,
        sparse: true,
        sizes: false,
        represents: false,
        monotone: false,
        measured: "",
    };

    fn new(params: ConstrainedEmParams) -> Result<Self> {
        Ok(ConstrainedEm(params))
    }

    fn run<F: Float>(&self, ctx: &RunContext, problem: &Problem<'_, F>) -> Result<Clustering> {
        let p = &self.0;
        let (data, k, chunklets) = (problem.data, problem.k, problem.chunklets);
        let settings = Settings {
            covariance: p.covariance,
            reg: p.reg,
            shrink: p.shrink,
            max_iter: p.max_iter,
            tolerance: p.tolerance,
        };
        let units = Units::new(data, chunklets);
        let maximiser = Maximiser::new(data, k, &settings);
        let network = Network::new(chunklets.graph(), k);
        let omega: Vec<f64> = (0..chunklets.len() as u32)
            .map(|c| {
                let members = chunklets.members(c);
                members.iter().map(|&i| data.weight(i as usize)).sum::<f64>() / members.len() as f64
            })
            .collect();
        let one = |ctx: &RunContext, r: u64| {
            let centres = Init::GreedyKmeansPlusPlus.draw(&ctx.pool, &units, k, &mut ctx.rng("seeding", r));
            let limits = Limits { max_iter: 10, tolerance: 0.0 };
            let start = lloyd(ctx, &units, centres, limits, &mut Exact::quick(&units, k))?;
            let mut bound = Bound {
                chunklets,
                network: &network,
                omega: &omega,
                by_rows: p.by_rows,
                log_phi: Vec::new(),
                messages: Vec::new(),
                approximate: 0,
                unsettled: 0,
            };
            let fitted = em(ctx, &maximiser, &start.labels, &settings, &mut bound);
            let Bound { log_phi, approximate, unsettled, .. } = bound;
            Ok(Start { fitted, log_phi, labels: start.labels, approximate, unsettled })
        };
        let size = data.n() * data.dims() * k;
        let best = restarts::best_by(ctx, p.restarts, size, one, |s| s.fitted.trace[s.fitted.trace.len() - 1])?;

        let costs: Vec<f64> = best.log_phi.iter().map(|v| -v).collect();
        let previous: Vec<u32> =
            (0..chunklets.len() as u32).map(|c| best.labels[chunklets.members(c)[0] as usize]).collect();
        let mut of_chunklets = vec![0u32; chunklets.len()];
        let assigned = Assigner::new(chunklets.graph(), k)
            .assign(ctx, &costs, Some(&previous), &mut of_chunklets)
            .map_err(|stuck| Error::DeadEnd(stuck.to_string()))?;
        let labels = chunklets.of_rows().iter().map(|&c| of_chunklets[c as usize]).collect();
        let mut clustering = Clustering::of_labels(labels);
        if best.approximate > 0 {
            clustering.notes.push(format!(
                "{} groups of cannot-linked rows were too large for exact posteriors: belief propagation{}",
                best.approximate,
                if best.unsettled > 0 {
                    format!(", which did not settle on {}", best.unsettled)
                } else {
                    String::new()
                }
            ));
        }
        if !assigned.exact {
            clustering
                .notes
                .push("the labels keep every constraint, but are the most probable found, not proven".into());
        }
        clustering.centres = Some(best.fitted.mixture.means);
        clustering.iterations = best.fitted.trace.len() - 1;
        clustering.trace = best.fitted.trace;
        clustering.termination = best.fitted.termination;
        Ok(clustering)
    }

    /// A likelihood cannot be recomputed from labels: the last value of the fit.
    fn objective<F: Float>(&self, problem: &Problem<'_, F>, clustering: &Clustering) -> f64 {
        let fallback = || sum_of_squares(problem.data, &clustering.labels, problem.k);
        clustering.trace.last().copied().unwrap_or_else(fallback)
    }
}

#[cfg(test)]
mod tests {
    use crate::constraints::{ConstraintSet, Kind};
    use crate::context::RunContext;
    use crate::data::Dataset;
    use crate::pipeline::{Job, Run};
    use crate::rng::Rng;

    fn rows(seed: u64) -> Vec<f64> {
        let mut rng = Rng::stream(seed, "constrained em test", 0);
        (0..90).flat_map(|i| [rng.normal() + 3.0 * f64::from(i % 3), rng.normal()]).collect()
    }

    fn run(method: &str, rows: &[f64], given: &ConstraintSet, settings: &[(&str, &str)]) -> Run {
        let settings = settings.iter().map(|(a, b)| ((*a).into(), (*b).into())).collect();
        let data = Dataset::dense(rows, 2).unwrap();
        Job { settings, ..Job::new(method, 3) }.run(&RunContext::new(1).with_threads(1), &data, given).unwrap()
    }

    #[test]
    fn without_constraints_it_is_em() {
        let rows = rows(1);
        let none = ConstraintSet::new(90);
        let (a, b) = (run("em", &rows, &none, &[]), run("constrained-em", &rows, &none, &[]));
        assert_eq!(a.labels, b.labels);
        let close = |x: f64, y: f64| (x - y).abs() <= 1e-9 * y.abs();
        assert!(a.trace.len() == b.trace.len() && a.trace.iter().zip(&b.trace).all(|(x, y)| close(*x, *y)));
    }

    #[test]
    fn with_must_links_alone_the_likelihood_never_falls_and_chunklets_stay_whole() {
        for seed in 0..5 {
            let rows = rows(seed);
            let mut given = ConstraintSet::new(90);
            for i in 0..20 {
                given.add_pair(Kind::MustLink, i, i + 30).unwrap();
            }
            let plain = [("shrink", "no"), ("reg", "0"), ("tolerance", "0"), ("max_iter", "40")];
            let run = run("constrained-em", &rows, &given, &plain);
            assert!(run.trace.windows(2).all(|w| w[1] <= w[0] + 1e-9 * w[0].abs()), "{:?}", run.trace);
            assert_eq!(run.violations.broken(), 0);
        }
    }

    #[test]
    fn constraints_by_the_truth_bring_the_labels_nearer_to_it() {
        let truth: Vec<u32> = (0..90).map(|i| i % 3).collect();
        let rand = |labels: &[u32]| {
            let same = |l: &[u32], i: usize, j: usize| l[i] == l[j];
            (0..90)
                .flat_map(|i| (0..i).map(move |j| (i, j)))
                .filter(|&(i, j)| same(labels, i, j) == same(&truth, i, j))
                .count()
        };
        let (mut before, mut after) = (0, 0);
        for seed in 0..6 {
            let rows = rows(seed);
            let mut rng = Rng::stream(seed, "pairs", 0);
            let given = crate::constraints::generate::pairs(&truth, 90, &mut rng).unwrap().constraints;
            before += rand(&run("em", &rows, &given, &[]).labels);
            let bound = run("constrained-em", &rows, &given, &[]);
            assert_eq!(bound.violations.broken(), 0);
            after += rand(&bound.labels);
        }
        assert!(after > before, "{before} {after}");
    }
}
