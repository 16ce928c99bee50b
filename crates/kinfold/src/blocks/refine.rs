//! Neighbour refinement: raises E = Σ of the votes between chunklets of one cluster by moves that keep every
//! cannot-link (Kempe pieces: swap two clusters on the connected piece around a chunklet; a lone chunklet is a plain
//! move, two are an exchange), light chunklets first, the best target each. One move at a time on purpose: all at once
//! oscillates. E rises with every move, so it ends. Cost per sweep O(links + pieces).

use super::neighbours::Votes;
use crate::constraints::Graph;

const SWEEPS: usize = 30;
/// Gains below this are rounding.
const NOISE: f64 = 1e-9;

/// Improves `labels` (one per chunklet, feasible) in place.
pub fn by_neighbours(votes: &Votes, graph: &Graph, weight: &[f64], k: usize, labels: &mut [u32]) {
    let m = labels.len();
    let mut order: Vec<usize> = (0..m).collect();
    order.sort_by(|&a, &b| weight[a].total_cmp(&weight[b]).then(a.cmp(&b)));
    let mut piece = Piece { mark: vec![0; m], stamp: 0, members: Vec::new() };
    let mut best_members: Vec<u32> = Vec::new();
    let mut toward = vec![0.0; k];
    for _ in 0..SWEEPS {
        let mut moved = false;
        for &u in &order {
            let from = labels[u];
            toward.fill(0.0);
            votes.of(u).iter().for_each(|&(v, w)| toward[labels[v as usize] as usize] += w);
            let mut best: Option<(f64, u32)> = None;
            for to in 0..k as u32 {
                if to == from || toward[to as usize] <= toward[from as usize] {
                    continue;
                }
                piece.grow(graph, labels, u as u32, from, to);
                let gain = piece.gain(votes, labels, from, to);
                if gain > best.map_or(NOISE, |b| b.0) {
                    best = Some((gain, to));
                    best_members.clone_from(&piece.members);
                }
            }
            if let Some((_, to)) = best {
                for &v in &best_members {
                    let label = &mut labels[v as usize];
                    *label = if *label == from { to } else { from };
                }
                moved = true;
            }
        }
        if !moved {
            break;
        }
    }
}

/// The chunklets of two clusters that hang together by cannot-links.
struct Piece {
    mark: Vec<u32>,
    stamp: u32,
    members: Vec<u32>,
}

impl Piece {
    fn grow(&mut self, graph: &Graph, labels: &[u32], start: u32, a: u32, b: u32) {
        self.stamp += 1;
        self.members.clear();
        self.members.push(start);
        self.mark[start as usize] = self.stamp;
        let mut next = 0;
        while next < self.members.len() {
            let v = self.members[next];
            next += 1;
            let other = if labels[v as usize] == a { b } else { a };
            for &u in graph.neighbours(v) {
                if labels[u as usize] == other && self.mark[u as usize] != self.stamp {
                    self.mark[u as usize] = self.stamp;
                    self.members.push(u);
                }
            }
        }
    }

    /// What E gains when the piece swaps its two clusters: votes inside the piece stay as they are.
    fn gain(&self, votes: &Votes, labels: &[u32], a: u32, b: u32) -> f64 {
        let mut gain = 0.0;
        for &v in &self.members {
            let (old, new) = if labels[v as usize] == a { (a, b) } else { (b, a) };
            for &(u, w) in votes.of(v as usize) {
                if self.mark[u as usize] != self.stamp {
                    let label = labels[u as usize];
                    gain += if label == new {
                        w
                    } else if label == old {
                        -w
                    } else {
                        0.0
                    };
                }
            }
        }
        gain
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::blocks::neighbours::Neighbours;
    use crate::blocks::par::Pool;
    use crate::constraints::Chunklets;
    use crate::data::Matrix;
    use crate::rng::Rng;

    #[test]
    fn votes_inside_clusters_rise_and_no_cannot_link_breaks() {
        for seed in 0..20 {
            let mut rng = Rng::stream(seed, "test", 0);
            let (n, k) = (60, 3);
            let x = Matrix::from_vec(2, (0..2 * n).map(|_| rng.normal()).collect());
            let mut labels: Vec<u32> = (0..n).map(|_| rng.below(k) as u32).collect();
            let mut apart = Vec::new();
            while apart.len() < 40 {
                let (a, b) = (rng.below(n) as u32, rng.below(n) as u32);
                if labels[a as usize] != labels[b as usize] {
                    apart.push((a, b));
                }
            }
            let chunklets = Chunklets::from_groups(&(0..n as u32).collect::<Vec<_>>(), &apart);
            let votes = Votes::new(&Neighbours::new(&Pool::new(1), &x), &chunklets);
            let inside = |labels: &[u32]| -> f64 {
                let of = |u: usize| votes.of(u).iter().filter(move |e| labels[e.0 as usize] == labels[u]);
                (0..n).flat_map(of).map(|e| e.1).sum()
            };
            let before = inside(&labels);
            by_neighbours(&votes, chunklets.graph(), &vec![1.0; n], k, &mut labels);
            assert!(inside(&labels) > before);
            assert!(apart.iter().all(|&(a, b)| labels[a as usize] != labels[b as usize]));
        }
    }
}
