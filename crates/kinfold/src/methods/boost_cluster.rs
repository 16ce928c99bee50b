//! BoostCluster (Liu, Jin, Jain 2007): boosts k-means by new representations of the rows. L(K) = (Σ_ml e^−K)(Σ_cl e^K) over the
//! given pairs; with p, q its terms, T = p/Σp − q/Σq and R = Xᵀ T X the rows are projected on the leading eigenvectors of R,
//! scaled by the roots of the eigenvalues, and clustered; Δ = 1 for pairs put together, α = ½ ln(p1·q0 / p0·q1), K += α Δ.
//! The rows are then clustered by kernel k-means under K, never as a matrix (`blocks::tuples`).
//! Departures: sums are smoothed by 1e-3 of a pair and α is capped at 5, so that a kind without violations does not end in ∞;
//! α ≤ 0 is run again three times, then the round is skipped, and five skipped in a row end it; only one kind of constraint
//! given: the other factor counts as constant. More columns than rows: turned into as many coordinates as rows first.
//! Cost per round O(constraints·dims² + dims³) plus k-means; memory O(n·rounds) bytes.

use super::{Clustering, Info, Listens, Method, Problem};
use crate::blocks::boost::check_labels;
use crate::blocks::ckm::Links;
use crate::blocks::kernel::square_bytes;
use crate::blocks::kernel_kmeans::{Feature, Init, Limits, kernel_kmeans, start};
use crate::blocks::linalg::{project, symmetric_eigen};
use crate::blocks::lloyd::{self, Nearest, lloyd};
use crate::blocks::restarts;
use crate::blocks::seeding;
use crate::blocks::tuples::Tuples;
use crate::blocks::units::Units;
use crate::constraints::Chunklets;
use crate::context::{RunContext, Termination};
use crate::data::{Dataset, Float, Matrix};
use crate::error::Result;

crate::params! {
    /// Parameters of `boost-cluster`.
    pub struct BoostClusterParams {
        /// Rounds at most.
        rounds: usize = 100, 1 => 10_000;
        /// Directions kept of every new representation; 0 = as many as there are columns.
        directions: usize = 0, 0 => 1_000_000;
        /// Take the mean off the rows first: R depends on where zero is.
        centre: bool = false;
        /// Starts of the final kernel k-means, of which the cheapest wins.
        final_restarts: usize = 10, 1 => 10_000;
    }
}

/// See the module.
pub struct BoostCluster(BoostClusterParams);

/// Runs of a round, and skipped rounds in a row, before giving up.
const TRIES: u64 = 3;
const SKIPS: usize = 5;
/// Largest α, and what is added to the sums in units of a mean pair.
const CAP: f64 = 5.0;
const SMOOTH: f64 = 1e-3;

impl Method for BoostCluster {
    type Params = BoostClusterParams;
    const INFO: Info = Info {
        name: "boost-cluster",
        summary: "boosts k-means by projections that pull broken must-links together and cannot-links apart",
        paper: "Y. Liu, R. Jin, A. K. Jain, BoostCluster: boosting clustering by pairwise constraints, KDD 2007",
        minimises: "Σ_i w_i ‖φ_i − μ(l_i)‖² under K = Σ_t α_t Δ_t; the trace is L(K) of every round, 1 at the start",
        constraints: "pair by pair, weighted by how badly they are kept; single ones may stay broken",
        cost: "rounds × O(constraints·dims² + dims³ + k-means), then O(n·rounds·k) per sweep; memory O(n·rounds) bytes",
        measured: "NMI at 1, 5, 10 %, 3 constraint sets (printed, Okabe & Yamada Table 2): iris .74 .85 .82 (.75 .75 \
                   .70), ecoli .49 .48 .50 (.49 .49 .48), wdbc .42 .43 .39 (.43 .43 .45), sonar .04 .13 .13 (.03 .09 \
                   .11), glass .31 .32 .33 (.28 .30 .31).",
        listens: Listens::Soft,
        sparse: false,
        sizes: false,
        represents: false,
        monotone: false,
    };

    fn new(params: BoostClusterParams) -> Result<Self> {
        Ok(BoostCluster(params))
    }

    /// Rows with more columns than rows become n coordinates by way of their n×n products.
    fn memory(&self, n: usize, dims: usize, _k: usize) -> u64 {
        if dims > n { 3 * square_bytes(n) } else { 0 }
    }

    fn run<F: Float>(&self, ctx: &RunContext, problem: &Problem<'_, F>) -> Result<Clustering> {
        let (p, data, k) = (&self.0, problem.data, problem.k);
        check_labels(Self::INFO.name, k)?;
        let links = Links::of_rows(Self::INFO.name, problem.given)?;
        links.check_k(Self::INFO.name, k)?;
        if links.is_empty() || k == 1 {
            return Ok(restarts::plain(ctx, data, k)?.into());
        }
        let x = coordinates(data, p.centre)?;
        let weights: Vec<f64> = (0..data.n()).map(|i| data.weight(i)).collect();
        let directions = if p.directions == 0 { x.cols() } else { p.directions.min(x.cols()) };
        let mut loss = Loss::new(&links);
        let mut rounds: Vec<(f64, Vec<u16>)> = Vec::new();
        let (mut trace, mut termination) = (Vec::new(), Termination::MaxIterations);
        let (mut skipped, mut last) = (0, None);
        for t in 0..p.rounds as u64 {
            ctx.progress("rounds", t, Some(p.rounds as u64));
            let view = loss.representation(&x, directions)?;
            let mut accepted = None;
            for attempt in 0..TRIES {
                let labels = base(ctx, view.as_ref().unwrap_or(&x), &weights, k, t * TRIES + attempt)?;
                let (alpha, clean) = loss.importance(&labels);
                last = Some(labels);
                if alpha > 0.0 {
                    accepted = Some((alpha, clean));
                    break;
                }
                if ctx.checkpoint().is_err() {
                    break;
                }
            }
            match (accepted, &last) {
                (Some((alpha, clean)), Some(labels)) => {
                    skipped = 0;
                    loss.update(alpha, labels);
                    trace.push(loss.value());
                    rounds.push((alpha, labels.iter().map(|&l| l as u16).collect()));
                    if clean {
                        termination = Termination::Converged;
                        break;
                    }
                }
                _ => skipped += 1,
            }
            if skipped == SKIPS {
                termination = Termination::Converged;
                break;
            }
            if let Err(stop) = ctx.checkpoint() {
                termination = stop.into();
                break;
            }
        }
        let (Some(fallback), kept) = (last, rounds.len()) else { return Ok(restarts::plain(ctx, data, k)?.into()) };
        let labels = if kept == 0 {
            fallback
        } else {
            let tuples = Tuples::new(&rounds, &weights);
            let limits = Limits { max_iter: 300, refine: true };
            let outcome = restarts::best_of(ctx, p.final_restarts, tuples.len() * kept, |ctx, r| {
                let start = start(&ctx.pool, &tuples, k, Init::KmeansPlusPlus, &mut ctx.rng("final", r));
                Ok(kernel_kmeans(ctx, &tuples, start, k, limits))
            })?;
            tuples.spread(&outcome.labels)
        };
        let notes = vec![format!(
            "{kept} rounds; the result breaks {:.2} % of the constraints",
            100.0 * links.broken_share(&labels)
        )];
        Ok(Clustering { trace, termination, notes, iterations: kept, ..Clustering::of_labels(labels) })
    }
}

/// The rows as they are, or, where columns are more than rows, the same rows turned into as many coordinates as rows.
fn coordinates<F: Float>(data: &Dataset<'_, F>, centre: bool) -> Result<Matrix> {
    let (n, dims) = (data.n(), data.dims());
    let mut mean = vec![0.0; dims];
    if centre {
        let total: f64 = (0..n).map(|i| data.weight(i)).sum();
        (0..n).for_each(|i| data.add_row(i, data.weight(i) / total, &mut mean));
    }
    let mut x = Matrix::zeros(n, dims);
    for i in 0..n {
        data.add_row(i, 1.0, x.row_mut(i));
        x.row_mut(i).iter_mut().zip(&mean).for_each(|(v, m)| *v -= m);
    }
    if dims <= n {
        return Ok(x);
    }
    let (values, vectors) = symmetric_eigen(&project(&x, &x))?;
    let mut turned = Matrix::zeros(n, n);
    for (axis, value) in values.iter().enumerate() {
        let scale = value.max(0.0).sqrt();
        (0..n).for_each(|i| turned.row_mut(i)[axis] = scale * vectors.row(axis)[i]);
    }
    Ok(turned)
}

/// One k-means from random centres.
fn base(ctx: &RunContext, rows: &Matrix, weights: &[f64], k: usize, number: u64) -> Result<Vec<u32>> {
    let data = Dataset::dense(rows.values(), rows.cols())?.with_weights(weights)?;
    let alone = Chunklets::singletons(data.n());
    let units = Units::new(&data, &alone);
    let centres = seeding::Init::KmeansPlusPlus.draw(&ctx.pool, &units, k, &mut ctx.rng("round", number));
    let limits = lloyd::Limits { max_iter: 100, tolerance: 0.0 };
    Ok(lloyd(ctx, &units, centres, limits, &mut Nearest)?.labels)
}

/// The terms of L(K): a must-link is exp(−K), a cannot-link exp(K), times its share; as logarithms.
struct Loss {
    pairs: Vec<(u32, u32, bool)>,
    logs: Vec<f64>,
    start: f64,
}

impl Loss {
    fn new(links: &Links) -> Loss {
        let pairs: Vec<(u32, u32, bool)> = (0..links.len()).map(|s| links.pair(s)).collect();
        let logs = links.shares().iter().map(|s| s.ln()).collect();
        let mut loss = Loss { pairs, logs, start: 0.0 };
        loss.start = loss.log_value();
        loss
    }

    /// log Σ of one kind; 0 where there is none, a factor that never changes.
    fn log_sum(&self, together: bool) -> f64 {
        let of = || self.pairs.iter().zip(&self.logs).filter(|(p, _)| p.2 == together).map(|(_, l)| *l);
        let most = of().fold(f64::NEG_INFINITY, f64::max);
        if most == f64::NEG_INFINITY { 0.0 } else { most + of().map(|l| (l - most).exp()).sum::<f64>().ln() }
    }

    fn log_value(&self) -> f64 {
        self.log_sum(true) + self.log_sum(false)
    }

    /// L(K) over L(0).
    fn value(&self) -> f64 {
        (self.log_value() - self.start).exp()
    }

    /// T of every pair: p/Σp or −q/Σq, half of it for each of the two symmetric entries.
    fn entries(&self) -> Vec<f64> {
        let (ml, cl) = (self.log_sum(true), self.log_sum(false));
        let entry = |(p, l): (&(u32, u32, bool), &f64)| if p.2 { (l - ml).exp() } else { -(l - cl).exp() };
        self.pairs.iter().zip(&self.logs).map(entry).collect()
    }

    /// R = Xᵀ T X, symmetric.
    fn pull(&self, x: &Matrix) -> Matrix {
        let dims = x.cols();
        // T X row by row, then Xᵀ (T X).
        let mut moved = Matrix::zeros(x.rows(), dims);
        for (&(a, b, _), t) in self.pairs.iter().zip(self.entries()) {
            let (a, b) = (a as usize, b as usize);
            moved.row_mut(a).iter_mut().zip(x.row(b)).for_each(|(m, v)| *m += 0.5 * t * v);
            moved.row_mut(b).iter_mut().zip(x.row(a)).for_each(|(m, v)| *m += 0.5 * t * v);
        }
        let mut r = project(&x.transposed(), &moved.transposed());
        for i in 0..dims {
            for j in 0..i {
                let mean = 0.5 * (r.row(i)[j] + r.row(j)[i]);
                r.row_mut(i)[j] = mean;
                r.row_mut(j)[i] = mean;
            }
        }
        r
    }

    /// The rows along the leading directions of R, scaled by √eigenvalue; `None` when no eigenvalue is positive.
    fn representation(&self, x: &Matrix, directions: usize) -> Result<Option<Matrix>> {
        let (values, mut vectors) = symmetric_eigen(&self.pull(x))?;
        let floor = 1e-12 * values.iter().map(|v| v.abs()).fold(0.0, f64::max);
        let kept = values.iter().take(directions).take_while(|v| **v > floor).count();
        if kept == 0 {
            return Ok(None);
        }
        for (c, value) in values.iter().take(kept).enumerate() {
            vectors.row_mut(c).iter_mut().for_each(|v| *v *= value.sqrt());
        }
        let leading = Matrix::from_vec(x.cols(), vectors.values()[..kept * x.cols()].to_vec());
        Ok(Some(project(x, &leading)))
    }

    /// α of a clustering, and whether it keeps every constraint.
    fn importance(&self, labels: &[u32]) -> (f64, bool) {
        let mut log_ratio = 0.0;
        let mut clean = true;
        for together in [true, false] {
            let total = self.log_sum(together);
            let (mut same, mut different, mut count) = (0.0, 0.0, 0u32);
            for (&(a, b, _), l) in self.pairs.iter().zip(&self.logs).filter(|(p, _)| p.2 == together) {
                let joined = labels[a as usize] == labels[b as usize];
                *if joined { &mut same } else { &mut different } += (l - total).exp();
                clean &= joined == together;
                count += 1;
            }
            if count > 0 {
                let smooth = SMOOTH / f64::from(count);
                let ratio: f64 = (same + smooth) / (different + smooth);
                log_ratio += if together { ratio.ln() } else { -ratio.ln() };
            }
        }
        ((0.5 * log_ratio).min(CAP), clean)
    }

    fn update(&mut self, alpha: f64, labels: &[u32]) {
        for (&(a, b, together), l) in self.pairs.iter().zip(&mut self.logs) {
            if labels[a as usize] == labels[b as usize] {
                *l += if together { -alpha } else { alpha };
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::constraints::{ConstraintSet, Kind, generate};
    use crate::pipeline::Job;
    use crate::rng::Rng;

    fn loss(n: usize, ml: &[(usize, usize)], cl: &[(usize, usize)]) -> Loss {
        let mut given = ConstraintSet::new(n);
        for (kind, pairs) in [(Kind::MustLink, ml), (Kind::CannotLink, cl)] {
            pairs.iter().for_each(|&(a, b)| _ = given.add_pair(kind, a, b).unwrap());
        }
        Loss::new(&Links::of_rows("test", &given).unwrap())
    }

    #[test]
    fn pull_and_importance_are_those_worked_out_by_hand() {
        // spec/boosting.md §3, tests 1, 2 and 4.
        let l = loss(3, &[(0, 1)], &[(0, 2)]);
        assert!(l.entries().iter().sum::<f64>().abs() < 1e-12);
        for (x, r) in [([1.0, 2.0, 4.0], -2.0), ([2.0, 2.0, -1.0], 6.0)] {
            let x = Matrix::from_vec(1, x.to_vec());
            assert!((l.pull(&x).row(0)[0] - r).abs() < 1e-12);
            let view = l.representation(&x, 1).unwrap();
            assert_eq!(view.is_some(), r > 0.0);
            if let Some(view) = view {
                assert!((view.row(0)[0] - 2.0 * 6.0f64.sqrt()).abs() < 1e-9);
            }
        }
        // Three of four must-links kept, one of four cannot-links broken.
        let l = loss(16, &[(0, 1), (2, 3), (4, 5), (6, 7)], &[(8, 9), (10, 11), (12, 13), (14, 15)]);
        let labels = [0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 1, 0, 1, 0, 1];
        let (alpha, clean) = l.importance(&labels);
        assert!((alpha - 3.0f64.ln()).abs() < 2e-3 && !clean, "{alpha}");
        let mut after = l;
        after.update(3.0f64.ln(), &labels);
        assert!((after.value() - 12.0 / 16.0).abs() < 1e-12, "{}", after.value());
    }

    #[test]
    fn the_loss_never_rises_and_many_columns_give_what_their_coordinates_give() {
        let mut rng = Rng::stream(1, "boost-cluster test", 0);
        let truth: Vec<u32> = (0..60).map(|i| i % 3).collect();
        let rows: Vec<f64> =
            truth.iter().flat_map(|&c| [rng.normal() + f64::from(c), rng.normal(), 2.0 * rng.normal()]).collect();
        let given = generate::balanced(&truth, 60, false, &mut rng).unwrap().constraints;
        let run = |rows: &[f64], dims: usize| {
            let job = Job { settings: vec![("rounds".into(), "30".into())], ..Job::new("boost-cluster", 3) };
            job.run(&RunContext::new(3).with_threads(1), &Dataset::dense(rows, dims).unwrap(), &given).unwrap()
        };
        let narrow = run(&rows, 3);
        assert!(narrow.trace.windows(2).all(|w| w[1] <= w[0] * (1.0 + 1e-9)), "{:?}", narrow.trace);
        assert!(narrow.trace[0] <= 1.0 && narrow.trace.len() > 3, "{:?}", narrow.trace);
        let wide: Vec<f64> =
            rows.chunks(3).flat_map(|r| r.iter().copied().chain([0.0; 97]).collect::<Vec<_>>()).collect();
        let wide = run(&wide, 100);
        assert!((wide.trace[0] - narrow.trace[0]).abs() < 1e-9, "{:?} {:?}", wide.trace, narrow.trace);
    }
}
