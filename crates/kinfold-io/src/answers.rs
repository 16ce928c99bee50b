//! The answer file `id_a,id_b,answer,confidence,source,who,when,note`: read in parallel into 24 bytes per line.
//! Only the first three columns are required, in any order; `weight` may stand in place of `confidence`. `unsure` is no
//! constraint; `undo` takes back the latest standing answer about its (unordered) pair. See `append.rs` for writing.

use kinfold::constraints::{ConstraintSet, Kind, Origin, weight_of_confidence};
use rayon::prelude::*;
use rustc_hash::{FxHashMap, FxHashSet};

use crate::csv::{Csv, not_utf8, ragged};
use crate::error::{ReadError, Result, nearest, show};
use crate::ids::Ids;
use crate::input::{Input, Loaded};
use crate::scan::{self, CHUNK, Fields, Record, field_error};
use crate::table::distinct_names;

/// The columns of an answer file, as they are written.
pub const ANSWER_COLUMNS: [&str; 8] = ["id_a", "id_b", "answer", "confidence", "source", "who", "when", "note"];

/// What a line says about its pair.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Reply {
    /// They belong together.
    Same,
    /// They do not.
    Different,
    /// Nobody knows: no constraint.
    Unsure,
    /// Forget the latest standing answer about this pair.
    Undo,
}

impl Reply {
    /// The one spelling that is written.
    pub fn name(self) -> &'static str {
        match self {
            Reply::Same => "same",
            Reply::Different => "different",
            Reply::Unsure => "unsure",
            Reply::Undo => "undo",
        }
    }

    /// Reads any of the spellings, in any case.
    pub fn parse(text: &str) -> Option<Reply> {
        let mut lower = [0u8; 12];
        let bytes = text.trim().as_bytes();
        let lower = lower.get_mut(..bytes.len())?;
        lower.copy_from_slice(bytes);
        lower.make_ascii_lowercase();
        Some(match &*lower {
            b"same" | b"must-link" | b"must_link" | b"mustlink" | b"ml" | b"1" | b"+1" | b"1.0" | b"y" | b"yes"
            | b"match" => Reply::Same,
            b"different" | b"cannot-link" | b"cannot_link" | b"cannotlink" | b"cl" | b"-1" | b"-1.0" | b"n" | b"no"
            | b"distinct" => Reply::Different,
            b"unsure" | b"u" | b"0" | b"0.0" | b"?" | b"maybe" | b"unknown" => Reply::Unsure,
            b"undo" => Reply::Undo,
            _ => return None,
        })
    }
}

/// How strongly an answer is meant.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Strength {
    /// Not said: the run decides.
    Unsaid,
    /// A weight from 0 up; infinite = hard.
    Weight(f64),
    /// The probability, above 0 and at most 1, that the answer is right.
    Confidence(f64),
}

/// One standing answer.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Answer {
    /// The first row.
    pub a: u32,
    /// The second row.
    pub b: u32,
    /// Its line in the file, from 1.
    pub line: u32,
    state: State,
    value: f64,
}

/// Kind and sort of strength in two bytes.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
struct State {
    reply: u8,
    strength: u8,
}

const DROPPED: u8 = 4;
const REPLIES: [Reply; 4] = [Reply::Same, Reply::Different, Reply::Unsure, Reply::Undo];

impl Answer {
    fn new(a: u32, b: u32, line: u64, reply: Reply, strength: Strength) -> Answer {
        let (sort, value) = match strength {
            Strength::Unsaid => (0, 0.0),
            Strength::Weight(w) => (1, w),
            Strength::Confidence(q) => (2, q),
        };
        let line = line.min(u64::from(u32::MAX)) as u32;
        Answer { a, b, line, state: State { reply: reply as u8, strength: sort }, value }
    }
    /// Must-link or cannot-link.
    pub fn kind(&self) -> Kind {
        if self.state.reply == Reply::Same as u8 { Kind::MustLink } else { Kind::CannotLink }
    }
    /// How strongly it is meant.
    pub fn strength(&self) -> Strength {
        match self.state.strength {
            0 => Strength::Unsaid,
            1 => Strength::Weight(self.value),
            _ => Strength::Confidence(self.value),
        }
    }
    fn pair(&self) -> (u32, u32) {
        (self.a.min(self.b), self.a.max(self.b))
    }
}

/// How answers are read.
#[derive(Debug, Clone, Copy, Default)]
pub struct AnswerOptions {
    /// Leave out lines with ids that no row has, and count them, instead of failing.
    pub skip_unknown: bool,
    /// Worker threads; 0 = all cores.
    pub threads: usize,
}

/// What became of the lines that are no constraints.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct AnswerCounts {
    /// Lines with an answer.
    pub lines: usize,
    /// Standing answers `unsure`.
    pub unsure: usize,
    /// Answers taken back.
    pub undone: usize,
    /// `undo` lines that found no standing answer.
    pub idle_undo: usize,
    /// Lines whose two ids are the same row: `same` says nothing and is left out, `different` is kept as the
    /// contradiction it is.
    pub self_pairs: usize,
    /// Lines left out because of an unknown id.
    pub unknown: usize,
}

/// The answers of a file that stand.
#[derive(Debug, Clone, PartialEq)]
pub struct Answers {
    /// The file's name.
    pub source: String,
    /// Same and different, in the order of the file.
    pub pairs: Vec<Answer>,
    /// Standing answers *unsure*, in the order of the file: no constraints, but not to be asked again.
    pub aside: Vec<Answer>,
    /// What became of the other lines.
    pub counts: AnswerCounts,
}

impl Answers {
    /// Adds the answers to a set, under the file's name and with their lines. `trust` is the weight of answers that
    /// say neither weight nor confidence (infinite = hard). A confidence below one half speaks for the other kind.
    pub fn add_to(&self, set: &mut ConstraintSet, trust: f64) -> kinfold::Result<()> {
        let source = set.add_source(&self.source);
        set.reserve_pairs(self.pairs.len());
        for answer in &self.pairs {
            let (kind, weight) = match answer.strength() {
                Strength::Unsaid => (answer.kind(), trust),
                Strength::Weight(w) => (answer.kind(), w),
                Strength::Confidence(q) => weight_of_confidence(answer.kind(), q)?,
            };
            let origin = Origin { source, line: answer.line };
            set.add_weighted_pair(kind, answer.a as usize, answer.b as usize, weight, origin)?;
        }
        Ok(())
    }

    /// A set of `n` rows with these answers alone; see [`add_to`](Answers::add_to).
    pub fn to_constraints(&self, n: usize, trust: f64) -> kinfold::Result<ConstraintSet> {
        let mut set = ConstraintSet::new(n);
        self.add_to(&mut set, trust)?;
        Ok(set)
    }
}

/// Which field is what.
pub(crate) struct Columns {
    /// For each field of a line: 0 nothing, else 1 + position in (id_a, id_b, answer, strength).
    role: Vec<u8>,
    weight: bool,
    names: Vec<String>,
}

impl Columns {
    pub fn new(name: &str, line: u64, first: &[String]) -> Result<Columns> {
        let names: Vec<String> = first.iter().map(|n| n.to_lowercase()).collect();
        distinct_names(name, Some(line), &names)?;
        let at = |wanted: &str| names.iter().position(|n| n == wanted);
        let hint = "the first line must name the columns, e.g. id_a,id_b,answer";
        let require = |wanted: &str| {
            at(wanted).ok_or_else(|| {
                let close = nearest(wanted, names.iter().map(String::as_str));
                let hint = close.map_or(hint.to_string(), |close| format!("rename '{close}'; {hint}"));
                ReadError::new(name, format!("there is no column '{wanted}'")).at_line(line).hint(hint)
            })
        };
        let mut role = vec![0; names.len()];
        for (i, wanted) in ["id_a", "id_b", "answer"].iter().enumerate() {
            role[require(wanted)?] = i as u8 + 1;
        }
        match (at("confidence"), at("weight")) {
            (Some(_), Some(_)) => {
                return Err(ReadError::new(name, "there are both a column 'confidence' and a column 'weight'")
                    .at_line(line)
                    .hint("keep the one that is meant: confidence is a probability, weight a cost"));
            }
            (Some(i), None) | (None, Some(i)) => role[i] = 4,
            (None, None) => {}
        }
        Ok(Columns { role, weight: at("weight").is_some(), names })
    }

    pub fn len(&self) -> usize {
        self.names.len()
    }
    /// Is it a weight or confidence as this file has them?
    pub fn takes(&self, strength: &[u8]) -> bool {
        self.strength("", 0, strength.trim_ascii()).is_ok()
    }
    pub fn position(&self, name: &str) -> Option<usize> {
        self.names.iter().position(|n| n == name)
    }

    /// One line; `None` when an id is unknown and that is allowed.
    fn parse(
        &self,
        name: &str,
        record: &Record<'_>,
        delimiter: u8,
        mut find: impl FnMut(&[u8], &str) -> Result<Option<u32>>,
    ) -> Result<Option<Answer>> {
        let mut values: [std::borrow::Cow<'_, [u8]>; 4] = Default::default();
        let mut found = 0;
        for field in Fields::new(record, delimiter) {
            if let Some(e) = field_error(name, &field, record.line) {
                return Err(e);
            }
            if let Some(&role) = self.role.get(found)
                && role > 0
            {
                values[role as usize - 1] = field.value();
            }
            found += 1;
        }
        // Columns at the end may be missing, but not the three that count.
        let needed = self.role.iter().rposition(|&r| (1..=3).contains(&r)).map_or(0, |at| at + 1);
        if found > self.len() || found < needed {
            return Err(ragged(name, record, found, self.len(), true));
        }
        let reply = std::str::from_utf8(&values[2]).ok().and_then(Reply::parse).ok_or_else(|| {
            let message = match values[2].trim_ascii() {
                b"" => "the answer is empty".to_string(),
                other => format!("'{}' is not an answer", show(other)),
            };
            ReadError::new(name, message)
                .at_line(record.line)
                .in_column("answer")
                .hint("write same, different, unsure or undo")
        })?;
        let strength = self.strength(name, record.line, values[3].trim_ascii())?;
        let (Some(a), Some(b)) = (find(&values[0], "id_a")?, find(&values[1], "id_b")?) else { return Ok(None) };
        Ok(Some(Answer::new(a, b, record.line, reply, strength)))
    }

    fn strength(&self, name: &str, line: u64, value: &[u8]) -> Result<Strength> {
        if value.is_empty() {
            return Ok(Strength::Unsaid);
        }
        let number = fast_float2::parse::<f64, _>(value).unwrap_or(f64::NAN);
        if self.weight && number >= 0.0 {
            Ok(Strength::Weight(number))
        } else if !self.weight && number > 0.0 && number <= 1.0 {
            Ok(Strength::Confidence(number))
        } else {
            let (column, rule) = if self.weight {
                ("weight", "a weight is a number from 0 up; inf makes the answer hard")
            } else {
                ("confidence", "a confidence is a probability above 0 and at most 1; leave it empty if unknown")
            };
            let message = format!("'{}' is not a {column}", show(value));
            Err(ReadError::new(name, message).at_line(line).in_column(column).hint(rule))
        }
    }
}

fn open<'a>(loaded: &'a Loaded) -> Result<Option<(Csv<'a>, Columns)>> {
    if loaded.bytes.trim_ascii().is_empty() {
        return Ok(None); // Just created: no answers yet.
    }
    let csv = Csv::open(&loaded.name, &loaded.bytes, None)?;
    let columns = Columns::new(&loaded.name, csv.line, &csv.first)?;
    Ok(Some((csv, columns)))
}

/// Reads the answers about the rows named by `ids`.
pub fn read_answers(input: &Input, ids: &Ids, options: &AnswerOptions) -> Result<Answers> {
    let loaded = input.load()?;
    let name = loaded.name.as_str();
    let Some((csv, columns)) = open(&loaded)? else { return Ok(settle(name, Vec::new())) };
    let pool = scan::pool(name, options.threads)?;
    let chunks = csv.text.split(csv.starts.1, csv.next_line, CHUNK, &pool)?;
    let n = chunks.last().map_or(0, |c| c.first_record + c.records);
    let dropped =
        Answer { state: State { reply: DROPPED, strength: 0 }, ..Answer::new(0, 0, 0, Reply::Same, Strength::Unsaid) };
    let mut events = vec![dropped; n];
    let mut rest = events.as_mut_slice();
    let mut work = Vec::with_capacity(chunks.len());
    for chunk in &chunks {
        let (own, others) = rest.split_at_mut(chunk.records);
        work.push((chunk, own));
        rest = others;
    }
    let done: Vec<Result<()>> = pool.install(|| {
        work.into_par_iter()
            .map(|(chunk, out)| {
                for (record, out) in csv.text.chunk(chunk).zip(out) {
                    let record = record?;
                    let answer =
                        columns.parse(name, &record, csv.delimiter, |id, column| match ids.find_bytes(id) {
                            Some(row) => Ok(Some(row)),
                            None if options.skip_unknown => Ok(None),
                            None => Err(ReadError::new(name, format!("no row has the id '{}'", show(id)))
                                .at_line(record.line)
                                .in_column(column)
                                .hint(ids.suggest(&String::from_utf8_lossy(id)))),
                        })?;
                    if let Some(answer) = answer {
                        *out = answer;
                    }
                }
                Ok(())
            })
            .collect()
    });
    done.into_iter().collect::<Result<()>>()?;
    Ok(settle(name, events))
}

/// Reads answers where no table is given: the ids are those the answers name, numbered in order of appearance.
pub fn read_answers_alone(input: &Input) -> Result<(Ids, Answers)> {
    let loaded = input.load()?;
    let name = loaded.name.as_str();
    let mut ids = Ids::collecting("id");
    let Some((csv, columns)) = open(&loaded)? else { return Ok((ids, settle(name, Vec::new()))) };
    let mut events = Vec::new();
    for record in csv.text.records(csv.starts.1, csv.next_line) {
        let record = record?;
        let answer = columns.parse(name, &record, csv.delimiter, |id, column| {
            if id.is_empty() {
                return Err(ReadError::new(name, "the id is empty").at_line(record.line).in_column(column));
            }
            let text = std::str::from_utf8(id).map_err(|_| not_utf8(name, record.line, Some(column), id))?;
            Ok(Some(ids.intern(text)))
        })?;
        events.extend(answer);
    }
    Ok((ids, settle(name, events)))
}

/// Applies the undo lines and leaves out what is no constraint.
fn settle(name: &str, mut events: Vec<Answer>) -> Answers {
    let mut counts = AnswerCounts { lines: events.len(), ..AnswerCounts::default() };
    let undo = Reply::Undo as u8;
    let touched: FxHashSet<(u32, u32)> = events.iter().filter(|e| e.state.reply == undo).map(Answer::pair).collect();
    if !touched.is_empty() {
        let mut standing: FxHashMap<(u32, u32), Vec<usize>> = FxHashMap::default();
        for at in 0..events.len() {
            let event = events[at];
            if event.state.reply == DROPPED || !touched.contains(&event.pair()) {
                continue;
            }
            let stack = standing.entry(event.pair()).or_default();
            if event.state.reply != undo {
                stack.push(at);
            } else if let Some(last) = stack.pop() {
                events[last].state.reply = undo; // Left out below like the undo itself.
                counts.undone += 1;
            } else {
                counts.idle_undo += 1;
            }
        }
    }
    let mut aside = Vec::new();
    events.retain(|e| {
        if e.state.reply == DROPPED {
            counts.unknown += 1;
            return false;
        }
        match REPLIES[e.state.reply as usize] {
            Reply::Undo => false,
            Reply::Unsure => {
                counts.unsure += 1;
                aside.push(*e);
                false
            }
            reply if e.a == e.b => {
                counts.self_pairs += 1;
                reply == Reply::Different
            }
            _ => true,
        }
    });
    Answers { source: name.to_string(), pairs: events, aside, counts }
}

#[cfg(test)]
mod tests {
    use super::*;
    use kinfold::constraints::Kind::{CannotLink, MustLink};

    fn read(text: &str) -> Result<Answers> {
        read_answers(&Input::bytes("a.csv", text), &Ids::numbers(10), &AnswerOptions::default())
    }
    fn pairs(answers: &Answers) -> Vec<(Kind, u32, u32, u32)> {
        answers.pairs.iter().map(|p| (p.kind(), p.a, p.b, p.line)).collect()
    }

    #[test]
    fn a_pair_takes_at_most_32_bytes() {
        assert!(size_of::<Answer>() <= 24);
    }

    #[test]
    fn every_spelling_is_read_in_any_case() {
        for word in ["must-link", "ML", "1", "y", "Yes", "same", " match "] {
            assert_eq!(Reply::parse(word), Some(Reply::Same), "{word}");
        }
        for word in ["cannot-link", "cl", "-1", "N", "no", "different", "distinct"] {
            assert_eq!(Reply::parse(word), Some(Reply::Different), "{word}");
        }
        for word in ["unsure", "u", "0", "?"] {
            assert_eq!(Reply::parse(word), Some(Reply::Unsure), "{word}");
        }
        assert_eq!(
            (Reply::parse("undo"), Reply::parse("perhaps not"), Reply::parse("")),
            (Some(Reply::Undo), None, None)
        );
        for reply in REPLIES {
            assert_eq!(Reply::parse(reply.name()), Some(reply));
        }
    }

    #[test]
    fn columns_may_come_in_any_order_and_lines_may_end_early() {
        let a = read("note,answer,id_b,ID_A,weight\n\"a,\nb\",ml,1,0,2.5\r\n\nx,no,3,2,\nx,no,5,4\n").unwrap();
        assert_eq!(pairs(&a), [(MustLink, 0, 1, 2), (CannotLink, 2, 3, 5), (CannotLink, 4, 5, 6)]);
        assert_eq!(a.pairs[0].strength(), Strength::Weight(2.5));
        assert_eq!(a.pairs[1].strength(), Strength::Unsaid);
    }

    #[test]
    fn undo_takes_back_the_latest_standing_answer_of_the_unordered_pair() {
        let a = read(
            "id_a,id_b,answer\n0,1,same\n1,0,different\n0,1,undo\n2,3,unsure\n3,2,undo\n4,5,undo\n4,5,same\n6,7,unsure\n",
        )
        .unwrap();
        assert_eq!(pairs(&a), [(MustLink, 0, 1, 2), (MustLink, 4, 5, 8)]);
        let counts = AnswerCounts { lines: 8, unsure: 1, undone: 2, idle_undo: 1, ..AnswerCounts::default() };
        assert_eq!(a.counts, counts);
    }

    #[test]
    fn self_pairs_are_counted_and_a_row_apart_from_itself_is_kept_as_a_contradiction() {
        let a = read("id_a,id_b,answer\n3,3,same\n4,4,different\n").unwrap();
        assert_eq!(pairs(&a), [(CannotLink, 4, 4, 3)]);
        assert_eq!(a.counts.self_pairs, 2);
    }

    #[test]
    fn unknown_ids_are_named_with_line_and_suggestion_or_skipped() {
        let text = "id_a,id_b,answer\n0,1,same\n0,007,same\n";
        let e = read(text).unwrap_err();
        assert_eq!(e.to_string(), "a.csv:3: column 'id_b': no row has the id '007'");
        assert!(e.hint.unwrap().contains("write '7'"));
        let options = AnswerOptions { skip_unknown: true, ..AnswerOptions::default() };
        let a = read_answers(&Input::bytes("a.csv", text), &Ids::numbers(10), &options).unwrap();
        assert_eq!((a.pairs.len(), a.counts.unknown), (1, 1));
    }

    #[test]
    fn bad_lines_are_named() {
        let message = |text: &str| read(text).unwrap_err().to_string();
        assert_eq!(message("a,b,answer\n"), "a.csv:1: there is no column 'id_a'");
        assert_eq!(message("0,1,same\n"), "a.csv:1: there is no column 'id_a'");
        assert!(message("id_a,id_b,answer,weight,confidence\n").contains("both a column"));
        assert_eq!(message("id_a,id_b,answer\n0,1,perhaps\n"), "a.csv:2: column 'answer': 'perhaps' is not an answer");
        assert_eq!(message("id_a,id_b,answer\n0,1,\n"), "a.csv:2: column 'answer': the answer is empty");
        assert_eq!(message("id_a,id_b,answer\n0,1\n"), "a.csv:2: the line has 2 fields, but the header has 3");
        assert_eq!(message("id_a,id_b,answer\n0,1,ml,x\n"), "a.csv:2: the line has 4 fields, but the header has 3");
        for bad in ["0", "1.2", "-1", "x", "nan"] {
            let e = message(&format!("id_a,id_b,answer,confidence\n0,1,ml,{bad}\n"));
            assert_eq!(e, format!("a.csv:2: column 'confidence': '{bad}' is not a confidence"));
        }
        assert!(message("id_a,id_b,answer,weight\n0,1,ml,-1\n").contains("'-1' is not a weight"));
        assert!(message("id_a,id_b,answer\n0,1,\"same\n").contains("never closed"));
        assert!(read("").unwrap().pairs.is_empty());
        assert!(read("id_a,id_b,answer\n").unwrap().pairs.is_empty());
    }

    #[test]
    fn constraints_carry_weights_and_lines() {
        let a = read("id_a,id_b,answer,confidence\n0,1,same,0.9\n2,3,same,0.1\n4,5,different,\n6,7,same,1\n").unwrap();
        let set = a.to_constraints(10, 1.5).unwrap();
        let p = set.pairs();
        assert!(p[0].kind == MustLink && (p[0].weight - 9f64.ln()).abs() < 1e-12);
        assert!(p[1].kind == CannotLink && (p[1].weight - 9f64.ln()).abs() < 1e-12);
        assert_eq!((p[2].kind, p[2].weight, p[2].origin.line), (CannotLink, 1.5, 4));
        assert_eq!(p[3].weight, f64::INFINITY);
        assert_eq!(set.source(p[0].origin), "a.csv");
        assert!(a.to_constraints(3, 1.0).is_err());
    }

    #[test]
    fn without_a_table_the_ids_are_those_of_the_answers() {
        let (ids, a) = read_answers_alone(&Input::bytes("a.csv", "id_a,id_b,answer\nx,007,ml\n7,x,cl\n")).unwrap();
        assert_eq!((0..3).map(|i| ids.get(i).into_owned()).collect::<Vec<_>>(), ["x", "007", "7"]);
        assert_eq!(pairs(&a), [(MustLink, 0, 1, 2), (CannotLink, 2, 0, 3)]);
    }

    #[test]
    fn any_number_of_threads_reads_the_same() {
        let mut text = String::from("id_a,id_b,answer,note\n");
        for i in 0..200_000 {
            let word = ["same", "different", "unsure", "undo"][i * 7 % 11 % 4];
            text += &format!("{},{},{word},\"n\n{i}\"\n", i % 10, i * 3 % 7);
        }
        let ids = Ids::numbers(10);
        let with = |threads| {
            let options = AnswerOptions { threads, ..AnswerOptions::default() };
            read_answers(&Input::bytes("a.csv", text.as_bytes()), &ids, &options).unwrap()
        };
        assert!(text.len() > CHUNK);
        assert_eq!(with(1), with(3));
    }
}
