"""Every engine is found by its name and computes what the reference computes."""

import subprocess
from pathlib import Path
from types import ModuleType

import casadi as ca
import numpy as np
import pytest

import stationary as st
from stationary.lower import engines
from stationary.lower.engines import ENGINES, c, engine
from stationary.lower.kernel import kernel_of

x, y = st.coordinates("x y")


def smooth():
    m, k = st.parameters(m=1.2, k=3.0)
    return st.System(
        kinetic=m * (x.dot**2 + (1 + x**2) * y.dot**2) / 2 + x.dot * st.sin(st.t) * y,
        potential=k * st.exp(-(x**2)) * st.cos(y - st.t) + st.sqrt(2 + x**2) ** 3,
        work=x * st.tanh(st.t),
        loads=[st.Load(-0.3 * x.dot * y**2, on=x * y)],
    )


def switching():
    return st.System(
        kinetic=(x.dot**2 + y.dot**2) / 2,
        potential=abs(x) + st.Piecewise((y**2, y > 0), (-y, True)),
        loads=[st.Load(-st.sign(y.dot) * st.t, on=y)],
    )


def chain():
    r = st.coordinates("r", shape=(4, 2))
    return st.System(
        kinetic=st.each(lambda v: (v[0] ** 2 + v[1] ** 2) / 2, r.dot),
        potential=st.each(lambda a, b: (st.norm(b - a) - 1) ** 2, r[:-1], r[1:]),
    )


SYSTEMS = {"smooth": smooth, "switching": switching, "chain": chain}


def test_engines_are_the_files_of_the_folder():
    """What is not named would be forgotten; what is named has all that an engine has."""
    files = {p.stem for p in Path(engines.__file__).parent.glob("*.py")}
    helpers = {"__init__", "optimize", "scaled"}
    assert files - helpers == set(ENGINES) and len(set(ENGINES)) == len(ENGINES)
    for name in ENGINES:
        module = engine(name)
        assert isinstance(module, ModuleType)
        assert all(callable(getattr(module, f)) for f in ("available", "accepts", "compile", "run"))


def test_an_engine_that_is_not_there_is_told():
    with pytest.raises(st.StatementError, match="there is no engine 'heyoca'.*\n.*'heyoka'"):
        engine("heyoca")


@pytest.mark.parametrize("name", ENGINES)
@pytest.mark.parametrize("make", SYSTEMS.values(), ids=SYSTEMS)
def test_every_engine_computes_what_the_graph_says(name, make):
    kernel = kernel_of(make(), ())
    if not engine(name).available():
        pytest.skip(f"{name} is not installed here")
    if name in ("heyoka", "series") and make is switching:
        assert not kernel.served_by(name)
        return
    assert kernel.served_by(name)
    rng = np.random.default_rng(3)
    t, states = rng.normal(size=7), rng.normal(size=(7, kernel.states))
    p = rng.uniform(1, 3, kernel.rhs.numel_in(2))
    found = engine(name).run(kernel.code(name), t, states, p)
    expected = np.array([np.asarray(kernel.rhs(a, b, p)).ravel() for a, b in zip(t, states)])
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12 * np.abs(expected).max())
    assert kernel.code(name) is kernel.code(name)


# -- C ---------------------------------------------------------------------------------------------

ONE = [op for op in c._CALLED | c._SPELLED if op not in (ca.OP_INPUT, ca.OP_CONST)]


def every_operation():
    """A function in which every operation of C occurs, of values that change their sign."""
    # As many states as rates.
    t, y, p = ca.SX.sym("t"), ca.SX.sym("y", len(ONE) + 4), ca.SX.sym("p", 2)
    rows = []
    for op in sorted(ONE):
        a, b = ca.sin(y[op % 3] + op + t), p[op % 2] + ca.cos(y[(op + 1) % 3])
        try:
            rows.append(ca.SX.binary(op, a, b))
        except RuntimeError:
            rows.append(ca.SX.unary(op, a))
    rows += [y[0] * 1e-300, ca.SX(-0.0), ca.SX(float("inf")) * y[1], -2.5 * y[2] - 1 / y[0]]
    return ca.Function("f", [t, y, p], [ca.densify(ca.vertcat(*rows))])


needs_a_compiler = pytest.mark.skipif(not c.available(), reason="there is no C compiler")


@needs_a_compiler
def test_every_operation_of_c_is_that_of_the_graph():
    f = every_operation()
    assert c.accepts(f)
    code, rng = c.compile(f), np.random.default_rng(0)
    for _ in range(20):
        t, state, p = rng.normal(), rng.normal(size=f.numel_in(1)), rng.uniform(0.5, 2, 2)
        expected = np.asarray(f(t, state, p)).ravel()
        np.testing.assert_allclose(
            code(np.array(t), state, p)[0], expected, rtol=1e-13, atol=1e-300
        )


@needs_a_compiler
@pytest.mark.parametrize("single", [False, True])
def test_the_text_is_plain_c_without_a_warning(single, tmp_path):
    text = c.source(kernel_of(smooth(), ()).rhs, single=single)
    assert ("double" in text) != single
    file = tmp_path / "rates.c"
    file.write_text(text)
    strict = ["-std=c99", "-pedantic", "-Wall", "-Wextra", "-Werror", "-Wdouble-promotion"]
    order = [*c.compiler(), *strict, "-c", str(file), "-o", str(tmp_path / "rates.o")]
    done = subprocess.run(order, capture_output=True, text=True)
    assert not done.returncode, done.stderr
