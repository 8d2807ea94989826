"""What all results do: they show themselves, travel and compare."""

from __future__ import annotations

import io
from base64 import b64encode
from dataclasses import fields, is_dataclass
from functools import cached_property
from html import escape
from typing import Any, TypeVar

import numpy as np

from stationary.errors import StationaryError
from stationary.model.views import show as show
from stationary.model.views import view as view

Kept = TypeVar("Kept")

#: Marks a field that does not travel.
STAYS = {"stays": True}


def travelling(result: Any) -> dict[str, Any]:
    """Return the fields of a result that another process needs, and what it has found out since."""
    known = vars(result)
    return {f.name: known.get(f.metadata.get("kept as"), known[f.name])
            for f in fields(result) if not f.metadata.get("stays")}  # fmt: skip


def _compared(result: Any) -> dict[str, Any]:
    """Return the fields that make two results equal."""
    return {f.name: getattr(result, f.name) for f in fields(result)
            if f.compare and not f.metadata.get("stays")}  # fmt: skip


def _arrived(kind: type, values: dict[str, Any]) -> Any:
    return kind(**values)


def same(a: Any, b: Any) -> bool:
    """Tell whether two values are equal, arrays entry by entry, what is not a number included."""
    if isinstance(a, np.ndarray) or isinstance(b, np.ndarray):
        x, y = np.asarray(a), np.asarray(b)
        numbers = x.dtype.kind in "fc" and y.dtype.kind in "fc"
        return np.array_equal(x, y, equal_nan=numbers)
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(same(a[key], b[key]) for key in a)
    if isinstance(a, (list, tuple)) and isinstance(b, (list, tuple)):
        return len(a) == len(b) and all(map(same, a, b))
    if is_dataclass(a) and type(a) is type(b) and not isinstance(a, type):
        own = "__eq__" in vars(type(a)) and not type(a).__dataclass_params__.eq  # pyright: ignore[reportAttributeAccessIssue]
        return bool(a == b) if own else same(_compared(a), _compared(b))
    if isinstance(a, float) and isinstance(b, float) and a != a and b != b:
        return True
    return bool(a == b)


def writable(value: Any) -> Any:
    """Return what may be written into: a copy of what belongs to a result."""
    return value.copy() if isinstance(value, np.ndarray) and not value.flags.writeable else value


def sealed(value: Any) -> Any:
    """Return the same with arrays that nobody writes into: evidence was measured of them."""
    if isinstance(value, np.ndarray):
        value = value.view() if type(value) is np.ndarray else value
        value.flags.writeable = False
        return value
    if isinstance(value, dict):
        value.update((k, sealed(v)) for k, v in value.items())
    return tuple(map(sealed, value)) if type(value) is tuple else value


class found_once(cached_property[Kept]):
    """What a result finds out when it is asked first, and keeps as it is."""

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        value = sealed(super().__get__(instance, owner))
        if instance is not None:
            vars(instance)[self.attrname] = value
        return value


class AbstractTravels:
    """A result, or a part of one: it travels to other processes, and compares by value.

    What travels are the fields of the dataclass: arrays, the statement, words. Graphs are built
    again where they arrive. A field that is only a convenience of the process that made it has
    ``metadata=STAYS``; one that says nothing new about the result has ``compare=False``.
    """

    def __post_init__(self):
        for f in fields(self):  # pyright: ignore[reportArgumentType]  # every result is a dataclass
            value = getattr(self, f.name)
            if isinstance(value, np.ndarray) and value.flags.writeable:
                object.__setattr__(self, f.name, sealed(value))

    def __reduce__(self) -> tuple:
        return _arrived, (type(self), travelling(self))

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        return same(_compared(self), _compared(other))

    def __hash__(self) -> int:
        return hash((type(self).__name__, getattr(self, "system", None)))


class AbstractShown(AbstractTravels):
    """A result: it shows itself in a notebook."""

    def _repr_html_(self) -> str:
        return f"<pre>{escape(repr(self))}</pre>" + self._drawn() + self._moving()

    def _drawn(self) -> str:
        """Return the picture; nothing where there is nothing to draw."""
        draw = getattr(self, "plot", None)
        if draw is None:
            return ""
        import matplotlib.pyplot as plt

        try:
            figure = draw()
        except StationaryError:
            return ""  # The text says what there is.
        data = io.BytesIO()
        figure.savefig(data, format="png", dpi=100)
        # The notebook would show an open figure a second time.
        plt.close(figure)
        return f'<img src="data:image/png;base64,{b64encode(data.getvalue()).decode()}">'

    def _moving(self) -> str:
        """Return what a notebook shows besides text and picture: nothing, unless it moves."""
        return ""
