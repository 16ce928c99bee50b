//! How constraints are named to people: by their rows and by the file and line they came from.

use super::{ConstraintId, ConstraintSet, Kind};

impl std::fmt::Display for ConstraintId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            ConstraintId::Pair(i) => write!(f, "pair #{i}"),
            ConstraintId::Set(i) => write!(f, "set #{i}"),
            ConstraintId::Labels(i) => write!(f, "labels #{i}"),
        }
    }
}

impl ConstraintSet {
    /// The weight of a constraint.
    pub fn weight(&self, id: ConstraintId) -> f64 {
        match id {
            ConstraintId::Pair(i) => self.pairs()[i as usize].weight,
            ConstraintId::Set(i) => self.sets()[i as usize].weight,
            ConstraintId::Labels(i) => self.labels()[i as usize].weight,
        }
    }

    /// Where a constraint came from, as far as it concerns `rows`: `answers.csv:7`, `labels.csv:3,8`, or `pair #7`
    /// when it has no file.
    pub fn place(&self, id: ConstraintId, rows: &[u32]) -> String {
        let (origin, mut lines) = match id {
            ConstraintId::Pair(i) => (self.pairs()[i as usize].origin, Vec::new()),
            ConstraintId::Set(i) => (self.sets()[i as usize].origin, Vec::new()),
            ConstraintId::Labels(i) => {
                let l = &self.labels()[i as usize];
                let of_rows = l.rows.iter().zip(&l.lines).filter(|((row, _), _)| rows.contains(row));
                (l.origin, of_rows.map(|(_, &line)| line).collect())
            }
        };
        if lines.is_empty() && origin.line > 0 {
            lines.push(origin.line);
        }
        lines.sort_unstable();
        lines.dedup();
        if lines.is_empty() {
            return if origin.source == 0 { id.to_string() } else { self.source(origin).to_string() };
        }
        let lines: Vec<String> = lines.iter().map(ToString::to_string).collect();
        format!("{}:{}", self.source(origin), lines.join(","))
    }

    /// `different (a, d) [answers.csv:7]`, rows spelt by `name`.
    pub fn relation(&self, id: ConstraintId, kind: Kind, a: u32, b: u32, name: impl Fn(u32) -> String) -> String {
        format!("{} ({}, {}) [{}]", kind.answer(), name(a), name(b), self.place(id, &[a, b]))
    }
}
