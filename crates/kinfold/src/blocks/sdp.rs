//! min ⟨C, X⟩ over positive semidefinite X with ones on the diagonal and zeros at given places, by the dual ADMM of Wen,
//! Goldfarb and Yin (2010). The constraints are orthonormal selectors, so the multipliers have a closed form and never
//! appear: with V = S − μ·I on the selected entries and V = C − μX elsewhere, S = V₊, X' = (−V)₊/μ, X += 1.6·(X' − X).
//! One symmetric eigenproblem per iteration, O(n³); some hundred iterations. X = I is always feasible.

use crate::context::{RunContext, Termination};
use crate::error::{Error, Result};

/// When to stop.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// Iterations at most.
    pub max_iter: usize,
    /// Infeasibilities and gap, relative, below which it is solved.
    pub tolerance: f64,
}

/// What came of it.
#[derive(Debug, Clone)]
pub struct Solved {
    /// X, n × n, positive semidefinite, its diagonal scaled to exactly one.
    pub x: Vec<f64>,
    /// ⟨C, X⟩.
    pub objective: f64,
    /// Value of the dual, a lower bound up to its infeasibility.
    pub bound: f64,
    /// ⟨C, X⟩ of some iterations.
    pub trace: Vec<f64>,
    /// Iterations made.
    pub iterations: usize,
    /// How it ended.
    pub termination: Termination,
}

/// Relaxation of the step, first μ, and iterations before μ is adjusted for the first time; later ever more seldom.
const STEP: f64 = 1.6;
const FIRST_MU: f64 = 0.1;
const ADJUST: usize = 10;

/// The positive part and the positive part of the negative of a symmetric matrix: the side of lower rank is built, the
/// other is its difference.
fn parts(v: &[f64], n: usize) -> Result<(Vec<f64>, Vec<f64>)> {
    let (values, vectors) = kinfold_linalg::symmetric_eigen(v, n)
        .ok_or_else(|| Error::Numeric(format!("the eigenvectors of a {n} × {n} matrix were not found")))?;
    let positive = values.iter().filter(|l| **l > 0.0).count();
    let upper = positive <= n - positive;
    let mut scaled = Vec::new();
    for (l, row) in values.iter().zip(vectors.chunks_exact(n)) {
        if *l != 0.0 && (*l > 0.0) == upper {
            let root = l.abs().sqrt();
            scaled.extend(row.iter().map(|x| root * x));
        }
    }
    let mut side = vec![0.0; n * n];
    let r = scaled.len() / n;
    if r > 0 {
        kinfold_linalg::transposed_times(&scaled, n, &scaled, n, &mut side);
    }
    let other: Vec<f64> = if upper {
        side.iter().zip(v).map(|(p, v)| p - v).collect()
    } else {
        side.iter().zip(v).map(|(m, v)| m + v).collect()
    };
    Ok(if upper { (side, other) } else { (other, side) })
}

/// Solves for C (n × n, symmetric) with zeros at `zeros` (pairs of different indices, each once).
pub fn unit_diagonal(ctx: &RunContext, c: &[f64], n: usize, zeros: &[(u32, u32)], limits: Limits) -> Result<Solved> {
    let norm = c.iter().map(|v| v * v).sum::<f64>().sqrt();
    let scale = if norm > 0.0 { 1.0 / norm } else { 1.0 };
    let c: Vec<f64> = c.iter().map(|v| v * scale).collect();
    let mut selected = vec![false; n * n];
    (0..n).for_each(|i| selected[i * (n + 1)] = true);
    for &(a, b) in zeros {
        selected[a as usize * n + b as usize] = true;
        selected[b as usize * n + a as usize] = true;
    }
    let one = |at: usize| if at % (n + 1) == 0 { 1.0 } else { 0.0 };
    let mut x: Vec<f64> = (0..n * n).map(one).collect();
    let mut s = vec![0.0; n * n];
    let (mut mu, mut next) = (FIRST_MU, ADJUST);
    let (mut trace, mut bound) = (Vec::new(), f64::NEG_INFINITY);
    let (mut termination, mut iterations) = (Termination::MaxIterations, 0);
    for iteration in 0..limits.max_iter {
        if let Err(stop) = ctx.checkpoint() {
            termination = stop.into();
            break;
        }
        let v: Vec<f64> =
            (0..n * n).map(|at| if selected[at] { s[at] - mu * one(at) } else { c[at] - mu * x[at] }).collect();
        // y on the diagonal, before S and X move.
        let dual: f64 = (0..n).map(|i| i * (n + 1)).map(|at| c[at] - s[at] - mu * (x[at] - 1.0)).sum();
        let (plus, minus) = parts(&v, n)?;
        let mut dual_error = 0.0;
        for at in 0..n * n {
            let error = if selected[at] { mu * (x[at] - one(at)) + s[at] - plus[at] } else { c[at] - plus[at] };
            dual_error += error * error;
            x[at] += STEP * (minus[at] / mu - x[at]);
        }
        s = plus;
        let (mut primal_error, mut value) = (0.0, 0.0);
        for at in 0..n * n {
            if selected[at] {
                primal_error += (x[at] - one(at)).powi(2);
            }
            value += c[at] * x[at];
        }
        let primal = primal_error.sqrt() / (1.0 + (n as f64).sqrt());
        let infeasible = dual_error.sqrt() / 2.0;
        let gap = (value - dual).abs() / (1.0 + value.abs() + dual.abs());
        trace.push(value / scale);
        bound = dual / scale;
        iterations = iteration + 1;
        ctx.progress("semidefinite steps", iterations as u64, None);
        if primal.max(infeasible).max(gap) < limits.tolerance {
            termination = Termination::Converged;
            break;
        }
        if iterations == next {
            next += ADJUST.max(iterations / 5);
            let factor = match () {
                () if primal > 2.0 * infeasible => 2.0,
                () if infeasible > 2.0 * primal => 0.5,
                () => 1.0,
            };
            mu = (mu * factor).clamp(1e-5, 1e4);
        }
    }
    let root: Vec<f64> = (0..n).map(|i| x[i * (n + 1)].max(1e-300).sqrt()).collect();
    for i in 0..n {
        for j in 0..n {
            x[i * n + j] = if i == j { 1.0 } else { x[i * n + j] / (root[i] * root[j]) };
        }
    }
    let objective = x.iter().zip(&c).map(|(x, c)| x * c).sum::<f64>() / scale;
    Ok(Solved { x, objective, bound, trace, iterations, termination })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Rng;

    const LIMITS: Limits = Limits { max_iter: 3000, tolerance: 1e-8 };

    fn solve(c: &[f64], n: usize, zeros: &[(u32, u32)]) -> Solved {
        unit_diagonal(&RunContext::new(0).with_threads(1), c, n, zeros, LIMITS).unwrap()
    }

    #[test]
    fn the_worked_examples_of_the_specification() {
        let h = -(0.5f64.sqrt());
        let path = [1.0, h, 0.0, h, 1.0, h, 0.0, h, 1.0];
        let solved = solve(&path, 3, &[(0, 2)]);
        assert!((solved.objective - 1.0).abs() < 1e-6 && (solved.bound - 1.0).abs() < 1e-5, "{solved:?}");
        assert!((solved.x[1] + h).abs() < 1e-5 && (solved.x[5] + h).abs() < 1e-5 && solved.x[2].abs() < 1e-5);
        let triangle = [1.0, -0.5, -0.5, -0.5, 1.0, -0.5, -0.5, -0.5, 1.0];
        let solved = solve(&triangle, 3, &[]);
        assert!(solved.objective.abs() < 1e-6 && solved.x.iter().all(|x| (x - 1.0).abs() < 1e-4), "{solved:?}");
    }

    #[test]
    fn solutions_are_feasible_and_proven_by_the_dual() {
        let mut rng = Rng::stream(1, "sdp test", 0);
        for case in 0..8 {
            let n = 5 + 2 * case;
            let mut c = vec![0.0; n * n];
            for i in 0..n {
                for j in 0..i {
                    c[i * n + j] = rng.normal();
                    c[j * n + i] = c[i * n + j];
                }
            }
            let zeros: Vec<(u32, u32)> = (1..n as u32).filter(|_| rng.unit() < 0.6).map(|i| (i - 1, i)).collect();
            let solved = solve(&c, n, &zeros);
            assert_eq!(solved.termination, Termination::Converged, "case {case}");
            let (values, _) = kinfold_linalg::symmetric_eigen(&solved.x, n).unwrap();
            assert!(values[0] > -1e-6, "{}", values[0]);
            assert!(zeros.iter().all(|&(a, b)| solved.x[a as usize * n + b as usize].abs() < 1e-5));
            assert!((solved.objective - solved.bound).abs() < 1e-4 * (1.0 + solved.bound.abs()));
        }
    }
}
