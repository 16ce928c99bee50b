//! Minimum-cost assignment of every row to a column of its own: rectangular, rows ≤ columns, `+inf` = forbidden.
//! Shortest augmenting paths with dual prices (Hungarian method as a dense Dijkstra per row), O(rows² · columns):
//! minimise Σ cost[r][c(r)] over injective c. When the smallest slack of a search is infinite, the row cannot be
//! placed whatever the others do, and the problem has no solution.

/// A reusable workspace: a Lloyd iteration solves thousands of tiny matchings.
#[derive(Debug, Clone, Default)]
pub struct Matcher {
    row_price: Vec<f64>,
    column_price: Vec<f64>,
    owner: Vec<usize>,
    way: Vec<usize>,
    slack: Vec<f64>,
    done: Vec<bool>,
}

const NOBODY: usize = usize::MAX;

impl Matcher {
    /// An empty workspace.
    pub fn new() -> Matcher {
        Matcher::default()
    }

    /// Writes the best column of every row into `out` (as long as there are rows) and returns the total cost;
    /// `None` when no assignment of finite cost exists. `cost(row, column)` is read `rows · columns` times per row
    /// in the worst case, must not be NaN and not `-inf`.
    pub fn solve(
        &mut self,
        rows: usize,
        columns: usize,
        cost: impl Fn(usize, usize) -> f64,
        out: &mut [u32],
    ) -> Option<f64> {
        debug_assert_eq!(out.len(), rows);
        if rows > columns {
            return None;
        }
        self.row_price.clear();
        self.row_price.resize(rows, 0.0);
        self.column_price.clear();
        self.column_price.resize(columns, 0.0);
        self.owner.clear();
        self.owner.resize(columns, NOBODY);
        self.way.clear();
        self.way.resize(columns, NOBODY);
        for row in 0..rows {
            self.place(row, columns, &cost)?;
        }
        for (column, &row) in self.owner.iter().enumerate() {
            if row != NOBODY {
                out[row] = column as u32;
            }
        }
        Some(out.iter().enumerate().map(|(row, &column)| cost(row, column as usize)).sum())
    }

    /// Finds the cheapest augmenting path from `row` to a free column and flips it.
    fn place(&mut self, row: usize, columns: usize, cost: &impl Fn(usize, usize) -> f64) -> Option<()> {
        self.slack.clear();
        self.slack.resize(columns, f64::INFINITY);
        self.done.clear();
        self.done.resize(columns, false);
        // `way[c]` is the column from whose row c was reached; NOBODY means from `row` itself.
        let (mut here, mut from) = (row, NOBODY);
        let last = loop {
            let (mut smallest, mut next) = (f64::INFINITY, NOBODY);
            for column in 0..columns {
                if self.done[column] {
                    continue;
                }
                let reduced = cost(here, column) - self.row_price[here] - self.column_price[column];
                if reduced < self.slack[column] {
                    self.slack[column] = reduced;
                    self.way[column] = from;
                }
                if self.slack[column] < smallest {
                    smallest = self.slack[column];
                    next = column;
                }
            }
            if next == NOBODY {
                return None;
            }
            self.row_price[row] += smallest;
            for column in 0..columns {
                if self.done[column] {
                    self.row_price[self.owner[column]] += smallest;
                    self.column_price[column] -= smallest;
                } else {
                    self.slack[column] -= smallest;
                }
            }
            self.done[next] = true;
            if self.owner[next] == NOBODY {
                break next;
            }
            here = self.owner[next];
            from = next;
        };
        let mut column = last;
        loop {
            let before = self.way[column];
            if before == NOBODY {
                self.owner[column] = row;
                return Some(());
            }
            self.owner[column] = self.owner[before];
            column = before;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Rng;

    fn brute(rows: usize, columns: usize, cost: &[f64], row: usize, used: &mut Vec<bool>) -> f64 {
        if row == rows {
            return 0.0;
        }
        let mut best = f64::INFINITY;
        for c in 0..columns {
            if !used[c] && cost[row * columns + c].is_finite() {
                used[c] = true;
                best = best.min(cost[row * columns + c] + brute(rows, columns, cost, row + 1, used));
                used[c] = false;
            }
        }
        best
    }

    #[test]
    fn matching_equals_brute_force_on_square_wide_and_forbidden_costs() {
        let mut rng = Rng::stream(1, "matching", 0);
        let mut matcher = Matcher::new();
        let (mut feasible, mut infeasible) = (0, 0);
        for case in 0..4000 {
            let rows = 1 + rng.below(5);
            let columns = if case % 3 == 0 { rows } else { rows + rng.below(3) };
            let holes = [0.0, 0.2, 0.5][case % 3];
            let whole_numbers = case % 2 == 0;
            let cost: Vec<f64> = (0..rows * columns)
                .map(|_| match (rng.unit() < holes, whole_numbers) {
                    (true, _) => f64::INFINITY,
                    (false, true) => rng.below(4) as f64,
                    (false, false) => rng.unit() * 10.0,
                })
                .collect();
            let mut out = vec![0; rows];
            let found = matcher.solve(rows, columns, |r, c| cost[r * columns + c], &mut out);
            let best = brute(rows, columns, &cost, 0, &mut vec![false; columns]);
            match found {
                None => {
                    infeasible += 1;
                    assert_eq!(best, f64::INFINITY);
                }
                Some(total) => {
                    feasible += 1;
                    assert!((total - best).abs() < 1e-9, "{total} is not {best}");
                    let mut distinct = out.clone();
                    distinct.sort_unstable();
                    distinct.dedup();
                    assert_eq!(distinct.len(), rows);
                }
            }
        }
        assert!(feasible > 1000 && infeasible > 100, "{feasible} {infeasible}");
    }

    #[test]
    fn more_rows_than_columns_cannot_be_matched() {
        assert_eq!(Matcher::new().solve(3, 2, |_, _| 1.0, &mut [0; 3]), None);
    }

    #[test]
    fn a_large_matching_satisfies_complementary_slackness() {
        let mut rng = Rng::stream(2, "matching", 1);
        let (rows, columns) = (60, 80);
        let cost: Vec<f64> = (0..rows * columns).map(|_| rng.unit() * 1e6).collect();
        let mut matcher = Matcher::new();
        let mut out = vec![0; rows];
        let total = matcher.solve(rows, columns, |r, c| cost[r * columns + c], &mut out).unwrap();
        // The duals prove optimality: feasible prices, and Σ prices = cost.
        for r in 0..rows {
            for c in 0..columns {
                assert!(cost[r * columns + c] - matcher.row_price[r] - matcher.column_price[c] > -1e-6);
            }
        }
        assert!(matcher.column_price.iter().all(|&p| p <= 0.0));
        let dual: f64 = matcher.row_price.iter().sum::<f64>() + matcher.column_price.iter().sum::<f64>();
        assert!((dual - total).abs() < 1e-6 * total);
    }
}
