"""A motion, as the command line shows it and writes it."""

from __future__ import annotations

from typing import Any

import numpy as np

import stationary as st
from stationary.cli.answer import Answer
from stationary.cli.tables import table, write_csv

#: Coordinates that a terminal shows.
SHOWN = 12

# So many changes.
_LISTED = 20


def coordinates(system: st.System) -> list[str]:
    """Return the names of all coordinates."""
    return [c.name for c in system.scalars()]


def motion_answer(
    model: st.Model, motion: st.Motion, options: Any, expressions: list[Any]
) -> Answer:
    """Show a motion: its ends and its evidence; write it in any form."""
    code = 0 if motion.success else 130 if motion.status == "interrupted" else 4
    names = coordinates(model.system)
    columns: dict[str, np.ndarray] = {"t": motion.t}
    if expressions:
        columns |= {str(e): np.asarray(motion[e], dtype=float) for e in expressions}
    else:
        columns |= {name: motion.q[:, i] for i, name in enumerate(names)}
        columns |= {f"{name}.dot": motion.v[:, i] for i, name in enumerate(names)}
    columns |= {"energy": motion.energy, "balance": motion.balance}
    columns |= {f"lam[{name}]": motion.lam[:, k] for k, name in enumerate(motion.lam.names)}
    if isinstance(motion, st.Touched):
        columns |= _touching(motion)
    # A terminal shows fields along their intervals; files have the coordinates.
    places = {} if expressions else {str(e): np.asarray(motion[e]) for e in model.along}
    fields = {f.array.name for f in model.system.fields if f.array is not None}
    hidden = {"t", "balance"} | {n for n in columns if places and n.partition("[")[0] in fields}
    ends = [
        [_labelled(motion, name), values[0], values[-1], values.min(), values.max()]
        for name, values in {**places, **columns}.items()
        if name not in hidden
    ]
    # What the sum of energies is not known to, or no quantity beside its largest, is rounding.
    largest = np.max(np.abs([motion.kinetic, motion.potential]))
    energy = min(motion.residual["energy"], 1e-14 * largest)
    for row in ends:
        known_to = float(np.finfo(float).eps) * max(map(abs, row[1:]))
        if row[0] == _labelled(motion, "energy"):
            known_to = max(known_to, energy)
        row[1:] = [0.0 if abs(value) <= known_to else value for value in row[1:]]
    # However many states there are, their energy is told.
    energy_row = [row for row in ends[2 * SHOWN :] if row[0] == _labelled(motion, "energy")]
    few = ends[: 2 * SHOWN] + energy_row
    note = "" if len(few) == len(ends) else f"{len(few)} of {len(ends)} quantities shown"
    head, *evidence = str(motion).splitlines()
    # What would tell the digits is Python.
    evidence = [line for line in evidence if "motion.digits" not in line]
    shown = [
        table(head, ("quantity", "first", "last", "least", "greatest"), few, note),
        "\n".join(evidence),
    ]
    happened = _happened(motion)
    if happened:
        few, note = happened[:_LISTED], ""
        if len(happened) > len(few):
            note = f"{len(few)} of {len(happened)} shown; --json lists all"
        shown.append(table("What happened", ("t", "what", "where", "impulse"), few, note))
    known = {
        "system": model.system.name, "status": str(motion.status),
        "message": motion.status.message, "method": motion.method, "steps": motion.steps,
        "residual": motion.residual, "redundant": motion.redundant, "columns": columns,
    }  # fmt: skip
    if happened:
        keys = ("t", "kind", "name", "impulse")
        known["changes"] = [dict(zip(keys, [*row[:3], row[3] or 0.0])) for row in happened]
    rows = np.column_stack(list(columns.values()))
    files: dict[str, Any] = {
        "csv": lambda path: write_csv(path, [_labelled(motion, name) for name in columns], rows),
        "nc": lambda path: motion.to_xarray().to_netcdf(path, engine="scipy"),
        "toml": lambda path: st.save(model, path),
    }
    files |= {e: lambda path: (motion.plot(*expressions) if options.view == "plot" else
                               motion.show(options.view)).savefig(path)
              for e in ("png", "svg", "pdf")}  # fmt: skip
    files |= {e: lambda path: motion.animate(path, fps=options.fps, forces=options.forces)
              for e in ("gif", "html")}  # fmt: skip
    return Answer(shown, known, files, code)


def _touching(motion: st.Touched) -> dict[str, np.ndarray]:
    """Return forces of friction over time, and what friction and impacts have taken."""
    columns: dict[str, np.ndarray] = {"work": motion.work, "heat": motion.heat,
                                   "struck_off": motion.struck_off}  # fmt: skip
    for name, values in motion.forces.items():
        flat = values.reshape(len(motion.t), -1)
        for k in range(flat.shape[1]):
            entry = f"[{k}]" if flat.shape[1] > 1 else ""
            columns[f"friction[{name}]{entry}"] = flat[:, k]
    return columns


def _happened(motion: Any) -> list[list[Any]]:
    """Return the changes of a motion that touches, and named events, in their order."""
    rows = [[c.t, c.kind, c.name, c.impulse if c.kind == "impact" else ""]
            for c in getattr(motion, "changes", ())]  # fmt: skip
    events: Any = getattr(motion, "events", ())
    for name, times in zip(getattr(events, "names", ()), events):
        rows += [[float(t), "event", name or "", ""] for t in times]
    return sorted(rows, key=lambda row: row[0])


def _labelled(motion: st.Motion, name: str) -> str:
    """Write a quantity with its SI unit, where the file has units."""
    unit = motion.unit(name)
    return f"{name} ({unit})" if unit else name
