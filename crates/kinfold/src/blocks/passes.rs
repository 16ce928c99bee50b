//! The nearest centre of every row, iteration after iteration, with the sums of the rows of each cluster. At first every
//! row meets every centre in one fused pass. Once few labels change, each row keeps how much nearer its centre is than
//! any other (Hamerly 2010): gap = second − nearest. While the centres of its cluster and the fastest of the others have
//! moved less than that in sum, the row cannot change and is not even read; the others are gathered into full tiles of
//! the same kernel. Bounds allow for rounding, so labels are those of the full pass; changed rows alone touch the sums.
//! Cost: O(n) to look at the gaps plus O(k·dims) for each row that is met; memory 8 bytes a row.
//! Kept drifts are cumulative, so a row that is skipped is not written either.

use super::par::Pool;
use crate::data::{Dataset, Dense, Float, Matrix, Rows};
use crate::kernels::{Centres, Measure, Sums};

/// Rows per task: a function of the problem alone; few enough tasks that their partial sums stay small.
fn rows_per_task(n: usize, k: usize, dims: usize) -> usize {
    let tasks = (64_000_000 / (8 * k * dims)).clamp(2, 64);
    n.div_ceil(tasks).max(2048)
}

/// Bounds are kept once no more than one row in this many changes its label.
const CALM: usize = 8;
/// Products of k and dims below which a row costs no more than a look at its gap.
const WORTH: usize = 64;
/// From this many centres on the distance to the own centre is tried before all others.
const TIGHTEN_FROM: usize = 32;
/// Passes without bounds after bounds did not pay.
const PAUSE: usize = 8;
/// Rows that are gathered at a time.
const GATHER: usize = 128;

/// How much a row can bear.
#[derive(Debug, Clone, Copy)]
struct Gap {
    /// Second − nearest distance, plus the drifts of its cluster when that was measured.
    gap: f32,
    /// Second distance, plus the drift of the other centres when that was measured.
    lower: f32,
}

struct Bounds {
    rows: Vec<Gap>,
    /// The centres of the last pass.
    centres: Matrix,
    /// Σ of the ways that each centre went.
    own: Vec<f64>,
    /// Σ of the longest ways that any other centre went.
    others: Vec<f64>,
    /// Passes in a row that met most rows.
    strikes: usize,
}

/// See the module.
pub(crate) struct Passes<'a, F> {
    data: &'a Dataset<'a, F>,
    /// All rows by nearest centre.
    pub(crate) sums: Sums,
    bounds: Option<Bounds>,
    bounded: bool,
    pause: usize,
    first: bool,
    /// Rows that met all centres, over all passes.
    pub(crate) met: usize,
}

impl<'a, F: Float> Passes<'a, F> {
    pub(crate) fn new(data: &'a Dataset<'a, F>, k: usize) -> Passes<'a, F> {
        let bounded = !data.is_sparse() && k * data.dims() >= WORTH && k > 1;
        let sums = Sums::zeros(k, data.dims());
        Passes { data, sums, bounds: None, bounded, pause: 0, first: true, met: 0 }
    }

    /// The same without bounds.
    #[cfg(test)]
    fn plain(mut self) -> Self {
        self.bounded = false;
        self
    }

    /// To be called when somebody else changed a label.
    pub(crate) fn forget(&mut self) {
        self.bounds = None;
    }

    /// Gives every row its nearest centre; how many got another one than in the last pass, all of them in the first.
    pub(crate) fn step(&mut self, pool: &Pool, centres: &Matrix, labels: &mut [u32]) -> usize {
        let n = labels.len();
        let prepared = Centres::<F>::new(centres, self.data.is_sparse());
        let changed = match (self.bounds.take(), self.data.rows()) {
            (Some(mut bounds), Rows::Dense(rows)) => {
                bounds.drift(centres);
                let (changed, met) = self.bounded(pool, rows, &prepared, &mut bounds, labels);
                self.met += met;
                bounds.strikes = if 2 * met > n { bounds.strikes + 1 } else { 0 };
                if bounds.strikes > 2 {
                    self.pause = PAUSE;
                } else {
                    self.bounds = Some(bounds);
                }
                changed
            }
            _ => {
                self.met += n;
                self.full(pool, &prepared, labels)
            }
        };
        let calm = !self.first && changed <= n / CALM;
        if self.bounds.is_none() && self.bounded && calm {
            if self.pause == 0 {
                self.bounds = Some(Bounds::new(n, centres));
            }
            self.pause = self.pause.saturating_sub(1);
        }
        if std::mem::take(&mut self.first) { n } else { changed }
    }

    fn full(&mut self, pool: &Pool, prepared: &Centres<F>, labels: &mut [u32]) -> usize {
        let (k, dims) = (self.sums.weights.len(), self.data.dims());
        let parts = pool.map_chunks_mut(labels, rows_per_task(self.data.n(), k, dims), |start, labels| {
            let mut sums = Sums::zeros(k, dims);
            let changed = prepared.assign(self.data, start, labels, &mut sums);
            (sums, changed)
        });
        self.sums = Sums::zeros(k, dims);
        parts.iter().for_each(|(sums, _)| self.sums.add(sums));
        parts.iter().map(|p| p.1).sum()
    }

    /// Labels changed, rows that met all centres.
    fn bounded(
        &mut self,
        pool: &Pool,
        rows: Dense<'_, F>,
        prepared: &Centres<F>,
        bounds: &mut Bounds,
        labels: &mut [u32],
    ) -> (usize, usize) {
        let (k, dims, data) = (self.sums.weights.len(), self.data.dims(), self.data);
        let drifts: Vec<f32> = bounds.own.iter().zip(&bounds.others).map(|(a, b)| up(a + b)).collect();
        let points: Vec<F> = if k >= TIGHTEN_FROM {
            bounds.centres.values().iter().map(|&v| F::from_f64(v)).collect()
        } else {
            Vec::new()
        };
        let (own, others, doubt) = (&bounds.own, &bounds.others, prepared.doubt());
        let task = rows_per_task(data.n(), k, dims);
        let parts = pool.map_chunks_mut_2(labels, &mut bounds.rows, task, |start, labels, gaps| {
            let mut sums: Option<Sums> = None;
            let (mut changed, mut met) = (0, 0);
            let mut list = vec![0u32; GATHER + 1];
            let mut kept = 0;
            let mut near = [0u32; GATHER];
            let mut measured = [(0.0, 0.0); GATHER];
            let (mut first, mut second) = ([F::default(); GATHER], [F::default(); GATHER]);
            let mut i = 0;
            loop {
                while kept < GATHER && i < labels.len() {
                    // Written always, kept when the row must be looked at.
                    list[kept] = (start + i) as u32;
                    kept += usize::from(!(gaps[i].gap > drifts[labels[i] as usize]));
                    i += 1;
                }
                if kept == 0 {
                    break;
                }
                if k >= TIGHTEN_FROM {
                    let some = &list[..kept];
                    some.iter().zip(&mut near).for_each(|(&row, l)| *l = labels[row as usize - start]);
                    F::measure(Measure {
                        values: rows.values(),
                        rows: some,
                        points: &points,
                        labels: &near[..kept],
                        dims,
                        out: &mut first[..kept],
                    });
                    let mut still = 0;
                    for at in 0..kept {
                        let row = list[at];
                        let (gap, c) = (&mut gaps[row as usize - start], near[at] as usize);
                        let nearest = first[at].to_f64().sqrt();
                        let lower = f64::from(gap.lower) - others[c];
                        let margin = lower - nearest - doubt.between(nearest, lower.max(nearest));
                        if margin > 0.0 {
                            gap.gap = down(margin + own[c] + others[c]);
                        }
                        list[still] = row;
                        still += usize::from(!(margin > 0.0));
                    }
                    kept = still;
                    if kept < GATHER && i < labels.len() {
                        continue;
                    }
                    if kept == 0 {
                        break;
                    }
                }
                let some = &list[..kept];
                prepared.two_nearest(rows, some, &mut near[..kept], &mut first[..kept], &mut second[..kept]);
                met += kept;
                // Roots and quotients apart from the rest, so that they are done several at a time.
                for at in 0..kept {
                    let (nearest, after) = (first[at].to_f64().sqrt(), second[at].to_f64().sqrt());
                    measured[at] = (after - nearest - doubt.between(nearest, after), after);
                }
                for (at, &row) in some.iter().enumerate() {
                    let (local, c) = (row as usize - start, near[at] as usize);
                    let (margin, after) = measured[at];
                    let gap = if margin > 0.0 { down(margin + own[c] + others[c]) } else { f32::NEG_INFINITY };
                    gaps[local] = Gap { gap, lower: down(after + others[c]) };
                    let old = std::mem::replace(&mut labels[local], near[at]);
                    if old != near[at] {
                        changed += 1;
                        let sums = sums.get_or_insert_with(|| Sums::zeros(k, dims));
                        let weight = data.weight(row as usize);
                        sums.weights[old as usize] -= weight;
                        sums.weights[c] += weight;
                        data.add_row(row as usize, -weight, sums.values.row_mut(old as usize));
                        data.add_row(row as usize, weight, sums.values.row_mut(c));
                    }
                }
                kept = 0;
            }
            (sums, changed, met)
        });
        parts.iter().flat_map(|p| &p.0).for_each(|sums| self.sums.add(sums));
        // Weights that are no whole numbers leave rounding behind in a cluster that became empty.
        if data.weights().is_some() {
            self.settle_empty(labels);
        }
        (parts.iter().map(|p| p.1).sum(), parts.iter().map(|p| p.2).sum())
    }

    fn settle_empty(&mut self, labels: &[u32]) {
        let total: f64 = self.sums.weights.iter().sum();
        let doubtful = |w: f64| w.abs() <= 1e-9 * total;
        if !self.sums.weights.iter().any(|&w| doubtful(w)) {
            return;
        }
        let mut rows = vec![0usize; self.sums.weights.len()];
        labels.iter().for_each(|&l| rows[l as usize] += 1);
        for c in (0..rows.len()).filter(|&c| rows[c] == 0) {
            self.sums.weights[c] = 0.0;
            self.sums.values.row_mut(c).fill(0.0);
        }
    }
}

impl Bounds {
    fn new(n: usize, centres: &Matrix) -> Bounds {
        let none = vec![0.0; centres.rows()];
        let rows = vec![Gap { gap: f32::NEG_INFINITY, lower: f32::NEG_INFINITY }; n];
        Bounds { rows, centres: centres.clone(), own: none.clone(), others: none, strikes: 0 }
    }

    /// Takes note of where the centres went.
    fn drift(&mut self, centres: &Matrix) {
        let way = |(a, b): (&[f64], &[f64])| a.iter().zip(b).map(|(a, b)| (a - b).powi(2)).sum::<f64>().sqrt();
        let ways: Vec<f64> = self.centres.iter().zip(centres.iter()).map(way).collect();
        let (mut most, mut next, mut at) = (0.0, 0.0, usize::MAX);
        for (c, &way) in ways.iter().enumerate() {
            if way > most {
                (next, most, at) = (most, way, c);
            } else if way > next {
                next = way;
            }
        }
        // A little more than the truth, against rounding.
        const MORE: f64 = 1.0 + 1e-9;
        for c in 0..ways.len() {
            self.own[c] += ways[c] * MORE;
            self.others[c] += if c == at { next } else { most } * MORE;
        }
        self.centres.clone_from(centres);
    }
}

/// The next f32 that is not above, give or take one.
fn down(value: f64) -> f32 {
    let rounded = value as f32;
    rounded - rounded.abs() * f32::EPSILON
}

/// The next f32 that is not below, give or take one.
fn up(value: f64) -> f32 {
    let rounded = value as f32;
    rounded + rounded.abs() * f32::EPSILON
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::blocks::lloyd::to_means;
    use crate::rng::Rng;

    /// Blobs that overlap, k-means from random rows with and without bounds: labels of every pass must be the same.
    fn compare<F: Float>(n: usize, dims: usize, k: usize, offset: f64, weights: Option<&[f64]>) -> usize {
        let mut rng = Rng::stream(7, "passes test", (n * dims * k) as u64);
        let blobs: Vec<f64> = (0..k * dims).map(|_| 2.0 * rng.normal()).collect();
        let values: Vec<F> = (0..n)
            .flat_map(|_| {
                let blob = rng.below(k);
                (0..dims).map(|j| F::from_f64(offset + blobs[blob * dims + j] + rng.normal())).collect::<Vec<F>>()
            })
            .collect();
        let mut data = Dataset::dense(&values, dims).unwrap();
        if let Some(weights) = weights {
            data = data.with_weights(&weights[..n]).unwrap();
        }
        let mut centres = Matrix::zeros(0, dims);
        for row in rng.sample(n, k) {
            let mut point = vec![0.0; dims];
            data.add_row(row, 1.0, &mut point);
            centres.push(&point);
        }
        let (mut a, mut b) = (Passes::new(&data, k), Passes::new(&data, k).plain());
        let (mut labels, mut plain) = (vec![0; n], vec![0; n]);
        for iteration in 0..60 {
            let pool = Pool::new(if iteration % 2 == 0 { 1 } else { 3 });
            let changed = a.step(&pool, &centres, &mut labels);
            assert_eq!(b.step(&pool, &centres, &mut plain), changed, "iteration {iteration}");
            assert_eq!(labels, plain, "iteration {iteration}");
            let near = |(x, y): (&f64, &f64)| (x - y).abs() <= 1e-9 * (1.0 + x.abs());
            assert!(a.sums.values.values().iter().zip(b.sums.values.values()).all(near));
            assert!(a.sums.weights.iter().zip(&b.sums.weights).all(near));
            // Both go on from the same centres: what is compared is the pass.
            to_means(&mut centres, &b.sums);
            if changed == 0 {
                break;
            }
        }
        assert_eq!(b.met % n, 0);
        (b.met - a.met) * 100 / b.met
    }

    #[test]
    fn bounds_skip_rows_and_change_no_label() {
        let weights: Vec<f64> = (0..5000).map(|i| 0.1 + (i % 7) as f64).collect();
        let skipped = [
            compare::<f64>(5000, 8, 10, 0.0, None),
            compare::<f32>(5000, 20, 12, 0.0, None),
            compare::<f32>(5000, 20, 12, 300.0, Some(&weights)),
            compare::<f64>(3000, 40, 40, 0.0, None),
            compare::<f32>(3000, 40, 40, 50.0, None),
        ];
        assert!(skipped.iter().all(|&s| s > 10), "{skipped:?} % skipped");
    }

    #[test]
    fn a_label_changed_from_outside_is_seen_after_forget() {
        let values: Vec<f64> = (0..600).map(|i| (i % 30) as f64).collect();
        let data = Dataset::dense(&values, 20).unwrap();
        let mut centres = Matrix::from_vec(20, values[..20 * 5].to_vec());
        let pool = Pool::new(1);
        let (mut passes, mut labels) = (Passes::new(&data, 5), vec![0; 30]);
        for _ in 0..4 {
            passes.step(&pool, &centres, &mut labels);
            to_means(&mut centres, &passes.sums);
        }
        let found = labels.clone();
        labels[3] = (labels[3] + 1) % 5;
        passes.forget();
        passes.step(&pool, &centres, &mut labels);
        assert_eq!(labels, found);
    }
}
