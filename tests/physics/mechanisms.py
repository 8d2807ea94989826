"""Constrained systems whose motions are published or known in closed form."""

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
