"""What the columns of a table of pushes are: names as others write them, units and quaternions."""

from __future__ import annotations

from typing import Any

import numpy as np

from stationary.errors import StatementError, did_you_mean
from stationary.model.units import UnknownUnit, dimension_of, value

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
