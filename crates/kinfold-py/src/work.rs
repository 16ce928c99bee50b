//! Long work: in its own thread, without the interpreter lock, while this thread looks for Ctrl-C and shows progress.

use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use kinfold::context::{CancelToken, Progress, RunContext};
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;

/// How often signals are looked for and progress is shown.
const TICK: Duration = Duration::from_millis(50);
/// Deep recursions run on the main thread's stack elsewhere; give them as much here.
const STACK: usize = 16 << 20;

/// The latest step of the run.
#[derive(Default)]
struct News(Mutex<Option<(String, u64, Option<u64>)>>);

impl Progress for News {
    fn step(&self, stage: &str, done: u64, total: Option<u64>) {
        if let Ok(mut slot) = self.0.lock() {
            match slot.as_mut() {
                Some((name, d, t)) if name == stage => (*d, *t) = (done, total),
                _ => *slot = Some((stage.to_owned(), done, total)),
            }
        }
    }
}

/// Seed, threads and limits of a run.
#[derive(Clone, Copy)]
pub struct Settings {
    pub seed: u64,
    pub threads: usize,
    pub time_limit: Option<f64>,
    /// Bytes beside the rows; `None` = half of the machine's.
    pub memory: Option<u64>,
}

/// Does `work` in another thread. Ctrl-C asks it to stop and is raised once it has; `progress` is called with stage,
/// done and total.
pub fn run<T: Send>(
    py: Python<'_>,
    settings: Settings,
    progress: Option<&Bound<'_, PyAny>>,
    work: impl FnOnce(&RunContext) -> T + Send,
) -> PyResult<T> {
    let (cancel, news) = (CancelToken::new(), Arc::new(News::default()));
    let mut ctx = RunContext::new(settings.seed).with_threads(settings.threads).with_cancel(cancel.clone());
    if let Some(seconds) = settings.time_limit {
        let limit = Duration::try_from_secs_f64(seconds)
            .map_err(|_| crate::errors::parameter(py, format!("time_limit takes seconds from 0 up, not {seconds}")))?;
        ctx = ctx.with_time_limit(limit);
    }
    if let Some(memory) = settings.memory.or_else(|| kinfold_io::machine_memory().map(|total| total / 2)) {
        ctx = ctx.with_memory(memory);
    }
    if progress.is_some() {
        ctx = ctx.with_progress(news.clone());
    }
    let tell = || -> PyResult<()> {
        py.check_signals()?;
        let Some(progress) = progress else { return Ok(()) };
        // The same step again and again: a clock beside it moves on.
        let latest = news.0.lock().ok().and_then(|slot| slot.clone());
        latest.map_or(Ok(()), |step| progress.call1(step).map(drop))
    };
    std::thread::scope(|scope| {
        let (sender, receiver) = channel();
        let receiver = Mutex::new(receiver);
        let worker = std::thread::Builder::new()
            .name("kinfold".into())
            .stack_size(STACK)
            .spawn_scoped(scope, move || drop(sender.send(work(&ctx))))?;
        let mut raised = None;
        loop {
            let waited = py.detach(|| {
                let receiver = receiver.lock().map_err(|_| RecvTimeoutError::Disconnected)?;
                receiver.recv_timeout(TICK)
            });
            match waited {
                Ok(result) => return raised.map_or(Ok(result), Err),
                Err(RecvTimeoutError::Disconnected) => {
                    let _ = py.detach(|| worker.join());
                    return Err(PyRuntimeError::new_err("kinfold broke an invariant; please report this as a bug"));
                }
                Err(RecvTimeoutError::Timeout) if raised.is_none() => {
                    if let Err(error) = tell() {
                        cancel.cancel();
                        raised = Some(error);
                    }
                }
                Err(RecvTimeoutError::Timeout) => {}
            }
        }
    })
}
