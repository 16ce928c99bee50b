//! `trust-table`: what wrong constraints do, and what trust = auto makes of them. For each data set, number of balanced
//! constraints (n/2, n) and share of flipped ones: NMI (arithmetic) without constraints (by the same method, and by k-means
//! in the representation that auto chose), with all believed, with auto;
//! recall of the wrong ones that matter (broken by the hard run on the right ones alone), precision, false alarms.

use std::path::PathBuf;

use clap::Args;
use kinfold::constraints::{ConstraintId, ConstraintSet, Kind, Pair, generate};
use kinfold::context::RunContext;
use kinfold::data::{Dataset, Scaling};
use kinfold::indices::{INDICES, Scored};
use kinfold::methods::Typed;
use kinfold::pipeline::{Job, Run, Trust, Verdict, assess};
use kinfold::rng::Rng;
use kinfold_io::{DataFile, View};

use crate::protocol::Source;

type Failed = Box<dyn std::error::Error>;

/// Data sets of the table.
const NAMES: &str = "iris,wine,heart,glass,breast-tissue,house-votes,sonar,ionosphere,wdbc,ecoli,kdd-control";

/// Options of `trust-table`.
#[derive(Debug, Args)]
pub struct TrustTable {
    /// Folder with NAME.csv or NAME.svmlight, true classes in the column `label`
    #[arg(long)]
    data: PathBuf,
    /// Data sets, separated by commas
    #[arg(long, default_value = NAMES, value_delimiter = ',')]
    names: Vec<String>,
    /// Constraint sets per cell
    #[arg(long, default_value_t = 5)]
    sets: u64,
    /// The first of them
    #[arg(long, default_value_t = 0)]
    first: u64,
    /// Shares of flipped constraints in per cent
    #[arg(long, default_value = "0,5,10,15", value_delimiter = ',')]
    flips: Vec<usize>,
    /// Constraints: q = n/4, h = n/2, n = n
    #[arg(long, default_value = "h,n", value_delimiter = ',')]
    amounts: Vec<String>,
    /// The method
    #[arg(long, default_value = "mlcl")]
    method: String,
    /// Clusters asked for beyond the number of classes; negative: fewer
    #[arg(long, default_value_t = 0, allow_hyphen_values = true)]
    beyond: isize,
    /// A line for every set
    #[arg(long)]
    verbose: bool,
    /// Only what is believed, a line for every set: evidence, verdict and what is listed; nothing is clustered
    #[arg(long)]
    judge: bool,
}

struct Labelled {
    file: DataFile,
    truth: Vec<u32>,
    k: usize,
}

impl Labelled {
    fn is_right(&self, p: &Pair) -> bool {
        (self.truth[p.a as usize] == self.truth[p.b as usize]) == (p.kind == Kind::MustLink)
    }

    /// Balanced constraints, some of them flipped.
    fn given(&self, amount: &str, flips: usize, seed: u64) -> Result<ConstraintSet, Failed> {
        let n = self.truth.len();
        let total = match amount {
            "n" => n,
            "q" => n / 4,
            _ => n / 2,
        };
        let right =
            generate::balanced(&self.truth, total, false, &mut Rng::stream(seed, "trust-table", 0))?.constraints;
        let wrong = (flips * right.pairs().len() + 50) / 100;
        Ok(generate::noisy(&right, wrong, &mut Rng::stream(seed, "trust-table", 1))?)
    }
}

fn nmi(labels: &[u32], truth: &[u32]) -> f64 {
    let scored = Scored { labels, truth: Some(truth), constraints: None };
    INDICES.iter().find(|i| i.name == "nmi").and_then(|i| (i.score)(&scored)).unwrap_or(f64::NAN)
}

/// Sums over the sets of a cell.
#[derive(Default, Clone)]
struct Cell {
    sets: f64,
    plain: f64,
    same: f64,
    hard: f64,
    auto: f64,
    rest: f64,
    right: f64,
    below: f64,
    noisy: f64,
    listed: f64,
    listed_wrong: f64,
    matter: f64,
    listed_matter: f64,
    errors: f64,
    seconds: f64,
}

impl Cell {
    fn add(&mut self, o: &Cell) {
        let pairs: [(&mut f64, f64); 15] = [
            (&mut self.sets, o.sets),
            (&mut self.plain, o.plain),
            (&mut self.same, o.same),
            (&mut self.hard, o.hard),
            (&mut self.auto, o.auto),
            (&mut self.rest, o.rest),
            (&mut self.right, o.right),
            (&mut self.below, o.below),
            (&mut self.noisy, o.noisy),
            (&mut self.listed, o.listed),
            (&mut self.listed_wrong, o.listed_wrong),
            (&mut self.matter, o.matter),
            (&mut self.listed_matter, o.listed_matter),
            (&mut self.errors, o.errors),
            (&mut self.seconds, o.seconds),
        ];
        pairs.into_iter().for_each(|(a, b)| *a += b);
    }
    fn line(&self, name: &str, amount: &str, flips: usize) -> String {
        let mean = |v: f64| v / self.sets;
        let share = |a: f64, b: f64| if b > 0.0 { format!("{:.2}", a / b) } else { "-".to_owned() };
        format!(
            "| {name} | {amount} | {flips} % | {:.3} | {:.3} | {:.3} | {:.3} | **{:.3}** | {:.3} | {} | {} of {} | {:.1} | {} | {} | {} | {:.2} |",
            mean(self.plain),
            mean(self.same),
            mean(self.hard),
            mean(self.right),
            mean(self.auto),
            mean(self.rest),
            self.below,
            self.noisy,
            self.sets,
            mean(self.listed),
            share(self.listed_matter, self.matter),
            share(self.listed_wrong, self.listed),
            self.errors,
            mean(self.seconds),
        )
    }
}

impl TrustTable {
    /// Prints the table.
    pub fn run(&self) -> Result<(), Failed> {
        if self.judge {
            return self.judge();
        }
        println!(
            "| data | S | flips | unconstrained | in the same representation | hard | hard on the right ones | auto | hard on the believed ones | sets below \
             unconstrained | noisy | listed | recall that matter | precision | refused | seconds |"
        );
        println!("|{}", "---|".repeat(16));
        let mut totals = vec![Cell::default(); self.amounts.len() * self.flips.len()];
        for name in &self.names {
            let set = self.read(name)?;
            for (a, amount) in self.amounts.iter().enumerate() {
                for (f, &flips) in self.flips.iter().enumerate() {
                    let mut cell = Cell::default();
                    for s in self.seeds() {
                        let one = self.one(&set, amount, flips, s)?;
                        if self.verbose {
                            println!("{}", one.line(&format!("{name} #{s}"), amount, flips));
                        }
                        cell.add(&one);
                    }
                    println!("{}", cell.line(name, amount, flips));
                    totals[a * self.flips.len() + f].add(&cell);
                }
            }
        }
        for (at, cell) in totals.iter().enumerate() {
            println!("{}", cell.line("all", &self.amounts[at / self.flips.len()], self.flips[at % self.flips.len()]));
        }
        Ok(())
    }

    fn seeds(&self) -> std::ops::Range<u64> {
        self.first..self.first + self.sets
    }

    fn read(&self, name: &str) -> Result<Labelled, Failed> {
        let (file, truth) = Source::Folder(self.data.clone()).read(name)?;
        let classes = truth.iter().max().map_or(0, |&most| most as usize + 1);
        let k = classes.checked_add_signed(self.beyond).filter(|&k| k > 0);
        let k = k.ok_or_else(|| format!("{name} has {classes} classes: --beyond {} leaves no cluster", self.beyond))?;
        Ok(Labelled { file, truth, k })
    }

    fn judge(&self) -> Result<(), Failed> {
        println!("data amount flips set k constraints evidence verdict listed wrong found seconds (reason)");
        for name in &self.names {
            let set = self.read(name)?;
            for amount in &self.amounts {
                for (&flips, seed) in self.flips.iter().flat_map(|f| self.seeds().map(move |s| (f, s))) {
                    let line = match set.file.rows.view()? {
                        View::F32(data) => judged(&set, &data, amount, flips, seed)?,
                        View::F64(data) => judged(&set, &data, amount, flips, seed)?,
                    };
                    println!("{name} {amount} {flips} {seed} {} {line}", set.k);
                }
            }
        }
        Ok(())
    }

    fn one(&self, set: &Labelled, amount: &str, flips: usize, seed: u64) -> Result<Cell, Failed> {
        match set.file.rows.view()? {
            View::F32(data) => self.one_of(set, &data, amount, flips, seed),
            View::F64(data) => self.one_of(set, &data, amount, flips, seed),
        }
    }

    fn one_of<F: Typed>(
        &self,
        set: &Labelled,
        data: &Dataset<'_, F>,
        amount: &str,
        flips: usize,
        seed: u64,
    ) -> Result<Cell, Failed> {
        let n = data.n();
        let ctx = RunContext::new(seed);
        let given = set.given(amount, flips, seed)?;
        let is_right = |p: &Pair| set.is_right(p);
        // fold chooses the representation by itself; the others get standardised rows.
        let scaling = (self.method != "fold").then_some(Scaling::Standard);
        let job = |method: &str, trust| Job { scaling, trust, ..Job::new(method, set.k) };
        let run = |method: &str, trust, given: &ConstraintSet| job(method, trust).run(&ctx, data, given);
        let score = |run: &Run| nmi(&run.labels, &set.truth);
        let plain_method = if self.method == "fold" { "fold" } else { "kmeans" };
        let plain = score(&run(plain_method, Trust::Hard, &ConstraintSet::new(n))?);
        // Contradictions stop a hard run: then what the greedy method makes of all of them.
        let hard = run(&self.method, Trust::Hard, &given).or_else(|_| run("greedy-mlcl", Trust::Hard, &given))?;
        let kept = given.map_pairs(|_, p| is_right(p).then_some(*p));
        let oracle = run(&self.method, Trust::Hard, &kept)?;
        let begun = std::time::Instant::now();
        let mut cell = Cell { sets: 1.0, plain, hard: score(&hard), right: score(&oracle), ..Cell::default() };
        let auto = match run(&self.method, Trust::Auto, &given) {
            Ok(auto) => auto,
            Err(e) => {
                println!("{e}");
                return Ok(Cell { auto: plain, same: plain, rest: plain, errors: 1.0, ..cell });
            }
        };
        cell.seconds = begun.elapsed().as_secs_f64();
        cell.auto = score(&auto);
        let table = auto.representation.transform.apply(data)?;
        let alone = Job::new("kmeans", set.k).run(&ctx, &table.view()?, &ConstraintSet::new(n))?;
        cell.same = score(&alone);
        cell.below = f64::from(u8::from(cell.auto < plain - 0.005));
        let mut listed = vec![false; given.pairs().len()];
        for d in auto.distrusted() {
            if let ConstraintId::Pair(i) = d.id {
                listed[i as usize] = true;
            }
        }
        let noisy = auto.assessment.as_ref().is_some_and(|a| a.verdict == Verdict::Noisy);
        cell.noisy = f64::from(u8::from(noisy));
        cell.rest = cell.auto;
        if noisy && self.method != "fold" {
            let believed = given.map_pairs(|i, p| (!listed[i]).then_some(*p));
            cell.rest = score(&run(&self.method, Trust::Hard, &believed)?);
        }
        for (i, p) in given.pairs().iter().enumerate() {
            let broken = (oracle.labels[p.a as usize] == oracle.labels[p.b as usize]) != (p.kind == Kind::MustLink);
            let (wrong, listed) = (!is_right(p), listed[i]);
            let count = |b: bool| f64::from(u8::from(b));
            cell.listed += count(listed);
            cell.listed_wrong += count(listed && wrong);
            cell.matter += count(wrong && broken);
            cell.listed_matter += count(wrong && broken && listed);
        }
        Ok(cell)
    }
}

/// What is believed of one set of constraints.
fn judged<F: Typed>(
    set: &Labelled,
    data: &Dataset<'_, F>,
    amount: &str,
    flips: usize,
    seed: u64,
) -> Result<String, Failed> {
    let given = set.given(amount, flips, seed)?;
    let begun = std::time::Instant::now();
    let Ok(found) = assess(&RunContext::new(seed), data, None, &given, set.k, Trust::Auto) else {
        return Ok("refused".to_owned());
    };
    let seconds = begun.elapsed().as_secs_f64();
    let verdict = match found.verdict {
        Verdict::Noisy if found.contradictions > 0 => "contradicted",
        Verdict::Noisy => "noisy",
        _ => "believed",
    };
    let wrong = |id| matches!(id, ConstraintId::Pair(i) if !set.is_right(&given.pairs()[i as usize]));
    Ok(format!(
        "{} {:.2} {verdict} {} {} {} {seconds:.2} ({})",
        given.pairs().len(),
        found.evidence.unwrap_or(f64::NAN),
        found.distrusted.len(),
        given.pairs().iter().filter(|p| !set.is_right(p)).count(),
        found.distrusted.iter().filter(|d| wrong(d.id)).count(),
        found.reason,
    ))
}
