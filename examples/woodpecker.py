"""A woodpecker toy: a sleeve with play on a pole, a spring, and a bird that pecks its way down.

Ch. Glocker, Dynamik von Starrkörpersystemen mit Reibung und Stößen (VDI Verlag, 1995). Three
contacts with friction: the beak, which rebounds, and the two corners of the sleeve. The sleeve
jams, the bird swings, pecks, and frees it: impacts, sticking and sliding follow from the laws of
contact, and each peck takes it a little down.
"""

from functools import cache

import numpy as np

import stationary as st
from examples import Row, save

QUESTION = "How does it move?"

GLOCKER = "Glocker 1995"

y, sleeve, bird = st.coordinates("y sleeve bird")
mM, JM, mS, JS, SPRING, G, ROUGH = 0.0003, 5e-9, 0.0045, 7e-7, 0.0056, 9.81, 0.3
lM, lG, lS, hS, hM, rM, rO = 0.010, 0.015, 0.0201, 0.02, 0.0058, 0.0031, 0.0025
START = {sleeve: -0.1036, bird: -0.2788, y.dot: -0.3411, bird.dot: -7.4583}


def system():
    moved = (lM * sleeve.dot + lG * bird.dot) ** 2 / 2 + y.dot * (lM * sleeve.dot + lG * bird.dot)
    slip = y + rM * sleeve
    return st.System(
        kinetic=(mS + mM) * y.dot**2 / 2
        + (JM * sleeve.dot**2 + JS * bird.dot**2) / 2
        + mS * moved,
        potential=SPRING * (sleeve - bird) ** 2 / 2
        + (mS + mM) * G * y
        + mS * G * (lM * sleeve + lG * bird),
        contacts=[
            st.Contact(lM + lG - lS - rO - hS * bird, friction=ROUGH, restitution=0.5,
                       slip=y + lM * sleeve + (lG - lS) * bird, name="beak"),
            st.Contact(rM - rO + hM * sleeve, friction=ROUGH, slip=slip, name="lower corner"),
            st.Contact(rM - rO - hM * sleeve, friction=ROUGH, slip=slip, name="upper corner"),
        ],
        name="woodpecker",
    )  # fmt: skip


@cache
def pecking():
    motion = st.simulate(system(), span=(0, 1.0), start=START, points=1001)
    assert isinstance(motion, st.Touched)
    return motion


def results():
    motion = pecking()
    pecks = motion.changes.of("impact", "beak").t
    energy = float(np.abs(motion.kinetic).max())
    return [
        Row("first peck (s)", 0.0810, pecks[0], GLOCKER, 1e-4),
        Row("time between pecks (s)", 0.146, np.diff(pecks).mean(), GLOCKER, 5e-4),
        Row("spread of the times between pecks (s)", 0.0, np.ptp(np.diff(pecks)), "periodic", 5e-4),
        Row("energy balance, of the largest", 0.0, np.abs(motion.balance).max() / energy,
            "balance", 1e-12),
        Row("friction stays in its cone (N)", 0.0, max(motion.residual["cone"], 0.0), "Coulomb",
            1e-12),
    ]  # fmt: skip


def pictures(folder):
    save(pecking().plot(y, sleeve, bird), folder / "woodpecker.png")
