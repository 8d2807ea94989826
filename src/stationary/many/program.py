"""The program of one trajectory as text, for a compiler of C or of CUDA: steps, events, reductions.

One thread follows one motion. What is the same in all runs is written into the text as numbers, so
that the compiler folds it; states that nothing depends on are left out where nobody asks for them.
Inside a step, crossings and extremes are located by taking a part of that step again, so that they
are as exact as the steps themselves.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import casadi as ca
import numpy as np

from stationary.lower.engines.c import DOUBLE, FLOAT, Dialect, body
from stationary.many.keep import End, First, Mean, Most, Values
from stationary.many.motions import Motions, expressions

#: What a trajectory says of its end.
DONE, EVENT, LOST, LONG = range(4)


@dataclass(frozen=True, eq=False)
class Program:
    """The text, and how its arrays are read.

    Attributes
    ----------
    text : str
    states : ndarray of int
        Which entries of y it integrates; sums for means come after them.
    varied : ndarray of int
        Which entries of p it takes.
    means, outputs : int
    columns : dict
        For everything kept the first of its outputs.
    """

    text: str
    states: np.ndarray
    varied: np.ndarray
    means: int
    outputs: int
    columns: dict[str, int]
    single: bool

    @property
    def kind(self) -> type:
        """The type of its numbers."""
        return np.float32 if self.single else np.float64


def program(motions: Motions, *, fixed: bool, single: bool = False) -> Program:
    """Write the program of a sweep, with steps of a fixed length or adaptive ones."""
    kernel, question = motions.kernel, motions.question
    t, y, p = kernel.arguments
    varied = np.unique(
        np.concatenate(
            [np.ravel(places) for where, places in motions.places.values() if where == "p"]
            + [[len(motions.values) - 1] if kernel.rows else []]
        ).astype(int)
    )
    symbols = ca.SX.sym("pv", len(varied))  # pyright: ignore[reportArgumentType]
    values = ca.SX(motions.values)
    for k, place in enumerate(varied):
        values[int(place)] = symbols[k]

    kept, means, watched, columns, outputs = [], [], [], {}, 0
    reductions: list[_Reduction] = []
    for name, keep in question.keeps.items():
        assert isinstance(keep, (End, First, Most, Mean, Values))
        columns[name] = outputs
        made = [motions.lowered(e) for e in expressions(keep.what)]
        if isinstance(keep, End):
            reductions.append(_Reduction("end", outputs, len(kept), len(made)))
            kept += made
        elif isinstance(keep, Values):
            for k, at in enumerate(keep.at):
                place = outputs + k * len(made)
                reductions.append(_Reduction("value", place, len(kept), len(made), at=at))
            kept += made
            outputs += (len(keep.at) - 1) * len(made)
        elif isinstance(keep, Mean):
            reductions.append(_Reduction("mean", outputs, len(means), 1))
            means += made
        elif isinstance(keep, First):
            reductions.append(_Reduction("first", outputs, len(watched), 1, sign=keep.direction))
            watched += made
        else:
            reductions.append(_Reduction("most", outputs, len(watched), 1, sign=keep.sign))
            watched += made
        outputs += len(made)
    for event in motions.terminal:
        reductions.append(_Reduction("stop", 0, len(watched), 1, sign=event.direction))
        watched.append(motions.lowered(event.expr))

    rates = kernel.rhs(t, y, p)
    asked = ca.vertcat(*kept, *means, *watched) if kept or means or watched else ca.SX(0, 1)
    states = _needed(rates, asked, y) if fixed else np.arange(kernel.states)
    few = ca.SX.sym("ys", len(states))  # pyright: ignore[reportArgumentType]
    whole = ca.SX.zeros(kernel.states)
    for k, place in enumerate(states):
        whole[int(place)] = few[k]

    def reduced(e: Any) -> Any:
        return ca.substitute(ca.densify(ca.vertcat(*e) if isinstance(e, list) else e),
                             ca.vertcat(y, p), ca.vertcat(whole, values))  # fmt: skip

    moved = reduced(rates)[states.tolist()]
    looks = reduced(watched) if watched else ca.SX(0, 1)
    speeds = ca.jtimes(looks, few, moved) + ca.jtimes(looks, t, ca.SX(1)) if watched else looks
    options = {"cse": True}
    full = ca.vertcat(moved, reduced(means)) if means else moved
    functions = {
        "rates": ca.Function("rates", [t, few, symbols], [ca.densify(full)], options),
        "kept": ca.Function("kept", [t, few, symbols], [reduced(kept) if kept else ca.SX(0, 1)],
                            options),
        "watch": ca.Function("watch", [t, few, symbols],
                             [ca.densify(looks), ca.densify(speeds)], options),
    }  # fmt: skip
    if not fixed:
        energies = kernel.graph.energies(*kernel.inner)
        work = y[kernel.states - 1] if kernel.graph.fed else ca.SX(0)
        told = reduced(ca.vertcat(energies[0], energies[1], energies[2], work))
        functions["energies"] = ca.Function("energies", [t, few, symbols], [told], options)
    text = _text(
        functions, len(states), 2 * kernel.size, len(means), len(varied), reductions, fixed, single
    )
    return Program(text, states, varied, len(means), outputs, columns, single)


@dataclass(frozen=True)
class _Reduction:
    """Something that is computed along the way: its first output, and what it looks at."""

    word: str
    output: int
    looks: int
    count: int
    sign: int = 0
    at: float = 0.0


def _needed(rates: Any, asked: Any, y: Any) -> np.ndarray:
    """Return the states on which depends what is asked for, directly or through others."""
    J = ca.DM(ca.jacobian_sparsity(rates, y) if hasattr(ca, "jacobian_sparsity")
              else ca.jacobian(rates, y).sparsity()).full() != 0  # fmt: skip
    need = (ca.DM(ca.jacobian(asked, y).sparsity()).full() != 0).any(axis=0)
    while True:
        more = need | J[need].any(axis=0)
        if (more == need).all():
            return np.flatnonzero(need) if need.any() else np.array([0])
        need = more


# -- text ------------------------------------------------------------------------------------------

_HEAD = """
#ifdef __CUDACC__
#define FUNCTION static __device__ __forceinline__
#define FAR static __device__ __noinline__
#define UNROLL _Pragma("unroll")
#else
#include <math.h>
#define FUNCTION static inline
#define FAR static
#define UNROLL
static inline void sincos_(double x, double *s, double *c) { *s = sin(x); *c = cos(x); }
static inline void sincosf_(float x, float *s, float *c) { *s = sinf(x); *c = cosf(x); }
#define sincos sincos_
#define sincosf sincosf_
#endif
#ifndef NAN
#define NAN (0.0 / 0.0)
#endif
#ifndef INFINITY
#define INFINITY (1.0 / 0.0)
#endif
"""


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
    found: dict[str, dict[str, str]] = {}
    pattern = re.compile(r"const \w+ (w\d+) = (sin|cos)f?\(([^()]*(?:\([^()]*\))?[^()]*)\);")
    for line in lines:
        match = pattern.fullmatch(line)
        if match:
            found.setdefault(match[3], {})[match[2]] = match[1]
    made, done = [], set()
    suffix = "f" if real == "float" else ""
    for line in lines:
        match = pattern.fullmatch(line)
        pair = found[match[3]] if match else {}
        if match is None or len(pair) < 2:
            made.append(line)
        elif match[3] not in done:
            done.add(match[3])
            s, c = pair["sin"], pair["cos"]
            made.append(f"{real} {s}, {c}; sincos{suffix}({match[3]}, &{s}, &{c});")
    return made


def _tableau() -> tuple[np.ndarray, ...]:
    """Return the method of order 8 by Dormand and Prince, with the error estimates of Hairer.

    E. Hairer, S. P. Nørsett, G. Wanner, Solving Ordinary Differential Equations I, section II.10.
    """
    from scipy.integrate._ivp import dop853_coefficients as d

    n = d.N_STAGES
    return d.A[:n, :n], d.B, d.C[:n], d.E3[:n], d.E5[:n]


def _stages(fixed: bool, number: Any) -> str:
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
        lines.append("    b = a + (real)0.01 * b;")
        lines.append("    *error = b > 0 ? fabs(h) * a / sqrt(b * M) : (b == b ? 0 : b);")
        lines.append("}")
    return "\n".join(f"    {line}" for line in lines)


_LOCATE = """
/* Where, in (a, b), a part of the step is on the zero of a watched value, or of its rate. */
FAR real locate(int rate, int w, real t, const real *y, const real *k1, const real *p,
                real a, real fa, real b, real fb, real *yr)
{
    real g[G + 1], r[G + 1], s = b, x, f, last = b - a;
    int n;
    for (n = 0; n < 100; n++) {
        s = n % 3 == 2 ? (a + b) / 2 : b - fb * (b - a) / (fb - fa);
        if (!(s > a && s < b)) s = (a + b) / 2;
        if (s <= a || s >= b || b - a <= TINY * fmax(fabs(t), last)) { s = b; break; }
        advance(t, s, y, k1, p, yr, 0, 0, 0, 0);
        x = t + s;
        watch(&x, yr, p, g, r);
        f = rate ? r[w] : g[w];
        if (f == 0) break;
        if ((f > 0) == (fb > 0)) { b = s; fb = f; if (n % 3 == 0) fa /= 2; }
        else { a = s; fa = f; if (n % 3 == 0) fb /= 2; }
    }
    advance(t, s, y, k1, p, yr, 0, 0, 0, 0);
    return s;
}

/* The first crossing inside a step of length h, or a negative number. */
FAR real crossing(int w, int direction, real t, const real *y, const real *k1, const real *p,
                  real h, real g0, real r0, real g1, real r1)
{
    real yr[N], g[G + 1], r[G + 1], s, x;
    if ((g0 > 0) != (g1 > 0) || g1 == 0) {
        if (direction && (g0 < 0) != (direction > 0)) return -1;
        return locate(0, w, t, y, k1, p, 0, g0, h, g1, yr);
    }
    /* It turns towards zero and away again: tangents say whether it can get there. */
    if (!(r0 * g0 < 0 && r1 * g1 > 0)) return -1;
    x = (g1 - r1 * h - g0) / (r0 - r1);
    if ((g0 + r0 * x) * g0 > 0) return -1;
    s = locate(1, w, t, y, k1, p, 0, r0, h, r1, yr);
    x = t + s;
    watch(&x, yr, p, g, r);
    if ((g[w] > 0) == (g0 > 0)) return -1;
    if (!direction || (g0 < 0) == (direction > 0))
        return locate(0, w, t, y, k1, p, 0, g0, s, g[w], yr);
    return locate(0, w, t, y, k1, p, s, g[w], h, g1, yr);
}

/* The largest value (sign 1) or the smallest (-1) inside a step, if it may pass the best one. */
FAR real summit(int w, int sign, real best, real t, const real *y, const real *k1, const real *p,
                real h, real g0, real r0, real g1, real r1)
{
    real yr[N], g[G + 1], r[G + 1], s, x;
    x = (g1 - r1 * h - g0) / (r0 - r1);
    if (sign * (g0 + r0 * x) <= sign * best) return best;
    s = locate(1, w, t, y, k1, p, 0, r0, h, r1, yr);
    x = t + s;
    watch(&x, yr, p, g, r);
    return sign * g[w] > sign * best ? g[w] : best;
}
"""


def _text(
    functions: dict[str, ca.Function],
    states: int,
    moving: int,
    means: int,
    varied: int,
    reductions: list[_Reduction],
    fixed: bool,
    single: bool,
) -> str:
    real, dialect = ("float", FLOAT) if single else ("double", DOUBLE)

    def number(value: float) -> str:
        return dialect.constant(value)

    watched = functions["watch"].numel_out(0)
    kept = functions["kept"].numel_out(0)
    parts = [
        _HEAD,
        f"typedef {real} real;",
        f"#define N {states + means}\n#define S {states}\n#define M {moving}",
        f"#define P {varied}\n#define G {watched}",
        f"#define TINY {number(float(np.finfo(np.float32 if single else np.float64).eps) * 2)}",
        _function("rates", functions["rates"], dialect, ["dy"], real),
        _function("watch", functions["watch"], dialect, ["g", "r"], real),
        _function("kept", functions["kept"], dialect, ["e"], real),
        "" if fixed else _function("energies", functions["energies"], dialect, ["e"], real),
        "FUNCTION void advance(real t, real h, const real *y, const real *k1, const real *p,\n"
        "    real *yn, real *error, real rtol, real atol, const real *size)",
        "{\n    int i;\n    (void)error; (void)rtol; (void)atol; (void)size;",
        _stages(fixed, number),
        "}",
        _LOCATE if watched else "",
    ]
    begin, along, after, last = [], [], [], []
    stops = [r for r in reductions if r.word == "stop"]
    for r in stops:
        along.append(
            f"if (g[{r.looks}] != 0) {{ q = crossing({r.looks}, {r.sign}, t, y, k1, p, hh, "
            f"g[{r.looks}], r[{r.looks}], gn[{r.looks}], rn[{r.looks}]);"
            f" if (q >= 0 && q < cut) {{ cut = q; over = 1; }} }}"
        )
    for k, r in enumerate(reductions):
        w = r.looks
        if r.word == "first":
            begin.append(f"real first{k} = NAN;")
            begin.append(
                f"if (g[{w}] == 0) {{ if (r[{w}] == 0) first{k} = t; g[{w}] = r[{w}] > 0 ? "
                f"(real)1e-37 : (real)-1e-37; }}"
            )
            after.append(
                f"if (first{k} != first{k}) {{ q = crossing({w}, {r.sign}, t, y, k1, p, hh, g[{w}],"
                f" r[{w}], gn[{w}], rn[{w}]); if (q >= 0) first{k} = t + q; }}"
            )
            last.append(f"out[{r.output}L * count + lane] = first{k};")
        elif r.word == "most":
            s = r.sign
            begin.append(f"real best{k} = g[{w}];")
            after.append(
                f"if ({s} * gn[{w}] > {s} * best{k}) best{k} = gn[{w}];\n"
                f"        if ({s} * r[{w}] > 0 && {s} * rn[{w}] < 0)"
                f" best{k} = summit({w}, {s}, best{k}, t, y, k1, p, hh, g[{w}], r[{w}], gn[{w}],"
                f" rn[{w}]);"
            )
            last.append(f"out[{r.output}L * count + lane] = best{k};")
        elif r.word == "mean":
            last.append(f"out[{r.output}L * count + lane] = y[S + {w}] / (t - begin);")
        elif r.word == "end":
            last.append("kept(&t, y, p, e);")
            last += [
                f"out[{r.output + j}L * count + lane] = e[{w + j}];" for j in range(r.count)
            ]  # fmt: skip
        elif r.word == "value":
            at = number(r.at)
            writes = " ".join(
                f"out[{r.output + j}L * count + lane] = e[{w + j}];" for j in range(r.count)
            )
            begin.append(f"if (t == {at}) {{ kept(&t, y, p, e); {writes} }}")
            after.append(
                f"if (t < {at} && {at} <= tn) {{ part(t, {at}, tn, y, yn, k1, p, e); {writes} }}"
            )
    parts.append("FUNCTION void part(real t, real at, real tn, const real *y, const real *yn, "
                 "const real *k1, const real *p, real *e)\n{\n    real z[N];\n"
                 "    if (at == tn) { kept(&at, yn, p, e); return; }\n"
                 "    advance(t, at - t, y, k1, p, z, 0, 0, 0, 0);\n"
                 "    kept(&at, z, p, e);\n}\n")  # fmt: skip
    control = _FIXED if fixed else _ADAPTIVE
    inner = _TRAJECTORY.replace("/*E*/", str(max(kept, 1)))
    inner = inner.replace("/*CUT*/", _CUT if stops else "")
    for mark, lines in (("BEGIN", begin), ("ALONG", along), ("AFTER", after), ("LAST", last)):
        inner = inner.replace(f"/*{mark}*/", "\n        ".join(lines))
    inner = inner.replace("/*FIRST STEP*/", control[0]).replace("/*STEP*/", control[1])
    inner = inner.replace("/*WHILE*/", "n < total" if fixed else "t < end")
    inner = inner.replace("/*PROOF*/", "" if fixed else _PROOF)
    parts.append(inner)
    parts.append(_ENTRY)
    return "\n".join(parts)


_TRAJECTORY = """/* One motion. */
FUNCTION void trajectory(long lane, long count, const real *starts, const real *values,
    const real *span, real rtol, real atol, real step, long most,
    real *out, int *status, int *steps)
{
    real y[N], yn[N], k1[N], kn[N], p[P + 1], g[G + 1], r[G + 1], gn[G + 1], rn[G + 1], e[/*E*/];
    real t = span[lane], end = span[count + lane], begin = span[lane], tn, hh, h, q, error = 0;
    int n, total = 0;
    int i, over = 0, state = 0;
    (void)rtol; (void)atol; (void)step; (void)error; (void)q; (void)e; (void)begin;
    (void)g; (void)r; (void)gn; (void)rn; (void)h; (void)total; (void)over;
    UNROLL for (i = 0; i < S; i++) y[i] = starts[i * count + lane];
    UNROLL for (i = S; i < N; i++) y[i] = 0;
    UNROLL for (i = 0; i < P; i++) p[i] = values[i * count + lane];
    p[P] = 0;
    rates(&t, y, p, k1);
    if (G) watch(&t, y, p, g, r);
    {
        /*BEGIN*/
    /*FIRST STEP*/
    for (n = 0; /*WHILE*/; n++) {
        /*STEP*/
        rates(&tn, yn, p, kn);
        if (G) watch(&tn, yn, p, gn, rn);
        /*CUT*/
        /*AFTER*/
        UNROLL for (i = 0; i < N; i++) { y[i] = yn[i]; k1[i] = kn[i]; }
        UNROLL for (i = 0; i < G; i++) { g[i] = gn[i]; r[i] = rn[i]; }
        t = tn;
        if (over) { state = 1; break; }
    }
    UNROLL for (i = 0; i < S; i++) if (!(fabs(y[i]) < INFINITY)) state = 2;
    /*PROOF*/
        /*LAST*/
    }
    status[lane] = state;
    steps[lane] = (int)n;
}
"""

_CUT = """{
            real cut = hh;
            /*ALONG*/
            if (over) {
                advance(t, cut, y, k1, p, yn, 0, 0, 0, 0);
                hh = cut; tn = t + cut;
                rates(&tn, yn, p, kn);
                if (G) watch(&tn, yn, p, gn, rn);
            }
        }"""

# Errors add up along the way: so many tolerances of the largest energy for every step.
_PROOF = """energies(&t, y, p, after);
    if (state < 2) {
        real scale = fmax(fabs(before[0]), fabs(after[0]));
        const real work = after[3] - before[3];
        scale = fmax(scale, fmax(fmax(fabs(before[1]), fabs(after[1])), fabs(work)));
        if (!(fabs(after[2] - before[2] - work) <= (10 * rtol * (n + 1) + (real)1e-11) * scale))
            state = 2;
    }"""

_FIXED = (
    """total = (int)ceil((end - begin) / step - (real)1e-6);
    if (total < 1) total = 1;
    h = (end - begin) / total;""",
    """hh = h;
        tn = n + 1 == total ? end : begin + (n + 1) * h;
        advance(t, hh, y, k1, p, yn, 0, 0, 0, 0);""",
)

_ADAPTIVE = (
    """real size[M], before[4], after[4];
    {
        /* How large states are or become in the time in which the motion changes; and a first step
           over which none changes by more than a hundredth of that. */
        real place = 0, speed = 0, push = 0, way, time, fast = 0;
        const real bit = (end - t) / 100;
        UNROLL for (i = 0; i < M / 2; i++) {
            place = fmax(place, fabs(y[i])); speed = fmax(speed, fabs(k1[i]));
            push = fmax(push, fabs(k1[M / 2 + i]));
        }
        way = fmax(fmax(place, speed * bit), push * bit * bit);
        if (!(way > 0)) way = 1;
        time = 1 / fmax(fmax(speed / way, sqrt(push / way)), (real)0.1 / bit);
        UNROLL for (i = M / 2; i < M; i++)
            size[i] = fmax(fmax(fabs(y[i]), time * fabs(k1[i])), (real)1e-3 * way / time);
        UNROLL for (i = 0; i < M / 2; i++)
            size[i] = fmax(fmax(fabs(y[i]), time * size[M / 2 + i]), (real)1e-3 * way);
        UNROLL for (i = 0; i < M; i++) fast = fmax(fast, fabs(k1[i]) / size[i]);
        h = fast > 0 ? (real)0.01 / fast : (end - t) / 16;
        if (!(h < (end - t) / 16)) h = (end - t) / 16;
        energies(&t, y, p, before);
    }""",
    """if (n >= most) { state = 3; break; }
        hh = h;
        if (!(t + hh < end)) { hh = end - t; tn = end; } else tn = t + hh;
        advance(t, hh, y, k1, p, yn, &error, rtol, atol, size);
        if (!(error <= 1)) {
            h = hh * (error == error ? fmax((real)0.2, (real)0.9 / sqrt(sqrt(sqrt(error))))
                                     : (real)0.1);
            if (!(h > 16 * TINY * fabs(t)) || !(h > 1e-15 * (end - begin))) { state = 2; break; }
            continue;
        }
        h = hh * (error > 0 ? fmin((real)6, (real)0.9 / sqrt(sqrt(sqrt(error)))) : 6);""",
)

_ENTRY = """
#define ARGUMENTS long count, const real *starts, const real *values, const real *span, \\
    real rtol, real atol, real step, long most, real *out, int *status, int *steps
#ifdef __CUDACC__
extern "C" __global__ void __launch_bounds__(BLOCK) run(ARGUMENTS)
{
    long lane = (long)blockIdx.x * blockDim.x + threadIdx.x;
    if (lane < count)
        trajectory(lane, count, starts, values, span, rtol, atol, step, most, out, status, steps);
}
#else
void run(long first, long last, ARGUMENTS)
{
    long lane;
    for (lane = first; lane < last; lane++)
        trajectory(lane, count, starts, values, span, rtol, atol, step, most, out, status, steps);
}
#endif
"""
