//! `kinfold check`: do the constraints hold together, for which k, and what is the cheapest repair?

use kinfold::constraints::ConstraintSet;
use kinfold::pipeline::{SOFT_WEIGHT, check};
use kinfold_io::{DataFile, Ids, Input, check_json, check_text, read_answers_alone, read_table};

use crate::args::{CheckArgs, Trust};
use crate::commands::SCHEMA_VERSION;
use crate::failure::{Failure, INFEASIBLE, USAGE};
use crate::load;
use crate::session::{Done, Session};

pub fn run(session: &Session, args: &CheckArgs) -> Done {
    let (ids, given) = read(session, args)?;
    // Without the data, only the rows that the answers name are known.
    let all_rows = args.data.is_some();
    let name = |row: u32| ids.get(row as usize).into_owned();
    let found = check(&given, args.k, !args.no_repair, all_rows)?;
    if session.json {
        let mut value = check_json(&found, &given, name);
        value["schema_version"] = SCHEMA_VERSION.into();
        session.print_json(&value)?;
    } else {
        session.print(&check_text(&found, &given, name, "--json lists them"))?;
    }
    Ok(if found.possible() { 0 } else { INFEASIBLE })
}

fn read(session: &Session, args: &CheckArgs) -> Result<(Ids, ConstraintSet), Failure> {
    let c = &args.constraints;
    if let Some(data) = &args.data {
        let options =
            kinfold_io::ReadOptions { text_only: true, ..load::options(session, &args.columns, None, Some(c))? };
        let file: DataFile = read_table(&Input::from_arg(data), &options)?;
        let given = load::constraints(session, c, &file)?;
        return Ok((file.ids, given));
    }
    if !(c.must_link_by.is_empty() && c.cannot_link_within.is_empty() && c.labels.is_none()) {
        return Err(Failure::new(USAGE, "column rules and partial labels need the data")
            .hint("name the table before the options: kinfold check DATA --must-link-by COLUMN"));
    }
    let [answers] = c.constraints.as_slice() else {
        return Err(Failure::new(USAGE, "without data, name exactly one answer file")
            .hint("kinfold check -c answers.csv, or kinfold check DATA -c a.csv -c b.csv"));
    };
    let (ids, answers) = read_answers_alone(&Input::from_arg(answers))?;
    let weight = if c.trust == Trust::Soft { SOFT_WEIGHT } else { f64::INFINITY };
    let given = answers.to_constraints(ids.len(), weight)?;
    Ok((ids, given))
}
