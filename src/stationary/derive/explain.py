"""The derivation of Lagrange's equations as the blackboard shows it, in Markdown with LaTeX."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

import sympy as sp

from stationary.derive.effort import LONGEST, WHOLE, bounded, operations
from stationary.derive.multipliers import is_small
from stationary.derive.readable import (
    Explanation,
    Written,
    block,
    in_fractions,
    slope,
    terms,
    tidy,
    title,
    total,
    written,
)
from stationary.derive.sampling import vanish
from stationary.derive.turning import by_angular_velocity
from stationary.derive.virtual_work import (
    UNSIMPLIFIED,
    conditions,
    force,
    linear_and_constant,
    quadratic_form,
    unaccelerated,
    virtual_work,
)
from stationary.errors import DerivationError
from stationary.model.printing import in_rows
from stationary.model.symbols import Coordinate, Input, rate, t
from stationary.model.terms import Constraint

if TYPE_CHECKING:
    from stationary.derive.lagrange import Equations

# Operations above which multipliers are not written out.
_LONGEST = 200

# Signs of LaTeX that fit into one row of a page.
_ONE_ROW = 300

#: A heading and the paragraphs below it; a step without paragraphs is left out.
Step = tuple[str, list[str]]


def explanation(eq: Equations) -> Explanation:
    """Return the derivation of the equations, step by step."""
    with bounded(WHOLE):
        return by_angular_velocity(eq) or _derivation(_Blackboard(eq))


def _derivation(board: _Blackboard) -> Explanation:
    eq = board.eq
    lines = [
        title("Equations of motion", eq.system.name),
        f"Coordinates: $q = ({', '.join(map(sp.latex, eq.coordinates))})$.",
    ]
    steps = (
        board.energies(),
        board.derivatives(),
        board.virtual_work(),
        board.dissipation(),
        board.velocity_constraints(),
        board.collected(),
        board.constraint_rates(),
        board.multipliers(),
        board.matrices(),
    )
    return Explanation.of(lines, steps, "" if eq.simplified else UNSIMPLIFIED)


class _Blackboard:
    """The steps, each a heading and its lines."""

    def __init__(self, eq: Equations):
        self.eq, self.q, self.stated = eq, eq.coordinates, eq.system
        self.system, back = in_fractions(eq.system)
        self.back = back
        self.tidy: Callable[[Any], sp.Expr] = lambda e: back(tidy(e))
        held = [(term, e) for term, e in conditions(self.system) if isinstance(term, Constraint)]
        self.held = [(lam, R) for lam, (_, R) in zip(eq.lam, held)]
        self.T = self._kinetic()

    def _kinetic(self) -> sp.Expr:
        """Return T by the entries of M, which are tidy: what is derived from it is nearly so."""
        T, v = self.system.kinetic, self.eq.velocities
        if not self.eq.simplified:
            return T
        M = self.eq.M.applyfunc(lambda e: sp.nsimplify(e, rational=True))
        if M.free_symbols & set(v):
            return T
        b, T0 = linear_and_constant(T, [T.diff(u) for u in v], M, v)
        return quadratic_form(M, v) + sp.Add(*(tidy(e) * u for e, u in zip(b, v))) + tidy(T0)

    def energies(self) -> Step:
        rows, name, parts = [], "", []
        for letter, kind in (("T", "kinetic"), ("U", "potential"), ("W", "work")):
            given, exact = getattr(self.stated, kind), getattr(self.system, kind)
            short = self.back(self.T) if letter == "T" else self.tidy(exact)
            if given == 0 and letter != "T":
                continue
            shorter = sp.count_ops(short) < sp.count_ops(given)
            rows += in_rows(letter, given)
            if shorter and len(rows[-1]) + len(sp.latex(short)) < _ONE_ROW:
                rows[-1] += f" = {sp.latex(short)}"
            elif shorter:
                rows += in_rows("", short)
            name += (" - " if letter == "U" else " + ") + letter
            parts += terms(-short if letter == "U" else short)
        for k, (lam, R) in enumerate(self.held, 1):
            rows.append(rf"R_{{{k}}} &= {sp.latex(R)} = 0")
            name += rf" + {sp.latex(lam)} R_{{{k}}}"
            parts.append((R, lam))
        lagrangian = [f"L &= {name.removeprefix(' + ')}"]
        if len(whole := written(parts)) <= _ONE_ROW:
            lagrangian[0] += f" = {whole}"
        else:
            lagrangian += _several_rows(parts)
        return "Energies and the Lagrangian", [block(*rows), block(*lagrangian)]

    def derivatives(self) -> Step:
        heading = "Partial derivatives and their rates"
        if not self.eq.simplified:
            return heading, ["They are too long to be written down."]
        return heading, [self._derivatives_by(i, c) for i, c in enumerate(self.q)]

    def _derivatives_by(self, i: int, c: Coordinate) -> str:
        s, eq = self.system, self.eq
        p = self.T.diff(c.dot)
        quadratic = not eq.M.free_symbols & set(eq.velocities)
        flow = [(m, v) for m, v in zip(eq.M.row(i), eq.velocities) if quadratic]
        momentum = [*flow, *terms(self.tidy(p - sp.nsimplify(total(flow), rational=True)))]
        pulls = (self.T.diff(c), -s.potential.diff(c), s.work.diff(c))
        pushed = [term for e in pulls for term in terms(self.tidy(e))]
        pushed += [(self.tidy(R.diff(c)), lam) for lam, R in self.held]
        inertia = [*zip(eq.M.row(i), eq.accelerations), *terms(self.tidy(unaccelerated(p, self.q)))]
        along = slope("L", c.dot)
        return block(
            f"{slope('L', c)} &= {written(pushed)}",
            f"{along} &= {written(momentum)}",
            rf"\frac{{d}}{{dt}} {along} &= {written(inertia)}",
        )

    def virtual_work(self) -> Step:
        intro = "A force works along the variation of what it acts on, at a fixed time."
        body, sums = [], [sp.S.Zero] * len(self.q)
        for term in (*self.system.loads, *self.system.friction):
            forces = virtual_work(term, self.q)
            sums = [a + b for a, b in zip(sums, forces)]
            pairs = zip(map(self.tidy, force(term)), term.on)
            along = written((f, _varied(on)) for f, on in pairs)
            work = self._variation(map(self.tidy, forces))
            body.append(block(rf"\delta W &= {along}{f' = {work}' * (work != along)}"))
        if body:
            letters = [Written(rf"\tau_{{{i}}}") for i in range(1, len(self.q) + 1)]
            values = [f"{tau} &= {sp.latex(self.tidy(f))}" for tau, f in zip(letters, sums)]
            body = [intro, *body]
            body += [
                "Collected by coordinate, this gives the generalized forces.",
                block(rf"\delta W &= {self._variation(letters)}", *values),
            ]
        return "Virtual work", body

    def _variation(self, forces: Iterable[sp.Expr]) -> str:
        return written(zip(forces, map(_varied, self.q)))

    def dissipation(self) -> Step:
        D = self.system.dissipation
        rows = [f"-{slope('D', c.dot)} &= {sp.latex(self.tidy(-D.diff(c.dot)))}" for c in self.q]
        shown = [block(f"D &= {sp.latex(self.stated.dissipation)}", *rows)] if D != 0 else []
        return "Dissipation", shown

    def velocity_constraints(self) -> Step:
        body = []
        for k, (term, e) in enumerate(conditions(self.stated)):
            if not isinstance(term, Constraint):
                work = self._variation(a * self.eq.lam[k] for a in self.eq.A.row(k))
                body.append(block(f"{sp.latex(e)} &= 0", rf"\delta W &= {work}"))
        return "Constraints on velocities and the virtual work of their forces", body

    def _right_side(self, index: str) -> str:
        """Write the generalized forces that Lagrange's equations have on the right."""
        forces = rf"\tau{index}" if self.system.loads or self.system.friction else ""
        if self.system.dissipation != 0:
            forces += " - " + slope("D", rf"\dot{{q}}{index}")
        return forces.strip()

    def collected(self) -> Step:
        right = self._right_side("_i")
        if self.stated.pfaffian:
            right += r" + \left(A^{\mathsf{T}} \lambda\right)_i"
        along = slope("L", r"\dot{q}_i")
        left = rf"\frac{{d}}{{dt}} {along} - {slope('L', 'q_i')}"
        law = f"{left} = {right.removeprefix(' + ') or 0}"
        # The constraints themselves belong to the equations.
        return "Lagrange's equations, collected", [block(law), self.eq._repr_latex_()]

    def constraint_rates(self) -> Step:
        heading, body = "Rates of the constraints, which fix the multipliers", []
        if not self.eq.simplified:
            return heading, ["They are too long to be written down."] if self.eq.lam else []
        for k, (term, e) in enumerate(conditions(self.system)):
            if any(isinstance(s, Input) for s in e.free_symbols):
                body.append(f"'{term.name}' holds an input, whose rates are not known here.")
                continue
            once, rule = _rate_rule(term, e, k + 1)
            pull = zip(self.eq.A.row(k), self.eq.accelerations)
            summands = [*pull, *terms(self.tidy(unaccelerated(once, self.q)))]
            body.append(block(rule, f"&= {written(summands)} = 0"))
        return heading, body

    def multipliers(self) -> Step:
        heading = "The multipliers in closed form"
        if not is_small(self.eq) or not self.eq.simplified:
            return heading, []
        try:
            closed_forms = self.eq.multipliers
        except DerivationError as error:
            return heading, [str(error).partition("\n")[0].capitalize()]
        if sum(e.count_ops() for e in closed_forms) > _LONGEST:
            return heading, ["They are too long to be written down; `motion.lam` has their values."]
        inside = r"\gamma + A M^{-1} \left(Q - C \dot{q} - G\right)"
        rule = (
            rf"\lambda = -\left(A M^{{-1}} A^{{\mathsf{{T}}}}\right)^{{-1}} \left({inside}\right)"
        )
        intro = (
            r"Put $\ddot{q} = M^{-1}\left(Q - C \dot{q} - G + A^{\mathsf{T}} \lambda\right)$ into "
            r"$A \ddot{q} + \gamma = 0$, where $\gamma$ is the rest of the rates above."
        )
        rows = [f"{sp.latex(lam)} &= {sp.latex(e)}" for lam, e in zip(self.eq.lam, closed_forms)]
        return heading, [intro, block(rule), block(*rows)]

    def matrices(self) -> Step:
        eq, s = self.eq, self.system
        exact = (sp.nsimplify(g, rational=True) for g in eq.G)
        ordinary = vanish(g - s.potential.diff(c) for g, c in zip(exact, self.q))[0]
        middle = slope("U", "q") if ordinary else "G"
        forces = self._right_side("")
        if s.work != 0:
            forces += " + " + slope("W", "q")
        right = forces.removeprefix(" + ") or ("" if eq.lam else "0")
        right += r" + A^{\mathsf{T}} \lambda" if eq.lam else ""
        body = [block(rf"M \ddot{{q}} + C \dot{{q}} + {middle} = {right.removeprefix(' + ')}")]
        body += [block(f"M &= {_matrix(eq.M)}"), block(f"C &= {_matrix(eq.C)}")]
        body.append(block(f"G &= {f'{middle} = ' * ordinary}{_matrix(eq.G)}"))
        if forces:
            body.append(block(f"Q &= {forces.removeprefix(' + ')} = {_matrix(eq.Q)}"))
        if eq.lam:
            lam = sp.latex(sp.ImmutableMatrix(eq.lam))
            body.append(block(rf"A &= {_matrix(eq.A)},\quad \lambda = {lam}"))
        return "Matrix form", body


def _matrix(entries: sp.ImmutableMatrix) -> str:
    """Write a matrix, or its size if nobody would read it."""
    count = operations(entries, 50 * LONGEST)
    words = rf"\text{{({entries.rows} × {entries.cols}, {count} operations)}}"
    return words if count > LONGEST else sp.latex(entries)


def _varied(e: sp.Expr) -> sp.Symbol:
    """Write δe."""
    inside = sp.latex(e)
    return Written(rf"\,\delta {inside}" if e.is_Symbol else rf"\,\delta\left({inside}\right)")


def _rate_rule(term: Any, e: sp.Expr, number: int) -> tuple[sp.Expr, str]:
    """Return what is differentiated once more, and the rule by which that is done."""
    if not isinstance(term, Constraint):
        rule = r"A \ddot{q} + \dot{A} \dot{q} + \dot{b}"
        return e, rf"\frac{{d}}{{dt}} \left(A \dot{{q}} + b\right) &= {rule}"
    rule = r"J \ddot{q} + \dot{q}^{\mathsf{T}} H \dot{q}"
    if e.has(t):
        rule += r" + 2 \frac{\partial J}{\partial t} \dot{q} + \frac{\partial^2 R}{\partial t^2}"
    return rate(e), rf"\ddot{{R}}_{{{number}}} &= {rule}"


def _several_rows(parts: list[Any]) -> list[str]:
    """Write a long sum below itself, broken between its terms."""
    rows: list[list[Any]] = [[]]
    for part in parts:
        if rows[-1] and len(written([*rows[-1], part])) > _ONE_ROW:
            rows.append([])
        rows[-1].append(part)
    first, *more_rows = map(written, rows)
    return [f"&= {first}", *(rf"&\quad {'' if x.startswith('-') else '+ '}{x}" for x in more_rows)]
