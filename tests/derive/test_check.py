"""What check finds: the properties of M, C and G, and what a motion conserves."""

import pytest
import sympy as sp

import stationary as st
from stationary.derive.check import check, vanish

x, y, theta, phi, psi, r = st.coordinates("x y theta phi psi r")
m, ell, k, c, g, b, B, Omega, I1, I3 = st.parameters("m l k c g b B Omega I1 I3")
m1, m2 = st.parameters("m1 m2")
F = st.inputs("F")
sin, cos = sp.sin, sp.cos

T_CART = (
    m1 * x.dot**2 / 2
    + m2 * (x.dot**2 + 2 * x.dot * theta.dot * ell * cos(theta) + ell**2 * theta.dot**2) / 2
)
CART = st.System(kinetic=T_CART, potential=m2 * g * ell * (1 - cos(theta)), name="cart")
KEPLER = st.System(kinetic=m * (r.dot**2 + r**2 * phi.dot**2) / 2, potential=-k / r)
FREE = st.particle(m, at=(x, y))


def test_cart_passes_the_three_checks_of_the_slides_exactly():
    report = check(CART)
    assert report.passed and report
    for name in ("symmetric", "positive definite", "skew", "gradient"):
        assert report[name] and report[name].how == "exact", name
    assert report["positive definite"].text == "M is positive definite for positive parameters"
    assert report["gradient"].text == "G = ∂U/∂q, free of curl"


def test_matrices_are_compared_with_the_literal_derivation():
    report = check(CART)
    assert report["equations"] and report["equations"].how == "sampled at 5 states"


def test_position_of_the_cart_is_cyclic_until_it_is_pushed():
    found = check(CART)["cyclic"].value
    assert list(found) == [x]
    assert sp.expand(found[x] - T_CART.diff(x.dot)) == 0
    pushed = check(CART + st.System(loads=[st.Load(F, on=x)]))
    assert pushed["cyclic"] and pushed["cyclic"].value == {} and pushed.passed
    assert pushed["cyclic"].text.endswith("that changes at the rate F")
    # A load on the angle alone leaves the momentum of the cart.
    turned = CART + st.System(loads=[st.Load(F, on=theta)])
    assert list(check(turned)["cyclic"].value) == [x]


@pytest.mark.parametrize(
    ("term", "change"),
    [
        ({"work": F * x}, "at the rate F"),
        ({"loads": [st.Load(F - b * x.dot, on=x)]}, "at the rate F - b*x.dot"),
        ({"dissipation": b * x.dot**2 / 2}, "at the rate -b*x.dot"),
        ({"friction": [st.Friction(b, on=x, name="rail")]}, "by friction 'rail'"),
        ({"loads": [st.Load(-k * x, on=x)]}, None),
        ({"loads": [st.Load(k * x, on=theta)]}, None),
        ({"work": k * x}, None),
        ({"work": F * x**2}, None),
    ],
)
def test_a_coordinate_is_cyclic_where_nothing_depends_on_it_and_forces_on_it_are_named(
    term, change
):
    found = check(CART + st.System(**term))["cyclic"]
    assert found.value == {} and bool(found) == (change is not None)
    assert found.text.endswith(change or "no coordinate is cyclic")


def test_the_arm_of_a_furuta_pendulum_is_cyclic_under_its_torque():
    # K. Furuta, M. Yamakita, S. Kobayashi (1992): nothing depends on the angle of the arm.
    # The pendulum hangs at the tip of the arm and swings across it.
    tip = (
        c * cos(phi) - ell * sin(theta) * sin(phi),
        c * sin(phi) + ell * sin(theta) * cos(phi),
        -ell * cos(theta),
    )
    furuta = st.System(
        kinetic=I1 * phi.dot**2 / 2,
        potential=-m * g * ell * cos(theta),
        dissipation=b * theta.dot**2 / 2,
        loads=[st.Load(F, on=phi)],
    ) + st.particle(m, at=tip)
    driven = check(furuta)["cyclic"]
    assert driven and driven.value == {} and driven.text.endswith("that changes at the rate F")
    assert driven.text.startswith("'phi' with momentum")


def test_planet_keeps_its_angular_momentum_and_its_energy():
    report = check(KEPLER)
    assert report["cyclic"].value == {phi: m * r**2 * phi.dot}
    energy = m * (r.dot**2 + r**2 * phi.dot**2) / 2 - k / r
    assert report["energy"] and sp.expand(report["energy"].value - energy) == 0
    text = report["positive definite"].text
    assert "except where" in text and "r**2" in text


def test_heavy_top_keeps_two_momenta():
    spin = psi.dot + phi.dot * cos(theta)
    top = st.System(
        kinetic=I1 * (theta.dot**2 + phi.dot**2 * sin(theta) ** 2) / 2 + I3 * spin**2 / 2,
        potential=m * g * ell * cos(theta),
    )
    found = check(top)["cyclic"].value
    assert set(found) == {phi, psi}
    assert sp.expand(found[psi] - I3 * spin) == 0


def test_what_has_no_energy_is_not_said_to_lose_it():
    table = st.System(friction=[st.Friction(1, on=(x, y))], constraints=[x - st.t])
    assert check(table)["energy"].text.startswith("no energy is stated; friction")


def test_rotating_frame_keeps_the_jacobi_integral_and_not_the_energy():
    # Written in the turning frame the time drops out: h = T₂ − T₀ + U.
    turned = (
        x * cos(Omega * st.t) - y * sin(Omega * st.t),
        x * sin(Omega * st.t) + y * cos(Omega * st.t),
    )
    report = check(st.particle(m, at=turned) + st.System(potential=k * x**2 / 2))
    jacobi = m * (x.dot**2 + y.dot**2 - Omega**2 * (x**2 + y**2)) / 2 + k * x**2 / 2
    assert report["energy"] and "Jacobi integral" in report["energy"].text
    assert sp.expand(report["energy"].value - jacobi) == 0
    # The same system seen from outside: a potential that turns does work.
    seen = k * (x * cos(Omega * st.t) + y * sin(Omega * st.t)) ** 2 / 2
    outside = check(FREE + st.System(potential=seen))
    assert not outside["energy"] and "depends on time" in outside["energy"].text


@pytest.mark.parametrize(
    ("term", "reason"),
    [
        ({"loads": [st.Load(F, on=x, name="push")]}, "load 'push' does work"),
        ({"dissipation": b * x.dot**2 / 2}, "dissipation takes energy"),
        ({"friction": [st.Drag(b, 2, on=x, name="air")]}, "drag 'air' takes energy"),
        ({"friction": [st.Friction(b, on=x, name="table")]}, "friction 'table' takes energy"),
        ({"contacts": [st.Contact(y, name="floor")]}, "contact 'floor' may take energy in impacts"),
        ({"work": F * x}, "an energy depends on the input 'F'"),
        ({"potential": k * x * st.t}, "an energy depends on time"),
        ({"constraints": [st.Constraint(x - st.t, name="belt")]}, "constraint 'belt' moves"),
        ({"pfaffian": [st.Pfaffian(x.dot - 1, name="belt")]}, "constraint 'belt' moves"),
    ],
)
def test_every_reason_for_a_loss_of_energy_is_named(term, reason):
    report = check(FREE + st.System(**term))
    assert not report["energy"] and report["energy"].text.endswith(f"not conserved: {reason}")
    assert x not in report["cyclic"].value or "contacts" in term
    assert report.passed


def test_force_across_the_velocity_takes_no_energy():
    magnetic = FREE + st.System(loads=[st.Load((B * y.dot, -B * x.dot), on=(x, y))])
    assert check(magnetic)["energy"]


def test_work_without_inputs_belongs_to_the_energy():
    report = check(FREE + st.System(work=k * x))
    assert report["energy"]
    energy = m * (x.dot**2 + y.dot**2) / 2 - k * x
    assert sp.expand(report["energy"].value - energy) == 0
    assert list(report["cyclic"].value) == [y]


def test_constraint_takes_the_momentum_that_it_touches():
    report = check(FREE + st.System(constraints=[st.Constraint(x, name="wall")]))
    assert list(report["cyclic"].value) == [y]
    assert report["energy"]
    assert report["freedom"].value == (1, 1)
    assert "1 in velocity, 1 in configuration, for 2 coordinates" in report["freedom"].text


def test_missing_velocity_is_named():
    report = check(st.System(kinetic=m * x.dot**2 / 2, potential=k * (x - y) ** 2 / 2))
    assert not report.passed and not report["positive definite"]
    assert report["positive definite"].text == (
        "M is singular: no kinetic energy involves the velocity of 'y'"
    )


@pytest.mark.parametrize(
    ("kinetic", "text"),
    [
        (m * (x.dot + y.dot) ** 2 / 2, "M is singular: T does not see every motion of 'x', 'y'"),
        (m * (x.dot**2 - y.dot**2) / 2, "M has the leading minor -m, for positive parameters"),
    ],
)
def test_energy_that_is_no_kinetic_energy_fails(kinetic, text):
    report = check(st.System(kinetic=kinetic))
    assert not report.passed and report["positive definite"].text == text


def test_large_matrix_is_sampled_and_says_so():
    angles = [st.coordinates(f"a{i}") for i in range(4)]
    X, Y, parts = sp.S.Zero, sp.S.Zero, []
    for angle in angles:
        X, Y = X + sin(angle), Y - cos(angle)
        parts.append(st.particle(m, at=(X, Y), gravity=g))
    report = check(sum(parts[1:], parts[0]))
    assert report["positive definite"] and report["skew"].how == "exact"
    assert report["positive definite"].how == "sampled at 20 states"


def test_indefinite_large_matrix_fails_by_sampling():
    q = [st.coordinates(f"a{i}") for i in range(4)]
    T = sum(m * s.dot**2 for s in q) / 2 + 5 * sum(m * a.dot * b.dot for a, b in zip(q, q[1:]))
    report = check(st.System(kinetic=T))
    assert not report.passed and "least eigenvalue" in report["positive definite"].text


def test_relativistic_particle_passes_and_keeps_its_energy():
    report = check(st.System(kinetic=-m * c**2 * sp.sqrt(1 - x.dot**2 / c**2)))
    assert report.passed
    assert "M depends on velocities too" in report["skew"].text
    gamma = 1 / sp.sqrt(1 - x.dot**2 / c**2)
    assert sp.simplify(report["energy"].value - m * c**2 * gamma) == 0


def test_vanishing_is_proved_or_sampled():
    assert vanish([sin(theta) ** 2 + cos(theta) ** 2 - 1]) == (True, "exact")
    assert vanish([]) == (True, "exact")
    assert vanish([x * 1e-30])[0] is False
    hidden = sp.acos(cos(theta) / 3) + sp.asin(cos(theta) / 3) - sp.pi / 2
    assert vanish([hidden]) == (True, "sampled at 20 states")


def test_report_prints_every_finding_and_how_it_was_found():
    lines = str(check(CART)).splitlines()
    assert lines[0] == "Check of cart: passed"
    assert "  ✓ skew: Ṁ − 2C is skew (exact)" in lines
    assert [f.name for f in check(CART)][:3] == ["symmetric", "positive definite", "skew"]


def test_unknown_finding_is_refused_with_the_known_ones():
    with pytest.raises(st.StatementError, match="Did you mean 'skew'"):
        check(CART)["skews"]


def test_what_only_rests_or_slides_needs_no_kinetic_energy():
    for rubs in ([], [st.Friction(1.0, on=(x, y))]):
        report = check(st.System(potential=k * (x - y) ** 2 / 2, friction=rubs))
        assert report.passed and not report["positive definite"]
        assert "no kinetic energy is stated" in report["positive definite"].text


@pytest.mark.parametrize("unit", [1e-9, 1, 1e9])
@pytest.mark.parametrize(
    "kinetic, row, least",
    [
        # Along (2, 1): (4 − 1) / 5 of the mass.
        ((x.dot**2 - y.dot**2) / 2, lambda s: x - 2 * y, 0.6),
        ((x.dot**2 - y.dot**2) / 2, lambda s: 2 * x - y, None),
        ((x.dot - y.dot) ** 2 / 2, lambda s: x + y, 2.0),
        # What has no mass, in whatever unit, is carried by what has, or is free.
        (x.dot**2 / 2, lambda s: s * y - x, 0.5),
        (x.dot**2 / 2, lambda s: s * y - r, None),
        ((x.dot + y.dot) ** 2 / 2, lambda s: s * r - x, None),
    ],
)
def test_masses_count_along_what_constraints_leave_free(kinetic, row, least, unit):
    # As simulate moves it: a massless link of a linkage is no mistake.
    report = check(st.System(kinetic=kinetic, constraints=[row(unit)]))
    assert report.passed == (least is not None)
    if least is not None:
        assert f"free its least eigenvalue is {least:.3g}" in report["positive definite"].text


# -- what is too large to be read ------------------------------------------------------------------

MANY = [st.coordinates(f"n{i}") for i in range(120)]
RUN = sum(c.dot**2 for c in MANY) / 2
BONDS = sum((a - b) ** 3 for a, b in zip(MANY[1:], MANY[2:]))


@pytest.mark.parametrize(
    "stated, finding, holds, word",
    [
        ({"kinetic": RUN, "potential": BONDS}, "gradient", True, "agrees with"),
        ({"kinetic": RUN, "potential": BONDS}, "energy", True, "is conserved"),
        ({"kinetic": RUN, "work": BONDS}, "energy", True, "U − W is conserved"),
        ({"kinetic": RUN, "potential": BONDS}, "cyclic", True, "conserved momentum ∂T/∂n0.dot"),
        ({"kinetic": RUN, "loads": [st.Load(-x.dot, on=x)]}, "energy", False, "take from it"),
        ({"kinetic": RUN, "friction": [st.Friction(1.0, on=x)]}, "energy", False, "takes energy"),
        ({"kinetic": RUN}, "positive definite", True, "is 1"),
        ({"kinetic": RUN - MANY[3].dot ** 2}, "positive definite", False, "is -1"),
        ({"kinetic": RUN - MANY[3].dot ** 2 / 2, "potential": BONDS}, "positive definite",
         False, "the velocity of 'n3'"),
        ({"kinetic": RUN, "constraints": [MANY[0] - MANY[1], MANY[1] - MANY[2],
          st.Constraint(MANY[2] - MANY[0], name="again")]}, "redundant", False, "'again' says"),
        ({"kinetic": RUN - MANY[3].dot ** 2 / 2, "constraints": [1e6 * MANY[3] - MANY[4]]},
         "positive definite", True, "leave free its least eigenvalue is 0.5"),
    ],
)  # fmt: skip
def test_statements_too_large_to_be_read_are_checked_by_numbers(stated, finding, holds, word):
    report = check(st.System(**stated))
    assert not report.exhaustive
    assert bool(report[finding]) == holds and word in report[finding].text


def test_a_rope_is_checked_whatever_its_length():
    for links in (30, 700):
        r = st.coordinates("r", shape=(links, 2))
        rope = st.System(
            kinetic=st.each(lambda v: m * (v[0] ** 2 + v[1] ** 2) / 2, r.dot),
            potential=st.each(lambda p: m * p[1], r),
            constraints=st.each(lambda a, b: st.norm(b - a) - 1, r[:-1], r[1:], name="link"),
        )
        report = check(rope)
        assert report.passed and f"{links + 1} in velocity" in report["freedom"].text
