//! The two nearest centres of eight points at a time, one lane per point, where the second nearest matters: of dense
//! rows, gathered into lanes once and looked at often, by squared differences at every width, in f64; or of points whose
//! distances are known. Ties go to the lowest centre. With AVX2 and FMA at run time the same code is compiled for
//! them; the plain twin is the same code without.

use crate::data::{Float, Matrix};

/// Rows per call.
pub(crate) const LANES: usize = 8;

/// One value of each of eight rows, in a cache line of its own.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
#[repr(C, align(64))]
pub(crate) struct Eight(pub(crate) [f64; LANES]);

/// Nearest and second nearest centre of each lane and the squared distances; with one centre the second is 0, at
/// infinity.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Lanes {
    pub(crate) first: [u32; LANES],
    pub(crate) second: [u32; LANES],
    pub(crate) first_d2: [f64; LANES],
    pub(crate) second_d2: [f64; LANES],
}

/// Writes up to `LANES` rows side by side; `lanes` has one entry per dimension. Lanes without a row stay.
pub(crate) fn gather<F: Float>(rows: &[&[F]], lanes: &mut [Eight]) {
    for (lane, row) in rows.iter().enumerate() {
        lanes.iter_mut().zip(*row).for_each(|(b, v)| b.0[lane] = v.to_f64());
    }
}

/// The two nearest centres of gathered rows.
#[allow(unsafe_code)]
pub(crate) fn two_nearest(centres: &Matrix, lanes: &[Eight]) -> Lanes {
    #[cfg(target_arch = "x86_64")]
    if super::has_avx2() {
        #[target_feature(enable = "avx2,fma")]
        unsafe fn fast(centres: &Matrix, lanes: &[Eight]) -> Lanes {
            with::<true>(centres, lanes)
        }
        // SAFETY: the processor has both.
        return unsafe { fast(centres, lanes) };
    }
    with::<false>(centres, lanes)
}

/// The two smallest of known squared distances: `columns` holds `width` of them for each centre, and the lanes are those
/// from `from` on, repeated from the last where there are too few.
#[allow(unsafe_code)]
pub(crate) fn two_smallest(columns: &[f64], width: usize, from: usize) -> Lanes {
    #[cfg(target_arch = "x86_64")]
    if super::has_avx2() {
        #[target_feature(enable = "avx2,fma")]
        unsafe fn fast(columns: &[f64], width: usize, from: usize) -> Lanes {
            smallest(columns, width, from, |_, d| d)
        }
        // SAFETY: the processor has both.
        return unsafe { fast(columns, width, from) };
    }
    smallest(columns, width, from, |_, d| d)
}

/// The same from the sums of inner products that a cluster has with every point: own − factor · sum + square, with a
/// factor and a square for every centre.
#[allow(unsafe_code)]
pub(crate) fn two_smallest_of_sums(
    columns: &[f64],
    width: usize,
    from: usize,
    own: &[f64],
    centres: &[(f64, f64)],
) -> Lanes {
    #[cfg(target_arch = "x86_64")]
    if super::has_avx2() {
        #[target_feature(enable = "avx2,fma")]
        unsafe fn fast(columns: &[f64], width: usize, from: usize, own: &[f64], centres: &[(f64, f64)]) -> Lanes {
            of_sums::<true>(columns, width, from, own, centres)
        }
        // SAFETY: the processor has both.
        return unsafe { fast(columns, width, from, own, centres) };
    }
    of_sums::<false>(columns, width, from, own, centres)
}

#[inline(always)]
fn of_sums<const FUSED: bool>(
    columns: &[f64],
    width: usize,
    from: usize,
    own: &[f64],
    centres: &[(f64, f64)],
) -> Lanes {
    let own = eight(own, from);
    smallest(columns, width, from, |c, mut sums| {
        let (factor, square) = centres[c];
        for lane in 0..LANES {
            let rest = own[lane] + square;
            sums[lane] = if FUSED { (-factor).mul_add(sums[lane], rest) } else { rest - factor * sums[lane] };
        }
        sums
    })
}

/// Eight numbers from `from` on, repeated from the last where there are too few.
#[inline(always)]
fn eight(numbers: &[f64], from: usize) -> [f64; LANES] {
    match numbers[from..].first_chunk::<LANES>() {
        Some(eight) => *eight,
        None => std::array::from_fn(|lane| numbers[(from + lane).min(numbers.len() - 1)]),
    }
}

#[inline(always)]
fn smallest(
    columns: &[f64],
    width: usize,
    from: usize,
    distance: impl Fn(usize, [f64; LANES]) -> [f64; LANES],
) -> Lanes {
    let mut found = Found::default();
    for (c, column) in columns.chunks_exact(width).enumerate() {
        found.meet(c, [distance(c, eight(column, from))]);
    }
    found.lanes()
}

/// Centres that are looked at together: enough sums at a time that none waits for the one before.
const TOGETHER: usize = 4;

#[inline(always)]
fn with<const FUSED: bool>(centres: &Matrix, lanes: &[Eight]) -> Lanes {
    let mut found = Found::default();
    let mut c = 0;
    while c + TOGETHER <= centres.rows() {
        found.meet(c, distances::<FUSED, TOGETHER>(centres, c, lanes));
        c += TOGETHER;
    }
    match centres.rows() - c {
        3 => found.meet(c, distances::<FUSED, 3>(centres, c, lanes)),
        2 => found.meet(c, distances::<FUSED, 2>(centres, c, lanes)),
        1 => found.meet(c, distances::<FUSED, 1>(centres, c, lanes)),
        _ => {}
    }
    found.lanes()
}

/// Squared distances of the lanes to G centres from `c` on.
#[inline(always)]
fn distances<const FUSED: bool, const G: usize>(centres: &Matrix, c: usize, lanes: &[Eight]) -> [[f64; LANES]; G] {
    let rows: [&[f64]; G] = std::array::from_fn(|g| &centres.row(c + g)[..lanes.len()]);
    let mut sums = [[0.0; LANES]; G];
    for (j, x) in lanes.iter().enumerate() {
        for (sum, row) in sums.iter_mut().zip(&rows) {
            for lane in 0..LANES {
                let d = x.0[lane] - row[j];
                sum[lane] = if FUSED { d.mul_add(d, sum[lane]) } else { sum[lane] + d * d };
            }
        }
    }
    sums
}

/// The nearest and the second nearest so far. Numbers of centres as f64, so that they are selected like the distances.
struct Found {
    d2: [[f64; LANES]; 2],
    at: [[f64; LANES]; 2],
}

impl Default for Found {
    #[inline(always)]
    fn default() -> Found {
        Found { d2: [[f64::INFINITY; LANES]; 2], at: [[0.0; LANES]; 2] }
    }
}

impl Found {
    #[inline(always)]
    fn lanes(self) -> Lanes {
        let [first_d2, second_d2] = self.d2;
        let [first, second] = self.at.map(|numbers| numbers.map(|c| c as u32));
        Lanes { first, second, first_d2, second_d2 }
    }

    #[inline(always)]
    fn meet<const G: usize>(&mut self, c: usize, sums: [[f64; LANES]; G]) {
        let ([first_d2, second_d2], [first, second]) = (&mut self.d2, &mut self.at);
        for (g, sum) in sums.iter().enumerate() {
            let number = (c + g) as f64;
            for lane in 0..LANES {
                let (closest, closer) = (sum[lane] < first_d2[lane], sum[lane] < second_d2[lane]);
                let (runner_up, at) = if closest { (first_d2[lane], first[lane]) } else { (sum[lane], number) };
                second_d2[lane] = if closer { runner_up } else { second_d2[lane] };
                second[lane] = if closer { at } else { second[lane] };
                first_d2[lane] = if closest { sum[lane] } else { first_d2[lane] };
                first[lane] = if closest { number } else { first[lane] };
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Rng;

    #[test]
    fn fast_and_plain_agree_with_a_sorted_list_of_distances() {
        let mut rng = Rng::stream(3, "two nearest test", 0);
        for (dims, k) in [(1, 1), (1, 2), (3, 5), (10, 9), (64, 20)] {
            let rows: Vec<Vec<f64>> = (0..LANES).map(|_| (0..dims).map(|_| rng.normal()).collect()).collect();
            let centres = Matrix::from_vec(dims, (0..k * dims).map(|_| rng.normal()).collect());
            let borrowed: Vec<&[f64]> = rows.iter().map(Vec::as_slice).collect();
            let mut buffer = vec![Eight::default(); dims];
            gather(&borrowed, &mut buffer);
            let fast = two_nearest(&centres, &buffer);
            let plain = with::<false>(&centres, &buffer);
            assert_eq!((fast.first, fast.second), (plain.first, plain.second));
            for (lane, row) in rows.iter().enumerate() {
                let distance = |c: &[f64]| row.iter().zip(c).map(|(x, y)| (x - y).powi(2)).sum::<f64>();
                let mut by: Vec<(f64, u32)> = centres.iter().map(distance).zip(0..).collect();
                by.sort_by(|a, b| a.partial_cmp(b).unwrap());
                assert_eq!(fast.first[lane], by[0].1);
                assert!((fast.first_d2[lane] - by[0].0).abs() < 1e-12 * (1.0 + by[0].0));
                if k > 1 {
                    assert_eq!(fast.second[lane], by[1].1);
                    assert!((fast.second_d2[lane] - by[1].0).abs() < 1e-12 * (1.0 + by[1].0));
                } else {
                    assert_eq!(fast.second_d2[lane], f64::INFINITY);
                }
            }
            // The same from known distances: three lanes from the fifth on, then the last again.
            let distance = |c: &[f64], row: &[f64]| row.iter().zip(c).map(|(x, y)| (x - y).powi(2)).sum::<f64>();
            let columns: Vec<f64> = centres.iter().flat_map(|c| rows[..7].iter().map(|r| distance(c, r))).collect();
            let known = two_smallest(&columns, 7, 4);
            assert_eq!((&known.first[..3], &known.second[..3]), (&fast.first[4..7], &fast.second[4..7]));
            assert_eq!(known.first[3..], [known.first[2]; 5]);
            // And from inner products.
            let product = |c: &[f64], row: &[f64]| row.iter().zip(c).map(|(x, y)| x * y).sum::<f64>();
            let own: Vec<f64> = rows[..7].iter().map(|r| product(r, r)).collect();
            let sums: Vec<f64> = centres.iter().flat_map(|c| rows[..7].iter().map(|r| 3.0 * product(c, r))).collect();
            let means: Vec<(f64, f64)> = centres.iter().map(|c| (2.0 / 3.0, product(c, c))).collect();
            let [a, b] = [two_smallest_of_sums(&sums, 7, 4, &own, &means), of_sums::<false>(&sums, 7, 4, &own, &means)];
            for found in [a, b] {
                assert_eq!((found.first, found.second), (known.first, known.second));
                let off = |x: f64, y: f64| (x - y).abs() > 1e-12 * (1.0 + y) && x != y;
                assert!((0..LANES).all(|lane| !off(found.first_d2[lane], known.first_d2[lane])));
                assert!((0..LANES).all(|lane| !off(found.second_d2[lane], known.second_d2[lane])));
            }
        }
    }

    #[test]
    fn ties_go_to_the_lower_centres() {
        let centres = Matrix::from_vec(1, vec![5.0, 1.0, 1.0, 1.0, -3.0]);
        let mut lanes = [Eight::default()];
        gather(&[&[1.0], &[-1.0]], &mut lanes);
        let found = two_nearest(&centres, &lanes);
        assert_eq!((found.first[0], found.second[0]), (1, 2));
        assert_eq!((found.first[1], found.second[1]), (1, 2));
    }
}
