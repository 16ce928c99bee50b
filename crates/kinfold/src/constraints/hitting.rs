//! Minimum-weight hitting set: the cheapest elements that meet every given core. Branch and bound on the smallest core
//! left, per group of cores that share elements; the bound is dual ascent, y_C = least residual weight in C, which
//! contains the bound from disjoint cores. Exact unless time runs out; then the bound of the root stands.

use std::time::Instant;

/// Groups with more cores keep the greedy answer: the search would be hopeless, and its recursion deep.
const MOST_CORES: usize = 3_000;

/// A hitting set and what is known about the cheapest one.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Hitting {
    /// The elements chosen, ascending.
    pub chosen: Vec<u32>,
    /// No hitting set costs less.
    pub lower: f64,
    /// Is `chosen` the cheapest?
    pub optimal: bool,
}

/// Hits every core (none empty) as cheaply as possible.
pub(super) fn solve(cores: &[Vec<u32>], weights: &[f64], deadline: Instant) -> Hitting {
    let mut all = Hitting { chosen: Vec::new(), lower: 0.0, optimal: true };
    for group in groups(cores, weights.len()) {
        let part: Vec<&[u32]> = group.iter().map(|&i| cores[i].as_slice()).collect();
        let mut search = Search::new(&part, weights, deadline);
        let root = search.bound();
        search.timed_out = search.cores.len() > MOST_CORES;
        search.descend(0.0);
        all.lower += if search.timed_out { root.min(search.best_cost) } else { search.best_cost };
        all.optimal &= !search.timed_out;
        all.chosen.extend(search.best);
    }
    all.chosen.sort_unstable();
    all
}

/// Cores that share elements, directly or through others, as lists of core numbers.
fn groups(cores: &[Vec<u32>], elements: usize) -> Vec<Vec<usize>> {
    let mut forest = super::chunklets::Forest::new(elements);
    for core in cores {
        core.windows(2).for_each(|w| forest.unite(w[0], w[1]));
    }
    let mut keyed: Vec<(u32, usize)> = cores.iter().enumerate().map(|(i, c)| (forest.find(c[0]), i)).collect();
    keyed.sort_unstable();
    keyed.chunk_by(|x, y| x.0 == y.0).map(|run| run.iter().map(|x| x.1).collect()).collect()
}

struct Search {
    cores: Vec<Vec<u32>>,
    /// Local element → name and weight.
    names: Vec<u32>,
    weights: Vec<f64>,
    /// Cores of each element.
    member: Vec<Vec<u32>>,
    /// How many chosen elements hit each core.
    hits: Vec<u32>,
    excluded: Vec<bool>,
    chosen: Vec<u32>,
    best: Vec<u32>,
    best_cost: f64,
    residual: Vec<f64>,
    deadline: Instant,
    nodes: u64,
    timed_out: bool,
}

impl Search {
    fn new(cores: &[&[u32]], weights: &[f64], deadline: Instant) -> Search {
        let mut names: Vec<u32> = cores.iter().flat_map(|c| c.iter().copied()).collect();
        names.sort_unstable();
        names.dedup();
        let mut local: Vec<Vec<u32>> = cores
            .iter()
            .map(|c| c.iter().map(|e| names.binary_search(e).unwrap_or(0) as u32).collect::<Vec<u32>>())
            .collect();
        local.iter_mut().for_each(|c| {
            c.sort_unstable();
            c.dedup();
        });
        local.sort_unstable_by(|a, b| a.len().cmp(&b.len()).then_with(|| a.cmp(b)));
        local.dedup();
        let weights: Vec<f64> = names.iter().map(|&e| weights[e as usize]).collect();
        let mut member = vec![Vec::new(); names.len()];
        for (i, core) in local.iter().enumerate() {
            core.iter().for_each(|&e| member[e as usize].push(i as u32));
        }
        let mut search = Search {
            hits: vec![0; local.len()],
            excluded: vec![false; names.len()],
            chosen: Vec::new(),
            best: Vec::new(),
            best_cost: f64::INFINITY,
            residual: weights.clone(),
            cores: local,
            names,
            weights,
            member,
            deadline,
            nodes: 0,
            timed_out: false,
        };
        search.greedy();
        search
    }

    /// A first hitting set: least weight per core hit, then leave out what is not needed, dearest first.
    fn greedy(&mut self) {
        let mut hits = vec![0u32; self.cores.len()];
        let mut taken = vec![false; self.names.len()];
        while hits.contains(&0) {
            let mut best: Option<(f64, usize)> = None;
            for e in (0..self.names.len()).filter(|&e| !taken[e]) {
                let gain = self.member[e].iter().filter(|&&c| hits[c as usize] == 0).count();
                let price = self.weights[e] / gain as f64;
                if gain > 0 && best.is_none_or(|(least, _)| price < least) {
                    best = Some((price, e));
                }
            }
            let Some((_, e)) = best else { break };
            taken[e] = true;
            self.member[e].iter().for_each(|&c| hits[c as usize] += 1);
        }
        let mut order: Vec<usize> = (0..taken.len()).filter(|&e| taken[e]).collect();
        order.sort_by(|&a, &b| self.weights[b].total_cmp(&self.weights[a]).then(b.cmp(&a)));
        for e in order {
            if self.member[e].iter().all(|&c| hits[c as usize] > 1) {
                taken[e] = false;
                self.member[e].iter().for_each(|&c| hits[c as usize] -= 1);
            }
        }
        self.best = (0..taken.len()).filter(|&e| taken[e]).map(|e| self.names[e]).collect();
        self.best_cost = (0..taken.len()).filter(|&e| taken[e]).map(|e| self.weights[e]).sum();
    }

    /// Dual ascent over the cores not yet hit; infinite when one cannot be hit any more.
    fn bound(&mut self) -> f64 {
        self.residual.copy_from_slice(&self.weights);
        let mut sum = 0.0;
        for (core, _) in self.cores.iter().zip(&self.hits).filter(|(_, hits)| **hits == 0) {
            let free = || core.iter().map(|&e| e as usize).filter(|&e| !self.excluded[e]);
            let least = free().map(|e| self.residual[e]).fold(f64::INFINITY, f64::min);
            if least.is_infinite() {
                return f64::INFINITY;
            }
            if least > 0.0 {
                sum += least;
                let excluded = &self.excluded;
                let residual = &mut self.residual;
                core.iter().filter(|&&e| !excluded[e as usize]).for_each(|&e| residual[e as usize] -= least);
            }
        }
        sum
    }

    fn descend(&mut self, cost: f64) {
        self.nodes += 1;
        if self.nodes.is_multiple_of(64) && Instant::now() >= self.deadline {
            self.timed_out = true;
        }
        let slack = 1e-12 * (1.0 + self.best_cost.abs());
        if self.timed_out || cost + self.bound() >= self.best_cost - slack {
            return;
        }
        // The core with fewest elements left.
        let mut pick: Option<(usize, usize)> = None;
        for i in (0..self.cores.len()).filter(|&i| self.hits[i] == 0) {
            let left = self.cores[i].iter().filter(|&&e| !self.excluded[e as usize]).count();
            if pick.is_none_or(|(least, _)| left < least) {
                pick = Some((left, i));
                if left <= 1 {
                    break;
                }
            }
        }
        let Some((_, core)) = pick else {
            self.best_cost = cost;
            self.best = self.chosen.iter().map(|&e| self.names[e as usize]).collect();
            return;
        };
        let mut elements: Vec<u32> = self.cores[core].iter().copied().filter(|&e| !self.excluded[e as usize]).collect();
        let gain = |e: u32| self.member[e as usize].iter().filter(|&&c| self.hits[c as usize] == 0).count() as f64;
        let mut priced: Vec<(f64, u32)> =
            elements.drain(..).map(|e| (self.weights[e as usize] / gain(e).max(1.0), e)).collect();
        priced.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        for &(_, e) in &priced {
            self.choose(e, true);
            self.chosen.push(e);
            self.descend(cost + self.weights[e as usize]);
            self.chosen.pop();
            self.choose(e, false);
            self.excluded[e as usize] = true;
        }
        priced.iter().for_each(|&(_, e)| self.excluded[e as usize] = false);
    }

    fn choose(&mut self, e: u32, on: bool) {
        let hits = &mut self.hits;
        self.member[e as usize].iter().for_each(|&c| {
            if on {
                hits[c as usize] += 1;
            } else {
                hits[c as usize] -= 1;
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Rng;
    use std::time::Duration;

    #[test]
    fn the_cheapest_hitting_set_equals_enumeration() {
        let mut rng = Rng::stream(1, "hitting", 0);
        for round in 0..1500 {
            let n = 1 + rng.below(10);
            let weights: Vec<f64> =
                (0..n).map(|_| if round % 2 == 0 { 1.0 + rng.below(4) as f64 } else { 0.01 + rng.unit() }).collect();
            let cores: Vec<Vec<u32>> = (0..rng.below(12))
                .map(|_| {
                    let size = 1 + rng.below(4);
                    rng.sample(n, size).into_iter().map(|e| e as u32).collect()
                })
                .collect();
            let hits = |bits: u32| cores.iter().all(|c| c.iter().any(|&e| bits >> e & 1 == 1));
            let cost = |bits: u32| (0..n).filter(|e| bits >> e & 1 == 1).map(|e| weights[e]).sum::<f64>();
            let least = (0..1u32 << n).filter(|&b| hits(b)).map(cost).fold(f64::INFINITY, f64::min);
            let found = solve(&cores, &weights, Instant::now() + Duration::from_secs(10));
            let bits = found.chosen.iter().fold(0, |bits, e| bits | 1 << e);
            assert!(found.optimal && hits(bits));
            assert!((cost(bits) - least).abs() < 1e-9 && (found.lower - least).abs() < 1e-9);
        }
    }
}
