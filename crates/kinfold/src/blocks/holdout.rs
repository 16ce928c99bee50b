//! Which candidate does the evidence prefer? Rows that constraints speak of are set free in turn, fold by fold; a
//! candidate fitted to the rest is asked where it puts them: with their chunklet (must-link kept?), and apart from the
//! chunklets that theirs is cannot-linked to? A freed row is in no constraint, so nothing tested is entailed.
//! Chunklets lose the row and nothing else, so equal knowledge gives equal folds however it was written down.
//! score = ½(must-links kept + cannot-links kept), each smoothed by half a success and half a failure.

use crate::constraints::Chunklets;
use crate::rng::Rng;

/// The scale of differences between scores is at least this.
const SMALLEST_ERROR: f64 = 0.005;

/// The constraints without the rows of one fold, and what was known about those.
pub struct Split {
    /// The rest.
    pub chunklets: Chunklets,
    /// Two rows, and whether they belong together.
    pub tests: Vec<(u32, u32, bool)>,
}

/// Pieces of evidence: chunklet members beyond the first, and cannot-links between chunklets.
pub fn evidence(chunklets: &Chunklets) -> usize {
    chunklets.n() - chunklets.len() + chunklets.graph().edge_count()
}

/// The folds.
pub fn splits(chunklets: &Chunklets, folds: usize, rng: &mut Rng) -> Vec<Split> {
    let n = chunklets.n();
    let bound = |c: u32| chunklets.members(c).len() > 1 || chunklets.graph().degree(c) > 0;
    let mut rows: Vec<usize> = (0..n).filter(|&row| bound(chunklets.of(row))).collect();
    rng.shuffle(&mut rows);
    let mut fold = vec![usize::MAX; n];
    rows.iter().enumerate().for_each(|(at, &row)| fold[row] = at % folds);
    (0..folds).map(|f| split(chunklets, |row| fold[row as usize] == f)).collect()
}

fn split(chunklets: &Chunklets, freed: impl Fn(u32) -> bool) -> Split {
    let m = chunklets.len() as u32;
    // The row that stands for what is left of each chunklet, if anything is.
    let rest: Vec<Option<u32>> =
        (0..m).map(|c| chunklets.members(c).iter().copied().find(|&row| !freed(row))).collect();
    let mut group: Vec<u32> = (0..chunklets.n() as u32).collect();
    let mut apart = Vec::new();
    let mut tests = Vec::new();
    for c in 0..m {
        let members = chunklets.members(c);
        let head = rest[c as usize].unwrap_or(members[0]);
        for &row in members.iter().filter(|&&row| row != head) {
            if freed(row) {
                tests.push((head, row, true));
            } else {
                group[row as usize] = head;
            }
        }
        for &other in chunklets.graph().neighbours(c) {
            let left = rest[other as usize];
            if let (Some(a), Some(b), true) = (rest[c as usize], left, c < other) {
                apart.push((a, b));
            }
            // Two chunklets without any row left are compared once.
            if left.is_some() || c < other {
                let opposite = left.unwrap_or(chunklets.members(other)[0]);
                tests.extend(members.iter().filter(|&&row| freed(row)).map(|&row| (row, opposite, false)));
            }
        }
    }
    Split { chunklets: Chunklets::from_groups(&group, &apart), tests }
}

/// Tests passed and made, of both kinds.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Tally {
    together_kept: f64,
    together: f64,
    apart_kept: f64,
    apart: f64,
}

impl Tally {
    /// How labels of the rest's chunklets do on the freed rows. When the constraints are all of one kind, its share
    /// alone would reward lumping or splitting; the other half is then what random pairs would give.
    pub fn new(split: &Split, labels: &[u32], k: usize, kinds: (bool, bool)) -> Tally {
        let mut tally = Tally::default();
        let label = |row: u32| labels[split.chunklets.of(row as usize) as usize];
        for &(a, b, together) in &split.tests {
            let kept = f64::from(u8::from((label(a) == label(b)) == together));
            if together {
                tally.together += 1.0;
                tally.together_kept += kept;
            } else {
                tally.apart += 1.0;
                tally.apart_kept += kept;
            }
        }
        if kinds != (true, true) {
            let mut share = vec![0.0; k];
            split.chunklets.of_rows().iter().for_each(|&c| share[labels[c as usize] as usize] += 1.0);
            let n = split.chunklets.n() as f64;
            let chance: f64 = share.iter().map(|s| (s / n) * (s / n)).sum();
            if kinds.0 {
                tally.apart = tally.together;
                tally.apart_kept = tally.together * (1.0 - chance);
            } else {
                tally.together = tally.apart;
                tally.together_kept = tally.apart * chance;
            }
        }
        tally
    }

    /// Adds the tests of another fold.
    pub fn add(&mut self, other: &Tally) {
        self.together_kept += other.together_kept;
        self.together += other.together;
        self.apart_kept += other.apart_kept;
        self.apart += other.apart;
    }

    fn shares(&self) -> (f64, f64) {
        ((self.together_kept + 0.5) / (self.together + 1.0), (self.apart_kept + 0.5) / (self.apart + 1.0))
    }

    /// Balanced share of tests passed.
    pub fn score(&self) -> f64 {
        let (p, q) = self.shares();
        (p + q) / 2.0
    }

    /// Standard error as if the tests were independent (they share rows, so it is a scale rather than an error).
    pub fn error(&self) -> f64 {
        let (p, q) = self.shares();
        let variance = p * (1.0 - p) / (self.together + 1.0) + q * (1.0 - q) / (self.apart + 1.0);
        (variance.sqrt() / 2.0).max(SMALLEST_ERROR)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::constraints::Entailed;

    #[test]
    fn nothing_tested_is_entailed_by_the_rest_and_everything_tested_was_known() {
        let mut rng = Rng::stream(1, "test", 0);
        let groups: Vec<u32> = (0..40).map(|i| if i < 30 { i / 3 } else { i }).collect();
        let chunklets = Chunklets::from_groups(&groups, &[(0, 3), (0, 6), (9, 30), (12, 31), (33, 34)]);
        let all = splits(&chunklets, 5, &mut rng);
        let mut tested = 0;
        for s in &all {
            for &(a, b, together) in &s.tests {
                let (a, b) = (a as usize, b as usize);
                assert_eq!(s.chunklets.entails(a, b), Entailed::Unknown);
                let known = if together { Entailed::Same } else { Entailed::Different };
                assert_eq!(chunklets.entails(a, b), known);
                tested += 1;
            }
        }
        assert!(tested >= 30);
    }

    #[test]
    fn a_perfect_candidate_scores_higher_than_one_that_lumps() {
        let groups: Vec<u32> = (0..40).map(|i| i / 10).collect();
        let chunklets = Chunklets::from_groups(&groups, &[(0, 10), (10, 20), (20, 30), (0, 20)]);
        let split = &splits(&chunklets, 4, &mut Rng::stream(2, "test", 0))[0];
        let truth: Vec<u32> = crate::blocks::candidates::of_chunklets(&split.chunklets, &groups);
        let lump = vec![0; truth.len()];
        let score = |labels: &[u32]| Tally::new(split, labels, 4, (true, true)).score();
        assert!(score(&truth) > 0.9 && score(&lump) < 0.6);
    }
}
