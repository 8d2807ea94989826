"""What was found out about a statement, and how a report of it reads."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import sympy as sp

from stationary.errors import StatementError, spelled, unknown
from stationary.model.symbols import Coordinate

#: Names that are listed.
MOST_NAMED = 5


@dataclass(frozen=True)
class Finding:
    """One thing that was checked; true if it holds.

    Attributes
    ----------
    name : str
    passed : bool
    text : str
        What was found, in words.
    how : str
        ``"exact"``, or at how many states it was sampled.
    value : object
        What belongs to it: the conserved momenta by coordinate, the expression of the energy.
    required : bool
        False for a property that a sound system may lack, such as a conserved energy.

    Examples
    --------
    >>> x, m = st.coordinates("x"), st.parameters("m")
    >>> print(st.check(st.System(kinetic=m * x.dot**2 / 2))["cyclic"])
    ✓ cyclic: 'x' with conserved momentum m*x.dot (exact)
    """

    name: str
    passed: bool
    text: str
    how: str = "exact"
    value: Any = field(default=None, hash=False)
    required: bool = True

    def __bool__(self) -> bool:
        return self.passed

    def __str__(self) -> str:
        mark = "✓" if self.passed else "✗" if self.required else "·"
        return f"{mark} {self.name}: {self.text} ({self.how})"


@spelled
@dataclass(frozen=True, repr=False)
class Report:
    """What `check` found: ``report.passed``, ``report["skew"]``, and a text to print.

    ``report.exhaustive`` is false where algebra was given up in favour of numbers.

    Examples
    --------
    >>> x, y, m = *st.coordinates("x y"), st.parameters("m")
    >>> report = st.check(st.System(kinetic=m * (x.dot + y.dot) ** 2 / 2))
    >>> report.passed
    False
    >>> [finding.name for finding in report if not finding]
    ['positive definite']
    """

    name: str
    findings: tuple[Finding, ...]
    exhaustive: bool = True

    @property
    def passed(self) -> bool:
        """True if everything holds that must hold."""
        return all(f.passed for f in self.findings if f.required)

    def __bool__(self) -> bool:
        return self.passed

    def __iter__(self) -> Iterator[Finding]:
        return iter(self.findings)

    def __getitem__(self, name: str) -> Finding:
        for finding in self.findings:
            if isinstance(name, str) and finding.name == name:
                return finding
        raise StatementError(unknown("finding", name, [f.name for f in self.findings]))

    def __str__(self) -> str:
        title = f"Check of {self.name or 'the system'}: {'passed' if self.passed else 'failed'}"
        lines = [title, *(f"  {finding}" for finding in self.findings)]
        if not self.exhaustive:
            lines.append("  Some of it is too long for algebra: it was decided by numbers.")
        return "\n".join(lines)

    __repr__ = __str__


@dataclass(frozen=True)
class Dry:
    """What has no place in Lagrange's equations: dry friction and contacts."""

    friction: tuple[Any, ...]
    contacts: tuple[Any, ...]

    def rubbing(self, c: Coordinate) -> list[str]:
        """Return the names of friction against the motion of a coordinate."""
        return [str(f.name) for f in self.friction if _involves(f, f.on, c)]

    def touches(self, c: Coordinate) -> bool:
        """Tell whether a contact depends on a coordinate."""
        return any(_involves(x, (x.gap, *(x.slip or ())), c) for x in self.contacts)


def _involves(entry: Any, expressions: Sequence[sp.Expr], c: Coordinate) -> bool:
    stem, arrays = c.name.partition("[")[0], entry.table.arrays if entry.table else []
    if any(array.name == stem for array in arrays):
        return True
    return any(e.has(c) for e in expressions)


def listed(names: Sequence[str]) -> str:
    """Write names, of many the first ones."""
    more = len(names) - MOST_NAMED
    return ", ".join(f"'{n}'" for n in names[:MOST_NAMED]) + (f" and {more} more" * (more > 0))


def redundancy(names: Sequence[str], seen: int) -> Finding:
    """Tell which rows say nothing new, at so many states that meet the constraints."""
    text = f"{listed(names)} {'says' if len(names) == 1 else 'say'} nothing new"
    if not names:
        text = (
            "all rows are independent" if seen else "no state was found that meets the constraints"
        )
    how = f"sampled at {seen} consistent state{'' if seen == 1 else 's'}"
    return Finding("redundant", bool(seen) and not names, text, how, tuple(names), required=False)
