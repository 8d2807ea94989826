"""Expressions that read well: simplified with bounded effort, written in the order of thought."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from itertools import combinations
from typing import Any, Self

import sympy as sp

from stationary.derive.effort import LONGEST, affordable, bounded_in_all, is_long, operations
from stationary.model.graphs import nodes
from stationary.model.symbols import Parameter
from stationary.model.system import System
from stationary.model.terms import text as as_typed

# Operations in an expression above which it is not brought over one denominator, not factored,
# not touched; and terms above which a sum is not factored: the cost of reading a system must grow
# with its size and not with its algebra.
QUOTIENT_LIMIT, FACTOR_LIMIT, TIDY_LIMIT, MOST_TERMS = 60, 300, 3000, 60

# How much longer a sum of terms may be than a nest of factors and still read better.
MUCH_LONGER = 1.4

#: A term of a sum in which one symbol is written last: (m1 + m2, x.ddot).
Term = tuple[sp.Expr, sp.Expr]


# What TeX takes for itself, as it is set among upright letters.
_TEX = {"\\": r"\backslash ", "^": r"\wedge ", "~": r"\sim ", " ": r"\ ", "_": r"\ ", "`": "‘"}
_TEX |= {sign: "\\" + sign for sign in "{}$&#%"}


def upright(name: str) -> str:
    r"""Write a name in LaTeX, whatever signs it holds.

    Examples
    --------
    >>> print(upright("costs $5"))
    \mathrm{costs\ \$5}
    """
    return rf"\mathrm{{{''.join(_TEX.get(sign, sign) for sign in name)}}}"


def title(what: str, name: str | None) -> str:
    r"""Write the title of an explanation, in Markdown: a dollar in a name opens no mathematics.

    Examples
    --------
    >>> print(title("Statics", "costs $5"))
    # Statics of costs \$5
    """
    return f"# {what}" + (" of " + re.sub(r"([\\`*$<#\[])", r"\\\1", name) if name else "")


@bounded_in_all
def tidy(e: Any) -> sp.Expr:
    """Return an equal expression that reads better, at a cost bounded by its size.

    Square roots and quotients are kept whole; sin² + cos² and products of sines and cosines of
    two angles are collected. The sum over what moves, each with its constants in front, wins
    unless another form is much shorter.

    Examples
    --------
    >>> m, l, (a, b) = *st.parameters("m l"), st.coordinates("a b")
    >>> tidy(m * l * st.sin(a) * st.sin(b) + m * l * st.cos(a) * st.cos(b))
    l*m*cos(a - b)
    """
    e = sp.S(e)
    if e.is_Atom or is_long((e,), TIDY_LIMIT) or not affordable(e, size := e.count_ops()):
        return e
    masked, back = _masked(e)
    flat = _expanded(masked)
    if flat.has(sp.sin, sp.cos):
        flat = _angle_sums(_pythagorean(flat))
    best = _by_what_moves(flat, back)
    candidates = [e, flat.xreplace(back)]
    if size <= FACTOR_LIMIT and len(summands(flat)) <= MOST_TERMS:
        # Many terms that move differently hardly ever have a common factor but a constant.
        few = len(summands(best)) <= 6
        forms = [sp.factor(flat) if few else sp.factor_terms(flat)]
        forms += _over_one_denominator(flat, back)
        candidates += [form.xreplace(back) for form in forms]
    shortest = min(candidates, key=sp.count_ops)
    return shortest if best.count_ops() > MUCH_LONGER * shortest.count_ops() else best


def _by_what_moves(flat: sp.Expr, back: dict) -> sp.Expr:
    """Collect the terms of a sum that move alike; factor the constants in front of them."""
    moving = [
        s
        for s in flat.free_symbols
        if not all(isinstance(x, Parameter) for x in back.get(s, s).free_symbols)
    ]
    constants: dict[sp.Expr, sp.Expr] = {}
    for term in summands(flat):
        constant, motion = term.as_independent(*moving, as_Add=False)
        constants[motion] = constants.get(motion, sp.S.Zero) + constant
    shorter = ((motion, _factored(c)) for motion, c in constants.items())
    return sp.Add(*((c * motion).xreplace(back) for motion, c in shorter))


def _factored(constant: sp.Expr) -> sp.Expr:
    if not 1 < len(summands(constant)) <= MOST_TERMS:
        return constant
    return min(sp.factor(constant), constant, key=sp.count_ops)


def _over_one_denominator(flat: sp.Expr, back: dict) -> list[sp.Expr]:
    """Return the quotient, if there is a sum below the line for something to cancel with."""
    if not any(p.base in back and p.exp.could_extract_minus_sign() for p in flat.atoms(sp.Pow)):
        return []
    above, below = sp.fraction(sp.together(flat))
    above = above.xreplace(back)
    if above.count_ops() > QUOTIENT_LIMIT:
        return []
    # Only now may the sums below meet those above: 1/√β + v²/c²β√β with β = 1 − v²/c².
    return [tidy(above) / below]


def _masked(e: sp.Expr) -> tuple[sp.Expr, dict]:
    """Replace what must stay whole by placeholders; return the dictionary that undoes it."""
    stand_in: dict[sp.Basic, sp.Basic] = {}
    swap: dict[sp.Basic, sp.Basic] = {}
    walk = sp.preorder_traversal(e)
    for node in walk:
        if isinstance(node, (sp.sin, sp.cos)):
            # sin(2(a − b)) and sin(2a − 2b) must be one.
            swap[node] = node.func(sp.expand_mul(node.args[0]))
        elif (whole := _kept_whole(node)) is not None:
            inside = tidy(whole) if whole.is_Add else _tidy_arguments(whole)
            name = stand_in.setdefault(inside, sp.Dummy(f"d{len(stand_in)}", real=True))
            swap[node] = name if whole is node else name**node.exp
        else:
            continue
        walk.skip()
    return e.xreplace(swap), {name: whole for whole, name in stand_in.items()}


def _kept_whole(node: sp.Basic) -> sp.Basic | None:
    """Return what of a node must not be taken apart: a function, a root, the sum below a line."""
    if node.is_Pow:
        if node.exp.is_Integer and (node.exp.is_positive or node.base.is_Symbol):
            return None
        return node.base if node.base.is_Add and node.exp.is_Rational else node
    # Decimal numbers cancel exactly as placeholders and only nearly as numbers.
    return node if node.is_Function or node.is_Float else None


def _tidy_arguments(whole: sp.Basic) -> sp.Basic:
    if not whole.args or not all(isinstance(a, sp.Expr) for a in whole.args):
        return whole
    return whole.func(*map(tidy, whole.args))


def _expanded(e: sp.Expr) -> sp.Expr:
    return e.expand(power_base=False, power_exp=False, log=False, basic=False)


def _pythagorean(e: sp.Expr) -> sp.Expr:
    """Use sin² + cos² = 1 for every angle where that leaves fewer terms, until none is left."""
    before = None
    while e != before:
        before = e
        for f in sorted(e.atoms(sp.sin, sp.cos), key=sp.default_sort_key):
            other = (sp.cos if isinstance(f, sp.sin) else sp.sin)(f.args[0])
            powers = [p for p in e.atoms(sp.Pow) if p.base == f and p.exp >= 2]
            swap = {p: (1 - other**2) ** (p.exp // 2) * f ** (p.exp % 2) for p in powers}
            e = min(e, _expanded(e.xreplace(swap)), key=lambda x: len(summands(x)))
    return e


def _angle_sums(e: sp.Expr) -> sp.Expr:
    """Collect cos a cos b ± sin a sin b and sin a cos b ± cos a sin b, until none is left."""
    before = None
    while e != before:
        before, parts, pairs = e, list(summands(e)), {}
        for place, term in enumerate(parts):
            for f, g in combinations(_trigonometric_factors(term), 2):
                number, rest = (term / (f * g)).as_coeff_Mul()
                key = (rest, f.args[0], g.args[0], f.func is g.func)
                pairs.setdefault(key, {})[f.func] = (place, number)
        used: set[int] = set()
        for (rest, a, b, alike), members in pairs.items():
            if len(members) < 2:
                continue
            (i, sine), (j, cosine) = members[sp.sin], members[sp.cos]
            if abs(sine) == abs(cosine) and not used & {i, j}:
                # alike: sin a sin b and cos a cos b; else sin a cos b and cos a sin b.
                sign = 1 if (sine == cosine) is not alike else -1
                whole = cosine * sp.cos(a + sign * b) if alike else sine * sp.sin(a + sign * b)
                parts[i], parts[j] = sp.S.Zero, rest * whole
                used |= {i, j}
        e = sp.Add(*parts)
    return e


def _trigonometric_factors(term: sp.Expr) -> list[sp.Expr]:
    """Return the sines and cosines that a product has as factors, ordered by their angles."""
    bases = {f.base if f.is_Pow else f for f in sp.Mul.make_args(term)}
    factors = [f for f in bases if isinstance(f, (sp.sin, sp.cos))]
    return sorted(factors, key=lambda f: (sp.default_sort_key(f.args[0]), f.func is sp.sin))


def summands(e: sp.Expr) -> tuple[sp.Expr, ...]:
    """Return the terms of a sum, or the expression alone."""
    return sp.Add.make_args(e)


# -- decimals -----------------------------------------------------------------------------------


def in_fractions(system: System) -> tuple[System, Callable[[Any], sp.Expr]]:
    """Return the system with decimals as fractions, and what writes them as decimals again.

    Decimals round when they are multiplied, and 0.49 sin² + 0.49000000000000005 cos² is no 0.49.
    """
    if not any(e.has(sp.Float) for _, e in system.expressions()):
        return system, lambda e: e
    return System(**system.apply(lambda e: sp.nsimplify(e, rational=True))), in_decimals


def in_decimals(e: Any) -> sp.Expr:
    """Return an expression with its fractions written as decimals again."""
    decimals: dict[Any, Any] = {}
    for node in nodes(e):
        if node.is_Rational:
            # Factors of two are a bit pattern: numbers of hundreds of digits end here, too.
            rest = node.q >> ((node.q & -node.q).bit_length() - 1)
            while rest % 5 == 0:
                rest //= 5
            ends = rest == 1 and not node.is_Integer
            decimals[node] = sp.Float(float(node)) if ends else node
        elif node.is_Pow:
            decimals[node] = node.func(decimals[node.base], node.exp)
        else:
            decimals[node] = node.func(*(decimals[a] for a in node.args)) if node.args else node
    return decimals[e]


# -- writing ------------------------------------------------------------------------------------


def terms(e: sp.Expr) -> list[Term]:
    """Return the terms of a sum, each with nothing to be written last."""
    return [(part, sp.S.One) for part in e.as_ordered_terms()]


def total(several: Iterable[Term]) -> sp.Expr:
    """Return the sum that terms stand for."""
    return sp.Add(*(coefficient * last for coefficient, last in several))


def column(entries: Iterable[sp.Expr]) -> sp.ImmutableMatrix:
    """Return a column of expressions."""
    entries = list(entries)
    return sp.ImmutableMatrix(len(entries), 1, entries)


class Written(sp.Symbol):
    """A piece of LaTeX that stands in a sum where a symbol would."""

    def _latex(self, printer) -> str:
        return self.name


def plain(e: Any) -> str:
    """Write an expression as text."""
    return as_typed(e)


def write_sum(several: Iterable[Term], write: Callable[[Any], str] = sp.latex) -> str:
    """Write a sum in the given order, as in ``(m1 + m2)*x.ddot - l*m2*theta.dot**2``."""
    text = ""
    for coefficient, last in several:
        if coefficient == 0:
            continue
        minus = not coefficient.is_Add and coefficient.could_extract_minus_sign()
        text += (" - " if minus else " + ") if text else ("-" if minus else "")
        text += _product(-coefficient if minus else coefficient, last, write)
    return text or "0"


def written(several: Iterable[Term], write: Callable[[Any], str] = sp.latex) -> str:
    """Write a sum, or say how long it is if nobody would read it."""
    several = list(several)
    count = operations((e for term in several for e in term), 50 * LONGEST)
    if count <= LONGEST:
        return write_sum(several, write)
    more = " or more" if count > 50 * LONGEST else ""
    words = f"{count} operations{more}, too many to be written down"
    return f"({words})" if write is plain else rf"\text{{({words})}}"


def _product(coefficient: sp.Expr, last: sp.Expr, write: Callable[[Any], str]) -> str:
    if last == 1 or coefficient == 1:
        return write(coefficient * last)
    first = write(coefficient)
    if coefficient.is_Add:
        first = f"({first})" if write is plain else rf"\left({first}\right)"
    return f"{first}{'*' if write is plain else ' '}{write(last)}"


# Signs of a formula, and of all of them together, beyond which nobody reads on.
_LONGEST_FORMULA, _LONGEST_TEXT = 8_000, 60_000

_FORMULA = re.compile(r"\$\$.*?\$\$", re.DOTALL)


class Explanation(str):
    """Markdown with LaTeX: a notebook sets it, a terminal prints it as it is written.

    Formulas that are too long to be read are left out, and it says so in their place.
    """

    __slots__ = ()

    def __new__(cls, text: str) -> Explanation:  # noqa: D102  # the class says what it does
        written = 0

        def kept(match: re.Match[str]) -> str:
            nonlocal written
            size = len(match[0])
            if size > _LONGEST_FORMULA or written + size > _LONGEST_TEXT:
                return f"*(A formula of {size} signs, too long to be read; `latex()` writes it.)*"
            written += size
            return match[0]

        return super().__new__(cls, _FORMULA.sub(kept, text))

    @classmethod
    def of(cls, lines: list[str], steps: Iterable[tuple[str, list[str]]], end: str = "") -> Self:
        """Write numbered steps, each a heading and paragraphs; those without any are left out."""
        for number, (heading, body) in enumerate((s for s in steps if s[1]), 1):
            lines = [*lines, f"## {number}. {heading}", *body]
        return cls("\n\n".join([*lines, end] if end else lines))

    def __repr__(self) -> str:
        return str(self)

    def _repr_markdown_(self) -> str:
        return str(self)


def aligned(rows: Sequence[str]) -> str:
    """Write rows of LaTeX below each other, aligned at their ``&``."""
    return "\\begin{aligned}\n" + " \\\\\n".join(rows) + "\n\\end{aligned}"


def block(first: str, *more: str) -> str:
    """Write rows of LaTeX as one display."""
    return f"$${aligned([first, *more]) if more else first.replace('&', '', 1)}$$"


def slope(of: str, by: Any) -> str:
    """Write a partial derivative in LaTeX."""
    return rf"\frac{{\partial {of}}}{{\partial {by if isinstance(by, str) else sp.latex(by)}}}"
