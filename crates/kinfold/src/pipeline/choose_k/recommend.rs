//! One k out of many criteria, in two steps. First the constraints rule out what they can: agreement is the mean of the gap
//! over held-out constraints and the same measure on the constraints given; every k within two standard errors of the
//! best stays. Then the clusters' shape decides among those: a mean of S+CS on the learned distance (weight 2), S+CS on the
//! rows as given (2) and NH+CS on the learned distance (1). Held-out constraints are few and noisy, shape prefers what geometry lumps: neither
//! is good alone. Without enough constraints the shape decides. Weights and the two errors were chosen on constraint sets
//! 0 to 9 of the lab's `validation` suite and on twelve data sets outside it; its tables use other constraint sets.

use super::{Candidate, Criterion, Tally, criterion};
use crate::indices::Estimate;

/// Standard errors within which k cannot be told apart by the constraints.
const ERRORS: f64 = 2.0;
/// Names of the two steps among the criteria.
const AGREEMENT: &str = "agree";
const SHAPE: &str = "shape";

/// The k to take, and why.
#[derive(Debug, Clone, PartialEq)]
pub struct Recommended {
    /// Number of clusters.
    pub k: usize,
    /// The criterion that decided, or ruled out most.
    pub by: String,
    /// In a sentence.
    pub reason: String,
    /// Every k that the constraints cannot tell from it.
    pub as_good: Vec<usize>,
    /// What `by` gives every candidate.
    pub scores: Vec<Option<f64>>,
}

/// The two criteria of the recommendation, made from the others.
pub(super) fn own_criteria(candidates: &[Candidate], criteria: &[Criterion]) -> [Criterion; 2] {
    let agreement = candidates.iter().map(agreement).collect();
    let named = |name: &str| criteria.iter().find(|c| c.name == name && c.k.is_some());
    // The first learned distance, else the rows as given; weighted with the constraints kept where there are any.
    let learned = criteria.iter().find_map(|c| c.name.strip_prefix("S+CS@"));
    let at_learned = |index: &str| learned.and_then(|metric| named(&format!("{index}+CS@{metric}")));
    let as_given = |index: &str| named(&format!("{index}+CS")).or_else(|| named(index));
    let either = |index: &str| at_learned(index).or_else(|| as_given(index));
    let parts: Vec<(f64, &Criterion)> = [(2.0, either("S")), (2.0, as_given("S")), (1.0, either("NH"))]
        .into_iter()
        .filter_map(|(weight, part)| Some((weight, part?)))
        .collect();
    let total: f64 = parts.iter().map(|p| p.0).sum();
    let shape = (0..candidates.len()).map(|at| {
        let mut mean = Estimate::exact(0.0);
        for (weight, part) in &parts {
            let value = part.values[at]?;
            mean.value += weight / total * value.value;
            mean.error += weight / total * value.error;
        }
        (!parts.is_empty()).then_some(mean)
    });
    let shape = shape.collect();
    let mut of: Vec<&str> = parts.iter().map(|p| p.1.name.as_str()).collect();
    of.dedup();
    [
        criterion(AGREEMENT, "constraints kept beyond chance, held out and given", agreement, false, candidates),
        criterion(SHAPE, &format!("mean of {}", of.join(", ")), shape, false, candidates),
    ]
}

fn agreement(candidate: &Candidate) -> Option<Estimate> {
    let held_out = candidate.held_out.as_ref()?;
    let violations = &candidate.run.violations;
    let (together, apart) = (violations.must_link_pairs as f64, violations.cannot_link_pairs as f64);
    let given = Tally {
        together,
        together_kept: together - violations.must_link as f64,
        apart,
        apart_kept: apart - violations.cannot_link as f64,
        by_chance: Tally::chance_of(&candidate.run.labels, together, apart),
        units: held_out.units,
    };
    Some(Estimate { value: (held_out.gap()? + given.gap()?) / 2.0, error: held_out.error() })
}

pub(super) fn recommend(candidates: &[Candidate], criteria: &[Criterion], lower: usize) -> Recommended {
    let find = |name: &str| criteria.iter().find(|c| c.name == name).filter(|c| c.k.is_some());
    let values = |c: &Criterion| -> Vec<Option<f64>> { c.values.iter().map(|v| v.map(|v| v.value)).collect() };
    let shape = find(SHAPE);
    let mut out = match (find(AGREEMENT), shape) {
        (Some(agreement), _) => by_constraints(candidates, agreement, shape),
        (None, Some(shape)) => {
            let k = shape.k.unwrap_or(candidates[0].k);
            let reason = format!("the clusters have the best shape there ({}); ", shape.summary)
                + if candidates[0].satisfaction.is_some() {
                    "there were too few constraints, or too little time, to hold some out"
                } else {
                    "without constraints nothing else can be asked"
                };
            Recommended { k, by: SHAPE.to_owned(), reason, as_good: vec![k], scores: values(shape) }
        }
        (None, None) => {
            let k = candidates[0].k;
            let reason = "it is the smallest that was run; no criterion is defined".to_owned();
            let scores = vec![None; candidates.len()];
            Recommended { k, by: String::new(), reason, as_good: candidates.iter().map(|c| c.k).collect(), scores }
        }
    };
    if out.k < lower {
        out.reason += &format!("; below {lower} some cannot-link must break, and this method may break them");
    }
    out
}

fn by_constraints(candidates: &[Candidate], agreement: &Criterion, shape: Option<&Criterion>) -> Recommended {
    let at = |k: Option<usize>| candidates.iter().position(|c| Some(c.k) == k).unwrap_or(0);
    let best = at(agreement.k);
    let top = agreement.values[best].unwrap_or(Estimate::exact(0.0));
    let stays = |i: usize| agreement.values[i].is_some_and(|v| v.value >= top.value - ERRORS * top.error);
    let shape_of = |i: usize| shape.and_then(|s| s.values[i]).map_or(f64::NEG_INFINITY, |v| v.value);
    let as_good: Vec<usize> = (0..candidates.len()).filter(|&i| stays(i)).collect();
    let mut chosen = best;
    for &i in &as_good {
        // Ties to the smaller k, also against the one that agrees best.
        if shape_of(i) > shape_of(chosen) + 1e-12 || (shape_of(i) >= shape_of(chosen) - 1e-12 && i < chosen) {
            chosen = i;
        }
    }
    let percent = |v: Option<f64>| format!("{:.0} %", 100.0 * v.unwrap_or(0.0));
    let tally = candidates[chosen].held_out.unwrap_or_default();
    let mut reason = format!(
        "without seeing them it keeps {} of the held-out constraints, where chance would keep {}",
        percent(tally.kept()),
        percent(tally.chance())
    );
    let ks: Vec<String> = as_good.iter().map(|&i| candidates[i].k.to_string()).collect();
    reason += &match ks.len() {
        1 => "; no other k comes within two standard errors".to_owned(),
        count => format!(
            "; the constraints cannot tell {} k apart ({}), and of those it has the best shape ({})",
            count,
            ks.join(", "),
            shape.map_or("undefined", |s| s.summary.as_str())
        ),
    };
    Recommended {
        k: candidates[chosen].k,
        by: AGREEMENT.to_owned(),
        reason,
        as_good: as_good.iter().map(|&i| candidates[i].k).collect(),
        scores: agreement.values.iter().map(|v| v.map(|v| v.value)).collect(),
    }
}
