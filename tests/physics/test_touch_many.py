"""Many contacts: steps of one length, what `"auto"` hands over to them, and what is said then."""

from dataclasses import replace

import numpy as np
import pytest

import stationary as st
from stationary.solve.touch import moreau
from stationary.solve.touch.cones import Unsolved

G = 9.81


def simulate(system, **asked) -> st.Touched:
    motion = st.simulate(system, **asked)
    assert isinstance(motion, st.Touched)
    return motion


def discs(count, width, rough=0.0):
    """Discs that fall into a box, in rows a little askew."""
    R = 0.05
    r = st.coordinates("r", shape=(count, 2))
    i, j = np.triu_indices(count, 1)
    box = st.System(
        kinetic=st.each(lambda v: (v[0] ** 2 + v[1] ** 2) / 2, r.dot),
        potential=st.each(lambda p: G * p[1], r),
        contacts=[
            st.each(lambda a, b: st.Contact(st.norm(b - a) - 2 * R), r[i], r[j], name="pair"),
            st.each(lambda p: st.Contact(p[1] - R, friction=rough, slip=p[0]) if rough
                    else st.Contact(p[1] - R), r, name="floor"),
            st.each(lambda p: st.Contact(p[0] - R), r, name="left"),
            st.each(lambda p: st.Contact(width - R - p[0]), r, name="right"),
        ],
    )  # fmt: skip
    k, columns = np.arange(count), int((width - 0.02) / 0.11)
    askew = np.random.default_rng(1).uniform(-0.004, 0.004, (count, 2))
    return (
        box,
        r,
        np.column_stack([0.06 + 0.11 * (k % columns), 0.06 + 0.115 * (k // columns)]) + askew,
    )


@pytest.mark.parametrize(
    ("count", "width", "end"),
    [(12, 0.5, 1.5), pytest.param(300, 1.9, 5.0, marks=pytest.mark.slow)],
)
def test_discs_fall_into_a_box_and_come_to_rest(count, width, end):
    box, r, places = discs(count, width)
    h = 5e-3 if count < 100 else 1e-2
    motion = simulate(box, span=(0, end), start={r: places}, points=5, method=st.Moreau(step=h))
    # One that lies loose on the smooth floor may go on for ever.
    assert motion.kinetic[-1] < (1e-9 if count < 100 else 1e-7) * motion.struck_off[-1]
    assert motion.lam["floor"][-1].sum() == pytest.approx(count * G, rel=1e-6)
    # Bent gaps stay open to a part of 1e-4 of the longest way of a step.
    assert motion.residual["penetration"] < 1e-4 * h * np.sqrt(2 * G)
    i, j = np.triu_indices(count, 1)
    apart = np.linalg.norm(motion[r][:, i] - motion[r][:, j], axis=2)
    assert apart.min() > 0.1 - 1e-4 * h * np.sqrt(2 * G)


def test_many_closed_contacts_are_handed_over_to_steps():
    count = 42
    x = st.coordinates("x", shape=(count,))
    coins = st.System(
        kinetic=st.each(lambda v: v**2 / 2, x.dot),
        potential=st.each(lambda p: G * p, x),
        contacts=[st.each(lambda p: st.Contact(p), x, name="floor")],
    )
    heights = np.repeat([0.1, 0.2, 0.3], [20, 20, 2])
    few = simulate(coins, span=(0, 0.24), start={x: heights}, points=3)
    assert few.method == "Taylor" and len(few.changes.of("touch")) == 40
    many = simulate(coins, span=(0, 0.5), start={x: heights}, points=3)
    last = np.sqrt(2 * 0.3 / G)
    assert many.method.startswith(f"Taylor until t = {last:.6g}, then Moreau (42 contacts closed")
    # Until then nothing is taken from the events: they are met to rounding, and gone on from.
    touched = np.sqrt(2 * np.array([0.1, 0.2, 0.3]) / G)
    assert np.unique(many.changes.of("impact").t) == pytest.approx(touched, rel=1e-12)
    assert many.at(0.1)[x] == pytest.approx(heights - G * 0.1**2 / 2, rel=1e-12)
    assert np.abs(many.balance).max() < 1e-12 * many.struck_off[-1]
    assert list(many.t) == [0, 0.25, 0.5]
    assert np.abs(many[x][-1]).max() < 1e-9
    assert many.lam["floor"][-1] == pytest.approx(np.full(count, G), rel=1e-6)


def test_impacts_that_differ_by_rounding_alone_are_one():
    # A disc falls on one of several that lie on the rough floor and hardly touch each other.
    box, r, places = discs(6, 0.36, rough=0.4)
    ask = {"span": (0, 0.08), "start": {r: places}, "points": 4}
    motion = simulate(box, **ask, method=st.Touch())
    steps = simulate(box, **ask, method=st.Moreau(step=1e-3))
    assert np.abs(motion.q - steps.q).max() < 1e-3 * np.sqrt(G * 0.06)


@pytest.mark.parametrize("e, length", [(1.0, 1.0), (0.5, 1e-9), (0.5, 1e9)])
def test_force_times_gap_of_what_rebounds_in_steps_is_none(e, length):
    r = st.coordinates("r", shape=(4,))
    row = st.System(
        kinetic=st.each(lambda v: v**2 / 2, r.dot),
        contacts=st.each(
            lambda a, b: st.Contact(b - a - length, restitution=e, name="c"), r[:-1], r[1:]
        ),
    )
    start = {r: length * np.array([-0.5, 1, 2, 3]), r.dot: [length, 0, 0, 0]}
    motion = st.simulate(row, span=(0, 1), start=start, method=st.Moreau(step=1e-2))
    assert motion.status == "done" and motion.changes.of("impact")
    assert motion.residual["complementarity"] < 1e-6 * length**2


def test_a_start_inside_one_of_many_bodies_is_refused():
    # More contacts than one graph of all of them would have.
    box, r, places = discs(60, 1.0, rough=0.1)
    places[50] = places[49] + [0.09, 0.0]
    with pytest.raises(st.StatementError, match=r"start is inside a body: contact 'pair\[\d+\]'"):
        simulate(box, span=(0, 0.01), start={r: places}, method=st.Moreau(step=5e-3))


def test_what_is_not_known_of_modes_and_forces_is_said():
    def blocks(coupling):
        # Eleven rough feet under blocks: far more modes than can be tried, unless they are apart.
        u, w = (st.coordinates(name, shape=(11,)) for name in "uw")
        kinetic = st.each(lambda a, b: (a**2 + b**2) / 2, u.dot, w.dot)
        feet = st.each(lambda a, b: st.Contact(b, friction=0.4, slip=a), u, w, name="foot")
        tied = st.each(lambda a, b: coupling * (a - b) ** 2 / 2, w.dot[:-1], w.dot[1:])
        falling = st.each(lambda p: G * p, w)
        blocks = st.System(kinetic=kinetic + tied, potential=falling, contacts=[feet])
        return simulate(blocks, span=(0, 0.2), start={w: np.full(11, 0.1)}, points=2).status

    assert blocks(0.0).message == "reached the end of the span"
    said = blocks(0.5).message
    assert "other modes were not all tried" in said and said.endswith("first at t = 0.142784")
    # A bar on three feet: their forces are not unique.
    up, turn = st.coordinates("up turn")
    feet = [st.Contact(up + s * turn, name=f"foot {k}") for k, s in enumerate((-1, 0, 1))]
    bar = st.System(kinetic=up.dot**2 / 2 + turn.dot**2 / 6, potential=G * up, contacts=feet)
    motion = simulate(bar, span=(0, 1), points=2)
    assert "how foot 0, foot 1, foot 2 share the forces from t = 0 is not" in motion.status.message
    assert motion.lam[-1].sum() == pytest.approx(G, rel=1e-12)


def test_contacts_that_are_closed_at_the_start_do_not_strike():
    x, y = st.coordinates("x y")
    floor = st.Contact(y, friction=0.3, slip=x, name="floor")
    block = st.System(kinetic=(x.dot**2 + y.dot**2) / 2, potential=G * y, contacts=[floor])
    ask = {"span": (0, 0.1), "points": 3, "method": st.Moreau(step=1e-2)}
    assert len(simulate(block, **ask).changes) == 0
    falls = simulate(block, start={y.dot: -1.0}, **ask).changes
    assert [c.kind for c in falls] == ["impact", "touch"]
    # The step in which it is stopped has the weight of the block, too.
    assert falls.impulse == pytest.approx([1 + G * 1e-2, 0], rel=1e-8)


def test_steps_whose_law_is_not_solved_or_missed_are_not_called_done(monkeypatch):
    y = st.coordinates("y")
    ball = st.System(kinetic=y.dot**2 / 2, potential=G * y, contacts=[st.Contact(y, name="floor")])
    ask = {"span": (0, 1), "start": {y: 1.0}, "points": 5, "method": st.Moreau(step=1e-2)}
    solved = moreau.solved

    def gives_up(law, *rest):
        if law.free[0] < -3.0:
            raise Unsolved("NumericalError")
        return solved(law, *rest)

    monkeypatch.setattr(moreau, "solved", gives_up)
    with pytest.raises(st.DidNotConverge) as caught:
        simulate(ball, **ask)
    ended = caught.value.solution
    assert "NumericalError" in ended.status.message and ended.status == "stalled"
    # What there is until then is kept: it ends within a step, of the order of which it is.
    assert ended.t[-1] == pytest.approx(3.0 / G, abs=1e-2)
    assert ended[y][-1] == pytest.approx(1 - G * ended.t[-1] ** 2 / 2, abs=2e-2)
    monkeypatch.setattr(moreau, "solved", lambda *a: replace(solved(*a), left=0.1))
    off = simulate(ball, throw=False, **ask)
    assert "missed by 1.0e-01" in off.status.message and off.status == "inaccurate"


@pytest.mark.parametrize("stiff, status", [(1e4, "inaccurate"), (1e2, "done")])
def test_steps_that_are_too_long_for_springs_are_not_called_done(stiff, status):
    # 2 ω is the fastest of a long row, and steps of length h follow what is slower than 2/h.
    x = st.coordinates("x", shape=(12, 1))
    row = st.System(
        kinetic=st.each(lambda v: v[0] ** 2 / 2, x.dot),
        potential=st.each(lambda a, b: stiff * (b[0] - a[0]) ** 2 / 2, x[:-1], x[1:]),
        friction=[st.each(lambda r: st.Friction(0.05, on=r[0], name="rub"), x)],
    )
    motion = simulate(row, span=(0, 0.5), start={x.dot: np.eye(12)[:, :1]}, points=11,
                      method=st.Moreau(step=1e-2), throw=False)  # fmt: skip
    assert motion.status == status
    assert (np.abs(motion.balance).max() > 0.25) == (status == "inaccurate")


def test_steps_of_one_length_look_for_no_events():
    x = st.coordinates("x")
    block = st.System(kinetic=x.dot**2 / 2, friction=[st.Friction(1.0, on=x, name="rope")])
    with pytest.raises(st.StatementError, match="steps of one length do not look for events"):
        simulate(block, span=(0, 1), start={x.dot: 1.0}, method=st.Moreau(step=0.1),
                 events=[st.Event(st.t - 0.5, action={x.dot: 1.0})])  # fmt: skip


@pytest.mark.slow
def test_the_period_on_a_belt_by_steps_of_one_length_has_order_one():
    # Stick and slip with a larger limit at rest, in units of its own.
    x, length, time, mass = st.coordinates("x"), 1e-7, 1e3, 1e4
    force, speed = mass * length / time**2, 0.2 * length / time
    belt = st.Friction(1.1 * force, on=x - speed * st.t, static=2 * force, name="belt")
    system = st.System(
        kinetic=mass * x.dot**2 / 2, potential=mass / time**2 * x**2 / 2, friction=[belt]
    )
    period = 2 * 0.9 / 0.2 + 2 * (np.pi - np.arctan(0.9 / 0.2))
    errors = []
    for count in (100, 400):
        step = period / count
        motion = simulate(system, span=(0, 2.2 * period * time), points=22 * count // 10 + 1,
                          method=st.Moreau(step=step * time))  # fmt: skip
        assert motion.changes.kind.tolist() == ["stick", "slip", "stick", "slip", "stick"]
        slips = motion.changes.of("slip").t / time
        assert motion.status == "done" and len(slips) == 2
        errors.append(abs(slips[1] - slips[0] - period) / step)
    # The same number of steps, however long they are; one step is the least that can be told.
    assert max(errors) < 3.1


@pytest.mark.parametrize("reach, plane", [(0.8, False), (0.8, True), (1.3, True)])
def test_what_stops_by_steps_of_one_length_is_held_by_its_limit_at_rest(reach, plane):
    # A spring takes back what it holds by more than the limit in motion, but not at rest.
    x, y = st.coordinates("x y")
    rough = st.Friction(0.5, on=(x, y) if plane else x, static=1.0, name="floor")
    system = st.System(
        kinetic=(x.dot**2 + y.dot**2) / 2, potential=(x**2 + y**2) / 2, friction=[rough]
    )
    speed = np.sqrt((reach + 0.5) ** 2 - 0.25)
    last, step = reach if reach < 1 else -(reach - 1), 2e-2
    motion = simulate(system, span=(0, 5), start={x.dot: speed}, method=st.Moreau(step=step))
    assert motion.status == "done" and motion[x][-1] == pytest.approx(last, abs=2 * step)


@pytest.mark.slow
def test_a_ring_on_many_feet_slides_and_stops_like_one_block():
    x, y, z, a, b, c = st.coordinates("x y z a b c")
    turns = 2 * np.pi * np.arange(4) / 4
    feet = [
        st.Contact(z + a * s - b * k, friction=0.3, slip=(x - c * s, y + c * k), name=f"{i}")
        for i, (k, s) in enumerate(zip(np.cos(turns), np.sin(turns)))
    ]
    spin = (a.dot**2 + b.dot**2) / 8 + c.dot**2 / 4
    ring = st.System(kinetic=(x.dot**2 + y.dot**2 + z.dot**2) / 2 + spin, potential=G * z,
                     contacts=feet)  # fmt: skip
    motion = simulate(ring, span=(0, 1), start={x.dot: 0.8, y.dot: 0.6}, points=3)
    assert motion.changes.t == pytest.approx(np.full(4, 1 / (0.3 * G)), rel=1e-9)
    assert motion[x][-1] == pytest.approx(0.8 / (0.6 * G), rel=1e-9)
    assert motion[y][-1] == pytest.approx(0.6 / (0.6 * G), rel=1e-9)


def fallen(kind, count, height=0.2):
    """A plate that falls flat on its feet, or balls that fall on each other."""
    if kind == "plate":
        up, turn = st.coordinates("up turn")
        feet = np.linspace(-1, 1, count)
        contacts = [st.Contact(up + s * turn, restitution=0.5, name=f"{s}") for s in feet]
        kinetic, start = up.dot**2 / 2 + turn.dot**2 / 6, {up: height}
        return st.System(kinetic=kinetic, potential=G * up, contacts=contacts), start
    y = st.coordinates(" ".join(f"y{i}" for i in range(count)))
    gaps = [y[0], *(b - a - 0.1 for a, b in zip(y[:-1], y[1:]))]
    balls = st.System(
        kinetic=sum(q.dot**2 for q in y) / 2, potential=G * sum(y),
        contacts=[st.Contact(gap, restitution=0.5, name=f"{i}") for i, gap in enumerate(gaps)],
    )  # fmt: skip
    return balls, {q: 0.05 + 0.11 * i + 0.003 * np.sin(i) for i, q in enumerate(y)}


@pytest.mark.one_in(4)
@pytest.mark.parametrize(("kind", "count", "height"), [
    # Rounding tilts the plate at the end of its bounces, each of these in another way.
    ("plate", 3, 0.3), ("plate", 3, 0.17), ("plate", 4, 0.17), ("plate", 7, 0.2), ("plate", 7, 0.3),
    ("plate", 7, 0.17), ("plate", 9, 0.17), ("balls", 3, None), ("balls", 8, None),
])  # fmt: skip
def test_many_contacts_that_bounce_at_once_come_to_rest(kind, count, height):
    system, start = fallen(kind, count, height)
    motion = simulate(system, span=(0, 1.5), start=start, points=4)
    assert np.abs(motion.v[-1]).max() < 1e-12 and np.abs(motion.balance).max() < 1e-12
    assert motion.residual["penetration"] < 1e-14
    weight = G * (1 if kind == "plate" else count)
    floor = motion.lam[-1].sum() if kind == "plate" else motion.lam["0"][-1]
    assert floor == pytest.approx(weight, rel=1e-9)


@pytest.mark.slow
def test_contacts_that_are_many_at_the_start_are_handed_over_at_once():
    system, _ = fallen("plate", 45)
    motion = simulate(system, span=(0, 0.1), points=3)
    assert motion.method.startswith("Moreau (45 contacts closed, too many for events")
    assert motion.lam[-1].sum() == pytest.approx(G, rel=1e-6)
    assert motion.residual["penetration"] < 1e-12


def _hollows(length, time):
    """Where one long step leaves what it is in: gaps that bend strongly, and slots with rebound."""
    x, y = st.coordinates("x y")
    gravity, fast = G * length / time**2, length / time
    ring = length - st.sqrt(x**2 + y**2)
    yield {"ring": ring}, 0.0, 0.0, {x: 0.5 * length, y.dot: 100 * fast}
    for back in (0.0, 1.0):
        groove = {"groove": y - 100 * x**2 / length}
        yield groove, back, gravity, {y: 0.5 * length, x.dot: 2 * fast}
    yield {"wave": y - 0.1 * length * st.sin(20 * x / length)}, 0.0, gravity, {
        y: 0.2 * length, x.dot: 10 * fast}  # fmt: skip
    slot = {"low": y, "high": 1e-3 * length - y}
    yield slot, 0.5, gravity, {y: 5e-4 * length, y.dot: 3 * fast}


def test_no_gap_becomes_negative_however_long_steps_are():
    (x, y), length, time = st.coordinates("x y"), 1e-9, 1e3
    for gaps, back, gravity, start in _hollows(length, time):
        contacts = [st.Contact(gap, restitution=back, name=name) for name, gap in gaps.items()]
        system = st.System(
            kinetic=(x.dot**2 + y.dot**2) / 2, potential=gravity * y, contacts=contacts
        )
        motion = simulate(system, span=(0, 0.2 * time), start=start, points=21,
                          method=st.Moreau(step=1e-2 * time))  # fmt: skip
        speed = np.linalg.norm(motion.v, axis=1).max()
        for gap in gaps.values():
            steep = 1.0 + 200 * np.abs(motion[x]).max() / length
            assert motion[gap].min() > -1e-5 * steep * speed * 1e-2 * time
        # Rebounds of e ≤ 1 and smooth contacts give no energy.
        assert motion.energy.max() < motion.energy[0] * (1 + 1e-9) + gravity * speed * 1e-2 * time
