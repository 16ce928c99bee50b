//! Spaces that need no constraints. Dense rows: as given, and standardised; beyond 100 columns their leading 100
//! principal coordinates. Sparse counts: tf-idf with ln(n / rows with the term), unit rows, 40 leading singular
//! directions, unit rows again; other sparse rows: the singular directions alone. Each space is a [`Transform`] that new
//! rows can follow, and the coordinates of the rows at hand; sparse rows are never made dense.

use super::linalg::{dot, gram_of_columns, leading_eigenvectors, one_by_one, symmetric_eigen};
use crate::data::{Dataset, Float, Matrix, Rows, Scaling, Table, Transform};
use crate::error::Result;
use crate::rng::Rng;

const MOST_COLUMNS: usize = 100;
const SINGULAR_DIRECTIONS: usize = 40;
/// Up to this side the matrix of products is written out.
const DENSE: usize = 1024;

/// A space and where some rows are in it.
#[derive(Debug, Clone)]
pub struct Base {
    /// raw, standard, svd, or the name of the scaling that was asked for.
    pub name: String,
    /// How rows get there.
    pub transform: Transform,
    /// Columns of the transformed rows.
    pub width: usize,
    /// Those of them that vary.
    pub kept: Vec<usize>,
    /// Coordinates of the rows at hand (kept columns).
    pub x: Matrix,
}

/// The spaces to try: learned from `data`, except directions, which come from `rows`; coordinates of `rows`.
/// `scaling`: what was done already because the user asked for it; then there is no other space.
pub fn bases<F: Float>(
    data: &Dataset<'_, F>,
    rows: &Dataset<'_, F>,
    scaling: Option<Scaling>,
    rng: &mut Rng,
) -> Result<Vec<Base>> {
    let given = scaling.map(|s| if s == Scaling::None { "raw" } else { s.name() });
    if data.is_sparse() {
        let counts = scaling.is_none() && all_counts(data);
        let first = if counts {
            Transform::Diagonal { shift: Vec::new(), factor: inverse_document_frequency(data) }
                .then(Transform::UnitRows)
        } else {
            Transform::Identity
        };
        return Ok(vec![reduced_sparse(given.unwrap_or("svd"), first, rows, counts, rng)?]);
    }
    let mut plain = vec![(given.unwrap_or("raw"), Transform::Identity)];
    if scaling.is_none() {
        plain.push(("standard", Scaling::Standard.fit(data)?));
    }
    plain.into_iter().map(|(name, first)| reduced_dense(name, first, rows, rng)).collect()
}

/// The rows of a table as f64.
pub fn widened<F: Float>(table: &Table<F>) -> Matrix {
    match table {
        Table::Dense { values, dims } => Matrix::from_vec(*dims, values.iter().map(|v| v.to_f64()).collect()),
        Table::Sparse { dims, .. } => {
            let data = table.lend();
            let mut x = Matrix::zeros(data.n(), *dims);
            (0..data.n()).for_each(|i| data.add_row(i, 1.0, x.row_mut(i)));
            x
        }
    }
}

fn reduced_dense<F: Float>(name: &str, first: Transform, rows: &Dataset<'_, F>, rng: &mut Rng) -> Result<Base> {
    let x = widened(&first.apply(rows)?);
    let kept = varying(&x);
    if kept.len() <= MOST_COLUMNS {
        return Ok(Base { name: name.to_owned(), transform: first, width: x.cols(), x: columns(&x, &kept), kept });
    }
    let n = x.rows();
    let mut mean = vec![0.0; x.cols()];
    x.iter().for_each(|r| mean.iter_mut().zip(r).for_each(|(m, v)| *m += v / n as f64));
    let mut centred = x;
    for i in 0..n {
        centred.row_mut(i).iter_mut().zip(&mean).for_each(|(v, m)| *v -= m);
    }
    let directions = singular_directions(&Dataset::dense_trusted(centred.values(), centred.cols()), MOST_COLUMNS, rng)?;
    let x = super::linalg::project(&centred, &directions);
    let linear = Transform::Linear { shift: mean, matrix: directions.transposed() };
    Ok(Base { name: name.to_owned(), transform: first.then(linear), width: x.cols(), kept: (0..x.cols()).collect(), x })
}

fn reduced_sparse<F: Float>(
    name: &str,
    first: Transform,
    rows: &Dataset<'_, F>,
    unit: bool,
    rng: &mut Rng,
) -> Result<Base> {
    let table = first.apply(rows)?;
    let wanted = if unit { SINGULAR_DIRECTIONS } else { MOST_COLUMNS };
    let directions = singular_directions(&table.lend(), wanted, rng)?;
    let mut second = Transform::Linear { shift: Vec::new(), matrix: directions.transposed() };
    if unit {
        second = second.then(Transform::UnitRows);
    }
    let x = widened(&second.apply(&table.lend())?);
    Ok(Base { name: name.to_owned(), transform: first.then(second), width: x.cols(), kept: (0..x.cols()).collect(), x })
}

/// Columns that are not constant; the first one if all are.
fn varying(x: &Matrix) -> Vec<usize> {
    let first = x.row(0);
    let mut varies = vec![false; x.cols()];
    x.iter().for_each(|r| varies.iter_mut().zip(r).zip(first).for_each(|((b, v), f)| *b |= v != f));
    let kept: Vec<usize> = (0..x.cols()).filter(|&j| varies[j]).collect();
    if kept.is_empty() { vec![0] } else { kept }
}

fn columns(x: &Matrix, kept: &[usize]) -> Matrix {
    Matrix::from_vec(kept.len(), x.iter().flat_map(|r| kept.iter().map(|&j| r[j])).collect())
}

fn all_counts<F: Float>(data: &Dataset<'_, F>) -> bool {
    let Rows::Sparse(s) = data.rows() else { return false };
    (0..data.n()).all(|i| s.row(i).1.iter().all(|v| v.to_f64() >= 0.0))
}

/// ln(n / rows with the term): a term of every row says nothing.
fn inverse_document_frequency<F: Float>(data: &Dataset<'_, F>) -> Vec<f64> {
    let mut with = vec![0.0f64; data.dims()];
    if let Rows::Sparse(s) = data.rows() {
        for i in 0..data.n() {
            let (columns, values) = s.row(i);
            columns.iter().zip(values).filter(|(_, v)| v.to_f64() != 0.0).for_each(|(&j, _)| with[j as usize] += 1.0);
        }
    }
    with.iter().map(|w| (data.n() as f64 / w.max(1.0)).ln()).collect()
}

/// The leading right singular vectors of the rows, as rows; at most as many as rows or columns allow.
fn singular_directions<F: Float>(data: &Dataset<'_, F>, wanted: usize, rng: &mut Rng) -> Result<Matrix> {
    let (n, dims) = (data.n(), data.dims());
    let wanted = wanted.min(n).min(dims);
    if let Rows::Dense(_) = data.rows()
        && dims <= DENSE
    {
        let x = widened(&Table::select(data, &(0..n).collect::<Vec<_>>()));
        let (_, vectors) = symmetric_eigen(&gram_of_columns(x.values(), dims))?;
        return Ok(Matrix::from_vec(dims, vectors.values()[..wanted * dims].to_vec()));
    }
    let times = |v: &[f64], out: &mut [f64]| match data.rows() {
        Rows::Dense(d) => (0..n).for_each(|i| out[i] = d.row(i).iter().zip(v).map(|(a, b)| a.to_f64() * b).sum()),
        Rows::Sparse(s) => (0..n).for_each(|i| {
            let (columns, values) = s.row(i);
            out[i] = columns.iter().zip(values).map(|(&j, a)| a.to_f64() * v[j as usize]).sum();
        }),
    };
    let transposed = |u: &[f64], out: &mut [f64]| {
        out.fill(0.0);
        (0..n).filter(|&i| u[i] != 0.0).for_each(|i| data.add_row(i, u[i], out));
    };
    // The smaller side, so that the vectors to orthogonalise are short.
    if dims <= n {
        let square = |v: &[f64], out: &mut [f64]| {
            let mut image = vec![0.0; n];
            times(v, &mut image);
            transposed(&image, out);
        };
        return leading_eigenvectors(dims, wanted, DENSE, rng, &one_by_one(square));
    }
    let square = |u: &[f64], out: &mut [f64]| {
        let mut image = vec![0.0; dims];
        transposed(u, &mut image);
        times(&image, out);
    };
    let left = leading_eigenvectors(n, wanted, DENSE, rng, &one_by_one(square))?;
    let mut right = Matrix::zeros(wanted, dims);
    for c in 0..wanted {
        let row = right.row_mut(c);
        transposed(left.row(c), row);
        let norm = dot(row, row).sqrt();
        if norm > 0.0 {
            row.iter_mut().for_each(|v| *v /= norm);
        }
    }
    Ok(right)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn new_rows_land_where_the_transform_of_the_base_puts_them() {
        let mut rng = Rng::stream(1, "test", 0);
        let values: Vec<f64> = (0..40 * 130).map(|i| rng.normal() * (1.0 + (i % 130) as f64)).collect();
        let data = Dataset::dense(&values, 130).unwrap();
        for base in bases(&data, &data, None, &mut rng).unwrap() {
            let again = widened(&base.transform.apply(&data).unwrap());
            assert!(base.x.values().iter().zip(again.values()).all(|(a, b)| (a - b).abs() < 1e-8));
        }
    }

    #[test]
    fn sparse_directions_keep_the_inner_products_when_all_are_kept() {
        let mut rng = Rng::stream(2, "test", 0);
        let (n, dims) = (12, 60);
        let (mut starts, mut columns, mut values) = (vec![0], Vec::new(), Vec::new());
        for _ in 0..n {
            for j in 0..dims as u32 {
                if rng.unit() < 0.2 {
                    columns.push(j);
                    values.push((1.0 + 4.0 * rng.unit()).round());
                }
            }
            starts.push(values.len());
        }
        let data = Dataset::sparse(&starts, &columns, &values, dims).unwrap();
        let base = &bases(&data, &data, None, &mut rng).unwrap()[0];
        let first = Transform::Diagonal { shift: vec![], factor: inverse_document_frequency(&data) };
        let exact = widened(&first.then(Transform::UnitRows).apply(&data).unwrap());
        for i in 0..n {
            for j in 0..n {
                assert!((dot(exact.row(i), exact.row(j)) - dot(base.x.row(i), base.x.row(j))).abs() < 1e-9);
            }
        }
    }
}
