//! Tables with the best of each row marked, as HTML and as Markdown.

use crate::escape;

/// Which of two numbers is better.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Better {
    /// The larger one.
    Higher,
    /// The smaller one.
    Lower,
}

/// A column.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Column {
    /// Its name.
    pub name: String,
    /// Numbers stand to the right.
    pub numeric: bool,
}

/// A cell.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Cell {
    /// What is written.
    pub text: String,
    /// The number behind it, for comparing.
    pub value: Option<f64>,
    /// Written small behind it: ± and so on.
    pub small: String,
    /// Written in brackets behind that: the printed number.
    pub aside: String,
    /// The best of its row.
    pub best: bool,
    /// Something is wrong with it.
    pub bad: bool,
}

impl Cell {
    /// Words.
    pub fn words(text: impl Into<String>) -> Cell {
        Cell { text: text.into(), ..Cell::default() }
    }
    /// A number with that many decimals.
    pub fn number(value: f64, decimals: usize) -> Cell {
        let text = if value.is_finite() { format!("{value:.decimals$}").replace('-', "−") } else { "–".to_owned() };
        Cell { text, value: value.is_finite().then_some(value), ..Cell::default() }
    }
    /// With a spread behind it.
    pub fn spread(mut self, sd: f64, decimals: usize) -> Cell {
        if sd.is_finite() {
            self.small = format!("± {sd:.decimals$}");
        }
        self
    }
    /// With something in brackets behind it.
    pub fn beside(mut self, text: impl Into<String>) -> Cell {
        self.aside = text.into();
        self
    }
    fn parts(&self) -> Vec<String> {
        let mut parts = vec![self.text.clone()];
        parts.extend((!self.small.is_empty()).then(|| self.small.clone()));
        parts.extend((!self.aside.is_empty()).then(|| format!("({})", self.aside)));
        parts
    }
}

/// A table.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Table {
    /// Above it.
    pub caption: String,
    /// The columns.
    pub columns: Vec<Column>,
    /// The rows; short ones are filled with nothing.
    pub rows: Vec<Vec<Cell>>,
}

impl Table {
    /// A table whose columns after the first `words` hold numbers.
    pub fn new(caption: impl Into<String>, words: usize, names: &[impl AsRef<str>]) -> Table {
        let column =
            |(i, name): (usize, &_)| Column { name: AsRef::<str>::as_ref(name).to_owned(), numeric: i >= words };
        Table { caption: caption.into(), columns: names.iter().enumerate().map(column).collect(), rows: Vec::new() }
    }

    /// Marks the best of every row among these columns, as written: what looks equal is equal.
    pub fn mark_best(&mut self, columns: &[usize], better: Better) {
        for row in &mut self.rows {
            let seen = |cell: &Cell| {
                let written = cell.text.replace('−', "-").parse::<f64>().ok();
                cell.value.and(written).map(|v| if better == Better::Higher { v } else { -v })
            };
            let best = columns.iter().filter_map(|&c| row.get(c).and_then(seen)).fold(f64::NEG_INFINITY, f64::max);
            for &c in columns {
                if let Some(cell) = row.get_mut(c) {
                    cell.best = seen(cell).is_some_and(|v| v >= best - 1e-12);
                }
            }
        }
    }

    /// As HTML, for a [`Page`](crate::Page).
    pub fn html(&self) -> String {
        let mut out = String::from("<div class=\"wide\"><table>");
        if !self.caption.is_empty() {
            out += &format!("<caption>{}</caption>", escape(&self.caption));
        }
        out += "<thead><tr>";
        for c in &self.columns {
            out += &format!("<th{}>{}</th>", if c.numeric { " class=\"n\"" } else { "" }, escape(&c.name));
        }
        out += "</tr></thead><tbody>\n";
        for row in &self.rows {
            out += "<tr>";
            for (i, c) in self.columns.iter().enumerate() {
                let nothing = Cell::default();
                let cell = row.get(i).unwrap_or(&nothing);
                let classes: Vec<&str> = [(c.numeric, "n"), (cell.best, "best"), (cell.bad, "bad")]
                    .into_iter()
                    .filter_map(|(is, name)| is.then_some(name))
                    .collect();
                let class =
                    if classes.is_empty() { String::new() } else { format!(" class=\"{}\"", classes.join(" ")) };
                out += &format!("<td{class}>{}", escape(&cell.text));
                if !cell.small.is_empty() {
                    out += &format!(" <small>{}</small>", escape(&cell.small));
                }
                if !cell.aside.is_empty() {
                    out += &format!(" <span class=\"aside\">({})</span>", escape(&cell.aside));
                }
                out += "</td>";
            }
            out += "</tr>\n";
        }
        out + "</tbody></table></div>\n"
    }

    /// As Markdown.
    pub fn markdown(&self) -> String {
        let safe = |text: &str| text.replace('|', "\\|").replace('\n', " ").replace('<', "&lt;");
        let mut out = if self.caption.is_empty() { String::new() } else { format!("{}\n\n", self.caption) };
        let line = |cells: Vec<String>| format!("| {} |\n", cells.join(" | "));
        out += &line(self.columns.iter().map(|c| safe(&c.name)).collect());
        out += &line(self.columns.iter().map(|c| if c.numeric { "---:" } else { "---" }.to_owned()).collect());
        for row in &self.rows {
            let cells = (0..self.columns.len()).map(|i| match row.get(i) {
                None => String::new(),
                Some(cell) => {
                    let mut parts: Vec<String> = cell.parts().iter().map(|p| safe(p)).collect();
                    if cell.best {
                        parts[0] = format!("**{}**", parts[0]);
                    }
                    if cell.bad {
                        parts.push("✗".to_owned());
                    }
                    parts.join(" ")
                }
            });
            out += &line(cells.collect());
        }
        out + "\n"
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table() -> Table {
        let mut table = Table::new("scores", 1, &["data", "a", "b", "printed"]);
        table.rows.push(vec![
            Cell::words("x | <y>"),
            Cell::number(0.912, 2).spread(0.1, 2),
            Cell::number(0.908, 2).beside("0.81"),
            Cell::words("–"),
        ]);
        table
    }

    #[test]
    fn what_looks_equal_is_equally_good() {
        let mut table = table();
        table.mark_best(&[1, 2, 3], Better::Higher);
        assert!(table.rows[0][1].best && table.rows[0][2].best && !table.rows[0][3].best);
        table.rows[0][2] = Cell::number(0.2, 2);
        table.mark_best(&[1, 2, 3], Better::Lower);
        assert!(!table.rows[0][1].best && table.rows[0][2].best);
    }

    #[test]
    fn html_and_markdown_say_the_same() {
        let mut table = table();
        table.mark_best(&[1, 2], Better::Higher);
        assert!(table.markdown().contains("| x \\| &lt;y> | **0.91** ± 0.10 | **0.91** (0.81) | – |"));
        let html = table.html();
        assert!(html.contains("<td>x | &lt;y&gt;</td><td class=\"n best\">0.91 <small>± 0.10</small></td>"), "{html}");
    }
}
