"""Long runs: the interpreter is free, Ctrl-C ends them, progress shows."""

import _thread
import io
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
import types

import numpy as np
import pytest

import kinfold
from kinfold import _progress


@pytest.fixture(scope="module")
def many():
    return np.random.default_rng(0).normal(size=(20_000, 8))


LONG = dict(n_clusters=50, restarts=10_000, progress=False)


def test_other_threads_run_meanwhile(many):
    ticks, done = 0, threading.Event()

    def work():
        kinfold.KMeans(**LONG, time_limit=1.0).fit(many)
        done.set()

    worker = threading.Thread(target=work)
    worker.start()
    while not done.is_set():
        ticks += 1
        time.sleep(0.001)
    worker.join()
    assert ticks > 100


@pytest.fixture
def heard():
    """Ctrl-C as in a terminal: whoever started the tests in the background may have switched it off."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def test_ctrl_c_ends_a_run_within_a_second(many, heard):
    at = []

    def interrupt():
        time.sleep(0.5)
        at.append(time.monotonic())
        _thread.interrupt_main()

    threading.Thread(target=interrupt).start()
    with pytest.raises(KeyboardInterrupt):
        kinfold.KMeans(**LONG, time_limit=60.0).fit(many)
    assert time.monotonic() - at[0] < 5


@pytest.mark.skipif(os.name != "posix", reason="signals")
def test_a_signal_from_outside_ends_it_too():
    code = """
        import signal
        signal.signal(signal.SIGINT, signal.default_int_handler)
        import numpy as np, kinfold
        print("ready", flush=True)
        try:
            kinfold.KMeans(50, restarts=10_000, time_limit=50.0).fit(np.random.default_rng(0).normal(size=(20_000, 8)))
        except KeyboardInterrupt:
            print("interrupted", flush=True)
    """
    child = subprocess.Popen([sys.executable, "-c", textwrap.dedent(code)], stdout=subprocess.PIPE, text=True)
    assert child.stdout.readline() == "ready\n"
    time.sleep(2.0)
    child.send_signal(signal.SIGINT)
    assert child.communicate(timeout=60)[0] == "interrupted\n"


def test_progress_is_told_to_a_function(many):
    seen = []
    kinfold.KMeans(50, restarts=10_000, time_limit=1.0, progress=lambda *step: seen.append(step)).fit(many)
    assert seen and all(isinstance(s, str) and d >= 0 and (t is None or t >= d) for s, d, t in seen)


def test_an_error_in_that_function_ends_the_run(many):
    def fail(stage, done, total):
        raise RuntimeError("enough")

    with pytest.raises(RuntimeError, match="enough"):
        kinfold.KMeans(**{**LONG, "progress": fail}).fit(many)


def test_bars_wait_a_second_and_leave_nothing(monkeypatch):
    screen = io.StringIO()
    monkeypatch.setattr(sys, "stderr", screen)
    bar = _progress.listener(True)
    bar("restarts", 1, 4)
    assert screen.getvalue() == ""
    bar.begun -= 2
    bar.stage_begun -= 2
    bar("restarts", 2, 4)
    bar("restarts", 3, 4)
    assert "3/4" not in screen.getvalue()
    bar.drawn -= 1
    assert "2/4" in screen.getvalue() and "left" in screen.getvalue() and "█" in screen.getvalue()
    bar("search", 7, None)
    _progress.finish(bar)
    assert screen.getvalue().endswith(" \r")
    assert _progress.listener(False) is None and _progress.listener("auto") is None


@pytest.fixture
def notebook(monkeypatch):
    """What a notebook's IPython is to the bars; returns what is shown."""
    shown = []

    class Handle:
        def update(self, html):
            shown.append(html)

    ipython, display = types.ModuleType("IPython"), types.ModuleType("IPython.display")
    ipython.get_ipython = type("ZMQInteractiveShell", (), {})
    display.HTML = str
    display.display = lambda html, display_id: shown.append(html) or Handle()
    monkeypatch.setitem(sys.modules, "IPython", ipython)
    monkeypatch.setitem(sys.modules, "IPython.display", display)
    return shown


def test_bars_in_notebooks_are_elements(notebook):
    bar = _progress.listener("auto")
    bar.begun -= 2
    bar("restarts <x>", 1, 4)
    bar.drawn -= 1
    bar("restarts <x>", 2, 4)
    _progress.finish(bar)
    assert 'value="1" max="4"' in notebook[0] and "&lt;x&gt;" in notebook[0] and notebook[-1] == ""


def test_a_long_fit_shows_a_bar_and_takes_it_away(notebook, many):
    kinfold.KMeans(50, restarts=10_000, time_limit=1.6).fit(many[:2000])
    assert len(notebook) > 2 and "<progress" in notebook[0] and notebook[-1] == ""


def test_a_terminal_gets_a_bar(monkeypatch, many):
    class Terminal(io.StringIO):
        isatty = lambda self: True

    monkeypatch.setattr(sys, "stderr", screen := Terminal())
    kinfold.KMeans(50, restarts=10_000, time_limit=1.6).fit(many[:2000])
    assert "█" in screen.getvalue() or "░" in screen.getvalue()
    assert screen.getvalue().endswith(" \r")
