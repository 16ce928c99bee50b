//! Moves of single rows (Hartigan 1975) under penalties: a row changes its cluster when Σ w‖x − c‖² + penalties falls with
//! both means moving along, which finds moves that assignment to fixed centres cannot see: leaving saves
//! W/(W − w)·w‖x − c‖², joining costs W/(W + w)·w‖x − c‖². Cost per pass O(n·k·dims) plus the penalties of bound rows.

use super::icm::Energy;
use super::lloyd::cheapest;
use super::units::{FREE, Units};
use crate::context::RunContext;
use crate::data::{Float, Matrix};

/// Passes at most.
const PASSES: usize = 100;

/// Moves rows, in order, until none wants to; `centres` are the means of `labels` and stay so. True when some row moved.
pub fn single_moves<F: Float>(
    ctx: &RunContext,
    units: &Units<'_, F>,
    energy: &mut dyn Energy,
    labels: &mut [u32],
    centres: &mut Matrix,
) -> bool {
    let (data, k) = (units.data, centres.rows());
    let mut bound: Vec<u32> = (0..units.bound()).map(|u| labels[units.members(u)[0] as usize]).collect();
    energy.reset(&bound);
    let mut weight = vec![0.0; k];
    let mut size = vec![0usize; k];
    for (row, &l) in labels.iter().enumerate() {
        weight[l as usize] += data.weight(row);
        size[l as usize] += 1;
    }
    let mut columns = centres.transposed();
    let (mut x, mut costs) = (vec![0.0; data.dims()], vec![0.0; k]);
    let mut any = false;
    for _ in 0..PASSES {
        let mut moved = false;
        for row in 0..data.n() {
            let (from, w) = (labels[row] as usize, data.weight(row));
            if size[from] < 2 {
                continue;
            }
            x.fill(0.0);
            data.add_row(row, 1.0, &mut x);
            costs.fill(0.0);
            for (v, column) in x.iter().zip(columns.iter()) {
                costs.iter_mut().zip(column).for_each(|(s, c)| *s += (v - c) * (v - c));
            }
            for (h, (cost, total)) in costs.iter_mut().zip(&weight).enumerate() {
                *cost *= w * total / if h == from { total - w } else { total + w };
            }
            let unit = units.unit_of(row);
            if unit != FREE {
                energy.add(unit as usize, &bound, &mut costs);
            }
            let to = cheapest(&costs);
            if !(costs[to as usize] < costs[from] * (1.0 - 1e-10)) {
                continue;
            }
            for (v, column) in x.iter().zip(columns.values_mut().chunks_exact_mut(k)) {
                column[from] += (column[from] - v) * w / (weight[from] - w);
                column[to as usize] += (v - column[to as usize]) * w / (weight[to as usize] + w);
            }
            weight[from] -= w;
            weight[to as usize] += w;
            size[from] -= 1;
            size[to as usize] += 1;
            labels[row] = to;
            if unit != FREE {
                bound[unit as usize] = to;
                energy.moved(unit as usize, from as u32, to);
            }
            moved = true;
        }
        any |= moved;
        if !moved || ctx.checkpoint().is_err() {
            break;
        }
    }
    *centres = columns.transposed();
    any
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::blocks::means;
    use crate::blocks::soft::{Broken, Soft};
    use crate::constraints::{Chunklets, ConstraintSet, Kind};
    use crate::data::Dataset;
    use crate::rng::Rng;

    #[test]
    fn the_objective_falls_to_where_no_single_move_lowers_it() {
        let mut rng = Rng::stream(1, "single moves test", 0);
        for _ in 0..20 {
            let rows: Vec<f64> = (0..60).map(|_| rng.normal()).collect();
            let weights: Vec<f64> = (0..30).map(|_| 0.5 + rng.unit()).collect();
            let data = Dataset::dense(&rows, 2).unwrap().with_weights(&weights).unwrap();
            let mut given = ConstraintSet::new(30);
            for _ in 0..20 {
                let kind = if rng.unit() < 0.5 { Kind::MustLink } else { Kind::CannotLink };
                given.add_pair(kind, rng.below(15), 15 + rng.below(15)).unwrap();
            }
            let (chunklets, _) = given.close_lenient(0.0).unwrap();
            let soft = Soft::new(&given, &chunklets, true);
            let alone = Chunklets::singletons(30);
            let units = Units::rows(&data, &alone, soft.rows().to_vec());
            let mut labels: Vec<u32> = (0..30).map(|i| i % 3).collect();
            let cost = |labels: &[u32]| means::sum_of_squares(&data, labels, 3) + 0.7 * soft.broken_weight(labels);
            let before = cost(&labels);
            let mut centres = means::means(&data, &labels, 3).0;
            let mut energy = Broken::new(&soft, 0.7, 3);
            single_moves(&RunContext::new(0), &units, &mut energy, &mut labels, &mut centres);
            let after = cost(&labels);
            assert!(after <= before);
            let fresh = means::means(&data, &labels, 3).0;
            assert!(fresh.values().iter().zip(centres.values()).all(|(a, b)| (a - b).abs() < 1e-9));
            for row in 0..30 {
                let own = labels[row];
                if labels.iter().filter(|&&l| l == own).count() < 2 {
                    continue;
                }
                for other in 0..3 {
                    labels[row] = other;
                    assert!(cost(&labels) >= after - 1e-8 * after, "row {row} would rather be in {other}");
                }
                labels[row] = own;
            }
        }
    }
}
