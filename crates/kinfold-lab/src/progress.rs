//! How far a long experiment is and when it will be done: one line on stderr, rewritten on a terminal.

use std::io::{IsTerminal, Write};
use std::time::{Duration, Instant};

/// A line of progress.
pub struct Progress {
    name: String,
    total: usize,
    begun: Instant,
    said: Option<Instant>,
    terminal: bool,
}

impl Progress {
    /// For this many steps.
    pub fn new(name: &str, total: usize) -> Progress {
        let terminal = std::io::stderr().is_terminal();
        Progress { name: name.to_owned(), total, begun: Instant::now(), said: None, terminal }
    }

    /// `done` steps are behind us; `left` seconds are expected, otherwise what the steps took so far is.
    pub fn step(&mut self, done: usize, what: &str, left: impl FnOnce() -> Option<f64>) {
        let pause = Duration::from_secs_f64(if self.terminal { 0.3 } else { 10.0 });
        if self.said.is_some_and(|at| at.elapsed() < pause) && done < self.total {
            return;
        }
        self.said = Some(Instant::now());
        let usual = || {
            let each = self.begun.elapsed().as_secs_f64() / done.max(1) as f64;
            (done > 0).then(|| each * (self.total - done.min(self.total)) as f64)
        };
        let left = if done < self.total { left().or_else(usual) } else { None };
        let left = left.map_or(String::new(), |s| format!(", ETA {}", span(s)));
        let text = format!("{} {done}/{}{left}: {what}", self.name, self.total);
        let end = if self.terminal && done < self.total { "" } else { "\n" };
        let begin = if self.terminal { "\r\x1b[2K" } else { "" };
        let _ = write!(std::io::stderr().lock(), "{begin}{text}{end}");
    }
}

/// Seconds as people say them.
pub fn span(seconds: f64) -> String {
    let whole = seconds.max(0.0).round() as u64;
    match whole {
        0..60 => format!("{whole} s"),
        60..3600 => format!("{} min {:02} s", whole / 60, whole % 60),
        _ => format!("{} h {:02} min", whole / 3600, whole / 60 % 60),
    }
}

#[cfg(test)]
mod tests {
    use super::span;

    #[test]
    fn spans_are_said_in_two_units() {
        assert_eq!([span(12.4), span(75.0), span(7260.0)], ["12 s", "1 min 15 s", "2 h 01 min"]);
    }
}
