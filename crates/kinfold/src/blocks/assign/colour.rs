//! Any labelling that keeps the hard edges and the allowed clusters, whatever it costs: the last word on feasibility.
//! Peel units with fewer hard neighbours than clusters (they can always be placed last), then on the core: a clique
//! that is too large is a proof of impossibility; DSATUR with random ties; tabu search over conflicts (TabuCol, Hertz
//! & de Werra 1987) from the caller's nearly feasible labels, then with crossing; a SAT solver, which also proves.
//! All limits are counts, not seconds, so that the answer depends on the seed alone.

use std::cell::Cell;

use rustsat::solvers::{Solve, SolverResult};
use rustsat::types::{Clause, Lit, TernaryVal};

use super::net::Net;
use crate::context::RunContext;
use crate::rng::Rng;

/// The answer.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Verdict {
    /// These labels keep everything.
    Found(Vec<u32>),
    /// No labels do.
    Impossible,
    /// Limits reached.
    Unknown,
}

const NONE: u32 = u32::MAX;
/// Randomised DSATUR runs.
const DSATUR_RUNS: usize = 12;
/// Decisions granted to the SAT solver.
const SAT_DECISIONS: u64 = 400_000;
/// Vertices up to which the SAT solver comes before the long searches: it can prove impossibility.
const SAT_FIRST: usize = 60;
/// Rounds of crossing and tabu search.
const GENERATIONS: usize = 120;
/// Clauses past which no SAT formula is built.
const SAT_CLAUSES: usize = 8_000_000;

/// Looks for a proper labelling; `hint` is where the tabu search starts (it may break edges).
pub(super) fn colour(ctx: &RunContext, net: &Net, k: usize, costs: &[f64], hint: &[u32], rng: &mut Rng) -> Verdict {
    let n = net.len();
    let allowed: Vec<bool> = costs.iter().map(|&x| x < f64::INFINITY).collect();
    let choices: Vec<usize> = (0..n).map(|v| allowed[v * k..(v + 1) * k].iter().filter(|&&a| a).count()).collect();
    if choices.contains(&0) {
        return Verdict::Impossible;
    }
    let hard: Vec<Vec<u32>> = (0..n).map(|v| net.hard(v).map(|u| u as u32).collect()).collect();
    let (core, peeled) = peel(&hard, &choices);
    let mut labels = vec![NONE; n];
    if !core.is_empty() {
        let mut new_id = vec![NONE; n];
        for (i, &v) in core.iter().enumerate() {
            new_id[v as usize] = i as u32;
        }
        let problem = Core {
            k,
            around: core
                .iter()
                .map(|&v| {
                    hard[v as usize].iter().map(|&u| new_id[u as usize]).filter(|&u| u != NONE).collect::<Vec<u32>>()
                })
                .collect(),
            allowed: core.iter().flat_map(|&v| allowed[v as usize * k..(v as usize + 1) * k].iter().copied()).collect(),
        };
        let start: Vec<u32> = core.iter().map(|&v| hint[v as usize]).collect();
        match problem.solve(ctx, &start, rng) {
            Verdict::Found(found) => core.iter().zip(found).for_each(|(&v, c)| labels[v as usize] = c),
            other => return other,
        }
    }
    for &v in peeled.iter().rev() {
        let v = v as usize;
        let mut free = allowed[v * k..(v + 1) * k].to_vec();
        for &u in hard[v].iter().filter(|&&u| labels[u as usize] != NONE) {
            free[labels[u as usize] as usize] = false;
        }
        let hinted = hint[v] as usize;
        let taken = if hinted < k && free[hinted] { Some(hinted) } else { free.iter().position(|&f| f) };
        match taken {
            Some(c) => labels[v] = c as u32,
            // Cannot be: fewer placed neighbours than clusters.
            None => return Verdict::Unknown,
        }
    }
    Verdict::Found(labels)
}

/// The vertices that remain when those with fewer neighbours than choices leave, and the leavers in order.
fn peel(hard: &[Vec<u32>], choices: &[usize]) -> (Vec<u32>, Vec<u32>) {
    let mut degree: Vec<usize> = hard.iter().map(Vec::len).collect();
    let mut gone: Vec<bool> = degree.iter().zip(choices).map(|(d, c)| d < c).collect();
    let mut peeled: Vec<u32> = (0..hard.len() as u32).filter(|&v| gone[v as usize]).collect();
    let mut next = 0;
    while next < peeled.len() {
        for &u in &hard[peeled[next] as usize] {
            let u = u as usize;
            degree[u] -= 1;
            if !gone[u] && degree[u] < choices[u] {
                gone[u] = true;
                peeled.push(u as u32);
            }
        }
        next += 1;
    }
    ((0..hard.len() as u32).filter(|&v| !gone[v as usize]).collect(), peeled)
}

/// The part of the problem that peeling leaves.
struct Core {
    k: usize,
    around: Vec<Vec<u32>>,
    allowed: Vec<bool>,
}

impl Core {
    fn solve(&self, ctx: &RunContext, hint: &[u32], rng: &mut Rng) -> Verdict {
        let n = self.around.len();
        let clique = self.large_clique();
        if clique.len() > self.colours_of(&clique) {
            return Verdict::Impossible;
        }
        for run in 0..DSATUR_RUNS {
            if let Some(found) = self.dsatur(run > 0, rng) {
                return Verdict::Found(found);
            }
        }
        let (first, conflicts) = self.tabu(ctx, hint, 50_000 + 50 * n as u64, rng);
        if conflicts == 0 {
            return Verdict::Found(first);
        }
        if n <= SAT_FIRST {
            match self.sat(ctx, &clique, SAT_DECISIONS) {
                Verdict::Unknown => {}
                verdict => return verdict,
            }
        }
        if let Some(found) = self.crossed(ctx, first, rng) {
            return Verdict::Found(found);
        }
        if n <= SAT_FIRST { Verdict::Unknown } else { self.sat(ctx, &clique, SAT_DECISIONS / 4) }
    }

    /// Two labellings that are crossed and improved by tabu search in turns (HEAD, Moalic & Gondran 2018).
    fn crossed(&self, ctx: &RunContext, first: Vec<u32>, rng: &mut Rng) -> Option<Vec<u32>> {
        let n = self.around.len();
        let steps = 20_000 + 20 * n as u64;
        let anywhere = |rng: &mut Rng| -> Vec<u32> { (0..n).map(|_| rng.below(self.k) as u32).collect() };
        let start = anywhere(rng);
        let (mut one, mut two) = (first, self.tabu(ctx, &start, steps, rng).0);
        let mut elite: [(i64, Vec<u32>); 2] = [(i64::MAX, one.clone()), (i64::MAX, two.clone())];
        for generation in 1..=GENERATIONS {
            let (a, b) = (self.cross(&one, &two, rng), self.cross(&two, &one, rng));
            let mut conflicts = [0; 2];
            (one, conflicts[0]) = self.tabu(ctx, &a, steps, rng);
            (two, conflicts[1]) = self.tabu(ctx, &b, steps, rng);
            for (labels, &count) in [&one, &two].into_iter().zip(&conflicts) {
                if count == 0 {
                    return Some(labels.clone());
                }
                if count < elite[0].0 {
                    elite[0] = (count, labels.clone());
                }
            }
            if ctx.checkpoint().is_err() {
                return None;
            }
            // The best of the last cycle but one comes back; equal parents would never change again.
            if generation % 10 == 0 {
                std::mem::swap(&mut one, &mut elite[1].1);
                elite.swap(0, 1);
                elite[0].0 = i64::MAX;
            }
            if one == two {
                let start = anywhere(rng);
                two = self.tabu(ctx, &start, steps, rng).0;
            }
        }
        None
    }

    /// Greedy partition crossover: the largest class left of either parent in turn, the rest at random.
    fn cross(&self, mine: &[u32], yours: &[u32], rng: &mut Rng) -> Vec<u32> {
        let (n, k) = (self.around.len(), self.k);
        let mut child = vec![NONE; n];
        let mut used = vec![false; k];
        for turn in 0..k {
            let parent = if turn % 2 == 0 { mine } else { yours };
            let mut size = vec![0usize; k];
            (0..n).filter(|&v| child[v] == NONE).for_each(|v| size[parent[v] as usize] += 1);
            let class = (0..k).max_by_key(|&c| (size[c], std::cmp::Reverse(c))).unwrap_or(0);
            let name = if used[class] { used.iter().position(|&u| !u).unwrap_or(class) } else { class };
            used[name] = true;
            for v in 0..n {
                if child[v] == NONE && parent[v] as usize == class && self.allowed[v * k + name] {
                    child[v] = name as u32;
                }
            }
        }
        // Tabu search turns what is not allowed into something that is.
        child.iter_mut().filter(|c| **c == NONE).for_each(|c| *c = rng.below(k) as u32);
        child
    }

    /// How many clusters these vertices may use together.
    fn colours_of(&self, vertices: &[u32]) -> usize {
        (0..self.k).filter(|c| vertices.iter().any(|&v| self.allowed[v as usize * self.k + c])).count()
    }

    /// A large clique, grown greedily by most common candidates from the vertices of largest degree.
    fn large_clique(&self) -> Vec<u32> {
        let n = self.around.len();
        let mut starts: Vec<u32> = (0..n as u32).collect();
        starts.sort_by_key(|&v| (std::cmp::Reverse(self.around[v as usize].len()), v));
        starts.truncate(if n <= 200 { n } else { 60 });
        let mut best: Vec<u32> = Vec::new();
        let mut inside = vec![false; n];
        for &start in &starts {
            let mut clique = vec![start];
            let mut candidates = self.around[start as usize].clone();
            while !candidates.is_empty() {
                candidates.iter().for_each(|&u| inside[u as usize] = true);
                let common = |u: u32| self.around[u as usize].iter().filter(|&&x| inside[x as usize]).count();
                let next =
                    candidates.iter().copied().max_by_key(|&u| (common(u), std::cmp::Reverse(u))).unwrap_or(start);
                candidates.iter().for_each(|&u| inside[u as usize] = false);
                clique.push(next);
                self.around[next as usize].iter().for_each(|&u| inside[u as usize] = true);
                let kept: Vec<u32> = candidates.iter().copied().filter(|&u| inside[u as usize]).collect();
                self.around[next as usize].iter().for_each(|&u| inside[u as usize] = false);
                candidates = kept;
                if clique.len() + candidates.len() <= best.len() {
                    break;
                }
            }
            if clique.len() > best.len() {
                best = clique;
            }
            if best.len() > self.k {
                break;
            }
        }
        best.sort_unstable();
        best
    }

    /// Fewest clusters left first, then most unplaced neighbours; the cluster that closes fewest neighbours' options.
    fn dsatur(&self, random: bool, rng: &mut Rng) -> Option<Vec<u32>> {
        let (n, k) = (self.around.len(), self.k);
        let mut free = self.allowed.clone();
        let mut left: Vec<usize> = (0..n).map(|v| free[v * k..(v + 1) * k].iter().filter(|&&f| f).count()).collect();
        let mut open: Vec<usize> = self.around.iter().map(Vec::len).collect();
        let noise: Vec<u32> =
            if random { (0..n).map(|_| rng.bits() as u32).collect() } else { (0..n as u32).collect() };
        let key = |v: usize, left: &[usize], open: &[usize]| (left[v], std::cmp::Reverse(open[v]), noise[v], v as u32);
        let mut queue: std::collections::BTreeSet<_> = (0..n).map(|v| key(v, &left, &open)).collect();
        let mut labels = vec![NONE; n];
        while let Some((_, _, _, v)) = queue.pop_first() {
            let v = v as usize;
            // Prefer the cluster that most neighbours have lost already.
            let mut best: Option<(usize, u32, usize)> = None;
            for c in (0..k).filter(|c| free[v * k + c]) {
                let lost =
                    self.around[v].iter().filter(|&&u| labels[u as usize] == NONE && free[u as usize * k + c]).count();
                let tie = if random { rng.bits() as u32 } else { c as u32 };
                if best.is_none_or(|b| (lost, tie, c) < b) {
                    best = Some((lost, tie, c));
                }
            }
            let (_, _, c) = best?;
            labels[v] = c as u32;
            for &u in &self.around[v] {
                let u = u as usize;
                if labels[u] != NONE {
                    continue;
                }
                queue.remove(&key(u, &left, &open));
                open[u] -= 1;
                if std::mem::replace(&mut free[u * k + c], false) {
                    left[u] -= 1;
                    if left[u] == 0 {
                        return None;
                    }
                }
                queue.insert(key(u, &left, &open));
            }
        }
        Some(labels)
    }

    /// TabuCol: always the best non-tabu change of a vertex in conflict. The labels with fewest conflicts, and how many.
    fn tabu(&self, ctx: &RunContext, start: &[u32], limit: u64, rng: &mut Rng) -> (Vec<u32>, i64) {
        let (n, k) = (self.around.len(), self.k);
        let mut labels: Vec<u32> = (0..n)
            .map(|v| {
                let hinted = start[v] as usize;
                if hinted < k && self.allowed[v * k + hinted] {
                    return hinted as u32;
                }
                let options: Vec<usize> = (0..k).filter(|c| self.allowed[v * k + c]).collect();
                options[rng.below(options.len())] as u32
            })
            .collect();
        let mut beside = vec![0i32; n * k];
        for v in 0..n {
            self.around[v].iter().for_each(|&u| beside[v * k + labels[u as usize] as usize] += 1);
        }
        let mut until = vec![0u64; n * k];
        // Vertices in conflict, as a list with positions.
        let mut fighting: Vec<u32> = Vec::new();
        let mut place = vec![NONE; n];
        let mut conflicts = 0i64;
        for v in 0..n {
            let mine = beside[v * k + labels[v] as usize];
            conflicts += i64::from(mine);
            if mine > 0 {
                place[v] = fighting.len() as u32;
                fighting.push(v as u32);
            }
        }
        conflicts /= 2;
        let mut fewest = conflicts;
        let mut best_labels = labels.clone();
        for step in 1..=limit {
            if conflicts == 0 || (step % 4096 == 0 && ctx.checkpoint().is_err()) {
                break;
            }
            let (mut best, mut count, mut chosen) = (i32::MAX, 0usize, (0usize, 0usize));
            for &v in &fighting {
                let v = v as usize;
                let mine = beside[v * k + labels[v] as usize];
                for c in 0..k {
                    if c == labels[v] as usize || !self.allowed[v * k + c] {
                        continue;
                    }
                    let delta = beside[v * k + c] - mine;
                    if delta > best || (until[v * k + c] > step && conflicts + i64::from(delta) >= fewest) {
                        continue;
                    }
                    if delta < best {
                        best = delta;
                        count = 0;
                    }
                    count += 1;
                    if rng.below(count) == 0 {
                        chosen = (v, c);
                    }
                }
            }
            if count == 0 {
                continue;
            }
            let (v, c) = chosen;
            let old = labels[v] as usize;
            labels[v] = c as u32;
            conflicts += i64::from(best);
            if conflicts < fewest {
                fewest = conflicts;
                best_labels.copy_from_slice(&labels);
            }
            until[v * k + old] = step + rng.below(10) as u64 + (fighting.len() as u64 * 6) / 10 + 1;
            let mut settle = |x: usize, labels: &[u32], beside: &[i32]| {
                let in_conflict = beside[x * k + labels[x] as usize] > 0;
                if in_conflict && place[x] == NONE {
                    place[x] = fighting.len() as u32;
                    fighting.push(x as u32);
                } else if !in_conflict && place[x] != NONE {
                    let at = place[x] as usize;
                    fighting.swap_remove(at);
                    if let Some(&moved) = fighting.get(at) {
                        place[moved as usize] = at as u32;
                    }
                    place[x] = NONE;
                }
            };
            for &u in &self.around[v] {
                let u = u as usize;
                beside[u * k + old] -= 1;
                beside[u * k + c] += 1;
                settle(u, &labels, &beside);
            }
            settle(v, &labels, &beside);
        }
        (best_labels, fewest)
    }

    /// One variable per vertex and allowed cluster. The clique is fixed when all clusters are alike.
    fn sat(&self, ctx: &RunContext, clique: &[u32], decisions: u64) -> Verdict {
        let (n, k) = (self.around.len(), self.k);
        let edges: usize = self.around.iter().map(Vec::len).sum::<usize>() / 2;
        if edges.saturating_mul(k).saturating_add(n) > SAT_CLAUSES || ctx.checkpoint().is_err() {
            return Verdict::Unknown;
        }
        let positive = |v: usize, c: usize| Lit::positive((v * k + c) as u32);
        let mut solver = rustsat_batsat::BasicSolver::default();
        let mut clauses: Vec<Clause> = Vec::new();
        for v in 0..n {
            clauses.push((0..k).filter(|c| self.allowed[v * k + c]).map(|c| positive(v, c)).collect());
            for &u in self.around[v].iter().filter(|&&u| u as usize > v) {
                let u = u as usize;
                for c in (0..k).filter(|c| self.allowed[v * k + c] && self.allowed[u * k + c]) {
                    clauses.push([!positive(v, c), !positive(u, c)].into_iter().collect());
                }
            }
        }
        if self.allowed.iter().all(|&a| a) {
            clauses.extend(clique.iter().enumerate().map(|(c, &v)| [positive(v as usize, c)].into_iter().collect()));
        }
        if solver.reserve(positive(n - 1, k - 1).var()).is_err() {
            return Verdict::Unknown;
        }
        for clause in clauses {
            if solver.add_clause(clause).is_err() {
                return Verdict::Unknown;
            }
        }
        let (spent, watch) = (Cell::new(0u64), ctx.clone());
        solver.batsat_mut().cb_mut().set_stop(move || {
            spent.set(spent.get() + 1);
            spent.get() > decisions || (spent.get() % 1024 == 0 && watch.checkpoint().is_err())
        });
        match solver.solve() {
            Ok(SolverResult::Unsat) => Verdict::Impossible,
            Ok(SolverResult::Sat) => {
                let holds = |v: usize, c: usize| matches!(solver.lit_val(positive(v, c)), Ok(TernaryVal::True));
                let labels: Option<Vec<u32>> = (0..n)
                    .map(|v| (0..k).find(|&c| self.allowed[v * k + c] && holds(v, c)).map(|c| c as u32))
                    .collect();
                labels.map_or(Verdict::Unknown, Verdict::Found)
            }
            _ => Verdict::Unknown,
        }
    }
}
