//! All pairs of few rows that stand in lanes: products or squared distances of four rows with eight at a time, so that
//! six loads feed eight sums; and the n-th smallest of every column of a matrix: four columns side by side sort eight
//! values at a time by minima and maxima without a branch and merge them into their smallest. With AVX2 and FMA at run time the same code is
//! compiled for them; the plain twin is the same code without.

use super::two_nearest::{Eight, LANES};

/// Rows that meet eight others at a time.
const ROWS: usize = 4;
/// Ranks that `nth_of_columns` can find.
pub(crate) const RANKS: usize = 8;
/// Columns at a time, whose smallest stay in registers.
const FOUR: usize = LANES / 2;

/// Writes the products, or squared distances, of the eight rows of one group with all rows: `out` has up to eight lines
/// of `n`. A group has one entry per dimension. The same bits for (i, j) and (j, i).
#[allow(unsafe_code)]
pub(crate) fn meet_all(group: &[Eight], groups: &[Eight], squared: bool, n: usize, out: &mut [f64]) {
    #[cfg(target_arch = "x86_64")]
    if super::has_avx2() {
        #[target_feature(enable = "avx2,fma")]
        unsafe fn fast(group: &[Eight], groups: &[Eight], squared: bool, n: usize, out: &mut [f64]) {
            meet_with::<true>(group, groups, squared, n, out);
        }
        // SAFETY: the processor has AVX2 and FMA.
        unsafe { fast(group, groups, squared, n, out) };
        return;
    }
    meet_with::<false>(group, groups, squared, n, out);
}

#[inline(always)]
fn meet_with<const FUSED: bool>(group: &[Eight], groups: &[Eight], squared: bool, n: usize, out: &mut [f64]) {
    match squared {
        true => meet::<FUSED, true>(group, groups, n, out),
        false => meet::<FUSED, false>(group, groups, n, out),
    }
}

#[inline(always)]
fn meet<const FUSED: bool, const SQUARED: bool>(group: &[Eight], groups: &[Eight], n: usize, out: &mut [f64]) {
    for (half, lines) in out.chunks_mut(ROWS * n).enumerate() {
        for (g, other) in groups.chunks_exact(group.len()).enumerate() {
            let mut sums = [[0.0f64; LANES]; ROWS];
            for (x, y) in group.iter().zip(other) {
                for (r, sum) in sums.iter_mut().enumerate() {
                    let x = x.0[half * ROWS + r];
                    for lane in 0..LANES {
                        let (a, b) = if SQUARED { (x - y.0[lane], x - y.0[lane]) } else { (x, y.0[lane]) };
                        sum[lane] = if FUSED { a.mul_add(b, sum[lane]) } else { sum[lane] + a * b };
                    }
                }
            }
            let from = g * LANES;
            for (line, sum) in lines.chunks_exact_mut(n).zip(&sums) {
                match line[from..].first_chunk_mut::<LANES>() {
                    Some(eight) => *eight = *sum,
                    None => line[from..].iter_mut().zip(sum).for_each(|(o, s)| *o = *s),
                }
            }
        }
    }
}

/// The value with `nth` values before it in each of eight columns from `from` on when the column is sorted, for `nth`
/// below [`RANKS`]; columns beyond the last repeat it. Columns are as long as `width`.
#[allow(unsafe_code)]
pub(crate) fn nth_of_columns(values: &[f64], width: usize, from: usize, nth: usize) -> [f64; LANES] {
    #[cfg(target_arch = "x86_64")]
    if super::has_avx2() {
        #[target_feature(enable = "avx2,fma")]
        unsafe fn fast(values: &[f64], width: usize, from: usize, nth: usize) -> [f64; LANES] {
            nth_with(values, width, from, nth)
        }
        // SAFETY: the processor has AVX2 and FMA.
        return unsafe { fast(values, width, from, nth) };
    }
    nth_with(values, width, from, nth)
}

/// Exchanges one after the other, written out so that all stays in registers.
macro_rules! exchange {
    ($values:expr, $($i:literal $j:literal),*) => { $( order($values, $i, $j); )* };
}

#[inline(always)]
fn nth_with(values: &[f64], width: usize, from: usize, nth: usize) -> [f64; LANES] {
    let mut found = [0.0; LANES];
    for (half, found) in found.chunks_exact_mut(FOUR).enumerate() {
        let at = from + half * FOUR;
        let mut least = [[f64::INFINITY; FOUR]; RANKS];
        for lines in values.chunks(RANKS * width) {
            let mut next = [[f64::INFINITY; FOUR]; RANKS];
            for (line, next) in lines.chunks_exact(width).zip(&mut next) {
                *next = match line.get(at..).and_then(|l| l.first_chunk::<FOUR>()) {
                    Some(four) => *four,
                    None => std::array::from_fn(|lane| line[(at + lane).min(width - 1)]),
                };
            }
            // Sorts eight.
            exchange!(&mut next, 0 1, 2 3, 4 5, 6 7, 0 2, 1 3, 4 6, 5 7, 1 2, 5 6);
            exchange!(&mut next, 0 4, 3 7, 1 5, 2 6, 1 4, 3 6, 2 4, 3 5, 3 4);
            // The smaller of the i-th and the i-th from the end: the eight smallest of sixteen, up and down again.
            for i in 0..RANKS {
                for lane in 0..FOUR {
                    let (kept, new) = (least[i][lane], next[RANKS - 1 - i][lane]);
                    least[i][lane] = if new < kept { new } else { kept };
                }
            }
            // Sorts eight that rise and then fall.
            exchange!(&mut least, 0 4, 1 5, 2 6, 3 7, 0 2, 1 3, 4 6, 5 7, 0 1, 2 3, 4 5, 6 7);
        }
        found.copy_from_slice(&least[nth]);
    }
    found
}

/// The smaller to `i`, the larger to `j`, lane by lane.
#[inline(always)]
fn order(values: &mut [[f64; FOUR]; RANKS], i: usize, j: usize) {
    for lane in 0..FOUR {
        let (a, b) = (values[i][lane], values[j][lane]);
        (values[i][lane], values[j][lane]) = if b < a { (b, a) } else { (a, b) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::two_nearest::gather;
    use crate::rng::Rng;

    #[test]
    fn fast_and_plain_are_the_pairs_one_by_one() {
        let mut rng = Rng::stream(6, "square test", 0);
        for (n, dims) in [(1usize, 1), (5, 2), (8, 3), (21, 40)] {
            let rows: Vec<Vec<f64>> = (0..n).map(|_| (0..dims).map(|_| rng.normal()).collect()).collect();
            let borrowed: Vec<&[f64]> = rows.iter().map(Vec::as_slice).collect();
            let mut lanes = vec![Eight::default(); n.div_ceil(LANES) * dims];
            lanes.chunks_exact_mut(dims).zip(borrowed.chunks(LANES)).for_each(|(l, r)| gather(r, l));
            for squared in [false, true] {
                let all = |work: &dyn Fn(&[Eight], &mut [f64])| {
                    let mut out = vec![f64::NAN; n * n];
                    out.chunks_mut(LANES * n).zip(lanes.chunks_exact(dims)).for_each(|(out, group)| work(group, out));
                    out
                };
                let fast = all(&|group, out| meet_all(group, &lanes, squared, n, out));
                let plain = all(&|group, out| meet_with::<false>(group, &lanes, squared, n, out));
                for i in 0..n {
                    for j in 0..n {
                        let term = |(x, y): (&f64, &f64)| if squared { (x - y) * (x - y) } else { x * y };
                        let one: f64 = rows[i].iter().zip(&rows[j]).map(term).sum();
                        assert!((fast[i * n + j] - one).abs() < 1e-12 * (1.0 + one.abs()));
                        assert!((plain[i * n + j] - one).abs() < 1e-12 * (1.0 + one.abs()));
                        assert_eq!(fast[i * n + j], fast[j * n + i]);
                    }
                }
            }
        }
    }

    #[test]
    fn fast_and_plain_find_the_nth_of_the_sorted_column() {
        let mut rng = Rng::stream(7, "square test", 1);
        for width in [1, 3, 8, 13] {
            let values: Vec<f64> = (0..width * 30).map(|_| rng.below(12) as f64).collect();
            for nth in 0..RANKS {
                for from in (0..width).step_by(LANES) {
                    let (fast, plain) =
                        (nth_of_columns(&values, width, from, nth), nth_with(&values, width, from, nth));
                    assert_eq!(fast, plain);
                    for (lane, found) in fast.into_iter().enumerate() {
                        let at = (from + lane).min(width - 1);
                        let mut column: Vec<f64> = values.chunks_exact(width).map(|line| line[at]).collect();
                        column.sort_by(f64::total_cmp);
                        assert_eq!(found, column[nth]);
                    }
                }
            }
        }
    }
}
