//! The constraints that are not believed, and why: what the rows and the other constraints say without each, how far apart
//! its ends are, what believing it would cost, and the believed constraints that contradict it.

use std::collections::{BTreeMap, VecDeque};

use crate::constraints::{Chunklets, ConstraintId, ConstraintSet, Kind};

/// Constraints that get a chain of believed ones against them; more are listed without.
const MOST_CHAINS: usize = 1_000;

/// A constraint that is not believed, or doubtful.
#[derive(Debug, Clone, PartialEq)]
pub struct Distrusted {
    /// The constraint.
    pub id: ConstraintId,
    /// For a set or a labelling: the entry of `a`, which leaves it; `None` for a pair.
    pub entry: Option<u32>,
    /// One row.
    pub a: u32,
    /// The other row; equal to `a` for the row of a set or labelling.
    pub b: u32,
    /// What it says.
    pub kind: Kind,
    /// How probable it is that it is wrong.
    pub probability_wrong: f64,
    /// How probable it is that the two rows belong together, from the rows and all other constraints.
    pub probability_same_without_it: f64,
    /// Distance of the two rows in units of the spread of two rows of one cluster.
    pub sigmas: f64,
    /// What believing it would cost: −ln of the probability of what it says, from the rest.
    pub cost: f64,
    /// Believed constraints that contradict it; empty when none do so by themselves.
    pub cycle: Vec<ConstraintId>,
    /// Is it broken by the result?
    pub broken: bool,
    /// Was it kept all the same: nothing contradicts it, or it is more probably right than wrong?
    pub kept: bool,
}

impl Distrusted {
    /// What it says, with rows spelt by `name` and its place: `different (a, d) [answers.csv:7]`.
    pub fn relation(&self, set: &ConstraintSet, name: impl Fn(u32) -> String) -> String {
        let place = || set.place(self.id, &[self.a]);
        match (self.id, self.entry) {
            (ConstraintId::Set(_), Some(_)) => {
                format!("{} in the set of {} rows [{}]", name(self.a), self.kind.answer(), place())
            }
            (ConstraintId::Labels(i), Some(entry)) => {
                let labels = &set.labels()[i as usize];
                let label = labels.rows.get(entry as usize).map_or(0, |r| r.1);
                let label = labels.names.get(label as usize).cloned().unwrap_or_else(|| label.to_string());
                format!("label '{label}' of {} [{}]", name(self.a), place())
            }
            _ => set.relation(self.id, self.kind, self.a, self.b, name),
        }
    }

    /// Why it is not believed, in one sentence with the user's row names and file lines.
    pub fn describe(&self, set: &ConstraintSet, name: impl Fn(u32) -> String) -> String {
        let mut text = format!("{}: ", self.relation(set, &name));
        if self.entry.is_none() && self.cost > 0.0 {
            let (other, sure) = match self.kind {
                Kind::MustLink => (Kind::CannotLink, 1.0 - self.probability_same_without_it),
                Kind::CannotLink => (Kind::MustLink, self.probability_same_without_it),
            };
            text += &format!(
                "wrong with probability {}; without it the rows and the other constraints say {} with probability {} \
                 ({:.1} sigma apart), believing it costs {:.1} nats",
                chance(self.probability_wrong),
                other.answer(),
                chance(sure),
                self.sigmas,
                self.cost,
            );
        } else {
            text += &format!(
                "cannot hold together with others, one of which is wrong (this one with probability {} or more)",
                chance(self.probability_wrong)
            );
        }
        if !self.cycle.is_empty() {
            let mut against = Vec::new();
            for &id in self.cycle.iter().take(8) {
                against.push(match id {
                    ConstraintId::Pair(i) => {
                        let p = &set.pairs()[i as usize];
                        set.relation(id, p.kind, p.a, p.b, &name)
                    }
                    _ => format!("[{}]", set.place(id, &[])),
                });
            }
            let more = self.cycle.len() - against.len();
            let more = if more > 0 { format!(" and {more} more") } else { String::new() };
            text += &format!("; contradicted by {}{more}", against.join(", "));
        }
        if !self.broken {
            text += if self.probability_wrong > 0.5 { "; the result keeps it all the same" } else { "; kept" };
        }
        text
    }
}

/// Two digits, but never a certainty that is none.
fn chance(p: f64) -> String {
    if p > 0.995 { "over 0.99".to_owned() } else { format!("{p:.2}") }
}

/// Fills in the believed pairs that contradict each: for a cannot-link a chain of must-links between its ends, for a
/// must-link two chains to the ends of one cannot-link. Breadth first, so chains are short.
pub(super) fn chains(given: &ConstraintSet, nodes: &Chunklets, distrusted: &mut [Distrusted]) {
    let mut out = vec![false; given.pairs().len()];
    for d in distrusted.iter() {
        if let ConstraintId::Pair(i) = d.id {
            out[i as usize] = true;
        }
    }
    let node = |row: u32| nodes.of(row as usize);
    let believed = |kind: Kind| {
        let out = &out;
        let pairs = given.pairs().iter().enumerate();
        pairs.filter(move |(i, p)| p.kind == kind && p.weight > 0.0 && !out[*i] && node(p.a) != node(p.b))
    };
    let mut links: Vec<Vec<(u32, u32)>> = vec![Vec::new(); nodes.len()];
    for (i, p) in believed(Kind::MustLink) {
        links[node(p.a) as usize].push((node(p.b), i as u32));
        links[node(p.b) as usize].push((node(p.a), i as u32));
    }
    let reach = |from: u32| {
        let mut via: BTreeMap<u32, Option<(u32, u32)>> = BTreeMap::from([(from, None)]);
        let mut queue = VecDeque::from([from]);
        while let Some(i) = queue.pop_front() {
            for &(j, id) in &links[i as usize] {
                via.entry(j).or_insert_with(|| {
                    queue.push_back(j);
                    Some((i, id))
                });
            }
        }
        via
    };
    let path = |via: &BTreeMap<u32, Option<(u32, u32)>>, mut at: u32| {
        let mut ids = Vec::new();
        while let Some(&Some((before, id))) = via.get(&at) {
            ids.push(ConstraintId::Pair(id));
            at = before;
        }
        ids
    };
    for d in distrusted.iter_mut().filter(|d| d.entry.is_none() && d.cycle.is_empty()).take(MOST_CHAINS) {
        let (a, b) = (node(d.a), node(d.b));
        let of_a = reach(a);
        if d.kind == Kind::CannotLink {
            if of_a.contains_key(&b) {
                d.cycle = path(&of_a, b);
            }
            continue;
        }
        let of_b = reach(b);
        for (i, p) in believed(Kind::CannotLink) {
            for (x, y) in [(node(p.a), node(p.b)), (node(p.b), node(p.a))] {
                if of_a.contains_key(&x) && of_b.contains_key(&y) {
                    let mut ids = path(&of_a, x);
                    ids.push(ConstraintId::Pair(i as u32));
                    ids.extend(path(&of_b, y));
                    if d.cycle.is_empty() || ids.len() < d.cycle.len() {
                        d.cycle = ids;
                    }
                }
            }
        }
    }
}
