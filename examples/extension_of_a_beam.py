"""Extension of a beam: the slides' continuum, from its densities to a wave that travels along it.

The slides derive ρA ü = (EA u′)′ with u(0) = 0 and EA u′(L) = f from the stationary action, and
show that f(x − ct) and g(x + ct) solve it for constants, with c = √(E/ρ). A force that acts on the
end from t = 0 on sends a front along the beam; d'Alembert's solution for the end is a triangle wave
from 0 to 2fL/EA of period 4L/c.
"""

import numpy as np
import sympy as sp

import stationary as st
from examples import Row, film, save

QUESTION = "How do beams and strings bend?"

SOURCE, DALEMBERT = "slides: extension of beam", "d'Alembert"


def system():
    """Return position, field, force and the beam."""
    X, f = st.positions("X"), st.inputs("f")
    rho, A, E, L = st.parameters(rho=1.0, A=1.0, E=1.0, L=1.0)
    u = st.field("u", over=(X, 0, L))
    beam = st.Continuum(
        kinetic=rho * A * u.dot**2 / 2,
        potential=E * A * u.diff(X) ** 2 / 2,
        loads=[st.Load(f, on=u.at(L))],
        fixed={u.at(0): 0},
        name="extension of a beam",
    )
    return X, u, f, beam


def pulled():
    """Return the motion under a force of 1 from t = 0 on."""
    *_, f, beam = system()
    rod = st.discretize(beam, elements=50, degree=2)
    return st.simulate(rod, span=(0, 5), inputs={f: 1.0}, points=251)


def results():
    X, u, f, beam = system()
    values = {p.name: p for p in beam.parameters}
    rho, A, E, L = (values[name] for name in ("rho", "A", "E", "L"))
    pde = st.equations(beam)
    (equation,) = pde.field_equations
    held, free = pde.boundary_conditions
    c = sp.sqrt(E / rho)
    shape = sp.Function("f")
    rows = [
        Row("ρA ü", rho * A * u.ddot, equation.lhs, SOURCE),
        Row("(EA u′)′", E * A * u.diff(X, 2), equation.rhs, SOURCE),
        Row("u(0)", 0, held.rhs, SOURCE),
        Row("EA u′(L)", f, sp.simplify(free.rhs * E * A * u.diff(X).at(L) / free.lhs), SOURCE),
        Row("speed of waves", c, pde.wave_speed, SOURCE),
        Row("f(x − ct) solves it", True, pde.solved_by({u: shape(X - c * st.t)}), SOURCE),
        Row("g(x + ct) solves it", True, pde.solved_by({u: shape(X + c * st.t)}), SOURCE),
        Row("f(x − 2ct) does not", False, pde.solved_by({u: shape(X - 2 * c * st.t)}), SOURCE),
    ]
    motion = pulled()
    known = {0.5: 0.5, 1: 1, 1.5: 1.5, 2: 2, 3: 1, 4: 0, 5: 1}
    for t, end in known.items():
        # A sharp corner of the wave is rounded by elements of finite length.
        tolerance = 1e-2 if t in (2, 4) else 2e-3
        rows.append(Row(f"u(L) at t = {t} L/c", end, motion.field(u)(1.0, t), DALEMBERT, tolerance))
    x = np.linspace(0.05, 0.25, 41)
    before, after = (float(np.mean(motion.field(u.dot)(x, t))) for t in (0.6, 1.0))
    rows += [
        Row("velocity before the front", 0.0, before, DALEMBERT, 5e-3),
        Row("velocity behind the front", 1.0, after, DALEMBERT, 1e-2),
        Row("energy balance", 0.0, motion.residual["energy"], "work of the force", 1e-12),
    ]
    return rows


def pictures(folder):
    X, u, _, beam = system()
    motion = pulled()
    save(motion.plot(u), folder / "extension_of_a_beam.png")
    save(motion.plot(u.diff(X)), folder / "extension_of_a_beam_strain.png")
    film(motion, folder / "extension_of_a_beam.gif")
    text = st.equations(beam).explain()
    (folder / "extension_of_a_beam.md").write_text(text, encoding="utf-8")


def live():
    *_, f, beam = system()
    return {"system": st.discretize(beam, elements=12), "inputs": {f: 1.0}, "span": (0, 5)}
