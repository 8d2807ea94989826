"""Whatever the text, a StatementError is all that comes out, and soon: work is counted in calls."""

import math
import random
import sys

import numpy as np
import pytest
import sympy as sp
from hypothesis import given, settings
from hypothesis import strategies as some

import stationary as st
from stationary.derive.from_sympy import Translator
from stationary.io import nodes
from stationary.io.grammar import parse
from stationary.io.reader import Reader
from stationary.io.source import Source
from stationary.io.toml import read
from stationary.model import symbols
from stationary.model.contents import contents
from tests.io import fuzz

# Calls of functions that a character of text may cost, and what any text may: the first use of a
# part of SymPy imports it.
PER_CHARACTER, ONCE = 1500, 300_000


class TooMuch(BaseException):
    """More work than the length of a text allows."""


def counted(take, text: str):
    """Read a text; give up when it takes more calls than its length allows."""
    left = ONCE + PER_CHARACTER * len(text)

    def count(frame, event, argument):
        nonlocal left
        left -= event == "call"
        if left < 0:
            sys.setprofile(None)
            raise TooMuch(text[:200])

    before = sys.getprofile()
    sys.setprofile(count)
    try:
        return take(text)
    finally:
        sys.setprofile(before)


def names():
    document = read(Source('expression = "x"'))
    reader = Reader(document)
    declared = ("x", "theta"), ("m",), ("F",)
    makers = st.coordinates, st.parameters, st.inputs
    for several, make in zip(declared, makers):
        reader.names.symbols.update({name: make(name) for name in several})
    reader.names.arrays["r"] = st.coordinates("r", shape=(4, 2))
    return reader.names


NAMES = names()


def read_all(seed: int, expressions: int, models: int) -> int:
    """Read random texts; return how many of them were good."""
    chance = random.Random(seed)
    good = 0
    texts = [
        (fuzz.expression(chance), lambda text: parse(text, names())) for _ in range(expressions)
    ]
    texts += [(fuzz.model(chance), st.load) for _ in range(models)]
    for text, take in texts:
        try:
            counted(take, text if take is not st.load else text + "\n")
            good += 1
        except st.StatementError as error:
            assert str(error).count("\n") >= 2, text
            assert "Traceback" not in str(error)
    return good


@given(some.integers(0, 2**32))
@settings(max_examples=15, deadline=None)
def test_only_statement_errors_come_out(seed):
    read_all(seed, expressions=50, models=5)


@given(some.text(max_size=200))
@settings(max_examples=150, deadline=None)
def test_only_statement_errors_come_out_of_any_text(text):
    for take in (lambda: parse(text, NAMES), lambda: st.load(text + "\n")):
        try:
            take()
        except st.StatementError:
            pass


@pytest.mark.slow
@given(some.integers(0, 2**64))
@settings(max_examples=40, deadline=None, derandomize=True)
def test_only_statement_errors_come_out_of_ten_thousand_texts(seed):
    read_all(seed, expressions=240, models=10)


def test_the_fuzzer_reaches_good_expressions_as_well():
    assert read_all(1, expressions=400, models=40) > 20


@pytest.mark.parametrize(
    "text",
    [
        "(" * 100_000,
        "-" * 15_000 + "x",
        "9^9^9^9^9",
        "((2*x)^1000)^1000",
        "2^(10^10)",
        "x^(x^(x^(x^(x^x))))",
        "1" * 5000,
        "1e999999999",
        "1" + "0" * 39 + "^40",
        "sin(" * 59 + "x" + ")" * 59,
        "sqrt(" * 55 + "x" + ")" * 55,
        "abs(" * 55 + "x-m" + ")" * 55,
        "+".join(["x"] * 9000),
        "*".join(["x*m"] * 4500),
        "+".join(f"sin({k}*x)" for k in range(500)),
        "max(" + ", ".join(f"x^{k}" for k in range(20)) + ")",
        "a" * 19_000,
        "x" * 61,
        "().__class__.__bases__[0]",
        "__import__('os').system('true')",
        "x\0y",
        "log(0)",
        "sqrt(-1)",
        "asin(2)",
        "atan2(0, 0)",
        "0^0",
        "0^(-1)",
        "floor(1e300*pi)",
        "max(sqrt(-1), x)",
        "if(sqrt(-1) < 2, x, 1)",
        "((((x+1)^99)^99)^99)^99",
        "if(if(max(atan2(min(0.1, 2), (x)), (abs(0))) < sin(norm(-x, norm(x, 1e5))), 1, 0) < "
        "2*norm((2)*sign(t)*sign(m), exp((x)))*x', 1, 0)",
        "+".join(f"1/{k}" for k in range(3, 2500, 2)),
        "*".join(f"{k}/{k + 1}" for k in range(10**6, 10**6 + 1000, 2)),
        "+".join(f"x^{k % 7}*m^{k % 5}" for k in range(1500)),
        "floor(exp(exp(10)))",
        "exp(exp(exp(exp(9))))",
        "tan(1e300*pi)",
        "x/(m - m)",
    ],
)
def test_a_hostile_expression_is_refused_or_read_soon(text):
    try:
        counted(lambda text: parse(text, names()), text)
    except st.StatementError as error:
        assert str(error).count("\n") >= 2


@pytest.mark.parametrize(
    "text",
    [
        "a = " + "[" * 100_000,
        "a = " + "{b=" * 10_000,
        "a" + ".a" * 100_000 + " = 1",
        "[" + "a." * 50_000 + "a]",
        "a = 1" + "0" * 10_000,
        "coordinates = [\"x\"]\n[parameters]\nm = 1" + "0" * 400,
        'coordinates = ["r[99999999999,9]"]',
        'coordinates = ["r[1000000,1000000]"]',
        'coordinates = ["r[0]"]',
        'coordinates = ["x\\u0000"]',
        'coordinates = ["__class__"]\n[energies]\nkinetic = "__class__.dot^2"\npotential = "x"',
        "coordinates = [" + '"x",' * 50_000 + "]",
        "coordinates = " + "[" * 5 + '"x"' + "]" * 5,
        "x" * 3_000_000,
        'coordinates = ["x"]\n[[each]]\nkind = "potential"\nrows = 1000000000\nexpression = "x"',
        'coordinates = ["x"]\n[start]\nx = nan',
        'coordinates = ["x"]\n[start]\nx = 1979-05-27',
        'coordinates = ["x"]\n[start]\nx = true',
    ],
)  # fmt: skip
def test_a_hostile_file_is_refused(text):
    with pytest.raises(st.StatementError) as caught:
        counted(st.load, text + "\n")
    assert str(caught.value).count("\n") >= 2


def test_a_number_of_thousands_of_digits_is_shown_where_it_stands():
    with pytest.raises(st.StatementError, match="model:3:5: the value of 'k' is too long"):
        st.load(f"{X}[parameters]\nk = {'9' * 5000}\n[start]\nx = 1\n")


X = 'coordinates = ["x", "y"]\n'


def chained(count: int, body: str) -> str:
    lines = (f'd{k} = "{body.format(f"d{k - 1}")}"\n' for k in range(1, count + 1))
    energies = f'[energies]\nkinetic = "(x\'^2 + y\'^2)/2"\npotential = "d{count}"\n'
    return X + '[definitions]\nd0 = "x*y"\n' + "".join(lines) + energies


@pytest.mark.one_in(4)
@pytest.mark.parametrize(
    ("body", "value"),
    [
        ("sin({0}) + cos({0})", lambda d: math.sin(d) + math.cos(d)),
        ("{0}*{0}/2 + {0}/9", lambda d: d * d / 2 + d / 9),
        ("max({0}, sin({0}))", lambda d: max(d, math.sin(d))),
        ("if({0} < 1, {0}/2, -{0})", lambda d: d / 2 if d < 1 else -d),
        ("abs({0})/3 + {0}^2", lambda d: abs(d) / 3 + d**2),
        ("norm({0}, 1 + {0})/2", lambda d: math.hypot(d, 1 + d) / 2),
        ("1/(1 + {0}^2) - {0}/2", lambda d: 1 / (1 + d**2) - d / 2),
        ("atan2({0}, {0} + 2)^(1/3)", lambda d: math.atan2(d, d + 2) ** (1 / 3)),
    ],
)
def test_definitions_that_use_each_other_twice_cost_no_more_than_their_text(body, value):
    system = counted(st.load, chained(60, body)).system
    x, y = system.coordinates
    expected = 0.3 * 0.7
    for _ in range(60):
        expected = value(expected)
    made = Translator({x: 0.3, y: 0.7})(system.potential)
    assert float(made) == pytest.approx(expected, rel=1e-9)


def test_a_chain_of_definitions_without_end_is_refused():
    with pytest.raises(st.StatementError, match="nested too deeply"):
        counted(st.load, chained(500, "sin({0}) + cos({0})"))


def test_what_is_nested_too_deeply_for_algebra_is_checked_by_numbers():
    model = st.load(chained(60, "{0}^2/4 + 1"))
    with pytest.raises(st.DerivationError, match="nested too deeply to be read"):
        model.ask("equations")
    report = model.ask("check")
    assert report.passed and not report.exhaustive
    endless = st.load(chained(60, "{0}^2 + 1")).ask("check")
    assert [finding.name for finding in endless] == ["finite"] and not endless.passed


def test_a_chain_of_definitions_is_an_event_and_its_action():
    text = (
        chained(60, "sin({0}) + cos({0})").replace('potential = "d60"', "")
        + """
[start]
x = -0.1
"x'" = 1
y = 1
[simulate]
span = [0, 1]
[[simulate.events]]
expr = "d60 - d59 + x"
action = { "x'" = "d60" }
"""
    )
    # The chain goes to where sin(d) + cos(d) = d, so that x changes its sign when it is hit.
    motion = counted(st.load, text).ask("simulate")
    fixed = 0.0
    for _ in range(60):
        fixed = math.sin(fixed) + math.cos(fixed)
    assert motion["x"][-1] == pytest.approx(0.9 * fixed, abs=1e-8)


def test_a_wrong_unit_of_a_long_term_is_named_without_writing_it_out():
    text = chained(60, "sin({0}) + cos({0})").replace('"x*y"', '"x*y/l^2"')
    text = text.replace('"d60"', '"m*d60"') + '[parameters]\nm = "1 kg"\nl = "1 m"\n'
    text += '[start]\nx = "1 m"\ny = "1 m"\n'
    with pytest.raises(st.StatementError, match="a long term of l, m, x, y in kg, expected J"):
        counted(st.load, text)


@pytest.mark.slow
def test_many_parts_are_added_in_a_time_that_grows_as_their_number():
    names = ", ".join(f'"x{i}"' for i in range(401))
    rods = "".join(
        f'[[parts]]\nkind = "rod"\nbetween = [["x{i}", "0"], ["0", "x{i + 1}"]]\nlength = 2\n'
        for i in range(400)
    )
    system = counted(st.load, f"coordinates = [{names}]\n{rods}").system
    assert [c.name for c in system.constraints][:2] == ["R1", "R2"]
    assert len(system.constraints) == 400


def test_a_chain_of_definitions_moves_and_is_not_written_out():
    model = st.load(chained(60, "sin({0}) + cos({0})"))
    motion = model.ask("simulate", span=(0, 1), points=3)
    assert motion.status == "done" and motion.residual["energy"] < 1e-9
    assert "too large to be written out" in str(model)
    with pytest.raises(st.DerivationError, match="too large to be read"):
        model.ask("equations")
    assert model.ask("check").passed
    # Each definition has two of the one before it, and three parts more.
    assert f"({6 * 2.0**60:.3g} terms and factors)" in model.system._repr_latex_()
    with pytest.raises(st.StatementError, match="an expression so large cannot be written"):
        st.save(model)


def test_a_motion_that_fails_is_told_in_time_whatever_its_definitions():
    model = st.load(chained(30, "{0}^{0} + 1"))
    with pytest.raises(st.StatementError, match="not finite at the start"):
        counted(lambda _: model.ask("simulate", span=(0, 1)), " " * 3000)


@pytest.mark.slow
def test_a_derivation_that_nobody_reads_is_not_written_down():
    q = st.coordinates("q1 q2 q3 q4")
    place, angle = sp.zeros(2, 1), sp.S.Zero
    kinetic = sp.S.Zero
    for a in q:
        angle += a * (1 + a)
        place += sp.Matrix([sp.cos(angle), sp.sin(angle)])
        speed = place.jacobian(q) * sp.Matrix([a.dot for a in q])
        kinetic += (speed.T * speed)[0] / 2
    eq = st.equations(st.System(kinetic=kinetic, potential=9.81 * place[1]))
    assert not eq.simplified
    text = eq.explain()
    assert "They are too long to be written down." in text and len(text) < 60_000


@pytest.mark.parametrize(
    ("text", "limit"),
    [
        (X + "[definitions]\n" + "".join(f'd{k} = "sin({k}*x)+x^{k % 9}"\n' for k in range(400)),
         "2000 terms"),
        ("coordinates = [" + ", ".join(f'"x{k}"' for k in range(20_001)) + "]", "20000"),
        (X + "[simulate]\nspan = [0, 1]\npoints = 10000000", "1000000"),
        ('coordinates = ["x", "y", "phi"]\n[[parts]]\nkind = "slider"\ncount = 2000000\n'
         "outline = [[0, 0], [1, 0], [0, 1]]\nlimit = 1", "100000"),
        (X + '[[each]]\nkind = "potential"\nrows = 10000000\nexpression = "x"', "1000000"),
    ],
    ids=["definitions", "coordinates", "points", "slider", "rows"],
)  # fmt: skip
def test_what_is_too_large_is_refused_with_the_limit(text, limit, monkeypatch):
    monkeypatch.setattr(nodes, "MOST_NODES", 2000)
    with pytest.raises(st.StatementError, match=limit):
        counted(st.load, text + "\n")


def test_long_tables_are_read_as_one():
    column = ", ".join(["1.5"] * 20_000)
    text = X + f'[[each]]\nkind = "potential"\nrows = 20000\nexpression = "h*x^2"\n' \
        f"table = {{ h = [{column}] }}\n"  # fmt: skip
    model = counted(st.load, text.replace('"x", "y"', '"x"'))
    (table,) = (r.table for r in contents(model.system.potential).sums)
    assert model.system.size == 1 and table.rows == 20_000
    assert all(np.all(column == 1.5) for column in table.columns.values())


def test_devices_folders_and_links_in_circles_are_no_models(tmp_path):
    loop = tmp_path / "loop.toml"
    loop.symlink_to(loop)
    big = tmp_path / "big.toml"
    with big.open("wb") as file:
        file.truncate(200_000_000)
    for path in ("/dev/zero", "/dev/urandom", "/dev/null", tmp_path, loop, big, "a\0b", ""):
        with pytest.raises(st.StatementError) as caught:
            st.load(path)
        assert str(caught.value).count("\n") >= 2
