"""Natural frequencies of bars, beams, strings and chains.

Not from the documents. Roots of the classical characteristic equations: bars with kL = π/2, 3π/2, …
and with a mass at the end (x tan x = 1); Euler–Bernoulli beams, alone and with a mass at the tip;
Bernoulli's hanging chain, ω = (j₀ₙ/2)√(g/L); a string spun about its end, which flaps at
Ω√(n(2n − 1)); and Greenhill's pole that buckles under its own weight at qL³/EI = 7.8373….
"""

import numpy as np
from scipy.optimize import brentq

import stationary as st
from examples import Row, save

QUESTION = "How do beams and strings bend?"

X = st.positions("X")
u, w = (st.field(name, over=(X, 0, 1)) for name in "uw")
m, q, g, Omega = st.parameters(m=1.0, q=0.0, g=9.81, Omega=3.0)
CLAMPED = {w.at(0): 0, w.diff(X).at(0): 0}
BENDING = {"kinetic": w.dot**2 / 2, "potential": w.diff(X, 2) ** 2 / 2}


def bar(**more):
    energies = {"kinetic": u.dot**2 / 2, "potential": u.diff(X) ** 2 / 2}
    made = st.Continuum(**energies, fixed={u.at(0): 0}, **more)
    return st.discretize(made, elements=30, degree=3)


def beam(fixed, **more):
    return st.discretize(st.Continuum(**BENDING, fixed=fixed, **more), elements=40)


def chain():
    hung = st.Continuum(
        kinetic=w.dot**2 / 2, potential=g * (1 - X) * w.diff(X) ** 2 / 2, fixed={w.at(0): 0},
        name="hanging chain",
    )  # fmt: skip
    return st.discretize(hung, elements=40, degree=3)


def spun():
    """Return a string that rotation alone stretches; its modes are about that state."""
    string = st.Continuum(
        kinetic=(u.dot**2 + w.dot**2 + Omega**2 * (X + u) ** 2) / 2,
        potential=1e7 * (u.diff(X) + w.diff(X) ** 2 / 2) ** 2 / 2,
        fixed={u.at(0): 0, w.at(0): 0},
    )
    return st.discretize(string, elements=24, degree=2)


def own_weight():
    pole = st.Continuum(
        kinetic=w.dot**2 / 2,
        potential=w.diff(X, 2) ** 2 / 2 - q * (1 - X) * w.diff(X) ** 2 / 2,
        fixed=CLAMPED,
    )
    system = st.discretize(pole, elements=40)
    return brentq(lambda x: st.modes(system, count=1, params={q: x}).squares[0], 5, 9)


def results():
    mass = {name: st.System(kinetic=m * f.at(1).dot ** 2 / 2) for name, f in (("u", u), ("w", w))}
    cases = {
        "bar": (bar(), [np.pi / 2, 3 * np.pi / 2], 1e-8),
        "bar with a mass": (bar(parts=[mass["u"]]), [0.8603335890193798, 3.425618459481728], 1e-8),
        "cantilever": (beam(CLAMPED), [1.8751040687119612**2, 4.6940911329741746**2], 1e-5),
        "cantilever with a mass": (
            beam(CLAMPED, parts=[mass["w"]]), [1.2479174096064695**2, 4.0311394367149595**2], 1e-5,
        ),
        "clamped and pinned": (
            beam({**CLAMPED, w.at(1): 0}), [3.9266023120479188**2, 7.0685827456287321**2], 1e-4,
        ),
        "free": (beam({}), [0, 0, 4.730040744862704**2, 7.8532046240958376**2], 1e-4),
        "hanging chain": (
            chain(), np.sqrt(9.81) * np.array([1.2024127788478864, 2.7600390551431553]), 1e-6,
        ),
    }  # fmt: skip
    rows = []
    for name, (system, known, within) in cases.items():
        found = st.modes(system, count=len(known)).frequencies
        for k, (expected, value) in enumerate(zip(known, found), 1):
            rows.append(Row(f"{name}, mode {k}", float(expected), value, "classical", within))
    string = spun()
    flaps = st.modes(string, count=2, at=st.statics(string, kind="any")).frequencies
    for k, (expected, value) in enumerate(zip(3.0 * np.sqrt([1, 6]), flaps), 1):
        rows.append(Row(f"spun string, mode {k}", expected, value, "Legendre", 1e-4))
    rows.append(
        Row("pole under its own weight", 7.8373474389434839, own_weight(), "Greenhill", 1e-5)
    )
    return rows


def pictures(folder):
    named = st.Continuum(**BENDING, fixed=CLAMPED, name="cantilever")
    found = st.modes(st.discretize(named, elements=40), count=4)
    save(found.plot(), folder / "beams_and_strings.png")
    save(st.modes(chain(), count=4).plot(), folder / "beams_and_strings_chain.png")
