//! e^x of many numbers: x = n·ln 2 + r with |r| ≤ ln 2 / 2, e^r as a polynomial of degree 11 (2e-17 from it at most, a
//! tenth of a unit in the last place), times 2^n by way of the exponent's bits. Within two units in the last place; what is below
//! the smallest normal number is 0. With AVX2 and FMA at run time the same code is compiled for them; the plain twin is
//! the same code without.

/// Replaces every number by e to its power.
#[allow(unsafe_code)]
pub(crate) fn exp(values: &mut [f64]) {
    #[cfg(target_arch = "x86_64")]
    if super::has_avx2() {
        #[target_feature(enable = "avx2,fma")]
        unsafe fn fast(values: &mut [f64]) {
            values.iter_mut().for_each(|v| *v = one::<true, false>(*v));
        }
        // SAFETY: the processor has AVX2 and FMA.
        unsafe { fast(values) };
        return;
    }
    values.iter_mut().for_each(|v| *v = one::<false, false>(*v));
}

/// Replaces every number by e to the power of its product with `factor` and a factor of its own, which is not above 0.
#[allow(unsafe_code)]
pub(crate) fn exp_of_products(values: &mut [f64], factor: f64, factors: &[f64]) {
    #[cfg(target_arch = "x86_64")]
    if super::has_avx2() {
        #[target_feature(enable = "avx2,fma")]
        unsafe fn fast(values: &mut [f64], factor: f64, factors: &[f64]) {
            values.iter_mut().zip(factors).for_each(|(v, f)| *v = one::<true, true>(*v * (factor * f)));
        }
        // SAFETY: the processor has AVX2 and FMA.
        unsafe { fast(values, factor, factors) };
        return;
    }
    values.iter_mut().zip(factors).for_each(|(v, f)| *v = one::<false, true>(*v * (factor * f)));
}

/// ln 2 in two parts, the first so short that its products with whole numbers are exact.
const LN2_HIGH: f64 = 6.931_471_803_691_238e-1;
const LN2_LOW: f64 = 1.908_214_929_270_587_7e-10;
/// Added to a number it leaves the nearest whole number in the last bits.
const ROUND: f64 = 6_755_399_441_055_744.0;
/// Exponents of the smallest and the largest normal number.
const LEAST: f64 = -708.0;
const MOST: f64 = 709.0;
/// (e^r − 1 − r) / r² at the Chebyshev nodes of |r| ≤ ln 2 / 2, highest power first.
const TERMS: [f64; 10] = [
    2.510_038_549_551_032e-8,
    2.762_008_844_540_974_6e-7,
    2.755_726_845_999_706_4e-6,
    2.480_152_129_595_437_6e-5,
    1.984_126_986_305_361_8e-4,
    1.388_888_891_721_371_7e-3,
    8.333_333_333_330_062e-3,
    4.166_666_666_662_413e-2,
    1.666_666_666_666_666_9e-1,
    5.000_000_000_000_001e-1,
];

/// `BELOW` is a promise that x is not above 0.
#[inline(always)]
fn one<const FUSED: bool, const BELOW: bool>(x: f64) -> f64 {
    let fused = |a: f64, b: f64, c: f64| if FUSED { a.mul_add(b, c) } else { a * b + c };
    // A NaN passes through both.
    let inside = if x < LEAST { LEAST } else { x };
    let inside = if !BELOW && inside > MOST { MOST } else { inside };
    let shifted = fused(inside, std::f64::consts::LOG2_E, ROUND);
    let n = shifted - ROUND;
    let r = fused(-n, LN2_LOW, fused(-n, LN2_HIGH, inside));
    let mut sum = TERMS[0];
    for term in &TERMS[1..] {
        sum = fused(sum, r, *term);
    }
    let e = fused(fused(sum, r, 1.0), r, 1.0);
    let power = f64::from_bits(shifted.to_bits().wrapping_add(1023) << 52);
    let result = e * power;
    let result = if x < LEAST { 0.0 } else { result };
    if !BELOW && x > MOST { f64::INFINITY } else { result }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fast_and_plain_are_the_library_s_within_two_units_in_the_last_place() {
        let mut rng = crate::rng::Rng::stream(8, "exp test", 0);
        let spread = |rng: &mut crate::rng::Rng, by: f64| by * (2.0 * rng.unit() - 1.0);
        let mut x: Vec<f64> = (0..20_000).map(|i| spread(&mut rng, [700.0, 30.0, 1.0, 1e-9][i % 4])).collect();
        x.extend([0.0, -0.0, 1.0, -708.0, 709.0, 0.5 * std::f64::consts::LN_2, -0.5 * std::f64::consts::LN_2]);
        let mut fast = x.clone();
        exp(&mut fast);
        let mut below: Vec<f64> = x.iter().map(|x| 2.0 * x.abs()).collect();
        exp_of_products(&mut below, -2.0, &vec![0.25; x.len()]);
        assert!(below.iter().zip(&fast).zip(&x).all(|((b, f), x)| *x > 0.0 || b == f));
        for (x, fast) in x.iter().zip(fast) {
            let off = |found: f64| (found - x.exp()).abs() / (x.exp() * f64::EPSILON);
            assert!(
                off(fast) <= 2.0 && off(one::<false, false>(*x)) <= 2.0,
                "{x}: {} {}",
                off(fast),
                off(one::<false, false>(*x))
            );
        }
    }

    #[test]
    fn beyond_the_range_it_is_zero_or_infinite_and_nan_stays() {
        let mut x = [-1e300, f64::NEG_INFINITY, -710.0, 710.0, f64::INFINITY, f64::NAN];
        exp(&mut x);
        assert_eq!((&x[..3], &x[3..5]), (&[0.0; 3][..], &[f64::INFINITY; 2][..]));
        assert!(x[5].is_nan());
    }
}
