"""Compare with other packages: ``python -m benchmarks [section …]``."""

from __future__ import annotations

import argparse
import os
import platform
import sys
import time
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from benchmarks import (
    answer,
    continua,
    goals,
    pendulum,
    pressure,
    profile,
    race,
    repetition,
    rest,
    sliding,
    space,
    touch,
)
from benchmarks.peers import Peer, every
from benchmarks.table import Table
from benchmarks.worker import CLOCK

SECTIONS = (
    "pendulum",
    "each",
    "continua",
    "answer",
    "rest",
    "sliding",
    "pressure",
    "space",
    "touch",
    "profile",
)
RESULTS = Path(__file__).with_name("results.md")

# Packages that stationary needs itself: a quick run needs no others.
OWN = {"stationary", "sympy", "casadi", "scipy", "heyoka"}
SHOWN = ("stationary", "sympy", "casadi", "heyoka", "scipy", "numpy", "jax", "diffrax", "mujoco",
         "scikit-fem", "pin")  # fmt: skip


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="benchmarks", description=__doc__)
    parser.add_argument("sections", nargs="*", help=f"any of {', '.join(SECTIONS)}; all if none")
    parser.add_argument("--quick", action="store_true", help="a smoke run of seconds")
    parser.add_argument("--save", action="store_true", help=f"write {RESULTS.name} as well")
    parser.add_argument("--sizes", type=int, nargs="+", choices=pendulum.SIZES, metavar="N",
                        help="numbers of links")  # fmt: skip
    parser.add_argument("--peers", nargs="+", default=[], metavar="TEXT",
                        help="only peers whose name contains one of these")  # fmt: skip
    parser.add_argument("--limit", type=float, default=60.0, metavar="SECONDS",
                        help="for one peer at one size (default: 60)")  # fmt: skip
    parser.add_argument("--seconds", type=float, default=2.0,
                        help="for how long a run is repeated, at most (default: 2)")  # fmt: skip
    parser.add_argument("--cpu", action="store_true",
                        help="processor time instead of wall time: for a busy machine")  # fmt: skip
    given = parser.parse_args()
    unknown = set(given.sections) - set(SECTIONS)
    if unknown:
        parser.error(f"unknown section {sorted(unknown)[0]!r}; there are {', '.join(SECTIONS)}")
    return given


def chosen(given: argparse.Namespace) -> tuple[list[Peer], list[str]]:
    """Return the peers to run and, for those that are left out, why."""
    peers, left_out = [], []
    for peer in every():
        wanted = not given.peers or any(text in peer.name for text in given.peers)
        if peer.missing:
            left_out.append(f"{peer.name}: {', '.join(peer.missing)} not installed")
        elif given.quick and (peer.variant or not set(peer.needs) <= OWN):
            left_out.append(f"{peer.name}: not part of a quick run")
        elif wanted:
            peers.append(peer)
    return peers, left_out


def rows(peers: list[Peer], left_out: list[str]) -> Table:
    """Say what each row of the race is."""
    made = Table("rows", ["package", "what"], words=2)
    for peer in peers:
        made.add(peer.name, peer.note)
    made.remarks = [
        f"all: {pendulum.POINTS} output times over {pendulum.LAST:g} s, the best of several warm "
        "runs; from cache: in a second process;",
        "÷ ours: set-up (derive + compile) against our first code, the rest against our optimized "
        "code",
        *(f"left out: {text}" for text in left_out),
    ]
    return made


def machine(also: tuple[str, ...] = ()) -> list[str]:
    """Describe what the numbers were taken on."""
    name = platform.processor() or platform.machine()
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
        name = next(line.split(": ")[1] for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        pass  # another system than Linux: the short name has to do
    packages = []
    for package in (*SHOWN, *also):
        try:
            packages.append(f"{package} {version(package)}")
        except PackageNotFoundError:
            continue
    return [
        f"{time.strftime('%Y-%m-%d')}, {name}, {os.cpu_count()} cores, {platform.system()}, "
        f"Python {platform.python_version()}",
        ", ".join(packages),
    ]


def tables(given: argparse.Namespace) -> Iterator[Table]:
    """Yield every table as soon as it is there, the goals last."""
    sections = given.sections or (SECTIONS[:-1] if given.quick else SECTIONS)
    reached: list[goals.Goal] = []
    if "pendulum" in sections:
        peers, left_out = chosen(given)
        yield rows(peers, left_out)
        sizes = given.sizes or ((1,) if given.quick else pendulum.SIZES)
        seconds, scores = 0.1 if given.quick else given.seconds, []
        for table, more in race.race(peers, sizes, given.limit, seconds):
            scores += more
            yield table
        reached += race.goals(scores)
    if "each" in sections:
        table, more = repetition.sections((100,) if given.quick else repetition.SIZES)
        reached += more
        yield table
    if "continua" in sections:
        table, more = continua.sections((100,) if given.quick else continua.SIZES)
        reached += more
        yield table
    if "answer" in sections:
        table, more = answer.sections(1 if given.quick else 5)
        reached += more
        yield table
    if "rest" in sections:
        table, more = rest.sections((100,) if given.quick else rest.SIZES, given.limit)
        reached += more
        yield table
    if "sliding" in sections:
        several, more = sliding.sections((20,) if given.quick else sliding.SIZES)
        reached += more
        yield from several
    if "pressure" in sections:
        table, more = pressure.sections(20 if given.quick else pressure.PUSHES)
        reached += more
        yield table
    if "space" in sections:
        axes = (6,) if given.quick else space.SIZES
        several, more = space.sections(axes, given.limit, given.quick)
        reached += more
        yield from several
    if "touch" in sections:
        several, more = touch.sections(given.limit, given.quick)
        reached += more
        yield from several
    if "profile" in sections:
        sizes = given.sizes or pendulum.SIZES
        yield profile.section(sizes, given.limit)
    if reached:
        yield goals.table(reached)


def main() -> int:
    given = arguments()
    about = machine()
    if given.cpu:
        os.environ[CLOCK] = "cpu"
        about.append("processor time of each process, all its threads together")
    print(*about, sep="\n", end="\n\n", flush=True)
    made = []
    for table in tables(given):
        print(table.text(), end="\n\n", flush=True)
        made.append(table)
    if given.save:
        parts = ["# Benchmarks", "\n\n".join(about), *(table.markdown() for table in made)]
        RESULTS.write_text("\n\n".join(parts) + "\n", encoding="utf-8")
        print(f"written: {RESULTS}")
    return int(any(table.failed for table in made))


if __name__ == "__main__":
    sys.exit(main())
