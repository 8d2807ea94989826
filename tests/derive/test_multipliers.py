"""Multipliers in closed form: as the slides have them, and as the engines compute them."""

import numpy as np
import pytest
import sympy as sp

import stationary as st
from stationary.derive.lagrange import equations
from tests.checks import assert_says

x, y, theta = st.coordinates("x y theta")
m, J, r, g = st.parameters(m=1.3, J=0.4, r=1.0, g=9.81)
f, tau = st.inputs("f tau")

bob = st.particle(m, at=(x, y), gravity=g)
robot = st.System(
    kinetic=m * (x.dot**2 + y.dot**2) / 2 + J * theta.dot**2 / 2,
    loads=[st.Load((f * st.cos(theta), f * st.sin(theta)), on=(x, y)), st.Load(tau, on=theta)],
    pfaffian=[st.Pfaffian(x.dot * st.sin(theta) - y.dot * st.cos(theta), name="no slip")],
)


def test_the_multiplier_of_the_wheeled_robot_is_that_of_the_slides():
    # D. Lee, Mechanical System Analysis: λ = m(ẋ cos θ + ẏ sin θ)θ̇ with Aᵀλ on the left side.
    (found,) = equations(robot).multipliers
    slides = m * (x.dot * st.cos(theta) + y.dot * st.sin(theta)) * theta.dot
    assert sp.expand(found + slides) == 0
    assert sp.count_ops(found) <= sp.count_ops(slides) + 1


def test_the_multiplier_of_the_cartesian_pendulum_is_that_of_the_slides():
    # The same slides, A = (x, y): mẍ + λx = 0 and mÿ + mg + λy = 0 with ẋ² + ẏ² + xẍ + yÿ = 0
    # give λ = m(ẋ² + ẏ² − gy)/r², and x² + y² = r². (They print +mgy.)
    circle = st.System(constraints=[st.Constraint((x**2 + y**2 - r**2) / 2, name="rod")])
    (found,) = equations(bob + circle).multipliers
    slides = m * (x.dot**2 + y.dot**2 - g * y) / (x**2 + y**2)
    assert sp.simplify(found + slides) == 0


def test_the_pull_of_a_rod_is_the_centripetal_force_and_the_weight_along_it():
    # S. Hirai's R = √(x² + y²) − r: on the circle λ = −m(v²/r − g y/r), the tension.
    (found,) = equations(bob + st.rod((0, 0), (x, y), r, name="rod")).multipliers
    a, w = sp.symbols("a w", real=True)
    on_circle = {x: r * sp.sin(a), y: -r * sp.cos(a)}
    on_circle |= {x.dot: r * w * sp.cos(a), y.dot: r * w * sp.sin(a), r: sp.Integer(1)}
    tension = -m * (w**2 + g * sp.cos(a))
    assert sp.simplify(found.subs(on_circle).subs(r, 1) - tension) == 0


@pytest.mark.one_in(3)
@pytest.mark.parametrize("name", ["robot", "rod", "driven", "two rods", "coupled masses"])
def test_the_closed_form_is_what_the_engines_compute(name):
    x1, y1, x2, y2 = st.coordinates("x1 y1 x2 y2")
    stated = {
        "robot": (robot, {x.dot: 0.5}, {f: 0.3, tau: 0.7}),
        "rod": (bob + st.rod((0, 0), (x, y), r), {x: 1.0, y.dot: 0.5}, {}),
        "driven": (
            bob
            + st.System(constraints=[x * st.cos(st.t) - y * st.sin(st.t)], dissipation=y.dot**2),
            {y: 1.0, x.dot: 1.0},
            {},
        ),
        "two rods": (
            st.particle(m, at=(x1, y1), gravity=g) + st.particle(J, at=(x2, y2), gravity=g)
            + st.rod((0, 0), (x1, y1), r) + st.rod((x1, y1), (x2, y2), r),
            {x1: 1.0, x2: 1.0, y2: -1.0, "x2.dot": 0.4},
            {},
        ),
        "coupled masses": (
            st.System(
                kinetic=m * (x.dot**2 + y.dot**2 + x.dot * y.dot * st.cos(theta)) / 2
                + J * theta.dot**2,
                potential=g * theta**2,
                constraints=[x - y * theta],
            ),
            {theta: 0.3, x: 0.3, y: 1.0, theta.dot: 0.2, x.dot: 0.2},
            {},
        ),
    }  # fmt: skip
    system, start, inputs = stated[name]
    motion = st.simulate(system, span=(0, 1), start=start, inputs=inputs, points=11)
    for k, e in enumerate(equations(system).multipliers):
        np.testing.assert_allclose(motion[e], motion.lam[:, k], rtol=1e-10, atol=1e-10)


def test_the_derivation_shows_the_multiplier_after_the_rate_that_fixes_it():
    text = equations(bob + st.System(constraints=[(x**2 + y**2 - r**2) / 2])).explain()
    rates, closed = text.index("which fix the multipliers"), text.index("closed form")
    assert rates < closed
    assert r"\ddot{R}_{1} &= J \ddot{q} + \dot{q}^{\mathsf{T}} H \dot{q}" in text
    assert r"\frac{m \left(g y - \dot{x}^{2} - \dot{y}^{2}\right)}{x^{2} + y^{2}}" in text


def test_free_systems_have_no_multipliers_and_large_ones_refuse():
    assert equations(bob).multipliers.shape == (0, 1)
    assert "closed form" not in equations(bob).explain()
    many = st.coordinates("a b c d e h k")
    chain = st.System(
        kinetic=sum(q.dot**2 for q in many), constraints=[p - q for p, q in zip(many, many[1:])]
    )
    assert_says(
        st.DerivationError,
        "the multipliers are too many or too entangled to be written down.\n"
        "  Found 6 multipliers of 7 coordinates, expected at most 2 of 6.\n"
        "  Use st.simulate: motion.lam has their values.",
        lambda: equations(chain).multipliers,
    )
    assert "closed form" not in equations(chain).explain()


def test_redundant_constraints_have_no_closed_form_and_it_is_said():
    twice = st.System(kinetic=x.dot**2 + y.dot**2, constraints=[x - y, 2 * x - 2 * y])
    assert_says(
        st.DerivationError,
        "the multipliers are not determined: constraints depend on each other.\n"
        "  Found A M⁻¹Aᵀ without an inverse for lambda_R1, lambda_R2.\n"
        "  Remove a redundant constraint; st.check names it.",
        lambda: equations(twice).multipliers,
    )
    assert "not determined" in equations(twice).explain()


@pytest.mark.parametrize("kinetic", [0, 1, 2])
def test_without_inertia_there_is_no_closed_form_and_a_derivation_all_the_same(kinetic):
    x, y = st.coordinates("x y")
    T = [sp.S.Zero, x.dot**2 / 2, (x.dot + y.dot) ** 2 / 2][kinetic]
    eq = st.equations(st.System(kinetic=T, potential=y, constraints=[x**2 + y**2 - 1]))
    assert "some motion has no inertia" in eq.explain()
    with pytest.raises(st.DerivationError, match="no closed form"):
        _ = eq.multipliers
