"""Writes small data sets with labels and the internal scores that scikit-learn, SciPy and plain code give them: the
fixture of crates/kinfold/tests/scores.rs.

Run in an environment with scikit-learn:
python scripts/sklearn-internal-scores.py > crates/kinfold/tests/data/sklearn_internal_scores.json

silhouette, calinski_harabasz, davies_bouldin_loss: sklearn.metrics. normalised_hubert: numpy.corrcoef over pairs.
dbcv: the definition of Moulavi et al. (2014) on scipy.spatial.distance and a plain Prim tree,
of equal reachabilities the smaller distance.
"""
import json

import numpy as np
import scipy
import sklearn
from scipy.spatial.distance import pdist, squareform
from sklearn import datasets, metrics


def dbcv(x, labels):
    n, dims = x.shape
    d = squareform(pdist(x))
    core = np.zeros(n)
    for i in range(n):
        own = [j for j in range(n) if labels[j] == labels[i] and j != i]
        if own and d[i, own].min() > 0:
            core[i] = np.exp(-np.log(np.mean(np.exp(-dims * np.log(d[i, own])))) / dims)
    reach = np.maximum(d, np.maximum(core[:, None], core[None, :]))
    sparse, inner = {}, {}
    clusters = sorted(set(labels))
    for c in clusters:
        rows = [i for i in range(n) if labels[i] == c]
        inside, edges = [rows[0]], []
        best = {j: (reach[rows[0], j], d[rows[0], j], rows[0]) for j in rows[1:]}
        while best:
            j = min(best, key=lambda j: (best[j][:2], j))
            w, _, parent = best.pop(j)
            edges.append((w, parent, j))
            inside.append(j)
            for other in best:
                if (reach[j, other], d[j, other]) < best[other][:2]:
                    best[other] = (reach[j, other], d[j, other], j)
        degree = {i: sum(i in e[1:] for e in edges) for i in rows}
        inner[c] = [i for i in rows if degree[i] > 1] or rows
        between = [e[0] for e in edges if degree[e[1]] > 1 and degree[e[2]] > 1] or [e[0] for e in edges] or [0.0]
        sparse[c] = max(between)
    total = 0.0
    for c in clusters:
        size = sum(1 for l in labels if l == c)
        if size < 2:
            continue
        apart = min(reach[np.ix_(inner[c], inner[o])].min() for o in clusters if o != c)
        total += size / n * (apart - sparse[c]) / max(apart, sparse[c])
    return total


rng = np.random.default_rng(20)
cases = []
for case in range(24):
    n, dims, k = int(rng.choice([6, 30, 80])), int(rng.choice([1, 2, 5, 40])), int(rng.integers(2, 5))
    x, truth = datasets.make_blobs(n, dims, centers=k, cluster_std=float(rng.uniform(0.5, 4)), random_state=case)
    x = np.round(x, 4)
    labels = np.where(rng.random(n) < 0.2, rng.integers(0, k, n), truth)
    labels[:2] = [0, 1]
    different = (labels[:, None] != labels[None, :])[np.triu_indices(n, 1)]
    cases.append({
        "dims": dims,
        "x": x.ravel().tolist(),
        "labels": labels.tolist(),
        "silhouette": metrics.silhouette_score(x, labels),
        "normalised_hubert": float(np.corrcoef(different, pdist(x))[0, 1]),
        "hubert": float(np.mean(different * pdist(x))),
        "calinski_harabasz": float(metrics.calinski_harabasz_score(x, labels)),
        "davies_bouldin_loss": float(metrics.davies_bouldin_score(x, labels)),
        "dbcv": float(dbcv(x, labels.tolist())),
    })
print(json.dumps({"scikit_learn": sklearn.__version__, "scipy": scipy.__version__, "cases": cases}))
