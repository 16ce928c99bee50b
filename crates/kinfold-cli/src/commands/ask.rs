//! `kinfold ask`: questions in the terminal. Every answer is on disk before the next question is shown; the clustering goes
//! on in another thread meanwhile, so the next question does not wait for it. Answers that other processes add to
//! the file are taken in. Without a terminal, questions go to standard output and answers come as lines (y, n, u, b, q).

mod card;

use std::io::{BufRead, IsTerminal, Write};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};

use console::{Key, Term};
use kinfold::blocks::par::Pool;
use kinfold::constraints::{ConstraintSet, weight_of_confidence};
use kinfold::context::{CancelToken, RunContext};
use kinfold::pipeline::{Conduct, Dialogue, Heard, Job, Next, Reply, fit_anyway};
use kinfold::queries::{Ground, Question, Reason};
use kinfold_io::{
    AnswerOptions, AnswerRecord, AnswerWriter, DataFile, Input, Reply as Written, Strength, View, read_answers,
};

use crate::args::{AskArgs, ConstraintArgs, StrategyArgs};
use crate::failure::{Failure, INTERRUPTED, USAGE};
use crate::load;
use crate::session::{Done, Session, now, thousands};

/// A dialogue about a file, begun from the answers that are there.
pub struct Talk {
    pub dialogue: Dialogue,
    /// The answer file; `None` when none was named.
    path: Option<PathBuf>,
    /// Constraints from elsewhere: rules, labels, further answer files.
    given: ConstraintSet,
    conduct: Conduct,
}

/// One standing answer of the file: rows, reply, weight.
type Standing = (u32, u32, Reply, Option<f64>);

impl Talk {
    pub fn begin(
        session: &Session,
        file: &DataFile,
        constraints: &ConstraintArgs,
        strategy: &StrategyArgs,
    ) -> Result<Talk, Failure> {
        let (path, others) = match constraints.constraints.as_slice() {
            [] => (None, Vec::new()),
            [first, rest @ ..] => (Some(PathBuf::from(first)), rest.to_vec()),
        };
        if strategy.k.is_some_and(|k| k == 0 || k > file.n()) {
            return Err(kinfold::Error::K { k: strategy.k.unwrap_or(0), rows: file.n() }.into());
        }
        let given = load::constraints(session, &ConstraintArgs { constraints: others, ..constraints.clone() }, file)?;
        let pool = Pool::new(session.threads);
        let view = file.rows.view().map_err(|e| load::explain(e, &given, file))?;
        let ground = match view {
            View::F32(data) => Ground::new(&data, &pool),
            View::F64(data) => Ground::new(&data, &pool),
        };
        let ground = Arc::new(ground.map_err(|e| load::explain(e, &given, file))?);
        let conduct = Conduct {
            settings: strategy.settings.clone(),
            ..Conduct::new(&strategy.strategy, strategy.k, session.ctx().seed)
        };
        let dialogue = Dialogue::new(conduct.clone(), ground, given.clone())?;
        let mut talk = Talk { dialogue, path, given, conduct };
        let standing = talk.standing(session, file, constraints)?;
        talk.tell(&standing)?;
        Ok(talk)
    }

    /// Number of clusters: as given, else as many as are known to be different, at least two.
    pub fn k(&self) -> usize {
        self.conduct.k.unwrap_or_else(|| self.dialogue.known().pairwise_apart().len().max(2))
    }

    /// The standing answers of the file, unsure ones included, in its order.
    fn standing(&self, session: &Session, file: &DataFile, args: &ConstraintArgs) -> Result<Vec<Standing>, Failure> {
        let Some(path) = self.path.as_ref().filter(|p| p.exists()) else { return Ok(Vec::new()) };
        let options = AnswerOptions { skip_unknown: args.skip_unknown, threads: session.threads };
        let answers = read_answers(&Input::from_arg(path), &file.ids, &options)?;
        let mut all: Vec<(u32, Standing)> = Vec::with_capacity(answers.pairs.len() + answers.aside.len());
        for x in answers.pairs.iter().filter(|x| x.a != x.b) {
            let (kind, weight) = match x.strength() {
                Strength::Unsaid => (x.kind(), f64::INFINITY),
                Strength::Weight(w) => (x.kind(), w),
                Strength::Confidence(q) => weight_of_confidence(x.kind(), q)?,
            };
            // No information: as good as unsure.
            let reply = match (weight > 0.0, kind) {
                (false, _) => Reply::Unsure,
                (true, kinfold::constraints::Kind::MustLink) => Reply::Same,
                (true, kinfold::constraints::Kind::CannotLink) => Reply::Different,
            };
            all.push((x.line, (x.a, x.b, reply, weight.is_finite().then_some(weight))));
        }
        all.extend(answers.aside.iter().map(|x| (x.line, (x.a, x.b, Reply::Unsure, None))));
        all.sort_by_key(|x| x.0);
        Ok(all.into_iter().map(|x| x.1).collect())
    }

    fn tell(&mut self, standing: &[Standing]) -> Result<(), Failure> {
        for &(a, b, reply, weight) in standing {
            self.dialogue.tell(a as usize, b as usize, reply, weight)?;
        }
        Ok(())
    }

    /// Takes in what others wrote: new answers one by one; anything else means to begin again from the file.
    fn catch_up(&mut self, standing: &[Standing]) -> Result<(), Failure> {
        let log = self.dialogue.log();
        let same = |x: &kinfold::pipeline::Answered, s: &Standing| (x.a, x.b, x.reply) == (s.0, s.1, s.2);
        if standing.len() >= log.len() && log.iter().zip(standing).all(|(x, s)| same(x, s)) {
            let new = standing[log.len()..].to_vec();
            return self.tell(&new);
        }
        let partition = self.dialogue.partition().cloned();
        let ground = self.dialogue.ground().clone();
        self.dialogue = Dialogue::new(self.conduct.clone(), ground, self.given.clone())?;
        self.tell(standing)?;
        if let Some(partition) = partition {
            self.dialogue.give_partition(partition.labels, partition.answers.min(self.dialogue.known().answers()))?;
        }
        Ok(())
    }
}

/// Clusters a file under answers, whatever they are.
pub fn fit(
    ctx: &RunContext,
    method: &str,
    k: usize,
    file: &DataFile,
    set: &ConstraintSet,
) -> Result<Vec<u32>, Failure> {
    let job = Job::new(method, k);
    let labels = match file.rows.view() {
        Ok(View::F32(data)) => fit_anyway(&job, ctx, &data, set),
        Ok(View::F64(data)) => fit_anyway(&job, ctx, &data, set),
        Err(e) => Err(e),
    };
    labels.map_err(|e| load::explain(e, set, file))
}

/// The clustering in another thread, at most one at a time.
struct Background {
    #[allow(clippy::type_complexity)]
    results: Option<Receiver<(u64, Result<Vec<u32>, Failure>)>>,
    cancel: CancelToken,
    method: String,
    threads: usize,
    seed: u64,
}

impl Background {
    fn start(&mut self, file: &Arc<DataFile>, ground: &Arc<Ground>, k: usize, set: ConstraintSet, answers: u64) {
        if self.results.is_some() {
            return;
        }
        let (sender, receiver) = channel();
        let (file, ground, method) = (file.clone(), ground.clone(), self.method.clone());
        let ctx = RunContext::new(self.seed).with_threads(self.threads).with_cancel(self.cancel.clone());
        std::thread::spawn(move || {
            let labels = fit(&ctx, &method, k, &file, &set);
            // Ahead of the question that will want it.
            labels.iter().for_each(|labels| drop(ground.imitation(labels)));
            // Nobody listens any more when the session has ended.
            let _ = sender.send((answers, labels));
        });
        self.results = Some(receiver);
    }
    fn finished(&mut self) -> Option<(u64, Result<Vec<u32>, Failure>)> {
        let done = self.results.as_ref()?.try_recv().ok()?;
        self.results = None;
        Some(done)
    }
}

/// What the person pressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Pressed {
    Answer(Reply),
    Undo,
    Quit,
    Interrupted,
    Other,
}

/// Where questions go and answers come from.
enum Screen {
    Terminal(Term),
    Lines(std::io::StdinLock<'static>),
}

impl Screen {
    fn read(&mut self) -> Pressed {
        match self {
            Screen::Terminal(term) => match term.read_key() {
                Ok(Key::Char('y' | 'Y' | 's')) => Pressed::Answer(Reply::Same),
                Ok(Key::Char('n' | 'N' | 'd')) => Pressed::Answer(Reply::Different),
                Ok(Key::Char('u' | 'U' | '?')) => Pressed::Answer(Reply::Unsure),
                Ok(Key::Backspace | Key::Char('b' | '\u{8}' | '\u{7f}')) => Pressed::Undo,
                Ok(Key::Char('q' | 'Q') | Key::Escape) => Pressed::Quit,
                Ok(Key::CtrlC) => Pressed::Interrupted,
                Ok(_) => Pressed::Other,
                Err(_) => Pressed::Interrupted,
            },
            Screen::Lines(input) => {
                let mut line = String::new();
                match input.read_line(&mut line) {
                    Ok(0) | Err(_) => Pressed::Quit,
                    Ok(_) => match (line.trim(), Written::parse(&line)) {
                        ("q" | "quit", _) => Pressed::Quit,
                        ("b" | "back", _) | (_, Some(Written::Undo)) => Pressed::Undo,
                        (_, Some(Written::Same)) => Pressed::Answer(Reply::Same),
                        (_, Some(Written::Different)) => Pressed::Answer(Reply::Different),
                        (_, Some(Written::Unsure)) => Pressed::Answer(Reply::Unsure),
                        _ => Pressed::Other,
                    },
                }
            }
        }
    }
}

struct Asking<'a> {
    session: &'a Session,
    args: &'a AskArgs,
    file: Arc<DataFile>,
    talk: Talk,
    writer: AnswerWriter,
    background: Background,
    screen: Screen,
    columns: card::Columns,
    /// What to tell below the next question.
    note: String,
}

pub fn run(session: &Session, args: &AskArgs) -> Done {
    let Some(answers) = args.constraints.constraints.first() else {
        return Err(Failure::new(USAGE, "name the answer file")
            .hint("kinfold ask DATA -c answers.csv; it is created if needed"));
    };
    if args.data.data == "-" {
        return Err(Failure::new(USAGE, "the data cannot come from standard input: answers do")
            .hint("save the table to a file"));
    }
    kinfold::methods::find(&args.strategy.method)?;
    kinfold::queries::find(&args.strategy.strategy)?;
    let file = Arc::new(load::whole_table(session, &args.data.data, &args.data.columns, &args.constraints)?);
    let mut writer = AnswerWriter::open(answers)?;
    if let Some(repair) = writer.repair() {
        session.say(match repair {
            kinfold_io::Repair::Completed => format!("{answers}: the last line was whole but for its line end"),
            kinfold_io::Repair::Cut(lost) => format!("{answers}: a torn last line was cut off: {lost}"),
        });
    }
    let talk = writer.while_locked(|| Talk::begin(session, &file, &args.constraints, &args.strategy))??;
    writer.seen();
    let columns = card::Columns::new(&file, args.show.as_deref())?;
    let term = Term::stdout();
    let interactive = std::io::stdin().is_terminal() && term.is_term();
    let screen = if interactive { Screen::Terminal(term) } else { Screen::Lines(std::io::stdin().lock()) };
    let cores = std::thread::available_parallelism().map_or(1, |n| n.get());
    let background = Background {
        results: None,
        cancel: CancelToken::new(),
        method: args.strategy.method.clone(),
        // One core is kept free for the person.
        threads: if session.threads > 0 { session.threads } else { cores.saturating_sub(1).max(1) },
        seed: session.ctx().seed,
    };
    let mut asking = Asking { session, args, file, talk, writer, background, screen, columns, note: String::new() };
    let done = asking.converse();
    asking.background.cancel.cancel();
    asking.farewell();
    done
}

impl Asking<'_> {
    fn converse(&mut self) -> Done {
        let mut answered = 0;
        loop {
            self.take_in()?;
            if self.args.budget.is_some_and(|b| answered >= b) {
                self.note = Reason::Budget.to_string();
                return Ok(0);
            }
            let question = match self.talk.dialogue.next()? {
                Next::Ask(question) => question,
                Next::Refit => {
                    if !self.args.no_refit {
                        let set = self.talk.dialogue.constraints()?;
                        let (dialogue, k) = (&self.talk.dialogue, self.talk.k());
                        self.background.start(&self.file, dialogue.ground(), k, set, dialogue.known().answers());
                    }
                    self.talk.dialogue.decline();
                    continue;
                }
                Next::Done(reason) => {
                    self.note = format!("nothing is left to ask: {reason}");
                    return Ok(0);
                }
            };
            self.show(&question)?;
            match self.screen.read() {
                Pressed::Answer(reply) => {
                    self.answer(&question, reply)?;
                    answered += 1;
                }
                Pressed::Undo => {
                    self.undo()?;
                    answered = answered.saturating_sub(1);
                }
                Pressed::Quit => return Ok(0),
                Pressed::Interrupted => return Ok(INTERRUPTED),
                Pressed::Other => self.note = "press y, n, u, Backspace or q".to_owned(),
            }
            if self.session.interrupted() {
                return Ok(INTERRUPTED);
            }
        }
    }

    /// A finished clustering, and what others wrote to the file.
    fn take_in(&mut self) -> Result<(), Failure> {
        match self.background.finished() {
            Some((answers, Ok(labels))) => self.talk.dialogue.give_partition(labels, answers)?,
            Some((_, Err(failure))) => self.note = format!("clustering failed: {}", failure.message),
            None => {}
        }
        if self.writer.changed() {
            let (talk, session, file, args) = (&self.talk, self.session, &self.file, &self.args.constraints);
            let standing = self.writer.while_locked(|| talk.standing(session, file, args))??;
            self.writer.seen();
            let before = self.talk.dialogue.progress().conflicts;
            self.talk.catch_up(&standing)?;
            self.note = "answers of others were taken in".to_owned();
            let conflict = self.talk.dialogue.log().iter().rev().find(|x| x.conflict).copied();
            if let Some(x) = conflict.filter(|_| self.talk.dialogue.progress().conflicts > before) {
                let id = |row: u32| self.file.ids.get(row as usize).into_owned();
                let chain = self.talk.dialogue.why(x.a as usize, x.b as usize, id)?.unwrap_or_default();
                self.note =
                    format!("somebody contradicts what was said before about {} and {}: {chain}", id(x.a), id(x.b));
            }
        }
        Ok(())
    }

    fn answer(&mut self, question: &Question, reply: Reply) -> Result<(), Failure> {
        let (a, b) = (question.a as usize, question.b as usize);
        let written = match reply {
            Reply::Same => Written::Same,
            Reply::Different => Written::Different,
            Reply::Unsure => Written::Unsure,
        };
        self.write(a, b, written)?;
        let before = self.talk.dialogue.why(a, b, |row| self.file.ids.get(row as usize).into_owned())?;
        let heard = self.talk.dialogue.tell(a, b, reply, None)?;
        self.note = match heard {
            Heard::New { entailed: 0 } | Heard::Known => String::new(),
            Heard::New { entailed: 1 } => "one more answer follows from that".to_owned(),
            Heard::New { entailed } => format!("{} more answers follow from that", thousands(entailed)),
            Heard::Aside => "put aside; this pair will not be asked again".to_owned(),
            Heard::Conflict { chain, .. } => {
                format!("that contradicts what was said before: {} (Backspace takes it back)", before.unwrap_or(chain))
            }
        };
        Ok(())
    }

    fn undo(&mut self) -> Result<(), Failure> {
        let Some(taken) = self.talk.dialogue.undo()? else {
            self.note = "there is nothing to take back".to_owned();
            return Ok(());
        };
        self.write(taken.a as usize, taken.b as usize, Written::Undo)?;
        let id = |row: u32| self.file.ids.get(row as usize).into_owned();
        self.note = format!("taken back: {} and {}", id(taken.a), id(taken.b));
        Ok(())
    }

    /// On disk when this returns.
    fn write(&mut self, a: usize, b: usize, reply: Written) -> Result<(), Failure> {
        let (a, b, when) = (self.file.ids.get(a), self.file.ids.get(b), now());
        let record =
            AnswerRecord { source: "ask", who: &self.args.who, when: &when, ..AnswerRecord::new(&a, &b, reply) };
        Ok(self.writer.append(&record)?)
    }

    fn show(&mut self, question: &Question) -> Result<(), Failure> {
        let id = |row: u32| self.file.ids.get(row as usize).into_owned();
        let why = question.why(id);
        match &self.screen {
            Screen::Lines(_) => {
                let mut out = std::io::stdout().lock();
                writeln!(out, "{}\t{}\t{why}", id(question.a), id(question.b))?;
                out.flush()?;
            }
            Screen::Terminal(term) => {
                let (height, width) = term.size();
                let progress = self.talk.dialogue.progress();
                let lines = card::screen(
                    &self.file,
                    &self.columns,
                    (question.a, question.b),
                    &why,
                    &card::status(&self.file.source, &progress),
                    &self.note,
                    &card::advice(&progress),
                    (width as usize, height as usize),
                    self.background.results.is_some(),
                );
                let mut text = String::from("\x1b[H\x1b[2J");
                text += &lines.join("\r\n");
                let mut out = std::io::stdout().lock();
                out.write_all(text.as_bytes())?;
                out.flush()?;
            }
        }
        self.note.clear();
        Ok(())
    }

    fn farewell(&self) {
        if let Screen::Terminal(term) = &self.screen {
            let _ = term.clear_screen();
        }
        let progress = self.talk.dialogue.progress();
        if !self.note.is_empty() {
            self.session.say(&self.note);
        }
        let file = self.args.constraints.constraints.first().map_or("", String::as_str);
        let saved = format!("{}; everything is in {file}", card::status(&self.file.source, &progress));
        self.session.say(saved);
        let k = self.talk.conduct.k.map_or("K".to_owned(), |k| k.to_string());
        self.session.say(format!("next: kinfold cluster {} -c {file} -k {k}", self.args.data.data));
    }
}
