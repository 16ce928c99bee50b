//! Reading speed: `cargo run --release -p kinfold-io --example read_speed [csv|answers|npy|FILE] [MEGABYTES] [THREADS]`.
//! Makes the file in the temporary directory if it is not there, reads it a few times and prints MB/s.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Instant;

use kinfold_io::{AnswerOptions, Ids, Input, ReadOptions, read_answers, read_answers_alone, read_table};

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let what = args.first().map_or("csv", String::as_str);
    let size: usize = args.get(1).and_then(|a| a.parse().ok()).unwrap_or(200) << 20;
    let threads: usize = args.get(2).and_then(|a| a.parse().ok()).unwrap_or(2);
    let path = match what {
        "csv" | "quoted" | "answers" => make(what, size),
        file => PathBuf::from(file),
    };
    let megabytes = std::fs::metadata(&path).map_or(0, |m| m.len()) as f64 / 1e6;
    for _ in 0..3 {
        let start = Instant::now();
        let rows = if what == "answers" {
            let ids = Ids::numbers(1_000_000);
            let options = AnswerOptions { threads, ..AnswerOptions::default() };
            read_answers(&Input::from_arg(&path), &ids, &options).map(|a| a.pairs.len())
        } else {
            let options = ReadOptions { threads, ..ReadOptions::default() };
            read_table(&Input::from_arg(&path), &options).map(|f| f.n())
        };
        let seconds = start.elapsed().as_secs_f64();
        match rows {
            Ok(rows) => println!("{rows} rows, {megabytes:.0} MB in {seconds:.2} s: {:.0} MB/s", megabytes / seconds),
            Err(e) => println!("{e}"),
        }
    }
    if what == "answers" {
        let start = Instant::now();
        if let Ok((ids, answers)) = read_answers_alone(&Input::from_arg(&path)) {
            println!(
                "alone: {} ids, {} pairs in {:.2} s",
                ids.len(),
                answers.pairs.len(),
                start.elapsed().as_secs_f64()
            );
        }
    }
    if let Ok(status) = std::fs::read_to_string("/proc/self/status") {
        status.lines().filter(|l| l.starts_with("VmHWM") || l.starts_with("RssAnon")).for_each(|l| println!("{l}"));
    }
}

fn make(what: &str, size: usize) -> PathBuf {
    let path = std::env::temp_dir().join(format!("kinfold-{what}-{}.csv", size >> 20));
    if !Path::new(&path).exists() {
        let mut out =
            std::io::BufWriter::new(std::fs::File::create(&path).expect("the temporary directory is writable"));
        let mut state = 1u64;
        let mut next = || {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            state >> 33
        };
        let mut written = 0;
        let header = if what == "answers" {
            "id_a,id_b,answer".to_string()
        } else {
            "name,".to_string() + &(0..20).map(|i| format!("x{i}")).collect::<Vec<_>>().join(",")
        };
        writeln!(out, "{header}").expect("written");
        let mut row = 0u64;
        while written < size {
            let line = if what == "answers" {
                format!(
                    "{},{},{}\n",
                    next() % 1_000_000,
                    next() % 1_000_000,
                    if next() % 2 == 0 { "same" } else { "different" }
                )
            } else {
                let mut line = if what == "quoted" { format!("\"row, {row}\"") } else { format!("row {row}") };
                for _ in 0..20 {
                    line += &format!(",{}", next() as f64 / 2147483648.0 - 0.5);
                }
                line + "\n"
            };
            out.write_all(line.as_bytes()).expect("written");
            written += line.len();
            row += 1;
        }
    }
    path
}
