//! How many constraints contradict those before them, and how many would if some were wrong. Taken in order, refusing
//! each that the ones taken so far contradict: must-link groups with the groups they differ from; for two clusters the
//! parity of the path, because an odd cycle of cannot-links cannot be two-coloured either. O(S log S).

use crate::constraints::{Added, Chunklets, Kind, Online};
use crate::rng::Rng;

/// A pair of nodes and what is said about them.
pub(super) type Said = (u32, u32, Kind);

/// The number of pairs refused, for k clusters, on top of what is believed about the nodes.
pub(super) fn refused(nodes: &Chunklets, k: usize, pairs: &[Said]) -> usize {
    let believed = nodes.graph().edges();
    if k == 2 {
        let mut parity = Parity::new(nodes.len());
        believed.for_each(|(a, b)| {
            parity.add(a, b, true);
        });
        return pairs.iter().filter(|&&(a, b, kind)| !parity.add(a, b, kind == Kind::CannotLink)).count();
    }
    let mut online = Online::new(nodes.len());
    believed.for_each(|(a, b)| {
        online.cannot_link(a as usize, b as usize);
    });
    let mut add = |a: u32, b: u32, kind: Kind| match kind {
        Kind::MustLink => online.must_link(a as usize, b as usize),
        Kind::CannotLink => online.cannot_link(a as usize, b as usize),
    };
    pairs.iter().filter(|&&(a, b, kind)| add(a, b, kind) == Added::Conflict).count()
}

/// The mean number of pairs refused when this share of them is wrong, the rest being right: simulated.
pub(super) fn expected(nodes: &Chunklets, k: usize, pairs: &[Said], share: f64, times: usize, rng: &mut Rng) -> f64 {
    let count = (share * pairs.len() as f64).round() as usize;
    let mut total = 0;
    for _ in 0..times {
        let mut turned = pairs.to_vec();
        rng.sample(pairs.len(), count).into_iter().for_each(|i| turned[i].2 = turned[i].2.flipped());
        total += refused(nodes, k, &turned);
    }
    total as f64 / times as f64
}

/// Union-find that knows on which of two sides each node is, relative to its root.
struct Parity {
    parent: Vec<u32>,
    side: Vec<bool>,
    size: Vec<u32>,
}

impl Parity {
    fn new(n: usize) -> Parity {
        Parity { parent: (0..n as u32).collect(), side: vec![false; n], size: vec![1; n] }
    }
    fn find(&self, mut i: u32) -> (u32, bool) {
        let mut side = false;
        while self.parent[i as usize] != i {
            side ^= self.side[i as usize];
            i = self.parent[i as usize];
        }
        (i, side)
    }
    /// `false` when it contradicts what is known; then nothing changes.
    fn add(&mut self, a: u32, b: u32, apart: bool) -> bool {
        let ((ra, sa), (rb, sb)) = (self.find(a), self.find(b));
        if ra == rb {
            return (sa ^ sb) == apart;
        }
        let (high, low) = if self.size[ra as usize] >= self.size[rb as usize] { (ra, rb) } else { (rb, ra) };
        self.parent[low as usize] = high;
        self.side[low as usize] = sa ^ sb ^ apart;
        self.size[high as usize] += self.size[low as usize];
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Kind::{CannotLink as C, MustLink as M};

    #[test]
    fn pairs_that_contradict_earlier_ones_are_counted() {
        let nodes = Chunklets::singletons(4);
        assert_eq!(refused(&nodes, 3, &[(0, 1, M), (1, 2, M), (0, 2, C)]), 1);
        assert_eq!(refused(&nodes, 3, &[(0, 2, C), (0, 1, M), (1, 2, M)]), 1);
        assert_eq!(refused(&nodes, 3, &[(1, 3, C), (0, 1, M), (2, 3, M), (0, 2, M)]), 1);
        let triangle = [(0, 1, C), (1, 2, C), (0, 2, C)];
        assert_eq!((refused(&nodes, 2, &triangle), refused(&nodes, 3, &triangle)), (1, 0));
        assert_eq!(refused(&nodes, 2, &[(0, 1, C), (1, 2, C), (0, 2, M), (2, 2, C)]), 1);
    }

    #[test]
    fn dense_sets_would_show_errors_and_sparse_ones_would_not() {
        let nodes = Chunklets::singletons(60);
        let kind = |a: u32, b: u32| if a % 2 == b % 2 { M } else { C };
        let dense: Vec<Said> = (0..60).flat_map(|a| (a + 1..60).step_by(3).map(move |b| (a, b, kind(a, b)))).collect();
        let sparse: Vec<Said> = (0..59).map(|a| (a, a + 1, kind(a, a + 1))).collect();
        let mut rng = Rng::stream(1, "test", 0);
        assert!(expected(&nodes, 2, &dense, 0.05, 20, &mut rng) > 10.0);
        assert_eq!(expected(&nodes, 2, &sparse, 0.05, 20, &mut rng), 0.0);
    }
}
