"""Rests of many runs at once: Newton's method on arrays, where the way to the minimum is plain.

A run is taken here whose energy is convex all along its way, which goes down at every step: every
method that goes down ends where it does. The others are asked by themselves.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import casadi as ca
import numpy as np

from stationary.derive.graph import Graph
from stationary.lower.instructions import kinks
from stationary.lower.kernel import graph_of
from stationary.lower.many_places import evaluate
from stationary.many.chunk import Chunk, completed
from stationary.many.engines.on_arrays import kept_expressions, shared_or_why, varied
from stationary.many.keep import Attribute, Call, End
from stationary.many.motions import expressions
from stationary.many.question import Question
from stationary.model.symbols import Acceleration, Input, Velocity
from stationary.result.status import Status
from stationary.solve.gate import many_answers

# Systems of more coordinates are asked one by one.
_LARGEST = 24

# Steps of Newton's method, and the part of the way so far that the last one may be.
_STEPS, _SETTLED = 80, 1e-11

# Steps this small that shrink no longer, as Newton's do, are rounding.
_NEAR = 1e-6

# Forces balance to this part of those that would undo the way.
_BALANCED = 1e-9

# Curvatures below this part of the largest are none.
_CONVEX = 1e-9

_EPS = np.finfo(float).eps
_DONE = Status("done", "forces are in balance, at a minimum of the energy")
_KNOWN = ("energy", "stable", "eigenvalues")


@dataclass(frozen=True, eq=False)
class _Rests:
    """What all runs share."""

    graph: Graph
    energy: ca.Function
    values: np.ndarray
    start: np.ndarray
    t: float


def refuses(question: Question) -> str | None:
    """Take minima of an energy, if there are many."""
    if question.verb != "statics":
        return f"it answers statics, not {question.verb}"
    reason = _rests_of(question)
    return reason if isinstance(reason, str) else None


@shared_or_why
def _rests_of(question: Question) -> _Rests | str:
    system, given = question.system, question.given
    if (
        set(given) - {"start", "params", "t", "kind", "throw"}
        or given.get("kind", "minimum") != "minimum"
    ):
        return "an argument asks for more"
    terms = ("constraints", "pfaffian", "contacts", "friction", "loads", "inputs", "fields")
    held = [name for name in terms if len(getattr(system, name))]
    if held:
        return f"the system has {held[0]}"
    for name, role in question.roles.items():
        values = question.design[name]
        if role not in ("params", "start") or not isinstance(values, np.ndarray) or values.ndim > 1:
            return f"'{name}' varies, and not as a number"
        if role == "start" and name.endswith(".dot"):
            return "a velocity varies"
    graph = graph_of(system)
    if graph.layout.kinematics.names or graph.layout.multipliers:
        return "the system has orientations in space"
    if not graph.scalar or system.size > _LARGEST:
        return "the system is too large"
    for name, keep in question.keeps.items():
        known = isinstance(keep, Attribute) and keep.name in (*_KNOWN, *graph.layout.offsets)
        if isinstance(keep, Call) or isinstance(keep, Attribute) and not known:
            return f"keep '{name}' needs whole results"
        for e in expressions(keep.what) if isinstance(keep, End) else ():
            if any(isinstance(s, (Velocity, Acceleration, Input)) for s in e.free_symbols):
                return f"keep '{name}' moves"
    arguments = question.arguments(0)
    values = graph.layout.values(arguments.get("params"))
    q, v = graph.layout.state(given.get("start"), values)
    if np.any(v):
        return "the start moves"
    energy = _energy(graph, float(given.get("t", 0.0)))
    if kinks(energy):
        return "the energy is not smooth"
    return _Rests(graph, energy, values, q, float(given.get("t", 0.0)))


def _energy(graph: Graph, t: float) -> ca.Function:
    """Energy, its gradient and its Hessian, as one function of nothing, q and p."""
    n = graph.system.size
    q, p = ca.SX.sym("q", n), ca.SX.sym("p", len(graph.system.parameters))  # pyright: ignore[reportArgumentType]
    zero = ca.SX.zeros(n)
    energy = graph.internal(t, q, zero, ca.SX(0, 1), p)[0]
    H, gradient = ca.hessian(energy, q)
    every = ca.densify(ca.vertcat(energy, gradient, ca.vec(ca.densify(H))))
    none = ca.SX.sym("t")  # pyright: ignore[reportArgumentType]
    return ca.Function("energy", [none, q, p], [every], {"cse": True})


def _split(columns: np.ndarray, n: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    return columns[:, 0], columns[:, 1 : n + 1], columns[:, n + 1 :].reshape(-1, n, n)


def _newton(
    rests: _Rests, q: np.ndarray, p: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return where runs rest, their energies and curvatures, and which of them went a plain way."""
    n, start, last = q.shape[1], q.copy(), q.copy()
    plain, open_ = np.ones(len(q), dtype=bool), np.arange(len(q))
    energy, curvature = np.full(len(q), np.inf), np.full((len(q), n), np.nan)
    nothing, before = np.zeros(len(q)), np.full(len(q), np.inf)
    for _ in range(_STEPS):
        if not len(open_):
            break
        E, g, H = _split(evaluate(rests.energy, nothing[open_], q[open_], p[open_]), n)
        finite = np.isfinite(E) & np.isfinite(g).all(axis=1) & np.isfinite(H).all(axis=(1, 2))
        rounding = 64 * _EPS * (np.abs(E) + np.abs(g * q[open_]).sum(axis=1))
        up = ~finite | (E > energy[open_] + rounding)
        first = ~np.isfinite(energy[open_])
        # A step that leads up was too long: half of it is tried.
        shorter = open_[up & ~first]
        q[shorter] = (q[shorter] + last[shorter]) / 2
        H[~finite] = np.eye(n)
        values, vectors = np.linalg.eigh(H)
        convex = (values[:, 0] > _CONVEX * values[:, -1]) & (values[:, -1] > 0)
        plain[open_[(up & first) | (~up & ~convex)]] = False
        going = ~up & convex
        now = open_[going]
        push = np.einsum("kij,ki->kj", vectors[going], g[going]) / values[going]
        step = -np.einsum("kij,kj->ki", vectors[going], push)
        energy[now], curvature[now], last[now] = E[going], values[going], q[now]
        way = np.abs(q[now] - start[now]).max(axis=1)
        # What is left is rounding, of the place or of the forces that cancel there.
        noise = 8 * _EPS * np.abs(q[now]).max(axis=1)
        long = np.abs(step).max(axis=1)
        settled = long <= _SETTLED * way + noise
        settled |= (long <= _NEAR * way) & (long > 0.1 * before[now])
        before[now] = long
        q[now] += step
        open_ = np.sort(np.concatenate([shorter, now[~settled]]))
    plain[open_] = False
    return q, energy, curvature, plain


def compute(question: Question, first: int, last: int) -> Chunk:
    """Find where all runs of a chunk rest."""
    rests = _rests_of(question)
    assert isinstance(rests, _Rests)
    shared = (rests.t, rests.start, np.zeros(0), rests.values)
    _, start, _, p = varied(question, rests.graph.layout, np.arange(first, last), *shared)
    q, energy, curvature, plain = _newton(rests, start.copy(), p)
    with np.errstate(all="ignore"):
        columns = evaluate(rests.energy, np.zeros(len(q)), q, p)
        _, force, stiffness = _split(columns, q.shape[1])
        plain &= many_answers.rest(force, stiffness, q, q - start, _BALANCED)
    kept = {name: _kept(rests, keep, q, p, energy, curvature)
            for name, keep in question.keeps.items()}  # fmt: skip
    return completed(question, first, kept, ~plain, _DONE)


def _kept(
    rests: _Rests, keep: Any, q: np.ndarray, p: np.ndarray, energy: np.ndarray,
    curvature: np.ndarray,
) -> np.ndarray:  # fmt: skip
    if isinstance(keep, Attribute):
        if keep.name == "energy":
            return energy.copy()
        if keep.name == "eigenvalues":
            return curvature.copy()
        if keep.name == "stable":
            return np.ones(len(q))
        return q[:, rests.graph.layout.offsets[keep.name]].copy()
    at = (np.full(len(q), rests.t), q, np.zeros_like(q), p)
    return kept_expressions(rests.graph.layout, keep, *at)
