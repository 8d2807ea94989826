"""Readings that are off together: frames turned or shifted, a sensor that shows some force at none.

A fit takes up part of what such an error does. What it leaves over has the shape of the error, and
how much less would be left without it is told by the slope of what is left: a score test, at which
loads follow. Only what chance does once in a hundred thousand trials is worth a word.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.stats import f

from stationary.model.finger_contact import contact
from stationary.model.polygon import area
from stationary.model.push import Push
from stationary.model.system import System
from stationary.solve.linear import orthonormal
from stationary.solve.pressure.weighing.apart import slope
from stationary.solve.pressure.weighing.search import Fitted, Search
from stationary.solve.pressure.weighing.uncertain import uncertain

_CHANCE = 1e-5
# What is shown of an error is so many times its own standard error.
_CLEAR = 4.0
# Beyond these shares of lengths, and these angles and sizes of the part, a slope says nothing.
_MOST = (0.15, 0.5)
# A motion that is said to be without errors is read to this share of itself.
_EXACT = 1e-4
# Points within this share of the size of an outline are on it; others are aside.
_ON, _FAR = 0.02, 0.15
# What normals are off the edges of an outline by, in radians, is worth a word.
_TURNED = np.radians(3.0)


def offset(search: Search, fitted: Fitted) -> str:
    """Return in words which frames seem to be off; "" if none does clearly."""
    known = uncertain(search, fitted)
    measured, count = search.measured, len(fitted.load)
    columns = fitted.J.shape[1]
    scale = np.append(np.full(count, fitted.load.sum() / count), 1.0)[:columns]
    own = fitted.J * scale @ search.ways(columns)
    across = orthonormal(own) if own.shape[1] else own
    best, words = _CHANCE, ""
    for name, readings in _readings(search).items():
        D = np.stack([slope(search, fitted, reading) for reading in readings], axis=1)
        D, r = D - across @ (across.T @ D), fitted.r - across @ (across.T @ fitted.r)
        U, s, V = np.linalg.svd(D, full_matrices=False)
        clear = s > 1e-6 * max(s.max(initial=0.0), 1e-300)
        along = (U.T @ r)[clear]
        free = known.dof - len(along)
        if free < 1 or not len(along):
            continue
        left = max(float(measured.motions(r) @ measured.motions(r) - along @ along), 0.0)
        # Errors are no smaller than was stated.
        unit = max(left / free, _EXACT**2 if measured.relative else 1.0)
        chance = float(f.sf(along @ along / len(along) / unit, len(along), free))
        if chance < best:
            off = -(V[clear].T / s[clear]) @ along
            error = np.sqrt(unit * ((V[clear].T / s[clear]) ** 2).sum(axis=1))
            size = measured.usual_force if name == "forces" else measured.size
            said = _said(name, off, error, size, len(along) == len(off))
            best, words = (chance, said) if said else (best, words)
    return words


# How readings may be off, and by what each of its numbers changes them.
_OTHERS = {
    "motions": [{"motions": (1, 0, 0)}, {"motions": (0, 1, 0)}, {"motions": (0, 0, 1)}],
    "pushes": [{"motions": (1, 0, 0), "fingers": (1, 0, 0)},
               {"motions": (0, 1, 0), "fingers": (0, 1, 0)},
               {"motions": (0, 0, 1), "fingers": (0, 0, 1)}],
    "normals": [{"normals": 1.0}],
    "lengths": [{"longer": 1.0}],
}  # fmt: skip


def _readings(search: Search) -> dict[str, list[dict[str, Any]]]:
    """Return how these readings may be off: their forces, too, where they were measured."""
    measured = search.measured
    if not np.any(measured.pressed):
        return _OTHERS
    if not np.any(measured.felt):
        return {**_OTHERS, "forces": [{"forces": (1, 0, 0)}]}
    shifts = [{"forces": (1, 0, 0)}, {"forces": (0, 1, 0)}]
    return {**_OTHERS, "forces": shifts, "ways of the forces": [{"forces": (0, 0, 1)}]}


def _said(name: str, off: np.ndarray, error: np.ndarray, size: float, whole: bool) -> str:
    """Say what readings are to be changed by: only what is clearly there, and not too large."""
    clear = np.abs(off) > _CLEAR * error
    most = np.full(len(off), _MOST[0] if name == "lengths" else _MOST[1])
    if not clear.any() or not whole or np.any(np.abs(off) > most):
        return ""
    if name == "forces":
        by = ", ".join(f"{size * x:.2g}" for x in off)
        return f"{f'({by})' if len(off) > 1 else by} is added to the forces"
    if name == "lengths":
        return f"the lengths of the motions are multiplied by {1 + off[0]:.3g}"
    turn = f"turned by {np.degrees(off[-1]):.2g}°"
    if name in ("normals", "ways of the forces"):
        return f"the {name} are {turn}"
    x, y = size * off[:2]
    moved = bool(clear[:2].any())
    if name == "motions":
        seen = [turn] * bool(clear[2]) + [
            f"those of the point ({x:.2g}, {y:.2g}) of the part"
        ] * moved
        return f"the motions are {' and '.join(seen)}"
    seen = [turn] * bool(clear[2]) + [f"shifted by ({x:.2g}, {y:.2g})"] * moved
    return f"points, normals and motions are {' and '.join(seen)}"


def aside(part: System, pushes: Sequence[Push], names: Sequence[int]) -> str:
    """Say which pushes touch beside the outline of the part, where the others touch it."""
    supports = [p.support for p in part.parts if p.support is not None]
    if not supports or supports[0].kind != "outline":
        return ""
    corners = np.array(supports[0].points)
    corners = corners if area(corners) > 0 else corners[::-1]
    size = float(np.hypot(*(corners - corners.mean(axis=0)).T).max())
    points = np.array([p.point for p in pushes])
    place, normal, _, gap = contact(corners, np.zeros((len(points), 3)), points, 0.0)
    gap = np.abs(gap) / size
    if np.median(gap) > _ON:
        # The finger touches something else than what rests on the table.
        return ""
    words, off = "", np.flatnonzero((gap > _ON) & (gap < _FAR))
    if len(off):
        named = ", ".join(str(names[int(k)]) for k in off[:5]) + " …" * (len(off) > 5)
        words += f"; push {named} touches up to {size * gap[off].max():.2g} beside the outline"
    way = np.array([p.normal for p in pushes])
    turned = np.arctan2(normal[:, 0] * way[:, 1] - normal[:, 1] * way[:, 0],
                        (normal * way).sum(axis=1))  # fmt: skip
    # At a corner a finger pushes along any direction between two.
    inner = np.min(np.linalg.norm(place[:, None] - corners, axis=2), axis=1) > _ON * size
    off = np.flatnonzero(inner & (np.abs(turned) > _TURNED) & (gap <= _ON))
    if len(off):
        named = ", ".join(str(names[int(k)]) for k in off[:5]) + " …" * (len(off) > 5)
        words += (f"; the normal of push {named} is {np.degrees(np.median(turned[off])):.2g}° off "
                  "that of the outline")  # fmt: skip
    return words
