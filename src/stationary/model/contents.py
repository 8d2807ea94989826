"""What an expression is made of, found in one walk and remembered."""

from __future__ import annotations

from dataclasses import dataclass

import sympy as sp
from sympy.concrete.expr_with_limits import ExprWithLimits
from sympy.core.function import AppliedUndef, Subs

from stationary.model.built_once import Shared
from stationary.model.each import Each
from stationary.model.graphs import nodes
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


_known: dict[sp.Basic, Contents] = {}


def contents(e: sp.Expr) -> Contents:
    """Walk through an expression once and sort what it is made of.

    An expression is a graph: what it holds several times is visited once, and what was asked about
    before is not visited again.
    """
    if isinstance(e, Shared):
        return e.known("contents", lambda part: _walked(part.inside))
    known = _known.get(e)
    if known is not None:
        return known
    walked = _walked(e)
    if len(_known) >= _KEPT:
        _known.clear()
    _known[e] = walked
    return walked


def _walked(e: sp.Expr) -> Contents:
    order, sums, functions, strange = [], set(), set(), set()
    seen, bound = set(), False
    waiting: list[sp.Basic] = [e]
    while waiting:
        node = waiting.pop()
        if node in seen:
            continue
        seen.add(node)
        if isinstance(node, Shared):
            part = contents(node)
        else:
            part = None if isinstance(node, sp.Symbol) else _known.get(node)
        if part is not None:
            order += [s for s in part.order if s not in seen]
            seen.update(part.order)
            sums |= part.sums
            functions |= part.functions
            strange |= part.unphysical
        elif isinstance(node, sp.Symbol):
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
    if t not in contents(e).symbols:
        return False
    for node in nodes(e):
        if isinstance(node, sp.Function) and not isinstance(node, (sp.sin, sp.cos)):
            if t in contents(node).symbols:
                return True
        elif node.is_Pow and t in contents(node).symbols:
            if not node.exp.is_number or abs(node.exp) > _FLAT:
                return True
    return False
