//! Weighted score (Duarte et al. 2013, eq. 4): WS = (1 − α)·Norm(index) + α·CS with Norm in [0, 1], 1 good. Without
//! constraints CS is undefined and α counts as 0.

use super::internal::Norm;

/// Brings the values of the candidates to [0, 1].
pub fn normalised(values: &[Option<f64>], norm: Norm) -> Vec<Option<f64>> {
    match norm {
        Norm::HalfUp => values.iter().map(|v| v.map(|v| (v + 1.0) / 2.0)).collect(),
        Norm::Reciprocal => values.iter().map(|v| v.map(|v| 1.0 / (1.0 + v))).collect(),
        Norm::Spread => {
            let defined = || values.iter().flatten().copied().filter(|v| v.is_finite());
            let (low, high) = (defined().fold(f64::INFINITY, f64::min), defined().fold(f64::NEG_INFINITY, f64::max));
            let place = |v: f64| if high > low { ((v - low) / (high - low)).clamp(0.0, 1.0) } else { 0.5 };
            values.iter().map(|v| v.map(place)).collect()
        }
    }
}

/// (1 − α)·norm + α·CS.
pub fn weighted(norm: f64, satisfaction: Option<f64>, alpha: f64) -> f64 {
    satisfaction.map_or(norm, |cs| (1.0 - alpha) * norm + alpha * cs)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn worked_examples_hold() {
        // spec/validation.md, test 3: plain scores choose the first clustering, weighted ones the second.
        let (s, nh) = (normalised(&[Some(0.797980), Some(0.3875)], Norm::HalfUp), [0.956183, 0.604743].map(Some));
        let nh = normalised(&nh, Norm::HalfUp);
        let found = [s[0], nh[0], s[1], nh[1]].map(Option::unwrap);
        let kept = [0.5, 0.5, 0.75, 0.75];
        for ((norm, cs), expected) in found.iter().zip(kept).zip([0.699495, 0.739046, 0.721875, 0.776186]) {
            assert!((weighted(*norm, Some(cs), 0.5) - expected).abs() < 1e-6);
        }
        assert_eq!(weighted(0.3, None, 0.5), 0.3);
        assert_eq!(normalised(&[Some(2.0), None, Some(4.0)], Norm::Spread), [Some(0.0), None, Some(1.0)]);
        assert_eq!(normalised(&[Some(2.0), Some(2.0)], Norm::Spread), [Some(0.5), Some(0.5)]);
        assert_eq!(normalised(&[Some(1.0)], Norm::Reciprocal), [Some(0.5)]);
    }
}
