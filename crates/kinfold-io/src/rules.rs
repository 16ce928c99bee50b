//! Constraints that columns of the table give: rows equal in a column belong together or apart; partial labels.

use kinfold::constraints::{ConstraintSet, Kind, Origin};

use crate::error::{ReadError, Result};
use crate::table::DataFile;

/// Rows with the same value in `column` must be together (`--must-link-by`); an empty cell says nothing.
/// Returns the number of groups of two rows or more.
pub fn must_link_by(data: &DataFile, column: &str, weight: f64, set: &mut ConstraintSet) -> Result<usize> {
    groups(data, column, Kind::MustLink, weight, set)
}

/// Rows with the same value in `column` must be apart (`--cannot-link-within`); an empty cell says nothing.
/// Returns the number of groups of two rows or more.
pub fn cannot_link_within(data: &DataFile, column: &str, weight: f64, set: &mut ConstraintSet) -> Result<usize> {
    groups(data, column, Kind::CannotLink, weight, set)
}

fn groups(data: &DataFile, column: &str, kind: Kind, weight: f64, set: &mut ConstraintSet) -> Result<usize> {
    let (codes, names) = data.text(column)?.codes();
    let mut members: Vec<Vec<usize>> = vec![Vec::new(); names.len()];
    for (row, code) in codes.iter().enumerate() {
        if let Some(code) = code {
            members[*code as usize].push(row);
        }
    }
    let rule = match kind {
        Kind::MustLink => "must-link-by",
        Kind::CannotLink => "cannot-link-within",
    };
    let source = set.add_source(&format!("{} ({rule} {column})", data.source));
    let mut count = 0;
    for group in members.iter().filter(|group| group.len() > 1) {
        let origin = Origin { source, line: line(data, group[0]) };
        set.add_set(kind, group, weight, origin).map_err(|e| engine(data, column, &e))?;
        count += 1;
    }
    Ok(count)
}

/// The known labels in `column` (`--labels`); an empty cell = unknown. Returns the number of labelled rows.
pub fn labels(data: &DataFile, column: &str, weight: f64, set: &mut ConstraintSet) -> Result<usize> {
    let (codes, names) = data.text(column)?.codes();
    let rows: Vec<(usize, u32)> = codes.iter().enumerate().filter_map(|(row, c)| c.map(|c| (row, c))).collect();
    if rows.is_empty() {
        return Ok(0);
    }
    let lines = rows.iter().map(|&(row, _)| line(data, row)).collect();
    let source = set.add_source(&format!("{} (labels {column})", data.source));
    let origin = Origin { source, line: line(data, rows[0].0) };
    set.add_labels(&rows, names, lines, weight, origin).map_err(|e| engine(data, column, &e))?;
    Ok(rows.len())
}

/// The line for an origin; 0 where the format has none.
fn line(data: &DataFile, row: usize) -> u32 {
    data.line(row).map_or(0, |line| line.min(u64::from(u32::MAX)) as u32)
}

fn engine(data: &DataFile, column: &str, error: &kinfold::Error) -> ReadError {
    ReadError::new(&data.source, error.to_string()).in_column(column)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::input::Input;
    use crate::table::{ReadOptions, read_table};

    fn data() -> DataFile {
        let text = "x,photo,person,kind\n1,p1,ann,a\n2,p1,,b\n3,p2,ann,\n4,,bob,a\n5,p2,,\n";
        let text_columns = ["photo", "person", "kind"].map(String::from).to_vec();
        read_table(&Input::bytes("t.csv", text), &ReadOptions { text: text_columns, ..ReadOptions::default() }).unwrap()
    }

    #[test]
    fn equal_values_make_groups_and_empty_cells_do_not() {
        let data = data();
        let mut set = ConstraintSet::new(data.n());
        assert_eq!(must_link_by(&data, "person", 2.0, &mut set).unwrap(), 1);
        assert_eq!(cannot_link_within(&data, "photo", f64::INFINITY, &mut set).unwrap(), 2);
        let sets: Vec<_> = set.sets().iter().map(|s| (s.kind, s.members.clone(), s.weight, s.origin.line)).collect();
        assert_eq!(
            sets,
            [
                (Kind::MustLink, vec![0, 2], 2.0, 2),
                (Kind::CannotLink, vec![0, 1], f64::INFINITY, 2),
                (Kind::CannotLink, vec![2, 4], f64::INFINITY, 4)
            ]
        );
        assert_eq!(set.source(set.sets()[0].origin), "t.csv (must-link-by person)");
    }

    #[test]
    fn known_labels_carry_their_names_and_lines() {
        let data = data();
        let mut set = ConstraintSet::new(data.n());
        assert_eq!(labels(&data, "kind", 1.0, &mut set).unwrap(), 3);
        let l = &set.labels()[0];
        assert_eq!(
            (l.rows.clone(), l.names.clone(), l.lines.clone()),
            (vec![(0, 0), (1, 1), (3, 0)], vec!["a".into(), "b".into()], vec![2, 3, 5])
        );
        assert!(labels(&data, "nothing", 1.0, &mut set).unwrap_err().usage);
        assert!(must_link_by(&data, "person", -1.0, &mut set).is_err());
    }
}
