"""A chunk: consecutive runs that are computed together, and what came out."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from stationary.errors import StationaryError, say
from stationary.lower.engines import heyoka
from stationary.many import reduce
from stationary.many.keep import Keep
from stationary.many.question import Question
from stationary.result.status import Status

PENDING = Status("pending", "has not been computed yet")
DONE = Status("done", "as asked")


@dataclass
class Chunk:
    """What came out of the runs `first` to `last`, the last one not included.

    `codes` say for every run which of the statuses in `said` is its own.
    """

    first: int
    last: int
    kept: dict[str, np.ndarray]
    codes: np.ndarray
    said: list[Status]

    @property
    def status(self) -> list[Status]:
        """How every run went."""
        return [self.said[c] for c in self.codes.tolist()]

    def __len__(self) -> int:
        return self.last - self.first


def joined(parts: Sequence[Chunk]) -> Chunk:
    """Return consecutive chunks as one."""
    if len(parts) == 1:
        return parts[0]
    kept = {name: np.concatenate([part.kept[name] for part in parts]) for name in parts[0].kept}
    codes, said = [], []
    for part in parts:
        codes.append(part.codes + len(said))
        said += part.said
    return Chunk(parts[0].first, parts[-1].last, kept, np.concatenate(codes), said)


class Interrupted(Exception):
    """Raised where a run was stopped from the keyboard."""


# Words of answers that are as they were asked for, whatever the question.
_ANSWERED = frozenset(
    {"balanced", "moves", "sticks", "collapses", "unlimited"}
    | {"span", "closed", "points", "away", "upright"}
)


def one(question: Question, run: int) -> tuple[dict[str, Any] | None, Status]:
    """Ask once; return what is kept, or nothing, and how it went."""
    try:
        arguments = question.arguments(run)
        events = {}
        if question.verb == "simulate":
            events = reduce.watched(question.keeps)
            given = arguments.get("events", ())
            given = list(given) if isinstance(given, (list, tuple)) else [given]
            arguments["events"] = [*given, *events.values()]
        result = question.ask(question.system, **arguments)
        status = getattr(result, "status", None)
        if status == "interrupted":
            raise Interrupted
        noted = {}
        if events:
            times = result.events[len(result.events) - len(events) :]
            noted = dict(zip(events, times))
        kept = reduce.kept(result, question.keeps, noted)
        return kept, _ending(result)
    except (Interrupted, KeyboardInterrupt):
        raise Interrupted from None
    except StationaryError as error:
        word = getattr(error, "status", "") or _WORDS.get(type(error).__name__, "refused")
        return None, Status(str(word), str(error))
    except Exception as error:  # Whatever a run does, the others go on.
        return None, Status("error", _unforeseen(question, run, error))


def _ending(result: Any) -> Status:
    """Return how an answer, or the first of its parts that is not as asked, says it ended."""
    parts = getattr(result, "branches", [result])
    said = [s for part in parts if isinstance(s := getattr(part, "status", None), Status)]
    for status in said:
        if status not in _ANSWERED and status not in ("done", "event"):
            return Status(str(status), status.message)
    if len(said) != 1:
        return DONE
    word = "event" if said[0] == "event" else "done"
    return Status(word, said[0].message)


def _unforeseen(question: Question, run: int, error: Exception) -> str:
    """Tell of an error that is a library's, or that of a function of the user's."""
    some = itertools.islice(question.design.values(run), 4)
    values = ", ".join(f"{name} = {str(value)[:30]}" for name, value in some)
    return say(
        f"run {run} of {question.verb} ended with an error, at {values}.",
        f"Found {type(error).__name__}: {str(error).strip()[:200] or 'without words'}.",
        "Look whether its values, or what is kept, make sense; asked by itself it says where.",
    )


def completed(
    question: Question,
    first: int,
    kept: dict[str, np.ndarray],
    alone: np.ndarray,
    *said_together: Status,
    codes: np.ndarray | None = None,
) -> Chunk:
    """Return a chunk of runs computed together, after those `alone` were asked by themselves.

    Asked by itself a run is followed step by step, and says why if it fails. Of the others `codes`
    say which of the statuses is theirs; left out, the first.
    """
    said = list(said_together)
    codes = np.zeros(len(alone), dtype=int) if codes is None else codes
    for k in np.flatnonzero(alone):
        with heyoka.reproducible():
            values, status = one(question, first + int(k))
        said.append(status)
        codes[k] = len(said) - 1
        for name, rows in kept.items():
            rows[k] = np.nan if values is None else values[name]
    return Chunk(first, first + len(alone), kept, codes, said)


_WORDS = {"DidNotConverge": "not converged", "MissingExtra": "missing"}


def gathered(
    question: Question, first: int, outcomes: Sequence[tuple[dict[str, Any] | None, Status]]
) -> Chunk:
    """Put single outcomes into arrays; what failed is not a number."""
    kept = {
        name: stacked([o[0][name] if o[0] is not None else None for o in outcomes], keep)
        for name, keep in question.keeps.items()
    }
    known: dict[tuple[str, str], int] = {}
    codes = [known.setdefault((str(s), s.message), len(known)) for _, s in outcomes]
    said = [Status(*key) for key in known]
    return Chunk(first, first + len(outcomes), kept, np.array(codes, dtype=int), said)


def stacked(values: Sequence[Any], keep: Keep | None = None) -> np.ndarray:
    """Put values of several runs into one array; shorter ones are filled up, none is no number."""
    there = [v for v in values if v is not None]
    try:
        arrays = [None if v is None else _number(v) for v in values]
    except (TypeError, ValueError):
        objects = np.empty(len(values), dtype=object)
        objects[:] = [*values]
        return objects
    known = [a for a in arrays if a is not None]
    depth = max((a.ndim for a in known), default=0)
    shape = getattr(keep, "shape", None)
    if shape is None or there:
        lengths = [[*a.shape, *[0] * (depth - a.ndim)] for a in known]
        shape = tuple(np.max(lengths, axis=0)) if depth else ()
    kind = np.result_type(float, *(a.dtype for a in known))
    rows = np.full((len(values), *(int(n) for n in shape)), np.nan, dtype=kind)
    for k, a in enumerate(arrays):
        if a is not None:
            rows[(k, *(slice(0, n) for n in a.shape))] = a
    return rows


def _number(value: Any) -> np.ndarray:
    array = np.asarray(value)
    if array.dtype.kind not in "biufc":
        raise TypeError(array.dtype)
    return array.astype(complex if array.dtype.kind == "c" else float)
