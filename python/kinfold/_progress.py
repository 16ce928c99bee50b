"""Progress bars: a line on a terminal, an element in a notebook, nothing elsewhere."""

import sys
import time

_PATIENCE = 1.0
# Seconds between two drawings.
_PAUSE = 0.2


def listener(wish):
    """The function that the engine calls with stage, done and total; None for silence. Close it with `finish`."""
    if callable(wish):
        return wish
    if wish is False or wish is None:
        return None
    if _in_notebook():
        return _Notebook()
    if wish is True or (wish == "auto" and sys.stderr is not None and sys.stderr.isatty()):
        return _Terminal()
    return None


def finish(bar):
    """Takes a bar off the screen."""
    if isinstance(bar, _Bar):
        bar.close()


def _in_notebook():
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    return type(shell).__name__ == "ZMQInteractiveShell"


class _Bar:
    def __init__(self):
        self.begun = time.monotonic()
        self.stage, self.stage_begun, self.drawn = None, self.begun, 0.0

    def __call__(self, stage, done, total):
        now = time.monotonic()
        if stage != self.stage:
            self.stage, self.stage_begun = stage, now
        if now - self.begun < _PATIENCE or now - self.drawn < _PAUSE:
            return
        self.drawn = now
        left = None
        if total and 0 < done <= total:
            left = (now - self.stage_begun) * (total - done) / done
        self.draw(stage, done, total, now - self.begun, left)


class _Terminal(_Bar):
    width = 0

    def draw(self, stage, done, total, elapsed, left):
        if total:
            full = min(30, 30 * done // total)
            line = f"{stage} {'█' * full}{'░' * (30 - full)} {done}/{total} {_clock(elapsed)}"
        else:
            line = f"{stage} {done} {_clock(elapsed)}"
        if left is not None:
            line += f" (about {_clock(left)} left)"
        sys.stderr.write("\r" + line.ljust(self.width))
        sys.stderr.flush()
        self.width = len(line)

    def close(self):
        if self.width:
            sys.stderr.write("\r" + " " * self.width + "\r")
            sys.stderr.flush()
            self.width = 0


class _Notebook(_Bar):
    handle = None

    def draw(self, stage, done, total, elapsed, left):
        from html import escape

        from IPython.display import HTML, display

        bar = f'<progress value="{done}" max="{total}"></progress> {done}/{total}' if total else str(done)
        about = f" (about {_clock(left)} left)" if left is not None else ""
        html = HTML(f"<div>{escape(stage)} {bar} {_clock(elapsed)}{about}</div>")
        if self.handle is None:
            self.handle = display(html, display_id=True)
        else:
            self.handle.update(html)

    def close(self):
        if self.handle is not None:
            from IPython.display import HTML

            self.handle.update(HTML(""))
            self.handle = None


def _clock(seconds):
    minutes, seconds = divmod(int(seconds), 60)
    return f"{minutes}:{seconds:02d}"
