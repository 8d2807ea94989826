"""What is no number is refused in words, wherever one is given."""

import numpy as np
import pytest

import stationary as st

x, y = st.coordinates("x y")
k = st.parameters(k=1.0)
WELL = st.System(kinetic=x.dot**2 / 2, potential=k * x**2 / 2)
FEET = [(0, 0), (1, 0), (0, 1)]
SURFACE = st.limit_surface(st.slider(points=FEET, weights=1.0))
R = st.rotation("R")
TOP = st.body(1.0, inertia=(1, 1, 1), frame=st.Frame().turn(R))
TAKES = {
    "parameters": lambda a: st.parameters(m=a),
    "start": lambda a: st.statics(WELL, start={x: a}),
    "params": lambda a: st.statics(WELL, params={k: a}),
    "within": lambda a: st.equilibria(WELL, within={x: (0, a)}),
    "span": lambda a: st.continuation(WELL, parameter=k, span=(0, a), start={x: 0}),
    "time": lambda a: st.simulate(WELL, span=(0, a)),
    "values": lambda a: st.values(x, at=[a]),
    "over": lambda a: st.samples({"k": (0, a)}, count=4),
    "points": lambda a: st.slider(points=[(0, a)], weights=1.0),
    "outline": lambda a: st.slider(outline=[(0, 0), (1, 0), (0, a)], weight=1.0, centre=(0, 0)),
    "twist": lambda a: SURFACE.wrench((0, 0, a)),
    "omega": lambda a: st.simulate(TOP, span=(0, 1), start={R.omega: (0, 0, a)}),
    "push": lambda a: st.Push(point=(0, a), normal=(0, 1), motion=(0, 1, 0)),
    "compiled": lambda a: st.compile(WELL).mass([a]),
}


VALUES = {
    "huge": 10**400, "complex": np.complex128(1 + 1j), "date": np.datetime64("2020"), "word": "one",
}  # fmt: skip


@pytest.mark.parametrize("value", VALUES.values(), ids=VALUES)
@pytest.mark.parametrize("name", TAKES)
def test_what_is_no_number_is_refused_in_words(name, value):
    with pytest.raises(st.StatementError):
        TAKES[name](value)
