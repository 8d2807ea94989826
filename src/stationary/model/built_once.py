"""Expressions that are built once and used many times.

The pose of the last link of a chain is made of the pose of the link before it, and so on to the
ground: written out, its terms double with every link. A `Shared` expression is one node, whatever
it is made of: equal ones are one object, and derivatives are shared in turn.
"""

from __future__ import annotations

from collections.abc import Callable
from hashlib import blake2b
from typing import Any
from weakref import WeakValueDictionary

import sympy as sp
from sympy.printing.precedence import precedence

#: What has no more parts than this is written out wherever it is used: it reads well.
SMALL = 12

# The product of something shared with a sine is small, a sum of two such products is not.
_FEW = 8

_existing: WeakValueDictionary[tuple[type, sp.Expr], Shared] = WeakValueDictionary()


class Shared(sp.Expr):
    """An expression that stands for itself wherever it is used.

    It is real, and SymPy neither multiplies it out nor compares what it is made of.
    """

    is_real = True
    is_commutative = True
    #: What tells it from others, the same in every process.
    key: str
    inside: Any

    def __new__(cls, e: Any) -> Any:
        """Make it, or return the one that exists; what is simple needs no sharing."""
        e = sp.S(e)
        if isinstance(e, Shared) or not _exceeds(e, SMALL):
            return e
        known = _existing.get((cls, e))
        if known is None:
            known = sp.Expr.__new__(cls, e)
            known.inside = e
            known.key = blake2b(f"{cls.__name__}{_text(e)}".encode(), digest_size=12).hexdigest()
            known._memo = {}
            _existing[cls, e] = known
        return known

    def __reduce_ex__(self, protocol: Any) -> tuple:
        return type(self), self.args

    def __eq__(self, other: object) -> bool:
        return self is other

    def __hash__(self) -> int:
        return hash(self.key)

    def _hashable_content(self) -> tuple:
        # SymPy sorts by this.
        return (self.key,)

    def sort_key(self, order: Any = None) -> tuple:
        """Return what SymPy sorts by."""
        return self.class_key(), (1, (self.key,)), sp.S.One.sort_key(), sp.S.One

    @property
    def free_symbols(self) -> Any:
        """The symbols it is made of."""
        return set(self.known("symbols", lambda part: frozenset(part.inside.free_symbols)))

    def _eval_derivative(self, s: Any) -> sp.Expr:
        def slope(part: Shared) -> sp.Expr:
            return Shared(part.inside.diff(s)) if s in part.free_symbols else sp.S.Zero

        return self.known(s, slope)

    def rate(self, differentiate: Callable[[sp.Expr], sp.Expr]) -> sp.Expr:
        """Return its rate, shared in turn, given what differentiates a plain expression."""
        return self.known("rate", lambda part: Shared(differentiate(part.inside)))

    def known(self, what: Any, find: Callable[[Shared], Any]) -> Any:
        """Return something about it, found once; parts come first, so that depth costs nothing."""
        waiting = [] if what in self._memo else [self]
        while waiting:
            part = waiting[-1]
            new = [p for p in part.shared if what not in p._memo]
            if new:
                waiting += new
                continue
            waiting.pop()
            if what not in part._memo:
                part._memo[what] = find(part)
        return self._memo[what]

    @property
    def shared(self) -> list[Shared]:
        """The shared parts that it is made of, without theirs."""
        if "shared" not in self._memo:
            self._memo["shared"] = shared_in(self.inside)
        return self._memo["shared"]

    def doit(self, **hints: Any) -> sp.Expr:
        """Return it written out."""
        return opened(self)

    def _eval_evalf(self, prec: int) -> Any:
        return opened(self)._eval_evalf(prec)

    @property
    def precedence(self) -> int:
        """How tightly it binds where it is printed: as what it is made of."""
        return precedence(self.inside)

    def _sympystr(self, printer: Any) -> str:
        return printer._print(self.inside)

    def _latex(self, printer: Any) -> str:
        return printer._print(self.inside)

    def _pretty(self, printer: Any) -> Any:
        return printer._print(self.inside)


class Speed(Shared):
    """A shared expression that is linear in the velocities: a chain's bodies pass theirs on."""


def _exceeds(e: sp.Basic, most: int) -> bool:
    """Tell whether an expression has more parts, what is shared in it counting as a few."""
    count, waiting = 0, [e]
    while waiting and count <= most:
        node = waiting.pop()
        if isinstance(node, Shared):
            count += _FEW
        else:
            count += 1
            waiting.extend(node.args)
    return count > most


def _text(e: sp.Basic) -> str:
    """Write an expression such that different ones differ, shared parts by their keys."""
    if isinstance(e, Shared):
        return e.key
    if not e.args:
        return f"{type(e).__name__}:{e}:{getattr(e, 'default', '')}:{getattr(e, 'after', '')}"
    return f"{type(e).__name__}({','.join(map(_text, e.args))})"


def opened(e: Any) -> Any:
    """Return an expression with everything that it shares written out."""
    if not isinstance(e, sp.Basic):
        return e
    written: dict[sp.Basic, sp.Basic] = {}
    waiting: list[sp.Basic] = [e]
    while waiting:
        node = waiting[-1]
        new = [a for a in node.args if a not in written]
        if node in written or not new:
            waiting.pop()
        if node in written:
            continue
        if new:
            waiting += new
            continue
        arguments = [written[a] for a in node.args]
        if isinstance(node, Shared):
            written[node] = arguments[0]
        elif all(a is b for a, b in zip(arguments, node.args)):
            written[node] = node
        else:
            written[node] = node.func(*arguments)
    return written[e]


def shared_in(e: sp.Basic) -> list[Shared]:
    """Return the shared parts that an expression names itself, not those that these are made of."""
    parts: dict[Shared, None] = {}
    waiting = [e]
    seen: set[sp.Basic] = set()
    while waiting:
        node = waiting.pop()
        if node in seen:
            continue
        seen.add(node)
        if isinstance(node, Shared):
            parts[node] = None
        else:
            waiting.extend(node.args)
    return sorted(parts, key=lambda s: s.key)
