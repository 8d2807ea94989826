"""Up to which speed a motion is quasistatic, and long ropes."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.optimize import brentq

import examples
import stationary as st

x, y, phi = st.coordinates("x y phi")
V, mu = st.parameters(V=0.1, mu=0.3)


def test_a_block_that_is_shaken_is_quasistatic_until_its_inertia_is_a_tenth_of_friction():
    # x = sin(V t): inertia V² sin(V t) against friction 1, largest at the end of the way.
    block = st.System(
        kinetic=x.dot**2 / 2, friction=[st.Friction(1.0, on=x)], constraints=[x - st.sin(V * st.t)]
    )
    found = st.quasistatic_error(block, speed=V, travel=1.5, within=(0.05, 2))
    assert found.speed == pytest.approx(np.sqrt(0.1 / np.sin(1.5)), rel=0.02)
    strict = st.quasistatic_error(block, speed=V, travel=1.5, within=(0.01, 2), level=0.01)
    assert strict.speed == pytest.approx(np.sqrt(0.01 / np.sin(1.5)), rel=0.02)


LONG, WIDE = 0.0856, 0.0540


def card_outline():
    a, b = LONG / 2, WIDE / 2
    return [(-a, -b), (a, -b), (a, b), (-a, b)]


def card():
    """The credit card of the report's introduction, pinned to a finger off its middle."""
    unit = st.slider(outline=card_outline(), limit=1.0, count=60)
    P = st.limit_surface(unit, count=10)
    c, s = st.cos(phi), st.sin(phi)
    support = st.each(
        lambda p, w: st.Friction(
            9.81 * mu * w, on=(x + c * p[0] - s * p[1], y + s * p[0] + c * p[1])
        ),
        P.points, P.weights, name="table",
    )  # fmt: skip
    # By the mass: it does not matter.
    turning = (LONG**2 + WIDE**2) / 12 * phi.dot**2
    finger = (
        x + 0.02 * c + WIDE / 2 * s - 0.02,
        y + 0.02 * s - WIDE / 2 * c + WIDE / 2 - V * st.t,
    )
    return st.System(
        kinetic=(x.dot**2 + y.dot**2 + turning) / 2, friction=[support], constraints=finger
    )


def test_a_credit_card_is_quasistatic_up_to_roughly_ten_centimetres_per_second():
    found = st.quasistatic_error(card(), speed=V, travel=0.05, within=(0.01, 2), count=100)
    assert 0.03 < found.speed < 0.3
    # Inertia grows with V² and friction with μ: the speed grows with the root of μ.
    rough = st.quasistatic_error(
        card(), speed=V, travel=0.05, within=(0.01, 2), count=100, params={mu: 1.2}
    )
    assert rough.speed / found.speed == pytest.approx(2.0, rel=0.02)


def test_left_out_the_way_is_as_long_as_the_system():
    # The box around the points on which the card rests, a little within its outline.
    P = st.limit_surface(st.slider(outline=card_outline(), limit=1.0, count=60), count=10).points
    way = float(np.linalg.norm(np.ptp(P, axis=0)))
    assert 0.8 * np.hypot(LONG, WIDE) < way < np.hypot(LONG, WIDE)
    asked = {"speed": V, "within": (0.03, 0.3), "count": 40}
    said = st.quasistatic_error(card(), travel=way, **asked)
    assert st.quasistatic_error(card(), **asked).speed == pytest.approx(said.speed, rel=1e-12)


def shaken(unit):
    """A block that is shaken, in some units of length, force and time."""
    length, force, time = unit
    m, W = st.parameters(m=force * time**2 / length, W=1.0)
    drive = x - length * st.sin(W * st.t / length)
    return W, st.System(
        kinetic=m * x.dot**2 / 2, friction=[st.Friction(force, on=x)], constraints=[drive]
    )


@pytest.mark.one_in(3)
@pytest.mark.parametrize("unit", [(1.0, 1.0, 1.0), (1e-9, 1e3, 1e-6), (1e6, 1e-5, 1e3)])
def test_left_out_speeds_are_searched_for_around_those_of_the_statement(unit):
    W, block = shaken(unit)
    found = st.quasistatic_error(block, speed=W, travel=1.5 * unit[0])
    speed = np.sqrt(0.1 / np.sin(1.5)) * unit[0] / unit[2]
    assert found.speed == pytest.approx(speed, rel=0.01)
    # One point has no length.
    with pytest.raises(st.StatementError, match=r"how far it travels is not known.\n.*\n.*travel="):
        st.quasistatic_error(block, speed=W)


def with_inertia(V, count=301):
    """Integrate two feet pinned to a hand that goes round a bend: the errors of leaving it out.

    Written here by Newton's law for the angle alone, which is all that is free.
    """
    feet, weights = np.array([(-0.7, 0.2), (-0.1, -0.5)]), np.array([0.6, 0.9])
    mass, turning = 2.0, 0.8

    def parts(t, turn):
        c, s = np.cos(turn), np.sin(turn)
        hand = np.array([np.cos(V * t), np.sin(V * t)])
        speed, pull = V * np.array([-hand[1], hand[0]]), -(V**2) * hand
        arms = feet @ np.array([[c, s], [-s, c]])
        return arms, np.stack([-arms[:, 1], arms[:, 0]], axis=1), speed, pull

    # The middle is the hand's place: the mass of the part is there.
    def moment(t, turn, rate):
        arms, across, speed, _ = parts(t, turn)
        v = speed + rate * across
        return -np.sum((weights / np.linalg.norm(v, axis=1))[:, None] * v * across), v

    def quasistatic(t, turn):
        return brentq(lambda r: moment(t, turn, r)[0], -10 * V, 10 * V, xtol=1e-14)

    first = quasistatic(0.0, 0.0)
    path = solve_ivp(
        lambda t, z: [z[1], moment(t, *z)[0] / turning], (0, 1 / V), [0.0, first], rtol=1e-10,
        atol=1e-12, dense_output=True,
    )  # fmt: skip
    forces, velocities = 0.0, 0.0
    for t in np.linspace(0, 1 / V, count):
        turn, rate = path.sol(t)
        M, v = moment(t, turn, rate)
        _, _, speed, pull = parts(t, turn)
        F = -np.sum((weights / np.linalg.norm(v, axis=1))[:, None] * v, axis=0)
        inertia = mass * (pull @ pull) + M**2 / turning
        forces = max(forces, inertia / (F @ F / mass + M**2 / turning))
        still = quasistatic(t, turn)
        off = turning * (rate - still) ** 2 / (mass * (speed @ speed) + turning * still**2)
        velocities = max(velocities, off)
    return np.sqrt(max(forces, velocities))


def test_the_errors_of_a_part_on_two_feet_are_those_of_its_dynamics():
    part = st.slider(points=[(-0.7, 0.2), (-0.1, -0.5)], weights=[0.6, 0.9])
    px, py, turn = part.coordinates
    bend = [px - st.cos(V * st.t), py - st.sin(V * st.t)]
    mass = (2.0 * (px.dot**2 + py.dot**2) + 0.8 * turn.dot**2) / 2
    driven = part + st.System(kinetic=mass, constraints=bend)
    found = st.quasistatic_error(driven, speed=V, travel=1.0, start={px: 1.0}, count=60)
    for speed, error in zip(found.speeds, found.errors):
        assert error == pytest.approx(with_inertia(speed), rel=0.03)


def test_what_cannot_be_compared_is_refused():
    bare = st.System(friction=[st.Friction(1.0, on=x)], constraints=[x - V * st.t])
    with pytest.raises(st.DerivationError, match="no kinetic energy to compare with"):
        st.quasistatic_error(bare, speed=V, travel=1.0)
    with pytest.raises(st.StatementError, match="'W' is not a parameter of this system"):
        st.quasistatic_error(bare + st.System(kinetic=x.dot**2), speed="W", travel=1.0)


@pytest.mark.parametrize("count", [100, 1000])
def test_a_long_rope_slides_with_forces_that_prove_it(count):
    rope = examples.load("rope_pulled")
    start = rope.snaked(count)
    r, system = rope.system(count, start[-1])
    step = st.minimum_power(system, at={r: start})
    assert step.gap < 1e-9 and max(step.residual.values()) < 1e-9
    # Written out here: links keep their lengths, and what the hand gives friction takes.
    v = step[r.dot]
    way = np.diff(start, axis=0)
    assert np.abs(np.sum(way * np.diff(v, axis=0), axis=1)).max() < 1e-9 / count
    taken = np.linalg.norm(v, axis=1).sum() / count
    assert step.lam["hand"] == pytest.approx(taken, rel=1e-9)
    np.testing.assert_allclose(v[-1], [1, 0], atol=1e-12)
    # Warm, the same.
    warm = st.minimum_power(system, at={r: start}, guess=step)
    np.testing.assert_allclose(warm.v, step.v, atol=1e-10)


@pytest.mark.slow
def test_a_rope_of_a_thousand_particles_is_pulled_on():
    rope = examples.load("rope_pulled")
    r, moved = rope.pull(1000, way=0.15, points=4)
    assert moved.status == "done" and moved.residual["R"] < 1e-12
    hand = moved[r][:, -1]
    np.testing.assert_allclose(hand[:, 0] - hand[0, 0], moved.t, atol=1e-12)
    assert np.all(np.diff(moved.lam["hand"][1:]) > 0)
