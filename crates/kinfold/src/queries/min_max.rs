//! Min-max (Mallapragada, Jin & Jain 2008): explores like `explore-consolidate`; then the row whose largest similarity to the
//! skeleton (all neighbourhoods) is smallest, q = argmin_x max_y exp(−‖x−y‖²/2σ²), is placed. With one σ that is the row
//! farthest from the skeleton, so no kernel is evaluated. It chases outliers: `trim` leaves out the loneliest rows.
//! Cost O(skeleton·n·dims) per placed row.

use super::explore_consolidate::{Start, explore, farthest};
use super::place::{NOWHERE, near};
use super::{Info, Placing, QueryStrategy, Sight, State, Step};
use crate::error::Result;

crate::params! {
    /// Parameters of `min-max`.
    pub struct MinMaxParams {
        /// The first row.
        start: Start = Start::Random;
        /// Share of the rows, those farthest from their 7th neighbour, that are never chosen.
        trim: f64 = 0.0, 0 => 0.9;
    }
}

/// See the module.
pub struct MinMax(MinMaxParams);

impl QueryStrategy for MinMax {
    type Params = MinMaxParams;
    const INFO: Info = Info {
        name: "min-max",
        summary: "farthest-first, then the row least like anything placed so far",
        paper: "P. K. Mallapragada, R. Jin, A. K. Jain, Active query selection for semi-supervised clustering, ICPR 2008",
        refits: false,
        k: "ends exploring; without it all rows are explored",
        cost: "O(skeleton·n·dims)",
    };

    fn new(params: MinMaxParams) -> Result<Self> {
        Ok(MinMax(params))
    }

    fn step(&self, sight: &Sight<'_>, state: &mut State) -> Result<Step> {
        if state.phase == 0 {
            if let Some(step) = explore(sight, state, self.0.start, sight.k) {
                return Ok(step);
            }
            state.phase = 1;
            state.passed.clear();
            state.passed = self.loneliest(sight);
        }
        loop {
            state.tidy(sight);
            let why = |a: usize, b: usize| {
                format!("{{a}} is least like anything placed; {{b}} is the nearest, {} away", near(sight, a, b))
            };
            if let Some(step) = state.place(sight, why) {
                return Ok(step);
            }
            let owners = state.owners(sight);
            let skeleton: Vec<u32> =
                (0..sight.n() as u32).filter(|&r| owners[r as usize] < super::place::PASSED).collect();
            let Some(row) = farthest(sight.ground, &skeleton, |row| owners[row] == NOWHERE) else {
                return Ok(sight.nothing_left());
            };
            let order = state.heads_by_nearest(sight, row);
            state.placing = Some(Placing { row: row as u32, order });
        }
    }
}

impl MinMax {
    fn loneliest(&self, sight: &Sight<'_>) -> Vec<u32> {
        let count = (self.0.trim * sight.n() as f64) as usize;
        if count == 0 {
            return Vec::new();
        }
        let at = 7.min(sight.ground.nearest_count()).max(1) - 1;
        let mut rows: Vec<(f64, u32)> =
            (0..sight.n()).map(|r| (sight.ground.nearest(r).get(at).map_or(0.0, |d| d.0), r as u32)).collect();
        rows.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
        rows.into_iter().take(count).map(|r| r.1).collect()
    }
}
