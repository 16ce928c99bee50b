//! What a run is given besides data: seed, threads, progress, a way to stop.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crate::blocks::par::Pool;
use crate::rng::Rng;

/// Receives progress, at most once per checkpoint, from any worker thread.
pub trait Progress: Send + Sync {
    /// `done` of `total` units of `stage` are finished; `total` is `None` when nobody knows it.
    fn step(&self, stage: &str, done: u64, total: Option<u64>);
}

/// Progress nobody looks at.
#[derive(Debug, Clone, Copy, Default)]
pub struct Silent;

impl Progress for Silent {
    fn step(&self, _: &str, _: u64, _: Option<u64>) {}
}

/// A flag that asks a run to stop; clones share it.
#[derive(Debug, Clone, Default)]
pub struct CancelToken(Arc<AtomicBool>);

impl CancelToken {
    /// A fresh token.
    pub fn new() -> CancelToken {
        CancelToken::default()
    }
    /// Asks every holder to stop at its next checkpoint.
    pub fn cancel(&self) {
        self.0.store(true, Ordering::Relaxed);
    }
    /// Has somebody asked?
    pub fn is_cancelled(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// Why a checkpoint said stop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stop {
    /// Somebody cancelled.
    Cancelled,
    /// The time limit passed.
    Deadline,
}

/// How a run ended. Stopping early, or not converging, is never an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Termination {
    /// Nothing changed any more.
    Converged,
    /// The best possible solution, proven.
    Optimal,
    /// The iteration limit was reached.
    MaxIterations,
    /// The time limit was reached; this is the best so far.
    Deadline,
    /// Cancelled; this is the best so far.
    Cancelled,
}

impl From<Stop> for Termination {
    fn from(stop: Stop) -> Self {
        match stop {
            Stop::Cancelled => Termination::Cancelled,
            Stop::Deadline => Termination::Deadline,
        }
    }
}

impl std::fmt::Display for Termination {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Termination::Converged => "converged",
            Termination::Optimal => "optimal",
            Termination::MaxIterations => "max-iterations",
            Termination::Deadline => "deadline",
            Termination::Cancelled => "cancelled",
        })
    }
}

/// Seed, threads, progress, cancellation and deadline of one run.
#[derive(Clone)]
pub struct RunContext {
    /// All randomness comes from this number.
    pub seed: u64,
    /// The threads to work with.
    pub pool: Pool,
    progress: Arc<dyn Progress>,
    cancel: CancelToken,
    deadline: Option<Instant>,
    memory: u64,
}

/// Bytes that a method may use beside the rows unless it is told otherwise.
pub const DEFAULT_MEMORY: u64 = 4_000_000_000;

impl Default for RunContext {
    fn default() -> Self {
        RunContext::new(0)
    }
}

impl RunContext {
    /// A silent context without a deadline, on all cores.
    pub fn new(seed: u64) -> RunContext {
        RunContext {
            seed,
            pool: Pool::new(0),
            progress: Arc::new(Silent),
            cancel: CancelToken::new(),
            deadline: None,
            memory: DEFAULT_MEMORY,
        }
    }
    /// A silent context on threads that exist already.
    pub fn on_pool(seed: u64, pool: &Pool) -> RunContext {
        let (progress, cancel) = (Arc::new(Silent), CancelToken::new());
        RunContext { seed, pool: pool.clone(), progress, cancel, deadline: None, memory: DEFAULT_MEMORY }
    }
    /// Works on this many threads (0 = all cores). Results do not depend on it.
    pub fn with_threads(mut self, threads: usize) -> RunContext {
        self.pool = Pool::new(threads);
        self
    }
    /// The same context under another seed.
    pub fn with_seed(&self, seed: u64) -> RunContext {
        RunContext { seed, ..self.clone() }
    }
    /// The same context that tells nobody.
    pub fn quiet(&self) -> RunContext {
        RunContext { progress: Arc::new(Silent), ..self.clone() }
    }
    /// Reports progress to `progress`.
    pub fn with_progress(mut self, progress: Arc<dyn Progress>) -> RunContext {
        self.progress = progress;
        self
    }
    /// Stops when `token` is cancelled.
    pub fn with_cancel(mut self, token: CancelToken) -> RunContext {
        self.cancel = token;
        self
    }
    /// Stops after `limit`, counted from now.
    pub fn with_time_limit(mut self, limit: Duration) -> RunContext {
        self.deadline = Instant::now().checked_add(limit);
        self
    }
    /// Methods that would need more than this many bytes beside the rows are refused before they begin.
    pub fn with_memory(mut self, bytes: u64) -> RunContext {
        self.memory = bytes;
        self
    }
    /// Bytes that a method may use beside the rows.
    pub fn memory(&self) -> u64 {
        self.memory
    }
    /// To be called once per iteration: `Err` asks the method to return its best so far.
    pub fn checkpoint(&self) -> Result<(), Stop> {
        if self.cancel.is_cancelled() {
            Err(Stop::Cancelled)
        } else if self.deadline.is_some_and(|d| Instant::now() >= d) {
            Err(Stop::Deadline)
        } else {
            Ok(())
        }
    }
    /// The time that is left, where there is a limit.
    pub fn remaining(&self) -> Option<Duration> {
        self.deadline.map(|d| d.saturating_duration_since(Instant::now()))
    }
    /// Tells the listener.
    pub fn progress(&self, stage: &str, done: u64, total: Option<u64>) {
        self.progress.step(stage, done, total);
    }
    /// The random stream of one use.
    pub fn rng(&self, name: &str, index: u64) -> Rng {
        Rng::stream(self.seed, name, index)
    }
}
