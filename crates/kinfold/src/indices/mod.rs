//! Scores of a clustering: one file per family, one line per score in [`INDICES`] (against classes and constraints) or
//! [`INTERNAL`] (by the rows themselves). Larger is better unless the name ends in `_loss`.
//! A score that is undefined is `None`, never a flattering number.

mod centres;
mod consistency;
mod dbcv;
mod hubert;
mod internal;
mod nmi;
mod pairs;
mod satisfaction;
mod silhouette;
mod weighted;

pub use internal::{Estimate, INTERNAL, Internal, InternalEntry, InternalScores, Norm, Sampling, score_rows};
pub use weighted::{normalised, weighted};

use crate::blocks::contingency::Contingency;
use crate::constraints::{ConstraintSet, Kind};

/// What a score looks at.
#[derive(Clone, Copy)]
pub struct Scored<'a> {
    /// The clustering.
    pub labels: &'a [u32],
    /// The known classes, for external scores.
    pub truth: Option<&'a [u32]>,
    /// The constraints, for those that look at them.
    pub constraints: Option<&'a ConstraintSet>,
}

impl Scored<'_> {
    fn contingency(&self) -> Option<Contingency> {
        self.truth.map(|truth| Contingency::new(self.labels, truth))
    }
    /// The contingency of the rows for which `keep` holds; `None` when fewer than two rows or one class is left.
    fn contingency_without(&self, drop: &[bool]) -> Option<Contingency> {
        let truth = self.truth?;
        let pick =
            |labels: &[u32]| -> Vec<u32> { labels.iter().zip(drop).filter(|(_, d)| !**d).map(|(l, _)| *l).collect() };
        let table = Contingency::new(&pick(self.labels), &pick(truth));
        (table.total >= 2 && table.second.len() >= 2).then_some(table)
    }
}

/// What a score needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Needs {
    /// Known classes.
    Truth,
    /// Constraints.
    Constraints,
    /// Both.
    TruthAndConstraints,
}

/// One line of the table.
pub struct Entry {
    /// Its name in results.
    pub name: &'static str,
    /// One line.
    pub summary: &'static str,
    /// What it needs.
    pub needs: Needs,
    /// Computes it.
    pub score: fn(&Scored<'_>) -> Option<f64>,
}

/// Every score.
pub static INDICES: &[Entry] = &[
    Entry {
        name: "nmi",
        summary: "mutual information over the mean of the entropies",
        needs: Needs::Truth,
        score: nmi::arithmetic,
    },
    Entry {
        name: "nmi_geometric",
        summary: "mutual information over the geometric mean of the entropies",
        needs: Needs::Truth,
        score: nmi::geometric,
    },
    Entry { name: "ari", summary: "Rand index adjusted for chance", needs: Needs::Truth, score: pairs::adjusted_rand },
    Entry {
        name: "rand",
        summary: "share of pairs of rows on which clustering and classes agree",
        needs: Needs::Truth,
        score: pairs::rand,
    },
    Entry {
        name: "consistency",
        summary: "share of rows in matching clusters, best one-to-one matching",
        needs: Needs::Truth,
        score: consistency::consistency,
    },
    Entry {
        name: "pairwise_f1",
        summary: "harmonic mean of pairwise precision and recall",
        needs: Needs::Truth,
        score: pairs::f1,
    },
    Entry {
        name: "nmi_without_ml",
        summary: "nmi on the rows in no must-link",
        needs: Needs::TruthAndConstraints,
        score: nmi::without_must_linked,
    },
    Entry {
        name: "nmi_without_ml_cl",
        summary: "nmi on the rows in no constraint",
        needs: Needs::TruthAndConstraints,
        score: nmi::without_constrained,
    },
    Entry {
        name: "satisfaction",
        summary: "share of the given constraints that hold",
        needs: Needs::Constraints,
        score: satisfaction::satisfaction,
    },
];

/// All scores that can be computed from what is there, in the table's order.
pub fn score_all(scored: &Scored<'_>) -> Vec<(&'static str, Option<f64>)> {
    let has_constraints = scored.constraints.is_some_and(|c| !c.is_empty());
    INDICES
        .iter()
        .filter(|e| match e.needs {
            Needs::Truth => scored.truth.is_some(),
            Needs::Constraints => has_constraints,
            Needs::TruthAndConstraints => scored.truth.is_some() && has_constraints,
        })
        .map(|e| (e.name, (e.score)(scored)))
        .collect()
}

/// Which rows occur in a must-link, and which in any constraint.
fn constrained_rows(set: &ConstraintSet) -> (Vec<bool>, Vec<bool>) {
    let (mut linked, mut any) = (vec![false; set.n()], vec![false; set.n()]);
    let mut mark = |row: u32, kind: Kind| {
        any[row as usize] = true;
        linked[row as usize] |= kind == Kind::MustLink;
    };
    for p in set.pairs().iter().filter(|p| p.weight > 0.0) {
        mark(p.a, p.kind);
        mark(p.b, p.kind);
    }
    for s in set.sets().iter().filter(|s| s.weight > 0.0 && s.members.len() > 1) {
        s.members.iter().for_each(|&row| mark(row, s.kind));
    }
    for l in set.labels().iter().filter(|l| l.weight > 0.0) {
        let mut rows_with = rustc_hash::FxHashMap::default();
        l.rows.iter().for_each(|(_, label)| *rows_with.entry(label).or_insert(0usize) += 1);
        for (row, label) in &l.rows {
            mark(*row, if rows_with[label] > 1 { Kind::MustLink } else { Kind::CannotLink });
        }
    }
    (linked, any)
}
