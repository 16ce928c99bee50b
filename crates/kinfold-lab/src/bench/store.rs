//! Results on disk: one JSON object per line, keyed by case, appended as soon as it is known. A run that was stopped goes
//! on where it was; a line that was cut short is done again.

use std::collections::{BTreeMap, HashMap};
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::journal::Journal;

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
    /// Its iterations, or rounds.
    #[serde(default)]
    pub iterations: usize,
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
    journal: Journal,
    done: HashMap<Case, usize>,
    /// Places of the results by suite, data, level and method.
    cells: HashMap<[String; 4], Vec<usize>>,
    records: Vec<Record>,
}

fn cell_of(case: &Case) -> [String; 4] {
    [case.suite.clone(), case.data.clone(), case.level.clone(), case.method.clone()]
}

impl Store {
    /// Opens or begins a file.
    pub fn open(path: &Path) -> Result<Store, String> {
        let (journal, known) = Journal::open::<Record>(path)?;
        let mut store = Store { journal, done: HashMap::new(), cells: HashMap::new(), records: Vec::new() };
        known.into_iter().for_each(|record| store.keep(record));
        Ok(store)
    }

    fn keep(&mut self, record: Record) {
        if let Some(&at) = self.done.get(&record.case) {
            self.records[at] = record;
        } else {
            self.done.insert(record.case.clone(), self.records.len());
            self.cells.entry(cell_of(&record.case)).or_default().push(self.records.len());
            self.records.push(record);
        }
    }

    /// Is it known?
    pub fn has(&self, case: &Case) -> bool {
        self.done.contains_key(case)
    }

    /// Writes a result down.
    pub fn add(&mut self, record: Record) -> Result<(), String> {
        self.journal.add(&record)?;
        self.keep(record);
        Ok(())
    }

    /// The results of a cell, in the order of sets and starts.
    pub fn cell(&self, suite: &str, data: &str, level: &str, method: &str) -> Vec<&Record> {
        let places = self.cells.get(&[suite, data, level, method].map(str::to_owned));
        let mut found: Vec<&Record> = places.into_iter().flatten().map(|&at| &self.records[at]).collect();
        found.sort_by_key(|r| (r.case.set, r.case.start));
        found
    }

    /// Seconds that these cases will take, by what others of their cells took; `None` before anything is known.
    pub fn expected(&self, cases: &[&Case]) -> Option<f64> {
        let mut means: HashMap<[String; 4], Option<f64>> = HashMap::new();
        let (mut sum, mut known) = (0.0, 0usize);
        for case in cases {
            let mean = *means.entry(cell_of(case)).or_insert_with_key(|key| {
                let places = self.cells.get(key)?;
                Some(places.iter().map(|&at| self.records[at].seconds).sum::<f64>() / places.len() as f64)
            });
            sum += mean.unwrap_or(0.0);
            known += usize::from(mean.is_some());
        }
        // What has no example yet is taken to be like the rest.
        (known > 0).then(|| sum * cases.len() as f64 / known as f64)
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
        Record {
            case,
            scores,
            must_link: 0,
            cannot_link: 1,
            seconds: 0.5,
            iterations: 3,
            note: String::new(),
            error: None,
        }
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
