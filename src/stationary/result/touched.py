"""A motion that touches: states, forces of contact and friction, changes, and the evidence."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
from scipy.integrate import solve_ivp

from stationary.errors import spelled
from stationary.lower.kernel import numeric
from stationary.lower.touching import Touching, touch_of, touching_of
from stationary.result.changes import Changes
from stationary.result.motion import Instant
from stationary.result.multipliers import Multipliers
from stationary.result.step import Forces
from stationary.result.steps import Taken
from stationary.result.trajectory import AbstractInertial
from stationary.result.views import STAYS, found_once

# How long what begins to slide keeps its direction, of the time over which it is followed.
_SHORT = 1e-6

# What of a motion is near a beginning, and what of its speeds has no direction there.
_FRESH = 1e-4
_SLOW = np.finfo(float).eps ** (2 / 3)


@spelled
@dataclass(frozen=True, eq=False, repr=False)
class Touched(AbstractInertial):
    """The motion of a system with contacts or dry friction: what `simulate` returns of one.

    Everything that a `Motion` offers, and what happened where it touches.

    Attributes
    ----------
    changes : Changes
        What happened when: impacts, touches, lifts, sticks, slips and reversals.
    forces : dict
        The force of friction of each friction term and contact over time, by name.
    heat : ndarray
        The energy that friction has taken since the start.
    struck_off : ndarray
        The energy that impacts have taken since the start.
    residual : dict
        Largest violation of the energy balance, |R|, |Ṙ|, penetration, violation of Coulomb's cone,
        and force times gap.

    Examples
    --------
    >>> x, y = st.coordinates("x y")
    >>> floor = st.Contact(y, friction=0.5, slip=x, name="floor")
    >>> block = st.System(kinetic=(x.dot**2 + y.dot**2) / 2, potential=9.81 * y, contacts=[floor])
    >>> motion = st.simulate(block, span=(0, 1), start={x.dot: 2.0})
    >>> print(f"{motion[x][-1]:.6f} {motion.heat[-1]:.6f} {motion.lam['floor'][-1]:.6f}")
    0.407747 2.000000 9.810000
    """

    #: What was supplied, and what friction took, over time.
    more: np.ndarray = field(default_factory=lambda: np.zeros((0, 2)))
    changes: Changes = field(default_factory=Changes)
    #: When each mode begins, the state there, and the mode.
    began: np.ndarray = field(default_factory=lambda: np.zeros(0))
    starts: np.ndarray = field(default_factory=lambda: np.zeros((0, 0)))
    modes: np.ndarray = field(default_factory=lambda: np.zeros((0, 0)))
    #: When impacts took energy, and how much.
    impacts: np.ndarray = field(default_factory=lambda: np.zeros((0, 2)))
    #: Where steps have found them: which of the forces of constraints, contacts and friction ever
    #: acted, and these over time.
    acted: np.ndarray = field(default_factory=lambda: np.zeros(0, dtype=int))
    given: np.ndarray = field(default_factory=lambda: np.zeros((0, 0)))
    #: The largest penetration, cone and complementarity, of changes and of all steps.
    seen: np.ndarray = field(default_factory=lambda: np.zeros(3))
    #: Steps of one length as they were taken, all or some of them, and by what of velocities the
    #: laws of contact and friction are missed in the worst of all. Steps have been measured where
    #: they were taken, and stay there.
    taken: tuple[Taken, ...] = field(default=(), metadata=STAYS)
    missed: float = 0.0

    @property
    def touching(self) -> Touching:
        """The kernel of all modes."""
        return touching_of(self.system, self.kernel.signature, self.kernel.rows)

    # -- forces ---------------------------------------------------------------------------------

    def _values(self, times: np.ndarray) -> np.ndarray:
        """Return the vectors p at times, one column each."""
        which = np.maximum(np.searchsorted(self.began, times, "right") - 1, 0)
        return vectors_in(self, times, self.modes[which])

    @property
    def _now(self) -> np.ndarray:
        """The vectors p at all times, as the motion goes on from there.

        What begins to slide along several rates has none yet: it has the direction of its mode.
        """
        return self.directed(self.t, self.states, self._values(self.t))

    def directed(self, t: np.ndarray, y: np.ndarray, p: np.ndarray) -> np.ndarray:
        """Return vectors p in which slips along several rates that just begin have a direction.

        Rounding of velocities is that of the fastest: what has begun and is slower than that by two
        thirds of its digits keeps the direction of its mode, which turns by less meanwhile.
        """
        touch = touch_of(self.system)
        several = [j for j, rub in enumerate(touch.rubs) if len(rub.entries) > 1]
        if not several or not len(self.modes):
            return p
        begun = self.began[np.maximum(np.searchsorted(self.began, t, "right") - 1, 0)]
        fresh = np.flatnonzero(t - begun <= _FRESH * (self.t[-1] - self.began[0]))
        if not len(fresh):
            return p
        fastest = [self._speeds(*known)[several].max(axis=1, initial=0.0) for known in (
            (self.t, self.states, self._values(self.t)),
            (self.began, self.starts, self._values(self.began)))]  # fmt: skip
        slow = _SLOW * np.max(fastest, axis=0)
        slowly = self._speeds(t[fresh], y[fresh], p[:, fresh])[several] <= slow[:, None]
        slowly |= t[fresh] == begun[fresh]
        p, held = p.copy(), self._held(p[:, fresh])
        for j, now in zip(several, slowly):
            row = self._first_anchor + touch.rubs[j].entries[0]
            p[row, fresh[now]] = held[row, now]
        return p

    def _speeds(self, t: np.ndarray, y: np.ndarray, p: np.ndarray) -> np.ndarray:
        """Return how fast everything rubs, one row each."""
        touch, n = touch_of(self.system), self.kernel.size
        u = np.asarray(self.touching.inputs(t[None, :], y.T, p))
        arguments = (t[None, :], y[:, :n].T, y[:, n : 2 * n].T, u, self.params)
        sense = np.ones((touch.arguments[-1].numel(), 1))
        rates = np.asarray(touch.rows(*arguments, sense)[1])[touch.gaps :]
        return np.array([np.linalg.norm(rates[list(r.entries)], axis=0) for r in touch.rubs])

    @property
    def _first_anchor(self) -> int:
        touch = touch_of(self.system)
        return len(self.params) + 1 + touch.gaps + len(touch.rubs) + len(touch.dry)

    def _held(self, p: np.ndarray) -> np.ndarray:
        """Return p where all that slides along several rates keeps the direction of its mode."""
        p, touch = p.copy(), touch_of(self.system)
        sticks = len(self.params) + 1 + touch.gaps
        for j, rub in enumerate(touch.rubs):
            if len(rub.entries) > 1:
                first = self._first_anchor + rub.entries[0]
                p[first] = np.where(p[sticks + j] == 0, 1.0, p[first])
        return p

    @found_once
    def _acting(self) -> tuple[np.ndarray, np.ndarray]:
        """Accelerations, and the forces of constraints, contacts and friction."""
        if len(self.given):
            # Velocities jump from step to step.
            touch = touch_of(self.system)
            z = np.zeros((len(self.t), len(self.kernel.rows) + touch.gaps + len(touch.dry)))
            z[:, self.acted] = self.given
            return np.full_like(self.q, np.nan), z
        if not len(self.modes):
            # It ended where it began: no mode has forces.
            touch = touch_of(self.system)
            count = len(self.kernel.rows) + touch.gaps + len(touch.dry)
            return np.full_like(self.q, np.nan), np.full((len(self.t), count), np.nan)
        states = np.hstack([self.y[:, : 2 * self.kernel.size], self.more])
        a, z = self.touching.forces(self.t[None, :], states.T, self._now)
        return self._columns(a), self._columns(z)

    @property
    def acting(self) -> np.ndarray:
        """The forces of kept constraints, contacts and dry slips, shape (times, rows)."""
        return self._acting[1]

    @found_once
    def a(self) -> np.ndarray:
        """Accelerations, shape (times, coordinates), in the mode of each time."""
        return self._acting[0]

    @found_once
    def lam(self) -> Multipliers:
        """Multipliers of constraints, then of contacts, shape (times, rows)."""
        layout, z = self.kernel.layout, self.acting
        count, kept = touch_of(self.system).gaps, list(self.kernel.rows)
        full = np.zeros((len(self.t), layout.multipliers + count))
        full[:, kept] = z[:, : len(kept)]
        full[:, layout.multipliers :] = z[:, len(kept) : len(kept) + count]
        return Multipliers.of(full, layout)

    @found_once
    def forces(self) -> dict[str, np.ndarray]:
        """The force of friction on the system, by name of the term or contact."""
        touch, z = touch_of(self.system), self.acting
        rubbing = z[:, len(self.kernel.rows) + touch.gaps :]
        places = dict(zip(touch.dry, range(len(touch.dry))))
        forces = {}
        for r in self.kernel.layout.slips:
            if r.places.size and int(r.places.flat[0]) in places:
                index = np.array([places[int(k)] for k in r.places.flat]).reshape(r.shape)
                forces[r.name] = rubbing[:, index]
        return Forces(forces)

    # -- energies -------------------------------------------------------------------------------

    @property
    def heat(self) -> np.ndarray:
        """The energy that friction has taken since the start."""
        return self.more[:, 1]

    @property
    def struck_off(self) -> np.ndarray:
        """The energy that impacts have taken since the start."""
        return self._since(self.impacts)

    @property
    def lost(self) -> np.ndarray:
        """The energy that friction and impacts have taken since the start."""
        return self.heat + self.struck_off

    @property
    def work(self) -> np.ndarray:
        """What loads, moving constraints and moving ground have supplied, and events done."""
        return self.more[:, 0] + self._since(self.struck)

    @property
    def power(self) -> np.ndarray:
        """The rate at which loads, dissipation and moving ground feed the energy, less friction."""
        if len(self.given):
            return np.gradient(self.work - self.heat, self.t)
        states = np.hstack([self.y[:, : 2 * self.kernel.size], self.more])
        rates = self._columns(self.touching.rhs(self.t[None, :], states.T, self._now))
        return rates[:, -2] - rates[:, -1]

    @property
    def balance(self) -> np.ndarray:
        """Change of energy, plus what friction and impacts took, minus what was supplied."""
        kept = self.energy + self.lost - self.work
        return kept - kept[0]

    @property
    def residual(self) -> dict[str, float]:
        """The evidence: energy balance, |R|, |Ṙ|, penetration, cone, complementarity."""
        evidence = self.measured
        names = ("penetration", "cone", "complementarity")
        if len(self.given):
            return evidence | dict(zip(names, self.seen.tolist()))
        touch, gaps = touch_of(self.system), touch_of(self.system).gaps
        arguments = (self.t[None, :], self.q.T, self.v.T, self.u.T, self.params)
        sense = np.ones((touch.arguments[-1].numel(), 1))
        value = self._columns(touch.rows(*arguments, sense)[0])[:, :gaps]
        _, moving, rest, _ = (self._columns(x) for x in touch.limits(*arguments, sense))
        first = len(self.kernel.rows)
        lam = self.acting[:, first : first + gaps]
        z = self.acting[:, len(self.kernel.rows) + gaps :]
        over = 0.0
        for rub in touch.rubs:
            entries = list(rub.entries)
            limit = np.maximum(moving[:, entries[0]], rest[:, entries[0]])
            if rub.gap is not None:
                limit = limit * lam[:, rub.gap]
            over = max(over, float(np.max(np.linalg.norm(z[:, entries], axis=1) - limit)))
        deep = abs(float(np.max(-value, initial=0.0)))
        pushed = float(np.max(np.abs(lam * value), initial=0.0))
        return evidence | dict(zip(names, np.fmax(self.seen, [deep, over, pushed]).tolist()))

    @property
    def digits(self) -> float:
        """Not a number: a second run would meet other changes, and what it tells would jump."""
        return np.nan

    # -- other times ----------------------------------------------------------------------------

    @property
    def states(self) -> np.ndarray:
        """Coordinates, velocities, what was supplied and what friction took, one row per time."""
        return np.hstack([self.y[:, : 2 * self.kernel.size], self.more])

    def continued(self) -> np.ndarray:
        """Return where each output time is met from the state, or the last change, before it.

        Integrated anew between changes, whatever method made the motion: this is evidence.
        """
        ends = self._between(np.nextafter(self.t[1:], -np.inf))
        # What changes at an output time itself is told as it is after the change.
        ends[np.isin(self.t[1:], self.began)] = np.nan
        return ends

    def _between(self, times: np.ndarray) -> np.ndarray:
        """Integrate from the output time, or the last change, before each of these times."""
        n = self.kernel.size
        if len(self.given):
            table = np.hstack([self.y[:, : 2 * n], self.more])
            return np.array([np.interp(times, self.t, column) for column in table.T]).T
        states = self.states
        known = np.concatenate([self.t, self.began])
        every = np.vstack([states, self.starts])
        order = np.argsort(known, kind="stable")
        known, every = known[order], every[order]
        before = np.maximum(np.searchsorted(known, times, "right") - 1, 0)
        between = np.empty((len(times), states.shape[1]))
        sizes = np.abs(states).max(axis=0)
        for part in (slice(0, n), slice(n, 2 * n), slice(2 * n, None)):
            # What hardly moves beside the rest is its rounding.
            sizes[part] = np.maximum(sizes[part], 1e-3 * sizes[part].max(initial=0.0))
        sizes[2 * n :] = np.maximum(sizes[2 * n :], np.abs(self._energies[:, :2]).max())
        for k in np.unique(before):
            here = times[before == k]
            if here[-1] <= known[k]:
                between[before == k] = every[k]
                continue
            start, state = float(known[k]), every[k]
            p = self._values(known[k : k + 1])[:, 0]
            followed = self._followed(start, state, p, here, 1e-14 * sizes)
            if followed is None:
                # What begins to slide along several rates has no direction at first: it keeps that
                # of its mode for so short a time that its turn is rounding.
                first = start + _SHORT * (float(here[-1]) - start)
                early, late = here[here < first], here[here >= first]
                some = np.append(early, first)
                held = self._followed(start, state, self._held(p), some, 1e-14 * _SHORT * sizes)
                if held is not None:
                    # A direction follows its slip the faster, the slower that is.
                    rest = self._followed(first, held[-1], p, late, 1e-14 * sizes, "Radau")
                    followed = None if rest is None else np.vstack([held[:-1], rest])
            between[before == k] = np.nan if followed is None else followed
        return between

    def _followed(
        self, t: float, y: np.ndarray, p: np.ndarray, times: np.ndarray, small: np.ndarray,
        method: str = "DOP853",
    ) -> np.ndarray | None:  # fmt: skip
        """Return states at times after t, in one mode; none where it has no slope."""
        rhs = numeric(self.touching, "rhs")
        followed = solve_ivp(
            lambda t, y: rhs(t, y, p)[0], (t, times[-1]), y, method=method,
            t_eval=times, rtol=1e-12, atol=small + 1e-300,
        )  # fmt: skip
        return followed.y.T if followed.success else None

    def _part(self, times: np.ndarray, states: np.ndarray) -> Touched:
        n, width = self.kernel.size, self.y.shape[1]
        y = np.hstack([states[:, : 2 * n], states[:, 2 * n : 2 * n + width - 2 * n]])
        given = self.given
        if len(given):
            given = given[np.clip(np.searchsorted(self.t, times), 0, len(self.t) - 1)]
        more = states[:, 2 * n :]
        return replace(self, t=times, y=y, more=more, given=given, events=(), again=None)

    def _instant(self) -> Instant:
        return Instant(self)

    # -- other forms ----------------------------------------------------------------------------

    def _besides(self) -> list[tuple[str, np.ndarray]]:
        taken = [(name, getattr(self, name)) for name in ("work", "heat", "struck_off")]
        return taken + self._named_forces("friction", self.forces)

    def __repr__(self) -> str:
        kinds = {k: sum(c.kind == k for c in self.changes) for k in dict.fromkeys(
            c.kind for c in self.changes)}  # fmt: skip
        counted = ", ".join(f"{kind} {count}×" for kind, count in kinds.items()) or "none"
        evidence = {k: v for k, v in self.residual.items() if k not in ("energy", "R", "Rdot")}
        # What is rounding beside the energies at work is nothing.
        least = 4 * np.finfo(float).eps * np.abs(self._energies[:, :2]).max(initial=0.0)
        heat, struck = (
            float(x) if abs(x) > least else 0.0 for x in (self.heat[-1], self.struck_off[-1])
        )
        return (
            self._first_lines("Motion")
            + self._events_text()
            + self._balance_text()
            + f"\n  changes         {counted}"
            + f"\n  friction took   {heat:.6g}, impacts {struck:.6g}"
            + "\n  evidence        "
            + ", ".join(f"{name} {value:.1e}" for name, value in evidence.items())
            + "\n  digits          not measured: where it touches, a motion may jump with its start"
        )


def vectors_in(motion: Touched, times: np.ndarray, modes: np.ndarray) -> np.ndarray:
    """Return the vectors p of a motion at times, in a mode each, one column each."""
    last = [0.0] if motion.kernel.rows else []
    slots = np.array([motion.drives.slots(float(t)) for t in times]).reshape(len(times), -1)
    same = np.tile([*motion.params], (len(times), 1)), np.tile(last, (len(times), 1))
    return np.hstack([same[0], modes, slots, same[1]]).T
