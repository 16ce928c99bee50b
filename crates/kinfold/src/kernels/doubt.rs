//! How far rounding can have led a comparison of distances astray, and the margins that are left. With AVX2 and FMA at run
//! time the same code is compiled for them; the plain twin is the same code without.

use super::has_avx2;
use crate::data::Float;

/// Bounds on the rounding of distances.
#[derive(Debug, Clone, Copy)]
pub struct Doubt {
    pub(super) factor: f64,
    pub(super) of_second: f64,
    pub(super) of_nearest: f64,
    pub(super) reach: f64,
    pub(super) rounding: f64,
}

impl Doubt {
    /// The second nearest centre must be farther than the nearest by more than this before rounding, here or with
    /// centres that moved a little, cannot have exchanged the two.
    #[inline(always)]
    pub(crate) fn between(&self, nearest: f64, second: f64) -> f64 {
        let scale = self.of_second * second + self.of_nearest * nearest + self.reach;
        self.factor * scale * scale / (nearest + second) + self.rounding
    }

    /// Of squared distances to the nearest and the second nearest centre: by how much the second is farther without a
    /// doubt (negative or NaN where there is one), and how far it is.
    #[allow(unsafe_code)]
    pub(crate) fn margins<F: Float>(&self, nearest: &[F], second: &[F], margins: &mut [f64], seconds: &mut [f64]) {
        #[cfg(target_arch = "x86_64")]
        if has_avx2() {
            #[target_feature(enable = "avx2,fma")]
            unsafe fn fast<F: Float>(
                doubt: &Doubt,
                near: &[F],
                second: &[F],
                margins: &mut [f64],
                seconds: &mut [f64],
            ) {
                doubt.margins_with(near, second, margins, seconds);
            }
            // SAFETY: the processor has AVX2 and FMA.
            unsafe { fast(self, nearest, second, margins, seconds) };
            return;
        }
        self.margins_with(nearest, second, margins, seconds);
    }

    #[inline(always)]
    fn margins_with<F: Float>(&self, nearest: &[F], second: &[F], margins: &mut [f64], seconds: &mut [f64]) {
        let doubt = *self;
        for (((&near, &after), margin), second) in nearest.iter().zip(second).zip(margins).zip(seconds) {
            let (near, after) = (near.to_f64().sqrt(), after.to_f64().sqrt());
            *margin = after - near - doubt.between(near, after);
            *second = after;
        }
    }
}
