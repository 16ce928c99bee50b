//! e^x of many numbers: x = n·ln 2 + r with |r| ≤ ln 2 / 2, the Taylor sum of e^r to the 13th power (its rest is below
//! half a unit in the last place), times 2^n by way of the exponent's bits. Within two units in the last place; what is below
//! the smallest normal number is 0. With AVX2 and FMA at run time the same code is compiled for them; the plain twin is
//! the same code without.

/// Replaces every number by e to its power.
#[allow(unsafe_code)]
pub(crate) fn exp(values: &mut [f64]) {
    #[cfg(target_arch = "x86_64")]
    if super::has_avx2() {
        #[target_feature(enable = "avx2,fma")]
        unsafe fn fast(values: &mut [f64]) {
            values.iter_mut().for_each(|v| *v = one::<true>(*v));
        }
        // SAFETY: the processor has AVX2 and FMA.
        unsafe { fast(values) };
        return;
    }
    values.iter_mut().for_each(|v| *v = one::<false>(*v));
}

/// ln 2 in two parts, the first so short that its products with whole numbers are exact.
const LN2_HIGH: f64 = 6.931_471_803_691_238e-1;
const LN2_LOW: f64 = 1.908_214_929_270_587_7e-10;
/// Added to a number it leaves the nearest whole number in the last bits.
const ROUND: f64 = 6_755_399_441_055_744.0;
/// Exponents of the smallest and the largest normal number.
const LEAST: f64 = -708.0;
const MOST: f64 = 709.0;
/// 1/13! … 1/2!.
const TERMS: [f64; 12] = [
    1.0 / 6_227_020_800.0,
    1.0 / 479_001_600.0,
    1.0 / 39_916_800.0,
    1.0 / 3_628_800.0,
    1.0 / 362_880.0,
    1.0 / 40_320.0,
    1.0 / 5_040.0,
    1.0 / 720.0,
    1.0 / 120.0,
    1.0 / 24.0,
    1.0 / 6.0,
    0.5,
];

#[inline(always)]
fn one<const FUSED: bool>(x: f64) -> f64 {
    let fused = |a: f64, b: f64, c: f64| if FUSED { a.mul_add(b, c) } else { a * b + c };
    // A NaN passes through both.
    let inside = if x < LEAST { LEAST } else { x };
    let inside = if inside > MOST { MOST } else { inside };
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
    if x > MOST { f64::INFINITY } else { result }
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
        for (x, fast) in x.iter().zip(fast) {
            let off = |found: f64| (found - x.exp()).abs() / (x.exp() * f64::EPSILON);
            assert!(off(fast) <= 2.0 && off(one::<false>(*x)) <= 2.0, "{x}: {} {}", off(fast), off(one::<false>(*x)));
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
