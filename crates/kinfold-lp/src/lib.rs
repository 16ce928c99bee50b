//! Linear programmes by clarabel's interior-point method, behind one function. The only crate that names clarabel, so that
//! its generic code is compiled once. Interior points end in the middle of the optimal face: duals that are steady from one
//! round of column generation to the next. Always sequential and deterministic unless a time limit cuts it short.

use std::time::Duration;

use clarabel::algebra::CscMatrix;
use clarabel::solver::{DefaultSettings, DefaultSolver, IPSolver, NonnegativeConeT, SolverStatus};

/// Rows `Σ_j a_ij x_j ≤ b_i`, one after the other.
#[derive(Debug, Clone, Default)]
pub struct Rows {
    entries: Vec<(usize, u32, f64)>,
    bounds: Vec<f64>,
}

impl Rows {
    /// None yet.
    pub fn new() -> Rows {
        Rows::default()
    }
    /// Number of rows.
    pub fn len(&self) -> usize {
        self.bounds.len()
    }
    /// No rows?
    pub fn is_empty(&self) -> bool {
        self.bounds.is_empty()
    }
    /// Adds `Σ coefficient · x ≤ bound`; a variable is named once at most.
    pub fn push(&mut self, row: impl IntoIterator<Item = (u32, f64)>, bound: f64) {
        let at = self.bounds.len();
        self.entries.extend(row.into_iter().filter(|e| e.1 != 0.0).map(|(j, a)| (at, j, a)));
        self.bounds.push(bound);
    }
}

/// How a programme ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Status {
    /// Optimal within the tolerance.
    Solved,
    /// Close to it, or stopped early: the values are usable where any values are.
    Rough,
    /// No point satisfies all rows.
    Infeasible,
    /// Nothing to use.
    Failed,
}

/// The values of the variables and the multiplier of every row (≥ 0).
#[derive(Debug, Clone)]
pub struct Solution {
    /// How it ended.
    pub status: Status,
    /// The variables.
    pub x: Vec<f64>,
    /// What one unit more of each row's bound is worth.
    pub multipliers: Vec<f64>,
    /// Σ objective · x.
    pub value: f64,
}

/// Maximises `Σ objective · x` subject to `rows`; variables are free unless rows bound them. `limit` is wall time.
pub fn maximise(objective: &[f64], rows: &Rows, limit: Option<Duration>) -> Solution {
    let (n, m) = (objective.len(), rows.len());
    let failed = |status| Solution { status, x: vec![0.0; n], multipliers: vec![0.0; m], value: f64::NAN };
    if n == 0 || m == 0 {
        return failed(if n == 0 { Status::Solved } else { Status::Failed });
    }
    let settings = DefaultSettings {
        verbose: false,
        max_iter: 100,
        presolve_enable: false,
        direct_solve_method: "qdldl".to_owned(),
        time_limit: limit.map_or(f64::INFINITY, |l| l.as_secs_f64().max(1e-3)),
        ..DefaultSettings::default()
    };
    let cost: Vec<f64> = objective.iter().map(|c| -c).collect();
    let (a, quadratic) = (by_column(rows, n), CscMatrix::zeros((n, n)));
    let Ok(mut solver) = DefaultSolver::new(&quadratic, &cost, &a, &rows.bounds, &[NonnegativeConeT(m)], settings)
    else {
        return failed(Status::Failed);
    };
    solver.solve();
    let status = match solver.solution.status {
        SolverStatus::Solved => Status::Solved,
        SolverStatus::AlmostSolved
        | SolverStatus::MaxIterations
        | SolverStatus::MaxTime
        | SolverStatus::InsufficientProgress => Status::Rough,
        SolverStatus::PrimalInfeasible | SolverStatus::AlmostPrimalInfeasible => Status::Infeasible,
        _ => Status::Failed,
    };
    let (x, multipliers) = (solver.solution.x.clone(), solver.solution.z.clone());
    if !matches!(status, Status::Solved | Status::Rough) || x.iter().chain(&multipliers).any(|v| !v.is_finite()) {
        return failed(if status == Status::Infeasible { status } else { Status::Failed });
    }
    let value = objective.iter().zip(&x).map(|(c, x)| c * x).sum();
    Solution { status, x, multipliers, value }
}

fn by_column(rows: &Rows, n: usize) -> CscMatrix<f64> {
    let mut starts = vec![0usize; n + 1];
    rows.entries.iter().for_each(|e| starts[e.1 as usize + 1] += 1);
    (0..n).for_each(|j| starts[j + 1] += starts[j]);
    let mut fill = starts.clone();
    let (mut at, mut values) = (vec![0usize; rows.entries.len()], vec![0.0; rows.entries.len()]);
    // Entries are in the order of their rows, so every column comes out ascending.
    for &(i, j, a) in &rows.entries {
        let slot = fill[j as usize];
        (at[slot], values[slot]) = (i, a);
        fill[j as usize] += 1;
    }
    CscMatrix::new(rows.len(), n, starts, at, values)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_small_programme_has_the_vertex_and_the_multipliers_worked_out_by_hand() {
        // max 3x + 2y with x + y ≤ 4, x + 3y ≤ 7, x ≤ 3, x, y ≥ 0: (3, 1) worth 11; the first row is worth 2, x ≤ 3 one.
        let mut rows = Rows::new();
        rows.push([(0, 1.0), (1, 1.0)], 4.0);
        rows.push([(0, 1.0), (1, 3.0)], 7.0);
        rows.push([(0, 1.0)], 3.0);
        rows.push([(0, -1.0)], 0.0);
        rows.push([(1, -1.0)], 0.0);
        let solved = maximise(&[3.0, 2.0], &rows, None);
        assert_eq!(solved.status, Status::Solved);
        let close = |a: f64, b: f64| (a - b).abs() < 1e-6;
        assert!(close(solved.x[0], 3.0) && close(solved.x[1], 1.0) && close(solved.value, 11.0), "{solved:?}");
        let expected = [2.0, 0.0, 1.0, 0.0, 0.0];
        assert!(solved.multipliers.iter().zip(expected).all(|(&a, b)| close(a, b)), "{solved:?}");
    }

    #[test]
    fn rows_that_exclude_each_other_are_reported() {
        let mut rows = Rows::new();
        rows.push([(0, 1.0)], 1.0);
        rows.push([(0, -1.0)], -2.0);
        assert_eq!(maximise(&[1.0], &rows, None).status, Status::Infeasible);
    }
}
