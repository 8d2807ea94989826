"""Pictures and tables of results, found by name.

A result offers ``plot()`` and ``animate()`` without importing the packages that draw: a drawing
module registers its function here, and the result looks it up when asked.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

_views: dict[tuple[str, str], Callable[..., Any]] = {}


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
    return _views[kind, name]
