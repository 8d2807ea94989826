"""When a double pendulum flips: a million motions, and the curve inside which none ever does.

Both arms are released at rest, and the colour says when the outer one first turns over. The map of
1000 × 1000 motions over 30 s was computed by ``benchmarks.gpu`` on one NVIDIA H200, in 2.4 s with
everything, and is kept here in 254 logarithmic steps. Inside 2 cos θ₁ + cos θ₂ = 1 there is not
enough energy to lift the outer arm over the top (J. S. Heyl, The double pendulum fractal, 2008).
"""

from pathlib import Path

import numpy as np

import stationary as st
from examples import Row, save

QUESTION = "What of a million of them?"

SIDE, LONGEST, SHORTEST = 1000, 30.0, 0.2

theta1, theta2 = st.coordinates("theta1 theta2")


def system():
    x, y = st.sin(theta1), -st.cos(theta1)
    outer = (x + st.sin(theta2), y - st.cos(theta2))
    return st.particle(1.0, at=(x, y), gravity=9.81) + st.particle(1.0, at=outer, gravity=9.81)


def stored():
    """Return the angles of release and the map; where nothing flips it is not a number."""
    code = np.load(Path(__file__).with_suffix(".npz"))["code"]
    half = SHORTEST * (LONGEST / SHORTEST) ** (code / 254.0)
    half[code == 255] = np.nan
    # The other half is its mirror image.
    return np.linspace(-3, 3, SIDE), np.concatenate([half, half[::-1, ::-1]])


def flips(first, second, longest=6.0):
    """Return flip times of some releases, computed here."""
    keep = {"flip": st.first(abs(theta2) - st.pi)}
    return st.sweep(st.simulate, system(), over={theta1: first, theta2: second},
                    span=(0, longest), keep=keep)  # fmt: skip


def results():
    line, times = stored()
    some = [150, 400, 600, 900]
    here = np.asarray(flips(line[some], line[some])["flip"])
    there = times[np.ix_(some, some)]
    there = np.where(there < 6, there, np.nan)
    held = 2 * np.cos(line[:, None]) + np.cos(line) > 1
    step = np.log(LONGEST / SHORTEST) / 254
    both = np.isfinite(here) & np.isfinite(there)
    apart = np.abs(np.log(here[both] / there[both])).max(initial=0.0)
    torn = int(np.sum(np.isfinite(here) != np.isfinite(there)))
    return [
        Row("flips inside the curve", 0, int(np.isfinite(times[held]).sum()), "energy"),
        Row("16 of them computed here, log of the times", 0.0, float(apart), "the map", step),
        Row("of these, flips in one alone", 0, torn, "the map"),
    ]


def pictures(folder):
    import matplotlib.pyplot as plt
    from matplotlib.colors import LogNorm

    line, times = stored()
    figure, axes = plt.subplots(figsize=(6.4, 5.4))
    drawn = axes.pcolormesh(line, line, times.T, norm=LogNorm(), cmap="magma", rasterized=True)
    axes.contour(line, line, (2 * np.cos(line) + np.cos(line[:, None])), [1.0], colors="0.5")
    axes.set(xlabel=r"$\theta_1$", ylabel=r"$\theta_2$", aspect="equal")
    axes.set_facecolor("white")
    figure.colorbar(drawn, label="first flip (s)")
    save(figure, folder / "flip_times.png")


if __name__ == "__main__":
    for row in results():
        print(row)
