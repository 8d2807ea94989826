"""Constrained motions against published end states, closed forms and peers' own checks.

Every number comes from outside: from the Test Set for IVP Solvers (Bari; its R port rforge/bvpsolve
@78c711b, pkg/deTestSet), from the IFToMM multibody benchmark library, from textbooks, or from the
test suites of SymPy (@e950d31) and EXUDYN (@e44aca1). Digits marked "80 bit" were converged in
extended precision from the same statement, by an integrator that is not ours.

Multipliers: ours is the force along ∂R/∂q, in M q̈ + C q̇ + G = Q + Aᵀλ.
"""

import numpy as np
import pytest

import stationary as st

cos, sin, sqrt = st.cos, st.sin, st.sqrt


def assert_state(motion, t, q=None, v=None, within=1e-12):
    """Coordinates and velocities at a time, in the order of the system's coordinates."""
    k = int(np.argmin(np.abs(motion.t - t)))
    assert motion.t[k] == pytest.approx(t, abs=1e-14)
    if q is not None:
        np.testing.assert_allclose(motion.q[k][: len(q)], q, rtol=0, atol=within)
    if v is not None:
        scale = max(1.0, float(np.abs(v).max()))
        np.testing.assert_allclose(motion.v[k][: len(v)], v, rtol=0, atol=within * scale)


# -- Andrews' squeezing mechanism -----------------------------------------------------------------

ANDREWS_START = [
    -0.0617138900142764496358948458001,
    0.0,
    0.455279819163070380255912382449,
    0.222668390165885884674473185609,
    0.487364979543842550225598953530,
    -0.222668390165885884674473185609,
    1.23054744454982119249735015568,
]
# 80 bit, four settings of order and tolerance agree: q, v, then λ in the sign M q̈ + Gᵀλ = f.
ANDREWS = {
    0.01: (
        [
            2.16011313153152649e00,
            -1.88336423110704434e00,
            1.58516758001226679e-01,
            -3.28641075174670328e-01,
            5.25154774797729460e-01,
            3.28641075174670335e-01,
            1.06842720463240116e00,
        ],
        [
            7.11923152831103969e02,
            -7.86770080859939748e02,
            -1.36438191378119702e02,
            -2.40293029267864555e02,
            4.79154822537105579e00,
            2.40293029267864547e02,
            -4.11405669616104919e01,
        ],
        [
            5.702529043750258e01,
            2.967904246249478e00,
            3.218860385008938e00,
            -1.817926986794036e01,
            5.159502718032350e00,
            3.424011729160661e01,
        ],
    ),
    0.03: (
        [
            1.58107711951537154e01,
            -1.57563710584118454e01,
            4.08222401196453927e-02,
            -5.34730116342080271e-01,
            5.24409965879954109e-01,
            5.34730116342079809e-01,
            1.04808074104193747e00,
        ],
        [
            1.13992030225910617e03,
            -1.42437929517753967e03,
            1.10329119106199969e01,
            1.92933741050345024e01,
            5.73569914829584055e-01,
            -1.92933741050345369e01,
            3.23179149249127854e-01,
        ],
        [
            1.991753481045384e02,
            -2.975530997497127e01,
            2.306654361162215e01,
            3.145272527577121e01,
            2.264249478639436e01,
            1.161739235261125e01,
        ],
    ),
    0.05: (
        [
            3.38258677669545468e01,
            -3.35834315174638919e01,
            1.13395073812596788e-01,
            -4.07852865601887631e-01,
            5.26060444916995519e-01,
            4.07852865601886386e-01,
            1.05690242943496260e00,
        ],
        [
            1.14453550265385374e03,
            -1.33603372265120661e03,
            -1.90937068604292766e02,
            -3.34317060870861314e02,
            8.75865082942745928e-01,
            3.34317060870861324e02,
            -3.96172889783518761e01,
        ],
        [
            1.089054884295329e02,
            -2.721622114844374e01,
            1.260204174075031e01,
            -4.154775281620400e01,
            1.815834111469007e01,
            1.053745518262454e02,
        ],
    ),
}
# Hairer & Wanner II, section VII.7; PSIDE on a Cray: good to about ten digits.
ANDREWS_PUBLISHED = [
    0.1581077119629904e2,
    -0.1575637105984298e2,
    0.4082224013073101e-1,
    -0.5347301163226948e0,
    0.5244099658805304e0,
    0.5347301163226948e0,
    0.1048080741042263e1,
]


def andrews():
    q = st.coordinates("beta Theta gamma Phi delta Omega eps")
    beta, Theta, gamma, Phi, delta, Omega, eps = q
    m1, m2, m3, m4, m5, m6, m7 = 0.04325, 0.00365, 0.02373, 0.00706, 0.07050, 0.00706, 0.05498
    I1, I2, I3 = 2.194e-6, 4.410e-7, 5.255e-6
    I4, I5, I6, I7 = 5.667e-7, 1.169e-5, 5.667e-7, 1.912e-5
    xa, ya, xb, yb, xc, yc = -0.06934, -0.00227, -0.03635, 0.03273, 0.014, 0.072
    c0, l0, d, da, e, ea, rr, ra = 4530, 0.07785, 0.028, 0.0115, 0.02, 0.01421, 0.007, 0.00092
    ss, sa, sb, sc, sd, ta, tb = 0.035, 0.01874, 0.01043, 0.018, 0.02, 0.02308, 0.00916
    u, ua, ub, zf, zt, fa, torque = 0.04, 0.01228, 0.00449, 0.02, 0.04, 0.01421, 0.033
    le, lf = e - ea, zf - fa
    M = {
        (0, 0): m1 * ra**2 + m2 * (rr**2 - 2 * da * rr * cos(Theta) + da**2) + I1 + I2,
        (0, 1): m2 * (da**2 - da * rr * cos(Theta)) + I2,
        (1, 1): m2 * da**2 + I2,
        (2, 2): m3 * (sa**2 + sb**2) + I3,
        (3, 3): m4 * le**2 + I4,
        (3, 4): m4 * (le**2 + zt * le * sin(Phi)) + I4,
        (4, 4): m4 * (zt**2 + 2 * zt * le * sin(Phi) + le**2) + m5 * (ta**2 + tb**2) + I4 + I5,
        (5, 5): m6 * lf**2 + I6,
        (5, 6): m6 * (lf**2 - u * lf * sin(Omega)) + I6,
        (6, 6): m6 * (lf**2 - 2 * u * lf * sin(Omega) + u**2) + m7 * (ua**2 + ub**2) + I6 + I7,
    }
    spring = (
        sd * cos(gamma) + sc * sin(gamma) + xb - xc,
        sd * sin(gamma) - sc * cos(gamma) + yb - yc,
    )
    X = rr * cos(beta) - d * cos(beta + Theta)
    Y = rr * sin(beta) - d * sin(beta + Theta)
    return st.System(
        kinetic=sum(
            entry * q[i].dot * q[j].dot / (2 if i == j else 1) for (i, j), entry in M.items()
        ),
        potential=c0 / 2 * (sqrt(spring[0] ** 2 + spring[1] ** 2) - l0) ** 2,
        loads=[st.Load(torque, on=beta)],
        constraints=[
            X - ss * sin(gamma) - xb,
            Y + ss * cos(gamma) - yb,
            X - e * sin(Phi + delta) - zt * cos(delta) - xa,
            Y + e * cos(Phi + delta) - zt * sin(delta) - ya,
            X - zf * cos(Omega + eps) - u * sin(eps) - xa,
            Y - zf * sin(Omega + eps) + u * cos(eps) - ya,
        ],
        coordinates=q,
        name="Andrews' squeezing mechanism",
    )


@pytest.fixture(scope="module")
def squeezed():
    system = andrews()
    start = dict(zip(system.coordinates, ANDREWS_START))
    return st.simulate(system, span=(0, 0.05), start=start, points=6)


def test_andrews_mechanism_ends_where_the_test_set_says(squeezed):
    assert_state(squeezed, 0.03, ANDREWS_PUBLISHED, within=5e-9)


@pytest.mark.parametrize("t", ANDREWS)
def test_andrews_mechanism_follows_the_converged_solution(squeezed, t):
    q, v, lam = ANDREWS[t]
    assert_state(squeezed, t, q, v, within=1e-12)
    k = int(np.argmin(np.abs(squeezed.t - t)))
    np.testing.assert_allclose(squeezed.lam[k], -np.array(lam), rtol=1e-11)


def test_andrews_mechanism_starts_with_the_published_accelerations_and_forces(squeezed):
    # Hairer & Wanner II, section VII.7.
    np.testing.assert_allclose(
        squeezed.a[0][:2], [14222.4439199541138706, -10666.8329399655854029], rtol=1e-12
    )
    lam = [98.5668703962410896, -6.12268834425566266, 0, 0, 0, 0]
    np.testing.assert_allclose(squeezed.lam[0], -np.array(lam), rtol=1e-12, atol=1e-12)


def test_andrews_mechanism_balances_its_energy_and_keeps_its_loops_closed(squeezed):
    assert squeezed.residual["energy"] < 1e-13
    assert squeezed.residual["R"] < 1e-15
    # Velocities are of order 1000.
    assert squeezed.residual["Rdot"] < 1e-12
    # IFToMM A03: T + U − torque·(β − β₀) is constant.
    beta = squeezed["beta"]
    total = squeezed.kinetic + squeezed.potential - 0.033 * (beta - beta[0])
    np.testing.assert_allclose(total, total[0], rtol=0, atol=1e-13)


# -- the car axis ---------------------------------------------------------------------------------


def car_axis():
    xl, yl, xr, yr = q = st.coordinates("xl yl xr yr")
    m, length, l0, rr, w, g = 10 * 1e-2**2 / 2, 1, 0.5, 0.1, 10, 1
    yb = rr * sin(w * st.t)
    xb = sqrt(length**2 - yb**2)
    return st.System(
        kinetic=m / 2 * sum(c.dot**2 for c in q),
        potential=(sqrt(xl**2 + yl**2) - l0) ** 2 / 2
        + (sqrt((xr - xb) ** 2 + (yr - yb) ** 2) - l0) ** 2 / 2
        + m * g * (yl + yr),
        constraints=[
            st.Constraint(xb * xl + yb * yl, name="wheel"),
            st.Constraint((xl - xr) ** 2 + (yl - yr) ** 2 - length**2, name="axis"),
        ],
        coordinates=q,
        name="car axis",
    )


# 80 bit: xl, yl, xr, yr, their velocities, λ.
CAR_AXIS = {
    1: (
        [2.71820954401134553e-02, 4.98911552629264933e-01],
        [1.02454879597037898e00, 4.26388006981167731e-01],
        [4.19164414754794631e-01, -2.42900498572145395e-02],
        [2.97172685763110379e-01, -1.70195882830876456e00],
        [-3.8371209827120938e-03, -1.2287984619505462e-03],
    ),
    2: (
        [-4.56044836428594586e-02, 4.97445343218971094e-01],
        [9.51740760592787566e-01, 5.70263361597237779e-01],
        [-2.03218758499374846e-01, -2.55718244482448649e-02],
        [-2.25931716144986491e-01, 2.85514096246589373e-01],
        [4.9688925965066382e-03, 1.3174621545079859e-03],
    ),
    3: (
        [4.93455784275240890e-02, 4.96989460230008107e-01],
        [1.04174252488542611e00, 3.73911027265365826e-01],
        [-7.70583684035920825e-02, 7.44686659206844765e-03],
        [1.75568157535417795e-02, 7.70341043779601474e-01],
        [-4.7368865908533269e-03, -1.1046803312595660e-03],
    ),
}
CAR_AXIS_PUBLISHED = (
    [
        0.493455784275402809122e-1,
        0.496989460230171153861,
        0.104174252488542151681e1,
        0.373911027265361256927,
    ],
    [
        -0.770583684040972357970e-1,
        0.744686658723778553466e-2,
        0.175568157537232222276e-1,
        0.770341043779251976443,
    ],
    [-0.473688659084893324729e-2, -0.110468033125734368808e-2],
)


@pytest.fixture(scope="module")
def driven():
    system = car_axis()
    xl, yl, xr, yr = system.coordinates
    start = {xl: 0, yl: 0.5, xr: 1, yr: 0.5, xl.dot: -0.5, xr.dot: -0.5}
    return st.simulate(system, span=(0, 3), start=start, points=301)


def test_car_axis_ends_where_the_test_set_says(driven):
    q, v, lam = CAR_AXIS_PUBLISHED
    assert_state(driven, 3, q, within=1e-12)
    # The published velocities are good to 5e-12, as two settings in 80 bit show.
    assert_state(driven, 3, v=v, within=1e-11)
    np.testing.assert_allclose(driven.lam[-1], lam, rtol=0, atol=1e-12)


@pytest.mark.parametrize("t", CAR_AXIS)
def test_car_axis_follows_the_converged_solution(driven, t):
    left, right, left_rate, right_rate, lam = CAR_AXIS[t]
    assert_state(driven, t, left + right, left_rate + right_rate, within=2e-13)
    np.testing.assert_allclose(driven.lam[100 * t], lam, rtol=0, atol=1e-13)


def test_car_axis_needs_no_repair_and_balances_its_energy_with_the_road(driven):
    # The start of the test set is consistent: Ṙ of the wheel is x_b ẋ_l + ẏ_b y_l = −0.5 + 0.5.
    assert driven.repaired < 1e-15
    assert np.ptp(driven.energy) > 1e-3  # The road does work, by moving springs and the wheel.
    assert driven.residual["energy"] < 1e-14
    assert driven.residual["R"] < 1e-15
    assert driven.residual["Rdot"] < 1e-13


# -- Simeon's slider crank with a flexible rod ----------------------------------------------------

CRANK_START = (
    [0, 0, 0.450016933, 0, 0, 0.103339863e-4, 0.169327969e-4],
    [150, -74.9957670, -0.268938672e-5, 0.444896105, 0.463434311e-2, -0.178591076e-5,
     -0.268938672e-5],
)  # fmt: skip
CRANK_PUBLISHED = [
    0.1500000000000104e2,
    -0.3311734988256260e0,
    0.1697373328427860e0,
    0.1893192899613509e-3,
    0.2375751249879174e-4,
    -0.5323896770569702e-5,
    -0.8363313279112129e-5,
]


def slider_crank():
    p1, p2, x3, *bent = x = st.coordinates("p1 p2 x3 q1 q2 q3 q4")
    q = np.array(bent, dtype=object)
    m2, m3, l1, l2, J1, J2 = 0.151104, 0.075552, 0.15, 0.30, 0.002727, 0.0045339259
    E, b, h, rho, omega, pi = 0.2e12, 0.008, 0.008, 7870.0, 150, 3.1415927
    A = b * h
    MQ = rho * A * l2 * np.array([[0.5, 0, 0, 0], [0, 0.5, 0, 0], [0, 0, 8, 1], [0, 0, 1, 2]])
    KQ = E * A / l2 * np.diag([pi**4 / 24 * (h / l2) ** 2, 2 * pi**4 / 3 * (h / l2) ** 2, 0, 0])
    KQ[2:, 2:] = E * A / l2 * np.array([[16 / 3, -8 / 3], [-8 / 3, 7 / 3]])
    BQ = np.zeros((4, 4))
    BQ[0, 2], BQ[0, 3], BQ[1, 3] = -16 / pi**3, 8 / pi**3 - 1 / pi, 1 / (2 * pi)
    BQ = A * l2 * (BQ - BQ.T)
    c1, c2 = A * l2 * np.array([0, 0, 2 / 3, 1 / 6]), A * l2 * np.array([2 / pi, 0, 0, 0])
    c12 = A * l2**2 * np.array([0, 0, 1 / 3, 1 / 6])
    c21 = A * l2**2 * np.array([1 / pi, -1 / (2 * pi), 0, 0])
    s, c = sin(p1 - p2), cos(p1 - p2)
    v = np.array([e.dot for e in bent], dtype=object)
    kinetic = (
        (J1 + m2 * l1**2) * p1.dot**2 / 2
        + (l1 * l2 * m2 / 2 * c + rho * l1 * (s * (c2 @ q) + c * (c1 @ q))) * p1.dot * p2.dot
        + (J2 + q @ MQ @ q + 2 * rho * (c12 @ q)) * p2.dot**2 / 2
        + m3 * x3.dot**2 / 2
        + rho * l1 * p1.dot * ((-s * c1 + c * c2) @ v)
        + rho * p2.dot * ((c21 + q @ BQ) @ v)
        + v @ MQ @ v / 2
    )
    return st.System(
        kinetic=kinetic,
        potential=q @ KQ @ q / 2,
        constraints=[
            st.Constraint(
                (
                    l1 * sin(p1) + (l2 + bent[3]) * sin(p2),
                    x3 - l1 * cos(p1) - (l2 + bent[3]) * cos(p2),
                ),
                name="slider",
            ),
            st.Constraint(p1 - omega * st.t, name="drive"),
        ],
        coordinates=x,
        name="slider crank",
    )


def crank_start(system, q, v):
    return dict(zip(system.coordinates, q)) | {c.dot: w for c, w in zip(system.coordinates, v)}


def test_slider_crank_ends_where_the_test_set_says():
    # The published start is rounded, so that it violates R = 0 by 2e-10 and Ṙ = 0 by 1.2e-8: more
    # than the stretch of the rod can bear. What depends on it is computed here to all digits.
    system = slider_crank()
    q, v = (list(x) for x in CRANK_START)
    q[2] = 0.15 + 0.30 + q[6]
    v[1], v[2] = -150 * 0.15 / (0.30 + q[6]), v[6]
    start = crank_start(system, q, v)
    motion = st.simulate(system, span=(0, 0.1), start=start, points=101, repair=False)
    np.testing.assert_allclose(motion.q[-1], CRANK_PUBLISHED, rtol=1e-7)
    assert motion.residual["R"] < 1e-14
    assert motion.residual["energy"] < 1e-13 * np.abs(motion.energy).max()


def test_slider_crank_says_that_its_published_start_was_inconsistent():
    system = slider_crank()
    start = crank_start(system, *CRANK_START)
    motion = st.simulate(system, span=(0, 0.1), start=start, points=2)
    assert 1e-10 < motion.repaired < 1e-8
    # The rigid motion does not mind; the stretch of the rod does, by what the start was wrong.
    np.testing.assert_allclose(motion.q[-1][:3], CRANK_PUBLISHED[:3], rtol=1e-8)
    np.testing.assert_allclose(motion.q[-1][3:], CRANK_PUBLISHED[3:], rtol=0, atol=1e-10)
    with pytest.raises(st.StatementError, match=r"'slider\[0\]' has Ṙ = "):
        st.simulate(system, span=(0, 0.1), start=start, repair=False)


# -- IFToMM A01: the pendulum in Cartesian coordinates --------------------------------------------

# Closed form by elliptic functions: φ = 2 asin(k sn(K − ωt, k)); x, y, φ̇, tension / (m g).
A01 = {
    1: (0.98629175113187531936, -0.16501085312554116875, 1.7993090169070786188,
        0.49503255937662350626),
    5: (-0.9423054350437573355, -0.33475433841400058079, 2.5627875681926294601,
        1.0042630152420017424),
    9.99: (-0.31643646991303229123, -0.94861370457577651925, 4.3141396458363207819,
           2.8458411137273295577),
    10: (-0.27508746257611686005, -0.96141920509912506427, 4.3431606928646830533,
         2.8842576152973751928),
}  # fmt: skip


@pytest.fixture(scope="module")
def bob():
    x, y = st.coordinates("x y")
    system = st.particle(1.0, at=(x, y), gravity=9.81) + st.rod((0, 0), (x, y), 1.0, name="rod")
    return st.simulate(system, span=(0, 10), start={x: -1.0, y: 0.0}, points=1001)


@pytest.mark.parametrize("t", A01)
def test_iftomm_pendulum_follows_its_closed_form(bob, t):
    x, y, rate, tension = A01[t]
    assert_state(bob, t, [x, y], within=1e-12)
    now = bob.at(t)
    # φ is measured from the downward vertical: φ̇ = x ẏ − y ẋ for a unit length.
    x, y = st.coordinates("x y")
    assert now[x * y.dot - y * x.dot] == pytest.approx(rate, abs=1e-11)
    k = int(round(100 * t))
    assert -bob.lam["rod"][k] / 9.81 == pytest.approx(tension, abs=1e-12)


# -- IFToMM A02: a row of four-bars through its singular configurations ---------------------------

# Closed form on the parallel branch, a = 2 am(t/2 | −4ω²): B0 and its velocity.
A02 = {
    (1, 4): (0.15895550425711777322, 0.98728574772776164769, 1.1253950477661969949,
             -0.18119145112531924067),
    (1, 10): (0.47838505776097055901, 0.87815017879120930116, 1.7272640755471536358,
              -0.94095217937151564419),
    (2, 4): (0.11761610237680861171, 0.99305913845132510096, 1.0690392650289686367,
             -0.12661504916672028006),
    (2, 10): (0.32845811154081537865, 0.94451853817860096216, 1.4230514702069441233,
              -0.49486884548704295899),
}  # fmt: skip


def four_bars(windows):
    """Nodes B_0 … B_N on cranks from the ground, joined by couplers; uniform bars, m = L = 1."""
    names = " ".join(f"x{i} y{i}" for i in range(windows + 1))
    q = st.coordinates(names)
    B = [(q[2 * i], q[2 * i + 1]) for i in range(windows + 1)]
    ground = [(i, 0) for i in range(windows + 1)]
    g = 9.81

    def bar(P, Q):
        # A uniform bar between P and Q: T = m/6 (|Ṗ|² + Ṗ·Q̇ + |Q̇|²).
        u, w = ([st.rate(c) if c in q else 0 for c in point] for point in (P, Q))
        kinetic = sum(a * a + a * b + b * b for a, b in zip(u, w)) / 6
        return st.System(kinetic=kinetic, potential=g * (P[1] + Q[1]) / 2)

    total = st.System(coordinates=q)
    for i, (G, P) in enumerate(zip(ground, B)):
        total = total + bar(G, P) + st.rod(G, P, 1, name=f"crank {i}")
    for i in range(windows):
        total = total + bar(B[i], B[i + 1]) + st.rod(B[i], B[i + 1], 1, name=f"coupler {i}")
    start = {name: value for i in range(windows + 1) for name, value in
             ((f"x{i}", i), (f"y{i}", 1), (f"x{i}.dot", 1))}  # fmt: skip
    return total, start


@pytest.mark.parametrize("windows", [1, 2])
def test_a_row_of_four_bars_passes_its_singular_configuration_or_says_that_it_stops(windows):
    system, start = four_bars(windows)
    try:
        motion = st.simulate(system, span=(0, 10), start=start, points=11)
    except st.DidNotConverge as stopped:
        assert "singular" in str(stopped)
        # All bars in one line, a quarter turn from upright.
        last = stopped.solution.q[-1].reshape(-1, 2)
        np.testing.assert_allclose(last[:, 1], 0, atol=0.05)
        return
    assert motion.kinetic[0] == pytest.approx((windows + 1) / 6 + windows / 2, rel=1e-14)
    for t in (4, 10):
        x, y, vx, vy = A02[windows, t]
        # The tolerance of the benchmark library.
        assert_state(motion, t, [x, y], [vx, vy], within=1e-6)
    assert motion.residual["energy"] < 1e-7


@pytest.mark.parametrize("windows", [1, 2])
def test_a_row_of_four_bars_follows_its_closed_form_up_to_the_singular_configuration(windows):
    # One degree of freedom: ((N+1)/3 + N) ȧ² / 2 + ((N+1)/2 + N) g cos a is constant, ȧ(0) = 1.
    system, start = four_bars(windows)
    motion = st.simulate(system, span=(0, 0.6), start=start, points=61)
    inertia, weight = (windows + 1) / 3 + windows, ((windows + 1) / 2 + windows) * 9.81
    x, y = motion["x0"], motion["y0"]
    rate = np.sqrt(1 + 2 * weight / inertia * (1 - y))
    np.testing.assert_allclose(motion["x0.dot"], rate * y, rtol=0, atol=1e-12)
    np.testing.assert_allclose(motion["y0.dot"], -rate * x, rtol=0, atol=1e-12)
    for i in range(1, windows + 1):
        np.testing.assert_allclose(motion[f"x{i}"], x + i, rtol=0, atol=1e-13)


@pytest.mark.parametrize("windows", [1, 2])
def test_a_row_of_four_bars_goes_through_its_singular_configurations_by_variational_steps(windows):
    # Steps do not see how near they come; their error of order two is extrapolated away.
    system, start = four_bars(windows)
    coarse, fine = (
        st.simulate(system, span=(0, 10), start=start, points=6, method=st.Variational(step))
        for step in (0.004, 0.002)
    )
    for t in (4, 10):
        x, y, vx, vy = A02[windows, t]
        k = t // 2
        place = (4 * fine.q[k] - coarse.q[k])[:2] / 3
        velocity = (4 * fine.v[k] - coarse.v[k])[:2] / 3
        np.testing.assert_allclose(place, [x, y], rtol=0, atol=1e-6)
        np.testing.assert_allclose(velocity, [vx, vy], rtol=0, atol=1e-6)
    assert fine.residual["R"] < 1e-12


# -- the heavy top in Euler parameters ------------------------------------------------------------

# 80 bit; EXUDYN's heavyTop.py quotes MATLAB's (−.70828, .43878, .54573, .0894) at t = 0.2.
HEAVY_TOP = {
    0.2: ([-7.082791529743126e-01, 4.387810881265819e-01, 5.457283961454177e-01,
           8.939975282400501e-02],
          [6.055505613771198e-01, 5.989576817949192e-01, -5.239830274300032e-01],
          [-2.691590912143409e00, 1.500000000000000e02, 4.917260989893994e00]),
    1.0: ([7.329439806796637e-01, -2.782857193376127e-01, 5.318246113341626e-01,
           -3.201761427362493e-01],
          [1.733439640983861e-01, 6.400885920705688e-01, -7.484907911335813e-01],
          [-8.220781016827051e-01, 1.500000000000000e02, -5.923291348117336e00]),
    2.0: ([1.229471350415335e-01, -4.910798925500271e-01, 3.504300303436209e-01,
           -7.879868875504856e-01],
          [-1.504168227456418e-01, -7.241655916368957e-01, -6.730222695604441e-01],
          [1.222332194973929e-01, 1.500000000000000e02, -5.855624589205458e00]),
}  # fmt: skip


def heavy_top():
    """Return the top of Géradin & Cardona in Euler parameters, its spin and its centre of mass.

    T = ½ ω·Jω with ω = 2 G(e) ė has no inertia along e: only |e| = 1 holds that direction.
    """
    e0, e1, e2, e3 = e = st.coordinates("e0 e1 e2 e3")
    m, g = 15.0, 9.81
    d0, d1, d2, d3 = (c.dot for c in e)
    spin = (
        2 * (-e1 * d0 + e0 * d1 + e3 * d2 - e2 * d3),
        2 * (-e2 * d0 - e3 * d1 + e0 * d2 + e1 * d3),
        2 * (-e3 * d0 + e2 * d1 - e1 * d2 + e0 * d3),
    )
    centre = (
        2 * (e1 * e2 - e0 * e3),
        e0**2 - e1**2 + e2**2 - e3**2,
        2 * (e2 * e3 + e0 * e1),
    )
    J = (0.234375 + m, 0.46875, 0.234375 + m)
    system = st.System(
        kinetic=sum(j * w**2 for j, w in zip(J, spin)) / 2,
        potential=m * g * centre[2],
        constraints=[st.Constraint(sum(c**2 for c in e) - 1, name="unit")],
        coordinates=e,
        name="heavy top",
    )
    start = {e0: 1.0, e2.dot: 75.0, e3.dot: -4.61538 / 2}
    return system, start, spin, centre


def test_the_heavy_top_in_euler_parameters_follows_the_benchmark():
    system, start, spin, centre = heavy_top()
    motion = st.simulate(system, span=(0, 2), start=start, points=11)
    for t, (q, position, rate) in HEAVY_TOP.items():
        k = int(round(5 * t))
        np.testing.assert_allclose(motion.q[k], q, rtol=0, atol=1e-9)
        np.testing.assert_allclose(motion[centre][k], position, rtol=0, atol=1e-9)
        np.testing.assert_allclose(motion[spin][k], rate, rtol=0, atol=1e-7)
    assert motion.residual["R"] < 1e-13
    assert motion.residual["energy"] < 1e-11 * np.abs(motion.energy).max()


# -- nonholonomic: knife edge, sleigh, rolling discs ----------------------------------------------


def test_a_knife_edge_on_an_incline_drifts_across_the_slope():
    # Bloch, Nonholonomic Mechanics and Control, section 1.6.
    x, y, phi = st.coordinates("x y phi")
    m, J, g, alpha, rate = 1.25, 0.13, 9.81, 0.6, 1.2
    edge = st.System(
        kinetic=m * (x.dot**2 + y.dot**2) / 2 + J * phi.dot**2 / 2,
        potential=-m * g * np.sin(alpha) * x,
        pfaffian=[st.Pfaffian(x.dot * sin(phi) - y.dot * cos(phi), name="edge")],
    )
    period = 2 * np.pi / rate
    motion = st.simulate(edge, span=(0, 3 * period), start={phi.dot: rate}, points=1001)
    angle, slope = rate * motion.t, g * np.sin(alpha)
    np.testing.assert_allclose(
        motion[x], slope / (2 * rate**2) * np.sin(angle) ** 2, rtol=0, atol=1e-12
    )
    np.testing.assert_allclose(
        motion[y],
        slope / (2 * rate**2) * (angle - np.sin(2 * angle) / 2),
        rtol=0,
        atol=1e-11,
    )
    # The lateral force: ours is along (sin φ, −cos φ), the book's along (−sin φ, cos φ).
    np.testing.assert_allclose(
        motion.lam["edge"], -2 * m * slope * np.sin(angle), rtol=0, atol=1e-11
    )
    at3 = motion.at(3.0)
    assert at3[x] == pytest.approx(0.37663158732221865515, abs=1e-12)
    assert at3[y] == pytest.approx(6.1606923012398170961, abs=1e-12)
    assert at3[x.dot] == pytest.approx(1.8317664690403295317, abs=1e-12)
    assert at3[y.dot] == pytest.approx(0.90391580957332477237, abs=1e-12)
    # Vakonomic mechanics, or a constraint put into T, would not drift like this.
    assert motion[y][-1] / 3 == pytest.approx(12.0845346530728035, abs=1e-11)


def test_chaplygins_sleigh_turns_over_as_its_closed_form_says():
    x, y, phi = st.coordinates("x y phi")
    m, J, a, V = 1.0, 0.1, 0.1, 1.0
    centre = (x + a * cos(phi), y + a * sin(phi))
    sleigh = st.body(m, inertia=J, at=centre, angle=phi) + st.System(
        pfaffian=[st.Pfaffian(y.dot * cos(phi) - x.dot * sin(phi), name="knife")]
    )
    v0, w0 = -0.96402758007581688395, 0.80142387407529779613
    motion = st.simulate(sleigh, span=(0, 5), start={x.dot: v0, phi.dot: w0}, points=501)
    k, W = m * a * V / (J + m * a**2), V * np.sqrt(m / (J + m * a**2))
    along = motion[x.dot * cos(phi) + y.dot * sin(phi)]
    np.testing.assert_allclose(along, V * np.tanh(k * motion.t - 2), rtol=0, atol=1e-13)
    np.testing.assert_allclose(motion[phi.dot], W / np.cosh(k * motion.t - 2), rtol=0, atol=1e-13)
    assert motion[phi][-1] == pytest.approx(9.0079609550260665968, abs=1e-12)
    assert motion[x][-1] == pytest.approx(-0.7739205057395824, abs=1e-12)
    assert motion[y][-1] == pytest.approx(0.4426651761438863, abs=1e-12)
    assert motion.residual["energy"] < 1e-14


def test_a_vertical_disc_rolls_in_a_circle():
    # Bloch, section 1.4.
    x, y, turn, heading = st.coordinates("x y turn heading")
    m, J, D, R = 1.3, 0.2, 0.1, 0.4
    disc = st.System(
        kinetic=m * (x.dot**2 + y.dot**2) / 2 + J * turn.dot**2 / 2 + D * heading.dot**2 / 2,
        pfaffian=[
            st.Pfaffian(
                (x.dot - R * turn.dot * cos(heading), y.dot - R * turn.dot * sin(heading)),
                name="rolling",
            )
        ],
    )
    w, spin, p0 = 0.7, 3.0, 0.3
    start = {
        heading: p0, heading.dot: w, turn.dot: spin,
        x.dot: R * spin * np.cos(p0), y.dot: R * spin * np.sin(p0),
    }  # fmt: skip
    motion = st.simulate(disc, span=(0, 20), start=start)
    angle, radius = w * motion.t + p0, R * spin / w
    np.testing.assert_allclose(motion[x], radius * (np.sin(angle) - np.sin(p0)), rtol=0, atol=1e-12)
    np.testing.assert_allclose(
        motion[y], -radius * (np.cos(angle) - np.cos(p0)), rtol=0, atol=1e-12
    )
    # The ground turns the momentum: the force is m times the centripetal acceleration.
    speed = R * spin
    np.testing.assert_allclose(
        motion.lam["rolling"],
        m * speed * w * np.stack([-np.sin(angle), np.cos(angle)], axis=-1),
        rtol=0,
        atol=1e-12,
    )


def test_a_leaning_disc_obeys_the_equations_that_kanes_method_gives():
    # SymPy, test_kane.py::test_rolling_disc: yaw q1, lean q2, spin q3 and the rates u along the
    # axes that lean with the disc.
    x, y, z, q1, q2, q3 = st.coordinates("x y z q1 q2 q3")
    m, r, g = 0.7, 0.3, 9.81
    u1, u2, u3 = q2.dot, q3.dot + sin(q2) * q1.dot, cos(q2) * q1.dot
    # The centre is r L_z above the contact; the material point there does not move: v = ω × r L_z
    # with ω = u1 L_x + u2 L_y + u3 L_z, so v = r (u2 L_x − u1 L_y).
    Lx = (cos(q1), sin(q1), 0)
    Ly = (-sin(q1) * cos(q2), cos(q1) * cos(q2), sin(q2))
    rolling = [c.dot - r * (u2 * a - u1 * b) for c, a, b in zip((x, y, z), Lx, Ly)]
    disc = st.System(
        kinetic=m * (x.dot**2 + y.dot**2 + z.dot**2) / 2
        + m * r**2 * (u1**2 / 4 + u2**2 / 2 + u3**2 / 4) / 2,
        potential=m * g * z,
        pfaffian=[st.Pfaffian(tuple(rolling), name="rolling")],
    )
    rng = np.random.default_rng(3)
    for _ in range(5):
        lean = rng.uniform(-1, 1)
        start = {q1: rng.uniform(-3, 3), q2: lean, q3: rng.uniform(-3, 3), z: r * np.cos(lean)}
        rates = rng.normal(size=3)
        # Starts are mended in the metric of the masses; this one is consistent by itself.
        yaw = start[q1]
        w1, w2, w3 = rates[1], rates[2] + np.sin(lean) * rates[0], np.cos(lean) * rates[0]
        velocity = r * (
            w2 * np.array([np.cos(yaw), np.sin(yaw), 0])
            - w1 * np.array([-np.sin(yaw) * np.cos(lean), np.cos(yaw) * np.cos(lean), np.sin(lean)])
        )
        start |= dict(zip((q1.dot, q2.dot, q3.dot, x.dot, y.dot, z.dot), [*rates, *velocity]))
        motion = st.simulate(disc, span=(0, 0.01), start=start, points=2, repair=False)
        a1, a2, a3 = (motion[c.ddot][0] for c in (q1, q2, q3))
        du = (
            a2,
            a3 + np.sin(lean) * a1 + np.cos(lean) * rates[1] * rates[0],
            np.cos(lean) * a1 - np.sin(lean) * rates[1] * rates[0],
        )
        by_kane = (
            (6 * w2 * w3 * r - w3**2 * r * np.tan(lean) + 4 * g * np.sin(lean)) / (5 * r),
            -2 * w1 * w3 / 3,
            w1 * (-2 * w2 + w3 * np.tan(lean)),
        )
        np.testing.assert_allclose(du, by_kane, rtol=1e-11, atol=1e-11)


# -- peers' checks --------------------------------------------------------------------------------


def test_a_four_bar_has_the_accelerations_of_sympys_joints_method():
    # SymPy, test_jointsmethod.py::test_four_bar_linkage_with_manual_constraints.
    q1, q2, q3 = st.coordinates("q1 q2 q3")
    l1, l2, l3, l4, rho = 0.13, 0.24, 0.21, 0.34, 997
    angles = (q1, q1 + q2, q1 + q2 + q3)
    joint, total = (l1, 0), st.System()
    for length, angle in zip((l2, l3, l4), angles):
        half = (length / 2 * cos(angle), length / 2 * sin(angle))
        centre = (joint[0] + half[0], joint[1] + half[1])
        joint = (centre[0] + half[0], centre[1] + half[1])
        total = total + st.body(rho * length, inertia=rho * length**3 / 12, at=centre, angle=angle)
    total = total + st.System(constraints=[st.Constraint(joint, name="loop")])
    start = {q1: 2.1, q2: 0.6655470375077588, q3: 2.527408138024188}
    rates = [0.2, -0.17963733938852067, 0.1309060540601612]
    start |= dict(zip((q1.dot, q2.dot, q3.dot), rates))
    motion = st.simulate(total, span=(0, 1), start=start, points=2, repair=False)
    expected = [0.004875813576771052, -0.019901808571750258, 0.012180573114075468]
    np.testing.assert_allclose(motion.a[0], expected, rtol=0, atol=1e-10)
    assert motion.kinetic[0] == pytest.approx(0.5000613449916262, rel=1e-12)


def test_a_pendulum_in_too_many_coordinates_has_sympys_multiplier():
    # SymPy, test_lagrange.py::test_nonminimal_pendulum: m q̈₁ − 9.8 m + 2λq₁ = 0, so λ has the
    # other sign; gravity points along q₁.
    q1, q2 = st.coordinates("q1 q2")
    m, length = 1.7, 0.9
    system = st.System(
        kinetic=m * (q1.dot**2 + q2.dot**2) / 2,
        work=9.8 * m * q1,
        constraints=[st.Constraint(q1**2 + q2**2 - length**2, name="circle")],
    )
    start = {q1: length * np.cos(0.4), q2: length * np.sin(0.4)}
    start |= {q1.dot: -1.3 * np.sin(0.4), q2.dot: 1.3 * np.cos(0.4)}
    motion = st.simulate(system, span=(0, 5), start=start)
    speed = motion[q1.dot] ** 2 + motion[q2.dot] ** 2
    theirs = m * (19.6 * motion[q1] + 2 * speed) / (4 * length**2)
    np.testing.assert_allclose(motion.lam["circle"], -theirs, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("seed", range(3))
def test_a_cart_whose_bob_is_kept_on_the_vertical_obeys_sympys_equation(seed):
    # SymPy, test_system_class.py::TestSystemExamples.
    qp, qc = st.coordinates("qp qc")
    g, length, mc, mp, k = st.parameters("g length mc mp k")
    F = st.inputs("F")
    bob = (qc + length * sin(qp), -length * cos(qp))
    system = (
        st.particle(mc, at=(qc, 0))
        + st.particle(mp, at=bob, gravity=g)
        + st.System(
            loads=[st.Load(F, on=qc), st.Load(k * qp, on=qp)],
            constraints=[st.Constraint(bob[0], name="vertical")],
        )
    )
    rng = np.random.default_rng(seed)
    values = dict(zip(("g", "length", "mc", "mp", "k"), rng.uniform(0.5, 2, size=5)))
    angle, rate, force = rng.uniform(-1, 1), rng.normal(), rng.normal()
    g, length, mc, mp, k = values.values()
    start = {qp: angle, qc: -length * np.sin(angle)}
    start |= {qp.dot: rate, qc.dot: -length * np.cos(angle) * rate}
    motion = st.simulate(
        system, span=(0, 0.1), start=start, params=values, inputs={F: force}, points=2,
        repair=False,
    )  # fmt: skip
    c, s, s2 = np.cos(angle), np.sin(angle), np.sin(2 * angle)
    expected = (
        -g * mp * s + k * angle / length + length * (mc - mp) * s2 * rate**2 / 2 - force * c
    ) / (length * (mc * c**2 + mp * s**2))
    assert motion[qp.ddot][0] == pytest.approx(expected, rel=1e-12, abs=1e-12)
    # Horizontally the bob does not accelerate: the constraint and the rod cancel on it, and
    # (mc + mp) q̈c + … = F + λ gives mc q̈c = F + λ.
    assert motion.lam["vertical"][0] == pytest.approx(
        mc * motion[qc.ddot][0] - force, rel=1e-11, abs=1e-11
    )


# -- Fekete points --------------------------------------------------------------------------------

# Test Set for IVP Solvers, t = 1000: the first and the last particles, x y z each.
FEKETE_PUBLISHED = {
    0: [-0.4070263380333202, 0.3463758772791802, 0.8451942450030429],
    1: [0.07752934752521549, -0.2628662719972299, 0.9617122871829146],
    4: [-0.4341114738782885, 0.8785430442262876, 0.1992720444237660],
    9: [0.9843259538440293, -0.1696995357819996, -0.04800504290609090],
    10: [0.1464175087914331, 0.9380871635228875, -0.3139337298744656],
    18: [-0.5772996158107093, -0.1766763414971813, -0.7971892020969544],
    19: [0.2414481766969039, -0.3416456818373135, -0.9082846503446250],
}


def fekete(count=20):
    p = st.coordinates("p", shape=(count, 3))
    first, second = np.triu_indices(count, 1)
    return p, st.System(
        kinetic=st.each(lambda v: (v[0] ** 2 + v[1] ** 2 + v[2] ** 2) / 2, p.dot),
        potential=st.each(lambda a, b: -st.log(st.norm(a - b)), p[first], p[second]),
        dissipation=st.each(lambda v: (v[0] ** 2 + v[1] ** 2 + v[2] ** 2) / 4, p.dot),
        constraints=st.each(lambda a: a[0] ** 2 + a[1] ** 2 + a[2] ** 2 - 1, p, name="sphere"),
        name="Fekete points",
    )


def fekete_start():
    rows = [(1, 3, 0, 3, 13, 3 / 8), (4, 10, 3, 7, 29, 1 / 8), (11, 16, 10, 6, 7, -2 / 15),
            (17, 20, 17, 4, 17, -3 / 10)]  # fmt: skip
    points = []
    for low, high, off, parts, shift, height in rows:
        for i in range(low, high + 1):
            a, e = 2 * np.pi * (i - off) / parts + np.pi / shift, height * np.pi
            points.append([np.cos(a) * np.cos(e), np.sin(a) * np.cos(e), np.sin(e)])
    return np.array(points)


def test_twenty_repelling_particles_on_a_sphere_come_to_rest_at_fekete_points():
    p, system = fekete()
    motion = st.simulate(system, span=(0, 1000), start={p: fekete_start()}, points=101)
    for i, point in FEKETE_PUBLISHED.items():
        np.testing.assert_allclose(motion[p][-1, i], point, rtol=0, atol=1e-7)
    assert motion.potential[-1] == pytest.approx(-54.0111299745842, abs=1e-10)
    # At rest every force is radial: λ = −(N − 1)/4 with the force 2λp.
    np.testing.assert_allclose(motion.lam["sphere"][-1], -4.75, rtol=0, atol=1e-8)
