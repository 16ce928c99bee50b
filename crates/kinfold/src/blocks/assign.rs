//! The exact assignment step under cannot-links: minimise Σ cost[u][c_u] over labels with c_u ≠ c_v on every edge
//! (soft edges instead charge their weight), given k clusters; `+inf` costs are forbidden. Separates over components:
//! nearest clusters already differ → done; clique → matching; k = 2 → two choices; tree → O(V·k) dynamic programming;
//! otherwise reduce exactly (`kernel`), then per piece bucket elimination or branch and bound, and past their limits a
//! start that reaches feasibility (`colour`) and improvement by exchanges and forest steps, reported as heuristic.
//! One `Assigner` serves all iterations of a run; results never exceed the cost of a feasible `previous`.

mod colour;
mod dp;
mod improve;
mod kernel;
mod net;
mod search;

use std::ops::Range;

use crate::blocks::matching::Matcher;
use crate::blocks::units::FREE;
use crate::constraints::Graph;
use crate::context::RunContext;
use colour::Verdict;
use net::Net;
pub(crate) use net::two_smallest;

/// Table entries that bucket elimination may fill for one piece.
const ELIMINATION_LIMIT: f64 = 2e6;
/// The same where good labels are enough.
const QUICK_ELIMINATION: f64 = 2e3;
/// Branch-and-bound nodes for one piece at most, for all pieces of a call together, and for one piece at least.
const NODES: Range<u64> = 500..20_000;
const NODES_PER_CALL: u64 = 400_000;
/// Cells (units × clusters) that the nodes of one piece may look at.
const NODE_WORK: u64 = 1_000_000;
/// Nodes to prove that a component cannot be labelled at all.
const PROOF_NODES: u64 = 1_000_000;
/// Units up to which the full share of nodes is spent; beyond, a proof is rarely near.
const SMALL: usize = 30;
/// Rounds without progress before the improvement of a large piece stops.
const PATIENCE: usize = 8;
/// Price rises granted to the breakout start.
const BREAKOUT_ROUNDS: usize = 400;
/// Components that one task handles.
const TASK: usize = 64;

/// How an assignment came out.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Assigned {
    /// Σ cost, plus the weight of violated soft edges.
    pub cost: f64,
    /// Every component was solved to proven optimality.
    pub exact: bool,
    /// Number of components whose labels are feasible but not proven optimal.
    pub heuristic_components: usize,
}

/// A component that could not be assigned.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "{} units with cannot-links among them {}",
    .vertices.len(),
    if *.proven { "have no labelling that keeps them all" } else { "found no labelling that keeps them all within the search limits" }
)]
pub struct Stuck {
    /// The units of the component, ascending.
    pub vertices: Vec<u32>,
    /// True: no feasible labels exist. False: none were found within the limits.
    pub proven: bool,
}

/// What a component is, apart from its costs.
#[derive(Debug, Clone)]
enum Kind {
    /// All pairs hard.
    Clique,
    /// No cycle.
    Tree(dp::Forest),
    /// k = 2 and all hard: the side of every vertex, or `None` for an odd cycle.
    TwoSided(Option<Vec<u32>>),
    /// Anything else.
    General,
}

#[derive(Debug, Clone)]
struct Component {
    vertices: Vec<u32>,
    net: Net,
    kind: Kind,
    /// A labelling that kept the hard edges in an earlier call.
    remembered: Option<Vec<u32>>,
}

/// A cannot-link graph prepared for many assignments with changing costs.
#[derive(Debug, Clone)]
pub struct Assigner {
    k: usize,
    units: usize,
    /// Units without any edge.
    free: Vec<u32>,
    components: Vec<Component>,
    /// Component of each unit, `FREE` without any edge.
    component_of: Vec<u32>,
    /// Components of kind General.
    general: u64,
    /// Are good labels enough, without proof?
    quick: bool,
}

impl Assigner {
    /// Prepares hard cannot-links.
    pub fn new(graph: &Graph, k: usize) -> Assigner {
        let edges: Vec<(u32, u32, f64)> = graph.edges().map(|(a, b)| (a, b, f64::INFINITY)).collect();
        Assigner::build(graph.len(), &edges, k)
    }

    /// Prepares weighted cannot-links (a, b, price of sharing a cluster). Infinite weights are hard, others must be
    /// finite and not negative; weights of repeated pairs add up, loops and zeros are ignored.
    pub fn soft(units: usize, edges: &[(u32, u32, f64)], k: usize) -> Assigner {
        let mut merged: Vec<(u32, u32, f64)> =
            edges.iter().filter(|e| e.0 != e.1 && e.2 > 0.0).map(|&(a, b, w)| (a.min(b), a.max(b), w)).collect();
        merged.sort_by_key(|e| (e.0, e.1));
        merged.dedup_by(|later, first| {
            let same = (later.0, later.1) == (first.0, first.1);
            if same {
                first.2 += later.2;
            }
            same
        });
        Assigner::build(units, &merged, k)
    }

    fn build(units: usize, edges: &[(u32, u32, f64)], k: usize) -> Assigner {
        let whole = Net::new(units, edges);
        let mut local = vec![0u32; units];
        let mut components = Vec::new();
        let mut free = Vec::new();
        for (vertices, net) in pieces(&whole, &mut local, |_, _| true) {
            if vertices.len() == 1 {
                free.push(vertices[0]);
                continue;
            }
            let (n, e) = (net.len(), net.edge_count());
            let kind = if net.all_hard() && e == n * (n - 1) / 2 {
                Kind::Clique
            } else if k == 2 && net.all_hard() {
                Kind::TwoSided(two_sides(&net))
            } else if e == n - 1 {
                Kind::Tree(dp::Forest::new(&net, |_| true))
            } else {
                Kind::General
            };
            components.push(Component { vertices, net, kind, remembered: None });
        }
        components.shrink_to_fit();
        let mut component_of = vec![FREE; units];
        for (number, component) in components.iter().enumerate() {
            component.vertices.iter().for_each(|&v| component_of[v as usize] = number as u32);
        }
        let general = components.iter().filter(|c| matches!(c.kind, Kind::General)).count() as u64;
        Assigner { k, units, free, components, component_of, general, quick: false }
    }

    /// The same for callers that assign thousands of times and need good labels, not proofs: components beyond trees,
    /// cliques and small tables get one greedy start and one improvement.
    pub fn quick(mut self) -> Assigner {
        self.quick = true;
        self
    }

    /// Number of units.
    pub fn units(&self) -> usize {
        self.units
    }
    /// Number of clusters.
    pub fn k(&self) -> usize {
        self.k
    }
    /// Every edge once with its weight, ordered by component.
    pub fn edges(&self) -> impl Iterator<Item = (u32, u32, f64)> + '_ {
        self.components.iter().flat_map(|c| {
            (0..c.net.len()).flat_map(move |v| {
                c.net.arcs(v).filter(move |&(u, _)| v < u).map(move |(u, w)| (c.vertices[v], c.vertices[u], w))
            })
        })
    }

    /// Chooses a cluster for every unit into `out`. `costs` is units × k, row-major, not NaN, `+inf` = forbidden;
    /// `previous` is a warm start and may be infeasible. When stuck, `out` is partly written.
    pub fn assign(
        &mut self,
        ctx: &RunContext,
        costs: &[f64],
        previous: Option<&[u32]>,
        out: &mut [u32],
    ) -> Result<Assigned, Stuck> {
        let k = self.k;
        debug_assert_eq!(costs.len(), self.units * k);
        let mut free_cost = 0.0;
        for &u in &self.free {
            let (at, first, _) = two_smallest(&costs[u as usize * k..(u as usize + 1) * k]);
            if first == f64::INFINITY {
                return Err(Stuck { vertices: vec![u], proven: true });
            }
            out[u as usize] = at as u32;
            free_cost += first;
        }
        let mut result = self.solve(ctx, costs, None, previous, out)?;
        result.cost += free_cost;
        Ok(result)
    }

    /// The same for the units of some components, `row_of` says which row of `costs` each has; others are not written.
    pub fn assign_some(
        &mut self,
        ctx: &RunContext,
        costs: &[f64],
        (some, row_of): (&[u32], &[u32]),
        previous: Option<&[u32]>,
        out: &mut [u32],
    ) -> Result<Assigned, Stuck> {
        debug_assert_eq!(row_of.len(), self.units);
        let mut which: Vec<u32> = some.iter().map(|&u| self.component_of[u as usize]).filter(|&c| c != FREE).collect();
        which.sort_unstable();
        which.dedup();
        self.solve(ctx, costs, Some((&which, row_of)), previous, out)
    }

    fn solve(
        &mut self,
        ctx: &RunContext,
        costs: &[f64],
        some: Option<(&[u32], &[u32])>,
        previous: Option<&[u32]>,
        out: &mut [u32],
    ) -> Result<Assigned, Stuck> {
        debug_assert_eq!(out.len(), self.units);
        let k = self.k;
        let mut result = Assigned { cost: 0.0, exact: true, heuristic_components: 0 };
        let nodes = (NODES_PER_CALL / self.general.max(1)).clamp(NODES.start, NODES.end);
        let nodes = if self.quick { 0 } else { nodes };
        let row_of = some.map(|s| s.1);
        let mut asked: Vec<(usize, &mut Component)> = match some {
            None => self.components.iter_mut().enumerate().collect(),
            Some((which, _)) => pick(&mut self.components, which),
        };
        let solved = ctx.pool.map_chunks_mut(&mut asked, TASK, |_, chunk| {
            let mut scratch = Scratch { matcher: Matcher::new(), costs: Vec::new() };
            let solve = |(i, component): &mut (usize, &mut Component)| {
                component.solve(ctx, k, costs, row_of, previous, *i as u64, nodes, &mut scratch)
            };
            chunk.iter_mut().map(solve).collect::<Vec<_>>()
        });
        let mut stuck: Option<Stuck> = None;
        for ((_, component), solution) in asked.iter().zip(solved.into_iter().flatten()) {
            match solution {
                Ok((cost, labels, exact)) => {
                    component.vertices.iter().zip(labels).for_each(|(&v, c)| out[v as usize] = c);
                    result.cost += cost;
                    result.exact &= exact;
                    result.heuristic_components += usize::from(!exact);
                }
                // A proof says more than a failure to find.
                Err(proven) if stuck.as_ref().is_none_or(|s| proven && !s.proven) => {
                    stuck = Some(Stuck { vertices: component.vertices.clone(), proven });
                }
                Err(_) => {}
            }
        }
        stuck.map_or(Ok(result), Err)
    }
}

/// Some components (ascending) with their numbers.
fn pick<'a>(components: &'a mut [Component], which: &[u32]) -> Vec<(usize, &'a mut Component)> {
    let (mut rest, mut passed) = (components, 0);
    let mut some = Vec::with_capacity(which.len());
    for &c in which {
        let (upto, after) = rest.split_at_mut(c as usize + 1 - passed);
        some.extend(upto.last_mut().map(|last| (c as usize, last)));
        (rest, passed) = (after, c as usize + 1);
    }
    some
}

/// Buffers that small components reuse.
struct Scratch {
    matcher: Matcher,
    costs: Vec<f64>,
}

/// Labels with their energy and whether they are proven optimal, or whether infeasibility is proven.
type Solved = Result<(f64, Vec<u32>, bool), bool>;

impl Component {
    #[allow(clippy::too_many_arguments)]
    fn solve(
        &mut self,
        ctx: &RunContext,
        k: usize,
        all_costs: &[f64],
        row_of: Option<&[u32]>,
        previous: Option<&[u32]>,
        index: u64,
        nodes: u64,
        scratch: &mut Scratch,
    ) -> Solved {
        let n = self.vertices.len();
        scratch.costs.clear();
        for &v in &self.vertices {
            let row = row_of.map_or(v, |rows| rows[v as usize]) as usize;
            scratch.costs.extend_from_slice(&all_costs[row * k..(row + 1) * k]);
        }
        let costs = &scratch.costs;
        let mut labels: Vec<u32> = (0..n).map(|v| two_smallest(&costs[v * k..(v + 1) * k]).0 as u32).collect();
        let nearest = self.net.energy(k, costs, &labels);
        let floor: f64 = (0..n).map(|v| costs[v * k + labels[v] as usize]).sum();
        if floor == f64::INFINITY {
            return Err(true);
        }
        if (0..n).all(|v| self.net.arcs(v).all(|(u, _)| labels[u] != labels[v])) {
            return Ok((nearest, labels, true));
        }
        let before: Option<(f64, Vec<u32>)> = previous.and_then(|all| {
            let old: Vec<u32> = self.vertices.iter().map(|&v| all[v as usize]).collect();
            let energy =
                if old.iter().all(|&c| (c as usize) < k) { self.net.energy(k, costs, &old) } else { f64::INFINITY };
            (energy < f64::INFINITY).then_some((energy, old))
        });
        let mut exact = true;
        let found: Option<()> = match &self.kind {
            Kind::Clique => scratch.matcher.solve(n, k, |v, c| costs[v * k + c], &mut labels).map(|_| ()),
            Kind::Tree(forest) => forest.solve(k, &mut costs.clone(), &mut labels).map(|_| ()),
            Kind::TwoSided(sides) => sides.as_ref().and_then(|sides| {
                let mirrored: Vec<u32> = sides.iter().map(|&c| 1 - c).collect();
                let (one, two) = (self.net.energy(k, costs, sides), self.net.energy(k, costs, &mirrored));
                labels.copy_from_slice(if two < one { &mirrored } else { sides });
                (one.min(two) < f64::INFINITY).then_some(())
            }),
            Kind::General => {
                let start = before.as_ref().map(|b| b.1.clone()).or_else(|| {
                    // Colours found earlier are still proper unless clusters have been forbidden since.
                    let mut old = self.remembered.clone()?;
                    improve::rename(&self.net, k, costs, &mut old);
                    (self.net.energy(k, costs, &old) < f64::INFINITY).then_some(old)
                });
                let task = Task { ctx, k, index, nodes };
                match task.general(&self.net, costs, start) {
                    Ok((found, proven)) => {
                        labels = found;
                        exact = proven;
                        self.remembered = Some(labels.clone());
                        Some(())
                    }
                    Err(proven) => return Err(proven),
                }
            }
        };
        if found.is_none() {
            return Err(true);
        }
        let energy = self.net.energy(k, costs, &labels);
        match before {
            // Equal cost: stay, so that iterations come to rest.
            Some((old_energy, old)) if old_energy <= energy => Ok((old_energy, old, exact)),
            _ => Ok((energy, labels, exact)),
        }
    }
}

/// What the solution of a general component needs besides the problem.
struct Task<'a> {
    ctx: &'a RunContext,
    k: usize,
    index: u64,
    /// Branch-and-bound nodes; 0 = good labels are enough.
    nodes: u64,
}

impl Task<'_> {
    /// Labels and whether they are proven optimal; `Err(proven infeasible)`.
    fn general(&self, net: &Net, costs: &[f64], mut start: Option<Vec<u32>>) -> Result<(Vec<u32>, bool), bool> {
        let k = self.k;
        let kernel = kernel::reduce(net, k, costs, start.as_deref_mut()).ok_or(true)?;
        let mut reduced = vec![f64::INFINITY; costs.len()];
        for (v, list) in kernel.lists.iter().enumerate() {
            list.iter().for_each(|&c| reduced[v * k + c as usize] = costs[v * k + c as usize]);
        }
        let meet = |v: usize, u: usize| kernel.lists[v].iter().any(|&c| reduced[u * k + c as usize] < f64::INFINITY);
        let mut labels = vec![0u32; net.len()];
        let mut exact = true;
        let mut local = vec![0u32; net.len()];
        for (piece, (vertices, part)) in pieces(net, &mut local, meet).enumerate() {
            let own: Vec<f64> =
                vertices.iter().flat_map(|&v| reduced[v as usize * k..(v as usize + 1) * k].iter().copied()).collect();
            let warm: Option<Vec<u32>> = start.as_ref().map(|s| vertices.iter().map(|&v| s[v as usize]).collect());
            match self.piece(&part, &own, warm, piece as u64) {
                Ok((found, proven)) => {
                    exact &= proven;
                    vertices.iter().zip(found).for_each(|(&v, c)| labels[v as usize] = c);
                }
                Err(true) => return Err(true),
                // The shorter lists may be what makes the search hard: once more with all clusters.
                Err(false) if vertices.len() < net.len() || reduced != costs => {
                    return self.large(net, costs, None, 1 << 32);
                }
                Err(false) => return Err(false),
            }
        }
        Ok((labels, exact))
    }

    /// One connected piece of the reduced problem.
    fn piece(&self, net: &Net, costs: &[f64], warm: Option<Vec<u32>>, number: u64) -> Result<(Vec<u32>, bool), bool> {
        let (n, k) = (net.len(), self.k);
        let mut labels = vec![0u32; n];
        if net.edge_count() + 1 == n {
            let forest = dp::Forest::new(net, |_| true);
            return forest.solve(k, &mut costs.to_vec(), &mut labels).map(|_| (labels, true)).ok_or(true);
        }
        if net.all_hard() && net.edge_count() == n * (n - 1) / 2 {
            let matched = Matcher::new().solve(n, k, |v, c| costs[v * k + c], &mut labels);
            return matched.map(|_| (labels, true)).ok_or(true);
        }
        let domains: Vec<Vec<u32>> =
            (0..n).map(|v| (0..k as u32).filter(|&c| costs[v * k + c as usize] < f64::INFINITY).collect()).collect();
        let sizes: Vec<usize> = domains.iter().map(Vec::len).collect();
        if let Some(plan) =
            dp::Plan::new(net, &sizes, if self.nodes == 0 { QUICK_ELIMINATION } else { ELIMINATION_LIMIT })
        {
            return plan.solve(net, k, costs, &domains, &mut labels).map(|_| (labels, true)).ok_or(true);
        }
        self.large(net, costs, warm, number)
    }

    /// Start, improve, and try to prove.
    fn large(&self, net: &Net, costs: &[f64], warm: Option<Vec<u32>>, number: u64) -> Result<(Vec<u32>, bool), bool> {
        let (n, k) = (net.len(), self.k);
        let mut rng = self.ctx.rng("assign", self.index.wrapping_mul(0x1_0000_0001).wrapping_add(number));
        let quick = self.nodes == 0;
        let patience = if quick { 1 } else { PATIENCE };
        let mut best: Option<(f64, Vec<u32>)> = None;
        let consider = |labels: Vec<u32>, best: &mut Option<(f64, Vec<u32>)>| {
            let energy = net.energy(k, costs, &labels);
            if energy < f64::INFINITY && best.as_ref().is_none_or(|b| energy < b.0) {
                *best = Some((energy, labels));
            }
        };
        let mut labels = vec![0u32; n];
        if improve::greedy(net, k, costs, &mut labels) {
            improve::improve(net, k, costs, &mut labels, patience, &mut rng);
            consider(labels.clone(), &mut best);
        }
        // A feasible start has been through this in an earlier iteration.
        if warm.is_none()
            && (!quick || best.is_none())
            && improve::breakout(net, k, costs, &mut labels, BREAKOUT_ROUNDS, &mut rng)
        {
            improve::improve(net, k, costs, &mut labels, patience, &mut rng);
            consider(labels.clone(), &mut best);
        }
        if let Some(mut warm) = warm {
            improve::improve(net, k, costs, &mut warm, patience, &mut rng);
            consider(warm, &mut best);
        }
        if best.is_none() {
            match colour::colour(self.ctx, net, k, costs, &labels, &mut rng) {
                Verdict::Found(mut found) => {
                    improve::improve(net, k, costs, &mut found, patience, &mut rng);
                    consider(found, &mut best);
                }
                Verdict::Impossible => return Err(true),
                Verdict::Unknown if n <= search::MOST_UNITS => {
                    let outcome = search::branch_and_bound(net, k, costs, f64::INFINITY, PROOF_NODES);
                    if outcome.better.is_none() && outcome.complete {
                        return Err(true);
                    }
                    best = outcome.better;
                }
                Verdict::Unknown => {}
            }
        }
        let (energy, mut labels) = best.ok_or(false)?;
        let mut exact = false;
        if !quick && n <= search::MOST_UNITS {
            // A node costs about n·k: larger pieces get fewer.
            let share = if n <= SMALL { self.nodes } else { self.nodes / 40 };
            let nodes = share.min(NODE_WORK / (n * k) as u64);
            let outcome = search::branch_and_bound(net, k, costs, energy, nodes);
            exact = outcome.complete;
            if let Some((_, better)) = outcome.better {
                labels = better;
            }
        }
        Ok((labels, exact))
    }
}

/// The cheapest labels of a few units under hard cannot-links and whether that is proven, from `start` if it keeps them;
/// `None` when none were found.
pub(crate) fn cheapest_labels(
    ctx: &RunContext,
    edges: &[(u32, u32)],
    costs: &[f64],
    k: usize,
    start: Option<Vec<u32>>,
) -> Option<(Vec<u32>, bool)> {
    let hard: Vec<(u32, u32, f64)> = edges.iter().map(|&(a, b)| (a, b, f64::INFINITY)).collect();
    let task = Task { ctx, k, index: 0, nodes: NODES.start };
    task.general(&Net::new(costs.len() / k, &hard), costs, start).ok()
}

/// The connected pieces of `net` (single vertices too) over the edges that `keep` accepts, ordered by smallest vertex;
/// `local` is a buffer as long as the net.
fn pieces<'a>(
    net: &'a Net,
    local: &'a mut [u32],
    keep: impl Fn(usize, usize) -> bool + 'a,
) -> impl Iterator<Item = (Vec<u32>, Net)> + 'a {
    let n = net.len();
    let mut seen = vec![false; n];
    let mut from = 0;
    std::iter::from_fn(move || {
        while from < n && seen[from] {
            from += 1;
        }
        if from == n {
            return None;
        }
        seen[from] = true;
        let mut vertices = vec![from as u32];
        let mut next = 0;
        while next < vertices.len() {
            let v = vertices[next] as usize;
            next += 1;
            for (u, _) in net.arcs(v) {
                if !seen[u] && keep(v, u) {
                    seen[u] = true;
                    vertices.push(u as u32);
                }
            }
        }
        vertices.sort_unstable();
        for (i, &v) in vertices.iter().enumerate() {
            local[v as usize] = i as u32;
        }
        let mut edges = Vec::new();
        for &v in &vertices {
            let v = v as usize;
            edges.extend(net.arcs(v).filter(|&(u, _)| v < u && keep(v, u)).map(|(u, w)| (local[v], local[u], w)));
        }
        let part = Net::new(vertices.len(), &edges);
        Some((vertices, part))
    })
}

/// A proper two-colouring of a connected net, vertex 0 first; `None` when it has an odd cycle.
fn two_sides(net: &Net) -> Option<Vec<u32>> {
    let mut side = vec![u32::MAX; net.len()];
    side[0] = 0;
    let mut queue = vec![0usize];
    while let Some(v) = queue.pop() {
        for (u, _) in net.arcs(v) {
            if side[u] == u32::MAX {
                side[u] = 1 - side[v];
                queue.push(u);
            } else if side[u] == side[v] {
                return None;
            }
        }
    }
    Some(side)
}

#[cfg(test)]
mod tests;
