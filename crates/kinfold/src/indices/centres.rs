//! Scores by cluster means: simplified silhouette (Hruschka et al. 2004), Calinski & Harabasz (1974), Davies & Bouldin
//! (1979). Cost O(n·k·dims), no distances between rows.

use super::internal::Partition;
use crate::blocks::means::means;
use crate::context::RunContext;
use crate::data::{Dataset, Float, Matrix};

/// Rows of one task.
const CHUNK: usize = 1_024;

/// A clustering seen from its means.
pub(super) struct Around {
    n: usize,
    centres: Matrix,
    weights: Vec<f64>,
    /// Σ ω‖x − its mean‖².
    inner: f64,
    /// Σ over clusters of weight·‖mean − overall mean‖².
    outer: f64,
    /// Mean distance of the rows of each cluster to its mean.
    spread: Vec<f64>,
    /// Mean simplified width.
    width: f64,
}

impl Around {
    pub(super) fn new<F: Float>(ctx: &RunContext, data: &Dataset<'_, F>, partition: &Partition) -> Around {
        let (n, k) = (data.n(), partition.k);
        let (centres, weights) = means(data, &partition.labels, k);
        let all: f64 = weights.iter().sum();
        let mut overall = vec![0.0; data.dims()];
        for (centre, w) in centres.iter().zip(&weights) {
            overall.iter_mut().zip(centre).for_each(|(o, c)| *o += w / all * c);
        }
        let squared = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(x, y)| (x - y) * (x - y)).sum::<f64>();
        let outer = centres.iter().zip(&weights).map(|(c, w)| w * squared(c, &overall)).sum();
        let parts = ctx.pool.map_chunks(n, CHUNK, |rows| {
            let (mut inner, mut width, mut spread) = (0.0, 0.0, vec![0.0; k]);
            for i in rows {
                let (own, w) = (partition.labels[i] as usize, data.weight(i));
                let a2 = data.distance2(i, centres.row(own));
                let other = |c: usize| if c == own { f64::INFINITY } else { data.distance2(i, centres.row(c)) };
                let b = (0..k).map(other).fold(f64::INFINITY, f64::min).sqrt();
                let a = a2.sqrt();
                inner += w * a2;
                spread[own] += w * a;
                if partition.counts[own] > 1 && a.max(b) > 0.0 && b.is_finite() {
                    width += w * (b - a) / a.max(b);
                }
            }
            (inner, width, spread)
        });
        let (mut inner, mut width, mut spread) = (0.0, 0.0, vec![0.0; k]);
        for part in parts {
            inner += part.0;
            width += part.1;
            spread.iter_mut().zip(part.2).for_each(|(s, p)| *s += p);
        }
        spread.iter_mut().zip(&weights).for_each(|(s, w)| *s /= w);
        Around { n, centres, weights, inner, outer, spread, width: width / all }
    }

    /// (b′ − a′)/max with distances to means; a row alone in its cluster has width 0.
    pub(super) fn simplified_silhouette(&self) -> Option<f64> {
        (self.weights.len() > 1).then_some(self.width)
    }

    /// [outer/(k − 1)] / [inner/(n − k)]; infinite when nothing is spread inside, undefined for k = 1 and k = n.
    pub(super) fn calinski_harabasz(&self) -> Option<f64> {
        let k = self.weights.len();
        if k < 2 || k >= self.n {
            return None;
        }
        let all: f64 = self.weights.iter().sum();
        // Rounding of the means leaves about this much of a spread that is not there.
        if self.inner <= 1e-24 * (self.inner + self.outer) {
            return if self.outer > 0.0 { Some(f64::INFINITY) } else { None };
        }
        Some(self.outer / (k as f64 - 1.0) / (self.inner / (all - k as f64)))
    }

    /// Mean over clusters of max over others of (spread + spread) / distance of means; infinite where means coincide.
    pub(super) fn davies_bouldin(&self) -> Option<f64> {
        let k = self.weights.len();
        if k < 2 {
            return None;
        }
        let worst = |c: usize| {
            let ratio = |other: usize| {
                let pair = self.centres.row(c).iter().zip(self.centres.row(other));
                let distance = pair.map(|(x, y)| (x - y) * (x - y)).sum::<f64>().sqrt();
                if distance > 0.0 { (self.spread[c] + self.spread[other]) / distance } else { f64::INFINITY }
            };
            (0..k).filter(|&o| o != c).map(ratio).fold(0.0, f64::max)
        };
        Some((0..k).map(worst).sum::<f64>() / k as f64)
    }
}
