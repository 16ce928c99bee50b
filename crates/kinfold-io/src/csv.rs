//! CSV and TSV tables: every chunk of the text is parsed on its own, numbers go straight to their place in the
//! row-major buffer, text into one buffer per column. Peak memory: the file's pages + the matrix + the text asked for.

use fast_float2::FastFloat;
use kinfold::data::{Float, Table};
use rayon::prelude::*;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::error::{ReadError, Result, show};
use crate::format::Format;
use crate::input::Loaded;
use crate::scan::{self, CHUNK, Chunk, Fields, Record, Text, field_error, lone_cr};
use crate::table::{
    DataFile, Features, Holds, Lines, Parts, Precision, ReadOptions, TextColumn, distinct_names, plan, zeroed,
};

/// Rows looked at to tell numbers from text.
pub(crate) const SAMPLE: usize = 1000;

/// A CSV text with its delimiter and first record.
pub(crate) struct Csv<'a> {
    pub text: Text<'a>,
    pub delimiter: u8,
    /// The fields of the first record.
    pub first: Vec<String>,
    /// Line of the first record.
    pub line: u64,
    /// Where the first and the second record start.
    pub starts: (usize, usize),
    /// Line of the second record.
    pub next_line: u64,
}

impl<'a> Csv<'a> {
    pub fn open(name: &'a str, bytes: &'a [u8], delimiter: Option<u8>) -> Result<Csv<'a>> {
        let bytes = scan::clean(name, bytes)?;
        let delimiter = delimiter.unwrap_or_else(|| scan::sniff_delimiter(bytes));
        let text = Text { name, bytes, delimiter: Some(delimiter), keep_blank: false };
        let record = match text.records(0, 1).next() {
            Some(record) => record?,
            None => return Err(ReadError::new(name, "the file is empty").hint("give a file with at least one row")),
        };
        let mut first = Vec::new();
        for field in Fields::new(&record, delimiter) {
            if let Some(e) = field_error(name, &field, record.line) {
                return Err(e);
            }
            let value = field.value();
            if value.contains(&b'\r') && !record.quoted {
                return Err(lone_cr(name, record.line));
            }
            let value = std::str::from_utf8(&value).map_err(|_| not_utf8(name, record.line, None, &value))?;
            first.push(value.trim().to_string());
        }
        let next_line = record.line + 1 + memchr::memchr_iter(b'\n', record.bytes).count() as u64;
        Ok(Csv { text, delimiter, first, line: record.line, starts: (record.start, record.next), next_line })
    }
}

pub(crate) fn not_utf8(name: &str, line: u64, column: Option<&str>, value: &[u8]) -> ReadError {
    let mut e = ReadError::new(name, format!("the text '{}' is not valid UTF-8", show(value)))
        .at_line(line)
        .hint("save the file as UTF-8, e.g. with `iconv -f LATIN1 -t UTF-8`");
    e.column = column.map(str::to_string);
    e
}

/// The error for a record with the wrong number of fields.
pub(crate) fn ragged(name: &str, record: &Record<'_>, found: usize, expected: usize, header: bool) -> ReadError {
    if !record.quoted && record.bytes.contains(&b'\r') {
        return lone_cr(name, record.line);
    }
    let what = if header { "the header" } else { "the first line" };
    let hint = if found == expected + 1 && record.bytes.last().is_some_and(|b| b",;\t".contains(b)) {
        "remove the delimiter at the end of the line, or name one more column"
    } else {
        "quote values that hold the delimiter, and fill in missing ones"
    };
    let s = if found == 1 { "" } else { "s" };
    ReadError::new(name, format!("the line has {found} field{s}, but {what} has {expected}"))
        .at_line(record.line)
        .hint(hint)
}

/// Without the spaces and tabs around it; a carriage return stays, so that it is noticed.
fn trim_blanks(mut value: &[u8]) -> &[u8] {
    while let [b' ' | b'\t', rest @ ..] | [rest @ .., b' ' | b'\t'] = value {
        value = rest;
    }
    value
}

pub(crate) fn is_number(value: &[u8]) -> bool {
    fast_float2::parse::<f64, _>(value.trim_ascii()).is_ok()
}

pub(crate) fn read(loaded: &Loaded, format: Format, options: &ReadOptions) -> Result<DataFile> {
    read_chunked(loaded, format, options, CHUNK)
}

fn read_chunked(loaded: &Loaded, format: Format, options: &ReadOptions, size: usize) -> Result<DataFile> {
    let name = loaded.name.as_str();
    let forced = options.delimiter.or((format == Format::Tsv).then_some(b'\t'));
    let mut csv = Csv::open(name, &loaded.bytes, forced)?;
    let filled = |v: &&String| !v.is_empty();
    let numbers_only = csv.first.iter().filter(filled).all(|v| is_number(v.as_bytes()));
    let header = options.header.unwrap_or(!numbers_only);
    let (start, line) = if header { (csv.starts.1, csv.next_line) } else { (csv.starts.0, csv.line) };
    let names: Vec<String> = (csv.first.iter().enumerate())
        .map(|(j, v)| if header && !v.is_empty() { v.clone() } else { format!("c{j}") })
        .collect();
    distinct_names(name, header.then_some(csv.line), &names)?;
    csv.text.keep_blank = names.len() == 1;
    if start >= csv.text.bytes.len() {
        return Err(ReadError::new(name, "there is a header but no row").at_line(csv.line).hint("add rows below it"));
    }

    let holds = sample(&csv, start, line, &names, header)?;
    let columns: Vec<(String, Holds)> = names.iter().cloned().zip(holds).collect();
    let plan = plan(name, &columns, options)?;
    let pool = scan::pool(name, options.threads)?;
    let chunks = csv.text.split(start, line, size, &pool)?;
    let n = chunks.last().map_or(0, |c| c.first_record + c.records);

    let mut jobs = vec![Job::Skip; names.len()];
    plan.features.iter().enumerate().for_each(|(slot, &at)| jobs[at] = Job::Number(slot));
    plan.text.iter().enumerate().for_each(|(slot, &at)| jobs[at] = Job::Text(slot));
    let listed = chunks.iter().any(|c| c.lines + u64::from(c.end == csv.text.bytes.len()) != c.records as u64);
    let reader = Reader {
        csv: &csv,
        names: &names,
        jobs: &jobs,
        dims: plan.features.len(),
        texts: plan.text.len(),
        header,
        listed,
    };
    let (rows, parts) = match options.precision.unwrap_or(Precision::F64) {
        Precision::F32 => {
            let (values, parts) = reader.run::<f32>(&chunks, n, &pool)?;
            (Features::F32(Table::Dense { values, dims: reader.dims }), parts)
        }
        Precision::F64 => {
            let (values, parts) = reader.run::<f64>(&chunks, n, &pool)?;
            (Features::F64(Table::Dense { values, dims: reader.dims }), parts)
        }
    };
    let mut columns: Vec<Vec<TextColumn>> = plan.text.iter().map(|_| Vec::with_capacity(parts.len())).collect();
    let mut all_lines = Vec::new();
    for (texts, lines) in parts {
        columns.iter_mut().zip(texts).for_each(|(column, part)| column.push(part));
        all_lines.extend(lines);
    }
    let text = columns.into_iter().zip(&plan.text).map(|(parts, &at)| TextColumn::join(&names[at], parts)).collect();
    let lines = if listed { Lines::Listed(all_lines) } else { Lines::From(line) };
    let feature_names = plan.features.iter().map(|&at| names[at].clone()).collect();
    Parts { source: name.to_string(), format, n, rows, feature_names, text, lines }.finish(options)
}

/// What the first rows say about every column.
fn sample(csv: &Csv<'_>, start: usize, line: u64, names: &[String], header: bool) -> Result<Vec<Holds>> {
    let mut counts = vec![(0usize, 0usize); names.len()];
    for record in csv.text.records(start, line).take(SAMPLE) {
        let record = record?;
        let mut found = 0;
        for field in Fields::new(&record, csv.delimiter) {
            if let Some((filled, numbers)) = counts.get_mut(found) {
                let value = field.value();
                if !value.trim_ascii().is_empty() {
                    *filled += 1;
                    *numbers += usize::from(is_number(&value));
                }
            }
            found += 1;
        }
        if found != names.len() {
            return Err(ragged(csv.text.name, &record, found, names.len(), header));
        }
    }
    // Half or more numbers: meant as numbers, so that a bad cell is named instead of the column being lost.
    let holds = |(filled, numbers): (usize, usize)| {
        if numbers > 0 && numbers * 2 >= filled { Holds::Numbers } else { Holds::Text }
    };
    Ok(counts.into_iter().map(holds).collect())
}

/// What happens to a column's fields.
#[derive(Clone, Copy)]
enum Job {
    Skip,
    Number(usize),
    Text(usize),
}

struct Reader<'a> {
    csv: &'a Csv<'a>,
    names: &'a [String],
    jobs: &'a [Job],
    dims: usize,
    texts: usize,
    header: bool,
    listed: bool,
}

/// The text columns and line numbers of one chunk.
type Part = (Vec<TextColumn>, Vec<u32>);

impl Reader<'_> {
    fn run<F: Float + FastFloat>(
        &self,
        chunks: &[Chunk],
        n: usize,
        pool: &rayon::ThreadPool,
    ) -> Result<(Vec<F>, Vec<Part>)> {
        let mut values: Vec<F> = zeroed(self.csv.text.name, n, self.dims)?;
        let mut rest = values.as_mut_slice();
        let mut work = Vec::with_capacity(chunks.len());
        for chunk in chunks {
            let (own, others) = rest.split_at_mut(chunk.records * self.dims);
            work.push((chunk, own));
            rest = others;
        }
        // Chunks behind a failed one need not be read; the first failure in file order is the one reported.
        let failed = AtomicUsize::new(usize::MAX);
        let parts: Vec<Result<Part>> = pool.install(|| {
            work.into_par_iter()
                .enumerate()
                .map(|(i, (chunk, out))| {
                    if failed.load(Ordering::Relaxed) < i {
                        return Ok((Vec::new(), Vec::new()));
                    }
                    self.chunk(chunk, out).inspect_err(|_| {
                        failed.fetch_min(i, Ordering::Relaxed);
                    })
                })
                .collect()
        });
        let parts = parts.into_iter().collect::<Result<Vec<Part>>>()?;
        Ok((values, parts))
    }

    fn chunk<F: Float + FastFloat>(&self, chunk: &Chunk, out: &mut [F]) -> Result<Part> {
        let mut texts: Vec<TextColumn> = (0..self.texts).map(|_| TextColumn::new("")).collect();
        let mut lines = Vec::with_capacity(if self.listed { chunk.records } else { 0 });
        for (i, record) in self.csv.text.chunk(chunk).enumerate() {
            let record = record?;
            let row = &mut out[i * self.dims..(i + 1) * self.dims];
            if record.quoted {
                self.quoted(&record, row, &mut texts)?
            } else {
                self.plain(&record, row, &mut texts)?
            }
            if self.listed {
                lines.push(record.line.min(u64::from(u32::MAX)) as u32);
            }
        }
        Ok((texts, lines))
    }

    /// A record without quotes: the number parser itself finds the ends of number fields.
    fn plain<F: Float + FastFloat>(&self, record: &Record<'_>, row: &mut [F], texts: &mut [TextColumn]) -> Result<()> {
        let delimiter = self.csv.delimiter;
        let mut rest = Some(record.bytes);
        for (at, job) in self.jobs.iter().enumerate() {
            let Some(now) = rest else { return Err(self.ragged(record)) };
            if let Job::Number(slot) = *job
                && let Ok((value, used)) = fast_float2::parse_partial::<F, _>(now)
                && (used == now.len() || now[used] == delimiter)
            {
                if !value.to_f64().is_finite() {
                    return Err(self.bad_cell(record, at, &now[..used]));
                }
                row[slot] = value;
                rest = now.get(used + 1..);
                continue;
            }
            let end = memchr::memchr(delimiter, now).unwrap_or(now.len());
            self.cell(record, at, &now[..end], row, texts)?;
            rest = now.get(end + 1..);
        }
        if rest.is_some() { Err(self.ragged(record)) } else { Ok(()) }
    }

    fn quoted<F: Float + FastFloat>(&self, record: &Record<'_>, row: &mut [F], texts: &mut [TextColumn]) -> Result<()> {
        let mut found = 0;
        for field in Fields::new(record, self.csv.delimiter) {
            if let Some(e) = field_error(self.csv.text.name, &field, record.line) {
                return Err(e);
            }
            if found < self.jobs.len() {
                self.cell(record, found, &field.value(), row, texts)?;
            }
            found += 1;
        }
        if found == self.jobs.len() { Ok(()) } else { Err(self.ragged(record)) }
    }

    fn cell<F: Float + FastFloat>(
        &self,
        record: &Record<'_>,
        at: usize,
        value: &[u8],
        row: &mut [F],
        texts: &mut [TextColumn],
    ) -> Result<()> {
        match self.jobs[at] {
            Job::Skip => {}
            Job::Number(slot) => match fast_float2::parse::<F, _>(trim_blanks(value)) {
                Ok(number) if number.to_f64().is_finite() => row[slot] = number,
                _ => return Err(self.bad_cell(record, at, value)),
            },
            Job::Text(slot) => {
                if !record.quoted && value.contains(&b'\r') {
                    return Err(lone_cr(self.csv.text.name, record.line));
                }
                let text = std::str::from_utf8(value)
                    .map_err(|_| not_utf8(self.csv.text.name, record.line, Some(&self.names[at]), value))?;
                texts[slot].push(text);
            }
        }
        Ok(())
    }

    fn ragged(&self, record: &Record<'_>) -> ReadError {
        let found = Fields::new(record, self.csv.delimiter).count();
        ragged(self.csv.text.name, record, found, self.jobs.len(), self.header)
    }

    fn bad_cell(&self, record: &Record<'_>, at: usize, value: &[u8]) -> ReadError {
        // A short line is the better explanation of a cell that is no number.
        let found = Fields::new(record, self.csv.delimiter).count();
        if found != self.jobs.len() {
            return self.ragged(record);
        }
        if !record.quoted && value.contains(&b'\r') {
            return lone_cr(self.csv.text.name, record.line);
        }
        bad_number(self.csv.text.name, &self.names[at], value).at_line(record.line)
    }
}

/// The error for a feature cell that is not a finite number.
pub(crate) fn bad_number(file: &str, column: &str, value: &[u8]) -> ReadError {
    let trimmed = value.trim_ascii();
    let shown = show(value);
    let leave_out = "or leave the column out by naming the others with --features";
    let missing = [&b"na"[..], b"n/a", b"null", b"none", b"nan", b"?", b"-", b"."]
        .iter()
        .any(|m| trimmed.eq_ignore_ascii_case(m));
    let (message, hint) = if trimmed.is_empty() {
        ("the cell is empty".to_string(), format!("fill it, drop the row, {leave_out}"))
    } else if let Ok(number) = fast_float2::parse::<f64, _>(trimmed) {
        if number.is_nan() || missing {
            (format!("'{shown}' is not a number to cluster by"), format!("fill the cell, drop the row, {leave_out}"))
        } else if trimmed.iter().any(u8::is_ascii_digit) {
            (format!("'{shown}' is too large a number"), format!("rescale the column, {leave_out}"))
        } else {
            (format!("'{shown}' is not a finite number"), format!("replace it, drop the row, {leave_out}"))
        }
    } else if missing {
        (format!("'{shown}' stands for a missing value"), format!("fill the cell, drop the row, {leave_out}"))
    } else if trimmed.contains(&b',')
        && is_number(&trimmed.iter().map(|&b| if b == b',' { b'.' } else { b }).collect::<Vec<u8>>())
    {
        (format!("'{shown}' is not a number: it has a decimal comma"), "write decimals with a point".to_string())
    } else {
        (format!("'{shown}' is not a number"), format!("correct the cell, {leave_out}"))
    };
    ReadError::new(file, message).in_column(column).hint(hint)
}

#[cfg(test)]
mod tests;
