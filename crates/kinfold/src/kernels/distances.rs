//! Euclidean distances of four rows to many. Rows that are looked up often stand in panels of eight, dimension by
//! dimension, so that one load serves four rows; sums of squared differences and roots stay in registers. Wide rows come
//! as inner products instead. All in f64. With AVX2 and FMA at run time the same code is compiled for them; the plain
//! twin is the same code without.

use super::has_avx2;
use crate::data::Float;

/// Rows per panel.
pub(crate) const LANES: usize = 8;
/// Rows whose distances are taken together.
pub(crate) const ROWS: usize = 4;
/// Of ‖x‖² + ‖y‖², what must be left of ‖x − y‖² for the expansion to have digits enough.
const TRUSTED: f64 = 1e-4;

/// Many rows in panels; lanes without a row hold zeros.
pub(crate) struct Panels {
    dims: usize,
    values: Vec<f64>,
    fast: bool,
}

impl Panels {
    /// Takes `n` rows, `row(i, out)` writing row i.
    pub(crate) fn new(n: usize, dims: usize, row: impl Fn(usize, &mut [f64])) -> Panels {
        let mut values = vec![0.0; n.div_ceil(LANES) * LANES * dims];
        let mut buffer = vec![0.0; dims];
        for i in 0..n {
            row(i, &mut buffer);
            let panel = &mut values[i / LANES * LANES * dims..];
            buffer.iter().enumerate().for_each(|(j, &v)| panel[j * LANES + i % LANES] = v);
        }
        Panels { dims, values, fast: has_avx2() }
    }

    /// Writes the distances of up to four rows (`rows`, one after the other) to the rows of `count` panels from `first`
    /// on: `out[r · count · 8 + …]`.
    #[allow(unsafe_code)]
    pub(crate) fn distances(&self, rows: &[f64], first: usize, count: usize, out: &mut [f64]) {
        let size = LANES * self.dims;
        let panels = &self.values[first * size..(first + count) * size];
        #[cfg(target_arch = "x86_64")]
        if self.fast {
            // SAFETY: `fast` is only set when the processor has AVX2 and FMA.
            unsafe { panels_avx2(rows, panels, self.dims, out) };
            return;
        }
        panels_with::<false>(rows, panels, self.dims, out);
    }
}

#[cfg(target_arch = "x86_64")]
#[allow(unsafe_code)]
#[target_feature(enable = "avx2,fma")]
unsafe fn panels_avx2(rows: &[f64], panels: &[f64], dims: usize, out: &mut [f64]) {
    panels_with::<true>(rows, panels, dims, out);
}

#[inline(always)]
fn panels_with<const FUSED: bool>(rows: &[f64], panels: &[f64], dims: usize, out: &mut [f64]) {
    let count = panels.len() / (LANES * dims);
    match rows.len() / dims {
        4 => tile::<FUSED, 4>(rows, panels, dims, count, out),
        _ => {
            for (row, out) in rows.chunks_exact(dims).zip(out.chunks_exact_mut(count * LANES)) {
                tile::<FUSED, 1>(row, panels, dims, count, out);
            }
        }
    }
}

#[inline(always)]
fn tile<const FUSED: bool, const R: usize>(rows: &[f64], panels: &[f64], dims: usize, count: usize, out: &mut [f64]) {
    let rows: [&[f64]; R] = std::array::from_fn(|r| &rows[r * dims..(r + 1) * dims]);
    for (p, panel) in panels.chunks_exact(LANES * dims).enumerate() {
        let mut sum = [[0.0f64; LANES]; R];
        for (j, column) in panel.chunks_exact(LANES).enumerate() {
            for r in 0..R {
                let x = rows[r][j];
                for lane in 0..LANES {
                    let d = x - column[lane];
                    sum[r][lane] = if FUSED { d.mul_add(d, sum[r][lane]) } else { sum[r][lane] + d * d };
                }
            }
        }
        for r in 0..R {
            let at = (r * count + p) * LANES;
            let target = &mut out[at..at + LANES];
            for lane in 0..LANES {
                target[lane] = sum[r][lane].sqrt();
            }
        }
    }
}

/// Squared distances of a row to points that stand column by column: `columns[j · k + c]` is column j of point c.
#[allow(unsafe_code)]
pub(crate) fn to_columns<F: Float>(row: &[F], columns: &[f64], out: &mut [f64]) {
    #[cfg(target_arch = "x86_64")]
    if has_avx2() {
        // SAFETY: the processor has AVX2 and FMA.
        unsafe { columns_avx2(row, columns, out) };
        return;
    }
    columns_with::<F, false>(row, columns, out);
}

#[cfg(target_arch = "x86_64")]
#[allow(unsafe_code)]
#[target_feature(enable = "avx2,fma")]
unsafe fn columns_avx2<F: Float>(row: &[F], columns: &[f64], out: &mut [f64]) {
    columns_with::<F, true>(row, columns, out);
}

#[inline(always)]
fn columns_with<F: Float, const FUSED: bool>(row: &[F], columns: &[f64], out: &mut [f64]) {
    out.fill(0.0);
    for (x, column) in row.iter().zip(columns.chunks_exact(out.len())) {
        let x = x.to_f64();
        for (o, c) in out.iter_mut().zip(column) {
            let d = x - c;
            *o = if FUSED { d.mul_add(d, *o) } else { *o + d * d };
        }
    }
}

/// Turns inner products x·y of one row into distances √(‖x‖² + ‖y‖² − 2x·y), given ‖x‖² and the ‖y‖². True when some are
/// so small beside the norms that they should be taken again from the rows themselves ([`untrusted`] tells which).
#[allow(unsafe_code)]
pub(crate) fn from_products(norm: f64, norms: &[f64], products: &mut [f64]) -> bool {
    #[cfg(target_arch = "x86_64")]
    if has_avx2() {
        // SAFETY: the processor has AVX2 and FMA.
        return unsafe { products_avx2(norm, norms, products) };
    }
    products_with(norm, norms, products)
}

#[cfg(target_arch = "x86_64")]
#[allow(unsafe_code)]
#[target_feature(enable = "avx2,fma")]
unsafe fn products_avx2(norm: f64, norms: &[f64], products: &mut [f64]) -> bool {
    products_with(norm, norms, products)
}

#[inline(always)]
fn products_with(norm: f64, norms: &[f64], products: &mut [f64]) -> bool {
    let mut least = [f64::INFINITY; LANES];
    let mut one = |at: usize, product: &mut f64, other: f64| {
        let both = norm + other;
        let d2 = both - 2.0 * *product;
        least[at] = least[at].min(d2 - TRUSTED * both);
        *product = d2.max(0.0).sqrt();
    };
    let (mut whole, mut other) = (products.chunks_exact_mut(LANES), norms.chunks_exact(LANES));
    for (p, n) in (&mut whole).zip(&mut other) {
        for lane in 0..LANES {
            one(lane, &mut p[lane], n[lane]);
        }
    }
    for (p, &n) in whole.into_remainder().iter_mut().zip(other.remainder()) {
        one(0, p, n);
    }
    least.iter().any(|&l| l < 0.0)
}

/// Values that [`first_below`] looks at together.
pub(crate) const STRETCH: usize = 32;

/// Where the first stretch begins in which some ‖x‖² + ‖y‖² − 2x·y is below the bar, given ‖x‖², the ‖y‖² and the x·y.
#[allow(unsafe_code)]
pub(crate) fn first_below(norm: f64, norms: &[f64], products: &[f64], bar: f64) -> Option<usize> {
    #[cfg(target_arch = "x86_64")]
    if has_avx2() {
        #[target_feature(enable = "avx2,fma")]
        unsafe fn fast(norm: f64, norms: &[f64], products: &[f64], bar: f64) -> Option<usize> {
            below_with(norm, norms, products, bar)
        }
        // SAFETY: the processor has AVX2 and FMA.
        return unsafe { fast(norm, norms, products, bar) };
    }
    below_with(norm, norms, products, bar)
}

#[inline(always)]
fn below_with(norm: f64, norms: &[f64], products: &[f64], bar: f64) -> Option<usize> {
    let is_below = |(&p, &other): (&f64, &f64)| norm + other - 2.0 * p < bar;
    let mut stretches = products.chunks(STRETCH).zip(norms.chunks(STRETCH));
    // One look without branches.
    let found = stretches.position(|(p, n)| p.iter().zip(n).map(is_below).fold(false, |any, below| any | below))?;
    Some(found * STRETCH)
}

/// Was a distance taken from products lost to rounding?
pub(crate) fn untrusted(norm: f64, other: f64, distance: f64) -> bool {
    distance * distance < TRUSTED * 1.01 * (norm + other)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Rng;

    #[test]
    fn panels_and_products_agree_with_plain_distances() {
        let mut rng = Rng::stream(1, "distances", 0);
        for (n, dims, looked) in [(1, 1, 1), (9, 3, 4), (37, 7, 3), (24, 40, 4), (100, 16, 2)] {
            let x: Vec<f64> = (0..n * dims).map(|_| rng.normal()).collect();
            let plain = |i: usize, j: usize| -> f64 {
                (0..dims).map(|c| (x[i * dims + c] - x[j * dims + c]).powi(2)).sum::<f64>().sqrt()
            };
            let looked = looked.min(n);
            for fast in [false, has_avx2()] {
                let mut panels = Panels::new(n, dims, |i, out| out.copy_from_slice(&x[i * dims..(i + 1) * dims]));
                panels.fast = fast;
                let count = n.div_ceil(LANES);
                let mut out = vec![f64::NAN; looked * count * LANES];
                panels.distances(&x[..looked * dims], 0, count, &mut out);
                for i in 0..looked {
                    for j in 0..n {
                        assert!((out[i * count * LANES + j] - plain(i, j)).abs() < 1e-13 * dims as f64);
                    }
                }
            }
            let norms: Vec<f64> = x.chunks(dims).map(|r| r.iter().map(|v| v * v).sum()).collect();
            for i in 0..looked {
                let dot = |j: usize| (0..dims).map(|c| x[i * dims + c] * x[j * dims + c]).sum::<f64>();
                let mut products: Vec<f64> = (0..n).map(dot).collect();
                assert!(from_products(norms[i], &norms, &mut products), "a row is at distance 0 of itself");
                for j in 0..n {
                    let close = untrusted(norms[i], norms[j], products[j]);
                    assert!(close || (products[j] - plain(i, j)).abs() < 1e-11, "{i} {j}");
                    assert!(close || i != j);
                }
            }
        }
    }
}
