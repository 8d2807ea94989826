"""Measured pushes from a table of comma-separated values: one push a row, or one reading a row."""

from __future__ import annotations

import codecs
import csv
from collections.abc import Iterator
from datetime import UTC, date, datetime, time
from typing import Any

import numpy as np

from stationary.errors import StatementError, did_you_mean
from stationary.model.files import content_of
from stationary.model.track import Pushes, cut
from stationary.model.units import UnknownUnit, dimension_of, value

# Rows that a table may have, and bytes.
_MOST = 1_000_000
_LARGEST = 300_000_000
# How others write that nothing was measured.
_UNMEASURED = {"", "-", "--", "na", "n/a", "nan", "null", "none", "missing"}


def read(push: Any, path: Any, outline: Any, radius: float, far: float | None) -> Pushes:
    """Return the pushes of a file: as they stand there, or cut from tracks."""
    head, rows, tracks = _table(path)
    columns = {name: rows[:, k] for k, name in enumerate(head)}
    turned(path, columns)
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
    for k in np.unique(which[np.isfinite(which)]):
        tables = {}
        for word, names in TRACK.items():
            timed = ("t", *names) if "t" in columns else names
            if word != "force" or "force_x" in columns:
                table = np.column_stack([column(path, columns, n) for n in timed])
                tables[word] = table[which == k]
        try:
            pushes = cut(
                push, tables["poses"], tables["tip"], outline, radius, tables.get("force"), far
            )
        except StatementError as error:
            # One track that is no push leaves the others as they are.
            refused.append(error)
            name = f"track {tracks[int(k)]}" if tracks else "the track"
            words.append(f"{name} left out: {str(error).splitlines()[0].rstrip('.')}")
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
    for word, names in PUSH.items():
        if any(name in columns for name in names):
            stated[word] = np.column_stack([column(path, columns, name) for name in names])
    if "force_normal" in columns and "force" not in stated:
        stated["force"] = columns["force_normal"]
    if "noise_force" in columns and "noise" in stated:
        stated["noise"] = np.column_stack([stated["noise"], columns["noise_force"]])
    for word in ("point", "normal"):
        if word not in stated:
            raise StatementError(
                f"{path}: pushes have no {word}.",
                f"Found {', '.join(columns)[:200]}.",
                f"Add the columns {', '.join(PUSH[word])}; or give a track: x, y, phi, tip_x, "
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


def _table(path: Any) -> tuple[list[str], np.ndarray, list[str]]:
    """Return the names of columns, their numbers in SI units, and the names of tracks."""
    lines, between = _lines(path)
    if len(lines) < 2:
        raise _none(path, f"{len(lines)} row{'s' * (len(lines) != 1)}")
    (_, first), *lines = lines
    if all(_number(entry, between) is not None for entry in first):
        raise StatementError(
            f"{path}: the columns have no names.",
            f"Found numbers in the first row: {', '.join(first)[:60]}.",
            "Write names there, as in t,x,y,phi,tip_x,tip_y.",
        )
    # What has neither a name nor an entry is the end of rows that end with a separator.
    wide = len(first)
    while wide and not first[wide - 1].strip() and not any(
        entry.strip() for _, line in lines for entry in line[wide - 1 : wide]
    ):  # fmt: skip
        wide -= 1
    head, stated = named(path, first[:wide])
    below = lines[0][1]
    if all(not e.strip() or is_unit(e.strip(" []()")) for e in below) and not all(
        _number(e, between) is not None for e in below
    ):
        stated = [e.strip(" []()") or old for e, old in zip(below, stated, strict=False)]
        stated += [""] * (len(head) - len(stated))
        lines = lines[1:]
    rows = np.full((len(lines), len(head)), np.nan)
    tracks: dict[str | float, tuple[int, str]] = {}
    for k, (row, line) in enumerate(lines):
        for j, entry in enumerate(line[: len(head)]):
            number = _number(entry, between)
            if number is None and head[j] == "t":
                number = _instant(entry.strip())
            if head[j] == "track" and entry.strip():
                # Tracks are named as they like.
                name = entry.strip() if number is None else number
                number = tracks.setdefault(name, (len(tracks), entry.strip()))[0]
            if number is None:
                raise StatementError(
                    f"{path}: row {row} is not made of numbers.",
                    f"Found '{entry[:40]}' in the column '{head[j]}'.",
                    "Give numbers with a point; leave out what was not measured.",
                )
            rows[k, j] = number
    in_si(path, head, stated, rows)
    return head, rows, [name for _, name in tracks.values()]


def _number(entry: str, between: str) -> float | None:
    """Return a number, nan for what was not measured, None for other text."""
    # Where semicolons are between numbers, a comma may be their point.
    entry = (entry.replace(",", ".") if between == ";" else entry).strip()
    if entry.lower() in _UNMEASURED:
        return np.nan
    try:
        return float(entry)
    except ValueError:
        return None


def _instant(entry: str) -> float | None:
    """Return a date and time, or a time of the day, in seconds."""
    try:
        when = datetime.fromisoformat(entry)
    except ValueError:
        try:
            clock = time.fromisoformat(entry)
        except ValueError:
            return None
        when = datetime.combine(date(1970, 1, 1), clock)
    # A clock that names no zone is as good as any: only differences count.
    return (when if when.tzinfo else when.replace(tzinfo=UTC)).timestamp()


def _lines(path: Any) -> tuple[list[tuple[int, list[str]]], str]:
    """Return the rows that are not empty, each with its place in the file, and what is between."""
    try:
        text = list(_plain(_decoded(content_of(path, _LARGEST))))
        between = _between(text)
        reader = csv.reader(text, delimiter=between, skipinitialspace=True)
        return [(reader.line_num, r) for r in reader if any(c.strip() for c in r)], between
    except (OSError, TypeError, ValueError, csv.Error) as error:
        raise StatementError(
            f"the pushes '{path}' cannot be read.",
            f"Found: {getattr(error, 'strerror', None) or error}.",
            "Give a file of comma-separated values with names in its first row.",
        ) from None


def _decoded(data: bytes) -> str:
    """Return text as spreadsheets write it: in UTF-8, UTF-16 or, where a byte is neither, Latin."""
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return data.decode("utf-16")
    if b"\0" in data:
        raise ValueError("no text")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return data.decode("latin-1")


def _between(text: list[str]) -> str:
    """Return what is between the names of the first row."""
    first = next((line.strip() for line in text if line.strip()), "")
    if "," in first:
        return ","
    return next((mark for mark in ";\t " if mark in first), ",")


def _plain(text: str) -> Iterator[str]:
    """Give lines, comments as empty ones, and no more than a table may have."""
    for k, line in enumerate(text.splitlines()):
        if k > _MOST:
            raise ValueError(f"more than {_MOST} rows")
        yield "" if line.lstrip().startswith(("#", "%", "//")) else line


# -- columns ---------------------------------------------------------------------------------------

#: What a table of pushes may have: words of a push, and the columns of each.
PUSH = {
    "point": ("point_x", "point_y"),
    "normal": ("normal_x", "normal_y"),
    "motion": ("motion_x", "motion_y", "motion_phi"),
    "before": ("before_x", "before_y", "before_phi"),
    "after": ("after_x", "after_y", "after_phi"),
    "finger": ("finger_x", "finger_y"),
    "force": ("force_x", "force_y"),
    "noise": ("noise_length", "noise_angle"),
}
#: What a recorded track has; forces and times may be left out.
TRACK = {"poses": ("x", "y", "phi"), "tip": ("tip_x", "tip_y"), "force": ("force_x", "force_y")}
_ALONE = {"force": "force_normal", "noise": "noise_force"}
_TURNED = ("qx", "qy", "qz", "qw")
_KNOWN = {name for columns in (*PUSH.values(), *TRACK.values()) for name in columns}
# Heights over the table, and what presses on it: tables of tracks in space have them.
_ACROSS = ("z", "tip_z", "force_z")
_KNOWN |= {"t", "track", *_ALONE.values(), *_TURNED, *_ACROSS}
_EXPECTED = (
    "A track has x, y, phi (or qx, qy, qz, qw), tip_x, tip_y, perhaps t, force_x, force_y, track; "
    "a push point_x, point_y, normal_x, normal_y, motion_x, motion_y, motion_phi and more. "
    "A unit may follow a name, as in x [mm]."
)
# Other words for those of a column, and words that say nothing.
_OTHER = {"time": "t", "timestamp": "t", "yaw": "phi", "theta": "phi", "angle": "phi",
          "omega": "phi", "pusher": "tip", "tool": "tip", "f": "force", "fx": "force_x",
          "fy": "force_y", "fz": "force_z", "run": "track", "trial": "track",
          "quat": "q"}  # fmt: skip
_IDLE = {"part", "object", "obj", "pose", "position", "pos"}
_UNITS = {"degree": "deg", "degrees": "deg", "radian": "rad", "radians": "rad", "sec": "s",
          "seconds": "s", "meter": "m", "metre": "m", "meters": "m", "metres": "m"}  # fmt: skip
# What may stand between a name and its unit.
_MARKS = "[(/_ "
# A part that leans by more than this (in radians) does not lie on the table of its frame.
_LEANS = 0.1


def known(text: str) -> str | None:
    """Return the name of a column that others may name otherwise; None if it is none of ours.

    Examples
    --------
    >>> known("Tip_X"), known("time"), known("object position x"), known("Fz"), known("weather")
    ('tip_x', 't', 'x', 'force_z', None)
    """
    name = text.strip().lower().replace(" ", "_").replace("-", "_").replace(".", "_")
    if name in _KNOWN:
        return name
    words = [_OTHER.get(w, w) for w in name.split("_") if w and w not in _IDLE]
    return next((n for n in ("_".join(words), "".join(words)) if n in _KNOWN), None)


def named(path: Any, entries: list[str]) -> tuple[list[str], list[str]]:
    """Return the names of the columns, and their units; "" where none is stated."""
    names, stated = [], []
    for entry in entries:
        name, unit = _apart(entry.strip())
        if name is None:
            raise StatementError(
                f"{path}: '{entry.strip()[:40]}' is no column of measured pushes.",
                f"Found {', '.join(entries)[:200]}.",
                f"{did_you_mean(entry.strip().lower(), sorted(_KNOWN)).strip()} Rename it, or "
                f"leave it out. {_EXPECTED}".strip(),
            )
        names.append(name)
        stated.append(unit)
    twice = [name for k, name in enumerate(names) if name in names[:k]]
    if "phi" in names and set(_TURNED) <= set(names):
        twice.append("phi")
    if twice:
        raise StatementError(
            f"{path}: the column '{twice[0]}' is there twice.",
            f"Found {', '.join(entries)[:200]}.",
            "Leave one of them out.",
        )
    return names, stated


def _apart(entry: str) -> tuple[str | None, str]:
    """Return a name and the unit that follows it."""
    if name := known(entry):
        return name, ""
    for k, mark in enumerate(entry):
        if mark in _MARKS and (name := known(entry[:k])):
            rest = entry[k + 1 :]
            unit = rest.strip(" []()_")
            if mark in "[(" or rest.strip()[:1] in ("[", "(") or is_unit(unit):
                return name, unit
    return None, ""


def is_unit(text: str) -> bool:
    """Tell whether text is the name of a unit."""
    try:
        dimension_of(_UNITS.get(text.lower(), text))
    except UnknownUnit:
        return False
    return bool(text)


def in_si(path: Any, names: list[str], stated: list[str], rows: np.ndarray) -> None:
    """Multiply columns by their units: metres, radians, seconds and newtons are left."""
    rates: dict[bool, str] = {}
    for k, (name, text) in enumerate(zip(names, stated)):
        if not text:
            continue
        unit = _UNITS.get(text.lower(), text)
        expected = _expected(name)
        if not is_unit(unit) or tuple(int(d) for d in dimension_of(unit)) not in expected:
            raise StatementError(
                f"{path}: the column '{name}' has another unit than it can have.",
                f"Found '{text[:40]}', expected {' or '.join(expected.values())}.",
                f"Write the unit after the name, as in {name} [{next(iter(expected.values()))}].",
            )
        if name.startswith(("motion", "finger", "noise")) and name != "noise_force":
            rates.setdefault(dimension_of(unit)[2] != 0, f"{name} in {text}")
        rows[:, k] *= value("1", unit)
    if len(rates) > 1:
        raise StatementError(
            f"{path}: some columns are velocities and others ways.",
            f"Found {rates[True]} and {rates[False]}.",
            "Give motion, finger and noise all per second, or none.",
        )


def _expected(name: str) -> dict[tuple[int, ...], str]:
    """Return the dimensions that a column may have, with a unit of each."""
    last = name.rsplit("_", maxsplit=1)[-1]
    if name.startswith("force") or name == "noise_force":
        return {(1, 1, -2): "N"}
    if name == "t":
        return {(0, 0, 1): "s"}
    moves = name.startswith(("motion", "finger", "noise"))
    if last in ("phi", "angle"):
        return {(0, 0, 0): "rad"} | ({(0, 0, -1): "rad/s"} if moves else {})
    if name in (*_TURNED, *PUSH["normal"], "track"):
        return {(0, 0, 0): "1"}
    return {(1, 0, 0): "m"} | ({(1, 0, -1): "m/s"} if moves else {})


def turned(path: Any, columns: dict[str, np.ndarray]) -> None:
    """Put the angle about the normal of the table in the place of quaternions."""
    if not set(_TURNED) & set(columns):
        return
    qx, qy, qz, qw = (column(path, columns, name) for name in _TURNED)
    long = qx**2 + qy**2 + qz**2 + qw**2
    with np.errstate(divide="ignore", invalid="ignore"):
        upright = 1 - 2 * (qx**2 + qy**2) / long
    leans = np.arccos(np.clip(upright[np.isfinite(upright)], -1, 1))
    if len(leans) and np.median(leans) > _LEANS:
        raise StatementError(
            f"{path}: the part does not lie on the table.",
            f"Found it leaning by {np.degrees(np.median(leans)):.3g}° by qx, qy, qz, qw, most of "
            "the time.",
            "Give quaternions in a frame with z up from the table and from the part, or phi.",
        )
    for name in _TURNED:
        del columns[name]
    angle = np.arctan2(2 * (qw * qz + qx * qy), qw**2 + qx**2 - qy**2 - qz**2)
    columns["phi"] = np.where(long > 0, angle, np.nan)


def column(path: Any, columns: dict[str, np.ndarray], name: str) -> np.ndarray:
    """Return a column that must be there."""
    if name not in columns:
        raise StatementError(
            f"{path}: the column '{name}' is missing.",
            f"Found {', '.join(columns)[:200]}.",
            "Add it, or leave out what belongs to it.",
        )
    return columns[name]
