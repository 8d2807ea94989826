"""Worked examples: what the documents publish or mathematics knows, beside what we compute.

Every module of this folder is an example; ``python -m examples`` runs them all. An example has a
function ``results()``, which returns rows, and a function ``pictures(folder)``, which draws; one
that moves has a function ``live()``, which returns the arguments of its live page. ``QUESTION`` is
the heading under which the gallery shows it.
"""

import pkgutil
from importlib import import_module
from typing import Any, NamedTuple

import sympy as sp

FPS = 20  # frames per second of the moving pictures
DPI = 140  # dots per inch of the still ones


class Row(NamedTuple):
    """One line of the table: a number, an expression or a truth, and what it should be."""

    quantity: str
    expected: Any
    computed: Any
    source: str
    tolerance: float = 0.0  # of the difference, in the units of the quantity

    @property
    def difference(self) -> float:
        """Return |computed − expected|; for expressions 0 if they are the same, else infinity."""
        if isinstance(self.expected, bool):
            return float(self.computed != self.expected)
        gap = sp.S(self.computed) - sp.S(self.expected)
        if not gap.free_symbols:
            return abs(float(gap))
        return 0.0 if sp.simplify(gap) == 0 else float("inf")

    @property
    def agrees(self) -> bool:
        return self.difference <= self.tolerance


def names() -> list[str]:
    """Return the names of all examples: every module of the folder is one."""
    return sorted(m.name for m in pkgutil.iter_modules(__path__) if not m.name.startswith("_"))


def load(name: str) -> Any:
    return import_module(f"{__name__}.{name}")


def save(figure: Any, path: Any) -> None:
    """Write a figure to a file and let go of it."""
    import matplotlib.pyplot as plt

    figure.savefig(path, dpi=DPI)
    plt.close(figure)


def legend(axes: Any) -> None:
    """Name the lines of a panel above it, where they hide nothing."""
    axes.legend(loc="lower left", bbox_to_anchor=(0, 1), ncols=4, borderaxespad=0.2)


def film(motion: Any, path: Any) -> None:
    """Write a moving picture to a file and let go of its figure."""
    import matplotlib.pyplot as plt

    motion.animate(path, fps=FPS)
    plt.close("all")
