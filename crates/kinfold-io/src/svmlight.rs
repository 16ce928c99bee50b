//! svmlight: `label index:value …` lines to sparse rows. Indices ascend and count from 1, or from 0 in a file where an
//! index 0 appears. The label (and `qid`) are text columns; everything behind `#` is a comment.

use kinfold::data::{Float, Table};
use rayon::prelude::*;

use crate::csv::not_utf8;
use crate::error::{ReadError, Result, show};
use crate::format::Format;
use crate::input::Loaded;
use crate::scan::{self, CHUNK, Chunk, Text};
use crate::table::{DataFile, Features, Holds, Lines, Parts, Precision, ReadOptions, TextColumn, plan};

/// One chunk's rows.
#[derive(Default)]
struct Part {
    lengths: Vec<u32>,
    columns: Vec<u32>,
    values: Vec<f64>,
    text: [Option<TextColumn>; 2],
    lines: Vec<u32>,
    has_zero: bool,
}

pub(crate) fn read(loaded: &Loaded, options: &ReadOptions) -> Result<DataFile> {
    read_chunked(loaded, options, CHUNK)
}

fn read_chunked(loaded: &Loaded, options: &ReadOptions, size: usize) -> Result<DataFile> {
    let name = loaded.name.as_str();
    let bytes = scan::clean(name, &loaded.bytes)?;
    if options.features.is_some() {
        return Err(ReadError::new(name, "columns of an svmlight file cannot be chosen with --features")
            .hint("leave --features out: all columns are used")
            .usage());
    }
    let names = ["label", "qid"].map(String::from);
    let mut columns: Vec<(String, Holds)> = names.iter().map(|n| (n.clone(), Holds::NoNumbers)).collect();
    // Stands for all indexed columns.
    columns.push(("index".into(), Holds::Numbers));
    let plan = plan(name, &columns, &ReadOptions { keep_other: false, ..options.clone() })?;
    if plan.text.contains(&2) {
        let message = "only 'label' and 'qid' of an svmlight file can be read as text";
        return Err(ReadError::new(name, message).usage());
    }
    let wanted = [0, 1].map(|i| plan.text.contains(&i));
    let text = Text { name, bytes, delimiter: None, keep_blank: false };
    let pool = scan::pool(name, options.threads)?;
    let chunks = text.split(0, 1, size, &pool)?;
    let parts: Vec<Result<Part>> =
        pool.install(|| chunks.par_iter().map(|chunk| parse_chunk(&text, chunk, wanted)).collect());
    let parts = parts.into_iter().collect::<Result<Vec<Part>>>()?;

    let shift = u32::from(!parts.iter().any(|p| p.has_zero));
    let stored = parts.iter().map(|p| p.columns.len()).sum();
    let (mut starts, mut columns) = (vec![0usize], Vec::with_capacity(stored));
    let mut values: Vec<f64> = Vec::with_capacity(stored);
    let (mut lines, mut texts) = (Vec::new(), [Vec::new(), Vec::new()]);
    let mut dims = 0;
    for part in parts {
        for &length in &part.lengths {
            starts.push(starts[starts.len() - 1] + length as usize);
        }
        columns.extend(part.columns.iter().map(|&c| c - shift));
        values.extend(part.values);
        lines.extend(part.lines);
        texts.iter_mut().zip(part.text).for_each(|(all, part)| all.extend(part));
    }
    dims = columns.iter().map(|&c| c as usize + 1).fold(dims, usize::max);
    let n = lines.len();
    if n == 0 {
        return Err(ReadError::new(name, "there are only comments and no rows").hint("add lines `label index:value …`"));
    }
    if dims == 0 && !options.text_only {
        return Err(ReadError::new(name, "no row has any value").hint("write values as index:value behind the label"));
    }
    let rows = match options.precision.unwrap_or(Precision::F64) {
        Precision::F64 => Features::F64(Table::Sparse { starts, columns, values, dims }),
        Precision::F32 => {
            let values: Vec<f32> = values.iter().map(|&v| f32::from_f64(v)).collect();
            if let Some(at) = values.iter().position(|v| !v.is_finite()) {
                let row = starts.partition_point(|&s| s <= at) - 1;
                return Err(ReadError::new(name, "a value is too large for single precision")
                    .at_line(u64::from(lines[row]))
                    .hint("read it in double precision"));
            }
            Features::F32(Table::Sparse { starts, columns, values, dims })
        }
    };
    let text = plan.text.iter().map(|&at| TextColumn::join(&names[at], std::mem::take(&mut texts[at]))).collect();
    let lines = Lines::Listed(lines);
    let format = Format::SvmLight;
    Parts { source: name.to_string(), format, n, rows, feature_names: Vec::new(), text, lines }.finish(options)
}

fn parse_chunk(text: &Text<'_>, chunk: &Chunk, wanted: [bool; 2]) -> Result<Part> {
    let mut part = Part { text: wanted.map(|w| w.then(|| TextColumn::new(""))), ..Part::default() };
    for record in text.chunk(chunk) {
        let record = record?;
        let end = memchr::memchr(b'#', record.bytes).unwrap_or(record.bytes.len());
        let mut tokens = record.bytes[..end].split(u8::is_ascii_whitespace).filter(|t| !t.is_empty());
        let Some(label) = tokens.next() else { continue };
        let fail = |message: String, hint: &str| ReadError::new(text.name, message).at_line(record.line).hint(hint);
        if label.contains(&b':') {
            let message = format!("the line starts with '{}' and has no label", show(label));
            return Err(fail(message, "put a label first; 0 will do when there is none"));
        }
        let (mut last, mut length, mut qid) = (None::<u32>, 0u32, &b""[..]);
        for token in tokens {
            let Some(at) = memchr::memchr(b':', token) else {
                return Err(fail(format!("'{}' is not index:value", show(token)), "write values as index:value"));
            };
            let (index, value) = (&token[..at], &token[at + 1..]);
            if index == b"qid" {
                qid = value;
                continue;
            }
            let Some(index) = number(index) else {
                let message = format!("'{}' is not a column index from 0 to {}", show(index), u32::MAX - 1);
                return Err(fail(message, "write values as index:value"));
            };
            if last.is_some_and(|last| last >= index) {
                let same = last == Some(index);
                let message = if same {
                    format!("index {index} appears twice")
                } else {
                    format!("index {index} comes after index {}", last.unwrap_or(0))
                };
                return Err(fail(message, "indices must ascend within a line"));
            }
            last = Some(index);
            part.has_zero |= index == 0;
            let value = match fast_float2::parse::<f64, _>(value) {
                Ok(v) if v.is_finite() => v,
                _ => {
                    let message = format!("'{}' is not a finite number", show(value));
                    return Err(fail(message, "correct it or leave the entry out").in_column(index.to_string()));
                }
            };
            // A stored zero says what a missing entry says; but its index may be the only 0 that tells the base.
            if value != 0.0 {
                part.columns.push(index);
                part.values.push(value);
                length += 1;
            }
        }
        for (column, value) in part.text.iter_mut().zip([label, qid]) {
            if let Some(column) = column {
                column.push(std::str::from_utf8(value).map_err(|_| not_utf8(text.name, record.line, None, value))?);
            }
        }
        part.lengths.push(length);
        part.lines.push(record.line.min(u64::from(u32::MAX)) as u32);
    }
    Ok(part)
}

fn number(digits: &[u8]) -> Option<u32> {
    let mut value = 0u64;
    if digits.is_empty() || digits.len() > 12 {
        return None;
    }
    for &b in digits {
        if !b.is_ascii_digit() {
            return None;
        }
        value = value * 10 + u64::from(b - b'0');
    }
    u32::try_from(value).ok().filter(|&v| v < u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::input::Input;
    use crate::table::read_table;
    use proptest::prelude::*;

    fn read_text(text: &str) -> Result<DataFile> {
        read_table(&Input::bytes("x.svm", text), &ReadOptions { truth: Some("label".into()), ..ReadOptions::default() })
    }
    fn parts(file: &DataFile) -> (&[usize], &[u32], &[f64], usize) {
        match &file.rows {
            Features::F64(Table::Sparse { starts, columns, values, dims }) => (starts, columns, values, *dims),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn lines_become_sparse_rows_with_labels_and_line_numbers() {
        let f = read_text("# head\n+1 qid:3 1:0.5 4:2 # note\n\n-1 2:1e3 3:0\n0\n").unwrap();
        assert_eq!(parts(&f), (&[0, 2, 3, 3][..], &[0, 3, 1][..], &[0.5, 2.0, 1000.0][..], 4));
        assert_eq!(f.truth().unwrap().iter().collect::<Vec<_>>(), ["+1", "-1", "0"]);
        assert_eq!((0..3).map(|i| f.line(i).unwrap()).collect::<Vec<_>>(), [2, 4, 5]);
        assert!(f.rows.view().is_ok());
    }

    #[test]
    fn an_index_zero_anywhere_makes_the_file_zero_based() {
        assert_eq!(
            parts(&read_text("1 1:1\n1 0:1 2:1\n").unwrap()),
            (&[0, 1, 3][..], &[1, 0, 2][..], &[1.0; 3][..], 3)
        );
    }

    #[test]
    fn bad_lines_are_named() {
        let message = |text: &str| {
            let e = read_text(text).unwrap_err();
            assert!(e.hint.is_some(), "{e}");
            e.to_string()
        };
        assert_eq!(message("1 1:1\n1 3:1 2:1\n"), "x.svm:2: index 2 comes after index 3");
        assert_eq!(message("1 1:1 1:2\n"), "x.svm:1: index 1 appears twice");
        assert_eq!(message("1 1:nan\n"), "x.svm:1: column '1': 'nan' is not a finite number");
        assert_eq!(message("1 1:\n"), "x.svm:1: column '1': '' is not a finite number");
        assert_eq!(message("1:2 3:4\n"), "x.svm:1: the line starts with '1:2' and has no label");
        assert_eq!(message("1 x:4\n"), "x.svm:1: 'x' is not a column index from 0 to 4294967294");
        assert_eq!(message("1 99999999999:4\n"), "x.svm:1: '99999999999' is not a column index from 0 to 4294967294");
        assert_eq!(message("1 2\n"), "x.svm:1: '2' is not index:value");
        assert_eq!(message("# only\n"), "x.svm: there are only comments and no rows");
        assert_eq!(message("1\n2\n"), "x.svm: no row has any value");
        let o = ReadOptions { features: Some(vec!["1".into()]), ..ReadOptions::default() };
        assert!(read_table(&Input::bytes("x.svm", "1 1:1\n"), &o).unwrap_err().usage);
    }

    proptest! {
        #[test]
        fn chunks_do_not_change_the_result(
            rows in proptest::collection::vec(proptest::collection::btree_map(0u32..50, -9i32..9, 0..6), 1..40),
            size in 1usize..50,
        ) {
            let text: String = rows.iter().map(|r| {
                let pairs: String = r.iter().map(|(i, v)| format!(" {i}:{v}")).collect();
                format!("1{pairs}\n")
            }).collect();
            let loaded = |text: &str| Loaded { name: "x".into(), bytes: text.as_bytes().to_vec().into() };
            let o = ReadOptions::default();
            let whole = read_chunked(&loaded(&text), &o, usize::MAX / 2).map(|f| format!("{f:?}"));
            let pieces = read_chunked(&loaded(&text), &o, size).map(|f| format!("{f:?}"));
            prop_assert_eq!(whole, pieces);
        }
    }
}
