"""Measured pushes from a table of comma-separated values: one push a row, or one reading a row."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import numpy as np

from stationary.errors import StatementError, did_you_mean
from stationary.model.track import Pushes, cut

# What a table of pushes may have: words of a push, and the columns of each.
_PUSH = {
    "point": ("point_x", "point_y"),
    "normal": ("normal_x", "normal_y"),
    "motion": ("motion_x", "motion_y", "motion_phi"),
    "before": ("before_x", "before_y", "before_phi"),
    "after": ("after_x", "after_y", "after_phi"),
    "finger": ("finger_x", "finger_y"),
    "force": ("force_x", "force_y"),
    "noise": ("noise_length", "noise_angle"),
}
# What a recorded track has; forces and times may be left out.
_TRACK = {"poses": ("x", "y", "phi"), "tip": ("tip_x", "tip_y"), "force": ("force_x", "force_y")}
_ALONE = {"force": "force_normal", "noise": "noise_force"}
_KNOWN = {name for columns in (*_PUSH.values(), *_TRACK.values()) for name in columns}
_KNOWN |= {"t", "track", *_ALONE.values()}
# Rows that a table may have.
_MOST = 1_000_000


def read(push: Any, path: Any, outline: Any, radius: float, far: float | None) -> Pushes:
    """Return the pushes of a file: as they stand there, or cut from tracks."""
    head, rows = _table(path)
    strange = [name for name in head if name not in _KNOWN]
    if strange:
        raise StatementError(
            f"{path}: '{strange[0][:40]}' is no column of measured pushes.",
            f"Found {', '.join(head)[:200]}.",
            did_you_mean(strange[0], sorted(_KNOWN)).strip()
            or f"Known: {', '.join(sorted(_KNOWN))}.",
        )
    columns = {name: rows[:, k] for k, name in enumerate(head)}
    if "tip_x" not in columns:
        return _pushes(push, path, columns)
    if outline is None:
        raise StatementError(
            f"{path}: a track does not say what the finger touches.",
            "Found readings of a tip, and no outline.",
            "Give outline=, the corners of the part in its own frame.",
        )
    every, words, refused = Pushes(), [], []
    which = columns.get("track", np.zeros(len(rows)))
    for name in np.unique(which[np.isfinite(which)]):
        tables = {}
        for word, names in _TRACK.items():
            timed = ("t", *names) if "t" in columns else names
            if word != "force" or "force_x" in columns:
                table = np.column_stack([_column(path, columns, column) for column in timed])
                tables[word] = table[which == name]
        try:
            pushes = cut(
                push, tables["poses"], tables["tip"], outline, radius, tables.get("force"), far
            )
        except StatementError as error:
            # One track that is no push leaves the others as they are.
            refused.append(error)
            words.append(f"track {name:g} left out: {str(error).splitlines()[0].rstrip('.')}")
            continue
        every += pushes
        words.append(pushes.told)
    if not every:
        raise refused[0] if refused else _none(path, "no row that belongs to a track")
    every.told = "; ".join(words)
    return every


def _none(path: Any, seen: str) -> StatementError:
    return StatementError(
        f"{path}: there is no push.",
        f"Found {seen}.",
        "Give names in the first row, and a push or a reading in each row below.",
    )


def _pushes(push: Any, path: Any, columns: dict[str, np.ndarray]) -> Pushes:
    stated: dict[str, np.ndarray] = {}
    for word, names in _PUSH.items():
        if any(name in columns for name in names):
            stated[word] = np.column_stack([_column(path, columns, name) for name in names])
    if "force_normal" in columns and "force" not in stated:
        stated["force"] = columns["force_normal"]
    if "noise_force" in columns and "noise" in stated:
        stated["noise"] = np.column_stack([stated["noise"], columns["noise_force"]])
    for word in ("point", "normal"):
        if word not in stated:
            raise StatementError(
                f"{path}: pushes have no {word}.",
                f"Found {', '.join(columns)[:200]}.",
                f"Add the columns {', '.join(_PUSH[word])}; or give a track: x, y, phi, tip_x, "
                "tip_y.",
            )
    rows = [{word: table[k] for word, table in stated.items() if np.all(np.isfinite(table[k]))}
            for k in range(len(columns["point_x"]))]  # fmt: skip
    # A row with gaps was not measured.
    whole = [row for row in rows if {"point", "normal"} <= set(row)
             and ("motion" in row or {"before", "after"} <= set(row))]  # fmt: skip
    lost = len(rows) - len(whole)
    if not whole:
        raise _none(path, f"{lost} rows, none of them whole")
    pushes = Pushes(push(**row) for row in whole)
    pushes.told = f"{len(whole)} pushes" + (f"; {lost} rows not whole" if lost else "")
    return pushes


def _column(path: Any, columns: dict[str, np.ndarray], name: str) -> np.ndarray:
    if name not in columns:
        raise StatementError(
            f"{path}: the column '{name}' is missing.",
            f"Found {', '.join(columns)[:200]}.",
            "Add it, or leave out what belongs to it.",
        )
    return columns[name]


def _table(path: Any) -> tuple[list[str], np.ndarray]:
    try:
        with Path(path).open(encoding="utf-8-sig", newline="") as file:
            text = list(_plain(file))
        between = _between(text)
        lines = [r for r in csv.reader(text, delimiter=between) if any(c.strip() for c in r)]
    except (OSError, TypeError, ValueError, csv.Error) as error:
        raise StatementError(
            f"the pushes '{path}' cannot be read.",
            f"Found: {getattr(error, 'strerror', None) or error}.",
            "Give a file of comma-separated values with names in its first row.",
        ) from None
    head = [name.strip().lower() for name in lines[0]] if lines else []
    rows = np.full((max(len(lines) - 1, 0), len(head)), np.nan)
    for k, line in enumerate(lines[1:]):
        for j, entry in enumerate(line[: len(head)]):
            try:
                # Where semicolons are between numbers, a comma may be their point.
                number = entry.replace(",", ".") if between == ";" else entry
                rows[k, j] = float(number) if number.strip() else np.nan
            except ValueError:
                raise StatementError(
                    f"{path}: row {k + 2} is not made of numbers.",
                    f"Found '{entry[:40]}' in the column '{head[j]}'.",
                    "Give numbers with a point; leave out what was not measured.",
                ) from None
    if not len(rows):
        raise _none(path, f"{len(lines)} row{'s' * (len(lines) != 1)}")
    twice = [name for k, name in enumerate(head) if name in head[:k]]
    if twice:
        raise StatementError(
            f"{path}: the column '{twice[0][:40]}' is there twice.",
            f"Found {', '.join(head)[:200]}.",
            "Leave one of them out.",
        )
    return head, rows


def _between(text: list[str]) -> str:
    """Return what is between the names of the first row: a comma, a semicolon or a tabulator."""
    first = next((line for line in text if line.strip()), "")
    return next((mark for mark in ";\t" if mark in first and "," not in first), ",")


def _plain(file: Any):
    """Give lines, without comments, and no more than a table may have."""
    for k, line in enumerate(file):
        if k > _MOST:
            raise ValueError(f"more than {_MOST} rows")
        if not line.startswith("#"):
            yield line
