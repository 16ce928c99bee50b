//! The sections of the bench.

use std::time::Instant;

use kinfold::constraints::{Chunklets, ConstraintSet, Feasibility, FeasibleOptions, Kind, feasible, generate};
use kinfold::context::RunContext;
use kinfold::data::{Float, Matrix};
use kinfold::rng::Rng;
use kinfold_io::{Input, ReadOptions, read_table};
use serde_json::json;

use super::SpeedArgs;
use super::data::{Folder, Mixture, write_npy, write_pairs};
use super::ours::{self, Placing, Timed};
use super::peers::{Answer, Peers};
use super::report::{Entry, Line, Report};
use super::roofline;

pub struct Bench<'a> {
    pub args: &'a SpeedArgs,
    pub report: Report,
    pub peers: Option<Peers>,
    pub folder: Folder,
}

/// Class centres this far apart overlap enough that k-means takes its time.
const SPREAD: f64 = 0.5;

/// Mean time of an iteration from the times of a short and a long run.
fn per_iteration(short: (usize, f64), long: (usize, f64)) -> f64 {
    (long.1 - short.1) / (long.0 - short.0).max(1) as f64
}

fn text(n: usize) -> String {
    let digits = n.to_string();
    let mut out = String::new();
    for (i, c) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push(',');
        }
        out.push(c);
    }
    out
}

impl Bench<'_> {
    fn ctx(&self) -> RunContext {
        RunContext::new(1).with_threads(self.args.threads)
    }

    fn add(&mut self, section: &'static str, what: String, ours: f64) -> Entry {
        Entry {
            section: section.to_owned(),
            what,
            ours,
            peer: None,
            theirs: None,
            ratio: None,
            bar: None,
            note: String::new(),
        }
    }

    fn against(&mut self, mut entry: Entry, peer: &str, theirs: Result<f64, String>, bar: Option<(bool, f64)>) {
        entry.peer = Some(peer.to_owned());
        match theirs {
            Ok(theirs) => {
                entry.theirs = Some(theirs);
                entry.ratio = Some(theirs / entry.ours);
                entry.bar = bar;
            }
            Err(why) => entry.note = why,
        }
        self.report.add(entry);
    }

    fn ask(&mut self, request: serde_json::Value) -> Answer {
        match &mut self.peers {
            Some(peers) => peers.ask(&request),
            None => Answer { failed: Some("left out".to_owned()), ..Answer::default() },
        }
    }

    pub fn roofline(&mut self) -> Result<(), String> {
        let found = roofline::measure(self.args.threads);
        self.report.note(format!(
            "Roofline, {} threads: memory {:.1} GB/s; {:.0} GFMA/s in f32, {:.0} in f64.",
            self.args.threads,
            found.bytes / 1e9,
            found.f32_fma / 1e9,
            found.f64_fma / 1e9
        ));
        Ok(())
    }

    pub fn iteration(&mut self) -> Result<(), String> {
        let cut = if self.args.quick { 10 } else { 1 };
        let limits = roofline::measure(self.args.threads);
        for (n, dims, k, iterations, bar) in
            [(1_000_000, 20, 20, 30, 1.5), (100_000, 128, 100, 20, 1.0), (100_000, 384, 1000, 3, 1.0)]
        {
            let mixture = Mixture::new(n / cut, dims, k, SPREAD);
            self.iterations::<f32>(&mixture, &mixture.values, iterations, bar, &limits)?;
            if k < 1000 {
                let wide: Vec<f64> = mixture.values.iter().map(|&v| f64::from(v)).collect();
                self.iterations::<f64>(&mixture, &wide, iterations, bar, &limits)?;
            }
        }
        Ok(())
    }

    fn files<F: Float>(&self, values: &[F], start: &Matrix) -> Result<(String, String), String> {
        let (x, c) = (self.folder.0.join("x.npy"), self.folder.0.join("c.npy"));
        write_npy(&x, values.iter().copied(), values.len() / start.cols(), start.cols())?;
        write_npy(&c, start.values().iter().map(|&v| F::from_f64(v)), start.rows(), start.cols())?;
        Ok((x.display().to_string(), c.display().to_string()))
    }

    fn iterations<F: Float>(
        &mut self,
        mixture: &Mixture,
        values: &[F],
        iterations: usize,
        bar: f64,
        limits: &roofline::Roofline,
    ) -> Result<(), String> {
        let (ctx, start) = (self.ctx(), mixture.start());
        let (n, dims, k) = (mixture.n(), mixture.dims, mixture.k);
        let (x, c) = self.files(values, &start)?;
        let lengths = [1, 1 + iterations];
        let mut best = [[f64::INFINITY; 2]; 3];
        let mut why: [Option<String>; 3] = [const { None }; 3];
        for _ in 0..self.args.turns {
            for (i, &length) in lengths.iter().enumerate() {
                best[0][i] = best[0][i].min(ours::plain(&ctx, values, &start, length)?.seconds);
                let ops = [json!({"op": "sklearn", "algorithm": "lloyd"}), json!({"op": "faiss"})];
                for (p, mut request) in ops.into_iter().enumerate() {
                    // faiss works in f32 and scikit-learn takes long at k = 1000.
                    if (p == 1 && F::NAME == "f64") || (p == 0 && k >= 1000) {
                        why[p + 1] = Some("not run".to_owned());
                        continue;
                    }
                    request["x"] = json!(x);
                    request["c"] = json!(c);
                    request["iterations"] = json!(length);
                    let answer = self.ask(request);
                    match answer.failed {
                        None => best[p + 1][i] = best[p + 1][i].min(answer.seconds),
                        failed => why[p + 1] = failed,
                    }
                }
            }
        }
        let mean = |t: &[f64; 2]| per_iteration((lengths[0], t[0]), (lengths[1], t[1]));
        let what = format!("iteration, {} × {dims}, k = {k}, {}", text(n), F::NAME);
        let ours = mean(&best[0]);
        let fma = (n * k * dims) as f64 / ours;
        let peak = if F::NAME == "f32" { limits.f32_fma } else { limits.f64_fma };
        let bytes = std::mem::size_of_val(values) as f64 / ours;
        let note = format!(
            "{:.0} % of the FMA peak, {:.0} % of the bandwidth",
            100.0 * fma / peak,
            100.0 * bytes / limits.bytes
        );
        for (p, name) in ["scikit-learn", "faiss"].into_iter().enumerate() {
            let bar = match (p, k) {
                (0, _) => Some((true, bar)),
                (_, 1000) => Some((true, 0.77)), // within 1.3 times
                _ => None,
            };
            let mut entry = self.add("Plain k-means", what.clone(), ours);
            entry.note = note.clone();
            match why[p + 1].take() {
                None => self.against(entry, name, Ok(mean(&best[p + 1])), bar),
                Some(why) if why == "not run" => {}
                Some(why) => self.against(entry, name, Err(why), None),
            }
        }
        Ok(())
    }

    pub fn convergence(&mut self) -> Result<(), String> {
        let cut = if self.args.quick { 10 } else { 1 };
        for (n, dims, k, spread) in [(1_000_000, 20, 20, SPREAD), (1_000_000, 20, 20, 1.0), (100_000, 128, 100, SPREAD)]
        {
            let mixture = Mixture::new(n / cut, dims, k, spread);
            let (ctx, start) = (self.ctx(), mixture.start());
            let (x, c) = self.files(&mixture.values, &start)?;
            let mut mine: Option<Timed> = None;
            let mut theirs: [Option<Answer>; 2] = [None, None];
            for _ in 0..self.args.turns.min(2) {
                let timed = ours::plain(&ctx, &mixture.values, &start, 300)?;
                if mine.is_none_or(|m| timed.seconds < m.seconds) {
                    mine = Some(timed);
                }
                for (slot, algorithm) in theirs.iter_mut().zip(["lloyd", "elkan"]) {
                    let request = json!({"op": "sklearn", "algorithm": algorithm, "x": x, "c": c, "iterations": 300});
                    let answer = self.ask(request);
                    if slot.as_ref().is_none_or(|s| answer.failed.is_none() && answer.seconds < s.seconds) {
                        *slot = Some(answer);
                    }
                }
            }
            let Some(mine) = mine else { continue };
            for (answer, algorithm) in theirs.into_iter().flatten().zip(["lloyd", "elkan"]) {
                let what = format!("to convergence, {} × {dims}, k = {k}, spread {spread}, f32", text(n / cut));
                let mut entry = self.add("Plain k-means", what, mine.seconds);
                entry.note = format!(
                    "{} iterations, theirs {}; objective {:+.1e} of theirs",
                    mine.iterations,
                    answer.iterations,
                    mine.objective / answer.objective - 1.0
                );
                let name = format!("scikit-learn {algorithm}");
                match answer.failed {
                    None => self.against(entry, &name, Ok(answer.seconds), Some((true, 2.0))),
                    Some(why) => self.against(entry, &name, Err(why), None),
                }
            }
        }
        Ok(())
    }

    pub fn constraints(&mut self) -> Result<(), String> {
        let n = if self.args.quick { 100_000 } else { 1_000_000 };
        let mixture = Mixture::new(n, 20, 20, SPREAD);
        let (ctx, start) = (self.ctx(), mixture.start());
        let given = mixture.constraints(n / 10)?;
        let closed = given.close().map_err(|_| "the constraints contradict")?;
        // A machine that others use changes from second to second: all are run in every turn, and the shortest run of each
        // counts, as elsewhere.
        let (lengths, turns) = ([2, 42], if self.args.quick { self.args.turns } else { self.args.turns.max(11) });
        let mut best = [[f64::INFINITY; 2]; 5];
        for _ in 0..turns {
            for (i, &length) in lengths.iter().enumerate() {
                let mut seconds = [ours::plain(&ctx, &mixture.values, &start, length)?.seconds; 5];
                for (who, placing) in [(1, Placing::Exact), (2, Placing::Greedy), (3, Placing::Quick)] {
                    let run = ours::constrained(&ctx, &mixture.values, &given, &closed, &start, placing, length)?;
                    seconds[who] = run.seconds;
                }
                let sweeps = length.to_string();
                let settings = [("restarts", "1"), ("sweeps", sweeps.as_str()), ("repair", "no")];
                seconds[4] = ours::job(&ctx, &mixture.values, 20, &given, "lcc", 20, &settings)?.seconds;
                best.iter_mut().zip(seconds).for_each(|(best, seconds)| best[i] = best[i].min(seconds));
            }
        }
        let each = best.map(|t| per_iteration((lengths[0], t[0]), (lengths[1], t[1])));
        for (who, name, bar) in
            [(1, "mlcl", true), (2, "cop-kmeans", false), (3, "fold, final fit", true), (4, "lcc", true)]
        {
            let what = format!("iteration of {name}, {} × 20, k = 20, {} constraints", text(n), text(n / 10));
            let mut entry = self.add("Constraints", what, each[who]);
            entry.peer = Some("our plain iteration".to_owned());
            entry.theirs = Some(each[0]);
            entry.ratio = Some(each[who] / each[0]);
            entry.bar = bar.then_some((false, 1.25));
            self.report.add(entry);
        }
        Ok(())
    }

    pub fn cop_kmeans(&mut self) -> Result<(), String> {
        let n = if self.args.quick { 1000 } else { 10_000 };
        let mixture = Mixture::new(n, 20, 20, 1.0);
        let given = mixture.constraints(n / 10)?;
        let ctx = self.ctx();
        let mut seconds = f64::INFINITY;
        for _ in 0..self.args.turns {
            let one = [("restarts", "1")];
            seconds = seconds.min(ours::job(&ctx, &mixture.values, 20, &given, "cop-kmeans", 20, &one)?.seconds);
        }
        let (x, p) = (self.folder.0.join("x.npy"), self.folder.0.join("pairs.npy"));
        write_npy(&x, mixture.values.iter().copied(), n, 20)?;
        write_pairs(&p, &given)?;
        for (op, name, bar) in
            [("htcop", "htcopkmeans", Some((true, 500.0))), ("active", "active-semi-supervised-clustering", None)]
        {
            let answer = self.ask(json!({"op": op, "x": x, "pairs": p, "k": 20}));
            let what = format!("cop-kmeans, one start each, {} × 20, k = 20, {} constraints", text(n), text(n / 10));
            let entry = self.add("Constraints", what, seconds);
            match answer.failed {
                None => self.against(entry, name, Ok(answer.seconds), bar.filter(|_| !self.args.quick)),
                // The time that was measured when it could still be installed.
                Some(_) if op == "htcop" && !self.args.quick => {
                    self.against(entry, "htcopkmeans, as measured in 2026", Ok(49.0), bar);
                }
                Some(why) => self.against(entry, name, Err(why), None),
            }
        }
        Ok(())
    }

    pub fn bckm(&mut self) -> Result<(), String> {
        let ctx = self.ctx();
        if let Some(folder) = &self.args.data {
            // Seconds that the authors print for 1, 5 and 10 % of all pairs.
            let printed: [(&str, [f64; 3]); 12] = [
                ("iris", [0.02, 0.27, 0.49]),
                ("ecoli", [1.72, 14.71, 13.96]),
                ("wdbc", [13.35, 47.52, 30.60]),
                ("sonar", [1.30, 4.41, 6.12]),
                ("glass", [1.29, 4.51, 7.47]),
                ("libras", [1.04, 13.26, 48.36]),
                ("tr11", [8.21, 21.86, 23.00]),
                ("tr12", [3.68, 13.51, 20.85]),
                ("tr23", [0.81, 4.75, 6.31]),
                ("flame", [0.03, 0.07, 0.17]),
                ("pathbased", [0.26, 0.65, 2.01]),
                ("spiral", [0.91, 1.00, 2.15]),
            ];
            for (name, times) in printed {
                let (file, truth) = crate::protocol::Source::Folder(folder.to_path_buf()).read(name)?;
                let k = truth.iter().max().map_or(1, |m| *m as usize + 1);
                let view = file.rows.view().map_err(|e| e.to_string())?;
                for (level, printed) in times.into_iter().enumerate() {
                    let share = [0.01, 0.05, 0.10][level];
                    let mut rng = Rng::stream(1, "speed bckm", level as u64);
                    let given = generate::percent(&truth, share, &mut rng).map_err(|e| e.to_string())?.constraints;
                    let (as_printed, afresh) = match &view {
                        kinfold_io::View::F32(v) => ours::boosted(&ctx, name, v, &given, k, self.args.turns),
                        kinfold_io::View::F64(v) => ours::boosted(&ctx, name, v, &given, k, self.args.turns),
                    }?;
                    let what = format!("bckm, {name}, {} % of all pairs", share * 100.0);
                    let mut entry = self.add("Constraints", what, as_printed.seconds);
                    entry.note = format!(
                        "{} rounds; with centres drawn afresh {} rounds, {:.0} times",
                        as_printed.iterations,
                        afresh.iterations,
                        printed / afresh.seconds
                    );
                    self.against(entry, "printed by the authors", Ok(printed), Some((true, 200.0)));
                }
            }
        }
        if !self.args.quick {
            let n = 100_000;
            let mixture = Mixture::new(n, 20, 20, 1.0);
            let given = mixture.constraints(n)?;
            let seconds = ours::job(&ctx, &mixture.values, 20, &given, "bckm", 20, &[])?.seconds;
            let mut entry = self.add(
                "Constraints",
                format!("bckm, {} × 20, {} constraints, 100 rounds", text(n), text(n)),
                seconds,
            );
            entry.note = format!("peak memory of this process so far {:.0} MB", peak_memory() / 1e6);
            self.report.add(entry);
        }
        Ok(())
    }

    pub fn growth(&mut self) -> Result<(), String> {
        let ctx = self.ctx();
        let sizes: &[usize] = if self.args.quick { &[1000, 10_000, 100_000] } else { &[10_000, 100_000, 1_000_000] };
        // Rows: a fixed number of iterations, one start.
        let methods: [(&str, &[(&str, &str)]); 5] = [
            ("kmeans", &[("restarts", "1"), ("max_iter", "10")]),
            ("mlcl", &[("restarts", "1"), ("max_iter", "10")]),
            ("cop-kmeans", &[("restarts", "1"), ("max_iter", "10")]),
            ("lcc", &[("restarts", "1"), ("sweeps", "10"), ("max_iter", "10")]),
            ("fold", &[]),
        ];
        let mut lines: Vec<Line> = Vec::new();
        for (method, settings) in methods {
            let mut points: Vec<(f64, f64)> = Vec::new();
            for &n in sizes {
                let mixture = Mixture::new(n, 20, 20, 1.0);
                let given = if method == "kmeans" { ConstraintSet::new(n) } else { mixture.constraints(n / 10)? };
                let timed = ours::job(&ctx, &mixture.values, 20, &given, method, 20, settings)?;
                let mut entry =
                    self.add("Growth with rows", format!("{method}, {} × 20, k = 20", text(n)), timed.seconds);
                entry.note = format!("{:.2} µs a row", timed.seconds / n as f64 * 1e6);
                if let Some(&(before, time)) = points.last() {
                    entry.note += &format!("; ×{:.1} for ×{:.0} rows", timed.seconds / time, n as f64 / before);
                }
                self.report.add(entry);
                points.push((n as f64, timed.seconds));
            }
            lines.push(Line { name: method.to_owned(), points });
        }
        self.report.plot("rows", "Time against rows (20 dims, k = 20, n/10 constraints)", "rows", "seconds", lines);
        let n = if self.args.quick { 10_000 } else { 100_000 };
        let mut lines = Vec::new();
        for (name, of) in [("k (20 dims)", true), ("dims (k = 20)", false)] {
            let mut points = Vec::new();
            for size in [2, 5, 10, 20, 50, 100, 200, 500] {
                let (dims, k) = if of { (20, size) } else { (size, 20) };
                let mixture = Mixture::new(n, dims, k, SPREAD);
                let start = mixture.start();
                let mut best = [f64::INFINITY; 2];
                for _ in 0..self.args.turns {
                    for (slot, length) in best.iter_mut().zip([1, 6]) {
                        *slot = slot.min(ours::plain(&ctx, &mixture.values, &start, length)?.seconds);
                    }
                }
                let seconds = per_iteration((1, best[0]), (6, best[1])).max(1e-9);
                let mut entry =
                    self.add("Growth with dims and k", format!("iteration, {} × {dims}, k = {k}", text(n)), seconds);
                entry.note = format!("{:.1} GFMA/s", (n * dims * k) as f64 / seconds / 1e9);
                self.report.add(entry);
                points.push((size as f64, seconds * 1e3));
            }
            lines.push(Line { name: name.to_owned(), points });
        }
        let title = format!("Plain iteration of {} rows against k and dims (f32)", text(n));
        self.report.plot("dims-and-k", &title, "k or dims", "milliseconds", lines);
        let mixture = Mixture::new(n, 20, 20, SPREAD);
        let start = mixture.start();
        let mut lines: Vec<Line> =
            ["mlcl", "cop-kmeans"].iter().map(|m| Line { name: (*m).to_owned(), points: Vec::new() }).collect();
        for count in [n / 1000, n / 100, n / 10, n] {
            let given = mixture.constraints(count)?;
            let closed: Chunklets = given.close().map_err(|_| "the constraints contradict")?;
            for (line, placing) in lines.iter_mut().zip([Placing::Exact, Placing::Greedy]) {
                let mut best = [f64::INFINITY; 2];
                for _ in 0..self.args.turns {
                    for (slot, length) in best.iter_mut().zip([1, 6]) {
                        let run = ours::constrained(&ctx, &mixture.values, &given, &closed, &start, placing, length)?;
                        *slot = slot.min(run.seconds);
                    }
                }
                let seconds = per_iteration((1, best[0]), (6, best[1])).max(1e-9);
                let what = format!("iteration of {}, {} × 20, {} constraints", line.name, text(n), text(count));
                let entry = self.add("Growth with constraints", what, seconds);
                self.report.add(entry);
                line.points.push((count as f64, seconds * 1e3));
            }
        }
        let title = format!("Iteration of {} rows against constraints (20 dims, k = 20)", text(n));
        self.report.plot("constraints", &title, "constraints", "milliseconds", lines);
        Ok(())
    }

    pub fn fold(&mut self) -> Result<(), String> {
        let ctx = self.ctx();
        let sizes: &[usize] = if self.args.quick { &[10_000, 30_000] } else { &[10_000, 100_000, 1_000_000] };
        for &n in sizes {
            let mixture = Mixture::new(n, 20, 20, SPREAD);
            let given = mixture.constraints(n / 10)?;
            let clock = std::sync::Arc::new(Stages::default());
            let ctx = ctx.clone().with_progress(clock.clone());
            let timed = ours::job(&ctx, &mixture.values, 20, &given, "fold", 20, &[])?;
            let mut entry = self.add(
                "fold",
                format!("fold, {} × 20, k = 20, {} constraints", text(n), text(n / 10)),
                timed.seconds,
            );
            entry.note = format!("{} iterations; {}", timed.iterations, clock.describe(timed.seconds));
            self.report.add(entry);
        }
        Ok(())
    }

    pub fn reading(&mut self) -> Result<(), String> {
        let rows = if self.args.quick { 250_000 } else { 5_000_000 };
        let mixture = Mixture::new(rows, 20, 20, 1.0);
        let path = |name: &str| self.folder.0.join(name);
        let (csv, npy, parquet) = (path("x.csv"), path("x.npy"), path("x.parquet"));
        write_csv(&csv, &mixture)?;
        write_npy(&npy, mixture.values.iter().copied(), rows, 20)?;
        drop(mixture);
        let made = self.ask(json!({"op": "parquet", "x": npy, "to": parquet}));
        if let Some(why) = made.failed {
            self.report.note(format!("No Parquet file: {why}"));
        }
        for (name, path, bar) in [("CSV", csv, Some((true, 200.0))), ("NPY", npy, None), ("Parquet", parquet, None)] {
            let Ok(meta) = std::fs::metadata(&path) else { continue };
            let mut seconds = f64::INFINITY;
            for _ in 0..self.args.turns {
                let options = ReadOptions { threads: self.args.threads, ..ReadOptions::default() };
                let begun = Instant::now();
                let file = read_table(&Input::from_arg(&path), &options).map_err(|e| e.to_string())?;
                std::hint::black_box(file.n());
                seconds = seconds.min(begun.elapsed().as_secs_f64());
            }
            let megabytes = meta.len() as f64 / 1e6;
            let mut entry = self.add("Reading", format!("{name}, {} × 20, {megabytes:.0} MB", text(rows)), seconds);
            entry.ratio = Some(megabytes / seconds);
            entry.bar = bar;
            entry.note = format!("ratio in MB/s; {:.1} million rows a second", rows as f64 / seconds / 1e6);
            self.report.add(entry);
        }
        Ok(())
    }

    pub fn check(&mut self) -> Result<(), String> {
        let (n, pairs) = if self.args.quick { (100_000, 1_000_000) } else { (1_000_000, 10_000_000) };
        let mut rng = Rng::stream(30, "speed check", 0);
        // Many small true groups, so that closing has work to do and cannot-links hang together.
        let truth: Vec<u32> = (0..n).map(|_| rng.below(1000) as u32).collect();
        let mut given = ConstraintSet::new(n);
        given.reserve_pairs(pairs);
        for _ in 0..pairs {
            let (a, b) = (rng.below(n), rng.below(n));
            if a != b {
                let kind = if truth[a] == truth[b] { Kind::MustLink } else { Kind::CannotLink };
                given.add_pair(kind, a, b).map_err(|e| e.to_string())?;
            }
        }
        let begun = Instant::now();
        let closed = given.close().map_err(|_| "the constraints contradict")?;
        let closing = begun.elapsed().as_secs_f64();
        let verdict = feasible(&closed, 1000, &FeasibleOptions::default());
        let seconds = begun.elapsed().as_secs_f64();
        let mut entry = self.add(
            "check",
            format!("close and check {} pairs over {} rows, k = 1000", text(pairs), text(n)),
            seconds,
        );
        entry.note = format!(
            "closing {closing:.2} s; {}",
            if matches!(verdict, Feasibility::Feasible(_)) { "feasible" } else { "not shown feasible" }
        );
        self.report.add(entry);
        Ok(())
    }
}

fn write_csv(path: &std::path::Path, mixture: &Mixture) -> Result<(), String> {
    use std::io::Write;
    let say = |e: std::io::Error| format!("{}: {e}", path.display());
    let mut out = std::io::BufWriter::with_capacity(1 << 20, std::fs::File::create(path).map_err(say)?);
    let header: Vec<String> = (0..mixture.dims).map(|j| format!("x{j}")).collect();
    writeln!(out, "{}", header.join(",")).map_err(say)?;
    for row in mixture.values.chunks(mixture.dims) {
        for (j, v) in row.iter().enumerate() {
            write!(out, "{}{v}", if j > 0 { "," } else { "" }).map_err(say)?;
        }
        writeln!(out).map_err(say)?;
    }
    out.flush().map_err(say)
}

/// The largest memory of this process so far, in bytes; 0 where nobody says.
fn peak_memory() -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|l| l.strip_prefix("VmHWM:"));
    line.and_then(|l| l.trim().trim_end_matches("kB").trim().parse::<f64>().ok()).map_or(0.0, |kb| kb * 1024.0)
}

/// When each stage of a run was first heard of.
#[derive(Default)]
struct Stages(std::sync::Mutex<Vec<(String, Instant)>>);

impl kinfold::context::Progress for Stages {
    fn step(&self, stage: &str, _: u64, _: Option<u64>) {
        if let Ok(mut seen) = self.0.lock()
            && seen.last().is_none_or(|s| s.0 != stage)
        {
            seen.push((stage.to_owned(), Instant::now()));
        }
    }
}

impl Stages {
    fn describe(&self, total: f64) -> String {
        let Ok(seen) = self.0.lock() else { return String::new() };
        let Some(first) = seen.first() else { return String::new() };
        let mut out: Vec<String> = Vec::new();
        for (i, (name, at)) in seen.iter().enumerate() {
            let end = seen.get(i + 1).map_or(total, |n| n.1.duration_since(first.1).as_secs_f64());
            out.push(format!("{name} {:.2} s", end - at.duration_since(first.1).as_secs_f64()));
        }
        out.join(", ")
    }
}
