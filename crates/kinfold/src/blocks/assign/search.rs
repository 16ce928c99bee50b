//! Branch and bound for small components: the unit with the fewest clusters left, then the largest regret; clusters by
//! price. Bound: what is spent + Σ cheapest price of the unplaced + a clique bound: of mutually exclusive units with the
//! same favourite only one can have it, the others pay at least their regret. Exact when it ends within the node limit.

use super::net::{Net, two_smallest};

/// What the search came to.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Outcome {
    /// The best labels below the start's energy, if any were found.
    pub(super) better: Option<(f64, Vec<u32>)>,
    /// The whole tree was searched: the start, or `better`, is optimal (or nothing feasible exists).
    pub(super) complete: bool,
}

/// Most units the search accepts: it keeps a dense matrix of edge weights.
pub(super) const MOST_UNITS: usize = 160;

/// Searches for labels with an energy below `upper`.
pub(super) fn branch_and_bound(net: &Net, k: usize, costs: &[f64], upper: f64, node_limit: u64) -> Outcome {
    let n = net.len();
    let mut weight = vec![0.0; n * n];
    for v in 0..n {
        for (u, w) in net.arcs(v) {
            weight[v * n + u] = w;
        }
    }
    let mut search = Search {
        net,
        n,
        k,
        weight,
        price: costs.to_vec(),
        labels: vec![NONE; n],
        best: upper,
        found: None,
        trail: Vec::new(),
        left: node_limit,
    };
    let complete = search.descend(0.0);
    Outcome { better: search.found.map(|labels| (search.best, labels)), complete }
}

const NONE: u32 = u32::MAX;

struct Search<'a> {
    net: &'a Net,
    n: usize,
    k: usize,
    weight: Vec<f64>,
    /// Cost plus what the placed neighbours charge; restored from the trail, never by subtraction.
    price: Vec<f64>,
    labels: Vec<u32>,
    best: f64,
    found: Option<Vec<u32>>,
    trail: Vec<(u32, f64)>,
    left: u64,
}

impl Search<'_> {
    /// False when the node limit stopped it.
    fn descend(&mut self, spent: f64) -> bool {
        if self.left == 0 {
            return false;
        }
        self.left -= 1;
        let k = self.k;
        let mut bound = spent;
        let mut open: Vec<(usize, f64, u32)> = Vec::new();
        let mut chosen: Option<(usize, f64, u32)> = None;
        for v in 0..self.n {
            if self.labels[v] != NONE {
                continue;
            }
            let row = &self.price[v * k..(v + 1) * k];
            let (at, first, second) = two_smallest(row);
            if first == f64::INFINITY {
                return true;
            }
            bound += first;
            let regret = second - first;
            let choices = row.iter().filter(|&&x| x < f64::INFINITY).count();
            if chosen.is_none_or(|(c, r, _)| choices < c || (choices == c && regret > r)) {
                chosen = Some((choices, regret, v as u32));
            }
            open.push((at, regret, v as u32));
        }
        let Some((_, _, v)) = chosen else {
            if spent < self.best {
                self.best = spent;
                self.found = Some(self.labels.clone());
            }
            return true;
        };
        if bound >= self.best || bound + self.clique_bound(&mut open) >= self.best {
            return true;
        }
        let v = v as usize;
        let mut options: Vec<(f64, u32)> =
            (0..k).map(|c| (self.price[v * k + c], c as u32)).filter(|o| o.0 < f64::INFINITY).collect();
        options.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        for (price, c) in options {
            if spent + price >= self.best {
                break;
            }
            self.labels[v] = c;
            let mark = self.trail.len();
            for (u, w) in self.net.arcs(v) {
                if self.labels[u] == NONE {
                    let slot = u * k + c as usize;
                    self.trail.push((slot as u32, self.price[slot]));
                    self.price[slot] += w;
                }
            }
            let complete = self.descend(spent + price);
            while self.trail.len() > mark {
                if let Some((slot, old)) = self.trail.pop() {
                    self.price[slot as usize] = old;
                }
            }
            self.labels[v] = NONE;
            if !complete {
                return false;
            }
        }
        true
    }

    /// Σ over vertex-disjoint groups of units with one favourite: all but the largest regret of a hard clique, the
    /// smaller of regret and weight for a soft edge.
    fn clique_bound(&self, open: &mut [(usize, f64, u32)]) -> f64 {
        open.sort_by(|a, b| a.0.cmp(&b.0).then(b.1.total_cmp(&a.1)).then(a.2.cmp(&b.2)));
        let mut extra = 0.0;
        let mut from = 0;
        let mut groups: Vec<Vec<u32>> = Vec::new();
        while from < open.len() {
            let to = from + open[from..].iter().take_while(|o| o.0 == open[from].0).count();
            groups.clear();
            // Groups closed by a soft pair are emptied, so that nobody joins them.
            for &(_, regret, v) in &open[from..to] {
                let between = |u: u32| self.weight[v as usize * self.n + u as usize];
                let hard = groups.iter().position(|g| !g.is_empty() && g.iter().all(|&u| between(u) == f64::INFINITY));
                if let Some(g) = hard {
                    groups[g].push(v);
                    extra += regret;
                } else if let Some(g) = groups.iter().position(|g| g.len() == 1 && between(g[0]) > 0.0) {
                    extra += regret.min(between(groups[g][0]));
                    groups[g].clear();
                } else {
                    groups.push(vec![v]);
                }
            }
            from = to;
        }
        extra
    }
}
