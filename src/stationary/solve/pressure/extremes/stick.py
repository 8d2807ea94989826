"""The last motion of a line of them that some pressure allows.

A finger that sticks, or two constraints, leave a part one way to turn. Power is convex along it, so
that some pressure goes beyond a motion while its least slope there is negative; a force inside the
cone of the finger is another program at each motion.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from scipy.optimize import brentq

from stationary.solve.pressure.duals.certificate import in_balance
from stationary.solve.pressure.extremes.polish import Summit, joined
from stationary.solve.pressure.programs.single import EXACT, ROUGH, Answer, Single
from stationary.solve.pressure.region import Mode
from stationary.solve.pressure.support import Rest

_SAMPLES = 16
# Places beside one at which a finger was seen to stick.
_ASIDE = 1 - np.array([-1e-2, -1e-4, -1e-6, -1e-9, 1e-9, 1e-6, 1e-4, 1e-2])
# Places between two at which a motion turns about points of the border.
_BETWEEN = np.array([1e-3, 0.25, 0.5, 0.75, 1 - 1e-3])
_FAR = 1e9
# How far before the last motion the force of a finger is inside its cone, as a share.
_BEFORE = (3e-7, 1e-7, 6e-7, 1e-6)
# What a pressure may be off its balance, or outside the cone, in weights.
_BALANCED = 1e-10
# By how much a pressure that is named may be off, and what programs that pay are worth at least.
_OUT = 1e-6
# What programs are off by rounding, in weights.
_ROUNDING = 2e-14


def last_of(
    single: Single, mode: Mode, functional: np.ndarray, start: np.ndarray,
    known: dict[float, tuple[float, Answer]], seen: list[np.ndarray],
    strict: bool = False,
) -> Summit | None:  # fmt: skip
    """Return the motion with the greatest value of a functional, if some pressure has one.

    `known` keeps the ends of the line, which are the same for every functional; next to motions
    that were `seen` to stick some pressure does. If it is `strict`, a program that pays for what is
    out of balance counts as none.
    """
    nothing = np.zeros(3)
    slope = float(functional @ mode.free[:, 0]) if mode.free.shape[1] else 0.0
    if mode.free.shape[1] == 0:
        return _summit(start, single.least(start, nothing, nothing, rounds=ROUGH), "held")
    way = mode.free[:, 0] / np.linalg.norm(mode.free[:, 0])
    turned = -1.0 if slope < 0 else 1.0
    way = turned * way

    def end(sign: float) -> tuple[float, Answer]:
        def ask(place: float, rounds: int) -> Answer:
            return single.least(start + sign * place * way, sign * way, nothing, rounds=rounds)

        if sign * turned not in known:
            known[sign * turned] = _root(ask, lambda answer_: answer_.slope(sign * way))
        return known[sign * turned]

    high, answer_ = end(1.0)
    if not mode.cone:
        return _summit(start + high * way, answer_, "line")

    shorts: dict[tuple[float, int], tuple[float, Answer]] = {}

    def missed_at(k: int, place: float, rounds: int) -> Answer:
        return single.least(start + place * way, -mode.cone[k], way, rounds=rounds)

    def short(place: float, rounds: int = ROUGH) -> tuple[float, Answer]:
        """Return by how much the force misses the cone: at most zero where it is inside."""
        if (place, rounds) not in shorts:
            shorts[place, rounds] = worst_of(place, rounds)
        return shorts[place, rounds]

    def worst_of(place: float, rounds: int) -> tuple[float, Answer]:
        coarse = [missed_at(0, place, ROUGH)]
        if rounds != ROUGH or coarse[0].value <= 0.1:
            coarse.append(missed_at(1, place, ROUGH))
        first = max(range(len(coarse)), key=lambda k: coarse[k].value)
        worst = coarse[first]
        if rounds != ROUGH:
            worst = missed_at(first, place, rounds)
            # Columns that move lower a value: the other is worse only if it is so without them.
            if coarse[1 - first].value > worst.value:
                worst = max(worst, missed_at(1 - first, place, rounds), key=lambda a: a.value)
        pays = strict and not worst.balanced
        return max(worst.value, _OUT) if pays else worst.value, worst

    steep = abs(float(functional @ way))

    def inner(place: float, before: float = _BEFORE[0]) -> float:
        """Return a place a little before one: a share of the line, and of the value."""
        size = abs(float(functional @ (start + place * way)))
        return place - before * min(place + end(-1.0)[0], size / steep if steep else np.inf)

    # At the end of the line one pressure is left: where nothing rests it says all by itself, and
    # elsewhere one just before it may do.
    last = high
    summit = _summit(start + high * way, answer_, "line")
    if not any(m and edge < 0 for m, edge in zip(answer_.masses, answer_.edges)):
        if in_balance(mode, summit)[1] <= _BALANCED:
            return summit
    value, _ = short(inner(high), EXACT)
    kind = "line"
    if value > 0:
        places = high - (end(-1.0)[0] + high) * (np.arange(1, _SAMPLES + 1) / _SAMPLES) ** 1.5
        inside = next((p for p in places.tolist() if short(p)[0] <= 0), None)
        if inside is None:
            # What rests may hold the finger over a short way through a thin part only.
            places = _crossing(single.rest, start, way, -end(-1.0)[0], high)
            beside = [float((twist - start) @ way) * _ASIDE for twist in seen]
            places = np.concatenate([*beside, places])
            places = np.sort(places[(places > -end(-1.0)[0]) & (places < high)])[::-1]
            inside = next((p for p in places.tolist() if short(p, EXACT)[0] <= 0), None)
        if inside is None:
            return None
        # Columns that move go on where those of the grid have stopped.
        before = inner(high)
        for place in (p for p in places[::-1].tolist() if p > inside):
            if short(place, EXACT)[0] > 0:
                before = place
                break
            inside = place
        last = _between(lambda p: short(p, EXACT)[0], inside, before)
        value, _ = short(inner(last), EXACT)
        kind, answer_ = "cone", short(last, EXACT)[1]
    if value > 1e-9:
        return None
    summit = _summit(start + last * way, answer_, kind)
    best, least = summit, np.inf
    for before in _BEFORE:
        # A program may pay for what is out of balance: a little earlier it need not.
        place = inner(last, before)
        points, masses = _atoms(short(place, EXACT)[1])
        own = start + place * way
        off = in_balance(mode, Summit(own, points, masses))[1]
        if off < least:
            best, least = replace(summit, named=(points, masses), own=own), off
        if off <= _BALANCED:
            break
    if least > _OUT and not strict:
        again = last_of(single, mode, functional, start, known, seen, strict=True)
        return again or best
    return best


def _crossing(
    rest: Rest, start: np.ndarray, way: np.ndarray, low: float, high: float
) -> np.ndarray:  # fmt: skip
    """Return places, from the last to the first, where motions turn about points in the part."""
    if rest.feet:
        return np.zeros(0)
    if rest.radius:
        x, y = rest.middle
        rows = np.array([[1.0, 0.0, -y], [0.0, 1.0, x]])
        (a, b), (c, d) = (rows @ start).tolist(), (rows @ way).tolist()
        p, q, r = rest.radius**2 * np.array([way[2] ** 2, 2 * way[2] * start[2], start[2] ** 2])
        cuts = np.roots([c * c + d * d - p, 2 * (a * c + b * d) - q, a * a + b * b - r])
        cuts = cuts[np.isreal(cuts)].real
    else:
        rows = rest.lines[2]
        with np.errstate(divide="ignore", invalid="ignore"):
            cuts = -(rows @ start) / (rows @ way)
    cuts = np.sort(cuts[np.isfinite(cuts) & (cuts > low) & (cuts < high)])
    cuts = np.concatenate([[low], cuts, [high]])
    places = (cuts[:-1, None] + np.diff(cuts)[:, None] * _BETWEEN).ravel()
    twists = start + places[:, None] * way
    with np.errstate(divide="ignore", invalid="ignore"):
        q = np.stack([-twists[:, 1], twists[:, 0]], axis=1) / twists[:, 2:]
    return places[rest.contain(q)][::-1]


def _summit(twist: np.ndarray, answer: Answer, kind: str) -> Summit:
    points, masses = _atoms(answer)
    return Summit(twist, points, masses, -answer.affine, answer.witness, kind)


def _atoms(answer: Answer) -> tuple[np.ndarray, np.ndarray]:
    return joined(np.array(answer.points).T, np.array(answer.masses))


def _root(ask: Callable[[float, int], Answer], slope: Callable[[Answer], float]):
    """Return where the value of a program is zero: it rises along the line."""
    place, best = 0.1, ask(0.0, ROUGH)
    # Columns that move say more than those of the grid do: the second time without their bounds.
    for rounds, close in ((ROUGH, 1e-2), (EXACT, 1e-13)):
        low, high = 0.0, np.inf
        for _ in range(80):
            answer = ask(place, rounds)
            if answer.value <= 0:
                low, best = place, answer
            else:
                high = place
            steep = slope(answer)
            new = place - answer.value / steep if steep > 0 else np.nan
            if abs(new - place) <= close * abs(place):
                best = answer
                break
            if np.isfinite(high) and high - low <= 1e-2 * close * high:
                place = low
                break
            if not low < new < high or new > 4 * place + 1:
                new = (low + high) / 2 if np.isfinite(high) else 2 * place
            if new > _FAR:
                return low, best
            place = new
    return place, best


def _between(short: Callable[[float], float], inside: float, outside: float) -> float:
    """Return the last place, from one inside to one outside, where `short` is not positive."""
    if short(inside) > 0:
        return inside
    if short(outside) <= 0:
        return outside
    wide = outside - inside

    def beyond_rounding(place: float) -> float:
        value = short(place)
        return value if abs(value) > _ROUNDING else 0.0

    place = float(brentq(beyond_rounding, inside, outside, xtol=1e-13 * abs(wide), rtol=1e-14))
    for share in (0.0, 1e-13, 1e-12, 1e-11, 1e-10, 1e-9):
        if short(place - share * wide) <= 0:
            return place - share * wide
    return inside
