//! From results to pages: every cell ours and printed, the best of each line marked, a sentence per suite.

use std::path::Path;

use kinfold_report::chart::{LineChart, Point, Series, Spread, Svg};
use kinfold_report::{Block, Cell, Page};
use serde::{Deserialize, Serialize};

use super::printed::Which;
use super::store::{Record, Store};
use super::suites::Suite;
use super::{BenchArgs, tables};
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
pub(super) struct Spreaded {
    pub(super) mean: f64,
    pub(super) sd: f64,
    pub(super) count: usize,
}

pub(super) fn spread(values: impl Iterator<Item = f64>) -> Option<Spreaded> {
    let values: Vec<f64> = values.filter(|v| v.is_finite()).collect();
    let count = values.len();
    let mean = values.iter().sum::<f64>() / count as f64;
    let sd = (values.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / (count as f64 - 1.0).max(1.0)).sqrt();
    (count > 0).then_some(Spreaded { mean, sd, count })
}

pub(super) fn score(records: &[&Record], name: &str) -> Option<Spreaded> {
    spread(records.iter().filter_map(|r| r.scores.get(name).copied()))
}

pub(super) fn cell(value: Option<Spreaded>, decimals: usize) -> Cell {
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

/// Where and how the results came about; kept beside them, so that pages made later say the same.
#[derive(Serialize, Deserialize)]
pub struct Circumstances(Vec<(String, String)>);

impl Circumstances {
    /// Of this run.
    pub fn new(args: &BenchArgs, source: &Source) -> Circumstances {
        let data = match source {
            Source::Folder(_) => "all data sets of docs/data.md that are in the folder given",
            Source::Shipped => {
                "only the small data sets that come with kinfold (no --data): everything else is skipped"
            }
        };
        let form = match (args.quick, args.sets) {
            (true, 0) => "the quick form: three constraint sets, one start".to_owned(),
            (true, sets) => format!("the quick form: {sets} constraint sets, one start"),
            (false, 0) => "the papers' numbers of constraint sets and starts".to_owned(),
            (false, sets) => format!("{sets} constraint sets, the papers' numbers of starts"),
        };
        let build = if cfg!(debug_assertions) {
            "development build: seconds are several times those of a release build"
        } else {
            "release build"
        };
        let version = format!("kinfold {}, {build}", env!("CARGO_PKG_VERSION"));
        let mut facts = vec![("machine", machine()), ("version", version), ("form", form), ("data", data.to_owned())];
        if !args.note.is_empty() {
            facts.push(("note", args.note.clone()));
        }
        Circumstances(facts.into_iter().map(|(name, value)| (name.to_owned(), value)).collect())
    }

    /// Kept in a file; those of an earlier run where nothing is run now.
    pub fn keep(self, file: &Path, only_pages: bool) -> Result<Circumstances, String> {
        let failed = |e: String| format!("{}: {e}", file.display());
        if only_pages && file.exists() {
            let text = std::fs::read_to_string(file).map_err(|e| failed(e.to_string()))?;
            return serde_json::from_str(&text).map_err(|e| failed(e.to_string()));
        }
        if !only_pages {
            let text = serde_json::to_string_pretty(&self).map_err(|e| failed(e.to_string()))?;
            std::fs::write(file, text + "\n").map_err(|e| failed(e.to_string()))?;
        }
        Ok(self)
    }
}

/// Title and circumstances.
pub fn opening(circumstances: Circumstances) -> Page {
    Page {
        title: "The papers' tables, and ours".into(),
        lead: "Every number is a mean over constraint sets and starts ± one standard deviation; the number a paper prints \
               for the same method stands in brackets. The best of each line is marked."
            .into(),
        blocks: vec![Block::Facts(circumstances.0)],
    }
}

/// The sentences, first on the page.
pub fn summary(page: &mut Page, summaries: &[Summary]) {
    let blocks: Vec<Block> = summaries.iter().map(|s| Block::Verdict(s.text.clone(), s.good)).collect();
    page.blocks.splice(1..1, blocks);
}

/// Around the sentences on the front page: what is between is quoted elsewhere.
pub const MARKS: (&str, &str) = ("<!-- summary -->", "<!-- /summary -->");

/// The front page in Markdown, with links to the pages that there are.
pub fn front(page: &Page, summaries: &[Summary], parts: &[String]) -> String {
    let head = Page { title: page.title.clone(), lead: page.lead.clone(), blocks: page.blocks[..1].to_vec() };
    let sentences: Vec<String> = summaries.iter().map(|s| format!("- {}", s.text)).collect();
    let links: Vec<String> = parts.iter().map(|n| format!("[{n}]({n}.md)")).collect();
    let (begin, end) = MARKS;
    format!("{}\n{begin}\n{}\n{end}\n\n{}\n", head.markdown(), sentences.join("\n"), links.join(" · "))
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
    page.heading(2, format!("{}: {}", suite.name(), title(suite)));
    let mut summary = match suite {
        Suite::Bckm => tables::against_print(suite, store, page, Protocol::Bckm, Which::Bckm),
        Suite::Lcc => tables::against_print(suite, store, page, Protocol::Lcc, Which::Lcc),
        Suite::Mlcl => tables::mlcl(store, page, out)?,
        Suite::Noise => tables::noise(store, page, out)?,
        Suite::Scale => tables::scale(store, page, out)?,
    };
    match suite {
        Suite::Bckm => {
            tables::seconds_table(store, page);
            tables::rounds(store, page, out)?;
        }
        Suite::Lcc => tables::lcc_more(store, page, out)?,
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

pub(super) fn number_in(level: &str) -> f64 {
    level.split(' ').next().and_then(|w| w.parse().ok()).unwrap_or(0.0)
}

/// Curves of methods over the levels of one data set.
#[allow(clippy::too_many_arguments)]
pub(super) fn curves(
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
pub(super) fn figure(page: &mut Page, out: &Path, file: &str, svg: Svg) -> Result<(), String> {
    std::fs::write(out.join(file), svg.standalone()).map_err(|e| format!("{file}: {e}"))?;
    page.blocks.push(Block::Chart(svg, Some(file.to_owned())));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spreads_are_of_what_is_there() {
        assert!(spread([].into_iter()).is_none());
        let s = spread([1.0, 3.0, f64::NAN].into_iter()).unwrap();
        assert_eq!((s.mean, s.count), (2.0, 2));
        assert!((s.sd - 2f64.sqrt()).abs() < 1e-12);
    }
}
