//! What a run leaves behind to label new rows: the transform and the centres. Rows go to the nearest centre,
//! each measured by the shape of its cluster where clusters have shapes.

use serde::{Deserialize, Serialize};

use crate::blocks::lloyd::{assign_nearest, cheapest};
use crate::context::RunContext;
use crate::data::{Dataset, Float, Matrix, Shape, Transform};
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
    /// The shape of every cluster there; empty = plain distances.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub shapes: Vec<Shape>,
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
            return Ok(self.nearest(ctx, data));
        }
        let table = self.transform.apply(data)?;
        let transformed = table.view()?;
        check(transformed.dims())?;
        Ok(self.nearest(ctx, &transformed))
    }

    fn nearest<F: Float>(&self, ctx: &RunContext, data: &Dataset<'_, F>) -> Vec<u32> {
        if self.shapes.is_empty() {
            return assign_nearest(ctx, data, &self.centres);
        }
        let mut labels = vec![0u32; data.n()];
        ctx.pool.map_chunks_mut(&mut labels, 1024, |start, labels| {
            let mut difference = vec![0.0; self.centres.cols()];
            let mut costs = vec![0.0; self.shapes.len()];
            for (i, label) in labels.iter_mut().enumerate() {
                for ((cost, shape), centre) in costs.iter_mut().zip(&self.shapes).zip(self.centres.iter()) {
                    difference.iter_mut().zip(centre).for_each(|(d, c)| *d = -c);
                    data.add_row(start + i, 1.0, &mut difference);
                    *cost = shape.distance(&difference);
                }
                *label = cheapest(&costs);
            }
        });
        labels
    }
}
