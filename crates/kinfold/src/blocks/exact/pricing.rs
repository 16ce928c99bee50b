//! Pricing of column generation: the valid cluster C of least reduced cost cost(C) − Σ_C λ + σ. By cost(C) = min_y Σ g_b(y),
//! g_b(y) = m_b‖x_b − y‖² + s_b − λ_b, it is a search over boxes of the centre y: a member of the best C has g_b ≤ 0 at its
//! centre, so only balls that meet the box count. Bound of a box: min(0, g) is concave in g and lies above its chord between
//! the smallest and largest value in the box, a convex quadratic in y; the sum of chords is minimised in closed form. Of a
//! clique of cannot-links only the smallest counts. Branching: a block in (its ball cuts the box, its cannot-links go) or
//! out, or the longest side in halves. A search that is cut short still gives a bound: the least over what is left.

use super::masses::Masses;
use crate::blocks::par::Pool;
use crate::context::RunContext;

/// Prices of blocks and of opening a cluster.
#[derive(Debug, Clone, PartialEq)]
pub struct Prices {
    /// λ ≥ 0 of every block.
    pub blocks: Vec<f64>,
    /// σ ≥ 0.
    pub cluster: f64,
}

/// A cluster and its reduced cost.
#[derive(Debug, Clone, PartialEq)]
pub struct Priced {
    /// Reduced cost.
    pub value: f64,
    /// Members, ascending.
    pub members: Vec<u32>,
}

/// What a search found.
#[derive(Debug, Clone)]
pub struct Found {
    /// Clusters of negative reduced cost, best first.
    pub columns: Vec<Priced>,
    /// No valid cluster has a reduced cost below this.
    pub bound: f64,
    /// Candidates looked at, in all boxes.
    pub work: u64,
}

/// When a search may stop.
#[derive(Debug, Clone, Copy)]
pub struct Effort {
    /// Reduced costs above −eps count as none.
    pub eps: f64,
    /// Work at most.
    pub work: u64,
}

/// Dimensions up to which boxes are halved rather than blocks decided.
const LOW_DIMS: usize = 6;
/// Boxes that are searched side by side.
const TASKS: usize = 32;
/// Boxes that a task still opens after a column worth having was found.
const AFTER_FOUND: u64 = 150;
/// A column this many eps below zero is worth having.
const WORTH: f64 = 20.0;
/// Boxes between two attempts to round, and between two looks at the clock.
const ROUND_EVERY: u64 = 16;
const CLOCK_EVERY: u64 = 512;
/// Columns returned at most.
const COLUMNS: usize = 40;

/// Greedy clusters around every block and around the given centres.
pub fn greedy(pool: &Pool, masses: &Masses, prices: &Prices, centres: &[Vec<f64>], eps: f64) -> Vec<Priced> {
    let useful: Vec<usize> = (0..masses.len()).filter(|&b| masses.scatter[b] < prices.blocks[b]).collect();
    let starts = useful.len() + centres.len();
    let parts = pool.map_chunks(starts, 16, |range| {
        let mut rounding = Rounding::new(masses, prices, &useful);
        range
            .map(|at| {
                let start =
                    useful.get(at).map_or_else(|| centres[at - useful.len()].clone(), |&b| masses.point(b).to_vec());
                rounding.around(start)
            })
            .collect::<Vec<_>>()
    });
    best_columns(parts.into_iter().flatten().flatten(), eps)
}

/// Distinct negative columns, best first.
fn best_columns(found: impl Iterator<Item = Priced>, eps: f64) -> Vec<Priced> {
    let mut columns: Vec<Priced> = found.filter(|c| c.value < -eps).collect();
    columns.sort_by(|a, b| a.value.total_cmp(&b.value).then_with(|| a.members.cmp(&b.members)));
    columns.dedup_by(|a, b| a.members == b.members);
    columns.truncate(COLUMNS);
    columns
}

/// Greedy choice of members for a centre, re-centred until nothing changes.
struct Rounding<'a> {
    masses: &'a Masses,
    prices: &'a Prices,
    useful: &'a [usize],
    order: Vec<(f64, u32)>,
}

impl<'a> Rounding<'a> {
    fn new(masses: &'a Masses, prices: &'a Prices, useful: &'a [usize]) -> Rounding<'a> {
        Rounding { masses, prices, useful, order: Vec::new() }
    }

    fn around(&mut self, mut y: Vec<f64>) -> Option<Priced> {
        let m = self.masses;
        let mut chosen: Vec<u32> = Vec::new();
        for _ in 0..30 {
            self.order.clear();
            for &b in self.useful {
                let g = m.weight[b] * m.distance2(b, &y) + m.scatter[b] - self.prices.blocks[b];
                if g < 0.0 {
                    self.order.push((g, b as u32));
                }
            }
            self.order.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
            let mut bits = m.no_bits();
            let mut next: Vec<(f64, u32)> = Vec::with_capacity(self.order.len());
            let mut refused: Vec<(f64, u32)> = Vec::new();
            for &(g, b) in &self.order {
                if m.clashes(b as usize, &bits) {
                    refused.push((g, b));
                } else {
                    bits[b as usize / 64] |= 1 << (b % 64);
                    next.push((g, b));
                }
            }
            for (g, b) in refused {
                // One that was refused may be worth more than those that keep it out together.
                let lost: f64 = next.iter().filter(|e| m.are_apart(b as usize, e.1 as usize)).map(|e| e.0).sum();
                if g < lost {
                    next.retain(|e| !m.are_apart(b as usize, e.1 as usize));
                    next.push((g, b));
                }
            }
            let mut members: Vec<u32> = next.iter().map(|e| e.1).collect();
            members.sort_unstable();
            if members.is_empty() || members == chosen {
                break;
            }
            y = m.sum(&members).mean();
            chosen = members;
        }
        (!chosen.is_empty()).then(|| Priced { value: reduced_cost(m, self.prices, &chosen), members: chosen })
    }
}

/// cost(C) − Σ λ + σ.
pub fn reduced_cost(masses: &Masses, prices: &Prices, members: &[u32]) -> f64 {
    masses.cost(members) - members.iter().map(|&b| prices.blocks[b as usize]).sum::<f64>() + prices.cluster
}

/// g of a block at the nearest and the farthest point of a box.
#[derive(Debug, Clone, Copy)]
struct Candidate {
    id: u32,
    low: f64,
    high: f64,
}

/// A box of centres, the blocks that must be in and those that may.
#[derive(Debug, Clone)]
struct Region {
    low: Vec<f64>,
    high: Vec<f64>,
    forced: Vec<u32>,
    candidates: Vec<Candidate>,
    bound: f64,
}

/// The cheapest valid cluster, or a bound on it.
pub fn search(ctx: &RunContext, masses: &Masses, prices: &Prices, known: Option<Priced>, effort: Effort) -> Found {
    let useful: Vec<usize> = (0..masses.len()).filter(|&b| masses.scatter[b] < prices.blocks[b]).collect();
    let Some(root) = Region::root(masses, prices, &useful) else {
        return Found { columns: Vec::new(), bound: prices.cluster, work: 0 };
    };
    let start = Searcher::new(ctx, masses, prices, &useful, effort, known.into_iter().collect());
    // A few boxes in one row first, then each of them by itself: the same for any number of threads.
    let mut front = start.clone();
    let mut open = vec![root];
    while open.len() < TASKS && !open.is_empty() && !front.is_over() {
        // Widest bound first keeps the tasks of similar size.
        let at = (0..open.len()).min_by(|&a, &b| open[a].bound.total_cmp(&open[b].bound).then(a.cmp(&b))).unwrap_or(0);
        let region = open.swap_remove(at);
        front.open(region, &mut open);
    }
    if open.is_empty() || front.is_over() {
        let bound = open.iter().map(|r| r.bound).fold(front.settled(), f64::min);
        return Found { columns: best_columns(front.found.into_iter(), effort.eps), bound, work: front.work };
    }
    let share = Effort { work: (effort.work.saturating_sub(front.work)) / open.len() as u64, ..effort };
    let parts = ctx.pool.map(open.len(), |i| {
        let mut task = Searcher { effort: share, work: 0, boxes: 0, ..front.clone() };
        let mut stack = vec![open[i].clone()];
        while let Some(region) = stack.pop() {
            if task.is_over() {
                stack.push(region);
                break;
            }
            task.open(region, &mut stack);
        }
        let bound = stack.iter().map(|r| r.bound).fold(task.settled(), f64::min);
        (task.found, bound, task.work)
    });
    let bound = parts.iter().map(|p| p.1).fold(front.settled(), f64::min);
    let work = front.work + parts.iter().map(|p| p.2).sum::<u64>();
    Found { columns: best_columns(parts.into_iter().flat_map(|p| p.0), effort.eps), bound, work }
}

/// One search: what it found and what it may still spend.
#[derive(Clone)]
struct Searcher<'a> {
    ctx: &'a RunContext,
    masses: &'a Masses,
    prices: &'a Prices,
    useful: &'a [usize],
    effort: Effort,
    found: Vec<Priced>,
    best: f64,
    /// Least bound of boxes that were closed although below the threshold.
    floor: f64,
    work: u64,
    boxes: u64,
    /// Boxes opened since a column worth having was known.
    since: u64,
    stopped: bool,
    present: Vec<u64>,
    bound_ones: Vec<Candidate>,
    /// g at the nearest point of the box for those bound by cliques, 0 for all others.
    low_of: Vec<f64>,
    spare: Vec<Vec<Candidate>>,
}

impl<'a> Searcher<'a> {
    fn new(
        ctx: &'a RunContext,
        masses: &'a Masses,
        prices: &'a Prices,
        useful: &'a [usize],
        effort: Effort,
        found: Vec<Priced>,
    ) -> Searcher<'a> {
        let best = found.iter().map(|f| f.value).fold(f64::INFINITY, f64::min);
        Searcher {
            ctx,
            masses,
            prices,
            useful,
            effort,
            found,
            best,
            floor: f64::INFINITY,
            work: 0,
            boxes: 0,
            since: 0,
            stopped: false,
            present: masses.no_bits(),
            bound_ones: Vec::new(),
            low_of: vec![0.0; masses.len()],
            spare: Vec::new(),
        }
    }

    /// Below this a box is worth opening.
    fn threshold(&self) -> f64 {
        self.best.min(-self.effort.eps) - 1e-9
    }

    /// What the boxes that were closed prove.
    fn settled(&self) -> f64 {
        self.threshold().min(self.floor)
    }

    fn is_over(&mut self) -> bool {
        if self.boxes.is_multiple_of(CLOCK_EVERY) && self.ctx.checkpoint().is_err() {
            self.stopped = true;
        }
        self.stopped || self.work > self.effort.work || self.since > AFTER_FOUND
    }

    /// Bounds a box and splits it unless that is enough.
    fn open(&mut self, mut region: Region, out: &mut Vec<Region>) {
        self.boxes += 1;
        self.work += region.candidates.len() as u64 + 1;
        if self.best < -WORTH * self.effort.eps {
            self.since += 1;
        }
        let Some(view) = self.bound(&mut region) else { return self.recycle(region) };
        region.bound = region.bound.max(view.value);
        if view.value >= self.threshold() {
            return self.recycle(region);
        }
        if let Some(members) = view.members {
            // Chords and truth coincide here: this cluster is what the bound promises, to a fraction of eps.
            let value = reduced_cost(self.masses, self.prices, &members);
            self.keep(Priced { value, members });
            self.floor = self.floor.min(view.value);
            return self.recycle(region);
        }
        if self.boxes.is_multiple_of(ROUND_EVERY) {
            let column = Rounding::new(self.masses, self.prices, self.useful).around(view.y.clone());
            column.into_iter().for_each(|c| self.keep(c));
        }
        match view.decide {
            Some(id) => self.decide(region, id, out),
            None => self.halve(region, &view.y, out),
        }
    }

    fn keep(&mut self, column: Priced) {
        if column.value < self.best {
            self.best = column.value;
            self.found.push(column);
        }
    }

    fn recycle(&mut self, mut region: Region) {
        region.candidates.clear();
        self.spare.push(region.candidates);
    }

    /// `None`: nothing better than what is known can have its centre here.
    fn bound(&mut self, region: &mut Region) -> Option<View> {
        let (m, dims) = (self.masses, self.masses.dims());
        region.candidates.retain(|c| c.low < 0.0);
        let mut quadratic = Quadratic { weight: 0.0, sum: vec![0.0; dims], constant: self.prices.cluster };
        for &b in &region.forced {
            let b = b as usize;
            if region.range(m, self.prices, b).0 > 0.0 {
                return None;
            }
            quadratic.add(m, self.prices, b, 1.0, 0.0);
        }
        // Blocks that clash with another candidate are bound by cliques, the others stand alone.
        self.present.fill(0);
        region.candidates.iter().for_each(|c| self.present[c.id as usize / 64] |= 1 << (c.id % 64));
        self.bound_ones.clear();
        let (mut slack, mut widest): (f64, Option<(f64, u32)>) = (0.0, None);
        for &c in &region.candidates {
            if m.clashes(c.id as usize, &self.present) {
                self.bound_ones.push(c);
                continue;
            }
            let open = quadratic.add_chord(m, self.prices, &c, 0.0);
            slack += open;
            if open > widest.map_or(0.0, |w| w.0) {
                widest = Some((open, c.id));
            }
        }
        let mut heaviest: Option<(f64, u32)> = None;
        if !self.bound_ones.is_empty() {
            self.bound_ones.sort_by(|a, b| a.low.total_cmp(&b.low).then(a.id.cmp(&b.id)));
            let mut used = vec![false; self.bound_ones.len()];
            let mut clique: Vec<u32> = Vec::new();
            for i in 0..self.bound_ones.len() {
                if std::mem::replace(&mut used[i], true) {
                    continue;
                }
                let leader = self.bound_ones[i];
                clique.clear();
                clique.push(leader.id);
                let mut second = 0.0;
                for j in i + 1..self.bound_ones.len() {
                    let other = self.bound_ones[j];
                    if !used[j] && clique.iter().all(|&x| m.are_apart(x as usize, other.id as usize)) {
                        if clique.len() == 1 {
                            second = other.low;
                        }
                        used[j] = true;
                        clique.push(other.id);
                    }
                }
                slack += quadratic.add_chord(m, self.prices, &leader, second);
                slack += leader.high.min(0.0) - leader.low;
            }
            self.bound_ones.iter().for_each(|c| self.low_of[c.id as usize] = c.low);
            for c in &self.bound_ones {
                // Those that are not here count nothing.
                let others: f64 = m.apart(c.id as usize).iter().map(|&o| -self.low_of[o as usize]).sum();
                let weight = others.min(-4.0 * c.low);
                if weight > heaviest.map_or(0.0, |h| h.0) {
                    heaviest = Some((weight, c.id));
                }
            }
            self.bound_ones.iter().for_each(|c| self.low_of[c.id as usize] = 0.0);
        }
        let (value, y) = quadratic.least(&region.low, &region.high);
        let clash = heaviest.filter(|h| h.0 > 0.5 * slack);
        let wide = (dims > LOW_DIMS || region.is_small()).then_some(widest.or(heaviest)).flatten();
        let members = (self.bound_ones.is_empty() && slack < 0.25 * self.effort.eps).then(|| {
            let negative = |c: &&Candidate| {
                let b = c.id as usize;
                m.weight[b] * m.distance2(b, &y) + m.scatter[b] < self.prices.blocks[b]
            };
            let mut all = region.forced.clone();
            all.extend(region.candidates.iter().filter(negative).map(|c| c.id));
            all.sort_unstable();
            all
        });
        let members = members.filter(|m| !m.is_empty());
        Some(View { value, y, members, decide: clash.or(wide).map(|d| d.1) })
    }

    /// The block in, or out.
    fn decide(&mut self, region: Region, id: u32, out: &mut Vec<Region>) {
        let (m, b) = (self.masses, id as usize);
        let mut inside = region.clone_with(self.spare.pop());
        inside.forced.push(id);
        inside.candidates.retain(|c| c.id != id && !m.are_apart(b, c.id as usize));
        let radius = ((self.prices.blocks[b] - m.scatter[b]) / m.weight[b]).max(0.0).sqrt();
        let mut empty = false;
        for (j, &x) in m.point(b).iter().enumerate() {
            inside.low[j] = inside.low[j].max(x - radius);
            inside.high[j] = inside.high[j].min(x + radius);
            empty |= inside.low[j] > inside.high[j];
        }
        let mut without = region;
        without.candidates.retain(|c| c.id != id);
        out.push(without);
        if empty {
            return self.recycle(inside);
        }
        let (low, high) = (std::mem::take(&mut inside.low), std::mem::take(&mut inside.high));
        for c in &mut inside.candidates {
            (c.low, c.high) = range(m, self.prices, c.id as usize, &low, &high);
        }
        (inside.low, inside.high) = (low, high);
        out.push(inside);
    }

    /// The longest side in halves, the one with the minimiser on top of the stack.
    fn halve(&mut self, region: Region, y: &[f64], out: &mut Vec<Region>) {
        let side = |j: usize| region.high[j] - region.low[j];
        let j = (0..y.len()).fold(0, |best, j| if side(j) > side(best) { j } else { best });
        let (a, b) = (region.low[j], region.high[j]);
        let middle = 0.5 * (a + b);
        if !(a < middle && middle < b) {
            // As small as numbers go: nothing to split, and nothing to lose by taking its bound for its value.
            self.floor = self.floor.min(region.bound);
            return self.recycle(region);
        }
        let mut upper = region.clone_with(self.spare.pop());
        let mut lower = region;
        lower.high[j] = middle;
        upper.low[j] = middle;
        for (part, from, to) in [(&mut lower, a, middle), (&mut upper, middle, b)] {
            for c in &mut part.candidates {
                let (x, w) = (self.masses.point(c.id as usize)[j], self.masses.weight[c.id as usize]);
                c.low += w * (near(x, from, to) - near(x, a, b));
                c.high += w * (far(x, from, to) - far(x, a, b));
            }
        }
        if y[j] > middle {
            out.push(lower);
            out.push(upper);
        } else {
            out.push(upper);
            out.push(lower);
        }
    }
}

/// What is known of a box.
struct View {
    value: f64,
    /// Where the bound is least.
    y: Vec<f64>,
    /// The cluster that attains the bound, where it is known.
    members: Option<Vec<u32>>,
    /// The block to decide next; `None` to halve the box.
    decide: Option<u32>,
}

/// Σ τ g_b(y) + constants, as weight‖y‖² − 2 sum·y + constant.
struct Quadratic {
    weight: f64,
    sum: Vec<f64>,
    constant: f64,
}

impl Quadratic {
    fn add(&mut self, m: &Masses, prices: &Prices, b: usize, share: f64, constant: f64) {
        let w = share * m.weight[b];
        self.weight += w;
        self.sum.iter_mut().zip(m.point(b)).for_each(|(s, x)| *s += w * x);
        self.constant += share * (m.own[b] - prices.blocks[b]) + constant;
    }

    /// The chord of min(·, second) over the values that g takes in the box; how far it is below at most.
    fn add_chord(&mut self, m: &Masses, prices: &Prices, c: &Candidate, second: f64) -> f64 {
        if c.high <= second {
            self.add(m, prices, c.id as usize, 1.0, 0.0);
            return 0.0;
        }
        let share = (second - c.low) / (c.high - c.low);
        self.add(m, prices, c.id as usize, share, second - share * c.high);
        // At g = second the chord is below by this much.
        (second - c.low) * (1.0 - share)
    }

    fn least(&self, low: &[f64], high: &[f64]) -> (f64, Vec<f64>) {
        let y: Vec<f64> = (0..low.len())
            .map(|j| {
                let free = if self.weight > 0.0 { self.sum[j] / self.weight } else { 0.5 * (low[j] + high[j]) };
                free.clamp(low[j], high[j])
            })
            .collect();
        let value = self.constant + y.iter().zip(&self.sum).map(|(y, s)| y * (self.weight * y - 2.0 * s)).sum::<f64>();
        (value, y)
    }
}

fn near(x: f64, low: f64, high: f64) -> f64 {
    let off = (low - x).max(x - high).max(0.0);
    off * off
}

fn far(x: f64, low: f64, high: f64) -> f64 {
    let off = (x - low).max(high - x);
    off * off
}

fn range(m: &Masses, prices: &Prices, b: usize, low: &[f64], high: &[f64]) -> (f64, f64) {
    let (mut n, mut f) = (0.0, 0.0);
    for ((&x, &a), &z) in m.point(b).iter().zip(low).zip(high) {
        n += near(x, a, z);
        f += far(x, a, z);
    }
    let rest = m.scatter[b] - prices.blocks[b];
    (m.weight[b] * n + rest, m.weight[b] * f + rest)
}

impl Region {
    /// The best centre is a mean of useful blocks, so it lies in their bounding box.
    fn root(m: &Masses, prices: &Prices, useful: &[usize]) -> Option<Region> {
        let first = *useful.first()?;
        let (mut low, mut high) = (m.point(first).to_vec(), m.point(first).to_vec());
        for &b in useful {
            for (j, &x) in m.point(b).iter().enumerate() {
                low[j] = low[j].min(x);
                high[j] = high[j].max(x);
            }
        }
        let candidates = useful
            .iter()
            .map(|&b| {
                let (near, far) = range(m, prices, b, &low, &high);
                Candidate { id: b as u32, low: near, high: far }
            })
            .collect();
        Some(Region { low, high, forced: Vec::new(), candidates, bound: f64::NEG_INFINITY })
    }

    fn range(&self, m: &Masses, prices: &Prices, b: usize) -> (f64, f64) {
        range(m, prices, b, &self.low, &self.high)
    }

    fn is_small(&self) -> bool {
        self.low.iter().zip(&self.high).all(|(a, b)| b - a < 1e-7)
    }

    fn clone_with(&self, buffer: Option<Vec<Candidate>>) -> Region {
        let mut candidates = buffer.unwrap_or_default();
        candidates.clone_from(&self.candidates);
        Region {
            low: self.low.clone(),
            high: self.high.clone(),
            forced: self.forced.clone(),
            candidates,
            bound: self.bound,
        }
    }
}
