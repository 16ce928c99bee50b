//! Clusters that measure distance each in its own way.

use serde::{Deserialize, Serialize};

use super::Matrix;

/// The distance of one cluster: ‖map·(x − centre)‖² + offset. A Gaussian of covariance Σ and share π has
/// map = Σ^(−½) and offset = log det Σ − 2·log π.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Shape {
    /// Directions as rows.
    pub map: Matrix,
    /// What is added.
    pub offset: f64,
}

impl Shape {
    /// The distance of a difference x − centre.
    pub fn distance(&self, difference: &[f64]) -> f64 {
        let square = |row: &[f64]| row.iter().zip(difference).map(|(a, b)| a * b).sum::<f64>().powi(2);
        self.map.iter().map(square).sum::<f64>() + self.offset
    }
}
