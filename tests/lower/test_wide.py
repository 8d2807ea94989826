"""Functions at many places at once are what they are at each of them."""

import casadi as ca
import numpy as np

from stationary.lower.many_places import _OPERATIONS, Wide


def test_every_operation_is_what_it_is_at_one_place():
    x, p = ca.SX.sym("x", 3), ca.SX.sym("p")
    outputs = [
        ca.vertcat(x[0] + x[1], x[0] - x[1], x[0] * x[1], x[0] / x[1], -x[0], x[0] ** 2, 2 * x[1]),
        ca.vertcat(1 / x[0], ca.sqrt(x[0]), ca.sin(x[0]), ca.cos(x[1]), ca.tan(x[2])),
        ca.vertcat(ca.atan(x[0]), ca.atan2(x[0], x[1]), ca.exp(x[2]), ca.log(x[0]), ca.tanh(x[1])),
        ca.vertcat(ca.sinh(x[0]), ca.cosh(x[1]), ca.fabs(x[0] - x[1]), ca.fmin(x[0], x[1])),
        ca.vertcat(ca.fmax(x[0], x[1]), ca.hypot(x[0], x[2]), x[0] ** x[1], x[0] ** 1.7, p * x[0]),
        ca.vertcat(ca.asin(x[0] / 2), ca.acos(x[0] / 2), ca.asinh(x[0]), ca.acosh(1 + x[0])),
        ca.vertcat(ca.atanh(x[0] / 2), ca.log1p(x[0]), ca.expm1(x[1]), ca.erf(x[2])),
        ca.vertcat(ca.floor(3 * x[0]), ca.ceil(3 * x[1]), ca.fmod(3 * x[0], x[1])),
        ca.vertcat(ca.sign(x[0] - x[1]), ca.copysign(x[0], x[1] - 1), x[0] < x[1], x[0] <= x[1]),
        ca.vertcat(ca.eq(x[0], x[1]), ca.ne(x[0], x[1]), ca.logic_not(ca.floor(x[0]))),
        ca.vertcat(ca.logic_and(x[0] < 1, x[1] < 1), ca.logic_or(x[0] < 1, x[1] < 1)),
        ca.if_else(x[0] < 1, x[1], 0),
    ]
    function = ca.Function("f", [x, p], outputs)
    assert Wide.serves(function)
    used = {function.instruction_id(k) for k in range(function.n_instructions())}
    assert _OPERATIONS.keys() - used <= {ca.OP_ASSIGN}
    places, factor = np.random.default_rng(3).uniform(0.2, 1.4, (3, 20_000)), 0.7
    found = Wide(function)(20_000, [lambda k, some: places[k, some], lambda k, some: factor])
    expected = function(places, np.full((1, 20_000), factor))
    for one, other in zip(found, expected):
        np.testing.assert_allclose(one, np.array(other), rtol=1e-14)


def test_other_operations_are_not_served():
    x = ca.SX.sym("x")
    assert not Wide.serves(ca.Function("f", [x], [ca.erfinv(x)]))
