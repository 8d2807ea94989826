"""A line that shows how far a long run has come, where somebody can see it."""

from __future__ import annotations

import sys
import time

# Nothing is shown for runs shorter than this many seconds.
_PATIENCE = 1.0
_WIDTH = 32


class Progress:
    """Shows the done fraction of a run on a terminal's standard error."""

    def __init__(self, title: str):
        self._title = title
        self._began = self._shown = time.monotonic()
        self._visible = False

    def show(self, fraction: float) -> None:
        """Redraw the line, at most ten times a second."""
        now = time.monotonic()
        if now - self._began < _PATIENCE or now - self._shown < 0.1 or not sys.stderr.isatty():
            return
        self._shown, self._visible = now, True
        filled = round(_WIDTH * fraction)
        bar = "█" * filled + "·" * (_WIDTH - filled)
        left = (now - self._began) * (1 - fraction) / max(fraction, 1e-9)
        remaining = f"{left:.0f} s left" if fraction > 0.02 else ""
        print(f"\r{self._title} {bar} {fraction:4.0%} {remaining}   ", end="", file=sys.stderr)
        sys.stderr.flush()

    def close(self) -> None:
        """Take the line away."""
        if self._visible:
            print("\r" + " " * (len(self._title) + _WIDTH + 30) + "\r", end="", file=sys.stderr)
