"""Trees of bodies: inertia, bias and gravity against Newton and Euler's laws, in linear time."""

from typing import Any

import casadi as ca
import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import stationary as st
from stationary.lower.kernel import graph_of

G = 9.81


class Tree:
    """A random tree of bodies with hinges and slides, as a statement and as numbers."""

    slides: Any
    masses: Any

    def __init__(self, seed, count, floating=False):
        rng = np.random.default_rng(seed)
        self.parents = [int(rng.integers(-1, k)) if k else -1 for k in range(count)]
        self.slides = rng.random(count) < 0.3
        self.axes = rng.normal(size=(count, 3))
        # Some axes are those of the frame, which take another way.
        for k in np.flatnonzero(rng.random(count) < 0.5):
            self.axes[k] = np.eye(3)[rng.integers(3)] * rng.choice([-1.0, 1.0])
        self.axes /= np.linalg.norm(self.axes, axis=1, keepdims=True)
        self.turns = Rotation.random(count, random_state=rng)
        self.moves, self.centres = rng.normal(size=(2, count, 3))
        self.masses = rng.uniform(0.1, 3, count)
        spread = rng.normal(size=(count, 3, 4))
        # Of points of mass: no inertia like this violates the triangle inequality.
        self.inertias = [
            sum((p @ p) * np.eye(3) - np.outer(p, p) for p in cloud.T) for cloud in spread
        ]
        self.q, self.v = rng.normal(size=(2, count))
        self.root = st.Frame()
        if floating:
            x, y, z = st.coordinates("x y z")
            self.root = st.Frame().move((x, y, z)).turn(st.rotation("R"))

    @property
    def system(self):
        frames, bodies = [], []
        for k, parent in enumerate(self.parents):
            base = frames[parent] if parent >= 0 else self.root
            base = base.move(tuple(self.moves[k])).turn(self.turns[k])
            q = st.coordinates(f"q{k}")
            axis = tuple(self.axes[k])
            moved = base.move(tuple(e * q for e in axis)) if self.slides[k] else base.turn(axis, q)
            frames.append(moved)
            bodies.append(
                st.body(self.masses[k], inertia=self.inertias[k], at=tuple(self.centres[k]),
                        frame=moved, gravity=G)
            )  # fmt: skip
        return sum(bodies[1:], bodies[0])

    def torques(self, q, v, a, gravity):
        """What moves it so, by Newton's and Euler's laws projected on the joints."""
        count, up = len(q), np.array([0, 0, gravity])
        poses: list = []
        total = np.zeros(count)
        for k, parent in enumerate(self.parents):
            if parent < 0:
                turn, place = Rotation.identity(), np.zeros(3)
                omega, alpha, speed, pull = np.zeros((4, 3))
                turning, moving = np.zeros((2, 3, count))
            else:
                turn, place, omega, alpha, speed, pull, turning, moving = poses[parent]
            arm = turn.apply(self.moves[k])
            turn = turn * self.turns[k]
            axis = turn.apply(self.axes[k])
            if self.slides[k]:
                arm = arm + q[k] * axis
            place = place + arm
            moving = moving - np.cross(arm, turning.T).T
            pull = pull + np.cross(alpha, arm) + np.cross(omega, np.cross(omega, arm))
            turning, moving = turning.copy(), moving.copy()
            if self.slides[k]:
                pull = pull + 2 * np.cross(omega, axis * v[k]) + axis * a[k]
                moving[:, k] += axis
            else:
                turn = turn * Rotation.from_rotvec(q[k] * self.axes[k])
                alpha = alpha + np.cross(omega, axis * v[k]) + axis * a[k]
                omega = omega + axis * v[k]
                turning[:, k] += axis
            poses.append((turn, place, omega, alpha, speed, pull, turning, moving))
            arm = turn.apply(self.centres[k])
            push = self.masses[k] * (
                pull + np.cross(alpha, arm) + np.cross(omega, np.cross(omega, arm)) + up
            )
            spread = turn.as_matrix() @ self.inertias[k] @ turn.as_matrix().T
            twist = spread @ alpha + np.cross(omega, spread @ omega)
            total += (moving - np.cross(arm, turning.T).T).T @ push + turning.T @ twist
        return total


@pytest.mark.parametrize("seed, count", [(1, 1), (2, 3), (4, 7)])
def test_inertia_bias_and_gravity_of_a_tree_are_those_of_newton_and_euler(seed, count):
    tree = Tree(seed, count)
    compiled = st.compile(tree.system)
    names = [c.name for c in compiled.system.coordinates]
    order = [names.index(f"q{k}") for k in range(count)]
    q, v, zero = tree.q, tree.v, np.zeros(count)
    whole = np.empty(count), np.empty(count)
    whole[0][order], whole[1][order] = q, v
    M = compiled.mass(whole[0]).toarray()[np.ix_(order, order)]
    expected = np.array([tree.torques(q, zero, e, 0.0) for e in np.eye(count)]).T
    assert M == pytest.approx(expected, abs=1e-12 * np.abs(expected).max())
    gravity = tree.torques(q, zero, zero, G)
    assert -compiled.force(whole[0])[order] == pytest.approx(
        gravity, abs=1e-12 * np.abs(gravity).max()
    )
    force = tree.torques(q, v, zero, G)
    assert -compiled.force(*whole)[order] == pytest.approx(force, abs=1e-11 * np.abs(force).max())
    a = compiled.acceleration(*whole)[order]
    left = tree.torques(q, v, a, G)
    assert left == pytest.approx(zero, abs=1e-11 * np.abs(force).max())


@pytest.mark.parametrize("seed, count", [(1, 1), (2, 4)])
def test_a_floating_tree_moves_by_the_same_law_with_and_without_articulated_bodies(seed, count):
    tree = Tree(seed, count, floating=True)
    system = tree.system
    graph = graph_of(system)
    assert graph.upright
    rng, kinematics, n = np.random.default_rng(seed), graph.layout.kinematics, system.size
    q, v = kinematics.onto(rng.normal(size=n)), rng.normal(size=n)
    four = kinematics.quaternions[0]
    v[four] -= q[four] * (q[four] @ v[four])
    a, lam, _ = (np.array(e).ravel() for e in graph.held((0,))(0, q, v, [], [], 0.0))
    M, force = (np.array(e.full() if isinstance(e, ca.DM) else e) for e in
                graph.dynamics(0, q, v, [], []))  # fmt: skip
    R, _, A, gamma, _ = (np.array(e.full()) for e in graph.constraints(0, q, v, [], []))
    scale = np.abs(force).max()
    assert M @ a == pytest.approx(force.ravel() + A.T @ lam, abs=1e-12 * scale)
    assert A @ a == pytest.approx(-gamma.ravel(), abs=1e-12 * np.abs(gamma).max())


def test_the_graph_of_a_chain_grows_with_its_length():
    sizes = []
    for count in (5, 10, 20):
        q, frame, bodies = st.coordinates(" ".join(f"q{k}" for k in range(count))), st.Frame(), []
        for k, angle in enumerate(q):
            frame = frame.turn("xyz"[k % 3], angle)
            bodies.append(st.body(1, inertia=(1, 2, 2.5), at=(0, 0.1, 0.2), frame=frame, gravity=G))
            frame = frame.move((0.1, 0.2, 0.5))
        graph = graph_of(sum(bodies[1:], bodies[0]))
        sizes.append(graph.acceleration.n_instructions())
    assert sizes[2] - sizes[1] <= 2.1 * (sizes[1] - sizes[0])
