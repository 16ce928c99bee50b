//! `kinfold check`: do the constraints hold together, for which k, and what is the cheapest repair?

use std::time::Duration;

use kinfold::constraints::{
    Chunklets, ConstraintSet, Feasibility, FeasibleOptions, Kind, Repair, RepairOptions, SmallestK, feasible, repair,
    smallest_k,
};
use kinfold_io::{DataFile, Ids, Input, read_answers_alone, read_table};
use serde_json::{Value, json};

use crate::args::{CheckArgs, Trust};
use crate::commands::SCHEMA_VERSION;
use crate::failure::{Failure, INFEASIBLE, USAGE};
use crate::load;
use crate::session::{Done, Session, count, number, thousands};

/// Most contradictions and dropped constraints that are told to people one by one.
const TOLD: usize = 10;
/// Cannot-links between chunklets up to which the smallest k is sought.
const MOST_LINKS: usize = 1_000_000;

pub fn run(session: &Session, args: &CheckArgs) -> Done {
    let (ids, given) = read(session, args)?;
    let name = |row: u32| ids.get(row as usize).into_owned();
    if args.k.is_some_and(|k| k == 0 || k > ids.len()) {
        let (k, rows) = (args.k.unwrap_or(0), ids.len());
        return Err(kinfold::Error::K { k, rows }.into());
    }

    let (chunklets, conflicts) = given.close_lenient(0.0)?;
    // The smallest k is advice: it gets less time than the verdict that was asked for.
    let options = FeasibleOptions { exact_k: true, ..FeasibleOptions::default() };
    let advice = FeasibleOptions { time_limit: Duration::from_secs(2), ..options };
    // The cannot-links that contradict a chain are not in the graph, so this speaks of the rest.
    let verdict = args.k.map(|k| (k, feasible(&chunklets, k, &options)));
    let few = chunklets.graph().edge_count() <= MOST_LINKS;
    let smallest = few.then(|| smallest_k(&chunklets, &advice));
    let possible = conflicts.is_empty() && !matches!(&verdict, Some((_, Feasibility::Infeasible(_))));
    let mended = if possible || args.no_repair {
        None
    } else {
        let options = RepairOptions { treat_hard_as: Some(1.0), ..RepairOptions::default() };
        Some(repair(&given, args.k, &options)?)
    };

    let contradictions: Vec<String> = conflicts.iter().map(|c| c.describe(&given, name)).collect();
    if session.json {
        let verdict_json = verdict.as_ref().map(|(k, v)| feasibility_json(*k, v, &given, &ids));
        session.print_json(&json!({
            "schema_version": SCHEMA_VERSION,
            "n": ids.len(),
            "given": given_json(&given),
            "chunklets": chunklets.len(),
            "entailed_must_links": chunklets.entailed_must_links(),
            "entailed_cannot_links": chunklets.entailed_cannot_links(),
            "contradictions": { "count": conflicts.len(), "list": conflicts.iter().map(|c| json!({
                "sentence": c.describe(&given, name),
                "rows": c.points.iter().map(|&p| name(p)).collect::<Vec<_>>(),
                "cannot_link": given.place(c.cannot_link, &[c.ends().0, c.ends().1]),
                "chain": c.path.iter().zip(c.points.windows(2)).map(|(id, w)| given.place(*id, w)).collect::<Vec<_>>(),
            })).collect::<Vec<_>>() },
            "feasible": verdict_json,
            "smallest_k": smallest.as_ref().map(|s| json!({ "lower": s.lower, "upper": s.upper, "exact": s.exact() })),
            "repair": mended.as_ref().map(|r| repair_json(r, &given, &ids)),
        }))?;
    } else {
        let mut text = overview(&given, &chunklets, &ids);
        if conflicts.is_empty() {
            text += "contradictions: none\n";
        } else {
            text += &format!("contradictions: {}\n", thousands(conflicts.len()));
            contradictions.iter().take(TOLD).for_each(|c| text += &format!("  {c}\n"));
            if conflicts.len() > TOLD {
                text += &format!("  … and {} more (--json lists them)\n", conflicts.len() - TOLD);
            }
        }
        if let Some((k, v)) = &verdict {
            text += &match v {
                Feasibility::Feasible(_) => format!("k = {k}: possible\n"),
                Feasibility::Infeasible(why) => format!("k = {k}: impossible: {}\n", why.describe(&given, name)),
                Feasibility::Unknown { lower, upper } => {
                    format!("k = {k}: not decided in time (needs at least {lower}, {upper} are enough)\n")
                }
            };
        }
        text += &smallest_text(smallest.as_ref(), chunklets.graph().edge_count());
        if let Some(r) = &mended {
            text += &repair_text(r, &given, &ids);
        }
        session.print(&text)?;
    }
    Ok(if possible { 0 } else { INFEASIBLE })
}

fn read(session: &Session, args: &CheckArgs) -> Result<(Ids, ConstraintSet), Failure> {
    let c = &args.constraints;
    if let Some(data) = &args.data {
        let options =
            kinfold_io::ReadOptions { text_only: true, ..load::options(session, &args.columns, None, Some(c))? };
        let file: DataFile = read_table(&Input::from_arg(data), &options)?;
        let given = load::constraints(session, c, &file)?;
        return Ok((file.ids, given));
    }
    if !(c.must_link_by.is_empty() && c.cannot_link_within.is_empty() && c.labels.is_none()) {
        return Err(Failure::new(USAGE, "column rules and partial labels need the data")
            .hint("name the table before the options: kinfold check DATA --must-link-by COLUMN"));
    }
    let [answers] = c.constraints.as_slice() else {
        return Err(Failure::new(USAGE, "without data, name exactly one answer file")
            .hint("kinfold check -c answers.csv, or kinfold check DATA -c a.csv -c b.csv"));
    };
    let (ids, answers) = read_answers_alone(&Input::from_arg(answers))?;
    let weight = if c.trust == Trust::Soft { load::SOFT_WEIGHT } else { f64::INFINITY };
    let given = answers.to_constraints(ids.len(), weight)?;
    Ok((ids, given))
}

/// must-links, cannot-links, sets, labellings.
fn counts(given: &ConstraintSet) -> (usize, usize, usize, usize) {
    let same = given.pairs().iter().filter(|p| p.kind == Kind::MustLink).count();
    (same, given.pairs().len() - same, given.sets().len(), given.labels().iter().map(|l| l.rows.len()).sum())
}

fn given_json(given: &ConstraintSet) -> Value {
    let (same, different, sets, labelled) = counts(given);
    json!({ "must_link": same, "cannot_link": different, "sets": sets, "labelled_rows": labelled })
}

fn overview(given: &ConstraintSet, chunklets: &Chunklets, ids: &Ids) -> String {
    let (same, different, sets, labelled) = counts(given);
    let mut parts = vec![format!("{} same", thousands(same)), format!("{} different", thousands(different))];
    if sets > 0 {
        parts.push(count(sets, "group"));
    }
    if labelled > 0 {
        parts.push(count(labelled, "labelled row"));
    }
    let n = ids.len();
    let joined = (0..chunklets.len() as u32).filter(|&c| chunklets.members(c).len() > 1).count();
    let largest = (0..chunklets.len() as u32).map(|c| chunklets.members(c).len()).max().unwrap_or(0);
    format!(
        "given: {} about {}\nentailed: {} same, {} different; {} of two rows or more, the largest of {}\n",
        parts.join(", "),
        count(n, "row"),
        thousands(chunklets.entailed_must_links()),
        thousands(chunklets.entailed_cannot_links()),
        count(joined, "chunklet"),
        thousands(largest),
    )
}

fn smallest_text(smallest: Option<&SmallestK>, links: usize) -> String {
    match smallest {
        None => format!("smallest k: not sought among {}; ask for one with -k\n", count(links, "cannot-link")),
        Some(s) if s.exact() => format!("smallest k that keeps every cannot-link: {}\n", s.lower),
        Some(s) => format!("smallest k that keeps every cannot-link: between {} and {}\n", s.lower, s.upper),
    }
}

fn feasibility_json(k: usize, verdict: &Feasibility, given: &ConstraintSet, ids: &Ids) -> Value {
    let name = |row: u32| ids.get(row as usize).into_owned();
    match verdict {
        Feasibility::Feasible(_) => json!({ "k": k, "verdict": "feasible" }),
        Feasibility::Infeasible(why) => json!({
            "k": k, "verdict": "infeasible", "sentence": why.describe(given, name),
            "witness": why.cannot_links(given).iter().map(|(id, a, b)| json!({
                "a": name(*a), "b": name(*b), "where": given.place(*id, &[*a, *b]) })).collect::<Vec<_>>(),
        }),
        Feasibility::Unknown { lower, upper } => {
            json!({ "k": k, "verdict": "unknown", "lower": lower, "upper": upper })
        }
    }
}

fn repair_json(r: &Repair, given: &ConstraintSet, ids: &Ids) -> Value {
    json!({
        "cost": r.cost, "lower_bound": r.lower_bound, "optimal": r.optimal,
        "drop": r.describe(given, |row| ids.get(row as usize).into_owned()),
    })
}

fn repair_text(r: &Repair, given: &ConstraintSet, ids: &Ids) -> String {
    let proof = if r.optimal {
        "the cheapest, proven".to_owned()
    } else {
        format!("the best found; no repair costs less than {}", number(r.lower_bound))
    };
    let mut text =
        format!("repair: drop {} (cost {}; {proof})\n", count(r.dropped.len(), "constraint"), number(r.cost));
    for sentence in r.describe(given, |row| ids.get(row as usize).into_owned()).iter().take(TOLD) {
        text += &format!("  {sentence}\n");
    }
    if r.dropped.len() > TOLD {
        text += &format!("  … and {} more (--json lists them)\n", r.dropped.len() - TOLD);
    }
    text
}
