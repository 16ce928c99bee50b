//! The command as a person or a program meets it: results, messages, exit codes.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::Value;

struct Place(tempfile::TempDir);

impl Place {
    fn new() -> Place {
        Place(tempfile::tempdir().unwrap())
    }
    fn file(&self, name: &str, text: impl AsRef<[u8]>) -> String {
        let path = self.0.path().join(name);
        std::fs::write(&path, text).unwrap();
        path.display().to_string()
    }
    fn path(&self, name: &str) -> String {
        self.0.path().join(name).display().to_string()
    }
}

fn example(name: &str) -> String {
    let root: PathBuf = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
    root.join(name).display().to_string()
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

/// Runs, expects this exit code and all of these words on standard error.
fn refused(args: &[&str], code: i32, words: &[&str]) {
    let output = kinfold(args);
    let text = err(&output);
    assert_eq!(output.status.code(), Some(code), "{args:?}: {text}");
    for word in words {
        assert!(text.contains(word), "{args:?}: '{word}' is not in: {text}");
    }
    assert!(!text.contains("panicked"), "{text}");
}

#[test]
fn cluster_json_holds_what_the_guide_promises() {
    let iris = example("iris.csv");
    let value = json(&["cluster", &iris, "-k", "3", "--truth", "species", "--method", "kmeans", "--json", "-q"]);
    let promised = "schema_version method representation k n seed labels sizes objective trace iterations termination \
                    violations scores elapsed_seconds";
    for field in promised.split_whitespace() {
        assert!(!value[field].is_null(), "{field}");
    }
    // The best known sum of squares of the corrected iris data.
    assert!((value["objective"].as_f64().unwrap() - 78.851441).abs() < 1e-5);
    assert_eq!(value["labels"].as_array().unwrap().len(), 150);
    assert_eq!(value["labels"][0], 0);
    for score in ["nmi", "nmi_geometric", "ari", "rand", "consistency"] {
        assert!(value["scores"][score].as_f64().unwrap() > 0.5, "{score}");
    }
}

#[test]
fn the_number_of_threads_changes_no_byte() {
    let (place, iris) = (Place::new(), example("iris.csv"));
    let answers = place.path("a.csv");
    kinfold(&["simulate", &iris, "--truth", "species", "--protocol", "balanced", "-o", &answers]);
    for method in ["kmeans", "mlcl", "auto"] {
        let run = |threads: &str| {
            let columns = "sepal_length,sepal_width,petal_length,petal_width";
            let args = ["cluster", &iris, "-k", "3", "-c", &answers, "--features", columns];
            let mut value =
                json(&[args.as_slice(), &["--method", method, "--threads", threads, "--json", "-q"]].concat());
            value["elapsed_seconds"] = Value::Null;
            value.to_string()
        };
        assert_eq!(run("1"), run("2"), "{method}");
    }
}

#[test]
fn answers_are_kept_scored_and_survive_a_saved_model() {
    let (place, wine) = (Place::new(), example("wine.csv"));
    let (answers, labels, model) = (place.path("a.csv"), place.path("l.csv"), place.path("m.json"));
    let made = kinfold(&["simulate", &wine, "--truth", "cultivar", "--amount", "n", "-o", &answers]);
    assert!(made.status.success(), "{}", err(&made));
    let args = ["cluster", &wine, "-k", "3", "-c", &answers, "--truth", "cultivar", "--method", "mlcl"];
    let files = ["--scale", "standard", "-o", &labels, "--save", &model, "--strict"];
    let done = kinfold(&[args.as_slice(), &files].concat());
    assert_eq!(done.status.code(), Some(0), "{}", err(&done));
    assert!(err(&done).contains("all kept"), "{}", err(&done));

    let value = json(&["eval", &labels, "--data", &wine, "--truth", "cultivar", "-c", &answers, "--json"]);
    assert_eq!(value["scores"]["satisfaction"], 1.0);
    assert!(value["scores"]["nmi"].as_f64().unwrap() > 0.8);

    let predicted = out(&kinfold(&["predict", &model, &wine, "-q"]));
    let written = std::fs::read_to_string(&labels).unwrap();
    let same = predicted.lines().zip(written.lines()).filter(|(a, b)| a == b).count();
    assert!(same > 165, "only {same} of 179 lines agree");
}

#[test]
fn a_repeated_run_keeps_cluster_ids() {
    let (place, iris) = (Place::new(), example("iris.csv"));
    let args = ["cluster", &iris, "-k", "3", "--method", "kmeans", "-q", "--truth", "species"];
    let swapped: String = out(&kinfold(&args))
        .lines()
        .map(|l| match l.rsplit_once(',') {
            Some((id, "0")) => format!("{id},2\n"),
            Some((id, "2")) => format!("{id},0\n"),
            _ => format!("{l}\n"),
        })
        .collect();
    let previous = place.file("previous.csv", &swapped);
    assert_eq!(out(&kinfold(&[args.as_slice(), &["--previous", &previous]].concat())), swapped);
}

#[test]
fn check_shows_the_chain_the_smallest_k_and_a_repair() {
    let place = Place::new();
    let lines = "ann,bob,same\nbob,cleo,same\ncleo,dan,same\nann,dan,different\nann,eve,n\n";
    let answers = place.file("a.csv", format!("id_a,id_b,answer\n{lines}"));
    let done = kinfold(&["check", "-c", &answers]);
    let text = out(&done);
    assert_eq!(done.status.code(), Some(3), "{text}");
    for word in ["contradictions: 1", "a.csv:2", "a.csv:3", "a.csv:4", "a.csv:5", "drop 1", "proven"] {
        assert!(text.contains(word), "'{word}' is not in: {text}");
    }
    let value = json(&["check", "-c", &answers, "--json"]);
    assert_eq!(value["contradictions"]["count"], 1);
    assert_eq!(value["repair"]["cost"], 1.0);
    assert_eq!(value["repair"]["optimal"], true);

    let triangle = place.file("t.csv", "id_a,id_b,answer\na,b,different\nb,c,different\na,c,different\n");
    let value = json(&["check", "-c", &triangle, "-k", "2", "--json"]);
    assert_eq!(value["feasible"]["verdict"], "infeasible");
    assert_eq!(value["feasible"]["witness"].as_array().unwrap().len(), 3);
    assert_eq!(value["smallest_k"]["lower"], 3);
    assert_eq!(kinfold(&["check", "-c", &triangle, "-k", "3"]).status.code(), Some(0));
    // There may be rows that no answer names, unless the data says otherwise.
    assert_eq!(kinfold(&["check", "-c", &triangle, "-k", "5"]).status.code(), Some(0));
    let data = place.file("d.csv", "id,x\na,1\nb,2\nc,3\n");
    assert_eq!(kinfold(&["check", &data, "--id", "id", "-c", &triangle, "-k", "3"]).status.code(), Some(0));
    assert_ne!(kinfold(&["check", &data, "--id", "id", "-c", &triangle, "-k", "5"]).status.code(), Some(0));
}

#[test]
fn impossible_constraints_end_with_three_and_the_reason() {
    let (place, table) = (Place::new(), "id,x\na,1\nb,2\nc,9\n");
    let data = place.file("d.csv", table);
    let both = place.file("both.csv", "id_a,id_b,answer\na,b,same\nb,a,different\n");
    let args = |k, answers, method| ["cluster", &data, "--id", "id", "-k", k, "-c", answers, "--method", method];
    let hard = [args("2", &both, "mlcl").as_slice(), &["--trust", "hard"]].concat();
    refused(&hard, 3, &["both.csv:2", "both.csv:3", "hint:"]);
    let apart = place.file("apart.csv", "id_a,id_b,answer\na,b,different\n");
    refused(&args("1", &apart, "mlcl"), 3, &["a", "b"]);
    let broken = kinfold(&[args("2", &apart, "kmeans").as_slice(), &["--strict"]].concat());
    assert_eq!(broken.status.code(), Some(4), "{}", err(&broken));
    assert!(err(&broken).contains("apart.csv:2"), "{}", err(&broken));
}

#[test]
fn the_constraints_that_are_least_sure_are_told_though_nothing_looks_wrong() {
    // Five classes that overlap, and right answers about neighbours in the table.
    let mut state = 7u64;
    let mut unit = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 40) as f64 / (1u64 << 24) as f64
    };
    let (mut table, mut answers) = ("id,x,y\n".to_owned(), "id_a,id_b,answer\n".to_owned());
    let class = |i: usize| i / 3 * 7 % 5;
    for i in 0..120 {
        let middle = 0.8 * class(i) as f64;
        table += &format!("r{i},{:.4},{:.4}\n", middle + unit() + unit(), unit());
        if i % 2 == 1 {
            let answer = if class(i) == class(i - 1) { "same" } else { "different" };
            answers += &format!("r{},r{i},{answer}\n", i - 1);
        }
    }
    let place = Place::new();
    let (data, answers) = (place.file("d.csv", table), place.file("a.csv", answers));
    let args = ["cluster", &data, "--id", "id", "-k", "5", "-c", &answers];
    let text = err(&kinfold(&args));
    for words in ["all kept", "least sure of ", "note: no constraint looks wrong", "more (--json lists them)"] {
        assert!(text.contains(words), "'{words}' is not in: {text}");
    }
    assert_eq!(text.matches("wrong with probability").count(), 3, "{text}");
    let of = |trust: &str| json(&[&args[..], &["--trust", trust, "--json", "-q"]].concat());
    let (auto, hard) = (of("auto"), of("hard"));
    let listed = auto["distrusted"].as_array().unwrap();
    assert!(listed.len() > 3 && listed.iter().all(|d| d["kept"] == true && d["broken"] == false), "{listed:?}");
    assert_eq!((&auto["trust"]["verdict"], &auto["trust"]["error_rate"]), (&"hard".into(), &0.0.into()));
    assert_eq!(auto["labels"], hard["labels"]);
}

#[test]
fn bad_tables_are_refused_with_file_line_column_and_value() {
    let place = Place::new();
    let cases: [(&str, &[u8], &[&str]); 11] = [
        ("ragged.csv", b"x,y\n1,2\n3\n", &["ragged.csv:3"]),
        ("nan.csv", b"x,y\n1,2\n3,nan\n", &["nan.csv:3", "'y'", "nan"]),
        ("inf.csv", b"x,y\n1,2\ninf,4\n", &["inf.csv:3", "'x'", "inf"]),
        ("text.csv", b"x,y\n1,2\n3,4\n5,six\n7,8\n", &["text.csv:4", "'y'", "six"]),
        ("hole.csv", b"x,y\n1,2\n,4\n", &["hole.csv:3", "'x'"]),
        ("empty.csv", b"", &["empty.csv"]),
        ("header.csv", b"x,y\n", &["header.csv"]),
        ("quote.csv", b"x,name\n1,\"a\n", &["quote.csv"]),
        ("words.csv", b"name\nann\nbob\n", &["words.csv"]),
        ("twice.csv", b"x,x\n1,2\n", &["twice.csv", "'x'"]),
        ("wide.csv", b"\xff\xfea\x00,\x00b\x00", &["wide.csv", "UTF-16"]),
    ];
    for (name, bytes, words) in cases {
        let path = place.file(name, bytes);
        refused(&["cluster", &path, "-k", "1", "--method", "kmeans"], 1, words);
    }
    let ids = place.file("ids.csv", "id,x\na,1\nb,2\na,3\n");
    refused(&["cluster", &ids, "--id", "id", "-k", "1"], 1, &["ids.csv", "2", "4", "'a'"]);
    refused(&["cluster", &place.path("missing.csv"), "-k", "1"], 1, &["missing.csv", "no such file"]);
    refused(&["cluster", &ids, "-k", "1", "--features", "y"], 2, &["'y'"]);
}

#[test]
fn harmless_oddities_are_read() {
    let place = Place::new();
    for (name, bytes) in [
        ("bom.csv", "\u{feff}x,y\n1,2\n3,4\n"),
        ("crlf.csv", "x,y\r\n1,2\r\n3,4\r\n"),
        ("newline.csv", "x,note\n1,\"two\nlines\"\n3,\"\"\n"),
        ("constant.csv", "x,y\n1,7\n2,7\n"),
        ("equal.csv", "x,y\n1,7\n1,7\n"),
        ("plain.csv", "1,2\n3,4\n"),
        ("semicolon.csv", "x;y\n1;2\n3;4\n"),
    ] {
        let path = place.file(name, bytes);
        for scale in ["none", "standard", "robust", "unit"] {
            let value = json(&["cluster", &path, "-k", "2", "--method", "kmeans", "--scale", scale, "--json", "-q"]);
            assert_eq!(value["n"], 2, "{name}");
        }
    }
}

#[test]
fn bad_answers_are_refused_with_the_line() {
    let place = Place::new();
    let data = place.file("d.csv", "id,x\n007,1\n8,2\n9,4\n");
    let run = |name: &str, text: &str, words: &[&str]| {
        let answers = place.file(name, text);
        refused(&["cluster", &data, "--id", "id", "-k", "2", "-c", &answers], 1, words);
    };
    run("unknown.csv", "id_a,id_b,answer\n007,8,same\n7,9,same\n", &["unknown.csv:3", "'7'", "007"]);
    run("word.csv", "id_a,id_b,answer\n007,8,perhaps\n", &["word.csv:2", "perhaps"]);
    run("confidence.csv", "id_a,id_b,answer,confidence\n007,8,same,1.5\n", &["confidence.csv:2", "1.5"]);
    run("columns.csv", "a,b,c\n007,8,same\n", &["columns.csv", "id_a"]);
}

#[test]
fn wrong_requests_end_with_two() {
    let iris = example("iris.csv");
    let plain = ["cluster", &iris, "--method", "kmeans"];
    let with = |more: &[&'static str]| [plain.as_slice(), more].concat();
    refused(&with(&["-k", "0"]), 2, &["k = 0", "150"]);
    refused(&with(&["-k", "151"]), 2, &["k = 151", "150"]);
    refused(&["cluster", &iris, "-k", "3", "--method", "kmaens"], 2, &["kmaens", "did you mean 'kmeans'"]);
    refused(&with(&["-k", "3", "--set", "restart=3"]), 2, &["restart", "restarts"]);
    refused(&with(&["-k", "3", "--set", "restarts=many"]), 2, &["whole number", "many"]);
    refused(&with(&["-k", "3", "--scale", "big"]), 2, &["big", "standard"]);
    refused(&with(&["-k", "3", "--time-limit", "soon"]), 2, &["soon", "20s"]);
    refused(&["eval", &iris], 2, &["--truth"]);
}

#[test]
fn standard_input_is_read() {
    let iris = std::fs::read(example("iris.csv")).unwrap();
    let mut child = Command::new(env!("CARGO_BIN_EXE_kinfold"))
        .args(["cluster", "-", "-k", "3", "--method", "kmeans", "-q", "--truth", "species"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    std::io::Write::write_all(&mut child.stdin.take().unwrap(), &iris).unwrap();
    assert_eq!(out(&child.wait_with_output().unwrap()).lines().count(), 151);
}

#[test]
#[cfg(unix)]
fn an_interrupt_writes_the_best_so_far_and_ends_with_130() {
    let place = Place::new();
    let mut text = String::from("x,y\n");
    for i in 0..3000u32 {
        text += &format!("{},{}\n", i.wrapping_mul(2_654_435_761) % 1000, i.wrapping_mul(40_503) % 997);
    }
    let data = place.file("d.csv", text);
    let labels = place.path("l.csv");
    let mut child = Command::new(env!("CARGO_BIN_EXE_kinfold"))
        .args(["cluster", &data, "-k", "20", "--method", "kmeans", "--set", "restarts=10000", "-o", &labels, "-q"])
        .spawn()
        .unwrap();
    std::thread::sleep(std::time::Duration::from_millis(1500));
    Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(130));
    assert_eq!(std::fs::read_to_string(&labels).unwrap().lines().count(), 3001);
}

#[test]
fn a_time_limit_returns_the_best_so_far() {
    let iris = example("iris.csv");
    let args = ["cluster", &iris, "-k", "3", "--method", "kmeans", "--set", "restarts=10000"];
    let value = json(&[args.as_slice(), &["--time-limit", "1ms", "--json", "-q"]].concat());
    assert_eq!(value["termination"], "deadline");
    assert_eq!(value["labels"].as_array().unwrap().len(), 150);
}

#[test]
fn the_demo_the_pages_and_the_scripts_print() {
    let demo = kinfold(&["demo"]);
    assert!(demo.status.success() && out(&demo).contains("listening"), "{}", err(&demo));
    assert!(out(&kinfold(&["methods"])).contains("kmeans"));
    assert!(out(&kinfold(&["methods", "kmeans"])).contains("restarts"));
    assert!(out(&kinfold(&["completions", "bash"])).contains("kinfold"));
    assert!(out(&kinfold(&["man"])).contains("kinfold"));
}

#[test]
fn a_model_of_the_first_version_keeps_loading() {
    let model = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/model-v1.json").display().to_string();
    let value = json(&["predict", &model, &example("iris.csv"), "--json", "-q"]);
    let count = |c: u64| value["labels"].as_array().unwrap().iter().filter(|l| l.as_u64() == Some(c)).count();
    // The sizes of the clusters when the model was saved.
    assert_eq!([count(0), count(1), count(2)], [50, 47, 53]);
    let place = Place::new();
    let newer = std::fs::read_to_string(&model)
        .unwrap()
        .replace("\"version\": 1", "\"version\": 99")
        .replace("\"version\":1", "\"version\":99");
    refused(&["predict", &place.file("m.json", newer), &example("iris.csv")], 1, &["m.json", "99"]);
    refused(&["predict", &example("iris.csv"), &example("iris.csv")], 1, &["iris.csv"]);
}

/// Two classes in the first column, ten times as much noise in the second; every fifth row labelled.
fn noisy_table() -> String {
    let mut text = "signal,noise,class\n".to_owned();
    for i in 0..60u32 {
        let wobble = f64::from(i * 7919 % 101) / 101.0 - 0.5;
        let class = if i % 5 == 0 { ["a", "b"][(i % 2) as usize] } else { "" };
        text += &format!("{},{},{class}\n", 3.0 * f64::from(i % 2) + wobble, 40.0 * f64::from(i * 31 % 67) / 67.0);
    }
    text
}

#[test]
fn a_learned_metric_goes_before_the_method_and_into_the_model() {
    let place = Place::new();
    let data = place.file("data.csv", noisy_table());
    let model = place.path("model.json");
    for (metric, setting) in
        [("rca", "shrink=0.01"), ("dca", "blend=0"), ("itml", "gamma=100"), ("mmc", "form=diagonal")]
    {
        let common = ["cluster", &data, "-k", "2", "--labels", "class", "--method", "kmeans", "--json", "-q"];
        let more = ["--metric", metric, "--metric-set", setting, "--save", &model];
        let value = json(&[&common[..], &more].concat());
        assert_eq!(value["representation"], metric);
        let labels: Vec<u64> = value["labels"].as_array().unwrap().iter().map(|l| l.as_u64().unwrap()).collect();
        // Two chunklets give dca one direction only, that between their means, and noise is part of it.
        let right = labels.iter().enumerate().all(|(i, &l)| l == i as u64 % 2);
        assert!(right || metric == "dca", "{metric}: {labels:?}");
        let again = json(&["predict", &model, &data, "--json", "-q"]);
        assert_eq!(again["labels"], value["labels"], "{metric}");
    }
    let base = ["cluster", &data, "-k", "2", "--labels", "class"];
    refused(
        &[&base[..], &["--metric", "itlm"]].concat(),
        2,
        &["there is no metric named 'itlm'", "did you mean 'itml'"],
    );
    refused(&[&base[..], &["--metric", "itml", "--metric-set", "gamma=x"]].concat(), 2, &["itml: parameter gamma"]);
    assert!(out(&kinfold(&["methods"])).contains("itml"));
    assert!(out(&kinfold(&["methods", "itml"])).contains("--metric-set"));
}

#[test]
fn partial_labels_reach_the_methods_that_use_them() {
    let place = Place::new();
    let data = place.file("data.csv", noisy_table());
    let base =
        ["cluster", &data, "-k", "2", "--labels", "class", "--features", "signal,noise", "--json", "-q", "--method"];
    let kept = json(&[&base[..], &["constrained-kmeans"]].concat());
    assert_eq!(kept["violations"]["must_link"], 0);
    assert_eq!(kept["violations"]["cannot_link"], 0);
    let start = json(&[&base[..], &["seeded-kmeans"]].concat());
    assert!(start["notes"].as_array().unwrap().is_empty(), "{}", start["notes"]);
    for method in ["pck-means", "mpck-means", "cvqe", "lcvqe"] {
        let value = json(&[&base[..], &[method]].concat());
        assert_eq!(value["labels"].as_array().unwrap().len(), 60, "{method}");
        assert!(value["violations"]["must_link_given"].as_u64().unwrap() > 0, "{method}");
    }
    let none = json(&["cluster", &data, "-k", "2", "--method", "seeded-kmeans", "--json", "-q"]);
    assert!(none["notes"][0].as_str().unwrap().contains("--labels"));
    refused(
        &["cluster", &data, "-k", "1", "--labels", "class", "--method", "seeded-kmeans"],
        2,
        &["k = 1 is too small"],
    );
}

#[test]
fn methods_that_need_memory_for_every_pair_of_rows_say_so_and_keep_to_the_limit() {
    let iris = example("iris.csv");
    let cluster = |memory: &str, method: &str| {
        kinfold(&["cluster", &iris, "-k", "3", "--truth", "species", "--method", method, "--memory", memory, "-q"])
    };
    for method in ["cal", "spcl", "csp", "pcp"] {
        let told = out(&kinfold(&["methods", method]));
        assert!(told.contains("n×n memory: about") && told.contains("--memory"), "{told}");
        assert_eq!(cluster("100MB", method).status.code(), Some(0), "{method}");
        let refusal = cluster("10kB", method);
        assert_eq!(refusal.status.code(), Some(2));
        let text = err(&refusal);
        assert!(text.contains(&format!("{method} needs about")) && text.contains("for 150 rows"), "{text}");
        assert!(text.contains("rows would fit") && text.contains("hint: --memory allows more"), "{text}");
    }
    assert!(out(&kinfold(&["methods", "bckm"])).contains("kernel = rbf, rbf-local: n×n memory"));
    assert!(!out(&kinfold(&["methods", "kmeans"])).contains("n×n"));
    refused(
        &["cluster", &iris, "-k", "3", "--memory", "plenty"],
        2,
        &["'plenty' is not an amount of memory like 500MB"],
    );
}

#[test]
fn choose_k_gives_a_table_a_bound_a_reason_and_a_picture() {
    let (place, iris) = (Place::new(), example("iris.csv"));
    let (answers, picture, labels) = (place.path("a.csv"), place.path("k.svg"), place.path("l.csv"));
    kinfold(&["simulate", &iris, "--truth", "species", "--amount", "n", "-o", &answers]);
    let args = ["choose-k", &iris, "-c", &answers, "-k", "2..6", "--method", "kmeans", "--truth", "species"];
    let done = kinfold(&[args.as_slice(), &["--plot", &picture, "-o", &labels]].concat());
    let text = out(&done);
    assert_eq!(done.status.code(), Some(0), "{}", err(&done));
    for word in ["S+CS", "NH", "smallest k that keeps every cannot-link", "criteria", "k = "] {
        assert!(text.contains(word), "'{word}' is not in: {text}");
    }
    assert!(std::fs::read_to_string(&picture).unwrap().starts_with("<svg"));
    let value = json(&[args.as_slice(), &["--json", "-q"]].concat());
    assert_eq!(value["candidates"].as_array().unwrap().len(), 5);
    let k = value["k"].as_u64().unwrap();
    assert!(value["candidates"].as_array().unwrap().iter().any(|c| c["k"] == k));
    assert!(value["smallest_k"]["lower"].as_u64().unwrap() >= 2);
    assert!(!value["reason"].as_str().unwrap().is_empty());
    let clusters = std::fs::read_to_string(&labels).unwrap();
    let used: std::collections::BTreeSet<&str> =
        clusters.lines().skip(1).filter_map(|l| l.rsplit(',').next()).collect();
    assert_eq!(used.len() as u64, k);

    let by = json(&[args.as_slice(), &["--json", "-q", "--by", "S"]].concat());
    assert_eq!(by["k"], 2);
    refused(&[args.as_slice(), &["--by", "X"]].concat(), 2, &["'X'", "NH+CS"]);
    refused(&["choose-k", &iris, "-k", "6..2"], 2, &["6..2", "2..20"]);
}

#[test]
fn cluster_chooses_k_when_asked_to() {
    let iris = example("iris.csv");
    for k in ["2..5", "auto"] {
        let args = ["cluster", &iris, "-k", k, "--method", "kmeans", "--truth", "species", "--json", "-q"];
        let value = json(&args);
        assert_eq!(value["k"], value["choice_of_k"]["k"]);
        assert_eq!(value["sizes"].as_array().unwrap().len() as u64, value["k"].as_u64().unwrap());
    }
    let done = kinfold(&["cluster", &iris, "-k", "2..4", "--method", "kmeans", "--truth", "species"]);
    assert_eq!(out(&done).lines().count(), 151);
    assert!(err(&done).contains("criteria"), "{}", err(&done));
}

#[test]
fn eval_scores_the_rows_themselves() {
    let (place, iris) = (Place::new(), example("iris.csv"));
    let labels = place.path("l.csv");
    kinfold(&["cluster", &iris, "-k", "3", "--method", "kmeans", "--truth", "species", "-o", &labels, "-q"]);
    let value = json(&["eval", &labels, "--data", &iris, "--truth", "species", "--json"]);
    // scikit-learn's scores of the best 3-means of iris.
    for (name, expected) in [("silhouette", 0.5528), ("calinski_harabasz", 561.63), ("davies_bouldin_loss", 0.6620)] {
        let found = value["scores"][name].as_f64().unwrap();
        assert!((found / expected - 1.0).abs() < 1e-3, "{name} {found}");
    }
    assert!(value["scores"]["nmi"].as_f64().unwrap() > 0.7);
    let sampled = json(&["eval", &labels, "--data", &iris, "--truth", "species", "--sample", "50", "--json"]);
    let found = sampled["scores"]["silhouette"].as_f64().unwrap();
    let error = sampled["errors"]["silhouette"].as_f64().unwrap();
    assert!(error > 0.0 && (found - 0.5528).abs() < 5.0 * error, "{found} {error}");
    let noise = place.file("n.csv", "id,label\n0,0\n1,0\n2,1\n3,1\n4,-1\n5,-1\n");
    let value = json(&["eval", &noise, "--data", &iris, "--json"]);
    assert_eq!(value["k"], 2);
    assert!(value["scores"]["silhouette"].is_number());
}

#[test]
fn a_report_is_one_page_that_needs_nothing_else() {
    let (place, iris) = (Place::new(), example("iris.csv"));
    let (answers, run, page) = (place.path("a.csv"), place.path("run.json"), place.path("r.html"));
    kinfold(&["simulate", &iris, "--truth", "species", "--protocol", "balanced", "--noise", "0.1", "-o", &answers]);
    let cluster =
        ["cluster", &iris, "-k", "3", "--truth", "species", "-c", &answers, "--method", "cvqe", "--scale", "standard"];
    let output = kinfold(&[&cluster[..], &["--json", "-q", "-o", &run]].concat());
    assert_eq!(output.status.code(), Some(0), "{}", err(&output));
    let output = kinfold(&["report", &run, "-o", &page]);
    assert_eq!(output.status.code(), Some(0), "{}", err(&output));
    let html = std::fs::read_to_string(&page).unwrap();
    for part in ["Map", "Silhouettes", "Profiles", "Typical rows", "Broken constraints", "cvqe weighs", "setosa"] {
        assert!(html.contains(part), "{part}");
    }
    for outside in ["<script", " src=", "@import", "url("] {
        assert!(!html.contains(outside), "{outside}");
    }
    // As many broken lines on each of the two maps as the run lists; the same page on any number of threads.
    let value: Value = serde_json::from_str(&std::fs::read_to_string(&run).unwrap()).unwrap();
    let broken = value["violations"]["list"].as_array().unwrap().len();
    assert!(broken > 0);
    assert_eq!(html.matches("class=\"halo\"").count(), 2 * broken);
    assert!(html.contains("Map: two directions") && html.contains("Map: neighbourhoods"));
    for threads in ["1", "2"] {
        let again = out(&kinfold(&["report", &run, "--threads", threads, "-q"]));
        assert!(again == html, "{threads} threads");
    }
}

#[test]
fn a_report_says_what_has_moved_or_changed() {
    let place = Place::new();
    let rows = place.file("rows.csv", "x,y\n0,0\n0,1\n9,9\n9,8\n");
    let run = place.path("run.json");
    kinfold(&["cluster", &rows, "-k", "2", "--method", "kmeans", "--json", "-q", "-o", &run]);
    let moved = place.path("elsewhere.csv");
    std::fs::rename(&rows, &moved).unwrap();
    refused(&["report", &run], 1, &["rows.csv", "not there any more", "--data"]);
    let output = kinfold(&["report", &run, "--data", &moved]);
    assert!(out(&output).starts_with("<!doctype html>"), "{}", err(&output));
    place.file("rows.csv", "x,y\n0,0\n");
    refused(&["report", &run], 1, &["1 row now", "the run had 4", "hint"]);
    let other = place.file("other.json", "{\"a\":1}");
    refused(&["report", &other], 1, &["not what --json"]);
    refused(&["report", &moved], 1, &["not JSON"]);
    refused(&["report", &place.path("nothing.json")], 1, &["cannot be read"]);
}

#[test]
fn a_report_of_a_choice_of_k_has_the_curve_and_every_criterion() {
    let (place, iris) = (Place::new(), example("iris.csv"));
    let value = json(&["choose-k", &iris, "-k", "2..4", "--method", "kmeans", "--truth", "species", "--json", "-q"]);
    let run = place.file("k.json", value.to_string());
    let html = out(&kinfold(&["report", &run]));
    assert!(html.contains("k = 4") && html.contains("by number of clusters"));
    // A ring for what each criterion chooses.
    let choosing = value["criteria"].as_array().unwrap().iter().filter(|c| !c["k"].is_null()).count();
    assert_eq!(html.matches("rx=\"3\"").count(), choosing);
    assert!(value["criteria"].as_array().unwrap().iter().any(|c| html.contains(c["name"].as_str().unwrap())));
}
