//! Numbers about the rows that a run does not hold: places on a map, silhouettes, profiles, typical rows.

use kinfold::blocks::linalg::{leading_eigenvectors, one_by_one};
use kinfold::blocks::means::means;
use kinfold::blocks::par::Pool;
use kinfold::data::{Dataset, Float, Matrix, Rows, Scaling, Table};
use kinfold::rng::Rng;

use super::tsne;
use crate::failure::Failure;

/// Most rows on the maps.
const DRAWN: usize = 5000;
/// Principal components that a map of neighbourhoods looks at.
const COMPONENTS: usize = 30;
/// Multiplications that silhouettes may cost.
const SILHOUETTE_WORK: f64 = 2e9;

/// What was found.
pub struct Seen {
    /// The rows drawn, by number.
    pub drawn: Vec<usize>,
    /// Their places.
    pub places: Vec<(f64, f64)>,
    /// Their places on a map of neighbourhoods, where there is one.
    pub neighbourhoods: Option<Vec<(f64, f64)>>,
    /// Shares of the variance along the two directions.
    pub shares: (f64, f64),
    /// Row, its silhouette width, and the other cluster it is nearest to.
    pub widths: Vec<(usize, f64, usize)>,
    /// By cluster and feature: means in the file's own units.
    pub means: Matrix,
    /// Mean of each feature over all rows.
    pub mean: Vec<f64>,
    /// Its standard deviation.
    pub sd: Vec<f64>,
    /// By cluster: its most typical rows, nearest to its middle.
    pub typical: Vec<Vec<usize>>,
    /// Mean distance of two rows, by which distances of pairs are judged.
    pub usual: f64,
    /// Distances of the pairs asked for.
    pub distances: Vec<f64>,
    /// What was done to the columns before distances were taken.
    pub scaling: Scaling,
}

/// Looks at the rows. `first` are drawn whatever happens.
pub fn look<F: Float>(
    pool: &Pool,
    data: &Dataset<'_, F>,
    labels: &[u32],
    k: usize,
    first: &[usize],
    pairs: &[(usize, usize)],
) -> Result<Seen, Failure> {
    let (n, dims) = (data.n(), data.dims());
    let (cluster_means, _) = means(data, labels, k);
    let (mean, sd) = spread(data);
    let scaling = if data.is_sparse() { Scaling::TfIdf } else { Scaling::Standard };
    let scaled = scaling.fit(data)?.apply(data)?;
    let scaled = scaled.view()?;
    let (centres, _) = means(&scaled, labels, k);
    let typical = (0..k as u32).map(|c| nearest(&scaled, labels, c, centres.row(c as usize), 3)).collect();
    let drawn = sample(n, DRAWN, first);
    let chosen = Table::select(&scaled, &drawn);
    let (components, shares) = components(&chosen.view()?, COMPONENTS)?;
    let places = components.iter().map(|row| (row[0], row[1])).collect();
    let neighbourhoods = tsne::places(pool, &components);
    let most = (SILHOUETTE_WORK / dims.max(1) as f64).sqrt().clamp(150.0, 1500.0) as usize;
    let looked = sample(n, most, &[]);
    let (widths, usual) = silhouettes(&scaled, labels, k, &looked);
    let mut buffer = vec![0.0; dims];
    let distances = pairs
        .iter()
        .map(|&(a, b)| {
            buffer.fill(0.0);
            scaled.add_row(a, 1.0, &mut buffer);
            scaled.distance2(b, &buffer).max(0.0).sqrt()
        })
        .collect();
    Ok(Seen {
        drawn,
        places,
        neighbourhoods,
        shares,
        widths,
        means: cluster_means,
        mean,
        sd,
        typical,
        usual,
        distances,
        scaling,
    })
}

/// `first`, then evenly spread rows, at most `most`, in order.
fn sample(n: usize, most: usize, first: &[usize]) -> Vec<usize> {
    let mut taken = vec![false; n];
    let mut count = 0;
    let even = (0..n.min(most)).map(|i| i * n / n.min(most).max(1));
    for row in first.iter().copied().chain(even) {
        if count < most && !std::mem::replace(&mut taken[row], true) {
            count += 1;
        }
    }
    (0..n).filter(|&i| taken[i]).collect()
}

/// Mean and standard deviation of every column.
fn spread<F: Float>(data: &Dataset<'_, F>) -> (Vec<f64>, Vec<f64>) {
    let (n, dims) = (data.n().max(1) as f64, data.dims());
    let (mut sum, mut squares) = (vec![0.0; dims], vec![0.0; dims]);
    match data.rows() {
        Rows::Dense(rows) => rows.values().chunks_exact(dims.max(1)).for_each(|row| {
            row.iter().enumerate().for_each(|(c, v)| {
                sum[c] += v.to_f64();
                squares[c] += v.to_f64() * v.to_f64();
            });
        }),
        Rows::Sparse(rows) => (0..data.n()).for_each(|i| {
            let (columns, values) = rows.row(i);
            for (&c, v) in columns.iter().zip(values) {
                sum[c as usize] += v.to_f64();
                squares[c as usize] += v.to_f64() * v.to_f64();
            }
        }),
    }
    sum.iter_mut().for_each(|s| *s /= n);
    let sd = sum.iter().zip(&squares).map(|(m, s)| (s / n - m * m).max(0.0).sqrt()).collect();
    (sum, sd)
}

fn nearest<F: Float>(data: &Dataset<'_, F>, labels: &[u32], cluster: u32, centre: &[f64], count: usize) -> Vec<usize> {
    let rows = labels.iter().enumerate().filter(|(_, l)| **l == cluster);
    let mut found: Vec<(f64, usize)> = rows.map(|(i, _)| (data.distance2(i, centre), i)).collect();
    found.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
    found.into_iter().take(count).map(|f| f.1).collect()
}

/// x·v of a row.
fn dot<F: Float>(rows: &Rows<'_, F>, i: usize, v: &[f64]) -> f64 {
    match rows {
        Rows::Dense(rows) => rows.row(i).iter().zip(v).map(|(a, b)| a.to_f64() * b).sum(),
        Rows::Sparse(rows) => {
            let (columns, values) = rows.row(i);
            columns.iter().zip(values).map(|(&c, a)| a.to_f64() * v[c as usize]).sum()
        }
    }
}

/// The rows in their `wanted` leading principal components (two at least, filled with nothing), and the shares of the
/// variance of the first two.
fn components<F: Float>(data: &Dataset<'_, F>, wanted: usize) -> Result<(Matrix, (f64, f64)), Failure> {
    let (n, dims) = (data.n(), data.dims());
    let (mean, sd) = spread(data);
    let total: f64 = sd.iter().map(|s| s * s).sum::<f64>() * n as f64;
    let rows = data.rows();
    // Σ (x − m)(x − m)ᵀ·v without writing out x − m: sparse rows stay sparse.
    let apply = |v: &[f64], out: &mut [f64]| {
        out.fill(0.0);
        let shift: f64 = mean.iter().zip(v).map(|(a, b)| a * b).sum();
        let mut sum = 0.0;
        for i in 0..n {
            let y = dot(&rows, i, v) - shift;
            data.add_row(i, y, out);
            sum += y;
        }
        out.iter_mut().zip(&mean).for_each(|(o, m)| *o -= sum * m);
    };
    let axes = leading_eigenvectors(dims, wanted, 300, &mut Rng::stream(0, "map", 0), &one_by_one(apply))?;
    let mut all = Matrix::zeros(n, axes.rows().max(2));
    for (axis, v) in axes.iter().enumerate() {
        let shift: f64 = mean.iter().zip(v).map(|(a, b)| a * b).sum();
        (0..n).for_each(|i| all.row_mut(i)[axis] = dot(&rows, i, v) - shift);
    }
    let along = |axis: usize| all.iter().map(|row| row[axis] * row[axis]).sum::<f64>();
    let share = |axis: usize| if total > 0.0 { along(axis) / total } else { 0.0 };
    let shares = (share(0), share(1));
    Ok((all, shares))
}

/// Widths of the rows looked at, among themselves; and the mean distance of two of them.
fn silhouettes<F: Float>(
    data: &Dataset<'_, F>,
    labels: &[u32],
    k: usize,
    rows: &[usize],
) -> (Vec<(usize, f64, usize)>, f64) {
    let mut sizes = vec![0usize; k];
    rows.iter().for_each(|&i| sizes[labels[i] as usize] += 1);
    let (mut widths, mut all) = (Vec::new(), 0.0);
    let mut point = vec![0.0; data.dims()];
    for &i in rows {
        point.fill(0.0);
        data.add_row(i, 1.0, &mut point);
        let mut sums = vec![0.0; k];
        for &j in rows.iter().filter(|&&j| j != i) {
            sums[labels[j] as usize] += data.distance2(j, &point).max(0.0).sqrt();
        }
        all += sums.iter().sum::<f64>();
        let own = labels[i] as usize;
        let others = (0..k).filter(|&c| c != own && sizes[c] > 0);
        let Some((b, other)) = others.map(|c| (sums[c] / sizes[c] as f64, c)).min_by(|x, y| x.0.total_cmp(&y.0)) else {
            continue;
        };
        // A row alone in its cluster has width 0.
        let width = if sizes[own] < 2 {
            0.0
        } else {
            let a = sums[own] / (sizes[own] - 1) as f64;
            if a.max(b) > 0.0 { (b - a) / a.max(b) } else { 0.0 }
        };
        widths.push((i, width, other));
    }
    let m = rows.len() as f64;
    (widths, if m > 1.0 { all / (m * (m - 1.0)) } else { 0.0 })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_map_lies_along_the_longest_direction() {
        let rows: Vec<f64> = (0..20).flat_map(|i| [f64::from(i), 2.0 * f64::from(i), f64::from(i % 2)]).collect();
        let data = Dataset::dense(&rows, 3).unwrap();
        let (places, shares) = components(&data, 2).unwrap();
        let along = |i: usize| places.row(i)[0];
        let (first, last) = (along(0), along(19));
        // 19·√5 apart along (1, 2, 0), up to the sign; the 0/1 column carries the rest.
        assert!(((last - first).abs() - 19.0 * 5f64.sqrt()).abs() < 0.01);
        assert!(shares.0 > 0.99 && (shares.0 + shares.1 - 1.0).abs() < 1e-9);
    }

    #[test]
    fn widths_are_those_of_the_engine() {
        use kinfold::indices::{Internal, Sampling, score_rows};
        let mut rng = Rng::stream(3, "test", 0);
        let rows: Vec<f64> = (0..90).map(|i| rng.unit() + f64::from(i / 45) * 0.7).collect();
        let data = Dataset::dense(&rows, 3).unwrap();
        let labels: Vec<u32> = (0..30).map(|i| (i / 15) as u32 + u32::from(i == 29)).collect();
        let (widths, _) = silhouettes(&data, &labels, 3, &(0..30).collect::<Vec<_>>());
        let mean = widths.iter().map(|w| w.1).sum::<f64>() / 30.0;
        let ctx = kinfold::context::RunContext::new(0);
        let engine = score_rows(&ctx, &data, &[&labels], &[Internal::Silhouette], Sampling::Exact);
        assert!((mean - engine.get(0, Internal::Silhouette).unwrap().value).abs() < 1e-9);
    }

    #[test]
    fn samples_keep_what_must_be_drawn_and_never_exceed_the_bound() {
        assert_eq!(sample(5, 10, &[3]), [0, 1, 2, 3, 4]);
        let some = sample(1000, 10, &[999, 998]);
        assert!(some.len() == 10 && some.contains(&999) && some.contains(&998));
        assert!(sample(0, 10, &[]).is_empty());
    }
}
