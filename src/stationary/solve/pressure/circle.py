"""The least value of a dual function on a circle: bounded on arcs, not sampled.

Along a circle of radius r a point moves with v, all of whose derivatives have the size |ω| r. With
κ = |ω| r / |v| at the slowest point of an arc, v̂ changes by at most κ, κ + 2κ² and κ + 6κ² + 6κ³ in
its first three derivatives, so that a parabola and what the third derivative may take from it bound
f from below; arcs on which that says too little are halved.
"""

from __future__ import annotations

import numpy as np

from stationary.solve.pressure.support import Rest

_ARCS = 96
_HALVES = 40
_MANY = 4096


def lowest_around(
    rest: Rest, twist: np.ndarray, witness: np.ndarray, affine: np.ndarray, close: float
) -> float:  # fmt: skip
    """Return a lower bound of witness·v̂ − λ0 − λ·x on a circle, to within about `close`."""
    middle = (np.arange(_ARCS) + 0.5) * (2 * np.pi / _ARCS)
    half = np.pi / _ARCS
    kept, known = np.inf, np.inf
    for _ in range(_HALVES):
        bound, value = _on_arcs(rest, twist, witness, affine, middle, half)
        known = min(known, float(value.min()))
        open_ = bound < known - close
        kept = min(kept, float(bound[~open_].min(initial=np.inf)))
        if not open_.any() or half < 1e-15 or 2 * np.count_nonzero(open_) > _MANY:
            return min(kept, float(bound[open_].min(initial=np.inf)))
        half /= 2
        middle = (middle[open_, None] + half * np.array([-1.0, 1.0])).ravel()
    bound, _ = _on_arcs(rest, twist, witness, affine, middle, half)
    return min(kept, float(bound.min(initial=np.inf)))


def _on_arcs(rest, twist, witness, affine, middle, half) -> tuple[np.ndarray, np.ndarray]:
    """Return lower bounds on arcs, and values at their middles."""
    r, swing, turn = rest.radius, float(witness[2]), float(twist[2])
    # Velocities as complex numbers: v = vx + i vy, and i ω d along a way d.
    out = r * np.exp(1j * middle)
    x = out + complex(*rest.middle)
    v = complex(twist[0], twist[1]) + 1j * turn * x
    w = complex(witness[0], witness[1]) + 1j * swing * x
    speed, plain = np.abs(v), complex(affine[1], affine[2])
    fast = np.maximum(speed, 1e-300)
    e = v / fast
    # Derivatives of log v, of which the imaginary part is the direction.
    one = 1j * turn * 1j * out / fast / e
    two = 1j * turn * -out / fast / e - one**2
    de = 1j * one.imag * e
    dde = (1j * two.imag - one.imag**2) * e
    dw, ddw = 1j * swing * 1j * out, 1j * swing * -out
    value = _dot(w, e) - affine[0] - _dot(plain, x)
    slope = _dot(dw, e) + _dot(w, de) - _dot(plain, 1j * out)
    bend = _dot(ddw, e) + 2 * _dot(dw, de) + _dot(w, dde) - _dot(plain, -out)
    size = np.hypot(witness[0], witness[1]) + abs(swing) * (r + np.hypot(*rest.middle))
    slow = speed - abs(turn) * r * half
    k = abs(turn) * r / np.where(slow > 0, slow, 1.0)
    third = (abs(swing) * r * (1 + 6 * k + 6 * k**2) + size * (k + 6 * k**2 + 6 * k**3)
             + abs(plain) * r)  # fmt: skip
    # The parabola is least at an end, or where it is flat between them.
    with np.errstate(divide="ignore", invalid="ignore"):
        flat = np.where(
            (bend > 0) & (np.abs(slope) < bend * half), -(slope**2) / (2 * bend), np.inf
        )
    ends = bend * half**2 / 2 - np.abs(slope) * half
    parabola = value + np.minimum(flat, ends) - third * half**3 / 6
    # Whatever the direction of friction: where a point of the arc may be at rest.
    any_ = -np.abs(w) - affine[0] - _dot(plain, x) - (abs(swing) + abs(plain)) * r * half
    bound = np.where(slow > 0, np.maximum(parabola, any_), any_)
    rounds = 8e-16 * (size + abs(affine[0]) + abs(plain))
    return bound - rounds, value


def _dot(a, b):
    """Return the scalar product of vectors that are complex numbers."""
    return (np.conj(a) * b).real
