"""What happened at contacts and where things rub: a table of changes."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from stationary.errors import StatementError, unknown

#: What may happen where something touches or rubs.
KINDS = ("impact", "touch", "lift", "stick", "slip", "reverse")


class Change(NamedTuple):
    """One change: when, of which kind, of which contact or friction, with which impulse."""

    t: float
    kind: str
    name: str
    impulse: float = 0.0


class Changes(list):
    """The changes of a motion in order; each has ``t``, ``kind``, ``name`` and ``impulse``.

    Kinds are "impact", "touch", "lift", "stick", "slip" and "reverse". The table has the same
    columns as arrays, and ``changes.of("impact", "floor")`` are those of one kind and name.

    Examples
    --------
    >>> y = st.coordinates("y")
    >>> ball = st.System(
    ...     kinetic=y.dot**2 / 2, potential=9.81 * y, contacts=[st.Contact(y, name="floor")]
    ... )
    >>> for change in st.simulate(ball, span=(0, 1), start={y: 1.0}).changes:
    ...     print(f"{change.t:.6f} {change.kind} {change.name} {change.impulse:.6f}")
    0.451524 impact floor 4.429447
    0.451524 touch floor 0.000000
    """

    def __init__(self, changes: Iterable[Change] = ()):
        super().__init__(Change(*c) for c in changes)

    @property
    def t(self) -> np.ndarray:
        """When."""
        return np.array([c.t for c in self], dtype=float)

    @property
    def kind(self) -> np.ndarray:
        """Of which kinds."""
        return np.array([c.kind for c in self], dtype=str)

    @property
    def name(self) -> np.ndarray:
        """Of which contact or friction."""
        return np.array([c.name for c in self], dtype=str)

    @property
    def impulse(self) -> np.ndarray:
        """Impulses along the gaps; zero where there was no impact."""
        return np.array([c.impulse for c in self], dtype=float)

    def of(self, kind: str | None = None, name: str | None = None) -> Changes:
        """Return the changes of one kind, of one name, or both.

        Contacts that `each` states are found by the name of all of them, too.
        """
        if kind is not None and kind not in KINDS:
            raise StatementError(unknown("the kind of change", str(kind), KINDS))
        return Changes(
            c
            for c in self
            if kind in (None, c.kind) and name in (None, c.name, c.name.rpartition("[")[0])
        )

    def __repr__(self) -> str:
        lines = [f"  t = {c.t:.9g}  {c.kind:8} {c.name}" + (f"  impulse {c.impulse:.6g}" if
                 c.impulse else "") for c in self[:20]]  # fmt: skip
        more = [f"  … {len(self) - 20} more"] if len(self) > 20 else []
        return "\n".join([f"{len(self)} changes", *lines, *more])
