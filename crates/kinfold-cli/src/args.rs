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
    /// Memory that a method may use beside the data, like 500MB or 8GB (otherwise half of the machine's)
    #[arg(long, global = true, value_name = "SIZE", value_parser = memory)]
    pub memory: Option<u64>,
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
    /// How many clusters? Every k of a range by many criteria, with the lower bound that the constraints prove
    #[command(name = "choose-k")]
    ChooseK(ChooseKArgs),
    /// Score labels against known classes, constraints and the rows themselves
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
    /// One page to look at: map, silhouettes, profiles, broken and doubted constraints of a run
    Report(ReportArgs),
    /// Show what happens with and without constraints, on data that come with kinfold
    Demo,
    /// List the methods and metrics, or explain one; `methods queries` lists the query strategies
    Methods {
        /// The method or metric to explain, or `queries` for the query strategies
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

#[derive(Debug, Clone, Args, Default, serde::Serialize, serde::Deserialize)]
#[serde(default)]
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

#[derive(Debug, Clone, Args, Default, serde::Serialize, serde::Deserialize)]
#[serde(default)]
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

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum, Default, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
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
    /// Number of clusters: 8, the best of a range like 2..20, or auto
    #[arg(short, long, value_name = "K", value_parser = clusters, help_heading = "Clustering")]
    pub k: Clusters,
    /// The method: `kinfold methods` lists them
    #[arg(short, long, default_value = "auto", value_name = "METHOD", help_heading = "Clustering")]
    pub method: String,
    /// A setting of the method, like restarts=20 (repeatable); `kinfold methods NAME` lists them
    #[arg(long = "set", value_name = "NAME=VALUE", value_parser = setting, help_heading = "Clustering")]
    pub settings: Vec<(String, String)>,
    /// Scaling before clustering: none, standard, robust, unit or tf-idf
    #[arg(long, value_name = "SCALING", value_parser = scaling, help_heading = "Clustering")]
    pub scale: Option<kinfold::data::Scaling>,
    /// Metric to learn from the constraints first: rca, dca, itml or mmc
    #[arg(long, value_name = "METRIC", help_heading = "Clustering")]
    pub metric: Option<String>,
    /// A setting of the metric, like gamma=10 (repeatable); `kinfold methods NAME` lists them
    #[arg(long = "metric-set", value_name = "NAME=VALUE", value_parser = setting, requires = "metric", help_heading = "Clustering")]
    pub metric_settings: Vec<(String, String)>,
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
pub struct ChooseKArgs {
    #[command(flatten)]
    pub data: DataArgs,
    #[command(flatten)]
    pub constraints: ConstraintArgs,
    /// The numbers of clusters to try, like 2..15
    #[arg(short, long, value_name = "K", value_parser = clusters, default_value = "auto", help_heading = "Clustering")]
    pub k: Clusters,
    /// The method: `kinfold methods` lists them
    #[arg(short, long, default_value = "auto", value_name = "METHOD", help_heading = "Clustering")]
    pub method: String,
    /// A setting of the method, like restarts=20 (repeatable); `kinfold methods NAME` lists them
    #[arg(long = "set", value_name = "NAME=VALUE", value_parser = setting, help_heading = "Clustering")]
    pub settings: Vec<(String, String)>,
    /// Scaling before clustering: none, standard, robust, unit or tf-idf
    #[arg(long, value_name = "SCALING", value_parser = scaling, help_heading = "Clustering")]
    pub scale: Option<kinfold::data::Scaling>,
    /// Fewest rows in a cluster
    #[arg(long, value_name = "N", help_heading = "Clustering")]
    pub min_size: Option<usize>,
    /// Most rows in a cluster
    #[arg(long, value_name = "N", help_heading = "Clustering")]
    pub max_size: Option<usize>,
    /// Column of known classes: never a feature, adds the consistency of every k
    #[arg(long, value_name = "COLUMN", help_heading = "Clustering")]
    pub truth: Option<String>,
    /// A metric to learn from the constraints before clustering: `kinfold methods` lists them
    #[arg(long, value_name = "METRIC", help_heading = "Clustering")]
    pub metric: Option<String>,
    /// Learned distances to take the indices on as well (repeatable), by metric; `none` for no such distance
    #[arg(long, value_name = "METRIC", default_value = "dca", help_heading = "Criteria")]
    pub distance: Vec<String>,
    /// Choose by this criterion instead, like S, NH+CS or S@dca
    #[arg(long, value_name = "CRITERION", help_heading = "Criteria")]
    pub by: Option<String>,
    /// Weight of the constraints kept in weighted scores like S+CS
    #[arg(long, value_name = "SHARE", default_value_t = 0.5, help_heading = "Criteria")]
    pub alpha: f64,
    /// Folds of held-out constraints (0 = none)
    #[arg(long, value_name = "N", default_value_t = 5, help_heading = "Criteria")]
    pub folds: usize,
    /// Compare this many rows with all rows in pairwise indices (otherwise all while that is quick)
    #[arg(long, value_name = "ROWS", help_heading = "Criteria")]
    pub sample: Option<usize>,
    /// Compare all rows with all rows in pairwise indices, however long it takes
    #[arg(long, conflicts_with = "sample", help_heading = "Criteria")]
    pub exact: bool,
    /// Write the curves as a picture (SVG)
    #[arg(long, value_name = "FILE", help_heading = "Output", value_hint = ValueHint::FilePath)]
    pub plot: Option<PathBuf>,
    /// Write the labels of the chosen k here
    #[arg(short, long, value_name = "FILE", help_heading = "Output", value_hint = ValueHint::FilePath)]
    pub output: Option<PathBuf>,
}

/// What `-k` asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Clusters {
    /// This many.
    Exactly(usize),
    /// The best of this many to that many.
    Range(usize, usize),
    /// The best of a range that suits.
    Auto,
}

impl Clusters {
    /// The range to choose from; `None` when it is left to the engine.
    pub fn range(self) -> Option<(usize, usize)> {
        match self {
            Clusters::Exactly(k) => Some((k, k)),
            Clusters::Range(first, last) => Some((first, last)),
            Clusters::Auto => None,
        }
    }
}

/// How many rows pairwise indices look at.
pub fn sampling(exact: bool, sample: Option<usize>) -> kinfold::indices::Sampling {
    use kinfold::indices::Sampling;
    match sample {
        _ if exact => Sampling::Exact,
        Some(rows) => Sampling::Rows(rows),
        None => Sampling::Auto,
    }
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
    /// Table that holds the rows and the known classes, joined by id; its features add internal scores
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub data: Option<String>,
    /// Column that names the rows in --data (otherwise row numbers)
    #[arg(long, value_name = "COLUMN")]
    pub id: Option<String>,
    /// Column of the labels to score
    #[arg(long, value_name = "COLUMN", default_value = "label")]
    pub column: String,
    /// Feature columns of --data for internal scores (otherwise all numeric columns); `none` for no such scores
    #[arg(long, value_name = "COLUMNS", value_delimiter = ',', help_heading = "Internal scores")]
    pub features: Option<Vec<String>>,
    /// Scaling before distances are taken: none, standard, robust, unit or tf-idf
    #[arg(long, value_name = "SCALING", value_parser = scaling, help_heading = "Internal scores")]
    pub scale: Option<kinfold::data::Scaling>,
    /// Also on the distance that this metric learns from the constraints (repeatable)
    #[arg(long, value_name = "METRIC", help_heading = "Internal scores")]
    pub distance: Vec<String>,
    /// Weight of the constraints kept in the weighted score
    #[arg(long, value_name = "SHARE", default_value_t = 0.5, help_heading = "Internal scores")]
    pub alpha: f64,
    /// Compare this many rows with all rows (otherwise all while that is quick)
    #[arg(long, value_name = "ROWS", help_heading = "Internal scores")]
    pub sample: Option<usize>,
    /// Compare all rows with all rows, however long it takes
    #[arg(long, conflicts_with = "sample", help_heading = "Internal scores")]
    pub exact: bool,
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
pub struct ReportArgs {
    /// What `cluster`, `choose-k` or `simulate --ask` printed with --json; - is standard input
    #[arg(value_name = "RUN", value_hint = ValueHint::FilePath)]
    pub run: String,
    /// Write the page here (HTML) instead of standard output
    #[arg(short, long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub output: Option<PathBuf>,
    /// The rows, if they are no longer where the run read them
    #[arg(long, value_name = "DATA", value_hint = ValueHint::FilePath)]
    pub data: Option<String>,
    /// Answer files, if they are no longer where the run read them (repeatable)
    #[arg(short = 'c', long = "constraints", value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub constraints: Vec<String>,
    /// Title of the page
    #[arg(long, value_name = "TEXT")]
    pub title: Option<String>,
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

impl From<Protocol> for kinfold::constraints::Protocol {
    fn from(protocol: Protocol) -> Self {
        match protocol {
            Protocol::Pairs => Self::Pairs,
            Protocol::Balanced => Self::Balanced,
            Protocol::Labels => Self::Labels,
            Protocol::Sets => Self::Sets,
        }
    }
}

/// 8, 2..20 or auto.
fn clusters(text: &str) -> Result<Clusters, String> {
    let wrong = || format!("'{text}' is not a number of clusters like 8, a range like 2..20, or auto");
    let number = |part: &str| part.trim().parse::<usize>().map_err(|_| wrong());
    if text == "auto" {
        return Ok(Clusters::Auto);
    }
    match text.split_once("..") {
        None => Ok(Clusters::Exactly(number(text)?)),
        Some((first, last)) => {
            let (first, last) = (number(first)?, number(last.trim_start_matches('='))?);
            if first == 0 || first > last { Err(wrong()) } else { Ok(Clusters::Range(first, last)) }
        }
    }
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

/// 8GB, 500 MB, 1.5TiB, 4096.
fn memory(text: &str) -> Result<u64, String> {
    let wrong = || format!("'{text}' is not an amount of memory like 500MB or 8GB");
    let (number, unit) =
        text.trim().split_at(text.trim().find(|c: char| c.is_ascii_alphabetic()).unwrap_or(text.trim().len()));
    let number: f64 = number.trim().parse().map_err(|_| wrong())?;
    let unit = match unit.to_ascii_lowercase().as_str() {
        "" | "b" => 1.0,
        "k" | "kb" => 1e3,
        "m" | "mb" => 1e6,
        "g" | "gb" => 1e9,
        "t" | "tb" => 1e12,
        "kib" => f64::from(1 << 10),
        "mib" => f64::from(1 << 20),
        "gib" => f64::from(1 << 30),
        "tib" => f64::from(1 << 20) * f64::from(1 << 20),
        _ => return Err(wrong()),
    };
    let bytes = number * unit;
    if (1.0..1e18).contains(&bytes) { Ok(bytes as u64) } else { Err(wrong()) }
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
    fn numbers_of_clusters_and_ranges_are_read() {
        assert_eq!(clusters("8"), Ok(Clusters::Exactly(8)));
        assert_eq!(clusters("2..20"), Ok(Clusters::Range(2, 20)));
        assert_eq!(clusters("2..=20"), Ok(Clusters::Range(2, 20)));
        assert_eq!(clusters("auto"), Ok(Clusters::Auto));
        for bad in ["", "many", "5..3", "0..4", "-1", "2..", "..4"] {
            assert!(clusters(bad).is_err(), "{bad}");
        }
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

    #[test]
    fn memory_reads_like_people_write_it() {
        for (text, bytes) in [("8GB", 8e9), ("500 MB", 5e8), ("1.5g", 1.5e9), ("2GiB", 2147483648.0), ("4096", 4096.0)]
        {
            assert_eq!(memory(text).unwrap() as f64, bytes);
        }
        for bad in ["", "GB", "-1GB", "8 apples", "0", "1e30TB", "nan"] {
            assert!(memory(bad).is_err(), "{bad}");
        }
    }
}
