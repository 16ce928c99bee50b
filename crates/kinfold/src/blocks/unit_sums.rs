//! Sums of the bound units of each cluster. From one iteration to the next few units change their cluster, and only those
//! are read. Cost O(units) to look, O(dims) for each unit that changed.

use super::par::Pool;
use super::units::Units;
use crate::data::Float;
use crate::kernels::Sums;

/// Units per task.
const TASK: usize = 8192;
/// Units that are fetched before their turn.
const AHEAD: usize = 8;

/// See the module.
pub(crate) struct UnitSums {
    sums: Sums,
    /// Where the units were when last looked at; empty before the first time.
    labels: Vec<u32>,
}

impl UnitSums {
    pub(crate) fn new<F: Float>(units: &Units<'_, F>, k: usize) -> UnitSums {
        UnitSums { sums: Sums::zeros(k, units.data.dims()), labels: Vec::new() }
    }

    /// Adds the units in these clusters to the sums of the rows that are in none.
    pub(crate) fn add_to<F: Float>(&mut self, pool: &Pool, units: &Units<'_, F>, labels: &[u32], sums: &mut Sums) {
        let (k, points) = (sums.weights.len(), units.points());
        let parts = pool.map_chunks(labels.len(), TASK, |range| {
            let changed: Vec<usize> = range.filter(|&unit| self.labels.get(unit) != Some(&labels[unit])).collect();
            let mut part = (!changed.is_empty()).then(|| Sums::zeros(k, points.dims()))?;
            for (i, &unit) in changed.iter().enumerate() {
                if let Some(&later) = changed.get(i + AHEAD) {
                    points.prefetch(later);
                }
                let (to, weight) = (labels[unit] as usize, units.weight[unit]);
                match self.labels.get(unit) {
                    Some(&from) => part.carry(&points, unit, weight, (from as usize, to)),
                    None => {
                        part.weights[to] += weight;
                        points.add_row(unit, weight, part.values.row_mut(to));
                    }
                }
            }
            Some(part)
        });
        parts.iter().flatten().for_each(|part| self.sums.add(part));
        self.labels.clear();
        self.labels.extend_from_slice(labels);
        if units.data.weights().is_some() {
            self.settle_empty();
        }
        sums.add(&self.sums);
    }

    /// Weights that are no whole numbers leave rounding behind in a cluster that lost all its units.
    fn settle_empty(&mut self) {
        let mut used = vec![false; self.sums.weights.len()];
        self.labels.iter().for_each(|&c| used[c as usize] = true);
        for c in (0..used.len()).filter(|&c| !used[c]) {
            self.sums.weights[c] = 0.0;
            self.sums.values.row_mut(c).fill(0.0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::constraints::{ConstraintSet, Kind};
    use crate::data::Dataset;
    use crate::rng::Rng;

    #[test]
    fn sums_are_those_of_the_labels_after_any_changes() {
        let mut rng = Rng::stream(3, "unit sums test", 0);
        let (n, dims, k) = (60, 3, 4);
        let values: Vec<f64> = (0..n * dims).map(|_| rng.normal()).collect();
        let weights: Vec<f64> = (0..n).map(|i| 0.3 + (i % 5) as f64).collect();
        let data = Dataset::dense(&values, dims).unwrap().with_weights(&weights).unwrap();
        let mut given = ConstraintSet::new(n);
        for i in (0..40).step_by(4) {
            given.add_pair(Kind::MustLink, i, i + 1).unwrap();
            given.add_pair(Kind::CannotLink, i, i + 2).unwrap();
        }
        let chunklets = given.close().unwrap();
        let units = Units::new(&data, &chunklets);
        let mut unit_sums = UnitSums::new(&units, k);
        let mut labels = vec![0u32; units.bound()];
        for round in 0..40 {
            // A few at a time; at last cluster 3 is left by all.
            let clusters = if round < 38 { k } else { k - 1 };
            for l in &mut labels {
                if rng.below(3) == 0 || *l as usize >= clusters {
                    *l = rng.below(clusters) as u32;
                }
            }
            let mut sums = Sums::zeros(k, dims);
            unit_sums.add_to(&Pool::new(1), &units, &labels, &mut sums);
            let mut expected = Sums::zeros(k, dims);
            for (unit, &l) in labels.iter().enumerate() {
                for &row in units.members(unit) {
                    expected.weights[l as usize] += weights[row as usize];
                    data.add_row(row as usize, weights[row as usize], expected.values.row_mut(l as usize));
                }
            }
            let near = |(a, b): (&f64, &f64)| (a - b).abs() < 1e-9;
            assert!(sums.weights.iter().zip(&expected.weights).all(near), "round {round}");
            assert!(sums.values.values().iter().zip(expected.values.values()).all(near), "round {round}");
            assert!(round < 38 || sums.weights[3] == 0.0);
        }
    }
}
