"""Pipelines, routing, cross-validation: constraints never come to mean other rows."""

import numpy as np
import pandas as pd
import pytest
import sklearn
from sklearn.metrics import adjusted_rand_score
from sklearn.model_selection import GridSearchCV, KFold, cross_val_predict, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from kinfold import ConstrainedKMeans, Constraints, Fold, KMeans, simulate


@pytest.fixture
def routing():
    with sklearn.config_context(enable_metadata_routing=True):
        yield


def requested(estimator):
    return estimator.set_fit_request(constraints=True, sample_ids=True)


class Spy(ConstrainedKMeans):
    """Remembers what each fit was given."""

    seen = []

    def __init__(self, n_clusters=8, random_state=0):
        super().__init__(n_clusters=n_clusters, random_state=random_state)

    def fit(self, X, y=None, *, constraints=None, sample_ids=None):
        super().fit(X, y, constraints=constraints, sample_ids=sample_ids)
        Spy.seen.append((np.asarray(sample_ids), self.labels_, self.n_dropped_, len(self.violations_)))
        return self


def test_constraints_keyed_by_ids_survive_cross_validation(routing, iris):
    X, y = iris
    ids = np.array([f"row-{i}" for i in range(150)])
    c = simulate(y, amount=60, sample_ids=ids)
    Spy.seen.clear()
    search = GridSearchCV(requested(Spy(3)), {"n_clusters": [3, 4]}, cv=KFold(3, shuffle=True, random_state=0), error_score="raise")
    search.fit(X, constraints=c, sample_ids=ids)
    assert len(Spy.seen) == 2 * 3 + 1
    known = {tuple(p) for p in c.must_link.tolist()}, {tuple(p) for p in c.cannot_link.tolist()}
    for here, labels, dropped, broken in Spy.seen:
        at = dict(zip(here, labels))
        must = [p for p in known[0] if set(p) <= at.keys()]
        cannot = [p for p in known[1] if set(p) <= at.keys()]
        assert dropped == c.n_pairs - len(must) - len(cannot) and broken == 0
        assert all(at[a] == at[b] for a, b in must) and all(at[a] != at[b] for a, b in cannot)
    assert Spy.seen[-1][2] == 0


def test_a_fold_without_any_constraint_is_a_fold_like_others(routing, iris):
    X, _ = iris
    ids = np.array([f"row-{i}" for i in range(150)])
    c = Constraints(must_link=[("row-0", "row-1")])
    search = GridSearchCV(requested(ConstrainedKMeans()), {"n_clusters": [2, 3]}, cv=KFold(3), error_score="raise")
    assert search.fit(X, constraints=c, sample_ids=ids).best_estimator_.n_dropped_ == 0
    assert ConstrainedKMeans(2).fit(X[1:], constraints=c, sample_ids=ids[1:]).n_dropped_ == 1
    # Not a single id fits: that is a mistake.
    with pytest.raises(ValueError, match="no row has the id 'row-0'; there are ids like 'r-0'"):
        ConstrainedKMeans(2).fit(X, constraints=c, sample_ids=[f"r-{i}" for i in range(150)])


@pytest.mark.parametrize("how", ["must_link", "constraints", "groups"])
def test_row_numbers_inside_a_grid_search_are_refused_with_a_sentence(routing, iris, how):
    X, _ = iris
    # As many pairs as rows: scikit-learn would cut them as if they were rows.
    pairs = np.column_stack([np.arange(150), np.roll(np.arange(150), 1)])
    given = {
        "must_link": pairs,
        "constraints": Constraints(must_link=pairs[:10]),
        "groups": [[0, 1], [2, 3]],
    }[how]
    estimator = ConstrainedKMeans().set_fit_request(**{how: True})
    search = GridSearchCV(estimator, {"n_clusters": [2, 3]}, cv=2, error_score="raise")
    with pytest.raises(ValueError, match="inside cross-validation the rows are only a part of the data"):
        search.fit(X, **{how: given})
    search = GridSearchCV(estimator, {"n_clusters": [2, 3]}, cv=2)
    with pytest.raises(ValueError, match="the numbers would mean other rows"):
        search.fit(X, **{how: given})


def test_row_numbers_are_refused_without_routing_too(iris):
    X, _ = iris
    with pytest.raises(ValueError, match="would mean other rows"):
        cross_val_score(KMeans(3), X, params={"must_link": [(0, 1)]}, cv=2, error_score="raise")
    with pytest.raises(ValueError, match="would mean other rows"):
        cross_val_predict(KMeans(3), X, params={"cannot_link": [(0, 1)]}, cv=2)


def test_row_numbers_are_refused_in_other_processes_too(routing, iris):
    search = GridSearchCV(ConstrainedKMeans(n_jobs=1).set_fit_request(must_link=True), {"n_clusters": [2, 3]}, cv=2, n_jobs=2)
    with pytest.raises(ValueError, match="the numbers would mean other rows"):
        search.fit(iris[0], must_link=[(0, 1)])


def test_the_index_of_a_frame_serves_as_ids(routing, iris):
    X, y = iris
    frame = pd.DataFrame(X, index=[f"r{i}" for i in range(150)])
    c = simulate(y, amount=40, sample_ids=frame.index)
    scores = cross_val_score(
        ConstrainedKMeans(3).set_fit_request(constraints=True), frame, params={"constraints": c},
        cv=KFold(3, shuffle=True, random_state=0), error_score="raise",
    )  # fmt: skip
    assert len(scores) == 3 and (scores < 0).all()


def test_per_row_groups_and_partial_labels_are_cut_with_the_rows(routing, iris):
    X, _ = iris
    groups = np.where(np.arange(150) % 5 == 0, np.arange(150) // 25, -1)
    y = np.where(np.arange(150) % 10 == 0, np.arange(150) // 50, -1)
    estimator = ConstrainedKMeans(3).set_fit_request(groups=True)
    cross_val_score(estimator, X, y, params={"groups": groups}, cv=KFold(3, shuffle=True, random_state=1), error_score="raise")


def test_the_truth_of_a_scorer_does_not_leak_into_the_fit(iris):
    X, y = iris
    codes = np.unique(y, return_inverse=True)[1]
    score = lambda estimator, X, y: adjusted_rand_score(y, estimator.predict(X))
    cv = KFold(3, shuffle=True, random_state=0)
    told = cross_val_score(ConstrainedKMeans(3), X, codes, scoring=score, cv=cv, error_score="raise")
    untold = [
        adjusted_rand_score(codes[test], ConstrainedKMeans(3).fit(X[train]).predict(X[test])) for train, test in cv.split(X)
    ]
    assert told.tolist() == untold


def test_pipelines_route_constraints_to_the_last_step(routing, iris):
    X, y = iris
    ids = np.arange(150)
    c = simulate(y, amount=30)
    pipeline = make_pipeline(StandardScaler(), requested(Fold(3)))
    pipeline.fit(X, constraints=c, sample_ids=ids)
    alone = Fold(3).fit(StandardScaler().fit_transform(X), constraints=c, sample_ids=ids)
    assert np.array_equal(pipeline[-1].labels_, alone.labels_)
    assert np.array_equal(pipeline.fit_predict(X, constraints=c, sample_ids=ids), alone.labels_)


def test_pipelines_take_the_older_spelling(iris):
    X, _ = iris
    pipeline = make_pipeline(StandardScaler(), ConstrainedKMeans(3))
    found = pipeline.fit(X, constrainedkmeans__must_link=[(0, 149)])[-1].labels_
    assert found[0] == found[149]


def test_transform_gives_frames_when_asked(iris):
    X, _ = iris
    frame = pd.DataFrame(X, columns=list("abcd"))
    out = KMeans(3).set_output(transform="pandas").fit(frame).transform(frame)
    assert list(out.columns) == ["kmeans0", "kmeans1", "kmeans2"] and len(out) == 150
    out = KMeans(3).set_output(transform="polars").fit(frame).transform(frame)
    assert out.columns == ["kmeans0", "kmeans1", "kmeans2"]


def test_parallel_searches_agree_with_serial_ones(routing, iris):
    X, y = iris
    ids = np.arange(150)
    c = simulate(y, amount=30)
    search = lambda jobs: GridSearchCV(requested(ConstrainedKMeans(n_jobs=1)), {"n_clusters": [2, 3]}, cv=2, n_jobs=jobs)
    one, two = (search(j).fit(X, constraints=c, sample_ids=ids).cv_results_["mean_test_score"] for j in (1, 2))
    assert one.tolist() == two.tolist()
