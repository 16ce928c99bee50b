//! Spectral embedding of the chunklets (Ng, Jordan, Weiss 2002, on votes between neighbours): must-links are exact since
//! a chunklet is one node, edges between cannot-linked chunklets are removed; the k leading eigenvectors of
//! D^(−1/2) W D^(−1/2), rows to length 1. Cost O(k·links) per application, a few dozen applications.

use super::linalg::leading_eigenvectors;
use super::neighbours::Votes;
use crate::constraints::Chunklets;
use crate::data::Matrix;
use crate::error::Result;
use crate::kernels::combine::add_rows;
use crate::rng::Rng;

/// Up to this many chunklets the eigenproblem is solved exactly.
const DENSE: usize = 150;

/// Coordinates of every row (equal within a chunklet), `wanted` columns at most.
pub fn embed(votes: &Votes, chunklets: &Chunklets, wanted: usize, rng: &mut Rng) -> Result<Matrix> {
    let m = chunklets.len();
    let graph = chunklets.graph();
    // The links that are left, row after row.
    let mut starts = vec![0usize];
    let mut links: Vec<(u32, f64)> = Vec::new();
    for u in 0..m {
        links.extend(votes.of(u).iter().filter(|e| !graph.has_edge(u as u32, e.0)));
        starts.push(links.len());
    }
    let root: Vec<f64> = (0..m)
        .map(|u| {
            let degree = votes.own[u] + links[starts[u]..starts[u + 1]].iter().map(|e| e.1).sum::<f64>();
            1.0 / degree.max(1e-9).sqrt()
        })
        .collect();
    for u in 0..m {
        links[starts[u]..starts[u + 1]].iter_mut().for_each(|(v, w)| *w *= root[u] * root[*v as usize]);
    }
    // (A + I) / 2 has the same eigenvectors and no negative eigenvalue, which power steps need.
    // All vectors of a block together: each link is read once.
    let apply = |block: &Matrix| {
        let x = block.transposed();
        let mut y = Matrix::zeros(m, block.rows());
        for u in 0..m {
            let own = votes.own[u] * root[u] * root[u] + 1.0;
            let sums = y.row_mut(u);
            sums.iter_mut().zip(x.row(u)).for_each(|(s, v)| *s = own * v);
            add_rows(sums, &links[starts[u]..starts[u + 1]], |v| x.row(v as usize));
            sums.iter_mut().for_each(|s| *s *= 0.5);
        }
        y.transposed()
    };
    let vectors = leading_eigenvectors(m, wanted, DENSE, rng, &apply)?;
    let mut out = Matrix::zeros(chunklets.n(), vectors.rows());
    for row in 0..chunklets.n() {
        let target = out.row_mut(row);
        target.iter_mut().enumerate().for_each(|(c, t)| *t = vectors.row(c)[chunklets.of(row) as usize]);
        let norm = target.iter().map(|v| v * v).sum::<f64>().sqrt();
        if norm > 1e-12 {
            target.iter_mut().for_each(|v| *v /= norm);
        }
    }
    Ok(out)
}
