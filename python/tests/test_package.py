"""The package itself: imports, documentation, types, life without scikit-learn."""

import doctest
import importlib
import inspect
import pathlib
import re
import subprocess
import sys
import textwrap

import numpy as np
import pytest
from conftest import CLASSES, ROOT

import kinfold


def python(code, **options):
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, **options)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_importing_is_quick_and_loads_nothing_else():
    code = """
        import sys, time
        begun = time.perf_counter()
        import kinfold
        print(time.perf_counter() - begun, "sklearn" in sys.modules, "scipy" in sys.modules, "matplotlib" in sys.modules)
    """
    runs = [python(code).split() for _ in range(3)]
    assert all(r[1:] == ["False"] * 3 for r in runs)
    assert min(float(r[0]) for r in runs) < 0.150


def test_numpy_alone_is_enough():
    out = python("""
        import sys
        for name in ("sklearn", "scipy", "pandas", "polars", "matplotlib"):
            sys.modules[name] = None
        import kinfold, numpy as np
        X = np.array([[0.0, 0.0], [0.0, 1.0], [9.0, 9.0], [9.0, 8.0]])
        found = kinfold.Fold(2).fit(X, must_link=[(0, 1)])
        print(found.labels_.tolist(), found.predict(X).tolist(), found.transform(X).shape, found.set_params(n_clusters=3))
        for bad in (X[0], [["a"]], np.full((2, 2), np.nan)):
            try:
                found.fit(bad)
            except kinfold.exceptions.KinfoldError as error:
                print(type(error).__name__, error)
        print(kinfold.indices.ari([0, 0, 1], [1, 1, 0]), kinfold.simulate([0, 0, 1, 1], amount=2))
    """)
    lines = out.splitlines()
    assert lines[0] == "[0, 0, 1, 1] [0, 0, 1, 1] (4, 2) Fold(n_clusters=3)"
    assert [line.split()[0] for line in lines[1:4]] == ["DataError"] * 3
    assert lines[4].startswith("1.0 Constraints(")


MODULES = sorted("kinfold." + p.stem for p in pathlib.Path(kinfold.__file__).parent.glob("*.py"))
DOCUMENTED = {"__init__", "_choose", "_constraints", "_dialogue", "_estimators", "_select", "_simulate", "display", "indices"}


@pytest.mark.parametrize("name", MODULES)
def test_examples_in_docstrings_run(name):
    module = importlib.import_module(name)
    tests = [t for t in doctest.DocTestFinder().find(module, extraglobs={"Constraints": kinfold.Constraints}) if t.examples]
    assert bool(tests) == (name.removeprefix("kinfold.") in DOCUMENTED)
    run(tests)


@pytest.mark.parametrize("name", [*CLASSES, *sorted(kinfold.metrics())])
def test_examples_of_every_estimator_run(name):
    tests = [t for t in doctest.DocTestFinder(recurse=False).find(getattr(kinfold, name), name) if t.examples]
    assert tests
    run(tests)


def run(tests):
    runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE)
    report = []
    for test in tests:
        runner.run(test, out=report.append)
    assert runner.failures == 0, "".join(report)


def test_every_public_thing_has_a_docstring():
    for name in dir(kinfold):
        if name.startswith("_") or inspect.ismodule(getattr(kinfold, name)) and name == "importlib":
            continue
        thing = getattr(kinfold, name)
        assert inspect.getdoc(thing), name
        if inspect.isclass(thing):
            for part, value in vars(thing).items():
                if not part.startswith("_") and (inspect.isfunction(value) or isinstance(value, (property, classmethod))):
                    assert inspect.getdoc(getattr(thing, part)), f"{name}.{part}"


def test_the_snippets_of_the_documentation_run(tmp_path):
    found = 0
    for page in (ROOT / "README.md", *sorted((ROOT / "docs/guide").glob("*.md"))):
        code = "\n".join(re.findall(r"```python\n(.*?)```", page.read_text(), flags=re.S))
        if code:
            found += 1
            python("import matplotlib; matplotlib.use('Agg')\n" + code, cwd=ROOT)
    assert found >= 1


def test_stubs_know_every_name_and_every_parameter():
    stub = (pathlib.Path(kinfold.__file__).parent / "__init__.pyi").read_text()
    for name in [*CLASSES, *kinfold.metrics()]:
        part = re.search(rf"^class {name}\((?:_Clusterer|_MetricLearner)\):.*?-> None: \.\.\.", stub, flags=re.S | re.M)
        assert part, f"{name} is not in the stubs: run scripts/docs"
        wanted = [p for p in inspect.signature(getattr(kinfold, name)).parameters]
        assert re.findall(r"^        (\w+): ", part[0], flags=re.M) == wanted
    for name in dir(kinfold):
        if not name.startswith("_") and name != "importlib":
            assert re.search(rf"\b{name} as {name}\b|^class {name}\(", stub, flags=re.M), f"{name} is not in the stubs"
    functions = (pathlib.Path(kinfold.__file__).parent / "indices.pyi").read_text()
    assert set(re.findall(r"^def (\w+)\(", functions, flags=re.M)) == set(kinfold.indices.__all__)
    assert (pathlib.Path(kinfold.__file__).parent / "py.typed").exists()


def test_types_check(tmp_path):
    pytest.importorskip("mypy")
    (tmp_path / "good.py").write_text(textwrap.dedent("""
        import numpy as np
        import kinfold
        from kinfold import Constraints, Fold, KMeans
        c = Constraints(must_link=[(0, 1)]) + Constraints.from_labels([0, -1])
        report = c.check(k=2)
        text: str = report._repr_html_()
        found: Fold = Fold(3, restarts=2, trust="hard").fit(np.zeros((4, 2)), constraints=c)
        labels: np.ndarray = found.labels_
        broken: int = len(found.violations_)
        score: float | None = kinfold.indices.ari([0, 1], [0, 1])
        again: Constraints = kinfold.simulate([0, 1], amount=1)
    """))
    (tmp_path / "bad.py").write_text("import kinfold\nkinfold.Fold(3, trust='maybe')\nkinfold.KMeans(restarts='many')\nkinfold.Nothing\n")
    call = [sys.executable, "-m", "mypy", "--cache-dir", str(tmp_path / "cache"), "--no-error-summary"]
    good = subprocess.run([*call, "--strict", "good.py"], cwd=tmp_path, capture_output=True, text=True)
    errors = [line for line in good.stdout.splitlines() if line.startswith("good.py") and "type-arg" not in line]
    assert not errors, good.stdout
    bad = subprocess.run([*call, "bad.py"], cwd=tmp_path, capture_output=True, text=True)
    assert len([line for line in bad.stdout.splitlines() if line.startswith("bad.py") and "error" in line]) == 3, bad.stdout


def test_indices_agree_with_scikit_learn():
    from sklearn import metrics

    rng = np.random.default_rng(3)
    for _ in range(20):
        a, b = rng.integers(0, 4, 60), rng.integers(0, 5, 60).astype(str)
        assert kinfold.indices.ari(a, b) == pytest.approx(metrics.adjusted_rand_score(a, b))
        assert kinfold.indices.nmi(a, b) == pytest.approx(metrics.normalized_mutual_info_score(a, b))
        assert kinfold.indices.rand(a, b) == pytest.approx(metrics.rand_score(a, b))
    with pytest.raises(ValueError, match="3 labels were given for 2 rows"):
        kinfold.indices.ari([0, 1], [0, 1, 1])
    assert kinfold.indices.satisfaction([0, 1], kinfold.Constraints()) is None
