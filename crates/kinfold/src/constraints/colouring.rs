//! Graph colouring by bounds and heuristics: peeling to the k-core, odd cycles, greedy cliques (lower bound), DSATUR
//! (upper bound; Brélaz 1979: most distinct neighbour colours first, ties by degree, then the smaller id) and TabuCol
//! (Hertz & de Werra 1987). Peeling and two-colouring O(V + E), DSATUR O((V + E) log V), cliques O(starts · E).

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::time::Instant;

use super::Graph;
use crate::rng::Rng;

/// Not yet coloured.
pub(super) const NONE: u32 = u32::MAX;
/// Candidates a greedy clique looks at from one start; hubs beyond it are cut (it is only a bound).
const MOST_CANDIDATES: usize = 8_192;
/// Starts of the greedy clique search.
const CLIQUE_STARTS: usize = 1_000;

/// Removes vertices of degree < k until none is left: the removal order, and who stays (the k-core).
pub(super) fn peel(graph: &Graph, k: usize) -> (Vec<u32>, Vec<bool>) {
    let n = graph.len();
    let mut degree: Vec<u32> = (0..n as u32).map(|v| graph.degree(v) as u32).collect();
    let mut stays = vec![true; n];
    let mut order: Vec<u32> = (0..n as u32).filter(|&v| (degree[v as usize] as usize) < k).collect();
    order.iter().for_each(|&v| stays[v as usize] = false);
    let mut next = 0;
    while next < order.len() {
        for &u in graph.neighbours(order[next]) {
            if stays[u as usize] {
                degree[u as usize] -= 1;
                if (degree[u as usize] as usize) < k {
                    stays[u as usize] = false;
                    order.push(u);
                }
            }
        }
        next += 1;
    }
    (order, stays)
}

/// Gives the peeled vertices, last removed first, the smallest colour free around them.
pub(super) fn colour_peeled(graph: &Graph, order: &[u32], colours: &mut [u32]) {
    let mut used = Vec::new();
    for &v in order.iter().rev() {
        colours[v as usize] = smallest_free(graph, v, colours, &mut used);
    }
}

fn smallest_free(graph: &Graph, v: u32, colours: &[u32], used: &mut Vec<bool>) -> u32 {
    used.clear();
    used.resize(graph.degree(v) + 1, false);
    for &u in graph.neighbours(v) {
        if let Some(slot) = used.get_mut(colours[u as usize] as usize) {
            *slot = true;
        }
    }
    used.iter().position(|&x| !x).unwrap_or(0) as u32
}

/// Two colours, or an odd cycle.
pub(super) fn two_colour(graph: &Graph) -> Result<Vec<u32>, Vec<u32>> {
    let mut colours = vec![NONE; graph.len()];
    let mut parent = vec![NONE; graph.len()];
    let mut queue = Vec::new();
    for root in 0..graph.len() as u32 {
        if colours[root as usize] != NONE {
            continue;
        }
        colours[root as usize] = 0;
        queue.clear();
        queue.push(root);
        let mut next = 0;
        while next < queue.len() {
            let v = queue[next];
            next += 1;
            for &u in graph.neighbours(v) {
                if colours[u as usize] == NONE {
                    colours[u as usize] = 1 - colours[v as usize];
                    parent[u as usize] = v;
                    queue.push(u);
                } else if colours[u as usize] == colours[v as usize] {
                    return Err(close_cycle(&parent, v, u));
                }
            }
        }
    }
    Ok(colours)
}

/// The tree paths of u and v to their common ancestor, and the edge between them.
fn close_cycle(parent: &[u32], u: u32, v: u32) -> Vec<u32> {
    let to_root = |mut x: u32| {
        let mut path = vec![x];
        while parent[x as usize] != NONE {
            x = parent[x as usize];
            path.push(x);
        }
        path
    };
    let (mut left, mut right) = (to_root(u), to_root(v));
    let mut top = None;
    while let (Some(&x), Some(&y)) = (left.last(), right.last()) {
        if x != y {
            break;
        }
        top = left.pop();
        right.pop();
    }
    left.extend(top);
    left.extend(right.into_iter().rev());
    left
}

/// DSATUR: colours from 0 and how many.
pub(super) fn dsatur(graph: &Graph) -> (Vec<u32>, usize) {
    let n = graph.len();
    let mut colours = vec![NONE; n];
    // Colours seen around each vertex, as bits; the heap holds stale entries that are skipped.
    let mut seen: Vec<Vec<u64>> = vec![Vec::new(); n];
    let mut saturation = vec![0u32; n];
    let mut heap: BinaryHeap<(u32, u32, Reverse<u32>)> =
        (0..n as u32).map(|v| (0, graph.degree(v) as u32, Reverse(v))).collect();
    let mut count = 0;
    while let Some((sat, _, Reverse(v))) = heap.pop() {
        if colours[v as usize] != NONE || sat != saturation[v as usize] {
            continue;
        }
        let words = &seen[v as usize];
        let free = words.iter().position(|&w| w != u64::MAX).unwrap_or(words.len());
        let colour = (free * 64 + words.get(free).map_or(0, |w| w.trailing_ones() as usize)) as u32;
        colours[v as usize] = colour;
        count = count.max(colour as usize + 1);
        let (word, bit) = (colour as usize / 64, 1u64 << (colour % 64));
        for &u in graph.neighbours(v).iter().filter(|&&u| colours[u as usize] == NONE) {
            let words = &mut seen[u as usize];
            if words.len() <= word {
                words.resize(word + 1, 0);
            }
            if words[word] & bit == 0 {
                words[word] |= bit;
                saturation[u as usize] += 1;
                heap.push((saturation[u as usize], graph.degree(u) as u32, Reverse(u)));
            }
        }
        seen[v as usize] = Vec::new();
    }
    (colours, count)
}

/// A large clique: greedy from the vertices of largest degree, the candidate with most neighbours among the candidates
/// next, ties to the smaller id. Never more than `enough` vertices; stops at the deadline.
pub(super) fn greedy_clique(graph: &Graph, enough: usize, deadline: Instant) -> Vec<u32> {
    let mut starts: Vec<u32> = (0..graph.len() as u32).collect();
    let by_degree = |v: &u32| (Reverse(graph.degree(*v)), *v);
    if starts.len() > CLIQUE_STARTS {
        starts.select_nth_unstable_by_key(CLIQUE_STARTS, by_degree);
        starts.truncate(CLIQUE_STARTS);
    }
    starts.sort_unstable_by_key(by_degree);
    let mut position = vec![NONE; graph.len()];
    let mut best = Vec::new();
    for &start in &starts {
        if best.len() > graph.degree(start) || best.len() >= enough || (!best.is_empty() && Instant::now() > deadline) {
            break;
        }
        let clique = clique_from(graph, start, &mut position);
        if clique.len() > best.len() {
            best = clique;
        }
    }
    best.sort_unstable();
    best.truncate(enough);
    best
}

fn clique_from(graph: &Graph, start: u32, position: &mut [u32]) -> Vec<u32> {
    let mut candidates = graph.neighbours(start).to_vec();
    if candidates.len() > MOST_CANDIDATES {
        candidates.sort_unstable_by_key(|&v| (Reverse(graph.degree(v)), v));
        candidates.truncate(MOST_CANDIDATES);
        candidates.sort_unstable();
    }
    let words = candidates.len().div_ceil(64);
    let mut rows = vec![0u64; candidates.len() * words];
    candidates.iter().enumerate().for_each(|(i, &v)| position[v as usize] = i as u32);
    for (i, &v) in candidates.iter().enumerate() {
        for &u in graph.neighbours(v) {
            let at = position[u as usize];
            if at != NONE {
                rows[i * words + at as usize / 64] |= 1 << (at % 64);
            }
        }
    }
    candidates.iter().for_each(|&v| position[v as usize] = NONE);
    let mut alive = vec![0u64; words];
    (0..candidates.len()).for_each(|i| alive[i / 64] |= 1 << (i % 64));
    let mut clique = vec![start];
    loop {
        let mut best: Option<(u32, usize)> = None;
        for i in (0..candidates.len()).filter(|i| alive[i / 64] >> (i % 64) & 1 == 1) {
            let row = &rows[i * words..(i + 1) * words];
            let common: u32 = row.iter().zip(&alive).map(|(x, y)| (x & y).count_ones()).sum();
            if best.is_none_or(|(most, _)| common > most) {
                best = Some((common, i));
            }
        }
        let Some((_, i)) = best else { return clique };
        clique.push(candidates[i]);
        let row = &rows[i * words..(i + 1) * words];
        alive.iter_mut().zip(row).for_each(|(x, y)| *x &= y);
    }
}

/// TabuCol: a colouring with k colours, if the local search meets one within `moves`.
pub(super) fn tabu(graph: &Graph, k: usize, start: &[u32], moves: usize, deadline: Instant) -> Option<Vec<u32>> {
    let n = graph.len();
    let mut rng = Rng::stream(0, "tabucol", 0);
    let mut colours: Vec<u32> = start.iter().map(|&c| if (c as usize) < k { c } else { rng.below(k) as u32 }).collect();
    // around[v·k + c]: neighbours of v with colour c.
    let mut around = vec![0u32; n * k];
    for v in 0..n {
        graph.neighbours(v as u32).iter().for_each(|&u| around[v * k + colours[u as usize] as usize] += 1);
    }
    let conflicts = |colours: &[u32], around: &[u32], v: usize| around[v * k + colours[v] as usize];
    let mut bad: Vec<u32> = (0..n as u32).filter(|&v| conflicts(&colours, &around, v as usize) > 0).collect();
    let mut slot = vec![NONE; n];
    bad.iter().enumerate().for_each(|(i, &v)| slot[v as usize] = i as u32);
    let mut cost: i64 = bad.iter().map(|&v| i64::from(conflicts(&colours, &around, v as usize))).sum::<i64>() / 2;
    let mut best = cost;
    let mut until = vec![0usize; n * k];
    for step in 1..=moves {
        if cost == 0 {
            return Some(colours);
        }
        if step % 256 == 0 && Instant::now() > deadline {
            return None;
        }
        let (mut chosen, mut least, mut ties) = (None, i64::MAX, 0);
        for &v in &bad {
            let own = colours[v as usize] as usize;
            let now = i64::from(around[v as usize * k + own]);
            for c in (0..k).filter(|&c| c != own) {
                let change = i64::from(around[v as usize * k + c]) - now;
                let allowed = until[v as usize * k + c] < step || cost + change < best;
                if !allowed || change > least {
                    continue;
                }
                ties = if change < least { 1 } else { ties + 1 };
                least = change;
                if ties == 1 || rng.below(ties) == 0 {
                    chosen = Some((v as usize, c));
                }
            }
        }
        let Some((v, c)) = chosen else { continue };
        let old = colours[v] as usize;
        colours[v] = c as u32;
        cost += least;
        best = best.min(cost);
        until[v * k + old] = step + rng.below(10) + (bad.len() * 6) / 10;
        for &u in graph.neighbours(v as u32) {
            around[u as usize * k + old] -= 1;
            around[u as usize * k + c] += 1;
        }
        for &u in graph.neighbours(v as u32).iter().chain([&(v as u32)]) {
            let u = u as usize;
            let is_bad = conflicts(&colours, &around, u) > 0;
            if is_bad && slot[u] == NONE {
                slot[u] = bad.len() as u32;
                bad.push(u as u32);
            } else if !is_bad && slot[u] != NONE {
                let at = slot[u] as usize;
                bad.swap_remove(at);
                slot[u] = NONE;
                if let Some(&moved) = bad.get(at) {
                    slot[moved as usize] = at as u32;
                }
            }
        }
    }
    (cost == 0).then_some(colours)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    pub fn random_graph(rng: &mut Rng, n: usize, p: f64) -> Graph {
        let mut edges = Vec::new();
        for a in 0..n as u32 {
            for b in a + 1..n as u32 {
                if rng.unit() < p {
                    edges.push((a, b));
                }
            }
        }
        Graph::new(n, edges.into_iter())
    }

    #[test]
    fn heuristics_give_proper_colourings_and_real_cliques() {
        let mut rng = Rng::stream(1, "colouring", 0);
        let later = Instant::now() + Duration::from_secs(60);
        for round in 0..60 {
            let g = random_graph(&mut rng, 5 + round, 0.1 + 0.01 * round as f64);
            let (colours, count) = dsatur(&g);
            assert!(g.edges().all(|(a, b)| colours[a as usize] != colours[b as usize]));
            assert_eq!(colours.iter().max().map_or(0, |&c| c as usize + 1), count);
            let clique = greedy_clique(&g, usize::MAX, later);
            assert!(clique.iter().all(|&a| clique.iter().all(|&b| a == b || g.has_edge(a, b))));
            assert!(clique.len() <= count);
            let (order, stays) = peel(&g, 3);
            assert!((0..g.len()).all(|v| stays[v] != order.contains(&(v as u32))));
            for v in (0..g.len() as u32).filter(|&v| stays[v as usize]) {
                assert!(g.neighbours(v).iter().filter(|&&u| stays[u as usize]).count() >= 3);
            }
            if let Some(better) = tabu(&g, count, &vec![NONE; g.len()], 20_000, later) {
                assert!(g.edges().all(|(a, b)| better[a as usize] != better[b as usize]));
                assert!(better.iter().all(|&c| (c as usize) < count));
            }
        }
    }

    #[test]
    fn tabu_search_finds_a_planted_colouring() {
        let mut rng = Rng::stream(2, "colouring", 0);
        let (n, k) = (300, 6);
        let mut edges = Vec::new();
        for a in 0..n as u32 {
            for b in a + 1..n as u32 {
                if a % k != b % k && rng.unit() < 0.9 {
                    edges.push((a, b));
                }
            }
        }
        let g = Graph::new(n, edges.into_iter());
        let later = Instant::now() + Duration::from_secs(60);
        let found = tabu(&g, k as usize, &vec![NONE; n], 100_000, later).expect("planted");
        assert!(g.edges().all(|(a, b)| found[a as usize] != found[b as usize]));
    }
}
