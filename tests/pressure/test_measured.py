"""Pushes as they are measured: short tracks of poses, with errors, mistakes and gaps."""

import numpy as np
import pytest

import stationary as st
from stationary.model.push import Push
from tests.pressure.test_fit import measured

FEET = np.array([(0.05, 0.03), (-0.05, 0.03), (-0.05, -0.03), (0.05, -0.03)])
LOADS = np.array([0.1, 0.2, 0.3, 0.4])
NOISE = (1e-4, np.radians(0.1))


def recorded(rng, count, unit=1.0, turn=0.0):
    """Poses on a table before and after pushes of a centimetre, angles read modulo a turn."""
    out = []
    for push in measured(rng, FEET, LOADS, count):
        start = np.array([*rng.uniform(-1, 1, 2), rng.uniform(-np.pi, np.pi) + turn])
        # The motion of the part's frame, halfway along an arc.
        x, y, angle = push["motion"]
        middle = start[2] + angle / 2
        chord = np.sinc(angle / 2 / np.pi)
        way = chord * np.array([x * np.cos(middle) - y * np.sin(middle),
                                x * np.sin(middle) + y * np.cos(middle)])  # fmt: skip
        end = start + [*way, angle]
        poses = []
        for pose in (start, end):
            pose = pose + rng.normal(size=3) * [NOISE[0], NOISE[0], NOISE[1]] / np.sqrt(2)
            wrapped = (pose[2] + np.pi) % (2 * np.pi) - np.pi
            poses.append((unit * pose[0], unit * pose[1], wrapped))
        out.append({"point": unit * push["point"], "normal": push["normal"],
                    "before": poses[0], "after": poses[1]})  # fmt: skip
    return out


def test_angles_that_jump_by_a_turn_do_not_count():
    push = Push(point=(0, 0), normal=(0, 1), before=(0, 0, 3.13), after=(0.01, 0.0, -3.13))
    assert push.twist[2] == pytest.approx(2 * np.pi - 6.26)
    plain = Push(point=(0, 0), normal=(0, 1), before=(0, 0, 3.13),
                 after=(0.01, 0.0, 2 * np.pi - 3.13))  # fmt: skip
    np.testing.assert_allclose(push.twist, plain.twist, atol=1e-12)


SLOW = pytest.mark.slow


@pytest.mark.slow
@pytest.mark.parametrize(
    ("seed", "unit"),
    [(0, 1.0), pytest.param(1, 1e3, marks=SLOW), pytest.param(2, 1e-3, marks=SLOW)],
)
def test_mistakes_and_pushes_without_motion_are_left_out_by_name(seed, unit):
    rng = np.random.default_rng(seed)
    pushes = recorded(rng, 20, unit)
    bad = {3, 11, 17}
    for k in bad:
        # The wrong track: another part, or a hand in the picture.
        x, y, angle = pushes[k]["before"]
        pushes[k]["after"] = (x + 0.02 * unit, y - 0.03 * unit, angle + rng.uniform(0.5, 1))
    pushes[7]["after"] = pushes[7]["before"]
    part = st.slider(points=unit * FEET, weight=1.0)
    fit = st.fit_pressure(part, pushes=pushes, noise=(unit * NOISE[0], NOISE[1]))
    assert set(fit.left_out) == bad | {7}
    assert "left out: push" in fit.status.message and "7 (did not move)" in fit.status.message
    inside = (fit.intervals[:, 0] <= LOADS) & (LOADS <= fit.intervals[:, 1])
    assert inside.sum() >= 3
    np.testing.assert_allclose(fit.weights, LOADS, atol=0.02)
    assert np.isnan(fit.residuals[list(fit.left_out)]).all()
    # Without stated errors the same pushes are mistakes.
    blind = st.fit_pressure(part, pushes=pushes)
    assert bad <= set(blind.left_out) and np.abs(blind.weights - LOADS).max() < 0.03


def test_a_part_that_never_moves_is_refused_in_three_parts():
    still = {"point": (0, -0.03), "normal": (0, 1), "motion": (0, 0, 0)}
    with pytest.raises(st.StatementError, match="no push moved the part") as error:
        st.fit_pressure(st.slider(points=FEET, weight=1.0), pushes=[still, still])
    assert str(error.value).count("\n") == 2


def test_the_error_of_a_force_sensor_sets_how_well_the_whole_is_weighed():
    rng = np.random.default_rng(5)
    pushes = measured(rng, FEET, 10 * LOADS, 12)
    for p in pushes:
        v = p["motion"][:2] + p["motion"][2] * np.stack([-FEET[:, 1], FEET[:, 0]], axis=1)
        q = p["motion"][:2] + p["motion"][2] * np.array([-p["point"][1], p["point"][0]])
        exact = float(10 * LOADS @ np.hypot(*v.T) / (q @ p["normal"]))
        p["force"] = exact + 0.2 * rng.normal()
    part = st.slider(points=FEET, weight=1.0)
    wide, narrow = (
        st.fit_pressure(part, pushes=pushes, noise=(*NOISE, error)) for error in (0.2, 0.02)
    )
    total = [np.sqrt(np.ones(4) @ f.covariance @ np.ones(4)) for f in (wide, narrow)]
    # Twelve readings of 0.2 each: about 0.2/√12.
    assert 0.03 < total[0] < 0.12
    assert abs(wide.weights.sum() - 10) < 4 * total[0]


def test_a_limit_surface_comes_back_from_noisy_readings_with_gaps():
    rng = np.random.default_rng(6)
    part = st.slider(points=FEET, weights=LOADS)
    known = st.limit_surface(part)
    twists = rng.normal(size=(80, 3)) * [1, 1, 20]
    wrenches = np.array([known.wrench(v) for v in twists])
    exact = st.fit_limit_surface(wrenches=wrenches, twists=twists)
    noisy = wrenches + rng.normal(size=wrenches.shape) * [0.02, 0.02, 0.0008]
    moved = twists * (1 + 0.02 * rng.normal(size=twists.shape))
    noisy[5], moved[9], moved[12] = np.nan, 0.0, np.nan  # lost readings, a part at rest
    noisy[20:24] *= -3  # a sensor that hit its stop
    noisy[30:34] *= 4
    found = st.fit_limit_surface(wrenches=noisy, twists=moved)
    scale = np.sqrt(np.outer(np.diag(exact.forms[0]), np.diag(exact.forms[0])))
    assert np.abs((found.forms[0] - exact.forms[0]) / scale).max() < 0.12
