//! Random pairs (RAC): uniform over the pairs that are neither known nor entailed nor marked *unsure*. Rows are drawn until
//! they make such a pair; after 64 misses the askable pairs of chunklets are listed and drawn by their numbers of rows.
//! Cost O(1) expected, O(chunklets²) at the very end.

use super::{Info, QueryStrategy, Question, Sight, State, Step};
use crate::error::Result;

crate::params! {
    /// Parameters of `random`.
    pub struct RandomParams {
        /// Draws before the askable pairs are listed.
        draws: usize = 64, 1 => 1_000_000;
    }
}

/// See the module.
pub struct Random(RandomParams);

impl QueryStrategy for Random {
    type Params = RandomParams;
    const INFO: Info = Info {
        name: "random",
        summary: "pairs drawn at random: the baseline",
        paper: "J. M. M. Duarte, A. L. N. Fred, F. J. F. Duarte, 2013 (RAC)",
        refits: false,
        k: "not used",
        cost: "O(1)",
    };

    fn new(params: RandomParams) -> Result<Self> {
        Ok(Random(params))
    }

    fn step(&self, sight: &Sight<'_>, _: &mut State) -> Result<Step> {
        let (n, known) = (sight.n(), sight.known);
        if n < 2 {
            return Ok(sight.nothing_left());
        }
        let mut rng = sight.rng("random");
        let ask = |i: usize, j: usize| Step::Ask(Question::new(i, j, "drawn at random"));
        for _ in 0..self.0.draws {
            let i = rng.below(n);
            let j = (i + 1 + rng.below(n - 1)) % n;
            if known.askable(i, j) {
                return Ok(ask(i, j));
            }
        }
        let roots: Vec<usize> = (0..n).filter(|&row| known.root(row) == row).collect();
        let mut pairs = Vec::new();
        let mut weights = Vec::new();
        for (at, &a) in roots.iter().enumerate() {
            for &b in roots[at + 1..].iter().filter(|&&b| known.askable(a, b)) {
                pairs.push((a, b));
                weights.push((known.members(a).len() * known.members(b).len()) as f64);
            }
        }
        let Some(drawn) = rng.weighted(&weights) else { return Ok(sight.nothing_left()) };
        let mut pick = |root: usize| known.members(root)[rng.below(known.members(root).len())] as usize;
        let (a, b) = pairs[drawn];
        let (i, j) = (pick(a), pick(b));
        Ok(ask(i, j))
    }
}
