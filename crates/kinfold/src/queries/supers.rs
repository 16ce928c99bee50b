//! Super-instances: small k-means cells whose rows are asked about through one representative, the member nearest the
//! mean. Cells of the same rows are always the same: their seeds are made from the rows.

use super::{Ground, Sight};
use crate::blocks::lloyd::{Limits, Nearest, lloyd};
use crate::blocks::units::Units;
use crate::blocks::{restarts, seeding};
use crate::constraints::Chunklets;
use crate::context::RunContext;
use crate::data::{Dataset, Matrix, Table};
use crate::error::Result;

/// k-means of some rows into at most `m` cells, each ascending, ordered by their first row.
pub fn cells(ground: &Ground, rows: &[u32], m: usize, restarts: usize) -> Result<Vec<Vec<u32>>> {
    let m = m.min(rows.len()).max(1);
    if m == 1 {
        return Ok(vec![rows.to_vec()]);
    }
    if m == rows.len() {
        return Ok(rows.iter().map(|&r| vec![r]).collect());
    }
    let mut hash = 0xcbf2_9ce4_8422_2325_u64 ^ m as u64;
    rows.iter().for_each(|&r| hash = (hash ^ u64::from(r)).wrapping_mul(0x0100_0000_01b3));
    let x = ground.rows();
    let all = Dataset::dense_trusted(x.values(), x.cols());
    let wanted: Vec<usize> = rows.iter().map(|&r| r as usize).collect();
    let table = Table::select(&all, &wanted);
    let data = table.lend();
    let alone = Chunklets::singletons(data.n());
    let units = Units::new(&data, &alone);
    let ctx = RunContext::on_pool(hash, ground.pool());
    let limits = Limits { max_iter: 100, tolerance: 1e-6 };
    let outcome = restarts::best_of(&ctx, restarts, data.n() * data.dims(), |ctx, r| {
        let none = Matrix::zeros(0, data.dims());
        let centres = seeding::kmeans_plus_plus(&ctx.pool, &units, m, none, true, &mut ctx.rng("cells", r));
        lloyd(ctx, &units, centres, limits, &mut Nearest)
    })?;
    let mut found: Vec<Vec<u32>> = vec![Vec::new(); m];
    rows.iter().zip(&outcome.labels).for_each(|(&row, &l)| found[l as usize].push(row));
    // Equal rows share a cell whatever k-means made of empty clusters.
    found.retain(|c| !c.is_empty());
    if found.len() > 1 && rows.iter().all(|&r| ground.distance2(r as usize, rows[0] as usize) == 0.0) {
        return Ok(vec![rows.to_vec()]);
    }
    found.sort_unstable();
    Ok(found)
}

/// The member nearest to the mean; ties to the lower row.
pub fn representative(ground: &Ground, rows: &[u32]) -> u32 {
    let mean = ground.mean(rows.iter().map(|&r| r as usize));
    let keyed = rows.iter().map(|&r| (ground.distance2_to(r as usize, &mean), r));
    keyed.min_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1))).map_or(0, |x| x.1)
}

/// The askable pair of representatives of two clusters that are nearest by the means of their cells, if any pair of
/// clusters is undecided. `cluster` numbers the cluster of each cell, `decided` says whether two cells' clusters are known
/// to be different.
pub fn nearest_undecided(
    sight: &Sight<'_>,
    cells: &[Vec<u32>],
    cluster: &[usize],
    decided: impl Fn(usize, usize) -> bool,
) -> Option<(u32, u32)> {
    let means: Vec<Vec<f64>> = cells.iter().map(|c| sight.ground.mean(c.iter().map(|&r| r as usize))).collect();
    let heads: Vec<u32> = cells.iter().map(|c| representative(sight.ground, c)).collect();
    let mut best: Option<(f64, u32, u32)> = None;
    for a in 0..cells.len() {
        for b in a + 1..cells.len() {
            if cluster[a] == cluster[b] {
                continue;
            }
            let d: f64 = means[a].iter().zip(&means[b]).map(|(x, y)| (x - y) * (x - y)).sum();
            if best.is_none_or(|x| d < x.0)
                && !decided(a, b)
                && sight.known.askable(heads[a] as usize, heads[b] as usize)
            {
                best = Some((d, heads[a], heads[b]));
            }
        }
    }
    best.map(|b| (b.1, b.2))
}
