"""Expressions in model files mean what mathematics means."""

import math
import random

import pytest
import sympy as sp

import stationary as st
from stationary.io.grammar import parse
from stationary.io.writer import _Printer
from tests.io import fuzz
from tests.io.test_fuzz import NAMES

x, theta = st.coordinates("x"), st.coordinates("theta")
m, F = st.parameters("m"), st.inputs("F")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("-x^2", -(x**2)),
        ("-x**2", -(x**2)),
        ("2^3^2", sp.Integer(512)),
        ("2^-1", sp.Rational(1, 2)),
        ("x^-2", x**-2),
        ("-2^2", sp.Integer(-4)),
        ("(-2)^2", sp.Integer(4)),
        ("1/2*x", x / 2),
        ("x/2/m", x / (2 * m)),
        ("x - m - 1", x - m - 1),
        ("--x", x),
        ("+x", x),
        ("1/3", sp.Rational(1, 3)),
        ("0.1", sp.Float(0.1)),
        (".5", sp.Float(0.5)),
        ("5.", sp.Float(5.0)),
        ("1e-3", sp.Float(0.001)),
        ("x'", x.dot),
        ("x.dot", x.dot),
        ("x .dot", x.dot),
        ("x'^2", x.dot**2),
        ("theta' * x.dot", theta.dot * x.dot),
        ("(x*theta)'", x.dot * theta + x * theta.dot),
        ("rate(sin(x))", sp.cos(x) * x.dot),
        ("x − 1", x - 1),
        ("2·x × m", 2 * x * m),
        ("x’", x.dot),
        ("sqrt(x)", sp.sqrt(x)),
        ("sin(pi/6)", sp.Rational(1, 2)),
        ("sqrt(x^2)", sp.Abs(x)),
        ("sqrt(4*x)", 2 * sp.sqrt(x)),
        ("1/sqrt(x*m)", 1 / sp.sqrt(x * m)),
        ("atan2(x, m)", sp.atan2(x, m)),
        ("max(x, m, 1)", sp.Max(x, m, 1)),
        ("norm(x, m)", sp.sqrt(x**2 + m**2)),
        ("if(x < 0, -x, x <= 1, m, 2)", sp.Piecewise((-x, x < 0), (m, x <= 1), (2, True))),
        ("step(x)", sp.Heaviside(x)),
        ("2*pi", 2 * sp.pi),
        ("t*F", st.t * F),
        ("r[1,0]'", st.coordinates("r", shape=(4, 2)).dot[1, 0]),
        ("x\n + 1", x + 1),
    ],
)
def test_text_is_read_as_the_expression_it_stands_for(text, expected):
    assert parse(text, NAMES) == expected


def python(text: str, values: dict) -> float:
    """Work an expression out with Python's own rules."""
    names = {k: getattr(math, k) for k in ("sin", "cos", "exp", "sqrt", "log", "pi")}
    return eval(text, {"abs": abs, "max": max, "min": min, **names, **values})


def test_random_expressions_have_the_value_that_python_gives_them():
    chance = random.Random(7)
    names = ["x", "m", "theta", "2", "0.5", "3", "7.25"]

    def grown(depth: int) -> str:
        kind = chance.randrange(6) if depth < 4 else 0
        a, b = (grown(depth + 1) for _ in range(2)) if kind else ("", "")
        if kind == 0:
            return chance.choice(names)
        if kind == 1:
            return chance.choice(["-{}", "({})", "sin({})", "abs({})", "- {}"]).format(a)
        if kind == 2:
            return f"{a}**{chance.choice(['2', '3', '-1'])}" if a.isalnum() else f"({a})**2"
        return f"{a} {chance.choice('+-*/')} {b}"

    values = {"x": 0.7, "m": 1.3, "theta": 2.1}
    compared = 0
    for _ in range(300):
        text = grown(0)
        try:
            expected = python(text, values)
        except (ZeroDivisionError, OverflowError):
            continue
        made = parse(text.replace("**", "^"), NAMES)
        found = float(made.subs({x: 0.7, m: 1.3, theta: 2.1}))
        assert found == pytest.approx(expected, rel=1e-9, abs=1e-9), text
        compared += 1
    assert compared > 250


def test_what_is_written_reads_back_as_the_same_expression():
    chance = random.Random(11)
    compared = 0
    for _ in range(150):
        try:
            made = parse(fuzz.grown(chance), NAMES)
            text = _Printer({}).doprint(made)
        except st.StatementError:
            continue
        again = parse(text, NAMES)
        assert again == made or sp.expand(again - made) == 0, text
        compared += 1
    assert compared > 60
