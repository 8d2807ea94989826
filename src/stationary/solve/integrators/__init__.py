"""Integrators: one file each."""

from typing import Any

from stationary.errors import StatementError, did_you_mean
from stationary.lower.kernel import AbstractKernel
from stationary.solve.integrators.bdf import BDF
from stationary.solve.integrators.runge import Runge
from stationary.solve.integrators.taylor import Taylor, has_series
from stationary.solve.integrators.variational import Variational
from stationary.solve.motion.ode import AbstractIntegrator

__all__ = ["BDF", "Runge", "Taylor", "Variational", "chosen", "has_series"]


def chosen(method: Any, kernel: AbstractKernel) -> AbstractIntegrator:
    """Return the integrator that is asked for, or the one that suits a system."""
    if isinstance(method, AbstractIntegrator):
        return method
    if method != "auto":
        names = ["auto", "Taylor()", "BDF()", "Runge()", "Variational()"]
        given = f"the class {method.__name__}" if isinstance(method, type) else repr(str(method))
        near = method.__name__ if isinstance(method, type) else str(method).capitalize()
        raise StatementError(
            "method must be 'auto', Taylor(), BDF(), Runge() or Variational().",
            f"Found {given}.{did_you_mean(near + '()', names)}",
            "Pass 'auto' or an integrator, as in method=st.BDF().",
        )
    return Taylor() if has_series(kernel) else Runge()
