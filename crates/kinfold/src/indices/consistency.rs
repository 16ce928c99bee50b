//! Consistency index (Fred 2001): the share of rows in matching clusters under the best one-to-one matching of clusters
//! to classes, max_π Σ n_{a,π(a)} / n. Equal to "clustering accuracy". Optimal matching, O(K³): greedy is wrong.

use super::Scored;
use crate::blocks::matching::Matcher;

/// See the module.
pub fn consistency(scored: &Scored<'_>) -> Option<f64> {
    let table = scored.contingency()?;
    if table.total == 0 {
        return None;
    }
    let flip = table.first.len() > table.second.len();
    let (rows, columns) =
        if flip { (table.second.len(), table.first.len()) } else { (table.first.len(), table.second.len()) };
    let mut cost = vec![0.0; rows * columns];
    for &(a, b, count) in &table.cells {
        let (r, c) = if flip { (b, a) } else { (a, b) };
        cost[r as usize * columns + c as usize] = -(count as f64);
    }
    let mut matched = vec![0u32; rows];
    let total = Matcher::new().solve(rows, columns, |r, c| cost[r * columns + c], &mut matched)?;
    Some(-total / table.total as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_best_matching_counts_not_the_greedy_one() {
        // spec/validation.md, test 5: contingency [[5, 4], [4, 0]] gives 8/13, greedy only 5/13.
        let labels = [vec![0u32; 9], vec![1; 4]].concat();
        let truth = [vec![0u32; 5], vec![1; 4], vec![0; 4]].concat();
        let s = Scored { labels: &labels, truth: Some(&truth), constraints: None };
        assert!((consistency(&s).unwrap() - 8.0 / 13.0).abs() < 1e-12);
        let s = Scored { labels: &[0, 0, 1, 1, 2, 2], truth: Some(&[0, 0, 0, 1, 1, 1]), constraints: None };
        assert!((consistency(&s).unwrap() - 4.0 / 6.0).abs() < 1e-12);
    }
}
