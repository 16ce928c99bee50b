//! What is odd about a set, and its canonical form: repeated pairs become one (weight max or sum), rows linked to themselves
//! and sets of one row go, and pairs of both kinds, rows apart from themselves and rows with two labels are noted.
//! One counting sort by smaller row and a sort within each row's bucket: O(S log(S/n)), 8 bytes per pair.

use super::{ConstraintId, ConstraintSet, Kind};

/// The weight of a pair that was given more than once.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum MergeWeights {
    /// The largest: saying it again adds nothing.
    #[default]
    Max,
    /// The sum: independent annotators with log-odds weights.
    Sum,
}

/// What is odd.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum NoteKind {
    /// The same pair and kind again.
    Repeated,
    /// One pair, both kinds: a contradiction.
    BothKinds,
    /// A row must-linked to itself: says nothing.
    SelfMustLink,
    /// A row cannot-linked to itself: a contradiction.
    SelfCannotLink,
    /// A set of fewer than two rows: says nothing.
    SmallSet,
    /// One row with two labels: a contradiction.
    TwoLabels,
    /// Weight 0: says nothing.
    NoWeight,
}

impl NoteKind {
    /// All kinds, in the order of [`Notes::counts`].
    pub const ALL: [NoteKind; 7] = [
        NoteKind::Repeated,
        NoteKind::BothKinds,
        NoteKind::SelfMustLink,
        NoteKind::SelfCannotLink,
        NoteKind::SmallSet,
        NoteKind::TwoLabels,
        NoteKind::NoWeight,
    ];
}

/// One odd constraint.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Note {
    /// The constraint.
    pub id: ConstraintId,
    /// What is odd about it.
    pub kind: NoteKind,
    /// The earlier constraint that it repeats or contradicts; itself when there is none.
    pub other: ConstraintId,
    /// The rows concerned (equal when it is one; both 0 for an empty set).
    pub rows: (u32, u32),
}

impl Note {
    /// A sentence with the user's row names and file lines.
    pub fn describe(&self, set: &ConstraintSet, name: impl Fn(u32) -> String) -> String {
        let (a, b) = self.rows;
        let place = set.place(self.id, &[a, b]);
        let other = set.place(self.other, &[a, b]);
        match self.kind {
            NoteKind::Repeated => format!("({}, {}) [{place}] repeats [{other}]", name(a), name(b)),
            NoteKind::BothKinds => {
                format!("({}, {}) is both same and different [{other}, {place}]", name(a), name(b))
            }
            NoteKind::SelfMustLink => format!("{} is the same as itself [{place}]: ignored", name(a)),
            NoteKind::SelfCannotLink => format!("{} is said to be different from itself [{place}]", name(a)),
            NoteKind::SmallSet => format!("a set of fewer than two rows [{place}]: ignored"),
            NoteKind::TwoLabels => format!("{} has two different labels [{place}]", name(a)),
            NoteKind::NoWeight => format!("weight 0 [{place}]: ignored"),
        }
    }
}

/// What is odd about a set.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Notes {
    /// Some of the notes, in the order of ids.
    pub list: Vec<Note>,
    /// How many there are of each kind, listed or not, in the order of [`NoteKind::ALL`].
    pub counts: [u64; 7],
}

impl Notes {
    /// Number of notes of a kind.
    pub fn count(&self, kind: NoteKind) -> u64 {
        self.counts[kind as usize]
    }
    /// Number of notes.
    pub fn total(&self) -> u64 {
        self.counts.iter().sum()
    }
    fn add(&mut self, most: usize, kind: NoteKind, id: ConstraintId, other: ConstraintId, rows: (u32, u32)) {
        self.counts[kind as usize] += 1;
        // A few of each kind, so that a flood of one does not hide another.
        if self.counts[kind as usize] <= most as u64 {
            self.list.push(Note { id, kind, other, rows });
        }
    }
}

/// A set in canonical form.
#[derive(Debug, Clone)]
pub struct Normalised {
    /// Pairs distinct, ascending by rows and kind; no weight 0, no small sets; labels without repeats.
    pub set: ConstraintSet,
    /// What was changed or is odd.
    pub notes: Notes,
    starts: Vec<u32>,
    originals: Vec<u32>,
}

impl Normalised {
    /// The given pairs, ascending, that pair `i` of the canonical set stands for.
    pub fn originals(&self, i: usize) -> &[u32] {
        &self.originals[self.starts[i] as usize..self.starts[i + 1] as usize]
    }
}

impl ConstraintSet {
    /// What is odd about the set, up to `most` notes of each kind.
    pub fn notes(&self, most: usize) -> Notes {
        let mut notes = Notes::default();
        self.group_pairs(most, &mut notes, |_, _| {});
        self.note_groups(most, &mut notes);
        notes.list.sort_unstable();
        notes
    }

    /// The set in canonical form, with up to `most` notes of each kind.
    pub fn normalised(&self, merge: MergeWeights, most: usize) -> Normalised {
        let mut out = self.without_constraints();
        let (mut starts, mut originals) = (vec![0u32], Vec::with_capacity(self.pairs().len()));
        let mut notes = Notes::default();
        self.group_pairs(most, &mut notes, |kind, ids| {
            let first = self.pairs()[ids[0] as usize];
            if first.a == first.b && kind == Kind::MustLink {
                return;
            }
            let weights = ids.iter().map(|&i| self.pairs()[i as usize].weight);
            let weight = match merge {
                MergeWeights::Max => weights.fold(0.0, f64::max),
                MergeWeights::Sum => weights.sum(),
            };
            out.push_pair(super::Pair { weight, ..first });
            originals.extend_from_slice(ids);
            starts.push(originals.len() as u32);
        });
        self.note_groups(most, &mut notes);
        notes.list.sort_unstable();
        out.copy_groups(self);
        Normalised { set: out, notes, starts, originals }
    }

    /// Calls `each(kind, ids)` for every distinct pair of positive weight, ascending by rows, then kind.
    fn group_pairs(&self, most: usize, notes: &mut Notes, mut each: impl FnMut(Kind, &[u32])) {
        let pairs = self.pairs();
        let mut starts = vec![0u32; self.n() + 1];
        for (i, p) in pairs.iter().enumerate() {
            if p.weight > 0.0 {
                starts[p.a as usize + 1] += 1;
            } else {
                let id = ConstraintId::Pair(i as u32);
                notes.add(most, NoteKind::NoWeight, id, id, (p.a, p.b));
            }
        }
        for i in 0..self.n() {
            starts[i + 1] += starts[i];
        }
        let mut keys = vec![0u64; starts[self.n()] as usize];
        for (i, p) in pairs.iter().enumerate().filter(|(_, p)| p.weight > 0.0) {
            let at = &mut starts[p.a as usize];
            keys[*at as usize] = u64::from(p.b) << 32 | i as u64;
            *at += 1;
        }
        // starts[a] is now the end of bucket a.
        let (mut same, mut different) = (Vec::new(), Vec::new());
        for a in 0..self.n() {
            let begin = if a == 0 { 0 } else { starts[a - 1] as usize };
            let bucket = &mut keys[begin..starts[a] as usize];
            bucket.sort_unstable();
            for run in bucket.chunk_by(|x, y| x >> 32 == y >> 32) {
                same.clear();
                different.clear();
                for &key in run {
                    let i = key as u32;
                    if pairs[i as usize].kind == Kind::MustLink { same.push(i) } else { different.push(i) }
                }
                let rows = (a as u32, (run[0] >> 32) as u32);
                let name = ConstraintId::Pair;
                for ids in [&same, &different] {
                    for &i in ids.iter().skip(1) {
                        notes.add(most, NoteKind::Repeated, name(i), name(ids[0]), rows);
                    }
                }
                if rows.0 == rows.1 {
                    same.iter().for_each(|&i| notes.add(most, NoteKind::SelfMustLink, name(i), name(i), rows));
                    different.iter().for_each(|&i| notes.add(most, NoteKind::SelfCannotLink, name(i), name(i), rows));
                } else if let (Some(&x), Some(&y)) = (same.first(), different.first()) {
                    notes.add(most, NoteKind::BothKinds, name(x.max(y)), name(x.min(y)), rows);
                }
                if !same.is_empty() {
                    each(Kind::MustLink, &same);
                }
                if !different.is_empty() {
                    each(Kind::CannotLink, &different);
                }
            }
        }
    }

    fn note_groups(&self, most: usize, notes: &mut Notes) {
        for (i, s) in self.sets().iter().enumerate() {
            let id = ConstraintId::Set(i as u32);
            let row = s.members.first().copied().unwrap_or(0);
            if s.weight == 0.0 {
                notes.add(most, NoteKind::NoWeight, id, id, (row, row));
            } else if s.members.len() < 2 {
                notes.add(most, NoteKind::SmallSet, id, id, (row, row));
            }
        }
        for (i, l) in self.labels().iter().enumerate() {
            let id = ConstraintId::Labels(i as u32);
            if l.weight == 0.0 {
                notes.add(most, NoteKind::NoWeight, id, id, (0, 0));
                continue;
            }
            let mut rows = l.rows.clone();
            rows.sort_unstable();
            rows.dedup();
            for w in rows.windows(2).filter(|w| w[0].0 == w[1].0) {
                notes.add(most, NoteKind::TwoLabels, id, id, (w[0].0, w[0].0));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Origin, brute};
    use super::*;
    use crate::rng::Rng;
    use Kind::{CannotLink, MustLink};

    #[test]
    fn everything_odd_is_noted_once() {
        let mut c = ConstraintSet::new(6);
        let file = c.add_source("a.csv");
        let mut line = 1;
        let mut add = |c: &mut ConstraintSet, kind, a, b, w| {
            line += 1;
            c.add_weighted_pair(kind, a, b, w, Origin { source: file, line }).unwrap();
        };
        add(&mut c, MustLink, 3, 1, 1.0);
        add(&mut c, MustLink, 1, 3, 2.0);
        add(&mut c, CannotLink, 1, 3, 4.0);
        add(&mut c, MustLink, 2, 2, 1.0);
        add(&mut c, CannotLink, 4, 4, 1.0);
        add(&mut c, MustLink, 0, 1, 0.0);
        add(&mut c, MustLink, 3, 1, 0.5);
        c.add_set(MustLink, &[5], 1.0, Origin::default()).unwrap();
        c.add_set(CannotLink, &[0, 5, 0], 1.0, Origin::default()).unwrap();
        let rows = [(0, 0), (0, 1), (1, 0), (1, 0)];
        c.add_labels(&rows, vec!["x".into(), "y".into()], vec![], 1.0, Origin::default()).unwrap();
        let n = c.normalised(MergeWeights::Max, 10);
        assert_eq!(n.notes, c.notes(10));
        assert_eq!(n.notes.counts, [2, 1, 1, 2, 1, 1, 1]);
        let told: Vec<String> = n.notes.list.iter().map(|x| x.describe(&c, |row| format!("r{row}"))).collect();
        assert!(told.contains(&"(r1, r3) [a.csv:3] repeats [a.csv:2]".into()), "{told:?}");
        assert!(told.contains(&"(r1, r3) is both same and different [a.csv:2, a.csv:4]".into()), "{told:?}");
        let kept: Vec<_> = n.set.pairs().iter().map(|p| (p.kind, p.a, p.b, p.weight)).collect();
        assert_eq!(
            kept,
            [(CannotLink, 0, 0, 1.0), (MustLink, 1, 3, 2.0), (CannotLink, 1, 3, 4.0), (CannotLink, 4, 4, 1.0)]
        );
        assert_eq!(n.originals(1), [0, 1, 6]);
        assert_eq!(c.normalised(MergeWeights::Sum, 0).set.pairs()[1].weight, 3.5);
        assert_eq!(n.set.sets().len(), 1);
        assert_eq!(n.set.labels()[0].rows.len(), 3);
        assert_eq!(c.notes(1).list.len(), 7);
    }

    #[test]
    fn the_canonical_set_says_the_same() {
        let mut rng = Rng::stream(41, "normalise", 0);
        for _ in 0..400 {
            let c = brute::random_set(&mut rng, 6, 14);
            let n = c.normalised(MergeWeights::Max, 3);
            let kept =
                |c: &ConstraintSet| brute::partitions(6).into_iter().filter(|p| brute::keeps(c, p)).collect::<Vec<_>>();
            assert_eq!(kept(&c), kept(&n.set));
            assert_eq!(n.set.notes(9).count(NoteKind::Repeated), 0);
        }
    }
}
