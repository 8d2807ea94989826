"""Mirror images of a configuration: what a symmetry of the statement would make of it."""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from stationary.solve.rest.box_search import Box

# Most coordinates of which pairs are exchanged.
_PAIRS_UP_TO = 24


def images(q: np.ndarray, box: Box) -> np.ndarray:
    """Return images of places under reflections and exchanges that stay in a box.

    Coordinates are turned round one by one, two by two and all together, about zero and about the
    middle of the box, exchanged in pairs, put into the reverse order and shifted round; angles that
    leave the box are turned back by whole turns. Whether an image is an equilibrium is for the
    equations to say.
    """
    n = q.shape[1]
    middle = box.middle
    every = []
    for order, signs in _maps(n, box.places):
        for about in (
            (np.zeros(n), middle) if np.any(middle) and np.any(signs < 0) else (np.zeros(n),)
        ):
            image = np.where(signs < 0, 2 * about - q[:, order], q[:, order])
            every.append(_turned(image, box))
    mirrored = np.vstack(every) if every else np.empty((0, n))
    return mirrored[box.inside(mirrored, 0.0)]


def _maps(n: int, places: np.ndarray):
    """Yield orders of coordinates, and signs."""
    plain, ones = np.arange(n), np.ones(n)
    k = len(places)
    few = k <= _PAIRS_UP_TO
    for i in places if few else ():
        yield plain, np.where(plain == i, -1.0, 1.0)
    all_of_them = ones.copy()
    all_of_them[places] = -1.0
    yield plain, all_of_them
    for i, j in combinations(places, 2) if few else ():
        yield plain, np.where((plain == i) | (plain == j), -1.0, 1.0)
        swapped = plain.copy()
        swapped[[i, j]] = j, i
        yield swapped, ones
        yield swapped, all_of_them
    orders = [places[::-1], *(np.roll(places, s) for s in range(1, k if few else 2))]
    for order in orders if k > 2 else ():
        moved = plain.copy()
        moved[places] = order
        yield moved, ones
        yield moved, all_of_them


def _turned(q: np.ndarray, box: Box) -> np.ndarray:
    """Turn coordinates that have left the box back by whole turns, if they then are in it."""
    q = q.copy()
    part = q[:, box.places]
    middle = (box.low + box.high) / 2
    turns = np.round((part - middle) / (2 * np.pi))
    out = (part < box.low) | (part > box.high)
    q[:, box.places] = np.where(out, part - 2 * np.pi * turns, part)
    return q
