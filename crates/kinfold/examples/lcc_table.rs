//! The tables of two papers beside our numbers, and the time of an iteration.
//!
//! `lcc_table DIRECTORY [data=NAME,…] [name=value …]` — Ganji et al., tables 2 and 3 (violated cannot-links, NMI) for `lcc` with and without repair;
//! Jia et al., figure 2 (Rand index on iris at 400 constraints) for `mlcl` and `greedy-mlcl`. DIRECTORY holds
//! `iris.csv`, … with a header, numeric columns and the class last.
//! `lcc_table time` — `cop-kmeans` at 10,000 × 20 and one `lcc` sweep against one `kmeans` iteration at 1,000,000 × 20.

use std::path::Path;
use std::time::Instant;

use kinfold::constraints::{ConstraintSet, Kind};
use kinfold::context::RunContext;
use kinfold::data::{Dataset, Scaling};
use kinfold::indices::{INDICES, Scored};
use kinfold::pipeline::{Job, Run};
use kinfold::rng::Rng;

/// Name, violated cannot-links and NMI of LCC at n/4, n/2 and n constraints, as printed in tables 2 and 3.
const PRINTED: &[(&str, [f64; 3], [f64; 3])] = &[
    ("iris", [0.0, 0.0, 0.0], [0.79, 0.84, 0.88]),
    ("wine", [0.1, 0.4, 1.3], [0.46, 0.50, 0.67]),
    ("ionosphere", [1.3, 5.9, 7.1], [0.12, 0.20, 0.62]),
    ("wdbc", [0.9, 0.4, 1.0], [0.62, 0.77, 0.90]),
    ("kdd-control", [0.3, 0.3, 3.2], [0.68, 0.72, 0.81]),
    ("vehicle", [1.7, 4.1, 30.1], [0.17, 0.18, 0.25]),
    ("glass", [0.0, 0.2, 1.3], [0.40, 0.43, 0.51]),
    ("breast-tissue", [0.1, 0.3, 1.4], [0.37, 0.41, 0.53]),
    ("ecoli", [1.0, 2.2, 5.0], [0.58, 0.62, 0.67]),
];

struct Labelled {
    rows: Vec<f64>,
    dims: usize,
    truth: Vec<u32>,
    k: usize,
}

fn read(path: &Path) -> Result<Labelled, Box<dyn std::error::Error>> {
    let text = std::fs::read_to_string(path)?;
    let (mut rows, mut truth, mut names, mut dims) = (Vec::new(), Vec::new(), Vec::new(), 0);
    for line in text.lines().skip(1).filter(|l| !l.is_empty()) {
        let mut cells: Vec<&str> = line.split(',').collect();
        let label = cells.pop().ok_or("an empty line")?.to_owned();
        dims = cells.len();
        for cell in cells {
            rows.push(cell.trim().parse::<f64>()?);
        }
        let at = names.iter().position(|n| *n == label).unwrap_or_else(|| {
            names.push(label);
            names.len() - 1
        });
        truth.push(at as u32);
    }
    Ok(Labelled { rows, dims, truth, k: names.len() })
}

/// Half must-links, half cannot-links: a random row, then a random partner of the same (another) class.
fn balanced(truth: &[u32], total: usize, rng: &mut Rng) -> ConstraintSet {
    let n = truth.len();
    let mut given = ConstraintSet::new(n);
    let mut made = 0;
    while made < total {
        let kind = if made < total.div_ceil(2) { Kind::MustLink } else { Kind::CannotLink };
        let a = rng.below(n);
        let fits = |b: usize| b != a && (truth[a] == truth[b]) == (kind == Kind::MustLink);
        let partners: Vec<usize> = (0..n).filter(|&b| fits(b)).collect();
        if !partners.is_empty() && given.add_pair(kind, a, partners[rng.below(partners.len())]).is_ok() {
            made += 1;
        }
    }
    given
}

/// The protocol of Jia et al. with sets of two: must-linked pairs of one label, then cannot-linked pairs of merged points
/// without replacement, as many of the `total / 2` as there are points for.
fn disjoint_pairs(truth: &[u32], total: usize, rng: &mut Rng) -> ConstraintSet {
    let (n, half) = (truth.len(), total / 2);
    let mut given = ConstraintSet::new(n);
    for _ in 0..half {
        let a = rng.below(n);
        let partners: Vec<usize> = (0..n).filter(|&b| b != a && truth[a] == truth[b]).collect();
        let _ = given.add_pair(Kind::MustLink, a, partners[rng.below(partners.len())]);
    }
    let Ok(chunklets) = given.close() else { return given };
    let mut left: Vec<u32> = (0..chunklets.len() as u32).collect();
    let class = |c: u32| truth[chunklets.members(c)[0] as usize];
    for _ in 0..half {
        let a = left[rng.below(left.len())];
        let others: Vec<u32> = left.iter().copied().filter(|&b| class(a) != class(b)).collect();
        if others.is_empty() {
            break;
        }
        let b = others[rng.below(others.len())];
        left.retain(|&c| c != a && c != b);
        let _ = given.add_pair(Kind::CannotLink, chunklets.members(a)[0] as usize, chunklets.members(b)[0] as usize);
        if left.len() < 2 {
            break;
        }
    }
    given
}

fn score(name: &str, labels: &[u32], truth: &[u32]) -> f64 {
    let scored = Scored { labels, truth: Some(truth), constraints: None };
    INDICES.iter().find(|i| i.name == name).and_then(|i| (i.score)(&scored)).unwrap_or(f64::NAN)
}

fn run(set: &Labelled, given: &ConstraintSet, job: &Job, seed: u64) -> Result<Run, kinfold::Error> {
    job.run(&RunContext::new(seed).with_threads(1), &Dataset::dense(&set.rows, set.dims)?, given)
}

fn job(method: &str, k: usize, scaling: Scaling, settings: &[(&str, &str)]) -> Job {
    let settings = settings.iter().map(|(a, b)| (a.to_string(), b.to_string())).collect();
    Job { settings, scaling, ..Job::new(method, k) }
}

fn mean_and_deviation(values: &[f64]) -> (f64, f64) {
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    (mean, (values.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / values.len() as f64).sqrt())
}

fn lcc_tables(directory: &Path, only: &str, extra: &[(&str, &str)]) -> Result<(), Box<dyn std::error::Error>> {
    println!(
        "violated cannot-links, then NMI; printed | repair=no | repair=yes | standardised no | yes | 10 restarts, yes"
    );
    for (name, violations, nmi) in PRINTED.iter().filter(|p| only.is_empty() || only.split(',').any(|o| o == p.0)) {
        let set = read(&directory.join(format!("{name}.csv")))?;
        let n = set.truth.len();
        for (at, total) in [n / 4, n / 2, n].into_iter().enumerate() {
            let mut line = format!("{name:14}{total:5}  {:5.1} {:.2}", violations[at], nmi[at]);
            for (scaling, repair, restarts) in [
                (Scaling::None, "no", "1"),
                (Scaling::None, "yes", "1"),
                (Scaling::Standard, "no", "1"),
                (Scaling::Standard, "yes", "1"),
                (Scaling::None, "yes", "10"),
            ] {
                let (mut broken, mut scores) = (Vec::new(), Vec::new());
                for constraint_set in 0..5 {
                    let mut rng = Rng::stream(constraint_set, name, total as u64);
                    let given = balanced(&set.truth, total, &mut rng);
                    for seed in 0..if restarts == "1" { 4 } else { 1 } {
                        let settings = [&[("restarts", restarts), ("repair", repair)], extra].concat();
                        let job = job("lcc", set.k, scaling, &settings);
                        let run = run(&set, &given, &job, seed)?;
                        broken.push(run.violations.broken() as f64);
                        scores.push(score("nmi", &run.labels, &set.truth));
                    }
                }
                let (mean, deviation) = mean_and_deviation(&scores);
                line += &format!(" | {:5.2} {mean:.2}±{deviation:.2}", mean_and_deviation(&broken).0);
            }
            println!("{line}");
        }
    }
    Ok(())
}

fn rand_on_iris(directory: &Path) -> Result<(), Box<dyn std::error::Error>> {
    let set = read(&directory.join("iris.csv"))?;
    println!(
        "iris, pairs of figure 2, Rand index: constraints, mlcl (printed .970 at 400), greedy-mlcl (.922), 20 sets × 5 runs"
    );
    for total in [0, 80, 160, 240, 320, 400] {
        let mut line = format!("{total:4}");
        for (method, settings) in [
            ("mlcl", &[("restarts", "1"), ("init", "kmeans++")][..]),
            ("greedy-mlcl", &[("restarts", "1")]),
            ("mlcl", &[("restarts", "10")]),
            ("greedy-mlcl", &[("restarts", "10")]),
        ] {
            let (mut scores, mut broken) = (Vec::new(), 0);
            for constraint_set in 0..20 {
                let given =
                    disjoint_pairs(&set.truth, total, &mut Rng::stream(constraint_set, "iris sets", total as u64));
                for seed in 0..5 {
                    let run = run(&set, &given, &job(method, set.k, Scaling::None, settings), seed)?;
                    scores.push(score("rand", &run.labels, &set.truth));
                    broken += run.violations.broken();
                }
            }
            let (mean, deviation) = mean_and_deviation(&scores);
            line += &format!(" | {method} {mean:.3}±{deviation:.3} broken {broken}");
        }
        println!("{line}");
    }
    Ok(())
}

/// Gaussian groups with their labels.
fn blobs(n: usize, dims: usize, k: usize, spread: f64) -> (Vec<f32>, Vec<u32>) {
    let mut rng = Rng::stream(1, "blobs", 0);
    let spots: Vec<f64> = (0..k * dims).map(|_| spread * rng.normal()).collect();
    let truth: Vec<u32> = (0..n).map(|_| rng.below(k) as u32).collect();
    let rows = (0..n * dims).map(|at| (spots[truth[at / dims] as usize * dims + at % dims] + rng.normal()) as f32);
    (rows.collect(), truth)
}

/// Processor time of this thread where the system tells it, else wall time: other work does not disturb it.
fn seconds() -> f64 {
    let used = std::fs::read_to_string("/proc/thread-self/schedstat").ok();
    let nanoseconds = used.and_then(|text| text.split(' ').next()?.parse::<f64>().ok());
    nanoseconds.map_or_else(|| BEGUN.elapsed().as_secs_f64(), |ns| ns * 1e-9)
}

static BEGUN: std::sync::LazyLock<Instant> = std::sync::LazyLock::new(Instant::now);

fn time() -> Result<(), Box<dyn std::error::Error>> {
    let plain = |k, method: &str, settings: &[(&str, &str)]| job(method, k, Scaling::None, settings);
    let (rows, truth) = blobs(10_000, 20, 20, 1.0);
    let given = balanced(&truth, 1000, &mut Rng::stream(2, "time", 0));
    let data = Dataset::dense(&rows, 20)?;
    for settings in [&[("restarts", "1")][..], &[("restarts", "10")]] {
        for method in ["kmeans", "cop-kmeans", "mlcl", "lcc"] {
            let begun = seconds();
            let run = plain(20, method, settings).run(&RunContext::new(1).with_threads(1), &data, &given)?;
            let (seconds, broken) = (seconds() - begun, run.violations.broken());
            println!(
                "10,000 × 20, k = 20, 1,000 constraints, {settings:?}: {method} {seconds:.4} s, {} iterations, broken {broken} {:?}",
                run.iterations, run.notes
            );
        }
    }
    let (rows, truth) = blobs(1_000_000, 20, 20, 0.5);
    let mut given = ConstraintSet::new(truth.len());
    let mut rng = Rng::stream(2, "time", 1);
    let n = truth.len();
    while given.pairs().len() < 100_000 {
        let (a, b) = (rng.below(n), rng.below(n));
        let kind = if given.pairs().len() % 2 == 0 { Kind::MustLink } else { Kind::CannotLink };
        if a != b && (truth[a] == truth[b]) == (kind == Kind::MustLink) {
            given.add_pair(kind, a, b)?;
        }
    }
    let data = Dataset::dense(&rows, 20)?;
    let ctx = RunContext::new(1).with_threads(1);
    // The time of an iteration is the slope between a short and a long run: seeding and set-up cancel.
    for method in ["kmeans", "lcc", "cop-kmeans", "mlcl"] {
        let limit = if method == "lcc" { "sweeps" } else { "max_iter" };
        let mut best = [f64::INFINITY; 2];
        let mut iterations = [0; 2];
        for _ in 0..3 {
            for (at, count) in ["3", "13"].into_iter().enumerate() {
                let settings: &[(&str, &str)] = &[("restarts", "1"), (limit, count)];
                let no = [settings, &[("repair", "no")]].concat();
                let job = plain(20, method, if method == "lcc" { &no } else { settings });
                let begun = seconds();
                let run = job.run(&ctx, &data, &given)?;
                iterations[at] = run.trace.len();
                best[at] = best[at].min(seconds() - begun);
            }
        }
        let each = (best[1] - best[0]) / (iterations[1] - iterations[0]) as f64;
        println!(
            "1,000,000 × 20 f32, k = 20, 100,000 constraints: {method} {:.1} ms an iteration ({iterations:?})",
            1e3 * each
        );
    }
    Ok(())
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let extra: Vec<(&str, &str)> = arguments.iter().skip(1).filter_map(|a| a.split_once('=')).collect();
    let only = extra.iter().find(|(name, _)| *name == "data").map_or("", |(_, sets)| sets);
    let settings: Vec<(&str, &str)> = extra.iter().copied().filter(|(name, _)| *name != "data").collect();
    match arguments.first().map(String::as_str) {
        Some("time") => time(),
        Some(directory) => {
            lcc_tables(Path::new(directory), only, &settings)?;
            if only.is_empty() { rand_on_iris(Path::new(directory)) } else { Ok(()) }
        }
        None => Err("usage: lcc_table DIRECTORY [data=NAME,…] [name=value of lcc …] | time".into()),
    }
}
