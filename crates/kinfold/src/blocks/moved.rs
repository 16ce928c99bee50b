//! Rows of units that are not in the cluster of their own nearest centre, as a correction to the sums of all rows by
//! nearest centre. From one iteration to the next few rows change either side, and only those are read.
//! Cost O(rows of units) to look, O(dims) for each row that changed; memory 16 bytes a row of a unit.

use super::par::Pool;
use super::units::Units;
use crate::data::{Dataset, Float};
use crate::kernels::Sums;

/// Rows of units per task.
const TASK: usize = 16_384;
/// Before the first iteration.
const NOWHERE: u32 = u32::MAX;

/// See the module.
pub(crate) struct Moved {
    /// Row, unit, nearest centre of the row and cluster of the unit when last looked at; by unit.
    rows: Vec<(u32, u32, u32, u32)>,
    correction: Sums,
}

impl Moved {
    pub(crate) fn new<F: Float>(units: &Units<'_, F>, k: usize) -> Moved {
        let of = |unit: usize| units.members(unit).iter().map(move |&row| (row, unit as u32, NOWHERE, NOWHERE));
        Moved { rows: (0..units.bound()).flat_map(of).collect(), correction: Sums::zeros(k, units.data.dims()) }
    }

    /// Moves the rows of units from the clusters of their nearest centres (`of_rows`) to those of their units.
    pub(crate) fn apply<F: Float>(
        &mut self,
        pool: &Pool,
        units: &Units<'_, F>,
        of_rows: &[u32],
        unit_labels: &[u32],
        sums: &mut Sums,
    ) {
        let (k, dims) = (sums.weights.len(), units.data.dims());
        let points = units.points();
        let parts = pool.map_chunks_mut(&mut self.rows, TASK, |_, rows| {
            let mut part: Option<Sums> = None;
            for (row, unit, from, to) in rows {
                let (old, new) = ((*from, *to), (of_rows[*row as usize], unit_labels[*unit as usize]));
                if old == new {
                    continue;
                }
                (*from, *to) = new;
                // Out goes old.0 → old.1, in comes new.0 → new.1; what both share cancels.
                let ways = match () {
                    () if old.0 == NOWHERE || old.0 == old.1 => [new, (0, 0)],
                    () if new.0 == new.1 => [(old.1, old.0), (0, 0)],
                    () if old.0 == new.0 => [(old.1, new.1), (0, 0)],
                    () if old.1 == new.1 => [(new.0, old.0), (0, 0)],
                    () => [(old.1, old.0), new],
                };
                for (a, b) in ways.into_iter().filter(|(a, b)| a != b) {
                    let part = part.get_or_insert_with(|| Sums::zeros(k, dims));
                    let weight = units.data.weight(*row as usize);
                    // Most units are one row, and the means of units lie side by side.
                    match units.members(*unit as usize) {
                        [_] => carry(&points, *unit as usize, weight, (a as usize, b as usize), part),
                        _ => carry(units.data, *row as usize, weight, (a as usize, b as usize), part),
                    }
                }
            }
            part
        });
        parts.iter().flatten().for_each(|part| self.correction.add(part));
        sums.add(&self.correction);
        if units.data.weights().is_some() && sums.weights.iter().any(|w| *w != 0.0 && w.abs() < 1e-9) {
            empty_exactly(units, of_rows, unit_labels, sums);
        }
    }
}

/// Takes a row out of the sums of one cluster and adds it to those of another.
pub(crate) fn carry<F: Float>(
    data: &Dataset<'_, F>,
    row: usize,
    weight: f64,
    (from, to): (usize, usize),
    sums: &mut Sums,
) {
    sums.weights[from] -= weight;
    sums.weights[to] += weight;
    data.add_row(row, -weight, sums.values.row_mut(from));
    data.add_row(row, weight, sums.values.row_mut(to));
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
        let mut moved = Moved::new(&units, k);
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
