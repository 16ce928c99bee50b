//! Constraints as penalties: who speaks of which row, and at what weight. *Closed*: every pair that follows from the
//! constraints, all at one weight, never written out (a chunklet and its neighbours stand for their pairs). *As given*:
//! one entry per given pair. A hard constraint weighs as much as the heaviest soft one, 1 where all are hard.

use super::icm::{Energy, NONE};
use crate::constraints::{Chunklets, ConstraintSet, Graph, Kind};

/// One partner of a row.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Arc {
    /// The other row, as a number among the bound rows.
    pub other: u32,
    /// Must-link or cannot-link.
    pub kind: Kind,
    /// What breaking it costs.
    pub weight: f64,
}

enum Form {
    /// All pairs of these chunklets (members as numbers among the bound rows) and of neighbours in the graph.
    Closed { of: Vec<u32>, members: Vec<Vec<u32>>, graph: Graph, weight: f64 },
    /// The partners of bound row i are `arcs[starts[i]..starts[i + 1]]`.
    Given { starts: Vec<u32>, arcs: Vec<Arc> },
}

/// The penalties of one problem.
pub struct Soft {
    rows: Vec<u32>,
    groups: Vec<Vec<u32>>,
    form: Form,
}

impl Soft {
    /// `closure`: penalise everything that follows instead of what was given, where all weights are equal.
    pub fn new(given: &ConstraintSet, chunklets: &Chunklets, closure: bool) -> Soft {
        let weights = || {
            let pairs = given.pairs().iter().filter(|p| p.a != p.b).map(|p| p.weight);
            let sets = given.sets().iter().filter(|s| s.members.len() > 1).map(|s| s.weight);
            let labels = given.labels().iter().filter(|l| l.rows.len() > 1).map(|l| l.weight);
            pairs.chain(sets).chain(labels).filter(|&w| w > 0.0)
        };
        let heaviest = weights().filter(|w| w.is_finite()).reduce(f64::max).unwrap_or(1.0);
        let finite = |w: f64| if w.is_finite() { w } else { heaviest };
        let mut all = weights().map(finite);
        let first = all.next().unwrap_or(1.0);
        if closure && all.all(|w| w == first) {
            Soft::closed(chunklets, first)
        } else {
            Soft::given(given, chunklets, finite)
        }
    }

    fn closed(chunklets: &Chunklets, weight: f64) -> Soft {
        let bound: Vec<u32> = (0..chunklets.len() as u32).filter(|&c| chunklets.is_bound(c)).collect();
        let mut rows: Vec<u32> = bound.iter().flat_map(|&c| chunklets.members(c)).copied().collect();
        rows.sort_unstable();
        let members: Vec<Vec<u32>> = bound.iter().map(|&c| numbers(&rows, chunklets.members(c))).collect();
        let mut of = vec![0; rows.len()];
        for (c, units) in members.iter().enumerate() {
            units.iter().for_each(|&u| of[u as usize] = c as u32);
        }
        let groups = members.iter().filter(|m| m.len() > 1).cloned().collect();
        let graph = chunklets.graph().induced(&bound);
        Soft { rows, groups, form: Form::Closed { of, members, graph, weight } }
    }

    fn given(given: &ConstraintSet, chunklets: &Chunklets, finite: impl Fn(f64) -> f64) -> Soft {
        let (rows, pairs) = numbered_pairs(given);
        let mut starts = vec![0u32; rows.len() + 1];
        for &(a, b, ..) in &pairs {
            starts[a as usize + 1] += 1;
            starts[b as usize + 1] += 1;
        }
        (0..rows.len()).for_each(|i| starts[i + 1] += starts[i]);
        let mut fill = starts.clone();
        let mut arcs = vec![Arc { other: 0, kind: Kind::MustLink, weight: 0.0 }; starts[rows.len()] as usize];
        for &(a, b, kind, weight) in &pairs {
            for (from, other) in [(a, b), (b, a)] {
                arcs[fill[from as usize] as usize] = Arc { other, kind, weight: finite(weight) };
                fill[from as usize] += 1;
            }
        }
        let several = (0..chunklets.len() as u32).map(|c| chunklets.members(c)).filter(|m| m.len() > 1);
        let groups = several.map(|m| numbers(&rows, m)).collect();
        Soft { rows, groups, form: Form::Given { starts, arcs } }
    }

    /// The rows that some constraint speaks of (the *bound* rows), ascending.
    pub fn rows(&self) -> &[u32] {
        &self.rows
    }

    /// Groups of bound rows that must-links join.
    pub fn groups(&self) -> &[Vec<u32>] {
        &self.groups
    }

    /// Partners of all bound rows together: twice the number of pairs.
    pub fn partners(&self) -> usize {
        match &self.form {
            Form::Closed { members, graph, .. } => {
                let size = |c: usize| members[c].len();
                let inside: usize = (0..members.len()).map(|c| size(c) * (size(c) - 1)).sum();
                inside + graph.edges().map(|(a, b)| 2 * size(a as usize) * size(b as usize)).sum::<usize>()
            }
            Form::Given { arcs, .. } => arcs.len(),
        }
    }

    /// Is any of them a cannot-link?
    pub fn has_cannot_links(&self) -> bool {
        match &self.form {
            Form::Closed { graph, .. } => graph.edge_count() > 0,
            Form::Given { arcs, .. } => arcs.iter().any(|arc| arc.kind == Kind::CannotLink),
        }
    }

    /// Calls `visit` for every partner of a bound row.
    pub fn for_each_partner(&self, unit: usize, mut visit: impl FnMut(Arc)) {
        match &self.form {
            Form::Closed { of, members, graph, weight } => {
                let own = of[unit];
                for &other in members[own as usize].iter().filter(|&&u| u as usize != unit) {
                    visit(Arc { other, kind: Kind::MustLink, weight: *weight });
                }
                for &next in graph.neighbours(own) {
                    for &other in &members[next as usize] {
                        visit(Arc { other, kind: Kind::CannotLink, weight: *weight });
                    }
                }
            }
            Form::Given { starts, arcs } => {
                arcs[starts[unit] as usize..starts[unit + 1] as usize].iter().for_each(|&arc| visit(arc));
            }
        }
    }

    /// Σ of the weights of the broken pairs, by going through all of them.
    pub fn broken_weight(&self, labels: &[u32]) -> f64 {
        let label = |unit: usize| labels[self.rows[unit] as usize];
        let mut twice = 0.0;
        for unit in 0..self.rows.len() {
            self.for_each_partner(unit, |arc| {
                let together = label(unit) == label(arc.other as usize);
                if together == (arc.kind == Kind::CannotLink) {
                    twice += arc.weight;
                }
            });
        }
        twice / 2.0
    }
}

/// The rows that some pair speaks of, ascending, and the pairs in the order given, rows as numbers among those.
#[allow(clippy::type_complexity)]
pub fn numbered_pairs(given: &ConstraintSet) -> (Vec<u32>, Vec<(u32, u32, Kind, f64)>) {
    let mut rows: Vec<u32> = given.expanded().flat_map(|p| [p.a, p.b]).collect();
    rows.sort_unstable();
    rows.dedup();
    let number = |row: u32| rows.binary_search(&row).unwrap_or(0) as u32;
    let pairs = given.expanded().map(|p| (number(p.a), number(p.b), p.kind, p.weight)).collect();
    (rows, pairs)
}

/// [`numbered_pairs`], must-links before cannot-links, without weights: for methods that take pairs in turn.
pub fn pairs_in_turn(given: &ConstraintSet) -> (Vec<u32>, Vec<(u32, u32, Kind)>) {
    let (rows, pairs) = numbered_pairs(given);
    let of = |kind: Kind| pairs.iter().filter(move |p| p.2 == kind).map(|p| (p.0, p.1, p.2));
    (rows, of(Kind::MustLink).chain(of(Kind::CannotLink)).collect())
}

fn numbers(rows: &[u32], of: &[u32]) -> Vec<u32> {
    of.iter().map(|row| rows.binary_search(row).unwrap_or(0) as u32).collect()
}

/// `factor` · weight for every broken pair, with counts per chunklet where the constraints are closed: a visit of a row
/// costs O(k · cannot-linked chunklets), whatever their sizes.
pub struct Broken<'a> {
    soft: &'a Soft,
    factor: f64,
    k: usize,
    /// Closed: rows of each chunklet in each cluster, and labelled rows of each chunklet.
    count: Vec<u32>,
    labelled: Vec<u32>,
}

impl<'a> Broken<'a> {
    /// For k clusters.
    pub fn new(soft: &'a Soft, factor: f64, k: usize) -> Broken<'a> {
        let chunklets = match &soft.form {
            Form::Closed { members, .. } => members.len(),
            Form::Given { .. } => 0,
        };
        Broken { soft, factor, k, count: vec![0; chunklets * k], labelled: vec![0; chunklets] }
    }
}

impl Energy for Broken<'_> {
    fn add(&self, unit: usize, labels: &[u32], out: &mut [f64]) {
        match &self.soft.form {
            Form::Closed { of, graph, weight, .. } => {
                let (own, cost) = (of[unit] as usize, self.factor * weight);
                let inside = labels[unit] != NONE;
                let total = self.labelled[own] - u32::from(inside);
                let counts = &self.count[own * self.k..(own + 1) * self.k];
                for (h, (o, &c)) in out.iter_mut().zip(counts).enumerate() {
                    let company = c - u32::from(inside && labels[unit] as usize == h);
                    *o += cost * f64::from(total - company);
                }
                for &next in graph.neighbours(own as u32) {
                    let counts = &self.count[next as usize * self.k..(next as usize + 1) * self.k];
                    out.iter_mut().zip(counts).for_each(|(o, &c)| *o += cost * f64::from(c));
                }
            }
            Form::Given { .. } => self.soft.for_each_partner(unit, |arc| {
                let (label, cost) = (labels[arc.other as usize], self.factor * arc.weight);
                match arc.kind {
                    _ if label == NONE => {}
                    Kind::CannotLink => out[label as usize] += cost,
                    Kind::MustLink => {
                        out.iter_mut().for_each(|o| *o += cost);
                        out[label as usize] -= cost;
                    }
                }
            }),
        }
    }

    fn moved(&mut self, unit: usize, from: u32, to: u32) {
        let Form::Closed { of, .. } = &self.soft.form else { return };
        let own = of[unit] as usize;
        if from != NONE {
            self.count[own * self.k + from as usize] -= 1;
            self.labelled[own] -= 1;
        }
        if to != NONE {
            self.count[own * self.k + to as usize] += 1;
            self.labelled[own] += 1;
        }
    }

    fn reset(&mut self, labels: &[u32]) {
        self.count.fill(0);
        self.labelled.fill(0);
        labels.iter().enumerate().for_each(|(unit, &label)| self.moved(unit, NONE, label));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::constraints::Origin;
    use crate::rng::Rng;

    #[test]
    fn closed_penalties_equal_the_pairs_that_follow_and_given_ones_the_pairs_given() {
        let mut rng = Rng::stream(1, "soft test", 0);
        for case in 0..200 {
            let mut given = ConstraintSet::new(12);
            // Odd cases surely have two different weights, so that nothing is closed.
            for (a, weight) in [(0, 1.0), (1, 2.0)].into_iter().filter(|_| case % 2 == 1) {
                given.add_weighted_pair(Kind::MustLink, a, a + 4, weight, Origin::default()).unwrap();
            }
            for _ in 0..8 {
                let kind = if rng.unit() < 0.5 { Kind::MustLink } else { Kind::CannotLink };
                let weight = if case % 2 == 0 { 2.0 } else { 1.0 + rng.below(3) as f64 };
                let (a, b) = (rng.below(12), rng.below(12));
                given.add_weighted_pair(kind, a, b, weight, Origin::default()).unwrap();
            }
            let (chunklets, _) = given.close_lenient(0.0).unwrap();
            let labels: Vec<u32> = (0..12).map(|_| rng.below(3) as u32).collect();
            for closure in [false, true] {
                let soft = Soft::new(&given, &chunklets, closure);
                let all_pairs = (0..12u32).flat_map(|a| (a + 1..12).map(move |b| (a, b)));
                let expected: f64 = if closure && case % 2 == 0 {
                    use crate::constraints::Entailed::*;
                    let broken = |(a, b): (u32, u32)| match chunklets.entails(a as usize, b as usize) {
                        Same => labels[a as usize] != labels[b as usize],
                        Different => labels[a as usize] == labels[b as usize],
                        Unknown => false,
                    };
                    2.0 * all_pairs.filter(|&p| broken(p)).count() as f64
                } else {
                    given.violations(&labels, 0).cost
                        - given
                            .pairs()
                            .iter()
                            .filter(|p| p.a == p.b && p.kind == Kind::CannotLink)
                            .map(|p| p.weight)
                            .sum::<f64>()
                };
                assert!((soft.broken_weight(&labels) - expected).abs() < 1e-9, "case {case}, closure {closure}");
                let mut met = 0;
                (0..soft.rows().len()).for_each(|unit| soft.for_each_partner(unit, |_| met += 1));
                assert_eq!(soft.partners(), met);
                // The cached counts say the same.
                let units: Vec<u32> = soft.rows().iter().map(|&r| labels[r as usize]).collect();
                let mut broken = Broken::new(&soft, 1.0, 3);
                broken.reset(&units);
                let twice: f64 = (0..units.len())
                    .map(|u| {
                        let mut out = [0.0; 3];
                        broken.add(u, &units, &mut out);
                        out[units[u] as usize]
                    })
                    .sum();
                assert!((twice / 2.0 - expected).abs() < 1e-9, "case {case}, closure {closure}");
            }
        }
    }

    #[test]
    fn a_hard_constraint_weighs_as_much_as_the_heaviest_soft_one() {
        let mut given = ConstraintSet::new(4);
        given.add_pair(Kind::MustLink, 0, 1).unwrap();
        given.add_weighted_pair(Kind::CannotLink, 2, 3, 4.0, Origin::default()).unwrap();
        given.add_weighted_pair(Kind::CannotLink, 1, 3, 0.5, Origin::default()).unwrap();
        let soft = Soft::new(&given, &given.close().unwrap(), true);
        assert_eq!(soft.broken_weight(&[0, 1, 2, 2]), 8.0);
    }
}
