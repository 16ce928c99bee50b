"""Writes random labellings with scikit-learn's scores of them: the fixture of crates/kinfold/tests/scores.rs.

Run in an environment with scikit-learn: python scripts/sklearn-scores.py > crates/kinfold/tests/data/sklearn_scores.json
"""
import json
import random

import sklearn
from sklearn import metrics

random.seed(20)
cases = []
for case in range(60):
    n = random.choice([2, 3, 10, 57, 200, 1000])
    a, b = random.randint(1, min(n, 12)), random.randint(1, min(n, 9))
    truth = [random.randrange(b) for _ in range(n)]
    noise = random.random()
    labels = [t % a if random.random() > noise else random.randrange(a) for t in truth]
    (tn, fp), (fn, tp) = metrics.pair_confusion_matrix(truth, labels)
    cases.append({
        "labels": labels,
        "truth": truth,
        "nmi": metrics.normalized_mutual_info_score(truth, labels),
        "nmi_geometric": metrics.normalized_mutual_info_score(truth, labels, average_method="geometric"),
        "ari": metrics.adjusted_rand_score(truth, labels),
        "rand": metrics.rand_score(truth, labels),
        "pairwise_f1": 2 * float(tp) / (2 * float(tp) + float(fp) + float(fn)) if tp + fp + fn else None,
    })
print(json.dumps({"scikit_learn": sklearn.__version__, "cases": cases}))
