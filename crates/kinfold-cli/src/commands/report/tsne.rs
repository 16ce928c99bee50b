//! A map of neighbourhoods: t-SNE (van der Maaten 2014, Barnes-Hut) of the leading principal components. It starts from the
//! first two of them and runs on one thread with neighbours of our own, so that the map is the same every time.

use bhtsne::{Neighbor, tSNE};
use kinfold::blocks::neighbours::nearest_rows;
use kinfold::blocks::par::Pool;
use kinfold::data::Matrix;

/// Rows below which a map of neighbourhoods says nothing.
const FEWEST: usize = 12;
/// Effective number of neighbours.
const PERPLEXITY: f64 = 30.0;
/// Steps; of many rows fewer, a step then takes its time.
const EPOCHS: [usize; 2] = [750, 500];
const MANY: usize = 2000;
/// Size of the cells that are taken as one: 0 is exact.
const THETA: f64 = 0.5;

/// Places of rows; `None` where there are too few, or all are alike.
pub fn places(pool: &Pool, components: &Matrix) -> Option<Vec<(f64, f64)>> {
    let n = components.rows();
    if n < FEWEST || components.cols() < 2 || !components.values().iter().all(|v| v.is_finite()) {
        return None;
    }
    let spread = (0..n).map(|i| components.row(i)[0].powi(2)).sum::<f64>() / n as f64;
    if !(spread > 0.0) {
        return None;
    }
    let perplexity = PERPLEXITY.min((n - 1) as f64 / 3.0);
    let per_row = ((3.0 * perplexity) as usize).clamp(1, n - 1);
    let found = nearest_rows(pool, components, per_row);
    let neighbours: Vec<Vec<Neighbor<f64>>> = found
        .chunks_exact(per_row)
        .map(|row| row.iter().map(|&(d2, j)| Neighbor { index: j as usize, distance: d2.max(0.0).sqrt() }).collect())
        .collect();
    let scale = 1e-4 / spread.sqrt();
    let start: Vec<f64> = (0..n).flat_map(|i| [0, 1].map(|c| scale * components.row(i)[c])).collect();
    let rows = vec![(); n];
    let run = move || {
        let mut tsne: tSNE<'_, f64, ()> = tSNE::new(&rows);
        tsne.epochs(EPOCHS[usize::from(n > MANY)]).perplexity(perplexity).initial_embedding(start);
        tsne.barnes_hut_with_neighbors(THETA, &neighbours);
        tsne.embedding()
    };
    // Sums over several threads would be taken in the order in which they finish.
    let alone = rayon::ThreadPoolBuilder::new().num_threads(1).build().ok()?;
    let flat = alone.install(run);
    let all: Vec<(f64, f64)> = flat.chunks_exact(2).map(|p| (p[0], p[1])).collect();
    (all.len() == n && all.iter().all(|p| p.0.is_finite() && p.1.is_finite())).then_some(all)
}

#[cfg(test)]
mod tests {
    use super::*;
    use kinfold::rng::Rng;

    /// Three blobs of forty rows in five dimensions.
    fn blobs() -> Matrix {
        let mut rng = Rng::stream(5, "blobs", 0);
        let value = |i: usize, rng: &mut Rng| rng.unit() + if i % 5 == i / 5 / 40 { 6.0 } else { 0.0 };
        let values = (0..600).map(|i| value(i, &mut rng)).collect();
        Matrix::from_vec(5, values)
    }

    #[test]
    fn neighbours_stay_neighbours() {
        let places = super::places(&Pool::new(2), &blobs()).unwrap();
        let distance = |a: usize, b: usize| (places[a].0 - places[b].0).hypot(places[a].1 - places[b].1);
        for i in 0..120 {
            let nearest = (0..120).filter(|&j| j != i).min_by(|&a, &b| distance(i, a).total_cmp(&distance(i, b)));
            assert_eq!(nearest.unwrap() / 40, i / 40);
        }
    }

    #[test]
    fn the_map_is_the_same_bytes_on_any_number_of_threads() {
        let once = places(&Pool::new(2), &blobs());
        for threads in [1, 2, 3] {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            assert_eq!(pool.install(|| places(&Pool::new(2), &blobs())), once);
        }
    }

    #[test]
    fn too_few_rows_or_rows_all_alike_have_no_map() {
        assert!(places(&Pool::new(1), &Matrix::from_vec(2, vec![1.0; 20])).is_none());
        assert!(places(&Pool::new(1), &Matrix::zeros(50, 3)).is_none());
        let mut some = Matrix::zeros(50, 3);
        some.row_mut(7)[0] = 1.0;
        // One row apart, the others on one spot: still a map.
        assert!(places(&Pool::new(1), &some).is_some_and(|p| p.len() == 50));
    }
}
