"""Series are looked at as often as they take steps, and high powers are what they are."""

import numpy as np
import pytest
from scipy.integrate import quad

import stationary as st
from stationary.lower.looks import Looks
from stationary.solve.integrators import taylor

x = st.coordinates("x")

SMOOTH = {
    "oscillator": x**2 / 2,
    "pendulum": -st.cos(x),
    "soft pole": -1 / st.sqrt(1e-4 + x**2),
    "Morse": (1 - st.exp(-x)) ** 2,
    "waves": st.sin(3 * st.sin(2 * x)) + x**2,
}


@pytest.mark.parametrize("name", SMOOTH)
@pytest.mark.parametrize("points", [2, 11, 1001])
def test_the_energy_is_looked_at_as_often_as_steps_are_taken(name, points, monkeypatch):
    pytest.importorskip("heyoka")
    seen, prove = [], Looks.prove

    def noted(self, t, *given):
        answer = prove(self, t, *given)
        seen.append(len(t) if answer[0] else 0)
        return answer

    monkeypatch.setattr(Looks, "prove", noted)
    system = st.System(kinetic=x.dot**2 / 2, potential=SMOOTH[name])
    motion = st.simulate(system, span=(0, 200), start={x: 0.5, x.dot: 0.3}, points=points)
    assert motion.steps > 100
    # What looks do not prove, steps prove one by one.
    assert sum(seen) >= motion.steps / 1.5 or not all(seen)


def test_a_step_that_loses_energy_is_found_wherever_it_is(monkeypatch):
    # From one look of thousands on, a little energy is missing.
    pytest.importorskip("heyoka")
    walked = []
    walk = taylor._walk
    monkeypatch.setattr(taylor, "_walk", lambda *given: walked.append(1) or walk(*given))
    system = st.System(kinetic=x.dot**2 / 2, potential=-st.cos(x))
    kernel = st.simulate(system, span=(0, 1), start={x: 1.0}).kernel
    assert kernel.looks is not None
    values, whole = kernel.looks._values, []
    for where in (None, 3, 900, 1400):

        def told(t, y, p, where=where):
            every = values(t, y, p)
            whole.append(every.shape[1])
            if where is not None:
                every[3, where:] += 1e-11
            return every

        monkeypatch.setitem(vars(kernel.looks), "_values", told)
        walked.clear()
        motion = st.simulate(system, span=(0, 550), start={x: 1.0}, points=5)
        assert motion.success and bool(walked) == (where is not None)
    assert max(whole) > 1401


@pytest.mark.one_in(3)
@pytest.mark.parametrize("power", [12, 40, 100])
@pytest.mark.parametrize(("length", "time"), [(1.0, 1.0), (1e-9, 1e-3), (1e16, 1e7), (1e16, 1e-12)])
@pytest.mark.parametrize("method", ["auto", st.Runge()], ids=["series", "runge"])
def test_walls_of_high_powers_stand_in_every_unit(power, length, time, method):
    # U = (x/l)ⁿ: a turn takes 4 ∫ dx/√(v² − 2U), and numbers such as l⁻⁴⁰ may be none.
    system = st.System(
        kinetic=x.dot**2 / 2, potential=(length / time) ** 2 * (x / (1.3 * length)) ** power
    )
    top = 1.3 * 0.5 ** (1 / power)
    # With s = u², no root is left at the turn.
    turn = 4 * quad(
        lambda u: 2 * u * top / np.sqrt(-np.expm1(power * np.log1p(-(u**2)))), 0, 1,
        epsabs=1e-13, epsrel=1e-13,
    )[0]  # fmt: skip
    span = (0, 3 * turn * time)
    motion = st.simulate(system, span=span, start={x.dot: length / time}, method=method)
    assert motion[x][-1] / length == pytest.approx(0, abs=1e-9)
    assert motion[x.dot][-1] * time / length == pytest.approx(1, abs=1e-9)
    assert abs(motion[x]).max() / length == pytest.approx(top, rel=1e-2)
