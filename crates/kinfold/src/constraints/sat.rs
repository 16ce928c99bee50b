//! Exact k-colouring by SAT: x_{v,c} for vertex v and colour c, a clause ∨_c x_{v,c} per vertex and ¬x_{u,c} ∨ ¬x_{v,c}
//! per edge and colour (at-most-one is not needed: any true colour will do). The colours of one clique are fixed.
//! Infeasible cores: every edge gets a selector that is assumed, the solver names the ones it used, and edges are then
//! left out one by one while the rest stays infeasible. The only file that names the solver.

use std::time::Instant;

use rustsat::solvers::{Solve, SolveIncremental, SolverResult};
use rustsat::types::{Clause, Lit, TernaryVal};

use super::Graph;
use super::colouring;

/// Literals beyond which we do not try.
const MOST_LITERALS: usize = 40_000_000;

/// What the solver said in time.
#[derive(Debug, PartialEq)]
pub(super) enum Answer<T, U> {
    /// Satisfiable.
    Yes(T),
    /// Not satisfiable.
    No(U),
    /// No answer in time.
    Unknown,
}

/// A solver that gives up at the deadline.
pub(super) struct Solver {
    inner: rustsat_batsat::BasicSolver,
    deadline: Instant,
    clauses: usize,
    failed: bool,
}

impl Solver {
    pub fn new(deadline: Instant) -> Solver {
        let mut inner = rustsat_batsat::BasicSolver::default();
        inner.batsat_mut().cb_mut().set_stop(move || Instant::now() >= deadline);
        Solver { inner, deadline, clauses: 0, failed: false }
    }
    /// Adds a clause of (variable, sign).
    pub fn clause(&mut self, literals: &[(usize, bool)]) {
        // Large formulas take long to write down: the deadline holds there too.
        self.clauses += 1;
        self.failed |= self.clauses.is_multiple_of(8_192) && Instant::now() >= self.deadline;
        if self.failed {
            return;
        }
        let clause: Clause = literals.iter().map(|&(v, positive)| Lit::new(v as u32, !positive)).collect();
        self.failed = self.inner.add_clause(clause).is_err();
    }
    /// Solves under the assumption that these variables are true: the truth of a variable, or the assumptions used.
    pub fn solve(&mut self, assumed: &[usize]) -> Answer<(), Vec<usize>> {
        let assumptions: Vec<Lit> = assumed.iter().map(|&v| Lit::positive(v as u32)).collect();
        if self.failed {
            return Answer::Unknown;
        }
        match self.inner.solve_assumps(&assumptions) {
            Ok(SolverResult::Sat) => Answer::Yes(()),
            Ok(SolverResult::Unsat) => {
                let used = self.inner.core().unwrap_or_default();
                Answer::No(used.iter().map(|l| l.vidx()).collect())
            }
            _ => Answer::Unknown,
        }
    }
    /// Is the variable true in the model just found?
    pub fn holds(&self, variable: usize) -> bool {
        matches!(self.inner.lit_val(Lit::positive(variable as u32)), Ok(TernaryVal::True))
    }
}

/// The encoding as clauses of (variable, sign); variable of vertex v and colour c is v·k + c. With `selectors`, edge e
/// counts only when variable n·k + e is true.
fn clauses(n: usize, k: usize, edges: &[(u32, u32)], selectors: bool, mut add: impl FnMut(&[(usize, bool)])) {
    let mut clause = Vec::new();
    for v in 0..n {
        clause.clear();
        clause.extend((0..k).map(|c| (v * k + c, true)));
        add(&clause);
    }
    for (e, &(a, b)) in edges.iter().enumerate() {
        for c in 0..k {
            clause.clear();
            clause.extend([(a as usize * k + c, false), (b as usize * k + c, false)]);
            if selectors {
                clause.push((n * k + e, false));
            }
            add(&clause);
        }
    }
}

/// Fixes the colours of a clique (of at most k vertices): one of each set of equal colourings.
fn fix(solver: &mut Solver, k: usize, clique: &[u32]) {
    for (c, &v) in clique.iter().take(k).enumerate() {
        solver.clause(&[(v as usize * k + c, true)]);
    }
}

/// A colouring with k colours, or the certainty that there is none. `clique` holds at most k vertices.
pub(super) fn colour(graph: &Graph, k: usize, clique: &[u32], deadline: Instant) -> Answer<Vec<u32>, ()> {
    let (n, m) = (graph.len(), graph.edge_count());
    if n.saturating_mul(k).saturating_add(m.saturating_mul(2 * k)) > MOST_LITERALS {
        return Answer::Unknown;
    }
    let edges: Vec<(u32, u32)> = graph.edges().collect();
    let mut solver = Solver::new(deadline);
    clauses(n, k, &edges, false, |c| solver.clause(c));
    fix(&mut solver, k, clique);
    match solver.solve(&[]) {
        Answer::Yes(()) => Answer::Yes(
            (0..n).map(|v| (0..k).find(|&c| solver.holds(v * k + c)).unwrap_or(0) as u32).collect::<Vec<u32>>(),
        ),
        Answer::No(_) => Answer::No(()),
        Answer::Unknown => Answer::Unknown,
    }
}

/// Edges of an infeasible graph that are infeasible by themselves; all of them when the deadline is near.
pub(super) fn core(graph: &Graph, k: usize, clique: &[u32], deadline: Instant) -> Vec<(u32, u32)> {
    let n = graph.len();
    let edges: Vec<(u32, u32)> = graph.edges().collect();
    let mut solver = Solver::new(deadline);
    clauses(n, k, &edges, true, |c| solver.clause(c));
    fix(&mut solver, k, clique);
    let assumed: Vec<usize> = (n * k..n * k + edges.len()).collect();
    match solver.solve(&assumed) {
        Answer::No(used) => {
            // Fixing the clique's colours uses the clique's edges.
            let mut is_used = vec![false; edges.len()];
            used.iter().filter(|&&v| v >= n * k).for_each(|&v| is_used[v - n * k] = true);
            let fixed = |v: u32| clique.contains(&v);
            let keep = |(e, &(a, b)): (usize, &(u32, u32))| (is_used[e] || (fixed(a) && fixed(b))).then_some((a, b));
            edges.iter().enumerate().filter_map(keep).collect()
        }
        _ => edges,
    }
}

/// Leaves out edges in the order given while the rest stays infeasible: an irreducible core, unless time runs out.
pub(super) fn minimise(edges: Vec<(u32, u32)>, k: usize, deadline: Instant) -> (Vec<(u32, u32)>, bool) {
    let mut edges = k_core(&edges, k);
    let mut at = 0;
    let mut sure = true;
    while at < edges.len() {
        if Instant::now() >= deadline {
            return (edges, false);
        }
        let mut fewer = edges.clone();
        fewer.remove(at);
        let rest = k_core(&fewer, k);
        match colourable(&rest, k, deadline) {
            // Edges before `at` are needed in every smaller infeasible set too, so they are still there, in front.
            Answer::No(()) => edges = rest,
            Answer::Yes(()) => at += 1,
            Answer::Unknown => {
                sure = false;
                at += 1;
            }
        }
    }
    (edges, sure)
}

/// The edges between vertices that keep degree ≥ k, in the order given.
fn k_core(edges: &[(u32, u32)], k: usize) -> Vec<(u32, u32)> {
    let (names, graph) = compact(edges);
    let (_, stays) = colouring::peel(&graph, k);
    let in_core = |v: u32| names.binary_search(&v).is_ok_and(|i| stays[i]);
    edges.iter().copied().filter(|&(a, b)| in_core(a) && in_core(b)).collect()
}

fn compact(edges: &[(u32, u32)]) -> (Vec<u32>, Graph) {
    let mut names: Vec<u32> = edges.iter().flat_map(|&(a, b)| [a, b]).collect();
    names.sort_unstable();
    names.dedup();
    let local = |v: u32| names.binary_search(&v).unwrap_or(0) as u32;
    let graph = Graph::new(names.len(), edges.iter().map(|&(a, b)| (local(a), local(b))));
    (names, graph)
}

fn colourable(edges: &[(u32, u32)], k: usize, deadline: Instant) -> Answer<(), ()> {
    if edges.is_empty() {
        return Answer::Yes(());
    }
    let (_, graph) = compact(edges);
    let clique = colouring::greedy_clique(&graph, k + 1, deadline);
    if clique.len() > k {
        return Answer::No(());
    }
    if colouring::dsatur(&graph).1 <= k {
        return Answer::Yes(());
    }
    match colour(&graph, k, &clique, deadline) {
        Answer::Yes(_) => Answer::Yes(()),
        Answer::No(()) => Answer::No(()),
        Answer::Unknown => Answer::Unknown,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn the_wheel_is_encoded_in_eighteen_variables_and_thirty_six_clauses() {
        let edges = [(0, 1), (0, 2), (0, 3), (0, 4), (0, 5), (1, 2), (2, 3), (3, 4), (4, 5), (1, 5)];
        let (mut count, mut variables) = (0, 0);
        clauses(6, 3, &edges, false, |c| {
            count += 1;
            variables = c.iter().fold(variables, |m, l| m.max(l.0 + 1));
        });
        assert_eq!((variables, count), (18, 6 + 30));
    }

    #[test]
    fn a_solver_stops_at_its_deadline() {
        // Pigeons: K12 with 11 colours and no clique fixed is hard by resolution.
        let edges: Vec<(u32, u32)> = (0..12).flat_map(|a| (a + 1..12).map(move |b| (a, b))).collect();
        let graph = Graph::new(12, edges.into_iter());
        let started = Instant::now();
        let answer = colour(&graph, 11, &[], started + Duration::from_millis(50));
        assert_eq!(answer, Answer::Unknown);
        assert!(started.elapsed() < Duration::from_secs(2));
    }
}
