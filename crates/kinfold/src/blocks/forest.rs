//! A random forest that reproduces a labelling (Breiman 2001): bootstrap rows, ⌈√dims⌉ columns tried per split, Gini, grown
//! to purity. Only which leaf a row falls into matters here: two rows are as similar as the share of trees that put
//! them into one leaf. Cost O(trees · n · log n · √dims). Trees are grown side by side, each from its own stream. Values are
//! replaced by their ranks in the column, once for all trees: sorting whole numbers is several times as fast.

use super::par::Pool;
use crate::data::Matrix;
use crate::rng::Rng;

/// The leaf of every row in every tree.
pub struct Forest {
    leaves: Vec<Vec<u32>>,
}

enum Node {
    Leaf,
    Split { column: usize, at: f64, left: u32, right: u32 },
}

impl Forest {
    /// Grows `trees` trees on the rows `train` of `x` and drops every row through them. `seed` names the streams.
    pub fn grow(pool: &Pool, x: &Matrix, labels: &[u32], train: &[u32], trees: usize, seed: u64) -> Forest {
        let columns = pool.map(x.cols(), |j| Column::new(x, j));
        let leaves = pool.map(trees, |t| {
            let nodes = tree(&columns, labels, train, &mut Rng::stream(seed, "forest", t as u64));
            (0..x.rows()).map(|row| drop_through(&nodes, x.row(row))).collect()
        });
        Forest { leaves }
    }

    /// Number of trees.
    pub fn trees(&self) -> usize {
        self.leaves.len()
    }
    /// The leaf of each row in tree `t`; numbers below [`Self::nodes`].
    pub fn leaves(&self, t: usize) -> &[u32] {
        &self.leaves[t]
    }
    /// A bound on the leaf numbers of tree `t`.
    pub fn nodes(&self, t: usize) -> usize {
        self.leaves[t].iter().max().map_or(0, |&m| m as usize + 1)
    }
    /// Share of trees in which two rows share a leaf.
    pub fn similarity(&self, a: usize, b: usize) -> f64 {
        self.leaves.iter().filter(|l| l[a] == l[b]).count() as f64 / self.leaves.len().max(1) as f64
    }
}

fn drop_through(nodes: &[Node], row: &[f64]) -> u32 {
    let mut at = 0;
    while let Node::Split { column, at: threshold, left, right } = &nodes[at as usize] {
        at = if row[*column] <= *threshold { *left } else { *right };
    }
    at
}

/// A column by ranks.
struct Column {
    /// The rank of every row's value among the distinct ones.
    ranks: Vec<u32>,
    /// The distinct values, ascending.
    values: Vec<f64>,
}

impl Column {
    fn new(x: &Matrix, j: usize) -> Column {
        let of = |row: u32| x.row(row as usize)[j];
        let mut order: Vec<u32> = (0..x.rows() as u32).collect();
        order.sort_unstable_by(|&a, &b| of(a).total_cmp(&of(b)));
        let (mut ranks, mut values) = (vec![0; x.rows()], Vec::new());
        for row in order {
            // Zeros of both signs are one value.
            if values.last().is_none_or(|&last| of(row) > last) {
                values.push(of(row));
            }
            ranks[row as usize] = values.len() as u32 - 1;
        }
        Column { ranks, values }
    }

    /// What parts two ranks: the middle, unless rounding makes it the upper value.
    fn threshold(&self, low: u32, high: u32) -> f64 {
        let [low, high] = [low, high].map(|r| self.values[r as usize]);
        let middle = 0.5 * (low + high);
        if middle < high { middle } else { low }
    }
}

/// Where a node is parted: ranks up to `low` go left, those from `high` on right.
struct Split {
    purity: f64,
    low: u32,
    high: u32,
}

fn tree(all: &[Column], labels: &[u32], train: &[u32], rng: &mut Rng) -> Vec<Node> {
    let classes = labels.iter().max().map_or(1, |&m| m as usize + 1);
    let mut rows: Vec<u32> = (0..train.len()).map(|_| train[rng.below(train.len())]).collect();
    let tried = (all.len() as f64).sqrt().ceil() as usize;
    let mut nodes = vec![Node::Leaf];
    let mut open = vec![(0u32, 0usize, rows.len())];
    let mut columns: Vec<usize> = (0..all.len()).collect();
    let mut sorted: Vec<u64> = Vec::new();
    let mut counts = [vec![0.0; classes], vec![0.0; classes]];
    while let Some((node, start, end)) = open.pop() {
        let part = &mut rows[start..end];
        let first = part.first().map(|&r| labels[r as usize]);
        if part.len() < 2 || part.iter().all(|&r| Some(labels[r as usize]) == first) {
            continue;
        }
        rng.shuffle(&mut columns);
        let mut best: Option<(usize, Split)> = None;
        for (nth, &column) in columns.iter().enumerate() {
            // Columns that do not vary here do not count as tried.
            if nth >= tried && best.is_some() {
                break;
            }
            let ranks = &all[column].ranks;
            sorted.clear();
            sorted.extend(part.iter().map(|&r| u64::from(ranks[r as usize]) << 32 | u64::from(labels[r as usize])));
            sorted.sort_unstable();
            if let Some(split) = best_split(&sorted, &mut counts)
                && best.as_ref().is_none_or(|(_, b)| split.purity > b.purity)
            {
                best = Some((column, split));
            }
        }
        let Some((column, split)) = best else { continue };
        // Partition in place, order kept on the left only; the order inside a node does not matter.
        let mut middle = 0;
        for i in 0..part.len() {
            if all[column].ranks[part[i] as usize] <= split.low {
                part.swap(i, middle);
                middle += 1;
            }
        }
        let (left, right) = (nodes.len() as u32, nodes.len() as u32 + 1);
        nodes.push(Node::Leaf);
        nodes.push(Node::Leaf);
        nodes[node as usize] = Node::Split { column, at: all[column].threshold(split.low, split.high), left, right };
        open.push((right, start + middle, end));
        open.push((left, start, start + middle));
    }
    nodes
}

/// The split with most Σ over both sides of Σ_c count²/size (the same as least Gini impurity) of ranks (upper half of a
/// number) with their classes (lower half), sorted; `None` when all ranks are equal. `counts` is room for a number per
/// class, twice.
fn best_split(sorted: &[u64], [left, right]: &mut [Vec<f64>; 2]) -> Option<Split> {
    let (rank, class) = (|s: u64| (s >> 32) as u32, |s: u64| s as u32 as usize);
    left.fill(0.0);
    right.fill(0.0);
    sorted.iter().for_each(|&s| right[class(s)] += 1.0);
    let (mut left_sq, mut right_sq) = (0.0, right.iter().map(|c| c * c).sum::<f64>());
    let n = sorted.len() as f64;
    let mut best: Option<Split> = None;
    for (i, pair) in sorted.windows(2).enumerate() {
        let c = class(pair[0]);
        left_sq += 2.0 * left[c] + 1.0;
        right_sq -= 2.0 * right[c] - 1.0;
        left[c] += 1.0;
        right[c] -= 1.0;
        let (low, high) = (rank(pair[0]), rank(pair[1]));
        if low < high {
            let size = (i + 1) as f64;
            let purity = left_sq / size + right_sq / (n - size);
            if best.as_ref().is_none_or(|b| purity > b.purity) {
                best = Some(Split { purity, low, high });
            }
        }
    }
    best
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_of_one_class_share_leaves_more_often() {
        let mut rng = Rng::stream(3, "test", 0);
        let labels: Vec<u32> = (0..120).map(|i| i % 3).collect();
        let x = Matrix::from_vec(
            2,
            labels.iter().flat_map(|&l| [4.0 * f64::from(l) + rng.normal(), rng.normal()]).collect(),
        );
        let train: Vec<u32> = (0..120).collect();
        let forest = Forest::grow(&Pool::new(1), &x, &labels, &train, 30, 5);
        let mean = |same: bool| {
            let pairs: Vec<f64> = (0..120usize)
                .flat_map(|a| (0..a).map(move |b| (a, b)))
                .filter(|&(a, b)| (labels[a] == labels[b]) == same)
                .map(|(a, b)| forest.similarity(a, b))
                .collect();
            pairs.iter().sum::<f64>() / pairs.len() as f64
        };
        assert!(mean(true) > 5.0 * mean(false), "{} {}", mean(true), mean(false));
        let again = Forest::grow(&Pool::new(2), &x, &labels, &train, 30, 5);
        assert!((0..30).all(|t| forest.leaves(t) == again.leaves(t)));
    }

    #[test]
    fn the_best_split_is_the_one_with_least_impurity() {
        let sorted = [(0u64, 0), (1, 0), (2, 1), (2, 1), (3, 0)].map(|(rank, class): (u64, u64)| rank << 32 | class);
        let counts = &mut [vec![0.0; 2], vec![0.0; 2]];
        // After 1: (2²/2) + (2² + 1)/3 = 3.67; after 2 or 0 less.
        let split = best_split(&sorted, counts).unwrap();
        assert!((split.purity - (2.0 + 5.0 / 3.0)).abs() < 1e-12 && (split.low, split.high) == (1, 2));
        assert!(best_split(&[1 << 32, 1 << 32 | 1], counts).is_none());
        let column = Column::new(&Matrix::from_vec(1, vec![2.0, 0.0, 1.0, 2.0, -0.0]), 0);
        assert_eq!((&column.ranks[..], &column.values[..]), (&[2, 0, 1, 2, 0][..], &[0.0, 1.0, 2.0][..]));
        assert_eq!(column.threshold(1, 2), 1.5);
    }
}
