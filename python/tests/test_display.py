"""Pictures."""

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
import pytest
from sklearn.metrics import silhouette_samples

import kinfold
from kinfold.display import KCurveDisplay, LearningCurveDisplay, MapDisplay, SilhouetteDisplay, ViolationsDisplay, _silhouettes


@pytest.fixture(autouse=True)
def closed():
    yield
    plt.close("all")


def test_a_map_shows_rows_edges_and_what_is_broken(iris, tmp_path):
    X, y = iris
    c = kinfold.simulate(y, amount=40)
    found = kinfold.KMeans(3).fit(X, constraints=c)
    shown = MapDisplay.from_estimator(found, X, constraints=c)
    assert len(shown.ax_.lines) == 40 and len(shown.ax_.collections) == 3
    thick = sum(line.get_linewidth() > 1 for line in shown.ax_.lines)
    assert thick == len(found.violations_) > 0
    assert shown.ax_.get_title() == f"3 clusters, {thick} constraints broken"
    shown.figure_.savefig(tmp_path / "map.png")
    kept = MapDisplay.from_estimator(kinfold.ConstrainedKMeans(3).fit(X, constraints=c), X, constraints=c, ax=plt.subplots()[1])
    assert kept.ax_.get_title() == "3 clusters, every constraint kept"


def test_silhouettes_are_scikit_learns(iris):
    X, _ = iris
    labels = kinfold.KMeans(3).fit(X).labels_
    assert np.allclose(_silhouettes(X, labels), silhouette_samples(X, labels))
    alone = np.where(np.arange(150) == 7, 9, labels)
    assert np.allclose(_silhouettes(X, alone), silhouette_samples(X, alone))
    shown = SilhouetteDisplay.from_predictions(X, labels)
    assert shown.ax_.get_title() == f"mean silhouette {silhouette_samples(X, labels).mean():.3f}"
    with pytest.raises(ValueError, match="two clusters or more"):
        SilhouetteDisplay.from_predictions(X, np.zeros(150))


def test_curves_over_k_and_over_answers(iris):
    X, y = iris
    shown = KCurveDisplay.from_estimator(kinfold.KMeans(), X, [2, 3, 4])
    assert shown.values == sorted(shown.values, reverse=True)
    marked = KCurveDisplay([2, 3, 4], [None, 0.7, 0.5], chosen=3, smallest=3).plot()
    assert len(marked.ax_.get_legend().get_texts()) == 2
    assert marked.ax_.get_xlim() == (1.5, 4.5)
    curve = LearningCurveDisplay.from_estimator(kinfold.ConstrainedKMeans(3), X, y, amounts=[0, 200], repeats=2)
    assert curve.values.shape == (2, 2) and curve.values[1].mean() > curve.values[0].mean()


def test_violations_side_by_side(iris):
    X, y = iris
    c = kinfold.simulate(y, amount=60)
    fits = [m(3).fit(X, constraints=c) for m in (kinfold.KMeans, kinfold.ConstrainedKMeans)]
    shown = ViolationsDisplay.from_estimator(*fits)
    assert [t.get_text() for t in shown.ax_.get_yticklabels()][0] == "KMeans must-link"
    assert "all " in shown.ax_.texts[2].get_text()
    alone = ViolationsDisplay.from_predictions(fits[0].labels_, constraints=c)
    assert alone.violations[""].must_link == fits[0].violations_.must_link


def test_many_clusters_differ_by_colour_and_mark():
    from kinfold.display import _colour, _mark

    assert len({(_colour(i), _mark(i)) for i in range(64)}) == 64


def test_a_simulated_dialogue_is_a_curve(iris):
    X, y = iris
    curves = [
        kinfold.learning_curve(X, y, estimator=kinfold.ConstrainedKMeans(3, random_state=s), budget=20, every=10) for s in (0, 1)
    ]
    shown = LearningCurveDisplay.from_curve(*curves, name="auto")
    assert shown.amounts == [0, 10, 20] and shown.values.shape == (3, 2)
    with pytest.raises(ValueError, match="no score named 'luck'"):
        LearningCurveDisplay.from_curve(*curves, score="luck")
