//! Parallel work in fixed chunks joined in order, so that results never depend on the number of threads.
//! The only file that names rayon.

use std::ops::Range;
use std::sync::Arc;

use rayon::prelude::*;

/// A set of worker threads. Clones share it.
#[derive(Clone)]
pub struct Pool(Option<Arc<rayon::ThreadPool>>);

impl Pool {
    /// A pool of `threads` workers; 0 means all cores, 1 runs on the calling thread.
    pub fn new(threads: usize) -> Pool {
        if threads == 1 {
            return Pool(None);
        }
        Pool(rayon::ThreadPoolBuilder::new().num_threads(threads).build().ok().map(Arc::new))
    }

    /// How many workers there are.
    pub fn threads(&self) -> usize {
        self.0.as_ref().map_or(1, |pool| pool.current_num_threads())
    }

    /// `work` on every range of `chunk` items of 0..n; the results in order.
    pub fn map_chunks<T: Send>(&self, n: usize, chunk: usize, work: impl Fn(Range<usize>) -> T + Sync) -> Vec<T> {
        let count = n.div_ceil(chunk.max(1));
        let range = |i: usize| i * chunk..((i + 1) * chunk).min(n);
        match &self.0 {
            Some(pool) if count > 1 => pool.install(|| (0..count).into_par_iter().map(|i| work(range(i))).collect()),
            _ => (0..count).map(|i| work(range(i))).collect(),
        }
    }

    /// `work(start, slice)` on every `chunk` items of `out`, which each call may change; the results in order.
    pub fn map_chunks_mut<A: Send, T: Send>(
        &self,
        out: &mut [A],
        chunk: usize,
        work: impl Fn(usize, &mut [A]) -> T + Sync,
    ) -> Vec<T> {
        let chunk = chunk.max(1);
        match &self.0 {
            Some(pool) if out.len() > chunk => pool
                .install(|| out.par_chunks_mut(chunk).enumerate().map(|(i, slice)| work(i * chunk, slice)).collect()),
            _ => out.chunks_mut(chunk).enumerate().map(|(i, slice)| work(i * chunk, slice)).collect(),
        }
    }

    /// `work(i)` for every i of 0..n, one task each; the results in order.
    pub fn map<T: Send>(&self, n: usize, work: impl Fn(usize) -> T + Sync) -> Vec<T> {
        self.map_chunks(n, 1, |range| work(range.start))
    }
}
