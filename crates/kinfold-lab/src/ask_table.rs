//! Learning curves of the query strategies: NMI against questions, by strategy, data set and seed; and the bar of `auto`:
//! the NMI that `random` ends with, reached with at most half its questions and fewer than any other strategy needs.

use std::path::PathBuf;
use std::sync::Arc;

use kinfold::blocks::par::Pool;
use kinfold::context::RunContext;
use kinfold::data::Scaling;
use kinfold::pipeline::{Job, Oracle, Simulation};
use kinfold::queries::{Ground, QUERIES};
use kinfold_io::View;

use crate::protocol::Source;

#[derive(clap::Args)]
pub struct AskTable {
    /// Folder with NAME.csv, true classes in the column `label`
    #[arg(long)]
    data: PathBuf,
    /// Data sets
    #[arg(long, value_delimiter = ',', default_value = "ecoli,heart,sonar,wdbc,segment,protein,optdigits-test")]
    sets: Vec<String>,
    /// Strategies; all unless named. A setting may follow: auto:refresh=10
    #[arg(long, value_delimiter = ',')]
    strategies: Vec<String>,
    /// The method that clusters under the answers
    #[arg(long, default_value = "mlcl")]
    method: String,
    /// Settings of the method
    #[arg(long = "set", value_delimiter = ',', default_value = "restarts=3")]
    settings: Vec<String>,
    /// Questions at most
    #[arg(long, default_value_t = 200)]
    budget: usize,
    /// Questions between points of the curve
    #[arg(long, default_value_t = 10)]
    every: usize,
    /// Seeds
    #[arg(long, default_value_t = 3)]
    seeds: u64,
    /// Share of wrong answers
    #[arg(long, default_value_t = 0.0)]
    error: f64,
    /// Threads
    #[arg(long, default_value_t = 2)]
    threads: usize,
}

/// Mean curve of a strategy on a set: (questions, mean, sd).
type Curve = Vec<(usize, f64, f64)>;

impl AskTable {
    pub fn run(&self) -> Result<bool, String> {
        let strategies: Vec<String> = if self.strategies.is_empty() {
            QUERIES.iter().map(|e| e.info.name.to_owned()).collect()
        } else {
            self.strategies.clone()
        };
        let mut needed: Vec<Vec<Option<f64>>> = Vec::new();
        for set in &self.sets {
            let (file, truth) = Source::Folder(self.data.clone()).read(set)?;
            let k = truth.iter().max().map_or(1, |&m| m as usize + 1);
            let Ok(View::F64(data)) = file.rows.view() else { return Err("rows of doubles are expected".into()) };
            let ground = Arc::new(Ground::new(&data, &Pool::new(1)).map_err(|e| e.to_string())?);
            let tasks: Vec<(usize, u64)> =
                (0..strategies.len()).flat_map(|s| (0..self.seeds).map(move |x| (s, x))).collect();
            let done = Pool::new(self.threads).map(tasks.len(), |t| {
                let (s, seed) = tasks[t];
                let simulation = self.simulation(&strategies[s], k)?;
                let ctx = RunContext::on_pool(100 + seed, &Pool::new(1));
                simulation.run(&ctx, &data, &ground, &truth).map_err(|e| format!("{set} {}: {e}", strategies[s]))
            });
            let mut curves: Vec<Curve> = Vec::new();
            for s in 0..strategies.len() {
                let runs: Vec<_> = tasks.iter().zip(&done).filter(|(t, _)| t.0 == s).map(|(_, d)| d.as_ref()).collect();
                let runs = runs.into_iter().collect::<Result<Vec<_>, _>>().map_err(Clone::clone)?;
                let curve = (0..=self.budget / self.every).map(|p| {
                    let at = p * self.every;
                    let values: Vec<f64> = runs
                        .iter()
                        .filter_map(|r| r.points.iter().rev().find(|x| x.asked <= at))
                        .map(|x| x.scores.iter().find(|s| s.0 == "nmi").and_then(|s| s.1).unwrap_or(0.0))
                        .collect();
                    let mean = values.iter().sum::<f64>() / values.len() as f64;
                    let sd = (values.iter().map(|v| (v - mean).powi(2)).sum::<f64>()
                        / (values.len() as f64 - 1.0).max(1.0))
                    .sqrt();
                    (at, mean, sd)
                });
                curves.push(curve.collect());
                let time: f64 = runs.iter().map(|r| r.choosing.as_secs_f64()).sum::<f64>()
                    / runs.iter().map(|r| r.asked).sum::<usize>().max(1) as f64;
                let shown: Vec<String> =
                    curves[s].iter().step_by((20 / self.every).max(1)).map(|p| format!("{:.3}", p.1)).collect();
                println!("{set:>15} {:<22} {}  ({:.1} ms a question)", strategies[s], shown.join(" "), 1e3 * time);
            }
            let random = strategies.iter().position(|s| s == "random");
            if let Some(r) = random {
                let target = curves[r].last().map_or(0.0, |p| p.1);
                let row: Vec<Option<f64>> = curves.iter().map(|c| reaches(c, target)).collect();
                let text: Vec<String> = strategies
                    .iter()
                    .zip(&row)
                    .map(|(s, q)| format!("{s} {}", q.map_or("-".into(), |q| format!("{q:.0}"))))
                    .collect();
                println!("{set:>15} questions to {target:.3}: {}", text.join(", "));
                needed.push(row);
            }
        }
        if !needed.is_empty() {
            println!("mean questions to what random ends with (not reached counts as {}):", self.budget);
            for (s, name) in strategies.iter().enumerate() {
                let mean =
                    needed.iter().map(|row| row[s].unwrap_or(self.budget as f64)).sum::<f64>() / needed.len() as f64;
                println!("{name:<24} {mean:.1}");
            }
        }
        Ok(true)
    }

    fn simulation(&self, strategy: &str, k: usize) -> Result<Simulation, String> {
        let mut parts = strategy.split(':');
        let name = parts.next().unwrap_or_default();
        let setting = |text: &str| {
            text.split_once('=').map(|(a, b)| (a.to_owned(), b.to_owned())).ok_or(format!("{text}: name=value"))
        };
        let settings = parts.map(setting).collect::<Result<Vec<_>, _>>()?;
        let mut job = Job::new(&self.method, k);
        job.settings =
            self.settings.iter().filter(|s| !s.is_empty()).map(|s| setting(s)).collect::<Result<Vec<_>, _>>()?;
        let chooses = kinfold::methods::find(&self.method).map_err(|e| e.to_string())?.info.represents;
        job.scaling = (!chooses).then_some(Scaling::Standard);
        let oracle = Oracle { error: self.error, unsure: 0.0, seed: 0 };
        Ok(Simulation {
            strategy: name.to_owned(),
            settings,
            job,
            budget: self.budget,
            every: self.every,
            oracle,
            tell_k: true,
        })
    }
}

/// Questions after which a curve stays at or above the target, between points in a straight line.
fn reaches(curve: &[(usize, f64, f64)], target: f64) -> Option<f64> {
    let last_below = curve.iter().rposition(|p| p.1 < target);
    match last_below {
        None => Some(0.0),
        Some(at) if at + 1 == curve.len() => None,
        Some(at) => {
            let (a, b) = (curve[at], curve[at + 1]);
            Some(a.0 as f64 + (b.0 - a.0) as f64 * (target - a.1) / (b.1 - a.1))
        }
    }
}
