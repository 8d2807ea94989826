"""Fingers that are seen beside the outline they touch: what that leaves open, and how it may be."""

from __future__ import annotations

from typing import Any

import numpy as np

from stationary.model.push import Push
from stationary.solve.pressure.weighing.measured import Measured
from stationary.solve.pressure.weighing.search import Fitted, Search

# What is worth a word, in sizes of the part; what leaves less than this share of it explains it.
_OFF, _EXPLAINED = 0.005, 0.3
# Readings are changed by this to see what is left then: in radians, sizes of the part, or shares.
_STEP = 1e-5
# The frame of points and normals, shifted and turned; tips that are shifted on the table, or late.
_FRAME = [{"fingers": (1, 0, 0)}, {"fingers": (0, 1, 0)}, {"fingers": (0, 0, 1)}]
_TIPS = [{"tips": (1, 0, 0)}, {"tips": (0, 1, 0)}, {"tips": (0, 0, 1)}]
# What lets fingers touch, and which of those may be off by as much.
_LARGER = "radius= of the finger is larger by {}, or its clock is off"
_SHIFTED = "feet and outline are shifted by ({}, {})"
_TURNED = "feet and outline are turned by {}°"
_ON_TABLE = "the tip is shifted by ({}, {}) on the table"
_MOVES = {_SHIFTED: (0, 1), _TURNED: (2,), _ON_TABLE: (3, 4)}


def slope(search: Search, fitted: Fitted, reading: dict[str, Any]) -> np.ndarray:
    """Return how what is left changes with the way in which pushes are read."""
    sides = []
    for way in (_STEP, -_STEP):
        changed: dict[str, Any] = {word: tuple(way * np.array(by)) if np.ndim(by) else way * by
                                   for word, by in reading.items()}  # fmt: skip
        sides.append(search.measured.shifted(**changed).residuals(fitted.load, fitted.mu)[0])
    return (sides[0] - sides[1]) / (2 * _STEP)


def unsure(search: Search, fitted: Fitted, spread: np.ndarray) -> np.ndarray:
    """Return changes of the unknowns, one per column, if places err as much as gaps are wide.

    A finger that is seen beside the outline may be as far off along it, in all pushes alike: their
    number does not help. `spread` are independent changes of unit likelihood.
    """
    off = _off(search.measured)
    if not off > 0:
        return np.zeros((len(spread), 0))
    tracked = any(p.before is not None for p in search.measured.pushes)
    ways = [*_FRAME, *(_TIPS if tracked else ())]
    D = np.stack([slope(search, fitted, reading) for reading in ways], axis=1)
    # What explains the gaps may be more than they are: along an edge it makes none.
    name, by = _explained(search.measured)
    far = np.full(len(ways), off)
    for k in _MOVES.get(name, ()):
        far[k] = max(off, float(np.linalg.norm(by)))
    return spread @ (spread.T @ (fitted.J.T @ (far * D)))


def _seen(measured: Measured) -> tuple[list[Push], np.ndarray, np.ndarray, np.ndarray]:
    """Return the pushes with gaps, and in sizes of the part gaps, normals and their levers."""
    pushes = [p for p in measured.pushes if p.gap is not None]
    normal = np.array([p.normal for p in pushes]).reshape(-1, 2)
    normal = normal / np.hypot(*normal.T)[:, None]
    x, y = np.array([p.point for p in pushes]).reshape(-1, 2).T / measured.size
    gaps = np.array([p.gap for p in pushes]) / measured.size
    return pushes, gaps, normal, normal[:, 1] * x - normal[:, 0] * y


def _off(measured: Measured) -> float:
    """Return how wide gaps are beyond what errors of the readings explain."""
    pushes, gaps, _, lever = _seen(measured)
    if not len(gaps):
        return 0.0
    # A displacement errs by √12 times as much as the mean of its readings.
    noise = np.array([p.noise[:2] if p.noise else (0.0, 0.0) for p in pushes])
    chance = ((noise[:, 0] / measured.size) ** 2 + (noise[:, 1] * lever) ** 2) / 12
    return float(np.sqrt(max(np.mean(gaps**2 - chance), 0.0)))


def beside(measured: Measured) -> str:
    """Say by what fingers are off the outline, and how they would touch it; "" if they do."""
    if _off(measured) < _OFF:
        return ""
    widest = measured.size * float(np.abs(_seen(measured)[1]).max())
    words = f"; the finger is {widest:.2g} off the outline"
    name, off = _explained(measured)
    scale = 180 / np.pi if "°" in name else measured.size
    said = name.format(*(f"{scale * a:.2g}" for a in off))
    return words + f", and touches it if {said}" * bool(said)


def _explained(measured: Measured) -> tuple[str, np.ndarray]:
    """Return what would let fingers touch that are off the outline, and by how much; "" if none."""
    if _off(measured) < _OFF:
        return "", np.zeros(0)
    pushes, gaps, normal, turning = _seen(measured)
    ways: dict[str, np.ndarray] = {
        _LARGER: -np.ones((len(pushes), 1)), _SHIFTED: normal, _TURNED: turning[:, None]
    }  # fmt: skip
    if all(p.before is not None for p in pushes):
        table = measured.of(list(pushes)).tables
        ways[_ON_TABLE] = -np.einsum("bkj,bj->bk", table, normal)
    least, best = _EXPLAINED**2 * float(gaps @ gaps), ("", np.zeros(0))
    for name, A in ways.items():
        off, _, rank, _ = np.linalg.lstsq(A, -gaps, rcond=1e-3)
        left = float(np.sum((gaps + A @ off) ** 2))
        if rank == A.shape[1] and left < least:
            least, best = left, (name, off)
    return best
