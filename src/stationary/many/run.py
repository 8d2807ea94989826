"""Ask one question many times."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import numpy as np

from stationary.errors import DidNotConverge, StatementError, say, spelled
from stationary.many import crew
from stationary.many.chunk import Chunk, Interrupted, one, stacked
from stationary.many.design import as_design
from stationary.many.engines import compiled, cuda, fastest, why_alone
from stationary.many.fixed_steps import RK4
from stationary.many.keep import Values, as_keeps, refuse_unknown
from stationary.many.partial_runs import Gathering
from stationary.many.question import Question, as_question, as_verb, names_of
from stationary.many.reduce import require_inside
from stationary.many.runs import Runs
from stationary.many.store import Store, as_path, created, opened, require_storable
from stationary.model.system import System, require
from stationary.solve.arguments import times
from stationary.solve.progress import Begun, Progress, looking

# Chunks that a sweep is cut into where several compute them; runs of one that are moved together,
# at least, and runs of a chunk, at most.
_CHUNKS = 64
_FEWEST = 256
_LARGEST = {
    "plain": 256,
    "batches": 2048,
    "rests": 65536,
    "slides": 8192,
    "compiled": 4096,
    "cuda": 1 << 20,
}

_WHERE = ("auto", "cpu", "cuda", "dask")


@spelled
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
    array([[0.5095, 1.0189],
           [0.5348, 1.0696]])
    """
    require(system)
    name, design = as_verb(verb), as_design(over)
    keeps = as_keeps(keep, name, system)
    question = as_question(verb, system, design, keeps, given)
    refuse_unknown(keeps, names_of(system))
    refuse_shared(question)
    engine, crowd = _placed(question, on)
    size = _size(chunk, len(design), engine, spread=crowd is not crew.here)
    try:
        kept = None if store is None else _stored(question, store, engine, size)
    except (KeyboardInterrupt, Interrupted):
        return _answered(question, engine, lambda *_: (), size, None, throw)
    try:
        return _answered(question, engine, crowd, size, kept, throw)
    finally:
        if kept is not None:
            kept.close()


def _require_steps(question: Question, engine: str) -> None:
    """Refuse steps of a fixed length where no program can be written that takes them."""
    if isinstance(question.given.get("method"), RK4) and engine == "plain":
        raise StatementError(
            "steps of a fixed length cannot be taken here.",
            f"Found that {compiled.refuses(question)}.",
            'Leave method out, or write method="auto".',
        )


def _stored(question: Question, path: Any, engine: str, size: int) -> Store:
    """Return the store at a path; make it if there is none."""
    place = as_path(path)
    require_storable(question)
    there = opened(place, question, engine)
    if there is not None:
        return there
    return created(place, question, engine, size, _kinds(question))


def _shapes(question: Question) -> dict[str, tuple[int, ...]]:
    """Return the shapes of what is kept of a run, as far as they are known before it is asked."""
    if question.verb == "equilibria":
        return {}  # There are as many values as a run finds.
    return {name: k.shape for name, k in question.keeps.items() if k.shape is not None}


def _kinds(question: Question) -> dict[str, tuple[tuple[int, ...], Any]]:
    """Return shape and type of what is kept of a run; a run that succeeds tells, if need be."""
    kinds: dict[str, tuple[tuple[int, ...], Any]] = {
        name: (shape, np.dtype(float)) for name, shape in _shapes(question).items()
    }
    if len(kinds) == len(question.keeps):
        return kinds
    for run in range(len(question.design)):
        values, _ = one(question, run)
        # A run that finds no equilibrium does not tell what is kept of one.
        if values is not None and all(np.size(value) for value in values.values()):
            rows = {name: stacked([value]) for name, value in values.items() if name not in kinds}
            return kinds | {name: (r.shape[1:], r.dtype) for name, r in rows.items()}
    return kinds | {n: ((), np.dtype(float)) for n in question.keeps if n not in kinds}


def _answered(
    question: Question, engine: str, crowd: Any, size: int, store: Store | None, throw: bool
) -> Runs:
    design = question.design
    try:
        into = Gathering(question.verb, question.system.name or "", design, engine)
        for name, shape in _shapes(question).items():
            into.kept[name] = np.full((len(design), *shape), np.nan)
    except (MemoryError, ValueError) as error:
        raise StatementError(
            f"{len(design):,} runs do not fit into memory.",
            f"Found {' × '.join(str(n) for n in design.shape)} runs; {str(error)[:80]}.",
            "Vary less at a time, keep less, or spread fewer runs: st.samples(…, count=…).",
        ) from None
    size = size if store is None else store.chunk
    there = set()
    if store is not None:
        for chunk in store.there():
            into.add(chunk)
            there.add(chunk.first)
    todo = [(k, min(k + size, len(design))) for k in range(0, len(design), size) if k not in there]

    def runs() -> Runs:
        for name in question.keeps:
            into.kept.setdefault(name, np.full(len(design), np.nan))
        into.kept = {name: into.kept[name] for name in question.keeps}
        facts = {} if store is None else {"seed": design.seed, "versions": store.facts["versions"]}
        reason = why_alone(question) if engine == "plain" else ""
        facts |= {"one by one": reason} if reason else {}
        return into.runs(None if store is None else str(store.path), facts)

    if todo:
        _walk(into, question, crowd(question, engine, todo), store, throw, runs)
    return runs()


def _size(chunk: Any, count: int, engine: str, *, spread: bool) -> int:
    if chunk is None:
        largest = _LARGEST.get(engine, _LARGEST["plain"])
        least = 1 if engine == "plain" else _FEWEST
        return max(1, min(largest, max(least, -(-count // _CHUNKS)) if spread else count))
    if not isinstance(chunk, (int, np.integer)) or isinstance(chunk, bool) or chunk < 1:
        raise StatementError(
            "chunk is not a number of runs.",
            f"Found {chunk!r}, expected a whole number, 1 or more.",
            "Leave it out, or write chunk=1000.",
        )
    return int(chunk)


def _placed(question: Question, on: Any) -> tuple[str, Any]:
    """Return the engine, and who runs it."""
    if isinstance(on, str) and on in ("auto", "cpu"):
        name = fastest(question)
        _require_steps(question, name)
        return name, crew.measured if name == "plain" else crew.here
    if isinstance(on, str) and on == "cuda":
        cuda.require()
        reason = cuda.refuses(question)
        if reason is not None:
            raise StatementError(
                "a GPU cannot compute this sweep.",
                f"Found that {reason}.",
                'Leave `on` out: on="cpu" computes whatever the verb can.',
            )
        return "cuda", crew.here
    address = isinstance(on, str) and (on == "dask" or "://" in on)
    if not address and not hasattr(on, "submit"):
        raise StatementError(
            f"nothing computes on '{str(on)[:60]}'.",
            f"Expected one of {', '.join(_WHERE)}, a Dask client or the address of one.",
            'Write on="cpu".',
        )
    return fastest(question), lambda q, e, todo: crew.on_cluster(q, e, todo, on)


def _walk(
    into: Gathering,
    question: Question,
    chunks: Iterable[Chunk],
    store: Store | None,
    throw: bool,
    runs: Callable[[], Runs],
) -> None:
    """Gather chunks as they come; the keyboard ends it, what there is stays."""
    progress = Progress(f"{question.verb} {question.system.name or ''}".strip())
    began, before = time.monotonic(), into.done
    coming = iter(chunks)
    try:
        with progress.alone():
            for chunk in coming:
                if store is not None:
                    store.write(chunk)
                into.add(chunk)
                rate = (into.done - before) / max(time.monotonic() - began, 1e-9)
                progress.show(into.done / into.count, f"{rate:,.3g} runs/s")
                if throw:
                    _refuse_failures(question, chunk, runs)
    except (KeyboardInterrupt, Interrupted):
        pass
    except DidNotConverge as error:
        error.solution = error.solution or runs()
        raise
    finally:
        close = getattr(coming, "close", None)
        if close is not None:
            close()
        progress.close()


def _refuse_failures(question: Question, chunk: Chunk, runs: Callable[[], Runs]) -> None:
    bad = [c for c, status in enumerate(chunk.said) if status not in ("done", "event")]
    for i in np.flatnonzero(np.isin(chunk.codes, bad))[:1]:
        status, run = chunk.said[chunk.codes[i]], chunk.first + int(i)
        values = question.design.values(run)
        where = ", ".join(f"{name} = {str(value)[:30]}" for name, value in values)
        raise DidNotConverge(
            say(
                f"run {run} fails: {status}, at {where}.",
                status.message,
                "What there is, is error.solution; leave out throw, and the others go on.",
            ),
            status=str(status),
            solution=runs(),
        )


# -- what all runs share ---------------------------------------------------------------------------

# Runs, spread over all, that must be refused alike.
_RUNS = 8

# Arguments that a statement may need, and those without which another question is asked.
_VALUES = frozenset({"params", "inputs"})
_PLACES = frozenset({"start", "at", "within", "guess", "repair"}) | _VALUES


def refuse_shared(question: Question) -> None:
    """Raise what the verb itself says to what all runs share, if that is why it refuses them."""
    _require_times(question)
    if isinstance(question.given.get("method"), RK4):
        # Known to engines of many motions alone.
        return
    last = len(question.design) - 1
    said = None
    for run in np.unique(np.linspace(0, last, _RUNS).astype(int)).tolist():
        refusal = _refusal(question, question.arguments(run))
        if refusal is None or said is not None and str(refusal) != str(said):
            return
        said = said or refusal
    assert said is not None
    shared = _refusal(question, question.given)
    if shared is not None and str(shared) == str(said):
        raise said
    for name, fewer in _fewer(question):
        without = _refusal(question, fewer)
        if without is None:
            raise said
        missing = name in _PLACES or isinstance(without, TypeError)
        if not missing and str(without) != str(said):
            raise said


def _require_times(question: Question) -> None:
    """Refuse values that are kept at times which no run comes to."""
    values = [keep for keep in question.keeps.values() if isinstance(keep, Values)]
    if values and question.verb in ("simulate", "quasistatics") and "span" in question.given:
        for keep in values:
            require_inside(keep, *times(question.given["span"]))


def _fewer(question: Question) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the arguments of the first run without one that is shared, and which that is."""
    first = question.arguments(0)
    for name, value in question.given.items():
        if name in _VALUES and isinstance(value, Mapping):
            for key in value:
                own = {k: v for k, v in value.items() if k is not key}
                yield name, question.with_given(question.given | {name: own}).arguments(0)
        elif name not in _VALUES:
            yield name, {key: value for key, value in first.items() if key != name}


def _refusal(question: Question, arguments: dict[str, Any]) -> Exception | None:
    """Return the error with which the verb refuses arguments, if it does."""
    try:
        with looking():
            question.ask(question.system, **arguments)
    except (Begun, DidNotConverge):
        return None
    except Exception as error:
        return error
    return None
