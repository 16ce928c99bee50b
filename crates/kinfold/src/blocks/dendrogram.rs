//! Average linkage (UPGMA) by nearest-neighbour chain (Murtagh 1983), cut at any number of clusters:
//! d(k∪l, m) = (w_k d(k, m) + w_l d(l, m)) / (w_k + w_l). Averages of any real numbers are reducible, so the chain merges
//! as greedy search does and heights never fall, also with the negative distances that must-links make. Ties go to the
//! previous element of the chain, then to the smaller id. O(n²) time; one triangle of f64, 4·n² bytes.
//! Not the `kodama` crate: points have weights here (contracted chunklets, weighted rows) and a run can be stopped.

use super::kernel::Pairwise;
use crate::context::{RunContext, Stop};
use crate::data::Float;

/// The distances d(i, j), j < i, row after row.
#[derive(Debug, Clone)]
pub struct Triangle {
    n: usize,
    values: Vec<f64>,
}

/// Entries per parallel task.
const TASK: usize = 1 << 15;

impl Triangle {
    /// All distances 0.
    pub fn zeros(n: usize) -> Triangle {
        Triangle { n, values: vec![0.0; Triangle::entries(n)] }
    }
    /// Bytes of the distances between n points.
    pub fn memory(n: usize) -> u64 {
        8u64.saturating_mul(n as u64).saturating_mul(n.saturating_sub(1) as u64) / 2
    }
    fn entries(n: usize) -> usize {
        n * n.saturating_sub(1) / 2
    }

    /// `f` of the squared distances, or of the dot products, of all rows.
    pub fn of_rows<F: Float>(
        ctx: &RunContext,
        rows: &Pairwise<'_, F>,
        f: impl Fn(usize, usize, f64) -> f64 + Sync,
    ) -> Triangle {
        let mut triangle = Triangle::zeros(rows.len());
        ctx.pool.map_chunks_mut(&mut triangle.values, TASK, |start, mut slice| {
            let (mut i, mut j) = Triangle::place(start);
            while !slice.is_empty() {
                let (row, rest) = slice.split_at_mut(slice.len().min(i - j));
                rows.fill(i, j, row);
                row.iter_mut().zip(j..).for_each(|(v, j)| *v = f(i, j, *v));
                slice = rest;
                (i, j) = (i + 1, 0);
            }
        });
        triangle
    }

    /// The pair (i, j), j < i, at a position.
    fn place(at: usize) -> (usize, usize) {
        let mut i = ((1.0 + (1.0 + 8.0 * at as f64).sqrt()) / 2.0) as usize;
        while Triangle::entries(i) > at {
            i -= 1;
        }
        while Triangle::entries(i + 1) <= at {
            i += 1;
        }
        (i, at - Triangle::entries(i))
    }

    fn at(i: usize, j: usize) -> usize {
        let (low, high) = if i < j { (i, j) } else { (j, i) };
        Triangle::entries(high) + low
    }
    /// Number of points.
    pub fn len(&self) -> usize {
        self.n
    }
    /// No points at all?
    pub fn is_empty(&self) -> bool {
        self.n == 0
    }
    /// The distance of two different points.
    pub fn get(&self, i: usize, j: usize) -> f64 {
        self.values[Triangle::at(i, j)]
    }
    /// The distance of two different points, to change.
    pub fn get_mut(&mut self, i: usize, j: usize) -> &mut f64 {
        &mut self.values[Triangle::at(i, j)]
    }
    /// The largest distance; 0 without any.
    pub fn largest(&self) -> f64 {
        self.values.iter().copied().fold(0.0, f64::max)
    }

    /// Mean distances between groups of points: `group[i]` below `groups`, point i counting `weights[i]` times.
    pub fn contracted(&self, group: &[u32], groups: usize, weights: &[f64]) -> Triangle {
        let mut total = vec![0.0; groups];
        group.iter().zip(weights).for_each(|(&g, w)| total[g as usize] += w);
        let mut out = Triangle::zeros(groups);
        for i in 1..self.n {
            for j in 0..i {
                let (a, b) = (group[i] as usize, group[j] as usize);
                if a != b {
                    *out.get_mut(a, b) += weights[i] / total[a] * (weights[j] / total[b]) * self.get(i, j);
                }
            }
        }
        out
    }
}

/// Two clusters become one.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Merge {
    /// The distance at which they do.
    pub height: f64,
    /// Smallest point of one of them.
    pub a: u32,
    /// Smallest point of the other, above `a`.
    pub b: u32,
}

/// All merges of a set of points, lowest first.
#[derive(Debug, Clone, PartialEq)]
pub struct Dendrogram {
    points: usize,
    merges: Vec<Merge>,
    /// Why the merging ended early; the merges that were missing then follow in order of the points.
    pub stopped: Option<Stop>,
}

impl Dendrogram {
    /// Number of points.
    pub fn points(&self) -> usize {
        self.points
    }
    /// The merges, lowest first.
    pub fn merges(&self) -> &[Merge] {
        &self.merges
    }
    /// The dendrogram of finer points: point i belongs to the point `group[i]` of this one, whose smallest finer point is
    /// `first`; points of a group merge first, at the height of the lowest merge.
    pub fn refined(&self, points: usize, group: &[u32], first: impl Fn(u32) -> u32) -> Dendrogram {
        let bottom = self.merges.first().map_or(0.0, |m| m.height).min(0.0);
        let inside = (0..points as u32).filter(|&i| first(group[i as usize]) != i);
        let mut merges: Vec<Merge> =
            inside.map(|i| Merge { height: bottom, a: first(group[i as usize]), b: i }).collect();
        merges.extend(self.merges.iter().map(|m| {
            let (a, b) = (first(m.a), first(m.b));
            Merge { height: m.height, a: a.min(b), b: a.max(b) }
        }));
        Dendrogram { points, merges, stopped: self.stopped }
    }
    /// The cluster of every point when there are k (1 to the number of points), numbered by first point.
    pub fn cut(&self, k: usize) -> Vec<u32> {
        let merged = self.points.saturating_sub(k.max(1));
        let mut parent: Vec<u32> = (0..self.points as u32).collect();
        for m in &self.merges[..merged.min(self.merges.len())] {
            let (a, b) = (root(&mut parent, m.a), root(&mut parent, m.b));
            parent[a.max(b) as usize] = a.min(b);
        }
        // A root is the smallest point of its cluster, so it is met before the others.
        let mut label = vec![0u32; self.points];
        let mut next = 0;
        for i in 0..self.points as u32 {
            let r = root(&mut parent, i);
            if r == i {
                label[i as usize] = next;
                next += 1;
            } else {
                label[i as usize] = label[r as usize];
            }
        }
        label
    }
}

fn root(parent: &mut [u32], mut x: u32) -> u32 {
    while parent[x as usize] != x {
        let up = parent[x as usize];
        parent[x as usize] = parent[up as usize];
        x = up;
    }
    x
}

/// Merges between two looks at the clock.
const BETWEEN: usize = 64;

/// Average linkage of weighted points.
pub fn average_link(ctx: &RunContext, mut d: Triangle, weights: &[f64]) -> Dendrogram {
    let n = d.len();
    let mut weight = weights.to_vec();
    // Height of the last merge into each cluster: rounding must not let a parent come before its child.
    let mut height = vec![f64::NEG_INFINITY; n];
    let mut active: Vec<u32> = (0..n as u32).collect();
    let mut merges: Vec<Merge> = Vec::with_capacity(n.saturating_sub(1));
    let mut chain: Vec<u32> = Vec::new();
    let mut stopped = None;
    while active.len() > 1 {
        if merges.len().is_multiple_of(BETWEEN) && chain.is_empty() | (chain.len() > 1) {
            ctx.progress("merges", merges.len() as u64, Some(n as u64 - 1));
            if let Err(stop) = ctx.checkpoint() {
                stopped = Some(stop);
                break;
            }
        }
        let last = *chain.last().unwrap_or(&active[0]);
        if chain.is_empty() {
            chain.push(last);
        }
        let before = chain.len().checked_sub(2).map(|at| chain[at]);
        let (near, distance) = nearest(&d, &active, last, before);
        if before != Some(near) {
            chain.push(near);
            continue;
        }
        chain.truncate(chain.len() - 2);
        let (a, b) = (last.min(near), last.max(near));
        let (x, y) = (a as usize, b as usize);
        height[x] = distance.max(height[x]).max(height[y]);
        merges.push(Merge { height: height[x], a, b });
        active.retain(|&c| c != b);
        let (wx, wy) = (weight[x], weight[y]);
        weight[x] = wx + wy;
        let (px, py) = (wx / (wx + wy), wy / (wx + wy));
        for &c in active.iter().filter(|&&c| c != a) {
            let c = c as usize;
            let mean = px * d.get(x, c) + py * d.get(y, c);
            *d.get_mut(x, c) = mean;
        }
    }
    merges.sort_by(|p, q| p.height.total_cmp(&q.height));
    let top = merges.last().map_or(0.0, |m| m.height);
    merges.extend(active.iter().skip(1).map(|&b| Merge { height: top, a: active[0], b }));
    Dendrogram { points: n, merges, stopped }
}

/// The cluster nearest to `x`: `before` if none is nearer, else the first of the nearest.
fn nearest(d: &Triangle, active: &[u32], x: u32, before: Option<u32>) -> (u32, f64) {
    let mut best = before.map_or((u32::MAX, f64::INFINITY), |b| (b, d.get(x as usize, b as usize)));
    let split = active.partition_point(|&c| c < x);
    let row = &d.values[Triangle::entries(x as usize)..];
    for &c in &active[..split] {
        if row[c as usize] < best.1 || best.0 == u32::MAX {
            best = (c, row[c as usize]);
        }
    }
    for &c in &active[split + 1..] {
        let distance = d.values[Triangle::entries(c as usize) + x as usize];
        if distance < best.1 || best.0 == u32::MAX {
            best = (c, distance);
        }
    }
    best
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Rng;

    fn random(n: usize, rng: &mut Rng) -> Triangle {
        let mut t = Triangle::zeros(n);
        t.values.iter_mut().for_each(|v| *v = 3.0 * rng.normal());
        t
    }

    /// Greedy merging with the averages summed anew for every pair of clusters.
    fn by_brute_force(d: &Triangle, weights: &[f64], k: usize) -> Vec<u32> {
        let mut clusters: Vec<Vec<usize>> = (0..d.len()).map(|i| vec![i]).collect();
        let mean = |p: &[usize], q: &[usize]| {
            let (mut sum, mut total) = (0.0, 0.0);
            for &i in p {
                for &j in q {
                    sum += weights[i] * weights[j] * d.get(i, j);
                    total += weights[i] * weights[j];
                }
            }
            sum / total
        };
        while clusters.len() > k {
            let mut best = (f64::INFINITY, 0, 0);
            for q in 0..clusters.len() {
                for p in 0..q {
                    let m = mean(&clusters[p], &clusters[q]);
                    if m < best.0 {
                        best = (m, p, q);
                    }
                }
            }
            let moved = clusters.remove(best.2);
            clusters[best.1].extend(moved);
        }
        let mut labels = vec![0; d.len()];
        clusters.sort_by_key(|c| c.iter().copied().min());
        clusters.iter().enumerate().for_each(|(l, c)| c.iter().for_each(|&i| labels[i] = l as u32));
        labels
    }

    #[test]
    fn every_cut_is_what_greedy_merging_by_definition_gives_and_heights_never_fall() {
        let mut rng = Rng::stream(1, "dendrogram test", 0);
        let ctx = RunContext::new(0).with_threads(1);
        for case in 0..300 {
            let n = 1 + rng.below(14);
            let d = random(n, &mut rng);
            let weights: Vec<f64> = (0..n).map(|_| if case % 2 == 0 { 1.0 } else { 0.5 + rng.unit() }).collect();
            let tree = average_link(&ctx, d.clone(), &weights);
            assert!(tree.merges().windows(2).all(|w| w[0].height <= w[1].height));
            for k in 1..=n {
                assert_eq!(tree.cut(k), by_brute_force(&d, &weights, k), "case {case}, k = {k}");
            }
        }
    }

    #[test]
    fn positions_and_pairs_belong_to_each_other() {
        let mut at = 0;
        for i in 1..200 {
            for j in 0..i {
                assert_eq!((Triangle::place(at), Triangle::at(j, i)), ((i, j), at));
                at += 1;
            }
        }
    }

    #[test]
    fn contraction_takes_weighted_means_and_equals_zero_height_merges() {
        let mut rng = Rng::stream(2, "dendrogram test", 0);
        let d = random(6, &mut rng);
        let weights = [1.0, 2.0, 1.0, 0.5, 3.0, 1.0];
        let c = d.contracted(&[0, 1, 0, 2, 1, 0], 3, &weights);
        let by_hand = (2.0 * d.get(0, 1)
            + 2.0 * d.get(1, 2)
            + 2.0 * d.get(5, 1)
            + 3.0 * d.get(0, 4)
            + 3.0 * d.get(2, 4)
            + 3.0 * d.get(4, 5))
            / (3.0 * 5.0);
        assert!((c.get(0, 1) - by_hand).abs() < 1e-12);
        let mut close = d;
        for (i, j) in [(0, 2), (0, 5), (2, 5), (1, 4)] {
            *close.get_mut(i, j) = -1e9;
        }
        let ctx = RunContext::new(0).with_threads(1);
        let labels = average_link(&ctx, close, &weights).cut(2);
        let of_groups = average_link(&ctx, c, &[3.0, 5.0, 0.5]).cut(2);
        assert_eq!(labels, [0, 1, 0, 2, 1, 0].map(|g: usize| of_groups[g]));
    }

    #[test]
    fn a_stopped_run_still_cuts_into_k() {
        let token = crate::context::CancelToken::new();
        token.cancel();
        let ctx = RunContext::new(0).with_cancel(token);
        let tree = average_link(&ctx, random(9, &mut Rng::stream(3, "dendrogram test", 0)), &[1.0; 9]);
        assert_eq!((tree.stopped, tree.merges().len()), (Some(Stop::Cancelled), 8));
        assert_eq!(tree.cut(4).iter().max(), Some(&3));
    }
}
