"""What is kept of a system serves an equal one, whatever was declared, and when."""

import subprocess
import threading
from types import SimpleNamespace
from typing import Any

import pytest

import stationary as st
from stationary.lower.engines import heyoka

VALUES = {"m": 0.01, "length": 2.0, "g": 9.8, "tau": 0.1}


def pendulum(order):
    theta = st.coordinates("theta")
    values: dict[str, Any] = {name: VALUES[name] for name in order}
    found = dict(zip(order, st.parameters(**values)))
    m, length, g, tau = (found[name] for name in VALUES)
    return st.System(
        kinetic=m * length**2 * theta.dot**2 / 2,
        potential=m * g * length * (1 - st.cos(theta)),
        work=tau * theta,
    )


@pytest.mark.slow
def test_declarations_in_between_do_not_mix_up_the_parameters():
    first = pendulum(list(VALUES))
    rest = st.statics(first)["theta"]
    assert rest == pytest.approx(0.5354220630779957)  # asin(τ/mgl)
    swing = st.simulate(first, span=(0, 1), points=2)["theta"][-1]
    again = pendulum(["tau", "g", "length", "m"])
    # The order is that of the statement, not that of the declarations.
    assert again == first and again.parameters == first.parameters
    # More systems than are kept: of what was made of the first one a part is gone.
    x = st.coordinates("x")
    for k in range(140):
        st.statics(st.System(potential=(k + 1) * x**2))
    assert st.statics(again)["theta"] == pytest.approx(rest, rel=1e-14)
    assert st.simulate(again, span=(0, 1), points=2)["theta"][-1] == pytest.approx(swing, rel=1e-13)
    assert st.simulate(first, span=(0, 1), points=2)["theta"][-1] == pytest.approx(swing, rel=1e-13)


@pytest.mark.skipif(not heyoka.available(), reason="what is compiled is heyoka's")
def test_one_compiler_at_a_time_works_in_the_background(monkeypatch, tmp_path):
    running, most, started = 0, 0, []
    done = threading.Event()

    class Compiler:
        def __init__(self, *_, **__):
            nonlocal running, most
            running += 1
            most = max(most, running)
            started.append(self)

        def wait(self):
            nonlocal running
            done.wait(30)
            running -= 1

    stand_in = SimpleNamespace(Popen=Compiler, DEVNULL=subprocess.DEVNULL)
    monkeypatch.setattr(heyoka, "subprocess", stand_in)
    monkeypatch.setenv("STATIONARY_OPTIMIZE", "on")
    monkeypatch.setenv("STATIONARY_CACHE", str(tmp_path))
    x = st.coordinates("x")
    springs = [st.System(kinetic=x.dot**2, potential=x**k) for k in (2, 4, 6)]
    try:
        for _ in range(3):
            for spring in springs:
                st.simulate(spring, span=(0, 1), start={x: 1}, points=2)
        assert len(started) == most == 1
    finally:
        done.set()
