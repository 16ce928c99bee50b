//! Means of clusters and the sum of squares around them.

use crate::data::{Dataset, Float, Matrix, Rows};

/// Weighted mean of every cluster; a cluster without rows gets zeros. With the total weights.
pub fn means<F: Float>(data: &Dataset<'_, F>, labels: &[u32], k: usize) -> (Matrix, Vec<f64>) {
    let mut centres = Matrix::zeros(k, data.dims());
    let mut weights = vec![0.0; k];
    for (i, &label) in labels.iter().enumerate() {
        let w = data.weight(i);
        weights[label as usize] += w;
        data.add_row(i, w, centres.row_mut(label as usize));
    }
    for (c, &w) in weights.iter().enumerate() {
        if w > 0.0 {
            centres.row_mut(c).iter_mut().for_each(|v| *v /= w);
        }
    }
    (centres, weights)
}

/// Σ w ‖x − mean of its cluster‖².
pub fn sum_of_squares<F: Float>(data: &Dataset<'_, F>, labels: &[u32], k: usize) -> f64 {
    let (centres, _) = means(data, labels, k);
    sum_of_squares_around(data, labels, &centres)
}

/// Σ w ‖x − centre of its cluster‖².
pub fn sum_of_squares_around<F: Float>(data: &Dataset<'_, F>, labels: &[u32], centres: &Matrix) -> f64 {
    let Rows::Sparse(rows) = data.stored().0 else {
        return labels
            .iter()
            .enumerate()
            .map(|(i, &c)| data.weight(i) * data.distance2(i, centres.row(c as usize)))
            .sum();
    };
    // A centre is much longer than a row: its length is taken once.
    let norms: Vec<f64> = centres.iter().map(|c| c.iter().map(|v| v * v).sum()).collect();
    let square = |(i, &c): (usize, &u32)| {
        let ((columns, values), centre) = (rows.row(i), centres.row(c as usize));
        let term = |(&j, v): (&u32, &F)| (v.to_f64() - 2.0 * centre[j as usize]) * v.to_f64();
        let cross: f64 = columns.iter().zip(values).map(term).sum();
        data.weight(i) * (norms[c as usize] + cross).max(0.0)
    };
    labels.iter().enumerate().map(square).sum()
}

/// Mean of w ‖x − mean of all rows‖²: the unit in which squared distances of these rows are measured.
pub fn mean_square<F: Float>(data: &Dataset<'_, F>) -> f64 {
    let total: f64 = (0..data.n()).map(|i| data.weight(i)).sum();
    sum_of_squares(data, &vec![0; data.n()], 1) / total
}
