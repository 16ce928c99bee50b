"""Asking and answering."""

import numpy as np
import pytest

import kinfold
from kinfold import Constraints, ConstrainedKMeans, Dialogue
from kinfold.exceptions import ConstraintError, DataError, ParameterError


@pytest.fixture(scope="module")
def blobs():
    rng = np.random.default_rng(4)
    return np.concatenate([rng.normal(c, 1.0, (20, 2)) for c in ([0, 0], [5, 0], [0, 5])]), np.repeat([0, 1, 2], 20)


def converse(talk, y, count):
    asked = []
    for _ in range(count):
        q = talk.query()
        if q is None:
            break
        asked.append(frozenset((q.row_a, q.row_b)))
        talk.answer("same" if y[q.row_a] == y[q.row_b] else "different")
    return asked


def test_nothing_is_asked_twice_and_every_answer_is_kept(blobs):
    X, y = blobs
    talk = Dialogue(X, estimator=ConstrainedKMeans(3), n_clusters=3)
    asked = converse(talk, y, 25)
    assert len(asked) == len(set(asked)) == 25
    found = talk.refit()
    assert len(found.violations_) == 0 and np.array_equal(found.labels_, talk.labels_)
    assert talk.constraints.n_pairs == 25
    advice = talk.stop_advice()
    assert advice.asked == 25 and advice.conflicts == 0 and isinstance(bool(advice), bool) and "25 answers" in str(advice)


def test_a_question_stays_until_it_is_answered_and_undo_brings_it_back(blobs):
    X, y = blobs
    talk = Dialogue(X, n_clusters=3, strategy="random", auto_refit=False)
    q = talk.query()
    assert talk.query() == q and q.why and str(q).startswith(f"Do {q.id_a} and {q.id_b}")
    assert talk.answer(True).effect == "new"
    assert talk.undo() == (q.id_a, q.id_b, "same")
    assert talk.stop_advice().asked == 0 and talk.undo() is None
    again = talk.query()
    assert {again.row_a, again.row_b} == {q.row_a, q.row_b}


def test_contradictions_are_explained_and_unsure_counts_for_nothing(blobs):
    X, _ = blobs
    ids = [f"p{i}" for i in range(60)]
    talk = Dialogue(X, n_clusters=3, sample_ids=ids, auto_refit=False)
    assert talk.tell("p0", "p1", "same") and talk.tell("p1", "p2", "same")
    assert "p1" in talk.why("p0", "p2") and talk.why("p0", "p9") is None
    assert talk.tell("p0", "p2", "same").effect == "known"
    heard = talk.tell("p0", "p2", "different")
    assert not heard and heard.effect == "conflict"
    assert talk.tell("p5", "p6", "unsure").effect == "aside"
    assert talk.constraints.must_link.tolist() == [["p0", "p1"], ["p1", "p2"], ["p0", "p2"]]
    assert len(set(talk.refit().labels_[:3])) <= 2
    with pytest.raises(ConstraintError, match="no row has the id 'nobody'"):
        talk.tell("p0", "nobody", "same")
    with pytest.raises(ConstraintError, match="none of same, different and unsure"):
        talk.tell("p0", "p9", "perhaps")


def test_answers_are_on_disk_and_a_new_dialogue_goes_on_from_them(blobs, tmp_path):
    X, y = blobs
    file = tmp_path / "answers.csv"
    ids = [f"p{i}" for i in range(60)]
    talk = Dialogue(X, n_clusters=3, sample_ids=ids, answers=file, auto_refit=False)
    asked = converse(talk, y, 8)
    assert Constraints.from_file(file).n_pairs == 8
    talk.undo()
    assert Constraints.from_file(file).n_pairs == 7
    later = Dialogue(X, n_clusters=3, sample_ids=ids, answers=file, auto_refit=False)
    assert not set(converse(later, y, 10)) & set(asked[:-1])


def test_saved_dialogues_go_on_where_they_were(blobs, tmp_path):
    X, y = blobs
    one = Dialogue(X, n_clusters=3, strategy="min-max", auto_refit=False)
    converse(one, y, 6)
    one.save(tmp_path / "talk.json")
    two = Dialogue.resume(tmp_path / "talk.json", X, auto_refit=False)
    assert two.query() == one.query() and two.stop_advice() == one.stop_advice()
    with pytest.raises(ParameterError, match="other rows"):
        Dialogue.resume(tmp_path / "talk.json", X + np.random.default_rng(0).normal(size=X.shape))
    (tmp_path / "bad.json").write_text("{}")
    with pytest.raises(DataError, match="not a saved dialogue"):
        Dialogue.resume(tmp_path / "bad.json", X)


def test_batches_hold_different_pairs(blobs):
    X, _ = blobs
    batch = Dialogue(X, n_clusters=3, auto_refit=False).batch(5)
    assert len({frozenset((q.row_a, q.row_b)) for q in batch}) == 5


@pytest.mark.parametrize("strategy", sorted(kinfold.strategies()))
def test_every_strategy_asks(blobs, strategy):
    X, y = blobs
    talk = Dialogue(X, estimator=ConstrainedKMeans(3), n_clusters=3, strategy=strategy)
    assert len(converse(talk, y, 5)) == 5


def test_learning_curves_rise(blobs):
    X, y = blobs
    curve = kinfold.learning_curve(X, y, estimator=ConstrainedKMeans(3), budget=40, every=20)
    assert [p["asked"] for p in curve] == [0, 20, 40]
    assert curve[-1]["ari"] >= curve[0]["ari"] - 1e-9 and curve[-1]["wrong"] == 0
    with pytest.raises(ParameterError, match="no query strategy named 'nothing'"):
        kinfold.learning_curve(X, y, strategy="nothing")
