"""A geared joint with play, a springy shaft and dry friction: its backlash is all three together.

Not from the documents, but named in their introduction. A pinion turns a wheel through teeth with
a clearance c, the wheel turns a load of friction f through a shaft of stiffness k. The load follows
the pinion with a lost motion of c + 2f/k: the play operator. A cycle of amplitude A takes
4f(A − c/2 − f/k).
"""

from functools import cache

import numpy as np

import stationary as st
from examples import Row, save

QUESTION = "Where does it rest?"

CLEAR, STIFF, DRY, SWING = 0.2, 4.0, 0.6, 1.0
HALF = CLEAR / 2 + DRY / STIFF  # half of the lost motion

wheel, load = st.coordinates("wheel load")
pinion = SWING * st.sin(st.t)


def system():
    return st.System(
        potential=STIFF * (wheel - load) ** 2 / 2,
        friction=[st.Friction(DRY, on=load, name="bearing")],
        contacts=[
            st.Contact(wheel - pinion + CLEAR / 2, name="front flank"),
            st.Contact(pinion - wheel + CLEAR / 2, name="back flank"),
        ],
        name="geared joint",
    )


@cache
def cycle():
    """Turn the pinion to and fro: a quarter to begin with, then a whole cycle."""
    return st.quasistatics(system(), span=(0, 2.5 * np.pi), points=201, step=np.pi / 80)


def play(drive):
    """Return what follows within ± HALF."""
    out = [0.0]
    for u in drive[1:]:
        out.append(float(np.clip(out[-1], u - HALF, u + HALF)))
    return np.array(out)


def results():
    moved = cycle()
    drive = SWING * np.sin(moved.t)
    off = np.abs(moved[load] - play(drive)).max()
    # Between the first and the second time that the pinion stands at +A.
    first, last = (int(np.argmin(np.abs(moved.t - s * np.pi))) for s in (0.5, 2.5))
    lost = moved.lost[last] - moved.lost[first]
    # At pinion zero, on the way there and back.
    down, up = (moved[load][int(np.argmin(np.abs(moved.t - s * np.pi)))] for s in (1, 2))
    return [
        Row("backlash of the load", 2 * HALF, down - up, "c + 2f/k", 1e-9),
        Row("load − play operator", 0.0, off, "play", 1e-9),
        Row("a cycle takes (J)", 4 * DRY * (SWING - HALF), lost, "4f(A − c/2 − f/k)", 1e-9),
        Row("largest push of the teeth", DRY, moved.lam["front flank"].max(), "f", 1e-9),
        Row("friction beyond its limit", 0.0,
            max(0.0, np.abs(moved.forces["bearing"]).max() - DRY), "its limit", 1e-9),
    ]  # fmt: skip


def pictures(folder):
    """Draw the load and the torque over the pinion."""
    import matplotlib.pyplot as plt

    moved = cycle()
    drive = SWING * np.sin(moved.t)
    torque = moved.lam["front flank"] - moved.lam["back flank"]
    with st.look() as colors:
        figure, (follow, push) = plt.subplots(1, 2, figsize=(8.6, 4.0))
        follow.plot(drive, drive, color="0.7", ls=":", label="no backlash")
        follow.plot(drive, moved[load], color=colors[0], ls="-", label="load")
        follow.plot(drive, moved[wheel], color=colors[1], ls="--", label="wheel")
        follow.annotate("", (HALF, 0), (-HALF, 0), arrowprops={"arrowstyle": "<->"})
        follow.text(0.35, -0.06, "c + 2f/k", va="center")
        follow.set(xlabel="pinion (rad)", ylabel="angle (rad)", aspect="equal")
        follow.legend()
        push.plot(drive, torque, color=colors[0], ls="-")
        push.set(xlabel="pinion (rad)", ylabel="torque of the teeth (N m)")
    save(figure, folder / "geared_joint.png")
