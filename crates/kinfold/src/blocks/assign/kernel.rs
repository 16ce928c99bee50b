//! Exact reduction of a component for given costs. A unit never needs a cluster beyond the first j of its price order
//! if fewer than j of its neighbours may use any of those j: one of them is free and no dearer. Cutting the lists this
//! way until nothing changes, and dropping the edges between units whose lists no longer meet, splits most components
//! into trivial ones. Soft edges: also no cluster dearer than the cheapest plus the weight of all edges.
//! A feasible start is carried along: whenever its cluster is cut off, a free one in the shorter list replaces it.

use super::net::Net;

/// A reduced problem.
#[derive(Debug, Clone)]
pub(super) struct Kernel {
    /// Allowed clusters of each unit, ascending by (cost, id).
    pub(super) lists: Vec<Vec<u32>>,
}

/// Cuts the lists; `None` when some unit has no allowed cluster at all. `start` must be of finite energy.
pub(super) fn reduce(net: &Net, k: usize, costs: &[f64], mut start: Option<&mut [u32]>) -> Option<Kernel> {
    let n = net.len();
    let mut lists: Vec<Vec<u32>> = Vec::with_capacity(n);
    for v in 0..n {
        let row = &costs[v * k..(v + 1) * k];
        let mut list: Vec<u32> = (0..k as u32).filter(|&c| row[c as usize] < f64::INFINITY).collect();
        if list.is_empty() {
            return None;
        }
        list.sort_by(|&a, &b| row[a as usize].total_cmp(&row[b as usize]).then(a.cmp(&b)));
        if !net.all_hard() {
            let most = row[list[0] as usize] + net.arcs(v).map(|(_, w)| w).sum::<f64>();
            list.truncate(list.iter().take_while(|&&c| row[c as usize] <= most).count().max(1));
        }
        lists.push(list);
    }
    // The cut of a soft list may strand the start: the favourite is then at least as good.
    if let (Some(start), false) = (start.as_deref_mut(), net.all_hard()) {
        for v in 0..n {
            if !lists[v].contains(&start[v]) {
                start[v] = lists[v][0];
            }
        }
    }
    let mut member = vec![false; n * k];
    for (v, list) in lists.iter().enumerate() {
        list.iter().for_each(|&c| member[v * k + c as usize] = true);
    }
    let mut waiting: Vec<u32> = (0..n as u32).rev().collect();
    let mut queued = vec![true; n];
    // How many neighbours can interfere from each place of v's order on.
    let mut arrivals = vec![0usize; k + 1];
    while let Some(v) = waiting.pop() {
        let v = v as usize;
        queued[v] = false;
        let length = lists[v].len();
        if length == 1 {
            continue;
        }
        arrivals[..=length].fill(0);
        for (u, _) in net.arcs(v) {
            if let Some(at) = lists[v].iter().position(|&c| member[u * k + c as usize]) {
                arrivals[at] += 1;
            }
        }
        // Smallest j with fewer than j neighbours that meet the first j clusters.
        let mut met = 0;
        let mut keep = length;
        for j in 1..=length {
            met += arrivals[j - 1];
            if met < j {
                keep = j;
                break;
            }
        }
        if keep == length {
            continue;
        }
        for &c in &lists[v][keep..] {
            member[v * k + c as usize] = false;
        }
        lists[v].truncate(keep);
        if let Some(start) = start.as_deref_mut()
            && !member[v * k + start[v] as usize]
        {
            let free = lists[v].iter().copied().find(|&c| net.arcs(v).all(|(u, _)| start[u] != c));
            debug_assert!(free.is_some(), "fewer neighbours than clusters in the list");
            start[v] = free.unwrap_or(start[v]);
        }
        for (u, _) in net.arcs(v) {
            if !std::mem::replace(&mut queued[u], true) {
                waiting.push(u as u32);
            }
        }
    }
    Some(Kernel { lists })
}
