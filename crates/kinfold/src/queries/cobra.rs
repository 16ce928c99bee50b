//! COBRA (Van Craenendonck, Dumančić & Blockeel 2017): k-means into super-instances, then clusters of them are merged from the
//! nearest pair on, asking about representatives. Which are merged and which are apart is read from the closure.
//! k need not be known. Cost O(cells²·dims) per question.

use super::supers::{cells, nearest_undecided, representative};
use super::{Info, QueryStrategy, Question, Reason, Sight, State, Step};
use crate::constraints::Entailed;
use crate::error::Result;

crate::params! {
    /// Parameters of `cobra`.
    pub struct CobraParams {
        /// Super-instances.
        cells: usize = 25, 2 => 100_000;
        /// Starts of k-means.
        restarts: usize = 10, 1 => 10_000;
    }
}

/// See the module.
pub struct Cobra(CobraParams);

impl QueryStrategy for Cobra {
    type Params = CobraParams;
    const INFO: Info = Info {
        name: "cobra",
        summary: "small k-means cells, merged by questions about their representatives",
        paper: "T. Van Craenendonck, S. Dumančić, H. Blockeel, COBRA, IJCAI 2017",
        refits: false,
        k: "not used",
        cost: "O(cells²·dims)",
    };

    fn new(params: CobraParams) -> Result<Self> {
        Ok(Cobra(params))
    }

    fn step(&self, sight: &Sight<'_>, state: &mut State) -> Result<Step> {
        if !state.started {
            state.started = true;
            let rows: Vec<u32> = (0..sight.n() as u32).collect();
            state.cells = cells(sight.ground, &rows, self.0.cells, self.0.restarts)?;
        }
        let heads: Vec<usize> = state.cells.iter().map(|c| representative(sight.ground, c) as usize).collect();
        let cluster: Vec<usize> = heads.iter().map(|&h| sight.known.root(h)).collect();
        let apart = |a: usize, b: usize| sight.known.entails(heads[a], heads[b]) == Entailed::Different;
        Ok(match nearest_undecided(sight, &state.cells, &cluster, apart) {
            Some((a, b)) => Step::Ask(Question::new(a as usize, b as usize, "the nearest two groups that may be one")),
            None => Step::Done(Reason::Exhausted),
        })
    }
}
