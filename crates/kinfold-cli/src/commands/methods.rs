//! `kinfold methods`: the tables of methods and metrics for people, as JSON, and as the documentation's pages.

use kinfold::methods::{Entry, Listens, METHODS, find};
use kinfold::metrics::{self, METRICS};
use kinfold::params::Parameter;

use crate::commands::SCHEMA_VERSION;
use crate::failure::Failure;
use crate::session::{Done, Session};

pub fn run(session: &Session, name: Option<&str>, markdown: bool) -> Done {
    match name {
        Some("queries") => queries(session, markdown)?,
        None if session.json => {
            let all: Vec<_> = METHODS.iter().map(json).collect();
            let metrics: Vec<_> = METRICS.iter().map(metric_json).collect();
            let index = |e: &kinfold::indices::Entry| serde_json::json!({ "name": e.name, "summary": e.summary, "needs": e.needs });
            let internal = |e: &kinfold::indices::InternalEntry| serde_json::json!({ "name": e.name, "summary": e.summary, "needs": "rows" });
            let external = kinfold::indices::INDICES.iter().map(index);
            let scores: Vec<_> = external.chain(kinfold::indices::INTERNAL.iter().map(internal)).collect();
            let version = SCHEMA_VERSION;
            session.print_json(
                &serde_json::json!({ "schema_version": version, "methods": all, "metrics": metrics, "indices": scores }),
            )?;
        }
        None if markdown => session.print(&index())?,
        None => {
            let width = METHODS.iter().map(|e| e.info.name.len()).max().unwrap_or(0);
            let mut text = String::new();
            for e in METHODS {
                let mark = match e.info.listens {
                    Listens::Hard => "keeps every constraint",
                    Listens::Priced => "keeps constraints without a weight",
                    Listens::Soft => "prefers to keep constraints",
                    Listens::No => "ignores constraints",
                };
                text += &format!("{:width$}  {}  [{mark}]\n", e.info.name, e.info.summary);
            }
            text += "\nmetrics, learned before any method (--metric NAME)\n";
            for e in METRICS {
                text += &format!("{:width$}  {}\n", e.info.name, e.info.summary);
            }
            text += "\n`kinfold methods NAME` explains one, `kinfold methods queries` lists the query strategies.\n";
            session.print(&text)?;
        }
        Some(name) if METRICS.iter().any(|e| e.info.name == name) => {
            let entry = metrics::find(name)?;
            if session.json {
                let mut value = metric_json(entry);
                value["schema_version"] = SCHEMA_VERSION.into();
                session.print_json(&value)?;
            } else if markdown {
                session.print(&metric_page(entry))?;
            } else {
                session.print(&metric_explained(entry))?;
            }
        }
        Some(name) => {
            let entry = find(name)?;
            if session.json {
                let mut value = json(entry);
                value["schema_version"] = SCHEMA_VERSION.into();
                session.print_json(&value)?;
            } else if markdown {
                session.print(&page(entry))?;
            } else {
                session.print(&explained(entry))?;
            }
        }
    }
    Ok(0)
}

/// The query strategies with their settings.
fn queries(session: &Session, markdown: bool) -> Result<(), Failure> {
    use kinfold::queries::QUERIES;
    if session.json {
        let all: Vec<_> = QUERIES
            .iter()
            .map(|e| {
                let mut value = serde_json::to_value(e.info).unwrap_or_default();
                value["parameters"] = serde_json::to_value((e.parameters)()).unwrap_or_default();
                value
            })
            .collect();
        return session.print_json(&serde_json::json!({ "schema_version": SCHEMA_VERSION, "queries": all }));
    }
    let mut text = String::new();
    if markdown {
        text += "# Query strategies\n\nMade by `kinfold methods queries --markdown` from the table of strategies.\n";
    }
    for e in QUERIES {
        let info = e.info;
        let looks = if info.refits { "looks at the clustering so far" } else { "needs no clustering" };
        if markdown {
            text += &format!(
                "\n## {}\n\n{}.\n\n| | |\n| --- | --- |\n| paper | {} |\n| clustering | {looks} |\n| k | {} |\n| cost per question | {} |\n",
                info.name,
                capitalised(info.summary),
                info.paper,
                info.k,
                info.cost
            );
            let parameters = (e.parameters)();
            if !parameters.is_empty() {
                text += "\n| setting | meaning | values | default |\n| --- | --- | --- | --- |\n";
            }
            for p in parameters {
                let values = [p.sort.replace('|', "\\|"), p.range_text()].join(" ");
                text += &format!("| `{}` | {} | {} | {} |\n", p.name, p.help, values.trim(), p.default);
            }
            continue;
        }
        text += &format!("{} — {}\n    {looks}; k: {}; {}\n", info.name, info.summary, info.k, info.paper);
        for p in (e.parameters)() {
            let range = if p.range.is_some() { format!(", {}", p.range_text()) } else { String::new() };
            text += &format!("    --set {}=…  {} ({}{range}; default {})\n", p.name, p.help, p.sort, p.default);
        }
    }
    session.print(&text)
}

fn json(entry: &Entry) -> serde_json::Value {
    let mut value = serde_json::to_value(entry.info).unwrap_or_default();
    value["memory"] = memory(entry).into();
    value["parameters"] = serde_json::to_value((entry.parameters)()).unwrap_or_default();
    value
}

/// What it needs beside the rows, where that grows faster than they do: by default, or with some choice of a setting.
fn memory(entry: &Entry) -> Vec<String> {
    const ROWS: usize = 10_000;
    let needs = |settings: &[(String, String)]| match (entry.build)(settings) {
        Ok(method) => method.memory(ROWS, 10, 10),
        Err(_) => 0,
    };
    let told =
        |bytes: u64| format!("n×n memory: about {} for 10,000 rows, refused beyond --memory", kinfold::bytes(bytes));
    let by_default = needs(&[]);
    if by_default > 0 {
        return vec![told(by_default)];
    }
    let mut list = Vec::new();
    for p in (entry.parameters)().iter().filter(|p| p.sort.contains(" | ")) {
        let needy = |value: &&str| needs(&[(p.name.to_owned(), (*value).to_owned())]);
        let values: Vec<&str> = p.sort.split(" | ").filter(|value| needy(value) > 0).collect();
        if let Some(most) = values.iter().map(needy).max() {
            list.push(format!("{} = {}: {}", p.name, values.join(", "), told(most)));
        }
    }
    list
}

fn supports(entry: &Entry) -> Vec<&'static str> {
    let info = entry.info;
    let mut list = vec![match info.listens {
        Listens::Hard => "hard constraints: every one is kept, or the reason why not is given",
        Listens::Priced => "hard constraints without a weight are kept, those with one where it pays",
        Listens::Soft => "soft constraints: kept where it pays",
        Listens::No => "constraints are ignored, broken ones are counted",
    }];
    if info.sparse {
        list.push("sparse rows, never made dense");
    }
    if info.sizes {
        list.push("bounds on cluster sizes (--min-size, --max-size)");
    }
    if info.represents {
        list.push("chooses the representation of the rows by itself unless --scale is given");
    }
    list.push("new rows through a saved model (nearest centre)");
    list
}

fn explained(entry: &Entry) -> String {
    let info = entry.info;
    let mut text = format!(
        "{} — {}\n\npaper        {}\nminimises    {}\nconstraints  {}\ncost         {}\n\nsupports\n",
        info.name, info.summary, info.paper, info.minimises, info.constraints, info.cost
    );
    supports(entry).iter().for_each(|s| text += &format!("  - {s}\n"));
    memory(entry).iter().for_each(|s| text += &format!("\nneeds        {s}\n"));
    if !info.measured.is_empty() {
        text += &format!("\nmeasured\n  {}\n", info.measured);
    }
    text + &settings_text(&(entry.parameters)(), "--set")
}

fn settings_text(parameters: &[Parameter], flag: &str) -> String {
    if parameters.is_empty() {
        return String::new();
    }
    let mut text = format!("\nsettings ({flag} name=value)\n");
    let width = parameters.iter().map(|p| p.name.len()).max().unwrap_or(0);
    for p in parameters {
        let range = if p.range.is_some() { format!(", {}", p.range_text()) } else { String::new() };
        text += &format!("  {:width$}  {} ({}{range}; default {})\n", p.name, p.help, p.sort, p.default);
    }
    text
}

fn settings_page(parameters: &[Parameter], flag: &str) -> String {
    let mut text = "\n## Settings\n\n".to_owned();
    if parameters.is_empty() {
        return text + "None.\n";
    }
    text +=
        &format!("Given as `{flag} name=value`.\n\n| name | meaning | values | default |\n| --- | --- | --- | --- |\n");
    for p in parameters {
        let values = [p.sort.replace('|', "\\|"), p.range_text()].join(" ");
        text += &format!("| `{}` | {} | {} | {} |\n", p.name, p.help, values.trim(), p.default);
    }
    text
}

fn measured_page(measured: &str) -> String {
    if measured.is_empty() { String::new() } else { format!("\n## Measured\n\n{measured}\n") }
}

fn metric_json(entry: &metrics::Entry) -> serde_json::Value {
    let mut value = serde_json::to_value(entry.info).unwrap_or_default();
    value["parameters"] = serde_json::to_value((entry.parameters)()).unwrap_or_default();
    value
}

fn metric_explained(entry: &metrics::Entry) -> String {
    let info = entry.info;
    let mut text = format!(
        "{} — {}\n\npaper        {}\nminimises    {}\nconstraints  {}\ncost         {}\n",
        info.name, info.summary, info.paper, info.minimises, info.constraints, info.cost
    );
    if !info.measured.is_empty() {
        text += &format!("\nmeasured\n  {}\n", info.measured);
    }
    text + &settings_text(&(entry.parameters)(), "--metric-set")
}

/// The page of one metric in docs/methods.
fn metric_page(entry: &metrics::Entry) -> String {
    let info = entry.info;
    let mut text = format!(
        "# {}\n\nA metric: {}. Learned after scaling, before any method; saved with the model. Dense rows.\n\n| | |\n| --- | --- |\n| paper | {} |\n| minimises | {} |\n| constraints | {} |\n| cost | {} |\n",
        info.name, info.summary, info.paper, info.minimises, info.constraints, info.cost
    );
    text += &measured_page(info.measured);
    text += &settings_page(&(entry.parameters)(), "--metric-set");
    text + &format!(
        "\n```sh\nkinfold cluster data.csv -k 3 -c answers.csv --method kmeans --metric {}\n```\n",
        info.name
    )
}

/// The page of one method in docs/methods.
fn page(entry: &Entry) -> String {
    let info = entry.info;
    let mut text = format!(
        "# {}\n\n{}.\n\n| | |\n| --- | --- |\n| paper | {} |\n| minimises | {} |\n| constraints | {} |\n| cost | {} |\n\n## Supports\n\n",
        info.name,
        capitalised(info.summary),
        info.paper,
        info.minimises,
        info.constraints,
        info.cost
    );
    supports(entry).iter().for_each(|s| text += &format!("- {s}\n"));
    let memory = memory(entry);
    if !memory.is_empty() {
        text += "\n## Needs\n\n";
        memory.iter().for_each(|s| text += &format!("- {s}\n"));
    }
    text += &measured_page(info.measured);
    text += &settings_page(&(entry.parameters)(), "--set");
    text += &format!("\n```sh\nkinfold cluster data.csv -k 3 -c answers.csv --method {}\n```\n", info.name);
    text
}

/// The list of pages.
fn index() -> String {
    let mut text = "# Methods\n\nMade by `kinfold methods --markdown` from the table of methods.\n\n| method | | constraints |\n| --- | --- | --- |\n".to_owned();
    for e in METHODS {
        let kept = match e.info.listens {
            Listens::Hard => "hard",
            Listens::Priced => "priced",
            Listens::Soft => "soft",
            Listens::No => "ignored",
        };
        text += &format!("| [{0}]({0}.md) | {1} | {kept} |\n", e.info.name, e.info.summary);
    }
    text += "\n## Metrics\n\nLearned from the constraints before any method: `--metric NAME`.\n\n| metric | |\n| --- | --- |\n";
    for e in METRICS {
        text += &format!("| [{0}]({0}.md) | {1} |\n", e.info.name, e.info.summary);
    }
    text
}

fn capitalised(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map(|c| c.to_uppercase().collect::<String>() + letters.as_str()).unwrap_or_default()
}
