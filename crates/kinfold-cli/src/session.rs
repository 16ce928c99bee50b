//! What all commands share: where to talk, how much, and the run context.

use std::io::Write;
use std::path::Path;
use std::sync::Arc;

use kinfold::context::{CancelToken, RunContext};
pub use kinfold_io::words::{count, number, thousands};

use crate::args::Global;
use crate::failure::Failure;
use crate::progress::{Bar, cancel_on_interrupt};

/// The exit code, or why not.
pub type Done = Result<u8, Failure>;

pub struct Session {
    pub json: bool,
    pub threads: usize,
    quiet: bool,
    verbose: bool,
    ctx: RunContext,
    bar: Option<Arc<Bar>>,
    cancel: CancelToken,
}

impl Session {
    pub fn new(global: &Global) -> Session {
        let cancel = cancel_on_interrupt();
        let mut ctx = RunContext::new(global.seed).with_threads(global.threads).with_cancel(cancel.clone());
        if let Some(limit) = global.time_limit {
            ctx = ctx.with_time_limit(limit);
        }
        if let Some(memory) = global.memory.or_else(|| kinfold_io::machine_memory().map(|total| total / 2)) {
            ctx = ctx.with_memory(memory);
        }
        let bar = (!global.quiet).then(|| Arc::new(Bar::new()));
        if let Some(bar) = &bar {
            ctx = ctx.with_progress(bar.clone());
        }
        let (json, threads, quiet, verbose) = (global.json, global.threads, global.quiet, global.verbose);
        Session { json, threads, quiet, verbose, ctx, bar, cancel }
    }
    pub fn ctx(&self) -> &RunContext {
        &self.ctx
    }
    /// Was the run stopped by Ctrl-C?
    pub fn interrupted(&self) -> bool {
        self.cancel.is_cancelled()
    }
    /// Removes the progress bar.
    pub fn clear_progress(&self) {
        if let Some(bar) = &self.bar {
            bar.clear();
        }
    }
    /// Talk: standard error, unless --quiet.
    pub fn say(&self, text: impl AsRef<str>) {
        if !self.quiet {
            self.clear_progress();
            eprintln!("{}", text.as_ref());
        }
    }
    /// More talk, with --verbose.
    pub fn mention(&self, text: impl AsRef<str>) {
        if self.verbose {
            self.say(text);
        }
    }
    /// Prints one JSON object to standard output.
    pub fn print_json(&self, value: &serde_json::Value) -> Result<(), Failure> {
        self.clear_progress();
        let mut out = std::io::stdout().lock();
        serde_json::to_writer(&mut out, value).map_err(std::io::Error::from)?;
        writeln!(out)?;
        Ok(())
    }
    /// Prints text to standard output.
    pub fn print(&self, text: &str) -> Result<(), Failure> {
        self.clear_progress();
        let mut out = std::io::stdout().lock();
        out.write_all(text.as_bytes())?;
        out.flush()?;
        Ok(())
    }
    /// Writes `id,label` lines to a file or standard output.
    pub fn write_labels(&self, path: Option<&Path>, ids: &kinfold_io::Ids, labels: &[u32]) -> Result<(), Failure> {
        match path {
            None => {
                self.clear_progress();
                Ok(kinfold_io::write_labels("standard output", std::io::stdout().lock(), ids, labels)?)
            }
            Some(path) => {
                let mut bytes = Vec::new();
                kinfold_io::write_labels(&path.display().to_string(), &mut bytes, ids, labels)?;
                self.write_file(path, &bytes)
            }
        }
    }
    /// Writes a file whole or not at all: a temporary neighbour, then a rename.
    pub fn write_file(&self, path: &Path, bytes: &[u8]) -> Result<(), Failure> {
        let failed = |e: std::io::Error| Failure::new(1, format!("{}: writing failed: {e}", path.display()));
        let mut name = path.file_name().unwrap_or_default().to_os_string();
        name.push(format!(".{}.tmp", std::process::id()));
        let temporary = path.with_file_name(name);
        std::fs::write(&temporary, bytes).map_err(failed)?;
        std::fs::rename(&temporary, path).map_err(|e| {
            let _ = std::fs::remove_file(&temporary);
            failed(e)
        })
    }
}
