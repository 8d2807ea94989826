"""Bars, notches, thin parts, centres beside an edge: every end is certified, and none short."""

import numpy as np
import pytest
from scipy.optimize import linprog

import stationary as st
from stationary.solve.pressure.pushed import Scene


def bars(rng):
    """A U, its centre in the bar below or between the others."""
    w, h, b, g = *rng.uniform([0.1, 0.3, 0.1], [0.45, 2, 0.5]), rng.uniform(0.1, 0.45)
    corners = [(-1, -h), (1, -h), (1, h), (1 - w, h), (1 - w, b - h), (g - 1, b - h), (g - 1, h),
               (-1, h)]  # fmt: skip
    if rng.random() < 0.5:
        return corners, (rng.uniform(-0.9, 0.9), b * rng.uniform(0.1, 0.9) - h)
    return corners, (rng.uniform(g - 0.9, 0.9 - w), rng.uniform(0.1 * b - h, 0.8 * h))


def angle(rng):
    """An L, its centre anywhere in the hull."""
    w, h, b = rng.uniform([0.1, 0.5, 0.1], [0.8, 2, 0.5])
    corners = np.array([(0, 0), (2, 0), (2, b), (w, b), (w, h), (0, h)])
    return corners, rng.dirichlet(np.ones(6)) @ corners


def beside_an_edge(rng):
    turn = np.sort(rng.uniform(0, 2 * np.pi, 6))
    corners = np.c_[np.cos(turn), rng.uniform(0.3, 1) * np.sin(turn)]
    place = corners[2] + rng.uniform(0.1, 0.9) * (corners[3] - corners[2])
    return corners, place + 10.0 ** -rng.uniform(2, 5) * (corners.mean(axis=0) - place)


def thin(rng):
    turn = np.sort(rng.uniform(0, 2 * np.pi, 7))
    corners = np.c_[np.cos(turn), 10.0 ** -rng.uniform(0.5, 4) * np.sin(turn)]
    return corners, corners.mean(axis=0)


SHAPES = [bars, angle, beside_an_edge, thin]
RATES = ["phi.dot", "x.dot", "y.dot", "power"]


def pushed(shape, seed, rough=None):
    """A part in units of its own, turned; a smooth or rough finger at one edge; what is asked."""
    rng = np.random.default_rng([seed, SHAPES.index(shape)])
    corners, centre = map(np.array, shape(rng))
    unit, turn = 10.0 ** rng.uniform(-6, 6), rng.uniform(0, 2 * np.pi)
    turned = unit * np.array([[np.cos(turn), -np.sin(turn)], [np.sin(turn), np.cos(turn)]])
    corners, centre = corners @ turned.T, turned @ centre
    k = int(rng.integers(len(corners)))
    a, b = corners[k], corners[(k + 1) % len(corners)]
    way = (b - a) / np.hypot(*(b - a))
    place = a + rng.uniform(0.05, 0.95) * (b - a)
    speed = unit * (np.array([-way[1], way[0]]) + rng.uniform(-0.4, 0.4) * way)
    point = tuple(place[i] + speed[i] * st.t for i in range(2))
    friction = float(rng.choice([0, 0, 0.2, 0.6]))
    friction = friction if rough is None else rough
    finger = st.Pusher(point=point, edge=(tuple(a), tuple(b)), friction=friction)
    part = st.slider(outline=corners, weight=3.0, centre=tuple(centre), pusher=finger)
    return part, finger, RATES[int(rng.integers(4))], friction


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("seeds", [range(1), pytest.param(range(1, 12), marks=pytest.mark.slow)])
def test_every_end_is_certified_and_attained(shape, seeds):
    for seed in seeds:
        part, finger, of, friction = pushed(shape, seed)
        bounds = st.pressure_bounds(part, of=of)
        assert bounds.status == "attained"
        for dual in (bounds.proof.low, bounds.proof.high):
            assert dual is not None and dual.scope, (seed, of, dual)
        for (points, weights), end in zip(bounds.pressures, (bounds.low, bounds.high)):
            try:
                known = st.slider(points=points, weights=weights, pusher=finger)
            except st.StatementError:
                continue  # In a notch: of points alone nobody knows on which side the part is.
            if friction or len(points) == 1:
                continue
            step = st.minimum_power(known)
            is_ = step.power if of == "power" else step[of]
            assert is_ == pytest.approx(end, rel=2e-6, abs=1e-6 * abs(bounds.high - bounds.low))


@pytest.mark.one_in(3)
@pytest.mark.parametrize("friction", [0.07, 0.3, 1.0, 2.5])
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("seeds", [range(1), pytest.param(range(1, 8), marks=pytest.mark.slow)])
def test_the_power_of_a_rough_finger_is_certified_and_attained(shape, friction, seeds):
    for seed in seeds:
        part, finger, *_ = pushed(shape, seed, friction)
        bounds, scene = st.pressure_bounds(part, of="power"), Scene.of(part, None, None, 0.0)
        low, high = bounds.proof.low, bounds.proof.high
        assert bounds.status == "attained" and low is not None and high is not None
        assert low.scope and high.scope == "every pressure"
        # No pressure takes more: a force in the cone gives the finger no more than it gives −w, and
        # friction takes no more of that than |w|, which is below an affine function.
        w, affine = -high.witness, high.affine
        _, _, G, g, S, (s, _) = scene.rows
        for side in (-1, 1):
            gives = float((G + side * friction * S)[0] @ scene.rates @ w) * scene.speed
            assert gives >= -float((g + side * friction * s)[0]) - 1e-9 * scene.speed
        x = scene.rest.corners
        v = w[:2] + w[2] * x[:, ::-1] * [-1, 1]
        assert np.all(affine[0] + x @ affine[1:] >= np.hypot(*v.T) - 1e-9 * np.abs(w).max())
        assert bounds.high == pytest.approx(3.0 * scene.speed * affine[0], rel=1e-9)
        for (points, weights), end in zip(bounds.pressures, (bounds.low, bounds.high)):
            if len(points) == 1:
                continue  # All weight at the centre: the part may turn about it at will.
            (ax, ay), (bx, by) = np.array(finger.edge, dtype=float)
            side = (bx - ax) * (points[:, 1] - ay) - (by - ay) * (points[:, 0] - ax)
            if side.min() < -1e-9 * np.abs(side).max():
                continue  # In a notch: of points alone nobody knows on which side the part is.
            step = st.minimum_power(st.slider(points=points, weights=weights, pusher=finger))
            assert step.power == pytest.approx(end, rel=1e-6, abs=1e-6 * bounds.high)


def columns(rest, twist):
    """Points of the border, dense where it passes by the centre of rotation, and directions."""
    corners = rest.corners
    way = np.roll(corners, -1, axis=0) - corners
    share = np.linspace(0, 1, 60, endpoint=False)[:, None, None]
    points = (corners + share * way).reshape(-1, 2)
    q = np.array([-twist[1], twist[0]]) / twist[2]
    turn = np.arange(90) * (np.pi / 90) + 1e-3
    normal = np.c_[-np.sin(turn), np.cos(turn)]
    with np.errstate(divide="ignore", invalid="ignore"):
        along = normal @ (q - corners).T / (normal @ way.T)
    ray, edge = np.nonzero((along >= 0) & (along <= 1))
    points = np.vstack([points, corners[edge] + along[ray, edge][:, None] * way[edge]])
    v = twist[:2] + twist[2] * points[:, ::-1] * [-1, 1]
    speed = np.hypot(*v.T)
    points, e = points[speed > 0], v[speed > 0] / speed[speed > 0][:, None]
    if rest.contains(q):
        turn = np.arange(64) * (np.pi / 32)
        points = np.vstack([points, np.tile(q, (64, 1))])
        e = np.vstack([e, np.c_[np.cos(turn), np.sin(turn)]])
    return points, e


def imbalance(scene, twist):
    """Return the least that friction is off the finger's force, over loads on many points."""
    (mode,) = scene.modes
    points, e = columns(scene.rest, twist)
    wrench = np.vstack([e.T, points[:, 0] * e[:, 1] - points[:, 1] * e[:, 0]])
    across = np.linalg.svd(mode.force[None])[2][1:] @ wrench
    rows = np.vstack([np.ones(len(points)), points.T, across])
    off = np.vstack([np.zeros((3, 4)), np.hstack([np.eye(2), -np.eye(2)])])
    cost = np.append(np.zeros(len(points)), np.ones(4))
    found = linprog(cost, A_eq=np.hstack([rows, off]), b_eq=np.eye(5)[0])
    assert found.status == 0
    return found.fun


@pytest.mark.one_in(3)
@pytest.mark.parametrize(("shape", "seed"), [(bars, 2), (angle, 3), (beside_an_edge, 4)])
def test_no_pressure_has_a_motion_just_beyond_an_end(shape, seed):
    while True:
        part, _, of, friction = pushed(shape, seed)
        if not friction and of != "power":
            break
        seed += 100
    scene = Scene.of(part, None, None, 0.0)
    (mode,) = scene.modes
    functional, _ = scene.functional(part.coordinates[["x.dot", "y.dot", "phi.dot"].index(of)].dot)
    bounds = st.pressure_bounds(part, of=of)
    for sign, motion in zip((-1, 1), bounds.motions):
        twist = np.linalg.solve(scene.rates, motion) / scene.speed
        slopes = sign * functional @ mode.free
        slopes = slopes / np.hypot(*slopes)
        for turn in np.radians([-75, 0, 75]):
            c, s = np.cos(turn), np.sin(turn)
            way = mode.free @ np.array([[c, -s], [s, c]]) @ slopes
            for far in (1e-2, 1e-4):
                beyond = twist + far * np.abs(twist).max() * way
                assert imbalance(scene, beyond) > 0


@pytest.mark.one_in(4)
@pytest.mark.parametrize("friction", [0.0, 0.4])
@pytest.mark.parametrize("seed", [332, 315, *(pytest.param(k, marks=pytest.mark.slow)
                                  for k in (340, 351))])  # fmt: skip
def test_a_part_whose_centre_bears_nothing_takes_no_less_at_any_motion(seed, friction):
    while True:
        rng = np.random.default_rng(seed)
        corners, centre = map(np.array, bars(rng) if seed % 2 else angle(rng))
        centre = centre if seed % 2 else np.array([1.2, 0.35])
        finger = st.Pusher(point=(0.2, st.t + corners[0, 1]), friction=friction,
                           edge=(tuple(corners[0]), tuple(corners[1])))  # fmt: skip
        part = st.slider(outline=corners, weight=1.0, centre=tuple(centre), pusher=finger)
        scene = Scene.of(part, None, None, 0.0)
        if not scene.rest.contains(np.zeros(2)):
            break
        seed += 2
    bounds = st.pressure_bounds(part, of="power")
    assert bounds.proof.low is not None and bounds.proof.low.scope
    forces = [mode.force for mode in scene.modes if mode.force is not None]
    gives = [float(force @ scene.modes[0].base) for force in forces]
    # Anywhere, and about places of the border, where one that rests is a valley of its own.
    way = np.roll(scene.rest.corners, -1, axis=0) - scene.rest.corners
    border = scene.rest.corners + np.linspace(0.1, 0.9, 9)[:, None, None] * way
    for q in np.vstack([rng.uniform(-1.2, 1.2, (60, 2)), border.reshape(-1, 2)]):
        twist = np.array([q[1], -q[0], 1.0])
        points, e = columns(scene.rest, twist)
        v = twist[:2] + twist[2] * points[:, ::-1] * [-1, 1]
        rows = np.vstack([np.ones(len(points)), points.T])
        least = linprog(np.hypot(*v.T), A_eq=rows, b_eq=np.eye(3)[0]).fun
        for side in (-1, 1):
            share = [side * float(force @ twist) for force in forces]
            if min(share) > 0:
                fast = max(k / n for k, n in zip(gives, share)) * scene.speed
                assert least * fast >= bounds.low * (1 - 1e-9)


@pytest.mark.one_in(3)
@pytest.mark.parametrize("unit", [1e-6, 1.0, 1e6])
@pytest.mark.parametrize("mu, at", [(0.1, 0.02), (0.3, 0.02), (0.3, 0.04), (0.5, 0.06)])
def test_a_finger_that_sticks_at_the_height_of_the_origin_is_believed(mu, at, unit):
    # Along an edge through the origin a turn moves it nowhere: all parts of its slip are rounding.
    outline = [(0, 0), (0.1, 0), (0.1, 0.012), (0.012, 0.012), (0.012, 0.09), (0, 0.09)]
    corners = [(unit * a, unit * b) for a, b in outline]
    finger = st.Pusher(
        point=(at * unit, 0.1 * unit * st.t), edge=(corners[0], corners[1]), friction=mu
    )
    part = st.slider(outline=corners, weight=2.0, centre=(0.03 * unit, 0.006 * unit), pusher=finger)
    bounds = st.pressure_bounds(part, of=part.coordinates[2].dot)
    low, high = bounds.proof.low, bounds.proof.high
    assert low is not None and low.scope and high is not None and high.scope
    for end, pressure in zip((bounds.low, bounds.high), bounds.pressures):
        known = st.slider(points=pressure.points, weights=pressure.weights, pusher=finger)
        turn = known.coordinates[2].dot
        assert st.minimum_power(known)[turn] == pytest.approx(end, rel=2e-6)


@pytest.mark.one_in(3)
@pytest.mark.parametrize("unit", [1e-6, 1.0, 1e6])
@pytest.mark.parametrize("centre", [(0.6, 0.6), (0.2, 0.2)])
def test_a_part_is_dragged_by_the_corner_at_its_origin(centre, unit):
    # Of the constraint that keeps it from going aside all parts are rounding.
    corners = unit * np.array([(0, 0), (2, 0), (2, 0.3), (0.3, 0.3), (0.3, 2), (0, 2)])
    part = st.slider(outline=corners, weight=3.0, centre=(unit * centre[0], unit * centre[1]))
    x, y, phi = part.coordinates
    drag = st.System(constraints=[x - unit * st.t, y])
    for of in ("power", "phi.dot"):
        bounds = st.pressure_bounds(part + drag, of=of)
        assert bounds.proof.low is not None and bounds.proof.low.scope
        for (points, weights), end in zip(bounds.pressures, (bounds.low, bounds.high)):
            if len(points) > 1:
                step = st.minimum_power(st.slider(points=points, weights=weights) + drag)
                is_ = step.power if of == "power" else step[of]
                assert is_ == pytest.approx(end, rel=1e-6)
    # All weight at the centre: it takes what goes along the line from the corner.
    if centre == (0.2, 0.2):
        power = st.pressure_bounds(part + drag, of="power")
        assert power.low == pytest.approx(3.0 * unit * np.sqrt(0.5), rel=1e-12)
