"""Forces of inertia by Christoffel's symbols: fewer operations where the mass matrix is short."""

from __future__ import annotations

from typing import Any

import casadi as ca

# With more coordinates there are too many symbols to be worth a look.
_MOST = 16


def inertial_force(T: Any, t: Any, z: Any, w: Any) -> Any:
    """Return ∂T/∂z − d/dt ∂T/∂w without accelerations, the shorter of two ways to write it.

    What automatic differentiation writes contains ∂Mᵢⱼ/∂zₖ wⱼ wₖ several times, with both signs.
    The symbols ½(∂Mᵢⱼ/∂zₖ + ∂Mᵢₖ/∂zⱼ − ∂Mⱼₖ/∂zᵢ) contain it once.
    """
    momentum = ca.gradient(T, w)
    written = ca.gradient(T, z) - ca.jtimes(momentum, z, w) - ca.jacobian(momentum, t)
    M = ca.jacobian(momentum, w, {"symmetric": True})
    if z.numel() > _MOST or ca.depends_on(M, w):
        return written
    at_rest = ca.SX.zeros(w.numel())
    # T = wᵀMw/2 + b·w + c: the last two remain as they are.
    b, c = (ca.substitute(e, w, at_rest) for e in (momentum, T))
    rest = ca.dot(b, w) + c
    drift = ca.jtimes(b, z, w) + ca.jacobian(b, t) + ca.mtimes(_slope(M, t), w)
    symbols = ca.gradient(rest, z) - drift - _quadratic(M, z, w)
    return min((written, symbols), key=_operations)


def _slope(M: Any, x: Any) -> Any:
    return ca.reshape(ca.jacobian(ca.vec(ca.densify(M)), x), *M.shape)


def _quadratic(M: Any, z: Any, w: Any) -> Any:
    """Return Σ Γᵢⱼₖ wⱼ wₖ, every pair of velocities multiplied once."""
    n = z.numel()
    slopes = ca.jacobian(ca.vec(ca.densify(M)), z)
    forces = ca.SX.zeros(n)

    def slope(i: int, j: int, k: int) -> Any:
        return slopes[min(i, j) * n + max(i, j), k]

    for j in range(n):
        for k in range(j, n):
            pair = w[j] * w[k]
            for i in range(n):
                if j == k:
                    symbol = slope(i, i, i) / 2 if i == j else slope(i, j, j) - slope(j, j, i) / 2
                elif i in (j, k):
                    symbol = slope(i, i, j + k - i)
                else:
                    symbol = slope(i, j, k) + slope(i, k, j) - slope(j, k, i)
                forces[i] += symbol * pair
    return forces


def _operations(e: Any) -> int:
    return ca.Function("operations", ca.symvar(e), [e], {"cse": True}).n_instructions()
