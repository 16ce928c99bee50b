//! Closes and checks 10 million pairs over 1 million rows and prints seconds and peak memory:
//! `cargo run --release -p kinfold --example check_scale [pairs] [rows] [noise]`.

use std::time::{Duration, Instant};

use kinfold::constraints::{
    ConstraintSet, Feasibility, FeasibleOptions, Kind, RepairOptions, feasible, repair, smallest_k,
};
use kinfold::rng::Rng;

fn peak_megabytes() -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|l| l.starts_with("VmHWM")).unwrap_or("0");
    line.split_whitespace().filter_map(|w| w.parse::<f64>().ok()).next().unwrap_or(0.0) / 1024.0
}

fn timed<T>(what: &str, work: impl FnOnce() -> T) -> T {
    let start = Instant::now();
    let out = work();
    println!("{what:<28} {:>7.2} s   peak {:>6.0} MB", start.elapsed().as_secs_f64(), peak_megabytes());
    out
}

fn main() -> kinfold::Result<()> {
    let mut args = std::env::args().skip(1);
    let mut next = |default: f64| args.next().and_then(|x| x.parse().ok()).unwrap_or(default);
    let (pairs, rows, noise) = (next(1e7) as usize, next(1e6) as usize, next(0.0));
    // Classes of 20 rows, hidden behind a multiplication; half of the pairs are must-links.
    let class = |row: usize| (row.wrapping_mul(7_919) % rows) / 20;
    let inverse = timed("rows by class", || {
        let mut by_class: Vec<u32> = (0..rows as u32).collect();
        by_class.sort_by_key(|&row| class(row as usize));
        by_class
    });
    let mut set = ConstraintSet::new(rows);
    timed("pairs", || -> kinfold::Result<()> {
        let mut rng = Rng::stream(0, "scale", 0);
        set.reserve_pairs(pairs);
        for i in 0..pairs {
            let place = rng.below(rows);
            let (a, b) = if i % 2 == 0 {
                (place, (place / 20 * 20 + rng.below(20)).min(rows - 1))
            } else {
                (place, rng.below(rows))
            };
            let (a, b) = (inverse[a] as usize, inverse[b] as usize);
            let same = (class(a) == class(b)) != (rng.unit() < noise);
            set.add_pair(if same { Kind::MustLink } else { Kind::CannotLink }, a, b)?;
        }
        Ok(())
    })?;
    let total = Instant::now();
    let notes = timed("notes", || set.notes(100));
    let (chunklets, conflicts) = timed("closure and contradictions", || set.close_lenient(0.0))?;
    let redundancy = timed("redundancy", || set.redundancy(&chunklets));
    let options = FeasibleOptions::default();
    let bounds = timed("smallest k", || smallest_k(&chunklets, &options));
    let verdict = timed("feasible for k = 50", || feasible(&chunklets, 50, &options));
    let labels = chunklets.of_rows();
    let violations = timed("violations of a labelling", || set.violations(labels, 100));
    println!("check in all                 {:>7.2} s", total.elapsed().as_secs_f64());
    if !conflicts.is_empty() {
        let options =
            RepairOptions { treat_hard_as: Some(1.0), time_limit: Duration::from_secs(10), ..RepairOptions::default() };
        let fixed = timed("repair (10 s)", || repair(&set, None, &options))?;
        println!(
            "  {} dropped, cost {}, bound {}, optimal {}",
            fixed.dropped.len(),
            fixed.cost,
            fixed.lower_bound,
            fixed.optimal
        );
    }
    println!(
        "{} chunklets, {} edges, {} conflicts, {} notes, redundant {:.3}, k from {} to {}, k = 50 {}, broken {}",
        chunklets.len(),
        chunklets.graph().edge_count(),
        conflicts.len(),
        notes.total(),
        redundancy.ratio().unwrap_or(0.0),
        bounds.lower,
        bounds.upper,
        if matches!(verdict, Feasibility::Feasible(_)) { "feasible" } else { "not shown feasible" },
        violations.broken()
    );
    Ok(())
}
