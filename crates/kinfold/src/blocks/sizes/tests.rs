use super::*;
use crate::rng::Rng;

/// Exhaustive minimum over all labellings.
fn brute(costs: &[f64], k: usize, weights: &[u64], bounds: &Bounds, graph: &Graph) -> f64 {
    let m = weights.len();
    let mut labels = vec![0usize; m];
    let mut best = f64::INFINITY;
    loop {
        let mut loads = vec![0; k];
        labels.iter().zip(weights).for_each(|(&c, &w)| loads[c] += w);
        let proper = graph.edges().all(|(a, b)| labels[a as usize] != labels[b as usize]);
        if proper && bounds.violation(&loads) == 0 {
            best = best.min((0..m).map(|v| costs[v * k + labels[v]]).sum());
        }
        let Some(v) = (0..m).find(|&v| labels[v] + 1 < k) else { return best };
        labels[..v].fill(0);
        labels[v] += 1;
    }
}

fn random_bounds(rng: &mut Rng, k: usize, total: u64) -> Bounds {
    let mut bounds = Bounds::uniform(k, 0, total);
    for c in 0..k {
        bounds.min[c] = rng.below(total as usize / k + 2) as u64;
        bounds.max[c] = bounds.min[c] + rng.below(total as usize / k + 1) as u64;
    }
    bounds
}

fn close(a: f64, b: f64) -> bool {
    a == b || (a - b).abs() < 1e-9
}

#[test]
fn tiny_cases_equal_brute_force() {
    let mut rng = Rng::stream(21, "sizes-test", 0);
    let ctx = RunContext::new(1).with_threads(1);
    let (mut feasible, mut infeasible) = (0, 0);
    for case in 0..2000 {
        let (m, k) = (1 + rng.below(7), 1 + rng.below(4));
        let even = case % 2 == 0;
        let weights: Vec<u64> =
            (0..m).map(|_| if even { 1 + (case % 4) as u64 } else { 1 + rng.below(4) as u64 }).collect();
        let density = if case % 4 < 2 { 0.0 } else { 0.3 };
        let mut edges = Vec::new();
        for a in 0..m as u32 {
            edges.extend((a + 1..m as u32).map(|b| (a, b)).filter(|_| rng.unit() < density));
        }
        let graph = Graph::new(m, edges.into_iter());
        let bounds = random_bounds(&mut rng, k, weights.iter().sum());
        let costs: Vec<f64> = (0..m * k)
            .map(|_| match case % 3 {
                0 => rng.below(4) as f64,
                1 if rng.unit() < 0.2 => f64::INFINITY,
                _ => rng.unit() * 10.0,
            })
            .collect();
        let best = brute(&costs, k, &weights, &bounds, &graph);
        let any = brute(&vec![0.0; m * k], k, &weights, &bounds, &graph);
        assert_eq!(check(&weights, &graph, k, &bounds).is_ok(), any < f64::INFINITY, "case {case}");
        let mut out = vec![0; m];
        let previous: Vec<u32> = (0..m).map(|_| rng.below(k) as u32).collect();
        let warm = (case % 5 == 0).then_some(previous.as_slice());
        match assign_sized(&ctx, &mut Assigner::new(&graph, k), &costs, &weights, &bounds, warm, &mut out) {
            Ok(found) => {
                feasible += 1;
                assert!(found.exact && close(found.cost, best), "case {case}: {} is not {best}", found.cost);
                let own: f64 = out.iter().enumerate().map(|(v, &c)| costs[v * k + c as usize]).sum();
                assert!(close(own, best));
            }
            Err(stuck) => {
                infeasible += 1;
                assert!(stuck.proven && best == f64::INFINITY, "case {case}: {stuck}");
            }
        }
    }
    assert!(feasible > 400 && infeasible > 400, "{feasible} {infeasible}");
}

/// Sizes from a hidden labelling, so that a solution exists.
fn planted(rng: &mut Rng, m: usize, k: usize, heavy: usize, degree: f64) -> (Vec<u64>, Graph, Vec<u32>, Bounds) {
    let hidden: Vec<u32> = (0..m).map(|_| rng.below(k) as u32).collect();
    let weights: Vec<u64> = (0..m).map(|_| 1 + rng.below(heavy) as u64).collect();
    let edges: Vec<(u32, u32)> = (0..(m as f64 * degree / 2.0) as usize)
        .map(|_| (rng.below(m) as u32, rng.below(m) as u32))
        .filter(|&(a, b)| hidden[a as usize] != hidden[b as usize])
        .collect();
    let mut loads = vec![0; k];
    hidden.iter().zip(&weights).for_each(|(&c, &w)| loads[c as usize] += w);
    let bounds =
        Bounds { min: loads.iter().map(|x| x - x / 20).collect(), max: loads.iter().map(|x| x + x / 20).collect() };
    (weights, Graph::new(m, edges.into_iter()), hidden, bounds)
}

#[test]
fn planted_sizes_are_met_with_weights_and_links_and_never_worse_than_a_feasible_start() {
    let ctx = RunContext::new(3).with_threads(1);
    for case in 0..24u64 {
        let mut rng = Rng::stream(22, "sizes-test", case);
        let (m, k) = (40 + rng.below(60), 2 + rng.below(8));
        let heavy = [1, 1, 4][case as usize % 3];
        let degree: f64 = [0.0, 1.5, 3.0, 6.0][case as usize % 4];
        let (weights, graph, hidden, bounds) = planted(&mut rng, m, k, heavy, degree.min(k as f64 * 0.7));
        assert_eq!(check(&weights, &graph, k, &bounds), Ok(()));
        // Everybody prefers the first clusters: the bounds bite.
        let costs: Vec<f64> = (0..m * k).map(|i| rng.unit() + (i % k) as f64 * 0.3).collect();
        let mut assigner = Assigner::new(&graph, k);
        let mut out = vec![0; m];
        let cold = assign_sized(&ctx, &mut assigner, &costs, &weights, &bounds, None, &mut out);
        assert!(cold.is_ok(), "case {case}: {cold:?}");
        let start: f64 = hidden.iter().enumerate().map(|(v, &c)| costs[v * k + c as usize]).sum();
        let warm = assign_sized(&ctx, &mut assigner, &costs, &weights, &bounds, Some(&hidden), &mut out).unwrap();
        assert!(warm.cost <= start);
        let mut loads = vec![0; k];
        out.iter().zip(&weights).for_each(|(&c, &w)| loads[c as usize] += w);
        assert_eq!(bounds.violation(&loads), 0);
        assert!(graph.edges().all(|(a, b)| out[a as usize] != out[b as usize]));
    }
}

#[test]
fn the_flow_is_optimal_by_the_absence_of_negative_cycles() {
    let mut rng = Rng::stream(23, "sizes-test", 0);
    let (m, k) = (3000, 6);
    let costs: Vec<f64> = (0..m * k).map(|i| rng.unit() + (i % k) as f64 * 0.2).collect();
    let bounds = Bounds { min: vec![100, 0, 400, 600, 500, 700], max: vec![600, 450, 500, 900, 3000, 700] };
    let graph = Graph::new(m, std::iter::empty());
    let mut out = vec![0; m];
    let weights = vec![1; m];
    let found =
        assign_sized(&RunContext::new(1), &mut Assigner::new(&graph, k), &costs, &weights, &bounds, None, &mut out)
            .unwrap();
    assert!(found.exact);
    // Residual arcs: cheapest move a → b, and to and from the slack of the bounds.
    let mut loads = vec![0u64; k];
    out.iter().for_each(|&c| loads[c as usize] += 1);
    assert_eq!(bounds.violation(&loads), 0);
    let mut length = vec![vec![f64::INFINITY; k + 1]; k + 1];
    for v in 0..m {
        let a = out[v] as usize;
        for b in (0..k).filter(|&b| b != a) {
            length[a][b] = length[a][b].min(costs[v * k + b] - costs[v * k + a]);
        }
    }
    for c in 0..k {
        if loads[c] < bounds.max[c] {
            length[c][k] = 0.0;
        }
        if loads[c] > bounds.min[c] {
            length[k][c] = 0.0;
        }
    }
    for via in 0..=k {
        for a in 0..=k {
            for b in 0..=k {
                let through = length[a][via] + length[via][b];
                length[a][b] = length[a][b].min(through);
            }
        }
    }
    assert!((0..=k).all(|c| length[c][c] > -1e-9), "{length:?}");
}

#[test]
fn impossible_sizes_are_explained() {
    let none = Graph::new(4, std::iter::empty());
    let why = |weights: &[u64], bounds: Bounds| check(weights, &none, bounds.min.len(), &bounds).unwrap_err();
    assert!(why(&[1; 4], Bounds::uniform(2, 3, 9)).contains("at least 6 rows together, but there are only 4"));
    assert!(why(&[1; 4], Bounds::uniform(2, 0, 1)).contains("at most 2 rows together, but there are 4"));
    assert!(why(&[1, 1, 1, 5], Bounds::uniform(2, 0, 4)).contains("a group of 5 rows"));
    assert!(why(&[3, 3, 3, 1], Bounds::uniform(2, 0, 5)).contains("3 groups of at least 3 rows"));
    assert!(why(&[9, 9], Bounds::uniform(3, 1, 9)).contains("only 2 groups"));
    assert!(why(&[1, 1, 4], Bounds::uniform(2, 3, 6)).contains("all were tried"));
    assert_eq!(check(&[1; 4], &none, 2, &Bounds::uniform(2, 2, 2)), Ok(()));
}
