//! CKM, the constrained k-means that takes constraints by priority (Okabe & Yamada 2018, Algorithm 2). A sweep: nearest
//! two centres of every constrained point; constraints in the given order, each placing the points of it that are still
//! free so that it holds (must-link: both to the nearer nearest centre, or after the partner; cannot-link: the second
//! nearest for the farther one); the other points to their nearest centre; centres to the means. It never fails: a pair
//! of placed points is left as it is, so the first two constraints always hold (Appendix B) and later ones may not.
//! Stops when the assignment repeats, when the cost does not fall (the assignment before is kept) or after `max_iter`.
//! Cost per sweep O(n·k·dims + S). Points are rows or chunklets, with a linear kernel or a matrix.

use std::collections::VecDeque;

use super::centred::{Centred, Near};
use super::kernel_kmeans::Init;
use crate::constraints::{Chunklets, ConstraintSet, Kind};
use crate::context::{RunContext, Termination};
use crate::error::{Error, Result};
use crate::rng::Rng;

crate::choice! {
    /// What is placed.
    pub enum Base {
        /// Rows, as in the paper: must-links can break.
        Rows = "rows",
        /// Chunklets: must-links hold by construction, only cannot-links can break.
        Chunklets = "chunklets",
    }
}

crate::choice! {
    /// The order of constraints of equal priority.
    pub enum Order {
        /// Shuffled.
        Random = "random",
        /// Breadth first over the graph of the constraints: each meets a point that is placed already.
        Component = "component",
        /// By the rows they name, as the authors' program walks a matrix of constraints.
        Index = "index",
    }
}

crate::choice! {
    /// Which of two points is closer to its nearest centre.
    pub enum Closer {
        /// The one at the smaller distance.
        Distance = "distance",
        /// By −2⟨x, μ⟩ + ‖μ‖², distances without K_ii, as the authors' program compares: of two points as near to their
        /// centres the longer one, so that the origin counts.
        Product = "product",
    }
}

/// Most pairs that sets and labels may stand for.
const MOST_LINKS: u64 = 50_000_000;
const NOWHERE: u32 = u32::MAX;

/// One constraint between two slots of [`Links::bound`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Link {
    a: u32,
    b: u32,
    together: bool,
}

/// The constraints between points, by slots: the slot of a point is its place among the constrained points.
#[derive(Debug, Clone)]
pub struct Links {
    links: Vec<Link>,
    bound: Vec<u32>,
    shares: Vec<f64>,
}

impl Links {
    /// The given pairs between rows; sets and labels are expanded. Weights are normalised to sum to one; hard ones
    /// count as much as twice the heaviest soft one.
    pub fn of_rows(method: &'static str, given: &ConstraintSet) -> Result<Links> {
        check_size(method, given)?;
        let pairs = given.expanded().map(|p| (p.a, p.b, p.kind, p.weight)).collect();
        Ok(Links::new(given.n(), pairs))
    }

    /// The cannot-links between chunklets, each with the total weight of the pairs behind it. Those inside a chunklet
    /// contradict the must-links and are left out.
    pub fn of_chunklets(method: &'static str, given: &ConstraintSet, chunklets: &Chunklets) -> Result<Links> {
        check_size(method, given)?;
        let mut edges: Vec<(u32, u32, f64)> = given
            .expanded()
            .filter(|p| p.kind == Kind::CannotLink)
            .map(|p| (chunklets.of(p.a as usize), chunklets.of(p.b as usize), p.weight))
            .filter(|(a, b, _)| a != b)
            .map(|(a, b, w)| (a.min(b), a.max(b), w))
            .collect();
        edges.sort_unstable_by(|x, y| (x.0, x.1).cmp(&(y.0, y.1)).then(x.2.total_cmp(&y.2)));
        let mut pairs: Vec<(u32, u32, Kind, f64)> = Vec::new();
        for (a, b, w) in edges {
            match pairs.last_mut() {
                Some(last) if (last.0, last.1) == (a, b) => last.3 += w,
                _ => pairs.push((a, b, Kind::CannotLink, w)),
            }
        }
        Ok(Links::new(chunklets.len(), pairs))
    }

    fn new(points: usize, pairs: Vec<(u32, u32, Kind, f64)>) -> Links {
        let mut slot_of = vec![NOWHERE; points];
        pairs.iter().for_each(|p| (slot_of[p.0 as usize], slot_of[p.1 as usize]) = (0, 0));
        let bound: Vec<u32> = (0..points as u32).filter(|&i| slot_of[i as usize] == 0).collect();
        bound.iter().enumerate().for_each(|(slot, &i)| slot_of[i as usize] = slot as u32);
        let soft = pairs.iter().map(|p| p.3).filter(|w| w.is_finite()).fold(0.0, f64::max);
        let hard = if soft > 0.0 { 2.0 * soft } else { 1.0 };
        let mut shares: Vec<f64> = pairs.iter().map(|p| p.3.min(hard)).collect();
        let total: f64 = shares.iter().sum();
        shares.iter_mut().for_each(|s| *s /= total);
        let slots = |p: &(u32, u32, Kind, f64)| Link {
            a: slot_of[p.0 as usize],
            b: slot_of[p.1 as usize],
            together: p.2 == Kind::MustLink,
        };
        Links { links: pairs.iter().map(slots).collect(), bound, shares }
    }

    /// Number of constraints.
    pub fn len(&self) -> usize {
        self.links.len()
    }
    /// None?
    pub fn is_empty(&self) -> bool {
        self.links.is_empty()
    }
    /// Their weights, which sum to one.
    pub fn shares(&self) -> &[f64] {
        &self.shares
    }
    /// The points that occur in a constraint, ascending.
    pub fn bound(&self) -> &[u32] {
        &self.bound
    }
    /// The two points of constraint s, and whether they must be together.
    pub fn pair(&self, s: usize) -> (u32, u32, bool) {
        let link = self.links[s];
        (self.bound[link.a as usize], self.bound[link.b as usize], link.together)
    }
    /// Does constraint s hold?
    pub fn holds(&self, s: usize, labels: &[u32]) -> bool {
        let link = self.links[s];
        let label = |slot: u32| labels[self.bound[slot as usize] as usize];
        (label(link.a) == label(link.b)) == link.together
    }
    /// The share of the constraints that do not hold.
    pub fn broken_share(&self, labels: &[u32]) -> f64 {
        (0..self.len()).filter(|&s| !self.holds(s, labels)).map(|s| self.shares[s]).sum()
    }

    /// One cluster cannot keep anything apart: said before any work.
    pub fn check_k(&self, method: &'static str, k: usize) -> Result<()> {
        let apart = self.links.iter().filter(|l| !l.together).count();
        if k > 1 || apart == 0 {
            return Ok(());
        }
        let why =
            format!("cannot keep rows apart with k = 1, and {apart} cannot-links ask for that: choose k from 2 up");
        Err(Error::Unsupported { method, why })
    }

    /// An order of the constraints to start from.
    pub fn order(&self, order: Order, rng: &mut Rng) -> Vec<u32> {
        let mut all: Vec<u32> = (0..self.len() as u32).collect();
        if order == Order::Index {
            all.sort_by_key(|&s| (self.links[s as usize].a, self.links[s as usize].b));
            return all;
        }
        rng.shuffle(&mut all);
        if order == Order::Component { self.breadth_first(&all) } else { all }
    }

    /// Every constraint when the first of its points is visited; new starts and neighbours in the order given.
    fn breadth_first(&self, order: &[u32]) -> Vec<u32> {
        let m = self.bound.len();
        let mut starts = vec![0u32; m + 1];
        let ends = |s: u32| [self.links[s as usize].a as usize, self.links[s as usize].b as usize];
        order.iter().for_each(|&s| ends(s).into_iter().for_each(|slot| starts[slot + 1] += 1));
        (0..m).for_each(|i| starts[i + 1] += starts[i]);
        let mut fill = starts.clone();
        let mut incident = vec![0u32; 2 * self.len()];
        for &s in order {
            for slot in ends(s) {
                incident[fill[slot] as usize] = s;
                fill[slot] += 1;
            }
        }
        let (mut visited, mut taken) = (vec![false; m], vec![false; self.len()]);
        let mut found = Vec::with_capacity(self.len());
        let mut queue = VecDeque::new();
        for &s in order {
            let root = ends(s)[0];
            if !visited[root] {
                visited[root] = true;
                queue.push_back(root);
            }
            while let Some(slot) = queue.pop_front() {
                for &s in &incident[starts[slot] as usize..starts[slot + 1] as usize] {
                    if !std::mem::replace(&mut taken[s as usize], true) {
                        found.push(s);
                    }
                    for end in ends(s) {
                        if !std::mem::replace(&mut visited[end], true) {
                            queue.push_back(end);
                        }
                    }
                }
            }
        }
        found
    }
}

fn check_size(method: &'static str, given: &ConstraintSet) -> Result<()> {
    let pairs = |m: usize| m as u64 * (m as u64).saturating_sub(1) / 2;
    let count = given.pairs().len() as u64
        + given.sets().iter().map(|s| pairs(s.members.len())).sum::<u64>()
        + given.labels().iter().map(|l| pairs(l.rows.len())).sum::<u64>();
    if count <= MOST_LINKS {
        return Ok(());
    }
    let why = format!("works pair by pair, and the constraints stand for {count} pairs, more than {MOST_LINKS}");
    Err(Error::Unsupported { method, why })
}

/// Where one run of CKM ended.
#[derive(Debug, Clone)]
pub struct Sweeps {
    /// Cluster of every point.
    pub labels: Vec<u32>,
    /// Σ w · squared distance to the centre that was assigned to, after each sweep that was kept.
    pub trace: Vec<f64>,
    /// How it ended.
    pub termination: Termination,
}

/// How to run CKM.
#[derive(Debug, Clone, Copy)]
pub struct Settings {
    /// Number of clusters.
    pub k: usize,
    /// Starting centres.
    pub init: Init,
    /// Which of two points decides.
    pub closer: Closer,
    /// Sweeps at most.
    pub max_iter: usize,
}

/// Sweeps with the constraints in `order`, from the centres that the points have.
pub fn ckm(ctx: &RunContext, points: &mut dyn Centred, links: &Links, order: &[u32], settings: Settings) -> Sweeps {
    let (n, k, pool) = (points.len(), settings.k, &ctx.pool);
    let mut is_bound = vec![false; n];
    links.bound.iter().for_each(|&i| is_bound[i as usize] = true);
    // Where few are free, the second nearest is found for all, and points are their own slots.
    let mostly_free = 4 * links.bound.len() <= n;
    let at = |slot: u32| if mostly_free { slot } else { links.bound[slot as usize] };
    let in_order = order.iter().map(|&s| links.links[s as usize]);
    let walk: Vec<Link> = in_order.map(|l| Link { a: at(l.a), b: at(l.b), together: l.together }).collect();
    let slots = if mostly_free { links.bound.len() } else { n };
    let (mut near, mut placed) = (vec![Near::default(); slots], vec![NOWHERE; slots]);
    let weights: Vec<f64> = (0..n).map(|i| points.weight(i)).collect();
    // What is taken off the distances of each slot before two are compared.
    let mut less = vec![0.0; slots];
    if settings.closer == Closer::Product {
        let slot = |s: u32, i: u32| if mostly_free { s } else { i } as usize;
        (0..).zip(&links.bound).for_each(|(s, &i)| less[slot(s, i)] = points.length2(i as usize));
    }
    let mut distances = vec![0.0; n];
    let mut labels: Vec<u32> = vec![NOWHERE; n];
    let mut now = vec![0u32; n];
    let mut was_empty = vec![false; k];
    let mut trace: Vec<f64> = Vec::new();
    let mut termination = Termination::MaxIterations;
    for _ in 0..settings.max_iter.max(1) {
        if mostly_free {
            points.nearest(pool, &mut now, &mut distances);
            points.two_nearest(pool, &links.bound, &mut near);
        } else {
            points.two_nearest_of_all(pool, &mut near);
        }
        place(&walk, &near, &less, &mut placed);
        let mut settle = |i: usize, near: &Near, c: u32| {
            (now[i], distances[i]) = match c {
                NOWHERE => (near.first, near.first_d2),
                c if c == near.first => (c, near.first_d2),
                c if c == near.second => (c, near.second_d2),
                c => (c, points.distance2(i, c as usize)),
            };
        };
        let of_slots = near.iter().zip(&placed);
        if mostly_free {
            links.bound.iter().zip(of_slots).for_each(|(&i, (near, &c))| settle(i as usize, near, c));
        } else {
            of_slots.enumerate().for_each(|(i, (near, &c))| settle(i, near, c));
        }
        let cost: f64 = distances.iter().zip(&weights).map(|(d, w)| w * d).sum();
        if trace.last().is_some_and(|&last| cost >= last) {
            // Also where the assignment repeats, unless its centres have moved: then the cost has fallen once more.
            termination = Termination::Converged;
            break;
        }
        let repeats = now == labels;
        trace.push(cost);
        if repeats && !was_empty.contains(&true) {
            // The centres are the means of these labels already.
            termination = Termination::Converged;
            break;
        }
        labels.copy_from_slice(&now);
        let masses = points.update(pool, &labels);
        let reseeded = reseed(points, &masses, &mut was_empty, &labels, &mut distances, &is_bound);
        if repeats && !reseeded {
            termination = Termination::Converged;
            break;
        }
        if let Err(stop) = ctx.checkpoint() {
            termination = stop.into();
            break;
        }
    }
    Sweeps { labels, trace, termination }
}

/// Algorithm 2, steps 3–37: walks the constraints and writes the cluster of every slot.
fn place(walk: &[Link], near: &[Near], less: &[f64], placed: &mut [u32]) {
    placed.fill(NOWHERE);
    for link in walk {
        let (a, b) = (link.a as usize, link.b as usize);
        let other =
            |slot: usize, than: u32| if near[slot].first == than { near[slot].second } else { near[slot].first };
        match (placed[a], placed[b]) {
            (NOWHERE, NOWHERE) => {
                let (x, y) = (near[a], near[b]);
                let a_is_closer = x.first_d2 - less[a] <= y.first_d2 - less[b];
                (placed[a], placed[b]) = match (link.together, a_is_closer) {
                    (true, true) => (x.first, x.first),
                    (true, false) => (y.first, y.first),
                    (false, _) if x.first != y.first => (x.first, y.first),
                    (false, true) => (x.first, y.second),
                    (false, false) => (x.second, y.first),
                };
            }
            (NOWHERE, c) => placed[a] = if link.together { c } else { other(a, c) },
            (c, NOWHERE) => placed[b] = if link.together { c } else { other(b, c) },
            _ => {}
        }
    }
}

/// A cluster that stays empty for a second sweep gets its centre at the unconstrained point farthest from its own.
fn reseed(
    points: &mut dyn Centred,
    weights: &[f64],
    was_empty: &mut [bool],
    labels: &[u32],
    distances: &mut [f64],
    is_bound: &[bool],
) -> bool {
    let mut moved = false;
    for (c, &w) in weights.iter().enumerate() {
        let empty = w == 0.0;
        if empty && was_empty[c] {
            let mut farthest: Option<usize> = None;
            for i in (0..labels.len()).filter(|&i| !is_bound[i] && distances[i] > 0.0) {
                if farthest.is_none_or(|f| points.weight(i) * distances[i] > points.weight(f) * distances[f]) {
                    farthest = Some(i);
                }
            }
            if let Some(i) = farthest {
                points.put(c, i);
                distances[i] = 0.0;
                moved = true;
            }
        }
        was_empty[c] = empty;
    }
    moved
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::blocks::centred::centred;
    use crate::blocks::kernel::{Affinity, Kernel, Space};
    use crate::blocks::par::Pool;
    use crate::data::Dataset;

    fn set(n: usize, pairs: &[(Kind, usize, usize)]) -> ConstraintSet {
        let mut given = ConstraintSet::new(n);
        pairs.iter().for_each(|&(kind, a, b)| {
            given.add_pair(kind, a, b).unwrap();
        });
        given
    }

    fn near(first: u32, first_d2: f64, second: u32, second_d2: f64) -> Near {
        Near { first, second, first_d2, second_d2 }
    }

    #[test]
    fn each_pattern_places_points_as_the_paper_says() {
        let link = |a, b, together| Link { a, b, together };
        // Slots 0 and 1 share the nearest centre 0; slot 1 is closer. Slot 2 is nearest to centre 2.
        let n = [near(0, 2.0, 1, 3.0), near(0, 1.0, 2, 9.0), near(2, 0.5, 0, 4.0), near(1, 1.0, 0, 2.0)];
        let run = |walk: &[Link]| {
            let mut placed = vec![NOWHERE; 4];
            place(walk, &n, &[0.0; 4], &mut placed);
            placed
        };
        assert_eq!(run(&[link(0, 1, false)])[..2], [1, 0]); // the closer one keeps it
        assert_eq!(run(&[link(0, 2, true)])[..3], [2, NOWHERE, 2]); // both to the nearer nearest
        assert_eq!(run(&[link(0, 2, false)])[..3], [0, NOWHERE, 2]); // different already
        assert_eq!(run(&[link(0, 2, true), link(2, 3, true)])[3], 2); // after the partner
        assert_eq!(run(&[link(0, 2, true), link(2, 3, false)])[3], 1); // nearest is free
        assert_eq!(run(&[link(1, 2, false), link(1, 0, false)])[0], 1); // nearest is the partner's: second nearest
        let both_placed = [link(0, 1, false), link(2, 0, true), link(2, 1, true)];
        assert_eq!(run(&both_placed)[..3], [1, 0, 1]); // the third is broken and left
        // Ties favour the first of the pair.
        let equal = [near(0, 1.0, 1, 2.0), near(0, 1.0, 1, 2.0)];
        let mut placed = vec![NOWHERE; 2];
        place(&[link(0, 1, false)], &equal, &[0.0; 2], &mut placed);
        assert_eq!(placed, [0, 1]);
        // Without K_ii the longer one is the closer one.
        place(&[link(0, 1, false)], &equal, &[1.0, 4.0], &mut placed);
        assert_eq!(placed, [1, 0]);
    }

    #[test]
    fn the_first_two_constraints_always_hold() {
        // Appendix B. Random rows, any number of constraints after them, consistent first pair of constraints.
        let pool_ctx = RunContext::new(0).with_threads(1);
        for case in 0..150u64 {
            let mut rng = Rng::stream(case, "ckm test", 0);
            let (n, k) = (6 + rng.below(12), 2 + rng.below(3));
            let rows: Vec<f64> = (0..2 * n).map(|_| rng.normal()).collect();
            let data = Dataset::dense(&rows, 2).unwrap();
            let mut given = ConstraintSet::new(n);
            for _ in 0..2 + rng.below(20) {
                let (a, kind) = (rng.below(n), if rng.below(2) == 0 { Kind::MustLink } else { Kind::CannotLink });
                let b = (a + 1 + rng.below(n - 1)) % n;
                given.add_pair(kind, a, b).unwrap();
            }
            let links = Links::of_rows("test", &given).unwrap();
            let (x, y) = (given.pairs()[0], given.pairs()[1]);
            if (x.a, x.b) == (y.a, y.b) && x.kind != y.kind {
                continue;
            }
            let order: Vec<u32> = (0..links.len() as u32).collect();
            for kernel in [Kernel::Linear, Kernel::RbfLocal] {
                let affinity = Affinity { kernel, sigma: 0.0, neighbour: 7 };
                let space = Space::new(&Pool::new(1), &data, &affinity, None).unwrap();
                let mut points = centred(&space);
                let settings = Settings { k, init: Init::KmeansPlusPlus, closer: Closer::Product, max_iter: 100 };
                points.seed(&pool_ctx.pool, k, settings.init, &mut rng);
                let sweeps = ckm(&pool_ctx, points.as_mut(), &links, &order, settings);
                assert!(links.holds(0, &sweeps.labels) && links.holds(1, &sweeps.labels), "case {case}");
                assert!(sweeps.trace.windows(2).all(|w| w[1] < w[0]));
                assert!(sweeps.labels.iter().all(|&l| (l as usize) < k));
            }
        }
    }

    #[test]
    fn without_constraints_it_is_k_means() {
        let rows = [0.0, 0.2, 0.4, 9.0, 9.5, 20.0, 20.5];
        let data = Dataset::dense(&rows, 1).unwrap();
        let links = Links::of_rows("test", &ConstraintSet::new(7)).unwrap();
        let space = Space::Lent(data);
        let ctx = RunContext::new(0).with_threads(1);
        let settings = Settings { k: 3, init: Init::FarthestFirst, closer: Closer::Distance, max_iter: 100 };
        let mut points = centred(&space);
        points.seed(&ctx.pool, 3, settings.init, &mut ctx.rng("x", 0));
        let sweeps = ckm(&ctx, points.as_mut(), &links, &[], settings);
        assert_eq!(sweeps.termination, Termination::Converged);
        let l = &sweeps.labels;
        assert!(l[0] == l[1] && l[1] == l[2] && l[3] == l[4] && l[5] == l[6] && l[0] != l[3] && l[3] != l[5]);
        assert!((sweeps.trace.last().unwrap() - (0.08 + 0.125 + 0.125)).abs() < 1e-12);
    }

    #[test]
    fn breadth_first_takes_every_constraint_once_and_follows_components() {
        use Kind::{CannotLink as Cl, MustLink as Ml};
        let given = set(8, &[(Ml, 0, 1), (Cl, 5, 6), (Ml, 2, 3), (Cl, 1, 2), (Ml, 6, 7), (Cl, 3, 0)]);
        let links = Links::of_rows("test", &given).unwrap();
        for seed in 0..20 {
            let order = links.order(Order::Component, &mut Rng::stream(seed, "order", 0));
            let mut sorted = order.clone();
            sorted.sort_unstable();
            assert_eq!(sorted, [0, 1, 2, 3, 4, 5]);
            let component = |s: u32| [0, 1, 0, 0, 1, 0][s as usize];
            let changes = order.windows(2).filter(|w| component(w[0]) != component(w[1])).count();
            assert_eq!(changes, 1, "{order:?}");
            // After the first, each constraint of a component meets a point seen before.
            let mut seen = Vec::new();
            for (at, &s) in order.iter().enumerate() {
                let p = given.pairs()[s as usize];
                let fresh = at == 0 || component(order[at - 1]) != component(s);
                assert!(fresh || seen.contains(&p.a) || seen.contains(&p.b));
                seen.extend([p.a, p.b]);
            }
        }
    }

    #[test]
    fn links_carry_normalised_weights_and_chunklets_sum_them() {
        use crate::constraints::Origin;
        let mut given = set(5, &[(Kind::MustLink, 0, 1), (Kind::CannotLink, 1, 2)]);
        given.add_weighted_pair(Kind::CannotLink, 0, 2, 3.0, Origin::default()).unwrap();
        given.add_weighted_pair(Kind::CannotLink, 3, 2, 1.0, Origin::default()).unwrap();
        let links = Links::of_rows("test", &given).unwrap();
        assert_eq!(links.shares(), [6.0 / 16.0, 6.0 / 16.0, 3.0 / 16.0, 1.0 / 16.0]);
        assert_eq!(links.bound(), [0, 1, 2, 3]);
        assert!((links.broken_share(&[0, 0, 0, 1, 1]) - 9.0 / 16.0).abs() < 1e-15);
        let chunklets = given.close().unwrap();
        let links = Links::of_chunklets("test", &given, &chunklets).unwrap();
        assert_eq!(links.len(), 2);
        assert!(links.check_k("ckm", 2).is_ok());
        let said = links.check_k("ckm", 1).unwrap_err().to_string();
        assert!(said.contains("cannot keep rows apart with k = 1"), "{said}");
    }

    #[test]
    fn a_cluster_that_stays_empty_is_reseeded_at_the_farthest_free_point() {
        // All seeds fall on the duplicates, so clusters 1 and 2 start empty.
        let rows = [0.0, 0.0, 0.0, 0.0, 7.0, 30.0];
        let data = Dataset::dense(&rows, 1).unwrap();
        let space = Space::Lent(data);
        let ctx = RunContext::new(0).with_threads(1);
        let mut points = centred(&space);
        points.seed(&ctx.pool, 3, Init::FarthestFirst, &mut ctx.rng("x", 0));
        let (mut was_empty, mut distances) = (vec![false, true, true], vec![1.0, 1.0, 1.0, 1.0, 4.0, 25.0]);
        let moved = reseed(points.as_mut(), &[6.0, 0.0, 0.0], &mut was_empty, &[0; 6], &mut distances, &[false; 6]);
        assert!(moved && points.distance2(5, 1) == 0.0 && points.distance2(4, 2) == 0.0);
        assert!(!reseed(points.as_mut(), &[6.0, 0.0, 0.0], &mut [false; 3], &[0; 6], &mut distances, &[false; 6]));
    }
}
