//! The page of a clustering: map, silhouettes, profiles, typical rows, broken and doubted constraints, what was tried.

use kinfold::blocks::par::Pool;
use kinfold::constraints::{ConstraintSet, Kind};
use kinfold::data::Scaling;
use kinfold::methods::{self, Listens};
use kinfold_io::{DataFile, Input, ReadOptions, View, read_table};
use kinfold_report::chart::{Bar, Bars, Edge, Heat, Map, Silhouettes, Spot};
use kinfold_report::{Block, Cell, Page, Table, number};
use serde_json::Value;

use super::{curves, inputs, kinfold_words, rows};
use crate::args::ReportArgs;
use crate::failure::{FAILED, Failure};
use crate::load;
use crate::session::{Session, count};

/// Most constraints drawn, broken ones first.
const EDGES: usize = 1500;
/// Most lines of a table.
const LINES: usize = 200;
/// Most features in a profile.
const FEATURES: usize = 16;
/// Most columns shown of a row.
const SHOWN: usize = 8;

struct Run<'a> {
    json: &'a Value,
    file: DataFile,
    given: ConstraintSet,
    labels: Vec<u32>,
    k: usize,
}

pub fn fill(session: &Session, args: &ReportArgs, json: &Value, page: &mut Page) -> Result<(), Failure> {
    let wanted = inputs(args, json)?;
    let options = load::options(session, &wanted.columns, wanted.truth.as_deref(), Some(&wanted.constraints))?;
    let options = ReadOptions { features: wanted.columns.features.clone(), keep_other: true, ..options };
    let file = read_table(&Input::from_arg(&wanted.data), &options)?;
    let labels: Option<Vec<u32>> =
        json["labels"].as_array().and_then(|all| all.iter().map(|l| l.as_u64().map(|l| l as u32)).collect());
    let labels = labels.ok_or_else(|| Failure::new(FAILED, format!("{}: its labels are not numbers", args.run)))?;
    if labels.len() != file.n() {
        return Err(Failure::new(
            FAILED,
            format!("{} has {} now, the run had {}", file.source, count(file.n(), "row"), labels.len()),
        )
        .hint("the rows have changed since the run: cluster them again, or name the old file with --data"));
    }
    let given = load::constraints(session, &wanted.constraints, &file)?;
    let most = labels.iter().max().map_or(0, |&m| m as usize + 1);
    let k = json["k"].as_u64().map_or(most, |k| (k as usize).max(most));
    let run = Run { json, file, given, labels, k };
    if page.title.is_empty() {
        let name = std::path::Path::new(&run.file.source)
            .file_name()
            .map_or(run.file.source.clone().into(), |n| n.to_string_lossy());
        page.title = format!("{name}: {}", count(run.k, "cluster"));
    }
    page.lead = format!(
        "{} in {} by {} ({}), seed {}; {}",
        count(run.labels.len(), "row"),
        count(run.k, "cluster"),
        json["method"].as_str().unwrap_or("?"),
        json["representation"].as_str().unwrap_or("?"),
        json["seed"],
        kinfold_words()
    );
    let constrained = run.constrained();
    let broken = run.broken();
    let first: Vec<usize> =
        broken.iter().flat_map(|b| [b.0, b.1]).chain(constrained.iter().flat_map(|e| [e.0, e.1])).collect();
    let pairs: Vec<(usize, usize)> = broken.iter().map(|b| (b.0, b.1)).collect();
    let pool = Pool::new(session.threads);
    session.ctx().progress("maps and silhouettes", 0, None);
    let seen = match run.file.rows.view()? {
        View::F32(data) => rows::look(&pool, &data, &run.labels, run.k, &first, &pairs)?,
        View::F64(data) => rows::look(&pool, &data, &run.labels, run.k, &first, &pairs)?,
    };
    session.clear_progress();
    run.overview(page);
    run.map(page, &seen, &constrained);
    run.silhouettes(page, &seen);
    run.profiles(page, &seen);
    run.violations(page, &seen);
    run.distrusted(page);
    run.tried(page);
    if json["choice_of_k"].is_object() {
        page.heading(2, "How many clusters");
        curves::choice(&json["choice_of_k"], page);
    }
    let notes: Vec<String> = list(&json["notes"]).iter().filter_map(|n| n.as_str().map(str::to_owned)).collect();
    if !notes.is_empty() {
        page.heading(2, "Notes");
        page.blocks.push(Block::List(notes));
    }
    Ok(())
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

fn row_pair(value: &Value) -> Option<(usize, usize)> {
    Some((value["row_a"].as_u64()? as usize, value["row_b"].as_u64()? as usize))
}

impl Run<'_> {
    fn id(&self, row: usize) -> String {
        self.file.ids.get(row).into_owned()
    }

    /// Pairs of rows that constraints speak of, up to a number that can be drawn.
    fn constrained(&self) -> Vec<(usize, usize, bool)> {
        let pairs = self.given.expanded().filter(|p| p.weight > 0.0 && p.a != p.b).take(EDGES);
        pairs.map(|p| (p.a as usize, p.b as usize, p.kind == Kind::MustLink)).collect()
    }

    /// The broken ones with their place in the run's list.
    fn broken(&self) -> Vec<(usize, usize, &Value)> {
        let n = self.labels.len();
        let all = list(&self.json["violations"]["list"]).iter();
        all.filter_map(|v| row_pair(v).filter(|p| p.0 < n && p.1 < n).map(|p| (p.0, p.1, v))).collect()
    }

    fn cluster_names(&self) -> Vec<String> {
        let mut sizes = vec![0; self.k];
        self.labels.iter().for_each(|&l| sizes[l as usize] += 1);
        sizes.iter().enumerate().map(|(c, size)| format!("cluster {c} ({size})")).collect()
    }

    fn overview(&self, page: &mut Page) {
        let v = &self.json["violations"];
        let of = |field: &str| v[field].as_u64().unwrap_or(0);
        let (given, broken) = (of("must_link_given") + of("cannot_link_given"), of("must_link") + of("cannot_link"));
        if given > 0 {
            let text = match broken {
                0 => format!(
                    "All {given} constraints are kept ({} same, {} different).",
                    of("must_link_given"),
                    of("cannot_link_given")
                ),
                _ => format!(
                    "{} of {} same and {} of {} different are broken.",
                    of("must_link"),
                    of("must_link_given"),
                    of("cannot_link"),
                    of("cannot_link_given")
                ),
            };
            page.blocks.push(Block::Verdict(text, broken == 0));
        }
        let mut facts = vec![
            ("rows × features".to_owned(), format!("{} × {}", self.labels.len(), self.file.dims())),
            ("objective".to_owned(), number(self.json["objective"].as_f64().unwrap_or(f64::NAN))),
            (
                "ended".to_owned(),
                format!("{}, {} iterations", self.json["termination"].as_str().unwrap_or("?"), self.json["iterations"]),
            ),
            ("time".to_owned(), format!("{} s", number(self.json["elapsed_seconds"].as_f64().unwrap_or(f64::NAN)))),
        ];
        if let Some(scores) = self.json["scores"].as_object() {
            let text =
                |(name, value): (&String, &Value)| value.as_f64().map(|v| format!("{} {v:.3}", name.replace('_', " ")));
            let all: Vec<String> = scores.iter().filter_map(text).collect();
            if !all.is_empty() {
                facts.push(("scores".to_owned(), all.join(", ")));
            }
        }
        page.blocks.push(Block::Facts(facts));
        if let Some(truth) = self.file.truth() {
            let (codes, names) = truth.codes();
            if names.len() <= 30 {
                let mut counts = vec![vec![0.0; names.len()]; self.k];
                for (label, code) in self.labels.iter().zip(&codes) {
                    if let Some(code) = code {
                        counts[*label as usize][*code as usize] += 1.0;
                    }
                }
                let mut columns = vec!["cluster".to_owned()];
                columns.extend(names);
                let mut table = Table::new(format!("Clusters against the known {}", truth.name()), 1, &columns);
                for (c, row) in counts.iter().enumerate() {
                    let most = row.iter().copied().fold(1.0, f64::max);
                    let cell = |v: &f64| Cell { best: *v >= most, ..Cell::number(*v, 0) };
                    table.rows.push(std::iter::once(Cell::words(c.to_string())).chain(row.iter().map(cell)).collect());
                }
                page.table(table);
            }
        }
    }

    fn map(&self, page: &mut Page, seen: &rows::Seen, constrained: &[(usize, usize, bool)]) {
        let mut at = vec![usize::MAX; self.labels.len()];
        seen.drawn.iter().enumerate().for_each(|(i, &row)| at[row] = i);
        let is_broken = |a: usize, b: usize, together: bool| (self.labels[a] == self.labels[b]) != together;
        let both = |a: usize, b: usize| at[a] != usize::MAX && at[b] != usize::MAX;
        let mut edges: Vec<Edge> = constrained
            .iter()
            .filter(|e| both(e.0, e.1))
            .map(|&(a, b, together)| Edge { a: at[a], b: at[b], together, broken: is_broken(a, b, together) })
            .collect();
        for (a, b, v) in self.broken() {
            let together = v["kind"] == "must-link";
            let edge = Edge { a: at[a], b: at[b], together, broken: true };
            if both(a, b) && !edges.iter().any(|e| e.broken && (e.a, e.b) == (edge.a, edge.b)) {
                edges.push(edge);
            }
        }
        let spots = |places: &[(f64, f64)]| -> Vec<Spot> {
            let spot = |(&row, &at): (&usize, &(f64, f64))| Spot {
                at,
                cluster: self.labels[row] as usize,
                title: format!("{} in cluster {}", self.id(row), self.labels[row]),
            };
            seen.drawn.iter().zip(places).map(spot).collect()
        };
        let shown = if seen.drawn.len() < self.labels.len() {
            format!("; {} of {} rows drawn", seen.drawn.len(), self.labels.len())
        } else {
            String::new()
        };
        let columns = if seen.scaling == Scaling::Standard { "standardised" } else { "tf-idf weighted" };
        let percent = |share: f64| format!("{:.0} %", 100.0 * share);
        let plane = Map {
            title: "Map: two directions".into(),
            subtitle: format!(
                "first two principal components of the {columns} columns, {} of their variance{shown}",
                percent(seen.shares.0 + seen.shares.1)
            ),
            axes: (
                format!("component 1 ({})", percent(seen.shares.0)),
                format!("component 2 ({})", percent(seen.shares.1)),
            ),
            spots: spots(&seen.places),
            edges,
            clusters: self.cluster_names(),
        };
        page.heading(2, "Map");
        match &seen.neighbourhoods {
            None => page.chart(plane.svg()),
            Some(places) => {
                let near = Map {
                    title: "Map: neighbourhoods".into(),
                    subtitle: format!("t-SNE of the {columns} columns: neighbours stay together{shown}"),
                    axes: (String::new(), String::new()),
                    spots: spots(places),
                    ..plane.clone()
                };
                page.blocks.push(Block::Views(vec![
                    ("two directions".into(), plane.svg()),
                    ("neighbourhoods".into(), near.svg()),
                ]));
            }
        }
        page.text(
            "What lies close in the two directions is close in these directions only; on the map of neighbourhoods neighbours \
             are real but distances, sizes and gaps between groups mean nothing. The clustering saw all columns.",
        );
    }

    fn silhouettes(&self, page: &mut Page, seen: &rows::Seen) {
        if seen.widths.is_empty() {
            return;
        }
        let mut clusters: Vec<(String, Vec<f64>)> =
            self.cluster_names().into_iter().map(|name| (name, Vec::new())).collect();
        seen.widths.iter().for_each(|w| clusters[self.labels[w.0] as usize].1.push(w.1));
        let mean = seen.widths.iter().map(|w| w.1).sum::<f64>() / seen.widths.len() as f64;
        page.heading(2, "Silhouettes");
        let sampled = seen.widths.len() < self.labels.len();
        let chart = Silhouettes {
            title: "Silhouettes".into(),
            subtitle: format!(
                "mean {mean:.2} over {}{}",
                count(seen.widths.len(), "row"),
                if sampled { " (a sample)" } else { "" }
            ),
            clusters,
        };
        page.chart(chart.svg());
        let mut least: Vec<_> = seen.widths.iter().filter(|w| w.1 < 0.0).collect();
        least.sort_by(|a, b| a.1.total_cmp(&b.1).then(a.0.cmp(&b.0)));
        if !least.is_empty() {
            let caption = format!("{} below 0, the lowest first", count(least.len(), "row"));
            let mut table = Table::new(caption, 1, &["row", "cluster", "nearest other", "width"]);
            for (row, width, other) in least.iter().take(10) {
                table.rows.push(vec![
                    Cell::words(self.id(*row)),
                    Cell::words(self.labels[*row].to_string()),
                    Cell::words(other.to_string()),
                    Cell::number(*width, 2),
                ]);
            }
            page.table(table);
        }
    }

    fn profiles(&self, page: &mut Page, seen: &rows::Seen) {
        let z = |c: usize, f: usize| {
            if seen.sd[f] > 0.0 { Some((seen.means.row(c)[f] - seen.mean[f]) / seen.sd[f]) } else { None }
        };
        let filled: Vec<usize> = (0..self.k).filter(|&c| self.labels.iter().any(|&l| l as usize == c)).collect();
        let spread = |f: usize| filled.iter().filter_map(|&c| z(c, f)).map(|v| v * v).sum::<f64>();
        let mut features: Vec<usize> = (0..self.file.dims()).collect();
        if features.len() > FEATURES {
            features.sort_by(|&a, &b| spread(b).total_cmp(&spread(a)).then(a.cmp(&b)));
            features.truncate(FEATURES);
            features.sort_unstable();
        }
        page.heading(2, "Profiles");
        let names = self.cluster_names();
        let which = if features.len() < self.file.dims() {
            format!("; the {} of {} features in which clusters differ most", features.len(), self.file.dims())
        } else {
            String::new()
        };
        let heat = Heat {
            title: "Means of the clusters".into(),
            subtitle: format!("in standard deviations from the mean of all rows{which}"),
            columns: features.iter().map(|&f| self.file.feature_name(f)).collect(),
            rows: filled.iter().map(|&c| (names[c].clone(), features.iter().map(|&f| z(c, f)).collect())).collect(),
            full: 2.0,
        };
        page.chart(heat.svg());
        let text: Vec<_> = self.file.text.iter().take(SHOWN / 2).collect();
        features.truncate(SHOWN - text.len());
        let mut columns = vec!["row".to_owned(), "cluster".to_owned()];
        columns.extend(text.iter().map(|t| t.name().to_owned()));
        columns.extend(features.iter().map(|&f| self.file.feature_name(f)));
        let mut table = Table::new("Typical rows: nearest to the middle of their cluster", 2 + text.len(), &columns);
        for &row in filled.iter().flat_map(|&c| &seen.typical[c]) {
            let mut cells = vec![Cell::words(self.id(row)), Cell::words(self.labels[row].to_string())];
            cells.extend(text.iter().map(|t| Cell::words(t.get(row))));
            cells.extend(features.iter().map(|&f| Cell::words(number(self.value(row, f)))));
            table.rows.push(cells);
        }
        page.table(table);
    }

    fn value(&self, row: usize, feature: usize) -> f64 {
        let mut all = vec![0.0; self.file.dims()];
        match self.file.rows.view() {
            Ok(View::F32(data)) => data.add_row(row, 1.0, &mut all),
            Ok(View::F64(data)) => data.add_row(row, 1.0, &mut all),
            Err(_) => {}
        }
        all[feature]
    }

    /// Why a constraint could be broken.
    fn reason(&self, a: usize, b: usize, v: &Value) -> String {
        let doubted = list(&self.json["distrusted"])
            .iter()
            .find(|d| row_pair(d).is_some_and(|p| p == (a, b) || p == (b, a)) && d["kind"] == v["kind"]);
        if let Some(evidence) = doubted.and_then(|d| d["evidence"].as_str()) {
            return format!("not believed: {evidence}");
        }
        if let Some(weight) = v["weight"].as_f64() {
            return format!("soft: breaking it costs {}", number(weight));
        }
        let method = self.json["method"].as_str().unwrap_or("?");
        match methods::find(method).map(|e| e.info.listens) {
            Ok(Listens::No) => format!("{method} does not look at constraints"),
            Ok(Listens::Soft | Listens::Priced) => {
                format!("{method} weighs constraints against distances; methods marked hard keep them")
            }
            _ => "the constraints cannot all hold; kinfold check shows the chain".to_owned(),
        }
    }

    fn violations(&self, page: &mut Page, seen: &rows::Seen) {
        let broken = self.broken();
        if broken.is_empty() {
            return;
        }
        page.heading(2, "Broken constraints");
        let columns = ["said", "row", "and row", "clusters", "where", "distance", "why"];
        let caption = format!(
            "{}; distances in units of the mean distance of two rows{}",
            count(broken.len(), "broken constraint"),
            if broken.len() > LINES { format!("; the first {LINES}") } else { String::new() }
        );
        let mut table = Table::new(caption, columns.len(), &columns);
        table.columns[5].numeric = true;
        for ((a, b, v), distance) in broken.iter().zip(&seen.distances).take(LINES) {
            let said = if v["kind"] == "must-link" { "same" } else { "different" };
            table.rows.push(vec![
                Cell::words(said),
                Cell::words(self.id(*a)),
                Cell::words(self.id(*b)),
                Cell::words(format!("{}, {}", self.labels[*a], self.labels[*b])),
                Cell::words(v["where"].as_str().unwrap_or_default()),
                if seen.usual > 0.0 { Cell::number(distance / seen.usual, 2) } else { Cell::default() },
                Cell::words(self.reason(*a, *b, v)),
            ]);
        }
        page.table(table);
    }

    fn distrusted(&self, page: &mut Page) {
        let all = list(&self.json["distrusted"]);
        if all.is_empty() {
            return;
        }
        page.heading(2, "Doubted answers");
        let trust = &self.json["trust"];
        if let Some(reason) = trust["reason"].as_str() {
            let shows_no_errors = trust["error_rate"] == 0.0 && all.iter().all(|d| d["kept"] == true);
            page.text(if shows_no_errors {
                format!("No answer looks wrong ({reason}), but the rows cannot vouch for all: should some be, these are the likeliest.")
            } else {
                reason.to_owned()
            });
        }
        let columns = ["said", "row", "and row", "where", "wrong with probability", "what was done", "evidence"];
        let mut table = Table::new("Most probably wrong first: look at these again", columns.len(), &columns);
        table.columns[4].numeric = true;
        for d in all.iter().take(LINES) {
            let text = |field: &str| d[field].as_str().unwrap_or_default().to_owned();
            let done = match (d["kept"] == true, d["broken"] == true) {
                (true, _) => "kept",
                (false, true) => "left out, broken",
                (false, false) => "left out, holds all the same",
            };
            table.rows.push(vec![
                Cell::words(if d["kind"] == "must-link" { "same" } else { "different" }),
                Cell::words(text("a")),
                Cell::words(text("b")),
                Cell::words(text("where")),
                Cell::number(d["probability_wrong"].as_f64().unwrap_or(f64::NAN), 2),
                Cell::words(done),
                // It begins with who and where, which have columns of their own.
                Cell::words(text("evidence").split_once("]: ").map_or(text("evidence"), |e| e.1.to_owned())),
            ]);
        }
        page.table(table);
    }

    fn tried(&self, page: &mut Page) {
        let candidates = list(&self.json["candidates"]);
        if candidates.is_empty() {
            return;
        }
        page.heading(2, "Representations tried");
        page.text(format!(
            "Chosen: {}. Each was scored by answers it had not seen, same and different counting alike.",
            self.json["representation"].as_str().unwrap_or("?")
        ));
        let bars = candidates.iter().map(|c| {
            let (score, error) = (c["score"].as_f64(), c["error"].as_f64().unwrap_or(0.0));
            let weight = c["weight"].as_f64().unwrap_or(0.0);
            let say = if weight > 0.0 { format!(", weight {weight:.2}") } else { String::new() };
            Bar {
                name: c["name"].as_str().unwrap_or_default().to_owned(),
                value: score,
                error: if score.is_some() && error.is_finite() { error } else { 0.0 },
                text: score.map_or("nothing held out".to_owned(), |s| format!("{s:.2}{say}")),
                strong: weight > 0.0,
            }
        });
        let chart = Bars {
            title: "Held-out answers kept".into(),
            subtitle: "with the scale of differences between scores; those with a weight speak in the result".into(),
            x_name: "share".into(),
            range: Some((0.0, 1.0)),
            bars: bars.collect(),
        };
        page.chart(chart.svg());
    }
}
