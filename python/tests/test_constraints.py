"""Constraints by id, what is wrong with them, and what is broken of them."""

import copy
import json
import pickle
import subprocess

import numpy as np
import pandas as pd
import polars as pl
import pytest

from kinfold import Constraints, ConstrainedKMeans, KMeans, select, simulate
from kinfold.exceptions import ConstraintError, ContradictionError, InfeasibleError, ReadError

ANSWERS = "id_a,id_b,answer,confidence\nann,bob,same,\nbob,cleo,y,\ncleo,dan,ml,\nann,dan,different,\neve,ann,n,0.8\neve,bob,unsure,\n"


@pytest.fixture
def answers(tmp_path):
    file = tmp_path / "answers.csv"
    file.write_text(ANSWERS)
    return file


def test_pairs_frames_and_files_say_the_same(answers):
    file = Constraints.from_file(answers)
    assert repr(file) == "Constraints(3 same, 2 different)"
    assert file.must_link.tolist() == [["ann", "bob"], ["bob", "cleo"], ["cleo", "dan"]]
    frame = pd.read_csv(answers)
    for table in (frame, pl.read_csv(answers)):
        assert Constraints.from_frame(table).must_link.tolist() == file.must_link.tolist()
    pairs = Constraints.from_pairs(frame[["id_a", "id_b"]], frame["answer"])
    assert pairs.cannot_link.tolist() == file.cannot_link.tolist()
    assert file.ids().tolist() == ["ann", "bob", "cleo", "dan", "eve"]


def test_confidences_are_log_odds_and_speak_for_the_other_kind_below_one_half():
    c = Constraints(must_link=[(0, 1), (0, 2), (0, 3)], confidence=[0.8, 0.1, 1.0])
    assert c._pairs[0].weight == pytest.approx([1.386294, 2.197225, np.inf], abs=1e-6)
    assert c._pairs[0].same.tolist() == [True, False, True]
    with pytest.raises(ConstraintError, match="confidence 0.0 is not above 0 and at most 1"):
        Constraints(must_link=[(0, 1)], confidence=0.0)
    with pytest.raises(ConstraintError, match="constraint weight -1.0 is not a number from 0 up"):
        Constraints(must_link=[(0, 1)], weight=-1)


def test_reports_name_the_chain_and_the_lines(answers):
    report = Constraints.from_file(answers).check(k=3)
    assert not report and report.n_contradictions == 1
    sentence = (
        f"different (ann, dan) [{answers}:5] contradicts ann = bob [{answers}:2] = cleo [{answers}:3] = dan [{answers}:4]"
    )
    assert report.contradictions[0].sentence == sentence
    assert report.contradictions[0].ids == ["ann", "bob", "cleo", "dan"]
    assert len(report.repair) == 1 and report.repair_is_optimal
    with pytest.raises(ContradictionError) as raised:
        report.raise_if_impossible()
    assert sentence in str(raised.value)
    assert report.repaired().check(k=3).possible
    page = report._repr_html_()
    assert page.count("<div") == page.count("</div>") and "cannot all hold" in page and "cleo" in page and "1 contradiction:" in page


def test_reports_in_html_are_escaped():
    page = Constraints([("<b>", "&")], [("<b>", "&")]).check()._repr_html_()
    assert "<b>&" not in page and "<code>&lt;b&gt;</code>" in page and "<code>&amp;</code>" in page


def test_the_text_is_the_command_lines(answers, command):
    done = subprocess.run([command, "check", "-c", answers, "-k", "2"], capture_output=True, text=True)
    assert done.returncode == 3
    report = Constraints.from_file(answers).check(k=2)
    assert str(report) == done.stdout.rstrip()
    done = subprocess.run([command, "check", "-c", answers, "-k", "2", "--json"], capture_output=True, text=True)
    told = json.loads(done.stdout)
    del told["schema_version"]
    assert report._details == told


def test_infeasible_counts_have_a_witness():
    c = Constraints(cannot_link=[(a, b) for a in range(4) for b in range(a)])
    report = c.check(k=3)
    assert (report.verdict, report.smallest_k, len(report.witness)) == ("infeasible", 4, 6)
    assert c.check(k=4).possible and c.check().possible
    with pytest.raises(InfeasibleError, match="k = 3 is too small: .* so 4 clusters are needed"):
        ConstrainedKMeans(3).fit(np.arange(8.0)[:, None], constraints=c)
    assert "Impossible: k = 3 is too small" in report._repr_html_()


def test_rows_that_are_not_named_may_fill_the_other_clusters():
    c = Constraints(must_link=[(0, 1)], cannot_link=[(1, 2)])
    assert c.check(k=3).possible and c.check(k=3, ids=range(4)).possible
    assert not c.check(k=3, ids=range(3)).possible and not c.check(k=1).possible


def test_repairs_leave_groups_and_labels_in_place():
    c = Constraints.from_groups([["a", "b", "c"]]) + Constraints.from_labels([0, 1, 1], ids=["a", "b", "d"])
    report = c.check(k=2)
    assert not report.possible
    assert report.repaired().check(k=2).possible


def test_errors_speak_in_ids_and_lines(answers):
    X = np.arange(5.0)[:, None]
    ids = ["ann", "bob", "cleo", "dan", "eve"]
    with pytest.raises(ContradictionError) as raised:
        ConstrainedKMeans(2).fit(X, constraints=Constraints.from_file(answers), sample_ids=ids)
    assert f"different (ann, dan) [{answers}:5] contradicts ann = bob" in str(raised.value)
    assert raised.value.__notes__ == ["hint: Constraints.check() shows every contradiction and the cheapest repair"]


def test_bad_files_are_told_by_line(tmp_path):
    file = tmp_path / "answers.csv"
    file.write_text("id_a,id_b,answer\na,b,perhaps\n")
    with pytest.raises(ReadError, match="answers.csv:2"):
        Constraints.from_file(file)
    with pytest.raises(ReadError):
        Constraints.from_file(tmp_path / "none.csv")


def test_files_written_read_the_same(tmp_path):
    c = Constraints([("a", "b")], [("b", "c")], confidence=0.9) + Constraints.from_groups([["x", "y", "z"]])
    c.to_file(tmp_path / "out.csv")
    again = Constraints.from_file(tmp_path / "out.csv")
    assert again.must_link.tolist() == [["a", "b"], ["x", "y"], ["x", "z"], ["y", "z"]]
    assert again._pairs[0].weight == pytest.approx([np.log(9)] * 2 + [np.inf] * 3)


def test_constraints_are_values(pairs):
    assert pickle.loads(pickle.dumps(pairs)) == pairs == copy.deepcopy(pairs)
    assert pairs + Constraints() == pairs
    assert not Constraints() and pairs
    with pytest.raises(TypeError):
        len(pairs)


def test_rows_that_are_gone_take_their_constraints_along(pairs):
    X = np.arange(6.0)[:, None]
    found = ConstrainedKMeans(2).fit(X[1:], constraints=pairs, sample_ids=np.arange(1, 6))
    assert found.n_dropped_ == 1
    assert found.labels_[0] == found.labels_[1] != found.labels_[2]
    assert found.violations_.must_link_given == 1


def test_violations_are_named():
    X = np.array([[0.0], [1.0], [9.0], [10.0]])
    c = Constraints(must_link=[("a", "d")], cannot_link=[("a", "b")], weight=2.0)
    found = KMeans(2).fit(X, constraints=c, sample_ids=list("abcd")).violations_
    assert (len(found), found.must_link, found.cannot_link, found.cost) == (2, 1, 1, 4.0)
    assert [str(v) for v in found] == ["same (a, d) [pair #0]", "different (a, b) [pair #1]"]
    assert "1 must-links, 1 cannot-links: 1 must-link and 1 cannot-link broken" in str(found)
    assert found._repr_html_().count("<tr>") == 3


def test_soft_trust_gives_unsaid_weights_the_odds_of_people():
    c = Constraints(must_link=[(0, 3)])
    X = np.array([[0.0], [1.0], [9.0], [10.0]])
    assert KMeans(2, trust="soft").fit(X, constraints=c).violations_.cost == pytest.approx(np.log(0.85 / 0.15))
    assert KMeans(2, trust="hard").fit(X, constraints=c).violations_.cost == 0.0


def test_simulated_answers_are_the_command_lines(tmp_path, command, iris):
    from conftest import ROOT

    X, y = iris
    for protocol, amount, noise in (("pairs", "n/2", 0.1), ("balanced", "5%", 0.0), ("labels", "10%", 0.0), ("sets", "30", 0.0)):
        file = tmp_path / f"{protocol}.csv"
        call = [command, "simulate", ROOT / "examples/iris.csv", "--truth", "species", "--protocol", protocol, "-q"]
        subprocess.run([*call, "--amount", amount, "--noise", str(noise), "--seed", "5", "-o", file], check=True)
        theirs = Constraints.from_file(file)
        ours = simulate(y, amount=amount, protocol=protocol, noise=noise, random_state=5)
        assert ours.must_link.astype(str).tolist() == theirs.must_link.tolist()
        assert ours.cannot_link.astype(str).tolist() == theirs.cannot_link.tolist()
    with pytest.raises(ValueError, match="amount 'lots' is not of the form"):
        simulate(y, amount="lots")


def test_the_command_line_selects_the_same(tmp_path, command, iris):
    X, y = iris
    np.save(tmp_path / "rows.npy", X)
    simulate(y, amount=80, random_state=2).to_file(tmp_path / "a.csv")
    c = Constraints.from_file(tmp_path / "a.csv")
    for option, own in ((["--budget", "20"], {"budget": 20}), (["--mode", "distance"], {"mode": "distance"})):
        call = [command, "select", tmp_path / "rows.npy", "-c", tmp_path / "a.csv", "--json", "-q", *option]
        told = json.loads(subprocess.run(call, capture_output=True, text=True, check=True).stdout)["kept"]
        ours = select(X, c, **own)
        assert 0 < ours.n_pairs < 80
        pairs = [[str(a), str(b), "same" if s else "different"] for p in ours._pairs for a, b, s in zip(p.a, p.b, p.same)]
        assert pairs == [[k["id_a"], k["id_b"], k["answer"]] for k in told]
    with pytest.raises(ValueError, match="fill takes margin | none | random, not 'much'"):
        select(X, c, fill="much")
