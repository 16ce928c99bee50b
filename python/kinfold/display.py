"""Pictures with matplotlib, in scikit-learn's manner: ``SomeDisplay.from_...(...)`` draws and returns the display, whose
``ax_`` and ``figure_`` can be changed further, and whose ``plot`` draws again.

>>> import matplotlib; matplotlib.use("Agg")
>>> from kinfold import KMeans
>>> from kinfold.display import MapDisplay
>>> rows = [[0.0, 0.0], [0.0, 1.0], [9.0, 9.0], [9.0, 8.0]]
>>> shown = MapDisplay.from_estimator(KMeans(2).fit(rows), rows, must_link=[(0, 1)], cannot_link=[(1, 2)])
>>> shown.ax_.get_title()
'2 clusters, every constraint kept'
"""

import numpy as np

from ._base import gather, together
from ._constraints import Violations
from ._rows import RowIds, is_sparse, plain_array, split_ids
from .exceptions import DataError, ParameterError

__all__ = ["KCurveDisplay", "LearningCurveDisplay", "MapDisplay", "SilhouetteDisplay", "ViolationsDisplay"]

# Okabe and Ito's colours, told apart by colour-blind readers.
_COLOURS = ["#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#F0E442", "#000000"]
_BROKEN = "#D55E00"


def _axes(ax):
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise ImportError("pictures need matplotlib: pip install 'kinfold[plot]'") from error
    return plt.subplots(layout="constrained")[1] if ax is None else ax


def _colour(i):
    return _COLOURS[i % len(_COLOURS)]


def _dense(X):
    X = split_ids(X, None)[0]
    X = plain_array(X)
    return np.asarray(X.toarray() if is_sparse(X) else X, dtype=float)


def _plane(X):
    """Two columns: as they are, or the two first principal components."""
    X = _dense(X)
    if X.shape[1] == 1:
        return np.column_stack([X[:, 0], np.zeros(len(X))]), ("column 0", "")
    if X.shape[1] == 2:
        return X, ("column 0", "column 1")
    centred = X - X.mean(axis=0)
    spread = np.linalg.eigh(centred.T @ centred)[1][:, ::-1][:, :2]
    # The sign of an eigenvector is nobody's choice: its largest entry is positive.
    spread = spread * np.where(spread[np.abs(spread).argmax(axis=0), [0, 1]] < 0, -1, 1)
    return centred @ spread, ("first principal component", "second principal component")


class _Display:
    def _done(self, ax):
        self.ax_, self.figure_ = ax, ax.figure
        return self


class MapDisplay(_Display):
    """The rows in the plane with the constraints between them: solid for same, dashed for different, thick for broken."""

    def __init__(self, points, labels, *, pairs=None, same=None, axes=("", "")):
        self.points, self.labels, self.axes = points, np.asarray(labels), axes
        self.pairs = np.empty((0, 2), int) if pairs is None else np.asarray(pairs)
        self.same = np.empty(0, bool) if same is None else np.asarray(same)

    @classmethod
    def from_predictions(cls, X, labels, *, must_link=None, cannot_link=None, constraints=None, sample_ids=None,
                         max_edges=2000, ax=None):  # fmt: skip
        """Draws rows and labels, and at most ``max_edges`` constraints, the broken ones first."""
        X, ids = split_ids(X, sample_ids)
        points, axes = _plane(X)
        labels = np.asarray(labels)
        pairs, same = _edges(len(points), ids, must_link, cannot_link, constraints)
        broken = (labels[pairs[:, 0]] == labels[pairs[:, 1]]) != same
        order = np.argsort(~broken, kind="stable")[:max_edges]
        return cls(points, labels, pairs=pairs[order], same=same[order], axes=axes).plot(ax)

    @classmethod
    def from_estimator(cls, estimator, X, **given):
        """Draws the rows that an estimator was fitted on, by their ``labels_``."""
        return cls.from_predictions(X, estimator.labels_, **given)

    def plot(self, ax=None):
        """Draws."""
        ax = _axes(ax)
        broken = (self.labels[self.pairs[:, 0]] == self.labels[self.pairs[:, 1]]) != self.same
        for (a, b), same, bad in sorted(zip(self.pairs.tolist(), self.same, broken), key=lambda e: e[2]):
            line = self.points[[a, b]]
            style = dict(color=_BROKEN, lw=1.8, zorder=3) if bad else dict(color="#999999", lw=0.7, zorder=1)
            ax.plot(line[:, 0], line[:, 1], ls="-" if same else (0, (3, 3)), **style)
        for at, label in enumerate(np.unique(self.labels)):
            rows = self.points[self.labels == label]
            ax.scatter(rows[:, 0], rows[:, 1], s=18, color=_colour(at), label=f"cluster {label}", zorder=2)
        kept = f"{int(broken.sum())} constraints broken" if broken.any() else "every constraint kept"
        count = len(np.unique(self.labels))
        ax.set(xlabel=self.axes[0], ylabel=self.axes[1])
        ax.set_title(f"{count} cluster{'s' * (count != 1)}" + (f", {kept}" if len(self.pairs) else ""))
        if count <= 12:
            ax.legend(loc="best", fontsize="small")
        return self._done(ax)


def _edges(n, ids, must_link, cannot_link, constraints):
    keyed, by_row = gather(n, ids, None, must_link, cannot_link, constraints, None)
    pairs, same = [np.empty((0, 2), int)], [np.empty(0, bool)]
    for given, rows in ((keyed, RowIds(n, ids if keyed else None)), (by_row, RowIds(n))):
        for p in given._pairs:
            both = np.column_stack([rows.find(p.a), rows.find(p.b)])
            here = (both >= 0).all(axis=1)
            pairs.append(both[here])
            same.append(p.same[here])
        for s in given._sets:
            m = rows.find(s.members)
            m = m[m >= 0]
            # A group is drawn as a star: k − 1 lines instead of all pairs.
            pairs.append(np.column_stack([np.repeat(m[:1], max(len(m) - 1, 0)), m[1:]]))
            same.append(np.full(max(len(m) - 1, 0), s.same))
    return np.concatenate(pairs), np.concatenate(same)


class SilhouetteDisplay(_Display):
    """How much nearer each row is to its own cluster than to the next: one bar per row, by cluster."""

    def __init__(self, values, labels):
        self.values, self.labels = np.asarray(values), np.asarray(labels)

    @classmethod
    def from_predictions(cls, X, labels, *, max_rows=10_000, ax=None):
        """Computes the silhouette of every row (O(n²); of every m-th row beyond ``max_rows``) and draws it."""
        X, labels = _dense(X), np.asarray(labels)
        if len(np.unique(labels)) < 2:
            raise DataError("a silhouette needs two clusters or more")
        step = -(-len(X) // max_rows)
        X, labels = X[::step], labels[::step]
        return cls(_silhouettes(X, labels), labels).plot(ax)

    @classmethod
    def from_estimator(cls, estimator, X, **given):
        """The silhouettes of the rows that an estimator was fitted on."""
        return cls.from_predictions(X, estimator.labels_, **given)

    def plot(self, ax=None):
        """Draws."""
        ax = _axes(ax)
        low = 0
        for at, label in enumerate(np.unique(self.labels)):
            values = np.sort(self.values[self.labels == label])
            rows = np.arange(low, low + len(values))
            ax.fill_betweenx(rows, 0, values, color=_colour(at), label=f"cluster {label}", step="mid")
            low += len(values) + max(1, len(self.values) // 50)
        mean = float(np.mean(self.values))
        ax.axvline(mean, color="#222222", ls="--", lw=1)
        ax.set(xlabel="silhouette", ylabel="rows", yticks=[], title=f"mean silhouette {mean:.3f}")
        return self._done(ax)


def _silhouettes(X, labels):
    found, inverse, sizes = np.unique(labels, return_inverse=True, return_counts=True)
    norms, out = (X * X).sum(axis=1), np.zeros(len(X))
    member = np.eye(len(found))[inverse]
    for low in range(0, len(X), 512):
        part = slice(low, low + 512)
        far = np.sqrt(np.maximum(norms[part, None] + norms - 2 * X[part] @ X.T, 0.0))
        sums = far @ member
        own = inverse[part]
        rows = np.arange(len(own))
        inside = sums[rows, own] / np.maximum(sizes[own] - 1, 1)
        means = sums / sizes
        means[rows, own] = np.inf
        outside = means.min(axis=1)
        top = np.maximum(inside, outside)
        with np.errstate(invalid="ignore", divide="ignore"):
            out[part] = np.where((sizes[own] > 1) & (top > 0), (outside - inside) / top, 0.0)
    return out


class KCurveDisplay(_Display):
    """A score over the number of clusters, with the smallest number that the cannot-links allow."""

    def __init__(self, ks, values, *, ylabel="score", chosen=None, smallest=None):
        self.ks, self.values, self.ylabel, self.chosen, self.smallest = list(ks), list(values), ylabel, chosen, smallest

    @classmethod
    def from_estimator(cls, estimator, X, ks, *, score=None, ax=None, **given):
        """Fits a copy of the estimator for every k. ``score`` takes a fitted copy; without it, the objective is drawn."""
        values = []
        for k in ks:
            fitted = type(estimator)(**{**estimator.get_params(), "n_clusters": k}).fit(X, **given)
            values.append(fitted.objective_ if score is None else score(fitted))
        return cls(ks, values, ylabel="objective" if score is None else "score").plot(ax)

    def plot(self, ax=None):
        """Draws."""
        ax = _axes(ax)
        ax.plot(self.ks, [np.nan if v is None else v for v in self.values], marker="o", color=_COLOURS[0])
        if self.smallest is not None and self.smallest > min(self.ks):
            ax.axvspan(min(self.ks) - 0.5, self.smallest - 0.5, color="#dddddd", label="ruled out by cannot-links")
        if self.chosen is not None:
            ax.axvline(self.chosen, color=_COLOURS[1], ls="--", label=f"k = {self.chosen}")
        if ax.get_legend_handles_labels()[1]:
            ax.legend()
        ax.set(xlabel="number of clusters", ylabel=self.ylabel, xticks=self.ks)
        return self._done(ax)


class ViolationsDisplay(_Display):
    """Kept and broken constraints, by kind and for several clusterings."""

    def __init__(self, violations):
        if isinstance(violations, Violations):
            violations = {"": violations}
        self.violations = dict(violations)

    @classmethod
    def from_estimator(cls, *estimators, ax=None):
        """The constraints that fitted estimators break, side by side."""
        names = [type(e).__name__ for e in estimators]
        if len(set(names)) < len(names):
            names = [f"{name} {i + 1}" for i, name in enumerate(names)]
        return cls({name: e.violations_ for name, e in zip(names, estimators)}).plot(ax)

    @classmethod
    def from_predictions(cls, labels, *, must_link=None, cannot_link=None, constraints=None, sample_ids=None, ax=None):
        """The constraints that labels break."""
        labels = np.unique(np.asarray(labels), return_inverse=True)[1]
        keyed, by_row = gather(len(labels), sample_ids, None, must_link, cannot_link, constraints, None)
        rows = RowIds(len(labels), sample_ids if keyed else None)
        given, _ = together(keyed, by_row, rows, "auto")
        return cls(Violations._of(given.violations(labels.astype(np.uint32), 0, sample_ids))).plot(ax)

    def plot(self, ax=None):
        """Draws."""
        ax = _axes(ax)
        rows = [(name, kind, v) for name, v in self.violations.items() for kind in ("must_link", "cannot_link")]
        for at, (_, kind, v) in enumerate(rows):
            broken, given = getattr(v, kind), getattr(v, kind + "_given")
            ax.barh(at, given - broken, color="#bbbbbb")
            ax.barh(at, broken, left=given - broken, color=_BROKEN)
            ax.text(given, at, f" {broken} of {given} broken" if broken else " all kept", va="center", fontsize="small")
        names = [f"{name} {kind.replace('_', '-')}".strip() for name, kind, _ in rows]
        ax.set(yticks=range(len(rows)), yticklabels=names, xlabel="constraints")
        ax.invert_yaxis()
        ax.margins(x=0.2)
        return self._done(ax)


class LearningCurveDisplay(_Display):
    """How a score grows with the number of answers: the mean of several draws, and its spread."""

    def __init__(self, amounts, values, *, ylabel="score", name=None):
        self.amounts, self.values, self.ylabel, self.name = list(amounts), np.asarray(values, float), ylabel, name

    @classmethod
    def from_estimator(cls, estimator, X, y, *, amounts, score="ari", protocol="pairs", noise=0.0, repeats=5, ax=None):
        """Fits copies of the estimator on more and more simulated answers and scores them against the classes ``y``."""
        from . import indices
        from ._simulate import simulate

        score_of = score if callable(score) else getattr(indices, score, None)
        if score_of is None:
            raise ParameterError(f"there is no score named '{score}'; there are {', '.join(indices.__all__)}")
        X = split_ids(X, None)[0]
        ids = np.arange(len(y))
        values = np.full((len(amounts), repeats), np.nan)
        for i, amount in enumerate(amounts):
            for r in range(repeats):
                c = simulate(y, amount=amount, protocol=protocol, noise=noise, random_state=r)
                fitted = type(estimator)(**estimator.get_params()).fit(X, constraints=c, sample_ids=ids)
                value = score_of(y, fitted.labels_)
                values[i, r] = np.nan if value is None else value
        name = type(estimator).__name__
        return cls(amounts, values, ylabel=score if isinstance(score, str) else "score", name=name).plot(ax)

    def plot(self, ax=None):
        """Draws."""
        ax = _axes(ax)
        at = [a if isinstance(a, (int, float)) else i for i, a in enumerate(self.amounts)]
        mean, spread = np.nanmean(self.values, axis=1), np.nanstd(self.values, axis=1)
        colour = _colour(len(ax.lines))
        ax.plot(at, mean, marker="o", color=colour, label=self.name)
        ax.fill_between(at, mean - spread, mean + spread, color=colour, alpha=0.2, lw=0)
        ax.set(xlabel="answers", ylabel=self.ylabel, xticks=at, xticklabels=[str(a) for a in self.amounts])
        if self.name:
            ax.legend()
        return self._done(ax)
