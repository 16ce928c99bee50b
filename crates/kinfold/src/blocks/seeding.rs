//! Starting centres. k-means++ over units (Arthur & Vassilvitskii 2007; with must-links Jia et al., Algorithm 1): a unit
//! is drawn with probability ∝ w·D²(mean) + scatter and its mean becomes the centre; the first draw is ∝ w.
//! Greedy form: best of 2 + ⌊ln k⌋ draws. Above `SAMPLE` free rows the draws are made from a uniform sample of them
//! (all bound units stay in), so that seeding costs less than an iteration.

use super::par::Pool;
use super::units::{FREE, Units};
use crate::constraints::Chunklets;
use crate::data::{Dataset, Float, Matrix, Rows};
use crate::kernels::Centres;
use crate::rng::Rng;

/// Free rows that k-means++ looks at.
pub const SAMPLE: usize = 1 << 16;

/// Candidates that one task looks at.
const TASK: usize = 8192;

/// The places that can become a centre (bound units, then free rows) with what D² sampling needs of each.
struct Candidates<'a, 'b, F> {
    units: &'a Units<'b, F>,
    bound: Vec<u32>,
    free: Vec<u32>,
    weight: Vec<f64>,
    scatter: Vec<f64>,
}

/// One drawn point: Σ w·D² with it, and D² of every candidate in the order of the tasks.
struct Draw {
    potential: f64,
    nearest: Vec<f64>,
}

impl<'a, 'b, F: Float> Candidates<'a, 'b, F> {
    fn new(units: &'a Units<'b, F>, rng: &mut Rng) -> Self {
        let n = units.data.n();
        let free: Vec<u32> = if n <= SAMPLE {
            (0..n as u32).filter(|&row| units.unit_of(row as usize) == FREE).collect()
        } else {
            let mut rows: Vec<u32> = rng.sample(n, SAMPLE).into_iter().map(|r| r as u32).collect();
            rows.sort_unstable();
            rows.retain(|&row| units.unit_of(row as usize) == FREE);
            rows
        };
        // A sampled free row stands for several.
        let stands_for = if n <= SAMPLE { 1.0 } else { units.free() as f64 / (free.len().max(1)) as f64 };
        let weight = units
            .weight
            .iter()
            .copied()
            .chain(free.iter().map(|&r| stands_for * units.data.weight(r as usize)))
            .collect();
        let scatter = units.scatter.iter().copied().chain(free.iter().map(|_| 0.0)).collect();
        Candidates { units, bound: (0..units.bound() as u32).collect(), free, weight, scatter }
    }

    fn len(&self) -> usize {
        self.weight.len()
    }

    fn point(&self, at: usize) -> Vec<f64> {
        let mut point = vec![0.0; self.units.data.dims()];
        match at.checked_sub(self.bound.len()) {
            Some(at) => self.units.data.add_row(self.free[at] as usize, 1.0, &mut point),
            None => self.units.points().add_row(at, 1.0, &mut point),
        }
        point
    }

    /// For each of the points, min(nearest, ‖candidate − point‖²) of every candidate and what that sums up to.
    fn shrunk(&self, pool: &Pool, nearest: &[f64], points: &Matrix) -> Vec<Draw> {
        let own = self.units.points();
        let of_units = Centres::<F>::exact(points, &own);
        let of_rows = Centres::<F>::exact(points, self.units.data);
        let bound = self.bound.len();
        let parts = pool.map_chunks(self.len(), TASK, |range| {
            let mut distances = vec![0.0; points.rows() * range.len()];
            let units = &self.bound[range.start.min(bound)..range.end.min(bound)];
            let rows = &self.free[range.start.max(bound) - bound..range.end.max(bound) - bound];
            distances_to(&own, &of_units, points, units, &mut distances, 0, range.len());
            distances_to(self.units.data, &of_rows, points, rows, &mut distances, units.len(), range.len());
            let (nearest, weight) = (&nearest[range.clone()], &self.weight[range.clone()]);
            let potentials: Vec<f64> = distances
                .chunks_exact_mut(range.len())
                .map(|list| {
                    let mut potential = 0.0;
                    for ((d, near), w) in list.iter_mut().zip(nearest).zip(weight) {
                        *d = d.min(*near);
                        potential += *d * w;
                    }
                    potential
                })
                .collect();
            (potentials, distances)
        });
        (0..points.rows())
            .map(|p| {
                let of = |d: &(Vec<f64>, Vec<f64>)| d.1.len() / points.rows();
                let nearest = parts.iter().flat_map(|d| &d.1[p * of(d)..(p + 1) * of(d)]).copied().collect();
                Draw { potential: parts.iter().map(|d| d.0[p]).sum(), nearest }
            })
            .collect()
    }

    /// w·D² + scatter.
    fn masses(&self, nearest: &[f64]) -> Vec<f64> {
        nearest.iter().zip(&self.weight).zip(&self.scatter).map(|((d, w), s)| d * w + s).collect()
    }
}

/// Writes the squared distances of some rows to every point: out[point · stride + from + i] for row i.
fn distances_to<F: Float>(
    data: &Dataset<'_, F>,
    prepared: &Centres<F>,
    points: &Matrix,
    rows: &[u32],
    out: &mut [f64],
    from: usize,
    stride: usize,
) {
    if rows.is_empty() {
        return;
    }
    if let Rows::Dense(dense) = data.stored().0 {
        let mut all = vec![F::default(); points.rows() * rows.len()];
        prepared.distances(dense, rows, &mut all);
        for (out, list) in out.chunks_exact_mut(stride).zip(all.chunks_exact(rows.len())) {
            out[from..from + rows.len()].iter_mut().zip(list).for_each(|(o, d)| *o = d.to_f64());
        }
        return;
    }
    for (out, point) in out.chunks_exact_mut(stride).zip(points.iter()) {
        out[from..].iter_mut().zip(rows).for_each(|(o, &row)| *o = data.distance2(row as usize, point));
    }
}

/// Draws centres until there are `k`; those in `chosen` (means of units picked by the caller) come first.
pub fn kmeans_plus_plus<F: Float>(
    pool: &Pool,
    units: &Units<'_, F>,
    k: usize,
    chosen: Matrix,
    greedy: bool,
    rng: &mut Rng,
) -> Matrix {
    let candidates = Candidates::new(units, rng);
    let mut centres = chosen;
    let mut nearest = vec![f64::INFINITY; candidates.len()];
    if centres.rows() == 0 {
        let first = rng.weighted(&candidates.weight).unwrap_or(0);
        centres.push(&candidates.point(first));
    }
    for draw in candidates.shrunk(pool, &nearest, &centres) {
        nearest.iter_mut().zip(draw.nearest).for_each(|(a, b)| *a = a.min(b));
    }
    let trials = if greedy { 2 + (k as f64).ln() as usize } else { 1 };
    while centres.rows() < k {
        let masses = candidates.masses(&nearest);
        let mut points = Matrix::zeros(0, centres.cols());
        for _ in 0..trials {
            // All on a centre already: any unit will do.
            let at = rng.weighted(&masses).unwrap_or_else(|| rng.below(candidates.len()));
            points.push(&candidates.point(at));
        }
        let draws = candidates.shrunk(pool, &nearest, &points).into_iter().enumerate();
        if let Some((at, best)) = draws.reduce(|a, b| if b.1.potential < a.1.potential { b } else { a }) {
            centres.push(points.row(at));
            nearest = best.nearest;
        }
    }
    centres
}

crate::choice! {
    /// Where the first centres come from.
    pub enum Init {
        /// D² sampling, best of a few draws each.
        GreedyKmeansPlusPlus = "greedy-kmeans++",
        /// D² sampling.
        KmeansPlusPlus = "kmeans++",
        /// Rows drawn uniformly.
        Random = "random",
    }
}

impl Init {
    /// Draws `k` centres.
    pub fn draw<F: Float>(self, pool: &Pool, units: &Units<'_, F>, k: usize, rng: &mut Rng) -> Matrix {
        let none = Matrix::zeros(0, units.data.dims());
        match self {
            Init::GreedyKmeansPlusPlus => kmeans_plus_plus(pool, units, k, none, true, rng),
            Init::KmeansPlusPlus => kmeans_plus_plus(pool, units, k, none, false, rng),
            Init::Random => random_rows(units, k, rng),
        }
    }
}

crate::choice! {
    /// Where the first centres come from in methods that begin with neighbourhoods.
    pub enum Start {
        /// Neighbourhoods in the first start, D² sampling in the others.
        Both = "both",
        /// Means of chunklets, D² sampling for the rest, as in the papers.
        Neighbourhoods = "neighbourhoods",
        /// D² sampling, best of a few draws each.
        GreedyKmeansPlusPlus = "greedy-kmeans++",
    }
}

impl Start {
    /// Does restart r begin with neighbourhoods?
    pub fn neighbourhoods(self, r: u64) -> bool {
        self == Start::Neighbourhoods || (self == Start::Both && r == 0)
    }
}

/// The means of chunklets of two rows or more that must all be apart: a heavy one, then greedily the heaviest that is
/// cannot-linked to all so far. `random`: the first is drawn ∝ weight², else it is the heaviest. Empty without any.
pub fn heavy_and_apart<F: Float>(units: &Units<'_, F>, k: usize, random: bool, rng: &mut Rng) -> Matrix {
    let mut centres = Matrix::zeros(0, units.data.dims());
    let several = |u: usize| units.members(u).len() > 1;
    let heaviest =
        |of: &[usize]| of.iter().copied().max_by(|&a, &b| units.weight[a].total_cmp(&units.weight[b]).then(b.cmp(&a)));
    let all: Vec<usize> = (0..units.bound()).filter(|&u| several(u)).collect();
    let first = if random {
        let squares: Vec<f64> = all.iter().map(|&u| units.weight[u] * units.weight[u]).collect();
        rng.weighted(&squares).map(|at| all[at])
    } else {
        heaviest(&all)
    };
    let Some(first) = first else { return centres };
    let mut candidates: Vec<usize> =
        units.graph.neighbours(first as u32).iter().map(|&u| u as usize).filter(|&u| several(u)).collect();
    let mut next = Some(first);
    while let Some(unit) = next.filter(|_| centres.rows() < k) {
        let mut point = vec![0.0; units.data.dims()];
        units.points().add_row(unit, 1.0, &mut point);
        centres.push(&point);
        candidates.retain(|&u| units.graph.has_edge(unit as u32, u as u32));
        next = heaviest(&candidates);
    }
    centres
}

/// Means of neighbourhoods (chunklets of two rows or more), k at most (Basu, Banerjee, Mooney 2004): the largest, or with
/// `spread` the largest and then whichever has the greatest size × distance to the nearest chosen one. With fewer than k
/// neighbourhoods, the first row that is cannot-linked to all of them follows.
pub fn neighbourhoods<F: Float>(data: &Dataset<'_, F>, chunklets: &Chunklets, k: usize, spread: bool) -> Matrix {
    let mut found: Vec<u32> = (0..chunklets.len() as u32).filter(|&c| chunklets.members(c).len() > 1).collect();
    found.sort_by_key(|&c| std::cmp::Reverse(chunklets.members(c).len()));
    let mean = |c: u32| {
        let members = chunklets.members(c);
        let total: f64 = members.iter().map(|&row| data.weight(row as usize)).sum();
        let mut mean = vec![0.0; data.dims()];
        members.iter().for_each(|&row| data.add_row(row as usize, data.weight(row as usize) / total, &mut mean));
        mean
    };
    let mut centres = Matrix::zeros(0, data.dims());
    if found.len() <= k || !spread {
        found.iter().take(k).for_each(|&c| centres.push(&mean(c)));
    } else {
        let means: Vec<Vec<f64>> = found.iter().map(|&c| mean(c)).collect();
        let mut nearest = vec![f64::INFINITY; means.len()];
        let mut next = 0;
        while centres.rows() < k {
            centres.push(&means[next]);
            for (near, m) in nearest.iter_mut().zip(&means) {
                let d2: f64 = m.iter().zip(&means[next]).map(|(x, y)| (x - y) * (x - y)).sum();
                *near = near.min(d2.sqrt());
            }
            let far = |i: usize| chunklets.members(found[i]).len() as f64 * nearest[i];
            next = (0..means.len()).fold(0, |best, i| if far(i) > far(best) { i } else { best });
        }
    }
    if (1..k).contains(&found.len()) {
        let graph = chunklets.graph();
        let apart = |c: &u32| found.iter().all(|&f| graph.has_edge(*c, f));
        if let Some(c) = (0..chunklets.len() as u32).filter(|&c| chunklets.members(c).len() == 1).find(apart) {
            centres.push(&mean(c));
        }
    }
    centres
}

/// k distinct rows, uniformly.
pub fn random_rows<F: Float>(units: &Units<'_, F>, k: usize, rng: &mut Rng) -> Matrix {
    let mut centres = Matrix::zeros(0, units.data.dims());
    for row in rng.sample(units.data.n(), k) {
        let mut point = vec![0.0; units.data.dims()];
        units.data.add_row(row, 1.0, &mut point);
        centres.push(&point);
    }
    centres
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::constraints::{ConstraintSet, Kind};

    #[test]
    fn far_groups_each_get_a_centre_and_duplicates_do_not_hang() {
        let rows = [0.0, 0.1, 100.0, 100.1, -100.0, -100.1];
        let data = Dataset::dense(&rows, 1).unwrap();
        let chunklets = Chunklets::singletons(6);
        let units = Units::new(&data, &chunklets);
        for seed in 0..20 {
            let mut rng = Rng::stream(seed, "test", 0);
            let c = kmeans_plus_plus(&Pool::new(1), &units, 3, Matrix::zeros(0, 1), true, &mut rng);
            let mut signs: Vec<i32> = c.values().iter().map(|v| (v / 50.0).round() as i32).collect();
            signs.sort_unstable();
            assert_eq!(signs, [-2, 0, 2]);
        }
        let same = [1.0; 6];
        let data = Dataset::dense(&same, 1).unwrap();
        let units = Units::new(&data, &chunklets);
        let c = kmeans_plus_plus(&Pool::new(1), &units, 3, Matrix::zeros(0, 1), true, &mut Rng::stream(0, "test", 0));
        assert_eq!(c.rows(), 3);
    }

    #[test]
    fn distances_shrink_as_they_should_over_several_tasks_of_units_and_rows() {
        let mut rng = Rng::stream(5, "test", 0);
        let (n, dims) = (3 * TASK, 3);
        let values: Vec<f32> = (0..n * dims).map(|_| rng.normal() as f32).collect();
        let data = Dataset::dense(&values, dims).unwrap();
        for pairs in [0, 10, TASK + 7] {
            let mut given = ConstraintSet::new(n);
            (0..pairs).for_each(|i| drop(given.add_pair(Kind::MustLink, 2 * i, 2 * i + 1)));
            let chunklets = given.close().unwrap();
            let units = Units::new(&data, &chunklets);
            let candidates = Candidates::new(&units, &mut rng);
            let points = Matrix::from_vec(dims, (0..2 * dims).map(|_| rng.normal()).collect());
            let before: Vec<f64> = (0..candidates.len()).map(|i| (i % 5) as f64).collect();
            for (draw, point) in candidates.shrunk(&Pool::new(2), &before, &points).iter().zip(points.iter()) {
                let mut potential = 0.0;
                for (at, (&found, &before)) in draw.nearest.iter().zip(&before).enumerate() {
                    let own = candidates.point(at);
                    let d2: f64 = own.iter().zip(point).map(|(x, y)| (x - y) * (x - y)).sum();
                    assert!((found - d2.min(before)).abs() < 1e-4);
                    potential += found * candidates.weight[at];
                }
                assert_eq!(draw.nearest.len(), candidates.len());
                assert!((potential - draw.potential).abs() < 1e-9 * potential);
            }
        }
    }

    #[test]
    fn neighbourhoods_come_largest_first_or_spread_out_and_a_row_apart_from_all_follows() {
        let rows = [0.0, 0.0, 0.0, 1.0, 1.0, 50.0, 50.0, 9.0];
        let data = Dataset::dense(&rows, 1).unwrap();
        let mut given = ConstraintSet::new(8);
        for (a, b) in [(0, 1), (1, 2), (3, 4), (5, 6)] {
            given.add_pair(Kind::MustLink, a, b).unwrap();
        }
        for other in [2, 4, 6] {
            given.add_pair(Kind::CannotLink, 7, other).unwrap();
        }
        let chunklets = given.close().unwrap();
        let start = |k, spread| neighbourhoods(&data, &chunklets, k, spread).values().to_vec();
        assert_eq!(start(2, false), [0.0, 1.0]);
        assert_eq!(start(2, true), [0.0, 50.0]);
        assert_eq!(start(5, false), [0.0, 1.0, 50.0, 9.0]);
        assert_eq!(start(3, true).len(), 3);
    }
}
