"""Many pushes at once: the least power on arrays, where everything that rubs moves.

The power is convex, and smooth where no friction term is at rest: a place without slope is its
minimum, whichever way leads there. Runs in which something sticks, or accelerates, are asked by
themselves.
"""

from __future__ import annotations

from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property, reduce
from typing import Any

import casadi as ca
import numpy as np

from stationary.derive.scope import minimum_power_holds
from stationary.derive.sliding import Sliding
from stationary.lower.inputs import drives
from stationary.lower.many_places import evaluate
from stationary.many.chunk import Chunk, completed
from stationary.many.cores import cores
from stationary.many.engines.on_arrays import kept_expressions, shared_or_why, varied
from stationary.many.keep import Attribute, Call, End
from stationary.many.motions import expressions
from stationary.many.question import Question
from stationary.model.symbols import Acceleration, Input
from stationary.result.status import Status
from stationary.solve.gate import many_answers
from stationary.solve.sliding.instant.least_power import as_time, require_still
from stationary.solve.sliding.problem.question import sliding_of, terms_of

# Systems of more velocities are asked one by one.
_LARGEST = 24

# Operations of the functions that are evaluated on arrays, at most.
_LONGEST = 20_000

# Runs that are computed together: their numbers stay in the processor's cache.
_TOGETHER = 256

# Steps of Newton's method, and the part of the forces at work that is left at its end.
_STEPS, _BALANCED = 60, 1e-12

# What is found holds to this part of velocities and forces at work.
_HELD = 1e-9

# What is slower than this part of the fastest is at rest.
_STILL = 1e-6

# Constraints hold to this part of what they are made of; rows and directions count from it on.
_HOLDS, _COUNTS = 1e-10, 1e-8

_DONE = Status("done", "as asked")
_KNOWN = ("power", "dissipated", "unique")


@dataclass(frozen=True, eq=False)
class _Slides:
    """What all runs share."""

    sliding: Sliding
    values: np.ndarray
    place: np.ndarray
    inputs: np.ndarray
    t: float

    @property
    def size(self) -> int:
        """Number of velocities."""
        return len(self.place)

    @cached_property
    def width(self) -> int:
        """Number of rates of every friction term."""
        return terms_of(self.sliding)[2][0]

    @cached_property
    def laws(self) -> ca.Function:
        """R, b, A, c, B, the limits and f in one column, as a function of t, q, u, p."""
        n, m = self.size, len(self.values)
        given = [ca.SX.sym(*x) for x in (("t", 1), ("q", n), ("u", len(self.inputs)), ("p", m))]  # pyright: ignore[reportCallIssue]
        slips, holds, pushes = (getattr(self.sliding, f) for f in ("slips", "holds", "pushes"))
        _, c, B, size, _ = slips.call(given)
        R, b, A, *_ = holds.call(given)
        parts = [R, b, A.T, c, B.T, size[terms_of(self.sliding)[0].tolist()], pushes.call(given)[0]]
        column = ca.vertcat(*(ca.vec(ca.densify(x)) for x in parts))
        return ca.Function("laws", given, [column], {"cse": True})


def refuses(question: Question) -> str | None:
    """Take pushes against dry friction, if there are many."""
    if question.verb not in ("minimum_power", "minimum_dissipation"):
        return f"it answers minimum_power, not {question.verb}"
    reason = _slides_of(question)
    return reason if isinstance(reason, str) else None


@shared_or_why
def _slides_of(question: Question) -> _Slides | str:
    system, given = question.system, question.given
    if set(given) - {"at", "params", "inputs", "t", "throw"}:
        return "an argument asks for more"
    if system.contacts or system.fields or not system.dissipation.is_zero or not system.friction:
        return "the system has contacts, fields or drag"
    if minimum_power_holds(system).failing:
        return "the principle does not hold for all forces"
    require_still(system)
    sliding = sliding_of(system)
    layout = sliding.graph.layout
    functions = [getattr(sliding, name) for name in ("slips", "holds", "pushes")]
    widths = set(terms_of(sliding)[2])
    if widths == {1}:
        return "friction acts along lines, and something is at rest nearly always"
    if len(widths) > 1 or system.size > _LARGEST or layout.kinematics.names:
        return "friction terms differ in width, or the system is too large"
    if layout.multipliers > system.size:
        return "there are more constraints than coordinates"
    if sum(f.n_instructions() for f in functions) > _LONGEST:
        return "the system is too large"
    for name, role in question.roles.items():
        values = question.design[name]
        if role not in ("params", "at", "inputs", "t") or not isinstance(values, np.ndarray):
            return f"'{name}' varies, and not as a number"
        if role != "at" and values.ndim > 1 or name.endswith(".dot"):
            return f"'{name}' varies, and not as a number"
    for name, keep in question.keeps.items():
        known = isinstance(keep, Attribute) and keep.name in _KNOWN
        if isinstance(keep, Call) or isinstance(keep, Attribute) and not known:
            return f"keep '{name}' needs whole results"
        for e in expressions(keep.what) if isinstance(keep, End) else ():
            if any(isinstance(s, (Acceleration, Input)) for s in e.free_symbols):
                return f"keep '{name}' contains an acceleration or an input"
    arguments = question.arguments(0)
    t = as_time(arguments.get("t", 0.0))
    driven = drives(layout, arguments.get("inputs"), (t, float(np.nextafter(t, np.inf))))
    if any(kind != "number" for kind, _ in driven.signature):
        return "an input is no number"
    values = layout.values(arguments.get("params"))
    q, v = layout.state(given.get("at"), values, "at")
    if np.any(v):
        return "the configuration moves"
    return _Slides(sliding, values, q, np.array(driven.numbers, dtype=float), t)


def _pushed(slides: _Slides, t: Any, q: Any, u: Any, p: Any) -> tuple[np.ndarray, ...]:
    """Return velocities, powers and what friction takes, and in which runs they are the answer."""
    n, w, rows = slides.size, slides.width, slides.sliding.graph.layout.multipliers
    m = slides.sliding.rates // w
    count = len(q)
    with np.errstate(all="ignore"):
        laws = evaluate(slides.laws, t, q, u, p)
        sizes = [rows, rows, rows * n, m * w, m * w * n, m, n]
        R, b, A, c, B, limit, f = np.split(laws, np.cumsum(sizes)[:-1], axis=1)
        A, B, c = A.reshape(count, rows, n), B.reshape(count, m, w, n), c.reshape(count, m, w)
        good = np.isfinite(laws).all(axis=1) & (limit >= 0).all(axis=1)
        good &= (np.abs(R) <= _HOLDS * (np.abs(A) @ np.abs(q)[..., None])[..., 0]).all(axis=1)
        good &= b.any(axis=1) | c.any(axis=(1, 2))
        A, B, c, f = (np.where(good.reshape(-1, *[1] * (x.ndim - 1)), x, 0.0) for x in (A, B, c, f))
        # v = v₀ + Z z: what the constraints impose, and what they leave free.
        v, Z = np.zeros((count, n)), np.broadcast_to(np.eye(n), (count, n, n))
        if rows:
            lengths = np.linalg.norm(A, axis=2, keepdims=True)
            scale = np.where(lengths > 0, lengths, 1.0)
            U, s, V = np.linalg.svd(A / scale)
            good &= (s > _COUNTS * s[:, :1]).all(axis=1)
            some = np.where(s > 0, s, 1.0)
            share = (U.transpose(0, 2, 1) @ (b / scale[..., 0])[..., None])[..., 0] / some
            v = -(share[:, None] @ V[:, :rows])[:, 0]
            Z = V[:, rows:].transpose(0, 2, 1)
        v, power, heat, good = _newton(B, c, limit, f, v, Z, good)
        good &= many_answers.sliding((A, b), (B, c), limit, f, Z, v, _HELD)
        return v, power, heat, good


def _newton(
    B: np.ndarray, c: np.ndarray, limit: np.ndarray, f: np.ndarray, v: np.ndarray, Z: np.ndarray,
    good: np.ndarray,
) -> tuple[np.ndarray, ...]:  # fmt: skip
    """Go down from where friction, as if it were drag, would be least."""
    count, free = len(v), Z.shape[2]
    # Of every direction of slip how it changes with z, shape (runs, z, terms), and what it is at 0.
    C = [Z.transpose(0, 2, 1) @ B[:, :, k].transpose(0, 2, 1) for k in range(c.shape[2])]
    w0 = [(v[:, None] @ B[:, :, k].transpose(0, 2, 1))[:, 0] + c[..., k] for k in range(c.shape[2])]
    fz = (f[:, None] @ Z)[:, 0]
    reach = _sum((np.abs(x) @ limit[..., None])[..., 0] for x in C) + np.abs(fz)
    z, settled = np.zeros((count, free)), np.zeros(count, dtype=bool)
    open_ = np.flatnonzero(good)

    def rates(some: Any) -> list[np.ndarray]:
        return [(z[some, None] @ x[some])[:, 0] + x0[some] for x, x0 in zip(C, w0)]

    if free:
        a = limit[open_, None]
        drag = _sum((x[open_] * a) @ x[open_].transpose(0, 2, 1) for x in C)
        against = _sum(((x[open_] * a) @ x0[open_, :, None])[..., 0] for x, x0 in zip(C, w0))
        z[open_] = -_solved(drag, against)
    else:
        settled[open_], open_ = True, open_[:0]
    before, slope = np.full(count, np.inf), np.zeros(count)
    step, last = np.zeros((count, free)), z.copy()
    for _ in range(_STEPS):
        if not len(open_):
            break
        w = rates(open_)
        speed = np.sqrt(_sum(x * x for x in w))
        heat = (limit[open_] * speed).sum(axis=1)
        power = heat - (fz[open_] * z[open_]).sum(axis=1)
        up = ~(power <= before[open_] + 1e-4 * slope[open_] + 64 * np.finfo(float).eps * heat)
        # A step that leads up was too long: half of it is tried.
        shorter, on = open_[up], ~up
        step[shorter] /= 2
        slope[shorter] /= 2
        z[shorter] = last[shorter] + step[shorter]
        now = open_[on]
        g, H = _bent([x[now] for x in C], [x[on] for x in w], limit[now], speed[on])
        g -= fz[now]
        direction = -_solved(H, g)
        there = (np.abs(g) <= _BALANCED * reach[now]).all(axis=1)
        settled[now[there]] = True
        before[now], last[now], step[now] = power[on], z[now], direction
        slope[now] = (g * direction).sum(axis=1)
        going = now[~there & (slope[now] < 0)]
        z[going] = last[going] + step[going]
        open_ = np.sort(np.concatenate([shorter, going]))
    v = v + (Z @ z[..., None])[..., 0]
    speed = np.sqrt(_sum(x * x for x in rates(slice(None))))
    heat = (limit * speed).sum(axis=1)
    moves = (speed > _STILL * speed.max(axis=1, keepdims=True)) | (limit == 0)
    good = settled & (heat > 0) & (moves.all(axis=1) if free else True)
    return v, heat - (f * v).sum(axis=1), heat, good


def _sum(parts: Iterable[np.ndarray]) -> np.ndarray:
    return reduce(np.add, parts)


def _bent(
    C: list[np.ndarray], w: list[np.ndarray], limit: np.ndarray, speed: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return slope and second derivative of what friction takes."""
    speed = np.maximum(speed, 1e-300)
    rate = limit / speed
    along = [x / speed for x in w]
    g = _sum((x @ (limit * e)[..., None])[..., 0] for x, e in zip(C, along))
    if len(C) == 2:
        # In a plane only what is across the slip bends.
        across = C[0] * along[1][:, None] - C[1] * along[0][:, None]
        return g, (across * rate[:, None]) @ across.transpose(0, 2, 1)
    ahead = _sum(x * e[:, None] for x, e in zip(C, along))
    H = _sum((x * rate[:, None]) @ x.transpose(0, 2, 1) for x in C)
    return g, H - (ahead * rate[:, None]) @ ahead.transpose(0, 2, 1)


def _solved(H: np.ndarray, g: np.ndarray) -> np.ndarray:
    """Solve small symmetric systems; one without a unique solution has none."""
    values, vectors = np.linalg.eigh(np.nan_to_num(H))
    flat = values <= _COUNTS**2 * values[:, -1:]
    share = np.einsum("kde,kd->ke", vectors, g) / np.where(flat, np.nan, values)
    return np.einsum("kde,ke->kd", vectors, share)


def compute(question: Question, first: int, last: int) -> Chunk:
    """Find how all runs of a chunk slide, on all cores."""
    slides = _slides_of(question)
    assert isinstance(slides, _Slides)
    shared = (slides.t, slides.place, slides.inputs, slides.values)
    arrays = varied(question, slides.sliding.graph.layout, np.arange(first, last), *shared)
    parts = [slice(k, k + _TOGETHER) for k in range(0, last - first, _TOGETHER)]
    _ = slides.laws  # made once, before threads share it
    with ThreadPoolExecutor(cores()) as pool:
        pushed = list(pool.map(lambda part: _pushed(slides, *(x[part] for x in arrays)), parts))
    v, power, heat, good = (np.concatenate(x) for x in zip(*pushed))
    kept = {name: _kept(slides, keep, arrays, v, power, heat)
            for name, keep in question.keeps.items()}  # fmt: skip
    return completed(question, first, kept, ~good, _DONE)


def _kept(
    slides: _Slides, keep: Any, arrays: list[np.ndarray], v: np.ndarray, power: np.ndarray,
    heat: np.ndarray,
) -> np.ndarray:  # fmt: skip
    if isinstance(keep, Attribute):
        return {"power": power, "dissipated": heat, "unique": np.ones(len(v))}[keep.name].copy()
    t, q, _, p = arrays
    return kept_expressions(slides.sliding.graph.layout, keep, t[:, 0], q, v, p)
