"""The program of one trajectory, compiled by the system's C compiler, on all cores.

One thread follows one motion. What is the same in all runs is written into the text as numbers, so
that the compiler folds it; states that nothing depends on are left out where nobody asks for them.
Inside a step, crossings and extremes are located by taking a part of that step again, so that they
are as exact as the steps themselves.
"""

from __future__ import annotations

import ctypes
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import casadi as ca
import numpy as np

from stationary.errors import StationaryError
from stationary.lower.engines import c
from stationary.lower.inputs import SLOTS
from stationary.many.chunk import Chunk, completed
from stationary.many.cores import cores
from stationary.many.fixed_steps import RK4
from stationary.many.keep import End, First, Keep, Mean, Most, Values
from stationary.many.motions import Motions, Refused, expressions, motions_of, rough_mean
from stationary.many.question import Question
from stationary.many.text import Reduction, Sizes, signature, text
from stationary.result.status import Status
from stationary.solve.integrators import Runge

#: What a trajectory says of its end.
DONE, EVENT, LOST, LONG = range(4)


@dataclass(frozen=True, eq=False)
class Program:
    """The text, and how its arrays are read.

    Attributes
    ----------
    text : str
    states : ndarray of int
        Which entries of y it integrates; sums for means come after them.
    varied : ndarray of int
        Which entries of p it takes.
    means, outputs : int
    columns : dict
        For everything kept the first of its outputs.
    """

    text: str
    states: np.ndarray
    varied: np.ndarray
    means: int
    outputs: int
    columns: dict[str, int]
    single: bool

    @property
    def kind(self) -> type:
        """The type of its numbers."""
        return np.float32 if self.single else np.float64


def program(motions: Motions, *, fixed: bool, single: bool = False) -> Program:
    """Write the program of a sweep, with steps of a fixed length or adaptive ones."""
    kernel, question = motions.kernel, motions.question
    t, y, p = kernel.arguments
    slots = _sampled(motions)
    varied = np.unique(
        np.concatenate(
            [np.ravel(places) for where, places in motions.places.values() if where == "p"]
            + [[len(motions.values) - 1] if kernel.rows else []]
            + [np.arange(slot, slot + SLOTS["samples"]) for slot in slots]
        ).astype(int)
    )
    symbols = ca.SX.sym("pv", len(varied))  # pyright: ignore[reportArgumentType]
    values = ca.SX(motions.values)
    for k, place in enumerate(varied):
        values[int(place)] = symbols[k]

    kept, means, watched, columns, outputs = [], [], [], {}, 0
    reductions: list[Reduction] = []
    for name, keep in question.keeps.items():
        assert isinstance(keep, (End, First, Most, Mean, Values))
        columns[name] = outputs
        lowered = [motions.lowered(e) for e in expressions(keep.what)]
        if isinstance(keep, End):
            reductions.append(Reduction("end", outputs, len(kept), len(lowered)))
            kept += lowered
        elif isinstance(keep, Values):
            for k, at in enumerate(keep.at):
                place = outputs + k * len(lowered)
                reductions.append(Reduction("value", place, len(kept), len(lowered), at=at))
            kept += lowered
            outputs += (len(keep.at) - 1) * len(lowered)
        elif isinstance(keep, Mean):
            reductions.append(Reduction("mean", outputs, len(means), 1))
            means += lowered
        elif isinstance(keep, First):
            reductions.append(Reduction("first", outputs, len(watched), 1, sign=keep.direction))
            watched += lowered
        else:
            reductions.append(Reduction("most", outputs, len(watched), 1, sign=keep.sign))
            watched += lowered
        outputs += len(lowered)
    changes: list[list[tuple[int, int]]] = []
    jumps: list[Any] = []
    for event in motions.events:
        changed = [] if event.terminal else motions.jumps(event)
        changes.append([(place, len(jumps) + k) for k, (place, _) in enumerate(changed)])
        jumps += [value for _, value in changed]
    first_event = len(reductions)
    for event in motions.events:
        word = "stop" if event.terminal else "act"
        reductions.append(Reduction(word, 0, len(watched), 1, sign=event.direction))
        watched.append(motions.lowered(event.expr))
    for guard in ca.vertsplit(motions.guards):
        reductions.append(Reduction("guard", 0, len(watched), 1))
        watched.append(guard)

    rates = kernel.rhs(t, y, p)
    every = [*kept, *means, *watched, *jumps, motions.masses]
    wanted = ca.vertcat(*every) if every else ca.SX(0, 1)
    states = _needed(rates, wanted, y) if fixed else np.arange(kernel.states)
    few = ca.SX.sym("ys", len(states))  # pyright: ignore[reportArgumentType]
    whole = ca.SX.zeros(kernel.states)
    for k, place in enumerate(states):
        whole[int(place)] = few[k]
    local = {int(place): k for k, place in enumerate(states)}
    for k, changed in enumerate(changes):
        targets = tuple((local[place], of) for place, of in changed if place in local)
        reductions[first_event + k] = replace(reductions[first_event + k], targets=targets)

    def reduced(e: Any) -> Any:
        column = (ca.vertcat(*e) if e else ca.SX(0, 1)) if isinstance(e, list) else e
        return ca.substitute(ca.densify(column), ca.vertcat(y, p), ca.vertcat(whole, values))

    moved, looks = reduced(rates)[states.tolist()], reduced(watched)
    late, slopes = ca.jacobian(looks, t), ca.jacobian(looks, few)
    speeds = slopes @ moved + late
    large = ca.fabs(slopes) @ ca.fabs(few) + ca.fabs(late * t)
    whole_speeds = ca.fabs(slopes) @ ca.fabs(moved) + ca.fabs(late)
    outputs_of: dict[str, list[Any]] = {
        "rates": [ca.vertcat(moved, reduced(means))],
        "kept": [reduced(kept)],
        "watch": [looks, speeds],
    }
    if any(r.word in ("first", "stop", "act") for r in reductions):
        outputs_of["rough"] = [large, whole_speeds]
    outputs_of["masses"] = [reduced(motions.masses)]
    if jumps:
        outputs_of["jumps"] = [reduced(jumps)]
    if not fixed:
        energies = kernel.graph.energies(*kernel.inner)
        work = y[kernel.states - 1] if kernel.graph.fed else ca.SX(0)
        outputs_of["energies"] = [reduced(ca.vertcat(energies[0], energies[1], energies[2], work))]
        if kernel.rows:
            outputs_of["held"] = [reduced(e) for e in motions.constraints()]
    options = {"cse": True}
    functions = {
        name: ca.Function(name, [t, few, symbols], [ca.densify(e) for e in outs], options)
        for name, outs in outputs_of.items()
    }
    sizes = Sizes(
        states=len(states), means=len(means), moving=2 * kernel.size, varied=len(varied),
        rows=len(kernel.rows), slots=tuple(int(np.searchsorted(varied, s)) for s in slots),
    )  # fmt: skip
    source = text(functions, sizes, reductions, fixed=fixed, single=single)
    return Program(source, states, varied, len(means), outputs, columns, single)


def _sampled(motions: Motions) -> list[int]:
    """Return where, in p, what is known of sampled inputs begins."""
    places, place = [], motions.kernel.parameters
    for kind, _ in motions.kernel.signature:
        if kind == "samples":
            places.append(place)
        place += SLOTS[kind]
    return places


def _needed(rates: Any, wanted: Any, y: Any) -> np.ndarray:
    """Return the states on which depends what is asked for, directly or through others."""
    J = ca.DM(ca.jacobian_sparsity(rates, y) if hasattr(ca, "jacobian_sparsity")
              else ca.jacobian(rates, y).sparsity()).full() != 0  # fmt: skip
    need = (ca.DM(ca.jacobian(wanted, y).sparsity()).full() != 0).any(axis=0)
    while True:
        more = need | J[need].any(axis=0)
        if (more == need).all():
            return np.flatnonzero(need) if need.any() else np.array([0])
        need = more


# -- compiled --------------------------------------------------------------------------------------

# A motion that takes more steps is asked by itself.
MOST_STEPS = 1_000_000

# Fewer runs are asked one by one; longer equations take too long to compile.
_FEWEST, _LONGEST = 256, 3000

# Tolerances where none are asked for: those of simulate, whose series work to rounding, are wider.
_RTOL, _ATOL = 1e-12, 1e-14

_DONE = Status("done", "reached the end of the span")
_EVENT = Status("event", "stopped at a terminal event")

_OPTIONS = ("-std=c99", "-O3", "-shared", "-fPIC", "-w")


def refuses(question: Question) -> str | None:
    """Take smooth motions, where there is a compiler, if they are many or steps are fixed."""
    if not c.available():
        return "there is no C compiler"
    if isinstance(question.given.get("method", "auto"), RK4):
        return refuses_program(question)
    if len(question.design) < _FEWEST:
        return "there are few runs"
    reason = refuses_program(question)
    motions = motions_of(question)
    if reason is not None or isinstance(motions, str):
        return reason
    if motions.kernel.rhs.n_instructions() > min(_LONGEST, len(question.design)):
        return "the equations are too long to be compiled for so few runs"
    return None


def refuses_program(question: Question) -> str | None:
    """Tell why a question cannot be written as a program, if so."""
    method = question.given.get("method", "auto")
    if method != "auto" and not isinstance(method, (RK4, Runge)):
        return f"the method {type(method).__name__} is not written as a program"
    motions = motions_of(question)
    if isinstance(motions, str):
        return motions
    too_rough = "forces may be sharp" if motions.bends.numel() else rough_mean(motions)
    if too_rough is not None:
        return too_rough
    try:
        for event in motions.events:
            motions.jumps(event)
    except (Refused, StationaryError) as error:
        return str(error).splitlines()[0]
    return None if c.accepts(motions.kernel.rhs) else "an operation has no counterpart in C"


@lru_cache(maxsize=8)
def written(question: Question) -> tuple[Motions, Program]:
    """Return the motions of a question, and the program that follows one."""
    motions = motions_of(question)
    assert isinstance(motions, Motions)
    method = question.given.get("method", "auto")
    fixed = isinstance(method, RK4)
    return motions, program(motions, fixed=fixed, single=fixed and method.single)


@lru_cache(maxsize=8)
def _code(text: str) -> Any:
    return c.loaded(text, _OPTIONS).run


def inputs_of(
    question: Question, first: int, last: int
) -> tuple[Motions, Program, dict[str, np.ndarray]]:
    """Return the arrays that a program takes, one column for each run."""
    motions, program = written(question)
    y, p, span = motions.arrays(np.arange(first, last))
    if motions.kernel.rows:
        motions.consistent(y, p, span)

    def columns(rows: np.ndarray) -> np.ndarray:
        return np.ascontiguousarray(rows.T, dtype=program.kind)

    arrays = {
        "starts": columns(y[:, program.states]), "values": columns(p[:, program.varied]),
        "span": columns(span), "table": np.ones((1, 1), dtype=program.kind),
    }  # fmt: skip
    if motions.sampled:
        table = motions.tables(np.arange(first, last))
        arrays["table"] = np.ascontiguousarray(table, dtype=program.kind)
    return motions, program, arrays


def knots(motions: Motions, arrays: dict[str, Any]) -> tuple[int, int]:
    """Return how far apart the entries of a table stand, and how many times it has."""
    height, width = arrays["table"].shape
    inputs = sum(kind == "samples" for kind, _ in motions.kernel.signature)
    return width, height // (inputs + 1)


def settings(question: Question) -> tuple[float, float, float]:
    """Return tolerances and step."""
    method = question.given.get("method", "auto")
    rtol, atol = (float(question.given.get(*known)) for known in (("rtol", _RTOL), ("atol", _ATOL)))
    return rtol, atol, method.step if isinstance(method, RK4) else 0.0


def compute(question: Question, first: int, last: int) -> Chunk:
    """Follow all motions of a chunk, on all cores."""
    motions, program, arrays = inputs_of(question, first, last)
    count = last - first
    out = np.full((program.outputs, count), np.nan, dtype=program.kind)
    status, steps = np.zeros(count, np.int32), np.zeros(count, np.int32)
    run = _code(program.text)
    run.argtypes = (ctypes.c_long, ctypes.c_long, *signature(single=program.single))
    given = [arrays[name].ctypes.data for name in ("starts", "values", "span", "table")]
    results = [x.ctypes.data for x in (out, status, steps)]

    def part(a: int, b: int) -> None:
        run(a, b, count, *given, *knots(motions, arrays), *settings(question), MOST_STEPS, *results)

    # Small parts: from the keyboard, threads end with those that they have in hand.
    ends = np.linspace(0, count, min(64 * cores(), count) + 1).astype(int)
    with ThreadPoolExecutor(cores()) as pool:
        list(pool.map(part, ends[:-1], ends[1:]))
    return judged(question, program, first, out, status)


def judged(
    question: Question, program: Program, first: int, out: np.ndarray, status: np.ndarray
) -> Chunk:
    """Return what came out; what was lost on the way is asked again by itself, and says why."""
    kept = {name: _column(out, program, name, keep) for name, keep in question.keeps.items()}
    given = {key: value for key, value in question.given.items() if key != "method"}
    alone = question if "method" not in question.given else question.with_given(given)
    codes = np.where(status == EVENT, 1, 0)
    return completed(alone, first, kept, status >= LOST, _DONE, _EVENT, codes=codes)


def _column(out: np.ndarray, program: Program, name: str, keep: Keep) -> np.ndarray:
    shape = keep.shape or ()
    k = program.columns[name]
    rows = out[k : k + int(np.prod(shape))] if shape else out[k]
    return np.ascontiguousarray(rows.T, dtype=float).reshape(-1, *shape)
