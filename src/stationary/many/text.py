"""The text of one trajectory, in C that is CUDA, too: steps, events, reductions."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import casadi as ca
import numpy as np

from stationary.lower.engines.c import DOUBLE, FLOAT, Dialect, body

# What is the same in every program, part by part.
_WHOLE = Path(__file__).with_name("trajectory.c").read_text(encoding="utf-8")
_PARTS = dict(re.findall(r"^//-- ([a-z ]+)\n(.*?)\n+(?=//--|\Z)", _WHOLE, re.MULTILINE | re.DOTALL))


@dataclass(frozen=True)
class Reduction:
    """Something that is computed along the way: its first output, and what it looks at.

    An event that acts has the entries of the state that it changes as `targets`, and where their
    new values stand among all `looks` of actions.
    """

    word: str
    output: int
    looks: int
    count: int
    sign: int = 0
    at: float = 0.0
    targets: tuple[tuple[int, int], ...] = ()


@dataclass(frozen=True)
class Sizes:
    """How many there are of everything: numbers that are written into the text.

    Attributes
    ----------
    states, means : int
        Entries of y that are integrated, and means, which come after them.
    moving : int
        Coordinates and velocities among them, where all are.
    varied : int
        Entries of p that differ from run to run, or change on the way.
    rows : int
        Constraints.
    slots : tuple of int
        Where, in p, value, slope and time of every sampled input begin.
    """

    states: int
    means: int
    moving: int
    varied: int
    rows: int
    slots: tuple[int, ...]


def _function(name: str, f: ca.Function, dialect: Dialect, results: list[str], real: str) -> str:
    lines = _paired(body(f, dialect, ["t", "y", "p"], results), real)
    given = ", ".join(f"{real} *{r}" for r in results)
    inside = "\n".join(f"    {line}" for line in lines)
    return f"""FUNCTION void {name}(const {real} *t, const {real} *y, const {real} *p, {given})
{{
    (void)t; (void)y; (void)p;
{inside}
}}
"""


def _paired(lines: list[str], real: str) -> list[str]:
    """Take sine and cosine of one angle together: a device computes both for the price of one."""
    pairs: dict[str, dict[str, str]] = {}
    pattern = re.compile(r"const \w+ (w\d+) = (sin|cos)f?\(([^()]*(?:\([^()]*\))?[^()]*)\);")
    for line in lines:
        match = pattern.fullmatch(line)
        if match:
            pairs.setdefault(match[3], {})[match[2]] = match[1]
    written, done = [], set()
    suffix = "f" if real == "float" else ""
    for line in lines:
        match = pattern.fullmatch(line)
        pair = pairs[match[3]] if match else {}
        if match is None or len(pair) < 2:
            written.append(line)
        elif match[3] not in done:
            done.add(match[3])
            s, c = pair["sin"], pair["cos"]
            written.append(f"{real} {s}, {c}; sincos{suffix}({match[3]}, &{s}, &{c});")
    return written


def _tableau() -> tuple[np.ndarray, ...]:
    """Return the method of order 8 by Dormand and Prince, with the error estimates of Hairer.

    E. Hairer, S. P. Nørsett, G. Wanner, Solving Ordinary Differential Equations I, section II.10.
    """
    from scipy.integrate._ivp import dop853_coefficients as d

    n = d.N_STAGES
    return d.A[:n, :n], d.B, d.C[:n], d.E3[:n], d.E5[:n]


def _stages(fixed: bool, number: Callable[[float], str]) -> str:
    """Write one step from t by h: ``yn``, and for adaptive ones the two estimates of its error."""
    if fixed:
        A = np.zeros((4, 4))
        A[1, 0], A[2, 1], A[3, 2] = 0.5, 0.5, 1.0
        B, C, E3, E5 = np.array([1, 2, 2, 1]) / 6, np.array([0, 0.5, 0.5, 1.0]), None, None
    else:
        A, B, C, E3, E5 = _tableau()

    def total(row: np.ndarray) -> str:
        terms = [f"{number(float(a))} * k{j + 1}[i]" for j, a in enumerate(row) if a]
        return " + ".join(terms)

    lines = ["real z[N], s;"]
    lines += [f"real k{j + 1}[N];" for j in range(1, len(B))]
    for j in range(1, len(B)):
        lines.append(f"UNROLL for (i = 0; i < N; i++) z[i] = y[i] + h * ({total(A[j])});")
        lines.append(f"s = t + {number(float(C[j]))} * h; rates(&s, z, p, k{j + 1});")
    lines.append(f"UNROLL for (i = 0; i < N; i++) yn[i] = y[i] + h * ({total(B)});")
    if E3 is not None and E5 is not None:
        lines.append("if (error) {")
        lines.append("    real a = 0, b = 0;")
        lines.append("    UNROLL for (i = 0; i < M; i++) {")
        lines.append("        const real m = fmax(fabs(y[i]), fabs(yn[i]));")
        lines.append("        const real q = 1 / (atol * size[i] + rtol * m);")
        lines.append(f"        const real e5 = ({total(E5)}) * q;")
        lines.append(f"        const real e3 = ({total(E3)}) * q;")
        lines.append("        a += e5 * e5; b += e3 * e3;")
        lines.append("    }")
        # Means are as large as what they are made of, over the whole time.
        lines.append("    for (i = S; i < N; i++) {")
        lines.append("        real m = 0;")
        lines += [f"        m = fmax(m, fabs(k{j + 1}[i]));" for j in range(len(B))]
        lines.append("        m = fmax(size[M + i - S], m * fabs(h));")
        lines.append("        const real q = m > 0 ? 1 / (rtol * m) : 0;")
        lines.append(f"        const real e5 = ({total(E5)}) * q;")
        lines.append(f"        const real e3 = ({total(E3)}) * q;")
        lines.append("        a += e5 * e5; b += e3 * e3;")
        lines.append("    }")
        lines.append("    b = a + (real)0.01 * b;")
        lines.append("    *error = b > 0 ? fabs(h) * a / sqrt(b * (M + N - S)) : (b == b ? 0 : b);")
        lines.append("}")
    return "\n".join(f"    {line}" for line in lines)


@dataclass(frozen=True)
class _Writer:
    """What the parts of the text need to know."""

    sizes: Sizes
    reductions: tuple[Reduction, ...]
    fixed: bool
    number: Callable[[float], str]

    def having(self, *words: str) -> list[tuple[int, Reduction]]:
        """Return reductions of some kinds, with their places among all."""
        return [(k, r) for k, r in enumerate(self.reductions) if r.word in words]

    def begin(self) -> list[str]:
        """Write what happens before the first step."""
        lines = []
        if self.having("first", "stop", "act"):
            lines.append("rough(&t, y, p, large, whole);")
        for k, r in self.having("first", "stop", "act", "most"):
            w = r.looks
            if r.word == "most":
                lines.append(f"real best{k} = g[{w}];")
                continue
            lines.append(f"g[{w}] = side(g[{w}], r[{w}], large[{w}], whole[{w}]);")
            lines.append(f"if (g[{w}] == 0) state = 2;")
            if r.word == "first":
                lines.append(f"real first{k} = NAN;")
        for _, r in self.having("value"):
            lines.append(f"if (t == {self.number(r.at)}) {{ kept(&t, y, p, e); {_writes(r)} }}")
        return lines

    def cut(self) -> str:
        """Write how events end a step."""
        events = self.having("stop", "act")
        if not events:
            return ""
        given = "t, y, k1, yn, kn, p, &seen"
        along = [f"at{k} = crossing({r.looks}, {r.sign}, {given});\n"
                 f"            if (at{k} >= 0 && at{k} < cut) cut = at{k};"
                 for k, r in events]  # fmt: skip
        late = "cut + 2 * TINY * fabs(t + cut)"
        over = " || ".join(f"(at{k} >= 0 && at{k} <= {late})" for k, r in self.having("stop"))
        acts = " || ".join(f"(at{k} >= 0 && at{k} <= {late})" for k, r in self.having("act"))
        declared = ", ".join(f"at{k} = -1" for k, _ in events)
        return _PARTS["cut"].replace("/*ALONG*/", "\n            ".join(along)).replace(
            "/*OVER*/", over or "0").replace("/*ACTS*/", acts or "0").replace(
            "/*DECLARED*/", declared).replace("/*NOTED*/", " ".join(
                f"acts{k} = acts && at{k} >= 0 && at{k} <= {late};"
                for k, _ in self.having("act")))  # fmt: skip

    def after(self) -> list[str]:
        """Write what happens after a step."""
        lines = []
        given = "t, y, k1, yn, kn, p, &seen"
        for k, r in self.having("first"):
            lines.append(
                f"if (first{k} != first{k}) {{ q = crossing({r.looks}, {r.sign}, {given});"
                f" if (q >= 0) first{k} = t + q; }}"
            )
        for k, r in self.having("most"):
            w, s = r.looks, r.sign
            lines.append(f"if ({s} * gn[{w}] > {s} * best{k}) best{k} = gn[{w}];")
            lines.append(f"best{k} = summit({w}, {s}, best{k}, {given});")
        for _, r in self.having("value"):
            at = self.number(r.at)
            lines.append(f"if (t < {at} && {at} <= tn) "
                         f"{{ part(t, {at}, tn, y, yn, k1, p, e); {_writes(r)} }}")  # fmt: skip
        for _, r in self.having("guard"):
            w = r.looks
            lines.append(
                f"if (poles(hh, g[{w}], r[{w}], gn[{w}], rn[{w}])) {{ state = 2; break; }}"
            )
        return lines

    def acted(self) -> str:
        """Write what actions do, and how the motion goes on."""
        events = self.having("act")
        if not events:
            return ""
        jumps = [f"if (acts{k}) {{ "
                 + " ".join(f"y[{to}] = jumped[{of}];" for to, of in r.targets) + " }"
                 for k, r in events]  # fmt: skip
        sides, best = [], []
        for k, r in events:
            w = r.looks
            # What an action leaves at zero goes on as its rate says.
            sides.append(f"if (acts{k}) {{ if (fabs(g[{w}]) <= 32 * TINY * (large[{w}] + "
                         f"fabs(r[{w}] * t)) + 2 * fabs(gn[{w}])) "
                         f"g[{w}] = side(0, r[{w}], 1, whole[{w}]); "
                         f"if (g[{w}] == 0) state = 2; }}")  # fmt: skip
        for k, r in self.having("most"):
            w, s = r.looks, r.sign
            best.append(f"if ({s} * g[{w}] > {s} * best{k}) best{k} = g[{w}];")
        text = _PARTS["acted"].replace("/*JUMPS*/", "\n            ".join(jumps))
        text = text.replace("/*SIDES*/", "\n            ".join(sides + best))
        for mark, sign in (("BEFORE", "-"), ("AFTER", "+")):
            fed = f"energies(&t, y, p, after); before[2] {sign}= after[2];"
            text = text.replace(f"/*ENERGY {mark}*/", "" if self.fixed else fed)
        held = bool(self.sizes.rows) and not self.fixed
        return text.replace("/*HELD*/", _PARTS["jump held"] if held else "")

    def last(self) -> list[str]:
        """Write what is put out at the end."""
        lines = []
        for k, r in enumerate(self.reductions):
            if r.word in ("first", "most"):
                name = {"first": "first", "most": "best"}[r.word]
                lines.append(f"out[{r.output}L * count + lane] = {name}{k};")
            elif r.word == "mean":
                lines.append(f"out[{r.output}L * count + lane] = y[S + {r.looks}] / (t - begin);")
            elif r.word == "end":
                lines += ["kept(&t, y, p, e);", _writes(r)]
        return lines


def _writes(r: Reduction) -> str:
    return " ".join(
        f"out[{r.output + j}L * count + lane] = e[{r.looks + j}];" for j in range(r.count)
    )


def text(
    functions: dict[str, ca.Function],
    sizes: Sizes,
    reductions: list[Reduction],
    *,
    fixed: bool,
    single: bool,
) -> str:
    """Write the program of a trajectory around the functions of a system."""
    real, dialect = ("float", FLOAT) if single else ("double", DOUBLE)
    write = _Writer(sizes, tuple(reductions), fixed, dialect.constant)
    watched = functions["watch"].numel_out(0)
    kept, acts = functions["kept"].numel_out(0), bool(write.having("act"))
    looking = bool(write.having("first", "stop", "act", "most"))
    slots = ", ".join(map(str, sizes.slots))
    tiny = float(np.finfo(np.float32 if single else np.float64).eps) * 2

    def function(name: str, *results: str) -> str:
        known = functions.get(name)
        return _function(name, known, dialect, list(results), real) if known is not None else ""

    parts = [
        _PARTS["head"],
        f"typedef {real} real;",
        f"#define N {sizes.states + sizes.means}\n#define S {sizes.states}",
        f"#define M {sizes.moving}\n#define P {sizes.varied}\n#define G {max(watched, 1)}",
        f"#define L 4\n#define WATCHED {int(watched > 0)}\n#define ROWS {sizes.rows}",
        f"#define TABLES {len(sizes.slots)}\n#define TINY {dialect.constant(tiny)}",
        function("rates", "dy"),
        function("watch", "g", "r"),
        function("rough", "large", "whole"),
        function("kept", "e"),
        function("energies", "e"),
        function("held", "R", "V", "A"),
        function("jumps", "e"),
        function("masses", "e"),
        "FUNCTION void advance(real t, real h, const real *y, const real *k1, const real *p,\n"
        "    real *yn, real *error, real rtol, real atol, const real *size)",
        "{\n    int i;\n    (void)error; (void)rtol; (void)atol; (void)size;",
        _stages(fixed, dialect.constant),
        "}",
        _PARTS["partly"],
        _PARTS["poles"] if write.having("guard") else "",
        _PARTS["watched"] if looking else "",
        _PARTS["part"] if write.having("value") else "",
        _PARTS["sampled"].replace("/*SLOTS*/", slots) if slots else "",
        _PARTS["held"] if sizes.rows and not fixed else "",
    ]
    first, step = ("fixed length", "fixed step") if fixed else ("adaptive begin", "adaptive step")
    jumped = functions["jumps"].numel_out(0) if acts else 1
    kept = max(kept, functions["masses"].numel_out(0))
    declared = f"real e[{kept}], jumped[{max(jumped, 1)}], large[G], whole[G];"
    if looking:
        declared += " Seen seen;"
    if acts:
        declared += " int " + ", ".join(f"acts{k} = 0" for k, _ in write.having("act")) + ";"
    swaps = {
        "DECLARE": declared,
        "MASSES": str(functions["masses"].numel_out(0)),
        "BEGIN": "\n    ".join(write.begin()),
        "FIRST STEP": _PARTS[first],
        "STEP": _PARTS[step],
        "SEE": _PARTS["see"] if looking else "",
        "CUT": write.cut(),
        "AFTER": "\n        ".join(write.after()),
        "ACTED": write.acted(),
        "LEG": _PARTS["leg"].replace("/*LENGTH*/", _PARTS[first] if fixed else "")
        if sizes.slots
        else "",
        "PROOF": "" if fixed else _PARTS["proof"] + (_PARTS["proof held"] if sizes.rows else ""),
        "LAST": "\n    ".join(write.last()),
    }
    inner = _PARTS["trajectory"]
    for mark, content in swaps.items():
        inner = inner.replace(f"/*{mark}*/", content)
    return "\n".join([*parts, inner, _PARTS["entry"]])


def signature(*, single: bool) -> tuple[Any, ...]:
    """Return the types of the arguments that ``run`` takes after its first two, for ctypes."""
    import ctypes

    real: Any = ctypes.c_float if single else ctypes.c_double
    array, whole = ctypes.c_void_p, ctypes.c_long
    return (whole, array, array, array, array, whole, ctypes.c_int, real, real, real, whole, array,
            array, array)  # fmt: skip
