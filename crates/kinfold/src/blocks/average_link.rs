//! Constrained average link (Duarte, Fred, Duarte 2013, eq. 2): UPGMA on D'_ij = D_ij − p·[must-link] + p·[cannot-link],
//! which is what their penalty inside the double sum amounts to. The whole dendrogram, to be cut at any k.
//! `hard`: must-links are contracted first and clusters with a cannot-link between them merge only when no others are left.

use super::dendrogram::{Dendrogram, Triangle, average_link};
use super::kernel::Pairwise;
use super::signed::signed_pairs;
use crate::constraints::{Chunklets, ConstraintSet};
use crate::context::RunContext;
use crate::data::{Dataset, Float};

crate::choice! {
    /// How far apart two rows are.
    pub enum Distance {
        /// ‖x − y‖.
        Euclidean = "euclidean",
        /// ‖x − y‖².
        Squared = "squared",
        /// 1 − the cosine of the angle.
        Cosine = "cosine",
    }
}

/// How constraints enter.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Linkage {
    /// Distance of two rows.
    pub distance: Distance,
    /// p, in units of the largest distance.
    pub penalty: f64,
    /// Must-links first, cannot-links last.
    pub hard: bool,
}

impl Linkage {
    /// Bytes needed for n rows.
    pub fn memory(&self, n: usize) -> u64 {
        Triangle::memory(n).saturating_mul(if self.hard { 2 } else { 1 })
    }
}

/// Distances of all rows.
fn distances<F: Float>(ctx: &RunContext, data: &Dataset<'_, F>, distance: Distance) -> Triangle {
    let rows = Pairwise::new(data, distance != Distance::Cosine);
    let length = |i: usize| if rows.norm2(i) > 0.0 { rows.norm2(i).sqrt() } else { 1.0 };
    Triangle::of_rows(ctx, &rows, |i, j, value| match distance {
        Distance::Euclidean => value.sqrt(),
        Distance::Squared => value,
        Distance::Cosine => (1.0 - value / (length(i) * length(j))).max(0.0),
    })
}

/// The dendrogram of all rows.
pub fn constrained_average_link<F: Float>(
    ctx: &RunContext,
    data: &Dataset<'_, F>,
    given: &ConstraintSet,
    chunklets: &Chunklets,
    linkage: Linkage,
) -> Dendrogram {
    let mut d = distances(ctx, data, linkage.distance);
    let weights: Vec<f64> = (0..data.n()).map(|i| data.weight(i)).collect();
    let largest = d.largest();
    if !linkage.hard {
        let p = linkage.penalty * largest;
        for (a, b, belief) in signed_pairs(given) {
            *d.get_mut(a as usize, b as usize) -= p * belief;
        }
        return average_link(ctx, d, &weights);
    }
    let m = chunklets.len();
    let mut d = d.contracted(chunklets.of_rows(), m, &weights);
    let of_chunklet = |c: u32| chunklets.members(c).iter().map(|&row| weights[row as usize]).sum::<f64>();
    let totals: Vec<f64> = (0..m as u32).map(of_chunklet).collect();
    // A single cannot-link between clusters of any weight must outweigh every distance after averaging.
    let (all, lightest) = (totals.iter().sum::<f64>(), totals.iter().copied().fold(f64::INFINITY, f64::min));
    let apart = 10.0 * (1.0 + largest) * (all / lightest).powi(2);
    for (a, b) in chunklets.graph().edges() {
        *d.get_mut(a as usize, b as usize) += apart;
    }
    let tree = average_link(ctx, d, &totals);
    let first = |c: u32| chunklets.members(c)[0];
    tree.refined(data.n(), chunklets.of_rows(), first)
}
