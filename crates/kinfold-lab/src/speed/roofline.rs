//! What the machine can do at most: bytes per second from memory, multiply-adds per second in registers.

use std::time::Instant;

/// Limits of the machine with a number of threads.
#[derive(Debug, Clone, Copy, serde::Serialize)]
pub struct Roofline {
    /// Bytes read per second.
    pub bytes: f64,
    /// Multiply-adds per second, f32 and f64.
    pub f32_fma: f64,
    pub f64_fma: f64,
}

pub fn measure(threads: usize) -> Roofline {
    Roofline { bytes: bandwidth(threads), f32_fma: peak(threads, fma_f32), f64_fma: peak(threads, fma_f64) }
}

/// Every thread sums its own part of an array that is far larger than the caches.
fn bandwidth(threads: usize) -> f64 {
    let array = vec![1u64; 64 << 20];
    let mut best = 0.0f64;
    for _ in 0..5 {
        let begun = Instant::now();
        let total: u64 = std::thread::scope(|scope| {
            let part = array.len().div_ceil(threads);
            let sums: Vec<_> = array
                .chunks(part)
                .map(|chunk| scope.spawn(move || chunk.iter().copied().fold(0u64, u64::wrapping_add)))
                .collect();
            sums.into_iter().map(|s| s.join().unwrap_or(0)).sum()
        });
        std::hint::black_box(total);
        best = best.max((array.len() * 8) as f64 / begun.elapsed().as_secs_f64());
    }
    best
}

fn peak(threads: usize, one: fn(usize) -> usize) -> f64 {
    const ROUNDS: usize = 2_000_000;
    let mut best = 0.0f64;
    for _ in 0..15 {
        let begun = Instant::now();
        let done: usize = std::thread::scope(|scope| {
            let all: Vec<_> = (0..threads).map(|_| scope.spawn(move || one(ROUNDS))).collect();
            all.into_iter().map(|t| t.join().unwrap_or(0)).sum()
        });
        best = best.max(done as f64 / begun.elapsed().as_secs_f64());
    }
    best
}

macro_rules! fma {
    ($name:ident, $float:ty, $lanes:expr, $set:ident, $fma:ident, $add:ident) => {
        /// Independent chains of multiply-adds; how many were done.
        fn $name(rounds: usize) -> usize {
            #[cfg(target_arch = "x86_64")]
            if std::arch::is_x86_feature_detected!("avx2") && std::arch::is_x86_feature_detected!("fma") {
                use std::arch::x86_64::{$add, $fma, $set};
                #[target_feature(enable = "avx2,fma")]
                fn chains(rounds: usize) {
                    let (factor, more) = ($set(0.999), $set(1e-9));
                    let mut sums = [$set(1.0); 12];
                    for _ in 0..rounds {
                        sums.iter_mut().for_each(|sum| *sum = $fma(*sum, factor, more));
                    }
                    std::hint::black_box(sums.iter().fold($set(0.0), |a, b| $add(a, *b)));
                }
                // SAFETY: the processor has both.
                #[allow(unsafe_code)]
                unsafe {
                    chains(rounds)
                };
                return rounds * 12 * $lanes;
            }
            let mut sum: $float = 1.0;
            (0..rounds).for_each(|_| sum = sum * 0.999 + 1e-9);
            std::hint::black_box(sum);
            rounds
        }
    };
}

fma!(fma_f32, f32, 8, _mm256_set1_ps, _mm256_fmadd_ps, _mm256_add_ps);
fma!(fma_f64, f64, 4, _mm256_set1_pd, _mm256_fmadd_pd, _mm256_add_pd);
