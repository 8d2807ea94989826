"""The gate refuses wrong answers: perturbed by ten tolerances, in every number that they claim."""

from dataclasses import replace

import numpy as np
import pytest

import stationary as st
from stationary.lower.kernel import graph_of
from stationary.result.multipliers import Multipliers
from stationary.result.touched import Touched
from stationary.solve.gate import findings, judged
from stationary.solve.gate.reason import Reason, reason
from stationary.solve.gate.state import State

UNITS = [1e-6, 1.0, 1e6]


def hung(unit, shift):
    """Two weights on two rods, pulled aside."""
    a, b, c, d = st.coordinates("a b c d")
    at = (shift * unit, 0.0)
    return (
        st.particle(1.0, at=(a, b), gravity=9.81)
        + st.particle(2.0, at=(c, d), gravity=9.81)
        + st.rod(at, (a, b), 2 * unit)
        + st.rod((a, b), (c, d), unit)
        + st.System(loads=[st.Load(4.0, on=c)])
    ), {a: at[0] + unit, b: -unit, c: at[0] + 2 * unit, d: -2 * unit}


def leaning(unit, shift):
    """A weight on springs that rests against a wall and a floor."""
    x, y = st.coordinates("x y")
    return st.System(
        potential=3 * (x - (shift + 2) * unit) ** 2 / unit**2 + 5 * (y + unit) ** 2 / unit**2,
        contacts=[
            st.Contact((shift + 1) * unit - x, name="wall"),
            st.Contact(y, name="floor"),
            st.Contact(y + 5 * unit, name="cellar"),
        ],
    ), {x: shift * unit, y: unit}


def worse(rest):
    """Yield answers that are wrong in one number, and what it is."""
    from stationary.solve.scales import scales_of

    scales = scales_of(rest.graph, rest.params, rest.t, rest.q, u=rest.u)
    lengths = np.maximum(scales.length, np.abs(rest.q - rest.q.mean()) + 1e3 * scales.rounding)
    for i in range(len(rest.q)):
        q = rest.q.copy()
        q[i] += 1e-6 * lengths[i]
        yield f"q[{i}]", replace(rest, q=q)
    for i in range(len(rest.lam)):
        lam = np.array(rest.lam)
        lam[i] += 1e-6 * np.abs(lam).max()
        yield f"lam[{i}]", replace(rest, lam=Multipliers.of(lam, rest.graph.layout))


@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize("shift", [0.0, 100.0])
@pytest.mark.parametrize("make", [hung, leaning])
def test_a_state_of_rest_is_believed_and_a_wrong_one_is_not(make, unit, shift):
    system, start = make(unit, shift)
    rest = st.statics(system, start=start)
    assert all(f.holds for f in findings(rest))
    for what, wrong in worse(rest):
        assert judged(wrong).status == "refuted", what


def pushed(unit, shift):
    """A part on three feet, pushed at a corner by a finger that moves."""
    feet = np.array([(0.0, 0.0), (1.0, 0.1), (0.3, 0.9)]) * unit
    part = st.slider(points=feet, weights=[0.2, 0.5, 0.3])
    x, y, phi = part.coordinates
    finger = y + 0.7 * unit * st.sin(phi) - 0.2 * unit * st.t
    system = part + st.System(constraints=[st.Constraint(finger, name="finger")])
    return system, {x: shift * unit, y: 0.0, phi: 0.0}


@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize("ask", [st.minimum_power, st.newton, st.minimum_dissipation])
def test_a_sliding_step_is_believed_and_a_wrong_one_is_not(ask, unit):
    system, at = pushed(unit, 3.0)
    step = ask(system, at=at)
    assert all(f.holds for f in findings(step))
    for i in range(3):
        v = step.v.copy()
        v[i] += 1e-4 * (0.2 * unit if i < 2 else 0.2)
        assert judged(replace(step, v=v)).status == "refuted", i
    lam = Multipliers.of(np.array(step.lam) * (1 + 1e-4), step.graph.layout)
    assert judged(replace(step, lam=lam)).status == "refuted"
    (name,) = step.forces
    for k in range(3):
        forces = {name: np.array(step.forces[name])}
        forces[name][k] *= 1 + 1e-4
        assert judged(replace(step, forces=forces)).status == "refuted", k


def towed(unit, shift):
    """Two blocks in a row behind springs, the first towed to and fro."""
    a, b = st.coordinates("a b")
    hand = (shift + st.sin(st.t)) * unit
    row = st.System(
        potential=((hand - a) ** 2 + 2 * (a - b) ** 2) / (2 * unit),
        friction=[st.Friction(0.3, on=a, name="fa"), st.Friction(0.2, on=b, name="fb")],
    )
    return row, {a: shift * unit, b: shift * unit}


def trailing(unit, shift):
    """A bead behind a link: all coordinates move, in a curve."""
    x, y = st.coordinates("x y")
    link = st.norm((x - (shift + st.t) * unit, y)) - unit
    bead = st.System(friction=[st.Friction(1.0, on=(x, y))], constraints=[st.Constraint(link)])
    return bead, {x: shift * unit, y: unit}


@pytest.mark.parametrize(
    "make, points, unit",
    [(pushed, 5, 1e-6), (trailing, 41, 1e6), *((towed, 41, unit) for unit in UNITS)],
)
def test_a_slide_is_believed_and_a_wrong_one_is_not(make, points, unit):
    system, start = make(unit, 3.0)
    slide = st.quasistatics(system, span=(0, 2), start=start, points=points)
    assert slide.status == "done" and all(f.holds for f in findings(slide, instants=True))
    n, much = system.size, 1e-5
    sizes = np.array([1.0 if c.name == "phi" else unit for c in system.coordinates])
    speeds = sizes * np.abs(slide.v / sizes).max()
    for k in (1, points - 1):
        # Behind springs a velocity shows by where it leads alone: the last leads nowhere.
        for i in range(n if make is towed and k > 1 else 2 * n):
            y = slide.y.copy()
            y[k, i] += much * (np.ptp(y[:, i]) if i < n else speeds[i - n])
            assert judged(replace(slide, y=y), instants=True).status == "refuted", (k, i)
        for i in range(3, slide.more.shape[1]):
            more = slide.more.copy()
            more[k, i] += much * np.abs(more[:, 3:]).max()
            assert judged(replace(slide, more=more), instants=True).status == "refuted", (k, i)
        t = slide.t.copy()
        t[k] += much * 2
        assert judged(replace(slide, t=t), instants=True).status == "refuted", k


def test_a_slide_that_ends_early_ends_for_its_reason():
    # Two links from a wall pulled beyond their reach; and a rod that runs away along a slope.
    x, y, s = st.coordinates("x y s")
    tie, hand = st.Constraint(st.norm((x, y)) - 1), st.Constraint(x - st.t, name="hand")
    bar = st.System(friction=[st.Friction(1.0, on=(x, y))], constraints=[tie, hand])
    slide = st.quasistatics(bar, span=(0, 2), start={x: 0, y: 1}, throw=False)
    assert slide.status == "jammed"
    state = State(slide.kernel.graph, 1.0, np.array([1.0, 0.0]), np.zeros(2), np.zeros(0),
                  np.zeros(0), np.zeros(2), span=2.0, travel=np.ones(2))  # fmt: skip
    at = (1.0, np.array([1.0, 0.0]), np.zeros(0))
    jams = Reason(*at, rows=np.array([1.0, -1.0]), gaps=np.zeros(0))
    assert all(f.holds for f in reason(jams, state))
    for weights in ([1.0, 1.0], [1.0, -0.5], [0.0, 1.0]):
        assert any(not f.holds for f in reason(replace(jams, rows=np.array(weights)), state))
    block = st.System(friction=[st.Friction(1.0, on=s)], loads=[st.Load(2.0 * st.t, on=s)])
    slope = State(graph_of(block), 0.6, np.zeros(1), np.zeros(1), np.zeros(0), np.zeros(0),
                  np.zeros(0), np.zeros(1), span=1.0, travel=np.ones(1))  # fmt: skip
    runs = Reason(0.6, np.zeros(1), np.zeros(0), ray=np.ones(1))
    assert all(f.holds for f in reason(runs, slope))
    for wrong in (replace(runs, ray=-np.ones(1)), replace(runs, t=0.4)):
        assert any(not f.holds for f in reason(wrong, slope))


@pytest.mark.parametrize("unit", UNITS)
def test_friction_that_locks_is_believed_and_forces_that_do_not_are_not(unit):
    # A bead under a rod at 45°: the floor's friction needs as much as what presses, and has twice.
    x, y = st.coordinates("x y")

    def bead(mu, way=1.0):
        return st.System(
            friction=[st.Friction(1.0, on=(x, y), name="rub")],
            contacts=[st.Contact(y, friction=mu, slip=x, name="floor")],
            constraints=[st.Constraint((x - y) / np.sqrt(2) - way * unit * st.t, name="rod")],
        )

    def told(system, push=1.0, **other):
        size = np.sqrt(0.5)
        at = State(graph_of(system), 0.0, np.zeros(2), np.zeros(2), np.zeros(0), np.zeros(0),
                   np.zeros(2), np.zeros(3), span=1.0, travel=unit * np.ones(2))  # fmt: skip
        locks = Reason(0.0, np.zeros(2), np.zeros(0), rows=np.ones(1), gaps=np.array([push * size]),
                       locks=np.array([0.0, 0.0, size]))  # fmt: skip
        return all(f.holds for f in reason(replace(locks, **other), at))

    assert told(bead(2.0))
    assert not told(bead(0.9)) and not told(bead(2.0, way=-1.0)) and not told(bead(2.0), push=1.01)
    assert not told(bead(2.0), rows=-np.ones(1))
    assert not told(bead(2.0), locks=np.array([0.1, 0.0, np.sqrt(0.5)]))


@pytest.mark.parametrize("unit", UNITS)
def test_a_limit_load_is_believed_and_a_wrong_one_is_not(unit):
    system, at = pushed(unit, 3.0)
    x, y, phi = system.coordinates
    P = st.inputs("P")
    part = st.System(friction=system.friction, loads=[st.Load((P, 0.3 * P), on=(x, y))])
    limit = st.limit_load(part, load=P, at={x: 3 * unit})

    def there(factor):
        return (0.0, np.array([3 * unit, 0.0, 0.0]), np.array([factor])), np.zeros(0)

    assert judged(limit, at=there).status == "collapses"
    for end in ("low", "high"):
        right = getattr(limit, end)
        mode = np.array(right.mode)
        mode[2] *= 1.01
        forces = {name: 1.0001 * np.asarray(f) for name, f in right.forces.items()}
        for wrong in (
            replace(right, factor=1.0001 * right.factor),
            replace(right, mode=type(right.mode).of(mode, limit.graph.layout)),
            replace(right, forces=forces),
        ):
            assert judged(replace(limit, **{end: wrong}), at=there).status == "refuted"


def refuted(wrong, **known):
    return any(not f.holds for f in findings(wrong, **known))


@pytest.mark.parametrize("unit", UNITS)
def test_linear_equations_are_believed_and_wrong_ones_are_not(unit):
    system, start = hung(unit, 5.0)
    lin = st.linearize(system, at=st.statics(system, start=start))
    assert not refuted(lin)
    # In units of time in which the pendulums swing once.
    rate = np.sqrt(9.81 / unit)
    size = np.array([1.0, 1.0, rate, rate])
    for i, j in np.ndindex(lin.A.shape):
        A = lin.A.copy()
        A[i, j] += 1e-3 * rate * size[i] / size[j]
        assert refuted(replace(lin, A=A)), (i, j)


@pytest.mark.parametrize("unit", UNITS)
def test_modes_are_believed_and_wrong_ones_are_not(unit):
    system, start = hung(unit, 5.0)
    rest = st.statics(system, start=start)
    modes = st.modes(system, at=rest, count=2)
    known = {"u": rest.u, "lam": np.asarray(rest.lam)}
    assert not refuted(modes, **known)
    assert refuted(replace(modes, squares=modes.squares * [1.0, 1.0001]), **known)
    for i in range(4):
        vectors = modes.vectors.copy()
        vectors[0, i] += 1e-4 * np.abs(vectors[0]).max()
        assert refuted(replace(modes, vectors=vectors), **known), i


@pytest.mark.parametrize("unit", UNITS)
def test_a_branch_is_believed_and_a_wrong_one_is_not(unit):
    # Euler's column of two links: phi = 0, and the way it buckles.
    phi, (P, k) = st.coordinates("phi"), st.parameters(P=0.5 * unit, k=1.0 * unit)
    column = st.System(potential=2 * k * phi**2 - 2 * P * (1 - st.cos(phi)))
    diagram = st.continuation(column, parameter=P, span=(0, 4 * unit), start={phi: 0})
    known = {"t": 0.0, "u": lambda q: np.zeros(0), "reach": np.ones(1)}
    for branch in diagram.branches:
        assert branch.status != "refuted" and not refuted(branch, **known)
    buckled = max(diagram.branches, key=lambda b: np.ptp(b.q))
    q = buckled.q.copy()
    q[len(q) // 2] += 1e-6
    assert refuted(replace(buckled, q=q), **known)
    assert refuted(replace(buckled, parameter=buckled.parameter * (1 + 1e-6)), **known)


@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize("make", [hung, lambda unit, shift: rolling(unit)])
def test_a_motion_is_believed_and_a_wrong_one_is_not(make, unit):
    system, start = make(unit, 5.0)
    motion = st.simulate(system, span=(0, np.sqrt(unit)), start=start, points=41)
    assert not refuted(motion)
    rng = np.random.default_rng(0)
    for i in range(motion.y.shape[1]):
        y = motion.y.copy()
        k = rng.integers(1, len(y) - 1)
        y[k, i] += 1e-6 * np.ptp(y[:, i])
        assert refuted(replace(motion, y=y)), i
    t = motion.t.copy()
    t[7] += 1e-6 * (t[-1] - t[0])
    assert refuted(replace(motion, t=t))


def rolling(unit):
    """A cart that nothing holds, with a pendulum: one coordinate is in no energy."""
    x, theta = st.coordinates("x theta")
    bob = (x + unit * st.sin(theta), -unit * st.cos(theta))
    cart = st.particle(2.0, at=(x, 0)) + st.particle(1.0, at=bob, gravity=9.81)
    return cart, {x: 3 * unit, theta: 1.0, x.dot: 0.1 * np.sqrt(unit)}


def thrown(unit):
    """A ball over a rough floor, which it strikes askew."""
    x, y = st.coordinates("x y")
    floor = st.Contact(y, friction=0.3, slip=x, restitution=0.5, name="floor")
    ball = st.particle(1.0, at=(x, y), gravity=9.81) + st.System(contacts=[floor])
    return ball, {x: 3 * unit, y: unit, x.dot: np.sqrt(unit)}


def swept(unit):
    """A block behind a spring that sticks and slips on a belt, and a weight on a rod upon it."""
    x, a = st.coordinates("x a")
    bob = (x + unit * st.sin(a), -unit * st.cos(a))
    block = st.particle(2.0, at=(x, 0)) + st.particle(1.0, at=bob, gravity=9.81)
    belt = st.Friction(6.0, on=x - 0.3 * np.sqrt(unit) * st.t, static=8.0, name="belt")
    spring = st.System(potential=60 / unit * x**2 / 2, friction=[belt])
    return block + spring, {x: 0.1 * unit, a: 0.4}


@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize("make", [thrown, swept])
def test_a_motion_that_touches_is_believed_and_a_wrong_one_is_not(make, unit):
    system, start = make(unit)
    motion = st.simulate(system, span=(0, 3 * np.sqrt(unit)), start=start, points=61)
    assert isinstance(motion, Touched) and motion.changes and not refuted(motion)
    for i in range(2 * system.size):
        y = motion.y.copy()
        y[7, i] += 1e-6 * np.ptp(y[:, i])
        assert refuted(replace(motion, y=y)), i
    more = motion.more.copy()
    more[7:, 1] += 1e-6 * np.abs(motion.kinetic).max()
    assert refuted(replace(motion, more=more))
    t = motion.t.copy()
    t[7] += 1e-6 * (t[-1] - t[0])
    assert refuted(replace(motion, t=t))
    if make is thrown:
        # As much lower as ten tolerances, it is in the floor.
        y = motion.y.copy()
        y[-1, 1] = -1e-5 * unit
        assert any("outside" in f.claim for f in findings(replace(motion, y=y)) if not f.holds)


@pytest.mark.parametrize("unit", UNITS)
def test_a_field_at_rest_and_its_modes_are_believed_and_wrong_ones_are_not(unit):
    X = st.positions("X")
    u = st.field("u", over=(X, 0, unit))
    bar = st.Continuum(
        kinetic=u.dot**2 / 2, potential=7 * u.diff(X) ** 2 / 2,
        loads=[st.Load(0.3, on=u.at(unit))], fixed={u.at(0): 0},
    )  # fmt: skip
    rod = st.discretize(bar, elements=5, degree=2)
    rest = st.statics(rod)
    assert not refuted(rest)
    for i in range(rod.size):
        q = rest.q.copy()
        q[i] += 1e-6 * np.abs(q).max()
        assert refuted(replace(rest, q=q)), i
    modes, known = st.modes(rod, count=3), {"u": np.zeros(0), "lam": np.zeros(0)}
    assert not refuted(modes, **known)
    for k in range(3):
        squares = modes.squares * (1 + 1e-4 * (np.arange(3) == k))
        assert refuted(replace(modes, squares=squares), **known), k
