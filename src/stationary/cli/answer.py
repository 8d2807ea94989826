"""An answer: to be read in a terminal, by a program, or from a file."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from stationary.errors import StatementError, say


class Mistyped(StatementError):
    """What was typed is wrong, not the model."""

    status = "typed"


class Missing(StatementError):
    """A file that was named is not there."""

    status = "missing"


@dataclass
class Answer:
    """What a command found.

    Attributes
    ----------
    shown : list
        What a terminal prints, one thing after the other.
    facts : dict
        The same for a program.
    files : dict
        For every ending of a file the function that writes it.
    code : int
        The exit code.
    """

    shown: list[Any] = field(default_factory=list)
    facts: dict[str, Any] = field(default_factory=dict)
    files: Mapping[str, Callable[[Path], Any]] = field(default_factory=dict)
    code: int = 0

    def json(self) -> str:
        """Return the facts as JSON: numbers that are not finite as null."""
        return json.dumps(plain(self.facts), ensure_ascii=False, indent=1, allow_nan=False)

    def write(self, options: Any) -> list[Path]:
        """Write the files that were asked for; refuse endings that are not known first."""
        paths = [Path(name) for name in getattr(options, "output", None) or []]
        savers: dict[str, Callable[[Path], Any]] = {
            "json": lambda path: path.write_text(self.json() + "\n", encoding="utf-8"),
            **self.files,
        }
        for path in paths:
            if path.suffix.lower().lstrip(".") not in savers:
                endings = ", ".join(f".{ending}" for ending in savers)
                raise Mistyped(
                    say(
                        f"'{path.name}' cannot be written by 'stationary {options.command}'.",
                        f"Found the ending '{path.suffix}', expected {endings}.",
                        "Rename the file.",
                    )
                )
        for path in paths:
            path.parent.mkdir(parents=True, exist_ok=True)
            savers[path.suffix.lower().lstrip(".")](path)
        return paths

    def show(self, written: list[Path]) -> None:
        """Print what there is to read."""
        from rich.console import Console

        console = Console(highlight=False, soft_wrap=False)
        for thing in self.shown:
            if isinstance(thing, str):
                # Equations and derivations keep their lines; brackets in them are no markup.
                console.print(thing, soft_wrap=True, markup=False)
            else:
                console.print(thing, crop=False)
        for path in written:
            console.print(f"[dim]wrote[/dim] {path}", soft_wrap=True)


def plain(value: Any) -> Any:
    """Turn a value into what JSON has: complex numbers become [real, imaginary]."""
    if isinstance(value, Mapping):
        return {str(key): plain(entry) for key, entry in value.items()}
    if isinstance(value, np.ndarray):
        return plain(np.asarray(value).tolist())
    if isinstance(value, (list, tuple)):
        return [plain(entry) for entry in value]
    if isinstance(value, (bool, np.bool_)):
        return bool(value)
    if isinstance(value, (int, np.integer)):
        return int(value)
    if isinstance(value, (float, np.floating)):
        return float(value) if math.isfinite(value) else None
    if isinstance(value, (complex, np.complexfloating)):
        return [plain(value.real), plain(value.imag)]
    return None if value is None else str(value)
