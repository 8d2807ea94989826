"""The discrete variational integrator: order, momenta, energy over long times, and scale."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import brentq

import stationary as st
from tests.checks import assert_conserved, assert_order

cos, sin = st.cos, st.sin

G = 9.81


def pendulum(length=1.0, m=1.0):
    x, y = st.coordinates("x y")
    return st.particle(m, at=(x, y), gravity=G) + st.rod((0, 0), (x, y), length, name="rod")


def swinging(**terms):
    theta = st.coordinates("theta")
    return st.System(kinetic=theta.dot**2 / 2, potential=-G * cos(theta), **terms)


# -- one step -------------------------------------------------------------------------------------


def test_one_step_is_the_midpoint_rule_of_discrete_mechanics():
    # Marsden & West 2001, section 2.6.1: p − (q₁ − q)/h − (h/2) U'((q + q₁)/2) = 0, solved here by
    # bisection; m = l = 1.
    q, p, h = 0.2, 0.5, 0.1

    def balance(q1):
        return p - (q1 - q) / h - G * h / 2 * np.sin((q + q1) / 2)

    q1 = brentq(balance, -1, 1, xtol=1e-15)
    p1 = (q1 - q) / h - G * h / 2 * np.sin((q + q1) / 2)
    theta = st.coordinates("theta")
    motion = st.simulate(
        swinging(), span=(0, h), start={theta: q, theta.dot: p}, points=2,
        method=st.Variational(step=h),
    )  # fmt: skip
    assert motion.steps == 1
    assert motion[theta][-1] == pytest.approx(q1, abs=1e-14)
    assert motion[theta.dot][-1] == pytest.approx(p1, abs=1e-13)


def test_one_step_under_a_force_is_that_of_trep():
    # MurpheyLab/trep @5bea7a8, examples/papers/tase2012/pend-single-step.py, g = 9.8: there the
    # whole impulse u h acts at the beginning of the step, here one half at each end. Taking half of
    # it off the end and putting it onto the start makes the two the same.
    theta = st.coordinates("theta")
    q, p, u, h = 0.2, 0.5, 0.8, 0.1
    system = st.System(
        kinetic=theta.dot**2 / 2, potential=-9.8 * cos(theta), loads=[st.Load(u, on=theta)]
    )
    motion = st.simulate(
        system, span=(0, h), start={theta: q, theta.dot: p + u * h / 2}, points=2,
        method=st.Variational(step=h),
    )  # fmt: skip
    assert motion[theta][-1] == pytest.approx(0.24713619415557161, abs=1e-14)
    assert motion[theta.dot][-1] - u * h / 2 == pytest.approx(0.3627238831114321, abs=1e-13)


def test_steps_are_shortened_to_fill_the_span():
    theta = st.coordinates("theta")
    motion = st.simulate(
        swinging(), span=(1, 2), start={theta: 0.3}, method=st.Variational(step=0.3), points=5
    )
    assert motion.steps == 4
    assert motion.t[-1] == 2.0


def test_constant_forces_are_integrated_exactly():
    # The midpoint rule is exact for parabolas.
    x, y = st.coordinates("x y")
    ball = st.particle(1.0, at=(x, y), gravity=G)
    motion = st.simulate(
        ball, span=(0, 1), start={x.dot: 1.0, y.dot: 2.0}, method=st.Variational(0.1), points=11
    )
    t = motion.t
    np.testing.assert_allclose(motion[x], t, rtol=0, atol=1e-13)
    np.testing.assert_allclose(motion[y], 2 * t - G * t**2 / 2, rtol=0, atol=1e-13)


# -- order ----------------------------------------------------------------------------------------


def systems():
    """Free, forced, damped, held, rolled and driven systems, each with a start."""
    theta, x, y, phi = st.coordinates("theta x y phi")
    F = st.inputs("F")
    off = {theta: 1.0}
    edge = st.Pfaffian(x.dot * sin(phi) - y.dot * cos(phi), name="edge")
    level = {x: 1.0}
    return {
        "free": (swinging(), off, {}),
        "damped": (swinging(dissipation=0.3 * theta.dot**2 / 2), off, {}),
        "forced": (
            swinging(loads=[st.Load(F, on=theta)]),
            off,
            {F: sin(3 * st.t) - theta.dot / 5},
        ),
        "growing mass": (
            st.System(
                kinetic=(1 + sin(st.t) / 2) * theta.dot**2 / 2, potential=-G * cos(theta)
            ),
            off,
            {},
        ),
        "constrained": (pendulum(), level, {}),
        "constrained and damped": (
            pendulum() + st.System(dissipation=0.3 * (x.dot**2 + y.dot**2) / 2),
            level,
            {},
        ),
        "constrained and forced": (
            pendulum() + st.System(loads=[st.Load(F, on=x)]),
            level,
            {F: cos(2 * st.t)},
        ),
        "stated twice": (pendulum() + st.rod((0, 0), (x, y), 1.0, name="again"), level, {}),
        "on a moving pivot": (
            st.particle(1.0, at=(x, y), gravity=G) + st.rod((sin(3 * st.t) / 5, 0), (x, y), 1.0),
            {x: 0.0, y: -1.0, x.dot: 0.6},
            {},
        ),
        "nonholonomic": (
            st.System(
                kinetic=(x.dot**2 + y.dot**2 + phi.dot**2 / 5) / 2, potential=-5 * x,
                pfaffian=[edge],
            ),
            {phi.dot: 1.2},
            {},
        ),
        "nonholonomic with inertia ahead": (
            st.body(1, inertia=0.1, at=(x + cos(phi) / 10, y + sin(phi) / 10), angle=phi)
            + st.System(pfaffian=[edge]),
            {x.dot: -0.9, phi.dot: 0.8},
            {},
        ),
        "nonholonomic, damped and forced": (
            st.System(
                kinetic=(x.dot**2 + y.dot**2 + phi.dot**2 / 5) / 2,
                dissipation=(x.dot**2 + y.dot**2 + phi.dot**2) / 20,
                loads=[st.Load(F, on=phi)],
                pfaffian=[edge],
            ),
            {x.dot: 1.0},
            {F: sin(st.t)},
        ),
        "driven": (
            st.System(
                kinetic=(x.dot**2 + y.dot**2) / 2, potential=y**2 / 2 + x * y,
                pfaffian=[x.dot - y * cos(2 * st.t) - sin(st.t)],
            ),
            {x.dot: 0.3, y: 0.3},
            {},
        ),
    }  # fmt: skip


@pytest.mark.one_in(2)
@pytest.mark.parametrize("name", systems())
def test_the_error_falls_with_the_square_of_the_step(name):
    system, start, inputs = systems()[name]
    given = {"span": (0, 2), "start": start, "inputs": inputs, "points": 2}
    exact = st.simulate(system, **given)
    steps, errors = (0.04, 0.02, 0.01), []
    for step in steps:
        motion = st.simulate(system, method=st.Variational(step=step), **given)
        states = [np.append(m.q[-1], m.v[-1]) for m in (motion, exact)]
        errors.append(np.abs(states[0] - states[1]).max())
    assert_order(steps, errors, 2, within=0.05)


def test_the_energy_balance_of_a_damped_run_falls_with_the_square_of_the_step():
    system, start, _ = systems()["constrained and damped"]
    steps = (0.04, 0.02, 0.01)
    errors = [
        st.simulate(
            system, span=(0, 2), start=start, points=51, method=st.Variational(step)
        ).residual["energy"]
        for step in steps
    ]
    assert_order(steps, errors, 2, within=0.1)


def test_a_damped_bob_loses_the_energy_that_it_should():
    system, start, _ = systems()["constrained and damped"]
    exact = st.simulate(system, span=(0, 20), start=start, points=21)
    motion = st.simulate(system, span=(0, 20), start=start, points=21, method=st.Variational(0.005))
    np.testing.assert_allclose(motion.work, exact.work, rtol=0, atol=2e-3 * abs(exact.work[-1]))
    np.testing.assert_allclose(motion.energy, exact.energy, rtol=0, atol=1e-2)


# -- constraints ----------------------------------------------------------------------------------


def test_constraints_hold_to_rounding_at_every_step():
    system, start, _ = systems()["constrained"]
    motion = st.simulate(system, span=(0, 10), start=start, points=501, method=st.Variational(0.02))
    assert motion.steps == 500
    assert motion.residual["R"] < 1e-13
    assert motion.residual["Rdot"] < 1e-13


def test_a_knife_edge_does_not_slip_at_any_step():
    system, start, _ = systems()["nonholonomic"]
    motion = st.simulate(system, span=(0, 2), start=start, points=101, method=st.Variational(0.02))
    assert motion.residual["Rdot"] < 1e-12


def test_states_between_the_steps_lie_on_the_constraints():
    system, start, _ = systems()["constrained"]
    motion = st.simulate(system, span=(0, 1), start=start, points=101, method=st.Variational(0.03))
    assert motion.residual["R"] < 1e-12
    assert motion.residual["Rdot"] < 1e-12


def test_the_force_in_a_rod_is_found_from_the_states():
    x, y = st.coordinates("x y")
    motion = st.simulate(
        pendulum(), span=(0, 2), start={x: 1.0}, points=201, method=st.Variational(0.001)
    )
    np.testing.assert_allclose(motion.lam["rod"], 3 * G * motion[y], rtol=0, atol=1e-3)


# -- what is kept ---------------------------------------------------------------------------------


def test_angular_momentum_of_a_central_force_is_kept_to_rounding():
    x, y = st.coordinates("x y")
    planet = st.System(kinetic=(x.dot**2 + y.dot**2) / 2, potential=-1 / st.sqrt(x**2 + y**2))
    motion = st.simulate(
        planet, span=(0, 200), start={x: 0.4, y.dot: 2.0}, points=2001,
        method=st.Variational(0.02),
    )  # fmt: skip
    assert motion.steps == 10_000
    momentum = motion[x] * motion[y.dot] - motion[y] * motion[x.dot]
    # Ten thousand steps, each with errors of rounding at close quarters.
    assert_conserved(momentum, 0.8, 1e-11)


def test_angular_momentum_of_a_spherical_pendulum_is_kept_to_rounding():
    x, y, z = st.coordinates("x y z")
    bob = st.particle(1.0, at=(x, y, z), gravity=G) + st.rod((0, 0, 0), (x, y, z), 1.0)
    start = {x: np.sin(1.0), z: -np.cos(1.0), y.dot: 2.0}
    motion = st.simulate(bob, span=(0, 100), start=start, points=1001, method=st.Variational(0.02))
    assert_conserved(motion[x] * motion[y.dot] - motion[y] * motion[x.dot], 1.7, 1e-12)


def test_linear_momentum_of_a_free_chain_is_kept_to_rounding():
    r = st.coordinates("r", shape=(4, 2))
    chain = st.System(
        kinetic=st.each(lambda v: (v[0] ** 2 + v[1] ** 2) / 2, r.dot),
        potential=st.each(lambda a, b: 20 * (st.norm(b - a) - 1) ** 2, r[:-1], r[1:]),
    )
    rng = np.random.default_rng(0)
    start = {r: [[i, 0.1 * i**2] for i in range(4)], r.dot: rng.normal(size=(4, 2)) / 10}
    motion = st.simulate(chain, span=(0, 20), start=start, points=201, method=st.Variational(0.02))
    total = motion[r.dot].sum(axis=1)
    np.testing.assert_allclose(total, np.broadcast_to(total[0], total.shape), rtol=0, atol=1e-12)


def chain_of(count):
    r = st.coordinates("r", shape=(count, 2))
    return r, st.System(
        kinetic=st.each(lambda v: (v[0] ** 2 + v[1] ** 2) / 2, r.dot),
        potential=st.each(lambda p: G * p[1], r),
        constraints=[
            st.Constraint(st.norm(r[0]) - 1, name="first"),
            st.each(lambda a, b: st.norm(b - a) - 1, r[:-1], r[1:], name="link"),
        ],
    )


def assert_no_drift(steps):
    """The energy of a swinging chain oscillates about one mean, from first to last."""
    r, chain = chain_of(2)
    angle = np.array([0.6, -0.4])
    links = np.stack([np.sin(angle), -np.cos(angle)], axis=-1)
    step = 0.02
    # Every k-th step is an output, and k shares no factor with the period.
    motion = st.simulate(
        chain, span=(0, step * steps), start={r: np.cumsum(links, axis=0)},
        points=steps // 20 + 1, method=st.Variational(step),
    )  # fmt: skip
    assert motion.steps == steps
    error = motion.energy - motion.energy[0]
    tenths = error[1:].reshape(10, -1).mean(axis=1)
    swing = np.ptp(error)
    # The step is coarse enough to see: a thousandth of the energy that goes to and fro.
    assert 1e-4 < swing / np.ptp(motion.kinetic) < 1e-2
    assert np.ptp(tenths) < 0.02 * swing
    assert motion.residual["R"] < 1e-12
    assert motion.residual["Rdot"] < 1e-12


@pytest.mark.slow
def test_the_energy_of_a_chain_does_not_drift_in_a_million_steps():
    assert_no_drift(1_000_000)


# -- scale ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("step", [0.1, 0.01, 0.001])
def test_a_projectile_far_away_is_followed(step):
    x, y = st.coordinates("x y")
    ball = st.particle(1.0, at=(x, y), gravity=G)
    motion = st.simulate(
        ball, span=(0, 10), start={x.dot: 100.0, y.dot: 100.0}, points=11,
        method=st.Variational(step),
    )  # fmt: skip
    np.testing.assert_allclose(motion[x], 100 * motion.t, rtol=1e-11)
    np.testing.assert_allclose(
        motion[y], 100 * motion.t - G * motion.t**2 / 2, rtol=1e-11, atol=1e-8
    )


@pytest.mark.parametrize("m", [1e-6, 1e3, 1e6])
def test_masses_have_any_unit(m):
    x, y = st.coordinates("x y")
    one, other = (
        st.simulate(
            pendulum(m=mass), span=(0, 1), start={x: 1.0}, points=11, method=st.Variational(0.01)
        )
        for mass in (1.0, m)
    )
    np.testing.assert_allclose(other.q, one.q, rtol=0, atol=1e-11)


@pytest.mark.parametrize("length", [1e-3, 1e2, 1e4])
def test_lengths_have_any_unit(length):
    # Lengths in another unit, gravity in that unit too: the same swing.
    x, y, g = *st.coordinates("x y"), st.parameters(g=G)
    motions = []
    for size in (1.0, length):
        bob = st.particle(1.0, at=(x, y), gravity=g) + st.rod((0, 0), (x, y), size)
        motions.append(
            st.simulate(
                bob, span=(0, 1), start={x: size}, params={g: G * size}, points=11,
                method=st.Variational(0.01),
            ).q / size
        )  # fmt: skip
    np.testing.assert_allclose(motions[1], motions[0], rtol=0, atol=1e-10)


def test_a_short_step_does_not_fail():
    x, y = st.coordinates("x y")
    motion = st.simulate(
        pendulum(), span=(0, 0.2), start={x: 1.0}, points=3, method=st.Variational(1e-4)
    )
    exact = st.simulate(pendulum(), span=(0, 0.2), start={x: 1.0}, points=3)
    np.testing.assert_allclose(motion.q, exact.q, rtol=0, atol=1e-7)


def test_a_step_that_is_no_time_is_refused():
    for step in (0.0, -1.0, float("nan"), float("inf")):
        with pytest.raises(st.StatementError) as caught:
            st.Variational(step=step)
        assert str(caught.value) == (
            "the step of a variational integrator is a positive number.\n"
            f"  Found step={step!r}.\n"
            "  Give a time, as in st.Variational(step=0.01)."
        )


@pytest.mark.parametrize("unit", [1e-9, 1e-4, 1e5, 1e9])
@pytest.mark.parametrize("held", [False, True])
def test_metres_beside_radians_are_the_same_in_every_unit(unit, held):
    # A pendulum on a cart, in one angle, or in places with a rod between them.
    def ends(unit):
        x, a, b, c = st.coordinates("x a b c")
        bob = (x + b, c) if held else (x + unit * st.sin(a), -unit * st.cos(a))
        cart = st.particle(2.0, at=(x, 0)) + st.particle(1.0, at=bob, gravity=9.81)
        start = {x: 3 * unit, x.dot: 0.1 * np.sqrt(unit)} | (
            {b: 0.6 * unit, c: -0.8 * unit} if held else {a: 1.0}
        )
        cart = cart + st.rod((0.0, 0.0), (b, c), unit) if held else cart
        span = (0, np.sqrt(unit))
        method = st.Variational(step=span[1] / 50)
        motion = st.simulate(cart, span=span, start=start, points=3, method=method)
        scale = np.array([unit, unit, unit] if held else [unit, 1.0])
        return np.concatenate([motion.q[-1] / scale, motion.v[-1] / scale * span[1]])

    np.testing.assert_allclose(ends(unit), ends(1.0), rtol=0, atol=1e-11)


# -- wrong steps ----------------------------------------------------------------------------------


def hung(unit):
    """Two weights on two rods far from the origin, pulled aside by a load."""
    a, b, c, d = st.coordinates("a b c d")
    far = 5 * unit
    weights = st.particle(1.0, at=(a, b), gravity=G) + st.particle(2.0, at=(c, d), gravity=G)
    rods = st.rod((far, 0.0), (a, b), 2 * unit) + st.rod((a, b), (c, d), unit)
    pulled = weights + rods + st.System(loads=[st.Load(4.0, on=c)])
    return pulled, {a: far + unit, b: -unit, c: far + 2 * unit, d: -2 * unit}


@pytest.mark.parametrize("unit", [1e-6, 1.0, 1e6])
def test_a_wrong_step_of_a_discrete_action_is_refuted(unit, monkeypatch):
    # Off by a millionth in one place or velocity of one step, told or gone on from, or all steps
    # taken under another weight: the status is what the gate finds.
    system, start = hung(unit)
    root, pieces = np.sqrt(unit), st.Variational.pieces
    span, method = (0, root), st.Variational(step=root / 200)

    def asked():
        return st.simulate(system, span=span, start=start, points=11, method=method, throw=False)

    right = asked()
    assert right.status == "done"

    def wrong(step, i, by):
        def told(self, ode, t, y, end, *, grid, dense):
            for piece in pieces(self, ode, t, y, end, grid=grid, dense=dense):
                states = piece.evaluate(piece.t)
                states[step, i] += by
                yield replace(piece, evaluate=lambda t: states.copy(), end=states[-1])

        return told

    for step, i in [(57, 0), (57, 6), (100, 3), (-1, 2), (-1, 5)]:
        by = 1e-6 * np.ptp(right.y[:, i])
        monkeypatch.setattr(st.Variational, "pieces", wrong(step, i, by))
        motion = asked()
        assert motion.status == "refuted" and "t = " in motion.status.message, (step, i)

    x = st.coordinates("x")
    g = st.parameters(g=9.81)
    fall = st.System(kinetic=x.dot**2 / 2, potential=g * x)

    def heavier(self, ode, *rest, **known):
        return pieces(self, replace(ode, p=ode.p * (1 + 1e-6)), *rest, **known)

    monkeypatch.setattr(st.Variational, "pieces", heavier)
    with pytest.raises(st.DidNotConverge, match="cannot be trusted") as caught:
        st.simulate(fall, span=span, start={x: 5 * unit}, method=method)
    assert caught.value.status == "refuted"


@pytest.mark.parametrize("speed", [1e-12, 1e-3])
def test_what_hardly_moves_while_time_moves_its_constraint_is_not_singular(speed):
    x, y = st.coordinates("x y")
    rate, high, angle = 20.0, 0.05, 0.3
    rod = st.Constraint(x**2 + (y - high * cos(rate * st.t)) ** 2 - 1)
    shaken = st.particle(1.0, at=(x, y), gravity=G) + st.System(constraints=[rod])
    start = {x: np.sin(angle), y: high - np.cos(angle)}
    start |= {x.dot: speed * np.cos(angle), y.dot: speed * np.sin(angle)}
    method = st.Variational(step=0.04 / rate)
    assert st.simulate(shaken, span=(0, 1), start=start, method=method, points=21).success


def test_momenta_in_a_magnetic_field_are_rounded_as_their_places_are():
    x, y = st.coordinates("x y")
    far, step = 1e4, 0.01
    charge = st.System(
        kinetic=(x.dot**2 + y.dot**2) / 2 + 1.5 * ((x - far) * y.dot - (y - far) * x.dot)
    )
    start = {x: far, y: far, x.dot: 1.0}
    motion = st.simulate(charge, span=(0, 2), start=start, method=st.Variational(step=step))
    # It goes around a circle at 3 radians a second, and falls behind in proportion to h².
    assert np.allclose(motion[x] - far, np.sin(3 * motion.t) / 3, atol=2 * step**2)
