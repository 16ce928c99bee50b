use super::*;
use crate::rng::Rng;

type Edges = Vec<(u32, u32, f64)>;

/// Exhaustive minimum of E.
fn brute(n: usize, k: usize, costs: &[f64], edges: &[(u32, u32, f64)]) -> f64 {
    let mut labels = vec![0usize; n];
    let mut best = f64::INFINITY;
    loop {
        let mut total: f64 = (0..n).map(|v| costs[v * k + labels[v]]).sum();
        total += edges.iter().filter(|e| labels[e.0 as usize] == labels[e.1 as usize]).map(|e| e.2).sum::<f64>();
        best = best.min(total);
        let Some(v) = (0..n).find(|&v| labels[v] + 1 < k) else { return best };
        labels[..v].fill(0);
        labels[v] += 1;
    }
}

fn energy(k: usize, costs: &[f64], edges: &[(u32, u32, f64)], labels: &[u32]) -> f64 {
    let own: f64 = labels.iter().enumerate().map(|(v, &c)| costs[v * k + c as usize]).sum();
    own + edges.iter().filter(|e| labels[e.0 as usize] == labels[e.1 as usize]).map(|e| e.2).sum::<f64>()
}

fn random_edges(rng: &mut Rng, n: usize, density: f64, weight: impl Fn(&mut Rng) -> f64) -> Edges {
    let mut edges = Vec::new();
    for a in 0..n as u32 {
        for b in a + 1..n as u32 {
            if rng.unit() < density {
                edges.push((a, b, weight(rng)));
            }
        }
    }
    edges
}

fn random_costs(rng: &mut Rng, cells: usize, holes: f64, whole: bool) -> Vec<f64> {
    let mut cell = |_| match (rng.unit() < holes, whole) {
        (true, _) => f64::INFINITY,
        (false, true) => rng.below(4) as f64,
        (false, false) => rng.unit() * 10.0,
    };
    (0..cells).map(&mut cell).collect()
}

fn close(a: f64, b: f64) -> bool {
    a == b || (a - b).abs() < 1e-9
}

#[test]
fn tiny_cases_equal_brute_force_hard_soft_and_mixed() {
    let mut rng = Rng::stream(11, "assign-test", 0);
    let ctx = RunContext::new(1).with_threads(1);
    let (mut feasible, mut infeasible) = (0, 0);
    for case in 0..4000 {
        let n = 1 + rng.below(7);
        let k = 1 + rng.below(4);
        let density = [0.2, 0.4, 0.7, 1.0][case % 4];
        let edges = random_edges(&mut rng, n, density, |rng| match case % 3 {
            0 | 1 => f64::INFINITY,
            _ if rng.unit() < 0.2 => f64::INFINITY,
            _ => rng.unit() * 6.0,
        });
        let holes = [0.0, 0.0, 0.15, 0.4][rng.below(4)];
        let whole = rng.below(2) == 0;
        let costs = random_costs(&mut rng, n * k, holes, whole);
        let best = brute(n, k, &costs, &edges);
        let mut assigner = Assigner::soft(n, &edges, k);
        let previous: Vec<u32> = (0..n).map(|_| rng.below(k) as u32).collect();
        let warm = (case % 2 == 0).then_some(previous.as_slice());
        let mut out = vec![0; n];
        match assigner.assign(&ctx, &costs, warm, &mut out) {
            Err(stuck) => {
                infeasible += 1;
                assert!(stuck.proven);
                assert_eq!(best, f64::INFINITY, "case {case}: {stuck:?}");
            }
            Ok(found) => {
                feasible += 1;
                assert!(found.exact && found.heuristic_components == 0);
                assert!(close(found.cost, best), "case {case}: {} is not {best}", found.cost);
                assert!(close(energy(k, &costs, &edges, &out), best));
            }
        }
    }
    assert!(feasible > 2000 && infeasible > 300, "{feasible} {infeasible}");
}

/// Every solver on its own, without the shortcuts in front of it.
#[test]
fn each_path_alone_equals_brute_force() {
    let mut rng = Rng::stream(12, "assign-test", 0);
    let ctx = RunContext::new(1).with_threads(1);
    for case in 0..1500 {
        let n = 2 + rng.below(6);
        let k = 1 + rng.below(4);
        let soft = case % 3 == 0;
        let edges = random_edges(&mut rng, n, 0.5, |rng| if soft { rng.unit() * 6.0 } else { f64::INFINITY });
        let holes = [0.0, 0.2][case % 2];
        let costs = random_costs(&mut rng, n * k, holes, false);
        let best = brute(n, k, &costs, &edges);
        let net = Net::new(n, &edges);
        let mut labels = vec![0; n];

        let outcome = search::branch_and_bound(&net, k, &costs, f64::INFINITY, u64::MAX);
        assert!(outcome.complete);
        assert!(close(outcome.better.map_or(f64::INFINITY, |b| b.0), best), "branch and bound, case {case}");

        let domains: Vec<Vec<u32>> =
            (0..n).map(|v| (0..k as u32).filter(|&c| costs[v * k + c as usize] < f64::INFINITY).collect()).collect();
        if domains.iter().all(|d| !d.is_empty()) {
            let sizes: Vec<usize> = domains.iter().map(Vec::len).collect();
            let plan = dp::Plan::new(&net, &sizes, f64::INFINITY).unwrap();
            let found = plan.solve(&net, k, &costs, &domains, &mut labels);
            assert!(close(found.unwrap_or(f64::INFINITY), best), "elimination, case {case}");
            assert!(found.is_none() || close(net.energy(k, &costs, &labels), best));

            // The reduction keeps an optimum and carries any feasible start into the lists without loss.
            let mut start: Vec<u32> = (0..n).map(|_| rng.below(k) as u32).collect();
            let before = net.energy(k, &costs, &start);
            let warm = (before < f64::INFINITY).then_some(start.as_mut_slice());
            let lists = kernel::reduce(&net, k, &costs, warm).unwrap().lists;
            let mut reduced = vec![f64::INFINITY; n * k];
            for (v, list) in lists.iter().enumerate() {
                list.iter().for_each(|&c| reduced[v * k + c as usize] = costs[v * k + c as usize]);
            }
            assert!(close(brute(n, k, &reduced, &edges), best), "kernel, case {case}");
            if before < f64::INFINITY {
                assert!(net.energy(k, &reduced, &start) <= before + 1e-12);
            }
        }
        if !soft {
            let verdict = colour::colour(&ctx, &net, k, &costs, &labels, &mut rng);
            match verdict {
                Verdict::Found(found) => assert!(net.energy(k, &costs, &found) < f64::INFINITY),
                other => assert!(other == Verdict::Impossible && best == f64::INFINITY, "case {case}"),
            }
        }
        let task = Task { ctx: &ctx, k, index: 0, nodes: 0 };
        if let Ok((found, _)) = task.large(&net, &costs, None, 0) {
            assert!(best < f64::INFINITY && net.energy(k, &costs, &found) >= best - 1e-9);
        } else {
            assert_eq!(best, f64::INFINITY);
        }
    }
}

#[test]
fn trees_equal_brute_force_hard_and_soft() {
    let mut rng = Rng::stream(13, "assign-test", 0);
    let ctx = RunContext::new(1).with_threads(1);
    for case in 0..1500 {
        let (n, k) = (2 + rng.below(6), 2 + rng.below(3));
        let edges: Edges = (1..n)
            .map(|v| {
                let w = if case % 2 == 0 { f64::INFINITY } else { rng.unit() * 5.0 };
                (rng.below(v) as u32, v as u32, w)
            })
            .collect();
        let holes = [0.0, 0.3][case % 2];
        let costs = random_costs(&mut rng, n * k, holes, case % 5 == 0);
        let mut out = vec![0; n];
        let found = Assigner::soft(n, &edges, k).assign(&ctx, &costs, None, &mut out);
        assert!(close(found.map_or(f64::INFINITY, |a| a.cost), brute(n, k, &costs, &edges)));
    }
}

/// Cannot-links drawn from a hidden labelling.
fn planted(rng: &mut Rng, n: usize, k: usize, degree: f64) -> (Graph, Vec<u32>) {
    let hidden: Vec<u32> = (0..n).map(|_| rng.below(k) as u32).collect();
    let mut edges = Vec::new();
    let wanted = (n as f64 * degree / 2.0) as usize;
    for _ in 0..wanted * 40 {
        if edges.len() >= wanted {
            break;
        }
        let (a, b) = (rng.below(n), rng.below(n));
        if hidden[a] != hidden[b] {
            edges.push((a as u32, b as u32));
        }
    }
    (Graph::new(n, edges.iter().copied()), hidden)
}

fn assert_proper(graph: &Graph, labels: &[u32]) {
    assert!(graph.edges().all(|(a, b)| labels[a as usize] != labels[b as usize]));
}

/// Assigns planted graphs of `least..most` units for every k, cold and from the hidden labels; (proven, all) cases.
fn run_planted(factors: &[f64], least: usize, most: usize) -> (usize, usize) {
    let ctx = RunContext::new(5).with_threads(1);
    let (mut exact, mut cases) = (0, 0);
    for k in 2..=20usize {
        for (i, &factor) in factors.iter().enumerate() {
            let mut rng = Rng::stream(14, "planted", (k * 100 + i) as u64);
            let n = least + rng.below(most - least);
            let degree = (factor * k as f64).min(n as f64 * 0.9);
            let (graph, hidden) = planted(&mut rng, n, k, degree);
            let costs: Vec<f64> = (0..n * k).map(|_| rng.unit()).collect();
            let mut assigner = Assigner::new(&graph, k);
            let mut out = vec![0; n];
            let cold = assigner.assign(&ctx, &costs, None, &mut out);
            let cold = cold.unwrap_or_else(|stuck| panic!("k {k}, {n} units, degree {degree}: {stuck}"));
            assert_proper(&graph, &out);
            let warm = assigner.assign(&ctx, &costs, Some(&hidden), &mut out).unwrap();
            assert_proper(&graph, &out);
            let start: f64 = hidden.iter().enumerate().map(|(v, &c)| costs[v * k + c as usize]).sum();
            assert!(warm.cost <= start);
            if cold.exact && warm.exact {
                exact += 1;
                assert!(close(cold.cost, warm.cost));
            }
            cases += 1;
        }
    }
    (exact, cases)
}

#[test]
fn planted_graphs_are_always_assigned_and_never_worse_than_a_feasible_start() {
    let (exact, cases) = run_planted(&[0.3, 1.0, 2.0, 6.0], 20, 60);
    assert!(exact * 4 > cases, "{exact} of {cases} proven");
}

#[test]
fn costs_that_know_the_hidden_labels_lead_to_something_as_good() {
    let mut rng = Rng::stream(15, "planted", 0);
    let (n, k) = (400, 8);
    let (graph, hidden) = planted(&mut rng, n, k, 20.0);
    let costs: Vec<f64> =
        (0..n * k).map(|i| if hidden[i / k] as usize == i % k { rng.unit() } else { 0.6 + rng.unit() }).collect();
    let mut out = vec![0; n];
    let found = Assigner::new(&graph, k).assign(&RunContext::new(1), &costs, None, &mut out).unwrap();
    assert_proper(&graph, &out);
    let start: f64 = hidden.iter().enumerate().map(|(v, &c)| costs[v * k + c as usize]).sum();
    assert!(found.cost <= start, "{} {start} {found:?}", found.cost);
}

#[test]
fn an_odd_cycle_with_two_clusters_and_a_large_clique_are_proven_infeasible() {
    let ctx = RunContext::new(1);
    let cycle = Graph::new(6, (0..5u32).map(|v| (v, (v + 1) % 5)));
    let stuck = Assigner::new(&cycle, 2).assign(&ctx, &[1.0; 12], None, &mut [0; 6]).unwrap_err();
    assert_eq!(stuck, Stuck { vertices: vec![0, 1, 2, 3, 4], proven: true });
    // A wheel over a clique: not a clique itself, still too dense.
    let mut edges: Vec<(u32, u32)> = (0..12u32).flat_map(|a| (a + 1..12).map(move |b| (a, b))).collect();
    edges.push((0, 12));
    let graph = Graph::new(13, edges.into_iter());
    let stuck = Assigner::new(&graph, 11).assign(&ctx, &[1.0; 13 * 11], None, &mut [0; 13]).unwrap_err();
    assert!(stuck.proven && stuck.vertices.len() == 13);
}

#[test]
fn an_infeasible_graph_without_a_large_clique_is_proven() {
    // The Grötzsch graph: no triangle, needs four clusters.
    let mut edges: Vec<(u32, u32)> = (0..5u32).map(|v| (v, (v + 1) % 5)).collect();
    edges.extend((0..5u32).flat_map(|v| [(5 + v, (v + 1) % 5), (5 + v, (v + 4) % 5), (5 + v, 10)]));
    let graph = Graph::new(11, edges.into_iter());
    let ctx = RunContext::new(1);
    let costs = [1.0; 44];
    assert!(Assigner::new(&graph, 3).assign(&ctx, &costs[..33], None, &mut [0; 11]).unwrap_err().proven);
    let net = Net::new(11, &graph.edges().map(|(a, b)| (a, b, f64::INFINITY)).collect::<Vec<_>>());
    let mut rng = ctx.rng("test", 0);
    assert_eq!(colour::colour(&ctx, &net, 3, &costs[..33], &[0; 11], &mut rng), Verdict::Impossible);
    let mut out = [0; 11];
    Assigner::new(&graph, 4).assign(&ctx, &costs, None, &mut out).unwrap();
    assert_proper(&graph, &out);
}

#[test]
fn labels_do_not_depend_on_the_number_of_threads() {
    let mut rng = Rng::stream(16, "threads", 0);
    let (n, k) = (1500, 5);
    // Many components and one large one.
    let (large, _) = planted(&mut rng, 300, k, 8.0);
    let mut edges: Vec<(u32, u32)> = large.edges().collect();
    for first in (300..n as u32).step_by(6) {
        edges.extend((0..5).flat_map(|a| (a + 1..5).map(move |b| (first + a, first + b))).filter(|_| rng.unit() < 0.6));
    }
    let graph = Graph::new(n, edges.into_iter());
    let costs: Vec<f64> = (0..n * k).map(|_| rng.below(50) as f64).collect();
    let run = |threads| {
        let mut out = vec![0; n];
        let found =
            Assigner::new(&graph, k).assign(&RunContext::new(3).with_threads(threads), &costs, None, &mut out).unwrap();
        (out, found.cost.to_bits())
    };
    let one = run(1);
    assert_proper(&graph, &one.0);
    assert_eq!(one, run(2));
    assert_eq!(one, run(3));
}
