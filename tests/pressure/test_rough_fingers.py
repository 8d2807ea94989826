"""Fingers that stick: what their pushes and forces tell of the loads, and what they do not."""

import numpy as np
import pytest
from scipy.optimize import brentq

import stationary as st

FEET = np.array([(0.05, 0.03), (-0.05, 0.03), (-0.05, -0.03), (0.05, -0.03)])
LOADS = np.array([0.2, 0.4, 0.6, 0.8])
NOISE = np.array([1e-4, 1e-4, np.radians(0.1)])


def stuck(point, way):
    """The turn under which friction has no moment about a finger that sticks, and its force."""
    arm = FEET - point

    def pulls(turn):
        v = way + turn * np.stack([-arm[:, 1], arm[:, 0]], axis=1)
        return LOADS[:, None] * v / np.linalg.norm(v, axis=1)[:, None]

    def moment(turn):
        f = pulls(turn)
        return float((arm[:, 0] * f[:, 1] - arm[:, 1] * f[:, 0]).sum())

    turn = brentq(moment, -1e3, 1e3, xtol=1e-15)
    motion = np.array([way[0] + turn * point[1], way[1] - turn * point[0], turn])
    return motion, pulls(turn).sum(axis=0)


def pushed(rng, count, slip=0.0, near=0.0):
    """Pushes of a centimetre by fingers that stick, or slip by a share of their way.

    With `near` the first foot goes along the line to the finger by so much only.
    """
    out = []
    for k in range(count):
        angle = rng.uniform(0, 2 * np.pi)
        normal = np.array([np.cos(angle), np.sin(angle)])
        edge = np.array([normal[1], -normal[0]])
        point = -0.07 * normal + rng.uniform(-0.04, 0.04) * edge
        way = 0.01 * (normal + rng.uniform(-0.2, 0.2) * edge)
        if near and k % 3 == 0:
            line = (FEET[0] - point) / np.linalg.norm(FEET[0] - point)
            across = np.array([-line[1], line[0]]) * np.sign(normal @ [-line[1], line[0]])
            way = 0.01 * across + near * rng.uniform(-1, 1) * line
        motion, force = stuck(point, way)
        if force @ normal > 0.1:
            out.append({"point": point, "normal": normal, "motion": motion, "force": force,
                        "finger": way + slip * 0.01 * edge})  # fmt: skip
    return out


def noisy(pushes, rng):
    """Every reading with its errors; the finger is read as well as the part."""
    return [{**p, "motion": p["motion"] + NOISE * rng.normal(size=3),
             "finger": p["finger"] + NOISE[:2] * rng.normal(size=2),
             "force": p["force"] + 0.01 * rng.normal(size=2)} for p in pushes]  # fmt: skip


@pytest.mark.parametrize("near", [1e-4, pytest.param(0.0, marks=pytest.mark.slow)])
def test_a_foot_that_may_go_either_way_does_not_contradict_the_force(near):
    # Friction of a foot that hardly moves turns back within the errors of the motion.
    rng = np.random.default_rng(5)
    part = st.slider(points=FEET, weight=2.0)
    for _ in range(2):
        pushes = noisy(pushed(rng, 24, near=near), rng)
        fit = st.fit_pressure(part, pushes=pushes, noise=(NOISE[0], NOISE[2], 0.01))
        assert fit.status == "fitted" and not fit.left_out
        error = np.sqrt(np.diag(fit.covariance))[:4]
        assert np.abs(fit.weights - LOADS).max() < 5 * error.max() < 0.15
        # Loads change motions and forces straight enough that intervals are those of the errors.
        half = np.diff(fit.intervals, axis=1)[:, 0] / 2
        np.testing.assert_allclose(half, 1.96 * error, rtol=0.2)


def test_a_slip_that_is_hardly_seen_is_none():
    # Readings that are said to be good to a micron are not: outlines and frames err by more.
    rng = np.random.default_rng(6)
    pushes = pushed(rng, 12, slip=0.005)
    part = st.slider(points=FEET, weight=2.0)
    for noise in (None, (1e-8, 1e-7, 1e-6)):
        fit = st.fit_pressure(part, pushes=pushes, noise=noise)
        np.testing.assert_allclose(fit.weights, LOADS, rtol=0, atol=1e-6)


def test_the_friction_of_fingers_that_stick_is_no_less_than_is_sure():
    # What a finger needs at least is the largest slope of its forces; of many that err one is high.
    rng = np.random.default_rng(7)
    part, sure = st.slider(points=FEET, weight=2.0), []
    for _ in range(3):
        pushes = pushed(rng, 20)
        slopes = [abs(p["force"] @ (p["normal"][1], -p["normal"][0]) / (p["force"] @ p["normal"]))
                  for p in pushes]  # fmt: skip
        bare = [{k: v for k, v in p.items() if k != "force"} for p in noisy(pushes, rng)]
        fit = st.fit_pressure(part, pushes=bare, noise=(NOISE[0], NOISE[2]))
        assert np.isnan(fit.finger) and fit.finger_interval[1] == np.inf
        sure.append(fit.finger_interval[0] <= max(slopes))
        assert fit.finger_interval[0] > 0.5 * max(slopes)
    assert all(sure)
