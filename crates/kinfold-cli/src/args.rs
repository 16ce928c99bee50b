//! The command line: every flag in one place.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Parser, Subcommand, ValueEnum, ValueHint};

/// Clustering that listens: rows you know to belong together or apart are kept so, or named with the reason.
#[derive(Debug, Parser)]
#[command(name = "kinfold", version, about, arg_required_else_help = true, max_term_width = 100)]
pub struct Cli {
    #[command(subcommand)]
    pub command: Command,
    #[command(flatten)]
    pub global: Global,
}

#[derive(Debug, Args)]
pub struct Global {
    /// All randomness comes from this number: same input, same seed, same bytes
    #[arg(long, global = true, default_value_t = 0, value_name = "N")]
    pub seed: u64,
    /// Worker threads (0 = all cores); results do not depend on it
    #[arg(long, global = true, default_value_t = 0, value_name = "N")]
    pub threads: usize,
    /// Stop after this long with the best so far, like 20s, 5m or 1h30m
    #[arg(long, global = true, value_name = "TIME", value_parser = duration)]
    pub time_limit: Option<Duration>,
    /// One JSON object on standard output instead of text
    #[arg(long, global = true)]
    pub json: bool,
    /// No talk and no progress on standard error, only errors
    #[arg(short, long, global = true)]
    pub quiet: bool,
    /// More talk on standard error
    #[arg(short, long, global = true)]
    pub verbose: bool,
}

#[derive(Debug, Subcommand)]
pub enum Command {
    /// Cluster rows under constraints; labels to standard output or -o
    Cluster(ClusterArgs),
    /// Check constraints: contradictions with their chain, feasibility for k, the cheapest repair
    Check(CheckArgs),
    /// Score labels against known classes and constraints
    Eval(EvalArgs),
    /// Label new rows with a saved model
    Predict(PredictArgs),
    /// Answer questions in the terminal: the pairs whose answers matter most
    Ask(AskArgs),
    /// Print the next questions only, for other screens
    Next(NextArgs),
    /// Add one answer to an answer file
    Answer(AnswerArgs),
    /// The informative ones of given constraints
    Select(SelectArgs),
    /// Make constraints from a label column, or learning curves of query strategies, for experiments
    Simulate(SimulateArgs),
    /// Show what happens with and without constraints, on data that come with kinfold
    Demo,
    /// List the methods, or explain one; `methods queries` lists the query strategies
    Methods {
        /// The method to explain, or `queries` for the query strategies
        name: Option<String>,
        /// Print the page of the documentation (Markdown)
        #[arg(long)]
        markdown: bool,
    },
    /// Print a completion script for your shell
    Completions {
        /// The shell
        shell: clap_complete::Shell,
    },
    /// Print the manual page (roff)
    Man,
}

#[derive(Debug, Args)]
#[command(next_help_heading = "Reading the data")]
pub struct DataArgs {
    /// Rows to read: CSV, TSV (also .gz), JSONL, Parquet, Arrow IPC, NPY or svmlight; - is standard input
    #[arg(value_name = "DATA", value_hint = ValueHint::FilePath)]
    pub data: String,
    #[command(flatten)]
    pub columns: ColumnArgs,
}

#[derive(Debug, Clone, Args, Default)]
#[command(next_help_heading = "Reading the data")]
pub struct ColumnArgs {
    /// Force the format: csv, tsv, jsonl, parquet, arrow, npy or svmlight
    #[arg(long, value_name = "FORMAT")]
    pub format: Option<String>,
    /// The first line holds data, not names
    #[arg(long)]
    pub no_header: bool,
    /// Feature columns, separated by commas (otherwise all numeric columns)
    #[arg(long, value_name = "COLUMNS", value_delimiter = ',')]
    pub features: Option<Vec<String>>,
    /// Column that names the rows (otherwise row numbers from 0); kept as text: 00417 stays 00417
    #[arg(long, value_name = "COLUMN")]
    pub id: Option<String>,
}

#[derive(Debug, Clone, Args, Default)]
#[command(next_help_heading = "Constraints")]
pub struct ConstraintArgs {
    /// Answer file with the columns id_a,id_b,answer[,confidence|weight,…]; may be given more than once
    #[arg(short = 'c', long = "constraints", value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub constraints: Vec<String>,
    /// Column of partial labels: same label together, different labels apart, empty unknown
    #[arg(long, value_name = "COLUMN")]
    pub labels: Option<String>,
    /// Rows that are equal in this column belong together (repeatable)
    #[arg(long, value_name = "COLUMN")]
    pub must_link_by: Vec<String>,
    /// Rows that are equal in this column are all different (repeatable)
    #[arg(long, value_name = "COLUMN")]
    pub cannot_link_within: Vec<String>,
    /// How far to believe the constraints
    #[arg(long, value_enum, default_value_t = Trust::Auto)]
    pub trust: Trust,
    /// Leave out answers on ids that the data do not have, and count them
    #[arg(long)]
    pub skip_unknown: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum, Default)]
pub enum Trust {
    /// They are proven: all are kept, a contradiction is an error
    Hard,
    /// Each may be wrong, as its confidence says (85 % unless given)
    Soft,
    /// Hard, unless they themselves say otherwise; then those that are probably wrong are left out and listed
    #[default]
    Auto,
}

impl From<Trust> for kinfold::pipeline::Trust {
    fn from(trust: Trust) -> Self {
        match trust {
            Trust::Hard => Self::Hard,
            Trust::Soft => Self::Soft,
            Trust::Auto => Self::Auto,
        }
    }
}

#[derive(Debug, Args)]
pub struct ClusterArgs {
    #[command(flatten)]
    pub data: DataArgs,
    #[command(flatten)]
    pub constraints: ConstraintArgs,
    /// Number of clusters
    #[arg(short, long, value_name = "K", help_heading = "Clustering")]
    pub k: usize,
    /// The method: `kinfold methods` lists them
    #[arg(short, long, default_value = "auto", value_name = "METHOD", help_heading = "Clustering")]
    pub method: String,
    /// A setting of the method, like restarts=20 (repeatable); `kinfold methods NAME` lists them
    #[arg(long = "set", value_name = "NAME=VALUE", value_parser = setting, help_heading = "Clustering")]
    pub settings: Vec<(String, String)>,
    /// Scaling before clustering: none, standard, robust, unit or tf-idf
    #[arg(long, value_name = "SCALING", value_parser = scaling, help_heading = "Clustering")]
    pub scale: Option<kinfold::data::Scaling>,
    /// Column of known classes: never a feature, adds scores
    #[arg(long, value_name = "COLUMN", help_heading = "Clustering")]
    pub truth: Option<String>,
    /// Fewest rows in a cluster
    #[arg(long, value_name = "N", help_heading = "Clustering")]
    pub min_size: Option<usize>,
    /// Most rows in a cluster
    #[arg(long, value_name = "N", help_heading = "Clustering")]
    pub max_size: Option<usize>,
    /// Write the labels here instead of standard output
    #[arg(short, long, value_name = "FILE", help_heading = "Output", value_hint = ValueHint::FilePath)]
    pub output: Option<PathBuf>,
    /// Save a model for `kinfold predict`
    #[arg(long, value_name = "FILE", help_heading = "Output", value_hint = ValueHint::FilePath)]
    pub save: Option<PathBuf>,
    /// Labels of an earlier run: clusters keep their ids by overlap
    #[arg(long, value_name = "FILE", help_heading = "Output", value_hint = ValueHint::FilePath)]
    pub previous: Option<String>,
    /// Exit with 4 when a constraint is broken
    #[arg(long, help_heading = "Output")]
    pub strict: bool,
}

#[derive(Debug, Args)]
pub struct CheckArgs {
    /// The rows the constraints speak of (otherwise the ids in the answer file are the rows)
    #[arg(value_name = "DATA", value_hint = ValueHint::FilePath)]
    pub data: Option<String>,
    #[command(flatten)]
    pub columns: ColumnArgs,
    #[command(flatten)]
    pub constraints: ConstraintArgs,
    /// Number of clusters to check for (otherwise the smallest that is possible is sought)
    #[arg(short, long, value_name = "K")]
    pub k: Option<usize>,
    /// Do not look for the cheapest repair
    #[arg(long)]
    pub no_repair: bool,
}

#[derive(Debug, Args)]
pub struct EvalArgs {
    /// Labels: a CSV with the columns id,label, as `cluster` writes it, or a table with the classes in it
    #[arg(id = "scored", value_name = "LABELS", value_hint = ValueHint::FilePath)]
    pub labels: String,
    /// Column of known classes, in LABELS or in --data
    #[arg(long, value_name = "COLUMN")]
    pub truth: Option<String>,
    /// Table that holds the known classes, joined by id
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub data: Option<String>,
    /// Column that names the rows in --data (otherwise row numbers)
    #[arg(long, value_name = "COLUMN")]
    pub id: Option<String>,
    /// Column of the labels to score
    #[arg(long, value_name = "COLUMN", default_value = "label")]
    pub column: String,
    #[command(flatten)]
    pub constraints: ConstraintArgs,
}

#[derive(Debug, Args)]
pub struct PredictArgs {
    /// A model saved by `cluster --save`
    #[arg(value_name = "MODEL", value_hint = ValueHint::FilePath)]
    pub model: String,
    #[command(flatten)]
    pub data: DataArgs,
    /// Write the labels here instead of standard output
    #[arg(short, long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub output: Option<PathBuf>,
}

/// Which questions, and what clusters are made of the answers meanwhile.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Asking")]
pub struct StrategyArgs {
    /// Number of clusters, if you know it
    #[arg(short, long, value_name = "K")]
    pub k: Option<usize>,
    /// The query strategy: `kinfold methods queries` lists them
    #[arg(long, default_value = "auto", value_name = "STRATEGY")]
    pub strategy: String,
    /// A setting of the strategy, like refresh=10 (repeatable)
    #[arg(long = "set", value_name = "NAME=VALUE", value_parser = setting)]
    pub settings: Vec<(String, String)>,
    /// The method that clusters under the answers: `kinfold methods` lists them
    #[arg(short, long, default_value = "auto", value_name = "METHOD")]
    pub method: String,
}

#[derive(Debug, Args)]
pub struct AskArgs {
    #[command(flatten)]
    pub data: DataArgs,
    #[command(flatten)]
    pub constraints: ConstraintArgs,
    #[command(flatten)]
    pub strategy: StrategyArgs,
    /// Questions at most in this session
    #[arg(long, value_name = "N", help_heading = "Asking")]
    pub budget: Option<usize>,
    /// Columns to show, separated by commas (otherwise all, those that differ first)
    #[arg(long, value_name = "COLUMNS", value_delimiter = ',', help_heading = "Asking")]
    pub show: Option<Vec<String>>,
    /// Who answers, for the answer file
    #[arg(long, default_value = "", value_name = "NAME", help_heading = "Asking")]
    pub who: String,
    /// Do not cluster while you answer
    #[arg(long, help_heading = "Asking")]
    pub no_refit: bool,
}

#[derive(Debug, Args)]
pub struct NextArgs {
    #[command(flatten)]
    pub data: DataArgs,
    #[command(flatten)]
    pub constraints: ConstraintArgs,
    #[command(flatten)]
    pub strategy: StrategyArgs,
    /// How many questions
    #[arg(short = 'n', long, default_value_t = 1, value_name = "N", help_heading = "Asking")]
    pub count: usize,
    /// Cluster first, so that the questions suit the clustering (slower)
    #[arg(long, help_heading = "Asking")]
    pub refit: bool,
}

#[derive(Debug, Args)]
pub struct AnswerArgs {
    /// The answer file; created when it does not exist
    #[arg(short = 'c', long = "constraints", value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub file: PathBuf,
    /// One id
    #[arg(value_name = "A")]
    pub a: String,
    /// The other id
    #[arg(value_name = "B")]
    pub b: String,
    /// same, different, unsure or undo
    #[arg(value_name = "ANSWER")]
    pub answer: String,
    /// The probability that it is right
    #[arg(long, value_name = "Q")]
    pub confidence: Option<f64>,
    /// Who answers
    #[arg(long, default_value = "", value_name = "NAME")]
    pub who: String,
    /// Anything else
    #[arg(long, default_value = "", value_name = "TEXT")]
    pub note: String,
}

#[derive(Debug, Args)]
pub struct SelectArgs {
    #[command(flatten)]
    pub data: DataArgs,
    #[command(flatten)]
    pub constraints: ConstraintArgs,
    /// How to select: apc (far must-links, near cannot-links, and what they carry)
    #[arg(long, default_value = "apc", value_name = "STRATEGY")]
    pub strategy: String,
    /// At most this many, best first
    #[arg(long, value_name = "N")]
    pub budget: Option<usize>,
    /// What fills a budget that the rules leave open: margin, none or random
    #[arg(long, default_value = "margin", value_name = "FILL")]
    pub fill: String,
    /// Read the bounds on similarity (the hard ones) or distance (the safe ones)
    #[arg(long, default_value = "similarity", value_name = "MODE")]
    pub mode: String,
    /// Width of the kernel (otherwise the median distance; inf = none)
    #[arg(long, value_name = "NUMBER")]
    pub sigma: Option<f64>,
    /// Keep what the others entail too, with --budget
    #[arg(long)]
    pub keep_entailed: bool,
    /// Write the answer file here instead of standard output
    #[arg(short, long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub output: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub struct SimulateArgs {
    #[command(flatten)]
    pub data: DataArgs,
    /// Column of known classes to answer from
    #[arg(long, value_name = "COLUMN")]
    pub truth: String,
    /// How to choose what is asked
    #[arg(long, value_enum, default_value_t = Protocol::Pairs)]
    pub protocol: Protocol,
    /// How much: 5% (of all pairs; of the rows for labels), n/2 (a share of the rows) or 200
    #[arg(long, default_value = "n/2", value_name = "AMOUNT")]
    pub amount: String,
    /// Share of the answers to flip, like 0.1
    #[arg(long, default_value_t = 0.0, value_name = "SHARE")]
    pub noise: f64,
    /// Learning curves of these query strategies instead of an answer file: auto,random,…; `kinfold methods queries`
    #[arg(long, value_name = "STRATEGY", value_delimiter = ',', help_heading = "Learning curves")]
    pub ask: Vec<String>,
    /// Questions at most
    #[arg(long, default_value_t = 200, value_name = "N", help_heading = "Learning curves")]
    pub budget: usize,
    /// Questions between two points of the curve
    #[arg(long, default_value_t = 10, value_name = "N", help_heading = "Learning curves")]
    pub every: usize,
    /// Runs, each under its own seed
    #[arg(long, default_value_t = 5, value_name = "N", help_heading = "Learning curves")]
    pub seeds: u64,
    /// The method that clusters under the answers
    #[arg(short, long, default_value = "auto", value_name = "METHOD", help_heading = "Learning curves")]
    pub method: String,
    /// A setting of the method (repeatable)
    #[arg(long = "set", value_name = "NAME=VALUE", value_parser = setting, help_heading = "Learning curves")]
    pub settings: Vec<(String, String)>,
    /// Scaling before clustering: none, standard, robust, unit or tf-idf
    #[arg(long, value_name = "SCALING", value_parser = scaling, help_heading = "Learning curves")]
    pub scale: Option<kinfold::data::Scaling>,
    /// Number of clusters (otherwise the number of classes)
    #[arg(short, long, value_name = "K", help_heading = "Learning curves")]
    pub k: Option<usize>,
    /// Share of pairs about which the oracle is unsure
    #[arg(long, default_value_t = 0.0, value_name = "SHARE", help_heading = "Learning curves")]
    pub unsure: f64,
    /// Draw the curves into this SVG file
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, help_heading = "Learning curves")]
    pub plot: Option<PathBuf>,
    /// Members of each set, for --protocol sets
    #[arg(long, default_value_t = 3, value_name = "N")]
    pub set_size: usize,
    /// Write the answer file here instead of standard output
    #[arg(short, long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub output: Option<PathBuf>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Protocol {
    /// Pairs drawn uniformly
    Pairs,
    /// Half must-links, half cannot-links
    Balanced,
    /// Labels of rows drawn uniformly
    Labels,
    /// Disjoint must-link and cannot-link sets
    Sets,
}

fn setting(text: &str) -> Result<(String, String), String> {
    let (name, value) = text.split_once('=').ok_or_else(|| format!("'{text}' is not of the form name=value"))?;
    Ok((name.trim().to_owned(), value.trim().to_owned()))
}

fn scaling(text: &str) -> Result<kinfold::data::Scaling, String> {
    let all = kinfold::data::Scaling::ALL;
    all.iter()
        .find(|(name, _)| *name == text)
        .map(|(_, s)| *s)
        .ok_or_else(|| format!("'{text}' is not one of {}", all.map(|(name, _)| name).join(", ")))
}

/// 20s, 5m, 1h30m, 250ms.
fn duration(text: &str) -> Result<Duration, String> {
    let wrong = || format!("'{text}' is not a time like 20s, 5m or 1h30m");
    let (mut rest, mut total) = (text.trim(), Duration::ZERO);
    if rest.is_empty() {
        return Err(wrong());
    }
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !c.is_ascii_digit() && c != '.').ok_or_else(wrong)?;
        let number: f64 = rest[..digits].parse().map_err(|_| wrong())?;
        rest = &rest[digits..];
        let letters = rest.find(|c: char| c.is_ascii_digit()).unwrap_or(rest.len());
        let unit = match &rest[..letters] {
            "ms" => 0.001,
            "s" => 1.0,
            "m" | "min" => 60.0,
            "h" => 3600.0,
            "d" => 86_400.0,
            _ => return Err(wrong()),
        };
        rest = &rest[letters..];
        total += Duration::try_from_secs_f64(number * unit).map_err(|_| wrong())?;
    }
    Ok(total)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_well_formed() {
        use clap::CommandFactory;
        Cli::command().debug_assert();
    }

    #[test]
    fn durations_read_like_people_write_them() {
        for (text, seconds) in [("20s", 20.0), ("5m", 300.0), ("1h30m", 5400.0), ("250ms", 0.25), ("1.5s", 1.5)] {
            assert_eq!(duration(text).unwrap().as_secs_f64(), seconds);
        }
        for bad in ["", "20", "s", "5 minutes", "-3s", "1e400s", "99999999999999999999d"] {
            assert!(duration(bad).is_err(), "{bad}");
        }
    }
}
