"""Signs beside what is many powers of ten stiffer: right, or told as not decided; never guessed."""

import numpy as np
import pytest

import stationary as st

x, y = st.coordinates("x y")


def valley(seed):
    """Return an energy whose valley is straight or bent, a place on its ground, and its kind.

    Along the ground it is a sum of powers, so that its signs are known; across, springs are 1e10 to
    1e22 times as stiff. It lies anywhere, turned, in any unit.
    """
    chance = np.random.default_rng(seed)
    n = int(chance.integers(2, 5))
    q = st.coordinates("q", shape=(n,))
    stiff, L, E = (10.0 ** chance.uniform(a, b) for a, b in ((10, 22), (-9, 9), (-9, 9)))
    centre = chance.uniform(-2, 2, n) * (chance.random() < 0.5)
    turn = np.linalg.qr(chance.standard_normal((n, n)))[0]
    own = [sum(float(turn[j, i]) * (q[i] / L - centre[i]) for i in range(n)) for j in range(n)]
    across = int(chance.integers(1, n))
    bent = chance.uniform(-1, 1) * (chance.random() < 0.5)
    power, signs = int(chance.choice([2, 2, 2, 3, 4])), chance.choice([-1, 1], n - across)
    energy = sum(stiff * (own[j] + bent * own[-1] ** 2) ** 2 / 2 for j in range(across))
    for sign, u in zip(signs.tolist(), own[across:]):
        energy += sign * chance.uniform(0.3, 2) * u**power / power
    return q, E * energy, centre * L, bool(np.all(signs > 0)) and power != 3


@pytest.mark.one_in(4)
@pytest.mark.parametrize("seed", range(30))
def test_what_lies_along_a_valley_has_its_own_sign_however_stiff_its_sides_are(seed):
    q, energy, place, least = valley(seed)
    rest = st.statics(st.System(potential=energy), start={q: place}, kind="any")
    assert rest.stable in (least, None)
    moving = st.System(kinetic=(q.dot @ q.dot) / 2, potential=energy)
    assert st.linearize(moving, at=rest).stability != (
        "unstable (saddle)" if least else "marginally stable"
    )


@pytest.mark.one_in(2)
@pytest.mark.parametrize("stiff", 10.0 ** np.arange(2, 21, 2))
def test_a_pendulum_on_a_rod_of_any_stiffness_falls_from_its_top_and_not_from_its_bottom(stiff):
    rod = st.System(
        kinetic=(x.dot**2 + y.dot**2) / 2,
        potential=stiff * (st.sqrt(x**2 + y**2) - 1) ** 2 / 2 + 0.6 * x + 0.8 * y,
    )
    for side, stable in ((1, False), (-1, True)):
        rest = st.statics(rod, start={x: 0.6 * side, y: 0.8 * side}, kind="any")
        assert rest.stable is stable and not rest.family
        assert st.linearize(rod, at=rest).stability == rest.stability


@pytest.mark.parametrize("stiff", [1e8, 1e10, 1e12])
def test_a_place_beside_rest_at_which_slow_motions_are_others_is_refused(stiff):
    # The weight of the bob presses a rod that is as long as without it: nothing seems to turn it.
    rod = st.System(
        kinetic=(x.dot**2 + y.dot**2) / 2,
        potential=stiff * (st.sqrt(x**2 + y**2) - 1) ** 2 / 2 + 0.6 * x + 0.8 * y,
    )
    with pytest.raises(st.StatementError, match="neither an equilibrium nor a steady motion"):
        st.linearize(rod, at={x: 0.6, y: 0.8})


@pytest.mark.one_in(3)
@pytest.mark.parametrize("stiff", [1e2, 1e16, 1e18])
def test_a_branch_in_a_valley_is_told_as_it_is_or_not_at_all(stiff):
    # A spring beside the rod holds it up where its stiffness p is above the weight.
    p = st.parameters("p")
    rod = stiff * (st.sqrt(x**2 + y**2) - 1) ** 2 / 2 + y + p * x**2 / 2 + x**4
    held = st.System(kinetic=(x.dot**2 + y.dot**2) / 2, potential=rod)
    first = st.continuation(held, parameter=p, span=(0, 2), start={x: 0, y: 1}).branches[0]
    if first.decided:
        assert np.array_equal(first.stable, first.parameter > 1 + 1 / stiff)
    assert first.decided == (stiff < 1e10)


def degenerate(a, b):
    """Energies of which all, or some, of the stiffness at zero is nothing; and which are least."""
    return {
        "x⁴/4 + x³/3": (a**4 / 4 + a**3 / 3 + b**2 / 2, False),
        "x⁴": (a**4 / 4 + b**2 / 2, True),
        "−x⁴": (-(a**4) / 4 + b**2 / 2, False),
        "x²y": (a**2 * b, False),
        "three valleys": (a**3 - 3 * a * b**2, False),
        "x⁴ + y⁴ − 6x²y²": (a**4 + b**4 - 6 * a**2 * b**2, False),
        "x⁴ + y⁴ + 3x²y²": (a**4 + b**4 + 3 * a**2 * b**2, True),
        # Least along every straight line, and no minimum (Peano).
        "(y − x²)(y − 3x²)": ((b - a**2) * (b - 3 * a**2), False),
        "(y + x²)²/2 + x⁴/2": (b**2 / 2 + a**2 * b + a**4, True),
    }


@pytest.mark.one_in(3)
@pytest.mark.parametrize("name", degenerate(x, y))
def test_what_has_no_stiffness_is_judged_by_its_energy_in_every_unit(name):
    chance = np.random.default_rng(len(name))
    for _ in range(4):
        L, E = 10.0 ** chance.uniform(-12, 12, 2)
        angle, centre = chance.uniform(0, 2 * np.pi), chance.uniform(-2, 2, 2) * chance.integers(2)
        c, s, (X, Y) = float(np.cos(angle)), float(np.sin(angle)), (x / L, y / L) - centre
        energy, least = degenerate(c * X + s * Y, c * Y - s * X)[name]
        start = {x: centre[0] * L, y: centre[1] * L}
        rest = st.statics(st.System(potential=E * energy), start=start, kind="any")
        assert rest.stable is least


@pytest.mark.one_in(2)
@pytest.mark.parametrize("rounded", [1, -1])
@pytest.mark.parametrize("sign", [1, -1])
def test_a_stiffness_that_is_rounding_of_others_has_no_sign(sign, rounded):
    # 0.1 + 0.2 − 0.3 is 5.6e-17: what cancels leaves the next power to decide.
    k = st.parameters(k0=0.1, k1=0.2, k2=0.3)
    for E, L in ((1, 1), (3.0, 1), (8.23, 1.2e6), (2e3, 1.5e-7), (7e10, 1.9)):
        X, Y = x / L, y / L
        energy = E * (rounded * (k[0] + k[1] - k[2]) * X**2 + sign * X**4 + Y**2)
        rest = st.statics(st.System(potential=energy), kind="any")
        assert rest.stable is (sign > 0) and rest.inertia == (1, 0, 1)


@pytest.mark.one_in(2)
@pytest.mark.parametrize("form", ["squares", "lengths"])
def test_links_next_to_level_tell_their_length_across_in_coordinates_of_their_own(form):
    X, Y = (st.coordinates(" ".join(f"{letter}{i}" for i in range(3))) for letter in "xy")
    ends = [(0, 0), *zip(X, Y)]
    apart = [(b[0] - a[0]) ** 2 + (b[1] - a[1]) ** 2 for a, b in zip(ends, ends[1:])]
    for k, tilt in enumerate(10.0 ** np.linspace(-9, -0.5, 8)):
        chance = np.random.default_rng(k)
        L = 10.0 ** chance.integers(-6, 7)
        rows = [(d - L**2) / L if form == "squares" else st.sqrt(d) - L for d in apart]
        chain = st.System(potential=9.81 * sum(Y), constraints=[st.Constraint(r) for r in rows])
        turn = chance.uniform(-1.2, 0.3, 3)
        turn[chance.integers(3)] = tilt
        legs = np.cumsum(L * np.stack([np.cos(turn), np.sin(turn)]), axis=1)
        start = dict(zip((*X, *Y), legs.ravel()))
        assert st.statics(chain, start=start)[Y[2]] == pytest.approx(-3 * L)


@pytest.mark.one_in(2)
@pytest.mark.parametrize("stiff", 10.0 ** np.arange(2, 21, 2))
def test_a_slow_motion_that_is_fed_is_not_called_stable_beside_a_fast_one(stiff):
    # Over x − y a spring of any stiffness; over x + y one of stiffness one, and damping c.
    for c in (0.1, -0.1):
        pair = st.System(
            kinetic=(x.dot**2 + y.dot**2) / 2,
            potential=stiff * (x - y) ** 2 / 2 + (x + y) ** 2 / 4,
            dissipation=c * (x.dot + y.dot) ** 2 / 4,
        )
        rest, lin = st.statics(pair, kind="any"), st.linearize(pair, at={x: 0, y: 0})
        assert rest.stable in (c > 0, None) and lin.stability == rest.stability


@pytest.mark.parametrize(("away", "stiff"), [(5e6, 1e9), (1e5, 1e12), (5e6, 1e12)])
@pytest.mark.parametrize("begin", [0.3, 10.0])
def test_a_soft_spring_far_from_the_origin_pulls_beside_a_stiff_one(begin, away, stiff):
    # As on a map: last digits of the place are worth more of the stiff spring than all that pulls.
    rope = stiff * (x - y - 1) ** 2 / 2 + (x - away) ** 2 - 3 * y
    system, start = st.System(potential=rope), {x: away + begin + 1, y: away + begin}
    # Last digits change the energy by k ulp², and the soft spring by as much over this way.
    known = 100 * np.sqrt(stiff) * np.spacing(away)
    rest = st.statics(system, start=start)
    assert rest.stable and rest[x] - away == pytest.approx(1.5, abs=known)
    rest = st.statics(system, start=start, kind="any", throw=False)
    # Where its stiffness is not told from none, it is not told to rest somewhere else.
    assert rest.status == "stalled" or rest[x] - away == pytest.approx(1.5, abs=known)


@pytest.mark.parametrize("unit", [1.0, 3.7e9])
def test_what_rests_is_found_where_it_rests(unit):
    # A shallow truss with a small load across, and the middle between three magnets.
    u, v = x / unit, y / unit
    bars = [(st.sqrt((u - side) ** 2 + v**2) - np.sqrt(1.25)) ** 2 / 2 for side in (-1, 1)]
    magnets = [
        -0.15 / st.sqrt((u - np.cos(a)) ** 2 + (v - np.sin(a)) ** 2 + 0.04)
        for a in 2 * np.pi * np.arange(3) / 3
    ]
    truss = st.System(potential=sum(bars) + 0.02 * v + 1e-3 * u)
    first = st.statics(truss, start={x: 0, y: 0.5 * unit}, kind="any")
    between = st.System(potential=(u**2 + v**2) / 4 + sum(magnets))
    for system, place in ((truss, first.q), (between, np.zeros(2))):
        for kind in ("any", "minimum"):
            rest = st.statics(system, start=dict(zip((x, y), place)), kind=kind)
            assert rest.stable and rest.steps < 60
            assert rest.q == pytest.approx(place, abs=1e-12 * unit)
