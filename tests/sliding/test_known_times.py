"""What is stated in time is not stepped over: pulses, kinks and samples, in any units."""

import numpy as np
import pytest
from scipy.special import erf

import stationary as st

x, y = st.coordinates("x y")
F = st.inputs("F")
UNITS = [(1.0, 1.0, 1.0), (1e-9, 1e3, 1e-6), (1e7, 1e-4, 1e3)]


def pulse(width, units):
    """Return a pulse of height 1 in the middle of a span."""
    return st.exp(-(((st.t / units[2] - 0.537) / width) ** 2))


@pytest.mark.one_in(3)
@pytest.mark.parametrize("units", UNITS)
@pytest.mark.parametrize("width", [1e-1, 1e-3, 1e-6])
def test_a_short_pulse_is_followed(width, units):
    # There and back along a drive; beyond a limit against drag; a spring that stays behind.
    length, force, time = units
    span, there = (0, time), pulse(width, units)
    block = [st.Friction(2 * force, on=x)]
    driven = st.System(friction=block, constraints=[x - 0.1 * length * there])
    slide = st.quasistatics(driven, span=span, points=5)
    assert slide.lost[-1] == pytest.approx(0.4 * length * force, rel=1e-8)
    assert slide.events[0][-1] == pytest.approx(0.537 * time, rel=1e-6)

    drag = st.Drag(force * time / length, 1, on=x)
    pushed = st.System(friction=[*block, drag], loads=[st.Load(5 * force * there, on=x)])
    slide = st.quasistatics(pushed, span=span, points=5)
    b = np.sqrt(np.log(2.5))
    far = width * (5 * np.sqrt(np.pi) * erf(b) - 4 * b)
    assert slide[x][-1] == pytest.approx(length * far, rel=1e-7) and slide.method == "events"
    off = (0.537 + width * b) * time
    assert slide.events[0] == pytest.approx([2 * 0.537 * time - off, off], rel=1e-6)

    spring = 50 * force / length
    pulled = st.System(potential=spring * (x - 0.1 * length * there) ** 2 / 2, friction=block)
    slide = st.quasistatics(pulled, span=span, points=5)
    assert slide[x][-1] == pytest.approx(0.04 * length, rel=1e-7) and len(slide.events[0]) == 3


@pytest.mark.parametrize(
    "drive, way",
    [
        (abs(st.t - 0.37), 1.0),
        (st.Piecewise((st.t, st.t < 0.41), (3 * st.t - 0.82, True)), 2.18),
        (st.Max(0, st.t - 0.6), 0.4),
        (st.Piecewise((0, st.t < 0.5), (1e3 * (st.t - 0.5), st.t <= 0.501), (1, True)), 1.0),
    ],
)
def test_a_drive_with_kinks_is_followed_by_events(drive, way):
    feet = [(0, 0), (1, 0.2), (0.3, 0.9)]
    part = st.slider(points=feet, weights=[1, 2, 0.7])
    px, py, turn = part.coordinates
    held = [px - drive + drive.subs(st.t, 0), py, turn]
    slide = st.quasistatics(part + st.System(constraints=held), span=(0, 1), points=5)
    assert slide.method == "events"
    assert slide.lost[-1] == pytest.approx(3.7 * way, rel=1e-9)


def test_samples_are_followed_from_one_to_the_next():
    rng = np.random.default_rng(0)
    times, values = np.linspace(0, 1, 21), rng.uniform(0, 3, 21)
    held = [st.Friction(1.0, on=x), st.Drag(1.0, 1, on=x)]
    pushed = st.System(friction=held, loads=[st.Load(F, on=x)])
    slide = st.quasistatics(pushed, span=(0, 1), inputs={F: (times, values)}, points=3)
    over = values - 1
    # Between samples on different sides of the limit a triangle counts.
    pairs = zip(over, over[1:])
    far = sum(
        (a + b) / 2 if min(a, b) >= 0 else max(a, b, 0) ** 2 / 2 / abs(b - a) for a, b in pairs
    )
    assert slide[x][-1] == pytest.approx(far / 20, rel=1e-9) and slide.method == "events"


def test_a_drive_that_jumps_is_refused_by_name():
    jumps = st.Constraint(x - st.Piecewise((0, st.t < 0.5), (1, True)), name="drive")
    block = st.System(friction=[st.Friction(2.0, on=x)], constraints=[jumps])
    with pytest.raises(st.StatementError, match="'drive' jumps at t = 0.5"):
        st.quasistatics(block, span=(0, 1))


@pytest.mark.one_in(3)
@pytest.mark.parametrize("size", [1.0, 1e-12, 1e9])
def test_how_far_drag_leads_is_as_exact_in_any_unit(size):
    load = st.sin(7 * st.t) ** 2 * st.exp(st.sin(20 * st.t))
    moves = st.System(friction=[st.Drag(1.0, 1, on=x)], loads=[st.Load(size * load, on=x)])
    slide = st.quasistatics(moves, span=(0, 3), points=3)
    assert slide[x][-1] / size == pytest.approx(1.97007241332, rel=1e-9)


def test_evidence_is_as_small_where_a_motion_turns_a_corner():
    # Behind each corner the spring turns into the new side: it rests there for an instant.
    along = st.Piecewise((st.t, st.t < 1), (1, st.t < 2), (3 - st.t, True))
    aside = st.Piecewise((0, st.t < 1), (st.t - 1, st.t < 2), (1, True))
    pulled = 10 * ((x - along) ** 2 + (y - aside) ** 2)
    bead = st.System(potential=pulled, friction=[st.Friction(1.0, on=(x, y))])
    slide = st.quasistatics(bead, span=(0, 3), points=7)
    assert max(slide.residual.values()) < 1e-7
    # The way lags behind by 1/20, and turns as a tractrix.
    angle = 2 * np.arctan(np.exp(-(1 / 0.05)))
    assert slide[x][4] == pytest.approx(1 - 0.05 * np.sin(angle), abs=1e-9)
    assert slide[y][4] == pytest.approx(1 - 0.05 * np.cos(angle), abs=1e-9)


@pytest.mark.one_in(2)
@pytest.mark.parametrize("points", [4, 5, 201])
@pytest.mark.parametrize("k", [0.0, 4.0])
def test_a_load_that_jumps_leaves_forces_unbalanced_and_is_told_at_its_time(k, points):
    # Whether or not a time that is kept is that of the jump: inertia alone leads to another rest.
    block = st.System(
        potential=k * x**2 / 2, friction=[st.Friction(0.5, on=x)], loads=[st.Load(F, on=x)]
    )
    jump = {F: st.Piecewise((0, st.t < 1), (3, True))}
    with pytest.raises(st.NoMotion) as told:
        st.quasistatics(block, span=(0, 2), inputs=jump, points=points)
    assert told.value.kind == "accelerates" and told.value.names == ("load 'load1'",)
    assert told.value.solution.t[-1] == pytest.approx(1, abs=1e-12)
    # Less than friction takes moves nothing; drag decides how it goes on: to (3 − 0.5)/k.
    small = st.quasistatics(
        block, span=(0, 2), inputs={F: st.Piecewise((0, st.t < 1), (0.3, True))}, points=points
    )
    assert small[x][-1] == 0
    if k:
        oil = st.System(
            potential=block.potential, loads=block.loads,
            friction=[*block.friction, st.Drag(0.1, 1, on=x)],
        )  # fmt: skip
        slide = st.quasistatics(oil, span=(0, 2), inputs=jump, points=points)
        assert slide[x][-1] == pytest.approx(2.5 / k, rel=1e-9)
        assert slide.lost[-1] == pytest.approx((3 - 1.25) * 2.5 / k, rel=1e-9)
