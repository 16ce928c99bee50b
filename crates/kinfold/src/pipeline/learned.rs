//! Distances learned from constraints, by name, for judging clusterings: DCA (Hoi et al. 2006) and RCA (Bar-Hillel et al.
//! 2005). Only constraints enter, never a clustering.

use crate::blocks::discriminant::discriminant;
use crate::blocks::metric::{Shrinkage, whitened};
use crate::constraints::Chunklets;
use crate::data::{Dataset, Float, Matrix, Rows, Transform};
use crate::error::{Error, Result};
use crate::methods::closest;

/// Columns up to which a distance is learned.
const MOST_COLUMNS: usize = 1_000;
/// Ridge of DCA, in units of the mean variance of a column.
const RIDGE: f64 = 1e-3;
/// The names.
const NAMES: [&str; 2] = ["dca", "rca"];

/// What came of learning a distance.
#[derive(Debug, Clone, PartialEq)]
pub enum Learned {
    /// Euclidean distance after this transform.
    Transform(Transform),
    /// Nothing, because of this.
    Not(String),
}

/// The learned distance of that name.
pub fn learned<F: Float>(name: &str, data: &Dataset<'_, F>, chunklets: &Chunklets) -> Result<Learned> {
    if !NAMES.contains(&name) {
        let hint = closest(name, NAMES.into_iter()).map(str::to_owned);
        return Err(Error::NoSuchName { family: "metric", name: name.to_owned(), hint });
    }
    let Rows::Dense(rows) = data.rows() else { return Ok(Learned::Not("the rows are sparse".to_owned())) };
    if data.dims() > MOST_COLUMNS {
        return Ok(Learned::Not(format!("there are more than {MOST_COLUMNS} columns")));
    }
    let x = Matrix::from_vec(data.dims(), rows.values().iter().map(|v| v.to_f64()).collect());
    let matrix = if name == "dca" {
        discriminant(&x, chunklets, RIDGE)?
    } else {
        let any = chunklets.len() < chunklets.n();
        let map = any.then(|| whitened(&x, chunklets.of_rows(), chunklets.len(), Shrinkage::RowsPerColumn(1.0)));
        map.transpose()?.map(|(_, map)| map.transposed())
    };
    Ok(match matrix {
        Some(matrix) => Learned::Transform(Transform::Linear { shift: Vec::new(), matrix }),
        None => Learned::Not("the constraints say too little".to_owned()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::context::RunContext;
    use crate::indices::{Internal, Sampling, score_rows};

    #[test]
    fn indices_on_the_learned_distance_are_those_of_the_worked_example() {
        // spec/validation.md, test 10.
        let x = [0.0, 0.0, 1.0, 2.0, 4.0, 0.0, 5.0, 2.0];
        let data = Dataset::dense(&x, 2).unwrap();
        let chunklets = Chunklets::from_groups(&[0, 0, 2, 2], &[(0, 2)]);
        let Learned::Transform(transform) = learned("dca", &data, &chunklets).unwrap() else { panic!() };
        let table = transform.apply(&data).unwrap();
        let space = table.view().unwrap();
        let which = [Internal::Silhouette, Internal::NormalisedHubert];
        let labels: [&[u32]; 2] = [&[0, 0, 1, 1], &[0, 1, 0, 1]];
        let score = |data: &Dataset<'_, f64>| {
            let all = score_rows(&RunContext::new(0), data, &labels, &which, Sampling::Exact);
            all.values.concat().iter().map(|v| v.unwrap().value).collect::<Vec<f64>>()
        };
        let close = |found: Vec<f64>, expected: [f64; 4]| {
            assert!(found.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-6), "{found:?}");
        };
        close(score(&data), [0.467740, 0.864201, -0.158572, -0.272494]);
        close(score(&space), [0.746032, 0.925820, -0.375, -0.462910]);
    }

    #[test]
    fn a_name_that_is_none_is_told_with_the_closest() {
        let data = Dataset::dense(&[0.0, 1.0], 1).unwrap();
        let e = learned("dcaa", &data, &Chunklets::singletons(2)).unwrap_err();
        assert!(e.to_string().contains("did you mean 'dca'"), "{e}");
    }
}
