"""What an expression is made of, found in one walk and remembered."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import sympy as sp
from sympy.concrete.expr_with_limits import ExprWithLimits
from sympy.core.function import AppliedUndef, Subs

from stationary.model.each import Each
from stationary.model.symbols import natural, t

# Expressions of a statement are asked about many times while it is checked.
_KEPT = 4096

# Higher powers are so flat around their zeros that a series there is nothing but zeros.
_FLAT = 4

#: Numbers that no energy has.
_UNPHYSICAL = (sp.nan, sp.zoo, sp.oo, -sp.oo, sp.I)


@dataclass(frozen=True, slots=True)
class Contents:
    """The leaves of an expression, sorted by kind.

    Attributes
    ----------
    symbols : frozenset of Symbol
        Of repetitions those that all rows share.
    order : tuple of Symbol
        The same in the order of their first occurrence.
    sums : frozenset of Each
    functions : frozenset of AppliedUndef
        SymPy's functions of time.
    unphysical : frozenset of Expr
        Numbers that are not finite or not real.
    """

    symbols: frozenset[sp.Symbol]
    sums: frozenset[Each]
    functions: frozenset[AppliedUndef]
    unphysical: frozenset[sp.Expr]
    order: tuple[sp.Symbol, ...]


@lru_cache(maxsize=_KEPT)
def contents(e: sp.Expr) -> Contents:
    """Walk through an expression once and sort what it is made of."""
    order, sums, functions, strange = [], set(), set(), set()
    seen, bound = set(), False
    waiting: list[sp.Basic] = [e]
    while waiting:
        node = waiting.pop()
        if node in seen:
            continue
        seen.add(node)
        if isinstance(node, sp.Symbol):
            order.append(node)
        elif isinstance(node, Each):
            sums.add(node)
            waiting.extend(sorted(node.shared, key=lambda s: natural(s.name), reverse=True))
        elif node in _UNPHYSICAL:
            strange.add(node)
        else:
            if isinstance(node, AppliedUndef):
                functions.add(node)
            bound = bound or isinstance(node, (ExprWithLimits, Subs, sp.Lambda))
            waiting.extend(reversed(node.args))
    if bound:
        # Variables of integration are no symbols of the expression.
        order = [s for s in order if s in e.free_symbols]
    return Contents(*map(frozenset, (order, sums, functions, strange)), order=tuple(order))


def sudden(e: sp.Expr) -> bool:
    """Tell whether time enters such that what happens later may be invisible now.

    A Gaussian pulse is zero to all digits long before it comes, a step before it is made. Sines,
    low powers and their quotients have series that tell of the future.
    """
    if any(f.has(t) for f in e.atoms(sp.Function) if not isinstance(f, (sp.sin, sp.cos))):
        return True
    powers = (p for p in e.atoms(sp.Pow) if p.has(t))
    return any(not p.exp.is_number or abs(p.exp) > _FLAT for p in powers)
