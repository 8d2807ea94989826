"""JAX: automatic differentiation of traced functions, Diffrax's Dopri8, float64."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks import pendulum
from benchmarks.peers import Peer

# Down to here a smaller tolerance still gives a smaller error.
TOLERANCE = 1e-14


def derive(n: int) -> Any:
    import diffrax
    import jax
    import jax.numpy as jnp
    import jax.scipy.linalg as linalg

    jax.config.update("jax_enable_x64", True)
    # Even what compiles fast goes to the persistent cache.
    jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.0)
    jax.config.update("jax_persistent_cache_min_entry_size_bytes", -1)

    # Cumulative sums instead of `pendulum.energies`: as arrays the trace stays short at every size.
    def kinetic(q, v, p):
        m, length, _ = p
        across = jnp.cumsum(length * jnp.cos(q) * v)
        along = jnp.cumsum(length * jnp.sin(q) * v)
        return m * jnp.sum(across**2 + along**2) / 2

    def lagrangian(q, v, p):
        m, length, g = p
        return kinetic(q, v, p) + m * g * jnp.sum(jnp.cumsum(length * jnp.cos(q)))

    momentum = jax.grad(kinetic, 1)

    def rates(t, y, p):
        q, v = y
        mass = jax.jacfwd(momentum, 1)(q, v, p)
        _, drift = jax.jvp(lambda q: momentum(q, v, p), (q,), (v,))
        force = jax.grad(lagrangian)(q, v, p) - drift
        return v, linalg.cho_solve(linalg.cho_factor(mass), force)

    def motion(y, p):
        solved = diffrax.diffeqsolve(
            diffrax.ODETerm(rates), diffrax.Dopri8(), 0.0, pendulum.LAST, None, y, p,
            saveat=diffrax.SaveAt(ts=jnp.asarray(pendulum.times())),
            stepsize_controller=diffrax.PIDController(rtol=TOLERANCE, atol=TOLERANCE),
            max_steps=1_000_000, throw=False,
        )  # fmt: skip
        return jnp.concatenate(solved.ys, axis=1)

    y = tuple(jnp.asarray(part) for part in np.split(pendulum.start(n), 2))
    p = tuple(jnp.asarray(value) for value in pendulum.PARAMETERS.values())
    return jax.jit(motion).lower(y, p), y, p


def compile(derived: Any):
    lowered, y, p = derived
    compiled = lowered.compile()

    def run() -> np.ndarray:
        return np.asarray(compiled(y, p))

    return run


PEERS = [
    Peer(
        "JAX + Diffrax Dopri8",
        ("jax", "diffrax"),
        derive,
        compile,
        cached=True,
        note=f"float64, tolerance {TOLERANCE:g}; derive is the trace",
    )
]
