//! JSONL: one object per line. Numbers are features, an array of numbers is a vector of features `name[0]`, `name[1]`, …
//! The columns are those of the first rows, in order of appearance. Lines are parsed in parallel chunks.

use std::borrow::Cow;
use std::fmt;

use kinfold::data::{Float, Table};
use rayon::prelude::*;
use rustc_hash::FxHashMap;
use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

use crate::csv::{SAMPLE, bad_number};
use crate::error::{ReadError, Result, show};
use crate::format::Format;
use crate::input::Loaded;
use crate::scan::{self, CHUNK, Chunk, Record, Text};
use crate::table::{DataFile, Features, Holds, Lines, Parts, Plan, Precision, ReadOptions, TextColumn, plan, zeroed};

/// A value.
#[derive(Debug, Clone, PartialEq)]
enum Cell {
    Null,
    Bool(bool),
    Signed(i64),
    Unsigned(u64),
    Float(f64),
    Text(String),
    Numbers(Vec<f64>),
    /// Anything else, as JSON.
    Json(String),
}

impl Cell {
    fn number(&self) -> Option<f64> {
        match *self {
            Cell::Signed(v) => Some(v as f64),
            Cell::Unsigned(v) => Some(v as f64),
            Cell::Float(v) => Some(v),
            _ => None,
        }
    }
    fn json(&self) -> String {
        match self {
            Cell::Text(text) => serde_json::to_string(text).unwrap_or_default(),
            Cell::Null => "null".into(),
            other => other.to_string(),
        }
    }
}

impl fmt::Display for Cell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Cell::Null => Ok(()),
            Cell::Bool(v) => write!(f, "{v}"),
            Cell::Signed(v) => write!(f, "{v}"),
            Cell::Unsigned(v) => write!(f, "{v}"),
            Cell::Float(v) => write!(f, "{v}"),
            Cell::Text(v) | Cell::Json(v) => f.write_str(v),
            Cell::Numbers(v) => {
                let parts: Vec<String> = v.iter().map(ToString::to_string).collect();
                write!(f, "[{}]", parts.join(","))
            }
        }
    }
}

struct CellVisitor;

impl<'de> DeserializeSeed<'de> for CellVisitor {
    type Value = Cell;
    fn deserialize<D: Deserializer<'de>>(self, d: D) -> Result<Cell, D::Error> {
        d.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for CellVisitor {
    type Value = Cell;
    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }
    fn visit_unit<E>(self) -> Result<Cell, E> {
        Ok(Cell::Null)
    }
    fn visit_bool<E>(self, v: bool) -> Result<Cell, E> {
        Ok(Cell::Bool(v))
    }
    fn visit_i64<E>(self, v: i64) -> Result<Cell, E> {
        Ok(Cell::Signed(v))
    }
    fn visit_u64<E>(self, v: u64) -> Result<Cell, E> {
        Ok(Cell::Unsigned(v))
    }
    fn visit_f64<E>(self, v: f64) -> Result<Cell, E> {
        Ok(Cell::Float(v))
    }
    fn visit_str<E>(self, v: &str) -> Result<Cell, E> {
        Ok(Cell::Text(v.to_string()))
    }
    fn visit_string<E>(self, v: String) -> Result<Cell, E> {
        Ok(Cell::Text(v))
    }
    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Cell, A::Error> {
        let mut numbers = Vec::new();
        while let Some(cell) = seq.next_element_seed(CellVisitor)? {
            if let Some(v) = cell.number() {
                numbers.push(v);
                continue;
            }
            // Not a vector after all: the text of everything.
            let mut parts: Vec<String> = numbers.iter().map(ToString::to_string).collect();
            parts.push(cell.json());
            while let Some(cell) = seq.next_element_seed(CellVisitor)? {
                parts.push(cell.json());
            }
            return Ok(Cell::Json(format!("[{}]", parts.join(","))));
        }
        Ok(Cell::Numbers(numbers))
    }
    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Cell, A::Error> {
        let mut parts = Vec::new();
        while let Some(key) = map.next_key_seed(KeyVisitor)? {
            let key = serde_json::to_string(&key).unwrap_or_default();
            parts.push(format!("{key}:{}", map.next_value_seed(CellVisitor)?.json()));
        }
        Ok(Cell::Json(format!("{{{}}}", parts.join(","))))
    }
}

struct KeyVisitor;

impl<'de> DeserializeSeed<'de> for KeyVisitor {
    type Value = Cow<'de, str>;
    fn deserialize<D: Deserializer<'de>>(self, d: D) -> Result<Self::Value, D::Error> {
        d.deserialize_str(self)
    }
}

impl<'de> Visitor<'de> for KeyVisitor {
    type Value = Cow<'de, str>;
    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a field name")
    }
    fn visit_borrowed_str<E>(self, v: &'de str) -> Result<Self::Value, E> {
        Ok(Cow::Borrowed(v))
    }
    fn visit_str<E>(self, v: &str) -> Result<Self::Value, E> {
        Ok(Cow::Owned(v.to_string()))
    }
}

/// One object into (column, value) for the fields that `column` knows.
struct LineVisitor<'a, C>(&'a mut Vec<(usize, Cell)>, C);

impl<'de, C: FnMut(&str) -> Option<usize>> DeserializeSeed<'de> for LineVisitor<'_, C> {
    type Value = ();
    fn deserialize<D: Deserializer<'de>>(self, d: D) -> Result<(), D::Error> {
        d.deserialize_map(self)
    }
}

impl<'de, C: FnMut(&str) -> Option<usize>> Visitor<'de> for LineVisitor<'_, C> {
    type Value = ();
    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object {…}")
    }
    fn visit_map<A: MapAccess<'de>>(mut self, mut map: A) -> Result<(), A::Error> {
        while let Some(key) = map.next_key_seed(KeyVisitor)? {
            match (self.1)(&key) {
                None => {
                    map.next_value::<IgnoredAny>()?;
                }
                Some(column) if self.0.iter().any(|(c, _)| *c == column) => {
                    return Err(serde::de::Error::custom(format!("the field '{key}' appears twice")));
                }
                Some(column) => self.0.push((column, map.next_value_seed(CellVisitor)?)),
            }
        }
        Ok(())
    }
}

fn parse_line(
    name: &str,
    record: &Record<'_>,
    cells: &mut Vec<(usize, Cell)>,
    column: impl FnMut(&str) -> Option<usize>,
) -> Result<()> {
    cells.clear();
    let mut d = serde_json::Deserializer::from_slice(record.bytes);
    LineVisitor(cells, column).deserialize(&mut d).and_then(|()| d.end()).map_err(|e| {
        let text = e.to_string();
        let what = text.split(" at line ").next().unwrap_or(&text);
        let hint = match record.bytes.trim_ascii_start().first() {
            Some(b'[') => "write one object per line, without an array around them",
            _ => "every line must be one whole JSON object; NaN and Infinity are not JSON",
        };
        ReadError::new(name, format!("the line is not a JSON object of values: {what} (character {})", e.column()))
            .at_line(record.line)
            .hint(hint)
    })
}

/// What the first rows say about a field.
#[derive(Default)]
struct Seen {
    filled: usize,
    numbers: usize,
    vectors: usize,
    width: usize,
}

/// Where a column's values go.
#[derive(Debug, Clone, Copy)]
enum Job {
    Number(usize),
    Vector(usize, usize),
    Text(usize),
}

struct Reader<'a> {
    text: Text<'a>,
    names: Vec<String>,
    /// By field name.
    jobs: FxHashMap<&'a str, (usize, Job)>,
    dims: usize,
    /// Feature fields that every row must have.
    features: Vec<usize>,
    texts: usize,
}

pub(crate) fn read(loaded: &Loaded, options: &ReadOptions) -> Result<DataFile> {
    read_chunked(loaded, options, CHUNK)
}

fn read_chunked(loaded: &Loaded, options: &ReadOptions, size: usize) -> Result<DataFile> {
    let name = loaded.name.as_str();
    let bytes = scan::clean(name, &loaded.bytes)?;
    let text = Text { name, bytes, delimiter: None, keep_blank: false };
    let (names, seen) = sample(&text)?;
    let columns: Vec<(String, Holds)> = names.iter().cloned().zip(seen.iter().map(holds)).collect();
    let Plan { features, text: texts } = plan(name, &columns, options)?;

    let mut jobs: FxHashMap<&str, (usize, Job)> = FxHashMap::default();
    let (mut dims, mut feature_names) = (0, Vec::new());
    for &at in &features {
        if seen[at].vectors > 0 && seen[at].vectors >= seen[at].numbers {
            let width = seen[at].width;
            jobs.insert(&names[at], (at, Job::Vector(dims, width)));
            feature_names.extend((0..width).map(|i| format!("{}[{i}]", names[at])));
            dims += width;
        } else {
            jobs.insert(&names[at], (at, Job::Number(dims)));
            feature_names.push(names[at].clone());
            dims += 1;
        }
    }
    texts.iter().enumerate().for_each(|(slot, &at)| {
        jobs.insert(&names[at], (at, Job::Text(slot)));
    });
    let pool = scan::pool(name, options.threads)?;
    let chunks = text.split(0, 1, size, &pool)?;
    let n = chunks.last().map_or(0, |c| c.first_record + c.records);
    let reader = Reader { text, names: names.clone(), jobs, dims, features, texts: texts.len() };
    let (rows, parts) = match options.precision.unwrap_or(Precision::F64) {
        Precision::F32 => {
            let (values, parts) = reader.run::<f32>(&chunks, n, &pool)?;
            (Features::F32(Table::Dense { values, dims }), parts)
        }
        Precision::F64 => {
            let (values, parts) = reader.run::<f64>(&chunks, n, &pool)?;
            (Features::F64(Table::Dense { values, dims }), parts)
        }
    };
    let mut joined: Vec<Vec<TextColumn>> = texts.iter().map(|_| Vec::new()).collect();
    let mut lines = Vec::new();
    for (part, part_lines) in parts {
        joined.iter_mut().zip(part).for_each(|(all, column)| all.push(column));
        lines.extend(part_lines);
    }
    let text = joined.into_iter().zip(&texts).map(|(parts, &at)| TextColumn::join(&names[at], parts)).collect();
    let lines = match lines.first() {
        Some(&first) if lines.iter().zip(first..).all(|(&l, expected)| l == expected) => Lines::From(u64::from(first)),
        _ => Lines::Listed(lines),
    };
    Parts { source: name.to_string(), format: Format::Jsonl, n, rows, feature_names, text, lines }.finish(options)
}

fn sample(text: &Text<'_>) -> Result<(Vec<String>, Vec<Seen>)> {
    let (mut names, mut seen) = (Vec::<String>::new(), Vec::<Seen>::new());
    let mut position: FxHashMap<String, usize> = FxHashMap::default();
    let mut cells = Vec::new();
    for record in text.records(0, 1).take(SAMPLE) {
        let record = record?;
        parse_line(text.name, &record, &mut cells, |key| {
            Some(*position.entry(key.to_string()).or_insert_with(|| {
                names.push(key.to_string());
                names.len() - 1
            }))
        })?;
        seen.resize_with(names.len(), Seen::default);
        for (at, cell) in &cells {
            let s = &mut seen[*at];
            s.filled += usize::from(*cell != Cell::Null);
            s.numbers += usize::from(cell.number().is_some());
            if let Cell::Numbers(v) = cell {
                s.vectors += 1;
                s.width = if s.width == 0 { v.len() } else { s.width };
            }
        }
    }
    Ok((names, seen))
}

fn holds(seen: &Seen) -> Holds {
    let good = if seen.width > 0 { seen.numbers.max(seen.vectors) } else { seen.numbers };
    if good > 0 && good * 2 >= seen.filled { Holds::Numbers } else { Holds::Text }
}

/// The text columns and line numbers of one chunk.
type Part = (Vec<TextColumn>, Vec<u32>);

impl Reader<'_> {
    fn run<F: Float>(&self, chunks: &[Chunk], n: usize, pool: &rayon::ThreadPool) -> Result<(Vec<F>, Vec<Part>)> {
        let mut values: Vec<F> = zeroed(self.text.name, n, self.dims)?;
        let mut rest = values.as_mut_slice();
        let mut work = Vec::with_capacity(chunks.len());
        for chunk in chunks {
            let (own, others) = rest.split_at_mut(chunk.records * self.dims);
            work.push((chunk, own));
            rest = others;
        }
        let parts: Vec<Result<Part>> =
            pool.install(|| work.into_par_iter().map(|(chunk, out)| self.chunk(chunk, out)).collect());
        let parts = parts.into_iter().collect::<Result<Vec<Part>>>()?;
        Ok((values, parts))
    }

    fn chunk<F: Float>(&self, chunk: &Chunk, out: &mut [F]) -> Result<Part> {
        let mut texts: Vec<TextColumn> = (0..self.texts).map(|_| TextColumn::new("")).collect();
        let (mut lines, mut cells) = (Vec::with_capacity(chunk.records), Vec::new());
        for (i, record) in self.text.chunk(chunk).enumerate() {
            let record = record?;
            parse_line(self.text.name, &record, &mut cells, |key| self.jobs.get(key).map(|&(at, _)| at))?;
            let row = &mut out[i * self.dims..(i + 1) * self.dims];
            let mut filled = 0;
            for (at, cell) in &cells {
                filled += self.cell(&record, *at, cell, row, &mut texts)?;
            }
            if filled < self.dims {
                let missing = self.features.iter().find(|&&f| !cells.iter().any(|(at, _)| *at == f));
                let column = missing.map_or("", |&f| self.names[f].as_str());
                return Err(ReadError::new(self.text.name, "the field is missing")
                    .at_line(record.line)
                    .in_column(column)
                    .hint("add it, drop the row, or leave the field out by naming the others with --features"));
            }
            for text in texts.iter_mut().filter(|t| t.len() <= i) {
                text.push("");
            }
            lines.push(record.line.min(u64::from(u32::MAX)) as u32);
        }
        Ok((texts, lines))
    }

    /// Puts a value in its place; the number of features it fills.
    fn cell<F: Float>(
        &self,
        record: &Record<'_>,
        at: usize,
        cell: &Cell,
        row: &mut [F],
        texts: &mut [TextColumn],
    ) -> Result<usize> {
        let name = &self.names[at];
        let bad = |value: &str| bad_number(self.text.name, name, value.as_bytes()).at_line(record.line);
        let place = |slot: &mut F, value: f64| {
            *slot = F::from_f64(value);
            slot.to_f64().is_finite().then_some(()).ok_or_else(|| {
                ReadError::new(self.text.name, format!("{value} is too large a number"))
                    .at_line(record.line)
                    .in_column(name.as_str())
                    .hint("rescale the column")
            })
        };
        match self.jobs.get(name.as_str()).map(|&(_, job)| job) {
            None => Ok(0),
            Some(Job::Text(slot)) => {
                texts[slot].push_display(cell);
                Ok(0)
            }
            Some(Job::Number(slot)) => {
                let value = cell.number().ok_or_else(|| match cell {
                    Cell::Null => bad("null"),
                    Cell::Text(text) if crate::csv::is_number(text.as_bytes()) => ReadError::new(
                        self.text.name,
                        format!("\"{}\" is a string, not a number", show(text.as_bytes())),
                    )
                    .at_line(record.line)
                    .in_column(name.as_str())
                    .hint("write the number without quotes"),
                    other => bad(&other.json()),
                })?;
                place(&mut row[slot], value)?;
                Ok(1)
            }
            Some(Job::Vector(start, width)) => {
                let Cell::Numbers(values) = cell else {
                    let shown = show(cell.json().as_bytes());
                    return Err(ReadError::new(self.text.name, format!("'{shown}' is not an array of numbers"))
                        .at_line(record.line)
                        .in_column(name.as_str())
                        .hint("give an array in every row, or leave the field out with --features"));
                };
                if values.len() != width {
                    let message = format!("the array has {} numbers, but the first one has {width}", values.len());
                    return Err(ReadError::new(self.text.name, message)
                        .at_line(record.line)
                        .in_column(name.as_str())
                        .hint("vectors must have the same length in every row"));
                }
                row[start..start + width].iter_mut().zip(values).try_for_each(|(slot, &v)| place(slot, v))?;
                Ok(width)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::input::Input;
    use crate::table::read_table;
    use proptest::prelude::*;

    fn read_with(text: &str, options: &ReadOptions) -> Result<DataFile> {
        read_table(&Input::bytes("t.jsonl", text), options)
    }
    fn values(file: &DataFile) -> &[f64] {
        match &file.rows {
            Features::F64(Table::Dense { values, .. }) => values,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn objects_become_rows_and_arrays_vectors() {
        let text = "{\"id\":417,\"z\":1,\"v\":[1,2.5],\"t\":\"a\\nb\",\"o\":{\"x\":[1,\"y\"]}}\n\n{\"t\":null,\"v\":[3,-4e1],\"id\":\"00417\",\"z\":0.1,\"new\":true}\n";
        let o = ReadOptions { id: Some("id".into()), keep_other: true, ..ReadOptions::default() };
        let f = read_with(text, &o).unwrap();
        assert_eq!(f.feature_names, ["z", "v[0]", "v[1]"]);
        assert_eq!(values(&f), [1.0, 1.0, 2.5, 0.1, 3.0, -40.0]);
        assert_eq!((f.ids.find("417"), f.ids.find("00417")), (Some(0), Some(1)));
        assert_eq!(f.text("t").unwrap().iter().collect::<Vec<_>>(), ["a\nb", ""]);
        assert_eq!(f.text("o").unwrap().get(0), "{\"x\":[1,\"y\"]}");
        assert_eq!(f.text("new").unwrap().iter().collect::<Vec<_>>(), ["", "true"]);
        assert_eq!((f.line(0), f.line(1)), (Some(1), Some(3)));
    }

    #[test]
    fn bad_lines_are_named() {
        let message = |text: &str| {
            let e = read_with(text, &ReadOptions::default()).unwrap_err();
            assert!(e.hint.is_some(), "{e}");
            e.to_string()
        };
        assert_eq!(message("{\"a\":1}\n{\"b\":2}\n"), "t.jsonl:1: column 'b': the field is missing");
        assert_eq!(message("{\"a\":1}\n{\"a\":null}\n"), "t.jsonl:2: column 'a': 'null' stands for a missing value");
        assert_eq!(message("{\"a\":1}\n{\"a\":\"x\"}\n"), "t.jsonl:2: column 'a': '\"x\"' is not a number");
        assert_eq!(message("{\"a\":1}\n{\"a\":\"2\"}\n"), "t.jsonl:2: column 'a': \"2\" is a string, not a number");
        assert!(message("{\"a\":1}\n{\"a\":NaN}\n").starts_with("t.jsonl:2: the line is not a JSON object"));
        assert!(message("{\"a\":1}\n{\"a\":1e999}\n").starts_with("t.jsonl:2:"));
        assert!(message("{\"a\":1}\n{\"a\":1\n").starts_with("t.jsonl:2: the line is not"));
        assert!(message("{\"a\":1,\"a\":2}\n").contains("appears twice"));
        assert!(message("[{\"a\":1}]\n").contains("not a JSON object"));
        assert_eq!(
            message("{\"a\":[1,2]}\n{\"a\":[1]}\n"),
            "t.jsonl:2: column 'a': the array has 1 numbers, but the first one has 2"
        );
        assert_eq!(message("{\"a\":[1,2]}\n{\"a\":3}\n"), "t.jsonl:2: column 'a': '3' is not an array of numbers");
        assert_eq!(message("{\"a\":\"x\"}\n"), "t.jsonl: there is no numeric column to cluster by");
        assert_eq!(message("{}\n"), "t.jsonl: there is no numeric column to cluster by");
        let deep = format!("{{\"a\":{}1{}}}", "[".repeat(5000), "]".repeat(5000));
        assert!(message(&deep).contains("recursion"));
    }

    proptest! {
        #[test]
        fn numbers_are_read_to_the_bit_in_any_chunks(
            rows in proptest::collection::vec(proptest::num::f64::NORMAL, 1..50), size in 1usize..60,
        ) {
            let text: String = rows.iter().map(|v| format!("{{\"x\":{v:e},\"s\":\"é\"}}\n")).collect();
            let loaded = Loaded { name: "t".into(), bytes: text.into_bytes().into() };
            let f = read_chunked(&loaded, &ReadOptions::default(), size).unwrap();
            prop_assert_eq!(values(&f), &rows[..]);
        }

        #[test]
        fn any_text_gives_a_table_or_an_error(text in "[\\[\\]{}\",:a1.\\\\ \n]{0,60}") {
            let _ = read_with(&text, &ReadOptions { keep_other: true, ..ReadOptions::default() });
        }
    }
}
