//! Starts and improvement for components too large for a proof. Every step keeps the hard edges and never raises E:
//! whole-class renaming (a k × k matching), Kempe exchanges (all two-cluster components of a pair at once, gains
//! exact), single moves and moves that push one neighbour out, and best labels on a random induced forest with the rest
//! held fixed (dynamic programming over hundreds of units in one step). One round costs O(k·(V + E)).

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::dp::Forest;
use super::net::{Net, two_smallest};
use crate::blocks::matching::Matcher;
use crate::rng::Rng;

/// Improvements smaller than this share of the energy are rounding.
const NOISE: f64 = 1e-13;
/// Rounds that gain less than this share count as standing still.
const PROGRESS: f64 = 1e-5;
/// Cells (clusters × units and arcs) that a series of rounds may look at.
const ROUND_WORK: usize = 300_000_000;

/// `rounds`, or as many as the size of the problem allows.
fn affordable(net: &Net, k: usize, rounds: usize) -> usize {
    rounds.min(ROUND_WORK / (k * (net.len() + 2 * net.edge_count())).max(1)).max(4)
}

/// Greedy by fewest clusters left, then largest regret. False when a unit found all its clusters closed; it then takes
/// its cheapest allowed one and the labels break hard edges.
pub(super) fn greedy(net: &Net, k: usize, costs: &[f64], labels: &mut [u32]) -> bool {
    let n = net.len();
    let mut price = costs.to_vec();
    let key = |v: usize, price: &[f64]| {
        let row = &price[v * k..(v + 1) * k];
        let (_, first, second) = two_smallest(row);
        let left = row.iter().filter(|&&x| x < f64::INFINITY).count();
        let regret = if second < f64::INFINITY { second - first } else { 0.0 };
        // Non-negative floats order like their bits.
        (left, Reverse(regret.to_bits()), v as u32)
    };
    let mut current: Vec<_> = (0..n).map(|v| key(v, &price)).collect();
    let mut heap: BinaryHeap<Reverse<(usize, Reverse<u64>, u32)>> = current.iter().map(|&x| Reverse(x)).collect();
    let mut placed = vec![false; n];
    let mut proper = true;
    while let Some(Reverse(entry)) = heap.pop() {
        let v = entry.2 as usize;
        if placed[v] || entry != current[v] {
            continue;
        }
        placed[v] = true;
        let (mut at, first, _) = two_smallest(&price[v * k..(v + 1) * k]);
        if first == f64::INFINITY {
            proper = false;
            at = two_smallest(&costs[v * k..(v + 1) * k]).0;
        }
        labels[v] = at as u32;
        for (u, w) in net.arcs(v) {
            if !placed[u] {
                price[u * k + at] += w;
                current[u] = key(u, &price);
                heap.push(Reverse(current[u]));
            }
        }
    }
    proper
}

/// From the cheapest clusters towards feasibility: broken hard edges have a price that rises until they are mended
/// (breakout, Morris 1993), with single moves and forest steps in between. Follows the costs where greedy dead-ends.
pub(super) fn breakout(net: &Net, k: usize, costs: &[f64], labels: &mut [u32], rounds: usize, rng: &mut Rng) -> bool {
    let n = net.len();
    let mut regrets = 0.0;
    for v in 0..n {
        let (at, first, second) = two_smallest(&costs[v * k..(v + 1) * k]);
        labels[v] = at as u32;
        if second < f64::INFINITY {
            regrets += second - first;
        }
    }
    let price = (regrets / n as f64).max(f64::MIN_POSITIVE);
    let mut soft = net.softened(price);
    for round in 0..affordable(net, k, rounds) {
        for _ in 0..4 {
            if moves(&soft, k, costs, labels, 0.0) <= 0.0 {
                break;
            }
        }
        if round % 4 == 0 {
            forest_step(&soft, k, costs, labels, rng);
        }
        if soft.raise_broken(net, labels, price) == 0 {
            return true;
        }
    }
    false
}

/// Renames the clusters of the whole component in the cheapest way.
pub(super) fn rename(net: &Net, k: usize, costs: &[f64], labels: &mut [u32]) {
    let mut table = vec![0.0; k * k];
    for v in 0..net.len() {
        let from = labels[v] as usize * k;
        for c in 0..k {
            table[from + c] += costs[v * k + c];
        }
    }
    let mut to = vec![0u32; k];
    let identity: f64 = (0..k).map(|c| table[c * k + c]).sum();
    let total = Matcher::new().solve(k, k, |a, b| table[a * k + b], &mut to);
    if total.is_some_and(|total| total < identity) {
        labels.iter_mut().for_each(|c| *c = to[*c as usize]);
    }
}

/// Improves feasible labels until a round of everything stalls `patience` times.
pub(super) fn improve(net: &Net, k: usize, costs: &[f64], labels: &mut [u32], patience: usize, rng: &mut Rng) {
    let scale = net.energy(k, costs, labels).abs().max(f64::MIN_POSITIVE);
    let threshold = scale * NOISE;
    rename(net, k, costs, labels);
    descend(net, k, costs, labels, threshold);
    let mut stalled = 0;
    for _ in 0..affordable(net, k, 20 * patience) {
        if stalled >= patience {
            break;
        }
        let mut gain = forest_step(net, k, costs, labels, rng);
        if gain > threshold {
            gain += descend(net, k, costs, labels, threshold);
        }
        stalled = if gain > scale * PROGRESS { 0 } else { stalled + 1 };
    }
}

/// Kempe exchanges, single moves and pushes until none helps; the total gain.
fn descend(net: &Net, k: usize, costs: &[f64], labels: &mut [u32], threshold: f64) -> f64 {
    let mut total = 0.0;
    for _ in 0..50 {
        let gain = exchanges(net, k, costs, labels, threshold) + moves(net, k, costs, labels, threshold);
        total += gain;
        if gain <= 0.0 {
            break;
        }
    }
    total
}

/// For every pair of clusters: flips each connected two-cluster piece that gets cheaper by it.
fn exchanges(net: &Net, k: usize, costs: &[f64], labels: &mut [u32], threshold: f64) -> f64 {
    let n = net.len();
    let mut members: Vec<Vec<u32>> = vec![Vec::new(); k];
    for (v, &c) in labels.iter().enumerate() {
        members[c as usize].push(v as u32);
    }
    let mut gain = 0.0;
    let mut seen = vec![0u32; n];
    let mut stamp = 0;
    let mut piece: Vec<u32> = Vec::new();
    for a in 0..k {
        for b in a + 1..k {
            stamp += 1;
            let mut flipped = false;
            let both: Vec<u32> = members[a].iter().chain(&members[b]).copied().collect();
            for &root in &both {
                if seen[root as usize] == stamp {
                    continue;
                }
                seen[root as usize] = stamp;
                piece.clear();
                piece.push(root);
                let mut next = 0;
                let mut delta = 0.0;
                while next < piece.len() {
                    let v = piece[next] as usize;
                    next += 1;
                    let here = labels[v] as usize;
                    delta += costs[v * k + a + b - here] - costs[v * k + here];
                    for (u, _) in net.arcs(v) {
                        if seen[u] != stamp && (labels[u] as usize == a || labels[u] as usize == b) {
                            seen[u] = stamp;
                            piece.push(u as u32);
                        }
                    }
                }
                if delta < -threshold {
                    gain -= delta;
                    flipped = true;
                    for &v in &piece {
                        labels[v as usize] = (a + b) as u32 - labels[v as usize];
                    }
                }
            }
            if flipped {
                members[a].clear();
                members[b].clear();
                for v in both {
                    members[labels[v as usize] as usize].push(v);
                }
            }
        }
    }
    gain
}

/// Single moves, and moves that send the one neighbour in the way elsewhere.
fn moves(net: &Net, k: usize, costs: &[f64], labels: &mut [u32], threshold: f64) -> f64 {
    let mut gain = 0.0;
    let mut price = vec![0.0; k];
    let mut other = vec![0.0; k];
    let mut blockers = vec![(0u32, 0u32); k];
    for v in 0..net.len() {
        let here = labels[v] as usize;
        fill_prices(net, k, costs, labels, v, &mut price);
        let (best, cheapest, _) = two_smallest(&price);
        let now = price[here];
        let mut target = (cheapest - now, best, None);
        if costs[v * k..(v + 1) * k].iter().any(|&x| x < now - threshold) {
            blockers.fill((0, 0));
            for u in net.hard(v) {
                let slot = &mut blockers[labels[u] as usize];
                *slot = (slot.0 + 1, u as u32);
            }
            for c in 0..k {
                let mine = costs[v * k + c];
                if blockers[c].0 != 1 || c == here || mine - now >= target.0 {
                    continue;
                }
                // u leaves c, v enters c: u sees v's old cluster freed and c closed.
                let u = blockers[c].1 as usize;
                labels[v] = c as u32;
                fill_prices(net, k, costs, labels, u, &mut other);
                let (to, after, _) = two_smallest(&other);
                labels[v] = here as u32;
                if after == f64::INFINITY {
                    continue;
                }
                let before = {
                    fill_prices(net, k, costs, labels, u, &mut other);
                    other[c]
                };
                // Soft prices of v at c, without u, which has left.
                let soft: f64 = net
                    .arcs(v)
                    .filter(|&(x, w)| x != u && w < f64::INFINITY && labels[x] as usize == c)
                    .map(|(_, w)| w)
                    .sum();
                let delta = mine + soft - now + after - before;
                if delta < target.0 - threshold {
                    target = (delta, c, Some((u, to)));
                }
            }
        }
        if target.0 < -threshold {
            gain -= target.0;
            labels[v] = target.1 as u32;
            if let Some((u, to)) = target.2 {
                labels[u] = to as u32;
            }
        }
    }
    gain
}

/// Cost of every cluster for `v` with all neighbours where they are.
fn fill_prices(net: &Net, k: usize, costs: &[f64], labels: &[u32], v: usize, price: &mut [f64]) {
    price.copy_from_slice(&costs[v * k..(v + 1) * k]);
    for (u, w) in net.arcs(v) {
        price[labels[u] as usize] += w;
    }
}

/// Best labels on a random induced forest, everything else fixed; the gain.
fn forest_step(net: &Net, k: usize, costs: &[f64], labels: &mut [u32], rng: &mut Rng) -> f64 {
    let n = net.len();
    let mut order: Vec<u32> = (0..n as u32).collect();
    rng.shuffle(&mut order);
    let mut tree: Vec<u32> = (0..n as u32).collect();
    fn find(tree: &mut [u32], mut x: u32) -> u32 {
        while tree[x as usize] != x {
            tree[x as usize] = tree[tree[x as usize] as usize];
            x = tree[x as usize];
        }
        x
    }
    let mut inside = vec![false; n];
    let mut roots: Vec<u32> = Vec::new();
    for &v in &order {
        roots.clear();
        for (u, _) in net.arcs(v as usize) {
            if inside[u] {
                roots.push(find(&mut tree, u as u32));
            }
        }
        roots.sort_unstable();
        if roots.windows(2).any(|w| w[0] == w[1]) {
            continue;
        }
        inside[v as usize] = true;
        roots.iter().for_each(|&r| tree[r as usize] = v);
    }
    let mut unary = costs.to_vec();
    for v in (0..n).filter(|&v| inside[v]) {
        for (u, w) in net.arcs(v) {
            if !inside[u] {
                unary[v * k + labels[u] as usize] += w;
            }
        }
    }
    let forest = Forest::new(net, |v| inside[v]);
    let energy = |labels: &[u32]| {
        let mut total = 0.0;
        for v in (0..n).filter(|&v| inside[v]) {
            total += costs[v * k + labels[v] as usize];
            for (u, w) in net.arcs(v) {
                if labels[u] == labels[v] && (u < v || !inside[u]) {
                    total += w;
                }
            }
        }
        total
    };
    let before = energy(labels);
    let old = labels.to_vec();
    if forest.solve(k, &mut unary, labels).is_none() {
        labels.copy_from_slice(&old);
        return 0.0;
    }
    let after = energy(labels);
    if after < before {
        before - after
    } else {
        labels.copy_from_slice(&old);
        0.0
    }
}
