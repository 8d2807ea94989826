"""Bounds over all pressures: closed forms, brute force, and what the duals name."""

import numpy as np
import pytest
from scipy.optimize import linprog

import stationary as st
from stationary.result.least_power import motions
from stationary.solve.pressure.bounds.proven import covered
from stationary.solve.pressure.bounds.vote import verdict, votes_of
from stationary.solve.pressure.duals.lowest import lowest
from stationary.solve.pressure.envelope import fields
from stationary.solve.pressure.programs.lines import Pencil
from stationary.solve.pressure.programs.programs import Programs
from stationary.solve.pressure.programs.single import EXACT, Single
from stationary.solve.pressure.pushed import Scene
from stationary.solve.pressure.support import Rest

CARD = [(-0.05, -0.03), (0.05, -0.03), (0.05, 0.03), (-0.05, 0.03)]


def disc(lever, radius=1.0, speed=1):
    finger = st.Pusher(
        point=(lever, speed * st.t - radius), edge=((-9 * radius, -radius), (9 * radius, -radius))
    )
    return st.slider(radius=radius, weight=2.0, centre=(0, 0), pusher=finger)


def turning(points, weights, part, pusher):
    return st.minimum_power(st.slider(points=points, weights=weights, pusher=pusher))


def star(rng):
    """A random simple polygon around its centre, and a random edge to push at."""
    while True:
        n = int(rng.integers(3, 8))
        angle = np.sort(rng.uniform(0, 2 * np.pi, n))
        corners = np.c_[np.cos(angle), np.sin(angle)] * rng.uniform(0.3, 1, (n, 1))
        way = np.roll(corners, -1, axis=0) - corners
        side = way[:, 0] * -corners[:, 1] - way[:, 1] * -corners[:, 0]
        gaps = np.diff(np.append(angle, angle[0] + 2 * np.pi))
        if gaps.max() < 0.9 * np.pi and side.min() > 0.05:
            return corners


def pushed(corners, rng, size=1.0, friction=0.0):
    """A finger at a random place of a random edge, moving into the part."""
    k = int(rng.integers(len(corners)))
    P, Q = corners[k], corners[(k + 1) % len(corners)]
    place = P + rng.uniform(0.1, 0.9) * (Q - P)
    way = (Q - P) / np.hypot(*(Q - P))
    normal = np.array([-way[1], way[0]])
    speed = size * (normal + rng.uniform(-0.3, 0.3) * way)
    point = tuple(place[i] + speed[i] * st.t for i in range(2))
    return st.Pusher(point=point, edge=(tuple(P), tuple(Q)), friction=friction), place, normal


@pytest.mark.parametrize(
    ("lever", "radius"), [(0.25, 1.0), (0.5, 1e-6), (0.9, 1e6), (0.02, 1.0), (2e-4, 1e-3)]
)
def test_a_disc_turns_about_the_tip_line_at_slowest(lever, radius):
    # Peshkin and Sanderson (1988): a²/c. The fastest rests on one atom at the rim and one at the
    # centre of rotation, whose force is all that friction gives: (2a + c)/(c (a + c)).
    part = disc(lever * radius, radius)
    found = st.pressure_bounds(part, of=part.coordinates[2].dot)
    assert found.low * radius == pytest.approx(lever / (1 + lever**2), rel=1e-9)
    assert found.high * radius == pytest.approx((2 + lever) / (lever * (1 + lever)), rel=1e-9)
    assert found.proof.turns == "counterclockwise"
    for dual in (found.proof.low, found.proof.high):
        assert dual is not None
        assert dual.lowest > -1e-8 and dual.residual < 1e-9
    (points, weights), _ = found.pressures
    np.testing.assert_allclose(np.sort(points[:, 1]), [-radius, radius], rtol=1e-6)
    assert weights.sum() == pytest.approx(2.0, rel=1e-9)
    # Next to the fastest, power is as good as straight from one motion to the other.
    for (points, weights), end in zip(found.pressures, (found.low, found.high)):
        pusher = st.Pusher(point=(lever * radius, st.t - radius),
                           edge=((-9 * radius, -radius), (9 * radius, -radius)))  # fmt: skip
        rate = turning(points, weights, part, pusher)["phi.dot"]
        assert rate == pytest.approx(end, rel=1e-6)


def test_the_other_side_is_the_mirror_image():
    low, high = (st.pressure_bounds(disc(c), of="phi.dot") for c in (0.4, -0.4))
    assert low.low == pytest.approx(-high.high, rel=1e-9)
    assert low.high == pytest.approx(-high.low, rel=1e-9)
    assert high.proof.turns == "clockwise"


def test_through_the_centre_it_does_not_turn():
    found = st.pressure_bounds(disc(0.0), of="phi.dot")
    assert found.low == found.high == 0 and found.proof.turns == "not at all"


def test_the_power_of_a_disc():
    # All weight at the centre costs nothing; the greatest is that of the slowest dipod, whose
    # atoms move at √(a² + r²) ω with r = a²/c.
    c = 0.5
    found = st.pressure_bounds(disc(c), of="power")
    r = 1 / c
    assert found.low == pytest.approx(0, abs=1e-12)
    assert found.high == pytest.approx(2.0 * np.hypot(1, r) / (r + c), rel=1e-7)


@pytest.mark.parametrize("seed", range(4))
def test_the_greatest_power_is_where_pressure_and_dual_meet(seed):
    # No pressure takes more than λ₀, since speeds are below λ₀ + λ·x on the whole support; the one
    # that is named takes as much, with the motion that takes least.
    rng = np.random.default_rng(seed)
    corners = star(rng)
    finger, *_ = pushed(corners, rng)
    part = st.slider(outline=corners, weight=2.0, centre=(0, 0), pusher=finger)
    power = st.pressure_bounds(part, of="power")
    dual, speed = power.proof.high, Scene.of(part, None, None, 0.0).speed
    assert dual is not None and dual.lowest >= -1e-13
    assert power.high == pytest.approx(2.0 * speed * dual.affine[0], rel=1e-12)
    points, weights = power.pressures[1]
    known = st.slider(points=points, weights=weights, pusher=finger)
    assert st.minimum_power(known).power == pytest.approx(power.high, rel=1e-9)


def test_questions_about_one_configuration_do_not_disturb_each_other():
    corners = star(np.random.default_rng(5))
    finger, *_ = pushed(corners, np.random.default_rng(6))
    part = st.slider(outline=corners, weight=2.0, centre=(0, 0), pusher=finger)
    first = st.pressure_bounds(part, of="phi.dot")
    said = first.low, first.high
    st.pressure_bounds(part, of="x.dot")
    with pytest.raises(ValueError, match="read-only"):
        first.at[:], first.motions[:] = 1.0, 0.0
    again = st.pressure_bounds(part, of="phi.dot")
    assert (again.low, again.high) == said and not again.at.any()


def test_the_locus_of_a_disc_ends_at_the_tip():
    found = st.pressure_bounds(disc(0.5), of="centre", count=24)
    assert found.locus[:, 0].min() == pytest.approx(-2.0, abs=1e-6)
    assert found.high == pytest.approx(2.0, abs=1e-6)
    assert found.locus[:, 0].max() == pytest.approx(0.5 - 1 / found.motions[1, 2], abs=1e-6)


def brute(part_corners, place, normal, count, rng):
    """Rates of turning of random pressures: three to six atoms anywhere in the outline."""
    C = np.array([*normal, place[0] * normal[1] - place[1] * normal[0]])
    _, _, V = np.linalg.svd(C[None])
    base, free = C / (C @ C), V[1:].T
    # Atoms: mixtures of corners that lie inside a star-shaped outline.
    k = rng.integers(len(part_corners), size=(8 * count, 3))
    a, b = part_corners[k], part_corners[(k + 1) % len(part_corners)]
    share, depth = rng.uniform(0, 1, (*k.shape, 1)), rng.uniform(0, 1, (*k.shape, 1)) ** 0.5
    depth = np.where(rng.random(depth.shape) < 0.5, 1.0, depth)
    atoms = depth * (a + share * (b - a))
    A = np.concatenate([np.ones((len(atoms), 1, 3)), atoms.transpose(0, 2, 1)], axis=1)
    good = np.abs(np.linalg.det(A)) > 1e-4
    atoms = atoms[good]
    masses = np.linalg.inv(A[good])[:, :, 0]
    good = masses.min(axis=1) >= 0
    atoms, masses = atoms[good][:count], masses[good][:count]
    # Two at a time as well: mixtures of triples.
    pairs = rng.integers(len(atoms), size=(len(atoms), 2))
    mix = rng.uniform(0, 1, (len(atoms), 1))
    six = np.concatenate([atoms[pairs[:, 0]], atoms[pairs[:, 1]]], axis=1)
    both = np.concatenate([mix * masses[pairs[:, 0]], (1 - mix) * masses[pairs[:, 1]]], axis=1)
    found = []
    for points, loads in ((atoms, masses), (six, both)):
        z, _ = motions(points, loads, np.tile(base, (len(points), 1)),
                       np.tile(free, (len(points), 1, 1)))  # fmt: skip
        found.append((base + z @ free.T)[:, 2])
    return np.concatenate(found)


def bounds_hold(seed, count):
    rng = np.random.default_rng(seed)
    corners = star(rng)
    pusher, place, normal = pushed(corners, rng)
    part = st.slider(outline=corners, weight=1.5, centre=(0, 0), pusher=pusher)
    phi = part.coordinates[2]
    found = st.pressure_bounds(part, of=phi.dot)
    rates = brute(corners, place, normal, count, rng)
    size = found.high - found.low
    assert rates.min() >= found.low - 1e-9 * size, (seed, rates.min(), found)
    assert rates.max() <= found.high + 1e-9 * size, (seed, rates.max(), found)
    for (points, weights), end in zip(found.pressures, (found.low, found.high)):
        np.testing.assert_allclose(weights @ points, [0, 0], atol=1e-9)
        assert weights.sum() == pytest.approx(1.5, rel=1e-9)
        rate = turning(points, weights, part, pusher)[phi.dot]
        assert rate == pytest.approx(end, rel=1e-6), (seed, found)


@pytest.mark.parametrize("seed", range(2))
def test_no_pressure_goes_beyond_the_bounds_and_the_dual_names_one_that_attains_them(seed):
    bounds_hold(seed, 150)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(0, 100, 3))
def test_ten_thousand_pressures_stay_within_the_bounds(seed):
    bounds_hold(seed, 5000)


def rough_bounds_hold(seed):
    """Both ends are attained by the pressures that are named, and no random one goes beyond."""
    rng = np.random.default_rng(seed)
    corners = star(rng)
    pusher, *_ = pushed(corners, rng, friction=rng.uniform(0.05, 0.8))
    part = st.slider(outline=corners, weight=1.5, centre=(0, 0), pusher=pusher)
    phi = part.coordinates[2]
    found = st.pressure_bounds(part, of=phi.dot)
    # Half of a millionth is given up, so that the place at rest is held firmly.
    for (points, weights), end in zip(found.pressures, (found.low, found.high)):
        assert turning(points, weights, part, pusher)[phi.dot] == pytest.approx(end, rel=1e-6)
    assert set(found.proof.votes) == {"velocity", "edge, slides forward", "edge, slides back"}
    for _ in range(6):
        # Three atoms on the border around the centre.
        while True:
            k = rng.integers(len(corners), size=3)
            way = np.roll(corners, -1, axis=0)[k] - corners[k]
            points = corners[k] + rng.uniform(0, 1, (3, 1)) * way
            A = np.vstack([np.ones(3), points.T])
            if abs(np.linalg.det(A)) > 1e-3 and np.linalg.inv(A)[:, 0].min() > 0.01:
                break
        rate = turning(points, 1.5 * np.linalg.inv(A)[:, 0], part, pusher)[phi.dot]
        size = found.high - found.low
        assert found.low - 1e-9 * size <= rate <= found.high + 1e-9 * size


def test_a_rough_finger_is_bounded_by_the_modes_it_has():
    rough_bounds_hold(5)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(20))
def test_random_rough_fingers_are_bounded(seed):
    rough_bounds_hold(seed)


def test_four_feet_have_one_freedom_and_three_have_none():
    # Loads of a rectangle's corners about its middle: 1/4 ± t. Equal ones turn it slowest; at the
    # ends two of them bear all, and it turns about the foot that the finger is farther from.
    finger = st.Pusher(point=(0.02, st.t - 0.03), edge=(CARD[0], CARD[1]))
    part = st.slider(points=CARD, weight=1.0, centre=(0, 0), pusher=finger)
    found = st.pressure_bounds(part, of="phi.dot")
    equal = turning(CARD, 0.25, part, finger)["phi.dot"]
    assert found.low == pytest.approx(equal, rel=1e-9)
    assert found.high == pytest.approx(1 / 0.07, rel=1e-9)
    three = st.slider(points=CARD[:3], weight=1.0, centre=(0.01, -0.01), pusher=finger)
    one = st.pressure_bounds(three, of="phi.dot")
    assert one.low == pytest.approx(one.high, rel=1e-9)


@pytest.mark.parametrize("change", ["clockwise", "twice", "shifted", "corner on an edge"])
def test_how_an_outline_is_written_does_not_matter(change):
    finger = st.Pusher(point=(0.02, st.t - 0.03), edge=(CARD[0], CARD[1]))
    known = st.pressure_bounds(
        st.slider(outline=CARD, weight=1.0, centre=(0, 0), pusher=finger), of="phi.dot"
    )
    outline, centre = np.array(CARD), (0.0, 0.0)
    if change == "clockwise":
        outline = outline[::-1]
    elif change == "twice":
        outline = np.vstack([outline[:1], outline])
    elif change == "corner on an edge":
        outline = np.vstack([outline[:1], [[0.0, -0.03]], outline[1:]])
    else:
        outline, centre = outline + [30.0, -20.0], (30.0, -20.0)
        ends = tuple(map(tuple, outline[:2]))
        finger = st.Pusher(point=(30.02, st.t - 20.03), edge=ends)
    same = st.slider(outline=outline, weight=1.0, centre=centre, pusher=finger)
    found = st.pressure_bounds(same, of="phi.dot")
    assert found.low == pytest.approx(known.low, rel=1e-9)
    assert found.high == pytest.approx(known.high, rel=1e-9)


def test_one_program_is_what_a_library_finds_on_a_fine_grid():
    rng = np.random.default_rng(0)
    for trial in range(6):
        disc = trial % 3 == 0
        rest = Rest(np.zeros((0, 2)), 0.9, (0.05, -0.08)) if disc else Rest(star(rng))
        twist, aim = rng.normal(size=(2, 3))
        found = Single(rest).least(twist, aim, np.zeros(3), rounds=EXACT)
        share = np.arange(400) / 400
        places = [(np.full(400, k), share) for k in range(rest.pieces)]
        points = np.vstack([rest.at(*place)[0] for place in places])
        q = np.array([-twist[1], twist[0]]) / twist[2]
        e = fields(twist[None], points)[0]
        e /= np.linalg.norm(e, axis=1, keepdims=True)
        if rest.contains(q):
            turn = np.arange(400) * (2 * np.pi / 400)
            points = np.vstack([points, np.tile(q, (400, 1))])
            e = np.vstack([e, np.c_[np.cos(turn), np.sin(turn)]])
        cost = (fields(aim[None], points)[0] * e).sum(axis=1)
        rows = np.vstack([np.ones(len(points)), points.T])
        value = linprog(cost, A_eq=rows, b_eq=[1, 0, 0]).fun
        assert value - 2e-4 < found.value < value + 1e-9


def test_the_vote_is_that_of_every_random_pressure():
    rng = np.random.default_rng(4)
    for _ in range(6):
        corners = star(rng)
        pusher, *_ = pushed(corners, rng, friction=0.4)
        part = st.slider(outline=corners, weight=1.0, centre=(0, 0), pusher=pusher)
        turns = verdict(votes_of(Scene.of(part, None, None, 0.0).modes))
        weights = rng.uniform(0.1, 1, len(corners))
        shift = weights @ corners / weights.sum()
        known = st.slider(
            points=[*corners, tuple(-shift * weights.sum() / 5)], weights=[*weights, 5.0],
            pusher=pusher,
        )  # fmt: skip
        rate = st.minimum_power(known)["phi.dot"]
        assert turns == ("counterclockwise" if rate > 0 else "clockwise")


def at_fence(support, corner, angle, centre=(0, 0)):
    """A part that is turned by an angle, with a corner at a smooth fence that goes up."""
    fence = st.Pusher(point=(0, st.t), corner=tuple(corner), normal=(0, 1))
    part = st.slider(**support, weight=1.0, centre=centre, pusher=fence)
    x, y, phi = part.coordinates
    c, s = np.cos(angle), np.sin(angle)
    place = {x: s * corner[1] - c * corner[0], y: -s * corner[0] - c * corner[1], phi: angle}
    return st.pressure_bounds(part, of="advance", at=place)


@pytest.mark.parametrize(("angle", "unit"), [(0.2, 1.0), (0.75, 1e-3)])
def test_a_rod_on_two_feet_is_aligned_when_the_fence_comes_to_the_far_one(angle, unit):
    # Up to 45° the far foot rests: the fence goes 2a sin φ until it is there.
    found = at_fence({"points": [(-unit, 0), (unit, 0)]}, (-unit, 0), angle)
    assert found.low == pytest.approx(2 * unit * np.sin(angle), rel=1e-9)
    assert found.high == pytest.approx(2 * unit * np.sin(angle), rel=1e-9)


@pytest.mark.parametrize(
    "seed", [1, *(pytest.param(k, marks=pytest.mark.slow) for k in range(2, 8))]
)
def test_a_fence_goes_no_farther_than_for_a_disc_around_the_part(seed):
    # Peshkin and Sanderson 1988: in a disc of radius a around the centre it turns at least at
    # b/(a² + b²), with the lever b = c sin ψ of the corner at c. Over ψ that adds up to
    # c (cos ψ₁ − cos ψ₂) + (a²/c) log(tan(ψ₂/2)/tan(ψ₁/2)).
    rng = np.random.default_rng(seed)
    turns = rng.uniform(0, 0.4, 3) + np.array([0, 2, 4]) * np.pi / 3
    corners = np.stack([np.cos(turns), np.sin(turns)], axis=1) * rng.uniform(0.8, 1.2, (3, 1))
    centre = corners.mean(axis=0)
    away = corners[0] - centre
    c, a = np.hypot(*away), np.hypot(*(corners - centre).T).max()
    # The corner comes first, and the centre is off its line by 15°.
    begin = np.pi / 12
    angle = -np.pi / 2 + begin - np.arctan2(away[1], away[0])
    order = list(rng.permutation(3))
    found = at_fence({"points": corners[order]}, corners[0], angle, tuple(centre))
    turned = abs(found.band[-1, 0] - found.band[0, 0])
    end = begin + turned
    most = c * (np.cos(begin) - np.cos(end))
    most += a**2 / c * np.log(np.tan(end / 2) / np.tan(begin / 2))
    assert 0 < found.low <= found.high <= most * (1 + 1e-9)
    # Then another corner is at the fence, and none is behind it.
    final = found.band[-1, 0]
    heights = (corners - corners[0]) @ [np.sin(final), np.cos(final)]
    assert np.sort(heights)[1] == pytest.approx(0, abs=1e-9) and heights.min() > -1e-9


@pytest.mark.slow
def test_polygons_come_to_the_formula_of_a_disc_with_the_square_of_their_edges():
    missed = []
    for count in (12, 24):
        turns = 2 * np.pi * np.arange(count) / count
        corners = np.stack([np.cos(turns), np.sin(turns)], axis=1)
        begin, end = 0.5 * np.pi / count, np.pi / count
        found = at_fence({"outline": corners}, corners[0], begin - np.pi / 2)
        most = np.cos(begin) - np.cos(end) + np.log(np.tan(end / 2) / np.tan(begin / 2))
        missed.append(1 - found.high / most)
    assert missed[1] < 0.01 and missed[0] / missed[1] == pytest.approx(4, abs=0.4)


def test_only_a_fence_at_the_foremost_corner_aligns():
    corners = [(-1, -1), (1, -1), (1, 1), (-1, 1)]
    for corner, support in (((-1, 1), {"outline": corners}), ((-2, -1), {"points": corners})):
        with pytest.raises(st.StatementError, match="foremost corner") as error:
            at_fence(support, corner, -0.3)
        assert str(error.value).count("\n") == 2


@pytest.mark.slow
def test_the_fence_aligns_an_edge_within_the_bounds():
    square = [(0, 0), (1, 0), (1, 1), (0, 1)]
    fence = st.Pusher(point=(0, st.t), corner=(0, 0), normal=(0, 1))
    part = st.slider(outline=square, weight=1.0, centre=(0.5, 0.5), pusher=fence)
    phi = part.coordinates[2]
    found = st.pressure_bounds(part, of="advance", at={phi: np.radians(20)})
    assert found.status == "conservative" and 0 < found.low < found.high
    # The known motion of one pressure lies between: equal loads at the corners.
    known = st.slider(points=square, weights=0.25, pusher=fence)
    span = np.linspace(np.radians(20), 0, 41)
    rate = [abs(st.minimum_power(known, at={"phi": a})["phi.dot"]) for a in span[:-1]]
    way = np.trapezoid(1 / np.array([*rate, rate[-1]]), -span)
    assert found.low < way < found.high
    # The band over the whole push: from nothing to both ends, and the known motion within it.
    angle, early, late = found.band.T
    assert angle[0] == pytest.approx(np.radians(20)) and abs(angle[-1]) < 1e-12
    assert early[-1] == pytest.approx(found.low, rel=1e-9)
    assert late[-1] == pytest.approx(found.high, rel=1e-9)
    done = np.concatenate([[0], np.cumsum(-np.diff(span) / np.array(rate))])
    at = np.interp(angle[::-1], span[::-1], done[::-1])[::-1]
    assert np.all((early[2:] < at[2:]) & (at[2:] < late[2:]))


@pytest.mark.parametrize(("lever", "unit"), [(0.5, 1.0), (0.3, 1e-3)])
def test_a_thin_rod_turns_about_points_from_its_middle_to_its_end(lever, unit):
    # Pushed across at the distance c from its middle, a rod of half length a rests on its ends and
    # turns about the far one at slowest, V/(c + a); at fastest it rests on the far end and on the
    # point that it turns about, as a disc does.
    thin = 1e-5 * unit
    rod = [(-unit, -thin), (unit, -thin), (unit, thin), (-unit, thin)]
    finger = st.Pusher(
        point=(lever * unit, unit * st.t - thin), edge=((-unit, -thin), (unit, -thin))
    )
    part = st.slider(outline=rod, weight=1.0, centre=(0, 0), pusher=finger)
    found = st.pressure_bounds(part, of="phi.dot")
    assert found.low == pytest.approx(1 / (lever + 1), rel=1e-3)
    assert found.high == pytest.approx((2 + lever) / (lever * (1 + lever)), rel=1e-6)


def rod(place, way, friction=0.0, of="phi.dot", **given):
    """Bounds of a box whose weight is above the middle of its lower edge: a rod of half length 1.

    The finger is at a long line through a place, and pushes at right angles to it.
    """
    place, way = np.array(place, float), np.array(way, float) / np.hypot(*way)
    normal = np.array([-way[1], way[0]])
    point = tuple(place[k] + normal[k] * st.t for k in range(2))
    finger = st.Pusher(
        point=point, edge=(tuple(place - 9 * way), tuple(place + 9 * way)), friction=friction
    )
    box = [(-1, 0), (1, 0), (1, 3), (-1, 3)]
    part = st.slider(outline=box, weight=1.5, centre=(0, 0), pusher=finger)
    return st.pressure_bounds(part, of=of, **given), finger


@pytest.mark.parametrize("lever", [0.1, 0.5, 0.9])
def test_a_rod_pushed_across_turns_about_points_of_its_own_line(lever):
    # Off that line all friction would point along the rod, which the finger does not. From the far
    # end, about which two ends turn, to c a/(2a + c): the locus is that segment.
    found, _ = rod((lever, 0), (1, 0))
    last = lever / (2 + lever)
    assert found.low == pytest.approx(1 / (1 + lever), rel=1e-9)
    assert found.high == pytest.approx(1 / (lever - last), rel=1e-9)
    locus = rod((lever, 0), (1, 0), of="centre", count=24)[0].locus
    np.testing.assert_allclose(locus[:, 1], 0, atol=2e-3)
    assert locus[:, 0].min() == pytest.approx(-1, abs=1e-4)
    assert locus[:, 0].max() == pytest.approx(last, abs=1e-4)
    # Two ends share the weight, and the far one rests: that takes most power.
    power = rod((lever, 0), (1, 0), of="power")[0]
    assert power.high == pytest.approx(1.5 / (1 + lever), rel=1e-9)
    # What is all at the centre, about which it turns, takes none.
    assert power.low == 0
    assert power.proof.high is not None and power.proof.high.certified


@pytest.mark.parametrize("seed", range(3))
def test_a_rod_pushed_aslant_is_slowest_on_its_ends(seed):
    # Friction of two ends along (sin α, cos α) with α = β ± δ sums up to the direction β of the
    # push; about the middle its moment a sin β sin δ is b cos δ, with b the lever of the push.
    rng = np.random.default_rng(seed)
    beta, place = rng.uniform(0.7, 1.4), np.array([rng.uniform(0.2, 0.6), 0.0])
    push = np.array([np.sin(beta), np.cos(beta)])
    found, _ = rod(place, (push[1], -push[0]))
    lever = place[0] * push[1]
    delta = np.arctan2(lever, np.sin(beta))
    # v = s (sin α, cos α) at both ends, which keep their distance: s sin α is the same.
    ways = [np.array([np.sin(beta + k * delta), np.cos(beta + k * delta)]) for k in (1, -1)]
    left, right = ways[0] / ways[0][0], ways[1] / ways[1][0]
    turn, middle = (right[1] - left[1]) / 2, (left + right) / 2
    drive = push @ (middle + turn * np.array([0, place[0]]))
    assert found.low == pytest.approx(turn / drive, rel=1e-9)
    assert found.proof.low is not None and found.proof.low.certified
    points, weights = found.pressures[0]
    np.testing.assert_allclose(np.sort(points[:, 0]), [-1, 1], atol=1e-9)


@pytest.mark.parametrize("centre", [(1.0, 1.0), (-1.0, 1.0)])
@pytest.mark.parametrize("of", ["phi.dot", "power", "centre"])
def test_a_centre_at_a_corner_leaves_nothing_to_bound(centre, of):
    finger = st.Pusher(point=(0.5, st.t - 1), edge=((-1, -1), (1, -1)), friction=0.3)
    square = [(-1, -1), (1, -1), (1, 1), (-1, 1)]
    part = st.slider(outline=square, weight=1.5, centre=centre, pusher=finger)
    with pytest.raises(st.StatementError, match="rests on one point") as error:
        st.pressure_bounds(part, of=of)
    assert str(error.value).count("\n") == 2


@pytest.mark.slow
def test_a_finger_pushes_in_a_notch_and_no_edge_from_inside():
    # A U with its centre beyond the edge at the bottom of its notch: only the order of the two
    # points tells on which side of them the part is.
    u = [(-1, -1), (1, -1), (1, 1), (0.5, 1), (0.5, -0.5), (-0.5, -0.5), (-0.5, 1), (-1, 1)]

    def part(edge, outline=u):
        finger = st.Pusher(point=(0.2, -0.5 - st.t), edge=edge)
        return st.slider(outline=outline, weight=1.5, centre=(0, 0.2), pusher=finger)

    for outline in (u, u[::-1]):
        found = st.pressure_bounds(part(((0.5, -0.5), (-0.5, -0.5)), outline), of="phi.dot")
        assert found.low < found.high < 0 and found.proof.turns == "clockwise"
        with pytest.raises(st.StatementError, match="wrong side"):
            part(((-0.5, -0.5), (0.5, -0.5)), outline)


def test_bounds_survive_a_file(tmp_path):
    found = st.pressure_bounds(disc(0.5), of="phi.dot")
    st.save(found, tmp_path / "bounds.nc")
    assert st.load(tmp_path / "bounds.nc") == found


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"outline": CARD, "weight": 1, "centre": (0.2, 0)}, "outside its outline"),
        ({"radius": 1.0, "weight": 1, "centre": (2, 0)}, "outside its disc"),
        ({"outline": [], "weight": 1, "centre": (0, 0)}, "not a polygon"),
        ({"outline": [(0, 0), (1, 1), (1, 0), (0, 1)], "weight": 1, "centre": (0.5, 0.5)},
         "crosses itself"),
        ({"outline": [(0, 0), (1, 0), (2, 0)], "weight": 1, "centre": (1, 0)}, "has no area"),
        ({"outline": [*CARD[:2], (0.2, -0.03), *CARD[1:]], "weight": 1, "centre": (0, 0)},
         "runs back over itself"),
        ({"outline": CARD, "weight": -1, "centre": (0, 0)}, "is not positive"),
        ({"outline": CARD, "weight": 1, "limit": 2.0}, "limit= does not belong"),
    ],
)  # fmt: skip
def test_bad_parts_are_refused_in_three_parts(given, message):
    with pytest.raises(st.StatementError, match=message) as error:
        st.slider(**given)
    assert str(error.value).count("\n") == 2


def test_bad_questions_are_refused_in_three_parts():
    part = disc(0.5)
    for ask in (
        lambda: st.pressure_bounds(part, of="speed"),
        lambda: st.pressure_bounds(part, of=part.coordinates[2].dot ** 2),
        lambda: st.pressure_bounds(part, of="phi.dot", at={"y": 0.3}),
        lambda: st.pressure_bounds(st.slider(radius=1.0), of="phi.dot"),
        lambda: st.pressure_bounds(disc(0.5, speed=-1), of="phi.dot"),
        lambda: st.pressure_bounds(st.slider(radius=1.0, weight=1), of="phi.dot"),
        lambda: st.pressure_bounds(part, of="centre", count=0),
        lambda: st.minimum_power(part),
    ):
        with pytest.raises(st.StationaryError) as error:
            ask()
        assert str(error.value).count("\n") == 2


def test_the_lowest_value_of_a_dual_is_bounded_and_not_sampled():
    # Dense samples of the border are never below the bound, and come close to it.
    rng = np.random.default_rng(0)
    for _ in range(40):
        corners = star(rng)
        twists, witness, affine = rng.normal(size=(3, 8, 3)) * 10 ** rng.uniform(-3, 1, (3, 8, 3))
        found = lowest(Rest(corners), twists, witness, affine)
        share = np.linspace(0, 1, 2001)[:, None]
        for k, (a, b) in enumerate(zip(corners, np.roll(corners, -1, axis=0))):
            x = a + share * (b - a)
            v = fields(twists, x)
            f = (fields(witness, x) * v / np.linalg.norm(v, axis=2, keepdims=True)).sum(axis=2)
            f = (f - affine[:, :1] - affine[:, 1:] @ x.T).min(axis=1)
            size = np.abs(witness).max(axis=1) + np.abs(affine).max(axis=1)
            assert np.all(f >= found[:, k] - 1e-12 * size)
            assert np.median((f - found[:, k]) / size) < 1e-5


@pytest.mark.parametrize(
    ("seed", "unit"), [(1, 1.0), pytest.param(4, 1e-6, marks=pytest.mark.slow)]
)
def test_a_proof_leaves_no_pressure_beyond_the_ends(seed, unit):
    rng = np.random.default_rng(seed)
    corners = star(rng)
    _, place, normal = pushed(corners, rng)
    point = tuple(unit * (place[i] + normal[i] * st.t) for i in range(2))
    way = unit * np.array([normal[1], -normal[0]])
    ends = unit * place - way, unit * place + way
    finger = st.Pusher(point=point, edge=(tuple(ends[0]), tuple(ends[1])))
    part = st.slider(outline=unit * corners, weight=1.5, centre=(0, 0), pusher=finger)
    of = part.coordinates[2].dot
    found = st.pressure_bounds(part, of=of, prove=1e-6)
    assert found.status == "proven" and found.outer is not None
    size = 1e-6 * max(abs(found.low), abs(found.high))
    assert found.outer == pytest.approx((found.low - size, found.high + size), rel=1e-9)
    # A value that some pressure goes beyond cannot be proven.
    scene = Scene.of(part, None, None, 0.0)
    functional, _ = scene.functional(of)
    pencil = Pencil(Programs(scene.rest), scene.modes[0], functional)
    assert not covered(pencil, found.high - 100 * size).proven
