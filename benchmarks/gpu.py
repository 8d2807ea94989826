"""Many motions on one GPU: ``python -m benchmarks.gpu [results.md]``, where there is a card.

Rates are of the kernel alone (events of the device) and of the whole call, `st.sweep` included.
"""

from __future__ import annotations

import statistics
import sys
import time
from typing import Any

import numpy as np

import stationary as st
from stationary.many.engines import compiled, cuda, plain
from tests.many.random_sweeps import question

ROWS: list[tuple[str, str]] = []


def say(what: str, value: str) -> None:
    ROWS.append((what, value))
    print(f"{what}: {value}", flush=True)


theta1, theta2 = st.coordinates("theta1 theta2")
X1, Y1 = st.sin(theta1), -st.cos(theta1)
PENDULUM = st.particle(1.0, at=(X1, Y1), gravity=9.81) + st.particle(
    1.0, at=(X1 + st.sin(theta2), Y1 - st.cos(theta2)), gravity=9.81
)
x, y, z = st.coordinates("x y z")
rho = st.parameters(rho=28.0)
LORENZ = st.System(
    kinetic=(x.dot**2 + y.dot**2 + z.dot**2) / 2,
    loads=[
        st.Load(10 * (y.dot - x.dot), on=x),
        st.Load(x.dot * (rho - z.dot) - y.dot, on=y),
        st.Load(x.dot * y.dot - 8 * z.dot / 3, on=z),
    ],
)


def kernel_time(asked, repeats=5):
    """Return milliseconds of the kernel alone, the median, and the steps that it took."""
    import cupy  # pyright: ignore[reportMissingImports]

    count = len(asked.design)
    motions, made, arrays = compiled.inputs_of(asked, 0, count)
    sent = {key: cupy.asarray(value) for key, value in arrays.items()}
    took: list[float] = []
    out: Any = None
    status: Any = None
    steps: Any = None
    for _ in range(repeats + 1):
        begin, end = cupy.cuda.Event(), cupy.cuda.Event()
        begin.record()
        out, status, steps = cuda.launched(motions, made, sent, compiled.settings(asked), count)
        end.record()
        end.synchronize()
        took.append(cupy.cuda.get_elapsed_time(begin, end))
    lost = int((status >= 2).sum())
    return statistics.median(took[1:]), int(steps.astype(np.int64).sum()), lost, out.get()


def ask(system, over, keep, **given):
    from stationary.many.design import as_design
    from stationary.many.keep import as_keeps
    from stationary.many.question import as_question

    keeps = as_keeps(keep, "simulate", system)
    return as_question(st.simulate, system, as_design(over), keeps, given)


def square(side):
    line = np.linspace(-3, 3, side)
    return {theta1: line, theta2: line}


def fixed():
    asked = ask(PENDULUM, square(2000), {"end": (theta1, theta2)}, span=(0, 10),
                method=st.RK4(step=0.01))  # fmt: skip
    took, steps, _, _ = kernel_time(asked)
    rate = steps / took * 1e3
    say("double pendulum, RK4, double precision", f"{rate:.3g} steps/s (4e6 runs, {took:.0f} ms)")
    return rate


def adaptive(side=3163):
    keep = {"end": (theta1, theta2)}
    asked = ask(PENDULUM, square(side), keep, span=(0, 10), rtol=1e-12, atol=1e-12)
    took, steps, lost, _ = kernel_time(asked, 2)
    count = side**2
    say(f"{count:.3g} double pendulums, 10 s at 1e-12, kernel", f"{took / 1e3:.2f} s, "
        f"{steps / count:.0f} steps each, {lost} asked again by themselves")  # fmt: skip
    began = time.perf_counter()
    runs = st.sweep(st.simulate, PENDULUM, over=square(side), keep=keep, span=(0, 10), rtol=1e-12,
                    atol=1e-12, on="cuda")  # fmt: skip
    say(
        "the same, the whole call of st.sweep",
        f"{time.perf_counter() - began:.2f} s; {runs.done.sum()} done",
    )


def lorenz():
    count = 8_388_608
    asked = ask(LORENZ, {rho: np.linspace(0, 21, count)}, {"x": x.dot}, span=(0, 10),
                start={x.dot: 10.0, y.dot: 10.0, z.dot: 10.0},
                method=st.RK4(step=0.01, single=True))  # fmt: skip
    took, steps, _, _ = kernel_time(asked)
    say("Lorenz, 8 388 608 runs × 1000 RK4 steps, single precision", f"{took:.1f} ms "
        f"({steps / took * 1e3:.3g} steps/s; MPGOS on a V100: 94 ms)")  # fmt: skip


def flips(side=1000):
    asked: Any = dict(over=square(side), span=(0, 30), rtol=1e-9, atol=1e-9, on="cuda")
    began = time.perf_counter()
    runs = st.sweep(st.simulate, PENDULUM, keep={"flip": st.first(abs(theta2) - st.pi)}, **asked)
    say(
        f"flip times, {side} × {side}, 30 s", f"{time.perf_counter() - began:.2f} s, the whole call"
    )
    return runs


def peer(how, steps=1000, count=1 << 20):
    """The same pendulums by jax.vmap: from the energies, as here, or from equations by hand."""
    import jax  # pyright: ignore[reportMissingImports]
    import jax.numpy as jnp  # pyright: ignore[reportMissingImports]

    jax.config.update("jax_enable_x64", True)

    def lagrangian(q, v):
        (a, b), (u, w) = q, v
        T = u**2 + w**2 / 2 + u * w * jnp.cos(a - b)
        return T + 9.81 * (2 * jnp.cos(a) + jnp.cos(b))

    def derived(s):
        q, v = s[:2], s[2:]
        M = jax.hessian(lagrangian, 1)(q, v)
        C = jax.jacobian(jax.grad(lagrangian, 1), 0)(q, v)
        return jnp.concatenate([v, jnp.linalg.solve(M, jax.grad(lagrangian)(q, v) - C @ v)])

    def written(s):
        a, b, u, v = s
        d = a - b
        den = 2 - jnp.cos(d) ** 2
        g = 9.81
        du = (-(u**2) * jnp.sin(d) * jnp.cos(d) + g * jnp.sin(b) * jnp.cos(d)
              - v**2 * jnp.sin(d) - 2 * g * jnp.sin(a)) / den  # fmt: skip
        dv = (v**2 * jnp.sin(d) * jnp.cos(d) + 2 * (g * jnp.sin(a) * jnp.cos(d)
              + u**2 * jnp.sin(d) - g * jnp.sin(b))) / den  # fmt: skip
        return jnp.array([u, v, du, dv])

    h, rates = 0.01, {"energies": derived, "hand": written}[how]

    def step(_, s):
        k1 = rates(s)
        k2 = rates(s + h / 2 * k1)
        k3 = rates(s + h / 2 * k2)
        k4 = rates(s + h * k3)
        return s + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)

    run = jax.jit(jax.vmap(lambda s: jax.lax.fori_loop(0, steps, step, s)))
    side = int(count**0.5)
    line = np.linspace(-3, 3, side)
    a, b = np.meshgrid(line, line, indexing="ij")
    start = jnp.array(np.stack([a.ravel(), b.ravel(), 0 * a.ravel(), 0 * a.ravel()], 1))
    run(start).block_until_ready()
    began = time.perf_counter()
    out = np.asarray(run(start).block_until_ready())
    rate = side**2 * steps / (time.perf_counter() - began)
    told = {"energies": "from the same energies", "hand": "from equations written by hand"}[how]
    say(f"jax.vmap, {told}", f"{rate:.3g} steps/s")
    asked = ask(PENDULUM, square(side), {"end": (theta1, theta2)}, span=(0, 1.0),
                method=st.RK4(step=0.01))  # fmt: skip
    short = jax.jit(jax.vmap(lambda s: jax.lax.fori_loop(0, 100, step, s)))
    ours = kernel_time(asked, 1)[3]
    worst = np.abs(np.asarray(short(start))[:, :2].T - ours).max()
    say("largest difference after 100 steps", f"{worst:.1e}")
    return rate, out


def compared(seed):
    """Return how far the GPU is from the same program in C on a random system, or a complaint."""
    asked = question(seed, rtol=1e-12, atol=1e-13)
    if compiled.refuses_program(asked) is not None:
        return f"{seed} is refused: {compiled.refuses_program(asked)}"
    ours, theirs = cuda.compute(asked, 0, 4), compiled.compute(asked, 0, 4)
    worst = 0.0
    if ours.status != theirs.status:
        return f"{seed} ends otherwise: {ours.status}, {theirs.status}"
    for name, rows in theirs.kept.items():
        if not np.array_equal(np.isnan(rows), np.isnan(ours.kept[name])):
            return f"{seed} keeps otherwise: {name}"
        worst = max(worst, float(np.nanmax(np.abs(ours.kept[name] - rows), initial=0.0)))
    return worst


def agreement(seeds=200):
    import multiprocessing

    # Compiling takes longest: one process per core.
    with multiprocessing.get_context("spawn").Pool(12) as pool:
        found = pool.map(compared, range(seeds), chunksize=4)
    for complaint in (f for f in found if isinstance(f, str)):
        say("differs", complaint)
    worst = max(f for f in found if not isinstance(f, str))
    say(f"GPU against the same program in C on {seeds} random systems", f"differs by {worst:.1e}")
    asked = question(0, rtol=1e-12, atol=1e-13)
    theirs = plain.compute(asked, 0, 4)
    ours = cuda.compute(asked, 0, 4)
    far = max(np.nanmax(np.abs(ours.kept[n] - r), initial=0.0) for n, r in theirs.kept.items())
    say("GPU against simulate on one of them", f"differs by {far:.1e}")


def main(path=None, picture=None):
    say("card", cuda.name())
    agreement()
    rate = fixed()
    lorenz()
    adaptive()
    runs = flips()
    if picture:
        np.savez_compressed(picture, flip=np.asarray(runs["flip"]).astype(np.float16))
    try:
        for how in ("energies", "hand"):
            other, _ = peer(how)
            say("ours over it", f"{rate / other:.1f}")
    except ImportError:
        say("jax.vmap", "not installed")
    if path:
        with open(path, "w", encoding="utf-8") as file:
            file.write("# Many motions on one GPU\n\n| what | measured |\n| --- | --- |\n")
            file.writelines(f"| {what} | {value} |\n" for what, value in ROWS)


if __name__ == "__main__":
    main(*sys.argv[1:])
