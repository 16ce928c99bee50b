//! `kinfold simulate`: constraints answered from a label column, as an answer file.

use kinfold::constraints::{Kind, Simulate};
use serde_json::json;

use crate::args::SimulateArgs;
use crate::commands::{SCHEMA_VERSION, cluster::truth_codes};
use crate::load;
use crate::session::{Done, Session, count};

pub fn run(session: &Session, args: &SimulateArgs) -> Done {
    let file = load::names(session, &args.data.data, &args.data.columns, &args.truth)?;
    let truth = truth_codes(&file)?;
    let (amount, noise) = (args.amount.clone(), args.noise);
    let asked = Simulate { protocol: args.protocol.into(), amount, noise, set_size: args.set_size };
    let made = asked.run(&truth, &mut session.ctx().rng("simulate", 0))?;
    if let Some(short) = &made.short {
        session.say(format!("note: {short}"));
    }
    let (pairs, flipped) = (made.pairs, made.flipped);

    let id = |row: u32| file.ids.get(row as usize).into_owned();
    if session.json && args.output.is_none() {
        let list: Vec<_> = pairs
            .pairs()
            .iter()
            .map(|p| json!({ "id_a": id(p.a), "id_b": id(p.b), "answer": p.kind.answer() }))
            .collect();
        session.print_json(&json!({
            "schema_version": SCHEMA_VERSION, "n": truth.len(), "seed": session.ctx().seed, "flipped": flipped, "answers": list,
        }))?;
    } else {
        let records = pairs.pairs().iter().map(|p| (id(p.a), id(p.b), p.kind));
        let text = kinfold_io::answer_lines(records, "simulate");
        match &args.output {
            Some(path) => session.write_file(path, text.as_bytes())?,
            None => session.print(&text)?,
        }
    }
    let same = pairs.pairs().iter().filter(|p| p.kind == Kind::MustLink).count();
    session.say(format!(
        "{} about {}: {same} same, {} different, {flipped} of them flipped",
        count(pairs.pairs().len(), "answer"),
        count(truth.len(), "row"),
        pairs.pairs().len() - same
    ));
    Ok(0)
}
