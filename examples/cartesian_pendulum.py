"""A pendulum in Cartesian coordinates by constraint stabilization, free and in a viscous medium.

S. Hirai, Analytical Mechanics: Variational Principles (slides, Ritsumeikan University), pendulum in
Cartesian coordinates and Report 1: R = √(x² + (y − l)²) − l = 0 becomes R̈ + 2αṘ + α²R = 0. The
rod's support is at (0, l); y is measured from the lowest point.
"""

import numpy as np
import sympy as sp

import stationary as st
from examples import Row, film, pendulum, save
from examples.pendulum import g, l, m, theta

QUESTION = "How does it move?"

SLIDES = "Hirai, Cartesian pendulum"
ALPHA = 100.0  # 1/s, fast beside the swing

x, y = st.coordinates("x y")
b = st.parameters(b=0.01)  # torque −b θ̇, as in the damped pendulum

length = st.sqrt(x**2 + (y - l) ** 2)
angle = st.atan2(x, l - y)


def system(friction=False):
    # The speed along the circle is lθ̇, so that bθ̇²/2 is (b/l²)(ẋ² + ẏ²)/2.
    eaten = b / l**2 * (x.dot**2 + y.dot**2) / 2 if friction else 0
    bob = st.particle(m, at=(x, y), gravity=g) + st.rod((0, l), (x, y), l, name="rod")
    return bob + st.System(dissipation=eaten, name="damped pendulum" if friction else "pendulum")


def swing(friction=False, amplitude=1.0):
    start = {x: 2.0 * np.sin(amplitude), y: 2.0 * (1 - np.cos(amplitude))}
    return st.simulate(
        system(friction), span=(0, 10), start=start, stabilize=st.Baumgarte(alpha=ALPHA)
    )


def by_angle(friction, amplitude=1.0):
    """Return θ of the same pendulum in one coordinate."""
    lost = st.System(dissipation=b * theta.dot**2 / 2) if friction else st.System()
    start = {theta: amplitude}
    found = st.simulate(pendulum.system() + lost, span=(0, 10), start=start, inputs={"tau": 0})
    return found[theta]


def results():
    eq = st.equations(system())
    P = 1 / length
    slope, curve = eq.A, sp.hessian(length, (x, y))
    rows = [
        Row("Rx", x * P, slope[0], SLIDES),
        Row("Ry", (y - l) * P, slope[1], SLIDES),
        Row("Rxx", P - x**2 * P**3, curve[0, 0], SLIDES),
        Row("Rxy", -x * (y - l) * P**3, curve[0, 1], SLIDES),
        Row("Ryy", P - (y - l) ** 2 * P**3, curve[1, 1], SLIDES),
        Row("force on y", eq.lam[0] * (y - l) * P, eq.G[1] - m * g + slope[1] * eq.lam[0], SLIDES),
    ]
    for friction, name in ((False, "free"), (True, "viscous")):
        motion = swing(friction)
        off = float(np.abs(motion[angle] - by_angle(friction)).max())
        rows += [
            Row(f"{name}: θ against one coordinate", 0.0, off, "the same in θ", 1e-11),
            Row(f"{name}: largest |R|", 0.0, motion.residual["R"], "R = 0", 1e-14),
            Row(f"{name}: energy balance (J)", 0.0, motion.residual["energy"], "exact", 1e-13),
        ]
    # Released from the horizontal, the rod pulls with 3 mg cos θ; λ pushes along ∂R/∂q.
    level = swing(amplitude=np.pi / 2)
    pull = 3 * 0.01 * 9.8 * np.cos(level[angle])
    off = float(np.abs(level.lam["rod"] + pull).max())
    return [*rows, Row("tension − 3mg cos θ (N)", 0.0, off, "Huygens", 1e-12)]


def pictures(folder):
    import matplotlib.pyplot as plt

    panels = {"x_y": ("x, y (m)", (x, y)), "vx_vy": ("vx, vy (m/s)", (x.dot, y.dot)),
              "R": ("R (m)", (length - l,)), "theta": ("θ (rad)", (angle,))}  # fmt: skip
    for friction, name in ((False, "cartesian_pendulum"), (True, "cartesian_pendulum_viscous")):
        motion = swing(friction)
        for panel, (label, drawn) in panels.items():
            with st.look():
                figure, axes = plt.subplots(figsize=(7, 3), layout="constrained")
                for e in drawn:
                    axes.plot(motion.t, motion[e])
                axes.set(xlabel="t (s)", ylabel=label, title=motion.system.name)
            save(figure, folder / f"{name}_{panel}.png")
        film(motion, folder / f"{name}.gif")


def live():
    return {"system": system(), "start": {x: 2 * np.sin(1.0), y: 2 * (1 - np.cos(1.0))}}
