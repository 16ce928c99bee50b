//! How well do clusters that keep all constraints predict them? The candidates of `fold`, which fit more shapes than the
//! noise model knows, are fitted to all constraints but those of the rows of one fold, and tested by what was said about
//! these. Where that is far better than the noise model with errors, the rows are misunderstood, not the constraints
//! wrong. Cost: as choosing in `fold`.

use super::part::View;
use crate::blocks::candidates::{Graphs, Instance, offered};
use crate::blocks::choose::{Task, fit_all};
use crate::blocks::holdout::{Split, Tally, fold_of_rows, split};
use crate::blocks::represent;
use crate::constraints::{Chunklets, Kind, Pair};
use crate::context::RunContext;
use crate::data::Float;
use crate::error::Result;

const FOLDS: usize = 5;
const RESTARTS: usize = 2;

/// Log-probability of what `pairs` say, by the candidate that predicts them best; `None` when stopped before.
pub(super) fn predictive<F: Float>(
    ctx: &RunContext,
    view: &View<'_, F>,
    pairs: &[Pair],
    chunklets: &Chunklets,
    k: usize,
) -> Result<Option<f64>> {
    let rows = &view.rows;
    let bases = represent::bases(rows, rows, view.scaling, &mut ctx.rng("trust-directions", 0))?;
    let graphs = Graphs::new(bases.len());
    let instance = Instance { bases: &bases, graphs: &graphs, weights: rows.weights(), k };
    let candidates = offered(&bases, chunklets.len() < chunklets.n(), false);
    let fold = fold_of_rows(chunklets, FOLDS, &mut ctx.rng("trust-folds", 0));
    let splits: Vec<Split> = (0..FOLDS)
        .map(|f| {
            let freed = |row: u32| fold[row as usize] == f;
            let said = pairs.iter().filter(|p| freed(p.a) || freed(p.b));
            let test = |p: &Pair| if freed(p.a) { (p.a, p.b) } else { (p.b, p.a) };
            let mut tests: Vec<_> = said.map(|p| (test(p).0, test(p).1, p.kind == Kind::MustLink)).collect();
            tests.sort_unstable();
            Split { tests, ..split(chunklets, freed) }
        })
        .collect();
    let task = |(f, s)| Task { chunklets: &(s as &Split).chunklets, restarts: RESTARTS, stream: 1 + f as u64 };
    let tasks: Vec<Task<'_>> = splits.iter().enumerate().map(task).collect();
    let fitted = fit_all(ctx, &instance, &candidates, &tasks);
    if ctx.checkpoint().is_err() {
        return Ok(None);
    }
    let kinds = [Kind::MustLink, Kind::CannotLink].map(|kind| pairs.iter().any(|p| p.kind == kind));
    let of = |c: usize| {
        let mut sum = Tally::default();
        for (split, fitted) in splits.iter().zip(&fitted) {
            sum.add(&Tally::new(split, &fitted[c].as_ref()?.labels, k, (kinds[0], kinds[1])));
        }
        Some(sum.predictive() * pairs.len() as f64)
    };
    Ok((0..candidates.len()).filter_map(of).reduce(f64::max))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::constraints::generate;
    use crate::data::Dataset;
    use crate::rng::Rng;

    #[test]
    fn right_constraints_are_predicted_by_clusters_that_keep_them_and_wrong_ones_spoil_that() {
        let mut rng = Rng::stream(1, "predictive", 0);
        let truth: Vec<u32> = (0..150).map(|i| i % 3).collect();
        let rows: Vec<f64> =
            truth.iter().flat_map(|&t| [5.0 * f64::from(t) + rng.normal(), 9.0 * rng.normal()]).collect();
        let data = Dataset::dense(&rows, 2).unwrap();
        let view = View { rows: data, scaling: None, judged: data };
        let right = generate::balanced(&truth, 60, false, &mut rng).unwrap().constraints;
        let wrong = generate::noisy(&right, 8, &mut rng).unwrap();
        let each = |given: &crate::constraints::ConstraintSet| {
            let (chunklets, _) = given.close_lenient(0.0).unwrap();
            predictive(&RunContext::new(1), &view, given.pairs(), &chunklets, 3).unwrap().unwrap()
                / given.pairs().len() as f64
        };
        // Chance has −ln 2.
        assert!(each(&right) > -0.35 && each(&wrong) < each(&right) - 0.1, "{} {}", each(&right), each(&wrong));
    }
}
