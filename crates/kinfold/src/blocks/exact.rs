//! Exact minimum-sum-of-squares clustering under must-links and cannot-links by column generation (Babaki, Guns, Nijssen
//! 2014; du Merle et al. 2000; Aloise, Hansen, Liberti 2012). Master: cover every chunklet by at most k valid clusters of least
//! total cost; its LP dual is max Σ λ_b − kσ with Σ_C λ ≤ cost(C) + σ for the clusters known so far (`master`), and `pricing`
//! finds the most violated one or proves there is none. For any λ, σ ≥ 0 the cost of every clustering is at least
//! Σ λ − kσ + k·min(0, least reduced cost): the bound that is reported at any moment. λ is kept in boxes that an optimal
//! incumbent would imply, and smoothed towards the prices of the best bound. Fractional ends: two chunklets that are half
//! together become one or are kept apart (Ryan & Foster 1981). All in `Masses` units; costs are scaled back at the end.

mod descent;
mod masses;
mod master;
mod pricing;

use rustc_hash::FxHashSet;

pub use descent::improve;
pub use masses::{Masses, members};
use master::{Boxes, Master};
use pricing::{Effort, Priced, Prices};

use crate::context::{RunContext, Termination};

/// How far to go.
#[derive(Debug, Clone, Copy)]
pub struct Plan {
    /// Number of clusters.
    pub k: usize,
    /// Relative gap at which the objective counts as proven.
    pub tolerance: f64,
    /// Candidates that pricing may look at; LP work counts as well.
    pub work: u64,
}

/// A labelling and what is proven about it.
#[derive(Debug, Clone)]
pub struct Proof {
    /// Cluster of every mass.
    pub labels: Vec<u32>,
    /// Its cost, in units of the masses.
    pub objective: f64,
    /// No labelling costs less than this.
    pub lower_bound: f64,
    /// Optimal when the two meet.
    pub termination: Termination,
    /// The cost of each incumbent.
    pub trace: Vec<f64>,
    /// Rounds of the master programme.
    pub rounds: usize,
    /// Clusters generated.
    pub columns: usize,
    /// Nodes of the branching tree.
    pub nodes: usize,
    /// Candidates that pricing looked at.
    pub work: u64,
}

/// A node of the branching tree: which masses are one, and which further ones are apart.
#[derive(Debug, Clone)]
struct Node {
    group: Vec<u32>,
    count: usize,
    apart: Vec<(u32, u32)>,
    bound: f64,
    boxes: Option<Boxes>,
}

/// How a node ended.
enum End {
    /// Nothing better in it.
    Closed,
    /// Time, work or the user's patience is over.
    Stopped(Termination),
    /// These two (of the node's masses) are neither together nor apart.
    Split(u32, u32),
}

struct Solver<'a> {
    ctx: &'a RunContext,
    plan: Plan,
    root: &'a Masses,
    labels: Vec<u32>,
    objective: f64,
    trace: Vec<f64>,
    /// Clusters of the root, in the order found.
    pool: Vec<Vec<u32>>,
    seen: FxHashSet<Vec<u32>>,
    rounds: usize,
    nodes: usize,
    work: u64,
    /// The least bound of the nodes that wait or are closed.
    others: f64,
}

/// Proves the best of some labellings optimal, improves it, or tells how far from optimal it can be at most.
/// `starts` must be feasible, with labels below k.
pub fn solve(ctx: &RunContext, masses: &Masses, starts: &[Vec<u32>], plan: Plan) -> Proof {
    let k = plan.k;
    let mut solver = Solver {
        ctx,
        plan,
        root: masses,
        labels: Vec::new(),
        objective: f64::INFINITY,
        trace: Vec::new(),
        pool: Vec::new(),
        seen: FxHashSet::default(),
        rounds: 0,
        nodes: 0,
        work: 0,
        others: f64::INFINITY,
    };
    for start in starts {
        members(start, k).into_iter().for_each(|m| solver.remember(m));
        solver.offer(start.clone());
    }
    let bound = masses.simple_bound(k);
    let group: Vec<u32> = (0..masses.len() as u32).collect();
    let root = Node { count: group.len(), group, apart: Vec::new(), bound, boxes: None };
    let (bound, termination) = solver.branch(root);
    let lower_bound = bound.min(solver.objective);
    Proof {
        labels: solver.labels,
        objective: solver.objective,
        lower_bound,
        termination,
        trace: solver.trace,
        rounds: solver.rounds,
        columns: solver.pool.len(),
        nodes: solver.nodes,
        work: solver.work,
    }
}

impl Solver<'_> {
    fn remember(&mut self, cluster: Vec<u32>) {
        if !cluster.is_empty() && !self.seen.contains(&cluster) {
            self.seen.insert(cluster.clone());
            self.pool.push(cluster);
        }
    }

    /// Takes a labelling of the root if it is the best so far.
    fn offer(&mut self, labels: Vec<u32>) {
        let cost = self.root.cost_of(&labels, self.plan.k);
        if cost < self.objective - 1e-9 * self.objective.min(1e9) {
            self.objective = cost;
            self.trace.push(cost);
            self.labels = labels;
        }
    }

    fn proven(&self, bound: f64) -> bool {
        bound >= self.objective * (1.0 - self.plan.tolerance) - 1e-12
    }

    fn tell(&self, bound: f64) {
        let (unit, bound) = (self.root.unit, bound.min(self.others).min(self.objective));
        let gap = 100.0 * (self.objective - bound) / self.objective.max(1e-300);
        let text =
            format!("objective {:.6}, lower bound {:.6}, gap {gap:.4} %, round", self.objective * unit, bound * unit);
        self.ctx.progress(&text, self.rounds as u64, None);
    }

    /// Best bound first until the bounds meet.
    fn branch(&mut self, root: Node) -> (f64, Termination) {
        let mut open = vec![root];
        while let Some(at) = (0..open.len()).min_by(|&a, &b| open[a].bound.total_cmp(&open[b].bound).then(a.cmp(&b))) {
            let mut node = open.swap_remove(at);
            self.others = open.iter().map(|n| n.bound).fold(f64::INFINITY, f64::min);
            if self.proven(node.bound) {
                return (node.bound.min(self.objective), Termination::Optimal);
            }
            self.nodes += 1;
            match self.node(&mut node) {
                End::Closed => {}
                End::Stopped(why) => return (node.bound.min(self.others), why),
                End::Split(a, b) => open.extend(self.children(&node, a, b)),
            }
        }
        (self.objective, Termination::Optimal)
    }

    fn children(&self, node: &Node, a: u32, b: u32) -> Vec<Node> {
        let of = |group: u32| node.group.iter().position(|&g| g == group).unwrap_or(0) as u32;
        let (a, b) = (a.min(b), a.max(b));
        let mut together = node.clone();
        // b joins a, later groups move up by one.
        together.group.iter_mut().for_each(|g| *g = if *g == b { a } else { *g - u32::from(*g > b) });
        together.count -= 1;
        together.boxes = node.boxes.as_ref().map(|x| x.joined(a as usize, b as usize));
        let mut apart = node.clone();
        apart.apart.push((of(a), of(b)));
        vec![together, apart]
    }

    /// Column generation at one node; raises `node.bound`.
    fn node(&mut self, node: &mut Node) -> End {
        let k = self.plan.k;
        let Some(masses) = self.root.merged(&node.group, node.count, &node.apart) else { return End::Closed };
        let masses = &masses;
        let mut master = Master::new(masses, k);
        let mut taken = 0;
        let mut boxes = match &node.boxes {
            Some(boxes) => boxes.clone(),
            None => Boxes::of_labels(masses, k, &self.labels),
        };
        let mut boxed_for = self.objective;
        let mut centre: Option<Prices> = None;
        let mut smoothing = 0.7;
        loop {
            while taken < self.pool.len() {
                if let Some(cluster) = in_node(masses, node, &self.pool[taken]) {
                    master.add(masses, cluster);
                }
                taken += 1;
            }
            if node.apart.is_empty() && node.count == self.root.len() && self.objective < boxed_for {
                boxes = Boxes::of_labels(masses, k, &self.labels);
                boxed_for = self.objective;
            }
            self.tell(node.bound);
            if let Err(stop) = self.ctx.checkpoint() {
                return End::Stopped(stop.into());
            }
            self.work += master.effort();
            if self.work > self.plan.work {
                return End::Stopped(Termination::MaxIterations);
            }
            self.rounds += 1;
            let Some(solution) = master.solve(&boxes, self.ctx.remaining()) else {
                return End::Stopped(
                    self.ctx.checkpoint().map_or_else(Termination::from, |()| Termination::MaxIterations),
                );
            };
            if self.rounds % 10 == 1
                && let Some(mut labels) = master.rounded(masses, k, &solution)
            {
                improve(masses, k, &mut labels);
                self.adopt(node, &labels);
            }
            let eps = 0.25 * self.plan.tolerance * self.objective.max(1e-9) / k as f64;
            let smooth = centre.as_ref().map(|c| solution.prices.between(c, smoothing));
            smoothing = f64::max(0.3, smoothing * 0.98);
            let mut new = false;
            for prices in smooth.iter().chain([&solution.prices]) {
                let mut found = pricing::greedy(&self.ctx.pool, masses, prices, &master.recent(masses), eps);
                if found.is_empty() {
                    let effort = Effort { eps, work: self.plan.work.saturating_sub(self.work) };
                    let searched = pricing::search(self.ctx, masses, prices, None, effort);
                    self.work += searched.work;
                    let bound =
                        prices.blocks.iter().sum::<f64>() + k as f64 * (searched.bound - prices.cluster).min(0.0);
                    if bound > node.bound {
                        node.bound = bound;
                        centre = Some(prices.clone());
                    }
                    found = searched.columns;
                    if self.proven(node.bound) {
                        return End::Closed;
                    }
                    if self.ctx.checkpoint().is_err() || self.work > self.plan.work {
                        break;
                    }
                }
                new = self.add(node, masses, &solution.prices, eps, found);
                if new {
                    break;
                }
            }
            if new || self.ctx.checkpoint().is_err() || self.work > self.plan.work {
                continue;
            }
            if boxes.widen(&solution, masses) {
                continue;
            }
            // The programme is solved: whole clusters are a clustering, otherwise two masses are half together.
            if let Some(mut labels) = master.rounded(masses, k, &solution) {
                improve(masses, k, &mut labels);
                self.adopt(node, &labels);
            }
            if self.proven(node.bound) {
                return End::Closed;
            }
            node.boxes = Some(boxes);
            return match master.undecided(masses, &solution) {
                Some((a, b)) => End::Split(a, b),
                None => End::Stopped(Termination::MaxIterations),
            };
        }
    }

    /// Clusters of the node into the pool of the root; true when one of them is new and negative at the master's prices.
    fn add(&mut self, node: &Node, masses: &Masses, prices: &Prices, eps: f64, found: Vec<Priced>) -> bool {
        let mut new = false;
        for column in found {
            let value = pricing::reduced_cost(masses, prices, &column.members);
            let mut inside = vec![false; node.count];
            column.members.iter().for_each(|&g| inside[g as usize] = true);
            let cluster: Vec<u32> =
                (0..self.root.len() as u32).filter(|&i| inside[node.group[i as usize] as usize]).collect();
            let fresh = !self.seen.contains(&cluster);
            new |= fresh && value < -eps;
            self.remember(cluster);
        }
        new
    }

    /// A labelling of the node's masses, as one of the root.
    fn adopt(&mut self, node: &Node, labels: &[u32]) {
        let spread: Vec<u32> = node.group.iter().map(|&g| labels[g as usize]).collect();
        members(&spread, self.plan.k).into_iter().for_each(|m| self.remember(m));
        self.offer(spread);
    }
}

/// A cluster of the root in terms of a node's masses; `None` when the node forbids it.
fn in_node(masses: &Masses, node: &Node, cluster: &[u32]) -> Option<Vec<u32>> {
    let mut count = vec![0u32; node.count];
    cluster.iter().for_each(|&i| count[node.group[i as usize] as usize] += 1);
    if node.count < node.group.len() {
        let mut size = vec![0u32; node.count];
        node.group.iter().for_each(|&g| size[g as usize] += 1);
        if count.iter().zip(&size).any(|(c, s)| *c > 0 && c != s) {
            return None;
        }
    }
    let own: Vec<u32> = (0..node.count as u32).filter(|&g| count[g as usize] > 0).collect();
    (node.apart.is_empty() || masses.valid(&own)).then_some(own)
}

#[cfg(test)]
mod tests;
