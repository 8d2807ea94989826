"""Integrators: one file each."""

from stationary.solve.integrators.bdf import BDF
from stationary.solve.integrators.runge import Runge
from stationary.solve.integrators.taylor import Taylor, has_series
from stationary.solve.integrators.variational import Variational

__all__ = ["BDF", "Runge", "Taylor", "Variational", "has_series"]
