//! The nearest centre of each row and its squared distance, for rows in a block.
//!
//! Dense: centres are stored in panels of eight, dimension by dimension, so that one load serves four rows and the
//! running minimum stays in registers; no n×k matrix is written. Up to 32 dimensions the distance is the sum of squared
//! differences; above, the expansion ‖c‖² − 2x·c + ‖x‖² (half the work), clamped at 0. Sparse: centres transposed, one
//! row of k partial dot products per stored entry. Ties go to the lowest centre. With AVX2 and FMA at run time the same
//! code is compiled for them; the plain twin is the same code without.

use crate::data::{Dataset, Float, Matrix, Rows};

const LANES: usize = 8;
const ROWS: usize = 4;
/// Up to here distances are sums of squared differences.
const DIRECT_DIMS: usize = 32;

/// Centres laid out for the kernel; made once per iteration.
pub(crate) struct Centres<F> {
    k: usize,
    dims: usize,
    /// Dense: panels[p][j][lane]; sparse: the transpose, dims × k.
    layout: Vec<F>,
    /// ‖c‖², padded with infinity to whole panels.
    norms: Vec<F>,
    fast: bool,
}

impl<F: Float> Centres<F> {
    /// Lays out `centres` for rows like those of `data`.
    pub(crate) fn new(centres: &Matrix, sparse: bool) -> Centres<F> {
        Centres::with_instructions(centres, sparse, has_avx2())
    }

    fn with_instructions(centres: &Matrix, sparse: bool, fast: bool) -> Centres<F> {
        let (k, dims) = (centres.rows(), centres.cols());
        let panels = k.div_ceil(LANES);
        let mut norms = vec![F::INFINITY; panels * LANES];
        for (norm, c) in norms.iter_mut().zip(centres.iter()) {
            *norm = F::from_f64(c.iter().map(|v| v * v).sum());
        }
        let layout = if sparse {
            centres.transposed().values().iter().map(|&v| F::from_f64(v)).collect()
        } else {
            // Padding lanes are infinitely far: their first coordinate is infinite in the direct form, their norm in
            // the expanded one.
            let direct = dims <= DIRECT_DIMS;
            let mut layout = vec![F::default(); panels * dims * LANES];
            for (p, panel) in layout.chunks_exact_mut(dims * LANES).enumerate() {
                for lane in 0..LANES {
                    if let Some(c) = (p * LANES + lane < k).then(|| centres.row(p * LANES + lane)) {
                        (0..dims).for_each(|j| panel[j * LANES + lane] = F::from_f64(c[j]));
                    } else if direct {
                        panel[lane] = F::INFINITY;
                    }
                }
            }
            layout
        };
        Centres { k, dims, layout, norms, fast }
    }

    /// Writes the nearest centre and the squared distance of rows `first..first + labels.len()`.
    pub(crate) fn nearest(&self, data: &Dataset<'_, F>, first: usize, labels: &mut [u32], distances: &mut [F]) {
        debug_assert_eq!(self.dims, data.dims());
        match data.rows() {
            Rows::Dense(d) => {
                let block = &d.values()[first * self.dims..(first + labels.len()) * self.dims];
                self.dense(block, labels, distances);
            }
            Rows::Sparse(s) => {
                let mut scores = vec![0.0f64; self.k];
                for (i, (label, distance)) in labels.iter_mut().zip(distances).enumerate() {
                    let (columns, values) = s.row(first + i);
                    scores.iter_mut().zip(&self.norms).for_each(|(s, n)| *s = n.to_f64());
                    let mut norm = 0.0;
                    for (&c, v) in columns.iter().zip(values) {
                        let v = v.to_f64();
                        norm += v * v;
                        let centre = &self.layout[c as usize * self.k..(c as usize + 1) * self.k];
                        scores.iter_mut().zip(centre).for_each(|(s, c)| *s -= 2.0 * v * c.to_f64());
                    }
                    let (mut best, mut at) = (f64::INFINITY, 0);
                    for (c, &s) in scores.iter().enumerate() {
                        if s < best {
                            (best, at) = (s, c as u32);
                        }
                    }
                    *label = at;
                    *distance = F::from_f64((best + norm).max(0.0));
                }
            }
        }
    }

    #[allow(unsafe_code)]
    fn dense(&self, block: &[F], labels: &mut [u32], distances: &mut [F]) {
        #[cfg(target_arch = "x86_64")]
        if self.fast {
            // SAFETY: `fast` is only set when the processor has AVX2 and FMA.
            unsafe { self.dense_avx2(block, labels, distances) };
            return;
        }
        self.dense_with::<false>(block, labels, distances);
    }

    #[cfg(target_arch = "x86_64")]
    #[allow(unsafe_code)]
    #[target_feature(enable = "avx2,fma")]
    unsafe fn dense_avx2(&self, block: &[F], labels: &mut [u32], distances: &mut [F]) {
        self.dense_with::<true>(block, labels, distances);
    }

    #[inline(always)]
    fn dense_with<const FUSED: bool>(&self, block: &[F], labels: &mut [u32], distances: &mut [F]) {
        if self.dims <= DIRECT_DIMS {
            self.rows_with::<FUSED, true>(block, labels, distances);
        } else {
            self.rows_with::<FUSED, false>(block, labels, distances);
        }
    }

    #[inline(always)]
    fn rows_with<const FUSED: bool, const DIRECT: bool>(&self, block: &[F], labels: &mut [u32], distances: &mut [F]) {
        let whole = labels.len() / ROWS * ROWS;
        let (dims, mut i) = (self.dims, 0);
        while i < whole {
            let rows: [&[F]; ROWS] = std::array::from_fn(|r| &block[(i + r) * dims..(i + r + 1) * dims]);
            self.tile::<FUSED, DIRECT, ROWS>(rows, &mut labels[i..i + ROWS], &mut distances[i..i + ROWS]);
            i += ROWS;
        }
        while i < labels.len() {
            let row = [&block[i * dims..(i + 1) * dims]];
            self.tile::<FUSED, DIRECT, 1>(row, &mut labels[i..=i], &mut distances[i..=i]);
            i += 1;
        }
    }

    #[inline(always)]
    fn tile<const FUSED: bool, const DIRECT: bool, const R: usize>(
        &self,
        rows: [&[F]; R],
        labels: &mut [u32],
        distances: &mut [F],
    ) {
        let zero = F::default();
        let two = F::from_f64(-2.0);
        let mut best = [[F::INFINITY; LANES]; R];
        let mut at = [[zero; LANES]; R];
        for (p, panel) in self.layout.chunks_exact(self.dims * LANES).enumerate() {
            let mut sum = [[zero; LANES]; R];
            for (j, centre) in panel.chunks_exact(LANES).enumerate() {
                for r in 0..R {
                    let x = rows[r][j];
                    for lane in 0..LANES {
                        let (a, b) = if DIRECT {
                            let difference = x - centre[lane];
                            (difference, difference)
                        } else {
                            (x, centre[lane])
                        };
                        sum[r][lane] = if FUSED { a.fused(b, sum[r][lane]) } else { sum[r][lane] + a * b };
                    }
                }
            }
            let number = F::from_f64(p as f64);
            let norms = &self.norms[p * LANES..(p + 1) * LANES];
            for r in 0..R {
                for lane in 0..LANES {
                    let score = if DIRECT { sum[r][lane] } else { norms[lane] + two * sum[r][lane] };
                    let better = score < best[r][lane];
                    best[r][lane] = if better { score } else { best[r][lane] };
                    at[r][lane] = if better { number } else { at[r][lane] };
                }
            }
        }
        for r in 0..R {
            let (mut value, mut label) = (F::INFINITY, u32::MAX);
            for lane in 0..LANES {
                let candidate = at[r][lane].to_f64() as u32 * LANES as u32 + lane as u32;
                if best[r][lane] < value || (best[r][lane] == value && candidate < label) {
                    (value, label) = (best[r][lane], candidate);
                }
            }
            if !DIRECT {
                let mut norm = zero;
                rows[r].iter().for_each(|&x| norm = norm + x * x);
                value = if norm + value > zero { norm + value } else { zero };
            }
            // Only when every distance overflowed is there no finite value: then any centre is as far.
            labels[r] = if (label as usize) < self.k { label } else { 0 };
            distances[r] = value;
        }
    }
}

fn has_avx2() -> bool {
    #[cfg(target_arch = "x86_64")]
    {
        std::arch::is_x86_feature_detected!("avx2") && std::arch::is_x86_feature_detected!("fma")
    }
    #[cfg(not(target_arch = "x86_64"))]
    {
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Rng;

    fn random(n: usize, rng: &mut Rng) -> Vec<f64> {
        (0..n).map(|_| rng.normal()).collect()
    }

    fn check<F: Float>(tolerance: f64) {
        let mut rng = Rng::stream(1, "kernel test", 0);
        for (n, dims, k) in [(1, 1, 1), (13, 2, 3), (70, 7, 8), (33, 20, 20), (9, 32, 5), (21, 33, 17), (11, 130, 9)] {
            let rows: Vec<F> = random(n * dims, &mut rng).into_iter().map(F::from_f64).collect();
            let centres = Matrix::from_vec(dims, random(k * dims, &mut rng));
            let data = Dataset::dense(&rows, dims).unwrap();
            for fast in [false, has_avx2()] {
                let prepared = Centres::<F>::with_instructions(&centres, false, fast);
                let (mut labels, mut distances) = (vec![9; n], vec![F::default(); n]);
                prepared.nearest(&data, 0, &mut labels, &mut distances);
                for i in 0..n {
                    let all: Vec<f64> = centres.iter().map(|c| data.distance2(i, c)).collect();
                    let least = all.iter().copied().fold(f64::INFINITY, f64::min);
                    let scale = tolerance * (1.0 + dims as f64);
                    assert!((all[labels[i] as usize] - least).abs() <= scale, "label of row {i}");
                    assert!((distances[i].to_f64() - least).abs() <= scale, "distance of row {i}");
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
    fn ties_go_to_the_lowest_centre_whatever_panel_it_is_in() {
        let centres = Matrix::from_vec(1, (0..20).map(|i| if i == 3 || i >= 9 { 5.0 } else { -5.0 }).collect());
        let data = Dataset::dense(&[5.0; 6], 1).unwrap();
        let (mut labels, mut distances) = (vec![0; 6], vec![0.0; 6]);
        Centres::new(&centres, false).nearest(&data, 0, &mut labels, &mut distances);
        assert_eq!(labels, [3; 6]);
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
        Centres::new(&centres, false).nearest(&d, 0, &mut a.0, &mut a.1);
        Centres::new(&centres, true).nearest(&s, 0, &mut b.0, &mut b.1);
        assert_eq!(a.0, b.0);
        assert!(a.1.iter().zip(&b.1).all(|(x, y)| (x - y).abs() < 1e-9));
    }
}
