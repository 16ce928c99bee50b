//! Random streams: one independent stream per use and restart, the same on every machine and thread count.

use rand_core::{Rng as _, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

/// A seeded stream of random numbers. The algorithm is part of kinfold's output and never changes within a version.
#[derive(Debug, Clone)]
pub struct Rng(Xoshiro256PlusPlus);

impl Rng {
    /// The stream `index` of the use `name` under `seed`: streams with different names or indices are independent.
    pub fn stream(seed: u64, name: &str, index: u64) -> Rng {
        // FNV-1a over the parts, then seed_from_u64's own mixing.
        let mut hash = 0xcbf2_9ce4_8422_2325_u64;
        for byte in seed.to_le_bytes().into_iter().chain(name.bytes()).chain(index.to_le_bytes()) {
            hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
        Rng(Xoshiro256PlusPlus::seed_from_u64(hash))
    }

    /// 64 random bits.
    pub fn bits(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// Uniform in [0, 1).
    pub fn unit(&mut self) -> f64 {
        (self.bits() >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
    }

    /// Uniform in 0..n. `n` must be positive.
    pub fn below(&mut self, n: usize) -> usize {
        debug_assert!(n > 0);
        // Multiply-shift with rejection: exactly uniform.
        let n = n as u64;
        loop {
            let wide = u128::from(self.bits()) * u128::from(n);
            if (wide as u64) >= n.wrapping_neg() % n {
                return (wide >> 64) as usize;
            }
        }
    }

    /// Standard normal (Box–Muller).
    pub fn normal(&mut self) -> f64 {
        let radius = (-2.0 * (1.0 - self.unit()).ln()).sqrt();
        radius * (std::f64::consts::TAU * self.unit()).cos()
    }

    /// Fisher–Yates.
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for i in (1..items.len()).rev() {
            items.swap(i, self.below(i + 1));
        }
    }

    /// `count` distinct numbers of 0..n, in the order drawn.
    pub fn sample(&mut self, n: usize, count: usize) -> Vec<usize> {
        let count = count.min(n);
        if count * 4 >= n {
            let mut all: Vec<usize> = (0..n).collect();
            for i in 0..count {
                let j = i + self.below(n - i);
                all.swap(i, j);
            }
            all.truncate(count);
            return all;
        }
        let mut seen = rustc_hash::FxHashSet::default();
        let mut drawn = Vec::with_capacity(count);
        while drawn.len() < count {
            let candidate = self.below(n);
            if seen.insert(candidate) {
                drawn.push(candidate);
            }
        }
        drawn
    }

    /// An index drawn with probability proportional to its weight; `None` when all weights are zero.
    pub fn weighted(&mut self, weights: &[f64]) -> Option<usize> {
        let total: f64 = weights.iter().sum();
        if !(total > 0.0) {
            return None;
        }
        let target = self.unit() * total;
        let mut running = 0.0;
        let mut last = None;
        for (i, &w) in weights.iter().enumerate() {
            if w > 0.0 {
                running += w;
                last = Some(i);
                if target < running {
                    break;
                }
            }
        }
        last
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_are_repeatable_and_differ_by_name_index_and_seed() {
        let first = |seed, name, index| Rng::stream(seed, name, index).bits();
        assert_eq!(first(1, "seeding", 0), first(1, "seeding", 0));
        let all = [first(1, "seeding", 0), first(1, "seeding", 1), first(2, "seeding", 0), first(1, "order", 0)];
        for (i, a) in all.iter().enumerate() {
            assert!(all[i + 1..].iter().all(|b| a != b));
        }
    }

    #[test]
    fn below_is_uniform_and_in_range() {
        let mut rng = Rng::stream(7, "test", 0);
        let mut counts = [0usize; 6];
        for _ in 0..60_000 {
            counts[rng.below(6)] += 1;
        }
        assert!(counts.iter().all(|&c| (9_500..10_500).contains(&c)), "{counts:?}");
    }

    #[test]
    fn a_sample_is_distinct_and_of_the_size_asked() {
        let mut rng = Rng::stream(7, "test", 1);
        for (n, count) in [(10, 3), (10, 9), (1000, 5), (3, 8)] {
            let mut drawn = rng.sample(n, count);
            drawn.sort_unstable();
            drawn.dedup();
            assert_eq!(drawn.len(), count.min(n));
            assert!(drawn.iter().all(|&i| i < n));
        }
    }

    #[test]
    fn weighted_draws_never_pick_a_zero_weight() {
        let mut rng = Rng::stream(7, "test", 2);
        assert_eq!(rng.weighted(&[0.0, 0.0]), None);
        assert!((0..1000).all(|_| rng.weighted(&[0.0, 1.0, 0.0, 2.0, 0.0]).is_some_and(|i| i == 1 || i == 3)));
    }
}
