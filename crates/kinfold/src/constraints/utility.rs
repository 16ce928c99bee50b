//! How useful a constraint set is (Davidson, Wagstaff & Basu 2006). Informativeness: the share of constraints that a
//! clustering found without them breaks. Coherence: the share of (must-link, cannot-link) pairs whose segments do not
//! overlap when projected on each other, COH = #{over_c(m) ≤ τ, over_m(c) ≤ τ} / (|ML|·|CL|), τ = 10⁻¹² · diagonal of the
//! data's bounding box. O(constraints) and O(|ML|·|CL|·dims); above a limit the pairs are sampled. The projected overlap is
//! written in closed form; the paper states it by cases, so digits need not be identical.

use super::{Chunklets, ConstraintSet, Kind, Pair};
use crate::data::{Dataset, Float, Rows};
use crate::rng::Rng;

/// Relations of one set or labelling beyond this many rows are taken from a random sample of its rows.
const MOST_GROUP_ROWS: usize = 1_000;

/// How much a set says that clustering without it does not find.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Informativeness {
    /// Mean share of broken relations over the partitions.
    pub mean: f64,
    /// Standard deviation over the partitions (n − 1; 0 for one).
    pub sd: f64,
    /// Mean share of broken weight; `None` when some constraint is hard.
    pub weighted: Option<f64>,
}

/// Share of relations that partitions made without them break; `None` without constraints or partitions.
pub fn informativeness<L: AsRef<[u32]>>(set: &ConstraintSet, partitions: &[L]) -> Option<Informativeness> {
    let mut shares = Vec::with_capacity(partitions.len());
    let mut weighted = 0.0;
    for labels in partitions {
        let v = set.violations(labels.as_ref(), 0);
        shares.push(1.0 - v.satisfaction()?);
        weighted += v.cost / v.weight;
    }
    let all_soft = set.pairs().iter().all(|p| p.weight.is_finite())
        && set.sets().iter().all(|s| s.weight.is_finite())
        && set.labels().iter().all(|l| l.weight.is_finite());
    if shares.is_empty() {
        return None;
    }
    let count = shares.len() as f64;
    let mean = shares.iter().sum::<f64>() / count;
    let squares: f64 = shares.iter().map(|s| (s - mean).powi(2)).sum();
    let sd = if shares.len() > 1 { (squares / (count - 1.0)).sqrt() } else { 0.0 };
    Some(Informativeness { mean, sd, weighted: all_soft.then_some(weighted / count) })
}

/// Whether must-links and cannot-links pull in compatible directions.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Coherence {
    /// Share of (must-link, cannot-link) pairs without overlap.
    pub share: f64,
    /// Mean of over_c(m) / length of c.
    pub mean_overlap: f64,
    /// Pairs looked at.
    pub pairs: u64,
    /// √(p(1−p)/pairs) when the pairs are a sample, 0 when they are all.
    pub standard_error: f64,
}

/// Coherence in the data's own coordinates (transform first for another metric); `None` without must-links or without
/// cannot-links. More than `most_pairs` pairs are sampled with `rng`.
pub fn coherence<F: Float>(
    set: &ConstraintSet,
    data: &Dataset<F>,
    most_pairs: u64,
    rng: &mut Rng,
) -> Option<Coherence> {
    let (relations, thinned) = sampled_relations(set, rng);
    let (must, cannot): (Vec<Pair>, Vec<Pair>) = relations.into_iter().partition(|p| p.kind == Kind::MustLink);
    if must.is_empty() || cannot.is_empty() {
        return None;
    }
    let tolerance = 1e-12 * diagonal(data);
    let dims = data.dims();
    let mut m = Segment::new(dims);
    let mut c = Segment::new(dims);
    let (mut coherent, mut overlap) = (0u64, 0.0);
    let mut look = |m: &Segment, c: &Segment| {
        let on_c = projected_overlap(&m.from, &m.to, &c.from, &c.to);
        let on_m = projected_overlap(&c.from, &c.to, &m.from, &m.to);
        coherent += u64::from(on_c <= tolerance && on_m <= tolerance);
        let length = distance(&c.from, &c.to);
        overlap += if length > 0.0 { on_c / length } else { 0.0 };
    };
    let total = must.len() as u64 * cannot.len() as u64;
    let all = total <= most_pairs;
    let pairs = if all { total } else { most_pairs.max(1) };
    if all {
        for x in &must {
            m.set(data, x);
            for y in &cannot {
                c.set(data, y);
                look(&m, &c);
            }
        }
    } else {
        for _ in 0..pairs {
            m.set(data, &must[rng.below(must.len())]);
            c.set(data, &cannot[rng.below(cannot.len())]);
            look(&m, &c);
        }
    }
    let share = coherent as f64 / pairs as f64;
    let standard_error = if all && !thinned { 0.0 } else { (share * (1.0 - share) / pairs as f64).sqrt() };
    Some(Coherence { share, mean_overlap: overlap / pairs as f64, pairs, standard_error })
}

/// All relations as pairs of rows, groups thinned to a random sample when they are large.
fn sampled_relations(set: &ConstraintSet, rng: &mut Rng) -> (Vec<Pair>, bool) {
    let large = |len: usize| len > MOST_GROUP_ROWS;
    let thin = set.sets().iter().any(|s| large(s.members.len())) || set.labels().iter().any(|l| large(l.rows.len()));
    if !thin {
        return (set.expanded().collect(), false);
    }
    let mut keep = |len: usize| -> rustc_hash::FxHashSet<u32> {
        let count = if large(len) { MOST_GROUP_ROWS } else { len };
        rng.sample(len, count).into_iter().map(|e| e as u32).collect()
    };
    let sets: Vec<_> = set.sets().iter().map(|s| keep(s.members.len())).collect();
    let labels: Vec<_> = set.labels().iter().map(|l| keep(l.rows.len())).collect();
    let thinned = set.filtered(|id, entry| match id {
        super::ConstraintId::Pair(_) => true,
        super::ConstraintId::Set(i) => sets[i as usize].contains(&entry),
        super::ConstraintId::Labels(i) => labels[i as usize].contains(&entry),
    });
    (thinned.expanded().collect(), true)
}

/// The two ends of a constraint.
struct Segment {
    from: Vec<f64>,
    to: Vec<f64>,
}

impl Segment {
    fn new(dims: usize) -> Segment {
        Segment { from: vec![0.0; dims], to: vec![0.0; dims] }
    }
    fn set<F: Float>(&mut self, data: &Dataset<F>, pair: &Pair) {
        for (row, out) in [(pair.a, &mut self.from), (pair.b, &mut self.to)] {
            match data.rows() {
                Rows::Dense(d) => out.iter_mut().zip(d.row(row as usize)).for_each(|(o, v)| *o = v.to_f64()),
                Rows::Sparse(s) => {
                    out.fill(0.0);
                    let (columns, values) = s.row(row as usize);
                    columns.iter().zip(values).for_each(|(&c, v)| out[c as usize] = v.to_f64());
                }
            }
        }
    }
}

fn distance(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(x, y)| (x - y) * (x - y)).sum::<f64>().sqrt()
}

/// Length of the segment c covered by the orthogonal projection of m; 0 when c is a point.
fn projected_overlap(m1: &[f64], m2: &[f64], c1: &[f64], c2: &[f64]) -> f64 {
    let length = distance(c1, c2);
    if length == 0.0 {
        return 0.0;
    }
    let along = |p: &[f64]| {
        let dot: f64 = p.iter().zip(c1).zip(c2).map(|((p, a), b)| (p - a) * (b - a)).sum();
        dot / length
    };
    let (t1, t2) = (along(m1), along(m2));
    (t1.max(t2).min(length) - t1.min(t2).max(0.0)).max(0.0)
}

/// Diagonal of the bounding box, which bounds the diameter.
fn diagonal<F: Float>(data: &Dataset<F>) -> f64 {
    let dims = data.dims();
    let (mut low, mut high) = (vec![f64::INFINITY; dims], vec![f64::NEG_INFINITY; dims]);
    match data.rows() {
        Rows::Dense(d) => {
            for row in d.values().chunks_exact(dims) {
                for (j, v) in row.iter().enumerate() {
                    low[j] = low[j].min(v.to_f64());
                    high[j] = high[j].max(v.to_f64());
                }
            }
        }
        Rows::Sparse(s) => {
            (low, high) = (vec![0.0; dims], vec![0.0; dims]);
            for i in 0..data.n() {
                let (columns, values) = s.row(i);
                for (&j, v) in columns.iter().zip(values) {
                    low[j as usize] = low[j as usize].min(v.to_f64());
                    high[j as usize] = high[j as usize].max(v.to_f64());
                }
            }
        }
    }
    distance(&low, &high)
}

/// Cheap numbers about a constraint set.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Companions {
    /// Share of relations that the others entail.
    pub redundancy: Option<f64>,
    /// Share of rows that some constraint touches.
    pub coverage: f64,
    /// Chunklets of at least two rows.
    pub chunklets: usize,
    /// Rows in the largest chunklet.
    pub largest: usize,
    /// Share of must-links among the relations.
    pub must_link_share: Option<f64>,
    /// Relations that agree with the truth, where it is known.
    pub accuracy: Option<f64>,
}

/// Coverage, redundancy, chunklet sizes, share of must-links, agreement with the truth. `chunklets` is the set closed.
pub fn companions(set: &ConstraintSet, chunklets: &Chunklets, truth: Option<&[u32]>) -> Companions {
    let mut touched = vec![false; set.n()];
    for p in set.pairs().iter().filter(|p| p.weight > 0.0 && p.a != p.b) {
        touched[p.a as usize] = true;
        touched[p.b as usize] = true;
    }
    for s in set.sets().iter().filter(|s| s.weight > 0.0 && s.members.len() > 1) {
        s.members.iter().for_each(|&row| touched[row as usize] = true);
    }
    for l in set.labels().iter().filter(|l| l.weight > 0.0 && l.rows.len() > 1) {
        l.rows.iter().for_each(|&(row, _)| touched[row as usize] = true);
    }
    let sizes = || (0..chunklets.len() as u32).map(|c| chunklets.members(c).len());
    let redundancy = set.redundancy(chunklets);
    let total = redundancy.must_link_pairs + redundancy.cannot_link_pairs;
    Companions {
        redundancy: redundancy.ratio(),
        coverage: touched.iter().filter(|&&t| t).count() as f64 / set.n().max(1) as f64,
        chunklets: sizes().filter(|&m| m > 1).count(),
        largest: sizes().max().unwrap_or(0),
        must_link_share: (total > 0).then(|| redundancy.must_link_pairs as f64 / total as f64),
        accuracy: truth.and_then(|t| set.violations(t, 0).satisfaction()),
    }
}

#[cfg(test)]
mod tests {
    use super::super::Origin;
    use super::*;
    use Kind::{CannotLink, MustLink};

    fn pairs(n: usize, given: &[(Kind, usize, usize)]) -> ConstraintSet {
        let mut c = ConstraintSet::new(n);
        for &(kind, a, b) in given {
            c.add_weighted_pair(kind, a, b, 1.0, Origin::default()).unwrap();
        }
        c
    }

    #[test]
    fn informativeness_is_the_share_that_is_broken() {
        // spec §12.6
        let c = pairs(6, &[(MustLink, 0, 1), (MustLink, 2, 3), (CannotLink, 0, 4), (CannotLink, 4, 5)]);
        let i = informativeness(&c, &[[0u32, 0, 0, 1, 1, 1]]).unwrap();
        assert_eq!((i.mean, i.sd, i.weighted), (0.5, 0.0, Some(0.5)));
        let two = informativeness(&c, &[[0u32, 0, 0, 1, 1, 1], [0, 0, 1, 1, 1, 2]]).unwrap();
        assert_eq!(two.mean, 0.25);
        assert!((two.sd - 0.125f64.sqrt()).abs() < 1e-12);
        assert_eq!(informativeness(&ConstraintSet::new(3), &[[0u32, 0, 0]]), None);
        assert_eq!(informativeness(&c, &[] as &[[u32; 6]]), None);
    }

    fn segments(points: &[f64], given: &[(Kind, usize, usize)]) -> Option<Coherence> {
        let data = Dataset::dense(points, 2).unwrap();
        coherence(&pairs(points.len() / 2, given), &data, 10_000_000, &mut Rng::stream(0, "coherence", 0))
    }

    #[test]
    fn coherence_matches_the_worked_examples() {
        // spec §12.7
        let points = [0.0, 0.0, 2.0, 0.0, 0.0, 2.0, 1.0, 1.0, 3.0, 1.0, 5.0, 5.0, 7.0, 5.0];
        let given = [(MustLink, 0, 1), (MustLink, 0, 2), (CannotLink, 3, 4), (CannotLink, 5, 6)];
        let c = segments(&points, &given).unwrap();
        assert_eq!((c.share, c.pairs, c.standard_error), (0.75, 4, 0.0));
        assert!((c.mean_overlap - 0.125).abs() < 1e-12);
        let over = |m: [[f64; 2]; 2], c: [[f64; 2]; 2]| {
            (projected_overlap(&m[0], &m[1], &c[0], &c[1]), projected_overlap(&c[0], &c[1], &m[0], &m[1]))
        };
        let m = [[0.0, 0.0], [2.0, 0.0]];
        assert_eq!(over(m, [[1.0, 1.0], [3.0, 1.0]]), (1.0, 1.0));
        let slanted = over(m, [[1.0, 0.0], [2.0, 1.0]]);
        assert!((slanted.0 - std::f64::consts::FRAC_1_SQRT_2).abs() < 1e-12 && (slanted.1 - 1.0).abs() < 1e-12);
        assert_eq!(over(m, [[1.0, -1.0], [1.0, 1.0]]), (0.0, 0.0));
        assert_eq!(over(m, [[2.0, 0.0], [4.0, 0.0]]), (0.0, 0.0));
        assert_eq!(over(m, [[1.0, 0.0], [1.0, 0.0]]).0, 0.0);
        assert_eq!(segments(&points, &given[..2]), None);
        assert_eq!(segments(&points, &given[2..]), None);
    }

    #[test]
    fn sparse_rows_and_samples_agree_with_the_full_count() {
        let mut rng = Rng::stream(1, "coherence", 0);
        let n = 40;
        let values: Vec<f64> = (0..2 * n).map(|_| rng.unit() + 0.1).collect();
        let truth: Vec<u32> = (0..n as u32).map(|i| i % 3).collect();
        let c = super::super::generate::percent(&truth, 0.3, &mut rng).unwrap().constraints;
        let dense = Dataset::dense(&values, 2).unwrap();
        let all = coherence(&c, &dense, u64::MAX, &mut rng).unwrap();
        let starts: Vec<usize> = (0..=n).map(|i| 2 * i).collect();
        let columns: Vec<u32> = (0..2 * n as u32).map(|i| i % 2).collect();
        let sparse = Dataset::sparse(&starts, &columns, &values, 2).unwrap();
        assert_eq!(coherence(&c, &sparse, u64::MAX, &mut rng).unwrap(), all);
        let some = coherence(&c, &dense, 4_000, &mut rng).unwrap();
        assert_eq!(some.pairs, 4_000);
        assert!((some.share - all.share).abs() < 5.0 * some.standard_error);
    }

    #[test]
    fn companions_count_what_they_say() {
        let c = pairs(6, &[(MustLink, 0, 1), (MustLink, 1, 2), (MustLink, 0, 2), (CannotLink, 2, 3)]);
        let q = c.close().unwrap();
        let n = companions(&c, &q, Some(&[0, 0, 0, 0, 1, 1]));
        assert_eq!((n.chunklets, n.largest), (1, 3));
        assert!((n.coverage - 4.0 / 6.0).abs() < 1e-12);
        assert_eq!((n.redundancy, n.must_link_share, n.accuracy), (Some(0.25), Some(0.75), Some(0.75)));
    }
}
