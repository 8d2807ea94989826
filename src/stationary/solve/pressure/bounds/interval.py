"""The greatest of a functional of the motion, over all modes of a finger and all pressures."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache

import numpy as np

from stationary.errors import DidNotConverge, NoMotion, say
from stationary.solve.pressure.duals.certificate import certified
from stationary.solve.pressure.extremes.extremes import Extremes, Starts
from stationary.solve.pressure.extremes.polish import Summit
from stationary.solve.pressure.pushed import Scene
from stationary.solve.pressure.region import Mode, spread

# Values that differ by less, of the fastest that scaled parts do, are the same.
_SAME = 1e-10


def extremes(
    scene: Scene, functional: np.ndarray
) -> tuple[tuple[Mode, Summit], tuple[Mode, Summit]]:
    """Return the least and the greatest of a functional over all modes and pressures."""
    # What is known of dual functions belongs to a question.
    scene.rest.lows.clear()
    hunts = [Extremes(scene.rest, k.mode, k) for k in _starts(scene)]
    return greatest(scene, -functional, hunts), greatest(scene, functional, hunts)


@lru_cache(maxsize=8)
def _starts(scene: Scene) -> list[Starts]:
    """Return what questions about one configuration share."""
    return [Starts(scene.rest, mode) for mode in scene.modes]


def greatest(
    scene: Scene, functional: np.ndarray, hunts: list[Extremes] | None = None
) -> tuple[Mode, Summit]:  # fmt: skip
    """Return the motion with the greatest value of a functional, and its mode."""
    through = _through(scene)
    if through is not None:
        return through
    functional = functional / (np.abs(functional).max() or 1.0)
    tops: list[tuple[float, Mode, Summit]] = []
    hunts = hunts or [Extremes(scene.rest, mode) for mode in scene.modes]
    # What goes further leaves less to look for in other modes: a finger that sticks is asked first,
    # and once more where none does but one that slides stops.
    order = sorted(hunts, key=lambda k: -k.seen(functional))
    for hunt in (*order, *(k for k in order if not k.plane)):
        if not hunt.plane:
            hunt.stuck = [twist for k in hunts for twist in k.stuck if k.plane]
            if any(mode is hunt.mode for _, mode, _ in tops):
                continue
        summit = hunt.greatest(functional, max((value for value, *_ in tops), default=-np.inf))
        if summit is not None:
            summit = replace(summit, functional=functional)
            tops.append((float(functional @ summit.twist), hunt.mode, summit))
    if not tops and any(m.free.shape[1] == 2 for m in scene.modes):
        # A finger that advances always moves a part: only the search can have failed.
        raise DidNotConverge(
            say(
                "the search for the ends of the interval stopped before it found them.",
                f"Found none among the motions of: {', '.join(m.name for m in scene.modes)}.",
                "Ask where the push passes the centre by more, or give an outline that is less "
                "thin.",
            ),
            status="not found",
        )
    if not tops:
        raise NoMotion(
            say(
                "no pressure lets the part move.",
                f"Found none for {', '.join(m.name for m in scene.modes)}.",
                "Check the direction in which it is pushed, and the friction of the finger.",
            ),
            kind="jammed",
        )
    most, mode, summit = max(tops, key=lambda x: x[0])
    close = _SAME * float(np.abs(summit.twist).max())
    alike = [(mode, summit) for value, mode, summit in tops if value > most - close]
    if len(alike) > 1:
        # Where a finger begins to slide, two modes have the same motion: who can prove it tells.
        proven = (k for k in alike if certified(scene.rest, *k, functional).scope)
        mode, summit = next(proven, (mode, summit))
    return mode, summit


def _through(scene: Scene) -> tuple[Mode, Summit] | None:
    """Return the translation that every pressure allows to a push through the centre."""
    modes = scene.modes
    if len(modes) != 1 or modes[0].force is None or modes[0].free.shape[1] != 2:
        return None
    force = modes[0].force
    if abs(force[2]) > 1e-12 * np.hypot(force[0], force[1]):
        return None
    way = np.array([force[0], force[1], 0.0])
    twist = way * ((force @ modes[0].base) / (force @ way))
    points, masses = spread(scene.rest)
    return modes[0], Summit(twist, points, masses, kind="translation")
