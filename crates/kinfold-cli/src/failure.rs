//! How things end: a sentence, a hint and an exit code.

use std::fmt;

/// Why a command did not end with 0.
#[derive(Debug)]
pub struct Failure {
    /// The exit code.
    pub code: u8,
    /// The sentence.
    pub message: String,
    /// What to do about it.
    pub hint: Option<String>,
    broken_pipe: bool,
}

/// The command failed.
pub const FAILED: u8 = 1;
/// The command line is wrong.
pub const USAGE: u8 = 2;
/// The constraints contradict each other or cannot all hold.
pub const INFEASIBLE: u8 = 3;
/// Done, but constraints are broken and `--strict` was given.
pub const BROKEN: u8 = 4;
/// Interrupted; the best so far was written.
pub const INTERRUPTED: u8 = 130;

impl Failure {
    pub fn new(code: u8, message: impl Into<String>) -> Failure {
        Failure { code, message: message.into(), hint: None, broken_pipe: false }
    }
    pub fn is_broken_pipe(&self) -> bool {
        self.broken_pipe
    }
    pub fn hint(mut self, hint: impl Into<String>) -> Failure {
        self.hint = Some(hint.into());
        self
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "error: {}", self.message)?;
        if let Some(hint) = &self.hint {
            write!(f, "\nhint: {hint}")?;
        }
        Ok(())
    }
}

impl From<kinfold_io::ReadError> for Failure {
    fn from(e: kinfold_io::ReadError) -> Failure {
        Failure { code: if e.usage { USAGE } else { FAILED }, message: e.to_string(), hint: e.hint, broken_pipe: false }
    }
}

impl From<kinfold::Error> for Failure {
    fn from(e: kinfold::Error) -> Failure {
        use kinfold::Error as E;
        let code = match e {
            E::Contradiction(_) | E::Infeasible(_) | E::TooFewChunklets { .. } | E::Sizes(_) | E::DeadEnd(_) => {
                INFEASIBLE
            }
            E::NoSuchName { .. } | E::Parameter(_) | E::K { .. } | E::Unsupported { .. } | E::Memory { .. } => USAGE,
            _ => FAILED,
        };
        let hint = match &e {
            E::NoSuchName { family: "method" | "metric", .. } => {
                Some("`kinfold methods` lists the methods and metrics".to_owned())
            }
            E::Memory { .. } => Some("--memory allows more; `kinfold methods` lists methods that need less".to_owned()),
            E::NoSuchName { family: "query strategy", .. } => {
                Some("`kinfold methods queries` lists the query strategies".to_owned())
            }
            E::Contradiction(_) => Some("`kinfold check` shows every contradiction and the cheapest repair".to_owned()),
            E::Infeasible(_) => Some("`kinfold check` finds the smallest k that is possible".to_owned()),
            _ => None,
        };
        Failure { code, message: e.to_string(), hint, broken_pipe: false }
    }
}

impl From<std::io::Error> for Failure {
    fn from(e: std::io::Error) -> Failure {
        let broken_pipe = e.kind() == std::io::ErrorKind::BrokenPipe;
        Failure { broken_pipe, ..Failure::new(FAILED, format!("writing failed: {e}")) }
    }
}
