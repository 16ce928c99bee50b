//! The greedy baseline of Jia, Guo, Liao, Lu (§6.1, after Wagstaff et al. 2001): uniform centres; a must-link set goes to
//! the nearest centre of its first row in input order; the members of a cannot-link set, in input order, to the nearest
//! centre that the set does not use yet; means; repeat. Minimises Σ w‖x − c‖² as far as that rule lets it.
//! Beyond the paper's disjoint sets: a chunklet takes the nearest cluster that no cannot-linked chunklet before it uses,
//! and its nearest one, a violation, when none is left. The cost can rise; the best labelling met is returned.
//! Cost per iteration O(n·k·dims + cannot-links).

use super::{Clustering, Info, Listens, Method, Problem};
use crate::blocks::greedy::{Greedy, OnDeadEnd, Order};
use crate::blocks::lloyd::{Limits, lloyd};
use crate::blocks::restarts;
use crate::blocks::seeding::Init;
use crate::blocks::units::Units;
use crate::context::RunContext;
use crate::data::Float;
use crate::error::Result;

crate::params! {
    /// Parameters of `greedy-mlcl`.
    pub struct GreedyMlclParams {
        /// Independent starts, of which the one with the fewest violations, then the cheapest wins; 0 suits the number
        /// to the data.
        restarts: usize = 0, 0 => 10_000;
        /// Iterations per start at most.
        max_iter: usize = 300, 1 => 1_000_000;
        /// Starting centres; the paper draws rows.
        init: Init = Init::Random;
    }
}

/// See the module.
pub struct GreedyMlcl(GreedyMlclParams);

impl Method for GreedyMlcl {
    type Params = GreedyMlclParams;
    const INFO: Info = Info {
        name: "greedy-mlcl",
        summary: "the greedy baseline: must-link sets follow their first row, cannot-link sets take what is left",
        paper: "C. Jia, L. Guo, K. Liao, Z. Lu, k-means with must-link and (disjoint) cannot-link sets, section 6.1",
        minimises: "Σ_i w_i ‖x_i − c(l_i)‖², by a greedy rule",
        constraints: "must-links kept; cannot-links kept where the input order allows it",
        cost: "O(n·k·dims) per iteration plus O(cannot-links)",
        measured: "The greedy baseline of the mlcl paper, which prints curves only; the bench suite mlcl draws both \
                   (docs/results).",
        listens: Listens::Soft,
        sparse: true,
        sizes: false,
        represents: false,
        monotone: false,
    };

    fn new(params: GreedyMlclParams) -> Result<Self> {
        Ok(GreedyMlcl(params))
    }

    fn run<F: Float>(&self, ctx: &RunContext, problem: &Problem<'_, F>) -> Result<Clustering> {
        let params = &self.0;
        let (data, k) = (problem.data, problem.k);
        let units = Units::new(data, problem.chunklets);
        let limits = Limits { max_iter: params.max_iter, tolerance: 0.0 };
        let restarts = restarts::how_many(params.restarts, data.n());
        let start = |ctx: &RunContext, r: u64| {
            let centres = params.init.draw(&ctx.pool, &units, k, &mut ctx.rng("seeding", r));
            let order = ctx.rng("order", r);
            let mut greedy = Greedy::new(&units, problem.given, Order::Input, true, OnDeadEnd::Violate, order);
            let outcome = lloyd(ctx, &units, centres, limits, &mut greedy)?;
            Ok((units.broken(&outcome.labels), outcome))
        };
        let (_, outcome) = restarts::best_by(ctx, restarts, data.n() * data.dims(), start, |(broken, outcome)| {
            (*broken, outcome.cost())
        })?;
        Ok(Clustering { notes: Vec::new(), ..outcome.into() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::constraints::{ConstraintSet, Kind, Origin};
    use crate::data::{Dataset, Matrix};

    fn one_pass(rows: &[f64], given: &ConstraintSet, centres: &[f64]) -> Vec<u32> {
        let data = Dataset::dense(rows, 1).unwrap();
        let chunklets = given.close().unwrap();
        let units = Units::new(&data, &chunklets);
        let ctx = RunContext::new(1).with_threads(1);
        let mut greedy = Greedy::new(&units, given, Order::Input, true, OnDeadEnd::Violate, ctx.rng("order", 0));
        let limits = Limits { max_iter: 1, tolerance: 0.0 };
        lloyd(&ctx, &units, Matrix::from_vec(1, centres.to_vec()), limits, &mut greedy).unwrap().labels
    }

    #[test]
    fn a_must_link_set_follows_its_first_row_not_its_mean() {
        let mut given = ConstraintSet::new(3);
        given.add_set(Kind::MustLink, &[2, 0, 1], f64::INFINITY, Origin::default()).unwrap();
        assert_eq!(one_pass(&[1.0, 9.0, 9.5], &given, &[0.0, 10.0]), [0, 0, 0]);
    }

    #[test]
    fn a_cannot_link_set_is_served_in_input_order() {
        let mut given = ConstraintSet::new(3);
        given.add_set(Kind::CannotLink, &[2, 1, 0], f64::INFINITY, Origin::default()).unwrap();
        // All three are nearest to centre 0: row 0 keeps it, row 1 takes the second, row 2 what is left.
        assert_eq!(one_pass(&[1.0, 0.0, 0.5], &given, &[0.0, 10.0, -20.0]), [0, 1, 2]);
    }

    #[test]
    fn a_row_that_nothing_is_left_for_goes_to_its_nearest_centre() {
        let mut given = ConstraintSet::new(4);
        for (a, b) in [(0, 2), (1, 2)] {
            given.add_pair(Kind::CannotLink, a, b).unwrap();
        }
        assert_eq!(one_pass(&[0.0, 10.0, 9.0, 5.5], &given, &[0.0, 10.0]), [0, 1, 1, 1]);
    }
}
