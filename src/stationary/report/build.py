"""The report of a model: statement, derivation, answers, pictures and evidence on one page."""

from __future__ import annotations

import tempfile
from base64 import b64encode
from collections.abc import Callable
from dataclasses import dataclass, field
from html import escape
from pathlib import Path
from typing import Any

import numpy as np

import stationary as st
from stationary.pages.mathml import math
from stationary.report.numbers import beside
from stationary.report.page import html_of_markdown, live_panel, page, picture, table

# A derivation of more coordinates than this fills pages that nobody reads.
_READABLE = 8
_FPS = 20

# Changes that a page lists.
_CHANGES = 20


@dataclass
class Rendered:
    """A report: the page, and what a terminal says about it."""

    html: str
    summary: list[tuple[str, str]]
    facts: dict[str, Any]


@dataclass
class _Report:
    model: st.Model
    film: bool
    parts: list[tuple[str, str]] = field(default_factory=list)
    summary: list[tuple[str, str]] = field(default_factory=list)
    facts: dict[str, Any] = field(default_factory=dict)

    @property
    def system(self) -> st.System:
        return self.model.system

    @property
    def slides(self) -> bool:
        """Whether the question is how it slides, not where it rests."""
        stated_questions = {"slide", "bounds", "weigh"} & set(self.model.questions)
        return bool(stated_questions) and self.system.kinetic == 0

    def section(self, title: str, make: Callable[[], str]) -> None:
        """Add a section; what cannot be answered is said in its place."""
        try:
            body = make()
        except st.StationaryError as error:
            body = f'<div class="note">{escape(str(error))}</div>'
            self.summary.append((title.lower(), "see the note: " + str(error).split("\n")[0]))
        if body:
            self.parts.append((title, body))


def build(model: st.Model, *, film: bool = True) -> Rendered:
    """Make the report of a model.

    Parameters
    ----------
    model : Model
    film : bool
        Whether to put an animation in.
    """
    report = _Report(model, film)
    for key in sections(model):
        title, make = SECTIONS[key]
        report.section(title, lambda: make(report))
    name = report.system.name or "A mechanical system"
    links = "".join(f'<a href="#s{k}">{t}</a> ' for k, (t, _) in enumerate(report.parts))
    body = [f"<h1>{escape(name[0].upper() + name[1:])}</h1>"]
    if model.about:
        body.append(html_of_markdown(model.about))
    body.append(_panel(report))
    tiles = "".join(
        f"<li><b>{escape(v)}</b><span>{escape(k)}</span></li>" for k, v in report.summary
    )
    body.append(f'<ul class="facts">{tiles}</ul><nav class="top">{links}</nav>')
    body += [f'<h2 id="s{k}">{t}</h2>\n{html}' for k, (t, html) in enumerate(report.parts)]
    law = math(r"M \ddot{q} + C \dot{q} + \partial U / \partial q = Q + A^T \lambda")
    body.append(
        f'<p class="soft">Made by stationary {st.__version__}. Signs: {law}; a multiplier λ is the '
        "force along ∂R/∂q. SI units, angles in radians.</p>"
    )
    return Rendered(page(name, "\n".join(body)), report.summary, report.facts)


def _panel(report: _Report) -> str:
    """Return the system moving at the top of the page, where it has positions and can."""
    system = report.system
    if not report.film or "simulate" not in report.model.questions:
        return ""
    if not system.parts and not system.fields:
        return ""
    try:
        inside = st.live(report.model, paused=True)
    except st.StationaryError:
        return ""  # What moves otherwise, as over dry friction, is shown as a film below.
    report.facts["live"] = True
    return live_panel(inside, system.name or "the system")


# -- the statement --------------------------------------------------------------------------------


def _shown(value: float | None) -> str:
    return "" if value is None else f"{value:.6g}"


def _symbol(name: str) -> str:
    stem = st.Coordinate(name.removesuffix(".dot"))
    import sympy as sp

    return math(sp.latex(stem.dot if name.endswith(".dot") else stem))


def _statement(report: _Report) -> str:
    system, model = report.system, report.model
    stated = system if model.continuum is None else model.continuum
    latex = stated._repr_latex_().strip("$")
    report.summary.append(("coordinates", str(system.size)))
    report.facts["coordinates"] = system.size
    pieces = [math(latex, True) if "&" in latex else ""]
    rows = []
    for c in system.coordinates:
        if turn := getattr(c, "rotation", None):
            # Its four coordinates are one line, at the first of them.
            if c == turn.entries[0]:
                rows.append([_symbol(turn.name), "orientation", _turned(turn, model.start), ""])
            continue
        start = ", ".join(
            f"{_symbol(key)} = {_shown(model.start[key])}" for key in (c.name, f"{c.name}.dot")
            if key in model.start and np.ndim(model.start[key]) == 0
        )  # fmt: skip
        shape = " × ".join(map(str, c.base)) if isinstance(c, st.Array) else ""
        what = f"coordinate, {shape}" if shape else "coordinate"
        unit = escape(model.units.get(c.name, ""))
        rows.append([_symbol(c.name), what, start and f"starts at {start}", unit])
    for p in system.parameters:
        value = model.params.get(p.name, p.default)
        rows.append([_symbol(p.name), "parameter", _shown(value) or "no value",
                     escape(model.units.get(p.name, ""))])  # fmt: skip
    for u in system.inputs:
        course = model.inputs.get(u.name)
        words = "" if course is None else "given by samples" if isinstance(course, tuple) else (
            f"<code>{escape(str(course))}</code>")  # fmt: skip
        rows.append([_symbol(u.name), "input", words, ""])
    pieces.append(table(["symbol", "what", "value (SI)", "written in"], rows))
    try:
        text = st.save(model)
        pieces.append(
            "<details><summary>The model file</summary>"
            f"<pre><code>{escape(text)}</code></pre></details>"
        )
    except st.StatementError:
        pass  # The page says all of it in other words.
    return "\n".join(pieces)


def _turned(turn: Any, start: dict[str, Any]) -> str:
    """Say how a body is turned and turns at the start."""
    place = turn.quaternion(start.get(turn.name, (1.0, 0.0, 0.0, 0.0)))
    speed = start.get(turn.omega.name, (0.0, 0.0, 0.0))
    both = ((turn.name, place), (turn.omega.name, speed))
    return "starts at " + ", ".join(
        f"{escape(name)} = ({', '.join(f'{x:.6g}' for x in values)})" for name, values in both
    )


def _derivation(report: _Report) -> str:
    if report.slides:
        return _scope(report)
    if report.model.continuum is None and report.system.size > _READABLE:
        return (f"<p>{report.system.size} coordinates: the equations are made by automatic "
                "differentiation and have no form to be read.</p>")  # fmt: skip
    principle = "statics" if report.system.kinetic == 0 else "dynamics"
    return _lowered(report.model.ask("equations", principle=principle).explain())


def _lowered(text: str) -> str:
    """Put a derivation below the heading of its section: the page has a title of its own."""
    lines = [line for line in text.splitlines() if not line.startswith("# ")]
    return html_of_markdown("\n".join(lines).replace("\n## ", "\n### "))


def _scope(report: _Report) -> str:
    """Say what the principle of minimum power is, and whether it holds here."""
    law = math(r"P(v) = \sum_k F_k \left|v_k\right| - f \cdot v \to \min, \qquad A v + b = 0", True)
    holds = st.minimum_power_holds(report.system)
    report.facts["minimum power holds"] = bool(holds)
    report.summary.append(("minimum power", "holds" if holds else "does not hold"))
    return (
        "<p>Where inertia is negligible, a system moves so that what friction dissipates, less "
        f"what loads supply, is least among all motions that its constraints allow.</p>{law}"
        f"<pre>{escape(str(holds))}</pre>"
    )


def _checks(report: _Report) -> str:
    if report.system.size > _READABLE:
        return ""
    findings = report.model.ask("check")
    report.facts["check"] = findings.passed
    report.summary.append(("checks", "passed" if findings.passed else "failed"))
    rows = []
    for f in findings:
        mark = ('<span class="good">✓</span>' if f.passed else
                '<span class="bad">✗</span>' if f.required else "·")  # fmt: skip
        rows.append([mark, escape(f.name), escape(f.text), escape(f.how)])
    return table(["", "property", "what was found", "how"], rows, numbers=False)


# -- rest -----------------------------------------------------------------------------------------


def _equilibria(report: _Report) -> str:
    if "equilibria" in report.model.questions:
        rests = report.model.ask("equilibria")
        where, proof = "within the box of the file", f" The list is {escape(rests.told)}."
    else:
        rests = [report.model.ask("statics")]
        where, proof = "nearest to the start", ""
    report.facts["equilibria"] = [dict(rest.as_start(), stable=rest.stable) for rest in rests]
    stable = sum(bool(rest.stable) for rest in rests)
    report.summary.append(("equilibria", f"{len(rests)}, {stable} stable"))
    if not rests:
        return f"<p>None was found {where}.{proof}</p>"
    # The evidence stands beside the coordinates, on the same page.
    count = len(rests[0].q)
    few = range(count if count <= 6 else 4)
    # Fields are told along their intervals, which says more than their coordinates.
    places = report.model.along
    head = [_symbol(c.name) for c in report.system.scalars()[: len(few)]]
    head += ["…"] * (count > len(few))
    head = [escape(str(e)) for e in places] or head
    head += ["energy (J)", "stability", "eigenvalues of the Hessian", "small motions", "residual"]
    rows = []
    for rest in rests:
        known = zip(rest.q[: len(few)], rest.known_to)
        values = ["0" if abs(x) <= off else f"{x:.6g}" for x, off in known]
        values += [f"{count - len(few)} more"] * (count > len(few))
        values = [_shown(value) for value in rest.along.values()] or values
        mark = {True: "good", False: "bad", None: ""}[rest.stable]
        kind = f'<span class="{mark}">{escape(rest.told)}</span>'
        values += [_shown(rest.energy), kind, ", ".join(f"{x:.4g}" for x in rest.eigenvalues[:4])]
        values += [escape(_small(report, rest)), f"{rest.residual['force']:.1e}"]
        rows.append(values)
    words = f"<p>States of rest {where}: forces balance, and small motions say "
    words += f"whether they are stable, and the least energy where it decides.{proof}</p>"
    forces = ""
    if rests[0].lam.size:
        held = [(name, [beside(rest.lam, rest.lam[name]) for rest in rests])
                for name in rests[0].lam.keys()]  # fmt: skip
        forces = "<h3>Forces that hold it</h3>" + table(
            ["constraint", *(f"equilibrium {k + 1}" for k in range(len(rests)))],
            [[escape(name), *(", ".join(f"{x:.5g}" for x in one[:6]) for one in several)]
             for name, several in held],
        )  # fmt: skip
    return words + table(head, rows) + forces


def _small(report: _Report, rest: st.Equilibrium) -> str:
    """Say how small motions about a state of rest go, if there are any."""
    if report.system.kinetic == 0 or report.system.size > 60:
        return ""
    try:
        lin = report.model.ask("linearize", at=rest)
    except st.StationaryError:
        return ""
    swings = ", ".join(f"{w:.4g}" for w in lin.frequencies[:4])
    return f"ω = {swings} rad/s" if swings else str(lin.stability)


def _diagram(report: _Report) -> str:
    diagram = report.model.ask("continue")
    report.facts["special"] = [(s.kind, s.parameter) for s in diagram.special]
    points = [[escape(s.kind), f"{s.parameter:.10g}", _shown(s.frequency)] for s in diagram.special]
    head = ["special point", _symbol(diagram.parameter), "ω (rad/s)"]
    rows = table(head, points) if points else "<p>No special points.</p>"
    words = f"Equilibria over {diagram.parameter}: stable solid, unstable dashed"
    return picture(diagram.plot(), words) + rows


# -- motion ---------------------------------------------------------------------------------------


def _motion(report: _Report) -> str:
    return _moving(report, report.model.ask("simulate"))


def _slide(report: _Report) -> str:
    step = report.model.ask("slide")
    if not isinstance(step, st.Step):
        return _moving(report, step)
    report.summary.append(("at the start it", str(step.status)))
    return f"<pre>{escape(str(step))}</pre>"


def _modes(report: _Report) -> str:
    modes = report.model.ask("modes")
    report.facts["frequencies"] = modes.frequencies.tolist()
    report.summary.append(("slowest mode", f"{modes.frequencies[0] / (2 * np.pi):.4g} Hz"))
    rows = [
        [str(k + 1), f"{w:.8g}", f"{w / (2 * np.pi):.8g}", f"{g:.6g}" if g else ""]
        for k, (w, g) in enumerate(zip(modes.frequencies, modes.growth))
    ]
    drawn = ""
    if report.system.fields:
        drawn = picture(modes.plot(), "Shapes of the modes over position")
    head = ["mode", "ω (rad/s)", "frequency (Hz)", "growth (1/s)"]
    left = f"<p class='soft'>Largest residual {modes.residual:.1e}.</p>"
    return drawn + table(head, rows) + left


def _bounds(report: _Report) -> str:
    ends: st.PressureBounds = report.model.ask("bounds")
    report.facts["bounds"] = [ends.low, ends.high]
    report.summary.append((f"{ends.of}, any pressure", f"{ends.low:.5g} … {ends.high:.5g}"))
    rows = []
    for end, p in zip(("low", "high"), ends.pressures):
        places = beside(p.points, p.points).reshape(-1, 2)
        rows += [[end, f"{x:.5g}", f"{y:.5g}", f"{load:.5g}"]
                 for (x, y), load in zip(places, p.weights)]  # fmt: skip
    drawn = picture(ends.plot(), f"Bounds of {ends.of}, and the pressures that attain them")
    said = f"<p>{_status(ends.status)}</p><p>It turns {escape(ends.proof.turns)}.</p>"
    return drawn + said + table(["end", "x", "y", "load"], rows)


def _weigh(report: _Report) -> str:
    fit: st.FittedPressure = report.model.ask("weigh")
    report.facts["loads"] = fit.weights.tolist()
    report.summary.append(("loads", str(fit.status)))
    loads = list(zip(fit.points, fit.weights, fit.intervals)) if len(fit.weights) <= 20 else []
    rows = [[f"{x:.5g}", f"{y:.5g}", f"{load:.5g}", f"{low:.5g} … {high:.5g}"]
            for (x, y), load, (low, high) in loads]  # fmt: skip
    drawn = picture(fit.plot(), "Loads under the part, with their 95 % intervals")
    listed = table(["x", "y", "load", "95 % interval"], rows) if rows else ""
    return f"{drawn}<p>{_status(fit.status)}</p>{listed}"


def _status(status: Any) -> str:
    return escape(f"{str(status).capitalize()}: {status.message}.")


def _moving(report: _Report, motion: st.Motion) -> str:
    report.facts["motion"] = {"status": str(motion.status), **motion.residual}
    report.summary.append(("motion", f"{motion.status}, t = {motion.t[0]:g} … {motion.t[-1]:g} s"))
    sizes = np.abs([motion.kinetic, motion.potential, motion.work])
    scale = max(float(np.max(sizes)), 1e-300)
    balance = motion.residual["energy"] / scale
    report.summary.append(("energy error, relative", f"{balance:.1e}"))
    spread = [f.field for f in motion.system.fields]
    words = "Fields over position and over time" if spread else "Coordinates and velocities"
    pieces = [picture(motion.plot(), f"{words}, and energies over time")]
    for f in spread:
        title = f"The field {f}"
        pieces.append(
            f"<h3>{title}</h3>"
            + picture(motion.field(f).plot(), f"{title} over {f.position} and t")
        )
    if report.film:
        film = "".join(_field_film(motion.field(f), str(f)) for f in spread) or _film(motion)
        pieces.append("<h3>The film</h3>" + film)
    views = [("strobe", "Configurations", "the earlier the fainter"),
             ("phase", "Phase portrait", "velocities over coordinates")]  # fmt: skip
    if isinstance(motion, st.Touched):
        views.append(("forces", "Forces of contact and friction", "and the energy that they took"))
    elif motion.lam.size:
        views.append(("forces", "Forces of constraint", "multipliers, and violation"))
    for view, title, words in views:
        try:
            figure = motion.show(view)
        except st.StatementError:
            continue  # Nothing has a position: the film shows the phase portrait.
        pieces.append(f"<h3>{title}</h3>" + picture(figure, f"{title}: {words}"))
    if isinstance(motion, st.Touched) and motion.changes:
        pieces.append("<h3>What happened</h3>" + _changes(motion.changes))
    pieces.append("<h3>The evidence</h3>" + _evidence(motion, balance))
    return "\n".join(pieces)


def _changes(changes: list[Any]) -> str:
    """Write the first changes as a table."""
    rows = [
        [f"{c.t:.6g}", c.kind, escape(c.name), f"{c.impulse:.4g}" if c.impulse else ""]
        for c in changes[:_CHANGES]
    ]
    more = f"<p>The first {_CHANGES} of {len(changes)}.</p>" if len(changes) > _CHANGES else ""
    return table(["t (s)", "change", "where", "impulse (N s)"], rows) + more


def _film(motion: st.Motion) -> str:
    from stationary.report.phase_film import phase_film

    try:
        return motion.show("player")
    except st.StatementError:
        return phase_film(motion)


def _field_film(field: st.FieldFunction, name: str) -> str:
    """Put the film of a field into the page."""
    import matplotlib.pyplot as plt

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "field.gif")
        field.animate(path, fps=_FPS)
        plt.close("all")
        data = b64encode(path.read_bytes()).decode()
    return f'<figure class="film"><img src="data:image/gif;base64,{data}" alt="{name}"></figure>'


def _evidence(motion: st.Motion, balance: float) -> str:
    rows = [
        ["status", f"{motion.status}: {escape(motion.status.message)}"],
        ["integrated by", f"{escape(motion.method)}, {motion.steps} steps"],
        [
            "energy balance",
            f"{motion.residual['energy']:.1e} J, {balance:.1e} of the largest T, U or work: change "
            "of energy minus the work of loads, dissipation and moving constraints",
        ],
    ]
    if isinstance(motion, st.Touched):
        residual = motion.residual
        rows.append(["what was taken", f"{motion.heat[-1]:.6g} J by friction, "
                     f"{motion.struck_off[-1]:.6g} J by impacts"])  # fmt: skip
        rows.append(["contacts", f"penetration ≤ {residual['penetration']:.1e}, outside Coulomb's "
                     f"cone by ≤ {residual['cone']:.1e}, force times gap ≤ "
                     f"{residual['complementarity']:.1e}"])  # fmt: skip
    if motion.kernel.layout.multipliers:
        rows.append(["constraints", f"|R| ≤ {motion.residual['R']:.1e}, "
                     f"|Ṙ| ≤ {motion.residual['Rdot']:.1e}"])  # fmt: skip
    if motion.repaired > 1e-12 * np.abs(motion.q).max():
        rows.append(["start", f"moved by {motion.repaired:.2g} onto the constraints"])
    if motion.redundant:
        rows.append(["redundant", escape(", ".join(motion.redundant))])
    return table(["evidence", "found"], rows)


#: What a page can tell of a model, by name: a title, and what writes it.
SECTIONS: dict[str, tuple[str, Callable[[_Report], str]]] = {
    "statement": ("The statement", _statement),
    "derivation": ("The derivation", _derivation),
    "checks": ("Checks", _checks),
    "equilibria": ("Equilibria", _equilibria),
    "diagram": ("As a parameter moves", _diagram),
    "modes": ("Modes", _modes),
    "motion": ("Motion", _motion),
    "slide": ("How it slides", _slide),
    "bounds": ("Whatever the pressure", _bounds),
    "weigh": ("Weighed by pushing", _weigh),
}

# Questions that are answered only if the file asks them.
_ASKED = {"diagram": "continue", "modes": "modes", "motion": "simulate", "slide": "slide",
          "bounds": "bounds", "weigh": "weigh"}  # fmt: skip


def sections(model: st.Model) -> list[str]:
    """Return what there is to tell of a model, in order."""
    slides = _Report(model, False).slides
    dull = {"checks", "equilibria"} if slides else set()
    return [
        key
        for key in SECTIONS
        if key not in dull and (key not in _ASKED or _ASKED[key] in model.questions)
    ]


def section(model: st.Model, key: str) -> Rendered:
    """Return one section by itself; what a live page cannot move has a film."""
    report = _Report(model, film=key == "slide")
    title, make = SECTIONS[key]
    html = make(report)
    return Rendered(f"<h1>{title}</h1>\n{html}", report.summary, report.facts)
