//! A bounded sample that keeps as many constraints as it can: chunklets in random order, each followed by the chunklets
//! it is cannot-linked to, up to two thirds of the rows; the rest drawn uniformly. Where not all constrained rows fit in,
//! large chunklets lend no more rows than small ones have, or their clusters would stand for all. O(n).

use crate::constraints::Chunklets;
use crate::rng::Rng;

/// Rows that a chunklet lends at least, if it has them; two gave the same clusters on letter, optdigits and segment and made
/// denser problems, which took longer.
const LEAST_OF_ONE: usize = 5;

/// About `count` rows, ascending.
pub fn constrained_first(chunklets: &Chunklets, count: usize, rng: &mut Rng) -> Vec<usize> {
    let n = chunklets.n();
    let count = count.min(n);
    let mut order: Vec<u32> = (0..chunklets.len() as u32).filter(|&c| chunklets.is_bound(c)).collect();
    rng.shuffle(&mut order);
    let most = count * 2 / 3;
    let most_of_one = match share_of_each(order.iter().map(|&c| chunklets.members(c).len()).collect(), most) {
        Some(share) => share.clamp(LEAST_OF_ONE, (count / 8).max(LEAST_OF_ONE)),
        None => n,
    };
    let mut seen = vec![false; chunklets.len()];
    let mut taken = vec![false; n];
    let mut total = 0;
    let mut queue: std::collections::VecDeque<u32> = std::collections::VecDeque::new();
    for start in order {
        if total >= most {
            break;
        }
        queue.push_back(start);
        while let Some(c) = queue.pop_front() {
            if total >= most || std::mem::replace(&mut seen[c as usize], true) {
                continue;
            }
            let members = chunklets.members(c);
            for at in rng.sample(members.len(), most_of_one) {
                taken[members[at] as usize] = true;
                total += 1;
            }
            queue.extend(chunklets.graph().neighbours(c).iter().filter(|&&u| !seen[u as usize]));
        }
        queue.clear();
    }
    for row in rng.sample(n, count) {
        if total >= count {
            break;
        }
        total += usize::from(!std::mem::replace(&mut taken[row], true));
    }
    (0..n).filter(|&row| taken[row]).collect()
}

/// The largest share that all can have up to their size; `None` when there is enough for all.
fn share_of_each(mut sizes: Vec<usize>, mut available: usize) -> Option<usize> {
    sizes.sort_unstable();
    let count = sizes.len();
    for (i, size) in sizes.into_iter().enumerate() {
        let share = available / (count - i);
        if size > share {
            return Some(share);
        }
        available -= size;
    }
    None
}

/// Up to `count` pairs of rows outside `rows`, half of them together by the constraints and half apart: (a, b, together).
pub fn pairs_outside(chunklets: &Chunklets, rows: &[usize], count: usize, rng: &mut Rng) -> Vec<(usize, usize, bool)> {
    let mut inside = vec![false; chunklets.n()];
    rows.iter().for_each(|&row| inside[row] = true);
    let outside = |c: u32| chunklets.members(c).iter().map(|&row| row as usize).filter(|&row| !inside[row]);
    let mut pairs = Vec::new();
    let mut several: Vec<u32> = (0..chunklets.len() as u32).filter(|&c| chunklets.members(c).len() > 1).collect();
    rng.shuffle(&mut several);
    let two = |c: u32| {
        let mut rows = outside(c);
        Some((rows.next()?, rows.next()?, true))
    };
    pairs.extend(several.into_iter().filter_map(two).take(count / 2));
    let edges: Vec<(u32, u32)> = chunklets.graph().edges().collect();
    let drawn = rng.sample(edges.len(), count).into_iter().map(|e| edges[e]);
    let apart = |(a, b): (u32, u32)| Some((outside(a).next()?, outside(b).next()?, false));
    pairs.extend(drawn.filter_map(apart).take(count / 2));
    pairs
}

/// What is known about these rows, numbered by their place.
pub fn restricted(chunklets: &Chunklets, rows: &[usize]) -> Chunklets {
    const NONE: u32 = u32::MAX;
    let mut head = vec![NONE; chunklets.len()];
    let mut group = Vec::with_capacity(rows.len());
    for (at, &row) in rows.iter().enumerate() {
        let first = &mut head[chunklets.of(row) as usize];
        if *first == NONE {
            *first = at as u32;
        }
        group.push(*first);
    }
    let heads = |(a, b): (u32, u32)| (head[a as usize], head[b as usize]);
    let apart: Vec<(u32, u32)> =
        chunklets.graph().edges().map(heads).filter(|&(a, b)| a != NONE && b != NONE).collect();
    Chunklets::from_groups(&group, &apart)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_those_of_water_in_vessels() {
        assert_eq!(share_of_each(vec![3, 1, 2], 6), None);
        assert_eq!(share_of_each(vec![3, 1, 2], 5), Some(2));
        assert_eq!(share_of_each(vec![50, 1, 1, 30], 22), Some(10));
        assert_eq!(share_of_each(vec![5; 10], 9), Some(0));
    }

    #[test]
    fn large_chunklets_do_not_crowd_out_small_ones() {
        // Half of the rows in ten chunklets, half in pairs: with an eighth of the sample for each, three of the ten fill it.
        let groups: Vec<u32> = (0..2000).map(|i| if i < 1000 { i / 100 * 100 } else { i / 2 * 2 }).collect();
        let chunklets = Chunklets::from_groups(&groups, &[]);
        let mut large = 0;
        for seed in 0..10 {
            let rows = constrained_first(&chunklets, 300, &mut Rng::stream(seed, "test", 0));
            large += rows.iter().filter(|&&row| row < 1000).count();
            assert_eq!(rows.len(), 300);
        }
        assert!(large < 1000, "{large} of 3000");
    }

    #[test]
    fn constrained_rows_come_first_and_relations_survive() {
        let groups: Vec<u32> = (0..1000).map(|i| if i < 40 { i / 4 } else { i }).collect();
        let chunklets = Chunklets::from_groups(&groups, &[(0, 4), (8, 500)]);
        let rows = constrained_first(&chunklets, 100, &mut Rng::stream(1, "test", 0));
        assert_eq!(rows.len(), 100);
        assert!((0..40).chain([500]).all(|row| rows.contains(&row)));
        let part = restricted(&chunklets, &rows);
        for (i, &a) in rows.iter().enumerate() {
            for (j, &b) in rows.iter().enumerate() {
                assert_eq!(part.entails(i, j), chunklets.entails(a, b));
            }
        }
    }
}
