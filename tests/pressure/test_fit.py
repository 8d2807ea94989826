"""Loads weighed by pushing: exact without noise, honest with it."""

import pickle
from typing import Any, cast

import numpy as np
import pytest

import stationary as st
from stationary.result.least_power import motions

NOISE = np.array([1e-4, 1e-4, np.radians(0.1)])  # 0.1 mm and 0.1°


def measured(rng, feet, loads, count, far=0.01, mu=0.0):
    """Motions of a part with known loads, pushed at random around it; the finger slides."""
    out, size = [], np.array([1, 1, 0.05])
    for _ in range(count):
        angle = rng.uniform(0, 2 * np.pi)
        normal = np.array([np.cos(angle), np.sin(angle)])
        along = np.array([normal[1], -normal[0]])
        point = -0.06 * normal + rng.uniform(-0.04, 0.04) * along
        side = rng.choice([-1, 1]) if mu else 0
        way = normal + mu * side * along
        C = np.array([*way, point[0] * way[1] - point[1] * way[0]]) / size
        free = np.linalg.svd(C[None])[2][1:].T
        z, _ = motions(feet / 0.05, loads, (C / (C @ C))[None], free[None])
        twist = (C / (C @ C) + free @ z[0]) / np.array([1, 1, 0.05])
        contact = twist[:2] + twist[2] * np.array([-point[1], point[0]])
        twist = far * twist / (normal @ contact)
        contact = far * contact / (normal @ contact)
        given = {"point": point, "normal": normal, "motion": twist}
        if mu:
            given["finger"] = contact + side * 0.4 * far * along
        out.append(given)
    return out


def noisy(pushes, rng):
    return [{**p, "motion": p["motion"] + NOISE * rng.normal(size=3)} for p in pushes]


@pytest.mark.parametrize("count", [3, 4, 6])
def test_loads_come_back_exactly_without_noise(count):
    rng = np.random.default_rng(count)
    feet, loads = rng.uniform(-0.05, 0.05, (count, 2)), rng.uniform(0.2, 1, count)
    pushes = measured(rng, feet, loads, 12)
    fit = st.fit_pressure(st.slider(points=feet, weight=loads.sum()), pushes=pushes)
    np.testing.assert_allclose(fit.weights, loads, rtol=0, atol=1e-8 * loads.sum())
    assert fit.status == "fitted" and fit.identifiable.all() and bool(fit.identifiable)
    assert pickle.loads(pickle.dumps(fit)) == fit


@pytest.mark.parametrize("speed", [1e250, 1e-250])
def test_a_push_has_no_clock(speed):
    rng = np.random.default_rng(3)
    feet, loads = rng.uniform(-0.05, 0.05, (3, 2)), np.array([0.2, 0.3, 0.5])
    pushes = [{**p, "motion": speed * p["motion"]} for p in measured(rng, feet, loads, 6)]
    fit = st.fit_pressure(st.slider(points=feet, weight=1.0), pushes=pushes)
    np.testing.assert_allclose(fit.weights, loads, atol=1e-8)


@pytest.mark.one_in(2)
@pytest.mark.parametrize("noise", [None, (1e-4, 1e-3)])
@pytest.mark.parametrize("other", [1.0, 1e300, 1e-300])
def test_motions_of_any_size_are_answered_or_refused_in_words(noise, other):
    # Errors far below the rounding of a motion, and motions far below the longest.
    feet = [(0.04, 0.02), (-0.04, 0.02), (-0.04, -0.02)]
    pushes = [
        {"point": (0.02, -0.03), "normal": (0, 1), "motion": (0, 1e300, 0)},
        {"point": (0.01, -0.03), "normal": (0, 1), "motion": (0, other, other)},
    ]
    try:
        fit = st.fit_pressure(st.slider(points=feet, weight=1.0), pushes=pushes, noise=noise)
        assert np.all(np.isfinite(fit.weights)) and fit.weights.sum() == pytest.approx(1.0)
    except st.StatementError as error:
        assert str(error).count("\n") == 2


def test_the_friction_of_the_finger_comes_from_the_same_pushes():
    rng = np.random.default_rng(8)
    feet, loads = rng.uniform(-0.05, 0.05, (4, 2)), np.array([0.1, 0.2, 0.3, 0.4])
    pushes = measured(rng, feet, loads, 14, mu=0.25)
    fit = st.fit_pressure(st.slider(points=feet, weight=1.0), pushes=pushes)
    np.testing.assert_allclose(fit.weights, loads, rtol=0, atol=1e-7)
    assert fit.finger == pytest.approx(0.25, abs=1e-6)


def test_the_centre_is_as_well_known_as_the_loads_whatever_the_finger():
    # Σ w x / Σ w by the law of the propagation of errors, from the covariance of the loads.
    rng = np.random.default_rng(18)
    feet, loads = rng.uniform(-0.05, 0.05, (4, 2)), np.array([0.1, 0.2, 0.3, 0.4])
    for mu in (0.0, 0.25):
        pushes = noisy(measured(rng, feet, loads, 14, mu=mu), rng)
        fit = st.fit_pressure(
            st.slider(points=feet, weight=1.0), pushes=pushes, noise=(NOISE[0], NOISE[2])
        )
        slope = (feet - fit.centre) / fit.weights.sum()
        error = np.sqrt(np.diag(slope.T @ fit.covariance[:4, :4] @ slope))
        half = np.diff(fit.centre_interval, axis=1)[:, 0] / 2
        np.testing.assert_allclose(half, 1.96 * error, rtol=1e-3)


def test_a_force_sensor_weighs_the_whole_part():
    rng = np.random.default_rng(9)
    feet, loads = rng.uniform(-0.05, 0.05, (4, 2)), np.array([1.0, 2.0, 3.0, 4.0])
    pushes = measured(rng, feet, loads, 10)
    for p in pushes:
        v = p["motion"][:2] + p["motion"][2] * np.stack([-feet[:, 1], feet[:, 0]], axis=1)
        q = p["motion"][:2] + p["motion"][2] * np.array([-p["point"][1], p["point"][0]])
        p["force"] = float(loads @ np.hypot(*v.T) / (q @ p["normal"]))
    fit = st.fit_pressure(st.slider(points=feet, weight=1.0), pushes=pushes)
    np.testing.assert_allclose(fit.weights, loads, rtol=1e-7)


def test_what_one_push_does_not_tell_of_four_feet_is_named():
    rng = np.random.default_rng(3)
    feet = np.array([(0.05, 0.03), (-0.05, 0.03), (-0.05, -0.03), (0.05, -0.03)])
    loads = np.array([0.1, 0.2, 0.3, 0.4])
    pushes = measured(rng, feet, loads, 1)
    fit = st.fit_pressure(st.slider(points=feet, weight=1.0), pushes=pushes)
    assert fit.status == "undetermined" and not fit.identifiable
    # A change of the loads along what is named leaves the motion alone.
    (way,) = fit.identifiable.directions
    assert abs(way.sum()) < 1e-9 * np.abs(way).max()
    step = 0.02 * way / np.abs(way).max()
    p = pushes[0]
    C = np.array([*p["normal"], p["point"][0] * p["normal"][1] - p["point"][1] * p["normal"][0]])
    C = C / [1, 1, 0.05]
    free = np.linalg.svd(C[None])[2][1:].T

    def twist(w):
        z, _ = motions(feet / 0.05, w, (C / (C @ C))[None], free[None])
        return C / (C @ C) + free @ z[0]

    other = rng.normal(size=4)
    other = 0.02 * (other - other.mean()) / np.abs(other).max()
    base = twist(fit.weights)
    assert (
        np.abs(twist(fit.weights + step) - base).max()
        < 0.1 * np.abs(twist(fit.weights + other) - base).max()
    )
    # The push that is advised tells it.
    assert fit.next is not None
    both = [*pushes, *measured(rng, feet, loads, 1)]
    both[1] = {**both[1], "point": fit.next.point, "normal": fit.next.normal}
    assert np.isfinite(fit.next.motion).all()


def coverage(trials, seed, count):
    rng = np.random.default_rng(seed)
    feet = np.array([(0.05, 0.03), (-0.05, 0.03), (-0.05, -0.03), (0.05, -0.03), (0, 0.045),
                     (0.02, 0)])[:count]  # fmt: skip
    loads = rng.uniform(0.3, 1, count)
    pushes = measured(rng, feet, loads, 12)
    inside = []
    for _ in range(trials):
        fit = st.fit_pressure(
            st.slider(points=feet, weight=loads.sum()), pushes=noisy(pushes, rng),
            noise=(NOISE[0], NOISE[2]),
        )  # fmt: skip
        inside.append((fit.intervals[:, 0] <= loads) & (loads <= fit.intervals[:, 1]))
    return float(np.mean(inside))


def test_intervals_hold_what_they_say_in_a_few_trials():
    assert coverage(4, 0, 3) > 0.7


@pytest.mark.slow
@pytest.mark.parametrize("count", [3, 6])
def test_intervals_hold_ninety_five_of_a_hundred(count):
    # Chance moves the share of 60 trials by 0.028, feet of one trial together.
    assert abs(coverage(60, count, count) - 0.95) < 0.056


def test_poses_at_both_ends_of_a_short_push_are_a_motion():
    push = st.Push(point=(0, 0), normal=(0, 1), before=(1, 2, 0.3), after=(1.01, 2.03, 0.34))
    # A rotation about a fixed point of the table, seen from the part.
    assert push.twist[2] == pytest.approx(0.04)
    c, s = np.cos(0.32), np.sin(0.32)
    chord = np.hypot(0.01, 0.03)
    assert np.hypot(*push.twist[:2]) == pytest.approx(chord * 0.02 / np.sin(0.02), rel=1e-12)
    assert push.twist[0] / push.twist[1] == pytest.approx(
        (c * 0.01 + s * 0.03) / (c * 0.03 - s * 0.01)
    )


@pytest.mark.slow
def test_a_smooth_pressure_over_an_outline_is_found_roughly():
    # Pressure grows along x: its resultant is found, without being told.
    outline = [(-0.05, -0.03), (0.05, -0.03), (0.05, 0.03), (-0.05, 0.03)]
    known = st.limit_surface(
        st.slider(outline=outline, pressure=lambda x, y: 1 + 10 * x, count=160)
    )
    rng = np.random.default_rng(2)
    pushes = measured(rng, known.points, known.weights, 20)
    fit = st.fit_pressure(st.slider(outline=outline, weight=1.0), pushes=pushes)
    exact = known.weights @ known.points / known.weights.sum()
    np.testing.assert_allclose(fit.weights @ fit.points / fit.weights.sum(), exact, atol=2e-3)
    assert fit.weights.min() >= 0 and fit.weights.sum() == pytest.approx(1.0)


AREAS = [
    [(-0.05, -0.03), (0.05, -0.03), (0.05, 0.03), (-0.05, 0.03)],
    [(-0.05, -0.04), (0.06, -0.03), (0, 0.05)],
    [(-0.05, -0.05), (0.05, -0.05), (0.05, 0), (0, 0), (0, 0.05), (-0.05, 0.05)],
]


def smooth_trial(rng, outline, count):
    """Which share of a random smooth pressure is in its intervals, and of its centre."""
    a = rng.normal(size=5)

    def pressure(x, y):
        x, y = x / 0.05, y / 0.05
        return np.exp(
            0.8 * (a[0] * x + a[1] * y) + 0.5 * (a[2] * x**2 + a[3] * x * y + a[4] * y**2)
        )

    known = st.limit_surface(st.slider(outline=outline, pressure=pressure, count=900), count=8)
    pushes = noisy(measured(rng, known.points, known.weights / known.weights.sum(), count), rng)
    part = st.slider(outline=outline, weight=1.0)
    fit = st.fit_pressure(part, pushes=pushes, noise=(NOISE[0], NOISE[2]))
    # The same cells under an even pressure.
    cells = st.limit_surface(st.slider(outline=outline, count=480), count=8)
    np.testing.assert_allclose(cells.points, fit.points)
    true = cells.weights * pressure(*cells.points.T)
    low, high = fit.intervals.T / (true / true.sum())
    centre = known.weights @ known.points / known.weights.sum()
    first, last = fit.centre_interval.T
    return np.mean((low <= 1) & (high >= 1)), np.mean((first <= centre) & (centre <= last))


NOTCHED = [(-0.05, -0.04), (0.05, -0.04), (0.05, 0.04), (0.035, 0.04), (0.035, -0.02),
           (-0.035, -0.02), (-0.035, 0.04), (-0.05, 0.04)]  # fmt: skip


@pytest.mark.slow
def test_the_centre_of_a_part_that_lifts_off_is_off_by_less_than_its_error():
    # Pressure that is linear where the part touches bends along one line: smoothing takes it away.
    part, rng = st.slider(outline=NOTCHED, weight=1.0), np.random.default_rng(0)
    off = []
    for turn in (-0.8, 2.6, 4.1):

        def pressure(x, y, turn=turn):
            return np.maximum(1 + 32 * (np.cos(turn) * x + np.sin(turn) * y), 0.0)

        lifted = st.slider(outline=NOTCHED, pressure=pressure, count=900)
        known = st.limit_surface(lifted, count=8)
        pushes = measured(rng, known.points, known.weights / known.weights.sum(), 24)
        fit = st.fit_pressure(part, pushes=pushes, noise=(NOISE[0], NOISE[2]))
        centre = known.weights @ known.points / known.weights.sum()
        error = np.diff(fit.centre_interval, axis=1)[:, 0] / (2 * 1.96)
        off.append((fit.centre - centre) / error)
    # Motions without noise: all that it is off was smoothed away.
    assert np.abs(off).max() < 1


@pytest.mark.slow
def test_intervals_of_a_smooth_pressure_hold_what_it_smooths_away():
    rng = np.random.default_rng(0)
    trials = [smooth_trial(rng, AREAS[k % 3], 24) for k in range(6)]
    shares, centres = np.array(trials, dtype=float).T
    assert shares.mean() > 0.9 and centres.mean() > 0.75


def test_contradictory_and_bad_pushes_are_refused_in_three_parts():
    feet = [(0.05, 0.03), (-0.05, 0.03), (0, -0.03)]
    part = st.slider(points=feet, weight=1.0)
    up = {"point": (0.02, -0.05), "normal": (0, 1)}
    good = {**up, "motion": (0.0, 0.01, 0.1)}
    cases = [
        (lambda: st.fit_pressure(part, pushes=[]), "there is no push"),
        (lambda: st.fit_pressure(part, pushes=cast(Any, [3])), "push 0 is none"),
        (lambda: st.fit_pressure(part, pushes=[{**up, "motion": (0, -1, 0)}]), "contradicts its"),
        (lambda: st.fit_pressure(part, pushes=[good, {**up, "motion": (0.03, 0.01, -0.4)}]),
         "contradict each other"),
        (lambda: st.fit_pressure(part, pushes=[good], noise=(0, 1)), "two positive numbers"),
        (lambda: st.Push(point=(0, 0), normal=(0, 1)), "no motion, or two"),
        (lambda: st.Push(point=(0, 0), normal=(0, 0), motion=(0, 1, 0)), "no direction"),
        (lambda: st.Push(point=(0,), normal=(0, 1), motion=(0, 1, 0)), "the point of a push"),
        (lambda: st.fit_pressure(part, pushes=[{"normal": (0, 1), "motion": (0, 1, 0)}]),
         "the point of a push is not a pair"),
        (lambda: st.fit_pressure(part, pushes=cast(Any, st.Push(**good))), "are not a list"),
        (lambda: st.fit_pressure(part, pushes=[good], friction=-0.1), "no coefficient"),
        (lambda: st.fit_pressure(part, pushes=[good], friction=np.nan), "no coefficient"),
        (lambda: st.fit_pressure(st.slider(points=feet[:1], weight=1.0), pushes=[good]),
         "nothing to weigh"),
    ]  # fmt: skip
    for ask, message in cases:
        with pytest.raises(st.StatementError, match=message) as error:
            ask()
        assert str(error.value).count("\n") == 2


@pytest.mark.slow
@pytest.mark.parametrize("share", [0.2, 0.35, 0.5])
def test_many_forces_that_are_lost_are_left_out_or_told(share):
    # Up to a quarter of the pushes are mistakes; more of them contradict the others.
    rng = np.random.default_rng(9)
    feet, loads = rng.uniform(-0.05, 0.05, (4, 2)), np.array([0.1, 0.2, 0.3, 0.4])
    pushes = measured(rng, feet, loads, 20)
    for k, p in enumerate(pushes):
        v = p["motion"][:2] + p["motion"][2] * np.stack([-feet[:, 1], feet[:, 0]], axis=1)
        q = p["motion"][:2] + p["motion"][2] * np.array([-p["point"][1], p["point"][0]])
        p["force"] = float(loads @ np.hypot(*v.T) / (q @ p["normal"])) + 1e-3 * rng.normal()
        p["force"] *= rng.uniform(0.75, 0.9) if k < share * len(pushes) else 1.0
    try:
        fit = st.fit_pressure(
            st.slider(points=feet, weight=1.0), pushes=noisy(pushes, rng), noise=(*NOISE[1:], 0.001)
        )
        assert share > 0.25 or set(fit.left_out) == set(range(4))
        assert share < 0.25 or fit.status == "scatters"
    except st.StatementError as error:
        assert share > 0.25 and str(error).count("\n") == 2


MEANT = {
    "given in degrees": lambda p: {"motion": p["motion"] * [1, 1, 180 / np.pi]},
    "count clockwise": lambda p: {"motion": p["motion"] * [1, 1, -1]},
    "normals point out": lambda p: {"normal": -p["normal"]},
    "points are in another unit": lambda p: {"point": 1e3 * p["point"]},
    "motions are in another unit": lambda p: {"motion": p["motion"] * [1e3, 1e3, 1]},
    "the forces have the other sign": lambda p: {"force": -1.0},
}


@pytest.mark.one_in(2)
@pytest.mark.parametrize(
    ("words", "noise"),
    [
        ("given in degrees", None),
        ("points are in another unit", None),
        ("normals point out", (NOISE[0], NOISE[2])),
        ("the forces have the other sign", None),
        *(pytest.param(w, (NOISE[0], NOISE[2]), marks=pytest.mark.slow) for w in MEANT),
    ],
)
def test_what_pushes_were_meant_to_be_is_named(words, noise):
    rng = np.random.default_rng(3)
    feet = np.array([(0.05, 0.03), (-0.05, 0.03), (-0.05, -0.03), (0.05, -0.03)])
    pushes = noisy(measured(rng, feet, np.array([0.1, 0.2, 0.3, 0.4]), 14), rng)
    wrong = [{**p, **MEANT[words](p)} for p in pushes]
    with pytest.raises(st.StatementError, match=words) as error:
        st.fit_pressure(st.slider(points=feet, weight=1.0), pushes=wrong, noise=noise)
    assert str(error.value).count("\n") == 2
