"""The running error analysis bounds what really goes wrong, and not by much more."""

import casadi as ca
import mpmath
import numpy as np
import pytest

from stationary.lower.rounding import Tape


@pytest.mark.parametrize("seed", range(20))
def test_errors_against_arithmetic_of_fifty_digits_stay_within_the_bound(seed):
    rng = np.random.default_rng(seed)
    x = ca.SX.sym("x", 3)
    terms = [
        x[0] * x[1],
        ca.sin(x[2]) ** 2,
        ca.sqrt(1 + x[0] ** 2),
        ca.exp(-x[1]) / (2 + x[2] ** 2),
    ]
    weights = rng.normal(size=4) * 10.0 ** rng.integers(-3, 6, size=4)
    total = sum(float(w) * t for w, t in zip(weights, terms))
    at = rng.normal(size=3)
    # So that nearly everything cancels.
    first = float(ca.Function("f", [x], [total])(at))
    f = ca.Function("f", [x], [total - first])
    tape = Tape(f)
    bound = tape.errors([at])
    with mpmath.workdps(50):
        a, b, c = map(mpmath.mpf, at.tolist())
        exact = sum(
            mpmath.mpf(float(w)) * t
            for w, t in zip(weights, [a * b, mpmath.sin(c) ** 2, mpmath.sqrt(1 + a**2),
                                      mpmath.exp(-b) / (2 + c**2)])
        ) - mpmath.mpf(first)  # fmt: skip
        error = abs(float(mpmath.mpf(float(f(at))) - exact))
    largest = np.abs(weights).max() * 10
    assert error <= bound[0] <= 1e-13 * largest
    # What is asked often is compiled, and says the same.
    often = [tape.errors([at])[0] for _ in range(60)]
    assert often == pytest.approx([bound[0]] * 60, rel=1e-12)
