//! A [`Check`] of constraints for people and as JSON. Rows are spelt by a function, constraints by file and line.

use kinfold::constraints::{ConstraintId, ConstraintSet, Feasibility, Kind, Repair, SmallestK};
use kinfold::pipeline::Check;
use serde_json::{Value, json};

use crate::words::{count, number, thousands};

/// Most contradictions and dropped constraints that are told to people one by one.
const TOLD: usize = 10;

/// The report for people, line by line. `more` says where the rest of a long list is.
pub fn check_text(found: &Check, given: &ConstraintSet, name: impl Fn(u32) -> String, more: &str) -> String {
    let mut text = overview(found, given);
    let conflicts = &found.conflicts;
    if conflicts.is_empty() {
        text += "contradictions: none\n";
    } else {
        text += &format!("contradictions: {}\n", thousands(conflicts.len()));
        conflicts.iter().take(TOLD).for_each(|c| text += &format!("  {}\n", c.describe(given, &name)));
        if conflicts.len() > TOLD {
            text += &format!("  … and {} more ({more})\n", conflicts.len() - TOLD);
        }
    }
    if let Some((k, v)) = &found.verdict {
        text += &match v {
            Feasibility::Feasible(_) => format!("k = {k}: possible\n"),
            Feasibility::Infeasible(why) => format!("k = {k}: impossible: {}\n", why.describe(given, &name)),
            Feasibility::Unknown { lower, upper } => {
                format!("k = {k}: not decided in time (needs at least {lower}, {upper} are enough)\n")
            }
        };
    }
    text += &smallest_text(found.smallest.as_ref(), found.chunklets.graph().edge_count());
    if let Some(r) = &found.repair {
        text += &repair_text(r, given, &name, more);
    }
    text
}

/// The report as a JSON object, without a schema version.
pub fn check_json(found: &Check, given: &ConstraintSet, name: impl Fn(u32) -> String) -> Value {
    let (same, different, sets, labelled) = counts(given);
    let conflict = |c: &kinfold::constraints::Conflict| {
        json!({
            "sentence": c.describe(given, &name),
            "rows": c.points.iter().map(|&p| name(p)).collect::<Vec<_>>(),
            "cannot_link": given.place(c.cannot_link, &[c.ends().0, c.ends().1]),
            "chain": c.path.iter().zip(c.points.windows(2)).map(|(id, w)| given.place(*id, w)).collect::<Vec<_>>(),
        })
    };
    json!({
        "n": given.n(),
        "given": { "must_link": same, "cannot_link": different, "sets": sets, "labelled_rows": labelled },
        "chunklets": found.chunklets.len(),
        "entailed_must_links": found.chunklets.entailed_must_links(),
        "entailed_cannot_links": found.chunklets.entailed_cannot_links(),
        "contradictions": {
            "count": found.conflicts.len(),
            "list": found.conflicts.iter().map(conflict).collect::<Vec<_>>(),
        },
        "feasible": found.verdict.as_ref().map(|(k, v)| feasibility_json(*k, v, given, &name)),
        "smallest_k":
            found.smallest.as_ref().map(|s| json!({ "lower": s.lower, "upper": s.upper, "exact": s.exact() })),
        "repair": found.repair.as_ref().map(|r| repair_json(r, given, &name)),
    })
}

/// must-links, cannot-links, sets, labellings.
fn counts(given: &ConstraintSet) -> (usize, usize, usize, usize) {
    let same = given.pairs().iter().filter(|p| p.kind == Kind::MustLink).count();
    (same, given.pairs().len() - same, given.sets().len(), given.labels().iter().map(|l| l.rows.len()).sum())
}

fn overview(found: &Check, given: &ConstraintSet) -> String {
    let chunklets = &found.chunklets;
    let (same, different, sets, labelled) = counts(given);
    let mut parts = vec![format!("{} same", thousands(same)), format!("{} different", thousands(different))];
    if sets > 0 {
        parts.push(count(sets, "group"));
    }
    if labelled > 0 {
        parts.push(count(labelled, "labelled row"));
    }
    let joined = (0..chunklets.len() as u32).filter(|&c| chunklets.members(c).len() > 1).count();
    let largest = (0..chunklets.len() as u32).map(|c| chunklets.members(c).len()).max().unwrap_or(0);
    format!(
        "given: {} about {}\nentailed: {} same, {} different; {} of two rows or more, the largest of {}\n",
        parts.join(", "),
        count(given.n(), "row"),
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

fn feasibility_json(k: usize, verdict: &Feasibility, given: &ConstraintSet, name: impl Fn(u32) -> String) -> Value {
    match verdict {
        Feasibility::Feasible(_) => json!({ "k": k, "verdict": "feasible" }),
        Feasibility::Infeasible(why) => json!({
            "k": k, "verdict": "infeasible", "sentence": why.describe(given, &name),
            "witness": why.cannot_links(given).iter().map(|(id, a, b)| json!({
                "a": name(*a), "b": name(*b), "where": given.place(*id, &[*a, *b]) })).collect::<Vec<_>>(),
        }),
        Feasibility::Unknown { lower, upper } => {
            json!({ "k": k, "verdict": "unknown", "lower": lower, "upper": upper })
        }
    }
}

fn repair_json(r: &Repair, given: &ConstraintSet, name: impl Fn(u32) -> String) -> Value {
    json!({
        "cost": r.cost, "lower_bound": r.lower_bound, "optimal": r.optimal,
        "drop": r.describe(given, name),
        "dropped": r.dropped.iter().map(|d| {
            let (sort, index) = match d.id {
                ConstraintId::Pair(i) => ("pair", i),
                ConstraintId::Set(i) => ("set", i),
                ConstraintId::Labels(i) => ("labels", i),
            };
            json!({ "sort": sort, "index": index, "entry": d.row.map(|_| d.entry) })
        }).collect::<Vec<_>>(),
    })
}

fn repair_text(r: &Repair, given: &ConstraintSet, name: impl Fn(u32) -> String, more: &str) -> String {
    let proof = if r.optimal {
        "the cheapest, proven".to_owned()
    } else {
        format!("the best found; no repair costs less than {}", number(r.lower_bound))
    };
    let mut text =
        format!("repair: drop {} (cost {}; {proof})\n", count(r.dropped.len(), "constraint"), number(r.cost));
    for sentence in r.describe(given, name).iter().take(TOLD) {
        text += &format!("  {sentence}\n");
    }
    if r.dropped.len() > TOLD {
        text += &format!("  … and {} more ({more})\n", r.dropped.len() - TOLD);
    }
    text
}
