"""Sections 2-4 of the report: for which forces the principle holds, decided symbolically.

The criterion is equation 6, Σᵢ vᵢ ∂Fᵢ/∂vⱼ = 0; here it is checked by numbers as well.
"""

import numpy as np
import pytest

import stationary as st

x, y, z = st.coordinates("x y z")
k, n, B = st.parameters(k=2.0, n=0.0, B=3.0)
speed = st.sqrt(x.dot**2 + y.dot**2)


def loaded(*force, on=(x, y)):
    return st.System(loads=[st.Load(force, on=on, name="F")])


HOLDS = {
    "constant": loaded(3, -1),
    "spring": st.System(potential=k * (x**2 + y**2) / 2),
    "work": st.System(work=x * y),
    "force field that is no gradient": loaded(-y, x),
    "force of time": loaded(st.sin(st.t), 0),
    "Coulomb": st.System(friction=[st.Friction(k, on=(x, y))]),
    "Coulomb on an expression": st.System(friction=[st.Friction(k, on=x * st.cos(y))]),
    "limit that depends on place": st.System(friction=[st.Friction(k * (1 + x**2), on=(x, y))]),
    "drag of power 0": st.System(friction=[st.Drag(k, 0, on=(x, y))]),
    "Coulomb by hand": loaded(-k * x.dot / speed, -k * y.dot / speed),
    "Coulomb by hand in one dimension": loaded(-k * st.sign(x.dot), on=x),
    "Coulomb by hand over its own size": loaded(-k * x.dot / st.Abs(x.dot), on=x),
    "Coulomb that depends on the direction": loaded(
        -2 * k * x.dot / st.sqrt(2 * x.dot**2 + 3 * y.dot**2),
        -3 * k * y.dot / st.sqrt(2 * x.dot**2 + 3 * y.dot**2),
    ),
    "Coulomb as a dissipation": st.System(dissipation=k * speed),
    "Coulomb as a dissipation in one dimension": st.System(dissipation=k * st.Abs(x.dot)),
    "Coulomb of a mixed rate": loaded(
        -k * st.sign(x.dot + 2 * y.dot), -2 * k * st.sign(x.dot + 2 * y.dot)
    ),
    "kinetic energy without linear terms": st.System(
        kinetic=x.dot**2 + x * y.dot**2, friction=[st.Friction(1, on=(x, y))]
    ),
    "linear terms of T that are a total derivative": st.System(
        kinetic=x.dot**2 + y.dot**2 + y * x.dot + x * y.dot, friction=[st.Friction(1, on=(x, y))]
    ),
    "constraints": st.System(
        constraints=[x**2 + y**2 - 1], pfaffian=[st.sin(x) * z.dot - y.dot],
        friction=[st.Friction(1, on=(x, y))],
    ),
    "contact without friction": st.System(contacts=[st.Contact(x)]),
}  # fmt: skip

FAILS = {
    "magnetic": loaded(B * y.dot, -B * x.dot),
    "viscous": st.System(friction=[st.Drag(k, 1, on=(x, y))]),
    "quadratic": st.System(friction=[st.Drag(k, 2, on=(x, y))]),
    "half power": st.System(friction=[st.Drag(k, 0.5, on=(x, y))]),
    "power by a parameter": st.System(friction=[st.Drag(k, n, on=(x, y))]),
    "quadratic by hand in one dimension": loaded(-k * x.dot * st.Abs(x.dot), on=x),
    "viscous by hand": loaded(-k * x.dot, -k * y.dot),
    "quadratic by hand": loaded(-k * x.dot * speed, -k * y.dot * speed),
    "Rayleigh": st.System(dissipation=k * x.dot**2 / 2),
    "anisotropic viscous": st.System(dissipation=x.dot**2 + 5 * y.dot**2),
    "Coulomb with a limit that grows with speed": loaded(
        -(1 + speed) * x.dot / speed, -(1 + speed) * y.dot / speed
    ),
    "constant size, steeper than the velocity": loaded(-2 * x.dot / speed, -3 * y.dot / speed),
    "constant size, turned by an angle": loaded(-(x.dot - y.dot) / speed, -(y.dot + x.dot) / speed),
    "constant size across the velocity": loaded(k * y.dot / speed, -k * x.dot / speed),
    "gyroscopic": st.System(
        kinetic=x.dot**2 + y.dot**2 + B * (x * y.dot - y * x.dot),
        friction=[st.Friction(1, on=(x, y))],
    ),
    "a contact with friction": st.System(contacts=[st.Contact(x, friction=k, slip=y)]),
    "Coulomb plus viscous": st.System(
        friction=[st.Friction(1, on=(x, y)), st.Drag(k, 1, on=(x, y))]
    ),
}


@pytest.mark.parametrize("name", HOLDS)
def test_forces_that_minimum_power_covers(name):
    scope = st.minimum_power_holds(HOLDS[name])
    assert scope and not scope.failing, scope
    assert "minimum power holds" in str(scope)


@pytest.mark.parametrize("name", FAILS)
def test_forces_that_minimum_power_does_not_cover(name):
    scope = st.minimum_power_holds(FAILS[name])
    assert not scope and scope.failing, scope
    assert all(scope.reasons[f] for f in scope.failing)


@pytest.mark.parametrize("name", [k for k, s in {**HOLDS, **FAILS}.items() if s.loads])
def test_the_verdict_on_a_load_is_equation_6_in_numbers(name):
    system = {**HOLDS, **FAILS}[name]
    load = system.loads[0]
    q, v = (x, y), (x.dot, y.dot)
    on = [[e.diff(c) for c in q] for e in load.on]
    F = [sum(f * row[j] for f, row in zip(load.force, on)) for j in range(2)]
    rng = np.random.default_rng(1)
    values = {s: float(rng.uniform(0.5, 2)) for s in (*q, *v, st.t, k, B)}
    left = []
    for j in range(2):
        total = 0.0
        for i in range(2):
            ahead = {**values, v[j]: values[v[j]] + 1e-4}
            back = {**values, v[j]: values[v[j]] - 1e-4}
            slope = (F[i] * 1.0).subs(ahead) - (F[i] * 1.0).subs(back)  # pyright: ignore
            total += values[v[i]] * float(slope) / 2e-4
        left.append(abs(total))
    assert (max(left) < 1e-6) == bool(st.minimum_power_holds(system))


def test_the_reason_tells_what_grows_from_what_is_only_turned():
    turned = st.minimum_power_holds(FAILS["constant size, turned by an angle"])
    assert "not against the velocity" in turned.reasons["load 'F'"]
    assert "power 2 of the speed" in str(st.minimum_power_holds(FAILS["quadratic by hand"]))
    directed = st.minimum_power_holds(HOLDS["Coulomb that depends on the direction"])
    assert "depends on the direction only" in directed.reasons["load 'F'"]


def test_a_mixture_names_the_guilty_term_only():
    mixed = st.System(
        potential=x,
        loads=[st.Load(3, on=y, name="pull"), st.Load((B * y.dot, -B * x.dot), on=(x, y),
                                                      name="coil")],
        friction=[st.Friction(1, on=(x, y), name="dry"), st.Drag(k, 1, on=(x, y), name="oil")],
    )  # fmt: skip
    scope = st.minimum_power_holds(mixed)
    assert set(scope.failing) == {"load 'coil'", "drag 'oil'"}
    assert "perpendicular" in scope.reasons["load 'coil'"]
    assert "slope of its power is 2 times it" in scope.reasons["drag 'oil'"]
    assert scope.reasons["friction 'dry'"].startswith("Coulomb friction")
    assert scope.reasons["load 'pull'"] == "independent of velocity"


def test_repeated_terms_are_decided_by_their_element():
    r = st.coordinates("r", shape=(30, 2))
    dry = st.System(friction=st.each(lambda p: st.Friction(1.0, on=p), r, name="ground"))
    wet = st.System(friction=st.each(lambda p: st.Drag(1.0, 1, on=p), r, name="water"))
    assert st.minimum_power_holds(dry)
    assert st.minimum_power_holds(wet).failing == ("drag 'water'",)
    damped = st.System(dissipation=st.each(lambda v: v[0] ** 2 + v[1] ** 2, r.dot))
    assert st.minimum_power_holds(damped).failing == ("the dissipation",)


@pytest.mark.parametrize("power, factor", [(1, "2"), (2, "3"), (3, "4"), (n, "n + 1")])
def test_what_the_principle_would_get_wrong_is_the_factor_n_plus_1(power, factor):
    scope = st.minimum_power_holds(st.System(friction=[st.Drag(k, power, on=x, name="d")]))
    assert f"the slope of its power is {factor} times it" in scope.reasons["drag 'd'"]


@pytest.mark.parametrize("name, factor", [
    ("viscous by hand", 2), ("quadratic by hand", 3), ("quadratic by hand in one dimension", 3),
    ("Rayleigh", 2), ("anisotropic viscous", 2), ("half power", "3/2"),
])  # fmt: skip
def test_the_factor_is_found_however_the_force_is_written(name, factor):
    scope = st.minimum_power_holds(FAILS[name])
    assert f"the slope of its power is {factor} times it" in scope.reasons[scope.failing[0]]


@pytest.mark.parametrize("name", ["magnetic", "viscous", "gyroscopic", "Rayleigh", "quadratic"])
def test_minimum_power_refuses_what_it_does_not_cover(name):
    with pytest.raises(st.DerivationError, match="the principle of minimum power does not hold"):
        st.minimum_power(FAILS[name])


@pytest.mark.parametrize("name", ["magnetic", "gyroscopic", "viscous by hand"])
def test_minimum_dissipation_refuses_what_has_no_potential_known(name):
    with pytest.raises(st.DerivationError):
        st.minimum_dissipation(FAILS[name])


def test_a_magnetic_force_turns_the_motion_as_newton_says():
    # In viscous drag k and field B under a force F: v = F (k, −B) / (k² + B²).
    charge = st.System(
        loads=[st.Load((B * y.dot, -B * x.dot), on=(x, y), name="coil")],
        work=4 * x, friction=[st.Drag(k, 1, on=(x, y))],
    )  # fmt: skip
    step = st.newton(charge)
    np.testing.assert_allclose(step.v, 4 * np.array([2.0, -3.0]) / 13, rtol=1e-11)


@pytest.mark.parametrize("power, right, naive", [
    (1, 4.0, 2.0), (2, 2.0, 1.154700538379251529018), (3, 1.587401051968199474752, 1.0),
])  # fmt: skip
def test_falling_through_drag_takes_the_terminal_speed_and_not_the_naive_one(power, right, naive):
    # QS-POWERLAW: F = 2, k = 0.5.
    falling = st.System(work=2.0 * x, friction=[st.Drag(0.5, power, on=x)])
    assert st.minimum_dissipation(falling)[x.dot] == pytest.approx(right, rel=1e-11)
    assert st.newton(falling)[x.dot] == pytest.approx(right, rel=1e-11)
    heavier = st.System(work=2.0 * x, friction=[st.Drag(0.5 * (power + 1), power, on=x)])
    assert st.minimum_dissipation(heavier)[x.dot] == pytest.approx(naive, rel=1e-11)


def test_dry_and_viscous_friction_together_give_the_sum_of_both():
    # limit + k v = F.
    sled = st.System(work=5.0 * x, friction=[st.Friction(2.0, on=x), st.Drag(1.5, 1, on=x)])
    for find in (st.minimum_dissipation, st.newton):
        assert find(sled)[x.dot] == pytest.approx(2.0, rel=1e-12)
    held = st.System(work=1.5 * x, friction=[st.Friction(2.0, on=x), st.Drag(1.5, 1, on=x)])
    assert st.minimum_dissipation(held).status == "sticks"


# -- drag below the first power, nearly at rest ---------------------------------------------------


def test_drag_that_a_constraint_keeps_at_rest_does_not_blur_the_rest():
    x, y, z = st.coordinates("x y z")
    slow = st.Drag(1.0, 0.5, on=x, name="slow")
    pulled = [st.Drag(1.0, 2, on=y - z), st.Drag(2.0, 1, on=y)]
    # (1 − v)² = 2 v.
    for held in (st.System(constraints=[x]), st.System(contacts=[st.Contact(x), st.Contact(-x)])):
        step = st.minimum_dissipation(
            held + st.System(friction=[slow, *pulled], constraints=[z - st.t])
        )
        assert step[y.dot] == pytest.approx(2 - np.sqrt(3), rel=1e-12)
        assert step.forces["slow"] == pytest.approx(0.0, abs=1e-9) and step.gap < 1e-12


@pytest.mark.parametrize("push", [1e-3, 1e-2, 0.1])
@pytest.mark.parametrize("n", [0.2, 0.5, 0.8])
def test_a_belt_is_followed_with_the_slip_that_a_weak_push_asks_for(n, push):
    # η|w|ⁿ = push, however small w is; and the follower behind it, η|w'|ⁿ = push/2.
    x, y = st.coordinates("x y")
    belt = st.System(
        work=push * (x + y) / 2,
        friction=[st.Drag(1.0, n, on=x - st.t, name="belt"), st.Drag(1.0, n, on=(y - x, 0 * x))],
    )
    step = st.minimum_dissipation(belt)
    slip, behind = push ** (1 / n), (push / 2) ** (1 / n)
    assert step[x.dot] == pytest.approx(1 + slip, abs=1e-14)
    assert step[y.dot] == pytest.approx(1 + slip + behind, abs=1e-14)
    assert step.forces["belt"] == pytest.approx(-push, rel=1e-7)
