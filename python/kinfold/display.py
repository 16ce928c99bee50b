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

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike

from ._base import gather, together
from ._constraints import Constraints, Violations
from ._rows import RowIds, frame_kind, is_sparse, plain_array, split_ids
from .exceptions import DataError, ParameterError

if TYPE_CHECKING:
    from ._base import Clusterer

__all__ = ["KCurveDisplay", "LearningCurveDisplay", "MapDisplay", "SilhouetteDisplay", "ViolationsDisplay"]

# Okabe and Ito's colours, told apart by colour-blind readers.
_COLOURS = ["#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#8C6D31", "#7F7F7F", "#000000"]
# Once the colours are used up, the next clusters have other marks.
_MARKS = "os^DvPX*"
_BROKEN = "#D7191C"
_KEPT = "#8A8A8A"


def _axes(ax):
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise ImportError("pictures need matplotlib: pip install 'kinfold[plot]'") from error
    return plt.subplots(layout="constrained")[1] if ax is None else ax


def _colour(i):
    return _COLOURS[i % len(_COLOURS)]


def _mark(i):
    return _MARKS[i // len(_COLOURS) % len(_MARKS)]


def _plain(ax):
    ax.spines[["top", "right"]].set_visible(False)


def _dense(X):
    X = split_ids(X, None)[0]
    X = plain_array(X)
    return np.asarray(X.toarray() if is_sparse(X) else X, dtype=float)


def _plane(X):
    """Two columns: as they are, or the two first principal components."""
    names = [str(c) for c in X.columns] if frame_kind(X) else ["column 0", "column 1"]
    X = _dense(X)
    if X.shape[1] == 1:
        return np.column_stack([X[:, 0], np.zeros(len(X))]), (names[0], "")
    if X.shape[1] == 2:
        return X, (names[0], names[1])
    centred = X - X.mean(axis=0)
    spread = np.linalg.eigh(centred.T @ centred)[1][:, ::-1][:, :2]
    # The sign of an eigenvector is nobody's choice: its largest entry is positive.
    spread = spread * np.where(spread[np.abs(spread).argmax(axis=0), [0, 1]] < 0, -1, 1)
    return centred @ spread, ("first principal component", "second principal component")


class _Display:
    ax_: Any
    figure_: Any

    def _done(self, ax: Any) -> Self:
        self.ax_, self.figure_ = ax, ax.figure
        return self


class MapDisplay(_Display):
    """The rows in the plane with the constraints between them: solid for same, dashed for different, red for broken."""

    def __init__(
        self,
        points: np.ndarray,
        labels: ArrayLike,
        *,
        pairs: ArrayLike | None = None,
        same: ArrayLike | None = None,
        axes: tuple[str, str] = ("", ""),
    ) -> None:
        self.points, self.labels, self.axes = points, np.asarray(labels), axes
        self.pairs = np.empty((0, 2), int) if pairs is None else np.asarray(pairs)
        self.same = np.empty(0, bool) if same is None else np.asarray(same)

    @classmethod
    def from_predictions(
        cls,
        X: Any,
        labels: ArrayLike,
        *,
        must_link: Any = None,
        cannot_link: Any = None,
        constraints: Constraints | None = None,
        sample_ids: Any = None,
        max_edges: int = 2000,
        ax: Any = None,
    ) -> Self:
        """Draws rows and labels, and at most ``max_edges`` constraints, the broken ones first."""
        X, ids = split_ids(X, sample_ids)
        points, axes = _plane(X)
        labels = np.asarray(labels)
        pairs, same = _edges(len(points), ids, must_link, cannot_link, constraints)
        broken = (labels[pairs[:, 0]] == labels[pairs[:, 1]]) != same
        order = np.argsort(~broken, kind="stable")[:max_edges]
        return cls(points, labels, pairs=pairs[order], same=same[order], axes=axes).plot(ax)

    @classmethod
    def from_estimator(cls, estimator: Clusterer, X: Any, **given: Any) -> Self:
        """Draws the rows that an estimator was fitted on, by their ``labels_``."""
        return cls.from_predictions(X, estimator.labels_, **given)

    def plot(self, ax: Any = None) -> Self:
        """Draws."""
        ax = _axes(ax)
        broken = (self.labels[self.pairs[:, 0]] == self.labels[self.pairs[:, 1]]) != self.same
        told = set()
        for (a, b), same, bad in sorted(zip(self.pairs.tolist(), self.same, broken), key=lambda e: (e[2], not e[1])):
            line = self.points[[a, b]]
            style = dict(color=_BROKEN, lw=1.6, zorder=3) if bad else dict(color=_KEPT, lw=0.7, zorder=1)
            what = f"{'same' if same else 'different'}, {'broken' if bad else 'kept'}"
            ax.plot(line[:, 0], line[:, 1], ls="-" if same else (0, (3, 2)), label=None if what in told else what, **style)
            told.add(what)
        found = np.unique(self.labels)
        for at, label in enumerate(found):
            rows = self.points[self.labels == label]
            # Broken constraints above all: they are what one looks for.
            ax.scatter(
                rows[:, 0], rows[:, 1], s=22 if len(self.points) < 2000 else 7, color=_colour(at), marker=_mark(at),
                edgecolor="white", linewidth=0.3, label=f"cluster {label}", zorder=2,
            )  # fmt: skip
        count, gone = len(found), int(broken.sum())
        kept = f"{gone} constraint{'s' * (gone != 1)} broken" if gone else "every constraint kept"
        ax.set(xlabel=self.axes[0], ylabel=self.axes[1])
        ax.set_title(f"{count} cluster{'s' * (count != 1)}" + (f", {kept}" if len(self.pairs) else ""))
        # Beside the rows, not on them.
        handles, names = ax.get_legend_handles_labels()
        order = sorted(range(len(names)), key=lambda i: not names[i].startswith("cluster "))
        shown = [i for i in order if count <= 24 or not names[i].startswith("cluster ")]
        if shown:
            ax.legend(
                [handles[i] for i in shown], [names[i] for i in shown], loc="center left", bbox_to_anchor=(1.01, 0.5),
                fontsize="small", frameon=False, borderaxespad=0.2, markerscale=1.0 if len(self.points) < 2000 else 2.5,
            )  # fmt: skip
        _plain(ax)
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

    def __init__(self, values: ArrayLike, labels: ArrayLike) -> None:
        self.values, self.labels = np.asarray(values), np.asarray(labels)

    @classmethod
    def from_predictions(cls, X: Any, labels: ArrayLike, *, max_rows: int = 10_000, ax: Any = None) -> Self:
        """Computes the silhouette of every row (O(n²); of every m-th row beyond ``max_rows``) and draws it."""
        X, labels = _dense(X), np.asarray(labels)
        if len(np.unique(labels)) < 2:
            raise DataError("a silhouette needs two clusters or more")
        step = -(-len(X) // max_rows)
        X, labels = X[::step], labels[::step]
        return cls(_silhouettes(X, labels), labels).plot(ax)

    @classmethod
    def from_estimator(cls, estimator: Clusterer, X: Any, **given: Any) -> Self:
        """The silhouettes of the rows that an estimator was fitted on."""
        return cls.from_predictions(X, estimator.labels_, **given)

    def plot(self, ax: Any = None) -> Self:
        """Draws."""
        ax = _axes(ax)
        low, middles, found = 0, [], np.unique(self.labels)
        for at, label in enumerate(found):
            values = np.sort(self.values[self.labels == label])[::-1]
            ax.barh(np.arange(low, low + len(values)), values, height=1.0, color=_colour(at), linewidth=0)
            middles.append(low + (len(values) - 1) / 2)
            low += len(values) + max(1, len(self.values) // 50)
        mean = float(np.mean(self.values))
        ax.axvline(mean, color="#222222", ls="--", lw=1)
        ax.axvline(0, color="#222222", lw=0.8)
        # As many names as fit.
        every = -(-len(found) // 30)
        ax.set(xlabel="silhouette", title=f"mean silhouette {mean:.3f}", yticks=middles[::every])
        ax.set_yticklabels([f"cluster {label}" for label in found[::every]], fontsize="small")
        ax.tick_params(axis="y", length=0)
        ax.invert_yaxis()
        _plain(ax)
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

    def __init__(
        self,
        ks: Iterable[int],
        values: Iterable[float | None],
        *,
        ylabel: str = "score",
        chosen: int | None = None,
        smallest: int | None = None,
        errors: Iterable[float | None] | None = None,
    ) -> None:
        self.ks, self.values, self.ylabel, self.chosen, self.smallest = list(ks), list(values), ylabel, chosen, smallest
        self.errors = None if errors is None else list(errors)

    @classmethod
    def from_estimator(
        cls,
        estimator: Clusterer,
        X: Any,
        ks: Sequence[int],
        *,
        score: Callable[[Clusterer], float | None] | None = None,
        ax: Any = None,
        **given: Any,
    ) -> Self:
        """Fits a copy of the estimator for every k. ``score`` takes a fitted copy; without it, the objective is drawn."""
        values = []
        for k in ks:
            fitted = type(estimator)(**{**estimator.get_params(), "n_clusters": k}).fit(X, **given)
            values.append(fitted.objective_ if score is None else score(fitted))
        return cls(ks, values, ylabel="objective" if score is None else "score").plot(ax)

    def plot(self, ax: Any = None) -> Self:
        """Draws."""
        ax = _axes(ax)
        values = np.array([np.nan if v is None else v for v in self.values], dtype=float)
        errors = None if self.errors is None else [e or 0.0 for e in self.errors]
        shown = ax.errorbar if errors is not None and any(errors) else ax.plot
        shown(self.ks, values, **({"yerr": errors, "capsize": 3} if shown == ax.errorbar else {}), marker="o", color=_COLOURS[0])
        low, ticks = min(self.ks), list(self.ks)
        if self.smallest is not None and self.smallest > 1:
            # What is ruled out is shown even where it was not run.
            low = min(low, max(1, self.smallest - 1))
            ax.axvspan(low - 0.5, self.smallest - 0.5, color="#E4E4E4", lw=0, label="ruled out by cannot-links")
            ticks = sorted({*ticks, *range(low, self.smallest)})
        if self.chosen is not None:
            ax.axvline(self.chosen, color=_COLOURS[1], ls="--", zorder=0, label=f"k = {self.chosen}")
            if self.chosen in self.ks:
                ax.plot([self.chosen], values[[self.ks.index(self.chosen)]], "o", color=_COLOURS[1], ms=9, zorder=4)
        if ax.get_legend_handles_labels()[1]:
            ax.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=2, frameon=False)
        ax.set(xlabel="number of clusters", ylabel=self.ylabel, xticks=ticks[:: -(-len(ticks) // 20)])
        ax.set_xlim(low - 0.5, max(self.ks) + 0.5)
        _plain(ax)
        return self._done(ax)


class ViolationsDisplay(_Display):
    """Kept and broken constraints, by kind and for several clusterings."""

    def __init__(self, violations: Violations | Mapping[str, Violations]) -> None:
        self.violations = {"": violations} if isinstance(violations, Violations) else dict(violations)

    @classmethod
    def from_estimator(cls, *estimators: Clusterer, ax: Any = None) -> Self:
        """The constraints that fitted estimators break, side by side."""
        names = [type(e).__name__ for e in estimators]
        if len(set(names)) < len(names):
            names = [f"{name} {i + 1}" for i, name in enumerate(names)]
        return cls({name: e.violations_ for name, e in zip(names, estimators)}).plot(ax)

    @classmethod
    def from_predictions(
        cls,
        labels: ArrayLike,
        *,
        must_link: Any = None,
        cannot_link: Any = None,
        constraints: Constraints | None = None,
        sample_ids: Any = None,
        ax: Any = None,
    ) -> Self:
        """The constraints that labels break."""
        labels = np.unique(np.asarray(labels), return_inverse=True)[1]
        keyed, by_row = gather(len(labels), sample_ids, None, must_link, cannot_link, constraints, None)
        rows = RowIds(len(labels), sample_ids if keyed else None)
        given, _ = together(keyed, by_row, rows, "auto")
        return cls(Violations._of(given.violations(labels.astype(np.uint32), 0, sample_ids))).plot(ax)

    def plot(self, ax: Any = None) -> Self:
        """Draws."""
        ax = _axes(ax)
        rows = [(name, kind, v) for name, v in self.violations.items() for kind in ("must_link", "cannot_link")]
        # A gap after each clustering.
        places = [at + 0.6 * (at // 2) for at in range(len(rows))]
        for at, (place, (_, kind, v)) in enumerate(zip(places, rows)):
            broken, given = getattr(v, kind), getattr(v, kind + "_given")
            ax.barh(place, given - broken, height=0.8, color="#C4C4C4", label="kept" if at == 0 else None)
            ax.barh(place, broken, left=given - broken, height=0.8, color=_BROKEN, label="broken" if at == 0 else None)
            text = "none given" if not given else f"{broken} of {given} broken" if broken else f"all {given} kept"
            ax.text(given, place, f" {text}", va="center", fontsize="small")
        names = [f"{name} {kind.replace('_', '-')}".strip() for name, kind, _ in rows]
        ax.set(yticks=places, yticklabels=names, xlabel="constraints")
        ax.tick_params(axis="y", length=0)
        ax.xaxis.get_major_locator().set_params(integer=True)
        ax.invert_yaxis()
        ax.margins(x=0.25)
        ax.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=2, frameon=False)
        _plain(ax)
        return self._done(ax)


class LearningCurveDisplay(_Display):
    """How a score grows with the number of answers: the mean of several draws, and its spread."""

    def __init__(
        self, amounts: Iterable[int | str], values: ArrayLike, *, ylabel: str = "score", name: str | None = None
    ) -> None:
        self.amounts, self.values, self.ylabel, self.name = list(amounts), np.asarray(values, float), ylabel, name

    @classmethod
    def from_estimator(
        cls,
        estimator: Clusterer,
        X: Any,
        y: ArrayLike,
        *,
        amounts: Sequence[int | str],
        score: str | Callable[[ArrayLike, ArrayLike], float | None] = "ari",
        protocol: str = "pairs",
        noise: float = 0.0,
        repeats: int = 5,
        ax: Any = None,
    ) -> Self:
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

    @classmethod
    def from_curve(cls, *curves: Sequence[Mapping[str, Any]], score: str = "ari", name: str | None = None, ax: Any = None) -> Self:
        """Draws what `kinfold.learning_curve` returned, for one draw or several."""
        if not curves or not curves[0]:
            raise DataError("there is no curve to draw")
        if score not in curves[0][0]:
            raise ParameterError(f"there is no score named '{score}'; there are {', '.join(curves[0][0])}")
        # Dialogues end when nothing is left to ask: the shortest one decides.
        length = min(map(len, curves))
        values = [[np.nan if c[i][score] is None else c[i][score] for c in curves] for i in range(length)]
        return cls([p["asked"] for p in curves[0][:length]], values, ylabel=score, name=name).plot(ax)

    def plot(self, ax: Any = None) -> Self:
        """Draws."""
        ax = _axes(ax)
        numbers = all(isinstance(a, (int, float, np.number)) for a in self.amounts)
        at = self.amounts if numbers else range(len(self.amounts))
        mean, spread = np.nanmean(self.values, axis=1), np.nanstd(self.values, axis=1)
        colour = _colour(len(ax.lines))
        ax.plot(at, mean, marker="o", ms=4, color=colour, label=self.name)
        ax.fill_between(at, mean - spread, mean + spread, color=colour, alpha=0.2, lw=0)
        ax.set(xlabel="answers", ylabel=self.ylabel)
        if not numbers:
            ax.set_xticks(at, [str(a) for a in self.amounts])
        if self.name:
            ax.legend(frameon=False)
        _plain(ax)
        return self._done(ax)
