//! The rows a dialogue is about, in one space (standardised; wide rows by their leading directions), with what several
//! strategies need of them: distances, nearest rows, the graph of affinities. Computed once, when first asked for.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use crate::blocks::forest::Forest;
use crate::blocks::neighbours::{Neighbours, nearest_rows};
use crate::blocks::par::Pool;
use crate::blocks::represent;
use crate::data::{Dataset, Float, Matrix};
use crate::error::Result;
use crate::rng::Rng;

/// Nearest rows kept for every row.
const NEAREST: usize = 15;
/// Trees of an imitation, rows that it learns from at most, imitations that are kept.
const TREES: usize = 50;
const LEARN: usize = 1_500;
const KEPT: usize = 2;

/// Rows in a space.
pub struct Ground {
    x: Matrix,
    pool: Pool,
    nearest: OnceLock<Vec<(f64, u32)>>,
    graph: OnceLock<Neighbours>,
    imitations: Mutex<VecDeque<(Vec<u32>, Arc<Forest>)>>,
}

impl Ground {
    /// Standardised rows; sparse ones in their leading singular directions.
    pub fn new<F: Float>(data: &Dataset<'_, F>, pool: &Pool) -> Result<Ground> {
        let mut bases = represent::bases(data, data, None, &mut Rng::stream(0, "ground", 0))?;
        let base = bases.pop().map_or_else(|| Matrix::zeros(data.n(), 1), |b| b.x);
        // Rows that do not differ at all still need a column.
        let x = if base.cols() == 0 { Matrix::zeros(data.n(), 1) } else { base };
        Ok(Ground::of_rows(x, pool))
    }

    /// Rows as they are.
    pub fn of_rows(x: Matrix, pool: &Pool) -> Ground {
        Ground { x, pool: pool.clone(), nearest: OnceLock::new(), graph: OnceLock::new(), imitations: Mutex::default() }
    }

    /// The rows.
    pub fn rows(&self) -> &Matrix {
        &self.x
    }
    /// The threads to work with.
    pub fn pool(&self) -> &Pool {
        &self.pool
    }
    /// Number of rows.
    pub fn n(&self) -> usize {
        self.x.rows()
    }
    /// Squared distance of two rows.
    pub fn distance2(&self, i: usize, j: usize) -> f64 {
        squared(self.x.row(i), self.x.row(j))
    }
    /// Squared distance of a row to a point.
    pub fn distance2_to(&self, i: usize, point: &[f64]) -> f64 {
        squared(self.x.row(i), point)
    }
    /// Rows kept by [`nearest`](Self::nearest).
    pub fn nearest_count(&self) -> usize {
        NEAREST.min(self.n().saturating_sub(1))
    }
    /// (distance², row) of the nearest other rows, ascending.
    pub fn nearest(&self, row: usize) -> &[(f64, u32)] {
        let count = self.nearest_count();
        if count == 0 {
            return &[];
        }
        let all = self.nearest.get_or_init(|| nearest_rows(&self.pool, &self.x, count));
        &all[row * count..(row + 1) * count]
    }
    /// Self-tuned affinities to up to ten nearest rows.
    pub fn graph(&self) -> &Neighbours {
        self.graph.get_or_init(|| Neighbours::new(&self.pool, &self.x))
    }
    /// A forest grown to reproduce a clustering. The last ones are kept: whoever has made a clustering may ask for it
    /// ahead of the next question.
    pub fn imitation(&self, labels: &[u32]) -> Arc<Forest> {
        let kept = || self.imitations.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, forest)) = kept().iter().find(|(of, _)| of == labels) {
            return forest.clone();
        }
        let n = self.n();
        let train: Vec<u32> = if n <= LEARN {
            (0..n as u32).collect()
        } else {
            Rng::stream(0, "imitation", 0).sample(n, LEARN).into_iter().map(|r| r as u32).collect()
        };
        let forest = Arc::new(Forest::grow(&self.pool, &self.x, labels, &train, TREES, 0));
        let mut kept = kept();
        kept.push_back((labels.to_vec(), forest.clone()));
        if kept.len() > KEPT {
            kept.pop_front();
        }
        forest
    }
    /// The mean of some rows.
    pub fn mean(&self, rows: impl Iterator<Item = usize>) -> Vec<f64> {
        let mut mean = vec![0.0; self.x.cols()];
        let mut count = 0.0;
        for row in rows {
            mean.iter_mut().zip(self.x.row(row)).for_each(|(m, v)| *m += v);
            count += 1.0;
        }
        mean.iter_mut().for_each(|m| *m /= f64::max(count, 1.0));
        mean
    }
    /// For every row the smaller of `least` and its squared distance to `row`.
    pub fn shrink(&self, least: &mut [f64], row: usize) {
        let point = self.x.row(row);
        self.pool.map_chunks_mut(least, 4096, |start, part| {
            for (d, x) in part.iter_mut().zip(start..) {
                *d = d.min(squared(self.x.row(x), point));
            }
        });
    }
    /// 64 bits that change with the rows.
    pub fn fingerprint(&self) -> u64 {
        let mut hash = 0xcbf2_9ce4_8422_2325_u64;
        let shape = [self.x.rows() as u64, self.x.cols() as u64];
        for word in shape.into_iter().chain(self.x.values().iter().map(|v| v.to_bits())) {
            hash = (hash ^ word).wrapping_mul(0x0100_0000_01b3).rotate_left(23);
        }
        hash
    }
}

fn squared(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(x, y)| (x - y) * (x - y)).sum()
}
