"""The derivation of field equations as the blackboard shows it, in Markdown with LaTeX."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import sympy as sp

from stationary.derive.field_terms import Work, tidied
from stationary.derive.readable import Explanation, Term, Written, block, terms, title, write_sum
from stationary.model.fields import Field
from stationary.model.symbols import Coordinate

if TYPE_CHECKING:
    from stationary.derive.field_equations import FieldEquations

#: A heading and the paragraphs below it; a step without paragraphs is left out.
Step = tuple[str, list[str]]

_SPAN = r"\int_{t_1}^{t_2}"

_ENERGIES = (("T", "kinetic"), ("U", "potential"), ("W", "work"), ("D", "dissipation"))


def explanation(pde: FieldEquations) -> Explanation:
    """Return the derivation of the equations, step by step."""
    board = _Blackboard(pde)
    shown = r",\ ".join(map(_declared, pde.fields))
    lines = [
        title("Field equations", pde.continuum.name),
        f"Fields: ${shown}$. A dot is a derivative by time, a prime one by position.",
    ]
    steps = (
        board.energies(),
        board.varied(),
        board.in_time(),
        board.in_space(),
        board.collected(),
        board.equations(),
        board.waves(),
    )
    return Explanation.of(lines, steps)


def _declared(f: Field) -> str:
    """Write a field with the range of its position."""
    X, a, b = map(sp.latex, f.over)
    return rf"{sp.latex(f)}({X}, t)\ \left({a} \leq {X} \leq {b}\right)"


class _Blackboard:
    """The steps of the slides, each a heading and its lines."""

    def __init__(self, pde: FieldEquations):
        self.pde, self.continuum = pde, pde.continuum

    # -- what is stated ---------------------------------------------------------------------------

    def energies(self) -> Step:
        rows, law = [], ""
        for letter, kind in _ENERGIES:
            shown = [
                _integral(sp.latex(density[kind]), over, density[kind].is_Add)
                for over, density in self.continuum.densities.items()
                if density[kind] != 0
            ]
            extra = getattr(self.continuum.part, kind)
            shown += [sp.latex(extra)] if extra != 0 else []
            if shown:
                rows.append(f"{letter} &= {' + '.join(shown)}")
                law += {"T": " + T", "U": " - U", "W": " + W", "D": ""}[letter]
        body = [block(*rows), block(rf"\mathcal{{L}} &= {law.removeprefix(' + ').strip()}")]
        loads = self._loads()
        if loads:
            body += ["Loads do virtual work.", block(rf"\delta W &= {' + '.join(loads)}")]
        return "Energies and the Lagrangian", body

    def _loads(self) -> list[str]:
        works = []
        for load in self.continuum.distributed:
            work = write_sum(zip(load.force, map(_varied, load.on)))
            over = next(f.over for on in load.on for f in on.atoms(Field))
            works.append(_integral(work, over, len(load.on) > 1))
        for load in (*self.continuum.concentrated, *self.continuum.part.loads):
            works.append(write_sum(zip(load.force, map(_varied, load.on))))
        return works

    # -- the variation ----------------------------------------------------------------------------

    def varied(self) -> Step:
        rows = []
        for letter, kind in _ENERGIES[:3]:
            shown = []
            for over, density in self.continuum.densities.items():
                e = density[kind]
                parts: list[Term] = []
                for f in (f for f in self.pde.fields if f.over == over):
                    for order in range(3):
                        for rate in (0, 1):
                            jet = Field(f.stem, over, order, rate)
                            parts.append((tidied(e.diff(jet)), _delta(jet)))
                text = write_sum(parts)
                if text != "0":
                    shown.append(_integral(text, over, sum(c != 0 for c, _ in parts) > 1))
            extra = getattr(self.continuum.part, kind)
            points = [
                (tidied(extra.diff(x)), _delta(x))
                for c in self.continuum.part.scalars()
                for x in (c, c.dot)
            ]
            shown += [text] if (text := write_sum(points)) != "0" else []
            if shown:
                rows.append(rf"\delta {letter} &= {' + '.join(shown)}")
        return "The variation", [block(*rows)] if rows else []

    def in_time(self) -> Step:
        """Integrate δT by parts in time; variations vanish at both instants."""
        body = []
        for w in self.pde.work:
            for order, (p, rate) in enumerate(zip(w.momenta, w.inertia)):
                if p == 0:
                    continue
                jet = Field(w.field.stem, w.field.over, order)
                delta, shown = _delta(jet).name, _bracket(p)
                over = w.field.over
                first = _integral(rf"{shown} \frac{{\partial}}{{\partial t}} {delta}", over)
                middle = (
                    rf"\left[{sp.latex(p)}\, {delta}\right]_{{t_1}}^{{t_2}} - \int_{{t_1}}^{{t_2}} "
                    rf"{_bracket(rate)}\, {delta}\, dt"
                )
                braced = rf"\left\{{{middle}\right\}}"
                left = rf"\left\{{-{_bracket(rate)}\right\}} {delta}"
                body.append(
                    block(
                        rf"{_SPAN} {first}\, dt &= {_integral(braced, over)}",
                        rf"&= {_SPAN} {_integral(left, over)}\, dt",
                    )
                )
        if body:
            body.append(r"Variations vanish at $t_1$ and at $t_2$.")
        return "By parts in time", body

    def in_space(self) -> Step:
        body = []
        for w in self.pde.work:
            for order in (1, 2):
                e = tidied(-w.coefficient(order))
                if e != 0:
                    body.append(self._by_parts(w, e, order))
        return "By parts along the interval", body

    def _by_parts(self, w: Work, e: sp.Expr, order: int) -> str:
        f, (X, a, b) = w.field, w.field.over
        delta = _delta(f).name
        ends = rf"_{{{sp.latex(a)}}}^{{{sp.latex(b)}}}"
        first = _integral(rf"{_bracket(e)}\, {_delta(Field(f.stem, f.over, order)).name}", f.over)
        once = sp.latex(tidied(e.diff(X)))
        if order == 1:
            rest = _integral(rf"{_primed(e, X, 1)}\, {delta}", f.over)
            return block(rf"{first} &= \left[{_bracket(e)}\, {delta}\right]{ends} - {rest}")
        slope = _delta(Field(f.stem, f.over, 1)).name
        rest = _integral(rf"{_primed(e, X, 2)}\, {delta}", f.over)
        inner = once if not tidied(e.diff(X)).is_Add else rf"\left({once}\right)"
        return block(
            rf"{first} &= \left[{_bracket(e)}\, {slope} - {inner}\, {delta}\right]{ends} + {rest}"
        )

    # -- what follows -----------------------------------------------------------------------------

    def collected(self) -> Step:
        """Collect what stands before each variation."""
        rows: list[str] = []
        for w in self.pde.work:
            inside = tidied(w.inside(w.forces) - w.inside(w.inertia))
            text = rf"\left\{{{write_sum(terms(inside))}\right\}} {_delta(w.field).name}"
            rows.append(rf"{_SPAN} {_integral(text, w.field.over)}\, dt")
        for c in self.pde.conditions:
            if not c.essential:
                sign = -1 if c.turned else 1
                text = write_sum([*terms(tidied(-sign * c.inner)), *terms(tidied(sign * c.outer))])
                rows.append(rf"{_SPAN} \left\{{{text}\right\}} {_delta(c.point).name}\, dt")
        for x, eq in zip(self.continuum.coordinates, self.pde.part_equations):
            text = write_sum([*terms(tidied(-eq.lhs)), *terms(eq.rhs)])
            rows.append(rf"{_SPAN} \left\{{{text}\right\}} {_delta(x).name}\, dt")
        first, *more_rows = rows
        shown = [rf"\mathrm{{V.I.}} &= {first}", *(rf"&\quad + {row}" for row in more_rows)]
        shown[-1] += r" \equiv 0"
        body = [block(*shown)]
        held = [c for c in self.pde.conditions if c.essential]
        if held:
            rows = [rf"{_delta(c.point).name} &= {self._tied(c.value)}" for c in held]
            body += ["Where values are given, they are not varied freely.", block(*rows)]
        return "The variation of the action, collected", body

    def _tied(self, value: Any) -> str:
        moving = [s for s in value.free_symbols if isinstance(s, Coordinate)]
        return write_sum((tidied(value.diff(s)), _delta(s)) for s in sorted(moving, key=str))

    def equations(self) -> Step:
        body = [r"It vanishes for every variation, so that each brace does."]
        return "Field equations and boundary conditions", [*body, self.pde._repr_latex_()]

    def waves(self) -> Step:
        """Show that waves of any shape travel, where the coefficients are constant."""
        pde, c = self.pde, self.pde.wave_speed
        if c is None or len(pde.travelling_waves) != 2:
            return "", []
        (u,) = pde.fields
        X, name = u.position, sp.latex(u)
        body = [
            block(
                rf"{sp.latex(u.ddot)} &= c^{{2}} {sp.latex(u.diff(X, 2))},\quad c = {sp.latex(c)}"
            )
        ]
        place = sp.latex(X)
        for letter, sign in (("f", "-"), ("g", "+")):
            inside = rf"({place} {sign} c t)"
            speed = r"(-c)^{2}" if sign == "-" else "c^{2}"
            body.append(
                block(
                    rf"{name}({place}, t) &= {letter}{inside}",
                    rf"{sp.latex(u.diff(X, 2))} &= {letter}''{inside}",
                    rf"{sp.latex(u.ddot)} &= {letter}''{inside}\, {speed}",
                )
            )
        body.append("Both solve the equation: a wave of any shape travels either way at speed $c$.")
        return "Constants: the wave equation", body


def _integral(text: str, over: tuple, sum_: bool = False) -> str:
    X, a, b = over
    inside = rf"\left({text}\right)" if sum_ else text
    return rf"\int_{{{sp.latex(a)}}}^{{{sp.latex(b)}}} {inside}\, d{sp.latex(X)}"


def _bracket(e: sp.Expr) -> str:
    text = sp.latex(e)
    return rf"\left({text}\right)" if e.is_Add or text.startswith("-") else text


def _primed(e: sp.Expr, X: Any, order: int) -> str:
    """Write a derivative: worked out if that is one term, else as (…)′."""
    done = tidied(e.diff(X, order))
    if not done.is_Add:
        return sp.latex(done)
    return rf"\left({sp.latex(e)}\right)" + "'" * order


def _delta(e: Any) -> sp.Symbol:
    """Write δe of a field, a derivative of one, a value at a point or a coordinate."""
    return Written(rf"\delta {sp.latex(e)}")


def _varied(e: sp.Expr) -> sp.Symbol:
    inside = sp.latex(e)
    return Written(rf"\,\delta {inside}" if e.is_Symbol else rf"\,\delta\left({inside}\right)")
