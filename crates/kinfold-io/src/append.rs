//! Appending to an answer file: one record per call, on disk before the call returns, never joined to a torn line.
//! Every change is made under the file's lock, so several processes can answer into one file. A last line without its line end (a crash, or an editor) is completed if it is a whole answer, else cut off.

use std::fs::{File, OpenOptions};
use std::io::{Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use kinfold::constraints::{Kind, weight_of_confidence};

use crate::answers::{ANSWER_COLUMNS, Columns, Reply};
use crate::csv::Csv;
use crate::error::{ReadError, Result, show};
use crate::input::Input;
use crate::scan::{Fields, Record};

/// One line to be written.
#[derive(Debug, Clone, PartialEq)]
pub struct AnswerRecord<'a> {
    /// The user's id of the first row.
    pub id_a: &'a str,
    /// The user's id of the second row.
    pub id_b: &'a str,
    /// What is said about them.
    pub answer: Reply,
    /// The probability that it is right, if somebody said so.
    pub confidence: Option<f64>,
    /// Where the question came from.
    pub source: &'a str,
    /// Who answered.
    pub who: &'a str,
    /// When, as text (RFC 3339).
    pub when: &'a str,
    /// Anything else.
    pub note: &'a str,
}

impl<'a> AnswerRecord<'a> {
    /// An answer and nothing else.
    pub fn new(id_a: &'a str, id_b: &'a str, answer: Reply) -> AnswerRecord<'a> {
        AnswerRecord { id_a, id_b, answer, confidence: None, source: "", who: "", when: "", note: "" }
    }
}

/// What was done about a last line without a line end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Repair {
    /// It was a whole answer and got its line end.
    Completed,
    /// It was torn; this is what was cut off.
    Cut(String),
}

/// Appends to an answer file.
#[derive(Debug)]
pub struct AnswerWriter {
    name: String,
    file: File,
    /// Column of the file for each field written, by position in the file's header.
    columns: Vec<String>,
    delimiter: u8,
    repair: Option<Repair>,
    path: PathBuf,
    /// Length after our last change: another length means that somebody else wrote.
    length: u64,
}

impl AnswerWriter {
    /// Opens or creates the file; a new or empty one gets the header at once.
    pub fn open(path: impl AsRef<Path>) -> Result<AnswerWriter> {
        let path = path.as_ref();
        let name = path.display().to_string();
        let fail = |doing: &str, e: &std::io::Error| ReadError::io(&name, doing, e);
        let existed = path.exists();
        let mut options = OpenOptions::new();
        let mut file =
            options.read(true).append(true).create(true).open(path).map_err(|e| fail("opening it for writing", &e))?;
        let mut writer = AnswerWriter {
            name: name.clone(),
            file: file.try_clone().map_err(|e| fail("opening it", &e))?,
            columns: Vec::new(),
            delimiter: b',',
            repair: None,
            path: path.to_path_buf(),
            length: 0,
        };
        let mut opened = writer.lock()?;
        let length = file.seek(SeekFrom::End(0)).map_err(|e| fail("reading it", &e))?;
        if length == 0 {
            opened.columns = ANSWER_COLUMNS.map(str::to_string).to_vec();
            opened.put(format!("{}\n", ANSWER_COLUMNS.join(",")).as_bytes())?;
            if !existed {
                sync_directory(path);
            }
        } else {
            opened.resume(&Input::Path(PathBuf::from(path)))?;
        }
        opened.length = opened.file.metadata().map_or(0, |m| m.len());
        drop(opened);
        Ok(writer)
    }

    /// Waits until nobody else changes the file; the lock ends with the guard, and with the process.
    fn lock(&mut self) -> Result<Locked<'_>> {
        match self.file.lock() {
            Ok(()) => {}
            // A file system without locks: one process at a time is then the user's business.
            Err(e) if e.kind() == std::io::ErrorKind::Unsupported => {}
            Err(e) => return Err(ReadError::io(&self.name, "locking it", &e)),
        }
        Ok(Locked(self))
    }

    /// Does something while no other process changes the file, like reading it.
    pub fn while_locked<T>(&mut self, work: impl FnOnce() -> T) -> Result<T> {
        let _guard = self.lock()?;
        Ok(work())
    }

    /// Did somebody else change the file since this writer last did?
    pub fn changed(&self) -> bool {
        self.file.metadata().is_ok_and(|m| m.len() != self.length)
    }
    /// The file as it is now is what this writer knows.
    pub fn seen(&mut self) {
        self.length = self.file.metadata().map_or(self.length, |m| m.len());
    }

    /// Under the lock: another process may have been killed in the middle of a line.
    fn mend(&mut self) -> Result<()> {
        let length = self.file.metadata().map_err(|e| ReadError::io(&self.name, "reading it", &e))?.len();
        if length == self.length {
            return Ok(());
        }
        if length == 0 {
            let header = self.columns.join(&char::from(self.delimiter).to_string());
            return self.put(format!("{header}\n").as_bytes());
        }
        self.resume(&Input::Path(self.path.clone()))
    }

    /// What was found at the end of an existing file.
    pub fn repair(&self) -> Option<&Repair> {
        self.repair.as_ref()
    }

    /// Learns the columns of an existing file and mends its end.
    fn resume(&mut self, input: &Input) -> Result<()> {
        let Input::Path(path) = input else { return Ok(()) };
        let bytes = std::fs::read(path).map_err(|e| ReadError::io(&self.name, "reading it", &e))?;
        if bytes.starts_with(&[0x1f, 0x8b]) {
            return Err(ReadError::new(&self.name, "answers cannot be added to a gzipped file")
                .hint("unpack it with gunzip, or write to a plain .csv file")
                .usage());
        }
        let ends_whole = bytes.ends_with(b"\n");
        let name = self.name.clone();
        // A torn header (no line end, no rows) is written anew.
        if !ends_whole && !bytes.contains(&b'\n') && ANSWER_COLUMNS.join(",").as_bytes().starts_with(&bytes) {
            self.columns = ANSWER_COLUMNS.map(str::to_string).to_vec();
            self.cut(0, &bytes)?;
            return self.put(format!("{}\n", ANSWER_COLUMNS.join(",")).as_bytes());
        }
        let header_end = memchr::memchr(b'\n', &bytes).unwrap_or(bytes.len());
        let csv = Csv::open(&name, &bytes[..header_end], None)?;
        let columns = Columns::new(&name, csv.line, &csv.first)?;
        self.delimiter = csv.delimiter;
        self.columns = csv.first.iter().map(|c| c.to_lowercase()).collect();
        if ends_whole && !bytes.contains(&b'"') {
            return Ok(());
        }
        // Where the last record starts: a quote that is still open makes everything behind it part of the tear.
        let (mut start, mut open) = (0, false);
        let mut at = 0;
        while at < bytes.len() {
            let field_start = at == 0 || bytes[at - 1] == self.delimiter || bytes[at - 1] == b'\n';
            match bytes[at] {
                b'"' if !open && field_start => open = true,
                b'"' if open && bytes.get(at + 1) == Some(&b'"') => at += 1,
                b'"' if open => open = false,
                b'\n' if !open && at + 1 < bytes.len() => start = at + 1,
                _ => {}
            }
            at += 1;
        }
        if open {
            // Only a tear in the very last line is ours to cut; an older open quote needs a person.
            if memchr::memchr(b'\n', &bytes[start..]).is_some() {
                let line = 1 + memchr::memchr_iter(b'\n', &bytes[..start]).count() as u64;
                return Err(ReadError::new(name, "the quote that opens here is never closed")
                    .at_line(line)
                    .hint("close the quote in the answer file before adding answers"));
            }
            return self.cut(start, &bytes[start..]);
        }
        if ends_whole {
            return Ok(());
        }
        if start == 0 {
            self.repair = Some(Repair::Completed);
            return self.put(b"\n");
        }
        let keep = self.whole_part(&bytes[start..], &columns);
        if keep < bytes.len() - start {
            self.cut(start + keep, &bytes[start + keep..])?;
        } else {
            self.repair = Some(Repair::Completed);
        }
        if keep > 0 { self.put(b"\n") } else { Ok(()) }
    }

    /// How much of a last line without a line end can be trusted: nothing if its answer is not whole, everything if
    /// it is, except for a weight or confidence whose digits may be missing.
    fn whole_part(&self, line: &[u8], columns: &Columns) -> usize {
        let record = Record { line: 0, bytes: line, quoted: line.contains(&b'"'), start: 0, next: 0 };
        let fields: Vec<Vec<u8>> = Fields::new(&record, self.delimiter).map(|f| f.value().into_owned()).collect();
        let at = |name: &str| columns.position(name).unwrap_or(usize::MAX);
        let filled = |name: &str| fields.get(at(name)).is_some_and(|f| !f.is_empty());
        let answer = fields.get(at("answer")).and_then(|f| std::str::from_utf8(f).ok()).and_then(Reply::parse);
        // "u" may be the start of "undo": a letter at the very end counts only in the last column.
        let last = fields.len() - 1;
        let certain = last + 1 == columns.len() || last > at("answer") || fields[last].len() > 2;
        if !(filled("id_a") && filled("id_b") && answer.is_some() && certain && last < columns.len()) {
            return 0;
        }
        // The same for ids: one that ends the line is whole only in the last column.
        if last + 1 < columns.len() && (last == at("id_a") || last == at("id_b")) {
            return 0;
        }
        let strength = last == at("confidence") || last == at("weight");
        if strength && (last + 1 < columns.len() || !columns.takes(&fields[last])) {
            return line.len() - fields[last].len();
        }
        line.len()
    }

    fn cut(&mut self, at: usize, lost: &[u8]) -> Result<()> {
        self.file.set_len(at as u64).map_err(|e| ReadError::io(&self.name, "cutting off a torn line", &e))?;
        self.file.sync_all().map_err(|e| ReadError::io(&self.name, "writing it to disk", &e))?;
        self.repair = Some(Repair::Cut(show(lost)));
        Ok(())
    }

    /// Appends one record; it is on disk when this returns.
    pub fn append(&mut self, record: &AnswerRecord<'_>) -> Result<()> {
        let mut line = String::new();
        for (i, column) in self.columns.iter().enumerate() {
            if i > 0 {
                line.push(char::from(self.delimiter));
            }
            let strength;
            let value = match column.as_str() {
                "id_a" => record.id_a,
                "id_b" => record.id_b,
                "answer" => record.answer.name(),
                "source" => record.source,
                "who" => record.who,
                "when" => record.when,
                "note" => record.note,
                "confidence" | "weight" => {
                    strength = self.strength(record, column == "weight")?;
                    &strength
                }
                _ => "",
            };
            quote(value, self.delimiter, &mut line);
        }
        line.push('\n');
        let mut locked = self.lock()?;
        let others = locked.changed();
        locked.mend()?;
        locked.put(line.as_bytes())?;
        // What others wrote stays unread until the caller has looked.
        if !others {
            locked.seen();
        }
        Ok(())
    }

    fn strength(&self, record: &AnswerRecord<'_>, weight: bool) -> Result<String> {
        let Some(q) = record.confidence else { return Ok(String::new()) };
        let (kind, w) =
            weight_of_confidence(Kind::MustLink, q).map_err(|e| ReadError::new(&self.name, e.to_string()).usage())?;
        match (weight, kind) {
            (false, _) => Ok(q.to_string()),
            (true, Kind::MustLink) => Ok(w.to_string()),
            (true, Kind::CannotLink) => {
                let message = format!("confidence {q} speaks against the answer, which this file's weights cannot say");
                Err(ReadError::new(&self.name, message).hint("give the other answer with confidence 1 - q").usage())
            }
        }
    }

    /// One write and one sync; a write that fails half way is taken back.
    fn put(&mut self, bytes: &[u8]) -> Result<()> {
        let before = self.file.metadata().map(|m| m.len());
        let written = self.file.write_all(bytes).and_then(|()| self.file.sync_data());
        written.map_err(|e| {
            if let Ok(before) = before {
                let _ = self.file.set_len(before);
            }
            ReadError::io(&self.name, "writing to it", &e).hint("the answer was not saved; is the disk full?")
        })
    }
}

/// The writer while it holds the file's lock.
struct Locked<'a>(&'a mut AnswerWriter);

impl std::ops::Deref for Locked<'_> {
    type Target = AnswerWriter;
    fn deref(&self) -> &AnswerWriter {
        self.0
    }
}
impl std::ops::DerefMut for Locked<'_> {
    fn deref_mut(&mut self) -> &mut AnswerWriter {
        self.0
    }
}
impl Drop for Locked<'_> {
    fn drop(&mut self) {
        let _ = self.0.file.unlock();
    }
}

/// Writes a value as a CSV field.
pub(crate) fn quote(value: &str, delimiter: u8, out: &mut String) {
    let bytes = value.as_bytes();
    if !bytes.iter().any(|&b| b == delimiter || b"\"\r\n".contains(&b)) {
        out.push_str(value);
        return;
    }
    out.push('"');
    out.push_str(&value.replace('"', "\"\""));
    out.push('"');
}

/// The name of a new file lives in its directory.
fn sync_directory(path: &Path) {
    let parent = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
    if let Ok(directory) = File::open(parent) {
        let _ = directory.sync_all();
    }
}

/// A whole answer file as text: the header and one line per (id, id, kind).
pub fn answer_lines(
    answers: impl Iterator<Item = (String, String, kinfold::constraints::Kind)>,
    source: &str,
) -> String {
    let mut text = ANSWER_COLUMNS.join(",");
    text.push('\n');
    for (a, b, kind) in answers {
        for value in [a.as_str(), b.as_str(), kind.answer(), "", source, "", "", ""].iter().enumerate() {
            if value.0 > 0 {
                text.push(',');
            }
            quote(value.1, b',', &mut text);
        }
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::answers::{AnswerOptions, Strength, read_answers, read_answers_alone};
    use crate::ids::Ids;

    fn file(content: &[u8]) -> (tempfile::TempDir, PathBuf) {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("answers.csv");
        std::fs::write(&path, content).unwrap();
        (dir, path)
    }

    #[test]
    fn a_new_file_gets_a_header_and_records_read_back() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("answers.csv");
        let mut w = AnswerWriter::open(&path).unwrap();
        let note = "says \"no\",\nreally";
        let mut record = AnswerRecord::new("00417", "a,b", Reply::Different);
        (record.confidence, record.note, record.who) = (Some(0.75), note, "ann");
        w.append(&record).unwrap();
        drop(w);
        let mut w = AnswerWriter::open(&path).unwrap();
        assert_eq!(w.repair(), None);
        w.append(&AnswerRecord::new("x", "00417", Reply::Same)).unwrap();
        let text = std::fs::read_to_string(&path).unwrap();
        assert_eq!(
            text,
            "id_a,id_b,answer,confidence,source,who,when,note\n\
             00417,\"a,b\",different,0.75,,ann,,\"says \"\"no\"\",\nreally\"\nx,00417,same,,,,,\n"
        );
        let (ids, answers) = read_answers_alone(&Input::from_arg(&path)).unwrap();
        assert_eq!((ids.len(), answers.pairs.len(), answers.pairs[1].line), (3, 2, 4));
    }

    #[test]
    fn a_torn_last_line_is_completed_or_cut_but_never_joined() {
        let header = "id_a,id_b,answer,confidence,source,who,when,note\n";
        let whole = "1,2,same,0.5,ask,me,now,ok";
        for end in 0..=whole.len() {
            let (_dir, path) = file(format!("{header}3,4,same,,,,,\n{}", &whole[..end]).as_bytes());
            let mut w = AnswerWriter::open(&path).unwrap();
            w.append(&AnswerRecord::new("5", "6", Reply::Different)).unwrap();
            let ids = Ids::numbers(10);
            let a = read_answers(&Input::from_arg(&path), &ids, &AnswerOptions::default()).unwrap();
            let pairs: Vec<(u32, u32)> = a.pairs.iter().map(|p| (p.a, p.b)).collect();
            if end >= "1,2,same".len() {
                assert_eq!(pairs, [(3, 4), (1, 2), (5, 6)], "{end}");
                // Digits may be missing from a confidence that ends the line, so it is not believed.
                let confidence = if end <= "1,2,same,0.5".len() { Strength::Unsaid } else { Strength::Confidence(0.5) };
                assert_eq!(a.pairs[1].strength(), confidence, "{end}");
                assert!(w.repair().is_some(), "{end}");
            } else {
                assert_eq!(pairs, [(3, 4), (5, 6)], "{end}");
                assert_eq!(w.repair().is_some(), end > 0, "{end}");
            }
        }
    }

    #[test]
    fn several_writers_share_one_file() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("answers.csv");
        std::thread::scope(|scope| {
            for who in 0..4 {
                let path = path.clone();
                scope.spawn(move || {
                    let mut w = AnswerWriter::open(&path).unwrap();
                    for i in 0..25 {
                        let (a, b) = (format!("{who}"), format!("{}", 100 + i));
                        w.append(&AnswerRecord::new(&a, &b, Reply::Same)).unwrap();
                    }
                });
            }
        });
        let text = std::fs::read_to_string(&path).unwrap();
        assert_eq!(text.lines().count(), 101);
        assert_eq!(text.matches("id_a").count(), 1);
        let (_, answers) = read_answers_alone(&Input::from_arg(&path)).unwrap();
        assert_eq!(answers.pairs.len(), 100);
    }

    #[test]
    fn a_line_that_another_process_tore_is_mended_before_ours() {
        let (_dir, path) = file(b"id_a,id_b,answer\n");
        let mut ours = AnswerWriter::open(&path).unwrap();
        let mut torn = OpenOptions::new().append(true).open(&path).unwrap();
        torn.write_all(b"1,2,sa").unwrap();
        assert!(ours.changed());
        ours.append(&AnswerRecord::new("5", "6", Reply::Same)).unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "id_a,id_b,answer\n5,6,same\n");
    }

    #[test]
    fn a_letter_that_may_be_the_start_of_a_word_is_cut() {
        let (_dir, path) = file(b"id_a,id_b,answer,note\n1,2,u");
        assert_eq!(AnswerWriter::open(&path).unwrap().repair(), Some(&Repair::Cut("1,2,u".into())));
        let (_dir, path) = file(b"id_a,id_b,answer\n1,2,u");
        assert_eq!(AnswerWriter::open(&path).unwrap().repair(), Some(&Repair::Completed));
    }

    #[test]
    fn a_tear_inside_a_quoted_note_is_cut_and_an_old_open_quote_is_an_error() {
        let (_dir, path) = file(b"id_a,id_b,answer,note\n1,2,same,ok\n3,4,same,\"torn no");
        let mut w = AnswerWriter::open(&path).unwrap();
        assert!(matches!(w.repair(), Some(Repair::Cut(_))));
        w.append(&AnswerRecord::new("5", "6", Reply::Undo)).unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "id_a,id_b,answer,note\n1,2,same,ok\n5,6,undo,\n");
        let (_dir, path) = file(b"id_a,id_b,answer,note\n1,2,same,\"open\n3,4,same,x\n");
        assert_eq!(AnswerWriter::open(&path).unwrap_err().line, Some(2));
    }

    #[test]
    fn the_columns_of_an_existing_file_are_kept() {
        let (_dir, path) = file(b"answer;id_b;id_a;weight;colour\nsame;1;2;inf;red\n");
        let mut w = AnswerWriter::open(&path).unwrap();
        let mut record = AnswerRecord::new("3", "4;5", Reply::Same);
        record.confidence = Some(1.0);
        w.append(&record).unwrap();
        record.confidence = Some(0.2);
        assert!(w.append(&record).unwrap_err().usage);
        assert!(std::fs::read_to_string(&path).unwrap().ends_with("red\nsame;\"4;5\";3;inf;\n"));
    }

    #[test]
    fn gzipped_foreign_and_torn_headers_are_handled() {
        let (_dir, path) = file(&[0x1f, 0x8b, 0, 0]);
        assert!(AnswerWriter::open(&path).unwrap_err().usage);
        let (_dir, path) = file(b"x,y\n1,2\n");
        assert!(AnswerWriter::open(&path).is_err());
        assert_eq!(std::fs::read(&path).unwrap(), b"x,y\n1,2\n");
        let (_dir, path) = file(b"id_a,id_b,ans");
        AnswerWriter::open(&path).unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), ANSWER_COLUMNS.join(",") + "\n");
        let (_dir, path) = file(b"id_a,id_b,answer");
        AnswerWriter::open(&path).unwrap().append(&AnswerRecord::new("1", "2", Reply::Same)).unwrap();
        assert!(std::fs::read_to_string(&path).unwrap().ends_with("\n1,2,same,,,,,\n"));
    }
}
