//! One component of a repair problem: nodes are rows joined by hard must-links, and stars for soft sets and label classes;
//! units are what can be dropped. A soft pair is one unit; a soft set or labelling is one unit per member, the claim that
//! this row belongs to it, so that a wrong member can go without the rest. A conflict's core is the units along a
//! must-link path between two nodes that must differ, with the unit of the cannot-link itself.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::time::Instant;

use super::chunklets::Forest;
use super::sat::{Answer, Solver};
use super::{ConstraintId, Graph};

const NONE: u32 = u32::MAX;

/// Something that can be dropped.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Unit {
    pub id: ConstraintId,
    /// The member of a set or labelling that is dropped; `None` for a pair.
    pub row: Option<u32>,
    /// Which entry of its constraint it is (a row can be labelled twice).
    pub entry: u32,
    pub weight: f64,
}

#[derive(Debug, Default)]
pub(super) struct Model {
    pub nodes: usize,
    pub units: Vec<Unit>,
    /// Must-links: two nodes and the unit.
    pub must: Vec<(u32, u32, u32)>,
    /// Cannot-links: two nodes and the unit, `NONE` when hard.
    pub cannot: Vec<(u32, u32, u32)>,
    /// Stars that must differ pairwise as far as they have members.
    pub cliques: Vec<Vec<u32>>,
    starts: Vec<u32>,
    links: Vec<(u32, u32)>,
}

impl Model {
    pub fn add_unit(&mut self, unit: Unit) -> u32 {
        self.units.push(unit);
        self.units.len() as u32 - 1
    }
    pub fn add_star(&mut self) -> u32 {
        self.nodes += 1;
        self.nodes as u32 - 1
    }
    pub fn add_hard_cannot(&mut self, a: u32, b: u32) {
        self.cannot.push((a, b, NONE));
    }
    /// Builds the adjacency once everything is added.
    pub fn finish(&mut self) {
        let mut starts = vec![0u32; self.nodes + 1];
        for &(a, b, _) in &self.must {
            starts[a as usize + 1] += 1;
            starts[b as usize + 1] += 1;
        }
        for i in 0..self.nodes {
            starts[i + 1] += starts[i];
        }
        let mut fill = starts.clone();
        self.links = vec![(0, 0); 2 * self.must.len()];
        for &(a, b, unit) in &self.must {
            for (from, to) in [(a, b), (b, a)] {
                self.links[fill[from as usize] as usize] = (to, unit);
                fill[from as usize] += 1;
            }
        }
        self.starts = starts;
    }
    pub fn cost(&self, dropped: &[bool]) -> f64 {
        self.units.iter().zip(dropped).filter(|(_, d)| **d).map(|(u, _)| u.weight).sum()
    }
    fn links(&self, node: u32) -> &[(u32, u32)] {
        &self.links[self.starts[node as usize] as usize..self.starts[node as usize + 1] as usize]
    }

    /// The nodes that the must-links left join.
    pub fn joined(&self, dropped: &[bool]) -> Vec<u32> {
        let mut forest = Forest::new(self.nodes);
        for &(a, b, _) in self.must.iter().filter(|m| !dropped[m.2 as usize]) {
            forest.unite(a, b);
        }
        (0..self.nodes as u32).map(|v| forest.find(v)).collect()
    }

    /// Nodes that must differ but are joined, with the unit of the cannot-link (`NONE` when it has none); at most `most`.
    pub fn broken(&self, dropped: &[bool], most: usize) -> Vec<(u32, u32, u32)> {
        let joined = self.joined(dropped);
        let same = |a: u32, b: u32| joined[a as usize] == joined[b as usize];
        let counts = |unit: u32| unit == NONE || !dropped[unit as usize];
        let mut found: Vec<(u32, u32, u32)> =
            self.cannot.iter().filter(|c| counts(c.2) && same(c.0, c.1)).take(most).copied().collect();
        let mut first: rustc_hash::FxHashMap<u32, u32> = rustc_hash::FxHashMap::default();
        for clique in &self.cliques {
            first.clear();
            for &star in clique {
                if found.len() >= most {
                    return found;
                }
                match first.entry(joined[star as usize]) {
                    std::collections::hash_map::Entry::Vacant(e) => {
                        e.insert(star);
                    }
                    std::collections::hash_map::Entry::Occupied(e) => found.push((*e.get(), star, NONE)),
                }
            }
        }
        found
    }

    /// Units of the must-link path with fewest units from a to b among those not dropped.
    pub fn shortest(&self, scratch: &mut Scratch, dropped: &[bool], a: u32, b: u32) -> Option<Vec<u32>> {
        scratch.reset(self.nodes);
        scratch.visit(a, NONE, NONE);
        let mut queue = VecDeque::from([a]);
        while let Some(v) = queue.pop_front() {
            if v == b {
                return Some(scratch.path(b));
            }
            for &(u, unit) in self.links(v) {
                if !dropped[unit as usize] && !scratch.seen(u) {
                    scratch.visit(u, v, unit);
                    queue.push_back(u);
                }
            }
        }
        None
    }

    /// Units of the lightest must-link path from a to b among those not dropped.
    fn lightest(&self, scratch: &mut Scratch, dropped: &[bool], a: u32, b: u32) -> Option<Vec<u32>> {
        #[derive(PartialEq)]
        struct Key(f64, u32);
        impl Eq for Key {}
        impl PartialOrd for Key {
            fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
                Some(self.cmp(other))
            }
        }
        impl Ord for Key {
            fn cmp(&self, other: &Self) -> std::cmp::Ordering {
                self.0.total_cmp(&other.0).then(self.1.cmp(&other.1))
            }
        }
        scratch.reset(self.nodes);
        let mut heap = BinaryHeap::from([Reverse((Key(0.0, 0), a, NONE, NONE))]);
        while let Some(Reverse((Key(length, steps), v, from, by))) = heap.pop() {
            if scratch.seen(v) {
                continue;
            }
            scratch.visit(v, from, by);
            if v == b {
                return Some(scratch.path(b));
            }
            for &(u, unit) in self.links(v) {
                if !dropped[unit as usize] && !scratch.seen(u) {
                    let next = length + self.units[unit as usize].weight;
                    heap.push(Reverse((Key(next, steps + 1), u, v, unit)));
                }
            }
        }
        None
    }

    /// Cores that share no unit, until what is left is free of conflicts. `dropped` gains their units. Stops at the
    /// deadline (then conflicts may be left; the flag says so). An empty core means the hard part is broken.
    pub fn disjoint_cores(
        &self,
        scratch: &mut Scratch,
        dropped: &mut [bool],
        deadline: Instant,
    ) -> (Vec<Vec<u32>>, bool) {
        let mut cores = Vec::new();
        loop {
            let broken = self.broken(dropped, 2_000);
            if broken.is_empty() {
                return (cores, true);
            }
            for (a, b, unit) in broken {
                if Instant::now() >= deadline {
                    return (cores, false);
                }
                if unit != NONE && dropped[unit as usize] {
                    continue;
                }
                // The path may be cut by a core of this round.
                let Some(mut core) = self.shortest(scratch, dropped, a, b) else { continue };
                core.extend((unit != NONE).then_some(unit));
                core.iter().for_each(|&u| dropped[u as usize] = true);
                let empty = core.is_empty();
                cores.push(core);
                if empty {
                    return (cores, true);
                }
            }
        }
    }

    /// Drops, again and again, the unit of least weight per conflict it is in, conflicts being the cannot-link and its
    /// lightest path. Ties: smaller weight, then the later unit. False when time ran out with conflicts left.
    pub fn greedy(&self, scratch: &mut Scratch, dropped: &mut [bool], deadline: Instant) -> bool {
        let mut hits = vec![0u32; self.units.len()];
        loop {
            let broken = self.broken(dropped, 1_000);
            if broken.is_empty() {
                return true;
            }
            let mut touched = Vec::new();
            for (a, b, unit) in broken {
                if Instant::now() >= deadline {
                    return false;
                }
                let Some(mut core) = self.lightest(scratch, dropped, a, b) else { continue };
                core.extend((unit != NONE).then_some(unit));
                for u in core {
                    if hits[u as usize] == 0 {
                        touched.push(u);
                    }
                    hits[u as usize] += 1;
                }
            }
            let price = |u: u32| self.units[u as usize].weight / f64::from(hits[u as usize]);
            let weight = |u: u32| self.units[u as usize].weight;
            let best = touched
                .iter()
                .copied()
                .min_by(|&a, &b| price(a).total_cmp(&price(b)).then(weight(a).total_cmp(&weight(b))).then(b.cmp(&a)));
            touched.iter().for_each(|&u| hits[u as usize] = 0);
            match best {
                Some(u) => dropped[u as usize] = true,
                None => return false,
            }
        }
    }

    /// The graph of nodes that must differ after joining, for the units left, and the joined group of each node.
    pub fn lifted(&self, dropped: &[bool]) -> (Graph, Vec<u32>) {
        let joined = self.joined(dropped);
        let mut names = joined.clone();
        names.sort_unstable();
        names.dedup();
        let group: Vec<u32> = joined.iter().map(|r| names.binary_search(r).unwrap_or(0) as u32).collect();
        let has_member = self.has_member(dropped);
        let mut edges: Vec<(u32, u32)> = Vec::new();
        for &(a, b, unit) in &self.cannot {
            if unit == NONE || !dropped[unit as usize] {
                edges.push((group[a as usize], group[b as usize]));
            }
        }
        for clique in &self.cliques {
            let present: Vec<u32> = clique.iter().copied().filter(|&s| has_member[s as usize]).collect();
            for (i, &a) in present.iter().enumerate() {
                edges.extend(present[i + 1..].iter().map(|&b| (group[a as usize], group[b as usize])));
            }
        }
        (Graph::new(names.len(), edges.iter().copied()), group)
    }

    fn has_member(&self, dropped: &[bool]) -> Vec<bool> {
        let mut has = vec![false; self.nodes];
        for &(a, b, unit) in &self.must {
            if !dropped[unit as usize] {
                has[a as usize] = true;
                has[b as usize] = true;
            }
        }
        has
    }

    /// The units that hold up the difference between two joined groups: dropping them all removes it. `None` when a hard
    /// cannot-link holds it up.
    pub fn supports(&self, dropped: &[bool], group: &[u32], edge: (u32, u32)) -> Option<Vec<u32>> {
        let is_edge = |a: u32, b: u32| {
            let (x, y) = (group[a as usize], group[b as usize]);
            (x.min(y), x.max(y)) == (edge.0.min(edge.1), edge.0.max(edge.1))
        };
        let mut found = Vec::new();
        for &(a, b, unit) in self.cannot.iter().filter(|c| is_edge(c.0, c.1)) {
            if unit == NONE {
                return None;
            }
            if !dropped[unit as usize] {
                found.push(unit);
            }
            debug_assert!(a != b || edge.0 == edge.1);
        }
        let has_member = self.has_member(dropped);
        for clique in &self.cliques {
            for (i, &a) in clique.iter().enumerate() {
                for &b in clique[i + 1..].iter().filter(|&&b| is_edge(a, b)) {
                    if has_member[a as usize] && has_member[b as usize] {
                        // Empty the cheaper of the two.
                        let claims = |star: u32| -> Vec<u32> {
                            self.links(star).iter().map(|l| l.1).filter(|&u| !dropped[u as usize]).collect()
                        };
                        let weigh = |units: &[u32]| units.iter().map(|&u| self.units[u as usize].weight).sum::<f64>();
                        let (x, y) = (claims(a), claims(b));
                        found.extend(if weigh(&x) <= weigh(&y) { x } else { y });
                    }
                }
            }
        }
        found.sort_unstable();
        found.dedup();
        Some(found)
    }
}

/// Search marks that are reused.
#[derive(Default)]
pub(super) struct Scratch {
    parent: Vec<(u32, u32)>,
    mark: Vec<u32>,
    round: u32,
}

impl Scratch {
    fn reset(&mut self, nodes: usize) {
        if self.mark.len() != nodes || self.round == u32::MAX {
            self.mark = vec![0; nodes];
            self.parent = vec![(NONE, NONE); nodes];
            self.round = 0;
        }
        self.round += 1;
    }
    fn seen(&self, v: u32) -> bool {
        self.mark[v as usize] == self.round
    }
    fn visit(&mut self, v: u32, from: u32, unit: u32) {
        self.mark[v as usize] = self.round;
        self.parent[v as usize] = (from, unit);
    }
    fn path(&self, mut v: u32) -> Vec<u32> {
        let mut units = Vec::new();
        while self.parent[v as usize].0 != NONE {
            units.push(self.parent[v as usize].1);
            v = self.parent[v as usize].0;
        }
        units
    }
}

/// The same component with k colours, as SAT with one selector per unit.
pub(super) struct Coloured<'a> {
    model: &'a Model,
    k: usize,
    solver: Solver,
    stars: Vec<bool>,
}

impl<'a> Coloured<'a> {
    /// Literals beyond which it is not worth trying.
    const MOST_LITERALS: usize = 30_000_000;

    /// `None` when it would be too large.
    pub fn new(model: &'a Model, k: usize, deadline: Instant) -> Option<Coloured<'a>> {
        let clique_pairs: usize = model.cliques.iter().map(|c| c.len() * c.len() / 2).sum();
        let size = model.nodes + 6 * model.must.len() + 3 * model.cannot.len() + 4 * clique_pairs;
        if size.saturating_mul(k) > Self::MOST_LITERALS {
            return None;
        }
        let mut solver = Solver::new(deadline);
        let x = |v: u32, c: usize| v as usize * k + c;
        let unit = |u: u32| model.nodes * k + u as usize;
        let present = |star: u32| model.nodes * k + model.units.len() + star as usize;
        for v in 0..model.nodes as u32 {
            let any: Vec<(usize, bool)> = (0..k).map(|c| (x(v, c), true)).collect();
            solver.clause(&any);
        }
        for &(a, b, u) in &model.must {
            for c in 0..k {
                solver.clause(&[(unit(u), false), (x(a, c), false), (x(b, c), true)]);
                solver.clause(&[(unit(u), false), (x(b, c), false), (x(a, c), true)]);
            }
        }
        for &(a, b, u) in &model.cannot {
            for c in 0..k {
                if u == NONE {
                    solver.clause(&[(x(a, c), false), (x(b, c), false)]);
                } else {
                    solver.clause(&[(unit(u), false), (x(a, c), false), (x(b, c), false)]);
                }
            }
        }
        let mut stars = vec![false; model.nodes];
        for clique in &model.cliques {
            for (i, &a) in clique.iter().enumerate() {
                stars[a as usize] = true;
                for &(_, u) in model.links(a) {
                    solver.clause(&[(unit(u), false), (present(a), true)]);
                }
                for &b in &clique[i + 1..] {
                    for c in 0..k {
                        let both = [(present(a), false), (present(b), false)];
                        solver.clause(&[both[0], both[1], (x(a, c), false), (x(b, c), false)]);
                    }
                }
            }
        }
        // Colours are interchangeable: fix those of one clique of hard cannot-links.
        let hard = model.cannot.iter().filter(|c| c.2 == NONE).map(|c| (c.0, c.1));
        let clique = super::colouring::greedy_clique(&Graph::new(model.nodes, hard), k, deadline);
        clique.iter().enumerate().for_each(|(c, &v)| solver.clause(&[(x(v, c), true)]));
        Some(Coloured { model, k, solver, stars })
    }

    /// Can all units that are not dropped hold? If so, the units that do not hold in the clustering found; else a core.
    pub fn solve(&mut self, dropped: &[bool]) -> Answer<Vec<bool>, Vec<u32>> {
        let base = self.model.nodes * self.k;
        let assumed: Vec<usize> = (0..dropped.len()).filter(|&u| !dropped[u]).map(|u| base + u).collect();
        match self.solver.solve(&assumed) {
            Answer::Yes(()) => Answer::Yes(self.violated()),
            Answer::No(used) => Answer::No(used.into_iter().map(|v| (v - base) as u32).collect()),
            Answer::Unknown => Answer::Unknown,
        }
    }

    fn violated(&self) -> Vec<bool> {
        let (model, k) = (self.model, self.k);
        let colour: Vec<usize> =
            (0..model.nodes).map(|v| (0..k).find(|&c| self.solver.holds(v * k + c)).unwrap_or(0)).collect();
        let mut out = vec![false; model.units.len()];
        // A star without claims may share its colour with another of its clique: claims to it do not hold.
        let absent =
            |v: u32| self.stars[v as usize] && !self.solver.holds(model.nodes * k + model.units.len() + v as usize);
        for &(a, b, u) in &model.must {
            out[u as usize] = colour[a as usize] != colour[b as usize] || absent(a) || absent(b);
        }
        for &(a, b, u) in model.cannot.iter().filter(|c| c.2 != NONE) {
            out[u as usize] = colour[a as usize] == colour[b as usize];
        }
        out
    }

    /// Shrinks a core: units are left out while the rest cannot hold.
    pub fn shrink(&mut self, core: Vec<u32>, deadline: Instant) -> Vec<u32> {
        let mut core = core;
        let mut at = 0;
        while at < core.len() && Instant::now() < deadline {
            let mut dropped = vec![true; self.model.units.len()];
            core.iter().enumerate().filter(|(i, _)| *i != at).for_each(|(_, &u)| dropped[u as usize] = false);
            match self.solve(&dropped) {
                Answer::No(smaller) => {
                    // Keep the order: what was found necessary stays in front.
                    core.retain(|u| smaller.contains(u));
                }
                _ => at += 1,
            }
        }
        core
    }
}
