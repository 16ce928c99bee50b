//! Can every cannot-link be kept with at most k clusters? That is: is the graph of lifted cannot-links k-colourable
//! (NP-complete for k ≥ 3; Davidson & Ravi 2005)? In this order, per component of the k-core: two-colouring, peeling,
//! Brooks' theorem, cliques (named ones first), DSATUR, TabuCol, SAT. Each answer carries its certificate: a colouring,
//! an edge, an odd cycle, a clique or an infeasible core of cannot-links. Linear until the clique step.
//! Departs from the usual account in one point: the time limit is for the whole call, not per component.

use std::time::{Duration, Instant};

use super::colouring::{self, NONE};
use super::sat::{self, Answer};
use super::witness::{Infeasible, Witness};
use super::{Chunklets, Graph};

/// Components up to this size go straight to SAT, which is faster there than local search.
const TABU_ABOVE: usize = 150;
const TABU_MOVES: usize = 100_000;
const MOST_TABU_CELLS: usize = 50_000_000;

/// How hard to try.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FeasibleOptions {
    /// Time for the whole answer; after it the verdict may be [`Feasibility::Unknown`].
    pub time_limit: Duration,
    /// Time to shrink an infeasible core.
    pub minimise_limit: Duration,
    /// Exactly k clusters, none empty, instead of at most k.
    pub exact_k: bool,
}

impl Default for FeasibleOptions {
    fn default() -> Self {
        FeasibleOptions { time_limit: Duration::from_secs(10), minimise_limit: Duration::from_secs(2), exact_k: false }
    }
}

/// The answer for one k.
#[derive(Debug, Clone, PartialEq)]
pub enum Feasibility {
    /// It can be done: a cluster below k for every chunklet, no cannot-link inside a cluster.
    Feasible(Vec<u32>),
    /// It cannot be done, and why.
    Infeasible(Box<Infeasible>),
    /// Not decided in time.
    Unknown {
        /// At least this many clusters are needed.
        lower: usize,
        /// This many clusters are enough.
        upper: usize,
    },
}

/// The fewest clusters that keep every cannot-link, as far as known.
#[derive(Debug, Clone, PartialEq)]
pub struct SmallestK {
    /// At least this many clusters are needed.
    pub lower: usize,
    /// This many clusters are enough. Equal to `lower` when the answer is exact.
    pub upper: usize,
    /// A cluster below `upper` for every chunklet.
    pub colouring: Vec<u32>,
    /// Why `lower − 1` clusters are not enough; `None` when `lower` is at most 1.
    pub witness: Option<Box<Infeasible>>,
}

impl SmallestK {
    /// Is the smallest k known?
    pub fn exact(&self) -> bool {
        self.lower == self.upper
    }
}

/// The time after this long; a year when the clock cannot count that far.
pub(super) fn deadline_after(limit: Duration) -> Instant {
    let now = Instant::now();
    now.checked_add(limit).unwrap_or(now + Duration::from_secs(365 * 24 * 3600))
}

/// Can all constraints be kept with at most k clusters?
pub fn feasible(chunklets: &Chunklets, k: usize, options: &FeasibleOptions) -> Feasibility {
    let no = |witness| Feasibility::Infeasible(Box::new(Infeasible::new(chunklets, k, witness)));
    if (k == 0 && !chunklets.is_empty()) || (options.exact_k && k > chunklets.len()) {
        return no(Witness::Count { chunklets: chunklets.len() });
    }
    let graph = chunklets.graph();
    let mut colours = match k {
        0 => Vec::new(),
        1 => match graph.edges().next() {
            Some((a, b)) => return no(Witness::Edge(a, b)),
            None => vec![0; graph.len()],
        },
        2 => match colouring::two_colour(graph) {
            Ok(colours) => colours,
            Err(cycle) => return no(if cycle.len() == 3 { clique_of(cycle) } else { Witness::OddCycle(cycle) }),
        },
        _ => match by_components(graph, chunklets.cliques(), k, options) {
            Ok(colours) => colours,
            Err(Failure::Witness(witness)) => return no(witness),
            Err(Failure::Unknown { lower, upper }) => return Feasibility::Unknown { lower, upper },
        },
    };
    if options.exact_k {
        use_all(&mut colours, k);
    }
    Feasibility::Feasible(colours)
}

fn clique_of(mut vertices: Vec<u32>) -> Witness {
    vertices.sort_unstable();
    Witness::Clique(vertices)
}

/// Spreads a colouring over all k colours: vertices of shared colours move to the unused ones.
fn use_all(colours: &mut [u32], k: usize) {
    let mut sizes = vec![0usize; k];
    colours.iter().for_each(|&c| sizes[c as usize] += 1);
    let mut empty = (0..k).filter(|&c| sizes[c] == 0).collect::<Vec<_>>().into_iter();
    let mut left = sizes.clone();
    for colour in colours.iter_mut() {
        if left[*colour as usize] > 1 {
            let Some(free) = empty.next() else { return };
            left[*colour as usize] -= 1;
            *colour = free as u32;
        }
    }
}

enum Failure {
    Witness(Witness),
    Unknown { lower: usize, upper: usize },
}

/// A colouring of a graph with k colours, or edges that forbid it; `None` when undecided in time.
pub(super) fn colour_graph(graph: &Graph, k: usize, options: &FeasibleOptions) -> Option<Result<Vec<u32>, Witness>> {
    match by_components(graph, &[], k, options) {
        Ok(colours) => Some(Ok(colours)),
        Err(Failure::Witness(witness)) => Some(Err(witness)),
        Err(Failure::Unknown { .. }) => None,
    }
}

/// Peels, then treats the components of the core one by one. `named` are cliques known beforehand.
fn by_components(graph: &Graph, named: &[Vec<u32>], k: usize, options: &FeasibleOptions) -> Result<Vec<u32>, Failure> {
    let deadline = deadline_after(options.time_limit);
    let (peeled, stays) = colouring::peel(graph, k);
    let mut colours = vec![NONE; graph.len()];
    if let Some(clique) = named.iter().find(|c| c.len() > k) {
        return Err(Failure::Witness(Witness::Clique(clique[..=k].to_vec())));
    }
    let core: Vec<u32> = (0..graph.len() as u32).filter(|&v| stays[v as usize]).collect();
    let core_graph = graph.induced(&core);
    let components = core_graph.components();
    // Cheap refusals of all components come before expensive work on any.
    let mut parts = Vec::with_capacity(components.len());
    for component in components {
        let part = core_graph.induced(&component);
        let vertices: Vec<u32> = component.iter().map(|&v| core[v as usize]).collect();
        // Brooks: with all degrees equal to k only K_{k+1} needs more than k colours.
        let regular = (0..part.len() as u32).all(|v| part.degree(v) == k);
        let clique =
            if regular && part.len() > k + 1 { Vec::new() } else { colouring::greedy_clique(&part, k + 1, deadline) };
        if clique.len() > k {
            return Err(Failure::Witness(clique_of(clique.iter().map(|&v| vertices[v as usize]).collect())));
        }
        parts.push((part, vertices, clique));
    }
    let (mut unknown, mut lower, mut upper) = (false, 1, k);
    for (part, vertices, mut clique) in parts {
        if clique.is_empty() {
            clique = colouring::greedy_clique(&part, k, deadline);
        }
        lower = lower.max(clique.len());
        let (colours_of_part, count) = colouring::dsatur(&part);
        let verdict = if count <= k {
            Answer::Yes(colours_of_part)
        } else {
            decide(&part, k, &clique, &colours_of_part, deadline, options)
        };
        match verdict {
            Answer::Yes(local) => vertices.iter().zip(local).for_each(|(&v, c)| colours[v as usize] = c),
            Answer::No((edges, minimal)) => {
                let name = |(a, b): (u32, u32)| (vertices[a as usize], vertices[b as usize]);
                let edges = edges.into_iter().map(name).collect();
                return Err(Failure::Witness(Witness::Core { edges, minimal }));
            }
            Answer::Unknown => {
                unknown = true;
                upper = upper.max(count);
            }
        }
    }
    if unknown {
        return Err(Failure::Unknown { lower, upper });
    }
    colouring::colour_peeled(graph, &peeled, &mut colours);
    Ok(colours)
}

/// A colouring of one component that DSATUR colours with too many `colours`, or edges that forbid it and whether all of
/// them are needed.
#[allow(clippy::type_complexity)]
fn decide(
    part: &Graph,
    k: usize,
    clique: &[u32],
    colours: &[u32],
    deadline: Instant,
    options: &FeasibleOptions,
) -> Answer<Vec<u32>, (Vec<(u32, u32)>, bool)> {
    if Instant::now() >= deadline {
        return Answer::Unknown;
    }
    if part.len() > TABU_ABOVE && part.len().saturating_mul(k) <= MOST_TABU_CELLS {
        let half = Instant::now() + deadline.saturating_duration_since(Instant::now()) / 2;
        if let Some(colours) = colouring::tabu(part, k, colours, TABU_MOVES, half) {
            return Answer::Yes(colours);
        }
    }
    match sat::colour(part, k, clique, deadline) {
        Answer::Yes(colours) => Answer::Yes(colours),
        Answer::Unknown => Answer::Unknown,
        Answer::No(()) => {
            let limit = deadline_after(options.minimise_limit);
            let edges = sat::core(part, k, clique, limit);
            Answer::No(sat::minimise(edges, k, limit))
        }
    }
}

/// The fewest clusters that keep every cannot-link: bounds from cliques and DSATUR, closed by [`feasible`] from below
/// while time lasts.
pub fn smallest_k(chunklets: &Chunklets, options: &FeasibleOptions) -> SmallestK {
    let deadline = deadline_after(options.time_limit);
    let remaining = || FeasibleOptions {
        time_limit: deadline.saturating_duration_since(Instant::now()),
        exact_k: false,
        ..*options
    };
    let graph = chunklets.graph();
    let (mut colouring, mut upper) = colouring::dsatur(graph);
    let named = chunklets.cliques().iter().max_by_key(|c| c.len()).cloned().unwrap_or_default();
    let mut clique = colouring::greedy_clique(graph, upper, deadline);
    if named.len() >= clique.len() {
        clique = named;
    }
    let mut lower = clique.len().max(usize::from(!chunklets.is_empty()));
    let mut witness = match lower {
        0 | 1 => None,
        2 => Some(Witness::Edge(clique[0], clique[1])),
        _ => Some(Witness::Clique(clique)),
    }
    .map(|w| Box::new(Infeasible::new(chunklets, lower - 1, w)));
    while lower < upper {
        match feasible(chunklets, lower, &remaining()) {
            Feasibility::Feasible(better) => {
                colouring = better;
                upper = lower;
            }
            Feasibility::Infeasible(why) => {
                lower += 1;
                witness = Some(why);
            }
            Feasibility::Unknown { .. } => break,
        }
    }
    while lower < upper {
        // Undecided from below: fewer colours may still be found from above.
        match feasible(chunklets, upper - 1, &remaining()) {
            Feasibility::Feasible(better) => {
                upper -= 1;
                colouring = better;
            }
            Feasibility::Infeasible(why) => {
                lower = upper;
                witness = Some(why);
            }
            Feasibility::Unknown { .. } => break,
        }
    }
    SmallestK { lower, upper, colouring, witness }
}

#[cfg(test)]
mod tests {
    use super::super::{ConstraintSet, Kind, Origin, brute};
    use super::*;
    use crate::rng::Rng;

    fn cannot(n: usize, edges: &[(usize, usize)]) -> ConstraintSet {
        let mut c = ConstraintSet::new(n);
        edges.iter().for_each(|&(a, b)| {
            c.add_pair(Kind::CannotLink, a, b).unwrap();
        });
        c
    }
    fn ask(c: &ConstraintSet, k: usize) -> Feasibility {
        feasible(&c.close().unwrap(), k, &FeasibleOptions::default())
    }
    fn infeasible(c: &ConstraintSet, k: usize) -> Witness {
        match ask(c, k) {
            Feasibility::Infeasible(why) => {
                why.check(c);
                why.witness
            }
            other => panic!("{other:?}"),
        }
    }
    fn colours_of(c: &ConstraintSet, k: usize) -> Vec<u32> {
        match ask(c, k) {
            Feasibility::Feasible(colours) => {
                check_colouring(&c.close().unwrap(), &colours, k);
                colours
            }
            other => panic!("{other:?}"),
        }
    }
    fn check_colouring(q: &Chunklets, colours: &[u32], k: usize) {
        assert_eq!(colours.len(), q.len());
        assert!(colours.iter().all(|&c| (c as usize) < k));
        assert!(q.graph().edges().all(|(a, b)| colours[a as usize] != colours[b as usize]));
    }
    fn wheel() -> ConstraintSet {
        cannot(6, &[(0, 1), (0, 2), (0, 3), (0, 4), (0, 5), (1, 2), (2, 3), (3, 4), (4, 5), (1, 5)])
    }
    fn groetzsch() -> ConstraintSet {
        // Mycielski of C5: 0..4 the cycle, 5..9 their shadows, 10 the apex.
        let mut edges = Vec::new();
        for i in 0..5 {
            let next = (i + 1) % 5;
            edges.extend([(i, next), (i + 5, next), (i, next + 5), (i + 5, 10)]);
        }
        cannot(11, &edges)
    }

    #[test]
    fn a_clique_larger_than_k_is_a_witness() {
        let k4 = cannot(4, &[(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)]);
        assert_eq!(infeasible(&k4, 3), Witness::Clique(vec![0, 1, 2, 3]));
        colours_of(&k4, 4);
    }

    #[test]
    fn an_odd_cycle_refuses_two_clusters_and_peels_for_three() {
        let c5 = cannot(5, &[(0, 1), (1, 2), (2, 3), (3, 4), (0, 4)]);
        let Witness::OddCycle(cycle) = infeasible(&c5, 2) else { panic!() };
        assert_eq!(cycle.len(), 5);
        colours_of(&c5, 3);
        assert!(colouring::peel(c5.close().unwrap().graph(), 3).1.iter().all(|s| !s));
        assert_eq!(infeasible(&c5, 1), Witness::Edge(0, 1));
    }

    #[test]
    fn petersens_graph_takes_three_colours_by_dsatur() {
        let mut edges = Vec::new();
        for i in 0..5 {
            edges.extend([(i, (i + 1) % 5), (i, i + 5), (5 + i, 5 + (i + 2) % 5)]);
        }
        let c = cannot(10, &edges);
        let q = c.close().unwrap();
        assert!(colouring::peel(q.graph(), 3).0.is_empty());
        assert_eq!(colouring::dsatur(q.graph()).1, 3);
        colours_of(&c, 3);
    }

    #[test]
    fn the_wheel_needs_the_exact_step_and_all_its_edges() {
        let c = wheel();
        let q = c.close().unwrap();
        let later = Instant::now() + Duration::from_secs(10);
        assert_eq!(colouring::greedy_clique(q.graph(), 9, later).len(), 3);
        assert_eq!(colouring::dsatur(q.graph()).1, 4);
        let Witness::Core { edges, minimal } = infeasible(&c, 3) else { panic!() };
        assert_eq!((edges.len(), minimal), (10, true));
        colours_of(&c, 4);
    }

    #[test]
    fn groetzschs_graph_needs_four_clusters_without_a_triangle() {
        let c = groetzsch();
        let q = c.close().unwrap();
        assert_eq!(q.graph().edge_count(), 20);
        let later = Instant::now() + Duration::from_secs(10);
        assert_eq!(colouring::greedy_clique(q.graph(), 9, later).len(), 2);
        assert_eq!(colouring::dsatur(q.graph()).1, 4);
        let Witness::Core { edges, minimal } = infeasible(&c, 3) else { panic!() };
        assert_eq!((edges.len(), minimal), (20, true));
        let s = smallest_k(&q, &FeasibleOptions::default());
        assert_eq!((s.lower, s.upper), (4, 4));
        check_colouring(&q, &s.colouring, 4);
        s.witness.unwrap().check(&c);
    }

    #[test]
    fn a_core_leaves_out_what_does_not_matter() {
        // A wheel, chunklets of two rows, and a dense two-sided graph beside it, tied to it by one edge.
        let mut c = ConstraintSet::new(40);
        for i in 0..6 {
            c.add_pair(Kind::MustLink, i, i + 6).unwrap();
        }
        for (i, (a, b)) in wheel().close().unwrap().graph().edges().enumerate() {
            let (a, b) = (a as usize + 6 * (i % 2), b as usize + 6 * (i / 2 % 2));
            c.add_pair(Kind::CannotLink, a, b).unwrap();
        }
        for i in (12..40).step_by(2) {
            (13..40).step_by(2).filter(|j| i * j % 3 != 0).for_each(|j| {
                c.add_pair(Kind::CannotLink, i, j).unwrap();
            });
        }
        c.add_pair(Kind::CannotLink, 1, 13).unwrap();
        let Feasibility::Infeasible(why) = ask(&c, 3) else { panic!() };
        why.check(&c);
        assert!(matches!(&why.witness, Witness::Core { edges, minimal: true } if edges.len() == 10), "{why:?}");
        let text = why.describe(&c, |row| format!("r{row}"));
        assert!(text.starts_with("k = 3 is too small: "), "{text}");
        assert_eq!(text.matches("different (").count(), 10, "{text}");
    }

    #[test]
    fn counts_and_edge_cases_follow_the_table() {
        let none = ConstraintSet::new(3).close().unwrap();
        let exact = FeasibleOptions { exact_k: true, ..FeasibleOptions::default() };
        for k in 1..=3 {
            let Feasibility::Feasible(colours) = feasible(&none, k, &exact) else { panic!() };
            assert_eq!((0..k as u32).filter(|c| colours.contains(c)).count(), k);
        }
        let Feasibility::Infeasible(why) = feasible(&none, 4, &exact) else { panic!() };
        assert_eq!(why.witness, Witness::Count { chunklets: 3 });
        assert!(matches!(feasible(&none, 4, &FeasibleOptions::default()), Feasibility::Feasible(_)));
        assert!(matches!(feasible(&none, 0, &FeasibleOptions::default()), Feasibility::Infeasible(_)));
        let mut one = ConstraintSet::new(3);
        one.add_set(Kind::MustLink, &[0, 1, 2], 1.0, Origin::default()).unwrap();
        let one = one.close().unwrap();
        assert!(matches!(feasible(&one, 1, &exact), Feasibility::Feasible(_)));
        assert!(matches!(feasible(&one, 2, &exact), Feasibility::Infeasible(_)));
        let s = smallest_k(&one, &FeasibleOptions::default());
        assert_eq!((s.lower, s.upper, s.witness), (1, 1, None));
    }

    #[test]
    fn every_verdict_equals_enumeration_and_carries_its_certificate() {
        let mut rng = Rng::stream(11, "feasible", 0);
        let mut seen = [0usize; 2];
        for round in 0..3000 {
            let n = 1 + rng.below(7);
            let c = if round % 2 == 0 {
                brute::random_set(&mut rng, n, 10)
            } else {
                // Mostly cannot-links, dense enough for cores beyond cliques.
                let mut c = ConstraintSet::new(n);
                for a in 0..n {
                    for b in 0..a {
                        match rng.below(10) {
                            0..6 => c.add_pair(Kind::CannotLink, a, b).unwrap(),
                            6 if round % 4 == 1 => c.add_pair(Kind::MustLink, a, b).unwrap(),
                            _ => continue,
                        };
                    }
                }
                c
            };
            let partitions: Vec<_> = brute::partitions(n).into_iter().filter(|p| brute::keeps(&c, p)).collect();
            let Ok(q) = c.close() else {
                assert!(partitions.is_empty());
                continue;
            };
            let least = partitions.iter().map(|p| brute::blocks(p)).min().expect("conflict-free");
            for k in 1..=n {
                match feasible(&q, k, &FeasibleOptions::default()) {
                    Feasibility::Feasible(colours) => {
                        assert!(k >= least);
                        check_colouring(&q, &colours, k);
                        seen[0] += 1;
                    }
                    Feasibility::Infeasible(why) => {
                        assert!(k < least);
                        why.check(&c);
                        seen[1] += 1;
                    }
                    Feasibility::Unknown { .. } => panic!("undecided"),
                }
            }
            let s = smallest_k(&q, &FeasibleOptions::default());
            assert_eq!((s.lower, s.upper), (least, least));
            check_colouring(&q, &s.colouring, least);
            match s.witness {
                Some(why) => {
                    assert_eq!(why.k, least - 1);
                    why.check(&c);
                }
                None => assert!(least <= 1),
            }
        }
        assert!(seen[0] > 2000 && seen[1] > 2000, "{seen:?}");
    }
}
