//! Closure one answer at a time: union-find over rows and, per root, the set of roots it must differ from. The side with
//! fewer rows and neighbours moves to the other, so S answers cost O(S log S) in all. An answer that contradicts what is
//! known leaves everything as it was.

use rustc_hash::FxHashSet;

use super::{Chunklets, Entailed};

/// What an answer changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Added {
    /// It was new.
    New,
    /// It followed already.
    Known,
    /// It contradicts what is known: nothing changed.
    Conflict,
}

/// The closure of the answers so far.
#[derive(Debug, Clone)]
pub struct Online {
    parent: Vec<u32>,
    size: Vec<u32>,
    apart: Vec<FxHashSet<u32>>,
    groups: usize,
}

impl Online {
    /// Nothing known about n rows.
    pub fn new(n: usize) -> Online {
        Online { parent: (0..n as u32).collect(), size: vec![1; n], apart: vec![FxHashSet::default(); n], groups: n }
    }

    /// Goes on from a closed set.
    pub fn from_chunklets(chunklets: &Chunklets) -> Online {
        let mut online = Online::new(chunklets.n());
        for c in 0..chunklets.len() as u32 {
            chunklets.members(c).windows(2).for_each(|w| {
                online.must_link(w[0] as usize, w[1] as usize);
            });
        }
        for (a, b) in chunklets.graph().edges() {
            online.cannot_link(chunklets.members(a)[0] as usize, chunklets.members(b)[0] as usize);
        }
        online
    }

    /// Number of groups of rows that may be apart.
    pub fn groups(&self) -> usize {
        self.groups
    }
    /// A row that stands for all rows known to be together with this one.
    pub fn root(&self, row: usize) -> usize {
        let mut x = row;
        while self.parent[x] as usize != x {
            x = self.parent[x] as usize;
        }
        x
    }
    fn find(&mut self, row: usize) -> usize {
        let mut x = row;
        while self.parent[x] as usize != x {
            let grand = self.parent[self.parent[x] as usize];
            self.parent[x] = grand;
            x = grand as usize;
        }
        x
    }
    /// Number of rows known to be together with this one, itself included.
    pub fn size(&self, row: usize) -> usize {
        self.size[self.root(row)] as usize
    }
    /// The roots of the groups known to be apart from this row's, in no order.
    pub fn apart(&self, row: usize) -> impl Iterator<Item = usize> + '_ {
        self.apart[self.root(row)].iter().map(|&root| root as usize)
    }
    /// What is known about two rows.
    pub fn entails(&self, i: usize, j: usize) -> Entailed {
        let (a, b) = (self.root(i), self.root(j));
        if a == b {
            Entailed::Same
        } else if self.apart[a].contains(&(b as u32)) {
            Entailed::Different
        } else {
            Entailed::Unknown
        }
    }

    /// Rows i and j belong together.
    pub fn must_link(&mut self, i: usize, j: usize) -> Added {
        let (mut win, mut lose) = (self.find(i), self.find(j));
        if win == lose {
            return Added::Known;
        }
        if self.apart[win].contains(&(lose as u32)) {
            return Added::Conflict;
        }
        let load = |x: usize| self.size[x] as usize + self.apart[x].len();
        if (load(win), lose) < (load(lose), win) {
            std::mem::swap(&mut win, &mut lose);
        }
        self.parent[lose] = win as u32;
        self.size[win] += self.size[lose];
        for other in std::mem::take(&mut self.apart[lose]) {
            self.apart[other as usize].remove(&(lose as u32));
            self.apart[other as usize].insert(win as u32);
            self.apart[win].insert(other);
        }
        self.groups -= 1;
        Added::New
    }

    /// Rows i and j do not belong together.
    pub fn cannot_link(&mut self, i: usize, j: usize) -> Added {
        let (a, b) = (self.find(i), self.find(j));
        if a == b {
            return Added::Conflict;
        }
        if !self.apart[a].insert(b as u32) {
            return Added::Known;
        }
        self.apart[b].insert(a as u32);
        Added::New
    }
}

#[cfg(test)]
mod tests {
    use super::super::{ConstraintSet, Kind};
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn online_and_batch_closure_agree_in_any_order(
            answers in proptest::collection::vec((0usize..12, 0usize..12, proptest::bool::ANY), 0..40),
            seed in 0u64..1000,
        ) {
            let mut online = Online::new(12);
            let mut accepted = Vec::new();
            for &(a, b, same) in &answers {
                let before = online.entails(a, b);
                let added = if same { online.must_link(a, b) } else { online.cannot_link(a, b) };
                let said = if same { Entailed::Same } else { Entailed::Different };
                let expected = match before {
                    Entailed::Unknown => Added::New,
                    known if known == said => Added::Known,
                    _ => Added::Conflict,
                };
                prop_assert_eq!(added, expected);
                if added != Added::Conflict {
                    accepted.push((a, b, same));
                } else {
                    prop_assert_eq!(online.entails(a, b), before);
                }
            }
            let close = |answers: &[(usize, usize, bool)]| {
                let mut c = ConstraintSet::new(12);
                for &(a, b, same) in answers {
                    c.add_pair(if same { Kind::MustLink } else { Kind::CannotLink }, a, b).unwrap();
                }
                c.close().unwrap()
            };
            let batch = close(&accepted);
            crate::rng::Rng::stream(seed, "order", 0).shuffle(&mut accepted);
            let shuffled = close(&accepted);
            prop_assert_eq!(batch.of_rows(), shuffled.of_rows());
            prop_assert_eq!(batch.graph(), shuffled.graph());
            prop_assert_eq!(online.groups(), batch.len());
            let again = Online::from_chunklets(&batch);
            for i in 0..12 {
                prop_assert_eq!(online.size(i), batch.members(batch.of(i)).len());
                for j in 0..12 {
                    prop_assert_eq!(online.entails(i, j), batch.entails(i, j));
                    prop_assert_eq!(again.entails(i, j), batch.entails(j, i));
                }
            }
        }
    }
}
