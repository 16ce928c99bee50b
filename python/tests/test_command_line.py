"""The same seed gives the same bytes here and on the command line."""

import json
import subprocess
import warnings

import numpy as np
import pytest
from conftest import CLASSES, ROOT

import kinfold
from kinfold._tables import methods


def run(command, *args):
    done = subprocess.run([command, *map(str, args), "--json", "-q"], capture_output=True, text=True)
    assert done.returncode in (0, 4), done.stderr
    return json.loads(done.stdout)


def as_json(value):
    """What JSON keeps of a value: infinities and NaN become null."""
    if isinstance(value, dict):
        return {key: as_json(v) for key, v in value.items()}
    if isinstance(value, list):
        return [as_json(v) for v in value]
    return None if isinstance(value, float) and not np.isfinite(value) else value


@pytest.fixture(scope="module")
def answers(tmp_path_factory, iris):
    file = tmp_path_factory.mktemp("answers") / "answers.csv"
    kinfold.simulate(iris[1], amount=40, protocol="balanced", random_state=3).to_file(file)
    return file


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", CLASSES)
def test_every_method_gives_the_same_bits(name, dtype, tmp_path, command, iris, answers):
    X = np.ascontiguousarray(iris[0], dtype=dtype)
    np.save(tmp_path / "rows.npy", X)
    method = methods()[name]["name"]
    model = tmp_path / "model.json"
    told = run(command, "cluster", tmp_path / "rows.npy", "-k", 3, "--method", method, "-c", answers, "--seed", 11, "--save", model)
    found = getattr(kinfold, name)(3, random_state=11).fit(X, constraints=kinfold.Constraints.from_file(answers))
    assert found.labels_.tolist() == told["labels"]
    assert found.objective_ == told["objective"]
    assert found.trace_.tolist() == told["trace"]
    assert found.sizes_.tolist() == told["sizes"]
    assert found.representation_ == told["representation"]
    assert found.termination_ == told["termination"]
    assert found.notes_ == told["notes"]
    assert len(found.violations_) == told["violations"]["must_link"] + told["violations"]["cannot_link"]
    assert [v.where for v in found.violations_] == [v["where"] for v in told["violations"]["list"]]
    assert as_json(found.distrusted_) == told["distrusted"] and as_json(found.trust_) == told.get("trust")
    assert (found.lower_bound_, found.gap_) == (told.get("lower_bound"), told.get("gap"))
    assert found.n_iter_ == max(1, told["iterations"])
    shown = [dict(zip(("name", "score", "error", "weight"), c)) for c in found.candidates_]
    assert as_json(shown) == [{key: c[key] for key in ("name", "score", "error", "weight")} for c in told["candidates"]]
    # The whole model, centres and transform, to the last bit.
    theirs, ours = json.loads(model.read_text()), json.loads(found._model.to_bytes())
    # The command line numbers the columns of an array, Python leaves them without names.
    assert (ours["model"].pop("features"), theirs["model"].pop("features")) == ([], ["c0", "c1", "c2", "c3"])
    assert ours["model"] == theirs["model"]
    assert np.array_equal(kinfold.load(model).predict(X), found.predict(X))


def test_models_of_tables_know_their_columns(command, tmp_path, iris):
    import pandas as pd

    table = pd.read_csv(ROOT / "examples/iris.csv")
    frame, file = table.drop(columns="species"), tmp_path / "model.json"
    run(command, "cluster", ROOT / "examples/iris.csv", "-k", 3, "--method", "kmeans", "--save", file)
    found = kinfold.KMeans(3).fit(frame)
    assert json.loads(found._model.to_bytes())["model"] == json.loads(file.read_text())["model"]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        loaded = kinfold.load(file)
        assert np.array_equal(loaded.predict(frame), found.labels_) and np.array_equal(loaded.predict(iris[0]), found.labels_)
        with pytest.raises(ValueError, match="feature names"):
            loaded.predict(frame[frame.columns[::-1]])
        # Columns that the command line numbered itself are no names.
        np.save(tmp_path / "rows.npy", iris[0])
        run(command, "cluster", tmp_path / "rows.npy", "-k", 3, "--method", "kmeans", "--save", tmp_path / "second.json")
        assert np.array_equal(kinfold.load(tmp_path / "second.json").predict(frame), found.labels_)


def test_settings_mean_the_same(command, tmp_path, iris):
    np.save(tmp_path / "rows.npy", iris[0])
    told = run(
        command, "cluster", tmp_path / "rows.npy", "-k", 4, "--method", "kmeans", "--set", "restarts=3", "--set",
        "tolerance=0.001", "--scale", "standard", "--seed", 2, "--threads", 1,
    )  # fmt: skip
    found = kinfold.KMeans(4, restarts=3, tolerance=1e-3, scale="standard", random_state=2).fit(iris[0])
    assert found.labels_.tolist() == told["labels"] and found.objective_ == told["objective"]


def test_columns_that_group_and_label_mean_the_same(command, tmp_path, iris):
    X, y = iris
    group = np.where(np.arange(150) % 7 == 0, y, "")
    label = np.where(np.arange(150) % 11 == 0, y, "")
    lines = ["a,b,c,d,group,label"] + [",".join([*map(repr, map(float, row)), g, l]) for row, g, l in zip(X, group, label)]
    (tmp_path / "t.csv").write_text("\n".join(lines) + "\n")
    for option, given in (
        (["--must-link-by", "group"], {"groups": group}),
        (["--labels", "label"], {"y": label}),
        (["--cannot-link-within", "group"], {"constraints": kinfold.Constraints.from_groups(group, kind="cannot-link")}),
    ):
        if option[0] == "--cannot-link-within":
            # Three rows of a group at most, one for each cluster.
            few = group.copy()
            for name in set(few) - {""}:
                few[np.flatnonzero(few == name)[3:]] = ""
            given = {"constraints": kinfold.Constraints.from_groups(few, kind="cannot-link")}
            lines = ["a,b,c,d,group"] + [",".join([*map(repr, map(float, row)), g]) for row, g in zip(X, few)]
            (tmp_path / "t.csv").write_text("\n".join(lines) + "\n")
            option = [*option, "--features", "a,b,c,d"]
        else:
            option = [*option, "--features", "a,b,c,d"]
        told = run(command, "cluster", tmp_path / "t.csv", "-k", 3, "--method", "mlcl", *option)
        found = kinfold.ConstrainedKMeans(3).fit(X, **given)
        assert found.labels_.tolist() == told["labels"] and found.objective_ == told["objective"]


def test_errors_are_the_command_lines_sentences(command, tmp_path, iris):
    np.save(tmp_path / "rows.npy", iris[0])
    (tmp_path / "a.csv").write_text("id_a,id_b,answer\n0,1,same\n1,2,same\n0,2,different\n")
    c = kinfold.Constraints.from_file(tmp_path / "a.csv")
    call = [command, "cluster", tmp_path / "rows.npy", "-k", "3", "--method", "mlcl"]
    for option, given in (
        (["-c", tmp_path / "a.csv"], {"constraints": c}),
        (["--set", "max_iter=0"], {}),
        (["--min-size", "60"], {}),
    ):
        done = subprocess.run([*call, *option], capture_output=True, text=True)
        told = next(l for l in done.stderr.splitlines() if l.startswith("error: ")).removeprefix("error: ")
        own = {"--set": {"max_iter": 0}, "--min-size": {"min_size": 60}}.get(option[0], {})
        with pytest.raises(kinfold.exceptions.KinfoldError) as raised:
            kinfold.ConstrainedKMeans(3, **own).fit(iris[0], **given)
        assert str(raised.value) == told


def test_scores_are_the_command_lines(command, tmp_path, iris, answers):
    told = run(command, "cluster", ROOT / "examples/iris.csv", "-k", 3, "--method", "kmeans", "--truth", "species", "-c", answers)
    c = kinfold.Constraints.from_file(answers)
    ours = kinfold.indices.scores(told["labels"], truth=iris[1], constraints=c)
    assert {name: told["scores"][name] for name in ours} == ours


def test_proven_bounds_and_doubts_are_told(command, tmp_path, iris):
    X, y = iris
    np.save(tmp_path / "rows.npy", X)
    found = kinfold.Exact(3, random_state=1).fit(X[::5])
    assert found.termination_ == "optimal" and found.gap_ == pytest.approx(0.0, abs=1e-6)
    assert found.lower_bound_ == pytest.approx(found.objective_, rel=1e-6)
    assert kinfold.KMeans(3).fit(X).lower_bound_ is None and kinfold.KMeans(3).fit(X).gap_ is None
    file = tmp_path / "a.csv"
    kinfold.simulate(y, amount=150, noise=0.2, random_state=5).to_file(file)
    told = run(command, "cluster", tmp_path / "rows.npy", "-k", 3, "-c", file)
    doubts = kinfold.Fold(3).fit(X, constraints=kinfold.Constraints.from_file(file))
    assert as_json(doubts.trust_) == told["trust"] and as_json(doubts.distrusted_) == told["distrusted"]
    assert doubts.distrusted_ and doubts.trust_["contradictions"] > 0


def test_clusters_keep_the_numbers_of_an_earlier_run(command, tmp_path, iris):
    X, _ = iris
    np.save(tmp_path / "rows.npy", X)
    before = (kinfold.KMeans(3).fit(X).labels_ + 1) % 3
    before[::10] = -1
    again = kinfold.KMeans(3).fit(X, previous=before)
    assert (again.labels_ == before)[before >= 0].all()
    assert np.array_equal(again.predict(X), again.labels_)
    lines = ["id,label", *(f"{i},{label}" for i, label in enumerate(before) if label >= 0)]
    (tmp_path / "before.csv").write_text("\n".join(lines) + "\n")
    told = run(command, "cluster", tmp_path / "rows.npy", "-k", 3, "--method", "kmeans", "--previous", tmp_path / "before.csv")
    assert again.labels_.tolist() == told["labels"]
    assert np.array_equal(kinfold.KMeans(3).fit_predict(X, previous=before), again.labels_)
    with pytest.raises(kinfold.exceptions.DataError, match="previous has 3 labels, but there are 150 rows"):
        kinfold.KMeans(3).fit(X, previous=[0, 1, 2])
