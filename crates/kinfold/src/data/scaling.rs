//! Scaling and learned transforms: what is done to the columns before distances are taken.
//! Sparse rows stay sparse: they are scaled, never shifted.

use serde::{Deserialize, Serialize};

use super::{Dataset, Float, Matrix, Rows, Scale, Table};
use crate::error::{Error, Result};

/// How to scale before clustering.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Scaling {
    /// As given.
    #[default]
    None,
    /// Every column to mean 0 and standard deviation 1 (sparse: deviation only).
    Standard,
    /// Every column to median 0 and interquartile range 1 (sparse: not offered).
    Robust,
    /// Every row to length 1.
    Unit,
    /// Counts to tf-idf, then every row to length 1.
    TfIdf,
}

impl Scaling {
    /// All scalings with their names.
    pub const ALL: [(&'static str, Scaling); 5] = [
        ("none", Scaling::None),
        ("standard", Scaling::Standard),
        ("robust", Scaling::Robust),
        ("unit", Scaling::Unit),
        ("tf-idf", Scaling::TfIdf),
    ];

    /// The name used on the command line and in results.
    pub fn name(self) -> &'static str {
        Scaling::ALL.iter().find(|(_, s)| *s == self).map_or("none", |(name, _)| name)
    }

    /// Learns the transform from the rows. Constant columns are left at 0 (dense) or as they are (sparse).
    pub fn fit<F: Float>(self, data: &Dataset<'_, F>) -> Result<Transform> {
        Ok(match self {
            Scaling::None => Transform::Identity,
            Scaling::Unit => Transform::UnitRows,
            Scaling::Standard => standard(data),
            Scaling::Robust => robust(data)?,
            Scaling::TfIdf => Transform::Chain(vec![inverse_document_frequency(data)?, Transform::UnitRows]),
        })
    }
}

/// A map of rows to rows, learned once and applied to old and new rows alike.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "kind", content = "value")]
pub enum Transform {
    /// Rows as they are.
    #[default]
    Identity,
    /// Column j becomes (x_j − shift_j) · factor_j; sparse rows are not shifted.
    Diagonal {
        /// What is subtracted; empty = nothing.
        shift: Vec<f64>,
        /// What multiplies.
        factor: Vec<f64>,
    },
    /// Row x becomes (x − shift) · matrix (dims × new dims). Sparse rows become dense and are not shifted.
    Linear {
        /// What is subtracted; empty = nothing.
        shift: Vec<f64>,
        /// dims × new dims.
        matrix: Matrix,
    },
    /// Every row to length 1; a zero row stays.
    UnitRows,
    /// One after the other.
    Chain(Vec<Transform>),
}

impl Transform {
    /// Is it the identity?
    pub fn is_identity(&self) -> bool {
        match self {
            Transform::Identity => true,
            Transform::Chain(parts) => parts.iter().all(Transform::is_identity),
            _ => false,
        }
    }

    /// The same as a scale on which dense rows can be seen without a copy, if it is no more than that.
    pub(crate) fn as_scale(&self) -> Option<Scale<'_>> {
        match self {
            Transform::Diagonal { shift, factor } => Some(Scale { shift, factor }),
            _ => None,
        }
    }

    /// This one, then `next`.
    pub fn then(self, next: Transform) -> Transform {
        let mut parts = Vec::new();
        for t in [self, next] {
            match t {
                Transform::Identity => {}
                Transform::Chain(inner) => parts.extend(inner),
                other => parts.push(other),
            }
        }
        match parts.len() {
            0 => Transform::Identity,
            1 => parts.remove(0),
            _ => Transform::Chain(parts),
        }
    }

    /// The transformed rows.
    pub fn apply<F: Float>(&self, data: &Dataset<'_, F>) -> Result<Table<F>> {
        let mut parts: &[Transform] = std::slice::from_ref(self);
        if let Transform::Chain(inner) = self {
            parts = inner;
        }
        let mut table: Option<Table<F>> = None;
        for part in parts {
            let next = match &table {
                None => part.apply_one(data)?,
                Some(t) => part.apply_one(&t.view()?)?,
            };
            table = Some(next);
        }
        table.map_or_else(|| Transform::Identity.apply_one(data), Ok)
    }

    fn apply_one<F: Float>(&self, data: &Dataset<'_, F>) -> Result<Table<F>> {
        let dims = data.dims();
        let wrong = |expected: usize| {
            Err(Error::Parameter(format!("the model was learned on {expected} columns, the data have {dims}")))
        };
        match self {
            Transform::Chain(_) => self.apply(data),
            Transform::Identity => Ok(map_values(data, |_, v| v)),
            Transform::Diagonal { factor, .. } if factor.len() != dims => wrong(factor.len()),
            Transform::Diagonal { shift, factor } => {
                let shifted = !shift.is_empty() && !data.is_sparse();
                Ok(map_values(data, |j, v| if shifted { (v - shift[j]) * factor[j] } else { v * factor[j] }))
            }
            Transform::UnitRows => {
                let mut table = map_values(data, |_, v| v);
                let unit = |row: &mut [F]| {
                    let norm = row.iter().map(|v| v.to_f64() * v.to_f64()).sum::<f64>().sqrt();
                    if norm > 0.0 {
                        row.iter_mut().for_each(|v| *v = F::from_f64(v.to_f64() / norm));
                    }
                };
                match &mut table {
                    Table::Dense { values, dims } => values.chunks_mut(*dims).for_each(unit),
                    Table::Sparse { starts, values, .. } => {
                        starts.windows(2).for_each(|w| unit(&mut values[w[0]..w[1]]));
                    }
                }
                Ok(table)
            }
            Transform::Linear { matrix, .. } if matrix.rows() != dims => wrong(matrix.rows()),
            Transform::Linear { shift, matrix } => {
                let width = matrix.cols();
                let mut values = vec![F::default(); data.n() * width];
                let mut out = vec![0.0; width];
                for (i, target) in values.chunks_exact_mut(width).enumerate() {
                    out.fill(0.0);
                    let mut add = |j: usize, v: f64| {
                        for (o, m) in out.iter_mut().zip(matrix.row(j)) {
                            *o += v * m;
                        }
                    };
                    match data.rows() {
                        Rows::Dense(d) => {
                            for (j, v) in d.row(i).iter().enumerate() {
                                add(j, v.to_f64() - shift.get(j).copied().unwrap_or(0.0));
                            }
                        }
                        Rows::Sparse(s) => {
                            let (columns, v) = s.row(i);
                            columns.iter().zip(v).for_each(|(&j, v)| add(j as usize, v.to_f64()));
                        }
                    }
                    target.iter_mut().zip(&out).for_each(|(t, &o)| *t = F::from_f64(o));
                }
                Ok(Table::Dense { values, dims: width })
            }
        }
    }
}

fn map_values<F: Float>(data: &Dataset<'_, F>, f: impl Fn(usize, f64) -> f64) -> Table<F> {
    match data.rows() {
        Rows::Dense(d) => {
            let dims = d.dims();
            let mut values = Vec::with_capacity(d.values().len());
            for row in d.values().chunks_exact(dims) {
                values.extend(row.iter().enumerate().map(|(j, v)| F::from_f64(f(j, v.to_f64()))));
            }
            Table::Dense { values, dims }
        }
        Rows::Sparse(s) => {
            let (mut starts, mut columns, mut values) = (vec![0], Vec::new(), Vec::new());
            for i in 0..data.n() {
                let (c, v) = s.row(i);
                columns.extend_from_slice(c);
                values.extend(c.iter().zip(v).map(|(&j, v)| F::from_f64(f(j as usize, v.to_f64()))));
                starts.push(values.len());
            }
            Table::Sparse { starts, columns, values, dims: s.dims() }
        }
    }
}

fn standard<F: Float>(data: &Dataset<'_, F>) -> Transform {
    let (n, dims) = (data.n(), data.dims());
    let total: f64 = (0..n).map(|i| data.weight(i)).sum();
    let mut mean = vec![0.0; dims];
    for i in 0..n {
        data.add_row(i, data.weight(i) / total, &mut mean);
    }
    // Sparse: Σ w (x − m)² = Σ_stored w ((x − m)² − m²) + total·m², so that zeros are never visited.
    let mut square = vec![0.0; dims];
    match data.rows() {
        Rows::Dense(d) => {
            for i in 0..n {
                let w = data.weight(i);
                for ((s, v), m) in square.iter_mut().zip(d.row(i)).zip(&mean) {
                    *s += w * (v.to_f64() - m).powi(2);
                }
            }
        }
        Rows::Sparse(s) => {
            for i in 0..n {
                let (columns, values) = s.row(i);
                for (&j, v) in columns.iter().zip(values) {
                    let (m, v) = (mean[j as usize], v.to_f64());
                    square[j as usize] += data.weight(i) * (v * v - 2.0 * v * m);
                }
            }
            square.iter_mut().zip(&mean).for_each(|(s, m)| *s += total * m * m);
        }
    }
    let largest = mean.iter().map(|m| m.abs()).fold(1.0, f64::max);
    let factor = square.iter().map(|s| reciprocal((s / total).max(0.0).sqrt(), 1e-14 * largest)).collect();
    let shift = if data.is_sparse() { Vec::new() } else { mean };
    Transform::Diagonal { shift, factor }
}

fn robust<F: Float>(data: &Dataset<'_, F>) -> Result<Transform> {
    let Rows::Dense(d) = data.rows() else {
        return Err(Error::Parameter(
            "robust scaling needs dense rows; use standard, unit or tf-idf on sparse ones".into(),
        ));
    };
    let (mut shift, mut factor) = (Vec::new(), Vec::new());
    let mut column = vec![0.0; data.n()];
    for j in 0..data.dims() {
        for (i, c) in column.iter_mut().enumerate() {
            *c = d.row(i)[j].to_f64();
        }
        column.sort_unstable_by(f64::total_cmp);
        // Linear interpolation between order statistics, as NumPy's percentile does.
        let quantile = |q: f64| {
            let at = q * (column.len() - 1) as f64;
            let (low, high) = (at.floor() as usize, at.ceil() as usize);
            column[low] + (column[high] - column[low]) * (at - low as f64)
        };
        shift.push(quantile(0.5));
        factor.push(reciprocal(quantile(0.75) - quantile(0.25), 0.0));
    }
    Ok(Transform::Diagonal { shift, factor })
}

/// ln((1 + n) / (1 + documents with the term)) + 1.
fn inverse_document_frequency<F: Float>(data: &Dataset<'_, F>) -> Result<Transform> {
    let mut documents = vec![0.0; data.dims()];
    let mut count = |row: usize, j: usize, v: f64| {
        if v < 0.0 {
            return Err(Error::Parameter(format!("tf-idf needs counts, but row {row}, column {j} holds {v}")));
        }
        documents[j] += f64::from(u8::from(v > 0.0));
        Ok(())
    };
    for i in 0..data.n() {
        match data.rows() {
            Rows::Dense(d) => d.row(i).iter().enumerate().try_for_each(|(j, v)| count(i, j, v.to_f64()))?,
            Rows::Sparse(s) => {
                let (columns, values) = s.row(i);
                columns.iter().zip(values).try_for_each(|(&j, v)| count(i, j as usize, v.to_f64()))?;
            }
        }
    }
    let n = data.n() as f64;
    let factor = documents.iter().map(|df| ((1.0 + n) / (1.0 + df)).ln() + 1.0).collect();
    Ok(Transform::Diagonal { shift: Vec::new(), factor })
}

fn reciprocal(spread: f64, floor: f64) -> f64 {
    if spread > floor { 1.0 / spread } else { 1.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dense(table: &Table<f64>) -> &[f64] {
        match table {
            Table::Dense { values, .. } => values,
            Table::Sparse { .. } => panic!("sparse"),
        }
    }

    #[test]
    fn standard_scaling_gives_mean_zero_and_deviation_one_and_survives_constants() {
        let data = Dataset::dense(&[1.0, 5.0, 3.0, 5.0, 5.0, 5.0], 2).unwrap();
        let t = Scaling::Standard.fit(&data).unwrap().apply(&data).unwrap();
        let r = 1.5f64.sqrt();
        for (a, b) in dense(&t).iter().zip([-r, 0.0, 0.0, 0.0, r, 0.0]) {
            assert!((a - b).abs() < 1e-12, "{t:?}");
        }
    }

    #[test]
    fn robust_scaling_uses_median_and_quartiles() {
        let data = Dataset::dense(&[0.0, 1.0, 2.0, 3.0, 100.0], 1).unwrap();
        let t = Scaling::Robust.fit(&data).unwrap().apply(&data).unwrap();
        assert_eq!(dense(&t), [-1.0, -0.5, 0.0, 0.5, 49.0]);
    }

    #[test]
    fn sparse_standard_scaling_divides_by_the_same_deviation_as_dense() {
        let values = [0.0, 2.0, 0.0, 4.0, 6.0, 0.0];
        let d = Dataset::dense(&values, 2).unwrap();
        let s = Dataset::sparse(&[0, 1, 2, 3], &[1, 1, 0], &[2.0, 4.0, 6.0], 2).unwrap();
        let (Transform::Diagonal { factor: a, .. }, Transform::Diagonal { factor: b, .. }) =
            (Scaling::Standard.fit(&d).unwrap(), Scaling::Standard.fit(&s).unwrap())
        else {
            panic!()
        };
        assert!(a.iter().zip(&b).all(|(x, y)| (x - y).abs() < 1e-12));
    }

    #[test]
    fn tf_idf_rows_have_length_one() {
        let s = Dataset::sparse(&[0, 2, 3], &[0, 1, 1], &[2.0, 1.0, 3.0], 2).unwrap();
        let t = Scaling::TfIdf.fit(&s).unwrap().apply(&s).unwrap();
        let Table::Sparse { values, starts, .. } = t else { panic!() };
        for w in starts.windows(2) {
            assert!((values[w[0]..w[1]].iter().map(|v| v * v).sum::<f64>() - 1.0).abs() < 1e-12);
        }
        let idf = (1.5f64).ln() + 1.0;
        assert!((values[0] / values[1] - 2.0 * idf).abs() < 1e-12);
    }
}
