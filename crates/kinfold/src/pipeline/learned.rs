//! Distances learned from constraints, by the name of a metric, for judging clusterings. Only constraints enter, never a
//! clustering.

use crate::constraints::{Chunklets, ConstraintSet};
use crate::context::RunContext;
use crate::data::{Dataset, Float, Transform};
use crate::error::{Error, Result};
use crate::metrics;

/// The transform after which Euclidean distances are those of the metric, or why there is none.
pub fn learned_distance<F: Float>(
    ctx: &RunContext,
    name: &str,
    data: &Dataset<'_, F>,
    given: &ConstraintSet,
    chunklets: &Chunklets,
) -> Result<Result<Transform, String>> {
    metrics::find(name)?;
    match metrics::Choice::new(name).learn(ctx, data, given, chunklets) {
        Ok(learned) if learned.transform.is_identity() => {
            let note = learned.notes.first().cloned();
            Ok(Err(note.unwrap_or_else(|| format!("{name} learned nothing"))))
        }
        Ok(learned) => Ok(Ok(learned.transform)),
        // The clusterings can be judged without it.
        Err(e @ (Error::Unsupported { .. } | Error::Numeric(_))) => Ok(Err(e.to_string())),
        Err(e) => Err(e),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::constraints::Kind;
    use crate::indices::{Internal, Sampling, score_rows};

    #[test]
    fn indices_on_the_learned_distance_are_those_of_the_worked_example() {
        // spec/validation.md, test 10.
        let x = [0.0, 0.0, 1.0, 2.0, 4.0, 0.0, 5.0, 2.0];
        let data = Dataset::dense(&x, 2).unwrap();
        let mut given = ConstraintSet::new(4);
        for (kind, a, b) in [(Kind::MustLink, 0, 1), (Kind::MustLink, 2, 3), (Kind::CannotLink, 0, 2)] {
            given.add_pair(kind, a, b).unwrap();
        }
        let ctx = RunContext::new(0);
        let transform = learned_distance(&ctx, "dca", &data, &given, &given.close().unwrap()).unwrap().unwrap();
        let table = transform.apply(&data).unwrap();
        let space = table.view().unwrap();
        let which = [Internal::Silhouette, Internal::NormalisedHubert];
        let labels: [&[u32]; 2] = [&[0, 0, 1, 1], &[0, 1, 0, 1]];
        let score = |data: &Dataset<'_, f64>| {
            let all = score_rows(&ctx, data, &labels, &which, Sampling::Exact);
            all.values.concat().iter().map(|v| v.unwrap().value).collect::<Vec<f64>>()
        };
        let close = |found: Vec<f64>, expected: [f64; 4]| {
            assert!(found.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-6), "{found:?}");
        };
        close(score(&data), [0.467740, 0.864201, -0.158572, -0.272494]);
        close(score(&space), [0.746032, 0.925820, -0.375, -0.462910]);
    }

    #[test]
    fn a_name_that_is_none_is_told_with_the_closest() {
        let data = Dataset::dense(&[0.0, 1.0], 1).unwrap();
        let (nothing, none) = (ConstraintSet::new(2), Chunklets::singletons(2));
        let ask = |name: &str| learned_distance(&RunContext::new(0), name, &data, &nothing, &none);
        let e = ask("dcaa").unwrap_err();
        assert!(e.to_string().contains("did you mean 'dca'"), "{e}");
        assert!(ask("dca").unwrap().is_err());
    }
}
