"""Writes random rows, constraints and scipy's average linkage of the edited distances: the fixture of
crates/kinfold/tests/average_link.rs.

Run in an environment with scipy: python scripts/scipy-average-link.py > crates/kinfold/tests/data/scipy_average_link.json
"""
import json

import numpy as np
import scipy
from scipy.cluster.hierarchy import fcluster, linkage
from scipy.spatial.distance import pdist, squareform

rng = np.random.default_rng(7)
cases = []
for case in range(24):
    n = int(rng.choice([3, 10, 30, 80]))
    dims = int(rng.integers(1, 6))
    rows = np.round(rng.normal(size=(n, dims)), 3) + 4 * rng.integers(0, 3, size=(n, 1))
    distances = squareform(pdist(rows))
    p = distances.max()
    pairs = {}
    for _ in range([0, n // 4, n, 3 * n][case % 4]):
        a, b = sorted(int(v) for v in rng.choice(n, 2, replace=False))
        pairs[a, b] = bool(rng.integers(2))
    for (a, b), same in pairs.items():
        distances[a, b] += -p if same else p
        distances[b, a] = distances[a, b]
    # fcluster takes no negative heights. A constant on all distances is the same constant on all averages.
    merges = linkage(squareform(distances + p, checks=False), method="average")
    cuts = {k: fcluster(merges, k, "maxclust").tolist() for k in sorted({1, 2, 3, min(7, n), n})}
    # maxclust cuts by height and gives fewer clusters where heights are equal; such cuts say nothing about k.
    cuts = {k: labels for k, labels in cuts.items() if len(set(labels)) == k}
    cases.append({
        "dims": dims,
        "rows": rows.ravel().tolist(),
        "must_link": [pair for pair, same in pairs.items() if same],
        "cannot_link": [pair for pair, same in pairs.items() if not same],
        "heights": (merges[:, 2] - p).tolist(),
        "cuts": [{"k": k, "labels": labels} for k, labels in cuts.items()],
    })
print(json.dumps({"scipy": scipy.__version__, "cases": cases}))
