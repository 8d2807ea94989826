"""Variational mechanics: write the energies, get the mechanics.

>>> theta = st.coordinates("theta")
>>> m, l, g = st.parameters(m=1.0, l=1.0, g=9.81)
>>> pendulum = st.System(
...     kinetic=m * l**2 * theta.dot**2 / 2, potential=m * g * l * (1 - st.cos(theta))
... )
>>> print(st.equations(pendulum))
g*l*m*sin(theta) + l**2*m*theta.ddot = 0
>>> st.simulate(pendulum, span=(0, 1), start={theta: 0.1}).status
'done'
"""

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

from stationary.derive.lagrange import equations
from stationary.errors import (
    CompileError,
    DerivationError,
    DidNotConverge,
    MissingExtra,
    StatementError,
    StationaryError,
)
from stationary.lower.kernel import Compiled, compile
from stationary.model.arrays import Array
from stationary.model.each import each, norm
from stationary.model.parts import body, damper, mechanism, particle, rod, spring
from stationary.model.symbols import (
    Coordinate,
    Input,
    Parameter,
    Velocity,
    coordinates,
    inputs,
    parameters,
    rate,
    t,
)
from stationary.model.system import System
from stationary.model.terms import Constraint, Contact, Drag, Friction, Load, Pfaffian
from stationary.result.motion import Motion
from stationary.solve.consistent import State, consistent
from stationary.solve.dynamics import simulate
from stationary.solve.events import Event
from stationary.solve.integrators import BDF, Runge, Taylor, Variational
from stationary.solve.stabilize import Baumgarte, Projection

__version__ = "0.1.0"
__all__ = [
    "BDF",
    "Abs",
    "Array",
    "Baumgarte",
    "CompileError",
    "Compiled",
    "Constraint",
    "Contact",
    "Coordinate",
    "DerivationError",
    "DidNotConverge",
    "Drag",
    "Event",
    "Friction",
    "Input",
    "Load",
    "Max",
    "Min",
    "MissingExtra",
    "Motion",
    "Parameter",
    "Pfaffian",
    "Piecewise",
    "Projection",
    "Runge",
    "State",
    "StatementError",
    "StationaryError",
    "System",
    "Taylor",
    "Variational",
    "Velocity",
    "acos",
    "asin",
    "atan",
    "atan2",
    "body",
    "compile",
    "consistent",
    "coordinates",
    "cos",
    "cosh",
    "damper",
    "each",
    "equations",
    "exp",
    "inputs",
    "log",
    "mechanism",
    "norm",
    "parameters",
    "particle",
    "pi",
    "rate",
    "rod",
    "sign",
    "simulate",
    "sin",
    "sinh",
    "spring",
    "sqrt",
    "t",
    "tan",
    "tanh",
]
