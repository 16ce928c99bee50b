//! Nearest-neighbour graph with the ASC criterion (Vu, Labroche & Bouchon-Meunier 2012): ω(u,v) = shared neighbours of an edge,
//! LDS(u) = mean ω to its neighbours; weak edges (ω < θ) with large ASC(u,v) = κ − ω + min(LDS(u), LDS(v)) are asked.
//! After an answer, candidates that join the same two strong components (edges ω ≥ θ) wait until the others are used up;
//! then θ rises to κ. The paper's refinement and propagation are simplified. Cost O(n·κ²) per question.

use super::{Ground, Info, QueryStrategy, Question, Sight, State, Step};
use crate::error::Result;

crate::params! {
    /// Parameters of `knn-graph`.
    pub struct KnnGraphParams {
        /// Neighbours of a row.
        neighbours: usize = 10, 2 => 15;
        /// Edges with fewer shared neighbours are candidates; 0 = half of `neighbours`.
        threshold: usize = 0, 0 => 15;
    }
}

/// See the module.
pub struct KnnGraph(KnnGraphParams);

/// Edges (u < v) with ω and ASC, and LDS of every row.
pub(super) struct Weighted {
    pub edges: Vec<(u32, u32, usize, f64)>,
    #[cfg_attr(not(test), allow(dead_code))]
    pub density: Vec<f64>,
}

pub(super) fn weighted(ground: &Ground, wanted: usize) -> Weighted {
    let n = ground.n();
    let kappa = wanted.min(ground.nearest_count());
    let lists: Vec<Vec<u32>> = (0..n)
        .map(|u| {
            let mut list: Vec<u32> = ground.nearest(u).iter().take(kappa).map(|x| x.1).collect();
            list.sort_unstable();
            list
        })
        .collect();
    let shared = |u: usize, v: usize| {
        let (mut a, mut b, mut count) = (0, 0, 0);
        while a < lists[u].len() && b < lists[v].len() {
            match lists[u][a].cmp(&lists[v][b]) {
                std::cmp::Ordering::Less => a += 1,
                std::cmp::Ordering::Greater => b += 1,
                std::cmp::Ordering::Equal => (a, b, count) = (a + 1, b + 1, count + 1),
            }
        }
        count
    };
    let density: Vec<f64> = ground
        .pool()
        .map_chunks(n, 512, |rows| {
            rows.map(|u| lists[u].iter().map(|&v| shared(u, v as usize) as f64).sum::<f64>() / kappa.max(1) as f64)
                .collect::<Vec<f64>>()
        })
        .concat();
    let mut edges: Vec<(u32, u32)> =
        (0..n).flat_map(|u| lists[u].iter().map(move |&v| (v.min(u as u32), v.max(u as u32)))).collect();
    edges.sort_unstable();
    edges.dedup();
    let edges = edges
        .into_iter()
        .map(|(u, v)| {
            let omega = shared(u as usize, v as usize);
            (u, v, omega, kappa as f64 - omega as f64 + density[u as usize].min(density[v as usize]))
        })
        .collect();
    Weighted { edges, density }
}

impl QueryStrategy for KnnGraph {
    type Params = KnnGraphParams;
    const INFO: Info = Info {
        name: "knn-graph",
        summary: "neighbours that share few neighbours, between dense places: likely boundaries",
        paper: "V.-V. Vu, N. Labroche, B. Bouchon-Meunier, Improving constrained clustering with active query selection, 2012",
        refits: false,
        k: "not used",
        cost: "O(n·κ²)",
    };

    fn new(params: KnnGraphParams) -> Result<Self> {
        Ok(KnnGraph(params))
    }

    fn step(&self, sight: &Sight<'_>, state: &mut State) -> Result<Step> {
        let kappa = self.0.neighbours.min(sight.ground.nearest_count());
        let first = if self.0.threshold == 0 { kappa / 2 } else { self.0.threshold };
        let w = weighted(sight.ground, kappa);
        let mut part: Vec<u32> = (0..sight.n() as u32).collect();
        fn find(part: &mut [u32], mut x: u32) -> u32 {
            while part[x as usize] != x {
                part[x as usize] = part[part[x as usize] as usize];
                x = part[x as usize];
            }
            x
        }
        for &(u, v, omega, _) in &w.edges {
            if omega >= first {
                let (a, b) = (find(&mut part, u), find(&mut part, v));
                part[a.max(b) as usize] = a.min(b);
            }
        }
        let mut joins = |u: u32, v: u32| {
            let (a, b) = (find(&mut part, u), find(&mut part, v));
            (a.min(b), a.max(b))
        };
        let used: rustc_hash::FxHashSet<(u32, u32)> = state.pairs.iter().map(|&(u, v)| joins(u, v)).collect();
        loop {
            let theta = first.max(1) + state.phase as usize;
            let mut best: [Option<(f64, u32, u32)>; 2] = [None, None];
            for &(u, v, omega, score) in w.edges.iter().filter(|e| e.2 < theta) {
                if sight.known.askable(u as usize, v as usize) {
                    let waits = usize::from(used.contains(&joins(u, v)));
                    if best[waits].is_none_or(|b| score > b.0) {
                        best[waits] = Some((score, u, v));
                    }
                    let _ = omega;
                }
            }
            if let Some((score, u, v)) = best[0].or(best[1]) {
                state.pairs.push((u, v));
                let mut question = Question::new(
                    u as usize,
                    v as usize,
                    "neighbours that share few neighbours: a boundary may run between them",
                );
                question.score = score;
                return Ok(Step::Ask(question));
            }
            if theta > kappa {
                return Ok(sight.nothing_left());
            }
            state.phase += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::blocks::par::Pool;
    use crate::data::Matrix;

    #[test]
    fn weights_and_candidates_as_worked_out() {
        // spec/active.md test 10.
        let ground = Ground::of_rows(Matrix::from_vec(1, vec![0.0, 1.0, 2.0, 10.0, 11.0, 12.0]), &Pool::new(1));
        let w = weighted(&ground, 3);
        let expected = [5.0, 5.0, 4.0, 4.0, 5.0, 5.0].map(|v| v / 3.0);
        assert!(w.density.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-12), "{:?}", w.density);
        let below =
            |theta: usize| -> Vec<(u32, u32)> { w.edges.iter().filter(|e| e.2 < theta).map(|e| (e.0, e.1)).collect() };
        assert_eq!(below(1), [(2, 3)]);
        assert_eq!(below(2), [(0, 3), (1, 3), (2, 3), (2, 4), (2, 5)]);
        let asc = |u: u32, v: u32| w.edges.iter().find(|e| (e.0, e.1) == (u, v)).map(|e| e.3).unwrap();
        assert!((asc(2, 3) - 13.0 / 3.0).abs() < 1e-12 && (asc(0, 3) - 10.0 / 3.0).abs() < 1e-12);
    }
}
