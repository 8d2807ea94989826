"""The principle of statics read as the slides read it: I, δI, and the forces that balance."""

import numpy as np
import pytest
import sympy as sp

import stationary as st
from stationary.derive.variation import variation
from stationary.errors import DerivationError
from tests.checks import assert_says

theta, x, y, z = st.coordinates("theta x y z")
m, l, g, k = st.parameters(m=0.01, l=2.0, g=9.8, k=3.0)  # noqa: E741 (l, as on the slides)
fx, fy = st.parameters(f_x=0.1, f_y=0.2)
tau, F = st.inputs("tau F")

# S. Hirai, Analytical Mechanics: Variational Principles.
pendulum = st.System(
    potential=m * g * l * (1 - st.cos(theta)), loads=[st.Load(tau, on=theta)], name="pendulum"
)
length = st.sqrt(x**2 + (y - l) ** 2)
cartesian = st.System(
    potential=m * g * y,
    work=fx * x + fy * y,
    constraints=[st.Constraint(length - l, name="rod")],
    name="Cartesian pendulum",
)


def same(a, b):
    return sp.simplify(sp.S(a) - sp.S(b)) == 0


# -- the two pendulums of the slides ---------------------------------------------------------------


def test_the_internal_energy_of_a_pendulum_is_that_of_the_slides():
    found = variation(pendulum)
    assert same(found.internal, m * g * l * (1 - st.cos(theta)) - tau * theta)


def test_a_pendulum_balances_its_weight_and_the_torque():
    found = variation(pendulum)
    assert found.terms["potential"] == sp.Matrix([-m * g * l * st.sin(theta)])
    assert found.terms["external"] == sp.Matrix([tau])
    assert found.terms["constraint"] == sp.Matrix([0])
    (equation,) = found.equations
    assert same(equation.lhs, m * g * l * st.sin(theta) - tau) and equation.rhs == 0
    assert str(found).splitlines() == [
        "Statics of pendulum",
        "  I = g*l*m*(1 - cos(theta)) - tau*theta",
        "  theta: g*l*m*sin(theta) - tau = 0",
    ]


def test_a_cartesian_pendulum_balances_gravity_force_and_rod():
    found = variation(cartesian)
    (lam,) = found.lam
    assert str(lam) == "lambda_rod"
    assert found.terms["potential"] == sp.Matrix([0, -m * g])
    assert found.terms["external"] == sp.Matrix([fx, fy])
    # λ (R_x, R_y) with R_x = x/√… and R_y = (y − l)/√….
    force = found.terms["constraint"]
    assert same(force[0], lam * x / length) and same(force[1], lam * (y - l) / length)
    assert same(found.internal, m * g * y - (fx * x + fy * y) - lam * (length - l))
    first, second, third = found.equations
    assert same(first.lhs, -fx - lam * x / length)
    assert same(second.lhs, m * g - fy - lam * (y - l) / length)
    assert same(third.lhs, length - l)


def test_the_equations_of_the_slides_have_the_solution_of_the_slides():
    found = variation(cartesian)
    values = {m: 0.01, l: 2.0, g: 9.8, fx: 0.1, fy: 0.2}
    unknowns = (x, y, *found.lam)
    solved = sp.nsolve([e.lhs.subs(values) for e in found.equations], unknowns, (1, 3, -0.1))
    assert tuple(map(float, solved[:2])) == pytest.approx((1.4001, 3.4281), abs=6e-5)
    rest = st.statics(cartesian)
    assert (rest[x], rest[y], rest.lam["rod"]) == pytest.approx(
        tuple(map(float, solved)), rel=1e-10
    )


def test_the_steps_of_the_slides_are_shown_for_the_pendulum():
    text = variation(pendulum).explain()
    headings = [line for line in text.splitlines() if line.startswith("#")]
    assert headings == [
        "# Statics of pendulum",
        "## 1. Internal energy",
        "## 2. Every coordinate moves a little",
        "## 3. The variation, collected",
        "## 4. The equations of balance",
        "## 5. The same as forces",
    ]
    for step in (
        r"W &= \tau \theta",
        r"I &= U - W",
        r"I + \delta I = g l m \left(1 - \cos{\left(\theta + \delta \theta\right)}\right) "
        r"- \tau \left(\theta + \delta \theta\right)",
        r"\delta U &= g l m \sin{\left(\theta \right)} \,\delta \theta",
        r"\delta I = \left(g l m \sin{\left(\theta \right)} - \tau\right) \delta \theta \equiv 0 "
        r"\quad \forall\, \delta \theta",
        r"g l m \sin{\left(\theta \right)} - \tau &= 0",
    ):
        assert step in text


def test_the_steps_of_the_slides_are_shown_for_the_cartesian_pendulum():
    text = variation(cartesian).explain()
    for step in (
        r"I &= U - W - \lambda_{\mathrm{rod}} R",
        r"g m \left(y + \delta y\right) - \left(f_{x} \left(x + \delta x\right) + "
        r"f_{y} \left(y + \delta y\right)\right)",
        r"\left(- l + y + \delta y\right)^{2}",
        r"\delta R &= R_{x} \,\delta x + R_{y} \,\delta y",
        r"R_{x} &= \frac{\partial R}{\partial x} = \frac{x}{\sqrt{",
        r"\left(-f_{x} - \lambda_{\mathrm{rod}} R_{x}\right) \delta x + "
        r"\left(g m - f_{y} - \lambda_{\mathrm{rod}} R_{y}\right) \delta y \equiv 0",
        r"\underbrace{\left[\begin{matrix}0\\- g m\end{matrix}\right]}"
        r"_{\text{potential forces (gravity, springs)}}",
        r"\underbrace{\left[\begin{matrix}f_{x}\\f_{y}\end{matrix}\right]}"
        r"_{\text{external forces}}",
        r"_{\text{constraint forces}} = 0",
    ):
        assert step in text


def test_all_that_is_written_can_be_typeset():
    from matplotlib.mathtext import MathTextParser

    parser = MathTextParser("path")
    for system in (pendulum, cartesian, everything()):
        found = variation(system)
        for row in found.latex().splitlines()[1:-1]:
            parser.parse(f"${row.replace('&', '').removesuffix(chr(92) * 2)}$")
        assert found.explain().count("$$") % 2 == 0


# -- other forces ----------------------------------------------------------------------------------


def everything():
    return st.System(
        kinetic=m * (x.dot**2 + y.dot**2) / 2 + 3.125 * m * x**2,
        potential=m * g * y + k * (x**2 + y**2) / 2,
        work=fx * x,
        loads=[st.Load((F * st.cos(x), F), on=(x, y)), st.Load(tau, on=z)],
        constraints=[st.Constraint((x**2 + y**2 - 1, z - x), name="two rods")],
        contacts=[st.Contact(y - z, name="floor")],
        coordinates=(x, y, z),
        name="everything",
    )


def test_the_forces_that_are_grouped_sum_to_what_statics_balances():
    found = variation(everything())
    assert list(found.terms) == ["potential", "centrifugal", "external", "constraint", "contact"]
    rng = np.random.default_rng(2)
    values = {s: rng.uniform(0.5, 1.5) for s in (m, g, k, fx, F, tau, *found.lam, *found.mu)}
    place = dict(zip((x, y, z), rng.uniform(-1, 1, 3)))
    total = [sp.Add(*row).subs(values).subs(place) for row in zip(*found.terms.values())]
    # By hand: −∂U/∂q + 6.25 m x + W_x + loads + λ₁(2x, 2y, 0) + λ₂(−1, 0, 1) + μ(0, 1, −1).
    v, (l1, l2), (mu,) = values, found.lam, found.mu
    hand = [
        -v[k] * place[x] + 6.25 * v[m] * place[x] + v[fx] + v[F] * np.cos(place[x])
        + 2 * place[x] * v[l1] - v[l2],
        -v[m] * v[g] - v[k] * place[y] + v[F] + 2 * place[y] * v[l1] + v[mu],
        v[tau] + v[l2] - v[mu],
    ]  # fmt: skip
    assert [float(e) for e in total] == pytest.approx(hand, rel=1e-12)


def test_a_follower_load_is_no_term_of_the_energy_and_is_shown_beside_it():
    found = variation(everything())
    assert len(found.followers) == 1
    assert F not in found.internal.free_symbols
    assert same(found.internal.coeff(tau), -z)
    assert "and the virtual work δW = F*cos(x) δ(x) + F δ(y)" in str(found)
    text = found.explain()
    assert r"\delta I - \delta W_{\mathrm{load}}" in text
    assert r"\delta W_{\mathrm{load}} = F \cos{\left(x \right)} \,\delta x + F \,\delta y" in text


def test_a_contact_only_pushes():
    found = variation(everything())
    gap, push, either = found.equations[-3:]
    assert gap == sp.Ge(y - z, 0) and push == sp.Ge(found.mu[0], 0)
    assert same(either.lhs, found.mu[0] * (y - z))
    assert r"\geq 0" in found.latex()


def test_a_bead_on_a_hoop_balances_weight_and_centrifugal_force():
    Omega = st.parameters(Omega=5.0)
    hoop = st.System(
        kinetic=m * l**2 * (theta.dot**2 + Omega**2 * st.sin(theta) ** 2) / 2,
        potential=m * g * l * (1 - st.cos(theta)),
    )
    found = variation(hoop)
    expected = m * l**2 * Omega**2 * st.sin(theta) * st.cos(theta)
    assert same(found.terms["centrifugal"][0], expected)
    assert "T_0" in found.explain()
    assert same(found.equations[0].lhs, m * g * l * st.sin(theta) - expected)


def test_the_smallest_box_has_the_equations_of_the_appendix():
    a = st.parameters(a=2.0)
    volume = st.Constraint(x * y * z - a**3, name="volume")
    found = variation(st.System(potential=2 * x * y + 2 * y * z + 2 * z * x, constraints=[volume]))
    (lam,) = found.lam
    by_hand = [
        2 * y + 2 * z - lam * y * z, 2 * z + 2 * x - lam * z * x, 2 * x + 2 * y - lam * x * y,
        x * y * z - a**3,
    ]  # fmt: skip
    for equation in found.equations:
        assert any(same(equation.lhs, e) for e in by_hand)


def test_several_constraints_have_numbered_letters_and_their_own_multipliers():
    found = variation(
        st.System(
            potential=m * g * z,
            constraints=[st.Constraint(x + y - 1, name="a"), st.Constraint(y * z - 1, name="b")],
        )
    )
    assert [str(s) for s in found.lam] == ["lambda_a", "lambda_b"]
    text = found.explain()
    assert r"\delta R_{1} &= R_{1, x} \,\delta x + R_{1, y} \,\delta y" in text
    assert r"R_{2, y} &= \frac{\partial R_{2}}{\partial y} = z" in text


def test_repetitions_are_written_out():
    r = st.coordinates("r", shape=(3, 2))
    chain = st.System(
        potential=st.each(lambda p: m * g * p[1], r),
        constraints=st.each(lambda a, b: st.norm(b - a) - l, r[:-1], r[1:], name="link"),
    )
    found = variation(chain)
    assert len(found.coordinates) == 6 and len(found.lam) == 2
    assert len(found.equations) == 8


def test_decimals_stay_decimals():
    found = variation(st.System(potential=0.3 * x**2 + 0.1 * x))
    assert str(found).splitlines()[1:] == ["  I = 0.3*x**2 + 0.1*x", "  x: 0.6*x + 0.1 = 0"]


def test_damping_and_drag_do_not_hold_at_rest():
    damped = st.System(
        potential=k * x**2 / 2, dissipation=x.dot**2, friction=[st.Drag(0.3, 2, on=x)]
    )
    assert variation(damped).terms["external"] == sp.Matrix([0])


def test_a_moving_support_pushes_even_at_rest():
    # T = ½ m (ẋ + at)²: the frame accelerates with a, and −ma acts at rest.
    a = st.parameters(a=2.0)
    lift = st.System(kinetic=m * (x.dot + a * st.t) ** 2 / 2, potential=k * x**2 / 2)
    found = variation(lift)
    assert same(found.terms["centrifugal"][0], -a * m)


# -- refusals --------------------------------------------------------------------------------------


def test_dry_friction_has_no_place_in_the_principle():
    assert_says(
        DerivationError,
        "'table' has no place in the principle of statics.\n"
        "  Found friction up to 2 against d/dt x; it leaves a whole range of states at rest.\n"
        "  State the system without it, or as a constraint.",
        lambda: variation(st.System(potential=x**2, friction=[st.Friction(2, on=x, name="table")])),
    )


def test_two_constraints_whose_multipliers_would_have_one_name_are_refused():
    assert_says(
        DerivationError,
        "two constraints have the name 'left rod'.\n"
        "  Found 'lambda_left_rod' for two multipliers; each is named after its constraint.\n"
        "  Rename one of them, with name=….",
        lambda: variation(
            st.System(
                potential=x + y,
                constraints=[st.Constraint(x, name="left rod"), st.Constraint(y, name="left_rod")],
            )
        ),
    )
