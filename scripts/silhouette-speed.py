"""Times kinfold's silhouette and normalised Hubert (one pass for both) beside scikit-learn's silhouette_score.

Run in an environment with scikit-learn, after `cargo build --release -p kinfold-lab`:
python scripts/silhouette-speed.py [rows] [dims] [k] [threads]   (20000 16 8 2 unless told; above 30000 rows only kinfold)
"""
import json
import os
import subprocess
import sys
import tempfile
import time

n, dims, k, threads = (int(v) for v in (sys.argv[1:] + ["20000", "16", "8", "2"][len(sys.argv) - 1:])[:4])
for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ[name] = str(threads)

import numpy as np
from sklearn.datasets import make_blobs
from sklearn.metrics import silhouette_score

x, labels = make_blobs(n, dims, centers=k, cluster_std=4.0, random_state=0)
with tempfile.TemporaryDirectory() as place:
    np.save(f"{place}/x.npy", x)
    with open(f"{place}/labels.csv", "w") as f:
        f.write("label\n" + "\n".join(map(str, labels)) + "\n")
    command = ["target/release/kinfold-lab", "index-speed", "--data", f"{place}/x.npy", "--labels", f"{place}/labels.csv"]
    runs = 3 if n <= 30000 else 1
    ours = [json.loads(subprocess.check_output(command + ["--threads", str(threads)])) for _ in range(runs)]
best = min(ours, key=lambda r: r["seconds"])
print(f"{n} rows, {dims} dims, k = {k}, {threads} threads: kinfold {best['seconds']:.3f} s, peak {best['peak_mb']} MB, {best}")
if n <= 30000:
    times = []
    for _ in range(2):
        begun = time.perf_counter()
        theirs = silhouette_score(x, labels)
        times.append(time.perf_counter() - begun)
    assert abs(theirs - best["silhouette"]) < 1e-10, (theirs, best["silhouette"])
    print(f"scikit-learn {min(times):.3f} s, {min(times) / best['seconds']:.1f} times as long; the values agree to 1e-10")
