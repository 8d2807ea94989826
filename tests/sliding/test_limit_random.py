"""Limit loads of random trusses, stacks and grasps against a linear program, and at their edges."""

from itertools import product

import numpy as np
import pytest
from scipy.optimize import linprog

import stationary as st

F = st.inputs("F")


def linear_program(n, dead, live, bars=(), capacity=(), gaps=(), slips=(), mu=(), held=()):
    """Return the largest s for which forces within their limits balance dead + s·live.

    Written here from the balance alone: a simplex method, on its matrices.
    """
    B, G, T, A = (np.reshape(x, (-1, n)) for x in (bars, gaps, slips, held))
    contacts = len(G)
    balance = np.hstack([B.T, -G.T, T.T, -A.T, -np.asarray(live)[:, None]])
    cone = np.zeros((2 * contacts, balance.shape[1]))
    for j in range(contacts):
        for i, sign in enumerate((1, -1)):
            cone[2 * j + i, len(B) + j] = -mu[j]
            cone[2 * j + i, len(B) + contacts + j] = sign
    cost = np.zeros(balance.shape[1])
    cost[-1] = -1
    bounds = [(-k, k) for k in capacity] + [(0, None)] * contacts
    bounds += [(None, None)] * (contacts + len(A) + 1)
    return linprog(
        cost, A_ub=cone if contacts else None, b_ub=np.zeros(len(cone)) if contacts else None,
        A_eq=balance, b_eq=dead, bounds=bounds, method="highs-ds",
        options={"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10},
    )  # fmt: skip


def stated(q, dead, live, bars=(), capacity=(), gaps=(), slips=(), mu=(), held=()):
    """State the same problem by its energies."""

    def along(row):
        return sum(float(a) * u for a, u in zip(np.ravel(row), q))

    return st.System(
        work=along(dead),
        loads=[st.Load(tuple(F * float(a) for a in live), on=tuple(q), name="load")],
        friction=[st.Friction(float(c), along(b), f"bar {i}")
                  for i, (b, c) in enumerate(zip(bars, capacity))],
        contacts=[st.Contact(along(g), float(m), along(t), f"contact {i}")
                  for i, (g, t, m) in enumerate(zip(gaps, slips, mu))],
        constraints=[along(a) for a in held],
        coordinates=q,
    )  # fmt: skip


def truss(rng):
    """Rigid-plastic bars between nodes and supports, some without any strength."""
    nodes = int(rng.integers(1, 4))
    places = np.vstack([rng.normal(size=(nodes, 2)), 2 * rng.normal(size=(4, 2))])
    bars, capacity = [], []
    for i in range(nodes):
        for j in (*range(i), *range(nodes, nodes + 4)):
            row, way = np.zeros((nodes + 4, 2)), places[i] - places[j]
            row[i] = way / np.linalg.norm(way)
            row[j] = -row[i]
            bars.append(row[:nodes].ravel())
            capacity.append(rng.uniform(0.2, 2) if rng.random() < 0.8 else 0.0)
    dead, live = rng.normal(size=(2, 2 * nodes))
    dead *= 0.2 * (rng.random() < 0.5)
    return dict(dead=dead, live=live, bars=bars, capacity=capacity)


def stack(rng):
    """Blocks on each other, which touch at the ends of their common sides."""
    count = int(rng.integers(1, 4))
    wide, high = rng.uniform(0.5, 1.5, count), rng.uniform(0.3, 1, count)
    X, floor = np.cumsum(0.15 * rng.normal(size=count)), np.append(0, np.cumsum(high))
    gaps, slips = [], []
    for k in range(count):
        ends = [X[k] - wide[k] / 2, X[k] + wide[k] / 2]
        if k:
            ends = [max(ends[0], X[k - 1] - wide[k - 1] / 2),
                    min(ends[1], X[k - 1] + wide[k - 1] / 2)]  # fmt: skip
        for end in ends:
            gap, slip = np.zeros((2, count, 3))
            for body, sign in ((k, 1), (k - 1, -1))[: 2 if k else 1]:
                arm = np.array([end, floor[k]]) - [X[body], floor[body] + high[body] / 2]
                gap[body], slip[body] = [0, sign, sign * arm[0]], [sign, 0, -sign * arm[1]]
            gaps.append(gap.ravel())
            slips.append(slip.ravel())
    dead, live = np.zeros((2, count, 3))
    dead[:, 1] = -rng.uniform(0.5, 2, count)
    live[rng.integers(count)] = rng.normal(size=3) * [1, 0.3, 0.2]
    mu = rng.choice([0.0, 0.3, 0.6], len(gaps)) if rng.random() < 0.3 else rng.uniform(
        0.1, 0.9, len(gaps))  # fmt: skip
    return dict(dead=dead.ravel(), live=live.ravel(), gaps=gaps, slips=slips, mu=mu)


def grasp(rng):
    """A part between fingers, some of which press with a force while the others stand still."""
    count = int(rng.integers(2, 5))
    angle = rng.uniform(0, 2 * np.pi, count)
    place = np.stack([np.cos(angle), 0.7 * np.sin(angle)], axis=1)
    inward = -place + 0.2 * rng.normal(size=(count, 2))
    inward /= np.linalg.norm(inward, axis=1)[:, None]
    beside = np.stack([-inward[:, 1], inward[:, 0]], axis=1)
    moment = [place[:, 0] * x[:, 1] - place[:, 1] * x[:, 0] for x in (inward, beside)]
    gaps = np.hstack([inward, moment[0][:, None], np.eye(count)])
    slips = np.hstack([beside, moment[1][:, None], np.zeros((count, count))])
    dead = np.concatenate([np.zeros(3), -rng.uniform(1, 5, count)])
    live = np.concatenate([rng.normal(size=3), np.zeros(count)])
    held = np.eye(3 + count)[3:][rng.random(count) < 0.4]
    mu = rng.uniform(0.1, 1, count)
    return dict(dead=dead, live=live, gaps=gaps, slips=slips, mu=mu, held=held)


@pytest.mark.one_in(6)
@pytest.mark.parametrize("kind", [truss, stack, grasp])
@pytest.mark.parametrize("seed", [*range(6), 105])
def test_both_bounds_are_those_of_a_linear_program(kind, seed):
    parts = kind(np.random.default_rng(seed))
    n = len(parts["dead"])
    known = linear_program(n, **parts)
    system = stated(st.coordinates(" ".join(f"q{i}" for i in range(n))), **parts)
    if known.status == 2:
        with pytest.raises(st.DidNotConverge, match="the other loads alone are more than"):
            st.limit_load(system, load=F)
        return
    found = st.limit_load(system, load=F)
    assert kind is not truss or found.exact and found.safe == found.factor
    assert np.isnan(found.safe) or found.safe <= found.factor
    if known.status == 0:
        assert found.high.exact != ("an outer bound" in found.status.message)
    if known.status == 3:
        assert found.status == "unlimited" and found.factor == np.inf
        return
    assert found.status == "collapses"
    assert found.static == pytest.approx(-known.fun, rel=1e-8, abs=1e-8)
    assert found.kinematic == pytest.approx(-known.fun, rel=1e-8, abs=1e-8)


def first_motion(n, dead, live, gaps, slips, mu, held):
    """Return the least s ≥ 0 at which some way to open, stick and slide has forces that balance.

    By brute force, again with a simplex method: each way must also allow a velocity.
    """
    least = np.inf
    for choice in product(("open", "stick", "ahead", "back"), repeat=len(gaps)):
        rows, still, ahead = [], list(held), []
        for word, gap, slip, m in zip(choice, gaps, slips, mu):
            if word == "open":
                ahead.append(gap)
                continue
            still.append(gap)
            if word == "stick":
                still.append(slip)
                rows += [(gap - m * slip, 0), (gap + m * slip, 0)]  # edges of the cone
            else:
                way = 1 if word == "ahead" else -1
                ahead.append(way * slip)
                rows.append((gap - m * way * slip, 0))
        if not ahead:
            continue
        moves = linprog(
            -np.sum(ahead, axis=0), A_ub=np.vstack([-np.array(ahead), ahead]),
            b_ub=np.repeat([0.0, 1.0], len(ahead)), bounds=(-1e3, 1e3),
            A_eq=np.array(still) if still else None, b_eq=np.zeros(len(still)) if still else None,
        )  # fmt: skip
        if moves.status != 0 or -moves.fun < 1e-7:
            continue
        # Forces along the edges, of either sign along constraints.
        columns = [row for row, _ in rows] + [*held, *(-np.array(a) for a in held)]
        table = np.column_stack([*columns, live]) if columns else live[:, None]
        cost = np.append(np.zeros(len(columns)), 1.0)
        found = linprog(cost, A_eq=table, b_eq=-dead, bounds=(0, None))
        if found.status == 0:
            least = min(least, found.fun)
    return least


@pytest.mark.parametrize("kind, seed", [(stack, 1), (grasp, 5), (grasp, 18)])
@pytest.mark.slow
def test_the_safe_load_is_the_first_at_which_any_motion_is_possible(kind, seed):
    parts = kind(np.random.default_rng(seed))
    n = len(parts["dead"])
    system = stated(st.coordinates(" ".join(f"q{i}" for i in range(n))), **parts)
    found = st.limit_load(system, load=F)
    parts.setdefault("held", np.zeros((0, n)))
    known = first_motion(n, **parts)
    assert found.safe == pytest.approx(min(known, found.factor), rel=1e-6)


# -- edges -----------------------------------------------------------------------------------------

x, y = st.coordinates("x y")


def test_a_load_that_a_constraint_carries_is_unlimited_and_one_that_nothing_carries_is_none():
    held = st.System(
        loads=[st.Load(F, on=x)], constraints=[x], friction=[st.Friction(1.0, on=y)]
    )  # fmt: skip
    found = st.limit_load(held, load=F)
    assert found.factor == np.inf and found.status == "unlimited" and not np.any(found.mode)
    assert "whatever its size" in found.status.message
    loose = st.System(
        work=y, loads=[st.Load(F, on=x)], friction=[st.Friction(0, on=x), st.Friction(2, on=y)]
    )
    found = st.limit_load(loose, load=F)
    assert found.factor == pytest.approx(0, abs=1e-10)
    assert found.kinematic == pytest.approx(0, abs=1e-10)
    np.testing.assert_allclose(found.mode, [1, 0], atol=1e-9)


def rest_on_a_slope(angle, mu, way, weight):
    """Return the pulls P between which a block rests: |P cos β − W sin α| ≤ μ (W cos α − P sin β).

    P acts at the angle β to the slope; where it lifts, W cos α ≥ P sin β.
    """
    c, s = np.cos(way), np.sin(way)
    low, high = -np.inf, np.inf
    for factor, limit in (
        (c + mu * s, np.sin(angle) + mu * np.cos(angle)),
        (mu * s - c, mu * np.cos(angle) - np.sin(angle)),
        (s, np.cos(angle)),
    ):
        if factor > 0:
            high = min(high, weight * limit / factor)
        else:
            low = max(low, weight * limit / factor)
    return low, high


@pytest.mark.one_in(2)
@pytest.mark.parametrize("seed", range(12))
def test_a_block_on_a_slope_rests_between_two_pulls(seed):
    rng = np.random.default_rng(seed)
    angle, mu, way = rng.uniform(0.1, 1.3), rng.uniform(0.05, 1.2), rng.uniform(-np.pi, np.pi)
    weight = 10.0 ** rng.uniform(-9, 9)
    low, high = rest_on_a_slope(angle, mu, way, weight)
    pull = st.Load((F * np.cos(way), F * np.sin(way)), on=(x, y), name="pull")
    block = st.System(
        work=-weight * (x * np.sin(angle) + y * np.cos(angle)),
        loads=[pull],
        contacts=[st.Contact(y, friction=mu, slip=x, name="slope")],
    )
    if low > high:
        with pytest.raises(st.DidNotConverge, match="interval in which it rests is empty"):
            st.limit_load(block, load=F)
        return
    found = st.limit_load(block, load=F)
    assert found.interval == pytest.approx((low, high), rel=1e-7)
    # Pressure follows from balance: inside nothing slides.
    assert found.safe_interval == pytest.approx((low, high), rel=1e-6) and found.exact
    assert (found.status == "unlimited") == np.isinf(high)
    assert ("without the load it does not rest" in found.status.message) == (low > 0 or high < 0)
    # Beyond an end it runs away, inside it stays.
    for end, other, outward in ((found.low, found.high, -1), (found.high, found.low, 1)):
        if np.isfinite(end.factor):
            inner = min(abs(end.factor), abs(end.factor - other.factor) / 2)
            for share, word in ((-0.01, "sticks"), (0.01, "accelerates")):
                P = end.factor + outward * share * inner
                assert st.minimum_power(block, inputs={F: P}, throw=False).status == word
            assert np.abs(end.mode).max() > 0


@pytest.mark.parametrize("seed", range(6))
def test_friction_of_given_limits_holds_between_two_pulls_and_both_theorems_agree(seed):
    rng = np.random.default_rng(seed)
    limit = 10.0 ** rng.uniform(-9, 9)
    slope = rng.choice([-1, 1]) * limit * 10.0 ** rng.uniform(-2, 2)
    pulled = st.System(
        work=slope * x, loads=[st.Load(F, on=x)], friction=[st.Friction(limit, on=x, name="rub")]
    )
    found = st.limit_load(pulled, load=F)
    size = max(limit, abs(slope))
    known = (-limit - slope, limit - slope)
    assert found.interval == pytest.approx(known, rel=1e-8, abs=1e-9 * size)
    assert found.exact and found.safe_interval == found.interval
    for end, way in ((found.low, -1), (found.high, 1)):
        assert end.kinematic == pytest.approx(end.static, rel=1e-8, abs=1e-9 * size)
        assert end.mode[x] == pytest.approx(way)
        assert end.forces["rub"] == pytest.approx(-way * limit)


@pytest.mark.parametrize("weight", [1e-9, 1.0, 1e9])
@pytest.mark.parametrize("unit", [1e-9, 1.0, 1e9])
def test_units_of_the_weight_and_of_the_load_do_not_matter(weight, unit):
    # Coefficients have no unit: beside small forces they must not count as forces.
    floor = st.Contact(y, friction=0.5, slip=x, name="floor")
    block = st.System(potential=weight * y, loads=[st.Load(F * unit, on=x)], contacts=[floor])
    found = st.limit_load(block, load=F)
    assert found.static == pytest.approx(0.5 * weight / unit, rel=1e-8)
    assert found.kinematic == pytest.approx(found.static, rel=1e-8)
    np.testing.assert_allclose(found.mode * unit, [1, 0], atol=1e-6)
    assert "x.dot" in repr(found) and "y.dot" not in repr(found)


def leaning(rng):
    """A heavy part that leans on smooth and on rough ground, and a pull on one of its points."""
    count = int(rng.integers(2, 5))
    points, (pulled, centre) = rng.uniform(-1, 1, (count, 2)), rng.uniform(-1, 1, (2, 2))
    angle = np.pi / 2 + 0.6 * rng.normal(size=count)
    way = rng.uniform(0, 2 * np.pi)

    def wrench(at, x, y):
        return np.array([x, y, at[0] * y - at[1] * x])

    gaps = [wrench(p, np.cos(a), np.sin(a)) for p, a in zip(points, angle)]
    slips = [wrench(p, -np.sin(a), np.cos(a)) for p, a in zip(points, angle)]
    live, mu = wrench(pulled, np.cos(way), np.sin(way)), rng.choice([0.0, 0.2, 0.5, 1.0], count)
    return dict(dead=wrench(centre, 0, -1), live=live, gaps=gaps, slips=slips, mu=mu)


@pytest.mark.one_in(4)
@pytest.mark.parametrize("length, force", [(1, 1), (1e-9, 1e-9), (1e9, 1e19), (1, 1e7)])
@pytest.mark.parametrize("seed", [1, 2, 4, 6, 7])
def test_a_part_that_leans_rests_between_the_ends_of_a_linear_program_in_every_unit(
    seed, length, force
):
    parts = leaning(np.random.default_rng(seed))
    ends = [linear_program(3, **{**parts, "live": way * parts["live"]}) for way in (-1, 1)]
    arms = np.array([1, 1, length])
    here = {name: np.asarray(parts[name]) * arms for name in ("live", "gaps", "slips")}
    q = (x, y, st.coordinates("phi"))
    system = stated(q, mu=parts["mu"], dead=force * arms * parts["dead"], **here)
    if ends[0].status == 2:
        with pytest.raises(st.DidNotConverge, match="the interval in which it rests is empty"):
            st.limit_load(system, load=F)
        return
    known = [way * (np.inf if end.status == 3 else -end.fun) for way, end in zip((-1, 1), ends)]
    found = st.limit_load(system, load=F)
    np.testing.assert_allclose(np.array(found.interval) / force, known, rtol=1e-7, atol=1e-8)


@pytest.mark.parametrize("slope", [0.31, 0.4, 0.5, 0.6, 0.7])
def test_a_weightless_wedge_in_a_wide_groove_holds_no_pull(slope):
    # Walls at a half angle above atan 0.3: friction does not lock it, and nothing else is at work.
    s, c = np.sin(slope), np.cos(slope)
    sides = [st.Contact(x * s + k * y * c, friction=0.3, slip=x * c - k * y * s, name=f"{k}")
             for k in (1, -1)]  # fmt: skip
    found = st.limit_load(st.System(loads=[st.Load(F, on=x)], contacts=sides), load=F)
    assert found.interval == (-np.inf, 0.0)
    np.testing.assert_allclose(found.mode, [1, 0], atol=1e-9)
    assert np.all(found.lam == 0)


@pytest.mark.one_in(2)
@pytest.mark.parametrize("small", [1e-9, 1e-6, 1e-3, 1e6])
def test_units_do_not_matter_for_locks_and_several_motions_either(small):
    # A bead that a rod pushes forward and down at 45°: wedged or lifted for μ = 2, lift 1.2.
    for lift, count in ((1.2, 1), (0.8, None)):
        bead = st.System(
            work=lift * small * y,
            friction=[st.Friction(small, on=(x, y), name="rub")],
            contacts=[st.Contact(y, friction=2.0, slip=x, name="floor")],
            constraints=[st.Constraint((x - y) / np.sqrt(2) - st.t, name="rod")],
        )
        for find in (st.minimum_power, st.newton):
            step = find(bead, throw=False)
            assert step.status == ("jammed" if count is None else "moves")
            assert count is None or len(step.others) == count and step.unique is False


def blocks(rng):
    """Blocks side by side on a rough floor, with rough or smooth sides; the first is pushed."""
    n = int(rng.integers(2, 5))
    x, y = np.eye(2 * n)[:n], np.eye(2 * n)[n:]
    mu = np.append(rng.uniform(0, 0.8, n), rng.choice([0.0, 0.3], n - 1))
    gaps, slips = np.vstack([y, np.diff(x, axis=0)]), np.vstack([x, np.diff(y, axis=0)])
    return dict(dead=-rng.uniform(1, 5, n) @ y, live=x[0], gaps=gaps, slips=slips, mu=mu)


@pytest.mark.one_in(3)
@pytest.mark.parametrize("force", [1e-15, 1.0, 1e9])
@pytest.mark.parametrize("seed", range(0, 24, 2))
def test_a_row_of_blocks_rests_between_the_ends_of_a_linear_program(seed, force):
    parts = blocks(np.random.default_rng(seed))
    n = len(parts["dead"])
    q = st.coordinates(" ".join(f"q{i}" for i in range(n)))
    found = st.limit_load(stated(q, **{**parts, "dead": parts["dead"] * force}), load=F)
    for end, sign in ((found.low, -1), (found.high, 1)):
        known = linear_program(n, **{**parts, "live": sign * parts["live"]})
        if known.status == 3:
            assert np.isinf(end.factor)
            continue
        assert end.factor / force == pytest.approx(-sign * known.fun, rel=1e-8, abs=1e-8)
        # Blocks that keep still do so exactly.
        v = np.abs(np.array(end.mode))
        assert not np.any((v > 0) & (v < 1e-9 * v.max()))
