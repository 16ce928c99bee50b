//! What the rows say of the constraints, voice by voice: each space in which they may be clustered, and the spectral
//! embedding of the neighbours there, is a voice of its own. A constraint left out alone is still echoed by neighbours that
//! had listened to it; where asked, a tenth of all is therefore held out at a time.

use super::super::scan::{self, Case, Grid, Ground, Scan};
use super::Judge;
use crate::blocks::belief::{Fit, Network, Tie, odds};
use crate::blocks::candidates::lend;
use crate::blocks::neighbours::{Neighbours, Votes};
use crate::blocks::{represent, spectral};
use crate::constraints::Kind;
use crate::context::RunContext;
use crate::data::{Dataset, Float, Matrix};
use crate::error::Result;

/// Rows × k up to which neighbours are heard in every space.
const MOST_VOICES: usize = 4_000;
/// Ties between nodes of many rows are no stronger than this many votes.
const STRONGEST: f64 = 4.0;
/// Constraints are held out where all are not predicted better than this (nats for each; 5 % of errors alone cost .2).
const WELL_PREDICTED: f64 = -0.15;

impl<F: Float> Judge<'_, F> {
    /// What is weighed in a space.
    pub(super) fn case<'b, G>(&'b self, data: &'b Dataset<'b, G>, network: &'b Network) -> Case<'b, G> {
        let same = self.said.iter().filter(|s| s.2 == Kind::MustLink).count();
        let odds = odds(same as f64 / self.said.len().max(1) as f64);
        Case { data, given: self.given, nodes: &self.nodes, network, odds }
    }

    /// What the rows say for k clusters at these error rates (the first stands for "no errors"), all starts being tried at
    /// the middle one first; `None` when stopped. `hold_out`: also by constraints that are held out, where neighbours are
    /// heard and errors are not ruled out by how well all is predicted.
    pub(super) fn hear(
        &self,
        ctx: &RunContext,
        k: usize,
        near: bool,
        errors: &[f64],
        hold_out: bool,
    ) -> Result<Option<Vec<Scan>>> {
        let keepable = k != self.k || self.looked.keepable(k);
        let by = |f: &Fit| f.predictive;
        let middle = errors.len() / 2;
        if !near {
            let case = self.case(&self.view.judged, &self.network);
            let ground = Ground::new(ctx, &case, k, keepable)?;
            let points = &scan::CENTRES;
            let grid = Grid { points, errors, middle, by, progress: (0, points.len()) };
            return Ok(scan::scan(ctx, &case, &ground, k, &grid).map(|scan| vec![scan]));
        }
        let rows = &self.view.rows;
        let bases = represent::bases(rows, rows, self.view.scaling, &mut ctx.rng("trust-directions", 0))?;
        let mut spaces: Vec<Matrix> = bases.into_iter().map(|base| base.x).collect();
        let all = rows.n() * k <= MOST_VOICES;
        if !all {
            // The last one is the standardised one where there is a choice.
            spaces.drain(..spaces.len() - 1);
        }
        let mut networks = Vec::new();
        let mut voices: Vec<(Matrix, usize)> = Vec::new();
        let last = spaces.len() - 1;
        for (i, x) in spaces.into_iter().enumerate() {
            let votes = Votes::new(&Neighbours::new(&ctx.pool, &x), &self.nodes);
            networks.push(Network::tied(self.nodes.len(), self.network.factors().to_vec(), ties(&votes)));
            voices.push((x, i));
            if all && i == last {
                let embedded = spectral::embed(&votes, &self.nodes, k, &mut ctx.rng("trust-embedding", 0))?;
                voices.push((embedded, i));
            }
        }
        let (points, mut grounds, mut scans) = (&scan::NEIGHBOURS, Vec::new(), Vec::new());
        for (at, (x, network)) in voices.iter().enumerate() {
            let data = lend(x, rows.weights())?;
            let case = self.case(&data, &networks[*network]);
            let ground = Ground::new(ctx, &case, k, keepable)?;
            let progress = (at * points.len(), voices.len() * points.len());
            let Some(scan) = scan::scan(ctx, &case, &ground, k, &Grid { points, errors, middle, by, progress }) else {
                return Ok(None);
            };
            grounds.push(ground);
            scans.push(scan);
        }
        let clean = best(&scans, |s| s.top(0)).top(0);
        if hold_out && clean < WELL_PREDICTED * self.said.len() as f64 {
            for (((x, network), ground), scan) in voices.iter().zip(&grounds).zip(&mut scans) {
                let data = lend(x, rows.weights())?;
                if !scan.hold_out(ctx, &self.case(&data, &networks[*network]), ground, k, errors) {
                    return Ok(None);
                }
            }
        }
        Ok(Some(scans))
    }
}

/// The voice for which `of` is largest.
pub(super) fn best(scans: &[Scan], of: impl Fn(&Scan) -> f64) -> &Scan {
    scans.iter().reduce(|a, b| if of(b) > of(a) { b } else { a }).expect("rows have one voice at least")
}

/// Votes between nodes as ties: one vote for every row, so that a tie of 1 is what all neighbours of a row say.
fn ties(votes: &Votes) -> Vec<Tie> {
    let of = |u: usize| votes.of(u).iter().filter(move |e| e.0 as usize > u).map(move |&(v, w)| (u as u32, v, w));
    let tie = |(a, b, vote): (u32, u32, f64)| Tie { a, b, strength: vote.min(STRONGEST) };
    (0..votes.len()).flat_map(of).map(tie).collect()
}
