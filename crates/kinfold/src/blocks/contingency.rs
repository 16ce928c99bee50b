//! How two labellings meet: n_ab, the row sums a and the column sums b. Labels are compacted first, so that only the
//! partition matters; stored sparsely, ordered, so sums are the same whatever the labels are called.

use rustc_hash::FxHashMap;

/// Counts of rows by (label in one, label in the other).
#[derive(Debug, Clone, PartialEq)]
pub struct Contingency {
    /// (row class, column class, count), ascending, counts positive.
    pub cells: Vec<(u32, u32, u64)>,
    /// Rows of each class of the first labelling.
    pub first: Vec<u64>,
    /// Rows of each class of the second labelling.
    pub second: Vec<u64>,
    /// All rows.
    pub total: u64,
}

/// Numbers the distinct values by first appearance.
pub fn compact<T: Copy + Eq + std::hash::Hash>(labels: impl Iterator<Item = T>) -> (Vec<u32>, usize) {
    let mut ids: FxHashMap<T, u32> = FxHashMap::default();
    let compacted = labels
        .map(|l| {
            let next = ids.len() as u32;
            *ids.entry(l).or_insert(next)
        })
        .collect();
    (compacted, ids.len())
}

impl Contingency {
    /// Of two labellings of the same rows.
    pub fn new(first: &[u32], second: &[u32]) -> Contingency {
        assert_eq!(first.len(), second.len(), "two labellings of the same rows");
        let (a, classes_a) = compact(first.iter().copied());
        let (b, classes_b) = compact(second.iter().copied());
        let mut pairs: Vec<(u32, u32)> = a.iter().copied().zip(b.iter().copied()).collect();
        pairs.sort_unstable();
        let mut cells: Vec<(u32, u32, u64)> = Vec::new();
        let (mut sums_a, mut sums_b) = (vec![0; classes_a], vec![0; classes_b]);
        for (x, y) in pairs {
            sums_a[x as usize] += 1;
            sums_b[y as usize] += 1;
            match cells.last_mut() {
                Some(cell) if (cell.0, cell.1) == (x, y) => cell.2 += 1,
                _ => cells.push((x, y, 1)),
            }
        }
        Contingency { cells, first: sums_a, second: sums_b, total: first.len() as u64 }
    }

    /// Entropy of the first labelling, of the second, and their mutual information (natural logarithms).
    pub fn information(&self) -> (f64, f64, f64) {
        let n = self.total as f64;
        let entropy =
            |sums: &[u64]| -> f64 { sums.iter().filter(|&&s| s > 0).map(|&s| s as f64 / n).map(|p| -p * p.ln()).sum() };
        let mutual: f64 = self
            .cells
            .iter()
            .map(|&(a, b, count)| {
                let (c, x, y) = (count as f64, self.first[a as usize] as f64, self.second[b as usize] as f64);
                c / n * ((c.ln() + n.ln()) - (x.ln() + y.ln()))
            })
            .sum();
        (entropy(&self.first), entropy(&self.second), mutual.max(0.0))
    }

    /// Pairs of rows together in both, in the first, in the second, and all pairs.
    pub fn pairs(&self) -> (u128, u128, u128, u128) {
        let two = |n: u64| u128::from(n) * u128::from(n.saturating_sub(1)) / 2;
        (
            self.cells.iter().map(|c| two(c.2)).sum(),
            self.first.iter().map(|&n| two(n)).sum(),
            self.second.iter().map(|&n| two(n)).sum(),
            two(self.total),
        )
    }
}
