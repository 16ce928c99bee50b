//! Distances (x − y)ᵀA(x − y) as Euclidean ones of mapped rows, A = GᵀG, and the A that minimises tr(A·S) − m·log det A:
//! A = m·S⁻¹, its variances kept above a floor. G has orthogonal rows, so log det A = Σ log ‖row‖².

use super::linalg::symmetric_eigen;
use crate::data::{Matrix, Shape, Transform};
use crate::error::Result;

/// A metric: what maps rows to a Euclidean space.
#[derive(Debug, Clone, PartialEq)]
pub enum Metric {
    /// Every column times a factor; the squares are the diagonal of A.
    Diagonal(Vec<f64>),
    /// The rows of G.
    Full(Matrix),
}

impl Metric {
    /// Plain Euclidean distances.
    pub fn identity(dims: usize) -> Metric {
        Metric::Diagonal(vec![1.0; dims])
    }

    /// `m / s_f` on the diagonal; variances s_f / m are kept above `floor[f]`, columns whose floor is 0 are left alone.
    pub fn diagonal(scatter: &[f64], m: f64, floor: &[f64]) -> Metric {
        let factor = |(&s, &floor): (&f64, &f64)| if floor > 0.0 { (s / m).max(floor).sqrt().recip() } else { 1.0 };
        Metric::Diagonal(scatter.iter().zip(floor).map(factor).collect())
    }

    /// m·S⁻¹, the eigenvalues of S / m kept above `floor`.
    pub fn full(scatter: &Matrix, m: f64, floor: f64) -> Result<Metric> {
        let (values, mut map) = symmetric_eigen(scatter)?;
        for (i, value) in values.iter().enumerate() {
            let scale = (value / m).max(floor).sqrt().recip();
            map.row_mut(i).iter_mut().for_each(|v| *v *= scale);
        }
        Ok(Metric::Full(map))
    }

    /// log det A.
    pub fn log_det(&self) -> f64 {
        match self {
            Metric::Diagonal(factor) => factor.iter().map(|f| 2.0 * f.ln()).sum(),
            Metric::Full(map) => map.iter().map(|row| row.iter().map(|v| v * v).sum::<f64>().ln()).sum(),
        }
    }

    /// G·x.
    pub fn map(&self, x: &[f64], out: &mut [f64]) {
        match self {
            Metric::Diagonal(factor) => {
                out.iter_mut().zip(x).zip(factor).for_each(|((o, x), f)| *o = x * f);
            }
            Metric::Full(map) => {
                out.iter_mut().zip(map.iter()).for_each(|(o, row)| *o = super::linalg::dot(row, x));
            }
        }
    }

    /// G·x of every row.
    pub fn map_all(&self, x: &Matrix) -> Matrix {
        match self {
            Metric::Diagonal(_) => {
                let mut out = Matrix::zeros(x.rows(), x.cols());
                (0..x.rows()).for_each(|i| self.map(x.row(i), out.row_mut(i)));
                out
            }
            Metric::Full(map) => super::linalg::project(x, map),
        }
    }

    /// As a transform of rows.
    pub fn transform(&self) -> Transform {
        match self {
            Metric::Diagonal(factor) => Transform::Diagonal { shift: Vec::new(), factor: factor.clone() },
            Metric::Full(map) => Transform::Linear { shift: Vec::new(), matrix: map.transposed() },
        }
    }

    /// The metric of a transform that [`transform`](Self::transform) made.
    pub fn of_transform(transform: &Transform) -> Option<Metric> {
        match transform {
            Transform::Diagonal { factor, .. } => Some(Metric::Diagonal(factor.clone())),
            Transform::Linear { matrix, .. } => Some(Metric::Full(matrix.transposed())),
            _ => None,
        }
    }

    /// As the shape of one cluster: ‖G(x − c)‖² − log det A.
    pub fn shape(&self) -> Shape {
        let map = match self {
            Metric::Full(map) => map.clone(),
            Metric::Diagonal(factor) => {
                let mut map = Matrix::zeros(factor.len(), factor.len());
                factor.iter().enumerate().for_each(|(j, &f)| map.row_mut(j)[j] = f);
                map
            }
        };
        Shape { map, offset: -self.log_det() }
    }
}
