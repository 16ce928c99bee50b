//! SPCL, spectral learning (Kamvar, Klein, Manning 2003): constraints are written into the affinities, A_ij = 1 for a
//! must-link (the largest affinity where that is more) and 0 for a cannot-link, and the rows are clustered by k-means on
//! the top eigenvectors of N = (A + d_max·I − D)/d_max, rows to length one. Those are the bottom ones of D − A.
//! O(n²·dims) for the affinities, O(n³) for the eigenvectors. The objective is the ratio cut of the edited graph.
//! Where a graph falls into more parts than there are eigenvectors, the largest parts are the embedding.

use super::{Clustering, Info, Listens, Method, Problem};
use crate::blocks::affinity_graph::{AffinityGraph, cluster_embedded, lowest_eigenvectors, unit_length};
use crate::blocks::kernel::{Affinity, Kernel};
use crate::blocks::par::Pool;
use crate::blocks::signed::signed_pairs;
use crate::constraints::Entailed;
use crate::context::RunContext;
use crate::data::{Float, Matrix};
use crate::error::Result;

crate::params! {
    /// Parameters of `spcl`.
    pub struct SpclParams {
        /// How alike two rows are.
        kernel: Kernel = Kernel::RbfLocal;
        /// Width of the rbf kernel; 0 = the root mean squared distance of the rows to their mean.
        sigma: f64 = 0.0, 0 => f64::INFINITY;
        /// Which neighbour's distance is the width of the rbf-local kernel.
        neighbour: usize = 7, 1 => 1_000_000;
        /// Eigenvectors to use; 0 = k.
        dimension: usize = 0, 0 => 10_000;
        /// Write what follows from the constraints too, not only the given pairs.
        closure: bool = false;
        /// Starts of k-means, of which the cheapest wins; 0 suits the number to the data.
        restarts: usize = 0, 0 => 10_000;
    }
}

/// See the module.
pub struct Spcl(SpclParams);

impl Spcl {
    /// The graph with the constraints written into it.
    fn edited<F: Float>(&self, pool: &Pool, problem: &Problem<'_, F>) -> AffinityGraph {
        let p = &self.0;
        let affinity = Affinity { kernel: p.kernel, sigma: p.sigma, neighbour: p.neighbour };
        let mut graph = AffinityGraph::new(pool, problem.data, &affinity, false);
        let most = graph.largest().max(1.0);
        if p.closure {
            for i in 0..graph.len() {
                for j in 0..i {
                    match problem.chunklets.entails(i, j) {
                        Entailed::Same => graph.set(i, j, most),
                        Entailed::Different => graph.set(i, j, 0.0),
                        Entailed::Unknown => {}
                    }
                }
            }
            return graph;
        }
        // A doubtful constraint moves the affinity as far as it is believed.
        for (a, b, belief) in signed_pairs(problem.given) {
            let now = graph.row(a as usize)[b as usize];
            let to = if belief > 0.0 { most } else { 0.0 };
            graph.set(a as usize, b as usize, now + belief.abs() * (to - now));
        }
        graph
    }
}

/// The `wanted` bottom eigenvectors of D − A as coordinates of the rows, rows to length one.
fn embedding(ctx: &RunContext, graph: &AffinityGraph, wanted: usize) -> Result<Matrix> {
    let n = graph.len();
    let (part, count) = graph.parts();
    let mut rows = if count >= wanted {
        let mut sizes = vec![0usize; count];
        part.iter().for_each(|&p| sizes[p as usize] += 1);
        let mut order: Vec<usize> = (0..count).collect();
        order.sort_by_key(|&p| (std::cmp::Reverse(sizes[p]), p));
        let mut rows = Matrix::zeros(n, wanted);
        for (column, &p) in order.iter().take(wanted).enumerate() {
            for i in (0..n).filter(|&i| part[i] as usize == p) {
                rows.row_mut(i)[column] = 1.0;
            }
        }
        rows
    } else {
        lowest_eigenvectors(ctx, &graph.laplacian(), wanted)?.transposed()
    };
    unit_length(&mut rows);
    Ok(rows)
}

impl Method for Spcl {
    type Params = SpclParams;
    const INFO: Info = Info {
        name: "spcl",
        summary: "spectral learning: spectral clustering after the constraints are written into the affinities",
        paper: "S. D. Kamvar, D. Klein, C. D. Manning, Spectral learning, IJCAI 2003",
        minimises: "Σ_h cut(h, rest)/|h| on the edited affinities, relaxed to eigenvectors",
        constraints: "a must-link sets the affinity of its two rows to the largest, a cannot-link to 0; others may outweigh it",
        cost: "O(n²·dims) for the affinities, O(n³) for the eigenvectors",
        listens: Listens::Soft,
        sparse: true,
        sizes: false,
        represents: false,
        monotone: false,
        measured: "",
    };

    fn new(params: SpclParams) -> Result<Self> {
        Ok(Spcl(params))
    }

    fn memory(&self, n: usize, _dims: usize, _k: usize) -> u64 {
        // The graph, its Laplacian, the solver's copy and its eigenvectors.
        AffinityGraph::memory(n).saturating_mul(4)
    }

    fn run<F: Float>(&self, ctx: &RunContext, problem: &Problem<'_, F>) -> Result<Clustering> {
        let (n, k) = (problem.data.n(), problem.k);
        let graph = self.edited(&ctx.pool, problem);
        let wanted = if self.0.dimension == 0 { k } else { self.0.dimension }.min(n);
        let rows = embedding(ctx, &graph, wanted)?;
        let outcome = cluster_embedded(ctx, &rows, problem.data.weights(), k, self.0.restarts)?;
        let mut clustering = Clustering::of_labels(outcome.labels);
        clustering.iterations = outcome.trace.len();
        clustering.termination = outcome.termination;
        clustering.notes.extend(graph.note());
        Ok(clustering)
    }

    fn objective<F: Float>(&self, problem: &Problem<'_, F>, clustering: &Clustering) -> f64 {
        self.edited(&Pool::new(1), problem).ratio_cut(&clustering.labels, problem.k)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::blocks::linalg::{dot, symmetric_eigen};

    fn graph(n: usize, edges: &[(usize, usize, f64)]) -> AffinityGraph {
        let mut g = AffinityGraph::from_values(n, vec![0.0; n * n]);
        edges.iter().for_each(|&(i, j, w)| g.set(i, j, w));
        g
    }

    #[test]
    fn two_edges_embed_as_two_orthogonal_points_and_laplacians_have_known_spectra() {
        // spec/spectral-kernel.md §2, tests 1 and 2.
        let rows = embedding(&RunContext::new(0), &graph(4, &[(0, 1, 1.0), (2, 3, 1.0)]), 2).unwrap();
        let product = |i: usize, j: usize| dot(rows.row(i), rows.row(j));
        assert!((product(0, 1) - 1.0).abs() < 1e-12 && product(0, 2).abs() < 1e-12 && product(1, 3).abs() < 1e-12);
        let spectrum = |edges: &[(usize, usize, f64)]| symmetric_eigen(&graph(3, edges).laplacian()).unwrap().0;
        let close = |a: Vec<f64>, b: [f64; 3]| assert!(a.iter().zip(b).all(|(x, y)| (x - y).abs() < 1e-12), "{a:?}");
        close(spectrum(&[(0, 1, 1.0), (1, 2, 1.0), (0, 2, 1.0)]), [3.0, 3.0, 0.0]);
        close(spectrum(&[(1, 2, 1.0)]), [2.0, 0.0, 0.0]);
    }

    #[test]
    fn more_parts_than_eigenvectors_give_the_largest_parts() {
        let g = graph(6, &[(0, 1, 1.0), (3, 4, 0.5), (4, 5, 0.5)]);
        let rows = embedding(&RunContext::new(0), &g, 2).unwrap();
        assert_eq!(rows.values(), [0.0, 1.0, 0.0, 1.0, 0.0, 0.0, 1.0, 0.0, 1.0, 0.0, 1.0, 0.0]);
    }
}
