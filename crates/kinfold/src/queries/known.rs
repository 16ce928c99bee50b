//! What the dialogue knows: the closure of the answers one at a time, the rows of each chunklet, which pairs were answered
//! *unsure*, and how many pairs of rows follow. O(log n) amortised per answer.

use rustc_hash::{FxHashMap, FxHashSet};

use crate::constraints::{Added, Chunklets, ConstraintSet, Entailed, Kind, Online};
use crate::error::Result;

/// The knowledge base of a dialogue.
#[derive(Debug, Clone)]
pub struct Known {
    online: Online,
    /// Rows of each chunklet, under its root.
    members: Vec<Vec<u32>>,
    /// Under each root: how often it was *unsure* against another root.
    unsure: Vec<FxHashMap<u32, u8>>,
    tested: FxHashSet<(u32, u32)>,
    touched: Vec<bool>,
    same: u64,
    different: u64,
    answers: u64,
}

impl Known {
    /// Nothing known about n rows.
    pub fn new(n: usize) -> Known {
        Known {
            online: Online::new(n),
            members: (0..n as u32).map(|row| vec![row]).collect(),
            unsure: vec![FxHashMap::default(); n],
            tested: FxHashSet::default(),
            touched: vec![false; n],
            same: 0,
            different: 0,
            answers: 0,
        }
    }

    /// What follows from given constraints; a cannot-link that contradicts must-links is left out.
    pub fn from_given(given: &ConstraintSet) -> Result<Known> {
        let mut known = Known::new(given.n());
        if given.is_empty() {
            return Ok(known);
        }
        let (chunklets, _) = given.close_lenient(0.0)?;
        for c in 0..chunklets.len() as u32 {
            chunklets.members(c).windows(2).for_each(|w| {
                known.add(Kind::MustLink, w[0] as usize, w[1] as usize);
            });
        }
        for (a, b) in chunklets.graph().edges() {
            known.add(Kind::CannotLink, chunklets.members(a)[0] as usize, chunklets.members(b)[0] as usize);
        }
        known.answers = 0;
        Ok(known)
    }

    /// Number of rows.
    pub fn n(&self) -> usize {
        self.members.len()
    }
    /// What follows about two rows.
    pub fn entails(&self, i: usize, j: usize) -> Entailed {
        self.online.entails(i, j)
    }
    /// May this pair be asked: not known, not entailed, and nobody was unsure about the two chunklets?
    pub fn askable(&self, i: usize, j: usize) -> bool {
        i != j && self.entails(i, j) == Entailed::Unknown && self.times_unsure(i, j) == 0
    }
    /// May it be asked as a second try after one *unsure* about other rows of the two chunklets?
    pub fn askable_again(&self, i: usize, j: usize) -> bool {
        i != j
            && self.entails(i, j) == Entailed::Unknown
            && self.times_unsure(i, j) <= 1
            && !self.tested.contains(&ordered(i, j))
    }
    /// How often somebody was unsure about the chunklets of two rows.
    pub fn times_unsure(&self, i: usize, j: usize) -> u8 {
        self.unsure[self.root(i)].get(&(self.root(j) as u32)).copied().unwrap_or(0)
    }
    /// A row that stands for its chunklet.
    pub fn root(&self, row: usize) -> usize {
        self.online.root(row)
    }
    /// The rows known to be together with this one, itself included, in no particular order.
    pub fn members(&self, row: usize) -> &[u32] {
        &self.members[self.root(row)]
    }
    /// Is anything known about this row's chunklet: a second row, or a chunklet apart from it?
    pub fn bound(&self, row: usize) -> bool {
        self.members(row).len() > 1 || self.online.apart(row).next().is_some()
    }
    /// Was this very row in an answer (or given constraint)?
    pub fn touched(&self, row: usize) -> bool {
        self.touched[row]
    }
    /// Number of chunklets.
    pub fn groups(&self) -> usize {
        self.online.groups()
    }
    /// Pairs of rows known to be together, and apart.
    pub fn entailed(&self) -> (u64, u64) {
        (self.same, self.different)
    }
    /// Is every pair of rows known?
    pub fn resolved(&self) -> bool {
        let n = self.n() as u64;
        self.same + self.different >= n * n.saturating_sub(1) / 2
    }
    /// Answers taken in so far, *unsure* included: the clock of the dialogue.
    pub fn answers(&self) -> u64 {
        self.answers
    }

    /// One more relation. A contradiction changes nothing.
    pub fn add(&mut self, kind: Kind, i: usize, j: usize) -> Added {
        self.answers += 1;
        let (a, b) = (self.root(i), self.root(j));
        let size = |root: usize| self.members[root].len() as u64;
        let added = match kind {
            Kind::CannotLink => {
                let product = size(a) * size(b);
                let added = self.online.cannot_link(i, j);
                if added == Added::New {
                    self.different += product;
                }
                added
            }
            Kind::MustLink => {
                let lifted = |x: usize, y: usize| -> u64 {
                    let new = self.online.apart(x).filter(|&r| self.entails(y, r) != Entailed::Different);
                    new.map(|r| size(r) * size(y)).sum()
                };
                let (product, lifted) = (size(a) * size(b), lifted(a, b) + lifted(b, a));
                let added = self.online.must_link(i, j);
                if added == Added::New {
                    self.same += product;
                    self.different += lifted;
                    let win = self.root(i);
                    let lose = if win == a { b } else { a };
                    let moved = std::mem::take(&mut self.members[lose]);
                    self.members[win].extend(moved);
                    for (other, times) in std::mem::take(&mut self.unsure[lose]) {
                        self.unsure[other as usize].remove(&(lose as u32));
                        if other as usize != win {
                            let sum = self.unsure[win].get(&other).copied().unwrap_or(0).saturating_add(times);
                            self.unsure[win].insert(other, sum);
                            self.unsure[other as usize].insert(win as u32, sum);
                        }
                    }
                }
                added
            }
        };
        if added != Added::Conflict {
            (self.touched[i], self.touched[j]) = (true, true);
        }
        added
    }

    /// Somebody was unsure about a pair.
    pub fn add_unsure(&mut self, i: usize, j: usize) {
        self.answers += 1;
        self.tested.insert(ordered(i, j));
        let (a, b) = (self.root(i), self.root(j));
        if a != b {
            let times = self.times_unsure(i, j).saturating_add(1);
            self.unsure[a].insert(b as u32, times);
            self.unsure[b].insert(a as u32, times);
        }
    }

    /// A row of each of a set of chunklets that are known to be pairwise different: by size, each that is apart from all
    /// taken before.
    pub fn pairwise_apart(&self) -> Vec<u32> {
        let mut chunklets: Vec<u32> = (0..self.n())
            .filter(|&row| self.root(row) == row && self.bound(row))
            .map(|row| self.members(row).iter().copied().min().unwrap_or(row as u32))
            .collect();
        chunklets.sort_by_key(|&row| (usize::MAX - self.members(row as usize).len(), row));
        let mut heads: Vec<u32> = Vec::new();
        for row in chunklets {
            let apart = |&head: &u32| self.entails(row as usize, head as usize) == Entailed::Different;
            if heads.iter().all(apart) {
                heads.push(row);
            }
        }
        heads
    }

    /// The chunklets, for methods and measures.
    pub fn chunklets(&self) -> Chunklets {
        let group: Vec<u32> = (0..self.n()).map(|row| self.root(row) as u32).collect();
        let mut apart = Vec::new();
        for root in (0..self.n()).filter(|&r| self.root(r) == r) {
            apart.extend(self.online.apart(root).filter(|&o| o > root).map(|o| (root as u32, o as u32)));
        }
        apart.sort_unstable();
        Chunklets::from_groups(&group, &apart)
    }
}

fn ordered(i: usize, j: usize) -> (u32, u32) {
    (i.min(j) as u32, i.max(j) as u32)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Rng;

    #[test]
    fn counts_of_what_follows_agree_with_the_closure() {
        for case in 0..60 {
            let mut rng = Rng::stream(case, "known", 0);
            let truth: Vec<usize> = (0..14).map(|_| rng.below(4)).collect();
            let mut known = Known::new(14);
            let mut set = ConstraintSet::new(14);
            for _ in 0..25 {
                let (i, j) = (rng.below(14), rng.below(14));
                if i == j {
                    continue;
                }
                let kind = if truth[i] == truth[j] { Kind::MustLink } else { Kind::CannotLink };
                assert_ne!(known.add(kind, i, j), Added::Conflict);
                set.add_pair(kind, i, j).unwrap();
                let closed = set.close().unwrap();
                assert_eq!(known.entailed(), (closed.entailed_must_links(), closed.entailed_cannot_links()));
                assert_eq!(known.chunklets().of_rows(), closed.of_rows());
                assert_eq!(known.chunklets().graph(), closed.graph());
            }
        }
    }

    #[test]
    fn unsure_closes_the_two_chunklets_and_survives_their_merging() {
        let mut known = Known::new(5);
        known.add_unsure(0, 1);
        known.add(Kind::MustLink, 1, 2);
        assert!(!known.askable(0, 2) && known.askable_again(0, 2) && !known.askable_again(0, 1));
        known.add_unsure(0, 2);
        assert!(!known.askable_again(0, 2));
        known.add(Kind::MustLink, 0, 3);
        assert_eq!(known.times_unsure(3, 1), 2);
        assert!(known.askable(4, 1));
        known.add(Kind::CannotLink, 3, 2);
        assert_eq!(known.entails(0, 1), Entailed::Different);
    }
}
