//! What was measured, as text and as JSON.

use kinfold_report::chart::{LineChart, Point, Scale, Series};
use serde::{Deserialize, Serialize};

/// One measurement.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Entry {
    pub section: String,
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

/// A named line.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Line {
    pub name: String,
    pub points: Vec<(f64, f64)>,
}

/// Lines on logarithmic axes.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Plot {
    name: String,
    title: String,
    x: String,
    y: String,
    lines: Vec<Line>,
}

impl Plot {
    pub fn file(&self) -> String {
        format!("speed-{}.svg", self.name)
    }

    pub fn svg(&self) -> String {
        let line = |l: &Line| Series {
            name: l.name.clone(),
            points: l.points.iter().map(|p| Point::new(p.0, p.1)).collect(),
            ..Series::default()
        };
        let chart = LineChart {
            title: self.title.clone(),
            x_name: self.x.clone(),
            y_name: self.y.clone(),
            x_scale: Scale::Log,
            y_scale: Scale::Log,
            series: self.lines.iter().map(line).collect(),
            ..LineChart::default()
        };
        chart.svg().standalone()
    }
}

/// What one part of the bench measured.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Section {
    pub name: String,
    /// Under which arguments.
    pub circumstances: String,
    notes: Vec<String>,
    entries: Vec<Entry>,
    plots: Vec<Plot>,
}

#[derive(Default)]
pub struct Report {
    /// Before the first section.
    opening: Section,
    sections: Vec<Section>,
}

impl Report {
    /// Begins a section.
    pub fn begin(&mut self, name: &str, circumstances: &str) {
        let (name, circumstances) = (name.to_owned(), circumstances.to_owned());
        self.sections.push(Section { name, circumstances, ..Section::default() });
    }

    /// Takes a section that was measured before.
    pub fn take(&mut self, section: Section) {
        self.sections.push(section);
    }

    /// The section that was begun last.
    pub fn current(&self) -> &Section {
        self.sections.last().unwrap_or(&self.opening)
    }

    fn open(&mut self) -> &mut Section {
        self.sections.last_mut().unwrap_or(&mut self.opening)
    }

    fn all(&self) -> impl Iterator<Item = &Section> {
        std::iter::once(&self.opening).chain(&self.sections)
    }

    fn entries(&self) -> impl Iterator<Item = &Entry> {
        self.all().flat_map(|s| &s.entries)
    }

    pub fn plots(&self) -> impl Iterator<Item = &Plot> {
        self.all().flat_map(|s| &s.plots)
    }

    pub fn note(&mut self, text: String) {
        eprintln!("{text}");
        self.open().notes.push(text);
    }

    pub fn add(&mut self, entry: Entry) {
        eprintln!("{}", row(&entry));
        self.open().entries.push(entry);
    }

    pub fn plot(&mut self, name: &str, title: &str, x: &str, y: &str, lines: Vec<Line>) {
        let own = str::to_owned;
        self.open().plots.push(Plot { name: own(name), title: own(title), x: own(x), y: own(y), lines });
    }

    /// Are all bars met?
    pub fn met(&self) -> bool {
        self.entries().all(|e| verdict(e) != Some(false))
    }

    /// Tables by section, the plots behind the tables of the part that drew them, a sentence at the end.
    pub fn markdown(&self, with_plots: bool) -> String {
        let mut out = String::new();
        for note in self.all().flat_map(|s| &s.notes) {
            out += &format!("{note}\n\n");
        }
        let mut heads: Vec<&str> = Vec::new();
        for entry in self.entries().filter(|e| !e.section.is_empty()) {
            if !heads.contains(&entry.section.as_str()) {
                heads.push(&entry.section);
            }
        }
        for head in heads {
            out += &format!(
                "## {head}\n\n| what | ours | peer | theirs | ratio | bar | |\n|---|--:|---|--:|--:|--:|---|\n"
            );
            for entry in self.entries().filter(|e| e.section == head) {
                out += &row(entry);
                out.push('\n');
            }
            out.push('\n');
        }
        if with_plots && self.plots().next().is_some() {
            out += "## Growth, drawn\n\n";
            self.plots().for_each(|p| out += &format!("![{}]({})\n\n", p.title, p.file()));
        }
        let judged: Vec<bool> = self.entries().filter_map(verdict).collect();
        let met = judged.iter().filter(|m| **m).count();
        out + &format!("{met} of {} bars met\n", judged.len())
    }

    pub fn json(&self) -> String {
        let notes: Vec<&String> = self.all().flat_map(|s| &s.notes).collect();
        let entries: Vec<&Entry> = self.entries().collect();
        let all = serde_json::json!({ "schema_version": 1, "notes": notes, "entries": entries });
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

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(section: &str, ratio: f64) -> Entry {
        let bar = Some((true, 2.0));
        let (what, note) = ("iteration".to_owned(), String::new());
        let (peer, theirs) = (Some("peer".to_owned()), Some(ratio));
        Entry { section: section.to_owned(), what, ours: 1.0, peer, theirs, ratio: Some(ratio), bar, note }
    }

    #[test]
    fn sections_of_one_head_become_one_table_and_the_last_line_counts_the_bars() {
        let mut report = Report::default();
        report.begin("iteration", "");
        report.add(entry("Plain", 3.0));
        report.begin("constraints", "");
        report.add(entry("Constraints", 1.0));
        report.begin("convergence", "");
        report.add(entry("Plain", 2.5));
        let lines = vec![Line { name: "a".into(), points: vec![(1.0, 2.0), (10.0, 20.0)] }];
        report.plot("rows", "Time", "rows", "seconds", lines);
        let text = report.markdown(true);
        assert_eq!(text.matches("## Plain").count(), 1);
        assert!(text.ends_with("2 of 3 bars met\n") && text.contains("](speed-rows.svg)"));
        assert!(!report.met());
        // What is kept is what was measured.
        let kept: Section = serde_json::from_str(&serde_json::to_string(report.current()).unwrap()).unwrap();
        let mut other = Report::default();
        other.take(kept);
        assert!(other.met() && other.plots().count() == 1);
    }
}
