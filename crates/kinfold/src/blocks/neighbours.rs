//! The nearest rows of every row with self-tuned affinities exp(−d²/(s_i·s_j)), s = distance to the 7th neighbour
//! (Zelnik-Manor & Perona 2004), and the votes between chunklets made from them: every row spreads one vote over its
//! neighbours in proportion to the affinities, W(u, v) = ½ Σ (votes of u for v + votes of v for u).
//! Exact, O(n²·dims) in blocks of rows times all rows, memory O(block·n); never an n × n matrix. Ties to the lower row.

use std::ops::Range;

use super::linalg::{dot, times_transposed};
use super::par::Pool;
use crate::constraints::Chunklets;
use crate::data::Matrix;
use crate::kernels::distances::{STRETCH, first_below};

/// Neighbours of each row, and the one whose distance sets the scale.
const NEIGHBOURS: usize = 10;
const SCALE_AT: usize = 7;
/// Powers of the affinities that are tried, and how often a row is labelled whatever its neighbours are: few rows that lie
/// among others must not decide alone. Chosen with flame at 1 % in view.
const POWERS: [i32; 5] = [1, 2, 4, 8, 16];
const WHATEVER: f64 = 0.1;
/// Rows whose distances to all others are held at once.
const BLOCK: usize = 64;

/// Up to ten neighbours of every row with their affinities.
#[derive(Debug, Clone, PartialEq)]
pub struct Neighbours {
    per_row: usize,
    ids: Vec<u32>,
    affinities: Vec<f64>,
}

impl Neighbours {
    /// Of the rows of `x`. Needs at least two rows; one row has no neighbours.
    pub fn new(pool: &Pool, x: &Matrix) -> Neighbours {
        let n = x.rows();
        if n < 2 {
            return Neighbours { per_row: 0, ids: Vec::new(), affinities: Vec::new() };
        }
        let per_row = NEIGHBOURS.min(n - 1);
        let found = nearest_rows(pool, x, per_row);
        let at = SCALE_AT.min(n - 1).min(per_row) - 1;
        let mut scale: Vec<f64> = (0..n).map(|i| found[i * per_row + at].0.sqrt()).collect();
        let smallest = scale.iter().copied().filter(|&s| s > 0.0).fold(f64::INFINITY, f64::min);
        let instead = if smallest.is_finite() { smallest } else { 1.0 };
        scale.iter_mut().filter(|s| **s <= 0.0).for_each(|s| *s = instead);
        let affinities = found
            .iter()
            .enumerate()
            .map(|(e, &(d, j))| (-d / (scale[e / per_row] * scale[j as usize])).exp())
            .collect();
        Neighbours { per_row, ids: found.iter().map(|f| f.1).collect(), affinities }
    }

    /// The neighbours of a row, nearest first, with their affinities.
    pub fn of(&self, row: usize) -> impl Iterator<Item = (usize, f64)> + '_ {
        let range = row * self.per_row..(row + 1) * self.per_row;
        self.ids[range.clone()].iter().zip(&self.affinities[range]).map(|(&j, &a)| (j as usize, a))
    }

    /// The power of the affinities by which labels (one per chunklet) of rows in constraints are best predicted from each
    /// other, every row by its neighbours: p = share of their votes, mixed with chance. 1 where fewer than half of the
    /// rows are in constraints: those are farther from each other than neighbours are.
    pub fn sharpness(&self, chunklets: &Chunklets, k: usize, labels: &[u32]) -> i32 {
        let label = |row: usize| Some(chunklets.of(row)).filter(|&c| chunklets.is_bound(c)).map(|c| labels[c as usize]);
        let labels: Vec<Option<u32>> = (0..chunklets.n()).map(label).collect();
        if 2 * labels.iter().flatten().count() < labels.len() {
            return 1;
        }
        let chance = 1.0 / k as f64;
        let mut logs = [0.0; POWERS.len()];
        for row in (0..labels.len()).filter(|&row| labels[row].is_some()) {
            let (mut own, mut all) = ([0.0; POWERS.len()], [0.0; POWERS.len()]);
            for (j, affinity) in self.of(row).filter(|e| labels[e.0].is_some()) {
                for (p, power) in POWERS.iter().enumerate() {
                    let vote = affinity.powi(*power);
                    all[p] += vote;
                    own[p] += if labels[j] == labels[row] { vote } else { 0.0 };
                }
            }
            for (log, (own, all)) in logs.iter_mut().zip(own.iter().zip(all)) {
                let share = if all > 0.0 { own / all } else { chance };
                *log += ((1.0 - WHATEVER) * share + WHATEVER * chance).ln();
            }
        }
        POWERS[(1..POWERS.len()).fold(0, |best, p| if logs[p] > logs[best] { p } else { best })]
    }
}

/// (distance², row) of the `per_row` (fewer than all) nearest other rows of every row, ascending, row after row.
pub fn nearest_rows(pool: &Pool, x: &Matrix, per_row: usize) -> Vec<(f64, u32)> {
    let (n, dims) = (x.rows(), x.cols());
    // Around the mean the expansion ‖a‖² − 2a·b + ‖b‖² loses fewest digits.
    let mut mean = vec![0.0; dims];
    x.iter().for_each(|r| mean.iter_mut().zip(r).for_each(|(m, v)| *m += v / n as f64));
    let mut centred = x.clone();
    for i in 0..n {
        centred.row_mut(i).iter_mut().zip(&mean).for_each(|(v, m)| *v -= m);
    }
    let norms: Vec<f64> = centred.iter().map(|r| dot(r, r)).collect();
    let blocks = pool.map_chunks(n, BLOCK, |rows| nearest(x, &centred, &norms, rows, per_row));
    let mut found: Vec<(f64, u32)> = Vec::with_capacity(n * per_row);
    blocks.into_iter().for_each(|b| found.extend(b));
    found
}

/// (distance², row) of the nearest rows of each row in `rows`, ascending.
fn nearest(x: &Matrix, centred: &Matrix, norms: &[f64], rows: Range<usize>, per_row: usize) -> Vec<(f64, u32)> {
    let (n, dims) = (x.rows(), x.cols());
    let mut products = vec![0.0; rows.len() * n];
    let block = &centred.values()[rows.start * dims..rows.end * dims];
    times_transposed(block, centred.values(), dims, &mut products);
    let mut out = Vec::with_capacity(rows.len() * per_row);
    let mut best: Vec<(f64, u32)> = Vec::with_capacity(per_row + 1);
    for (i, products) in rows.zip(products.chunks_exact(n)) {
        best.clear();
        let own = norms[i];
        let bar = |best: &[(f64, u32)]| if best.len() == per_row { best[per_row - 1].0 } else { f64::INFINITY };
        let mut start = 0;
        // Most stretches hold nothing near enough.
        while let Some(skipped) = first_below(own, &norms[start..], &products[start..], bar(&best)) {
            start += skipped;
            let end = (start + STRETCH).min(n);
            for (j, (&p, &norm)) in (start..end).zip(products[start..end].iter().zip(&norms[start..end])) {
                let mut d = own + norm - 2.0 * p;
                if d >= bar(&best) || j == i {
                    continue;
                }
                if d < 1e-9 * (own + norm) {
                    // Nothing but rounding is left of the expansion.
                    d = x.row(i).iter().zip(x.row(j)).map(|(a, b)| (a - b) * (a - b)).sum();
                }
                let at = best.partition_point(|b| b.0 <= d);
                if at < per_row {
                    best.truncate(per_row - 1);
                    best.insert(at, (d, j as u32));
                }
            }
            start = end;
        }
        out.extend_from_slice(&best);
    }
    out
}

/// Votes between chunklets.
#[derive(Debug, Clone, PartialEq)]
pub struct Votes {
    starts: Vec<usize>,
    links: Vec<(u32, f64)>,
    /// Votes that stay inside each chunklet.
    pub own: Vec<f64>,
}

impl Votes {
    /// The votes of the rows, summed over chunklets.
    pub fn new(neighbours: &Neighbours, chunklets: &Chunklets) -> Votes {
        Votes::sharpened(neighbours, chunklets, 1)
    }

    /// The same with every affinity raised to a power: the higher, the more only the nearest count.
    pub fn sharpened(neighbours: &Neighbours, chunklets: &Chunklets, power: i32) -> Votes {
        let m = chunklets.len();
        let mut own = vec![0.0; m];
        let mut all: Vec<(u32, u32, f64)> = Vec::new();
        for row in 0..chunklets.n() {
            let total: f64 = neighbours.of(row).map(|e| e.1.powi(power)).sum::<f64>().max(1e-300);
            let u = chunklets.of(row);
            for (j, affinity) in neighbours.of(row) {
                let (v, vote) = (chunklets.of(j), affinity.powi(power) / total);
                if u == v {
                    own[u as usize] += vote;
                } else {
                    all.push((u, v, vote / 2.0));
                    all.push((v, u, vote / 2.0));
                }
            }
        }
        // Stable: equal links are added in the order of the rows.
        all.sort_by_key(|e| (e.0, e.1));
        let (mut starts, mut links) = (vec![0; m + 1], Vec::<(u32, f64)>::new());
        let mut last = None;
        for (u, v, vote) in all {
            match links.last_mut() {
                Some(link) if last == Some((u, v)) => link.1 += vote,
                _ => links.push((v, vote)),
            }
            last = Some((u, v));
            starts[u as usize + 1] = links.len();
        }
        for u in 0..m {
            starts[u + 1] = starts[u + 1].max(starts[u]);
        }
        Votes { starts, links, own }
    }

    /// Number of chunklets.
    pub fn len(&self) -> usize {
        self.own.len()
    }
    /// No chunklets?
    pub fn is_empty(&self) -> bool {
        self.own.is_empty()
    }
    /// The chunklets that exchange votes with `u`, ascending, with W.
    pub fn of(&self, u: usize) -> &[(u32, f64)] {
        &self.links[self.starts[u]..self.starts[u + 1]]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Rng;

    #[test]
    fn blocked_search_finds_what_a_plain_one_finds() {
        let mut rng = Rng::stream(1, "test", 0);
        for (n, dims) in [(2, 1), (9, 2), (150, 3), (200, 17)] {
            // Coarse values, so that there are ties.
            let x = Matrix::from_vec(dims, (0..n * dims).map(|_| 1000.0 + (4.0 * rng.normal()).round()).collect());
            let found = Neighbours::new(&Pool::new(2), &x);
            for i in 0..n {
                let mut all: Vec<(f64, usize)> = (0..n)
                    .filter(|&j| j != i)
                    .map(|j| (x.row(i).iter().zip(x.row(j)).map(|(a, b)| (a - b) * (a - b)).sum::<f64>(), j))
                    .collect();
                all.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
                let distance = |j: usize| all.iter().find(|e| e.1 == j).unwrap().0;
                let got: Vec<f64> = found.of(i).map(|e| distance(e.0)).collect();
                let want: Vec<f64> = all.iter().take(NEIGHBOURS).map(|e| e.0).collect();
                assert!(got.iter().zip(&want).all(|(a, b)| (a - b).abs() < 1e-6), "{got:?} {want:?}");
            }
        }
    }

    #[test]
    fn every_row_has_one_vote_and_votes_are_symmetric() {
        let mut rng = Rng::stream(2, "test", 0);
        let x = Matrix::from_vec(2, (0..120).map(|_| rng.normal()).collect());
        let groups: Vec<u32> = (0..60).map(|i| if i < 10 { 0 } else { i }).collect();
        let chunklets = Chunklets::from_groups(&groups, &[]);
        let votes = Votes::new(&Neighbours::new(&Pool::new(1), &x), &chunklets);
        let total: f64 =
            votes.own.iter().sum::<f64>() + (0..votes.len()).flat_map(|u| votes.of(u)).map(|e| e.1).sum::<f64>();
        assert!((total - 60.0).abs() < 1e-9);
        for u in 0..votes.len() {
            for &(v, w) in votes.of(u) {
                let back = votes.of(v as usize).iter().find(|e| e.0 as usize == u).unwrap().1;
                assert!((w - back).abs() < 1e-12);
            }
        }
    }

    #[test]
    fn affinities_are_sharpened_where_only_the_nearest_rows_know_and_many_rows_are_known() {
        let mut rng = Rng::stream(3, "test", 0);
        // Forty rows in pairs a step apart, nearer than a step to each other; then as two clusters far from each other.
        let pairs: Vec<f64> = (0..40).map(|i| f64::from(i / 2) + 0.2 * f64::from(i % 2)).collect();
        let drawn: Vec<u32> = (0..20).map(|_| rng.below(2) as u32).collect();
        let of_pairs: Vec<u32> = (0..40).map(|i| drawn[i / 2]).collect();
        let halves: Vec<u32> = (0..40).map(|i| i / 20).collect();
        let power = |x: &[f64], truth: &[u32], known: usize| {
            let near = Neighbours::new(&Pool::new(1), &Matrix::from_vec(1, x.to_vec()));
            // Whoever is known is in a cannot-link with a row of the other cluster.
            let other = |i: usize| (0..40).find(|&j| truth[j] != truth[i]).unwrap() as u32;
            let apart: Vec<(u32, u32)> = (0..known).map(|i| (i as u32, other(i))).collect();
            let chunklets = Chunklets::from_groups(&(0..40).collect::<Vec<_>>(), &apart);
            near.sharpness(&chunklets, 2, truth)
        };
        assert!(power(&pairs, &of_pairs, 40) > 1);
        assert_eq!(power(&pairs, &of_pairs, 10), 1);
        let clusters: Vec<f64> = (0..40).map(|i| if i < 20 { pairs[i] } else { 1e3 + pairs[i] }).collect();
        assert_eq!(power(&clusters, &halves, 40), 1);
    }
}
