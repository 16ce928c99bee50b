//! What was given: pairs, sets and partial labels, hard or weighted, each with where it came from. May contradict itself.

use std::sync::Arc;

use crate::error::{Error, Result};

/// Must-link or cannot-link.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// The rows belong together.
    MustLink,
    /// The rows do not belong together.
    CannotLink,
}

impl Kind {
    /// The other kind.
    pub fn flipped(self) -> Kind {
        match self {
            Kind::MustLink => Kind::CannotLink,
            Kind::CannotLink => Kind::MustLink,
        }
    }
    /// "same" or "different": what is said to people.
    pub fn answer(self) -> &'static str {
        match self {
            Kind::MustLink => "same",
            Kind::CannotLink => "different",
        }
    }
}

/// Where a constraint came from: a source of the set ([`ConstraintSet::add_source`]) and a line in it (0 = no line).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, PartialOrd, Ord)]
pub struct Origin {
    /// Index of the source.
    pub source: u16,
    /// Line in that source, from 1; 0 when it has no lines.
    pub line: u32,
}

/// One relation between two rows, `a <= b`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Pair {
    /// Smaller row.
    pub a: u32,
    /// Larger row.
    pub b: u32,
    /// Must-link or cannot-link.
    pub kind: Kind,
    /// What breaking it costs; infinite = hard; 0 = no information, ignored.
    pub weight: f64,
    /// Where it came from.
    pub origin: Origin,
}

/// A clique of one kind over `members` (distinct, in the order given).
#[derive(Debug, Clone, PartialEq)]
pub struct Set {
    /// Must-link or cannot-link.
    pub kind: Kind,
    /// The rows.
    pub members: Vec<u32>,
    /// What breaking one pair of it costs.
    pub weight: f64,
    /// Where it came from.
    pub origin: Origin,
}

/// A partial labelling: equal labels must-link, different labels cannot-link.
#[derive(Debug, Clone, PartialEq)]
pub struct PartialLabels {
    /// Row and label of each labelled row.
    pub rows: Vec<(u32, u32)>,
    /// The name of each label, as the user wrote it.
    pub names: Vec<String>,
    /// What breaking one pair of it costs.
    pub weight: f64,
    /// Where it came from; `lines[i]` is the line of `rows[i]` when not empty.
    pub origin: Origin,
    /// Line of each labelled row.
    pub lines: Vec<u32>,
}

/// Names one constraint of a [`ConstraintSet`], in the order of adding within its sort.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ConstraintId {
    /// The i-th pair.
    Pair(u32),
    /// The i-th set.
    Set(u32),
    /// The i-th partial labelling.
    Labels(u32),
}

/// Everything that was given about n rows. See the module's page.
///
/// ```
/// use kinfold::constraints::{ConstraintSet, Kind};
/// let mut given = ConstraintSet::new(5);
/// given.add_pair(Kind::MustLink, 0, 1)?;
/// given.add_pair(Kind::MustLink, 1, 2)?;
/// given.add_pair(Kind::CannotLink, 2, 3)?;
/// let chunklets = given.close()?;
/// assert_eq!(chunklets.len(), 3); // {0, 1, 2}, {3}, {4}
/// # Ok::<(), kinfold::Error>(())
/// ```
#[derive(Debug, Clone, Default)]
pub struct ConstraintSet {
    n: usize,
    sources: Vec<Arc<str>>,
    pairs: Vec<Pair>,
    sets: Vec<Set>,
    labels: Vec<PartialLabels>,
}

/// Log-odds of a confidence: q in (0, 1] becomes the kind to believe and its weight (infinite at 1, 0 at one half).
pub fn weight_of_confidence(kind: Kind, q: f64) -> Result<(Kind, f64)> {
    if !(q > 0.0 && q <= 1.0) {
        return Err(Error::Confidence(q));
    }
    let (kind, q) = if q < 0.5 { (kind.flipped(), 1.0 - q) } else { (kind, q) };
    Ok((kind, if q == 1.0 { f64::INFINITY } else { (q / (1.0 - q)).ln() }))
}

impl ConstraintSet {
    /// Nothing known about `n` rows.
    pub fn new(n: usize) -> ConstraintSet {
        ConstraintSet { n, sources: vec![Arc::from("given")], ..ConstraintSet::default() }
    }

    /// Registers a source (a file or a rule) for [`Origin::source`].
    pub fn add_source(&mut self, name: &str) -> u16 {
        self.sources.push(Arc::from(name));
        (self.sources.len() - 1) as u16
    }
    /// The name of a source.
    pub fn source(&self, origin: Origin) -> &str {
        &self.sources[origin.source as usize]
    }
    /// Room for this many pairs.
    pub fn reserve_pairs(&mut self, count: usize) {
        self.pairs.reserve(count);
    }

    fn check(&self, row: usize, weight: f64) -> Result<u32> {
        if row >= self.n {
            return Err(Error::NoSuchRow { row, rows: self.n });
        }
        if weight.is_nan() || weight < 0.0 {
            return Err(Error::Weight(weight));
        }
        Ok(row as u32)
    }

    /// A hard pair without an origin.
    pub fn add_pair(&mut self, kind: Kind, a: usize, b: usize) -> Result<ConstraintId> {
        self.add_weighted_pair(kind, a, b, f64::INFINITY, Origin::default())
    }
    /// A pair with a weight and where it came from.
    pub fn add_weighted_pair(
        &mut self,
        kind: Kind,
        a: usize,
        b: usize,
        weight: f64,
        origin: Origin,
    ) -> Result<ConstraintId> {
        let (a, b) = (self.check(a, weight)?, self.check(b, weight)?);
        self.pairs.push(Pair { a: a.min(b), b: a.max(b), kind, weight, origin });
        Ok(ConstraintId::Pair(self.pairs.len() as u32 - 1))
    }
    /// A clique of one kind; repeated members are kept once (a repeat in a cannot-link set is a contradiction).
    pub fn add_set(&mut self, kind: Kind, members: &[usize], weight: f64, origin: Origin) -> Result<ConstraintId> {
        let mut distinct = Vec::with_capacity(members.len());
        let mut seen = rustc_hash::FxHashSet::default();
        for &row in members {
            let row32 = self.check(row, weight)?;
            if seen.insert(row32) {
                distinct.push(row32);
            } else if kind == Kind::CannotLink {
                self.add_weighted_pair(kind, row, row, weight, origin)?;
            }
        }
        self.sets.push(Set { kind, members: distinct, weight, origin });
        Ok(ConstraintId::Set(self.sets.len() as u32 - 1))
    }
    /// A partial labelling; `lines` may be empty.
    pub fn add_labels(
        &mut self,
        rows: &[(usize, u32)],
        names: Vec<String>,
        lines: Vec<u32>,
        weight: f64,
        origin: Origin,
    ) -> Result<ConstraintId> {
        let rows =
            rows.iter().map(|&(row, label)| Ok((self.check(row, weight)?, label))).collect::<Result<Vec<_>>>()?;
        self.labels.push(PartialLabels { rows, names, weight, origin, lines });
        Ok(ConstraintId::Labels(self.labels.len() as u32 - 1))
    }

    /// Number of rows.
    pub fn n(&self) -> usize {
        self.n
    }
    /// The pairs, in the order given.
    pub fn pairs(&self) -> &[Pair] {
        &self.pairs
    }
    /// The sets, in the order given.
    pub fn sets(&self) -> &[Set] {
        &self.sets
    }
    /// The partial labellings, in the order given.
    pub fn labels(&self) -> &[PartialLabels] {
        &self.labels
    }
    /// Nothing given?
    pub fn is_empty(&self) -> bool {
        self.pairs.is_empty() && self.sets.is_empty() && self.labels.is_empty()
    }

    /// Every given relation as a pair of rows: sets and labellings are expanded on the fly, quadratically.
    /// For methods that work pair by pair; weight 0 and self pairs are left out.
    pub fn expanded(&self) -> impl Iterator<Item = Pair> + '_ {
        let sets = self.sets.iter().flat_map(|s| {
            s.members.iter().enumerate().flat_map(move |(i, &x)| {
                s.members[i + 1..].iter().map(move |&y| Pair {
                    a: x.min(y),
                    b: x.max(y),
                    kind: s.kind,
                    weight: s.weight,
                    origin: s.origin,
                })
            })
        });
        let labels = self.labels.iter().flat_map(|l| {
            l.rows.iter().enumerate().flat_map(move |(i, &(x, lx))| {
                l.rows[i + 1..].iter().map(move |&(y, ly)| {
                    let kind = if lx == ly { Kind::MustLink } else { Kind::CannotLink };
                    Pair { a: x.min(y), b: x.max(y), kind, weight: l.weight, origin: l.origin }
                })
            })
        });
        self.pairs.iter().copied().chain(sets).chain(labels).filter(|p| p.weight > 0.0 && p.a != p.b)
    }

    /// The same rows and sources, nothing known.
    pub(super) fn without_constraints(&self) -> ConstraintSet {
        ConstraintSet { n: self.n, sources: self.sources.clone(), ..ConstraintSet::default() }
    }

    /// Adds a pair of another set of the same rows and sources.
    pub(super) fn push_pair(&mut self, pair: Pair) {
        self.pairs.push(pair);
    }

    /// Takes over the sets of at least two rows and the labellings without repeats, as far as they have weight.
    pub(super) fn copy_groups(&mut self, other: &ConstraintSet) {
        self.sets.extend(other.sets.iter().filter(|s| s.weight > 0.0 && s.members.len() > 1).cloned());
        for l in other.labels.iter().filter(|l| l.weight > 0.0) {
            let mut seen = rustc_hash::FxHashSet::default();
            let kept: Vec<usize> = (0..l.rows.len()).filter(|&e| seen.insert(l.rows[e])).collect();
            let rows = kept.iter().map(|&e| l.rows[e]).collect();
            let lines = kept.iter().filter_map(|&e| l.lines.get(e).copied()).collect();
            self.labels.push(PartialLabels { rows, lines, ..l.clone() });
        }
    }

    /// The same constraints without the pairs (entry 0) and the members of sets and labellings (by entry) that `keep`
    /// refuses. Ids stay: refused pairs keep their place with weight 0.
    pub(super) fn filtered(&self, keep: impl Fn(ConstraintId, u32) -> bool) -> ConstraintSet {
        let mut out = self.clone();
        for (i, p) in out.pairs.iter_mut().enumerate() {
            if !keep(ConstraintId::Pair(i as u32), 0) {
                p.weight = 0.0;
            }
        }
        for (i, s) in out.sets.iter_mut().enumerate() {
            let mut entry = 0..;
            s.members.retain(|_| entry.next().is_none_or(|e| keep(ConstraintId::Set(i as u32), e)));
        }
        for (i, l) in out.labels.iter_mut().enumerate() {
            let kept: Vec<usize> =
                (0..l.rows.len()).filter(|&e| keep(ConstraintId::Labels(i as u32), e as u32)).collect();
            let lines = kept.iter().filter_map(|&e| l.lines.get(e).copied()).collect();
            l.rows = kept.iter().map(|&e| l.rows[e]).collect();
            l.lines = lines;
        }
        out
    }

    /// Takes the rows that `keep` refuses out of every set and labelling.
    pub(crate) fn retain_members(&mut self, keep: impl Fn(u32) -> bool) {
        self.sets.iter_mut().for_each(|s| s.members.retain(|&row| keep(row)));
        for l in &mut self.labels {
            let kept: Vec<usize> = (0..l.rows.len()).filter(|&e| keep(l.rows[e].0)).collect();
            l.lines = kept.iter().filter_map(|&e| l.lines.get(e).copied()).collect();
            l.rows = kept.iter().map(|&e| l.rows[e]).collect();
        }
    }

    /// The same constraints with every weight replaced; pairs that `f` maps to `None` are left out.
    pub fn map_pairs(&self, f: impl Fn(usize, &Pair) -> Option<Pair>) -> ConstraintSet {
        let pairs = self.pairs.iter().enumerate().filter_map(|(i, p)| f(i, p)).collect();
        ConstraintSet { pairs, ..self.clone() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn confidence_becomes_log_odds() {
        let w = |q| weight_of_confidence(Kind::MustLink, q).unwrap();
        for (q, expected) in [(0.5, 0.0), (0.8, 1.386294), (0.9, 2.197225), (0.99, 4.595120)] {
            assert_eq!(w(q).0, Kind::MustLink);
            assert!((w(q).1 - expected).abs() < 1e-6);
        }
        assert_eq!(w(1.0), (Kind::MustLink, f64::INFINITY));
        let (kind, weight) = w(0.1);
        assert!(kind == Kind::CannotLink && (weight - 2.197225).abs() < 1e-6);
        assert!(weight_of_confidence(Kind::MustLink, 0.0).is_err());
        assert!(weight_of_confidence(Kind::MustLink, f64::NAN).is_err());
    }

    #[test]
    fn rows_and_weights_are_checked() {
        let mut c = ConstraintSet::new(3);
        assert_eq!(c.add_pair(Kind::MustLink, 0, 3), Err(Error::NoSuchRow { row: 3, rows: 3 }));
        assert_eq!(c.add_weighted_pair(Kind::MustLink, 0, 1, -1.0, Origin::default()), Err(Error::Weight(-1.0)));
    }
}
