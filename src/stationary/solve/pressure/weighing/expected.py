"""What loads make of pushes: motions of least power, forces of the finger, and how both change."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from stationary.result.least_power import followed, jacobians, motions
from stationary.solve.linear import ways_across


def turned(way: np.ndarray) -> np.ndarray:
    """Return the direction of an edge whose part lies along `way`."""
    return np.stack([way[..., 1], -way[..., 0]], axis=-1)


def carried(twist: np.ndarray, place: np.ndarray) -> np.ndarray:
    """Return the velocity of a point of the part."""
    return np.stack([twist[..., 0] - twist[..., 2] * place[..., 1],
                     twist[..., 1] + twist[..., 2] * place[..., 0]], axis=-1)  # fmt: skip


def _wrench(place: np.ndarray, way: np.ndarray) -> np.ndarray:
    return np.column_stack([way, place[:, 0] * way[:, 1] - place[:, 1] * way[:, 0]])


@dataclass(frozen=True)
class Support:
    """What a part rests on: points (patches of an area, or feet), and shapes of its pressure."""

    x: np.ndarray
    shapes: np.ndarray
    patch: np.ndarray | None = None


@dataclass(frozen=True)
class Fingers:
    """Where fingers touch, along what they push, and how: `side` is where they slide to.

    One that slides, or is smooth, pushes along a known line: its motion is known up to its speed.
    One that sticks pushes in an unknown direction: known is how its contact moves.
    """

    place: np.ndarray
    normal: np.ndarray
    sticks: np.ndarray
    side: np.ndarray
    moves: np.ndarray

    @staticmethod
    def smooth(place: np.ndarray, normal: np.ndarray) -> Fingers:
        """Return fingers without friction."""
        none = np.zeros(len(place))
        return Fingers(place, normal, none > 0, none, np.zeros((len(place), 2)))

    def lines(self, mu: float) -> np.ndarray:
        """Return the wrenches of the fingers, up to their sizes."""
        way = self.normal + (mu * self.side)[:, None] * turned(self.normal)
        return _wrench(self.place, way)


@dataclass(frozen=True)
class Expected:
    """Motions of unit drive, or of the measured contact where it sticks; forces of the finger.

    Attributes
    ----------
    twist, slope : ndarray, shapes (pushes, 3) and (pushes, 3, loads + 1)
        The last column is the change with the friction of the finger.
    force, force_slope : ndarray, shapes (pushes, 2) and (pushes, 2, loads + 1)
        Along the normal and along the edge.
    follows, force_follows : ndarray, shapes (pushes, 3, 2) and (pushes, 2, 2)
        How motions and forces follow the velocity of a contact that sticks.
    """

    twist: np.ndarray
    slope: np.ndarray
    force: np.ndarray
    force_slope: np.ndarray
    follows: np.ndarray
    force_follows: np.ndarray


def expected(
    support: Support, fingers: Fingers, load: np.ndarray, mu: float, near: np.ndarray | None = None
) -> Expected:
    """Return the motions of least power under loads, close to some if these are given."""
    count, loads = len(fingers.place), len(load)
    twist, resting = np.zeros((count, 3)), np.full(count, -1)
    weights, lines = support.shapes @ load, fingers.lines(mu)
    for stuck in (False, True):
        rows = np.flatnonzero(fingers.sticks == stuck)
        if len(rows):
            base, free = _ways(fingers, lines, rows, stuck)
            twist[rows], resting[rows] = _least(support, weights, base, free, lines[rows], stuck,
                                              None if near is None else near[rows])  # fmt: skip
    power, pull, share, bend = _bent(support, weights, twist)
    slope, follows = np.zeros((count, 3, loads + 1)), np.zeros((count, 3, 2))
    follows[:, 0, 0] = follows[:, 1, 1] = 1.0
    edge = turned(fingers.normal)
    change = _wrench(fingers.place, fingers.side[:, None] * edge)
    drift = (change * twist).sum(axis=1)
    for stuck in (False, True):
        rows = np.flatnonzero((fingers.sticks == stuck) & (resting < 0))
        if not len(rows):
            continue
        _, free = _ways(fingers, lines, rows, stuck)
        across = free.transpose(0, 2, 1)
        stiff = np.linalg.pinv(across @ bend[rows] @ free, rcond=1e-12, hermitian=True)
        slope[rows, :, :loads] = -free @ (stiff @ (across @ share[rows]))
        if stuck:
            follows[rows] -= free @ (stiff @ (across @ bend[rows, :, :2]))
        else:
            # The line turns: the motion keeps its drive of one and its force along the line.
            line = lines[rows]
            kept = -drift[rows, None] * line / (line**2).sum(axis=1)[:, None]
            right = power[rows, None] * change[rows] - np.einsum("bij,bj->bi", bend[rows], kept)
            slope[rows, :, loads] = kept + (free @ (stiff @ (across @ right[..., None])))[..., 0]
    # At a minimum its value does not change with the motion: power is the force of unit drive.
    frame = np.stack([fingers.normal, edge], axis=1)
    force = np.stack([power, mu * fingers.side * power], axis=1)
    first = np.concatenate([pull, -(power * drift)[:, None]], axis=1)
    force_slope = np.stack([first, (mu * fingers.side)[:, None] * first], axis=1)
    force_slope[:, 1, loads] += fingers.side * power
    force_follows = np.zeros((count, 2, 2))
    rows = np.flatnonzero(fingers.sticks)
    if len(rows):
        given = np.concatenate([share[rows], np.zeros((len(rows), 3, 1))], axis=2)
        given = given + bend[rows] @ slope[rows]
        force[rows] = np.einsum("bij,bj->bi", frame[rows], share[rows, :2] @ load)
        force_slope[rows] = frame[rows] @ given[:, :2]
        force_follows[rows] = frame[rows] @ (bend[rows] @ follows[rows])[:, :2]
    return Expected(twist, slope, force, force_slope, follows, force_follows)


def least(
    support: Support, fingers: Fingers, loads: np.ndarray, mu: float, near: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return the motions under many loads (M, L), shape (M, pushes, 3), and their power."""
    many, count = len(loads), len(fingers.place)
    weights, lines = loads @ support.shapes.T, fingers.lines(mu)
    twist = np.zeros((many, count, 3))
    for stuck in (False, True):
        rows = np.flatnonzero(fingers.sticks == stuck)
        if len(rows):
            base, free = _ways(fingers, lines, rows, stuck)
            every = np.repeat(weights, len(rows), axis=0)
            tiled = [np.tile(a, (many, *[1] * (a.ndim - 1)))
                     for a in (base, free, lines[rows], near[rows])]  # fmt: skip
            moves, _ = _least(support, every, tiled[0], tiled[1], tiled[2], stuck, tiled[3])
            twist[:, rows] = moves.reshape(many, len(rows), 3)
    X = jacobians(support.x, np.eye(3)[None], support.patch)[0]
    size = np.sqrt((np.einsum("kri,mbi->mbkr", X, twist) ** 2).sum(axis=3))
    return twist, (size @ weights[:, :, None])[..., 0]


def _ways(fingers: Fingers, lines: np.ndarray, rows: np.ndarray, stuck: bool):
    """Return one motion that the fingers allow, and how others differ from it."""
    if stuck:
        x, y = fingers.place[rows].T
        free = np.stack([y, -x, np.ones(len(rows))], axis=1)[:, :, None]
        return np.concatenate([fingers.moves[rows], np.zeros((len(rows), 1))], axis=1), free
    C = lines[rows]
    return C / (C**2).sum(axis=1)[:, None], ways_across(C)


def _least(support: Support, weights, base, free, lines, stuck: bool, near):
    """Return motions of least power, and which foot rests in each (−1: none)."""
    if near is None:
        z, resting = motions(support.x, weights, base, free, patch=support.patch)
    else:
        if not stuck:
            drive = (lines * near).sum(axis=1)
            # A motion that hardly goes along its line says nothing about one that does.
            size = np.linalg.norm(lines, axis=1) * np.linalg.norm(near, axis=1)
            near = np.where((drive > 0.01 * size)[:, None], near / np.where(
                drive > 0, drive, 1.0)[:, None], base)  # fmt: skip
        inner = (free**2).sum(axis=1)
        start = np.einsum("bij,bi->bj", free, near - base) / inner
        z, resting = followed(support.x, weights, base, free, start, support.patch)
    return base + np.einsum("bij,bj->bi", free, z), resting


def _bent(support: Support, weights: np.ndarray, twist: np.ndarray):
    """Return power, how it changes with the loads, the wrench of each load, and its curvature."""
    X = jacobians(support.x, np.eye(3)[None], support.patch)[0]
    v = np.einsum("kri,bi->bkr", X, twist)
    size = np.sqrt((v**2).sum(axis=2))
    # A foot at rest is left out: its force is what the others ask of it.
    moves = size > 1e-12 * size.max(axis=1, initial=1e-300)[:, None]
    over = np.divide(1.0, size, out=np.zeros_like(size), where=moves)
    pulls = np.einsum("bkr,kri->bki", v * over[..., None], X)
    share = weights * over
    bend = (share @ np.einsum("kri,krj->kij", X, X).reshape(len(X), 9)).reshape(-1, 3, 3)
    bend -= (pulls * share[..., None]).transpose(0, 2, 1) @ pulls
    return size @ weights, size @ support.shapes, pulls.transpose(0, 2, 1) @ support.shapes, bend
