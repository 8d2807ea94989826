"""An answer: to be read in a terminal, by a program, or from a file."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from errno import EISDIR
from pathlib import Path
from typing import Any

import numpy as np

from stationary.cli.arguments import COMMANDS
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

    def write(self, options: Any) -> tuple[list[Path], list[Exception]]:
        """Write the files that were asked for; one that cannot be written keeps no other away."""
        paths = _targets(options)
        savers: dict[str, Callable[[Path], Any]] = {
            "json": lambda path: path.write_text(self.json() + "\n", encoding="utf-8"),
            **self.files,
        }
        require_endings(paths, savers, options)
        written, failed = [], []
        for path in paths:
            try:
                path.parent.mkdir(parents=True, exist_ok=True)
                savers[_ending(path)](path)
                written.append(path)
            except Exception as error:  # noqa: BLE001 (it is told, with those of other files)
                failed.append(error)
        return written, failed

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


def _targets(options: Any) -> list[Path]:
    return [Path(name) for name in getattr(options, "output", None) or []]


def _ending(path: Path) -> str:
    return path.suffix.lower().lstrip(".")


def require_endings(paths: list[Path], known: Iterable[str], options: Any) -> None:
    """Refuse files whose endings are not known."""
    known = list(known)
    for path in paths:
        if _ending(path) not in known:
            later = _ending(path) in COMMANDS[options.command].endings
            raise Mistyped(
                say(
                    f"'{path.name}' cannot be written by 'stationary {options.command}'.",
                    f"Found the ending '{path.suffix}', expected "
                    + ", ".join(f".{ending}" for ending in known) + ".",
                    "Give --span FROM:TO: over time it can." if later else "Rename the file.",
                )
            )  # fmt: skip


def require_targets(options: Any) -> None:
    """Refuse files that no answer can be written to, before anything is computed."""
    command = COMMANDS[options.command]
    if command.endings:
        require_endings(_targets(options), dict.fromkeys(("json", *command.endings)), options)
    for path in _targets(options) if command.model else ():
        if path.is_dir():
            raise IsADirectoryError(EISDIR, os.strerror(EISDIR), str(path))
        if path.exists() and path.resolve() == Path(options.model).resolve():
            raise Mistyped(
                f"'{path}' is the model itself.",
                "A model that somebody wrote is not replaced.",
                "Name another file.",
            )


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
