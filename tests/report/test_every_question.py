"""Every question to every example is answered, or refused in our own words, with bounded work."""

import inspect
import re
from html import escape
from pathlib import Path

import pytest
import sympy as sp

import examples
import stationary as st
from examples import beams_and_strings
from stationary.derive.readable import Explanation
from stationary.pages.mathml import math
from stationary.report.build import build
from stationary.report.page import html_of_markdown

FILES = sorted(Path(examples.__file__).parent.glob("models/*.toml"))


def four_bar():
    a, b, c = st.coordinates("a b c")
    l1, l2, l3, l4, m, g = st.parameters(l1=1.0, l2=2.0, l3=1.5, l4=2.0, m=1.0, g=9.81)
    first = (l1 * st.cos(a), l1 * st.sin(a))
    second = (first[0] + l2 * st.cos(b), first[1] + l2 * st.sin(b))
    last = (l4 + l3 * st.cos(c), l3 * st.sin(c))
    made = st.System(constraints=[st.Constraint((second[0] - last[0], second[1] - last[1]))])
    bars = [((0, 0), first, l1, a), (first, second, l2, b), ((l4, 0), last, l3, c)]
    for p, q, length, angle in bars:
        middle = tuple((s + t) / 2 for s, t in zip(p, q))
        made += st.body(m, inertia=m * length**2 / 12, at=middle, angle=angle, gravity=g)
    return st.Model(made, start={"a": 1.0, "b": 0.3, "c": 1.6})


def slider():
    corners = [(0, 0), (1, 0), (1, 0.5), (0, 0.5)]
    return st.Model(st.slider(outline=corners, limit=2.0, count=1000, name="card"))


def stated(name):
    """Return the systems that an example states."""
    make = getattr(examples.load(name), "system", lambda: ())
    needed = sum(p.default is p.empty for p in inspect.signature(make).parameters.values())
    made = make(*[5] * needed) if needed < 2 else ()
    return [s for s in (made if isinstance(made, tuple) else (made,)) if isinstance(s, st.System)]


SYSTEMS = {name: st.Model(s) for name in examples.names() for s in stated(name)}
SYSTEMS |= {"four-bar": four_bar(), "slider": slider()}
SYSTEMS |= {path.stem: st.load(path) for path in FILES}


# What takes seconds, most of them to derive.
LONG = ("four-bar", "flagellum", "box")


@pytest.mark.one_in(2)
@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=pytest.mark.slow) if n in LONG else n for n in SYSTEMS]
)
def test_every_question_is_answered_or_refused_in_words(name):
    model = SYSTEMS[name]
    # A report asks for the derivation, the checks, rest and small motions; films and long runs are
    # tested elsewhere.
    asked = {k: v for k, v in model.questions.items() if k in ("modes", "continue")}
    still = st.Model(model.system, model.start, model.params, model.inputs, asked, model.units,
                     continuum=model.continuum)  # fmt: skip
    page = build(still, film=False).html
    assert "<h2" in page and "nan" not in re.sub(r"data:[^\"]+", "", page).split()
    for question in ("modes", "check") if model.system.size > 8 else ("modes",):
        try:
            assert len(str(model.ask(question))) < 20_000
        except st.StationaryError as error:
            assert len(str(error).split("\n  ")) == 3


def test_a_check_of_many_frictions_names_a_few():
    text = str(SYSTEMS["slider"].ask("check"))
    assert "friction 'card' takes energy" in text and len(text) < 2000
    x = st.coordinates("x")
    many = [st.Friction(1, on=x, name=f"pad {i}") for i in range(40)]
    text = str(st.check(st.System(kinetic=x.dot**2 / 2, friction=many)))
    assert "'pad 4' and 35 more takes energy" in text


@pytest.mark.parametrize("fixed", ["clamped", "free"])
def test_beams_are_typeset(fixed):
    X, L = st.positions("X"), st.parameters(L=2.0)
    w, (EI, rho, P) = st.field("w", over=(X, 0, L)), st.parameters("E rho P")
    held = {w.at(0): 0, w.diff(X).at(0): 0} if fixed == "clamped" else {}
    beam = st.Continuum(
        kinetic=rho * w.dot**2 / 2,
        potential=EI * w.diff(X, 2) ** 2 / 2 + P * w.diff(X) ** 2,
        loads=[st.Load(P * X, on=w), st.Load(P, on=w.at(L))],
        fixed=held,
    )
    shown = beam._repr_latex_()
    assert r"U &= \int_{0}^{L} \left(\frac{E w''^{2}}{2} + P w'^{2}\right) \, dX" in shown
    assert shown.count("=") == 4 + len(held)
    for text in (shown, st.equations(beam)._repr_latex_(), st.equations(beam).explain()):
        assert html_of_markdown(text).count("<math") >= 1
    assert beams_and_strings.__doc__


def test_primes_and_exponents_share_one_superscript():
    for latex in ("u''^{2}", "u'^2", r"\dot{w}'^{3}(L)", "a'"):
        made = math(latex)
        assert made.count("<msup") + made.count("<msubsup") == 1


def test_an_explanation_is_set_in_a_notebook_and_printed_elsewhere():
    theta, (m, g) = st.coordinates("theta"), st.parameters("m g")
    bob = st.particle(m, at=(st.sin(theta), -st.cos(theta)), gravity=g)
    for text in (st.equations(bob).explain(), st.hamilton(bob).explain(),
                 st.equations(bob, principle="statics").explain()):  # fmt: skip
        shown = getattr(text, "_repr_markdown_")()  # noqa: B009  # a str by its type
        assert isinstance(text, str) and shown == text == repr(text)


@pytest.mark.parametrize("name", ["costs $5_{ and $6", r"a \begin{b} ^~ % & #", "<b> *x* `y` [z]"])
def test_names_of_any_signs_are_typeset_as_they_are_written(name):
    x, y = st.coordinates("x y")
    rod = st.System(
        kinetic=x.dot**2 + y.dot**2, constraints=[st.Constraint(x**2 + y**2 - 1, name=name)],
        name=name,
    )  # fmt: skip
    for text in (st.equations(rod).explain(), st.hamilton(rod).explain(),
                 st.equations(rod, principle="statics").explain()):  # fmt: skip
        page = html_of_markdown(text)
        assert f"of {escape(name)}</h1>" in page and "\\begin{b}" not in page.split("</h1>")[1]
    assert escape(name) in build(st.Model(rod, start={"x": 1.0}), film=False).html


def test_a_long_gap_pushes_no_other_row_off_the_page():
    pusher = st.Pusher(point=(0.3, st.t - 0.5), edge=[(-1, -0.5), (1, -0.5)])
    points = [(-1, -0.5), (1, -0.5), (1, 0.5)]
    card = st.slider(points=points, weights=[1, 1, 1], pusher=pusher)
    friction, gap = card._repr_latex_().split(r"\\ ")
    assert r" &\le" in friction and gap.startswith("&")


def test_products_keep_their_spaces_and_powers_their_exponents():
    x, y, load, gear = *st.coordinates("x y"), *st.parameters("load gear")
    for e in (load * gear, x * st.sin(y), load * x, st.cos(x) * st.sin(y)):
        assert "<mspace" in math(sp.latex(e))
    assert "<mspace" not in math(sp.latex(load + gear)) + math(sp.latex(x * y))
    # (x² + y²)^(3/2): the exponent is on the bracket.
    made = math(sp.latex((x**2 + y**2) ** sp.Rational(3, 2)))
    assert re.search(r"<msup>(?:<mo[^>]*>\)</mo>|<mrow>.*?</mrow>)<mrow><mfrac>", made)


def test_what_is_nothing_but_rounding_reads_as_zero():
    x, y = st.coordinates("x y")
    assert "x = 0" in str(st.statics(st.System(potential=x**2 / 2 + 1e-260 * x)))
    X = st.positions("X")
    w = st.field("w", over=(X, 0, 1))
    beam = st.Continuum(kinetic=w.dot**2 / 2, potential=w.diff(X, 2) ** 2 / 2,
                        fixed={w.at(0): 0, w.diff(X).at(0): 0})  # fmt: skip
    rest = st.statics(st.discretize(beam, elements=3), start={w: 0.02 * X**2})
    assert list(map(str, rest.along)) == ["w(0)", "w(1/4)", "w(1/2)", "w(3/4)", "w(1)"]
    assert set(rest.along.values()) == {0.0}
    # Tiny systems are not nothing.
    small = st.statics(st.System(potential=1e-9 * (x - 3e-30) ** 2))
    assert "x = 3e-30" in str(small)
    free = st.System(kinetic=(x.dot**2 + y.dot**2) / 2, potential=(x - y) ** 2 / 2)
    assert st.modes(free).frequencies[0] == 0
    shown = str(st.linearize(free, at={}))
    assert re.search(r"eigenvalues  0, 0, 0[+-]1\.414i, 0[+-]1\.414i", shown)


def test_long_formulas_are_broken_between_their_terms_or_left_out_with_a_word():
    shown = SYSTEMS["four-bar"].system._repr_latex_()
    rows = shown.split(r"\\")
    assert all(len(row) < 600 for row in rows)
    assert sum(r"&\quad" in row for row in rows) >= 1 and "&\\left(" in rows[-1]
    # What stands in several rows is still the whole sum.
    kinetic = "".join(rows[: next(i for i, row in enumerate(rows) if " U &= " in row)])
    terms = len(SYSTEMS["four-bar"].system.kinetic.args)
    assert kinetic.count("+") + kinetic.count("-") >= terms - 1

    text = Explanation("It is $$" + "x + " * 30_000 + "y$$ and $$z$$.")
    word = "*(A formula of 120005 signs, too long to be read; `latex()` writes it.)*"
    assert text == f"It is {word} and $$z$$."


def test_dollars_in_a_name_begin_no_mathematics_in_a_notebook():
    x = st.coordinates("x")
    text = st.equations(st.System(kinetic=x.dot**2 / 2, name="costs $5_{ and $6")).explain()
    shown = getattr(text, "_repr_markdown_")()  # noqa: B009  # a str by its type
    assert shown.startswith(r"# Equations of motion of costs \$5_{ and \$6") and "$$" in shown
