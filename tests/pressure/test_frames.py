"""Pushes beside what else is stated: the centre, the outline, frames, units, and the next push."""

import re

import numpy as np
import pytest

import stationary as st
from stationary.result.least_power import motions
from tests.pressure.test_fit import NOISE, measured, noisy

FEET = np.array([(0.05, 0.03), (-0.05, 0.03), (-0.05, -0.03), (0.04, -0.03)])
LOADS = np.array([0.1, 0.2, 0.3, 0.4])
ERRORS = (NOISE[0], NOISE[2])
SLOW = pytest.mark.slow


def rotation(angle):
    return np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])


@pytest.mark.parametrize("count", [pytest.param(3, marks=SLOW), 4, pytest.param(6, marks=SLOW)])
def test_loads_keep_to_a_stated_centre(count):
    rng = np.random.default_rng(count)
    feet, loads = rng.uniform(-0.05, 0.05, (count, 2)), rng.uniform(0.2, 1, count)
    centre = loads @ feet / loads.sum()
    part = st.slider(points=feet, weight=loads.sum(), centre=centre)
    pushes = measured(rng, feet, loads, 8)
    exact = st.fit_pressure(part, pushes=pushes)
    np.testing.assert_allclose(exact.weights, loads, rtol=0, atol=1e-8 * loads.sum())
    # One push and the centre tell two numbers more than the push alone: all of four feet.
    few = st.fit_pressure(part, pushes=pushes[:1])
    assert bool(few.identifiable) == (count < 6)
    np.testing.assert_allclose(few.weights @ feet / loads.sum(), centre, atol=1e-12)
    read = st.fit_pressure(part, pushes=noisy(pushes, rng), noise=ERRORS)
    np.testing.assert_allclose(read.weights @ feet / loads.sum(), centre, atol=1e-12)
    assert np.all(read.centre == centre) and np.ptp(read.centre_interval, axis=1).max() == 0
    assert np.abs(read.weights - loads).max() < 0.05 * loads.sum()
    assert len(read.covariance) == count and np.abs(read.covariance @ feet).max() < 1e-12


@pytest.mark.parametrize("noise", [None, ERRORS])
def test_pushes_that_contradict_a_stated_centre_are_refused(noise):
    rng = np.random.default_rng(1)
    pushes = noisy(measured(rng, FEET, LOADS, 12), rng)
    centre = LOADS @ FEET + np.array([0.003, 0])
    with pytest.raises(st.StatementError, match="contradict the stated centre") as error:
        st.fit_pressure(
            st.slider(points=FEET, weight=1.0, centre=centre), pushes=pushes, noise=noise
        )
    assert str(error.value).count("\n") == 2


@pytest.mark.one_in(2)
@pytest.mark.parametrize("signs", [(1, -1), (-1, 1)])
@pytest.mark.parametrize("loads", [LOADS, np.array([0.2, 0.3, 0.4, 0.1])])
def test_mirrored_records_of_symmetric_parts_contradict_a_centre_by_their_name(signs, loads):
    # A box is its own mirror image about both axes. With a centre on one of them a turn by half a
    # circle does as well; with another it does not.
    box = np.array([(0.05, 0.03), (-0.05, 0.03), (-0.05, -0.03), (0.05, -0.03)])
    rng = np.random.default_rng(4)
    pushes = noisy(measured(rng, box, loads, 16), rng)
    other = [{**p, "point": p["point"] * signs, "normal": p["normal"] * signs,
              "motion": p["motion"] * [*signs, -1]} for p in pushes]  # fmt: skip
    part = st.slider(points=box, weight=1.0, centre=loads @ box)
    assert st.fit_pressure(part, pushes=pushes, noise=ERRORS).status == "fitted"
    if np.allclose(loads @ box, loads @ box * signs):
        return
    with pytest.raises(st.StatementError, match="contradict the stated centre") as error:
        st.fit_pressure(part, pushes=other, noise=ERRORS)
    axis = "x" if signs[0] < 0 else "y"
    assert f"mirrored: change the sign of {axis}" in str(error.value)
    assert "shifted" not in str(error.value)


TURN = rotation(np.radians(5))
OFF = {
    "the motions are turned by -[45]": lambda p: {
        "motion": np.append(TURN @ p["motion"][:2], p["motion"][2])},
    "points, normals and motions are turned by -[3456]": lambda p: {
        "point": TURN @ p["point"], "normal": TURN @ p["normal"],
        "motion": np.append(TURN @ p["motion"][:2], p["motion"][2])},
    "the normals are turned by -[45]": lambda p: {"normal": TURN @ p["normal"]},
    "motions are multiplied by 0.9": lambda p: {"motion": p["motion"] * [1.08, 1.08, 1]},
    "those of the point .0.00[456]": lambda p: {
        "motion": p["motion"] + p["motion"][2] * np.array([0, 0.005, 0])},
}  # fmt: skip


@pytest.mark.one_in(3)
@pytest.mark.parametrize(
    ("feet", "words"),
    [
        ([(0.05, 0.03), (-0.05, 0.03), (-0.05, -0.03), (0.05, -0.03)],
         ["mirrored (y", "mirrored (x", "turned by 180°"]),
        ([(0.05, 0.03), (-0.04, 0.02), (-0.04, -0.02), (0.05, -0.03)], ["mirrored (y"]),
        ([(0.05, 0.03), (-0.04, 0.02), (-0.05, -0.02), (0.05, -0.04)], []),
    ],
)  # fmt: skip
def test_what_a_symmetric_part_cannot_tell_is_said(feet, words):
    # A record that is seen like that fits exactly as well, with the loads of the images.
    rng, feet = np.random.default_rng(3), np.array(feet)
    pushes = noisy(measured(rng, feet, LOADS, 12), rng)
    part = st.slider(points=feet, weight=1.0)
    fit = st.fit_pressure(part, pushes=pushes, noise=ERRORS)
    assert [w for w in ("mirrored (y", "mirrored (x", "turned by 180°") if w in fit.untold] == words
    assert bool(fit.untold) == bool(words) == ("not told" in str(fit))
    signs = {"mirrored (y": (1, -1), "mirrored (x": (-1, 1), "turned by 180°": (-1, -1)}
    for way in map(signs.__getitem__, words[:2]):
        seen = [{"point": p["point"] * way, "normal": p["normal"] * way,
                 "motion": p["motion"] * [*way, way[0] * way[1]]} for p in pushes]  # fmt: skip
        other = st.fit_pressure(part, pushes=seen, noise=ERRORS)
        assert other.scatter == pytest.approx(fit.scatter, rel=1e-6)
        image = np.hypot(*(feet[:, None] * way - feet[None]).transpose(2, 0, 1)).argmin(axis=1)
        np.testing.assert_allclose(other.weights[image], fit.weights, atol=1e-6)
    if words:
        told = st.slider(points=feet, weight=1.0, centre=tuple(fit.centre))
        assert not st.fit_pressure(told, pushes=pushes, noise=ERRORS).untold


@pytest.mark.parametrize(
    "words", [next(iter(OFF)), *(pytest.param(w, marks=SLOW) for w in [*OFF][1:])]
)
def test_frames_that_are_off_are_told(words):
    rng = np.random.default_rng(11)
    pushes = noisy(measured(rng, FEET, LOADS, 24), rng)
    part = st.slider(points=FEET, weight=1.0)
    right = st.fit_pressure(part, pushes=pushes, noise=ERRORS)
    off = st.fit_pressure(part, pushes=[{**p, **OFF[words](p)} for p in pushes], noise=ERRORS)
    assert "agree" not in right.status.message
    assert re.search("they agree better if .*" + words, off.status.message)


@pytest.mark.slow
def test_pushes_of_an_outline_are_held_beside_it():
    box = [(-0.05, -0.03), (0.05, -0.03), (0.05, 0.03), (-0.05, 0.03)]
    even = st.limit_surface(st.slider(outline=box, count=100), count=8)
    pushes = []
    for point, normal in [((0.02, -0.03), (0, 1)), ((-0.03, -0.03), (0, 1)),
                          ((0.05, 0.01), (-1, 0)), ((0.01, 0.03), (0, -1)),
                          ((-0.05, -0.01), (1, 0)), ((-0.02, 0.03), (0, -1))]:  # fmt: skip
        C = np.array([*normal, (point[0] * normal[1] - point[1] * normal[0]) / 0.05])
        free = np.linalg.svd(C[None])[2][1:].T
        z, _ = motions(even.points / 0.05, even.weights, (C / (C @ C))[None], free[None])
        twist = (C / (C @ C) + free @ z[0]) / [1, 1, 0.05]
        pushes.append({"point": point, "normal": normal, "motion": 0.01 * twist})
    part = st.slider(outline=box, weight=1.0)
    assert "outline" not in st.fit_pressure(part, pushes=pushes).status.message
    pushes[1]["point"] = (-0.03, -0.027)
    pushes[2]["normal"] = (-1, 0.1)
    said = st.fit_pressure(part, pushes=pushes).status.message
    assert "push 1 touches up to 0.003 beside the outline" in said
    assert "the normal of push 2 is -5.7° off that of the outline" in said


def test_forces_and_lengths_in_other_units_give_the_same_loads():
    rng = np.random.default_rng(9)
    pushes = noisy(measured(rng, FEET, 10 * LOADS, 9), rng)
    for p in pushes:
        v = p["motion"][:2] + p["motion"][2] * np.stack([-FEET[:, 1], FEET[:, 0]], axis=1)
        q = p["motion"][:2] + p["motion"][2] * np.array([-p["point"][1], p["point"][0]])
        p["force"] = float(10 * LOADS @ np.hypot(*v.T) / (q @ p["normal"])) + 0.1 * rng.normal()
    part = st.slider(points=FEET, weight=10.0)
    plain = st.fit_pressure(part, pushes=pushes, noise=(*ERRORS, 0.1))
    for length, force in ((1e3, 102.0), (1e-12, 1e-6)):
        other = [{**p, "point": length * p["point"], "force": force * p["force"],
                  "motion": p["motion"] * [length, length, 1]} for p in pushes]  # fmt: skip
        fit = st.fit_pressure(
            st.slider(points=length * FEET, weight=10 * force), pushes=other,
            noise=(length * ERRORS[0], ERRORS[1], force * 0.1),
        )  # fmt: skip
        np.testing.assert_allclose(fit.weights / force, plain.weights, rtol=1e-9)
        np.testing.assert_allclose(fit.intervals / force, plain.intervals, rtol=1e-5, atol=1e-9)
        np.testing.assert_allclose(fit.centre_interval / length, plain.centre_interval, rtol=1e-7)
        assert (fit.status, fit.status.message) == (plain.status, plain.status.message)


def felt(pushes, loads):
    """Both components of the force of a smooth finger, from the power of friction."""
    for p in pushes:
        v = p["motion"][:2] + p["motion"][2] * np.stack([-FEET[:, 1], FEET[:, 0]], axis=1)
        q = p["motion"][:2] + p["motion"][2] * np.array([-p["point"][1], p["point"][0]])
        p["force"] = loads @ np.hypot(*v.T) / (q @ p["normal"]) * p["normal"]
    return pushes


@SLOW
@pytest.mark.parametrize("unit", [1.0, 1e-6])
def test_sensors_that_are_off_are_told(unit):
    rng = np.random.default_rng(2)
    pushes = noisy(felt(measured(rng, FEET, LOADS, 16), unit * LOADS), rng)

    def said(change, weight=1.0):
        other = [{**p, "force": change(p["force"]) + unit * 0.01 * rng.normal(size=2)}
                 for p in pushes]  # fmt: skip
        part = st.slider(points=FEET, weight=weight * unit)
        fit = st.fit_pressure(part, pushes=other, noise=(*ERRORS, 0.01 * unit), friction=0.0)
        # Of the loads that the sensor shows, and of those with the stated weight.
        other = weight * unit / fit.weights.sum()
        either = (1.0, other) if "sum up to" in fit.status.message else (1.0,)
        low, high = fit.intervals.T
        assert all(np.all((low <= s * fit.weights) & (s * fit.weights <= high)) for s in either)
        return fit.status.message

    right = said(lambda f: f)
    assert "agree" not in right and "forces" not in right
    assert "by the forces the loads sum up to" in said(lambda f: 1.2 * f)
    shown = re.search(r"if \((.*), (.*)\) is added to the forces", said(lambda f: f + 0.1 * unit))
    assert shown is not None
    np.testing.assert_allclose([float(x) / unit for x in shown.groups()], -0.1, atol=0.02)


@SLOW
def test_a_stated_friction_that_pushes_contradict_is_told():
    rng = np.random.default_rng(4)
    pushes = noisy(measured(rng, FEET, LOADS, 16, mu=0.3), rng)
    part = st.slider(points=FEET, weight=1.0)
    told = "agree if the friction of the finger is 0.(29|3)"
    with pytest.raises(st.StatementError, match=told) as error:
        st.fit_pressure(part, pushes=pushes, noise=ERRORS, friction=0.0)
    assert str(error.value).count("\n") == 2
    near = st.fit_pressure(part, pushes=pushes, noise=ERRORS, friction=0.2)
    assert re.search("better if the friction of the finger is 0.(29|3)", near.status.message)
    right = st.fit_pressure(part, pushes=pushes, noise=ERRORS, friction=0.3)
    assert "agree" not in right.status.message


@pytest.mark.parametrize("seed", [1, *(pytest.param(s, marks=SLOW) for s in (4, 6, 9))])
def test_no_random_push_tells_more_than_the_next(seed):
    rng = np.random.default_rng(seed)
    count = int(rng.integers(3, 7))
    feet, loads = rng.uniform(-0.05, 0.05, (count, 2)), rng.uniform(0.2, 1, count)
    loads /= loads.sum()
    pushes = noisy(measured(rng, feet, loads, 5), rng)
    part = st.slider(points=feet, weight=1.0)
    first = st.fit_pressure(part, pushes=pushes, noise=ERRORS)

    def after(point, normal):
        """The variances of all loads after one more push of a centimetre, as it is expected."""
        known = st.slider(points=feet, weights=first.weights)
        x, y, phi = known.coordinates
        way = normal[0] * (x - point[1] * phi) + normal[1] * (y + point[0] * phi)
        step = st.minimum_power(known + st.System(constraints=[way - 0.01 * st.t]))
        motion = [step[c.dot] for c in (x, y, phi)]
        more = {"point": point, "normal": normal, "motion": motion}
        both = st.fit_pressure(part, pushes=[*pushes, more], noise=ERRORS)
        return float(np.trace(both.covariance))

    assert first.next is not None and len(first.identifiable.directions) == 0
    others = [after(p["point"], p["normal"]) for p in measured(rng, feet, first.weights, 3)]
    assert after(first.next.point, first.next.normal) < 1.05 * min(others)
