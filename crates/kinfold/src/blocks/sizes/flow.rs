//! Minimum-cost flow over the clusters: successive shortest paths in a residual graph of k + 1 nodes, where the arc a → b
//! is the unit of a that is cheapest to move to b (a heap per pair, entries checked when they surface), and the last node
//! stands for "any cluster with room or to spare". From the optimum without bounds all arcs are ≥ 0, so Dijkstra with
//! potentials gives the exact optimum: O(moves · (k² + k log m)). With links, units whose way is barred are skipped and come
//! back when a neighbour moves; the result then is feasible but not proven optimal.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::Problem;

/// A price that orders like the number it holds, with the unit to break ties.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Offer(f64, u32);

impl Eq for Offer {}
impl PartialOrd for Offer {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}
impl Ord for Offer {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.0.total_cmp(&other.0).then(self.1.cmp(&other.1))
    }
}

/// Moves units of weight `unit` until the bounds hold; `None` when no path is left.
pub(super) fn settle(problem: &Problem, unit: u64, labels: &mut [u32]) -> Option<()> {
    let k = problem.k;
    let mut flow = Flow { problem, heaps: (0..k * k).map(|_| BinaryHeap::new()).collect() };
    for v in 0..labels.len() {
        flow.offer_all(labels, v);
    }
    // In numbers of units.
    let least: Vec<i64> = problem.bounds.min.iter().map(|&x| x.div_ceil(unit) as i64).collect();
    let most: Vec<i64> = problem.bounds.max.iter().map(|&x| (x / unit).min(labels.len() as u64) as i64).collect();
    let mut load = vec![0i64; k];
    labels.iter().for_each(|&c| load[c as usize] += 1);
    if (0..k).any(|c| least[c] > most[c]) {
        return None;
    }
    let any = k;
    let mut potential = vec![0.0; k + 1];
    loop {
        let excess: Vec<usize> = (0..k).filter(|&c| load[c] > most[c]).collect();
        let lacking: Vec<usize> = (0..k).filter(|&c| load[c] < least[c]).collect();
        if excess.is_empty() && lacking.is_empty() {
            return Some(());
        }
        // Sources: clusters with too much, and `any` while some cluster lacks. Sinks: lacking clusters and `any`.
        let mut sources = excess.clone();
        if excess.is_empty() {
            sources.push(any);
        }
        let (distance, before) = flow.shortest(labels, &sources, &load, &least, &most, &potential);
        let mut sink: Option<usize> = None;
        for c in lacking.iter().copied().chain((!excess.is_empty()).then_some(any)) {
            let true_length = |c: usize| distance[c] + potential[c];
            if distance[c] < f64::INFINITY && sink.is_none_or(|s| true_length(c) < true_length(s)) {
                sink = Some(c);
            }
        }
        let sink = sink?;
        let reach = distance[sink];
        for (p, d) in potential.iter_mut().zip(&distance) {
            *p += d.min(reach);
        }
        // Walk back from the sink; arcs between two clusters are moves.
        let mut at = sink;
        let mut moves: Vec<(u32, usize)> = Vec::new();
        while let Some((from, v)) = before[at] {
            if let Some(v) = v {
                moves.push((v, at));
            }
            at = from;
        }
        for (v, to) in moves {
            let from = labels[v as usize] as usize;
            labels[v as usize] = to as u32;
            load[from] -= 1;
            load[to] += 1;
            flow.offer_all(labels, v as usize);
            // Neighbours may enter what v has left.
            for &(u, _) in &problem.arcs[v as usize] {
                flow.offer(labels, u as usize, from as u32);
            }
        }
    }
}

struct Flow<'a> {
    problem: &'a Problem<'a>,
    heaps: Vec<BinaryHeap<Reverse<Offer>>>,
}

/// For every node: the node before it on the shortest path and the unit that moves along, if any.
type Tree = Vec<Option<(usize, Option<u32>)>>;

impl Flow<'_> {
    fn offer(&mut self, labels: &[u32], v: usize, to: u32) {
        let k = self.problem.k;
        let here = labels[v];
        let costs = &self.problem.costs[v * k..(v + 1) * k];
        let delta = costs[to as usize] - costs[here as usize];
        if to != here && delta < f64::INFINITY {
            self.heaps[here as usize * k + to as usize].push(Reverse(Offer(delta, v as u32)));
        }
    }

    fn offer_all(&mut self, labels: &[u32], v: usize) {
        for c in 0..self.problem.k as u32 {
            self.offer(labels, v, c);
        }
    }

    /// The cheapest unit that can go from a to b now.
    fn best(&mut self, labels: &[u32], a: usize, b: usize) -> Option<Offer> {
        let problem = self.problem;
        let heap = &mut self.heaps[a * problem.k + b];
        while let Some(&Reverse(offer)) = heap.peek() {
            let v = offer.1 as usize;
            let barred = || problem.arcs[v].iter().any(|&(u, _)| labels[u as usize] as usize == b);
            if labels[v] as usize == a && !barred() {
                return Some(offer);
            }
            heap.pop();
        }
        None
    }

    /// Dense Dijkstra over reduced costs, which rounding (or links) may push below zero: clamped.
    fn shortest(
        &mut self,
        labels: &[u32],
        sources: &[usize],
        load: &[i64],
        least: &[i64],
        most: &[i64],
        potential: &[f64],
    ) -> (Vec<f64>, Tree) {
        let k = self.problem.k;
        let mut distance = vec![f64::INFINITY; k + 1];
        let mut before: Tree = vec![None; k + 1];
        let mut done = vec![false; k + 1];
        // Sources start at their potential, so that true lengths are compared.
        for &s in sources {
            distance[s] = 0.0;
        }
        let shift = sources.iter().map(|&s| -potential[s]).fold(f64::INFINITY, f64::min);
        for &s in sources {
            distance[s] = (-potential[s] - shift).max(0.0);
        }
        loop {
            let mut at = None;
            for c in 0..=k {
                if !done[c] && distance[c] < f64::INFINITY && at.is_none_or(|a: usize| distance[c] < distance[a]) {
                    at = Some(c);
                }
            }
            let Some(a) = at else { return (distance, before) };
            done[a] = true;
            for b in (0..=k).filter(|&b| b != a) {
                if done[b] {
                    continue;
                }
                let (length, unit) = if a == k {
                    // From anywhere: a cluster that has some to spare.
                    if load[b] <= least[b] {
                        continue;
                    }
                    (0.0, None)
                } else if b == k {
                    if load[a] >= most[a] {
                        continue;
                    }
                    (0.0, None)
                } else {
                    match self.best(labels, a, b) {
                        Some(offer) => (offer.0, Some(offer.1)),
                        None => continue,
                    }
                };
                let reduced = (length + potential[a] - potential[b]).max(0.0);
                if distance[a] + reduced < distance[b] {
                    distance[b] = distance[a] + reduced;
                    before[b] = Some((a, unit));
                }
            }
        }
    }
}
