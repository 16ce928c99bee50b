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
    "from ._base import Clusterer as _Clusterer",
    "from ._constraints import ConflictReport as ConflictReport, Constraints as Constraints, Violations as Violations",
    "from ._estimators import estimator as estimator, load as load, methods as methods",
    "from ._simulate import simulate as simulate",
    "",
    "__version__: str",
]
for method in tables["methods"]:
    name, parameters = _names.class_name(method["name"]), _names.signature(method)
    lines += ["", f"class {name}(_Clusterer):", f'    """{method["summary"]}"""', ""]
    lines += [f"    {ours}: {sort}" for ours, sort, _, _ in parameters]
    lines += ["    def __init__(", "        self,"]
    for at, (ours, sort, value, _) in enumerate(parameters):
        lines += [f"        {ours}: {sort} = {value!r},"] + (["        *,"] if at == 0 else [])
    lines += ["    ) -> None: ..."]
(place / "__init__.pyi").write_text("\n".join(lines) + "\n")

SIGNATURES = {
    "truth": "labels_true: ArrayLike, labels_pred: ArrayLike",
    "constraints": "labels: ArrayLike, constraints: Constraints, *, sample_ids: ArrayLike | None = None",
    "truth-and-constraints": "labels_true: ArrayLike, labels_pred: ArrayLike, constraints: Constraints, "
    "*, sample_ids: ArrayLike | None = None",
    "rows": "X: ArrayLike, labels: ArrayLike",
}
lines = [HEAD.rstrip(), "from numpy.typing import ArrayLike", "", "from ._constraints import Constraints", ""]
for index in tables["indices"]:
    if index["needs"] in SIGNATURES:
        lines += [f"def {index['name']}({SIGNATURES[index['needs']]}) -> float | None:", f'    """{index["summary"]}"""', ""]
lines += [
    "def scores(",
    "    labels: ArrayLike, *, truth: ArrayLike | None = None, constraints: Constraints | None = None,",
    "    sample_ids: ArrayLike | None = None,",
    ") -> dict[str, float | None]: ...",
]
(place / "indices.pyi").write_text("\n".join(lines) + "\n")
