//! Discriminative component analysis (Hoi, Liu, Lyu, Ma 2006): max over G of |G·C_b·Gᵀ| / |G·C_w·Gᵀ|, C_b the covariance
//! of differences between means of cannot-linked chunklets, C_w the mean covariance inside chunklets. Solved by
//! diagonalising both: Z whitens C_b on its range, then G = E^(−½)VᵀZ with E, V of Z·C_w·Zᵀ.
//! Departs from the paper: a row with a cannot-link but no must-link counts as a chunklet of one (`singletons`), C_w is
//! regularised (`reg`), `blend` mixes in the identity. Cost O((rows + cannot-linked chunklets)·dims² + dims³).

use super::{Evidence, Info, Learned, MetricLearner};
use crate::blocks::linalg::{gram_of_columns, project, symmetric_eigen};
use crate::blocks::metric::{add_to_diagonal, map_of, total_covariance, trace, whitening, within};
use crate::context::RunContext;
use crate::data::Matrix;
use crate::error::Result;

crate::params! {
    /// Parameters of `dca`.
    pub struct DcaParams {
        /// Share of the mean variance of the rows that is added to every variance inside chunklets.
        reg: f64 = 0.001, 0 => 1000;
        /// Directions to keep; 0 = all.
        dims: usize = 0, 0 => 4096;
        /// Let rows that have only cannot-links count as chunklets.
        singletons: bool = true;
        /// How much of the identity is mixed in; 0 can leave a space of few dimensions.
        blend: f64 = 0.0, 0 => 1;
    }
}

/// See the module.
pub struct Dca(DcaParams);

/// Differences of means that are multiplied at a time.
const BATCH: usize = 4096;

/// C_b of the cannot-linked chunklets; `None` without any.
fn between(evidence: &Evidence<'_>, singletons: bool) -> Option<Matrix> {
    let (x, chunklets) = (evidence.x, evidence.chunklets);
    let dims = x.cols();
    let mut means = Matrix::zeros(chunklets.len(), dims);
    for (row, &c) in x.iter().zip(chunklets.of_rows()) {
        let share = 1.0 / chunklets.members(c).len() as f64;
        means.row_mut(c as usize).iter_mut().zip(row).for_each(|(m, v)| *m += share * v);
    }
    let mut sum = Matrix::zeros(dims, dims);
    let (mut batch, mut edges) = (Vec::new(), 0.0);
    let mut flush = |batch: &mut Vec<f64>| {
        let gram = gram_of_columns(batch, dims);
        sum.values_mut().iter_mut().zip(gram.values()).for_each(|(s, g)| *s += g);
        batch.clear();
    };
    for (a, b) in chunklets.graph().edges() {
        if !singletons && (chunklets.members(a).len() == 1 || chunklets.members(b).len() == 1) {
            continue;
        }
        batch.extend(means.row(a as usize).iter().zip(means.row(b as usize)).map(|(x, y)| x - y));
        edges += 1.0;
        if batch.len() >= BATCH * dims {
            flush(&mut batch);
        }
    }
    flush(&mut batch);
    sum.values_mut().iter_mut().for_each(|v| *v /= edges);
    (edges > 0.0 && trace(&sum) > 0.0).then_some(sum)
}

/// C_w: the mean over chunklets of their covariances; `None` without a chunklet of two rows.
fn inside(evidence: &Evidence<'_>) -> Option<Matrix> {
    let found = within(evidence.x, evidence.chunklets.of_rows(), evidence.chunklets.len(), |rows| 1.0 / rows);
    let mut c = found.scatter;
    c.values_mut().iter_mut().for_each(|v| *v /= found.groups);
    (found.groups > 0.0).then_some(c)
}

impl MetricLearner for Dca {
    type Params = DcaParams;
    const INFO: Info = Info {
        name: "dca",
        summary: "directions in which cannot-linked chunklets differ, whitened by what varies inside chunklets",
        paper: "S. C. H. Hoi, W. Liu, M. R. Lyu, W.-Y. Ma, Learning distance metrics with contextual constraints for image retrieval, CVPR 2006",
        minimises: "|G·C_w·Gᵀ| / |G·C_b·Gᵀ|",
        constraints: "must-links through their chunklets, cannot-links between chunklets",
        cost: "O((n + cannot-linked chunklets)·dims² + dims³)",
        measured: "Used by the validation suite (docs/results), whose best column in the paper is on this distance; no \
                   other program was compared.",
    };

    fn new(params: DcaParams) -> Self {
        Dca(params)
    }

    fn learn(&self, _: &RunContext, evidence: &Evidence<'_>) -> Result<Learned> {
        let dims = evidence.x.cols();
        let (apart, together) = (between(evidence, self.0.singletons), inside(evidence));
        if apart.is_none() && together.is_none() {
            return Ok(Learned::nothing("dca", "must-links or cannot-links"));
        }
        let mut notes = Vec::new();
        let z = match &apart {
            Some(c) => whitening(c, 1e-9)?,
            None => Matrix::identity(dims),
        };
        let mut c_w = together.unwrap_or_else(|| Matrix::identity(dims));
        let mean_variance = trace(&total_covariance(evidence.x)) / dims as f64;
        add_to_diagonal(&mut c_w, self.0.reg * mean_variance);
        let (mut e, v) = symmetric_eigen(&project(&project(&z, &c_w), &z))?;
        let most = e.first().copied().unwrap_or(0.0);
        if !(most > 0.0) {
            e.fill(1.0);
        }
        let floored = e.iter().filter(|&&e| e < 1e-9 * most).count();
        if floored > 0 {
            notes.push(format!(
                "dca: {floored} directions do not vary inside chunklets; their variance was set to a floor"
            ));
        }
        // Smallest inner variance first: those directions separate best.
        let kept = if self.0.dims > 0 { self.0.dims.min(e.len()) } else { e.len() };
        let mut turn = Matrix::zeros(0, z.rows());
        for i in (0..e.len()).rev().take(kept) {
            let scale = e[i].max(1e-9 * most).sqrt().recip();
            turn.push(&v.row(i).iter().map(|v| v * scale).collect::<Vec<f64>>());
        }
        let mut map = project(&turn, &z.transposed());
        if self.0.blend > 0.0 {
            let mut m = gram_of_columns(map.values(), dims);
            let scale = (1.0 - self.0.blend) / trace(&m);
            m.values_mut().iter_mut().for_each(|v| *v *= scale);
            add_to_diagonal(&mut m, self.0.blend / dims as f64);
            map = map_of(&m)?;
        }
        Ok(Learned { notes, ..Learned::of_map(&map) })
    }
}
