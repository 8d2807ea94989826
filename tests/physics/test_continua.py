"""Bars, strings, beams and chains: published and exact numbers, from statement to answer."""

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.special import roots_laguerre

import stationary as st

X = st.positions("X")
L = st.parameters(L=1.0)
P, Q, m = st.parameters(P=0.0, Q=1.0, m=1.0)
u = st.field("u", over=(X, 0, L))
w = st.field("w", over=(X, 0, L))
theta = st.field("theta", over=(X, 0, L))
CLAMPED = {w.at(0): 0, w.diff(X).at(0): 0}
BENDING = dict(kinetic=w.dot**2 / 2, potential=w.diff(X, 2) ** 2 / 2)
STRETCHING = dict(kinetic=u.dot**2 / 2, potential=u.diff(X) ** 2 / 2)


# -- waves --------------------------------------------------------------


@pytest.fixture(scope="module")
def struck():
    """Return a bar that is pulled at its end from t = 0 on."""
    f = st.inputs("f")
    bar = st.Continuum(**STRETCHING, loads=[st.Load(f, on=u.at(L))], fixed={u.at(0): 0})
    return st.simulate(
        st.discretize(bar, elements=50, degree=2), span=(0, 5), inputs={f: 1.0}, points=51
    )


def test_a_step_force_moves_the_end_as_dalembert_says(struck):
    # References CON-BAR: a triangle wave from 0 to 2FL/EA of period 4L/c.
    known = {0.5: 0.5, 1: 1, 1.5: 1.5, 2: 2, 3: 1, 4: 0, 5: 1}
    found = struck.field(u)(1.0, list(known))
    np.testing.assert_allclose(found, list(known.values()), atol=1e-2)
    # Away from the kinks of the triangle the front has been sharp all the way.
    np.testing.assert_allclose(found[[0, 1, 2, 4, 6]], [0.5, 1, 1.5, 1, 1], atol=1e-3)


def test_the_front_arrives_when_it_should(struck):
    # Before the wave u = ⟨t − (L − x)⟩ reaches a point, it stays where it is.
    x = np.linspace(0, 1, 21)
    for t in (0.3, 0.6, 0.9):
        expected = np.maximum(0.0, t - (1 - x))
        assert np.abs(struck.field(u)(x, t) - expected).max() < 6e-3
    speed = struck.field(u.dot)
    assert abs(speed(0.25, 0.6)) < 0.05 and speed(0.25, 0.9) == pytest.approx(1.0, abs=0.15)
    stress = struck.field(u.diff(X))
    assert np.mean(stress(np.linspace(0.5, 0.9, 201), 0.7)) == pytest.approx(1.0, abs=5e-3)


def test_energy_balances_along_the_way(struck):
    assert struck.residual["energy"] < 1e-12


def test_fields_are_the_same_however_they_are_asked_for(struck):
    x, t = np.array([0.0, 0.3, 1.0]), np.array([2.7, 0.4])
    whole = struck.field(u)(x, t)
    assert whole.shape == (3, 2) and struck.field(u)(x).shape == (3, len(struck.t))
    for j, instant in enumerate(t):
        np.testing.assert_allclose(struck.field(u)(x, instant), whole[:, j], rtol=1e-12)
        np.testing.assert_allclose(struck.at(instant).field(u)(x), whole[:, j], rtol=1e-12)
        assert struck.at(instant)[u.at(L)] == pytest.approx(whole[2, j], rel=1e-12)
    assert struck.field(2 * u + X * st.t)(0.3, 0.4) == pytest.approx(2 * whole[1, 1] + 0.12)
    assert struck.field(u)(0.3, 0.4) == pytest.approx(float(whole[1, 1]))


def test_a_plucked_string_returns_to_its_shape():
    pluck = 0.01 * st.sin(st.pi * X) + 0.002 * st.sin(3 * st.pi * X)
    string = st.Continuum(**STRETCHING, fixed={u.at(0): 0, u.at(L): 0})
    motion = st.simulate(
        st.discretize(string, elements=20, degree=3), span=(0, 2), start={u: pluck}, points=3
    )
    x = np.linspace(0, 1, 9)
    found = motion.field(u)(x)
    np.testing.assert_allclose(found[:, 0], found[:, 2], atol=1e-7)
    np.testing.assert_allclose(found[:, 1], -found[::-1, 0], atol=1e-7)


def test_a_free_cart_and_its_beam_keep_their_momentum():
    x, M = st.coordinates("x"), st.parameters(M=2.0)
    beam = st.Continuum(
        **BENDING,
        fixed={w.at(0): x, w.diff(X).at(0): 0},
        parts=[st.System(kinetic=M * x.dot**2 / 2)],
    )
    motion = st.simulate(
        st.discretize(beam, elements=4), span=(0, 1), start={x.dot: 0.3}, points=21
    )
    total = 2.0 * motion[x.dot] + motion.field(w.dot).integral()
    np.testing.assert_allclose(total, total[0], rtol=1e-11)
    np.testing.assert_allclose(motion.field(w)(0.0), motion[x], atol=1e-15)
    assert motion[w.at(0)] == pytest.approx(motion[x])


def test_a_matched_damper_at_the_end_swallows_a_wave():
    # Impedance c = √(EρA²) reflects nothing: a pulse that travels to the end is gone.
    damper = st.damper(1.0, between=(0, u.at(L)))
    bar = st.Continuum(**STRETCHING, fixed={u.at(0): 0}, parts=[damper])
    pulse = st.exp(-(((X - 0.5) / 0.1) ** 2))
    motion = st.simulate(
        st.discretize(bar, elements=30, degree=3),
        span=(0, 2),
        start={u: pulse, u.dot: -pulse.diff(X)},
        points=21,
    )
    assert motion.energy[-1] < 1e-6 * motion.energy[0]
    assert motion.residual["energy"] < 1e-10 * motion.energy[0]
    assert motion["u(L)"] == pytest.approx(motion[u.at(L)])


def test_dissipation_along_a_string_damps_each_mode_as_the_oscillator_that_it_is():
    c, rate = st.parameters(c=0.4), 0.2
    string = st.Continuum(
        **STRETCHING, dissipation=c * u.dot**2 / 2, fixed={u.at(0): 0, u.at(L): 0}
    )
    motion = st.simulate(
        st.ritz(string, shapes=[st.sin(k * st.pi * X / L) for k in (1, 2)]),
        span=(0, 3),
        start={"u[0]": 1.0},
        points=31,
    )
    swing = np.sqrt(np.pi**2 - rate**2)
    t = motion.t
    exact = np.exp(-rate * t) * (np.cos(swing * t) + rate / swing * np.sin(swing * t))
    np.testing.assert_allclose(motion.field(u)(0.5), exact, atol=1e-12)
    assert "left out" in repr(st.modes(motion.system, count=1))


def test_a_string_of_large_amplitude_keeps_its_energy_and_swings_faster():
    # Kirchhoff–Carrier: stretching adds to the tension, EA/2L ∫w′² dX.
    stiff = 40.0
    large = st.Continuum(
        kinetic=(u.dot**2 + w.dot**2) / 2,
        potential=stiff * (st.sqrt((1 + u.diff(X)) ** 2 + w.diff(X) ** 2) - 1 + 1 / stiff) ** 2 / 2,
        fixed={u.at(0): 0, u.at(L): 0, w.at(0): 0, w.at(L): 0},
    )
    string = st.discretize(large, elements=6, degree=2)
    quarter = {}
    for size in (0.001, 0.1):
        motion = st.simulate(
            string,
            span=(0, 0.8),
            start={w: size * st.sin(st.pi * X)},
            events=[st.Event(middle(string), terminal=True)],
            points=5,
        )
        assert motion.residual["energy"] < 1e-12
        quarter[size] = motion.t[-1]
    assert quarter[0.001] == pytest.approx(0.5, rel=2e-3)
    assert quarter[0.1] < 0.48


def middle(string):
    """Return the coordinate of w in the middle."""
    (found,) = (x for x in string.fields if x.field == w)
    return found.expression(found.size // 2)


# -- frequencies --------------------------------------------------------------


def test_a_fixed_free_bar_with_and_without_a_mass_at_its_end():
    # References CON-BAR.
    held = {u.at(0): 0}
    bar = st.Continuum(**STRETCHING, fixed=held)
    found = st.modes(st.discretize(bar, elements=30, degree=3), count=3).frequencies
    expected = [1.570796326794896619231, 4.712388980384689857694, 7.853981633974483096157]
    np.testing.assert_allclose(found, expected, rtol=1e-8)
    tip = st.System(kinetic=m * u.at(L).dot ** 2 / 2)
    heavy = st.Continuum(**STRETCHING, fixed=held, parts=[tip])
    found = st.modes(st.discretize(heavy, elements=30, degree=3), count=3).frequencies
    expected = [0.8603335890193797624839, 3.425618459481728146478, 6.437298179171947120363]
    np.testing.assert_allclose(found, expected, rtol=1e-8)


BEAMS = {
    "cantilever": (CLAMPED, [1.875104068711961166445, 4.694091132974174576436,
                             7.854757438237612564861, 10.99554073487546699067]),
    "clamped-pinned": ({**CLAMPED, w.at(L): 0}, [3.926602312047918778239, 7.068582745628732088553,
                                                 10.21017612281303054547]),
    "pinned": ({w.at(0): 0, w.at(L): 0}, [np.pi, 2 * np.pi, 3 * np.pi]),
}  # fmt: skip


@pytest.mark.parametrize("name", BEAMS)
def test_frequencies_of_beams(name):
    # References CON-BEAM-EIG; the error of Hermite cubics is (βh)⁴/1440 in ω.
    fixed, roots = BEAMS[name]
    beam = st.Continuum(**BENDING, fixed=fixed)
    found = st.modes(st.discretize(beam, elements=40), count=len(roots)).frequencies
    known = np.square(roots)
    bound = (np.array(roots) / 40) ** 4 / 1440
    assert np.all(found >= known * (1 - 1e-9))
    np.testing.assert_array_less(found / known - 1, 1.1 * bound + 1e-9)


def test_a_free_beam_has_two_rigid_motions():
    free = st.modes(st.discretize(st.Continuum(**BENDING), elements=40), count=4).frequencies
    assert list(free[:2]) == [0.0, 0.0]
    known = np.square([4.730040744862704026024, 7.853204624095837556477])
    np.testing.assert_allclose(free[2:], known, rtol=2e-6)


def test_rounding_of_many_beam_elements_is_told_and_true():
    # Rounding grows with the fourth power of their number: the bound holds, and says so.
    known = np.square([1.875104068711961166445, 4.694091132974174576436])
    beam = st.Continuum(**BENDING, fixed=CLAMPED)
    bounds = []
    for n in (150, 600):
        found = st.modes(st.discretize(beam, elements=n), count=2)
        assert np.all(np.abs(found.squares / known**2 - 1) < found.rounding + (8 / n) ** 4 / 700)
        bounds.append(found.rounding)
    assert 100 < bounds[1] / bounds[0] < 500


def test_large_free_bars_keep_their_rigid_motion_apart():
    free = st.Continuum(**STRETCHING)
    found = st.modes(st.discretize(free, elements=2000), count=4).frequencies
    np.testing.assert_allclose(found, np.pi * np.arange(4), rtol=1e-5, atol=1e-12)


def test_a_cantilever_with_a_tip_mass():
    tip = st.System(kinetic=m * w.at(L).dot ** 2 / 2)
    beam = st.Continuum(**BENDING, fixed=CLAMPED, parts=[tip])
    found = st.modes(st.discretize(beam, elements=40), count=3).frequencies
    roots = [1.247917409606469455535, 4.031139436714959549614, 7.13413224093974582207]
    np.testing.assert_allclose(np.sqrt(found), roots, rtol=4e-7)


@pytest.mark.slow
def test_a_pinned_timoshenko_beam_against_its_closed_form():
    # w = sin kx and φ = cos kx with k = nπ solve it: a quadratic equation in ω² for every n.
    shear, turn = 40.0, 0.01
    phi = st.field("phi", over=(X, 0, L))
    beam = st.Continuum(
        kinetic=w.dot**2 / 2 + turn * phi.dot**2 / 2,
        potential=phi.diff(X) ** 2 / 2 + shear * (w.diff(X) - phi) ** 2 / 2,
        fixed={w.at(0): 0, w.at(L): 0},
    )
    found = st.modes(st.discretize(beam, elements=30, degree=3), count=3).frequencies
    k = np.pi * np.arange(1, 4)
    a, b, c = turn, -(k**2 + shear + turn * shear * k**2), shear * k**4
    slow = (-b - np.sqrt(b**2 - 4 * a * c)) / (2 * a)
    np.testing.assert_allclose(found, np.sqrt(slow), rtol=1e-7)


def test_beams_joined_at_a_right_angle_bend_as_a_frame():
    # A post of height 1 carries an arm of length 1 with a unit load on its tip: the tip goes down
    # by PL³/3EI of the arm and by PL·L·L/EI, the turn of the post's head times the arm.
    arm = st.field("arm", over=(X, 0, 1))
    frame = st.Continuum(
        potential=w.diff(X, 2) ** 2 / 2 + arm.diff(X, 2) ** 2 / 2,
        fixed={**CLAMPED, arm.at(0): 0, arm.diff(X).at(0): w.diff(X).at(L)},
        loads=[st.Load(1.0, on=arm.at(1))],
    )
    rest = st.statics(st.discretize(frame, elements=3))
    assert rest[arm.at(1)] == pytest.approx(4 / 3, rel=1e-12)
    assert rest[w.diff(X).at(L)] == rest[arm.diff(X).at(0)] == pytest.approx(1.0, rel=1e-12)
    moment = rest.field(w.diff(X, 2))(np.linspace(0, 1, 5))
    np.testing.assert_allclose(moment, 1.0, rtol=1e-10)


def test_a_hanging_chain():
    # References CLS-MODES-CHAIN: ω = (j₀ₙ/2)√(g/L).
    g = 9.81
    chain = st.Continuum(
        kinetic=w.dot**2 / 2, potential=g * (L - X) * w.diff(X) ** 2 / 2, fixed={w.at(0): 0}
    )
    found = st.modes(st.discretize(chain, elements=40, degree=3), count=4, params={L: 2.5})
    half = [1.202412778847886384311, 2.760039055143155324798, 4.326863956455506108477,
            5.895767219507140806872]  # fmt: skip
    np.testing.assert_allclose(found.frequencies / np.sqrt(g / 2.5), half, rtol=1e-7)


def test_beads_on_links_have_the_roots_of_laguerre():
    # The same chain as an ordinary system with constraints: ω² = (g/l)·root of L_N.
    n, g = 200, 9.81
    l = 1 / n  # noqa: E741  # the slides' letter
    r = st.coordinates("r", shape=(n, 2))

    def stretch(a, b):
        return st.norm(b - a) - l

    hung = st.System(
        kinetic=st.each(lambda v: (v[0] ** 2 + v[1] ** 2) / 2, r.dot),
        potential=st.each(lambda p: g * p[1], r),
        constraints=[
            st.Constraint(stretch(np.zeros(2), r[0]), name="first"),
            st.each(stretch, r[:-1], r[1:], name="link"),
        ],
    )
    straight = {r: np.stack([np.zeros(n), -l * np.arange(1, n + 1)], axis=1)}
    found = st.modes(hung, count=4, at=straight)
    # One bead moves each way along every root; here all beads swing in one plane.
    np.testing.assert_allclose(found.squares * l / g, roots_laguerre(n)[0][:4], rtol=1e-7)


@pytest.mark.slow
def test_a_string_spun_about_its_end_flaps_as_legendre_says():
    # About the loaded state: tension ρΩ²(L² − x²)/2 gives ω = Ω√(n(2n − 1)), whatever ρ and L.
    Omega, stiff = 3.0, 1e7
    spun = st.Continuum(
        kinetic=(u.dot**2 + w.dot**2 + Omega**2 * (X + u) ** 2) / 2,
        potential=stiff * (u.diff(X) + w.diff(X) ** 2 / 2) ** 2 / 2,
        fixed={u.at(0): 0, w.at(0): 0},
    )
    string = st.discretize(spun, elements=24, degree=2)
    rest = st.statics(string, kind="any")
    found = st.modes(string, count=3, at=rest).frequencies
    np.testing.assert_allclose(found, Omega * np.sqrt([1, 6, 15]), rtol=2e-5)


@pytest.mark.parametrize("elements", [10, 80])
def test_gyroscopic_forces_split_the_frequencies_of_a_turning_string(elements):
    # In a frame that turns at Ω a string has nπ ± Ω; both the dense and the sparse way.
    Omega = 0.7
    v = st.field("v", over=(X, 0, L))
    turning = st.Continuum(
        kinetic=((v.dot - Omega * w) ** 2 + (w.dot + Omega * v) ** 2) / 2,
        potential=(v.diff(X) ** 2 + w.diff(X) ** 2) / 2,
        fixed={v.at(0): 0, v.at(L): 0, w.at(0): 0, w.at(L): 0},
    )
    found = st.modes(st.discretize(turning, elements=elements, degree=3), count=4)
    assert found.gyroscopic
    expected = [np.pi - Omega, np.pi + Omega, 2 * np.pi - Omega, 2 * np.pi + Omega]
    np.testing.assert_allclose(found.frequencies, expected, rtol=1e-6)


# -- buckling --------------------------------------------------------------


COLUMNS = {
    "pinned": ({w.at(0): 0, w.at(L): 0}, P, 9.8696044010893586188),
    "cantilever": (CLAMPED, P, 2.4674011002723396547),
    "clamped-clamped": ({**CLAMPED, w.at(L): 0, w.diff(X).at(L): 0}, P, 39.478417604357434475),
    "clamped-pinned": ({**CLAMPED, w.at(L): 0}, P, 20.190728556426629975),
    "self-weight": (CLAMPED, P * (L - X), 7.8373474389434838852),
}


@pytest.mark.one_in(3)
@pytest.mark.parametrize("name", COLUMNS)
def test_columns_lose_their_lowest_frequency_at_the_critical_load(name):
    # References EQ-COLUMN.
    fixed, load, critical = COLUMNS[name]
    column = st.Continuum(
        kinetic=w.dot**2 / 2,
        potential=w.diff(X, 2) ** 2 / 2 - load * w.diff(X) ** 2 / 2,
        fixed=fixed,
    )
    system = st.discretize(column, elements=40)

    def lowest(p):
        return st.modes(system, count=1, params={P: p}).squares[0]

    found = brentq(lowest, 0.5 * critical, 1.2 * critical, rtol=1e-12)
    assert found == pytest.approx(critical, rel=1e-6)
    beyond = st.modes(system, count=2, params={P: 1.05 * critical})
    assert not beyond.stable and "1 mode(s) grow" in repr(beyond)


def test_becks_column_flutters_at_its_critical_load():
    # References EQ-BECK: p = 20.0509…, ω = 11.0156; the load follows the tip.
    column = st.Continuum(
        kinetic=w.dot**2 / 2,
        potential=w.diff(X, 2) ** 2 / 2 - P * w.diff(X) ** 2 / 2,
        loads=[st.Load(-P * w.diff(X).at(L), on=w.at(L))],
        fixed=CLAMPED,
    )
    system = st.discretize(column, elements=10)
    below, above = (st.linearize(system, params={P: p}) for p in (20.03, 20.08))
    assert below.stability == "marginally stable" and above.stability == "unstable (flutter)"
    first, second = below.frequencies[:2]
    assert first < 11.015557640922874 < second and second - first < 1.0
    with pytest.raises(st.DerivationError, match="a load follows the motion"):
        st.modes(system, count=1, params={P: 20.0})


# -- the elastica --------------------------------------------------------------


def elastica(**more):
    return st.discretize(
        st.Continuum(kinetic=theta.dot**2 / 2, fixed={theta.at(0): 0}, name="elastica", **more),
        elements=16,
        degree=3,
    )


@pytest.mark.one_in(2)
@pytest.mark.parametrize(
    ("load", "slope", "deflection", "shortening"),
    [
        (1.0, 0.461351949711879, 0.3017207737998135, 0.05643323628337688),
        (2.0, 0.781749831556543, 0.4934574803967118, 0.1606417208251672),
        (5.0, 1.215368117611681, 0.7137915236119127, 0.3876283607244299),
        (10.0, 1.430285538803858, 0.8106090248802965, 0.5549955977537513),
    ],
)
def test_large_deflection_under_a_transverse_load(load, slope, deflection, shortening):
    # References EQ-ELASTICA (Bisshopp and Drucker 1945, by elliptic integrals).
    bent = elastica(potential=theta.diff(X) ** 2 / 2, work=Q * st.sin(theta))
    rest = st.statics(bent, params={Q: load})
    assert rest[theta.at(L)] == pytest.approx(slope, rel=1e-9)
    assert rest.field(st.sin(theta)).integral() == pytest.approx(deflection, rel=1e-9)
    assert 1 - rest.field(st.cos(theta)).integral() == pytest.approx(shortening, rel=1e-8)


def test_an_end_moment_bends_a_straight_beam_to_a_circle():
    bent = elastica(potential=theta.diff(X) ** 2 / 2, loads=[st.Load(2 * np.pi, on=theta.at(L))])
    rest = st.statics(bent)
    assert rest.field(theta.diff(X))(0.3) == pytest.approx(2 * np.pi, rel=1e-12)
    for course in (st.sin(theta), st.cos(theta)):
        assert rest.field(course).integral() == pytest.approx(0.0, abs=1e-11)


@pytest.mark.parametrize(
    ("angle", "ratio", "x", "y"),
    [
        (20, 1.0153968655396812784, 0.96973090736351550432, 0.2194130423955998416),
        (60, 1.1517196204691383686, 0.74101960607632692715, 0.59320764616488510856),
        (120, 1.884800868978091767, 0.12315997240512475961, 0.80317099000746473205),
    ],
)
def test_the_buckled_cantilever_against_elliptic_integrals(angle, ratio, x, y):
    column = elastica(potential=theta.diff(X) ** 2 / 2 + P * st.cos(theta))
    guess = np.radians(angle) * st.sin(st.pi * X / 2)
    rest = st.statics(column, params={P: ratio * np.pi**2 / 4}, start={theta: guess})
    assert np.degrees(rest[theta.at(L)]) == pytest.approx(angle, rel=1e-7)
    assert rest.field(st.cos(theta)).integral() == pytest.approx(x, rel=1e-7)
    assert rest.field(st.sin(theta)).integral() == pytest.approx(y, rel=1e-7)


@pytest.mark.slow
def test_continuation_passes_eulers_load_onto_the_buckled_branch():
    system = st.discretize(
        st.Continuum(
            kinetic=theta.dot**2 / 2,
            potential=theta.diff(X) ** 2 / 2 + P * st.cos(theta),
            fixed={theta.at(0): 0},
        ),
        elements=6,
        degree=3,
    )
    diagram = st.continuation(system, parameter=P, span=(0, 3.0))
    (pitchfork,) = diagram.special
    assert pitchfork.kind == "pitchfork"
    assert pitchfork.parameter == pytest.approx(np.pi**2 / 4, rel=1e-7)
    buckled = diagram.branches[1]
    tip = np.abs(buckled[theta.at(L)])
    # The load at which the end has turned by 60°, from the exact solution.
    order = np.argsort(tip)
    found = np.interp(np.radians(60), tip[order], buckled.parameter[order])
    assert found == pytest.approx(1.1517196204691383686 * np.pi**2 / 4, rel=1e-3)
    assert buckled.stable[-1] and not diagram.branches[0].stable[-1]
