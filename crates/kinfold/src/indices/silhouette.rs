//! Silhouette (Rousseeuw 1987; Duarte et al. 2013, eq. 6–9): a = mean distance to the other rows of the own cluster,
//! b = smallest mean distance to another cluster, width (b − a) / max(a, b); the score is the mean width, −1 to 1.
//! A row alone in its cluster has width 0, one cluster has no score.

use super::internal::{Estimate, Looked, Partition, RowTerm};
use crate::data::{Dataset, Float};

/// What one row says, given the sums of its distances to every cluster.
pub(super) fn term(partition: &Partition, own: usize, weight: f64, sums: &[f64]) -> RowTerm {
    let within = sums[own];
    if partition.counts[own] < 2 || partition.k < 2 {
        return RowTerm { width: 0.0, within };
    }
    let a = within / (partition.weights[own] - weight);
    let mut b = f64::INFINITY;
    for (c, (sum, size)) in sums.iter().zip(&partition.weights).enumerate() {
        if c != own {
            b = b.min(sum / size);
        }
    }
    let larger = a.max(b);
    RowTerm { width: if larger > 0.0 { (b - a) / larger } else { 0.0 }, within }
}

/// The mean width; `of_rows` gets what each row adds to it.
pub(super) fn silhouette<F: Float>(
    data: &Dataset<'_, F>,
    partition: &Partition,
    looked: &Looked,
    at: usize,
    of_rows: &mut Vec<f64>,
) -> Option<Estimate> {
    if partition.k < 2 {
        return None;
    }
    let all: f64 = partition.weights.iter().sum();
    let scale = looked.n as f64 / all;
    let widths = looked.terms[at].iter().zip(&looked.rows);
    of_rows.extend(widths.map(|(t, &row)| scale * data.weight(row as usize) * t.width));
    Some(looked.mean(of_rows))
}
