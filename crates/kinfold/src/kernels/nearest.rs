//! The nearest centre of each row, its squared distance, on wish the second nearest distance and the sums of the rows of
//! each cluster, in one pass: no n×k matrix is written. Sixteen f32 or eight f64 rows are transposed into a buffer in the
//! first cache level (one row per lane, so the minimum needs no step across lanes) and meet the centres in groups.
//! Measured on Zen 3: two registers of rows × 4 centres; a third register of rows made the compiler spill (half the
//! speed); 6 centres pay from k = 48 on (93 % of the FMA peak at k = 1000, 384 dims); chunks of dims pay only when the
//! buffer outgrows the cache; 1 to 3 dims are compiled apart. Up to 8 dims squared differences (exact ties), above
//! ‖c‖²/2 − x·c around the mean centre: 10 to 15 % faster at 20 dims. Ties go to the lowest centre.
//! Sparse rows: centres transposed, k partial products per entry.

use super::doubt::Doubt;
use super::simd::Simd;
use super::sums::carry_with;
use super::{Sums, has_avx2, prefetch};
use crate::data::{Dataset, Dense, Float, Matrix, Rows};

/// Registers of rows in a tile.
const V: usize = 2;
/// Rows in a tile at most.
const MOST_ROWS: usize = 16;
/// Centres in a group, for few and for many.
const FEW: usize = 4;
const MANY: usize = 6;
/// From here on groups are large.
const MANY_FROM: usize = 48;
/// Up to here distances are sums of squared differences.
const DIRECT_DIMS: usize = 8;
/// Rows that are asked for before their turn when some are left out: the processor foresees only runs without gaps.
const AHEAD: usize = 48;
/// Dimensions that are worked off at a time.
const CHUNK: usize = 512;

/// Centres laid out for the kernel; made once per iteration.
pub struct Centres<F> {
    k: usize,
    dims: usize,
    /// Centres per group.
    width: usize,
    /// Squared differences, not the expanded form.
    direct: bool,
    /// Dense: values[group][dim][centre], negative in the expanded form; sparse: the transpose, dims × k.
    layout: Vec<F>,
    /// Dense: ‖c‖²/2, infinity for centres that fill up the last group; sparse: ‖c‖².
    norms: Vec<F>,
    /// What is subtracted from rows and centres in the expanded form, against cancellation.
    shift: Vec<F>,
    /// What multiplies rows before that, when they are seen on another scale.
    factor: Vec<F>,
    /// The longest centre in the expanded form.
    reach: f64,
    /// The most by which a centre moved when it was rounded to F.
    rounding: f64,
    fast: bool,
}

/// Where the rows are.
#[derive(Clone, Copy)]
pub enum Source<'a, F> {
    /// One after the other.
    Block(&'a [F]),
    /// Some rows of all; results in the order of the list.
    Picked(&'a [F], &'a [u32]),
    /// Some rows of all; labels are those of the rows from this one on, results those of the list.
    Kept(&'a [F], &'a [u32], usize),
}

/// What to write.
pub struct Want<'a, F> {
    /// Nearest centre of each row, also of those between kept ones, which are not written.
    labels: &'a mut [u32],
    /// Squared distance to it, when not empty.
    distances: &'a mut [F],
    /// Squared distance to the second nearest, when not empty; infinity with one centre.
    seconds: &'a mut [F],
    /// Squared distances to all centres, when not empty: those of all rows to the first, then to the next, …
    all: &'a mut [F],
    /// Sums of the rows by nearest centre, with the number of rows whose label was another before.
    sums: Option<(&'a mut Sums, &'a mut usize)>,
    /// Which rows those are.
    adds: Adds,
}

/// What the sums of a pass are made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Adds {
    /// Every row.
    All,
    /// Only rows that change their label: out of the old cluster, into the new one. Labels must be those of the last pass.
    Moves,
}

/// One call of the kernel.
pub struct Job<'a, F> {
    centres: &'a Centres<F>,
    source: Source<'a, F>,
    want: Want<'a, F>,
}

/// The kernel for a type of number.
pub trait Kernel: Sized {
    #[doc(hidden)]
    fn drive(job: Job<'_, Self>);
    #[doc(hidden)]
    fn measure(job: Measure<'_, Self>);
}

/// Squared distances of rows to points, one each.
pub struct Measure<'a, F> {
    /// Row-major rows, and which.
    pub(crate) values: &'a [F],
    pub(crate) rows: &'a [u32],
    /// Row-major points, and which for each row.
    pub(crate) points: &'a [F],
    pub(crate) labels: &'a [u32],
    pub(crate) dims: usize,
    pub(crate) out: &'a mut [F],
}

impl<F: Float> Centres<F> {
    /// Lays out `centres` for the rows of `data`.
    pub(crate) fn new(centres: &Matrix, data: &Dataset<'_, F>) -> Centres<F> {
        Centres::with(centres, data, centres.cols() <= DIRECT_DIMS, has_avx2())
    }

    /// For distances that must be exactly 0 on the centre itself, in any number of dims.
    pub(crate) fn exact(centres: &Matrix, data: &Dataset<'_, F>) -> Centres<F> {
        Centres::with(centres, data, true, has_avx2())
    }

    fn with(centres: &Matrix, data: &Dataset<'_, F>, direct: bool, fast: bool) -> Centres<F> {
        let (sparse, scale) = (data.is_sparse(), data.stored().1);
        let (k, dims) = (centres.rows(), centres.cols());
        if sparse {
            let layout = centres.transposed().values().iter().map(|&v| F::from_f64(v)).collect();
            let norms = centres.iter().map(|c| F::from_f64(c.iter().map(|v| v * v).sum())).collect();
            return Centres {
                k,
                dims,
                width: 1,
                direct,
                layout,
                norms,
                shift: Vec::new(),
                factor: Vec::new(),
                reach: 0.0,
                rounding: 0.0,
                fast,
            };
        }
        let width = if k >= MANY_FROM { MANY } else { FEW };
        let mut shift = vec![F::default(); if direct { 0 } else { dims }];
        for (j, s) in shift.iter_mut().enumerate() {
            *s = F::from_f64(centres.iter().map(|c| c[j]).sum::<f64>() / k as f64);
        }
        let padded = k.next_multiple_of(width);
        let mut norms = vec![F::INFINITY; padded];
        let mut layout = vec![F::default(); padded * dims];
        let (mut reach, mut rounding) = (0.0f64, 0.0f64);
        for i in 0..padded {
            let group = &mut layout[i / width * width * dims..][..width * dims];
            let places = group.iter_mut().skip(i % width).step_by(width);
            if i >= k {
                // Infinitely far: a coordinate is infinite in the direct form, the norm in the expanded one.
                places.take(1).for_each(|v| *v = if direct { F::INFINITY } else { F::default() });
                continue;
            }
            let c = centres.row(i);
            let (mut norm, mut off) = (0.0, 0.0);
            for (j, place) in places.enumerate() {
                let exact = if direct { c[j] } else { shift[j].to_f64() - c[j] };
                *place = F::from_f64(exact);
                let value = place.to_f64();
                norm += value * value;
                off += (exact - value) * (exact - value);
            }
            norms[i] = F::from_f64(norm / 2.0);
            reach = reach.max(norm.sqrt());
            rounding = rounding.max(off.sqrt());
        }
        let mut factor = Vec::new();
        if let Some(scale) = scale {
            // x · factor − (shift · factor + mean centre), and by how much the rounding of the latter displaces all rows.
            factor = scale.factor.iter().map(|&f| F::from_f64(f)).collect();
            shift.resize(dims, F::default());
            let mut off = 0.0;
            for (j, s) in shift.iter_mut().enumerate() {
                let exact = s.to_f64() + scale.shift_of(j) * factor[j].to_f64();
                *s = F::from_f64(exact);
                off += (exact - s.to_f64()).powi(2);
            }
            rounding += off.sqrt();
        }
        Centres { k, dims, width, direct, layout, norms, shift, factor, reach, rounding, fast }
    }

    fn run(&self, source: Source<'_, F>, want: Want<'_, F>) {
        F::drive(Job { centres: self, source, want });
    }

    /// Writes the nearest centre and the squared distance of rows `first..first + labels.len()`.
    pub(crate) fn nearest(&self, data: &Dataset<'_, F>, first: usize, labels: &mut [u32], distances: &mut [F]) {
        debug_assert_eq!(self.dims, data.dims());
        match data.stored().0 {
            Rows::Dense(d) => {
                let block = &d.values()[first * self.dims..(first + labels.len()) * self.dims];
                self.run(
                    Source::Block(block),
                    Want { labels, distances, seconds: &mut [], all: &mut [], sums: None, adds: Adds::All },
                );
            }
            Rows::Sparse(_) => self.sparse(data, first.., labels, distances),
        }
    }

    /// Gives rows `first..first + labels.len()`, or those of `rows` (ascending, all within), their nearest centre and adds
    /// them to its sums. Returns how many got another label than they had.
    pub(crate) fn assign(
        &self,
        data: &Dataset<'_, F>,
        first: usize,
        labels: &mut [u32],
        rows: Option<&[u32]>,
        (adds, sums): (Adds, &mut Sums),
    ) -> usize {
        let mut changed = 0;
        if let ((Rows::Dense(d), scale), None) = (data.stored(), data.weights()) {
            let source = match rows {
                None => Source::Block(&d.values()[first * self.dims..(first + labels.len()) * self.dims]),
                Some(rows) => Source::Kept(d.values(), rows, first),
            };
            let mut own = Sums::zeros(sums.weights.len(), self.dims);
            let added = Some((&mut own, &mut changed));
            self.run(source, Want { labels, distances: &mut [], seconds: &mut [], all: &mut [], sums: added, adds });
            if let Some(scale) = scale {
                own.rescale(scale);
            }
            sums.add(&own);
            return changed;
        }
        const BLOCK: usize = 256;
        let (mut near, mut distances) = ([0u32; BLOCK], [F::default(); BLOCK]);
        let all: Vec<u32>;
        let rows = match rows {
            Some(rows) => rows,
            None => {
                all = (first as u32..).take(labels.len()).collect();
                &all
            }
        };
        for rows in rows.chunks(BLOCK) {
            let near = &mut near[..rows.len()];
            match data.stored().0 {
                Rows::Dense(d) => {
                    let want =
                        Want { labels: near, distances: &mut [], seconds: &mut [], all: &mut [], sums: None, adds };
                    self.run(Source::Picked(d.values(), rows), want);
                }
                Rows::Sparse(_) => self.sparse(data, rows.iter().map(|&r| r as usize), near, &mut distances),
            }
            for (&row, &new) in rows.iter().zip(&*near) {
                let row = row as usize;
                let old = std::mem::replace(&mut labels[row - first], new);
                changed += usize::from(old != new);
                let weight = data.weight(row);
                match adds {
                    Adds::Moves if old == new => {}
                    Adds::Moves => sums.carry(data, row, weight, (old as usize, new as usize)),
                    Adds::All => {
                        sums.weights[new as usize] += weight;
                        data.add_row(row, weight, sums.values.row_mut(new as usize));
                    }
                }
            }
        }
        changed
    }

    /// The nearest centre of dense rows, the squared distances to it and to the second nearest.
    pub(crate) fn two_nearest(
        &self,
        data: Dense<'_, F>,
        rows: &[u32],
        labels: &mut [u32],
        distances: &mut [F],
        seconds: &mut [F],
    ) {
        self.run(
            Source::Picked(data.values(), rows),
            Want { labels, distances, seconds, all: &mut [], sums: None, adds: Adds::All },
        );
    }

    /// The squared distances of some dense rows to every centre, in the exact form: k lists as long as `rows`, one after the other.
    pub(crate) fn distances(&self, data: Dense<'_, F>, rows: &[u32], all: &mut [F]) {
        let labels = &mut vec![0; rows.len()][..];
        let want = Want { labels, distances: &mut [], seconds: &mut [], all, sums: None, adds: Adds::All };
        self.run(Source::Picked(data.values(), rows), want);
    }

    /// How far distances can be trusted.
    pub(crate) fn doubt(&self) -> Doubt {
        let terms = 8.0 + self.dims.min(64) as f64;
        let unit = if F::NAME == "f32" { f64::from(f32::EPSILON) } else { f64::EPSILON };
        let (of_second, of_nearest, reach) = if self.direct { (1.0, 0.0, 0.0) } else { (0.0, 1.0, 2.0 * self.reach) };
        Doubt { factor: 4.0 * terms * unit, of_second, of_nearest, reach, rounding: 4.0 * self.rounding }
    }

    fn sparse(
        &self,
        data: &Dataset<'_, F>,
        rows: impl IntoIterator<Item = usize>,
        labels: &mut [u32],
        distances: &mut [F],
    ) {
        let (Rows::Sparse(s), _) = data.stored() else { unreachable!("called for sparse rows") };
        let mut scores = vec![0.0f64; self.k];
        for ((label, distance), row) in labels.iter_mut().zip(distances).zip(rows) {
            let (columns, values) = s.row(row);
            scores.iter_mut().zip(&self.norms).for_each(|(s, n)| *s = n.to_f64());
            let mut norm = 0.0;
            for (&c, v) in columns.iter().zip(values) {
                let v = v.to_f64();
                norm += v * v;
                let centre = &self.layout[c as usize * self.k..(c as usize + 1) * self.k];
                scores.iter_mut().zip(centre).for_each(|(s, c)| *s -= 2.0 * v * c.to_f64());
            }
            let (mut best, mut at) = (f64::INFINITY, 0);
            for (c, &s) in scores.iter().enumerate() {
                if s < best {
                    (best, at) = (s, c as u32);
                }
            }
            *label = at;
            *distance = F::from_f64((best + norm).max(0.0));
        }
    }
}

macro_rules! kernel {
    ($float:ty, $register:ident, $plain:ty) => {
        impl Kernel for $float {
            #[allow(unsafe_code)]
            fn drive(job: Job<'_, $float>) {
                #[cfg(target_arch = "x86_64")]
                if job.centres.fast {
                    #[target_feature(enable = "avx2,fma")]
                    unsafe fn fast(job: Job<'_, $float>) {
                        // SAFETY: as below.
                        unsafe { drive::<std::arch::x86_64::$register>(job) }
                    }
                    // SAFETY: `fast` is only set when the processor has AVX2 and FMA.
                    unsafe { fast(job) };
                    return;
                }
                // SAFETY: arrays need no instructions of their own.
                unsafe { drive::<$plain>(job) }
            }
            #[allow(unsafe_code)]
            fn measure(job: Measure<'_, $float>) {
                #[cfg(target_arch = "x86_64")]
                if has_avx2() {
                    #[target_feature(enable = "avx2,fma")]
                    unsafe fn fast(job: Measure<'_, $float>) {
                        // SAFETY: as below.
                        unsafe { measure::<std::arch::x86_64::$register>(job) }
                    }
                    // SAFETY: the processor has AVX2 and FMA.
                    unsafe { fast(job) };
                    return;
                }
                // SAFETY: arrays need no instructions of their own.
                unsafe { measure::<$plain>(job) }
            }
        }
    };
}

kernel!(f32, __m256, [f32; 8]);
kernel!(f64, __m256d, [f64; 4]);

#[inline(always)]
#[allow(unsafe_code)]
unsafe fn measure<S: Simd>(job: Measure<'_, S::F>) {
    let Measure { values, rows, points, labels, dims, out } = job;
    for ((&row, &label), out) in rows.iter().zip(labels).zip(out) {
        let row = &values[row as usize * dims..(row as usize + 1) * dims];
        let point = &points[label as usize * dims..(label as usize + 1) * dims];
        // SAFETY: both have `dims` values; the instructions are the caller's promise.
        *out = unsafe { S::distance2(row.as_ptr(), point.as_ptr(), dims) };
    }
}

/// What a tile keeps of its scores.
const NEAREST: u8 = 0;
const SECOND: u8 = 1;
const ALL: u8 = 2;
/// Dims that are not known when the code is compiled.
const ANY: usize = 0;

/// Picks the code for the form of the distance, the group size and the outputs.
#[inline(always)]
#[allow(unsafe_code)]
unsafe fn drive<S: Simd<F: Float>>(job: Job<'_, S::F>) {
    let direct = job.centres.direct;
    // SAFETY: passed on to the caller.
    unsafe {
        let mode = match (job.want.seconds.is_empty(), job.want.all.is_empty()) {
            (_, false) => ALL,
            (false, _) => SECOND,
            _ => NEAREST,
        };
        match (direct, job.centres.width == MANY, mode) {
            (true, false, NEAREST) => match job.centres.dims {
                1 => tiles::<S, true, FEW, NEAREST, 1>(job),
                2 => tiles::<S, true, FEW, NEAREST, 2>(job),
                3 => tiles::<S, true, FEW, NEAREST, 3>(job),
                _ => tiles::<S, true, FEW, NEAREST, ANY>(job),
            },
            (true, true, NEAREST) => tiles::<S, true, MANY, NEAREST, ANY>(job),
            (false, false, NEAREST) => tiles::<S, false, FEW, NEAREST, ANY>(job),
            (false, true, NEAREST) => tiles::<S, false, MANY, NEAREST, ANY>(job),
            (true, false, SECOND) => tiles::<S, true, FEW, SECOND, ANY>(job),
            (true, true, SECOND) => tiles::<S, true, MANY, SECOND, ANY>(job),
            (false, false, SECOND) => tiles::<S, false, FEW, SECOND, ANY>(job),
            (false, true, SECOND) => tiles::<S, false, MANY, SECOND, ANY>(job),
            (true, false, _) => tiles::<S, true, FEW, ALL, ANY>(job),
            (true, true, _) => tiles::<S, true, MANY, ALL, ANY>(job),
            (false, ..) => unreachable!("all distances are asked for in the direct form"),
        }
    }
}

/// All rows of a job, a tile at a time; the last tile repeats its last row.
#[inline(always)]
#[allow(unsafe_code)]
unsafe fn tiles<S: Simd<F: Float>, const DIRECT: bool, const C: usize, const MODE: u8, const D: usize>(
    job: Job<'_, S::F>,
) {
    let Job { centres, source, mut want } = job;
    let dims = if D == ANY { centres.dims } else { D };
    let (labelled, tile_rows) = (want.labels.len(), V * S::N);
    assert!(tile_rows <= MOST_ROWS && centres.width == C && centres.dims == dims);
    let (values, n) = match source {
        Source::Block(values) => {
            assert!(values.len() >= labelled * dims);
            (values, labelled)
        }
        Source::Picked(values, rows) => {
            assert!(rows.len() == labelled && rows.iter().all(|&r| (r as usize + 1) * dims <= values.len()));
            (values, labelled)
        }
        Source::Kept(values, rows, from) => {
            assert!((from + labelled) * dims <= values.len());
            assert!(rows.iter().all(|&r| (from..from + labelled).contains(&(r as usize))));
            (values, rows.len())
        }
    };
    let k = centres.k;
    if let Some((sums, _)) = &want.sums {
        assert!(sums.values.values().len() == k * dims && sums.weights.len() == k);
    }
    let mut buffer = vec![S::F::default(); tile_rows * dims];
    let stored = MODE == ALL || dims > CHUNK;
    assert!(MODE != ALL || want.all.len() == k * n);
    let mut partial = vec![S::F::default(); if stored { centres.norms.len() * tile_rows } else { 0 }];
    let mut found = [[S::F::default(); MOST_ROWS]; 3];
    let from = if let Source::Kept(_, _, from) = source { from } else { 0 };
    let mut first = 0;
    while first < n {
        let count = tile_rows.min(n - first);
        // Where the labels of the tile are.
        let places: [usize; MOST_ROWS] = match source {
            Source::Kept(_, rows, from) => match rows.get(first..first + MOST_ROWS) {
                Some(rows) => std::array::from_fn(|r| rows[r] as usize - from),
                None => std::array::from_fn(|r| rows[first + r.min(count - 1)] as usize - from),
            },
            _ => std::array::from_fn(|r| first + r),
        };
        // SAFETY: the asserts above.
        let rows: [*const S::F; MOST_ROWS] = unsafe {
            let base = values.as_ptr();
            match source {
                Source::Block(_) if count == tile_rows => {
                    std::array::from_fn(|r| base.wrapping_add((first + r) * dims))
                }
                Source::Block(_) => std::array::from_fn(|r| base.add((first + r.min(count - 1)) * dims)),
                Source::Picked(_, rows) => {
                    for &next in rows.iter().skip(first + tile_rows).take(tile_rows) {
                        prefetch(values.get_unchecked(next as usize * dims..(next as usize + 1) * dims));
                    }
                    std::array::from_fn(|r| base.add(rows[first + r.min(count - 1)] as usize * dims))
                }
                Source::Kept(_, all, _) => {
                    if let Some(next) = all.get(first + AHEAD..first + AHEAD + MOST_ROWS) {
                        for &next in next {
                            prefetch(values.get_unchecked(next as usize * dims..(next as usize + 1) * dims));
                        }
                    }
                    std::array::from_fn(|r| base.add(places[r] * dims).add(from * dims))
                }
            }
        };
        // SAFETY: the buffers are as long as the functions need them; the instructions are the caller's promise.
        unsafe {
            match centres.factor.is_empty() {
                true => pack::<S, DIRECT, false>(&rows[..tile_rows], centres, buffer.as_mut_ptr()),
                false => pack::<S, DIRECT, true>(&rows[..tile_rows], centres, buffer.as_mut_ptr()),
            }
            let tile = tile::<S, DIRECT, C, MODE, D>(centres, buffer.as_ptr(), partial.as_mut_ptr());
            tile.write::<DIRECT>(dims, buffer.as_ptr(), !want.distances.is_empty(), &mut found);
        }
        if MODE == ALL {
            for c in 0..k {
                want.all[c * n + first..][..count].copy_from_slice(&partial[c * tile_rows..][..count]);
            }
            first += tile_rows;
            continue;
        }
        let [tags, nearest, second] = &found;
        if let Some(distances) = want.distances.get_mut(first..first + count) {
            distances.copy_from_slice(&nearest[..count]);
        }
        if MODE == SECOND {
            want.seconds[first..first + count].copy_from_slice(&second[..count]);
        }
        let found = places[..count].iter().zip(tags).zip(&rows);
        let labels = want.labels.as_mut_ptr();
        if let (Some((sums, changed)), Adds::Moves) = (&mut want.sums, want.adds) {
            for ((&place, &tag), &row) in found {
                // SAFETY: places are those of labels, as asserted above.
                let label = unsafe { &mut *labels.add(place) };
                let new = S::number(tag);
                if *label == new {
                    continue;
                }
                let (from, to) = (std::mem::replace(label, new) as usize, new as usize);
                **changed += 1;
                sums.weights[from] -= 1.0;
                sums.weights[to] += 1.0;
                let [from, to] = sums.values.two_rows_mut(from, to);
                // SAFETY: rows have `dims` values.
                carry_with(unsafe { std::slice::from_raw_parts(row, dims) }, 1.0, from, to);
            }
        } else if let Some((sums, changed)) = &mut want.sums {
            // Pointers and counts as locals: through the references each row would wait for the one before.
            let (sum, weight) = (sums.values.values_mut().as_mut_ptr(), sums.weights.as_mut_ptr());
            let mut others = 0;
            for ((&place, &tag), &row) in found {
                let new = S::number(tag);
                let to = new as usize;
                debug_assert!(to < k);
                // SAFETY: places are those of labels; a tag is a number below k (padding is infinitely far and never
                // wins); the sums are k × dims.
                unsafe {
                    let label = &mut *labels.add(place);
                    others += usize::from(*label != new);
                    *label = new;
                    *weight.add(to) += 1.0;
                    S::add_to(row, sum.add(to * dims), dims);
                }
            }
            **changed += others;
        } else {
            // SAFETY: as above.
            found.for_each(|((&place, &tag), _)| unsafe { *labels.add(place) = S::number(tag) });
        }
        first += tile_rows;
    }
}

/// Transposes the rows of a tile: out[dim][row], on their scale, shifted in the expanded form.
#[inline(always)]
#[allow(unsafe_code)]
unsafe fn pack<S: Simd<F: Float>, const DIRECT: bool, const SCALED: bool>(
    rows: &[*const S::F],
    centres: &Centres<S::F>,
    out: *mut S::F,
) {
    let (stride, dims) = (V * S::N, centres.dims);
    // SAFETY: rows have `dims` values, `out` has dims × stride, `shift` and `factor` have `dims` where they are used.
    unsafe {
        let seen = |j: usize, x: S| {
            if SCALED {
                let shift = S::splat(S::F::default()).sub(S::splat(*centres.shift.get_unchecked(j)));
                x.fma(S::splat(*centres.factor.get_unchecked(j)), shift)
            } else if DIRECT {
                x
            } else {
                x.sub(S::splat(*centres.shift.get_unchecked(j)))
            }
        };
        for v in 0..V {
            let own = &rows[v * S::N..(v + 1) * S::N];
            let to = out.add(v * S::N);
            let mut j = 0;
            while j + S::COLUMNS <= dims {
                S::columns(own, j, |j, x| seen(j, x).store(to.add(j * stride)));
                j += S::COLUMNS;
            }
            while j < dims {
                for (i, row) in own.iter().enumerate() {
                    *to.add(j * stride + i) = *row.add(j);
                }
                if SCALED || !DIRECT {
                    seen(j, S::load(to.add(j * stride))).store(to.add(j * stride));
                }
                j += 1;
            }
        }
    }
}

/// The smallest scores of the rows of a tile, and whose they are.
struct Tile<S> {
    best: [S; V],
    at: [S; V],
    second: [S; V],
}

#[inline(always)]
#[allow(unsafe_code)]
unsafe fn tile<S: Simd<F: Float>, const DIRECT: bool, const C: usize, const MODE: u8, const D: usize>(
    centres: &Centres<S::F>,
    rows: *const S::F,
    partial: *mut S::F,
) -> Tile<S> {
    let (stride, dims) = (V * S::N, if D == ANY { centres.dims } else { D });
    // SAFETY: `rows` is dims × stride, the layout groups × dims × C, `partial` groups × C × stride if it is used.
    unsafe {
        let far = S::splat(S::F::INFINITY);
        let mut out = Tile { best: [far; V], at: [S::splat(S::tag(0)); V], second: [far; V] };
        let mut from = 0;
        while from < dims {
            let to = (from + CHUNK).min(dims);
            for g in 0..centres.norms.len() / C {
                let mut sum = [[S::splat(S::F::default()); C]; V];
                for c in 0..C {
                    if from > 0 {
                        (0..V).for_each(|v| sum[v][c] = S::load(partial.add((g * C + c) * stride + v * S::N)));
                    } else if !DIRECT {
                        let norm = S::splat(*centres.norms.as_ptr().add(g * C + c));
                        (0..V).for_each(|v| sum[v][c] = norm);
                    }
                }
                let mut x = rows.add(from * stride);
                let mut y = centres.layout.as_ptr().add(g * C * dims + from * C);
                for _ in from..to {
                    let xs: [S; V] = std::array::from_fn(|v| S::load(x.add(v * S::N)));
                    for c in 0..C {
                        let centre = S::splat(*y.add(c));
                        for v in 0..V {
                            sum[v][c] = if DIRECT {
                                let difference = xs[v].sub(centre);
                                difference.fma(difference, sum[v][c])
                            } else {
                                xs[v].fma(centre, sum[v][c])
                            };
                        }
                    }
                    x = x.add(stride);
                    y = y.add(C);
                }
                for c in 0..C {
                    let tag = S::splat(S::tag((g * C + c) as u32));
                    for v in 0..V {
                        let score = sum[v][c];
                        if to < dims || MODE == ALL {
                            score.store(partial.add((g * C + c) * stride + v * S::N));
                            continue;
                        }
                        if MODE == SECOND {
                            out.second[v] = score.max(out.best[v]).min(out.second[v]);
                        }
                        out.at[v] = score.lt_select(out.best[v], tag, out.at[v]);
                        out.best[v] = score.min(out.best[v]);
                    }
                }
            }
            from = to;
        }
        out
    }
}

/// ‖x‖² of the rows in one register of a tile.
#[inline(always)]
#[allow(unsafe_code)]
unsafe fn norm<S: Simd<F: Float>>(dims: usize, rows: *const S::F, v: usize) -> S {
    // SAFETY: `rows` is dims × (V·N).
    unsafe {
        let mut norm = S::splat(S::F::default());
        for j in 0..dims {
            let x = S::load(rows.add((j * V + v) * S::N));
            norm = x.fma(x, norm);
        }
        norm
    }
}

impl<S: Simd<F: Float>> Tile<S> {
    /// Writes tags, distances and second distances; the expanded form adds ‖x‖² to twice the score.
    #[inline(always)]
    #[allow(unsafe_code)]
    unsafe fn write<const DIRECT: bool>(
        mut self,
        dims: usize,
        rows: *const S::F,
        distances: bool,
        out: &mut [[S::F; MOST_ROWS]; 3],
    ) {
        // SAFETY: `rows` is dims × (V·N), and V·N ≤ MOST_ROWS.
        unsafe {
            for v in 0..V {
                if !DIRECT && distances {
                    let norm = norm::<S>(dims, rows, v);
                    let (two, zero) = (S::splat(S::F::from_f64(2.0)), S::splat(S::F::default()));
                    self.best[v] = self.best[v].fma(two, norm).max(zero);
                    self.second[v] = self.second[v].fma(two, norm).max(zero);
                }
                self.at[v].store(out[0].as_mut_ptr().add(v * S::N));
                self.best[v].store(out[1].as_mut_ptr().add(v * S::N));
                self.second[v].store(out[2].as_mut_ptr().add(v * S::N));
            }
        }
    }
}

#[cfg(test)]
#[path = "nearest_tests.rs"]
mod tests;
