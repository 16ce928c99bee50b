//! ‖L⁻¹(x − μ)‖² of eight rows at a time, one lane per row, for Gaussians: four rows of the triangle at once, so that no
//! sum waits for the one before, and nothing above the diagonal. With AVX2 and FMA at run time the same code is
//! compiled for them; the plain twin is the same code without.

use super::two_nearest::{Eight, LANES};

/// Rows of the triangle that are worked on together.
const TOGETHER: usize = 4;

/// Squared lengths of centred rows in lanes, by the inverse of a lower triangle (dims × dims, zeros above).
#[allow(unsafe_code)]
pub(crate) fn squares(inverse: &[f64], centred: &[Eight]) -> [f64; LANES] {
    #[cfg(target_arch = "x86_64")]
    if super::has_avx2() {
        #[target_feature(enable = "avx2,fma")]
        unsafe fn fast(inverse: &[f64], centred: &[Eight]) -> [f64; LANES] {
            squares_with::<true>(inverse, centred)
        }
        // SAFETY: the processor has both.
        return unsafe { fast(inverse, centred) };
    }
    squares_with::<false>(inverse, centred)
}

#[inline(always)]
fn squares_with<const FUSED: bool>(inverse: &[f64], centred: &[Eight]) -> [f64; LANES] {
    let dims = centred.len();
    let mut total = [0.0; LANES];
    let mut a = 0;
    while a + TOGETHER <= dims {
        let rows = std::array::from_fn(|g| &inverse[(a + g) * dims..(a + g) * dims + a + TOGETHER]);
        add_squares::<FUSED, TOGETHER>(rows, &centred[..a + TOGETHER], &mut total);
        a += TOGETHER;
    }
    while a < dims {
        add_squares::<FUSED, 1>([&inverse[a * dims..a * dims + a + 1]], &centred[..a + 1], &mut total);
        a += 1;
    }
    total
}

/// Adds the squares of G products.
#[inline(always)]
fn add_squares<const FUSED: bool, const G: usize>(rows: [&[f64]; G], centred: &[Eight], total: &mut [f64; LANES]) {
    let fused = |a: f64, b: f64, c: f64| if FUSED { a.mul_add(b, c) } else { a * b + c };
    let rows = rows.map(|row| &row[..centred.len()]);
    let mut sums = [[0.0; LANES]; G];
    for (j, x) in centred.iter().enumerate() {
        for (sum, row) in sums.iter_mut().zip(&rows) {
            for lane in 0..LANES {
                sum[lane] = fused(row[j], x.0[lane], sum[lane]);
            }
        }
    }
    for sum in sums {
        for lane in 0..LANES {
            total[lane] = fused(sum[lane], sum[lane], total[lane]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Rng;

    #[test]
    fn fast_and_plain_are_the_squared_lengths_of_the_products() {
        let mut rng = Rng::stream(6, "whiten test", 0);
        for dims in [1, 2, 4, 7, 19] {
            let lower = |i: usize, j: usize| j <= i;
            let inverse: Vec<f64> =
                (0..dims * dims).map(|at| if lower(at / dims, at % dims) { rng.normal() } else { 0.0 }).collect();
            let centred: Vec<Eight> = (0..dims).map(|_| Eight(std::array::from_fn(|_| rng.normal()))).collect();
            let (fast, plain) = (squares(&inverse, &centred), squares_with::<false>(&inverse, &centred));
            for lane in 0..LANES {
                let product = |row: &[f64]| row.iter().zip(&centred).map(|(l, x)| l * x.0[lane]).sum::<f64>();
                let expected: f64 = inverse.chunks_exact(dims).map(|row| product(row).powi(2)).sum();
                assert!((fast[lane] - expected).abs() < 1e-12 * (1.0 + expected));
                assert!((plain[lane] - expected).abs() < 1e-12 * (1.0 + expected));
            }
        }
    }
}
