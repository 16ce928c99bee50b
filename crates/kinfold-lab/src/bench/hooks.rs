//! Experiments of their own: run as another process whose talk is shown as it comes; the Markdown it prints is kept and
//! taken into the page. Each keeps a journal, so one that was stopped goes on where it was.

use std::io::Read;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use kinfold_report::{Block, Cell, Table};

use super::BenchArgs;
use super::present::Summary;

/// An experiment: its name, what its heading says, what it is run with in the quick form and in full.
pub struct Hook {
    pub name: &'static str,
    title: &'static str,
    quick: &'static [&'static str],
    full: &'static [&'static str],
    /// It has nothing to do without the data sets.
    needs_data: bool,
}

pub const HOOKS: [Hook; 3] = [
    Hook {
        name: "validation",
        title: "How many clusters: constraint-aware validation (Duarte, Fred & Duarte 2013)",
        quick: &["--sets", "1", "--only", "bars~,cigar,half-rings~,wine,std-yeast,iris,house-votes"],
        full: &["--sets", "20"],
        needs_data: false,
    },
    Hook {
        name: "apc",
        title: "Which questions: active pairwise constraints (Atwa & Almazroi 2020)",
        quick: &["--seeds", "2", "--only", "heart,protein", "--every", "50"],
        full: &["--seeds", "20"],
        needs_data: true,
    },
    Hook {
        name: "speed",
        title: "Speed against other people's programs",
        quick: &["--quick", "--turns", "2"],
        full: &[],
        needs_data: false,
    },
];

/// First line of what is kept: how it was made and how it ended.
const STAMP: &str = "<!-- kinfold-lab bench:";

impl Hook {
    fn arguments(&self, args: &BenchArgs) -> Vec<String> {
        let own = |list: &[&str]| list.iter().map(|a| (*a).to_owned()).collect::<Vec<_>>();
        let mut all = own(if args.quick { self.quick } else { self.full });
        let mut replace = |option: &str, value: String| {
            match all.iter().position(|a| a == option) {
                Some(at) => all[at + 1] = value,
                None => all.extend([option.to_owned(), value]),
            };
        };
        if self.name != "speed" {
            if args.sets > 0 {
                replace(if self.name == "apc" { "--seeds" } else { "--sets" }, args.sets.to_string());
            }
            if !args.only.is_empty() {
                replace("--only", args.only.join(","));
            }
        }
        if args.threads > 0 {
            replace("--threads", args.threads.to_string());
        }
        all
    }

    fn stamp(&self, args: &BenchArgs, met: bool) -> String {
        let form = if args.quick { "quick" } else { "full" };
        let ended = if met { "met" } else { "missed" };
        format!("{STAMP} {form} {} {}: {ended} -->", self.name, self.arguments(args).join(" "))
    }

    /// Is what is kept the answer to what is asked? The full form answers the quick one too.
    fn answers(&self, args: &BenchArgs, kept: &str) -> bool {
        let first = kept.lines().next().unwrap_or_default();
        let full = first.starts_with(&format!("{STAMP} full {}", self.name));
        let plain = args.only.is_empty() && args.sets == 0;
        [true, false].iter().any(|met| first == self.stamp(args, *met)) || (args.quick && plain && full)
    }

    /// Runs it unless its answer is kept. `late` ends it; what it has is in its journal.
    pub fn run(&self, args: &BenchArgs, late: &dyn Fn() -> bool) -> Result<(), String> {
        let kept = args.out.join(format!("{}.md", self.name));
        if std::fs::read_to_string(&kept).is_ok_and(|text| self.answers(args, &text)) {
            return Ok(());
        }
        if self.needs_data && args.data.is_none() {
            eprintln!("{}: skipped, it needs --data", self.name);
            return Ok(());
        }
        let mut command = Command::new(std::env::current_exe().map_err(|e| e.to_string())?);
        command.arg(self.name).args(self.arguments(args));
        command.arg("--journal").arg(args.out.join(format!("{}.jsonl", self.name)));
        if let Some(data) = &args.data {
            command.arg("--data").arg(data);
        }
        if self.name != "validation" {
            command.arg("--plots").arg(&args.out);
        }
        if self.name == "speed" {
            command.arg("--venv").arg(args.out.join("peers"));
        }
        let mut child = command.stdout(Stdio::piped()).spawn().map_err(|e| e.to_string())?;
        let mut pipe = child.stdout.take().ok_or("no pipe")?;
        let reader = std::thread::spawn(move || {
            let mut text = String::new();
            pipe.read_to_string(&mut text).map(|_| text)
        });
        let status = loop {
            if let Some(status) = child.try_wait().map_err(|e| e.to_string())? {
                break status;
            }
            if late() {
                let _ = child.kill();
                let _ = child.wait();
                eprintln!("{}: stopped, the next run goes on from here", self.name);
                return Ok(());
            }
            std::thread::sleep(Duration::from_millis(100));
        };
        let text = reader.join().map_err(|_| "the reader failed".to_owned())?.map_err(|e| e.to_string())?;
        let met = match status.code() {
            Some(0) => true,
            Some(code) if code == i32::from(crate::MISSED) => false,
            // It said why.
            _ => {
                eprintln!("{}: failed, left out", self.name);
                return Ok(());
            }
        };
        std::fs::write(&kept, format!("{}\n\n{text}", self.stamp(args, met))).map_err(|e| e.to_string())
    }

    /// What is kept, for the page.
    pub fn page(&self, out: &Path) -> Option<(Vec<Block>, Summary)> {
        let text = std::fs::read_to_string(out.join(format!("{}.md", self.name))).ok()?;
        let good = text.lines().next().is_some_and(|l| l.ends_with(": met -->"));
        let blocks = from_markdown(&format!("{}: {}", self.name, self.title), &text, out);
        Some((blocks, Summary { text: format!("{}: {}", self.name, last_words(&text)), good }))
    }
}

/// What another experiment printed: headings, tables, lists, pictures and paragraphs.
fn from_markdown(title: &str, text: &str, out: &Path) -> Vec<Block> {
    let mut blocks = vec![Block::Heading(2, title.to_owned())];
    let mut lines = text.lines().peekable();
    while let Some(line) = lines.next() {
        let line = line.trim();
        if line.is_empty() || line.starts_with("<!--") {
            continue;
        } else if let Some(heading) = line.strip_prefix('#') {
            blocks.push(Block::Heading(3, heading.trim_start_matches('#').trim().to_owned()));
        } else if line.starts_with('|') {
            let mut rows = vec![line];
            while let Some(next) = lines.next_if(|l| l.trim_start().starts_with('|')) {
                rows.push(next.trim());
            }
            blocks.push(Block::Table(table(&rows)));
        } else if let Some(item) = line.strip_prefix("- ") {
            match blocks.last_mut() {
                Some(Block::List(items)) => items.push(item.to_owned()),
                _ => blocks.push(Block::List(vec![item.to_owned()])),
            }
        } else if let Some((alt, file)) = line.strip_prefix("![").and_then(|l| l.strip_suffix(')')?.split_once("](")) {
            match std::fs::read_to_string(out.join(file)) {
                Ok(svg) => blocks.push(Block::Drawn(svg, alt.to_owned(), file.to_owned())),
                Err(_) => blocks.push(Block::Text(format!("{alt}: {file} is not there"))),
            }
        } else {
            blocks.push(Block::Text(line.replace('`', "")));
        }
    }
    blocks
}

/// A table from its lines; the line below the head says which columns hold numbers.
fn table(lines: &[&str]) -> Table {
    let cells = |line: &str| -> Vec<String> {
        let line = line.strip_prefix('|').unwrap_or(line);
        let line = line.strip_suffix('|').unwrap_or(line);
        line.replace("\\|", "\u{0}").split('|').map(|c| c.trim().replace('\u{0}', "|")).collect()
    };
    let is_rule = |row: &[String]| row.iter().all(|c| !c.is_empty() && c.chars().all(|x| matches!(x, '-' | ':' | ' ')));
    let mut rows: Vec<Vec<String>> = lines.iter().map(|l| cells(l)).collect();
    let mut table = Table::new("", 0, &rows.remove(0));
    let rule = rows.iter().position(|r| is_rule(r)).map(|at| rows.remove(at)).unwrap_or_default();
    for (c, column) in table.columns.iter_mut().enumerate() {
        let numbers = rows.iter().filter_map(|r| r.get(c)).filter(|t| !t.is_empty()).all(|t| {
            t.trim_start_matches("**").starts_with(|x: char| x.is_ascii_digit() || matches!(x, '-' | '−' | '–' | '.'))
        });
        column.numeric = rule.get(c).is_some_and(|r| r.ends_with(':')) || (c > 0 && numbers);
    }
    let plain = |(c, text): (usize, &String)| Cell {
        best: c > 0 && text.starts_with("**"),
        bad: text.starts_with("MISSED") || text.ends_with("✗"),
        ..Cell::words(text.replace("**", "").replace("&lt;", "<"))
    };
    table.rows = rows.iter().map(|row| row.iter().enumerate().map(plain).collect()).collect();
    table
}

/// The last sentence that another experiment printed is its summary.
fn last_words(text: &str) -> &str {
    text.lines().map(str::trim).rfind(|l| !l.is_empty() && !l.starts_with(['|', '!', '<'])).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "<!-- kinfold-lab bench: full validation --sets 20: met -->\n\nwords\n\n## Table 2\n\n| data | who | S |\n\
                        | --- | --- | --- |\n| iris \\| UCI | we | **0.9** ± 0.1 (0.8) |\n\n- one\n- two\n\n![none](none.svg)\n\nall bars met\n";

    fn args(more: &[&str]) -> BenchArgs {
        use clap::Parser;
        #[derive(clap::Parser)]
        struct Only {
            #[command(flatten)]
            args: BenchArgs,
        }
        Only::parse_from(std::iter::once(&"bench").chain(more)).args
    }

    #[test]
    fn what_another_experiment_prints_becomes_headings_tables_lists_and_words() {
        let blocks = from_markdown("validation", TEXT, Path::new("nowhere"));
        assert_eq!(blocks.len(), 7, "{blocks:?}");
        let Block::Table(table) = &blocks[3] else { panic!("{blocks:?}") };
        let row = &table.rows[0];
        assert_eq!((row[0].text.as_str(), row[2].text.as_str()), ("iris | UCI", "0.9 ± 0.1 (0.8)"));
        assert!(row[2].best && table.columns[2].numeric && !table.columns[1].numeric);
        assert_eq!(blocks[4], Block::List(vec!["one".into(), "two".into()]));
        assert_eq!(last_words(TEXT), "all bars met");
    }

    #[test]
    fn a_kept_page_answers_its_own_question_and_the_full_one_the_quick_one() {
        let hook = &HOOKS[0];
        assert!(hook.answers(&args(&[]), TEXT) && hook.answers(&args(&["--quick"]), TEXT));
        assert!(!hook.answers(&args(&["--sets", "3"]), TEXT));
        let quick = format!("{}\n", hook.stamp(&args(&["--quick"]), false));
        assert!(hook.answers(&args(&["--quick"]), &quick) && !hook.answers(&args(&[]), &quick));
        assert!(!hook.answers(&args(&[]), "") && !HOOKS[1].answers(&args(&[]), TEXT));
    }

    #[test]
    fn every_experiment_takes_the_arguments_it_is_given() {
        use clap::Parser;
        for hook in &HOOKS {
            for more in [&["--quick"][..], &["--sets", "2", "--threads", "1", "--only", "iris"], &[]] {
                let given = hook.arguments(&args(more));
                let all = ["kinfold-lab", hook.name, "--journal", "j", "--data", "d"].map(str::to_owned);
                let plots = ["--plots", "p"].map(str::to_owned);
                let all = all.into_iter().chain(given).chain(plots.into_iter().filter(|_| hook.name != "validation"));
                assert!(crate::Lab::try_parse_from(all).is_ok(), "{} {more:?}", hook.name);
            }
        }
    }
}
