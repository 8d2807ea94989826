"""Variational mechanics: write the energies, get the mechanics.

>>> theta = st.coordinates("theta")
>>> m, l, g = st.parameters(m=1.0, l=1.0, g=9.81)
>>> pendulum = st.System(
...     kinetic=m * l**2 * theta.dot**2 / 2, potential=m * g * l * (1 - st.cos(theta))
... )
>>> print(st.equations(pendulum))
Equations of motion
  theta: l**2*m*theta.ddot + g*l*m*sin(theta) = 0
>>> st.simulate(pendulum, span=(0, 1), start={theta: 0.1}).status
'done'
"""

import functools
import importlib
import os
import sys
import typing

__version__ = "0.1.0"

if typing.TYPE_CHECKING:
    from stationary.public import *  # noqa: F403
    from stationary.public import __all__  # noqa: F401


@functools.cache
def _begin() -> dict[str, str]:
    """Import what is imported at once; return where to find the rest."""
    # Not ``from stationary import public``: that asks `__getattr__` first.
    public = importlib.import_module("stationary.public")
    known = {name: getattr(public, name) for name in public.__all__ if name not in public.LATE}
    globals().update(known, __all__=public.__all__)
    return public.LATE


def __getattr__(name: str) -> typing.Any:
    """Import what is asked for."""
    late = _begin()
    if name in late:
        globals()[name] = getattr(importlib.import_module(late[name]), name)
    if name not in globals():
        from stationary.errors import did_you_mean

        known = globals()["__all__"]
        raise AttributeError(f"stationary has no '{name}'.{did_you_mean(name, known)}", name=name)
    return globals()[name]


def __dir__() -> list[str]:
    return sorted({*globals(), *__getattr__("__all__")})


# The command ``stationary``, or ``python -m stationary``, answers ``--help`` without waiting; who
# imports the package is going to use it.
if os.path.basename(sys.argv[0] if sys.argv else "") not in ("stationary", "stationary.exe", "-m"):
    _begin()
