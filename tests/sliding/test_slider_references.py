"""Pushed rigid parts against `references.md`, section 4a: rods, discs, squares, tripods, bounds."""

import numpy as np
import pytest
from scipy.special import ellipe, ellipk

import stationary as st


def pushed(part, point, velocity=(0, 1)):
    """The part with the material point `point` moved with a velocity."""
    x, y, phi = part.coordinates
    c, s = st.cos(phi), st.sin(phi)
    (a, b), (u, v) = point, velocity
    return part + st.System(
        constraints=[
            st.Constraint(x + a * c - b * s - a - u * st.t, name="x"),
            st.Constraint(y + a * s + b * c - b - v * st.t, name="y"),
        ]
    )


def rod(count, law=lambda w, on: st.Friction(w, on=on)):
    """A uniform rod of length 1 with its centre at the origin, by midpoints."""
    x, y, phi = st.coordinates("x y phi")
    at = (np.arange(count) + 0.5) / count - 0.5
    support = st.each(
        lambda p: law(1 / count, (x + st.cos(phi) * p, y + st.sin(phi) * p)), at, name="rod"
    )
    return st.System(friction=[support], coordinates=[x, y, phi])


# -- rods (QS-ROD-END) -----------------------------------------------------------------------------


@pytest.mark.parametrize("offset, r, force", [
    (0.1, 0.409901951359278483, 0.81980390271855696601),
    (0.25, 0.3090169943749474241, 0.6180339887498948482),
    (0.5, 0.2071067811865475244, 0.4142135623730950488),
])  # fmt: skip
def test_a_rod_pushed_off_centre_turns_about_the_known_point(offset, r, force):
    count = 1000
    part = rod(count)
    step = st.minimum_power(pushed(part, (offset, 0)))
    # The centre sits on a support point: it is known to half the distance between two.
    assert -step.centre(part)[0] == pytest.approx(r, abs=0.5 / count)
    assert step.centre(part)[1] == pytest.approx(0, abs=1e-9)
    # The power is flat there: the force is known to the square of it.
    assert step.power == pytest.approx(force, abs=1.0 / count**2)
    assert step.lam["y"] == pytest.approx(step.power, rel=1e-9)


def test_a_rod_pushed_at_its_end_turns_about_a_point_at_its_length_over_root_2():
    step = st.minimum_power(pushed(rod(1500), (0.5, 0)))
    assert 1 / step["phi.dot"] == pytest.approx(1 / np.sqrt(2), abs=0.5 / 1500)
    assert step.power == pytest.approx(np.sqrt(2) - 1, abs=1e-6)


@pytest.mark.parametrize("power, ratio", [
    (0.5, 0.684331236534241379), (1, 0.666666666666666667), (2, 0.640850778954387003),
    (3, 0.622731084668631613),
])  # fmt: skip
def test_a_rod_in_a_power_law_fluid_turns_about_the_known_point(power, ratio):
    part = rod(1000, lambda w, on: st.Drag(w, power, on=on))
    step = st.minimum_dissipation(pushed(part, (0.5, 0)))
    # Midpoints integrate |s|ⁿ⁺¹ to the order n + 2 about its zero, and 2 elsewhere.
    assert 1 / step["phi.dot"] == pytest.approx(ratio, abs=2e-5 if power < 1 else 2e-6)
    assert st.newton(pushed(rod(40, lambda w, on: st.Drag(w, power, on=on)), (0.5, 0)))[
        "phi.dot"
    ] == pytest.approx(
        st.minimum_dissipation(pushed(rod(40, lambda w, on: st.Drag(w, power, on=on)), (0.5, 0)))[
            "phi.dot"
        ],
        rel=1e-9,
    )


# -- limit surfaces (QS-LIMITSURF) -----------------------------------------------------------------

DISC = {
    0.1: (0.09987484325957124, 0.6616760547304179),
    0.5: (0.4838437556301258, 0.5477483547722014),
    0.9: (0.795759308899949, 0.333211690733227),
    1.1: (0.8813538787583278, 0.248916504060644),
    2: (0.9676875112602516, 0.1278091982841511),
    5: (0.9949746819136282, 0.05016857356983562),
}


@pytest.mark.one_in(2)
@pytest.mark.parametrize("k", DISC)
def test_the_limit_surface_of_a_disc_is_that_of_its_integrals(k):
    surface = st.limit_surface(st.slider(radius=1.0, limit=1.0, count=10_000), count=50)
    # About a centre at distance k on the x axis, the origin moves with −k across it.
    force = surface.wrench((0, -k, 1))
    assert -force[1] == pytest.approx(DISC[k][0], abs=1e-4)
    assert force[2] == pytest.approx(DISC[k][1], abs=1e-4)
    assert force[0] == pytest.approx(0, abs=1e-4)


@pytest.mark.parametrize("count", [1, 30, 1000])
def test_the_greatest_moment_of_a_disc_is_exact_however_few_its_points(count):
    # 2/3 of the limit times the radius.
    surface = st.limit_surface(st.slider(radius=3.0, limit=5.0, count=count), count=50)
    np.testing.assert_allclose(surface.wrench((0, 0, 1)), [0, 0, 10], atol=1e-13)


def test_the_disc_numbers_are_those_of_elliptic_integrals():
    for k in (0.5, 2.0):

        def mean(k):
            if k < 1:
                return 4 / 9 / np.pi * ((7 + k**2) * ellipe(k**2) - 4 * (1 - k**2) * ellipk(k**2))
            m = 1 / k**2
            return 4 / 9 / np.pi * (k * (7 + k**2) * ellipe(m)
                                    - (k**2 - 1) * (k**2 + 3) / k * ellipk(m))  # fmt: skip

        slope = (mean(k + 1e-5) - mean(k - 1e-5)) / 2e-5
        np.testing.assert_allclose(DISC[k], (slope, mean(k) - k * slope), rtol=1e-8)


@pytest.mark.parametrize("k, F, M", [(0.5, 0.2586579046113417, 0.9342154576676941),
                                     (1.5, 0.8773282152447546, 0.3559338986690627)])  # fmt: skip
def test_the_limit_surface_of_a_ring(k, F, M):
    angle = 2 * np.pi * np.arange(1000) / 1000
    ring = st.slider(points=np.stack([np.cos(angle), np.sin(angle)], axis=1), weights=1e-3)
    force = st.limit_surface(ring, count=50).wrench((0, -k, 1))
    np.testing.assert_allclose(force, [0, -F, M], atol=1e-9)


@pytest.mark.one_in(2)
@pytest.mark.parametrize("k, F, M", [
    (0.2, 0.3485490552, 0.3479468803), (0.6, 0.8587083344, 0.1608077514),
    (1, 0.9534354657, 0.08998504168), (2, 0.989235815, 0.04259631975),
])  # fmt: skip
def test_the_limit_surface_of_a_square(k, F, M):
    square = [(-0.5, -0.5), (0.5, -0.5), (0.5, 0.5), (-0.5, 0.5)]
    surface = st.limit_surface(st.slider(outline=square, limit=1.0, count=20_000), count=50)
    np.testing.assert_allclose(surface.wrench((0, -k, 1)), [0, -F, M], atol=1e-4)


@pytest.mark.one_in(3)
@pytest.mark.parametrize("outline, moment", [
    ([(-0.5, -0.5), (0.5, -0.5), (0.5, 0.5), (-0.5, 0.5)], 0.382597858232106345672383),
    ([(-1, -0.5), (1, -0.5), (1, 0.5), (-1, 0.5)], 0.59323341606894986284),
    ([(-0.5, -0.5 / 3**0.5), (0.5, -0.5 / 3**0.5), (0, 1 / 3**0.5)], 0.26561441733680951643),
], ids=["square", "rectangle 1 x 2", "equilateral triangle"])  # fmt: skip
def test_the_greatest_friction_moment_of_a_polygon(outline, moment):
    part = st.slider(outline=outline, limit=1.0, count=20_000)
    assert st.limit_surface(part, count=50).wrench((0, 0, 1))[2] == pytest.approx(moment, abs=1e-4)
    # The same by the power of turning it in place.
    x, y, phi = part.coordinates
    few = st.slider(outline=outline, limit=1.0, count=900)
    step = st.minimum_power(few + st.System(constraints=[x, y, phi - st.t]))
    assert step.power == pytest.approx(moment, abs=2e-3)


@pytest.mark.parametrize("part, moment", [
    (st.slider(radius=2.0, limit=3.0, count=800), 4.0),
    (st.slider(points=[(-1, 0), (1, 0), (0, 1), (0, -1)], weights=0.25), 1.0),
], ids=["disc", "four points"])  # fmt: skip
def test_the_greatest_moment_is_the_limit_of_a_torque(part, moment):
    x, y, phi = part.coordinates
    found = st.limit_load(part, load=st.Load(1.0, on=phi, name="torque"))
    assert found.factor == pytest.approx(moment, rel=1e-3)
    assert found.static == pytest.approx(found.kinematic, rel=1e-8)


def test_limit_surfaces_are_convex_and_twists_are_normal_to_them():
    rng = np.random.default_rng(4)
    part = st.slider(points=rng.normal(size=(7, 2)), weights=rng.uniform(0.5, 2, 7))
    surface = st.limit_surface(part, count=400)
    # Maximum dissipation: no other wrench of the surface gives a twist more power.
    power = surface.twists @ surface.wrenches.T
    own = np.diag(power)
    assert np.all(power <= own[:, None] + 1e-9)


@pytest.mark.one_in(2)
@pytest.mark.parametrize("c, k", [
    (0.25, 1.19275168487722375), (0.5, 0.826956554619085369), (1, 0.547110267736727537),
    (2, 0.313160622879447981),
])  # fmt: skip
def test_a_pushed_disc_turns_about_the_known_centre(c, k):
    part = st.slider(radius=1.0, limit=1.0, count=1500)
    step = st.minimum_power(pushed(part, (c, 0)))
    x0, y0 = step.centre(part)
    assert -x0 == pytest.approx(k, abs=5e-3)
    assert y0 == pytest.approx(0, abs=5e-3)


# -- tripods (QS-TRIPOD) ---------------------------------------------------------------------------

TRIPOD = [(0, 1), (-np.sqrt(3) / 2, -0.5), (np.sqrt(3) / 2, -0.5)]


@pytest.mark.parametrize("point, velocity, omega, power, centre", [
    ((0.8, 0.1), (0, 1.0), 0.5138151984412235, 0.7226532507544556, (-1.1462250299985868, 0.1)),
    ((0.5, -0.5), (0.6, 0.8), 0.5049882037778985, 0.7776506036549908,
     (-1.0841954208337352, 0.6881465656253014)),
])  # fmt: skip
def test_a_tripod_moves_as_computed_independently(point, velocity, omega, power, centre):
    part = st.slider(points=TRIPOD, weights=1 / 3)
    for find in (st.minimum_power, st.minimum_dissipation, st.newton):
        step = find(pushed(part, point, velocity))
        assert step["phi.dot"] == pytest.approx(omega, abs=1e-12)
        assert step.power == pytest.approx(power, abs=1e-12)
        assert step.centre(part) == pytest.approx(centre, abs=1e-10)


# -- unknown pressure (QS-PS-TIP) ------------------------------------------------------------------


def frictionless(part, contact):
    """Push along y, without friction, at a point of the part: it may slide along the fence."""
    x, y, phi = part.coordinates
    place = y + contact[0] * st.sin(phi) + contact[1] * st.cos(phi)
    fence = st.Contact(place - contact[1] - st.t, name="fence")
    return part + st.System(contacts=[fence])


@pytest.mark.parametrize("c", [0.25, 0.5, 0.9])
def test_no_pressure_in_a_disc_turns_it_about_a_point_beyond_the_tip_bound(c):
    # Peshkin and Sanderson: at most a²/c from the centre of mass along the push's normal.
    rng = np.random.default_rng(int(100 * c))
    for _ in range(5):
        r, angle = np.sqrt(rng.uniform(size=6)), rng.uniform(0, 2 * np.pi, 6)
        P = np.stack([r * np.cos(angle), r * np.sin(angle)], axis=1)
        P = np.vstack([P, -P])  # the centre of mass at the middle
        w = np.tile(rng.dirichlet(np.ones(6)), 2) / 2
        part = st.slider(points=P, weights=w)
        step = st.minimum_power(frictionless(part, (c, 0.3)))
        x0, _ = step.centre(part)
        assert -x0 <= 1 / c + 1e-9
        # The slowest rotation, per way pushed.
        assert step["phi.dot"] >= c / (1 + c**2) - 1e-9


@pytest.mark.parametrize("c", [0.25, 0.5, 0.9])
def test_a_dipod_on_the_rim_attains_the_tip_bound(c):
    # Two points on the rim along the push.
    part = st.slider(points=[(0, -1), (0, 1)], weights=0.5)
    step = st.minimum_power(frictionless(part, (c, 0.0)))
    assert -step.centre(part)[0] == pytest.approx(1 / c, rel=1e-9)
    assert step["phi.dot"] == pytest.approx(c / (1 + c**2), rel=1e-9)


# -- a finger with friction (QS-VOTE) --------------------------------------------------------------


@pytest.mark.one_in(2)
@pytest.mark.parametrize("seed", range(12))
def test_masons_vote_gives_the_sign_of_rotation(seed):
    rng = np.random.default_rng(seed)
    points = rng.normal(size=(5, 2))
    w = rng.dirichlet(np.ones(5))
    points -= w @ points  # centre of friction at the origin
    mu = float(rng.uniform(0.05, 1.5))
    # A finger against an edge along x at height −1, pushing with some velocity upwards.
    s = float(rng.uniform(-1, 1))
    way = float(rng.uniform(-0.45, 0.45) * np.pi)
    u = np.array([np.sin(way), np.cos(way)])
    finger = st.Pusher(
        point=(s + u[0] * st.t, -1 + u[1] * st.t), edge=((-9, -1), (9, -1)), friction=mu
    )
    part = st.slider(points=points, weights=w, pusher=finger)
    step = st.minimum_power(part)
    half = np.arctan(mu)
    rays = [u, (-np.sin(half), np.cos(half)), (np.sin(half), np.cos(half))]
    # On which side of the centre each ray from (s, −1) passes: its moment about the origin.
    votes = [np.sign(s * ray[1] + 1 * ray[0]) for ray in rays]
    assert np.sign(step["phi.dot"]) == np.sign(sum(votes))
    # And which of the three cases holds is what the contact says.
    normal, friction = step.lam["pusher"], step.forces["pusher"]
    friction = float(np.atleast_1d(friction)[0])
    assert normal > 0
    if step.modes["pusher"] == "sticks":
        assert abs(friction) <= mu * normal * (1 + 1e-9)
    else:
        way = {"slides forward": 1, "slides back": -1}[step.modes["pusher"]]
        assert friction == pytest.approx(-way * mu * normal, rel=1e-8)
    balance = st.newton(part)
    np.testing.assert_allclose(balance.v, step.v, atol=1e-8 * max(1, np.abs(step.v).max()))


# -- sampling --------------------------------------------------------------------------------------


@pytest.mark.parametrize("outline", [
    [(0, 0), (2, 0), (2, 1), (1, 1), (1, 3), (0, 3)],
    [(0, 3), (1, 3), (1, 1), (2, 1), (2, 0), (0, 0)],
], ids=["counterclockwise", "clockwise"])  # fmt: skip
def test_the_sampling_of_an_outline_has_its_area_centre_and_inertia(outline):
    surface = st.limit_surface(st.slider(outline=outline, limit=4.0, count=3000), count=50)
    P, w = surface.points, surface.weights
    assert w.sum() == pytest.approx(4.0, rel=1e-12)
    # An L of two rectangles: area 4, centre (2·1·... by hand).
    np.testing.assert_allclose(w @ P / w.sum(), [(2 * 1 + 2 * 0.5) / 4, (2 * 0.5 + 2 * 2) / 4],
                               atol=1e-12)  # fmt: skip
    about = [2 * (4 / 12 + 1), 2 * (1 / 12 + 0.25)]
    assert w @ P[:, 0] ** 2 == pytest.approx(sum(about), rel=1e-3)


def test_pressure_weighs_the_support_and_friction_heavier_on_one_side_shifts_the_centre():
    part = st.slider(outline=[(0, 0), (1, 0), (1, 1), (0, 1)], limit=2.0, count=1500,
                     pressure=lambda x, y: x)  # fmt: skip
    surface = st.limit_surface(part, count=50)
    # ∫ x·x / ∫ x = 2/3.
    assert surface.weights @ surface.points[:, 0] / 2 == pytest.approx(2 / 3, abs=1e-3)
    # Pushed through that centre of friction it does not turn.
    step = st.minimum_power(pushed(part, (float(surface.weights @ surface.points[:, 0] / 2), 0.0)))
    assert step["phi.dot"] == pytest.approx(0, abs=1e-6)


# -- parameters ------------------------------------------------------------------------------------


def test_the_friction_of_a_whole_outline_may_be_a_parameter():
    mu, W = st.parameters(mu=0.3, W=10.0)
    part = st.slider(outline=[(-1, -1), (1, -1), (1, 1), (-1, 1)], limit=mu * W, count=400)
    for values, total in (({}, 3.0), ({mu: 0.5}, 5.0), ({mu: 0.1, W: 7.0}, 0.7)):
        # Dragged without turning it takes its limit times the way.
        straight = part + st.System(constraints=[part.coordinates[2], part.coordinates[0] - st.t])
        assert st.minimum_power(straight, params=values).power == pytest.approx(total, rel=1e-12)
        force = st.limit_surface(part, params=values, count=50).wrench((1, 0, 0))
        np.testing.assert_allclose(force, [total, 0, 0], atol=1e-12)
    with pytest.raises(st.StatementError, match="the friction limits of a part are not all zero"):
        st.limit_surface(part, params={mu: -1.0})
    rough = st.slider(points=[(0, 0)], weights=1 + part.coordinates[0] ** 2)
    with pytest.raises(st.StatementError, match="the limit surface of a part changes as it moves"):
        st.limit_surface(rough)
    turned = [st.minimum_power(pushed(part, (0.8, 0.1)), params={mu: m}) for m in (0.1, 0.9)]
    np.testing.assert_allclose(turned[0].v, turned[1].v, atol=1e-10)
    assert turned[1].power == pytest.approx(9 * turned[0].power, rel=1e-10)


def test_weights_of_points_may_be_parameters_expressions_and_numbers_together():
    # QS-TRIPOD: of two points the heavier stays at rest, and which is heavier a parameter says.
    w = st.parameters(w=0.8)
    part = st.slider(points=[(0, 0), (1, 0), (2, 0)], weights=[w, 1 - w, 0])
    X, Y, turn = part.coordinates
    hand = (X + 1.5 * st.cos(turn) - 1.5, Y + 1.5 * st.sin(turn) - st.t)
    both = part + st.System(constraints=hand)
    for weight in (0.8, 0.1, 0.3):
        step = st.minimum_power(both, params={w: weight})
        # One unknown is left, ω: the power is w |1 − 1.5 ω| + (1 − w) |1 − 0.5 ω|.
        grid = np.array([0.0, 2 / 3, 2.0])
        best = np.min(weight * abs(1 - 1.5 * grid) + (1 - weight) * abs(1 - grid / 2))
        assert step.power == pytest.approx(best, rel=1e-10)
        plain = st.slider(points=[(0, 0), (1, 0), (2, 0)], weights=[weight, 1 - weight, 0])
        known = st.minimum_power(plain + st.System(constraints=hand))
        np.testing.assert_allclose(step.v, known.v, atol=1e-12)
        np.testing.assert_allclose(step.forces["slider"], known.forces["slider"], atol=1e-12)
    with pytest.raises(st.StatementError, match=r"limit of friction 'slider\[1\]' is negative"):
        st.minimum_power(both, params={w: 1.5})


def test_an_outline_that_repeats_its_first_corner_is_the_same():
    square = [(0, 0), (1, 0), (1, 1), (0, 1)]
    once, twice = (st.slider(outline=o, limit=2.0) for o in (square, [*square, square[0]]))
    for twist in ((1, 0, 0), (0, 1, 0), (0.3, -0.2, 1)):
        a, b = (st.limit_surface(part).wrench(twist) for part in (once, twice))
        np.testing.assert_allclose(a, b, rtol=1e-12)
    # Pushed along x, all friction acts at the middle.
    np.testing.assert_allclose(st.limit_surface(twice).wrench((1, 0, 0)), [2, 0, -1], atol=1e-9)
