//! Asking and answering as a person or a program meets it, and what a crash leaves behind.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Output, Stdio};

use serde_json::Value;

fn iris() -> String {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/iris.csv").display().to_string()
}

fn kinfold(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_kinfold")).args(args).stdin(Stdio::null()).output().unwrap()
}

fn out(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn err(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn json(args: &[&str]) -> Value {
    let output = kinfold(args);
    serde_json::from_str(&out(&output)).unwrap_or_else(|e| panic!("{e}: {} {}", out(&output), err(&output)))
}

/// `kinfold ask` with pipes instead of a terminal.
struct Asked {
    child: Child,
    answers: ChildStdin,
    questions: BufReader<ChildStdout>,
}

impl Asked {
    fn begin(file: &Path, more: &[&str]) -> Asked {
        let mut child = Command::new(env!("CARGO_BIN_EXE_kinfold"))
            .args(["ask", &iris(), "-k", "3", "-q", "--no-refit", "-c"])
            .arg(file)
            .args(more)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let (answers, questions) = (child.stdin.take().unwrap(), BufReader::new(child.stdout.take().unwrap()));
        Asked { child, answers, questions }
    }
    /// The next question as two ids; `None` when it ended.
    fn question(&mut self) -> Option<(String, String)> {
        let mut line = String::new();
        self.questions.read_line(&mut line).ok()?;
        let mut parts = line.trim_end().split('\t');
        Some((parts.next().filter(|p| !p.is_empty())?.to_owned(), parts.next()?.to_owned()))
    }
    fn say(&mut self, text: &str) {
        let _ = self.answers.write_all(format!("{text}\n").as_bytes());
        let _ = self.answers.flush();
    }
    fn quit(mut self) {
        self.say("q");
        self.child.wait().unwrap();
    }
}

fn species() -> Vec<String> {
    let text = std::fs::read_to_string(iris()).unwrap();
    text.lines().skip(1).map(|l| l.rsplit(',').next().unwrap().to_owned()).collect()
}

fn truth(species: &[String], pair: &(String, String)) -> &'static str {
    let of = |id: &str| &species[id.parse::<usize>().unwrap()];
    if of(&pair.0) == of(&pair.1) { "y" } else { "n" }
}

#[test]
fn questions_are_answered_through_pipes_and_taken_back_across_restarts() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("answers.csv");
    let species = species();
    let mut asked = Vec::new();
    let mut first = Asked::begin(&file, &[]);
    for _ in 0..5 {
        let pair = first.question().unwrap();
        first.say(truth(&species, &pair));
        asked.push(pair);
    }
    first.question().unwrap();
    first.quit();
    // A new session takes back answers of the old one and asks nothing twice.
    let mut second = Asked::begin(&file, &[]);
    second.question().unwrap();
    for _ in 0..3 {
        second.say("b");
        second.question().unwrap();
    }
    second.quit();
    let text = std::fs::read_to_string(&file).unwrap();
    let undone: Vec<&str> = text.lines().filter(|l| l.contains(",undo,")).collect();
    assert_eq!(undone.len(), 3, "{text}");
    for (line, pair) in undone.iter().zip(asked.iter().rev()) {
        assert!(line.starts_with(&format!("{},{},undo", pair.0, pair.1)), "{line} {pair:?}");
    }
    let mut third = Asked::begin(&file, &[]);
    for _ in 0..20 {
        let pair = third.question().unwrap();
        assert!(!asked[..2].contains(&pair));
        third.say(truth(&species, &pair));
    }
    third.quit();
}

#[test]
fn killed_at_any_instant_nothing_answered_is_lost_and_nothing_half_written_remains() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("answers.csv");
    let species = species();
    // Pairs whose answer was followed by another question: those are promised to be on disk.
    let mut promised: BTreeMap<(String, String), &str> = BTreeMap::new();
    for round in 0..12u32 {
        let mut asked = Asked::begin(&file, &["--strategy", "random", "--seed", &round.to_string()]);
        let mut last: Option<((String, String), &str)> = None;
        for turn in 0.. {
            let Some(pair) = asked.question() else { break };
            if let Some((pair, answer)) = last.take() {
                promised.insert(pair, answer);
            }
            let answer = truth(&species, &pair);
            asked.say(answer);
            last = Some((pair, answer));
            if turn == 3 + round % 5 {
                // At a different instant of the write each time.
                std::thread::sleep(std::time::Duration::from_micros(u64::from(round) * 150));
                asked.child.kill().unwrap();
                asked.child.wait().unwrap();
                break;
            }
        }
    }
    let check = kinfold(&["check", &iris(), "-c", &file.display().to_string(), "-q"]);
    assert_eq!(check.status.code(), Some(0), "{}", err(&check));
    let text = std::fs::read_to_string(&file).unwrap();
    assert!(text.ends_with('\n') && promised.len() > 40, "{}", promised.len());
    for ((a, b), answer) in &promised {
        let word = if *answer == "y" { "same" } else { "different" };
        assert!(text.lines().any(|l| l.starts_with(&format!("{a},{b},{word},"))), "{a} {b} {word}");
    }
}

#[test]
fn two_processes_answer_into_one_file() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("answers.csv");
    let species = species();
    let mut people = [Asked::begin(&file, &["--seed", "1"]), Asked::begin(&file, &["--seed", "2"])];
    let mut count = 0;
    for _ in 0..8 {
        for person in &mut people {
            let pair = person.question().unwrap();
            person.say(truth(&species, &pair));
            count += 1;
        }
    }
    for mut person in people {
        person.question().unwrap();
        person.quit();
    }
    let text = std::fs::read_to_string(&file).unwrap();
    assert_eq!(text.lines().count(), 1 + count, "{text}");
    assert_eq!(kinfold(&["check", &iris(), "-c", &file.display().to_string(), "-q"]).status.code(), Some(0));
}

#[test]
fn next_and_answer_make_a_dialogue_for_other_screens() {
    let dir = tempfile::tempdir().unwrap();
    let file: PathBuf = dir.path().join("answers.csv");
    let path = file.display().to_string();
    let species = species();
    let mut seen = std::collections::HashSet::new();
    for _ in 0..3 {
        let value = json(&["next", &iris(), "-c", &path, "-k", "3", "-n", "4", "--json", "-q"]);
        assert_eq!(value["schema_version"], 1);
        let questions = value["questions"].as_array().unwrap();
        assert_eq!(questions.len(), 4);
        for q in questions {
            let pair = (q["id_a"].as_str().unwrap().to_owned(), q["id_b"].as_str().unwrap().to_owned());
            assert!(seen.insert(pair.clone()) && !q["why"].as_str().unwrap().contains('{'));
            let answer = if truth(&species, &pair) == "y" { "same" } else { "different" };
            let done = json(&["answer", "-c", &path, &pair.0, &pair.1, answer, "--json", "-q"]);
            assert_ne!(done["effect"], "contradicts");
        }
    }
    let progress = &json(&["next", &iris(), "-c", &path, "-k", "3", "--json", "-q"])["progress"];
    assert_eq!(progress["asked"], 12);
}

#[test]
fn an_answer_that_contradicts_is_saved_and_explained_with_its_chain() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("answers.csv").display().to_string();
    kinfold(&["answer", "-c", &path, "a", "b", "same"]);
    kinfold(&["answer", "-c", &path, "b", "c", "same"]);
    let output = kinfold(&["answer", "-c", &path, "a", "c", "different"]);
    assert_eq!(output.status.code(), Some(0));
    let text = err(&output);
    assert!(text.contains("contradicts") && text.contains("a = b") && text.contains("= c"), "{text}");
    let value = json(&["answer", "-c", &path, "c", "b", "same", "--json", "-q"]);
    assert_eq!((value["effect"].as_str(), value["answer"].as_str()), (Some("known"), Some("same")));
    assert_eq!(kinfold(&["answer", "-c", &path, "a", "a", "same"]).status.code(), Some(2));
    assert_eq!(kinfold(&["answer", "-c", &path, "a", "b", "perhaps"]).status.code(), Some(2));
}

#[test]
fn simulated_curves_are_a_table_json_and_a_plot() {
    let dir = tempfile::tempdir().unwrap();
    let plot = dir.path().join("curves.svg").display().to_string();
    let args = ["simulate", &iris(), "--truth", "species", "--ask", "auto,random", "--budget", "12", "--every", "4"];
    let args: Vec<&str> = args.iter().copied().chain(["--seeds", "2", "--method", "mlcl", "--plot", &plot]).collect();
    let table = kinfold(&args);
    assert_eq!(table.status.code(), Some(0), "{}", err(&table));
    assert!(out(&table).lines().count() == 5 && out(&table).contains('±'), "{}", out(&table));
    let value = json(&args.iter().copied().chain(["--json", "-q"]).collect::<Vec<_>>());
    let curves = value["curves"].as_array().unwrap();
    assert_eq!(curves.len(), 2);
    for curve in curves {
        let points = curve["points"].as_array().unwrap();
        assert_eq!(points.iter().map(|p| p["questions"].as_u64().unwrap()).collect::<Vec<_>>(), [0, 4, 8, 12]);
        assert!(points.iter().all(|p| (0.0..=1.0).contains(&p["nmi"]["mean"].as_f64().unwrap())));
    }
    let mut svg = String::new();
    std::fs::File::open(&plot).unwrap().read_to_string(&mut svg).unwrap();
    assert!(svg.starts_with("<svg") && svg.matches("opacity=\"0.13\"").count() == 2 && svg.contains("NMI"));
    let bad = kinfold(&["simulate", &iris(), "--truth", "species", "--ask", "autoo"]);
    assert!(bad.status.code() == Some(2) && err(&bad).contains("did you mean 'auto'"), "{}", err(&bad));
}

#[test]
fn select_keeps_the_informative_ones() {
    let dir = tempfile::tempdir().unwrap();
    let given = dir.path().join("given.csv").display().to_string();
    let made = kinfold(&["simulate", &iris(), "--truth", "species", "--amount", "200", "-o", &given, "-q"]);
    assert_eq!(made.status.code(), Some(0), "{}", err(&made));
    let value = json(&["select", &iris(), "-c", &given, "--budget", "20", "--json", "-q"]);
    assert_eq!((value["given"].as_u64(), value["kept"].as_array().unwrap().len()), (Some(200), 20));
    let text = out(&kinfold(&["select", &iris(), "-c", &given, "--budget", "5", "-q"]));
    assert_eq!(text.lines().count(), 6, "{text}");
}
