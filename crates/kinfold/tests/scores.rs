//! Scores against scikit-learn's (fixtures: scripts/sklearn-scores.py, scripts/sklearn-internal-scores.py).

use kinfold::context::RunContext;
use kinfold::data::Dataset;
use kinfold::indices::{INTERNAL, Internal, Sampling, Scored, score_all, score_rows};

#[test]
fn scores_agree_with_scikit_learn_to_twelve_digits() {
    let fixture: serde_json::Value = serde_json::from_str(include_str!("data/sklearn_scores.json")).unwrap();
    let cases = fixture["cases"].as_array().unwrap();
    assert!(cases.len() >= 50);
    for (i, case) in cases.iter().enumerate() {
        let ints = |name: &str| -> Vec<u32> {
            case[name].as_array().unwrap().iter().map(|v| v.as_u64().unwrap() as u32).collect()
        };
        let (labels, truth) = (ints("labels"), ints("truth"));
        let ours = score_all(&Scored { labels: &labels, truth: Some(&truth), constraints: None });
        for name in ["nmi", "nmi_geometric", "ari", "rand", "pairwise_f1"] {
            let score = ours.iter().find(|(n, _)| *n == name).unwrap().1;
            match case[name].as_f64() {
                None => assert_eq!(score, None, "case {i}: {name}"),
                Some(theirs) => {
                    let score = score.unwrap();
                    assert!((score - theirs).abs() <= 1e-12, "case {i}: {name} is {score}, scikit-learn says {theirs}");
                }
            }
        }
    }
}

#[test]
fn internal_scores_agree_with_scikit_learn_to_ten_digits() {
    let fixture: serde_json::Value = serde_json::from_str(include_str!("data/sklearn_internal_scores.json")).unwrap();
    let cases = fixture["cases"].as_array().unwrap();
    assert!(cases.len() >= 20);
    let which: Vec<Internal> = INTERNAL.iter().map(|e| e.index).collect();
    let mut compared = 0;
    for (i, case) in cases.iter().enumerate() {
        let x: Vec<f64> = case["x"].as_array().unwrap().iter().map(|v| v.as_f64().unwrap()).collect();
        let labels: Vec<u32> = case["labels"].as_array().unwrap().iter().map(|v| v.as_u64().unwrap() as u32).collect();
        let data = Dataset::dense(&x, case["dims"].as_u64().unwrap() as usize).unwrap();
        let ours = score_rows(&RunContext::new(0), &data, &[&labels], &which, Sampling::Exact);
        for (entry, value) in INTERNAL.iter().zip(&ours.values[0]) {
            let Some(theirs) = case[entry.name].as_f64() else { continue };
            let value = value.unwrap().value;
            let close = (value - theirs).abs() <= 1e-10 * theirs.abs().max(1.0);
            assert!(close, "case {i}: {} is {value}, the fixture says {theirs}", entry.name);
            compared += 1;
        }
    }
    assert_eq!(compared, cases.len() * 6);
}
