//! Parallel work in fixed chunks joined in order, so that results never depend on the number of threads.
//! The only file that names rayon.

use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rayon::prelude::*;

/// A worker has as much room as a main thread and more: whole runs, with their recursions, may be on it.
const STACK: usize = 16 << 20;

/// A set of worker threads. Clones share it.
#[derive(Clone)]
pub struct Pool(Option<Arc<rayon::ThreadPool>>);

impl Pool {
    /// A pool of `threads` workers; 0 means all cores, 1 runs on the calling thread.
    pub fn new(threads: usize) -> Pool {
        if threads == 1 {
            return Pool(None);
        }
        Pool(rayon::ThreadPoolBuilder::new().num_threads(threads).stack_size(STACK).build().ok().map(Arc::new))
    }

    /// How many workers there are.
    pub fn threads(&self) -> usize {
        self.0.as_ref().map_or(1, |pool| pool.current_num_threads())
    }

    /// `work` on one of the workers: what it hands out begins without a thread that sleeps until it is done.
    pub fn inside<T: Send>(&self, work: impl FnOnce() -> T + Send) -> T {
        match &self.0 {
            Some(pool) => pool.install(work),
            None => work(),
        }
    }

    /// Both, side by side.
    pub fn both<A: Send, B: Send>(&self, one: impl FnOnce() -> A + Send, other: impl FnOnce() -> B + Send) -> (A, B) {
        match &self.0 {
            Some(pool) => pool.join(one, other),
            None => (one(), other()),
        }
    }

    /// Every task of 0..count once. Without type parameters on purpose: rayon's code is compiled once, not for every
    /// caller.
    fn each(&self, count: usize, task: &(dyn Fn(usize) + Sync)) {
        match &self.0 {
            Some(pool) if count > 1 => pool.install(|| (0..count).into_par_iter().for_each(task)),
            _ => (0..count).for_each(task),
        }
    }

    /// `work` on every range of `chunk` items of 0..n; the results in order.
    pub fn map_chunks<T: Send>(&self, n: usize, chunk: usize, work: impl Fn(Range<usize>) -> T + Sync) -> Vec<T> {
        let chunk = chunk.max(1);
        let results = Slots::new((0..n.div_ceil(chunk)).map(|_| None));
        self.each(results.0.len(), &|i| {
            let done = work(i * chunk..((i + 1) * chunk).min(n));
            *results.lock(i) = Some(done);
        });
        results.into_values()
    }

    /// `work(start, slice)` on every `chunk` items of `out`, which each call may change; the results in order.
    pub fn map_chunks_mut<A: Send, T: Send>(
        &self,
        out: &mut [A],
        chunk: usize,
        work: impl Fn(usize, &mut [A]) -> T + Sync,
    ) -> Vec<T> {
        let chunk = chunk.max(1);
        let slices = Slots::new(out.chunks_mut(chunk).map(Some));
        let results = Slots::new((0..slices.0.len()).map(|_| None));
        self.each(slices.0.len(), &|i| {
            if let Some(slice) = slices.lock(i).as_deref_mut() {
                let done = work(i * chunk, slice);
                *results.lock(i) = Some(done);
            }
        });
        results.into_values()
    }

    /// The same on two slices of one length, cut at the same places.
    pub fn map_chunks_mut_2<A: Send, B: Send, T: Send>(
        &self,
        a: &mut [A],
        b: &mut [B],
        chunk: usize,
        work: impl Fn(usize, &mut [A], &mut [B]) -> T + Sync,
    ) -> Vec<T> {
        let chunk = chunk.max(1);
        let slices = Slots::new(a.chunks_mut(chunk).zip(b.chunks_mut(chunk)).map(Some));
        let results = Slots::new((0..slices.0.len()).map(|_| None));
        self.each(slices.0.len(), &|i| {
            if let Some((a, b)) = slices.lock(i).as_mut() {
                let done = work(i * chunk, a, b);
                *results.lock(i) = Some(done);
            }
        });
        results.into_values()
    }

    /// `work(i)` for every i of 0..n, one task each; the results in order.
    pub fn map<T: Send>(&self, n: usize, work: impl Fn(usize) -> T + Sync) -> Vec<T> {
        self.map_chunks(n, 1, |range| work(range.start))
    }
}

/// One place per task; each is locked by one task only.
struct Slots<T>(Vec<Mutex<Option<T>>>);

impl<T> Slots<T> {
    fn new(values: impl Iterator<Item = Option<T>>) -> Slots<T> {
        Slots(values.map(Mutex::new).collect())
    }
    fn lock(&self, i: usize) -> MutexGuard<'_, Option<T>> {
        // A task that panics takes the whole run with it: nobody sees what it left.
        self.0[i].lock().unwrap_or_else(PoisonError::into_inner)
    }
    fn into_values(self) -> Vec<T> {
        self.0.into_iter().filter_map(|slot| slot.into_inner().unwrap_or_else(PoisonError::into_inner)).collect()
    }
}
