"""Recorded tracks of pushed parts: cut into pushes, and weighed."""

import re

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
    assert "1 readings off those beside them, at 90" in told[1] and "3 readings not" in told[2]
    assert all("without contact" in words for words in told)
    part = st.slider(points=FEET * unit, weight=1.0)
    fit = st.fit_pressure(part, pushes=pushes, friction=0.0)
    low, high = fit.intervals.T
    assert np.count_nonzero((low <= LOADS) & (LOADS <= high)) >= 3
    assert np.abs(fit.weights - LOADS).max() < 0.04 and (high - low).max() < 0.15


def test_bad_tracks_are_refused_in_three_parts(tracks):
    poses, tip = tracks[0]
    still = np.repeat(poses[:1], len(poses), axis=0)
    when = np.arange(len(poses))
    cases = [
        (lambda: st.Push.from_track(poses[:, :2], tip, outline=OUTLINE), "rows of 3 numbers"),
        (lambda: st.Push.from_track(poses, tip[:-1], outline=OUTLINE), "do not go together"),
        (lambda: st.Push.from_track(poses * np.nan, tip, outline=OUTLINE), "too short"),
        # Millimetres beside metres.
        (lambda: st.Push.from_track(poses * [1e3, 1e3, 1], 1e3 * tip + 400, outline=OUTLINE),
         "never touches the part"),
        (lambda: st.Push.from_track(still, tip, outline=OUTLINE), "no part of a track is a push"),
        (lambda: st.Push.from_track(np.column_stack([when, poses]),
                                    np.column_stack([when + 1e6, tip]), outline=OUTLINE),
         "clocks of poses and tip do not overlap"),
    ]  # fmt: skip
    for ask, message in cases:
        with pytest.raises(st.StatementError, match=message) as error:
            ask()
        assert str(error.value).count("\n") == 2


def own(poses, tip):
    """Tips in the frame of the part."""
    return np.array([turn(p[2]).T @ (t - p[:2]) for p, t in zip(poses, tip)])


MEANT = {
    "in degrees": lambda p, t: (p * [1, 1, 180 / np.pi], t, OUTLINE),
    "off by a quarter turn": lambda p, t: (p + [0, 0, np.pi / 2], t, OUTLINE),
    "clockwise": lambda p, t: (p * [1, 1, -1], t, OUTLINE),
    "poses are in another unit: multiply them by 1/1000": lambda p, t: (p * [1e3, 1e3, 1], t,
                                                                       OUTLINE),
    "tip are in another unit: multiply them by 25.4": lambda p, t: (p, t / 25.4, OUTLINE),
    "outline and the radius are in another unit": lambda p, t: (p * [1e3, 1e3, 1], 1e3 * t,
                                                                OUTLINE),
    "tip is in the part's frame": lambda p, t: (p, own(p, t), OUTLINE),
}  # fmt: skip


@pytest.mark.parametrize("words", MEANT)
def test_what_a_track_was_meant_to_be_is_named(tracks, words):
    for poses, tip in tracks[:2]:
        p, t, outline = MEANT[words](poses, tip)
        with pytest.raises(st.StatementError, match=words) as error:
            st.Push.from_track(p, t, outline=outline)
        assert str(error.value).count("\n") == 2


def test_a_mirrored_track_is_named():
    # Seen from below the table.
    corners, way = np.array([(0, 0), (0.08, 0), (0, 0.03)]), np.linspace(0, 0.02, 60)
    poses = np.stack([way, 0.3 * way, np.linspace(0.3, 0.5, 60)], axis=1)
    own = corners[1:].mean(axis=0)
    tip = np.array([p[:2] + turn(p[2]) @ own for p in poses])
    with pytest.raises(st.StatementError, match="poses and tip are mirrored"):
        st.Push.from_track(poses * [1, -1, -1], tip * [1, -1], outline=corners)


def test_a_finger_whose_radius_was_forgotten_is_named():
    way = np.linspace(0, 0.02, 60)
    poses = np.stack([way, 0.3 * way, np.linspace(0.3, 0.5, 60)], axis=1)
    tip = np.array([p[:2] + turn(p[2]) @ (-0.067, 0.01) for p in poses])
    with pytest.raises(st.StatementError, match=r"radius of 0.007: give radius="):
        st.Push.from_track(poses, tip, outline=OUTLINE)
    assert len(st.Push.from_track(poses, tip, outline=OUTLINE, radius=0.007))


def test_wild_readings_are_left_out_without_cutting_a_track(tracks):
    poses, tip = tracks[1]
    rng = np.random.default_rng(5)
    plain = st.Push.from_track(poses, tip, outline=OUTLINE)
    poses, tip = poses.copy(), tip.copy()
    wild = rng.choice(len(poses) // 3 - 1, 6, replace=False) * 3 + 1
    poses[wild[:4], :2] += rng.uniform(0.02, 0.3, (4, 2))
    tip[wild[4:]] -= 0.1
    pushes = st.Push.from_track(poses, tip, outline=OUTLINE)
    assert "6 readings off those beside them" in pushes.told and "jump" not in pushes.told
    assert len(pushes) == len(plain)
    for p, q in zip(pushes, plain):
        np.testing.assert_allclose(p.twist, q.twist, atol=0.1 * np.abs(q.twist).max())


@pytest.mark.parametrize(("late", "named"), [(0, False), (12, True), (-12, True)])
def test_a_part_that_moves_without_a_force_is_told(tracks, late, named):
    poses, tip = tracks[1]
    moves = np.linalg.norm(np.gradient(poses, axis=0), axis=1) > 0
    rng = np.random.default_rng(7)
    force = np.outer(np.roll(moves, late), (0.6, 0.8)) + 0.02 * rng.normal(size=(len(poses), 2))
    pushes = st.Push.from_track(poses, tip, outline=OUTLINE, force=force)
    assert ("check its clock" in pushes.told) == named
    # Forces of other instants say nothing about these motions.
    assert all(p.force is None if named else abs(np.hypot(*p.force) - 1) < 0.05 for p in pushes)


def test_readings_on_clocks_of_their_own_are_brought_together(tracks):
    # The part at 100 readings a second, the tip at 130 and a little later; readings come twice,
    # and late.
    poses, tip = tracks[1]
    when = 0.01 * np.arange(len(poses))
    other = np.linspace(0.003, when[-1], int(1.3 * len(poses)))
    seen = np.column_stack([other, *(np.interp(other, when, x) for x in tip.T)])
    both = np.column_stack([when, poses])
    plain = st.Push.from_track(poses, tip, outline=OUTLINE)
    timed = st.Push.from_track(np.vstack([both, both[::-7]]), seen, outline=OUTLINE)
    assert len(timed) == len(plain)
    for a, b in zip(plain, timed):
        np.testing.assert_allclose(a.twist, b.twist, rtol=0, atol=1e-4 * np.abs(a.twist).max())
        np.testing.assert_allclose(a.finger, b.finger, rtol=0, atol=0.02 * np.hypot(*a.finger))


def test_rests_before_and_after_do_not_count(tracks):
    # Ten times as long a rest leaves every push where it was, noise and all.
    rng = np.random.default_rng(1)
    poses, tip = tracks[3]
    poses = poses + 5e-5 * rng.normal(size=poses.shape)
    still = np.repeat(poses[:1], 200, axis=0) + 5e-5 * rng.normal(size=(200, 3))
    ended = np.repeat(poses[-1:], 200, axis=0) + 5e-5 * rng.normal(size=(200, 3))
    longer = np.vstack([still, poses, ended])
    away = np.vstack([np.repeat(tip[:1], 200, 0), tip, np.repeat(tip[-1:], 200, 0)])
    short, long = (st.Push.from_track(a, b, outline=OUTLINE)
                   for a, b in ((poses, tip), (longer, away)))  # fmt: skip
    assert abs(len(short) - len(long)) <= 1
    for pushes in (short, long):
        speeds = [np.linalg.norm(p.twist * [1, 1, 0.07]) for p in pushes]
        assert min(speeds) > 0.4 * max(speeds)
    ways = [np.sum([p.twist for p in pushes], axis=0) for pushes in (short, long)]
    np.testing.assert_allclose(ways[0][2], ways[1][2], atol=0.02)


def test_a_tip_that_is_off_on_the_table_widens_what_it_leans(tracks):
    # It slides along most edges like that: gaps show a fifth of it.
    way = (0, 2e-3)
    rng, part, pushes = np.random.default_rng(5), st.slider(points=FEET, weight=1.0), []
    for k, (poses, tip) in enumerate(tracks):
        poses = poses + rng.normal(size=poses.shape) * [1e-4, 1e-4, np.radians(0.1)]
        poses = np.column_stack([poses[:, :2] @ turn(np.pi * k).T, poses[:, 2] + np.pi * k])
        pushes += st.Push.from_track(poses, tip @ turn(np.pi * k).T + way, outline=OUTLINE)
    low, high = st.fit_pressure(part, pushes=pushes, friction=0.0).intervals.T
    assert np.all((low <= LOADS) & (LOADS <= high)) and np.max(high - low) < 0.5


def marked(poses, at):
    """Poses of another point of the part."""
    return np.array([[*(p[:2] + turn(p[2]) @ at), p[2]] for p in poses])


ASIDE = {
    r"the tip is shifted by \(-0.002,": lambda p, t: (p, t + [0.002, 0]),
    r"feet and outline are shifted by \(-0.003, ": lambda p, t: (marked(p, [0.003, 0]), t),
    "feet and outline are turned by -3°": lambda p, t: (p + [0, 0, np.radians(3)], t),
    "radius= of the finger is larger by 0.001": lambda p, t: (
        p[8:], t[:-8] if len(t) == len(p) else t),
}  # fmt: skip


@pytest.mark.parametrize(
    "words", [*[*ASIDE][:1], *(pytest.param(w, marks=pytest.mark.slow) for w in [*ASIDE][1:])]
)
def test_frames_and_clocks_that_are_off_show_beside_the_outline(tracks, words):
    rng, part = np.random.default_rng(5), st.slider(points=FEET, weight=1.0)
    right, wrong = [], []
    for poses, tip in tracks:
        poses = poses + rng.normal(size=poses.shape) * [1e-4, 1e-4, np.radians(0.1)]
        right += st.Push.from_track(poses, tip, outline=OUTLINE)
        wrong += st.Push.from_track(*ASIDE[words](poses, tip), outline=OUTLINE)
    plain, off = (st.fit_pressure(part, pushes=p[::4], friction=0.0) for p in (right, wrong))
    assert "off the outline" not in plain.status.message
    assert re.search("and touches it if " + words, off.status.message), off.status.message
    # What may be off along the outline is part of the intervals, too.
    (low, high), wide = off.intervals.T, np.ptp(plain.intervals, axis=1)
    assert np.all((low <= LOADS) & (LOADS <= high)) and np.sum(high - low) > 1.2 * np.sum(wide)


def test_few_readings_make_longer_pushes_or_say_what_is_missing(tracks):
    poses, tip = tracks[0]
    slow = st.Push.from_track(poses[::10], tip[::10], outline=OUTLINE)
    assert len(slow) >= 2 and all(p.twist[2] * slow[0].twist[2] > 0 for p in slow)
    with pytest.raises(st.StatementError, match="Record more readings a second") as error:
        st.Push.from_track(poses[::40], tip[::40], outline=OUTLINE)
    assert str(error.value).count("\n") == 2


@pytest.mark.parametrize("unit", [1e-3, 1.0])
def test_what_changes_along_a_push_does_not_lean_it(unit):
    # A finger that slides faster and faster along an edge, of a part that turns by the place of the
    # finger: each push has the turn that belongs to its place, up to what is left of second order.
    t, dt = np.linspace(0, 1, 2001, retstep=True)
    rng, worst = np.random.default_rng(3), 0.0
    for _ in range(4):
        first, speed, faster, slope = rng.uniform([-0.04, -0.01, 0.04, 20], [0, 0.0, 0.05, 30])
        place = first + speed * t + faster * t**2
        turn = slope * (first * t + speed * t**2 / 2 + faster * t**3 / 3)
        way = 0.06 * np.stack([-np.sin(0.06 * turn), np.cos(0.06 * turn)], axis=1)
        middle = np.cumsum(np.vstack([[0, 0], (way[1:] + way[:-1]) / 2 * dt]), axis=0)
        poses = np.column_stack([unit * middle, 0.06 * turn])
        c, s = np.cos(poses[:, 2]), np.sin(poses[:, 2])
        tip = middle + np.stack([c * place + s * 0.03, s * place - c * 0.03], axis=1)
        box = unit * np.array([(-0.05, -0.03), (0.05, -0.03), (0.05, 0.03), (-0.05, 0.03)])
        pushes = st.Push.from_track(poses[::10], unit * tip[::10], outline=box)
        assert len(pushes) > 4
        for push in pushes:
            across, _, turned = push.twist / push.twist[1] * [1, 1, 0.05 * unit]
            worst = max(worst, abs(across), abs(turned - 0.05 * slope * push.point[0] / unit))
    assert worst < 1e-5
