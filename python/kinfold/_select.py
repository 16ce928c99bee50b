"""The informative ones of given constraints."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from . import _kinfold
from ._base import gather, together, whole
from ._constraints import Constraints, _Pairs
from ._rows import RowIds, engine_rows, plain_array, split_ids


def select(
    X: Any,
    constraints: Constraints | None = None,
    *,
    must_link: Any = None,
    cannot_link: Any = None,
    sample_ids: Any = None,
    budget: int | None = None,
    fill: Literal["margin", "none", "random"] = "margin",
    mode: Literal["similarity", "distance"] = "similarity",
    sigma: float | None = None,
    keep_entailed: bool = False,
    random_state: int = 0,
) -> Constraints:
    """The constraints that say most about the rows: far must-links, near cannot-links, and what they carry.

    Parameters
    ----------
    X, constraints, must_link, cannot_link, sample_ids
        As for an estimator's ``fit``. Groups and partial labels are taken pair by pair.
    budget : int, optional
        At most this many, best first.
    fill : {"margin", "none", "random"}
        What fills a budget that the rules leave open.
    mode : {"similarity", "distance"}
        Bounds on similarity keep the hard ones, on distance the safe ones.
    sigma : float, optional
        Width of the kernel; left out, the median distance.
    keep_entailed : bool
        Keep what the others entail too, with a budget.
    random_state : int
        The seed.

    Examples
    --------
    >>> from kinfold import Constraints, select
    >>> rows = [[0.0], [1.0], [4.0], [5.0], [9.0]]
    >>> given = Constraints(must_link=[(0, 1), (0, 2)], cannot_link=[(2, 3), (0, 4)])
    >>> select(rows, given, budget=2)
    Constraints(1 same, 1 different)
    """
    X, ids = split_ids(X, sample_ids)
    rows = engine_rows(plain_array(X))
    n = X.shape[0] if hasattr(X, "shape") else len(X)
    keyed, by_row = gather(n, ids, None, must_link, cannot_link, constraints, None)
    named = RowIds(n, ids)
    given, _ = together(keyed, by_row, named, "auto")
    kept, *_ = _kinfold.select(
        rows, given, mode=mode, fill=fill, sigma=None if sigma is None else float(sigma), keep_entailed=keep_entailed,
        budget=None if budget is None else whole(budget, "budget", 0), seed=whole(random_state, "random_state", 0), ids=ids,
    )  # fmt: skip
    a, b = (np.array([k[i] for k in kept], dtype=np.int64) for i in (0, 1))
    if named.ids is not None:
        a, b = named.ids[a], named.ids[b]
    return Constraints._of([_Pairs(None, a, b, np.array([k[2] for k in kept], dtype=bool), np.full(len(kept), np.nan))])
