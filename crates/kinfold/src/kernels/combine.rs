//! Sums of many rows with factors, four rows at a time, so that the sum is loaded and stored once for four. With AVX2
//! and FMA at run time the same code is compiled for them; the plain twin is the same code without.

/// out += Σ factor · row(number) over `terms` of (number, factor). Every row is as long as `out`.
#[allow(unsafe_code)]
pub(crate) fn add_rows<'a>(out: &mut [f64], terms: &[(u32, f64)], row: impl Fn(u32) -> &'a [f64]) {
    let mut fours = terms.chunks_exact(4);
    for four in &mut fours {
        let rows = [0, 1, 2, 3].map(|t: usize| row(four[t].0));
        add(out, rows, [0, 1, 2, 3].map(|t: usize| four[t].1));
    }
    for &(number, factor) in fours.remainder() {
        add(out, [row(number)], [factor]);
    }
}

#[allow(unsafe_code)]
fn add<const N: usize>(out: &mut [f64], rows: [&[f64]; N], factors: [f64; N]) {
    #[cfg(target_arch = "x86_64")]
    if super::has_avx2() {
        #[target_feature(enable = "avx2,fma")]
        unsafe fn fast<const N: usize>(out: &mut [f64], rows: [&[f64]; N], factors: [f64; N]) {
            add_with::<true, N>(out, rows, factors);
        }
        // SAFETY: the processor has AVX2 and FMA.
        unsafe { fast(out, rows, factors) };
        return;
    }
    add_with::<false, N>(out, rows, factors);
}

#[inline(always)]
fn add_with<const FUSED: bool, const N: usize>(out: &mut [f64], rows: [&[f64]; N], factors: [f64; N]) {
    let rows = rows.map(|row| &row[..out.len()]);
    for (i, sum) in out.iter_mut().enumerate() {
        for (row, factor) in rows.iter().zip(factors) {
            *sum = if FUSED { factor.mul_add(row[i], *sum) } else { *sum + factor * row[i] };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Rng;

    #[test]
    fn fast_and_plain_are_the_sum_term_by_term() {
        let mut rng = Rng::stream(4, "combine test", 0);
        for (width, count) in [(1, 1), (7, 4), (33, 10), (64, 3)] {
            let rows: Vec<f64> = (0..width * 5).map(|_| rng.normal()).collect();
            let row = |number: u32| &rows[number as usize * width..(number as usize + 1) * width];
            let terms: Vec<(u32, f64)> = (0..count).map(|_| (rng.below(5) as u32, rng.normal())).collect();
            let start: Vec<f64> = (0..width).map(|_| rng.normal()).collect();
            let (mut fast, mut plain) = (start.clone(), start);
            add_rows(&mut fast, &terms, row);
            terms.iter().for_each(|&(number, factor)| add_with::<false, 1>(&mut plain, [row(number)], [factor]));
            assert!(fast.iter().zip(&plain).all(|(a, b)| (a - b).abs() < 1e-13), "{fast:?} {plain:?}");
        }
    }
}
