//! Gaussian mixtures by EM: Σ_i w_i log Σ_l π_l N(x_i | μ_l, S_l). The E step is the caller's (`Expect`), so that posteriors
//! may be bound by constraints; densities and the M step are here. S_l := (1 − a)·S_l + a·diag(S_pool) + r·I with
//! a = dims/(dims + N_l) when shrinking, r = `reg` times the mean variance of the columns; without shrinking the
//! likelihood never falls (up to r). A starved component moves to the row of lowest likelihood, twice, then is dropped.
//! O(n·k·dims²) per iteration for full and tied covariances, O(n·k·dims) otherwise; rows are widened in blocks, and a
//! component's covariance is made of the rows that have a share in it.

use crate::blocks::marginals::log_sum;
use crate::context::{RunContext, Termination};
use crate::data::{Dataset, Float, Matrix};
use crate::kernels::two_nearest::{Eight, LANES, gather};
use crate::kernels::whiten::squares;

crate::choice! {
    /// The shape of the components.
    pub enum Covariance {
        /// Full where rows are many (n ≥ 10·k·dims), diagonal otherwise.
        Auto = "auto",
        /// Any ellipsoid, one for each component.
        Full = "full",
        /// Axes along the columns, own lengths.
        Diagonal = "diagonal",
        /// One ellipsoid for all.
        Tied = "tied",
        /// Balls.
        Spherical = "spherical",
    }
}

/// How to fit.
#[derive(Debug, Clone, Copy)]
pub struct Settings {
    /// Shape of the components.
    pub covariance: Covariance,
    /// Added to the variances, as a share of the mean variance of the columns.
    pub reg: f64,
    /// Draw covariances towards the pooled variances?
    pub shrink: bool,
    /// Iterations at most.
    pub max_iter: usize,
    /// Relative change of the likelihood below which it has converged.
    pub tolerance: f64,
}

/// Posteriors from densities.
pub trait Expect {
    /// Writes the posteriors (n × k) given log π and log N(x_i | l) (n × k); the log-likelihood.
    fn expect(&mut self, ctx: &RunContext, log_weights: &[f64], densities: &[f64], posteriors: &mut [f64]) -> f64;

    /// π given the posteriors; `None` = the shares of the rows.
    fn mixing(&self, _posteriors: &[f64], _k: usize) -> Option<Vec<f64>> {
        None
    }
}

/// Every row by itself.
pub struct Free<'a>(pub Option<&'a [f64]>);

impl Expect for Free<'_> {
    fn expect(&mut self, ctx: &RunContext, log_weights: &[f64], densities: &[f64], posteriors: &mut [f64]) -> f64 {
        let k = log_weights.len();
        let parts = ctx.pool.map_chunks_mut(posteriors, BLOCK * k, |start, slice| {
            let mut sum = 0.0;
            for (i, row) in (start / k..).zip(slice.chunks_exact_mut(k)) {
                let dens = &densities[i * k..(i + 1) * k];
                row.iter_mut().zip(log_weights).zip(dens).for_each(|((r, w), d)| *r = w + d);
                sum += self.0.map_or(1.0, |w| w[i]) * super::marginals::to_shares(row);
            }
            sum
        });
        parts.iter().sum()
    }
}

/// One component in the form that densities need.
#[derive(Debug, Clone, PartialEq)]
struct Gaussian {
    /// Inverse of the Cholesky factor (dims × dims), or 1/σ of every column.
    inverse: Vec<f64>,
    /// −½ (dims·log 2π + log det S).
    constant: f64,
}

/// A fitted mixture.
#[derive(Debug, Clone, PartialEq)]
pub struct Mixture {
    /// π.
    pub weights: Vec<f64>,
    /// μ, k × dims.
    pub means: Matrix,
    /// S of every component, dims × dims, or dims variances; one for all when tied.
    pub covariances: Vec<Vec<f64>>,
    gaussians: Vec<Gaussian>,
}

/// Rows per block.
const BLOCK: usize = 256;
/// A row with less than this of a component's mass cannot be seen in its covariance.
const NOTHING: f64 = 1e-30;

/// Rows `start..end` widened, row-major.
fn widened<F: Float>(data: &Dataset<'_, F>, start: usize, end: usize) -> Vec<f64> {
    let dims = data.dims();
    let mut out = vec![0.0; (end - start) * dims];
    out.chunks_exact_mut(dims).zip(start..end).for_each(|(row, i)| data.add_row(i, 1.0, row));
    out
}

/// Variances of the columns.
fn variances<F: Float>(data: &Dataset<'_, F>) -> Vec<f64> {
    let (mut sum, mut total) = (vec![0.0; data.dims()], 0.0);
    for i in 0..data.n() {
        data.add_row(i, data.weight(i), &mut sum);
        total += data.weight(i);
    }
    sum.iter_mut().for_each(|v| *v /= total);
    let mut spread = vec![0.0; data.dims()];
    let mut row = vec![0.0; data.dims()];
    for i in 0..data.n() {
        row.fill(0.0);
        data.add_row(i, 1.0, &mut row);
        for ((s, x), m) in spread.iter_mut().zip(&row).zip(&sum) {
            *s += data.weight(i) / total * (x - m) * (x - m);
        }
    }
    spread
}

/// What does not change from one M step to the next.
pub struct Maximiser<'a, F> {
    data: &'a Dataset<'a, F>,
    k: usize,
    full: bool,
    covariance: Covariance,
    shrink: bool,
    reg: f64,
    /// A variance for when all others are zero.
    floor: f64,
}

impl<'a, F: Float> Maximiser<'a, F> {
    /// For k components on these rows.
    pub fn new(data: &'a Dataset<'a, F>, k: usize, settings: &Settings) -> Maximiser<'a, F> {
        let dims = data.dims();
        let covariance = match settings.covariance {
            Covariance::Auto if data.n() >= 10 * k * dims && !data.is_sparse() => Covariance::Full,
            Covariance::Auto => Covariance::Diagonal,
            chosen => chosen,
        };
        let mean = variances(data).iter().sum::<f64>() / dims as f64;
        let floor = if mean > 0.0 { 1e-12 * mean } else { 1.0 };
        let full = matches!(covariance, Covariance::Full | Covariance::Tied);
        Maximiser { data, k, full, covariance, shrink: settings.shrink, reg: settings.reg * mean, floor }
    }

    /// The shape that was chosen.
    pub fn covariance(&self) -> Covariance {
        self.covariance
    }

    /// The mixture that these posteriors (n × k) speak for.
    pub fn maximise(&self, ctx: &RunContext, posteriors: &[f64], mixing: Option<Vec<f64>>) -> Mixture {
        let (n, k, dims) = (self.data.n(), self.k, self.data.dims());
        // Fixed blocks joined in order: the same sums for any number of threads.
        let parts = ctx.pool.map_chunks(n, 4 * BLOCK, |range| {
            let rows = widened(self.data, range.start, range.end);
            let shares = self.weighted(posteriors, range.start, range.end);
            let mut sums = vec![0.0; k * dims];
            kinfold_linalg::transposed_times(&shares, k, &rows, dims, &mut sums);
            let mut mass = vec![0.0; k];
            shares.chunks_exact(k).for_each(|row| mass.iter_mut().zip(row).for_each(|(m, r)| *m += r));
            (sums, mass)
        });
        let (mut means, mut mass) = (Matrix::zeros(k, dims), vec![0.0; k]);
        for (sums, part) in &parts {
            means.values_mut().iter_mut().zip(sums).for_each(|(m, s)| *m += s);
            mass.iter_mut().zip(part).for_each(|(m, s)| *m += s);
        }
        for (l, &m) in mass.iter().enumerate().filter(|(_, m)| **m > 0.0) {
            means.row_mut(l).iter_mut().for_each(|v| *v /= m);
        }
        let total: f64 = mass.iter().sum();
        let weights = mixing.unwrap_or_else(|| mass.iter().map(|m| m / total).collect());
        let scatters = self.scatters(ctx, posteriors, &means, &mass);
        let covariances = self.covariances(scatters, &mass);
        let gaussians = covariances.iter().map(|s| self.gaussian(s)).collect();
        Mixture { weights, means, covariances, gaussians }
    }

    /// Posterior times row weight.
    fn weighted(&self, posteriors: &[f64], start: usize, end: usize) -> Vec<f64> {
        let mut shares = posteriors[start * self.k..end * self.k].to_vec();
        if self.data.weights().is_some() {
            for (row, i) in shares.chunks_exact_mut(self.k).zip(start..) {
                row.iter_mut().for_each(|r| *r *= self.data.weight(i));
            }
        }
        shares
    }

    /// Σ w r (x − μ)(x − μ)ᵀ of every component, or its diagonal.
    fn scatters(&self, ctx: &RunContext, posteriors: &[f64], means: &Matrix, mass: &[f64]) -> Vec<Vec<f64>> {
        let (n, k, dims) = (self.data.n(), self.k, self.data.dims());
        let size = if self.full { dims * dims } else { dims };
        let tasks = n.div_ceil(64).max(4 * BLOCK);
        let parts = ctx.pool.map_chunks(n, tasks, |range| {
            let mut out = vec![vec![0.0; size]; k];
            let (mut centred, mut product) = (Vec::new(), vec![0.0; if self.full { size } else { 0 }]);
            for start in range.clone().step_by(BLOCK) {
                let end = (start + BLOCK).min(range.end);
                let rows = widened(self.data, start, end);
                let shares = self.weighted(posteriors, start, end);
                for l in 0..k {
                    centred.clear();
                    let with_share = rows.chunks_exact(dims).zip(shares[l..].iter().step_by(k));
                    for (row, share) in with_share.filter(|(_, share)| **share > NOTHING * mass[l]) {
                        let root = share.sqrt();
                        centred.extend(row.iter().zip(means.row(l)).map(|(x, m)| root * (x - m)));
                    }
                    if self.full && !centred.is_empty() {
                        kinfold_linalg::transposed_times(&centred, dims, &centred, dims, &mut product);
                        out[l].iter_mut().zip(&product).for_each(|(o, p)| *o += p);
                    } else {
                        for row in centred.chunks_exact(dims) {
                            out[l].iter_mut().zip(row).for_each(|(o, x)| *o += x * x);
                        }
                    }
                }
            }
            out
        });
        let mut parts = parts.into_iter();
        let mut all = parts.next().unwrap_or_default();
        for part in parts {
            for (sum, add) in all.iter_mut().zip(part) {
                sum.iter_mut().zip(add).for_each(|(s, a)| *s += a);
            }
        }
        all
    }

    fn covariances(&self, mut scatters: Vec<Vec<f64>>, mass: &[f64]) -> Vec<Vec<f64>> {
        let dims = self.data.dims();
        let total: f64 = mass.iter().sum();
        let step = if self.full { dims + 1 } else { 1 };
        let size = scatters.first().map_or(0, Vec::len);
        let mut pooled = vec![0.0; size];
        scatters.iter().for_each(|s| pooled.iter_mut().zip(s).for_each(|(p, v)| *p += v / total));
        if self.covariance == Covariance::Tied {
            scatters = vec![pooled.iter().map(|p| p * total).collect()];
        }
        let tied = [total];
        let mass = if self.covariance == Covariance::Tied { &tied[..] } else { mass };
        for (s, &m) in scatters.iter_mut().zip(mass) {
            s.iter_mut().for_each(|v| *v = if m > 0.0 { *v / m } else { 0.0 });
            if self.covariance == Covariance::Spherical {
                let mean = s.iter().sum::<f64>() / dims as f64;
                s.fill(mean);
            }
            let a = match () {
                () if m <= 0.0 => 1.0,
                () if self.shrink && self.full => dims as f64 / (dims as f64 + m),
                () => 0.0,
            };
            if a > 0.0 {
                s.iter_mut().for_each(|v| *v *= 1.0 - a);
                (0..dims).for_each(|j| s[j * step] += a * pooled[j * step]);
            }
            (0..dims).for_each(|j| s[j * step] += self.reg);
        }
        scatters
    }

    fn gaussian(&self, s: &[f64]) -> Gaussian {
        let dims = self.data.dims();
        let constant = |log_det: f64| -0.5 * (dims as f64 * std::f64::consts::TAU.ln() + log_det);
        if !self.full {
            let variance = |v: &f64| v.max(self.floor);
            let log_det = s.iter().map(|v| variance(v).ln()).sum();
            let inverse = s.iter().map(|v| 1.0 / variance(v).sqrt()).collect();
            return Gaussian { inverse, constant: constant(log_det) };
        }
        // Rows that lie in a plane have no density across it: the diagonal is raised until there is one.
        let mut raised = s.to_vec();
        let mut by = self.floor;
        loop {
            if let Some(l) = kinfold_linalg::cholesky(&raised, dims) {
                let log_det = 2.0 * (0..dims).map(|j| l[j * (dims + 1)].ln()).sum::<f64>();
                let inverse = kinfold_linalg::inverse_lower(&l, dims);
                return Gaussian { inverse, constant: constant(log_det) };
            }
            (0..dims).for_each(|j| raised[j * (dims + 1)] = s[j * (dims + 1)] + by);
            by *= 10.0;
        }
    }

    /// log N(x_i | μ_l, S_l), n × k.
    pub fn densities(&self, ctx: &RunContext, mixture: &Mixture) -> Vec<f64> {
        let (n, k, dims) = (self.data.n(), self.k, self.data.dims());
        let mut out = vec![0.0; n * k];
        ctx.pool.map_chunks_mut(&mut out, BLOCK * k, |start, slice| {
            let first = start / k;
            let rows = widened(self.data, first, first + slice.len() / k);
            let (mut lanes, mut centred) = (vec![Eight::default(); dims], vec![Eight::default(); dims]);
            for (rows, out) in rows.chunks(LANES * dims).zip(slice.chunks_mut(LANES * k)) {
                let mut list: [&[f64]; LANES] = [&[]; LANES];
                list.iter_mut().zip(rows.chunks_exact(dims)).for_each(|(place, row)| *place = row);
                gather(&list, &mut lanes);
                for l in 0..k {
                    let gaussian = &mixture.gaussians[l.min(mixture.gaussians.len() - 1)];
                    for ((c, x), &m) in centred.iter_mut().zip(&lanes).zip(mixture.means.row(l)) {
                        *c = Eight(x.0.map(|x| x - m));
                    }
                    let lengths = if self.full {
                        squares(&gaussian.inverse, &centred)
                    } else {
                        scaled_squares(&gaussian.inverse, &centred)
                    };
                    for (out, length) in out[l..].iter_mut().step_by(k).zip(lengths) {
                        *out = gaussian.constant - 0.5 * length;
                    }
                }
            }
        });
        out
    }
}

/// Squared lengths of centred rows in lanes, every column on a scale of its own.
fn scaled_squares(scales: &[f64], centred: &[Eight]) -> [f64; LANES] {
    let mut total = [0.0; LANES];
    for (c, s) in centred.iter().zip(scales) {
        total.iter_mut().zip(c.0).for_each(|(t, c)| *t += (c * s) * (c * s));
    }
    total
}

/// What EM led to.
#[derive(Debug, Clone)]
pub struct Fitted {
    /// The mixture of the last M step.
    pub mixture: Mixture,
    /// Its densities, n × k.
    pub densities: Vec<f64>,
    /// Its posteriors, n × k.
    pub posteriors: Vec<f64>,
    /// −log-likelihood after every M step.
    pub trace: Vec<f64>,
    /// How it ended.
    pub termination: Termination,
}

/// Re-seedings of a starved component before it is dropped.
const RESCUES: usize = 2;

/// EM from a labelling.
pub fn em<F: Float>(
    ctx: &RunContext,
    maximiser: &Maximiser<'_, F>,
    start: &[u32],
    settings: &Settings,
    expect: &mut dyn Expect,
) -> Fitted {
    let (n, k) = (maximiser.data.n(), maximiser.k);
    let mut posteriors = vec![0.0; n * k];
    start.iter().enumerate().for_each(|(i, &l)| posteriors[i * k + l as usize] = 1.0);
    let mut mixture = maximiser.maximise(ctx, &posteriors, expect.mixing(&posteriors, k));
    let logs = |weights: &[f64]| weights.iter().map(|w| w.ln()).collect::<Vec<f64>>();
    let mut densities = maximiser.densities(ctx, &mixture);
    let mut trace = vec![-expect.expect(ctx, &logs(&mixture.weights), &densities, &mut posteriors)];
    let mut termination = Termination::MaxIterations;
    let mut rescues = vec![0usize; k];
    let row_weight = (0..n).map(|i| maximiser.data.weight(i)).sum::<f64>() / n as f64;
    for _ in 0..settings.max_iter {
        if let Err(stop) = ctx.checkpoint() {
            termination = stop.into();
            break;
        }
        let rescued = rescue(maximiser, &densities, &mixture.weights, &mut posteriors, row_weight, &mut rescues);
        mixture = maximiser.maximise(ctx, &posteriors, expect.mixing(&posteriors, k));
        densities = maximiser.densities(ctx, &mixture);
        let now = -expect.expect(ctx, &logs(&mixture.weights), &densities, &mut posteriors);
        let last = trace[trace.len() - 1];
        trace.push(now);
        if !rescued && !((last - now).abs() > settings.tolerance * now.abs()) {
            termination = Termination::Converged;
            break;
        }
    }
    Fitted { mixture, densities, posteriors, trace, termination }
}

/// Gives components that hold less than half a row the least likely row, a few times.
fn rescue<F: Float>(
    maximiser: &Maximiser<'_, F>,
    densities: &[f64],
    weights: &[f64],
    posteriors: &mut [f64],
    row_weight: f64,
    rescues: &mut [usize],
) -> bool {
    let (n, k) = (maximiser.data.n(), maximiser.k);
    let mut mass = vec![0.0; k];
    for (i, row) in posteriors.chunks_exact(k).enumerate() {
        mass.iter_mut().zip(row).for_each(|(m, r)| *m += r * maximiser.data.weight(i));
    }
    let starved: Vec<usize> = (0..k).filter(|&l| mass[l] < 0.5 * row_weight && rescues[l] < RESCUES).collect();
    if starved.is_empty() {
        return false;
    }
    let likelihood = |i: usize| {
        let parts: Vec<f64> = (0..k).map(|l| weights[l].ln() + densities[i * k + l]).collect();
        log_sum(&parts)
    };
    let mut order: Vec<(f64, usize)> = (0..n).map(|i| (likelihood(i), i)).collect();
    order.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
    for (&l, &(_, row)) in starved.iter().zip(&order) {
        rescues[l] += 1;
        posteriors[row * k..(row + 1) * k].fill(0.0);
        posteriors[row * k + l] = 1.0;
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Rng;

    const PLAIN: Settings =
        Settings { covariance: Covariance::Full, reg: 0.0, shrink: false, max_iter: 60, tolerance: 0.0 };

    fn fit(data: &Dataset<'_, f64>, k: usize, start: &[u32], settings: Settings) -> Fitted {
        let ctx = RunContext::new(0).with_threads(1);
        em(&ctx, &Maximiser::new(data, k, &settings), start, &settings, &mut Free(data.weights()))
    }

    #[test]
    fn one_component_is_the_mean_and_the_covariance() {
        let rows = [-1.0, 1.0];
        let data = Dataset::dense(&rows, 1).unwrap();
        for covariance in [Covariance::Full, Covariance::Diagonal, Covariance::Tied, Covariance::Spherical] {
            let fitted = fit(&data, 1, &[0, 0], Settings { covariance, ..PLAIN });
            assert!((fitted.mixture.covariances[0][0] - 1.0).abs() < 1e-12);
            assert!((fitted.trace[0] - 2.837877).abs() < 1e-6, "{:?}", fitted.trace);
        }
    }

    #[test]
    fn the_likelihood_never_falls_without_shrinking() {
        let mut rng = Rng::stream(1, "mixture test", 0);
        for covariance in [Covariance::Full, Covariance::Diagonal, Covariance::Tied, Covariance::Spherical] {
            let rows: Vec<f64> = (0..120).flat_map(|i| [rng.normal() + f64::from(i % 3), 2.0 * rng.normal()]).collect();
            let data = Dataset::dense(&rows, 2).unwrap();
            let start: Vec<u32> = (0..120).map(|_| rng.below(3) as u32).collect();
            let fitted = fit(&data, 3, &start, Settings { covariance, ..PLAIN });
            assert!(fitted.trace.windows(2).all(|w| w[1] <= w[0] + 1e-10 * w[0].abs()), "{:?}", fitted.trace);
        }
    }

    #[test]
    fn rows_given_twice_with_half_the_weight_change_nothing() {
        let mut rng = Rng::stream(2, "mixture test", 0);
        let rows: Vec<f64> = (0..60).map(|i| rng.normal() + 5.0 * f64::from(i / 2 % 2)).collect();
        let data = Dataset::dense(&rows, 2).unwrap();
        let start: Vec<u32> = (0..30).map(|i| i % 2).collect();
        let twice: Vec<f64> = rows.chunks(2).flat_map(|r| [r, r].concat()).collect();
        let halves = vec![0.5; 60];
        let doubled = Dataset::dense(&twice, 2).unwrap().with_weights(&halves).unwrap();
        let starts: Vec<u32> = start.iter().flat_map(|&l| [l, l]).collect();
        let settings = Settings { shrink: true, reg: 1e-6, ..PLAIN };
        let (a, b) = (fit(&data, 2, &start, settings), fit(&doubled, 2, &starts, settings));
        let close = |x: &[f64], y: &[f64]| x.iter().zip(y).all(|(x, y)| (x - y).abs() < 1e-9);
        assert!(close(a.mixture.means.values(), b.mixture.means.values()));
        assert!(close(&a.mixture.covariances[1], &b.mixture.covariances[1]));
        assert!(close(&a.mixture.weights, &b.mixture.weights));
    }

    #[test]
    fn rows_in_a_plane_and_equal_rows_do_not_fail() {
        let line: Vec<f64> = (0..20).flat_map(|i| [f64::from(i), 2.0 * f64::from(i)]).collect();
        let equal = [4.0; 20];
        for rows in [&line[..], &equal] {
            let data = Dataset::dense(rows, 2).unwrap();
            let start: Vec<u32> = (0..data.n() as u32).map(|i| i % 2).collect();
            let fitted = fit(&data, 2, &start, PLAIN);
            assert!(fitted.trace.iter().all(|v| v.is_finite()), "{:?}", fitted.trace);
        }
    }
}
