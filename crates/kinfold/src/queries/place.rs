//! PLACE, shared by the strategies that grow neighbourhoods (chunklets known to be pairwise different): a row is compared
//! with one neighbourhood after the other, through the nearest member, until one says *same* or all say *different*. With k
//! neighbourhoods the last one needs no question. What the answers were is read from [`Known`](super::Known) anew at every
//! step, so a dialogue can stop in the middle, and every *different* on the way is kept as a cannot-link.

use serde::{Deserialize, Serialize};

use super::{Question, Sight, State, Step};
use crate::constraints::Entailed;

/// A row on its way into a neighbourhood.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Placing {
    /// The row.
    pub row: u32,
    /// The heads of the neighbourhoods, in the order of asking.
    pub order: Vec<u32>,
}

/// No neighbourhood.
pub const NOWHERE: u32 = u32::MAX;
/// Given up or already traversed without a neighbourhood.
pub const PASSED: u32 = u32::MAX - 1;

impl State {
    /// Takes neighbourhoods over from what is known: chunklets by size, each that is apart from all taken before.
    pub(super) fn start(&mut self, sight: &Sight<'_>) {
        if self.started {
            return;
        }
        self.started = true;
        self.heads = sight.known.pairwise_apart();
    }

    /// Do k neighbourhoods leave no room for another?
    pub(super) fn closed(&self, sight: &Sight<'_>) -> bool {
        !self.more_than_k && sight.k.is_some_and(|k| self.heads.len() >= k)
    }

    /// Forgets heads that turned out to be in the chunklet of an earlier one.
    pub(super) fn tidy(&mut self, sight: &Sight<'_>) {
        let known = sight.known;
        let mut kept: Vec<u32> = Vec::with_capacity(self.heads.len());
        for &head in &self.heads {
            if kept.iter().all(|&k| known.entails(k as usize, head as usize) != Entailed::Same) {
                kept.push(head);
            }
        }
        self.heads = kept;
    }

    /// The neighbourhood of every row by its place among the heads; `PASSED` for rows given up, else `NOWHERE`.
    pub(super) fn owners(&self, sight: &Sight<'_>) -> Vec<u32> {
        let mut owner = vec![NOWHERE; sight.n()];
        self.passed.iter().for_each(|&row| owner[row as usize] = PASSED);
        for &(row, head) in &self.assumed {
            let at = self.heads.iter().position(|&h| sight.known.entails(h as usize, head as usize) == Entailed::Same);
            owner[row as usize] = at.map_or(NOWHERE, |at| at as u32);
        }
        for (at, &head) in self.heads.iter().enumerate() {
            sight.known.members(head as usize).iter().for_each(|&row| owner[row as usize] = at as u32);
        }
        owner
    }

    /// Rows of a neighbourhood, assumed ones included.
    pub(super) fn neighbourhood(&self, sight: &Sight<'_>, head: u32) -> Vec<u32> {
        let mut rows = sight.known.members(head as usize).to_vec();
        let same = |h: u32| sight.known.entails(h as usize, head as usize) == Entailed::Same;
        rows.extend(self.assumed.iter().filter(|a| same(a.1)).map(|a| a.0));
        rows.sort_unstable();
        rows.dedup();
        rows
    }

    /// Heads by ascending `key`, ties to the earlier neighbourhood.
    pub(super) fn heads_by(&self, key: impl Fn(u32) -> f64) -> Vec<u32> {
        let mut keyed: Vec<(f64, usize)> = self.heads.iter().enumerate().map(|(at, &h)| (key(h), at)).collect();
        keyed.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        keyed.into_iter().map(|(_, at)| self.heads[at]).collect()
    }

    /// Heads by the distance of their nearest member.
    pub(super) fn heads_by_nearest(&self, sight: &Sight<'_>, row: usize) -> Vec<u32> {
        self.heads_by(|head| nearest_member(sight, row, head, |_| true).map_or(f64::INFINITY, |m| m.0))
    }

    /// Goes on with the row that is being placed: a question, or `None` when it has found its place.
    pub(super) fn place(&mut self, sight: &Sight<'_>, why: impl Fn(usize, usize) -> String) -> Option<Step> {
        let placing = self.placing.as_ref()?;
        let (known, row) = (sight.known, placing.row as usize);
        let relation = |head: u32| known.entails(row, head as usize);
        let order = placing.order.clone();
        if order.iter().any(|&head| relation(head) == Entailed::Same) {
            self.placing = None;
            return None;
        }
        let mut undecided = false;
        let open: Vec<u32> = order.iter().copied().filter(|&head| relation(head) != Entailed::Different).collect();
        if self.closed(sight)
            && open.len() == 1
            && self.heads.iter().filter(|&&h| relation(h) != Entailed::Different).count() == 1
        {
            self.assumed.push((row as u32, open[0]));
            self.placing = None;
            return None;
        }
        for head in open {
            if let Some(member) = to_ask(sight, row, head) {
                return Some(Step::Ask(Question::new(row, member, why(row, member))));
            }
            undecided = true;
        }
        if undecided {
            self.passed.push(row as u32);
        } else {
            self.more_than_k |= self.closed(sight);
            self.heads.push(row as u32);
        }
        self.placing = None;
        None
    }
}

/// (distance², row) of the member of a head's chunklet that is nearest to a row and passes the test; ties to the lower row.
pub fn nearest_member(sight: &Sight<'_>, row: usize, head: u32, test: impl Fn(usize) -> bool) -> Option<(f64, usize)> {
    let members = sight.known.members(head as usize).iter().map(|&m| m as usize).filter(|&m| m != row && test(m));
    members.map(|m| (sight.ground.distance2(row, m), m)).min_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)))
}

/// The member to compare a row with: the nearest, and after one *unsure* the nearest other.
pub fn to_ask(sight: &Sight<'_>, row: usize, head: u32) -> Option<usize> {
    let known = sight.known;
    match known.times_unsure(row, head as usize) {
        0 => nearest_member(sight, row, head, |m| known.askable(row, m)).map(|m| m.1),
        1 => nearest_member(sight, row, head, |m| known.askable_again(row, m)).map(|m| m.1),
        _ => None,
    }
}

/// Distance of two rows in words.
pub fn near(sight: &Sight<'_>, a: usize, b: usize) -> String {
    format!("{:.3}", sight.ground.distance2(a, b).sqrt())
}
