"""Small motions about rest and about steady motion: published matrices, closed-form frequencies."""

import numpy as np
import pytest
import sympy as sp

import stationary as st
from stationary.errors import StatementError

x, y, theta, phi, psi = st.coordinates("x y theta phi psi")
m, l, g = st.parameters(m=1.0, l=1.0, g=9.81)  # noqa: E741 (l, as on the slides)
F = st.inputs("F")


def frequencies_of(lin):
    return np.sort(lin.frequencies)


# -- the documents ---------------------------------------------------------------------------------

m1, m2 = st.parameters(m1=1.0, m2=0.2)
cart = st.System(
    kinetic=m1 * x.dot**2 / 2
    + m2 * (x.dot**2 + 2 * x.dot * theta.dot * l * st.cos(theta) + l**2 * theta.dot**2) / 2,
    potential=m2 * g * l * (1 - st.cos(theta)),
    loads=[st.Load(F, on=x + l * st.sin(theta))],
    coordinates=(x, theta),
    name="cart with pendulum",
)


@pytest.mark.parametrize(
    ("angle", "sign", "words"), [(0.0, -1, "marginally stable"), (np.pi, 1, "unstable (saddle)")]
)
def test_the_two_linearizations_of_the_cart_are_those_of_the_slides(angle, sign, words):
    # D. Lee: m₁m₂l²/(m₁+m₂) θ̈ ± m₂gl θ = 0.
    values = {m1: 1.3, m2: 0.4, l: 0.7}
    lin = st.linearize(cart, at={theta: angle, x: 0.8}, params=values)
    effective = 1.3 * 0.4 * 0.7**2 / (1.3 + 0.4)
    assert lin.states == ("x", "theta", "x.dot", "theta.dot")
    assert lin.A[3] == pytest.approx([0, sign * 0.4 * 9.81 * 0.7 / effective, 0, 0], rel=1e-14)
    assert lin.A[2] == pytest.approx([0, 0.4 * 9.81 / 1.3, 0, 0], rel=1e-14)
    assert lin.A[:2] == pytest.approx(np.array([[0, 0, 1, 0], [0, 0, 0, 1]]))
    assert lin.stability == words
    rate = np.sqrt(0.4 * 9.81 * 0.7 / effective)
    if sign < 0:
        assert lin.frequencies == pytest.approx([rate], rel=1e-13)
    else:
        assert lin.eigenvalues[0] == pytest.approx(rate, rel=1e-13)


def test_the_cart_about_its_equilibria_reads_in_the_words_of_the_slides():
    found = st.equilibria(cart, within={theta: (-1, 4)}, inputs={F: 0})
    words = [
        st.linearize(cart, at=rest).stability for rest in sorted(found, key=lambda r: r[theta])
    ]
    assert words == ["marginally stable", "unstable (saddle)"]


def test_the_pendulum_with_spring_and_damper_is_linear_as_on_the_slide():
    # ml²θ̈ + cl²/4 θ̇ + (kl²/4 + mgl) θ = τ.
    c, k, tau = *st.parameters(c=0.6, k=3.0), st.inputs("tau")
    middle = l * st.sin(theta) / 2
    system = st.System(
        kinetic=m * l**2 * theta.dot**2 / 2,
        potential=m * g * l * (1 - st.cos(theta)) + k * middle**2 / 2,
        dissipation=c * st.rate(middle) ** 2 / 2,
        loads=[st.Load(tau, on=theta)],
    )
    lin = st.linearize(system, at={}, params={m: 2.0, l: 0.5})
    inertia = 2 * 0.5**2
    row = [-(3 * 0.25 / 4 + 2 * 9.81 * 0.5) / inertia, -0.6 * 0.25 / 4 / inertia]
    assert lin.A == pytest.approx(np.array([[0, 1], row]), rel=1e-14)
    assert lin.B == pytest.approx(np.array([[0], [1 / inertia]]), rel=1e-14)
    assert lin.stability == "asymptotically stable"


def test_a_bead_on_a_hoop_has_the_three_stabilities_of_the_slides():
    Omega = st.parameters(Omega=5.0)
    hoop = st.System(
        kinetic=m * l**2 * (theta.dot**2 + Omega**2 * st.sin(theta) ** 2) / 2,
        potential=m * g * l * (1 - st.cos(theta)),
    )
    side = np.arccos(9.81 / 25)
    bottom = st.linearize(hoop, at={}, params={Omega: 3.0})
    assert bottom.stability == "marginally stable"
    assert bottom.frequencies == pytest.approx([np.sqrt(9.81 - 9)], rel=1e-13)
    assert st.linearize(hoop, at={}).stability == "unstable (saddle)"
    top = st.linearize(hoop, at={theta: np.pi})
    assert top.stability == "unstable (saddle)"
    assert top.eigenvalues[0] == pytest.approx(np.sqrt(9.81 + 25), rel=1e-13)
    swings = st.linearize(hoop, at={theta: side})
    assert swings.stability == "marginally stable"
    # EQ-HOOP of references.md: Ω sin θ_e.
    assert swings.frequencies == pytest.approx([4.5989733636975981077], rel=1e-13)


# -- chains ----------------------------------------------------------------------------------------

# CLS-MODES-CHAIN of references.md: roots of the Laguerre polynomials.
LAGUERRE = {
    1: [1.0],
    2: [0.5857864376269049512, 3.4142135623730950488],
    3: [0.41577455678347908331, 2.2942803602790417198, 6.2899450829374791969],
    5: [
        0.2635603197181409102, 1.4134030591065167922, 3.5964257710407220812,
        7.0858100058588375569, 12.640800844275782659,
    ],
    10: [
        0.13779347054049243083, 0.72945454950317049816, 1.8083429017403160482,
        3.4014336978548995145, 5.5524961400638036324, 8.3301527467644967002,
        11.843785837900065565, 16.2792578313781021, 21.996585811980761951, 29.92069701227389156,
    ],
}  # fmt: skip


@pytest.mark.parametrize("beads", [1, 2, 3, 5])
def test_a_hanging_chain_in_angles_swings_with_the_roots_of_laguerre(beads):
    angles = [st.coordinates(f"a{k}") for k in range(beads)]
    system = st.System()
    across, down = sp.S.Zero, sp.S.Zero
    for angle in angles:
        across, down = across + l * st.sin(angle), down - l * st.cos(angle)
        system = system + st.particle(m, at=(across, down), gravity=g)
    lin = st.linearize(system, at={}, params={l: 0.4})
    squares = frequencies_of(lin) ** 2 * 0.4 / 9.81
    assert squares == pytest.approx(LAGUERRE[beads], rel=1e-12)
    assert lin.stability == "marginally stable"


def hanging(beads):
    r = st.coordinates("r", shape=(beads, 2))

    def stretch(a, b):
        return st.norm(b - a) - l

    links = [st.Constraint(stretch(np.zeros(2), r[0]), name="top")]
    if beads > 1:
        links.append(st.each(stretch, r[:-1], r[1:], name="link"))
    system = st.System(
        kinetic=st.each(lambda v: m * (v[0] ** 2 + v[1] ** 2) / 2, r.dot),
        potential=st.each(lambda p: m * g * p[1], r),
        constraints=links,
    )
    return r, system, np.stack([np.zeros(beads), -np.arange(1.0, beads + 1)], axis=1)


@pytest.mark.parametrize("beads", [1, 2, 5, 10])
def test_a_hanging_chain_with_constraints_swings_with_the_roots_of_laguerre(beads):
    r, system, straight = hanging(beads)
    lin = st.linearize(system, at={r: straight})
    assert frequencies_of(lin) ** 2 / 9.81 == pytest.approx(LAGUERRE[beads], rel=1e-11)
    assert len(lin.states) == 2 * beads
    # Only what moves across is a state: along the chain the links hold.
    assert all("[" in s and ",0]" in s for s in lin.states)


def test_a_chain_on_its_head_grows_as_fast_as_it_swung():
    r, system, straight = hanging(3)
    lin = st.linearize(system, at={r: -straight})
    assert lin.stability == "unstable (saddle)"
    rates = np.real(lin.eigenvalues)
    growing = np.sort(rates[rates > 0])
    assert growing**2 / 9.81 == pytest.approx(LAGUERRE[3], rel=1e-11)


# -- constraints -----------------------------------------------------------------------------------


def cartesian_pendulum():
    q1, q2, L = *st.coordinates("q1 q2"), st.parameters(L=1.7)
    rod = st.Constraint(q1**2 + q2**2 - L**2, name="rod")
    system = st.System(
        kinetic=m * (q1.dot**2 + q2.dot**2) / 2, potential=-9.8 * m * q1, constraints=[rod]
    )
    return q1, system


def test_a_nonminimal_pendulum_has_the_matrix_of_sympys_own_test():
    # sympy, test_linearize.py: A = [[0, 1], [−9.8/L, 0]] at q = (L, 0).
    q1, system = cartesian_pendulum()
    lin = st.linearize(system, at={q1: 1.7})
    assert lin.states == ("q2", "q2.dot")
    assert lin.A == pytest.approx(np.array([[0, 1], [-9.8 / 1.7, 0]]), rel=1e-14)


def test_the_descriptor_form_has_the_finite_eigenvalues_of_the_state_space():
    q1, system = cartesian_pendulum()
    lin = st.linearize(system, at={q1: 1.7})
    s = sp.Symbol("s")
    pencil = s * sp.Matrix(lin.E) - sp.Matrix(lin.F)
    exact = pencil.applyfunc(lambda e: sp.nsimplify(e, rational=True))
    finite = np.roots([float(c) for c in sp.Poly(exact.det(), s).all_coeffs()])
    assert np.sort_complex(finite) == pytest.approx(np.sort_complex(lin.eigenvalues), rel=1e-9)


def test_the_descriptor_form_holds_the_equation_of_motion_itself():
    # E ż = F z + G u: m δv̇ = −∂²(U − λR)/∂q² δq + Aᵀ δλ, with λ = −mg/(2L) of the rod.
    q1, system = cartesian_pendulum()
    lin = st.linearize(system, at={q1: 1.7})
    assert lin.E == pytest.approx(np.diag([1, 1, 1, 1, 0]))
    curve = -9.8 / 1.7
    middle = [[curve, 0, 0, 0, 2 * 1.7], [0, curve, 0, 0, 0]]
    assert lin.F[2:4] == pytest.approx(np.array(middle), rel=1e-13, abs=1e-13)


def test_a_rolling_disc_topples_below_its_critical_speed():
    # sympy, test_linearize_rolling_disc_kane: for r = g = m = 1 a thin disc of inertia m r²/4 and
    # m r²/2 that rolls upright is stable above q̇₃ = 1/√3.
    roll, lean, spin, X, Y = st.coordinates("roll lean spin X Y")
    # spin is the heading, lean the tilt from upright, roll the turning about its own axle.
    w1, w2 = lean.dot, spin.dot * st.cos(lean)
    w3 = spin.dot * st.sin(lean) + roll.dot
    height = st.cos(lean)
    along = X.dot * st.cos(spin) + Y.dot * st.sin(spin)
    across = -X.dot * st.sin(spin) + Y.dot * st.cos(spin)
    # X, Y is the point of contact; the centre leans sideways from it.
    side = st.sin(lean)
    cx = along - spin.dot * side
    cy = across + st.cos(lean) * lean.dot
    cz = -st.sin(lean) * lean.dot
    disc = st.System(
        kinetic=(cx**2 + cy**2 + cz**2) / 2 + (w1**2 + w2**2) / 8 + w3**2 / 4,
        potential=height,
        pfaffian=[st.Pfaffian(along + roll.dot, name="rolls"), st.Pfaffian(across, name="skids")],
    )
    critical = 1 / np.sqrt(3)
    slow = st.linearize(disc, at={roll.dot: 0.9 * critical, X.dot: -0.9 * critical})
    fast = st.linearize(disc, at={roll.dot: 1.1 * critical, X.dot: -1.1 * critical})
    assert slow.stability == "unstable (saddle)"
    assert fast.stability == "marginally stable"


# -- steady motion ---------------------------------------------------------------------------------


def test_a_conical_pendulum_nutates_with_the_published_frequency():
    # CLS-SPHERICAL of references.md, at 60°.
    spherical = st.System(
        kinetic=(theta.dot**2 + st.sin(theta) ** 2 * phi.dot**2) / 2,
        potential=-9.81 * st.cos(theta),
        coordinates=(theta, phi),
    )
    turn = 4.4294469180700201727
    lin = st.linearize(spherical, at={theta: np.pi / 3, phi.dot: turn})
    assert lin.states == ("theta", "theta.dot", "phi.dot")
    assert lin.frequencies == pytest.approx([5.8596074953873830268], rel=1e-12)
    assert lin.stability == "marginally stable"


@pytest.mark.parametrize("turn", [1.0, 1e-16, 1e16])
@pytest.mark.parametrize("motor", ["constraint", "pfaffian"])
def test_a_motor_that_keeps_the_rate_leaves_the_bead_alone_to_swing(motor, turn):
    # However the way of the motor is counted: as an angle, or in light-years along the floor.
    rate = 5 * turn
    turning = {
        "constraint": {"constraints": [st.Constraint(phi - rate * st.t, name="motor")]},
        "pfaffian": {"pfaffian": [st.Pfaffian(phi.dot - rate, name="motor")]},
    }
    hoop = st.System(
        kinetic=(theta.dot**2 + st.sin(theta) ** 2 * (phi.dot / turn) ** 2) / 2,
        potential=-9.81 * st.cos(theta),
        **turning[motor],
    )
    lin = st.linearize(hoop, at={theta: np.arccos(9.81 / 25), phi.dot: rate})
    assert lin.states == ("theta", "theta.dot")
    assert lin.frequencies == pytest.approx([4.5989733636975981077], rel=1e-12)


# EQ-TOP of references.md.
A, C, MGH = 0.2, 0.1, 1.0
precessing = st.System(
    kinetic=A / 2 * (theta.dot**2 + phi.dot**2 * st.sin(theta) ** 2)
    + C / 2 * (psi.dot + phi.dot * st.cos(theta)) ** 2,
    potential=MGH * st.cos(theta),
)


@pytest.mark.parametrize("turn", [0.3371217013848198549775, 29.66287829861518014502])
def test_a_top_precesses_steadily_at_both_published_rates(turn):
    lin = st.linearize(
        precessing, at={theta: np.pi / 3, phi.dot: turn, psi.dot: 30 - turn * np.cos(np.pi / 3)}
    )
    # Nutation: A²ω² = (C w₃ − 2A Ω cos θ)² + A²Ω² sin²θ, from the effective potential.
    spin = C * 30
    square = (spin - 2 * A * turn * 0.5) ** 2 / A**2 + turn**2 * 0.75
    assert lin.frequencies == pytest.approx([np.sqrt(square)], rel=1e-10)
    assert lin.stability == "marginally stable"


def test_a_top_that_does_not_precess_steadily_is_refused():
    with pytest.raises(StatementError, match="neither an equilibrium nor a steady motion"):
        st.linearize(precessing, at={theta: np.pi / 3, phi.dot: 1.0, psi.dot: 30.0})


def test_a_sleeping_top_wakes_below_its_critical_spin():
    # Tilts about two axes and the spin: no coordinate is singular upright.
    a, b = st.coordinates("a b")
    top = st.System(
        kinetic=A / 2 * (a.dot**2 * st.cos(b) ** 2 + b.dot**2)
        + C / 2 * (psi.dot + a.dot * st.sin(b)) ** 2,
        potential=MGH * st.cos(a) * st.cos(b),
    )
    critical = 8.944271909999158785637
    asleep = st.linearize(top, at={psi.dot: 1.001 * critical})
    awake = st.linearize(top, at={psi.dot: 0.999 * critical})
    assert asleep.stability == "marginally stable"
    assert awake.stability == "unstable (flutter)"
    # λ = (−iCw ± √(4Amgh − C²w²))/2A.
    spin = C * 0.999 * critical
    growth = np.sqrt(4 * A * MGH - spin**2) / (2 * A)
    assert np.real(awake.eigenvalues).max() == pytest.approx(growth, rel=1e-9)


def test_a_governor_swings_about_its_steady_motion_as_its_effective_potential_says():
    from tests.solve.test_statics import governor

    momentum = 53.868998658418434
    (b, s), reduced = governor(momentum=momentum)
    rest = st.statics(reduced, start={b: np.pi / 6, s: 0.5})
    effective = st.linearize(reduced, at=rest)
    # The same with φ as a coordinate, turning at p_φ / I(β).
    (b, s), held = governor(turn=phi.dot)
    place = {"beta": rest[b], "s": rest[s], "phi": 0.0}
    order = [c.name for c in held.coordinates]
    M = st.compile(held).mass([place[name] for name in order]).toarray()
    turn = momentum / M[order.index("phi"), order.index("phi")]
    full = st.linearize(held, at={b: rest[b], s: rest[s], phi.dot: turn})
    assert set(full.states) == {"beta", "s", "beta.dot", "s.dot", "phi.dot"}
    assert frequencies_of(full) == pytest.approx(frequencies_of(effective), rel=1e-7)
    assert full.stability == "marginally stable"


# -- derivatives, words and refusals ---------------------------------------------------------------


def test_the_matrices_are_the_slopes_of_the_accelerations():
    c = st.parameters(c=0.3)
    arm = st.System(
        kinetic=(2 + st.cos(phi)) * theta.dot**2 / 2 + theta.dot * phi.dot * st.cos(phi) / 2
        + phi.dot**2 / 2,
        potential=3 * st.sin(theta) + st.cos(theta + phi),
        dissipation=c * theta.dot**2 / 2 + c * phi.dot**2,
        loads=[st.Load(F, on=st.sin(theta) + phi)],
    )  # fmt: skip
    rest = st.statics(arm, start={theta: -1.0, phi: -1.5}, inputs={F: 0.4})
    lin = st.linearize(arm, at=rest)
    compiled = st.compile(arm)

    def rates(state, u):
        return np.concatenate([state[2:], compiled.acceleration(state[:2], state[2:], u=[u])])

    state, step = np.concatenate([rest.q, np.zeros(2)]), 1e-5
    for j in range(4):
        e = step * np.eye(4)[j]
        fourth = (
            8 * (rates(state + e, 0.4) - rates(state - e, 0.4))
            - (rates(state + 2 * e, 0.4) - rates(state - 2 * e, 0.4))
        ) / (12 * step)
        assert lin.A[:, j] == pytest.approx(fourth, rel=1e-8, abs=1e-9)
    push = (rates(state, 0.4 + step) - rates(state, 0.4 - step)) / (2 * step)
    assert lin.B[:, 0] == pytest.approx(push, rel=1e-8, abs=1e-9)
    assert lin.stability == "asymptotically stable"


def test_small_motions_follow_the_linear_system():
    from scipy.linalg import expm

    at = {theta: np.pi / 3, phi.dot: 4.4294469180700201727}
    spherical = st.System(
        kinetic=(theta.dot**2 + st.sin(theta) ** 2 * phi.dot**2) / 2,
        potential=-9.81 * st.cos(theta),
        coordinates=(theta, phi),
    )
    lin = st.linearize(spherical, at=at)
    small = 1e-6
    start = {**at, theta: np.pi / 3 + small}
    motion = st.simulate(spherical, span=(0, 2), start=start, points=5)
    for t, value in zip(motion.t, motion[theta]):
        expected = (expm(lin.A * t) @ [small, 0, 0])[0]
        assert value - np.pi / 3 == pytest.approx(expected, abs=1e-4 * small)


@pytest.mark.parametrize(
    ("stiffness", "damping", "words"),
    [
        (1.0, 0.2, "asymptotically stable"),
        (1.0, 3.0, "asymptotically stable"),
        (1.0, 0.0, "marginally stable"),
        (0.0, 0.2, "marginally stable"),
        (0.0, 0.0, "marginally stable"),
        (-1.0, 0.2, "unstable (saddle)"),
        (1.0, -0.2, "unstable (flutter)"),
    ],
)
def test_stability_is_said_in_words(stiffness, damping, words):
    k, c = st.parameters("k c")
    oscillator = st.System(
        kinetic=x.dot**2 / 2, potential=k * x**2 / 2, dissipation=c * x.dot**2 / 2
    )
    lin = st.linearize(oscillator, at={}, params={k: stiffness, c: damping})
    assert lin.stability == words
    assert words in repr(lin)


def test_words_do_not_depend_on_units():
    k, mass = st.parameters("k mass")
    oscillator = st.System(kinetic=mass * x.dot**2 / 2, potential=k * x**2 / 2)
    for stiffness, inertia in ((1e12, 1e-9), (1e-9, 1e6)):
        lin = st.linearize(oscillator, at={}, params={k: stiffness, mass: inertia})
        assert lin.stability == "marginally stable"
        assert lin.frequencies == pytest.approx([np.sqrt(stiffness / inertia)], rel=1e-12)
        lin = st.linearize(oscillator, at={}, params={k: -stiffness, mass: inertia})
        assert lin.stability == "unstable (saddle)"


def test_outputs_are_expressions_of_the_state():
    lin = st.linearize(
        cart, at={}, params={l: 0.5}, outputs=[x + l * st.sin(theta), theta.dot, st.cos(theta)]
    )
    assert lin.C == pytest.approx(np.array([[1, 0.5, 0, 0], [0, 0, 0, 1], [0, 0, 0, 0]]))
    assert lin.D == pytest.approx(np.zeros((3, 1)))
    assert st.linearize(cart, at={}).outputs == ("x", "theta")


def test_modes_are_eigenvectors_in_the_order_of_the_eigenvalues():
    lin = st.linearize(cart, at={theta: np.pi})
    assert lin.A @ lin.modes == pytest.approx(lin.modes * lin.eigenvalues, abs=1e-10)
    assert np.all(np.diff(np.round(np.real(lin.eigenvalues), 6)) <= 0)


def test_a_linear_system_goes_to_python_control():
    control = pytest.importorskip("control")
    lin = st.linearize(cart, at={theta: np.pi})
    made = lin.to_control()
    assert isinstance(made, control.StateSpace)
    assert np.asarray(made.A) == pytest.approx(lin.A)
    assert np.asarray(made.B) == pytest.approx(lin.B)
    assert made.input_labels == ["F"] and made.state_labels == list(lin.states)
    assert made.output_labels == ["x", "theta"]
    assert np.linalg.matrix_rank(control.ctrb(made.A, made.B)) == 4
    free = st.linearize(st.System(kinetic=x.dot**2 / 2, potential=x**2), at={x: 0}).to_control()
    assert sorted(free.poles().imag) == pytest.approx([-np.sqrt(2), np.sqrt(2)])
    assert free.input_labels == ["none"] and not free.B.any()


def test_a_large_system_linearizes_on_its_tangent():
    r, system, straight = hanging(40)
    lin = st.linearize(system, at={r: straight})
    from numpy.polynomial.laguerre import lagroots

    exact = np.sort(lagroots([0] * 40 + [1]))
    assert frequencies_of(lin)[:10] ** 2 / 9.81 == pytest.approx(exact[:10], rel=1e-8)


@pytest.mark.one_in(3)
@pytest.mark.parametrize("unit", [1e-9, 1.0, 1e9])
@pytest.mark.parametrize("origin", [0.0, 1e6])
def test_a_contact_is_open_by_its_own_width(unit, origin):
    """A wall a millionth of a length away holds nothing; a floor that is stood on does."""
    x, y = st.coordinates("x y")
    gap = 1e-6 * unit - (x - origin * unit)
    block = st.System(
        kinetic=(x.dot**2 + y.dot**2) / 2,
        potential=(x - origin * unit) ** 2 + 9.81 * unit * y,
        contacts=[st.Contact(y, name="floor"), st.Contact(gap, name="wall")],
    )
    lin = st.linearize(block, at=st.statics(block, start={x: origin * unit}))
    assert lin.states == ("x", "x.dot")
    np.testing.assert_allclose(lin.frequencies, [np.sqrt(2)], rtol=1e-9)


@pytest.mark.parametrize("stiff", [1e308, 1e200, 1e-200, 1e-300])
def test_frequencies_have_no_unit_of_their_own(stiff):
    spring = st.System(kinetic=x.dot**2 / 2, potential=stiff * x**2 / 2)
    exact = pytest.approx([np.sqrt(stiff)], rel=1e-12, abs=0)
    assert st.linearize(spring).frequencies == exact
    assert st.modes(spring).frequencies == exact


@pytest.mark.parametrize("potential", [1e308 * (x**2 + (x - y) ** 2), 1 / x + y**2], ids=str)
def test_equations_that_are_no_numbers_are_told(potential):
    system = st.System(kinetic=(x.dot**2 + y.dot**2) / 2, potential=potential)
    with pytest.raises(st.DerivationError, match=r"(?s)point are not finite.*'x', 'y'"):
        st.linearize(system)


@pytest.mark.parametrize("unit", [1e-6, 1.0, 1e6])
def test_a_kink_at_the_operating_point_is_refused_and_one_beside_it_is_not(unit):
    x, P = st.coordinates("x"), st.Piecewise
    y = x - 3 * unit
    kinks = [st.Abs(y), y * st.Abs(y), st.Max(y, 0) ** 2 + y**2, P((y**2, y < 0), (3 * y**2, True))]
    for U in kinks:
        system = st.System(kinetic=x.dot**2 / 2, potential=U)
        for ask in (st.linearize, lambda s, at: st.modes(s, at=at, count=1)):
            with pytest.raises(st.DerivationError, match="no linear equation.*\n.*kink.*'x'"):
                ask(system, at={x: 3 * unit})
    stop = st.System(kinetic=x.dot**2 / 2, potential=y**2, loads=[st.Load(-st.sign(x.dot), on=x)])
    with pytest.raises(st.DerivationError, match="jump"):
        st.linearize(stop, at={x: 3 * unit})
    # One with a slope on both sides, and one a little further on: K = 2 in either.
    for U in (y**2 + st.Abs(y) ** 3 / unit, y**2 + st.Max(y - 1e-4 * unit, 0) ** 2):
        system = st.System(kinetic=x.dot**2 / 2, potential=U)
        assert st.linearize(system, at={x: 3 * unit}).A[1, 0] == pytest.approx(-2, rel=1e-9)


def test_rounding_of_a_place_at_rest_is_zero_in_its_linear_equations():
    theta = st.coordinates("theta")
    pendulum = st.System(kinetic=theta.dot**2 / 2e8, potential=-1e-8 * st.cos(theta))
    rest = st.statics(pendulum, start={theta: 0.5})
    assert "theta = 0\n" in repr(rest)
    assert "the origin, at rest" in repr(st.linearize(pendulum, at=rest))
