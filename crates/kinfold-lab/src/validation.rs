//! The experiment of Duarte, Fred & Duarte (2013): does a validity measure pick the best of the partitions for k = 2..15?
//! Their 14 data sets (synthetic ones that are not public as lookalikes, named so), PCKM and CAL, labels of 10 % of the
//! rows (RAL) or n/2 pairs (RAC). Prints their Tables 2–7 with the printed numbers beside ours, means over many
//! constraint sets where they had one, and our own recommendation as a further column.

mod lookalike;
mod printed;
mod tables;

use std::io::Write;
use std::path::PathBuf;

use kinfold::constraints::{ConstraintSet, generate};
use kinfold::context::RunContext;
use kinfold::data::Dataset;
use kinfold::indices::{Scored, score_all};
use kinfold::pipeline::{ChooseK, Job, KChoice};
use kinfold::rng::Rng;
use kinfold_io::View;
use serde::{Deserialize, Serialize};

use crate::journal::Journal;
use crate::progress::Progress;
use crate::protocol::Source;

#[derive(clap::Args)]
pub struct ValidationArgs {
    /// Folder with NAME.csv, true classes in the column `label`; without, lookalikes and what comes with kinfold
    #[arg(long)]
    data: Option<PathBuf>,
    /// Constraint sets per data set and acquisition
    #[arg(long, default_value_t = 20)]
    sets: u64,
    /// Number of the first constraint set (0 to 9 were used to choose the recommendation's weights)
    #[arg(long, default_value_t = 100)]
    first: u64,
    /// Only these data sets; names outside the paper are read from the folder
    #[arg(long, value_delimiter = ',')]
    only: Vec<String>,
    /// The two clusterers, PCKM first
    #[arg(long, value_delimiter = ',', default_value = "pck-means,cal")]
    methods: Vec<String>,
    /// Starts of PCKM
    #[arg(long, default_value = "5")]
    restarts: String,
    /// Write every partition with all its scores to this CSV
    #[arg(long)]
    dump: Option<PathBuf>,
    /// Keep every case in this file (JSONL) and run only what is not there
    #[arg(long)]
    journal: Option<PathBuf>,
    /// Threads; 0 = all
    #[arg(long, default_value_t = 0)]
    threads: usize,
}

/// How constraints are acquired.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
enum Acquisition {
    Ral,
    Rac,
}

impl Acquisition {
    fn name(self) -> &'static str {
        match self {
            Acquisition::Ral => "RAL",
            Acquisition::Rac => "RAC",
        }
    }
    fn constraints(self, truth: &[u32], set: u64) -> Result<ConstraintSet, String> {
        let rng = &mut Rng::stream(set, self.name(), 0);
        let made = match self {
            Acquisition::Ral => generate::labels(truth, generate::ral_rows(truth.len()), rng),
            Acquisition::Rac => generate::pairs(truth, truth.len() / 2, rng),
        };
        Ok(made.map_err(|e| e.to_string())?.constraints)
    }
}

/// The columns of Tables 2 to 5, and ours.
const MEASURES: [&str; 8] = ["S", "NH", "S+CS", "NH+CS", "S@dca", "NH@dca", "S+CS@dca", "NH+CS@dca"];
/// Our recommendation and its parts.
const OURS: [&str; 2] = ["recommended", "gap"];

/// One constraint set on one data set by one clusterer.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Case {
    data: String,
    acquisition: Acquisition,
    /// 0 = PCKM, 1 = CAL, or what stands for them.
    method: usize,
    /// By name, and its starts: what is kept of another is not taken.
    run_as: String,
    set: u64,
    /// Consistency of every partition, by candidate.
    consistency: Vec<f64>,
    /// Candidate that each measure of [`MEASURES`] and [`OURS`] picks.
    picked: Vec<Option<usize>>,
    /// Values of CS and [`MEASURES`], by measure, then by candidate.
    values: Vec<Vec<Option<f64>>>,
}

impl Case {
    fn best(&self) -> f64 {
        self.consistency.iter().copied().fold(0.0, f64::max)
    }
    fn of(&self, measure: usize) -> f64 {
        self.picked[measure].map_or(0.0, |at| self.consistency[at])
    }
    fn is_best(&self, measure: usize) -> bool {
        self.of(measure) >= self.best() - 1e-9
    }
}

/// The lookalike of the half rings, 400 rows of 2 columns and their classes.
pub fn half_rings() -> (Vec<f64>, Vec<u32>) {
    lookalike::make("half-rings~").unwrap_or_default()
}

struct Rows {
    values: Vec<f64>,
    dims: usize,
    truth: Vec<u32>,
}

/// Runs everything; true when our recommendation meets its bars.
pub fn run(args: &ValidationArgs) -> Result<bool, String> {
    let mut names: Vec<String> = printed::SETS.iter().map(|s| s.0.to_owned()).collect();
    if !args.only.is_empty() {
        names = args.only.clone();
    }
    let mut dump = match &args.dump {
        Some(path) => Some(std::io::BufWriter::new(std::fs::File::create(path).map_err(|e| e.to_string())?)),
        None => None,
    };
    let source = args.data.clone().map_or(Source::Shipped, Source::Folder);
    let file = |name: &str| printed::SETS.iter().find(|s| s.0 == name).map_or(name.to_owned(), |s| s.1.to_owned());
    let (there, missing): (Vec<String>, Vec<String>) =
        names.into_iter().partition(|n| lookalike::make(n).is_some() || source.has(&file(n)));
    let names = there;
    if !missing.is_empty() {
        println!("Skipped, the data are not there: {}.\n", missing.join(", "));
    }
    let (mut journal, known) = Journal::maybe::<Case>(args.journal.as_deref())?;
    let total = names.len() * args.sets.max(1) as usize * 2 * args.methods.len();
    let mut progress = Progress::new("validation", total);
    let mut cases: Vec<Case> = Vec::new();
    for name in &names {
        let rows = rows(&source, name, &file(name))?;
        for set in args.first..args.first + args.sets.max(1) {
            for acquisition in [Acquisition::Ral, Acquisition::Rac] {
                let given = acquisition.constraints(&rows.truth, set)?;
                for (method, method_name) in args.methods.iter().enumerate() {
                    progress.step(cases.len(), &format!("{name}, {method_name}, {}", acquisition.name()), || None);
                    let run_as = format!("{method_name} {}", args.restarts);
                    let kept = known.iter().rev().find(|c| {
                        (&c.data, c.acquisition, c.method, c.set, &c.run_as)
                            == (name, acquisition, method, set, &run_as)
                    });
                    if let (Some(kept), None) = (kept, &dump) {
                        cases.push(kept.clone());
                        continue;
                    }
                    let settings = match method_name.as_str() {
                        "pck-means" => vec![("restarts".to_owned(), args.restarts.clone())],
                        _ => Vec::new(),
                    };
                    let choice = choose(args, &rows, &given, method_name, settings, set)?;
                    let case = Case { run_as, ..case(name, acquisition, method, set, &choice, &rows.truth) };
                    if let Some(journal) = &mut journal {
                        journal.add(&case)?;
                    }
                    if let Some(out) = &mut dump {
                        write_case(out, &case, &choice).map_err(|e| e.to_string())?;
                    }
                    cases.push(case);
                }
            }
        }
        let ours: Vec<&Case> = cases.iter().filter(|c| &c.data == name).collect();
        let share = |m: usize| ours.iter().filter(|c| c.is_best(m)).count() as f64 / ours.len() as f64;
        let shares: Vec<String> = (0..MEASURES.len() + OURS.len()).map(|m| format!("{:.2}", share(m))).collect();
        eprintln!("{name}: best picked {}", shares.join(" "));
    }
    progress.step(total, "done", || None);
    if let Some(mut out) = dump {
        out.flush().map_err(|e| e.to_string())?;
    }
    Ok(tables::print(&cases, &names, args.sets.max(1)))
}

fn choose(
    args: &ValidationArgs,
    rows: &Rows,
    given: &ConstraintSet,
    method: &str,
    settings: Vec<(String, String)>,
    set: u64,
) -> Result<KChoice, String> {
    let ctx = RunContext::new(set).with_threads(args.threads);
    let data = Dataset::dense(&rows.values, rows.dims).map_err(|e| e.to_string())?;
    let job = Job { settings, ..Job::new(method, 0) };
    ChooseK::new(job, Some((2, 15))).run(&ctx, &data, given).map_err(|e| e.to_string())
}

fn case(data: &str, acquisition: Acquisition, method: usize, set: u64, choice: &KChoice, truth: &[u32]) -> Case {
    let consistency = |labels: &[u32]| {
        let all = score_all(&Scored { labels, truth: Some(truth), constraints: None });
        all.iter().find(|s| s.0 == "consistency").and_then(|s| s.1).unwrap_or(0.0)
    };
    let at = |k: Option<usize>| choice.candidates.iter().position(|c| Some(c.k) == k);
    let mut picked: Vec<Option<usize>> = MEASURES.iter().map(|m| at(choice.criterion(m).and_then(|c| c.k))).collect();
    picked.push(at(Some(choice.recommended.k)));
    picked.push(at(choice.criterion("gap").and_then(|c| c.k)));
    let values = |name: &&str| match choice.criterion(name) {
        Some(c) => c.values.iter().map(|v| v.map(|v| v.value).filter(|v| v.is_finite())).collect(),
        None => vec![None; choice.candidates.len()],
    };
    Case {
        data: data.to_owned(),
        acquisition,
        method,
        run_as: String::new(),
        set,
        consistency: choice.candidates.iter().map(|c| consistency(&c.run.labels)).collect(),
        picked,
        values: std::iter::once(&"CS").chain(MEASURES.iter()).map(values).collect(),
    }
}

/// One line per partition.
fn write_case(out: &mut impl Write, case: &Case, choice: &KChoice) -> std::io::Result<()> {
    for (at, c) in choice.candidates.iter().enumerate() {
        let t = c.held_out.unwrap_or_default();
        let lower = choice.smallest.as_ref().map_or(1, |s| s.lower);
        let mut line = format!(
            "data={},acquisition={},method={},set={},k={},lower={lower},consistency={:.6},together={},together_kept={},apart={},\
             apart_kept={},by_chance={:.4},units={},largest={},smallest={},objective={:.6}",
            case.data,
            case.acquisition.name(),
            case.method,
            case.set,
            c.k,
            case.consistency[at],
            t.together,
            t.together_kept,
            t.apart,
            t.apart_kept,
            t.by_chance,
            t.units,
            c.run.sizes.iter().max().unwrap_or(&0),
            c.run.sizes.iter().min().unwrap_or(&0),
            c.run.objective
        );
        let (v, n) = (&c.run.violations, c.run.labels.len() as f64);
        let same = c.run.sizes.iter().map(|&s| s as f64 * (s as f64 - 1.0)).sum::<f64>() / (n * (n - 1.0));
        line += &format!(
            ",ml={},ml_kept={},cl={},cl_kept={},same={same:.5}",
            v.must_link_pairs,
            v.must_link_pairs - v.must_link,
            v.cannot_link_pairs,
            v.cannot_link_pairs - v.cannot_link
        );
        for criterion in &choice.criteria {
            let value = criterion.values[at].map_or("nan".to_owned(), |v| format!("{:.6}", v.value));
            line += &format!(",{}={value}", criterion.name);
        }
        writeln!(out, "{line}")?;
    }
    Ok(())
}

fn rows(source: &Source, name: &str, file: &str) -> Result<Rows, String> {
    if let Some((values, truth)) = lookalike::make(name) {
        return Ok(Rows { values, dims: 2, truth });
    }
    let (table, truth) = source.read(file)?;
    let dense = |n: usize, add: &dyn Fn(usize, &mut [f64]), dims: usize| {
        let mut values = vec![0.0; n * dims];
        values.chunks_exact_mut(dims).enumerate().for_each(|(i, row)| add(i, row));
        values
    };
    let (values, dims) = match table.rows.view().map_err(|e| e.to_string())? {
        View::F32(d) => (dense(d.n(), &|i, row| d.add_row(i, 1.0, row), d.dims()), d.dims()),
        View::F64(d) => (dense(d.n(), &|i, row| d.add_row(i, 1.0, row), d.dims()), d.dims()),
    };
    Ok(Rows { values, dims, truth })
}
