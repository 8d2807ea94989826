"""Systems whose statements and questions are put wrongly, on purpose."""

import pytest
import sympy as sp

import stationary as st

x, y, theta1 = st.coordinates("x y theta1")
m, L = st.parameters(m=1.0, L=0.5)
k = st.parameters("k")
F = st.inputs("F")

oscillator = st.System(kinetic=m * x.dot**2 / 2, potential=x**2 / 2)
driven = st.System(kinetic=x.dot**2 / 2, loads=[st.Load(F, on=x)])


def run(system=oscillator, span=(0, 1), **settings):
    return lambda: st.simulate(system, span=span, **settings)


def stated(**keywords):
    return lambda: st.System(**({"kinetic": x.dot**2 / 2} | keywords))


# -- what simulate cannot honour ------------------------------------------------------------------

REFUSED = [
    (
        {"friction": [st.Drag(1, sp.Rational(1, 2), on=x, name="paint")]},
        "friction 'paint'",
        "grows infinitely steep at rest (power below 1), as dry friction does: "
        "paint: drag 1 |v|**1/2 against v = d/dt x",
    ),
]


# -- motions --------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def motion():
    return st.simulate(oscillator, span=(0, 1), start={x: 1.0}, points=3)
