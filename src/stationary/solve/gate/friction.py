"""Dry friction and drag follow their laws: within the limit at rest, against the slip else."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sparse

from stationary.solve.gate.finding import Finding, measured
from stationary.solve.gate.state import State
from stationary.solve.sliding.problem.numbers import largest

# Beside what is fastest a slip this many times slower is judged as if it were not slower.
STILL = 1e-6


def friction(state: State, rtol: float) -> list[Finding]:
    """Measure excess over the limits, and forces that do not oppose the slip."""
    if state.y is None or not len(state.y):
        return []
    rates, B, size, power = state.slips
    starts, pressed, term = state.terms
    size, power = size[starts].copy(), power[starts]
    push = np.maximum(np.asarray(state.lam)[state.rows :], 0.0)
    by_contact = pressed >= 0
    size[by_contact] *= push[pressed[by_contact]]
    y = np.asarray(state.y)
    speeds = state.lengths(rates)
    forces = state.lengths(y)
    ways = state.lengths(slip_ways(B))
    energies = np.maximum(forces, np.where(power == 0, size, 0.0)) * ways
    # Where next to nothing rubs, forces are found to the digits of those that hold and push.
    digits = 64 * np.finfo(float).eps * largest(state.pulls / state.levers) / ways
    allowed = rtol * np.maximum(size, 1e-3 * energies.max(initial=0.0) / ways) + digits + 1e-300

    def name(k: int) -> str:
        first = int(starts[k])
        rows = (r for r in state.graph.layout.slips if 0 <= first - r.first < r.places.size)
        return next(rows).name

    dry = power == 0
    # Drag has no force at rest.
    drag_at_rest = np.where(speeds == 0, forces, 0.0)
    excess = np.where(dry, np.maximum(forces - size, 0.0), drag_at_rest)
    claims = measured("friction stays within its limit:", excess, allowed, name)
    if not state.moves:
        return claims
    # A slip that is small beside the rates it is the difference of has no direction of its own.
    terms = abs(B) @ np.abs(state.v) + np.abs(rates)
    slop = state.lengths(terms)
    # Where all that rubs rests, what moves beside it tells what is slow.
    fastest = max(largest(slop / ways), largest(state.v * state.levers))
    slop = rtol * np.maximum(slop, STILL * ways * fastest)
    law, steep = size, np.zeros(1)
    if not dry.all():
        powers = np.where(dry, 1.0, power)
        law = size * np.where(dry, 1.0, speeds**powers)
        steep = np.where(dry, 0.0, size * _steep(speeds, state.lengths(terms), powers))
    moves = speeds > 0
    fast = np.where(moves, speeds, 1.0)
    along = (law * moves / fast)[term] * rates

    def opposed(slop: np.ndarray) -> list[Finding]:
        slides = (speeds > slop) | ~dry
        off = np.where(slides, state.lengths(y - along), 0.0)
        share = np.minimum(np.where(moves, slop / fast, 1.0), 1.0)
        unsure = np.where(slides & dry, 2 * size * share, 0.0)
        return measured("friction opposes the slip:", off, allowed + rtol * law + steep + unsure,
                        name)  # fmt: skip

    against_slip = opposed(slop)
    if state.span > 0 and not all(finding.holds for finding in against_slip):
        # What turns round rests for an instant, beside how fast it is at others.
        usual = abs(B) @ (state.scales.length / state.span)
        against_slip = opposed(np.maximum(slop, rtol * state.lengths(usual)))
    return claims + against_slip


def slip_ways(B: Any) -> np.ndarray:
    """Return how far each rate goes beside the others that the same coordinates move.

    A slip may be written in any unit: beside others it counts by that.
    """
    entries = sparse.coo_matrix(abs(B))
    arms, ways = np.zeros(B.shape[1]), np.zeros(B.shape[0])
    np.maximum.at(arms, entries.col, entries.data)
    some = entries.data > 0
    np.maximum.at(ways, entries.row[some], entries.data[some] / arms[entries.col[some]])
    return np.where(ways > 0, ways, 1.0)


def _steep(speeds: np.ndarray, terms: np.ndarray, powers: np.ndarray) -> np.ndarray:
    """Return by how much powers of speeds are uncertain, with the last digits of their terms.

    Drag below the first power is infinitely steep at rest. Within its rounding a rate may even have
    the other sign.
    """
    rounding = 64 * np.finfo(float).eps * terms
    least, most = np.maximum(speeds - rounding, 0.0), speeds + rounding
    turned = np.where(speeds < rounding, (rounding - speeds).clip(0.0) ** powers, 0.0)
    return most**powers - least**powers + turned
