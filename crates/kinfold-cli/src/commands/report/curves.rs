//! Curves from JSON alone: the choice of k, and learning curves.

use kinfold_report::chart::{Choice, Criterion, LineChart, Point, Series, Spread};
use kinfold_report::{Better, Block, Cell, Page, Table};
use serde_json::Value;

use super::kinfold_words;

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

/// The picture of a choice of k, from what `choose-k --json` prints.
pub fn choice_chart(run: &Value, title: &str) -> Choice {
    let by = run["by"].as_str().unwrap_or_default();
    let candidates = list(&run["candidates"]);
    let k = |value: &Value| value.as_u64().map(|k| k as usize);
    let score = |c: &Value| c["score"].as_f64().or_else(|| c["scores"][by].as_f64());
    let criterion = |c: &Value| {
        let name = c["name"].as_str().unwrap_or_default();
        Criterion {
            name: name.to_owned(),
            values: candidates.iter().map(|x| x["scores"][name].as_f64()).collect(),
            loss: c["smaller_is_better"] == true,
            choice: k(&c["k"]),
        }
    };
    Choice {
        title: title.to_owned(),
        subtitle: "shades: every criterion from its worst (faint) to its best (full) k, its choice ringed".into(),
        name: "k".into(),
        curve_name: by.to_owned(),
        candidates: candidates.iter().filter_map(|c| k(&c["k"])).collect(),
        curve: candidates.iter().map(|c| score(c).map(|s| (s, c["errors"][by].as_f64().unwrap_or(0.0)))).collect(),
        chosen: k(&run["k"]),
        ruled_out: k(&run["smallest_k"]["lower"])
            .map(|lower| (lower, format!("below k = {lower} some different pair must break (proven)"))),
        criteria: list(&run["criteria"]).iter().filter(|c| !c["k"].is_null()).map(criterion).collect(),
    }
}

/// The choice of k: the deciding curve, then every criterion.
pub fn choice(run: &Value, page: &mut Page) {
    let (k, by) = (&run["k"], run["by"].as_str().unwrap_or_default());
    let candidates = list(&run["candidates"]);
    let reason = run["reason"].as_str().filter(|r| !r.is_empty()).map_or(format!("by {by}"), str::to_owned);
    page.blocks.push(Block::Verdict(format!("k = {k}: {reason}"), true));
    page.chart(choice_chart(run, &format!("{by} by number of clusters")).svg());
    if let (Some(lower), Some(upper)) = (run["smallest_k"]["lower"].as_u64(), run["smallest_k"]["upper"].as_u64()) {
        page.text(match lower == upper {
            true => format!("Fewer than {lower} clusters cannot keep every different pair (proven)."),
            false => format!("At least {lower} clusters are needed to keep every different pair; {upper} are enough."),
        });
    }
    let criteria: Vec<&Value> = list(&run["criteria"]).iter().filter(|c| !c["k"].is_null()).collect();
    let mut names = vec!["criterion".to_owned(), "chooses".to_owned()];
    names.extend(candidates.iter().map(|c| format!("k = {}", c["k"])));
    let mut table = Table::new("Every criterion at every k; what it is best at is marked.", 1, &names);
    for c in &criteria {
        let name = c["name"].as_str().unwrap_or_default();
        let mut row = vec![Cell::words(name), Cell::words(c["k"].to_string())];
        for x in candidates {
            let mut cell = Cell::number(x["scores"][name].as_f64().unwrap_or(f64::NAN), 3);
            cell.best = x["k"] == c["k"];
            row.push(cell);
        }
        table.rows.push(row);
    }
    if !table.rows.is_empty() {
        page.table(table);
    }
    if !list(&run["left_out"]).is_empty() {
        let why = |x: &Value| format!("k = {}: {}", x["k"], x["why"].as_str().unwrap_or_default());
        page.text("Left out:");
        page.blocks.push(Block::List(list(&run["left_out"]).iter().map(why).collect()));
    }
}

/// The picture of learning curves in one score, from what `simulate --ask --json` prints.
pub fn learning_chart(run: &Value, score: &str, name: &str, title: &str) -> LineChart {
    let series = |c: &Value| {
        let points = list(&c["points"]).iter().filter_map(|p| {
            let s = &p[score];
            Some(Point::with(p["questions"].as_f64()?, s["mean"].as_f64()?, s["sd"].as_f64().unwrap_or(0.0)))
        });
        let name = c["strategy"].as_str().unwrap_or_default().to_owned();
        Series { name, points: points.collect(), spread: Spread::Band, ..Series::default() }
    };
    LineChart {
        title: title.to_owned(),
        subtitle: "mean and one standard deviation over the seeds".into(),
        x_name: "questions".into(),
        y_name: name.to_owned(),
        series: list(&run["curves"]).iter().map(series).collect(),
        ..LineChart::default()
    }
}

/// Learning curves of query strategies.
pub fn learning(run: &Value, page: &mut Page) {
    if page.title.is_empty() {
        page.title = "Learning curves".into();
    }
    page.lead = format!(
        "{} rows, k = {}, method {}, {} seeds, {:.0} % wrong answers; {}",
        run["n"],
        run["k"],
        run["method"].as_str().unwrap_or("auto"),
        run["seeds"],
        100.0 * run["noise"].as_f64().unwrap_or(0.0),
        kinfold_words()
    );
    let curves = list(&run["curves"]);
    for (score, name) in [("nmi", "NMI"), ("ari", "adjusted Rand index")] {
        let title = format!("{name} by number of questions");
        page.chart(learning_chart(run, score, name, &title).svg());
        let mut names = vec!["questions".to_owned()];
        names.extend(curves.iter().map(|c| c["strategy"].as_str().unwrap_or_default().to_owned()));
        let mut table = Table::new(format!("{name}, the best of each line marked"), 0, &names);
        let mut asked: Vec<u64> =
            curves.iter().flat_map(|c| list(&c["points"]).iter().filter_map(|p| p["questions"].as_u64())).collect();
        asked.sort_unstable();
        asked.dedup();
        for at in asked {
            let mut row = vec![Cell::words(at.to_string())];
            for c in curves {
                let point = list(&c["points"]).iter().find(|p| p["questions"] == at);
                let of = |field: &str| point.and_then(|p| p[score][field].as_f64()).unwrap_or(f64::NAN);
                row.push(Cell::number(of("mean"), 3).spread(of("sd"), 3));
            }
            table.rows.push(row);
        }
        table.mark_best(&(1..=curves.len()).collect::<Vec<_>>(), Better::Higher);
        page.table(table);
    }
}
