//! Scores over pairs of rows, from the contingency table: Rand index, adjusted Rand index (Hubert & Arabie 1985),
//! pairwise F1. All counts are exact integers until the last division (u·v overflows 64 bits at 100,000 rows).

use super::Scored;

/// Share of pairs on which the two agree; 1 with fewer than two rows.
pub fn rand(scored: &Scored<'_>) -> Option<f64> {
    let (both, first, second, all) = scored.contingency()?.pairs();
    Some(if all == 0 { 1.0 } else { (all + 2 * both - first - second) as f64 / all as f64 })
}

/// (t − uv/M) / ((u + v)/2 − uv/M); 1 when the denominator is 0.
pub fn adjusted_rand(scored: &Scored<'_>) -> Option<f64> {
    let (both, first, second, all) = scored.contingency()?.pairs();
    // Multiplied by 2M to stay in integers for as long as possible.
    let expected = 2.0 * first as f64 * second as f64;
    let numerator = 2.0 * both as f64 * all as f64 - expected;
    let denominator = (first + second) as f64 * all as f64 - expected;
    Some(if denominator == 0.0 { 1.0 } else { numerator / denominator })
}

/// 2·precision·recall / (precision + recall) = 2t / (u + v); `None` when no pair is together in either.
pub fn f1(scored: &Scored<'_>) -> Option<f64> {
    let (both, first, second, _) = scored.contingency()?.pairs();
    (first + second > 0).then(|| 2.0 * both as f64 / (first + second) as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn worked_examples_hold() {
        // spec/validation.md, tests 4 and 5.
        let close = |a: Option<f64>, b: f64| assert!((a.unwrap() - b).abs() < 1e-6, "{a:?} {b}");
        let s = Scored { labels: &[0, 0, 1, 1, 2, 2], truth: Some(&[0, 0, 0, 1, 1, 1]), constraints: None };
        close(rand(&s), 10.0 / 15.0);
        close(adjusted_rand(&s), 0.242424);
        close(f1(&s), 2.0 * 2.0 / 9.0);
        let s = Scored { labels: &[0, 0, 1, 1], truth: Some(&[0, 1, 0, 1]), constraints: None };
        close(rand(&s), 1.0 / 3.0);
        close(adjusted_rand(&s), -0.5);
        let labels = [vec![0u32; 9], vec![1; 4]].concat();
        let truth = [vec![0u32; 5], vec![1; 4], vec![0; 4]].concat();
        let s = Scored { labels: &labels, truth: Some(&truth), constraints: None };
        close(adjusted_rand(&s), -0.031746);
        close(rand(&s), 0.487179);
    }
}
