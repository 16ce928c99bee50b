//! The users' names of rows: row numbers from 0, or the text of a column exactly as written.
//! Lookup is an open-addressing table of (hash tag, row) in 8-byte slots, at most half full: O(1), no copy of the text.
//! Ids that look like row numbers below 2^22 have a plain array instead, which saves two cache misses of three.

use std::borrow::Cow;
use std::hash::Hasher;

use crate::error::{ReadError, Result, show};
use crate::table::TextColumn;

/// The id of every row, and the row of every id.
#[derive(Debug, Clone)]
pub struct Ids(Kind);

#[derive(Debug, Clone)]
enum Kind {
    Numbers(usize),
    Text { text: TextColumn, index: Index },
}

/// From id to row.
#[derive(Debug, Clone, Default)]
struct Index {
    /// (upper half: hash tag, lower half: row + 1); 0 = free.
    slots: Vec<u64>,
    used: usize,
    /// Row + 1 by number, for the ids that are small canonical numbers; these have no slot.
    numbers: Vec<u32>,
}

/// Numbers below have a place in `Index::numbers`.
const NUMBERS: u32 = 1 << 22;

fn hash(id: &[u8]) -> u64 {
    let mut h = rustc_hash::FxHasher::default();
    h.write(id);
    // The tag is the upper half, the slot comes from the lower: spread both.
    h.finish().wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

impl Index {
    /// The slot of `id`: taken by an equal id, or free.
    fn slot(&self, id: &[u8], hash: u64, text: &TextColumn) -> usize {
        let mask = self.slots.len() - 1;
        let mut at = (hash >> 20) as usize & mask;
        loop {
            let slot = self.slots[at];
            if slot == 0 || (slot >> 32 == hash >> 32 && text.get((slot as u32 - 1) as usize).as_bytes() == id) {
                return at;
            }
            at = (at + 1) & mask;
        }
    }

    fn find(&self, id: &[u8], text: &TextColumn) -> Option<u32> {
        if let Some(number) = small(id) {
            return self.numbers.get(number).copied().unwrap_or(0).checked_sub(1);
        }
        if self.slots.is_empty() {
            return None;
        }
        (self.slots[self.slot(id, hash(id), text)] as u32).checked_sub(1)
    }

    /// Adds an id that [`find`](Index::find) did not find.
    fn add(&mut self, id: &[u8], row: usize, text: &TextColumn) {
        if let Some(number) = small(id) {
            if number >= self.numbers.len() {
                self.numbers.resize((number + 1).next_power_of_two(), 0);
            }
            self.numbers[number] = row as u32 + 1;
            return;
        }
        if (self.used + 1) * 2 > self.slots.len() {
            let bigger = vec![0; (self.slots.len() * 2).max(16)];
            let old = std::mem::replace(&mut self.slots, bigger);
            for slot in old.into_iter().filter(|&s| s != 0) {
                let id = text.get((slot as u32 - 1) as usize).as_bytes();
                let at = self.slot(id, hash(id), text);
                self.slots[at] = slot;
            }
        }
        let hash = hash(id);
        let at = self.slot(id, hash, text);
        self.slots[at] = (hash >> 32) << 32 | (row as u64 + 1);
        self.used += 1;
    }
}

fn small(id: &[u8]) -> Option<usize> {
    row_number(id).filter(|&number| number < NUMBERS).map(|number| number as usize)
}

impl Ids {
    /// Rows are named by their numbers, from 0.
    pub fn numbers(n: usize) -> Ids {
        Ids(Kind::Numbers(n))
    }

    /// Ids from a text column. Empty and repeated ones are errors; `line` gives the line of a row.
    pub fn from_column(file: &str, text: TextColumn, line: impl Fn(usize) -> Option<u64>) -> Result<Ids> {
        let mut index = Index::default();
        for row in 0..text.len() {
            let id = text.get(row).as_bytes();
            let bad = |message: String| {
                let place = if line(row).is_some() { String::new() } else { format!(" in row {row}") };
                ReadError::new(file, format!("{message}{place}")).at(line(row)).in_column(text.name())
            };
            if id.is_empty() {
                return Err(bad("the id is empty".into()).hint("every row needs an id, or leave --id out"));
            }
            if let Some(first) = index.find(id, &text) {
                let first = first as usize;
                let before = line(first).map_or(format!("row {first}"), |l| format!("line {l}"));
                return Err(bad(format!("the id '{}' was already given on {before}", show(id))).hint(
                    "ids name rows in answer files, so they must differ; choose another --id column or remove the repeat",
                ));
            }
            index.add(id, row, &text);
        }
        Ok(Ids(Kind::Text { text, index }))
    }

    /// No ids yet: [`intern`](Ids::intern) adds them in order of appearance. For answer files without a data file.
    pub fn collecting(name: &str) -> Ids {
        Ids(Kind::Text { text: TextColumn::new(name), index: Index::default() })
    }

    /// The row of an id, which is added if it is new. Only after [`Ids::collecting`].
    pub(crate) fn intern(&mut self, id: &str) -> u32 {
        let Kind::Text { text, index } = &mut self.0 else { return 0 };
        if let Some(row) = index.find(id.as_bytes(), text) {
            return row;
        }
        let row = text.len();
        index.add(id.as_bytes(), row, text);
        text.push(id);
        row as u32
    }

    /// Number of rows.
    pub fn len(&self) -> usize {
        match &self.0 {
            Kind::Numbers(n) => *n,
            Kind::Text { text, .. } => text.len(),
        }
    }
    /// No rows?
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
    /// The column the ids come from; `None` for row numbers.
    pub fn column(&self) -> Option<&str> {
        match &self.0 {
            Kind::Numbers(_) => None,
            Kind::Text { text, .. } => Some(text.name()),
        }
    }
    /// The id of a row.
    pub fn get(&self, row: usize) -> Cow<'_, str> {
        match &self.0 {
            Kind::Numbers(_) => Cow::Owned(row.to_string()),
            Kind::Text { text, .. } => Cow::Borrowed(text.get(row)),
        }
    }
    /// The row of an id.
    pub fn find(&self, id: &str) -> Option<u32> {
        self.find_bytes(id.as_bytes())
    }
    /// The row of an id that may not be UTF-8.
    pub(crate) fn find_bytes(&self, id: &[u8]) -> Option<u32> {
        match &self.0 {
            Kind::Numbers(n) => row_number(id).filter(|&row| (row as usize) < *n),
            Kind::Text { text, index } => index.find(id, text),
        }
    }

    /// What somebody who wrote this unknown id may have meant, as a sentence.
    pub fn suggest(&self, id: &str) -> String {
        let wanted = normal(id);
        match &self.0 {
            Kind::Numbers(n) => match row_number(wanted.as_bytes()) {
                Some(row) if (row as usize) < *n => format!("ids are row numbers from 0: write '{row}' for that row"),
                Some(_) => format!(
                    "ids are row numbers from 0 to {}; if '{id}' is a value of a column, name it with --id",
                    n.saturating_sub(1)
                ),
                None => format!(
                    "ids are row numbers from 0 to {}; if '{id}' is a value of a column, name it with --id",
                    n.saturating_sub(1)
                ),
            },
            Kind::Text { text, .. } => {
                if let Some(row) = (0..text.len()).find(|&row| normal(text.get(row)) == wanted) {
                    return format!("did you mean '{}'? Ids are compared letter by letter", text.get(row));
                }
                let column = text.name();
                match row_number(id.as_bytes()) {
                    Some(row) if (row as usize) < text.len() => format!(
                        "ids are the values of column '{column}'; if '{id}' is a row number, leave --id out (row {row} has the id '{}')",
                        text.get(row as usize)
                    ),
                    _ => format!("ids are the values of column '{column}'; check the id, or skip unknown ids"),
                }
            }
        }
    }
}

/// A row number as we write it: digits without leading zeros.
fn row_number(id: &[u8]) -> Option<u32> {
    if id.is_empty() || id.len() > 10 || (id.len() > 1 && id[0] == b'0') {
        return None;
    }
    let mut value = 0u64;
    for &b in id {
        if !b.is_ascii_digit() {
            return None;
        }
        value = value * 10 + u64::from(b - b'0');
    }
    u32::try_from(value).ok()
}

/// Without spaces, case, leading zeros and a decimal `.0`.
fn normal(id: &str) -> String {
    let id: String = id.chars().filter(|c| !c.is_whitespace()).flat_map(char::to_lowercase).collect();
    let id = id.strip_suffix(".0").unwrap_or(&id);
    let bare = id.trim_start_matches('0');
    if bare.is_empty() && !id.is_empty() { "0".into() } else { bare.into() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn ids(names: &[&str]) -> Result<Ids> {
        let mut text = TextColumn::new("name");
        names.iter().for_each(|n| text.push(n));
        Ids::from_column("t.csv", text, |row| Some(row as u64 + 2))
    }

    #[test]
    fn ids_stay_text() {
        let ids = ids(&["00417", "417", "x"]).unwrap();
        assert_eq!((ids.find("00417"), ids.find("417"), ids.find("0417")), (Some(0), Some(1), None));
        assert_eq!(ids.get(0), "00417");
    }

    #[test]
    fn row_numbers_need_no_table_and_no_leading_zeros() {
        let ids = Ids::numbers(1000);
        assert_eq!(
            (ids.find("0"), ids.find("999"), ids.find("1000"), ids.find("01")),
            (Some(0), Some(999), None, None)
        );
        assert_eq!(
            (ids.find(""), ids.find("-1"), ids.find("4294967296"), ids.find("99999999999")),
            (None, None, None, None)
        );
    }

    #[test]
    fn repeated_ids_name_both_lines() {
        let e = ids(&["a", "b", "a"]).unwrap_err();
        assert_eq!(e.to_string(), "t.csv:4: column 'name': the id 'a' was already given on line 2");
        assert!(ids(&["a", ""]).unwrap_err().message.contains("empty"));
    }

    #[test]
    fn unknown_ids_get_a_useful_suggestion() {
        let text = ids(&["Ann", "00417", "b c"]).unwrap();
        assert!(text.suggest("ann ").contains("'Ann'"));
        assert!(text.suggest("417").contains("'00417'"));
        assert!(text.suggest("bc").contains("'b c'"));
        assert!(text.suggest("1").contains("row number"));
        assert!(Ids::numbers(10).suggest("007").contains("write '7'"));
        assert!(Ids::numbers(10).suggest("ann").contains("--id"));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(24))] // Each builds an array of up to 16 MB.
        #[test]
        fn every_id_is_found_at_its_row(names in proptest::collection::hash_set("[a-z0-9]{1,6}|[0-9]{1,8}", 1..300)) {
            let names: Vec<String> = names.into_iter().collect();
            let given = ids(&names.iter().map(String::as_str).collect::<Vec<_>>()).unwrap();
            let mut collected = Ids::collecting("id");
            for (row, name) in names.iter().enumerate() {
                prop_assert_eq!(given.find(name), Some(row as u32));
                prop_assert_eq!(collected.intern(name), row as u32);
            }
            for (row, name) in names.iter().enumerate() {
                prop_assert_eq!(collected.find(name), Some(row as u32));
                prop_assert_eq!(collected.intern(name), row as u32);
            }
            prop_assert_eq!(given.find("never there"), None);
        }
    }
}
