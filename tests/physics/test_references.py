"""Reference problems without constraints, to the digits that are known.

Numbers marked "computed" come from the project's reference collection, where each was found by an
independent program at high precision; the others are published, with their source.
"""

import mpmath
import numpy as np
import pytest
import sympy as sp

import stationary as st
from tests.checks import assert_conserved

# Published digits beyond the tolerance of other methods.
EPS = np.finfo(float).eps
g = 9.81


# -- pendulums ------------------------------------------------------------------------------------

# Period of a pendulum over that of small swings, (2/π) K(sin²(θ₀/2)); computed to 20 digits.
PERIODS = {
    10: 1.001907188143216606963,
    30: 1.01740879759595600867,
    60: 1.073182007149364375053,
    90: 1.180340599016096226045,
    120: 1.372880500618350164698,
    150: 1.76220372950375602794,
    170: 2.439362719673884064939,
    179: 3.901065160389085734858,
}


@pytest.mark.parametrize("degrees", PERIODS)
def test_a_pendulum_swings_as_slowly_as_the_elliptic_integral_says(degrees):
    theta, (m, L) = st.coordinates("theta"), st.parameters(m=1.3, l=0.8)
    bob = st.particle(m, at=(L * st.sin(theta), -L * st.cos(theta)), gravity=g)
    motion = st.simulate(
        bob,
        span=(0, 10),
        start={theta: np.radians(degrees)},
        events=[st.Event(theta.dot, direction=-1, terminal=True)],
    )
    ratio = motion.t[-1] / (2 * np.pi * np.sqrt(0.8 / g))
    # Close to the top a rounding of the start shifts the period: dT/dθ₀ grows without bound.
    assert ratio == pytest.approx(PERIODS[degrees], rel=1e-13 if degrees < 179 else 1e-12)


# Computed (elliptic functions against 80-bit integration): time, x, y, φ, φ̇, tension / weight.
# Problem: IFToMM benchmark library, A01.
A01 = [
    (1.0, 0.98629175113187531936, -0.16501085312554116875, 1.405027311524799146,
     1.7993090169070786188, 0.49503255937662350626),
    (5.0, -0.9423054350437573355, -0.33475433841400058079, -1.2294518114853855593,
     2.5627875681926294601, 1.0042630152420017424),
    (10.0, -0.27508746257611686005, -0.96141920509912506427, -0.27868067356998294843,
     4.3431606928646830533, 2.8842576152973751928),
]  # fmt: skip


def test_iftomm_pendulum_released_level():
    phi = st.coordinates("phi")
    bob = st.particle(1, at=(st.sin(phi), -st.cos(phi)), gravity=g)
    motion = st.simulate(bob, span=(0, 10), start={phi: -np.pi / 2}, points=11)
    tension = (phi.dot**2 + g * st.cos(phi)) / g
    for t, *expected in A01:
        found = [motion[e][int(t)] for e in (st.sin(phi), -st.cos(phi), phi, phi.dot, tension)]
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-13)


# Computed (two Taylor orders at 200 bits): (θ₁, θ₂, θ̇₁, θ̇₂) and how much a perturbation of the
# start has grown by then.
DOUBLE_PENDULUM = {
    "A": {
        1: ("-6.2508769980639062995413e-01 -1.0345850856800123406123e+00 "
            "-3.9222795728879766168735e+00 -1.3030992486963312433228e+00", 1.9912),
        2: ("-4.8297153425175437744910e-01 -1.3240487123023625487864e+00 "
            "3.0652881920734013151703e+00 2.9492715475716189830376e+00", 6.4513),
        5: ("-6.2718670506653073013813e-01 -1.3013155502098116779075e+00 "
            "2.1254086738429106506514e+00 3.8818887272656074392548e+00", 12.717),
        10: ("-5.6847466401595018877611e-01 -5.2639372793240469832955e-01 "
             "6.0783848857619648548250e+00 -9.6813606817088787580768e+00", 142.65),
        20: ("7.4876097547918182652073e-01 -2.5832461998893776781785e+01 "
             "4.0780039692750877814318e+00 2.7798894553866697432959e+00", 935845.0),
    },
    "B": {
        1: ("-3.3717073952739284558319e-01 -7.1118941081231333485021e-01 "
            "-1.1777261680923581212012e+00 -7.7393652569028405360750e+00", 18.646),
        2: ("-2.0414172486527292967226e+00 -1.5525999373663447752741e+00 "
            "1.4989024097127179931796e+00 1.4277741083085101731095e+00", 21.963),
        5: ("-2.0898274202125334388100e+00 -1.6490766445371823430694e+00 "
            "-1.6450009828752254179027e+00 -3.9621296773644263829385e-01", 237.98),
        10: ("2.1905593504633656051479e+00 6.6771857756407591210355e+00 "
             "-1.1883116681960711172200e+00 4.2415391745621812669342e+00", 399113.0),
        20: ("-8.6735788667760244637870e+00 2.0252032790855548131875e+01 "
             "-8.8728398901121168563185e-01 4.2471772349324135900660e-01", 2.48376583789668e11),
    },
    "C": {
        1: ("-3.2808390465606776629493e-01 -2.9841370236476365068611e-01 "
            "-8.3310745424157828857645e-01 -5.8599925239571033389397e-01", 2.9456),
        2: ("-2.7569743948528425733117e-02 6.3649733427744296644691e-02 "
            "4.7754252653776439551011e-01 1.8445825451363786642443e+00", 3.5539),
        5: ("3.3294275295163743133904e-01 3.3562815534121091652230e-01 "
            "3.7354186588954427603149e-01 1.1359267799737972270901e+00", 1.7481),
        10: ("2.2880595759886904204403e-02 1.0606068264208477033992e-01 "
             "1.2317619726888701465132e+00 7.7734064218658744854535e-01", 4.1563),
        20: ("-3.1739223327260585388548e-01 -5.8335627834543628261298e-01 "
             "5.1738227958018349627338e-01 -7.8799114685825793378668e-02", 6.5855),
    },
}  # fmt: skip
STARTS = {
    "A": (np.pi / 2, np.pi / 2),
    "B": (3 * np.pi / 4, np.pi / 2),
    "C": (np.pi / 10, np.pi / 5),
}


@pytest.mark.parametrize("case", "ABC")
def test_the_double_pendulum_ends_where_200_bits_say(case):
    a, b = st.coordinates("a b")
    x, y = st.sin(a), -st.cos(a)
    arms = st.particle(1, at=(x, y), gravity=g) + st.particle(
        1, at=(x + st.sin(b), y - st.cos(b)), gravity=g
    )
    start = dict(zip((a, b), STARTS[case]))
    motion = st.simulate(arms, span=(0, 20), start=start, points=21)
    for t, (digits, amplification) in DOUBLE_PENDULUM[case].items():
        expected = np.array(digits.split(), dtype=float)
        # Rounding on the way, amplified by the chaos of the motion itself.
        atol = 20 * EPS * max(amplification, 1) * max(1, np.abs(expected).max() / 3)
        np.testing.assert_allclose(motion.y[t], expected, rtol=0, atol=atol)
    assert_conserved(motion.energy, float(np.max(np.abs(motion.potential))), 1e-13)


# Computed by quadrature: swing of θ and advance of the azimuth during it, from θ = 60° with φ̇ = w.
SPHERICAL = {
    2.0: (0.88759739960796994426, 1.0796691626572801448, 3.8311623896149763932),
    0.5: (0.99284115128693755269, 1.0766871480618786744, 3.3111855259062911942),
}


@pytest.fixture(scope="module")
def spherical():
    theta, phi = st.coordinates("theta phi")
    place = (st.sin(theta) * st.cos(phi), st.sin(theta) * st.sin(phi), -st.cos(theta))
    return st.particle(1, at=place, gravity=g), theta, phi, place


@pytest.mark.parametrize("w", SPHERICAL)
def test_a_spherical_pendulum_precesses_as_the_quadrature_says(spherical, w):
    system, theta, phi, _ = spherical
    top, bottom = st.Event(theta.dot, direction=-1), st.Event(theta.dot, direction=1)
    motion = st.simulate(
        system, span=(0, 5), start={theta: np.pi / 3, phi.dot: w}, events=[top, bottom]
    )
    lowest, period, advance = SPHERICAL[w]
    turns = motion.events[0]
    np.testing.assert_allclose(turns, period * np.arange(1, len(turns) + 1), rtol=1e-13)
    assert len(turns) == 4
    np.testing.assert_allclose(motion.at(turns)[phi], advance * np.arange(1, 5), rtol=1e-13)
    np.testing.assert_allclose(motion.at(motion.events[1])[st.cos(theta)], lowest, rtol=1e-13)


def test_a_spherical_pendulum_ends_where_it_should(spherical):
    system, theta, phi, place = spherical
    motion = st.simulate(system, span=(0, 10), start={theta: np.pi / 3, phi.dot: 2.0}, points=2)
    found = [motion[e][-1] for e in (*place, *(st.rate(e) for e in place))]
    # Computed: x, y, z and their rates at t = 10.
    expected = [
        -6.0550319549881259e-01, -3.8289454371970849e-01, -6.9768019079690305e-01,
        2.0503925690068859e00, -1.1806971097070445e00, -1.1315166775288869e00,
    ]  # fmt: skip
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-13)


def test_a_conical_pendulum_circles_and_nutates_with_its_own_frequency(spherical):
    system, theta, phi, _ = spherical
    # √(g/cos θ) and √(g/cos θ (1 + 3cos²θ)) at 60°; closed form.
    circling, nutating = 4.4294469180700201727, 5.8596074953873830268
    start = {theta: np.pi / 3, phi.dot: circling}
    steady = st.simulate(system, span=(0, 10), start=start, points=11)
    np.testing.assert_allclose(steady[theta], np.pi / 3, rtol=0, atol=1e-13)
    np.testing.assert_allclose(steady[phi], circling * steady.t, rtol=1e-13)
    amplitude = 1e-6
    nudged = st.simulate(
        system,
        span=(0, 10),
        start=start | {theta.dot: amplitude},
        events=[st.Event(theta.dot, direction=1)],
    )
    # Nutation is harmonic but for terms of the order of its amplitude.
    assert np.diff(nudged.events[0]) == pytest.approx(2 * np.pi / nutating, rel=1e-7)


def test_an_elastic_pendulum_ends_where_it_should():
    x, z = st.coordinates("x z")
    bob = st.particle(1, at=(x, z), gravity=g) + st.spring(40, between=((0, 0), (x, z)), rest=1)
    start = {x: 1.2 * np.sin(np.pi / 4), z: -1.2 * np.cos(np.pi / 4)}
    motion = st.simulate(bob, span=(0, 10), start=start, points=2)
    # Computed (two integrators): x, z, ẋ, ż at t = 10.
    expected = [7.0987103197179839e-01, -1.0774202279924284e00, 4.8891548206075116e-01,
                1.5754258071882129e00]  # fmt: skip
    np.testing.assert_allclose(motion.y[-1], expected, rtol=0, atol=1e-13)


def test_a_foucault_pendulum_turns_its_plane():
    x, y = st.coordinates("x y")
    rotation = 7.292115e-5 * np.sin(np.radians(48.85))
    assert rotation == pytest.approx(0.000054908855706920125825, rel=1e-14)
    # In the rotating frame T has a term linear in the velocities.
    bob = st.System(
        kinetic=(x.dot**2 + y.dot**2) / 2 + rotation * (x * y.dot - y * x.dot),
        potential=g / 67 * (x**2 + y**2) / 2,
    )
    motion = st.simulate(bob, span=(0, 10_000), start={x: 1.0}, points=26)
    # Closed form, evaluated to 20 digits.
    for index, expected in (
        (9, (0.061764062200545154536, -0.012224505418308227369)),
        (25, (0.85300043452356584962, -0.52190998344910682466)),
    ):
        found = motion[x][index], motion[y][index]
        np.testing.assert_allclose(found, expected, rtol=0, atol=2e-13)


@pytest.mark.parametrize("amplitude", [0.3, 1.5, 2.5])
def test_a_bead_on_a_cycloid_keeps_time_at_any_amplitude(amplitude):
    u = st.coordinates("u")
    bead = st.particle(1, at=(u + st.sin(u), 1 - st.cos(u)), gravity=g)
    motion = st.simulate(
        bead,
        span=(0, 10),
        start={u: amplitude},
        events=[st.Event(u.dot, direction=-1, terminal=True)],
    )
    # Huygens: 4π√(a/g).
    assert motion.t[-1] == pytest.approx(4.0121333614212948826, rel=1e-13)


@pytest.mark.parametrize(
    ("windows", "expected"),
    [
        # Computed (elliptic functions): B₀x, B₀y, vx, vy, α̇ at t = 10; IFToMM A02.
        (1, (0.47838505776097055901, 0.87815017879120930116, 1.7272640755471536358,
             -0.94095217937151564419, 1.9669347194403194563)),
        (2, (0.32845811154081537865, 0.94451853817860096216, 1.4230514702069441233,
             -0.49486884548704295899, 1.5066421808418294699)),
        (40, (0.1805122266867283901, 0.98357274058231157488, 1.1484412774694141333,
              -0.21077006677942393178, 1.1676221087517068278)),
    ],
)  # fmt: skip
def test_iftomm_row_of_four_bars_on_its_parallel_branch(windows, expected):
    a, n = st.coordinates("a"), windows
    x, y = st.sin(a), st.cos(a)
    # n + 1 cranks turn about their ends, n couplers keep level and follow.
    row = st.System(
        kinetic=sp.Rational(n + 1, 3) * a.dot**2 / 2, potential=(n + 1) * g * y / 2
    ) + st.particle(n, at=(x, y), gravity=g)
    motion = st.simulate(row, span=(0, 10), start={a.dot: 1.0}, points=2)
    found = [motion[e][-1] for e in (x, y, st.rate(x), st.rate(y), a.dot)]
    np.testing.assert_allclose(found, expected, rtol=0, atol=5e-13)


# -- planets --------------------------------------------------------------------------------------


def test_a_planet_obeys_keplers_equation():
    x, y = st.coordinates("x y")
    planet = st.System(kinetic=(x.dot**2 + y.dot**2) / 2, potential=-1 / st.norm((x, y)))
    motion = st.simulate(planet, span=(0, 100), start={x: 0.4, y.dot: 2.0}, points=101)
    # Kepler's equation, solved to 20 digits: x, y, ẋ, ẏ.
    expected = {
        1: (-0.6289481768266242305829, 0.7996647309700392665995,
            -0.9825156909388113276878, -0.02276317009743041991973),
        10: (-1.535023591909813694306, -0.2836684064997808618564,
             0.2271507320774983376894, -0.4791877582032195652907),
        100: (-0.1041832044341806047339, -0.6947417155679505993189,
              1.236177762687076324221, 0.5646232510858645737627),
    }  # fmt: skip
    for t, state in expected.items():
        np.testing.assert_allclose(motion.y[t], state, rtol=0, atol=2e-14 * max(t, 1))


def bodies(masses):
    """Return bodies in a plane that attract one another, and their positions."""
    count = len(masses)
    r = st.coordinates("r", shape=(count, 2))
    i, j = np.triu_indices(count, 1)
    masses = np.asarray(masses, dtype=float)
    system = st.System(
        kinetic=st.each(lambda v, m: m * (v[0] ** 2 + v[1] ** 2) / 2, r.dot, masses),
        potential=st.each(lambda p, q, w: -w / st.norm(q - p), r[i], r[j], masses[i] * masses[j]),
    )
    return system, r


def test_three_bodies_dance_a_figure_eight():
    system, r = bodies([1, 1, 1])
    # Start: Chenciner & Montgomery, Annals of Mathematics 152 (2000) 881, digits of C. Simó.
    place, velocity = np.array([0.97000436, -0.24308753]), np.array([-0.93240737, -0.86473146])
    start = {r: [place, -place, [0, 0]], r.dot: [-velocity / 2, -velocity / 2, velocity]}
    motion = st.simulate(system, span=(0, 6.32591398), start=start, points=2)
    # Computed at 80 bits: the eight closes to the eight digits of its start.
    expected = [
        9.700043444311253e-01, -2.430875434567939e-01, -9.700043744862957e-01,
        2.430875155372245e-01, 3.005517040738446e-08, 2.791956937143276e-08,
        4.662037239639193e-01, 4.323657205120077e-01, 4.662036467953622e-01,
        4.323657399169258e-01, -9.324073707592815e-01, -8.647314604289335e-01,
    ]  # fmt: skip
    np.testing.assert_allclose(motion.y[-1], expected, rtol=0, atol=1e-13)
    np.testing.assert_allclose(motion.y[-1], motion.y[0], rtol=0, atol=4e-8)


def test_the_pleiades_end_where_the_test_set_says():
    system, r = bodies(range(1, 8))
    places = np.array([[3, 3, -1, -3, 2, -2, 2], [3, -3, 2, 0, 0, -4, 4]]).T
    velocities = np.array([[0, 0, 0, 0, 0, 1.75, -1.5], [0, 0, 0, -1.25, 1, 0, 0]]).T
    motion = st.simulate(system, span=(0, 3), start={r: places, r.dot: velocities}, points=2)
    # Test Set for IVP Solvers (Bari), problem Pleiades: x, y, ẋ, ẏ of the seven.
    expected = [
        0.3706139143970502e+000, 0.3237284092057233e+001, -0.3222559032418324e+001,
        0.6597091455775310e+000, 0.3425581707156584e+000, 0.1562172101400631e+001,
        -0.7003092922212495e+000, -0.3943437585517392e+001, -0.3271380973972550e+001,
        0.5225081843456543e+001, -0.2590612434977470e+001, 0.1198213693392275e+001,
        -0.2429682344935824e+000, 0.1091449240428980e+001, 0.3417003806314313e+001,
        0.1354584501625501e+001, -0.2590065597810775e+001, 0.2025053734714242e+001,
        -0.1155815100160448e+001, -0.8072988170223021e+000, 0.5952396354208710e+000,
        -0.3741244961234010e+001, 0.3773459685750630e+000, 0.9386858869551073e+000,
        0.3667922227200571e+000, -0.3474046353808490e+000, 0.2344915448180937e+001,
        -0.1947020434263292e+001,
    ]  # fmt: skip
    found = np.concatenate([motion[r][-1].T.ravel(), motion[r.dot][-1].T.ravel()])
    # Close encounters amplify rounding a thousandfold.
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-11)


# -- bodies that turn -----------------------------------------------------------------------------


def test_a_free_body_tumbles_about_its_middle_axis():
    phi, theta, psi = st.coordinates("phi theta psi")
    # Euler angles z–x–z; the start has its middle axis along z, far from their singularity.
    rates = (
        phi.dot * st.sin(theta) * st.sin(psi) + theta.dot * st.cos(psi),
        phi.dot * st.sin(theta) * st.cos(psi) - theta.dot * st.sin(psi),
        phi.dot * st.cos(theta) + psi.dot,
    )
    body = st.System(kinetic=sum(J * w**2 / 2 for J, w in zip((1, 2, 3), rates)))
    start = {theta: np.pi / 2, theta.dot: 0.01, phi.dot: 1.0, psi.dot: 0.01}
    motion = st.simulate(body, span=(0, 20), start=start, points=2)
    # Computed (mpmath): the body's rates of rotation at t = 20.
    expected = [-0.00581383696218770923, -1.00003309910211327, 0.00882799902248333229]
    np.testing.assert_allclose([motion[w][-1] for w in rates], expected, rtol=0, atol=1e-12)


# Computed (80 bits): place of the centre of mass and rates of rotation in the body. Problem:
# Géradin & Cardona, Flexible Multibody Dynamics (2001); Brüls & Cardona, J. Comput. Nonlinear
# Dyn. 5 (2010) 031002.
HEAVY_TOP = {
    0.2: ((6.055505613771198e-01, 5.989576817949192e-01, -5.239830274300032e-01),
          (-2.691590912143409e00, 1.5e02, 4.917260989893994e00)),
    1.0: ((1.733439640983861e-01, 6.400885920705688e-01, -7.484907911335813e-01),
          (-8.220781016827051e-01, 1.5e02, -5.923291348117336e00)),
    2.0: ((-1.504168227456418e-01, -7.241655916368957e-01, -6.730222695604441e-01),
          (1.222332194973929e-01, 1.5e02, -5.855624589205458e00)),
}  # fmt: skip


def test_a_heavy_top_follows_the_benchmark():
    # R = Rx(α) Rz(β) Ry(ψ): the axis of the top stays away from ±x, where these angles fail. It
    # passes close to −z.
    a, b, psi = st.coordinates("a b psi")
    m, across, along = 15, 0.234375 + 15, 0.46875
    axis = (-st.sin(b), st.cos(a) * st.cos(b), st.sin(a) * st.cos(b))
    first, spin, third = a.dot * st.cos(b), psi.dot - a.dot * st.sin(b), b.dot
    top = st.System(
        kinetic=across * (first**2 + third**2) / 2 + along * spin**2 / 2,
        potential=m * g * axis[2],
    )
    motion = st.simulate(top, span=(0, 2), start={b.dot: -4.61538, psi.dot: 150.0}, points=11)
    body = (
        first * st.cos(psi) - third * st.sin(psi),
        spin,
        first * st.sin(psi) + third * st.cos(psi),
    )
    for t, (place, rates) in HEAVY_TOP.items():
        at = int(round(5 * t))
        np.testing.assert_allclose([motion[e][at] for e in axis], place, rtol=0, atol=1e-13)
        # The spin has turned the body by 300 rad: its angle is known to 300 roundings.
        np.testing.assert_allclose([motion[e][at] for e in body], rates, rtol=0, atol=2e-12)


def test_a_damped_wheel_with_radial_springs_matches_heyokas_own_test():
    x, y, turn = st.coordinates("x y turn")
    springs = st.coordinates("l1:5")
    wheel = st.particle(10, at=(x, y)) + st.System(
        potential=sum(5 * L**2 / 2 for L in springs),
        dissipation=sum(L.dot**2 / 20 for L in springs),
    )
    for k, L in enumerate(springs):
        angle = turn + k * st.pi / 2
        place = (x + (1 - L) * st.cos(angle), y + (1 - L) * st.sin(angle))
        wheel += st.particle(sp.Rational(1, 20), at=place)
    velocities = (
        -0.4251330363293203, 0.05814973378505772, 0.4421418964987427, 0.3821135280593254,
        0.4035319449465937, 0.473483299702404, -0.32295977917610563,
    )  # fmt: skip
    coordinates = (x, y, turn, *springs)
    start = {q.dot: v for q, v in zip(coordinates, velocities)}
    motion = st.simulate(wheel, span=(0, 3), start=start, points=2)
    # heyoka, test/lagrangian.cpp, "damped wheel" (F. Biscani & D. Izzo).
    expected = [
        -1.27403829953764, 0.16376361801359088, 1.323428337349071, -0.0038352625671087643,
        -0.0038785147615456833, -0.004319076923234549, -0.0003951318230739097, -0.4247224818094968,
        0.05460006135548661, 0.4394061018791296, 0.003381629943640583, 0.006350901803721282,
        0.004490453710403928, -0.0013988052681859328,
    ]  # fmt: skip
    found = [motion[q][-1] for q in (*coordinates, *(q.dot for q in coordinates))]
    np.testing.assert_allclose(found, expected, rtol=0, atol=2e-14)


# Computed (Radau, two tolerances): angle of the shaft, of the arms, height of the slider. Problem:
# IFToMM benchmark library, A05; the second case has a spring and a damper 200 times softer.
GOVERNOR = {
    (8e5, 4e4): {
        "phi": [1.4953165461056666, 2.8076794883678913, 5.586346965869002, 11.173267075661235,
                27.94253199104277, 55.93540990910249],
        "beta": [0.38739365134508275, 0.25949138154347495, 0.5218333016255027,
                 0.5166637973645912, 0.4828745765870204, 0.39007370184467305],
        "s": [0.6220927215961335, 0.743249424786257, 0.5014209223795989, 0.5059092942967083,
              0.5355631037215601, 0.6196229170613397],
    },
    (4e3, 200.0): {
        "phi": [1.4908779199735314, 2.8013256705845824, 5.573927869885319, 11.147209091863369,
                27.876719585867516, 55.80718957522308],
        "beta": [0.3841693823884956, 0.25770961062399256, 0.517603240859991, 0.511779545164701,
                 0.4745329757768429, 0.3767209682265376],
        "s": [0.6018958758680608, 0.718875861345113, 0.4852129910973793, 0.4903750497750495,
              0.5231567426061723, 0.6109996746175438],
    },
}  # fmt: skip


@pytest.fixture(scope="module")
def governor():
    phi, beta, s = st.coordinates("phi beta s")
    K, C = st.parameters("K C")
    sine, cosine = st.sin(beta), st.cos(beta)
    along, across = 0.3 * 1e-4 / 6, 0.3 * (1 + 1e-4) / 12
    inertia = 0.3 * 1e-4 / 6 + 3 * 0.01 / 6 + 2 * (
        along * sine**2 + across * cosine**2 + 0.3 * (0.05 + 0.5 * cosine) ** 2
        + 5 * (0.05 + cosine) ** 2
    )  # fmt: skip
    length = st.sqrt((0.5 * cosine) ** 2 + (1 - 0.5 * sine - s) ** 2)
    return st.System(
        kinetic=inertia * phi.dot**2 / 2 + (across + 0.3 / 4 + 5) * beta.dot**2 + 3 * s.dot**2 / 2,
        potential=2 * (0.3 * g * (1 - 0.5 * sine) + 5 * g * (1 - sine)) + 3 * g * s
        + K * (length - 0.5) ** 2,
        dissipation=C * st.rate(length) ** 2,
        name="flyball governor",
    )  # fmt: skip


@pytest.mark.parametrize(("stiffness", "damping"), GOVERNOR)
@pytest.mark.parametrize(("method", "atol"), [("auto", 1e-11), (st.BDF(), 5e-7)], ids=str)
def test_a_stiff_flyball_governor_follows_the_benchmark(governor, stiffness, damping, method, atol):
    motion = st.simulate(
        governor,
        span=(0, 10),
        start={"beta": np.pi / 6, "s": 0.5, "phi.dot": 2 * np.pi},
        params={"K": stiffness, "C": damping},
        points=41,
        method=method,
    )
    for name, expected in GOVERNOR[stiffness, damping].items():
        np.testing.assert_allclose(
            motion[name][[1, 2, 4, 8, 20, 40]], expected, rtol=0, atol=atol, err_msg=name
        )
    # φ is cyclic: the shaft keeps its angular momentum.
    inertia = sp.diff(governor.kinetic, motion.system.coordinates[0].dot)
    np.testing.assert_allclose(motion[inertia], 53.868998658418434, rtol=max(1e-12, atol))


# -- a beam ---------------------------------------------------------------------------------------

# Test Set for IVP Solvers (Bari), problem Beam: Hairer & Wanner, Solving Ordinary Differential
# Equations II, section IV.1; angles, then their rates, at t = 5.
BEAM = [
    -0.5792366591285007e-002, -0.1695298550721735e-001, -0.2769103312973094e-001,
    -0.3800815655879158e-001, -0.4790616859743763e-001, -0.5738710435274594e-001,
    -0.6645327313454617e-001, -0.7510730581979037e-001, -0.8335219765414992e-001,
    -0.9119134654647947e-001, -0.9862858700132091e-001, -0.1056682200378002e+000,
    -0.1123150395409595e+000, -0.1185743552727245e+000, -0.1244520128755561e+000,
    -0.1299544113264161e+000, -0.1350885180610398e+000, -0.1398618819194422e+000,
    -0.1442826441015242e+000, -0.1483595472463012e+000, -0.1521019429001447e+000,
    -0.1555197978061129e+000, -0.1586236993420229e+000, -0.1614248603702127e+000,
    -0.1639351238193223e+000, -0.1661669673440852e+000, -0.1681335081778558e+000,
    -0.1698485080602243e+000, -0.1713263782440888e+000, -0.1725821847462537e+000,
    -0.1736316537975654e+000, -0.1744911773840049e+000, -0.1751778187863392e+000,
    -0.1757093178712902e+000, -0.1761040960228576e+000, -0.1763812607175549e+000,
    -0.1765606097564671e+000, -0.1766626352260565e+000, -0.1767085270807460e+000,
    -0.1767201761075488e+000, 0.3747362681329794e-001, 0.1099117880217593e+000,
    0.1798360474312799e+000, 0.2472427305442391e+000, 0.3121293820596567e+000,
    0.3744947377019500e+000, 0.4343386073492798e+000, 0.4916620354601748e+000,
    0.5464677854586807e+000, 0.5987609702624270e+000, 0.6485493611110740e+000,
    0.6958435169132503e+000, 0.7406572668520808e+000, 0.7830081747813241e+000,
    0.8229176659201515e+000, 0.8604110305190560e+000, 0.8955175502377805e+000,
    0.9282708263127953e+000, 0.9587089334522034e+000, 0.9868747821728363e+000,
    0.1012816579961883e+001, 0.1036587736679858e+001, 0.1058246826481355e+001,
    0.1077857811433353e+001, 0.1095490222005369e+001, 0.1111219164294898e+001,
    0.1125125269286501e+001, 0.1137294526609229e+001, 0.1147818025153607e+001,
    0.1156792132004482e+001, 0.1164318845130183e+001, 0.1170505992596124e+001,
    0.1175467424299550e+001, 0.1179323003228859e+001, 0.1182198586299667e+001,
    0.1184226111223146e+001, 0.1185543909805575e+001, 0.1186297084203716e+001,
    0.1186637618908127e+001, 0.1186724615113034e+001,
]  # fmt: skip


def beam(n):
    """Return a chain of n links with springs in its joints: Hairer & Wanner's elastic beam."""
    q = st.coordinates("q", shape=n)
    masses = np.full(n, 1 / n)
    masses[-1] /= 2
    outward = np.cumsum(masses[::-1])[::-1] / n**2
    i, j = np.triu_indices(n, 1)
    fold = st.Piecewise((sp.Rational(3, 2) * st.sin(st.t) ** 2, st.t < st.pi), (0, True))
    return st.System(
        kinetic=st.each(lambda v, w: w * v**2 / 2, q.dot, outward)
        + st.each(
            lambda a, b, u, v, w: w * st.cos(a - b) * u * v,
            q[i], q[j], q.dot[i], q.dot[j], outward[np.maximum(i, j)],
        ),
        potential=n * q[0] ** 2 + n * st.each(lambda a, b: (b - a) ** 2 / 2, q[:-1], q[1:]),
        work=st.each(lambda a: fold * (st.sin(a) - st.cos(a)) / n, q),
    ), q  # fmt: skip


def test_a_beam_of_two_links_has_the_kinetic_energy_of_its_masses():
    # The double sum over links against the masses themselves.
    system, q = beam(2)
    first = (st.cos(q[0]) / 2, st.sin(q[0]) / 2)
    second = (first[0] + st.cos(q[1]) / 2, first[1] + st.sin(q[1]) / 2)
    masses = st.particle(sp.Rational(1, 2), at=first) + st.particle(sp.Rational(1, 4), at=second)
    exact = sp.lambdify([*q, *q.dot], masses.kinetic)
    state = [0.3, -0.8, 1.7, 0.6]
    assert st.compile(system).kinetic(state[:2], state[2:]) == pytest.approx(
        exact(*state), rel=1e-14
    )


@pytest.mark.slow
def test_an_elastic_beam_ends_where_the_test_set_says():
    system, q = beam(40)
    motion = st.simulate(system, span=(0, 5), points=2, rtol=1e-9, atol=1e-11)
    assert motion.method == "Runge"
    np.testing.assert_allclose(motion[q][-1], BEAM[:40], rtol=0, atol=1e-8)
    np.testing.assert_allclose(motion[q.dot][-1], BEAM[40:], rtol=0, atol=1e-6)


def test_the_digits_of_this_file_agree_with_their_closed_forms():
    # A guard against slips of the pen: the numbers that have closed forms, evaluated here.
    with mpmath.workdps(30):
        for degrees, ratio in PERIODS.items():
            exact = 2 / mpmath.pi * mpmath.ellipk(mpmath.sin(mpmath.radians(degrees) / 2) ** 2)
            assert abs(exact - ratio) < 1e-15
        assert abs(4 * mpmath.pi / mpmath.sqrt(9.81) - 4.0121333614212948826) < 1e-15
