"""Engines: one file each, all from the same graph f(t, y, p).

An engine is a module of this folder that is named in `ENGINES` and has the four functions of
`AbstractEngine`. What else it can do, as integrate, its own users ask of its code.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any, Protocol

import casadi as ca
import numpy as np

from stationary.errors import StatementError, did_you_mean

#: The reference first.
ENGINES = ("casadi", "heyoka", "series", "c")

#: Those whose code can be made faster at leisure, and is kept on disk.
OPTIMIZING = ("heyoka",)


class AbstractEngine(Protocol):
    """What makes numbers of a graph."""

    @staticmethod
    def available() -> bool:
        """Tell whether it can be used on this machine."""
        ...

    @staticmethod
    def accepts(rhs: ca.Function) -> bool:
        """Tell whether it can serve a function f(t, y, p), and that it pays."""
        ...

    @staticmethod
    def compile(rhs: ca.Function) -> Any:
        """Return code for f(t, y, p)."""
        ...

    @staticmethod
    def run(code: Any, t: np.ndarray, y: np.ndarray, p: np.ndarray) -> np.ndarray:
        """Return f at many times and states, one per row."""
        ...


def engine(name: str) -> AbstractEngine:
    """Return an engine by name."""
    if name not in ENGINES:
        raise StatementError(
            f"there is no engine '{name}'.",
            f"Engines: {', '.join(ENGINES)}.{did_you_mean(name, ENGINES)}",
            "Name one of them.",
        )
    return import_module(f"{__name__}.{name}")  # pyright: ignore[reportReturnType]  # a module
