"""Lagrange's equations against the slides, against SymPy's own derivation and against physics."""

import random
import time

import pytest
import sympy as sp
from sympy.physics.mechanics import LagrangesMethod, dynamicsymbols

import stationary as st
from stationary.derive.lagrange import equations
from stationary.derive.readable import tidy

x, y, theta, phi, r = st.coordinates("x y theta phi r")
m, ell, k, c, g, b, J, eta, Omega = st.parameters("m l k c g b I eta Omega")
m1, m2, l1, l2 = st.parameters("m1 m2 l1 l2")
F, f, tau = st.inputs("F f tau")
sin, cos = sp.sin, sp.cos

CART = st.System(
    kinetic=m1 * x.dot**2 / 2
    + m2 * (x.dot**2 + 2 * x.dot * theta.dot * ell * cos(theta) + ell**2 * theta.dot**2) / 2,
    potential=m2 * g * ell * (1 - cos(theta)),
    loads=[st.Load(F, on=x + ell * sin(theta))],
    name="cart with pendulum",
)
CARTESIAN = st.System(
    kinetic=m * (x.dot**2 + y.dot**2) / 2,
    potential=m * g * y,
    constraints=[st.Constraint(sp.sqrt(x**2 + (y - ell) ** 2) - ell, name="rod")],
    name="pendulum in Cartesian coordinates",
)
ROBOT = st.System(
    kinetic=m * (x.dot**2 + y.dot**2) / 2 + J * theta.dot**2 / 2,
    loads=[st.Load((f * cos(theta), f * sin(theta)), on=(x, y)), st.Load(tau, on=theta)],
    pfaffian=[st.Pfaffian(x.dot * sin(theta) - y.dot * cos(theta), name="no slip")],
)


def chain(n: int) -> st.System:
    angles = [st.coordinates(f"theta{i}") for i in range(1, n + 1)]
    masses = [st.parameters(f"m{i}") for i in range(1, n + 1)]
    lengths = [st.parameters(f"l{i}") for i in range(1, n + 1)]
    X, Y, parts = sp.S.Zero, sp.S.Zero, []
    for angle, mass, length in zip(angles, masses, lengths):
        X, Y = X + length * sin(angle), Y - length * cos(angle)
        parts.append(st.particle(mass, at=(X, Y), gravity=g))
    return sum(parts[1:], parts[0])


def same(one, other) -> bool:
    """Tell whether two lists of expressions agree at random states, to 25 digits."""
    draw = random.Random(1)
    pairs = list(zip(one, other, strict=True))
    found = [sp.S(e).free_symbols for pair in pairs for e in pair]
    symbols = sorted(set().union(*found), key=str)
    for _ in range(3):
        state = {s: sp.Rational(draw.randrange(1, 1000), 700) for s in symbols}
        for a, b in pairs:
            here, there = (sp.N(sp.S(e).xreplace(state), 40) for e in (a, b))
            if abs(here - there) > sp.Float("1e-25", 40) * (1 + abs(there)):
                return False
    return True


# -- the slides -----------------------------------------------------------------------------------


def test_cart_with_pendulum_has_the_matrices_of_the_slides():
    eq = equations(CART)
    assert eq.coordinates == (x, theta)
    assert eq.M == sp.Matrix(
        [[m1 + m2, m2 * ell * cos(theta)], [m2 * ell * cos(theta), m2 * ell**2]]
    )
    assert eq.C == sp.Matrix([[0, -m2 * ell * sin(theta) * theta.dot], [0, 0]])
    assert eq.G == sp.Matrix([0, m2 * g * ell * sin(theta)])
    assert eq.Q == sp.Matrix([F, F * ell * cos(theta)])
    assert eq.A.shape == (0, 2) and eq.lam == ()


def test_cart_built_from_two_particles_is_the_same_cart():
    X, Y = x + ell * sin(theta), ell * (1 - cos(theta))
    parts = st.particle(m1, at=x) + st.particle(m2, at=(X, Y), gravity=g)
    built, stated = equations(parts + st.System(loads=[st.Load(F, on=X)])), equations(CART)
    assert (built.M, built.C, built.G, built.Q) == (stated.M, stated.C, stated.G, stated.Q)


def test_residuals_of_the_cart_are_the_equations_of_the_slides():
    eq = equations(CART)
    a = eq.accelerations
    assert a == (x.ddot, theta.ddot)
    first = (
        (m1 + m2) * a[0] + m2 * ell * cos(theta) * a[1] - m2 * ell * sin(theta) * theta.dot**2 - F
    )
    # The slide's second line has a misprint; this is its derivation done again.
    second = m2 * ell * cos(theta) * a[0] + m2 * ell**2 * a[1] + m2 * g * ell * sin(theta)
    assert same(eq.residuals, [first, second - F * ell * cos(theta)])


def test_bead_on_a_hoop_has_the_equations_of_the_slides():
    place = (r * sin(theta) * cos(phi), r * sin(theta) * sin(phi), r * (1 - cos(theta)))
    R = st.parameters("R")
    bead = st.particle(m, at=[e.subs(r, R) for e in place], gravity=g)
    eq = equations(bead + st.System(loads=[st.Load(tau, on=phi)]))
    assert eq.M == sp.diag(m * R**2, m * R**2 * sin(theta) ** 2)
    turning = m * R**2 * sin(theta) * cos(theta)
    first = m * R**2 * theta.ddot - turning * phi.dot**2 + m * g * R * sin(theta)
    second = m * R**2 * sin(theta) ** 2 * phi.ddot + 2 * turning * theta.dot * phi.dot - tau
    assert [sp.expand(e) for e in eq.residuals] == [sp.expand(first), sp.expand(second)]


def test_pendulum_with_horizontal_spring_and_damper_has_the_equation_of_the_slides():
    held = ell / 2 * sin(theta)
    system = (
        st.particle(m, at=(ell * sin(theta), ell * (1 - cos(theta))), gravity=g)
        + st.spring(k, between=(0, held))
        + st.damper(c, between=(0, held))
        + st.System(loads=[st.Load(tau, on=theta)])
    )
    eq = equations(system)
    assert eq.M == sp.Matrix([[m * ell**2]]) and eq.C == sp.zeros(1, 1)
    assert sp.expand(eq.G[0]) == k * ell**2 * sin(theta) * cos(theta) / 4 + m * g * ell * sin(theta)
    assert sp.expand(eq.Q[0]) == tau - c * ell**2 * cos(theta) ** 2 * theta.dot / 4


def test_work_and_viscous_friction_push_as_on_the_slides():
    system = st.System(
        kinetic=m * ell**2 * theta.dot**2 / 2,
        potential=m * g * ell * (1 - cos(theta)),
        work=tau * theta,
        dissipation=b * theta.dot**2 / 2,
    )
    (residual,) = equations(system).residuals
    balance = m * ell**2 * theta.ddot - ((tau - b * theta.dot) - m * g * ell * sin(theta))
    assert sp.expand(residual - balance) == 0


def test_van_der_pol_comes_from_a_load_that_depends_on_velocity():
    system = st.System(
        kinetic=x.dot**2 / 2, potential=x**2 / 2, loads=[st.Load(2 * (1 - x**2) * x.dot, on=x)]
    )
    (residual,) = equations(system).residuals
    assert sp.expand(residual - (x.ddot - 2 * (1 - x**2) * x.dot + x)) == 0


# -- independent derivations ----------------------------------------------------------------------


def by_sympy(system: st.System):
    """Derive d/dt ∂L/∂q̇ − ∂L/∂q with SymPy's LagrangesMethod, in our symbols."""
    q = system.coordinates
    moving = {s: dynamicsymbols(s.name) for s in q}
    time_ = dynamicsymbols._t
    swap = {s.dot: moving[s].diff(time_) for s in q} | moving | {st.t: time_}
    L = (system.kinetic - system.potential).xreplace(swap)
    rows = LagrangesMethod(L, list(moving.values())).form_lagranges_equations()
    back = {moving[s].diff(time_, 2): s.ddot for s in q}
    back |= {moving[s].diff(time_): s.dot for s in q}
    back |= {e: s for s, e in moving.items()} | {time_: st.t}
    return [row.subs(back) for row in rows]


X_TURNED = x * cos(Omega * st.t) - y * sin(Omega * st.t)
Y_TURNED = x * sin(Omega * st.t) + y * cos(Omega * st.t)
SYSTEMS = {
    "double pendulum": chain(2),
    "triple pendulum": chain(3),
    "elastic pendulum": st.particle(m, at=(r * sin(theta), -r * cos(theta)), gravity=g)
    + st.spring(k, between=(0, r), rest=ell),
    "spherical pendulum": st.particle(
        m,
        at=(ell * sin(theta) * cos(phi), ell * sin(theta) * sin(phi), -ell * cos(theta)),
        gravity=g,
    ),
    "spring between points": st.particle(m, at=(x, y), gravity=g)
    + st.spring(k, between=((0, 0), (x, y)), rest=ell),
    "relativistic particle": st.System(
        kinetic=-m * c**2 * sp.sqrt(1 - (x.dot**2 + x**2 * y.dot**2) / (20 * c**2)),
        potential=k * x**2 / 2,
    ),
    "rotating frame": st.particle(m, at=(X_TURNED, Y_TURNED)),
    "moving pivot": st.particle(
        m, at=(ell * sin(theta) + b * sin(Omega * st.t), -ell * cos(theta)), gravity=g
    ),
    "charge in a magnetic field": st.System(
        kinetic=m * (x.dot**2 + y.dot**2) / 2 + b * (x * y.dot - y * x.dot) / 2
    ),
    "growing mass": st.System(kinetic=m * sp.exp(st.t) * x.dot**2 / 2, potential=k * x**4),
}


@pytest.mark.one_in(3)
@pytest.mark.parametrize("name", SYSTEMS)
def test_residuals_agree_with_lagrangesmethod_of_sympy(name):
    system = SYSTEMS[name]
    eq = equations(system)
    assert same(eq.residuals, by_sympy(system))
    a, v = sp.Matrix(eq.accelerations), sp.Matrix(eq.velocities)
    assert same(eq.residuals, eq.M * a + eq.C * v + eq.G - eq.Q)


@pytest.mark.parametrize("name", SYSTEMS)
def test_christoffel_matrix_follows_its_definition(name):
    eq = equations(SYSTEMS[name])
    M, q, v = eq.M, eq.coordinates, eq.velocities
    n = range(len(q))
    by_definition = [
        sum((M[i, j].diff(q[h]) + M[i, h].diff(q[j]) - M[j, h].diff(q[i])) * v[h] / 2 for h in n)
        for i in n
        for j in n
    ]
    assert same(eq.C, by_definition)


def test_double_pendulum_reads_as_in_the_textbooks():
    eq = equations(chain(2))
    q1, q2 = eq.coordinates
    coupling = l1 * l2 * m2 * cos(q1 - q2)
    assert eq.M == sp.Matrix([[l1**2 * (m1 + m2), coupling], [coupling, l2**2 * m2]])
    assert eq.C[0, 1] == l1 * l2 * m2 * q2.dot * sin(q1 - q2) and eq.C[0, 0] == 0
    assert eq.G == sp.Matrix([g * l1 * (m1 + m2) * sin(q1), g * l2 * m2 * sin(q2)])


@pytest.mark.slow
def test_six_links_can_still_be_read():
    eq = equations(chain(6))
    assert max(e.count_ops() for e in eq.M) <= 15
    assert max(e.count_ops() for e in eq.residuals) <= 250


# -- energies that are not ½ q̇ᵀMq̇ ---------------------------------------------------------------


def test_mass_of_a_relativistic_particle_grows_as_gamma_cubed():
    eq = equations(st.System(kinetic=-m * c**2 * sp.sqrt(1 - x.dot**2 / c**2)))
    assert eq.M == sp.Matrix([[m / (1 - x.dot**2 / c**2) ** sp.Rational(3, 2)]])
    assert eq.C == sp.zeros(1, 1) and eq.G == sp.zeros(1, 1)


def test_rotating_frame_has_coriolis_and_centrifugal_terms_in_G():
    eq = equations(SYSTEMS["rotating frame"])
    assert eq.M == sp.diag(m, m) and eq.C == sp.zeros(2, 2)
    forces = [-m * Omega**2 * x - 2 * m * Omega * y.dot, -m * Omega**2 * y + 2 * m * Omega * x.dot]
    assert [sp.expand(e) for e in eq.G] == forces


def test_mass_that_changes_in_time_brakes():
    (residual,) = equations(st.System(kinetic=m * sp.exp(st.t) * x.dot**2 / 2)).residuals
    assert sp.expand(residual - m * sp.exp(st.t) * (x.ddot + x.dot)) == 0


def test_coordinate_without_mass_is_read_with_a_singular_matrix():
    eq = equations(st.System(kinetic=m * x.dot**2 / 2, potential=k * (x - y) ** 2 / 2))
    assert eq.M == sp.diag(m, 0)
    assert sp.expand(eq.residuals[1] - k * (y - x)) == 0


# -- forces ---------------------------------------------------------------------------------------


def test_loads_work_along_the_variation_of_what_they_act_on():
    system = st.particle(m, at=(x, y)) + st.System(loads=[st.Load((f, tau), on=(x * y, x - y))])
    assert same(equations(system).Q, [f * y + tau, f * x - tau])


@pytest.mark.parametrize("power", [1, 2, sp.Rational(3, 2)])
def test_drag_is_the_slope_of_its_dissipation_potential(power):
    drag = st.Drag(eta, power, on=(x + y, x * y))
    eq = equations(st.particle(m, at=(x, y)) + st.System(friction=[drag]))
    assert same(eq.Q, [-drag.potential.diff(v) for v in (x.dot, y.dot)])


def test_decimals_do_not_leave_rounding_behind():
    eq = equations(st.particle(0.3, at=(0.7 * sin(theta), -0.7 * cos(theta)), gravity=9.81))
    assert eq.M == sp.Matrix([[0.147]]) and eq.C == sp.zeros(1, 1)
    assert eq.G[0] == 2.0601 * sin(theta)
    assert "0.147*theta.ddot + 2.0601*sin(theta) = 0" in str(eq)


def test_dynamicsymbols_are_read_like_coordinates():
    q, M, K = dynamicsymbols("q"), *sp.symbols("M K")
    eq = equations(st.System(kinetic=M * q.diff() ** 2 / 2, potential=K * q**2 / 2))
    (position,) = eq.coordinates
    assert str(eq.M[0]) == "M" and eq.G[0].coeff(position) == st.parameters("K")


# -- constraints ----------------------------------------------------------------------------------


def test_multiplier_of_the_cartesian_pendulum_is_the_force_along_the_gradient():
    eq = equations(CARTESIAN)
    length = sp.sqrt(x**2 + (y - ell) ** 2)
    assert eq.A == sp.Matrix([[x / length, (y - ell) / length]])
    (lam,) = eq.lam
    assert str(lam) == "lambda_rod"
    # As on the slide: m ẍ = f_x + λ R_x and m ÿ = −mg + f_y + λ R_y.
    right = [m * x.ddot - lam * eq.A[0], m * y.ddot + m * g - lam * eq.A[1]]
    assert same(eq.residuals, right)
    # Hanging at rest the rod pulls up: R_y = −1 and λ = −mg.
    still = {x: 0, y: 0, x.ddot: 0, y.ddot: 0, ell: 2}
    assert sp.solve(eq.residuals[1].subs(still), lam) == [-m * g]


def test_wheeled_robot_is_held_sideways():
    eq = equations(ROBOT)
    assert eq.A == sp.Matrix([[sin(theta), -cos(theta), 0]])
    (lam,) = eq.lam
    ax, ay, turn = eq.accelerations
    rows = [
        m * ax - f * cos(theta) - lam * sin(theta),
        m * ay - f * sin(theta) + lam * cos(theta),
        J * turn - tau,
    ]
    assert same(eq.residuals, rows)
    # With d/dt(A q̇) = 0 the multiplier is −m(ẋ cos θ + ẏ sin θ) θ̇; the slides write −λ for λ.
    held = st.rate(x.dot * sin(theta) - y.dot * cos(theta))
    found = sp.solve([*eq.residuals, held], [ax, ay, turn, lam], dict=True)[0][lam]
    assert same([found], [-m * (x.dot * cos(theta) + y.dot * sin(theta)) * theta.dot])


def test_several_conditions_under_one_name_have_numbered_multipliers():
    system = st.particle(m, at=(x, y)) + st.System(
        constraints=[st.Constraint((x, y - x), name="pin")]
    )
    eq = equations(system)
    assert [str(s) for s in eq.lam] == ["lambda_pin[0]", "lambda_pin[1]"]
    assert eq.A == sp.Matrix([[1, 0], [-1, 1]])


# -- repetition, and what is refused --------------------------------------------------------------


def rope(n: int) -> st.System:
    s = st.coordinates("s", shape=(n, 2))
    return st.System(
        kinetic=st.each(lambda u: m * (u[0] ** 2 + u[1] ** 2) / 2, s.dot),
        potential=st.each(lambda p: m * g * p[1], s),
        constraints=st.each(lambda one, two: st.norm(two - one) - ell, s[:-1], s[1:], name="link"),
        name="rope",
    )


def test_repetition_is_written_out_to_be_read():
    eq = equations(rope(3))
    assert eq.M == m * sp.eye(6)
    assert eq.G == sp.Matrix([0, m * g] * 3)
    assert [str(s) for s in eq.lam] == ["lambda_link[0]", "lambda_link[1]"]
    assert eq.A.shape == (2, 6) and eq.A[0, 4] == 0


def test_long_repetition_is_refused_with_a_way_out():
    with pytest.raises(st.DerivationError) as refused:
        equations(rope(30))
    assert str(refused.value) == (
        "rope is too large to be read.\n"
        "  Found repetitions over 60 coordinates, expected at most 40.\n"
        "  Use st.simulate to run it, or state a smaller one to read."
    )


def test_thousands_of_coordinates_are_refused_whatever_their_energies_are():
    many = st.coordinates(" ".join(f"q{k}" for k in range(1001)))
    system = st.System(kinetic=many[0].dot ** 2 / 2, coordinates=tuple(many))
    with pytest.raises(st.DerivationError, match="Found 1001 coordinates, expected at most 1000"):
        equations(system)
    assert not st.check(system).exhaustive


def test_dry_friction_is_refused_by_name():
    system = st.System(kinetic=m * x.dot**2 / 2, friction=[st.Friction(2, on=x, name="table")])
    with pytest.raises(st.DerivationError) as refused:
        equations(system)
    assert str(refused.value) == (
        "friction 'table' has no place in Lagrange's equations.\n"
        "  Found friction up to 2 against d/dt x; its force is no expression of coordinates, "
        "velocities and time.\n"
        "  State the system without it to read the rest; st.simulate follows it all the same."
    )


def test_contacts_are_refused_by_name():
    system = st.System(kinetic=m * y.dot**2 / 2, contacts=[st.Contact(y, name="floor")])
    with pytest.raises(st.DerivationError, match="contact 'floor' has no place in Lagrange's"):
        equations(system)


def test_system_without_coordinates_is_refused():
    with pytest.raises(st.DerivationError, match="has no equations of motion"):
        equations(st.System())


# -- reading --------------------------------------------------------------------------------------


def test_equations_print_one_line_per_coordinate():
    assert str(equations(CART)) == (
        "Equations of motion of cart with pendulum\n"
        "  x:     (m1 + m2)*x.ddot + l*m2*cos(theta)*theta.ddot"
        " - l*m2*theta.dot**2*sin(theta) = F\n"
        "  theta: l*m2*cos(theta)*x.ddot + l**2*m2*theta.ddot + g*l*m2*sin(theta)"
        " = F*l*cos(theta)"
    )
    assert "under\n  rod: " in str(equations(CARTESIAN))


def test_latex_is_an_aligned_block():
    text = equations(CART).latex()
    assert text.startswith("\\begin{aligned}") and text.count("&=") == 2
    assert r"\left(m_{1} + m_{2}\right) \ddot{x}" in text


def test_explanation_of_the_cart_follows_the_slides():
    text = equations(CART).explain()
    headings = [line for line in text.splitlines() if line.startswith("#")]
    assert headings == [
        "# Equations of motion of cart with pendulum",
        "## 1. Energies and the Lagrangian",
        "## 2. Partial derivatives and their rates",
        "## 3. Virtual work",
        "## 4. Lagrange's equations, collected",
        "## 5. Matrix form",
    ]
    for step in (
        r"L = T - U",
        r"\frac{\partial L}{\partial x} &= 0",
        r"\frac{\partial L}{\partial \dot{x}} &= \left(m_{1} + m_{2}\right) \dot{x}",
        r"= F \,\delta x + F l \cos{\left(\theta \right)} \,\delta \theta",
        r"\delta W &= \tau_{1} \,\delta x + \tau_{2} \,\delta \theta",
        r"M \ddot{q} + C \dot{q} + \frac{\partial U}{\partial q} = \tau",
        r"G = \frac{\partial U}{\partial q} = ",
    ):
        assert step in text, step
    assert text.count("$$") % 2 == 0


def test_explanation_of_a_constraint_shows_its_second_rate():
    text = equations(CARTESIAN).explain()
    assert r"L = T - U + \lambda_{\mathrm{rod}} R_{1}" in text
    assert r"\ddot{R}_{1} &= J \ddot{q} + \dot{q}^{\mathsf{T}} H \dot{q}" in text
    driven = st.particle(m, at=(x, y)) + st.System(constraints=[x - sp.sin(st.t) * y])
    assert r"\frac{\partial^2 R}{\partial t^2}" in equations(driven).explain()
    text = equations(ROBOT).explain()
    assert r"\frac{d}{dt} \left(A \dot{q} + b\right)" in text
    assert r"\lambda_{\mathrm{no\ slip}}" in text


def test_explanation_names_the_forces_of_dissipation():
    system = st.System(kinetic=m * x.dot**2 / 2, dissipation=b * x.dot**2 / 2, work=f * x)
    text = equations(system).explain()
    assert r"-\frac{\partial D}{\partial \dot{x}} &= - b \dot{x}" in text
    assert r"= - \frac{\partial D}{\partial \dot{q}} + \frac{\partial W}{\partial q}" in text


def test_equations_cannot_be_changed():
    eq = equations(CART)
    with pytest.raises(AttributeError):
        eq.M = sp.eye(2)  # pyright: ignore[reportAttributeAccessIssue]
    with pytest.raises(TypeError):
        eq.M[0, 0] = 1


def test_tidying_keeps_the_value_and_the_form_of_the_slides():
    for e in (
        sin(theta) ** 2 * cos(phi) ** 2 + sin(theta) ** 2 * sin(phi) ** 2 + cos(theta) ** 2,
        k * ell**2 * sin(theta) * cos(theta) / 4 + m * g * ell * sin(theta),
        m / sp.sqrt(1 - x**2 / c**2) + m * x**2 / (c**2 * (1 - x**2 / c**2) ** sp.Rational(3, 2)),
        sp.Piecewise((x**2, x > 0), (0, True)) + sp.Abs(x) * sp.exp(-x),
    ):
        assert same([tidy(e)], [e])
    assert tidy(sin(theta) ** 2 + cos(theta) ** 2) == 1
    assert tidy(k * sin(theta) * cos(theta)) == k * sin(theta) * cos(theta)
