//! Scores that look at the rows: how compact and how far apart are the clusters? One line per score in [`INTERNAL`],
//! larger is better unless the name ends in `_loss`, `None` where undefined. Several clusterings of the same rows share
//! one pass over the distances: their common refinement is summed once, each clustering adds up its cells.
//! Exact while rows² × dims allows it, beyond that on a sample of rows against all rows, with a standard error.

use super::{centres, dbcv, hubert, silhouette};
use crate::blocks::contingency::compact;
use crate::blocks::group_sums::GroupSums;
use crate::context::{RunContext, Stop};
use crate::data::{Dataset, Float};

/// rows² × dims up to which [`Sampling::Auto`] is exact.
const EXACT_UP_TO: f64 = 2e11;
/// rows² × dims up to which [`Sampling::Auto`] takes DBCV, which cannot be sampled.
const DBCV_UP_TO: f64 = 2e10;
/// Rows of an automatic sample.
const SAMPLE: usize = 2_000;
/// Cells of a refinement above which it is split.
const MOST_CELLS: usize = 1_024;

/// A score that looks at the rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Internal {
    /// Mean of (b − a) / max(a, b) over the rows.
    Silhouette,
    /// The same with distances to centres.
    SimplifiedSilhouette,
    /// Correlation of "in different clusters" with the distance, over all pairs.
    NormalisedHubert,
    /// Mean over all pairs of the distance where clusters differ.
    Hubert,
    /// Between-cluster over within-cluster variance.
    CalinskiHarabasz,
    /// Mean over clusters of the worst ratio of spreads to distance of centres.
    DaviesBouldin,
    /// Density-based: sparseness inside against separation outside.
    Dbcv,
}

/// How a score becomes a number in [0, 1] with 1 good.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Norm {
    /// (v + 1) / 2, for scores in [−1, 1].
    HalfUp,
    /// 1 / (1 + v), for losses from 0 up.
    Reciprocal,
    /// Place between the smallest and the largest of what is compared.
    Spread,
}

/// One line of the table.
pub struct InternalEntry {
    /// Which one.
    pub index: Internal,
    /// Its name in results.
    pub name: &'static str,
    /// Its name in tables.
    pub symbol: &'static str,
    /// One line.
    pub summary: &'static str,
    /// How it is brought to [0, 1].
    pub norm: Norm,
}

/// Every score that looks at the rows.
pub static INTERNAL: &[InternalEntry] = &[
    InternalEntry {
        index: Internal::Silhouette,
        name: "silhouette",
        symbol: "S",
        summary: "how much nearer the own cluster is than the next, −1 to 1",
        norm: Norm::HalfUp,
    },
    InternalEntry {
        index: Internal::SimplifiedSilhouette,
        name: "simplified_silhouette",
        symbol: "SS",
        summary: "the same by distances to centres, −1 to 1",
        norm: Norm::HalfUp,
    },
    InternalEntry {
        index: Internal::NormalisedHubert,
        name: "normalised_hubert",
        symbol: "NH",
        summary: "correlation of distance and being in different clusters, −1 to 1",
        norm: Norm::HalfUp,
    },
    InternalEntry {
        index: Internal::Hubert,
        name: "hubert",
        symbol: "H",
        summary: "mean distance between clusters over all pairs; rises with k",
        norm: Norm::Spread,
    },
    InternalEntry {
        index: Internal::CalinskiHarabasz,
        name: "calinski_harabasz",
        symbol: "CH",
        summary: "variance between clusters over variance within",
        norm: Norm::Spread,
    },
    InternalEntry {
        index: Internal::DaviesBouldin,
        name: "davies_bouldin_loss",
        symbol: "DB",
        summary: "spread of neighbouring clusters over the distance of their centres; smaller is better",
        norm: Norm::Reciprocal,
    },
    InternalEntry {
        index: Internal::Dbcv,
        name: "dbcv",
        symbol: "DBCV",
        summary: "density between clusters against density within, −1 to 1",
        norm: Norm::HalfUp,
    },
];

impl Internal {
    /// Its line of the table.
    pub fn entry(self) -> &'static InternalEntry {
        // The table holds every variant, in the order of the enumeration.
        &INTERNAL[self as usize]
    }
    /// Does it look at distances between pairs of rows?
    fn pairwise(self) -> bool {
        matches!(self, Internal::Silhouette | Internal::NormalisedHubert | Internal::Hubert)
    }
}

/// A value with its standard error, 0 when it is exact.
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize)]
pub struct Estimate {
    /// The value.
    pub value: f64,
    /// Its standard error.
    pub error: f64,
}

impl Estimate {
    /// A value without an error.
    pub fn exact(value: f64) -> Estimate {
        Estimate { value, error: 0.0 }
    }
}

/// How many rows are compared with all rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Sampling {
    /// All while rows² × dims is at most 2·10¹¹, else 2,000.
    #[default]
    Auto,
    /// All.
    Exact,
    /// This many.
    Rows(usize),
}

impl Sampling {
    fn rows(self, n: usize, dims: usize) -> usize {
        match self {
            Sampling::Exact => n,
            Sampling::Rows(m) => m.clamp(2, n.max(2)).min(n),
            Sampling::Auto if (n as f64).powi(2) * dims as f64 <= EXACT_UP_TO => n,
            Sampling::Auto => SAMPLE.min(n),
        }
    }
}

/// One clustering with compact labels.
pub(super) struct Partition {
    pub(super) labels: Vec<u32>,
    pub(super) k: usize,
    /// Weight and number of rows of each cluster.
    pub(super) weights: Vec<f64>,
    pub(super) counts: Vec<usize>,
}

impl Partition {
    fn new<F: Float>(data: &Dataset<'_, F>, labels: &[u32]) -> Partition {
        let (labels, k) = compact(labels.iter().copied());
        let (mut weights, mut counts) = (vec![0.0; k], vec![0; k]);
        for (i, &l) in labels.iter().enumerate() {
            weights[l as usize] += data.weight(i);
            counts[l as usize] += 1;
        }
        Partition { labels, k, weights, counts }
    }
}

/// What one row says about one clustering.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct RowTerm {
    /// Its silhouette width.
    pub(super) width: f64,
    /// Weighted sum of its distances to its own cluster.
    pub(super) within: f64,
}

/// The rows that were compared with all rows.
pub(super) struct Looked {
    pub(super) rows: Vec<u32>,
    pub(super) n: usize,
    /// Weighted sum of the distances of each to all rows.
    pub(super) total: Vec<f64>,
    /// By clustering, then by row.
    pub(super) terms: Vec<Vec<RowTerm>>,
}

impl Looked {
    /// Mean of one number per row looked at, and its standard error (finite population, without replacement).
    pub(super) fn mean(&self, values: &[f64]) -> Estimate {
        let m = values.len() as f64;
        let mean = values.iter().sum::<f64>() / m;
        if values.len() == self.n || values.len() < 2 {
            return Estimate::exact(mean);
        }
        let variance = values.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / (m - 1.0);
        Estimate { value: mean, error: ((1.0 - m / self.n as f64) * variance / m).sqrt() }
    }
}

/// Scores of several clusterings of the same rows.
pub struct InternalScores {
    /// The scores asked for, in order.
    pub which: Vec<Internal>,
    /// By clustering, then by score.
    pub values: Vec<Vec<Option<Estimate>>>,
    /// Rows compared with all rows; all of them when exact.
    pub looked_at: usize,
    /// How the pass ended when it was stopped: pairwise scores are then missing.
    pub stopped: Option<Stop>,
    /// By clustering and score: one number per sampled row whose mean differs from the value by a constant.
    terms: Vec<Vec<Vec<f64>>>,
    looked: Option<Looked>,
}

impl InternalScores {
    /// The value of one clustering.
    pub fn get(&self, clustering: usize, index: Internal) -> Option<Estimate> {
        self.values[clustering][self.which.iter().position(|w| *w == index)?]
    }

    /// How much the score of one clustering is above that of another. On a sample both are seen by the same rows, so
    /// the error of the difference is far smaller than that of either.
    pub fn difference(&self, a: usize, b: usize, index: Internal) -> Option<Estimate> {
        let at = self.which.iter().position(|w| *w == index)?;
        let value = self.values[a][at]?.value - self.values[b][at]?.value;
        let (Some(looked), x, y) = (&self.looked, &self.terms[a][at], &self.terms[b][at]) else {
            return Some(Estimate::exact(value));
        };
        if x.is_empty() || y.is_empty() {
            return Some(Estimate::exact(value));
        }
        let differences: Vec<f64> = x.iter().zip(y).map(|(x, y)| x - y).collect();
        Some(Estimate { value, error: looked.mean(&differences).error })
    }
}

/// Scores clusterings of the rows. Labels may be any numbers; only the partition matters.
pub fn score_rows<F: Float>(
    ctx: &RunContext,
    data: &Dataset<'_, F>,
    clusterings: &[&[u32]],
    which: &[Internal],
    sampling: Sampling,
) -> InternalScores {
    let (n, dims) = (data.n(), data.dims());
    let partitions: Vec<Partition> = clusterings.iter().map(|l| Partition::new(data, l)).collect();
    let m = sampling.rows(n, dims);
    let (mut looked, mut stopped) = (None, None);
    if which.iter().any(|w| w.pairwise()) && n > 1 {
        let rows = if m == n {
            (0..n as u32).collect()
        } else {
            let mut rows: Vec<u32> = ctx.rng("sampled rows", 0).sample(n, m).into_iter().map(|r| r as u32).collect();
            rows.sort_unstable();
            rows
        };
        match look(ctx, data, &partitions, rows) {
            Ok(found) => looked = Some(found),
            Err(stop) => stopped = Some(stop),
        }
    }
    let squares = looked.as_ref().map(|_| hubert::mean_square(data));
    let small = sampling != Sampling::Auto || (n as f64).powi(2) * dims as f64 <= DBCV_UP_TO;
    let (mut values, mut terms) = (Vec::new(), Vec::new());
    for (p, partition) in partitions.iter().enumerate() {
        let mut around = None;
        let (mut row, mut row_terms) = (Vec::new(), Vec::new());
        for index in which {
            let mut of_rows = Vec::new();
            let value = match (index, &looked, &squares) {
                (Internal::Silhouette, Some(looked), _) => {
                    silhouette::silhouette(data, partition, looked, p, &mut of_rows)
                }
                (Internal::NormalisedHubert, Some(looked), Some(squares)) => {
                    hubert::normalised(data, partition, looked, p, squares, &mut of_rows)
                }
                (Internal::Hubert, Some(looked), Some(squares)) => hubert::hubert(data, partition, looked, p, squares),
                (Internal::Silhouette | Internal::NormalisedHubert | Internal::Hubert, ..) => None,
                (Internal::Dbcv, ..) => {
                    if small {
                        dbcv::dbcv(ctx, data, partition).map(Estimate::exact)
                    } else {
                        None
                    }
                }
                (by_centres, ..) => {
                    let around = around.get_or_insert_with(|| centres::Around::new(ctx, data, partition));
                    match by_centres {
                        Internal::SimplifiedSilhouette => around.simplified_silhouette(),
                        Internal::CalinskiHarabasz => around.calinski_harabasz(),
                        _ => around.davies_bouldin(),
                    }
                    .map(Estimate::exact)
                }
            };
            row.push(value);
            row_terms.push(if m < n { of_rows } else { Vec::new() });
        }
        values.push(row);
        terms.push(row_terms);
    }
    let looked_at = looked.as_ref().map_or(n, |l| l.rows.len());
    InternalScores { which: which.to_vec(), values, looked_at, stopped, terms, looked }
}

/// The pass over the distances, in groups of clusterings whose refinement is small.
fn look<F: Float>(
    ctx: &RunContext,
    data: &Dataset<'_, F>,
    partitions: &[Partition],
    rows: Vec<u32>,
) -> Result<Looked, Stop> {
    let (mut total, mut terms): (Vec<f64>, Vec<Vec<RowTerm>>) = (Vec::new(), Vec::new());
    let mut first = 0;
    while first < partitions.len() {
        let (mut cells, mut count) = (partitions[first].labels.clone(), partitions[first].k);
        let mut next = first + 1;
        while next < partitions.len() {
            let finer = compact(cells.iter().copied().zip(partitions[next].labels.iter().copied()));
            if finer.1 > MOST_CELLS.max(count) {
                break;
            }
            (cells, count) = finer;
            next += 1;
        }
        let group = &partitions[first..next];
        let mut cluster_of: Vec<Vec<u32>> = vec![vec![0; count]; group.len()];
        for (row, &cell) in cells.iter().enumerate() {
            group.iter().zip(&mut cluster_of).for_each(|(p, of)| of[cell as usize] = p.labels[row]);
        }
        let found = GroupSums::new(data, &cells, count).sums(ctx, &rows, |at, sums| {
            let row = rows[at] as usize;
            let of_row: Vec<RowTerm> = group
                .iter()
                .zip(&cluster_of)
                .map(|(p, of)| {
                    let mut by_cluster = vec![0.0; p.k];
                    sums.iter().zip(of).for_each(|(s, &c)| by_cluster[c as usize] += s);
                    silhouette::term(p, p.labels[row] as usize, data.weight(row), &by_cluster)
                })
                .collect();
            (sums.iter().sum::<f64>(), of_row)
        })?;
        if total.is_empty() {
            total = found.iter().map(|f| f.0).collect();
        }
        terms.extend((0..group.len()).map(|p| found.iter().map(|f| f.1[p]).collect::<Vec<RowTerm>>()));
        first = next;
    }
    Ok(Looked { rows, n: data.n(), total, terms })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Rng;

    const PAIRWISE: [Internal; 3] = [Internal::Silhouette, Internal::NormalisedHubert, Internal::Hubert];

    /// S, NH and H from their definitions, over all pairs.
    fn brute(x: &[f64], dims: usize, labels: &[u32]) -> [Option<f64>; 3] {
        let n = labels.len();
        let d = |i: usize, j: usize| -> f64 {
            (0..dims).map(|c| (x[i * dims + c] - x[j * dims + c]).powi(2)).sum::<f64>().sqrt()
        };
        let k = *labels.iter().max().unwrap() as usize + 1;
        let size = |c: u32| labels.iter().filter(|l| **l == c).count();
        let used = (0..k as u32).filter(|&c| size(c) > 0).count();
        let mut widths = 0.0;
        for i in 0..n {
            let mean = |c: u32, others: usize| -> f64 {
                (0..n).filter(|&j| labels[j] == c && j != i).map(|j| d(i, j)).sum::<f64>() / others as f64
            };
            if size(labels[i]) > 1 {
                let a = mean(labels[i], size(labels[i]) - 1);
                let b = (0..k as u32)
                    .filter(|&c| c != labels[i] && size(c) > 0)
                    .map(|c| mean(c, size(c)))
                    .fold(f64::INFINITY, f64::min);
                widths += if a.max(b) > 0.0 { (b - a) / a.max(b) } else { 0.0 };
            }
        }
        let mut pairs = Vec::new();
        for i in 0..n {
            pairs.extend((i + 1..n).map(|j| (f64::from(u8::from(labels[i] != labels[j])), d(i, j))));
        }
        let m = pairs.len() as f64;
        let mean = |f: &dyn Fn(&(f64, f64)) -> f64| pairs.iter().map(f).sum::<f64>() / m;
        let (mv, md) = (mean(&|p| p.0), mean(&|p| p.1));
        let (sv, sd) = (mean(&|p| (p.0 - mv).powi(2)).sqrt(), mean(&|p| (p.1 - md).powi(2)).sqrt());
        let nh = mean(&|p| (p.0 - mv) * (p.1 - md)) / (sv * sd);
        let s = (used > 1).then_some(widths / n as f64);
        [s, (sv > 0.0 && sd > 1e-9).then_some(nh), Some(mean(&|p| p.0 * p.1))]
    }

    fn exact(x: &[f64], dims: usize, labels: &[u32]) -> Vec<Option<f64>> {
        let data = Dataset::dense(x, dims).unwrap();
        let scores = score_rows(&RunContext::new(0), &data, &[labels], &PAIRWISE, Sampling::Exact);
        scores.values[0].iter().map(|v| v.map(|v| v.value)).collect()
    }

    #[test]
    fn worked_examples_hold() {
        // spec/validation.md, tests 1, 2 and 7.
        let x = [0.0, 1.0, 5.0, 6.0];
        let same = |found: &[Option<f64>], expected: [Option<f64>; 3]| {
            for (a, b) in found.iter().zip(expected) {
                match (a, b) {
                    (Some(a), Some(b)) => assert!((a - b).abs() < 1e-6, "{a} {b}"),
                    (a, b) => assert_eq!(*a, b),
                }
            }
        };
        same(&exact(&x, 1, &[0, 0, 1, 1]), [Some(0.797980), Some(0.956183), Some(3.333333)]);
        same(&exact(&x, 1, &[0, 1, 0, 1])[..2], [Some(-0.4), Some(-0.478091), None]);
        same(&exact(&x, 1, &[7, 1, 1, 1])[..2], [Some(0.055556), Some(0.169031), None]);
        same(&exact(&x, 1, &[0, 0, 1, 2]), [Some(0.3875), Some(0.604743), Some(3.5)]);
        same(&exact(&x, 1, &[0, 0, 0, 0]), [None, None, Some(0.0)]);
        same(&exact(&x, 1, &[0, 1, 2, 3]), [Some(0.0), None, Some(3.666667)]);
        same(&exact(&[0.0, 0.0, 1.0], 1, &[0, 0, 1])[..1], [Some(2.0 / 3.0), None, None]);
        same(&exact(&[0.0; 4], 1, &[0, 0, 1, 1])[..2], [Some(0.0), None, None]);
        same(&exact(&[0.0, 2.0, 2.0, 4.0], 1, &[0, 0, 1, 1])[..1], [Some(-0.083333), None, None]);
        same(&exact(&[1.0, 2.0], 2, &[0]), [None, None, None]);
    }

    #[test]
    fn one_pass_for_many_clusterings_gives_the_definitions() {
        let mut rng = Rng::stream(4, "internal", 0);
        for (n, dims) in [(2, 1), (60, 3), (500, 7), (120, 40)] {
            let x: Vec<f64> = (0..n * dims).map(|_| rng.normal()).collect();
            let clusterings: Vec<Vec<u32>> =
                (2..16).map(|k| (0..n).map(|_| rng.below(k.min(n)) as u32).collect()).collect();
            let lent: Vec<&[u32]> = clusterings.iter().map(Vec::as_slice).collect();
            let data = Dataset::dense(&x, dims).unwrap();
            let all = score_rows(&RunContext::new(0).with_threads(1), &data, &lent, &PAIRWISE, Sampling::Auto);
            let threads = score_rows(&RunContext::new(0).with_threads(8), &data, &lent, &PAIRWISE, Sampling::Auto);
            assert_eq!(all.values, threads.values);
            for (labels, found) in clusterings.iter().zip(&all.values) {
                for (a, b) in found.iter().zip(brute(&x, dims, labels)) {
                    assert_eq!(a.is_some(), b.is_some());
                    let (a, b) = (a.map_or(0.0, |a| a.value), b.unwrap_or(0.0));
                    assert!((a - b).abs() <= 1e-12, "{a} {b}, {n} rows");
                }
            }
        }
    }

    #[test]
    fn names_order_scale_and_place_do_not_matter() {
        let mut rng = Rng::stream(5, "internal", 0);
        let (n, dims) = (80, 2);
        let x: Vec<f64> = (0..n * dims).map(|_| rng.normal()).collect();
        let labels: Vec<u32> = (0..n).map(|_| rng.below(4) as u32).collect();
        let mut order: Vec<usize> = (0..n).collect();
        rng.shuffle(&mut order);
        let moved: Vec<f64> = order.iter().flat_map(|&i| [3.0 * x[2 * i] + 7.0, 3.0 * x[2 * i + 1] - 1.0]).collect();
        let renamed: Vec<u32> = order.iter().map(|&i| 90 - 10 * labels[i]).collect();
        let which: Vec<Internal> = INTERNAL.iter().map(|e| e.index).filter(|i| *i != Internal::Hubert).collect();
        let score = |x: &[f64], labels: &[u32]| {
            let data = Dataset::dense(x, dims).unwrap();
            score_rows(&RunContext::new(0), &data, &[labels], &which, Sampling::Exact).values[0].clone()
        };
        for ((a, b), index) in score(&x, &labels).iter().zip(score(&moved, &renamed)).zip(&which) {
            assert!((a.unwrap().value - b.unwrap().value).abs() < 1e-9, "{index:?} {a:?} {b:?}");
        }
    }

    #[test]
    fn a_sample_covers_the_exact_value_as_often_as_its_error_says() {
        let mut rng = Rng::stream(6, "internal", 0);
        let n = 600;
        let labels: Vec<u32> = (0..n as u32).map(|i| i % 3).collect();
        let x: Vec<f64> = (0..n * 2).map(|i| rng.normal() + f64::from(labels[i / 2]) * 2.5).collect();
        let other: Vec<u32> = labels.iter().map(|l| l.min(&1)).copied().collect();
        let data = Dataset::dense(&x, 2).unwrap();
        let which = [Internal::Silhouette, Internal::NormalisedHubert];
        let lent: [&[u32]; 2] = [&labels, &other];
        let truth = score_rows(&RunContext::new(0), &data, &lent, &which, Sampling::Exact);
        let whole = score_rows(&RunContext::new(0), &data, &lent, &which, Sampling::Rows(n));
        assert_eq!(truth.values, whole.values);
        assert!(whole.values[0].iter().all(|v| v.unwrap().error == 0.0));
        let (mut covered, mut paired) = ([0; 2], [0; 2]);
        for seed in 0..500 {
            let ctx = RunContext::new(seed).with_threads(1);
            let found = score_rows(&ctx, &data, &lent, &which, Sampling::Rows(n / 10));
            for (i, index) in which.iter().enumerate() {
                let within = |a: Estimate, b: Estimate| usize::from((a.value - b.value).abs() <= 1.96 * a.error);
                covered[i] += within(found.values[0][i].unwrap(), truth.values[0][i].unwrap());
                let (a, b) = (found.difference(0, 1, *index).unwrap(), truth.difference(0, 1, *index).unwrap());
                paired[i] += within(a, b);
                assert!(a.error > 0.0);
            }
        }
        assert!(covered.iter().chain(&paired).all(|c| (450..=495).contains(c)), "{covered:?} {paired:?}");
    }

    #[test]
    fn weights_count_like_repeated_rows_at_no_distance_from_themselves() {
        // Two rows of weight 2 in one cluster: a denominator without the own weight, as the spec says.
        let (x, w) = ([0.0f64, 1.0, 5.0, 6.0], [2.0f64, 1.0, 1.0, 3.0]);
        let data = Dataset::dense(&x, 1).unwrap().with_weights(&w).unwrap();
        let found = score_rows(&RunContext::new(0), &data, &[&[0, 0, 1, 1]], &PAIRWISE, Sampling::Exact);
        let widths = [
            (5.75 - 1.0) / 5.75,
            (4.75 - 1.0) / 4.75,
            (14.0 / 3.0 - 1.0) / (14.0 / 3.0),
            (17.0 / 3.0 - 1.0) / (17.0 / 3.0),
        ];
        let s: f64 = widths.iter().zip(&w).map(|(s, w)| s * w).sum::<f64>() / 7.0;
        assert!((found.values[0][0].unwrap().value - s).abs() < 1e-12);
        let mut pairs = Vec::new();
        for i in 0..4usize {
            for j in i + 1..4 {
                pairs.push((w[i] * w[j], f64::from(u8::from((i < 2) != (j < 2))), (x[i] - x[j]).abs()));
            }
        }
        let all: f64 = pairs.iter().map(|p| p.0).sum();
        let mean = |f: &dyn Fn(f64, f64) -> f64| pairs.iter().map(|p| p.0 * f(p.1, p.2)).sum::<f64>() / all;
        let (mv, md) = (mean(&|v, _| v), mean(&|_, d| d));
        let cov = mean(&|v, d| (v - mv) * (d - md));
        let nh = cov / (mean(&|v, _| (v - mv).powi(2)) * mean(&|_, d| (d - md).powi(2))).sqrt();
        assert!((found.values[0][1].unwrap().value - nh).abs() < 1e-12);
        assert!((found.values[0][2].unwrap().value - mean(&|v, d| v * d)).abs() < 1e-12);
    }
}
