"""Pictures and tables of results, found by name.

A result offers ``plot()`` and ``animate()`` without importing the packages that draw: a drawing
module registers its function here, and the result looks it up when asked.
"""

from __future__ import annotations

import io
from base64 import b64encode
from collections.abc import Callable
from html import escape
from importlib import import_module
from typing import Any

from stationary.errors import StatementError, StationaryError, unknown

_views: dict[tuple[str, str], Callable[..., Any]] = {}
_drawers: set[str] = set()


def drawn_by(module: str) -> None:
    """Name a module that registers views; it is imported when one is first asked for."""
    _drawers.add(module)


def view(kind: str, name: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Register a function as the view `name` of results of this kind."""

    def register(function: Callable[..., Any]) -> Callable[..., Any]:
        if (kind, name) in _views:
            raise RuntimeError(f"two views are called '{name}' of {kind}")
        _views[kind, name] = function
        return function

    return register


def show(kind: str, name: str) -> Callable[..., Any]:
    """Return a registered view."""
    while _drawers:
        import_module(_drawers.pop())
    if (kind, name) not in _views:
        choices = [other for owner, other in _views if owner == kind]
        raise StatementError(unknown(f"the view of a {kind}", name, choices))
    return _views[kind, name]


class AbstractShown:
    """A result that shows itself in a notebook: its text, and its picture if it has one."""

    def _repr_html_(self) -> str:
        text = f"<pre>{escape(repr(self))}</pre>"
        draw = getattr(self, "plot", None)
        if draw is None:
            return text
        import matplotlib.pyplot as plt

        try:
            figure = draw()
        except StationaryError:
            return text  # There is nothing to draw; the text says what there is.
        data = io.BytesIO()
        figure.savefig(data, format="png", dpi=100)
        # The notebook would show an open figure a second time.
        plt.close(figure)
        return f'{text}<img src="data:image/png;base64,{b64encode(data.getvalue()).decode()}">'
