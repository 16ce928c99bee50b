//! Numbers of points and clusters, laid out for kernel k-means on a matrix.

use super::par::Pool;

/// A number for every point and cluster. A tile of points has its clusters one after another, and a cluster its points
/// side by side: a row of the kernel matrix is added to a cluster as it lies in memory, and tiles are tasks.
#[derive(Clone)]
pub struct Tiles {
    n: usize,
    k: usize,
    values: Vec<f64>,
}

/// Points of a tile.
const TILE: usize = 512;

impl Tiles {
    /// n points × k clusters of zeros.
    pub fn zeros(n: usize, k: usize) -> Tiles {
        Tiles { n, k, values: vec![0.0; n * k] }
    }
    /// How many points the tile that begins with point `first` has.
    fn width(&self, first: usize) -> usize {
        TILE.min(self.n - first)
    }
    /// The number of a point and a cluster.
    pub fn at(&self, i: usize, h: usize) -> f64 {
        let first = i / TILE * TILE;
        self.values[first * self.k + h * self.width(first) + i - first]
    }
    /// The numbers of one cluster in the tile that begins with point `first`.
    pub fn of(&self, first: usize, h: usize) -> &[f64] {
        let width = self.width(first);
        &self.values[first * self.k + h * width..][..width]
    }
    /// Number of clusters.
    pub fn clusters(&self) -> usize {
        self.k
    }
    /// The first point of every tile, how many it has, and the numbers of one cluster after another.
    pub fn tiles(&self) -> impl Iterator<Item = (usize, usize, &[f64])> {
        let of = move |(first, tile)| (first, self.width(first), tile);
        (0..).step_by(TILE).zip(self.values.chunks((TILE * self.k).max(1))).map(of)
    }
    /// Overwrites the numbers of one cluster.
    pub fn set(&mut self, h: usize, numbers: &[f64]) {
        for (tile, numbers) in self.values.chunks_mut(TILE * self.k).zip(numbers.chunks(TILE)) {
            tile[h * numbers.len()..(h + 1) * numbers.len()].copy_from_slice(numbers);
        }
    }
    /// `work(first point, cluster, its numbers)` in every tile.
    pub(super) fn change(&mut self, pool: &Pool, work: impl Fn(usize, usize, &mut [f64]) + Sync) {
        let k = self.k;
        let of_tile = |start: usize, tile: &mut [f64]| {
            let width = tile.len() / k;
            tile.chunks_exact_mut(width).enumerate().for_each(|(h, numbers)| work(start / k, h, numbers));
        };
        match self.n {
            0 => {}
            1..=TILE => of_tile(0, &mut self.values),
            _ => drop(pool.map_chunks_mut(&mut self.values, TILE * k, of_tile)),
        }
    }
}
