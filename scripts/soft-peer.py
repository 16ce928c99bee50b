"""PCK-means and MPCK-means of the package active-semi-supervised-clustering on starts that both programs have in common:
there are exactly k must-linked neighbourhoods, so that both begin at their means.

python scripts/soft-peer.py fixture > crates/kinfold/tests/data/soft_peer.json     the fixture of crates/kinfold/tests/soft_peer.rs
python scripts/soft-peer.py race KINFOLD                                            speed and objective at n = 10,000 and 1,000
"""
import json
import subprocess
import sys
import tempfile
import time

import numpy as np
from active_semi_clustering.semi_supervised.pairwise_constraints.constraints import preprocess_constraints
from active_semi_clustering.semi_supervised.pairwise_constraints.mpckmeans import MPCKMeans
from active_semi_clustering.semi_supervised.pairwise_constraints.pckmeans import PCKMeans

np.seterr(all="ignore")


class Mpck(MPCKMeans):
    """Remembers its metric."""

    def _update_metrics(self, *args):
        self.metric = super()._update_metrics(*args)
        return self.metric


def instance(n, d, k, count, seed, spread=1.0):
    """Overlapping blobs; half of the constraints make one neighbourhood of each class, half are cannot-links."""
    rng = np.random.default_rng(seed)
    truth = rng.permutation(np.arange(n) % k)
    x = np.round(3 * rng.normal(size=(k, d))[truth] + spread * rng.normal(size=(n, d)) * rng.uniform(0.5, 3, d), 4)
    ml, cl = [], []
    members = [rng.permutation(np.flatnonzero(truth == c)) for c in range(k)]
    for i in range(count // 2):
        c, at = i % k, i // k
        ml.append((int(members[c][at]), int(members[c][at + 1])))
    while len(cl) < count - len(ml):
        a, b = (int(i) for i in rng.choice(n, 2, replace=False))
        if truth[a] != truth[b]:
            cl.append((a, b))
    return x, ml, cl


def closed(n, ml, cl):
    ml_graph, cl_graph, _ = preprocess_constraints(ml, cl, n)
    pairs = lambda graph: np.array([(i, j) for i in graph for j in graph[i] if i < j], dtype=int).reshape(-1, 2)
    return pairs(ml_graph), pairs(cl_graph)


def pck_cost(x, k, ml, cl, labels, w):
    together, apart = closed(len(x), ml, cl)
    centres = np.array([x[labels == c].mean(0) for c in range(k)])
    broken = (labels[together[:, 0]] != labels[together[:, 1]]).sum() + (labels[apart[:, 0]] == labels[apart[:, 1]]).sum()
    return 0.5 * ((x - centres[labels]) ** 2).sum() + w * broken


def mpck_cost(x, k, ml, cl, labels, a):
    """The objective of the paper, natural logarithm, w = 1."""
    together, apart = closed(len(x), ml, cl)
    y = x * np.sqrt(a)
    centres = np.array([y[labels == c].mean(0) for c in range(k)])
    squares = (y ** 2).sum(1)
    widest = max(float((squares[i] + squares - 2 * y @ y[i]).max()) for i in range(len(y)))
    square = lambda pairs: ((y[pairs[:, 0]] - y[pairs[:, 1]]) ** 2).sum(1)
    cost = ((y - centres[labels]) ** 2).sum() - len(x) * np.log(a).sum()
    cost += square(together)[labels[together[:, 0]] != labels[together[:, 1]]].sum()
    return cost + (widest - square(apart))[labels[apart[:, 0]] == labels[apart[:, 1]]].sum()


def peer(name, x, k, ml, cl, w):
    np.random.seed(1)
    model = PCKMeans(k, w=w) if name == "pck-means" else Mpck(k, w=w)
    begun = time.time()
    model.fit(x, ml=ml, cl=cl)
    seconds = time.time() - begun
    if name == "pck-means":
        return seconds, pck_cost(x, k, ml, cl, model.labels_, w)
    return seconds, mpck_cost(x, k, ml, cl, model.labels_, np.diag(model.metric))


def fixture():
    cases = []
    for name in ["pck-means", "mpck-means"]:
        for n, d, k, count, w, seed in [(60, 2, 3, 24, 1.0, 1), (90, 3, 4, 40, 1.0, 2), (120, 4, 5, 60, 3.0, 3), (80, 2, 2, 60, 1.0, 4)]:
            w = w if name == "pck-means" else 1.0
            x, ml, cl = instance(n, d, k, count, seed)
            try:
                _, cost = peer(name, x, k, ml, cl, w)
            except Exception as why:  # the peer gives up on an empty cluster
                print(name, n, repr(why), file=sys.stderr)
                continue
            cases.append({"method": name, "rows": x.tolist(), "k": k, "must_link": ml, "cannot_link": cl, "weight": w, "objective": cost})
    print(json.dumps({"package": "active-semi-supervised-clustering 0.0.1", "cases": cases}))


def race(kinfold):
    for name, n in [("pck-means", 10_000), ("mpck-means", 1_000)]:
        x, ml, cl = instance(n, 20, 20, n // 10, 7)
        with tempfile.TemporaryDirectory() as folder:
            np.savetxt(f"{folder}/x.csv", x, delimiter=",", header=",".join(f"f{i}" for i in range(20)), comments="", fmt="%.4f")
            with open(f"{folder}/c.csv", "w") as out:
                out.write("id_a,id_b,answer\n")
                out.writelines(f"{a},{b},same\n" for a, b in ml)
                out.writelines(f"{a},{b},different\n" for a, b in cl)
            unit = ["--set", "unit=absolute"] if name == "pck-means" else []
            command = [kinfold, "cluster", f"{folder}/x.csv", "-k", "20", "-c", f"{folder}/c.csv", "--method", name,
                       "--set", "init=neighbourhoods", "--set", "restarts=1", *unit, "--json", "-q", "--threads", "1"]
            runs = [json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout) for _ in range(5)]
        ours, objective = min(r["elapsed_seconds"] for r in runs), runs[0]["objective"]
        seconds, cost = peer(name, x, 20, ml, cl, 1)
        print(f"{name} n = {n}: {ours:.4f} s against {seconds:.1f} s, {seconds / ours:.0f} times; "
              f"objective {objective:.2f} against {cost:.2f}; {runs[0]['iterations']} iterations", flush=True)


if __name__ == "__main__":
    fixture() if sys.argv[1] == "fixture" else race(sys.argv[2])
