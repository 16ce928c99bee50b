//! Shortest chains of must-links. Sets and label classes are star nodes joined to their rows by half-length links, so
//! that they cost one step and are never expanded. Fewest links: breadth-first, neighbours ascending. Lightest and
//! most likely: Dijkstra on Σ w and Σ −ln q = Σ ln(1 + e^−w), ties by fewer links. O(links · log) per source.

use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

use super::{ConstraintId, ConstraintSet, Kind};

const NONE: u32 = u32::MAX;

/// Which chain of must-links explains best.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PathRule {
    /// Fewest links.
    #[default]
    Fewest,
    /// Least total weight: the cheapest chain to doubt.
    Lightest,
    /// The chain likeliest to hold, weights read as log-odds.
    MostLikely,
}

/// The must-links inside some chunklets: local nodes are their rows, ascending, then one star per set or label class.
pub(super) struct Links {
    rows: Vec<u32>,
    starts: Vec<u32>,
    links: Vec<(u32, ConstraintId)>,
    lengths: Vec<f64>,
    rule: PathRule,
}

impl Links {
    /// The must-links of `counts`ing weight inside the chunklets `wanted` (ascending).
    pub fn of_chunklets(
        set: &ConstraintSet,
        chunk_of: &[u32],
        wanted: &[u32],
        counts: impl Fn(f64) -> bool,
        rule: PathRule,
    ) -> Links {
        let mut is_wanted = vec![false; wanted.last().map_or(0, |&c| c as usize + 1)];
        wanted.iter().for_each(|&c| is_wanted[c as usize] = true);
        let inside = |row: u32| is_wanted.get(chunk_of[row as usize] as usize).copied().unwrap_or(false);
        let rows: Vec<u32> = (0..chunk_of.len() as u32).filter(|&row| inside(row)).collect();
        let local = |row: u32| rows.binary_search(&row).unwrap_or(0) as u32;
        let mut edges: Vec<(u32, u32, ConstraintId, f64)> = Vec::new();
        for (i, p) in set.pairs().iter().enumerate() {
            if p.kind == Kind::MustLink && p.a != p.b && counts(p.weight) && inside(p.a) {
                edges.push((local(p.a), local(p.b), ConstraintId::Pair(i as u32), p.weight));
            }
        }
        let mut star = rows.len() as u32;
        for (i, s) in set.sets().iter().enumerate() {
            if s.kind == Kind::MustLink && counts(s.weight) && s.members.first().is_some_and(|&row| inside(row)) {
                let id = ConstraintId::Set(i as u32);
                edges.extend(s.members.iter().map(|&row| (local(row), star, id, s.weight)));
                star += 1;
            }
        }
        for (i, l) in set.labels().iter().enumerate().filter(|(_, l)| counts(l.weight)) {
            let mut by_label: Vec<(u32, u32)> =
                l.rows.iter().filter(|x| inside(x.0)).map(|&(row, label)| (label, row)).collect();
            by_label.sort_unstable();
            by_label.dedup();
            for class in by_label.chunk_by(|x, y| x.0 == y.0) {
                let id = ConstraintId::Labels(i as u32);
                edges.extend(class.iter().map(|&(_, row)| (local(row), star, id, l.weight)));
                star += 1;
            }
        }
        let mut starts = vec![0u32; star as usize + 1];
        for &(x, y, ..) in &edges {
            starts[x as usize + 1] += 1;
            starts[y as usize + 1] += 1;
        }
        for i in 0..star as usize {
            starts[i + 1] += starts[i];
        }
        let mut fill = starts.clone();
        let mut links = vec![(0u32, ConstraintId::Pair(0)); edges.len() * 2];
        let mut lengths = if rule == PathRule::Fewest { Vec::new() } else { vec![0.0; edges.len() * 2] };
        for &(x, y, id, weight) in &edges {
            for (from, to) in [(x, y), (y, x)] {
                let at = fill[from as usize] as usize;
                fill[from as usize] += 1;
                links[at] = (to, id);
                if rule != PathRule::Fewest {
                    let half = if y >= rows.len() as u32 { 0.5 } else { 1.0 };
                    lengths[at] = half * if rule == PathRule::Lightest { weight } else { (-weight).exp().ln_1p() };
                }
            }
        }
        if rule == PathRule::Fewest {
            for node in 0..star as usize {
                links[starts[node] as usize..starts[node + 1] as usize].sort_unstable();
            }
        }
        Links { rows, starts, links, lengths, rule }
    }

    fn range(&self, node: u32) -> std::ops::Range<usize> {
        self.starts[node as usize] as usize..self.starts[node as usize + 1] as usize
    }
    fn is_star(&self, node: u32) -> bool {
        node as usize >= self.rows.len()
    }

    /// Number of must-links, members of sets and classes counted one by one.
    pub fn len(&self) -> usize {
        self.links.len() / 2
    }

    /// Room for searches.
    pub fn search(&self) -> Search<'_> {
        let nodes = self.starts.len() - 1;
        Search {
            links: self,
            parent: vec![(NONE, ConstraintId::Pair(0)); nodes],
            steps: vec![NONE; nodes],
            touched: Vec::new(),
        }
    }
}

/// One shortest-chain tree.
pub(super) struct Search<'a> {
    links: &'a Links,
    /// The row before, and the constraint that joins it.
    parent: Vec<(u32, ConstraintId)>,
    steps: Vec<u32>,
    touched: Vec<u32>,
}

impl Search<'_> {
    fn clear(&mut self) {
        for node in self.touched.drain(..) {
            self.parent[node as usize].0 = NONE;
            self.steps[node as usize] = NONE;
        }
    }

    /// Searches from `source` until every row of `targets` is reached; all rows when `targets` is empty.
    pub fn run(&mut self, source: u32, targets: &[u32]) {
        self.clear();
        let Ok(source) = self.links.rows.binary_search(&source) else { return };
        let mut left: Vec<u32> =
            targets.iter().filter_map(|row| self.links.rows.binary_search(row).ok()).map(|i| i as u32).collect();
        left.sort_unstable();
        left.dedup();
        let left = if targets.is_empty() { None } else { Some(left) };
        match self.links.rule {
            PathRule::Fewest => self.breadth_first(source as u32, left),
            _ => self.dijkstra(source as u32, left),
        }
    }

    fn breadth_first(&mut self, source: u32, mut left: Option<Vec<u32>>) {
        self.begin(source);
        let mut frontier = vec![source];
        while !frontier.is_empty() {
            if let Some(left) = &mut left {
                left.retain(|&target| self.steps[target as usize] == NONE);
                if left.is_empty() {
                    return;
                }
            }
            frontier = self.next_level(&frontier);
        }
    }

    fn begin(&mut self, source: u32) {
        self.steps[source as usize] = 0;
        self.touched.push(source);
    }

    /// The rows one link further than those of `frontier`, in the order met: neighbours ascending.
    fn next_level(&mut self, frontier: &[u32]) -> Vec<u32> {
        let links = self.links;
        let mut next = Vec::new();
        let mut near: Vec<(u32, ConstraintId)> = Vec::new();
        for &node in frontier {
            near.clear();
            for &(to, id) in &links.links[links.range(node)] {
                if !links.is_star(to) {
                    near.push((to, id));
                } else if self.steps[to as usize] == NONE {
                    // The first row to reach a star is as near as any other: its members are met once.
                    self.steps[to as usize] = 0;
                    self.touched.push(to);
                    near.extend_from_slice(&links.links[links.range(to)]);
                }
            }
            near.sort_unstable();
            for &(to, id) in &near {
                if self.steps[to as usize] == NONE {
                    self.steps[to as usize] = self.steps[node as usize] + 1;
                    self.parent[to as usize] = (node, id);
                    self.touched.push(to);
                    next.push(to);
                }
            }
        }
        next
    }

    /// A chain with fewest links between two rows, searched from both: each time the smaller side takes a whole level, so
    /// the first level that meets the other side is on a shortest chain; of its rows the smallest is taken.
    pub fn between(&mut self, back: &mut Self, a: u32, b: u32) -> Option<(Vec<u32>, Vec<ConstraintId>)> {
        self.clear();
        back.clear();
        let rows = &self.links.rows;
        let (source, target) = (rows.binary_search(&a).ok()? as u32, rows.binary_search(&b).ok()? as u32);
        self.begin(source);
        back.begin(target);
        let (mut ahead, mut behind) = (vec![source], vec![target]);
        let meeting = if source == target {
            source
        } else {
            loop {
                if ahead.is_empty() || behind.is_empty() {
                    return None;
                }
                let met = if ahead.len() <= behind.len() {
                    ahead = self.next_level(&ahead);
                    ahead.iter().copied().filter(|&v| back.steps[v as usize] != NONE).min()
                } else {
                    behind = back.next_level(&behind);
                    behind.iter().copied().filter(|&v| self.steps[v as usize] != NONE).min()
                };
                if let Some(v) = met {
                    break v;
                }
            }
        };
        let row = self.links.rows[meeting as usize];
        let (mut points, mut path) = self.path_to(row)?;
        let (rest, rest_path) = back.path_to(row)?;
        points.extend(rest.into_iter().rev().skip(1));
        path.extend(rest_path.into_iter().rev());
        Some((points, path))
    }

    fn dijkstra(&mut self, source: u32, mut left: Option<Vec<u32>>) {
        let links = self.links;
        let start = Length { hard: 0, sum: 0.0, halves: 0 };
        let mut best: rustc_hash::FxHashMap<u32, Length> = rustc_hash::FxHashMap::default();
        best.insert(source, start);
        let mut heap = BinaryHeap::from([Reverse((start, source))]);
        while let Some(Reverse((length, node))) = heap.pop() {
            if self.steps[node as usize] != NONE {
                continue;
            }
            self.steps[node as usize] = length.halves / 2;
            self.touched.push(node);
            if let Some(left) = &mut left {
                if let Ok(at) = left.binary_search(&node) {
                    left.remove(at);
                }
                if left.is_empty() {
                    return;
                }
            }
            for at in links.range(node) {
                let (to, id) = links.links[at];
                let half = links.is_star(to) || links.is_star(node);
                let next = length.plus(links.lengths[at], if half { 1 } else { 2 });
                let known = best.get(&to);
                if self.steps[to as usize] == NONE && known.is_none_or(|old| next < *old) {
                    best.insert(to, next);
                    self.parent[to as usize] = (node, id);
                    heap.push(Reverse((next, to)));
                }
            }
        }
    }

    /// Rows and constraints from the source to `row`; `None` if it was not reached.
    pub fn path_to(&self, row: u32) -> Option<(Vec<u32>, Vec<ConstraintId>)> {
        let mut node = self.links.rows.binary_search(&row).ok()? as u32;
        if self.steps[node as usize] == NONE {
            return None;
        }
        let (mut points, mut path) = (vec![row], Vec::new());
        while self.parent[node as usize].0 != NONE {
            let (mut before, id) = self.parent[node as usize];
            if self.links.is_star(before) {
                before = self.parent[before as usize].0;
            }
            path.push(id);
            points.push(self.links.rows[before as usize]);
            node = before;
        }
        points.reverse();
        path.reverse();
        Some((points, path))
    }

    /// Number of links to `row`, if it was reached.
    pub fn steps_to(&self, row: u32) -> Option<u32> {
        let node = self.links.rows.binary_search(&row).ok()?;
        (self.steps[node] != NONE).then_some(self.steps[node])
    }
}

/// Length of a chain: hard links (in halves) weigh more than any sum, fewer links break ties.
#[derive(Clone, Copy, PartialEq)]
struct Length {
    hard: u32,
    sum: f64,
    halves: u32,
}

impl Length {
    fn plus(self, length: f64, halves: u32) -> Length {
        let hard = self.hard + if length.is_infinite() { halves } else { 0 };
        let sum = self.sum + if length.is_infinite() { 0.0 } else { length };
        Length { hard, sum, halves: self.halves + halves }
    }
}
impl Eq for Length {}
impl Ord for Length {
    fn cmp(&self, other: &Self) -> Ordering {
        self.hard.cmp(&other.hard).then(self.sum.total_cmp(&other.sum)).then(self.halves.cmp(&other.halves))
    }
}
impl PartialOrd for Length {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}
