//! Rows and chunklets as the things to place: *free* rows (in no constraint) stay in the borrowed data, the *bound*
//! chunklets (two rows or more, or a cannot-link) become weighted points of their own. Constraints usually touch few
//! rows, so the free ones go through the plain kernel and only the bound ones through exact assignment.
//! For any centre c: Σ_{x∈A} w‖x − c‖² = w_A‖mean_A − c‖² + scatter_A.

use std::sync::OnceLock;

use super::par::Pool;
use crate::constraints::{Chunklets, Graph};
use crate::data::{Dataset, Float, Matrix, Rows, Table};
use crate::kernels::Sums;
use crate::kernels::distances::to_columns;

/// No unit: the row is free.
pub const FREE: u32 = u32::MAX;

/// The units of one problem.
pub struct Units<'a, F> {
    /// The rows.
    pub data: &'a Dataset<'a, F>,
    chunklets: &'a Chunklets,
    /// Chunklet of each bound unit, ascending.
    bound: Vec<u32>,
    /// Unit of each row, `FREE` for free rows; empty when all rows are free.
    unit_of: Vec<u32>,
    /// The rows in no unit, ascending; none when all rows are free.
    free_rows: Option<Vec<u32>>,
    points: Table<F>,
    /// Total row weight of each unit.
    pub weight: Vec<f64>,
    /// Σ w‖x − mean‖² inside each unit.
    pub scatter: Vec<f64>,
    /// Cannot-links between units.
    pub graph: Graph,
    moments: OnceLock<Moments>,
}

/// Σ w‖x − about‖² of all rows about a point near their mean.
struct Moments {
    about: Vec<f64>,
    total: f64,
}

impl<'a, F: Float> Units<'a, F> {
    /// Free rows and bound chunklets of a closed problem.
    pub fn new(data: &'a Dataset<'a, F>, chunklets: &'a Chunklets) -> Units<'a, F> {
        Units::of(data, chunklets, (0..chunklets.len() as u32).filter(|&c| chunklets.is_bound(c)).collect())
    }

    /// Every row in a bound unit, for methods in which free rows depend on each other too (size bounds).
    pub fn all(data: &'a Dataset<'a, F>, chunklets: &'a Chunklets) -> Units<'a, F> {
        Units::of(data, chunklets, (0..chunklets.len() as u32).collect())
    }

    /// These rows (ascending) as units of their own, for methods that place them one by one; `alone` has every row by
    /// itself.
    pub fn rows(data: &'a Dataset<'a, F>, alone: &'a Chunklets, rows: Vec<u32>) -> Units<'a, F> {
        Units::of(data, alone, rows)
    }

    fn of(data: &'a Dataset<'a, F>, chunklets: &'a Chunklets, bound: Vec<u32>) -> Units<'a, F> {
        let mut unit_of = if bound.is_empty() { Vec::new() } else { vec![FREE; data.n()] };
        for (unit, &c) in bound.iter().enumerate() {
            chunklets.members(c).iter().for_each(|&row| unit_of[row as usize] = unit as u32);
        }
        let free = |&row: &u32| unit_of[row as usize] == FREE;
        let free_rows = (!bound.is_empty()).then(|| (0..data.n() as u32).filter(free).collect());
        let points = match data.stored().0 {
            Rows::Dense(_) => dense_means(data, chunklets, &bound),
            Rows::Sparse(_) => sparse_means(data, chunklets, &bound),
        };
        let weight: Vec<f64> =
            bound.iter().map(|&c| chunklets.members(c).iter().map(|&row| data.weight(row as usize)).sum()).collect();
        let mut mean = vec![0.0; data.dims()];
        let lent = points.lend();
        let scatter = bound
            .iter()
            .enumerate()
            .map(|(unit, &c)| {
                if chunklets.members(c).len() == 1 {
                    return 0.0;
                }
                mean.fill(0.0);
                lent.add_row(unit, 1.0, &mut mean);
                let rows = chunklets.members(c).iter();
                rows.map(|&row| data.weight(row as usize) * data.distance2(row as usize, &mean)).sum()
            })
            .collect();
        let graph = if bound.is_empty() { Graph::default() } else { chunklets.graph().induced(&bound) };
        Units { data, chunklets, bound, unit_of, points, weight, scatter, graph, free_rows, moments: OnceLock::new() }
    }

    /// Number of bound units.
    pub fn bound(&self) -> usize {
        self.bound.len()
    }
    /// Number of free rows.
    pub fn free(&self) -> usize {
        self.free_rows.as_ref().map_or(self.data.n(), Vec::len)
    }
    /// The unit of a row, or `FREE`.
    pub fn unit_of(&self, row: usize) -> u32 {
        self.unit_of.get(row).copied().unwrap_or(FREE)
    }
    /// The rows of a unit, ascending.
    pub fn members(&self, unit: usize) -> &[u32] {
        self.chunklets.members(self.bound[unit])
    }
    /// The rows in no unit, ascending; none when all rows are free.
    pub(crate) fn free_rows(&self) -> Option<&[u32]> {
        self.free_rows.as_deref()
    }
    /// The means of the bound units, in the precision of the rows: that of a single row is the row.
    pub fn points(&self) -> Dataset<'_, F> {
        self.points.lend()
    }
    /// Σ of all scatters: the part of the objective that no assignment changes.
    pub fn total_scatter(&self) -> f64 {
        self.scatter.iter().sum()
    }
    /// Writes the labels of the units to their rows.
    pub fn spread(&self, unit_labels: &[u32], labels: &mut [u32]) {
        for (unit, &label) in unit_labels.iter().enumerate() {
            self.members(unit).iter().for_each(|&row| labels[row as usize] = label);
        }
    }

    /// Cannot-links between units that a labelling of the rows breaks.
    pub fn broken(&self, labels: &[u32]) -> usize {
        let label = |unit: u32| labels[self.members(unit as usize)[0] as usize];
        self.graph.edges().filter(|&(a, b)| label(a) == label(b)).count()
    }
    /// Σ w‖x − centre‖² of all rows, given the sums of their clusters: from the moments of the rows, so that no row is
    /// read, unless that leaves too few digits; then `label(row)` says where each is.
    pub fn cost(&self, pool: &Pool, centres: &Matrix, sums: &Sums, label: impl Fn(usize) -> u32 + Sync) -> f64 {
        let Moments { about, total } = self.moments.get_or_init(|| self.find_moments(pool));
        let mut cost = *total;
        for ((centre, sum), &weight) in centres.iter().zip(sums.values.iter()).zip(&sums.weights) {
            let (mut cross, mut norm) = (0.0, 0.0);
            for ((c, s), a) in centre.iter().zip(sum).zip(about) {
                cross += (s - weight * a) * (c - a);
                norm += (c - a) * (c - a);
            }
            cost += weight * norm - 2.0 * cross;
        }
        if cost > 1e-7 * total {
            return cost;
        }
        let parts = pool.map_chunks(self.data.n(), 16_384, |range| {
            let one = |row: usize| self.data.weight(row) * self.data.distance2(row, centres.row(label(row) as usize));
            range.map(one).sum::<f64>()
        });
        parts.iter().sum()
    }

    fn find_moments(&self, pool: &Pool) -> Moments {
        let (n, dims) = (self.data.n(), self.data.dims());
        let mut about = vec![0.0; dims];
        let step = n.div_ceil(4096);
        let count = n.div_ceil(step);
        (0..n).step_by(step).for_each(|row| self.data.add_row(row, 1.0 / count as f64, &mut about));
        let parts = pool.map_chunks(n, 16_384, |range| match (self.data.stored(), self.data.weights()) {
            ((Rows::Dense(d), None), None) => {
                let mut squares = vec![0.0; dims];
                for row in d.values()[range.start * dims..range.end * dims].chunks_exact(dims) {
                    for ((s, x), a) in squares.iter_mut().zip(row).zip(&about) {
                        *s += (x.to_f64() - a) * (x.to_f64() - a);
                    }
                }
                squares.iter().sum::<f64>()
            }
            _ => range.map(|row| self.data.weight(row) * self.data.distance2(row, &about)).sum::<f64>(),
        });
        Moments { total: parts.iter().sum(), about }
    }

    /// weight · ‖mean − centre‖² of some units to every centre.
    pub fn costs_of(&self, pool: &Pool, centres: &Matrix, some: &[u32]) -> Vec<f64> {
        let k = centres.rows();
        let mut costs = vec![0.0; some.len() * k];
        let rows = CostRows::new(self, centres);
        pool.map_chunks_mut(&mut costs, 512 * k, |start, slice| {
            for (&unit, row) in some[start / k..].iter().zip(slice.chunks_exact_mut(k)) {
                rows.write(unit as usize, row);
            }
        });
        costs
    }
    /// weight · ‖mean − centre‖² for every unit (rows) and centre (columns), row-major.
    pub fn costs(&self, pool: &Pool, centres: &Matrix) -> Vec<f64> {
        let k = centres.rows();
        let mut costs = vec![0.0; self.bound() * k];
        let rows = CostRows::new(self, centres);
        pool.map_chunks_mut(&mut costs, 512 * k, |start, slice| {
            for (unit, row) in (start / k..).zip(slice.chunks_exact_mut(k)) {
                rows.write(unit, row);
            }
        });
        costs
    }
}

/// Centres laid out to compute the costs of one unit at a time.
pub struct CostRows<'a, F> {
    points: Dataset<'a, F>,
    weight: &'a [f64],
    transposed: Matrix,
    norms: Vec<f64>,
}

impl<'a, F: Float> CostRows<'a, F> {
    /// For the units of a problem at these centres.
    pub fn new(units: &'a Units<'_, F>, centres: &Matrix) -> CostRows<'a, F> {
        let norms = centres.iter().map(|c| c.iter().map(|v| v * v).sum()).collect();
        CostRows { points: units.points(), weight: &units.weight, transposed: centres.transposed(), norms }
    }
    /// Asks for a unit that will be written soon.
    pub(crate) fn prefetch(&self, unit: usize) {
        self.points.prefetch(unit);
        crate::kernels::prefetch(&self.weight[unit..=unit]);
    }
    /// weight · ‖mean − centre‖² of one unit to every centre.
    pub fn write(&self, unit: usize, row: &mut [f64]) {
        match self.points.rows() {
            Rows::Dense(d) => to_columns(d.row(unit), self.transposed.values(), row),
            Rows::Sparse(s) => {
                let (columns, values) = s.row(unit);
                let own: f64 = values.iter().map(|v| v.to_f64() * v.to_f64()).sum();
                row.copy_from_slice(&self.norms);
                for (&j, v) in columns.iter().zip(values) {
                    let v = v.to_f64();
                    row.iter_mut().zip(self.transposed.row(j as usize)).for_each(|(r, c)| *r -= 2.0 * v * c);
                }
                row.iter_mut().for_each(|r| *r = (*r + own).max(0.0));
            }
        }
        row.iter_mut().for_each(|r| *r *= self.weight[unit]);
    }
}

fn dense_means<F: Float>(data: &Dataset<'_, F>, chunklets: &Chunklets, bound: &[u32]) -> Table<F> {
    let dims = data.dims();
    let mut values = Vec::with_capacity(bound.len() * dims);
    let mut mean = vec![0.0; dims];
    for &c in bound {
        let total: f64 = chunklets.members(c).iter().map(|&row| data.weight(row as usize)).sum();
        mean.fill(0.0);
        for &row in chunklets.members(c) {
            data.add_row(row as usize, data.weight(row as usize) / total, &mut mean);
        }
        values.extend(mean.iter().map(|&v| F::from_f64(v)));
    }
    Table::Dense { values, dims }
}

fn sparse_means<F: Float>(data: &Dataset<'_, F>, chunklets: &Chunklets, bound: &[u32]) -> Table<F> {
    let dims = data.dims();
    let Rows::Sparse(rows) = data.rows() else { unreachable!("called for sparse rows") };
    let (mut starts, mut columns, mut values) = (vec![0], Vec::new(), Vec::new());
    let mut dense = vec![0.0; dims];
    let mut touched: Vec<u32> = Vec::new();
    for &c in bound {
        let total: f64 = chunklets.members(c).iter().map(|&row| data.weight(row as usize)).sum();
        touched.clear();
        for &row in chunklets.members(c) {
            touched.extend_from_slice(rows.row(row as usize).0);
            data.add_row(row as usize, data.weight(row as usize) / total, &mut dense);
        }
        touched.sort_unstable();
        touched.dedup();
        for &j in &touched {
            columns.push(j);
            values.push(F::from_f64(std::mem::take(&mut dense[j as usize])));
        }
        starts.push(values.len());
    }
    Table::Sparse { starts, columns, values, dims }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::constraints::{ConstraintSet, Kind};

    #[test]
    fn mass_and_scatter_match_the_worked_example() {
        let rows = [0.0, 0.0, 2.0, 0.0, 1.0, 3.0, 9.0, 9.0];
        let mut given = ConstraintSet::new(4);
        given.add_pair(Kind::MustLink, 0, 1).unwrap();
        given.add_pair(Kind::MustLink, 1, 2).unwrap();
        let chunklets = given.close().unwrap();
        let data = Dataset::dense(&rows, 2).unwrap();
        let units = Units::new(&data, &chunklets);
        let mut mean = [0.0; 2];
        units.points().add_row(0, 1.0, &mut mean);
        assert_eq!((units.bound(), units.free(), units.weight[0]), (1, 1, 3.0));
        assert!((mean[0] - 1.0).abs() < 1e-12 && (mean[1] - 1.0).abs() < 1e-12);
        assert!((units.scatter[0] - 8.0).abs() < 1e-12);
        let weighted = data.with_weights(&[1.0, 1.0, 2.0, 1.0]).unwrap();
        let units = Units::new(&weighted, &chunklets);
        assert!((units.weight[0] - 4.0).abs() < 1e-12 && (units.scatter[0] - 11.0).abs() < 1e-12);
    }

    #[test]
    fn sparse_units_cost_what_dense_ones_cost() {
        let values = [1.0, 0.0, 2.0, 0.0, 3.0, 0.0, 0.0, 0.0, 4.0];
        let dense = Dataset::dense(&values, 3).unwrap();
        let sparse = Dataset::sparse(&[0, 2, 3, 4], &[0, 2, 1, 2], &[1.0, 2.0, 3.0, 4.0], 3).unwrap();
        let mut given = ConstraintSet::new(3);
        given.add_pair(Kind::MustLink, 0, 1).unwrap();
        given.add_pair(Kind::CannotLink, 1, 2).unwrap();
        let chunklets = given.close().unwrap();
        let centres = Matrix::from_vec(3, vec![0.5, 1.0, 0.0, 2.0, 0.0, -1.0]);
        let (a, b) = (Units::new(&dense, &chunklets), Units::new(&sparse, &chunklets));
        let (x, y) = (a.costs(&Pool::new(1), &centres), b.costs(&Pool::new(1), &centres));
        assert!(x.iter().zip(&y).all(|(x, y)| (x - y).abs() < 1e-12), "{x:?} {y:?}");
        assert!((a.total_scatter() - b.total_scatter()).abs() < 1e-12);
    }
}
