//! What follows from the constraints, and why: Same by a chain of must-links, Different by a chain with one cannot-link in
//! it; how much of what was given is redundant; and, as an assumption, what exactly k clusters would add: with
//! N_1..N_k pairwise cannot-linked, a chunklet cannot-linked to k − 1 of them belongs with the last.

use super::colouring;
use super::paths::{Links, PathRule};
use super::witness::{Infeasible, Witness};
use super::{Chunklets, ConstraintId, ConstraintSet, Entailed, Feasibility, FeasibleOptions, Kind, feasible};

/// Why two rows are the same or different.
#[derive(Debug, Clone, PartialEq)]
pub struct Explanation {
    /// What follows.
    pub relation: Entailed,
    /// The rows along the chain, from one row to the other; empty when nothing follows.
    pub points: Vec<u32>,
    /// The constraint of each step.
    pub path: Vec<ConstraintId>,
    /// Which step is the cannot-link.
    pub cannot_link: Option<usize>,
    /// Probability that all of the chain is right, weights read as log-odds; 1 for hard constraints.
    pub confidence: f64,
}

impl Explanation {
    /// `a = b [answers.csv:1] ≠ d [answers.csv:5]`, rows spelt by `name`.
    pub fn describe(&self, set: &ConstraintSet, name: impl Fn(u32) -> String) -> String {
        let mut text = self.points.first().map(|&row| name(row)).unwrap_or_default();
        for (i, (step, &id)) in self.points.windows(2).zip(&self.path).enumerate() {
            let sign = if self.cannot_link == Some(i) { '≠' } else { '=' };
            text.push_str(&format!(" {sign} {} [{}]", name(step[1]), set.place(id, step)));
        }
        text
    }
}

/// −ln q of a constraint, q the probability that its weight stands for.
fn doubt(weight: f64) -> f64 {
    (-weight).exp().ln_1p()
}

impl ConstraintSet {
    /// Why `chunklets`, closed from the constraints of weight ≥ `threshold`, says what it says about two rows: the best
    /// chain by `rule`.
    pub fn explain(&self, chunklets: &Chunklets, i: usize, j: usize, threshold: f64, rule: PathRule) -> Explanation {
        let counts = |w: f64| w > 0.0 && w >= threshold;
        let relation = chunklets.entails(i, j);
        let nothing =
            || Explanation { relation, points: vec![], path: vec![], cannot_link: None, confidence: f64::NAN };
        if relation == Entailed::Unknown {
            return nothing();
        }
        let mut wanted = vec![chunklets.of(i), chunklets.of(j)];
        wanted.sort_unstable();
        wanted.dedup();
        let links = Links::of_chunklets(self, chunklets.of_rows(), &wanted, counts, rule);
        let mut from_i = links.search();
        let (i, j) = (i as u32, j as u32);
        let (points, path, cannot_link) = if relation == Entailed::Same {
            from_i.run(i, &[j]);
            match from_i.path_to(j) {
                Some((points, path)) => (points, path, None),
                None => return nothing(),
            }
        } else {
            let mut from_j = links.search();
            from_i.run(i, &[]);
            from_j.run(j, &[]);
            let length = |search: &super::paths::Search, row: u32| -> Option<f64> {
                let ids = || search.path_to(row).map(|x| x.1);
                Some(match rule {
                    PathRule::Fewest => f64::from(search.steps_to(row)?),
                    PathRule::Lightest => ids()?.iter().map(|&id| self.weight(id)).sum(),
                    PathRule::MostLikely => ids()?.iter().map(|&id| doubt(self.weight(id))).sum(),
                })
            };
            let own = |weight: f64| match rule {
                PathRule::Fewest => 0.0,
                PathRule::Lightest => weight,
                PathRule::MostLikely => doubt(weight),
            };
            let (a, b) = (chunklets.of(i as usize), chunklets.of(j as usize));
            let mut best: Option<(f64, ConstraintId, u32, u32)> = None;
            // Any row of `us` against any of `vs`: the nearest of each.
            let mut offer = |id: ConstraintId, weight: f64, us: &[u32], vs: &[u32]| {
                let nearest = |search: &super::paths::Search, rows: &[u32]| {
                    let reached = rows.iter().filter_map(|&row| Some((length(search, row)?, row)));
                    reached.min_by(|x, y| x.0.total_cmp(&y.0).then(x.1.cmp(&y.1)))
                };
                let (Some((x, u)), Some((y, v))) = (nearest(&from_i, us), nearest(&from_j, vs)) else { return };
                let total = x + y + own(weight);
                if best.is_none_or(|old| total < old.0) {
                    best = Some((total, id, u, v));
                }
            };
            self.cannot_links_between(chunklets, a, b, counts, &mut offer);
            let Some((_, id, u, v)) = best else { return nothing() };
            let (Some((mut points, mut path)), Some((back, back_path))) = (from_i.path_to(u), from_j.path_to(v)) else {
                return nothing();
            };
            let at = path.len();
            path.push(id);
            points.extend(back.into_iter().rev());
            path.extend(back_path.into_iter().rev());
            (points, path, Some(at))
        };
        let confidence = (-path.iter().map(|&id| doubt(self.weight(id))).sum::<f64>()).exp();
        Explanation { relation, points, path, cannot_link, confidence }
    }

    /// Offers every cannot-link between a row of chunklet a and one of b, in the order of ids.
    fn cannot_links_between(
        &self,
        chunklets: &Chunklets,
        a: u32,
        b: u32,
        counts: impl Fn(f64) -> bool,
        offer: &mut impl FnMut(ConstraintId, f64, &[u32], &[u32]),
    ) {
        let of = |row: u32| chunklets.of(row as usize);
        for (i, p) in self.pairs().iter().enumerate() {
            if p.kind == Kind::CannotLink && counts(p.weight) {
                let id = ConstraintId::Pair(i as u32);
                if (of(p.a), of(p.b)) == (a, b) {
                    offer(id, p.weight, &[p.a], &[p.b]);
                } else if (of(p.a), of(p.b)) == (b, a) {
                    offer(id, p.weight, &[p.b], &[p.a]);
                }
            }
        }
        for (i, s) in self.sets().iter().enumerate().filter(|(_, s)| s.kind == Kind::CannotLink && counts(s.weight)) {
            let inside = |c: u32| s.members.iter().copied().filter(|&row| of(row) == c).collect::<Vec<u32>>();
            offer(ConstraintId::Set(i as u32), s.weight, &inside(a), &inside(b));
        }
        for (i, l) in self.labels().iter().enumerate().filter(|(_, l)| counts(l.weight)) {
            // One label per chunklet, unless the set contradicts itself; then the labels of the first rows.
            let label = |c: u32| l.rows.iter().find(|x| of(x.0) == c).map(|x| x.1);
            let (Some(la), Some(lb)) = (label(a), label(b)) else { continue };
            if la != lb {
                let inside = |c: u32, label: u32| {
                    l.rows.iter().filter(|x| of(x.0) == c && x.1 == label).map(|x| x.0).collect::<Vec<u32>>()
                };
                offer(ConstraintId::Labels(i as u32), l.weight, &inside(a, la), &inside(b, lb));
            }
        }
    }

    /// How much of what was given follows from the rest. `chunklets` is this set closed, leniently if it contradicts itself.
    pub fn redundancy(&self, chunklets: &Chunklets) -> Redundancy {
        let v = self.violations(chunklets.of_rows(), 0);
        let needed = (chunklets.n() - chunklets.len()) as u64;
        let edges = chunklets.graph().edge_count() as u64;
        Redundancy {
            must_link_pairs: v.must_link_pairs,
            must_link_redundant: v.must_link_pairs.saturating_sub(needed),
            cannot_link_pairs: v.cannot_link_pairs,
            cannot_link_redundant: v.cannot_link_pairs.saturating_sub(edges + v.cannot_link),
        }
    }
}

/// Given relations, in pairs of rows, and how many of them the others entail.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Redundancy {
    /// Given must-links.
    pub must_link_pairs: u64,
    /// Must-links beyond those that a spanning forest needs.
    pub must_link_redundant: u64,
    /// Given cannot-links.
    pub cannot_link_pairs: u64,
    /// Cannot-links beyond one per pair of chunklets, conflicts not counted.
    pub cannot_link_redundant: u64,
}

impl Redundancy {
    /// Redundant share of all; `None` without constraints.
    pub fn ratio(&self) -> Option<f64> {
        let total = self.must_link_pairs + self.cannot_link_pairs;
        (total > 0).then(|| (self.must_link_redundant + self.cannot_link_redundant) as f64 / total as f64)
    }
}

/// What exactly k clusters would add to the constraints: an assumption about k, never part of what was given.
#[derive(Debug, Clone)]
pub struct AssumedFromK {
    /// Pairs of chunklets that belong together if there are k clusters, numbered as in the chunklets asked about.
    pub joined: Vec<(u32, u32)>,
    /// The chunklets with these united.
    pub chunklets: Chunklets,
}

/// Facts that follow from "at most k clusters" through cliques of k chunklets, until nothing new follows. `Err` when they
/// prove that k is too small. (All that follows from k is co-NP-hard to find; this is the part that is cheap.)
pub fn infer_from_k(given: &Chunklets, k: usize) -> Result<AssumedFromK, Box<Infeasible>> {
    let mut chunklets = given.clone();
    let mut joined = Vec::new();
    // A chunklet of `chunklets` as one of `given`: that of its first row.
    let original = |q: &Chunklets, c: u32| given.of(q.members(c)[0] as usize);
    loop {
        let graph = chunklets.graph();
        let deadline = std::time::Instant::now() + std::time::Duration::from_secs(2);
        let mut cliques: Vec<Vec<u32>> = chunklets.cliques().iter().filter(|c| c.len() >= k).cloned().collect();
        cliques.push(colouring::greedy_clique(graph, k + 1, deadline));
        let mut place: Vec<Option<u32>> = vec![None; chunklets.len()];
        for clique in cliques.iter().filter(|c| c.len() >= k && k > 1) {
            if clique.len() > k {
                return Err(too_small(given, k));
            }
            for x in (0..chunklets.len() as u32).filter(|x| clique.binary_search(x).is_err()) {
                let mut free = clique.iter().copied().filter(|&c| !graph.has_edge(x, c));
                match (free.next(), free.next()) {
                    (None, _) => return Err(too_small(given, k)),
                    (Some(c), None) => place[x as usize] = Some(c),
                    _ => {}
                }
            }
            if place.iter().any(Option::is_some) {
                break;
            }
        }
        if place.iter().all(Option::is_none) {
            return Ok(AssumedFromK { joined, chunklets });
        }
        let mut merge: Vec<u32> = (0..chunklets.len() as u32).collect();
        for x in 0..chunklets.len() as u32 {
            let Some(c) = place[x as usize] else { continue };
            if graph.neighbours(x).iter().any(|&y| place[y as usize] == Some(c)) {
                return Err(too_small(given, k));
            }
            merge[x as usize] = c;
            joined.push((original(&chunklets, x), original(&chunklets, c)));
        }
        chunklets = chunklets.merged(&merge);
    }
}

fn too_small(given: &Chunklets, k: usize) -> Box<Infeasible> {
    match feasible(given, k, &FeasibleOptions::default()) {
        Feasibility::Infeasible(why) => why,
        // Proven by the inference, only not by the solver in time: all edges together are the reason.
        _ => {
            let edges = given.graph().edges().collect();
            Box::new(Infeasible::new(given, k, Witness::Core { edges, minimal: false }))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Origin, brute};
    use super::*;
    use crate::rng::Rng;
    use Kind::{CannotLink, MustLink};

    #[test]
    fn an_entailed_difference_is_explained_by_its_chain() {
        // spec §12.1
        let mut c = ConstraintSet::new(8);
        for (kind, a, b) in
            [(MustLink, 0, 1), (MustLink, 1, 2), (MustLink, 3, 4), (CannotLink, 2, 3), (CannotLink, 5, 6)]
        {
            c.add_pair(kind, a, b).unwrap();
        }
        let q = c.close().unwrap();
        let why = c.explain(&q, 0, 4, 0.0, PathRule::Fewest);
        assert_eq!(why.points, [0, 1, 2, 3, 4]);
        assert_eq!(why.path, [0, 1, 3, 2].map(ConstraintId::Pair));
        assert_eq!((why.cannot_link, why.confidence), (Some(2), 1.0));
        let text = why.describe(&c, |row| row.to_string());
        assert_eq!(text, "0 = 1 [pair #0] = 2 [pair #1] ≠ 3 [pair #3] = 4 [pair #2]");
        assert_eq!(c.explain(&q, 4, 0, 0.0, PathRule::Fewest).points, [4, 3, 2, 1, 0]);
        assert_eq!(c.explain(&q, 0, 5, 0.0, PathRule::Fewest).path, []);
        assert_eq!(c.explain(&q, 3, 3, 0.0, PathRule::Fewest).points, [3]);
        let r = c.redundancy(&q);
        assert_eq!((r.must_link_redundant, r.cannot_link_redundant, r.ratio()), (0, 0, Some(0.0)));
    }

    #[test]
    fn confidence_is_the_product_along_the_likeliest_chain() {
        let mut c = ConstraintSet::new(4);
        let mut add = |kind, a, b, q: f64| {
            let (kind, w) = super::super::weight_of_confidence(kind, q).unwrap();
            c.add_weighted_pair(kind, a, b, w, Origin::default()).unwrap();
        };
        add(MustLink, 0, 1, 0.9);
        add(MustLink, 1, 2, 0.9);
        add(MustLink, 0, 2, 0.7);
        add(CannotLink, 2, 3, 0.8);
        let q = c.close().unwrap();
        let likely = c.explain(&q, 0, 3, 0.0, PathRule::MostLikely);
        assert_eq!(likely.points, [0, 1, 2, 3]);
        assert!((likely.confidence - 0.9 * 0.9 * 0.8).abs() < 1e-12);
        let short = c.explain(&q, 0, 3, 0.0, PathRule::Fewest);
        assert_eq!(short.points, [0, 2, 3]);
        assert!((short.confidence - 0.7 * 0.8).abs() < 1e-12);
        let r = c.redundancy(&q);
        assert_eq!((r.must_link_redundant, r.ratio()), (1, Some(0.25)));
    }

    #[test]
    fn entailment_is_symmetric_equals_enumeration_and_its_chains_are_shortest() {
        let mut rng = Rng::stream(31, "entail", 0);
        for _ in 0..600 {
            let c = brute::random_set(&mut rng, 6, 7);
            let Ok(q) = c.close() else { continue };
            let kept: Vec<_> = brute::partitions(6).into_iter().filter(|p| brute::keeps(&c, p)).collect();
            let d = brute::must_link_distances(&c);
            for i in 0..6usize {
                for j in 0..6usize {
                    let said = q.entails(i, j);
                    assert_eq!(said, q.entails(j, i));
                    let expected = if kept.iter().all(|p| p[i] == p[j]) {
                        Entailed::Same
                    } else if kept.iter().all(|p| p[i] != p[j]) {
                        Entailed::Different
                    } else {
                        Entailed::Unknown
                    };
                    assert_eq!(said, expected);
                    let why = c.explain(&q, i, j, 0.0, PathRule::Fewest);
                    for (s, step) in why.points.windows(2).enumerate() {
                        let kind = if why.cannot_link == Some(s) { CannotLink } else { MustLink };
                        assert!(brute::says(&c, why.path[s], kind, step[0], step[1]));
                    }
                    match said {
                        Entailed::Unknown => assert!(why.path.is_empty()),
                        Entailed::Same => assert_eq!(why.path.len(), d[i][j]),
                        Entailed::Different => {
                            let links = c.expanded().filter(|p| p.kind == CannotLink);
                            let ends = links.flat_map(|p| [(p.a as usize, p.b as usize), (p.b as usize, p.a as usize)]);
                            let least = ends.map(|(u, v)| d[i][u].saturating_add(d[v][j])).min().unwrap();
                            assert_eq!(why.path.len(), least + 1);
                        }
                    }
                    if said != Entailed::Unknown {
                        assert_eq!((why.points[0], *why.points.last().unwrap()), (i as u32, j as u32));
                    }
                }
            }
        }
    }

    #[test]
    fn k_clusters_and_a_clique_force_the_last_place() {
        // 0, 1, 2 differ pairwise; 3 differs from 0 and 1; 4 from 3 and 1.
        let mut c = ConstraintSet::new(6);
        for (a, b) in [(0, 1), (0, 2), (1, 2), (3, 0), (3, 1), (4, 3), (4, 1)] {
            c.add_pair(CannotLink, a, b).unwrap();
        }
        let q = c.close().unwrap();
        let told = infer_from_k(&q, 3).unwrap();
        assert_eq!(told.joined.len(), 2);
        assert_eq!(told.chunklets.entails(2, 3), Entailed::Same);
        assert_eq!(told.chunklets.entails(0, 4), Entailed::Same);
        assert!(infer_from_k(&q, 4).unwrap().joined.is_empty());
        c.add_pair(CannotLink, 3, 2).unwrap();
        let q = c.close().unwrap();
        infer_from_k(&q, 3).unwrap_err().check(&c);
    }

    #[test]
    fn what_k_adds_holds_in_every_clustering_into_k() {
        let mut rng = Rng::stream(32, "entail", 0);
        let mut facts = 0;
        for _ in 0..600 {
            let mut c = ConstraintSet::new(6);
            for a in 0..6 {
                for b in 0..a {
                    if rng.below(2) == 0 {
                        c.add_pair(CannotLink, a, b).unwrap();
                    }
                }
            }
            let q = c.close().unwrap();
            for k in 2..=4 {
                let kept: Vec<_> =
                    brute::partitions(6).into_iter().filter(|p| brute::blocks(p) <= k && brute::keeps(&c, p)).collect();
                match infer_from_k(&q, k) {
                    Err(why) => {
                        assert!(kept.is_empty());
                        why.check(&c);
                    }
                    Ok(told) => {
                        for &(a, b) in &told.joined {
                            facts += 1;
                            let (a, b) = (q.members(a)[0] as usize, q.members(b)[0] as usize);
                            assert!(kept.iter().all(|p| p[a] == p[b]));
                        }
                    }
                }
            }
        }
        assert!(facts > 200, "{facts}");
    }
}
