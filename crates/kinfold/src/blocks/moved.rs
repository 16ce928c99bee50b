//! Rows of units that are not in the cluster of their own nearest centre, as a correction to the sums of all rows by
//! nearest centre. Cost O(rows of units) to look, O(dims) for each row that is elsewhere; memory 8 bytes a row of a unit.

use super::par::Pool;
use super::units::Units;
use crate::data::Float;
use crate::kernels::Sums;

/// Rows of units per task.
const TASK: usize = 16_384;

/// A row of a unit.
struct Bound {
    row: u32,
    unit: u32,
}

/// See the module.
pub(crate) struct Moved {
    /// Units of one row, whose values are the points of the units.
    alone: Vec<Bound>,
    /// Rows of units of several, in the order of [`Units::several_rows`].
    together: Vec<Bound>,
}

impl Moved {
    pub(crate) fn new<F: Float>(units: &Units<'_, F>) -> Moved {
        let (mut alone, mut together) = (Vec::new(), Vec::new());
        for unit in 0..units.bound() {
            let of = |&row: &u32| Bound { row, unit: unit as u32 };
            match units.members(unit) {
                [row] => alone.push(of(row)),
                rows => together.extend(rows.iter().map(of)),
            }
        }
        Moved { alone, together }
    }

    /// Moves the rows of units from the clusters of their nearest centres (`of_rows`) to those of their units.
    pub(crate) fn apply<F: Float>(
        &self,
        pool: &Pool,
        units: &Units<'_, F>,
        of_rows: &[u32],
        unit_labels: &[u32],
        sums: &mut Sums,
    ) {
        let k = sums.weights.len();
        let (points, several) = (units.points(), units.several_rows());
        for (rows, values, alone) in [(&self.alone, &points, true), (&self.together, &several, false)] {
            let parts = pool.map_chunks(rows.len(), TASK, |range| {
                let mut part: Option<Sums> = None;
                for (at, x) in range.clone().zip(&rows[range]) {
                    let (from, to) = (of_rows[x.row as usize] as usize, unit_labels[x.unit as usize] as usize);
                    if from != to {
                        let part = part.get_or_insert_with(|| Sums::zeros(k, values.dims()));
                        let at = if alone { x.unit as usize } else { at };
                        part.carry(values, at, units.data.weight(x.row as usize), (from, to));
                    }
                }
                part
            });
            parts.iter().flatten().for_each(|part| sums.add(part));
        }
        if units.data.weights().is_some() && sums.weights.iter().any(|w| *w != 0.0 && w.abs() < 1e-9) {
            empty_exactly(units, of_rows, unit_labels, sums);
        }
    }
}

/// Weights that are no whole numbers leave rounding behind in a cluster that lost all its rows.
fn empty_exactly<F: Float>(units: &Units<'_, F>, of_rows: &[u32], unit_labels: &[u32], sums: &mut Sums) {
    let mut rows = vec![0usize; sums.weights.len()];
    let free = of_rows.iter().enumerate().filter(|(row, _)| units.unit_of(*row) == super::units::FREE);
    free.for_each(|(_, &c)| rows[c as usize] += 1);
    unit_labels.iter().for_each(|&c| rows[c as usize] += 1);
    for c in (0..rows.len()).filter(|&c| rows[c] == 0) {
        sums.weights[c] = 0.0;
        sums.values.row_mut(c).fill(0.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::constraints::{ConstraintSet, Kind};
    use crate::data::Dataset;
    use crate::rng::Rng;

    #[test]
    fn corrected_sums_are_those_of_the_labels_after_any_changes() {
        let mut rng = Rng::stream(3, "moved test", 0);
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
        let moved = Moved::new(&units);
        let (mut of_rows, mut of_units) = (vec![0u32; n], vec![0u32; units.bound()]);
        for round in 0..40 {
            // A few at a time, so that every way of changing comes up; at last cluster 3 is left by all.
            let clusters = if round < 38 { k } else { k - 1 };
            for l in of_rows.iter_mut().chain(&mut of_units) {
                if rng.below(3) == 0 || *l as usize >= clusters {
                    *l = rng.below(clusters) as u32;
                }
            }
            let mut sums = Sums::zeros(k, dims);
            of_rows.iter().enumerate().for_each(|(row, &l)| {
                sums.weights[l as usize] += weights[row];
                data.add_row(row, weights[row], sums.values.row_mut(l as usize));
            });
            moved.apply(&Pool::new(1), &units, &of_rows, &of_units, &mut sums);
            let mut expected = Sums::zeros(k, dims);
            let mut labels = of_rows.clone();
            units.spread(&of_units, &mut labels);
            labels.iter().enumerate().for_each(|(row, &l)| {
                expected.weights[l as usize] += weights[row];
                data.add_row(row, weights[row], expected.values.row_mut(l as usize));
            });
            let near = |(a, b): (&f64, &f64)| (a - b).abs() < 1e-9;
            assert!(sums.weights.iter().zip(&expected.weights).all(near), "round {round}");
            assert!(sums.values.values().iter().zip(expected.values.values()).all(near), "round {round}");
            assert!(round < 38 || sums.weights[3] == 0.0);
        }
    }
}
