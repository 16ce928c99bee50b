//! Gaussian mixtures against scikit-learn's GaussianMixture (fixture: scripts/sklearn-mixture.py).

use kinfold::blocks::mixture::{Covariance, Free, Maximiser, Settings, em};
use kinfold::constraints::ConstraintSet;
use kinfold::context::RunContext;
use kinfold::data::Dataset;
use kinfold::params::Value;
use kinfold::pipeline::Job;

#[test]
fn parameters_and_likelihoods_are_those_of_scikit_learn() {
    let fixture: serde_json::Value = serde_json::from_str(include_str!("data/sklearn_mixture.json")).unwrap();
    let floats =
        |v: &serde_json::Value| v.as_array().unwrap().iter().map(|x| x.as_f64().unwrap()).collect::<Vec<f64>>();
    let ctx = RunContext::new(0);
    let mut compared = 0;
    for (number, case) in fixture["cases"].as_array().unwrap().iter().enumerate() {
        let (k, dims) = (case["k"].as_u64().unwrap() as usize, case["dims"].as_u64().unwrap() as usize);
        let rows = floats(&case["rows"]);
        let data = Dataset::dense(&rows, dims).unwrap();
        let start: Vec<u32> = floats(&case["start"]).iter().map(|&l| l as u32).collect();
        for step in case["steps"].as_array().unwrap() {
            let name = step["covariance"].as_str().unwrap();
            let covariance = Covariance::parse(name).unwrap();
            let settings = Settings { covariance, reg: 1e-6, shrink: false, max_iter: 25, tolerance: 0.0 };
            let fitted = em(&ctx, &Maximiser::new(&data, k, &settings), &start, &settings, &mut Free(None));
            let close = |ours: &[f64], theirs: &[f64], what: &str| {
                assert_eq!(ours.len(), theirs.len());
                for (a, b) in ours.iter().zip(theirs) {
                    assert!((a - b).abs() <= 1e-8 * (1.0 + b.abs()), "case {number}, {name}: {what} {a} {b}");
                }
            };
            close(&fitted.mixture.weights, &floats(&step["weights"]), "weight");
            close(fitted.mixture.means.values(), &floats(&step["means"]), "mean");
            for (ours, theirs) in fitted.mixture.covariances.iter().zip(step["covariances"].as_array().unwrap()) {
                close(ours, &floats(theirs), "covariance");
            }
            close(&[-fitted.trace[25]], &[step["log_likelihood"].as_f64().unwrap()], "log-likelihood");

            // By itself, from its own starts, where components are far apart.
            let Some(best) = step["best"].as_f64() else { continue };
            let settings = [("covariance", name), ("shrink", "no"), ("tolerance", "1e-12"), ("max_iter", "2000")];
            let settings = settings.map(|(a, b)| (a.to_owned(), b.to_owned())).to_vec();
            let run = Job { settings, ..Job::new("em", k) }.run(&ctx, &data, &ConstraintSet::new(data.n())).unwrap();
            let likelihood = -run.objective;
            assert!((likelihood - best).abs() <= 1e-7 * best.abs(), "case {number}, {name}: {likelihood} {best}");
            let theirs: Vec<u32> = floats(&step["labels"]).iter().map(|&l| l as u32).collect();
            let same = |l: &[u32], i: usize, j: usize| l[i] == l[j];
            let n = data.n();
            assert!((0..n).all(|i| (0..i).all(|j| same(&run.labels, i, j) == same(&theirs, i, j))), "case {number}");
            compared += 1;
        }
    }
    assert_eq!(compared, 8);
}
