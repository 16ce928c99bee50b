//! DBCV (Moulavi et al. 2014). Core distance κ = (mean over the cluster of D^−dims)^(−1/dims), mutual reachability
//! max(κ_i, κ_j, D_ij), a minimum spanning tree per cluster; sparseness = its longest edge between internal nodes,
//! separation = smallest reachability between internal nodes of two clusters; V = (separation − sparseness)/max, summed
//! with weight n_c/n. Clusters of one row count 0. Cost O(n²·dims), memory O(n). Departs: reachabilities tie all the time,
//! so of equal edges the one of smaller distance is taken (then the lower row), which makes the tree independent of the
//! order of the rows; a tree without internal nodes or edges uses all of them.

use super::internal::Partition;
use crate::context::RunContext;
use crate::data::{Dataset, Float, Rows};

/// Rows of one task.
const CHUNK: usize = 64;

struct Tree {
    /// Longest edge between internal nodes.
    sparseness: f64,
    /// Rows with more than one edge.
    internal: Vec<u32>,
}

pub(super) fn dbcv<F: Float>(ctx: &RunContext, data: &Dataset<'_, F>, partition: &Partition) -> Option<f64> {
    let (n, k) = (data.n(), partition.k);
    if k < 2 || n < 2 {
        return None;
    }
    let mut members: Vec<Vec<u32>> = vec![Vec::new(); k];
    partition.labels.iter().enumerate().for_each(|(i, &c)| members[c as usize].push(i as u32));
    let half = data.dims() as f64 / 2.0;
    let core: Vec<Option<Vec<f64>>> = ctx.pool.map_chunks(n, CHUNK, |rows| {
        ctx.checkpoint().ok()?;
        let mut squares = Vec::new();
        let one = |i: usize| {
            let own = &members[partition.labels[i] as usize];
            squares.clear();
            squares.extend(own.iter().filter(|&&j| j as usize != i).map(|&j| distance2(data, i, j as usize)));
            // Against the nearest, so that no power overflows; a row with a twin is as dense as can be.
            let least = squares.iter().copied().fold(f64::INFINITY, f64::min);
            if squares.is_empty() || least == 0.0 {
                return 0.0;
            }
            let sum: f64 = squares.iter().map(|d| (least / d).powf(half)).sum();
            least.sqrt() * (sum / squares.len() as f64).powf(-0.5 / half)
        };
        Some(rows.map(one).collect())
    });
    let core: Vec<f64> = core.into_iter().collect::<Option<Vec<_>>>()?.concat();
    // Mutual reachability, then the distance itself.
    let reach = |i: u32, j: u32| {
        let d = distance2(data, i as usize, j as usize).sqrt();
        (d.max(core[i as usize]).max(core[j as usize]), d)
    };
    let trees = ctx.pool.map(k, |c| spanning_tree(ctx, &members[c], reach)).into_iter().collect::<Option<Vec<_>>>()?;
    // Smallest reachability from each cluster to the internal nodes of any other, by rows of the first.
    let nodes: Vec<(u32, u32)> =
        trees.iter().enumerate().flat_map(|(c, t)| t.internal.iter().map(move |&i| (c as u32, i))).collect();
    let parts = ctx.pool.map_chunks(nodes.len(), CHUNK, |range| {
        ctx.checkpoint().ok()?;
        let mut least = vec![f64::INFINITY; k];
        for &(c, i) in &nodes[range] {
            for (_, j) in nodes.iter().filter(|(other, _)| *other != c) {
                least[c as usize] = least[c as usize].min(reach(i, *j).0);
            }
        }
        Some(least)
    });
    let mut separation = vec![f64::INFINITY; k];
    for part in parts {
        separation.iter_mut().zip(part?).for_each(|(s, p)| *s = s.min(p));
    }
    let validity = |c: usize| {
        let (out, inside) = (separation[c], trees[c].sparseness);
        let larger = out.max(inside);
        if members[c].len() < 2 || !(larger > 0.0) || !larger.is_finite() { 0.0 } else { (out - inside) / larger }
    };
    Some((0..k).map(|c| members[c].len() as f64 / n as f64 * validity(c)).sum())
}

/// Prim's tree from the first row.
fn spanning_tree(ctx: &RunContext, rows: &[u32], reach: impl Fn(u32, u32) -> (f64, f64)) -> Option<Tree> {
    let m = rows.len();
    const FAR: (f64, f64) = (f64::INFINITY, f64::INFINITY);
    let (mut nearest, mut parent) = (vec![FAR; m], vec![0usize; m]);
    let (mut inside, mut degree) = (vec![false; m], vec![0u32; m]);
    let mut edges: Vec<(f64, usize, usize)> = Vec::with_capacity(m);
    let mut last = 0;
    inside[0] = true;
    for step in 1..m {
        if step % CHUNK == 0 {
            ctx.checkpoint().ok()?;
        }
        let (mut best, mut at) = (FAR, usize::MAX);
        for j in (0..m).filter(|&j| !inside[j]) {
            let d = reach(rows[last], rows[j]);
            if d < nearest[j] {
                (nearest[j], parent[j]) = (d, last);
            }
            if at == usize::MAX || nearest[j] < best {
                (best, at) = (nearest[j], j);
            }
        }
        inside[at] = true;
        edges.push((best.0, parent[at], at));
        degree[parent[at]] += 1;
        degree[at] += 1;
        last = at;
    }
    let longest = |edges: &mut dyn Iterator<Item = &(f64, usize, usize)>| edges.map(|e| e.0).reduce(f64::max);
    let sparseness = longest(&mut edges.iter().filter(|e| degree[e.1] > 1 && degree[e.2] > 1))
        .or_else(|| longest(&mut edges.iter()))
        .unwrap_or(0.0);
    let mut internal: Vec<u32> = (0..m).filter(|&j| degree[j] > 1).map(|j| rows[j]).collect();
    if internal.is_empty() {
        internal = rows.to_vec();
    }
    Some(Tree { sparseness, internal })
}

fn distance2<F: Float>(data: &Dataset<'_, F>, i: usize, j: usize) -> f64 {
    match data.rows() {
        Rows::Dense(d) => d.row(i).iter().zip(d.row(j)).map(|(a, b)| (a.to_f64() - b.to_f64()).powi(2)).sum(),
        Rows::Sparse(s) => crate::blocks::group_sums::sparse_distance2(s.row(i), s.row(j)),
    }
}

#[cfg(test)]
mod tests {
    use super::super::internal::{Internal, Sampling, score_rows};
    use super::*;

    fn of(x: &[f64], dims: usize, labels: &[u32]) -> Option<f64> {
        let data = Dataset::dense(x, dims).unwrap();
        let scores = score_rows(&RunContext::new(0), &data, &[labels], &[Internal::Dbcv], Sampling::Exact);
        scores.values[0][0].map(|v| v.value)
    }

    #[test]
    fn a_worked_example_holds() {
        // One column, so κ is the harmonic mean of the distances. Cluster 0, 1, 2, 3: κ = 3/(1 + 1/2 + 1/3) = 18/11 at the
        // ends, 3/(1 + 1 + 1/2) = 6/5 inside. Tree from row 0: edges 18/11, 6/5, 18/11 along the line; internal edge 6/5.
        // The other cluster is the same moved to 10..13: internal nodes 1, 2 and 11, 12, nearest 9 apart.
        let x = [0.0, 1.0, 2.0, 3.0, 10.0, 11.0, 12.0, 13.0];
        let v = (9.0 - 1.2) / 9.0;
        assert!((of(&x, 1, &[0, 0, 0, 0, 1, 1, 1, 1]).unwrap() - v).abs() < 1e-12);
        // A cluster of one row counts 0 and still bounds the separation of the other.
        let v = (8.0 - 1.2) / 8.0 * 4.0 / 5.0;
        assert!((of(&x[..5], 1, &[0, 0, 0, 0, 1]).unwrap() - v).abs() < 1e-12);
    }

    #[test]
    fn moons_score_higher_whole_than_cut_across() {
        let n = 60;
        let mut x = Vec::new();
        for i in 0..2 * n {
            let t = std::f64::consts::PI * f64::from(i % n) / f64::from(n - 1);
            x.extend(if i < n { [t.cos(), t.sin()] } else { [1.0 - t.cos(), 0.4 - t.sin()] });
        }
        let moons: Vec<u32> = (0..2 * n as u32).map(|i| i / n as u32).collect();
        let across: Vec<u32> = x.chunks(2).map(|p| u32::from(p[0] > 0.5)).collect();
        assert!(of(&x, 2, &moons).unwrap() > of(&x, 2, &across).unwrap() + 0.5);
        assert_eq!(of(&x, 2, &vec![0; 2 * n as usize]), None);
    }
}
