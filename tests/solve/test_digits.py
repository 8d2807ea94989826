"""The digits that are told of the end of a motion are there, whatever took the others."""

from typing import Any

import numpy as np
import pytest
import sympy as sp

import stationary as st
from stationary.solve.motion.digits import digits_left

x, y = st.coordinates("x y")

# Forces that push back by s where s is small, as differences of what is larger by far.
DIFFERENCES = {
    "exponential": lambda s: st.exp(s) - 1,
    "logarithm": lambda s: st.log(1 + s),
    "square": lambda s: ((1000 + s) ** 2 - 10**6) / 2000,
    "root": lambda s: 20 * (sp.sqrt(100 + s) - 10),
    "power": lambda s: ((1 + s) ** sp.Rational(7, 5) - 1) * sp.Rational(5, 7),
}


@pytest.mark.one_in(3)
@pytest.mark.parametrize("unit", [1e-9, 1.0, 1e6])
@pytest.mark.parametrize("name", DIFFERENCES)
def test_digits_that_a_force_loses_in_a_difference_are_not_claimed(name, unit):
    rng = np.random.default_rng(sorted(DIFFERENCES).index(name))
    small, end = 10.0 ** rng.uniform(-12, -10), rng.uniform(10, 20)
    law = st.System(
        kinetic=x.dot**2 / 2, loads=[st.Load(-unit * DIFFERENCES[name](x / unit), on=x)]
    )
    motion = st.simulate(law, span=(0, end), start={x: small * unit}, points=11)
    # Beside one, so small a swing is that of a spring.
    off = max(abs(motion.y[-1, :2] / (small * unit) - (np.cos(end), -np.sin(end))))
    assert off > 1e-12 and motion.digits < 0.5 - np.log10(off)
    assert motion.digits > -3 - np.log10(off)


def wasteful(u):
    """Return tanh(u) by exponentials that are added up to one: their series cancels."""
    largest = st.Max(u, -u)
    a, b = st.exp(u - largest), st.exp(-u - largest)
    return st.tanh(u) * a / (a + b) + st.tanh(u) * b / (a + b)


@pytest.mark.one_in(2)
@pytest.mark.parametrize(("unit", "steep"), [(1.0, 900), (1e6, 900), (1e-9, 300), (1.0, 2000)])
def test_digits_that_a_series_loses_are_not_claimed(unit, steep):
    ends, digits = [], []
    for push in (wasteful, st.tanh):
        valley = st.System(
            kinetic=x.dot**2 / 2, loads=[st.Load(-unit * push(steep * x / unit), on=x)]
        )
        motion = st.simulate(valley, span=(0, 4), start={x: unit}, points=11)
        ends.append(motion[x][-1] / unit)
        digits.append(motion.digits)
    error = abs(ends[0] - ends[1])
    # Steps prove themselves to some 1e-12.
    assert error < 1e-11 and error < 10 ** (0.5 - min(digits)) + 1e-14
    assert min(digits) > 11.5


def test_runs_that_meet_by_chance_have_no_digits():
    swings: list[Any] = [
        st.simulate(
            st.System(kinetic=x.dot**2 / 2, potential=(rate * x) ** 2 / 2),
            span=(0, 20 * np.pi), start={x: 1.0}, points=points,
        )
        for rate, points in ((1.0, 7), (1.101, 101))
    ]  # fmt: skip
    # They are nearly at the same place, and as slow, at the end alone.
    assert abs(swings[0][x][-1] - swings[1][x][-1]) < 0.02
    assert digits_left(*swings) < 0.7
