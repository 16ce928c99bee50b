//! The nearest centre of every row, iteration after iteration, with the sums of the rows of each cluster. At first every
//! row meets every centre in one fused pass. Once so few labels change that it should pay (a row that is met alone costs
//! more than one of a full pass, by much when k·dims is small), each row keeps how much nearer its centre is than any
//! other (Hamerly 2010): gap = second − nearest. While the centres of its cluster and the fastest of the others have moved
//! less than that in sum, the row cannot change and is not even read; the others are gathered into full tiles of the same
//! kernel. With many centres a few move much longer than the rest: rows whose bound holds against the rest meet only
//! those few. Bounds allow for rounding, so labels are those of the full pass. Once there are sums, with bounds and
//! without, only rows that change touch them. Rows that are left out keep their labels and are in no sum.
//! Cost: O(n) to look at the gaps plus O(k·dims) for each row that is met; memory 8 bytes a row.
//! Kept drifts are cumulative, so a row that is skipped is not written either.

use super::par::Pool;
use crate::data::{Dataset, Dense, Float, Matrix, Rows};
use crate::kernels::{Adds, Centres, Doubt, Measure, Sums};

/// Rows per task: a function of the problem alone; few enough tasks that their partial sums stay small.
fn rows_per_task(n: usize, k: usize, dims: usize) -> usize {
    let tasks = (64_000_000 / (8 * k * dims)).clamp(2, 64);
    n.div_ceil(tasks).max(2048)
}

/// Products of k and dims below which a row costs no more than a look at its gap.
const WORTH: usize = 64;
/// Cycles, from the times of single passes at 20 × 20: of a row in a full pass beside its distances, of a look at its gap, of a row that is met alone
/// (gathered, its second distance, its new gap); products of one register that a cycle makes.
const ROW: f64 = 10.0;
const LOOK: f64 = 8.0;
const ALONE: f64 = 70.0;
const PER_CYCLE: f64 = 2.0;
/// From this many centres on the distance to the own centre is tried before all others, then those that moved most.
const TIGHTEN_FROM: usize = 32;
/// One centre in this many counts as one that moved much.
const MOVERS: usize = 8;
/// Passes without bounds after bounds did not pay for the first time; twice as many after every time.
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
    /// Σ of the longest ways that any other centre went, and the last term.
    others: Vec<f64>,
    last: Vec<f64>,
    /// The ways of the last pass.
    ways: Vec<f64>,
    /// No pass had them yet, so that all rows are met.
    fresh: bool,
}

/// See the module.
pub(crate) struct Passes<'a, F> {
    data: &'a Dataset<'a, F>,
    /// The rows that are looked at, ascending; none: all.
    rows: Option<&'a [u32]>,
    /// Sums of these by nearest centre.
    pub(crate) sums: Sums,
    bounds: Option<Bounds>,
    /// Share of the rows that may be met before a full pass is cheaper; nothing when bounds are not for these data.
    pays: f64,
    /// Passes to go before bounds are tried, and how long to wait next time.
    pause: usize,
    patience: usize,
    first: bool,
    /// Are the sums those of the labels?
    current: bool,
    /// Rows that met all centres, over all passes.
    pub(crate) met: usize,
}

impl<'a, F: Float> Passes<'a, F> {
    pub(crate) fn new(data: &'a Dataset<'a, F>, rows: Option<&'a [u32]>, k: usize) -> Passes<'a, F> {
        let lanes = 32.0 / std::mem::size_of::<F>() as f64;
        let distances = (k * data.dims()) as f64 / (lanes * PER_CYCLE);
        let bounded = !data.is_sparse() && k * data.dims() >= WORTH && k > 1;
        let pays = if bounded { (distances + ROW - LOOK) / (distances + ALONE) } else { 0.0 };
        let sums = Sums::zeros(k, data.dims());
        Passes { data, rows, sums, bounds: None, pays, pause: 0, patience: PAUSE, first: true, current: false, met: 0 }
    }

    /// The same without bounds.
    #[cfg(test)]
    fn plain(mut self) -> Self {
        self.pays = 0.0;
        self
    }

    /// To be called when somebody else changed a label.
    pub(crate) fn forget(&mut self) {
        self.bounds = None;
        self.current = false;
    }

    /// Gives every row its nearest centre; how many got another one than in the last pass, all of them in the first.
    pub(crate) fn step(&mut self, pool: &Pool, centres: &Matrix, labels: &mut [u32]) -> usize {
        let n = self.rows.map_or(labels.len(), <[u32]>::len);
        let prepared = Centres::<F>::new(centres, self.data);
        let changed = match (self.bounds.take(), self.data.stored().0) {
            (Some(mut bounds), Rows::Dense(rows)) => {
                bounds.drift(centres);
                let (changed, met) = self.bounded(pool, rows, &prepared, &mut bounds, labels);
                self.met += met;
                if std::mem::take(&mut bounds.fresh) || met as f64 <= self.pays * n as f64 {
                    self.bounds = Some(bounds);
                } else {
                    self.pause = self.patience;
                    self.patience *= 2;
                }
                changed
            }
            _ => {
                self.met += n;
                self.full(pool, &prepared, labels)
            }
        };
        // Many times as many rows are met as change.
        let calm = !self.first && 8.0 * changed as f64 <= self.pays * self.pays * n as f64;
        if self.bounds.is_none() && self.pays > 0.0 && calm {
            if self.pause == 0 {
                self.bounds = Some(Bounds::new(labels.len(), self.rows, centres));
            }
            self.pause = self.pause.saturating_sub(1);
        }
        if std::mem::take(&mut self.first) { n } else { changed }
    }

    /// All rows meet all centres; the sums are made anew, or of the last ones and the rows that change.
    fn full(&mut self, pool: &Pool, prepared: &Centres<F>, labels: &mut [u32]) -> usize {
        let (k, dims) = (self.sums.weights.len(), self.data.dims());
        let adds = if self.current { Adds::Moves } else { Adds::All };
        let parts = pool.map_chunks_mut(labels, rows_per_task(self.data.n(), k, dims), |start, labels| {
            let mut sums = Sums::zeros(k, dims);
            let rows = self.rows.map(|rows| {
                let before = |end: usize| rows.partition_point(|&row| (row as usize) < end);
                &rows[before(start)..before(start + labels.len())]
            });
            let changed = prepared.assign(self.data, start, labels, rows, (adds, &mut sums));
            (sums, changed)
        });
        if adds == Adds::All {
            self.sums = Sums::zeros(k, dims);
        }
        parts.iter().for_each(|(sums, _)| self.sums.add(sums));
        self.settle_empty(labels);
        self.current = true;
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
        // Distances to the own centre are taken from stored values.
        let stored = data.stored().1.is_none();
        let movers = (k >= TIGHTEN_FROM && stored).then(|| Movers::new(data, &bounds.centres, &bounds.ways));
        let Bounds { rows: gaps, own, others, last, .. } = bounds;
        // Whoever is left out bears even this.
        let drifts = own.iter().zip(&*others).map(|(a, b)| up(a + b).min(f32::MAX)).collect();
        let pass = Pass { data, rows, prepared, doubt: prepared.doubt(), movers, own, others, last, drifts };
        let task = rows_per_task(data.n(), k, dims);
        let parts = pool
            .map_chunks_mut_2(labels, gaps, task, |start, labels, gaps| Task::new(&pass, start, labels, gaps).run());
        parts.iter().flat_map(|p| &p.0).for_each(|sums| self.sums.add(sums));
        self.settle_empty(labels);
        (parts.iter().map(|p| p.1).sum(), parts.iter().map(|p| p.2).sum())
    }

    /// Weights that are no whole numbers leave rounding behind in a cluster that became empty.
    fn settle_empty(&mut self, labels: &[u32]) {
        if self.data.weights().is_none() {
            return;
        }
        let total: f64 = self.sums.weights.iter().sum();
        let doubtful = |w: f64| w.abs() <= 1e-9 * total;
        if !self.sums.weights.iter().any(|&w| doubtful(w)) {
            return;
        }
        let mut rows = vec![0usize; self.sums.weights.len()];
        match self.rows {
            None => labels.iter().for_each(|&c| rows[c as usize] += 1),
            Some(some) => some.iter().for_each(|&row| rows[labels[row as usize] as usize] += 1),
        }
        for c in (0..rows.len()).filter(|&c| rows[c] == 0) {
            self.sums.weights[c] = 0.0;
            self.sums.values.row_mut(c).fill(0.0);
        }
    }
}

/// The few centres that moved most in the last pass.
struct Movers<F> {
    prepared: Centres<F>,
    doubt: Doubt,
    which: Vec<u32>,
    /// The longest way that any other went.
    rest: f64,
    /// All centres, for the distance to the own one.
    points: Vec<F>,
}

impl<F: Float> Movers<F> {
    fn new(data: &Dataset<'_, F>, centres: &Matrix, ways: &[f64]) -> Movers<F> {
        let mut order: Vec<u32> = (0..ways.len() as u32).collect();
        order.sort_by(|&a, &b| ways[b as usize].total_cmp(&ways[a as usize]));
        let count = (ways.len() / MOVERS).max(1);
        let mut points = Matrix::zeros(0, centres.cols());
        order[..count].iter().for_each(|&c| points.push(centres.row(c as usize)));
        let prepared = Centres::new(&points, data);
        Movers {
            doubt: prepared.doubt(),
            prepared,
            rest: order.get(count).map_or(0.0, |&c| ways[c as usize]) * MORE,
            which: order[..count].to_vec(),
            points: centres.values().iter().map(|&v| F::from_f64(v)).collect(),
        }
    }
}

/// A pass with bounds: what all its tasks see.
struct Pass<'a, F> {
    data: &'a Dataset<'a, F>,
    rows: Dense<'a, F>,
    prepared: &'a Centres<F>,
    doubt: Doubt,
    movers: Option<Movers<F>>,
    own: &'a [f64],
    others: &'a [f64],
    last: &'a [f64],
    /// How much a gap must exceed, by cluster.
    drifts: Vec<f32>,
}

/// A run of rows in a pass with bounds.
struct Task<'a, F> {
    pass: &'a Pass<'a, F>,
    start: usize,
    labels: &'a mut [u32],
    gaps: &'a mut [Gap],
    sums: Option<Sums>,
    changed: usize,
    met: usize,
    near: Vec<u32>,
    first: Vec<F>,
    second: Vec<F>,
    margins: Vec<f64>,
    seconds: Vec<f64>,
    /// Rows that their own centre does not settle: distance to it, bound against all that are no movers.
    doubtful: Vec<(u32, f64, f64)>,
    /// Rows that must meet every centre.
    open: Vec<u32>,
}

impl<'a, F: Float> Task<'a, F> {
    fn new(pass: &'a Pass<'a, F>, start: usize, labels: &'a mut [u32], gaps: &'a mut [Gap]) -> Task<'a, F> {
        // Two full lists may wait when a third comes in.
        let most = 3 * GATHER;
        let (near, first, second) = (vec![0; most], vec![F::default(); most], vec![F::default(); most]);
        let (margins, seconds) = (vec![0.0; most], vec![0.0; most]);
        let (doubtful, open) = (Vec::with_capacity(most), Vec::with_capacity(most));
        Task {
            pass,
            start,
            labels,
            gaps,
            sums: None,
            changed: 0,
            met: 0,
            near,
            first,
            second,
            margins,
            seconds,
            doubtful,
            open,
        }
    }

    /// What changed in the sums, labels changed, rows that met all centres.
    fn run(mut self) -> (Option<Sums>, usize, usize) {
        let mut list = vec![0u32; GATHER + 1];
        let mut i = 0;
        while i < self.labels.len() {
            let mut kept = 0;
            while kept < GATHER && i < self.labels.len() {
                // Written always, kept when the row must be looked at.
                list[kept] = (self.start + i) as u32;
                kept += usize::from(!(self.gaps[i].gap > self.pass.drifts[self.labels[i] as usize]));
                i += 1;
            }
            let ended = i == self.labels.len();
            match &self.pass.movers {
                None => self.open.extend_from_slice(&list[..kept]),
                Some(movers) => {
                    self.tighten(movers, &list[..kept]);
                    if self.doubtful.len() >= GATHER || ended {
                        self.ask(movers);
                    }
                }
            }
            if self.open.len() >= GATHER || ended {
                self.meet();
            }
        }
        (self.sums, self.changed, self.met)
    }

    /// A row keeps its label: how much it can bear from now on.
    fn stays(&mut self, row: u32, label: u32, margin: f64) {
        let c = label as usize;
        self.gaps[row as usize - self.start].gap = down(margin + self.pass.own[c] + self.pass.others[c]);
    }

    /// Tries the distance to the own centre.
    fn tighten(&mut self, movers: &Movers<F>, rows: &[u32]) {
        let (pass, count) = (self.pass, rows.len());
        for (near, &row) in self.near.iter_mut().zip(rows) {
            *near = self.labels[row as usize - self.start];
        }
        F::measure(Measure {
            values: pass.rows.values(),
            rows,
            points: &movers.points,
            labels: &self.near[..count],
            dims: pass.data.dims(),
            out: &mut self.first[..count],
        });
        for (at, &row) in rows.iter().enumerate() {
            let c = self.near[at] as usize;
            let nearest = self.first[at].to_f64().sqrt();
            let lower = f64::from(self.gaps[row as usize - self.start].lower) - pass.others[c];
            let margin = lower - nearest - pass.doubt.between(nearest, lower.max(nearest));
            if margin > 0.0 {
                self.stays(row, c as u32, margin);
                continue;
            }
            let rest = lower + pass.last[c] - movers.rest;
            if rest > nearest { self.doubtful.push((row, nearest, rest)) } else { self.open.push(row) }
        }
    }

    /// Tries the distances to the centres that moved most.
    fn ask(&mut self, movers: &Movers<F>) {
        let pass = self.pass;
        let doubtful = std::mem::take(&mut self.doubtful);
        let rows: Vec<u32> = doubtful.iter().map(|d| d.0).collect();
        let count = rows.len();
        let (near, first, second) = (&mut self.near[..count], &mut self.first[..count], &mut self.second[..count]);
        movers.prepared.two_nearest(pass.rows, &rows, near, first, second);
        for (at, &(row, nearest, rest)) in doubtful.iter().enumerate() {
            let label = self.labels[row as usize - self.start];
            let other = if movers.which[self.near[at] as usize] == label { self.second[at] } else { self.first[at] };
            let lower = rest.min(other.to_f64().sqrt());
            let second = lower.max(nearest);
            let doubt = pass.doubt.between(nearest, second).max(movers.doubt.between(nearest, second));
            let margin = lower - nearest - doubt;
            if margin > 0.0 {
                self.stays(row, label, margin);
                self.gaps[row as usize - self.start].lower = down(lower + pass.others[label as usize]);
            } else {
                self.open.push(row);
            }
        }
    }

    /// All that are open meet every centre.
    fn meet(&mut self) {
        let (pass, open) = (self.pass, std::mem::take(&mut self.open));
        let count = open.len();
        let (near, first, second) = (&mut self.near[..count], &mut self.first[..count], &mut self.second[..count]);
        pass.prepared.two_nearest(pass.rows, &open, near, first, second);
        pass.doubt.margins(first, second, &mut self.margins, &mut self.seconds);
        self.met += count;
        for (at, &row) in open.iter().enumerate() {
            let (local, c) = (row as usize - self.start, self.near[at] as usize);
            let margin = self.margins[at];
            let gap = if margin > 0.0 { down(margin + pass.own[c] + pass.others[c]) } else { f32::NEG_INFINITY };
            self.gaps[local] = Gap { gap, lower: down(self.seconds[at] + pass.others[c]) };
            let old = std::mem::replace(&mut self.labels[local], c as u32) as usize;
            if old != c {
                self.changed += 1;
                let sums = self.sums.get_or_insert_with(|| Sums::zeros(pass.own.len(), pass.data.dims()));
                sums.carry(pass.data, row as usize, pass.data.weight(row as usize), (old, c));
            }
        }
    }
}

/// A little more than the truth, against rounding.
const MORE: f64 = 1.0 + 1e-9;

impl Bounds {
    fn new(n: usize, looked_at: Option<&[u32]>, centres: &Matrix) -> Bounds {
        let none = vec![0.0; centres.rows()];
        let unknown = Gap { gap: f32::NEG_INFINITY, lower: f32::NEG_INFINITY };
        let mut rows = vec![unknown; n];
        if let Some(looked_at) = looked_at {
            rows.fill(Gap { gap: f32::INFINITY, ..unknown });
            looked_at.iter().for_each(|&row| rows[row as usize] = unknown);
        }
        let (own, others, last) = (none.clone(), none.clone(), none.clone());
        Bounds { rows, centres: centres.clone(), own, others, last, ways: none, fresh: true }
    }

    /// Takes note of where the centres went.
    fn drift(&mut self, centres: &Matrix) {
        let way = |(a, b): (&[f64], &[f64])| a.iter().zip(b).map(|(a, b)| (a - b).powi(2)).sum::<f64>().sqrt();
        self.ways = self.centres.iter().zip(centres.iter()).map(way).collect();
        let (mut most, mut next, mut at) = (0.0, 0.0, usize::MAX);
        for (c, &way) in self.ways.iter().enumerate() {
            if way > most {
                (next, most, at) = (most, way, c);
            } else if way > next {
                next = way;
            }
        }
        for c in 0..self.ways.len() {
            self.own[c] += self.ways[c] * MORE;
            self.last[c] = if c == at { next } else { most } * MORE;
            self.others[c] += self.last[c];
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
    use crate::data::Scale;
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
        let (shift, factor) = (vec![offset; dims], (0..dims).map(|j| 0.5 + j as f64 / 7.0).collect::<Vec<f64>>());
        if let Some(weights) = weights {
            data = data.with_weights(&weights[..n]).unwrap();
        } else if offset > 100.0 {
            data = data.on_scale(Scale { shift: &shift, factor: &factor });
        }
        let mut centres = Matrix::zeros(0, dims);
        for row in rng.sample(n, k) {
            let mut point = vec![0.0; dims];
            data.add_row(row, 1.0, &mut point);
            centres.push(&point);
        }
        // With weights, and at one offset, a fifth of the rows is left out.
        let some: Vec<u32> = (0..n as u32).filter(|i| i % 5 != 2).collect();
        let rows = (weights.is_some() || offset == 50.0).then_some(&some[..]);
        let (mut a, mut b) = (Passes::new(&data, rows, k), Passes::new(&data, rows, k).plain());
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
        assert_eq!(b.met % rows.map_or(n, <[u32]>::len), 0);
        assert!((0..n as u32).all(|i| rows.is_none_or(|r| r.contains(&i)) || labels[i as usize] == 0));
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
            compare::<f32>(3000, 40, 40, 30.0, None),
            compare::<f32>(5000, 40, 40, 50.0, None),
            compare::<f32>(5000, 20, 12, 1000.0, None),
        ];
        assert!(skipped.iter().all(|&s| s > 10), "{skipped:?} % skipped");
    }

    #[test]
    fn a_label_changed_from_outside_is_seen_after_forget() {
        let values: Vec<f64> = (0..600).map(|i| (i % 30) as f64).collect();
        let data = Dataset::dense(&values, 20).unwrap();
        let mut centres = Matrix::from_vec(20, values[..20 * 5].to_vec());
        let pool = Pool::new(1);
        let (mut passes, mut labels) = (Passes::new(&data, None, 5), vec![0; 30]);
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
