"""Every method keeps scikit-learn's contract."""

import pickle
import warnings

import numpy as np
import pytest
from conftest import CLASSES
from sklearn.base import clone
from sklearn.utils.estimator_checks import check_estimator

import kinfold
from kinfold._tables import methods

# A proof may take for ever: its effort is bounded, which is deterministic.
BOUNDED = {"Exact": {"work": 1.0}}


def make(name, **given):
    return getattr(kinfold, name)(**BOUNDED.get(name, {}), **given)


def check(estimator):
    """Constraints make none of scikit-learn's checks meaningless: none is expected to fail."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        results = check_estimator(estimator, on_fail=None, on_skip=None)
    assert not {r["check_name"]: repr(r["exception"]) for r in results if r["status"] == "failed"}
    # Runs only where an environment variable asks scipy for it.
    assert {r["check_name"] for r in results if r["status"] == "skipped"} <= {"check_array_api_input"}
    assert sum(r["status"] == "passed" for r in results) >= 40


@pytest.mark.parametrize("name", CLASSES)
def test_check_estimator_passes(name):
    check(make(name))


def test_every_method_of_the_table_is_an_estimator():
    assert {"Fold", "ConstrainedKMeans", "COPKMeans", "BCKM", "LCC", "KMeans"} <= set(CLASSES)
    for name in CLASSES:
        assert getattr(kinfold, name).__module__ == "kinfold"
        assert name in dir(kinfold)
    assert kinfold.estimator("auto").__class__ is kinfold.Fold
    with pytest.raises(kinfold.exceptions.ParameterError, match="no method named 'nothing'"):
        kinfold.estimator("nothing")


@pytest.mark.parametrize("name", CLASSES)
def test_constraints_are_kept_or_counted(name, iris):
    X, _ = iris
    must, cannot = [(0, 1), (50, 51), (100, 101)], [(0, 50), (50, 100), (0, 100)]
    found = make(name, n_clusters=3).fit(X, must_link=must, cannot_link=cannot)
    labels = found.labels_
    broken = sum(labels[a] != labels[b] for a, b in must) + sum(labels[a] == labels[b] for a, b in cannot)
    assert len(found.violations_) == broken
    if methods()[name]["listens"] in ("hard", "priced"):
        assert broken == 0
    assert labels.dtype == np.int32 and set(labels) <= {0, 1, 2}
    assert found.cluster_centers_.shape == (3, 4)
    means = np.array([X[labels == c].mean(axis=0) for c in range(3)])
    assert found.inertia_ == pytest.approx(((X - means[labels]) ** 2).sum())
    assert found.transform(X).shape == (150, 3)
    assert found.score(X) <= 0
    near = np.sort(found.transform(X), axis=1)
    clear = near[:, 1] - near[:, 0] > 1e-9
    assert (found.predict(X) == found.transform(X).argmin(axis=1))[clear].all()


@pytest.mark.parametrize("name", CLASSES)
def test_clones_and_pickles_are_equal(name, iris):
    X, _ = iris
    one = make(name, n_clusters=3, random_state=7)
    two = clone(one)
    assert one.get_params() == two.get_params()
    one.fit(X)
    again = pickle.loads(pickle.dumps(one))
    assert np.array_equal(again.labels_, one.labels_)
    assert np.array_equal(again.transform(X), one.transform(X))


def test_parameters_are_checked_with_the_sentences_of_the_command_line(iris):
    X, _ = iris
    error = kinfold.exceptions.ParameterError
    with pytest.raises(error, match="kmeans: parameter max_iter takes values from 1 to 1e6, not 0"):
        kinfold.KMeans(3, max_iter=0).fit(X)
    with pytest.raises(error, match="kmeans: parameter restarts takes a whole number, not 'many'"):
        kinfold.KMeans(3, restarts="many").fit(X)
    with pytest.raises(error, match="k = 151 is not possible with 150 rows: choose k from 1 to 150"):
        kinfold.KMeans(151).fit(X)
    with pytest.raises(error, match="scale takes none | standard | robust | unit | tf-idf, not 'much'"):
        kinfold.KMeans(3, scale="much").fit(X)
    with pytest.raises(error, match="n_clusters takes a whole number from 1 up, not 2.5"):
        kinfold.KMeans(2.5).fit(X)
    with pytest.raises(TypeError, match="KMeans has no parameter 'n_init'"):
        kinfold.KMeans(n_init=3)


def test_seeds_repeat_and_states_move_on(iris):
    X, _ = iris
    fit = lambda seed: kinfold.KMeans(8, restarts=1, random_state=seed).fit(X).objective_
    assert fit(3) == fit(3)
    assert len({fit(seed) for seed in range(10)}) > 1
    state = np.random.RandomState(1)
    assert len({fit(state) for _ in range(10)}) > 1
    assert isinstance(fit(None), float) and isinstance(fit(np.random.default_rng(1)), float)


def test_results_do_not_depend_on_threads(iris):
    X, y = iris
    c = kinfold.simulate(y, amount=40)
    one, all_ = (kinfold.Fold(3, n_jobs=n).fit(X, constraints=c) for n in (1, -1))
    assert np.array_equal(one.labels_, all_.labels_) and one.objective_ == all_.objective_
    assert one._model.to_bytes() == all_._model.to_bytes()


def test_size_bounds_hold(iris):
    X, _ = iris
    found = kinfold.Fold(3, min_size=40, max_size=60).fit(X)
    assert found.sizes_.min() >= 40 and found.sizes_.max() <= 60
    with pytest.raises(kinfold.exceptions.InfeasibleError):
        kinfold.Fold(3, max_size=40).fit(X)


def test_time_limits_end_a_run_with_what_there_is(iris):
    X, _ = iris
    found = kinfold.KMeans(3, restarts=10_000, time_limit=0.05).fit(np.tile(X, (20, 1)))
    assert found.termination_ == "deadline" and len(found.labels_) == 3000


def test_saved_models_label_the_same(tmp_path, iris):
    X, _ = iris
    found = kinfold.Fold(3).fit(X)
    found.save(tmp_path / "model.json")
    loaded = kinfold.load(tmp_path / "model.json")
    assert np.array_equal(loaded.predict(X), found.predict(X))
    assert np.array_equal(loaded.transform(X), found.transform(X))
    (tmp_path / "other.json").write_text("[]")
    with pytest.raises(kinfold.exceptions.ReadError, match="this is not a kinfold model"):
        kinfold.load(tmp_path / "other.json")


METRICS = sorted(kinfold.metrics())


@pytest.mark.parametrize("name", METRICS)
def test_metrics_are_transformers_that_pass_check_estimator(name):
    check(make(name))


@pytest.mark.parametrize("name", METRICS)
def test_metrics_bring_must_linked_rows_nearer(name, iris):
    X, y = iris
    c = kinfold.simulate(y, amount=200, random_state=1)
    learned = make(name).fit(X, constraints=c)
    Z = learned.transform(X)
    assert np.allclose(Z, X @ learned.components_.T - (X @ learned.components_.T - Z)[0])
    ratio = lambda rows: np.mean([((rows[a] - rows[b]) ** 2).sum() for a, b in c.must_link]) / np.mean(
        [((rows[a] - rows[b]) ** 2).sum() for a, b in c.cannot_link]
    )
    assert ratio(Z) < ratio(X)
    again = pickle.loads(pickle.dumps(learned))
    assert np.array_equal(again.transform(X), Z)
    assert learned.get_mahalanobis_matrix().shape == (4, 4)


def test_a_diagonal_metric_has_a_diagonal_map(iris):
    X, y = iris
    learned = kinfold.MMC(form="diagonal").fit(X, constraints=kinfold.simulate(y, amount=200, random_state=1))
    weights = np.diag(learned.components_)
    assert np.array_equal(learned.components_, np.diag(weights)) and len(set(weights)) > 1
    assert np.allclose(learned.transform(X), X * weights)


def test_a_metric_before_a_method_is_that_metric_then_the_method(iris):
    X, y = iris
    c = kinfold.simulate(y, amount=100)
    inside = kinfold.ConstrainedKMeans(3, metric_learner="rca").fit(X, constraints=c)
    outside = kinfold.ConstrainedKMeans(3).fit(kinfold.RCA().fit_transform(X, constraints=c), constraints=c)
    assert np.array_equal(inside.labels_, outside.labels_)
    assert inside.representation_ == "rca"
    with pytest.raises(kinfold.exceptions.ParameterError, match="there is no metric named 'rac'"):
        kinfold.ConstrainedKMeans(3, metric_learner="rac").fit(X, constraints=c)
