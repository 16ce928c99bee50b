//! Independent starts: each has its own random stream and private state; the best by cost wins, the earliest of equals.
//! Small problems run their restarts side by side, large ones one after the other with parallel passes inside.

use super::lloyd::Outcome;
use crate::context::RunContext;
use crate::error::Result;

/// Rows × dims above which one restart keeps all threads busy by itself.
const LARGE: usize = 2_000_000;

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
    let outcomes: Vec<Option<Result<T>>> = if size > LARGE || ctx.pool.threads() == 1 {
        (0..restarts)
            .map(|r| {
                ctx.progress("restarts", r as u64, Some(restarts as u64));
                one(ctx, r)
            })
            .collect()
    } else {
        let inner = ctx.clone().with_threads(1);
        ctx.pool.map(restarts, |r| one(&inner, r))
    };
    let mut best: Option<T> = None;
    let mut error = None;
    for outcome in outcomes.into_iter().flatten() {
        match outcome {
            Ok(o) if best.as_ref().is_none_or(|b| key(&o) < key(b)) => best = Some(o),
            Ok(_) => {}
            Err(e) => error = error.or(Some(e)),
        }
    }
    match (best, error) {
        (Some(best), _) => Ok(best),
        (None, Some(e)) => Err(e),
        (None, None) => unreachable!("the first restart always runs"),
    }
}
