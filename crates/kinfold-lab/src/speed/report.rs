//! What was measured, as text and as JSON.

use super::plot::{self, Line};

/// One measurement.
#[derive(Debug, Clone, serde::Serialize)]
pub struct Entry {
    pub section: &'static str,
    pub what: String,
    /// Seconds of ours, or another number with its unit in `what`.
    pub ours: f64,
    pub peer: Option<String>,
    pub theirs: Option<f64>,
    /// Theirs / ours, or what else the bar is about.
    pub ratio: Option<f64>,
    /// The bar: at least (true) or at most.
    pub bar: Option<(bool, f64)>,
    pub note: String,
}

#[derive(Default)]
pub struct Report {
    notes: Vec<String>,
    entries: Vec<Entry>,
    /// Name and SVG.
    pub plots: Vec<(String, String)>,
}

impl Report {
    pub fn note(&mut self, text: String) {
        eprintln!("{text}");
        self.notes.push(text);
    }

    pub fn add(&mut self, entry: Entry) {
        eprintln!("{}", row(&entry));
        self.entries.push(entry);
    }

    pub fn plot(&mut self, name: &str, title: &str, x: &str, y: &str, lines: &[Line]) {
        self.plots.push((name.to_owned(), plot::svg(title, x, y, lines)));
    }

    /// Are all bars met?
    pub fn met(&self) -> bool {
        self.entries.iter().all(|e| verdict(e) != Some(false))
    }

    pub fn markdown(&self) -> String {
        let mut out = String::new();
        self.notes.iter().for_each(|n| out += &format!("{n}\n"));
        let mut section = "";
        for entry in &self.entries {
            if entry.section != section {
                section = entry.section;
                out += &format!(
                    "\n## {section}\n\n| what | ours | peer | theirs | ratio | bar | |\n|---|--:|---|--:|--:|--:|---|\n"
                );
            }
            out += &row(entry);
            out.push('\n');
        }
        out
    }

    pub fn json(&self) -> String {
        let all = serde_json::json!({ "schema_version": 1, "notes": self.notes, "entries": self.entries });
        format!("{all:#}\n")
    }
}

fn verdict(entry: &Entry) -> Option<bool> {
    let ratio = entry.ratio?;
    entry.bar.map(|(at_least, bar)| if at_least { ratio >= bar } else { ratio <= bar })
}

fn row(e: &Entry) -> String {
    let bar = e.bar.map_or(String::new(), |(at_least, bar)| format!("{} {bar}", if at_least { "≥" } else { "≤" }));
    let mark = match verdict(e) {
        Some(true) => "met",
        Some(false) => "MISSED",
        None => "",
    };
    format!(
        "| {} | {} | {} | {} | {} | {bar} | {mark} {} |",
        e.what,
        seconds(e.ours),
        e.peer.as_deref().unwrap_or(""),
        e.theirs.map_or(String::new(), seconds),
        e.ratio.map_or(String::new(), |r| format!("{r:.2}")),
        e.note
    )
}

/// Seconds in a readable unit; numbers that are no times are written as they are with `what` naming the unit.
fn seconds(value: f64) -> String {
    match value {
        v if v < 1e-3 => format!("{:.1} µs", v * 1e6),
        v if v < 1.0 => format!("{:.1} ms", v * 1e3),
        v => format!("{v:.2} s"),
    }
}
