"""Chains under constraints, package beside package: ``python -m benchmarks.chains``.

Time, violation of the constraints, drift of the energy and error, from one run of each.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

from benchmarks import chain_reference, goals
from benchmarks.chain import POINTS, Chain
from benchmarks.chain import named as chain_named
from benchmarks.chain_peers import every, named
from benchmarks.goals import Goal
from benchmarks.peers import Peer
from benchmarks.table import Table, duration, ratio
from benchmarks.worker import CLOCK, best_of, measure, now, say

OURS = "stationary"
SIZES = (10, 100, 1000)
RESULTS = Path(__file__).with_name("results_constraints.md")

# Errors within this factor of ours count as equal; a violation below this is rounding.
EQUAL, ROUNDING = 10.0, 1e-14


@dataclass
class Score:
    """What was measured of one peer on one chain; None where it did not get that far."""

    peer: Peer
    chain: Chain
    setup: float | None = None
    run: float | None = None
    steps: int = 0
    violation: float | None = None
    drift: float | None = None
    error: float | None = None
    remark: str = ""


def score(peer: Peer, chain: Chain, limit: float, seconds: float) -> Score:
    """Measure one peer on one chain, in a process of its own."""
    made = Score(peer, chain, remark=peer.unfit(chain.n))
    if made.remark:
        made.remark = f"{peer.name}: {made.remark}"
        return made
    with tempfile.TemporaryDirectory() as folder:
        command = ["benchmarks.chains", "--worker", peer.name, chain.name, str(seconds)]
        lines, failure = measure(command, Path(folder), limit)
    phases = {line["phase"]: line for line in lines}
    if "setup" in phases:
        made.setup = phases["setup"]["seconds"]
    if "run" in phases:
        run = phases["run"]
        made.run, made.steps = run["seconds"], run["steps"]
        made.violation, made.drift, made.error = run["violation"], run["drift"], run["error"]
    if failure:
        where = "run" if "setup" in phases else "set-up"
        why = f"stopped after {limit:g} s" if failure == "limit" else failure
        made.remark = f"{peer.name}: {where}: {why}"
    return made


def work(name: str, chain_name: str, seconds: str) -> None:
    """Measure one peer in this process."""
    warnings.simplefilter("ignore")
    peer, chain = named(name), chain_named(chain_name)
    for module in peer.needs:
        import_module(module)
    clock = now()
    run = peer.compile(peer.derive(chain))  # pyright: ignore[reportArgumentType]  # a chain here
    say(phase="setup", seconds=now() - clock)
    best, states = best_of(run, float(seconds))
    k = 2 * chain.masses
    q, v = states[:, :k], states[:, k:]
    say(
        phase="run",
        seconds=best,
        steps=getattr(run, "steps", 0),
        violation=chain.violation(q),
        drift=chain.drift(q, v),
        error=chain_reference.error(chain, q[-1], v[-1]),
    )


def table(chain: Chain, scores: list[Score]) -> Table:
    columns = [
        chain.name, "set-up", "one run", "violation", "energy drift", "error", "run ÷ ours",
    ]  # fmt: skip
    made = Table(f"{chain.name} links, {chain.last:g} s", columns)
    ours = next((s for s in scores if s.peer.name == OURS), None)
    for s in scores:
        shown = ["–" if x is None else f"{x:.0e}" for x in (s.violation, s.drift, s.error)]
        times = duration(s.setup), duration(s.run)
        made.add(s.peer.name, *times, *shown, ratio(s.run, ours and ours.run))
    known = chain_reference.uncertainty(chain)
    made.remarks = [
        "violation: largest error of a link's length (m); drift: relative to the largest kinetic "
        f"energy; error: of ten masses' places and velocities at the end, known to {known:.0e}",
        *(s.remark for s in scores if s.remark),
    ]
    return made


def reached(scores: list[Score]) -> Iterable[Goal]:
    """Yield what was to be reached, chain by chain."""
    for name in dict.fromkeys(s.chain.name for s in scores):
        here = [s for s in scores if s.chain.name == name and s.run is not None]
        ours = next((s for s in here if s.peer.name == OURS), None)
        if ours is None or ours.error is None or ours.run is None or ours.violation is None:
            continue
        enough = EQUAL * max(ours.error, chain_reference.uncertainty(ours.chain))
        others = [s for s in here if s is not ours]
        rivals = [s for s in others if s.error is not None and s.error <= enough]
        for group, what in ((rivals, "as accurate"), (others, "of any accuracy")):
            best = min(group, key=lambda s: s.run or 0.0, default=None)
            if best is not None and best.run is not None:
                yield Goal(
                    f"{name}: fastest {what}",
                    f"≤ {duration(best.run)}, error {best.error:.0e} ({best.peer.name})",
                    f"{duration(ours.run)}, error {ours.error:.0e}",
                    ours.run <= best.run if group is rivals else None,
                )
        if not rivals:
            yield Goal(f"{name}: fastest as accurate", "no other as accurate",
                       f"{duration(ours.run)}, error {ours.error:.0e}", True)  # fmt: skip
        at_rounding = ours.violation <= ROUNDING
        yield Goal(
            f"{name}: violation at rounding", "≤ 1e-14", f"{ours.violation:.0e}", at_rounding
        )
    steps = {s.chain.name: s for s in scores if s.peer.name == OURS and s.run and s.steps}
    for kind in ("open", "closed"):
        each = {n: steps[f"{kind} {n}"] for n in SIZES if f"{kind} {n}" in steps}
        if len(each) > 1:
            cost = {n: s.run / s.steps / n for n, s in each.items() if s.run}
            shown = ", ".join(f"{n}: {duration(c)}" for n, c in cost.items())
            last = list(cost.values())
            yield Goal(f"{kind}: cost of a step and link does not grow", "≤ 1.5 × the last",
                       shown, all(b <= 1.5 * a for a, b in zip(last, last[1:])))  # fmt: skip


def tables(given: argparse.Namespace, sizes: Sequence[int] = ()) -> Iterable[Table]:
    """Yield every table as soon as it is there, the goals last."""
    peers = [p for p in every() if not given.peers or any(x in p.name for x in given.peers)]
    if given.quick:
        peers = [p for p in peers if set(p.needs) <= {"stationary", "heyoka", "casadi"}]
    here = Table("rows", ["package", "what"], words=2)
    for peer in peers:
        here.add(peer.name, peer.note)
    here.remarks = [f"all: {POINTS} output times, the best of several warm runs"]
    here.remarks += [f"left out: {p.name}: not installed" for p in peers if p.missing]
    yield here
    scores: list[Score] = []
    for n in sizes or ((3,) if given.quick else SIZES):
        for closed in (False, True):
            chain = Chain(n, closed)
            more = [score(p, chain, given.limit, given.seconds) for p in peers if not p.missing]
            scores += more
            yield table(chain, more)
    yield goals.table(reached(scores))


def main() -> int:
    parser = argparse.ArgumentParser(prog="benchmarks.chains", description=__doc__)
    parser.add_argument("--worker", nargs=3, help=argparse.SUPPRESS)
    parser.add_argument("--quick", action="store_true", help="a smoke run of seconds")
    parser.add_argument("--save", action="store_true", help=f"write {RESULTS.name} as well")
    parser.add_argument("--sizes", type=int, nargs="+", metavar="N", help="numbers of links")
    parser.add_argument("--peers", nargs="+", default=[], metavar="TEXT")
    parser.add_argument("--limit", type=float, default=120.0, metavar="SECONDS")
    parser.add_argument("--seconds", type=float, default=2.0)
    parser.add_argument("--cpu", action="store_true", help="processor time: for a busy machine")
    given = parser.parse_args()
    if given.worker:
        work(*given.worker)
        return 0
    from benchmarks.__main__ import machine

    about = machine(("exudyn", "drake"))
    if given.cpu:
        os.environ[CLOCK] = "cpu"
        about.append("processor time of each process, all its threads together")
    print(*about, sep="\n", end="\n\n", flush=True)
    made = []
    for each in tables(given, given.sizes or ()):
        print(each.text(), end="\n\n", flush=True)
        made.append(each)
    if given.save:
        parts = ["# Benchmarks under constraints", "\n\n".join(about)]
        parts += [each.markdown() for each in made]
        RESULTS.write_text("\n\n".join(parts) + "\n", encoding="utf-8")
        print(f"written: {RESULTS}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
