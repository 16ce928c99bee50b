from collections.abc import Callable
from typing import Any

import numpy as np

VERSION: str
SOFT_WEIGHT: float

class Given:
    def __new__(cls, n: int, pairs: list[Any], sets: list[Any], labels: list[Any]) -> Given: ...
    @property
    def n(self) -> int: ...
    def check(self, k: int | None, repair: bool, all_rows: bool, ids: Any = None) -> tuple[bool, str, str]: ...
    def violations(self, labels: np.ndarray, most: int, ids: Any = None) -> dict[str, Any]: ...

class Model:
    @property
    def method(self) -> str: ...
    @property
    def k(self) -> int: ...
    @property
    def features(self) -> list[str]: ...
    @property
    def centres(self) -> np.ndarray: ...
    def predict(self, x: Any, threads: int) -> np.ndarray: ...
    def distances(self, x: Any, threads: int) -> np.ndarray: ...
    def inertia(self, x: Any, threads: int) -> float: ...
    def to_bytes(self) -> bytes: ...
    @classmethod
    def from_bytes(cls, name: str, bytes: bytes) -> Model: ...

class Metric:
    notes: list[str]
    iterations: int
    @property
    def matrix(self) -> np.ndarray | None: ...
    def apply(self, x: Any) -> np.ndarray: ...
    def to_bytes(self) -> bytes: ...
    @classmethod
    def from_bytes(cls, bytes: bytes) -> Metric: ...

def learn(
    x: Any,
    given: Given,
    name: str,
    settings: list[tuple[str, str]],
    *,
    seed: int = 0,
    threads: int = 0,
    time_limit: float | None = None,
    ids: Any = None,
    progress: Callable[[str, int, int | None], object] | None = None,
) -> Metric: ...

class Fitted:
    labels: np.ndarray
    centres: np.ndarray
    inertia: float
    objective: float
    trace: list[float]
    iterations: int
    termination: str
    lower_bound: float | None
    gap: float | None
    trust: dict[str, Any] | None
    sizes: list[int]
    notes: list[str]
    representation: str
    candidates: list[tuple[str, float | None, float, float]]
    elapsed: float
    model: Model
    violations: dict[str, Any]
    distrusted: list[dict[str, Any]]

def fit(
    x: Any,
    given: Given,
    method: str,
    k: int,
    settings: list[tuple[str, str]],
    *,
    scaling: str | None = None,
    metric: tuple[str, list[tuple[str, str]]] | None = None,
    min_size: int | None = None,
    max_size: int | None = None,
    trust: str = "auto",
    features: list[str] = ...,
    seed: int = 0,
    threads: int = 0,
    time_limit: float | None = None,
    memory: int | None = None,
    ids: Any = None,
    progress: Callable[[str, int, int | None], object] | None = None,
    previous: list[int] | None = None,
) -> Fitted: ...
def score(name: str, labels: np.ndarray, truth: np.ndarray | None = None, given: Given | None = None) -> float | None: ...
def score_rows(name: str, x: Any, labels: np.ndarray, sample: int | None = None, seed: int = 0) -> tuple[float, float] | None: ...

class Choice:
    k: int
    by: str
    reason: str
    as_good: list[int]
    scores: list[float | None]
    ks: list[int]
    left_out: list[tuple[int, str]]
    smallest: tuple[int, int] | None
    notes: list[str]
    elapsed: float
    criteria: list[dict[str, Any]]
    candidates: list[dict[str, Any]]
    method: str
    rows_looked_at: int
    stopped: str | None
    def labels(self, k: int) -> np.ndarray: ...

def choose_k(
    x: Any,
    given: Given,
    method: str,
    range: tuple[int, int] | None,
    settings: list[tuple[str, str]],
    *,
    alpha: float = 0.5,
    folds: int = 5,
    metrics: list[str] | None = None,
    **asked: Any,
) -> Choice: ...

class Talk:
    def __new__(
        cls,
        x: Any,
        given: Given,
        strategy: str,
        settings: list[tuple[str, str]],
        k: int | None = None,
        seed: int = 0,
        threads: int = 0,
        saved: str | None = None,
    ) -> Talk: ...
    @property
    def answers(self) -> int: ...
    @property
    def log(self) -> list[tuple[int, int, str, bool, bool]]: ...
    def next(self, ids: Any = None) -> tuple[str, tuple[int, int, str, float, float | None] | None, str]: ...
    def batch(self, count: int, ids: Any = None) -> list[tuple[int, int, str, float, float | None]]: ...
    def answer(self, text: str) -> tuple[str, int, str]: ...
    def tell(self, a: int, b: int, text: str, weight: float | None = None) -> tuple[str, int, str]: ...
    def undo(self) -> tuple[int, int, str] | None: ...
    def decline(self) -> None: ...
    def give_partition(self, labels: np.ndarray, answers: int) -> None: ...
    def constraints(self) -> Given: ...
    def progress(self) -> dict[str, Any]: ...
    def why(self, a: int, b: int, ids: Any = None) -> str | None: ...
    def save(self) -> str: ...

def simulate_dialogue(
    x: Any,
    truth: np.ndarray,
    strategy: str,
    strategy_settings: list[tuple[str, str]],
    method: str,
    k: int,
    settings: list[tuple[str, str]],
    *,
    budget: int,
    every: int,
    error: float = 0.0,
    unsure: float = 0.0,
    tell_k: bool = True,
    **asked: Any,
) -> list[tuple[int, int, dict[str, float | None]]]: ...
def undo_answer(path: str, a: str, b: str) -> None: ...
def read_answers(path: str) -> tuple[str, list[str], np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray]: ...
def write_answers(path: str, answers: list[tuple[str, str, bool, float]], source: str) -> None: ...
def simulate(
    truth: np.ndarray, protocol: str, amount: str, noise: float, set_size: int, seed: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray, int, str | None]: ...
def select(
    x: Any,
    given: Given,
    *,
    mode: str,
    fill: str,
    sigma: float | None = None,
    budget: int | None = None,
    keep_entailed: bool = False,
    seed: int = 0,
    ids: Any = None,
) -> tuple[list[tuple[int, int, bool, str, float]], float, float, float]: ...
def tables() -> str: ...
