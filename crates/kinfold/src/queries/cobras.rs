//! COBRAS (Van Craenendonck et al. 2018): super-instances are split where it pays and merged again. The largest one is split
//! into 2^d cells, d found by asking whether its halves differ, halves of halves, and so on; then clusters are merged as in
//! COBRA. Answers live in the closure at row level, so none is lost when representatives change; cells whose answered
//! rows are known to be apart are split first. k need not be known. Cost: k-means on a cell, O(cells²·dims) per question.

use super::supers::{cells, nearest_undecided, representative};
use super::{Info, QueryStrategy, Question, Sight, State, Step};
use crate::constraints::Entailed;
use crate::error::Result;

crate::params! {
    /// Parameters of `cobras`.
    pub struct CobrasParams {
        /// Starts of k-means.
        restarts: usize = 10, 1 => 10_000;
    }
}

/// See the module.
pub struct Cobras(CobrasParams);

const CHOOSE: u32 = 0;
const LEVEL: u32 = 1;
const MERGE: u32 = 2;

impl QueryStrategy for Cobras {
    type Params = CobrasParams;
    const INFO: Info = Info {
        name: "cobras",
        summary: "cells split where answers differ and merged where they agree, largest first",
        paper: "T. Van Craenendonck, S. Dumančić, E. Van Wolputte, H. Blockeel, COBRAS, IDA 2018",
        refits: false,
        k: "not used",
        cost: "O(cells²·dims), k-means on a cell when it is split",
    };

    fn new(params: CobrasParams) -> Result<Self> {
        Ok(Cobras(params))
    }

    fn step(&self, sight: &Sight<'_>, state: &mut State) -> Result<Step> {
        if !state.started {
            state.started = true;
            state.cells = vec![(0..sight.n() as u32).collect()];
            // Cell in hand and level of its split.
            state.counts = vec![0, 0];
        }
        loop {
            match state.phase {
                CHOOSE => {
                    let Some(cell) = choose(sight, state) else { return Ok(sight.nothing_left()) };
                    state.counts = vec![cell as u64, 0];
                    state.queue = state.cells[cell].clone();
                    state.pairs.clear();
                    state.phase = LEVEL;
                }
                LEVEL => {
                    if state.pairs.is_empty() && !self.halve(sight, state)? {
                        self.split(sight, state)?;
                        continue;
                    }
                    let (a, b) = state.pairs[0];
                    match sight.known.entails(a as usize, b as usize) {
                        Entailed::Unknown if sight.known.askable(a as usize, b as usize) => {
                            return Ok(Step::Ask(Question::new(
                                a as usize,
                                b as usize,
                                "are the two halves of this group one?",
                            )));
                        }
                        Entailed::Different => {
                            state.counts[1] += 1;
                            // The smaller half with two rows or more was put first.
                            let half = std::mem::take(&mut state.assumed);
                            state.queue = half.into_iter().map(|h| h.0).collect();
                            state.pairs.clear();
                            if state.queue.len() < 2 {
                                self.split(sight, state)?;
                            }
                        }
                        _ => self.split(sight, state)?,
                    }
                }
                _ => {
                    let touched: Vec<Vec<usize>> = state.cells.iter().map(|c| answered(sight, c)).collect();
                    let cluster = clusters(sight, &touched);
                    let mut of_cluster: Vec<Vec<usize>> = vec![Vec::new(); cluster.len()];
                    cluster.iter().zip(&touched).for_each(|(&c, rows)| of_cluster[c].extend(rows));
                    // Any answered rows of the two clusters that are known to be apart.
                    let apart = |a: usize, b: usize| {
                        let (x, y) = (&of_cluster[cluster[a]], &of_cluster[cluster[b]]);
                        x.iter().any(|&i| y.iter().any(|&j| sight.known.entails(i, j) == Entailed::Different))
                    };
                    if let Some((a, b)) = nearest_undecided(sight, &state.cells, &cluster, apart) {
                        return Ok(Step::Ask(Question::new(
                            a as usize,
                            b as usize,
                            "the nearest two groups that may be one",
                        )));
                    }
                    state.phase = CHOOSE;
                }
            }
        }
    }
}

/// One row of every chunklet that has a row of the cell in an answer.
fn answered(sight: &Sight<'_>, cell: &[u32]) -> Vec<usize> {
    let mut roots: Vec<usize> =
        cell.iter().map(|&r| r as usize).filter(|&r| sight.known.touched(r)).map(|r| sight.known.root(r)).collect();
    roots.sort_unstable();
    roots.dedup();
    roots
}

/// Cells that share a chunklet of answered rows are one cluster.
fn clusters(sight: &Sight<'_>, answered: &[Vec<usize>]) -> Vec<usize> {
    let mut cluster: Vec<usize> = (0..answered.len()).collect();
    let mut first = vec![usize::MAX; sight.n()];
    for (cell, roots) in answered.iter().enumerate() {
        for &root in roots {
            if first[root] == usize::MAX {
                first[root] = cell;
                continue;
            }
            let (from, to) = (cluster[cell].max(cluster[first[root]]), cluster[cell].min(cluster[first[root]]));
            cluster.iter_mut().filter(|c| **c == from).for_each(|c| *c = to);
        }
    }
    cluster
}

/// The cell to split: one with answered rows that are known to be apart, else the largest; ties to the lower first row.
fn choose(sight: &Sight<'_>, state: &State) -> Option<usize> {
    let torn = |cell: &[u32]| {
        let roots = answered(sight, cell);
        roots
            .iter()
            .enumerate()
            .any(|(i, &a)| roots[i + 1..].iter().any(|&b| sight.known.entails(a, b) == Entailed::Different))
    };
    let open =
        (0..state.cells.len()).filter(|&c| state.cells[c].len() > 1 && !state.passed.contains(&state.cells[c][0]));
    // A cell that is one chunklet holds no question.
    let open = open.filter(|&c| {
        let root = sight.known.root(state.cells[c][0] as usize);
        state.cells[c].iter().any(|&r| sight.known.root(r as usize) != root)
    });
    open.max_by_key(|&c| (torn(&state.cells[c]), state.cells[c].len(), u32::MAX - state.cells[c][0]))
}

impl Cobras {
    /// Halves the rows in hand: the representatives to `pairs`, the smaller half to `assumed`. False when there is one cell.
    fn halve(&self, sight: &Sight<'_>, state: &mut State) -> Result<bool> {
        let halves = cells(sight.ground, &state.queue, 2, self.0.restarts)?;
        let [first, second] = halves.as_slice() else { return Ok(false) };
        state.pairs = vec![(representative(sight.ground, first), representative(sight.ground, second))];
        let mut both = [first, second];
        both.sort_by_key(|h| (h.len() < 2, h.len(), h[0]));
        state.assumed = both[0].iter().map(|&r| (r, 0)).collect();
        Ok(true)
    }

    /// Splits the cell in hand and goes on to merging; a cell that cannot be split is put back and marked.
    fn split(&self, sight: &Sight<'_>, state: &mut State) -> Result<()> {
        let (cell, level) = (state.counts[0] as usize, state.counts[1].max(1).min(20));
        let rows = state.cells[cell].clone();
        let found = cells(sight.ground, &rows, 1usize << level, self.0.restarts)?;
        if found.len() < 2 {
            state.passed.push(rows[0]);
            state.phase = CHOOSE;
        } else {
            state.cells.swap_remove(cell);
            state.cells.extend(found);
            state.cells.sort_unstable();
            state.phase = MERGE;
        }
        (state.queue, state.pairs, state.assumed) = (Vec::new(), Vec::new(), Vec::new());
        Ok(())
    }
}
