"""The least value of a dual function on the whole border: not sampled, bounded.

Along an edge a point moves with v = D τ + c N, where τ is the edge, N its normal and c is linear in
the place. With ρ² = D² + c² the dual function is

    f = A + B c + G ρ + (C + E c)/ρ,    f″ ρ⁵ = (G D² − C) D² − 3 E D² c + (G D² + 2 C) c² ,

so that at most two places divide an edge into pieces on which f is convex or concave: its least
value is at ends of pieces, or between two tangents of a convex one.
"""

from __future__ import annotations

from math import hypot

import numpy as np

from stationary.solve.pressure.envelope import centre_of
from stationary.solve.pressure.support import Rest


def lowest_over(
    rest: Rest, twist: np.ndarray, witness: np.ndarray, affine: np.ndarray
) -> float:  # fmt: skip
    """Return a lower bound of λ0 + λ·x + witness·v̂ on the whole support."""
    key = twist.tobytes(), witness.tobytes(), affine.tobytes()
    known = rest.lows.get(key)
    if known is not None:
        return known
    size = max(float(np.abs(affine).max()), float(np.abs(witness).max()), 1e-300)
    if rest.radius:
        least = lowest_around(rest, twist, witness, -affine, 1e-10 * size)
    else:
        least = float(lowest(rest, twist[None], witness[None], -affine[None]).min())
    # Along a ray from the centre of rotation f is affine: inside it is least at its ends.
    q = centre_of(twist)
    if q is not None and rest.contains(q):
        least = min(least, float(at_rest(q[None], witness[None], -affine[None])[0]))
    rest.lows[key] = least
    return least


def lowest(
    rest: Rest, twists: np.ndarray, witness: np.ndarray, affine: np.ndarray
) -> np.ndarray:  # fmt: skip
    """Return lower bounds (B, pieces) of witness·v̂ − λ0 − λ·x on the pieces of the border."""
    if rest.feet:
        return _at(rest.corners, twists, witness, affine)
    return _on_edges(rest, twists, witness, affine)


def at_rest(q: np.ndarray, witness: np.ndarray, affine: np.ndarray) -> np.ndarray:
    """Return f at the centre of rotation, friction being along whatever is worst."""
    u = witness[:, 0] - witness[:, 2] * q[:, 1]
    v = witness[:, 1] + witness[:, 2] * q[:, 0]
    return -np.hypot(u, v) - affine[:, 0] - (affine[:, 1:] * q).sum(axis=1)


def _at(points, twists, witness, affine) -> np.ndarray:
    """Return f at points, the least possible at those that rest."""
    x, y = points.T
    u, v = twists[:, :1] - twists[:, 2:] * y, twists[:, 1:2] + twists[:, 2:] * x
    a, b = witness[:, :1] - witness[:, 2:] * y, witness[:, 1:2] + witness[:, 2:] * x
    speed, most = np.hypot(u, v), np.hypot(a, b)
    moving = speed > 1e-13 * np.abs(twists).max(axis=1, keepdims=True)
    along = np.where(moving, (a * u + b * v) / np.where(moving, speed, 1.0), -most)
    return along - affine[:, :1] - affine[:, 1:] @ points.T


def _on_edges(rest: Rest, twists, witness, affine) -> np.ndarray:
    start = rest.lines[0]
    long, tx, ty, x, y = rest.tangents
    turn, swing = twists[:, 2:], witness[:, 2:]
    u, v = twists[:, :1] - turn * y, twists[:, 1:2] + turn * x
    a, b = witness[:, :1] - swing * y, witness[:, 1:2] + swing * x
    D, first = u * tx + v * ty, -u * ty + v * tx
    w_along, w_across = a * tx + b * ty, -a * ty + b * tx
    plain = -affine[:, :1] - affine[:, 1:] @ start.T
    rise = -(affine[:, 1:2] * tx + affine[:, 2:] * ty)
    last = first + turn * long
    size = np.hypot(D, np.maximum(np.abs(first), np.abs(last))) + 1e-300
    # Where all of an edge moves alike f is linear there, but for what is quadratic in the change.
    alike = np.abs(turn) * long <= 1e-7 * np.minimum(np.hypot(D, first), np.hypot(D, last))
    with np.errstate(divide="ignore", invalid="ignore"):
        safe = np.where(alike, 1.0, turn)
        B = rise / safe
        A = plain - B * first
        G = swing / safe
        E = w_across - G * first
        C = w_along * D - G * D**2
    low, high = np.minimum(first, last), np.maximum(first, last)
    quad = (G * D**2 - C) * D**2, -3 * E * D**2, G * D**2 + 2 * C
    bend = np.sqrt(np.maximum(quad[1] ** 2 - 4 * quad[0] * quad[2], 0.0))
    with np.errstate(divide="ignore", invalid="ignore"):
        stable = -0.5 * (quad[1] + np.where(quad[1] < 0, -bend, bend))
        roots = np.stack([stable / quad[2], quad[0] / stable], axis=-1)
    roots = np.where(np.isfinite(roots), roots, low[..., None])
    roots = np.sort(np.clip(roots, low[..., None], high[..., None]), axis=-1)
    ends = np.concatenate([low[..., None], roots, high[..., None]], axis=-1)
    terms = tuple(k[..., None] for k in (A, B, G, C, E, D))
    value, slope = _shape(ends, *terms)
    least = value.min(axis=-1)
    left, right = ends[..., :-1], ends[..., 1:]
    dip = (slope[..., :-1] < 0) & (slope[..., 1:] > 0) & (right > left)
    if dip.any():
        at = np.nonzero(dip)
        given = tuple(np.broadcast_to(k, dip.shape)[at] for k in terms)
        bound = _between(left[at], right[at], given)
        np.minimum.at(least, at[:-1], bound)
    # A point at rest within the edge itself.
    on = (np.abs(D) <= 1e-13 * size) & (low <= 0) & (high >= 0) & ~alike
    rest_ = A - np.abs(E)
    least = np.where(on, np.minimum(least, rest_), least)
    # Rounding of f, and what is quadratic in the change along an edge that moves alike.
    ends_ = np.minimum(
        plain + (w_along * D + w_across * first) / np.maximum(np.hypot(D, first), 1e-300),
        plain + rise * long
        + (w_along * D + (w_across + swing * long) * last)
        / np.maximum(np.hypot(D, last), 1e-300),
    )  # fmt: skip
    scale = np.abs(witness).max(axis=1, keepdims=True) + np.abs(affine).max(axis=1, keepdims=True)
    rounds = 4e-16 * (np.abs(A) + (np.abs(B) + np.abs(G)) * size + np.abs(E) + np.abs(w_along))
    return np.where(alike, ends_ - 1e-13 * scale, least - rounds)


def _shape(c, A, B, G, C, E, D):
    """Return f and its slope at places of edges."""
    rho = np.maximum(np.hypot(D, c), 1e-300)
    value = A + B * c + G * rho + (C + E * c) / rho
    with np.errstate(divide="ignore", invalid="ignore"):
        return value, B + G * c / rho + (E * D**2 - C * c) / rho**3


def _between(low, high, terms) -> np.ndarray:
    """Return lower bounds of convex pieces whose slope changes its sign, by Newton's method.

    The least value lies between the ends that are left, and f above its tangent at every place.
    """
    A, B, G, C, E, D = terms
    square = D * D
    first, second = (G * square - C) * square, 3 * E * square
    third = G * square + 2 * C
    speed = np.hypot(D, np.maximum(np.abs(low), np.abs(high)))
    size = np.abs(A) + (np.abs(B) + np.abs(G)) * speed + 1e-300
    # The least value may be at an end, up to rounding.
    value, slope = _shape(np.array([low, high]), *terms)
    under = value - np.abs(slope) * (high - low)
    bound, least = under.max(axis=0), value.min(axis=0)
    if (least - bound <= 1e-12 * size).all():
        return bound
    at = (low + high) / 2
    for _ in range(60):
        value, slope = _shape(at, *terms)
        bound = np.maximum(bound, value - np.abs(slope) * (high - low))
        if (np.minimum(value, least) - bound <= 1e-12 * size).all():
            break
        low, high = np.where(slope < 0, at, low), np.where(slope < 0, high, at)
        with np.errstate(divide="ignore", invalid="ignore"):
            bend = (first - (second - third * at) * at) / (square + at * at) ** 2.5
            new = at - slope / bend
        at = np.where((new > low) & (new < high), new, (low + high) / 2)
    return bound


# -- on a circle -----------------------------------------------------------------------------------

_ARCS = 96
_ROUNDS = 14
# Into how many an arc is divided: what a parabola misses falls with the third power of its length.
_PARTS = 8
_MANY = 4096


def lowest_around(
    rest: Rest, twist: np.ndarray, witness: np.ndarray, affine: np.ndarray, close: float
) -> float:  # fmt: skip
    """Return a lower bound of witness·v̂ − λ0 − λ·x on a circle, to within about `close`.

    Along a circle of radius r a point moves with v, all of whose derivatives have the size |ω| r.
    With κ = |ω| r / |v| at the slowest point of an arc, v̂ changes by at most κ, κ + 2κ² and
    κ + 6κ² + 6κ³ in its first three derivatives, so that a parabola and what the third derivative
    may take from it bound f from below; arcs on which that says too little are divided.
    """
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
