"""The gate refuses motions that were followed on the wrong side of a kink or a jump."""

from dataclasses import replace

import numpy as np
import pytest

import stationary as st
from stationary.result.motion import Motion
from stationary.solve.gate.claims import findings
from stationary.solve.gate.sides import sides

x = st.coordinates("x")


def friction(unit):
    """Return laws with kinks and jumps, each beside one that has other sides."""
    root, X, V = np.sqrt(unit), x / unit, x.dot / np.sqrt(unit)
    return [
        (V / (0.1 + st.Abs(V)), V / (0.1 + st.Max(V, -V / 2))),
        (V * st.Abs(V), V * st.Max(V, -V / 2)),
        (st.Piecewise((V, X < 0.3), (3 * V, True)), st.Piecewise((V, X < 0.6), (3 * V, True))),
        (st.sign(V) * (1 + X**2), st.sign(V) * (1 + st.Max(X, -2 * X) ** 2)),
        (V + st.Max(0, X - 0.2), V + st.Max(0, X + 0.2)),
        (st.Piecewise((V, st.t < root), (2 * V, True)), V),
    ]


def rubbed(unit, law):
    return st.System(kinetic=x.dot**2 / 2, potential=x**2 / unit, loads=[st.Load(-0.2 * law, on=x)])


@pytest.mark.one_in(3)
@pytest.mark.parametrize("unit", [1e-6, 1.0, 1e6])
@pytest.mark.parametrize("method", ["auto", st.Runge(), st.BDF()], ids=["series", "runge", "bdf"])
def test_a_motion_on_the_wrong_side_is_refused_by_its_side_alone(unit, method):
    root = np.sqrt(unit)
    laws = friction(unit) if method == "auto" else friction(unit)[:3:2]
    for right, wrong in laws:
        motion = st.simulate(rubbed(unit, right), span=(0, 3 * root), start={x: unit}, points=31,
                             method=method)  # fmt: skip
        assert (
            isinstance(motion, Motion)
            and motion.law is not None
            and all(f.holds for f in sides(motion))
        )
        other = st.simulate(rubbed(unit, wrong), span=(0, 1e-3 * root), start={x: unit}, points=2)
        astray = replace(motion, system=other.system, kernel=other.kernel)
        assert not any(f.holds for f in sides(astray))
        assert not all(f.holds for f in findings(astray))


def test_what_rests_on_a_kink_is_on_no_side():
    # Dry friction holds it from about t = 2.2 on: neither side is true there, and none is claimed.
    motion = st.simulate(rubbed(1.0, 9 * st.sign(x.dot)), span=(0, 5), start={x: 3.0})
    assert motion.success and motion.law is not None
    held = ~np.all(np.isfinite(motion.law(motion.t, motion.t, motion.y)), axis=1)
    assert 0 < held.sum() < len(held) and np.all(motion[x.dot][held] == 0)


@pytest.mark.parametrize(("length", "time"), [(1e-9, 1e-4), (1e-6, 1e-3), (1.0, 1.0)])
def test_output_times_beside_nodes_by_rounding_pass_no_border(length, time):
    # Between two nodes of backward differentiation that are one but for their last digit its
    # interpolation goes anywhere, and the velocity through zero, where friction changes its side.
    X, V = x / length, x.dot * time / length
    law = 0.57 * V * st.Abs(V) + 0.5 * V / (0.1 + st.Abs(V))
    system = st.System(
        kinetic=x.dot**2 / 2, potential=2.1 * (length / time) ** 2 * X**2 / 2,
        loads=[st.Load(-law * length / time**2, on=x)],
    )  # fmt: skip
    start = {x: -0.3 * length, x.dot: 0.8 * length / time}
    known = {"span": (0, 2 * time), "start": start, "points": 101}
    motion = st.simulate(system, **known, method=st.BDF(), rtol=1e-9)
    other = st.simulate(system, **known)
    np.testing.assert_allclose(motion[x], other[x], rtol=0, atol=1e-7 * length)
    assert motion.digits > 7
