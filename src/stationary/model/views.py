"""Pictures, tables and pages of systems and results, found by name.

A result offers ``plot()`` and ``animate()`` without importing the packages that draw: a drawing
module registers its function here, and the result looks it up when asked.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

from stationary.errors import StatementError, unknown

_views: dict[tuple[str, str], Callable[..., Any]] = {}
_drawers: list[str] = []


def drawn_by(module: str) -> None:
    """Name a module that registers views; it is imported when one is first asked for."""
    _drawers.append(module)


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
    while (kind, name) not in _views and _drawers:
        import_module(_drawers.pop(0))
    if (kind, name) not in _views:
        choices = [other for owner, other in _views if owner == kind]
        raise StatementError(unknown(f"the view of a {kind}", name, choices))
    return _views[kind, name]
