//! Registers: AVX2 with FMA, or arrays that do the same one value after the other. Kernels are written once over this
//! trait and compiled for both; the arrays are the plain twin. Calls are only sound on a processor that has the
//! instructions, which the callers check once per run.

/// A register of `N` values of type `F`.
#[allow(unsafe_code)]
pub(crate) trait Simd: Copy {
    /// f32 or f64.
    type F: Copy + Default;
    /// Values per register.
    const N: usize;
    /// Columns that `columns` transposes at a time.
    const COLUMNS: usize;
    unsafe fn splat(value: Self::F) -> Self;
    unsafe fn load(from: *const Self::F) -> Self;
    unsafe fn store(self, to: *mut Self::F);
    unsafe fn sub(self, other: Self) -> Self;
    unsafe fn min(self, other: Self) -> Self;
    unsafe fn max(self, other: Self) -> Self;
    /// self · a + b
    unsafe fn fma(self, a: Self, b: Self) -> Self;
    /// Lane by lane: `then` where self < other, else `otherwise`. Bits pass unchanged.
    unsafe fn lt_select(self, other: Self, then: Self, otherwise: Self) -> Self;
    /// A number as bits of a value; never calculated with.
    fn tag(number: u32) -> Self::F;
    /// The inverse of `tag`.
    fn number(tag: Self::F) -> u32;
    /// Columns at..at + COLUMNS of N rows, each as one register; `write(column, register)`.
    unsafe fn columns(rows: &[*const Self::F], at: usize, write: impl FnMut(usize, Self));
    /// ‖row − point‖².
    unsafe fn distance2(row: *const Self::F, point: *const Self::F, dims: usize) -> Self::F;
    /// sums += row, in f64.
    unsafe fn add_to(row: *const Self::F, sums: *mut f64, dims: usize);
}

macro_rules! plain {
    ($float:ty, $bits:ty, $n:expr, $columns:expr) => {
        #[allow(unsafe_code)]
        impl Simd for [$float; $n] {
            type F = $float;
            const N: usize = $n;
            const COLUMNS: usize = $columns;
            #[inline(always)]
            unsafe fn splat(value: $float) -> Self {
                [value; $n]
            }
            #[inline(always)]
            unsafe fn load(from: *const $float) -> Self {
                // SAFETY: the caller lends N values.
                unsafe { from.cast::<Self>().read_unaligned() }
            }
            #[inline(always)]
            unsafe fn store(self, to: *mut $float) {
                // SAFETY: the caller lends room for N values.
                unsafe { to.cast::<Self>().write_unaligned(self) };
            }
            #[inline(always)]
            unsafe fn sub(self, other: Self) -> Self {
                std::array::from_fn(|i| self[i] - other[i])
            }
            #[inline(always)]
            unsafe fn min(self, other: Self) -> Self {
                std::array::from_fn(|i| if self[i] < other[i] { self[i] } else { other[i] })
            }
            #[inline(always)]
            unsafe fn max(self, other: Self) -> Self {
                std::array::from_fn(|i| if self[i] > other[i] { self[i] } else { other[i] })
            }
            #[inline(always)]
            unsafe fn fma(self, a: Self, b: Self) -> Self {
                std::array::from_fn(|i| self[i] * a[i] + b[i])
            }
            #[inline(always)]
            unsafe fn lt_select(self, other: Self, then: Self, otherwise: Self) -> Self {
                std::array::from_fn(|i| if self[i] < other[i] { then[i] } else { otherwise[i] })
            }
            #[inline(always)]
            fn tag(number: u32) -> $float {
                <$float>::from_bits(<$bits>::from(number))
            }
            #[inline(always)]
            fn number(tag: $float) -> u32 {
                tag.to_bits() as u32
            }
            #[inline(always)]
            unsafe fn columns(rows: &[*const $float], at: usize, mut write: impl FnMut(usize, Self)) {
                for j in at..at + $columns {
                    // SAFETY: the caller's rows reach that far.
                    write(j, std::array::from_fn(|i| unsafe { *rows[i].add(j) }));
                }
            }
            #[inline(always)]
            unsafe fn distance2(row: *const $float, point: *const $float, dims: usize) -> $float {
                let mut sum = 0.0;
                for j in 0..dims {
                    // SAFETY: both have `dims` values.
                    let difference = unsafe { *row.add(j) - *point.add(j) };
                    sum += difference * difference;
                }
                sum
            }
            #[inline(always)]
            unsafe fn add_to(row: *const $float, sums: *mut f64, dims: usize) {
                for j in 0..dims {
                    // SAFETY: both have `dims` values.
                    unsafe { *sums.add(j) += f64::from(*row.add(j)) };
                }
            }
        }
    };
}

plain!(f32, u32, 8, 4);
plain!(f64, u64, 4, 2);

#[cfg(target_arch = "x86_64")]
mod avx2 {
    use super::Simd;
    use std::arch::x86_64::*;

    #[allow(unsafe_code)]
    impl Simd for __m256 {
        type F = f32;
        const N: usize = 8;
        const COLUMNS: usize = 4;
        #[inline(always)]
        unsafe fn splat(value: f32) -> Self {
            unsafe { _mm256_set1_ps(value) }
        }
        #[inline(always)]
        unsafe fn load(from: *const f32) -> Self {
            unsafe { _mm256_loadu_ps(from) }
        }
        #[inline(always)]
        unsafe fn store(self, to: *mut f32) {
            unsafe { _mm256_storeu_ps(to, self) }
        }
        #[inline(always)]
        unsafe fn sub(self, other: Self) -> Self {
            unsafe { _mm256_sub_ps(self, other) }
        }
        #[inline(always)]
        unsafe fn min(self, other: Self) -> Self {
            unsafe { _mm256_min_ps(self, other) }
        }
        #[inline(always)]
        unsafe fn max(self, other: Self) -> Self {
            unsafe { _mm256_max_ps(self, other) }
        }
        #[inline(always)]
        unsafe fn fma(self, a: Self, b: Self) -> Self {
            unsafe { _mm256_fmadd_ps(self, a, b) }
        }
        #[inline(always)]
        unsafe fn lt_select(self, other: Self, then: Self, otherwise: Self) -> Self {
            unsafe { _mm256_blendv_ps(otherwise, then, _mm256_cmp_ps::<_CMP_LT_OQ>(self, other)) }
        }
        #[inline(always)]
        fn tag(number: u32) -> f32 {
            f32::from_bits(number)
        }
        #[inline(always)]
        fn number(tag: f32) -> u32 {
            tag.to_bits()
        }
        #[inline(always)]
        unsafe fn columns(rows: &[*const f32], at: usize, mut write: impl FnMut(usize, Self)) {
            unsafe {
                // Rows i and i + 4 share a register; then 4×4 blocks are transposed in both halves.
                let pair = |i: usize| {
                    let low = _mm256_castps128_ps256(_mm_loadu_ps(rows[i].add(at)));
                    _mm256_insertf128_ps::<1>(low, _mm_loadu_ps(rows[i + 4].add(at)))
                };
                let (a, b, c, d) = (pair(0), pair(1), pair(2), pair(3));
                let (ab_low, ab_high) = (_mm256_unpacklo_ps(a, b), _mm256_unpackhi_ps(a, b));
                let (cd_low, cd_high) = (_mm256_unpacklo_ps(c, d), _mm256_unpackhi_ps(c, d));
                write(at, _mm256_shuffle_ps::<0b0100_0100>(ab_low, cd_low));
                write(at + 1, _mm256_shuffle_ps::<0b1110_1110>(ab_low, cd_low));
                write(at + 2, _mm256_shuffle_ps::<0b0100_0100>(ab_high, cd_high));
                write(at + 3, _mm256_shuffle_ps::<0b1110_1110>(ab_high, cd_high));
            }
        }
        #[inline(always)]
        unsafe fn distance2(row: *const f32, point: *const f32, dims: usize) -> f32 {
            unsafe {
                let mut sums = [Self::splat(0.0); 2];
                let mut j = 0;
                while j + 8 <= dims {
                    let difference = Self::load(row.add(j)).sub(Self::load(point.add(j)));
                    sums[j / 8 % 2] = difference.fma(difference, sums[j / 8 % 2]);
                    j += 8;
                }
                let mut lanes = [0.0; 8];
                _mm256_storeu_ps(lanes.as_mut_ptr(), _mm256_add_ps(sums[0], sums[1]));
                let mut sum: f32 = lanes.iter().sum();
                while j < dims {
                    let difference = *row.add(j) - *point.add(j);
                    sum += difference * difference;
                    j += 1;
                }
                sum
            }
        }
        #[inline(always)]
        unsafe fn add_to(row: *const f32, sums: *mut f64, dims: usize) {
            unsafe {
                let mut j = 0;
                while j + 4 <= dims {
                    let wide = _mm256_cvtps_pd(_mm_loadu_ps(row.add(j)));
                    _mm256_storeu_pd(sums.add(j), _mm256_add_pd(_mm256_loadu_pd(sums.add(j)), wide));
                    j += 4;
                }
                while j < dims {
                    *sums.add(j) += f64::from(*row.add(j));
                    j += 1;
                }
            }
        }
    }

    #[allow(unsafe_code)]
    impl Simd for __m256d {
        type F = f64;
        const N: usize = 4;
        const COLUMNS: usize = 2;
        #[inline(always)]
        unsafe fn splat(value: f64) -> Self {
            unsafe { _mm256_set1_pd(value) }
        }
        #[inline(always)]
        unsafe fn load(from: *const f64) -> Self {
            unsafe { _mm256_loadu_pd(from) }
        }
        #[inline(always)]
        unsafe fn store(self, to: *mut f64) {
            unsafe { _mm256_storeu_pd(to, self) }
        }
        #[inline(always)]
        unsafe fn sub(self, other: Self) -> Self {
            unsafe { _mm256_sub_pd(self, other) }
        }
        #[inline(always)]
        unsafe fn min(self, other: Self) -> Self {
            unsafe { _mm256_min_pd(self, other) }
        }
        #[inline(always)]
        unsafe fn max(self, other: Self) -> Self {
            unsafe { _mm256_max_pd(self, other) }
        }
        #[inline(always)]
        unsafe fn fma(self, a: Self, b: Self) -> Self {
            unsafe { _mm256_fmadd_pd(self, a, b) }
        }
        #[inline(always)]
        unsafe fn lt_select(self, other: Self, then: Self, otherwise: Self) -> Self {
            unsafe { _mm256_blendv_pd(otherwise, then, _mm256_cmp_pd::<_CMP_LT_OQ>(self, other)) }
        }
        // blendv picks by the sign bit of the mask, so any bits pass.
        #[inline(always)]
        fn tag(number: u32) -> f64 {
            f64::from_bits(u64::from(number))
        }
        #[inline(always)]
        fn number(tag: f64) -> u32 {
            tag.to_bits() as u32
        }
        #[inline(always)]
        unsafe fn columns(rows: &[*const f64], at: usize, mut write: impl FnMut(usize, Self)) {
            unsafe {
                let pair = |i: usize| {
                    let low = _mm256_castpd128_pd256(_mm_loadu_pd(rows[i].add(at)));
                    _mm256_insertf128_pd::<1>(low, _mm_loadu_pd(rows[i + 2].add(at)))
                };
                let (a, b) = (pair(0), pair(1));
                write(at, _mm256_unpacklo_pd(a, b));
                write(at + 1, _mm256_unpackhi_pd(a, b));
            }
        }
        #[inline(always)]
        unsafe fn distance2(row: *const f64, point: *const f64, dims: usize) -> f64 {
            unsafe {
                let mut sums = [Self::splat(0.0); 2];
                let mut j = 0;
                while j + 4 <= dims {
                    let difference = Self::load(row.add(j)).sub(Self::load(point.add(j)));
                    sums[j / 4 % 2] = difference.fma(difference, sums[j / 4 % 2]);
                    j += 4;
                }
                let mut lanes = [0.0; 4];
                _mm256_storeu_pd(lanes.as_mut_ptr(), _mm256_add_pd(sums[0], sums[1]));
                let mut sum: f64 = lanes.iter().sum();
                while j < dims {
                    let difference = *row.add(j) - *point.add(j);
                    sum += difference * difference;
                    j += 1;
                }
                sum
            }
        }
        #[inline(always)]
        unsafe fn add_to(row: *const f64, sums: *mut f64, dims: usize) {
            unsafe {
                let mut j = 0;
                while j + 4 <= dims {
                    let sum = _mm256_add_pd(_mm256_loadu_pd(sums.add(j)), _mm256_loadu_pd(row.add(j)));
                    _mm256_storeu_pd(sums.add(j), sum);
                    j += 4;
                }
                while j < dims {
                    *sums.add(j) += *row.add(j);
                    j += 1;
                }
            }
        }
    }
}
