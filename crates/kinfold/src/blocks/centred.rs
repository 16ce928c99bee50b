//! Points with movable centres, for methods that place points one by one in an order of their own: nearest centre of
//! every point in one fused parallel pass, nearest two for some or all (eight at a time, one lane each), means with empty
//! clusters left where they were. Rows (dense or sparse, O(n·k·dims) a pass, O(moves·dims) to move the centres; few dense
//! rows are kept in lanes) or a kernel matrix (O(n·k) a pass, O(moves·n)); both give squared distances, with K_ii, so
//! that two points can be compared.

use super::kernel::{Gram, Space};
use super::kernel_kmeans::{Clusters, Feature, Init, Move, draw, next_seed};
use super::par::Pool;
use super::seeding;
use super::tiles::Tiles;
use super::units::Units;
use crate::constraints::Chunklets;
use crate::data::{Dataset, Float, Matrix, Rows};
use crate::kernels::two_nearest::{Eight, LANES, Lanes, gather, two_nearest, two_smallest, two_smallest_of_sums};
use crate::kernels::{Centres, Sums};
use crate::rng::Rng;

/// The two nearest centres of a point. With one centre there is no second: it repeats the first at infinity.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Near {
    /// Nearest centre.
    pub first: u32,
    /// Second nearest.
    pub second: u32,
    /// Squared distance to the nearest.
    pub first_d2: f64,
    /// Squared distance to the second.
    pub second_d2: f64,
}

impl Near {
    /// Writes what was found for the first points of some lanes.
    fn spread(found: &Lanes, out: &mut [Near]) {
        for (lane, near) in out.iter_mut().enumerate().take(LANES) {
            *near = Near {
                first: found.first[lane],
                second: found.second[lane],
                first_d2: found.first_d2[lane],
                second_d2: found.second_d2[lane],
            };
        }
    }

    fn scan(distances: impl Iterator<Item = f64>) -> Near {
        let mut near = Near { first_d2: f64::INFINITY, second_d2: f64::INFINITY, ..Near::default() };
        for (c, d) in distances.enumerate() {
            if d < near.first_d2 {
                near = Near { first: c as u32, second: near.first, first_d2: d, second_d2: near.first_d2 };
            } else if d < near.second_d2 {
                (near.second, near.second_d2) = (c as u32, d);
            }
        }
        near
    }
}

/// Points and their current centres.
pub trait Centred {
    /// Number of points.
    fn len(&self) -> usize;
    /// No points at all?
    fn is_empty(&self) -> bool {
        self.len() == 0
    }
    /// Weight of a point.
    fn weight(&self, i: usize) -> f64;
    /// Draws k points and puts the centres there.
    fn seed(&mut self, pool: &Pool, k: usize, init: Init, rng: &mut Rng);
    /// Puts the centres where they were drawn last.
    fn back_to_seeds(&mut self);
    /// The nearest centre of every point and its squared distance.
    fn nearest(&self, pool: &Pool, labels: &mut [u32], distances: &mut [f64]);
    /// The two nearest centres of some points.
    fn two_nearest(&self, pool: &Pool, points: &[u32], out: &mut [Near]);
    /// The two nearest centres of every point.
    fn two_nearest_of_all(&self, pool: &Pool, out: &mut [Near]);
    /// Squared distance of a point to a centre.
    fn distance2(&self, i: usize, centre: usize) -> f64;
    /// Squared length of a point, K_ii.
    fn length2(&self, i: usize) -> f64;
    /// Centres to the means of a labelling; those of empty clusters stay. The total weights of the clusters.
    fn update(&mut self, pool: &Pool, labels: &[u32]) -> Vec<f64>;
    /// Puts one centre on a point.
    fn put(&mut self, centre: usize, i: usize);
}

/// The points of a space with centres to come.
pub fn centred<'a, F: Float>(space: &'a Space<'_, F>) -> Box<dyn Centred + 'a> {
    let none = || Tiles::zeros(0, 0);
    match (space, space.rows()) {
        (Space::Gram(gram), _) => {
            Box::new(GramCentres { gram, distances: none(), seeds: none(), clusters: None, factors: None })
        }
        (_, Some(data)) => Box::new(RowCentres::new(data)),
        (_, None) => unreachable!("a space is rows or a matrix"),
    }
}

/// Rows and centres among them.
struct RowCentres<'a, F> {
    data: Dataset<'a, F>,
    centres: Matrix,
    seeds: Matrix,
    /// dims × k, for sparse rows.
    transposed: Matrix,
    /// The rows in lanes, where they are few, dims entries for every eight.
    lanes: Vec<Eight>,
    /// Sums of the last labelling, `NOWHERE` for rows that are not in them.
    sums: Sums,
    labels: Vec<u32>,
}

/// Values up to which rows are kept in lanes as well: they stay in the cache of a core.
const FEW: usize = 1 << 17;
const NOWHERE: u32 = u32::MAX;

/// Starting centres among rows.
pub fn seed_rows<F: Float>(pool: &Pool, data: &Dataset<'_, F>, k: usize, init: Init, rng: &mut Rng) -> Matrix {
    match init {
        Init::KmeansPlusPlus => {
            let alone = Chunklets::singletons(data.n());
            let units = Units::new(data, &alone);
            seeding::kmeans_plus_plus(pool, &units, k, Matrix::zeros(0, data.dims()), false, rng)
        }
        Init::FarthestFirst => {
            let mut centres = Matrix::zeros(0, data.dims());
            let mut nearest = vec![f64::INFINITY; data.n()];
            let mut chosen = vec![rng.below(data.n()) as u32];
            loop {
                let mut point = vec![0.0; data.dims()];
                data.add_row(chosen[chosen.len() - 1] as usize, 1.0, &mut point);
                centres.push(&point);
                if centres.rows() == k {
                    return centres;
                }
                pool.map_chunks_mut(&mut nearest, 8192, |start, slice| {
                    slice.iter_mut().enumerate().for_each(|(i, d)| *d = d.min(data.distance2(start + i, &point)));
                });
                chosen.push(next_seed(&nearest, &[], &chosen, init, rng));
            }
        }
    }
}

const BLOCK: usize = 256;
const ROWS_PER_TASK: usize = 2048;

impl<'a, F: Float> RowCentres<'a, F> {
    fn new(data: Dataset<'a, F>) -> RowCentres<'a, F> {
        let (n, dims) = (data.n(), data.dims());
        let lanes = match data.rows() {
            Rows::Dense(d) if n * dims <= FEW => {
                let mut lanes = vec![Eight::default(); n.div_ceil(LANES) * dims];
                let rows: Vec<&[F]> = (0..n).map(|i| d.row(i)).collect();
                lanes.chunks_exact_mut(dims).zip(rows.chunks(LANES)).for_each(|(lanes, rows)| gather(rows, lanes));
                lanes
            }
            _ => Vec::new(),
        };
        let (sums, labels) = (Sums::zeros(0, dims), vec![NOWHERE; n]);
        let none = Matrix::default;
        RowCentres { data, centres: none(), seeds: none(), transposed: none(), lanes, sums, labels }
    }

    fn moved(&mut self) {
        if self.data.is_sparse() {
            self.transposed = self.centres.transposed();
        }
    }
}

impl<F: Float> Centred for RowCentres<'_, F> {
    fn len(&self) -> usize {
        self.data.n()
    }
    fn weight(&self, i: usize) -> f64 {
        self.data.weight(i)
    }
    fn seed(&mut self, pool: &Pool, k: usize, init: Init, rng: &mut Rng) {
        self.seeds = seed_rows(pool, &self.data, k, init, rng);
        self.back_to_seeds();
    }
    fn back_to_seeds(&mut self) {
        self.centres = self.seeds.clone();
        self.moved();
    }
    fn nearest(&self, pool: &Pool, labels: &mut [u32], distances: &mut [f64]) {
        let prepared = Centres::<F>::new(&self.centres, &self.data);
        let parts = pool.map_chunks_mut(labels, 4096, |start, labels| {
            let mut found = Vec::with_capacity(labels.len());
            let mut near = [F::default(); BLOCK];
            for (b, block) in labels.chunks_mut(BLOCK).enumerate() {
                let near = &mut near[..block.len()];
                prepared.nearest(&self.data, start + b * BLOCK, block, near);
                found.extend(near.iter().map(|d| d.to_f64()));
            }
            found
        });
        let mut at = 0;
        for part in parts {
            distances[at..at + part.len()].copy_from_slice(&part);
            at += part.len();
        }
    }
    fn two_nearest(&self, pool: &Pool, points: &[u32], out: &mut [Near]) {
        let norms: Vec<f64> = self.centres.iter().map(|c| c.iter().map(|v| v * v).sum()).collect();
        pool.map_chunks_mut(out, 1024, |start, slice| match self.data.rows() {
            Rows::Dense(d) => {
                let mut buffer = vec![Eight::default(); d.dims()];
                for (b, out) in slice.chunks_mut(LANES).enumerate() {
                    let first = start + b * LANES;
                    let mut rows: [&[F]; LANES] = [&[]; LANES];
                    for (row, &i) in rows.iter_mut().zip(&points[first..first + out.len()]) {
                        *row = d.row(i as usize);
                    }
                    gather(&rows[..out.len()], &mut buffer);
                    Near::spread(&two_nearest(&self.centres, &buffer), out);
                }
            }
            Rows::Sparse(s) => {
                let mut scores = vec![0.0; norms.len()];
                for (near, &i) in slice.iter_mut().zip(&points[start..]) {
                    let (columns, values) = s.row(i as usize);
                    scores.copy_from_slice(&norms);
                    let mut own = 0.0;
                    for (&j, v) in columns.iter().zip(values) {
                        let v = v.to_f64();
                        own += v * v;
                        let centre = self.transposed.row(j as usize);
                        scores.iter_mut().zip(centre).for_each(|(s, c)| *s -= 2.0 * v * c);
                    }
                    *near = Near::scan(scores.iter().map(|s| (s + own).max(0.0)));
                }
            }
        });
    }
    fn two_nearest_of_all(&self, pool: &Pool, out: &mut [Near]) {
        if self.lanes.is_empty() {
            let all: Vec<u32> = (0..self.data.n() as u32).collect();
            return self.two_nearest(pool, &all, out);
        }
        for (lanes, out) in self.lanes.chunks_exact(self.data.dims()).zip(out.chunks_mut(LANES)) {
            Near::spread(&two_nearest(&self.centres, lanes), out);
        }
    }
    fn distance2(&self, i: usize, centre: usize) -> f64 {
        self.data.distance2(i, self.centres.row(centre))
    }
    fn length2(&self, i: usize) -> f64 {
        self.data.distance2(i, &vec![0.0; self.data.dims()])
    }
    fn update(&mut self, pool: &Pool, labels: &[u32]) -> Vec<f64> {
        let (k, dims, data) = (self.centres.rows(), self.centres.cols(), &self.data);
        let changed = self.labels.iter().zip(labels).filter(|(was, is)| was != is).count();
        if 2 * changed > labels.len() || self.sums.weights.len() != k {
            // Afresh, which is faster and forgets rounding.
            self.labels.fill(NOWHERE);
            self.sums = Sums::zeros(k, dims);
        }
        let before = &self.labels;
        let bring = |sums: &mut Sums, i: usize| match (before[i], labels[i]) {
            (was, is) if was == is => {}
            (NOWHERE, is) => {
                sums.weights[is as usize] += data.weight(i);
                data.add_row(i, data.weight(i), sums.values.row_mut(is as usize));
            }
            (was, is) => sums.carry(data, i, data.weight(i), (was as usize, is as usize)),
        };
        if data.n() <= ROWS_PER_TASK {
            (0..data.n()).for_each(|i| bring(&mut self.sums, i));
        } else {
            // Few enough tasks that their partial sums stay small, whatever the number of threads.
            let tasks = (64_000_000 / (8 * k * dims)).clamp(2, 64);
            let parts = pool.map_chunks(data.n(), data.n().div_ceil(tasks).max(ROWS_PER_TASK), |range| {
                let mut sums = Sums::zeros(k, dims);
                range.for_each(|i| bring(&mut sums, i));
                sums
            });
            parts.iter().for_each(|part| self.sums.add(part));
        }
        self.labels.copy_from_slice(labels);
        let mut weights = vec![0.0; k];
        labels.iter().enumerate().for_each(|(i, &c)| weights[c as usize] += data.weight(i));
        for (c, &w) in weights.iter().enumerate().filter(|(_, w)| **w > 0.0) {
            self.centres.row_mut(c).iter_mut().zip(self.sums.values.row(c)).for_each(|(centre, sum)| *centre = sum / w);
        }
        self.moved();
        weights
    }
    fn put(&mut self, centre: usize, i: usize) {
        let row = self.centres.row_mut(centre);
        row.fill(0.0);
        self.data.add_row(i, 1.0, row);
        self.moved();
    }
}

/// A kernel matrix and centres in its feature space.
struct GramCentres<'a> {
    gram: &'a Gram,
    /// Squared distance of every point to every centre, where centres are not all means of clusters.
    distances: Tiles,
    /// The same as they were after seeding.
    seeds: Tiles,
    clusters: Option<Clusters<'a, Gram>>,
    /// 2/W and Q/W² of every cluster where all centres are means: distances follow from the sums.
    factors: Option<Vec<(f64, f64)>>,
}

impl GramCentres<'_> {
    /// Writes distances down, before a centre is put somewhere or stays while its cluster leaves it.
    fn write_down(&mut self, pool: &Pool) {
        if let (Some(clusters), Some(_)) = (&self.clusters, self.factors.take()) {
            clusters.all_distances(pool, &mut self.distances);
        }
    }
}

impl Centred for GramCentres<'_> {
    fn len(&self) -> usize {
        self.gram.len()
    }
    fn weight(&self, i: usize) -> f64 {
        self.gram.weights()[i]
    }
    fn seed(&mut self, pool: &Pool, k: usize, init: Init, rng: &mut Rng) {
        if self.seeds.clusters() != k {
            self.seeds = Tiles::zeros(self.gram.len(), k);
        }
        draw(pool, self.gram, k, init, rng, &mut |c, distances| self.seeds.set(c as usize, distances));
        self.back_to_seeds();
    }
    fn back_to_seeds(&mut self) {
        (self.clusters, self.factors) = (None, None);
        self.distances.clone_from(&self.seeds);
    }
    fn nearest(&self, pool: &Pool, labels: &mut [u32], distances: &mut [f64]) {
        let mut near = vec![Near::default(); labels.len()];
        self.two_nearest_of_all(pool, &mut near);
        for ((label, distance), near) in labels.iter_mut().zip(distances).zip(&near) {
            (*label, *distance) = (near.first, near.first_d2);
        }
    }
    fn two_nearest(&self, pool: &Pool, points: &[u32], out: &mut [Near]) {
        let mut near = vec![Near::default(); self.gram.len()];
        self.two_nearest_of_all(pool, &mut near);
        out.iter_mut().zip(points).for_each(|(out, &i)| *out = near[i as usize]);
    }
    fn two_nearest_of_all(&self, _: &Pool, out: &mut [Near]) {
        match (&self.clusters, &self.factors) {
            (Some(clusters), Some(factors)) => {
                for (first, width, tile) in clusters.sums().tiles() {
                    let own = &self.gram.own()[first..first + width];
                    for (from, out) in (0..).step_by(LANES).zip(out[first..first + width].chunks_mut(LANES)) {
                        Near::spread(&two_smallest_of_sums(tile, width, from, own, factors), out);
                    }
                }
            }
            _ => {
                for (first, width, tile) in self.distances.tiles() {
                    for (from, out) in (0..).step_by(LANES).zip(out[first..first + width].chunks_mut(LANES)) {
                        Near::spread(&two_smallest(tile, width, from), out);
                    }
                }
            }
        }
    }
    fn distance2(&self, i: usize, centre: usize) -> f64 {
        match (&self.clusters, &self.factors) {
            (Some(clusters), Some(factors)) => {
                self.gram.own()[i] - factors[centre].0 * clusters.sums().at(i, centre) + factors[centre].1
            }
            _ => self.distances.at(i, centre),
        }
    }
    fn length2(&self, i: usize) -> f64 {
        self.gram.own()[i]
    }
    fn update(&mut self, pool: &Pool, labels: &[u32]) -> Vec<f64> {
        let k = self.distances.clusters();
        let mut left = vec![true; k];
        labels.iter().for_each(|&c| left[c as usize] = false);
        let all_means = !left.contains(&true);
        if !all_means {
            self.write_down(pool);
        }
        let clusters = match &mut self.clusters {
            Some(clusters) => {
                let moves: Vec<Move> = (clusters.labels.iter().zip(labels).enumerate())
                    .filter(|(_, (from, to))| from != to)
                    .map(|(i, (&from, &to))| Move { point: i as u32, from, to })
                    .collect();
                clusters.apply(pool, &moves);
                clusters
            }
            None => self.clusters.insert(Clusters::new(pool, self.gram, labels.to_vec(), k)),
        };
        self.factors = all_means.then(|| clusters.factors());
        if !all_means {
            clusters.all_distances(pool, &mut self.distances);
        }
        clusters.weight.clone()
    }
    fn put(&mut self, centre: usize, i: usize) {
        self.write_down(&Pool::new(1));
        let mut to_point = vec![0.0; self.gram.len()];
        self.gram.distances_from(i, 0, &mut to_point);
        self.distances.set(centre, &to_point);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::blocks::kernel::{Affinity, Kernel};

    /// Dense rows, the same rows sparse, and their linear kernel as a matrix.
    fn check(dims: usize, k: usize) {
        let mut rng = Rng::stream(dims as u64, "centred test", 0);
        let n = 43;
        let values: Vec<f64> = (0..n * dims).map(|_| if rng.unit() < 0.5 { rng.normal() } else { 0.0 }).collect();
        let (mut starts, mut columns, mut entries) = (vec![0], vec![], vec![]);
        for row in values.chunks(dims) {
            for (j, &v) in row.iter().enumerate().filter(|(_, v)| **v != 0.0) {
                columns.push(j as u32);
                entries.push(v);
            }
            starts.push(entries.len());
        }
        let pool = Pool::new(1);
        let dense = Dataset::dense(&values, dims).unwrap();
        let linear = Affinity { kernel: Kernel::Linear, sigma: 0.0, neighbour: 7 };
        let spaces = [
            Space::Lent(dense),
            Space::Lent(Dataset::sparse(&starts, &columns, &entries, dims).unwrap()),
            Space::Gram(Gram::new(&pool, &dense, &linear)),
        ];
        let labels: Vec<u32> = (0..n).map(|_| rng.below(k.max(2) - 1) as u32).collect();
        let points: Vec<u32> = (0..n as u32).filter(|i| i % 3 != 1).collect();
        let mut all = Vec::new();
        for space in &spaces {
            let mut c = centred(space);
            c.seed(&pool, k, Init::FarthestFirst, &mut Rng::stream(1, "seed", 0));
            // The last cluster stays empty when k > 1: its centre must stay where it was put.
            let weights = c.update(&pool, &labels);
            assert_eq!(weights[k - 1] > 0.0, k == 1);
            let (mut near, mut distances) = (vec![0; n], vec![0.0; n]);
            c.nearest(&pool, &mut near, &mut distances);
            let mut two = vec![Near::default(); points.len()];
            c.two_nearest(&pool, &points, &mut two);
            let mut every = vec![Near::default(); n];
            c.two_nearest_of_all(&pool, &mut every);
            assert!(points.iter().zip(&two).all(|(&i, two)| every[i as usize] == *two));
            for (&i, two) in points.iter().zip(&two) {
                let mut by: Vec<(f64, usize)> = (0..k).map(|h| (c.distance2(i as usize, h), h)).collect();
                by.sort_by(|a, b| a.partial_cmp(b).unwrap());
                assert!((two.first_d2 - by[0].0).abs() < 1e-9 && (distances[i as usize] - by[0].0).abs() < 1e-9);
                assert!((c.distance2(i as usize, two.first as usize) - by[0].0).abs() < 1e-9);
                assert!((c.distance2(i as usize, near[i as usize] as usize) - by[0].0).abs() < 1e-9);
                if k > 1 {
                    assert!((two.second_d2 - by[1].0).abs() < 1e-9 && two.second != two.first);
                }
            }
            all.push((0..n * k).map(|x| c.distance2(x / k, x % k)).collect::<Vec<f64>>());
            c.put(0, 5);
            assert!(c.distance2(5, 0).abs() < 1e-9);
            let last = c.distance2(5, k - 1);
            assert!((last - all[all.len() - 1][5 * k + k - 1]).abs() < 1e-9 || k == 1);
            // Every centre is on a row again.
            c.back_to_seeds();
            assert!((0..k).all(|h| (0..n).any(|i| c.distance2(i, h).abs() < 1e-9)));
        }
        for other in &all[1..] {
            assert!(all[0].iter().zip(other).all(|(a, b)| (a - b).abs() < 1e-9));
        }
    }

    #[test]
    fn rows_dense_or_sparse_and_their_kernel_matrix_see_the_same_distances() {
        for (dims, k) in [(1, 1), (2, 2), (7, 3), (40, 5)] {
            check(dims, k);
        }
    }
}
