"""One estimator for each line of the engine's table of methods."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Any

import numpy as np

from . import _kinfold
from ._base import Clusterer, MetricLearner, Rows
from ._names import metric_signature, parameter_name, signature
from ._rows import frame_kind
from ._tables import methods as _methods
from ._tables import metrics as _metrics
from ._tables import tables
from .exceptions import ParameterError

_LISTENS = {
    "hard": "Every constraint is kept, or the reason why not is given.",
    "priced": "Every constraint without a weight is kept, or the reason why not is given; those with one where it pays.",
    "soft": "Constraints are kept where it pays.",
    "no": "Constraints are ignored; the broken ones are counted.",
}

_RESULTS = """    labels_ : array of shape (n_rows,)
        The cluster of every row, numbered by first row.
    cluster_centers_ : array of shape (n_clusters, n_features)
        Centres, in the columns of X.
    inertia_ : float
        Sum of squared distances of the rows to the means of their clusters, in the columns of X.
    objective_ : float
        What the method minimises, recomputed from the labels.
    n_iter_ : int
        Iterations.
    violations_ : Violations
        The constraints that do not hold.
    distrusted_ : list of dict
        The constraints that were not believed, then those that are kept but doubtful, with the evidence.
    representation_ : str
        The space in which the rows were clustered.
    termination_ : str
        converged, optimal, max-iterations, deadline or cancelled.
    lower_bound_, gap_ : float or None
        No clustering that keeps the constraints has a smaller objective, and how far above the optimum this one can be at
        most, as a share of it; None for methods that prove no bound.
    trust_ : dict or None
        What was believed of the constraints and why: verdict, reason, error_rate, contradictions, evidence.
    sizes_, trace_, candidates_, notes_, n_dropped_, elapsed_
        Rows of each cluster; the objective by iteration; what a representation was chosen from; things to know;
        constraints on rows that were not there; seconds.
"""


def _doc(name, method, parameters):
    lines = [f"{method['summary'][:1].upper()}{method['summary'][1:]}.", "", _LISTENS[method["listens"]]]
    lines += ["", f"Minimises {method['minimises']}.", f"{method['constraints'][:1].upper()}{method['constraints'][1:]}"]
    lines += [f"Cost: {method['cost']}", f"Source: {method['paper']}", "", "Parameters", "----------"]
    for ours, sort, value, text in parameters:
        lines += [f"{ours} : {sort}, default {value!r}", f"    {text}"]
    lines += ["", "Attributes", "----------"]
    doc = "\n    ".join(lines) + "\n" + _RESULTS
    doc += f"""
    Examples
    --------
    >>> from kinfold import {name}
    >>> rows = [[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [9.0, 9.0], [9.0, 10.0], [10.0, 9.0]]
    >>> found = {name}(n_clusters=2).fit(rows, must_link=[(0, 1)], cannot_link=[(1, 3)])
    >>> found.labels_.tolist()
    [0, 0, 0, 1, 1, 1]
    >>> len(found.violations_)
    0
    """
    return "\n".join(line.rstrip() for line in doc.splitlines())


def _metric_doc(name, metric, parameters):
    lines = [f"{metric['summary'][:1].upper()}{metric['summary'][1:]}: a metric learned from constraints, as a transformer."]
    lines += ["", f"Minimises {metric['minimises']}.", f"{metric['constraints'][:1].upper()}{metric['constraints'][1:]}."]
    lines += [f"Cost: {metric['cost']}", f"Source: {metric['paper']}", "", "Parameters", "----------"]
    for ours, sort, value, text in parameters:
        lines += [f"{ours} : {sort}, default {value!r}", f"    {text}"]
    doc = "\n    ".join(lines)
    doc += f"""

    Attributes
    ----------
    components_ : array of shape (n_components, n_features)
        The map: rows times its transpose have the learned distances.
    n_iter_ : int
        Iterations; 1 where the answer is computed at once.
    notes_ : list of str
        Things to know.

    Examples
    --------
    >>> from kinfold import {name}
    >>> rows = [[0.0, 0.0], [0.0, 5.0], [1.0, 1.0], [1.0, 6.0], [0.1, 9.0], [0.9, 3.0]]
    >>> learned = {name}().fit(rows, must_link=[(0, 1), (2, 3), (0, 4)], cannot_link=[(0, 2), (1, 3), (4, 5)])
    >>> learned.transform(rows).shape[0]
    6
    """
    return "\n".join(line.rstrip() for line in doc.splitlines())


def _init(name, parameters):
    defaults = {ours: value for ours, _, value, _ in parameters}
    Parameter = inspect.Parameter
    # Like scikit-learn's: the number of clusters may go by position, the others by name.
    first = [ours for ours in defaults if ours == "n_clusters"]
    kinds = [Parameter.POSITIONAL_OR_KEYWORD if ours in first else Parameter.KEYWORD_ONLY for ours in defaults]

    def __init__(self, *by_position, **given):
        if len(by_position) > len(first) or (by_position and first[0] in given):
            raise TypeError(f"{name} takes its parameters by name: {', '.join(defaults)}")
        given.update(zip(first, by_position))
        for unknown in given.keys() - defaults.keys():
            raise TypeError(f"{name} has no parameter '{unknown}'; it has {', '.join(defaults)}")
        for ours, value in defaults.items():
            setattr(self, ours, given.get(ours, value))

    own = [Parameter(ours, kind, default=value) for (ours, _, value, _), kind in zip(parameters, kinds)]
    __init__.__signature__ = inspect.Signature([Parameter("self", Parameter.POSITIONAL_ONLY), *own])
    __init__.__qualname__ = f"{name}.__init__"
    return __init__


def _make(name, method):
    parameters = signature(method)
    names = [p[0] for p in parameters]
    if len(set(names)) < len(names):
        raise RuntimeError(f"{method['name']} has a parameter that every estimator has: {names}")
    body = {
        "__doc__": _doc(name, method, parameters),
        "__module__": "kinfold",
        "__init__": _init(name, parameters),
        "_method": method,
        "_own": {parameter_name(p["name"]): p["name"] for p in method["parameters"]},
        "_takes_sparse": method["sparse"],
    }
    return type(Clusterer)(name, (Clusterer,), body)


def _make_metric(name, metric):
    parameters = metric_signature(metric)
    body = {
        "__doc__": _metric_doc(name, metric, parameters),
        "__module__": "kinfold",
        "__init__": _init(name, parameters),
        "_method": metric,
        "_own": {parameter_name(p["name"]): p["name"] for p in metric["parameters"]},
    }
    return type(MetricLearner)(name, (MetricLearner,), body)


_METRICS = {name: _make_metric(name, metric) for name, metric in _metrics().items()}
globals().update(_METRICS)
_CLASSES = {name: _make(name, method) for name, method in _methods().items()}
globals().update(_CLASSES)


def methods() -> dict[str, str]:
    """The estimators by name, with a line about each.

    >>> import kinfold
    >>> print(kinfold.methods()["KMeans"][:13])
    plain k-means
    """
    return {name: method["summary"] for name, method in _methods().items()}


def metrics() -> dict[str, str]:
    """The metric learners by name, with a line about each.

    >>> import kinfold
    >>> kinfold.metrics()["RCA"]
    'whitens what varies inside chunklets'
    """
    return {name: metric["summary"] for name, metric in _metrics().items()}


def estimator(name: str, n_clusters: int = 8, **parameters: Any) -> Clusterer:
    """The estimator of a method, by the name it has on the command line; "auto" is the default method.

    >>> import kinfold
    >>> kinfold.estimator("cop-kmeans", 3)
    COPKMeans(n_clusters=3)
    """
    wanted = tables()["auto"] if name == "auto" else name
    for cls in _CLASSES.values():
        if cls._method["name"] == wanted:
            return cls(n_clusters, **parameters)
    known = ", ".join(m["name"] for m in tables()["methods"])
    raise ParameterError(f"there is no method named '{name}'; there are {known}")


class SavedModel(Rows):
    """A model that was saved here or by the command line: it labels new rows."""

    def __init__(self, model):
        self.model = model

    def _ready(self, X):
        names = self.model.features
        self.n_features_in_ = len(names) or self.model.centres.shape[1]
        # Arrays have no names to compare with, and the columns of an array that the command line numbered had none either.
        if frame_kind(X) and names and names != [f"c{i}" for i in range(len(names))]:
            self.feature_names_in_ = np.asarray(names, dtype=object)
        else:
            X = X.to_numpy() if frame_kind(X) else X
            vars(self).pop("feature_names_in_", None)
        return self._rows(X, reset=False)[0]

    @property
    def cluster_centers_(self) -> np.ndarray:
        """Centres in the representation that was fitted."""
        return self.model.centres

    def predict(self, X: Any) -> np.ndarray:
        """The nearest cluster of every row."""
        return self.model.predict(self._ready(X), 0)

    def transform(self, X: Any) -> np.ndarray:
        """The distance of every row to every centre."""
        return self.model.distances(self._ready(X), 0)


def load(path: str | Path) -> SavedModel:
    """Reads a model that `save` or ``kinfold cluster --save`` wrote.

    >>> import kinfold, pathlib, tempfile
    >>> file = pathlib.Path(tempfile.mkdtemp()) / "model.json"
    >>> kinfold.KMeans(2).fit([[0.0], [1.0], [9.0], [10.0]]).save(file)
    >>> kinfold.load(file).predict([[2.0], [8.0]]).tolist()
    [0, 1]
    """
    with open(path, "rb") as file:
        return SavedModel(_kinfold.Model.from_bytes(str(path), file.read()))
