//! Distance metric learning with side information (Xing, Ng, Jordan, Russell 2003): max Σ over cannot-links √(vᵀMv) with
//! Σ over must-links vᵀMv ≤ 1, M ⪰ 0: cannot-linked rows far apart on average, must-linked ones near.
//! Departs from the paper: with W the scatter of must-links and N = W^½·M·W^½ the bound is tr N ≤ 1, so that one
//! eigendecomposition projects exactly where the paper alternates between two sets; projected ascent with a step that grows
//! and halves. The diagonal form is the same with columns in place of directions, scaled to the paper's optimum
//! Σ_must vᵀMv = ½. Cost per step O(cannot-links·dims² + dims³); diagonal O(cannot-links·dims).

use super::{Evidence, Info, Learned, MetricLearner, differences};
use crate::blocks::linalg::{gram_of_columns, project, symmetric_eigen};
use crate::blocks::metric::{add_to_diagonal, map_of, trace, whitening};
use crate::constraints::Kind;
use crate::context::RunContext;
use crate::data::{Matrix, Transform};
use crate::error::Result;

crate::choice! {
    /// What the metric can do.
    pub enum Form {
        /// Weigh columns.
        Diagonal = "diagonal",
        /// Weigh and turn them.
        Full = "full",
    }
}

crate::params! {
    /// Parameters of `mmc`.
    pub struct MmcParams {
        /// What the metric can do.
        form: Form = Form::Full;
        /// Steps at most.
        max_iter: usize = 500, 1 => 1_000_000;
        /// Stop when a step gains less than this share.
        tolerance: f64 = 1e-7, 0 => 1;
    }
}

/// See the module.
pub struct Mmc(MmcParams);

/// The point of {x ≥ 0, Σx ≤ 1} nearest to v.
fn onto_simplex(v: &mut [f64]) {
    v.iter_mut().for_each(|x| *x = x.max(0.0));
    if v.iter().sum::<f64>() <= 1.0 {
        return;
    }
    let mut sorted = v.to_vec();
    sorted.sort_by(|a, b| b.total_cmp(a));
    let (mut sum, mut shift) = (0.0, 0.0);
    for (i, x) in sorted.iter().enumerate() {
        sum += x;
        let candidate = (sum - 1.0) / (i + 1) as f64;
        if *x > candidate {
            shift = candidate;
        }
    }
    v.iter_mut().for_each(|x| *x = (*x - shift).max(0.0));
}

/// Projected ascent from `start`, and its steps: `value` gives f and its gradient, `back` projects.
fn ascend(
    ctx: &RunContext,
    params: &MmcParams,
    start: Vec<f64>,
    value: impl Fn(&[f64]) -> (f64, Vec<f64>),
    back: impl Fn(&mut Vec<f64>) -> Result<()>,
) -> Result<(Vec<f64>, usize)> {
    let mut at = start;
    let (mut best, mut gradient) = value(&at);
    let size = |v: &[f64]| v.iter().map(|x| x * x).sum::<f64>().sqrt();
    let mut step = 0.1 * size(&at) / size(&gradient).max(1e-300);
    let (mut idle, mut steps) = (0, 0);
    for _ in 0..params.max_iter {
        steps += 1;
        let mut next: Vec<f64> = at.iter().zip(&gradient).map(|(x, g)| x + step * g).collect();
        back(&mut next)?;
        let (found, slope) = value(&next);
        if found > best {
            idle = if found - best <= params.tolerance * best { idle + 1 } else { 0 };
            (at, best, gradient) = (next, found, slope);
            step *= 1.5;
        } else {
            idle += 1;
            step /= 4.0;
        }
        if idle >= 8 || ctx.checkpoint().is_err() {
            break;
        }
    }
    Ok((at, steps))
}

impl MetricLearner for Mmc {
    type Params = MmcParams;
    const INFO: Info = Info {
        name: "mmc",
        summary: "cannot-linked rows far apart, must-linked ones within a bound",
        paper: "E. P. Xing, A. Y. Ng, M. I. Jordan, S. Russell, Distance metric learning with application to clustering with side-information, NIPS 2003",
        minimises: "−Σ_cannot-links √(vᵀMv), with Σ_must-links vᵀMv ≤ 1",
        constraints: "must-links and cannot-links as given, pair by pair",
        cost: "O(cannot-links·dims² + dims³) per step",
        measured: "No paper here prints it; in the tests it reaches the bound in one dimension and no random metric beats it in three.",
    };

    fn new(params: MmcParams) -> Self {
        Mmc(params)
    }

    fn learn(&self, ctx: &RunContext, evidence: &Evidence<'_>) -> Result<Learned> {
        let near = differences(evidence, Kind::MustLink);
        let far = differences(evidence, Kind::CannotLink);
        let mut w = gram_of_columns(near.values(), evidence.x.cols());
        if far.rows() == 0 || trace(&gram_of_columns(far.values(), far.cols())) == 0.0 {
            return Ok(Learned::nothing("mmc", "cannot-links between rows that differ"));
        }
        let mut notes = Vec::new();
        let spread = if trace(&w) > 0.0 { trace(&w) } else { 1.0 };
        let dims = w.rows();
        let (values, _) = symmetric_eigen(&w)?;
        if values[dims - 1] <= 1e-9 * values[0] || values[0] <= 0.0 {
            add_to_diagonal(&mut w, 1e-3 * spread / dims as f64);
            notes.push("mmc: must-links do not reach every direction; a little was added to all".to_owned());
        }
        let (transform, iterations) = match self.0.form {
            Form::Diagonal => self.diagonal(ctx, &w, &far)?,
            Form::Full => self.full(ctx, &w, &far)?,
        };
        Ok(Learned { transform, notes, iterations })
    }
}

impl Mmc {
    fn diagonal(&self, ctx: &RunContext, w: &Matrix, far: &Matrix) -> Result<(Transform, usize)> {
        let dims = w.rows();
        let s: Vec<f64> = (0..dims).map(|f| w.row(f)[f]).collect();
        // n_f = s_f·m_f, so that the bound is Σ n ≤ 1.
        let squares: Vec<f64> = far.iter().flat_map(|v| v.iter().zip(&s).map(|(v, s)| v * v / s)).collect();
        let value = |n: &[f64]| {
            let (mut f, mut gradient) = (0.0, vec![0.0; dims]);
            for q in squares.chunks_exact(dims) {
                let d = q.iter().zip(n).map(|(q, n)| q * n).sum::<f64>().sqrt();
                f += d;
                gradient.iter_mut().zip(q).for_each(|(g, q)| *g += 0.5 * q / d.max(1e-9));
            }
            (f, gradient)
        };
        let (n, steps) = ascend(ctx, &self.0, vec![1.0 / dims as f64; dims], value, |n| {
            onto_simplex(n);
            Ok(())
        })?;
        let total: f64 = n.iter().sum();
        let factor = n.iter().zip(&s).map(|(n, s)| (0.5 * n / total / s).sqrt()).collect();
        Ok((Transform::Diagonal { shift: Vec::new(), factor }, steps))
    }

    fn full(&self, ctx: &RunContext, w: &Matrix, far: &Matrix) -> Result<(Transform, usize)> {
        let dims = w.rows();
        let root = whitening(w, 0.0)?;
        let v = project(far, &root);
        let value = |n: &[f64]| {
            let n = Matrix::from_vec(dims, n.to_vec());
            let image = project(&v, &n);
            let mut f = 0.0;
            let mut scaled = Vec::with_capacity(v.values().len());
            for (v, image) in v.iter().zip(image.iter()) {
                let d = v.iter().zip(image).map(|(a, b)| a * b).sum::<f64>().max(0.0).sqrt();
                f += d;
                let scale = (0.5 / d.max(1e-9)).sqrt();
                scaled.extend(v.iter().map(|v| v * scale));
            }
            (f, gram_of_columns(&scaled, dims).values().to_vec())
        };
        let back = |n: &mut Vec<f64>| {
            let (mut e, u) = symmetric_eigen(&Matrix::from_vec(dims, std::mem::take(n)))?;
            onto_simplex(&mut e);
            let rows = u.iter().zip(&e).flat_map(|(row, e)| row.iter().map(move |v| v * e.sqrt()));
            *n = gram_of_columns(&rows.collect::<Vec<f64>>(), dims).values().to_vec();
            Ok(())
        };
        let start = Matrix::identity(dims).values().iter().map(|v| v / dims as f64).collect();
        let (n, steps) = ascend(ctx, &self.0, start, value, back)?;
        let total = trace(&Matrix::from_vec(dims, n.clone()));
        let scaled = Matrix::from_vec(dims, n.iter().map(|v| v / total).collect());
        let map = project(&map_of(&scaled)?, &root.transposed());
        Ok((Transform::Linear { shift: Vec::new(), matrix: map.transposed() }, steps))
    }
}
