use super::*;
use crate::rng::Rng;

fn settings(error: f64) -> Settings {
    Settings { sharpness: 1.4, error, odds: 1.3, tie: 0.7, max_iter: 1 }
}

/// Marginals, cavities and log Z by summing over every labelling.
fn enumerate(
    x: &[f64],
    centres: &[f64],
    factors: &[Factor],
    ties: &[Tie],
    s: &Settings,
) -> (Vec<f64>, Vec<f64>, Vec<f64>, f64) {
    let (n, k) = (x.len(), centres.len());
    let r = s.odds / odds(1.0 / k as f64);
    let potential = |f: &Factor, z: &[usize]| {
        let e = if f.believed { ERROR_FLOOR } else { s.error.max(f.doubt) };
        let same = z[f.a as usize] == z[f.b as usize];
        (if same { r } else { 1.0 }) * if same == (f.kind == Kind::MustLink) { 1.0 - e } else { e }
    };
    let (mut marginals, mut total) = (vec![0.0; n * k], 0.0);
    let (mut together, mut without) = (vec![0.0; factors.len()], vec![0.0; factors.len()]);
    let mut broken = vec![0.0; factors.len()];
    for code in 0..k.pow(n as u32) {
        let z: Vec<usize> = (0..n).map(|i| code / k.pow(i as u32) % k).collect();
        let data: f64 = (0..n).map(|i| (-s.sharpness * (x[i] - centres[z[i]]).powi(2)).exp() / k as f64).product();
        let tied = ties.iter().filter(|t| z[t.a as usize] == z[t.b as usize]);
        let tied = tied.map(|t| s.tie * t.strength).sum::<f64>().exp();
        let weight = data * tied * factors.iter().map(|f| potential(f, &z)).product::<f64>();
        total += weight;
        (0..n).for_each(|i| marginals[i * k + z[i]] += weight);
        for (q, f) in factors.iter().enumerate() {
            let same = z[f.a as usize] == z[f.b as usize];
            let rest = weight / potential(f, &z);
            without[q] += rest;
            together[q] += if same { rest } else { 0.0 };
            broken[q] += if same == (f.kind == Kind::MustLink) { 0.0 } else { weight };
        }
    }
    marginals.iter_mut().for_each(|m| *m /= total);
    let same = together.iter().zip(&without).map(|(t, w)| t / w).collect();
    (marginals, same, broken.iter().map(|b| b / total).collect(), total.ln())
}

#[test]
fn on_trees_marginals_cavities_and_energy_equal_enumeration() {
    let mut rng = Rng::stream(4, "belief", 0);
    for case in 0..60 {
        let (n, k) = (2 + case % 5, 2 + case % 3);
        let x: Vec<f64> = (0..n).map(|_| 2.0 * rng.normal()).collect();
        let centres: Vec<f64> = (0..k).map(|_| 2.0 * rng.normal()).collect();
        // Each node hangs on an earlier one; some on none, which makes a forest.
        let mut ties = Vec::new();
        let factors: Vec<Factor> = (1..n)
            .filter_map(|b| {
                if rng.below(4) == 0 {
                    ties.push(Tie { a: b as u32, b: rng.below(b) as u32, strength: 2.0 * rng.unit() });
                    return None;
                }
                let kind = if rng.below(2) == 0 { Kind::MustLink } else { Kind::CannotLink };
                let doubt = if rng.below(3) == 0 { 0.3 } else { 0.0 };
                let believed = rng.below(5) == 0;
                let a = rng.below(b) as u32;
                (rng.below(6) > 0).then_some(Factor { a, b: b as u32, kind, doubt, believed })
            })
            .collect();
        let data = Dataset::dense(&x, 1).unwrap();
        let nodes = Chunklets::singletons(n);
        let field = Field::new(&data, &nodes, k);
        let network = Network::tied(n, factors.clone(), ties.clone());
        let s = settings(0.1);
        let ctx = RunContext::new(0).with_threads(1);
        let found = fit(&ctx, &field, &network, &s, &Matrix::from_vec(1, centres.clone()));
        let (marginals, same, wrong, log_z) = enumerate(&x, &centres, &factors, &ties, &s);
        let close = |a: &[f64], b: &[f64]| a.iter().zip(b).all(|(p, q)| (p - q).abs() < 1e-9);
        assert!(close(&found.beliefs, &marginals), "case {case}: {:?} {marginals:?}", found.beliefs);
        assert!(close(&found.same, &same), "case {case}: {:?} {same:?}", found.same);
        assert!(close(&found.wrong, &wrong), "case {case}: {:?} {wrong:?}", found.wrong);
        assert!((found.energy + log_z).abs() < 1e-8, "case {case}: {} {log_z}", found.energy);
    }
}

#[test]
fn rows_of_one_node_speak_together() {
    let data = Dataset::dense(&[0.0, 0.2, 1.0], 1).unwrap();
    let mut given = crate::constraints::ConstraintSet::new(3);
    given.add_pair(Kind::MustLink, 0, 2).unwrap();
    let nodes = given.close().unwrap();
    let field = Field::new(&data, &nodes, 2);
    let centres = Matrix::from_vec(1, vec![0.0, 1.0]);
    let costs = field.costs(&Pool::new(1), &centres);
    assert!(costs.iter().zip([1.0, 1.0, 0.04, 0.64]).all(|(a, b)| (a - b).abs() < 1e-12), "{costs:?}");
    let mut centres = centres;
    let together = field.to_means(&[1, 1], &mut centres);
    assert!((together - 1.0).abs() < 1e-12 && (centres.row(1)[0] - 0.4).abs() < 1e-12 && centres.row(0)[0] == 0.0);
}

#[test]
fn without_factors_it_is_k_means() {
    let x = [0.0, 1.0, 2.0, 9.0, 10.0, 14.0];
    let data = Dataset::dense(&x, 1).unwrap();
    let nodes = Chunklets::singletons(6);
    let field = Field::new(&data, &nodes, 2);
    let s = Settings { max_iter: 20, ..settings(0.1) };
    let ctx = RunContext::new(0).with_threads(1);
    let f = fit(&ctx, &field, &Network::new(6, Vec::new()), &s, &Matrix::from_vec(1, vec![0.0, 1.0]));
    assert_eq!(f.labels, [0, 0, 0, 1, 1, 1]);
    assert_eq!(f.centres.values(), [1.0, 11.0]);
}

#[test]
fn sparse_distances_equal_dense_ones_in_both_precisions() {
    let values = [1.0, 0.0, 2.0, 0.0, 0.0, 3.0, 0.0, 0.5, 0.0, 4.0];
    let narrow: Vec<f32> = values.iter().map(|&v| v as f32).collect();
    let centres = Matrix::from_vec(5, vec![0.5, 1.0, 0.0, 2.0, -1.0, 0.0, 3.0, 0.25, 0.0, 1.0]);
    let pool = Pool::new(1);
    let dense = squared_distances(&pool, &Dataset::dense(&values, 5).unwrap(), &centres);
    let single = squared_distances(&pool, &Dataset::dense(&narrow, 5).unwrap(), &centres);
    let sparse = Dataset::sparse(&[0, 2, 5], &[0, 2, 0, 2, 4], &[1.0, 2.0, 3.0, 0.5, 4.0], 5).unwrap();
    let sparse = squared_distances(&pool, &sparse, &centres);
    assert!(dense.iter().zip(&single).all(|(a, b)| a == b));
    assert!(dense.iter().zip(&sparse).all(|(a, b)| (a - b).abs() < 1e-12), "{dense:?} {sparse:?}");
}

#[test]
fn a_silent_factor_is_predicted_as_if_it_were_not_there_and_without_its_echo() {
    // Two groups, all rows of each tied to each other, and a must-link between the groups that is wrong.
    let x: Vec<f64> = (0..10).map(|i| f64::from(i / 5) + 0.01 * f64::from(i)).collect();
    let data = Dataset::dense(&x, 1).unwrap();
    let alone = Chunklets::singletons(10);
    let field = Field::new(&data, &alone, 2);
    let ties: Vec<Tie> = (0..10u32)
        .flat_map(|a| (0..a).map(move |b| Tie { a, b, strength: 0.5 }))
        .filter(|t| t.a / 5 == t.b / 5)
        .collect();
    let link = |a, b, kind| Factor { a, b, kind, doubt: 0.0, believed: false };
    let right = vec![link(0, 1, Kind::MustLink), link(2, 8, Kind::CannotLink)];
    let with: Vec<Factor> = right.iter().copied().chain([link(3, 6, Kind::MustLink)]).collect();
    let settings = Settings { sharpness: 0.3, error: 0.002, odds: 1.3, tie: 1.0, max_iter: 5 };
    let start = Matrix::from_vec(1, vec![0.0, 1.0]);
    let ctx = RunContext::new(1).with_threads(1);
    let network = Network::tied(10, with, ties.clone());
    let silent = fit_without(&ctx, &field, &network, &settings, &start, &[2]);
    let absent = fit(&ctx, &field, &Network::tied(10, right, ties), &settings, &start);
    assert_eq!(silent.labels, absent.labels);
    silent.beliefs.iter().zip(&absent.beliefs).for_each(|(a, b)| assert!((a - b).abs() < 1e-3, "{a} {b}"));
    let speaking = fit(&ctx, &field, &network, &settings, &start);
    assert!(speaking.same[2] > silent.same[2] + 0.05, "{} {}", speaking.same[2], silent.same[2]);
}
