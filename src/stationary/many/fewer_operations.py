"""The same statement in fewer operations, where many motions share the price of finding it."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache

import sympy as sp
from sympy.simplify.fu import TR8

from stationary.lower.kernel import graph_of
from stationary.model.system import System

# Longer kinetic energies are left as they are: multiplied out they only grow.
_LONGEST = 400


@lru_cache(maxsize=32)
def lighter(system: System) -> System:
    """Return a system with products of sines and cosines in T as those of sums, if that is shorter.

    The speeds of points that angles move have squares in which sin a sin b + cos a cos b stands for
    cos(a − b): half the operations of a double pendulum.
    """
    T = system.kinetic
    turns = isinstance(T, sp.Expr) and len(T.atoms(sp.sin, sp.cos)) > 1
    if not turns or system.mechanism or sp.count_ops(T) > _LONGEST:
        return system
    if graph_of(system).chained is not None:
        return system
    summed = sp.expand(TR8(sp.expand(T)))
    if sp.count_ops(summed) >= sp.count_ops(T):
        return system
    shorter = replace(system, kinetic=summed)
    same = shorter.coordinates == system.coordinates and shorter.inputs == system.inputs
    return shorter if same and shorter.parameters == system.parameters else system
