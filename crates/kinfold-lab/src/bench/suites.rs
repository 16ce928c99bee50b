//! The suites: which cases, and how one case is run.

use std::collections::BTreeMap;

use kinfold::blocks::ckm::{Links, Order};
use kinfold::constraints::{ConstraintSet, generate};
use kinfold::context::RunContext;
use kinfold::data::{Dataset, Scaling};
use kinfold::indices::{Scored, score_all};
use kinfold::metrics::Choice;
use kinfold::pipeline::{Job, Run, Trust};
use kinfold::rng::Rng;
use kinfold_io::View;

use super::printed::{self, Which};
use super::store::{Case, Record};
use crate::protocol::{Protocol, Source, classes};

/// A suite that is run here, case by case.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Suite {
    /// Okabe & Yamada 2018.
    Bckm,
    /// Jia, Guo, Liao & Lu.
    Mlcl,
    /// Ganji, Bailey & Stuckey 2016.
    Lcc,
    /// Flipped constraints.
    Noise,
    /// Rows up to a million.
    Scale,
}

/// How much is run.
#[derive(Debug, Clone, Copy)]
pub struct Amount {
    /// Constraint sets; 0 = as many as the paper (or three when quick).
    pub sets: u64,
    /// Few sets and starts, no method that takes minutes.
    pub quick: bool,
}

/// Number of the first constraint set.
const FIRST: u64 = 100;
/// The protocol's data sets of the noise suite.
pub const NOISE: [&str; 8] = ["iris", "wine", "heart", "glass", "sonar", "ionosphere", "wdbc", "ecoli"];
/// Shares of flipped constraints, in per cent.
pub const FLIPS: [usize; 4] = [0, 5, 10, 15];
/// Rows of the scale suite.
pub const ROWS: [usize; 4] = [1_000, 10_000, 100_000, 1_000_000];
/// Data sets of the mlcl suite with the ends of their axes.
pub const AXES: [(&str, usize); 4] = [("soybean-small", 100), ("wine", 100), ("iris", 400), ("tic-tac-toe", 500)];
/// Constraints in the sensitivity figures.
pub const AMOUNTS: [usize; 6] = [50, 100, 200, 350, 500, 700];
/// Constraints on iris in the comparison with an exact method.
pub const EXACT: [usize; 7] = [37, 75, 150, 200, 250, 300, 400];
/// Most rounds of boosting in the figure of the BCKM paper, and its data sets.
pub const ROUNDS: [usize; 8] = [1, 2, 5, 10, 20, 30, 50, 100];
pub const ROUNDS_OF: [&str; 3] = ["ecoli", "glass", "tr11"];
/// The level of the figure that shows how often a constraint holds by its place in the order, and its places: each stands for
/// those after the one before.
pub const BY_ORDER: &str = "5 %, by order";
pub const PLACES: [usize; 11] = [1, 2, 3, 5, 10, 20, 50, 100, 200, 500, 1000];
/// Columns without a start of their own: `fold` draws its restarts itself; of the others only the k-means at their end starts
/// somewhere, and it restarts.
const ONE_START: [&str; 6] = ["fold", "itml", "pcp", "spcl", "csp", "exact"];

impl Suite {
    pub const ALL: [Suite; 5] = [Suite::Bckm, Suite::Mlcl, Suite::Lcc, Suite::Noise, Suite::Scale];

    pub fn name(self) -> &'static str {
        match self {
            Suite::Bckm => "bckm",
            Suite::Mlcl => "mlcl",
            Suite::Lcc => "lcc",
            Suite::Noise => "noise",
            Suite::Scale => "scale",
        }
    }

    /// Columns of its tables, ours first.
    pub fn methods(self) -> &'static [&'static str] {
        match self {
            Suite::Bckm => &["fold", "bckm", "rckm", "ckm", "pcp", "spcl", "itml", "cop-kmeans", "mlcl"],
            Suite::Mlcl => &["fold", "mlcl", "greedy-mlcl"],
            Suite::Lcc => &["fold", "lcc", "cvqe", "csp", "mlcl"],
            Suite::Noise => &["fold", "fold, all believed", "fold, no constraints", "cvqe", "pck-means"],
            Suite::Scale => &["fold", "mlcl", "kmeans"],
        }
    }

    /// Columns of single tables.
    fn more_methods(self) -> &'static [&'static str] {
        if self == Suite::Lcc { &["exact"] } else { &[] }
    }

    /// The scores that its tables show.
    fn scores(self) -> &'static [&'static str] {
        match self {
            Suite::Bckm => &["nmi_geometric", "nmi", "ari"],
            Suite::Mlcl => &["rand"],
            Suite::Lcc => &["nmi", "nmi_without_ml", "nmi_without_ml_cl", "ari"],
            Suite::Noise | Suite::Scale => &["nmi", "ari"],
        }
    }

    /// Every case, the first constraint set of everything first: a run that is stopped leaves an even table.
    pub fn cases(self, amount: Amount, source: &Source) -> (Vec<Case>, Vec<String>) {
        let (sets, starts) = match (self, amount.quick) {
            (Suite::Bckm, false) => (10, 10),
            (Suite::Mlcl, false) => (100, 100),
            (Suite::Lcc, false) => (5, 8),
            (Suite::Noise, false) => (10, 1),
            (Suite::Scale, false) => (3, 1),
            (Suite::Scale, true) => (1, 1),
            (_, true) => (3, 1),
        };
        let sets = if amount.sets > 0 { amount.sets } else { sets };
        let mut missing = Vec::new();
        let mut cells: Vec<(String, String, &str)> = Vec::new();
        for (data, levels) in self.grid(amount.quick) {
            if self != Suite::Scale && data != "half-rings" && !source.has(file_of(&data)) {
                if !missing.contains(&data) {
                    missing.push(data);
                }
                continue;
            }
            for level in levels {
                let methods = self.methods().iter().chain(self.more_methods());
                for &method in methods.filter(|m| self.runs(m, &data, &level, amount.quick)) {
                    cells.push((data.clone(), level.clone(), method));
                }
            }
        }
        let mut cases = Vec::new();
        for set in FIRST..FIRST + sets {
            for (data, level, method) in &cells {
                let name = method.split(',').next().unwrap_or_default();
                let own = if ONE_START.contains(&name) { 1 } else { starts };
                for start in 0..own {
                    let (suite, method) = (self.name().to_owned(), (*method).to_owned());
                    cases.push(Case { suite, data: data.clone(), level: level.clone(), method, set, start });
                }
            }
        }
        (cases, missing)
    }

    /// Data sets with their levels.
    pub fn grid(self, quick: bool) -> Vec<(String, Vec<String>)> {
        let words = |all: &[&str]| all.iter().map(|s| (*s).to_owned()).collect::<Vec<_>>();
        match self {
            Suite::Bckm => {
                let levels = words(&Protocol::Bckm.levels());
                let mut grid: Vec<(String, Vec<String>)> =
                    printed::data(Which::Bckm).into_iter().map(|d| (d.to_owned(), levels.clone())).collect();
                grid.iter_mut().for_each(|(_, levels)| levels.push(BY_ORDER.to_owned()));
                let rounds = |level: &str| ROUNDS.iter().map(|r| format!("{level}, {r} rounds")).collect::<Vec<_>>();
                if quick {
                    grid.push(("glass".into(), rounds("1 %")));
                } else {
                    for data in ROUNDS_OF {
                        grid.push((data.into(), levels.iter().flat_map(|l| rounds(l)).collect()));
                    }
                }
                grid
            }
            Suite::Lcc => {
                let levels = words(&Protocol::Lcc.levels());
                let mut grid: Vec<(String, Vec<String>)> = printed::data(Which::Lcc)
                    .into_iter()
                    .filter(|d| !quick || !["yeast", "letter"].contains(d))
                    .map(|d| (d.to_owned(), levels.clone()))
                    .collect();
                let wrong = if quick { vec![0, 2, 5, 10] } else { (0..=10).collect() };
                grid.push(("iris".into(), wrong.iter().map(|w| format!("{w} wrong of 100")).collect()));
                grid.push(("iris".into(), EXACT.iter().map(|a| format!("{a} constraints")).collect()));
                if !quick {
                    for data in ["ionosphere", "wdbc"] {
                        grid.push((data.into(), AMOUNTS.iter().map(|a| format!("{a} constraints")).collect()));
                    }
                }
                grid
            }
            Suite::Mlcl => AXES
                .iter()
                .map(|(d, end)| ((*d).to_owned(), (0..=5).map(|i| (i * end / 5).to_string()).collect()))
                .collect(),
            Suite::Noise => {
                NOISE.iter().map(|d| ((*d).to_owned(), FLIPS.iter().map(|f| format!("{f} %")).collect())).collect()
            }
            Suite::Scale => {
                let rows = if quick { &ROWS[..3] } else { &ROWS[..] };
                vec![("blobs".into(), rows.iter().map(|n| n.to_string()).collect())]
            }
        }
    }

    fn runs(self, method: &str, data: &str, level: &str, quick: bool) -> bool {
        let shape = is_shape(data);
        let text = is_text(data);
        match (self, method) {
            (Suite::Bckm, _) if level.contains("rounds") => method == "bckm",
            (Suite::Bckm, _) if level == BY_ORDER => method == "ckm",
            (Suite::Bckm, "spcl") => shape,
            (Suite::Bckm, "itml") => !(shape || text || quick && data == "libras"),
            // Up to a minute a fit.
            (Suite::Bckm, "pcp") => !quick || ["iris", "sonar", "flame"].contains(&data) && level == "1 %",
            (Suite::Bckm, "bckm" | "rckm") => {
                !quick || ["iris", "glass", "sonar", "flame", "spiral", "tr23"].contains(&data) && level != "10 %"
            }
            (Suite::Bckm, "mlcl" | "cop-kmeans") => !shape,
            (Suite::Lcc, "exact") => data == "iris" && level.contains("constraints"),
            (Suite::Lcc, "cvqe") => !(data == "iris" && level.contains("constraints")),
            (Suite::Lcc, "csp" | "mlcl") => {
                !level.contains("wrong") && !level.contains("constraints") && (!quick || method == "mlcl")
            }
            _ => true,
        }
    }
}

fn is_shape(data: &str) -> bool {
    ["flame", "pathbased", "spiral"].contains(&data)
}

fn is_text(data: &str) -> bool {
    data.starts_with("tr") && data.len() == 4
}

/// The file that stands for a data set of a paper.
fn file_of(data: &str) -> &str {
    if data == "letter" { "letter-ijl" } else { data }
}

/// Rows with classes, ready for fitting.
pub struct Loaded {
    name: String,
    rows: LoadedRows,
    truth: Vec<u32>,
}

enum LoadedRows {
    File(Box<kinfold_io::DataFile>),
    Plain(Vec<f64>, usize),
}

impl Loaded {
    /// Reads or makes the rows of a case.
    pub fn new(case: &Case, source: &Source) -> Result<Loaded, String> {
        let name = format!("{}{}", case.data, if case.data == "blobs" { &case.level } else { "" });
        if case.data == "blobs" {
            let n = case.level.parse().map_err(|_| "rows are a number")?;
            let (values, truth) = blobs(n);
            return Ok(Loaded { name, rows: LoadedRows::Plain(values, 10), truth });
        }
        if case.data == "half-rings" {
            let (values, truth) = crate::validation::half_rings();
            return Ok(Loaded { name, rows: LoadedRows::Plain(values, 2), truth });
        }
        let (file, truth) = source.read(file_of(&case.data))?;
        if case.data == "letter" {
            // 200 of each class, the first in file order: the paper's 600 rows are not known.
            let mut count = [0; 3];
            let keep: Vec<usize> = (0..truth.len())
                .filter(|&i| {
                    let c = &mut count[truth[i] as usize % 3];
                    *c += 1;
                    *c <= 200
                })
                .collect();
            let dims = file.dims();
            let mut values = vec![0.0; keep.len() * dims];
            for (row, &i) in values.chunks_exact_mut(dims).zip(&keep) {
                match file.rows.view().map_err(|e| e.to_string())? {
                    View::F32(d) => d.add_row(i, 1.0, row),
                    View::F64(d) => d.add_row(i, 1.0, row),
                }
            }
            let truth = keep.iter().map(|&i| truth[i]).collect();
            return Ok(Loaded { name, rows: LoadedRows::Plain(values, dims), truth });
        }
        Ok(Loaded { name, rows: LoadedRows::File(Box::new(file)), truth })
    }

    /// Is it what this case needs?
    pub fn serves(&self, case: &Case) -> bool {
        self.name == format!("{}{}", case.data, if case.data == "blobs" { &case.level } else { "" })
    }

    fn fit(&self, job: &Job, ctx: &RunContext, given: &ConstraintSet) -> Result<Run, String> {
        match &self.rows {
            LoadedRows::Plain(values, dims) => {
                Dataset::dense(values, *dims).and_then(|data| job.run(ctx, &data, given)).map_err(|e| e.to_string())
            }
            LoadedRows::File(file) => match file.rows.view() {
                Ok(View::F32(data)) => job.run(ctx, &data, given),
                Ok(View::F64(data)) => job.run(ctx, &data, given),
                Err(e) => Err(e),
            }
            .map_err(|e| e.to_string()),
        }
    }
}

/// Ten Gaussian blobs in ten dimensions, close enough to overlap.
fn blobs(n: usize) -> (Vec<f64>, Vec<u32>) {
    let mut rng = Rng::stream(11, "blobs", 0);
    let centres: Vec<f64> = (0..100).map(|_| 6.0 * rng.unit()).collect();
    let (mut values, mut truth) = (Vec::with_capacity(n * 10), Vec::with_capacity(n));
    for i in 0..n {
        let class = i % 10;
        truth.push(class as u32);
        for d in 0..10 {
            // The sum of twelve uniform numbers is as good as normal here.
            let noise: f64 = (0..12).map(|_| rng.unit()).sum::<f64>() - 6.0;
            values.push(centres[class * 10 + d] + 1.5 * noise);
        }
    }
    (values, truth)
}

/// Constraints of a case: drawn from the classes by the suite's protocol, the same for every method.
fn constraints(suite: Suite, case: &Case, truth: &[u32]) -> Result<ConstraintSet, String> {
    let n = truth.len();
    let level = case.level.split(' ').next().and_then(|w| w.parse::<usize>().ok()).unwrap_or(0);
    let made = |g: kinfold::Result<generate::Generated>| g.map(|g| g.constraints).map_err(|e| e.to_string());
    let rng = |use_: &str, index: usize| Rng::stream(case.set, use_, index as u64);
    let amount = case.level.split(',').next().unwrap_or_default();
    let at = |levels: [&str; 3]| levels.iter().position(|l| *l == amount).unwrap_or(0);
    match suite {
        Suite::Bckm => Protocol::Bckm.constraints(truth, at(Protocol::Bckm.levels()), case.set),
        Suite::Lcc if case.level.contains("wrong") => {
            let right = made(generate::balanced(truth, 100, false, &mut rng("lcc wrong", 0)))?;
            generate::noisy(&right, level, &mut rng("lcc wrong", 1)).map_err(|e| e.to_string())
        }
        Suite::Lcc if case.level.contains("constraints") => {
            made(generate::balanced(truth, level, false, &mut rng("lcc amounts", level)))
        }
        Suite::Lcc => Protocol::Lcc.constraints(truth, at(Protocol::Lcc.levels()), case.set),
        Suite::Mlcl if level == 0 => Ok(ConstraintSet::new(n)),
        Suite::Mlcl => made(generate::disjoint_sets(truth, 5, classes(truth), level, &mut rng("mlcl", level))),
        Suite::Noise if case.method.contains("no constraints") => Ok(ConstraintSet::new(n)),
        Suite::Noise => {
            let right = made(generate::balanced(truth, n / 2, false, &mut rng("noise", 0)))?;
            let wrong = (level * right.pairs().len() + 50) / 100;
            generate::noisy(&right, wrong, &mut rng("noise", 1)).map_err(|e| e.to_string())
        }
        Suite::Scale => made(generate::balanced(truth, 1000, false, &mut rng("scale", n))),
    }
}

/// The job of a column. Ours runs with default settings; the others as their papers ran them.
fn job(suite: Suite, case: &Case, k: usize) -> Job {
    let name = case.method.split(',').next().unwrap_or_default();
    let set = |all: &[(&str, &str)]| all.iter().map(|(a, b)| ((*a).to_owned(), (*b).to_owned())).collect::<Vec<_>>();
    let mut job = Job::new(name, k);
    match (suite, name) {
        (_, "fold") if case.method.contains("all believed") => job.trust = Trust::Hard,
        (_, "fold") => {}
        (Suite::Bckm, _) => {
            let kernel = if is_shape(&case.data) { "rbf-local" } else { "linear" };
            if is_text(&case.data) {
                job.scaling = Some(Scaling::TfIdf);
            }
            match name {
                "bckm" | "rckm" => {
                    // A trial of the paper has one set of starting centres, for all rounds.
                    job.settings = set(&[("kernel", kernel), ("redraw", "no"), ("final_restarts", "1")]);
                    if name == "bckm" {
                        job.settings.extend(set(&[("order", "index")]));
                    }
                    if let Some(rounds) = case.level.split(", ").nth(1).and_then(|r| r.strip_suffix(" rounds")) {
                        job.settings.push(("rounds".to_owned(), rounds.to_owned()));
                    }
                }
                "ckm" | "pcp" | "spcl" => {
                    job.settings = set(&[("kernel", kernel)]);
                    // Unscaled, all linear affinities are nearly equal; standardised, it comes nearest to print (see its page).
                    if name == "pcp" && kernel == "linear" && !is_text(&case.data) {
                        job.scaling = Some(Scaling::Standard);
                    }
                }
                "itml" => {
                    job.method = "kmeans".into();
                    job.metric = Some(Choice { name: "itml".into(), settings: Vec::new() });
                }
                _ => {}
            }
        }
        // The paper's CVQE numbers come from standardised columns, its LCC numbers from raw ones.
        (Suite::Lcc, "exact") => {}
        (Suite::Lcc, "cvqe" | "mlcl" | "csp") | (Suite::Noise, _) => job.scaling = Some(Scaling::Standard),
        (Suite::Mlcl, _) => job.settings = set(&[("restarts", "1")]),
        _ => {}
    }
    job
}

/// Runs one case.
pub fn run(
    suite: Suite,
    case: &Case,
    loaded: &Loaded,
    threads: usize,
    settings: &[(String, String)],
) -> Result<Record, String> {
    let given = constraints(suite, case, &loaded.truth)?;
    let mut job = job(suite, case, classes(&loaded.truth));
    // The last of two with one name counts.
    job.settings.extend_from_slice(settings);
    let mut ctx = RunContext::new(case.set + 1000 * case.start).with_threads(threads);
    if case.method == "exact" {
        // The time that the paper gave its exact method.
        ctx = ctx.with_time_limit(std::time::Duration::from_secs(1800));
    }
    let begun = std::time::Instant::now();
    let run = loaded.fit(&job, &ctx, &given);
    let seconds = begun.elapsed().as_secs_f64();
    let case = case.clone();
    Ok(match run {
        Err(why) => Record {
            case,
            scores: BTreeMap::new(),
            must_link: 0,
            cannot_link: 0,
            seconds,
            iterations: 0,
            note: String::new(),
            error: Some(why),
        },
        Ok(run) => {
            let scored = Scored { labels: &run.labels, truth: Some(&loaded.truth), constraints: Some(&given) };
            let shown = score_all(&scored).into_iter().filter(|s| suite.scores().contains(&s.0));
            let mut scores: BTreeMap<String, f64> =
                shown.filter_map(|(name, s)| s.map(|s| (name.to_owned(), s))).collect();
            if case.level == BY_ORDER {
                scores.extend(held_by_place(&ctx, &given, &run.labels).map_err(|e| e.to_string())?);
            }
            Record {
                case,
                scores,
                must_link: run.violations.must_link,
                cannot_link: run.violations.cannot_link,
                seconds,
                iterations: run.iterations,
                note: match run.lower_bound {
                    Some(bound) if run.objective - bound <= 1e-6 * run.objective.abs() => "proven".to_owned(),
                    Some(_) => "not proven".to_owned(),
                    None => run.representation.name,
                },
                error: None,
            }
        }
    })
}

/// The share of the constraints that hold, by their place in the order that `ckm` drew.
fn held_by_place(ctx: &RunContext, given: &ConstraintSet, labels: &[u32]) -> kinfold::Result<Vec<(String, f64)>> {
    let links = Links::of_rows("ckm", given)?;
    let order = links.order(Order::Index, &mut ctx.rng("order", 0));
    let mut shares = Vec::new();
    let mut from = 0;
    for to in PLACES {
        let these = &order[from.min(order.len())..to.min(order.len())];
        if !these.is_empty() {
            let held = these.iter().filter(|&&s| links.holds(s as usize, labels)).count();
            shares.push((place(to), held as f64 / these.len() as f64));
        }
        from = to;
    }
    Ok(shares)
}

/// Under which name a place is kept.
pub fn place(to: usize) -> String {
    format!("place {to}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_two_constraints_in_the_order_hold() {
        // Appendix 2 of the paper; and the order recovered here is the one that the method used.
        let case = Case {
            suite: "bckm".into(),
            data: "iris".into(),
            level: BY_ORDER.into(),
            method: "ckm".into(),
            set: 100,
            start: 0,
        };
        let loaded = Loaded::new(&case, &Source::Shipped).unwrap();
        let mut later = 0.0;
        for start in 0..20 {
            let record = run(Suite::Bckm, &Case { start, ..case.clone() }, &loaded, 1, &[]).unwrap();
            let held = |to: usize| record.scores[&place(to)];
            assert_eq!((held(1), held(2)), (1.0, 1.0), "{record:?}");
            later += held(500) / 20.0;
        }
        assert!(later < 0.99, "{later}");
    }

    #[test]
    fn the_quick_form_is_a_part_of_the_full_one_so_that_nothing_is_run_twice() {
        for suite in Suite::ALL {
            let cases = |quick| suite.cases(Amount { sets: 0, quick }, &Source::Shipped).0;
            let full: std::collections::HashSet<Case> = cases(false).into_iter().collect();
            let quick = cases(true);
            assert!(!quick.is_empty() && quick.len() < full.len());
            if let Some(other) = quick.iter().find(|c| !full.contains(c)) {
                panic!("{other:?}");
            }
        }
    }

    #[test]
    fn every_data_set_of_a_suite_is_listed_in_the_docs() {
        let listed = include_str!("../../../../docs/data.md");
        for suite in [Suite::Bckm, Suite::Mlcl, Suite::Lcc, Suite::Noise] {
            for (data, _) in suite.grid(false).into_iter().filter(|d| d.0 != "half-rings") {
                let name = file_of(&data);
                let here = ["csv", "csv.gz", "svmlight"].iter().any(|e| listed.contains(&format!("`{name}.{e}`")));
                assert!(here, "{name}");
            }
        }
    }

    #[test]
    fn what_has_no_data_is_named() {
        let (cases, missing) = Suite::Lcc.cases(Amount { sets: 1, quick: true }, &Source::Shipped);
        assert!(missing.contains(&"ionosphere".to_owned()) && !missing.contains(&"iris".to_owned()));
        assert!(cases.iter().all(|c| ["iris", "wine", "half-rings"].contains(&c.data.as_str())));
    }

    #[test]
    fn rounds_of_a_level_reach_the_method_and_not_the_constraints() {
        let case = |level: &str| Case {
            suite: "bckm".into(),
            data: "iris".into(),
            level: level.into(),
            method: "bckm".into(),
            set: 100,
            start: 0,
        };
        let truth: Vec<u32> = (0..60).map(|i| i % 3).collect();
        let (plain, few) = (case("5 %"), case("5 %, 10 rounds"));
        let drawn = |c: &Case| constraints(Suite::Bckm, c, &truth).unwrap();
        assert_eq!(drawn(&plain).pairs().len(), drawn(&few).pairs().len());
        assert!(job(Suite::Bckm, &few, 3).settings.contains(&("rounds".to_owned(), "10".to_owned())));
        assert!(!job(Suite::Bckm, &plain, 3).settings.iter().any(|s| s.0 == "rounds"));
    }
}
