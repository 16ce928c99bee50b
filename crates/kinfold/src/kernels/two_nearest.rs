//! The two nearest centres of eight dense rows at a time, one lane per row: for rows picked out of the data, where the
//! second nearest matters. Squared differences at every width, in f64. Ties go to the lowest centre. With AVX2 and FMA
//! at run time the same code is compiled for them; the plain twin is the same code without.

use crate::data::{Float, Matrix};

/// Rows per call.
pub(crate) const LANES: usize = 8;

/// Nearest and second nearest centre of each lane and the squared distances; with one centre the second is 0, at
/// infinity.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Lanes {
    pub(crate) first: [u32; LANES],
    pub(crate) second: [u32; LANES],
    pub(crate) first_d2: [f64; LANES],
    pub(crate) second_d2: [f64; LANES],
}

/// Looks at up to `LANES` rows; `buffer` has one entry per dimension and is overwritten. Lanes without a row hold
/// whatever the buffer held.
#[allow(unsafe_code)]
pub(crate) fn two_nearest<F: Float>(centres: &Matrix, rows: &[&[F]], buffer: &mut [[f64; LANES]]) -> Lanes {
    for (lane, row) in rows.iter().enumerate() {
        buffer.iter_mut().zip(*row).for_each(|(b, v)| b[lane] = v.to_f64());
    }
    #[cfg(target_arch = "x86_64")]
    if super::has_avx2() {
        // SAFETY: the processor has both.
        return unsafe { with_avx2(centres, buffer) };
    }
    with::<false>(centres, buffer)
}

#[cfg(target_arch = "x86_64")]
#[allow(unsafe_code)]
#[target_feature(enable = "avx2,fma")]
unsafe fn with_avx2(centres: &Matrix, buffer: &[[f64; LANES]]) -> Lanes {
    with::<true>(centres, buffer)
}

/// Centres that are looked at together: enough sums at a time that none waits for the one before.
const TOGETHER: usize = 4;

#[inline(always)]
fn with<const FUSED: bool>(centres: &Matrix, buffer: &[[f64; LANES]]) -> Lanes {
    let mut found = Found { d2: [[f64::INFINITY; LANES]; 2], at: [[0.0; LANES]; 2] };
    let mut c = 0;
    while c + TOGETHER <= centres.rows() {
        found.meet(c, distances::<FUSED, TOGETHER>(centres, c, buffer));
        c += TOGETHER;
    }
    while c < centres.rows() {
        found.meet(c, distances::<FUSED, 1>(centres, c, buffer));
        c += 1;
    }
    let [first_d2, second_d2] = found.d2;
    let [first, second] = found.at.map(|numbers| numbers.map(|c| c as u32));
    Lanes { first, second, first_d2, second_d2 }
}

/// Squared distances of the lanes to G centres from `c` on.
#[inline(always)]
fn distances<const FUSED: bool, const G: usize>(
    centres: &Matrix,
    c: usize,
    buffer: &[[f64; LANES]],
) -> [[f64; LANES]; G] {
    let rows: [&[f64]; G] = std::array::from_fn(|g| &centres.row(c + g)[..buffer.len()]);
    let mut sums = [[0.0; LANES]; G];
    for (j, x) in buffer.iter().enumerate() {
        for (sum, row) in sums.iter_mut().zip(&rows) {
            for lane in 0..LANES {
                let d = x[lane] - row[j];
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

impl Found {
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
            let mut buffer = vec![[0.0; LANES]; dims];
            let fast = two_nearest(&centres, &borrowed, &mut buffer);
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
        }
    }

    #[test]
    fn ties_go_to_the_lower_centres() {
        let centres = Matrix::from_vec(1, vec![5.0, 1.0, 1.0, 1.0, -3.0]);
        let found = two_nearest(&centres, &[&[1.0], &[-1.0]], &mut [[0.0; LANES]]);
        assert_eq!((found.first[0], found.second[0]), (1, 2));
        assert_eq!((found.first[1], found.second[1]), (1, 2));
    }
}
