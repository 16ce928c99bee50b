//! The experiment of Atwa & Almazroi 2020: six data sets, 0 to 150 questions, random, NPU, FASS, ASSOC (in place of ASCENT) and
//! APC, MPCK-means and constrained EM (Figures 4 and 5), and both with n/10 questions beside k-means and EM (Tables 2 and
//! 3); NMI (arithmetic). Its plain k-means scores (.632 on sonar, .821 on wdbc) are far above anything that k-means reaches on
//! these data elsewhere (about .01 and .47 to .56), so its tables are a ranking to compare with, not numbers to hit.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use kinfold::blocks::par::Pool;
use kinfold::context::RunContext;
use kinfold::data::Scaling;
use kinfold::methods;
use kinfold::pipeline::{Job, Oracle, Simulation};
use kinfold::queries::Ground;
use kinfold_io::View;
use kinfold_report::chart::{LineChart, Point, Series, Spread};
use kinfold_report::{Better, Cell, Table};
use serde::{Deserialize, Serialize};

use crate::journal::Journal;
use crate::progress::Progress;
use crate::protocol::{Source, classes};

#[derive(clap::Args)]
pub struct ApcSuite {
    /// Folder with NAME.csv, true classes in the column `label`
    #[arg(long)]
    data: PathBuf,
    /// Only these data sets
    #[arg(long, value_delimiter = ',')]
    only: Vec<String>,
    /// Methods of the figures
    #[arg(long, value_delimiter = ',', default_value = "mpck-means,constrained-em")]
    methods: Vec<String>,
    /// Runs per cell
    #[arg(long, default_value_t = 20)]
    seeds: u64,
    /// Most questions
    #[arg(long, default_value_t = 150)]
    budget: usize,
    /// Questions between two points
    #[arg(long, default_value_t = 25)]
    every: usize,
    /// Share of wrong answers
    #[arg(long, default_value_t = 0.0)]
    error: f64,
    /// Threads
    #[arg(long, default_value_t = 2)]
    threads: usize,
    /// Write plots (SVG) to this folder
    #[arg(long)]
    plots: Option<PathBuf>,
    /// Keep every dialogue in this file (JSONL) and run only what is not there
    #[arg(long)]
    journal: Option<PathBuf>,
    /// Run nothing: the tables of what the journal holds
    #[arg(long, requires = "journal")]
    recorded: bool,
}

/// What the paper prints of a data set.
struct Published {
    set: &'static str,
    /// APC at 150 constraints, and its lead over the next (Figure 4, from the text).
    at_150: (f64, f64),
    /// Table 2, NMI: k-means, MPCK-means, MPCK-means with APC, then EM, constrained EM and constrained EM with APC.
    nmi: [f64; 6],
    /// Table 3, milliseconds, of the same.
    times: [f64; 6],
    /// Figure 5, milliseconds for 150 constraints: NPU, FASS, APC, where the text gives them.
    choosing: Option<[f64; 3]>,
}

#[rustfmt::skip]
const PUBLISHED: [Published; 6] = [
    Published { set: "ecoli", at_150: (0.87, 0.04), nmi: [0.731, 0.680, 0.764, 0.742, 0.647, 0.758],
        times: [3.46, 5.44, 6.12, 3.72, 5.13, 5.76], choosing: None },
    Published { set: "heart", at_150: (0.83, 0.09), nmi: [0.334, 0.418, 0.645, 0.445, 0.473, 0.598],
        times: [1.65, 3.25, 4.26, 2.12, 3.63, 4.65], choosing: Some([15.6, 23.1, 3.7]) },
    Published { set: "protein", at_150: (0.68, 0.03), nmi: [0.236, 0.386, 0.614, 0.542, 0.492, 0.642],
        times: [1.32, 2.57, 3.15, 1.70, 2.18, 3.65], choosing: None },
    Published { set: "sonar", at_150: (0.94, 0.04), nmi: [0.632, 0.513, 0.792, 0.724, 0.673, 0.833],
        times: [2.23, 7.42, 7.87, 2.87, 7.34, 8.03], choosing: None },
    Published { set: "wdbc", at_150: (0.97, 0.04), nmi: [0.821, 0.742, 0.912, 0.844, 0.779, 0.928],
        times: [2.21, 5.78, 6.04, 3.65, 5.13, 6.23], choosing: None },
    Published { set: "segment", at_150: (0.75, 0.02), nmi: [0.563, 0.668, 0.744, 0.668, 0.734, 0.808],
        times: [5.43, 16.34, 17.32, 6.23, 15.12, 16.22], choosing: Some([82.4, 101.2, 17.8]) },
];
const STRATEGIES: [&str; 6] = ["random", "npu", "fass", "assoc", "apc", "auto"];
/// The columns of Tables 2 and 3: name, method, strategy (none: no questions); the last is ours.
const COLUMNS: [(&str, &str, Option<&str>); 7] = [
    ("k-means", "kmeans", None),
    ("MPCK-means", "mpck-means", Some("random")),
    ("MPCK-means, APC", "mpck-means", Some("apc")),
    ("EM", "em", None),
    ("constrained EM", "constrained-em", Some("random")),
    ("constrained EM, APC", "constrained-em", Some("apc")),
    ("fold, auto", "fold", Some("auto")),
];

/// What is simulated.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Task {
    set: String,
    method: String,
    strategy: String,
    seed: u64,
    budget: usize,
    every: usize,
    error: f64,
}

/// What came of it.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Dialogue {
    #[serde(flatten)]
    task: Task,
    /// Questions and NMI.
    points: Vec<(usize, f64)>,
    /// Seconds spent on choosing.
    choosing: f64,
    /// Seconds of one fit.
    fit: f64,
}

impl Dialogue {
    /// A dialogue that ended early stays where it ended.
    fn at(&self, asked: usize) -> Option<f64> {
        self.points.iter().rev().find(|p| p.0 <= asked).map(|p| p.1)
    }
}

/// Mean and standard deviation.
fn spread(values: &[f64]) -> Option<(f64, f64)> {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let sd = (values.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / (n - 1.0).max(1.0)).sqrt();
    (!values.is_empty()).then_some((mean, sd))
}

fn cell(values: &[f64], decimals: usize) -> Cell {
    match spread(values) {
        None => Cell::words("–"),
        Some((mean, _)) if values.len() == 1 => Cell::number(mean, decimals),
        Some((mean, sd)) => Cell::number(mean, decimals).spread(sd, decimals),
    }
}

/// The middle of some times: other work on the machine stretches a few of them without bounds.
fn middle(mut times: Vec<f64>) -> Cell {
    times.sort_by(f64::total_cmp);
    times.get(times.len() / 2).map_or_else(|| Cell::words("–"), |&t| Cell::number(t, 1))
}

impl ApcSuite {
    pub fn run(&self) -> Result<bool, String> {
        let source = Source::Folder(self.data.clone());
        let (there, missing): (Vec<&Published>, Vec<&Published>) = PUBLISHED
            .iter()
            .filter(|p| self.only.is_empty() || self.only.iter().any(|o| o == p.set))
            .partition(|p| source.has(p.set));
        if !missing.is_empty() {
            let names: Vec<&str> = missing.iter().map(|p| p.set).collect();
            println!("Skipped, the data are not there: {}.\n", names.join(", "));
        }
        if let Some(unknown) = self.methods.iter().find(|m| methods::find(m).is_err()) {
            return Err(format!("there is no method {unknown}"));
        }
        let (journal, known) = Journal::maybe::<Dialogue>(self.journal.as_deref())?;
        let mut all: Vec<Dialogue> = Vec::new();
        let recorded = |task: &Task| !self.recorded || known.iter().any(|d| d.task == *task);
        let tasks = |p: &&Published| {
            let (_, truth) = source.read(p.set)?;
            Ok::<_, String>(self.tasks(p.set, truth.len()).into_iter().filter(recorded).collect())
        };
        let wanted: Vec<Vec<Task>> = there.iter().map(tasks).collect::<Result<_, _>>()?;
        let total = wanted.iter().map(Vec::len).sum();
        let shared = Mutex::new((journal, Progress::new("apc", total), 0));
        for (published, tasks) in there.iter().zip(&wanted) {
            all.extend(self.set(&source, published.set, tasks, &known, &shared)?);
        }
        if all.is_empty() {
            println!("nothing was run");
            return Ok(false);
        }
        let runs = |set: &str| {
            let of = |ours: bool| {
                let some = all.iter().filter(|d| d.task.set == set && (d.task.method == "fold") == ours);
                some.map(|d| d.task.seed).collect::<BTreeSet<u64>>().len()
            };
            let (paper, ours) = (of(false), of(true));
            if ours == paper { format!("{set} {paper}") } else { format!("{set} {paper} (fold: {ours})") }
        };
        let runs: Vec<String> = there.iter().map(|p| runs(p.set)).collect();
        println!(
            "Means ± standard deviations over several runs ({}); the paper's numbers in brackets. ASSOC stands for ASCENT.\n",
            runs.join(", ")
        );
        let leads = self.figures(&there, &all)?;
        self.tables(&there, &all);
        println!(
            "after {} questions auto is at or above every published strategy in {} of {} cells; APC leads the published ones in {}",
            self.budget, leads.0, leads.2, leads.1
        );
        Ok(leads.0 == leads.2)
    }

    /// Dialogues of the figures, then those of the tables.
    fn tasks(&self, set: &str, n: usize) -> Vec<Task> {
        let task = |method: &str, strategy: &str, seed: u64, budget: usize, every: usize| Task {
            set: set.to_owned(),
            method: method.to_owned(),
            strategy: strategy.to_owned(),
            seed,
            budget,
            every,
            error: self.error,
        };
        let of_tables = |columns: &[(&str, &str, Option<&str>)], seed: u64, tasks: &mut Vec<Task>| {
            for (_, method, strategy) in columns {
                let budget = strategy.map_or(0, |_| n / 10);
                tasks.push(task(method, strategy.unwrap_or("random"), seed, budget, budget.max(1)));
            }
        };
        let mut tasks = Vec::new();
        let (paper, ours) = COLUMNS.split_at(COLUMNS.len() - 1);
        for seed in 0..self.seeds {
            for method in &self.methods {
                tasks.extend(STRATEGIES.iter().map(|s| task(method, s, seed, self.budget, self.every)));
            }
            of_tables(paper, seed, &mut tasks);
        }
        // What takes longest and is not the paper's comes last.
        (0..self.seeds).for_each(|seed| of_tables(ours, seed, &mut tasks));
        tasks
    }

    fn set(
        &self,
        source: &Source,
        set: &str,
        tasks: &[Task],
        known: &[Dialogue],
        shared: &Mutex<(Option<Journal>, Progress, usize)>,
    ) -> Result<Vec<Dialogue>, String> {
        let (file, truth) = source.read(set)?;
        let Ok(View::F64(data)) = file.rows.view() else { return Err("rows of doubles are expected".into()) };
        let ground = Arc::new(Ground::new(&data, &Pool::new(1)).map_err(|e| e.to_string())?);
        let run = |task: &Task| -> Result<Dialogue, String> {
            let represents = methods::find(&task.method).map_err(|e| e.to_string())?.info.represents;
            let mut job = Job::new(&task.method, classes(&truth));
            job.scaling = (!represents).then_some(Scaling::Standard);
            let simulation = Simulation {
                strategy: task.strategy.clone(),
                settings: Vec::new(),
                job,
                budget: task.budget,
                every: task.every,
                oracle: Oracle { error: task.error, unsure: 0.0, seed: 0 },
                tell_k: true,
            };
            let ctx = RunContext::on_pool(task.seed, &Pool::new(1));
            let run = simulation.run(&ctx, &data, &ground, &truth);
            let run = run.map_err(|e| format!("{set}, {} with {}: {e}", task.method, task.strategy))?;
            let nmi = |p: &kinfold::pipeline::Point| p.scores.iter().find(|s| s.0 == "nmi").and_then(|s| s.1);
            Ok(Dialogue {
                task: task.clone(),
                points: run.points.iter().filter_map(|p| nmi(p).map(|v| (p.asked, v))).collect(),
                choosing: run.choosing.as_secs_f64(),
                fit: run.clustering.as_secs_f64() / run.fits.max(1) as f64,
            })
        };
        let done = Pool::new(self.threads).map(tasks.len(), |t| {
            let task = &tasks[t];
            let kept = known.iter().find(|d| d.task == *task).cloned();
            let dialogue = kept.clone().map_or_else(|| run(task), Ok)?;
            let mut shared = shared.lock().map_err(|_| "another run failed".to_owned())?;
            let (journal, progress, count) = &mut *shared;
            if let (Some(journal), None) = (journal, kept) {
                journal.add(&dialogue)?;
            }
            *count += 1;
            progress.step(*count, &format!("{set}, {} with {}", task.method, task.strategy), || None);
            Ok::<_, String>(dialogue)
        });
        done.into_iter().collect()
    }

    /// Figure 4 as tables and curves, Figure 5 as a table: cells in which auto and APC lead, and all cells.
    fn figures(&self, there: &[&Published], all: &[Dialogue]) -> Result<(usize, usize, usize), String> {
        let (mut ours, mut theirs, mut cells) = (0, 0, 0);
        let at: Vec<usize> = (0..=self.budget).step_by(self.every.max(1)).collect();
        for method in &self.methods {
            println!("## Figure 4: {method}, NMI by questions\n");
            let mut columns = vec!["set".to_owned(), "strategy".to_owned()];
            columns.extend(at.iter().map(usize::to_string));
            columns.push("paper at 150".into());
            let mut table = Table::new("", 2, &columns);
            for published in there {
                let of = |strategy: &str| -> Vec<&Dialogue> {
                    let is = |d: &&Dialogue| {
                        let t = &d.task;
                        t.set == published.set
                            && t.method == *method
                            && t.strategy == strategy
                            && (t.budget, t.every) == (self.budget, self.every)
                    };
                    all.iter().filter(is).collect()
                };
                let mut ends = Vec::new();
                let mut series = Vec::new();
                for (s, strategy) in STRATEGIES.iter().enumerate() {
                    let runs = of(strategy);
                    let values = |asked: usize| runs.iter().filter_map(|d| d.at(asked)).collect::<Vec<f64>>();
                    let mut row = vec![Cell::words(published.set), Cell::words(*strategy)];
                    row.extend(at.iter().map(|&p| cell(&values(p), 3)));
                    row.push(match *strategy {
                        "apc" => Cell::words(format!("{:.2}, ahead by {:.2}", published.at_150.0, published.at_150.1)),
                        _ => Cell::default(),
                    });
                    table.rows.push(row);
                    ends.push(spread(&values(self.budget)).map_or(0.0, |v| v.0));
                    let points = at.iter().filter_map(|&p| spread(&values(p)).map(|v| Point::with(p as f64, v.0, v.1)));
                    series.push(Series {
                        name: (*strategy).to_owned(),
                        points: points.collect(),
                        spread: if matches!(*strategy, "apc" | "auto") { Spread::Band } else { Spread::None },
                        style: Some(s),
                        ..Series::default()
                    });
                }
                cells += 1;
                let best = |range: std::ops::Range<usize>| ends[range].iter().copied().fold(0.0, f64::max);
                ours += usize::from(ends[5] >= best(0..5) - 0.0005);
                theirs += usize::from(ends[4] >= best(0..4) - 0.0005);
                self.plot(method, published.set, series)?;
            }
            println!("{}", table.markdown());
            if self.plots.is_some() {
                for published in there {
                    println!("![Figure 4: {method}, {set}](apc-{method}-{set}.svg)\n", set = published.set);
                }
            }
        }
        self.choosing(there, all);
        Ok((ours, theirs, cells))
    }

    fn plot(&self, method: &str, set: &str, series: Vec<Series>) -> Result<(), String> {
        let Some(folder) = &self.plots else { return Ok(()) };
        let chart = LineChart {
            title: format!("Figure 4: {set}, {method}"),
            subtitle: "mean NMI; bands of one standard deviation for apc and auto".into(),
            x_name: "questions".into(),
            y_name: "NMI".into(),
            series,
            ..LineChart::default()
        };
        let path = folder.join(format!("apc-{method}-{set}.svg"));
        std::fs::write(&path, chart.svg().standalone()).map_err(|e| format!("{}: {e}", path.display()))
    }

    fn choosing(&self, there: &[&Published], all: &[Dialogue]) {
        println!("## Figure 5: milliseconds to choose {} questions, middle of all runs\n", self.budget);
        let mut columns = vec!["set"];
        columns.extend(STRATEGIES);
        let mut table = Table::new("", 1, &columns);
        for published in there {
            let mut row = vec![Cell::words(published.set)];
            for strategy in STRATEGIES {
                let of = all.iter().filter(|d| {
                    let t = &d.task;
                    t.set == published.set && t.strategy == strategy && (t.budget, t.every) == (self.budget, self.every)
                });
                let times: Vec<f64> = of.map(|d| 1000.0 * d.choosing).collect();
                let printed = published.choosing.zip(["npu", "fass", "apc"].iter().position(|s| *s == strategy));
                row.push(middle(times).beside(printed.map_or(String::new(), |(p, at)| format!("{}", p[at]))));
            }
            table.rows.push(row);
        }
        println!("{}", table.markdown());
    }

    fn tables(&self, there: &[&Published], all: &[Dialogue]) {
        println!("## Tables 2 and 3: n/10 questions, answered by the classes\n");
        let mut columns = vec!["set"];
        columns.extend(COLUMNS.iter().map(|c| c.0));
        let mut nmi = Table::new("Table 2: NMI", 1, &columns);
        let mut times = Table::new("Table 3: milliseconds, choosing and one fit, middle of all runs", 1, &columns);
        for published in there {
            let (mut scores, mut spent) = (vec![Cell::words(published.set)], vec![Cell::words(published.set)]);
            for (c, (_, method, strategy)) in COLUMNS.iter().enumerate() {
                let of: Vec<&Dialogue> = all
                    .iter()
                    .filter(|d| {
                        let t = &d.task;
                        t.set == published.set
                            && t.method == *method
                            && t.strategy == strategy.unwrap_or("random")
                            && t.every == t.budget.max(1)
                            && (t.budget > 0) == strategy.is_some()
                    })
                    .collect();
                let values: Vec<f64> = of.iter().filter_map(|d| d.at(d.task.budget)).collect();
                let beside = |printed: &[f64; 6]| {
                    printed.get(c).map_or(String::new(), |v| format!("{v:.w$}", w = 2 + usize::from(*v < 1.0)))
                };
                scores.push(cell(&values, 3).beside(beside(&published.nmi)));
                let each: Vec<f64> = of.iter().map(|d| 1000.0 * (d.choosing + d.fit)).collect();
                spent.push(middle(each).beside(beside(&published.times)));
            }
            nmi.rows.push(scores);
            times.rows.push(spent);
        }
        nmi.mark_best(&(1..=COLUMNS.len()).collect::<Vec<_>>(), Better::Higher);
        println!("{}{}", nmi.markdown(), times.markdown());
    }
}
