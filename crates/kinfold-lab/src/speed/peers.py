"""Runs other people's clustering on request: one JSON object per line in, one out. Started by `kinfold-lab speed`."""
import json
import sys
import time

import numpy as np


def load(request):
    return np.load(request["x"]), np.load(request["c"]) if "c" in request else None


def sklearn(request):
    from sklearn.cluster import KMeans
    x, c = load(request)
    model = KMeans(len(c), init=c, n_init=1, max_iter=request["iterations"], tol=0, algorithm=request["algorithm"])
    begun = time.perf_counter()
    import warnings
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(x)
    return {"seconds": time.perf_counter() - begun, "objective": float(model.inertia_), "iterations": int(model.n_iter_)}


def faiss(request):
    import faiss as library
    library.omp_set_num_threads(2)
    x, c = load(request)
    model = library.Kmeans(x.shape[1], len(c), niter=request["iterations"], max_points_per_centroid=1 << 30)
    begun = time.perf_counter()
    model.train(x, init_centroids=c)
    return {"seconds": time.perf_counter() - begun, "objective": float(model.obj[-1]), "iterations": len(model.obj)}


def pairs(request):
    p = np.load(request["pairs"])
    return [(int(a), int(b)) for a, b, same in p if same], [(int(a), int(b)) for a, b, same in p if not same]


def active(request):
    from active_semi_clustering.semi_supervised.pairwise_constraints import COPKMeans
    x, _ = load(request)
    ml, cl = pairs(request)
    begun = time.perf_counter()
    COPKMeans(n_clusters=request["k"]).fit(x, ml=ml, cl=cl)
    return {"seconds": time.perf_counter() - begun}


def htcop(request):
    from htcopkmeans.cop_kmeans import cop_kmeans
    x, _ = load(request)
    ml, cl = pairs(request)
    begun = time.perf_counter()
    clusters, _ = cop_kmeans(dataset=x, k=request["k"], ml=ml, cl=cl)
    if clusters is None:
        return {"failed": f"found no clustering in {time.perf_counter() - begun:.1f} s"}
    return {"seconds": time.perf_counter() - begun}


def parquet(request):
    import pyarrow
    import pyarrow.parquet
    x, _ = load(request)
    table = pyarrow.table({f"x{j}": x[:, j] for j in range(x.shape[1])})
    pyarrow.parquet.write_table(table, request["to"])
    return {"seconds": 0.0}


for line in sys.stdin:
    request = json.loads(line)
    try:
        answer = globals()[request["op"]](request)
    except Exception as problem:  # the peer failed: that is a result too
        answer = {"failed": f"{type(problem).__name__}: {problem}"[:300]}
    print(json.dumps(answer), flush=True)
