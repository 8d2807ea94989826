"""Hamilton's equations against Legendre's identity, Newton's law and the inertial note."""

import pytest
import sympy as sp

import stationary as st
from stationary.derive.hamilton import hamilton
from stationary.derive.lagrange import equations

x, y, theta, phi, r, q1, q2 = st.coordinates("x y theta phi r q1 q2")
m, ell, k, c, g, b, B, Omega = st.parameters("m l k c g b B Omega")
m1, m2, l1, l2, c1, c2, J1, J2 = st.parameters("m1 m2 l1 l2 c1 c2 J1 J2")
F, tau = st.inputs("F tau")
sin, cos = sp.sin, sp.cos

PENDULUM = st.particle(m, at=(ell * sin(theta), -ell * cos(theta)), gravity=g)
KEPLER = st.System(kinetic=m * (r.dot**2 + r**2 * phi.dot**2) / 2, potential=-k / r)
CART = (
    st.particle(m1, at=x)
    + st.particle(m2, at=(x + ell * sin(theta), -ell * cos(theta)), gravity=g)
    + st.System(
        loads=[st.Load(F, on=x + ell * sin(theta))],
        dissipation=b * x.dot**2 / 2,
        work=tau * theta,
    )
)
X_TURNED = x * cos(Omega * st.t) - y * sin(Omega * st.t)
Y_TURNED = x * sin(Omega * st.t) + y * cos(Omega * st.t)
RELATIVISTIC = -m * c**2 * sp.sqrt(1 - (r.dot**2 + r**2 * phi.dot**2) / c**2)
SYSTEMS = {
    "pendulum": PENDULUM,
    "kepler": KEPLER,
    "driven cart": CART,
    "double pendulum": st.particle(m1, at=(l1 * sin(q1), -l1 * cos(q1)), gravity=g)
    + st.particle(m2, at=(l1 * sin(q1) + l2 * sin(q2), -l1 * cos(q1) - l2 * cos(q2)), gravity=g),
    "charge": st.System(
        kinetic=m * (x.dot**2 + y.dot**2) / 2 + B * (x * y.dot - y * x.dot) / 2,
        potential=k * x**2 / 2,
    ),
    "rotating frame": st.particle(m, at=(X_TURNED, Y_TURNED)),
    "relativistic planet": st.System(kinetic=RELATIVISTIC, potential=-k / r),
    "quadratic drag": st.particle(m, at=(x, y)) + st.System(friction=[st.Drag(b, 2, on=(x, y))]),
}

# Every symbol has its number; speeds stay below c.
NUMBERS = {x: 0.4, y: -0.3, theta: 0.7, phi: 0.2, r: 1.3, q1: 0.5, q2: -0.8, st.t: 0.6}
SPEEDS = {
    s.dot: v for s, v in zip((x, y, theta, phi, r, q1, q2), (0.3, -0.4, 0.5, 0.2, -0.3, 0.6, 0.4))
}
CONSTANTS = dict(
    zip((m, ell, k, c, g, b, B, Omega), (1.1, 0.9, 1.7, 2.3, 9.81, 0.2, 0.8, 0.5))
) | dict(zip((m1, m2, l1, l2, c1, c2, J1, J2), (1.2, 0.7, 1.1, 0.6, 0.5, 0.3, 0.05, 0.04)))
STATE = NUMBERS | SPEEDS | CONSTANTS | {F: 0.9, tau: -0.2}


def number(e, *more) -> float:
    for values in (*more, STATE):
        e = sp.S(e).xreplace(values)
    return float(e)


# -- the transform --------------------------------------------------------------------------------


@pytest.mark.one_in(2)
@pytest.mark.parametrize("name", SYSTEMS)
def test_hamiltonian_rates_and_canonical_equations_are_those_of_legendre_and_lagrange(name):
    system = SYSTEMS[name]
    h, eq = hamilton(system), equations(system)
    there = dict(zip(h.p, h.momenta))
    flow = sum(p * q.dot for p, q in zip(h.momenta, h.coordinates))
    value = number(flow - system.kinetic + system.potential)
    assert number(h.hamiltonian, there) == pytest.approx(value, rel=1e-12)
    for q, v in zip(h.coordinates, h.velocities):
        assert number(v, there) == pytest.approx(number(q.dot), rel=1e-12)
    # The rates are slopes of the Hamiltonian, and forces.
    for q, p, force in zip(h.coordinates, h.p, h.forces):
        slope = number(h.hamiltonian.diff(p), there)
        assert number(h.rates[q], there) == pytest.approx(slope, rel=1e-12)
        push = number(force - h.hamiltonian.diff(q), there)
        assert number(h.rates[p], there) == pytest.approx(push, rel=1e-11, abs=1e-12)
    # They are the rates at which momenta change along Lagrange's motion.
    residuals = [sp.S(e).subs(STATE) for e in eq.residuals]
    found = sp.solve(residuals, eq.accelerations, dict=True)[0]
    for p, momentum in zip(h.p, h.momenta):
        assert number(st.rate(momentum), found) == pytest.approx(
            number(h.rates[p], there), rel=1e-9, abs=1e-11
        )


def test_equations_are_ordered_velocities_first():
    h = hamilton(KEPLER)
    p_phi, p_r = (h.p[h.coordinates.index(q)] for q in (phi, r))
    assert [e.lhs for e in h.equations] == [*(q.dot for q in h.coordinates), *(p.dot for p in h.p)]
    assert h.rates[p_phi] == 0
    assert sp.expand(h.rates[p_r] - p_phi**2 / (m * r**3) + k / r**2) == 0
    assert h.rates[r] == p_r / m


def test_momenta_are_asked_for_by_coordinate_name_or_place():
    h = hamilton(KEPLER)
    angular = m * r**2 * phi.dot
    place = h.coordinates.index(phi)
    assert h.momenta[phi] == h.momenta["phi"] == h.momenta[place] == angular
    assert h.p[place].of == phi and str(h.p[place]) == "p_phi"
    with pytest.raises(st.StatementError, match="coordinate 'phj' is not known"):
        h.momenta["phj"]


def test_relativistic_particle_has_the_energy_of_einstein():
    h = hamilton(st.System(kinetic=-m * c**2 * sp.sqrt(1 - (x.dot**2 + y.dot**2) / c**2)))
    px, py = h.p
    assert sp.expand(h.hamiltonian**2) == sp.expand(c**2 * (m**2 * c**2 + px**2 + py**2))
    assert h.rates[x] == c * px / sp.sqrt(m**2 * c**2 + px**2 + py**2)


def test_charge_has_the_kinetic_momentum_in_its_hamiltonian():
    h = hamilton(SYSTEMS["charge"])
    px, py = h.p
    kinetic = ((px + B * y / 2) ** 2 + (py - B * x / 2) ** 2) / (2 * m)
    assert sp.expand(h.hamiltonian - kinetic - k * x**2 / 2) == 0


def test_constraints_push_the_momenta():
    system = st.particle(m, at=(x, y), gravity=g) + st.rod((0, 0), (x, y), ell, name="rod")
    h = hamilton(system)
    (lam,) = equations(system).lam
    assert sp.simplify(h.rates[h.p[0]] - lam * x / sp.sqrt(x**2 + y**2)) == 0


def test_decimals_stay_decimals():
    h = hamilton(st.System(kinetic=0.3 * x.dot**2, potential=9.81 * x))
    assert h.momenta[x] == 0.6 * x.dot
    assert h.equations[1].rhs == sp.Float(-9.81)


# -- what is refused ------------------------------------------------------------------------------


def test_coordinate_without_mass_is_named():
    system = st.System(kinetic=m * x.dot**2 / 2, potential=k * (x - y) ** 2 / 2)
    with pytest.raises(st.DerivationError) as refused:
        hamilton(system)
    assert str(refused.value) == (
        "the mass matrix is singular: no kinetic energy involves the velocity of 'y'.\n"
        "  Found T = m*x.dot**2/2.\n"
        "  Give 'y' a mass, constrain it, or use quasistatics()."
    )


def test_motion_without_energy_is_named():
    with pytest.raises(st.DerivationError, match="T does not see every motion of 'x', 'y'"):
        hamilton(st.System(kinetic=m * (x.dot + y.dot) ** 2 / 2))


def test_momentum_without_closed_form_is_refused():
    system = st.System(kinetic=x.dot**2 / 2 + x.dot**6 + sp.exp(x.dot**2))
    with pytest.raises(st.DerivationError) as refused:
        hamilton(system)
    what, found, remedy = str(refused.value).split("\n")
    assert what == "the momentum of 'x' cannot be solved for its velocity."
    assert "SymPy has no closed form" in found and "st.equations" in remedy


def test_many_coupled_coordinates_are_refused():
    angles = [st.coordinates(f"a{i}") for i in range(5)]
    X = sum(sin(angle) for angle in angles)
    Y = sum(cos(angle) for angle in angles)
    masses = [m * angle.dot**2 for angle in angles]
    system = st.particle(m, at=(X, Y)) + st.System(kinetic=sum(masses))
    with pytest.raises(st.DerivationError, match="too long to be read"):
        hamilton(system)


@pytest.mark.slow
def test_an_arm_in_space_is_refused_before_its_mass_matrix_is_multiplied_out():
    frame, arm = st.Frame(), st.System()
    for axis, angle in zip("zxyz", st.coordinates("q1 q2 q3 q4")):
        frame = frame.turn(axis, angle)
        frame = frame.move((1, 0.3, 0.2))
        arm += st.particle(m, at=frame.origin)
    with pytest.raises(st.DerivationError, match="terms in the determinant of the mass matrix"):
        hamilton(arm)


def test_many_uncoupled_coordinates_are_read():
    s = st.coordinates("s", shape=(12, 1))
    h = hamilton(st.System(kinetic=st.each(lambda v: m * v[0] ** 2 / 2, s.dot)))
    assert sp.expand(h.hamiltonian - sum(p**2 for p in h.p) / (2 * m)) == 0


# -- mechanisms: the inertial note ----------------------------------------------------------------

SLIDER = st.mechanism(x=[ell * sin(theta)], inertia=[m], name="slider")
ARM = st.mechanism(
    x=[
        c1 * cos(q1),
        c1 * sin(q1),
        q1,
        l1 * cos(q1) + c2 * cos(q1 + q2),
        l1 * sin(q1) + c2 * sin(q1 + q2),
        q1 + q2,
    ],
    inertia=[m1, m1, J1, m2, m2, J2],
    name="two-link arm",
)


def test_scalar_example_of_the_note():
    h = hamilton(SLIDER)
    J = ell * cos(theta)
    assert h.J == sp.Matrix([[J]])
    assert h.inertia == sp.Matrix([[m * J**2]])
    assert h.momenta[theta] == m * J**2 * theta.dot
    assert str(h.p[0]) == "eta_theta"
    # dη/dt = τ + ∂E*/∂θ with ∂E*/∂θ = m J ω² ∂J/∂θ: the load is τ here.
    pushed = SLIDER + st.System(loads=[st.Load(tau, on=theta)])
    h = hamilton(pushed)
    slope = m * J * theta.dot**2 * J.diff(theta)
    assert sp.simplify(h.rates[h.p[0]].subs(h.p[0], h.momenta[0]) - tau - slope) == 0
    force = sp.Symbol("f_1", real=True)
    assert h.effort.rhs == sp.Matrix([J * force])


def test_two_link_arm_has_the_inertia_of_the_textbooks():
    # Spong, Hutchinson & Vidyasagar, Robot Modeling and Control, section 7.4.
    h = hamilton(ARM)
    coupling = m2 * (c2**2 + l1 * c2 * cos(q2)) + J2
    first = m1 * c1**2 + m2 * (l1**2 + c2**2 + 2 * l1 * c2 * cos(q2)) + J1 + J2
    expected = sp.Matrix([[first, coupling], [coupling, m2 * c2**2 + J2]])
    assert (h.inertia - expected).expand() == sp.zeros(2, 2)
    assert (equations(ARM).M - expected).expand() == sp.zeros(2, 2)


def test_power_is_the_same_in_both_coordinates():
    h = hamilton(ARM)
    f = sp.Matrix([sp.Symbol(f"f_{i}", real=True) for i in range(1, 7)])
    omega = sp.Matrix([q.dot for q in h.coordinates])
    assert sp.expand((h.effort.rhs.T * omega - f.T * h.J * omega)[0]) == 0


def test_table_has_the_rows_of_the_note_with_the_expressions_of_the_system():
    rows = hamilton(SLIDER).table().splitlines()
    assert rows[0] == "| | inertial coordinates | relation | generalized coordinates |"
    names = [row.split("|")[1].strip() for row in rows[2:]]
    assert names == [
        "displacement",
        "flow",
        "effort",
        "momentum",
        "inertia",
        "constitutive equation",
        "kinetic co-energy",
        "",
        "",
    ]
    assert all(row.count("|") == 5 for row in rows)
    assert r"\frac{d\eta}{dt} = \tau + \frac{\partial E^*}{\partial \theta}" in rows[-1]
    assert r"- l^{2} m \dot{\theta}^{2} \sin{\left(\theta \right)} \cos" in rows[-1]
    assert hamilton(SLIDER)._repr_markdown_() == hamilton(SLIDER).table()


def test_explanation_says_that_force_is_not_the_rate_of_momentum():
    text = hamilton(ARM).explain()
    assert r"\frac{d\eta}{dt} = \tau + \frac{\partial T}{\partial q}" in text
    assert "## 6. Inertial and generalized coordinates" in text
    plain = hamilton(PENDULUM).explain()
    assert r"H = p \cdot \dot{q} - T + U" in plain and "## 6" not in plain


def test_system_without_uncoupled_coordinates_has_no_table():
    with pytest.raises(st.DerivationError, match="is no mechanism") as refused:
        hamilton(PENDULUM).table()
    assert "st.mechanism(x=…, inertia=…)" in str(refused.value)


def test_inertia_is_refused_where_other_masses_move_too():
    h = hamilton(SLIDER + PENDULUM)
    with pytest.raises(st.DerivationError, match="all that moves, or nothing"):
        _ = h.inertia
    with pytest.raises(st.DerivationError, match="besides that of st.mechanism"):
        h.table()


def test_it_prints_momenta_hamiltonian_and_equations():
    text = str(hamilton(PENDULUM))
    assert text.splitlines()[1:] == [
        "  p_theta = l**2*m*theta.dot",
        "  H = -g*l*m*cos(theta) + p_theta**2/(2*l**2*m)",
        "  theta.dot = p_theta/(l**2*m)",
        "  p_theta.dot = -g*l*m*sin(theta)",
    ]
