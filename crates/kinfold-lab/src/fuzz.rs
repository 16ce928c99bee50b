//! Random attacks on the readers and the constraint layer: inputs are grown from small seeds by mutation, and a panic or
//! a broken promise is a find, printed with the case number that repeats it.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};

use kinfold::constraints::{
    ConstraintSet, Feasibility, FeasibleOptions, Kind, Origin, RepairOptions, feasible, repair, smallest_k,
};
use kinfold::rng::Rng;
use kinfold_io::{
    AnswerOptions, Format, Ids, Input, ReadOptions, read_answers, read_answers_alone, read_labels, read_table,
};

#[derive(clap::Args)]
pub struct FuzzArgs {
    /// What to attack
    #[arg(value_enum)]
    target: Target,
    /// For how long
    #[arg(long, default_value_t = 10.0)]
    minutes: f64,
    /// The first case; a find is repeated by its number with --cases 1
    #[arg(long, default_value_t = 0)]
    from: u64,
    /// Stop after this many cases
    #[arg(long)]
    cases: Option<u64>,
}

#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Target {
    /// Tables of every text format, answer files and label files
    Readers,
    /// Closure, contradictions, feasibility, repair
    Constraints,
}

pub fn run(args: &FuzzArgs) -> Result<bool, String> {
    let end = Instant::now() + Duration::from_secs_f64(60.0 * args.minutes);
    let (mut case, mut finds) = (args.from, 0u64);
    std::panic::set_hook(Box::new(|_| {}));
    while Instant::now() < end && args.cases.is_none_or(|c| case < args.from + c) {
        let mut rng = Rng::stream(case, "fuzz", 0);
        let done = catch_unwind(AssertUnwindSafe(|| match args.target {
            Target::Readers => readers(&mut rng),
            Target::Constraints => constraints(&mut rng),
        }));
        let find = match done {
            Ok(Ok(())) => None,
            Ok(Err(why)) => Some(why),
            Err(panic) => {
                let text = panic.downcast_ref::<String>().map(String::as_str).or(panic.downcast_ref::<&str>().copied());
                Some(format!("panic: {}", text.unwrap_or("?")))
            }
        };
        if let Some(why) = find {
            finds += 1;
            println!("case {case}: {why}");
        }
        case += 1;
    }
    println!("{} cases, {finds} finds", case - args.from);
    Ok(finds == 0)
}

const SEEDS: [&str; 9] = [
    "x,y,name\n1,2,ann\n3.5,-4e3,\"b,ob\"\n5,6,\"two\nlines\"\n",
    "1\t2\t3\n4\t5\t6\n",
    "id;x;y\n007;1;2\n8;3;4\n",
    "{\"x\":1,\"y\":2,\"v\":[1,2]}\n{\"x\":3,\"y\":4,\"v\":[3,4]}\n",
    "1 1:2 3:4.5 # note\n-1 qid:3 2:1e-3\n",
    "id_a,id_b,answer,confidence\n0,1,same,0.9\n1,2,different,\n0,1,undo,\n2,2,unsure,1\n",
    "id_a,id_b,answer,weight,who\na,b,ml,2,me\nb,c,-1,0.5,\"you, too\"\n",
    "id,label\na,0\nb,1\n\"c\",\n",
    "x\n1\n\n2\n",
];

/// Bytes that mean something to one of the formats.
const SPICE: [&[u8]; 24] = [
    b",",
    b"\"",
    b"\n",
    b"\r\n",
    b"\r",
    b"\t",
    b";",
    b":",
    b"{",
    b"}",
    b"[",
    b"]",
    b"nan",
    b"inf",
    b"1e999",
    b"-",
    b"\0",
    b"\xef\xbb\xbf",
    b"\xff\xfe",
    b"\x1f\x8b",
    b"00417",
    b"#",
    b"  ",
    b"99999999999999999999",
];

fn mutated(rng: &mut Rng) -> Vec<u8> {
    let mut bytes = SEEDS[rng.below(SEEDS.len())].as_bytes().to_vec();
    for _ in 0..rng.below(8) {
        let at = rng.below(bytes.len() + 1);
        match rng.below(6) {
            0 => {
                let spice = SPICE[rng.below(SPICE.len())];
                bytes.splice(at..at, spice.iter().copied());
            }
            1 if at < bytes.len() => {
                bytes.remove(at);
            }
            2 if at < bytes.len() => bytes[at] = rng.bits() as u8,
            3 => bytes.truncate(at),
            4 => {
                let piece = bytes[at..].to_vec();
                bytes.extend(piece);
            }
            _ => {
                let other = SEEDS[rng.below(SEEDS.len())].as_bytes();
                let from = rng.below(other.len());
                bytes.splice(at..at, other[from..].iter().copied());
            }
        }
        bytes.truncate(20_000);
    }
    bytes
}

fn readers(rng: &mut Rng) -> Result<(), String> {
    let bytes = mutated(rng);
    let input = Input::bytes("fuzz", bytes.clone());
    let formats = [
        None,
        Some(Format::Csv),
        Some(Format::Tsv),
        Some(Format::Jsonl),
        Some(Format::SvmLight),
        Some(Format::Npy),
        Some(Format::Parquet),
        Some(Format::ArrowIpc),
    ];
    let mut options =
        ReadOptions { format: formats[rng.below(formats.len())], threads: 1 + rng.below(2), ..ReadOptions::default() };
    if rng.below(3) == 0 {
        options.id = Some(["id", "x", "name", "c0"][rng.below(4)].into());
    }
    if rng.below(3) == 0 {
        options.truth = Some(["y", "label", "c1"][rng.below(3)].into());
    }
    options.header = [None, Some(true), Some(false)][rng.below(3)];
    options.keep_other = rng.below(2) == 0;
    match read_table(&input, &options) {
        Ok(file) => {
            let view = file.rows.view().map_err(|e| format!("a table that was read cannot be lent: {e}"))?;
            let n = match view {
                kinfold_io::View::F32(d) => d.n(),
                kinfold_io::View::F64(d) => d.n(),
            };
            if n != file.n() || n == 0 {
                return Err(format!("{n} rows of features, {} ids", file.n()));
            }
            for row in 0..n {
                let id = file.ids.get(row);
                if file.ids.find(&id) != Some(row as u32) {
                    return Err(format!("id '{id}' of row {row} is not found again"));
                }
            }
            let again = ReadOptions { threads: 3 - options.threads, ..options.clone() };
            if !read_table(&input, &again).is_ok_and(|other| format!("{:?}", other.rows) == format!("{:?}", file.rows))
            {
                return Err("one and two threads read different tables".into());
            }
        }
        Err(e) if e.message.is_empty() => return Err("an error without a sentence".into()),
        Err(_) => {}
    }
    let ids = Ids::numbers(3);
    for skip_unknown in [false, true] {
        if let Ok(answers) = read_answers(&input, &ids, &AnswerOptions { skip_unknown, threads: 1 }) {
            answers
                .to_constraints(3, f64::INFINITY)
                .map_err(|e| format!("answers that were read make no constraints: {e}"))?;
        }
    }
    let _ = read_answers_alone(&input);
    let _ = read_labels(&input, None);
    Ok(())
}

fn constraints(rng: &mut Rng) -> Result<(), String> {
    let n = 1 + rng.below(12);
    let mut set = ConstraintSet::new(n);
    let weight = |rng: &mut Rng| [f64::INFINITY, f64::INFINITY, 1.0, 0.0, 1e-300, 1e300, rng.unit()][rng.below(7)];
    let kind = |rng: &mut Rng| if rng.below(2) == 0 { Kind::MustLink } else { Kind::CannotLink };
    let fail = |e: kinfold::Error| e.to_string();
    for _ in 0..rng.below(20) {
        let (w, k) = (weight(rng), kind(rng));
        match rng.below(8) {
            0 => {
                let members: Vec<usize> = (0..rng.below(6)).map(|_| rng.below(n)).collect();
                set.add_set(k, &members, w, Origin::default()).map_err(fail)?;
            }
            1 => {
                let rows: Vec<(usize, u32)> = (0..rng.below(6)).map(|_| (rng.below(n), rng.below(3) as u32)).collect();
                set.add_labels(&rows, Vec::new(), Vec::new(), w, Origin::default()).map_err(fail)?;
            }
            _ => {
                let (a, b) = (rng.below(n), rng.below(n));
                set.add_weighted_pair(k, a, b, w, Origin::default()).map_err(fail)?;
            }
        }
    }
    let name = |row: u32| row.to_string();
    let (chunklets, conflicts) = set.close_lenient(0.0).map_err(fail)?;
    conflicts.iter().for_each(|c| {
        let _ = c.describe(&set, name);
    });
    if set.close().is_ok() != conflicts.is_empty() {
        return Err("close and close_lenient disagree".into());
    }
    let options = FeasibleOptions::default();
    let smallest = smallest_k(&chunklets, &options);
    for k in 0..=n {
        let verdict = feasible(&chunklets, k, &options);
        match &verdict {
            Feasibility::Feasible(colours) => {
                let proper = chunklets.graph().edges().all(|(a, b)| colours[a as usize] != colours[b as usize]);
                if !proper || colours.iter().any(|&c| c as usize >= k) || k < smallest.lower {
                    return Err(format!("k = {k}: a colouring that is none"));
                }
            }
            Feasibility::Infeasible(why) => {
                let _ = why.describe(&set, name);
                if k >= smallest.upper && k > 0 {
                    return Err(format!("k = {k} is called infeasible, but {} are enough", smallest.upper));
                }
            }
            Feasibility::Unknown { .. } => return Err(format!("k = {k} is not decided on {n} rows")),
        }
    }
    let k = (rng.below(2) == 0).then(|| 1 + rng.below(4));
    let treat_hard_as = (rng.below(2) == 0).then_some(1.0);
    if let Ok(mended) = repair(&set, k, &RepairOptions { treat_hard_as, ..RepairOptions::default() }) {
        let rest = mended.apply(&set);
        let closed = rest.close().map_err(|e| format!("the repaired set still contradicts itself: {e}"))?;
        if let Some(k) = k
            && !matches!(feasible(&closed, k, &options), Feasibility::Feasible(_))
        {
            return Err(format!("the repaired set is not feasible for k = {k}"));
        }
        if mended.lower_bound > mended.cost * (1.0 + 1e-9) {
            return Err(format!("repair costs {} below its bound {}", mended.cost, mended.lower_bound));
        }
        let _ = mended.describe(&set, name);
    }
    let labels: Vec<u32> = (0..n).map(|_| rng.below(3) as u32).collect();
    let violations = set.violations(&labels, 100);
    let broken =
        set.expanded().filter(|p| (labels[p.a as usize] == labels[p.b as usize]) != (p.kind == Kind::MustLink)).count()
            as u64;
    // Relations of a row with itself are not in `expanded`: a cannot-link to itself, two labels on one row.
    let own_pairs = set.pairs().iter().filter(|p| p.a == p.b && p.kind == Kind::CannotLink && p.weight > 0.0).count();
    let own_labels = set.labels().iter().filter(|l| l.weight > 0.0).map(|l| {
        let twice = |i: usize| l.rows[..i].iter().filter(|e| e.0 == l.rows[i].0 && e.1 != l.rows[i].1).count();
        (0..l.rows.len()).map(twice).sum::<usize>()
    });
    let own = (own_pairs + own_labels.sum::<usize>()) as u64;
    if violations.broken() != broken + own {
        return Err(format!("{} violations counted, {} by enumeration", violations.broken(), broken + own));
    }
    Ok(())
}
