//! Query strategies: which pair to ask about next. One file each, one line each in [`QUERIES`]. A strategy is a recipe;
//! its [`State`] is plain data that can be saved between any two steps. It never sees an oracle, a budget or a clock, and
//! learns of answers only through [`Known`]: so it can be resumed, driven by a person or a program, and survives answers
//! that it did not ask for, *unsure* ones and wrong ones.

mod apc;
mod apc_filter;
mod assoc;
mod auto;
mod cobra;
mod cobras;
mod explore_consolidate;
mod fass;
mod ground;
mod knn_graph;
mod known;
mod labels;
mod min_max;
mod npu;
mod place;
mod random;
mod supers;
#[cfg(test)]
mod tests;

pub use apc_filter::{ApcFilter, ApcMode, ApcRule, Kept, SelectFill, apc_filter, apc_select};
pub use ground::Ground;
pub use known::Known;
pub use place::Placing;

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::methods::closest;
use crate::params::{Parameter, Params};
use crate::rng::Rng;

/// A pair to be asked.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Question {
    /// One row.
    pub a: u32,
    /// The other row.
    pub b: u32,
    /// Why this pair, in one line; `{a}` and `{b}` stand for the two rows ([`Question::why`]).
    pub why: String,
    /// How much it is worth to the strategy; only differences within a strategy mean something.
    pub score: f64,
    /// The strategy's own estimate of the probability that they are the same.
    pub probability_same: Option<f64>,
}

impl Question {
    fn new(a: usize, b: usize, why: impl Into<String>) -> Question {
        Question { a: a as u32, b: b as u32, why: why.into(), score: 0.0, probability_same: None }
    }
}

impl Question {
    /// Why this pair, rows spelt by `name`.
    pub fn why(&self, name: impl Fn(u32) -> String) -> String {
        self.why.replace("{a}", &name(self.a)).replace("{b}", &name(self.b))
    }
}

/// Why there is no further question.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Reason {
    /// Every pair of rows is known.
    Resolved,
    /// The strategy has no pair left that it would ask.
    Exhausted,
    /// As many questions as were allowed.
    Budget,
}

impl std::fmt::Display for Reason {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Reason::Resolved => "every pair is known",
            Reason::Exhausted => "no pair is left to ask",
            Reason::Budget => "the budget is spent",
        })
    }
}

/// What a strategy wants.
#[derive(Debug, Clone, PartialEq)]
pub enum Step {
    /// An answer to this.
    Ask(Question),
    /// A clustering under the answers so far. Where none can be had it goes on without ([`Sight::can_refit`]).
    Refit,
    /// Nothing more.
    Done(Reason),
}

/// A clustering that somebody made for the strategy.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Partition {
    /// Cluster of every row, from 0.
    pub labels: Vec<u32>,
    /// Answers that were taken in when it was asked for.
    pub answers: u64,
}

/// All that a strategy may look at.
#[derive(Clone, Copy)]
pub struct Sight<'a> {
    /// The rows.
    pub ground: &'a Ground,
    /// What is known.
    pub known: &'a Known,
    /// Number of clusters, if somebody said so.
    pub k: Option<usize>,
    /// The latest clustering.
    pub partition: Option<&'a Partition>,
    /// Would asking for a clustering help now?
    pub can_refit: bool,
    /// All randomness comes from this number.
    pub seed: u64,
}

impl Sight<'_> {
    /// A random stream for this use at this point of the dialogue.
    fn rng(&self, name: &str) -> Rng {
        Rng::stream(self.seed, name, self.known.answers())
    }
    fn n(&self) -> usize {
        self.known.n()
    }
    /// Nothing askable is left.
    fn nothing_left(&self) -> Step {
        Step::Done(if self.known.resolved() { Reason::Resolved } else { Reason::Exhausted })
    }
    /// Does the latest clustering lie `every` answers back, and can a new one be had?
    fn stale(&self, every: u64) -> bool {
        self.can_refit && self.partition.is_none_or(|p| self.known.answers() >= p.answers + every)
    }
}

/// What a strategy remembers between steps: plain data, each strategy uses the parts it needs.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct State {
    /// Were the given constraints looked at?
    pub started: bool,
    /// One row of each neighbourhood: chunklets taken to be pairwise different.
    pub heads: Vec<u32>,
    /// The row that is being placed.
    pub placing: Option<Placing>,
    /// Rows that were traversed or given up, in order.
    pub passed: Vec<u32>,
    /// Rows that k alone puts into the neighbourhood of a head. Steers questions, is never output.
    pub assumed: Vec<(u32, u32)>,
    /// More neighbourhoods than k were found.
    pub more_than_k: bool,
    /// Rows to come.
    pub queue: Vec<u32>,
    /// Pairs to come or put aside.
    pub pairs: Vec<(u32, u32)>,
    /// Cells of rows (super-instances).
    pub cells: Vec<Vec<u32>>,
    /// Which phase.
    pub phase: u32,
    /// Small counts of the strategy's own.
    pub counts: Vec<u64>,
    /// Small numbers of the strategy's own.
    pub numbers: Vec<f64>,
}

/// A query strategy: what an author writes.
pub trait QueryStrategy: Send + Sync {
    /// Its parameters.
    type Params: Params;
    /// The table entry.
    const INFO: Info;

    /// Makes the strategy from checked parameters.
    fn new(params: Self::Params) -> Result<Self>
    where
        Self: Sized;

    /// The next step. Asked again without an answer in between it may be asked from the same state.
    fn step(&self, sight: &Sight<'_>, state: &mut State) -> Result<Step>;
}

/// What a table entry says about a strategy.
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize)]
pub struct Info {
    /// Its name.
    pub name: &'static str,
    /// One line.
    pub summary: &'static str,
    /// Where it comes from.
    pub paper: &'static str,
    /// Does it look at clusterings?
    pub refits: bool,
    /// What k is to it.
    pub k: &'static str,
    /// Cost per question.
    pub cost: &'static str,
}

/// A strategy without its type: what the table gives out.
pub trait AnyQuery: Send + Sync {
    /// The table entry.
    fn info(&self) -> &'static Info;
    /// [`QueryStrategy::step`].
    fn step(&self, sight: &Sight<'_>, state: &mut State) -> Result<Step>;
}

impl<Q: QueryStrategy> AnyQuery for Q {
    fn info(&self) -> &'static Info {
        const { &Q::INFO }
    }
    fn step(&self, sight: &Sight<'_>, state: &mut State) -> Result<Step> {
        if sight.known.resolved() {
            return Ok(Step::Done(Reason::Resolved));
        }
        QueryStrategy::step(self, sight, state)
    }
}

/// Makes a strategy from `name = value` settings.
pub type Build = fn(&[(String, String)]) -> Result<Box<dyn AnyQuery>>;

/// One line of the table.
pub struct Entry {
    /// What it is.
    pub info: &'static Info,
    /// Its parameters.
    pub parameters: fn() -> Vec<Parameter>,
    /// Makes it from `name = value` settings.
    pub build: Build,
}

const fn entry<Q: QueryStrategy + 'static>() -> Entry {
    Entry {
        info: const { &Q::INFO },
        parameters: Q::Params::describe,
        build: |settings| Ok(Box::new(Q::new(Q::Params::from_settings(Q::INFO.name, settings)?)?)),
    }
}

/// Every strategy.
pub static QUERIES: &[Entry] = &[
    entry::<auto::Auto>(),
    entry::<random::Random>(),
    entry::<labels::Labels>(),
    entry::<explore_consolidate::ExploreConsolidate>(),
    entry::<min_max::MinMax>(),
    entry::<npu::Npu>(),
    entry::<fass::Fass>(),
    entry::<assoc::Assoc>(),
    entry::<apc::Apc>(),
    entry::<knn_graph::KnnGraph>(),
    entry::<cobra::Cobra>(),
    entry::<cobras::Cobras>(),
];

/// The entry of that name.
pub fn find(name: &str) -> Result<&'static Entry> {
    QUERIES.iter().find(|e| e.info.name == name).ok_or_else(|| Error::NoSuchName {
        family: "query strategy",
        name: name.to_owned(),
        hint: closest(name, QUERIES.iter().map(|e| e.info.name)).map(str::to_owned),
    })
}
