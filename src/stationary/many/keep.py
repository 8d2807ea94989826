"""What is kept of a run: values at the end or at times, crossings, extremes, means, or anything."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import sympy as sp

from stationary.errors import StatementError, did_you_mean, spelled
from stationary.model.arrays import Array
from stationary.model.numbers import numbers_of
from stationary.model.symbols import from_dynamicsymbols
from stationary.model.system import System
from stationary.model.terms import expression


@dataclass(frozen=True)
class End:
    """The value of an expression, or of several, where a run ends."""

    what: Any

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of what is kept."""
        if isinstance(self.what, tuple):
            return (len(self.what),)
        return self.what.shape if isinstance(self.what, Array) else ()


@dataclass(frozen=True)
class Values:
    """The values of an expression, or of several, at given times."""

    what: Any
    at: tuple[float, ...]

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of what is kept."""
        return (len(self.at), *End(self.what).shape)


@dataclass(frozen=True)
class First:
    """When an expression first passes through zero; not a number where it never does."""

    what: Any
    direction: int = 0
    shape = ()


@dataclass(frozen=True)
class Most:
    """The largest value of an expression along a run (`sign` 1), or the smallest (−1)."""

    what: Any
    sign: int = 1
    shape = ()


@dataclass(frozen=True)
class Mean:
    """The mean of an expression over the time of a run."""

    what: Any
    shape = ()


@dataclass(frozen=True)
class Attribute:
    """What a result calls by a name: ``"energy"``, ``"stable"``, ``"frequencies"``."""

    name: str
    shape = None


@dataclass(frozen=True)
class Call:
    """What a function makes of a result."""

    function: Callable[[Any], Any]
    shape = None


#: What is kept of a motion on its way.
Reduction = First | Most | Mean | Values
Keep = End | Reduction | Attribute | Call

#: The word for whole results.
WHOLE = "whole"


def itself(result: Any) -> Any:
    """Return a result as it is."""
    return result


def _one(expr: Any, what: str) -> Any:
    return from_dynamicsymbols(expression(expr, what))


@spelled
def first(expr: Any, *, direction: int = 0) -> First:
    """Keep when an expression first passes through zero, in a sweep.

    Parameters
    ----------
    expr : expression
        Of time, coordinates, velocities and parameters.
    direction : int
        1 to notice only passages upwards, −1 only downwards, 0 both.

    Examples
    --------
    >>> x = st.coordinates("x")
    >>> free = st.System(kinetic=x.dot**2 / 2)
    >>> runs = st.sweep(st.simulate, free, over={x.dot: [0.0, 1.0, 2.0]}, span=(0, 3),
    ...                 keep={"there": st.first(x - 2)})
    >>> runs["there"]
    array([nan,  2.,  1.])
    """
    if direction not in (-1, 0, 1):
        raise StatementError(
            "the direction of a crossing is 1 (upwards), −1 (downwards) or 0 (both).",
            f"Found {direction!r}.",
            "Choose one of them.",
        )
    return First(_one(expr, "what st.first looks for"), int(direction))


@spelled
def most(expr: Any) -> Most:
    """Keep the largest value that an expression takes along a run, in a sweep.

    It is that of the motion, between its output times, too.

    Examples
    --------
    >>> x = st.coordinates("x")
    >>> ball = st.System(kinetic=x.dot**2 / 2, potential=9.81 * x)
    >>> runs = st.sweep(st.simulate, ball, over={x.dot: [1.0, 2.0]}, span=(0, 1),
    ...                 keep={"top": st.most(x)})
    >>> runs["top"].round(9)
    array([0.0509684, 0.2038736])
    """
    return Most(_one(expr, "what st.most looks for"), 1)


@spelled
def least(expr: Any) -> Most:
    """Keep the smallest value that an expression takes along a run, in a sweep.

    Examples
    --------
    >>> x = st.coordinates("x")
    >>> free = st.System(kinetic=x.dot**2 / 2)
    >>> runs = st.sweep(st.simulate, free, over={x.dot: [1.0, 2.0]}, span=(0, 1),
    ...                 keep={"least": st.least((x - 1)**2)})
    >>> runs["least"].round(9) + 0.0
    array([0., 0.])
    """
    return Most(_one(expr, "what st.least looks for"), -1)


@spelled
def mean(expr: Any) -> Mean:
    """Keep the mean of an expression over time, in a sweep.

    Examples
    --------
    >>> x = st.coordinates("x")
    >>> free = st.System(kinetic=x.dot**2 / 2)
    >>> runs = st.sweep(st.simulate, free, over={x.dot: [1.0, 2.0]}, span=(0, 1),
    ...                 keep={"mean": st.mean(x**2)})
    >>> (3 * runs["mean"]).round(9)
    array([1., 4.])
    """
    return Mean(_one(expr, "what st.mean averages"))


@spelled
def values(expr: Any, *, at: Any) -> Values:
    """Keep the values of an expression, or of several, at given times, in a sweep.

    Times after the end of a run have no values.

    Parameters
    ----------
    expr : expression or tuple of expressions
    at : array of float
        Times inside the span.

    Examples
    --------
    >>> x = st.coordinates("x")
    >>> free = st.System(kinetic=x.dot**2 / 2)
    >>> runs = st.sweep(st.simulate, free, over={x.dot: [1.0, 2.0]}, span=(0, 1),
    ...                 keep={"way": st.values(x, at=[0.5, 1.0])})
    >>> runs["way"]
    array([[0.5, 1. ],
           [1. , 2. ]])
    """
    times = np.atleast_1d(numbers_of(at))
    if times.ndim != 1 or not len(times) or not np.all(np.isfinite(times)):
        raise StatementError(
            "the times at which values are kept are not times.",
            f"Found {str(at)[:60]}.",
            "Give a list of finite numbers, as in st.values(x, at=[1.0, 2.0]).",
        )
    ending = _kept("values", expr)
    if not isinstance(ending, End):
        raise StatementError(
            "only expressions have values at given times.",
            f"Found {type(expr).__name__}: {str(expr)[:60]}.",
            "Write st.values(x, at=[1.0, 2.0]).",
        )
    return Values(ending.what, tuple(times.tolist()))


def _kept(name: str, what: Any) -> Keep:
    if isinstance(what, (First, Most, Mean, Values, End, Attribute, Call)):
        return what
    if isinstance(what, Array):
        return End(what)
    if isinstance(what, str):
        return Call(itself) if what == WHOLE else Attribute(what)
    if isinstance(what, (tuple, list)):
        if not what:
            raise StatementError(
                f"keep '{name}' holds nothing.",
                "Found an empty tuple.",
                "Name one expression or more.",
            )
        return End(tuple(_one(e, f"keep '{name}'") for e in what))
    if isinstance(what, sp.Basic) or isinstance(what, (int, float)):
        return End(_one(what, f"keep '{name}'"))
    if callable(what):
        return Call(what)
    raise StatementError(
        f"keep '{name}' is nothing that can be kept.",
        f"Found {type(what).__name__}: {str(what)[:60]}.",
        "Give an expression or a tuple of them, st.first, st.most, st.least, st.mean or "
        "st.values of one, the name of an attribute, or a function of the result.",
    )


# Verbs that go through times.
_TIMED = ("simulate", "quasistatics")

#: What is kept of results that are one state, where nothing else is asked for.
_USUAL: dict[str, tuple[str, ...]] = {
    "statics": ("q", "energy", "stable"),
    "equilibria": ("count", "q"),
    "linearize": ("eigenvalues",),
    "modes": ("frequencies",),
    "minimum_power": ("v", "power"),
    "minimum_dissipation": ("v", "power"),
    "limit_load": ("factor",),
}


def as_keeps(keep: Any, verb: str, system: System) -> dict[str, Keep]:
    """Take what is kept as a user writes it."""
    if keep is None and verb in _USUAL:
        keeps: dict[str, Keep] = {}
        for word in _USUAL[verb]:
            if word in "qv":
                keeps |= {
                    c.name + ".dot" * (word == "v"): End(c if word == "q" else c.dot)
                    for c in system.coordinates
                }
            else:
                keeps[word] = Call(len) if word == "count" else Attribute(word)
        return keeps
    if keep == WHOLE:
        keep = {WHOLE: WHOLE}
    if not isinstance(keep, Mapping) or not keep:
        raise StatementError(
            "there is nothing to keep.",
            "Found no keep." if keep is None else f"Found {str(keep)[:60]}.",
            'Write keep={"end": x, "top": st.most(x), "there": st.first(x - 1)}, or '
            'keep="whole" for a few whole results.',
        )
    keeps = {}
    for name, what in keep.items():
        if not isinstance(name, str) or not name or "/" in name or name.startswith("."):
            raise StatementError(
                f"{name!r} is no name for what is kept.",
                "Expected text without '/', not beginning with '.'.",
                'Write keep={"end": x}.',
            )
        keeps[name] = _kept(name, what)
        # Of one state the mean is its value; along a branch there is none over time.
        timed = (First, Values, Mean) if verb == "continuation" else (First, Values)
        if isinstance(keeps[name], timed) and verb not in _TIMED:
            raise StatementError(
                f"keep '{name}' asks for times, and {verb} has none.",
                f"Expected {' or '.join(_TIMED)} where crossings, values or means are.",
                "Keep the expression itself, as keep={'x': x}, or a function of the result.",
            )
    return keeps


def refuse_unknown(keeps: Mapping[str, Keep], known: Mapping[str, Any]) -> None:
    """Refuse an expression of names that the statement does not have."""
    for name, keep in keeps.items():
        what = getattr(keep, "what", ())
        for e in what if isinstance(what, tuple) else (what,):
            for s in sorted(getattr(e, "free_symbols", ()), key=str):
                stem = str(s).removesuffix(".dot").removesuffix(".dot").removesuffix(".ddot")
                if stem.partition("[")[0] not in known and stem != "t" and "(" not in stem:
                    raise StatementError(
                        f"keep '{name}' uses '{s}', which is not a name of the statement.",
                        f"Names: {', '.join(known)}.{did_you_mean(str(s), known)}",
                        "Use coordinates, velocities, parameters and inputs of the system.",
                    )
