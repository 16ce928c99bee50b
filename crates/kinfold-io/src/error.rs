//! What can be wrong with a file, and where.

use std::fmt;

/// Why a file cannot be read or written: file, line, column, a sentence and what to do about it.
///
/// `Display` gives `file:line: column 'x': sentence`; the [`hint`](ReadError::hint) is kept apart.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReadError {
    /// Name of the file as the user gave it.
    pub file: String,
    /// Line, from 1, where the format has lines.
    pub line: Option<u64>,
    /// Name of the column.
    pub column: Option<String>,
    /// What is wrong, as a sentence without its full stop.
    pub message: String,
    /// What to do about it.
    pub hint: Option<String>,
    /// Is it the request (an unknown column, an option that the format does not have) and not the file that is wrong?
    pub usage: bool,
}

/// The result of reading.
pub type Result<T, E = ReadError> = std::result::Result<T, E>;

impl ReadError {
    /// An error about a file as a whole.
    pub fn new(file: impl Into<String>, message: impl Into<String>) -> ReadError {
        let (file, message) = (file.into(), message.into());
        ReadError { file, line: None, column: None, message, hint: None, usage: false }
    }
    /// Adds the line, from 1.
    pub fn at_line(mut self, line: u64) -> ReadError {
        self.line = Some(line);
        self
    }
    /// Adds the line if there is one.
    pub(crate) fn at(mut self, line: Option<u64>) -> ReadError {
        self.line = line;
        self
    }
    /// Adds the column.
    pub fn in_column(mut self, column: impl Into<String>) -> ReadError {
        self.column = Some(column.into());
        self
    }
    /// Adds what to do.
    pub fn hint(mut self, hint: impl Into<String>) -> ReadError {
        self.hint = Some(hint.into());
        self
    }
    /// Marks the request as the culprit.
    pub fn usage(mut self) -> ReadError {
        self.usage = true;
        self
    }
    /// An error of the operating system.
    pub(crate) fn io(file: &str, doing: &str, error: &std::io::Error) -> ReadError {
        use std::io::ErrorKind::{IsADirectory, NotFound, PermissionDenied};
        let e = ReadError::new(file, String::new());
        match error.kind() {
            NotFound => ReadError { message: "there is no such file".into(), ..e }
                .hint("check the path; it is taken relative to the current directory"),
            IsADirectory => {
                ReadError { message: "this is a directory, not a file".into(), ..e }.hint("name a file in it")
            }
            PermissionDenied => ReadError { message: format!("{doing} is not permitted"), ..e },
            _ => ReadError { message: format!("{doing} failed: {error}"), ..e },
        }
    }
}

impl fmt::Display for ReadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.file)?;
        if let Some(line) = self.line {
            write!(f, ":{line}")?;
        }
        if let Some(column) = &self.column {
            write!(f, ": column '{column}'")?;
        }
        write!(f, ": {}", self.message)
    }
}

impl std::error::Error for ReadError {}

/// A value as it is shown in a message: valid, one line, short.
pub(crate) fn show(value: &[u8]) -> String {
    let text = String::from_utf8_lossy(&value[..value.len().min(240)]);
    let mut out: String = text.chars().take(60).flat_map(|c| c.escape_debug()).collect();
    if text.chars().nth(60).is_some() || value.len() > 240 {
        out.push('…');
    }
    out.replace("\\'", "'").replace("\\\"", "\"")
}

/// The name among `names` that is closest to `wanted`, if any is close.
pub(crate) fn nearest<'a>(wanted: &str, names: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let fold = |s: &str| s.trim().to_lowercase().replace(['-', ' '], "_");
    let target: Vec<char> = fold(wanted).chars().take(64).collect();
    let limit = (target.len() / 3).max(1);
    names
        .into_iter()
        .filter_map(|name| {
            let other: Vec<char> = fold(name).chars().take(64).collect();
            let d = distance(&target, &other);
            (d <= limit).then_some((d, name))
        })
        .min_by_key(|&(d, _)| d)
        .map(|(_, name)| name)
}

fn distance(a: &[char], b: &[char]) -> usize {
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.iter().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, y) in b.iter().enumerate() {
            let best = (diagonal + usize::from(x != y)).min(row[j] + 1).min(row[j + 1] + 1);
            diagonal = row[j + 1];
            row[j + 1] = best;
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_reads_as_file_line_column_sentence() {
        let e = ReadError::new("a.csv", "the cell is empty").at_line(7).in_column("x").hint("fill it");
        assert_eq!(e.to_string(), "a.csv:7: column 'x': the cell is empty");
        assert_eq!(e.hint.as_deref(), Some("fill it"));
    }

    #[test]
    fn the_nearest_name_ignores_case_and_forgives_a_slip() {
        assert_eq!(nearest("Specis", ["species", "petal"]), Some("species"));
        assert_eq!(nearest("petal length", ["petal_length", "petal_width"]), Some("petal_length"));
        assert_eq!(nearest("zzz", ["species", "petal"]), None);
    }

    #[test]
    fn shown_values_are_short_and_on_one_line() {
        assert_eq!(show(b"a\nb"), "a\\nb");
        assert_eq!(show("it's \"x\"".as_bytes()), "it's \"x\"");
        assert!(show(&[b'x'; 1000]).chars().count() <= 61);
    }
}
