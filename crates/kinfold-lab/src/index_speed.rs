//! How long the pairwise indices take, and how much memory: timed by scripts/silhouette-speed.py beside scikit-learn.

use std::path::PathBuf;
use std::time::Instant;

use kinfold::context::RunContext;
use kinfold::indices::{Internal, Sampling, score_rows};
use kinfold_io::{Input, ReadOptions, View, read_labels, read_table};

#[derive(clap::Args)]
pub struct IndexSpeedArgs {
    /// The rows
    #[arg(long)]
    data: PathBuf,
    /// Their labels, a CSV with the column `label`
    #[arg(long)]
    labels: PathBuf,
    /// Threads; 0 = all
    #[arg(long, default_value_t = 0)]
    threads: usize,
    /// Compare this many rows with all instead of all
    #[arg(long)]
    sample: Option<usize>,
}

/// Prints values, seconds and the peak of memory (where /proc tells) as one line of JSON.
pub fn run(args: &IndexSpeedArgs) -> Result<bool, String> {
    let options = ReadOptions { threads: args.threads, ..ReadOptions::default() };
    let file = read_table(&Input::from_arg(&args.data), &options).map_err(|e| e.to_string())?;
    let labels = read_labels(&Input::from_arg(&args.labels), None).map_err(|e| e.to_string())?;
    let labels: Vec<u32> = labels.labels.iter().map(|l| l.unwrap_or(0)).collect();
    let ctx = RunContext::new(0).with_threads(args.threads);
    let which = [Internal::Silhouette, Internal::NormalisedHubert];
    let sampling = args.sample.map_or(Sampling::Exact, Sampling::Rows);
    let before = peak();
    let begun = Instant::now();
    let scores = match file.rows.view().map_err(|e| e.to_string())? {
        View::F32(data) => score_rows(&ctx, &data, &[&labels], &which, sampling),
        View::F64(data) => score_rows(&ctx, &data, &[&labels], &which, sampling),
    };
    let seconds = begun.elapsed().as_secs_f64();
    let value = |i: usize| scores.values[0][i].map_or((f64::NAN, 0.0), |v| (v.value, v.error));
    println!(
        "{{\"silhouette\": {}, \"normalised_hubert\": {}, \"errors\": [{}, {}], \"seconds\": {seconds:.4}, \
         \"peak_mb_before\": {before}, \"peak_mb\": {}}}",
        value(0).0,
        value(1).0,
        value(0).1,
        value(1).1,
        peak()
    );
    Ok(true)
}

/// Largest resident memory so far, in MB; 0 where it cannot be told.
fn peak() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|l| l.strip_prefix("VmHWM:")).unwrap_or("");
    line.split_whitespace().next().and_then(|kb| kb.parse::<u64>().ok()).unwrap_or(0) / 1024
}
