//! Hubert's statistic, V_ij = 1 where rows i, j are in different clusters: H = mean over pairs of V·D, and
//! NH = corr(V, D) = (μ_U·D̄ − S_w/M) / (σ_U·σ_D) with U = 1 − V, M pairs, S_w the sum of distances inside clusters.
//! Duarte et al. 2013 print (10), (11) with U, but what they say of H and NH holds for V only; larger is better.
//! ΣD² comes in closed form, so one pass over the distances is enough. From a sample of rows by the delta method.

use super::internal::{Estimate, Looked, Partition};
use crate::data::{Dataset, Float};

/// Sums over pairs that no clustering changes.
pub(super) struct Squares {
    /// Σ_{i<j} ω_i·ω_j.
    pairs: f64,
    /// Mean of D² over pairs.
    mean: f64,
}

/// Σ_{i<j} ω_i ω_j ‖x_i − x_j‖² = W·Σ ω‖x − x̄‖², over the weight of all pairs.
pub(super) fn mean_square<F: Float>(data: &Dataset<'_, F>) -> Squares {
    let n = data.n();
    let (mut all, mut own) = (0.0, 0.0);
    let mut mean = vec![0.0; data.dims()];
    for i in 0..n {
        let w = data.weight(i);
        all += w;
        own += w * w;
        data.add_row(i, w, &mut mean);
    }
    mean.iter_mut().for_each(|m| *m /= all);
    let scatter: f64 = (0..n).map(|i| data.weight(i) * data.distance2(i, &mean)).sum();
    let pairs = (all * all - own) / 2.0;
    Squares { pairs, mean: if pairs > 0.0 { all * scatter / pairs } else { 0.0 } }
}

/// Share of the weight of pairs that is inside clusters.
fn inside<F: Float>(data: &Dataset<'_, F>, partition: &Partition, squares: &Squares) -> f64 {
    let mut own = vec![0.0; partition.k];
    for (i, &c) in partition.labels.iter().enumerate() {
        own[c as usize] += data.weight(i) * data.weight(i);
    }
    partition.weights.iter().zip(&own).map(|(w, o)| (w * w - o) / 2.0).sum::<f64>() / squares.pairs
}

/// What each row adds to the mean distance (t) and to the mean of U·D (v).
fn means<F: Float>(data: &Dataset<'_, F>, looked: &Looked, at: usize, squares: &Squares) -> (Vec<f64>, Vec<f64>) {
    let scale = |row: u32| looked.n as f64 * data.weight(row as usize) / (2.0 * squares.pairs);
    let t = looked.rows.iter().zip(&looked.total).map(|(&row, sum)| scale(row) * sum).collect();
    let v = looked.rows.iter().zip(&looked.terms[at]).map(|(&row, term)| scale(row) * term.within).collect();
    (t, v)
}

/// Mean over pairs of V·D.
pub(super) fn hubert<F: Float>(
    data: &Dataset<'_, F>,
    partition: &Partition,
    looked: &Looked,
    at: usize,
    squares: &Squares,
) -> Option<Estimate> {
    if partition.k == 1 {
        return Some(Estimate::exact(0.0));
    }
    let (t, v) = means(data, looked, at, squares);
    Some(looked.mean(&t.iter().zip(&v).map(|(t, v)| t - v).collect::<Vec<f64>>()))
}

/// The correlation; `of_rows` gets the linear term of each row.
pub(super) fn normalised<F: Float>(
    data: &Dataset<'_, F>,
    partition: &Partition,
    looked: &Looked,
    at: usize,
    squares: &Squares,
    of_rows: &mut Vec<f64>,
) -> Option<Estimate> {
    let share = inside(data, partition, squares);
    if partition.k < 2 || partition.k == looked.n || !(share > 0.0 && share < 1.0) {
        return None;
    }
    let (t, v) = means(data, looked, at, squares);
    let (distance, within) = (looked.mean(&t).value, looked.mean(&v).value);
    let variance = squares.mean - distance * distance;
    if variance <= 1e-12 * squares.mean {
        return None;
    }
    let (spread, sigma) = ((share * (1.0 - share)).sqrt(), variance.sqrt());
    let gap = share * distance - within;
    let by_v = -1.0 / (spread * sigma);
    let by_t = share / (spread * sigma) + gap * distance / (spread * sigma.powi(3));
    of_rows.extend(t.iter().zip(&v).map(|(t, v)| by_t * t + by_v * v));
    Some(Estimate { value: (gap / (spread * sigma)).clamp(-1.0, 1.0), error: looked.mean(of_rows).error })
}
