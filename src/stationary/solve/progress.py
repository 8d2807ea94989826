"""A line that shows how far a long run has come, where somebody can see it."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from html import escape
from typing import Any, Protocol

# Nothing is shown for runs shorter than this many seconds, and not more often than this.
_PATIENCE, _BETWEEN = 1.0, 0.1


class Begun(BaseException):
    """Raised where work begins, if nothing but the arguments is looked at."""


_looking = ContextVar("looking", default=False)


@contextmanager
def looking() -> Iterator[None]:
    """Raise `Begun` inside where work begins: what was asked is then found to make sense."""
    token = _looking.set(True)
    try:
        yield
    finally:
        _looking.reset(token)


class Progress:
    """Shows the done fraction of a run: in a terminal on standard error, in a notebook below it.

    Of runs inside each other the outermost is shown.
    """

    _shown: Progress | None = None

    def __init__(self, title: str):
        if _looking.get():
            raise Begun
        self._title = title
        self._began = self._last = time.monotonic()
        self._line: Line | None = None

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Keep runs inside this one from showing lines of their own."""
        mine = Progress._shown is None
        if mine:
            Progress._shown = self
        try:
            yield
        finally:
            if mine and self._line is None:
                Progress._shown = None

    def show(self, fraction: float, note: str = "") -> None:
        """Redraw the line, at most ten times a second; a note stands behind it."""
        now = time.monotonic()
        if now - self._began < _PATIENCE or now - self._last < _BETWEEN:
            return
        if Progress._shown is None or (Progress._shown is self and self._line is None):
            self._line = _line(self._title)
            Progress._shown = self
        self._last = now
        if self._line is not None:
            self._line.show(min(max(fraction, 0.0), 1.0), note)

    def close(self) -> None:
        """Take the line away."""
        if Progress._shown is self:
            Progress._shown = None
        if self._line is not None:
            self._line.close()
            self._line = None


class Line(Protocol):
    """Something that shows a fraction."""

    def show(self, fraction: float, note: str) -> None:
        """Show it."""

    def close(self) -> None:
        """Take it away."""


def _line(title: str) -> Line | None:
    # A kernel that is only imported, as by a cluster or a test, shows nothing.
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    if getattr(shell, "kernel", None) is not None:
        return _InNotebook(title)
    return _InTerminal(title) if sys.stderr.isatty() else None


class _InTerminal:
    def __init__(self, title: str):
        from rich.console import Console
        from rich.progress import BarColumn, TextColumn, TimeRemainingColumn
        from rich.progress import Progress as Bar

        name = TextColumn("{task.description}", markup=False)
        share, note = TextColumn("{task.percentage:3.0f}%"), TextColumn("{task.fields[note]}")
        self._bar = Bar(name, BarColumn(), share, TimeRemainingColumn(), note, transient=True,
                        auto_refresh=False, console=Console(stderr=True))  # fmt: skip
        self._task = self._bar.add_task(title, total=1.0, note="")
        self._bar.start()

    def show(self, fraction: float, note: str) -> None:
        self._bar.update(self._task, completed=fraction, note=note, refresh=True)

    def close(self) -> None:
        self._bar.stop()


class _InNotebook:
    def __init__(self, title: str):
        from IPython.display import HTML, display  # pyright: ignore[reportMissingImports]

        self._title, self._html = escape(title), HTML
        self._place: Any = display(HTML(""), display_id=True)

    def show(self, fraction: float, note: str) -> None:
        bar = f'<progress value="{fraction:.3f}" max="1"></progress>'
        self._place.update(self._html(f"{self._title} {bar} {fraction:.0%} {escape(note)}"))

    def close(self) -> None:
        self._place.update(self._html(""))
