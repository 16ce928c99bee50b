//! kinfold's own strategy and default: ask where the current clustering is probably wrong and where that matters. Each cluster
//! has a core (its largest answered chunklet, or its middle row). Belief p_x over clusters: answered rows and, weakly, the
//! clustering itself, spread over the graph of nearest rows, times how often a forest that was grown to reproduce the
//! clustering puts x with the rows of each core. A row is worth bits per expected question × the uncertain mass
//! a short walk from it reaches; two cores are worth P(same) × the smaller cluster, P from the edges that cross. The
//! most valuable pair is asked: a row against the core it most probably belongs to. Cores are not compared where the graph
//! says they are apart, which saves most of k²/2 questions. Cost O(n·(neighbours + k)·steps) per question, no n × n.

use super::npu::{normalised, similarities, uncertainty};
use super::place::{NOWHERE, nearest_member, to_ask};
use super::supers::{cells, representative};
use super::{Info, QueryStrategy, Question, Sight, State, Step};
use crate::constraints::Entailed;
use crate::error::Result;

crate::choice! {
    /// How uncertain a row is.
    pub enum Worth {
        /// Bits per expected question.
        Bits = "bits",
        /// Probability that its cluster is wrong.
        Error = "error",
    }
}

crate::params! {
    /// Parameters of `auto`.
    pub struct AutoParams {
        /// Answers after which a new clustering is asked for.
        refresh: usize = 1, 1 => 100_000;
        /// How much a row that nobody asked about says through its cluster; an answered row says 1.
        prior: f64 = 0.05, 0 => 1;
        /// Share of its rows that the clustering is taken to have wrong before anything was asked.
        doubt: f64 = 0.25, 0 => 0.9;
        /// Share of its neighbours' belief that a row takes over in each step.
        spread: f64 = 0.8, 0 => 0.999;
        /// Steps of spreading.
        steps: usize = 15, 1 => 1000;
        /// Steps of the walk that measures how much depends on a row.
        walk: usize = 3, 0 => 100;
        /// Rows that a row stands for.
        reach: f64 = 3.0, 0 => 1e6;
        /// Worth of comparing two cores, as a factor.
        cores: f64 = 1.0, 0 => 1e6;
        /// How uncertain a row is.
        worth: Worth = Worth::Bits;
        /// Ask about a row until its cluster is known.
        stick: bool = true;
        /// How much a forest that imitates the clustering says beside the graph, as an exponent.
        forest: f64 = 1.0, 0 => 10;
        /// Clusters to think of when nobody says k.
        clusters: usize = 8, 2 => 1000;
    }
}

/// See the module.
pub struct Auto(AutoParams);

impl QueryStrategy for Auto {
    type Params = AutoParams;
    const INFO: Info = Info {
        name: "auto",
        summary: "the default: where the clustering is probably wrong and much depends on it",
        paper: "kinfold's own; belief by label spreading (Zhou et al. 2004), bits per expected question and the forest (Xiong et al. 2014)",
        refits: true,
        k: "better with it",
        cost: "O(n·((neighbours + k)·steps + trees·k)), a clustering every few answers",
    };

    fn new(params: AutoParams) -> Result<Self> {
        Ok(Auto(params))
    }

    fn step(&self, sight: &Sight<'_>, state: &mut State) -> Result<Step> {
        if sight.stale(self.0.refresh as u64) {
            return Ok(Step::Refit);
        }
        let own: Vec<u32>;
        let labels = match sight.partition {
            Some(partition) => partition.labels.as_slice(),
            None => {
                if state.cells.is_empty() {
                    let all: Vec<u32> = (0..sight.n() as u32).collect();
                    state.cells = cells(sight.ground, &all, sight.k.unwrap_or(self.0.clusters), 3)?;
                }
                let mut found = vec![0; sight.n()];
                for (c, rows) in state.cells.iter().enumerate() {
                    rows.iter().for_each(|&row| found[row as usize] = c as u32);
                }
                own = found;
                &own
            }
        };
        self.learn(sight, state);
        let error = self.error(state);
        let view = View::new(sight, labels, &self.0, error);
        if let Some(question) =
            state.queue.first().filter(|_| self.0.stick).and_then(|&row| view.row(row as usize, 0.0))
        {
            return Ok(Step::Ask(question));
        }
        let best = view.best_row().into_iter().chain(view.best_cores()).max_by(|a, b| a.score.total_cmp(&b.score));
        if let Some(question) = best {
            state.queue = vec![question.a];
            // Foreseen by the clustering or not: looked at when the answer is there.
            if !view.placed[question.a as usize] {
                state.pairs = vec![(question.a, question.b)];
            }
            return Ok(Step::Ask(question));
        }
        // Everything that the clustering suggests is known: any pair of chunklets that is left, largest first.
        let mut roots: Vec<usize> = (0..sight.n()).filter(|&r| sight.known.root(r) == r).collect();
        roots.sort_by_key(|&r| (usize::MAX - sight.known.members(r).len(), r));
        let mut pairs = roots.iter().enumerate().flat_map(|(at, &a)| roots[at + 1..].iter().map(move |&b| (a, b)));
        Ok(match pairs.find(|&(a, b)| sight.known.askable(a, b)) {
            Some((a, b)) => Step::Ask(Question::new(a, b, "a pair that is left")),
            None => sight.nothing_left(),
        })
    }
}

impl Auto {
    /// Counts whether the clustering had foreseen the answer to the last question about a row and its own cluster.
    fn learn(&self, sight: &Sight<'_>, state: &mut State) {
        if state.counts.len() != 2 {
            state.counts = vec![0, 0];
        }
        let Some(&(a, b)) = state.pairs.first() else { return };
        let foreseen = match sight.known.entails(a as usize, b as usize) {
            Entailed::Unknown if sight.known.askable_again(a as usize, b as usize) => return,
            Entailed::Unknown => None,
            Entailed::Same => Some(true),
            Entailed::Different => Some(false),
        };
        state.pairs.clear();
        if let Some(same) = foreseen {
            state.counts[usize::from(!same)] += 1;
        }
    }

    /// Share of rows that the clustering has wrong, as far as the answers tell.
    fn error(&self, state: &State) -> f64 {
        let [right, wrong] = [0, 1].map(|i| state.counts.get(i).copied().unwrap_or(0) as f64);
        // Uncertain rows are asked about, so the rate among them overstates that among all: half of it is believed.
        let weight = 4.0;
        (0.5 * wrong + weight * self.0.doubt) / (right + wrong + weight)
    }
}

/// The clustering with its cores and the belief about every row.
struct View<'a> {
    sight: &'a Sight<'a>,
    labels: &'a [u32],
    params: &'a AutoParams,
    k: usize,
    /// One row of the core of each cluster; `None` for clusters without rows.
    heads: Vec<Option<u32>>,
    size: Vec<f64>,
    /// Is the row in the core of its cluster?
    placed: Vec<bool>,
    belief: Vec<f64>,
    /// What a row says that nobody asked about, by its cluster: k × k, rows sum to one.
    says: Vec<f64>,
    /// Affinity that crosses between clusters, k × k.
    crossing: Vec<f64>,
}

impl<'a> View<'a> {
    fn new(sight: &'a Sight<'a>, labels: &'a [u32], params: &'a AutoParams, error: f64) -> View<'a> {
        let known = sight.known;
        let k = labels.iter().max().map_or(1, |&m| m as usize + 1);
        let mut rows: Vec<Vec<u32>> = vec![Vec::new(); k];
        labels.iter().enumerate().for_each(|(row, &l)| rows[l as usize].push(row as u32));
        let mut placed = vec![false; labels.len()];
        let heads: Vec<Option<u32>> = rows
            .iter()
            .map(|rows| {
                let bound = rows.iter().copied().filter(|&r| known.bound(r as usize));
                // The largest chunklet, the first of equals; a lone row only if it is apart from something.
                let largest = bound.max_by_key(|&r| (known.members(r as usize).len(), u32::MAX - r));
                let head = largest.or_else(|| (!rows.is_empty()).then(|| representative(sight.ground, rows)))?;
                known.members(head as usize).iter().for_each(|&row| placed[row as usize] = true);
                Some(head)
            })
            .collect();
        let size = rows.iter().map(|r| r.len() as f64).collect();
        let mut crossing = vec![0.0; k * k];
        for (row, &l) in labels.iter().enumerate() {
            for (other, w) in sight.ground.graph().of(row) {
                crossing[l as usize * k + labels[other] as usize] += w;
            }
        }
        // Wrong rows of a cluster belong to those it touches, and a little to any.
        let mut says = vec![0.0; k * k];
        for c in 0..k {
            let cross = |o: usize| crossing[c * k + o] + crossing[o * k + c];
            let total: f64 = (0..k).filter(|&o| o != c).map(&cross).sum::<f64>().max(1e-12);
            for o in 0..k {
                let share = 0.9 * cross(o) / total + 0.1 / (k as f64 - 1.0).max(1.0);
                says[c * k + o] = if o == c { 1.0 - error } else { error * share };
            }
        }
        let mut view = View { sight, labels, params, k, heads, size, placed, belief: Vec::new(), says, crossing };
        view.belief = view.spread();
        if params.forest > 0.0 {
            view.imitate();
        }
        view
    }

    /// Multiplies the beliefs with what a forest says that was grown to reproduce the clustering (Xiong et al. 2014): how
    /// often a row shares a leaf with the rows of each core.
    fn imitate(&mut self) {
        let (n, k, ground) = (self.labels.len(), self.k, self.sight.ground);
        let forest = ground.imitation(self.labels);
        let owner = |row: usize| if self.placed[row] { self.labels[row] } else { NOWHERE };
        let (owners, all): (Vec<u32>, Vec<u32>) = (0..n).map(|row| (owner(row), row as u32)).unzip();
        let similar = similarities(ground.pool(), &forest, &owners, k, &all);
        for (belief, similar) in self.belief.chunks_exact_mut(k).zip(similar.chunks_exact(k)) {
            let (sum, total): (f64, f64) = (similar.iter().sum(), belief.iter().sum());
            for (b, s) in belief.iter_mut().zip(similar) {
                let share = if sum > 0.0 { 0.95 * s / sum } else { 0.95 / k as f64 } + 0.05 / k as f64;
                *b = *b / total.max(1e-300) * share.powf(self.params.forest);
            }
        }
    }

    /// Label spreading: F ← a·S·F + (1 − a)·Y, S the affinities of each row made to sum to one.
    fn spread(&self) -> Vec<f64> {
        let (n, k) = (self.labels.len(), self.k);
        let graph = self.sight.ground.graph();
        let a = self.params.spread;
        let answered = |row: usize| self.placed[row] && self.sight.known.bound(row);
        let says: Vec<f32> = self.says.iter().map(|s| (self.params.prior * s) as f32).collect();
        let add = |row: usize, factor: f32, out: &mut [f32]| {
            let own = self.labels[row] as usize;
            if answered(row) {
                out[own] += factor;
            } else {
                out.iter_mut().zip(&says[own * k..(own + 1) * k]).for_each(|(o, s)| *o += factor * s);
            }
        };
        // Beliefs of the neighbours are fetched from all over: in single precision most of them stay in the cache.
        let mut f = vec![0.0f32; n * k];
        f.chunks_exact_mut(k).enumerate().for_each(|(row, out)| add(row, 1.0, out));
        let mut next = vec![0.0f32; n * k];
        for _ in 0..self.params.steps {
            self.sight.ground.pool().map_chunks_mut(&mut next, 512 * k, |start, part| {
                for (at, out) in part.chunks_exact_mut(k).enumerate() {
                    let row = start / k + at;
                    out.fill(0.0);
                    let mut total = 0.0;
                    for (other, w) in graph.of(row) {
                        total += w;
                        let w = w as f32;
                        out.iter_mut().zip(&f[other * k..(other + 1) * k]).for_each(|(o, v)| *o += w * v);
                    }
                    let scale = if total > 0.0 { (a / total) as f32 } else { 0.0 };
                    out.iter_mut().for_each(|o| *o *= scale);
                    add(row, (1.0 - a) as f32, out);
                }
            });
            std::mem::swap(&mut f, &mut next);
        }
        f.into_iter().map(f64::from).collect()
    }

    /// P of each cluster for a row; clusters whose core it is known to be apart from are out.
    fn probabilities(&self, row: usize) -> Vec<f64> {
        let may =
            |head: &Option<u32>| head.is_some_and(|h| self.sight.known.entails(row, h as usize) != Entailed::Different);
        let allowed: Vec<bool> = self.heads.iter().map(may).collect();
        normalised(self.belief[row * self.k..(row + 1) * self.k].to_vec(), &allowed)
    }

    /// The most valuable row, against the core it most probably belongs to.
    fn best_row(&self) -> Option<Question> {
        let n = self.labels.len();
        let closed = self.sight.k.is_some_and(|k| k <= self.k);
        let pool = self.sight.ground.pool();
        let bits: Vec<f64> = pool
            .map_chunks(n, 256, |rows| {
                let one = |row: usize| if self.placed[row] { 0.0 } else { self.uncertain(row, closed) };
                rows.map(one).collect::<Vec<f64>>()
            })
            .concat();
        let graph = self.sight.ground.graph();
        let mut mass = bits.clone();
        for _ in 0..self.params.walk {
            mass = pool
                .map_chunks(n, 1024, |rows| {
                    let one = |row: usize| {
                        let (mut sum, mut total) = (mass[row], 1.0);
                        for (other, w) in graph.of(row) {
                            sum += w * mass[other];
                            total += w;
                        }
                        sum / total
                    };
                    rows.map(one).collect::<Vec<f64>>()
                })
                .concat();
        }
        let score = |row: usize| bits[row] * (1.0 + self.params.reach * mass[row]);
        let mut order: Vec<usize> = (0..n).filter(|&row| bits[row] > 0.0).collect();
        order.sort_by(|&a, &b| score(b).total_cmp(&score(a)).then(a.cmp(&b)));
        order.into_iter().find_map(|row| self.row(row, score(row)))
    }

    fn uncertain(&self, row: usize, closed: bool) -> f64 {
        let p = self.probabilities(row);
        match self.params.worth {
            Worth::Bits => uncertainty(&p, closed),
            Worth::Error => 1.0 - p[self.labels[row] as usize],
        }
    }

    /// A row against the core it most probably belongs to; `None` when it is in one, or when k alone places it.
    fn row(&self, row: usize, score: f64) -> Option<Question> {
        if self.placed[row] {
            return None;
        }
        let p = self.probabilities(row);
        let mut by: Vec<usize> = (0..self.k).filter(|&c| p[c] > 0.0).collect();
        if by.len() < 2 && self.sight.k.is_some_and(|k| k <= self.k) {
            return None;
        }
        by.sort_by(|&a, &b| p[b].total_cmp(&p[a]).then(a.cmp(&b)));
        for c in by {
            let Some(head) = self.heads[c] else { continue };
            let Some(member) = self.reference(row, head, c) else { continue };
            let why = format!(
                "the cluster of {{a}} is uncertain ({:.0} % for that of {{b}}) and rows around it are too",
                100.0 * p[c]
            );
            let mut question = Question::new(row, member, why);
            (question.score, question.probability_same) = (score, Some(p[c]));
            return Some(question);
        }
        None
    }

    /// The member of a core to compare a row with: the nearest of those that its neighbours agree belong there. One wrong
    /// answer puts one row into the wrong core; as a reference that row would draw others after it.
    fn reference(&self, row: usize, head: u32, c: usize) -> Option<usize> {
        let known = self.sight.known;
        let members = known.members(head as usize);
        let sure = |m: usize| {
            let of = &self.belief[m * self.k..(m + 1) * self.k];
            of[c] / of.iter().sum::<f64>().max(1e-300)
        };
        let mut shares: Vec<f64> = members.iter().map(|&m| sure(m as usize)).collect();
        shares.sort_by(f64::total_cmp);
        let least = shares[shares.len() / 2];
        let again = known.times_unsure(row, head as usize) == 1;
        let test =
            |m: usize| sure(m) >= least && if again { known.askable_again(row, m) } else { known.askable(row, m) };
        nearest_member(self.sight, row, head, test).map(|m| m.1).or_else(|| to_ask(self.sight, row, head))
    }

    /// The two cores that are most worth comparing.
    fn best_cores(&self) -> Option<Question> {
        let k = self.k;
        let volume: Vec<f64> = self.crossing.chunks_exact(k).map(|row| row.iter().sum()).collect();
        let mut best: Option<(f64, f64, usize, usize)> = None;
        for a in 0..k {
            for b in a + 1..k {
                let (Some(x), Some(y)) = (self.heads[a], self.heads[b]) else { continue };
                if !self.sight.known.askable(x as usize, y as usize) {
                    continue;
                }
                let cross = self.crossing[a * k + b] + self.crossing[b * k + a];
                let p = (cross / volume[a].min(volume[b]).max(1e-12)).min(0.5);
                let score = self.params.cores * p * self.size[a].min(self.size[b]);
                if best.is_none_or(|x| score > x.0) {
                    best = Some((score, p, x as usize, y as usize));
                }
            }
        }
        let (score, p, x, y) = best?;
        let why = "the middles of two clusters that touch: are they one?";
        let mut question = Question::new(x, y, why);
        (question.score, question.probability_same) = (score, Some(p));
        Some(question)
    }
}
