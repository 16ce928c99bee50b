//! Cluster ids that mean the same from run to run.

use crate::blocks::contingency::compact;
use crate::blocks::matching::Matcher;

/// Numbers the clusters by their first row: the id of a cluster does not depend on how it was found. Returns the old id
/// of every new one, clusters without rows last.
pub fn number_by_first_row(labels: &mut [u32], k: usize) -> Vec<u32> {
    const NONE: u32 = u32::MAX;
    let (mut new_id, mut old_ids) = (vec![NONE; k], Vec::with_capacity(k));
    for label in labels.iter_mut() {
        let id = &mut new_id[*label as usize];
        if *id == NONE {
            *id = old_ids.len() as u32;
            old_ids.push(*label);
        }
        *label = *id;
    }
    old_ids.extend((0..k as u32).filter(|&c| new_id[c as usize] == NONE));
    old_ids
}

/// Renames clusters so that as many rows as possible keep the id they had in an earlier run (optimal matching of
/// overlaps). `previous[i]` is `None` for rows that are new. Clusters that match none take the free ids, ascending.
/// Returns the old id of every new one.
pub fn keep_ids(labels: &mut [u32], k: usize, previous: &[Option<u32>]) -> Vec<u32> {
    let old: Vec<u32> = previous.iter().flatten().copied().collect();
    let (_, classes) = compact(old.iter().copied());
    let columns = k.max(classes).max(old.iter().max().map_or(0, |m| *m as usize + 1));
    let mut overlap = vec![0.0f64; k * columns];
    for (label, old) in labels.iter().zip(previous) {
        if let Some(old) = old {
            overlap[*label as usize * columns + *old as usize] -= 1.0;
        }
    }
    let mut target = vec![0u32; k];
    Matcher::new().solve(k, columns, |r, c| overlap[r * columns + c], &mut target);
    // An id beyond k is kept only by a cluster that overlaps it; others get the lowest free ids.
    let mut taken = vec![false; columns.max(k)];
    for (c, t) in target.iter().enumerate() {
        if overlap[c * columns + *t as usize] < 0.0 && (*t as usize) < k {
            taken[*t as usize] = true;
        }
    }
    let mut free = (0..k as u32).filter(|&id| !taken[id as usize]).collect::<Vec<_>>().into_iter();
    for (c, t) in target.iter_mut().enumerate() {
        if !(overlap[c * columns + *t as usize] < 0.0 && (*t as usize) < k) {
            *t = free.next().unwrap_or(c as u32);
        }
    }
    let mut old_ids = vec![0u32; k];
    target.iter().enumerate().for_each(|(c, &t)| old_ids[t as usize] = c as u32);
    labels.iter_mut().for_each(|l| *l = target[*l as usize]);
    old_ids
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clusters_are_numbered_by_their_first_row() {
        let mut labels = vec![2, 0, 2, 0];
        assert_eq!(number_by_first_row(&mut labels, 3), [2, 0, 1]);
        assert_eq!(labels, [0, 1, 0, 1]);
    }

    #[test]
    fn ids_follow_the_largest_overlap_and_new_clusters_take_free_ids() {
        let mut labels = vec![0, 0, 0, 1, 1, 2];
        let previous = [Some(1), Some(1), Some(0), Some(0), Some(0), None];
        keep_ids(&mut labels, 3, &previous);
        assert_eq!(labels, [1, 1, 1, 0, 0, 2]);
    }

    #[test]
    fn ids_stay_below_k_when_the_earlier_run_had_more() {
        let mut labels = vec![0, 0, 1, 1];
        let before = labels.clone();
        keep_ids(&mut labels, 2, &[Some(7), Some(7), Some(1), Some(1)]);
        assert_eq!(labels, [0, 0, 1, 1]);
        assert_eq!(labels, before);
    }
}
