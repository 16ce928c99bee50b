//! Clashes mended where they are. Units that clash are solved with nothing but the cannot-links among them; when their
//! new clusters clash with units around them, those join in and the piece is solved again. Once nothing clashes the
//! labels are the cheapest of the whole component: what was solved is the full problem with fewer cannot-links, and its
//! solution keeps them all. So most clashes cost two units, however large the component, and pairs are looked at in
//! parallel. Where many units hang together a piece may be solved well without proof; it starts from the labels of the
//! iteration before, so the cost does not rise either. Pieces that grow beyond `MOST_UNITS` or for which nothing is found
//! are left to the solver of whole components.
//! Cost O(k·dims) per unit that takes part.

use super::assign::{cheapest_labels, two_smallest};
use super::units::{CostRows, FREE, Units};
use crate::context::RunContext;
use crate::data::{Float, Matrix};

/// Fewest clusters: with two, a move passes on to everything that is connected.
pub(crate) const FEWEST_CLUSTERS: usize = 3;
/// Times that neighbours may join.
const ROUNDS: usize = 6;
/// Clashes per task, and how many before their turn their neighbours are asked for.
const TASK: usize = 128;
const AHEAD: usize = 8;
/// Pieces per task.
const PIECES: usize = 16;
/// Units of a piece at most.
const MOST_UNITS: usize = 10_000;

/// The units that take part, with their costs; kept from iteration to iteration for its memory.
#[derive(Default)]
pub(crate) struct Mend {
    /// Unit → its place in `units`, `FREE` for the others.
    place: Vec<u32>,
    units: Vec<u32>,
    costs: Vec<f64>,
    /// The round in which a unit was last looked at, and its number in its piece.
    seen: Vec<u32>,
    number: Vec<u32>,
    /// Unit → the other of a pair that was settled by itself, `FREE` for the others.
    partner: Vec<u32>,
    pairs: Vec<(u32, u32)>,
}

impl Mend {
    /// Gives the units around these clashes their cheapest clusters; `labels` are nearest centres elsewhere, `previous`
    /// keeps every cannot-link. Returns units of the components for which that did not end, and whether all is proven.
    pub(crate) fn settle<F: Float>(
        &mut self,
        ctx: &RunContext,
        units: &Units<'_, F>,
        centres: &Matrix,
        clashes: &[(u32, u32)],
        previous: Option<&[u32]>,
        labels: &mut [u32],
    ) -> (Vec<u32>, bool) {
        let k = centres.rows();
        let rows = CostRows::new(units, centres);
        self.place.resize(units.bound(), FREE);
        self.partner.resize(units.bound(), FREE);
        self.units.drain(..).for_each(|u| self.place[u as usize] = FREE);
        for (a, b) in self.pairs.drain(..) {
            (self.partner[a as usize], self.partner[b as usize]) = (FREE, FREE);
        }
        let (mut left, mut proven) = (Vec::new(), true);
        let mut joining = self.settle_pairs(ctx, units, &rows, k, clashes, labels);
        for round in 0..=ROUNDS as u32 {
            let first = self.units.len();
            // With one of a pair comes the other, which moved only because of it.
            for u in joining.drain(..).flat_map(|u| [u, self.partner[u as usize]]) {
                if u != FREE && self.place[u as usize] == FREE {
                    self.place[u as usize] = self.units.len() as u32;
                    self.units.push(u);
                }
            }
            if round == ROUNDS as u32 {
                left.extend_from_slice(&self.units[first..]);
                break;
            }
            self.seen.resize(self.units.len(), u32::MAX);
            self.seen[first..].fill(u32::MAX);
            self.number.resize(self.units.len(), 0);
            self.costs.resize(self.units.len() * k, 0.0);
            let new = &self.units[first..];
            ctx.pool.map_chunks_mut(&mut self.costs[first * k..], 512 * k, |start, slice| {
                for (&unit, row) in new[start / k..].iter().zip(slice.chunks_exact_mut(k)) {
                    rows.write(unit as usize, row);
                }
            });
            let mut pieces = Vec::new();
            for start in first..self.units.len() {
                if self.seen[start] != round {
                    pieces.push(self.piece(units, start as u32, round));
                }
            }
            let this = &*self;
            let solved = ctx.pool.map_chunks(pieces.len(), PIECES, |range| {
                let solve = |piece: &Vec<u32>| {
                    (piece.len() <= MOST_UNITS).then(|| this.solve(ctx, units, piece, k, previous)).flatten()
                };
                pieces[range].iter().map(solve).collect::<Vec<_>>()
            });
            let solved: Vec<Option<(Vec<u32>, bool)>> = solved.into_iter().flatten().collect();
            for (piece, solved) in pieces.iter().zip(&solved) {
                let Some((found, exact)) = solved else {
                    left.push(self.units[piece[0] as usize]);
                    continue;
                };
                proven &= exact;
                piece.iter().zip(found).for_each(|(&p, &c)| labels[self.units[p as usize] as usize] = c);
            }
            for &p in pieces.iter().zip(&solved).filter(|(_, solved)| solved.is_some()).flat_map(|(piece, _)| piece) {
                let u = self.units[p as usize];
                let around = units.graph.neighbours(u).iter().map(|&v| v as usize);
                let clash = around.filter(|&v| self.place[v] == FREE && labels[v] == labels[u as usize]);
                joining.extend(clash.map(|v| v as u32));
            }
            if joining.is_empty() {
                break;
            }
        }
        (left, proven)
    }

    /// Settles the clashes that touch no other clash and whose cheapest clusters are free; the units of all others.
    fn settle_pairs<F: Float>(
        &mut self,
        ctx: &RunContext,
        units: &Units<'_, F>,
        rows: &CostRows<'_, F>,
        k: usize,
        clashes: &[(u32, u32)],
        labels: &mut [u32],
    ) -> Vec<u32> {
        let at = |labels: &[u32], u: u32, but: u32, cluster: u32| {
            units.graph.neighbours(u).iter().any(|&v| v != but && labels[v as usize] == cluster)
        };
        let near = &*labels;
        let found = ctx.pool.map_chunks(clashes.len(), TASK, |range| {
            let clashes = &clashes[range];
            // What a task reads lies all over memory and fits into the first cache levels: all of it is asked for at once.
            let by_itself = |(i, &(a, b)): (usize, &(u32, u32))| {
                if let Some(&(a, b)) = clashes.get(i + AHEAD) {
                    units.graph.prefetch(a);
                    units.graph.prefetch(b);
                }
                rows.prefetch(a as usize);
                rows.prefetch(b as usize);
                if units.graph.degree(a) == 1 && units.graph.degree(b) == 1 {
                    Touches::Nobody
                } else if at(near, a, b, near[a as usize]) || at(near, b, a, near[b as usize]) {
                    Touches::AClash
                } else {
                    Touches::Others
                }
            };
            let touches: Vec<Touches> = clashes.iter().enumerate().map(by_itself).collect();
            let (mut one, mut two) = (vec![0.0; k], vec![0.0; k]);
            let pair = |(&touches, &(a, b)): (&Touches, &(u32, u32))| {
                (touches != Touches::AClash).then(|| {
                    rows.write(a as usize, &mut one);
                    rows.write(b as usize, &mut two);
                    (touches, apart(&one, &two))
                })
            };
            touches.iter().zip(clashes).map(pair).collect::<Vec<_>>()
        });
        let mut others = Vec::new();
        for (&(a, b), found) in clashes.iter().zip(found.into_iter().flatten()) {
            match found {
                // Nobody will ask where they are.
                Some((Touches::Nobody, (for_a, for_b))) => {
                    (labels[a as usize], labels[b as usize]) = (for_a, for_b);
                }
                Some((_, (for_a, for_b))) if !at(labels, a, b, for_a) && !at(labels, b, a, for_b) => {
                    (labels[a as usize], labels[b as usize]) = (for_a, for_b);
                    (self.partner[a as usize], self.partner[b as usize]) = (b, a);
                    self.pairs.push((a, b));
                }
                _ => others.extend([a, b]),
            }
        }
        others
    }

    /// The units (as places) that are connected with this one through units that take part.
    fn piece<F: Float>(&mut self, units: &Units<'_, F>, start: u32, round: u32) -> Vec<u32> {
        let mut piece = vec![start];
        self.seen[start as usize] = round;
        self.number[start as usize] = 0;
        let mut next = 0;
        while next < piece.len() {
            for &v in units.graph.neighbours(self.units[piece[next] as usize]) {
                let place = self.place[v as usize];
                if place != FREE && self.seen[place as usize] != round {
                    self.seen[place as usize] = round;
                    self.number[place as usize] = piece.len() as u32;
                    piece.push(place);
                }
            }
            next += 1;
        }
        piece
    }

    /// The cheapest labels of a piece and whether that is proven; `None` when none were found.
    fn solve<F: Float>(
        &self,
        ctx: &RunContext,
        units: &Units<'_, F>,
        piece: &[u32],
        k: usize,
        previous: Option<&[u32]>,
    ) -> Option<(Vec<u32>, bool)> {
        let row = |place: u32| &self.costs[place as usize * k..(place as usize + 1) * k];
        let unit = |place: u32| self.units[place as usize];
        if let &[a, b] = piece {
            let (for_a, for_b) = apart(row(a), row(b));
            return Some((vec![for_a, for_b], true));
        }
        let mut edges = Vec::new();
        for (i, &p) in (0..).zip(piece) {
            // Whoever takes part and is linked to one of the piece is in it.
            let places = units.graph.neighbours(unit(p)).iter().map(|&v| self.place[v as usize]);
            let numbers = places.filter(|&q| q != FREE).map(|q| self.number[q as usize]);
            edges.extend(numbers.filter(|&j| j > i).map(|j| (i, j)));
        }
        let costs: Vec<f64> = piece.iter().flat_map(|&p| row(p)).copied().collect();
        let start = previous.map(|labels| piece.iter().map(|&p| labels[unit(p) as usize]).collect());
        cheapest_labels(ctx, &edges, &costs, k, start)
    }
}

/// Whom the two of a clash are linked to beside each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Touches {
    Nobody,
    Others,
    AClash,
}

/// The cheapest clusters of two that must differ.
fn apart(one: &[f64], two: &[f64]) -> (u32, u32) {
    let (a, b) = (two_smallest(one), two_smallest(two));
    if a.0 != b.0 {
        return (a.0 as u32, b.0 as u32);
    }
    let second = |row: &[f64], of: (usize, f64, f64)| {
        let other = row.iter().enumerate().position(|(c, &x)| c != of.0 && x == of.2);
        other.unwrap_or(of.0) as u32
    };
    // The one to whom it matters less moves.
    if a.2 - a.1 < b.2 - b.1 { (second(one, a), b.0 as u32) } else { (a.0 as u32, second(two, b)) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::blocks::assign::Assigner;
    use crate::blocks::clashes::Clashes;
    use crate::constraints::{ConstraintSet, Kind};
    use crate::data::Dataset;
    use crate::rng::Rng;

    #[test]
    fn mended_components_cost_what_the_whole_solution_costs() {
        let ctx = RunContext::new(0).with_threads(1);
        let (mut mended, mut compared, mut grown) = (0, 0, 0);
        for case in 0..400 {
            let mut rng = Rng::stream(case, "mend test", 0);
            let (n, k) = (20 + rng.below(60), 3 + rng.below(6));
            let rows: Vec<f64> = (0..2 * n).map(|_| rng.normal()).collect();
            let data = Dataset::dense(&rows, 2).unwrap();
            let mut given = ConstraintSet::new(n);
            for _ in 0..n / 8 + rng.below(n) {
                let (a, b) = (rng.below(n), rng.below(n));
                if a != b {
                    given.add_pair(Kind::CannotLink, a, b).unwrap();
                }
            }
            let chunklets = given.close().unwrap();
            let units = Units::new(&data, &chunklets);
            let centres = Matrix::from_vec(2, (0..2 * k).map(|_| rng.normal()).collect());
            let costs = units.costs(&ctx.pool, &centres);
            let cost = |labels: &[u32], of: &[u32]| -> f64 {
                of.iter().map(|&u| costs[u as usize * k + labels[u as usize] as usize]).sum()
            };
            let nearest: Vec<u32> = costs.chunks(k).map(|row| two_smallest(row).0 as u32).collect();
            let mut best = nearest.clone();
            let Ok(solved) = Assigner::new(&units.graph, k).assign(&ctx, &costs, None, &mut best) else { continue };
            let mut clashes = Clashes::new(&units);
            let clash = clashes.find(&ctx.pool, &nearest);
            let mut labels = nearest.clone();
            let mut mend = Mend::default();
            // Twice, so that what an earlier call left behind would show.
            mend.settle(&ctx, &units, &centres, &clash, None, &mut labels);
            let before = labels.clone();
            labels.copy_from_slice(&nearest);
            let keeps = units.graph.edges().all(|(a, b)| before[a as usize] != before[b as usize]);
            let previous = (keeps && case % 2 == 0).then_some(&before[..]);
            let (left, proven) = mend.settle(&ctx, &units, &centres, &clash, previous, &mut labels);
            clashes.gather(left);
            let whole: Vec<u32> = (0..units.bound() as u32).filter(|u| clashes.row_of[*u as usize] == FREE).collect();
            let kept =
                |&(a, b): &(u32, u32)| clashes.row_of[a as usize] != FREE || labels[a as usize] != labels[b as usize];
            assert!(units.graph.edges().all(|e| kept(&e)), "case {case}");
            if solved.exact && proven {
                compared += 1;
                let (ours, theirs) = (cost(&labels, &whole), cost(&best, &whole));
                assert!((ours - theirs).abs() < 1e-9 * (1.0 + theirs), "case {case}: {ours} {theirs}");
            }
            mended += clash.len();
            grown += usize::from(mend.units.iter().any(|u| clash.iter().all(|c| c.0 != *u && c.1 != *u)));
        }
        assert!(mended > 1000 && compared > 300 && grown > 20, "{mended} {compared} {grown}");
    }
}
