"""Writes random pairs and chunklets with the metrics that metric-learn learns from them: the fixture of
crates/kinfold/tests/metrics.rs.

Run in an environment with metric-learn: python scripts/metric-learn-fixture.py > crates/kinfold/tests/data/metric_learn.json
"""
import json

import metric_learn
import metric_learn._util as util
import numpy as np


def renamed(check):
    """metric-learn 0.7 calls scikit-learn's checks by a parameter that newer ones have renamed."""
    def call(*args, **named):
        if "force_all_finite" in named:
            named["ensure_all_finite"] = named.pop("force_all_finite")
        return check(*args, **named)
    return call


util.check_array, util.check_X_y = renamed(util.check_array), renamed(util.check_X_y)
rng = np.random.default_rng(5)


def rows(n, d):
    classes = rng.integers(0, 3, n)
    # Well conditioned, so that two programs can agree to ten digits.
    mix = np.linalg.qr(rng.normal(size=(d, d)))[0] * rng.uniform(0.5, 5, d)
    return np.round((3 * rng.normal(size=(3, d))[classes] + rng.normal(size=(n, d))) @ mix, 3), classes


itml = []
for n, d, pairs, gamma in [(20, 1, 8, 1.0), (30, 2, 20, 1.0), (60, 4, 60, 1.0), (60, 4, 60, 0.1), (80, 6, 150, 10.0), (50, 10, 80, 2.5)]:
    x, classes = rows(n, d)
    drawn = np.array([rng.choice(n, 2, replace=False) for _ in range(pairs)])
    same = classes[drawn[:, 0]] == classes[drawn[:, 1]]
    squares = ((x[drawn[:, 0]] - x[drawn[:, 1]]) ** 2).sum(1)
    bounds = np.percentile(squares, [20, 80])
    model = metric_learn.ITML(gamma=gamma, prior="identity", max_iter=1000, tol=1e-3, preprocessor=x)
    model.fit(drawn, np.where(same, 1, -1), bounds=bounds)
    itml.append({"rows": x.tolist(), "pairs": drawn.tolist(), "same": same.tolist(), "gamma": gamma,
                 "upper": bounds[0], "lower": bounds[1], "m": model.get_mahalanobis_matrix().tolist()})

rca = []
for n, d, chunks in [(30, 1, 6), (40, 3, 10), (90, 5, 20), (200, 8, 25)]:
    x, _ = rows(n, d)
    of = rng.integers(-1, chunks, n)
    # Chunklets of one row say nothing in either program.
    for c in range(chunks):
        if (of == c).sum() < 2:
            of[of == c] = -1
    names = {c: i for i, c in enumerate(sorted(set(of.tolist()) - {-1}))}
    of = np.array([names.get(c, -1) for c in of])
    rca.append({"rows": x.tolist(), "chunk": of.tolist(),
                "m": metric_learn.RCA().fit(x, of).get_mahalanobis_matrix().tolist()})

print(json.dumps({"metric_learn": "0.7.0", "itml": itml, "rca": rca}))
