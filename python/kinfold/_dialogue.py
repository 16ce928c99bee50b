"""Asking and answering: the few questions whose answers matter most."""

from __future__ import annotations

import html
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np

from . import _kinfold
from ._base import Clusterer, gather, setting, together, whole
from ._constraints import Constraints, _Pairs, _answer
from ._rows import RowIds, codes, split_ids
from .exceptions import ConstraintError, ContradictionError, DataError, InfeasibleError, ParameterError


@dataclass(frozen=True)
class Question:
    """Do these two rows belong together? ``why`` says why that is worth asking."""

    id_a: str
    id_b: str
    row_a: int
    row_b: int
    why: str
    score: float
    probability_same: float | None

    def __str__(self) -> str:
        return f"Do {self.id_a} and {self.id_b} belong together? ({self.why})"

    def _repr_html_(self) -> str:
        a, b, why = html.escape(self.id_a), html.escape(self.id_b), html.escape(self.why)
        return f"<div>Do <code>{a}</code> and <code>{b}</code> belong together? <span style='opacity:.6'>{why}</span></div>"


@dataclass(frozen=True)
class Heard:
    """What an answer did: "new" (with the pairs that follow from it), "known", "aside" or "conflict" (with the chain)."""

    effect: str
    entailed: int
    chain: str

    def __bool__(self) -> bool:
        return self.effect != "conflict"


@dataclass(frozen=True)
class StopAdvice:
    """How a dialogue is going, and whether this is a good time to stop."""

    stop: bool
    asked: int
    unsure: int
    conflicts: int
    same: int
    different: int
    saved: int
    stability: float | None
    foreseen: float | None
    left: int | None

    def __bool__(self) -> bool:
        return self.stop

    def __str__(self) -> str:
        head = "a good time to stop" if self.stop else "go on"
        left = "" if self.left is None or self.stop else f", about {self.left} questions are left"
        return f"{head}: {self.asked} answers, {self.same} pairs known to be the same and {self.different} different{left}"


class Dialogue:
    """Asks about pairs of rows, takes answers in, clusters under them, and says when to stop.

    Nothing that is known or follows from what is known is ever asked; an answer that contradicts what is known is kept and
    explained; every answer can be taken back.

    Parameters
    ----------
    X, constraints, sample_ids
        The rows, what is known already, and the ids of the rows.
    estimator : optional
        The estimator that `refit` fits; ``Fold(n_clusters)`` if left out.
    n_clusters : int, optional
        The number of clusters, if it is known.
    strategy : str
        How questions are chosen; ``kinfold.strategies()`` lists the ways.
    strategy_params : dict, optional
        Settings of the strategy.
    answers : path, optional
        An answer file: read if it exists, and every answer is on disk before `answer` returns.
    auto_refit : bool
        Fit when the strategy wants to see a clustering; otherwise only when `refit` is called.
    random_state : int
        The seed.

    Examples
    --------
    >>> import numpy as np
    >>> from kinfold import Dialogue
    >>> rows = np.random.default_rng(0).normal(size=(30, 2)) + np.repeat([[0, 0], [9, 9]], 15, axis=0)
    >>> truth = np.repeat([0, 1], 15)
    >>> talk = Dialogue(rows, n_clusters=2)
    >>> for _ in range(10):
    ...     question = talk.query()
    ...     if question is None:
    ...         break
    ...     _ = talk.answer("same" if truth[question.row_a] == truth[question.row_b] else "different")
    >>> len(set(talk.refit().labels_[:15].tolist()))
    1
    """

    def __init__(
        self,
        X: Any,
        *,
        estimator: Clusterer | None = None,
        n_clusters: int | None = None,
        strategy: str = "auto",
        strategy_params: dict[str, object] | None = None,
        constraints: Constraints | None = None,
        must_link: Any = None,
        cannot_link: Any = None,
        sample_ids: Any = None,
        answers: str | Path | None = None,
        auto_refit: bool = True,
        random_state: int = 0,
        _saved: str | None = None,
    ) -> None:
        if estimator is None:
            from ._estimators import estimator as by_name

            estimator = by_name("auto", 8 if n_clusters is None else n_clusters)
        elif not isinstance(estimator, Clusterer):
            raise ParameterError(f"estimator takes an estimator of kinfold, not {type(estimator).__name__}")
        self.estimator, self.n_clusters, self.strategy = estimator, n_clusters, strategy
        self.auto_refit, self.labels_, self.reason_ = auto_refit, None, None
        self._X, ids = split_ids(X, sample_ids)
        self._rows, n = type(estimator)(**estimator.get_params())._rows(self._X, reset=True)
        self._ids = RowIds(n, ids)
        self._file = None if answers is None else Path(answers)
        known = constraints or Constraints()
        if self._file is not None and self._file.exists():
            known = known + Constraints.from_file(self._file)
        keyed, by_row = gather(n, ids, None, must_link, cannot_link, known or None, None)
        given, _ = together(keyed, by_row, self._ids, "auto")
        self._given = keyed, by_row
        settings = [(name, setting(value, "")) for name, value in (strategy_params or {}).items()]
        self._talk = _kinfold.Talk(
            self._rows, given, strategy, settings, n_clusters, whole(random_state, "random_state", 0), 0, _saved
        )
        self._open: Question | None = None

    def _name(self, row: int) -> str:
        return str(row if self._ids.ids is None else self._ids.ids[row])

    def _question(self, asked: tuple[int, int, str, float, float | None]) -> Question:
        a, b, why, score, probability = asked
        return Question(self._name(a), self._name(b), a, b, why, score, probability)

    def query(self) -> Question | None:
        """The next question; None when nothing is left to ask (``reason_`` says why). The same until it is answered."""
        while True:
            what, asked, reason = self._talk.next(self._ids.ids)
            if what == "ask":
                self._open = self._question(asked)
                return self._open
            if what == "done":
                self._open, self.reason_ = None, reason
                return None
            if self.auto_refit:
                self.refit()
            else:
                self._talk.decline()

    def batch(self, count: int) -> list[Question]:
        """Several questions at once, each chosen as if the likelier answer to those before had been given."""
        return [self._question(q) for q in self._talk.batch(whole(count, "count", 1), self._ids.ids)]

    def answer(self, reply: str | bool, *, question: Question | None = None, confidence: float | None = None) -> Heard:
        """Answers the open question, or the one that is named: "same", "different" or "unsure" (or True and False).

        Returns what it did; false when it contradicts what is known.
        """
        question = question or self._open
        if question is None:
            raise ConstraintError("no question is open: call query() first, or tell() for any pair")
        return self.tell(question.row_a, question.row_b, reply, confidence=confidence, _rows=True)

    def tell(self, a: Any, b: Any, reply: str | bool, *, confidence: float | None = None, _rows: bool = False) -> Heard:
        """An answer about any two rows, named by their ids."""
        rows = np.array([a, b]) if _rows else self._ids.find(np.array([a, b], dtype=object))
        if (rows < 0).any():
            raise self._ids.unknown(a if rows[0] < 0 else b)
        text = {True: "same", False: "different", None: "unsure"}[_answer(reply)]
        weight = None
        if confidence is not None:
            believed = Constraints.from_pairs([(0, 1)], [text], confidence=confidence)._pairs[0]
            text, weight = "same" if believed.same[0] else "different", float(believed.weight[0])
            weight = None if np.isinf(weight) else weight
        open_ = self._open is not None and {int(r) for r in rows} == {self._open.row_a, self._open.row_b}
        row_a, row_b = (int(r) for r in rows)
        if self._file is not None and text != "unsure":
            value = float("nan") if weight is None else weight
            _kinfold.write_answers(str(self._file), [(self._name(row_a), self._name(row_b), text == "same", value)], "python")
        heard = self._talk.answer(text) if open_ and weight is None else self._talk.tell(row_a, row_b, text, weight)
        self._open = None
        return Heard(*heard)

    def undo(self) -> tuple[str, str, str] | None:
        """Takes the last answer back: (id, id, answer), or None when there is none."""
        undone = self._talk.undo()
        if undone is None:
            return None
        self._open = None
        a, b, reply = self._name(undone[0]), self._name(undone[1]), undone[2]
        if self._file is not None and reply != "unsure":
            _kinfold.undo_answer(str(self._file), a, b)
        return a, b, reply

    def refit(self) -> Clusterer:
        """Clusters under everything that is known; contradictions are mended the cheapest way."""
        answers = self._talk.answers
        fitted = type(self.estimator)(**self.estimator.get_params())
        keyed, by_row = self._given
        known = by_row + self._answers()
        try:
            self._fit(fitted, keyed, known)
        except (ContradictionError, InfeasibleError):
            mended = self.constraints.check(fitted.n_clusters, ids=self._all_ids()).repaired()
            self._fit(fitted, mended, Constraints())
        self._talk.give_partition(fitted.labels_.astype(np.uint32), answers)
        self.labels_ = fitted.labels_
        return fitted

    def _fit(self, fitted, keyed, by_row):
        rows, _ = fitted._rows(self._X, reset=True)
        given, fitted.n_dropped_ = together(keyed, by_row, self._ids, fitted.trust)
        # A cluster keeps its number from one refit to the next.
        fitted._run(rows, given, self._ids.ids, self.labels_)

    def _all_ids(self):
        return np.arange(self._ids.n) if self._ids.ids is None else self._ids.ids

    def _answers(self) -> Constraints:
        """The answers so far, by row number."""
        log = [x for x in self._talk.log if x[2] != "unsure"]
        a, b = (np.array([x[i] for x in log], dtype=np.int64) for i in (0, 1))
        same = np.array([x[2] == "same" for x in log], dtype=bool)
        return Constraints._of([_Pairs(None, a, b, same, np.full(len(log), np.nan))]) if log else Constraints()

    @property
    def constraints(self) -> Constraints:
        """What was given and answered, keyed by ids."""
        keyed, by_row = self._given
        more = by_row + self._answers()
        if self._ids.ids is not None:
            moved = [
                _Pairs(p.source, self._ids.ids[p.a], self._ids.ids[p.b], p.same, p.weight, p.lines) for p in more._pairs
            ]
            more = Constraints._of(moved, more._sets, more._labels)
        return keyed + more

    def why(self, a: Any, b: Any) -> str | None:
        """The chain of answers from which follows what is known about two rows; None when nothing is."""
        rows = self._ids.find(np.array([a, b], dtype=object))
        if (rows < 0).any():
            raise self._ids.unknown(a if rows[0] < 0 else b)
        return self._talk.why(int(rows[0]), int(rows[1]), self._ids.ids)

    def stop_advice(self) -> StopAdvice:
        """How it is going, and whether this is a good time to stop."""
        return StopAdvice(**self._talk.progress())

    def save(self, path: str | Path) -> None:
        """Writes everything that is needed to go on later, beside the rows and what was given."""
        Path(path).write_text(self._talk.save())

    @classmethod
    def resume(cls, path: str | Path, X: Any, **given: Any) -> Self:
        """Goes on from what `save` wrote, with the same rows and given constraints."""
        saved = Path(path).read_text()
        try:
            told = json.loads(saved)
            own = dict(strategy=told["strategy"], n_clusters=told["k"], random_state=told["seed"])
        except (ValueError, KeyError, TypeError) as error:
            raise DataError(f"{path}: this is not a saved dialogue: {error}") from None
        return cls(X, **{**own, **given}, _saved=saved)


def strategies() -> dict[str, str]:
    """The ways to choose questions, with a line about each.

    >>> import kinfold
    >>> "auto" in kinfold.strategies()
    True
    """
    from ._tables import tables

    return {s["name"]: s["summary"] for s in tables()["strategies"]}


def learning_curve(
    X: Any,
    y: Any,
    *,
    estimator: Clusterer | None = None,
    strategy: str = "auto",
    strategy_params: dict[str, object] | None = None,
    budget: int = 100,
    every: int = 10,
    error: float = 0.0,
    unsure: float = 0.0,
    tell_k: bool = True,
) -> list[dict[str, Any]]:
    """A simulated dialogue: somebody who knows the classes ``y`` answers, and errs on a share ``error`` of the pairs.

    Returns one dict for every ``every`` answers: ``asked``, ``wrong`` and the scores of the clustering.

    >>> import numpy as np
    >>> from kinfold import ConstrainedKMeans, learning_curve
    >>> rows = np.random.default_rng(0).normal(size=(30, 2)) + np.repeat([[0, 0], [9, 9]], 15, axis=0)
    >>> curve = learning_curve(rows, np.repeat([0, 1], 15), estimator=ConstrainedKMeans(2), budget=10, every=5)
    >>> [point["asked"] for point in curve]
    [0, 5, 10]
    """
    if estimator is None:
        from ._estimators import estimator as by_name

        estimator = by_name("auto", len(np.unique(np.asarray(y))))
    numbers, _ = codes(y, unknown_negative=False)
    if (numbers < 0).any():
        raise DataError(f"row {int(np.argmax(numbers < 0))}: the class is empty")
    fitted = type(estimator)(**estimator.get_params())
    rows, _ = fitted._rows(split_ids(X, None)[0], reset=True)
    settings = [(name, setting(value, "")) for name, value in (strategy_params or {}).items()]
    k = whole(fitted.n_clusters, "n_clusters", 1)
    with fitted._asked() as asked:
        points = _kinfold.simulate_dialogue(
            rows, numbers.astype(np.uint32), strategy, settings, fitted._method["name"], k, fitted._settings(),
            budget=whole(budget, "budget", 0), every=whole(every, "every", 1), error=float(error), unsure=float(unsure),
            tell_k=tell_k, **asked,
        )  # fmt: skip
    return [{"asked": asked, "wrong": wrong, **scores} for asked, wrong, scores in points]
