//! Fits of the noise model over a grid of what the rows are worth (β) and how often constraints are wrong (ε).
//! v = within-cluster variance of the unconstrained run; D = (tr C)² / tr C², its effective dimension; β₀ = D/2 is what a
//! spherical Gaussian in D dimensions would have, and β ∈ {⅛ … 2}·β₀ is tried with a log-normal preference for β₀.
//! Rows can also speak through their neighbours (ties of the network), which knows classes of any shape.
//! Grid points are compared by the leave-one-out predictive log-likelihood of the constraints, which the energy cannot do,
//! and so are starts, unless the constraints have weights of their own (`soft`); where asked, also by that of constraints
//! held out a tenth at a time. Data that do not know the classes get a small β and weak ties and cannot convict anyone.

use crate::blocks::belief::{self, Field, Fit, Network, Settings};
use crate::blocks::greedy::{Greedy, OnDeadEnd, Order};
use crate::blocks::lloyd::{Exact, Limits, Nearest, Outcome, lloyd};
use crate::blocks::units::Units;
use crate::blocks::{restarts, seeding};
use crate::constraints::{Chunklets, ConstraintSet};
use crate::context::RunContext;
use crate::data::{Dataset, Float, Matrix, Rows};
use crate::error::Result;

/// What the rows are worth in a fit.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Point {
    /// Distances to centres, times β₀.
    pub sharpness: f64,
    /// Neighbours: nats where all of them agree.
    pub tie: f64,
}

const fn point(sharpness: f64, tie: f64) -> Point {
    Point { sharpness, tie }
}

/// Rows that speak through centres alone.
pub(super) const CENTRES: [Point; 5] =
    [point(0.125, 0.0), point(0.25, 0.0), point(0.5, 0.0), point(1.0, 0.0), point(2.0, 0.0)];
/// Rows that speak through their neighbours, with some weight on the centres, which name the clusters.
pub(super) const NEIGHBOURS: [Point; 4] = [point(0.25, 1.5), point(0.25, 3.0), point(0.06, 3.0), point(0.06, 5.0)];
/// Parts of the factors that are held out in turn.
const FOLDS: usize = 10;
/// Octaves of the preference for β₀ where only centres speak.
const PREFERENCE: f64 = 1.5;
/// Iterations of a fit, and of one with neighbours, which needs fewer and takes longer.
const MAX_ITER: usize = 15;
const MAX_ITER_TIED: usize = 8;
/// Restarts of the runs that fits start from, and which of these keeps all constraints.
const RESTARTS: usize = 10;
const HARD: usize = 1;
/// Columns up to which the within-cluster covariance is written down; beyond, its square's trace is estimated.
const MOST_COLUMNS: usize = 128;
const PROBES: usize = 32;

/// What is weighed: rows, the nodes they form, and the constraints between those.
pub(super) struct Case<'a, F> {
    pub data: &'a Dataset<'a, F>,
    pub given: &'a ConstraintSet,
    /// Rows that are believed to be together.
    pub nodes: &'a Chunklets,
    pub network: &'a Network,
    /// Odds of must-links among the pairs.
    pub odds: f64,
}

/// The scale of one number of clusters, and where fits start.
pub(super) struct Ground {
    /// Mean squared distance of a row to its centre, all columns together.
    variance: f64,
    natural: f64,
    starts: Vec<Matrix>,
}

impl Ground {
    /// The unconstrained and the hard run. `keepable`: all constraints can be kept with k clusters.
    pub fn new<F: Float>(ctx: &RunContext, case: &Case<'_, F>, k: usize, keepable: bool) -> Result<Ground> {
        let data = case.data;
        let alone = Chunklets::singletons(data.n());
        let free = Units::new(data, &alone);
        let limits = Limits { max_iter: 100, tolerance: 0.0 };
        let none = || Matrix::zeros(0, data.dims());
        let size = data.n() * data.dims();
        let plain = restarts::best_of(ctx, RESTARTS, size, |ctx, r| {
            let centres = seeding::kmeans_plus_plus(&ctx.pool, &free, k, none(), true, &mut ctx.rng("trust-plain", r));
            lloyd(ctx, &free, centres, limits, &mut Nearest)
        })?;
        let (closed, _) = case.given.close_lenient(0.0)?;
        let bound = Units::new(data, &closed);
        let hard = restarts::best_of(ctx, RESTARTS, size, |ctx, r| {
            let centres = seeding::kmeans_plus_plus(&ctx.pool, &bound, k, none(), true, &mut ctx.rng("trust-hard", r));
            if keepable {
                lloyd(ctx, &bound, centres, limits, &mut Exact::new(&bound, k))
            } else {
                let (order, rng) = (Order::MostConstrained, ctx.rng("trust-order", r));
                let mut place = Greedy::new(&bound, case.given, order, false, OnDeadEnd::Violate, rng);
                lloyd(ctx, &bound, centres, limits, &mut place)
            }
        });
        let hard = hard.map_or_else(|_| plain.centres.clone(), |outcome| outcome.centres);
        let mut rng = ctx.rng("trust-start", 0);
        let drawn = seeding::kmeans_plus_plus(&ctx.pool, &free, k, none(), false, &mut rng);
        let heavy = heaviest(&closed, &bound, k);
        let heavy = seeding::kmeans_plus_plus(&ctx.pool, &bound, k, heavy, false, &mut rng);
        let total: f64 = (0..data.n()).map(|i| data.weight(i)).sum();
        Ok(Ground {
            variance: (plain.cost() / total).max(1e-300),
            natural: natural(ctx, data, &plain),
            starts: vec![plain.centres, hard, drawn, heavy],
        })
    }

    fn settings(&self, point: Point, error: f64, odds: f64) -> Settings {
        let sharpness = point.sharpness * self.natural / self.variance;
        let max_iter = if point.tie > 0.0 { MAX_ITER_TIED } else { MAX_ITER };
        Settings { sharpness, error, odds, tie: point.tie, max_iter }
    }
}

/// Means of the heaviest chunklets that are all cannot-linked to each other.
fn heaviest<F: Float>(closed: &Chunklets, bound: &Units<'_, F>, k: usize) -> Matrix {
    let mut order: Vec<usize> = (0..bound.bound()).filter(|&u| bound.members(u).len() > 1).collect();
    order.sort_by(|&x, &y| bound.weight[y].total_cmp(&bound.weight[x]).then(x.cmp(&y)));
    let mut chosen: Vec<usize> = Vec::new();
    let chunklet = |u: usize| closed.of(bound.members(u)[0] as usize);
    for u in order {
        if chosen.len() < k && chosen.iter().all(|&v| closed.graph().has_edge(chunklet(u), chunklet(v))) {
            chosen.push(u);
        }
    }
    let points = bound.points();
    let mut centres = Matrix::zeros(chosen.len(), points.dims());
    chosen.iter().enumerate().for_each(|(c, &u)| points.add_row(u, 1.0, centres.row_mut(c)));
    centres
}

/// β₀ = (tr C)² / (2 tr C²) for the within-cluster scatter C.
fn natural<F: Float>(ctx: &RunContext, data: &Dataset<'_, F>, plain: &Outcome) -> f64 {
    let (n, dims) = (data.n(), data.dims());
    let label = |i: usize| plain.labels[i] as usize;
    let (trace, squared) = match data.rows() {
        Rows::Dense(rows) if dims <= MOST_COLUMNS => {
            let parts = ctx.pool.map_chunks(n, n.div_ceil(16).max(256), |range| {
                let (mut scatter, mut apart) = (vec![0.0; dims * dims], vec![0.0; dims]);
                for i in range {
                    let centre = plain.centres.row(label(i));
                    apart.iter_mut().zip(rows.row(i)).zip(centre).for_each(|((a, x), c)| *a = x.to_f64() - c);
                    for (a, row) in scatter.chunks_exact_mut(dims).enumerate() {
                        let w = data.weight(i) * apart[a];
                        row[..=a].iter_mut().zip(&apart).for_each(|(s, v)| *s += w * v);
                    }
                }
                scatter
            });
            let mut scatter = vec![0.0; dims * dims];
            parts.iter().for_each(|p| scatter.iter_mut().zip(p).for_each(|(s, v)| *s += v));
            let (mut trace, mut squared) = (0.0, 0.0);
            for (a, row) in scatter.chunks_exact(dims).enumerate() {
                trace += row[a];
                squared += row[a] * row[a] + 2.0 * row[..a].iter().map(|v| v * v).sum::<f64>();
            }
            (trace, squared)
        }
        _ => {
            // E‖Cz‖² = tr C² for random signs z, and Cz = Σ w r (r·z) needs no matrix.
            let squared = ctx.pool.map(PROBES, |probe| {
                let mut rng = ctx.rng("trust-probe", probe as u64);
                let z: Vec<f64> = (0..dims).map(|_| if rng.below(2) == 0 { 1.0 } else { -1.0 }).collect();
                let dot = |v: &[f64]| v.iter().zip(&z).map(|(p, q)| p * q).sum::<f64>();
                let of_centre: Vec<f64> = plain.centres.iter().map(dot).collect();
                let (mut image, mut pull) = (vec![0.0; dims], vec![0.0; of_centre.len()]);
                for i in 0..n {
                    let own: f64 = match data.rows() {
                        Rows::Dense(d) => d.row(i).iter().zip(&z).map(|(x, s)| x.to_f64() * s).sum(),
                        Rows::Sparse(s) => {
                            let (columns, values) = s.row(i);
                            columns.iter().zip(values).map(|(&j, v)| v.to_f64() * z[j as usize]).sum()
                        }
                    };
                    let along = data.weight(i) * (own - of_centre[label(i)]);
                    data.add_row(i, along, &mut image);
                    pull[label(i)] += along;
                }
                for (centre, p) in plain.centres.iter().zip(&pull) {
                    image.iter_mut().zip(centre).for_each(|(v, c)| *v -= p * c);
                }
                image.iter().map(|v| v * v).sum::<f64>()
            });
            (plain.cost(), squared.iter().sum::<f64>() / PROBES as f64)
        }
    };
    if squared > 0.0 { 0.5 * (trace * trace / squared).max(1.0) } else { 0.5 }
}

/// What is fitted.
pub(super) struct Grid<'a> {
    pub points: &'a [Point],
    pub errors: &'a [f64],
    /// The error rate at which all starts are tried first.
    pub middle: usize,
    /// What starts are compared by: the larger the better.
    pub by: fn(&Fit) -> f64,
    /// How many points of other grids came before, and how many there are in all.
    pub progress: (usize, usize),
}

/// All fits of one number of clusters: `fits[point][ε]`.
pub(super) struct Scan {
    points: Vec<Point>,
    fits: Vec<Vec<Fit>>,
    /// Per ε, at the best point: how well factors are predicted by fits without them.
    held_out: Option<Vec<f64>>,
}

/// Fits every point and error rate; `None` when the run was stopped.
pub(super) fn scan<F: Float>(
    ctx: &RunContext,
    case: &Case<'_, F>,
    ground: &Ground,
    k: usize,
    grid: &Grid<'_>,
) -> Option<Scan> {
    let field = Field::new(case.data, case.nodes, k);
    let inner = ctx.quiet().with_threads(1);
    let one = |point: Point, error: f64, start: &Matrix| {
        let settings = ground.settings(point, error, case.odds);
        // Only the labels of a fit are needed later.
        Fit { beliefs: Vec::new(), ..belief::fit(&inner, &field, case.network, &settings, start) }
    };
    let best = |fits: Vec<Fit>| fits.into_iter().reduce(|a, b| if (grid.by)(&b) > (grid.by)(&a) { b } else { a });
    let (mut fits, mut warm) = (Vec::new(), None);
    for (done, &point) in grid.points.iter().enumerate() {
        ctx.progress("trust", (grid.progress.0 + done) as u64, Some(grid.progress.1 as u64));
        let starts: Vec<&Matrix> = ground.starts.iter().chain(&warm).collect();
        let at_middle = best(ctx.pool.map(starts.len(), |i| one(point, grid.errors[grid.middle], starts[i])))?;
        ctx.checkpoint().ok()?;
        // "No errors" must not look bad for want of a start: the hard run at least, and all where neighbours tie rows.
        let clean = if point.tie > 0.0 { &starts[..] } else { &starts[HARD..=HARD] };
        let tasks: Vec<(usize, &Matrix)> = (0..grid.errors.len())
            .filter(|&e| e != grid.middle)
            .flat_map(|e| {
                let others = if e == 0 { clean } else { &[] };
                others.iter().map(move |&s| (e, s)).chain([(e, &at_middle.centres)])
            })
            .collect();
        let mut others = ctx.pool.map(tasks.len(), |i| (tasks[i].0, one(point, grid.errors[tasks[i].0], tasks[i].1)));
        ctx.checkpoint().ok()?;
        let mut row = Vec::with_capacity(grid.errors.len());
        for e in 0..grid.errors.len() {
            let (mine, rest): (Vec<_>, Vec<_>) = others.into_iter().partition(|o| o.0 == e);
            others = rest;
            row.push(if e == grid.middle { at_middle.clone() } else { best(mine.into_iter().map(|m| m.1).collect())? });
        }
        warm = Some(at_middle.centres);
        fits.push(row);
    }
    Some(Scan { points: grid.points.to_vec(), fits, held_out: None })
}

impl Scan {
    /// Predicts the factors of every tenth by fits to the others. `false` when the run was stopped meanwhile.
    pub fn hold_out<F: Float>(
        &mut self,
        ctx: &RunContext,
        case: &Case<'_, F>,
        ground: &Ground,
        k: usize,
        errors: &[f64],
    ) -> bool {
        let field = Field::new(case.data, case.nodes, k);
        let inner = ctx.quiet().with_threads(1);
        let count = case.network.factors().len();
        let order = ctx.rng("trust-folds", 0).sample(count, count);
        let fold = |f: usize| order.iter().skip(f).step_by(FOLDS).map(|&s| s as u32).collect();
        let folds: Vec<Vec<u32>> = (0..FOLDS).map(fold).collect();
        let (points, rates) = (&self.points, errors.len());
        let tasks: Vec<(usize, usize)> = (0..points.len()).flat_map(|b| (0..rates).map(move |e| (b, e))).collect();
        let heard = ctx.pool.map(tasks.len() * FOLDS, |i| {
            let ((b, e), silent) = (tasks[i / FOLDS], &folds[i % FOLDS]);
            if ctx.checkpoint().is_err() {
                return 0.0;
            }
            let settings = ground.settings(points[b], errors[e], case.odds);
            let start = &self.fits[b][e].centres;
            let fit = belief::fit_without(&inner, &field, case.network, &settings, start, silent);
            silent.iter().map(|&s| fit.log_predictive[s as usize]).sum::<f64>()
        });
        if ctx.checkpoint().is_err() {
            return false;
        }
        let mut best = vec![f64::NEG_INFINITY; rates];
        for (&(_, e), of_folds) in tasks.iter().zip(heard.chunks_exact(FOLDS)) {
            best[e] = best[e].max(of_folds.iter().sum());
        }
        self.held_out = Some(best);
        true
    }

    /// The log-probability of held-out factors at an error rate, where they were held out.
    pub fn held_out(&self, e: usize) -> Option<f64> {
        self.held_out.as_ref().map(|best| best[e])
    }

    fn score(&self, b: usize, e: usize) -> f64 {
        let Point { sharpness, tie } = self.points[b];
        let odd = if tie > 0.0 { 0.0 } else { sharpness.log2() };
        self.fits[b][e].predictive - odd * odd / (2.0 * PREFERENCE * PREFERENCE)
    }
    /// The best score at an error rate.
    pub fn top(&self, e: usize) -> f64 {
        (0..self.fits.len()).map(|b| self.score(b, e)).fold(f64::NEG_INFINITY, f64::max)
    }
    /// All fits at an error rate, with their scores.
    pub fn at(&self, e: usize) -> impl Iterator<Item = (f64, &Fit)> {
        (0..self.fits.len()).map(move |b| (self.score(b, e), &self.fits[b][e]))
    }
    /// The fit with the best one.
    pub fn best_at(&self, e: usize) -> &Fit {
        let better = |a: usize, b: usize| if self.score(b, e) > self.score(a, e) { b } else { a };
        &self.fits[(1..self.fits.len()).fold(0, better)][e]
    }
    /// The fit to use: per point the most probable error rate (`priors` holds the log of each rate's), then the point with
    /// the best score; where only centres speak, the *largest* sharpness, nearest to the unconstrained run, whose score
    /// is within one standard error (paired over the constraints) of the best. The score alone picks too small a
    /// sharpness where it is flat.
    pub fn pick(&self, priors: &[(usize, f64)]) -> &Fit {
        let profile: Vec<(usize, f64)> = (0..self.fits.len())
            .map(|b| {
                let scored = priors.iter().map(|&(e, prior)| (e, self.score(b, e) + prior));
                scored.fold((0, f64::NEG_INFINITY), |a, x| if x.1 > a.1 { x } else { a })
            })
            .collect();
        let top = (1..profile.len()).fold(0, |a, b| if profile[b].1 > profile[a].1 { b } else { a });
        let of = |b: usize| &self.fits[b][profile[b].0];
        let mut chosen = top;
        for b in (top + 1..profile.len()).filter(|&b| self.points[b].tie == 0.0) {
            let (x, y) = (&of(top).log_predictive, &of(b).log_predictive);
            let mean = x.iter().zip(y).map(|(p, q)| p - q).sum::<f64>() / x.len().max(1) as f64;
            let spread = x.iter().zip(y).map(|(p, q)| (p - q - mean).powi(2)).sum::<f64>().sqrt();
            if profile[top].1 - profile[b].1 <= spread {
                chosen = b;
            }
        }
        of(chosen)
    }
}
