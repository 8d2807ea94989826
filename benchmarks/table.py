"""Tables: aligned for a terminal, or Markdown for a file."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any


@dataclass
class Table:
    """A table with a title and remarks below it; columns of words are aligned to the left."""

    title: str
    columns: Sequence[str]
    rows: list[Sequence[str]] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)
    words: int = 1
    # Whether something in it went wrong, other than being slow.
    failed: bool = False

    def add(self, *cells: Any) -> None:
        """Append a row."""
        self.rows.append([str(c) for c in cells])

    def _widths(self) -> list[int]:
        return [max(len(row[k]) for row in self._all()) for k in range(len(self.columns))]

    def _all(self) -> Iterable[Sequence[str]]:
        return [self.columns, *self.rows]

    def text(self) -> str:
        """Return the table for a terminal."""
        widths = self._widths()
        rule = "─" * (sum(widths) + 2 * len(widths) - 2)
        lines = [self._line(row, widths, "  ").rstrip() for row in self._all()]
        below = [f"  {remark}" for remark in self.remarks]
        return "\n".join([self.title, rule, lines[0], rule, *lines[1:], rule, *below])

    def markdown(self) -> str:
        """Return the table as Markdown."""
        widths = self._widths()
        head, *body = [f"| {self._line(row, widths, ' | ')} |" for row in self._all()]
        ends = ["-" if k < self.words else ":" for k in range(len(widths))]
        rule = "|".join([""] + ["-" * (w + 1) + end for w, end in zip(widths, ends)])
        below = [f"- {remark}" for remark in self.remarks]
        return "\n".join([f"## {self.title}", "", head, rule + "|", *body, "", *below]).rstrip()

    def _line(self, row: Sequence[str], widths: Sequence[int], gap: str) -> str:
        cells = zip(row, widths)
        return gap.join(
            c.ljust(w) if k < self.words else c.rjust(w) for k, (c, w) in enumerate(cells)
        )


def duration(seconds: float | None) -> str:
    """Return a time with three digits and a unit."""
    if seconds is None:
        return "–"
    for unit, scale in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if seconds >= 0.9995 * scale or unit == "µs":
            value = seconds / scale
            break
    digits = 0 if value >= 99.95 else 1 if value >= 9.995 else 2
    return f"{value:.{digits}f} {unit}"


def ratio(value: float | None, to: float | None) -> str:
    """Return how many times as large a value is."""
    if value is None or not to:
        return "–"
    found = value / to
    return (
        f"{found:.0f}×" if found >= 9.95 else f"{found:.1f}×" if found >= 0.95 else f"{found:.2f}×"
    )
