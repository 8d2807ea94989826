"""What was to be reached, beside what was measured."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from benchmarks.table import Table


@dataclass(frozen=True)
class Goal:
    """One goal; `met` is None where it is shown for information only."""

    what: str
    wanted: str
    measured: str
    met: bool | None


def table(goals: Iterable[Goal]) -> Table:
    """Return all goals as a table."""
    made = Table("goals", ["goal", "wanted", "measured", "reached"], words=4)
    for goal in goals:
        mark = {True: "yes", False: "no", None: ""}[goal.met]
        made.add(goal.what, goal.wanted, goal.measured, mark)
    return made
