"""Changes are told once and on time, motions all, and what cannot go on says why."""

import numpy as np
import pytest
from scipy.optimize import brentq

import stationary as st

x, y, phi = st.coordinates("x y phi")


@pytest.mark.parametrize(
    "count, seed, length, force, origin",
    [(3, 0, 1.0, 1.0, 0.0), (5, 1, 1e-9, 1e6, 0.0), (5, 1, 1e9, 1.0, 0.0), (30, 2, 1.0, 1.0, 1e4),
     pytest.param(100, 3, 1e-9, 1.0, 0.0, marks=pytest.mark.slow)],
)  # fmt: skip
def test_every_change_of_an_iwan_chain_is_told_at_its_time(count, seed, length, force, origin):
    # Springs k with sliders f in parallel behind sin t: each starts at f/k, all stop where it
    # turns, and start again where it has come back by 2f/k. Each loses f times its way.
    rng = np.random.default_rng(seed)
    k = rng.uniform(1, 3, count)
    reach = np.sort(rng.uniform(0.05, 0.9, count))
    q = st.coordinates("q", shape=(count,))
    hand = length * st.sin(st.t) + origin
    chain = st.System(
        potential=sum(a * force / length * (hand - b) ** 2 / 2 for a, b in zip(k, q)),
        friction=[
            st.Friction(a * b * force, on=c, name=f"slider {i}")
            for i, (a, b, c) in enumerate(zip(k, reach, q))
        ],
    )
    end = 4.6
    start = {q: np.full(count, origin)}
    slide = st.quasistatics(chain, span=(0, end), start=start, points=24)
    again = np.pi / 2 + np.arccos(1 - 2 * reach)
    known = np.sort([*np.arcsin(reach), np.pi / 2, *again])
    digits = 1e-8 + 1e-14 * origin / length
    np.testing.assert_allclose(slide.events[0], known[known < end], atol=digits)
    way = 1 - reach + np.maximum(1 - np.sin(end) - 2 * reach, 0)
    lost = float(np.sum(k * reach * way)) * force * length
    assert slide.lost[-1] == pytest.approx(lost, rel=digits)
    assert slide.residual["energy"] < digits * lost


def test_a_bead_on_a_steady_circle_changes_nothing():
    # Towed round a circle of radius 1 by a link of length 1/2 it follows one of radius √3/2.
    link = st.Constraint(st.norm((x - st.cos(st.t), y - st.sin(st.t))) - 0.5, name="link")
    bead = st.System(friction=[st.Friction(1.0, on=(x, y))], constraints=[link])
    r = np.sqrt(3) / 2
    behind = -np.pi / 6
    start = {x: r * np.cos(behind), y: r * np.sin(behind)}
    slide = st.quasistatics(bead, span=(0, 10), start=start, points=11)
    assert len(slide.events[0]) == 0
    np.testing.assert_allclose(np.hypot(slide[x], slide[y]), r, atol=1e-7)
    assert slide.lost[-1] == pytest.approx(10 * r, rel=1e-7)


@pytest.mark.parametrize("method", ["events", "increments"])
def test_how_it_begins_is_no_change(method):
    # A bead at rest that a link across its way begins to tow.
    link = st.Constraint(st.norm((x - st.t, y)) - 1)
    bead = st.System(friction=[st.Friction(1.0, on=(x, y))], constraints=[link])
    slide = st.quasistatics(bead, span=(0, 0.1), start={x: 0, y: 1}, points=3, method=method)
    assert len(slide.events[0]) == 0


def test_what_a_corner_takes_is_counted():
    # Two fingers, one after the other, push a particle: it loses its way, to rounding.
    fingers = [
        st.Contact(x - st.t, name="first"),
        st.Contact(x - 3 * st.t + 1, name="second"),
    ]
    particle = st.System(friction=[st.Friction(2.0, on=(x, y))], contacts=fingers)
    slide = st.quasistatics(particle, span=(0, 1), start={x: 0.25, y: 0.0}, points=5)
    np.testing.assert_allclose(slide.events[0], [0.25, 0.5], atol=1e-9)
    assert slide.lost[-1] == pytest.approx(2 * (2 - 0.25), rel=1e-9)
    assert slide.residual["energy"] < 1e-9


def least_power(B, weights, force):
    """Return the motion of unit power under a force that takes least, by convexity the only one.

    Where it turns about a foot, that foot holds the rest of the balance; else all is smooth.
    """
    for i, foot in enumerate(B):
        v = np.linalg.svd(foot)[2][2]
        v = v / (force @ v)
        rates = np.delete(B, i, axis=0) @ v
        units = rates / np.linalg.norm(rates, axis=1)[:, None]
        pulls = np.einsum("i,ij,ijk->k", np.delete(weights, i), units, np.delete(B, i, axis=0))
        size, *held = np.linalg.solve(np.column_stack([force, -foot.T]), pulls)
        if size > 0 and np.hypot(*held) <= weights[i]:
            return v
    middle, ways = force / (force @ force), np.linalg.svd(force[None])[2][1:].T

    def taken(z):
        rates = B @ (middle + ways @ z)
        speeds = np.linalg.norm(rates, axis=1)
        units, across = rates / speeds[:, None], B @ ways
        aside = across - units[:, :, None] * np.einsum("ij,ijk->ik", units, across)[:, None]
        slope = np.einsum("i,ij,ijk->k", weights, units, across)
        return weights @ speeds, slope, np.einsum("i,ijk,ijl->kl", weights / speeds, aside, aside)

    rng = np.random.default_rng(0)
    for _ in range(50):
        # From several starts: steps may end in a kink that is no minimum.
        z = rng.normal(size=2) * np.linalg.norm(middle) * 3 ** rng.normal()
        for _ in range(60):
            power, slope, bend = taken(z)
            if np.abs(slope).max() < 1e-10 * weights.sum():
                return middle + ways @ z
            step = -np.linalg.solve(bend + 1e-14 * np.trace(bend) * np.eye(2), slope)
            less = 1e-4 * abs(slope @ step)
            shares = (s for s in 0.5 ** np.arange(60) if taken(z + s * step)[0] <= power - s * less)
            z = z + next(shares, 0.0) * step
    raise AssertionError("no minimum")


def all_motions(feet, weights, finger, way, mu):
    """Return every motion of a part under a finger at its lower edge: it slides, sticks or rests.

    A force along an edge of the cone moves the part one way only; the finger says how fast. What
    moves with the finger turns as takes least, and the force it needs is inside the cone.
    """
    B = np.zeros((len(feet), 2, 3))
    B[:, 0, 0], B[:, 0, 2], B[:, 1, 1], B[:, 1, 2] = 1, -feet[:, 1], 1, feet[:, 0]
    ahead, aside = np.array([0, 1, finger[0]]), np.array([1, 0, -finger[1]])
    motions = [] if way[1] > 0 else [np.zeros(3)]
    for sign in (1.0, -1.0):
        v = least_power(B, weights, (ahead - sign * mu * aside) / mu)
        opens = ahead @ v
        if opens * way[1] > 0 and sign * (aside @ v * way[1] / opens - way[0]) > 0:
            motions.append(v * way[1] / opens)
    turn = np.array([finger[1], -finger[0], 1.0])
    carried = np.array([way[0], way[1], 0.0])

    def pull(rate):
        rates = B @ (carried + rate * turn)
        units = rates / np.linalg.norm(rates, axis=1)[:, None]
        return np.einsum("i,ij,ijk->k", weights, units, B)

    v = carried + brentq(lambda rate: pull(rate) @ turn, -1e6, 1e6, xtol=1e-15) * turn
    along, push, _ = pull(v[2])
    return [*motions, v] if push > 0 and abs(along) <= mu * push else motions


def pushed_part(feet, weights, finger, way, mu, units=(1.0, 1.0, 1.0)):
    """A part whose lower edge is as low as the finger, in units of length, force and rate."""
    long, force, rate = units
    edge = ((-2 * long, finger[1] * long), (2 * long, finger[1] * long))
    point = tuple(long * (finger + rate * way * st.t))
    pusher = st.Pusher(point=point, edge=edge, friction=mu)
    return st.slider(points=long * feet, weights=force * weights, pusher=pusher)


@pytest.mark.one_in(2)
@pytest.mark.parametrize("seed", [*range(12), (3.0, -100.0), (30.0, -97.0), (1e4, -94.0)], ids=str)
def test_all_motions_under_a_rough_finger_are_told_and_none_is_false(seed):
    feet, weights = np.array([(-0.7, 0.4), (0.1, -0.4)]), np.array([0.6, 0.9])
    finger, units = np.array([1.3, -1.2]), (1.0, 1.0, 1.0)
    if isinstance(seed, int):
        rng = np.random.default_rng(seed)
        count = rng.integers(2, 7)
        feet, weights = rng.uniform(-1, 1, (count, 2)), rng.uniform(0.1, 1, count)
        finger = np.array([rng.uniform(-1.5, 1.5), -1.2])
        # It approaches, or recedes and rubs: then there may be several.
        a = rng.uniform(-90, 90) if seed % 2 else rng.choice([-1, 1]) * rng.uniform(90, 110)
        mu, a = 10 ** rng.uniform(0.5 if seed < 8 else -1, 4), np.radians(a)
        units = [(1.0, 1.0, 1.0), (1e-9, 1e3, 1e-6), (1e6, 1e-4, 1e3)][seed % 3]
    else:
        mu, a = seed[0], np.radians(seed[1])
    way = np.array([np.sin(a), np.cos(a)])
    step = st.minimum_power(pushed_part(feet, weights, finger, way, mu, units))
    own = units[2] * np.array([units[0], units[0], 1.0])
    told = np.array([step.v, *step.others]) / own
    assert step.unique is (len(told) == 1)
    expected = np.array(all_motions(feet, weights, finger, way, mu))
    off = np.abs(told[:, None] - expected).max(axis=2) / (1 + np.abs(expected).max())
    assert off.shape[0] == off.shape[1] and off.min(axis=1).max() < 1e-6 > off.min(axis=0).max()
    if mu == 3.0:
        third = np.array([-0.05805, -0.02105, -0.11738])
        assert np.abs(told - third).max(axis=1).min() < 1e-5


@pytest.mark.parametrize("seed", range(4))
def test_one_foot_turns_under_a_rough_finger_without_any_force(seed):
    # What turns about its foot resists with nothing, in any units; the finger is as fast as it is.
    rng = np.random.default_rng(seed)
    foot, finger = rng.uniform(-1, 1, (1, 2)), np.array([rng.uniform(-1.5, 1.5), -1.2])
    a = rng.choice([-1, 1]) * np.radians(rng.uniform(20, 80))
    way = np.array([np.sin(a), np.cos(a)])
    for units in ((1.0, 1.0, 1.0), (1e-9, 1e3, 1e-6), (1e6, 1e-4, 1e3)):
        step = st.minimum_power(pushed_part(foot, np.ones(1), finger, way, 30.0, units))
        v = step.v / (units[2] * np.array([units[0], units[0], 1.0]))
        assert v[1] + v[2] * finger[0] >= way[1] - 1e-9
        assert abs(step.power) <= units[0] * units[1] * units[2] * 2


def random_push(seed):
    rng = np.random.default_rng(seed)
    feet, weights = rng.uniform(-1, 1, (5, 2)) * [0.9, 0.45], rng.uniform(0.1, 1, 5)
    place, side, mu, apart = (
        rng.uniform(*ends) for ends in ((-0.8, 0.8), (-1, 1), (0.1, 0.8), (0, 0.05))
    )
    finger = (place + side * st.t, st.t - 0.5 - apart)
    pusher = st.Pusher(point=finger, edge=((-1, -0.5), (1, -0.5)), friction=mu)
    return st.slider(points=feet, weights=weights / weights.sum(), pusher=pusher), finger


@pytest.mark.parametrize("seed", [41, 76])
def test_a_finger_that_slips_off_the_end_of_an_edge_leaves_the_part_at_rest(seed):
    # There is no contact beyond the end: what pushed is gone at once.
    part, finger = random_push(seed)
    slide = st.quasistatics(part, span=(0, 0.5), points=6)
    assert slide.method == "events" and slide.status == "done"
    off = slide.events[0][-1]
    assert not np.any(slide.v[-1]) and off < 0.5
    a, b, turn = (slide.at(off)[c] for c in part.coordinates)
    fx, fy = (float(z.subs(st.t, off)) for z in finger)
    along = (fx - a) * np.cos(turn) + (fy - b) * np.sin(turn)
    assert abs(along) == pytest.approx(1, abs=1e-5)


@pytest.mark.one_in(2)
@pytest.mark.parametrize("seed", [5, 14, 15, 17, 22])
def test_a_foot_and_a_finger_that_seem_to_hold_at_once_are_followed_by_events(seed):
    # Where the finger turns round a foot rests: both hold there, at that instant alone. And feet
    # that come to rest, or nearly so. At each time the motion is that of this time, found afresh.
    part, _ = random_push(seed)
    slide = st.quasistatics(part, span=(0, 0.5), points=6)
    assert slide.method == "events" and len(slide.events[0]) > 1
    assert slide.residual["energy"] < 1e-8
    for k in range(1, 6):
        now = {c: slide[c][k] for c in part.coordinates}
        step = st.minimum_power(part, at=now, t=slide.t[k])
        for c in part.coordinates:
            assert slide[c.dot][k] == pytest.approx(step[c.dot], abs=1e-7)


th, ps = st.coordinates("th ps")
DRIVEN = {
    "drive": (
        [st.Constraint(st.sin(th) - st.t, name="drive")], [th], {th: 0.0}, 1.0,
    ),
    "pull": (
        [st.Constraint(st.cos(th) + st.cos(ps) - 1 - st.t, name="pull"),
         st.Constraint(st.sin(th) + st.sin(ps), name="level")],
        [th, ps], {th: np.pi / 3, ps: -np.pi / 3}, 1.0,
    ),
    "piston": (
        [st.Constraint(st.sin(th) - 3 * st.sin(ps), name="rod"),
         st.Constraint(st.cos(th) + 3 * st.cos(ps) - 3 - st.t, name="piston")],
        [th, ps], {th: np.pi / 2, ps: np.arcsin(1 / 3)}, 1.0,
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", DRIVEN)
def test_what_is_driven_beyond_its_reach_is_jammed_by_name(name):
    constraints, parts, start, end = DRIVEN[name]
    arm = st.System(friction=[st.Friction(1.0, on=p) for p in parts], constraints=constraints)
    with pytest.raises(st.NoMotion) as caught:
        st.quasistatics(arm, span=(0, 2), start=start, points=5)
    assert caught.value.kind == "jammed" and caught.value.names == (name,)
    assert "out of reach" in str(caught.value)
    assert caught.value.solution.t[-1] == pytest.approx(end, abs=1e-3)


@pytest.mark.parametrize("resists, spring", [
    (st.Friction(1.0, on=(x, y)), 3 * (y - 0.2) ** 2), (st.Drag(1.0, 1, on=(x, y)), 0),
])  # fmt: skip
def test_what_is_driven_where_a_roof_meets_the_floor_is_jammed_by_name(resists, spring):
    drive = st.Constraint(x - st.t, name="drive")
    gaps = [st.Contact(1 - x - y, name="roof"), st.Contact(y, name="floor")]
    bead = st.System(friction=[resists], potential=spring, constraints=[drive], contacts=gaps)
    with pytest.raises(st.NoMotion) as caught:
        st.quasistatics(bead, span=(0, 2), start={y: 0.2}, points=5)
    assert caught.value.kind == "jammed" and caught.value.names == ("drive", "roof", "floor")
    assert caught.value.solution.t[-1] == pytest.approx(1, abs=1e-6)


@pytest.mark.parametrize("ask", [
    lambda arm, start, t: st.quasistatics(arm, span=(t, t + 1), start=start, points=5),
    lambda arm, start, t: st.minimum_power(arm, at=start, t=t),
    lambda arm, start, t: st.newton(arm, at=start, t=t),
])  # fmt: skip
@pytest.mark.parametrize("name, dead", [
    ("drive", {th: np.pi / 2}), ("pull", {}), ("piston", {}),
])  # fmt: skip
def test_a_start_at_a_dead_centre_is_jammed_by_name(name, dead, ask):
    # What is left of cos(π/2) allows no velocity of 1e16.
    constraints, parts, _, end = DRIVEN[name]
    arm = st.System(friction=[st.Friction(1.0, on=p) for p in parts], constraints=constraints)
    with pytest.raises(st.NoMotion) as caught:
        ask(arm, dead, end)
    assert caught.value.kind == "jammed" and caught.value.names == (name,)


def test_a_start_that_must_not_be_mended_may_be_driven():
    th_driven = st.System(friction=[st.Friction(1.0, on=th)], constraints=[th - st.t])
    slide = st.quasistatics(th_driven, span=(0, 1), points=5, repair=False)
    assert slide[th][-1] == pytest.approx(1)
    with pytest.raises(st.StatementError, match="repair=True"):
        st.quasistatics(th_driven, span=(0, 1), start={th: 0.1}, repair=False)


def test_the_centre_of_a_translation_is_at_infinity():
    feet = [(0.3, 0.1), (-0.7, 0.2), (0.1, -0.9)]
    part = st.slider(points=feet, weights=[1.0, 2.0, 0.7])
    px, py, turn = part.coordinates
    held = st.System(constraints=[px - 0.7 * st.t, py - 0.2 * st.t, turn + 1e-17 * st.t])
    assert st.minimum_power(part + held).centre(part) == (np.inf, np.inf)


def test_what_several_feet_hold_at_rest_is_followed_by_events_as_loads_grow():
    # Forces of feet at rest are not known one by one; drag decides as soon as friction is used up.
    feet = [(-1, -1), (1, -1), (1, 1), (-1, 1)]
    part = st.slider(points=feet, weights=[0.25, 0.2, 0.3, 0.25])
    X, Y, turn = part.coordinates
    drags = [st.Drag(0.3, 1, on=(X, Y)), st.Drag(0.2, 1, on=turn)]
    pull = st.Load((0.9 * st.t, 2 * st.sin(3 * st.t)), on=(X, Y))
    slide = st.quasistatics(part + st.System(loads=[pull], friction=drags), span=(0, 2), points=5)
    assert slide.method == "events" and len(slide.events[0]) == 3
    assert slide.residual["energy"] < 1e-9 and slide.residual["force"] < 1e-9


def test_what_rests_beside_what_moves_costs_little_and_changes_nothing():
    rng = np.random.default_rng(3)
    feet = rng.uniform(-1, 1, (1000, 2))
    moved = st.slider(points=feet[:5], weights=0.2, at=st.coordinates("xa ya pa"), name="moved")
    still = st.slider(points=feet, weights=1e-3, at=st.coordinates("xb yb pb"), name="still")
    a, b, c = moved.coordinates
    hand = st.System(constraints=[a + 0.3 * st.cos(c) - 0.3, b + 0.3 * st.sin(c) - st.t])
    alone, both = st.minimum_power(moved + hand), st.minimum_power(moved + still + hand)
    for part in (a, b, c):
        assert both[part.dot] == pytest.approx(alone[part.dot], rel=1e-9)
    assert abs(both["pb.dot"]) < 1e-12 and both.power == pytest.approx(alone.power, rel=1e-12)


@pytest.mark.one_in(2)
@pytest.mark.parametrize("mu, k", [(0.2, 5.0), (0.5, 50.0)])
@pytest.mark.parametrize("units", [(1.0, 1.0), (1e-6, 1e3)])
def test_a_bead_on_a_rough_table_that_meets_a_rough_wall_goes_on_along_it(mu, k, units):
    # It lags behind the hand by 1/k until it touches, rests there, held by table and wall, and goes
    # on where the spring takes what both resist with: 1 and mu times what presses.
    length, force = units
    p, q = st.coordinates("p q")
    hand, table = (length * st.t, length * (0.3 - st.t / 2)), st.Friction(force, on=(p, q))
    wall = st.Contact(q, friction=mu, slip=p, name="wall")
    pulled = force * k / length / 2 * ((p - hand[0]) ** 2 + (q - hand[1]) ** 2)
    bead = st.System(potential=pulled, friction=[table], contacts=[wall])
    slide = st.quasistatics(bead, span=(0, 2), start={q: 0.3 * length}, points=21)
    assert slide.status == "done" and len(slide.events[0]) == 3
    begins, touches, goes_on = slide.events[0]
    assert begins == pytest.approx(1 / k / np.sqrt(1.25), rel=1e-6)
    assert touches == pytest.approx(0.6 + 1 / k / np.sqrt(1.25), rel=1e-6)
    # Between where it may go on and where nothing holds it any more.
    earliest, latest = ((0.6 + (h / k - 0.3 * mu)) / (1 - mu / 2) for h in (1, np.hypot(1, mu)))
    # Increments tell changes roughly.
    assert earliest - 5e-3 <= goes_on <= latest + 5e-3
    late = slide.t > latest
    along = slide.t - 1 / k - mu * (slide.t / 2 - 0.3)
    np.testing.assert_allclose(slide[p][late] / length, along[late], atol=1e-8)
    np.testing.assert_allclose(slide[q][late] / length, 0, atol=1e-12)


@pytest.mark.parametrize(("long", "far"), [(1.0, 0.0), (1e-9, 0.0), (1.0, 1e4)])
def test_what_slides_on_through_a_turn_changes_nothing_there(long, far):
    # The drive pulls y ahead, the spring to x pushes it back by more: as the drive turns x stops,
    # and y goes on. From the balance, line by line: x slips at 1, y where 0.9 − 0.7 u = −0.3.
    u, off = 4 * long * st.sin(st.t), (x - far * long, y - far * long)
    springs = (off[0] ** 2 + off[1] ** 2) / 2 + 0.9 * off[0] * off[1] - u * (off[0] + 0.2 * off[1])
    pair = st.System(
        potential=springs,
        friction=[st.Friction(1.0 * long, on=x), st.Friction(0.3 * long, on=y)],
    )
    slide = st.quasistatics(pair, span=(0, 4), start={x: far * long, y: far * long}, points=5)
    back = 4 - 2 / (1 - 0.2 * 0.9)
    rising, falling = np.array([1.0, 1.2 / 0.7]) / 4, np.array([back, back - 0.6 / 0.7]) / 4
    known = [*np.arcsin(rising), np.pi / 2, *(np.pi - np.arcsin(falling))]
    assert slide.events[0].shape == (5,)
    np.testing.assert_allclose(slide.events[0], known, atol=1e-7 if not far else 1e-4)


@pytest.mark.parametrize("far", [1e5, 1e6])
def test_a_chain_far_from_the_origin_is_followed_as_one_at_it(far):
    # Where it is changes nothing but digits. Soft springs turn those of forces into more of places.
    q = st.coordinates("q", shape=(4,))
    told = []
    for place in (0.0, far):
        ends = (2 * st.sin(st.t) + place, *q)
        chain = st.System(
            potential=sum(
                k * (a - b) ** 2 / 2 for k, a, b in zip((1.9, 0.55, 1.3, 0.8), ends, ends[1:])
            ),
            friction=[st.Friction(f, on=a) for f, a in zip((0.1, 0.2, 0.15, 0.05), q)],
        )
        start = {q: np.full(4, place)}
        told.append(st.quasistatics(chain, span=(0, 7), start=start, points=8))
    here, there = told
    assert there.method == here.method == "balance"
    np.testing.assert_allclose(there[q] - far, here[q], atol=1e-14 * far * 1e3)
    np.testing.assert_allclose(there.events[0], here.events[0], atol=1e-3)
