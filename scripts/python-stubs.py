"""Writes the type stubs of the Python package from the engine's tables: kinfold methods --json | python-stubs.py DIRECTORY"""
import json
import pathlib
import sys

root = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(root / "python/kinfold"))
import _names  # noqa: E402

tables, place = json.load(sys.stdin), pathlib.Path(sys.argv[1])
HEAD = "# Made by scripts/docs from the engine's tables; do not edit.\n"

lines = [
    HEAD.rstrip(),
    "from collections.abc import Callable",
    "from typing import Literal",
    "",
    "import numpy as np",
    "",
    "from . import display as display, exceptions as exceptions, indices as indices",
    "from ._base import Clusterer as _Clusterer, MetricLearner as _MetricLearner",
    "from ._choose import KChoice as KChoice, choose_k as choose_k",
    "from ._constraints import ConflictReport as ConflictReport, Constraints as Constraints, Violations as Violations",
    "from ._dialogue import Dialogue as Dialogue, learning_curve as learning_curve, strategies as strategies",
    "from ._estimators import estimator as estimator, load as load, methods as methods, metrics as metrics",
    "from ._select import select as select",
    "from ._simulate import simulate as simulate",
    "",
    "__version__: str",
]


def stub(entry, base, parameters):
    lines = ["", f"class {_names.class_name(entry['name'])}({base}):", f'    """{entry["summary"]}"""', ""]
    lines += [f"    {ours}: {sort}" for ours, sort, _, _ in parameters]
    lines += ["    def __init__(", "        self,"]
    # The number of clusters may go by position.
    named = [] if parameters[0][0] == "n_clusters" else ["        *,"]
    for ours, sort, value, _ in parameters:
        lines += named + [f"        {ours}: {sort} = {value!r},"]
        named = ["        *,"] if ours == "n_clusters" else []
    return [*lines, "    ) -> None: ..."]


for method in tables["methods"]:
    lines += stub(method, "_Clusterer", _names.signature(method))
for metric in tables["metrics"]:
    lines += stub(metric, "_MetricLearner", _names.metric_signature(metric))
(place / "__init__.pyi").write_text("\n".join(lines) + "\n")

SIGNATURES = {
    "truth": "labels_true: ArrayLike, labels_pred: ArrayLike",
    "constraints": "labels: ArrayLike, constraints: Constraints, *, sample_ids: ArrayLike | None = None",
    "truth-and-constraints": "labels_true: ArrayLike, labels_pred: ArrayLike, constraints: Constraints, "
    "*, sample_ids: ArrayLike | None = None",
    "rows": "X: Any, labels: ArrayLike, *, sample: int | None = None, random_state: int = 0",
}
lines = [HEAD.rstrip(), "from typing import Any", "", "from numpy.typing import ArrayLike", "", "from ._constraints import Constraints", ""]
for index in tables["indices"]:
    if index["needs"] in SIGNATURES:
        lines += [f"def {index['name']}({SIGNATURES[index['needs']]}) -> float | None:", f'    """{index["summary"]}"""', ""]
lines += [
    "def scores(",
    "    labels: ArrayLike, *, truth: ArrayLike | None = None, constraints: Constraints | None = None,",
    "    X: Any = None, sample_ids: ArrayLike | None = None,",
    ") -> dict[str, float | None]: ...",
]
(place / "indices.pyi").write_text("\n".join(lines) + "\n")
