//! APC (Atwa & Almazroi 2020) as a source of questions: it filters constraints, so questions are put where its rules can fire.
//! Near queue: nearest pairs that the current clustering separates (a *different* nearer than d_near is a 4(a) constraint).
//! Far queue: farthest pairs inside a cluster (a *same* beyond d_far is a 3(a) constraint). In turn at first; after ten
//! answers the queue with the larger success rate, nine times in ten. Cost: bounds O(n²·dims) once, then O(n·neighbours).

use super::apc_filter::bounds;
use super::{Info, QueryStrategy, Question, Sight, State, Step};
use crate::constraints::Entailed;
use crate::error::Result;

crate::params! {
    /// Parameters of `apc`.
    pub struct ApcParams {
        /// Answers after which a new clustering is asked for.
        refresh: usize = 10, 1 => 100_000;
        /// Rows of each cluster, farthest from its mean, that start far pairs.
        rim: usize = 50, 1 => 100_000;
    }
}

/// See the module.
pub struct Apc(ApcParams);

// state.counts: near hits, near asked, far hits, far asked; state.pairs: the open pair, `phase` its queue;
// state.numbers: d_near and d_far.
const NEAR: u32 = 1;
const FAR: u32 = 2;

impl QueryStrategy for Apc {
    type Params = ApcParams;
    const INFO: Info = Info {
        name: "apc",
        summary: "near pairs in different clusters and far pairs in one, where the answers are informative",
        paper: "W. Atwa, A. A. Almazroi, Active selection constraints for semi-supervised clustering algorithms, IJITCS 2020",
        refits: true,
        k: "not used",
        cost: "O(n²·dims) once, O(n·neighbours) per question, a clustering every ten answers",
    };

    fn new(params: ApcParams) -> Result<Self> {
        Ok(Apc(params))
    }

    fn step(&self, sight: &Sight<'_>, state: &mut State) -> Result<Step> {
        if !state.started {
            state.started = true;
            state.counts = vec![0; 4];
            if sight.n() > 2 {
                let (_, _, far, near, _) = bounds(sight.ground, None);
                state.numbers = vec![near, far];
            }
        }
        self.score(sight, state);
        if sight.stale(self.0.refresh as u64) {
            return Ok(Step::Refit);
        }
        let labels = self.labels(sight);
        let first = self.choose(sight, state);
        for queue in [first, NEAR + FAR - first] {
            let found = if queue == NEAR { self.near(sight, &labels) } else { self.far(sight, &labels) };
            if let Some((d, a, b)) = found {
                (state.phase, state.pairs) = (queue, vec![(a, b)]);
                let why =
                    if queue == NEAR { "close, but in different clusters" } else { "far apart, but in one cluster" };
                let mut question = Question::new(a as usize, b as usize, format!("{why} ({:.3})", d.sqrt()));
                question.score = if queue == NEAR { -d } else { d };
                return Ok(Step::Ask(question));
            }
        }
        // Neither queue has anything: any pair that is left.
        let n = sight.n();
        let left = (0..n).flat_map(|i| (0..i).map(move |j| (j, i))).find(|&(j, i)| sight.known.askable(i, j));
        Ok(left.map_or_else(|| sight.nothing_left(), |(j, i)| Step::Ask(Question::new(j, i, "a pair that is left"))))
    }
}

impl Apc {
    /// Counts how the last question of a queue went.
    fn score(&self, sight: &Sight<'_>, state: &mut State) {
        let Some(&(a, b)) = state.pairs.first() else { return };
        let at = if state.phase == NEAR { 0 } else { 2 };
        let (near, far) = match state.numbers.as_slice() {
            &[near, far] => (near, far),
            _ => (0.0, f64::INFINITY),
        };
        let d = sight.ground.distance2(a as usize, b as usize).sqrt();
        let hit = match sight.known.entails(a as usize, b as usize) {
            Entailed::Unknown if sight.known.askable(a as usize, b as usize) => return,
            Entailed::Different => state.phase == NEAR && d < near,
            Entailed::Same => state.phase == FAR && d > far,
            Entailed::Unknown => false,
        };
        state.counts[at] += u64::from(hit);
        state.counts[at + 1] += 1;
        state.pairs.clear();
    }

    fn choose(&self, sight: &Sight<'_>, state: &State) -> u32 {
        let asked = state.counts[1] + state.counts[3];
        if asked < 10 {
            return if asked % 2 == 0 { NEAR } else { FAR };
        }
        let rate = |at: usize| (state.counts[at] as f64 + 1.0) / (state.counts[at + 1] as f64 + 2.0);
        let better = if rate(0) >= rate(2) { NEAR } else { FAR };
        if sight.rng("apc").unit() < 0.9 { better } else { NEAR + FAR - better }
    }

    /// The clustering; without one, components of the seven-neighbours graph (and every near pair counts as apart).
    fn labels(&self, sight: &Sight<'_>) -> Vec<u32> {
        if let Some(partition) = sight.partition {
            return partition.labels.clone();
        }
        let n = sight.n();
        let mut part: Vec<u32> = (0..n as u32).collect();
        for i in 0..n {
            for &(_, j) in sight.ground.nearest(i).iter().take(7) {
                let (a, b) = (part[i], part[j as usize]);
                if a != b {
                    part.iter_mut().filter(|p| **p == a.max(b)).for_each(|p| *p = a.min(b));
                }
            }
        }
        part
    }

    fn near(&self, sight: &Sight<'_>, labels: &[u32]) -> Option<(f64, u32, u32)> {
        let apart = |i: usize, j: usize| sight.partition.is_none() || labels[i] != labels[j];
        let mut best: Option<(f64, u32, u32)> = None;
        for i in 0..sight.n() {
            for &(d, j) in sight.ground.nearest(i) {
                if best.is_some_and(|b| (d, i as u32) >= (b.0, b.1)) {
                    break;
                }
                if apart(i, j as usize) && sight.known.askable(i, j as usize) {
                    best = Some((d, i as u32, j));
                    break;
                }
            }
        }
        best
    }

    fn far(&self, sight: &Sight<'_>, labels: &[u32]) -> Option<(f64, u32, u32)> {
        let k = labels.iter().max().map_or(0, |&m| m as usize + 1);
        let mut clusters: Vec<Vec<usize>> = vec![Vec::new(); k];
        labels.iter().enumerate().for_each(|(row, &l)| clusters[l as usize].push(row));
        let mut best: Option<(f64, u32, u32)> = None;
        for rows in clusters.iter().filter(|rows| rows.len() > 1) {
            let mean = sight.ground.mean(rows.iter().copied());
            let mut rim: Vec<(f64, usize)> = rows.iter().map(|&r| (sight.ground.distance2_to(r, &mean), r)).collect();
            rim.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
            rim.truncate(self.0.rim);
            let found = sight.ground.pool().map(rim.len(), |at| {
                let i = rim[at].1;
                let askable = rows.iter().copied().filter(|&j| sight.known.askable(i, j));
                askable
                    .map(|j| (sight.ground.distance2(i, j), i.min(j) as u32, i.max(j) as u32))
                    .max_by(|a, b| a.0.total_cmp(&b.0).then((b.1, b.2).cmp(&(a.1, a.2))))
            });
            for (d, a, b) in found.into_iter().flatten() {
                if best.is_none_or(|x| d > x.0 || d == x.0 && (a, b) < (x.1, x.2)) {
                    best = Some((d, a, b));
                }
            }
        }
        best
    }
}
