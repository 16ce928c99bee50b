//! What a run leaves behind to label new rows: the transform and the centres. Rows go to the nearest centre.

use serde::{Deserialize, Serialize};

use crate::blocks::lloyd::assign_nearest;
use crate::context::RunContext;
use crate::data::{Dataset, Float, Matrix, Transform};
use crate::error::{Error, Result};

/// A fitted clustering, without the rows it was fitted on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Model {
    /// The method that made it.
    pub method: String,
    /// Number of clusters.
    pub k: usize,
    /// Names of the columns it was fitted on, in order.
    pub features: Vec<String>,
    /// What is done to rows first.
    pub transform: Transform,
    /// Centres in the transformed space.
    pub centres: Matrix,
}

impl Model {
    /// The cluster of every row.
    pub fn predict<F: Float>(&self, ctx: &RunContext, data: &Dataset<'_, F>) -> Result<Vec<u32>> {
        let check = |dims: usize| {
            if dims == self.centres.cols() {
                Ok(())
            } else {
                let expected = if self.features.is_empty() { self.centres.cols() } else { self.features.len() };
                Err(Error::Parameter(format!(
                    "the model was fitted on {expected} columns, the data have {}",
                    data.dims()
                )))
            }
        };
        if self.transform.is_identity() {
            check(data.dims())?;
            return Ok(assign_nearest(ctx, data, &self.centres));
        }
        let table = self.transform.apply(data)?;
        let transformed = table.view()?;
        check(transformed.dims())?;
        Ok(assign_nearest(ctx, &transformed, &self.centres))
    }
}
