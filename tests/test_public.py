"""What users type: documented, with examples that run, in one vocabulary."""

import ast
import doctest
import enum
import inspect
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import stationary
import stationary.public

# One word for one thing: the name of every argument in the public surface, and what it stands for.
GLOSSARY = {
    # states
    "t": "time",
    "q": "coordinates",
    "v": "velocities",
    "a": "accelerations",
    "lam": "multipliers: the forces of constraint",
    "p": "values of the parameters",
    # symbols
    "names": "names of new symbols, separated by spaces",
    "shape": "shape of an array of coordinates, or of a body",
    "table": "rows over which a term repeats",
    "i": "number of a row",
    "quaternion": "four coordinates that are an orientation, the real one first",
    "defaults": "a parameter's name and its default value",
    # statement of a system
    "system": "the system that the question is about",
    "kinetic": "T, the kinetic energy",
    "potential": "U, the potential energy",
    "work": "W, whose gradient is a force",
    "loads": "terms that do virtual work",
    "dissipation": "D, whose gradient by velocity opposes the motion",
    "friction": "terms of friction, or the coefficient of friction of a contact",
    "constraints": "expressions R(q, t) that vanish",
    "pfaffian": "expressions linear in the velocities that vanish",
    "contacts": "gaps that never close beyond zero",
    "coordinates": "the coordinates, in order",
    "name": "what to call a system or a term",
    # terms
    "force": "a generalised force",
    "on": "the expression whose variation the force works on",
    "limit": "the greatest force of dry friction",
    "eta": "the coefficient of drag",
    "power": "the power of the speed in a law of drag",
    "R": "the expression of a constraint",
    "expr": "an expression of coordinates, velocities, parameters and time",
    "gap": "distance between two surfaces",
    "slip": "displacement along a contact",
    "restitution": "how much of its speed a contact gives back at an impact",
    "static": "the limit of dry friction at rest",
    "prefer": "which of several modes of contact to take",
    "smooth": "the integrator between changes of contact",
    # parts
    "m": "mass",
    "inertia": "moment of inertia, or the inertia of each displacement",
    "at": "where or when: a place, an instant or a state",
    "angle": "orientation of a body",
    "frame": "what a body moves with",
    "floating": "whether the first link of a robot is free",
    "b": "the second of two frames",
    "axis": "a direction in a frame",
    "along": "the direction that is asked for",
    "by": "how far a frame is moved",
    "about": "the axis of a turn, or the turn itself",
    "size": "edges of a box",
    "value": "components of a moment",
    "against": "what a moment reacts on",
    "gravity": "acceleration of gravity",
    "k": "stiffness",
    "c": "coefficient of viscous damping",
    "between": "the two points that a part joins",
    "rest": "length or angle of a spring without force",
    "touch": "where on its edge a disc touches",
    "P": "the first point",
    "Q": "the second point",
    "length": "distance between two points",
    "x": "displacements of a mechanism as functions of its coordinates",
    "weights": "friction limit of each point",
    "outline": "the polygon around a part",
    "radius": "radius of what is round",
    "poses": "recorded places and angles of a part",
    "tip": "recorded places of a finger",
    "far": "how far one push goes",
    "weight": "friction limit of a whole part whose pressure is left open",
    "centre": "where the pressure of a part has its resultant",
    "of": "what is bounded",
    "pushes": "measured pushes of a part",
    "noise": "standard errors of measured displacements and angles",
    "prove": "how much wider than what is attained a proven interval may be",
    "motion": "how a pushed part moved",
    "before": "pose of a part before a push",
    "after": "pose of a part after a push",
    "finger": "how the finger of a push moved",
    "support": "where a part may rest on its table",
    "pressure": "pressure over the outline of a part",
    "pusher": "what pushes a part",
    "point": "where a pusher is",
    "edge": "two points of a part between which a pusher touches it",
    "corner": "the point of a part that a fence touches",
    "normal": "direction in which a fence pushes",
    "phi": "angle of a rigid part",
    "part": "a rigid part",
    "twist": "velocities of a rigid part",
    "wrench": "two forces and a moment on a rigid part",
    "wrenches": "forces and moments, one per row",
    "twists": "velocities of a rigid part, one per row",
    # repetition
    "function": "what is done with each row",
    "tables": "arrays whose rows are visited together",
    # questions
    "start": "initial state or first guess",
    "span": "first and last time, or range of a parameter",
    "params": "values of parameters",
    "inputs": "values of inputs",
    "points": "how many instants to report, or the points of a rigid part",
    "method": "the algorithm, as an object with its settings",
    "rtol": "relative tolerance",
    "atol": "absolute tolerance",
    "throw": "whether a failure raises or is reported in the status",
    "events": "expressions whose zeros are recorded",
    "terminal": "whether an event ends the motion",
    "direction": "the sign of the crossing that counts as an event",
    "action": "new values that an event gives to coordinates and velocities",
    "kind": "which equilibria to accept, or which kind of joint",
    "within": "range of each coordinate to search",
    "parameter": "the parameter that is freed",
    "load": "the load that is scaled",
    "speed": "the parameter that drives a motion",
    "travel": "how far a driver goes",
    "level": "the error that is still accepted",
    "guess": "an answer nearby",
    "refuse": "whether what a principle does not cover is refused",
    "stiffness": "of the springs in the place of constraints",
    "repair": "whether an inconsistent start is mended or refused",
    "stabilize": "how constraints are kept",
    "alpha": "decay rate of a constraint's violation",
    "step": "size of a time step",
    "count": "how many to find",
    # many at once
    "verb": "the question that is asked many times",
    "keep": "what is kept of every run",
    "store": "where runs are written as they are computed",
    "chunk": "how many runs are computed together",
    "ranges": "between what samples are spread",
    "run": "one of many, counted from zero",
    "runs": "some of many, counted from zero",
    "single": "whether numbers have seven digits",
    "seed": "what makes samples the same again",
    "mean": "mean of a range of values",
    "deviation": "standard deviation of a range of values",
    # continua
    "continuum": "the continuum that the question is about",
    "place": "a point of an interval",
    "side": "from which side a point is approached",
    "fields": "how fields follow from coordinates",
    "shapes": "functions of position that a field is composed of",
    "over": "what varies, and over which range",
    "fixed": "prescribed values of a field",
    "parts": "systems coupled to a continuum",
    "elements": "number of elements along a field",
    "degree": "degree of the polynomials in an element",
    "u": "a field",
    # model files
    "question": "what is asked of a model, as a word",
    "given": "arguments of a question, instead of those in the file",
    "text": "an expression as it is typed",
    "changes": "other values as text, by name",
    "rows": "how starts of arrays follow from the number of a row",
    "declared": "what the names of a file stand for",
    # answers
    "view": "the kind of a picture",
    "expressions": "what to show instead of everything",
    "outputs": "expressions that are observed",
    "seconds": "bound on the time that a search may take",
    "path": "file to read or write",
    "show": "more to watch, by name",
    "sliders": "ranges of parameters and inputs that a reader may move",
    "paused": "whether a page waits for its reader",
    "fps": "frames per second",
    "forces": "whether forces of contact are drawn, or where they act",
    "vector": "components of a vector",
    "mechanism": "displacements and inertias of a mechanism",
    "change": "what is done to every expression",
    "principle": "which principle the equations come from",
    # integrators
    "ode": "the first-order equation to integrate",
    "y": "state of the first-order equation",
    "end": "time at which a stretch ends",
    "states": "coordinates and velocities that shall be states",
    "grid": "times at which states are wanted",
    "dense": "whether states between those times are wanted",
    # failures
    "message": "what is wrong, what was found, what to do",
    "status": "why a solver stopped",
    "solution": "what a solver had found when it stopped",
}

# What functions return: users read these and do not make them.
RETURNED = {
    "Array",
    "Compiled",
    "Coordinate",
    "Design",
    "Diagram",
    "Equilibrium",
    "Field",
    "FieldFunction",
    "FittedPressure",
    "FittedSurface",
    "Input",
    "LimitLoad",
    "LimitSurface",
    "Model",
    "Modes",
    "Motion",
    "Parameter",
    "Position",
    "Pressure",
    "PressureBounds",
    "Runs",
    "Slide",
    "Touched",
    "SpeedLimit",
    "State",
    "StateSpace",
    "Step",
    "Velocity",
}

# A second argument that needs no name.
PLAIN = {("consistent", "start"), ("save", "path"), ("live", "path")}

# The names themselves are the user's here, so they cannot be listed.
OPEN_ENDED = {("parameters", "defaults"), ("Model.ask", "given"), ("sweep", "given")}

Parameter = inspect.Parameter


def is_ours(thing: object) -> bool:
    """Tell what is defined here from what is re-exported, such as SymPy's ``sin`` and ``pi``."""
    return getattr(thing, "__module__", "").split(".")[0] == "stationary"


PUBLIC = {name: getattr(stationary, name) for name in stationary.__all__}
DEFINED = {
    name: thing
    for name, thing in PUBLIC.items()
    if is_ours(thing) and (inspect.isclass(thing) or inspect.isroutine(thing))
}


def constructor(cls: type) -> Callable | None:
    """Return what takes the arguments of ``cls(...)``, unless a library defines it."""
    if issubclass(cls, enum.Enum):
        return None  # the argument is a member's value, by Python's own rules
    for base in cls.__mro__:
        for name in ("__init__", "__new__"):
            if name in vars(base):
                return vars(base)[name] if is_ours(base) else None
    return None


def methods(cls: type) -> Iterator[tuple[str, Callable]]:
    """Yield the public methods of a class, including those of its bases that are ours."""
    for base in filter(is_ours, cls.__mro__):
        for name, member in vars(base).items():
            member = getattr(member, "__func__", member)  # inside class and static methods
            if inspect.isfunction(member) and (name == "__call__" or not name.startswith("_")):
                yield name, member


def callables() -> Iterator[tuple[str, Callable]]:
    """Yield everything public that takes arguments, with the name to report it by."""
    for name, thing in DEFINED.items():
        if not inspect.isclass(thing):
            yield name, thing
            continue
        make = None if name in RETURNED else constructor(thing)
        if make is not None:
            yield name, make
        for method, function in methods(thing):
            yield f"{name}.{method}", function


# A method that several classes inherit is reported once.
CALLABLES = sorted({function: name for name, function in callables()}.items(), key=lambda p: p[1])
each_callable = pytest.mark.parametrize(
    ("function", "name"), CALLABLES, ids=[name for _, name in CALLABLES]
)


def arguments(function: Callable) -> list[Parameter]:
    # Dunder and underscored names are not for users: a dataclass's own, say.
    found = inspect.signature(inspect.unwrap(function)).parameters.values()
    return [p for p in found if p.name not in {"self", "cls"} and not p.name.startswith("_")]


def test_the_public_list_has_no_name_twice_and_is_complete():
    listed = stationary.__all__
    assert len(listed) == len(set(listed))
    missing = {
        name
        for name, thing in vars(stationary.public).items()
        if not name.startswith("_") and callable(thing) and name not in listed
    }
    assert not missing, f"imported by stationary/public.py but not in __all__: {missing}"


def test_what_is_imported_late_is_declared_to_type_checkers_as_it_is_found():
    tree = ast.parse(Path(stationary.public.__file__).read_text(encoding="utf-8"))
    (declared,) = (node for node in tree.body if isinstance(node, ast.If))
    found = {
        alias.name: node.module
        for node in declared.body if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }  # fmt: skip
    assert found == stationary.public.LATE
    assert set(found) <= set(stationary.__all__)


def test_stating_and_moving_a_system_needs_nothing_late():
    code = (
        "import sys, stationary as st\n"
        "before = set(sys.modules)\n"
        "x = st.coordinates('x')\n"
        "st.simulate(st.particle(1.0, at=(x, 0)), span=(0, 1), start={x.dot: 1.0}, points=3)\n"
        "late = [m.split('.') for m in set(sys.modules) - before if m.startswith('stationary')]\n"
        # Which engine serves depends on what is installed.
        "print([parts for parts in late if parts[1:3] != ['lower', 'engines']])"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == "[]"


def test_everything_is_offered_by_the_package_itself():
    assert set(stationary.__all__) <= set(dir(stationary))
    with pytest.raises(
        AttributeError, match="stationary has no 'simulat'. Did you mean 'simulate'?"
    ):
        stationary.simulat
    space: dict = {}
    exec("from stationary import *", space)
    assert set(stationary.__all__) <= set(space)


@pytest.mark.parametrize("name", sorted(PUBLIC))
def test_every_public_name_has_a_docstring(name):
    doc = inspect.getdoc(PUBLIC[name])
    assert doc and doc.strip()


@pytest.mark.parametrize("name", sorted(DEFINED))
def test_every_public_name_has_an_example_that_runs(name):
    thing = DEFINED[name]
    doc = inspect.cleandoc(thing.__doc__ or "")
    assert re.search(r"^Examples\n-{8}$", doc, re.MULTILINE), f"{name} has no Examples section"
    assert doctest.DocTestParser().get_examples(doc), f"the Examples of {name} show no call"

    # The finder descends into a class: its methods have examples of their own.
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS, verbose=False)
    said: list[str] = []
    for example in doctest.DocTestFinder().find(thing, name, globs={"st": stationary}):
        runner.run(example, out=said.append)
    assert runner.failures == 0, "".join(said)


def test_no_two_words_of_the_glossary_mean_the_same():
    assert len(set(GLOSSARY.values())) == len(GLOSSARY)


@each_callable
def test_every_argument_name_is_in_the_glossary(function, name):
    unknown = [p.name for p in arguments(function) if p.name not in GLOSSARY]
    assert not unknown, f"{name} has arguments outside the glossary: {unknown}"


@each_callable
def test_unknown_keywords_are_refused(function, name):
    loose = [p.name for p in arguments(function) if p.kind is Parameter.VAR_KEYWORD]
    assert all((name, word) in OPEN_ENDED for word in loose), f"{name} takes **{loose[0]}"


@pytest.mark.parametrize("name", sorted(DEFINED))
def test_verbs_take_keywords_only_after_the_system(name):
    thing = DEFINED[name]
    found = [] if inspect.isclass(thing) else arguments(thing)
    if not found or found[0].name != "system":
        return
    loose = [
        p.name
        for p in found[1:]
        if p.kind is not Parameter.KEYWORD_ONLY and (name, p.name) not in PLAIN
    ]
    assert not loose, f"{name}: make keyword-only: {loose}"
