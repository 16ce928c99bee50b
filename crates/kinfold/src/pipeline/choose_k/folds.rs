//! Constraints held out fold by fold. Pairs are dealt into folds one by one, members of sets and labelled rows by row;
//! a row that is held out of a group is in no constraint of that fold at all. A held-out pair that the rest entails is
//! no test. Groups are counted through classes × clusters, never pair by pair.
//! gap = tests kept − tests that clusters of these sizes would keep by chance, as a share of what chance leaves.

use crate::constraints::{Chunklets, ConstraintSet, Entailed, Kind};
use crate::rng::Rng;

/// One fold: what is left, and what is asked of a clustering fitted to it.
pub(super) struct Fold {
    /// The constraints to fit to.
    pub(super) rest: ConstraintSet,
    /// (row, row, together?) that the rest does not entail, with its weight of evidence.
    pairs: Vec<(u32, u32, bool)>,
    groups: Vec<Group>,
}

/// A group of which some rows are held out: class and held out? of each row.
struct Group {
    rows: Vec<(u32, u32, bool)>,
}

/// Tests made and passed.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Tally {
    /// Must-link tests.
    pub together: f64,
    /// Must-link tests passed.
    pub together_kept: f64,
    /// Cannot-link tests.
    pub apart: f64,
    /// Cannot-link tests passed.
    pub apart_kept: f64,
    /// Tests that chance would pass.
    pub by_chance: f64,
    /// Pairs and rows that were held out: the tests of one row are not independent.
    pub units: f64,
}

impl Tally {
    pub(super) fn add(&mut self, other: &Tally) {
        self.together += other.together;
        self.together_kept += other.together_kept;
        self.apart += other.apart;
        self.apart_kept += other.apart_kept;
        self.by_chance += other.by_chance;
        self.units += other.units;
    }
    /// Of so many tests, those that clusters of these sizes would pass by chance.
    pub(super) fn chance_of(labels: &[u32], together: f64, apart: f64) -> f64 {
        let mut sizes: Vec<f64> = Vec::new();
        for &l in labels {
            if sizes.len() <= l as usize {
                sizes.resize(l as usize + 1, 0.0);
            }
            sizes[l as usize] += 1.0;
        }
        let n = labels.len() as f64;
        let same = sizes.iter().map(|s| s * (s - 1.0)).sum::<f64>() / (n * (n - 1.0)).max(1.0);
        together * same + apart * (1.0 - same)
    }
    /// Tests made.
    pub fn tests(&self) -> f64 {
        self.together + self.apart
    }
    /// Share of the tests passed.
    pub fn kept(&self) -> Option<f64> {
        (self.tests() > 0.0).then(|| (self.together_kept + self.apart_kept) / self.tests())
    }
    /// Share of the tests that chance would pass.
    pub fn chance(&self) -> Option<f64> {
        (self.tests() > 0.0).then(|| self.by_chance / self.tests())
    }
    /// Standard error of the gap, as if the held-out pairs and rows were independent.
    pub fn error(&self) -> f64 {
        let (Some(kept), Some(chance)) = (self.kept(), self.chance()) else { return 0.0 };
        // Half a success and half a failure: nothing is certain after few tests.
        let p = (kept * self.units + 0.5) / (self.units + 1.0);
        (p * (1.0 - p) / (self.units + 1.0)).sqrt() / (1.0 - chance).max(1e-9)
    }
    /// (kept − chance) / (1 − chance): 1 when all is kept, 0 when chance does as well.
    pub fn gap(&self) -> Option<f64> {
        let (kept, chance) = (self.kept()?, self.chance()?);
        (chance < 1.0).then(|| (kept - chance) / (1.0 - chance))
    }
}

/// Deals the constraints into folds. Fewer come back when there is too little to deal.
pub(super) fn folds(given: &ConstraintSet, count: usize, rng: &mut Rng) -> crate::Result<Vec<Fold>> {
    let n = given.n();
    let groups = as_groups(given);
    let mut rows: Vec<u32> = groups.iter().flatten().map(|x| x.0).collect();
    rows.sort_unstable();
    rows.dedup();
    rng.shuffle(&mut rows);
    let mut fold_of_row = vec![u32::MAX; n];
    rows.iter().enumerate().for_each(|(i, &row)| fold_of_row[row as usize] = (i % count) as u32);
    let mut order: Vec<usize> = (0..given.pairs().len()).collect();
    rng.shuffle(&mut order);
    let mut fold_of_pair = vec![0u32; order.len()];
    order.iter().enumerate().for_each(|(i, &pair)| fold_of_pair[pair] = (i % count) as u32);
    (0..count as u32).map(|f| fold(given, &groups, f, &fold_of_row, &fold_of_pair)).collect()
}

/// Sets and labellings as (row, class): a must-link set is one class, a cannot-link set one class per row.
fn as_groups(given: &ConstraintSet) -> Vec<Vec<(u32, u32)>> {
    let sets = given.sets().iter().filter(|s| s.weight > 0.0).map(|s| {
        let class = |i: usize| if s.kind == Kind::MustLink { 0 } else { i as u32 };
        s.members.iter().enumerate().map(|(i, &row)| (row, class(i))).collect()
    });
    sets.chain(given.labels().iter().filter(|l| l.weight > 0.0).map(|l| l.rows.clone())).collect()
}

fn fold(
    given: &ConstraintSet,
    groups: &[Vec<(u32, u32)>],
    f: u32,
    fold_of_row: &[u32],
    fold_of_pair: &[u32],
) -> crate::Result<Fold> {
    let freed = |row: u32| fold_of_row[row as usize] == f;
    let grouped = |row: u32| fold_of_row[row as usize] != u32::MAX;
    // A pair with an end in a group goes with that end, so that no held-out member is known by another way.
    let held = |i: usize| {
        let p = &given.pairs()[i];
        if grouped(p.a) || grouped(p.b) { freed(p.a) || freed(p.b) } else { fold_of_pair[i] == f }
    };
    let mut rest = given.map_pairs(|i, p| (!held(i)).then_some(*p));
    rest.retain_members(|row| !freed(row));
    let (closed, _): (Chunklets, _) = rest.close_lenient(0.0)?;
    let mut pairs = Vec::new();
    for (i, p) in given.pairs().iter().enumerate() {
        let unknown = || closed.entails(p.a as usize, p.b as usize) == Entailed::Unknown;
        if p.weight > 0.0 && p.a != p.b && held(i) && unknown() {
            pairs.push((p.a, p.b, p.kind == Kind::MustLink));
        }
    }
    let tested = groups.iter().filter(|g| g.iter().any(|x| freed(x.0)));
    let groups =
        tested.map(|g| Group { rows: g.iter().map(|&(row, class)| (row, class, freed(row))).collect() }).collect();
    Ok(Fold { rest, pairs, groups })
}

impl Fold {
    /// Does this fold test anything?
    pub(super) fn is_empty(&self) -> bool {
        self.pairs.is_empty() && self.groups.is_empty()
    }

    /// How a clustering that was fitted to the rest does.
    pub(super) fn test(&self, labels: &[u32]) -> Tally {
        let mut tally = Tally::default();
        for &(a, b, together) in &self.pairs {
            let kept = f64::from(u8::from((labels[a as usize] == labels[b as usize]) == together));
            if together {
                tally.together += 1.0;
                tally.together_kept += kept;
            } else {
                tally.apart += 1.0;
                tally.apart_kept += kept;
            }
        }
        self.groups.iter().for_each(|g| g.test(labels, &mut tally));
        let rows: usize = self.groups.iter().map(|g| g.rows.iter().filter(|r| r.2).count()).sum();
        tally.units = (self.pairs.len() + rows) as f64;
        tally.by_chance = Tally::chance_of(labels, tally.together, tally.apart);
        tally
    }
}

impl Group {
    /// Every pair with at least one row held out: all pairs less the pairs of those that were kept in.
    fn test(&self, labels: &[u32], tally: &mut Tally) {
        let two = |count: f64| count * (count - 1.0) / 2.0;
        for (everyone, sign) in [(true, 1.0), (false, -1.0)] {
            let rows = self.rows.iter().filter(|r| everyone || !r.2);
            let mut cells: Vec<(u32, u32)> = rows.map(|r| (r.1, labels[r.0 as usize])).collect();
            cells.sort_unstable();
            let same_both: f64 = cells.chunk_by(|x, y| x == y).map(|c| two(c.len() as f64)).sum();
            let same_class: f64 = cells.chunk_by(|x, y| x.0 == y.0).map(|c| two(c.len() as f64)).sum();
            cells.sort_unstable_by_key(|c| c.1);
            let same_cluster: f64 = cells.chunk_by(|x, y| x.1 == y.1).map(|c| two(c.len() as f64)).sum();
            let all = two(cells.len() as f64);
            tally.together += sign * same_class;
            tally.together_kept += sign * same_both;
            tally.apart += sign * (all - same_class);
            tally.apart_kept += sign * (all - same_class - (same_cluster - same_both));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::constraints::{Origin, generate};

    #[test]
    fn every_test_was_known_and_is_not_entailed_by_the_rest() {
        let mut rng = Rng::stream(1, "folds", 0);
        let truth: Vec<u32> = (0..60).map(|i| i % 4).collect();
        let mut given = generate::pairs(&truth, 40, &mut rng).unwrap().constraints;
        let labelled: Vec<(usize, u32)> = (0..16).map(|i| (3 * i, truth[3 * i])).collect();
        given.add_labels(&labelled, Vec::new(), Vec::new(), f64::INFINITY, Origin::default()).unwrap();
        given.add_set(Kind::CannotLink, &[1, 2, 3, 4], f64::INFINITY, Origin::default()).unwrap();
        let all = folds(&given, 5, &mut rng).unwrap();
        let (whole, mut tested) = (given.close().unwrap(), 0);
        for fold in &all {
            let rest = fold.rest.close().unwrap();
            let mut ask = |a: u32, b: u32, together: bool| {
                assert_eq!(rest.entails(a as usize, b as usize), Entailed::Unknown);
                let known = if together { Entailed::Same } else { Entailed::Different };
                assert_eq!(whole.entails(a as usize, b as usize), known);
                tested += 1;
            };
            fold.pairs.iter().for_each(|&(a, b, together)| ask(a, b, together));
            // By enumeration what the counts say.
            let labels: Vec<u32> = (0..60).map(|_| rng.below(3) as u32).collect();
            let mut plain = Tally::default();
            let mut count = |a: u32, b: u32, together: bool| {
                let kept = f64::from(u8::from((labels[a as usize] == labels[b as usize]) == together));
                let (made, passed) = if together {
                    (&mut plain.together, &mut plain.together_kept)
                } else {
                    (&mut plain.apart, &mut plain.apart_kept)
                };
                *made += 1.0;
                *passed += kept;
            };
            fold.pairs.iter().for_each(|&(a, b, together)| count(a, b, together));
            for g in &fold.groups {
                for (i, x) in g.rows.iter().enumerate() {
                    for y in g.rows[i + 1..].iter().filter(|y| x.2 || y.2) {
                        ask(x.0, y.0, x.1 == y.1);
                        count(x.0, y.0, x.1 == y.1);
                    }
                }
            }
            let found = fold.test(&labels);
            let four = |t: &Tally| [t.together, t.together_kept, t.apart, t.apart_kept];
            assert_eq!(four(&found), four(&plain));
        }
        assert!(tested > 60, "{tested}");
    }

    #[test]
    fn the_truth_has_gap_one_and_a_lump_or_chance_have_none() {
        let mut rng = Rng::stream(2, "folds", 0);
        let truth: Vec<u32> = (0..400).map(|i| i % 4).collect();
        let given = generate::pairs(&truth, 4000, &mut rng).unwrap().constraints;
        let total = |labels: &[u32]| {
            let mut sum = Tally::default();
            folds(&given, 5, &mut Rng::stream(3, "folds", 0)).unwrap().iter().for_each(|f| sum.add(&f.test(labels)));
            sum
        };
        assert_eq!(total(&truth).gap(), Some(1.0));
        assert_eq!(total(&vec![0; 400]).gap().map(f64::abs), Some(0.0));
        let random: Vec<u32> = (0..400).map(|_| rng.below(4) as u32).collect();
        assert!(total(&random).gap().unwrap().abs() < 0.1);
    }
}
