//! Sums of Euclidean distances from rows to groups of rows, G_ic = Σ_{j in c} ω_j·D_ij, exactly and without an n × n
//! matrix: the rows are ordered by group, distances come tile by tile, every row owns its sums. Up to 32 dims squared
//! differences in panels, above that inner products around the mean (close pairs are taken again from the rows), for
//! sparse rows eight rows at a time spread over a dense buffer. Cost O(rows · n · dims), memory O(n · dims + groups).
//! A row's sums depend on nothing but the data, so the number of threads changes no bit.

use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};

use super::linalg::times_transposed;
use crate::context::{RunContext, Stop};
use crate::data::{Dataset, Float, Rows};
use crate::kernels::distances::{LANES, Panels, ROWS, from_products, untrusted};

/// Up to here distances are sums of squared differences.
const DIRECT_DIMS: usize = 32;
/// Other rows in a tile.
const COLUMNS: usize = 512;
/// Rows of one task at most.
const MOST_ROWS: usize = 128;

/// Rows ordered by group, ready for any number of passes.
pub struct GroupSums<'a, F> {
    data: &'a Dataset<'a, F>,
    /// Row at each place.
    order: Vec<u32>,
    /// Places of each group.
    starts: Vec<usize>,
    /// Weight at each place.
    weights: Option<Vec<f64>>,
    form: Form,
    columns: usize,
}

enum Form {
    Direct(Panels),
    /// Mean of the rows; squared length around it at each place.
    Products {
        mean: Vec<f64>,
        norms: Vec<f64>,
    },
    /// Squared length at each place.
    Sparse {
        norms: Vec<f64>,
    },
}

impl<'a, F: Float> GroupSums<'a, F> {
    /// `group[i]` below `groups` for every row.
    pub fn new(data: &'a Dataset<'a, F>, group: &[u32], groups: usize) -> GroupSums<'a, F> {
        GroupSums::with_tile(data, group, groups, COLUMNS)
    }

    fn with_tile(data: &'a Dataset<'a, F>, group: &[u32], groups: usize, columns: usize) -> GroupSums<'a, F> {
        let n = data.n();
        let mut starts = vec![0usize; groups + 1];
        group.iter().for_each(|&g| starts[g as usize + 1] += 1);
        (0..groups).for_each(|g| starts[g + 1] += starts[g]);
        let (mut next, mut order) = (starts.clone(), vec![0u32; n]);
        for (row, &g) in group.iter().enumerate() {
            order[next[g as usize]] = row as u32;
            next[g as usize] += 1;
        }
        let form = match data.rows() {
            Rows::Dense(d) if d.dims() <= DIRECT_DIMS => {
                let row = |i: usize, out: &mut [f64]| widen(d.row(order[i] as usize), &[], out);
                Form::Direct(Panels::new(n, d.dims(), row))
            }
            Rows::Dense(d) => {
                let mut mean = vec![0.0; d.dims()];
                (0..n).for_each(|i| data.add_row(i, 1.0 / n as f64, &mut mean));
                let norms = order.iter().map(|&i| data.distance2(i as usize, &mean)).collect();
                Form::Products { mean, norms }
            }
            Rows::Sparse(s) => {
                let length = |&i: &u32| s.row(i as usize).1.iter().map(|v| v.to_f64() * v.to_f64()).sum();
                Form::Sparse { norms: order.iter().map(length).collect() }
            }
        };
        let weights = data.weights().map(|w| order.iter().map(|&i| w[i as usize]).collect());
        GroupSums { data, order, starts, weights, form, columns: columns.next_multiple_of(LANES) }
    }

    /// `work(i, sums)` for every i of 0..rows.len(), with the sums of row `rows[i]` to every group; the results in
    /// order. `Err` when the run was stopped.
    pub fn sums<T: Send>(
        &self,
        ctx: &RunContext,
        rows: &[u32],
        work: impl Fn(usize, &[f64]) -> T + Sync,
    ) -> Result<Vec<T>, Stop> {
        let n = self.order.len();
        // Tasks that depend on sizes alone; enough of them for many threads, large enough to reuse every tile.
        let chunk = (rows.len() / 32).clamp(ROWS, MOST_ROWS).next_multiple_of(LANES);
        let done = AtomicU64::new(0);
        let groups = self.starts.len() - 1;
        let parts = ctx.pool.map_chunks(rows.len(), chunk, |range| {
            ctx.checkpoint()?;
            let mut sums = vec![0.0; range.len() * groups];
            self.block(&rows[range.clone()], &mut sums);
            let before = done.fetch_add(range.len() as u64, Ordering::Relaxed);
            ctx.progress("distances", before + range.len() as u64, Some(rows.len() as u64));
            Ok(range.enumerate().map(|(at, i)| work(i, &sums[at * groups..(at + 1) * groups])).collect::<Vec<T>>())
        });
        let mut out = Vec::with_capacity(n.min(rows.len()));
        for part in parts {
            out.extend(part?);
        }
        Ok(out)
    }

    /// Adds up all tiles of a block of rows.
    fn block(&self, rows: &[u32], sums: &mut [f64]) {
        let (n, groups) = (self.order.len(), self.starts.len() - 1);
        let mut source = Source::new(self, rows);
        let mut tile = vec![0.0; rows.len() * self.columns];
        let mut group = 0;
        for first in (0..n).step_by(self.columns) {
            let places = first..(first + self.columns).min(n);
            let stride = source.fill(places.clone(), &mut tile);
            // The groups that this tile meets, with their places in it.
            let mut pieces: Vec<(usize, Range<usize>)> = Vec::new();
            while group < groups {
                let piece = self.starts[group].max(places.start)..self.starts[group + 1].min(places.end);
                if !piece.is_empty() {
                    pieces.push((group, piece.start - first..piece.end - first));
                }
                if self.starts[group + 1] > places.end {
                    break;
                }
                group += 1;
            }
            let weights = self.weights.as_ref().map(|w| &w[places.clone()]);
            for (tile, sums) in tile.chunks_exact(stride).zip(sums.chunks_exact_mut(groups)) {
                for (group, piece) in &pieces {
                    sums[*group] += match weights {
                        None => sum(&tile[piece.clone()]),
                        Some(w) => super::linalg::dot(&tile[piece.clone()], &w[piece.clone()]),
                    };
                }
            }
        }
    }
}

fn widen<F: Float>(row: &[F], shift: &[f64], out: &mut [f64]) {
    out.iter_mut().zip(row).for_each(|(o, v)| *o = v.to_f64());
    out.iter_mut().zip(shift).for_each(|(o, s)| *o -= s);
}

/// Σ in eight lanes, fixed order.
fn sum(values: &[f64]) -> f64 {
    let mut lanes = [0.0; LANES];
    let whole = values.chunks_exact(LANES);
    let rest: f64 = whole.remainder().iter().sum();
    whole.for_each(|chunk| (0..LANES).for_each(|l| lanes[l] += chunk[l]));
    lanes.iter().sum::<f64>() + rest
}

/// Distances of one block of rows, tile by tile.
struct Source<'s, 'a, F> {
    of: &'s GroupSums<'a, F>,
    rows: &'s [u32],
    /// The rows of the block, dense ones widened (and centred).
    block: Vec<f64>,
    norms: Vec<f64>,
    /// The other rows of a tile (products), or eight rows spread out by dimension (sparse).
    buffer: Vec<f64>,
}

impl<'s, 'a, F: Float> Source<'s, 'a, F> {
    fn new(of: &'s GroupSums<'a, F>, rows: &'s [u32]) -> Source<'s, 'a, F> {
        let dims = of.data.dims();
        let (mut block, mut norms, mut buffer) = (Vec::new(), Vec::new(), Vec::new());
        match (of.data.rows(), &of.form) {
            (Rows::Dense(d), form) => {
                let shift: &[f64] = if let Form::Products { mean, .. } = form { mean } else { &[] };
                block.resize(rows.len() * dims, 0.0);
                for (&row, out) in rows.iter().zip(block.chunks_exact_mut(dims)) {
                    widen(d.row(row as usize), shift, out);
                }
                if !shift.is_empty() {
                    norms = rows.iter().map(|&i| of.data.distance2(i as usize, shift)).collect();
                    buffer.resize(of.columns * dims, 0.0);
                }
            }
            (Rows::Sparse(s), _) => {
                let length = |&i: &u32| s.row(i as usize).1.iter().map(|v| v.to_f64() * v.to_f64()).sum();
                norms = rows.iter().map(length).collect();
                buffer.resize(dims * LANES, 0.0);
            }
        }
        Source { of, rows, block, norms, buffer }
    }

    /// Writes the distances of every row of the block to the rows at `places`; returns the stride between rows.
    fn fill(&mut self, places: Range<usize>, tile: &mut [f64]) -> usize {
        let dims = self.of.data.dims();
        match (&self.of.form, self.of.data.rows()) {
            (Form::Direct(panels), _) => {
                let count = places.len().div_ceil(LANES);
                let stride = count * LANES;
                let (rows, out) = (self.block.chunks(ROWS * dims), tile.chunks_mut(ROWS * stride));
                for (rows, out) in rows.zip(out) {
                    panels.distances(rows, places.start / LANES, count, out);
                }
                stride
            }
            (Form::Products { mean, norms }, Rows::Dense(d)) => {
                let width = places.len();
                let others = &mut self.buffer[..width * dims];
                for (place, out) in places.clone().zip(others.chunks_exact_mut(dims)) {
                    widen(d.row(self.of.order[place] as usize), mean, out);
                }
                let tile = &mut tile[..self.rows.len() * width];
                times_transposed(&self.block, others, dims, tile);
                let others: &[f64] = others;
                let own = self.block.chunks_exact(dims);
                for ((row, &norm), tile) in own.zip(&self.norms).zip(tile.chunks_exact_mut(width)) {
                    let direct = |j: usize| {
                        let other = &others[j * dims..(j + 1) * dims];
                        row.iter().zip(other).map(|(x, y)| (x - y) * (x - y)).sum::<f64>()
                    };
                    finish(norm, &norms[places.clone()], tile, direct);
                }
                width
            }
            (Form::Sparse { norms }, Rows::Sparse(s)) => {
                let width = places.len();
                for (at, rows) in self.rows.chunks(LANES).enumerate() {
                    for (lane, &row) in rows.iter().enumerate() {
                        let (columns, values) = s.row(row as usize);
                        columns
                            .iter()
                            .zip(values)
                            .for_each(|(&c, v)| self.buffer[c as usize * LANES + lane] = v.to_f64());
                    }
                    for (j, place) in places.clone().enumerate() {
                        let (columns, values) = s.row(self.of.order[place] as usize);
                        let mut products = [0.0; LANES];
                        for (&c, v) in columns.iter().zip(values) {
                            let (v, spread) = (v.to_f64(), &self.buffer[c as usize * LANES..(c as usize + 1) * LANES]);
                            (0..LANES).for_each(|l| products[l] += v * spread[l]);
                        }
                        for lane in 0..rows.len() {
                            tile[(at * LANES + lane) * width + j] = products[lane];
                        }
                    }
                    for &row in rows {
                        s.row(row as usize).0.iter().for_each(|&c| {
                            self.buffer[c as usize * LANES..(c as usize + 1) * LANES].fill(0.0);
                        });
                    }
                }
                for ((&row, &norm), tile) in self.rows.iter().zip(&self.norms).zip(tile.chunks_exact_mut(width)) {
                    let direct = |j: usize| {
                        let other = self.of.order[places.start + j] as usize;
                        sparse_distance2(s.row(row as usize), s.row(other))
                    };
                    finish(norm, &norms[places.clone()], tile, direct);
                }
                width
            }
            (Form::Products { .. }, Rows::Sparse(_)) | (Form::Sparse { .. }, Rows::Dense(_)) => {
                unreachable!("the form was made for these rows")
            }
        }
    }
}

/// Products to distances; those that rounding has eaten are taken again.
fn finish(norm: f64, norms: &[f64], tile: &mut [f64], direct: impl Fn(usize) -> f64) {
    if from_products(norm, norms, tile) {
        for (j, (distance, &other)) in tile.iter_mut().zip(norms).enumerate() {
            if untrusted(norm, other, *distance) {
                *distance = direct(j).sqrt();
            }
        }
    }
}

/// Squared Euclidean distance of two sparse rows.
pub fn sparse_distance2<F: Float>(a: (&[u32], &[F]), b: (&[u32], &[F])) -> f64 {
    let (mut i, mut j, mut sum) = (0, 0, 0.0);
    while i < a.0.len() || j < b.0.len() {
        let (x, y) = (a.0.get(i).copied().unwrap_or(u32::MAX), b.0.get(j).copied().unwrap_or(u32::MAX));
        let left = if x <= y { a.1[i].to_f64() } else { 0.0 };
        let right = if y <= x { b.1[j].to_f64() } else { 0.0 };
        i += usize::from(x <= y);
        j += usize::from(y <= x);
        sum += (left - right) * (left - right);
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::Table;
    use crate::rng::Rng;

    fn check(data: &Dataset<'_, f64>, dense: &[f64], dims: usize, columns: usize) {
        let n = data.n();
        let mut rng = Rng::stream(3, "group sums", n as u64);
        let group: Vec<u32> = (0..n).map(|_| rng.below(9) as u32).collect();
        let rows: Vec<u32> = (0..n as u32).rev().collect();
        let looked = GroupSums::with_tile(data, &group, 9, columns);
        let run = |threads: usize| {
            looked.sums(&RunContext::new(0).with_threads(threads), &rows, |_, sums| sums.to_vec()).unwrap()
        };
        let found = run(1);
        assert_eq!(found, run(3));
        for (at, &i) in rows.iter().enumerate() {
            let mut plain = [0.0; 9];
            for j in 0..n {
                let x = &dense[i as usize * dims..(i as usize + 1) * dims];
                let d2: f64 = x.iter().zip(&dense[j * dims..(j + 1) * dims]).map(|(a, b)| (a - b) * (a - b)).sum();
                plain[group[j] as usize] += data.weight(j) * d2.sqrt();
            }
            for (a, b) in found[at].iter().zip(&plain) {
                assert!((a - b).abs() <= 1e-12 * (1.0 + b), "{a} {b}, {dims} dims, tile {columns}");
            }
        }
    }

    #[test]
    fn tiles_of_every_size_and_form_give_the_plain_sums() {
        let mut rng = Rng::stream(1, "group sums", 0);
        for (n, dims) in [(1, 1), (3, 2), (130, 7), (90, 45)] {
            // Repeated rows and a far-off mean are what the expansion likes least.
            let mut x: Vec<f64> = (0..n * dims).map(|_| 50.0 + rng.normal()).collect();
            if n > 20 {
                x.copy_within(0..5 * dims, 10 * dims);
            }
            for columns in [1, 3, 64, 600] {
                check(&Dataset::dense(&x, dims).unwrap(), &x, dims, columns);
            }
        }
    }

    #[test]
    fn sparse_rows_and_weights_give_the_plain_sums() {
        let mut rng = Rng::stream(2, "group sums", 0);
        let (n, dims) = (70, 50);
        let x: Vec<f64> = (0..n * dims).map(|_| if rng.unit() < 0.1 { rng.normal() } else { 0.0 }).collect();
        let (mut starts, mut columns, mut values) = (vec![0], Vec::new(), Vec::new());
        for row in x.chunks(dims) {
            for (j, &v) in row.iter().enumerate().filter(|(_, v)| **v != 0.0) {
                columns.push(j as u32);
                values.push(v);
            }
            starts.push(values.len());
        }
        let table = Table::Sparse { starts, columns, values, dims };
        let weights: Vec<f64> = (0..n).map(|_| rng.unit() + 0.1).collect();
        check(&table.view().unwrap(), &x, dims, 600);
        check(&table.view().unwrap().with_weights(&weights).unwrap(), &x, dims, 24);
        check(&Dataset::dense(&x, dims).unwrap().with_weights(&weights).unwrap(), &x, dims, 600);
    }
}
