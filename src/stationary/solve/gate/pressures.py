"""Bounds over pressures: what is said to attain an end rests, moves and pushes as it must."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from scipy.optimize import nnls

from stationary.result.pressure import Dual, Pressure, PressureBounds
from stationary.solve.gate.finding import Finding
from stationary.solve.pressure.pushed import Scene

# What feet at rest give is not more than it has to be where this part of the squares of their
# forces is minimized beside what is left of the balance.
_LEAST = 1e-8
# A centre this close to a border, in sizes of the part, is on it.
_ON = 1e-9
# Points of a border at which a dual is looked at.
_LOOKS = 48


def attained(
    bounds: PressureBounds, scene: Scene, value: tuple[np.ndarray, float] | None,
    own: np.ndarray, rtol: float,
) -> list[Finding]:  # fmt: skip
    """Measure of both ends their pressure, their motion, its balance, and the value that it has.

    `value` is what is bounded as a row on (ẋ, ẏ, φ̇) and the rest of it; None for the power. `own`
    are the motions of the pressures: they have the values of the ends, too.
    """
    claims: list[Finding] = []
    duals = bounds.proof.low, bounds.proof.high
    values = bounds.low, bounds.high
    looked = _looked_at(scene) if any(map(_claims, duals)) else np.zeros((0, 2))
    ends = zip(("lower", "upper"), bounds.pressures, bounds.motions, own, values, duals)
    places = [np.atleast_2d(pressure.points) for pressure in bounds.pressures]
    off = _outside(scene, np.concatenate(places))
    beyond = float(off[: len(places[0])].max()), float(off[len(places[0]) :].max())
    twists = np.linalg.solve(scene.rates, bounds.motions.T).T
    for (name, pressure, v, o, claimed, dual), far, twist in zip(ends, beyond, twists):
        rows = _rates(scene, pressure.points)
        claims += _rests(scene, pressure, far, name, rtol)
        claims += _moves(scene, v, name, rtol)
        known = np.linalg.solve(scene.rates, o), rows
        balanced, power = _balances(scene, pressure, o, known, name, rtol)
        claims += balanced
        if value is None:
            is_, size = power, scene.support.weight * scene.speed
        else:
            row, rest = value
            is_ = max(float(row @ v), float(row @ o), key=lambda k: abs(k + rest - claimed)) + rest
            # Each velocity is as sharp as the fastest that pushes can be seen in it.
            size = float(np.abs(row) @ (np.abs(v) + scene.speed * np.abs(scene.rates).max(axis=1)))
        where = f"at the {name} end"
        claims.append(
            Finding("what is bounded has its value", where, abs(is_ - claimed), rtol * size)
        )
        if dual is not None and _claims(dual):
            fastest = float(np.linalg.norm(rows @ v, axis=1).max())
            motions = twist, known[0], fastest
            claims += _proves(scene, pressure, motions, dual, looked, name, rtol)
    return claims


def _claims(dual: Dual | None) -> bool:
    return dual is not None and bool(dual.scope) and bool(np.isfinite(dual.lowest))


def _proves(
    scene: Scene, pressure: Pressure, motions: tuple[np.ndarray, np.ndarray, float],
    dual: Dual, looked: np.ndarray, name: str, rtol: float,
) -> list[Finding]:  # fmt: skip
    """Measure that f is nowhere negative on the support, as far as looks tell, and zero at loads.

    How low it is between them is bounded where it is made; that tells nothing of other numbers.
    `motions` are the twist of the centre at the end, that of the loads, and how fast the fastest
    of them moves.
    """
    twist, own, fastest = motions
    duals = dual.several if len(dual.several) else np.stack([dual.affine, dual.witness])[None]
    size = float(np.abs(duals).max())
    points, load = np.atleast_2d(pressure.points), np.asarray(pressure.weights)
    x = (np.concatenate([points, looked]) @ scene.turned.T - scene.arm) / scene.size
    across = x[:, ::-1] * [-1, 1]
    at = np.where((np.arange(len(x)) < len(points))[:, None], own, twist)
    moved = at[:, :2] + at[:, 2:] * across
    speed = np.hypot(moved[:, 0], moved[:, 1])
    clear = speed > rtol * max(fastest, scene.speed)
    ways = moved / np.where(clear, speed, 1.0)[:, None]
    every = np.array([
        affine[0] + x @ affine[1:] + ((w[:2] + w[2] * across) * ways).sum(axis=1)
        for affine, w in duals
    ])  # fmt: skip
    every[:, ~clear] = 0.0  # nobody knows which way they go
    low = float(-np.min(every[:, len(points) :], initial=0.0))
    where = f"at the {name} end"
    claims = [Finding("the dual is nowhere negative", where, low, rtol * size)]
    # A finger that sticks has a pressure just before the one of its dual.
    if not len(dual.several) and dual.mode != "sticks":
        off = float(load @ np.abs(every[0, : len(points)])) / scene.support.weight
        claims.append(Finding("the dual vanishes where loads are", where, off, rtol * size))
    return claims


@lru_cache(maxsize=8)
def _looked_at(scene: Scene) -> np.ndarray:
    """Return points that can bear load, in the frame of the part: corners and some between them."""
    support = scene.support
    if support.kind == "disc":
        angle = np.arange(_LOOKS) * (2 * np.pi / _LOOKS)
        return support.radius * np.stack([np.cos(angle), np.sin(angle)], axis=1)
    # A centre on the border of an outline leaves that edge alone.
    corners = scene.own(scene.rest.corners)
    if support.kind == "points":
        return _bearing(scene, corners)
    between = np.linspace(0, 1, max(2, _LOOKS // len(corners)), endpoint=False)[:, None, None]
    ways = np.roll(corners, -1, axis=0) - corners
    return _bearing(scene, (corners + between * ways).reshape(-1, 2))


def _bearing(scene: Scene, points: np.ndarray) -> np.ndarray:
    """Return those that can bear a load: all, or those of a border that the centre is on."""
    # A line through the centre that leaves the whole support on one side is such a border.
    arms = np.asarray(scene.support.points, dtype=float) - np.asarray(scene.support.centre)
    near = _ON * scene.size
    long = np.hypot(arms[:, 0], arms[:, 1])
    far, long = arms[long > near], long[long > near]
    normals = far[:, ::-1] * (-1.0, 1.0) / long[:, None]
    sides = arms @ normals.T
    behind = np.any((np.abs(sides) <= near) & (arms @ far.T <= 0), axis=0)
    for normal in normals[behind & ((sides.min(axis=0) >= -near) | (sides.max(axis=0) <= near))]:
        off = np.abs((points - np.asarray(scene.support.centre)) @ normal)
        points = points[off <= near]
    return points


def _rates(scene: Scene, points: np.ndarray) -> np.ndarray:
    """Return how points of the part move with (ẋ, ẏ, φ̇)."""
    x, y = (np.atleast_2d(points) @ scene.turned.T).T
    rows = np.zeros((len(x), 2, 3))
    rows[:, 0, 0] = rows[:, 1, 1] = 1.0
    rows[:, 0, 2], rows[:, 1, 2] = -y, x
    return rows


def _rests(
    scene: Scene, pressure: Pressure, beyond: float, name: str, rtol: float
) -> list[Finding]:  # fmt: skip
    """Measure that a pressure pushes, on the support, with the part's weight, below its centre."""
    points, weights = np.atleast_2d(pressure.points), np.asarray(pressure.weights)
    support, where = scene.support, f"at the {name} end"
    centre = np.asarray(support.centre)
    off = np.abs(weights @ points / support.weight - centre).max()
    return [
        Finding("loads push", where, float(max(-weights.min(), 0.0)), rtol * support.weight),
        Finding("loads are the weight", where, abs(float(weights.sum()) - support.weight),
                rtol * support.weight),
        Finding("loads rest below the centre", where, float(off), rtol * scene.size),
        Finding("loads rest on the support", where, beyond, rtol * scene.size),
    ]  # fmt: skip


def _outside(scene: Scene, points: np.ndarray) -> np.ndarray:
    """Return how far points are from where the part may rest."""
    support, corners = scene.support, np.asarray(scene.support.points, dtype=float).reshape(-1, 2)
    if support.kind == "disc":
        return np.maximum(np.hypot(points[:, 0], points[:, 1]) - support.radius, 0.0)
    arm = points[:, None] - corners
    if support.kind == "points":
        return np.hypot(arm[..., 0], arm[..., 1]).min(axis=1)
    ends = np.concatenate([corners[1:], corners[:1]])
    way = ends - corners
    share = np.clip((arm * way).sum(axis=2) / (way**2).sum(axis=1), 0.0, 1.0)
    off = arm - share[..., None] * way
    near = np.hypot(off[..., 0], off[..., 1]).min(axis=1)
    # Edges that a ray to the right crosses tell whether it is inside.
    (x, y), (x1, y1), (x2, y2) = points.T[..., None], corners.T, ends.T
    crossed = (y1 > y) != (y2 > y)
    with np.errstate(divide="ignore", invalid="ignore"):
        right = x < x1 + (y - y1) / (y2 - y1) * (x2 - x1)
    return np.where(np.count_nonzero(crossed & right, axis=1) % 2, 0.0, near)


def _moves(scene: Scene, v: np.ndarray, name: str, rtol: float) -> list[Finding]:
    """Measure that a motion obeys constraints, and does not enter what pushes."""
    A, b, G, g, *_ = scene.rows
    shares: list[tuple[float, float, float]] = []
    # Each velocity is as sharp as what pushes is seen in it: all parts of a row may be rounding.
    fast = np.abs(v) + scene.speed * np.abs(scene.rates).max(axis=1)
    for rows, rate in ((A, b), (G, g)):
        if len(rows):
            size = np.abs(rows) @ fast + np.abs(rate)
            left = np.abs(rows @ v + rate)
            shares += zip((left / np.maximum(size, 1e-300)).tolist(), left.tolist(), size.tolist())
    _, off, size = max(shares, key=lambda k: (k[0] != k[0], k[0]))
    return [Finding("velocities obey what pushes", f"at the {name} end", off, rtol * size)]


def _balances(
    scene: Scene, pressure: Pressure, v: np.ndarray, known: tuple[np.ndarray, np.ndarray],
    name: str, rtol: float,
) -> tuple[list[Finding], float]:  # fmt: skip
    """Measure what friction leaves that neither pushers within their cones nor feet at rest give.

    In twists about the centre, lengths in sizes of the part and forces in its weight. With that,
    what the pushers give: what feet and sliding pushers take. `known` is the scaled twist, and
    how loads move with (ẋ, ẏ, φ̇).
    """
    A, _, G, _, S, (s, grip) = scene.rows
    scaled = scene.rates
    rows = known[1] @ scaled
    slip = rows @ known[0]
    speed, load = np.linalg.norm(slip, axis=1), np.asarray(pressure.weights) / scene.support.weight
    # Of a foot slower than velocities are told nobody knows the way it goes.
    resting = speed <= rtol * max(float(speed.max()), scene.speed)
    moving = np.where(resting, 0.0, load / np.where(resting, 1.0, speed))
    pull = (moving[:, None] * slip).ravel() @ rows.reshape(-1, 3)
    gives = [sign * row @ scaled for row in A for sign in (1.0, -1.0)]
    rubs = [0.0] * len(gives)
    for row, along, drift, mu in zip(G, S, s, grip):
        slides = float(along @ v + drift)
        # One that slides leans against its slip by all of its friction; one that sticks either way.
        # Its slip is told beside how fast it pushes: all parts of it may be rounding.
        fast = (np.abs(along) + np.abs(row)) @ np.abs(v) + abs(drift)
        moves = abs(slides) > rtol * fast
        sides = (-np.sign(slides),) if moves else (1.0, -1.0)
        gives += [(row + side * mu * along) @ scaled for side in sides]
        rubs += [mu * abs(slides) if moves else 0.0] * len(sides)
    pushers = np.array(gives).reshape(-1, 3).T
    lengths = np.linalg.norm(pushers, axis=0)
    pushers = pushers / np.where(lengths > 0, lengths, 1.0)
    if pushers.shape[1] == 1 and not resting.any():
        # One pusher alone gives what is along it.
        push = max(float(pushers[:, 0] @ pull), 0.0)
        left, above, forces = (
            float(np.abs(push * pushers[:, 0] - pull).max()),
            0.0,
            np.array([push]),
        )
    else:
        left, above, forces = _held(pushers, rows[resting], load[resting], pull, rtol)
    where = f"at the {name} end"
    rubbed = forces[: len(lengths)] / np.where(lengths > 0, lengths, 1.0) @ np.array(rubs)
    return [
        Finding("friction and what pushes balance", where, left, rtol),
        Finding("feet at rest hold no more than their limit", where, above, rtol),
    ], scene.support.weight * float(load @ speed + rubbed)


def _held(
    pushers: np.ndarray, rows: np.ndarray, load: np.ndarray, pull: np.ndarray, rtol: float
) -> tuple[float, float, np.ndarray]:
    """Return what pushers and feet at rest leave, by how much feet exceed limits, and forces."""
    # What feet at one place hold is shared as their limits are.
    share = load / max(load.max(initial=0.0), 1e-300)
    held = (rows * share[:, None, None]).transpose(2, 0, 1).reshape(3, -1)
    held = np.hstack([held, -held])
    whole = np.hstack([pushers, held])

    def tried(least: float) -> tuple[float, float, np.ndarray]:
        small = np.zeros((held.shape[1], whole.shape[1]))
        small[:, pushers.shape[1] :] = np.sqrt(least) * np.eye(held.shape[1])
        forces, _ = nnls(np.vstack([whole, small]), np.append(pull, np.zeros(len(small))))
        both = forces[pushers.shape[1] :].reshape(2, -1, 2)
        above = share * np.linalg.norm(both[0] - both[1], axis=1) - load
        return float(np.abs(whole @ forces - pull).max()), float(above.max(initial=0.0)), forces

    # Forces of feet at rest are as large as they have to be; that costs a little of the balance.
    best = tried(0.0)
    if held.size and max(best[:2]) > rtol:
        best = min(best, tried(_LEAST), key=lambda x: max(x[:2]))
    return best
