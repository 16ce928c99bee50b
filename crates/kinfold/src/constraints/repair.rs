//! The cheapest constraints to drop so that the rest can hold: min Σ_{c∈D} w_c with the rest free of contradictions, and
//! with k given, keepable with k clusters. NP-hard, so exact as an implicit hitting set: cores (must-link paths against a
//! cannot-link; with k, SAT cores) are collected, the cheapest set that hits them all is tried, and a set that leaves
//! something feasible is optimal. A greedy answer with a re-insertion pass is the start and what stands when time runs
//! out, beside the bound that the cores prove. Components are solved separately; hard constraints are never dropped.

use std::time::{Duration, Instant};

use super::feasible::{Feasibility, FeasibleOptions, colour_graph, deadline_after, feasible};
use super::hitting;
use super::repair_model::{Coloured, Model, Scratch, Unit};
use super::sat::Answer;
use super::{Chunklets, ConstraintId, ConstraintSet, Kind};
use crate::error::{Error, Result};

const NONE: u32 = u32::MAX;

/// How to repair.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RepairOptions {
    /// Counts hard constraints as soft ones of this weight; `None` never drops them.
    pub treat_hard_as: Option<f64>,
    /// Time for the whole answer.
    pub time_limit: Duration,
    /// Only the greedy answer and its bound.
    pub greedy: bool,
}

impl Default for RepairOptions {
    fn default() -> Self {
        RepairOptions { treat_hard_as: None, time_limit: Duration::from_secs(30), greedy: false }
    }
}

/// Something to drop: a pair, or one row's membership in a set or labelling.
#[derive(Debug, Clone, PartialEq)]
pub struct Dropped {
    /// The constraint.
    pub id: ConstraintId,
    /// The row that leaves the set or labelling; `None` for a pair.
    pub row: Option<u32>,
    /// Which entry of the set or labelling that is.
    pub entry: u32,
    /// What dropping it costs.
    pub weight: f64,
    /// The constraints that cannot hold together with it.
    pub against: Vec<ConstraintId>,
}

/// What to drop.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Repair {
    /// In the order of their ids; empty when all can hold.
    pub dropped: Vec<Dropped>,
    /// What dropping them costs.
    pub cost: f64,
    /// No repair costs less.
    pub lower_bound: f64,
    /// Is this proven to be the cheapest?
    pub optimal: bool,
}

impl Repair {
    /// The set without what is dropped. Ids stay: dropped pairs keep their place with weight 0.
    pub fn apply(&self, set: &ConstraintSet) -> ConstraintSet {
        let mut gone = rustc_hash::FxHashSet::default();
        self.dropped.iter().for_each(|d| {
            gone.insert((d.id, d.entry));
        });
        set.filtered(|id, entry| !gone.contains(&(id, entry)))
    }

    /// A sentence per dropped constraint, with the user's row names and file lines.
    pub fn describe(&self, set: &ConstraintSet, name: impl Fn(u32) -> String) -> Vec<String> {
        let mut out = Vec::with_capacity(self.dropped.len());
        for d in &self.dropped {
            let what = match (d.id, d.row) {
                (ConstraintId::Pair(i), _) => {
                    let p = &set.pairs()[i as usize];
                    set.relation(d.id, p.kind, p.a, p.b, &name)
                }
                (ConstraintId::Set(i), Some(row)) => {
                    let kind = set.sets()[i as usize].kind.answer();
                    format!("{} in the set of {kind} rows [{}]", name(row), set.place(d.id, &[row]))
                }
                (ConstraintId::Labels(i), Some(row)) => {
                    let l = &set.labels()[i as usize];
                    let label = l.rows[d.entry as usize].1 as usize;
                    let label = l.names.get(label).cloned().unwrap_or_else(|| label.to_string());
                    format!("label '{label}' of {} [{}]", name(row), set.place(d.id, &[row]))
                }
                (id, None) => id.to_string(),
            };
            let mut against: Vec<String> = Vec::new();
            for &id in d.against.iter().filter(|&&id| id != d.id) {
                against.push(format!("[{}]", set.place(id, &[])));
            }
            out.push(if against.is_empty() { what } else { format!("{what}, against {}", against.join(", ")) });
        }
        out
    }
}

/// The cheapest repair; with `k`, the rest can also be kept with at most k clusters.
///
/// A hard part that cannot hold by itself is an error with its explanation.
pub fn repair(set: &ConstraintSet, k: Option<usize>, options: &RepairOptions) -> Result<Repair> {
    let deadline = deadline_after(options.time_limit);
    if k == Some(0) && set.n() > 0 {
        return Err(Error::K { k: 0, rows: set.n() });
    }
    let hard = match options.treat_hard_as {
        None => set.close_above(f64::INFINITY)?,
        Some(weight) if weight.is_nan() || weight <= 0.0 || weight.is_infinite() => return Err(Error::Weight(weight)),
        Some(_) => Chunklets::singletons(set.n()),
    };
    let some_hard = hard.len() < set.n() || hard.graph().edge_count() > 0;
    if let Some(k) = k.filter(|_| some_hard) {
        let limit = FeasibleOptions { time_limit: options.time_limit / 4, ..FeasibleOptions::default() };
        if let Feasibility::Infeasible(why) = feasible(&hard, k, &limit) {
            return Err(Error::Infeasible(why));
        }
    }
    let mut models = build(set, &hard, k, options, deadline)?;
    // Small ones first, so that one monster does not cost them their proof.
    models.sort_by_key(|m| m.units.len());
    let mut out = Repair { optimal: true, ..Repair::default() };
    for model in &models {
        let part = Component { model, k, deadline, greedy_only: options.greedy }.solve();
        let cost = model.cost(&part.dropped);
        out.cost += cost;
        out.lower_bound += part.lower.min(cost);
        out.optimal &= part.optimal;
        for (u, unit) in model.units.iter().enumerate().filter(|(u, _)| part.dropped[*u]) {
            let core = part.cores.iter().find(|c| c.contains(&(u as u32)));
            let mut against: Vec<ConstraintId> =
                core.into_iter().flatten().filter(|&&v| v != u as u32).map(|&v| model.units[v as usize].id).collect();
            against.sort_unstable();
            against.dedup();
            out.dropped.push(Dropped { id: unit.id, row: unit.row, entry: unit.entry, weight: unit.weight, against });
        }
    }
    out.dropped.sort_by_key(|d| (d.id, d.entry));
    Ok(out)
}

/// The components that are not feasible already.
fn build(
    set: &ConstraintSet,
    hard: &Chunklets,
    k: Option<usize>,
    options: &RepairOptions,
    deadline: Instant,
) -> Result<Vec<Model>> {
    let counts = |w: f64| w > 0.0;
    let (all, _) = set.close_lenient(0.0)?;
    let mut part_of = vec![NONE; all.len()];
    let mut parts = 0u32;
    let broken = set.cannot_links_inside(all.of_rows(), counts);
    match k {
        None => {
            for &(_, a, _) in &broken {
                let part = &mut part_of[all.of(a as usize) as usize];
                if *part == NONE {
                    *part = parts;
                    parts += 1;
                }
            }
        }
        Some(k) => {
            let mut is_broken = vec![false; all.len()];
            broken.iter().for_each(|&(_, a, _)| is_broken[all.of(a as usize) as usize] = true);
            let mut components = all.graph().components();
            let alone = (0..all.len() as u32).filter(|&c| is_broken[c as usize] && all.graph().degree(c) == 0);
            components.extend(alone.map(|c| vec![c]));
            for component in components {
                let bad = component.iter().any(|&c| is_broken[c as usize]) || {
                    let limit = deadline.saturating_duration_since(Instant::now()) / 4;
                    let options = FeasibleOptions { time_limit: limit, minimise_limit: Duration::ZERO, exact_k: false };
                    !matches!(colour_graph(&all.graph().induced(&component), k, &options), Some(Ok(_)))
                };
                if bad {
                    component.iter().for_each(|&c| part_of[c as usize] = parts);
                    parts += 1;
                }
            }
        }
    }
    let mut builder = Builder {
        models: (0..parts).map(|_| Model::default()).collect(),
        node_of: vec![NONE; hard.len()],
        hard,
        all: &all,
        part_of: &part_of,
        treat_hard_as: options.treat_hard_as,
    };
    builder.fill(set, k.is_some());
    Ok(builder.models)
}

struct Builder<'a> {
    models: Vec<Model>,
    /// The node of each hard chunklet in the model of its part.
    node_of: Vec<u32>,
    hard: &'a Chunklets,
    all: &'a Chunklets,
    part_of: &'a [u32],
    treat_hard_as: Option<f64>,
}

impl Builder<'_> {
    fn part(&self, row: u32) -> u32 {
        self.part_of[self.all.of(row as usize) as usize]
    }
    fn node(&self, row: u32) -> u32 {
        self.node_of[self.hard.of(row as usize) as usize]
    }
    /// The weight that dropping costs; `None` for what is ignored or never dropped.
    fn soft(&self, weight: f64) -> Option<f64> {
        let weight = if weight.is_infinite() { self.treat_hard_as? } else { weight };
        (weight > 0.0).then_some(weight)
    }

    fn fill(&mut self, set: &ConstraintSet, with_k: bool) {
        for row in 0..set.n() as u32 {
            let part = self.part(row);
            let h = self.hard.of(row as usize) as usize;
            if part != NONE && self.node_of[h] == NONE {
                self.node_of[h] = self.models[part as usize].add_star();
            }
        }
        for (a, b) in self.hard.graph().edges() {
            let (x, y) = (self.hard.members(a)[0], self.hard.members(b)[0]);
            let (x, y, part) = (self.node(x), self.node(y), (self.part(x), self.part(y)));
            // Without k, cannot-links between chunklets of all must-links never matter.
            if part.0 != NONE && part.0 == part.1 {
                self.models[part.0 as usize].add_hard_cannot(x, y);
            }
        }
        for (i, p) in set.pairs().iter().enumerate() {
            let part = self.part(p.a);
            let Some(weight) = self.soft(p.weight).filter(|_| part != NONE) else { continue };
            let (a, b) = (self.node(p.a), self.node(p.b));
            let together = self.all.of(p.a as usize) == self.all.of(p.b as usize);
            if (p.kind == Kind::MustLink && a == b) || (p.kind == Kind::CannotLink && !with_k && !together) {
                continue;
            }
            let model = &mut self.models[part as usize];
            let unit = model.add_unit(Unit { id: ConstraintId::Pair(i as u32), row: None, entry: 0, weight });
            match p.kind {
                Kind::MustLink => model.must.push((a, b, unit)),
                Kind::CannotLink => model.cannot.push((a, b, unit)),
            }
        }
        for (i, s) in set.sets().iter().enumerate() {
            let Some(weight) = self.soft(s.weight).filter(|_| s.members.len() > 1) else { continue };
            let id = ConstraintId::Set(i as u32);
            // A cannot-link set is a labelling with a label per member.
            let entries: Vec<(u32, u32)> = match s.kind {
                Kind::MustLink => s.members.iter().map(|&row| (row, 0)).collect(),
                Kind::CannotLink => s.members.iter().zip(0..).map(|(&row, j)| (row, j)).collect(),
            };
            self.add_classes(id, &entries, weight);
        }
        for (i, l) in set.labels().iter().enumerate() {
            let Some(weight) = self.soft(l.weight) else { continue };
            self.add_classes(ConstraintId::Labels(i as u32), &l.rows, weight);
        }
        self.models.iter_mut().for_each(Model::finish);
    }

    /// One star per class and part, a unit per member, and the stars of a part as a clique.
    fn add_classes(&mut self, id: ConstraintId, entries: &[(u32, u32)], weight: f64) {
        let mut keyed: Vec<(u32, u32, u32)> = (0..entries.len() as u32)
            .map(|e| (self.part(entries[e as usize].0), entries[e as usize].1, e))
            .filter(|x| x.0 != NONE)
            .collect();
        keyed.sort_unstable();
        for part in keyed.chunk_by(|x, y| x.0 == y.0) {
            let mut clique = Vec::new();
            for class in part.chunk_by(|x, y| x.1 == y.1) {
                let star = self.models[class[0].0 as usize].add_star();
                clique.push(star);
                for &(_, _, entry) in class {
                    let row = entries[entry as usize].0;
                    let node = self.node(row);
                    let model = &mut self.models[class[0].0 as usize];
                    let unit = model.add_unit(Unit { id, row: Some(row), entry, weight });
                    model.must.push((node, star, unit));
                }
            }
            if clique.len() > 1 {
                self.models[part[0].0 as usize].cliques.push(clique);
            }
        }
    }
}

struct Solved {
    dropped: Vec<bool>,
    cores: Vec<Vec<u32>>,
    lower: f64,
    optimal: bool,
}

struct Component<'a> {
    model: &'a Model,
    k: Option<usize>,
    deadline: Instant,
    greedy_only: bool,
}

/// What an oracle says about a set of dropped units.
enum Verdict {
    /// The rest can hold.
    Holds,
    /// It cannot: cores among the rest, and a larger set that would do.
    Cores(Vec<Vec<u32>>, Option<Vec<bool>>),
    Undecided,
}

impl Component<'_> {
    fn solve(&self) -> Solved {
        let model = self.model;
        let weights: Vec<f64> = model.units.iter().map(|u| u.weight).collect();
        let mut scratch = Scratch::default();
        let mut coloured = self.k.and_then(|k| Coloured::new(model, k, self.deadline));
        let mut best = self.start(&mut scratch, &mut coloured);
        self.reinsert(&mut best, &mut coloured);
        let mut cores: Vec<Vec<u32>> = Vec::new();
        let mut lower = 0.0f64;
        let mut tried = vec![false; model.units.len()];
        let optimal = loop {
            match self.ask(&tried, &mut scratch, &mut coloured) {
                Verdict::Holds => {
                    // A cheapest hitting set that leaves something feasible is the optimum.
                    if model.cost(&tried) <= model.cost(&best) {
                        best = tried;
                    }
                    break true;
                }
                Verdict::Undecided => break false,
                Verdict::Cores(found, enough) => {
                    if found.iter().any(Vec::is_empty) {
                        break false;
                    }
                    cores.extend(found);
                    if let Some(mut enough) = enough {
                        self.reinsert(&mut enough, &mut coloured);
                        if model.cost(&enough) < model.cost(&best) {
                            best = enough;
                        }
                    }
                }
            }
            let hit = hitting::solve(&cores, &weights, self.deadline);
            lower = lower.max(hit.lower);
            if lower >= model.cost(&best) * (1.0 - 1e-12) - 1e-12 {
                break true;
            }
            if !hit.optimal || self.greedy_only || Instant::now() >= self.deadline {
                break false;
            }
            tried = vec![false; model.units.len()];
            hit.chosen.iter().for_each(|&u| tried[u as usize] = true);
        };
        let lower = if optimal { model.cost(&best) } else { lower };
        Solved { dropped: best, cores, lower, optimal }
    }

    /// Cores among the units left, as many as share nothing, and then some that do.
    fn ask(&self, dropped: &[bool], scratch: &mut Scratch, coloured: &mut Option<Coloured>) -> Verdict {
        let model = self.model;
        let mut more = dropped.to_vec();
        let (mut cores, complete) = model.disjoint_cores(scratch, &mut more, self.deadline);
        if !complete {
            return if cores.is_empty() { Verdict::Undecided } else { Verdict::Cores(cores, None) };
        }
        if !cores.is_empty() {
            for (a, b, unit) in model.broken(dropped, 200) {
                if let Some(mut core) = model.shortest(scratch, dropped, a, b) {
                    core.extend((unit != NONE).then_some(unit));
                    cores.push(core);
                }
            }
        }
        let Some(k) = self.k else {
            return if cores.is_empty() { Verdict::Holds } else { Verdict::Cores(cores, Some(more)) };
        };
        let Some(coloured) = coloured else {
            return match colour_graph(&model.lifted(&more).0, k, &self.quick()) {
                Some(Ok(_)) if cores.is_empty() => Verdict::Holds,
                Some(Ok(_)) => Verdict::Cores(cores, Some(more)),
                _ if cores.is_empty() => Verdict::Undecided,
                _ => Verdict::Cores(cores, None),
            };
        };
        loop {
            match coloured.solve(&more) {
                Answer::Yes(violated) if cores.is_empty() => {
                    debug_assert!(violated.iter().zip(dropped).all(|(v, d)| !v || *d));
                    return Verdict::Holds;
                }
                Answer::Yes(violated) => return Verdict::Cores(cores, Some(violated)),
                Answer::No(core) => {
                    let limit = self.deadline.min(Instant::now() + Duration::from_millis(200));
                    let core = coloured.shrink(core, limit);
                    core.iter().for_each(|&u| more[u as usize] = true);
                    let empty = core.is_empty();
                    cores.push(core);
                    if empty {
                        return Verdict::Cores(cores, None);
                    }
                }
                Answer::Unknown if cores.is_empty() => return Verdict::Undecided,
                Answer::Unknown => return Verdict::Cores(cores, None),
            }
        }
    }

    fn quick(&self) -> FeasibleOptions {
        let left = self.deadline.saturating_duration_since(Instant::now());
        FeasibleOptions { time_limit: left / 4, minimise_limit: Duration::from_millis(200), exact_k: false }
    }

    /// A set that leaves something feasible: greedy, and cruder when time runs out.
    fn start(&self, scratch: &mut Scratch, coloured: &mut Option<Coloured>) -> Vec<bool> {
        let model = self.model;
        let mut dropped = vec![false; model.units.len()];
        let share = self.deadline.saturating_duration_since(Instant::now()) / 3;
        if !model.greedy(scratch, &mut dropped, Instant::now() + share) {
            loop {
                let broken = model.broken(&dropped, usize::MAX);
                if broken.is_empty() {
                    break;
                }
                for (a, b, unit) in broken {
                    if unit != NONE {
                        dropped[unit as usize] = true;
                    } else if let Some(path) = model.shortest(scratch, &dropped, a, b) {
                        let weight = |u: u32| model.units[u as usize].weight;
                        if let Some(u) = path.into_iter().min_by(|&x, &y| weight(x).total_cmp(&weight(y))) {
                            dropped[u as usize] = true;
                        }
                    }
                }
            }
        }
        let Some(k) = self.k else { return dropped };
        let weight = |u: &u32| model.units[*u as usize].weight;
        loop {
            let drop = match coloured {
                Some(coloured) => match coloured.solve(&dropped) {
                    Answer::Yes(_) => return dropped,
                    Answer::No(core) => {
                        let limit = self.deadline.min(Instant::now() + Duration::from_millis(50));
                        let core = coloured.shrink(core, limit);
                        // Ties: the later unit goes.
                        core.into_iter().min_by(|x, y| weight(x).total_cmp(&weight(y)).then(y.cmp(x))).map(|u| vec![u])
                    }
                    Answer::Unknown => None,
                },
                None => {
                    let (graph, group) = model.lifted(&dropped);
                    match colour_graph(&graph, k, &self.quick()) {
                        Some(Ok(_)) => return dropped,
                        Some(Err(witness)) => {
                            let total = |units: &Vec<u32>| units.iter().map(weight).sum::<f64>();
                            let options =
                                witness.edges().into_iter().filter_map(|e| model.supports(&dropped, &group, e));
                            options.min_by(|x, y| total(x).total_cmp(&total(y)))
                        }
                        None => None,
                    }
                }
            };
            match drop {
                Some(units) if !units.is_empty() => units.iter().for_each(|&u| dropped[u as usize] = true),
                // Out of time or ideas: without any soft constraint the hard part holds.
                _ => return vec![true; model.units.len()],
            }
        }
    }

    /// Puts dropped units back, dearest first, while the rest still holds.
    fn reinsert(&self, dropped: &mut [bool], coloured: &mut Option<Coloured>) {
        let model = self.model;
        let mut order: Vec<usize> = (0..dropped.len()).filter(|&u| dropped[u]).collect();
        order.sort_by(|&a, &b| model.units[b].weight.total_cmp(&model.units[a].weight).then(a.cmp(&b)));
        for u in order {
            if Instant::now() >= self.deadline {
                return;
            }
            dropped[u] = false;
            let holds = model.broken(dropped, 1).is_empty()
                && match (self.k, &mut *coloured) {
                    (None, _) => true,
                    (Some(_), Some(coloured)) => matches!(coloured.solve(dropped), Answer::Yes(_)),
                    (Some(k), None) => {
                        matches!(colour_graph(&model.lifted(dropped).0, k, &self.quick()), Some(Ok(_)))
                    }
                };
            dropped[u] = !holds;
        }
    }
}

#[cfg(test)]
#[path = "repair_tests.rs"]
mod tests;
