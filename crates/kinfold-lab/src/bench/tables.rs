//! The tables and figures of each suite.

use std::path::Path;

use kinfold_report::chart::{LineChart, Point, Scale, Series, Spread};
use kinfold_report::{Better, Cell, Page, Table};

use super::present::{Summary, cell, curves, figure, number_in, score, spread};
use super::printed::{self, Which};
use super::store::Store;
use super::suites::{AXES, BY_ORDER, EXACT, FLIPS, NOISE, PLACES, ROUNDS, ROUNDS_OF, ROWS, Suite, place};
use crate::protocol::Protocol;

/// NMI tables of the two papers that print three levels, and how fold does against the best printed number.
pub(super) fn against_print(suite: Suite, store: &Store, page: &mut Page, protocol: Protocol, which: Which) -> Summary {
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
    page.text(if which == Which::Bckm { printed::BCKM_MISPRINT } else { printed::LCC_OTHER_ROWS });
    if !below.is_empty() {
        page.text(format!("Below the best printed number: {}.", below.join(", ")));
    }
    let text = format!(
        "{name}: fold ≥ best published in {reached} of {cells} cells ({sets} constraint set{}), {broken} violations",
        if sets == 1 { "" } else { "s" }
    );
    Summary { text, good: reached == cells && broken == 0 && cells > 0 }
}

/// Table 3 of the BCKM paper.
pub(super) fn seconds_table(store: &Store, page: &mut Page) {
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

/// Table 4 and Figure 2 of the BCKM paper.
pub(super) fn rounds(store: &Store, page: &mut Page, out: &Path) -> Result<(), String> {
    let mut table =
        Table::new("Table 4: rounds before boosting ended, 100 at most", 1, &["data", "1 %", "5 %", "10 %"]);
    for data in printed::data(Which::Bckm) {
        let mut row = vec![Cell::words(data)];
        for (at, level) in Protocol::Bckm.levels().into_iter().enumerate() {
            let records = store.cell("bckm", data, level, "bckm");
            let ours = spread(records.iter().filter(|r| r.error.is_none()).map(|r| r.iterations as f64));
            let beside =
                printed::number(Which::BckmRounds, data, "bckm", at).map_or(String::new(), |v| format!("{v:.1}"));
            row.push(cell(ours, 1).beside(beside));
        }
        if row[1..].iter().any(|c| c.value.is_some()) {
            table.rows.push(row);
        }
    }
    if !table.rows.is_empty() {
        page.heading(3, "Rounds of boosting");
        page.table(table);
    }
    for data in ROUNDS_OF {
        let line = |(i, level): (usize, &str)| {
            let points = ROUNDS.iter().filter_map(|r| {
                let records = store.cell("bckm", data, &format!("{level}, {r} rounds"), "bckm");
                score(&records, "nmi_geometric").map(|s| Point::with(*r as f64, s.mean, s.sd))
            });
            let (name, points) = (format!("{level} of all pairs"), points.collect());
            Series { name, points, spread: Spread::Band, style: Some(i), ..Series::default() }
        };
        let chart = LineChart {
            title: format!("Figure 2: {data}, NMI by rounds of boosting"),
            subtitle: "bckm; mean and one standard deviation".into(),
            x_name: "rounds at most".into(),
            y_name: "NMI".into(),
            x_scale: Scale::Log,
            series: Protocol::Bckm.levels().into_iter().enumerate().map(line).filter(|s| s.points.len() > 1).collect(),
            ..LineChart::default()
        };
        if !chart.series.is_empty() {
            figure(page, out, &format!("bckm-rounds-{data}.svg"), chart.svg())?;
        }
    }
    by_order(store, page, out)
}

/// Figure 3 of the BCKM paper.
fn by_order(store: &Store, page: &mut Page, out: &Path) -> Result<(), String> {
    let line = |(i, data): (usize, &str)| {
        let records = store.cell("bckm", data, BY_ORDER, "ckm");
        let at = |to: &usize| score(&records, &place(*to)).map(|s| Point::with(*to as f64, s.mean, s.sd));
        Series {
            name: data.into(),
            points: PLACES.iter().filter_map(at).collect(),
            style: Some(i),
            ..Series::default()
        }
    };
    let series: Vec<Series> = printed::data(Which::Bckm).into_iter().enumerate().map(line).collect();
    let series: Vec<Series> = series.into_iter().filter(|s| s.points.len() > 1).collect();
    if series.is_empty() {
        return Ok(());
    }
    let chart = LineChart {
        title: "Figure 3: how often a constraint holds, by its place in the order".into(),
        subtitle: "one run of ckm, 5 % of all pairs; each point stands for the places since the one before".into(),
        x_name: "place".into(),
        y_name: "share that holds".into(),
        x_scale: Scale::Log,
        series,
        ..LineChart::default()
    };
    figure(page, out, "bckm-order.svg", chart.svg())
}

/// Table 4 of the LCC paper.
fn exact_table(store: &Store, page: &mut Page) {
    let columns =
        ["constraints", "fold", "lcc", "exact", "fold, s", "lcc, s", "exact, s", "proven"].map(str::to_owned).to_vec();
    let mut table = Table::new(
        "Table 4: NMI and seconds on iris; beside exact the paper's column generation, given 1800 s",
        0,
        &columns,
    );
    for (amount, generation, lcc) in printed::LCC_EXACT {
        let records = |method: &str| store.cell("lcc", "iris", &format!("{amount} constraints"), method);
        if records("fold").is_empty() {
            continue;
        }
        let printed = |at: usize, method: &str| match (method, at, generation) {
            ("lcc", 0, _) => format!("{:.2}", lcc.0),
            ("lcc", _, _) => format!("{}", lcc.1),
            ("exact", 0, Some(g)) => format!("{:.2}", g.0),
            ("exact", 0, None) => "none".to_owned(),
            ("exact", _, Some(g)) => format!("{}", g.1),
            ("exact", _, None) => "1800".to_owned(),
            _ => String::new(),
        };
        let methods = ["fold", "lcc", "exact"];
        let mut row = vec![Cell::words(amount.to_string())];
        row.extend(methods.iter().map(|m| cell(score(&records(m), "nmi"), 2).beside(printed(0, m))));
        row.extend(methods.iter().map(|m| {
            let seconds = spread(records(m).iter().map(|r| r.seconds));
            seconds.map_or(Cell::words("–"), |s| Cell::number(s.mean, 3)).beside(printed(1, m))
        }));
        let exact = records("exact");
        row.push(Cell::words(format!("{} of {}", exact.iter().filter(|r| r.note == "proven").count(), exact.len())));
        table.rows.push(row);
    }
    table.mark_best(&[1, 2, 3], Better::Higher);
    if !table.rows.is_empty() {
        debug_assert_eq!(EXACT.len(), printed::LCC_EXACT.len());
        page.heading(3, "Against an exact method");
        page.text("The exact method minimises the k-means objective; its NMI may be lower than that of a method that finds a better space.");
        page.table(table);
    }
}

/// Table 2 (broken constraints) and Figures 2 to 4 of the LCC paper.
pub(super) fn lcc_more(store: &Store, page: &mut Page, out: &Path) -> Result<(), String> {
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
                let beside =
                    printed::number(Which::LccFree, data, method, at).map_or(String::new(), |v| format!("{v:.2}"));
                free.push(cell(score(&records, "nmi_without_ml_cl"), 2).beside(beside));
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
    exact_table(store, page);
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

pub(super) fn mlcl(store: &Store, page: &mut Page, out: &Path) -> Result<Summary, String> {
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

pub(super) fn noise(store: &Store, page: &mut Page, out: &Path) -> Result<Summary, String> {
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

pub(super) fn scale(store: &Store, page: &mut Page, out: &Path) -> Result<Summary, String> {
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
