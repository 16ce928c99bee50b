//! Asking and answering: a strategy, what is known, the log, and undo. Whatever answers (a person, a program, an oracle) calls
//! [`Dialogue::next`] and [`Dialogue::answer`]; a wish for a clustering is met with [`Dialogue::give_partition`], now or
//! later from another thread, or declined. Nothing that is known or entailed is ever asked; an answer that contradicts what
//! is known changes nothing and is explained. All of it can be saved between any two steps ([`Saved`]).

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::constraints::{Added, ConstraintSet, Entailed, Kind, Origin, PathRule};
use crate::error::{Error, Result};
use crate::queries::{self, AnyQuery, Ground, Known, Partition, Question, Reason, Sight, State, Step};

/// What somebody says about a pair.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Reply {
    /// They belong together.
    Same,
    /// They do not.
    Different,
    /// Nobody knows: no constraint, and the pair is not asked again.
    Unsure,
}

/// One answer in the log.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Answered {
    /// One row.
    pub a: u32,
    /// The other.
    pub b: u32,
    /// What was said.
    pub reply: Reply,
    /// Did it contradict what was known? Then it is kept here and in the constraints, but concluded from no further.
    pub conflict: bool,
    /// What breaking it costs; `None` = hard.
    pub weight: Option<f64>,
    /// Was it asked by the strategy?
    pub asked: bool,
    /// What the latest clustering would have said.
    pub predicted: Option<Reply>,
}

/// What an answer did.
#[derive(Debug, Clone, PartialEq)]
pub enum Heard {
    /// New; this many further pairs of rows are known through it.
    New {
        /// Pairs entailed beside the answered one.
        entailed: u64,
    },
    /// It followed already.
    Known,
    /// Unsure: put aside.
    Aside,
    /// It contradicts what is known: the chain that says so, with rows spelt by number.
    Conflict {
        /// `3 = 5 [pair #0] ≠ 7 [pair #1]`.
        chain: String,
        /// The rows along the chain.
        rows: Vec<u32>,
    },
}

/// How a dialogue is going.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize)]
pub struct Progress {
    /// Questions answered.
    pub asked: u64,
    /// Answers *unsure*.
    pub unsure: u64,
    /// Answers that contradicted what was known.
    pub conflicts: u64,
    /// Pairs of rows known to be the same.
    pub same: u64,
    /// Pairs of rows known to be different.
    pub different: u64,
    /// Pairs known without having been asked.
    pub saved: u64,
    /// Share of rows that kept their cluster in the latest clustering; `None` before the second.
    pub stability: Option<f64>,
    /// Share of the last answers (up to twenty) that the clustering at the time had right.
    pub foreseen: Option<f64>,
    /// About how many questions are left until the clustering stops changing; `None` while nobody can tell.
    pub left: Option<u64>,
    /// Is this a good time to stop?
    pub stop: bool,
}

/// What comes next.
#[derive(Debug, Clone, PartialEq)]
pub enum Next {
    /// This question.
    Ask(Question),
    /// A clustering is wanted: give it or decline.
    Refit,
    /// Nothing more.
    Done(Reason),
}

/// Everything that is needed to go on later, beside the rows and the given constraints.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Saved {
    /// Version of this form.
    pub version: u32,
    /// The strategy's name.
    pub strategy: String,
    /// Its settings.
    pub settings: Vec<(String, String)>,
    /// The seed.
    pub seed: u64,
    /// Number of clusters, if somebody said so.
    pub k: Option<usize>,
    /// Fingerprint of the rows.
    pub rows: u64,
    /// What was answered.
    pub log: Vec<Answered>,
    /// The latest clustering.
    pub partition: Option<Partition>,
    /// What the strategy remembers.
    pub state: State,
    /// The open question.
    pub open: Option<Question>,
    /// Share of rows that kept their cluster, for each new clustering, with the number of answers.
    pub kept: Vec<(u64, f64)>,
}

/// How to conduct a dialogue.
#[derive(Debug, Clone, PartialEq)]
pub struct Conduct {
    /// Name of the strategy.
    pub strategy: String,
    /// `name = value` settings of it.
    pub settings: Vec<(String, String)>,
    /// Number of clusters, if somebody said so.
    pub k: Option<usize>,
    /// The seed.
    pub seed: u64,
}

impl Conduct {
    /// A strategy with default settings.
    pub fn new(strategy: &str, k: Option<usize>, seed: u64) -> Conduct {
        Conduct { strategy: strategy.to_owned(), settings: Vec::new(), k, seed }
    }
}

/// Before an answer: what undo goes back to.
#[derive(Clone)]
struct Before {
    state: Arc<State>,
    open: Option<Question>,
    log: usize,
}

/// A dialogue under way.
pub struct Dialogue {
    conduct: Conduct,
    strategy: Box<dyn AnyQuery>,
    ground: Arc<Ground>,
    given: ConstraintSet,
    known: Known,
    state: State,
    open: Option<Question>,
    log: Vec<Answered>,
    before: Vec<Before>,
    partition: Option<Partition>,
    declined_at: Option<u64>,
    kept: Vec<(u64, f64)>,
}

const VERSION: u32 = 1;
/// Answers looked back on.
const RECENT: usize = 20;
/// Share of rows that may still move when it is time to stop.
const CALM: f64 = 0.01;

impl Dialogue {
    /// Begins; `given` is what is known already.
    pub fn new(conduct: Conduct, ground: Arc<Ground>, given: ConstraintSet) -> Result<Dialogue> {
        let strategy = (queries::find(&conduct.strategy)?.build)(&conduct.settings)?;
        if given.n() != ground.n() {
            return Err(Error::Parameter(format!(
                "constraints on {} rows were given for {} rows",
                given.n(),
                ground.n()
            )));
        }
        let known = Known::from_given(&given)?;
        Ok(Dialogue {
            conduct,
            strategy,
            ground,
            given,
            known,
            state: State::default(),
            open: None,
            log: Vec::new(),
            before: Vec::new(),
            partition: None,
            declined_at: None,
            kept: Vec::new(),
        })
    }

    /// Goes on from what was saved.
    pub fn resume(saved: Saved, ground: Arc<Ground>, given: ConstraintSet) -> Result<Dialogue> {
        if saved.version != VERSION {
            return Err(Error::Parameter(format!("a dialogue of version {} cannot be read", saved.version)));
        }
        if saved.rows != ground.fingerprint() {
            return Err(Error::Parameter("the dialogue was saved with other rows".into()));
        }
        let n = ground.n() as u32;
        let rows_exist = saved.log.iter().all(|x| x.a < n && x.b < n)
            && saved.partition.as_ref().is_none_or(|p| p.labels.len() == n as usize);
        if !rows_exist {
            return Err(Error::Parameter("the saved dialogue names rows that do not exist".into()));
        }
        let conduct = Conduct { strategy: saved.strategy, settings: saved.settings, k: saved.k, seed: saved.seed };
        let mut dialogue = Dialogue::new(conduct, ground, given)?;
        dialogue.log = saved.log;
        dialogue.known = dialogue.replayed()?;
        (dialogue.state, dialogue.open, dialogue.partition) = (saved.state, saved.open, saved.partition);
        dialogue.kept = saved.kept;
        Ok(dialogue)
    }

    /// All of it as plain data.
    pub fn save(&self) -> Saved {
        Saved {
            version: VERSION,
            strategy: self.conduct.strategy.clone(),
            settings: self.conduct.settings.clone(),
            seed: self.conduct.seed,
            k: self.conduct.k,
            rows: self.ground.fingerprint(),
            log: self.log.clone(),
            partition: self.partition.clone(),
            state: self.state.clone(),
            open: self.open.clone(),
            kept: self.kept.clone(),
        }
    }

    /// What is known.
    pub fn known(&self) -> &Known {
        &self.known
    }
    /// The rows.
    pub fn ground(&self) -> &Arc<Ground> {
        &self.ground
    }
    /// The answers so far.
    pub fn log(&self) -> &[Answered] {
        &self.log
    }
    /// The latest clustering.
    pub fn partition(&self) -> Option<&Partition> {
        self.partition.as_ref()
    }
    /// Number of clusters, if somebody said so.
    pub fn k(&self) -> Option<usize> {
        self.conduct.k
    }

    /// What comes next. Asked again without an answer it says the same.
    pub fn next(&mut self) -> Result<Next> {
        if let Some(open) = &self.open {
            return Ok(Next::Ask(open.clone()));
        }
        let sight = Sight {
            ground: &self.ground,
            known: &self.known,
            k: self.conduct.k,
            partition: self.partition.as_ref(),
            can_refit: self.declined_at != Some(self.known.answers()),
            seed: self.conduct.seed,
        };
        match self.strategy.step(&sight, &mut self.state)? {
            Step::Refit if sight.can_refit => Ok(Next::Refit),
            Step::Refit => {
                Err(Error::Parameter(format!("{} waits for a clustering that was declined", self.conduct.strategy)))
            }
            Step::Done(reason) => Ok(Next::Done(reason)),
            Step::Ask(question) => {
                let (a, b) = (question.a as usize, question.b as usize);
                if !self.known.askable_again(a, b) {
                    return Err(Error::Parameter(format!(
                        "{} asks what is known: rows {a} and {b}",
                        self.conduct.strategy
                    )));
                }
                self.open = Some(question.clone());
                Ok(Next::Ask(question))
            }
        }
    }

    /// A clustering of all rows under the answers so far, or as they were when it was begun.
    pub fn give_partition(&mut self, labels: Vec<u32>, answers: u64) -> Result<()> {
        if labels.len() != self.ground.n() {
            return Err(Error::Parameter(format!("{} labels were given for {} rows", labels.len(), self.ground.n())));
        }
        if let Some(old) = &self.partition {
            self.kept.push((answers, agreement(&old.labels, &labels)));
        }
        self.partition = Some(Partition { labels, answers });
        Ok(())
    }

    /// No clustering now: the strategy goes on with what it has until the next answer.
    pub fn decline(&mut self) {
        self.declined_at = Some(self.known.answers());
    }

    /// An answer to the open question.
    pub fn answer(&mut self, reply: Reply) -> Result<Heard> {
        let Some(open) = self.open.clone() else {
            return Err(Error::Parameter("there is no open question".into()));
        };
        self.hear(open.a as usize, open.b as usize, reply, None, true)
    }

    /// An answer about any pair, asked or not.
    pub fn tell(&mut self, a: usize, b: usize, reply: Reply, weight: Option<f64>) -> Result<Heard> {
        let n = self.ground.n();
        if a.max(b) >= n {
            return Err(Error::NoSuchRow { row: a.max(b), rows: n });
        }
        let asked =
            self.open.as_ref().is_some_and(|q| (q.a.min(q.b), q.a.max(q.b)) == (a.min(b) as u32, a.max(b) as u32));
        self.hear(a, b, reply, weight, asked)
    }

    fn hear(&mut self, a: usize, b: usize, reply: Reply, weight: Option<f64>, asked: bool) -> Result<Heard> {
        let before = Before { state: Arc::new(self.state.clone()), open: self.open.clone(), log: self.log.len() };
        let predicted =
            self.partition.as_ref().map(|p| if p.labels[a] == p.labels[b] { Reply::Same } else { Reply::Different });
        let (same, different) = self.known.entailed();
        let heard = match reply {
            Reply::Unsure => {
                self.known.add_unsure(a, b);
                Heard::Aside
            }
            Reply::Same | Reply::Different => {
                let kind = if reply == Reply::Same { Kind::MustLink } else { Kind::CannotLink };
                match self.known.add(kind, a, b) {
                    Added::New => {
                        let now = self.known.entailed();
                        Heard::New { entailed: now.0 + now.1 - same - different - 1 }
                    }
                    Added::Known => Heard::Known,
                    Added::Conflict => self.explain(a, b)?,
                }
            }
        };
        let conflict = matches!(heard, Heard::Conflict { .. });
        self.log.push(Answered { a: a as u32, b: b as u32, reply, conflict, weight, asked, predicted });
        self.before.push(before);
        // The open question may have been answered, or have become known on the way.
        let still = self.open.as_ref().is_some_and(|q| self.known.askable_again(q.a as usize, q.b as usize));
        if asked || !still {
            self.open = None;
        }
        Ok(heard)
    }

    fn explain(&self, a: usize, b: usize) -> Result<Heard> {
        let set = self.standing()?;
        let (chunklets, _) = set.close_lenient(0.0)?;
        let why = set.explain(&chunklets, a, b, 0.0, PathRule::Fewest);
        Ok(Heard::Conflict { chain: why.describe(&set, |row| row.to_string()), rows: why.points })
    }

    /// Takes the last answer back; the question it answered is open again. `None` when there is none.
    pub fn undo(&mut self) -> Result<Option<Answered>> {
        let Some(before) = self.before.pop() else {
            // Answers of an earlier session: only what is known changes.
            let taken = self.log.pop();
            if taken.is_some() {
                self.open = None;
                self.known = self.replayed()?;
            }
            return Ok(taken);
        };
        let taken = self.log.get(before.log).copied();
        self.log.truncate(before.log);
        self.known = self.replayed()?;
        (self.state, self.open) = (Arc::unwrap_or_clone(before.state), before.open);
        Ok(taken)
    }

    fn replayed(&self) -> Result<Known> {
        let mut known = Known::from_given(&self.given)?;
        for x in &self.log {
            match x.reply {
                Reply::Same => drop(known.add(Kind::MustLink, x.a as usize, x.b as usize)),
                Reply::Different => drop(known.add(Kind::CannotLink, x.a as usize, x.b as usize)),
                Reply::Unsure => known.add_unsure(x.a as usize, x.b as usize),
            }
        }
        Ok(known)
    }

    /// Given constraints and answers, contradictions included.
    pub fn constraints(&self) -> Result<ConstraintSet> {
        self.collect(true)
    }
    /// Without the answers that contradict earlier ones.
    pub fn standing(&self) -> Result<ConstraintSet> {
        self.collect(false)
    }
    fn collect(&self, conflicts: bool) -> Result<ConstraintSet> {
        let mut set = self.given.clone();
        let source = set.add_source("answer");
        for (at, x) in self.log.iter().enumerate().filter(|(_, x)| conflicts || !x.conflict) {
            let kind = match x.reply {
                Reply::Same => Kind::MustLink,
                Reply::Different => Kind::CannotLink,
                Reply::Unsure => continue,
            };
            let origin = Origin { source, line: at as u32 + 1 };
            set.add_weighted_pair(kind, x.a as usize, x.b as usize, x.weight.unwrap_or(f64::INFINITY), origin)?;
        }
        Ok(set)
    }

    /// How it is going.
    pub fn progress(&self) -> Progress {
        let (same, different) = self.known.entailed();
        let count = |test: fn(&Answered) -> bool| self.log.iter().filter(|x| test(x)).count() as u64;
        let asked = self.log.len() as u64;
        let told = count(|x| x.reply != Reply::Unsure && !x.conflict);
        let recent: Vec<bool> = self
            .log
            .iter()
            .rev()
            .filter(|x| x.reply != Reply::Unsure)
            .filter_map(|x| x.predicted.map(|p| p == x.reply))
            .take(RECENT)
            .collect();
        let share = recent.iter().filter(|x| **x).count() as f64 / recent.len().max(1) as f64;
        let foreseen = (recent.len() >= RECENT / 2).then_some(share);
        let stability = self.kept.last().map(|k| k.1);
        let calm = self.kept.len() >= 3 && self.kept[self.kept.len() - 3..].iter().all(|k| 1.0 - k.1 <= CALM);
        Progress {
            asked,
            unsure: count(|x| x.reply == Reply::Unsure),
            conflicts: count(|x| x.conflict),
            same,
            different,
            saved: (same + different).saturating_sub(told + self.given.pairs().len() as u64),
            stability,
            foreseen,
            left: if self.known.resolved() { Some(0) } else { self.left() },
            stop: self.known.resolved() || calm && foreseen.is_some_and(|f| f >= 0.9),
        }
    }

    /// Extrapolates how the share of moved rows falls from clustering to clustering (a straight line through its logarithm).
    fn left(&self) -> Option<u64> {
        let from = self.kept.len().saturating_sub(8);
        let points: Vec<(f64, f64)> =
            self.kept[from..].iter().map(|&(at, kept)| (at as f64, (1.0 - kept).max(CALM / 4.0).ln())).collect();
        if points.len() < 4 {
            return None;
        }
        let n = points.len() as f64;
        let (mx, my) = (points.iter().map(|p| p.0).sum::<f64>() / n, points.iter().map(|p| p.1).sum::<f64>() / n);
        let sxx: f64 = points.iter().map(|p| (p.0 - mx).powi(2)).sum();
        let sxy: f64 = points.iter().map(|p| (p.0 - mx) * (p.1 - my)).sum();
        let now = self.known.answers() as f64;
        let slope = if sxx > 0.0 { sxy / sxx } else { 0.0 };
        let level = my + slope * (now - mx);
        let bound = self.bound();
        if level <= CALM.ln() {
            return Some(0);
        }
        // A line that does not fall says only that everything would have to be asked.
        if slope >= -1e-4 { None } else { Some((((CALM.ln() - level) / slope).ceil() as u64).min(bound)) }
    }

    /// Questions that pin every row down at the least, from here: joins and one difference per pair of clusters.
    fn bound(&self) -> u64 {
        let k = self.conduct.k.unwrap_or(2) as u64;
        (self.known.groups() as u64).saturating_sub(k) + k * k.saturating_sub(1) / 2
    }

    /// Up to `count` questions at once: each is chosen as if the likelier answer to those before had been given.
    pub fn batch(&mut self, count: usize) -> Result<Vec<Question>> {
        let mut ahead = Dialogue::resume(self.save(), self.ground.clone(), self.given.clone())?;
        ahead.declined_at = self.declined_at;
        let mut questions = Vec::new();
        while questions.len() < count {
            match ahead.next()? {
                Next::Done(_) => break,
                Next::Refit => ahead.decline(),
                Next::Ask(question) => {
                    let likely = question.probability_same.is_some_and(|p| p >= 0.5);
                    ahead.answer(if likely { Reply::Same } else { Reply::Different })?;
                    questions.push(question);
                }
            }
        }
        Ok(questions)
    }

    /// The chain of answers from which follows what is known about two rows, spelt by `name`; `None` when nothing is.
    pub fn why(&self, a: usize, b: usize, name: impl Fn(u32) -> String) -> Result<Option<String>> {
        if self.known.entails(a, b) == Entailed::Unknown {
            return Ok(None);
        }
        let set = self.standing()?;
        let (chunklets, _) = set.close_lenient(0.0)?;
        Ok(Some(set.explain(&chunklets, a, b, 0.0, PathRule::Fewest).describe(&set, name)))
    }
}

/// Share of rows whose clusters match, best one-to-one matching.
fn agreement(old: &[u32], new: &[u32]) -> f64 {
    let k = new.iter().max().map_or(1, |&m| m as usize + 1);
    let mut renamed = new.to_vec();
    let previous: Vec<Option<u32>> = old.iter().map(|&l| Some(l)).collect();
    super::keep_ids(&mut renamed, k, &previous);
    renamed.iter().zip(old).filter(|(a, b)| a == b).count() as f64 / old.len().max(1) as f64
}
