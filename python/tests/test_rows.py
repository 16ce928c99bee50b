"""What rows may look like: order, alignment, precision, sparse matrices, frames."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp

import kinfold
from kinfold import _kinfold
from kinfold._rows import engine_rows
from kinfold.exceptions import ConstraintError, DataError


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(5)
    return np.ascontiguousarray(np.concatenate([rng.normal(c, 1.0, (30, 5)) for c in (0, 4, 8)]))


def labels(X, **given):
    return kinfold.KMeans(3).fit(X, **given).labels_


def test_arrays_that_fit_are_read_in_place(rows):
    for X in (rows, rows.astype(np.float32), np.frombuffer(rows.tobytes()).reshape(rows.shape)):
        assert np.shares_memory(engine_rows(X), X)
    sparse = sp.csr_matrix(np.where(rows > 4, rows, 0))
    parts = engine_rows(sparse)
    assert np.shares_memory(parts[1], sparse.indices) and np.shares_memory(parts[2], sparse.data)


def test_scikit_learn_hands_them_on_without_a_copy(rows, monkeypatch):
    seen = []
    fit = _kinfold.fit

    def spy(x, *args, **kwargs):
        seen.append(x)
        return fit(x, *args, **kwargs)

    monkeypatch.setattr(_kinfold, "fit", spy)
    for X in (rows, rows.astype(np.float32)):
        labels(X)
        assert np.shares_memory(seen.pop(), X)
    frame = pd.DataFrame(rows)
    labels(frame)
    assert seen.pop().flags.c_contiguous


def test_fortran_order_means_the_same_rows(rows):
    for X in (np.asfortranarray(rows), rows[:, ::-1][:, ::-1], np.repeat(rows, 2, axis=1)[:, ::2], rows.tolist()):
        assert np.array_equal(labels(X), labels(rows))


def test_the_door_itself_refuses_fortran_order_and_misaligned_rows(rows):
    given = _kinfold.Given(len(rows), [], [], [])
    with pytest.raises(DataError, match="C-contiguous"):
        _kinfold.fit(np.asfortranarray(rows), given, "kmeans", 2, [])
    with pytest.raises(DataError, match="not aligned"):
        _kinfold.fit(misaligned(rows), given, "kmeans", 2, [])
    with pytest.raises(DataError, match="float32 or float64 in two dimensions"):
        _kinfold.fit(rows.astype(np.int64), given, "kmeans", 2, [])


def misaligned(X):
    bytes_ = np.zeros(X.nbytes + 1, np.uint8)
    out = bytes_[1:].view(X.dtype.newbyteorder("=")).reshape(X.shape)
    out[:] = X
    assert not out.flags.aligned
    return out


def test_misaligned_and_foreign_bytes_mean_the_same_rows(rows):
    assert np.array_equal(labels(misaligned(rows)), labels(rows))
    assert np.array_equal(labels(rows.astype(">f8")), labels(rows))
    assert np.array_equal(labels(np.round(rows * 100).astype(np.int16)), labels(np.round(rows * 100)))


def test_read_only_rows_are_fine(rows):
    X = rows.copy()
    X.flags.writeable = False
    assert np.array_equal(labels(X), labels(rows))


@pytest.mark.parametrize("index", [np.int32, np.int64])
@pytest.mark.parametrize("kind", [sp.csr_matrix, sp.csr_array, sp.csc_matrix, sp.coo_array])
def test_sparse_rows_mean_the_same_as_dense_ones(rows, kind, index):
    X = np.where(rows > 2, rows, 0.0)
    S = kind(X)
    for part in ("indices", "indptr"):
        if hasattr(S, part):
            setattr(S, part, getattr(S, part).astype(index))
    one, two = kinfold.KMeans(3).fit(S), kinfold.KMeans(3).fit(X)
    assert np.array_equal(one.labels_, two.labels_)
    assert np.allclose(one.transform(S), two.transform(X))
    assert np.array_equal(one.predict(S), two.predict(X))


def test_sparse_rows_with_unsorted_and_repeated_columns_are_mended_in_a_copy():
    S = sp.csr_matrix((np.array([1.0, 2.0, 3.0, 9.0]), np.array([2, 0, 0, 1]), np.array([0, 3, 4])), shape=(2, 3))
    before = S.indices.copy()
    found = kinfold.KMeans(2).fit(S)
    assert np.allclose(found.cluster_centers_, [[5.0, 0.0, 1.0], [0.0, 9.0, 0.0]])
    assert np.array_equal(S.indices, before)


def test_float32_stays_float32(rows):
    found = kinfold.KMeans(3).fit(rows.astype(np.float32))
    assert found.transform(rows.astype(np.float32)).dtype == np.float32
    assert found.transform(rows).dtype == np.float64


def test_bad_cells_are_named(rows):
    X = rows.copy()
    X[7, 3] = np.nan
    with pytest.raises(DataError, match="row 7, column 3 holds NaN, which is not a finite number"):
        labels(X)
    found = kinfold.KMeans(3).fit(rows)
    with pytest.raises(DataError, match="row 7, column 3 holds NaN"):
        found.predict(X)


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_frames_with_a_column_of_ids(rows, frame):
    ids = [f"r{i:03}" for i in range(len(rows))]
    table = frame({"id": ids, **{f"x{j}": rows[:, j] for j in range(5)}})
    c = kinfold.Constraints(cannot_link=[("r000", "r001")])
    found = kinfold.ConstrainedKMeans(3).fit(table, constraints=c, sample_ids="id")
    assert list(found.feature_names_in_) == [f"x{j}" for j in range(5)]
    assert found.labels_[0] != found.labels_[1]
    assert np.array_equal(found.predict(table), found.predict(rows))
    with pytest.raises(DataError, match="there is no column 'name'"):
        found.fit(table, sample_ids="name")


def test_the_index_of_a_pandas_frame_is_its_ids(rows):
    table = pd.DataFrame(rows, index=[f"r{i}" for i in range(len(rows))])
    c = kinfold.Constraints(cannot_link=[("r3", "r5")])
    part = table.iloc[::-1]
    found = kinfold.ConstrainedKMeans(3).fit(part, constraints=c)
    at = dict(zip(part.index, found.labels_))
    assert at["r3"] != at["r5"] and found.n_dropped_ == 0


def test_ids_are_text_and_never_retyped(rows):
    ids = ["00417", "417", *(f"x{i}" for i in range(len(rows) - 2))]
    c = kinfold.Constraints(cannot_link=[("00417", "x0")])
    found = kinfold.ConstrainedKMeans(3).fit(rows, constraints=c, sample_ids=ids)
    assert found.labels_[0] != found.labels_[2] and found.labels_[0] == found.labels_[1]
    numbers = kinfold.Constraints(cannot_link=[(417, "x0")])
    found = kinfold.ConstrainedKMeans(3).fit(rows, constraints=numbers, sample_ids=ids)
    assert found.labels_[1] != found.labels_[2] and found.labels_[0] == found.labels_[2]


def test_ids_in_any_order_and_repeated_ids(rows):
    order = np.random.default_rng(1).permutation(len(rows))
    c = kinfold.Constraints(cannot_link=[(0, 1), ("2", "3")], must_link=[("10", 11)])
    found = kinfold.ConstrainedKMeans(3).fit(rows[order], constraints=c, sample_ids=order)
    at = dict(zip(order.tolist(), found.labels_.tolist()))
    assert at[0] != at[1] and at[2] != at[3] and at[10] == at[11]
    with pytest.raises(DataError, match="row 1: the id '7' was already given on row 0"):
        found.fit(rows[:3], constraints=c, sample_ids=[7, 7, 8])
    with pytest.raises(DataError, match="one id for every row"):
        found.fit(rows, constraints=c, sample_ids=[1, 2])


def test_wrong_rows_and_ids_are_told(rows):
    fit = kinfold.ConstrainedKMeans(3).fit
    with pytest.raises(ConstraintError, match="row 90 does not exist: there are 90 rows"):
        fit(rows, must_link=[(0, 90)])
    with pytest.raises(ConstraintError, match="row -1 does not exist"):
        fit(rows, must_link=[(0, -1)])
    with pytest.raises(ConstraintError, match=r"must_link takes pairs, an array of shape \(m, 2\), not of shape \(3,\)"):
        fit(rows, must_link=[0, 1, 2])
    with pytest.raises(ConstraintError, match="must_link takes row numbers, not ids like 'a'"):
        fit(rows, must_link=[("a", "b")])
    with pytest.raises(ConstraintError, match="no row has the id 'nobody'"):
        fit(rows, constraints=kinfold.Constraints([("nobody", "else")]), sample_ids=[f"r{i}" for i in range(90)])
    with pytest.raises(ConstraintError, match="constraints takes a Constraints, not list"):
        fit(rows, constraints=[(0, 1)])


def test_partial_labels_bind_and_full_labels_do_not(rows):
    y = np.full(90, -1)
    y[[0, 30]], y[[1, 2]] = 0, 1
    found = kinfold.ConstrainedKMeans(3).fit(rows, y)
    assert found.labels_[0] == found.labels_[30] and found.labels_[1] == found.labels_[2] != found.labels_[0]
    names = pd.Series([None] * 90, dtype=object)
    names[[0, 30]], names[[1, 2]] = "a", "b"
    assert np.array_equal(kinfold.ConstrainedKMeans(3).fit(rows, names).labels_, found.labels_)
    with pytest.warns(kinfold.exceptions.IgnoredLabelsWarning, match="y labels every row"):
        free = kinfold.ConstrainedKMeans(3).fit(rows, np.arange(90) % 2)
    assert np.array_equal(free.labels_, labels(rows))


def test_groups_by_row_and_by_list_are_the_same(rows):
    by_row = [None] * 90
    by_row[0] = by_row[40] = "a"
    by_row[1] = by_row[50] = by_row[80] = "b"
    one = kinfold.ConstrainedKMeans(3).fit(rows, groups=by_row)
    two = kinfold.ConstrainedKMeans(3).fit(rows, groups=[[0, 40], [1, 50, 80]])
    three = kinfold.ConstrainedKMeans(3).fit(rows, must_link=[(0, 40), (1, 50), (50, 80)])
    assert np.array_equal(one.labels_, two.labels_) and np.array_equal(one.labels_, three.labels_)
    assert one.labels_[0] == one.labels_[40]
