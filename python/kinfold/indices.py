"""Scores of clusterings, one function for each line of the engine's table. Larger is better everywhere; what is undefined
is ``None``, never a flattering number.

>>> from kinfold.indices import ari, satisfaction
>>> ari([0, 0, 1, 1], [1, 1, 0, 0])
1.0
>>> from kinfold import Constraints
>>> satisfaction([0, 0, 1, 1], Constraints(must_link=[(0, 1), (1, 2)]))
0.5
"""

import numpy as np

from . import _kinfold
from ._constraints import Constraints
from ._rows import RowIds, codes, engine_rows, plain_array, split_ids
from ._tables import tables
from .exceptions import ConstraintError

_TRUTH = {"truth", "truth-and-constraints"}
_CONSTRAINTS = {"constraints", "truth-and-constraints"}


def _labels(values, what):
    numbers, _ = codes(values, unknown_negative=False)
    if (numbers < 0).any():
        raise ConstraintError(f"{what} must be known for every row; row {int(np.argmax(numbers < 0))} has none")
    return numbers.astype(np.uint32)


def _rows(X):
    return engine_rows(plain_array(split_ids(X, None)[0]))


def _given(constraints, n, sample_ids):
    if not isinstance(constraints, Constraints):
        raise ConstraintError(f"constraints takes a Constraints, not {type(constraints).__name__}")
    rows = RowIds(n, sample_ids)
    return constraints._given(rows, strict=rows.ids is None)[0]


def _make(entry):
    name, needs = entry["name"], entry["needs"]

    def of_truth(labels_true, labels_pred):
        labels = _labels(labels_pred, "labels")
        return _kinfold.score(name, labels, _labels(labels_true, "classes"))

    def of_constraints(labels, constraints, *, sample_ids=None):
        labels = _labels(labels, "labels")
        return _kinfold.score(name, labels, None, _given(constraints, len(labels), sample_ids))

    def of_both(labels_true, labels_pred, constraints, *, sample_ids=None):
        labels = _labels(labels_pred, "labels")
        given = _given(constraints, len(labels), sample_ids)
        return _kinfold.score(name, labels, _labels(labels_true, "classes"), given)

    def of_rows(X, labels, *, sample=None, random_state=0):
        found = _kinfold.score_rows(name, _rows(X), _labels(labels, "labels"), sample, random_state)
        return None if found is None else found[0]

    kinds = {"truth": of_truth, "constraints": of_constraints, "truth-and-constraints": of_both, "rows": of_rows}
    function = kinds.get(needs)
    if function is None:
        return None
    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"{entry['summary'][:1].upper()}{entry['summary'][1:]}; None where it is undefined."
    if needs == "rows":
        function.__doc__ += " `sample` rows are compared with all (0 for all); left out, their number decides."
    return function


_FUNCTIONS = {e["name"]: f for e in tables()["indices"] if (f := _make(e)) is not None}
globals().update(_FUNCTIONS)
__all__ = [*_FUNCTIONS, "scores"]


def scores(labels, *, truth=None, constraints=None, X=None, sample_ids=None):
    """Every score that can be computed from what is given, by name.

    >>> sorted(scores([0, 0, 1], truth=[0, 0, 1]))[:2]
    ['ari', 'consistency']
    """
    out = {}
    for entry in tables()["indices"]:
        needs, function = entry["needs"], _FUNCTIONS.get(entry["name"])
        if function is None or (needs in _TRUTH and truth is None) or (needs in _CONSTRAINTS and not constraints):
            continue
        if needs == "rows":
            if X is not None:
                out[entry["name"]] = function(X, labels)
            continue
        given = ([truth] if needs in _TRUTH else []) + [labels]
        if needs in _CONSTRAINTS:
            out[entry["name"]] = function(*given, constraints, sample_ids=sample_ids)
        else:
            out[entry["name"]] = function(*given)
    return out
