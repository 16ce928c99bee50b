//! What DistBoost and KernelBoost share (Hertz, Bar-Hillel, Weinshall 2004, 2006): weights over the given pairs and, as one
//! number, over all other pairs; row weights from them; and the weak learner, a Gaussian mixture fitted to the weighted rows
//! in which a random part of the must-links, drawn by weight, tie rows to one source. Row weights take O(constraints) per
//! round because the pairs that nobody spoke of all weigh the same: w_i = Σ_{given pairs at i} W + Wu·(n − 1 − degree_i).
//! A mixture costs O(n·k·dims) to O(n·k·dims²) per step of EM.

use super::ckm::Links;
use super::lloyd::{Limits, Nearest, lloyd};
use super::mixture::{Covariance, Expect, Maximiser, Settings, em};
use super::seeding::Init;
use super::units::Units;
use crate::constraints::{Chunklets, ConstraintSet, Kind};
use crate::context::RunContext;
use crate::data::{Dataset, Float};
use crate::error::Result;
use crate::rng::Rng;

/// Pairs of rows with weights that sum to one together with those of all other pairs.
#[derive(Debug, Clone)]
pub struct Pairs {
    n: usize,
    /// Rows a and b; must they be together?
    pub links: Vec<(u32, u32, bool)>,
    /// W of each.
    pub weights: Vec<f64>,
    /// W of every other pair.
    pub others: f64,
    degrees: Vec<u32>,
}

impl Pairs {
    /// The given constraints hold `mass` of all weight.
    pub fn new(links: &Links, n: usize, mass: f64) -> Pairs {
        let list: Vec<(u32, u32, bool)> = (0..links.len()).map(|s| links.pair(s)).collect();
        let mut degrees = vec![0u32; n];
        list.iter().for_each(|l| [l.0, l.1].iter().for_each(|&i| degrees[i as usize] += 1));
        let rest = (n as f64 * (n as f64 - 1.0) / 2.0 - list.len() as f64).max(0.0);
        let mass = if rest > 0.0 { mass } else { 1.0 };
        let weights = links.shares().iter().map(|s| s * mass).collect();
        let others = if rest > 0.0 { (1.0 - mass) / rest } else { 0.0 };
        Pairs { n, links: list, weights, others, degrees }
    }

    /// Shares of the given pairs among themselves.
    pub fn shares(&self) -> Vec<f64> {
        let total: f64 = self.weights.iter().sum();
        self.weights.iter().map(|w| w / total).collect()
    }

    /// W ·= exp(−α·margin) for the given pairs, exp(−α) for the others; then Σ = 1 again.
    pub fn reweigh(&mut self, alpha: f64, margins: &[f64]) {
        self.weights.iter_mut().zip(margins).for_each(|(w, m)| *w *= (-alpha * m).exp());
        self.others *= (-alpha).exp();
        let rest = (self.n as f64 * (self.n as f64 - 1.0) / 2.0 - self.links.len() as f64).max(0.0);
        let total = self.weights.iter().sum::<f64>() + rest * self.others;
        self.weights.iter_mut().for_each(|w| *w /= total);
        self.others /= total;
    }

    /// The weight of every row: that of all pairs it is in; their mean is one. A few rows must not take everything: below
    /// `least` effective rows a tenth is spread over all.
    pub fn rows(&self, least: f64) -> Vec<f64> {
        let mut rows: Vec<f64> =
            self.degrees.iter().map(|&d| self.others * (self.n as f64 - 1.0 - f64::from(d)).max(0.0)).collect();
        for (l, w) in self.links.iter().zip(&self.weights) {
            rows[l.0 as usize] += w;
            rows[l.1 as usize] += w;
        }
        let scale = self.n as f64 / rows.iter().sum::<f64>();
        rows.iter_mut().for_each(|w| *w *= scale);
        let squares: f64 = rows.iter().map(|w| w * w).sum();
        let few = (self.n as f64).powi(2) / squares < least;
        // Weights must stay above zero.
        let share = if few { 0.1 } else { 1e-9 };
        rows.iter_mut().for_each(|w| *w = (1.0 - share) * *w + share);
        rows
    }

    /// Chunklets of a random part of the must-links, each drawn with probability `share` times its weight over the mean.
    pub fn draw(&self, share: f64, rng: &mut Rng) -> Result<Chunklets> {
        let ties = || self.links.iter().zip(&self.weights).filter(|(l, _)| l.2);
        let (count, total) = (ties().count() as f64, ties().map(|t| t.1).sum::<f64>());
        let mut drawn = ConstraintSet::new(self.n);
        for (l, w) in ties() {
            if rng.unit() < share * count * w / total {
                drawn.add_pair(Kind::MustLink, l.0 as usize, l.1 as usize)?;
            }
        }
        drawn.close()
    }
}

/// Rows of a chunklet have one source: posterior ∝ π_l Π_{i∈c} N(x_i | l).
struct Tied<'a>(&'a Chunklets);

impl Expect for Tied<'_> {
    fn expect(&mut self, _: &RunContext, log_weights: &[f64], densities: &[f64], posteriors: &mut [f64]) -> f64 {
        let k = log_weights.len();
        let mut shares = vec![0.0; k];
        let mut likelihood = 0.0;
        for c in 0..self.0.len() as u32 {
            shares.copy_from_slice(log_weights);
            for &i in self.0.members(c) {
                shares.iter_mut().zip(&densities[i as usize * k..]).for_each(|(s, d)| *s += d);
            }
            likelihood += super::marginals::to_shares(&mut shares);
            for &i in self.0.members(c) {
                posteriors[i as usize * k..(i as usize + 1) * k].copy_from_slice(&shares);
            }
        }
        likelihood
    }
}

/// Posteriors (n × components) of a mixture fitted to rows that weigh `weights`, with these chunklets tied.
pub fn weak_mixture<F: Float>(
    ctx: &RunContext,
    data: &Dataset<'_, F>,
    weights: &[f64],
    tied: &Chunklets,
    components: usize,
    rng: &mut Rng,
) -> Result<Vec<f64>> {
    let total: Vec<f64> = weights.iter().enumerate().map(|(i, w)| w * data.weight(i)).collect();
    let weighted = data.with_weights(&total)?;
    let units = Units::new(&weighted, tied);
    let centres = Init::KmeansPlusPlus.draw(&ctx.pool, &units, components, rng);
    let start = lloyd(ctx, &units, centres, Limits { max_iter: 5, tolerance: 0.0 }, &mut Nearest)?;
    let (sum, squares) = total.iter().fold((0.0, 0.0), |(s, q), w| (s + w, q + w * w));
    let enough = sum * sum / squares >= 10.0 * (components * data.dims()) as f64;
    let settings = Settings {
        covariance: if enough && !data.is_sparse() { Covariance::Full } else { Covariance::Diagonal },
        reg: 1e-3,
        shrink: true,
        max_iter: 30,
        tolerance: 1e-4,
    };
    let maximiser = Maximiser::new(&weighted, components, &settings);
    Ok(em(ctx, &maximiser, &start.labels, &settings, &mut Tied(tied)).posteriors)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pairs(n: usize) -> Pairs {
        let mut given = ConstraintSet::new(n);
        given.add_pair(Kind::MustLink, 0, 1).unwrap();
        given.add_pair(Kind::CannotLink, 1, 4).unwrap();
        given.add_pair(Kind::MustLink, 2, 3).unwrap();
        Pairs::new(&Links::of_rows("test", &given).unwrap(), n, 0.5)
    }

    #[test]
    fn row_weights_are_those_of_summing_over_all_pairs() {
        // spec/boosting.md §1, test 2.
        let mut p = pairs(6);
        for margins in [[0.3, -0.5, 1.0], [-0.2, 0.9, 0.1]] {
            p.reweigh(0.7, &margins);
            let mut expected = [0.0; 6];
            let mut total = 0.0;
            for i in 0..6u32 {
                for j in i + 1..6 {
                    let given = p.links.iter().position(|l| (l.0.min(l.1), l.0.max(l.1)) == (i, j));
                    let w = given.map_or(p.others, |s| p.weights[s]);
                    expected[i as usize] += w;
                    expected[j as usize] += w;
                    total += w;
                }
            }
            assert!((total - 1.0).abs() < 1e-12);
            let rows = p.rows(0.0);
            assert!(rows.iter().zip(expected).all(|(r, e)| (r - e * 3.0).abs() < 1e-8), "{rows:?} {expected:?}");
        }
    }

    #[test]
    fn all_must_links_are_drawn_when_their_share_is_unbounded_and_none_when_it_is_zero() {
        let p = pairs(6);
        let mut rng = Rng::stream(0, "test", 0);
        assert_eq!(p.draw(f64::INFINITY, &mut rng).unwrap().len(), 4);
        assert_eq!(p.draw(0.0, &mut rng).unwrap().len(), 6);
    }

    #[test]
    fn tied_rows_have_one_posterior_and_it_is_the_product() {
        // spec/probabilistic.md §2, test 1.
        let tied = Chunklets::from_groups(&[0, 0, 2], &[]);
        let densities: Vec<f64> = [0.9f64, 0.1, 0.8, 0.2, 0.5, 0.5].iter().map(|d| d.ln()).collect();
        let mut posteriors = vec![0.0; 6];
        let ctx = RunContext::new(0).with_threads(1);
        Tied(&tied).expect(&ctx, &[0.5f64.ln(), 0.5f64.ln()], &densities, &mut posteriors);
        for (p, e) in posteriors.iter().zip([36.0 / 37.0, 1.0 / 37.0, 36.0 / 37.0, 1.0 / 37.0, 0.5, 0.5]) {
            assert!((p - e).abs() < 1e-12);
        }
    }
}
