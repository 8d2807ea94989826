"""The report's section 5, and its three kinds of constrained direction in 3n dimensions.

M. A. Peshkin and A. C. Sanderson, A Variational Principle for Quasistatic Mechanics,
CMU-RI-TR-86-16 (1986). Equation numbers are the report's.
"""

from itertools import product

import numpy as np
import pytest
from scipy.optimize import brentq

import stationary as st
from tests.checks import assert_order

x, y = st.coordinates("x y")
mg, eta, v_x = st.parameters(mg=1.0, eta=2.0, v_x=1.0)


def fence(n):
    """Figure 5-1: a fence imposes v_x, a force mg pulls down y, η vⁿ opposes the velocity."""
    drag = st.Friction(eta, on=(x, y), name="friction") if n == 0 else st.Drag(eta, n, on=(x, y))
    return st.System(potential=mg * y, friction=[drag], constraints=[x - v_x * st.t])


def implicit(n, times, values):
    """Return the v_y of equation 29 (times = 1) or 32 (times = n + 1), downwards."""
    pull = values[mg] / values[eta] / times
    power = (n - 1) / 2
    return brentq(
        lambda w: w * (values[v_x] ** 2 + w**2) ** power - pull, 0, 1e4, xtol=1e-15, rtol=1e-15
    )


VALUES = [{mg: 1.0, eta: a, v_x: b} for a, b in product((1.05, 1.5, 4.0, 30.0), (0.1, 1.0, 7.0))]


@pytest.mark.one_in(3)
@pytest.mark.parametrize("values", VALUES, ids=lambda v: f"eta={v[eta]},v_x={v[v_x]}")
@pytest.mark.parametrize("n", [0, 1, 2])
def test_the_least_dissipation_is_equation_29_for_every_power(n, values):
    exact = implicit(n, 1, values)
    for find in (st.minimum_dissipation, st.newton):
        step = find(fence(n), params=values)
        assert step[x.dot] == pytest.approx(values[v_x], rel=1e-13)
        assert -step[y.dot] == pytest.approx(exact, rel=1e-10)
        assert step.gap < 1e-9


@pytest.mark.parametrize("values", VALUES, ids=lambda v: f"eta={v[eta]},v_x={v[v_x]}")
def test_minimum_power_is_equation_29_for_dry_friction_and_closed(values):
    step = st.minimum_power(fence(0), params=values)
    # n = 0: v_y = v_x / √((η/mg)² − 1).
    exact = values[v_x] / np.sqrt((values[eta] / values[mg]) ** 2 - 1)
    assert -step[y.dot] == pytest.approx(exact, rel=1e-11)
    # The fence pushes with the x component of friction, along +x.
    assert step.lam[0] == pytest.approx(np.sqrt(values[eta] ** 2 - values[mg] ** 2), rel=1e-10)
    assert np.linalg.norm(step.forces["friction"]) == pytest.approx(values[eta], rel=1e-12)
    assert step.power == pytest.approx(step.lam[0] * values[v_x], rel=1e-10)
    assert step.unique and step.status == "moves"


@pytest.mark.parametrize("n", [1, 2])
@pytest.mark.parametrize("values", VALUES[::5], ids=lambda v: f"eta={v[eta]},v_x={v[v_x]}")
def test_the_naive_minimum_is_equation_32_and_differs_unless_n_is_0(n, values):
    naive = st.minimum_power(fence(n), params=values, refuse=False)
    exact = implicit(n, n + 1, values)
    assert -naive[y.dot] == pytest.approx(exact, rel=1e-10)
    # Equation 30, and the drag ηvⁿ as it is at that velocity.
    speed = np.hypot(values[v_x], exact)
    taken = values[eta] * speed ** (n + 1)
    assert naive.power == pytest.approx(taken - values[mg] * exact, rel=1e-10)
    assert naive.dissipated == pytest.approx(taken, rel=1e-10)
    (drag,) = naive.forces.values()
    assert np.linalg.norm(drag) == pytest.approx(values[eta] * speed**n, rel=1e-10)
    assert "not the motion" in naive.status.message
    right = st.newton(fence(n), params=values)
    assert abs(right[y.dot]) > 1.2 * abs(naive[y.dot])


def test_the_naive_minimum_sees_viscous_loads_twice_and_magnetic_ones_not_at_all():
    c = st.parameters(c=2.0)
    slope = [
        st.System(dissipation=c * (x.dot**2 + y.dot**2) / 2),
        st.System(loads=[st.Load((-c * x.dot, -c * y.dot), on=(x, y), name="oil")]),
    ]
    for drag in slope:
        pulled = drag + st.System(potential=y, constraints=[x - st.t])
        # mg = 2 c v_y instead of c v_y.
        assert st.minimum_power(pulled, refuse=False)[y.dot] == pytest.approx(-0.25, rel=1e-12)
        assert st.newton(pulled)[y.dot] == pytest.approx(-0.5, rel=1e-12)
    field = st.Load((c * y.dot, -c * x.dot), on=(x, y), name="field")
    charge = st.System(
        loads=[field], friction=[st.Friction(1.0, on=(x, y))], constraints=[x - st.t]
    )
    assert st.minimum_power(charge, refuse=False)[y.dot] == 0
    # Across: 2c v_x = v_y/|v|, with c = 1/2 at a slope of 30°.
    assert st.newton(charge, params={c: 0.5})[y.dot] == pytest.approx(-1 / np.sqrt(3), rel=1e-10)


@pytest.mark.parametrize("n", [1, 2])
def test_minimum_power_refuses_what_it_would_get_wrong(n):
    with pytest.raises(st.DerivationError, match=f"the slope of its power is {n + 1} times it"):
        st.minimum_power(fence(n))


@pytest.mark.parametrize("weak", [0.2, 0.999])
def test_weaker_friction_than_weight_accelerates_downwards_fed_by_the_weight(weak):
    with pytest.raises(st.NoMotion) as caught:
        st.minimum_power(fence(0), params={eta: weak, mg: 1.0})
    error = caught.value
    assert error.kind == "accelerates"
    # Straight down: the fence keeps x, and nothing else feeds it.
    np.testing.assert_allclose(error.direction, [0, -1], atol=1e-7)
    assert error.names == ("the potential energy",)
    assert "fed by the potential energy" in str(error)
    step = st.minimum_power(fence(0), params={eta: weak, mg: 1.0}, throw=False)
    assert step.status == "accelerates" and np.isnan(step[y.dot])
    # The same facts without an error.
    np.testing.assert_allclose(step.status.direction, [0, -1], atol=1e-7)
    assert step.status.direction[y.dot] == error.direction["y"] == -1
    assert step.status.names == ("the potential energy",)
    assert "fed by the potential energy" in step.status.message


def test_just_enough_friction_moves_and_just_too_little_does_not():
    assert st.minimum_power(fence(0), params={eta: 1 + 1e-4})[y.dot] < -10
    with pytest.raises(st.NoMotion):
        st.minimum_power(fence(0), params={eta: 1 - 1e-4})


# -- n particles in 3n dimensions ------------------------------------------------------------------


def particles(rng, n):
    """Particles with all three kinds of constrained direction at random places.

    Fixed distance to a point (13), imposed velocity (14, 24-25), fixed distance between particles
    (26), Coulomb friction and constant forces.
    """
    r = st.coordinates("r", shape=(n, 3))
    place = rng.normal(size=(n, 3))
    constraints, rows, rates = [], [], []

    def direction(*parts):
        row = np.zeros((n, 3))
        for i, value in parts:
            row[i] = value
        rows.append(row.ravel())

    anchor = rng.normal(size=3)
    gap = [r[0, j] - anchor[j] for j in range(3)]
    constraints.append(st.Constraint(st.norm(gap) - np.linalg.norm(place[0] - anchor), name="tie"))
    direction((0, (place[0] - anchor) / np.linalg.norm(place[0] - anchor)))
    rates.append(0.0)
    e = rng.normal(size=3)
    along = e / np.linalg.norm(e)
    # (v − e)·e = 0 for the last particle.
    moved = sum(float(along[j]) * (r[n - 1, j] - place[n - 1, j]) for j in range(3))
    constraints.append(st.Constraint(moved - float(np.linalg.norm(e)) * st.t, name="pull"))
    direction((n - 1, along))
    rates.append(float(np.linalg.norm(e)))
    for i in range(n - 1):
        d = place[i] - place[i + 1]
        link = [r[i, j] - r[i + 1, j] for j in range(3)]
        constraints.append(st.Constraint(st.norm(link) - np.linalg.norm(d), name=f"link {i}"))
        direction((i, d / np.linalg.norm(d)), (i + 1, -d / np.linalg.norm(d)))
        rates.append(0.0)
    limits = rng.uniform(0.5, 2, size=n)
    push = rng.normal(size=(n, 3))
    push *= (0.6 * limits / np.linalg.norm(push, axis=1))[:, None]
    system = st.System(
        loads=[st.Load(tuple(push[i]), on=tuple(r[i]), name=f"push {i}") for i in range(n)],
        friction=[st.Friction(limits[i], on=tuple(r[i]), name=f"rub {i}") for i in range(n)],
        constraints=constraints,
        coordinates=[r],
    )
    return r, system, place, np.array(rows), np.array(rates), limits, push.ravel()


@pytest.mark.parametrize("n", [2, 3, 5])
def test_particles_in_3n_dimensions_slide_as_newton_says(n):
    r, system, place, C, rates, limits, push = particles(np.random.default_rng(n), n)
    least = st.minimum_power(system, at={r: place})
    balance = st.newton(system, at={r: place})
    v = least[r.dot].ravel()
    np.testing.assert_allclose(balance[r.dot].ravel(), v, atol=1e-9 * np.abs(v).max())
    # Equation 15, written out here: friction, pushes and forces along constrained directions.
    np.testing.assert_allclose(C @ v, rates, atol=1e-11)
    friction = np.concatenate([least.forces[f"rub {i}"] for i in range(n)])
    np.testing.assert_allclose(push + friction + C.T @ np.asarray(least.lam), 0, atol=1e-9)
    for i in range(n):
        size = np.linalg.norm(least.forces[f"rub {i}"])
        speed = np.linalg.norm(v[3 * i : 3 * i + 3])
        assert size <= limits[i] * (1 + 1e-9)
        if speed > 1e-8:
            np.testing.assert_allclose(
                least.forces[f"rub {i}"], -limits[i] * v[3 * i : 3 * i + 3] / speed, atol=1e-9
            )
    assert least.gap < 1e-9


@pytest.mark.parametrize("n", [2, 3])
def test_stiff_springs_tend_to_rigid_constraints_as_their_stiffness_grows(n):
    r, system, place, *_ = particles(np.random.default_rng(10 + n), n)
    rigid = st.minimum_power(system, at={r: place})[r.dot]
    stiff = np.array([1e2, 1e3, 1e4, 1e5])
    off = [
        np.abs(st.newton(system, at={r: place}, stiffness=k)[r.dot] - rigid).max() for k in stiff
    ]
    assert_order(list(1 / stiff), off, 1, 0.05)
    assert off[-1] < 1e-3


def test_friction_that_the_load_just_overcomes_has_no_slowest_motion():
    # At η = mg the power falls towards zero as v grows, and never reaches it.
    x, y = st.coordinates("x y")
    eta = st.parameters(eta=3.0)
    particle = st.System(
        potential=3 * y, friction=[st.Friction(eta, on=(x, y))], constraints=[x - 4 * st.t]
    )
    for limit, word in ((3.0, "accelerates"), (3.0 * (1 - 1e-6), "accelerates"), (3.001, "moves")):
        step = st.minimum_power(particle, params={eta: limit}, throw=False)
        assert step.status == word
        balanced = st.newton(particle, params={eta: limit}, throw=False)
        assert (balanced.status == "moves") == (word == "moves")
    # Equation 29 with n = 0: v_y = v_x mg / √(η² − mg²).
    assert step[y.dot] == pytest.approx(-4 * 3 / np.sqrt(3.001**2 - 9), rel=1e-8)
