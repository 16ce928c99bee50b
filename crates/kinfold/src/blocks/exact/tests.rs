use super::*;
use crate::blocks::units::Units;
use crate::constraints::{Chunklets, ConstraintSet, Kind};
use crate::data::Dataset;
use crate::rng::Rng;

const PLAN: Plan = Plan { k: 2, tolerance: 1e-6, work: u64::MAX };

fn masses(rows: &[f64], dims: usize, chunklets: &Chunklets) -> Masses {
    let data = Dataset::dense(rows, dims).unwrap();
    Masses::new(&Units::all(&data, chunklets)).unwrap()
}

/// The cheapest valid labelling of all, by looking at every one.
fn enumerated(masses: &Masses, k: usize) -> Option<f64> {
    fn go(masses: &Masses, k: usize, labels: &mut Vec<u32>, used: usize, best: &mut Option<f64>) {
        let at = labels.len();
        if at == masses.len() {
            let cost = masses.cost_of(labels, k);
            *best = Some(best.map_or(cost, |b| b.min(cost)));
            return;
        }
        for l in 0..(used + 1).min(k) {
            if (0..at).all(|i| labels[i] != l as u32 || !masses.are_apart(i, at)) {
                labels.push(l as u32);
                go(masses, k, labels, used.max(l + 1), best);
                labels.pop();
            }
        }
    }
    let mut best = None;
    go(masses, k, &mut Vec::new(), 0, &mut best);
    best
}

/// Some valid labelling, found by enumeration as well.
fn any_valid(masses: &Masses, k: usize) -> Vec<u32> {
    let mut labels: Vec<u32> = Vec::new();
    let fits = |labels: &[u32], l: u32| {
        let at = labels.len();
        (0..at).all(|i| labels[i] != l || !masses.are_apart(i, at))
    };
    let mut next = 0;
    while labels.len() < masses.len() {
        match (next..k as u32).find(|&l| fits(&labels, l)) {
            Some(l) => {
                labels.push(l);
                next = 0;
            }
            None => next = labels.pop().expect("the instance is feasible") + 1,
        }
    }
    labels
}

/// A small random instance that k clusters can keep.
fn instance(seed: u64) -> (Masses, usize) {
    let mut rng = Rng::stream(seed, "exact test", 0);
    loop {
        let (n, dims, k) = (6 + rng.below(4), 1 + rng.below(3), 2 + rng.below(2));
        let rows: Vec<f64> = (0..n * dims).map(|_| (4.0 * rng.normal()).round()).collect();
        let mut given = ConstraintSet::new(n);
        for _ in 0..rng.below(7) {
            let a = rng.below(n);
            let b = (a + 1 + rng.below(n - 1)) % n;
            let kind = if rng.unit() < 0.35 { Kind::MustLink } else { Kind::CannotLink };
            given.add_pair(kind, a, b).unwrap();
        }
        let Ok(chunklets) = given.close() else { continue };
        let masses = masses(&rows, dims, &chunklets);
        if chunklets.len() >= k && enumerated(&masses, k).is_some() {
            return (masses, k);
        }
    }
}

#[test]
fn random_tiny_instances_equal_enumeration_whatever_the_start() {
    let ctx = RunContext::new(0).with_threads(1);
    let mut branched = 0;
    for seed in 0..80 {
        let (masses, k) = instance(seed);
        let best = enumerated(&masses, k).unwrap();
        let proof = solve(&ctx, &masses, &[any_valid(&masses, k)], Plan { k, ..PLAN });
        assert_eq!(proof.termination, Termination::Optimal, "seed {seed}: {proof:?}");
        assert!((proof.objective - best).abs() <= 1e-6 * best.max(1e-3), "seed {seed}: {} {best}", proof.objective);
        assert!(proof.lower_bound <= best + 1e-9, "seed {seed}: {} {best}", proof.lower_bound);
        branched += usize::from(proof.nodes > 1);
    }
    assert!(branched > 0, "no instance needed branching");
}

#[test]
fn the_bound_never_exceeds_the_optimum_when_the_work_is_cut_short() {
    let ctx = RunContext::new(0).with_threads(1);
    for seed in 0..25 {
        let (masses, k) = instance(1000 + seed);
        let best = enumerated(&masses, k).unwrap();
        for work in [0, 500, 2000, 10_000] {
            let proof = solve(&ctx, &masses, &[any_valid(&masses, k)], Plan { k, work, ..PLAN });
            assert!(proof.lower_bound <= best * (1.0 + 1e-9) + 1e-9, "seed {seed}, work {work}: {proof:?} {best}");
            assert!(proof.objective >= best * (1.0 - 1e-9) - 1e-9);
        }
    }
}

#[test]
fn pricing_finds_the_cheapest_valid_cluster_of_all() {
    let ctx = RunContext::new(0).with_threads(1);
    for seed in 0..60 {
        let (masses, _) = instance(2000 + seed);
        let mut rng = Rng::stream(seed, "prices", 0);
        let scale: f64 = masses.own.iter().sum::<f64>() / masses.len() as f64;
        let prices = Prices {
            blocks: (0..masses.len()).map(|_| 2.0 * scale * rng.unit()).collect(),
            cluster: scale * rng.unit(),
        };
        let all =
            (1u32..1 << masses.len()).map(|bits| (0..masses.len() as u32).filter(|b| bits >> b & 1 == 1).collect());
        let least = all
            .filter(|m: &Vec<u32>| masses.valid(m))
            .map(|m| pricing::reduced_cost(&masses, &prices, &m))
            .fold(f64::INFINITY, f64::min);
        let eps = 1e-6;
        // Every box, none cut short: greedy columns would otherwise end it early.
        let effort = Effort { eps, work: u64::MAX };
        let found = pricing::search(&ctx, &masses, &prices, None, effort);
        assert!(found.bound <= least + 1e-7, "seed {seed}: {} {least}", found.bound);
        if found.columns.is_empty() {
            assert!(least >= -2.0 * eps, "seed {seed}: nothing found, {least}");
        } else {
            let best = &found.columns[0];
            assert!(masses.valid(&best.members) && best.value < 0.0);
            assert!((best.value - pricing::reduced_cost(&masses, &prices, &best.members)).abs() < 1e-9);
        }
        // Prices lowered to where nothing is negative: the bound must be tight.
        if least < -1e-3 {
            let raised = Prices { cluster: prices.cluster - least, ..prices };
            let found = pricing::search(&ctx, &masses, &raised, None, effort);
            assert!(found.columns.is_empty() && found.bound.abs() < 1e-5, "seed {seed}: {found:?}");
        }
    }
}

/// Σ min(0, g) over all blocks plus σ, least over very many centres: what pricing without cannot-links must reach.
fn sampled(masses: &Masses, prices: &Prices, rng: &mut Rng) -> f64 {
    let value = |y: &[f64]| {
        let g = |b: usize| masses.weight[b] * masses.distance2(b, y) + masses.scatter[b] - prices.blocks[b];
        let members: Vec<u32> = (0..masses.len()).filter(|&b| g(b) < 0.0).map(|b| b as u32).collect();
        if members.is_empty() {
            return (prices.cluster, y.to_vec());
        };
        (pricing::reduced_cost(masses, prices, &members), masses.sum(&members).mean())
    };
    let mut least = f64::INFINITY;
    for _ in 0..3000 {
        let (a, b) = (rng.below(masses.len()), rng.below(masses.len()));
        let t = 1.5 * rng.unit() - 0.25;
        let mut y: Vec<f64> = masses.point(a).iter().zip(masses.point(b)).map(|(p, q)| p + t * (q - p)).collect();
        for _ in 0..20 {
            let (reached, mean) = value(&y);
            least = least.min(reached);
            y = mean;
        }
    }
    least
}

#[test]
fn no_centre_of_very_many_does_better_than_the_bound_and_one_reaches_it() {
    let ctx = RunContext::new(0).with_threads(1);
    for seed in 0..12 {
        let mut rng = Rng::stream(seed, "sampled", 0);
        let (n, dims) = (40, 1 + seed as usize % 4);
        let rows: Vec<f64> = (0..n * dims).map(|i| rng.normal() + f64::from((i / dims % 3) as u8) * 2.0).collect();
        let masses = masses(&rows, dims, &Chunklets::singletons(n));
        let blocks: Vec<f64> = (0..n).map(|_| 1000.0 / n as f64 * (0.3 + rng.unit())).collect();
        let raw = Prices { blocks, cluster: 0.0 };
        // Prices at which the cheapest cluster is just worth nothing, and a little below.
        let least = sampled(&masses, &raw, &mut rng);
        for off in [0.0, 0.5] {
            let prices = Prices { cluster: off - least, ..raw.clone() };
            let found = pricing::search(&ctx, &masses, &prices, None, Effort { eps: 1e-5, work: u64::MAX });
            assert!(found.columns.is_empty(), "seed {seed}: sampling missed {:?}", found.columns[0].value);
            assert!(found.bound <= off + 1e-9 && found.bound >= -2e-5, "seed {seed}: {}", found.bound);
        }
        let prices = Prices { cluster: -least - 1e-3, ..raw };
        let found = pricing::search(&ctx, &masses, &prices, None, Effort { eps: 1e-5, work: u64::MAX });
        assert!((found.columns[0].value + 1e-3).abs() < 1e-6, "seed {seed}: {:?}", found.columns[0].value);
    }
}

#[test]
fn the_worked_examples_come_out() {
    // spec/exact.md §7.1, 7.2 and 7.3.
    let rows = [0.0, 1.0, 9.0, 10.0];
    let ctx = RunContext::new(0).with_threads(1);
    let mut apart = ConstraintSet::new(4);
    apart.add_pair(Kind::CannotLink, 0, 1).unwrap();
    let mut linked = ConstraintSet::new(4);
    linked.add_pair(Kind::MustLink, 1, 2).unwrap();
    for (given, optimum) in [(ConstraintSet::new(4), 1.0), (apart, 146.0 / 3.0), (linked, 146.0 / 3.0)] {
        let masses = masses(&rows, 1, &given.close().unwrap());
        let proof = solve(&ctx, &masses, &[any_valid(&masses, 2)], PLAN);
        assert_eq!(proof.termination, Termination::Optimal);
        assert!((proof.objective * masses.unit - optimum).abs() < 1e-9 * optimum, "{proof:?}");
    }
    let masses = masses(&rows, 1, &Chunklets::singletons(4));
    let duals = Prices { blocks: vec![0.5 / masses.unit; 4], cluster: 0.5 / masses.unit };
    assert!(pricing::reduced_cost(&masses, &duals, &[0, 1]).abs() < 1e-9);
    let found = pricing::search(&ctx, &masses, &duals, None, Effort { eps: 1e-6, work: u64::MAX });
    assert!(found.columns.is_empty() && found.bound.abs() < 1e-5);
}

#[test]
fn a_node_with_further_constraints_is_the_problem_with_them_given() {
    // Ryan–Foster children: the better of "together" and "apart" is the optimum of the whole.
    let ctx = RunContext::new(0).with_threads(1);
    for seed in 0..15 {
        let (masses, k) = instance(3000 + seed);
        let free = (0..masses.len() as u32).flat_map(|a| (a + 1..masses.len() as u32).map(move |b| (a, b)));
        let Some((a, b)) = free.clone().find(|&(a, b)| !masses.are_apart(a as usize, b as usize)) else { continue };
        let group: Vec<u32> = (0..masses.len() as u32).collect();
        let node = Node { count: group.len(), group, apart: Vec::new(), bound: 0.0, boxes: None };
        let start = any_valid(&masses, k);
        let solver = Solver {
            ctx: &ctx,
            plan: Plan { k, ..PLAN },
            root: &masses,
            objective: masses.cost_of(&start, k),
            labels: start,
            trace: Vec::new(),
            pool: Vec::new(),
            seen: FxHashSet::default(),
            rounds: 0,
            nodes: 0,
            work: 0,
            others: f64::INFINITY,
        };
        let costs: Vec<f64> = solver
            .children(&node, a, b)
            .iter()
            .filter_map(|child| enumerated(&masses.merged(&child.group, child.count, &child.apart)?, k))
            .collect();
        let best = costs.into_iter().fold(f64::INFINITY, f64::min);
        assert!((best - enumerated(&masses, k).unwrap()).abs() < 1e-9 * best.max(1.0), "seed {seed}");
    }
}
