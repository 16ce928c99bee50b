//! PCP, pairwise constraint propagation (Li, Liu, Tang 2008): learns the kernel that is smoothest on the graph of the rows,
//! min ⟨L, K⟩, L = I − D^(−1/2) W D^(−1/2), K ⪰ 0, K_ii = 1, K_ij = 1 for must-links and 0 for cannot-links, then kernel
//! k-means on it. Must-links make rows identical, so chunklets are contracted first, exactly: L' = MᵀLM. Solved by ADMM
//! (`blocks::sdp`), then k-means on a factor of K. Without cannot-links every row would become one point: it is then
//! normalised spectral clustering of the chunklets, and says so. O(n²·dims), then O(m³) per iteration for m chunklets.

use super::{Clustering, Info, Listens, Method, Problem};
use crate::blocks::affinity_graph::{AffinityGraph, cluster_embedded, normalised_embedding};
use crate::blocks::kernel::{Affinity, Kernel};
use crate::blocks::par::Pool;
use crate::blocks::sdp::{Limits, unit_diagonal};
use crate::constraints::Chunklets;
use crate::context::{RunContext, Termination};
use crate::data::{Float, Matrix};
use crate::error::{Error, Result};

crate::params! {
    /// Parameters of `pcp`.
    pub struct PcpParams {
        /// How alike two rows are.
        kernel: Kernel = Kernel::RbfLocal;
        /// Width of the rbf kernel; 0 = the root mean squared distance of the rows to their mean.
        sigma: f64 = 0.0, 0 => f64::INFINITY;
        /// Which neighbour's distance is the width of the rbf-local kernel.
        neighbour: usize = 7, 1 => 1_000_000;
        /// Keep the diagonal of the affinities.
        diagonal: bool = false;
        /// Iterations of the semidefinite solver at most.
        max_iter: usize = 1000, 1 => 1_000_000;
        /// Relative infeasibility and gap at which the kernel is good enough.
        tolerance: f64 = 1e-4, 0 => 1;
        /// Starts of k-means, of which the cheapest wins; 0 suits the number to the data.
        restarts: usize = 0, 0 => 10_000;
    }
}

/// See the module.
pub struct Pcp(PcpParams);

/// Rows of a factor of a positive semidefinite matrix: K = F·Fᵀ.
fn factor(k: &[f64], n: usize) -> Result<Matrix> {
    let (values, vectors) = kinfold_linalg::symmetric_eigen(k, n)
        .ok_or_else(|| Error::Numeric(format!("the eigenvectors of a {n} × {n} kernel were not found")))?;
    let kept: Vec<usize> = (0..n).rev().filter(|&c| values[c] > 1e-9).collect();
    let mut rows = Matrix::zeros(n, kept.len().max(1));
    for (column, &c) in kept.iter().enumerate() {
        let root = values[c].sqrt();
        (0..n).for_each(|i| rows.row_mut(i)[column] = root * vectors[c * n + i]);
    }
    Ok(rows)
}

/// Σ over the members of chunklets, both ways: MᵀLM.
fn contracted(l: &Matrix, chunklets: &Chunklets) -> Vec<f64> {
    let m = chunklets.len();
    let mut out = vec![0.0; m * m];
    for i in 0..l.rows() {
        let row = &mut out[chunklets.of(i) as usize * m..][..m];
        l.row(i).iter().enumerate().for_each(|(j, v)| row[chunklets.of(j) as usize] += v);
    }
    for a in 0..m {
        for b in 0..a {
            out[a * m + b] = out[b * m + a];
        }
    }
    out
}

impl Pcp {
    fn graph<F: Float>(&self, pool: &Pool, problem: &Problem<'_, F>) -> AffinityGraph {
        let p = &self.0;
        let affinity = Affinity { kernel: p.kernel, sigma: p.sigma, neighbour: p.neighbour };
        AffinityGraph::new(pool, problem.data, &affinity, p.diagonal)
    }

    /// Coordinates of the chunklets.
    fn embedding(
        &self,
        ctx: &RunContext,
        graph: &AffinityGraph,
        chunklets: &Chunklets,
        k: usize,
        notes: &mut Vec<String>,
    ) -> Result<(Matrix, Option<Termination>, Vec<f64>)> {
        let m = chunklets.len();
        let zeros: Vec<(u32, u32)> = chunklets.graph().edges().collect();
        if zeros.is_empty() {
            notes.push(
                "without cannot-links the smoothest kernel makes all rows one point: normalised spectral clustering \
                 of the chunklets instead"
                    .into(),
            );
            let mut sums = vec![0.0; m * m];
            for i in 0..graph.len() {
                let row = &mut sums[chunklets.of(i) as usize * m..][..m];
                graph.row(i).iter().enumerate().for_each(|(j, w)| row[chunklets.of(j) as usize] += w);
            }
            let contracted = AffinityGraph::from_values(m, sums);
            return Ok((normalised_embedding(ctx, &contracted, k)?, None, Vec::new()));
        }
        let (l, _) = graph.normalised_laplacian(0.0);
        let small = contracted(&l, chunklets);
        drop(l);
        let limits = Limits { max_iter: self.0.max_iter, tolerance: self.0.tolerance };
        let solved = unit_diagonal(ctx, &small, m, &zeros, limits)?;
        if solved.termination == Termination::MaxIterations {
            notes.push(format!(
                "the kernel was not solved to {} in {} iterations: value {:.6}, bound {:.6}",
                self.0.tolerance, solved.iterations, solved.objective, solved.bound
            ));
        }
        Ok((factor(&solved.x, m)?, Some(solved.termination), solved.trace))
    }
}

impl Method for Pcp {
    type Params = PcpParams;
    const INFO: Info = Info {
        name: "pcp",
        summary: "constraint propagation: the smoothest kernel that puts must-links at one point and cannot-links at right angles",
        paper: "Z. Li, J. Liu, X. Tang, Pairwise constraint propagation by semidefinite programming for semi-supervised \
                classification, ICML 2008; Z. Wen, D. Goldfarb, W. Yin, Alternating direction augmented Lagrangian methods \
                for semidefinite programming, 2010",
        minimises: "⟨L, K⟩ over K ⪰ 0 with K_ii = 1, K_ij = 1 (must-link), 0 (cannot-link); then kernel k-means on K",
        constraints: "must-linked rows become one point and never part; cannot-linked rows are at right angles and usually part",
        cost: "O(n²·dims) for the affinities, then O(m³) per iteration for m chunklets, some hundred iterations",
        listens: Listens::Soft,
        sparse: true,
        sizes: false,
        represents: false,
        monotone: false,
        measured: "",
    };

    fn new(params: PcpParams) -> Result<Self> {
        Ok(Pcp(params))
    }

    fn memory(&self, n: usize, _dims: usize, _k: usize) -> u64 {
        // The graph and, were no rows must-linked, C, X, S, V and its two parts and eigenvectors.
        AffinityGraph::memory(n).saturating_mul(9)
    }

    fn run<F: Float>(&self, ctx: &RunContext, problem: &Problem<'_, F>) -> Result<Clustering> {
        let (data, chunklets, k) = (problem.data, problem.chunklets, problem.k);
        let graph = self.graph(&ctx.pool, problem);
        let mut notes: Vec<String> = graph.note().into_iter().collect();
        let weight = |c: u32| chunklets.members(c).iter().map(|&i| data.weight(i as usize)).sum::<f64>();
        let weights: Vec<f64> = (0..chunklets.len() as u32).map(weight).collect();
        let (of_chunklets, termination, trace) = if chunklets.len() <= k {
            ((0..chunklets.len() as u32).collect(), Termination::Converged, Vec::new())
        } else {
            let (rows, ended, trace) = self.embedding(ctx, &graph, chunklets, k, &mut notes)?;
            let outcome = cluster_embedded(ctx, &rows, Some(&weights), k, self.0.restarts)?;
            (outcome.labels, ended.unwrap_or(outcome.termination), trace)
        };
        let labels = chunklets.of_rows().iter().map(|&c| of_chunklets[c as usize]).collect();
        let mut clustering = Clustering::of_labels(labels);
        clustering.iterations = trace.len();
        clustering.trace = trace;
        clustering.termination = termination;
        clustering.notes = notes;
        Ok(clustering)
    }

    /// ⟨L, K⟩ for the kernel of the labels, K_ij = [l_i = l_j].
    fn objective<F: Float>(&self, problem: &Problem<'_, F>, clustering: &Clustering) -> f64 {
        let (l, _) = self.graph(&Pool::new(1), problem).normalised_laplacian(0.0);
        let labels = &clustering.labels;
        let row = |i: usize| l.row(i).iter().zip(labels).filter(|(_, x)| **x == labels[i]).map(|(v, _)| v).sum::<f64>();
        (0..l.rows()).map(row).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::blocks::sdp::Solved;
    use crate::constraints::{ConstraintSet, Kind};
    use crate::data::Dataset;
    use crate::pipeline::Job;
    use crate::rng::Rng;

    #[test]
    fn contracting_must_links_gives_the_optimum_of_the_whole_problem() {
        let mut rng = Rng::stream(1, "pcp test", 0);
        let rows: Vec<f64> = (0..24).map(|_| rng.normal()).collect();
        let data = Dataset::dense(&rows, 2).unwrap();
        let affinity = Affinity { kernel: Kernel::RbfLocal, sigma: 0.0, neighbour: 3 };
        let (l, _) = AffinityGraph::new(&Pool::new(1), &data, &affinity, false).normalised_laplacian(0.0);
        let mut given = ConstraintSet::new(12);
        given.add_pair(Kind::MustLink, 0, 5).unwrap();
        given.add_pair(Kind::CannotLink, 5, 7).unwrap();
        given.add_pair(Kind::CannotLink, 1, 2).unwrap();
        let chunklets = given.close().unwrap();
        let ctx = RunContext::new(0).with_threads(1);
        let limits = Limits { max_iter: 5000, tolerance: 1e-8 };
        let zeros: Vec<(u32, u32)> = chunklets.graph().edges().collect();
        let small = unit_diagonal(&ctx, &contracted(&l, &chunklets), chunklets.len(), &zeros, limits).unwrap();
        // The must-link as a price so high that it holds.
        let mut priced = l.clone();
        priced.row_mut(0)[5] -= 200.0;
        priced.row_mut(5)[0] -= 200.0;
        let limits = Limits { max_iter: 20_000, tolerance: 1e-9 };
        let whole: Solved = unit_diagonal(&ctx, priced.values(), 12, &[(5, 7), (0, 7), (1, 2)], limits).unwrap();
        assert!((small.objective - (whole.objective + 400.0)).abs() < 1e-2, "{} {}", small.objective, whole.objective);
    }

    #[test]
    fn full_knowledge_is_recovered_and_no_cannot_links_are_noted() {
        let mut rng = Rng::stream(2, "pcp test", 0);
        let rows: Vec<f64> = (0..60).map(|_| rng.normal()).collect();
        let data = Dataset::dense(&rows, 2).unwrap();
        let mut given = ConstraintSet::new(30);
        for i in 0..30 {
            for j in 0..i {
                given.add_pair(if i % 3 == j % 3 { Kind::MustLink } else { Kind::CannotLink }, i, j).unwrap();
            }
        }
        let run = Job::new("pcp", 3).run(&RunContext::new(0), &data, &given).unwrap();
        assert_eq!(run.violations.broken(), 0);
        let mut some = ConstraintSet::new(30);
        some.add_pair(Kind::MustLink, 0, 3).unwrap();
        let run = Job::new("pcp", 3).run(&RunContext::new(0), &data, &some).unwrap();
        assert!(run.notes.iter().any(|n| n.contains("one point")));
        // Fewer constraints: the kernel carries them to the rows around.
        let blobs: Vec<f64> = (0..60).map(|i| 8.0 * f64::from(i / 2 % 3) + rng.normal()).collect();
        let data = Dataset::dense(&blobs, 2).unwrap();
        let mut few = ConstraintSet::new(30);
        for (a, b) in [(0, 1), (1, 2), (0, 2)] {
            few.add_pair(Kind::CannotLink, a, b).unwrap();
        }
        let run = Job::new("pcp", 3).run(&RunContext::new(0), &data, &few).unwrap();
        assert!((3..30).all(|i| run.labels[i] == run.labels[i % 3]), "{:?}", run.labels);
    }
}
