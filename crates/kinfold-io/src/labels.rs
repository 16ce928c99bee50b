//! Label files `id,label`: what `cluster` writes, and what `eval` and `--previous` read.

use std::io::Write;

use crate::append::quote;
use crate::error::{ReadError, Result};
use crate::ids::Ids;
use crate::input::Input;
use crate::table::{DataFile, ReadOptions, read_table};

/// The labels of a file. Rows without a label have `None`.
#[derive(Debug)]
pub struct LabelFile {
    /// The users' names of the rows: the column `id` if the file has one, else row numbers.
    pub ids: Ids,
    /// The label of every row, as a number into `names`.
    pub labels: Vec<Option<u32>>,
    /// What the labels are called, in order of appearance.
    pub names: Vec<String>,
    /// The whole file, for its other columns and line numbers.
    pub file: DataFile,
}

impl LabelFile {
    /// The labels in the order of other ids; `None` for ids that this file does not have.
    pub fn aligned(&self, ids: &Ids) -> Vec<Option<u32>> {
        (0..ids.len()).map(|row| self.ids.find(&ids.get(row)).and_then(|at| self.labels[at as usize])).collect()
    }

    /// The labels as the integers they were written as; an error names the first that is none.
    pub fn numbers(&self) -> Result<Vec<Option<u32>>> {
        let parsed: Vec<Option<u32>> = self.names.iter().map(|name| name.trim().parse().ok()).collect();
        let number = |(row, label): (usize, &Option<u32>)| match label {
            None => Ok(None),
            Some(label) => parsed[*label as usize].map(Some).ok_or_else(|| {
                ReadError::new(
                    &self.file.source,
                    format!("the label '{}' is not an integer from 0", self.names[*label as usize]),
                )
                .at(self.file.line(row))
                .hint("give a labels file that `kinfold cluster` wrote")
            }),
        };
        self.labels.iter().enumerate().map(number).collect()
    }
}

/// Reads a table of labels: the column `id`, if there is one, names the rows; `column` (by default `label`) labels them.
/// All other columns are kept as text in [`LabelFile::file`].
pub fn read_labels(input: &Input, column: Option<&str>) -> Result<LabelFile> {
    let column = column.unwrap_or("label");
    let options = ReadOptions {
        text: vec![column.to_string()],
        text_only: true,
        keep_other: true,
        header: Some(true),
        ..ReadOptions::default()
    };
    let mut file = read_table(input, &options)?;
    if let Some(at) = file.text.iter().position(|c| c.name() == "id" && column != "id") {
        let ids = file.text[at].clone();
        file.ids = Ids::from_column(&file.source, ids, |row| file.line(row))?;
    }
    let (labels, names) = file.text(column)?.codes();
    Ok(LabelFile { ids: file.ids.clone(), labels, names, file })
}

/// Writes `id,label` lines in row order.
pub fn write_labels(name: &str, out: impl Write, ids: &Ids, labels: &[u32]) -> Result<()> {
    let mut out = std::io::BufWriter::with_capacity(1 << 16, out);
    let mut write = || {
        use std::fmt::Write as _;
        out.write_all(b"id,label\n")?;
        let mut line = String::new();
        for (row, label) in labels.iter().enumerate() {
            line.clear();
            quote(&ids.get(row), b',', &mut line);
            let _ = writeln!(line, ",{label}"); // Writing to a String cannot fail.
            out.write_all(line.as_bytes())?;
        }
        out.flush()
    };
    write().map_err(|e| ReadError::io(name, "writing to it", &e))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn written_labels_read_back_and_align_by_id() {
        let table = "name,x\n\"a,b\",1\n007,2\n7,3\n";
        let o = ReadOptions { id: Some("name".into()), ..ReadOptions::default() };
        let data = read_table(&Input::bytes("t.csv", table), &o).unwrap();
        let mut out = Vec::new();
        write_labels("l.csv", &mut out, &data.ids, &[2, 0, 2]).unwrap();
        assert_eq!(String::from_utf8_lossy(&out), "id,label\n\"a,b\",2\n007,0\n7,2\n");
        let back = read_labels(&Input::bytes("l.csv", out), None).unwrap();
        assert_eq!(back.aligned(&data.ids), [Some(0), Some(1), Some(0)]);
        assert_eq!(back.numbers().unwrap(), [Some(2), Some(0), Some(2)]);
        let other = read_labels(&Input::bytes("l.csv", "id,label\n7,x\n"), None).unwrap();
        assert_eq!(other.aligned(&data.ids), [None, None, Some(0)]);
        assert!(other.numbers().unwrap_err().to_string().starts_with("l.csv:2: the label 'x'"));
    }

    #[test]
    fn other_columns_and_files_without_ids_are_read() {
        let l = read_labels(&Input::bytes("l.csv", "truth,label,x\na,0,1\nb,,2\n"), Some("truth")).unwrap();
        assert_eq!((l.names.join(""), l.ids.get(1).into_owned()), ("ab".to_string(), "1".to_string()));
        assert_eq!(l.file.text("label").unwrap().get(1), "");
        assert!(read_labels(&Input::bytes("l.csv", "id,cluster\na,1\n"), None).unwrap_err().usage);
        assert!(
            read_labels(&Input::bytes("l.csv", "id,label\na,1\na,2\n"), None).unwrap_err().message.contains("line 2")
        );
    }
}
