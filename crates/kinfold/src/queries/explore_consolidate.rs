//! Explore & Consolidate (FFQS; Basu, Banerjee & Mooney 2004). Explore: the row farthest from all traversed ones is placed,
//! until there are k neighbourhoods. Consolidate: the other rows in a random order, the neighbourhood with the nearest mean
//! first. Departs from common code: neighbourhoods are tried nearest first, the k-th needs no question, and it ends when
//! rows run out. Cost O(n·dims) per explored row, O(k·dims) per consolidated one.

use super::place::{NOWHERE, near};
use super::{Ground, Info, Placing, QueryStrategy, Sight, State, Step};
use crate::error::Result;

crate::choice! {
    /// Where to start.
    pub enum Start {
        /// A random row.
        Random = "random",
        /// The row nearest to the mean of all.
        Mean = "mean",
    }
}

crate::params! {
    /// Parameters of `explore-consolidate`.
    pub struct ExploreConsolidateParams {
        /// The first row.
        start: Start = Start::Random;
    }
}

/// See the module.
pub struct ExploreConsolidate(ExploreConsolidateParams);

/// Goes on with exploring; `None` when k neighbourhoods are there or every row was traversed.
pub(super) fn explore(sight: &Sight<'_>, state: &mut State, start: Start, until: Option<usize>) -> Option<Step> {
    state.start(sight);
    loop {
        state.tidy(sight);
        let why = |_: usize, _: usize| "{a} is farthest from what was seen; does it belong with {b}?".to_owned();
        if let Some(step) = state.place(sight, why) {
            return Some(step);
        }
        if until.is_some_and(|k| state.heads.len() >= k) {
            return None;
        }
        if state.heads.is_empty() && state.passed.is_empty() {
            let first = first_row(sight, start);
            state.heads.push(first);
            state.passed.push(first);
            continue;
        }
        let seen: Vec<u32> = if state.passed.is_empty() {
            // Given constraints: their rows are where exploring starts from.
            state.heads.iter().flat_map(|&h| sight.known.members(h as usize).to_vec()).collect()
        } else {
            state.passed.clone()
        };
        let row = farthest(sight.ground, &seen, |row| !state.passed.contains(&(row as u32)))?;
        if state.passed.is_empty() {
            state.passed = seen;
        }
        state.passed.push(row as u32);
        let owned =
            state.heads.iter().any(|&h| sight.known.entails(row, h as usize) == crate::constraints::Entailed::Same);
        if !owned {
            let order = state.heads_by_nearest(sight, row);
            state.placing = Some(Placing { row: row as u32, order });
        }
    }
}

fn first_row(sight: &Sight<'_>, start: Start) -> u32 {
    match start {
        Start::Random => sight.rng("explore").below(sight.n()) as u32,
        Start::Mean => {
            let mean = sight.ground.mean(0..sight.n());
            let by = |&a: &usize, &b: &usize| {
                sight.ground.distance2_to(a, &mean).total_cmp(&sight.ground.distance2_to(b, &mean)).then(a.cmp(&b))
            };
            (0..sight.n()).min_by(by).unwrap_or(0) as u32
        }
    }
}

/// The row that passes the test and is farthest from all of `seen`; ties to the lower row.
pub(super) fn farthest(ground: &Ground, seen: &[u32], test: impl Fn(usize) -> bool) -> Option<usize> {
    let mut least = vec![f64::INFINITY; ground.n()];
    seen.iter().for_each(|&row| ground.shrink(&mut least, row as usize));
    let by = |&a: &usize, &b: &usize| least[a].total_cmp(&least[b]).then(b.cmp(&a));
    let mut taken = vec![false; ground.n()];
    seen.iter().for_each(|&row| taken[row as usize] = true);
    (0..ground.n()).filter(|&row| !taken[row] && test(row)).max_by(by)
}

impl QueryStrategy for ExploreConsolidate {
    type Params = ExploreConsolidateParams;
    const INFO: Info = Info {
        name: "explore-consolidate",
        summary: "farthest-first until every cluster has a row, then random rows to their cluster",
        paper: "S. Basu, A. Banerjee, R. J. Mooney, Active semi-supervision for pairwise constrained clustering, SDM 2004",
        refits: false,
        k: "ends exploring; without it all rows are explored",
        cost: "O(n·dims)",
    };

    fn new(params: ExploreConsolidateParams) -> Result<Self> {
        Ok(ExploreConsolidate(params))
    }

    fn step(&self, sight: &Sight<'_>, state: &mut State) -> Result<Step> {
        if state.phase == 0 {
            if let Some(step) = explore(sight, state, self.0.start, sight.k) {
                return Ok(step);
            }
            state.phase = 1;
            state.passed.clear();
            let owners = state.owners(sight);
            let mut rows: Vec<u32> = (0..sight.n() as u32).filter(|&r| owners[r as usize] == NOWHERE).collect();
            sight.rng("consolidate").shuffle(&mut rows);
            state.queue = rows;
        }
        loop {
            state.tidy(sight);
            let why = |a: usize, b: usize| {
                format!("the cluster of {{b}} has the nearest mean to {{a}} ({} apart)", near(sight, a, b))
            };
            if let Some(step) = state.place(sight, why) {
                return Ok(step);
            }
            let Some(row) = state.queue.pop() else { return Ok(sight.nothing_left()) };
            if state.owners(sight)[row as usize] == NOWHERE {
                let order = state.heads_by(|head| {
                    let members = state.neighbourhood(sight, head);
                    sight.ground.distance2_to(row as usize, &sight.ground.mean(members.iter().map(|&m| m as usize)))
                });
                state.placing = Some(Placing { row, order });
            }
        }
    }
}
