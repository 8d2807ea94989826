"""The balance of forces by itself, and what it says where there is none."""

import numpy as np
import pytest

import stationary as st
from examples import half_built_arch, two_finger_grasp
from tests.sliding.ladder import ladder
from tests.sliding.wedge import wedge

x, y, z, phi = st.coordinates("x y z phi")


def caught(system, **where):
    with pytest.raises(st.NoMotion) as found:
        st.newton(system, **where)
    return found.value


# -- friction locks --------------------------------------------------------------------------------


def rod(mu):
    """A bead on a floor, pushed forward and down at 45°."""
    return st.System(
        friction=[st.Friction(1.0, on=(x, y), name="rub")],
        contacts=[st.Contact(y, friction=mu, slip=x, name="floor")],
        constraints=[st.Constraint((x - y) / np.sqrt(2) - st.t, name="rod")],
    )


def test_a_rod_steeper_than_the_angle_of_friction_locks():
    # It moves for μ tan 45° < 1, with the force √2 / (1 − μ).
    assert st.newton(rod(0.999)).lam["rod"] == pytest.approx(np.sqrt(2) / 0.001, rel=1e-9)
    error = caught(rod(1.001))
    assert error.kind == "jammed" and set(error.names) == {"rod", "floor"}
    assert "friction locks it" in str(error)


@pytest.mark.parametrize("spare", [0.1, -0.1])
def test_a_wedge_locks_where_angle_and_twice_that_of_friction_reach_a_right_angle(spare):
    angle = np.radians(15)
    half = np.radians((90 - 15 - spare) / 2)
    system = wedge(angle, np.tan(half), 1)
    if spare > 0:
        # Three forces at the angles of friction: P = W tan(α + 2φ).
        push = -st.newton(system).lam["drive"]
        assert push == pytest.approx(10 * np.tan(angle + 2 * half), rel=1e-7)
    else:
        error = caught(system)
        assert error.kind == "jammed"
        assert set(error.names) == {"drive", "floor", "face", "wall"}


@pytest.mark.one_in(2)
@pytest.mark.parametrize("offset", [1.2, 1.3])
def test_a_drawer_jams_from_half_its_length_over_its_friction_on(offset):
    # Length 1, μ = 0.4: F = R / (1 − 2 μ e / L), without end from e = L / 2μ = 1.25 on.
    mu, load, c, s = 0.4, 3.0, st.cos(phi), st.sin(phi)
    corners = [(a, b) for a in (-0.5, 0.5) for b in (-0.2, 0.2)]
    drawer = st.System(
        work=-load * x,
        contacts=[
            st.Contact(
                -np.sign(b) * (y + s * a + c * b) + abs(b), mu, x + c * a - s * b, f"{a} {b}"
            )
            for a, b in corners
        ],
        constraints=[st.Constraint(x - s * offset - st.t, name="hand")],
        coordinates=[x, y, phi],
    )
    if offset < 1.25:
        step = st.newton(drawer)
        np.testing.assert_allclose(step.v, [1, 0, 0], atol=1e-9)
        assert step.lam["hand"] == pytest.approx(load / (1 - 2 * mu * offset), rel=1e-7)
    else:
        error = caught(drawer)
        # It turns until two corners across from each other hold it.
        assert error.kind == "jammed" and set(error.names) == {"hand", "-0.5 0.2", "0.5 -0.2"}


# -- constraints conflict --------------------------------------------------------------------------


def test_hands_that_disagree_and_jaws_that_close_are_named_and_springs_share():
    hands = st.System(
        friction=[st.Friction(1.0, on=(x, y), name="floor")],
        constraints=[
            st.Constraint(x - st.t, name="left hand"),
            st.Constraint(2 * x - 4 * st.t, name="right hand"),
            st.Constraint(y, name="rail"),
        ],
    )
    error = caught(hands)
    assert error.kind == "jammed" and set(error.names) == {"left hand", "right hand"}
    assert "no velocity satisfies all constraints" in str(error)
    # Springs of one stiffness contradict nothing: k (1 − v) + 2 k (4 − 2 v) = 1.
    step = st.newton(hands, stiffness=1e4)
    assert step[x.dot] == pytest.approx((9 - 1e-4) / 5, rel=1e-9)
    jaws = st.System(
        friction=[st.Friction(1.0, on=x, name="floor")],
        contacts=[st.Contact(x - st.t, name="left jaw"), st.Contact(-x - st.t, name="right jaw")],
    )
    error = caught(jaws)
    assert error.kind == "jammed" and set(error.names) == {"left jaw", "right jaw"}
    assert st.newton(jaws, throw=False).status == "jammed"


# -- it accelerates --------------------------------------------------------------------------------


def test_a_load_beyond_friction_accelerates_with_its_direction_and_its_name():
    pulled = st.System(
        potential=0.5 * y,
        loads=[st.Load(3.0, on=x, name="winch"), st.Load(0.2, on=y, name="wind")],
        friction=[st.Friction(2.0, on=(x, y))],
    )
    error = caught(pulled)
    assert error.kind == "accelerates" and error.names == ("load 'winch'",)
    # Drag alone decides the way at last: that of the net load (3, −0.3).
    np.testing.assert_allclose(error.direction, [1.0, -0.1], atol=1e-6)
    step = st.newton(pulled, throw=False)
    assert step.status == "accelerates" and step.unique is None and np.isnan(step.margin)


@pytest.mark.parametrize("load, word", [(2.99, "moves"), (3.01, "accelerates")])
def test_a_load_across_a_push_accelerates_beyond_friction_times_weight(load, word):
    # Friction μ W = 3 in the plane of the floor: below, the way turns by arcsin(load / 3).
    block = st.System(
        potential=10 * y + load * z,
        contacts=[st.Contact(y, friction=0.3, slip=(x, z), name="floor")],
        constraints=[st.Constraint(x - 4 * st.t, name="fence")],
        coordinates=[x, y, z],
    )
    step = st.newton(block, throw=False)
    assert step.status == word
    if word == "moves":
        assert step[z.dot] == pytest.approx(-4 * load / np.sqrt(9 - load**2), rel=1e-8)
    else:
        np.testing.assert_allclose(caught(block).direction, [0, 0, -1], atol=1e-7)


def test_drag_bounds_what_dry_friction_alone_would_not():
    wet = st.System(work=3 * x, friction=[st.Friction(2.0, on=x), st.Drag(1e-3, 1, on=x)])
    assert st.newton(wet)[x.dot] == pytest.approx(1e3, rel=1e-9)


def test_a_load_that_neither_drag_nor_dry_friction_meets_accelerates_past_both():
    # Drag holds x + y and friction x + z, each against a belt; along (1, −1, −1) nothing does.
    system = st.System(
        work=0.3 * x - 0.2 * y + 0.1 * z,
        friction=[
            st.Drag(2.0, 2, on=x + y - 1.6 * st.t, name="water"),
            st.Friction(3.0, on=x + z + 2 * st.t, name="belt"),
        ],
        coordinates=[x, y, z],
    )
    error = caught(system)
    assert error.kind == "accelerates"
    np.testing.assert_allclose(error.direction, [1, -1, -1], atol=1e-6)


# -- slow and fast together -----------------------------------------------------------------------


@pytest.mark.parametrize("V", [1e-4, 1.0, 30.0, 300.0, 1e3, 3e3, 1e5])
def test_an_imposed_speed_on_cubic_drag_is_met_at_any_speed(V):
    # Forces from 1 to V³: the contact pushes with all of them, v = V.
    system = st.System(
        friction=[
            st.Drag(1.0, 3, on=x, name="water"), st.Friction(1.0, on=x, name="floor"),
            st.Drag(1.0, 0.5, on=x + st.t, name="seal"),
        ],
        contacts=[st.Contact(x - V * st.t, name="hand")],
    )  # fmt: skip
    step = st.newton(system)
    assert step[x.dot] == pytest.approx(V, rel=1e-14)
    assert step.lam["hand"] == pytest.approx(V**3 + 1 + np.sqrt(V + 1), rel=1e-12)


@pytest.mark.parametrize("V", [30.0, 1e3, 1e5])
def test_light_forces_balance_beside_heavy_ones(V):
    # x is forced through cubic drag; y creeps under 3 − 1 against drag; z is carried by a belt at V
    # on which cubic drag holds it back from the floor's 5: e (V − v)³ = 5.
    system = st.System(
        work=3 * y,
        friction=[
            st.Drag(1.0, 3, on=x, name="water"),
            st.Friction(1.0, on=y, name="slot"), st.Drag(0.1, 1, on=y, name="oil"),
            st.Friction(5.0, on=z, name="floor"), st.Drag(40.0, 3, on=z - V * st.t, name="belt"),
        ],
        constraints=[st.Constraint(x - V * st.t, name="hand")],
        coordinates=[x, y, z],
    )  # fmt: skip
    step = st.newton(system)
    np.testing.assert_allclose(step.v, [V, 20, V - 0.5], rtol=1e-12)
    assert step.lam["hand"] == pytest.approx(V**3, rel=1e-12)
    assert step.forces["belt"] == pytest.approx(5, rel=1e-9)


@pytest.mark.one_in(4)
@pytest.mark.parametrize("length, force", [(1.0, 1.0), (1e-13, 1.0), (1e-9, 1e-24), (1e9, 1e24)])
@pytest.mark.parametrize("seed", range(8))
def test_balance_is_least_dissipation_over_seven_decades_of_speed_in_any_unit(seed, length, force):
    rng = np.random.default_rng(seed)
    V = 10 ** rng.uniform(-3, 4) * length

    def along(most=V, unit=1.0):
        drift = float(rng.normal() * most * (rng.random() < 0.7))
        return (
            unit * sum(float(a) * u for a, u in zip(rng.normal(size=3), (x, y, z))) + drift * st.t
        )

    def size():
        return float(10 ** rng.uniform(-2, 2)) * force

    system = st.System(
        work=along(0.0, force),
        friction=[
            st.Friction(size(), on=(along(), along()), name="dry"),
            st.Friction(3.0 * force, on=(x, y, z), name="all"),
            st.Drag(size() / length**3, 3, on=along(), name="water"),
        ],
        contacts=[st.Contact(along(), name="hand")],
        constraints=[st.Constraint(along(), name="rod")],
        coordinates=[x, y, z],
    )
    balance, least = st.newton(system), st.minimum_dissipation(system)
    assert max(balance.residual.values()) < 1e-9
    assert least.unique is True and balance.unique is True
    np.testing.assert_allclose(balance.v, least.v, atol=1e-9 * max(np.abs(least.v).max(), V))


# -- it sticks -------------------------------------------------------------------------------------


@pytest.mark.parametrize("mu, wall", [(0.3, 0.0), (0.3, 0.2)])
def test_a_ladder_stands_above_the_known_angle_and_falls_below(mu, wall):
    # QS-LADDER: tan θ = (1 − μ μ_w) / (2 μ).
    P, system = ladder(mu, wall)
    for more, word in ((0.1, "sticks"), (-0.1, "accelerates")):
        a = np.arctan((1 - mu * wall) / (2 * mu)) + np.radians(more)
        at = {x: -np.cos(a) / 2, y: np.sin(a) / 2, phi: a}
        step = st.newton(system, at=at, inputs={P: 0.0}, throw=False)
        assert step.status == word
        if word == "sticks":
            assert not np.any(step.v) and max(step.residual.values()) < 1e-9
            assert np.isnan(step.margin)


def test_an_arch_and_a_grasp_give_way_where_their_limit_loads_say():
    arch, grasp, angle = half_built_arch, two_finger_grasp, -np.pi / 4
    for share, word in ((0.999, "sticks"), (1.001, "accelerates")):
        tilt = {arch.tilt: arch.exact(3)[0] * share}
        assert st.newton(arch.system(3), params=tilt, throw=False).status == word
        pull = {grasp.P: grasp.exact(angle) * share}
        step = st.newton(grasp.system(), params={grasp.alpha: angle}, inputs=pull, throw=False)
        assert step.status == word


# -- at random -------------------------------------------------------------------------------------


@pytest.mark.one_in(3)
@pytest.mark.parametrize("seed", range(12))
def test_verdicts_at_random_contacts_are_those_of_the_principle(seed):
    """Two ways that share nothing but the numbers of the problem say the same."""
    rng = np.random.default_rng(seed)
    q, count, driven = (x, y, phi), int(rng.integers(1, 3)), rng.random() < 0.7

    def along(row, drift=0.0):
        return sum(float(a) * u for a, u in zip(row, q)) + float(drift * driven) * st.t

    N, T = rng.normal(size=(count, 3)), rng.normal(size=(count, 3))
    g, c = (rng.normal(size=count) * (rng.random(count) < 0.5) for _ in range(2))
    mu, f = rng.uniform(0, 1.2, size=count), rng.normal(size=3)
    table = [
        st.Friction(float(rng.uniform(0.5, 2)), tuple(map(along, rng.normal(size=(2, 3)))), f"t{k}")
        for k in range(2 * (rng.random() < 0.5))
    ]
    system = st.System(
        work=along(f),
        friction=table,
        contacts=[
            st.Contact(along(N[k], g[k]), float(mu[k]), along(T[k], c[k]), f"c{k}")
            for k in range(count)
        ],
        constraints=[st.Constraint(along(rng.normal(size=3), 1.0), name="hand")],
        coordinates=q,
    )
    balance, least = st.newton(system, throw=False), st.minimum_power(system, throw=False)
    assert balance.status == least.status
    if balance.status in ("moves", "sticks"):
        known = [least.v, *least.others]
        size = max(1.0, float(np.abs(least.v).max()))
        assert min(np.abs(balance.v - v).max() for v in known) <= 1e-6 * size
        assert max(balance.residual.values()) < 1e-9 and balance.gap < 1e-9


@pytest.mark.parametrize("power", [0.3, 0.5, 2.0])
@pytest.mark.parametrize(("long", "force"), [(1.0, 1.0), (1e-6, 1e3), (1e6, 1e-6)])
def test_drag_takes_nothing_of_what_friction_holds(power, long, force):
    # Drag of a power below 1 resists with some force as slowly as anything creeps.
    block = st.System(
        work=force * (0.3 * x - 0.2 * y),
        friction=[
            st.Friction(force, on=(x, y), name="dry"),
            st.Drag(force / long**power, power, on=x + y, name="film"),
        ],
    )
    step = st.newton(block)
    assert step.status == "sticks" and not np.any(step.v)
    np.testing.assert_allclose(step.forces["dry"] / force, [-0.3, 0.2], rtol=1e-9)


# -- forces that turn with the motion --------------------------------------------------------------

UNITS = [(1.0, 1.0), (1e-9, 1e9), (1e9, 1e-9), (1e9, 1e9)]


@pytest.mark.parametrize("length, force", UNITS)
def test_a_charge_that_is_pulled_over_a_rough_table_drifts_in_every_unit(length, force):
    # Friction takes half of the pull along the way; the field takes the rest of it, across.
    field = 2 * force / length
    pull = (force + field * y.dot, -field * x.dot)
    charge = st.System(
        loads=[st.Load(pull, on=(x, y))], friction=[st.Friction(force / 2, on=(x, y))]
    )
    step = st.newton(charge)
    across = np.sqrt(0.75) / 2 * length
    assert (step[x.dot], step[y.dot]) == pytest.approx((across / 2, -across * np.sqrt(0.75)))


@pytest.mark.parametrize("length, force", UNITS)
def test_angles_that_only_turning_forces_hold_are_found_in_every_unit(length, force):
    # f₁ − k b' = f₂ + k a' = μ l: friction says nothing about the difference of both.
    a, b = st.coordinates("a b")
    k = force * length
    system = st.System(
        loads=[st.Load((3 * k - k * b.dot, 1 * k + k * a.dot), on=(a, b))],
        friction=[st.Friction(0.5 * force, on=length * (a + b))],
    )
    step = st.newton(system)
    assert (step[a.dot], step[b.dot]) == pytest.approx((-0.5, 2.5), rel=1e-9)
    assert step.unique


@pytest.mark.parametrize("length, force", UNITS)
def test_a_hand_turns_a_pinned_rod_in_every_unit(length, force):
    tip = (x - length * st.cos(phi), y - length * st.sin(phi))
    table = st.Friction(force, on=(length * st.cos(phi), length * st.sin(phi)))
    rod = st.System(friction=[table], constraints=[*tip, x - length * (0.5 - st.t)])
    step = st.newton(rod, at={x: 0.5 * length, y: np.sqrt(0.75) * length, phi: np.pi / 3})
    assert step[phi.dot] == pytest.approx(1 / np.sqrt(0.75), rel=1e-9)


def on_rails(rng, length, force, speed, contacts, rails):
    """A part with points that rub along lines that move, and others at rough walls that move."""
    c, s, t = st.cos(phi), st.sin(phi), speed * st.t

    def along(p, way):
        moved = x + length * (c * p[0] - s * p[1] - p[0]), y + length * (s * p[0] + c * p[1] - p[1])
        return moved[0] * way[0] + moved[1] * way[1]

    def way():
        angle = rng.uniform(0, 2 * np.pi)
        return np.array([np.cos(angle), np.sin(angle)])

    rubs = [st.Friction(force * rng.uniform(0.2, 2), on=along(rng.uniform(-1, 1, 2), way())
                        + rng.normal() * t, name=f"rail {k}") for k in range(rails)]  # fmt: skip
    walls = []
    for k, goes in enumerate(contacts):
        p, n = rng.uniform(-1, 1, 2), way()
        slip = along(p, (-n[1], n[0]))
        walls.append(st.Contact(along(p, n) - goes * t, friction=0.4, slip=slip, name=f"wall {k}"))
    return st.System(friction=rubs, contacts=walls, coordinates=[x, y, phi]), along


@pytest.mark.parametrize("length, force, speed", [(1, 1, 1), (1e-6, 1e3, 1e-8), (1e4, 1e-5, 1e7)])
@pytest.mark.parametrize("seed", range(2))
def test_what_nothing_holds_runs_away_beside_what_stays(seed, length, force, speed):
    # A part that hangs on one rail, its wall goes away; and something else is pulled freely.
    rng = np.random.default_rng(seed)
    part, _ = on_rails(rng, length, force, speed, [-1.4], 1)
    error = caught(part + st.System(work=force * z, coordinates=[z]))
    assert error.kind == "accelerates"
    np.testing.assert_allclose(error.direction, [0, 0, 0, 1], atol=1e-9)


@pytest.mark.one_in(3)
@pytest.mark.parametrize("length, force", [(1, 1), (1e4, 1e-5), (1e9, 1)])
@pytest.mark.parametrize("seed", [0, 1, 11])
def test_a_body_that_rubs_nowhere_runs_away_in_every_unit(seed, length, force):
    # A drive holds one of its points in one way; nothing holds the rest against the load.
    rng = np.random.default_rng(seed)
    part, _ = on_rails(rng, length, force, 1.0, [0.0], 0)
    u, v, w = st.coordinates("u v w")
    driven, loaded, way = rng.uniform(-1, 1, (3, 2))

    def at(p):
        c, s = length * st.cos(w), length * st.sin(w)
        return u + c * p[0] - s * p[1], v + s * p[0] + c * p[1]

    rows = (a - length * b for a, b in zip(at(driven), driven))
    drive = sum(a * float(b) for a, b in zip(rows, way)) - length * rng.normal() * st.t
    pull = st.Load(tuple(force * rng.normal(size=2)), on=at(loaded))
    other = st.System(constraints=[drive], loads=[pull], coordinates=[u, v, w])
    for find in (st.minimum_power, st.newton):
        assert find(part + other, throw=False).status == "accelerates"


@pytest.mark.slow
@pytest.mark.parametrize("seed", [161, 174])
def test_a_runaway_whose_rails_change_on_the_way_is_found_as_by_least_power(seed):
    # What slides under much drag sticks under little: no path leads from one to the other.
    rng = np.random.default_rng(seed)
    part, along = on_rails(rng, 1.0, 1.0, 1.0, rng.normal(size=2), 3)
    pulled = part + st.System(work=3 * along(rng.uniform(-1, 1, 2), rng.normal(size=2)))
    assert caught(pulled).kind == "accelerates"
    with pytest.raises(st.NoMotion):
        st.minimum_power(pulled)
