"""The program of one trajectory, compiled by the system's C compiler, on all cores."""

from __future__ import annotations

import ctypes
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from typing import Any

import numpy as np

from stationary.errors import StationaryError
from stationary.lower.engines import c
from stationary.many.chunk import Chunk, completed
from stationary.many.cores import cores
from stationary.many.fixed_steps import RK4
from stationary.many.keep import Keep
from stationary.many.motions import Motions, Refused, motions_of, rough_mean
from stationary.many.program import EVENT, LOST, Program, program
from stationary.many.question import Question
from stationary.many.text import signature
from stationary.result.status import Status
from stationary.solve.integrators import Runge

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
