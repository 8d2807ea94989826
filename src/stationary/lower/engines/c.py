"""Portable C of a graph: one function without loops or branches, for any compiler or device.

The text needs nothing but ``math.h``. A `Dialect` says how operations are spelled, so that other
languages that write expressions as C does are dialects, too.
"""

from __future__ import annotations

import ctypes
import math
import os
import shlex
import shutil
import subprocess
import tempfile
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

import casadi as ca
import numpy as np

from stationary.errors import CompileError
from stationary.lower import cache as disk
from stationary.lower.instructions import instructions, operations

# A longer function takes a compiler minutes.
_LONGEST = 50_000

# Asked of every compiler: no fused or reordered sums, so that digits are those of the graph.
_OPTIONS = ("-std=c99", "-O2", "-ffp-contract=off", "-shared", "-fPIC")

_SPELLED = {
    ca.OP_ASSIGN: "{0}", ca.OP_ADD: "{0} + {1}", ca.OP_SUB: "{0} - {1}", ca.OP_MUL: "{0} * {1}",
    ca.OP_DIV: "{0} / {1}", ca.OP_NEG: "-{0}", ca.OP_SQ: "{0} * {0}", ca.OP_TWICE: "{0} + {0}",
    ca.OP_INV: "{one} / {0}", ca.OP_LT: "{0} < {1}", ca.OP_LE: "{0} <= {1}",
    ca.OP_EQ: "{0} == {1}", ca.OP_NE: "{0} != {1}", ca.OP_NOT: "{0} == 0",
    ca.OP_AND: "{0} != 0 && {1} != 0", ca.OP_OR: "{0} != 0 || {1} != 0",
    ca.OP_IF_ELSE_ZERO: "{0} != 0 ? {1} : 0",
    ca.OP_SIGN: "{0} != {0} ? {0} : ({0} > 0) - ({0} < 0)",
}  # fmt: skip

_CALLED = {
    ca.OP_EXP: "exp", ca.OP_LOG: "log", ca.OP_POW: "pow", ca.OP_CONSTPOW: "pow",
    ca.OP_SQRT: "sqrt", ca.OP_SIN: "sin", ca.OP_COS: "cos", ca.OP_TAN: "tan", ca.OP_ASIN: "asin",
    ca.OP_ACOS: "acos", ca.OP_ATAN: "atan", ca.OP_SINH: "sinh", ca.OP_COSH: "cosh",
    ca.OP_TANH: "tanh", ca.OP_ASINH: "asinh", ca.OP_ACOSH: "acosh", ca.OP_ATANH: "atanh",
    ca.OP_ATAN2: "atan2", ca.OP_FLOOR: "floor", ca.OP_CEIL: "ceil", ca.OP_FABS: "fabs",
    ca.OP_FMIN: "fmin", ca.OP_FMAX: "fmax", ca.OP_FMOD: "fmod", ca.OP_REMAINDER: "remainder",
    ca.OP_COPYSIGN: "copysign", ca.OP_ERF: "erf", ca.OP_HYPOT: "hypot", ca.OP_LOG1P: "log1p",
    ca.OP_EXPM1: "expm1",
}  # fmt: skip


@dataclass(frozen=True)
class Dialect:
    """How a language writes numbers, declarations and calls.

    Attributes
    ----------
    declare : str
        What stands before a name that is given its only value.
    number : str
        How a finite number is written, with as many digits as it has.
    call : str
        How a function of the library is called by its name in C.
    infinity, nothing : str
        Infinity, and what is no number.
    other : dict
        Operations that are spelled otherwise than in C.
    """

    declare: str = "const double"
    number: str = "{0!r}"
    call: str = "{0}({1})"
    infinity: str = "INFINITY"
    nothing: str = "NAN"
    other: dict[int, str] = field(default_factory=dict)

    def constant(self, value: float) -> str:
        """Write a number."""
        if math.isnan(value):
            return self.nothing
        if math.isinf(value):
            return self.infinity if value > 0 else f"(-{self.infinity})"
        text = self.number.format(value)
        return f"({text})" if value < 0 or math.copysign(1.0, value) < 0 else text

    def operation(self, op: int, values: list[str]) -> str:
        """Write what an operation makes of values."""
        if op in self.other:
            return self.other[op].format(*values)
        if op in _CALLED:
            return self.call.format(_CALLED[op], ", ".join(values))
        return _SPELLED[op].format(*values, one=self.constant(1.0))


DOUBLE = Dialect()
FLOAT = Dialect(declare="const float", number="{0:.9e}f", call="{0}f({1})")


def body(
    function: ca.Function, dialect: Dialect, names: list[str], results: list[str]
) -> list[str]:
    """Return the statements that evaluate a function, one for every operation.

    Every value has a name of its own, and is given once: what a compiler finds out about lifetimes
    is left to it. `names` are those of the arguments, `results` those of the outputs.
    """
    held: list[str] = [""] * function.sz_w()
    lines: list[str] = []
    for k, (op, read, write, constant) in enumerate(instructions(function)):
        if op == ca.OP_INPUT:
            held[write[0]] = f"{names[read[0]]}[{read[1]}]"
        elif op == ca.OP_CONST:
            held[write[0]] = dialect.constant(constant)
        elif op == ca.OP_OUTPUT:
            lines.append(f"{results[write[0]]}[{write[1]}] = {held[read[0]]};")
        else:
            value = dialect.operation(op, [held[i] for i in read])
            held[write[0]] = f"w{k}"
            lines.append(f"{dialect.declare} w{k} = {value};")
    return lines


def source(rhs: ca.Function, *, single: bool = False) -> str:
    """Return f(t, y, p) as C: ``rates`` for one state and ``rates_of`` for many, row by row."""
    dialect, real = (FLOAT, "float") if single else (DOUBLE, "double")
    states, values = rhs.numel_in(1), rhs.numel_in(2)
    lines = "\n".join(f"    {line}" for line in body(rhs, dialect, ["t", "y", "p"], ["dy"]))
    given = f"const {real} *t, const {real} *y, const {real} *p, {real} *dy"
    return f"""#include <math.h>

/* {states} states, {values} parameters. */
void rates({given})
{{
    (void)t; (void)y; (void)p;
{lines}
}}

void rates_of(long count, {given})
{{
    long i;
    for (i = 0; i < count; i++)
        rates(t + i, y + i * {states}, p, dy + i * {states});
}}
"""


# -- the engine ------------------------------------------------------------------------------------


@cache
def compiler() -> list[str]:
    """Return the system's compiler, or nothing."""
    named = shlex.split(os.environ.get("CC", ""))
    for command in (named, ["cc"], ["gcc"], ["clang"]):
        if command and shutil.which(command[0]):
            return command
    return []


def available() -> bool:
    """Tell whether there is a compiler."""
    return os.name == "posix" and bool(compiler())


def accepts(rhs: ca.Function) -> bool:
    """Tell whether a function of scalars has operations of C alone, and is not too long."""
    special = {ca.OP_INPUT, ca.OP_OUTPUT, ca.OP_CONST}
    if not rhs.is_a("SXFunction") or rhs.n_instructions() > _LONGEST:
        return False
    return operations(rhs) <= _SPELLED.keys() | _CALLED.keys() | special


class Code:
    """A compiled function, loaded."""

    def __init__(self, rhs: ca.Function):
        self.states = rhs.numel_in(1)
        self._call = loaded(source(rhs)).rates_of
        self._call.argtypes = [ctypes.c_long, *[ctypes.c_void_p] * 4]

    def __call__(self, t: np.ndarray, y: np.ndarray, p: np.ndarray) -> np.ndarray:
        """Return the rates of many states."""
        y = np.ascontiguousarray(y, dtype=float).reshape(-1, self.states)
        t = np.ascontiguousarray(np.broadcast_to(np.asarray(t, dtype=float), len(y)))
        p, dy = np.ascontiguousarray(p, dtype=float), np.zeros_like(y)
        self._call(len(y), *(x.ctypes.data for x in (t, y, p, dy)))
        return dy


def loaded(text: str, options: tuple[str, ...] = _OPTIONS) -> ctypes.CDLL:
    """Compile a text, or take what an earlier process has left on disk, and load it."""
    key = disk.digest(text, *compiler(), *options) + ".so"
    kept = disk.path(key)
    if kept is None or not kept.exists():
        content = _compiled(text, options)
        disk.keep(key, content)
        if kept is None or not kept.exists():
            with tempfile.TemporaryDirectory() as folder:
                # What is loaded stays, whatever becomes of its file.
                aside = Path(folder) / key
                aside.write_bytes(content)
                return ctypes.CDLL(str(aside))
    return ctypes.CDLL(str(kept))


def _compiled(text: str, options: tuple[str, ...]) -> bytes:
    """Return a shared library of a text."""
    with tempfile.TemporaryDirectory() as folder:
        file, library = Path(folder) / "rates.c", Path(folder) / "rates.so"
        file.write_text(text)
        order = [*compiler(), *options, "-o", str(library), str(file), "-lm"]
        done = subprocess.run(order, capture_output=True, text=True, check=False)
        if done.returncode:
            raise CompileError(
                "the C compiler refused the equations.",
                f"Found: {(done.stderr or done.stdout).strip()[:200]}",
                "Name another compiler in the environment variable CC, or use another engine.",
            )
        return library.read_bytes()


def compile(rhs: ca.Function) -> Code:
    """Compile f(t, y, p), or take what an earlier process has left on disk."""
    return Code(rhs)


def run(code: Code, t: np.ndarray, y: np.ndarray, p: np.ndarray) -> np.ndarray:
    """Return f at many times and states, one per row."""
    return code(t, y, p)
