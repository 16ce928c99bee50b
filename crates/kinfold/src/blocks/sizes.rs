//! Assignment with bounds on the weight of every cluster: minimise Σ cost[u][c_u] with min_c ≤ Σ weight ≤ max_c and the
//! cannot-links of an [`Assigner`]. Starts from the optimum without bounds. Equal weights and no links: a minimum-cost
//! flow over the k clusters, exact (`flow`). Tiny: exhaustive search, exact. Otherwise the same flow moves with links
//! respected, then prices on the violation that rise until it is gone (`local`); feasibility is NP-hard here, so a
//! failure is unproven. `check` names the plain reasons for impossibility before any work.

mod flow;
mod local;

use crate::blocks::assign::{Assigned, Assigner};
use crate::constraints::Graph;
use crate::context::RunContext;

/// Lower and upper bound on the weight of every cluster.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bounds {
    /// Smallest weight of each cluster.
    pub min: Vec<u64>,
    /// Largest weight of each cluster.
    pub max: Vec<u64>,
}

impl Bounds {
    /// The same bounds for all k clusters.
    pub fn uniform(k: usize, min: u64, max: u64) -> Bounds {
        Bounds { min: vec![min; k], max: vec![max; k] }
    }
    /// By how much these loads miss the bounds in all.
    pub fn violation(&self, loads: &[u64]) -> u64 {
        loads.iter().enumerate().map(|(c, &load)| self.miss(c, load)).sum()
    }
    fn miss(&self, cluster: usize, load: u64) -> u64 {
        load.saturating_sub(self.max[cluster]) + self.min[cluster].saturating_sub(load)
    }
}

/// Why there are no labels within the bounds.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{why}")]
pub struct SizesStuck {
    /// A sentence for people.
    pub why: String,
    /// True: none exist. False: none were found.
    pub proven: bool,
}

/// Units up to which everything is searched exhaustively, and the nodes granted.
const TINY: usize = 16;
const TINY_NODES: u64 = 300_000;

/// The reasons why no assignment can exist that need no search, and for tiny cases the search as well.
pub fn check(weights: &[u64], graph: &Graph, k: usize, bounds: &Bounds) -> Result<(), String> {
    if bounds.min.len() != k || bounds.max.len() != k {
        return Err(format!("{} size bounds were given for {k} clusters", bounds.min.len().max(bounds.max.len())));
    }
    if let Some(c) = (0..k).find(|&c| bounds.min[c] > bounds.max[c]) {
        return Err(format!(
            "cluster {c} is to have at least {} rows and at most {}, which excludes every size",
            bounds.min[c], bounds.max[c]
        ));
    }
    let total: u64 = weights.iter().sum();
    let least: u64 = bounds.min.iter().fold(0, |sum, &x| sum.saturating_add(x));
    let most: u64 = bounds.max.iter().fold(0, |sum, &x| sum.saturating_add(x));
    if least > total {
        return Err(format!("the {k} clusters ask for at least {least} rows together, but there are only {total}"));
    }
    if most < total {
        return Err(format!("the {k} clusters may hold at most {most} rows together, but there are {total}"));
    }
    let needy = bounds.min.iter().filter(|&&x| x > 0).count();
    let units = weights.iter().filter(|&&w| w > 0).count();
    if needy > units {
        return Err(format!(
            "{needy} clusters must not be empty, but the must-links leave only {units} groups of rows"
        ));
    }
    let mut sorted: Vec<u64> = weights.to_vec();
    sorted.sort_unstable_by(|a, b| b.cmp(a));
    let largest = bounds.max.iter().copied().max().unwrap_or(0);
    if let Some(&heaviest) = sorted.first().filter(|&&w| w > largest) {
        return Err(format!(
            "a group of {heaviest} rows joined by must-links is larger than any cluster may be ({largest})"
        ));
    }
    // Of units at least this heavy, a cluster holds at most ⌊max / weight⌋.
    for (i, &w) in sorted.iter().enumerate() {
        if w == 0 || sorted.get(i + 1) == Some(&w) {
            continue;
        }
        let room: u64 = bounds.max.iter().fold(0, |sum, &x| sum.saturating_add(x / w));
        if room < i as u64 + 1 {
            return Err(format!(
                "{} groups of at least {w} rows each are joined by must-links, but the size limits leave room for {room}",
                i + 1
            ));
        }
    }
    if weights.len() <= TINY {
        let arcs = neighbours(weights.len(), graph.edges().map(|(a, b)| (a, b, f64::INFINITY)));
        let costs = vec![0.0; weights.len() * k];
        let problem = Problem { k, costs: &costs, weights, bounds, arcs: &arcs };
        let (found, complete) = problem.exhaust(TINY_NODES);
        if found.is_none() && complete {
            let links = if graph.edge_count() > 0 { " and every cannot-link" } else { "" };
            return Err(format!(
                "no way to place the {} groups of rows keeps the size limits{links}: all were tried",
                weights.len()
            ));
        }
    }
    Ok(())
}

/// Chooses a cluster for every unit into `out`, within the bounds and the links of `assigner`.
pub fn assign_sized(
    ctx: &RunContext,
    assigner: &mut Assigner,
    costs: &[f64],
    weights: &[u64],
    bounds: &Bounds,
    previous: Option<&[u32]>,
    out: &mut [u32],
) -> Result<Assigned, SizesStuck> {
    let (m, k) = (assigner.units(), assigner.k());
    debug_assert_eq!(weights.len(), m);
    let free = assigner
        .assign(ctx, costs, previous, out)
        .map_err(|stuck| SizesStuck { why: stuck.to_string(), proven: stuck.proven })?;
    let arcs = neighbours(m, assigner.edges());
    let problem = Problem { k, costs, weights, bounds, arcs: &arcs };
    if bounds.violation(&problem.loads(out)) == 0 {
        return Ok(free);
    }
    let linked = assigner.edges().next().is_some();
    let unit = weights.first().copied().unwrap_or(1).max(1);
    let even = weights.iter().all(|&w| w == unit);
    let proven = |why: &str| SizesStuck { why: why.into(), proven: true };
    let no_way = "the forbidden clusters and the size limits exclude each other";
    if even && !linked {
        flow::settle(&problem, unit, out).ok_or_else(|| proven(no_way))?;
        return Ok(problem.finish(out, previous, true));
    }
    if m <= TINY {
        let (found, complete) = problem.exhaust(TINY_NODES);
        match found {
            Some((_, labels)) if complete => {
                out.copy_from_slice(&labels);
                return Ok(problem.finish(out, previous, true));
            }
            None if complete => return Err(proven("no labelling keeps the size limits and every cannot-link")),
            _ => {}
        }
    }
    let mut found = even && flow::settle(&problem, unit, out).is_some();
    let mut rng = ctx.rng("sizes", 0);
    if !found {
        found = local::repair(ctx, &problem, out, &mut rng);
    }
    let warm = previous.filter(|p| problem.energy(p) < f64::INFINITY);
    match (found, warm) {
        (true, _) => {}
        (false, Some(warm)) => out.copy_from_slice(warm),
        (false, None) => {
            let why = "no labelling within the size limits that keeps every cannot-link was found".to_string();
            return Err(SizesStuck { why, proven: false });
        }
    }
    local::improve(&problem, out, &mut rng);
    Ok(problem.finish(out, previous, false))
}

/// Neighbour lists with the price of sharing a cluster.
fn neighbours(m: usize, edges: impl Iterator<Item = (u32, u32, f64)>) -> Vec<Vec<(u32, f64)>> {
    let mut arcs = vec![Vec::new(); m];
    for (a, b, w) in edges {
        arcs[a as usize].push((b, w));
        arcs[b as usize].push((a, w));
    }
    arcs
}

/// Everything that one call works on.
struct Problem<'a> {
    k: usize,
    costs: &'a [f64],
    weights: &'a [u64],
    bounds: &'a Bounds,
    arcs: &'a [Vec<(u32, f64)>],
}

impl Problem<'_> {
    fn loads(&self, labels: &[u32]) -> Vec<u64> {
        let mut loads = vec![0; self.k];
        labels.iter().zip(self.weights).for_each(|(&c, &w)| loads[c as usize] += w);
        loads
    }

    /// Cost of `v` in `c` with all neighbours where they are.
    fn price(&self, labels: &[u32], v: usize, c: u32) -> f64 {
        let links = self.arcs[v].iter().filter(|a| labels[a.0 as usize] == c).map(|a| a.1).sum::<f64>();
        self.costs[v * self.k + c as usize] + links
    }

    /// Σ cost and edge prices; infinite outside of the bounds.
    fn energy(&self, labels: &[u32]) -> f64 {
        if labels.iter().any(|&c| c as usize >= self.k) || self.bounds.violation(&self.loads(labels)) > 0 {
            return f64::INFINITY;
        }
        let own: f64 = labels.iter().enumerate().map(|(v, &c)| self.costs[v * self.k + c as usize]).sum();
        let broken = |v: usize| {
            let same = self.arcs[v].iter().filter(move |a| a.0 as usize > v && labels[a.0 as usize] == labels[v]);
            same.map(|a| a.1).sum::<f64>()
        };
        own + (0..labels.len()).map(broken).sum::<f64>()
    }

    /// The better of `out` and a feasible `previous`.
    fn finish(&self, out: &mut [u32], previous: Option<&[u32]>, exact: bool) -> Assigned {
        let mut cost = self.energy(out);
        if let Some(previous) = previous {
            let before = self.energy(previous);
            if before <= cost {
                cost = before;
                out.copy_from_slice(previous);
            }
        }
        Assigned { cost, exact, heuristic_components: usize::from(!exact) }
    }

    /// Depth first over units by falling weight; the best labels and whether the whole tree was seen.
    fn exhaust(&self, nodes: u64) -> (Option<(f64, Vec<u32>)>, bool) {
        let m = self.weights.len();
        let mut order: Vec<usize> = (0..m).collect();
        order.sort_by_key(|&v| (std::cmp::Reverse(self.weights[v]), v));
        let cheapest =
            |v: usize| self.costs[v * self.k..(v + 1) * self.k].iter().copied().fold(f64::INFINITY, f64::min);
        let mut rest = vec![(0.0, 0u64); m + 1];
        for i in (0..m).rev() {
            rest[i] = (rest[i + 1].0 + cheapest(order[i]), rest[i + 1].1 + self.weights[order[i]]);
        }
        let mut tree = Tree {
            problem: self,
            order,
            rest,
            labels: vec![u32::MAX; m],
            loads: vec![0; self.k],
            best: None,
            left: nodes,
        };
        let complete = tree.descend(0, 0.0);
        (tree.best, complete)
    }
}

struct Tree<'a> {
    problem: &'a Problem<'a>,
    order: Vec<usize>,
    /// Cheapest cost and weight of the units from here on.
    rest: Vec<(f64, u64)>,
    labels: Vec<u32>,
    loads: Vec<u64>,
    best: Option<(f64, Vec<u32>)>,
    left: u64,
}

impl Tree<'_> {
    fn descend(&mut self, depth: usize, spent: f64) -> bool {
        if self.left == 0 {
            return false;
        }
        self.left -= 1;
        let bounds = self.problem.bounds;
        let missing: u64 = self.loads.iter().zip(&bounds.min).map(|(&load, &min)| min.saturating_sub(load)).sum();
        let (cheapest, weight) = self.rest[depth];
        let ceiling = self.best.as_ref().map_or(f64::INFINITY, |b| b.0);
        if missing > weight || spent + cheapest >= ceiling {
            return true;
        }
        let Some(&v) = self.order.get(depth) else {
            self.best = Some((spent, self.labels.clone()));
            return true;
        };
        let mut options: Vec<(f64, u32)> = (0..self.problem.k as u32)
            .filter(|&c| self.loads[c as usize] + self.problem.weights[v] <= bounds.max[c as usize])
            .map(|c| (self.problem.price(&self.labels, v, c), c))
            .filter(|o| o.0 < f64::INFINITY)
            .collect();
        options.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        for (price, c) in options {
            self.labels[v] = c;
            self.loads[c as usize] += self.problem.weights[v];
            let complete = self.descend(depth + 1, spent + price);
            self.loads[c as usize] -= self.problem.weights[v];
            self.labels[v] = u32::MAX;
            if !complete {
                return false;
            }
        }
        true
    }
}

#[cfg(test)]
mod tests;
