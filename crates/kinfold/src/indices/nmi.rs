//! Normalised mutual information I(P; T) / mean(H(P), H(T)): arithmetic mean (Danon et al. 2005; Ganji et al. eq. 4.5)
//! or geometric (Strehl & Ghosh 2002; Okabe & Yamada). One cluster and one class: 1; exactly one of the two: 0.

use super::{Scored, constrained_rows};
use crate::blocks::contingency::Contingency;

fn nmi(table: &Contingency, mean: fn(f64, f64) -> f64) -> f64 {
    let (first, second, mutual) = table.information();
    match (table.first.len() <= 1, table.second.len() <= 1) {
        (true, true) => 1.0,
        (true, false) | (false, true) => 0.0,
        _ => (mutual / mean(first, second)).min(1.0),
    }
}

fn halfway(a: f64, b: f64) -> f64 {
    0.5 * (a + b)
}

/// I / ((H + H) / 2).
pub fn arithmetic(scored: &Scored<'_>) -> Option<f64> {
    scored.contingency().map(|t| nmi(&t, halfway))
}

/// I / √(H·H).
pub fn geometric(scored: &Scored<'_>) -> Option<f64> {
    scored.contingency().map(|t| nmi(&t, |a, b| (a * b).sqrt()))
}

/// Arithmetic, on the rows that occur in no must-link.
pub fn without_must_linked(scored: &Scored<'_>) -> Option<f64> {
    let (linked, _) = constrained_rows(scored.constraints?);
    scored.contingency_without(&linked).map(|t| nmi(&t, halfway))
}

/// Arithmetic, on the rows that occur in no constraint.
pub fn without_constrained(scored: &Scored<'_>) -> Option<f64> {
    let (_, any) = constrained_rows(scored.constraints?);
    scored.contingency_without(&any).map(|t| nmi(&t, halfway))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::constraints::{ConstraintSet, Kind};

    fn of<'a>(labels: &'a [u32], truth: &'a [u32]) -> Scored<'a> {
        Scored { labels, truth: Some(truth), constraints: None }
    }

    #[test]
    fn worked_examples_hold() {
        // spec/validation.md, test 4 and 5.
        let s = of(&[0, 0, 1, 1, 2, 2], &[0, 0, 0, 1, 1, 1]);
        assert!((geometric(&s).unwrap() - 0.529541).abs() < 1e-6);
        assert!((arithmetic(&s).unwrap() - 0.515804).abs() < 1e-6);
        assert!(arithmetic(&of(&[0, 0, 1, 1], &[0, 1, 0, 1])).unwrap().abs() < 1e-12);
        assert_eq!(arithmetic(&of(&[3, 3], &[5, 5])), Some(1.0));
        assert_eq!(arithmetic(&of(&[3, 3], &[5, 6])), Some(0.0));
    }

    #[test]
    fn constrained_rows_can_be_left_out() {
        // spec/validation.md, test 6.
        let (truth, labels) = ([0, 0, 0, 0, 1, 1, 1, 1], [0, 0, 0, 1, 1, 1, 1, 0]);
        let mut c = ConstraintSet::new(8);
        c.add_pair(Kind::MustLink, 0, 1).unwrap();
        c.add_pair(Kind::MustLink, 4, 5).unwrap();
        c.add_pair(Kind::CannotLink, 2, 6).unwrap();
        let s = Scored { labels: &labels, truth: Some(&truth), constraints: Some(&c) };
        assert!((arithmetic(&s).unwrap() - 0.188722).abs() < 1e-6);
        assert!(without_must_linked(&s).unwrap().abs() < 1e-12);
        assert!((without_constrained(&s).unwrap() - 1.0).abs() < 1e-12);
    }
}
