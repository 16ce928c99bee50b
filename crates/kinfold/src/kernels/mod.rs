//! Distance, nearest centre, sums: slices in, slices out. The only place with SIMD and `unsafe`; every kernel has a
//! plain twin that it is tested against.

pub(crate) mod distances;
pub(crate) mod nearest;
pub(crate) mod simd;
pub(crate) mod sums;
pub(crate) mod two_nearest;

pub use nearest::Kernel;
pub(crate) use nearest::{Centres, Doubt, Measure};
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
