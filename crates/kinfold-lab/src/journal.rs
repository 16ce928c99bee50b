//! Results on disk, one JSON object per line, appended as soon as it is known. A line that was cut short is not there.

use std::io::Write;
use std::path::Path;

/// A file to which results are appended.
pub struct Journal(std::fs::File);

impl Journal {
    /// Opens or begins a file and reads what it holds.
    pub fn open<T: serde::de::DeserializeOwned>(path: &Path) -> Result<(Journal, Vec<T>), String> {
        let failed = |e: std::io::Error| format!("{}: {e}", path.display());
        let text = if path.exists() { std::fs::read(path).map_err(failed)? } else { Vec::new() };
        let text = String::from_utf8_lossy(&text);
        let mut file = std::fs::OpenOptions::new().create(true).append(true).open(path).map_err(failed)?;
        if !text.is_empty() && !text.ends_with('\n') {
            file.write_all(b"\n").map_err(failed)?;
        }
        Ok((Journal(file), text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()))
    }

    /// The same where a file is named, otherwise nothing is kept.
    pub fn maybe<T: serde::de::DeserializeOwned>(path: Option<&Path>) -> Result<(Option<Journal>, Vec<T>), String> {
        match path {
            None => Ok((None, Vec::new())),
            Some(path) => Journal::open(path).map(|(journal, known)| (Some(journal), known)),
        }
    }

    /// Writes a result down.
    pub fn add<T: serde::Serialize>(&mut self, result: &T) -> Result<(), String> {
        let mut line = serde_json::to_string(result).map_err(|e| e.to_string())?;
        line.push('\n');
        self.0.write_all(line.as_bytes()).and_then(|()| self.0.flush()).map_err(|e| e.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_that_was_cut_short_is_left_out_and_the_next_one_is_whole() {
        let path = std::env::temp_dir().join(format!("kinfold-journal-{}.jsonl", std::process::id()));
        let _ = std::fs::remove_file(&path);
        let (mut journal, known) = Journal::open::<(u32, String)>(&path).unwrap();
        assert!(known.is_empty());
        journal.add(&(1, "one")).unwrap();
        journal.add(&(2, "zwei, drei … ü")).unwrap();
        drop(journal);
        // Power lost in the middle of a character.
        let bytes = std::fs::read(&path).unwrap();
        std::fs::write(&path, &bytes[..bytes.len() - 4]).unwrap();
        let (mut journal, known) = Journal::open::<(u32, String)>(&path).unwrap();
        assert_eq!(known, [(1, "one".to_owned())]);
        journal.add(&(3, "three")).unwrap();
        let (_, known) = Journal::open::<(u32, String)>(&path).unwrap();
        assert_eq!(known.iter().map(|k| k.0).collect::<Vec<_>>(), [1, 3]);
        let _ = std::fs::remove_file(&path);
    }
}
