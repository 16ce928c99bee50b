use super::*;
use crate::blocks::linalg::gram_of_columns;
use crate::constraints::Kind;
use crate::rng::Rng;

fn learn(name: &str, rows: &[f64], dims: usize, pairs: &[(Kind, usize, usize)], settings: &[(&str, &str)]) -> Learned {
    let data = Dataset::dense(rows, dims).unwrap();
    let mut given = ConstraintSet::new(data.n());
    for &(kind, a, b) in pairs {
        given.add_pair(kind, a, b).unwrap();
    }
    let settings = settings.iter().map(|&(a, b)| (a.into(), b.into())).collect();
    let choice = Choice { name: name.into(), settings };
    choice.learn(&RunContext::new(1), &data, &given, &given.close().unwrap()).unwrap()
}

/// M, row-major.
fn matrix(learned: &Learned) -> Vec<f64> {
    match &learned.transform {
        Transform::Linear { matrix, .. } => {
            gram_of_columns(matrix.transposed().values(), matrix.rows()).values().to_vec()
        }
        Transform::Diagonal { factor, .. } => {
            let d = factor.len();
            (0..d * d).map(|i| if i / d == i % d { factor[i / d].powi(2) } else { 0.0 }).collect()
        }
        other => panic!("{other:?}"),
    }
}

fn near(a: &[f64], b: &[f64], tolerance: f64) -> bool {
    a.len() == b.len() && a.iter().zip(b).all(|(x, y)| (x - y).abs() <= tolerance)
}

use Kind::{CannotLink, MustLink};

#[test]
fn rca_inverts_the_covariance_inside_chunklets() {
    let rows = [0.0, 0.0, 2.0, 0.0, 7.0, 1.0, 7.0, 5.0];
    let m = matrix(&learn("rca", &rows, 2, &[(MustLink, 0, 1), (MustLink, 2, 3)], &[("shrink", "0")]));
    assert!(near(&m, &[2.0, 0.0, 0.0, 0.5], 1e-9), "{m:?}");
}

#[test]
fn rca_does_not_care_about_an_invertible_map_of_the_rows_before_it() {
    let mut rng = Rng::stream(1, "metric test", 0);
    let rows: Vec<f64> = (0..90).map(|_| rng.normal()).collect();
    let turned: Vec<f64> = rows.chunks(3).flat_map(|r| [2.0 * r[0] + r[1], r[1] - r[2], r[0] + 3.0 * r[2]]).collect();
    let pairs: Vec<_> = (0..12).map(|i| (MustLink, i, i + 12)).collect();
    let distances = |rows: &[f64]| {
        let learned = learn("rca", rows, 3, &pairs, &[("shrink", "0")]);
        let table = learned.transform.apply(&Dataset::dense(rows, 3).unwrap()).unwrap();
        let data = table.view().unwrap();
        let mut point = [0.0; 3];
        data.add_row(0, 1.0, &mut point);
        (0..30).map(|i| data.distance2(i, &point)).collect::<Vec<f64>>()
    };
    assert!(near(&distances(&rows), &distances(&turned), 1e-8));
}

#[test]
fn rca_keeps_the_direction_in_which_classes_differ_and_says_when_rows_are_few() {
    // Chunklets vary in column 1, classes differ in column 0.
    let rows = [0.0, 0.0, 0.1, 5.0, 9.0, 1.0, 9.1, 6.0, 0.0, 3.0, 9.0, 2.0];
    let pairs = [(MustLink, 0, 1), (MustLink, 2, 3), (MustLink, 0, 4), (MustLink, 2, 5)];
    let learned = learn("rca", &rows, 2, &pairs, &[("dims", "1")]);
    let Transform::Linear { matrix, .. } = &learned.transform else { panic!() };
    assert_eq!(matrix.cols(), 1);
    assert!(matrix.row(0)[0].abs() > 10.0 * matrix.row(1)[0].abs(), "{matrix:?}");
    let few = learn("rca", &rows, 2, &pairs[..1], &[]);
    assert!(few.notes[0].contains("too few"), "{:?}", few.notes);
}

#[test]
fn dca_sees_only_where_cannot_linked_chunklets_differ() {
    let rows = [0.0, 0.0, 0.0, 2.0, 4.0, 0.0, 4.0, 2.0, 0.0, 9.0, 0.0, 11.0];
    let pairs = [(MustLink, 0, 1), (MustLink, 2, 3), (CannotLink, 0, 2)];
    for reg in ["0", "0.001", "0.5"] {
        let m = matrix(&learn("dca", &rows[..8], 2, &pairs, &[("reg", reg)]));
        assert!(m[0] > 0.0 && m[3].abs() < 1e-9 * m[0], "{reg}: {m:?}");
    }
    let more = [&pairs[..], &[(MustLink, 4, 5), (CannotLink, 1, 4)]].concat();
    let m = matrix(&learn("dca", &rows, 2, &more, &[("reg", "0")]));
    assert!((m[3] - 1.0).abs() < 1e-6 && m[0] > 1e3 && m[1].abs() < 1e-6 * m[0], "{m:?}");
    let m = matrix(&learn("dca", &rows, 2, &more, &[]));
    assert!(m[0] > m[3], "{m:?}");
}

#[test]
fn dca_whitens_inside_and_diagonalises_between() {
    let mut rng = Rng::stream(2, "metric test", 0);
    let rows: Vec<f64> = (0..120).map(|_| rng.normal()).collect();
    let mut pairs: Vec<_> = (0..15).map(|i| (MustLink, i, i + 15)).collect();
    pairs.extend((0..10).map(|i| (CannotLink, i, i + 1)));
    let learned = learn("dca", &rows, 3, &pairs, &[("reg", "0")]);
    let mapped = learned.transform.apply(&Dataset::dense(&rows, 3).unwrap()).unwrap();
    let y = |i: usize| -> Vec<f64> {
        let mut point = vec![0.0; 3];
        mapped.view().unwrap().add_row(i, 1.0, &mut point);
        point
    };
    let mut inside = [0.0; 9];
    for i in 0..15 {
        let (a, b) = (y(i), y(i + 15));
        (0..9).for_each(|at| inside[at] += (a[at / 3] - b[at / 3]) * (a[at % 3] - b[at % 3]) / 4.0 / 15.0);
    }
    assert!(near(&inside, &[1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0], 1e-9), "{inside:?}");
    let mut between = [0.0; 9];
    let mean = |i: usize| -> Vec<f64> { y(i).iter().zip(y(i + 15)).map(|(a, b)| (a + b) / 2.0).collect() };
    for i in 0..10 {
        let (a, b) = (mean(i), mean(i + 1));
        (0..9).for_each(|at| between[at] += (a[at / 3] - b[at / 3]) * (a[at % 3] - b[at % 3]) / 10.0);
    }
    assert!([1, 2, 5].iter().all(|&at| between[at].abs() < 1e-9 * between[0]), "{between:?}");
}

#[test]
fn itml_steps_are_those_of_the_worked_examples() {
    let bounds = [("upper", "1"), ("lower", "4")];
    let with = |gamma: &'static str| [&bounds[..], &[("gamma", gamma)]].concat();
    let one = |rows: &[f64], kind, gamma| matrix(&learn("itml", rows, 1, &[(kind, 0, 1)], &with(gamma)))[0];
    assert!((one(&[0.0, 2.0], MustLink, "inf") - 0.25).abs() < 1e-9);
    assert!((one(&[0.0, 2.0], MustLink, "1") - 0.4).abs() < 1e-9);
    assert!((one(&[0.0, 1.0], CannotLink, "inf") - 4.0).abs() < 1e-9);
    // Satisfied: nothing changes.
    assert!((one(&[0.0, 0.5], MustLink, "1") - 1.0).abs() < 1e-12);
    assert!((one(&[0.0, 2.0], MustLink, "1e-9") - 1.0).abs() < 1e-6);
}

#[test]
fn mmc_reaches_the_bound_in_one_dimension_and_beats_every_other_metric_in_three() {
    let pairs = [(MustLink, 0, 1), (CannotLink, 0, 2)];
    assert!((matrix(&learn("mmc", &[0.0, 1.0, 2.0], 1, &pairs, &[]))[0] - 1.0).abs() < 1e-9);
    assert!((matrix(&learn("mmc", &[0.0, 1.0, 2.0], 1, &pairs, &[("form", "diagonal")]))[0] - 0.5).abs() < 1e-9);

    let mut rng = Rng::stream(3, "metric test", 0);
    let rows: Vec<f64> = (0..90).map(|i| rng.normal() * f64::from(1 + i % 3)).collect();
    let mut pairs: Vec<_> = (0..8).map(|i| (MustLink, i, i + 8)).collect();
    pairs.extend((0..12).map(|i| (CannotLink, i + 16, (i + 5) % 12)));
    let spread = |m: &[f64], kind: Kind| -> f64 {
        let of_kind = pairs.iter().filter(|p| p.0 == kind);
        of_kind
            .map(|&(_, a, b)| {
                let v: Vec<f64> = (0..3).map(|j| rows[3 * a + j] - rows[3 * b + j]).collect();
                let d2: f64 = (0..9).map(|at| v[at / 3] * m[at] * v[at % 3]).sum();
                if kind == MustLink { d2 } else { d2.max(0.0).sqrt() }
            })
            .sum()
    };
    for form in ["full", "diagonal"] {
        let best = matrix(&learn("mmc", &rows, 3, &pairs, &[("form", form)]));
        let value = |m: &[f64]| spread(m, CannotLink) / spread(m, MustLink).sqrt();
        for _ in 0..300 {
            // Random positive semidefinite matrices near and far.
            let g: Vec<f64> =
                (0..9).map(|at| if form == "full" || at / 3 == at % 3 { rng.normal() } else { 0.0 }).collect();
            let other = gram_of_columns(&g, 3);
            for mix in [1.0, 0.1, 0.01] {
                let m: Vec<f64> = best.iter().zip(other.values()).map(|(a, b)| (1.0 - mix) * a + mix * b).collect();
                assert!(value(&m) <= value(&best) * (1.0 + 1e-4), "{form}: {} {}", value(&m), value(&best));
            }
        }
    }
}

#[test]
fn table_entries_are_complete() {
    for entry in METRICS {
        let i = entry.info;
        for text in [i.summary, i.paper, i.minimises, i.constraints, i.cost] {
            assert!(!text.is_empty(), "{}", i.name);
        }
        assert!((entry.build)(&[("nonsense".into(), "1".into())]).is_err());
    }
}
