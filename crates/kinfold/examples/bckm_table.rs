//! The table of Okabe & Yamada 2018 (NMI of ckm, rckm and bckm at 1, 5 and 10 % of all pairs), beside the printed one.
//!
//! `bckm_table DIR [sets=5] [starts=4] [only=iris+glass] [methods=ckm+bckm] [name=value …]` reads DIR/iris.csv and so on
//! (header line, class in the last column); further settings go to the methods that have them, say final_restarts=1 or
//! order=index. A star marks what is farther from the print than the larger spread, theirs or ours, and rounding.
//! `bckm_table time [n=100000] [noise=1]` times bckm on n rows around five centres with n constraints instead.

use std::error::Error;
use std::time::Instant;

use kinfold::constraints::{ConstraintSet, Kind};
use kinfold::context::RunContext;
use kinfold::data::Dataset;
use kinfold::indices::{INDICES, Scored};
use kinfold::pipeline::Job;
use kinfold::rng::Rng;

type Row = [(f64, f64); 3];

/// Table 2 of the paper: mean and spread over constraint sets at 1, 5 and 10 %, for ckm, rckm and bckm.
const PRINTED: [(&str, [Row; 3]); 9] = [
    (
        "iris",
        [
            [(0.78, 0.04), (0.75, 0.02), (0.75, 0.01)],
            [(0.81, 0.03), (0.88, 0.03), (0.88, 0.03)],
            [(0.81, 0.08), (0.99, 0.01), (0.99, 0.00)],
        ],
    ),
    (
        "ecoli",
        [
            [(0.60, 0.03), (0.62, 0.06), (0.63, 0.08)],
            [(0.62, 0.02), (0.61, 0.01), (0.61, 0.01)],
            [(0.66, 0.03), (0.81, 0.05), (0.81, 0.05)],
        ],
    ),
    (
        "wdbc",
        [
            [(0.42, 0.24), (0.62, 0.23), (0.73, 0.30)],
            [(0.89, 0.04), (0.96, 0.02), (0.98, 0.01)],
            [(0.90, 0.07), (0.96, 0.03), (0.99, 0.00)],
        ],
    ),
    (
        "sonar",
        [
            [(0.05, 0.05), (0.18, 0.20), (0.51, 0.30)],
            [(0.04, 0.04), (0.27, 0.17), (0.47, 0.22)],
            [(0.37, 0.23), (0.97, 0.03), (0.99, 0.00)],
        ],
    ),
    (
        "glass",
        [
            [(0.35, 0.02), (0.46, 0.10), (0.54, 0.11)],
            [(0.35, 0.03), (0.36, 0.02), (0.36, 0.02)],
            [(0.36, 0.04), (0.73, 0.05), (0.82, 0.05)],
        ],
    ),
    (
        "libras",
        [
            [(0.56, 0.01), (0.57, 0.01), (0.58, 0.01)],
            [(0.57, 0.01), (0.57, 0.01), (0.57, 0.01)],
            [(0.54, 0.02), (0.71, 0.02), (0.84, 0.02)],
        ],
    ),
    (
        "flame",
        [
            [(0.78, 0.38), (0.91, 0.28), (0.80, 0.39)],
            [(0.98, 0.02), (1.00, 0.00), (1.00, 0.00)],
            [(0.98, 0.03), (1.00, 0.00), (1.00, 0.00)],
        ],
    ),
    (
        "pathbased",
        [
            [(0.46, 0.22), (0.74, 0.07), (0.76, 0.04)],
            [(0.72, 0.21), (0.91, 0.15), (0.93, 0.12)],
            [(0.85, 0.14), (0.87, 0.14), (0.91, 0.13)],
        ],
    ),
    (
        "spiral",
        [
            [(0.17, 0.13), (0.58, 0.00), (0.58, 0.00)],
            [(0.05, 0.05), (0.07, 0.07), (0.09, 0.09)],
            [(0.96, 0.09), (0.93, 0.11), (0.95, 0.10)],
        ],
    ),
];

struct Table {
    values: Vec<f64>,
    dims: usize,
    classes: Vec<u32>,
    k: usize,
}

fn read(path: &str) -> Result<Table, Box<dyn Error>> {
    let text = std::fs::read_to_string(path).map_err(|e| format!("{path}: {e}"))?;
    let mut table = Table { values: Vec::new(), dims: 0, classes: Vec::new(), k: 0 };
    let mut names: Vec<&str> = Vec::new();
    for line in text.lines().skip(1).filter(|l| !l.is_empty()) {
        let mut cells: Vec<&str> = line.split(',').collect();
        let class = cells.pop().ok_or("an empty line")?;
        let at = names.iter().position(|n| *n == class).unwrap_or_else(|| {
            names.push(class);
            names.len() - 1
        });
        table.classes.push(at as u32);
        table.dims = cells.len();
        for cell in cells {
            table.values.push(cell.trim().parse()?);
        }
    }
    table.k = names.len();
    Ok(table)
}

/// `percent` of all pairs, drawn uniformly without repeats.
fn constraints(classes: &[u32], percent: f64, set: u64) -> Result<ConstraintSet, Box<dyn Error>> {
    let n = classes.len();
    let mut rng = Rng::stream(set, "pairs", 0);
    let mut all: Vec<(usize, usize)> = (0..n).flat_map(|a| (a + 1..n).map(move |b| (a, b))).collect();
    rng.shuffle(&mut all);
    let count = (percent / 100.0 * all.len() as f64) as usize;
    let mut given = ConstraintSet::new(n);
    for &(a, b) in &all[..count] {
        given.add_pair(if classes[a] == classes[b] { Kind::MustLink } else { Kind::CannotLink }, a, b)?;
    }
    Ok(given)
}

fn mean_and_spread(values: &[f64]) -> (f64, f64) {
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    let variance = values.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / values.len() as f64;
    (mean, variance.sqrt())
}

fn table(dir: &str, options: &[(String, String)]) -> Result<(), Box<dyn Error>> {
    let number = |name: &str, default: u64| {
        options.iter().find(|(n, _)| n == name).map_or(Ok(default), |(_, v)| v.parse::<u64>())
    };
    let (sets, starts) = (number("sets", 5)?, number("starts", 4)?);
    let only = options.iter().find(|(n, _)| n == "only").map(|(_, v)| v.as_str());
    let methods = options.iter().find(|(n, _)| n == "methods").map(|(_, v)| v.as_str());
    let nmi = INDICES.iter().find(|e| e.name == "nmi_geometric").ok_or("no nmi_geometric")?;
    println!(
        "data       method  ours at 1, 5, 10 % (spread over sets)      printed                          rounds   s"
    );
    for (name, printed) in PRINTED.iter().filter(|(name, _)| only.is_none_or(|o| o.split('+').any(|o| o == *name))) {
        let data = read(&format!("{dir}/{name}.csv"))?;
        let rows = Dataset::dense(&data.values, data.dims)?;
        let shape = ["flame", "pathbased", "spiral"].contains(name);
        for (method, printed) in ["ckm", "rckm", "bckm"].into_iter().zip(printed) {
            if methods.is_some_and(|m| m.split('+').all(|m| m != method)) {
                continue;
            }
            let known: Vec<&str> =
                (kinfold::methods::find(method)?.parameters)().iter().map(|parameter| parameter.name).collect();
            let mut job = Job::new(method, data.k);
            job.settings.extend(options.iter().filter(|(n, _)| known.contains(&n.as_str())).cloned());
            if shape {
                job.settings.push(("kernel".into(), "rbf-local".into()));
            }
            let begun = Instant::now();
            let (mut cells, mut rounds) = (String::new(), String::new());
            for (at, percent) in [1.0, 5.0, 10.0].into_iter().enumerate() {
                let (mut by_set, mut turns) = (Vec::new(), 0);
                for set in 0..sets {
                    let given = constraints(&data.classes, percent, set)?;
                    let mut total = 0.0;
                    for start in 0..starts {
                        let run = job.run(&RunContext::new(1000 * set + start), &rows, &given)?;
                        let scored = Scored { labels: &run.labels, truth: Some(&data.classes), constraints: None };
                        total += (nmi.score)(&scored).unwrap_or(0.0);
                        turns += run.iterations;
                    }
                    by_set.push(total / starts as f64);
                }
                let (mean, spread) = mean_and_spread(&by_set);
                let theirs = printed[at];
                let mark = if (mean - theirs.0).abs() <= theirs.1.max(spread) + 0.01 { ' ' } else { '*' };
                cells.push_str(&format!(" {mean:.2} ±{spread:.2}{mark}"));
                rounds.push_str(&format!(" {:.0}", turns as f64 / (sets * starts) as f64));
            }
            let theirs: String = printed.iter().map(|(m, s)| format!(" {m:.2} ±{s:.2}")).collect();
            println!("{name:10} {method:6} {cells}    {theirs}   {rounds}  {:.1}", begun.elapsed().as_secs_f64());
        }
    }
    Ok(())
}

fn time(options: &[(String, String)]) -> Result<(), Box<dyn Error>> {
    let number = |name: &str, default: f64| {
        options.iter().find(|(n, _)| n == name).map_or(Ok(default), |(_, v)| v.parse::<f64>())
    };
    let (n, noise, threads) = (number("n", 1e5)? as usize, number("noise", 1.0)?, number("threads", 0.0)? as usize);
    let (dims, k) = (10, 5);
    let mut rng = Rng::stream(1, "rows", 0);
    let classes: Vec<u32> = (0..n).map(|_| rng.below(k) as u32).collect();
    // Classes that overlap, so that boosting has something to do in all of its rounds.
    let centres: Vec<f64> = (0..k * dims).map(|_| rng.normal()).collect();
    let values: Vec<f64> =
        (0..n * dims).map(|i| centres[classes[i / dims] as usize * dims + i % dims] + noise * rng.normal()).collect();
    let mut given = ConstraintSet::new(n);
    for _ in 0..n {
        let a = rng.below(n);
        let b = (a + 1 + rng.below(n - 1)) % n;
        given.add_pair(if classes[a] == classes[b] { Kind::MustLink } else { Kind::CannotLink }, a, b)?;
    }
    let mut job = Job::new("bckm", k);
    let own = ["n", "noise", "threads"];
    job.settings.extend(options.iter().filter(|(name, _)| !own.contains(&name.as_str())).cloned());
    let run = job.run(&RunContext::new(0).with_threads(threads), &Dataset::dense(&values, dims)?, &given)?;
    println!("n = {n}, {n} constraints: {:.2} s, {} rounds", run.elapsed.as_secs_f64(), run.iterations);
    println!("{}; {} broken of {n}", run.notes.join("; "), run.violations.must_link + run.violations.cannot_link);
    Ok(())
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let options: Vec<(String, String)> =
        arguments.iter().filter_map(|a| a.split_once('=')).map(|(n, v)| (n.to_owned(), v.to_owned())).collect();
    match arguments.first().map(String::as_str) {
        Some("time") => time(&options),
        Some(dir) => table(dir, &options),
        None => Err("give the directory of the data, or time".into()),
    }
}
