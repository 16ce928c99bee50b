//! Active pairwise constraints (Atwa & Almazroi 2020) as a filter of given constraints. S = exp(−d²/2σ²); LB, UB = mean over
//! rows of their smallest, largest S. A must-link is kept when S < LB (3a) or it closes a triangle of must-links (3b), a
//! cannot-link when S > UB (4a) or a kept must-link carries a kept cannot-link to it (4b, to a fixpoint). All in logarithms:
//! the bounds are distances d_far and d_near. j ≠ i, σ = median distance, pairs unordered (the paper is silent on all three).
//! O(n²·dims) once for the bounds (rows sampled above 50,000), then O(Σ degree).

use rustc_hash::{FxHashMap, FxHashSet};

use super::{Ground, Known};
use crate::constraints::{Entailed, Kind};
use crate::error::{Error, Result};
use crate::rng::Rng;

crate::choice! {
    /// On what the bounds are read.
    pub enum ApcMode {
        /// On similarity, as in the paper's Algorithm 1: far must-links, near cannot-links, the hard ones.
        Similarity = "similarity",
        /// On distance, as in its text: near must-links, far cannot-links, the safe ones.
        Distance = "distance",
    }
}

crate::choice! {
    /// What fills a budget that the rules leave open.
    pub enum SelectFill {
        /// The remaining candidates by margin.
        Margin = "margin",
        /// Nothing.
        None = "none",
        /// Remaining candidates at random.
        Random = "random",
    }
}

/// Which rule kept a constraint.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, serde::Serialize)]
pub enum ApcRule {
    /// A must-link unusually far apart.
    #[serde(rename = "3a")]
    Far,
    /// A must-link that closes a triangle.
    #[serde(rename = "3b")]
    Triangle,
    /// A cannot-link unusually close.
    #[serde(rename = "4a")]
    Near,
    /// A cannot-link carried over by kept ones.
    #[serde(rename = "4b")]
    Carried,
    /// None: it fills the budget.
    #[serde(rename = "fill")]
    Fill,
}

/// One constraint that was kept.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Kept {
    /// Its place among the candidates.
    pub at: usize,
    /// Why.
    pub rule: ApcRule,
    /// How far beyond the bound, in log-similarity; negative when another rule kept it.
    pub margin: f64,
}

/// What the filter found.
#[derive(Debug, Clone, PartialEq)]
pub struct ApcFilter {
    /// Kept constraints, in the order of the candidates.
    pub kept: Vec<Kept>,
    /// Logarithms of the bounds.
    pub log_lower: f64,
    /// Logarithm of the upper bound.
    pub log_upper: f64,
    /// A must-link farther apart than this is kept.
    pub far: f64,
    /// A cannot-link closer than this is kept.
    pub near: f64,
    /// The width of the kernel.
    pub sigma: f64,
    /// Margin of every candidate.
    pub margins: Vec<f64>,
}

/// Farthest and nearest distance of each row (a sample of rows above 50,000).
fn extremes(ground: &Ground) -> Vec<(f64, f64)> {
    let n = ground.n();
    let rows: Vec<usize> =
        if n <= 50_000 { (0..n).collect() } else { Rng::stream(0, "apc-bounds", 0).sample(n, 20_000) };
    let parts = ground.pool().map_chunks(rows.len(), 64, |range| {
        let one = |&i: &usize| {
            let others = (0..n).filter(|&j| j != i).map(|j| ground.distance2(i, j));
            others.fold((0.0f64, f64::INFINITY), |(far, near), d| (far.max(d), near.min(d)))
        };
        rows[range].iter().map(one).map(|(far, near)| (far.sqrt(), near.sqrt())).collect::<Vec<_>>()
    });
    parts.concat()
}

/// The median distance of two rows: exact up to 3,000 rows, else of a million random pairs.
fn median_distance(ground: &Ground) -> f64 {
    let n = ground.n();
    let mut d: Vec<f64> = if n <= 3000 {
        let rows = ground.pool().map(n, |i| (0..i).map(|j| ground.distance2(i, j)).collect::<Vec<f64>>());
        rows.concat()
    } else {
        let mut rng = Rng::stream(0, "apc-sigma", 0);
        let mut draw = || {
            let i = rng.below(n);
            (i, (i + 1 + rng.below(n - 1)) % n)
        };
        let pairs: Vec<(usize, usize)> = (0..1_000_000).map(|_| draw()).collect();
        pairs.iter().map(|&(i, j)| ground.distance2(i, j)).collect()
    };
    if d.is_empty() {
        return 1.0;
    }
    let at = d.len() / 2;
    let even = d.len() % 2 == 0;
    let (below, upper, _) = d.select_nth_unstable_by(at, f64::total_cmp);
    let upper = upper.sqrt();
    let lower = if even { below.iter().copied().fold(0.0, f64::max).sqrt() } else { upper };
    0.5 * (lower + upper)
}

fn log_mean_exp(logs: impl Iterator<Item = f64> + Clone) -> f64 {
    let most = logs.clone().fold(f64::NEG_INFINITY, f64::max);
    let count = logs.clone().count() as f64;
    most + (logs.map(|v| (v - most).exp()).sum::<f64>() / count).ln()
}

/// d_far and d_near with the logarithms of the bounds: rules 3(a) and 4(a) as distances. `sigma`: `None` = median distance,
/// infinite = no σ at all.
pub(super) fn bounds(ground: &Ground, sigma: Option<f64>) -> (f64, f64, f64, f64, f64) {
    let sigma = sigma.unwrap_or_else(|| median_distance(ground)).max(f64::MIN_POSITIVE);
    let extremes = extremes(ground);
    if sigma.is_infinite() {
        let mean =
            |f: fn(&(f64, f64)) -> f64| extremes.iter().map(|e| f(e).powi(2)).sum::<f64>() / extremes.len() as f64;
        return (0.0, 0.0, mean(|e| e.0).sqrt(), mean(|e| e.1).sqrt(), sigma);
    }
    let log = |d: f64| -d * d / (2.0 * sigma * sigma);
    let lower = log_mean_exp(extremes.iter().map(|e| log(e.0)));
    let upper = log_mean_exp(extremes.iter().map(|e| log(e.1)));
    let distance = |l: f64| (-2.0 * sigma * sigma * l).max(0.0).sqrt();
    (lower, upper, distance(lower), distance(upper), sigma)
}

/// Keeps the informative ones of `candidates` (kind and two rows). `single_pass`: rule 4(b) once, in the order given, as
/// the paper's algorithm literally reads. Candidates that contradict each other are an error of the caller's.
pub fn apc_filter(
    ground: &Ground,
    candidates: &[(Kind, u32, u32)],
    mode: ApcMode,
    sigma: Option<f64>,
    single_pass: bool,
) -> Result<ApcFilter> {
    if let Some(&(_, a, b)) = candidates.iter().find(|c| c.1.max(c.2) as usize >= ground.n()) {
        return Err(Error::NoSuchRow { row: a.max(b) as usize, rows: ground.n() });
    }
    let nothing = ApcFilter {
        kept: Vec::new(),
        log_lower: 0.0,
        log_upper: 0.0,
        far: 0.0,
        near: 0.0,
        sigma: 1.0,
        margins: Vec::new(),
    };
    if ground.n() < 3 || candidates.is_empty() {
        return Ok(ApcFilter { margins: vec![0.0; candidates.len()], ..nothing });
    }
    let (log_lower, log_upper, far, near, sigma) = match mode {
        ApcMode::Similarity => bounds(ground, sigma),
        ApcMode::Distance => {
            let e = extremes(ground);
            let mean = |f: fn(&(f64, f64)) -> f64| e.iter().map(f).sum::<f64>() / e.len() as f64;
            // Must-links below the mean nearest, cannot-links above the mean farthest distance.
            (0.0, 0.0, mean(|e| e.0), mean(|e| e.1), f64::NAN)
        }
    };
    let margin = |kind: Kind, d: f64| match (mode, kind) {
        (ApcMode::Distance, Kind::MustLink) => near - d,
        (ApcMode::Distance, Kind::CannotLink) => d - far,
        (ApcMode::Similarity, kind) => {
            let scale = if sigma.is_finite() { 2.0 * sigma * sigma } else { 1.0 };
            match kind {
                Kind::MustLink => (d * d - far * far) / scale,
                Kind::CannotLink => (near * near - d * d) / scale,
            }
        }
    };
    let distance = |a: u32, b: u32| ground.distance2(a as usize, b as usize).sqrt();
    let margins: Vec<f64> = candidates.iter().map(|&(kind, a, b)| margin(kind, distance(a, b))).collect();
    // Strict comparisons; in the literal reading UB = 1 (all rows doubled) keeps nothing.
    let mut rule: Vec<Option<ApcRule>> = candidates
        .iter()
        .zip(&margins)
        .map(|(&(kind, ..), &m)| (m > 0.0).then_some(if kind == Kind::MustLink { ApcRule::Far } else { ApcRule::Near }))
        .collect();

    let mut linked: FxHashMap<u32, FxHashSet<u32>> = FxHashMap::default();
    for &(kind, a, b) in candidates.iter().filter(|c| c.0 == Kind::MustLink && c.1 != c.2) {
        debug_assert_eq!(kind, Kind::MustLink);
        linked.entry(a).or_default().insert(b);
        linked.entry(b).or_default().insert(a);
    }
    for (at, &(kind, a, b)) in candidates.iter().enumerate() {
        if kind == Kind::MustLink && rule[at].is_none() {
            let (x, y) = (&linked[&a], &linked[&b]);
            let (small, large) = if x.len() <= y.len() { (x, y) } else { (y, x) };
            if small.iter().any(|l| large.contains(l)) {
                rule[at] = Some(ApcRule::Triangle);
            }
        }
    }

    // 4(b): l kept must-linked to one end and kept cannot-linked to the other.
    let pair = |a: u32, b: u32| (a.min(b), a.max(b));
    let mut active: FxHashMap<u32, Vec<u32>> = FxHashMap::default();
    for (&(kind, a, b), r) in candidates.iter().zip(&rule) {
        if kind == Kind::MustLink && r.is_some() {
            active.entry(a).or_default().push(b);
            active.entry(b).or_default().push(a);
        }
    }
    let none = Vec::new();
    let mut apart: FxHashSet<(u32, u32)> = FxHashSet::default();
    if single_pass {
        for (at, &(kind, a, b)) in candidates.iter().enumerate().filter(|(_, c)| c.0 == Kind::CannotLink) {
            debug_assert_eq!(kind, Kind::CannotLink);
            let carried =
                |from: u32, to: u32| active.get(&from).unwrap_or(&none).iter().any(|&l| apart.contains(&pair(l, to)));
            if rule[at].is_none() && (carried(a, b) || carried(b, a)) {
                rule[at] = Some(ApcRule::Carried);
            }
            if rule[at].is_some() {
                apart.insert(pair(a, b));
            }
        }
    } else {
        let mut places: FxHashMap<(u32, u32), Vec<usize>> = FxHashMap::default();
        let mut work: Vec<(u32, u32)> = Vec::new();
        for (at, &(kind, a, b)) in candidates.iter().enumerate().filter(|(_, c)| c.0 == Kind::CannotLink) {
            debug_assert_eq!(kind, Kind::CannotLink);
            places.entry(pair(a, b)).or_default().push(at);
            if rule[at].is_some() && apart.insert(pair(a, b)) {
                work.push((a, b));
            }
        }
        while let Some((l, j)) = work.pop() {
            for (end, other) in [(l, j), (j, l)] {
                for &i in active.get(&end).unwrap_or(&none) {
                    if let Some(found) = places.get(&pair(i, other)) {
                        found
                            .iter()
                            .filter(|&&at| rule[at].is_none())
                            .copied()
                            .collect::<Vec<_>>()
                            .iter()
                            .for_each(|&at| rule[at] = Some(ApcRule::Carried));
                        if apart.insert(pair(i, other)) {
                            work.push((i, other));
                        }
                    }
                }
            }
        }
    }
    let kept = rule.iter().zip(&margins).enumerate();
    let kept = kept.filter_map(|(at, (rule, &margin))| rule.map(|rule| Kept { at, rule, margin })).collect();
    Ok(ApcFilter { kept, log_lower, log_upper, far, near, sigma, margins })
}

/// At most `budget` of the candidates: those beyond the bounds by margin, must-links and cannot-links in turn, then those
/// of the other rules, then what `fill` says. `skip_entailed` leaves out what those kept before entail.
pub fn apc_select(
    ground: &Ground,
    candidates: &[(Kind, u32, u32)],
    found: &ApcFilter,
    budget: usize,
    fill: SelectFill,
    skip_entailed: bool,
    rng: &mut Rng,
) -> Vec<Kept> {
    let by_margin = |list: &mut Vec<Kept>| list.sort_by(|a, b| b.margin.total_cmp(&a.margin).then(a.at.cmp(&b.at)));
    let kind = |k: &Kept| candidates[k.at].0;
    let split =
        |list: &[Kept], wanted: Kind| -> Vec<Kept> { list.iter().copied().filter(|k| kind(k) == wanted).collect() };
    let beyond: Vec<Kept> =
        found.kept.iter().copied().filter(|k| matches!(k.rule, ApcRule::Far | ApcRule::Near)).collect();
    let (mut same, mut different) = (split(&beyond, Kind::MustLink), split(&beyond, Kind::CannotLink));
    by_margin(&mut same);
    by_margin(&mut different);
    let mut order = Vec::with_capacity(candidates.len());
    let longest = same.len().max(different.len());
    for i in 0..longest {
        order.extend(same.get(i));
        order.extend(different.get(i));
    }
    let mut others: Vec<Kept> =
        found.kept.iter().copied().filter(|k| matches!(k.rule, ApcRule::Triangle | ApcRule::Carried)).collect();
    by_margin(&mut others);
    order.extend(others);
    let mut is_kept = vec![false; candidates.len()];
    found.kept.iter().for_each(|k| is_kept[k.at] = true);
    let mut rest: Vec<Kept> = (0..candidates.len())
        .filter(|&at| !is_kept[at])
        .map(|at| Kept { at, rule: ApcRule::Fill, margin: found.margins[at] })
        .collect();
    match fill {
        SelectFill::None => rest.clear(),
        SelectFill::Margin => by_margin(&mut rest),
        SelectFill::Random => rng.shuffle(&mut rest),
    }
    order.extend(rest);
    let mut known = Known::new(ground.n());
    let mut chosen = Vec::new();
    for k in order {
        if chosen.len() == budget {
            break;
        }
        let (kind, a, b) = candidates[k.at];
        if a == b || skip_entailed && known.entails(a as usize, b as usize) != Entailed::Unknown {
            continue;
        }
        known.add(kind, a as usize, b as usize);
        chosen.push(k);
    }
    chosen
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::blocks::par::Pool;
    use crate::data::Matrix;
    use Kind::{CannotLink, MustLink};

    /// The paper's Figure 2 in coordinates (spec/active.md §14), rows x1..x9 as 0..8.
    fn figure() -> (Ground, Vec<(Kind, u32, u32)>) {
        let x = vec![2.0, 1.0, 0.0, 5.0, 6.0, 7.0, 8.0, 2.5, 12.0];
        let same = [(1, 2), (1, 3), (2, 3), (4, 5), (5, 6), (6, 7), (7, 9), (8, 9)];
        let different = [(1, 8), (3, 8), (2, 4), (3, 7), (1, 6)];
        let ml = same.iter().map(|&(a, b)| (MustLink, a - 1, b - 1));
        let cl = different.iter().map(|&(a, b)| (CannotLink, a - 1, b - 1));
        (Ground::of_rows(Matrix::from_vec(1, x), &Pool::new(1)), ml.chain(cl).collect())
    }
    fn named(candidates: &[(Kind, u32, u32)], found: &ApcFilter) -> Vec<(u32, u32, ApcRule)> {
        found.kept.iter().map(|k| (candidates[k.at].1 + 1, candidates[k.at].2 + 1, k.rule)).collect()
    }

    #[test]
    fn the_papers_figure_2() {
        let (ground, candidates) = figure();
        let expected = [
            (1, 2, ApcRule::Triangle),
            (1, 3, ApcRule::Triangle),
            (2, 3, ApcRule::Triangle),
            (8, 9, ApcRule::Far),
            (1, 8, ApcRule::Near),
            (3, 8, ApcRule::Carried),
        ];
        let found = apc_filter(&ground, &candidates, ApcMode::Similarity, None, false).unwrap();
        assert_eq!(named(&candidates, &found), expected);
        let close = |a: f64, b: f64| assert!((a - b).abs() < 1e-6, "{a} {b}");
        close(found.sigma, 4.25);
        close(found.log_lower.exp(), 0.141292);
        close(found.log_upper.exp(), 0.940507);
        close(found.far, 8.407965);
        close(found.near, 1.488548);
        for sigma in [1.0, 2.0, 5.0, 0.1, f64::INFINITY] {
            let other = apc_filter(&ground, &candidates, ApcMode::Similarity, Some(sigma), false).unwrap();
            assert_eq!(named(&candidates, &other), expected, "{sigma}");
        }
        let limit = apc_filter(&ground, &candidates, ApcMode::Similarity, Some(f64::INFINITY), false).unwrap();
        close(limit.far, 9.411872);
        close(limit.near, 1.581139);
        // Underflow: only logarithms can tell.
        let small = apc_filter(&ground, &candidates, ApcMode::Similarity, Some(0.1), false).unwrap();
        close(small.log_lower, -1802.197225);
        close(small.far, 6.003661);
        close(small.log_upper, -14.004077);
        close(small.near, 0.529227);
    }

    #[test]
    fn a_single_pass_depends_on_the_order_and_the_fixpoint_does_not() {
        let (ground, mut candidates) = figure();
        candidates.swap(8, 9);
        let single = apc_filter(&ground, &candidates, ApcMode::Similarity, None, true).unwrap();
        let apart = |f: &ApcFilter| -> Vec<(u32, u32)> {
            let rows = named(&candidates, f);
            rows.iter().filter(|r| matches!(r.2, ApcRule::Near | ApcRule::Carried)).map(|r| (r.0, r.1)).collect()
        };
        assert_eq!(apart(&single), [(1, 8)]);
        let fixpoint = apc_filter(&ground, &candidates, ApcMode::Similarity, None, false).unwrap();
        assert_eq!(apart(&fixpoint), [(3, 8), (1, 8)]);
        let mut more = candidates.clone();
        more.push((CannotLink, 0, 8));
        let carried = apc_filter(&ground, &more, ApcMode::Similarity, None, false).unwrap();
        assert_eq!(named(&more, &carried).last(), Some(&(1, 9, ApcRule::Carried)));
    }

    #[test]
    fn read_on_distances_the_safe_ones_are_kept() {
        let (ground, candidates) = figure();
        let found = apc_filter(&ground, &candidates, ApcMode::Distance, None, false).unwrap();
        assert!((found.near - 11.0 / 9.0).abs() < 1e-12 && (found.far - 82.5 / 9.0).abs() < 1e-12);
        let rows: Vec<(u32, u32, ApcRule)> = named(&candidates, &found);
        let far = |a, b| (a, b, ApcRule::Far);
        assert_eq!(rows, [far(1, 2), (1, 3, ApcRule::Triangle), far(2, 3), far(4, 5), far(5, 6), far(6, 7)]);
    }

    #[test]
    fn a_budget_ranks_by_margin_and_leaves_out_what_is_entailed() {
        let (ground, candidates) = figure();
        let found = apc_filter(&ground, &candidates, ApcMode::Similarity, None, false).unwrap();
        let mut rng = Rng::stream(0, "test", 0);
        let chosen = apc_select(&ground, &candidates, &found, 20, SelectFill::None, true, &mut rng);
        let rows: Vec<(u32, u32)> = chosen.iter().map(|k| (candidates[k.at].1 + 1, candidates[k.at].2 + 1)).collect();
        assert_eq!(rows[..2], [(8, 9), (1, 8)]);
        // Two sides of the triangle entail the third, and with them the carried cannot-link is entailed.
        assert_eq!(rows.len(), 5 - usize::from(!rows.contains(&(3, 8))));
        let all = apc_select(&ground, &candidates, &found, 20, SelectFill::None, false, &mut rng);
        assert_eq!(all.len(), 6);
        assert_eq!(apc_select(&ground, &candidates, &found, 3, SelectFill::Margin, true, &mut rng).len(), 3);
    }

    #[test]
    fn nothing_passes_when_every_row_is_doubled() {
        let ground = Ground::of_rows(Matrix::from_vec(1, vec![0.0, 0.0, 5.0, 5.0]), &Pool::new(1));
        let found = apc_filter(&ground, &[(CannotLink, 0, 1)], ApcMode::Similarity, None, false).unwrap();
        assert!(found.kept.is_empty());
    }
}
