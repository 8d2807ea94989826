"""A slide that ends early ends for the reason that it gives: its proof is checked at its place."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from stationary.solve.gate.finding import Finding
from stationary.solve.gate.state import State

# Speeds that would satisfy what contradicts itself are this many times those at work.
_FAR = 30.0
# What is off by this share is off.
_OFF = 1e-6
# Forces that grow without bound are known to this share.
_PROVED = 1e-4


@dataclass(frozen=True)
class Reason:
    """Why a slide ended, and where: what its solver offers as a proof.

    Attributes
    ----------
    t, q, u : float, ndarray
        The place at which it is so.
    rows, gaps : ndarray or None
        Weights of constraints and of contacts that contradict each other.
    locks : ndarray or None
        Forces of friction that, with these as forces, hold against whatever drives.
    ray : ndarray or None
        A direction along which nothing holds it.
    rubs : float
        What friction of pressed contacts takes along the ray.
    stiffness : float or None
        Where forces balance along the ray, how they change along it.
    """

    t: float
    q: np.ndarray
    u: np.ndarray
    rows: np.ndarray | None = None
    gaps: np.ndarray | None = None
    locks: np.ndarray | None = None
    ray: np.ndarray | None = None
    rubs: float = 0.0
    stiffness: float | None = None


def reason(why: Reason, last: State) -> list[Finding]:
    """Measure whether a slide ends for its reason; `last` is the last state that is told."""
    zero = np.zeros_like(why.q)
    state = replace(last, t=why.t, q=why.q, u=why.u, v=zero)
    reach = last.scales.length if last.travel is None else last.scales.length + last.travel
    far = np.abs(why.q - last.q) / np.maximum(reach, 1e-300)
    claims = [Finding("it ends", "where it is", float(far.max(initial=0.0)), 1.0)]
    if why.rows is not None and why.gaps is not None:
        if why.locks is None:
            claims += jammed(state, why.rows, why.gaps)
        else:
            claims += locked(state, np.concatenate([why.rows, why.gaps]), why.locks)
    if why.ray is not None:
        claims += accelerates(state, why.ray, why.rubs, why.stiffness)
    return claims


def jammed(state: State, rows: np.ndarray, gaps: np.ndarray) -> list[Finding]:
    """Measure how slowly constraints and contacts in conflict could be satisfied, by weights.

    Any velocity that satisfies A v + b = 0 and G v + g ≥ 0 satisfies their weighted sum, in which
    velocities cancel and what drives does not.
    """
    _, drive, both = state.holds
    weights = np.concatenate([rows, gaps])
    pulls = np.asarray(both.T @ weights).ravel()
    needed = abs(float(weights @ drive)) * state.span
    given = float(np.abs(pulls) @ state.scales.length)
    pushed = float(np.max(-gaps, initial=0.0)) / (np.abs(weights).max(initial=0.0) or 1.0)
    return [
        Finding("no velocity satisfies", "what conflicts", _FAR * given, needed),
        Finding("contacts in conflict", "only push", pushed, _OFF),
    ]


def locked(state: State, forces: np.ndarray, y: np.ndarray) -> list[Finding]:
    """Measure whether forces balance by themselves within their cones, and work against the drive.

    Then they grow with whatever drives, for friction without a contact has its limit.
    """
    _, drive, both = state.holds
    drift, B, size, _ = state.slips
    moves = state.scales.length
    left = np.asarray(both.T @ forces - B.T @ y).ravel()
    pulls = np.asarray(abs(both).T @ np.abs(forces) + abs(B).T @ np.abs(y)).ravel()
    push, (starts, pressed, _) = forces[state.rows :], state.terms
    limit = np.where(pressed >= 0, size[starts] * np.append(push, 0.0)[pressed], 0.0)
    most = np.abs(np.concatenate([push, y])).max(initial=0.0) or 1.0
    beyond = float((state.lengths(y) - limit).max(initial=0.0))
    work = float(forces @ drive - y @ drift)
    whole = float(np.abs(forces) @ np.abs(drive) + np.abs(y) @ np.abs(drift))
    return [
        Finding("forces that lock balance", "by themselves", float(np.abs(left) @ moves),
                _PROVED * float(pulls @ moves)),
        Finding("forces that lock stay", "within their cones", beyond, _PROVED * most),
        Finding("contacts that lock", "only push", float(np.max(-push, initial=0.0)),
                _PROVED * most),
        Finding("forces that lock", "resist what drives", _OFF * whole, -work),
    ]  # fmt: skip


def accelerates(
    state: State, ray: np.ndarray, rubs: float, stiffness: float | None
) -> list[Finding]:
    """Measure whether a direction is allowed, and whether loads give more along it than rubs."""
    values, _, both = state.holds
    away, terms = np.asarray(both @ ray).ravel(), np.asarray(abs(both) @ np.abs(ray)).ravel()
    held, touching = np.arange(len(away)) < state.rows, values <= 1e-8 * state.scales.rows(both)
    opens = np.where(held, np.abs(away), np.where(touching, np.maximum(-away, 0.0), 0.0))
    at_rest = replace(state, v=0 * ray)
    _, B, size, power = at_rest.slips
    given = float(at_rest.forces(state.q) @ ray)
    free = (power == 0) & (state.terms[1][state.terms[2]] < 0)
    slips = state.lengths(np.asarray(B @ ray).ravel())
    starts = state.terms[0]
    taken = float((size[starts] * slips)[free[starts]].sum()) + rubs
    most = max(abs(given), taken)
    claims = [
        Finding("what holds lets it go", "that way", float(opens.max(initial=0.0)),
                1e-3 * float(terms.max(initial=0.0)) + 1e-300),
    ]  # fmt: skip
    if stiffness is None:
        claims.append(
            Finding("loads give more than friction takes", "along it", taken, given + _OFF * most)
        )
    return claims
