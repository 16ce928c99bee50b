use super::*;
use crate::data::Scale;
use crate::rng::Rng;

fn random(n: usize, rng: &mut Rng) -> Vec<f64> {
    (0..n).map(|_| rng.normal()).collect()
}

const SHAPES: [(usize, usize, usize); 12] = [
    (1, 1, 1),
    (13, 2, 3),
    (70, 7, 8),
    (33, 20, 20),
    (9, 32, 5),
    (21, 33, 17),
    (11, 130, 9),
    (17, 3, 50),
    (40, 40, 49),
    (19, 513, 5),
    (20, 1030, 50),
    (16, 4, 1),
];

fn check<F: Float>(tolerance: f64) {
    let mut rng = Rng::stream(1, "kernel test", 0);
    for (n, dims, k) in SHAPES {
        let rows: Vec<F> = random(n * dims, &mut rng).into_iter().map(F::from_f64).collect();
        let centres = Matrix::from_vec(dims, random(k * dims, &mut rng));
        let data = Dataset::dense(&rows, dims).unwrap();
        let Rows::Dense(dense) = data.rows() else { unreachable!() };
        for fast in [false, has_avx2()] {
            let prepared = Centres::<F>::with(&centres, &data, dims <= DIRECT_DIMS, fast);
            let (mut labels, mut distances) = (vec![9; n], vec![F::default(); n]);
            prepared.nearest(&data, 0, &mut labels, &mut distances);
            let picked: Vec<u32> = (0..n as u32).rev().collect();
            let (mut near, mut first, mut second) = (vec![9; n], distances.clone(), distances.clone());
            prepared.two_nearest(dense, &picked, &mut near, &mut first, &mut second);
            let mut every = vec![F::default(); k * n];
            Centres::<F>::with(&centres, &data, true, fast).distances(dense, &picked, &mut every);
            for (c, list) in every.chunks(n).enumerate() {
                for (&row, d) in picked.iter().zip(list) {
                    let exact = data.distance2(row as usize, centres.row(c));
                    assert!((d.to_f64() - exact).abs() <= tolerance * (1.0 + dims as f64));
                }
            }
            let mut sums = Sums::zeros(k, dims);
            let mut assigned = vec![u32::MAX; n];
            assert_eq!(prepared.assign(&data, 0, &mut assigned, None, (Adds::All, &mut sums)), n);
            assert_eq!(prepared.assign(&data, 0, &mut assigned, None, (Adds::All, &mut Sums::zeros(k, dims))), 0);
            assert_eq!(labels, assigned);
            let mut expected = Sums::zeros(k, dims);
            for i in 0..n {
                let mut all: Vec<f64> = centres.iter().map(|c| data.distance2(i, c)).collect();
                let least = all.iter().copied().fold(f64::INFINITY, f64::min);
                let scale = tolerance * (1.0 + dims as f64);
                assert!((all[labels[i] as usize] - least).abs() <= scale, "label of row {i}");
                assert!((distances[i].to_f64() - least).abs() <= scale, "distance of row {i}");
                assert_eq!((near[n - 1 - i], first[n - 1 - i]), (labels[i], distances[i]));
                all.sort_by(f64::total_cmp);
                let after = all.get(1).copied().unwrap_or(f64::INFINITY);
                let found = second[n - 1 - i].to_f64();
                assert!(found == after || (found - after).abs() <= scale, "second of row {i}: {found} {after}");
                expected.weights[labels[i] as usize] += 1.0;
                data.add_row(i, 1.0, expected.values.row_mut(labels[i] as usize));
            }
            assert_eq!(sums.weights, expected.weights);
            let close = |(a, b): (&f64, &f64)| (a - b).abs() < 1e-9;
            assert!(sums.values.values().iter().zip(expected.values.values()).all(close));
            let some: Vec<u32> = (0..n as u32).filter(|i| i % 3 != 1).collect();
            // Some of the rows, or moves alone, which lead from the sums of any labels to those of the new ones.
            let weights: Vec<f64> = (0..n).map(|i| 1.0 + (i % 2) as f64).collect();
            let weighted = data.with_weights(&weights).unwrap();
            for (data, rows, adds) in [
                (&data, Some(&some[..]), Adds::All),
                (&weighted, Some(&some[..]), Adds::All),
                (&weighted, None, Adds::All),
                (&data, Some(&some[..]), Adds::Moves),
                (&weighted, Some(&some[..]), Adds::Moves),
                (&data, None, Adds::Moves),
            ] {
                let mut now: Vec<u32> = (0..n).map(|i| (i % k) as u32).collect();
                let (mut sums, before) = (Sums::zeros(k, dims), now.clone());
                let changed = prepared.assign(data, 0, &mut now, rows, (adds, &mut sums));
                assert_eq!(changed, before.iter().zip(&now).filter(|(a, b)| a != b).count());
                for i in 0..n {
                    if rows.is_some_and(|rows| !rows.contains(&(i as u32))) {
                        assert_eq!(now[i], before[i]);
                        continue;
                    }
                    assert_eq!(now[i], labels[i]);
                    let weight = data.weight(i);
                    let was = if adds == Adds::Moves { weight } else { 0.0 };
                    for (label, weight) in [(before[i], was), (now[i], -weight)] {
                        sums.weights[label as usize] += weight;
                        data.add_row(i, weight, sums.values.row_mut(label as usize));
                    }
                }
                assert!(sums.weights.iter().chain(sums.values.values()).all(|v| v.abs() < 1e-9));
            }
        }
    }
}

#[test]
fn dense_kernels_agree_with_the_plain_distances_in_f64() {
    check::<f64>(1e-12);
}

#[test]
fn dense_kernels_agree_with_the_plain_distances_in_f32() {
    check::<f32>(1e-5);
}

#[test]
fn data_far_from_the_origin_keep_their_nearest_centres_in_f32() {
    let mut rng = Rng::stream(4, "kernel test", 0);
    let (n, dims, k) = (200, 40, 6);
    let rows: Vec<f32> = random(n * dims, &mut rng).into_iter().map(|v| (1000.0 + v) as f32).collect();
    let centres = Matrix::from_vec(dims, random(k * dims, &mut rng).into_iter().map(|v| 1000.0 + v).collect());
    let data = Dataset::dense(&rows, dims).unwrap();
    let (mut labels, mut distances) = (vec![0; n], vec![0.0; n]);
    Centres::new(&centres, &data).nearest(&data, 0, &mut labels, &mut distances);
    for i in 0..n {
        let least = centres.iter().map(|c| data.distance2(i, c)).fold(f64::INFINITY, f64::min);
        assert!((data.distance2(i, centres.row(labels[i] as usize)) - least).abs() < 1e-3);
        assert!((f64::from(distances[i]) - least).abs() < 1e-3 * least);
    }
}

#[test]
fn rows_on_a_scale_give_what_their_copy_gives() {
    let mut rng = Rng::stream(5, "kernel test", 0);
    for (n, dims, k) in SHAPES {
        let rows: Vec<f64> = random(n * dims, &mut rng).into_iter().map(|v| 30.0 + 5.0 * v).collect();
        let (shift, factor) = (vec![29.0; dims], (0..dims).map(|j| 0.1 + (j % 4) as f64 / 9.0).collect::<Vec<_>>());
        let scale = Scale { shift: &shift, factor: &factor };
        let copy: Vec<f64> = rows.iter().enumerate().map(|(i, &v)| scale.at(i % dims, v)).collect();
        let centres = Matrix::from_vec(dims, random(k * dims, &mut rng));
        let stored = Dataset::dense(&rows, dims).unwrap();
        let (seen, copied) = (stored.on_scale(scale), Dataset::dense(&copy, dims).unwrap());
        let of = |data: &Dataset<'_, f64>, fast: bool| {
            let prepared = Centres::with(&centres, data, dims <= DIRECT_DIMS, fast);
            let (mut labels, mut distances, mut sums) = (vec![0; n], vec![0.0; n], Sums::zeros(k, dims));
            prepared.nearest(data, 0, &mut labels, &mut distances);
            prepared.assign(data, 0, &mut labels, None, (Adds::All, &mut sums));
            (labels, distances, sums)
        };
        for fast in [false, has_avx2()] {
            let (a, b) = (of(&seen, fast), of(&copied, fast));
            assert_eq!((a.0, &a.2.weights), (b.0, &b.2.weights));
            let near = |(x, y): (&f64, &f64)| (x - y).abs() < 1e-9 * (1.0 + y.abs());
            assert!(a.1.iter().zip(&b.1).all(near));
            assert!(a.2.values.values().iter().zip(b.2.values.values()).all(near));
        }
    }
}

#[test]
fn ties_go_to_the_lowest_centre_whatever_group_it_is_in() {
    let centres = Matrix::from_vec(1, (0..20).map(|i| if i == 3 || i >= 9 { 5.0 } else { -5.0 }).collect());
    let data = Dataset::dense(&[5.0; 6], 1).unwrap();
    let (mut labels, mut distances) = (vec![0; 6], vec![0.0; 6]);
    Centres::new(&centres, &data).nearest(&data, 0, &mut labels, &mut distances);
    assert_eq!(labels, [3; 6]);
}

#[test]
fn distances_beyond_the_largest_number_go_to_the_first_centre() {
    let rows = [1e38f32; 80];
    let data = Dataset::dense(&rows, 40).unwrap();
    let centres = Matrix::from_vec(40, vec![-1e38; 80]);
    let (mut labels, mut distances) = (vec![7; 2], vec![0.0; 2]);
    Centres::new(&centres, &data).nearest(&data, 0, &mut labels, &mut distances);
    assert_eq!(labels, [0, 0]);
}

#[test]
fn sparse_rows_give_what_dense_ones_give() {
    let mut rng = Rng::stream(2, "kernel test", 0);
    let (dims, k) = (40, 6);
    let centres = Matrix::from_vec(dims, random(k * dims, &mut rng));
    let dense: Vec<f64> = (0..10 * dims).map(|_| if rng.unit() < 0.2 { rng.normal() } else { 0.0 }).collect();
    let (mut starts, mut columns, mut values) = (vec![0], vec![], vec![]);
    for row in dense.chunks(dims) {
        for (j, &v) in row.iter().enumerate().filter(|(_, v)| **v != 0.0) {
            columns.push(j as u32);
            values.push(v);
        }
        starts.push(values.len());
    }
    let (mut a, mut b) = ((vec![0; 10], vec![0.0; 10]), (vec![0; 10], vec![0.0; 10]));
    let d = Dataset::dense(&dense, dims).unwrap();
    let s = Dataset::sparse(&starts, &columns, &values, dims).unwrap();
    Centres::new(&centres, &d).nearest(&d, 0, &mut a.0, &mut a.1);
    Centres::new(&centres, &s).nearest(&s, 0, &mut b.0, &mut b.1);
    assert_eq!(a.0, b.0);
    assert!(a.1.iter().zip(&b.1).all(|(x, y)| (x - y).abs() < 1e-9));
}
