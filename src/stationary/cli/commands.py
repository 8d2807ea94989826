"""The commands: each asks the library one question and returns an answer."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import stationary as st
from stationary.cli.answer import Answer, Missing, require_targets
from stationary.cli.motions import SHOWN, coordinates, motion_answer
from stationary.cli.tables import facts, number, table, write_csv
from stationary.cli.typed import (
    float_of,
    given_to,
    pair_of,
    plain_numbers,
    range_of,
    require_names,
    require_size,
    state_of,
)

Command = Callable[[st.Model, Any], Answer]
ASKED: dict[str, Command] = {}


def command(name: str) -> Callable[[Command], Command]:
    """Register the function that answers a command."""

    def register(function: Command) -> Command:
        if name in ASKED:
            raise RuntimeError(f"two functions answer '{name}'")
        ASKED[name] = function
        return function

    return register


def answer(options: Any) -> Answer:
    """Answer what was asked."""
    if options.command in ("new", "studio", "gallery"):
        from stationary.cli import without_model

        return getattr(without_model, options.command)(options)
    if "fps" in options:
        require_size("fps", options.fps)
    require_targets(options)
    return ASKED[options.command](model_of(options), options)


def model_of(options: Any) -> st.Model:
    """Read the model file, with the values that --set gives."""
    changes = dict(pair_of(text, "--set") for text in options.changes)
    model = st.load(options.model)
    changed = model.changed(changes)
    if not options.quiet:
        for note in plain_numbers(model, changes):
            print(note, file=sys.stderr)
    return changed


def _few(names: Any) -> str:
    """List names, of many the first ones."""
    more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
    return ", ".join(names[:SHOWN]) + more


def _omitted(rows: list[Any], what: str) -> list[str]:
    """Say where the rest of a long table is."""
    few = 2 * SHOWN
    return [f"{few} of {len(rows)} {what} shown; -o FILE.csv has all"] if len(rows) > few else []


def _name(model: st.Model) -> str:
    return model.system.name or "the system"


# -- reading --------------------------------------------------------------------------------------


@command("equations")
def equations(model: st.Model, options: Any) -> Answer:
    """Derive."""
    derived: Any = model.ask("equations", principle=options.principle)
    known: dict[str, Any] = {"system": model.system.name, "principle": options.principle,
                             "text": str(derived), "latex": derived.latex()}  # fmt: skip
    for name in ("M", "C", "G", "Q", "A"):
        matrix = getattr(derived, name, None)
        if matrix is not None:
            known[name] = [[str(e) for e in row] for row in matrix.tolist()]
    text = (
        derived.latex() if options.latex else derived.explain() if options.explain else str(derived)
    )

    def page(path: Path) -> None:
        from stationary.report.page import page_of_markdown

        title = f"Equations of {_name(model)}"
        path.write_text(page_of_markdown(title, derived.explain()), encoding="utf-8")

    files = {
        "html": page,
        "md": lambda path: path.write_text(derived.explain() + "\n", encoding="utf-8"),
        "tex": lambda path: path.write_text(derived.latex() + "\n", encoding="utf-8"),
    }
    return Answer([text], known, files)


@command("check")
def check(model: st.Model, options: Any) -> Answer:
    """Check the statement."""
    from rich.text import Text

    report = model.ask("check")
    shown: list[Any] = []
    for line in str(report).splitlines():
        style = {"✓": "green", "✗": "bold red"}.get(line.strip()[:1], "")
        shown.append(Text(line, style=style if line.startswith(" ") else "bold"))
    listed = [
        {"name": f.name, "passed": f.passed, "required": f.required, "text": f.text, "how": f.how}
        for f in report
    ]
    known = {"system": model.system.name, "passed": report.passed, "findings": listed}
    return Answer(shown, known, {}, code=0 if report.passed else 1)


# -- rest -----------------------------------------------------------------------------------------


# Whether something is stable; None where that is not decided.
_YES_NO = {True: "yes", False: "no", None: "not decided"}


def _rest_facts(rest: st.Equilibrium) -> dict[str, Any]:
    return {
        "q": dict(zip(coordinates(rest.system), rest.q.tolist())),
        "energy": rest.energy,
        "stable": rest.stable,
        "stability": str(rest.stability),
        "family": rest.family,
        "eigenvalues": rest.eigenvalues,
        "lam": {name: np.asarray(rest.lam[name]) for name in rest.lam.keys()},
        "residual": rest.residual,
        "status": str(rest.status),
    }


def _with_unit(model: st.Model, name: str) -> str:
    """Write a coordinate or a parameter with its SI unit, where the file has units."""
    unit = model.unit(name)
    return f"{name} ({unit})" if unit else name


def _rest_columns(
    model: st.Model, rests: list[st.Equilibrium]
) -> tuple[list[str], list[list[Any]]]:
    names = [_with_unit(model, name) for name in coordinates(rests[0].system)] if rests else []
    head = [
        *names,
        "energy (J)" if model.units else "energy",
        "stable",
        "smallest eigenvalue",
        "unbalanced force",
    ]
    rows = [
        [*rest.q, "" if rest.energy is None else float(rest.energy),
         _YES_NO[rest.stable], float(min(rest.eigenvalues)) if len(rest.eigenvalues) else "",
         float(rest.residual["force"])]
        for rest in rests
    ]  # fmt: skip
    return head, rows


@command("statics")
def statics(model: st.Model, options: Any) -> Answer:
    """Find a state of rest."""
    rest = model.ask("statics", **given_to(model, "statics", {}, kind=options.kind))
    known = {"system": model.system.name, **_rest_facts(rest)}
    shown, known_to = list(known["q"].items()), rest.known_to
    if fields := rest.along:
        shown, known_to = [(str(e), value) for e, value in fields.items()], np.zeros(len(fields))
    entries = [(_with_unit(model, name), "0" if abs(value) <= off else number(value, 10))
               for (name, value), off in zip(shown[:SHOWN], known_to)]  # fmt: skip
    if len(shown) > SHOWN:
        entries.append(("…", f"{len(shown)} coordinates in all"))
    entries += [tuple(line.strip().split("  ", 1)) for line in str(rest).splitlines()[1:]]
    title = f"{_name(model)} rests, {rest.told}, at"
    head, rows = _rest_columns(model, [rest])
    files = {"csv": lambda path: write_csv(path, head, rows)}
    return Answer([facts(title, ((k, v.strip()) for k, v in entries))], known, files)


@command("equilibria")
def equilibria(model: st.Model, options: Any) -> Answer:
    """Find all states of rest."""
    typed = dict(pair_of(text, "--within") for text in options.within)
    within = {name: range_of(text, "--within") for name, text in typed.items()} or None
    require_names(model, "--within", typed, "coordinate")
    # Orientations are searched whole.
    boxed = any(not hasattr(c, "rotation") for c in model.system.coordinates)
    needed = {"within": "--within NAME=FROM:TO"} if boxed else {}
    given = given_to(model, "equilibria", needed, within=within)
    rests = model.ask("equilibria", **given)
    head, rows = _rest_columns(model, list(rests))
    few = len(head) - 4 <= 6
    title = f"{len(rests)} state{'s' * (len(rests) != 1)} of rest of {_name(model)}"
    columns = range(len(head)) if few else [0, 1, 2, *range(len(head) - 4, len(head))]
    if any(rest.family for rest in rests):
        columns = [*columns, len(head)]
        head = [*head, "family"]
        rows = [[*row, str(rest.family or "")] for row, rest in zip(rows, rests)]
    body = [[row[k] for k in columns] for row in rows]
    shown = table(title, [head[k] for k in columns], body, rests.told)
    known = {"system": model.system.name, "complete": rests.complete,
             "equilibria": [_rest_facts(rest) for rest in rests]}  # fmt: skip
    return Answer([shown], known, {"csv": lambda path: write_csv(path, head, rows)})


@command("linearize")
def linearize(model: st.Model, options: Any) -> Answer:
    """Linearize about a state of rest."""
    typed = [pair_of(text, "--at") for text in options.at]
    at: Any = {state_of(name): float_of(value, name) for name, value in typed} or None
    require_names(model, "--at", at or (), "coordinate", "velocity")
    lin = model.ask("linearize", **given_to(model, "linearize", {}, at=at))
    known = {"system": model.system.name, "stability": lin.stability, "states": lin.states,
             "inputs": lin.inputs, "outputs": lin.outputs, "eigenvalues": lin.eigenvalues,
             "frequencies": lin.frequencies, "A": lin.A, "B": lin.B, "C": lin.C,
             "D": lin.D}  # fmt: skip
    rows = []
    for k, (z, off) in enumerate(zip(lin.eigenvalues, lin.known_to)):
        rate, swing = (0.0 if abs(part) <= off else float(part) for part in (z.real, z.imag))
        swings = (number(abs(z) / (2 * np.pi)), number(-rate / abs(z))) if swing else ("", "")
        rows.append([k + 1, complex(rate, swing), *swings])
    shown = table(f"{_name(model)} is {lin.stability}",
                  ("mode", "eigenvalue (1/s)", "frequency (Hz)", "damping ratio"),
                  [[str(row[0]), *row[1:]] for row in rows[: 2 * SHOWN]],
                  "\n".join([f"states: {_few(lin.states)}", *_omitted(rows, "modes")]))  # fmt: skip

    def picture(path: Path) -> None:
        lin.plot(_name(model)).savefig(path)

    pairs = [[float(z.real), float(z.imag)] for z in lin.eigenvalues]
    files = {"csv": lambda path: write_csv(path, ("real (1/s)", "imaginary (1/s)"), pairs),
             "png": picture, "svg": picture, "pdf": picture}  # fmt: skip
    return Answer([shown], known, files)


@command("continue")
def continue_(model: st.Model, options: Any) -> Answer:
    """Follow states of rest."""
    span = range_of(options.span, "--span") if options.span else None
    require_names(model, "--parameter", [options.parameter], "parameter")
    needed = {"parameter": "--parameter NAME", "span": "--span FROM:TO"}
    given = given_to(model, "continue", needed, parameter=options.parameter, span=span)
    diagram = model.ask("continue", **given)
    shown: list[Any] = [
        table(f"{_name(model)} over {_with_unit(model, diagram.parameter)}",
              ("branch", "points", "from", "to", "stable", "ends"),
              [[str(k + 1), str(len(b)), b.parameter.min(), b.parameter.max(),
                b.told, b.status.message]
               for k, b in enumerate(diagram.branches)]),
    ]  # fmt: skip
    if diagram.special:
        shown.append(
            table("special points", ("kind", _with_unit(model, diagram.parameter)),
                  [[s.kind, number(s.parameter, 12)] for s in diagram.special])
        )  # fmt: skip
    names = coordinates(model.system)
    known = {
        "system": model.system.name,
        "parameter": diagram.parameter,
        "special": [{"kind": s.kind, "parameter": s.parameter, "q": dict(zip(names, s.q.tolist())),
                     "frequency": s.frequency} for s in diagram.special],
        "branches": [{"parameter": b.parameter, "q": dict(zip(names, b.q.T)), "stable": b.stable,
                      "status": str(b.status)} for b in diagram.branches],
    }  # fmt: skip
    rows = [
        [k + 1, b.parameter[i], *b.q[i], _YES_NO[bool(b.stable[i]) if b.decided else None]]
        for k, b in enumerate(diagram.branches)
        for i in range(len(b))
    ]
    labels = [_with_unit(model, name) for name in (diagram.parameter, *names)]
    head = ["branch", *labels, "stable"]
    files = {"csv": lambda path: write_csv(path, head, rows)}
    files |= {e: lambda path: diagram.plot().savefig(path) for e in ("png", "svg", "pdf")}
    return Answer(shown, known, files)


# -- motion ---------------------------------------------------------------------------------------


@command("simulate")
def simulate(model: st.Model, options: Any) -> Answer:
    """Find how it moves."""
    span = range_of(options.span, "--span") if options.span else None
    given = given_to(model, "simulate", {"span": "--span FROM:TO"}, span=span,
                     points=options.points, method=options.method, step=options.step)  # fmt: skip
    expressions = [model.read(text) for text in options.show]
    return motion_answer(model, model.ask("simulate", **given), options, expressions)


@command("slide")
def slide(model: st.Model, options: Any) -> Answer:
    """Find how it slides: along a span, or at the start alone."""
    span = range_of(options.span, "--span") if options.span else None
    given = given_to(model, "slide", {}, span=span, points=options.points, method=options.method,
                     step=options.step)  # fmt: skip
    expressions = [model.read(text) for text in options.show]
    step = model.ask("slide", **given)
    if not isinstance(step, st.Step):
        return motion_answer(model, step, options, expressions)
    names = coordinates(model.system)
    known = {
        "system": model.system.name, "status": str(step.status), "power": step.power,
        "velocities": {name: step[f"{name}.dot"] for name in names}, "unique": step.unique,
        "forces": step.forces, "lam": np.asarray(step.lam), "gap": step.gap,
        "residual": step.residual,
    }  # fmt: skip
    rows = [[f"{name}.dot", known["velocities"][name]] for name in names]
    head, *evidence = str(step).splitlines()
    files: dict[str, Any] = {"csv": lambda path: write_csv(path, ("velocity", "value"), rows)}
    files |= {e: lambda path: step.plot().savefig(path) for e in ("png", "svg", "pdf")}
    listed = table(head, ("velocity", "value"), rows[: 2 * SHOWN],
                   *_omitted(rows, "velocities"))  # fmt: skip
    shown = [listed, "\n".join(evidence)]
    return Answer(shown, known, files)


@command("modes")
def modes(model: st.Model, options: Any) -> Answer:
    """Find natural frequencies."""
    modal = model.ask("modes", **given_to(model, "modes", {}, count=options.count))
    rows = [
        [str(k + 1), w, w / (2 * np.pi), g or ""]
        for k, (w, g) in enumerate(zip(modal.frequencies, modal.growth))
    ]
    head = ("mode", "ω (rad/s)", "frequency (Hz)", "growth (1/s)")
    note = "dissipation is left out" if modal.damped else ""
    shown = table(
        f"{_name(model)}: {len(rows)} mode{'s' * (len(rows) != 1)}, the slowest first",
        head,
        rows,
        note,
    )
    names = coordinates(model.system)
    known = {"system": model.system.name, "frequencies": modal.frequencies, "growth": modal.growth,
             "stable": modal.stable, "residual": modal.residual, "coordinates": names,
             "shapes": modal.vectors}  # fmt: skip
    files = {"csv": lambda path: write_csv(path, head, rows)}
    files |= {e: lambda path: modal.plot().savefig(path) for e in ("png", "svg", "pdf")}
    return Answer([shown], known, files)


# -- a part on a table ----------------------------------------------------------------------------


def _lines(bounded: Any) -> list[tuple[str, str]]:
    """Return what a result prints below its title, as names and values."""
    lines = [line.strip().partition("  ") for line in str(bounded).splitlines()[1:]]
    return [(name, value.strip()) for name, _, value in lines]


@command("bounds")
def bounds(model: st.Model, options: Any) -> Answer:
    """Bound what a part does over all pressures."""
    needed = {"of": "--of WHAT"}
    typed = given_to(model, "bounds", needed, of=options.of, prove=options.prove)
    ends: st.PressureBounds = model.ask("bounds", **typed)
    known = {"system": model.system.name, "of": ends.of, "low": ends.low, "high": ends.high,
             "status": str(ends.status), "turns": ends.proof.turns, "outer": ends.outer,
             "pressures": [{"points": p.points, "weights": p.weights} for p in ends.pressures],
             "motions": ends.motions, "locus": ends.locus, "band": ends.band,
             "proof": str(ends.proof)}  # fmt: skip
    # What is nothing beside the other end is rounding.
    least = 1e-14 * max(abs(ends.low), abs(ends.high))
    low, high = ("0" if abs(x) <= least else number(x, 8) for x in (ends.low, ends.high))
    title = f"{ends.of} of {_name(model)}: {low} … {high}"
    rows = [[end, *place, load] for end, p in zip(("low", "high"), ends.pressures)
            for place, load in zip(p.points, p.weights)]  # fmt: skip
    files = {"csv": lambda path: write_csv(path, ("end", "x", "y", "load"), rows)}
    files |= {e: lambda path: ends.plot().savefig(path) for e in ("png", "svg", "pdf")}
    return Answer([facts(title, _lines(ends))], known, files)


@command("weigh")
def weigh(model: st.Model, options: Any) -> Answer:
    """Find the loads under a part."""
    given: dict[str, Any] = {"friction": options.friction}
    if options.pushes is not None:
        stated = model.questions.get("weigh", {})
        outline = stated.get("outline", model.outline)
        radius = stated.get("radius", 0.0)
        if not Path(options.pushes).is_file():
            raise Missing(
                f"there is no file '{options.pushes}'.",
                "Found none with that name.",
                "Give a file of comma-separated values with measured pushes.",
            )
        given["pushes"] = st.Push.from_csv(options.pushes, outline=outline, radius=radius)
    fit: st.FittedPressure = model.ask(
        "weigh", **given_to(model, "weigh", {"pushes": "--pushes FILE.csv"}, **given)
    )
    known = {"system": model.system.name, "status": str(fit.status), "points": fit.points,
             "weights": fit.weights, "intervals": fit.intervals, "centre": fit.centre,
             "centre_interval": fit.centre_interval, "finger": fit.finger,
             "finger_interval": fit.finger_interval, "scatter": fit.scatter,
             "residuals": fit.residuals, "left_out": fit.left_out,
             "told": fit.identifiable.loads, "untold": fit.identifiable.directions}  # fmt: skip
    head = ("x", "y", "load", "from", "to")
    rows = [[*place, load, *ends]
            for place, load, ends in zip(fit.points, fit.weights, fit.intervals)]  # fmt: skip
    title = str(fit).splitlines()[0]
    files = {"csv": lambda path: write_csv(path, head, rows)}
    files |= {e: lambda path: fit.plot().savefig(path) for e in ("png", "svg", "pdf")}
    return Answer([facts(title, _lines(fit))], known, files)


@command("live")
def live(model: st.Model, options: Any) -> Answer:
    """Write a page in which the system moves."""
    span = range_of(options.span, "--span") if options.span else None
    target = Path((options.output or [f"{Path(options.model).stem}.html"])[0])
    options.output = options.output or [str(target)]
    show = {text: model.read(text) for text in options.show}
    page = st.live(model, span=span, show=show, paused=options.paused)

    def write(path: Path) -> None:
        path.write_text(page, encoding="utf-8")
        if options.open:
            import webbrowser

            webbrowser.open(path.resolve().as_uri())

    size = f"{len(page.encode()) / 1000:.0f} kB, one file, no network"
    shown = [facts(f"{_name(model)}, live", [("page", size), ("begin", "open it in a browser")])]
    return Answer(shown, {"system": model.system.name, "bytes": len(page.encode())},
                  {"html": write})  # fmt: skip


@command("report")
def report(model: st.Model, options: Any) -> Answer:
    """Write the report."""
    from stationary.report.build import build

    target = Path((options.output or ["report.html"])[0])
    document = build(model, film=not options.no_film)
    options.output = options.output or [str(target)]
    files = {"html": lambda path: path.write_text(document.html, encoding="utf-8")}
    shown = [facts(f"report of {_name(model)}", document.summary)]
    return Answer(shown, {"system": model.system.name, **document.facts}, files)
