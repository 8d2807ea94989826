"""The packages that are compared under constraints; a new one is a new file with a list PEERS.

`derive` takes a `Chain`; `compile` returns a function that runs the motion and returns its states,
shape (times, 4·masses): places, then velocities.
"""

from __future__ import annotations

from importlib import import_module
from pkgutil import iter_modules

from benchmarks.peers import Peer


def every() -> list[Peer]:
    """Return all peers, ours first and the others by the name of their file."""
    files = sorted(m.name for m in iter_modules(__path__))
    files.sort(key=lambda name: name != "ours")
    return [peer for name in files for peer in import_module(f"{__name__}.{name}").PEERS]


def named(name: str) -> Peer:
    return next(peer for peer in every() if peer.name == name)
