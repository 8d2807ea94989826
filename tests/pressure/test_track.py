"""Recorded tracks of pushed parts: cut into pushes, and weighed."""

import numpy as np
import pytest

import stationary as st
from stationary.result.least_power import motions

FEET = np.array([(0.05, 0.03), (-0.05, 0.03), (-0.05, -0.03), (0.05, -0.03)])
LOADS = np.array([0.1, 0.2, 0.3, 0.4])
OUTLINE = np.array([(-0.06, -0.04), (0.06, -0.04), (0.06, 0.04), (-0.06, 0.04)])


def turn(angle):
    return np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])


def recorded(rng, edge, share, far=0.03, steps=20, fine=8):
    """A smooth finger goes straight; before it touches and after it stops the part rests."""
    a, b = OUTLINE[edge], np.roll(OUTLINE, -1, axis=0)[edge]
    along = (b - a) / np.linalg.norm(b - a)
    normal = np.array([-along[1], along[0]])
    pose = np.array([*rng.uniform(-0.2, 0.2, 2), rng.uniform(-np.pi, np.pi)])
    tip = pose[:2] + turn(pose[2]) @ (a + share * (b - a))
    go = turn(pose[2]) @ normal * far / steps
    poses, tips = [pose], [tip]
    for _ in range(steps):
        point = turn(pose[2]).T @ (tip - pose[:2])
        C = np.array([*normal, (point[0] * normal[1] - point[1] * normal[0]) / 0.05])
        free = np.linalg.svd(C[None])[2][1:].T
        z, _ = motions(FEET / 0.05, LOADS, (C / (C @ C))[None], free[None])
        twist = (C / (C @ C) + free @ z[0]) * (normal @ turn(pose[2]).T @ go)
        twist[2] /= 0.05
        middle = turn(pose[2] + twist[2] / 2)
        pose, tip = pose + [*(middle @ twist[:2]), twist[2]], tip + go
        poses.append(pose)
        tips.append(tip)
    when = np.linspace(0, steps, steps * fine + 1)
    track = [np.stack([np.interp(when, range(steps + 1), column) for column in np.array(x).T], 1)
             for x in (poses, tips)]  # fmt: skip
    away = track[1][:1] - go * np.linspace(3, 0.2, 20)[:, None]
    return (
        np.vstack([np.repeat(track[0][:1], 20, 0), track[0], np.repeat(track[0][-1:], 20, 0)]),
        np.vstack([away, track[1], np.repeat(track[1][-1:], 20, 0)]),
    )


@pytest.fixture(scope="module")
def tracks():
    rng = np.random.default_rng(3)
    return [recorded(rng, k, s) for k, s in ((0, 0.3), (1, 0.6), (2, 0.2), (3, 0.7), (0, 0.8))]


@pytest.mark.parametrize("unit", [1.0, pytest.param(1e3, marks=pytest.mark.slow)])
def test_loads_come_from_tracks_with_errors_jumps_and_gaps(tracks, unit):
    rng = np.random.default_rng(4)
    pushes, told = [], []
    for k, (poses, tip) in enumerate(tracks):
        poses = poses + rng.normal(size=poses.shape) * [1e-4, 1e-4, np.radians(0.1)]
        poses[:, :2] = np.round(poses[:, :2], 5)  # what the camera resolves
        poses[:, 2] = (poses[:, 2] + np.pi) % (2 * np.pi) - np.pi
        if k == 1:
            poses[90] += [0.03, 0.0, 0.0]
        if k == 2:
            poses[60:63] = np.nan
        found = st.Push.from_track(poses * [unit, unit, 1], tip * unit, outline=OUTLINE * unit)
        pushes += found
        told.append(found.told)
    assert "2 jumps of the pose, at reading 90, 91" in told[1] and "3 readings not" in told[2]
    assert all("without contact" in words for words in told)
    part = st.slider(points=FEET * unit, weight=1.0)
    fit = st.fit_pressure(part, pushes=pushes, friction=0.0)
    low, high = fit.intervals.T
    assert np.count_nonzero((low <= LOADS) & (LOADS <= high)) >= 3
    assert np.abs(fit.weights - LOADS).max() < 0.04 and (high - low).max() < 0.15


def test_bad_tracks_are_refused_in_three_parts(tracks):
    poses, tip = tracks[0]
    still = np.repeat(poses[:1], len(poses), axis=0)
    cases = [
        (lambda: st.Push.from_track(poses[:, :2], tip, outline=OUTLINE), "rows of 3 numbers"),
        (lambda: st.Push.from_track(poses, tip[:-1], outline=OUTLINE), "do not go together"),
        (lambda: st.Push.from_track(poses * np.nan, tip, outline=OUTLINE), "too short"),
        # Millimetres beside metres.
        (lambda: st.Push.from_track(poses * [1e3, 1e3, 1], 1e3 * tip + 400, outline=OUTLINE),
         "never touches the part"),
        (lambda: st.Push.from_track(still, tip, outline=OUTLINE), "no part of a track is a push"),
    ]  # fmt: skip
    for ask, message in cases:
        with pytest.raises(st.StatementError, match=message) as error:
            ask()
        assert str(error.value).count("\n") == 2
