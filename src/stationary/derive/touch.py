"""What touches and rubs, with inertia: gaps and slips as rows beside those of constraints.

Every function has the arguments ``(t, q, v, u, p, sense)``; the last holds +1 or −1 for every rate
against which friction acts, where that is known.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import casadi as ca

from stationary.derive.assembly import GAPS, SLIPS
from stationary.derive.graph import Graph
from stationary.model.terms import Contact, Drag


@dataclass(frozen=True)
class Rub:
    """A place where dry friction acts: its name, its rates, and the contact whose force it follows.

    `entries` are places among the dry rates, `rates` among all that are stated.
    """

    name: str
    entries: tuple[int, ...]
    rates: tuple[int, ...]
    gap: int | None


@dataclass(frozen=True)
class Touch:
    """The graph of what touches and rubs in a system."""

    graph: Graph

    @cached_property
    def rubs(self) -> tuple[Rub, ...]:
        """Where dry friction acts: friction terms, then contacts."""
        layout, rubs, count = self.graph.layout, [], 0
        gaps = {r.name: r.places.reshape(-1) for r in layout.gaps}
        for rows, term in zip(layout.slips, (*layout.system.friction, *layout.rubbing)):
            if isinstance(term, Drag):
                continue
            width = len(term.slip if isinstance(term, Contact) else term.on)
            for k, rates in enumerate(rows.places.reshape(-1, width)):
                name = rows.name + (f"[{k}]" if term.table is not None else "")
                gap = int(gaps[rows.name][k]) if isinstance(term, Contact) else None
                entries = tuple(range(count, count + width))
                rubs.append(Rub(name, entries, tuple(map(int, rates)), gap))
                count += width
        return tuple(rubs)

    @property
    def dry(self) -> list[int]:
        """Which of all rates dry friction acts against."""
        return [k for rub in self.rubs for k in rub.rates]

    @property
    def gaps(self) -> int:
        """Number of contacts."""
        return self.graph.layout.contacts

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The names of the contacts."""
        return tuple(self.graph.layout.gap_name(i) for i in range(self.gaps))

    @cached_property
    def arguments(self) -> list[Any]:
        """Symbols t, q, v, u, p and the senses of all rates."""
        whole = self.graph.whole
        return [*whole.arguments, whole.kind.sym("sense", self.graph.layout.rates)]

    @cached_property
    def rows(self) -> ca.Function:
        """Value, rate, γ and slope of all rows, and what drives them: gaps, then dry slips.

        valuė = slope·v + drive and value̎ = slope·a + γ.
        """
        whole = self.graph.whole
        kinds = []
        for of, over in (("gap", GAPS), ("slip", SLIPS)):
            kinds.append(
                [
                    whole.vector(lambda e: getattr(e, of), over),
                    whole.vector(lambda e: e.rate(getattr(e, of)), over),
                    whole.vector(lambda e: e.rate(e.rate(getattr(e, of))), over),
                    whole.matrix(lambda e: ca.jacobian(getattr(e, of), e.z), over),
                    whole.vector(lambda e: ca.jacobian(getattr(e, of), e.t), over),
                ]
            )
        both = [ca.vertcat(gap, slip[self.dry, :]) for gap, slip in zip(*kinds)]
        return self._function("rows", both)

    @cached_property
    def limits(self) -> ca.Function:
        """Limits or coefficients of friction in motion, now and at rest, and restitutions."""
        whole, sense = self.graph.whole, self.arguments[-1]
        moving = whole.vector(lambda e: e.slip_moving, SLIPS, [("sense", sense, SLIPS)])
        rest = whole.vector(lambda e: e.slip_rest, SLIPS)
        now = whole.vector(lambda e: e.slip_size, SLIPS)
        back = whole.vector(lambda e: e.restitution, GAPS)
        dry = [x[self.dry, :] for x in (moving, now, rest)]
        return self._function("limits", [*dry, back])

    def _function(self, name: str, outputs: list[Any]) -> ca.Function:
        return self.graph.whole.function(name, self.arguments, outputs)
