//! Gaussian mixtures by EM over the labellings that keep every constraint (Shental, Bar-Hillel, Hertz, Weinshall 2003):
//! p(X, Y) ∝ Π_chunklets π(y_c) Π_{i∈c} N(x_i | y_c) · Π_cannot-links [y_c ≠ y_c']. Must-links are exact (a chunklet has one
//! source, π counts chunklets); marginals under cannot-links are exact for components of small width, by damped belief
//! propagation beyond (`marginals`). Labels are the most probable ones that keep every constraint, by exact assignment.
//! Per iteration: the densities of EM plus O(cannot-links·k) per round of propagation.

use super::assign::Assigner;
use super::marginals::{Network, to_shares};
use super::mixture::{Expect, Fitted, Maximiser, Settings, em};
use crate::constraints::{Chunklets, Graph};
use crate::context::RunContext;
use crate::data::{Dataset, Float};
use crate::error::{Error, Result};

/// Cannot-links × k that are many.
const MANY: usize = 5_000;

/// The constraints, prepared for many fits.
pub struct Constrained<'a> {
    chunklets: &'a Chunklets,
    k: usize,
    network: Network,
    /// Mean row weight of every chunklet.
    omega: Vec<f64>,
    by_rows: bool,
    /// Do cannot-links bind posteriors? If not, they bind the labels alone.
    posteriors: bool,
}

/// One fit.
pub struct Start {
    /// The mixture.
    pub fitted: Fitted,
    /// log π + Σ log N, chunklets × k.
    log_phi: Vec<f64>,
    /// Groups of cannot-linked chunklets whose marginals are not exact, and those among them that did not settle.
    pub approximate: usize,
    /// See above.
    pub unsettled: usize,
}

impl<'a> Constrained<'a> {
    /// `by_rows`: π counts rows instead of chunklets.
    pub fn new<F: Float>(data: &Dataset<'_, F>, chunklets: &'a Chunklets, k: usize, by_rows: bool) -> Constrained<'a> {
        Constrained::bound(data, chunklets, k, by_rows, true)
    }

    /// Where very many cannot-links bind the labels alone: posteriors that keep them cost too much.
    pub fn quick<F: Float>(data: &Dataset<'_, F>, chunklets: &'a Chunklets, k: usize) -> Constrained<'a> {
        Constrained::bound(data, chunklets, k, false, chunklets.graph().edge_count() * k <= MANY)
    }

    fn bound<F: Float>(
        data: &Dataset<'_, F>,
        chunklets: &'a Chunklets,
        k: usize,
        by_rows: bool,
        posteriors: bool,
    ) -> Constrained<'a> {
        let mean_weight = |c: u32| {
            let members = chunklets.members(c);
            members.iter().map(|&i| data.weight(i as usize)).sum::<f64>() / members.len() as f64
        };
        let omega = (0..chunklets.len() as u32).map(mean_weight).collect();
        let network = if posteriors {
            Network::new(chunklets.graph(), k)
        } else {
            Network::new(&Graph::new(chunklets.len(), std::iter::empty()), k)
        };
        Constrained { chunklets, k, network, omega, by_rows, posteriors }
    }

    /// EM from a labelling of the rows.
    pub fn fit<F: Float>(
        &self,
        ctx: &RunContext,
        maximiser: &Maximiser<'_, F>,
        start: &[u32],
        settings: &Settings,
    ) -> Start {
        let mut bound = Bound { by: self, log_phi: Vec::new(), messages: Vec::new(), approximate: 0, unsettled: 0 };
        let fitted = em(ctx, maximiser, start, settings, &mut bound);
        let Bound { log_phi, approximate, unsettled, .. } = bound;
        Start { fitted, log_phi, approximate, unsettled }
    }

    /// The most probable labels of the chunklets that keep every cannot-link, `previous` being some that do; true when
    /// they are proven to be the most probable. `quick`: without a proof where that takes long.
    pub fn labels(&self, ctx: &RunContext, fit: &Start, previous: &[u32], quick: bool) -> Result<(Vec<u32>, bool)> {
        let costs: Vec<f64> = fit.log_phi.iter().map(|v| -v).collect();
        let mut labels = vec![0u32; self.chunklets.len()];
        let thorough = Assigner::new(self.chunklets.graph(), self.k);
        let mut assigner = if quick { thorough.quick() } else { thorough };
        let assigned = assigner
            .assign(ctx, &costs, Some(previous), &mut labels)
            .map_err(|stuck| Error::DeadEnd(stuck.to_string()))?;
        Ok((labels, assigned.exact))
    }
}

/// The E step over chunklets.
struct Bound<'a> {
    by: &'a Constrained<'a>,
    /// log π + Σ log N of the last step, chunklets × k.
    log_phi: Vec<f64>,
    /// What belief propagation starts from.
    messages: Vec<Vec<f64>>,
    approximate: usize,
    unsettled: usize,
}

impl Expect for Bound<'_> {
    fn expect(&mut self, ctx: &RunContext, log_weights: &[f64], densities: &[f64], posteriors: &mut [f64]) -> f64 {
        let (k, m) = (log_weights.len(), self.by.chunklets.len());
        let mut log_phi = vec![0.0; m * k];
        ctx.pool.map_chunks_mut(&mut log_phi, 256 * k, |start, slice| {
            for (c, row) in (start / k..).zip(slice.chunks_exact_mut(k)) {
                row.copy_from_slice(log_weights);
                for &i in self.by.chunklets.members(c as u32) {
                    let dens = &densities[i as usize * k..(i as usize + 1) * k];
                    row.iter_mut().zip(dens).for_each(|(r, d)| *r += d);
                }
                // A dropped component stays possible where constraints leave nothing else.
                let top = row.iter().copied().fold(f64::NEG_INFINITY, f64::max);
                row.iter_mut().for_each(|r| *r = r.max(top - 690.0));
            }
        });
        let mut shares = log_phi.clone();
        let mut likelihood = 0.0;
        for (c, row) in shares.chunks_exact_mut(k).enumerate() {
            let log_z = to_shares(row);
            if !self.by.posteriors || self.by.chunklets.graph().degree(c as u32) == 0 {
                likelihood += self.by.omega[c] * log_z;
            }
        }
        let found = self.by.network.infer(ctx, &log_phi, &mut self.messages, &mut shares, |units, log_z| {
            let mean = units.iter().map(|&c| self.by.omega[c as usize]).sum::<f64>() / units.len() as f64;
            likelihood += mean * log_z;
        });
        (self.approximate, self.unsettled) = (found.approximate, found.unsettled);
        for c in 0..m {
            for &i in self.by.chunklets.members(c as u32) {
                posteriors[i as usize * k..(i as usize + 1) * k].copy_from_slice(&shares[c * k..(c + 1) * k]);
            }
        }
        self.log_phi = log_phi;
        likelihood
    }

    fn mixing(&self, posteriors: &[f64], k: usize) -> Option<Vec<f64>> {
        if self.by.by_rows {
            return None;
        }
        let mut sums = vec![0.0; k];
        for (c, omega) in self.by.omega.iter().enumerate() {
            let row = self.by.chunklets.members(c as u32)[0] as usize;
            sums.iter_mut().zip(&posteriors[row * k..(row + 1) * k]).for_each(|(s, p)| *s += omega * p);
        }
        let total: f64 = sums.iter().sum();
        sums.iter_mut().for_each(|s| *s /= total);
        Some(sums)
    }
}
