//! What a question looks like: two rows side by side, fields that differ first and marked, one line why, how it is going.

use kinfold::data::Rows;
use kinfold::pipeline::Progress;
use kinfold_io::{DataFile, View};

use crate::failure::Failure;
use crate::session::{count, number, thousands};

/// A column that can be shown.
enum Column {
    /// Text column by its place.
    Text(usize),
    /// Feature column by its place, with its standard deviation.
    Feature(usize, f64),
}

/// The columns to show.
pub struct Columns {
    all: Vec<(String, Column)>,
}

impl Columns {
    pub fn new(file: &DataFile, wanted: Option<&[String]>) -> Result<Columns, Failure> {
        let mut all: Vec<(String, Column)> =
            file.text.iter().enumerate().map(|(i, c)| (c.name().to_owned(), Column::Text(i))).collect();
        let spreads = spreads(file);
        // Sparse rows have too many columns to list; what is not zero is found when a row is shown.
        for (i, sd) in spreads.into_iter().enumerate() {
            all.push((file.feature_name(i), Column::Feature(i, sd)));
        }
        if let Some(wanted) = wanted {
            let mut picked = Vec::new();
            for name in wanted {
                let at = all.iter().position(|c| c.0 == *name).ok_or_else(|| {
                    let known: Vec<&str> = all.iter().map(|c| c.0.as_str()).take(12).collect();
                    Failure::new(crate::failure::USAGE, format!("there is no column '{name}' (named by --show)"))
                        .hint(format!("the columns are: {}", known.join(", ")))
                })?;
                picked.push(all.swap_remove(at));
            }
            all = picked;
        }
        Ok(Columns { all })
    }
}

/// Standard deviation of each feature column; nothing for sparse rows.
fn spreads(file: &DataFile) -> Vec<f64> {
    fn of<F: kinfold::data::Float>(data: &kinfold::data::Dataset<'_, F>) -> Vec<f64> {
        let Rows::Dense(rows) = data.rows() else { return Vec::new() };
        let (n, dims) = (data.n() as f64, rows.dims());
        let (mut sum, mut square) = (vec![0.0; dims], vec![0.0; dims]);
        for row in rows.values().chunks_exact(dims) {
            for (j, v) in row.iter().enumerate() {
                sum[j] += v.to_f64();
                square[j] += v.to_f64() * v.to_f64();
            }
        }
        sum.iter().zip(&square).map(|(s, q)| (q / n - (s / n) * (s / n)).max(0.0).sqrt()).collect()
    }
    match file.rows.view() {
        Ok(View::F32(data)) => of(&data),
        Ok(View::F64(data)) => of(&data),
        Err(_) => Vec::new(),
    }
}

fn feature(file: &DataFile, row: usize, column: usize) -> f64 {
    fn of<F: kinfold::data::Float>(data: &kinfold::data::Dataset<'_, F>, row: usize, column: usize) -> f64 {
        match data.rows() {
            Rows::Dense(rows) => rows.row(row)[column].to_f64(),
            Rows::Sparse(rows) => {
                let (columns, values) = rows.row(row);
                columns.binary_search(&(column as u32)).map_or(0.0, |at| values[at].to_f64())
            }
        }
    }
    match file.rows.view() {
        Ok(View::F32(data)) => of(&data, row, column),
        Ok(View::F64(data)) => of(&data, row, column),
        Err(_) => f64::NAN,
    }
}

/// A field of both rows: name, values, and how much they differ (0 = equal).
struct Field {
    name: String,
    values: [String; 2],
    differs: f64,
}

fn fields(file: &DataFile, columns: &Columns, rows: (u32, u32)) -> Vec<Field> {
    let (a, b) = (rows.0 as usize, rows.1 as usize);
    let mut out: Vec<Field> = columns
        .all
        .iter()
        .map(|(name, column)| match *column {
            Column::Text(at) => {
                let values = [file.text[at].get(a).to_owned(), file.text[at].get(b).to_owned()];
                let differs = if values[0] == values[1] { 0.0 } else { f64::INFINITY };
                Field { name: name.clone(), values, differs }
            }
            Column::Feature(at, sd) => {
                let (x, y) = (feature(file, a, at), feature(file, b, at));
                let differs = if x == y { 0.0 } else { (x - y).abs() / sd.max(f64::MIN_POSITIVE) };
                Field { name: name.clone(), values: [number(x), number(y)], differs }
            }
        })
        .collect();
    // Text first, then the columns that differ most.
    out.sort_by(|x, y| y.differs.total_cmp(&x.differs));
    out
}

/// How it is going, in one line.
pub fn status(source: &str, p: &Progress) -> String {
    let mut parts = vec![source.to_owned(), format!("{} asked", thousands(p.asked))];
    if p.unsure > 0 {
        parts.push(format!("{} unsure", p.unsure));
    }
    if p.saved > 0 {
        parts.push(format!("saved you {}", count(p.saved, "question")));
    }
    if p.conflicts > 0 {
        parts.push(count(p.conflicts, "contradiction"));
    }
    if let Some(stability) = p.stability {
        parts.push(format!("{:.0} % of the rows stay put", 100.0 * stability));
    }
    match p.left {
        Some(0) | None => {}
        Some(left) => parts.push(format!("about {left} left")),
    }
    parts.join(" · ")
}

/// Whether to stop.
pub fn advice(p: &Progress) -> String {
    if !p.stop {
        return String::new();
    }
    let foreseen =
        p.foreseen.map_or(String::new(), |f| format!(" and {:.0} % of your last answers were foreseen", 100.0 * f));
    format!("You can stop here: the clusters no longer change{foreseen}.")
}

/// Cut to a width in characters, with an ellipsis.
fn fit(text: &str, width: usize) -> String {
    // Control characters in data must not reach the terminal.
    let clean: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    let length = clean.chars().count();
    if length <= width {
        return clean + &" ".repeat(width - length);
    }
    let mut cut: String = clean.chars().take(width.saturating_sub(1)).collect();
    cut.push('…');
    cut
}

/// All lines of the screen.
#[allow(clippy::too_many_arguments)]
pub fn screen(
    file: &DataFile,
    columns: &Columns,
    rows: (u32, u32),
    why: &str,
    status: &str,
    note: &str,
    advice: &str,
    (width, height): (usize, usize),
    busy: bool,
) -> Vec<String> {
    let width = width.clamp(40, 160);
    let bold = |text: String| format!("\x1b[1m{text}\x1b[0m");
    let dim = |text: String| format!("\x1b[2m{text}\x1b[0m");
    let name_width = (columns.all.iter().map(|c| c.0.chars().count()).max().unwrap_or(0)).clamp(4, width / 4);
    let value_width = (width - name_width - 8) / 2;
    let fields = fields(file, columns, rows);
    // Status, blank, why, blank, ids, fields, blank, note, advice, keys.
    let room = height.saturating_sub(11).max(3);
    let busy = if busy { " · clustering …" } else { "" };
    let mut lines = vec![dim(fit(&format!("{status}{busy}"), width)), String::new()];
    lines.push(bold("Do these two belong together?".to_owned()));
    lines.push(fit(why, width));
    lines.push(String::new());
    let head = |row: u32| fit(&file.ids.get(row as usize), value_width);
    lines.push(format!("    {} {}  {}", fit("", name_width), bold(head(rows.0)), bold(head(rows.1))));
    for f in fields.iter().take(room) {
        let [x, y] = [fit(&f.values[0], value_width), fit(&f.values[1], value_width)];
        let name = fit(&f.name, name_width);
        lines.push(if f.differs > 0.0 {
            format!("  ≠ {name} {}  {}", bold(x), bold(y))
        } else {
            dim(format!("  = {name} {x}  {y}"))
        });
    }
    let more = fields.len().saturating_sub(room);
    if more > 0 {
        let equal = fields[room..].iter().filter(|f| f.differs == 0.0).count();
        lines.push(dim(format!("    … {} more, {equal} of them equal", count(more, "field"))));
    }
    lines.push(String::new());
    for text in [note, advice].iter().filter(|t| !t.is_empty()) {
        lines.push(fit(text, width));
    }
    lines.push(format!(
        "{} same   {} different   {} unsure   {} undo   {} quit",
        bold("y".into()),
        bold("n".into()),
        bold("u".into()),
        bold("Backspace".into()),
        bold("q".into())
    ));
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use kinfold_io::{Input, ReadOptions, read_table};

    fn plain(lines: &[String]) -> String {
        let mut out = String::new();
        let mut escape = false;
        for c in lines.join("\n").chars() {
            match c {
                '\x1b' => escape = true,
                'm' if escape => escape = false,
                _ if escape => {}
                c => out.push(c),
            }
        }
        out
    }

    #[test]
    fn fields_that_differ_come_first_and_are_marked() {
        let text = "id,name,age,height\nx1,Ann,31,1.7\nx2,Ann,31,1.9\nx3,Bob\u{7},44,1.7\n";
        let options = ReadOptions { id: Some("id".into()), keep_other: true, ..ReadOptions::default() };
        let file = read_table(&Input::bytes("people.csv", text), &options).unwrap();
        let columns = Columns::new(&file, None).unwrap();
        let shown = plain(&screen(&file, &columns, (0, 1), "why not", "3 asked", "", "", (80, 24), false));
        let order: Vec<usize> = ["≠ height", "= name", "= age"].iter().map(|f| shown.find(f).unwrap()).collect();
        assert!(order.is_sorted(), "{shown}");
        assert!(shown.contains("x1") && shown.contains("x2") && shown.contains("why not"));
        let other = plain(&screen(&file, &columns, (0, 2), "", "", "", "", (80, 24), false));
        assert!(other.contains("≠ name") && !other.contains('\u{7}'), "{other}");
        assert!(Columns::new(&file, Some(&["agee".into()])).is_err());
    }

    #[test]
    fn the_status_says_what_was_saved_and_when_to_stop() {
        let p = Progress {
            asked: 57,
            unsure: 2,
            saved: 412,
            stability: Some(0.964),
            left: Some(40),
            ..Progress::default()
        };
        assert_eq!(
            status("a.csv", &p),
            "a.csv · 57 asked · 2 unsure · saved you 412 questions · 96 % of the rows stay put · about 40 left"
        );
        assert_eq!(advice(&p), "");
        assert!(advice(&Progress { stop: true, foreseen: Some(0.95), ..p }).contains("95 %"));
    }
}
