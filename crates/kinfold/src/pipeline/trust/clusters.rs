//! Do clusters predict what is said better when they listen? The candidates of `fold`, which fit more shapes than the noise
//! model knows, keep the constraints but a fifth of the pairs and are asked about these; and, told of no pair, about all.
//! Right pairs teach something about others, wrong ones mislead: what is learnt speaks against errors, whatever shape the
//! classes have. Cost: as choosing in `fold`.

use super::pairs_that_count;
use super::part::View;
use crate::blocks::candidates::{Graphs, Instance, offered};
use crate::blocks::choose::{Task, fit_all};
use crate::blocks::represent;
use crate::constraints::{Chunklets, ConstraintSet, Kind};
use crate::context::RunContext;
use crate::data::Float;
use crate::error::Result;

const FOLDS: usize = 5;
const RESTARTS: usize = 2;
/// Starts of clusters that are told of no pair: they are made once.
const RESTARTS_UNTOLD: usize = 6;

/// Log-probability of what the pairs say, each way by the candidate that predicts them best.
#[derive(Debug, Clone, Copy)]
pub(super) struct Predicted {
    /// By clusters that keep the others.
    pub listening: f64,
    /// By clusters that know `nodes` alone.
    pub untold: f64,
}

impl Predicted {
    /// How much better the pairs are predicted, in nats, for listening to others.
    pub fn lesson(&self) -> f64 {
        self.listening - self.untold
    }
}

/// `nodes`: what follows without the pairs. `None` when stopped before, or when no candidate keeps what it is told.
pub(super) fn predicted<F: Float>(
    ctx: &RunContext,
    view: &View<'_, F>,
    given: &ConstraintSet,
    nodes: &Chunklets,
    k: usize,
) -> Result<Option<Predicted>> {
    let rows = &view.rows;
    let bases = represent::bases(rows, rows, view.scaling, &mut ctx.rng("trust-directions", 0))?;
    let graphs = Graphs::new(bases.len());
    let instance = Instance { bases: &bases, graphs: &graphs, weights: rows.weights(), k };
    let pairs: Vec<usize> = pairs_that_count(given).map(|(i, _)| i).collect();
    let mut fold = vec![FOLDS; given.pairs().len()];
    let order = ctx.rng("trust-folds", 0).sample(pairs.len(), pairs.len());
    order.iter().enumerate().for_each(|(at, &i)| fold[pairs[i]] = at % FOLDS);
    let without = |f: usize| Ok(given.map_pairs(|i, p| (fold[i] != f).then_some(*p)).close_lenient(0.0)?.0);
    let rest: Vec<Chunklets> = (0..FOLDS).map(without).collect::<Result<_>>()?;

    let predicts = |i: usize, chunklets: &Chunklets, labels: &[u32]| {
        let p = &given.pairs()[i];
        let label = |row: u32| labels[chunklets.of(row as usize) as usize];
        (label(p.a) == label(p.b), p.kind == Kind::MustLink)
    };
    let untold = offered(&bases, nodes.len() < nodes.n(), false);
    let task = Task { chunklets: nodes, restarts: RESTARTS_UNTOLD, stream: 0 };
    let fitted = fit_all(ctx, &instance, &untold, &[task]);
    let alone = fitted[0].iter().flatten();
    let untold = alone.map(|f| log_probability(pairs.iter().map(|&i| predicts(i, nodes, &f.labels)))).reduce(f64::max);

    let listening = offered(&bases, true, false);
    let task = |(f, chunklets)| Task { chunklets, restarts: RESTARTS, stream: 1 + f as u64 };
    let tasks: Vec<Task<'_>> = rest.iter().enumerate().map(task).collect();
    let fitted = fit_all(ctx, &instance, &listening, &tasks);
    if ctx.checkpoint().is_err() {
        return Ok(None);
    }
    let of = |c: usize| {
        let of_folds: Vec<&[u32]> =
            fitted.iter().map(|f| f[c].as_ref().map(|f| &f.labels[..])).collect::<Option<_>>()?;
        Some(log_probability(pairs.iter().map(|&i| predicts(i, &rest[fold[i]], of_folds[fold[i]]))))
    };
    let listening = (0..listening.len()).filter_map(of).reduce(f64::max);
    Ok(listening.zip(untold).map(|(listening, untold)| Predicted { listening, untold }))
}

/// Of what is said (same?) of pairs that are together in a clustering or not, by how often either kind is said to be the
/// same: a clustering that is all one says nothing.
fn log_probability(pairs: impl Iterator<Item = (bool, bool)>) -> f64 {
    let mut counts = [[0.0f64; 2]; 2];
    pairs.for_each(|(together, same)| counts[usize::from(together)][usize::from(same)] += 1.0);
    let of = |[no, yes]: [f64; 2]| {
        let share = (yes + 0.5) / (yes + no + 1.0);
        yes * share.ln() + no * (1.0 - share).ln()
    };
    counts.into_iter().map(of).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::constraints::generate;
    use crate::data::Dataset;
    use crate::rng::Rng;

    #[test]
    fn clusters_that_are_all_one_predict_nothing() {
        let said = |i: usize| i.is_multiple_of(2);
        let chance = -60.0 * std::f64::consts::LN_2;
        let of = |together: &dyn Fn(usize) -> bool| log_probability((0..60).map(|i| (together(i), said(i))));
        assert!((of(&|_| true) - chance).abs() < 1e-9 && (of(&|_| false) - chance).abs() < 1e-9);
        assert!(of(&said) > -2.0 && of(&|i| said(i) != (i < 6)) < -15.0);
    }

    #[test]
    fn right_pairs_teach_and_wrong_ones_mislead() {
        // Three groups along the first column; the second is louder and knows nothing.
        let mut rng = Rng::stream(1, "predicted", 0);
        let truth: Vec<u32> = (0..150).map(|i| i % 3).collect();
        let rows: Vec<f64> =
            truth.iter().flat_map(|&t| [5.0 * f64::from(t) + rng.normal(), 9.0 * rng.normal()]).collect();
        let data = Dataset::dense(&rows, 2).unwrap();
        let view = View { rows: data, scaling: None, judged: data };
        let right = generate::balanced(&truth, 60, false, &mut rng).unwrap().constraints;
        let wrong = generate::noisy(&right, 8, &mut rng).unwrap();
        let alone = Chunklets::singletons(150);
        let of = |given| predicted(&RunContext::new(1), &view, given, &alone, 3).unwrap().unwrap();
        let (of_right, of_wrong) = (of(&right), of(&wrong));
        // Chance has −ln 2 each.
        assert!(of_right.listening > -0.35 * 60.0 && of_right.lesson() > 10.0, "{of_right:?}");
        assert!(of_wrong.lesson() < of_right.lesson() - 10.0, "{of_wrong:?}");
    }
}
