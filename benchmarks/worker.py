"""One peer at one size in a process of its own: ``python -m benchmarks.worker NAME N SECONDS``.

Prints one line of JSON as each phase ends, so that a process that is stopped at its time limit has
said how far it came.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
import warnings
from importlib import import_module
from pathlib import Path
from typing import Any

from benchmarks.peers import named

# On a machine shared with other work the processor's time says more than that on the wall.
CLOCK = "BENCHMARKS_CLOCK"
PHASES = ("import", "derive", "compile", "run")
ROOT = Path(__file__).resolve().parents[1]


def environment(folder: Path) -> dict[str, str]:
    """Return an environment in which whatever is kept between processes is kept in a folder."""
    return os.environ | {
        # heyoka keeps machine code below XDG_CACHE_HOME.
        "XDG_CACHE_HOME": str(folder),
        "STATIONARY_CACHE": str(folder / "stationary"),
        # A compiler in the background would disturb the measurement.
        "STATIONARY_OPTIMIZE": "off",
        "JAX_COMPILATION_CACHE_DIR": str(folder / "jax"),
        "JAX_PLATFORMS": "cpu",
        # Errors become NaN: JAX keeps no program that calls back into Python to raise them.
        "EQX_ON_ERROR": "nan",
    }


def measure(command: list[str], folder: Path, limit: float) -> tuple[list[dict[str, Any]], str]:
    """Run a module in a fresh process; return the lines that it printed and how it failed.

    The second is empty if it did not, and "limit" if it was stopped.
    """
    process = subprocess.Popen(
        [sys.executable, "-m", *command],
        cwd=ROOT,
        env=environment(folder),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    stopped = threading.Event()
    watch = threading.Timer(limit, lambda: (stopped.set(), process.kill()))
    watch.start()
    try:
        out, err = process.communicate()
    finally:
        watch.cancel()
        process.kill()
    lines = [json.loads(line) for line in out.splitlines() if line.startswith("{")]
    if stopped.is_set():
        return lines, "limit"
    return lines, "" if process.returncode == 0 else (err.strip().splitlines() or ["failed"])[-1]


def say(**facts: Any) -> None:
    """Print a line for `measure`."""
    print(json.dumps(facts), flush=True)


def now() -> float:
    """Return the time, on the wall or of this process and of those that it started."""
    if os.environ.get(CLOCK) != "cpu":
        return time.perf_counter()
    times = os.times()
    return time.process_time() + times.children_user + times.children_system


def best_of(run: Any, seconds: float) -> tuple[float, Any]:
    """Run once to warm up, then repeatedly for some time; return the shortest and a result."""
    result, best, begun = run(), float("inf"), time.perf_counter()
    for k in range(1000):
        clock = now()
        result = run()
        best = min(best, now() - clock)
        if time.perf_counter() - begun > seconds and k >= 2:
            break
    return best, result


def main(name: str, n: str, seconds: str) -> None:
    """Measure the phases of one peer."""
    warnings.simplefilter("ignore")
    peer, made = named(name), int(n)
    clock = now()
    for module in peer.needs:
        import_module(module)
    say(phase="import", seconds=now() - clock)
    for phase, step in (("derive", peer.derive), ("compile", peer.compile)):
        clock = now()
        made = step(made)
        say(phase=phase, seconds=now() - clock)
    if float(seconds) > 0:
        best, states = best_of(made, float(seconds))
        say(phase="run", seconds=best, end=[float(x) for x in states[-1]])


if __name__ == "__main__":
    main(*sys.argv[1:])
