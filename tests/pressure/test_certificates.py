"""What proves the ends of an interval, evaluated here once more, and extremes that hide."""

from typing import Any

import numpy as np
import pytest
from matplotlib.path import Path
from scipy.optimize import linprog, nnls

import stationary as st
from stationary.result.least_power import motions
from stationary.solve.pressure.bounds.locus import Border, inner_motion
from stationary.solve.pressure.duals.lowest import lowest, lowest_around
from stationary.solve.pressure.envelope import field
from stationary.solve.pressure.programs.programs import Programs
from stationary.solve.pressure.programs.refuted import Refuted
from stationary.solve.pressure.pushed import Scene
from stationary.solve.pressure.support import Rest

BOX = [(-0.05, -0.03), (0.05, -0.03), (0.05, 0.03), (-0.05, 0.03)]


def convex(rng, count):
    """Corners on an ellipse around the origin, counterclockwise."""
    angle = 2 * np.pi * (np.arange(count) + rng.uniform(0.2, 0.8, count)) / count
    return np.c_[np.cos(angle), rng.uniform(0.5, 1) * np.sin(angle)]


def random_part(seed, kind, friction):
    rng = np.random.default_rng(seed)
    corners = convex(rng, int(rng.integers(4, 7)))
    P, Q = corners[:2]
    place, way = P + rng.uniform(0.1, 0.9) * (Q - P), (Q - P) / np.hypot(*(Q - P))
    speed = np.array([-way[1], way[0]]) + rng.uniform(-0.3, 0.3) * way
    point = tuple(place[i] + speed[i] * st.t for i in range(2))
    finger = st.Pusher(point=point, edge=(tuple(P), tuple(Q)), friction=friction)
    given = {
        "outline": {"outline": corners},
        "disc": {"radius": float(rng.uniform(0.4, 1))},
        "feet": {"points": np.vstack([corners, rng.uniform(-0.5, 0.5, (2, 2))])},
    }[kind]
    return st.slider(**given, weight=1.5, centre=(0, 0), pusher=finger), finger, rng


def support(scene, rng):
    """Points all over a support, many of them on its border."""
    rest = scene.rest
    if rest.feet:
        return rest.corners
    edge, along = rng.integers(rest.pieces, size=4000), rng.uniform(0, 1, 4000)
    border = rest.at(edge, along)[0]
    return np.vstack([border, border * rng.uniform(0, 1, (4000, 1))])


@pytest.mark.parametrize("friction", [0, 0.4])
@pytest.mark.parametrize("kind", ["outline", "disc", "feet"])
def test_every_end_carries_a_dual_that_is_nowhere_negative_or_says_that_it_does_not(kind, friction):
    for seed in range(1):
        part, _, rng = random_part(seed, kind, friction)
        scene = Scene.of(part, None, None, 0.0)
        x = support(scene, rng)
        for of in ("phi.dot", "x.dot", "power"):
            found = st.pressure_bounds(part, of=of)
            for dual, motion in zip((found.proof.low, found.proof.high), found.motions):
                assert dual is not None
                assert dual.residual < 1e-6 or not dual.certified
                assert dual.certified != dual.how.startswith("not certified")
                assert dual.how in found.proof.text
                if not dual.certified or np.isnan(dual.lowest) or len(dual.several):
                    continue
                u, v, turn = motion * [1, 1, scene.size]
                way = np.c_[u - turn * x[:, 1], v + turn * x[:, 0]]
                way /= np.linalg.norm(way, axis=1, keepdims=True)
                a, b, swing = dual.witness
                push = np.c_[a - swing * x[:, 1], b + swing * x[:, 0]]
                f = dual.affine[0] + x @ dual.affine[1:] + (push * way).sum(axis=1)
                size = max(np.abs(dual.affine).max(), np.abs(dual.witness).max())
                assert f.min() / size >= dual.lowest - 1e-12
                assert dual.lowest > -1e-7


def test_the_lowest_value_on_a_circle_is_bounded_and_not_sampled():
    rng = np.random.default_rng(1)
    rest = Rest(np.zeros((0, 2)), 0.8, (0.1, -0.15))
    x = rest.at(np.zeros(20001, int), np.linspace(0, 1, 20001))[0]
    for _ in range(40):
        twist, witness, affine = rng.normal(size=(3, 3)) * 10 ** rng.uniform(-2, 1, (3, 3))
        v = np.c_[twist[0] - twist[2] * x[:, 1], twist[1] + twist[2] * x[:, 0]]
        w = np.c_[witness[0] - witness[2] * x[:, 1], witness[1] + witness[2] * x[:, 0]]
        f = (w * v).sum(axis=1) / np.hypot(*v.T) - affine[0] - x @ affine[1:]
        size = np.abs(witness).max() + np.abs(affine).max()
        found = lowest_around(rest, twist, witness, affine, 1e-8 * size)
        assert f.min() - 1e-3 * size < found <= f.min() + 1e-12 * size


def moved(scene, points, loads):
    """Motions of known pressures under a smooth finger, as scaled twists."""
    mode = scene.modes[0]
    unit = mode.force / (mode.force @ mode.force)
    free = np.linalg.svd(mode.force[None])[2][1:].T
    count = len(points)
    z, _ = motions(points, loads, np.tile(unit, (count, 1)), np.tile(free, (count, 1, 1)))
    found, plane = unit + z @ free.T, np.cross(*mode.free.T)
    return found * ((plane @ mode.base) / (found @ plane))[:, None]


@pytest.mark.parametrize(
    "seed", [2, 3, 11, *(pytest.param(k, marks=pytest.mark.slow) for k in range(12, 20))]
)
def test_ends_of_pushes_that_pass_close_by_the_centre_are_attained(seed):
    # The fastest turns thousands of times as fast as the slowest: both are certified, and the
    # motion of least power of the pressures that are named.
    rng = np.random.default_rng(seed)
    corners = convex(rng, int(rng.integers(4, 8)))
    lever = 10 ** rng.uniform(-4, -1) * rng.choice([-1, 1])
    way = (corners[1] - corners[0]) / np.hypot(*(corners[1] - corners[0]))
    foot = corners[0] - (corners[0] @ way) * way
    given: dict[str, Any] = {"outline": corners}
    if seed % 3 == 0:
        given = {"radius": float(np.hypot(*foot))}
    speed = np.array([-way[1], way[0]]) + rng.uniform(-0.3, 0.3) * way
    point = tuple((foot + lever * way)[i] + speed[i] * st.t for i in range(2))
    finger = st.Pusher(point=point, edge=(tuple(foot - 9 * way), tuple(foot + 9 * way)))
    part = st.slider(**given, weight=1.5, centre=(0, 0), pusher=finger)
    for of in ("phi.dot", "x.dot"):
        found = st.pressure_bounds(part, of=of)
        ends = zip(found.pressures, (found.low, found.high), (found.proof.low, found.proof.high))
        for (points, weights), end, dual in ends:
            assert dual is not None and dual.certified
            known = st.slider(points=points, weights=weights, pusher=finger)
            # Half of a millionth is given up, so that a place at rest is held firmly.
            assert st.minimum_power(known)[of] == pytest.approx(end, rel=1e-6)


@pytest.mark.one_in(3)
@pytest.mark.parametrize(("seed", "kind"), [(0, "feet"), (1, "disc"), (2, "outline")])
def test_no_random_pressure_goes_beyond_any_velocity(seed, kind):
    part, _, rng = random_part(seed, kind, 0)
    scene = Scene.of(part, None, None, 0.0)
    grid = scene.rest.corners if kind == "feet" else scene.rest.columns
    if kind != "feet":
        grid = np.vstack([grid, grid * rng.uniform(0.05, 1, (len(grid), 1))])
    chosen = np.array([rng.choice(len(grid), 3, replace=False) for _ in range(6000)])
    points = grid[chosen]
    rows = np.concatenate([np.ones((len(points), 1, 3)), points.transpose(0, 2, 1)], axis=1)
    good = np.abs(np.linalg.det(rows)) > 1e-5
    points, loads = points[good], np.linalg.inv(rows[good])[:, :, 0]
    points, loads = points[loads.min(axis=1) >= 0][:800], loads[loads.min(axis=1) >= 0][:800]
    # Corners of the set of pressures, and what lies between two of them.
    pair, share = rng.integers(len(points), size=(len(points), 2)), rng.beta(0.5, 0.5, len(points))
    six = np.concatenate([points[pair[:, 0]], points[pair[:, 1]]], axis=1)
    both = np.concatenate([share[:, None] * loads[pair[:, 0]],
                           (1 - share)[:, None] * loads[pair[:, 1]]], axis=1)  # fmt: skip
    twists = np.vstack([moved(scene, points, loads), moved(scene, six, both)])
    x, y, phi = part.coordinates
    for of in (y.dot, x.dot + 0.3 * phi.dot):
        found = st.pressure_bounds(part, of=of)
        values = twists @ scene.functional(of)[0]
        room = 1e-7 * (found.high - found.low)
        assert found.low - room <= values.min() and values.max() <= found.high + room


def test_a_rough_finger_takes_no_more_power_than_its_bounds():
    for seed in range(1):
        part, finger, rng = random_part(seed, "outline", 0.3)
        open_ = part.parts[0].support
        assert open_ is not None
        corners = np.array(open_.points)
        found = st.pressure_bounds(part, of="power")
        powers = []
        while len(powers) < 6:
            points = corners[rng.choice(len(corners), 3, replace=False)] * rng.uniform(
                0.2, 1, (3, 1)
            )
            rows = np.vstack([np.ones(3), points.T])
            if abs(np.linalg.det(rows)) > 1e-3 and np.linalg.inv(rows)[:, 0].min() > 0.01:
                loads = 1.5 * np.linalg.inv(rows)[:, 0]
                powers.append(
                    st.minimum_power(st.slider(points=points, weights=loads, pusher=finger)).power
                )
        assert found.low - 1e-9 <= min(powers) and max(powers) <= found.high * (1 + 1e-9)
        points, loads = found.pressures[1]
        known = st.slider(points=points, weights=loads, pusher=finger)
        assert st.minimum_power(known).power == pytest.approx(found.high, rel=1e-6)


@pytest.mark.one_in(3)
@pytest.mark.parametrize(("kind", "friction"), [("disc", 0), ("feet", 0), ("outline", 0.4)])
def test_proofs_hold_for_discs_feet_and_rough_fingers(kind, friction):
    part, *_ = random_part(1, kind, friction)
    found = st.pressure_bounds(part, of="phi.dot", prove=1e-4)
    assert found.outer is not None
    assert found.outer[0] <= found.low and found.high <= found.outer[1]
    assert (found.status == "proven") == (
        max(found.low - found.outer[0], found.outer[1] - found.high)
        <= 1.01e-4 * max(abs(found.low), abs(found.high))
    )


def balanced(rng, count):
    """Random loads on two and three points of the box whose resultant is at its centre."""
    points, loads = np.zeros((count, 3, 2)), np.zeros((count, 3))
    for k in range(count):
        while True:
            at = rng.uniform(-1, 1, (3, 2)) * [0.05, 0.03]
            if k % 2:
                # Two, of which the nearer bears more.
                at[1], at[2] = -at[0] * rng.uniform(0.02, 1), 0.0
                points[k] = at
                share = np.hypot(*at[0]) / (np.hypot(*at[0]) + np.hypot(*at[1]))
                loads[k] = 1 - share, share, 0.0
                break
            rows = np.vstack([np.ones(3), at.T])
            if abs(np.linalg.det(rows)) > 1e-6 and np.linalg.inv(rows)[:, 0].min() > 0.01:
                points[k], loads[k] = at, np.linalg.inv(rows)[:, 0]
                break
    return points, loads


@pytest.mark.slow
@pytest.mark.parametrize("aside", [0.0, 0.6])
def test_pushes_stay_within_their_band(aside):
    finger = st.Pusher(point=(0.025 + aside * st.t, st.t - 0.03), edge=(BOX[0], BOX[1]))
    part = st.slider(outline=BOX, weight=2.0, centre=(0, 0), pusher=finger)
    found = st.pressure_bounds(part, of=part.coordinates[2], span=(0, 0.003))
    assert found.status == "conservative" and found.proof.low is None
    time, low, high = found.band.T
    assert time[-1] == pytest.approx(0.003) and high[-1] < 0.5
    points, loads = balanced(np.random.default_rng(0), 200)

    def rates(state):
        """How the angle and the place of the finger change: least power, in the part's frame."""
        phi, place = state
        ahead, along = np.cos(phi) - aside * np.sin(phi), np.sin(phi) + aside * np.cos(phi)
        C = np.stack([0 * phi, 1 + 0 * phi, place / 0.05], axis=1)
        free = np.linalg.svd(C[:, None])[2][:, 1:].transpose(0, 2, 1)
        base = C / (C**2).sum(axis=1)[:, None]
        z, _ = motions(points / 0.05, loads, base, free)
        twist = (base + np.einsum("bij,bj->bi", free, z)) * ahead[:, None]
        turn = twist[:, 2] / 0.05
        return np.array([turn, along - twist[:, 0] - 0.03 * turn])

    state = np.array([np.zeros(200), np.full(200, 0.025)])
    for k, step in enumerate(np.diff(time)):
        middle = rates(state + step / 2 * rates(state))
        state = state + step * middle
        assert np.all((low[k + 1] - 1e-6 <= state[0]) & (state[0] <= high[k + 1] + 1e-6))
    # The band is no wider than a few times what these do.
    assert high[-1] - low[-1] < 3 * np.ptp(state[0])


def test_bad_spans_are_refused_in_three_parts():
    finger = st.Pusher(point=(0.025, st.t - 0.03), edge=(BOX[0], BOX[1]))
    part = st.slider(outline=BOX, weight=2.0, centre=(0, 0), pusher=finger)
    for given in ({"of": "phi.dot", "span": (0, 1)}, {"of": "phi", "span": (1, 0)}):
        with pytest.raises(st.StatementError) as error:
            st.pressure_bounds(part, **given)
        assert str(error.value).count("\n") == 2


def test_a_locus_has_no_notches_where_it_crosses_the_outline():
    # A pressure with three properties is a linear program at every centre of rotation: its mean at
    # the stated centre, friction along the normal of the finger, and through it.
    outline = np.array([(-0.05, -0.03), (0.05, -0.03), (0.01, 0.06)])
    finger = st.Pusher(point=(0.02, st.t - 0.03), edge=(outline[0], outline[1]))
    part = st.slider(outline=outline, weight=2.0, centre=(0, 0), pusher=finger)
    locus = np.array(st.pressure_bounds(part, of="centre", count=120).locus)
    share = np.array([(i, j, 30 - i - j) for i in range(31) for j in range(31 - i)]) / 30
    grid = share @ outline

    def possible(q):
        way = np.vstack([grid, q]) - q
        far = np.hypot(*way.T)
        e = np.stack([-way[:, 1], way[:, 0]], axis=1)[far > 0] / far[far > 0][:, None]
        at = grid[far[:-1] > 0]
        if Path(outline).contains_point(q):
            # What rests at the centre of rotation takes any force within its limit.
            any_ = np.linspace(0, 2 * np.pi, 33)[:-1]
            at = np.vstack([at, np.repeat([q], 32, axis=0)])
            e = np.vstack([e, np.stack([np.cos(any_), np.sin(any_)], axis=1)])
        moment = (at[:, 0] - 0.02) * e[:, 1] - (at[:, 1] + 0.03) * e[:, 0]
        rows = np.stack([np.ones(len(at)), *(at.T / 0.05), e[:, 0], moment / 0.05])
        return linprog(-e[:, 1], A_eq=rows, b_eq=[1, 0, 0, 0, 0], method="highs").status == 0

    asked = [(-0.02, 0.012), (-0.012, 0.012), (-0.024, 0.008), (-0.016, 0.016), (-0.045, -0.021),
             (-0.042, -0.022), (-0.052, -0.02)]  # fmt: skip
    inner = [q for q in asked if possible(q)]
    assert len(inner) >= 6 and np.all(Path(locus).contains_points(inner))
    # What rests is held in any direction: no pressure turns it about a point beside the locus.
    middle = (locus.min(axis=0) + locus.max(axis=0)) / 2
    beside = middle + 1.02 * (locus[::3] - middle)
    beside = beside[Path(outline).contains_points(beside) & ~Path(locus).contains_points(beside)]
    assert len(beside) > 8 and not any(possible(q) for q in beside)


# Corners, the centre, which edge is pushed and where along it: of x.dot + 0.3 φ.dot an end is a
# motion about a point within an edge.
ABOUT_EDGES = [
    ([(0.8835, 0.4684), (0.8518, 0.5238), (0.633, 0.7742), (0.5539, 0.8326), (0.53, 0.848),
      (-0.997, -0.0779), (0.5551, -0.8318), (0.8785, -0.4778)], (0.4861, 0.2574), 5, 0.867),
    ([(0.3994, 0.9168), (-0.6946, 0.7194), (-0.8881, -0.4596), (-0.862, -0.5069),
      (-0.0183, -0.9998)], (-0.4127, -0.066), 0, 0.592),
    ([(-0.2484, 0.851), (-0.7317, -0.3916), (-0.6195, -0.3573), (0.4268, -0.8359),
      (0.6136, -0.4317), (0.8702, -0.4777)], (0.0518, -0.2739), 1, 0.225),
    ([(-1, -0.6), (1, -0.6), (1, 0.6), (0.2351, 0.6), (0, -0.5725), (-0.2351, 0.6), (-1, 0.6)],
     (-0.0738, -0.5869), 0, 0.78),
]  # fmt: skip


@pytest.mark.parametrize(("corners", "centre", "edge", "share"), ABOUT_EDGES)
def test_ends_about_a_point_of_an_edge_are_certified(corners, centre, edge, share):
    P, Q = np.array([corners[edge], corners[edge + 1]], float)
    place, (u, v) = P + share * (Q - P), (Q - P) / np.hypot(*(Q - P))
    point = (place[0] - v * st.t, place[1] + u * st.t)
    finger = st.Pusher(point=point, edge=(tuple(P), tuple(Q)))
    part = st.slider(outline=corners, weight=2, centre=centre, pusher=finger)
    x, _, phi = part.coordinates
    found = st.pressure_bounds(part, of=x.dot + 0.3 * phi.dot)
    assert all(d and d.certified and d.lowest > -1e-7 for d in (found.proof.low, found.proof.high))
    a = np.array(corners, float)
    way = np.roll(a, -1, axis=0) - a
    u, v, turn = found.motions.T
    away = []
    for q in np.c_[-v, u] / turn[:, None]:
        along = np.clip(((q - a) * way).sum(axis=1) / (way**2).sum(axis=1), 0, 1)
        away.append(np.linalg.norm(q - a - along[:, None] * way, axis=1).min())
    assert min(away) < 1e-9
    # The pressures that are named attain the ends.
    for (points, weights), end in zip(found.pressures, (found.low, found.high)):
        step = st.minimum_power(st.slider(points=points, weights=weights, pusher=finger))
        assert step[x.dot] + 0.3 * step[phi.dot] == pytest.approx(end, abs=1e-6)


@pytest.mark.parametrize("count", [3, 7, 12])
def test_a_dual_is_bounded_where_the_part_turns_about_its_border_or_hardly_turns(count):
    rng = np.random.default_rng(count)
    corners = convex(rng, count)
    corners[::3] *= 0.7  # Not convex.
    rest, close = Rest(corners), 10.0 ** np.linspace(-10.5, 0, 1500)
    for k in range(60):
        twist, witness, affine = rng.normal(size=(3, 3)) * 10.0 ** rng.integers(-3, 3, (3, 1))
        if k % 3 == 1:
            # About a point of an edge, or nearly so.
            a, b = corners[k % count], corners[(k + 1) % count]
            x, y = a + rng.uniform() * (b - a)
            twist = np.array([y, -x, 1.0]) * rng.normal() + (k % 2) * 1e-9 * rng.normal(size=3)
        elif k % 3 == 2:
            twist[2] *= 10.0 ** rng.integers(-12, 0)
        found = lowest(rest, twist[None], witness[None], affine[None]).min()
        # Samples crowd at the centre of rotation, where directions change at once.
        q, least, rests = np.array([-twist[1], twist[0]]) / twist[2], np.inf, np.inf
        for a, b in zip(corners, np.roll(corners, -1, axis=0)):
            middle = np.clip((q - a) @ (b - a) / ((b - a) @ (b - a)), 0, 1)
            share = np.concatenate([np.linspace(0, 1, 2001), middle - close, middle + close])
            x = a + np.clip(share, 0, 1)[:, None] * (b - a)
            v, w = field(twist, x), field(witness, x)
            along = (w * v).sum(axis=1) / np.hypot(*v.T)
            least = min(least, float((along - affine[0] - x @ affine[1:]).min()))
            if np.hypot(*(a + middle * (b - a) - q)) < 1e-12:
                # What rests may push along whatever is worst.
                rests = -np.hypot(*field(witness, q)) - affine[0] - q @ affine[1:]
        size = np.abs(witness).max() + np.abs(affine).max()
        # Next to that centre samples have a few digits of their direction.
        assert min(least, rests) - 1e-3 * size <= found <= least + 1e-5 * size


def test_motions_are_refuted_where_no_loads_balance():
    told = 0
    for seed in range(8):
        rng = np.random.default_rng(seed)
        corners = convex(rng, int(rng.integers(3, 7)))
        rest = Rest(corners - rng.uniform(-0.2, 0.2, 2))
        programs = Programs(rest)
        base, way, across, along = rng.normal(size=(4, 3))
        twists = base + np.linspace(-1, 1, 20)[:, None] * way
        room = rng.uniform(-0.3, 0.3)
        open_ = Refuted(programs, twists, across[None], along[None]).open(room)
        for twist, found in zip(twists, open_):
            # The least friction across, with forces on what rests in a polygon within the circle.
            least = least_across(programs.points, rest, twist, across, along, 1.0)
            most = least_across(programs.points, rest, twist, across, along, 1 / np.cos(np.pi / 64))
            if least < room - 1e-6:
                assert found
            elif most > room + 1e-6:
                assert not found
                told += 1
    assert told > 50


def least_across(points, rest, twist, across, along, limit):
    """Return the least ⟨across·v̂⟩ with ⟨along·v̂⟩ = 0 over loads at points and at what rests."""
    u, v = twist[0] - twist[2] * points[:, 1], twist[1] + twist[2] * points[:, 0]
    ways, places = np.c_[u, v] / np.hypot(u, v)[:, None], points
    q = np.array([-twist[1], twist[0]]) / twist[2]
    if rest.contains(q):
        angle = np.arange(64) * np.pi / 32
        ways = np.vstack([ways, limit * np.c_[np.cos(angle), np.sin(angle)]])
        places = np.vstack([points, np.tile(q, (64, 1))])

    def friction(way):
        push = np.c_[way[0] - way[2] * places[:, 1], way[1] + way[2] * places[:, 0]]
        return (push * ways).sum(axis=1)

    rows = np.vstack([np.ones(len(places)), places.T, friction(along)])
    found = linprog(friction(across), A_eq=rows, b_eq=[1, 0, 0, 0])
    return found.fun if found.status == 0 else np.inf


def notched(seed):
    """A plate with a notch, pushed at the edge below it."""
    rng = np.random.default_rng(seed)
    wide, deep = rng.uniform(0.1, 0.3), rng.uniform(0.2, 1.2)
    corners = [
        (-1, -0.6),
        (1, -0.6),
        (1, 0.6),
        (wide, 0.6),
        (0, 0.6 - deep),
        (-wide, 0.6),
        (-1, 0.6),
    ]
    centre = (rng.uniform(-0.5, 0.5), -0.6 + rng.uniform(0.1, 0.9) * (1.2 - deep))
    finger = st.Pusher(point=(rng.uniform(-0.9, 0.9), st.t - 0.6), edge=((-1, -0.6), (1, -0.6)))
    return st.slider(outline=corners, weight=1, centre=centre, pusher=finger)


def around(q, corners):
    """Return points of edges in many directions from a point, which may be next to one of them."""
    angle = np.arange(240) * (np.pi / 240) + 1e-3
    normal = np.c_[-np.sin(angle), np.cos(angle)]
    way = np.roll(corners, -1, axis=0) - corners
    with np.errstate(divide="ignore"):
        share = normal @ (q - corners).T / (normal @ way.T)
    ray, edge = np.nonzero((share > 0) & (share < 1))
    return corners[edge] + share[ray, edge][:, None] * way[edge]


def balances(scene, twist):
    """Tell whether loads on the border and at what rests have friction along the finger's force."""
    (mode,), rest = scene.modes, scene.rest
    q = np.array([-twist[1], twist[0]]) / twist[2]
    points = np.vstack([rest.corners, rest.columns, around(q, rest.corners)])
    ways = np.c_[twist[0] - twist[2] * points[:, 1], twist[1] + twist[2] * points[:, 0]]
    ways, places = ways / np.linalg.norm(ways, axis=1, keepdims=True), points
    if rest.contains(q):
        angle = np.arange(64) * np.pi / 32
        ways = np.vstack([ways, np.c_[np.cos(angle), np.sin(angle)]])
        places = np.vstack([points, np.tile(q, (64, 1))])
    force = np.c_[ways, places[:, 0] * ways[:, 1] - places[:, 1] * ways[:, 0]]
    across = np.linalg.svd(mode.force[None])[2][1:]
    rows = np.vstack([np.ones(len(places)), places.T, across @ force.T])
    return nnls(rows, np.eye(5)[0], maxiter=5000)[1] < 1e-6


@pytest.mark.parametrize("seed", [0, 5, 8])
def test_rays_of_a_locus_end_where_no_pressure_balances(seed):
    scene = Scene.of(notched(seed), None, None, 0.0)
    (mode,) = scene.modes
    start = inner_motion(scene.rest, mode)
    angles = np.arange(9) * (2 * np.pi / 9)
    reach = Border(Programs(scene.rest), mode, start).reach(angles)
    for angle, far in zip(angles, reach):
        way = mode.free @ [np.cos(angle), np.sin(angle)]
        assert balances(scene, start + 0.99 * far * way)
        for beyond in (1.01, 1.05, 1.2):
            assert not balances(scene, start + beyond * far * way)
