"""Every step that is kept has been looked at; what fails is told, and by us alone."""

import numpy as np
import pytest

import stationary as st

x, y = st.coordinates("x y")

# Forces on a free mass that is at rest and without force at t = 0: law, place at t = 4 (unit mass).
PUSHES = {
    "ramp": (st.t, 4**3 / 6),
    "sine": (st.sin(st.t), 4 - np.sin(4)),
    "step": (st.Piecewise((0, st.t < 1), (1, True)), 4.5),
    "late pulse": (st.Piecewise((0, st.t < 2), (st.sin(np.pi * (st.t - 2)), st.t < 3), (0, True)),
                   2 / np.pi * 1.5),
}  # fmt: skip


@pytest.mark.parametrize("name", PUSHES)
@pytest.mark.parametrize("unit", [1e-12, 1.0, 1e9])
def test_a_variational_step_moves_what_rests(name, unit):
    law, end = PUSHES[name]
    system = st.System(kinetic=x.dot**2 / 2, work=unit * law * x)
    for step, order in ((0.1, 1e-1), (0.01, 1e-3)):
        motion = st.simulate(system, span=(0, 4), method=st.Variational(step=step))
        assert motion[x][-1] / unit == pytest.approx(end, abs=order)


@pytest.mark.parametrize("unit", [1e-12, 1.0, 1e9])
def test_a_variational_step_moves_what_rests_on_a_constraint(unit):
    # Two masses held together at the origin, one of them pulled by a ramp.
    system = st.System(
        kinetic=(x.dot**2 + y.dot**2) / 2, constraints=[st.Constraint(x - y)], work=unit * st.t * x
    )
    motion = st.simulate(system, span=(0, 4), method=st.Variational(step=0.01))
    assert motion[x][-1] / unit == pytest.approx(4**3 / 12, rel=1e-4)
    assert abs(motion[x] - motion[y]).max() <= 1e-12 * unit


def test_a_sampled_push_moves_what_rests():
    push = st.inputs("push")
    system = st.System(kinetic=x.dot**2 / 2, work=push * x)
    motion = st.simulate(
        system, span=(0, 4), inputs={push: ([0, 1, 2, 4], [0, 0, 1, 1])},
        method=st.Variational(step=0.01),
    )  # fmt: skip
    # A ramp from 1 to 2, then one: the momentum 1/2 + 2, the place ∫∫.
    assert motion[x][-1] == pytest.approx(1 / 6 + 0.5 * 2 + 2, rel=1e-4)


def test_no_library_writes_to_the_terminal(capfd):
    runaway = st.System(kinetic=x.dot**2 / 2, potential=-(x**4))
    lost = st.System(kinetic=x.dot**2 / 2, potential=2 * st.sqrt(1 - x))
    held = st.System(
        kinetic=(x.dot**2 + y.dot**2) / 2, potential=x - x**4,
        constraints=[st.Constraint(x**2 - y, "parabola")],
    )  # fmt: skip
    methods = (st.Variational(step=0.1), st.BDF(), st.Runge(), "auto")
    for system in (runaway, lost, held):
        for method in methods:
            for start in ({x: 0.5, y: 0.25}, {x.dot: 1.0}, {}):
                start = {k: v for k, v in start.items() if system is held or k != y}
                motion = st.simulate(system, span=(0, 9), start=start, method=method, throw=False)
                assert motion.status
    # Without a lowest point the search for rest asks every solver it knows.
    with pytest.raises(st.DidNotConverge):
        st.statics(st.System(potential=x**3 - 3 * st.log(y)), start={x: -1.0, y: 1.0})
    written = capfd.readouterr()
    assert (written.out, written.err) == ("", "")
