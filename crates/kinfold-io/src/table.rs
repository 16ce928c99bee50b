//! What reading a table gives, what may be asked of it, and which column plays which part.

use kinfold::data::{Dataset, Table};
use rustc_hash::FxHashMap;

use crate::error::{ReadError, Result, nearest};
use crate::format::Format;
use crate::ids::Ids;
use crate::input::Input;
use crate::npy::Mapped;

/// f32 or f64.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Precision {
    /// Four bytes a number.
    F32,
    /// Eight bytes a number.
    F64,
}

/// What is asked of a table.
#[derive(Debug, Clone, Default)]
pub struct ReadOptions {
    /// Forces a format.
    pub format: Option<Format>,
    /// Says whether the first line names the columns; otherwise it does unless it holds only numbers.
    pub header: Option<bool>,
    /// Forces the delimiter of CSV.
    pub delimiter: Option<u8>,
    /// The feature columns; otherwise all numeric columns that have no other part.
    pub features: Option<Vec<String>>,
    /// The column that names the rows; otherwise their numbers from 0.
    pub id: Option<String>,
    /// The column of true labels, never a feature.
    pub truth: Option<String>,
    /// Further columns needed as text (labels, rules), never features.
    pub text: Vec<String>,
    /// Keep all remaining columns as text, for display.
    pub keep_other: bool,
    /// Read no features at all, only ids and text columns.
    pub text_only: bool,
    /// Worker threads; 0 = all cores. Results do not depend on it.
    pub threads: usize,
    /// Forces f32 or f64; otherwise f32 where every feature column of a typed file is f32, else f64.
    pub precision: Option<Precision>,
}

/// The feature rows of a file.
#[derive(Debug)]
pub enum Features {
    /// Single precision.
    F32(Table<f32>),
    /// Double precision.
    F64(Table<f64>),
    /// Lent from a memory-mapped NPY file.
    Mapped(Mapped),
}

/// Borrowed feature rows.
#[derive(Debug, Clone, Copy)]
pub enum View<'a> {
    /// Single precision.
    F32(Dataset<'a, f32>),
    /// Double precision.
    F64(Dataset<'a, f64>),
}

impl Features {
    /// The borrowed view for the engine.
    pub fn view(&self) -> kinfold::Result<View<'_>> {
        Ok(match self {
            Features::F32(table) => View::F32(table.view()?),
            Features::F64(table) => View::F64(table.view()?),
            Features::Mapped(mapped) => mapped.view()?,
        })
    }
    /// Row width.
    pub fn dims(&self) -> usize {
        fn of<F>(table: &Table<F>) -> usize {
            match table {
                Table::Dense { dims, .. } | Table::Sparse { dims, .. } => *dims,
            }
        }
        match self {
            Features::F32(table) => of(table),
            Features::F64(table) => of(table),
            Features::Mapped(mapped) => mapped.dims(),
        }
    }
}

/// A column of text: one buffer and the end of each value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TextColumn {
    name: String,
    text: String,
    ends: Vec<usize>,
}

impl TextColumn {
    /// An empty column.
    pub fn new(name: impl Into<String>) -> TextColumn {
        TextColumn { name: name.into(), text: String::new(), ends: Vec::new() }
    }
    /// Adds a value at the end.
    pub fn push(&mut self, value: &str) {
        self.text.push_str(value);
        self.ends.push(self.text.len());
    }
    /// Adds what is written with `write!`.
    pub(crate) fn push_display(&mut self, value: impl std::fmt::Display) {
        use std::fmt::Write;
        // Writing to a String cannot fail.
        let _ = write!(self.text, "{value}");
        self.ends.push(self.text.len());
    }
    /// Columns one after the other, under the first one's name.
    pub(crate) fn join(name: &str, parts: Vec<TextColumn>) -> TextColumn {
        let mut all = TextColumn::new(name);
        all.text.reserve_exact(parts.iter().map(|p| p.text.len()).sum());
        all.ends.reserve_exact(parts.iter().map(|p| p.ends.len()).sum());
        for part in parts {
            let offset = all.text.len();
            all.text.push_str(&part.text);
            all.ends.extend(part.ends.iter().map(|end| end + offset));
        }
        all
    }
    /// The column's name.
    pub fn name(&self) -> &str {
        &self.name
    }
    /// Number of rows.
    pub fn len(&self) -> usize {
        self.ends.len()
    }
    /// No rows?
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }
    /// The value of a row, exactly as written; empty when there is none.
    pub fn get(&self, row: usize) -> &str {
        &self.text[if row == 0 { 0 } else { self.ends[row - 1] }..self.ends[row]]
    }
    /// All values in row order.
    pub fn iter(&self) -> impl Iterator<Item = &str> {
        (0..self.len()).map(|row| self.get(row))
    }
    /// The distinct values numbered in order of appearance, and the number of each row; `None` where empty.
    pub fn codes(&self) -> (Vec<Option<u32>>, Vec<String>) {
        let mut seen: FxHashMap<&str, u32> = FxHashMap::default();
        let mut names: Vec<String> = Vec::new();
        let codes = self.iter().map(|value| {
            (!value.is_empty()).then(|| {
                *seen.entry(value).or_insert_with(|| {
                    names.push(value.to_string());
                    names.len() as u32 - 1
                })
            })
        });
        (codes.collect(), names)
    }
}

/// The line of each row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Lines {
    /// The format has no lines.
    None,
    /// One row per line from this line on.
    From(u64),
    /// Listed, because of blank lines or line ends in quotes.
    Listed(Vec<u32>),
}

/// A table that was read.
#[derive(Debug)]
pub struct DataFile {
    /// The file's name, for messages.
    pub source: String,
    /// The feature rows.
    pub rows: Features,
    /// Names of the feature columns; empty for svmlight, whose columns are numbered (see [`DataFile::feature_name`]).
    pub feature_names: Vec<String>,
    /// The users' names of the rows.
    pub ids: Ids,
    /// Text columns: those asked for, then (with `keep_other`) all others that are no features.
    pub text: Vec<TextColumn>,
    pub(crate) truth: Option<String>,
    pub(crate) lines: Lines,
    pub(crate) format: Format,
}

impl DataFile {
    /// Number of rows.
    pub fn n(&self) -> usize {
        self.ids.len()
    }
    /// Number of feature columns.
    pub fn dims(&self) -> usize {
        self.rows.dims()
    }
    /// The format it was read as.
    pub fn format(&self) -> Format {
        self.format
    }
    /// The name of a feature column.
    pub fn feature_name(&self, column: usize) -> String {
        self.feature_names.get(column).cloned().unwrap_or_else(|| format!("f{column}"))
    }
    /// The line of a row, from 1, where the format has lines.
    pub fn line(&self, row: usize) -> Option<u64> {
        match &self.lines {
            Lines::None => None,
            Lines::From(first) => Some(first + row as u64),
            Lines::Listed(lines) => lines.get(row).map(|&l| u64::from(l)),
        }
    }
    /// The column of true labels, if one was named.
    pub fn truth(&self) -> Option<&TextColumn> {
        self.truth.as_deref().and_then(|name| self.text.iter().find(|c| c.name() == name))
    }
    /// A text column that was asked for (or kept).
    pub fn text(&self, name: &str) -> Result<&TextColumn> {
        self.text
            .iter()
            .find(|c| c.name() == name)
            .ok_or_else(|| unknown_column(&self.source, name, "", self.text.iter().map(TextColumn::name)))
    }
}

/// What a column holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Holds {
    Numbers,
    /// Text in an untyped file: numbers if somebody insists.
    Text,
    /// Something that can never be a feature.
    NoNumbers,
}

/// Which columns are read as what.
#[derive(Debug, Default)]
pub(crate) struct Plan {
    /// Columns of the features, in feature order.
    pub features: Vec<usize>,
    /// Columns kept as text.
    pub text: Vec<usize>,
}

fn unknown_column<'a>(file: &str, name: &str, option: &str, names: impl Iterator<Item = &'a str> + Clone) -> ReadError {
    let from = if option.is_empty() { String::new() } else { format!(" (named by {option})") };
    let hint = match nearest(name, names.clone()) {
        Some(close) => format!("did you mean '{close}'?"),
        None => {
            let listed: Vec<&str> = names.clone().take(12).collect();
            let more = if names.count() > 12 { ", …" } else { "" };
            format!("the columns are: {}{more}", listed.join(", "))
        }
    };
    ReadError::new(file, format!("there is no column '{name}'{from}")).hint(hint).usage()
}

/// Gives every column its part.
pub(crate) fn plan(file: &str, columns: &[(String, Holds)], options: &ReadOptions) -> Result<Plan> {
    let position: FxHashMap<&str, usize> = columns.iter().enumerate().map(|(i, (n, _))| (n.as_str(), i)).collect();
    let find = |name: &str, option: &str| {
        position
            .get(name)
            .copied()
            .ok_or_else(|| unknown_column(file, name, option, columns.iter().map(|(n, _)| n.as_str())))
    };
    let mut part: Vec<Option<&str>> = vec![None; columns.len()];
    let mut plan = Plan::default();
    let named = options.id.iter().map(|n| (n, "--id")).chain(options.truth.iter().map(|n| (n, "--truth")));
    for (name, option) in named.chain(options.text.iter().map(|n| (n, "the options"))) {
        let at = find(name, option)?;
        if part[at].is_none() {
            part[at] = Some(option);
            plan.text.push(at);
        }
    }
    if options.text_only {
        // No features.
    } else if let Some(wanted) = &options.features {
        for name in wanted {
            let at = find(name, "--features")?;
            match part[at] {
                Some("--features") => {
                    return Err(ReadError::new(file, format!("--features names column '{name}' twice")).usage());
                }
                Some(other) => {
                    let message = format!("column '{name}' is used by {other} and so cannot be a feature");
                    return Err(ReadError::new(file, message).hint("leave it out of --features").usage());
                }
                None if columns[at].1 == Holds::NoNumbers => {
                    let message = format!("column '{name}' (named by --features) does not hold numbers");
                    return Err(ReadError::new(file, message).usage());
                }
                None => part[at] = Some("--features"),
            }
            plan.features.push(at);
        }
        if wanted.is_empty() {
            return Err(ReadError::new(file, "--features names no column").usage());
        }
    } else {
        for (at, (_, holds)) in columns.iter().enumerate() {
            if *holds == Holds::Numbers && part[at].is_none() {
                part[at] = Some("--features");
                plan.features.push(at);
            }
        }
        if plan.features.is_empty() {
            return Err(ReadError::new(file, "there is no numeric column to cluster by")
                .hint("name the feature columns with --features; decimal commas and units are not numbers"));
        }
    }
    if options.keep_other {
        plan.text.extend((0..columns.len()).filter(|&at| part[at].is_none()));
    }
    Ok(plan)
}

/// Refuses column names that appear twice.
pub(crate) fn distinct_names(file: &str, line: Option<u64>, names: &[String]) -> Result<()> {
    let mut seen: FxHashMap<&str, usize> = FxHashMap::default();
    for (at, name) in names.iter().enumerate() {
        if let Some(first) = seen.insert(name, at) {
            let message = format!("two columns are named '{name}' (the {} and the {})", nth(first), nth(at));
            return Err(ReadError::new(file, message).at(line).hint("give every column its own name"));
        }
    }
    Ok(())
}

fn nth(at: usize) -> String {
    let n = at + 1;
    let ending = match (n % 10, n % 100) {
        (_, 11..=13) => "th",
        (1, _) => "st",
        (2, _) => "nd",
        (3, _) => "rd",
        _ => "th",
    };
    format!("{n}{ending}")
}

/// Everything a reader found, before ids are checked.
pub(crate) struct Parts {
    pub source: String,
    pub format: Format,
    pub n: usize,
    pub rows: Features,
    pub feature_names: Vec<String>,
    pub text: Vec<TextColumn>,
    pub lines: Lines,
}

impl Parts {
    pub fn finish(self, options: &ReadOptions) -> Result<DataFile> {
        if self.n >= u32::MAX as usize {
            let message = format!("{} rows are more than the 4294967294 that can be numbered", self.n);
            return Err(ReadError::new(self.source, message));
        }
        let mut file = DataFile {
            source: self.source,
            rows: self.rows,
            feature_names: self.feature_names,
            ids: Ids::numbers(self.n),
            text: self.text,
            truth: options.truth.clone(),
            lines: self.lines,
            format: self.format,
        };
        if let Some(id) = &options.id {
            let column = file.text(id)?;
            // The id column moves into the ids unless it is wanted as text too.
            let also_text = options.text.contains(id) || options.truth.as_ref() == Some(id);
            let at = file.text.iter().position(|c| c.name() == column.name()).unwrap_or(0);
            let column = if also_text { file.text[at].clone() } else { file.text.remove(at) };
            file.ids = Ids::from_column(&file.source, column, |row| file.line(row))?;
        }
        Ok(file)
    }
}

/// A zeroed buffer, or an error where memory does not suffice.
pub(crate) fn zeroed<F: Clone + Default>(file: &str, n: usize, dims: usize) -> Result<Vec<F>> {
    let size = n.checked_mul(dims);
    // Probed first: `vec!` would end the process where the probe fails.
    let fits = size.is_some_and(|size| Vec::<F>::new().try_reserve_exact(size).is_ok());
    match size {
        Some(size) if fits => Ok(vec![F::default(); size]),
        _ => Err(ReadError::new(file, format!("{n} rows of {dims} numbers do not fit into memory"))
            .hint("choose fewer columns with --features")),
    }
}

/// Reads a table in any format.
pub fn read_table(input: &Input, options: &ReadOptions) -> Result<DataFile> {
    let loaded = input.load()?;
    let format = options.format.unwrap_or_else(|| Format::sniff(&loaded.name, &loaded.bytes));
    if loaded.bytes.is_empty() {
        return Err(ReadError::new(&loaded.name, "the file is empty").hint("give a file with at least one row"));
    }
    match format {
        Format::Csv | Format::Tsv => crate::csv::read(&loaded, format, options),
        Format::Jsonl => crate::jsonl::read(&loaded, options),
        Format::SvmLight => crate::svmlight::read(&loaded, options),
        Format::Parquet => crate::columnar::read_parquet(&loaded, options),
        Format::ArrowIpc => crate::columnar::read_arrow(&loaded, options),
        Format::Npy => crate::npy::read(&loaded, options),
    }
}
