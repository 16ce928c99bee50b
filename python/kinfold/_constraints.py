"""Side information keyed by ids, what is wrong with it, and what a clustering breaks of it."""

from __future__ import annotations

import html
import json
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike

from . import _kinfold
from ._rows import RowIds, codes, frame_kind, in_cross_validation, normal_ids
from .exceptions import ConstraintError, ContradictionError, InfeasibleError

_SAME = {"same", "must-link", "must_link", "mustlink", "ml", "1", "+1", "1.0", "y", "yes", "match", "true"}
_DIFFERENT = {"different", "cannot-link", "cannot_link", "cannotlink", "cl", "-1", "-1.0", "n", "no", "distinct", "false"}
_UNSURE = {"unsure", "u", "0", "0.0", "?", "maybe", "unknown"}


@dataclass(frozen=True)
class _Pairs:
    source: str | None
    a: np.ndarray
    b: np.ndarray
    same: np.ndarray
    weight: np.ndarray  # NaN: not said, the run decides; infinite: hard
    lines: np.ndarray | None = None


@dataclass(frozen=True)
class _Set:
    source: str | None
    same: bool
    members: np.ndarray
    weight: float = np.inf


@dataclass(frozen=True)
class _Labels:
    source: str | None
    ids: np.ndarray
    codes: np.ndarray
    names: list
    weight: float = np.inf


class Constraints:
    """What is known about rows, keyed by their ids: pairs, groups and partial labels.

    Ids are compared as text (417 is "417"; "00417" is another id). Where no ids are given, rows are named by their
    numbers from 0. Constraints are values: adding gives new ones.

    Unlike plain arrays of row numbers, they survive filtering and cross-validation: pass ``constraints=`` together with
    ``sample_ids=`` (one id per row, which scikit-learn cuts along with the rows), or a pandas frame, whose index is the
    ids. Constraints on rows that are not there are left out and counted.

    Parameters
    ----------
    must_link, cannot_link : pairs of ids, shape (m, 2), optional
        Rows that belong together, and rows that do not.
    groups : sequence of sequences of ids, optional
        Rows of one group belong together.
    weight : float or array, optional
        What breaking a pair costs; infinite is a hard constraint. Left out, the run's ``trust`` decides.
    confidence : float or array, optional
        In place of ``weight``: the probability, above 0 and at most 1, that the pairs are right.

    Examples
    --------
    >>> from kinfold import Constraints
    >>> c = Constraints(must_link=[("ann", "bob"), ("bob", "cleo")], cannot_link=[("ann", "cleo")])
    >>> c
    Constraints(2 same, 1 different)
    >>> print(c.check().contradictions[0])
    different (ann, cleo) [pair #2] contradicts ann = bob [pair #0] = cleo [pair #1]
    """

    # No __len__, no __array__, no shape: scikit-learn must pass this whole and never cut it.
    __slots__ = ("_labels", "_pairs", "_sets")

    def __init__(
        self,
        must_link: ArrayLike | None = None,
        cannot_link: ArrayLike | None = None,
        groups: Iterable[Sequence[Any]] | None = None,
        *,
        weight: ArrayLike | None = None,
        confidence: ArrayLike | None = None,
    ) -> None:
        self._pairs, self._sets, self._labels = (), (), ()
        for value, same, name in ((must_link, True, "must_link"), (cannot_link, False, "cannot_link")):
            if value is not None:
                self._pairs += (_pairs(value, same, name, weight, confidence),)
        for group in () if groups is None else groups:
            self._sets += (_Set(None, True, normal_ids(list(group))),)

    # -- making ------------------------------------------------------------------------------------------------------

    @classmethod
    def _of(cls, pairs=(), sets=(), labels=()):
        made = cls()
        made._pairs, made._sets, made._labels = tuple(pairs), tuple(sets), tuple(labels)
        return made

    @classmethod
    def from_pairs(
        cls, pairs: Any, answers: Any, *, weight: ArrayLike | None = None, confidence: ArrayLike | None = None
    ) -> Constraints:
        """Pairs of ids with one answer each: same or different in any of the spellings of answer files, or 1 and -1.

        >>> Constraints.from_pairs([(0, 1), (0, 2), (1, 3)], ["same", "different", "unsure"])
        Constraints(1 same, 1 different)
        """
        both = _two_columns(pairs, "pairs")
        said = [_answer(x) for x in np.asarray(answers, dtype=object).ravel()]
        if len(said) != len(both):
            raise ConstraintError(f"{len(said)} answers were given for {len(both)} pairs")
        keep = np.array([s is not None for s in said], dtype=bool)
        same = np.array([s for s in said if s is not None], dtype=bool)
        weights = _weights(weight, confidence, len(both))[keep]
        same, weights = _believed(same, weights, confidence)
        return cls._of([_Pairs(None, both[keep, 0], both[keep, 1], same, weights)])

    @classmethod
    def from_groups(
        cls, groups: Any, *, kind: str = "must-link", ids: ArrayLike | None = None, weight: float | None = None
    ) -> Constraints:
        """Groups of rows that belong together (or, with ``kind="cannot-link"``, all apart).

        ``groups`` is a sequence of sequences of ids, or one value per row (equal values make a group; -1, None and NaN
        make none), with the rows' ``ids``.

        >>> Constraints.from_groups(["p1", "p1", None, "p2", "p2"], kind="cannot-link")
        Constraints(2 groups)
        """
        same = _answer(kind)
        if same is None:
            raise ConstraintError(f"kind takes must-link or cannot-link, not '{kind}'")
        weight = np.inf if weight is None else float(weight)
        members = _members(*_listed(groups), None if ids is None else normal_ids(ids))
        return cls._of(sets=[_Set(None, same, m, weight) for m in members])

    @classmethod
    def from_labels(cls, labels: Any, *, ids: ArrayLike | None = None, weight: float | None = None) -> Constraints:
        """Partial labels: equal labels belong together, different ones do not; -1, None and NaN are unknown.

        >>> Constraints.from_labels([0, 0, -1, 1])
        Constraints(3 labelled rows)
        """
        numbers, names = codes(labels)
        rows = np.flatnonzero(numbers >= 0)
        of_rows = rows if ids is None else normal_ids(ids)[rows]
        weight = np.inf if weight is None else float(weight)
        return cls._of(labels=[_Labels(None, of_rows, numbers[rows].astype(np.uint32), names, weight)])

    @classmethod
    def from_frame(
        cls,
        frame: Any,
        *,
        id_a: str = "id_a",
        id_b: str = "id_b",
        answer: str = "answer",
        confidence: str | None = None,
        weight: str | None = None,
    ) -> Constraints:
        """A pandas or polars frame of answers, with the columns of an answer file.

        >>> import pandas as pd
        >>> Constraints.from_frame(pd.DataFrame({"id_a": ["a", "b"], "id_b": ["b", "c"], "answer": ["same", "no"]}))
        Constraints(1 same, 1 different)
        """
        if frame_kind(frame) is None:
            raise ConstraintError(f"from_frame takes a pandas or polars frame, not {type(frame).__name__}")
        for column in (id_a, id_b, answer, confidence, weight):
            if column is not None and column not in frame.columns:
                raise ConstraintError(f"there is no column '{column}'; the frame has {', '.join(map(str, frame.columns))}")
        a, b = normal_ids(frame[id_a].to_numpy()), normal_ids(frame[id_b].to_numpy())
        if a.dtype != b.dtype:
            a, b = a.astype(str).astype(object), b.astype(str).astype(object)
        pick = lambda column: None if column is None else np.asarray(frame[column].to_numpy(), dtype=float)
        return cls.from_pairs(
            np.column_stack([a, b]), frame[answer].to_numpy(), confidence=pick(confidence), weight=pick(weight)
        )

    @classmethod
    def from_file(cls, path: str | Path) -> Constraints:
        """An answer file; later messages name its lines.

        >>> import tempfile, pathlib
        >>> file = pathlib.Path(tempfile.mkdtemp()) / "answers.csv"
        >>> _ = file.write_text("id_a,id_b,answer\\n00417,00982,same\\n00417,01533,different\\n")
        >>> Constraints.from_file(file)
        Constraints(1 same, 1 different)
        """
        name, ids, a, b, same, weight, lines = _kinfold.read_answers(str(path))
        ids = normal_ids(np.array([*ids, ""], dtype=object))
        return cls._of([_Pairs(name, ids[a], ids[b], same, weight, lines)])

    def to_file(self, path: str | Path, *, source: str = "python") -> None:
        """Appends the pairs to an answer file (made if there is none); groups and labels are written as pairs."""
        answers = []
        for p in self._pairs:
            answers += [(str(a), str(b), bool(s), float(w)) for a, b, s, w in zip(p.a, p.b, p.same, p.weight)]
        for s in self._sets:
            m = [str(i) for i in s.members]
            answers += [(m[i], m[j], s.same, s.weight) for i in range(len(m)) for j in range(i + 1, len(m))]
        for lab in self._labels:
            m, c = [str(i) for i in lab.ids], lab.codes
            answers += [
                (m[i], m[j], bool(c[i] == c[j]), lab.weight) for i in range(len(m)) for j in range(i + 1, len(m))
            ]
        _kinfold.write_answers(str(path), answers, source)

    def __add__(self, other: Constraints) -> Constraints:
        if not isinstance(other, Constraints):
            return NotImplemented
        return Constraints._of(self._pairs + other._pairs, self._sets + other._sets, self._labels + other._labels)

    # -- looking -----------------------------------------------------------------------------------------------------

    @property
    def n_pairs(self) -> int:
        """Number of pairs, without those of groups and labels."""
        return sum(len(p.a) for p in self._pairs)

    @property
    def must_link(self) -> np.ndarray:
        """The must-link pairs of ids, as given."""
        return self._kind(True)

    @property
    def cannot_link(self) -> np.ndarray:
        """The cannot-link pairs of ids, as given."""
        return self._kind(False)

    def _kind(self, same):
        parts = [np.column_stack([p.a[p.same == same], p.b[p.same == same]]) for p in self._pairs]
        return np.concatenate(parts) if parts else np.empty((0, 2), np.int64)

    def ids(self) -> np.ndarray:
        """The ids that are named, in order of appearance."""
        parts = [x for p in self._pairs for x in (np.column_stack([p.a, p.b]).ravel(),)]
        parts += [s.members for s in self._sets] + [lab.ids for lab in self._labels]
        if not parts:
            return np.empty(0, np.int64)
        if any(p.dtype == object for p in parts):
            parts = [np.array([str(i) for i in p], dtype=object) for p in parts]
            return np.array(list(dict.fromkeys(i for p in parts for i in p)), dtype=object)
        all_ids = np.concatenate(parts)
        return all_ids[np.sort(np.unique(all_ids, return_index=True)[1])]

    def __bool__(self) -> bool:
        return bool(self._pairs or self._sets or self._labels)

    def __eq__(self, other):
        if not isinstance(other, Constraints):
            return NotImplemented
        return _plain(self) == _plain(other)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self):
        same = sum(int(p.same.sum()) for p in self._pairs)
        labelled = sum(len(lab.ids) for lab in self._labels)
        parts = [f"{same} same, {self.n_pairs - same} different"] if self._pairs else []
        if self._sets:
            parts.append(f"{len(self._sets)} group" + "s" * (len(self._sets) != 1))
        if self._labels:
            parts.append(f"{labelled} labelled row" + "s" * (labelled != 1))
        return f"Constraints({', '.join(parts)})"

    def __getstate__(self):
        return (self._pairs, self._sets, self._labels)

    def __setstate__(self, state):
        self._pairs, self._sets, self._labels = state

    # -- using -------------------------------------------------------------------------------------------------------

    def check(self, k: int | None = None, *, ids: Any = None, repair: bool = True) -> ConflictReport:
        """Do they hold together, for k clusters if k is given, and what is the cheapest repair?

        ``ids`` names all rows: then each of the k clusters needs one of them. Without it, there may be other rows than those
        that are named here.

        >>> report = Constraints(cannot_link=[(0, 1), (1, 2), (0, 2)]).check(k=2)
        >>> report.possible, report.smallest_k
        (False, 3)
        >>> report.repaired().check(k=2).possible
        True
        """
        rows = RowIds(len(self.ids()), self.ids()) if ids is None else RowIds(len(ids), ids)
        given, dropped = self._given(rows)
        names = rows.ids if rows.ids is not None else np.arange(rows.n)
        possible, text, details = given.check(k, repair, ids is not None, names)
        return ConflictReport(possible, text, json.loads(details), self if not dropped else None)

    def _given(self, rows, trust="auto", strict=False):
        """The engine's form for these rows, and how many constraints fell away with rows that are not there."""
        unsaid = _kinfold.SOFT_WEIGHT if trust == "soft" else np.inf
        pairs, sets, labels, dropped, kept = [], [], [], 0, 0
        for p in self._pairs:
            a, b = rows.find(p.a), rows.find(p.b)
            here = (a >= 0) & (b >= 0)
            weight = np.where(np.isnan(p.weight), unsaid, p.weight)
            lines = p.lines
            if not here.all():
                if strict:
                    lost = np.flatnonzero(~here)[0]
                    raise rows.unknown(p.a[lost] if a[lost] < 0 else p.b[lost])
                dropped += int((~here).sum())
                a, b, weight = a[here], b[here], weight[here]
                lines = None if lines is None else lines[here]
            same = p.same if len(p.same) == len(a) else p.same[here]
            kept += len(a)
            pairs.append((p.source, *map(np.ascontiguousarray, (a, b, same, weight)), lines))
        for s in self._sets:
            members = rows.find(s.members)
            if strict and (members < 0).any():
                raise rows.unknown(s.members[np.flatnonzero(members < 0)[0]])
            here = members[members >= 0]
            dropped += len(members) - len(here)
            kept += len(here)
            if len(here) > 1:
                sets.append((s.source, s.same, np.ascontiguousarray(here), s.weight))
        for lab in self._labels:
            at = rows.find(lab.ids)
            if strict and (at < 0).any():
                raise rows.unknown(lab.ids[np.flatnonzero(at < 0)[0]])
            here = at >= 0
            dropped += int((~here).sum())
            kept += int(here.sum())
            if here.any():
                labels.append((lab.source, *map(np.ascontiguousarray, (at[here], lab.codes[here])), lab.names, lab.weight))
        if dropped and not kept and rows.ids is not None and (rows.find(self.ids()) < 0).all() and not in_cross_validation():
            # Not one id fits: that is another column of ids, not another part of the rows.
            raise rows.unknown(self.ids()[0])
        return _kinfold.Given(rows.n, pairs, sets, labels), dropped


def _plain(c):
    pairs = [(p.source, p.a.tolist(), p.b.tolist(), p.same.tolist(), str(p.weight.tolist())) for p in c._pairs]
    sets = [(s.source, s.same, s.members.tolist(), s.weight) for s in c._sets]
    return pairs, sets, [(x.source, x.ids.tolist(), x.codes.tolist(), x.names, x.weight) for x in c._labels]


def _two_columns(value, name):
    if frame_kind(value):
        value = value.to_numpy()
    both = normal_ids(value if isinstance(value, np.ndarray) else list(value))
    if both.size == 0:
        return np.empty((0, 2), np.int64)
    if both.ndim != 2 or both.shape[1] != 2:
        raise ConstraintError(f"{name} takes pairs, an array of shape (m, 2), not of shape {both.shape}")
    return both


def _pairs(value, same, name, weight=None, confidence=None):
    both = _two_columns(value, name)
    weights = _weights(weight, confidence, len(both))
    same, weights = _believed(np.full(len(both), same), weights, confidence)
    return _Pairs(None, np.ascontiguousarray(both[:, 0]), np.ascontiguousarray(both[:, 1]), same, weights)


def _weights(weight, confidence, count):
    if weight is not None and confidence is not None:
        raise ConstraintError("give a weight or a confidence, not both")
    value = weight if confidence is None else confidence
    out = np.broadcast_to(np.asarray(np.nan if value is None else value, dtype=float), (count,)).copy()
    if weight is not None and (np.isnan(out).any() or (out < 0).any()):
        raise ConstraintError(f"constraint weight {out[np.isnan(out) | (out < 0)][0]} is not a number from 0 up")
    if confidence is not None and not ((out > 0) & (out <= 1)).all():
        raise ConstraintError(f"confidence {out[~((out > 0) & (out <= 1))][0]} is not above 0 and at most 1")
    return out


def _believed(same, value, confidence):
    """Confidences as log-odds; one below one half speaks for the other kind."""
    if confidence is None:
        return same, value
    flipped = value < 0.5
    q = np.where(flipped, 1 - value, value)
    with np.errstate(divide="ignore"):
        return same ^ flipped, np.where(q == 1, np.inf, np.log(q / (1 - q)))


def _answer(value):
    if isinstance(value, (bool, np.bool_)):
        return bool(value)
    text = str(value).strip().lower()
    if text in _SAME:
        return True
    if text in _DIFFERENT:
        return False
    if text in _UNSURE:
        return None
    raise ConstraintError(f"the answer '{value}' is none of same, different and unsure")


def _listed(groups):
    """The groups as an array or list, and whether they are lists of members (or else one value per row)."""
    if hasattr(groups, "to_numpy"):
        groups = groups.to_numpy()
    if isinstance(groups, np.ndarray):
        return groups, groups.ndim == 2
    groups = list(groups)
    return groups, any(isinstance(g, (list, tuple, set, frozenset, range, np.ndarray)) for g in groups)


def _members(groups, listed, ids):
    """The members of each group of two rows or more."""
    if listed:
        return [normal_ids(sorted(g) if isinstance(g, (set, frozenset)) else list(g)) for g in groups]
    numbers, names = codes(groups)
    if ids is not None and len(ids) != len(numbers):
        raise ConstraintError(f"{len(numbers)} groups were given for {len(ids)} rows")
    members = [np.flatnonzero(numbers == g) for g in range(len(names))] if len(names) <= 64 else _by_code(numbers, len(names))
    return [m if ids is None else ids[m] for m in members if len(m) > 1]


def _by_code(numbers, count):
    order = np.argsort(numbers, kind="stable")
    bounds = np.searchsorted(numbers[order], np.arange(count + 1))
    return [order[bounds[g] : bounds[g + 1]] for g in range(count)]


@dataclass(frozen=True)
class Contradiction:
    """A cannot-link whose two ends the must-links join."""

    sentence: str
    ids: list[str]
    cannot_link: str
    chain: list[str]

    def __str__(self):
        return self.sentence


class ConflictReport:
    """What `Constraints.check` found. True when all constraints can hold; printing gives the command line's text.

    Attributes
    ----------
    possible : bool
        Can all constraints hold (for k, if k was given)?
    contradictions : list
        Each with ``sentence``, the ``ids`` along the chain, and where its parts came from.
    n_contradictions : int
        How many there are, explained or not.
    verdict : str or None
        "feasible", "infeasible" or "unknown" for the k that was asked for.
    reason : str or None
        Why k is impossible.
    witness : list
        The cannot-links that prove it, as (id, id, where).
    smallest_k : int or None
        The smallest k that keeps every cannot-link, where it is known; ``k_bounds`` has what is known.
    repair : list of str
        What to drop, a sentence each; ``repair_is_optimal`` says whether that is proven to be the cheapest.
    """

    possible: bool
    contradictions: list[Contradiction]
    n_contradictions: int
    k: int | None
    verdict: str | None
    reason: str | None
    witness: list[tuple[str, str, str]]
    k_bounds: tuple[int, int] | None
    smallest_k: int | None
    repair: list[str]
    repair_cost: float
    repair_is_optimal: bool

    def __init__(self, possible: bool, text: str, details: dict[str, Any], constraints: Constraints | None = None) -> None:
        self.possible, self._text, self._details, self._constraints = possible, text, details, constraints
        self.contradictions = [
            Contradiction(c["sentence"], c["rows"], c["cannot_link"], c["chain"])
            for c in details["contradictions"]["list"]
        ]
        self.n_contradictions = details["contradictions"]["count"]
        feasible = details["feasible"] or {}
        self.k, self.verdict, self.reason = feasible.get("k"), feasible.get("verdict"), feasible.get("sentence")
        self.witness = [(w["a"], w["b"], w["where"]) for w in feasible.get("witness", [])]
        smallest = details["smallest_k"]
        self.k_bounds = None if smallest is None else (smallest["lower"], smallest["upper"])
        self.smallest_k = smallest["lower"] if smallest and smallest["exact"] else None
        mended = details["repair"] or {"drop": [], "cost": 0.0, "optimal": True, "dropped": []}
        self.repair, self.repair_cost, self.repair_is_optimal = mended["drop"], mended["cost"], mended["optimal"]

    def __bool__(self) -> bool:
        return self.possible

    def __str__(self):
        return self._text.rstrip()

    def __repr__(self):
        state = "possible" if self.possible else "impossible"
        return f"ConflictReport({state}, {self.n_contradictions} contradictions, smallest k: {self.smallest_k})"

    def raise_if_impossible(self) -> None:
        """Raises what a fit would raise."""
        if self.contradictions:
            more = self.n_contradictions - 1
            rest = f" (and {more} more contradiction{'s' * (more != 1)})" if more else ""
            raise ContradictionError(f"the constraints contradict each other: {self.contradictions[0]}{rest}")
        if not self.possible:
            raise InfeasibleError(self.reason)

    def repaired(self) -> Constraints:
        """The constraints without what the repair drops."""
        if self._constraints is None:
            raise ConstraintError("some constraints name rows that are not among the ids: check without ids to repair")
        gone = {"pair": set(), "set": {}, "labels": {}}
        for d in (self._details["repair"] or {"dropped": []})["dropped"]:
            if d["sort"] == "pair":
                gone["pair"].add(d["index"])
            else:
                gone[d["sort"]].setdefault(d["index"], set()).add(d["entry"])
        pairs, first, c = [], 0, self._constraints
        for p in c._pairs:
            keep = np.array([first + i not in gone["pair"] for i in range(len(p.a))], dtype=bool)
            first += len(p.a)
            lines = None if p.lines is None else p.lines[keep]
            pairs.append(_Pairs(p.source, p.a[keep], p.b[keep], p.same[keep], p.weight[keep], lines))

        def kept(count, sort, i):
            return [e for e in range(count) if e not in gone[sort].get(i, ())]

        # The engine sees groups of two rows or more only.
        real = [s for s in c._sets if len(s.members) > 1]
        sets = [_Set(s.source, s.same, s.members[kept(len(s.members), "set", i)], s.weight) for i, s in enumerate(real)]
        labels = []
        for i, lab in enumerate(c._labels):
            at = kept(len(lab.ids), "labels", i)
            labels.append(_Labels(lab.source, lab.ids[at], lab.codes[at], lab.names, lab.weight))
        return Constraints._of(pairs, sets, labels)

    def _repr_html_(self) -> str:
        colour = "#0a7d33" if self.possible else "#b3261e"
        head = "These constraints can all hold" if self.possible else "These constraints cannot all hold"
        given = self._details["given"]
        counts = [f"{given['must_link']} same", f"{given['cannot_link']} different"]
        counts += [f"{given['sets']} groups"] if given["sets"] else []
        counts += [f"{given['labelled_rows']} labelled rows"] if given["labelled_rows"] else []
        parts = [
            f'<div style="border-left:4px solid {colour};padding:2px 12px">',
            f'<b style="color:{colour}">{head}</b>',
            f"<div>{', '.join(counts)} about {self._details['n']} rows</div>",
        ]
        if self.contradictions:
            parts.append(f"<p>{self.n_contradictions} contradiction{'s' * (self.n_contradictions != 1)}:</p><ul>")
            for c in self.contradictions[:10]:
                chain = " = ".join(f"<code>{html.escape(i)}</code>" for i in c.ids)
                where = html.escape(", ".join([*c.chain, c.cannot_link]))
                ends = [html.escape(c.ids[0]), html.escape(c.ids[-1])] if c.ids else ["", ""]
                parts.append(
                    f"<li>{chain}, but <code>{ends[0]}</code> ≠ <code>{ends[1]}</code> "
                    f'<span style="opacity:.6">[{where}]</span></li>'
                )
            parts.append("</ul>")
            if self.n_contradictions > 10:
                parts.append(f"<p>… and {self.n_contradictions - 10} more</p>")
        if self.verdict == "infeasible":
            parts.append(f"<p>Impossible: {html.escape(self.reason)}</p>")
        elif self.verdict is not None:
            parts.append(f"<p>k = {self.k}: {'possible' if self.verdict == 'feasible' else 'not decided in time'}</p>")
        if self.k_bounds:
            low, high = self.k_bounds
            parts.append(f"<p>Smallest possible k: {low if low == high else f'{low} to {high}'}</p>")
        if self.repair:
            proof = "the cheapest, proven" if self.repair_is_optimal else "the best found"
            parts.append(f"<p>Repair ({proof}): drop</p><ul>")
            parts += [f"<li>{html.escape(sentence)}</li>" for sentence in self.repair[:10]]
            parts.append("</ul>" if len(self.repair) <= 10 else f"</ul><p>… and {len(self.repair) - 10} more</p>")
        return "".join(parts) + "</div>"


@dataclass(frozen=True)
class Violation:
    """One broken relation: what was asked of which two rows, at what price, and where that came from."""

    kind: str
    id_a: str
    id_b: str
    row_a: int
    row_b: int
    weight: float
    where: str

    def __str__(self):
        answer = "same" if self.kind == "must-link" else "different"
        return f"{answer} ({self.id_a}, {self.id_b}) [{self.where}]"


@dataclass(frozen=True)
class Violations:
    """What a clustering breaks. ``len()`` counts all, iterating gives the first 10,000."""

    must_link: int
    cannot_link: int
    must_link_given: int
    cannot_link_given: int
    cost: float
    list: Sequence[Violation] = field(repr=False)

    @classmethod
    def _of(cls, found):
        kinds = {True: "must-link", False: "cannot-link"}
        listed = [Violation(kinds[s], ia, ib, a, b, w, where) for s, a, b, ia, ib, w, where in found.pop("list")]
        return cls(**found, list=listed)

    def __len__(self) -> int:
        return self.must_link + self.cannot_link

    def __iter__(self) -> Iterator[Violation]:
        return iter(self.list)

    def __str__(self):
        given = f"{self.must_link_given} must-links, {self.cannot_link_given} cannot-links"
        if not len(self):
            return f"{given}: all kept"
        lines = [f"{given}: {self.must_link} must-link and {self.cannot_link} cannot-link broken"]
        return "\n".join(lines + [f"  broken: {v}" for v in self.list[:10]])

    def _repr_html_(self) -> str:
        rows = "".join(
            f"<tr><td>{v.kind}</td><td>{html.escape(v.id_a)}</td><td>{html.escape(v.id_b)}</td>"
            f"<td>{'hard' if np.isinf(v.weight) else f'{v.weight:g}'}</td><td>{html.escape(v.where)}</td></tr>"
            for v in self.list[:20]
        )
        head = html.escape(str(self).splitlines()[0])
        table = "<table><tr><th>asked</th><th>row</th><th>row</th><th>weight</th><th>from</th></tr>" + rows + "</table>"
        return f"<div><p>{head}</p>{table if rows else ''}</div>"
