//! Answers from known classes, as pairs: a protocol of [`generate`](super::generate), an amount in words, some flipped.

use super::{ConstraintSet, generate};
use crate::error::{Error, Result};
use crate::rng::Rng;

crate::choice! {
    /// How the pairs that are asked are chosen.
    pub enum Protocol {
        /// Pairs drawn uniformly.
        Pairs = "pairs",
        /// Half must-links, half cannot-links.
        Balanced = "balanced",
        /// Labels of rows drawn uniformly.
        Labels = "labels",
        /// Disjoint must-link and cannot-link sets.
        Sets = "sets",
    }
}

/// What to ask.
#[derive(Debug, Clone, PartialEq)]
pub struct Simulate {
    /// How pairs are chosen.
    pub protocol: Protocol,
    /// How much: `5%` (of all pairs; of the rows for labels), `n/2` (a share of the rows) or `200`.
    pub amount: String,
    /// Share of the answers to flip.
    pub noise: f64,
    /// Members of each set, for [`Protocol::Sets`].
    pub set_size: usize,
}

impl Default for Simulate {
    fn default() -> Self {
        Simulate { protocol: Protocol::Pairs, amount: "n/2".into(), noise: 0.0, set_size: 3 }
    }
}

/// What was answered.
#[derive(Debug, Clone)]
pub struct Simulated {
    /// Hard pairs.
    pub pairs: ConstraintSet,
    /// How many of them are wrong on purpose.
    pub flipped: usize,
    /// Why there are fewer than asked for.
    pub short: Option<String>,
}

impl Simulate {
    /// Answers about the rows of these classes.
    pub fn run(&self, truth: &[u32], rng: &mut Rng) -> Result<Simulated> {
        if !(0.0..=1.0).contains(&self.noise) {
            return Err(Error::Parameter(format!("noise {} is not a share from 0 to 1", self.noise)));
        }
        let amount = amount(&self.amount, self.protocol, truth.len())?;
        let made = match self.protocol {
            Protocol::Pairs => generate::pairs(truth, amount, rng)?,
            Protocol::Balanced => generate::balanced(truth, amount, false, rng)?,
            Protocol::Labels => generate::labels(truth, amount, rng)?,
            Protocol::Sets => {
                let classes = truth.iter().max().map_or(0, |m| *m as usize + 1);
                generate::disjoint_sets(truth, self.set_size, self.set_size.min(classes), amount, rng)?
            }
        };
        let mut pairs = ConstraintSet::new(truth.len());
        for p in made.constraints.expanded() {
            pairs.add_pair(p.kind, p.a as usize, p.b as usize)?;
        }
        let flipped = (self.noise * pairs.pairs().len() as f64).round() as usize;
        let pairs = if flipped > 0 { generate::noisy(&pairs, flipped, rng)? } else { pairs };
        Ok(Simulated { pairs, flipped, short: made.short })
    }
}

/// 5% · n/2 · n · 200.
fn amount(text: &str, protocol: Protocol, n: usize) -> Result<usize> {
    let wrong = || Error::Parameter(format!("amount '{text}' is not of the form 5%, n/2, n or 200"));
    let whole = if protocol == Protocol::Labels { n as f64 } else { n as f64 * (n as f64 - 1.0) / 2.0 };
    if let Some(percent) = text.strip_suffix('%') {
        let p: f64 = percent.trim().parse().map_err(|_| wrong())?;
        return if (0.0..=100.0).contains(&p) { Ok((p / 100.0 * whole + 1e-9) as usize) } else { Err(wrong()) };
    }
    if let Some(rest) = text.strip_prefix('n') {
        let divisor: f64 = if rest.is_empty() {
            1.0
        } else {
            rest.strip_prefix('/').ok_or_else(wrong)?.parse().map_err(|_| wrong())?
        };
        return if divisor > 0.0 { Ok((n as f64 / divisor) as usize) } else { Err(wrong()) };
    }
    text.parse().map_err(|_| wrong())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_read_as_shares_of_pairs_or_rows_or_counts() {
        let of = |text: &str| amount(text, Protocol::Pairs, 150).ok();
        // spec/constraints.md, test 9: 1, 5 and 10 % of the pairs of 150 rows.
        assert_eq!([of("1%"), of("5%"), of("10%")], [Some(111), Some(558), Some(1117)]);
        assert_eq!([of("n/2"), of("n"), of("n/4"), of("200")], [Some(75), Some(150), Some(37), Some(200)]);
        assert_eq!(amount("10%", Protocol::Labels, 150).ok(), Some(15));
        assert!(["", "5 %x", "n*2", "n/0", "-3", "101%", "many"].iter().all(|bad| of(bad).is_none()));
    }
}
