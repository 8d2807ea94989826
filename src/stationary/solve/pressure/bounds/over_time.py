"""A whole push: the distance until an edge lies at a fence, and the states that can be reached."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from stationary.errors import StatementError
from stationary.model.system import System
from stationary.result.status import Status
from stationary.solve.pressure.pushed import Scene

_ANGLES = 12
# Angles at which the band of a whole push is told.
_BAND = 41


def advance_of(part: System, scene: Scene, at: Any, params: Any, t: float, ask: Any) -> Any:
    """Bound how far a fence advances until the next edge of the outline lies at it.

    The slowest and the fastest rotation at every angle between now and then, integrated over the
    angle by Gauss and Legendre; a pressure that is slowest at one angle need not be at the next, so
    that the bounds are safe rather than attained.
    """
    x, y, phi = part.coordinates
    now = ask(part, of=phi.dot, at=at, params=params, t=t)
    if now.proof.turns == "not at all" or now.low <= 0 <= now.high:
        raise StatementError(
            "the part need not turn towards the fence.",
            f"Found rates of turning from {now.low:.4g} to {now.high:.4g}.",
            "Push so that all pressures turn it the same way.",
        )
    normal, corner, speed = _fence(scene)
    sense = float(np.sign(now.low))
    final = _aligned(scene, normal, corner, sense)
    nodes, weights = np.polynomial.legendre.leggauss(_ANGLES)
    slowness = np.zeros((2, _ANGLES))
    for k, node in enumerate(nodes):
        angle = float(scene.q[2] + (final - scene.q[2]) * (node + 1) / 2)
        # The corner stays where it is at the fence; only the angle counts.
        turn = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
        place = scene.q[:2] + scene.turned @ corner - turn @ corner
        bounds = ask(
            part, of=phi.dot, at={x: place[0], y: place[1], phi: angle}, params=params, t=t
        )
        rates = sorted((abs(bounds.low), abs(bounds.high)))
        slowness[:, k] = 1 / rates[1], 1 / rates[0]
    half = abs(final - scene.q[2]) / 2 * speed
    low, high = half * (slowness @ weights)
    # In between the polynomial through the same angles, integrated.
    places = np.linspace(-1, 1, _BAND)
    degree = np.arange(_ANGLES)
    shapes = np.polynomial.legendre.legvander(nodes, _ANGLES - 1)
    terms = (2 * degree + 1) / 2 * ((slowness * weights) @ shapes)
    ways = [np.polynomial.legendre.legval(places, np.polynomial.legendre.legint(c, lbnd=-1))
            for c in terms]  # fmt: skip
    angles = scene.q[2] + (final - scene.q[2]) * (places + 1) / 2
    return replace(
        now, of="advance", low=float(low), high=float(high), pressures=(),
        band=np.column_stack([angles, half * ways[0], half * ways[1]]),
        proof=now.proof.uncertified("the fastest and the slowest at every angle, added up"),
        status=Status("conservative", "the slowest and the fastest pressure at every angle: no "
                      "single pressure need have them all"),
    )  # fmt: skip


def _fence(scene: Scene) -> tuple[np.ndarray, np.ndarray, float]:
    """Return the direction in which the fence pushes, the corner at it, and its speed."""
    _, _, G, g, _, _ = scene.rows
    if len(G) != 1:
        raise StatementError(
            "there is no fence that advances.",
            f"Found {len(G)} contacts that touch.",
            "Push by st.Pusher(point=…, corner=…, normal=…).",
        )
    force = G[0]
    normal = force[:2] / np.hypot(*force[:2])
    lever = force[2] / np.hypot(*force[:2])
    corners = np.array(scene.support.points) @ scene.turned.T
    if not len(corners):
        raise StatementError("a disc has no edge to align.", "Found radius=.", "Give an outline.")
    off = np.abs(corners[:, 0] * normal[1] - corners[:, 1] * normal[0] - lever)
    k = int((corners @ normal).argmin())
    if off[k] > 1e-6 * scene.size:
        raise StatementError(
            "what pushes is not at the foremost corner of the part.",
            f"Found a corner {off[k]:.3g} beside the line of its force.",
            "Push by a fence, st.Pusher(point=…, corner=…, normal=…), at the corner of the outline "
            "that is first in its way.",
        )
    speed = float(-g[0] / np.hypot(*force[:2]))
    return normal, np.array(scene.support.points)[k], speed


def _aligned(scene: Scene, normal: np.ndarray, corner: np.ndarray, sense: float) -> float:
    """Return the angle at which another corner comes to the fence: an edge of the hull is at it."""
    arms = np.array(scene.support.points) - corner
    arms = arms[np.hypot(*arms.T) > 1e-9 * scene.size]
    now = np.arctan2(arms[:, 1], arms[:, 0]) + scene.q[2]
    ahead = np.arctan2(normal[1], normal[0])
    # Seen from the corner all others are before the fence; they turn until the first is along it.
    turn = np.pi / 2 - sense * ((now - ahead + np.pi) % (2 * np.pi) - np.pi)
    return float(scene.q[2] + sense * turn.min())
