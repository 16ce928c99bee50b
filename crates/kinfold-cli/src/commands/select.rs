//! `kinfold select`: the informative ones of given constraints, as an answer file.

use kinfold::blocks::par::Pool;
use kinfold::constraints::Kind;
use kinfold::params::Value;
use kinfold::queries::{ApcMode, Ground, SelectFill, apc_filter, apc_select};
use kinfold_io::View;
use serde_json::json;

use crate::args::SelectArgs;
use crate::commands::SCHEMA_VERSION;
use crate::failure::{Failure, USAGE};
use crate::load;
use crate::session::{Done, Session, count, number};

pub fn run(session: &Session, args: &SelectArgs) -> Done {
    if args.strategy != "apc" {
        return Err(Failure::new(USAGE, format!("there is no selection named '{}'", args.strategy))
            .hint("the only one is apc; the strategies that ask are for `kinfold ask` and `kinfold next`"));
    }
    fn choice<V: Value>(option: &str, text: &str) -> Result<V, Failure> {
        V::parse(text).ok_or_else(|| Failure::new(USAGE, format!("--{option} takes {}, not '{text}'", V::sort())))
    }
    let mode: ApcMode = choice("mode", &args.mode)?;
    let fill: SelectFill = choice("fill", &args.fill)?;
    if args.sigma.is_some_and(|s| !(s > 0.0)) {
        return Err(Failure::new(USAGE, "--sigma takes a number above zero, or inf"));
    }
    let file = load::table(session, &args.data.data, &args.data.columns, None, Some(&args.constraints))?;
    let given = load::constraints(session, &args.constraints, &file)?;
    // A contradiction has no informative part: it is reported first.
    given.close().map_err(|e| load::explain(e, &given, &file))?;
    let candidates: Vec<(Kind, u32, u32)> = given.expanded().map(|p| (p.kind, p.a, p.b)).collect();
    let pool = Pool::new(session.threads);
    let ground = match file.rows.view().map_err(|e| load::explain(e, &given, &file))? {
        View::F32(data) => Ground::new(&data, &pool)?,
        View::F64(data) => Ground::new(&data, &pool)?,
    };
    let found = apc_filter(&ground, &candidates, mode, args.sigma, false)?;
    let mut rng = session.ctx().rng("select", 0);
    let kept = match args.budget {
        None => found.kept.clone(),
        Some(budget) => apc_select(&ground, &candidates, &found, budget, fill, !args.keep_entailed, &mut rng),
    };
    let id = |row: u32| file.ids.get(row as usize).into_owned();
    let same = kept.iter().filter(|k| candidates[k.at].0 == Kind::MustLink).count();
    if session.json && args.output.is_none() {
        let list: Vec<_> = kept
            .iter()
            .map(|k| {
                let (kind, a, b) = candidates[k.at];
                json!({ "id_a": id(a), "id_b": id(b), "answer": kind.answer(), "rule": k.rule, "margin": k.margin })
            })
            .collect();
        session.print_json(&json!({
            "schema_version": SCHEMA_VERSION, "given": candidates.len(), "kept": list, "far": found.far, "near": found.near,
            "sigma": found.sigma.is_finite().then_some(found.sigma),
        }))?;
    } else {
        let records = kept.iter().map(|k| (id(candidates[k.at].1), id(candidates[k.at].2), candidates[k.at].0));
        let text = kinfold_io::answer_lines(records, "select");
        match &args.output {
            Some(path) => session.write_file(path, text.as_bytes())?,
            None => session.print(&text)?,
        }
    }
    session.say(format!(
        "kept {} of {}: {same} same, {} different; same counts as far beyond {}, different as near below {}",
        kept.len(),
        count(candidates.len(), "constraint"),
        kept.len() - same,
        number(found.far),
        number(found.near),
    ));
    Ok(0)
}
