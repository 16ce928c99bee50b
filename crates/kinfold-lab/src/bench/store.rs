//! Results on disk: one JSON object per line, keyed by case, appended as soon as it is known. A run that was stopped goes
//! on where it was; a line that was cut short is done again.

use std::collections::{BTreeMap, HashMap};
use std::io::Write;
use std::path::Path;

use serde::{Deserialize, Serialize};

/// What was run.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Case {
    /// The suite.
    pub suite: String,
    /// The data set.
    pub data: String,
    /// The amount of constraints, or what varies in its place.
    pub level: String,
    /// The column of the table.
    pub method: String,
    /// The constraint set.
    pub set: u64,
    /// The start.
    pub start: u64,
}

/// What came of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// What was run.
    #[serde(flatten)]
    pub case: Case,
    /// Scores by name.
    #[serde(default)]
    pub scores: BTreeMap<String, f64>,
    /// Broken must-links.
    #[serde(default)]
    pub must_link: u64,
    /// Broken cannot-links.
    #[serde(default)]
    pub cannot_link: u64,
    /// Wall time of the fit.
    #[serde(default)]
    pub seconds: f64,
    /// What it chose.
    #[serde(default)]
    pub note: String,
    /// Why there is no score.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

impl Record {
    /// Broken constraints.
    pub fn broken(&self) -> u64 {
        self.must_link + self.cannot_link
    }
}

/// All results so far.
pub struct Store {
    file: std::fs::File,
    done: HashMap<Case, usize>,
    records: Vec<Record>,
}

impl Store {
    /// Opens or begins a file.
    pub fn open(path: &Path) -> Result<Store, String> {
        let failed = |e: std::io::Error| format!("{}: {e}", path.display());
        let text = if path.exists() { std::fs::read_to_string(path).map_err(failed)? } else { String::new() };
        let mut file = std::fs::OpenOptions::new().create(true).append(true).open(path).map_err(failed)?;
        if !text.is_empty() && !text.ends_with('\n') {
            file.write_all(b"\n").map_err(failed)?;
        }
        let mut store = Store { file, done: HashMap::new(), records: Vec::new() };
        text.lines().filter_map(|line| serde_json::from_str(line).ok()).for_each(|record| store.keep(record));
        Ok(store)
    }

    fn keep(&mut self, record: Record) {
        if let Some(&at) = self.done.get(&record.case) {
            self.records[at] = record;
        } else {
            self.done.insert(record.case.clone(), self.records.len());
            self.records.push(record);
        }
    }

    /// Is it known?
    pub fn has(&self, case: &Case) -> bool {
        self.done.contains_key(case)
    }

    /// Writes a result down.
    pub fn add(&mut self, record: Record) -> Result<(), String> {
        let mut line = serde_json::to_string(&record).map_err(|e| e.to_string())?;
        line.push('\n');
        self.file.write_all(line.as_bytes()).and_then(|()| self.file.flush()).map_err(|e| e.to_string())?;
        self.keep(record);
        Ok(())
    }

    /// The results of a cell, in the order of sets and starts.
    pub fn cell(&self, suite: &str, data: &str, level: &str, method: &str) -> Vec<&Record> {
        let is = |r: &&Record| {
            let c = &r.case;
            c.suite == suite && c.data == data && c.level == level && c.method == method
        };
        let mut found: Vec<&Record> = self.records.iter().filter(is).collect();
        found.sort_by_key(|r| (r.case.set, r.case.start));
        found
    }

    /// The results of a suite.
    pub fn suite(&self, suite: &str) -> Vec<&Record> {
        self.records.iter().filter(|r| r.case.suite == suite).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(set: u64, score: f64) -> Record {
        let word = str::to_owned;
        let case = Case { suite: word("s"), data: word("d"), level: word("1 %"), method: word("m"), set, start: 0 };
        let scores = BTreeMap::from([(word("nmi"), score)]);
        Record { case, scores, must_link: 0, cannot_link: 1, seconds: 0.5, note: String::new(), error: None }
    }

    #[test]
    fn a_run_that_was_cut_short_goes_on_where_it_was() {
        let path = std::env::temp_dir().join(format!("kinfold-store-{}.jsonl", std::process::id()));
        let _ = std::fs::remove_file(&path);
        let mut store = Store::open(&path).unwrap();
        store.add(record(1, 0.5)).unwrap();
        store.add(record(2, 0.6)).unwrap();
        drop(store);
        // Power lost in the middle of the second line.
        let text = std::fs::read_to_string(&path).unwrap();
        std::fs::write(&path, &text[..text.len() - 20]).unwrap();
        let mut store = Store::open(&path).unwrap();
        assert!(store.has(&record(1, 0.0).case) && !store.has(&record(2, 0.0).case));
        store.add(record(2, 0.7)).unwrap();
        drop(store);
        let store = Store::open(&path).unwrap();
        let scores: Vec<f64> = store.cell("s", "d", "1 %", "m").iter().map(|r| r.scores["nmi"]).collect();
        assert_eq!(scores, [0.5, 0.7]);
        std::fs::remove_file(&path).unwrap();
    }
}
