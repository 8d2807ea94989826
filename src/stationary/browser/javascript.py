"""Graphs as JavaScript: straight code for a browser, one function for every graph."""

from __future__ import annotations

import casadi as ca

from stationary.errors import StatementError
from stationary.lower.engines.c import Dialect, accepts, body

_DIALECT = Dialect(
    declare="const",
    call="Math.{0}({1})",
    infinity="Infinity",
    nothing="NaN",
    other={
        ca.OP_FABS: "Math.abs({0})",
        ca.OP_FMIN: "Math.min({0}, {1})",
        ca.OP_FMAX: "Math.max({0}, {1})",
        ca.OP_FMOD: "{0} % {1}",
        ca.OP_REMAINDER: "remainder({0}, {1})",
        ca.OP_COPYSIGN: "copysign({0}, {1})",
        ca.OP_ERF: "erf({0})",
    },
)

_ARGUMENTS = ["t", "q", "v", "u", "p"]


def code(functions: dict[str, ca.Function]) -> str:
    """Write functions of (t, q, v, u, p) whose results are put into arrays given after these."""
    return "\n".join(_one(name, function) for name, function in functions.items())


def _one(name: str, function: ca.Function) -> str:
    if not accepts(function):
        raise StatementError(
            "the system is too large for a page.",
            f"Found {function.n_instructions()} operations for its {name}.",
            "Show it with fewer coordinates, or as a film: motion.animate('film.html').",
        )
    results = [f"r{k}" for k in range(function.n_out())]
    inside = "\n".join(body(function, _DIALECT, _ARGUMENTS, results))
    return f"code.{name} = function ({', '.join([*_ARGUMENTS, *results])}) {{\n{inside}\n}};"
