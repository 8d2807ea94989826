"""The elastica: a beam that bends as far as it likes, under its load and beyond Euler's.

Not from the documents. The angle θ(s) of an inextensible beam is a field, its energy ∫ EI θ′²/2 ds;
dead loads on the tip do the work P∫cos θ ds and Q∫sin θ ds. Deflections under a transverse load are
those of Bisshopp and Drucker (1945), the buckled column those of Timoshenko and Gere (table 2-6),
both by elliptic integrals. Continuation passes Euler's load π²EI/4L² onto the buckled branch.
"""

import numpy as np

import stationary as st
from examples import Row, legend, save

QUESTION = "How do beams and strings bend?"

# Load QL²/EI: slope of the tip, its deflection, its approach.
TRANSVERSE = {
    1.0: (0.461351949711879, 0.3017207737998135, 0.05643323628337688),
    10.0: (1.430285538803858, 0.8106090248802965, 0.5549955977537513),
}
# Angle of the tip in degrees: load over Euler's, and the tip's place.
BUCKLED = {
    20: (1.0153968655396812784, 0.96973090736351550432, 0.2194130423955998416),
    60: (1.1517196204691383686, 0.74101960607632692715, 0.59320764616488510856),
    120: (1.884800868978091767, 0.12315997240512475961, 0.80317099000746473205),
}
EULER = np.pi**2 / 4


def system():
    X, P, Q = st.positions("X"), *st.parameters(P=0.0, Q=0.0)
    theta = st.field("theta", over=(X, 0, 1))
    beam = st.Continuum(
        kinetic=theta.dot**2 / 2,
        potential=theta.diff(X) ** 2 / 2 + P * st.cos(theta),
        work=Q * st.sin(theta),
        fixed={theta.at(0): 0},
        name="elastica",
    )
    return X, theta, P, Q, beam


def elements(beam, count=16):
    return st.discretize(beam, elements=count, degree=3)


def buckled(angle, load):
    X, theta, P, _, beam = system()
    guess = np.radians(angle) * st.sin(st.pi * X / 2)
    return theta, st.statics(elements(beam), params={P: load * EULER}, start={theta: guess})


def results():
    rows = []
    for load, (slope, down, near) in TRANSVERSE.items():
        _, theta, _, Q, beam = system()
        rest = st.statics(elements(beam), params={Q: load})
        source = "Bisshopp and Drucker"
        sine, cosine = (rest.field(f(theta)).integral() for f in (st.sin, st.cos))
        rows += [
            Row(f"slope of the tip, QL²/EI = {load:g}", slope, rest[theta.at(1)], source, 1e-9),
            Row("deflection", down, sine, source, 1e-9),
            Row("approach", near, 1 - cosine, source, 1e-9),
        ]
    for angle, (load, x, y) in BUCKLED.items():
        (theta, rest), source = buckled(angle, load), "Timoshenko and Gere"
        found = np.degrees(rest[theta.at(1)])
        rows += [
            Row(f"angle at {load:.4f} of Euler's load", angle, found, source, 1e-6),
            Row("x of the tip", x, rest.field(st.cos(theta)).integral(), source, 1e-8),
            Row("y of the tip", y, rest.field(st.sin(theta)).integral(), source, 1e-8),
        ]
    *_, beam = system()
    diagram = st.continuation(elements(beam, 6), parameter="P", span=(0, 1.2 * EULER))
    (point,) = diagram.special
    rows += [
        Row("load of the pitchfork", EULER, point.parameter, "Euler", 1e-6),
        Row("it is a pitchfork", True, point.kind == "pitchfork", "Euler"),
        Row("straight beyond it: stable", False, bool(diagram.branches[0].stable[-1]), "Euler"),
        Row("buckled: stable", True, bool(diagram.branches[1].stable[-1]), "Euler"),
    ]
    return rows


def pictures(folder):
    import matplotlib.pyplot as plt

    with st.look():
        figure, axes = plt.subplots(figsize=(5.0, 5.0))
        for angle, (load, *_) in BUCKLED.items():
            theta, rest = buckled(angle, load)
            s = np.linspace(0, 1, 400)
            course = rest.field(theta)(s)
            step = np.diff(s) * np.exp(1j * (course[1:] + course[:-1]) / 2)
            place = np.concatenate([[0], np.cumsum(step)])
            axes.plot(place.imag, place.real, label=f"$P = {load:.3f}\\,P_E$")
        axes.set(aspect="equal", xlabel="$y/L$", ylabel="$x/L$")
        legend(axes)
    save(figure, folder / "elastica.png")
