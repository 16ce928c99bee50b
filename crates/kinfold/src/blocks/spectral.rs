//! Spectral embedding of the chunklets (Ng, Jordan, Weiss 2002, on votes between neighbours): must-links are exact since
//! a chunklet is one node, edges between cannot-linked chunklets are removed; the k leading eigenvectors of
//! D^(−1/2) W D^(−1/2), rows to length 1. Parts of the graph that hang together by nothing have the eigenvalue 1 each; long
//! curves come so near to it that steps do not tell them apart, so these eigenvectors are written down on wish. Clusters are
//! found better so; beliefs need the spread that is lost.
//! Cost O(k·links) per application, a few dozen applications.

use super::affinity_graph::parts;
use super::linalg::leading_eigenvectors_beside;
use super::neighbours::Votes;
use crate::constraints::Chunklets;
use crate::data::Matrix;
use crate::error::Result;
use crate::kernels::combine::add_rows;
use crate::rng::Rng;

/// Up to this many chunklets the eigenproblem is solved exactly.
const DENSE: usize = 150;

/// Coordinates of every row (equal within a chunklet), `wanted` columns at most. Rows of a part that touches no other may
/// spread, as far as steps have not told the slowest waves along it from the part itself.
pub fn embed(votes: &Votes, chunklets: &Chunklets, wanted: usize, rng: &mut Rng) -> Result<Matrix> {
    embed_beside(votes, chunklets, wanted, false, rng)
}

/// The same with all rows of such a part on one point, where there are no more parts than columns.
pub fn embed_parts(votes: &Votes, chunklets: &Chunklets, wanted: usize, rng: &mut Rng) -> Result<Matrix> {
    embed_beside(votes, chunklets, wanted, true, rng)
}

/// The slowest waves on the graph of the votes, the steady state among them: eigenvectors of the random walk, so that a
/// wave is level where the walk mixes fast; columns of mean 0 and length √n (those that vary), mixed among each other where
/// eigenvalues are nearly equal.
pub fn waves(votes: &Votes, chunklets: &Chunklets, wanted: usize, rng: &mut Rng) -> Result<Matrix> {
    let (mut vectors, root) = leading(votes, chunklets, wanted, false, rng)?;
    let m = root.len() as f64;
    for c in 0..vectors.rows() {
        let wave = vectors.row_mut(c);
        wave.iter_mut().zip(&root).for_each(|(v, r)| *v *= r);
        let mean = wave.iter().sum::<f64>() / m;
        wave.iter_mut().for_each(|v| *v -= mean);
        let length = (wave.iter().map(|v| v * v).sum::<f64>() / m).sqrt();
        // The steady state is level everywhere: what is left of it is rounding.
        let scale = if length > 1e-9 { 1.0 / length } else { 0.0 };
        wave.iter_mut().for_each(|v| *v *= scale);
    }
    let all = vectors.transposed();
    let of_rows = chunklets.of_rows().iter().flat_map(|&c| all.row(c as usize)).copied().collect();
    Ok(Matrix::from_vec(vectors.rows(), of_rows))
}

fn embed_beside(votes: &Votes, chunklets: &Chunklets, wanted: usize, by_parts: bool, rng: &mut Rng) -> Result<Matrix> {
    let (vectors, _) = leading(votes, chunklets, wanted, by_parts, rng)?;
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

/// The leading eigenvectors of D^(−1/2) W D^(−1/2), as rows, and D^(−1/2).
fn leading(
    votes: &Votes,
    chunklets: &Chunklets,
    wanted: usize,
    by_parts: bool,
    rng: &mut Rng,
) -> Result<(Matrix, Vec<f64>)> {
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
    let mut known = Matrix::zeros(0, m);
    if by_parts {
        let (part, count) = parts(m, |u| links[starts[u]..starts[u + 1]].iter().map(|e| e.0 as usize));
        // Of more parts than vectors, random mixtures keep apart what a choice of some would throw together.
        for p in 0..if count <= wanted { count as u32 } else { 0 } {
            known.push(&(0..m).map(|u| if part[u] == p { 1.0 / root[u] } else { 0.0 }).collect::<Vec<f64>>());
        }
    }
    let vectors = leading_eigenvectors_beside(&known, wanted, DENSE, rng, &apply)?;
    Ok((vectors, root))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::blocks::neighbours::Neighbours;
    use crate::blocks::par::Pool;

    #[test]
    fn long_rings_that_do_not_touch_are_points_of_the_embedding() {
        // Neighbours are so near on the outer ring that its slowest waves have eigenvalues of almost 1.
        let mut rng = Rng::stream(1, "rings", 0);
        let ring = |i: usize| {
            let (radius, angle) = (1.0 + 20.0 * (i % 2) as f64, std::f64::consts::TAU * rng.unit());
            [radius * angle.cos(), radius * angle.sin()]
        };
        let x = Matrix::from_vec(2, (0..1200).flat_map(ring).collect());
        let chunklets = Chunklets::from_groups(&(0..1200).collect::<Vec<u32>>(), &[]);
        let votes = Votes::new(&Neighbours::new(&Pool::new(1), &x), &chunklets);
        let found = embed_parts(&votes, &chunklets, 2, &mut rng).unwrap();
        let widest = |found: &Matrix| {
            let apart = |i: usize| found.row(i).iter().zip(found.row(i % 2)).map(|(a, b)| (a - b).abs()).sum::<f64>();
            (2..1200).map(apart).fold(0.0, f64::max)
        };
        assert!(widest(&found) < 1e-6, "{}", widest(&found));
        assert!(widest(&embed(&votes, &chunklets, 2, &mut rng).unwrap()) > 0.1);
        let across: f64 = found.row(0).iter().zip(found.row(1)).map(|(a, b)| a * b).sum();
        assert!(across.abs() < 1e-6);
    }

    #[test]
    fn waves_are_level_on_parts_that_do_not_touch_and_have_one_scale() {
        let mut rng = Rng::stream(4, "waves", 0);
        let x = Matrix::from_vec(2, (0..600).map(|i| rng.normal() + if i / 2 % 2 == 0 { 0.0 } else { 50.0 }).collect());
        let alone = Chunklets::singletons(300);
        let votes = Votes::new(&Neighbours::new(&Pool::new(1), &x), &alone);
        let found = waves(&votes, &alone, 6, &mut rng).unwrap();
        assert_eq!((found.rows(), found.cols()), (300, 6));
        for c in 0..6 {
            let column: Vec<f64> = found.iter().map(|row| row[c]).collect();
            let (mean, square) =
                (column.iter().sum::<f64>() / 300.0, column.iter().map(|v| v * v).sum::<f64>() / 300.0);
            assert!(mean.abs() < 1e-9 && (square < 1e-9 || (square - 1.0).abs() < 1e-9), "{c}: {mean} {square}");
        }
        // One of the first two is nothing but the difference between the parts.
        let level = |c: usize| {
            let mean = |part: usize| (part..300).step_by(2).map(|i| found.row(i)[c]).sum::<f64>() / 150.0;
            (mean(0) * mean(0) + mean(1) * mean(1)) / 2.0 > 0.99
        };
        assert!(level(0) || level(1));
    }
}
