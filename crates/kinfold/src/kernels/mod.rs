//! Distance, nearest centre, sums: slices in, slices out. The only place with SIMD and `unsafe`; every kernel has a
//! plain twin that it is tested against.

pub(crate) mod distances;
pub(crate) mod nearest;
pub(crate) mod simd;
pub(crate) mod two_nearest;

pub use nearest::Kernel;
pub(crate) use nearest::{Centres, Doubt, Measure, Sums};
