//! From results to pages: every cell ours and printed, the best of each line marked, a sentence per suite.

use std::path::Path;

use kinfold_report::chart::{LineChart, Point, Scale, Series, Spread, Svg};
use kinfold_report::{Better, Block, Cell, Page, Table};

use super::BenchArgs;
use super::printed::{self, Which};
use super::store::{Record, Store};
use super::suites::{AXES, FLIPS, NOISE, ROWS, Suite};
use crate::protocol::{Protocol, Source};

/// The sentence of a suite.
pub struct Summary {
    /// The sentence.
    pub text: String,
    /// Nothing in it is bad news.
    pub good: bool,
}

/// Mean and standard deviation of what is there.
#[derive(Clone, Copy)]
struct Spreaded {
    mean: f64,
    sd: f64,
    count: usize,
}

fn spread(values: impl Iterator<Item = f64>) -> Option<Spreaded> {
    let values: Vec<f64> = values.filter(|v| v.is_finite()).collect();
    let count = values.len();
    let mean = values.iter().sum::<f64>() / count as f64;
    let sd = (values.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / (count as f64 - 1.0).max(1.0)).sqrt();
    (count > 0).then_some(Spreaded { mean, sd, count })
}

fn score(records: &[&Record], name: &str) -> Option<Spreaded> {
    spread(records.iter().filter_map(|r| r.scores.get(name).copied()))
}

fn cell(value: Option<Spreaded>, decimals: usize) -> Cell {
    match value {
        None => Cell::words("–"),
        Some(s) if s.count > 1 => Cell::number(s.mean, decimals).spread(s.sd, decimals),
        Some(s) => Cell::number(s.mean, decimals),
    }
}

/// The processor, for the page.
fn machine() -> String {
    let info = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model =
        info.lines().find_map(|l| l.strip_prefix("model name")).and_then(|l| l.split(':').nth(1)).map(str::trim);
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    format!("{}, {cores} cores", model.unwrap_or(std::env::consts::ARCH))
}

/// Title and circumstances.
pub fn opening(args: &BenchArgs, source: &Source) -> Page {
    let data = match source {
        Source::Folder(_) => "all data sets of docs/data.md that are in the folder given",
        Source::Shipped => "only the small data sets that come with kinfold (no --data): everything else is skipped",
    };
    let form = if args.quick {
        "the quick form: three constraint sets, one start"
    } else {
        "the papers' numbers of constraint sets and starts"
    };
    let mut facts = vec![
        ("machine".to_owned(), machine()),
        (
            "build".to_owned(),
            if cfg!(debug_assertions) {
                "development build: seconds are several times those of a release build"
            } else {
                "release build"
            }
            .to_owned(),
        ),
        ("form".to_owned(), form.to_owned()),
        ("data".to_owned(), data.to_owned()),
    ];
    if !args.note.is_empty() {
        facts.push(("note".to_owned(), args.note.clone()));
    }
    Page {
        title: "The papers' tables, and ours".into(),
        lead: "Every number is a mean over constraint sets and starts ± one standard deviation; the number a paper prints \
               for the same method stands in brackets. The best of each line is marked."
            .into(),
        blocks: vec![Block::Facts(facts)],
    }
}

/// The sentences, first on the page.
pub fn summary(page: &mut Page, summaries: &[Summary]) {
    let blocks: Vec<Block> = summaries.iter().map(|s| Block::Verdict(s.text.clone(), s.good)).collect();
    page.blocks.splice(1..1, blocks);
}

/// The front page in Markdown.
pub fn front(page: &Page, summaries: &[Summary]) -> String {
    let mut front = Page { title: page.title.clone(), lead: page.lead.clone(), blocks: page.blocks[..1].to_vec() };
    front.blocks.push(Block::List(summaries.iter().map(|s| s.text.clone()).collect()));
    let names =
        Suite::ALL.iter().map(|s| s.name()).filter(|n| summaries.iter().any(|s| s.text.starts_with(&format!("{n}:"))));
    front.blocks.push(Block::Text(names.map(|n| format!("[{n}]({n}.md)")).collect::<Vec<_>>().join(" · ")));
    front.markdown()
}

/// A suite's own page in Markdown.
pub fn markdown(suite: Suite, part: &Page) -> String {
    Page { title: suite.name().to_owned(), lead: title(suite).to_owned(), blocks: part.blocks[1..].to_vec() }.markdown()
}

fn title(suite: Suite) -> &'static str {
    match suite {
        Suite::Bckm => "Boosted constrained k-means (Okabe & Yamada 2018): 1, 5 and 10 % of all pairs",
        Suite::Mlcl => "k-means with must-link and disjoint cannot-link sets (Jia, Guo, Liao & Lu)",
        Suite::Lcc => "Lagrangian constrained clustering (Ganji, Bailey & Stuckey 2016): n/4, n/2 and n constraints",
        Suite::Noise => "Wrong constraints: n/2 of them, 0 to 15 % flipped",
        Suite::Scale => "Rows up to a million",
    }
}

/// Adds a suite to the page.
pub fn suite(suite: Suite, store: &Store, missing: &[String], page: &mut Page, out: &Path) -> Result<Summary, String> {
    page.heading(2, title(suite));
    let mut summary = match suite {
        Suite::Bckm => against_print(suite, store, page, Protocol::Bckm, Which::Bckm),
        Suite::Lcc => against_print(suite, store, page, Protocol::Lcc, Which::Lcc),
        Suite::Mlcl => mlcl(store, page, out)?,
        Suite::Noise => noise(store, page, out)?,
        Suite::Scale => scale(store, page, out)?,
    };
    match suite {
        Suite::Bckm => seconds_table(store, page),
        Suite::Lcc => lcc_more(store, page, out)?,
        _ => {}
    }
    if !missing.is_empty() {
        page.text(format!("Skipped, the data are not there: {}.", missing.join(", ")));
        summary.text += &format!(" ({} data sets skipped: no data)", missing.len());
    }
    let failed: Vec<&Record> = store.suite(suite.name()).into_iter().filter(|r| r.error.is_some()).collect();
    if let Some(first) = failed.first() {
        let (c, why) = (&first.case, first.error.as_deref().unwrap_or_default());
        page.text(format!(
            "{} fits gave no result; the first: {} on {} at {}: {why}.",
            failed.len(),
            c.method,
            c.data,
            c.level
        ));
    }
    Ok(summary)
}

/// NMI tables of the two papers that print three levels, and how fold does against the best printed number.
fn against_print(suite: Suite, store: &Store, page: &mut Page, protocol: Protocol, which: Which) -> Summary {
    let name = suite.name();
    let mut columns = vec!["data".to_owned(), "constraints".to_owned()];
    columns.extend(suite.methods().iter().map(|m| (*m).to_owned()));
    columns.extend(["best printed".to_owned(), "broken by fold".to_owned()]);
    let caption = format!(
        "{}; in brackets what the paper prints",
        if which == Which::Bckm { "Table 2: NMI (geometric)" } else { "Table 3: NMI (arithmetic)" }
    );
    let mut table = Table::new(caption, 2, &columns);
    let (mut cells, mut reached, mut broken, mut sets, mut below) = (0, 0, 0, 0, Vec::new());
    for data in printed::data(which) {
        for (at, level) in protocol.levels().into_iter().enumerate() {
            let fold = store.cell(name, data, level, "fold");
            if fold.is_empty() {
                continue;
            }
            let mut row = vec![Cell::words(data), Cell::words(level)];
            for method in suite.methods() {
                let ours = score(&store.cell(name, data, level, method), protocol.score());
                let beside = printed::number(which, data, method, at).map_or(String::new(), |v| format!("{v:.2}"));
                row.push(cell(ours, 2).beside(beside));
            }
            let best = printed::best(which, data, at);
            row.push(best.map_or(Cell::words("–"), |(v, who)| Cell::number(v, 2).beside(who)));
            let lost: u64 = fold.iter().map(|r| r.broken()).sum();
            row.push(Cell { bad: lost > 0, ..Cell::number(lost as f64, 0) });
            table.rows.push(row);
            let (Some(ours), Some((best, _))) = (score(&fold, protocol.score()), best) else { continue };
            (cells, broken, sets) = (cells + 1, broken + lost, sets.max(fold.len()));
            if (ours.mean * 100.0).round() >= (best * 100.0).round() {
                reached += 1;
            } else {
                below.push(format!("{data} {level} ({:.2} against {best:.2})", ours.mean));
            }
        }
    }
    let methods = suite.methods().len();
    table.mark_best(&(2..3 + methods).collect::<Vec<_>>(), Better::Higher);
    page.table(table);
    if which == Which::Bckm {
        page.text(printed::BCKM_MISPRINT);
    }
    if !below.is_empty() {
        page.text(format!("Below the best printed number: {}.", below.join(", ")));
    }
    let text = format!(
        "{name}: fold ≥ best published in {reached} of {cells} cells ({sets} constraint sets), {broken} violations"
    );
    Summary { text, good: reached == cells && broken == 0 && cells > 0 }
}

/// Table 3 of the BCKM paper.
fn seconds_table(store: &Store, page: &mut Page) {
    let suite = Suite::Bckm;
    let mut columns = vec!["data".to_owned(), "constraints".to_owned()];
    columns.extend(suite.methods().iter().map(|m| (*m).to_owned()));
    let mut table = Table::new("Table 3: seconds per fit; printed on a Core i7 of 3.4 GHz, mostly MATLAB", 2, &columns);
    for data in printed::data(Which::Bckm) {
        for (at, level) in Protocol::Bckm.levels().into_iter().enumerate() {
            if store.cell("bckm", data, level, "fold").is_empty() {
                continue;
            }
            let mut row = vec![Cell::words(data), Cell::words(level)];
            for method in suite.methods() {
                let records = store.cell("bckm", data, level, method);
                let ours = spread(records.iter().filter(|r| r.error.is_none()).map(|r| r.seconds));
                let beside =
                    printed::number(Which::BckmSeconds, data, method, at).map_or(String::new(), |v| format!("{v}"));
                row.push(ours.map_or(Cell::words("–"), |s| Cell::number(s.mean, 2)).beside(beside));
            }
            table.rows.push(row);
        }
    }
    page.heading(3, "Seconds");
    page.table(table);
}

/// Table 2 (broken constraints) and Figures 2 to 4 of the LCC paper.
fn lcc_more(store: &Store, page: &mut Page, out: &Path) -> Result<(), String> {
    let suite = Suite::Lcc;
    let mut columns = vec!["data".to_owned(), "constraints".to_owned()];
    columns.extend(suite.methods().iter().map(|m| (*m).to_owned()));
    let mut table = Table::new("Table 2: broken constraints, both kinds together", 2, &columns);
    let mut unseen = Table::new("Table 3, last columns: NMI on rows that no constraint touches", 2, &columns);
    for data in printed::data(Which::Lcc) {
        for (at, level) in Protocol::Lcc.levels().into_iter().enumerate() {
            if store.cell("lcc", data, level, "fold").is_empty() {
                continue;
            }
            let (mut row, mut free) =
                (vec![Cell::words(data), Cell::words(level)], vec![Cell::words(data), Cell::words(level)]);
            for method in suite.methods() {
                let records = store.cell("lcc", data, level, method);
                let ours = spread(records.iter().filter(|r| r.error.is_none()).map(|r| r.broken() as f64));
                let beside =
                    printed::number(Which::LccBroken, data, method, at).map_or(String::new(), |v| format!("{v:.1}"));
                row.push(cell(ours, 1).beside(beside));
                free.push(cell(score(&records, "nmi_without_ml_cl"), 2));
            }
            table.rows.push(row);
            unseen.rows.push(free);
        }
    }
    let all: Vec<usize> = (2..2 + suite.methods().len()).collect();
    table.mark_best(&all, Better::Lower);
    unseen.mark_best(&all, Better::Higher);
    page.heading(3, "Broken constraints");
    page.table(table);
    page.heading(3, "Rows without constraints");
    page.table(unseen);
    let levels = |data: &str, word: &str| -> Vec<String> {
        let mut found: Vec<String> = Vec::new();
        for r in store.suite("lcc").iter().filter(|r| r.case.data == data && r.case.level.contains(word)) {
            if !found.contains(&r.case.level) {
                found.push(r.case.level.clone());
            }
        }
        found.sort_by_key(|l| number_in(l) as u64);
        found
    };
    for (file, data, word, name, axis) in [
        ("lcc-wrong.svg", "iris", "wrong", "Figure 4: wrong constraints among 100, iris", "wrong constraints"),
        (
            "lcc-ionosphere.svg",
            "ionosphere",
            "constraints",
            "Figure 2: number of constraints, ionosphere",
            "constraints",
        ),
        ("lcc-wdbc.svg", "wdbc", "constraints", "Figure 3: number of constraints, wdbc", "constraints"),
    ] {
        let levels = levels(data, word);
        if levels.len() > 1 {
            let chart = curves(store, "lcc", data, &levels, &["fold", "lcc", "cvqe"], "nmi", name, axis, "NMI");
            figure(page, out, file, chart.svg())?;
        }
    }
    Ok(())
}

fn number_in(level: &str) -> f64 {
    level.split(' ').next().and_then(|w| w.parse().ok()).unwrap_or(0.0)
}

/// Curves of methods over the levels of one data set.
#[allow(clippy::too_many_arguments)]
fn curves(
    store: &Store,
    suite: &str,
    data: &str,
    levels: &[String],
    methods: &[&str],
    score_name: &str,
    title: &str,
    x_name: &str,
    y_name: &str,
) -> LineChart {
    let line = |(i, method): (usize, &&str)| {
        let points = levels.iter().filter_map(|l| {
            score(&store.cell(suite, data, l, method), score_name).map(|s| Point::with(number_in(l), s.mean, s.sd))
        });
        Series {
            name: (*method).to_owned(),
            points: points.collect(),
            spread: Spread::Band,
            style: Some(i),
            ..Series::default()
        }
    };
    LineChart {
        title: title.to_owned(),
        subtitle: "mean and one standard deviation".into(),
        x_name: x_name.to_owned(),
        y_name: y_name.to_owned(),
        series: methods.iter().enumerate().map(line).filter(|s| !s.points.is_empty()).collect(),
        ..LineChart::default()
    }
}

/// A chart on the page and as a file for Markdown.
fn figure(page: &mut Page, out: &Path, file: &str, svg: Svg) -> Result<(), String> {
    std::fs::write(out.join(file), svg.standalone()).map_err(|e| format!("{file}: {e}"))?;
    page.blocks.push(Block::Chart(svg, Some(file.to_owned())));
    Ok(())
}

fn mlcl(store: &Store, page: &mut Page, out: &Path) -> Result<Summary, String> {
    page.text(
        "Rand index; sets of five rows that belong together and of one row of each class that belong apart, half of the \
         pairs each, until a class has no rows left. The paper gives no set size, and prints numbers only where they stand in \
         brackets; the rest of its Figure 2 is a picture.",
    );
    let suite = Suite::Mlcl;
    let mut columns = vec!["data".to_owned(), "constraints".to_owned()];
    columns.extend(suite.methods().iter().map(|m| (*m).to_owned()));
    columns.extend(suite.methods().iter().map(|m| format!("{m}, ms")));
    let mut table =
        Table::new("Figure 2 and Table 2 (milliseconds per fit; the paper's unit × 10⁻³ is theirs)", 2, &columns);
    let (mut cells, mut reached, mut broken) = (0, 0, 0);
    for (data, end) in AXES {
        let levels: Vec<String> = (0..=5).map(|i| (i * end / 5).to_string()).collect();
        for (at, level) in levels.iter().enumerate() {
            let fold = store.cell("mlcl", data, level, "fold");
            if fold.is_empty() {
                continue;
            }
            broken += fold.iter().map(|r| r.broken()).sum::<u64>();
            let mut row = vec![Cell::words(data), Cell::words(level)];
            for method in suite.methods() {
                let printed = printed::MLCL.iter().find(|p| p.0 == data && p.1 == *method && p.2.to_string() == *level);
                let ours = score(&store.cell("mlcl", data, level, method), "rand");
                row.push(cell(ours, 3).beside(printed.map_or(String::new(), |p| format!("{}", p.3))));
            }
            let times = printed::MLCL_TIMES.iter().find(|t| t.0 == data);
            for method in suite.methods() {
                let records = store.cell("mlcl", data, level, method);
                let ours = spread(records.iter().map(|r| 1000.0 * r.seconds));
                let beside = match (*method, times) {
                    ("greedy-mlcl", Some(t)) => format!("{}", t.1[at]),
                    ("mlcl", Some(t)) => format!("{}", t.2[at]),
                    _ => String::new(),
                };
                row.push(ours.map_or(Cell::words("–"), |s| Cell::number(s.mean, 2)).beside(beside));
            }
            table.rows.push(row);
            if let (Some(ours), Some(theirs)) =
                (score(&fold, "rand"), score(&store.cell("mlcl", data, level, "mlcl"), "rand"))
            {
                cells += 1;
                reached += usize::from(ours.mean >= theirs.mean - 0.0005);
            }
        }
        if !store.cell("mlcl", data, &levels[5], "fold").is_empty() {
            let chart = curves(
                store,
                "mlcl",
                data,
                &levels,
                suite.methods(),
                "rand",
                &format!("Figure 2: {data}"),
                "constraints",
                "Rand index",
            );
            figure(page, out, &format!("mlcl-{data}.svg"), chart.svg())?;
        }
    }
    table.mark_best(&(2..2 + suite.methods().len()).collect::<Vec<_>>(), Better::Higher);
    page.table(table);
    let text = format!("mlcl: fold ≥ the paper's method (run here) in {reached} of {cells} cells, {broken} violations");
    Ok(Summary { text, good: reached == cells && broken == 0 && cells > 0 })
}

fn noise(store: &Store, page: &mut Page, out: &Path) -> Result<Summary, String> {
    page.text(
        "Arithmetic NMI. fold finds out by itself that answers are wrong; \"all believed\" is the same method without doubt \
         (– where contradictions stop it), \"no constraints\" what it does without any.",
    );
    let suite = Suite::Noise;
    let mut columns = vec!["data".to_owned(), "flipped".to_owned()];
    columns.extend(suite.methods().iter().map(|m| (*m).to_owned()));
    let mut table = Table::new("", 2, &columns);
    let (mut cells, mut above) = (0, 0);
    let mut means: Vec<Vec<Vec<f64>>> = vec![vec![Vec::new(); FLIPS.len()]; suite.methods().len()];
    for data in NOISE {
        for (f, flips) in FLIPS.iter().enumerate() {
            let level = format!("{flips} %");
            if store.cell("noise", data, &level, "fold").is_empty() {
                continue;
            }
            let mut row = vec![Cell::words(data), Cell::words(&level)];
            let mut seen = Vec::new();
            for (m, method) in suite.methods().iter().enumerate() {
                let ours = score(&store.cell("noise", data, &level, method), "nmi");
                row.push(cell(ours, 2));
                seen.push(ours.map(|s| s.mean));
                means[m][f].extend(ours.map(|s| s.mean));
            }
            if let (Some(fold), Some(without)) = (seen[0], seen[2]) {
                cells += 1;
                above += usize::from(fold >= without - 0.005);
            }
            table.rows.push(row);
        }
    }
    table.mark_best(&(2..2 + suite.methods().len()).collect::<Vec<_>>(), Better::Higher);
    page.table(table);
    let line = |(m, method): (usize, &&str)| {
        // Only where the method has a number for every data set: otherwise its mean is of other sets.
        let full = means[0][0].len();
        let points = FLIPS.iter().enumerate().filter(|(f, _)| means[m][*f].len() == full && full > 0);
        let points = points.map(|(f, x)| Point::new(*x as f64, means[m][f].iter().sum::<f64>() / full as f64));
        Series { name: (*method).to_owned(), points: points.collect(), style: Some(m), ..Series::default() }
    };
    let chart = LineChart {
        title: "Wrong constraints".into(),
        subtitle: "mean NMI over the data sets; a line ends where a method refuses a data set".into(),
        x_name: "flipped, per cent".into(),
        y_name: "NMI".into(),
        series: suite.methods().iter().enumerate().map(line).filter(|s| !s.points.is_empty()).collect(),
        ..LineChart::default()
    };
    if !chart.series.is_empty() {
        figure(page, out, "noise.svg", chart.svg())?;
    }
    let text = format!(
        "noise: with 0 to 15 % of the constraints flipped, fold is no worse than without constraints in {above} of {cells} cells"
    );
    Ok(Summary { text, good: above == cells && cells > 0 })
}

fn scale(store: &Store, page: &mut Page, out: &Path) -> Result<Summary, String> {
    page.text("Ten overlapping blobs in ten dimensions, 1,000 constraints, half of each kind.");
    let suite = Suite::Scale;
    let mut columns = vec!["rows".to_owned()];
    columns.extend(suite.methods().iter().flat_map(|m| [format!("{m}, s"), format!("{m}, NMI")]));
    columns.push("broken by fold".into());
    let mut table = Table::new("", 0, &columns);
    let mut lines: Vec<Series> = Vec::new();
    let (mut largest, mut broken) = (None, 0);
    for n in ROWS {
        let level = n.to_string();
        let fold = store.cell("scale", "blobs", &level, "fold");
        let Some(time) = spread(fold.iter().map(|r| r.seconds)) else { continue };
        let lost: u64 = fold.iter().map(|r| r.broken()).sum();
        (largest, broken) = (Some((n, time.mean)), broken + lost);
        let mut row = vec![Cell::words(&level)];
        for method in suite.methods() {
            let records = store.cell("scale", "blobs", &level, method);
            row.push(spread(records.iter().map(|r| r.seconds)).map_or(Cell::words("–"), |s| Cell::number(s.mean, 2)));
            row.push(cell(score(&records, "nmi"), 3));
        }
        row.push(Cell { bad: lost > 0, ..Cell::number(lost as f64, 0) });
        table.rows.push(row);
    }
    table.mark_best(&(0..suite.methods().len()).map(|m| 2 + 2 * m).collect::<Vec<_>>(), Better::Higher);
    for (m, method) in suite.methods().iter().enumerate() {
        let points = ROWS.iter().filter_map(|n| {
            let records = store.cell("scale", "blobs", &n.to_string(), method);
            spread(records.iter().map(|r| r.seconds)).map(|s| Point::new(*n as f64, s.mean))
        });
        lines.push(Series {
            name: (*method).to_owned(),
            points: points.collect(),
            style: Some(m),
            ..Series::default()
        });
    }
    page.table(table);
    lines.retain(|l| l.points.len() > 1);
    if !lines.is_empty() {
        let chart = LineChart {
            title: "Seconds per fit".into(),
            x_name: "rows".into(),
            y_name: "seconds".into(),
            x_scale: Scale::Log,
            y_scale: Scale::Log,
            series: lines,
            ..LineChart::default()
        };
        figure(page, out, "scale.svg", chart.svg())?;
    }
    Ok(match largest {
        None => Summary { text: "scale: nothing was run".into(), good: false },
        Some((n, s)) => {
            Summary { text: format!("scale: fold fits {n} rows in {s:.1} s, {broken} violations"), good: broken == 0 }
        }
    })
}

/// What another experiment printed: headings, tables and paragraphs.
pub fn from_markdown(name: &str, text: &str) -> Vec<Block> {
    let mut blocks = vec![Block::Heading(2, name.to_owned())];
    let mut lines = text.lines().peekable();
    while let Some(line) = lines.next() {
        let cells = |line: &str| -> Vec<String> {
            line.trim().trim_matches('|').split(" | ").map(|c| c.trim().trim_matches('|').trim().to_owned()).collect()
        };
        if let Some(heading) = line.strip_prefix('#') {
            blocks.push(Block::Heading(3, heading.trim_start_matches('#').trim().to_owned()));
        } else if line.starts_with('|') {
            let mut table = Table::new("", 1, &cells(line));
            while let Some(next) = lines.next_if(|l| l.starts_with('|')) {
                let row = cells(next);
                if row.iter().all(|c| c.chars().all(|x| matches!(x, '-' | ':' | '|' | ' '))) {
                    continue;
                }
                let cell = |c: &String| Cell { best: c.contains("**"), ..Cell::words(c.replace("**", "")) };
                table.rows.push(row.iter().map(cell).collect());
            }
            blocks.push(Block::Table(table));
        } else if !line.trim().is_empty() {
            blocks.push(Block::Text(line.trim().to_owned()));
        }
    }
    blocks
}

/// The last sentence that another experiment printed is its summary.
pub fn last_words(name: &str, text: &str) -> Summary {
    let last = text.lines().rev().find(|l| !l.trim().is_empty() && !l.starts_with('|')).unwrap_or_default();
    let bad = ["below", "miss", "fail"].iter().any(|w| last.to_lowercase().contains(w));
    Summary { text: format!("{name}: {}", last.trim()), good: !bad }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_another_experiment_prints_becomes_headings_tables_and_words() {
        let text = "words\n\n## Table 2\n\n| data | S |\n| --- | --- |\n| iris | **0.9** |\n\nall bars met\n";
        let blocks = from_markdown("validation", text);
        assert_eq!(blocks.len(), 5);
        let Block::Table(table) = &blocks[3] else { panic!("{blocks:?}") };
        assert_eq!((table.rows.len(), table.rows[0][1].text.as_str()), (1, "0.9"));
        assert!(table.rows[0][1].best);
        assert_eq!(last_words("validation", text).text, "validation: all bars met");
    }

    #[test]
    fn spreads_are_of_what_is_there() {
        assert!(spread([].into_iter()).is_none());
        let s = spread([1.0, 3.0, f64::NAN].into_iter()).unwrap();
        assert_eq!((s.mean, s.count), (2.0, 2));
        assert!((s.sd - 2f64.sqrt()).abs() < 1e-12);
    }
}
