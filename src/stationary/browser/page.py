"""One file in which a system moves: statement in, page out."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any

import numpy as np

from stationary.browser.mechanics import (
    SPAN,
    Mechanics,
    Start,
    by_coordinate,
    courses,
    let_go,
    mechanics,
    started,
)
from stationary.browser.words import coordinate_names, equations_of, knobs, rests
from stationary.derive.principle import equations
from stationary.errors import StatementError, StationaryError, spelled
from stationary.io.answers import values
from stationary.io.model_file import Model
from stationary.model.system import System
from stationary.model.views import view
from stationary.pages.mathml import math
from stationary.plot.style import COLORS
from stationary.result.diagram import Diagram
from stationary.result.equilibrium import Equilibrium
from stationary.result.modes import Modes
from stationary.result.motion import Motion
from stationary.solve.motion.dynamics import simulate

_FOLDER = Path(__file__).with_name("page")

# Equations of more coordinates than this fill pages that nobody reads.
_READABLE = 6

# So are equations of more characters than this, as they are written in LaTeX.
_LONGEST = 4000

# Systems of so many coordinates are shown by notebooks without being asked to.
_AT_ONCE = 300

# So many quantities are drawn over time until the reader chooses others.
_CHOSEN = 2

# Coordinates whose start can be typed: a longer list is not read.
_STARTS = 12


class Page(str):
    """A live page, as text; a notebook shows it."""

    def __repr__(self) -> str:
        return (
            f"a live page of {len(self.encode()) / 1000:.0f} kB: st.live(…, 'page.html') writes it"
        )

    def _repr_html_(self) -> str:
        return (
            f'<iframe title="live" srcdoc="{escape(self, quote=True)}" '
            'style="border:0;width:100%;height:760px"></iframe>'
        )


@spelled
def live(
    system: System | Model | Motion,
    path: Any = None,
    *,
    start: Start | None = None,
    params: Mapping[Any, float] | None = None,
    inputs: Mapping[Any, Any] | None = None,
    span: tuple[float, float] | None = None,
    show: Mapping[str, Any] | None = None,
    sliders: Mapping[Any, tuple[float, float]] | None = None,
    name: str | None = None,
    paused: bool = False,
) -> Page:
    """Make a page in which a system moves, and which its reader can steer.

    The page is one file that needs no other and no network: the equations of motion are written
    into it as code, and integrated there by steps of order 8 to twelve digits. Its reader plays,
    steps and scrubs, drags masses, moves parameters and inputs by sliders, compares two starts,
    watches energies and portraits, and takes the motion away as a link or as a table.

    Parameters
    ----------
    system : System, Model or Motion
        A model brings its start, its values, its inputs and its units; a motion all but units.
    path : str or Path, optional
        Where to write the page: a name that ends in ``.html``.
    start, params, inputs : dict, optional
        As in `simulate`. Inputs that are numbers become sliders.
    span : pair of float
        The first seconds, by which the picture is framed; the page goes on after them.
    show : dict, optional
        More to watch: a name, and an expression of coordinates, velocities and parameters.
    sliders : dict, optional
        Ranges of parameters and inputs, by symbol or name.
    name : str, optional
        The title; the system's own if not given.
    paused : bool
        Whether the page waits for its reader.

    Returns
    -------
    str
        The page, which a notebook shows.

    Raises
    ------
    StatementError
        For dry friction, contacts, sampled inputs and events that change the state, which pages
        do not know.

    Examples
    --------
    >>> theta, (l, g) = st.coordinates("theta"), st.parameters(l=1.0, g=9.81)
    >>> bob = st.particle(1.0, at=(l * st.sin(theta), -l * st.cos(theta)), gravity=g)
    >>> page = st.live(bob, start={theta: 2})
    >>> page[:15]
    '<!doctype html>'
    """
    units: Mapping[str, str] = {}
    if isinstance(system, Model):
        model, system = system, system.system
        events = model.questions.get("simulate", {}).get("events") or ()
        _refuse_actions([x.name or f"events[{k}]" for k, x in enumerate(events) if x.action])
        # Numbers in the page are in SI units, whatever they were written in.
        units = {p.name: model.unit(p.name) for p in (*system.parameters, *system.inputs)}
        start = started(model, start)
        own = values(model)
        params = {**own["params"], **_named(params)}
        inputs = {**own["inputs"], **_named(inputs)}
        if span is None and "simulate" in model.questions:
            span = model.questions["simulate"].get("span")
    elif isinstance(system, Motion):
        given, system = system, system.system
        _refuse_actions(given.actions)
        start = start or by_coordinate(given.kernel.layout, given.q[0], given.v[0])
        params = {**dict(zip((p.name for p in system.parameters), given.params)), **_named(params)}
        inputs = {**courses(system, given.drives), **_named(inputs)}
        span = span or (float(given.t[0]), float(given.t[-1]))
    if path is not None and Path(path).suffix.lower() not in (".html", ".htm"):
        raise StatementError(
            f"a live page cannot be written to '{Path(path).name}'.",
            f"Found the ending '{Path(path).suffix}', expected '.html'.",
            "Rename the file.",
        )
    moved = mechanics(system, start, params, inputs, span, show or {})
    title = name or system.name or "A mechanical system"
    page = Page(_page(moved, title, units, sliders or {}, paused))
    if path is not None:
        Path(path).write_text(page, encoding="utf-8")
    return page


def _refuse_actions(acting: Sequence[str]) -> None:
    if acting:
        raise StatementError(
            "a live page knows no events that change the state.",
            f"Found {', '.join(acting)}.",
            "Make a film of it: st.simulate(…).animate('film.html').",
        )


@view("motion", "live")
def panel(motion: Motion) -> str:
    """Return the live page of a motion in a frame, for a notebook; nothing where none can be."""
    return _framed(motion.system, motion)


@view("equilibrium", "live")
def panel_of_rest(rest: Equilibrium) -> str:
    """Return the live page of a system at rest: a reader takes hold of it, and lets go."""
    given = {
        "start": by_coordinate(rest.graph.layout, rest.q),
        "params": dict(zip(rest.system.parameters, rest.params.tolist())),
        "inputs": rest.inputs,
        "span": (rest.t, rest.t + SPAN),
    }
    return _framed(rest.system, rest.system, **given)


@view("diagram", "live")
def panel_of_diagram(diagram: Diagram) -> str:
    """Return the live page of a system at a point of its diagram; the parameter is a slider."""
    branch = next((b for b in diagram.branches if b.stable.any()), None)
    if branch is None or diagram.system.inputs:
        return ""  # A diagram does not say what its inputs were.
    stable = np.flatnonzero(branch.stable)
    k = int(stable[len(stable) // 2])
    given = {
        "start": by_coordinate(branch.layout, branch.q[k]),
        "params": {**diagram.params, diagram.parameter: float(branch.parameter[k])},
        "sliders": {diagram.parameter: _ends([b.parameter for b in diagram.branches])},
    }
    return _framed(diagram.system, diagram.system, **given)


def _ends(several: list[np.ndarray]) -> tuple[float, float]:
    every = np.concatenate(several)
    return float(every.min()), float(every.max())


@view("modes", "live")
def panel_of_modes(modes: Modes) -> str:
    """Return the live page of a system let go in the shape of its lowest mode that oscillates."""
    system, swinging = modes.system, let_go(modes)
    if swinging is None:
        return ""
    start, period = swinging
    params = dict(zip(system.parameters, modes.values.tolist()))
    inputs = {} if modes.rest is None else modes.rest.inputs
    span = (modes.t, modes.t + 2 * period)
    return _framed(system, system, start=start, params=params, inputs=inputs, span=span)


@view("system", "live")
def panel_of_statement(system: System) -> str:
    """Return mathematics and the live page of a system; nothing where it cannot move as it is."""
    moving = _framed(system, system)
    return math(system._repr_latex_().strip("$"), True) + moving if moving else ""


@view("model", "live")
def panel_of_model(model: Model) -> str:
    """Return mathematics and the live page of a model, from its own start."""
    moving = "" if model.continuum is not None else _framed(model.system, model)
    return math(model._repr_latex_().strip("$"), True) + moving if moving else ""


def _framed(system: System, source: Any, **given: Any) -> str:
    if not (system.parts or system.fields) or system.size > _AT_ONCE:
        return ""
    try:
        return live(source, paused=True, **given)._repr_html_()
    except StationaryError:
        return ""


def _named(given: Mapping[Any, Any] | None) -> dict[str, Any]:
    return {getattr(key, "name", str(key)): value for key, value in (given or {}).items()}


def _page(
    moved: Mechanics, name: str, units: Mapping[str, str], sliders: Mapping, paused: bool
) -> str:
    system, layout = moved.system, moved.graph.layout
    n = system.size
    motion = simulate(
        system,
        span=moved.span,
        start=moved.begin,
        params=dict(zip(system.parameters, moved.values.tolist())),
        inputs=courses(system, moved.driven),
        points=201,
        # It frames the picture, and is not shown.
        rtol=1e-6,
        throw=False,
    )
    names = coordinate_names(moved)
    slopes = {k for k, (_, _, order) in moved.nodal().items() if order}
    most_moving = [k for k in np.argsort(-np.ptp(motion.q, axis=0)).tolist() if k not in slopes]
    rows = [layout.row_name(k) for k in range(layout.multipliers)]
    quantities = [*names, *(f"{x}′" for x in names), *(f"λ {x}" for x in rows)]
    quantities += [label for label, _ in moved.shown]
    length = moved.span[1] - moved.span[0]
    facts = {
        "picture": moved.picture.frame(motion),
        "names": names,
        "rows": rows,
        "quantities": quantities[:60],
        "chosen": most_moving[:_CHOSEN],
        "knobs": knobs(moved, units, sliders),
        "rests": rests(moved, motion),
        # Nobody types the shape of a field point by point.
        "starts": 0 if system.fields else min(n, _STARTS),
        "colors": list(COLORS),
        # A motion of seconds runs as it is; a shorter or longer one so that it can be watched.
        "speed": 1.0 if 1 <= length <= 60 else length / 10,
        "size_time": min(1.0, length / 10) if length < 1 else max(1.0, length / 60),
        "window": length,
        "nudge": 1e-3 * (float(np.abs(moved.start[:n]).max(initial=0.0)) or 1.0),
        "paused": paused,
    }
    pieces = {
        "TITLE": escape(name, quote=True),
        "STYLE": asset("style.css"),
        "ENERGIES": _key(["T", "U", "E", "work"]),
        "EQUATIONS": _equations(moved),
        "ENGINE": asset("engine.js"),
        "CODE": moved.code,
        "MODEL": _json(moved.facts()),
        "WORKER": asset("worker.js"),
        "PAGE": _json(facts),
        "SCRIPT": _script(),
    }
    return re.sub("|".join(pieces), lambda word: pieces[word[0]], asset("page.html"))


def _equations(moved: Mechanics) -> str:
    if moved.system.size > _READABLE:
        return ""
    try:
        derived = equations(moved.system)
        if len(derived.latex()) > _LONGEST:
            return ""
        body = equations_of(derived, moved.system)
    except StationaryError:
        return ""
    return (
        '<section class="equations" id="equations"><h2>Equations of motion '
        '<button type="button" id="numbers" aria-pressed="false">with the present numbers</button>'
        f"</h2>{body}</section>"
    )


def _key(words: list[str]) -> str:
    return "".join(
        f'<span><span class="key" style="background:{color}"></span>{escape(word)}</span> '
        for word, color in zip(words, COLORS)
    )


def asset(name: str) -> str:
    """Return a file of which pages are made."""
    return (_FOLDER / name).read_text(encoding="utf-8").strip()


def _script() -> str:
    tools = [asset(name) for name in ("view.js", "plots.js")]
    steps = [asset(name) for name in ("clock.js", "knobs.js", "hands.js")]
    return "\n".join([*tools, "(function () {", *steps, "})();"])


def _json(value: Any) -> str:
    """Write data that nothing in it can end: it stands inside a script."""
    text = json.dumps(value, ensure_ascii=True, allow_nan=False)
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
