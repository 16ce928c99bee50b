//! A progress bar with ETA on standard error for anything that takes over a second, and Ctrl-C.

use std::io::IsTerminal;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use kinfold::context::{CancelToken, Progress};

/// Nothing is drawn before this.
const PATIENCE: Duration = Duration::from_secs(1);

pub struct Bar {
    begun: Instant,
    bar: Mutex<Option<(String, ProgressBar)>>,
}

impl Bar {
    pub fn new() -> Bar {
        Bar { begun: Instant::now(), bar: Mutex::new(None) }
    }
    /// Takes the bar off the screen.
    pub fn clear(&self) {
        if let Ok(mut slot) = self.bar.lock()
            && let Some((_, bar)) = slot.take()
        {
            bar.finish_and_clear();
        }
    }
}

impl Progress for Bar {
    fn step(&self, stage: &str, done: u64, total: Option<u64>) {
        if self.begun.elapsed() < PATIENCE || !std::io::stderr().is_terminal() {
            return;
        }
        let Ok(mut slot) = self.bar.lock() else { return };
        if let (Some((name, bar)), None) = (slot.as_mut(), total)
            && bar.length().is_none()
            && name != stage
        {
            // Where nobody knows the end the text carries the news: the line stays, its words change.
            bar.set_message(stage.to_owned());
            *name = stage.to_owned();
        }
        if slot.as_ref().is_none_or(|(name, _)| name != stage) {
            if let Some((_, old)) = slot.take() {
                old.finish_and_clear();
            }
            let bar = ProgressBar::with_draw_target(total, ProgressDrawTarget::stderr_with_hz(10));
            let template = if total.is_some() {
                "{msg} {bar:30} {pos}/{len} {elapsed} (about {eta} left)"
            } else {
                "{spinner} {msg} {pos} {elapsed}"
            };
            if let Ok(style) = ProgressStyle::with_template(template) {
                bar.set_style(style);
            }
            bar.set_message(stage.to_owned());
            *slot = Some((stage.to_owned(), bar));
        }
        if let Some((_, bar)) = slot.as_ref() {
            bar.set_position(done);
        }
    }
}

impl Drop for Bar {
    fn drop(&mut self) {
        self.clear();
    }
}

/// The first Ctrl-C (or SIGTERM) asks the run for its best so far, the second ends the program.
pub fn cancel_on_interrupt() -> CancelToken {
    let token = CancelToken::new();
    let shared = token.clone();
    // A second handler in one process is the only way this fails; the default one is then as good.
    let _ = ctrlc::set_handler(move || {
        if shared.is_cancelled() {
            std::process::exit(i32::from(crate::failure::INTERRUPTED));
        }
        shared.cancel();
        eprintln!("\ninterrupted: finishing with the best so far (Ctrl-C again to give up)");
    });
    token
}
