"""Expressions as graphs: what one holds several times is visited once.

SymPy's own walks are over trees: a few dozen definitions that use each other twice make more
branches than there are atoms.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import sympy as sp

from stationary.model.built_once import Shared

#: What has more parts than this, written out, is differentiated and shown as a graph.
LARGE = 20_000


def nodes(e: sp.Basic) -> Iterator[sp.Basic]:
    """Visit every distinct part of an expression once, parts before what is made of them."""
    seen: set[sp.Basic] = set()
    waiting: list[tuple[sp.Basic, bool]] = [(e, False)]
    while waiting:
        node, ready = waiting.pop()
        if ready:
            yield node
        elif node not in seen:
            seen.add(node)
            waiting.append((node, True))
            waiting.extend((a, False) for a in reversed(node.args))


def written_out(e: sp.Basic) -> int:
    """Return how many parts an expression has where what it holds several times counts as often."""
    sizes: dict[sp.Basic, int] = {}
    for node in nodes(e):
        sizes[node] = 1 + sum(sizes[a] for a in node.args)
    return sizes[e]


def levels(e: sp.Basic) -> int:
    """Return how deeply the parts of an expression are nested."""
    depths: dict[sp.Basic, int] = {}
    for node in nodes(e):
        depths[node] = 1 + max((depths[a] for a in node.args), default=0)
    return depths[e]


def symbols_in(e: sp.Basic) -> set[sp.Symbol]:
    """Return the symbols of an expression."""
    if written_out(e) <= LARGE:
        return e.free_symbols  # pyright: ignore[reportReturnType]
    return {node for node in nodes(e) if isinstance(node, sp.Symbol)}


def slope(e: sp.Expr, by: sp.Symbol) -> sp.Expr:
    """Differentiate by a symbol, by the chain rule over the graph where it is large."""
    if written_out(e) <= LARGE:
        return e.diff(by)
    slopes: dict[sp.Basic, sp.Expr] = {by: sp.S.One}
    for node in nodes(e):
        if node in slopes:
            continue
        moving = [k for k, a in enumerate(node.args) if slopes.get(a, sp.S.Zero) != 0]
        if isinstance(node, sp.Piecewise):
            pieces = ((slopes[value], condition) for value, condition in node.args)
            slopes[node] = sp.Basic.__new__(
                sp.Piecewise, *(sp.Tuple.__new__(type(node.args[0]), *piece) for piece in pieces)
            )
        elif not moving or not isinstance(node, sp.Expr):
            slopes[node] = sp.S.Zero
        else:
            # SymPy knows every function's slope: it is asked about one level at a time.
            held = {k: sp.Dummy(real=True) for k in moving}
            one = node.func(*(held.get(k, a) for k, a in enumerate(node.args)))
            back = {held[k]: node.args[k] for k in moving}
            slopes[node] = sp.Add(
                *(one.diff(held[k]).xreplace(back) * slopes[node.args[k]] for k in moving)
            )
    return slopes[e]


def renamed(e: sp.Basic, swap: Mapping[sp.Basic, sp.Basic]) -> sp.Basic:
    """Put symbols in the place of symbols; nothing is worked out anew."""
    swapped: dict[sp.Basic, sp.Basic] = {}
    for node in nodes(e):
        arguments = [swapped[a] for a in node.args]
        if node in swap:
            swapped[node] = swap[node]
        elif all(new is old for new, old in zip(arguments, node.args)):
            # What holds symbols outside its arguments knows how to replace them itself.
            swapped[node] = node if node.args or node.is_Atom else node.xreplace(swap)
        elif node.is_Add or node.is_Mul:
            swapped[node] = node.func(*arguments)
        elif isinstance(node, Shared):
            swapped[node] = type(node)(arguments[0])
        elif isinstance(node, (sp.Max, sp.Min)):
            swapped[node] = sp.Expr.__new__(type(node), *arguments)
            swapped[node]._argset = frozenset(arguments)  # pyright: ignore[reportAttributeAccessIssue]
        elif isinstance(node, (sp.Piecewise, sp.Tuple)):
            swapped[node] = sp.Basic.__new__(type(node), *arguments)
        elif isinstance(node, (sp.Pow, sp.Function, sp.Rel)) and type(node) in vars(sp).values():
            swapped[node] = node.func(*arguments, evaluate=False)
        else:
            swapped[node] = node.xreplace(swap)
    return swapped[e]
