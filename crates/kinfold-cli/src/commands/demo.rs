//! `kinfold demo`: a minute's read on data that the binary carries: iris and wine (from the scikit-learn package).

use kinfold::constraints::generate;
use kinfold::indices::{Scored, score_all};
use kinfold::pipeline::Job;
use kinfold_io::{Input, ReadOptions, read_table};

use crate::commands::cluster::{cluster, truth_codes};
use crate::failure::Failure;
use crate::session::{Done, Session, count};

struct Example {
    file: &'static str,
    text: &'static str,
    truth: &'static str,
    k: usize,
    what: &'static str,
}

const EXAMPLES: [Example; 2] = [
    Example {
        file: "iris.csv",
        text: include_str!("../../../../examples/iris.csv"),
        truth: "species",
        k: 3,
        what: "150 flowers, four measurements each, three species of which two look alike",
    },
    Example {
        file: "wine.csv",
        text: include_str!("../../../../examples/wine.csv"),
        truth: "cultivar",
        k: 3,
        what: "178 wines, thirteen chemical measurements on very different scales, three growers",
    },
];

pub fn run(session: &Session) -> Done {
    let mut text = String::from(
        "kinfold clusters rows and listens to what you know: these rows belong together, those do not.\n\n",
    );
    for example in &EXAMPLES {
        text += &show(session, example)?;
    }
    text += &contradiction()?;
    text +=
        "Next: kinfold cluster YOUR.csv -k 3 -c answers.csv   (answers.csv: id_a,id_b,answer with same or different)\n";
    session.print(&text)?;
    Ok(0)
}

fn show(session: &Session, example: &Example) -> Result<String, Failure> {
    let options = ReadOptions { truth: Some(example.truth.into()), ..ReadOptions::default() };
    let file = read_table(&Input::bytes(example.file, example.text), &options)?;
    let truth = truth_codes(&file)?;
    let answers = generate::balanced(&truth, truth.len() / 2, false, &mut session.ctx().rng("demo", 0))?.constraints;
    let mut text = format!("{}: {}.\n", example.file, example.what);
    text += &format!(
        "  A person answered {} (\"same\" or \"different\"), out of {} possible ones.\n",
        count(answers.pairs().len(), "question"),
        crate::session::thousands(truth.len() * (truth.len() - 1) / 2)
    );
    for (method, says) in [("kmeans", "without listening"), ("auto", "listening")] {
        let run = cluster(session, &Job::new(method, example.k), &file, &answers)?;
        let scores = score_all(&Scored { labels: &run.labels, truth: Some(&truth), constraints: Some(&answers) });
        let score = |name: &str| scores.iter().find(|(n, _)| *n == name).and_then(|(_, s)| *s).unwrap_or(f64::NAN);
        text += &format!(
            "  {says:<18} {:<7} agreement with the truth (NMI) {:.2}, rows in the right group {:>5.1} %, answers broken {}\n",
            run.method,
            score("nmi"),
            100.0 * score("consistency"),
            run.violations.broken()
        );
    }
    text.push('\n');
    Ok(text)
}

fn contradiction() -> Result<String, Failure> {
    let answers = "id_a,id_b,answer\nann,bob,same\nbob,cleo,same\ncleo,dan,same\nann,dan,different\n";
    let (ids, answers) = kinfold_io::read_answers_alone(&Input::bytes("answers.csv", answers))?;
    let given = answers.to_constraints(ids.len(), f64::INFINITY)?;
    let (_, conflicts) = given.close_lenient(0.0)?;
    let mut text = String::from("When answers cannot all be true, kinfold says which and why:\n");
    for conflict in conflicts.iter() {
        text += &format!("  {}\n", conflict.describe(&given, |row| ids.get(row as usize).into_owned()));
    }
    text.push('\n');
    Ok(text)
}
