"""Variational mechanics: write the energies, get the mechanics."""

from sympy import (
    Abs,
    Max,
    Min,
    Piecewise,
    acos,
    asin,
    atan,
    atan2,
    cos,
    cosh,
    exp,
    log,
    pi,
    sign,
    sin,
    sinh,
    sqrt,
    tan,
    tanh,
)

from stationary.errors import (
    CompileError,
    DerivationError,
    DidNotConverge,
    MissingExtra,
    StatementError,
    StationaryError,
)
from stationary.lower.kernel import Compiled, compile
from stationary.model.each import each, norm
from stationary.model.parts import body, damper, mechanism, particle, rod, spring
from stationary.model.symbols import coordinates, inputs, parameters, rate, t
from stationary.model.system import System
from stationary.model.terms import Constraint, Contact, Drag, Friction, Load, Pfaffian
from stationary.result.motion import Motion
from stationary.solve.dynamics import simulate
from stationary.solve.events import Event
from stationary.solve.integrators import BDF, Runge, Taylor
