"""Systems stated without Python: the model files in the folder ``models``.

Not from one document: each file says where its system comes from. ``stationary report hoop.toml``
makes a page of one. The numbers are closed forms: where a bead rests on a turning hoop, how hard a
pendulum pulls, the tractrix, the frequencies of a string, the period of a block that sticks and
slips on a belt, what a floor bears, and the step of a walker.
"""

from pathlib import Path

import numpy as np

import stationary as st
from examples import Row, film, save

QUESTION = "How does it move?"

FOLDER = Path(__file__).parent / "models"
FILES = ("hoop", "rod", "tractrix", "string", "belt", "balls", "walker")


def model(name):
    return st.load(FOLDER / f"{name}.toml")


def moved(name):
    """Answer the question that a file asks about its motion."""
    stated = model(name)
    if "slide" in stated.questions:
        return st.quasistatics(stated.system, start=stated.start, **stated.questions["slide"])
    return stated.ask("simulate")


def results():
    hoop = model("hoop")
    rests = st.equilibria(hoop.system, **hoop.questions["equilibria"])
    angles = sorted(rest["theta"] for rest in rests if rest.stable)
    diagram = st.continuation(hoop.system, **hoop.questions["continue"], params={"Omega": 0})
    fork = next(point for point in diagram.special if point.kind == "pitchfork")
    swing = moved("rod")
    slide = moved("tractrix")
    slips = moved("belt").changes.of("slip", "belt").t
    more, w, kv = 0.9, np.sqrt(7 / 1.3), 1.4
    period = 2 * more / kv + 2 / w * (np.pi - np.arctan(more * w / kv))
    balls = moved("balls")
    strikes = model("walker").ask("simulate").events["heel"]
    string = model("string")
    modes = st.modes(string.system, **string.questions["modes"])
    return [
        Row("hoop: θ at rest, Ω = 6", np.arccos(9.81 / 18), angles[-1], "cos θ = g/(rΩ²)", 1e-9),
        Row("hoop: Ω at the pitchfork", np.sqrt(9.81 / 0.5), fork.parameter, "Ω² = g/r", 1e-9),
        Row("rod: largest tension (N)", 3 * 0.1 * 9.81, -swing.lam["rod"].min(), "3mg", 1e-4),
        Row("rod: |R|", 0.0, swing.residual["R"], "R = 0", 1e-12),
        Row("tractrix: y(4)", 1 / np.cosh(4), slide["y"][-1], "1/cosh t", 1e-8),
        Row("string: ω₁", 100 * np.pi, modes.frequencies[0], "π √(T/ρ)/L", 1e-5),
        Row("string: ω₃", 300 * np.pi, modes.frequencies[2], "3π √(T/ρ)/L", 1e-2),
        Row("belt: period (s)", period, np.diff(slips).mean(), "closed form", 1e-10),
        Row("balls: the floor bears (N)", 5 * 0.1 * 9.81, balls.lam["floor"][-1], "5mg", 1e-9),
        Row(
            "walker: time of a step (s)",
            3.882463752851,
            np.diff(strikes)[0],
            "Garcia et al. 1998",
            1e-9,
        ),
        Row("every file asks", True, all(model(name).questions for name in FILES), "files"),
    ]


def pictures(folder):
    hoop = model("hoop")
    diagram = st.continuation(hoop.system, **hoop.questions["continue"], params={"Omega": 0})
    save(diagram.plot(), folder / "model_files_hoop.png")
    film(moved("tractrix"), folder / "model_files.gif")
