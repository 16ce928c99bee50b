//! Starting centres. k-means++ over units (Arthur & Vassilvitskii 2007; with must-links Jia et al., Algorithm 1): a unit
//! is drawn with probability ∝ w·D²(mean) + scatter and its mean becomes the centre; the first draw is ∝ w.
//! Greedy form: best of 2 + ⌊ln k⌋ draws. Above `SAMPLE` free rows the draws are made from a uniform sample of them
//! (all bound units stay in), so that seeding costs less than an iteration.

use super::par::Pool;
use super::units::{FREE, Units};
use crate::constraints::Chunklets;
use crate::data::{Dataset, Float, Matrix};
use crate::rng::Rng;

/// Free rows that k-means++ looks at.
pub const SAMPLE: usize = 1 << 16;

/// A place that can become a centre.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Candidate {
    Row(u32),
    Unit(u32),
}

/// The candidates with what D² sampling needs of each.
struct Candidates<'a, 'b, F> {
    units: &'a Units<'b, F>,
    all: Vec<Candidate>,
    weight: Vec<f64>,
    scatter: Vec<f64>,
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
        let m = units.bound();
        let all: Vec<Candidate> =
            (0..m as u32).map(Candidate::Unit).chain(free.iter().map(|&r| Candidate::Row(r))).collect();
        let weight = units
            .weight
            .iter()
            .copied()
            .chain(free.iter().map(|&r| stands_for * units.data.weight(r as usize)))
            .collect();
        let scatter = units.scatter.iter().copied().chain(free.iter().map(|_| 0.0)).collect();
        Candidates { units, all, weight, scatter }
    }

    fn point(&self, at: usize) -> Vec<f64> {
        let mut point = vec![0.0; self.units.data.dims()];
        match self.all[at] {
            Candidate::Row(r) => self.units.data.add_row(r as usize, 1.0, &mut point),
            Candidate::Unit(u) => self.units.points().add_row(u as usize, 1.0, &mut point),
        }
        point
    }

    /// min(nearest, ‖candidate − point‖²) for every candidate.
    fn shrunk(&self, pool: &Pool, nearest: &[f64], point: &[f64]) -> Vec<f64> {
        let mut out = nearest.to_vec();
        let points = self.units.points();
        pool.map_chunks_mut(&mut out, 8192, |start, slice| {
            for (d, candidate) in slice.iter_mut().zip(&self.all[start..]) {
                let distance = match *candidate {
                    Candidate::Row(r) => self.units.data.distance2(r as usize, point),
                    Candidate::Unit(u) => points.distance2(u as usize, point),
                };
                *d = d.min(distance);
            }
        });
        out
    }

    /// w·D² + scatter.
    fn masses(&self, nearest: &[f64]) -> Vec<f64> {
        nearest.iter().zip(&self.weight).zip(&self.scatter).map(|((d, w), s)| d * w + s).collect()
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
    let mut nearest = vec![f64::INFINITY; candidates.all.len()];
    if centres.rows() == 0 {
        let first = rng.weighted(&candidates.weight).unwrap_or(0);
        centres.push(&candidates.point(first));
    }
    for c in 0..centres.rows() {
        nearest = candidates.shrunk(pool, &nearest, centres.row(c));
    }
    let trials = if greedy { 2 + (k as f64).ln() as usize } else { 1 };
    while centres.rows() < k {
        let masses = candidates.masses(&nearest);
        let mut best: Option<(f64, Vec<f64>, Vec<f64>)> = None;
        for _ in 0..trials {
            // All on a centre already: any unit will do.
            let at = rng.weighted(&masses).unwrap_or_else(|| rng.below(candidates.all.len()));
            let point = candidates.point(at);
            let shrunk = candidates.shrunk(pool, &nearest, &point);
            let potential: f64 = shrunk.iter().zip(&candidates.weight).map(|(d, w)| d * w).sum();
            if best.as_ref().is_none_or(|(p, ..)| potential < *p) {
                best = Some((potential, point, shrunk));
            }
        }
        if let Some((_, point, shrunk)) = best {
            centres.push(&point);
            nearest = shrunk;
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
