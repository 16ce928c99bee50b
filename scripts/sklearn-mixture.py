"""Writes rows, a start and what scikit-learn's GaussianMixture makes of them: the fixture of crates/kinfold/tests/mixture.rs.

`steps`: parameters after exactly 25 iterations from the given labels. `best`: the likelihood it reaches by itself
where components are far apart.
Run in an environment with scikit-learn: python scripts/sklearn-mixture.py > crates/kinfold/tests/data/sklearn_mixture.json
"""
import json
import warnings

import numpy as np
import sklearn
from sklearn.mixture import GaussianMixture

warnings.filterwarnings("ignore")
rng = np.random.default_rng(11)
NAMES = {"full": "full", "diag": "diagonal", "tied": "tied", "spherical": "spherical"}
cases = []
for case, (n, d, k, spread) in enumerate([(60, 1, 2, 3.0), (90, 2, 3, 2.5), (150, 4, 3, 2.0), (200, 3, 4, 3.0), (90, 2, 3, 9.0), (160, 3, 4, 9.0)]):
    truth = rng.integers(0, k, n)
    x = np.round(spread * rng.normal(size=(k, d))[truth] + rng.normal(size=(n, d)) * rng.uniform(0.5, 1.5, d), 4)
    start = np.where(rng.random(n) < 0.8, truth, rng.integers(0, k, n))
    reg = 1e-6 * x.var(axis=0).mean()
    shares = np.eye(k)[start]
    mass = shares.sum(axis=0)
    means = shares.T @ x / mass[:, None]
    full = np.stack([(shares[:, l, None] * (x - means[l])).T @ (x - means[l]) / mass[l] for l in range(k)])
    pooled = np.tensordot(mass, full, 1) / n + reg * np.eye(d)
    diagonal = np.stack([np.diag(s) for s in full])
    precisions = {
        "full": np.linalg.inv(full + reg * np.eye(d)),
        "diag": 1 / (diagonal + reg),
        "tied": np.linalg.inv(pooled),
        "spherical": 1 / (diagonal.mean(axis=1) + reg),
    }
    steps = []
    for kind in NAMES:
        one = GaussianMixture(
            k, covariance_type=kind, tol=0.0, max_iter=25, reg_covar=reg,
            weights_init=mass / n, means_init=means, precisions_init=precisions[kind],
        ).fit(x)
        covariances = one.covariances_
        if kind == "tied":
            covariances = covariances[None]
        if kind == "spherical":
            covariances = np.repeat(covariances[:, None], d, axis=1)
        best = GaussianMixture(k, covariance_type=kind, tol=1e-9, max_iter=1000, reg_covar=reg, n_init=5, random_state=0).fit(x)
        steps.append({
            "covariance": NAMES[kind],
            "weights": one.weights_.tolist(),
            "means": one.means_.ravel().tolist(),
            "covariances": [c.ravel().tolist() for c in covariances],
            "log_likelihood": float(one.score_samples(x).sum()),
            # Components far apart have one best fit; elsewhere the starts decide.
            "best": float(best.score_samples(x).sum()) if spread > 5 else None,
            "labels": best.predict(x).tolist() if spread > 5 else None,
        })
    cases.append({"k": k, "dims": d, "rows": x.ravel().tolist(), "start": start.tolist(), "steps": steps})
print(json.dumps({"scikit_learn": sklearn.__version__, "cases": cases}))
