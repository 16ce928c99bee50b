//! Sequential placement under cannot-links (Wagstaff et al. 2001): units one by one, each to the cheapest cluster that no
//! cannot-linked unit placed before it uses. Components of the cannot-link graph do not see each other, so a dead end is
//! repaired inside its component: most saturated unit first (DSATUR order), then new random orders, then the exact engine.
//! A unit is judged by its mean, or (`by_row`) by the first of its rows in the order, as in the 2001 paper.
//! Cost O(units · k + cannot-links) per sweep without dead ends.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::assign::Assigner;
use super::lloyd::{Clashing, Needs, Place, cheapest};
use super::units::{FREE, Units};
use crate::constraints::{ConstraintSet, Kind};
use crate::context::RunContext;
use crate::data::{Float, Matrix};
use crate::error::{Error, Result};
use crate::rng::Rng;

const UNPLACED: u32 = u32::MAX;
/// Rows, and clusters, that a message names one by one.
const NAMED: usize = 8;

crate::choice! {
    /// Who is placed first.
    pub enum Order {
        /// By first row.
        Input = "input",
        /// A random order, drawn once per start.
        Random = "random",
        /// Most cannot-links first.
        MostConstrained = "most-constrained",
    }
}

/// What to do with a unit that every cluster refuses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OnDeadEnd {
    /// Give up with an error that names it.
    Fail,
    /// Most saturated first, then up to this many random orders, then exact assignment.
    Retry(usize),
    /// Put it into its nearest cluster: a violation.
    Violate,
}

/// How often each level was needed, over all sweeps.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Tally {
    /// Units that did not get their nearest cluster.
    pub refused: usize,
    /// Components in which the order led to a dead end.
    pub dead_ends: usize,
    /// Of these, solved by placing the most saturated unit first.
    pub by_saturation: usize,
    /// Of these, solved by another random order.
    pub by_shuffle: usize,
    /// Of these, solved by exact assignment.
    pub by_exact: usize,
}

struct Component {
    /// In the order of placing.
    units: Vec<u32>,
    /// Made when first needed.
    exact: Option<Assigner>,
}

/// Costs by unit: all rows, or those that `row_of` names.
#[derive(Clone, Copy)]
struct Costs<'a> {
    k: usize,
    values: &'a [f64],
    row_of: Option<&'a [u32]>,
}

impl<'a> Costs<'a> {
    fn row(&self, unit: u32) -> &'a [f64] {
        let at = self.row_of.map_or(unit, |rows| rows[unit as usize]) as usize;
        &self.values[at * self.k..(at + 1) * self.k]
    }
}

/// A unit that fits nowhere.
struct DeadEnd {
    unit: u32,
}

/// See the module.
pub struct Greedy<'a, F> {
    units: &'a Units<'a, F>,
    given: &'a ConstraintSet,
    on_dead_end: OnDeadEnd,
    rng: Rng,
    /// Units without cannot-links.
    alone: Vec<u32>,
    components: Vec<Component>,
    /// Position of each unit in the order.
    position: Vec<u32>,
    /// The row that stands for each unit, and weight · its distance² to the centres, when units are judged by a row.
    first_row: Vec<u32>,
    row_costs: Vec<f64>,
    /// Cluster → stamp of the unit that found it closed.
    closed: Vec<u64>,
    stamp: u64,
    sweep: usize,
    broken: usize,
    /// What happened so far.
    pub tally: Tally,
}

impl<'a, F: Float> Greedy<'a, F> {
    /// Prepares the order. `by_row`: a unit is judged by its first row instead of its mean.
    pub fn new(
        units: &'a Units<'a, F>,
        given: &'a ConstraintSet,
        order: Order,
        by_row: bool,
        on_dead_end: OnDeadEnd,
        mut rng: Rng,
    ) -> Greedy<'a, F> {
        let m = units.bound();
        let mut sequence: Vec<u32> = (0..m as u32).collect();
        let mut first_row: Vec<u32> = if by_row { (0..m).map(|u| units.members(u)[0]).collect() } else { Vec::new() };
        match order {
            Order::Input => {}
            Order::MostConstrained => sequence.sort_by_key(|&u| Reverse(units.graph.degree(u))),
            Order::Random if by_row => {
                // Rows in random order; a unit is placed when its first row comes up.
                let mut rows: Vec<(u32, u32)> =
                    (0..m).flat_map(|u| units.members(u).iter().map(move |&row| (row, u as u32))).collect();
                rng.shuffle(&mut rows);
                sequence.clear();
                let mut seen = vec![false; m];
                for (row, unit) in rows {
                    if !std::mem::replace(&mut seen[unit as usize], true) {
                        sequence.push(unit);
                        first_row[unit as usize] = row;
                    }
                }
            }
            Order::Random => rng.shuffle(&mut sequence),
        }
        let mut position = vec![0u32; m];
        sequence.iter().enumerate().for_each(|(at, &u)| position[u as usize] = at as u32);
        let mut components: Vec<Component> =
            units.graph.components().into_iter().map(|units| Component { units, exact: None }).collect();
        components.iter_mut().for_each(|c| c.units.sort_by_key(|&u| position[u as usize]));
        let alone = (0..m as u32).filter(|&u| units.graph.degree(u) == 0).collect();
        Greedy {
            units,
            given,
            on_dead_end,
            rng,
            alone,
            components,
            position,
            first_row,
            row_costs: Vec::new(),
            closed: Vec::new(),
            stamp: 0,
            sweep: 0,
            broken: 0,
            tally: Tally::default(),
        }
    }

    /// Marks the clusters that placed neighbours of `unit` use with a fresh stamp; are there any?
    fn mark(&mut self, unit: u32, out: &[u32]) -> bool {
        self.stamp += 1;
        let mut any = false;
        for &v in self.units.graph.neighbours(unit) {
            if let Some(closed) = self.closed.get_mut(out[v as usize] as usize) {
                *closed = self.stamp;
                any = true;
            }
        }
        any
    }

    /// The cheapest cluster that [`mark`](Self::mark) left open.
    fn cheapest_open(&self, row: &[f64]) -> Option<u32> {
        let mut best: Option<usize> = None;
        for (c, cost) in row.iter().enumerate() {
            if self.closed[c] != self.stamp && best.is_none_or(|b| *cost < row[b]) {
                best = Some(c);
            }
        }
        best.map(|b| b as u32)
    }

    /// Places `sequence` in this order.
    fn in_order(&mut self, sequence: &[u32], costs: Costs<'_>, out: &mut [u32]) -> Result<(), DeadEnd> {
        sequence.iter().for_each(|&u| out[u as usize] = UNPLACED);
        for &unit in sequence {
            let row = costs.row(unit);
            let nearest = cheapest(row);
            out[unit as usize] = if self.mark(unit, out) && self.closed[nearest as usize] == self.stamp {
                self.tally.refused += 1;
                match self.cheapest_open(row) {
                    Some(open) => open,
                    None if self.on_dead_end == OnDeadEnd::Violate => nearest,
                    None => return Err(DeadEnd { unit }),
                }
            } else {
                nearest
            };
        }
        Ok(())
    }

    /// Places the unit with the fewest open clusters first (ties: more cannot-links, then earlier in the order).
    fn by_saturation(&mut self, sequence: &[u32], costs: Costs<'_>, out: &mut [u32]) -> Result<(), DeadEnd> {
        let graph = &self.units.graph;
        sequence.iter().for_each(|&u| out[u as usize] = UNPLACED);
        // Local number → how many placed neighbours use each cluster, as a list of distinct clusters.
        let local: rustc_hash::FxHashMap<u32, usize> = sequence.iter().enumerate().map(|(i, &u)| (u, i)).collect();
        let mut used: Vec<Vec<u32>> = vec![Vec::new(); sequence.len()];
        let mut heap: BinaryHeap<(usize, usize, Reverse<usize>)> =
            (0..sequence.len()).map(|i| (0, graph.degree(sequence[i]), Reverse(i))).collect();
        while let Some((saturation, _, Reverse(i))) = heap.pop() {
            let unit = sequence[i];
            if out[unit as usize] != UNPLACED || saturation != used[i].len() {
                continue; // an older entry
            }
            let row = costs.row(unit);
            self.mark(unit, out);
            let label = self.cheapest_open(row).ok_or(DeadEnd { unit })?;
            out[unit as usize] = label;
            for &v in graph.neighbours(unit) {
                let j = local[&v];
                if out[v as usize] == UNPLACED && !used[j].contains(&label) {
                    used[j].push(label);
                    heap.push((used[j].len(), graph.degree(v), Reverse(j)));
                }
            }
        }
        Ok(())
    }

    /// The exact engine on one component.
    fn exactly(
        &mut self,
        ctx: &RunContext,
        component: &mut Component,
        costs: Costs<'_>,
        previous: Option<&[u32]>,
        out: &mut [u32],
    ) -> Result<(), String> {
        let k = self.closed.len();
        let mut sorted = component.units.clone();
        sorted.sort_unstable();
        let exact = component.exact.get_or_insert_with(|| Assigner::new(&self.units.graph.induced(&sorted), k));
        let own: Vec<f64> = sorted.iter().flat_map(|&u| costs.row(u)).copied().collect();
        let before: Option<Vec<u32>> = previous.map(|p| sorted.iter().map(|&u| p[u as usize]).collect());
        let mut labels = vec![0; sorted.len()];
        exact.assign(ctx, &own, before.as_deref(), &mut labels).map_err(|stuck| stuck.to_string())?;
        sorted.iter().zip(labels).for_each(|(&u, c)| out[u as usize] = c);
        Ok(())
    }

    /// Goes through the levels for a component whose order led to a dead end.
    #[allow(clippy::too_many_arguments)]
    fn retry(
        &mut self,
        ctx: &RunContext,
        component: &mut Component,
        tries: usize,
        judged: Costs<'_>,
        costs: Costs<'_>,
        previous: Option<&[u32]>,
        out: &mut [u32],
    ) -> Result<()> {
        self.tally.dead_ends += 1;
        let mut sequence = component.units.clone();
        if tries > 0 && self.by_saturation(&sequence, judged, out).is_ok() {
            self.tally.by_saturation += 1;
            return Ok(());
        }
        for _ in 1..tries {
            self.rng.shuffle(&mut sequence);
            if self.in_order(&sequence, judged, out).is_ok() {
                self.tally.by_shuffle += 1;
                // What worked is tried first in the next sweep.
                component.units = sequence;
                return Ok(());
            }
        }
        self.exactly(ctx, component, costs, previous, out).map_err(Error::DeadEnd)?;
        self.tally.by_exact += 1;
        Ok(())
    }

    /// Places every component that has costs, each in its order.
    fn components_in_order(
        &mut self,
        ctx: &RunContext,
        judged: Costs<'_>,
        costs: Costs<'_>,
        previous: Option<&[u32]>,
        out: &mut [u32],
    ) -> Result<bool> {
        self.sweep += 1;
        self.closed.resize(costs.k, 0);
        let mut components = std::mem::take(&mut self.components);
        let mut earliest: Option<DeadEnd> = None;
        for component in &mut components {
            if costs.row_of.is_some_and(|rows| rows[component.units[0] as usize] == FREE) {
                continue;
            }
            let Err(dead) = self.in_order(&component.units, judged, out) else { continue };
            match self.on_dead_end {
                OnDeadEnd::Retry(tries) => self.retry(ctx, component, tries, judged, costs, previous, out)?,
                OnDeadEnd::Fail | OnDeadEnd::Violate => {
                    let at = |d: &DeadEnd| self.position[d.unit as usize];
                    if earliest.as_ref().is_none_or(|e| at(&dead) < at(e)) {
                        earliest = Some(dead);
                    }
                }
            }
        }
        self.components = components;
        if let Some(dead) = earliest {
            return Err(self.explain(&dead, out));
        }
        self.broken = match self.on_dead_end {
            OnDeadEnd::Violate => self.units.graph.edges().filter(|&(a, b)| out[a as usize] == out[b as usize]).count(),
            _ => 0,
        };
        Ok(false)
    }

    /// The error for a unit that no cluster takes, given the labels of those placed before it.
    fn explain(&mut self, dead: &DeadEnd, out: &[u32]) -> Error {
        let (unit, k) = (dead.unit, self.closed.len());
        let mut closer = vec![UNPLACED; k];
        for &v in self.units.graph.neighbours(unit) {
            if let Some(slot) = closer.get_mut(out[v as usize] as usize)
                && *slot == UNPLACED
            {
                *slot = v;
            }
        }
        let mut reasons: Vec<String> = Vec::new();
        for (c, &v) in closer.iter().enumerate().take(NAMED) {
            let (a, b) = self.link(unit, v);
            reasons.push(format!("cluster {c} by the cannot-link of rows {a} and {b}"));
        }
        if k > NAMED {
            reasons.push(format!("{} more likewise", k - NAMED));
        }
        let members = self.units.members(unit as usize);
        let mut who = members.iter().take(NAMED).map(u32::to_string).collect::<Vec<_>>().join(", ");
        if members.len() > NAMED {
            who.push_str(", …");
        }
        let (rows, fits) = if members.len() == 1 { ("row", "fits") } else { ("must-linked rows", "fit") };
        Error::DeadEnd(format!(
            "{rows} {who} {fits} in no cluster in sweep {}, closed are {}; another order may work: on_dead_end = retry",
            self.sweep,
            reasons.join(", ")
        ))
    }

    /// The rows of a cannot-link between two units, the row of `unit` first.
    fn link(&self, unit: u32, other: u32) -> (u32, u32) {
        let of = |row: u32| self.units.unit_of(row as usize);
        for p in self.given.pairs().iter().filter(|p| p.kind == Kind::CannotLink && p.weight > 0.0) {
            match (of(p.a), of(p.b)) {
                (a, b) if (a, b) == (unit, other) => return (p.a, p.b),
                (a, b) if (a, b) == (other, unit) => return (p.b, p.a),
                _ => {}
            }
        }
        for s in self.given.sets().iter().filter(|s| s.kind == Kind::CannotLink && s.weight > 0.0) {
            let find = |wanted: u32| s.members.iter().copied().find(|&row| of(row) == wanted);
            if let (Some(a), Some(b)) = (find(unit), find(other)) {
                return (a, b);
            }
        }
        (self.units.members(unit as usize)[0], self.units.members(other as usize)[0])
    }
}

impl<F: Float> Place for Greedy<'_, F> {
    fn look(&mut self, _: &RunContext, centres: &Matrix) {
        if self.first_row.is_empty() {
            return;
        }
        let k = centres.rows();
        self.row_costs.resize(self.first_row.len() * k, 0.0);
        for (&row, out) in self.first_row.iter().zip(self.row_costs.chunks_exact_mut(k)) {
            out.iter_mut().zip(centres.iter()).for_each(|(o, c)| *o = self.units.data.distance2(row as usize, c));
        }
    }

    fn place(
        &mut self,
        ctx: &RunContext,
        costs: &[f64],
        k: usize,
        previous: Option<&[u32]>,
        out: &mut [u32],
    ) -> Result<bool> {
        let by_row = std::mem::take(&mut self.row_costs);
        let costs = Costs { k, values: costs, row_of: None };
        let judged = if self.first_row.is_empty() { costs } else { Costs { values: &by_row, ..costs } };
        for &u in &self.alone {
            out[u as usize] = cheapest(judged.row(u));
        }
        let done = self.components_in_order(ctx, judged, costs, previous, out);
        self.row_costs = by_row;
        done
    }

    fn needs(&self) -> Needs {
        if self.first_row.is_empty() { Needs::Clashing } else { Needs::All }
    }

    fn place_clashing(
        &mut self,
        ctx: &RunContext,
        clashing: &Clashing<'_>,
        previous: Option<&[u32]>,
        out: &mut [u32],
    ) -> Result<bool> {
        let costs = Costs { k: clashing.k, values: clashing.costs, row_of: Some(clashing.row_of) };
        self.components_in_order(ctx, costs, costs, previous, out)
    }

    fn monotone(&self) -> bool {
        false
    }

    fn broken(&self) -> usize {
        self.broken
    }
}
