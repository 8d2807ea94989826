"""What can go wrong, and how it is said.

Every message has three parts: what is wrong, in the user's own names; what was found and what was
expected; what to do.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from difflib import get_close_matches
from functools import wraps
from inspect import isclass, signature
from typing import Any, TypeVar


class StationaryError(Exception):
    """The root of every error raised by stationary.

    Examples
    --------
    >>> x = st.coordinates("x")
    >>> try:
    ...     st.simulate(st.System(kinetic=x.dot**2 / 2), span=(1, 0))
    ... except st.StationaryError as error:
    ...     print(error)
    span is reversed.
      Found (1, 0), expected a first time before a last one.
      Give them in order, as in span=(0, 10).
    """

    def __init__(self, *message: str):
        super().__init__(say(*message))

    def __reduce__(self) -> tuple:
        # By its message and what it carries, whatever else makes it.
        return type(self).__new__, (type(self), *self.args), self.__dict__


class StatementError(StationaryError, ValueError):
    """The statement of a system, or of a question about it, contradicts itself.

    Examples
    --------
    >>> x = st.coordinates("x")
    >>> try:
    ...     st.System(potential=x * x.dot)
    ... except st.StatementError as error:
    ...     print(error)
    the potential energy contains the velocity 'x.dot'.
      Found x*x.dot; expected an expression of coordinates and st.t.
      Put what depends on velocities into kinetic, dissipation or loads.
    """


class DerivationError(StationaryError, ValueError):
    """No equations of the requested kind follow from the statement.

    Examples
    --------
    >>> x = st.coordinates("x")
    >>> try:
    ...     st.simulate(st.System(potential=x**2), span=(0, 1))
    ... except st.DerivationError as error:
    ...     print(error)
    the mass matrix is singular: no kinetic energy involves the velocity of 'x'.
      Expected an inertia for each of the 1 coordinates.
      Give 'x' a mass, constrain it, or use quasistatics().
    """


class CompileError(StationaryError, RuntimeError):
    """An expression has no counterpart in the engine that should evaluate it.

    Examples
    --------
    >>> issubclass(st.CompileError, st.StationaryError), issubclass(st.CompileError, RuntimeError)
    (True, True)
    """


class MissingExtra(StationaryError, ImportError):
    """An optional package is needed and not installed.

    Examples
    --------
    >>> issubclass(st.MissingExtra, ImportError)
    True
    """


class DidNotConverge(StationaryError, RuntimeError):
    """A solver stopped before its goal; nothing that it found is lost.

    Attributes
    ----------
    status : str
        Why it stopped, in one word or two.
    solution : object
        What there is: the last good result, of the type that success would have returned.

    Examples
    --------
    >>> x = st.coordinates("x")
    >>> runaway = st.System(kinetic=x.dot**2 / 2, potential=-(x**4) / 4)
    >>> try:
    ...     st.simulate(runaway, span=(0, 10), start={x: 1.0})
    ... except st.DidNotConverge as error:
    ...     print(error.status, round(error.solution.t[-1], 5))
    blow-up 1.85407
    """

    def __init__(self, message: str, *, status: str = "", solution: Any = None):
        super().__init__(message)
        self.status = status
        self.solution = solution


class NoMotion(DidNotConverge):
    """No motion exists that satisfies the laws of friction and contact, or more than one does.

    Attributes
    ----------
    kind : str
        "accelerates": the loads give more than friction takes, along ``direction``; "jammed": the
        constraints contradict each other. With inertia "none" or "several": no mode of the contacts
        satisfies the laws, or each of ``names`` does.
    direction : ndarray or None
        Velocities along which it runs away, in the order of the coordinates.
    names : tuple of str
        The load that feeds it, the constraints that conflict, or the modes that are possible.

    Examples
    --------
    >>> x = st.coordinates("x")
    >>> try:
    ...     st.minimum_power(st.System(work=3 * x, friction=[st.Friction(2, on=x)]))
    ... except st.NoMotion as error:
    ...     print(error.kind, error.direction, error.names)
    accelerates [1.] ('the work',)
    """

    def __init__(
        self,
        message: str,
        *,
        kind: str,
        solution: Any = None,
        direction: Any = None,
        names: tuple[str, ...] = (),
    ):
        super().__init__(message, status=kind, solution=solution)
        self.kind = kind
        self.direction = direction
        self.names = names


def say(what: str, finding: str = "", remedy: str = "") -> str:
    """Compose a message from its three parts.

    Examples
    --------
    >>> print(say("span is empty.", "Found (3, 3).", "Give it a later end."))
    span is empty.
      Found (3, 3).
      Give it a later end.
    """
    return printable("\n  ".join(part for part in (what, finding, remedy) if part))


def printable(text: str) -> str:
    r"""Return text with control characters written out: a terminal obeys none of them.

    Examples
    --------
    >>> print(printable("\x1b[31mred"))
    \x1b[31mred
    """
    return "".join(
        c if c.isprintable() or c == "\n" else c.encode("unicode_escape").decode() for c in text
    )


def did_you_mean(name: str, choices: Iterable[str]) -> str:
    """Return ``" Did you mean 'theta1'?"`` for the nearest choice, or nothing.

    Examples
    --------
    >>> did_you_mean("theta2", ["theta1", "k"])
    " Did you mean 'theta1'?"
    """
    near = get_close_matches(name, list(choices), n=1, cutoff=0.5)
    return f" Did you mean '{near[0]}'?" if near else ""


def refuse_text(what: str, values: Iterable[object]) -> None:
    """Refuse text where an expression belongs: SymPy would run it as a program.

    Examples
    --------
    >>> refuse_text("the norm", (1, 2.5))
    """
    for value in values:
        if isinstance(value, (str, bytes)):
            raise StatementError(
                f"{what} is not an expression.",
                f"Found text: {str(value)[:60]!r}; expected an expression of coordinates, "
                "parameters, inputs and st.t.",
                "Build it from st.coordinates and st.parameters; text is not evaluated.",
            )


Callee = TypeVar("Callee", bound=Callable[..., Any])


def spelled(callee: Callee) -> Callee:
    """Let a function or a class say which of its arguments is unknown, missing or without a name.

    Examples
    --------
    >>> @spelled
    ... def drawn(system, *, points=11): ...
    >>> try:
    ...     drawn(1, point=5)
    ... except TypeError as error:
    ...     print(error)
    drawn has no argument 'point'.
      Arguments: system, points. Did you mean 'points'?
      Name one of these.
    """
    whole: Any = callee
    if not isclass(callee):
        return _spelled(whole, whole.__name__)  # pyright: ignore[reportReturnType]  # same calls
    # A class is found by its own name in every process: it stays itself.
    setattr(whole, "__init__", _spelled(whole.__init__, whole.__name__))
    return whole


def _spelled(function: Callable[..., Any], name: str) -> Callable[..., Any]:
    @wraps(function)
    def checked(*places: Any, **given: Any) -> Any:
        try:
            return function(*places, **given)
        except TypeError as error:
            words = _misspelled(function, name, places, given)
            if not words:
                raise
            raise TypeError(words) from error

    return checked


def _misspelled(function: Callable[..., Any], name: str, places: tuple, given: dict) -> str:
    """Say what is wrong with the arguments of a call; nothing if they fit."""
    known = signature(function).parameters
    if any(p.kind is p.VAR_KEYWORD for p in known.values()):
        return ""
    own = [key for key in known if key != "self"]
    listed = ", ".join(own)
    strange = [key for key in given if key not in own]
    if strange:
        near = did_you_mean(strange[0], own)
        return say(f"{name} has no argument '{strange[0]}'.", f"Arguments: {listed}.{near}",
                   "Name one of these.")  # fmt: skip
    unnamed = [p.name for p in known.values() if p.kind is not p.KEYWORD_ONLY]
    if len(places) > len(unnamed):
        fits = len(unnamed) - ("self" in unnamed)
        return say(f"{name} is given arguments without their names.",
                   f"Found {len(places) - ('self' in unnamed)}, expected {fits or 'none'}; "
                   f"arguments: {listed}.",
                   f"Write the others with their names, as in {own[min(fits, len(own) - 1)]}=….",
                   )  # fmt: skip
    missing = [p.name for p in known.values()
             if p.default is p.empty and p.name not in (*unnamed[: len(places)], *given)
             and p.kind is not p.VAR_POSITIONAL]  # fmt: skip
    if missing:
        return say(f"{name} is not given '{missing[0]}'.", f"Arguments: {listed}.",
                   f"Add {missing[0]}=….")  # fmt: skip
    return ""


def unknown(what: str, name: str, choices: Iterable[str]) -> str:
    """Compose the message for a name that is not among the known ones."""
    choices = list(choices)
    listed = ", ".join(choices[:20]) + (", …" if len(choices) > 20 else "")
    return say(
        f"{what} '{name}' is not known.",
        f"Known: {listed or 'none'}.",
        did_you_mean(name, choices).strip(),
    )
