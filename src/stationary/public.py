"""What users type: everything that ``import stationary as st`` offers.

What states a system and moves it is imported at once, the rest when it is first asked for.
"""

from typing import TYPE_CHECKING

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

from stationary.derive.principle import equations
from stationary.errors import (
    CompileError,
    DerivationError,
    DidNotConverge,
    MissingExtra,
    NoMotion,
    StatementError,
    StationaryError,
)
from stationary.lower.kernel import Compiled, compile
from stationary.model import views
from stationary.model.arrays import Array, coordinates
from stationary.model.continuum import Continuum
from stationary.model.drawing import Part
from stationary.model.each import each, norm
from stationary.model.fields import Field, Position, field, positions
from stationary.model.parts import damper, mechanism, particle, rod, spring
from stationary.model.space.bodies import body
from stationary.model.space.frames import Frame
from stationary.model.space.joints import joint, moment
from stationary.model.space.rolling import rolling
from stationary.model.space.rotation import rotation
from stationary.model.space.shapes import Box, Cylinder, Rod, Sphere
from stationary.model.symbols import (
    Coordinate,
    Input,
    Parameter,
    Velocity,
    inputs,
    parameters,
    rate,
    t,
)
from stationary.model.system import System
from stationary.model.terms import Constraint, Contact, Drag, Friction, Load, Pfaffian
from stationary.result.fields import FieldFunction
from stationary.result.motion import Motion
from stationary.result.state import State
from stationary.solve.consistent import consistent
from stationary.solve.integrators import BDF, Runge, Taylor, Variational
from stationary.solve.motion.dynamics import simulate
from stationary.solve.motion.events import Event
from stationary.solve.motion.stabilize import Baumgarte, Projection

if TYPE_CHECKING:
    from stationary.browser.page import live
    from stationary.derive.check import check
    from stationary.derive.discretize import discretize, ritz
    from stationary.derive.hamilton import hamilton
    from stationary.derive.potential import potential_of
    from stationary.derive.scope import minimum_power_holds
    from stationary.io.model_file import Model, load
    from stationary.io.writer import save
    from stationary.many.design import Design, normal, samples
    from stationary.many.fixed_steps import RK4
    from stationary.many.keep import first, least, mean, most, values
    from stationary.many.run import sweep
    from stationary.many.runs import Runs
    from stationary.many.store import open
    from stationary.model.push import Push
    from stationary.model.slider import Pusher, slider
    from stationary.plot.style import look
    from stationary.result.diagram import Diagram
    from stationary.result.equilibrium import Equilibrium
    from stationary.result.limits import LimitLoad, LimitSurface
    from stationary.result.modes import Modes
    from stationary.result.pressure import Pressure, PressureBounds
    from stationary.result.quadrics import FittedSurface, fit_limit_surface
    from stationary.result.slide import Slide
    from stationary.result.speed_limit import SpeedLimit
    from stationary.result.statespace import StateSpace
    from stationary.result.step import Step
    from stationary.result.touched import Touched
    from stationary.result.weighed import FittedPressure
    from stationary.solve.continuation.continuation import continuation
    from stationary.solve.pressure.bounds.bounds import pressure_bounds
    from stationary.solve.pressure.weighing.fit import fit_pressure
    from stationary.solve.rest.equilibria import equilibria
    from stationary.solve.rest.statics import statics
    from stationary.solve.sliding.instant.force_balance import newton
    from stationary.solve.sliding.instant.least_power import minimum_dissipation, minimum_power
    from stationary.solve.sliding.limits.load import limit_load, limit_surface
    from stationary.solve.sliding.limits.speed import quasistatic_error
    from stationary.solve.sliding.over_time.evolution import quasistatics
    from stationary.solve.small_motions.linearize import linearize
    from stationary.solve.small_motions.modes import modes
    from stationary.solve.touch.method import Touch
    from stationary.solve.touch.moreau import Moreau

#: Where to find what is imported late.
LATE = {
    name: module
    for module, names in {
        "stationary.derive.check": "check",
        "stationary.derive.discretize": "discretize ritz",
        "stationary.derive.hamilton": "hamilton",
        "stationary.derive.potential": "potential_of",
        "stationary.derive.scope": "minimum_power_holds",
        "stationary.io.model_file": "Model load",
        "stationary.io.writer": "save",
        "stationary.model.push": "Push",
        "stationary.model.slider": "Pusher slider",
        "stationary.plot.style": "look",
        "stationary.result.diagram": "Diagram",
        "stationary.result.equilibrium": "Equilibrium",
        "stationary.result.limits": "LimitLoad LimitSurface",
        "stationary.result.modes": "Modes",
        "stationary.result.pressure": "Pressure PressureBounds",
        "stationary.result.quadrics": "FittedSurface fit_limit_surface",
        "stationary.result.slide": "Slide",
        "stationary.result.statespace": "StateSpace",
        "stationary.result.step": "Step",
        "stationary.result.weighed": "FittedPressure",
        "stationary.result.touched": "Touched",
        "stationary.solve.continuation.continuation": "continuation",
        "stationary.solve.rest.equilibria": "equilibria",
        "stationary.solve.small_motions.modes": "modes",
        "stationary.solve.pressure.bounds.bounds": "pressure_bounds",
        "stationary.solve.pressure.weighing.fit": "fit_pressure",
        "stationary.solve.sliding.instant.force_balance": "newton",
        "stationary.solve.sliding.over_time.evolution": "quasistatics",
        "stationary.solve.sliding.limits.load": "limit_load limit_surface",
        "stationary.solve.sliding.instant.least_power": "minimum_dissipation minimum_power",
        "stationary.result.speed_limit": "SpeedLimit",
        "stationary.solve.sliding.limits.speed": "quasistatic_error",
        "stationary.solve.small_motions.linearize": "linearize",
        "stationary.solve.rest.statics": "statics",
        "stationary.browser.page": "live",
        "stationary.many.design": "Design normal samples",
        "stationary.many.fixed_steps": "RK4",
        "stationary.many.keep": "first least mean most values",
        "stationary.many.run": "sweep",
        "stationary.many.runs": "Runs",
        "stationary.many.store": "open",
        "stationary.solve.touch.method": "Touch",
        "stationary.solve.touch.moreau": "Moreau",
    }.items()
    for name in names.split()
}

# Pictures are drawn by what is imported when one is first asked for.
views.drawn_by("stationary.plot")
views.drawn_by("stationary.browser.page")

__all__ = [
    "Abs",
    "Array",
    "BDF",
    "Baumgarte",
    "Box",
    "CompileError",
    "Compiled",
    "Constraint",
    "Contact",
    "Continuum",
    "Coordinate",
    "Cylinder",
    "DerivationError",
    "Design",
    "Diagram",
    "DidNotConverge",
    "Drag",
    "Equilibrium",
    "Event",
    "Field",
    "FieldFunction",
    "FittedPressure",
    "FittedSurface",
    "Frame",
    "Friction",
    "Input",
    "LimitLoad",
    "LimitSurface",
    "Load",
    "Max",
    "Min",
    "MissingExtra",
    "Model",
    "Modes",
    "Moreau",
    "Motion",
    "NoMotion",
    "Parameter",
    "Part",
    "Pfaffian",
    "Piecewise",
    "Position",
    "Pressure",
    "PressureBounds",
    "Projection",
    "Push",
    "Pusher",
    "RK4",
    "Rod",
    "Runge",
    "Runs",
    "Slide",
    "SpeedLimit",
    "Sphere",
    "State",
    "StateSpace",
    "StatementError",
    "StationaryError",
    "Step",
    "System",
    "Taylor",
    "Touch",
    "Touched",
    "Variational",
    "Velocity",
    "acos",
    "asin",
    "atan",
    "atan2",
    "body",
    "check",
    "compile",
    "consistent",
    "continuation",
    "coordinates",
    "cos",
    "cosh",
    "damper",
    "discretize",
    "each",
    "equations",
    "equilibria",
    "exp",
    "field",
    "first",
    "fit_limit_surface",
    "fit_pressure",
    "hamilton",
    "inputs",
    "joint",
    "least",
    "limit_load",
    "limit_surface",
    "linearize",
    "live",
    "load",
    "log",
    "look",
    "mean",
    "mechanism",
    "minimum_dissipation",
    "minimum_power",
    "minimum_power_holds",
    "modes",
    "moment",
    "most",
    "newton",
    "norm",
    "normal",
    "open",
    "parameters",
    "particle",
    "pi",
    "positions",
    "potential_of",
    "pressure_bounds",
    "quasistatic_error",
    "quasistatics",
    "rate",
    "ritz",
    "rod",
    "rolling",
    "rotation",
    "samples",
    "save",
    "sign",
    "simulate",
    "sin",
    "sinh",
    "slider",
    "spring",
    "sqrt",
    "statics",
    "sweep",
    "t",
    "tan",
    "tanh",
    "values",
]
