//! From arguments to engine types: the table, the constraints, and messages that name rows by the user's ids.

use kinfold::constraints::ConstraintSet;
use kinfold::pipeline::SOFT_WEIGHT;
use kinfold_io::{AnswerOptions, DataFile, Format, Ids, Input, ReadOptions, read_answers, read_table, rules};

use crate::args::{ColumnArgs, ConstraintArgs, DataArgs, Trust};
use crate::failure::{Failure, USAGE};
use crate::session::{Session, count};

/// What a run read and how: written into its JSON, so that `report` can read it again.
#[derive(Debug, Clone, Default, serde::Serialize, serde::Deserialize)]
#[serde(default)]
pub struct Inputs {
    /// The table, as it was named.
    pub data: String,
    /// Its columns.
    #[serde(flatten)]
    pub columns: ColumnArgs,
    /// Column of known classes.
    pub truth: Option<String>,
    /// What is known of the rows: answer files, rules, labels.
    #[serde(flatten)]
    pub constraints: ConstraintArgs,
}

impl Inputs {
    pub fn new(data: &DataArgs, truth: Option<&str>, constraints: &ConstraintArgs) -> Inputs {
        Inputs {
            data: data.data.clone(),
            columns: data.columns.clone(),
            truth: truth.map(str::to_owned),
            constraints: constraints.clone(),
        }
    }
    pub fn to_json(&self) -> serde_json::Value {
        serde_json::to_value(self).unwrap_or_default()
    }
}

/// Reads the table with every column that the arguments need.
pub fn table(
    session: &Session,
    data: &str,
    columns: &ColumnArgs,
    truth: Option<&str>,
    constraints: Option<&ConstraintArgs>,
) -> Result<DataFile, Failure> {
    let options = ReadOptions { features: columns.features.clone(), ..options(session, columns, truth, constraints)? };
    let file = read_table(&Input::from_arg(data), &options)?;
    session.mention(format!(
        "{}: {} with {} ({})",
        file.source,
        count(file.n(), "row"),
        count(file.dims(), "feature column"),
        file.format().name()
    ));
    Ok(file)
}

/// Reads ids and the column of classes only.
pub fn names(session: &Session, data: &str, columns: &ColumnArgs, truth: &str) -> Result<DataFile, Failure> {
    let options = ReadOptions { text_only: true, ..options(session, columns, Some(truth), None)? };
    Ok(read_table(&Input::from_arg(data), &options)?)
}

/// Reads the table with all its columns, for screens that show rows.
pub fn whole_table(
    session: &Session,
    data: &str,
    columns: &ColumnArgs,
    constraints: &ConstraintArgs,
) -> Result<DataFile, Failure> {
    let options = ReadOptions {
        features: columns.features.clone(),
        keep_other: true,
        ..options(session, columns, None, Some(constraints))?
    };
    Ok(read_table(&Input::from_arg(data), &options)?)
}

/// What to ask of the reader.
pub fn options(
    session: &Session,
    columns: &ColumnArgs,
    truth: Option<&str>,
    constraints: Option<&ConstraintArgs>,
) -> Result<ReadOptions, Failure> {
    let format = match &columns.format {
        None => None,
        Some(name) => Some(Format::from_name(name).ok_or_else(|| {
            Failure::new(USAGE, format!("there is no format named '{name}'"))
                .hint("the formats are csv, tsv, jsonl, parquet, arrow, npy and svmlight")
        })?),
    };
    let mut text: Vec<String> = Vec::new();
    if let Some(c) = constraints {
        text.extend(c.labels.iter().chain(&c.must_link_by).chain(&c.cannot_link_within).cloned());
    }
    Ok(ReadOptions {
        format,
        header: columns.no_header.then_some(false),
        id: columns.id.clone(),
        truth: truth.map(str::to_owned),
        text,
        threads: session.threads,
        ..ReadOptions::default()
    })
}

/// Constraints from answer files, column rules and partial labels.
pub fn constraints(session: &Session, args: &ConstraintArgs, file: &DataFile) -> Result<ConstraintSet, Failure> {
    let mut set = ConstraintSet::new(file.n());
    let weight = match args.trust {
        Trust::Hard | Trust::Auto => f64::INFINITY,
        Trust::Soft => SOFT_WEIGHT,
    };
    for name in &args.constraints {
        answers(session, args, name, &file.ids, &mut set, weight)?;
    }
    for column in &args.must_link_by {
        rules::must_link_by(file, column, f64::INFINITY, &mut set)?;
    }
    for column in &args.cannot_link_within {
        rules::cannot_link_within(file, column, f64::INFINITY, &mut set)?;
    }
    if let Some(column) = &args.labels {
        rules::labels(file, column, f64::INFINITY, &mut set)?;
    }
    Ok(set)
}

/// Adds one answer file.
pub fn answers(
    session: &Session,
    args: &ConstraintArgs,
    name: &str,
    ids: &Ids,
    set: &mut ConstraintSet,
    weight: f64,
) -> Result<(), Failure> {
    let options = AnswerOptions { skip_unknown: args.skip_unknown, threads: session.threads };
    let answers = read_answers(&Input::from_arg(name), ids, &options)?;
    answers.add_to(set, weight)?;
    let c = &answers.counts;
    if c.unknown > 0 {
        session.say(format!("{name}: {} on ids that the data do not have, left out", count(c.unknown, "answer")));
    }
    session.mention(format!(
        "{name}: {} read, {} standing, {} unsure, {} undone",
        count(c.lines, "line"),
        answers.pairs.len(),
        c.unsure,
        c.undone
    ));
    Ok(())
}

/// An engine error in the user's words: rows by id, columns by name, constraints by file and line.
pub fn explain(error: kinfold::Error, set: &ConstraintSet, file: &DataFile) -> Failure {
    use kinfold::Error as E;
    let name = |row: u32| file.ids.get(row as usize).into_owned();
    let message = match &error {
        E::Contradiction(_) | E::Infeasible(_) => Some(error.describe(set, name)),
        E::NotFinite { row, column, value } => {
            let line = file.line(*row).map(|l| format!(":{l}")).unwrap_or_default();
            Some(format!(
                "{}{line}: column '{}': {value} is not a finite number",
                file.source,
                file.feature_name(*column)
            ))
        }
        E::NoRows => Some(format!("{}: there are no rows", file.source)),
        _ => None,
    };
    let mut failure = Failure::from(error);
    if let Some(message) = message {
        failure.message = message;
    }
    failure
}
