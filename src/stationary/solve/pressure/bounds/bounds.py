"""What a part does under every pressure that it may have."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from stationary.errors import StatementError
from stationary.model.layout import Start
from stationary.model.system import System
from stationary.result.pressure import Dual, Pressure, PressureBounds, Proof
from stationary.result.status import Status
from stationary.solve.arguments import quiet
from stationary.solve.gate.claims import passed
from stationary.solve.pressure.bounds.interval import extremes
from stationary.solve.pressure.bounds.locus import locus_of
from stationary.solve.pressure.bounds.power import power_ends
from stationary.solve.pressure.bounds.proven import proven, proven_power, require_share
from stationary.solve.pressure.bounds.vote import ROUGH_VOTE, verdict, votes_of
from stationary.solve.pressure.bounds.whole_push import advance_of, band_of
from stationary.solve.pressure.duals.certificate import certified
from stationary.solve.pressure.extremes.polish import Summit, joined
from stationary.solve.pressure.pushed import Scene
from stationary.solve.pressure.region import Mode

# Of the greatest power: what is less is the rounding of none.
_ROUNDING = 1e-14
# Atoms so close, in sizes of the part, are one.
_ONE_PLACE = 1e-9
#: What is bounded beside velocities, as it may be called.
WORDS = {
    "power": "power", "centre": "centre", "center": "centre", "the centre of rotation": "centre",
    "centre of rotation": "centre", "center of rotation": "centre", "advance": "advance",
}  # fmt: skip


@quiet
def pressure_bounds(
    part: System,
    *,
    of: Any,
    at: Start | None = None,
    params: Mapping[Any, float] | None = None,
    t: float = 0.0,
    count: int = 200,
    prove: float | None = None,
    span: tuple[float, float] | None = None,
) -> PressureBounds:
    """Bound what a pushed part does, over all pressures with which it may rest on its table.

    Nobody knows how a part presses on the table; known are its outline and the point below its
    centre of mass. For a given motion the forces of friction are linear in the pressure, so which
    motions are possible is a matter of linear programs, and the ends of the interval come with
    pressures that attain them and with duals that prove them.

    Parameters
    ----------
    part : System
        A slider whose pressure is left open, with its pusher or constraints:
        ``st.slider(outline=…, weight=…, centre=(x, y), pusher=…)``.
    of : expression or str
        A velocity or a linear expression of velocities, with `span` a coordinate, ``"power"``,
        ``"centre"`` (the centre of rotation: the locus), or ``"advance"`` (the distance that a
        fence advances until an edge of the outline lies at it).
    at : dict
        The configuration; coordinates left out are zero.
    params : dict, optional
    t : float
        Time, for pushers that move with it.
    count : int
        Directions in which the border of a locus is looked for.
    prove : float, optional
        Prove the interval of a velocity, or of the power, and let the proven one be wider by this
        share, as in ``prove=1e-6``: duals all along the lines of motions at both ends (of the
        power, at motions all around), with bounds of what is between.
    span : tuple of two times, optional
        Bound a coordinate over a whole push by a finger at an edge, ``of=phi, span=(0, 2)``: `band`
        has times and what the coordinate is at least and at most. It is conservative.

    Returns
    -------
    PressureBounds

    Examples
    --------
    >>> finger = st.Pusher(point=(0.02, st.t - 0.03), edge=((-0.05, -0.03), (0.05, -0.03)))
    >>> card = [(-0.05, -0.03), (0.05, -0.03), (0.05, 0.03), (-0.05, 0.03)]
    >>> part = st.slider(outline=card, weight=0.2, centre=(0, 0), pusher=finger)
    >>> x, y, phi = part.coordinates
    >>> bounds = st.pressure_bounds(part, of=phi.dot)
    >>> points, weights = bounds.pressures[0]  # the pressure under which it turns least
    >>> same = st.slider(points=points, weights=weights, pusher=finger)
    >>> abs(st.minimum_power(same)[phi.dot] - bounds.low) < 1e-9
    True
    """
    scene = Scene.of(part, at, params, t)
    word = WORDS.get(of) if isinstance(of, str) else None
    if isinstance(of, str) and word is None:
        velocity = {c.name + ".dot": c.dot for c in part.coordinates}
        velocity |= {c.name: c for c in part.coordinates} if span is not None else {}
        if of not in velocity:
            raise StatementError(
                f"'{of}' is nothing that can be bounded.",
                f"Known: {', '.join(velocity)}, power, centre, advance.",
                "Ask of=phi.dot, for one.",
            )
        of = velocity[of]
    if word == "advance":
        return advance_of(part, scene, at, params, t, pressure_bounds)
    if word == "power":
        return _power(scene, prove)
    if word == "centre":
        if isinstance(count, bool) or not isinstance(count, (int, np.integer)) or count < 3:
            raise StatementError(
                "the border of a locus is looked for in three or more directions.",
                f"Found count={count!r}.",
                "Give a whole number, as in count=200.",
            )
        return _centre(scene, int(count))
    if span is not None:
        return _band(scene, of, span)
    functional, rest = scene.functional(of)
    low, high = extremes(scene, functional)
    ends = (float(functional @ low[1].twist) + rest, float(functional @ high[1].twist) + rest)
    bounds = bounds_of(scene, str(of), ends, (low, high))
    row = np.linalg.solve(scene.rates.T, functional) / scene.speed
    passed(bounds, "pressure_bounds", scene=scene, value=(row, rest), own=own(scene, (low, high)))
    return bounds if prove is None else proven(scene, bounds, functional, rest, prove)


def _band(scene: Scene, of: Any, span: Any) -> PressureBounds:
    """Bound a coordinate over a whole push."""
    if of not in scene.system.coordinates:
        raise StatementError(
            "over a span of time coordinates are bounded.",
            f"Found of={str(of)[:40]}.",
            f"Ask of one of {', '.join(c.name for c in scene.system.coordinates)}, or without "
            "span=.",
        )
    try:
        first, last = (float(x) for x in span)
    except (TypeError, ValueError):
        first = last = np.nan
    if not (first == scene.t and last > first and np.isfinite(last)):
        raise StatementError(
            "a span is two times, the first that of the configuration.",
            f"Found span={str(span)[:40]} and t={scene.t:g}.",
            "Give two numbers that grow, as in span=(0, 2).",
        )
    across = np.array([0.0, 0.0, 1.0])
    low, high = extremes(scene, across)
    a, b = (float(s.twist[2]) / scene.size * scene.speed for _, s in (low, high))
    return band_of(scene, bounds_of(scene, "phi.dot", (a, b), (low, high)), of, (first, last))


def _power(scene: Scene, prove: float | None) -> PressureBounds:
    unit = scene.support.weight * scene.speed
    if prove is not None:
        require_share(prove)
    (low, first, least), (high, last, most) = power_ends(scene, prove)
    if abs(low) < _ROUNDING * high:
        low = 0.0
    bounds = bounds_of(scene, "power", (low * unit, high * unit), ((first, least), (last, most)))
    passed(bounds, "pressure_bounds", scene=scene, value=None)
    return bounds if prove is None else proven_power(bounds, least.share, prove)


def _centre(scene: Scene, count: int) -> PressureBounds:
    """Bound where the part turns about: the locus, and how far from the centre it reaches."""
    across = np.array([0.0, 0.0, 1.0])
    low, high = extremes(scene, across)
    border = locus_of(scene, count, (low, high))
    far = np.hypot(border[:, 0], border[:, 1])
    ends = float(far.min()) * scene.size, float(far.max()) * scene.size
    inside = _around(border)
    bounds = bounds_of(
        scene, "the centre of rotation", (0.0 if inside else ends[0], ends[1]), (low, high)
    )
    words = f"the border of the locus is where programs along {count} rays change their sign, to "
    words += "about one in a thousand between the motions of least and greatest turning"
    if len(scene.modes) > 1:
        words += "; of the modes of a rough finger it is the hull"
    return replace(
        bounds, locus=scene.table(border), proof=bounds.proof.uncertified(words),
        status=Status("searched", words),
    )  # fmt: skip


def _around(border: np.ndarray) -> bool:
    """Tell whether a polygon goes around the origin."""
    angle = np.arctan2(border[:, 1], border[:, 0])
    turn = np.diff(np.append(angle, angle[0]))
    return bool(abs(np.sum((turn + np.pi) % (2 * np.pi) - np.pi)) > np.pi)


def bounds_of(
    scene: Scene, of: str, ends: tuple[float, float],
    ends_: tuple[tuple[Mode, Summit], tuple[Mode, Summit]],
) -> PressureBounds:  # fmt: skip
    """Put extremes into words and units."""
    votes = votes_of(scene.modes)
    turns = verdict(votes)
    duals = [certified(scene.rest, mode, s, s.functional) for mode, s in ends_]
    named = [joined(*(s.named or (s.points, s.masses)), _ONE_PLACE) for _, s in ends_]
    pressures = tuple(
        Pressure(scene.own(x[m > 1e-12]), m[m > 1e-12] * scene.support.weight) for x, m in named
    )
    low, high = (0.0 if abs(x) < 1e-300 else x for x in ends)
    shown = np.array(scene.support.points)
    if scene.support.kind == "disc":
        angle = np.linspace(0, 2 * np.pi, 97)[:-1]
        shown = scene.support.radius * np.stack([np.cos(angle), np.sin(angle)], axis=1)
    return PressureBounds(
        system=scene.system, of=of, low=float(low), high=float(high), pressures=pressures,
        motions=np.array([scene.rates @ mode.scaled(s.twist) * scene.speed for mode, s in ends_]),
        proof=Proof(duals[0], duals[1], votes, turns, _text(duals, votes, turns)),
        status=Status("attained", _words(duals)),
        at=scene.q.copy(), outline=shown @ scene.turned.T + scene.q[:2],
        centre=scene.arm + scene.q[:2],
    )  # fmt: skip


def own(
    scene: Scene, ends: tuple[tuple[Mode, Summit], tuple[Mode, Summit]]
) -> np.ndarray:  # fmt: skip
    """Return the motions of the pressures that are named: next to those of the ends."""
    twists = (mode.scaled(s.twist if s.own is None else s.own) for mode, s in ends)
    return np.array([scene.rates @ twist * scene.speed for twist in twists])


def _text(duals: list[Dual], votes: dict[str, float], turns: str) -> str:
    """Say what each end rests on, and how the vote goes."""
    listed = ", ".join(f"{name} {lever:+.3g}" for name, lever in votes.items())
    ends = "".join(f"{name} end: {d.how}.\n" for name, d in zip(("Lower", "Upper"), duals))
    return (
        f"{ends}With f(x) = λ₀ + λ·x + w(x)·v̂(x), v̂ being the direction in which x moves.\n"
        f"The vote ({listed}; in sizes of the part): at a translation power changes with "
        "a rotation about the contact by the lever of the centre, for every pressure alike, and it "
        f"is convex. {ROUGH_VOTE if len(votes) > 1 else ''}It turns {turns}."
    )


def _words(duals: list[Dual]) -> str:
    """Say in short what is certified of two ends."""
    ends = list(zip(("lower", "upper"), duals))
    for scope in ("every pressure", "small changes"):
        if all(d.scope == scope for d in duals):
            return f"by the two pressures; both ends are certified for {scope}"
    said = (f"the {name} end is {f'certified for {d.scope}' if d.scope else 'not certified'}"
            for name, d in ends)  # fmt: skip
    return f"by the two pressures; {', '.join(said)}"
