"""Slivers, centres next to an edge, notches, many corners: parts that are hard to bound."""

import numpy as np
import pytest

import stationary as st
from stationary.solve.pressure.pushed import Scene


def sliver(rng):
    angle = np.sort(rng.uniform(0, 2 * np.pi, 7))
    corners = np.c_[np.cos(angle), 10.0 ** -rng.uniform(1, 4) * np.sin(angle)]
    return corners, corners.mean(axis=0)


def at_edge(rng):
    angle = np.sort(rng.uniform(0, 2 * np.pi, 6))
    corners = np.c_[np.cos(angle), np.sin(angle)]
    beside = 10.0 ** -rng.uniform(2, 5) * (corners.mean(axis=0) - corners[0])
    return corners, corners[0] + 0.4 * (corners[1] - corners[0]) + beside


def notched(rng):
    w = rng.uniform(0.1, 0.4)
    corners = [(-1, -1), (1, -1), (1, 1), (1 - w, 1), (1 - w, w - 1), (w - 1, w - 1), (w - 1, 1),
               (-1, 1)]  # fmt: skip
    return np.array(corners, dtype=float), np.array([rng.uniform(-0.6, 0.6), w / 3 - 1])


def many(rng):
    angle = np.linspace(0, 2 * np.pi, int(rng.integers(50, 200)), endpoint=False)
    far = 1 + 0.2 * np.sin(rng.integers(2, 7) * angle)
    return far[:, None] * np.c_[np.cos(angle), np.sin(angle)], rng.uniform(-0.4, 0.4, 2)


def feet(rng):
    corners = rng.uniform(-1, 1, (int(rng.integers(4, 9)), 2))
    return corners, rng.dirichlet(np.ones(len(corners))) @ corners


SHAPES = {"sliver": sliver, "at an edge": at_edge, "notched": notched, "many corners": many,
          "feet": feet}  # fmt: skip


def pushed(shape, seed, friction=0.0):
    """A part in units of its own, turned, and a finger at one of its edges."""
    rng = np.random.default_rng([seed, list(SHAPES).index(shape)])
    corners, centre = SHAPES[shape](rng)
    unit, turn = 10.0 ** rng.uniform(-6, 6), rng.uniform(0, 2 * np.pi)
    turned = unit * np.array([[np.cos(turn), -np.sin(turn)], [np.sin(turn), np.cos(turn)]])
    corners, centre = corners @ turned.T, centre @ turned.T
    k = int(rng.integers(len(corners)))
    a, b = corners[k], corners[(k + 1) % len(corners)]
    normal = np.array([a[1] - b[1], b[0] - a[0]]) / np.hypot(*(b - a))
    place = a + rng.uniform(0.2, 0.8) * (b - a)
    point = tuple(place[i] + unit * normal[i] * st.t for i in range(2))
    finger = st.Pusher(point=point, edge=(tuple(a), tuple(b)), friction=friction)
    given = {"points": corners} if shape == "feet" else {"outline": corners}
    return st.slider(**given, weight=3.0, centre=tuple(centre), pusher=finger), finger


@pytest.mark.parametrize(
    ("shape", "seed"),
    [("sliver", 6), ("sliver", 9), ("at an edge", 2), ("at an edge", 5), ("notched", 1),
     ("notched", 4), ("many corners", 0)],
)  # fmt: skip
def test_the_greatest_power_of_odd_parts_is_where_pressure_and_dual_meet(shape, seed):
    part, finger = pushed(shape, seed)
    bounds = st.pressure_bounds(part, of="power")
    dual = bounds.proof.high
    assert dual is not None and dual.scope == "every pressure"
    assert dual.lowest > -1e-11 and dual.residual < 1e-8
    points, weights = bounds.pressures[1]
    known = st.minimum_power(st.slider(points=points, weights=weights, pusher=finger))
    assert known.power == pytest.approx(bounds.high, rel=1e-7)


@pytest.mark.one_in(2)
@pytest.mark.parametrize("seed", [33, 54, 61, 103, 112])
def test_feet_under_a_rough_finger_are_bounded_whichever_way_it_slips(seed):
    # The even pressure may stick where others slide: all of them are within the bounds.
    rng = np.random.default_rng([115, seed])
    feet = rng.uniform(-1, 1, (6, 2))
    share = rng.dirichlet(np.ones(6))
    centre = share @ feet
    edge = ((-1, -1.2), (1, -1.2))
    point = (rng.uniform(-0.8, 0.8) + rng.uniform(-1, 1) * st.t, st.t - 1.2)
    finger = st.Pusher(point=point, edge=edge, friction=0.3)
    part = st.slider(points=feet, weight=1.0, centre=tuple(centre), pusher=finger)
    bounds = st.pressure_bounds(part, of="phi.dot")
    rows = np.vstack([np.ones(6), feet.T])
    free = np.linalg.svd(rows)[2][3:]
    loads = share
    for _ in range(12):
        # As far as loads stay positive along a way that leaves total and centre alone.
        way = rng.normal(size=3) @ free
        room = (-loads / way)[way < 0].min()
        loads = np.maximum(loads + rng.uniform(0, 1) * room * way, 0.0)
        step = st.minimum_power(st.slider(points=feet, weights=loads, pusher=finger))
        size = 1e-9 * abs(bounds.high - bounds.low)
        assert bounds.low - size <= step["phi.dot"] <= bounds.high + size


@pytest.mark.parametrize(
    ("shape", "seed"), [("sliver", 0), ("sliver", 3), ("feet", 2), ("feet", 5), ("at an edge", 5)]
)
def test_ends_at_kinks_are_certified_by_duals_for_every_way_a_corner_begins_to_move(shape, seed):
    part, _ = pushed(shape, seed)
    bounds = st.pressure_bounds(part, of="phi.dot")
    scene = Scene.of(part, None, None, 0.0)
    kinks = 0
    for sign, dual, motion in ((-1, bounds.proof.low, bounds.motions[0]),
                               (1, bounds.proof.high, bounds.motions[1])):  # fmt: skip
        assert dual is not None and dual.scope
        if not len(dual.several):
            continue
        kinks += 1
        # Motions beyond the end on which the finger advances as fast, a little aside in turn and in
        # where they turn about: at each of them one of the duals is positive on all of the border.
        twist = np.linalg.solve(scene.rates, motion)
        mode = scene.modes[0]
        corners = scene.rest.corners
        border = corners
        if shape != "feet":
            share = np.linspace(0, 1, 2000, endpoint=False)[:, None, None]
            share = np.concatenate([share, 10.0 ** np.linspace(-9, -3, 60)[:, None, None]])
            share = np.concatenate([share, 1 - share[-60:]])
            border = (corners + share * (np.roll(corners, -1, axis=0) - corners)).reshape(-1, 2)
        rng = np.random.default_rng(0)
        for _ in range(40):
            step = mode.free @ rng.normal(size=2)
            step *= sign * np.sign(step[2])
            near = twist + 1e-7 * np.abs(twist).max() * step / np.linalg.norm(step)
            v = near[:2] + near[2] * border[:, ::-1] * [-1, 1]
            v /= np.hypot(*v.T)[:, None]
            least = []
            for affine, w in dual.several:
                w = w - (mode.force @ w) / (mode.force @ near) * near
                least.append(((w[:2] + w[2] * border[:, ::-1] * [-1, 1]) * v).sum(axis=1)
                             + border @ affine[1:])  # fmt: skip
            assert max(float(k.min()) for k in least) > 0
    assert kinks


def test_a_kink_that_is_no_extreme_is_gone_beyond():
    # Beside the motion about a corner that bears load what goes further is a narrow range.
    corners = np.array([(-0.03994846, -0.19560699), (0.22320498, 0.97477153),
                        (0.2159947, 0.97560794), (0.01557581, 0.07854324),
                        (-0.07172597, -0.32297989)])  # fmt: skip
    a, b = corners[4], corners[0]
    normal = np.array([a[1] - b[1], b[0] - a[0]]) / np.hypot(*(b - a))
    place = a + 0.94821 * (b - a)
    point = tuple(place[i] + normal[i] * st.t for i in range(2))
    finger = st.Pusher(point=point, edge=(tuple(a), tuple(b)))
    part = st.slider(outline=corners, weight=1.0, centre=(0, 0), pusher=finger)
    x, _, phi = part.coordinates
    bounds = st.pressure_bounds(part, of=0.599475961 * x.dot - phi.dot)
    assert bounds.proof.low is not None and bounds.proof.low.scope
    assert bounds.low < 0.34425  # 0.34448 about the corner
    points, weights = bounds.pressures[0]
    step = st.minimum_power(st.slider(points=points, weights=weights, pusher=finger))
    value = 0.599475961 * step["x.dot"] - step["phi.dot"]
    assert value == pytest.approx(bounds.low, rel=1e-6)
