//! Relevant component analysis (Bar-Hillel, Hertz, Shental, Weinshall 2003): M = C⁻¹, C the covariance of rows around the
//! mean of their chunklet, so that what varies inside chunklets counts little. Must-links only.
//! Departs from the paper: C is shrunk towards a multiple of I (`shrink`), and `dims` keeps the directions with the largest
//! ratio of total to inner variance, computed after whitening, which is the paper's Fisher projection followed by RCA.
//! Cost O(rows·dims² + dims³).

use super::{Evidence, Info, Learned, MetricLearner};
use crate::blocks::linalg::{project, symmetric_eigen};
use crate::blocks::metric::{add_to_diagonal, total_covariance, trace, whitening, within};
use crate::context::RunContext;
use crate::error::Result;

crate::params! {
    /// Parameters of `rca`.
    pub struct RcaParams {
        /// Share of the mean variance that is added to every variance, raised to 0.1 where chunklets are too few for the
        /// columns; 0 = none, and directions without inner variance are dropped.
        shrink: f64 = 0.001, 0 => 1000;
        /// Directions to keep; 0 = all.
        dims: usize = 0, 0 => 4096;
    }
}

/// See the module.
pub struct Rca(RcaParams);

impl MetricLearner for Rca {
    type Params = RcaParams;
    const INFO: Info = Info {
        name: "rca",
        summary: "whitens what varies inside chunklets",
        paper: "A. Bar-Hillel, T. Hertz, N. Shental, D. Weinshall, Learning distance functions using equivalence relations, ICML 2003",
        minimises: "log det C(M) with M = C⁻¹, C = (1/p) Σ_chunklets Σ (x − mean)(x − mean)ᵀ",
        constraints: "must-links, through their chunklets; cannot-links are not used",
        cost: "O(n·dims² + dims³)",
        measured: "Equal to metric-learn 0.7.0 on the same chunklets to 1e-10.",
    };

    fn new(params: RcaParams) -> Self {
        Rca(params)
    }

    fn learn(&self, _: &RunContext, evidence: &Evidence<'_>) -> Result<Learned> {
        let (x, chunklets) = (evidence.x, evidence.chunklets);
        let inside = within(x, chunklets.of_rows(), chunklets.len(), |_| 1.0);
        if inside.groups == 0.0 || trace(&inside.scatter) == 0.0 {
            return Ok(Learned::nothing("rca", "must-links between rows that differ"));
        }
        let freedom = inside.freedom();
        let mut c = inside.scatter;
        c.values_mut().iter_mut().for_each(|v| *v /= inside.rows);
        let mut notes = Vec::new();
        let mut share = self.0.shrink;
        if share > 0.0 && freedom < x.cols() as f64 {
            share = share.max(0.1);
            notes.push(format!(
                "rca: {freedom} independent differences inside chunklets are too few for {} columns, so the covariance \
                 was shrunk by {share}",
                x.cols()
            ));
        }
        let mean_variance = trace(&c) / x.cols() as f64;
        add_to_diagonal(&mut c, share * mean_variance);
        let mut map = whitening(&c, 1e-9)?;
        if self.0.dims > 0 && self.0.dims < map.rows() {
            let total = total_covariance(&project(x, &map));
            let (_, directions) = symmetric_eigen(&total)?;
            let mut kept = crate::data::Matrix::zeros(0, map.rows());
            (0..self.0.dims).for_each(|i| kept.push(directions.row(i)));
            map = project(&kept, &map.transposed());
        }
        Ok(Learned { notes, ..Learned::of_map(&map) })
    }
}
