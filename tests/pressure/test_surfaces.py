"""Limit surfaces as objects: wrench to twist and back, inside or outside, smooth fits."""

import numpy as np
import pytest

import stationary as st


@pytest.fixture(scope="module")
def part():
    rng = np.random.default_rng(1)
    return st.limit_surface(
        st.slider(points=rng.normal(size=(7, 2)), weights=rng.uniform(0.2, 1, 7))
    )


def test_wrench_and_twist_are_each_others_inverse(part):
    rng = np.random.default_rng(2)
    for twist in rng.normal(size=(8, 3)):
        wrench = part.wrench(twist)
        back = part.twist(wrench)
        np.testing.assert_allclose(
            back / np.linalg.norm(back), twist / np.linalg.norm(twist), atol=1e-8
        )
        assert part.factor(wrench) == pytest.approx(1.0, rel=1e-10)
        assert part.holds(0.999 * wrench) and not part.holds(1.001 * wrench)
        assert part.support(twist) == pytest.approx(wrench @ twist)


def test_the_surface_lies_within_its_support_planes(part):
    # Convexity: no wrench does more work on a twist than the one of that twist.
    rng = np.random.default_rng(3)
    for twist in rng.normal(size=(5, 3)):
        assert np.max(part.wrenches @ twist) <= part.support(twist) * (1 + 1e-12)


def test_a_finger_sticks_between_the_edges_of_the_motion_cone():
    feet, loads = [(-1, 0), (1, 0), (0, 1.5)], [0.3, 0.4, 0.3]
    surface = st.limit_surface(st.slider(points=feet, weights=loads))
    left, right = surface.motion_cone((0.2, -0.5), (0, 1), 0.3)
    for share, sticks in ((0.5, True), (-0.3, False), (1.3, False)):
        a, b = (np.arctan2(v[1], v[0]) for v in (left, right))
        way = a + share * (b - a)
        finger = st.Pusher(
            point=(0.2 + float(np.cos(way)) * st.t, -0.5 + float(np.sin(way)) * st.t),
            edge=((-1, -0.5), (1, -0.5)), friction=0.3,
        )  # fmt: skip
        step = st.minimum_power(st.slider(points=feet, weights=loads, pusher=finger))
        assert (step.modes["pusher"] == "sticks") == sticks


def test_a_line_contact_keeps_a_part_that_it_pushes_straight(part):
    ends = [(-2, -3), (2, -3)]
    centre = part.weights @ part.points / part.weights.sum()
    ends = [(centre[0] - 1, -3), (centre[0] + 1, -3)]
    assert part.sticks((0, 1, 0), ends, (0, 1), 0.2)
    assert not part.sticks((1, 1, 0), ends, (0, 1), 0.2)
    assert not part.sticks((0, 0, 1), ends, (0, 1), 0.2)


@pytest.mark.slow
def test_a_line_contact_keeps_what_it_pushes_along_within_its_cone_of_friction():
    # A translation is resisted at the centre of pressure, along itself: friction of the edge holds
    # it up to its cone, as long as the line through the centre meets the edge.
    side = np.linspace(-0.9, 0.9, 10)
    grid = np.stack(np.meshgrid(side, side), axis=-1).reshape(-1, 2)
    plate = st.limit_surface(st.slider(points=grid, weights=0.01), count=50)
    wide, narrow = (plate.pushed([(-a, -1), (a, -1)], (0, 1), 0.4) for a in (0.6, 0.2))
    for slope, kept in ((0.39, True), (-0.39, True), (0.41, False), (-0.41, False)):
        assert wide.keeps((slope, 1, 0)) == kept
    assert narrow.keeps((0.19, 1, 0)) and not narrow.keeps((0.35, 1, 0))
    # Mirrored parts have mirrored cones, and turn about mirrored centres.
    first, last = wide.cones
    np.testing.assert_allclose(first, last[::-1] * [-1, 1], atol=1e-9 * np.abs(last).max())
    centres = wide.centres(21)
    assert len(centres) and {tuple(np.round(c, 6)) for c in centres} == {
        (round(-x, 6), round(y, 6)) for x, y in centres
    }
    # A push through the centre does not turn the part.
    middle = plate.pushed((0, -1), (0, 1), 0.0)
    np.testing.assert_allclose(middle.cones[0][:, 0], 0, atol=1e-9)
    assert len(wide.plot().axes) == 1 and len(plate.plot().axes) == 2


def test_an_ellipsoid_comes_back_and_a_quartic_is_closer():
    rng = np.random.default_rng(4)
    A = np.diag([1.0, 2.0, 5.0])
    F = rng.normal(size=(40, 3))
    F /= np.sqrt(np.einsum("ki,ij,kj->k", F, A, F))[:, None]
    found = st.fit_limit_surface(wrenches=F, twists=F @ A)
    np.testing.assert_allclose(found.forms[0], A, atol=1e-6)
    assert found.angle < 1e-6
    square = st.limit_surface(
        st.slider(outline=[(-1, -1), (1, -1), (1, 1), (-1, 1)], count=100), count=120
    )
    ellipsoid, quartic = square.fitted("ellipsoid"), square.fitted("quartic")
    assert quartic.misfit <= ellipsoid.misfit and quartic.angle <= ellipsoid.angle + 1e-9
    inside = 0.5 * square.wrenches
    assert np.all(quartic.holds(inside)) and not np.any(quartic.holds(3 * inside))


def fits(kind, unit):
    """Fits to random parts in some unit of length, far from their origin too."""
    rng = np.random.default_rng(5)
    for shift in (0.0, 3.0):
        feet = unit * (rng.normal(size=(6, 2)) + shift)
        part = st.slider(points=feet, weights=rng.uniform(0.2, 1, 6))
        yield rng, st.limit_surface(part, count=120).fitted(kind)


@pytest.mark.one_in(2)
@pytest.mark.parametrize(
    ("kind", "unit"), [("ellipsoid", 1e3), ("quartic", 1.0), ("quartic", 1e-3)]
)
def test_wrench_and_twist_of_a_fit_are_each_others_inverse(kind, unit):
    scale = np.array([1, 1, 1 / unit])
    for rng, surface in fits(kind, unit):
        for twist in rng.normal(size=(10, 3)):
            wrench = surface.wrench(twist * scale)
            assert surface.value(wrench) == pytest.approx(1.0, abs=1e-12)
            back = surface.twist(wrench) / scale
            np.testing.assert_allclose(
                back / np.linalg.norm(back), twist / np.linalg.norm(twist), atol=1e-9
            )
            # No wrench on the surface does more work: support planes.
            others = np.array([surface.wrench(v * scale) for v in rng.normal(size=(5, 3))])
            power = surface.support(twist * scale)
            assert np.all(others @ (twist * scale) <= power * (1 + 1e-12))


def ellipsoid(force, moment):
    form = np.diag([1 / force**2, 1 / force**2, 1 / moment**2])
    rng = np.random.default_rng(6)
    wrenches = rng.normal(size=(30, 3)) * [force, force, moment]
    wrenches /= np.sqrt(np.einsum("ki,ij,kj->k", wrenches, form, wrenches))[:, None]
    return st.fit_limit_surface(wrenches=wrenches, twists=wrenches @ form)


@pytest.mark.parametrize("length", [0.04, 40.0])
def test_the_motion_cone_of_an_ellipsoid_is_wider_than_that_of_friction(length):
    # A finger at the distance b below the centre, forces f(∓μ, 1): its twist is normal to the
    # ellipsoid, (∓μ, 1, ∓μ b/c²) with c = moment/force, so that it moves along ∓μ (1 + b²/c²).
    force, mu, b, c = 2.0, 0.3, 1.5 * length, 0.7 * length
    cone = ellipsoid(force, force * c).motion_cone((0, -b), (0, 1), mu)
    wide = mu * (1 + b**2 / c**2)
    np.testing.assert_allclose(sorted(cone[:, 0] / cone[:, 1]), [-wide, wide], rtol=1e-6)
    # Velocities at which the force (∓μ, 1) works with a power of one, in every unit.
    np.testing.assert_allclose(cone[:, 1] + mu * np.abs(cone[:, 0]), 1.0, rtol=1e-9)


def test_stable_pushes_of_an_ellipsoid_are_those_of_lynch_and_mason():
    # About (X, Y) a line contact from (−w, −b) to (w, −b) needs the force (Y, −X) and the moment
    # c², up to a factor: within the cone if |Y| ≤ μ|X|, through the contact if |c² − bY| ≤ w|X|.
    force, mu, b, w, c = 2.0, 0.35, 0.05, 0.04, 0.03
    surface = ellipsoid(force, force * c)
    rng = np.random.default_rng(7)
    kept = 0
    for X, Y in rng.uniform(-0.15, 0.15, (150, 2)):
        sense = -np.sign(X)
        slack = min(mu * abs(X) - abs(Y), w * abs(X) - abs(c**2 - b * Y)) / abs(X)
        if abs(slack) > 1e-3:
            twist = sense * np.array([Y, -X, 1.0])
            ends = [(-w, -b), (w, -b)]
            assert surface.sticks(twist, ends, (0, 1), mu) == (slack > 0)
            kept += slack > 0
    assert kept > 10


def test_bad_surfaces_are_refused_in_three_parts(part):
    for ask in (
        lambda: part.twist((1, 2)),
        lambda: part.factor((0, 0, 0)),
        lambda: part.fitted("cube"),
        lambda: part.motion_cone((0, 0), (0, 0), 0.3),
    ):
        with pytest.raises(st.StatementError) as error:
            ask()
        assert str(error.value).count("\n") == 2
