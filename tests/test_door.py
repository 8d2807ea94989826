"""Whatever a public function is called with, it answers, or says what is wrong in three parts."""

import inspect
import math
import random
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import sympy as sp

import stationary as st

x, y, z, theta, other = st.coordinates("x y z theta other")
m, k, q = st.parameters(m=1.0, k=2.0, q=0.5)
F = st.inputs("F")
X, L = st.positions("X"), st.parameters(L=1.0)
u = st.field("u", over=(X, 0, L))
r = st.coordinates("r", shape=(4, 2))
frame = st.Frame().move((x, y, z)).turn("z", theta)

driven = st.System(
    kinetic=m * x.dot**2 / 2, potential=k * x**2 / 2, loads=[st.Load(F, on=x)], name="driven"
)
pendulum = st.System(kinetic=theta.dot**2 / 2, potential=-(1 + q) * st.cos(theta))
bar = st.Continuum(kinetic=u.dot**2 / 2, potential=u.diff(X) ** 2 / 2, fixed={u.at(0): 0})
part = st.slider(points=[(0, 0), (1, 0), (0, 1)], weights=[1.0, 1.0, 1.0])
pushed = part + st.System(
    constraints=[st.Constraint(part.coordinates[0] + part.coordinates[1] / 9 - st.t, name="push")]
)
rubbing = st.System(friction=[st.Friction(5, on=x, name="f")], loads=[st.Load(F, on=x)])
motion = st.simulate(driven, span=(0, 1), start={x: 1.0}, inputs={F: 0.0}, points=5)
run = {"span": (0, 1), "start": {x: 1.0}, "params": {k: 1.0}, "inputs": {F: 1.0}, "points": 5}

# By name what is called, and arguments with which it answers.
GOOD: dict[str, tuple[Callable[..., Any], tuple, dict[str, Any]]] = {
    "coordinates": (st.coordinates, ("a",), {"shape": (3, 2)}),
    "parameters": (st.parameters, ("a",), {}),
    "inputs": (st.inputs, ("a",), {}),
    "positions": (st.positions, ("X",), {}),
    "field": (st.field, ("u",), {"over": (X, 0, L)}),
    "rotation": (st.rotation, ("R",), {}),
    "rate": (st.rate, (x,), {}),
    "norm": (st.norm, ((x, y),), {}),
    "each": (st.each, (lambda p: p[0], r), {"name": "e"}),
    "System": (st.System, (), {"kinetic": x.dot**2, "loads": [], "coordinates": (x,), "name": "n"}),
    "Load": (st.Load, (F,), {"on": x, "name": "n"}),
    "Friction": (st.Friction, (1,), {"on": x, "static": 2, "name": "n"}),
    "Drag": (st.Drag, (1, 2), {"on": x, "name": "n"}),
    "Constraint": (st.Constraint, (x,), {"name": "n"}),
    "Pfaffian": (st.Pfaffian, (x.dot,), {"name": "n"}),
    "Contact": (st.Contact, (x,), {"friction": 0.3, "slip": y, "restitution": 0.5}),
    "Event": (st.Event, (x,), {"direction": 1, "terminal": True, "action": {x.dot: -x.dot}}),
    "Part": (st.Part, ("rod", ((0, 0), (x, y))), {"angle": x}),
    "particle": (st.particle, (m,), {"at": (x, y), "gravity": 9.81}),
    "body": (st.body, (m,), {"inertia": 1, "at": (x, y), "angle": theta}),
    "body in space": (st.body, (m,), {"inertia": (1, 1, 1), "frame": frame}),
    "spring": (st.spring, (k,), {"between": ((0, 0), (x, y)), "rest": 1}),
    "damper": (st.damper, (k,), {"between": ((0, 0), (x, y))}),
    "rod": (st.rod, ((0, 0), (x, y), 1), {}),
    "mechanism": (st.mechanism, (), {"x": [theta], "inertia": [1]}),
    "joint": (st.joint, ("hinge", st.Frame(), frame), {"axis": (0, 0, 1)}),
    "Frame.move": (frame.move, ((x, y, z),), {}),
    "Frame.turn": (frame.turn, ("z", theta), {}),
    "Box": (st.Box, (), {"size": (1, 1, 1)}),
    "Continuum": (st.Continuum, (), {"potential": u.diff(X) ** 2, "fixed": {u.at(0): 0}}),
    "Field.at": (u.at, (L,), {}),
    "Field.diff": (u.diff, (X, 2), {}),
    "discretize": (st.discretize, (bar,), {"elements": 3, "degree": 1}),
    "equations": (st.equations, (pendulum,), {}),
    "hamilton": (st.hamilton, (pendulum,), {}),
    "check": (st.check, (pendulum,), {}),
    "compile": (st.compile, (driven,), {}),
    "simulate": (st.simulate, (driven,), {**run, "rtol": 1e-8, "throw": True, "events": []}),
    "statics": (st.statics, (driven,), {"start": {x: 1.0}, "inputs": {F: 1.0}, "kind": "any"}),
    "equilibria": (st.equilibria, (pendulum,), {"within": {theta: (-4, 4)}, "params": {}}),
    "linearize": (st.linearize, (driven,), {"at": {x: 0.0}, "inputs": {F: 0.0}}),
    "modes": (st.modes, (pendulum,), {"count": 1}),
    "continuation": (
        st.continuation, (pendulum,), {"parameter": q, "span": (0, 1), "start": {theta: 0.0}},
    ),
    "minimum_power": (st.minimum_power, (pushed,), {"at": {}}),
    "newton": (st.newton, (pushed,), {"at": {}}),
    "quasistatics": (st.quasistatics, (pushed,), {"span": (0, 0.1), "points": 3}),
    "limit_load": (st.limit_load, (rubbing,), {"load": F, "at": {x: 0.0}}),
    "slider": (
        st.slider, (), {"outline": [(0, 0), (1, 0), (0, 1)], "limit": 1.0, "count": 30},
    ),
    "Pusher": (st.Pusher, (), {"point": (0.5, st.t), "edge": ((0, 0), (1, 0)), "friction": 0.3}),
    "Variational": (st.Variational, (), {"step": 0.1}),
    "Baumgarte": (st.Baumgarte, (), {"alpha": 5.0}),
    "samples": (st.samples, ({"k": (1, 2)},), {"count": 4, "kind": "sobol", "seed": 0}),
    "first": (st.first, (x,), {}),
    "load": (st.load, ("missing.toml",), {}),
    "live": (st.live, (pendulum,), {"start": {theta: 1.0}, "paused": True}),
    "Motion.at": (motion.at, (0.5,), {}),
    "Motion.plot": (motion.plot, (x,), {}),
    "Motion.show": (motion.show, ("phase",), {}),
}  # fmt: skip

WRONG: dict[str, Any] = {
    "nothing": None, "text": "abc", "empty": "", "bytes": b"x", "minus one": -1, "zero": 0,
    "fraction": 2.5, "nan": math.nan, "infinite": math.inf, "imaginary": 1j, "truth": True,
    "list": [], "tuple": (), "dictionary": {}, "numbers": [1, 2, 3], "ragged": [[1, 2], [3]],
    "no entries": np.array([]), "a nan inside": np.array([1.0, math.nan]),
    "matrix": np.ones((2, 3)), "0-d": np.array(1.0), "objects": np.array([None, "a"], dtype=object),
    "complex": np.array([1j]), "object": object(), "Symbol": sp.Symbol("x"),
    "f(t)": sp.Function("f")(sp.Symbol("t")), "Function": sp.Function("f"), "elsewhere": other,
    "by elsewhere": {other: 1.0}, "by name": {"zz": 1.0}, "by nothing": {None: 1}, "by 1": {1: 2},
    "of nothing": {x: None}, "of text": {x: "a"}, "of nan": {x: math.nan}, "of i": {x: 1j},
    "Path": Path("missing.toml"), "function": lambda *a: 1, "class": int,
    "Matrix": sp.Matrix([[1, 2], [3, 4]]), "oo": sp.oo, "i": sp.I, "huge": 10**400,
    "relation": x > 0, "Eq": sp.Eq(x, 1), "date": np.datetime64("2020-01-01"), "set": {1, 2},
    "range": range(3), "system": driven, "motion": motion, "st.sin": st.sin, "np.sin": np.sin,
    "array": r, "velocity": x.dot, "parameter": q, "input": F, "time": st.t, "a field": u,
    "two texts": ("a", "b"), "two nothings": (None, None), "backwards": (1, 0), "frame": frame,
    "escape": "\x1b[31mred", "slice": slice(None), "module": np,
}  # fmt: skip


def ask(call: Callable[..., Any], places: tuple, given: dict[str, Any]) -> None:
    """Call; an answer will do, and so will three parts of words."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            call(*places, **given)
        except (st.StationaryError, TypeError) as error:
            assert str(error).count("\n  ") >= 2, f"{type(error).__name__}: {error}"


@pytest.mark.parametrize(
    ("words", "call", "given"),
    [
        ("the step of a variational", st.Variational, {"step": 10**400}),
        ("the step of a time stepping", st.Moreau, {"step": []}),
        ("the kind is not text", st.samples, {"ranges": {"k": (0, 1)}, "count": 2, "kind": {}}),
        ("not a system", st.minimum_power_holds, {"system": []}),
        ("not a number of twists", st.limit_surface, {"part": part, "count": 0.5}),
    ],
)
def test_what_can_be_thought_of_is_told_in_its_own_words(words, call, given):
    with pytest.raises(st.StatementError, match=words) as caught:
        call(**given)
    assert str(caught.value).count("\n  ") == 2


def calls(name: str) -> list[tuple[tuple, dict[str, Any]]]:
    """Return the good call of a function with each wrong value in each of its places."""
    call, places, given = GOOD[name]
    every = [((*places[:i], v, *places[i + 1 :]), given)
             for i in range(len(places)) for v in WRONG.values()]  # fmt: skip
    known = inspect.signature(call).parameters.values()
    named = [p.name for p in known if p.kind is p.KEYWORD_ONLY or p.name in given]
    every += [(places, given | {word: v}) for word in named for v in WRONG.values()]
    return every


@pytest.mark.parametrize("name", GOOD)
def test_a_wrong_value_is_told_in_three_parts(name):
    # Of thousands of calls these are some, the same ones every time.
    for places, given in random.Random(name).sample(calls(name), 40):
        ask(GOOD[name][0], places, given)


@pytest.mark.slow
@pytest.mark.parametrize("name", GOOD)
def test_every_wrong_value_is_told_in_three_parts(name):
    for places, given in calls(name):
        ask(GOOD[name][0], places, given)


@pytest.mark.parametrize("name", GOOD)
def test_wrong_counts_and_names_of_arguments_are_told_in_three_parts(name):
    call, places, given = GOOD[name]
    ask(call, (), {})
    ask(call, places, given | {"zzz": 1})
    ask(call, (*places, 1, 2, 3, 4, 5, 6, 7), given)


# Nobody checks the types of what is called by this name: the mistake is meant.
ANYTHING: Any = motion

OPERATIONS: dict[str, Callable[[], Any]] = {
    "a system and a number": lambda: driven + 1,  # pyright: ignore[reportOperatorIssue]
    "a number and a system": lambda: 1 + driven,  # pyright: ignore[reportOperatorIssue]
    "terms": lambda: st.Load(1, on=x) + st.Load(1, on=y),
    "a function of NumPy": lambda: np.sin(x),
    "a function of NumPy over an array": lambda: np.sqrt(r),
    "a function of NumPy of two": lambda: np.arctan2(x, y),
    "a function of math": lambda: math.sin(x),
    "an index": lambda: r[9, 0],
    "an index that is a name": lambda: r["a"],
    "two texts": lambda: st.coordinates("x", "y"),  # pyright: ignore[reportCallIssue]
    "a number as a key": lambda: motion[0],
    "every entry of a motion": lambda: list(ANYTHING),
    "no key": lambda: motion[()],
}


@pytest.mark.parametrize("case", OPERATIONS)
def test_what_cannot_be_calculated_is_told_in_three_parts(case):
    with pytest.raises((st.StationaryError, TypeError, IndexError)) as error:
        OPERATIONS[case]()
    assert str(error.value).count("\n  ") == 2


def test_arrays_of_numbers_multiply_and_compare_with_symbols_as_before():
    assert list(np.array([1, 2]) * x) == [x, 2 * x] == list(x * np.array([1, 2]))
    assert np.float64(2) * x == 2.0 * x and (np.float64(2) < x) == (x > 2.0)


def test_a_call_inside_a_call_keeps_the_words_of_what_is_wrong_with_it():
    model = st.load("""
coordinates = ["x"]
[energies]
kinetic = "x'^2/2"
""")
    with pytest.raises(TypeError, match="simulate has no argument 'stat'") as caught:
        model.ask("simulate", span=(0, 1), stat={"x": 1})
    assert "Did you mean 'start'?" in str(caught.value)


def test_what_a_function_of_the_user_waits_for_is_no_file():
    def late(a, b):
        raise TimeoutError("timed out")

    with pytest.raises(TimeoutError, match="timed out"):
        st.slider(outline=[(0, 0), (1, 0), (0, 1)], pressure=late, count=30)


def test_what_nobody_has_foreseen_is_told_by_the_call_that_was_made():
    with pytest.raises(st.StatementError) as error:
        st.slider(outline=[(0, 0), (1, 0), (0, 1)], pressure=lambda a, b: {}["no"], count=30)
    assert (
        "slider cannot use what it is given.\n  Found outline = [(0, 0), (1, 0), (0, 1)], "
        in str(error.value)
    )
    assert "defect of stationary: report it" in str(error.value)
    assert isinstance(error.value.__cause__, KeyError)
