"""Clear rebounds of what flies freely: many, against unfolded rooms and against closer looks."""

import numpy as np
import pytest

import stationary as st
from stationary.solve.touch import driver


def simulate(system, **asked) -> st.Touched:
    motion = st.simulate(system, **asked)
    assert isinstance(motion, st.Touched)
    return motion


@pytest.mark.parametrize("seed", range(4))
def test_a_ball_in_a_room_goes_straight_on_in_its_mirror_images(seed):
    rng = np.random.default_rng(seed)
    n, length, time = seed % 3 + 1, 10.0 ** rng.uniform(-9, 9), 10.0 ** rng.uniform(-6, 6)
    q = [st.coordinates(f"q{k}") for k in range(n)]
    size, mass, start = rng.uniform(0.5, 2, n), rng.uniform(0.1, 3, n), rng.uniform(0.1, 0.4, n)
    velocity = rng.uniform(0.5, 2, n) * rng.choice([-1, 1], n)
    walls = [
        st.Contact(gap, restitution=1, name=f"{k} {side}")
        for k in range(n)
        for side, gap in enumerate((q[k], float(size[k] * length) - q[k]))
    ]
    energy = sum(float(a) * b.dot**2 / 2 for a, b in zip(mass, q))
    begin = {a: b * length for a, b in zip(q, start)}
    begin |= {a.dot: b * length / time for a, b in zip(q, velocity)}
    motion = simulate(
        st.System(kinetic=energy, contacts=walls), span=(0, 400 * time), start=begin, points=50
    )
    straight = start + np.outer(motion.t / time, velocity)
    folded = np.abs((straight + size) % (2 * size) - size)
    assert np.allclose(motion.q / length, folded, rtol=0, atol=1e-10)
    crossed = np.abs(np.floor(straight[-1] / size) - np.floor(start / size))
    assert len(motion.changes) == crossed.sum() > 100
    assert np.allclose(motion.energy, motion.energy[0], rtol=1e-14)


@pytest.mark.parametrize("seed", range(6))
def test_closer_looks_find_the_same(seed, monkeypatch):
    rng = np.random.default_rng(seed)
    n = seed % 3 + 1
    q = [st.coordinates(f"q{k}") for k in range(n)]
    A, pull = rng.normal(size=(n, n)), rng.normal(size=n)
    M = A @ A.T + 0.3 * np.eye(n)
    energy = sum(float(M[i, j]) * q[i].dot * q[j].dot for i in range(n) for j in range(n)) / 2
    walls = []
    for k in range(n):
        moving = 0.01 * st.t**2 * float(rng.normal())
        for side in (-1, 1):
            gap = 1 + side * q[k] + moving + (0.3 * float(rng.normal()) * q[k - 1] if n > 1 else 0)
            back = float(rng.choice([1.0, 0.95]))
            walls.append(st.Contact(gap, restitution=back, name=f"{k} {side}"))
    room = st.System(
        kinetic=energy, potential=sum(float(a) * b for a, b in zip(pull, q)), contacts=walls
    )
    asked = {"span": (0, 5), "start": {a.dot: float(rng.normal()) for a in q}, "points": 41}
    motion = simulate(room, **asked)
    monkeypatch.setattr(driver, "bounced", lambda *_: iter(()))
    other = simulate(room, **asked)
    assert list(motion.changes.name) == list(other.changes.name)
    assert len(motion.changes)
    for name in ("t", "impulse"):
        one, two = getattr(motion.changes, name), getattr(other.changes, name)
        assert np.allclose(one, two, rtol=1e-11, atol=1e-11)
    for name in ("q", "energy", "struck_off", "balance"):
        assert np.allclose(getattr(motion, name), getattr(other, name), rtol=0, atol=1e-11)
    # Between output times as well.
    times = np.linspace(0.01, 4.99, 77)
    assert np.allclose(motion.at(times).q, other.at(times).q, rtol=0, atol=1e-11)
