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
