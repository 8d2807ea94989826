"""The packages that are compared. A new one is a new file here with a list ``PEERS``."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from pkgutil import iter_modules
from typing import Any

import numpy as np


def _always(n: int) -> str:
    return ""


@dataclass(frozen=True)
class Peer:
    """One way to get from the statement to the motion.

    Attributes
    ----------
    name : str
    needs : tuple of str
        What is imported before the clock starts.
    derive : callable
        From the number of links to equations of motion: statement included, nothing compiled.
    compile : callable
        From what `derive` returned to a function that runs the whole motion and returns its states,
        shape (times, 2n), absolute angles and then velocities.
    cached : bool
        Whether compiled code outlives the process. What is kept goes to the folders that the
        worker's environment names.
    unfit : callable
        Why this peer is not run at a size; an empty text if it is.
    variant : bool
        Whether it is another way to use a package that has a row already; a quick run omits it.
    note : str
        What a reader of its row should know.
    """

    name: str
    needs: tuple[str, ...]
    derive: Callable[[int], Any]
    compile: Callable[[Any], Callable[[], np.ndarray]]
    cached: bool = False
    unfit: Callable[[int], str] = _always
    variant: bool = False
    note: str = ""

    @property
    def missing(self) -> list[str]:
        """Packages that are not installed."""
        return [name for name in self.needs if find_spec(name.split(".")[0]) is None]


def every(folder: str = __name__) -> list[Peer]:
    """Return all peers of a folder, ours first and the others by the name of their file."""
    files = sorted(m.name for m in iter_modules(import_module(folder).__path__))
    files.sort(key=lambda name: name != "ours")
    return [peer for name in files for peer in import_module(f"{folder}.{name}").PEERS]


def named(name: str, folder: str = __name__) -> Peer:
    """Return the peer of this name."""
    return next(peer for peer in every(folder) if peer.name == name)
