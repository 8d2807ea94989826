"""What can go wrong, and how it is said.

Every message has three parts: what is wrong, in the user's own names; what was found and what was
expected; what to do.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from difflib import get_close_matches
from functools import wraps
from inspect import Parameter, isclass, isfunction, signature, unwrap
from os import PathLike
from sys import maxsize
from threading import local
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

    Attributes
    ----------
    status : str
        "missing" where a file is not there or may not be touched, "typed" where a command line is
        wrong; else empty.

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

    status: str = ""


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
      Give 'x' a mass, constrain it, or use quasistatics(); x.diff(st.t) is zero, x.dot is not.
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


def of_a_file(error: OSError) -> str:
    """Say what the machine says about a file, in three parts.

    Examples
    --------
    >>> print(of_a_file(FileNotFoundError(2, "No such file or directory", "here/run.nc")))
    'here/run.nc' cannot be written or read.
      Found: No such file or directory.
      Name a file in a folder that exists and where you may write.
    """
    return say(
        f"'{error.filename}' cannot be written or read." if error.filename else "a file is wrong.",
        f"Found: {error.strerror or error}.",
        "Name a file in a folder that exists and where you may write.",
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


Callee = TypeVar("Callee", bound=Callable[..., Any])


def spelled(callee: Callee) -> Callee:
    """Let a function or a class say what is wrong with a call, whatever it fails on.

    An argument that is unknown, missing or without a name is a TypeError. A value that nobody has
    foreseen ends in the words of some library: the call that the user made tells it instead.

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
    # A class is found by its own name in every process: it stays itself. What it inherits is told
    # by its own name, too.
    ours = [base for base in whole.__mro__ if base.__module__.startswith("stationary.")]
    members = {name: member for base in reversed(ours) for name, member in vars(base).items()}
    for name, member in members.items():
        if isfunction(member) and (name in ("__init__", "__call__") or not name.startswith("_")):
            words = whole.__name__ if name == "__init__" else f"{whole.__name__}.{name}"
            setattr(whole, name, _spelled(getattr(member, "plain", member), words))
    return whole


def _spelled(function: Callable[..., Any], name: str) -> Callable[..., Any]:
    # What one word means in every question is asked before anything else is; results hold other
    # things under such names. A signature would tell these, and takes long to make.
    code: Any = getattr(unwrap(function), "__code__")
    names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    meant = [(word, k if k < code.co_argcount else maxsize)
             for k, word in enumerate(names) if word in _MEANING
             and (word in ("name", "table", "kind")
                  or function.__name__ != "__init__")]  # fmt: skip

    @wraps(function)
    def checked(*places: Any, **given: Any) -> Any:
        outermost, _door.passed = not _door.passed, True
        try:
            for argument, place in meant if outermost else ():
                value = places[place] if place < len(places) else given.get(argument)
                if value is not None:
                    _require(argument, value)
            return function(*places, **given)
        except StationaryError:
            raise
        except OSError as error:
            # What has no name is no file: what a function of the user's waited for.
            if not outermost or not error.filename:
                raise
            unreadable = StatementError(of_a_file(error))
            unreadable.status = "missing"  # what the command line ends with
            raise unreadable from error
        except _UNFORESEEN as error:
            if getattr(error, _WORDED, False):
                raise
            words = _misspelled(function, name, places, given) if type(error) is TypeError else ""
            if words:
                refused = TypeError(words)
                setattr(refused, _WORDED, True)
                raise refused from error
            if not outermost:
                raise
            raise StatementError(*_unforeseen(function, name, places, given)) from error
        finally:
            _door.passed = not outermost

    setattr(checked, "plain", function)
    return checked


# Arguments that take the state of a result.
_STATES = ("start", "at")


def no_dictionary(argument: str, value: Any) -> tuple[str, str, str] | None:
    """Say what is wrong with what should give values to names."""
    if hasattr(value, "items"):
        return _twice(argument, value)
    shown, over_time = str(value).partition("\n")[0][:60], hasattr(value, "t")
    return (
        f"{argument} does not say which value is whose.",
        f"Found {type(value).__name__}: {shown}; expected a dictionary.",
        "Give one instant of it, as in motion.at(1.0)."
        if over_time and argument in _STATES
        else "Give symbols or names with their values, as in "
        f"{argument}={{'x': {'(-1.0, 1.0)' if argument == 'within' else '1.0'}}}.",
    )


def _twice(argument: str, value: Any) -> tuple[str, str, str] | None:
    """Say which name a dictionary gives two values: a symbol and its name are one key."""
    if not isinstance(value, dict):
        return None
    keys: dict[str, Any] = {}
    for key in value:
        name = key.name if getattr(key, "is_Symbol", False) else key
        if isinstance(name, str) and keys.setdefault(name, key) is not key:
            return (
                f"{argument} gives '{name}' twice.",
                f"Found {str(value[keys[name]])[:40]} and {str(value[key])[:40]}: a symbol and its "
                "name are one key.",
                "Leave one of them out.",
            )
    return None


def _table(argument: str, value: Any) -> tuple[str, str, str] | None:
    if type(value).__name__ == "Table":
        return None
    return (
        "the table of a term is none.",
        f"Found {_short(value)}.",
        "Leave it out: st.each(…) repeats a term over a table.",
    )


def _positive(argument: str, value: Any) -> tuple[str, str, str] | None:
    try:
        fits = 0 < float(value) < float("inf")
    except (TypeError, ValueError, OverflowError):
        fits = False
    words = f"{argument} is not a positive number.", f"Found {_short(value)}.", "Give one, as 25."
    return None if fits else words


def _text(argument: str, value: Any) -> tuple[str, str, str] | None:
    if isinstance(value, str):
        return None
    return (
        f"the {argument} is not text.",
        f"Found {_short(value)}.",
        "Write it in quotes.",
    )


def _path(argument: str, value: Any) -> tuple[str, str, str] | None:
    if isinstance(value, (str, PathLike)) and str(value):
        return None
    return (
        "the path is not the name of a file.",
        f"Found {_short(value)}.",
        f"Write it in quotes, as in {argument}='result.html'.",
    )


def _truth(argument: str, value: Any) -> tuple[str, str, str] | None:
    if type(value).__name__ in ("bool", "bool_", "int"):
        return None
    return (
        f"{argument} is neither true nor false.",
        f"Found {_short(value)}.",
        f"Write {argument}=True or {argument}=False.",
    )


# Words that mean the same in every call, and what is wrong with a value of theirs.
_MEANING: dict[str, Callable[[str, Any], tuple[str, str, str] | None]] = {
    "path": _path, "fps": _positive, "table": _table,
    **dict.fromkeys(("params", "inputs", "show", "sliders", "changes"), no_dictionary),
    **dict.fromkeys(("start", "within", "at"), _twice),
    **dict.fromkeys(("name", "question", "view", "principle", "text", "kind"), _text),
    **dict.fromkeys(("throw", "repair", "paused", "refuse"), _truth),
}  # fmt: skip


def _require(argument: str, value: Any) -> None:
    wrong = _MEANING[argument](argument, value)
    if wrong is not None:
        raise StatementError(*wrong)


# What a TypeError bears whose words say already what is wrong with a call inside this one.
_WORDED = "_worded"


class _Door(local):
    """Whether a call of the user's is under way in this thread: what it calls is not the user's."""

    passed = False


_door = _Door()


# What Python, NumPy and SymPy raise at values that they cannot use.
_UNFORESEEN = (TypeError, ValueError, AttributeError, LookupError, ArithmeticError,
               NotImplementedError, RecursionError)  # fmt: skip


def _unforeseen(
    function: Callable[..., Any], name: str, places: tuple, given: dict
) -> tuple[str, str, str]:
    """Say what a call was given that ended where no message of ours stands."""
    bound = signature(function).bind(*places, **given).arguments
    values = (f"{key} = {_short(value)}" for key, value in bound.items() if key != "self")
    return (
        f"{name} cannot use what it is given.",
        f"Found {', '.join(values) or 'nothing'}.",
        "Its documentation, by help(), says what fits. If this does, it is a defect of stationary: "
        "report it, with all that stands above.",
    )


def _short(value: Any) -> str:
    """Write what says itself in few words; of anything else its type."""
    plain = value is None or isinstance(value, (str, bytes, bool, int, float, complex, tuple, list))
    if plain or hasattr(value, "free_symbols"):
        text = repr(value)
        return text if len(text) <= 60 else text[:59] + "…"
    kind = type(value).__name__
    return f"the class {value.__name__}" if isclass(value) else f"a value of type {kind}"


def _misspelled(function: Callable[..., Any], name: str, places: tuple, given: dict) -> str:
    """Say what is wrong with the arguments of a call; nothing if they fit."""
    known = signature(function).parameters
    any_name = any(p.kind is p.VAR_KEYWORD for p in known.values())
    own = [key for key, p in known.items() if key != "self" and p.kind is not p.VAR_KEYWORD]
    listed = ", ".join(own)
    strange = [] if any_name else [key for key in given if key not in own]
    if strange:
        near = did_you_mean(strange[0], own)
        return say(f"{name} has no argument '{strange[0]}'.", f"Arguments: {listed}.{near}",
                   "Name one of these.")  # fmt: skip
    kinds = (Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD)
    unnamed = [p.name for p in known.values() if p.kind in kinds]
    several = any(p.kind is p.VAR_POSITIONAL for p in known.values())
    if not several and len(places) > len(unnamed):
        if unnamed == ["names"] and all(isinstance(text, str) for text in places):
            return say(f"{name} takes all names in one text.", f"Found {len(places)} texts.",
                       f"Write st.{name}({' '.join(places)[:60]!r}).")  # fmt: skip
        fits = len(unnamed) - ("self" in unnamed)
        return say(f"{name} is given arguments without their names.",
                   f"Found {len(places) - ('self' in unnamed)}, expected {fits or 'none'}; "
                   f"arguments: {listed or 'none'}.",
                   f"Write the others with their names, as in {own[min(fits, len(own) - 1)]}=…."
                   if own else "Leave them out.")  # fmt: skip
    missing = [p.name for p in known.values()
             if p.default is p.empty and p.name not in (*unnamed[: len(places)], *given)
             and p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)]  # fmt: skip
    if missing:
        return say(f"{name} is not given '{missing[0]}'.", f"Arguments: {listed}.",
                   f"Add {missing[0]}=….")  # fmt: skip
    return ""


def unknown(what: str, name: str, choices: Iterable[str]) -> str:
    """Compose the message for a name that is not among the known ones."""
    name, choices = str(name)[:60], list(choices)
    listed = ", ".join(choices[:20]) + (", …" if len(choices) > 20 else "")
    advice = did_you_mean(name, choices).strip()
    return say(
        f"{what} '{name}' is not known.",
        f"Known: {listed or 'none'}.",
        advice or ("Use one of these." if choices else "Leave it out."),
    )
