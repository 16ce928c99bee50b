//! `kinfold answer`: one answer into an answer file, on disk when the command ends; what it contradicts is said at once.

use kinfold::constraints::{Entailed, Kind, PathRule};
use kinfold_io::{AnswerRecord, AnswerWriter, Ids, Input, Reply, read_answers_alone};
use serde_json::json;

use crate::args::AnswerArgs;
use crate::commands::SCHEMA_VERSION;
use crate::failure::{Failure, USAGE};
use crate::session::{Done, Session, now};

pub fn run(session: &Session, args: &AnswerArgs) -> Done {
    let reply = Reply::parse(&args.answer).ok_or_else(|| {
        Failure::new(USAGE, format!("'{}' is not an answer", args.answer)).hint("write same, different, unsure or undo")
    })?;
    if args.a == args.b {
        return Err(Failure::new(USAGE, format!("'{}' is named twice: an answer is about two rows", args.a)));
    }
    let mut writer = AnswerWriter::open(&args.file)?;
    let input = Input::from_arg(&args.file);
    let (ids, answers) = writer.while_locked(|| read_answers_alone(&input))??;
    let when = now();
    let record = AnswerRecord {
        confidence: args.confidence,
        source: "answer",
        who: &args.who,
        when: &when,
        note: &args.note,
        ..AnswerRecord::new(&args.a, &args.b, reply)
    };
    writer.append(&record)?;

    // What the answers before this one say about the pair.
    let rows = (ids.find(&args.a), ids.find(&args.b));
    let (mut relation, mut chain) = (Entailed::Unknown, None);
    if let (Some(a), Some(b)) = rows {
        let given = answers.to_constraints(ids.len(), f64::INFINITY)?;
        let (chunklets, _) = given.close_lenient(0.0)?;
        relation = chunklets.entails(a as usize, b as usize);
        if relation != Entailed::Unknown {
            let name = |row: u32| Ids::get(&ids, row as usize).into_owned();
            chain =
                Some(given.explain(&chunklets, a as usize, b as usize, 0.0, PathRule::Fewest).describe(&given, name));
        }
    }
    let said = match reply {
        Reply::Same => Some(Kind::MustLink),
        Reply::Different => Some(Kind::CannotLink),
        _ => None,
    };
    let effect = match (said, relation) {
        (Some(Kind::MustLink), Entailed::Different) | (Some(Kind::CannotLink), Entailed::Same) => "contradicts",
        (Some(_), Entailed::Unknown) => "new",
        (Some(_), _) => "known",
        (None, _) => reply.name(),
    };
    if session.json {
        session.print_json(&json!({
            "schema_version": SCHEMA_VERSION, "id_a": args.a, "id_b": args.b, "answer": reply.name(), "when": when,
            "effect": effect, "chain": chain.as_ref().filter(|_| effect == "contradicts" || effect == "known"),
        }))?;
    }
    match (effect, chain) {
        ("contradicts", Some(chain)) => session.say(format!(
            "saved, but it contradicts what was said before: {chain}\nhint: take one of these back with `kinfold answer … undo`"
        )),
        ("known", Some(chain)) => session.mention(format!("it followed already: {chain}")),
        _ => {}
    }
    Ok(0)
}
