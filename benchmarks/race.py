"""The n-link pendulum, package beside package."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks import pendulum
from benchmarks.goals import Goal
from benchmarks.peers import Peer
from benchmarks.reference import reference
from benchmarks.table import Table, duration, ratio
from benchmarks.worker import PHASES, measure

OURS, FIRST, RODS = "stationary", "stationary, first code", "stationary, rods"
SYMPY = "SymPy + SciPy DOP853"

# Errors within this factor of ours, or of what rounding alone can do, count as equal.
EQUAL = 10.0


@dataclass
class Score:
    """What was measured of one peer at one size; None where it did not get that far."""

    peer: Peer
    n: int
    derive: float | None = None
    cold: float | None = None
    cached: float | None = None
    run: float | None = None
    error: float | None = None
    # The phase in which it failed or was stopped, and what to say about it.
    stopped: str = ""
    remark: str = ""
    late: bool = False

    @property
    def setup_cold(self) -> float | None:
        """Statement to runnable code with nothing kept from before."""
        return None if self.derive is None or self.cold is None else self.derive + self.cold

    @property
    def setup_cached(self) -> float | None:
        """Statement to runnable code; where nothing is kept, as cold."""
        ready = self.cached if self.peer.cached else self.cold
        return None if self.derive is None or ready is None else self.derive + ready


def score(peer: Peer, n: int, limit: float, seconds: float) -> Score:
    """Measure one peer at one size, in processes of its own."""
    made = Score(peer, n)
    with tempfile.TemporaryDirectory() as folder:
        # The first process finds nothing kept; a second one, where it makes a difference, does.
        for again in (False, True) if peer.cached else (False,):
            last = again or not peer.cached
            command = ["benchmarks.worker", peer.name, str(n), str(seconds if last else 0.0)]
            lines, failure = measure(command, Path(folder), limit)
            phases = {line["phase"]: line for line in lines}
            took = {name: line["seconds"] for name, line in phases.items()}
            times = [x for x in (made.derive, took.get("derive")) if x is not None]
            made.derive = min(times, default=None)
            if again:
                made.cached = took.get("compile")
            else:
                made.cold = took.get("compile")
            if failure:
                made.stopped = next((name for name in PHASES if name not in phases), "end")
                made.late = failure == "limit"
                why = f"stopped after {limit:g} s" if made.late else failure
                made.remark = f"{peer.name}: {made.stopped}: {why}"
                break
            if last:
                made.run = took["run"]
                made.error = reference(n).error(phases["run"]["end"])
    return made


def race(
    peers: Sequence[Peer], sizes: Iterable[int], limit: float, seconds: float
) -> Iterable[tuple[Table, list[Score]]]:
    """Yield a table and its scores for every size."""
    beaten: dict[str, str] = {}
    for n in sizes:
        scores = []
        for peer in peers:
            why = peer.unfit(n) or beaten.get(peer.name, "")
            if why:
                scores.append(Score(peer, n, remark=f"{peer.name}: {why}"))
                continue
            scores.append(score(peer, n, limit, seconds))
            if scores[-1].run is None:
                beaten[peer.name] = f"not tried, for it did not finish n = {n}"
        yield _table(n, scores, limit), scores


def _table(n: int, scores: Sequence[Score], limit: float) -> Table:
    columns = [
        f"{n} link{'s' * (n > 1)}", "derive", "compile", "from cache", "one run", "error",
        "set-up ÷ ours", "cached ÷ ours", "run ÷ ours",
    ]  # fmt: skip
    table = Table(f"pendulum, n = {n}", columns)
    by = {s.peer.name: s for s in scores}
    # What a user waits for is our first code; what is kept and run again is optimized.
    first, ours = by.get(FIRST), by.get(OURS)
    for s in scores:
        cells = {
            "derive": duration(s.derive),
            "compile": duration(s.cold),
            "cached": duration(s.cached) if s.peer.cached else "none",
            "run": duration(s.run),
        }
        if s.stopped in cells:
            phase = "cached" if s.stopped == "compile" and s.cold is not None else s.stopped
            cells[phase] = f"> {limit:g} s" if s.late else "failed"
        table.add(
            s.peer.name,
            *cells.values(),
            "–" if s.error is None else f"{s.error:.0e}",
            ratio(s.setup_cold, first and first.setup_cold),
            ratio(s.setup_cached, ours and ours.setup_cached),
            ratio(s.run, ours and ours.run),
        )
    table.failed = any(s.stopped and not s.late for s in scores)
    known = reference(n)
    table.remarks = [
        f"error: largest of any angle or angular velocity at t = {pendulum.LAST:g}; the reference "
        f"is known to {known.uncertainty:.0e} and confirmed to {known.confirmed:.0e};",
        f"a rounding error (1e-16) of the start grows to {_floor(n):.0e}",
        *(s.remark for s in scores if s.remark),
    ]
    return table


def _floor(n: int) -> float:
    """Return the error at the end that a rounding error of the start makes."""
    return 1.1e-16 * reference(n).growth


def goals(scores: Sequence[Score]) -> Iterable[Goal]:
    """Yield what was to be reached."""
    by = {(s.peer.name, s.n): s for s in scores}
    for n in sorted({s.n for s in scores}):
        ours = by.get((OURS, n))
        if ours is None or ours.run is None or ours.error is None:
            continue
        others = [
            s for s in scores if s.n == n and s.run is not None and not s.peer.name.startswith(OURS)
        ]
        enough = EQUAL * max(ours.error, _floor(n))
        rivals = [s for s in others if s.error is not None and s.error <= enough]
        rods = by.get((RODS, n), ours)
        quickest = min(ours, rods, key=lambda s: s.run or float("inf"))
        # What is less accurate has done less work: it is shown, but no goal.
        pairs = ((rivals, "as accurate", ours), (others, "of any accuracy", quickest))
        for group, what, own in pairs:
            best = min(group, key=lambda s: s.run or 0.0, default=None)
            if best is not None and best.run is not None and own.run is not None:
                yield Goal(
                    f"n = {n}: run no slower than the fastest {what}",
                    f"≤ {duration(best.run)}, error {best.error:.0e} ({best.peer.name})",
                    f"{duration(own.run)}, error {own.error:.0e}" + ", rods" * (own is not ours),
                    own.run <= best.run if group is rivals else None,
                )
    sympy, ours, first = (by.get((name, 10)) for name in (SYMPY, OURS, FIRST))
    if sympy and sympy.setup_cold:
        wanted = ((ours, "cached", 20.0), (first, "cached", 20.0), (first, "cold", 1.0))
        for made, kind, factor in wanted:
            taken = made and (made.setup_cached if kind == "cached" else made.setup_cold)
            if made and taken:
                yield Goal(
                    f"n = 10: {made.peer.name}: derive + compile, {kind}",
                    f"≤ {duration(sympy.setup_cold / factor)} (SymPy ÷ {factor:g})",
                    f"{duration(taken)} ({ratio(sympy.setup_cold, taken)} faster)",
                    taken * factor <= sympy.setup_cold,
                )
