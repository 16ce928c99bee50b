"""How many clusters?"""

from __future__ import annotations

import html
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from . import _kinfold
from ._base import Clusterer, whole
from ._constraints import Constraints
from ._rows import split_ids
from .exceptions import ParameterError

if TYPE_CHECKING:
    from .display import KCurveDisplay


class KChoice:
    """What `choose_k` found; printing gives a table, a notebook shows it.

    Attributes
    ----------
    k : int
        The recommended number of clusters, for the ``reason``, by the criterion ``by``; ``as_good`` cannot be told from it.
    ks : list of int
        Every k that was run; ``left_out`` has the others with the reason.
    scores : dict of str to list
        The value of every criterion for every k that was run. ``best`` has the k that each would choose, ``margins`` how
        far it is ahead of the next, ``errors`` the standard errors of values that were sampled from ``rows_looked_at``.
    candidates : list of dict
        Objective, satisfaction, held-out constraints (tests, kept, chance), sizes, termination and broken constraints for
        every k that was run.
    smallest_k : int
        At least this many clusters are needed to keep every cannot-link; ``k_bounds`` has what is proven from both sides.
    stopped : str or None
        "deadline" or "cancelled" when there was no time for all.
    labels_ : array
        The labels for the recommended k; ``labels(k)`` has those of others.
    """

    def __init__(self, found: _kinfold.Choice) -> None:
        self._found = found
        self.k: int = found.k
        self.by: str = found.by
        self.reason: str = found.reason
        self.as_good: list[int] = found.as_good
        self.ks: list[int] = found.ks
        self.left_out: dict[int, str] = dict(found.left_out)
        criteria = {c["name"]: c for c in found.criteria}
        pick = lambda what: {name: c[what] for name, c in criteria.items()}
        self.criteria: dict[str, str] = pick("summary")
        self.scores: dict[str, list[float | None]] = pick("values")
        self.errors: dict[str, list[float | None]] = pick("errors")
        self.best: dict[str, int | None] = pick("k")
        self.margins: dict[str, float | None] = pick("margin")
        self.smaller_is_better: dict[str, bool] = pick("smaller_is_better")
        self.candidates: list[dict[str, Any]] = found.candidates
        self.smallest_k: int = found.smallest[0] if found.smallest else 1
        self.k_bounds: tuple[int, int] | None = found.smallest
        self.method: str = found.method
        self.rows_looked_at: int = found.rows_looked_at
        self.stopped: str | None = found.stopped
        self.notes: list[str] = found.notes
        self.elapsed: float = found.elapsed

    @property
    def labels_(self) -> np.ndarray:
        """The labels for the recommended k."""
        return self._found.labels(self.k)

    def labels(self, k: int) -> np.ndarray:
        """The labels that were found for k."""
        return self._found.labels(k)

    def plot(self, criterion: str | None = None, *, ax: Any = None) -> KCurveDisplay:
        """Draws a criterion (what decided, if none is named) over k."""
        from .display import KCurveDisplay

        if criterion is not None and criterion not in self.scores:
            raise ParameterError(f"there is no criterion '{criterion}'; the criteria are {', '.join(self.scores)}")
        values = self.scores.get(criterion or self.by) or self._found.scores
        errors = self.errors.get(criterion or self.by)
        shown = KCurveDisplay(
            self.ks, values, ylabel=criterion or self.by, chosen=self.k, smallest=self.smallest_k, errors=errors
        )
        return shown.plot(ax)

    def _table(self):
        names = [name for name, k in self.best.items() if k is not None]
        for at, k in enumerate(self.ks):
            cells = []
            for name in names:
                value = self.scores[name][at]
                cells.append("–" if value is None else f"{value:.3f}" if abs(value) < 10 else f"{value:.4g}")
                cells[-1] += "*" if self.best[name] == k else ""
            yield k, cells
        return names

    def __str__(self) -> str:
        names = [name for name, k in self.best.items() if k is not None]
        width = max([7, *map(len, names)])
        lines = ["  k  " + " ".join(n.ljust(width) for n in names)]
        lines += [("→" if k == self.k else " ") + f"{k:>2}  " + " ".join(c.ljust(width) for c in cells) for k, cells in self._table()]
        lines += [f" {k:>2}  not run: {why}" for k, why in self.left_out.items()]
        return "\n".join(line.rstrip() for line in [*lines, f"k = {self.k}: {self.reason}"])

    def __repr__(self) -> str:
        return f"KChoice(k={self.k}, by='{self.by}')"

    def _repr_html_(self) -> str:
        names = [name for name, k in self.best.items() if k is not None]
        head = "".join(f'<th title="{html.escape(self.criteria[n])}">{html.escape(n)}</th>' for n in names)
        rows = ""
        for k, cells in self._table():
            style = ' style="font-weight:bold"' if k == self.k else ""
            rows += f"<tr{style}><td>{k}</td>" + "".join(f"<td>{c}</td>" for c in cells) + "</tr>"
        left = "".join(f"<div>k = {k}: {html.escape(why)}</div>" for k, why in self.left_out.items())
        told = f"<p><b>k = {self.k}</b>: {html.escape(self.reason)}</p>"
        return f'<div style="overflow-x:auto">{told}<table><tr><th>k</th>{head}</tr>{rows}</table>{left}</div>'


def choose_k(
    X: Any,
    ks: Sequence[int] | None = None,
    *,
    estimator: Clusterer | None = None,
    y: Any = None,
    must_link: Any = None,
    cannot_link: Any = None,
    constraints: Constraints | None = None,
    groups: Any = None,
    sample_ids: Any = None,
    folds: int = 5,
    alpha: float = 0.5,
    metrics: Sequence[str] | None = None,
) -> KChoice:
    """Tries every number of clusters and recommends one, with the reason.

    Parameters
    ----------
    X, y, must_link, cannot_link, constraints, groups, sample_ids
        As for an estimator's ``fit``.
    ks : sequence of int, optional
        The numbers to try, without gaps; left out, 2 to 15, or as many from the smallest possible one on.
    estimator : optional
        The estimator to run, with its settings; ``Fold()`` if left out. Its ``n_clusters`` does not matter.
    folds : int
        Folds of held-out constraints; 0 holds none out.
    alpha : float
        Share of the constraints in weighted scores.
    metrics : sequence of str, optional
        Learned distances on which indices are taken besides the rows as given.

    Examples
    --------
    >>> import numpy as np
    >>> from kinfold import KMeans, choose_k
    >>> rows = np.random.default_rng(0).normal(size=(90, 2)) + np.repeat([[0, 0], [9, 0], [0, 9]], 30, axis=0)
    >>> choice = choose_k(rows, range(2, 6), estimator=KMeans(), cannot_link=[(0, 30), (30, 60), (0, 60)])
    >>> choice.best["S"], choice.smallest_k
    (3, 3)
    """
    if estimator is None:
        from ._estimators import estimator as by_name

        estimator = by_name("auto")
    if not isinstance(estimator, Clusterer):
        raise ParameterError(f"estimator takes an estimator of kinfold, not {type(estimator).__name__}")
    bounds = None
    if ks is not None:
        tried = sorted({whole(k, "ks", 1) for k in ks})
        if not tried or tried != list(range(tried[0], tried[-1] + 1)):
            raise ParameterError(f"ks takes numbers without gaps, like range(2, 16), not {list(ks)}")
        bounds = (tried[0], tried[-1])
    X, ids = split_ids(X, sample_ids)
    estimator = type(estimator)(**estimator.get_params())
    rows, n = estimator._rows(X, reset=True)
    given, _ = estimator._given(n, ids, y, must_link, cannot_link, constraints, groups)
    with estimator._asked() as asked:
        found = _kinfold.choose_k(
            rows, given, estimator._method["name"], bounds, estimator._settings(), ids=ids, folds=whole(folds, "folds", 0),
            alpha=float(alpha), metrics=None if metrics is None else list(metrics), **asked,
        )  # fmt: skip
    return KChoice(found)
