//! Which units cannot all have their nearest centre: those of components of the cannot-link graph in which an edge joins
//! two units with the same one. Everywhere else the nearest centres are the answer.

use super::par::Pool;
use super::units::{FREE, Units};
use crate::data::Float;

/// Finds who clashes; made once per run.
pub(crate) struct Clashes {
    edges: Vec<(u32, u32)>,
    /// Component of each unit, `FREE` without cannot-links.
    component: Vec<u32>,
    members: Vec<Vec<u32>>,
    /// Unit → its place in `units`, `FREE` for the others.
    pub(crate) row_of: Vec<u32>,
    /// Those that were gathered, ascending.
    pub(crate) units: Vec<u32>,
}

impl Clashes {
    pub(crate) fn new<F: Float>(units: &Units<'_, F>) -> Clashes {
        let members = units.graph.components();
        let mut component = vec![FREE; units.bound()];
        for (number, of) in members.iter().enumerate() {
            of.iter().for_each(|&u| component[u as usize] = number as u32);
        }
        let edges = units.graph.edges().collect();
        Clashes { edges, component, members, row_of: vec![FREE; units.bound()], units: Vec::new() }
    }

    /// Cannot-links between units with the same label.
    pub(crate) fn find(&self, pool: &Pool, labels: &[u32]) -> Vec<(u32, u32)> {
        let found = pool.map_chunks(self.edges.len(), 8192, |range| {
            let clash = |&&(a, b): &&(u32, u32)| labels[a as usize] == labels[b as usize];
            self.edges[range].iter().filter(clash).copied().collect::<Vec<(u32, u32)>>()
        });
        found.concat()
    }

    /// The components of the clashing units, ascending, each with its units, ascending.
    pub(crate) fn components(&self, clash: &[(u32, u32)]) -> Vec<&[u32]> {
        let mut numbers: Vec<u32> = clash.iter().map(|c| self.component[c.0 as usize]).collect();
        numbers.sort_unstable();
        numbers.dedup();
        numbers.iter().map(|&c| self.members[c as usize].as_slice()).collect()
    }

    /// Makes `units` those of the components of these.
    pub(crate) fn gather(&mut self, some: impl IntoIterator<Item = u32>) {
        self.units.iter().for_each(|&u| self.row_of[u as usize] = FREE);
        self.units.clear();
        for a in some {
            if self.row_of[a as usize] == FREE {
                for &u in &self.members[self.component[a as usize] as usize] {
                    self.row_of[u as usize] = 0;
                    self.units.push(u);
                }
            }
        }
        self.units.sort_unstable();
        self.units.iter().enumerate().for_each(|(row, &u)| self.row_of[u as usize] = row as u32);
    }
}
