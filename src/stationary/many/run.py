"""Ask one question many times."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from stationary.errors import DidNotConverge, StatementError, say
from stationary.many import crew
from stationary.many.chunk import PENDING, Chunk, Failed, Interrupted
from stationary.many.design import as_design
from stationary.many.engines import fastest
from stationary.many.keep import as_keeps, refuse_unknown
from stationary.many.question import Question, as_question, as_verb, names_of
from stationary.many.runs import Runs
from stationary.model.system import System, require
from stationary.result.status import Status
from stationary.solve.progress import Progress

# Chunks that a sweep is cut into, and runs of a chunk, at most.
_CHUNKS = 64
_LARGEST = 256

_WHERE = ("auto", "cpu", "cuda", "dask")


def sweep(
    verb: Any,
    system: System,
    *,
    over: Any,
    keep: Any = None,
    store: Any = None,
    on: Any = "auto",
    chunk: int | None = None,
    throw: bool = False,
    **given: Any,
) -> Runs:
    """Ask one question many times: over starts, parameters, inputs, spans, any argument.

    Parameters
    ----------
    verb : function
        `simulate`, `statics`, `equilibria`, `linearize`, `modes`, `minimum_power`,
        `minimum_dissipation`, `quasistatics`, `limit_load`, `continuation` or `newton`.
    system : System
    over : dict, list of dicts or Design
        What varies: ``{name: values}``, one entry for each axis of a grid; a tuple of names with as
        many lists, ``{(a, b): (values of a, values of b)}``, varies them together; a list of dicts
        states run by run; or `samples`. Names are those of parameters, inputs, coordinates and
        velocities, or of arguments of the verb, as ``"span"``. An input's values may be numbers,
        expressions or samples.
    keep : dict
        What is kept of every run, by name: an expression or a tuple of expressions (its value at
        the end), `first`, `most`, `least`, `mean` or `values` of one, the name of an attribute of
        the result, or a function of it; ``"whole"`` keeps whole results. Left out, the state is
        kept of verbs that return one.
    store : str, optional
        Where everything is written as it is computed, as ``"runs.zarr"``. The same call goes on
        where another one stopped; `open` reads it.
    on : str or Dask client
        ``"auto"``, ``"cpu"``, ``"cuda"`` (a GPU), ``"dask"`` (all cores, through Dask), a Dask
        client, or the address of a scheduler.
    chunk : int, optional
        Number of runs that are computed, and stored, together.
    throw : bool
        Whether the first run that fails ends the sweep. Otherwise it is not a number, and
        ``runs.status`` says why.
    given
        The arguments of the verb that all runs share.

    Returns
    -------
    Runs

    Examples
    --------
    >>> theta, (l, g) = st.coordinates("theta"), st.parameters(l=1.0, g=9.81)
    >>> pendulum = st.System(
    ...     kinetic=l**2 * theta.dot**2 / 2, potential=-g * l * st.cos(theta)
    ... )
    >>> runs = st.sweep(st.simulate, pendulum, over={theta: [0.5, 1.0], l: [1.0, 4.0]},
    ...                 span=(0, 3), keep={"down": st.first(theta)})
    >>> runs["down"].round(4)
    array([[0.5094, 1.0188],
           [0.5348, 1.0696]])
    """
    require(system)
    name, design = as_verb(verb), as_design(over)
    keeps = as_keeps(keep, name, system)
    question = as_question(verb, system, design, keeps, given)
    refuse_unknown(keeps, names_of(system))
    engine, crowd = _placed(question, on)
    size = _size(chunk, len(design))
    todo = [(k, min(k + size, len(design))) for k in range(0, len(design), size)]
    runs = _Gathering(question, engine)
    _walk(runs, crowd(question, engine, todo), throw)
    return runs.runs()


def _size(chunk: Any, count: int) -> int:
    if chunk is None:
        return max(1, min(_LARGEST, -(-count // _CHUNKS)))
    if not isinstance(chunk, (int, np.integer)) or isinstance(chunk, bool) or chunk < 1:
        raise StatementError(
            say(
                "chunk is not a number of runs.",
                f"Found {chunk!r}, expected a whole number, 1 or more.",
                "Leave it out, or write chunk=1000.",
            )
        )
    return int(chunk)


def _placed(question: Question, on: Any) -> tuple[str, Any]:
    """Return the engine, and who runs it."""
    if isinstance(on, str) and on in ("auto", "cpu"):
        return fastest(question), crew.measured
    if isinstance(on, str) and on != "dask" and "://" not in on:
        raise StatementError(
            say(
                f"nothing computes on '{on[:60]}'.",
                f"Expected one of {', '.join(_WHERE)}, a Dask client or the address of one.",
                'Write on="cpu".',
            )
        )
    return fastest(question), lambda q, e, todo: crew.on_cluster(q, e, todo, on)


class _Gathering:
    """What there is of a sweep, while it grows."""

    def __init__(self, question: Question, engine: str):
        self.question, self.engine = question, engine
        self.count = len(question.design)
        self.kept: dict[str, np.ndarray] = {}
        self.words = np.zeros(self.count, dtype=np.int32)
        self.said: dict[tuple[str, str], int] = {(str(PENDING), PENDING.message): 0}
        self.done = 0

    def add(self, chunk: Chunk) -> None:
        """Put in what came out of some runs."""
        for name, rows in chunk.kept.items():
            self.kept[name] = _wider(self.kept.get(name), rows, self.count)
            where = (slice(chunk.first, chunk.last), *(slice(0, n) for n in rows.shape[1:]))
            self.kept[name][where] = rows
        self.words[chunk.first : chunk.last] = [
            self.said.setdefault((str(s), s.message), len(self.said)) for s in chunk.status
        ]
        self.done += len(chunk)

    def runs(self) -> Runs:
        """Return it as it is."""
        for name, keep in self.question.keeps.items():
            if name not in self.kept:
                shape = keep.shape or ()
                self.kept[name] = np.full((self.count, *shape), np.nan)
        return Runs(
            verb=self.question.verb,
            name=self.question.system.name or "",
            design=self.question.design,
            kept={name: self.kept[name] for name in self.question.keeps},
            words=self.words,
            said=tuple(Status(*key) for key in self.said),
            engine=self.engine,
        )


def _wider(old: np.ndarray | None, rows: np.ndarray, count: int) -> np.ndarray:
    """Return room for all runs in which old and new ones fit."""
    if rows.dtype == object or (old is not None and old.dtype == object):
        made = np.empty(count, dtype=object)
        if old is not None:
            made[:] = list(old)
        return made if old is None or old.dtype != object else old
    if old is None:
        return np.full((count, *rows.shape[1:]), np.nan, dtype=rows.dtype)
    depth = max(old.ndim, rows.ndim)
    shapes = [(*a.shape[1:], *[1] * (depth - a.ndim)) for a in (old, rows)]
    shape = tuple(int(n) for n in np.max(shapes, axis=0)) if depth > 1 else ()
    kind = np.result_type(old.dtype, rows.dtype)
    if old.shape[1:] == shape and old.dtype == kind:
        return old
    made = np.full((count, *shape), np.nan, dtype=kind)
    if old.ndim == depth:
        made[tuple(slice(0, n) for n in old.shape)] = old
    return made


def _walk(into: _Gathering, chunks: Iterable[Chunk], throw: bool) -> None:
    """Gather chunks as they come; the keyboard ends it, what there is stays."""
    question = into.question
    progress = Progress(f"{question.verb} {question.system.name or ''}".strip())
    began, before = time.monotonic(), into.done
    coming = iter(chunks)
    try:
        with progress.alone():
            for chunk in coming:
                into.add(chunk)
                rate = (into.done - before) / max(time.monotonic() - began, 1e-9)
                progress.show(into.done / into.count, f"{rate:,.3g} runs/s")
                if throw:
                    _refuse_failures(into, chunk)
    except (KeyboardInterrupt, Interrupted):
        pass
    finally:
        if isinstance(coming, Iterator) and hasattr(coming, "close"):
            coming.close()  # pyright: ignore[reportAttributeAccessIssue]
        progress.close()


def _refuse_failures(into: _Gathering, chunk: Chunk) -> None:
    for i, status in enumerate(chunk.status):
        if status not in ("done", "event"):
            run = chunk.first + i
            values = into.question.design.values(run)
            where = ", ".join(f"{name} = {str(value)[:30]}" for name, value in values)
            raise DidNotConverge(
                say(
                    f"run {run} fails: {status}, at {where}.",
                    status.message,
                    "What there is, is error.solution; throw=False goes on past failures.",
                ),
                status=str(status),
                solution=into.runs(),
            ) from None


__all__ = ["Failed", "sweep"]
