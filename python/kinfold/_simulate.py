"""Answers from known classes."""

from __future__ import annotations

import warnings
from typing import Any, Literal

import numpy as np

from . import _kinfold
from ._constraints import Constraints, _Pairs
from ._rows import codes, normal_ids
from .exceptions import DataError


def simulate(
    y: Any,
    *,
    amount: str | int = "n/2",
    protocol: Literal["pairs", "balanced", "labels", "sets"] = "pairs",
    noise: float = 0.0,
    set_size: int = 3,
    sample_ids: Any = None,
    random_state: int = 0,
) -> Constraints:
    """Constraints answered from the classes ``y``, as ``kinfold simulate`` makes them from the same seed.

    Parameters
    ----------
    y : array of shape (n_rows,)
        The class of every row.
    amount : str or int
        "5%" (of all pairs; of the rows for labels), "n/2" (a share of the rows) or a number.
    protocol : {"pairs", "balanced", "labels", "sets"}
        Pairs drawn uniformly; half must-links; all pairs of labelled rows; disjoint sets.
    noise : float
        Share of the answers to flip.
    set_size : int
        Members of each set.
    sample_ids : array of shape (n_rows,), optional
        Ids of the rows; row numbers if left out.
    random_state : int
        The seed.

    Examples
    --------
    >>> from kinfold import simulate
    >>> simulate([0, 0, 0, 1, 1, 1], amount=4, protocol="balanced")
    Constraints(2 same, 2 different)
    """
    numbers, _ = codes(y, unknown_negative=False)
    if (numbers < 0).any():
        raise DataError(f"row {int(np.argmax(numbers < 0))}: the class is empty")
    a, b, same, _, short = _kinfold.simulate(
        numbers.astype(np.uint32), protocol, str(amount), float(noise), int(set_size), int(random_state)
    )
    if short:
        warnings.warn(short, UserWarning, stacklevel=2)
    if sample_ids is not None:
        ids = normal_ids(sample_ids)
        a, b = ids[a], ids[b]
    return Constraints._of([_Pairs(None, a, b, same, np.full(len(a), np.nan))])
