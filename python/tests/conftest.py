import os
import pathlib
import shutil

import numpy as np
import pytest

import kinfold
from kinfold._tables import methods

ROOT = pathlib.Path(__file__).resolve().parents[2]
CLASSES = sorted(methods())


@pytest.fixture(scope="session")
def iris():
    import csv

    with open(ROOT / "examples/iris.csv") as file:
        rows = list(csv.DictReader(file))
    names = [c for c in rows[0] if c != "species"]
    return np.array([[float(r[c]) for c in names] for r in rows]), np.array([r["species"] for r in rows])


@pytest.fixture(scope="session")
def command():
    """The command line, built from the same sources; KINFOLD names another one."""
    found = os.environ.get("KINFOLD") or next(
        (str(p) for p in (ROOT / "target/debug/kinfold", ROOT / "target/release/kinfold") if p.exists()), None
    )
    found = found or shutil.which("kinfold")
    if found is None:
        pytest.skip("the command line is not built")
    return found


@pytest.fixture
def pairs():
    return kinfold.Constraints(must_link=[(0, 1), (1, 2)], cannot_link=[(2, 3)])
