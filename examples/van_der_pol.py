"""Van der Pol's oscillator: a load that feeds small swings and eats large ones.

S. Hirai, Analytical Mechanics: Variational Principles (slides, Ritsumeikan University), appendix
"ODE solver": ẍ − 2(1 − x²)ẋ + x = 0 from x = 2 by MATLAB's ode45. Its default tolerance, 1e-3,
shows in the last printed digit of the velocity at 0.4, which is −0.3124; the same method at the
same tolerance gives the slide's −0.3125.
"""

from scipy.integrate import solve_ivp

import stationary as st
from examples import Row, save

QUESTION = "How does it move?"

SLIDES = "Hirai, ode45"

PUBLISHED = {
    0.1: (1.9917, -0.1504),
    0.2: (1.9721, -0.2338),
    0.3: (1.9461, -0.2822),
    0.4: (1.9163, -0.3125),
}

x = st.coordinates("x")


def system():
    return st.System(
        kinetic=x.dot**2 / 2,
        potential=x**2 / 2,
        loads=[st.Load(2 * (1 - x**2) * x.dot, on=x)],
        name="van der Pol",
    )


def motion(span=(0, 10)):
    return st.simulate(system(), span=span, start={x: 2.0})


def as_ode45():
    """Integrate with ode45's method and default tolerances; return the velocity at 0.4."""
    made = solve_ivp(
        lambda t, y: [y[1], 2 * (1 - y[0] ** 2) * y[1] - y[0]],
        (0, 10),
        [2.0, 0.0],
        method="RK45",
        rtol=1e-3,
        atol=1e-6,
        t_eval=[0.4],
    )
    return float(made.y[1, 0])


def results():
    moved = motion()
    rows = []
    for t, (place, velocity) in PUBLISHED.items():
        now = moved.at(t)
        # Half a unit of the last printed digit, and ode45's own error at the end.
        tolerance = 5e-5 if t < 0.4 else 1e-4
        rows += [
            Row(f"x({t})", place, now[x], SLIDES, 5e-5),
            Row(f"ẋ({t})", velocity, now[x.dot], SLIDES, tolerance),
        ]
    rows.append(Row("ẋ(0.4) at ode45's tolerance", -0.3125, as_ode45(), SLIDES, 5e-5))
    return rows


def pictures(folder):
    moved = motion((0, 30))
    save(moved.plot(), folder / "van_der_pol.png")
    save(moved.show("phase"), folder / "van_der_pol_phase.png")


def live():
    return {"system": system(), "start": {x: 0.1}, "span": (0, 20)}
