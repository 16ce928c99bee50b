"""The engine's tables, read once."""

import functools
import json

from . import _kinfold
from ._names import class_name


@functools.cache
def tables() -> dict:
    """Methods, indices and scalings."""
    return json.loads(_kinfold.tables())


@functools.cache
def methods() -> dict:
    """The entry of every method by the name of its class."""
    return {class_name(m["name"]): m for m in tables()["methods"]}


@functools.cache
def metrics() -> dict:
    """The entry of every metric by the name of its class."""
    return {class_name(m["name"]): m for m in tables()["metrics"]}
