//! Independent starts: each has its own random stream and private state; the best by cost wins, the earliest of equals.
//! Small problems run their restarts side by side, large ones one after the other with parallel passes inside.

use super::lloyd::{Limits, Nearest, Outcome, lloyd};
use super::seeding::Init;
use super::units::Units;
use crate::constraints::Chunklets;
use crate::context::RunContext;
use crate::data::{Dataset, Float};
use crate::error::{Error, Result};

/// Rows × dims above which one restart keeps all threads busy by itself.
const LARGE: usize = 2_000_000;

/// Restarts under way at a time.
const BATCH: usize = 8;

/// 0 asks for a number that suits the size of the data.
pub fn how_many(asked: usize, n: usize) -> usize {
    match (asked, n) {
        (0, 0..=20_000) => 10,
        (0, 20_001..=200_000) => 3,
        (0, _) => 1,
        _ => asked,
    }
}

/// Runs `start(ctx, r)` for r in 0..restarts and keeps the cheapest outcome. A restart that has not begun when the run
/// is stopped is left out, except the first. An error of one restart is an error only if all fail.
pub fn best_of<T: Send + std::borrow::Borrow<Outcome>>(
    ctx: &RunContext,
    restarts: usize,
    size: usize,
    start: impl Fn(&RunContext, u64) -> Result<T> + Sync,
) -> Result<T> {
    best_by(ctx, restarts, size, start, |o| o.borrow().cost())
}

/// Like [`best_of`], the smallest by `key`.
pub fn best_by<T: Send, K: PartialOrd>(
    ctx: &RunContext,
    restarts: usize,
    size: usize,
    start: impl Fn(&RunContext, u64) -> Result<T> + Sync,
    key: impl Fn(&T) -> K,
) -> Result<T> {
    let one = |inner: &RunContext, r: usize| (r == 0 || ctx.checkpoint().is_ok()).then(|| start(inner, r as u64));
    // In small batches, so that only a few outcomes are alive at a time.
    let alone = size > LARGE || ctx.pool.threads() == 1;
    let inner = if alone { ctx.clone() } else { ctx.clone().with_threads(1) };
    let (mut best, mut error): (Option<T>, Option<Error>) = (None, None);
    for first in (0..restarts).step_by(BATCH) {
        ctx.progress("restarts", first as u64, Some(restarts as u64));
        let count = BATCH.min(restarts - first);
        let outcomes: Vec<Option<Result<T>>> = if alone {
            (0..count).map(|i| one(&inner, first + i)).collect()
        } else {
            ctx.pool.map(count, |i| one(&inner, first + i))
        };
        for outcome in outcomes.into_iter().flatten() {
            match outcome {
                Ok(o) if best.as_ref().is_none_or(|b| key(&o) < key(b)) => best = Some(o),
                Ok(_) => {}
                Err(e) => error = error.or(Some(e)),
            }
        }
        if ctx.checkpoint().is_err() {
            break;
        }
    }
    match (best, error) {
        (Some(best), _) => Ok(best),
        (None, Some(e)) => Err(e),
        (None, None) => unreachable!("the first restart always runs"),
    }
}

/// Plain k-means on the rows, for methods that have nothing to go by.
pub fn plain<F: Float>(ctx: &RunContext, data: &Dataset<'_, F>, k: usize) -> Result<Outcome> {
    let alone = Chunklets::singletons(data.n());
    let units = Units::new(data, &alone);
    best_of(ctx, how_many(0, data.n()), data.n() * data.dims(), |ctx, r| {
        let centres = Init::GreedyKmeansPlusPlus.draw(&ctx.pool, &units, k, &mut ctx.rng("seeding", r));
        lloyd(ctx, &units, centres, Limits { max_iter: 300, tolerance: 0.0 }, &mut Nearest)
    })
}
