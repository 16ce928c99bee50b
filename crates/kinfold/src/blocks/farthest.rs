//! The two rows that are farthest apart: a few hops from row to farthest row give a lower bound; then only pairs whose
//! distances from the mean add up to more are compared, far rows first. Exact unless that would take more than `MOST`
//! steps, when the bound stands (at least half of the true distance). Cost O(n·dims) and O(kept² · dims).

use super::par::Pool;
use crate::data::Matrix;

/// Pairs × dims that are compared at most.
const MOST: f64 = 4e9;
/// Hops of the first bound.
const HOPS: usize = 4;

/// The farthest pair.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Farthest {
    /// One row.
    pub a: u32,
    /// The other.
    pub b: u32,
    /// Their squared distance.
    pub d2: f64,
    /// Is it proven?
    pub exact: bool,
}

fn distance2(x: &[f64], y: &[f64]) -> f64 {
    x.iter().zip(y).map(|(a, b)| (a - b) * (a - b)).sum()
}

/// The pair of rows of `y` at the greatest distance, the first of equals in the order of search.
pub fn farthest_pair(pool: &Pool, y: &Matrix) -> Farthest {
    let n = y.rows();
    let mut mean = vec![0.0; y.cols()];
    y.iter().for_each(|row| mean.iter_mut().zip(row).for_each(|(m, v)| *m += v / n as f64));
    let norm: Vec<f64> = y.iter().map(|row| distance2(row, &mean).sqrt()).collect();
    let mut order: Vec<u32> = (0..n as u32).collect();
    order.sort_by(|&a, &b| norm[b as usize].total_cmp(&norm[a as usize]).then(a.cmp(&b)));
    let mut best = Farthest { a: 0, b: 0, d2: 0.0, exact: true };
    let Some(&outermost) = order.first() else { return best };
    let mut from = outermost;
    for _ in 0..HOPS {
        let (mut to, mut far) = (from, 0.0);
        for (i, row) in y.iter().enumerate() {
            let d2 = distance2(row, y.row(from as usize));
            if d2 > far {
                (to, far) = (i as u32, d2);
            }
        }
        if far <= best.d2 {
            break;
        }
        best = Farthest { a: from.min(to), b: from.max(to), d2: far, exact: true };
        from = to;
    }
    // ‖a − b‖ ≤ ‖a − mean‖ + ‖b − mean‖, with room for rounding.
    let reach = |i: u32, j: u32| (norm[i as usize] + norm[j as usize]) * (1.0 + 1e-12);
    let kept = order.iter().take_while(|&&i| reach(i, outermost).powi(2) > best.d2).count();
    if kept as f64 * kept as f64 / 2.0 * y.cols() as f64 > MOST {
        return Farthest { exact: false, ..best };
    }
    let found = pool.map_chunks(kept, 64, |range| {
        let mut best = best;
        for i in range {
            let (a, row) = (order[i], y.row(order[i] as usize));
            for &b in &order[i + 1..kept] {
                if reach(a, b).powi(2) <= best.d2 {
                    break;
                }
                let d2 = distance2(row, y.row(b as usize));
                if d2 > best.d2 {
                    best = Farthest { a: a.min(b), b: a.max(b), d2, exact: true };
                }
            }
        }
        best
    });
    found.into_iter().fold(best, |x, y| if y.d2 > x.d2 { y } else { x })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Rng;

    #[test]
    fn the_pair_is_the_one_that_comparing_all_finds() {
        let mut rng = Rng::stream(1, "farthest test", 0);
        for (n, dims) in [(1, 2), (2, 1), (50, 1), (200, 3), (300, 12)] {
            let y = Matrix::from_vec(dims, (0..n * dims).map(|_| rng.normal()).collect());
            let all = (0..n).flat_map(|i| (0..i).map(move |j| (i, j)));
            let true_d2 = all.map(|(i, j)| distance2(y.row(i), y.row(j))).fold(0.0, f64::max);
            let found = farthest_pair(&Pool::new(2), &y);
            assert_eq!(found.d2, true_d2, "{n} × {dims}");
            assert_eq!(found, farthest_pair(&Pool::new(1), &y));
        }
    }
}
