//! `kinfold simulate`: constraints answered from a label column, as an answer file.

use kinfold::constraints::{ConstraintSet, generate};
use serde_json::json;

use crate::args::{Protocol, SimulateArgs};
use crate::commands::{SCHEMA_VERSION, cluster::truth_codes};
use crate::failure::{Failure, USAGE};
use crate::load;
use crate::session::{Done, Session, count};

pub fn run(session: &Session, args: &SimulateArgs) -> Done {
    if !(0.0..=1.0).contains(&args.noise) {
        return Err(Failure::new(USAGE, format!("--noise {} is not a share from 0 to 1", args.noise)));
    }
    let file = load::names(session, &args.data.data, &args.data.columns, &args.truth)?;
    let truth = truth_codes(&file)?;
    let amount = amount(&args.amount, args.protocol, truth.len())?;
    let mut rng = session.ctx().rng("simulate", 0);
    let made = match args.protocol {
        Protocol::Pairs => generate::pairs(&truth, amount, &mut rng)?,
        Protocol::Balanced => generate::balanced(&truth, amount, false, &mut rng)?,
        Protocol::Labels => generate::labels(&truth, amount, &mut rng)?,
        Protocol::Sets => {
            let classes = truth.iter().max().map_or(0, |m| *m as usize + 1);
            generate::disjoint_sets(&truth, args.set_size, args.set_size.min(classes), amount, &mut rng)?
        }
    };
    if let Some(short) = &made.short {
        session.say(format!("note: {short}"));
    }
    // As pairs: an answer file knows nothing else.
    let mut pairs = ConstraintSet::new(truth.len());
    for p in made.constraints.expanded() {
        pairs.add_pair(p.kind, p.a as usize, p.b as usize)?;
    }
    let flipped = (args.noise * pairs.pairs().len() as f64).round() as usize;
    let pairs = if flipped > 0 { generate::noisy(&pairs, flipped, &mut rng)? } else { pairs };

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
    let same = pairs.pairs().iter().filter(|p| p.kind == kinfold::constraints::Kind::MustLink).count();
    session.say(format!(
        "{} about {}: {same} same, {} different, {flipped} of them flipped",
        count(pairs.pairs().len(), "answer"),
        count(truth.len(), "row"),
        pairs.pairs().len() - same
    ));
    Ok(0)
}

/// 5% · n/2 · n · 200.
fn amount(text: &str, protocol: Protocol, n: usize) -> Result<usize, Failure> {
    let wrong = || Failure::new(USAGE, format!("--amount '{text}' is not of the form 5%, n/2, n or 200"));
    let whole = if protocol == Protocol::Labels { n as f64 } else { n as f64 * (n as f64 - 1.0) / 2.0 };
    if let Some(percent) = text.strip_suffix('%') {
        let p: f64 = percent.trim().parse().map_err(|_| wrong())?;
        return if (0.0..=100.0).contains(&p) { Ok((p / 100.0 * whole + 1e-9) as usize) } else { Err(wrong()) };
    }
    if let Some(rest) = text.strip_prefix('n') {
        let divisor: f64 = if rest.is_empty() {
            1.0
        } else {
            rest.strip_prefix('/').ok_or_else(wrong)?.parse().map_err(|_| wrong())?
        };
        return if divisor > 0.0 { Ok((n as f64 / divisor) as usize) } else { Err(wrong()) };
    }
    text.parse().map_err(|_| wrong())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_read_as_shares_of_pairs_or_rows_or_counts() {
        let of = |text: &str| amount(text, Protocol::Pairs, 150).ok();
        // spec/constraints.md, test 9: 1, 5 and 10 % of the pairs of 150 rows.
        assert_eq!([of("1%"), of("5%"), of("10%")], [Some(111), Some(558), Some(1117)]);
        assert_eq!([of("n/2"), of("n"), of("n/4"), of("200")], [Some(75), Some(150), Some(37), Some(200)]);
        assert_eq!(amount("10%", Protocol::Labels, 150).ok(), Some(15));
        assert!(["", "5 %x", "n*2", "n/0", "-3", "101%", "many"].iter().all(|bad| of(bad).is_none()));
    }
}
