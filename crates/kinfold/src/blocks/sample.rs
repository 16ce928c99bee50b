//! A bounded sample that keeps as many constraints as it can: chunklets in random order, each followed by the chunklets
//! it is cannot-linked to, up to two thirds of the rows; the rest drawn uniformly. O(n).

use crate::constraints::Chunklets;
use crate::rng::Rng;

/// About `count` rows, ascending.
pub fn constrained_first(chunklets: &Chunklets, count: usize, rng: &mut Rng) -> Vec<usize> {
    let n = chunklets.n();
    let count = count.min(n);
    let bound = |c: u32| chunklets.members(c).len() > 1 || chunklets.graph().degree(c) > 0;
    let mut order: Vec<u32> = (0..chunklets.len() as u32).filter(|&c| bound(c)).collect();
    rng.shuffle(&mut order);
    let (most, most_of_one) = (count * 2 / 3, (count / 8).max(2));
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
