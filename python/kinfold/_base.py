"""What all estimators share. With scikit-learn they are its estimators; without it they keep its manners."""

from __future__ import annotations

import contextlib
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from . import _kinfold, _progress
from ._constraints import Constraints, Violations, _listed, _members, _pairs, _Set
from ._rows import RowIds, codes, engine_rows, frame_kind, in_cross_validation, is_sparse, plain_array, split_ids, without_column
from .exceptions import ConstraintError, DataError, IgnoredLabelsWarning, ParameterError

try:
    from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, ClusterMixin, TransformerMixin
    from sklearn.utils.validation import check_is_fitted, validate_data

    HAS_SKLEARN = True
except ImportError:
    HAS_SKLEARN = False

    class BaseEstimator:
        """The part of scikit-learn's class that is needed without it."""

        @classmethod
        def _get_param_names(cls):
            import inspect

            return sorted(p for p in inspect.signature(cls.__init__).parameters if p != "self")

        def get_params(self, deep=True):
            """The parameters by name."""
            return {name: getattr(self, name) for name in self._get_param_names()}

        def set_params(self, **params):
            """Sets parameters by name."""
            known = self._get_param_names()
            for name, value in params.items():
                if name not in known:
                    raise ParameterError(f"there is no parameter '{name}'; it has {', '.join(known)}")
                setattr(self, name, value)
            return self

        def __repr__(self):
            import inspect

            defaults = {n: p.default for n, p in inspect.signature(type(self).__init__).parameters.items()}
            shown = [f"{n}={v!r}" for n, v in self.get_params().items() if v is not defaults[n] and v != defaults[n]]
            return f"{type(self).__name__}({', '.join(shown)})"

    class ClusterMixin:
        """Nothing is needed."""

    class ClassNamePrefixFeaturesOutMixin:
        """Names of the columns of `transform`."""

        def get_feature_names_out(self, input_features=None):
            """Names of the distances: the class's name and a number."""
            name = type(self).__name__.lower()
            return np.asarray([f"{name}{i}" for i in range(self._n_features_out)], dtype=object)

    class TransformerMixin:
        """`fit_transform`."""

        def fit_transform(self, X, y=None, **fit_params):
            """Fits, then transforms the same rows."""
            return self.fit(X, y, **fit_params).transform(X)

    def check_is_fitted(estimator):
        """Raises before `fit`."""
        if not estimator.__sklearn_is_fitted__():
            raise AttributeError(f"This {type(estimator).__name__} instance is not fitted yet: call 'fit' first")


class Rows(BaseEstimator):
    """Reading of rows, shared by clusterers and metric learners."""

    _takes_sparse = True
    _method: dict = {"name": "auto", "parameters": [], "sparse": True, "sizes": False}
    _own: dict = {}

    def _rows(self, X, reset):
        """Checked rows as the engine takes them, and how many there are."""
        X = without_column(X, None if reset else getattr(self, "_id_column", None))
        if HAS_SKLEARN:
            # Cells that are not finite are named by the engine.
            X = validate_data(
                self, X, accept_sparse="csr" if self._takes_sparse else False, dtype=[np.float64, np.float32],
                order="C", ensure_all_finite=False, reset=reset,
            )  # fmt: skip
        else:
            names = [str(c) for c in X.columns] if frame_kind(X) else None
            X = plain_array(X)
            if is_sparse(X) and not self._takes_sparse:
                raise DataError(f"{type(self).__name__} takes no sparse rows; use X.toarray()")
            if reset:
                self.n_features_in_ = X.shape[1]
                if names is not None:
                    self.feature_names_in_ = np.asarray(names, dtype=object)
            elif X.shape[1] != self.n_features_in_:
                raise DataError(
                    f"X has {X.shape[1]} features, but {type(self).__name__} was fitted on {self.n_features_in_}"
                )
        return engine_rows(X), X.shape[0]

    def _given(self, n, ids, y, must_link, cannot_link, constraints, groups):
        """The engine's form of everything that is known, and how many constraints fell away."""
        keyed, by_row = gather(n, ids, y, must_link, cannot_link, constraints, groups)
        if ids is not None and len(ids) != n:
            raise DataError(f"sample_ids has {len(ids)} ids, but there are {n} rows: one id for every row is needed")
        return together(keyed, by_row, RowIds(n, ids if keyed else None), getattr(self, "trust", "hard"))

    def _settings(self):
        """The method's own parameters as the engine reads them."""
        return [
            (p["name"], setting(getattr(self, ours), p["sort"]))
            for ours, p in zip(self._own, self._method["parameters"], strict=True)
        ]

    def __sklearn_is_fitted__(self):
        return hasattr(self, "_model")

    def _threads(self):
        n = self.n_jobs
        return 0 if n is None or n == -1 else whole(n, "n_jobs", 1)

    def _seed(self):
        state = self.random_state
        if state is None:
            state = np.random.mtrand._rand
        if isinstance(state, np.random.RandomState):
            return int(state.randint(np.iinfo(np.int32).max))
        if isinstance(state, np.random.Generator):
            return int(state.integers(np.iinfo(np.int64).max))
        return whole(state, "random_state", 0)

    if HAS_SKLEARN:

        def __sklearn_tags__(self):
            tags = super().__sklearn_tags__()
            tags.input_tags.sparse = self._takes_sparse
            return tags


def whole(value, name, low):
    """A whole number from `low` up."""
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, (int, np.integer)):
        raise ParameterError(f"{name} takes a whole number from {low} up, not {value!r}")
    if value < low:
        raise ParameterError(f"{name} takes a whole number from {low} up, not {value}")
    return int(value)


def earlier(labels, n):
    """Labels of an earlier run as the engine takes them."""
    labels = np.asarray(labels)
    if labels.ndim != 1 or labels.dtype.kind not in "iu":
        raise DataError("previous takes the labels of an earlier run: whole numbers, -1 for rows that it did not have")
    if len(labels) != n:
        raise DataError(f"previous has {len(labels)} labels, but there are {n} rows")
    return labels.astype(np.int64).tolist()


def setting(value, sort):
    """A value as the engine reads it."""
    if isinstance(value, (bool, np.bool_)):
        return "yes" if value else "no"
    if isinstance(value, (float, np.floating)):
        value = float(value)
        return str(int(value)) if sort == "a whole number" and value.is_integer() else repr(value)
    return str(value)


def gather(n, ids, y, must_link, cannot_link, constraints, groups, warn=True):
    """All that is known about the rows, keyed by row numbers or ids; refuses row numbers where rows are a part."""
    splitting = None

    def refuse(name):
        nonlocal splitting
        if splitting is None:
            splitting = in_cross_validation()
        if splitting:
            raise ConstraintError(
                f"{name} holds row numbers, and inside cross-validation the rows are only a part of the data: the numbers "
                "would mean other rows. Pass constraints=Constraints(...) keyed by ids together with sample_ids=, one id "
                "for every row, which is cut along with the rows"
            )

    keyed = Constraints()
    if constraints is not None:
        if not isinstance(constraints, Constraints):
            raise ConstraintError(
                f"constraints takes a Constraints, not {type(constraints).__name__}; pairs of row numbers go to must_link "
                "and cannot_link"
            )
        if ids is None:
            refuse("constraints without sample_ids")
        keyed = constraints
    numbered = []
    for value, same, name in ((must_link, True, "must_link"), (cannot_link, False, "cannot_link")):
        if value is None:
            continue
        if isinstance(value, Constraints):
            raise ConstraintError(f"{name} takes pairs of row numbers; a Constraints goes to constraints=")
        refuse(name)
        pairs = _pairs(value, same, name)
        if pairs.a.dtype == object:
            raise ConstraintError(f"{name} takes row numbers, not ids like '{pairs.a[0]}'; ids go to constraints=Constraints(...)")
        numbered.append(pairs)
    sets = []
    if groups is not None:
        groups, listed = _listed(groups)
        if listed:
            refuse("groups")
        elif len(groups) != n:
            raise ConstraintError(f"{len(groups)} groups were given for {n} rows")
        sets = [_Set(None, True, m) for m in _members(groups, listed, None)]
    by_row = Constraints._of(numbered, sets)
    if y is not None:
        labels = partial_labels(y, n, warn)
        if labels is not None:
            by_row = by_row + labels
    return keyed, by_row


def partial_labels(y, n, warn=True):
    """The constraints of partial labels; None when every row has one, as the truth of a scorer has."""
    y = np.asarray(y)
    if y.ndim == 2 and y.shape[1] == 1:
        y = y.ravel()
    if y.ndim != 1:
        return None
    numbers, _ = codes(y)
    if len(numbers) != n:
        raise DataError(f"y has {len(numbers)} labels, but there are {n} rows")
    if (numbers >= 0).all():
        if warn and not in_cross_validation():
            warnings.warn(
                "y labels every row, so it was taken for the truth of a scorer and ignored; mark unknown rows with -1, or "
                "pass constraints=Constraints.from_labels(y)",
                IgnoredLabelsWarning,
                stacklevel=4,
            )
        return None
    if (numbers < 0).all():
        return None
    return Constraints.from_labels(y)


def together(keyed, by_row, rows, trust):
    """One set of the engine from constraints by id and by row number; how many fell away."""
    if not by_row:
        return keyed._given(rows, trust, strict=rows.ids is None)
    plain = RowIds(rows.n)
    if rows.ids is None:
        return (keyed + by_row)._given(plain, trust, strict=True)
    if not keyed:
        return by_row._given(plain, trust, strict=True)
    # Ids first become row numbers; both then go by number.
    moved, dropped = _moved(keyed, rows)
    return (moved + by_row)._given(plain, trust, strict=True)[0], dropped


def _moved(c, rows):
    import dataclasses

    dropped, pairs, sets, labels = 0, [], [], []
    for p in c._pairs:
        a, b = rows.find(p.a), rows.find(p.b)
        here = (a >= 0) & (b >= 0)
        dropped += int((~here).sum())
        lines = None if p.lines is None else p.lines[here]
        pairs.append(dataclasses.replace(p, a=a[here], b=b[here], same=p.same[here], weight=p.weight[here], lines=lines))
    for s in c._sets:
        members = rows.find(s.members)
        dropped += int((members < 0).sum())
        sets.append(dataclasses.replace(s, members=members[members >= 0]))
    for lab in c._labels:
        at = rows.find(lab.ids)
        dropped += int((at < 0).sum())
        labels.append(dataclasses.replace(lab, ids=at[at >= 0], codes=lab.codes[at >= 0]))
    return Constraints._of(pairs, sets, labels), dropped


class MetricLearner(ClassNamePrefixFeaturesOutMixin, TransformerMixin, Rows):
    """What every metric of the engine is in Python: a transformer whose columns have the learned distances."""

    _takes_sparse = False

    if TYPE_CHECKING:
        components_: np.ndarray
        n_iter_: int
        notes_: list[str]
        n_features_in_: int
        feature_names_in_: np.ndarray

    def fit(
        self,
        X: Any,
        y: Any = None,
        *,
        must_link: Any = None,
        cannot_link: Any = None,
        constraints: Constraints | None = None,
        groups: Any = None,
        sample_ids: Any = None,
    ) -> Self:
        """Learns the metric. Rows and constraints are given as to the clusterers.

        Returns
        -------
        self
        """
        column = sample_ids if isinstance(sample_ids, str) else None
        X, ids = split_ids(X, sample_ids)
        rows, n = self._rows(X, reset=True)
        given, _ = self._given(n, ids, y, must_link, cannot_link, constraints, groups)
        bar = _progress.listener(self.progress)
        try:
            self._model = _kinfold.learn(
                rows, given, self._method["name"], self._settings(), seed=self._seed(), threads=self._threads(),
                time_limit=None if self.time_limit is None else float(self.time_limit), ids=ids, progress=bar,
            )  # fmt: skip
        finally:
            _progress.finish(bar)
        self._id_column = column
        matrix = self._model.matrix
        self.components_ = np.eye(self.n_features_in_) if matrix is None else np.ascontiguousarray(matrix.T)
        self.n_iter_ = max(1, self._model.iterations)
        self.notes_ = self._model.notes
        return self

    def transform(self, X: Any) -> Any:
        """The rows in columns whose Euclidean distances are those of the metric."""
        check_is_fitted(self)
        return self._model.apply(self._rows(X, reset=False)[0])

    def get_mahalanobis_matrix(self) -> np.ndarray:
        """M of the distance (x − y)ᵀ M (x − y)."""
        check_is_fitted(self)
        return self.components_.T @ self.components_

    @property
    def _n_features_out(self):
        return len(self.components_)

    if HAS_SKLEARN:

        def __sklearn_tags__(self):
            tags = super().__sklearn_tags__()
            tags.transformer_tags.preserves_dtype = ["float64", "float32"]
            return tags


class Clusterer(ClassNamePrefixFeaturesOutMixin, TransformerMixin, ClusterMixin, Rows):
    """What every clustering method of the engine is in Python; the classes themselves are made from its table."""

    if TYPE_CHECKING:
        labels_: np.ndarray
        cluster_centers_: np.ndarray
        inertia_: float
        objective_: float
        trace_: np.ndarray
        n_iter_: int
        termination_: str
        lower_bound_: float | None
        gap_: float | None
        trust_: dict[str, Any] | None
        violations_: Violations
        distrusted_: list[dict[str, Any]]
        sizes_: np.ndarray
        representation_: str
        candidates_: list[tuple[str, float | None, float, float]]
        notes_: list[str]
        elapsed_: float
        n_dropped_: int
        n_features_in_: int
        feature_names_in_: np.ndarray

    def fit(
        self,
        X: Any,
        y: Any = None,
        *,
        must_link: Any = None,
        cannot_link: Any = None,
        constraints: Constraints | None = None,
        groups: Any = None,
        sample_ids: Any = None,
        previous: Any = None,
    ) -> Self:
        """Clusters the rows.

        Parameters
        ----------
        X : array, scipy.sparse matrix or data frame of shape (n_rows, n_features)
            float32 and float64 in C order are read in place, everything else is converted.
        y : array of shape (n_rows,), optional
            Partial labels: rows of equal label belong together, of different labels do not; -1, None and NaN are unknown.
            A ``y`` without unknown rows is the truth that scorers use: it is ignored, with a warning.
        must_link, cannot_link : pairs of row numbers, shape (m, 2), optional
            Rows that belong together, and rows that do not.
        constraints : Constraints, optional
            Constraints keyed by ids. Those on rows that are not there are left out (``n_dropped_`` counts them).
        groups : array of shape (n_rows,) or sequence of sequences of row numbers, optional
            Rows of one group belong together; -1, None and NaN are in no group.
        sample_ids : array of shape (n_rows,) or the name of a column, optional
            The id of every row. Left out, a pandas frame's index, or else the row numbers from 0.
        previous : array of shape (n_rows,), optional
            Labels of an earlier run, -1 for rows that it did not have: clusters keep their numbers where they overlap most.

        Returns
        -------
        self
        """
        self._id_column = sample_ids if isinstance(sample_ids, str) else None
        X, ids = split_ids(X, sample_ids)
        rows, n = self._rows(X, reset=True)
        given, self.n_dropped_ = self._given(n, ids, y, must_link, cannot_link, constraints, groups)
        return self._run(rows, given, ids, previous)

    def _run(self, rows, given, ids, previous=None):
        """Clusters rows that were read."""
        if previous is not None:
            previous = earlier(previous, given.n)
        features = [str(f) for f in getattr(self, "feature_names_in_", ())]
        k = whole(self.n_clusters, "n_clusters", 1)
        with self._asked() as asked:
            name, settings = self._method["name"], self._settings()
            found = _kinfold.fit(rows, given, name, k, settings, ids=ids, features=features, previous=previous, **asked)
        self._model = found.model
        self.labels_ = found.labels
        self.cluster_centers_ = found.centres
        self.inertia_ = found.inertia
        self.objective_ = found.objective
        self.trace_ = np.asarray(found.trace)
        self.n_iter_ = max(1, found.iterations)
        self.termination_ = found.termination
        self.lower_bound_, self.gap_ = found.lower_bound, found.gap
        self.trust_ = found.trust
        self.violations_ = Violations._of(dict(found.violations))
        self.distrusted_ = found.distrusted
        self.sizes_ = np.asarray(found.sizes)
        self.representation_ = found.representation
        self.candidates_ = found.candidates
        self.notes_ = found.notes
        self.elapsed_ = found.elapsed
        return self

    def _metric_choice(self):
        if self.metric_learner is None:
            if self.metric_params:
                raise ParameterError("metric_params are settings of a metric_learner, and none is named")
            return None
        return self.metric_learner, [(name, setting(value, "")) for name, value in (self.metric_params or {}).items()]

    @contextlib.contextmanager
    def _asked(self):
        """What every run is asked, with a progress bar that leaves the screen afterwards."""
        bound = lambda what: None if (v := getattr(self, what, None)) is None else whole(v, what, 1)
        bar = _progress.listener(self.progress)
        try:
            yield dict(
                scaling=self.scale, metric=self._metric_choice(), min_size=bound("min_size"), max_size=bound("max_size"), trust=self.trust,
                seed=self._seed(), threads=self._threads(), memory=bound("memory_limit"), progress=bar,
                time_limit=None if self.time_limit is None else float(self.time_limit),
            )  # fmt: skip
        finally:
            _progress.finish(bar)

    def fit_predict(
        self,
        X: Any,
        y: Any = None,
        *,
        must_link: Any = None,
        cannot_link: Any = None,
        constraints: Constraints | None = None,
        groups: Any = None,
        sample_ids: Any = None,
        previous: Any = None,
    ) -> np.ndarray:
        """Clusters the rows and returns their labels. See `fit`."""
        given = dict(must_link=must_link, cannot_link=cannot_link, constraints=constraints, groups=groups, sample_ids=sample_ids)
        return self.fit(X, y, **given, previous=previous).labels_

    def predict(self, X: Any) -> np.ndarray:
        """The nearest cluster of every row, in the representation that was fitted. Constraints play no part."""
        check_is_fitted(self)
        rows, _ = self._rows(X, reset=False)
        return self._model.predict(rows, self._threads())

    def transform(self, X: Any) -> Any:
        """The distance of every row to every centre, in the representation that was fitted."""
        check_is_fitted(self)
        rows, _ = self._rows(X, reset=False)
        return self._model.distances(rows, self._threads())

    def score(self, X: Any, y: Any = None) -> float:
        """Minus the sum of squared distances to the nearest centres, in the representation that was fitted."""
        check_is_fitted(self)
        rows, _ = self._rows(X, reset=False)
        return -self._model.inertia(rows, self._threads())

    def save(self, path: str | Path) -> None:
        """Writes the model, for `kinfold.load` and for ``kinfold predict`` on the command line."""
        check_is_fitted(self)
        with open(path, "wb") as file:
            file.write(self._model.to_bytes())

    @property
    def _n_features_out(self):
        return self._model.k

    if HAS_SKLEARN:

        def __sklearn_tags__(self):
            tags = super().__sklearn_tags__()
            tags.transformer_tags.preserves_dtype = ["float64", "float32"]
            return tags
