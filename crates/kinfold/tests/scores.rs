//! External scores against scikit-learn's on random labellings (fixture: scripts/sklearn-scores.py).

use kinfold::indices::{Scored, score_all};

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
