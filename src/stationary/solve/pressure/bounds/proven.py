"""Proof of an interval: no pressure goes beyond its ends by more than a share of them.

Pressures mix and motions follow them without jumps, so that one which went beyond a value would
have others between it and the pressures of the interval that stop at that value. A smooth finger
has a line of motions there, a rough one such a line for each side to which it slides and one single
motion with which it sticks; duals leave no pressure at any of them.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from stationary.errors import StatementError
from stationary.result.pressure import Cover, PressureBounds
from stationary.result.status import Status
from stationary.solve.pressure.duals.lowest import lowest_over
from stationary.solve.pressure.programs.cover import covered
from stationary.solve.pressure.programs.lines import Pencil
from stationary.solve.pressure.programs.programs import Programs
from stationary.solve.pressure.programs.single import EXACT, Single
from stationary.solve.pressure.pushed import Scene
from stationary.solve.pressure.region import Mode
from stationary.solve.pressure.support import Rest

# Sides of the polygon around a disc, on which its proof is made.
_SIDES = 360
# Mixtures of the two edges of a cone that are tried as a witness.
_MIXED = np.linspace(0, np.pi / 2, 9)


def require_share(share: Any) -> None:
    """Refuse what is no share by which a proven interval may be wider."""
    if isinstance(share, bool) or not (isinstance(share, (int, float)) and 0 < share < 1):
        raise StatementError(
            "how much wider the proven interval may be is no share.",
            f"Found prove={share!r}.",
            "Give a small number, as in prove=1e-6.",
        )


def proven_power(bounds: PressureBounds, wide: float, share: float) -> PressureBounds:
    """Return bounds of the power, of which the lower end is proven to a share of it."""
    outer = bounds.low - wide * bounds.low, bounds.high
    if wide <= share and all(d and d.scope for d in (bounds.proof.low, bounds.proof.high)):
        status = Status("proven", "duals at each end hold for every pressure")
    else:
        words = f"proven is the wider interval {outer[0]:.8g} … {outer[1]:.8g} only"
        status = Status(str(bounds.status), words)
    return replace(bounds, outer=outer, status=status)


def proven(
    scene: Scene, bounds: PressureBounds, functional: np.ndarray, rest: float, share: float
) -> PressureBounds:
    """Return bounds with what is proven of them."""
    require_share(share)
    duals = bounds.proof.low, bounds.proof.high
    if all(d is not None and d.scope == "every pressure" for d in duals) and len(scene.modes) == 1:
        words = "one dual at each end holds for every pressure"
        return replace(bounds, outer=(bounds.low, bounds.high), status=Status("proven", words))
    support = _around(scene.rest)
    size = max(abs(bounds.low - rest), abs(bounds.high - rest))
    outer, covers = [], []
    for sign, end in ((-1.0, bounds.low), (1.0, bounds.high)):
        room, covers_ = float(share) * size, []
        while room < 2 * size:
            covers_ = _beyond(support, scene.modes, sign * functional, sign * (end - rest) + room)
            if all(c.proven for c in covers_):
                break
            room *= 10
        good = bool(covers_) and all(c.proven for c in covers_)
        outer.append(end + sign * room if good else sign * np.inf)
        covers += covers_
    kept = replace(bounds.proof, covers=tuple(covers))
    wide = max(bounds.low - outer[0], outer[1] - bounds.high) / size
    if wide <= share * (1 + 1e-6):
        count = sum(len(c.angles) for c in covers)
        words = f"duals at {count} motions leave no pressure that goes beyond by {wide:.0e}"
        status = Status("proven", words)
    else:
        words = f"proven is the wider interval {outer[0]:.8g} … {outer[1]:.8g} only"
        if scene.rest.radius:
            words += ", that of a polygon around the disc"
        status = Status(str(bounds.status), words)
    return replace(bounds, outer=(float(outer[0]), float(outer[1])), proof=kept, status=status)


def _around(rest: Rest) -> Rest:
    """Return a support of which the proof is made: a polygon around a disc, or itself."""
    if not rest.radius:
        return rest
    angle = np.arange(_SIDES) * (2 * np.pi / _SIDES)
    out = rest.radius / np.cos(np.pi / _SIDES)
    return Rest(out * np.stack([np.cos(angle), np.sin(angle)], axis=1) + rest.middle)


def _beyond(rest: Rest, modes: list[Mode], functional: np.ndarray, value: float) -> list[Cover]:
    """Return what leaves no pressure at the motions with a value, mode by mode."""
    covers = []
    for mode in modes:
        if mode.free.shape[1] == 2:
            cover = covered(Pencil(Programs(rest), mode, functional), value)
        else:
            cover = _stuck(rest, mode, functional, value)
        covers.append(cover)
        if not cover.proven:
            break
    return covers


def _stuck(rest: Rest, mode: Mode, functional: np.ndarray, value: float) -> Cover:
    """Return a dual at the one motion with a value with which the finger sticks."""
    none = np.zeros(0), np.zeros((0, 3)), np.zeros((0, 3))
    slope = functional @ mode.free
    if mode.free.shape[1] == 0 or abs(slope[0]) <= 1e-14 * np.abs(functional).max():
        # All motions have one value, and it is another.
        other = float(functional @ mode.base)
        return Cover(value, bool(other < value), *none, value - other)
    way = mode.free[:, 0]
    twist = mode.base + way * ((value - functional @ mode.base) / slope[0])
    single, nothing = Single(rest), np.zeros(3)
    tried = [(way, nothing), (-way, nothing)]
    if mode.cone:
        first, last = mode.cone
        tried += [(-np.cos(a) * first - np.sin(a) * last, way) for a in _MIXED]
    best = -np.inf
    for aim, row in tried:
        answer = single.least(twist, aim, row, rounds=EXACT)
        affine = np.array([0.0, *answer.affine[1:]])
        # With no λ0 the mean of f is the imbalance alone.
        low = lowest_over(rest, twist, answer.witness, -affine)
        best = max(best, low)
        if low > 0:
            return Cover(value, True, np.zeros(1), affine[None], answer.witness[None], low)
    return Cover(value, False, *none, best)
