"""From the statement to the first answer: what waiting feels like."""

from __future__ import annotations

import statistics
import tempfile
from collections.abc import Callable
from pathlib import Path

from benchmarks.goals import Goal
from benchmarks.peers.ours import statement
from benchmarks.table import Table, duration
from benchmarks.worker import measure, now, say

COLD, WARM, IMPORT = 0.5, 5e-3, 1.0


def sections(times: int) -> tuple[Table, list[Goal]]:
    """Measure in fresh processes, several times; tell the median."""
    found: dict[str, list[float]] = {}
    remarks = []
    for _ in range(times):
        with tempfile.TemporaryDirectory() as folder:
            for kind in ("cold", "cached"):
                lines, failure = measure(["benchmarks.answer"], Path(folder), 60.0)
                if failure:
                    remarks.append(f"{kind}: {failure}")
                    continue
                found.setdefault("import", []).append(lines[-1]["import"])
                found.setdefault(kind, []).append(lines[-1]["first"])
                found.setdefault("second", []).append(lines[-1]["second"])
                found.setdefault("warm", []).append(lines[-1]["warm"])
    table = Table("first answer: double pendulum", ["", "median", "shortest", "longest", "wanted"])
    table.failed = bool(remarks)
    table.remarks = ["from the statement to the motion over 10 s, after import", *remarks]
    rows = {
        "import": ("import stationary", IMPORT),
        "cold": ("first answer, fresh process, nothing kept", COLD),
        "cached": ("first answer, fresh process, code kept", None),
        "second": ("second answer in the same process", None),
        "warm": ("warm: statement and answer again", WARM),
    }
    goals = []
    for key, (what, wanted) in rows.items():
        taken = found.get(key)
        if not taken:
            continue
        middle = statistics.median(taken)
        limit = "" if wanted is None else f"< {duration(wanted)}"
        cells = [duration(x) for x in (middle, min(taken), max(taken))]
        table.add(what, *cells, limit)
        if wanted is not None:
            goals.append(Goal(what, limit, cells[0], middle < wanted))
    return table, goals


def _timed(act: Callable[[], None]) -> float:
    clock = now()
    act()
    return now() - clock


def main() -> None:
    """Measure in this process."""

    def bring() -> None:
        import stationary  # noqa: F401

    took = {"import": _timed(bring)}
    import stationary as st

    def answer() -> None:
        system, begin = statement(2)
        assert st.simulate(system, span=(0.0, 10.0), start=begin).status == "done"

    took["first"], took["second"] = _timed(answer), _timed(answer)
    took["warm"] = min(_timed(answer) for _ in range(20))
    say(**took)


if __name__ == "__main__":
    main()
