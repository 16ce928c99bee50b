//! Text split into records at full speed and in parallel, with the line of each record.
//! A quote opens only at the start of a field, is doubled inside, and must close; so one sequential look at the quotes
//! alone (memchr) gives cuts that are certain to lie between records, and every chunk is then read on its own.
//! A record ends at LF or CRLF; empty lines are skipped (kept as rows in tables of one column).

use std::borrow::Cow;

use memchr::{memchr, memchr_iter};
use rayon::prelude::*;

use crate::error::{ReadError, Result, show};
use crate::input::too_long;

/// No record may be longer.
pub(crate) const MAX_RECORD: usize = 256 << 20;
/// Bytes per parallel piece; a constant, so that nothing depends on the number of threads.
pub(crate) const CHUNK: usize = 2 << 20;
const QUOTE: u8 = b'"';

/// Text without its byte order mark and without the line ends at its end.
pub(crate) struct Text<'a> {
    pub name: &'a str,
    pub bytes: &'a [u8],
    /// Quotes protect delimiters and line ends.
    pub delimiter: Option<u8>,
    /// Empty lines are rows.
    pub keep_blank: bool,
}

/// A piece of the text that starts and ends between records.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Chunk {
    pub start: usize,
    pub end: usize,
    pub quoted: bool,
    pub first_line: u64,
    pub first_record: usize,
    pub records: usize,
    pub lines: u64,
}

/// One record without its line end.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Record<'a> {
    pub line: u64,
    pub bytes: &'a [u8],
    pub quoted: bool,
    /// Where the record starts in the text, and where the next one does.
    pub start: usize,
    pub next: usize,
}

/// Refuses what is not UTF-8 text and cuts off the mark at the start and the line ends at the end.
pub(crate) fn clean<'a>(name: &str, bytes: &'a [u8]) -> Result<&'a [u8]> {
    let utf16 = |order: &str| {
        let hint = "save it as UTF-8, e.g. with `iconv -f UTF-16 -t UTF-8`";
        Err(ReadError::new(name, format!("the file is UTF-16 ({order}), not UTF-8")).hint(hint))
    };
    if bytes.starts_with(&[0xff, 0xfe]) {
        return utf16("little-endian");
    }
    if bytes.starts_with(&[0xfe, 0xff]) {
        return utf16("big-endian");
    }
    for (magic, what) in [
        (&b"PK\x03\x04"[..], "a zip archive, such as .npz or .xlsx"),
        (b"\x28\xb5\x2f\xfd", "compressed with zstd"),
        (b"BZh", "compressed with bzip2"),
        (b"\xfd7zXZ", "compressed with xz"),
        (b"\x89HDF", "an HDF5 file"),
    ] {
        if bytes.starts_with(magic) {
            return Err(ReadError::new(name, format!("the file is {what}"))
                .hint("unpack or export it: CSV, TSV, JSONL, svmlight (each also gzipped), Parquet, Arrow IPC or NPY can be read"));
        }
    }
    let mut bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    let head = &bytes[..bytes.len().min(4096)];
    if memchr(0, head).is_some() {
        return Err(ReadError::new(name, "the file holds zero bytes, so it is not text")
            .hint("name its format with --format if it is Parquet, Arrow IPC or NPY"));
    }
    while let Some(b'\n' | b'\r') = bytes.last() {
        bytes = &bytes[..bytes.len() - 1];
    }
    if bytes.iter().take(1 << 16).all(u8::is_ascii_whitespace) && bytes.trim_ascii().is_empty() {
        return Err(ReadError::new(name, "the file is empty").hint("give a file with at least one row"));
    }
    Ok(bytes)
}

/// The delimiter of a table: one that splits the first records into the same number (> 1) of fields, else the
/// commonest in the first.
pub(crate) fn sniff_delimiter(bytes: &[u8]) -> u8 {
    let mut counts = Vec::new();
    for delimiter in [b'\t', b';', b','] {
        let records =
            Records { bytes, end: bytes.len(), delimiter: Some(delimiter), quoted: true, ..Records::default() };
        // A quote that never closes would make one record of everything; the reader names it later.
        let per: Vec<usize> = records
            .take(50)
            .map_while(Result::ok)
            .take_while(|r| r.bytes.len() < 1 << 20)
            .map(|r| Fields::new(&r, delimiter).count())
            .collect();
        let first = per.first().copied().unwrap_or(1);
        counts.push((delimiter, first, first > 1 && per.iter().all(|&c| c == first)));
    }
    if let Some(&(delimiter, ..)) = counts.iter().find(|(_, _, consistent)| *consistent) {
        return delimiter;
    }
    let most = counts.iter().map(|&(_, first, _)| first).max().unwrap_or(1);
    if most <= 1 {
        return b',';
    }
    counts.iter().rev().find(|&&(_, first, _)| first == most).map_or(b',', |&(d, ..)| d)
}

impl<'a> Text<'a> {
    /// The records from `start`, which is the start of a record on line `line`.
    pub fn records(&self, start: usize, line: u64) -> Records<'a> {
        Records {
            bytes: self.bytes,
            pos: start,
            end: self.bytes.len(),
            line,
            quoted: true,
            delimiter: self.delimiter,
            keep_blank: self.keep_blank,
            name: self.name.to_string(),
        }
    }
    /// The records of a chunk.
    pub fn chunk(&self, chunk: &Chunk) -> Records<'a> {
        Records { end: chunk.end, quoted: chunk.quoted, ..self.records(chunk.start, chunk.first_line) }
    }

    /// Cuts everything from `start` (on line `line`) into chunks and counts their records and lines.
    pub fn split(&self, start: usize, line: u64, size: usize, pool: &rayon::ThreadPool) -> Result<Vec<Chunk>> {
        let cuts = self.cuts(start, line, size)?;
        let ranges: Vec<(usize, usize)> = cuts.windows(2).map(|w| (w[0], w[1])).collect();
        let counted: Vec<Result<Chunk>> = pool.install(|| {
            ranges
                .par_iter()
                .map(|&(start, end)| {
                    let quoted = self.delimiter.is_some() && memchr(QUOTE, &self.bytes[start..end]).is_some();
                    let mut chunk = Chunk { start, end, quoted, first_line: 0, first_record: 0, records: 0, lines: 0 };
                    for record in self.chunk(&chunk) {
                        record?;
                        chunk.records += 1;
                    }
                    chunk.lines = memchr_iter(b'\n', &self.bytes[start..end]).count() as u64;
                    Ok(chunk)
                })
                .collect()
        });
        let (mut chunks, mut records, mut lines) = (Vec::with_capacity(counted.len()), 0, line);
        for chunk in counted {
            let mut chunk = chunk.map_err(|mut e| {
                e.line = e.line.map(|l| l + lines);
                e
            })?;
            (chunk.first_line, chunk.first_record) = (lines, records);
            lines += chunk.lines;
            records += chunk.records;
            chunks.push(chunk);
        }
        Ok(chunks)
    }

    /// Positions between records, at least `size` apart, from `start` to the end.
    fn cuts(&self, start: usize, line: u64, size: usize) -> Result<Vec<usize>> {
        let bytes = self.bytes;
        let mut cuts = vec![start];
        let (mut pos, mut wanted) = (start, start + size);
        loop {
            // bytes[pos..open] is outside quotes.
            let open = match self.delimiter {
                Some(delimiter) => find_open(bytes, start, pos, bytes.len(), delimiter).unwrap_or(bytes.len()),
                None => bytes.len(),
            };
            while wanted < open {
                let from = wanted.max(pos);
                let limit = open.min(from.saturating_add(MAX_RECORD + 1));
                match memchr(b'\n', &bytes[from..limit]) {
                    Some(at) => {
                        cuts.push(from + at + 1);
                        wanted = from + at + 1 + size;
                    }
                    None if limit < open => return Err(too_long(self.name, line_of(bytes, start, from, line))),
                    None => break,
                }
            }
            if open == bytes.len() {
                break;
            }
            pos = find_close(bytes, open + 1, bytes.len())
                .ok_or_else(|| unclosed(self.name, line_of(bytes, start, open, line)))?;
        }
        if cuts.last() != Some(&bytes.len()) {
            cuts.push(bytes.len());
        }
        Ok(cuts)
    }
}

fn unclosed(name: &str, line: u64) -> ReadError {
    ReadError::new(name, "the quote that opens here is never closed")
        .at_line(line)
        .hint("close the quote, or double it (\"\") if it is part of the text")
}

fn line_of(bytes: &[u8], start: usize, at: usize, line: u64) -> u64 {
    line + memchr_iter(b'\n', &bytes[start..at]).count() as u64
}

/// The next quote in pos..end that starts a field; `start` is the start of a record.
fn find_open(bytes: &[u8], start: usize, mut pos: usize, end: usize, delimiter: u8) -> Option<usize> {
    loop {
        let at = pos + memchr(QUOTE, &bytes[pos..end])?;
        if at == start || bytes[at - 1] == delimiter || bytes[at - 1] == b'\n' {
            return Some(at);
        }
        pos = at + 1;
    }
}

/// The position after the quote that closes a field whose text starts at `pos`.
fn find_close(bytes: &[u8], mut pos: usize, end: usize) -> Option<usize> {
    loop {
        let at = pos + memchr(QUOTE, &bytes[pos..end])?;
        if bytes.get(at + 1) != Some(&QUOTE) || at + 1 >= end {
            return Some(at + 1);
        }
        pos = at + 2;
    }
}

/// The records of a piece of text.
#[derive(Default, Clone)]
pub(crate) struct Records<'a> {
    bytes: &'a [u8],
    pos: usize,
    end: usize,
    line: u64,
    quoted: bool,
    delimiter: Option<u8>,
    keep_blank: bool,
    name: String,
}

impl<'a> Iterator for Records<'a> {
    type Item = Result<Record<'a>>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let (start, line) = (self.pos, self.line);
            if start >= self.end {
                return None;
            }
            let limit = self.end.min(start.saturating_add(MAX_RECORD + 2));
            let mut stop = memchr(b'\n', &self.bytes[start..limit]).map_or(limit, |at| start + at);
            let mut quoted = false;
            if let Some(delimiter) = self.delimiter.filter(|_| self.quoted) {
                let mut pos = start;
                while let Some(open) = find_open(self.bytes, start, pos, stop, delimiter) {
                    quoted = true;
                    let Some(close) = find_close(self.bytes, open + 1, limit) else {
                        let long = limit < self.end;
                        self.pos = self.end;
                        let name = &self.name;
                        return Some(Err(if long { too_long(name, line) } else { unclosed(name, line) }));
                    };
                    if close > stop {
                        self.line += memchr_iter(b'\n', &self.bytes[stop..close]).count() as u64;
                        stop = memchr(b'\n', &self.bytes[close..limit]).map_or(limit, |at| close + at);
                    }
                    pos = close;
                }
            }
            if stop - start > MAX_RECORD {
                self.pos = self.end;
                return Some(Err(too_long(&self.name, line)));
            }
            self.pos = stop + 1;
            self.line += 1;
            let record = &self.bytes[start..stop];
            let record = record.strip_suffix(b"\r").unwrap_or(record);
            if !record.is_empty() || self.keep_blank {
                return Some(Ok(Record { line, bytes: record, quoted, start, next: self.pos.min(self.end) }));
            }
        }
    }
}

/// One field: its text between the quotes, doubled quotes still doubled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Field<'a> {
    pub raw: &'a [u8],
    pub escaped: bool,
    /// Text stands between the closing quote and the delimiter.
    pub malformed: bool,
}

impl<'a> Field<'a> {
    pub fn value(&self) -> Cow<'a, [u8]> {
        if !self.escaped {
            return Cow::Borrowed(self.raw);
        }
        let mut out = Vec::with_capacity(self.raw.len());
        let mut bytes = self.raw.iter();
        while let Some(&b) = bytes.next() {
            out.push(b);
            if b == QUOTE {
                bytes.next();
            }
        }
        Cow::Owned(out)
    }
}

/// The fields of a record.
pub(crate) struct Fields<'a> {
    rest: Option<&'a [u8]>,
    delimiter: u8,
    quoted: bool,
}

impl<'a> Fields<'a> {
    pub fn new(record: &Record<'a>, delimiter: u8) -> Fields<'a> {
        Fields { rest: Some(record.bytes), delimiter, quoted: record.quoted }
    }
}

impl<'a> Iterator for Fields<'a> {
    type Item = Field<'a>;

    fn next(&mut self) -> Option<Field<'a>> {
        let rest = self.rest?;
        if self.quoted && rest.first() == Some(&QUOTE) {
            let close = find_close(rest, 1, rest.len()).unwrap_or(rest.len());
            let stop = memchr(self.delimiter, &rest[close..]).map(|at| close + at);
            let raw = &rest[1..(close - 1).max(1)];
            let malformed = stop.unwrap_or(rest.len()) != close;
            self.rest = stop.map(|at| &rest[at + 1..]);
            return Some(Field { raw, escaped: memchr(QUOTE, raw).is_some(), malformed });
        }
        let stop = memchr(self.delimiter, rest);
        self.rest = stop.map(|at| &rest[at + 1..]);
        Some(Field { raw: &rest[..stop.unwrap_or(rest.len())], escaped: false, malformed: false })
    }
}

/// What is wrong with a field that cannot stand in any table, if anything is.
pub(crate) fn field_error(name: &str, field: &Field<'_>, line: u64) -> Option<ReadError> {
    field.malformed.then(|| {
        ReadError::new(name, format!("there is text after the closing quote of '{}'", show(field.raw)))
            .at_line(line)
            .hint("double a quote that is part of the text (\"\"), or check the delimiter")
    })
}

/// The error for a carriage return outside quotes that ends no line.
pub(crate) fn lone_cr(name: &str, line: u64) -> ReadError {
    ReadError::new(name, "there is a carriage return that is not followed by a line feed")
        .at_line(line)
        .hint("give the file LF or CRLF line ends, e.g. with `tr '\\r' '\\n'`")
}

/// Worker threads for reading; 0 = all cores.
pub(crate) fn pool(name: &str, threads: usize) -> Result<rayon::ThreadPool> {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
    pool.map_err(|e| ReadError::new(name, format!("worker threads could not be started: {e}")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn text(bytes: &[u8]) -> Text<'_> {
        Text { name: "t", bytes, delimiter: Some(b','), keep_blank: false }
    }

    /// A plain twin: one byte at a time. Lines and fields of every record.
    fn slow(bytes: &[u8]) -> Option<Vec<(u64, Vec<Vec<u8>>)>> {
        let (mut out, mut fields, mut field) = (Vec::new(), Vec::new(), Vec::new());
        let (mut line, mut first, mut i) = (1, 1, 0);
        let mut start = 0;
        while i <= bytes.len() {
            let field_start = i == 0 || bytes[i - 1] == b',' || i == start;
            if i < bytes.len() && bytes[i] == QUOTE && field_start && field.is_empty() {
                i += 1;
                loop {
                    match *bytes.get(i)? {
                        QUOTE if bytes.get(i + 1) == Some(&QUOTE) => {
                            field.push(QUOTE);
                            i += 2;
                        }
                        QUOTE => break,
                        b => {
                            line += u64::from(b == b'\n');
                            field.push(b);
                            i += 1;
                        }
                    }
                }
                i += 1;
                if !matches!(bytes.get(i), None | Some(b',' | b'\n' | b'\r')) {
                    return None;
                }
                continue;
            }
            match bytes.get(i) {
                Some(b',') => fields.push(std::mem::take(&mut field)),
                None | Some(b'\n') => {
                    if field.last() == Some(&b'\r') {
                        field.pop();
                    }
                    if !(fields.is_empty() && i == start || fields.is_empty() && bytes[start..i] == *b"\r") {
                        fields.push(std::mem::take(&mut field));
                        out.push((first, std::mem::take(&mut fields)));
                    }
                    line += 1;
                    first = line;
                    start = i + 1;
                }
                Some(&b) => field.push(b),
            }
            i += 1;
        }
        Some(out)
    }

    proptest! {
        #[test]
        fn chunks_of_any_size_give_the_records_of_the_plain_reader(
            parts in proptest::collection::vec(prop_oneof![
                Just("\""), Just("\"\""), Just(","), Just("\n"), Just("\r\n"), Just("a"), Just("1.5"), Just("\"x,\n\"")
            ], 0..40),
            size in 1usize..20,
        ) {
            let joined = parts.concat();
            let trimmed = joined.trim_end_matches(['\n', '\r']);
            let t = text(trimmed.as_bytes());
            let pool = pool("t", 1).unwrap();
            if let Some(expected) = slow(trimmed.as_bytes()) {
                let chunks = t.split(0, 1, size, &pool).unwrap();
                let mut got = Vec::new();
                for c in &chunks {
                    prop_assert_eq!(c.first_record, got.len());
                    for r in t.chunk(c) {
                        let r = r.unwrap();
                        got.push((r.line, Fields::new(&r, b',').map(|f| f.value().into_owned()).collect::<Vec<_>>()));
                    }
                    prop_assert_eq!(c.first_record + c.records, got.len());
                }
                prop_assert_eq!(got, expected);
            } else {
                // Unclosed or malformed quotes: an error or a malformed field, never silence.
                let failed = match t.split(0, 1, size, &pool) {
                    Err(_) => true,
                    Ok(chunks) => chunks.iter().any(|c| {
                        t.chunk(c).any(|r| r.is_err() || Fields::new(&r.unwrap(), b',').any(|f| f.malformed))
                    }),
                };
                prop_assert!(failed, "{trimmed:?}");
            }
        }
    }

    #[test]
    fn delimiters_are_told_apart() {
        assert_eq!(sniff_delimiter(b"a,b\n1,2"), b',');
        assert_eq!(sniff_delimiter(b"a\tb,c\n1\t2"), b'\t');
        assert_eq!(sniff_delimiter(b"1,5;2,3\n1,7;2,9"), b';');
        assert_eq!(sniff_delimiter(b"id,text\n1,a;b\n2,c"), b',');
        assert_eq!(sniff_delimiter(b"x\n1\n2"), b',');
        assert_eq!(sniff_delimiter(b"\"a;b\",c\n\"d\",e"), b',');
    }

    #[test]
    fn a_line_beyond_the_limit_is_refused() {
        let mut bytes = b"a\n1\n".to_vec();
        bytes.resize(MAX_RECORD + 10, b'1');
        let pool = pool("t", 2).unwrap();
        let e = text(&bytes).split(0, 1, CHUNK, &pool).unwrap_err();
        assert_eq!((e.line, e.message.as_str()), (Some(3), "the line is longer than 256 MiB"));
        bytes.resize(2 * MAX_RECORD, b'1');
        let e = text(&bytes).split(0, 1, CHUNK, &pool).unwrap_err();
        assert_eq!(e.line, Some(3));
    }

    #[test]
    fn an_unclosed_quote_is_named_where_it_opens() {
        let pool = pool("t", 1).unwrap();
        let e = text(b"a,b\n1,\"x\n2,y\n3,z").split(0, 1, 4, &pool).unwrap_err();
        assert_eq!((e.line, e.message.as_str()), (Some(2), "the quote that opens here is never closed"));
    }
}
