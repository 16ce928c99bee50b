//! A random forest that reproduces a labelling (Breiman 2001): bootstrap rows, ⌈√dims⌉ columns tried per split, Gini, grown
//! to purity. Only which leaf a row falls into matters here: two rows are as similar as the share of trees that put
//! them into one leaf. Cost O(trees · n · log n · √dims). Trees are grown side by side, each from its own stream.

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
        let classes = labels.iter().max().map_or(1, |&m| m as usize + 1);
        let leaves = pool.map(trees, |t| {
            let nodes = tree(x, labels, classes, train, &mut Rng::stream(seed, "forest", t as u64));
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

fn tree(x: &Matrix, labels: &[u32], classes: usize, train: &[u32], rng: &mut Rng) -> Vec<Node> {
    let mut rows: Vec<u32> = (0..train.len()).map(|_| train[rng.below(train.len())]).collect();
    let tried = (x.cols() as f64).sqrt().ceil() as usize;
    let mut nodes = vec![Node::Leaf];
    let mut open = vec![(0u32, 0usize, rows.len())];
    let mut columns: Vec<usize> = (0..x.cols()).collect();
    let mut sorted: Vec<(f64, u32)> = Vec::new();
    while let Some((node, start, end)) = open.pop() {
        let part = &mut rows[start..end];
        let first = part.first().map(|&r| labels[r as usize]);
        if part.len() < 2 || part.iter().all(|&r| Some(labels[r as usize]) == first) {
            continue;
        }
        rng.shuffle(&mut columns);
        let mut best: Option<(f64, usize, f64)> = None;
        for (nth, &column) in columns.iter().enumerate() {
            // Columns that do not vary here do not count as tried.
            if nth >= tried && best.is_some() {
                break;
            }
            sorted.clear();
            sorted.extend(part.iter().map(|&r| (x.row(r as usize)[column], labels[r as usize])));
            sorted.sort_by(|a, b| a.0.total_cmp(&b.0));
            if let Some((purity, at)) = best_split(&sorted, classes)
                && best.is_none_or(|b| purity > b.0)
            {
                best = Some((purity, column, at));
            }
        }
        let Some((_, column, at)) = best else { continue };
        // Partition in place, order kept on the left only; the order inside a node does not matter.
        let mut middle = 0;
        for i in 0..part.len() {
            if x.row(part[i] as usize)[column] <= at {
                part.swap(i, middle);
                middle += 1;
            }
        }
        let (left, right) = (nodes.len() as u32, nodes.len() as u32 + 1);
        nodes.push(Node::Leaf);
        nodes.push(Node::Leaf);
        nodes[node as usize] = Node::Split { column, at, left, right };
        open.push((right, start + middle, end));
        open.push((left, start, start + middle));
    }
    nodes
}

/// Σ over both sides of Σ_c count²/size, to be maximised (the same as least Gini impurity), and the threshold.
fn best_split(sorted: &[(f64, u32)], classes: usize) -> Option<(f64, f64)> {
    let (mut left, mut right) = (vec![0.0; classes], vec![0.0; classes]);
    sorted.iter().for_each(|s| right[s.1 as usize] += 1.0);
    let (mut left_sq, mut right_sq) = (0.0, right.iter().map(|c| c * c).sum::<f64>());
    let n = sorted.len() as f64;
    let mut best: Option<(f64, f64)> = None;
    for (i, pair) in sorted.windows(2).enumerate() {
        let class = pair[0].1 as usize;
        left_sq += 2.0 * left[class] + 1.0;
        right_sq -= 2.0 * right[class] - 1.0;
        left[class] += 1.0;
        right[class] -= 1.0;
        if pair[0].0 < pair[1].0 {
            let size = (i + 1) as f64;
            let purity = left_sq / size + right_sq / (n - size);
            if best.is_none_or(|b| purity > b.0) {
                // The middle, unless rounding makes it the upper value.
                let middle = 0.5 * (pair[0].0 + pair[1].0);
                best = Some((purity, if middle < pair[1].0 { middle } else { pair[0].0 }));
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
        let sorted = [(0.0, 0), (1.0, 0), (2.0, 1), (2.0, 1), (3.0, 0)];
        // After 1: (2²/2) + (2² + 1)/3 = 3.67; after 2 or 0 less.
        let (purity, at) = best_split(&sorted, 2).unwrap();
        assert!((purity - (2.0 + 5.0 / 3.0)).abs() < 1e-12 && at == 1.5);
        assert_eq!(best_split(&[(1.0, 0), (1.0, 1)], 2), None);
    }
}
