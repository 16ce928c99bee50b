//! Constraints pair by pair as signed beliefs, for methods that write them into a matrix over the rows: +1 for a hard
//! must-link, −1 for a hard cannot-link, ±tanh(w/2) for weight w, which is 2q − 1 for a confidence q.

use crate::constraints::{ConstraintSet, Kind};

/// Every pair once, (smaller row, larger row, belief), ascending. A pair of both kinds gets the difference of its beliefs
/// and is left out when they are equal.
pub fn signed_pairs(given: &ConstraintSet) -> Vec<(u32, u32, f64)> {
    let mut all: Vec<(u32, u32, Kind, f64)> =
        given.expanded().map(|p| (p.a.min(p.b), p.a.max(p.b), p.kind, (p.weight / 2.0).tanh())).collect();
    all.sort_by(|p, q| (p.0, p.1, p.2).cmp(&(q.0, q.1, q.2)).then(q.3.total_cmp(&p.3)));
    // Saying it again adds nothing: the strongest of each kind stays.
    all.dedup_by_key(|p| (p.0, p.1, p.2));
    let mut out: Vec<(u32, u32, f64)> = Vec::with_capacity(all.len());
    for (a, b, kind, belief) in all {
        let signed = if kind == Kind::MustLink { belief } else { -belief };
        match out.last_mut() {
            Some(last) if (last.0, last.1) == (a, b) => last.2 += signed,
            _ => out.push((a, b, signed)),
        }
    }
    out.retain(|p| p.2 != 0.0);
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::constraints::{Origin, weight_of_confidence};

    #[test]
    fn repeats_count_once_and_both_kinds_cancel() {
        let mut given = ConstraintSet::new(6);
        given.add_pair(Kind::MustLink, 3, 1).unwrap();
        given.add_pair(Kind::MustLink, 1, 3).unwrap();
        given.add_pair(Kind::CannotLink, 0, 2).unwrap();
        given.add_pair(Kind::MustLink, 4, 5).unwrap();
        given.add_pair(Kind::CannotLink, 4, 5).unwrap();
        let (kind, weight) = weight_of_confidence(Kind::CannotLink, 0.9).unwrap();
        given.add_weighted_pair(kind, 5, 0, weight, Origin::default()).unwrap();
        let found = signed_pairs(&given);
        assert_eq!(found.iter().map(|p| (p.0, p.1)).collect::<Vec<_>>(), [(0, 2), (0, 5), (1, 3)]);
        assert_eq!((found[0].2, found[2].2), (-1.0, 1.0));
        assert!((found[1].2 + 0.8).abs() < 1e-12);
    }
}
