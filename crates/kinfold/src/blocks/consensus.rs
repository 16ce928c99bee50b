//! One labelling from several: members are renamed to the reference by the best matching of clusters, every chunklet is
//! charged minus the weighted share of members for each cluster, and the cheapest labels that keep every cannot-link
//! win; the result is the next reference, a few rounds. Ties stay with the reference.

use super::assign::Assigner;
use super::matching::Matcher;
use crate::constraints::Graph;
use crate::context::RunContext;

const ROUNDS: usize = 3;
/// What the reference's own label counts beside the votes.
const TIE: f64 = 1e-6;

/// `labels` renamed so that they share as much weight as possible with `reference`.
pub fn aligned(labels: &[u32], reference: &[u32], weight: &[f64], k: usize) -> Vec<u32> {
    let mut shared = vec![0.0; k * k];
    for ((&a, &b), w) in labels.iter().zip(reference).zip(weight) {
        shared[a as usize * k + b as usize] += w;
    }
    let mut to: Vec<u32> = (0..k as u32).collect();
    // Finite costs always have a matching.
    Matcher::new().solve(k, k, |a, b| -shared[a * k + b], &mut to);
    labels.iter().map(|&l| to[l as usize]).collect()
}

/// The weighted vote of `members`, starting from `reference`, which keeps the cannot-links and so does the result.
pub fn vote(
    ctx: &RunContext,
    graph: &Graph,
    weight: &[f64],
    k: usize,
    members: &[(f64, &[u32])],
    reference: &[u32],
) -> Vec<u32> {
    let total: f64 = members.iter().map(|m| m.0).sum();
    let mut current = reference.to_vec();
    // Costs of a vote are full of ties, which proofs drown in and nobody needs proven.
    let mut assigner = Assigner::new(graph, k).quick();
    for _ in 0..ROUNDS {
        let mut costs = vec![0.0; weight.len() * k];
        for (share, labels) in members {
            for (u, label) in aligned(labels, &current, weight, k).into_iter().enumerate() {
                costs[u * k + label as usize] -= weight[u] * share / total;
            }
        }
        for (u, &label) in current.iter().enumerate() {
            costs[u * k + label as usize] -= weight[u] * TIE;
        }
        let mut next = current.clone();
        // Where members disagree about everything, the most voted labels may all be one: on few rows that is no vote for
        // fewer clusters.
        if assigner.assign(ctx, &costs, Some(&current), &mut next).is_err()
            || next == current
            || (few(weight.len(), k) && used(&next, k) < used(&current, k))
        {
            break;
        }
        current = next;
    }
    current
}

/// So few units per cluster that a cluster without any is an accident. With more, candidates that agree to leave one empty
/// know something: classes of two rows among hundreds are no clusters.
pub fn few(units: usize, k: usize) -> bool {
    units < 20 * k
}

/// How many of the k clusters have rows.
pub fn used(labels: &[u32], k: usize) -> usize {
    let mut seen = vec![false; k];
    labels.iter().for_each(|&l| seen[l as usize] = true);
    seen.into_iter().filter(|&s| s).count()
}

/// The member most like the others by adjusted Rand index over weight; the first of equals.
pub fn medoid(members: &[&[u32]], weight: &[f64], k: usize) -> usize {
    let likeness = |i: usize| members.iter().map(|m| adjusted_rand(members[i], m, weight, k)).sum::<f64>();
    let mut best = (0, f64::NEG_INFINITY);
    for i in 0..members.len() {
        let value = likeness(i);
        if value > best.1 + 1e-12 {
            best = (i, value);
        }
    }
    best.0
}

fn adjusted_rand(a: &[u32], b: &[u32], weight: &[f64], k: usize) -> f64 {
    let (mut both, mut in_a, mut in_b, mut n) = (vec![0.0; k * k], vec![0.0; k], vec![0.0; k], 0.0);
    for ((&x, &y), w) in a.iter().zip(b).zip(weight) {
        both[x as usize * k + y as usize] += w;
        in_a[x as usize] += w;
        in_b[y as usize] += w;
        n += w;
    }
    let pairs = |sizes: &[f64]| sizes.iter().map(|s| s * (s - 1.0) / 2.0).sum::<f64>();
    let (together, x, y) = (pairs(&both), pairs(&in_a), pairs(&in_b));
    let expected = x * y / (n * (n - 1.0) / 2.0).max(1e-300);
    let most = (x + y) / 2.0;
    if (most - expected).abs() < 1e-12 { 1.0 } else { (together - expected) / (most - expected) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn renaming_undoes_a_permutation() {
        let a = [0, 0, 1, 1, 2, 2];
        let b = [2, 2, 0, 0, 1, 1];
        assert_eq!(aligned(&b, &a, &[1.0; 6], 3), a);
        assert_eq!(medoid(&[&[0, 1, 0, 1, 0, 1], &a, &b], &[1.0; 6], 3), 1);
    }

    #[test]
    fn members_that_disagree_about_everything_do_not_vote_a_cluster_away() {
        let ctx = RunContext::default().with_threads(1);
        let members: Vec<(f64, &[u32])> = vec![(1.0, &[0, 0, 0, 1]), (1.0, &[0, 0, 1, 0]), (1.0, &[0, 1, 0, 0])];
        let free = Graph::new(4, std::iter::empty());
        let voted = vote(&ctx, &free, &[1.0; 4], 2, &members, members[0].1);
        assert_eq!(used(&voted, 2), 2);
    }

    #[test]
    fn the_majority_wins_unless_a_cannot_link_forbids_it() {
        let ctx = RunContext::default().with_threads(1);
        let members: Vec<(f64, &[u32])> =
            vec![(1.0, &[0, 0, 0, 1, 1, 1]), (1.0, &[1, 1, 1, 0, 0, 0]), (0.5, &[0, 0, 1, 1, 1, 1])];
        let free = Graph::new(6, std::iter::empty());
        let voted = vote(&ctx, &free, &[1.0; 6], 2, &members, members[2].1);
        assert_eq!(voted, [0, 0, 0, 1, 1, 1]);
        let apart = Graph::new(6, [(1, 2)].into_iter());
        let voted = vote(&ctx, &apart, &[1.0; 6], 2, &members, members[2].1);
        assert_ne!(voted[1], voted[2]);
    }
}
