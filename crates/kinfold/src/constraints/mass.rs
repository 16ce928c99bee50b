//! Chunklets as heavy points: weight w_A = Σ ω_i, centre X̄_A = Σ ω_i x_i / w_A, scatter s_A = Σ ω_i ‖x_i − X̄_A‖², so that
//! Σ_{i∈A} ω_i ‖x_i − μ‖² = s_A + w_A ‖X̄_A − μ‖² for any μ. Two passes, because Σ‖x‖² − w‖X̄‖² cancels. O(n·dims).

use super::Chunklets;
use crate::data::{Dataset, Float, Rows};

/// Weight, centre and scatter of some rows.
#[derive(Debug, Clone, PartialEq)]
pub struct Mass {
    /// Sum of the row weights.
    pub weight: f64,
    /// Weighted mean of the rows.
    pub centre: Vec<f64>,
    /// Weighted squared distances of the rows to the centre.
    pub scatter: f64,
}

impl Mass {
    /// The mass of these rows.
    pub fn of<F: Float>(data: &Dataset<F>, rows: &[u32]) -> Mass {
        let mut centre = vec![0.0; data.dims()];
        let mut weight = 0.0;
        for &row in rows {
            let w = data.weight(row as usize);
            weight += w;
            entries(data, row, |j, x| centre[j] += w * x);
        }
        centre.iter_mut().for_each(|c| *c /= weight);
        let squared: f64 = centre.iter().map(|c| c * c).sum();
        let mut scatter = 0.0;
        for &row in rows {
            // Zeros of a sparse row are the centre's own squares: start from all of them, replace the stored ones.
            let mut sum = if matches!(data.rows(), Rows::Sparse(_)) { squared } else { 0.0 };
            let sparse = sum;
            entries(data, row, |j, x| {
                let own = if sparse > 0.0 { centre[j] * centre[j] } else { 0.0 };
                sum += (x - centre[j]) * (x - centre[j]) - own;
            });
            scatter += data.weight(row as usize) * sum.max(0.0);
        }
        if rows.len() == 1 {
            scatter = 0.0;
        }
        Mass { weight, centre, scatter }
    }

    /// The mass of both together: s = s_A + s_B + (w_A w_B / w) ‖X̄_A − X̄_B‖².
    pub fn merged(&self, other: &Mass) -> Mass {
        let weight = self.weight + other.weight;
        let pairs = || self.centre.iter().zip(&other.centre);
        let apart: f64 = pairs().map(|(a, b)| (a - b) * (a - b)).sum();
        Mass {
            weight,
            centre: pairs().map(|(a, b)| (self.weight * a + other.weight * b) / weight).collect(),
            scatter: self.scatter + other.scatter + self.weight * other.weight / weight * apart,
        }
    }
}

fn entries<F: Float>(data: &Dataset<F>, row: u32, mut each: impl FnMut(usize, f64)) {
    match data.rows() {
        Rows::Dense(d) => d.row(row as usize).iter().enumerate().for_each(|(j, x)| each(j, x.to_f64())),
        Rows::Sparse(s) => {
            let (columns, values) = s.row(row as usize);
            columns.iter().zip(values).for_each(|(&j, x)| each(j as usize, x.to_f64()));
        }
    }
}

impl Chunklets {
    /// The mass of a chunklet.
    pub fn mass<F: Float>(&self, data: &Dataset<F>, chunklet: u32) -> Mass {
        Mass::of(data, self.members(chunklet))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn masses_match_the_worked_example_and_merge_to_the_same() {
        // spec §12.2
        let points = [0.0, 0.0, 2.0, 0.0, 1.0, 3.0];
        let data = Dataset::dense(&points, 2).unwrap();
        let all = Mass::of(&data, &[0, 1, 2]);
        assert_eq!(all, Mass { weight: 3.0, centre: vec![1.0, 1.0], scatter: 8.0 });
        let weights = [1.0, 1.0, 2.0];
        let weighted = data.with_weights(&weights).unwrap();
        let heavy = Mass::of(&weighted, &[0, 1, 2]);
        assert_eq!(heavy, Mass { weight: 4.0, centre: vec![1.0, 1.5], scatter: 11.0 });
        for d in [&data, &weighted] {
            let merged = Mass::of(d, &[0, 1]).merged(&Mass::of(d, &[2]));
            let whole = Mass::of(d, &[0, 1, 2]);
            assert!((merged.scatter - whole.scatter).abs() < 1e-12);
            assert!(merged.centre.iter().zip(&whole.centre).all(|(a, b)| (a - b).abs() < 1e-12));
        }
        let sparse =
            Dataset::sparse(&[0, 0, 1, 3], &[0, 0, 1], &[2.0, 1.0, 3.0], 2).unwrap().with_weights(&weights).unwrap();
        let mass = Mass::of(&sparse, &[0, 1, 2]);
        assert_eq!((mass.weight, &mass.centre), (heavy.weight, &heavy.centre));
        assert!((mass.scatter - 11.0).abs() < 1e-12);
    }
}
