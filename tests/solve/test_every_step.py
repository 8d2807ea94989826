"""One step that is wrong by ten tolerances, whichever it is, is refused and taken again."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import scipy.integrate
import sympy as sp
from scipy.integrate import quad, solve_ivp
from scipy.linalg import expm

import stationary as st
from stationary.lower.kernel import kernel_of
from stationary.solve.gate import collocation
from stationary.solve.gate import followed as gate
from stationary.solve.integrators import bdf, taylor, variational
from stationary.solve.motion import proven_steps
from stationary.solve.motion.ode import Ode

x, y, z = st.coordinates("x y z")
r = st.coordinates("r", shape=(26, 2))

# Energy is kept, fed and taken, and of no account; rows hold it, roll it, and nothing tells places.
SYSTEMS = {
    "pendulum": (st.System(kinetic=x.dot**2 / 2, potential=-st.cos(x)), {x: 2.0}),
    "free": (st.System(kinetic=x.dot**2 / 2), {x.dot: 1.0}),
    "driven": (
        st.System(
            kinetic=x.dot**2 / 2, potential=x**4 / 4, dissipation=x.dot**2 / 20,
            loads=[st.Load(0.3 * st.cos(2 * st.t) - 0.1 * st.tanh(3 * x.dot), on=x)],
        ),
        {x: 1.0},
    ),
    "stiff": (
        st.System(kinetic=x.dot**2 / 2, potential=x**2 / 2, dissipation=50 * x.dot**2),
        {x: 1.0, x.dot: 2.0},
    ),
    "rod": (st.particle(1.0, at=(x, y), gravity=9.8) + st.rod((0, 0), (x, y), 1.0), {x: 1.0}),
    "skate": (
        st.System(
            kinetic=(x.dot**2 + y.dot**2 + z.dot**2) / 2, potential=0.3 * x,
            pfaffian=[st.Pfaffian(st.sin(z) * x.dot - st.cos(z) * y.dot)],
        ),
        {x.dot: 1.0, z.dot: 1.0},
    ),
    "rope": (
        st.System(
            kinetic=st.each(lambda v: (v[0] ** 2 + v[1] ** 2) / 2, r.dot),
            potential=st.each(lambda p: 9.8 * p[1], r),
            constraints=[
                st.each(lambda a, b: st.norm(b - a) - 0.1, r[:-1], r[1:]), r[0, 0], r[0, 1],
            ],
        ),
        {r: 0.1 * np.outer(np.arange(26), (0.8, -0.6))},
    ),
}  # fmt: skip


class Fault:
    """An error of ten tolerances in one entry of a state where one step ends, made once."""

    def __init__(self, where: float, entry: int):
        self.where, self.entry, self.at = where, entry, np.nan
        self.state = self.tolerance = np.empty(0)

    def due(self, begin: float, end: float) -> bool:
        return np.isnan(self.at) and begin < self.where <= end

    def put(self, t: float, state: np.ndarray, tolerance: np.ndarray) -> np.ndarray:
        self.at, self.state, self.tolerance = t, state.copy(), tolerance
        self.state[self.entry % len(state)] += 10 * tolerance[self.entry % len(state)]
        return self.state.copy()

    def found(self, piece: Any, origin: np.ndarray | float) -> bool:
        """Tell whether a piece ends a step with it."""
        if self.at not in piece.t[1:]:
            return False
        there = piece.evaluate(np.array([self.at]))[0] - origin
        return bool(np.all(np.abs(there - self.state) <= self.tolerance))


def with_runge(fault: Fault, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let SciPy's steps go wrong."""

    class Wrong(scipy.integrate.DOP853):
        def step(self):
            message = super().step()
            if self.t_old is not None and fault.due(self.t_old, self.t):
                tolerance = self.atol + self.rtol * np.maximum(abs(self.y), abs(self.y_old))
                self.y = fault.put(self.t, self.y, tolerance)
                self.f = self.K[-1] = self.fun(self.t, self.y)
            return message

    monkeypatch.setattr(scipy.integrate, "DOP853", Wrong)


def with_bdf(fault: Fault, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let what SUNDIALS tells go wrong from one node on, as if a step between two had."""
    whole: Callable[..., Any] = bdf._run

    def wrong(ode, fractions, start, length, begin, **given):
        states, steps = whole(ode, fractions, start, length, begin, **given)
        times = start + length * np.array(fractions)
        k = int(times.searchsorted(fault.where))
        if given.get("formula") or states is None or not 0 < k < len(times):
            return states, steps
        if fault.due(times[k - 1], times[k]):
            size, origin = given["known"]
            tolerance = ode.rtol * abs(states - origin).max(axis=0) + ode.atol * size
            states[k - 1] = fault.put(times[k], states[k - 1], tolerance)
            if k < len(states):
                rest = (np.array(fractions[k:]) - fractions[k]) / (1 - fractions[k])
                left = length * (1 - fractions[k])
                after = whole(ode, tuple(rest), times[k], left, states[k - 1], **given)[0]
                assert after is not None
                states[k:] = after
        return states, steps

    monkeypatch.setattr(bdf, "_run", wrong)


FAULTS = {"Runge": (st.Runge(), with_runge), "BDF": (st.BDF(), with_bdf)}


@pytest.mark.one_in(2)
@pytest.mark.parametrize("name", [name for name in SYSTEMS if name != "rope"])
@pytest.mark.parametrize("method", FAULTS)
@pytest.mark.parametrize(("rtol", "points"), [(1e-10, 101), (1e-6, 3)])
def test_a_step_that_is_wrong_by_ten_tolerances_is_refused(name, method, rtol, points, monkeypatch):
    system, start = SYSTEMS[name]
    by, put = FAULTS[method]

    def motion() -> Any:
        return st.simulate(
            system, span=(0, 2), start=start, method=by, points=points, rtol=rtol, atol=rtol / 100
        )

    right = motion()
    assert right.method == method
    accepted: list[float] = []
    fault = Fault(np.inf, 0)

    def noted(ode, begin, piece):
        false = gate.followed(ode, begin, piece)
        # SciPy's steps count from an origin.
        origin = piece.sizes[1] if method == "Runge" else 0.0
        if fault.found(piece, origin) and (false is None or piece.t[false[0] + 1] > fault.at):
            accepted.append(fault.at)
        return false

    monkeypatch.setattr(proven_steps, "followed", noted)
    # The first step, the last one, and some in between.
    rng = np.random.default_rng(0)
    for k, where in enumerate([1e-9, 2.0, *rng.uniform(0, 2, 6)]):
        with monkeypatch.context() as patch:
            fault = Fault(where, k)
            put(fault, patch)
            again = motion()
        assert np.isfinite(fault.at) and not accepted, f"step to {fault.at} of {k}"
        assert again.success and again.method == method
        size = np.abs(right.y).max(axis=0) + 1
        assert np.all(np.abs(again.y[-1] - right.y[-1]) <= 1e3 * rtol * size)


def test_steps_that_are_hard_in_several_places_are_taken_with_care_in_each():
    """Van der Pol's oscillator jumps three times. Test Set for IVP Solvers, VDPOL, 1 / ε = 1e6."""
    mu = 1000.0
    system = st.System(
        kinetic=x.dot**2 / 2, potential=x**2 / 2, loads=[st.Load(mu * (1 - x**2) * x.dot, on=x)]
    )
    motion = st.simulate(system, span=(0, 3000), start={x: 2}, method=st.BDF())
    assert motion.method == "BDF"
    at = motion.at(2000)
    assert at[x] == pytest.approx(1.706167732170483, rel=1e-8)
    assert at[x.dot] == pytest.approx(-0.8928097010247975e-3, rel=1e-7)


@pytest.mark.parametrize("method", FAULTS)
def test_steps_that_stay_wrong_are_given_up(method, monkeypatch):
    """Where no care helps, another method is asked, whose steps are proven by others."""
    system, start = SYSTEMS["pendulum"]
    wrong = gate.Finding("the equation leads to", "'x'", 1.0, 0.0)
    monkeypatch.setattr(proven_steps, "followed", lambda ode, begin, piece: (0, wrong))
    other = st.simulate(system, span=(0, 2), start=start, method=FAULTS[method][0])
    assert other.success and other.method == "Taylor"


def test_steps_of_ropes_are_right_as_they_are_taken(monkeypatch):
    """They are those of long ones: accelerations and forces are among the unknowns."""
    r = st.coordinates("r", shape=(8, 2))
    rope = st.System(
        kinetic=st.each(lambda v: (v[0] ** 2 + v[1] ** 2) / 2, r.dot),
        potential=st.each(lambda p: 9.8 * p[1], r),
        constraints=st.each(lambda a, b: st.norm(b - a) - 0.1, r[:-1], r[1:], name="link"),
    ) + st.System(constraints=[st.norm(r[0]) - 0.1])
    refused = []

    def noted(ode, begin, piece):
        refused.append(gate.followed(ode, begin, piece))
        return refused[-1]

    monkeypatch.setattr(proven_steps, "followed", noted)
    monkeypatch.setattr(bdf, "_SPARSE_FROM", 2)
    start = {r: np.outer(0.1 * np.arange(1, 9), (1.0, 0.0))}
    given: dict[str, Any] = {"span": (0, 0.3), "start": start, "points": 11}
    motion = st.simulate(rope, method=st.BDF(), rtol=1e-11, atol=1e-13, **given)
    assert motion.method == "BDF" and set(refused) == {None}
    exact = st.simulate(rope, method=st.Runge(), rtol=1e-12, **given)
    assert np.abs(motion[r][-1] - exact[r][-1]).max() < 1e-10


def test_doubtful_steps_of_what_moves_freely_are_integrated_together(monkeypatch):
    """To begin anew for each of them takes as long as a hundred."""
    r = st.coordinates("r", shape=(12, 2))
    rope = st.System(
        kinetic=st.each(lambda v: (v[0] ** 2 + v[1] ** 2) / 2, r.dot),
        potential=st.each(lambda p: 9.8 * p[1], r),
        constraints=st.each(lambda a, b: st.norm(b - a) - 0.1, r[:-1], r[1:], name="link"),
    )
    begun, anew = [], gate.anew

    def noted(ode, begin, *given):
        begun.append(begin)
        return anew(ode, begin, *given)

    monkeypatch.setattr(gate, "anew", noted)
    along = np.arange(12)
    start = {
        r: np.outer(0.1 * along, (1.0, 0.0)),
        r.dot: np.outer(np.sin(5 * along / 12), (0.0, 3.0)),
    }
    motion = st.simulate(rope, span=(0, 1), start=start, method=st.BDF(), points=201)
    assert motion.success and not begun


@pytest.mark.parametrize("stiffness", [1.0, 30.0, 1e3, 1e5])
def test_doubtful_steps_of_what_is_stiff_are_integrated_together(stiffness, monkeypatch):
    """In a start there are more steps than nodes: what follows is proven by few calls."""
    system = st.System(
        kinetic=x.dot**2 / 2,
        potential=x**2 / 2,
        loads=[st.Load(stiffness * (1 - x**2) * x.dot, on=x)],
    )
    begun, looked = [], []
    for module, name, noted in (
        (gate, "anew", begun), (collocation, "at_states", looked), (gate, "at_states", looked),
    ):  # fmt: skip
        whole = getattr(module, name)
        monkeypatch.setattr(
            module, name, lambda *a, whole=whole, noted=noted: noted.append(len(a[1])) or whole(*a)
        )
    motion = st.simulate(system, span=(0, 2), start={x: 2}, method=st.BDF(), rtol=1e-8)
    assert motion.success and not begun
    assert len(looked) < 80 and sum(looked) < 5 * len(motion.t)


@pytest.mark.parametrize("seed", range(8))
def test_ends_of_stiff_and_of_growing_steps_are_those_of_the_exponential(seed):
    rng = np.random.default_rng(seed)
    slow, fast = 10.0 ** rng.uniform(-2, 1), 10.0 ** rng.uniform(0, 6)
    h = 10.0 ** rng.uniform(-3, 0.5, 4)
    # ẍ = −(a + b) ẋ − a b x decays with the rates a and b; with b < 0 one of them grows.
    a, b = slow, fast if seed % 4 else -rng.uniform(0.1, 8) / h.max()
    system = st.System(kinetic=x.dot**2 / 2, loads=[st.Load(-(a + b) * x.dot - a * b * x, on=x)])
    ode = Ode(kernel_of(system, ()), np.zeros(0), 1e-10, 1e-12)
    y = np.zeros((4, ode.kernel.states))
    y[:, :2] = rng.normal(size=(4, 2)) * (1.0, abs(a) + abs(b))
    size = abs(y).max()
    tolerance = np.tile(1e-10 * np.array([size, size, size**2]), (4, 1))
    there = collocation.continued(ode, np.zeros(4), h, y, tolerance)
    exact = np.array(
        [expm(s * np.array([[0, 1], [-a * b, -(a + b)]])) @ z[:2] for s, z in zip(h, y)]
    )
    known = np.isfinite(there[:, 0])
    assert known.sum() >= 3
    grown = np.exp(np.maximum(0.0, -b * h))[:, None]
    assert (abs(there[:, :2] - exact) / grown)[known].max() <= 2e-11 * size


@pytest.mark.parametrize("name", ["pendulum", "free", "driven", "rod", "skate"])
def test_a_series_that_does_not_end_where_the_next_one_begins_is_refused(name, monkeypatch):
    """As Taylor's steps are taken again, the motion is the same to rounding."""
    system, start = SYSTEMS[name]
    whole = taylor._steps

    def motion() -> Any:
        # Somebody watches, so that each step is noted.
        watched = [st.Event(system.coordinates[0] - 1e6)]
        return st.simulate(
            system, span=(0, 2), start=start, method=st.Taylor(), points=11, events=watched
        )

    right = motion()
    for step in range(2 * system.size):
        made: list[float] = []

        def wrong(stepper, end, short, count, step=step, made=made):
            first, lost = whole(stepper, end, short, step + 1)
            if made or lost or first.t[-1] >= end:
                return first, lost
            entry = step % len(stepper.state)
            state = stepper.state
            state[entry] += 1e-10 * stepper.sizes[entry]
            stepper.put(stepper.time, state)
            made.append(stepper.time)
            rest, lost = whole(stepper, end, short, count)
            joined = {k: np.concatenate([getattr(first, k), getattr(rest, k)]) for k in ("h", "c")}
            t, ends = (
                np.concatenate([getattr(first, k)[:-1], getattr(rest, k)]) for k in ("t", "ends")
            )
            return replace(rest, t=t, ends=ends, **joined), lost

        with monkeypatch.context() as patch:
            patch.setattr(taylor, "_steps", wrong)
            again = motion()
        assert made or again.steps <= step + 1
        size = np.abs(right.y).max(axis=0) + 1e-3
        assert np.all(np.abs(again.y[-1] - right.y[-1]) <= 2e-13 * again.steps * size)


@pytest.mark.one_in(2)
@pytest.mark.parametrize("name", ["pendulum", "free", "driven", "rod", "skate", "rope"])
def test_a_fixed_step_that_is_wrong_is_refused(name, monkeypatch):
    system, start = SYSTEMS[name]
    whole, step = variational._advance, 0.01 if name == "rope" else 0.05
    method = st.Variational(step=step)
    for k in (0, 1, 17, 38, 39):
        # Of a rope with many links every few: whichever step it is, and wherever.
        many = system.size > 10
        for entry in range(k % 17 * many, 2 * system.size, 17 if many else 1):

            def wrong(ode, steps, t, length, begin, k=k, entry=entry):
                states = whole(ode, steps, t, length, begin)
                # Ten times what is allowed of momenta, and what velocities make of that in a step.
                size = np.abs(states).max(axis=0) * (length if entry < system.size else 1.0)
                states[k, entry] += 2e-8 * max(size[entry], 0.1)
                if k + 1 < len(states):
                    after = t + (k + 1) * length
                    states[k + 1 :] = whole(ode, len(states) - k - 1, after, length, states[k])
                return states

            with monkeypatch.context() as patch:
                patch.setattr(variational, "_advance", wrong)
                told = st.simulate(
                    system, span=(0, 40 * step), start=start, method=method, throw=False
                )
            assert told.status == "refuted", (k, entry)


def test_noise_where_a_cusp_is_crossed_is_none_of_the_way_beyond():
    # In the cusp the force has half of its digits: a step from there on is judged by all of them.
    valley = st.System(
        kinetic=x.dot**2 / 2 + y.dot**2,
        potential=x**2 + y**2 + 0.3 * st.Abs(x + 0.7 * y - 0.1) ** 1.5,
    )
    motion = st.simulate(
        valley, span=(0, 10), start={x: 1.0, y: 0.3}, points=101, method=st.Runge()
    )
    # A tenth of what the gate allows, and a fifth of what such steps lost.
    assert motion.residual["energy"] < 4e-9


@pytest.mark.one_in(6)
@pytest.mark.parametrize("method", ["auto", st.BDF()], ids=["auto", "BDF"])
@pytest.mark.parametrize("seed", range(6))
def test_what_swings_is_slowed_by_the_root_of_its_speed(method, seed):
    """It turns where the force bends upright, and leaves a border at once, from rest."""
    rng = np.random.default_rng(seed)
    k, unit = 10.0 ** rng.uniform(-1, 2), 10.0 ** rng.choice([-9, 0, 9])
    c, end = rng.uniform(0.02, 0.3) * k**0.75, rng.uniform(4, 12) / np.sqrt(k)
    drag = c * np.sqrt(unit) * st.sign(x.dot) * st.sqrt(st.Abs(x.dot))
    swing = st.System(kinetic=x.dot**2 / 2, potential=k * x**2 / 2, loads=[st.Load(-drag, on=x)])
    motion = st.simulate(swing, span=(0, end), start={x: unit}, points=21, method=method)
    # By u = √|v| and a time of its own, dt = u dτ, each way is smooth.
    place, sign, time, u = 1.0, -1.0, 0.0, 0.0
    while time < end:
        events: list[Any] = [lambda _, z: z[1], lambda _, z: z[2] - end]
        turn, late = events
        turn.terminal, turn.direction, late.terminal = True, -1, True
        way = solve_ivp(
            lambda _, z, sign=sign: [sign * z[1] ** 3, -(sign * k * z[0] + c * z[1]) / 2, z[1]],
            (0, 1e3), (place, 0.0, time), "DOP853", rtol=1e-13, atol=1e-15, events=events,
        )  # fmt: skip
        place, u, time = way.y[:, -1]
        sign *= -1 if len(way.t_events[0]) else 1
        if len(way.t_events[1]):
            break
    assert motion[x][-1] / unit == pytest.approx(place, abs=1e-9)
    assert motion[x.dot][-1] / unit == pytest.approx(sign * u**2, abs=1e-9 * np.sqrt(k))


@pytest.mark.parametrize("power", [sp.Rational(4, 3), sp.Rational(3, 2)])
def test_behind_a_cusp_nodes_are_as_far_apart_as_steps(power, monkeypatch):
    """What vibrates fast in it does so nowhere else."""
    nodes, followed = [], proven_steps.followed
    monkeypatch.setattr(
        proven_steps, "followed",
        lambda ode, y, piece: nodes.append(len(piece.t)) or followed(ode, y, piece),
    )  # fmt: skip
    valley = st.System(kinetic=x.dot**2 / 2, potential=st.Abs(x) ** power)
    # A quarter of its period: x = (1 − s²)^(1/p) takes off the roots at both ends.
    p = float(power)
    quarter = quad(lambda s: np.sqrt(2) / p * (1 - s**2) ** (1 / p - 1), 0, 1)[0]
    motion = st.simulate(valley, span=(0, 4 * quarter), start={x: 1.0}, points=101, method=st.BDF())
    assert motion[x][-1] == pytest.approx(1.0, abs=1e-7)
    assert abs(motion[x.dot][-1]) < 1e-6
    assert sum(nodes) < motion.steps
