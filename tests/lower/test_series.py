"""Series that CasADi runs have the coefficients that a computation in many digits finds."""

import copy
import pickle

import casadi as ca
import mpmath as mp
import numpy as np
import pytest

import stationary as st
from stationary.errors import CompileError
from stationary.lower.engines import heyoka, series

t, y, p = ca.SX.sym("t"), ca.SX.sym("y", 40), ca.SX.sym("p", 2)

# What an operation does, in the graph and in many digits, on values that suit it.
ONE = {
    "sqrt": mp.sqrt, "exp": mp.exp, "log": mp.log, "sin": mp.sin, "cos": mp.cos, "tan": mp.tan,
    "asin": mp.asin, "acos": mp.acos, "atan": mp.atan, "sinh": mp.sinh, "cosh": mp.cosh,
    "tanh": mp.tanh, "asinh": mp.asinh, "atanh": mp.atanh, "erf": mp.erf, "log1p": mp.log1p,
    "expm1": mp.expm1,
}  # fmt: skip
MORE = {
    "acosh": (lambda x: ca.acosh(2 + x), lambda x: mp.acosh(2 + x)),
    "inverse": (lambda x: 1 / x, lambda x: 1 / x),
    "fifth power": (lambda x: x**5, lambda x: x**5),
    "broken power": (lambda x: x**-1.7, lambda x: x ** mp.mpf(-1.7)),
    "power by a parameter": (lambda x: x ** p[0], lambda x: x ** mp.mpf(0.75)),
    "moving power": (lambda x: (2 - x) ** (x * x), lambda x: (2 - x) ** (x * x)),
    "quotient": (lambda x: ca.sin(x) / (1 + x) / p[0], lambda x: mp.sin(x) / (1 + x) / 0.75),
    "angle": (lambda x: ca.atan2(x - 2, x - 1), lambda x: mp.atan2(x - 2, x - 1)),
    "angle of a constant": (lambda x: ca.atan2(p[0], x), lambda x: mp.atan2(0.75, x)),
    "hypotenuse": (lambda x: ca.SX.binary(ca.OP_HYPOT, x, p[0]), lambda x: mp.hypot(x, 0.75)),
    "sums": (lambda x: 3 * x - (2 * x - p[1] * x**2), lambda x: x - 4 * x**2),
    "turns": (
        lambda x: ca.cos(x) * ca.sin(x) - ca.sin(-x),
        lambda x: mp.sin(2 * x) / 2 + mp.sin(x),
    ),
    "a kink in parameters": (lambda x: x * ca.fabs(p[1]), lambda x: 4 * x),
}
CASES = {name: (getattr(ca, name), exact) for name, exact in ONE.items()} | MORE


def stepper(*rates, sizes=None, unit=1.0):
    """Return what takes steps of ẏ = these, with parameters 0.75 and −4."""
    rhs = ca.Function("f", [t, y[: len(rates)], p], [ca.densify(ca.vertcat(*rates))])
    _, code = series.compile(rhs).integrator()
    code.pars[:] = [0.75, -4.0, *(sizes or [1.0] * len(rates)), unit]
    return code


def test_every_operation_has_the_series_that_many_digits_find():
    # Of y₀ = 0.3 + 0.4 t + 0.1 t².
    code = stepper(0.2 * t + 0.4, *(graph(y[0]) for graph, _ in CASES.values()))
    code.state[:] = (0.3, *([1.0] * len(CASES)))
    code.step(1.0)
    inner = [mp.mpf(0.2) / 2, mp.mpf(0.4), mp.mpf(0.3)]
    for (name, (_, exact)), found in zip(CASES.items(), code.tc[1:]):
        with mp.workdps(60):
            terms = mp.taylor(lambda s, of=exact: of(mp.polyval(inner, s)), 0, 19)
            expected = [1.0, *(float(c / (k + 1)) for k, c in enumerate(terms))]
        # Coefficients that are small beside those after them have fewer digits.
        size = np.maximum.accumulate(np.abs(expected)[::-1])[::-1] + 1e-20
        assert np.all(np.abs(found - expected) < 1e-13 * size), name


def test_steps_count_in_sizes_and_in_a_unit_of_time():
    plain = stepper(y[1], -ca.sin(y[0]) * t)
    other = stepper(y[1], -ca.sin(y[0]) * t, sizes=(2.0**-30, 2.0**40), unit=2.0**-7)
    plain.time, plain.state[:] = 0.5, (0.25, 2.0)
    other.time, other.state[:] = 0.5 * 2**7, (0.25 * 2**30, 2.0**-39)
    plain.step(0.125)
    other.step(16.0)
    assert other.last_h == 2**7 * plain.last_h
    orders = np.arange(plain.tc.shape[1])
    found = other.tc * np.array([[2.0**-30], [2.0**40]]) * 2.0 ** (7 * orders)
    np.testing.assert_allclose(found, plain.tc, rtol=1e-14, atol=0)
    np.testing.assert_allclose(other.state * [2.0**-30, 2.0**40], plain.state, rtol=1e-15)


def test_a_step_to_where_nothing_is_finite_is_told():
    code = stepper(ca.sqrt(y[1]), y[0])
    lost = series.compile(code._function).lost
    code.state[:] = (1.0, -1.0)
    assert code.step(1.0)[0] == lost
    code.time, code.state[:] = 0.0, (1.0, -1.0)
    assert code.propagate_until(1.0, 9, 1.0, lambda _: pytest.fail("no step"))[0] == lost


def test_many_short_steps_end_at_the_time_that_was_asked():
    code, times = stepper(y[1], -y[0]), []
    code.state[:] = (1.0, 0.0)
    code.propagate_until(1.0, 10**4, 1e-3 / 3, lambda c: times.append(c.time))
    assert times[-1] == 1.0 and len(times) in (3000, 3001)
    np.testing.assert_allclose(code.state, [np.cos(1.0), -np.sin(1.0)], rtol=1e-13)
    for other in (copy.copy(code), pickle.loads(pickle.dumps(code))):
        other.state[:], other.pars[:] = (1.0, 0.0), code.pars
        other.step(0.5)
        np.testing.assert_allclose(other.state, [np.cos(0.5), -np.sin(0.5)], rtol=1e-14)


def test_an_operation_without_a_series_is_named():
    with pytest.raises(CompileError, match="no series of operation Abs"):
        stepper(ca.fabs(y[0]), y[1])


def test_a_motion_by_them_is_that_by_heyoka(monkeypatch):
    pytest.importorskip("heyoka")
    a, b = st.coordinates("a b")

    def motion(name: str):
        pendulum = st.System(
            kinetic=a.dot**2 + b.dot**2 / 2 + a.dot * b.dot * st.cos(a - b),
            potential=-19.62 * st.cos(a) - 9.81 * st.cos(b),
            name=name,
        )
        return st.simulate(pendulum, span=(0, 3), start={a: 2.0, b: 1.0}, points=31)

    compiled = motion("compiled")
    monkeypatch.setattr(heyoka, "available", lambda: False)
    written = motion("written out")
    assert written.method == compiled.method == "Taylor" and written.steps == compiled.steps
    np.testing.assert_allclose(written.y, compiled.y, rtol=0, atol=1e-11)


def test_a_system_too_large_to_be_written_out_is_refused_by_name(monkeypatch):
    monkeypatch.setattr(heyoka, "available", lambda: False)
    monkeypatch.setattr(heyoka, "_COMPILE_UP_TO", 5)
    x = st.coordinates("x")
    large = st.System(kinetic=x.dot**2 / 2, potential=st.exp(x**2) + st.sin(3 * x), name="large")
    question = {"span": (0, 1), "start": {x: 1.0}}
    with pytest.raises(st.MissingExtra, match=r"for a system of this size.*\n.*\d+ op"):
        st.simulate(large, method=st.Taylor(), **question)
    assert st.simulate(large, **question).method == "Runge"
