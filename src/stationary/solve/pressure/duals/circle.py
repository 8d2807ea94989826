"""The least value of a dual function on a circle: bounded on arcs, not sampled.

Along a circle of radius r a point moves with v, all of whose derivatives have the size |ω| r. With
κ = |ω| r / |v| at the slowest point of an arc, v̂ changes by at most κ, κ + 2κ² and κ + 6κ² + 6κ³ in
its first three derivatives, so that a parabola and what the third derivative may take from it bound
f from below; arcs on which that says too little are divided.
"""

from __future__ import annotations

from math import hypot

import numpy as np

from stationary.solve.pressure.support import Rest

_ARCS = 96
_ROUNDS = 14
# Into how many an arc is divided: what a parabola misses falls with the third power of its length.
_PARTS = 8
_MANY = 4096


def lowest_around(
    rest: Rest, twist: np.ndarray, witness: np.ndarray, affine: np.ndarray, close: float
) -> float:  # fmt: skip
    """Return a lower bound of witness·v̂ − λ0 − λ·x on a circle, to within about `close`."""
    middle = (np.arange(_ARCS) + 0.5) * (2 * np.pi / _ARCS)
    half = np.pi / _ARCS
    kept, known = np.inf, np.inf
    between = (np.arange(_PARTS) * 2 + 1 - _PARTS).astype(float)
    for _ in range(_ROUNDS):
        bound, value = _on_arcs(rest, twist, witness, affine, middle, half)
        known = min(known, float(value.min()))
        open_ = bound < known - close
        kept = min(kept, float(bound[~open_].min(initial=np.inf)))
        if not open_.any() or half < 1e-15 or _PARTS * np.count_nonzero(open_) > _MANY:
            return min(kept, float(bound[open_].min(initial=np.inf)))
        half /= _PARTS
        middle = (middle[open_, None] + half * between).ravel()
    bound, _ = _on_arcs(rest, twist, witness, affine, middle, half)
    return min(kept, float(bound.min(initial=np.inf)))


def _on_arcs(rest, twist, witness, affine, middle, half) -> tuple[np.ndarray, np.ndarray]:
    """Return lower bounds on arcs, and values at their middles."""
    r, (mx, my) = rest.radius, rest.middle
    (tx, ty, turn), (wx, wy, swing) = twist.tolist(), witness.tolist()
    l0, lx, ly = affine.tolist()
    out, up = r * np.cos(middle), r * np.sin(middle)
    x, y = out + mx, up + my
    u, v = tx - turn * y, ty + turn * x
    a, b = wx - swing * y, wy + swing * x
    speed = np.sqrt(u * u + v * v)
    fast = np.maximum(speed, 1e-300)
    u, v = u / fast, v / fast
    # Of the way (−up, out) along the circle what is along the motion, and across.
    p, q = out * v - up * u, -up * v - out * u
    # The direction of motion turns by θ: θ' and θ''.
    bent = turn * p / fast
    twice = (turn / fast - 2 * turn * bent / fast) * q
    along, across = a * u + b * v, b * u - a * v
    plain, aside = lx * out + ly * up, lx * up - ly * out
    level = -(l0 + lx * mx + ly * my) - plain
    value = along + level
    slope = swing * q + bent * across + aside
    bend = (2 * bent - 1) * (swing * p) + twice * across - bent * bent * along + plain
    far, steep = hypot(mx, my), hypot(lx, ly)
    size = hypot(wx, wy) + abs(swing) * (r + far)
    slow = speed - abs(turn) * r * half
    k = abs(turn) * r / np.where(slow > 0, slow, 1.0)
    square = 6 * k * (1 + k)
    third = abs(swing) * r * (1 + square) + size * k * (1 + square) + steep * r
    # The parabola is least at an end, or where it is flat between them.
    with np.errstate(divide="ignore", invalid="ignore"):
        flat = np.where(
            (bend > 0) & (np.abs(slope) < bend * half), -(slope**2) / (2 * bend), np.inf
        )
    ends = bend * (half * half / 2) - np.abs(slope) * half
    parabola = value + np.minimum(flat, ends) - third * (half**3 / 6)
    # Whatever the direction of friction: where a point of the arc may be at rest.
    any_ = level - np.sqrt(a * a + b * b) - (abs(swing) + steep) * r * half
    bound = np.where(slow > 0, np.maximum(parabola, any_), any_)
    rounds = 8e-16 * (size + abs(l0) + steep)
    return bound - rounds, value
