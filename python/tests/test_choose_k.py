"""The number of clusters."""

import json
import subprocess

import numpy as np
import pytest
from conftest import ROOT

import kinfold


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(2)
    return np.concatenate([rng.normal(c, 0.6, (25, 2)) for c in ([0, 0], [6, 0], [0, 6])])


def test_three_blobs_are_three_clusters(rows):
    y = np.repeat([0, 1, 2], 25)
    c = kinfold.simulate(y, amount=60)
    choice = kinfold.choose_k(rows, range(2, 7), estimator=kinfold.ConstrainedKMeans(), constraints=c)
    assert choice.k == 3 and choice.ks[-1] == 6
    assert np.array_equal(choice.labels_, kinfold.ConstrainedKMeans(3).fit(rows, constraints=c).labels_)
    assert "k = 3" in str(choice) and "<table>" in choice._repr_html_()
    assert len(choice.scores["S"]) == len(choice.ks) == len(choice.candidates)
    with pytest.raises(kinfold.exceptions.ParameterError, match="k = 9 was not run"):
        choice.labels(9)


def test_cannot_links_prove_a_lower_bound(rows):
    choice = kinfold.choose_k(
        rows, range(2, 6), estimator=kinfold.ConstrainedKMeans(), cannot_link=[(a, b) for a in range(4) for b in range(a)]
    )
    assert choice.smallest_k == 4 and set(choice.left_out) == {2, 3} and choice.ks == [4, 5]
    import matplotlib

    matplotlib.use("Agg")
    shown = choice.plot("S")
    assert shown.chosen == choice.k


def test_the_command_line_chooses_the_same(command, tmp_path, rows, iris):
    np.save(tmp_path / "rows.npy", iris[0])
    kinfold.simulate(iris[1], amount=60, random_state=4).to_file(tmp_path / "a.csv")
    done = subprocess.run(
        [command, "choose-k", tmp_path / "rows.npy", "-c", tmp_path / "a.csv", "-k", "2..5", "--method", "mlcl", "--seed", "9", "--json", "-q"],
        capture_output=True, text=True, cwd=ROOT,
    )  # fmt: skip
    told = json.loads(done.stdout)
    c = kinfold.Constraints.from_file(tmp_path / "a.csv")
    choice = kinfold.choose_k(iris[0], range(2, 6), estimator=kinfold.ConstrainedKMeans(random_state=9), constraints=c)
    assert (choice.k, choice.by, choice.reason) == (told["k"], told["by"], told["reason"])
    for at, candidate in enumerate(told["candidates"]):
        ours = {name: v[at] if v[at] is not None and np.isfinite(v[at]) else None for name, v in choice.scores.items()}
        assert ours == candidate["scores"]
        own = choice.candidates[at]
        assert {key: candidate[key] for key in own} == own
        errors = {name: e[at] for name, e in choice.errors.items() if e[at]}
        assert errors == candidate["errors"]
    for criterion in told["criteria"]:
        name = criterion["name"]
        ours = choice.criteria[name], choice.best[name], choice.margins[name], choice.smaller_is_better[name]
        assert ours == tuple(criterion[key] for key in ("summary", "k", "margin", "smaller_is_better"))
    assert (choice.method, choice.rows_looked_at, choice.stopped) == (told["method"], told["rows_looked_at"], told["stopped"])
    assert choice.k_bounds == (told["smallest_k"]["lower"], told["smallest_k"]["upper"])
    assert choice.as_good == told["as_good"] and choice.notes == told["notes"]


def test_gaps_and_foreign_estimators_are_refused(rows):
    from sklearn.cluster import KMeans

    with pytest.raises(kinfold.exceptions.ParameterError, match="without gaps"):
        kinfold.choose_k(rows, [2, 4])
    with pytest.raises(kinfold.exceptions.ParameterError, match="an estimator of kinfold"):
        kinfold.choose_k(rows, estimator=KMeans())
