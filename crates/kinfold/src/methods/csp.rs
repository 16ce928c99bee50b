//! CSP, flexible constrained spectral clustering (Wang & Davidson 2010; K-way: Wang, Qian, Davidson 2012): the smallest
//! normalised cut vᵀL̄v with vᵀQ̄v ≥ α, Q_ij = belief in a constraint (+1 must-link, −1 cannot-link), L̄ and Q̄ scaled by
//! D^(−1/2). Stationary points solve L̄v = λ(Q̄ − bI)v; here (Q̄ − bI)v = μ(L̄ + εI)v, feasible where μ > 0. The k − 1
//! feasible vectors of smallest cut, weighted by 1 − cost, are clustered by k-means (`sign`: the best one by sign).
//! The authors take b so large that just k vectors are feasible (`tight`); random constraints then pull these to a few
//! rows and leave one cluster, so b is small by default, which departs from the paper. O(n³). Rows without neighbours
//! count as if they had the mean degree; without constraints it is normalised spectral clustering.

use super::{Clustering, Info, Listens, Method, Problem};
use crate::blocks::affinity_graph::{AffinityGraph, cluster_embedded, normalised_embedding};
use crate::blocks::kernel::{Affinity, Kernel};
use crate::blocks::linalg::{dot, symmetric_eigen};
use crate::blocks::par::Pool;
use crate::blocks::signed::signed_pairs;
use crate::context::RunContext;
use crate::data::{Float, Matrix};
use crate::error::{Error, Result};

crate::choice! {
    /// How labels are read from the vectors.
    pub enum Reading {
        /// k-means on the k − 1 best vectors.
        Kmeans = "k-means",
        /// Two clusters by the sign of the best vector, whatever k is.
        Sign = "sign",
    }
}

crate::params! {
    /// Parameters of `csp`.
    pub struct CspParams {
        /// How alike two rows are.
        kernel: Kernel = Kernel::RbfLocal;
        /// Width of the rbf kernel; 0 = the root mean squared distance of the rows to their mean.
        sigma: f64 = 0.0, 0 => f64::INFINITY;
        /// Which neighbour's distance is the width of the rbf-local kernel.
        neighbour: usize = 7, 1 => 1_000_000;
        /// How well the constraints must hold on the whole: b = β/vol as a share of the largest eigenvalue of Q̄.
        strictness: f64 = 0.01, 0 => 1;
        /// Take the largest b that leaves k vectors feasible, as the authors do, instead.
        tight: bool = false;
        /// Q_ii of rows in a constraint.
        diagonal: f64 = 1.0, 0 => 1;
        /// How labels are read from the eigenvectors.
        labels: Reading = Reading::Kmeans;
        /// Starts of k-means, of which the cheapest wins; 0 suits the number to the data.
        restarts: usize = 0, 0 => 10_000;
    }
}

/// See the module.
pub struct Csp(CspParams);

/// ε of the pencil.
const EPSILON: f64 = 1e-9;

/// A feasible vector v of unit length and its cost vᵀL̄v.
struct Cut {
    cost: f64,
    v: Vec<f64>,
}

/// The problem of one graph and its constraints.
struct Pencil {
    /// L̄.
    l: Matrix,
    /// D^(−1/2).
    root: Vec<f64>,
    /// Q̄.
    q: Matrix,
    /// Eigenvalues of Q̄, largest first.
    strengths: Vec<f64>,
}

impl Pencil {
    fn new(graph: &AffinityGraph, pairs: &[(u32, u32, f64)], diagonal: f64) -> Result<Pencil> {
        let n = graph.len();
        let degrees = graph.degrees();
        let mean = degrees.iter().sum::<f64>() / n as f64;
        let (l, root) = graph.normalised_laplacian(if mean > 0.0 { 1.0 / mean.sqrt() } else { 1.0 });
        let mut q = Matrix::zeros(n, n);
        for &(a, b, belief) in pairs {
            let (a, b) = (a as usize, b as usize);
            q.row_mut(a)[b] = belief * root[a] * root[b];
            q.row_mut(b)[a] = q.row(a)[b];
            q.row_mut(a)[a] = diagonal * root[a] * root[a];
            q.row_mut(b)[b] = diagonal * root[b] * root[b];
        }
        // Rows without constraints only add eigenvalues 0.
        let mut bound: Vec<usize> = pairs.iter().flat_map(|p| [p.0 as usize, p.1 as usize]).collect();
        bound.sort_unstable();
        bound.dedup();
        let mut small = Matrix::zeros(bound.len(), bound.len());
        for (i, &a) in bound.iter().enumerate() {
            for (j, &b) in bound.iter().enumerate() {
                small.row_mut(i)[j] = q.row(a)[b];
            }
        }
        let mut strengths = symmetric_eigen(&small)?.0;
        strengths.resize(n, 0.0);
        strengths.sort_by(|a, b| b.total_cmp(a));
        Ok(Pencil { l, root, q, strengths })
    }

    /// b that leaves k vectors feasible.
    fn choose_b(&self, k: usize) -> f64 {
        let at = |i: usize| self.strengths.get(i).copied().unwrap_or(0.0);
        if k <= 2 {
            return 0.5 * at(0);
        }
        if at(k - 1) > 1e-12 {
            return 0.5 * (at(k - 1) + at(k).max(0.0));
        }
        0.5 * self.strengths.iter().copied().filter(|&e| e > 1e-12).fold(f64::INFINITY, f64::min)
    }

    /// The feasible cuts that are cuts, cheapest first.
    fn cuts(&self, b: f64) -> Result<Vec<Cut>> {
        let n = self.l.rows();
        let (mut left, mut right) = (self.q.clone(), self.l.clone());
        for i in 0..n {
            left.row_mut(i)[i] -= b;
            right.row_mut(i)[i] += EPSILON;
        }
        let (values, vectors) = kinfold_linalg::generalised_eigen(left.values(), right.values(), n)
            .ok_or_else(|| Error::Numeric(format!("the eigenvectors of a {n} × {n} pencil were not found")))?;
        let mut cuts = Vec::new();
        for (_, v) in values.iter().zip(vectors.chunks_exact(n)).filter(|(mu, _)| **mu > 0.0) {
            let length = dot(v, v).sqrt();
            let v: Vec<f64> = v.iter().map(|x| x / length).collect();
            let cost = (0..n).map(|i| v[i] * dot(self.l.row(i), &v)).sum::<f64>();
            let u = v.iter().zip(&self.root).map(|(x, r)| x * r);
            let (low, high) = u.fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), x| (l.min(x), h.max(x)));
            // What does not cut: the constant vector, which comes back with errors of the size of ε. A cut that costs
            // nothing is one along parts that are not connected.
            let one_sided = low > -1e-6 * high.abs() || high < 1e-6 * low.abs();
            if !one_sided {
                cuts.push(Cut { cost, v });
            }
        }
        cuts.sort_by(|a, b| a.cost.total_cmp(&b.cost));
        Ok(cuts)
    }
}

impl Csp {
    fn graph<F: Float>(&self, pool: &Pool, problem: &Problem<'_, F>) -> AffinityGraph {
        let p = &self.0;
        let affinity = Affinity { kernel: p.kernel, sigma: p.sigma, neighbour: p.neighbour };
        AffinityGraph::new(pool, problem.data, &affinity, false)
    }

    /// Coordinates of the rows for k-means, or the best vector's signs; `None` when nothing is feasible.
    fn embedding(
        &self,
        graph: &AffinityGraph,
        pairs: &[(u32, u32, f64)],
        k: usize,
        notes: &mut Vec<String>,
    ) -> Result<Option<Matrix>> {
        if pairs.is_empty() || k < 2 {
            return Ok(None);
        }
        let pencil = Pencil::new(graph, pairs, self.0.diagonal)?;
        let k = if self.0.labels == Reading::Sign { 2 } else { k };
        let b = if self.0.tight { pencil.choose_b(k) } else { self.0.strictness * pencil.strengths[0] };
        if !(b < pencil.strengths[0]) {
            notes.push(format!("no cut satisfies the constraints to b = {b}: plain normalised cuts instead"));
            return Ok(None);
        }
        let cuts = pencil.cuts(b)?;
        if cuts.is_empty() {
            notes.push("no cut is feasible under the constraints: plain normalised cuts instead".into());
            return Ok(None);
        }
        let volume: f64 = graph.degrees().iter().sum();
        let columns = if self.0.labels == Reading::Sign { 1 } else { cuts.len().min(k - 1) };
        if columns < k - 1 {
            notes.push(format!("only {columns} of {} vectors are feasible under the constraints", k - 1));
        }
        let mut rows = Matrix::zeros(graph.len(), columns);
        for (c, cut) in cuts.iter().take(columns).enumerate() {
            let scale = volume.max(1e-300).sqrt() * if self.0.labels == Reading::Sign { 1.0 } else { 1.0 - cut.cost };
            cut.v.iter().zip(&pencil.root).enumerate().for_each(|(i, (x, r))| rows.row_mut(i)[c] = scale * x * r);
        }
        Ok(Some(rows))
    }
}

impl Method for Csp {
    type Params = CspParams;
    const INFO: Info = Info {
        name: "csp",
        summary: "constrained spectral clustering: normalised cuts that satisfy the constraints to a given degree",
        paper: "X. Wang, I. Davidson, Flexible constrained spectral clustering, KDD 2010; X. Wang, B. Qian, I. Davidson, On \
                constrained spectral clustering and its applications, DMKD 2014",
        minimises: "Σ_h cut(h, rest)/vol(h), relaxed to vᵀL̄v subject to vᵀQ̄v ≥ α",
        constraints: "together they bound the cut from below by their mean satisfaction; single ones may break",
        cost: "O(n²·dims) for the affinities, O(n³) for the eigenvectors",
        listens: Listens::Soft,
        sparse: true,
        sizes: false,
        represents: false,
        monotone: false,
        measured: "",
    };

    fn new(params: CspParams) -> Result<Self> {
        Ok(Csp(params))
    }

    fn memory(&self, n: usize, _dims: usize, _k: usize) -> u64 {
        // The graph, L̄ and Q̄, both sides of the pencil, and what its solver keeps at a time.
        AffinityGraph::memory(n).saturating_mul(9)
    }

    fn run<F: Float>(&self, ctx: &RunContext, problem: &Problem<'_, F>) -> Result<Clustering> {
        let k = problem.k;
        let graph = self.graph(&ctx.pool, problem);
        let pairs = signed_pairs(problem.given);
        let mut notes: Vec<String> = graph.note().into_iter().collect();
        let stopped = ctx.checkpoint().is_err();
        let found = if stopped { None } else { self.embedding(&graph, &pairs, k, &mut notes)? };
        let mut clustering = match found {
            Some(rows) if self.0.labels == Reading::Sign => {
                Clustering::of_labels(rows.values().iter().map(|&u| u32::from(u < 0.0)).collect())
            }
            found => {
                let rows = found.map_or_else(|| normalised_embedding(ctx, &graph, k), Ok)?;
                let outcome = cluster_embedded(ctx, &rows, problem.data.weights(), k, self.0.restarts)?;
                let mut clustering = Clustering::of_labels(outcome.labels);
                clustering.iterations = outcome.trace.len();
                clustering.termination = outcome.termination;
                clustering
            }
        };
        clustering.notes = notes;
        Ok(clustering)
    }

    fn objective<F: Float>(&self, problem: &Problem<'_, F>, clustering: &Clustering) -> f64 {
        self.graph(&Pool::new(1), problem).normalised_cut(&clustering.labels, problem.k)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::constraints::{ConstraintSet, Kind};
    use crate::data::Dataset;
    use crate::pipeline::Job;

    fn path() -> AffinityGraph {
        let mut g = AffinityGraph::from_values(4, vec![0.0; 16]);
        [(0, 1), (1, 2), (2, 3)].iter().for_each(|&(i, j)| g.set(i, j, 1.0));
        g
    }

    fn proportional(pencil: &Pencil, cut: &Cut, expected: [f64; 4]) {
        let u: Vec<f64> = cut.v.iter().zip(&pencil.root).map(|(v, r)| v * r).collect();
        let scale = expected[0] / u[0];
        assert!(u.iter().zip(expected).all(|(x, e)| (x * scale - e).abs() < 1e-3), "{u:?} {expected:?}");
    }

    /// L̄v = λ(Q̄ − bI)v and vᵀQ̄v > b; μ = 1/λ.
    fn checked_mu(pencil: &Pencil, b: f64, cut: &Cut) -> f64 {
        let n = pencil.l.rows();
        let satisfied: f64 = (0..n).map(|i| cut.v[i] * dot(pencil.q.row(i), &cut.v)).sum();
        assert!(satisfied > b);
        let mu = (satisfied - b) / cut.cost;
        for i in 0..n {
            let left = dot(pencil.l.row(i), &cut.v);
            let right = (dot(pencil.q.row(i), &cut.v) - b * cut.v[i]) / mu;
            assert!((left - right).abs() < 1e-6, "{left} {right}");
        }
        mu
    }

    #[test]
    fn the_worked_examples_of_the_specification() {
        let along = [(0, 1, 1.0), (2, 3, 1.0), (1, 2, -1.0)];
        let pencil = Pencil::new(&path(), &along, 1.0).unwrap();
        for (found, known) in pencil.strengths.iter().zip([1.7071, 1.3660, 0.2929, -0.3660]) {
            assert!((found - known).abs() < 1e-4, "{:?}", pencil.strengths);
        }
        let b = pencil.choose_b(2);
        assert!((b - 0.8536).abs() < 1e-4);
        let cuts = pencil.cuts(b).unwrap();
        assert_eq!(cuts.len(), 1);
        assert!((checked_mu(&pencil, b, &cuts[0]) - 1.655).abs() < 1e-3 && (cuts[0].cost - 0.5057).abs() < 1e-4);
        proportional(&pencil, &cuts[0], [0.551, 0.313, -0.313, -0.551]);

        let without = Pencil::new(&path(), &along, 0.0).unwrap();
        let b = without.choose_b(2);
        let cuts = without.cuts(b).unwrap();
        assert!((checked_mu(&without, b, &cuts[0]) - 0.8431).abs() < 1e-3 && (cuts[0].cost - 0.5507).abs() < 1e-4);

        let against = [(1, 2, 1.0), (0, 1, -1.0), (2, 3, -1.0)];
        let pencil = Pencil::new(&path(), &against, 1.0).unwrap();
        let b = pencil.choose_b(2);
        let cuts = pencil.cuts(b).unwrap();
        assert_eq!(cuts.len(), 2);
        assert!((cuts[0].cost - 1.245).abs() < 1e-3 && (cuts[1].cost - 1.509).abs() < 1e-3);
        proportional(&pencil, &cuts[0], [0.357, -0.431, -0.431, 0.357]);
        assert!(cuts.iter().all(|c| checked_mu(&pencil, b, c) > 0.0));
    }

    #[test]
    fn more_than_any_cut_can_satisfy_is_noted_and_full_knowledge_is_recovered() {
        let rows: Vec<f64> = (0..24).map(|i| f64::from(i % 2) * 9.0 + f64::from(i) * 0.1).collect();
        let data = Dataset::dense(&rows, 1).unwrap();
        let mut given = ConstraintSet::new(24);
        for i in 0..24 {
            for j in 0..i {
                given.add_pair(if (i + j) % 2 == 0 { Kind::MustLink } else { Kind::CannotLink }, i, j).unwrap();
            }
        }
        for (labels, strictness) in [("k-means", "0.01"), ("sign", "0.5"), ("k-means", "1")] {
            let settings = vec![("labels".into(), labels.into()), ("strictness".into(), strictness.into())];
            let job = Job { settings, ..Job::new("csp", 2) };
            let run = job.run(&RunContext::new(0), &data, &given).unwrap();
            assert_eq!(run.violations.broken(), 0, "{labels} {strictness}");
            assert_eq!(run.notes.is_empty(), strictness != "1", "{:?}", run.notes);
        }
    }
}
