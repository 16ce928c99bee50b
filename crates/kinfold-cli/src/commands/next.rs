//! `kinfold next`: the next questions only, for other screens.

use kinfold::pipeline::Next;
use serde_json::json;

use crate::args::NextArgs;
use crate::commands::SCHEMA_VERSION;
use crate::commands::ask::{Talk, fit};
use crate::load;
use crate::session::{Done, Session};

pub fn run(session: &Session, args: &NextArgs) -> Done {
    let file = load::table(session, &args.data.data, &args.data.columns, None, Some(&args.constraints))?;
    let mut talk = Talk::begin(session, &file, &args.constraints, &args.strategy)?;
    if args.refit {
        let k = talk.k();
        let labels = fit(session.ctx(), &args.strategy.method, k, &file, &talk.dialogue.constraints()?)?;
        session.clear_progress();
        let answers = talk.dialogue.known().answers();
        talk.dialogue.give_partition(labels, answers)?;
    }
    talk.dialogue.decline();
    let questions = talk.dialogue.batch(args.count)?;
    let id = |row: u32| file.ids.get(row as usize).into_owned();
    let done = match talk.dialogue.next()? {
        Next::Done(reason) => Some(reason.to_string()),
        _ => None,
    };
    if session.json {
        let list: Vec<_> = questions
            .iter()
            .map(|q| {
                json!({ "id_a": id(q.a), "id_b": id(q.b), "row_a": q.a, "row_b": q.b, "why": q.why(id),
                        "score": q.score, "probability_same": q.probability_same })
            })
            .collect();
        let progress = talk.dialogue.progress();
        session.print_json(&json!({
            "schema_version": SCHEMA_VERSION, "strategy": args.strategy.strategy, "questions": list, "done": done,
            "progress": progress,
        }))?;
    } else {
        let mut text = String::new();
        for q in &questions {
            text += &format!("{}\t{}\t{}\n", id(q.a), id(q.b), q.why(id));
        }
        session.print(&text)?;
        if let Some(done) = done {
            session.say(format!("nothing to ask: {done}"));
        }
    }
    Ok(0)
}
