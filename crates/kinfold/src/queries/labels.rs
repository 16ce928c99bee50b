//! Labels of random rows (RAL, Duarte et al. 2013) in a world of pairs: each drawn row is compared with the groups found
//! so far, nearest first, until its group is known or it founds one. At most one question per group and row.

use super::place::{NOWHERE, near};
use super::{Info, Placing, QueryStrategy, Sight, State, Step};
use crate::error::Result;

crate::params! {
    /// Parameters of `labels`.
    pub struct LabelsParams {
        /// Share of the rows to be labelled.
        share: f64 = 0.1, 0 => 1;
    }
}

/// See the module.
pub struct Labels(LabelsParams);

impl QueryStrategy for Labels {
    type Params = LabelsParams;
    const INFO: Info = Info {
        name: "labels",
        summary: "the groups of random rows, found by pairs",
        paper: "J. M. M. Duarte, A. L. N. Fred, F. J. F. Duarte, 2013 (RAL)",
        refits: false,
        k: "saves the last comparison of each row",
        cost: "O(members·dims)",
    };

    fn new(params: LabelsParams) -> Result<Self> {
        Ok(Labels(params))
    }

    fn step(&self, sight: &Sight<'_>, state: &mut State) -> Result<Step> {
        if !state.started {
            state.start(sight);
            let count = (self.0.share * sight.n() as f64).round().max(2.0) as usize;
            let mut drawn: Vec<u32> = sight.rng("labels").sample(sight.n(), count).iter().map(|&r| r as u32).collect();
            drawn.reverse();
            state.queue = drawn;
        }
        loop {
            state.tidy(sight);
            let why = |a: usize, b: usize| {
                format!("{{a}} was drawn; {{b}} is its nearest of that group, {} away", near(sight, a, b))
            };
            if let Some(step) = state.place(sight, why) {
                return Ok(step);
            }
            let Some(row) = state.queue.pop() else { return Ok(sight.nothing_left()) };
            if state.owners(sight)[row as usize] == NOWHERE {
                let order = state.heads_by_nearest(sight, row as usize);
                state.placing = Some(Placing { row, order });
            }
        }
    }
}
