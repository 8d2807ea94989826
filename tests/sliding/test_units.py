"""Answers are the same in nanometres and in millions of kilometres, and wherever the origin is."""

import numpy as np
import pytest
from scipy.optimize import brentq, root

import stationary as st

x, y, phi = st.coordinates("x y phi")


@pytest.mark.parametrize("length", [1e-9, 1.0, 1e9])
@pytest.mark.parametrize("origin", [0.0, 1e5])
def test_a_gap_is_closed_when_it_is_closed(length, origin):
    # A finger that begins 9 thousandths of its travel away takes as much less.
    pusher = st.Contact(x - (origin + st.t) * length, name="finger")
    particle = st.System(friction=[st.Friction(1.0, on=(x, y))], contacts=[pusher])
    start = {x: (origin + 0.009) * length, y: 0.0}
    slide = st.quasistatics(particle, span=(0, 1), start=start, points=3)
    assert slide.lost[-1] / length == pytest.approx(0.991, abs=1e-8)
    assert slide.events[0] == pytest.approx([0.009], abs=1e-8)


@pytest.mark.parametrize("unit", [1e-9, 1.0, 1e6])
@pytest.mark.parametrize("seed", range(4))
def test_what_rolls_loses_nothing(seed, unit):
    # A cart whose wheels are driven as fast as it goes: slip is the rounding of what cancels.
    x, y, phi, left, right = st.coordinates("x y phi left right")
    chance = np.random.default_rng(seed)
    length, width, speed, limit = chance.uniform(0.1, 1.0, 4) * [unit, unit, unit, 30.0]
    wheels = []
    for a, b, rim in (
        (length, width, left),
        (-length, width, left),
        (length, -width, right),
        (-length, -width, right),
    ):
        c, s = st.cos(phi), st.sin(phi)
        place = (x + a * c - b * s - rim, y + a * s + b * c)
        wheels.append(st.Friction(limit, on=place))
    motors = [st.Constraint(rim - speed * st.t) for rim in (left, right)]
    step = st.minimum_power(st.System(friction=wheels, constraints=motors))
    assert step[x.dot] == pytest.approx(speed, rel=1e-12)
    assert abs(step[phi.dot]) * length < 1e-12 * speed
    assert abs(step.power) < 1e-11 * limit * speed


def behind_a_spring(length, force, origin):
    """A particle in a plane behind a spring whose end goes round."""
    hand = [(origin + f) * length for f in (1.3 * st.sin(st.t), st.cos(st.t) - 1)]
    energy = force / length * ((x - hand[0]) ** 2 + (y - hand[1]) ** 2)
    system = st.System(potential=energy, friction=[st.Friction(force, on=(x, y))])
    return system, {x: (0.0, length), y: (0.0, length)}, 0.6


def in_oil(length, force, origin):
    """A spring that relaxes in oil, with dry friction."""
    rubs = [st.Drag(4 * force / length, 1, on=x), st.Friction(0.5 * force, on=x)]
    energy = force / length * (x - origin * length) ** 2
    return st.System(potential=energy, friction=rubs), {x: (1.0, length)}, 1.0


def towed(length, force, origin):
    """A bead behind a link, which begins across it."""
    link = st.norm((x - (st.t + origin) * length, y - origin * length)) - length
    bead = st.System(friction=[st.Friction(force, on=(x, y))], constraints=[st.Constraint(link)])
    return bead, {x: (0.0, length), y: (1.0, length)}, 0.4


def raised(length, force, origin):
    """A rod whose top is raised along a line, on a rough floor: metres and radians."""
    c, s = st.cos(phi), st.sin(phi)
    foot = (x - s * length / 2, y - origin * length - c * length / 2)
    top = (x + s * length / 2, y - origin * length + c * length / 2)
    rod = st.System(
        potential=force * y,
        contacts=[st.Contact(foot[1], friction=0.4, slip=foot[0], name="floor")],
        constraints=[top[1] - (0.5 + st.t) * length, top[0] - origin * length],
    )
    lean = np.arccos(0.5)
    return rod, {x: (-np.sin(lean) / 2, length), y: (0.25, length), phi: (lean, 1.0)}, 0.2


@pytest.mark.one_in(2)
@pytest.mark.parametrize(
    "make, method",
    [(behind_a_spring, "auto"), (in_oil, "auto"), (in_oil, "increments"), (towed, "auto"),
     (towed, "increments"), (raised, "increments")],
)  # fmt: skip
def test_every_way_of_following_is_the_same_in_all_units(make, method):
    runs = []
    for length, force, origin in [(1.0, 1.0, 0.0), (1e-9, 1e3, 0.0), (1e6, 1e-9, 1e3)]:
        system, start, end = make(length, force, origin)
        moved = {k: origin * length if size == length else 0.0 for k, (_, size) in start.items()}
        at = {k: value * size + moved[k] for k, (value, size) in start.items()}
        slide = st.quasistatics(system, span=(0, end), start=at, points=4, method=method)
        places = [(slide[k] - moved[k]) / size for k, (_, size) in start.items()]
        runs.append((np.array(places), slide.lost / (force * length), slide.steps))
    (known, lost, steps), *others = runs
    for places, taken, count in others:
        np.testing.assert_allclose(places, known, atol=1e-7)
        np.testing.assert_allclose(taken, lost, atol=1e-7)
        assert abs(count - steps) <= 2


def changes_on_a_circle(limit, end):
    """When a bead on a circle of radius one, behind a spring, starts and stops to slide.

    At the angle a the spring pulls it by ρ sin(β − a), where ρ and β are where its end is: it rests
    between two angles at which that is the limit, and slides with the one that takes it along.
    """

    def bound(t, way):
        u, w = 1 + 0.8 * t, 1.2 * np.sin(t)
        return np.arctan2(w, u) - way * np.arcsin(limit / np.hypot(u, w))

    def leads(t, way):
        return way * (bound(t + 1e-5, way) - bound(t - 1e-5, way))

    times, a, slides = [], 0.0, 0
    grid = np.linspace(0, end, 2001)
    for before, t in zip(grid, grid[1:]):
        way = 1 if bound(t, 1) > a else -1 if bound(t, -1) < a else 0
        if not slides and way:
            times.append(brentq(lambda s: bound(s, way) - a, before, t))
        if slides and not way:
            times.append(brentq(lambda s: leads(s, slides), before - end / 1000, t))
        a, slides = bound(t, way) if way else a, way
        if times and not way and len(times) % 2 == 0:
            a = bound(times[-1], 1 if len(times) % 4 == 2 else -1)
    return np.array(times)


@pytest.mark.one_in(2)
@pytest.mark.parametrize(
    "length, force, origin, even",
    [(1.0, 1.0, 0.0, True), (1.0, 1.0, 1e6, True), (1e-9, 1e6, 1e3, False),
     (1e9, 1e-3, -1e4, False)],
)  # fmt: skip
def test_a_bead_on_a_circle_changes_at_its_times_wherever_the_origin_is(
    length, force, origin, even
):
    u, w = origin * length, -0.7 * origin * length
    hand = (u + length * (1 + 0.8 * st.t), w + 1.2 * length * st.sin(st.t))
    circle = ((x - u) ** 2 + (y - w) ** 2) / length**2 - 1
    bead = st.System(
        potential=force / length / 2 * ((x - hand[0]) ** 2 + (y - hand[1]) ** 2),
        friction=[st.Friction(0.3 * force, on=(x, y))],
        constraints=[st.norm((x - u, y - w)) - length if even else circle],
    )
    slide = st.quasistatics(bead, span=(0, 6), start={x: u + length, y: w}, points=7)
    known = changes_on_a_circle(0.3, 6)
    assert len(known) == 5
    np.testing.assert_allclose(slide.events[0], known, atol=1e-7 + 1e-13 * abs(origin))
    assert slide.residual["energy"] < 1e-7 * force * length


@pytest.mark.one_in(2)
@pytest.mark.parametrize(
    "length, force, origin", [(1e-9, 1.0, 0.0), (1.0, 1e6, 1e3), (1e9, 1.0, 0)]
)
def test_a_rod_pinned_at_a_rough_foot_jams_where_it_is_stretched(length, force, origin):
    # The pin and the friction of the foot share what holds it. The other foot goes round a circle
    # of radius one until it is as far as the hand can take it, at t = 1.
    c, s = length * st.cos(phi) / 2, length * st.sin(phi) / 2
    foot, other = (x - c, y - s), (x + c, y + s)
    pin = st.Constraint((foot[0] - origin * length, foot[1]), name="pin")
    hand = st.Constraint(other[0] - (origin + 0.5 + 0.5 * st.t) * length, name="hand")
    rubs = [st.Friction(force, on=foot), st.Friction(2 * force, on=other)]
    rod = st.System(friction=rubs, constraints=[pin, hand])
    lean = np.pi / 3
    start = {x: (origin + 0.25) * length, y: np.sin(lean) / 2 * length, phi: lean}
    with pytest.raises(st.NoMotion) as caught:
        st.quasistatics(rod, span=(0, 2), start=start, points=9)
    slide = caught.value.solution
    assert caught.value.kind == "jammed"
    assert slide.t[-1] == pytest.approx(1.0, abs=1e-6)
    assert slide.lost[-1] == pytest.approx(2 * force * length * lean, rel=1e-3)


@pytest.mark.one_in(4)
@pytest.mark.parametrize("units", [(1, 1, 1), (1e-9, 1e3, 1e-6), (1e7, 1e-4, 1e3), (1e-3, 1, 1e3)])
@pytest.mark.parametrize("power", [0.5, 1, 2, 3])
@pytest.mark.parametrize("over", [1e-1, 1e-3, 1e-5])
def test_drag_takes_what_dry_friction_leaves_however_little_that_is(over, power, units):
    length, force, time = units
    drag = st.Drag(force * (time / length) ** power, power, on=x)
    load = st.Load(2 * force * (1 + over), on=x)
    block = st.System(friction=[st.Friction(2 * force, on=x), drag], loads=[load])
    speed = (2 * over) ** (1 / power) * length / time
    for verb in (st.minimum_dissipation, st.newton):
        assert verb(block)[x.dot] == pytest.approx(speed, rel=1e-9)


@pytest.mark.parametrize("seed", [2, 8, 10, 12, 18, 29])
def test_a_part_that_drags_at_several_points_moves_the_same_by_both_principles(seed):
    # In units that differ by fourteen orders, with drag of any power: moments beside forces.
    rng = np.random.default_rng(seed)
    count, length, force = int(rng.integers(2, 6)), *(10.0 ** rng.integers(-7, 7, 2))
    power = float(rng.choice([0.3, 0.5, 1.5, 2, 3]))

    def at(place):
        a, b = (float(z) for z in length * place)
        return x + st.cos(phi) * a - st.sin(phi) * b, y + st.sin(phi) * a + st.cos(phi) * b

    drags = [
        st.Drag(float(w * force / length**power), power, on=at(place))
        for w, place in zip(rng.uniform(0.2, 1, count), rng.uniform(-1, 1, (count, 2)))
    ]
    pull = tuple(map(float, force * rng.normal(size=2)))
    part = st.System(friction=drags, loads=[st.Load(pull, on=at(rng.uniform(-1, 1, 2)))])
    one, other = st.minimum_dissipation(part), st.newton(part)
    apart = (one.v - other.v) * [1, 1, length]
    assert np.abs(apart).max() <= 1e-9 * length


@pytest.mark.parametrize(
    ("long", "force", "time"), [(1, 1, 1), (1e6, 1e-6, 1e2), (1e-6, 1e3, 1e-3)]
)
@pytest.mark.parametrize(
    ("lines", "sizes", "push"),
    [([(1.2, 1.2), (0.2, -1.0), (1.2, 0.0)], (1.8, 0.6, 0.8), (1.5, -1.5)),
     ([(1.8, -0.6), (1.4, -0.4), (1.2, -1.0)], (1.0, 0.6, 0.6), (1.75, 1.5))],
)  # fmt: skip
def test_drag_of_several_powers_leads_the_same_way_in_every_unit(
    lines, sizes, push, long, force, time
):
    powers, speed, lines = (0.5, 0.5, 3.0), long / time, np.array(lines)

    def left(v):
        w = lines @ v
        return push - lines.T @ (np.sign(w) * np.abs(w) ** powers * sizes)

    start = np.linalg.lstsq(lines, np.linalg.lstsq(lines.T, push)[0])[0]
    known = root(left, start, tol=1e-14).x
    assert np.abs(left(known)).max() < 1e-11
    system = st.System(
        work=force * (push[0] * x + push[1] * y),
        friction=[
            st.Drag(s * force / speed**n, n, on=a * x + b * y)
            for s, n, (a, b) in zip(sizes, powers, lines.tolist())
        ],
    )
    for ask in (st.minimum_dissipation, st.newton):
        np.testing.assert_allclose(ask(system).v / speed, known, rtol=1e-8)


def test_a_rail_leads_where_drag_takes_little_in_every_unit():
    push, way, dry, wet = np.array(
        [(-0.257, 1.3261), (0.5482, -0.3906), (0.0363, 0.6136), (0.2178, 0.35)]
    )
    for speed, force in ((1.0, 1.0), (1e4, 1e-6), (1e-4, 1e6)):
        rail = st.System(
            work=force * (push[0] * x + push[1] * y),
            friction=[
                st.Friction(1.6189 * force, on=dry[0] * x + dry[1] * y),
                st.Drag(1.9199 * force / speed**0.5, 0.5, on=wet[0] * x + wet[1] * y),
            ],
            constraints=[way[1] * x - way[0] * y - 1.2621 * speed * st.t],
        )
        v = st.minimum_dissipation(rail).v / speed
        # Along the free way pushes and what resists balance.
        left = push - 1.6189 * np.sign(dry @ v) * dry
        left = left - 1.9199 * np.sign(wet @ v) * np.sqrt(abs(wet @ v)) * wet
        assert abs(left @ way) < 1e-9
        assert v @ (way[1], -way[0]) == pytest.approx(1.2621, rel=1e-9)


@pytest.mark.parametrize("units", [(1, 1, 1), (1e-6, 1e3, 1e4), (1e6, 1e-5, 1e-3)])
def test_a_spring_sets_off_what_rests_and_draws_it_through_oil_in_every_unit(units):
    # At rest nothing tells a speed but the span; then v / 2 + 0.3 = t − x.
    length, force, time = units
    body = st.System(
        potential=force / length * (x - length * st.t / time) ** 2 / 2,
        friction=[st.Friction(0.3 * force, on=x)],
        dissipation=force * time / length * x.dot**2 / 4,
    )
    slide = st.quasistatics(body, span=(0, 4 * time), points=41)
    t = slide.t / time
    way = np.where(t > 0.3, t - 0.8 + np.exp(-2 * (t - 0.3)) / 2, 0.0)
    assert slide.method == "events" and np.abs(slide[x] / length - way).max() < 1e-9
    assert np.ravel(slide.events) / time == pytest.approx([0.3], abs=1e-8)


@pytest.mark.parametrize("units", [(1, 1, 1), (1e-6, 1e3, 1e4), (1e6, 1e-5, 1e-3)])
def test_two_of_three_stay_while_the_third_crawls_in_every_unit(units):
    # Of masses in a row that rub alike the outer one gives way, there and back.
    length, force, time = units
    a, b, c = st.coordinates("a b c")
    row = st.System(
        friction=[st.Friction(force, on=q) for q in (a, b, c)],
        constraints=[b - a - length * (1 + 0.3 * st.sin(st.t / time)), c - b - length],
    )
    start = {b: length, c: 2 * length}
    slide = st.quasistatics(row, span=(0, 2 * np.pi * time), start=start, points=9)
    assert slide[a] / length == pytest.approx(-0.3 * np.sin(slide.t / time), abs=1e-9)
    assert np.ptp([slide[b], slide[c] - length]) < 1e-9 * length
    assert slide.lost[-1] == pytest.approx(1.2 * force * length, rel=1e-9)


@pytest.mark.parametrize("units", [(1, 1, 1), (1e-6, 1e3, 1e4), (1e6, 1e-4, 1e-3)])
def test_a_part_on_one_foot_runs_away_from_a_wall_in_every_unit(units):
    # Turning about the foot nothing resists, and the loads give 0.15 · 0.51 − 0.04 · 0.74 + 0.22.
    length, force, time = units
    part = st.slider(points=[(0.74 * length, -0.51 * length)], weights=[0.69 * force])
    (px, py, turn), (u, v) = part.coordinates, (float(np.cos(5.53)), float(np.sin(5.53)))
    place, way = length * np.array((-0.03, 0.58)), 0.61 * length * st.t / time
    px += place[0] * (st.cos(turn) - 1) - place[1] * st.sin(turn) + way
    py += place[0] * st.sin(turn) + place[1] * (st.cos(turn) - 1) - way
    wall = st.Contact(u * px + v * py, friction=1.35, slip=u * py - v * px, name="wall")
    loads = [st.Load((0.15 * force, -0.04 * force, -0.22 * force * length), on=part.coordinates)]
    for verb in (st.minimum_power, st.newton):
        with pytest.raises(st.NoMotion) as caught:
            verb(part + st.System(contacts=[wall], loads=loads))
        direction = caught.value.direction
        assert caught.value.kind == "accelerates"
        assert direction[part.coordinates[0].dot] == pytest.approx(
            -0.51 * length * direction[turn.dot], rel=1e-6
        )
