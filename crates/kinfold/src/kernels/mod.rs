//! Distance, nearest centre, sums: slices in, slices out. The only place with SIMD and `unsafe`; every kernel has a
//! plain twin that it is tested against.

pub(crate) mod combine;
pub(crate) mod distances;
pub(crate) mod doubt;
pub(crate) mod exp;
pub(crate) mod nearest;
pub(crate) mod simd;
pub(crate) mod square;
pub(crate) mod sums;
pub(crate) mod two_nearest;
pub(crate) mod whiten;

pub(crate) use doubt::Doubt;
pub use nearest::Kernel;
pub(crate) use nearest::{Adds, Centres, Measure};
pub(crate) use sums::Sums;

/// Can the fast twins run?
pub(crate) fn has_avx2() -> bool {
    #[cfg(target_arch = "x86_64")]
    {
        std::arch::is_x86_feature_detected!("avx2") && std::arch::is_x86_feature_detected!("fma")
    }
    #[cfg(not(target_arch = "x86_64"))]
    {
        false
    }
}

/// Asks for a row that will be read soon: rows from all over memory cost more to fetch than to work on.
#[inline(always)]
#[allow(unsafe_code)]
pub(crate) fn prefetch<T>(row: &[T]) {
    #[cfg(target_arch = "x86_64")]
    for offset in (0..std::mem::size_of_val(row)).step_by(64) {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: a hint, which reads nothing; every x86-64 has it.
        unsafe { _mm_prefetch(row.as_ptr().cast::<i8>().wrapping_add(offset), _MM_HINT_T0) };
    }
}
