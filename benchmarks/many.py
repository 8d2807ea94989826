"""Many motions, rests and pushes on this machine's cores, beside other packages.

    python -m benchmarks.many                  10⁵ motions, 10⁶ rests, 10⁵ pushes
    python -m benchmarks.many --smoke          whether it runs, in seconds
    python -m benchmarks.many --out FILE       the tables as a file

Times are wall-clock times of whole calls on all cores, for a quiet machine, and processor times of
all threads and processes of a call. What would take hours runs fewer times: every row says how
often.
"""

from __future__ import annotations

import argparse
import copy
import os
import platform
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy.integrate import solve_ivp

import stationary as st
from stationary.many.cores import cores
from stationary.many.engines.batches import Depth

from .goals import Goal
from .goals import table as goals_table
from .gpu import PENDULUM, theta1, theta2

x, y = st.coordinates("x y")
F, k = st.parameters(F=0.1, k=1.0)
h = st.parameters(h=0.3)
G = 9.81


def bar(a, b, length):
    return k * (st.sqrt((x - a) ** 2 + (y - b) ** 2) - length) ** 2 / 2


TRUSS = st.System(
    potential=bar(-1, 1, st.sqrt(2)) + bar(0, 1, 1) + bar(1, 1, st.sqrt(2)), work=F * x - F * y / 2
)


def slider(points=100):
    """A part on a hundred points that a finger pushes at a height h."""
    random = np.random.default_rng(0)
    part = st.slider(
        points=random.uniform(-1, 1, (points, 2)), weights=random.uniform(0.5, 1.5, points)
    )
    px, _, phi = part.coordinates
    return part + st.System(constraints=[px - st.t - h * st.sin(phi)])


KINDS = ("wall", "processor")


@dataclass(frozen=True)
class Measured:
    """What a call took for one run, and how many runs it had."""

    runs: int
    wall: float
    processor: float


def measured(work, runs):
    began, busy = time.perf_counter(), os.times()
    work()
    wall, after = time.perf_counter() - began, os.times()
    used = sum(after[:4]) - sum(busy[:4])
    return Measured(runs, wall / runs, used / runs)


def beside(ours, theirs, runs, rounds):
    """Measure two calls in turn; return the median of each, and of their ratios of both times."""
    pairs = [(measured(ours, runs), measured(theirs, runs)) for _ in range(rounds)]
    walls = np.median([theirs.wall / ours.wall for ours, theirs in pairs])
    busy = np.median([theirs.processor / max(ours.processor, 1e-9) for ours, theirs in pairs])
    one, other = (
        Measured(
            runs, float(np.median([m.wall for m in side])),
            float(np.median([m.processor for m in side])),
        )
        for side in zip(*pairs)
    )  # fmt: skip
    return one, other, float(walls), float(busy)


def starts(count):
    """Return angles of double pendulums, spread over all that there are, the same for everyone."""
    side = int(np.ceil(np.sqrt(count)))
    line = np.linspace(-3, 3, side)
    return np.stack(np.meshgrid(line, line, indexing="ij"), -1).reshape(-1, 2)[:count]


def ours(angles, keep=None, **given):
    keep = keep or {"end": (theta1, theta2)}
    over = {(theta1, theta2): (angles[:, 0], angles[:, 1])}
    return st.sweep(st.simulate, PENDULUM, over=over, span=(0, 10), keep=keep, **given)


def turned(a, b, u, v, xp):
    """Return the accelerations of a double pendulum, simplified by hand, in anyone's numbers."""
    d = a - b
    den = 2.0 - xp.cos(d) ** 2
    du = (-(u**2) * xp.sin(d) * xp.cos(d) + G * xp.sin(b) * xp.cos(d)
          - v**2 * xp.sin(d) - 2.0 * G * xp.sin(a)) / den  # fmt: skip
    dv = (v**2 * xp.sin(d) * xp.cos(d) + 2.0 * (G * xp.sin(a) * xp.cos(d)
          + u**2 * xp.sin(d) - G * xp.sin(b))) / den  # fmt: skip
    return du, dv


def rates(t, s, xp=np):
    """Return the rates of a double pendulum, by NumPy or what is like it."""
    return xp.array([s[2], s[3], *turned(*s, xp)])


def by_scipy(start):
    return solve_ivp(rates, (0, 10), [*start, 0, 0], method="DOP853", rtol=1e-12, atol=1e-12)


def heyoka_equations(how):
    """The double pendulum for heyoka: by hand, or from the same energies by its own Lagrangian."""
    import heyoka as hy

    a, b, u, v = hy.make_vars("a", "b", "u", "v")
    if how == "energies":
        va = (u * hy.cos(a), u * hy.sin(a))
        vb = (va[0] + v * hy.cos(b), va[1] + v * hy.sin(b))
        T = (va[0] ** 2 + va[1] ** 2 + vb[0] ** 2 + vb[1] ** 2) / 2.0
        return hy.lagrangian(T + G * (2.0 * hy.cos(a) + hy.cos(b)), [a, b], [u, v])
    du, dv = turned(a, b, u, v, hy)
    return [(a, u), (b, v), (u, du), (v, dv)]


def heyoka_batches(how, angles, **given):
    """Return a loop of heyoka's batch mode on all cores, compiled before it is measured.

    It is called at that depth of the stack at which it is fastest, as our own batches are.
    """
    import heyoka as hy

    width = hy.recommended_simd_size()
    ta = hy.taylor_adaptive_batch(heyoka_equations(how), np.zeros((4, width)), **given)
    ends, call = np.zeros((len(angles), 4)), Depth()

    def one(mine, lanes):
        mine.state[:] = 0.0
        mine.state[:2] = angles[lanes].T
        mine.set_time(0.0)
        mine.propagate_until(10.0)
        ends[lanes] = mine.state.T

    def some(first):
        mine = copy.copy(ta)
        for i in range(first * width, len(angles), cores() * width):
            lanes = np.arange(i, i + width).clip(max=len(angles) - 1)
            call(
                lambda lanes=lanes: one(mine, lanes),
                lambda: max(result[3] for result in mine.propagate_res),
            )

    def run():
        with ThreadPoolExecutor(cores()) as pool:
            list(pool.map(some, range(cores())))
        return ends

    return run


def heyoka_ensemble(angles):
    """Return a call of heyoka's ensembles, of batches."""
    import heyoka as hy

    width = hy.recommended_simd_size()
    ta = hy.taylor_adaptive_batch(heyoka_equations("hand"), np.zeros((4, width)))

    def generated(ta, i):
        ta.state[:2] = angles[np.arange(i * width, (i + 1) * width).clip(max=len(angles) - 1)].T
        return ta

    return lambda: hy.ensemble_propagate_until_batch(ta, 10.0, -(-len(angles) // width), generated)


def diffrax_vmap(angles):
    """Return a call of Diffrax under vmap, of order 8, compiled before it is measured."""
    import diffrax  # pyright: ignore[reportMissingImports]
    import jax  # pyright: ignore[reportMissingImports]
    import jax.numpy as jnp  # pyright: ignore[reportMissingImports]

    jax.config.update("jax_enable_x64", True)

    term, solver = diffrax.ODETerm(lambda t, s, _: rates(t, s, jnp)), diffrax.Dopri8()
    control = diffrax.PIDController(rtol=1e-12, atol=1e-12)

    def one(s):
        found = diffrax.diffeqsolve(
            term, solver, 0.0, 10.0, 1e-3, s, stepsize_controller=control, max_steps=None
        )
        return found.ys[-1]

    run = jax.jit(jax.vmap(one))
    start = jnp.array(np.hstack([angles, 0 * angles]))
    run(start).block_until_ready()
    return lambda: np.asarray(run(start).block_until_ready())


def motions(count, rows, goals, smoke):
    angles = starts(count)
    first: Any = None
    for what, given, theirs in (
        ("to rounding", {}, {}), ("at 1e-12", {"rtol": 1e-12}, {"tol": 1e-12}),
    ):  # fmt: skip
        run = heyoka_batches("hand", angles, **theirs)
        ours(angles[:512], **given)
        one, other, walls, busy = beside(
            lambda given=given: ours(angles, **given), run, len(angles), 2 if smoke else 5
        )
        rows[f"double pendulum, 10 s {what}: st.sweep"] = one
        rows[f"heyoka's batches on all cores {what}, equations by hand"] = other
        goals.append(at_least(f"heyoka's own batches by hand {what}, times", 1.0, walls))
        goals.append(Goal(f"the same {what}, by processor time", "", f"{busy:.3g}", None))
        first = first or one
    some = angles[:: max(1, count // 10_000)]
    run = heyoka_batches("energies", some)
    rows["heyoka's batches, equations from the energies by its Lagrangian"] = measured(
        run, len(some)
    )
    some = angles[:: max(1, count // 10_000)]
    rows["heyoka's ensemble of batches, equations by hand"] = measured(
        heyoka_ensemble(some), len(some)
    )
    some = angles[:: max(1, count // (3 if smoke else 16))]
    loop = measured(lambda: [by_scipy(s) for s in some], len(some))
    rows["a loop of SciPy's DOP853 at 1e-12"] = loop
    try:
        some = angles[:: max(1, count // (8 if smoke else 1000))]
        run = diffrax_vmap(some)
        rows["Diffrax, vmap of Dopri8 at 1e-12, compiled"] = measured(run, len(some))
    except ImportError:
        print("Diffrax is not installed here")
    noted = {"flip": st.first(abs(theta2) - st.pi), "top": st.most(abs(theta2.dot))}
    some = angles[:: max(1, count // 20_000)]
    rows["st.sweep with a crossing and an extreme"] = measured(lambda: ours(some, noted), len(some))
    goals.append(at_least("a loop of SciPy, times", 300, loop.wall / first.wall))


def at_least(what, wanted, found):
    return Goal(what, f"≥ {wanted:g}", f"{found:.3g}", bool(found >= wanted))


def rests(count, rows, goals, smoke):
    over = st.samples({F: (0, 0.3), k: (1, 2)}, count=count, seed=1)
    st.sweep(st.statics, TRUSS, over={F: np.linspace(0, 0.3, 100)})
    many = measured(lambda: st.sweep(st.statics, TRUSS, over=over), count)
    rows["statics of a truss of three bars: st.sweep"] = many
    loads, springs = over["F"], over["k"]

    def loop():
        for i in range(20 if smoke else 200):
            st.statics(TRUSS, params={F: loads[i], k: springs[i]})

    loop()
    plain = rows["a plain loop of st.statics"] = measured(loop, 20 if smoke else 200)
    goals.append(at_least("a plain loop of st.statics, times", 20, plain.wall / many.wall))


def pushes(count, rows, goals, smoke):
    part = slider()
    heights = np.linspace(-1.5, 1.5, count)
    st.sweep(st.minimum_power, part, over={h: heights[:: max(1, count // 100)]})
    many = measured(lambda: st.sweep(st.minimum_power, part, over={h: heights}), count)
    rows["minimum_power of a slider on 100 points: st.sweep"] = many
    some = heights[:: max(1, count // (20 if smoke else 200))]
    plain = measured(lambda: [st.minimum_power(part, params={h: a}) for a in some], len(some))
    rows["a plain loop of st.minimum_power"] = plain
    found = f"{plain.wall / many.wall:.3g}"
    goals.append(Goal("a plain loop of st.minimum_power, times", "", found, None))


def overhead(on, runs=1024, counts=(16, 64, 256), rounds=5):
    """Return the wall-clock and processor time, in ms, that one more chunk of the same runs takes.

    The work is the same however it is cut, and small beside what all chunks take: the slope of the
    least time over the number of chunks is what a chunk costs by itself.
    """
    over, took = {F: np.linspace(0, 0.3, runs)}, {count: [] for count in counts}
    for _ in range(rounds):
        for count in counts:
            took[count].append(
                measured(
                    lambda count=count: st.sweep(
                        st.statics, TRUSS, over=over, on=on, chunk=runs // count
                    ),
                    1,
                )
            )
    least = [[min(getattr(m, kind) for m in took[n]) for n in counts] for kind in KINDS]
    return [1e3 * float(np.polyfit(counts, times, 1)[0]) for times in least]


def scaling(count, rows, goals, smoke):
    """Twice the work on two workers, beside the work on one; and what a chunk costs by itself."""
    import distributed

    took = {}
    for workers in (1, 2):
        angles = starts(count * workers)
        over = {(theta1, theta2): (angles[:, 0], angles[:, 1])}
        given: Any = dict(span=(0, 10), keep={"end": (theta1, theta2)}, chunk=max(1, count // 8))
        with (
            distributed.LocalCluster(
                n_workers=workers, threads_per_worker=1, dashboard_address=":0", silence_logs=50
            ) as cluster,
            distributed.Client(cluster) as client,
        ):
            # Workers compile, or read, the code before anything is measured.
            warm = {(theta1, theta2): (angles[: 256 * 8, 0], angles[: 256 * 8, 1])}
            st.sweep(st.simulate, PENDULUM, over=warm, on=client, **(given | {"chunk": 256}))
            began = time.perf_counter()
            st.sweep(st.simulate, PENDULUM, over=over, on=client, **given)
            took[workers] = time.perf_counter() - began
            if workers == 2:
                for where, on in (("on Dask, two workers", client), ("in this process", "cpu")):
                    wall, busy = overhead(on, rounds=1 if smoke else 5)
                    goals.append(Goal(f"overhead per chunk {where}", "", f"{wall:.3g} ms", None))
                    if on == "cpu":
                        goals.append(Goal("the same, processor time", "", f"{busy:.3g} ms", None))
    rows[f"{count} motions on one Dask worker"] = Measured(count, took[1] / count, np.nan)
    rows[f"{2 * count} motions on two"] = Measured(2 * count, took[2] / (2 * count), np.nan)
    goals.append(at_least("weak scaling from one Dask worker to two", 0.85, took[1] / took[2]))


def main():
    words = argparse.ArgumentParser(description="Many motions, rests and pushes on all cores.")
    words.add_argument("--smoke", action="store_true", help="few runs: numbers mean nothing")
    words.add_argument("--out", type=Path, help="where the tables are written")
    words.add_argument("--only", nargs="*", default=["motions", "rests", "pushes", "scaling"])
    asked = words.parse_args()
    rows: dict[str, Measured] = {}
    goals: list[Goal] = []
    ours(starts(512))
    parts = {
        "motions": lambda: motions(512 if asked.smoke else 100_000, rows, goals, asked.smoke),
        "rests": lambda: rests(10_000 if asked.smoke else 1_000_000, rows, goals, asked.smoke),
        "pushes": lambda: pushes(1000 if asked.smoke else 100_000, rows, goals, asked.smoke),
        "scaling": lambda: scaling(2048 if asked.smoke else 40_000, rows, goals, asked.smoke),
    }
    for name in asked.only:
        parts[name]()
        print(f"{name}: done", flush=True)
    lines = [f"{platform.processor() or platform.machine()}, {cores()} cores, Python "
             f"{platform.python_version()}", ""]  # fmt: skip
    lines += ["| what | runs | time per run | runs per second | processor time per run |",
              "| --- | ---: | ---: | ---: | ---: |"]  # fmt: skip
    for what, row in rows.items():
        busy = "" if np.isnan(row.processor) else f"{row.processor * 1e3:.4g} ms"
        lines.append(f"| {what} | {row.runs} | {row.wall * 1e3:.4g} ms | {1 / row.wall:,.0f} | "
                     f"{busy} |")  # fmt: skip
    text = "\n".join(lines) + "\n\n" + goals_table(goals).markdown() + "\n"
    print(text)
    if asked.out:
        asked.out.write_text(f"# Many at once\n\n{text}", encoding="utf-8")


if __name__ == "__main__":
    main()
