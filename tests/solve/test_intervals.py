"""Interval arithmetic: an enclosure holds every value, whatever the function."""

import casadi as ca
import numpy as np
import pytest

from stationary.solve.intervals import Enclosure, NoEnclosure

z = ca.SX.sym("z", 2)
x, y = z[0], z[1]

FUNCTIONS = {
    "polynomial": x * y - x**3 + y**2,
    "odd power": (x - y) ** 5,
    "negative power": ca.power(x, -3) + 1 / y,
    "real power": ca.power(x * x + 0.1, y),
    "waves": ca.sin(3 * x) * ca.cos(y) + ca.tan(x / 2),
    "growth": ca.exp(x) / (y + 4) + ca.cosh(x) - ca.log(y * y + 1),
    "root": ca.sqrt(x * x + y * y) + ca.hypot(x, y),
    "angles": ca.atan2(y, x + 3.1) + ca.asin(x / 3) + ca.acos(y / 3) + ca.atan(x * y),
    "saturation": ca.tanh(x * y) + ca.erf(x) + ca.sinh(y) + ca.asinh(x) + ca.atanh(y / 3),
    "kinks": ca.fabs(x) - ca.fmax(x, y) + ca.fmin(x * y, 1),
    "switches": ca.if_else(x < y, x, y**2) + ca.sign(x) * ca.floor(y) + ca.if_else(x >= 0, 1, y),
    "less than one": ca.log1p(x / 3) + ca.expm1(y) + ca.acosh(1 + x * x),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_an_enclosure_holds_every_value(name):
    f = ca.Function("f", [z], [ca.densify(FUNCTIONS[name])])
    rng = np.random.default_rng(list(FUNCTIONS).index(name))
    middle = rng.uniform(-2.5, 2.5, (400, 2))
    reach = rng.uniform(0, 1, (400, 2)) ** 4 * 0.5
    low, high, _ = Enclosure(f)(middle - reach, middle + reach)
    for _ in range(50):
        place = middle + rng.uniform(-1, 1, (400, 2)) * reach
        value = np.asarray(f.map(400)(place.T)).T
        assert np.all((low <= value) & (value <= high))
    # Narrow boxes have narrow enclosures: the natural extension is of first order.
    tiny, sure, _ = Enclosure(f)(middle - 1e-9, middle + 1e-9)
    assert np.median(sure - tiny) < 1e-6


def test_the_ends_of_waves_are_seen():
    f = Enclosure(ca.Function("f", [z], [ca.vertcat(ca.sin(x), ca.cos(x))]))
    low, high, rough = f(np.array([[1.0, 0.0], [4.0, 0.0]]), np.array([[2.0, 0.0], [5.0, 0.0]]))
    assert high[0, 0] == 1.0 and low[1, 0] == -1.0 and not rough.any()
    assert low[0] == pytest.approx([np.sin(1.0), np.cos(2.0)], abs=1e-14)


def test_what_is_not_defined_all_over_a_box_is_said():
    f = Enclosure(ca.Function("f", [z], [ca.sqrt(x) / y]))
    box = np.array([[-1.0, -1.0], [1.0, 1.0]]), np.array([[1.0, 1.0], [2.0, 2.0]])
    assert f(*box)[2].tolist() == [True, False]


def test_an_operation_without_bounds_is_refused():
    with pytest.raises(NoEnclosure):
        Enclosure(ca.Function("f", [z], [ca.fmod(x, y)]))
