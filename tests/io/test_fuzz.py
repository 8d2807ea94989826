"""Whatever the text, a StatementError is all that comes out, and soon."""

import random
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

import stationary as st
from stationary.io.grammar import parse
from stationary.io.reader import Reader
from stationary.io.source import Source
from stationary.io.toml import read
from stationary.model import symbols
from tests.io import fuzz

# A text that takes longer than this, in seconds, holds a program up.
SLOW = 5.0


def names():
    document = read(Source('expression = "x"'))
    reader = Reader(document)
    declared = ("x", "theta"), ("m",), ("F",)
    makers = symbols.coordinates, symbols.parameters, symbols.inputs
    for several, make in zip(declared, makers):
        reader.names.symbols.update({name: make(name) for name in several})
    reader.names.arrays["r"] = symbols.coordinates("r", shape=(4, 2))
    return reader.names


NAMES = names()


def read_all(seed: int, expressions: int, models: int) -> int:
    """Read random texts; return how many of them were good."""
    chance = random.Random(seed)
    good = 0
    texts = [(fuzz.expression(chance), lambda text: parse(text, NAMES)) for _ in range(expressions)]
    texts += [(fuzz.model(chance), st.load) for _ in range(models)]
    for text, take in texts:
        began = time.perf_counter()
        try:
            take(text if take is not st.load else text + "\n")
            good += 1
        except st.StatementError as error:
            assert str(error).count("\n") >= 2, text
            assert "Traceback" not in str(error)
        spent = time.perf_counter() - began
        assert spent < SLOW, f"{spent:.1f} s for {text!r}"
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
@settings(max_examples=400, deadline=None, derandomize=True)
def test_only_statement_errors_come_out_of_a_hundred_thousand_texts(seed):
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
    ],
)
def test_a_hostile_expression_is_refused_or_read_soon(text):
    began = time.perf_counter()
    try:
        parse(text, NAMES)
    except st.StatementError:
        pass
    assert time.perf_counter() - began < SLOW


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
    began = time.perf_counter()
    with pytest.raises(st.StatementError):
        st.load(text + "\n")
    assert time.perf_counter() - began < SLOW
