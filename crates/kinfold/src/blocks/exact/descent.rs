//! Cheaper labellings by local moves that keep every cannot-link: a block changes its cluster, and whatever it clashes with
//! there comes back in exchange (the piece of the two clusters that hangs together by cannot-links swaps sides).

use super::masses::{Masses, Sum};

/// Sweeps over all blocks at most.
const SWEEPS: usize = 50;
/// Gains below this are rounding.
const NOISE: f64 = 1e-9;

/// Improves a feasible labelling in place until no move pays, then fills empty clusters.
pub fn improve(masses: &Masses, k: usize, labels: &mut [u32]) {
    let mut sums: Vec<Sum> = vec![masses.nothing(); k];
    labels.iter().enumerate().for_each(|(b, &l)| sums[l as usize].add(masses, b));
    let (mut mark, mut stamp) = (vec![0u32; labels.len()], 0);
    let mut piece: Vec<u32> = Vec::new();
    for _ in 0..SWEEPS {
        let mut moved = false;
        for b in 0..labels.len() {
            let mut best: Option<(f64, Vec<u32>, Sum, Sum, u32)> = None;
            let from = labels[b];
            for to in (0..k as u32).filter(|&h| h != from) {
                stamp += 1;
                grow(masses, labels, b as u32, from, to, &mut mark, stamp, &mut piece);
                let (mut left, mut right) = (sums[from as usize].clone(), sums[to as usize].clone());
                for &x in &piece {
                    let x = x as usize;
                    let (out, into) = if labels[x] == from { (&mut left, &mut right) } else { (&mut right, &mut left) };
                    out.remove(masses, x);
                    into.add(masses, x);
                }
                let before = sums[from as usize].cost() + sums[to as usize].cost();
                let gain = before - left.cost() - right.cost();
                if gain > best.as_ref().map_or(NOISE, |b| b.0) {
                    best = Some((gain, piece.clone(), left, right, to));
                }
            }
            if let Some((_, piece, left, right, to)) = best {
                for &x in &piece {
                    labels[x as usize] = if labels[x as usize] == from { to } else { from };
                }
                (sums[from as usize], sums[to as usize]) = (left, right);
                moved = true;
            }
        }
        if !moved {
            break;
        }
    }
    fill(masses, k, labels);
}

/// Splitting never raises the cost: every empty cluster takes the block that is farthest from its mean.
pub fn fill(masses: &Masses, k: usize, labels: &mut [u32]) {
    let mut sums: Vec<Sum> = vec![masses.nothing(); k];
    labels.iter().enumerate().for_each(|(b, &l)| sums[l as usize].add(masses, b));
    for target in 0..k {
        if sums[target].count > 0 {
            continue;
        }
        let means: Vec<Option<Vec<f64>>> = sums.iter().map(|s| (s.count > 1).then(|| s.mean())).collect();
        let off = |b: usize| means[labels[b] as usize].as_ref().map(|m| masses.weight[b] * masses.distance2(b, m));
        let farthest = (0..labels.len())
            .filter_map(|b| off(b).map(|d| (d, b)))
            .max_by(|x, y| x.0.total_cmp(&y.0).then(y.1.cmp(&x.1)));
        let Some((_, b)) = farthest else { return };
        sums[labels[b] as usize].remove(masses, b);
        sums[target].add(masses, b);
        labels[b] = target as u32;
    }
}

#[allow(clippy::too_many_arguments)]
fn grow(
    masses: &Masses,
    labels: &[u32],
    start: u32,
    one: u32,
    two: u32,
    mark: &mut [u32],
    stamp: u32,
    piece: &mut Vec<u32>,
) {
    piece.clear();
    piece.push(start);
    mark[start as usize] = stamp;
    let mut next = 0;
    while next < piece.len() {
        let at = piece[next] as usize;
        next += 1;
        let other = if labels[at] == one { two } else { one };
        for &x in masses.apart(at) {
            if labels[x as usize] == other && mark[x as usize] != stamp {
                mark[x as usize] = stamp;
                piece.push(x);
            }
        }
    }
}

/// A labelling near a weighted pool of clusters: clusters by falling weight as long as they add something, then the rest one by
/// one, most bound first, where each costs least. `None` when some block fits nowhere.
pub fn round(masses: &Masses, k: usize, mut pool: Vec<(f64, &[u32])>) -> Option<Vec<u32>> {
    const NONE: u32 = u32::MAX;
    let mut labels = vec![NONE; masses.len()];
    let mut sums: Vec<Sum> = vec![masses.nothing(); k];
    let mut used = 0;
    pool.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| a.1.cmp(b.1)));
    for (_, members) in pool {
        let fresh = members.iter().filter(|&&b| labels[b as usize] == NONE).count();
        if used == k || 2 * fresh < members.len() {
            continue;
        }
        for &b in members {
            if labels[b as usize] == NONE {
                labels[b as usize] = used as u32;
                sums[used].add(masses, b as usize);
            }
        }
        used += 1;
    }
    loop {
        let closed = |b: usize, h: usize| masses.apart(b).iter().any(|&x| labels[x as usize] == h as u32);
        let next = (0..masses.len())
            .filter(|&b| labels[b] == NONE)
            .map(|b| ((0..k).filter(|&h| !closed(b, h)).count(), masses.len() - masses.apart(b).len(), b))
            .min();
        let Some((_, _, b)) = next else { break };
        let price = |h: usize| {
            let mut with = sums[h].clone();
            with.add(masses, b);
            with.cost() - sums[h].cost()
        };
        let open = (0..k).filter(|&h| !closed(b, h)).map(|h| (price(h), h));
        let (_, h) = open.min_by(|x, y| x.0.total_cmp(&y.0).then(x.1.cmp(&y.1)))?;
        labels[b] = h as u32;
        sums[h].add(masses, b);
    }
    Some(labels)
}
