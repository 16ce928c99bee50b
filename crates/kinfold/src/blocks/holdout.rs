//! Which candidate does the evidence prefer? Rows that constraints speak of are set free in turn, fold by fold; a
//! candidate fitted to the rest is asked where it puts them: with their chunklet (must-link kept?), and apart from the
//! chunklets that theirs is cannot-linked to? A freed row is in no constraint, so nothing tested is entailed.
//! Chunklets lose the row and nothing else, so equal knowledge gives equal folds however it was written down.
//! score = the adjusted Rand index that follows from the shares of must-links and cannot-links kept, each smoothed by half
//! a success and half a failure, when as many pairs of rows belong together as the candidates put together. Their plain
//! mean would reward lumping: of k clusters, two that overlap are one k-th of the must-links and hardly a cannot-link.

use crate::constraints::Chunklets;
use crate::rng::Rng;

/// The scale of differences between scores is at least this.
const SMALLEST_ERROR: f64 = 0.005;

/// The constraints without the rows of one fold, and what was known about those.
pub struct Split {
    /// The rest.
    pub chunklets: Chunklets,
    /// A freed row, another row, and whether they belong together; those of one freed row follow each other.
    pub tests: Vec<(u32, u32, bool)>,
}

/// Pieces of evidence: chunklet members beyond the first, and cannot-links between chunklets.
pub fn evidence(chunklets: &Chunklets) -> usize {
    chunklets.n() - chunklets.len() + chunklets.graph().edge_count()
}

/// The folds; rows that no constraint speaks of are in none.
pub fn splits(chunklets: &Chunklets, folds: usize, rng: &mut Rng) -> Vec<Split> {
    let n = chunklets.n();
    let mut rows: Vec<usize> = (0..n).filter(|&row| chunklets.is_bound(chunklets.of(row))).collect();
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
                tests.push((row, head, true));
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
    tests.sort_by_key(|t| t.0);
    Split { chunklets: Chunklets::from_groups(&group, &apart), tests }
}

/// Tests passed and made, of both kinds.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Tally {
    together_kept: f64,
    together: f64,
    apart_kept: f64,
    apart: f64,
    /// Tests passed by every freed row, of both kinds.
    rows: Vec<(f64, f64)>,
    /// Share of all pairs of rows that have one label, summed over the folds, and the folds.
    alike: f64,
    folds: f64,
}

impl Tally {
    /// How labels of the rest's chunklets do on the freed rows. When the constraints are all of one kind, its share
    /// alone would reward lumping or splitting; the other half is then what random pairs would give.
    pub fn new(split: &Split, labels: &[u32], k: usize, kinds: (bool, bool)) -> Tally {
        let mut tally = Tally::default();
        let label = |row: u32| labels[split.chunklets.of(row as usize) as usize];
        for of_row in split.tests.chunk_by(|s, t| s.0 == t.0) {
            let mut passed = (0.0, 0.0);
            for &(a, b, together) in of_row {
                let kept = f64::from(u8::from((label(a) == label(b)) == together));
                if together {
                    tally.together += 1.0;
                    passed.0 += kept;
                } else {
                    tally.apart += 1.0;
                    passed.1 += kept;
                }
            }
            tally.together_kept += passed.0;
            tally.apart_kept += passed.1;
            tally.rows.push(passed);
        }
        let mut share = vec![0.0; k];
        split.chunklets.of_rows().iter().for_each(|&c| share[labels[c as usize] as usize] += 1.0);
        let n = split.chunklets.n() as f64;
        let chance: f64 = share.iter().map(|s| (s / n) * (s / n)).sum();
        (tally.alike, tally.folds) = (chance, 1.0);
        if !kinds.0 {
            tally.together = tally.apart;
            tally.together_kept = tally.apart * chance;
        } else if !kinds.1 {
            tally.apart = tally.together;
            tally.apart_kept = tally.together * (1.0 - chance);
        }
        tally
    }

    /// Adds the tests of another fold.
    pub fn add(&mut self, other: &Tally) {
        self.together_kept += other.together_kept;
        self.together += other.together;
        self.apart_kept += other.apart_kept;
        self.apart += other.apart;
        self.rows.extend_from_slice(&other.rows);
        self.alike += other.alike;
        self.folds += other.folds;
    }

    /// Share of all pairs of rows that have one label.
    pub fn alike(&self) -> f64 {
        self.alike / self.folds.max(1.0)
    }

    fn shares(&self) -> (f64, f64) {
        ((self.together_kept + 0.5) / (self.together + 1.0), (self.apart_kept + 0.5) / (self.apart + 1.0))
    }

    /// Balanced share of tests passed.
    pub fn share(&self) -> f64 {
        let (p, q) = self.shares();
        (p + q) / 2.0
    }

    /// What the shares amount to when `same` of all pairs of rows belong together.
    pub fn score(&self, same: f64) -> f64 {
        let (p, q) = self.shares();
        adjusted_rand(same, p, q)
    }

    /// What one more test passed adds to the score, of both kinds.
    fn worth(&self, same: f64) -> (f64, f64) {
        const STEP: f64 = 1e-4;
        let (p, q) = self.shares();
        let slope =
            |x: f64, y: f64| (adjusted_rand(same, p + x, q + y) - adjusted_rand(same, p - x, q - y)) / (2.0 * STEP);
        (slope(STEP, 0.0) / (self.together + 1.0), slope(0.0, STEP) / (self.apart + 1.0))
    }

    /// Standard error of the difference of two scores on the same tests: tests of one freed row hang together, and rows that
    /// do equally well by both say nothing.
    pub fn error_against(&self, other: &Tally, same: f64) -> f64 {
        let worth = other.worth(same);
        let difference = |(x, y): (&(f64, f64), &(f64, f64))| worth.0 * (x.0 - y.0) + worth.1 * (x.1 - y.1);
        let variance: f64 = self.rows.iter().zip(&other.rows).map(difference).map(|d| d * d).sum();
        variance.sqrt().max(SMALLEST_ERROR)
    }

    /// Standard error of the score as if the tests were independent (they share rows, so it is a scale rather than an error).
    pub fn error(&self, same: f64) -> f64 {
        let ((p, q), worth) = (self.shares(), self.worth(same));
        let variance = worth.0 * worth.0 * p * (1.0 - p) * (self.together + 1.0)
            + worth.1 * worth.1 * q * (1.0 - q) * (self.apart + 1.0);
        variance.sqrt().max(SMALLEST_ERROR)
    }
}

/// When `same` of all pairs belong together, and these shares of those that do and that do not are labelled so.
fn adjusted_rand(same: f64, together: f64, apart: f64) -> f64 {
    let (yes, torn) = (same * together, same * (1.0 - together));
    let (lumped, no) = ((1.0 - same) * (1.0 - apart), (1.0 - same) * apart);
    let whole = (yes + torn) * (torn + no) + (yes + lumped) * (lumped + no);
    if whole > 0.0 { 2.0 * (yes * no - torn * lumped) / whole } else { 1.0 }
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
        let score = |labels: &[u32]| Tally::new(split, labels, 4, (true, true)).score(0.25);
        assert!(score(&truth) > 0.8 && score(&lump).abs() < 0.1, "{} {}", score(&truth), score(&lump));
    }

    #[test]
    fn shares_of_pairs_give_the_adjusted_rand_index() {
        // Two labellings of 60 rows, all pairs tested.
        let truth: Vec<u32> = (0..60).map(|i| i / 15).collect();
        let found: Vec<u32> = (0..60).map(|i| (i + i / 7) % 60 / 12).collect();
        let pairs = || (0..60).flat_map(|i| (0..i).map(move |j| (i, j)));
        let same = |l: &[u32], (i, j): (usize, usize)| l[i] == l[j];
        let share = |kind: bool| {
            let of_kind: Vec<_> = pairs().filter(|&p| same(&truth, p) == kind).collect();
            of_kind.iter().filter(|&&p| same(&found, p) == kind).count() as f64 / of_kind.len() as f64
        };
        let together = pairs().filter(|&p| same(&truth, p)).count() as f64 / pairs().count() as f64;
        let scored = crate::indices::Scored { labels: &found, truth: Some(&truth), constraints: None };
        let scores = crate::indices::score_all(&scored);
        let known = scores.iter().find(|s| s.0 == "ari").and_then(|s| s.1).unwrap();
        assert!((adjusted_rand(together, share(true), share(false)) - known).abs() < 1e-9);
    }

    #[test]
    fn lumping_clusters_that_overlap_is_not_rewarded() {
        // Twenty clusters: lumping two keeps more must-links together and tears hardly a cannot-link.
        let tally = |together_kept: f64, apart_kept: f64| Tally {
            together_kept,
            together: 100.0,
            apart_kept,
            apart: 100.0,
            ..Tally::default()
        };
        let (apart, lumped) = (tally(40.0, 96.0), tally(44.0, 94.0));
        assert!(lumped.share() > apart.share() && lumped.score(0.05) < apart.score(0.05));
    }

    #[test]
    fn what_two_candidates_both_do_adds_nothing_to_the_error_of_their_difference() {
        // A hundred freed rows with a test of each kind; both candidates fail the same thirty, one fails another.
        let tally = |failed: usize| {
            let passed = 100.0 - failed as f64;
            let rows = (0..100).map(|row| if row < failed { (0.0, 0.0) } else { (1.0, 1.0) }).collect();
            let (together, apart, alike, folds) = (100.0, 100.0, 0.5, 1.0);
            Tally { together_kept: passed, together, apart_kept: passed, apart, rows, alike, folds }
        };
        let (most, more) = (tally(30), tally(31));
        assert!(more.score(0.5) < most.score(0.5));
        let (paired, alone) = (more.error_against(&most, 0.5), most.error(0.5));
        assert!(paired < 0.5 * alone, "{paired} {alone}");
        assert_eq!(most.error_against(&most, 0.5), SMALLEST_ERROR);
    }
}
