"""Contacts whose friction follows pressure: closed forms, locks, several motions, receding ones."""

import numpy as np
import pytest

import stationary as st
from tests.sliding.wedge import wedge

x, y, z, phi = st.coordinates("x y z phi")


# -- one contact, pushed down by a rod -------------------------------------------------------------


def rod(mu, lift):
    """A bead on a floor that a rod pushes forward and down at 45°, with friction 1 on all it does.

    A force `lift` pulls it off the floor.
    """
    return st.System(
        work=lift * y,
        friction=[st.Friction(1.0, on=(x, y), name="rub")],
        contacts=[st.Contact(y, friction=mu, slip=x, name="floor")],
        constraints=[st.Constraint((x - y) / np.sqrt(2) - st.t, name="rod")],
    )


def test_a_bead_slides_under_a_rod_below_the_angle_of_friction():
    # Balance: λ cos = 1 + μ N and N = λ sin − lift, at 45°.
    mu, lift = 0.5, 0.8
    step = st.minimum_power(rod(mu, lift))
    push = (1 - mu * lift) / (1 - mu) * np.sqrt(2)
    assert step.modes["floor"] == "slides forward"
    assert step.unique
    np.testing.assert_allclose(step.v, [np.sqrt(2), 0], atol=1e-12)
    assert step.lam["rod"] == pytest.approx(push, rel=1e-10)
    assert step.lam["floor"] == pytest.approx(push / np.sqrt(2) - lift, rel=1e-10)


def test_a_rod_steeper_than_the_angle_of_friction_locks():
    with pytest.raises(st.NoMotion, match="friction locks it") as caught:
        st.minimum_power(rod(2.0, 0.8))
    assert caught.value.kind == "jammed"
    assert set(caught.value.names) == {"rod", "floor"}


def test_where_a_bead_may_lift_or_wedge_both_motions_are_named():
    # For μ tan 45° > 1 and lift > 1 two motions satisfy Coulomb's law. Wedged: λ cos 45° = p with
    # p = (μ lift − 1) / (μ − 1). Lifted, without the floor: (p, lift − p) is a unit vector.
    mu, lift = 2.0, 1.2
    step = st.minimum_power(rod(mu, lift))
    p = (2 * lift + np.sqrt(8 - 4 * lift**2)) / 4
    lifted = np.array([p, lift - p]) * np.sqrt(2) / (2 * p - lift)
    wedged = np.array([np.sqrt(2), 0.0])
    assert not step.unique and len(step.others) == 1
    both = sorted([tuple(step.v), tuple(step.others[0])])
    np.testing.assert_allclose(both, sorted([tuple(lifted), tuple(wedged)]), atol=1e-7)
    assert "Coulomb's law does not decide" in step.status.message
    assert "other motion" in repr(step)


# -- several contacts ------------------------------------------------------------------------------


@pytest.mark.parametrize("degrees, mu", [(15, 0.2), (5, 0.4), (30, 0.1)])
def test_a_wedge_lifts_with_the_tangent_of_its_angle_and_twice_that_of_friction(degrees, mu):
    # Three forces at the angles of friction: P = W tan(α + 2φ).
    angle = np.radians(degrees)
    step = st.minimum_power(wedge(angle, mu, 1))
    assert -step.lam["drive"] == pytest.approx(10 * np.tan(angle + 2 * np.arctan(mu)), rel=1e-9)
    assert step["Y.dot"] == pytest.approx(np.tan(angle), rel=1e-9)
    # Pulled out it resists with W tan(2φ − α).
    back = st.minimum_power(wedge(angle, mu, -1))
    if back.modes["wall"] != "opens":
        assert back.lam["drive"] == pytest.approx(10 * np.tan(2 * np.arctan(mu) - angle), rel=1e-9)


@pytest.mark.parametrize("spare, word", [(0.5, "moves"), (-0.5, "jammed")])
def test_a_wedge_locks_where_angle_and_twice_that_of_friction_reach_a_right_angle(spare, word):
    mu = np.tan(np.radians((90 - 15 - spare) / 2))
    step = st.minimum_power(wedge(np.radians(15), mu, 1), throw=False)
    assert step.status == word


@pytest.mark.parametrize("offset", [0.2, 1.0, 1.2, 1.5])
def test_a_drawer_jams_when_pulled_too_far_from_its_middle(offset):
    # Length 1, μ = 0.4; the corners press with N = F e / L and rub with 2 μ N, against a load R:
    # F = R / (1 − 2 μ e / L), without end from e = L / 2μ = 1.25 on.
    mu, load = 0.4, 3.0
    corners = [(a, b) for a in (-0.5, 0.5) for b in (-0.2, 0.2)]
    drawer = st.System(
        work=-load * x,
        contacts=[
            st.Contact(
                -np.sign(b) * (y + st.sin(phi) * a + st.cos(phi) * b) + abs(b), mu,
                x + st.cos(phi) * a - st.sin(phi) * b, f"corner {a} {b}",
            ) for a, b in corners
        ],
        constraints=[st.Constraint(x - st.sin(phi) * offset - st.t, name="hand")],
        coordinates=[x, y, phi],
    )  # fmt: skip
    step = st.minimum_power(drawer, throw=False)
    if offset < 1.25:
        assert step.status == "moves"
        np.testing.assert_allclose(step.v, [1, 0, 0], atol=1e-9)
        # Without clearance its guides may squeeze it besides: the smallest forces are given.
        assert step.lam["hand"] == pytest.approx(load / (1 - 2 * mu * offset), rel=1e-7)
        assert "these are the smallest" in step.status.message
    else:
        assert step.status == "jammed"


def test_a_load_across_the_push_turns_the_way_over_a_floor():
    # Friction μ W = 3 in the plane of the floor against a load of 1 across: sin = 1/3.
    block = st.System(
        potential=10 * y + 1.0 * z,
        contacts=[st.Contact(y, friction=0.3, slip=(x, z), name="floor")],
        constraints=[st.Constraint(x - 4 * st.t, name="fence")],
        coordinates=[x, y, z],
    )
    step = st.minimum_power(block)
    np.testing.assert_allclose(step.v, [4, 0, -4 / np.sqrt(8)], rtol=1e-9, atol=1e-12)
    assert step.lam["fence"] == pytest.approx(np.sqrt(8), rel=1e-9)
    np.testing.assert_allclose(st.newton(block).v, step.v, atol=1e-9)


def test_a_load_across_the_push_beyond_friction_accelerates():
    block = st.System(
        potential=10 * y + 3.5 * z,
        contacts=[st.Contact(y, friction=0.3, slip=(x, z), name="floor")],
        constraints=[st.Constraint(x - 4 * st.t, name="fence")],
        coordinates=[x, y, z],
    )
    with pytest.raises(st.NoMotion) as caught:
        st.minimum_power(block)
    assert caught.value.kind == "accelerates"
    assert caught.value.direction[2] < 0


# -- at rest ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("pull", [0.0, 2.0])
def test_a_block_at_rest_presses_the_floor_with_its_weight(pull):
    # Inside the cone 2 < 0.4 · 10 any multiple of both loads is held.
    floor = st.Contact(y, friction=0.4, slip=x, name="floor")
    step = st.minimum_power(st.System(potential=10 * y + pull * x, contacts=[floor]))
    assert step.status == "sticks" and step.margin == np.inf
    assert step.lam["floor"] == pytest.approx(10.0, rel=1e-9)
    assert step.forces["floor"] == pytest.approx(pull, abs=1e-8)
    assert max(step.residual.values()) < 1e-9


def test_what_a_smooth_floor_holds_may_weigh_anything():
    plain = st.System(potential=10 * y, contacts=[st.Contact(y, name="floor")])
    beside = plain + st.System(friction=[st.Friction(1.0, on=x)])
    for system in (plain, beside):
        step = st.minimum_power(system)
        assert step.status == "sticks" and step.margin == np.inf
        assert step.lam["floor"] == pytest.approx(10.0, rel=1e-9)


# -- contacts that recede --------------------------------------------------------------------------


def test_a_hand_that_recedes_lowers_what_friction_does_not_hold():
    hand = st.Contact(x + st.t, name="hand")
    for limit, speed, push in ((2.0, -1.0, 3.0), (7.0, 0.0, 0.0)):
        block = st.System(work=-5 * x, friction=[st.Friction(limit, on=x)], contacts=[hand])
        step = st.minimum_power(block)
        assert step[x.dot] == pytest.approx(speed, abs=1e-12)
        assert step.lam["hand"] == pytest.approx(push, abs=1e-12)
    lowered = st.System(
        work=-5 * x,
        friction=[st.Friction(2.0, on=x)],
        contacts=[st.Contact(x - st.cos(st.t), name="hand")],
    )
    slide = st.quasistatics(lowered, span=(0, 6), start={x: 1.0}, points=13)
    np.testing.assert_allclose(slide[x], np.cos(slide.t), atol=1e-9)
    down = (slide.t > 0.1) & (slide.t < np.pi)
    np.testing.assert_allclose(slide.lam["hand"][down], 3.0, atol=1e-9)
    np.testing.assert_allclose(slide.lam["hand"][slide.t > np.pi], 7.0, atol=1e-9)


def test_a_rough_wall_that_recedes_holds_nothing():
    wall = st.Contact(x + st.t, friction=0.5, slip=y, name="wall")
    sliding = st.System(potential=10 * y, contacts=[wall], friction=[st.Friction(1.0, on=x)])
    with pytest.raises(st.NoMotion) as caught:
        st.minimum_power(sliding)
    assert caught.value.kind == "accelerates"


# -- at random -------------------------------------------------------------------------------------


@pytest.mark.one_in(3)
@pytest.mark.parametrize("seed", range(15))
def test_every_answer_of_random_contacts_satisfies_coulombs_law(seed):
    rng = np.random.default_rng(seed)
    q, count = (x, y, phi), int(rng.integers(1, 4))

    def along(row, drift=0.0):
        return sum(float(a) * u for a, u in zip(row, q)) + float(drift) * st.t

    N, T = rng.normal(size=(count, 3)), rng.normal(size=(count, 3))
    g = rng.normal(size=count) * (rng.random(count) < 0.4)
    c = rng.normal(size=count) * (rng.random(count) < 0.5)
    mu, f = rng.uniform(0, 1.2, size=count), rng.normal(size=3)
    table = [
        st.Friction(
            float(rng.uniform(0.5, 2)), tuple(map(along, rng.normal(size=(2, 3)))), f"table {k}"
        )
        for k in range(3 if rng.random() < 0.5 else 0)
    ]
    a = rng.normal(size=3)
    system = st.System(
        work=along(f),
        friction=table,
        contacts=[
            st.Contact(along(N[k], g[k]), float(mu[k]), along(T[k], c[k]), f"c{k}")
            for k in range(count)
        ],
        constraints=[st.Constraint(along(a) - st.t, name="hand")],
        coordinates=q,
    )
    step = st.minimum_power(system, throw=False)
    assert step.status in ("moves", "sticks", "accelerates", "jammed")
    if step.status in ("accelerates", "jammed"):
        return
    v, size = step.v, max(1.0, float(np.abs(np.asarray(step.lam)).max()))
    near = 1e-8 * size * max(1.0, float(np.abs(v).max()))
    total = f + a * step.lam["hand"]
    for k in range(count):
        press, rub = step.lam[f"c{k}"], step.forces[f"c{k}"]
        rate, slip = N[k] @ v + g[k], T[k] @ v + c[k]
        assert press >= -near and rate >= -near and abs(press * rate) <= near
        assert abs(rub) <= mu[k] * press + near
        assert abs(slip) <= near or abs(rub + mu[k] * press * np.sign(slip)) <= near
        total = total + N[k] * press + T[k] * rub
    for k, term in enumerate(table):
        force = step.forces[f"table {k}"]
        rows = np.array([[float(e.coeff(u)) for u in q] for e in term.on])
        rate = rows @ v
        assert np.linalg.norm(force) <= float(term.limit) + near
        against = -float(term.limit) * rate / max(np.linalg.norm(rate), 1e-300)
        if np.linalg.norm(rate) > near:
            np.testing.assert_allclose(force, against, atol=10 * near)
        total = total + rows.T @ force
    np.testing.assert_allclose(total, 0, atol=near)


# -- over time -------------------------------------------------------------------------------------


def test_a_ladder_pulled_away_at_its_foot_follows_its_balance():
    # N + ν W = 1, moments about the foot: W (sin + ν cos) = cos / 2; hand: H = μ N − W.
    mu, nu, a = 0.3, 0.2, np.arccos(0.5)
    c, s = st.cos(phi), st.sin(phi)
    ladder = st.System(
        potential=1.0 * y,
        contacts=[
            st.Contact(y - s / 2, friction=mu, slip=x - c / 2, name="floor"),
            st.Contact(-(x + c / 2), friction=nu, slip=y + s / 2, name="wall"),
        ],
        constraints=[st.Constraint(-(x - c / 2) - 0.5 - st.t, name="hand")],
        coordinates=[x, y, phi],
    )
    start = {x: -0.25, y: np.sin(a) / 2, phi: a}
    slide = st.quasistatics(ladder, span=(0, 0.3), start=start, points=7)
    turn = slide[phi]
    W = np.cos(turn) / 2 / (np.sin(turn) + nu * np.cos(turn))
    np.testing.assert_allclose(np.cos(turn), 0.5 + slide.t, atol=1e-9)
    np.testing.assert_allclose(slide.lam["wall"], W, atol=1e-9)
    np.testing.assert_allclose(slide.lam["floor"], 1 - nu * W, atol=1e-9)
    np.testing.assert_allclose(slide.lam["hand"], mu * (1 - nu * W) - W, atol=1e-9)


@pytest.mark.one_in(3)
@pytest.mark.parametrize("unit", [1e-9, 1.0, 1e9])
@pytest.mark.parametrize("seed", range(8))
def test_what_sticks_at_a_contact_does_so_where_nothing_else_rubs(seed, unit):
    # A hand, a gap and a slip that rests decide three velocities: what is left of slip is rounding.
    rng = np.random.default_rng(seed)
    q = st.coordinates("a b c")
    hand, gap, slip = rows = rng.normal(size=(3, 3))
    lam, press, share = rng.normal(), rng.uniform(1, 3), rng.uniform(-0.4, 0.4)

    def along(row):
        return sum(float(x) * c for x, c in zip(row, q))

    system = st.System(
        work=unit * along(share * press * slip - press * gap - lam * hand),
        contacts=[st.Contact(along(gap), friction=0.5, slip=along(slip), name="floor")],
        constraints=[st.Constraint(along(hand) - unit * st.t, name="hand")],
        coordinates=q,
    )
    v = unit * np.linalg.solve(rows, [1.0, 0.0, 0.0])
    for ask in (st.minimum_power, st.newton):
        step = ask(system)
        motions = np.array([step.v, *step.others])
        assert np.abs(motions - v).max(axis=1).min() < 1e-9 * np.abs(v).max()
        if np.abs(step.v - v).max() < 1e-9 * np.abs(v).max():
            assert step.modes["floor"] == "sticks"
            assert step.lam["floor"] == pytest.approx(unit * press, rel=1e-9)


@pytest.mark.parametrize("length, force", [(1.0, 1.0), (1e-6, 1e-3)])
def test_a_wall_takes_along_what_two_frictions_hold_together(length, force):
    # Which of the two holds how much is open; that the wall comes is not.
    held = [st.Friction(1.0 * force, on=x), st.Friction(0.5 * force, on=x)]
    pulled = force / length * (x - 0.3 * length * st.sin(st.t)) ** 2
    wall = st.Contact(x + length * (1 - st.t), name="wall")
    block = st.System(potential=pulled, friction=held, contacts=[wall])
    slide = st.quasistatics(block, span=(0, 3), points=7)
    np.testing.assert_allclose(slide.events[0], [1.0], atol=1e-8)
    np.testing.assert_allclose(slide[x] / length, np.maximum(slide.t - 1, 0), atol=1e-12)
    assert slide.lost[-1] == pytest.approx(1.5 * 2 * force * length, rel=1e-9)


@pytest.mark.one_in(2)
@pytest.mark.parametrize("held, power", [([x, x + y], 1), ([(x, y)], 0.5)])
def test_an_open_contact_takes_no_share_of_what_holds(held, power):
    # At rest behind a spring, beside oil, several forces would do, but none where nothing presses.
    friction = [st.Friction(1.0, on=on) for on in (*held, (x, y))]
    pulled = (x - 2 * st.sin(st.t)) ** 2 + (y + st.sin(st.t)) ** 2 / 9
    wall = st.Contact(y + 2, name="wall", friction=0.3, slip=x)
    # Nor does what drags, be its slope at rest without bound.
    drag = st.Drag(0.5, power, on=(x, y), name="drag")
    body = st.System(potential=pulled, friction=[*friction, drag], contacts=[wall])
    slide = st.quasistatics(body, span=(0, 3), points=7)
    assert slide.status == "done" and slide.method == "events"
    assert not slide.forces["wall"].any() and np.ptp(slide[x]) > 0.1
    still = ~slide.v.any(axis=1)
    assert still.sum() > 1 and np.abs(slide.forces["drag"][still]).max() < 1e-9
