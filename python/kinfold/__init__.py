"""Clustering that listens.

You know that some rows belong together and some do not. kinfold clusters the rows so that each of those facts is obeyed,
or named as broken with the reason.

>>> import kinfold
>>> rows = [[0.0], [1.0], [9.0], [10.0]]
>>> kinfold.Fold(n_clusters=2).fit(rows, must_link=[(0, 1)], cannot_link=[(1, 2)]).labels_
array([0, 0, 1, 1], dtype=int32)

Every method of the engine is an estimator with scikit-learn's manners (``kinfold.methods()`` lists them); constraints that
are keyed by your own ids are a ``Constraints``; ``kinfold.indices`` has the scores, ``kinfold.display`` the pictures.
"""

import importlib

from ._kinfold import VERSION as __version__

# Where each name lives. Modules are loaded when a name is used: `import kinfold` costs milliseconds.
_HOMES = {
    "Constraints": "_constraints",
    "ConflictReport": "_constraints",
    "Dialogue": "_dialogue",
    "KChoice": "_choose",
    "choose_k": "_choose",
    "Violations": "_constraints",
    "select": "_select",
    "simulate": "_simulate",
    "learning_curve": "_dialogue",
    "strategies": "_dialogue",
    "load": "_estimators",
    "methods": "_estimators",
    "metrics": "_estimators",
    "estimator": "_estimators",
}
_MODULES = ["display", "exceptions", "indices"]


def __getattr__(name):
    if name in _HOMES:
        found = getattr(importlib.import_module("." + _HOMES[name], __name__), name)
    elif name in _MODULES:
        found = importlib.import_module("." + name, __name__)
    elif not name.startswith("_") and name in _class_names():
        found = getattr(importlib.import_module("._estimators", __name__), name)
    else:
        raise AttributeError(f"module 'kinfold' has no attribute '{name}'")
    globals()[name] = found
    return found


def _class_names():
    from ._tables import methods, metrics

    return {*methods(), *metrics()}


def __dir__():
    return sorted({*globals(), *_HOMES, *_MODULES, *_class_names()})


