"""Expressions as graphs: values and slopes are those of SymPy, at a cost that repetition leaves."""

import math
import random

import pytest
import sympy as sp

import stationary as st
from stationary.derive.from_sympy import Translator
from stationary.model import graphs
from stationary.model.contents import contents
from tests.io import fuzz
from tests.io.test_fuzz import NAMES, parse

x, y = st.coordinates("x y")


def chain(count):
    """Return an expression of 2^count branches, and its slope by x at 0.3 by the chain rule."""
    e, value, slope = x, 0.3, 1.0
    for _ in range(count):
        e = sp.sin(e, evaluate=False) + sp.cos(e, evaluate=False)
        value, slope = (
            math.sin(value) + math.cos(value),
            slope * (math.cos(value) - math.sin(value)),
        )
    return e, value, slope


def test_what_is_used_often_is_visited_once():
    e, value, slope = chain(60)
    assert len(list(graphs.nodes(e))) == 181 and graphs.written_out(e) > 2**60
    assert contents(e).symbols == {x} == graphs.symbols_in(e)
    import casadi as ca

    symbol = ca.SX.sym("x")
    both = ca.Function("both", [symbol], [Translator({x: symbol})(made) for made in (
        e, graphs.slope(e, x))])  # fmt: skip
    assert [float(v) for v in both(0.3)] == pytest.approx([value, slope], rel=1e-12)  # pyright: ignore[reportArgumentType, reportGeneralTypeIssues]
    assert graphs.renamed(graphs.renamed(e, {x: y}), {y: x}) == e


def test_slopes_over_the_graph_are_those_of_sympy(monkeypatch):
    chance = random.Random(3)
    compared = 0
    for _ in range(90):
        try:
            e = parse(fuzz.grown(chance), NAMES)
        except st.StatementError:
            continue
        if not {x} <= e.free_symbols or e.has(sp.Max, sp.Min, sp.Heaviside, sp.sign, sp.floor):
            continue
        values = {s: 0.2 + 0.37 * k for k, s in enumerate(sorted(e.free_symbols, key=str))}
        monkeypatch.setattr(graphs, "LARGE", 0)
        made = complex(sp.N(graphs.slope(e, x).subs(values)))
        expected = complex(sp.N(e.diff(x).subs(values)))
        assert made == pytest.approx(expected, rel=1e-9, abs=1e-12, nan_ok=True), e
        compared += 1
    assert compared > 8


def test_renaming_works_nothing_out():
    e = parse("if(max(x, sin(x)) < sqrt(x^2 + 1)^3, x, abs(x))", NAMES)
    back = graphs.renamed(graphs.renamed(e, {x: y}), {y: x})
    assert back == e and graphs.renamed(e, {x: y}).free_symbols == {y}
