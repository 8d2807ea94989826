"""Advice of the library in the words of the command line: options and tables instead of Python."""

from __future__ import annotations

import re
from typing import Any


def _each_set(match: re.Match[str]) -> str:
    """Write a dictionary of values as one option for each."""
    pairs = re.findall(r"['\"]?([\w.]+)['\"]?: ([^,]+)", match[1])
    return " ".join(f"--set {name}={value}" for name, value in pairs) or "--set NAME=VALUE"


# In order: what is written in Python, and what is typed or written into the file instead.
_RULES: list[tuple[str, Any]] = [
    (r"st\.(simulate|quasistatics)\(…\)\.animate\('([\w.]+)'\)", r"st.\1 with -o \2"),
    (r"motion\.animate\('([\w.]+)'\)", r"st.simulate with -o \1"),
    (r"Build it from st\.particle.*\[\[drawing\]\] in a model file",
     "Say what is to be seen: add [[drawing]] to the file"),
    (r";? ?throw=False returns[^.;]*", ""),
    (r"(?:params|inputs|start)=\{([^}]*)\}", _each_set),
    (r"at=\{['\"]?(\w+)['\"]?: ([^}]*)\}", r"--at \1=\2"),
    (r"within=\{['\"]?(\w+)['\"]?: \(([^,]+), ([^)]+)\)\}", r"--within \1=\2:\3"),
    (r"span=\(([^,]+), ([^)]+)\)", r"--span \1:\2"),
    (r"kind=['\"](\w+)['\"]", r"--kind \1"),
    (r"method=['\"](\w+)['\"]", r"--method \1"),
    (r"(?:method=)?st\.Variational\(step=([^)]*)\)", r"--method Variational --step \1"),
    (r"(?:method=)?st\.(BDF|Runge|Taylor)\(\)", r"--method \1"),
    (r"\b(points|count)=(\d+)", r"--\1 \2"),
    (r"at=st\.statics\([^)]*\)", "a state found by 'stationary statics'"),
    (r"at=st\.consistent\([^)]*\)", "with [start] in the file"),
    (r"st\.(?:quasistatics|minimum_power)\b(?:\(…?\))?|\bquasistatics\(\)", "'stationary slide'"),
    (r"Use st\.minimum_dissipation.*newton, which balances the forces",
     "Give --span, or use 'stationary simulate'"),
    (r"st\.newton, which balances the forces", "'stationary simulate'"),
    (r"st\.pressure_bounds\b", "'stationary bounds'"),
    (r"st\.fit_pressure\b", "'stationary weigh'"),
    (r"st\.continuation\b(?:\(…?\))?|\bcontinuation\(\)", "'stationary continue'"),
    (r"st\.(simulate|statics|equilibria|linearize|modes|check|equations)\b(?:\(…?\))?",
     r"'stationary \1'"),
    (r"friction=\[st\.Drag\(…\)\]|st\.Drag\([^)]*\)", "[[friction]] with eta and power"),
    (r"st\.Friction\((?:[^()]|\([^)]*\))*\)", "[[friction]] with limit and on"),
    (r"(?:an )?st\.Load\b(?:\((?:[^()]|\([^)]*\))*\))?", "[[loads]] with force and on"),
    (r"\b(pfaffian|constraints|contacts|loads)=\[…?\]", r"[[\1]]"),
    (r"name=…", "a name"),
    (r"declare st\.parameters\([^)]*\)", "give it in [parameters]"),
    (r"st\.(parameters|coordinates|inputs)\([^)]*\)", r"[\1]"),
    (r"; \S+\.diff\(st\.t\) is zero, \S+ is not", ""),
    (r"(?:stabilize|events|action|degree|elements|shapes)=\S+", "another value"),
    (r"The motion so far is in error\.solution", "What there is is written with -o"),
    (r"\bst\.", ""),
]  # fmt: skip

# A line of a model file, as it is shown beside its number.
_OF_A_FILE = re.compile(r" +\d+ \| ")


def for_a_shell(message: str) -> str:
    """Return a message as the command line says it; lines of a file stay as they are written.

    Examples
    --------
    >>> from stationary.cli.words import for_a_shell
    >>> for_a_shell("Give it a value: params={'k': 1.0}, or use st.simulate.")
    "Give it a value: --set k=1.0, or use 'stationary simulate'."
    """
    return "".join(
        line if _OF_A_FILE.match(line) else _typed(line)
        for line in message.splitlines(keepends=True)
    )


def _typed(line: str) -> str:
    for python, typed in _RULES:
        line = re.sub(python, typed, line)
    return line
