//! Partial labels as seeds (Basu, Banerjee, Mooney 2002): the means of the labelled rows are the first centres, missing
//! ones are drawn by D² sampling; the labelled rows are then free, or clamped to their cluster. Cost as k-means.

use std::collections::BTreeMap;

use super::lloyd::{Limits, Nearest, Outcome, Place, lloyd};
use super::units::Units;
use super::{restarts, seeding};
use crate::constraints::{Chunklets, ConstraintSet};
use crate::context::RunContext;
use crate::data::{Dataset, Float, Matrix};
use crate::error::{Error, Result};

/// Labelled rows, ascending, with their classes numbered in order of appearance; a class has the same number in every
/// labelling that names it alike.
pub fn seeds(method: &'static str, given: &ConstraintSet, k: usize) -> Result<Vec<(u32, u32)>> {
    let mut classes: Vec<String> = Vec::new();
    let mut found: BTreeMap<u32, u32> = BTreeMap::new();
    for labelling in given.labels().iter().filter(|l| l.weight > 0.0) {
        for &(row, label) in &labelling.rows {
            let name = labelling.names.get(label as usize).cloned().unwrap_or_else(|| label.to_string());
            let class = classes.iter().position(|c| *c == name).unwrap_or_else(|| {
                classes.push(name.clone());
                classes.len() - 1
            });
            let earlier = *found.entry(row).or_insert(class as u32);
            if earlier != class as u32 {
                let why = format!("cannot use row {row}: it is labelled '{}' and '{name}'", classes[earlier as usize]);
                return Err(Error::Unsupported { method, why });
            }
        }
    }
    if classes.len() > k {
        let why = format!("needs a cluster for each of the {} labels; k = {k} is too small", classes.len());
        return Err(Error::Unsupported { method, why });
    }
    Ok(found.into_iter().collect())
}

/// Means of the seeds of each class; classes are numbered from 0 without gaps.
fn centres<F: Float>(data: &Dataset<'_, F>, seeds: &[(u32, u32)]) -> Matrix {
    let count = seeds.iter().map(|s| s.1 as usize + 1).max().unwrap_or(0);
    let mut centres = Matrix::zeros(count, data.dims());
    let mut total = vec![0.0; count];
    for &(row, class) in seeds {
        total[class as usize] += data.weight(row as usize);
    }
    for &(row, class) in seeds {
        let share = data.weight(row as usize) / total[class as usize];
        data.add_row(row as usize, share, centres.row_mut(class as usize));
    }
    centres
}

/// Labelled rows stay where they are.
struct Clamped(Vec<u32>);

impl Place for Clamped {
    fn place(&mut self, _: &RunContext, _: &[f64], _: usize, _: Option<&[u32]>, out: &mut [u32]) -> Result<bool> {
        out.copy_from_slice(&self.0);
        Ok(true)
    }
    fn may_leave(&self, _: usize, _: u32, _: f64) -> bool {
        false
    }
}

/// k-means from the seeds, which keep their labels if `clamp`.
pub fn from_seeds<F: Float>(
    ctx: &RunContext,
    data: &Dataset<'_, F>,
    seeds: &[(u32, u32)],
    k: usize,
    clamp: bool,
    restarts: usize,
    limits: Limits,
) -> Result<Outcome> {
    let alone = Chunklets::singletons(data.n());
    let bound = if clamp { seeds.iter().map(|s| s.0).collect() } else { Vec::new() };
    let units = Units::rows(data, &alone, bound);
    let chosen = centres(data, seeds);
    // With a seed for every cluster nothing is left to chance.
    let restarts = if chosen.rows() == k { 1 } else { restarts::how_many(restarts, data.n()) };
    restarts::best_of(ctx, restarts, data.n() * data.dims(), |ctx, r| {
        let mut rng = ctx.rng("seeding", r);
        let centres = seeding::kmeans_plus_plus(&ctx.pool, &units, k, chosen.clone(), true, &mut rng);
        if clamp {
            let mut clamped = Clamped(seeds.iter().map(|s| s.1).collect());
            lloyd(ctx, &units, centres, limits, &mut clamped)
        } else {
            lloyd(ctx, &units, centres, limits, &mut Nearest)
        }
    })
}

/// What to tell a user who gave no labels.
pub const NO_LABELS: &str = "no partial labels were given (--labels COLUMN), so this is plain k-means";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::constraints::Origin;
    use crate::pipeline::{Job, Run};
    use crate::rng::Rng;

    fn labelled(n: usize, rows: &[(usize, u32)]) -> ConstraintSet {
        let mut given = ConstraintSet::new(n);
        let names = ["a", "b", "c", "d", "e"].map(String::from).to_vec();
        given.add_labels(rows, names, vec![], f64::INFINITY, Origin::default()).unwrap();
        given
    }

    fn run(method: &str, rows: &[f64], k: usize, given: &ConstraintSet) -> Run {
        Job::new(method, k).run(&RunContext::new(1), &Dataset::dense(rows, 1).unwrap(), given).unwrap()
    }

    const LINE: [f64; 4] = [0.0, 1.0, 9.0, 10.0];

    #[test]
    fn one_seed_per_class_finds_the_two_groups() {
        for method in ["seeded-kmeans", "constrained-kmeans"] {
            let run = run(method, &LINE, 2, &labelled(4, &[(0, 0), (3, 1)]));
            assert_eq!((run.labels, run.objective), (vec![0, 0, 1, 1], 1.0), "{method}");
        }
    }

    #[test]
    fn a_wrong_seed_is_released_by_one_and_kept_by_the_other() {
        let given = labelled(4, &[(0, 0), (2, 0), (3, 1)]);
        let seeded = run("seeded-kmeans", &LINE, 2, &given);
        assert_eq!((seeded.labels, seeded.objective), (vec![0, 0, 1, 1], 1.0));
        let constrained = run("constrained-kmeans", &LINE, 2, &given);
        assert_eq!(constrained.labels, [0, 0, 0, 1]);
        assert!((constrained.objective - 146.0 / 3.0).abs() < 1e-12);
        assert_eq!(constrained.violations.broken(), 0);
    }

    #[test]
    fn a_converged_labelling_of_all_rows_is_a_fixed_point() {
        let mut rng = Rng::stream(2, "seeds test", 0);
        let rows: Vec<f64> = (0..60).map(|i| f64::from(i % 3) * 4.0 + rng.normal()).collect();
        let first = run("kmeans", &rows, 3, &ConstraintSet::new(60));
        let all: Vec<(usize, u32)> = first.labels.iter().copied().enumerate().collect();
        for method in ["seeded-kmeans", "constrained-kmeans"] {
            assert_eq!(run(method, &rows, 3, &labelled(60, &all)).labels, first.labels, "{method}");
        }
    }

    #[test]
    fn classes_without_a_seed_get_a_centre_and_labellings_meet_by_name() {
        let rows = [0.0, 0.1, 10.0, 10.1, 20.0, 20.1];
        let run = run("seeded-kmeans", &rows, 3, &labelled(6, &[(2, 1)]));
        assert_eq!(run.labels, [0, 0, 1, 1, 2, 2]);
        let mut two = ConstraintSet::new(6);
        let label = |set: &mut ConstraintSet, row, names: &[&str]| {
            let names = names.iter().map(|n| (*n).to_owned()).collect();
            set.add_labels(&[(row, 0)], names, vec![], 1.0, Origin::default()).unwrap();
        };
        label(&mut two, 0, &["x"]);
        label(&mut two, 4, &["y"]);
        label(&mut two, 1, &["x"]);
        assert_eq!(seeds("test", &two, 2).unwrap(), [(0, 0), (1, 0), (4, 1)]);
        assert!(seeds("test", &two, 1).unwrap_err().to_string().contains("k = 1 is too small"));
        label(&mut two, 0, &["z"]);
        assert!(seeds("test", &two, 5).unwrap_err().to_string().contains("labelled 'x' and 'z'"));
    }
}
