"""Rows and ids as the engine takes them. Arrays that already fit are handed over as they are, without a copy."""

import sys

import numpy as np

from .exceptions import ConstraintError, DataError

# Where scikit-learn fits estimators on a part of the rows.
_SPLITTERS = ("sklearn.model_selection", "sklearn.ensemble", "sklearn.calibration", "sklearn.feature_selection")


def frame_kind(X):
    """"pandas", "polars" or None."""
    root = type(X).__module__.partition(".")[0]
    return root if root in ("pandas", "polars") and hasattr(X, "columns") else None


def is_sparse(X):
    """A scipy.sparse matrix or array? Without importing scipy."""
    return type(X).__module__.startswith("scipy.sparse") and hasattr(X, "tocsr")


def split_ids(X, sample_ids):
    """The features of a frame or array, and the ids of its rows: given, a column, a pandas index, or None."""
    kind = frame_kind(X)
    if isinstance(sample_ids, str):
        if kind is None:
            raise DataError(f"sample_ids='{sample_ids}' names a column, but X is not a data frame")
        if sample_ids not in X.columns:
            raise DataError(f"there is no column '{sample_ids}'; the frame has {', '.join(map(str, X.columns))}")
        column = sample_ids
        ids = X[column]
        return X.drop(columns=[column]) if kind == "pandas" else X.drop(column), np.asarray(ids)
    if sample_ids is None:
        return X, X.index.to_numpy() if kind == "pandas" else None
    return X, np.asarray(sample_ids)


def without_column(X, column):
    """A frame without its column of ids, if it has one."""
    if column is None or frame_kind(X) is None or column not in X.columns:
        return X
    return X.drop(columns=[column]) if frame_kind(X) == "pandas" else X.drop(column)


def engine_rows(X):
    """A checked array or CSR matrix as the engine takes it: C order, aligned, f32 or f64."""
    if is_sparse(X):
        X = X.tocsr()
        if not X.has_canonical_format:
            X = X.copy()
            X.sum_duplicates()
        if X.shape[1] >= 2**32:
            raise DataError(f"{X.shape[1]} columns are too many: the engine takes fewer than 4294967296")
        indices = np.require(X.indices, requirements=["C", "A"])
        indices = indices.view(np.uint32) if indices.dtype == np.int32 else indices.astype(np.uint32)
        return X.indptr.astype(np.uintp), indices, np.require(_floats(X.data), requirements=["C", "A"]), X.shape[1]
    # ascontiguousarray would leave a misaligned array misaligned.
    return np.require(_floats(X), requirements=["C", "A"])


def _floats(values):
    if values.dtype == np.float32 or values.dtype == np.float64:
        return values if values.dtype.isnative else values.astype(values.dtype.newbyteorder("="))
    return values.astype(np.float64)


def plain_array(X):
    """What `sklearn.utils.check_array` does, as far as it is needed where scikit-learn is not installed."""
    if is_sparse(X):
        if X.dtype.kind not in "fiub":
            raise DataError(f"the values must be numbers, not {X.dtype}")
        return X
    if frame_kind(X):
        X = X.to_numpy()
    X = np.asarray(X)
    if X.ndim != 2:
        raise DataError(f"rows must be an array of two dimensions, not {X.ndim}; a single column is X.reshape(-1, 1)")
    if X.dtype.kind in "OUS":
        try:
            X = X.astype(np.float64)
        except (TypeError, ValueError) as error:
            raise DataError(f"the columns must be numbers: {error}") from None
    if X.dtype.kind not in "fiub":
        raise DataError(f"the columns must be numbers, not {X.dtype}")
    return X


def in_cross_validation():
    """Is scikit-learn fitting on a part of the rows? Looks at who called."""
    frame = sys._getframe(1)
    while frame is not None:
        if frame.f_globals.get("__name__", "").startswith(_SPLITTERS):
            return True
        frame = frame.f_back
    return False


def normal_ids(ids):
    """Whole numbers as int64, everything else as text."""
    ids = np.asarray(ids)
    if ids.dtype.kind in "iu":
        return ids.astype(np.int64)
    if ids.dtype.kind == "f" and ids.size and np.all(np.isfinite(ids)) and np.all(ids == np.floor(ids)):
        return ids.astype(np.int64)
    flat = [_text(i) for i in ids.ravel()]
    out = np.empty(len(flat), dtype=object)
    out[:] = flat
    return out.reshape(ids.shape)


def _text(value):
    return value if type(value) is str else value.decode() if isinstance(value, bytes) else str(value)


class RowIds:
    """The id of every row, and the row of every id. Ids are compared as text: 417 is "417", "00417" is not."""

    def __init__(self, n, ids=None):
        self.n, self.ids, self._index = n, None, None
        if ids is None:
            return
        ids = normal_ids(ids)
        if ids.shape != (n,):
            raise DataError(f"sample_ids has the shape {ids.shape}, but there are {n} rows: one id for every row is needed")
        self.ids = ids
        if ids.dtype == object:
            self._index = {}
            for row, i in enumerate(ids):
                if self._index.setdefault(i, row) != row:
                    self._repeated(i, self._index[i], row)
        elif n and not (ids[0] == 0 and ids[-1] == n - 1 and np.array_equal(ids, np.arange(n))):
            order = np.argsort(ids, kind="stable")
            ordered = ids[order]
            same = np.flatnonzero(ordered[1:] == ordered[:-1])
            if same.size:
                self._repeated(ordered[same[0]], order[same[0]], order[same[0] + 1])
            self._index = (ordered, order)
        else:
            self._index = "positions"

    @staticmethod
    def _repeated(i, first, row):
        raise DataError(f"row {row}: the id '{i}' was already given on row {first}; ids must differ")

    def find(self, ids):
        """The row of each id; -1 where no row has it."""
        ids = normal_ids(ids)
        if self._index is None or isinstance(self._index, str):
            rows = ids if ids.dtype != object else _numbers(ids)
            return np.where((rows >= 0) & (rows < self.n), rows, -1)
        if isinstance(self._index, dict):
            get = self._index.get
            return np.fromiter((get(_text(i), -1) for i in ids.ravel()), np.int64, ids.size).reshape(ids.shape)
        ordered, order = self._index
        wanted = ids if ids.dtype != object else _numbers(ids)
        at = np.minimum(np.searchsorted(ordered, wanted), len(ordered) - 1)
        known = ordered[at] == wanted
        if ids.dtype == object:
            known &= np.fromiter((i == str(w) for i, w in zip(ids, wanted)), bool, ids.size)
        return np.where(known, order[at], -1)

    def unknown(self, i):
        """The error for an id that no row has."""
        if self.ids is None:
            number = str(i).lstrip("-").isdigit()
            if number:
                return ConstraintError(f"row {i} does not exist: there are {self.n} rows")
            return ConstraintError(f"no row has the id '{i}': without sample_ids, rows are named by their numbers from 0")
        some = ", ".join(f"'{x}'" for x in self.ids[:3])
        return ConstraintError(f"no row has the id '{i}'; there are ids like {some}")


def _numbers(ids):
    """Text that is exactly a row number as that number; -1 for other text."""

    def number(i):
        return int(i) if i.isdigit() and i.isascii() and (i == "0" or i[0] != "0") and len(i) < 19 else -1

    return np.fromiter((number(i) for i in ids), np.int64, len(ids))


def codes(values, unknown_negative=True):
    """Values as numbers by first appearance, -1 for unknown (-1, None, NaN, empty text), and the names."""
    values = np.asarray(values)
    if values.ndim != 1:
        raise DataError(f"labels must be one per row, not of shape {values.shape}")
    if values.dtype.kind in "iub":
        known = values != -1 if unknown_negative and values.dtype.kind == "i" else np.ones(len(values), bool)
    elif values.dtype.kind == "f":
        known = np.isfinite(values) & ((values != -1) if unknown_negative else True)
    else:
        known = np.fromiter((not _missing(v, unknown_negative) for v in values), bool, len(values))
    given = values[known]
    if given.dtype == object:
        given = np.array([_text(v) for v in given], dtype=object)
    names, first, inverse = np.unique(given, return_index=True, return_inverse=True)
    order = np.argsort(first, kind="stable")
    rank = np.empty(len(order), np.int64)
    rank[order] = np.arange(len(order))
    out = np.full(len(values), -1, np.int64)
    out[known] = rank[inverse.ravel()]
    return out, [_text(v) for v in names[order]]


def _missing(value, unknown_negative):
    pandas = sys.modules.get("pandas")
    if value is None or (pandas is not None and value is pandas.NA) or (isinstance(value, float) and value != value):
        return True
    if isinstance(value, (int, float, np.integer)):
        return unknown_negative and value == -1
    return isinstance(value, str) and value == ""
