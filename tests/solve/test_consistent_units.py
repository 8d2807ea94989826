"""What counts as consistent is the same in every unit and with every origin."""

import numpy as np
import pytest

import stationary as st

UNITS = [1e-9, 1e-6, 1.0, 1e3, 1e9]
x, y, z, w = st.coordinates("x y z w")


def rod(unit, shift, kind):
    """A pendulum of length `unit`, hung at a shifted origin, stated by length or by its square."""
    m = st.particle(1.0, at=(x, y), gravity=9.81)
    X, Y = x - shift, y - shift
    row = st.sqrt(X**2 + Y**2) - unit if kind == "length" else X**2 + Y**2 - unit**2
    return m + st.System(constraints=[st.Constraint(row, name="rod")])


@pytest.mark.one_in(4)
@pytest.mark.parametrize("kind", ["length", "square"])
@pytest.mark.parametrize("shift", [0.0, 1e6])
@pytest.mark.parametrize("unit", UNITS)
def test_a_rod_a_little_too_long_is_refused(unit, shift, kind):
    """Too long by a millionth; the last digits of a place far away are not held against it."""
    pendulum, away = rod(unit, shift * unit, kind), shift * unit
    angle = 0.7
    place = np.array([np.sin(angle), -np.cos(angle)]) * unit
    good = {x: away + place[0], y: away + place[1]}
    turn = {x.dot: -place[1], y.dot: place[0]}
    assert st.consistent(pendulum, good | turn, repair=False).moved <= 1e-8 * unit
    long = {x: away + place[0] * 1.000001, y: away + place[1] * 1.000001}
    with pytest.raises(st.StatementError, match="'rod' has R = "):
        st.consistent(pendulum, long, repair=False)
    along = {x.dot: 1e-6 * place[0] - place[1], y.dot: 1e-6 * place[1] + place[0]}
    with pytest.raises(st.StatementError, match="'rod' has Ṙ = "):
        st.consistent(pendulum, good | along, repair=False)
    mended = st.consistent(pendulum, long | along)
    found = np.array([mended[x], mended[y]]) - away
    np.testing.assert_allclose(found, place, atol=1e-9 * unit)
    speed = np.array([mended[x.dot], mended[y.dot]])
    np.testing.assert_allclose(speed, [-place[1], place[0]], atol=1e-9 * unit)


@pytest.mark.parametrize("unit", UNITS)
def test_constraints_that_contradict_each_other_are_refused(unit):
    """A bar of 2.001 lengths cannot be spanned by two of one."""
    two = st.particle(1.0, at=(x, y)) + st.rod((0, 0), (x, y), unit)
    bar = two + st.rod((2.001 * unit, 0), (x, y), unit)
    with pytest.raises(st.StatementError, match="No state near the start"):
        st.consistent(bar, {x: unit, y: 0.3 * unit})
    locked = two + st.System(pfaffian=[x.dot - unit * x / (x**2 + y**2) ** 0.5, y.dot])
    with pytest.raises(st.StatementError, match="These velocities contradict each other"):
        st.consistent(locked, {x: unit, y: 0.0})


@pytest.mark.one_in(2)
@pytest.mark.parametrize("seed", range(8))
def test_a_random_net_is_mended_alike_in_every_unit(seed):
    """Mended starts of a random net of rods are images of each other."""
    rng = np.random.default_rng(seed)
    count = int(rng.integers(2, 7))
    places = rng.standard_normal((count, 2)).cumsum(axis=0) * 2
    off = places + 0.1 * rng.standard_normal(places.shape)
    pairs = [(i, i + 1) for i in range(count - 1)]
    pairs += [(0, count - 1)] * (count > 2)
    names = st.coordinates(" ".join(f"x{i} y{i}" for i in range(count)))
    found = []
    for unit, shift in ((1.0, 0.0), (1e-9, 0.0), (1e7, 0.0), (1.0, 1e4)):
        net = st.System()
        points = list(zip(names[::2], names[1::2]))
        for p in points:
            net = net + st.particle(1.0, at=p)
        for i, j in pairs:
            net = net + st.rod(points[i], points[j], unit * np.linalg.norm(places[i] - places[j]))
        start = dict(zip(names, (unit * off + shift).ravel()))
        state = st.consistent(net, start)
        found.append((np.array([state[c] for c in names]) - shift) / unit)
    # The nearest of all places is where a square is least: known to the root of rounding.
    for other in found[1:]:
        np.testing.assert_allclose(other, found[0], atol=1e-6, rtol=0)


@pytest.mark.parametrize("links", [46, 121])
def test_ropes_of_any_size_are_laid_onto_their_lengths(links):
    n, length = links - 1, 1 / links
    r = st.coordinates("r", shape=(n, 2))
    inner = st.each(lambda a, b: st.norm(b - a) - length, r[:-1], r[1:])
    ends = [st.norm(r[0]) - length, st.norm((r[n - 1, 0] - 0.8, r[n - 1, 1])) - length]
    rope = st.System(
        kinetic=st.each(lambda v: (v[0] ** 2 + v[1] ** 2) / 2, r.dot), constraints=[inner, *ends]
    )
    x = np.linspace(0, 0.8, n + 2)[1:-1]
    wanted = np.ones((n, 2))
    state = st.consistent(rope, {r: np.column_stack([x, -0.3 * np.sin(np.pi * x / 0.8)]),
                                 r.dot: wanted})  # fmt: skip
    nodes = np.vstack([[0, 0], state[r], [0.8, 0]])
    steps, rates = np.diff(nodes, axis=0), np.diff(np.pad(state[r.dot], ((1, 1), (0, 0))), axis=0)
    assert np.abs(np.linalg.norm(steps, axis=1) - length).max() < 1e-12
    assert np.abs((steps * rates).sum(axis=1)).max() < 1e-12
    # Of all velocities that keep the lengths, the nearest: what is lost is a sum of tensions.
    A = np.zeros((links, n + 2, 2))
    for k, step in enumerate(steps):
        A[k, k], A[k, k + 1] = -step, step
    A, lost = A[:, 1:-1].reshape(links, -1), (wanted - state[r.dot]).ravel()
    tension = np.linalg.lstsq(A.T, lost, rcond=None)[0]
    assert np.abs(A.T @ tension - lost).max() < 1e-9
